"""A request's way through a node, from a client's frame to its answer.

It is received and decoded (wire/), and served by the handler of its API (handlers/),
which returns the answer's fields, or None where the protocol knows no answer (acks=0),
or a Wait, which is parked (cluster/waiting.py) until what it waits for moves. Then it
ends: it is answered, or begins anew. A node that asks itself something takes the same
way.

What happens meanwhile is queued, and `go_on` takes it from the queues, until nothing
moves any more, in this order:

    waiting.ended    parked requests that have their answer, or their error
    _own             requests of the node to itself
    _moved           keys under which something arrived
    waiting.ready    parked requests that are to look again

Answers go to the outbox, in the order of a connection's requests: one whose turn has
not come is kept with its client (Client.early).
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from minikafka.broker.calls import (
    CONTROLLER_LISTENER,
    Broker,
    Call,
    Client,
    Handler,
    HangUp,
    Itself,
    member_refusal,
    refusal,
)
from minikafka.broker.effects import Close, Connection, Done, Effect, Notice, Reply
from minikafka.broker.handlers import HANDLERS, load
from minikafka.broker.ports import Split
from minikafka.clock import Now
from minikafka.cluster.election import Then
from minikafka.cluster.waiting import Answer, Wait, Waiting
from minikafka.wire import messages
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.primitives import DecodeError

API_VERSIONS = 18
MOST_ANSWERED_BYTES = 64 << 20  # of answers that wait for the shell

Key = tuple[Any, ...]


class NotServed(Exception):
    """What a client asked for is not for it."""


class Requests:
    """Those that are inside one node. follow(key, now): hears of the keys under which
    something arrived, before those who wait for them. answered_bytes: of answers that
    have come into the outbox since it was empty.
    """

    def __init__(self, broker: Broker, follow: Callable[[Key, Now], None]) -> None:
        self.clients: dict[Connection, Client] = {}
        self.waiting = Waiting()
        self.answered_bytes = 0
        self._broker = broker
        self._follow = follow
        self._moved: deque[tuple[Key, int]] = deque()
        self._own: deque[Call] = deque()

    # -- coming and going

    def connected(self, connection: Connection, listener: str, host: str) -> None:
        """A client came."""
        self.clients[connection] = Client(listener, host)

    def disconnected(self, connection: Connection) -> None:
        """A client went; what it waits for is dropped."""
        self.clients.pop(connection, None)
        self.waiting.drop(connection)

    @property
    def has_room(self) -> bool:
        """Whether more answers may wait for the shell; those of many fetches, woken by
        one append, come later.
        """
        return not self._broker.outbox or self.answered_bytes < MOST_ANSWERED_BYTES

    @property
    def is_busy(self) -> bool:
        """Whether something is left to do at once."""
        return bool(self.waiting.ready or self._own)

    # -- receiving

    def receive(self, connection: Connection, frame: bytearray, now: Now) -> None:
        """A client's request, without its size."""
        client = self.clients[connection]
        client.asked += 1
        client.lets_in = False
        try:
            request = messages.decode_request(frame)
            client.client_id = request.client_id
            handler = handler_of(request, client)
        except messages.UnsupportedVersion as error:
            self._finish(client, client.asked, refused_version(connection, error))
            return
        except DecodeError as error:
            why = f"sent a frame that is no Kafka request: {error}"
            self._finish(client, client.asked, Close(connection, why))
            return
        except NotServed as error:
            self._finish(client, client.asked, Close(connection, str(error)))
            return
        call = Call(
            connection,
            client,
            request.api.name,
            request.version,
            request.correlation_id,
            request.body,
            handler,
            client.asked,
            len(frame),
        )
        self._on_behalf(call, self._serve, call, now)

    def ask_itself(self, api: str, version: int, body: Any, then: Then) -> None:
        """A request of this node to itself: same bytes, same way."""
        frame = bytearray().join(messages.encode_request(api, version, 0, None, body))
        asked = messages.decode_request(frame)
        call = Call(
            Itself(then),
            Client(CONTROLLER_LISTENER, "localhost"),
            api,
            version,
            asked.correlation_id,
            asked.body,
            HANDLERS[messages.API[api].key],
        )
        self._own.append(call)

    # -- serving

    def _serve(self, call: Call, now: Now) -> None:
        answer = self._unmuted(call, now) or self._handle(call, now)
        if not isinstance(answer, Wait):
            self._answer(call, answer)
            return
        full = not self.waiting.has_room(answer)
        if full or not answer.missing_bytes:
            answer.attempt(now, expired=full)
        if answer.is_done:
            self._end(call, answer, now)
        else:
            self.waiting.park(answer, call.connection, call)
            call.client.lets_in = answer.lets_in

    @staticmethod
    def _unmuted(call: Call, now: Now) -> Wait | None:
        """A throttled client is not heard for a while (KIP-219): its request begins
        then.
        """
        client = call.client
        if client.muted_until_ms <= now.monotonic_ms:
            return None

        def attempt(wait: Wait, now: Now, expired: bool) -> Answer | None:
            if not expired:
                return None
            client.muted_until_ms = 0
            return {}

        return Wait((), client.muted_until_ms, attempt, again=True)

    def _handle(self, call: Call, now: Now) -> Answer | Wait | HangUp | None:
        broker, handler = self._broker, call.handler
        if broker.loggers.names_requests:
            self._name(call)
        try:
            if handler.decides and not broker.quorum.is_leader:
                if call.client.listener == CONTROLLER_LISTENER:
                    raise KafkaError(Error.NOT_CONTROLLER)
                call.passed_on = self._split(call)
                return broker.forwarding.forward(
                    call.api, call.version, call.passed_on, now
                )
            if handler.decides and not broker.quorum.is_settled:
                return broker.active_controller.settled(now)
            served: Answer | Wait | HangUp | None = load(handler.handle)(
                broker, call, now
            )
            return served
        except KafkaError as error:
            return self._refusal(call, error)

    def _name(self, call: Call) -> None:
        """What kafka.request.logger tells of a request."""
        who = "this node" if isinstance(call.connection, Itself) else call.connection
        what = f"{call.api} {call.version}, correlation id {call.correlation_id}"
        self._broker.outbox.append(Notice(f"{who} asks {what}"))

    def _split(self, call: Call) -> Split:
        """What the active controller is asked of a request that it must answer."""
        if call.handler.split is None:
            return Split(call.body.to_dict(), whole=dict)
        split: Split = load(call.handler.split)(self._broker, call)
        return split

    def _end(self, call: Call, wait: Wait, now: Now) -> None:
        """A wait has ended: its request is answered, or begins anew."""
        if wait.error is not None:
            self._answer(call, self._refusal(call, wait.error))
        elif wait.again:
            self._serve(call, now)
        else:
            assert wait.answer is not None, "a wait ends with an answer or an error"
            answer = wait.answer
            if call.handler.shape is not None:
                answer = load(call.handler.shape)(call, answer)
            self._answer(call, answer)

    def _refusal(self, call: Call, error: KafkaError) -> Answer | HangUp:
        """How the API says an error: its handler knows better (refuse), or it has a
        field for it.
        """
        if error.error is Error.KAFKA_STORAGE_ERROR:
            self._broker.storage_failed(error)
        if call.handler.refuse is None:
            return refusal(call, error)
        refused: Answer = load(call.handler.refuse)(call, error)
        return refused

    def _on_behalf(self, call: Call, do: Callable[..., None], *args: object) -> None:
        """What happens meanwhile has this request as its cause. An error that nobody
        foresaw ends the request and its connection, not the node. An assertion that
        fails does stop it: the node no longer trusts itself.
        """
        trace = self._broker.trace
        if trace and not isinstance(call.connection, Itself):
            trace.cause = (str(call.connection), call.correlation_id)
        try:
            do(*args)
        except AssertionError:
            raise
        except Exception as error:
            self._met_a_bug(call, error)
        trace.cause = None

    def _met_a_bug(self, call: Call, error: Exception) -> None:
        self.waiting.drop(call.connection)
        what = f"{call.api} {call.version}"
        bug = f"{what} of {call.connection} met a bug of minikafka's: {error!r}"
        self._broker.notice(bug, error)
        # and those before it, which were dropped, never are
        call.client.answered = call.number - 1
        self._answer(call, HangUp(f"sent {what}, which met a bug of minikafka's"))

    # -- answering

    def _answer(self, call: Call, answer: Answer | HangUp | None) -> None:
        frame = None
        if isinstance(answer, dict):
            if self._broker.trace:
                self._tell_refusal(call, answer)
            frame = messages.encode_response(
                call.api, call.version, call.correlation_id, answer
            )
        if isinstance(call.connection, Itself):
            reply = None
            if frame is not None:
                whole = bytearray().join(frame)
                _, reply = messages.decode_response(call.api, call.version, whole)
            call.connection.then(reply, self._broker.now)
        elif frame is not None:
            self.answered_bytes += sum(map(len, frame))
            self._finish(call.client, call.number, Reply(call.connection, frame))
        elif isinstance(answer, HangUp):
            effect = Close(call.connection, answer.why)
            self._finish(call.client, call.number, effect)
        else:
            self._finish(call.client, call.number, Done(call.connection))

    def _tell_refusal(self, call: Call, answer: Answer) -> None:
        refused = member_refusal(call, answer)
        if refused is not None:
            self._broker.trace.emit("MemberRefused", **refused)

    def _finish(self, client: Client, number: int, effect: Effect) -> None:
        """What becomes of a client's request, in the order in which they came."""
        assert number > client.answered and number not in client.early, (
            "a request is answered once"
        )
        client.early[number] = effect
        while (due := client.early.pop(client.answered + 1, None)) is not None:
            client.answered += 1
            self._broker.outbox.append(due)

    # -- going on

    def moved(self, key: Key, size_bytes: int) -> None:
        """Tell parked requests that something arrived under a key."""
        self._moved.append((key, size_bytes))

    def go_on(self, now: Now) -> None:
        """Who waits for what has moved looks again, until nothing moves; who has ended
        is answered.
        """
        self._broker.groups.settle(now)
        waiting = self.waiting
        try:
            while waiting.ended or self._own or self._moved or waiting.ready:
                if waiting.ended:
                    self._end_all(now)
                if self._own:
                    call = self._own.popleft()
                    self._on_behalf(call, self._serve, call, now)
                elif self._moved:
                    key, size_bytes = self._moved.popleft()
                    self._follow(key, now)
                    waiting.moved(key, size_bytes)
                elif waiting.ready:
                    if not self.has_room:
                        return
                    parked = waiting.ready.popleft()
                    self._on_behalf(parked.request, parked.wait.attempt, now)
        except KafkaError as error:
            self._broker.storage_failed(error)

    def _end_all(self, now: Now) -> None:
        for parked in self.waiting.take_ended():
            call = parked.request
            self._on_behalf(call, self._end, call, parked.wait, now)

    def expire(self, now: Now) -> None:
        """Those whose deadline has come get their answer, as many as there is room
        for.
        """
        for parked in self.waiting.expired(now.monotonic_ms):
            self._on_behalf(parked.request, parked.wait.attempt, now, True)
            if not self.has_room:
                return

    def expire_all(self, now: Now) -> None:
        """The node stops: nobody waits any longer."""
        for parked in self.waiting.everything():
            parked.wait.attempt(now, expired=True)


