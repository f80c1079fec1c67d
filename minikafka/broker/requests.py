"""A request's way through a node, from a client's frame to its answer.

It is received and decoded (wire/), and served by the handler of its API (handlers/),
which returns the answer's fields, or None where the protocol knows no answer (acks=0),
or a Wait, which is parked (cluster/waiting.py) until what it waits for moves. Then it
ends: it is answered, or goes on. A node that asks itself something takes the same way.

Events meanwhile are queued, and `go_on` takes them from the queues, until nothing moves
any more, in this order:

    waiting.ended    parked requests that have their answer, or their error
    peers.to_itself  requests of the node to itself
    events.moves     keys under which something arrived
    waiting.ready    parked requests that are to look again

Answers go to the outbox in the order of a connection's requests: one whose turn has not
come is kept with its client (Client.early).
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from minikafka.broker.access import Access, Authorizer
from minikafka.broker.calls import (
    Answered,
    Call,
    Client,
    Disconnect,
    Handler,
    Itself,
    Parting,
    Raw,
    Served,
    Welcome,
    member_refusal,
    refusal,
)
from minikafka.broker.effects import (
    Admitted,
    Close,
    Connection,
    Done,
    Effect,
    Frame,
    Notice,
    Reply,
)
from minikafka.broker.forwarding import Forwarding, Split
from minikafka.broker.handlers import HANDLERS, Handlers
from minikafka.broker.loggers import Loggers
from minikafka.broker.mutations import STRICT
from minikafka.broker.node_events import NodeEvents
from minikafka.broker.peers import CONTROLLER_LISTENER, OwnRequest
from minikafka.broker.throttling import Throttling
from minikafka.clock import NodeClock, Now
from minikafka.cluster.acls import Who
from minikafka.cluster.metadata import Image
from minikafka.cluster.principals import Principal
from minikafka.cluster.waiting import Answer, Resume, Wait, Waiting
from minikafka.trace import Trace
from minikafka.wire import messages
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.primitives import DecodeError
from minikafka.wire.schema import Message

if TYPE_CHECKING:
    from minikafka.broker.login import Login

API_VERSIONS = 18
MOST_ANSWERED_BYTES = 64 << 20  # of answers that wait for the shell


class NotServed(Exception):
    """The client may not use this API or version."""


@dataclass(eq=False, repr=False)
class Requests:
    """The requests that are inside one node, and its clients.

    own: what the node asks itself. settle(now): called before those that wait look
    again. answered_bytes: of answers that have come into the outbox since it was empty.
    """

    _handlers: Handlers
    _forwarding: Forwarding
    waiting: Waiting
    _own: deque[OwnRequest]
    _events: NodeEvents
    _settle: Callable[[Now], None]
    _outbox: list[Effect]
    _loggers: Loggers
    _trace: Trace
    _clock: NodeClock
    _storage_failed: Callable[[KafkaError], None]
    _image: Image
    _authorizer: Authorizer | None
    _login_of: Callable[[str], "Login | None"]
    _throttling: Throttling
    _limit: Callable[[Call], Answer | None]
    clients: dict[Connection, Client] = field(default_factory=dict)
    answered_bytes: int = 0

    # -- coming and going

    def connected(
        self, connection: Connection, listener: str, host: str, principal: Principal
    ) -> None:
        """A client has connected. listener: the name of the one it used. principal: who
        TLS has shown it to be.
        """
        login = self._login_of(listener)
        self.clients[connection] = Client(
            listener, host, principal=principal, login=login
        )

    def disconnected(self, connection: Connection) -> None:
        """A client has disconnected: drop everything it waits for."""
        self.clients.pop(connection, None)
        self.waiting.drop(connection)

    @property
    def has_room(self) -> bool:
        """Whether more answers may wait for the shell; those of many fetches, woken by
        one append, come later.
        """
        return not self._outbox or self.answered_bytes < MOST_ANSWERED_BYTES

    # -- receiving

    def receive(self, connection: Connection, frame: bytearray, now: Now) -> None:
        """A client's request, without its size."""
        client = self.clients[connection]
        client.asked += 1
        client.allows_pipelining = False
        login = client.login
        if login is not None and not self._lets_in(connection, client, frame, now):
            return
        try:
            request = messages.decode_request(frame)
            client.client_id = request.client_id
            handler = handler_of(request, client, self._handlers.served)
            if login is not None and request.api.key == API_VERSIONS:
                login.greeted()
        except messages.UnsupportedVersion as error:
            own = self._handlers.served[API_VERSIONS].versions
            self._finish(client, client.asked, refused_version(connection, error, own))
            return
        except DecodeError as error:
            why = f"sent a frame that is no Kafka request: {error}"
            self._finish(client, client.asked, Close(connection, why))
            return
        except NotServed as error:
            self._finish(client, client.asked, Close(connection, str(error)))
            return
        call = Call(
            connection=connection,
            client=client,
            api=request.api.name,
            version=request.version,
            correlation_id=request.correlation_id,
            body=request.body,
            handler=handler,
            number=client.asked,
            size_bytes=len(frame),
        )
        self._on_behalf(call, self._serve, call, now)

    def _lets_in(
        self, connection: Connection, client: Client, frame: bytearray, now: Now
    ) -> bool:
        """Whether a frame is a request that a client may ask, who may have to log in
        first. If not, it is dealt with here.
        """
        # loads what only those need who have logins
        from minikafka.broker.handlers.security import failed_login, raw_message
        from minikafka.broker.login import RAW, SASL_AUTHENTICATE

        login = client.login
        assert login is not None, "its listener asks for one"
        why = None
        if login.state != RAW:
            why = login.objection(frame, now)
            if why is None:
                return True
        call = Call(
            connection=connection,
            client=client,
            api="SaslAuthenticate",
            version=0,
            correlation_id=0,
            body=Message(),
            handler=HANDLERS[SASL_AUTHENTICATE],
            number=client.asked,
            size_bytes=len(frame),
        )
        if why is None:
            resume = partial(raw_message, call, bytes(frame))
        else:
            resume = partial(failed_login, call, Disconnect(why))
        self._on_behalf(call, self._serve, call, now, resume)
        return False

    def _asked_itself(self, asked: OwnRequest) -> Call:
        """A request of this node to itself: same bytes, same way."""
        request = messages.decode_request(asked.frame)
        return Call(
            connection=Itself(asked.then),
            client=Client(CONTROLLER_LISTENER, "localhost"),
            api=request.api.name,
            version=request.version,
            correlation_id=request.correlation_id,
            body=request.body,
            handler=HANDLERS[request.api.key],
        )

    # -- serving

    def _serve(self, call: Call, now: Now, resume: Resume | None = None) -> None:
        """resume: how it continues, if it has waited for something on its way."""
        if call.client.muted_until_ms > now.monotonic_ms:
            answer: Served = wait_while_muted(call.client, resume)
        else:
            answer = self._handle(call, now, resume)
        if not isinstance(answer, Wait):
            self._answer(call, answer)
            return
        is_full = not self.waiting.has_room(answer)
        # without room to wait it is answered now, as if its time were over
        if is_full or not answer.missing_bytes:
            answer.attempt(now, expired=is_full)
        if answer.is_done:
            self._end(call, answer, now)
        else:
            self.waiting.park(answer, call.connection, call)
            call.client.allows_pipelining = answer.allows_pipelining

    def _handle(self, call: Call, now: Now, resume: Resume | None) -> Served:
        """The answer of the API's handler. Requests that only the active controller
        decides are forwarded to it, and wait until it knows everything that its
        predecessor decided.
        """
        if self._loggers.names_requests:
            self._name(call)
        try:
            if self._authorizer is not None:
                refused = self._authorized(call, self._authorizer)
                if refused is not None:
                    return refused
            if self._image.users.quotas and call.api in STRICT and not call.is_limited:
                call.is_limited = True
                refused = self._limit(call)
                if refused is not None:
                    return refused
            if call.handler.controller_only:
                split = partial(self._split, call)
                wait = self._forwarding.to_decide(call.api, call.version, split, now)
                if wait is not None:
                    return wait
            handle = resume or partial(call.handler.handle(self._handlers), call)
            served: Served = handle(now)
            return served
        except KafkaError as error:
            return self._refusal(call, error)

    def _authorized(self, call: Call, authorizer: Authorizer) -> Answer | None:
        """Before a client's request comes to its handler, or to the controller, what
        its client may not ask for is taken out of it. Returns the answer if nothing is
        left. Nodes are not asked. Errors: that of a request which is refused as a
        whole.
        """
        client = call.client
        if call.access is not None or client.listener == CONTROLLER_LISTENER:
            return None
        from minikafka.broker.guards import guard

        call.access = Access(authorizer, Who(client.principal, client.host))
        return guard(call, call.access, self._image)

    def _name(self, call: Call) -> None:
        """Report a request as kafka.request.logger does."""
        who = "this node" if isinstance(call.connection, Itself) else call.connection
        what = f"{call.api} {call.version}, correlation id {call.correlation_id}"
        self._outbox.append(Notice(f"{who} asks {what}"))

    def _split(self, call: Call) -> Split:
        """The part of a request that the active controller must answer. Errors:
        NOT_CONTROLLER, for a node that sent it as one sends to a controller.
        """
        if call.client.listener == CONTROLLER_LISTENER:
            raise KafkaError(Error.NOT_CONTROLLER)
        if call.handler.split is None:
            return Split(call.body.to_dict(), whole=dict)
        split: Split = call.handler.split(self._handlers)(call)
        return split

    def _end(self, call: Call, wait: Wait, now: Now) -> None:
        """A wait has ended: its request is answered, or continues."""
        if wait.error is not None:
            refuse = wait.refuse or partial(self._refusal, call)
            self._answer(call, refuse(wait.error))
        elif wait.again:
            self._serve(call, now, wait.resume)
        else:
            assert wait.answer is not None, "a wait ends with an answer or an error"
            self._answer(call, wait.answer)

    def _refusal(self, call: Call, error: KafkaError) -> Answer | Disconnect:
        """How the API says an error: its handler knows better (refuse), or it has a
        field for it.
        """
        if error.error is Error.KAFKA_STORAGE_ERROR:
            self._storage_failed(error)
        if call.handler.refuse is None:
            return refusal(call, error)
        refused: Answer = call.handler.refuse(self._handlers)(call, error)
        return refused

    def _on_behalf(self, call: Call, do: Callable[..., None], *args: object) -> None:
        """Everything that happens in it has this request as its cause. An error that
        nobody foresaw ends the request and its connection, not the node. A failed
        assertion does stop the node: it no longer trusts itself.
        """
        trace = self._trace
        if trace and not isinstance(call.connection, Itself):
            trace.cause = (str(call.connection), call.correlation_id)
        if self._image.users.quotas:
            self._throttling.works_at(call)
        try:
            do(*args)
        except AssertionError:
            raise
        except Exception as error:
            self._met_a_bug(call, error)
        if call.began_ns is not None:
            self._throttling.rests(call)
        trace.cause = None

    def _met_a_bug(self, call: Call, error: Exception) -> None:
        self.waiting.drop(call.connection)
        what = f"{call.api} {call.version}"
        bug = f"{what} of {call.connection} met a bug of minikafka's: {error!r}"
        self._loggers.notice(bug, error)
        # and those before it, which were dropped, never are
        call.client.answered = call.number - 1
        self._answer(call, Disconnect(f"sent {what}, which met a bug of minikafka's"))

    # -- answering

    def _answer(self, call: Call, answer: Answered) -> None:
        frame: Frame | None = None
        last = None
        if call.whole is not None:
            answer = call.whole(answer)
        if isinstance(answer, Welcome):
            assert call.client.login is not None, "it has logged in"
            call.client.principal = call.client.login.principal
            self._outbox.append(Admitted(call.connection))
            answer = answer.answer
        elif isinstance(answer, Parting):
            answer, last = answer
        if isinstance(answer, Raw):
            frame = [answer.content]
        elif isinstance(answer, dict):
            if call.began_ns is not None and not call.is_timed:
                answer = self._throttled(call, answer)
            if self._trace:
                self._tell_refusal(call, answer)
            frame = messages.encode_response(
                call.api, call.version, call.correlation_id, answer
            )
        if isinstance(call.connection, Itself):
            reply = None
            if frame is not None:
                whole = bytearray().join(frame)
                _, reply = messages.decode_response(call.api, call.version, whole)
            call.connection.then(reply, self._clock.now)
            return
        effect: Effect
        if frame is not None:
            self.answered_bytes += sum(map(len, frame))
            effect = Reply(call.connection, frame, last)
        elif isinstance(answer, Disconnect):
            effect = Close(call.connection, answer.why)
        else:
            effect = Done(call.connection)
        self._finish(call.client, call.number, effect)

    def _throttled(self, call: Call, answer: Answer) -> Answer:
        """The answer, which says for how long its client is throttled, if its API has a
        field for that.
        """
        said = "throttle_time_ms"
        throttle_ms = self._throttling.throttle_time(call)
        fields = messages.API[call.api].response.struct.by_attribute
        if not throttle_ms or said not in fields:
            return answer
        return answer | {said: max(throttle_ms, answer.get(said, 0))}

    def _tell_refusal(self, call: Call, answer: Answer) -> None:
        refused = member_refusal(call, answer)
        if refused is not None:
            self._trace.emit("MemberRefused", **refused)

    def _finish(self, client: Client, number: int, effect: Effect) -> None:
        """The outcome of a client's request, in the order in which they came."""
        was_answered = number <= client.answered or number in client.early
        assert not was_answered, "a request is answered once"
        client.early[number] = effect
        while client.answered + 1 in client.early:
            client.answered += 1
            due = client.early.pop(client.answered)
            self._outbox.append(due)

    # -- going on

    def go_on(self, now: Now) -> None:
        """Requests that wait for something that has moved look again, until nothing
        moves; those that have ended are answered.
        """
        self._settle(now)
        waiting = self.waiting
        try:
            while waiting.ended or self._own or self._events.moves or waiting.ready:
                if waiting.ended:
                    self._end_all(now)
                if self._own:
                    call = self._asked_itself(self._own.popleft())
                    self._on_behalf(call, self._serve, call, now)
                elif self._events.moves:
                    key, size_bytes = self._events.moves.popleft()
                    self._events.follow(key, now)
                    waiting.moved(key, size_bytes)
                elif waiting.ready:
                    if not self.has_room:
                        return
                    parked = waiting.ready.popleft()
                    self._on_behalf(parked.request, parked.wait.attempt, now)
        except KafkaError as error:
            self._storage_failed(error)

    def _end_all(self, now: Now) -> None:
        ended = self.waiting.ended
        while ended:
            parked = ended.popleft()
            if parked.is_here:
                self.waiting.remove(parked)
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


