"""The turn of a node: requests go in, and what the broker says to them goes out. Both
shells take it from here, so they keep the same order.

A request goes straight through:

    turn.receive(connection, frames)    whole requests came; they wait in their
                                        connection's line
    broker.receive(...)                 one goes in, and its handler is called
    connection.answer(frame)            its answer, as soon as the broker has it
    shell.turn_ended(...)               nothing is left that may go on: answers are sent

Everything else that happens to a node is a call of the broker and then of `run`:

    broker.receive_reply(...), request_failed(...)
                                        when another node answers, or never will
    broker.tick(now)                    when broker.next_deadline() has come
    turn.run()                          after each of these

(In etcd's raft the outbox is Ready. There is no Advance here: what an effect promises
is in the log, and on disk where it has to be, before the effect is in the outbox. So it
may be carried out at once, and nobody reports back.)

The broker has one request of a connection at a time; of one that waits for its records
to be replicated, a few more. When it is finished (answered, done without an answer,
refused) the connection's next one may go in, after all effects that were there before.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from minikafka.broker.broker import Broker
from minikafka.broker.effects import (
    Admitted,
    Close,
    Done,
    Frame,
    HangUp,
    Notice,
    Reconfigured,
    Reply,
    Request,
)
from minikafka.clock import Now
from minikafka.cluster.principals import ANONYMOUS, Principal


class Connection(Protocol):
    """One client's connection, of a shell's own class. str() is its name.

    requests: whole ones, which the broker hasn't had yet. is_paused: they wait, because
    the client doesn't read its answers.
    """

    requests: deque[bytearray]
    is_paused: bool

    def __hash__(self) -> int: ...

    def answer(self, frame: Frame | None) -> None:
        """Send the answer to its oldest request; None: that has none (acks=0)."""

    def refuse(self, why: str) -> None:
        """Close it, after what it was answered. why: what its client did."""


class Shell(Protocol):
    """What a turn needs from the outside."""

    def holds(self) -> bool:
        """Whether no further request may go in now."""

    def carry_out(
        self, effect: Request | HangUp | Notice | Admitted | Reconfigured
    ) -> None:
        """Do what the node asks for."""

    def turn_ended(self, touched: Iterable[Any]) -> None:
        """Everything is carried out. touched: connections whose requests came or went
        in, or were answered.
        """


# requests of one connection: what producers have in flight,
# max.in.flight.requests.per.connection
MOST_INSIDE = 5
OUTCOMES = (Reply, Done, Close)  # each ends a request
# how long requests are let in; the next ones go in when the others have been heard
SLICE_MS = 50


class Turn:
    """The turns of one node. now: reads the shell's clock. ready: connections whose
    next request may go in, first come first, and since when (monotonic ms); a turn
    leaves some if it was long, or if the shell holds them.
    """

    def __init__(self, broker: Broker, shell: Shell, now: Callable[[], Now]) -> None:
        self._broker = broker
        self._clients = broker.requests.clients
        self._shell = shell
        self._now = now
        self.ready: OrderedDict[Connection, int] = OrderedDict()
        self._touched: dict[Connection, None] = {}

    def connected(
        self,
        connection: Connection,
        listener: str,
        host: str,
        principal: Principal = ANONYMOUS,
    ) -> None:
        """A client came. listener: the name of the listener it used. principal: who TLS
        has shown it to be.
        """
        self._broker.connected(connection, listener, host, principal)

    def receive(self, connection: Connection, frames: Iterable[bytearray]) -> None:
        """Whole requests came on this connection."""
        self._touched[connection] = None
        connection.requests.extend(frames)
        if connection.requests:
            self._line_up(connection)
        self.run()

    def run(self) -> None:
        """Carry out what the broker has left in its outbox, and let requests in, one by
        one, until nothing may go on.
        """
        broker, ready = self._broker, self.ready
        ends_ms = None
        while True:
            while broker.outbox:
                effects = list(broker.outbox)
                broker.outbox.clear()
                for effect in effects:
                    if isinstance(effect, OUTCOMES):
                        self._end(effect)
                    else:
                        self._shell.carry_out(effect)
            if not ready or broker.life.is_over or self._shell.holds():
                break
            now = self._now()
            if ends_ms is None:
                ends_ms = now.monotonic_ms + SLICE_MS
            elif now.monotonic_ms >= ends_ms:
                break
            connection, _ = ready.popitem(last=False)
            self._touched[connection] = None
            try:
                broker.receive(connection, connection.requests.popleft(), now)
            except AssertionError:  # the broker no longer trusts itself: the node stops
                raise
            except Exception as error:
                self._met_a_bug(connection, error)
            if connection.requests:
                self._line_up(connection)  # behind the others
        touched, self._touched = self._touched, {}
        self._shell.turn_ended(touched)

    def _end(self, outcome: Reply | Done | Close) -> None:
        """A request is finished: its connection hears how."""
        connection: Any = outcome.connection
        if connection not in self._clients:
            return  # it is gone
        self._touched[connection] = None
        if isinstance(outcome, Reply):
            connection.answer(outcome.frame)
            if outcome.last is not None:
                connection.refuse(outcome.last)
        elif isinstance(outcome, Done):
            connection.answer(None)
        else:
            connection.refuse(outcome.why)
        if connection.requests:
            self._line_up(connection)

    def _line_up(self, connection: Connection) -> None:
        """Its next request may go in, if there is a place for it."""
        if connection.is_paused:
            return
        client = self._clients[connection]
        inside = client.asked - client.answered
        if not inside or (client.allows_pipelining and inside < MOST_INSIDE):
            self.ready.setdefault(connection, self._now().monotonic_ms)

    def _met_a_bug(self, connection: Connection, error: Exception) -> None:
        """An error that the broker itself did not catch ends the connection."""
        bug = (
            f"a request of {connection} met a bug of minikafka's; please report it:"
            f" {error!r}"
        )
        outbox = self._broker.outbox
        outbox.append(Notice(bug, error))
        outbox.append(Close(connection, "met a bug of minikafka's (above)"))

    # --- brakes ---

    def pause(self, connection: Connection) -> None:
        """The client doesn't read its answers: nothing more of it goes in."""
        connection.is_paused = True
        self.ready.pop(connection, None)

    def resume(self, connection: Connection) -> None:
        """The client has read them."""
        connection.is_paused = False
        self.receive(connection, ())

    def drop_requests(self, connection: Connection) -> None:
        """We close it: what the broker hasn't had yet, it never gets."""
        connection.requests.clear()
        self.ready.pop(connection, None)

    def gone(self, connection: Connection) -> None:
        """It is closed; nothing more comes from it."""
        connection.requests.clear()
        self.ready.pop(connection, None)
        self._broker.disconnected(connection)