def handler_of(request: messages.Request, client: Client) -> Handler:
    """Errors: NotServed, UnsupportedVersion."""
    handler = HANDLERS.get(request.api.key)
    if handler is None or (handler.of_nodes and client.listener != CONTROLLER_LISTENER):
        raise NotServed(f"sent {request.api.name}, which this broker does not serve")
    lowest, highest = handler.versions
    if not lowest <= request.version <= highest:
        raise messages.UnsupportedVersion(
            request.api.key, request.version, request.correlation_id
        )
    return handler


def refused_version(
    connection: Connection, refused: messages.UnsupportedVersion
) -> Effect:
    """ApiVersions answers in version 0, with what it does speak (KIP-511). Else Kafka
    closes the connection.
    """
    if refused.api_key != API_VERSIONS:
        asked = f"API {refused.api_key} in version {refused.version}"
        return Close(connection, f"asked for {asked}, which is not served")
    lowest, highest = HANDLERS[API_VERSIONS].versions
    own = {"api_key": API_VERSIONS, "min_version": lowest, "max_version": highest}
    body = {"error_code": Error.UNSUPPORTED_VERSION, "api_keys": [own]}
    frame = messages.encode_response("ApiVersions", 0, refused.correlation_id, body)
    return Reply(connection, frame)