def handler_of(
    request: messages.Request,
    client: Client,
    to_clients: Mapping[int, Handler[Handlers]],
) -> Handler[Handlers]:
    """to_clients: what they are served. Errors: NotServed, UnsupportedVersion."""
    is_from_a_node = client.listener == CONTROLLER_LISTENER
    handler = (HANDLERS if is_from_a_node else to_clients).get(request.api.key)
    if handler is None or (handler.inter_broker and not is_from_a_node):
        raise NotServed(f"sent {request.api.name}, which this broker does not serve")
    lowest, highest = handler.versions
    if not lowest <= request.version <= highest:
        raise messages.UnsupportedVersion(
            request.api.key, request.version, request.correlation_id
        )
    return handler


def wait_while_muted(client: Client, resume: Resume | None) -> Wait:
    """A throttled client is muted for a while (KIP-219); then its request continues."""

    def attempt(wait: Wait, now: Now, expired: bool) -> Answer | None:
        if not expired:
            return None
        client.muted_until_ms = 0
        return {}

    wait = Wait((), client.muted_until_ms, attempt, again=True)
    wait.resume = resume
    return wait


def refused_version(
    connection: Connection, refused: messages.UnsupportedVersion, own: tuple[int, int]
) -> Effect:
    """ApiVersions answers in version 0, with its own versions (KIP-511). For other APIs
    Kafka closes the connection.
    """
    if refused.api_key != API_VERSIONS:
        asked = f"API {refused.api_key} in version {refused.version}"
        return Close(connection, f"asked for {asked}, which is not served")
    lowest, highest = own
    told = {"api_key": API_VERSIONS, "min_version": lowest, "max_version": highest}
    body = {"error_code": Error.UNSUPPORTED_VERSION, "api_keys": [told]}
    frame = messages.encode_response("ApiVersions", 0, refused.correlation_id, body)
    return Reply(connection, frame)
