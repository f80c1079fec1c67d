"""One turn of a node: requests in, effects out. Both shells take it from here, so they
keep the same order.

The broker has one request of a connection at a time; of one that waits for its records
to be replicated, a few more. When it is finished (answered, done without an answer,
refused) the connection's next one goes in, after all effects that were there before. A
shell says which frame comes next, and carries out each effect; everything else is here,
and does no I/O.
"""

from collections import Counter
from collections.abc import Callable
from typing import Protocol

from minikafka.broker.broker import Broker
from minikafka.broker.effects import Close, Connection, Done, Effect, Notice, Reply
from minikafka.clock import Now


class Shell(Protocol):
    """What a turn asks of the outside."""

    def next_frame(self, connection: Connection) -> bytearray | None:
        """The connection's next whole request; None if there is none, or its client
        doesn't read its answers.
        """

    def carry_out(self, effect: Effect) -> None:
        """Do what the node asks for."""


# requests of one connection: what producers have in flight,
# max.in.flight.requests.per.connection
MOST_INSIDE = 5
ENDS_A_REQUEST = (Reply, Done, Close)
# of one turn: connections whose next request must wait then go on in the next one
SLICE_MS = 50


class Turn:
    """now: reads the shell's clock. unfinished: connections that wait for their next
    turn because this one was long.
    """

    def __init__(self, broker: Broker, shell: Shell, now: Callable[[], Now]) -> None:
        self._broker = broker
        self._shell = shell
        self._now = now
        # how many of their requests are inside the broker
        self._inside: Counter[Connection] = Counter()
        self.unfinished: list[Connection] = []
        # of this drain, from its first request on
        self._slice_ends_ms: int | None = None
        self._slice_is_over = False

    def admit(self, connection: Connection) -> None:
        """Let a connection's next requests in, as many as may be inside."""
        while (
            self._may_come(connection)
            and (frame := self._shell.next_frame(connection)) is not None
        ):
            self._inside[connection] += 1
            assert self._inside[connection] <= MOST_INSIDE, (
                "a connection has few requests inside"
            )
            now = self._now()
            if self._slice_ends_ms is None:
                self._slice_ends_ms = now.monotonic_ms + SLICE_MS
            self._slice_is_over = now.monotonic_ms >= self._slice_ends_ms
            try:
                self._broker.receive(connection, frame, now)
            except AssertionError:  # the broker no longer trusts itself: the node stops
                raise
            except Exception as error:
                bug = (
                    f"a request of {connection} met a bug of minikafka's; please report"
                    f" it: {error!r}"
                )
                self._broker.outbox += [
                    Notice(bug, error),
                    Close(connection, "met a bug of minikafka's (above)"),
                ]

    def _may_come(self, connection: Connection) -> bool:
        inside = self._inside[connection]
        let_in = not inside or (
            inside < MOST_INSIDE and self._broker.requests.clients[connection].lets_in
        )
        return let_in and not self._broker.stopped

    def gone(self, connection: Connection) -> None:
        """The connection is closed; nothing more comes from it."""
        del self._inside[connection]
        self._broker.disconnected(connection)

    def go_on(self) -> None:
        """Let those in who had to wait because the last turn was long."""
        unfinished, self.unfinished = self.unfinished, []
        for connection in unfinished:
            self.admit(connection)

    def drain(self) -> None:
        """Carry out what the node has left in its outbox, and what comes of it, until
        it is empty.
        """
        outbox = self._broker.outbox
        while outbox:
            effects = list(outbox)
            outbox.clear()
            freed: list[Connection] = []
            for effect in effects:
                if isinstance(effect, ENDS_A_REQUEST):
                    connection = effect.connection
                    # none, once it is gone
                    self._inside[connection] -= self._inside[connection] > 0
                    freed.append(connection)
                self._shell.carry_out(effect)
            for connection in freed:
                if self._slice_is_over:
                    self.unfinished.append(connection)
                else:
                    self.admit(connection)
        self._slice_ends_ms, self._slice_is_over = None, False
