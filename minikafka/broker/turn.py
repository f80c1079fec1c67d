"""One turn of a node: requests in, effects out. Both shells take it from here, so they keep the same order.

The broker has one request of a connection at a time. When it is finished (answered, done without an answer, refused)
the connection's next one goes in, after all effects that were there before. A shell says which frame comes next, and
carries out each effect; everything else is here, and does no I/O.
"""

from collections.abc import Callable
from typing import Protocol

from minikafka.broker.broker import Broker
from minikafka.broker.effects import Close, Connection, Done, Effect, Notice, Reply
from minikafka.clock import Now


class Shell(Protocol):
    """What a turn asks of the outside."""

    def next_frame(self, connection: Connection) -> bytearray | None:
        """The connection's next whole request; None if there is none, or its client doesn't read its answers."""

    def carry_out(self, effect: Effect) -> None:
        """Do what the node asks for."""


SLICE_MS = 50  # of one turn: connections whose next request must wait then go on in the next one


class Turn:
    """now: reads the shell's clock. unfinished: connections that wait for their next turn because this one was long."""

    def __init__(self, broker: Broker, shell: Shell, now: Callable[[], Now]) -> None:
        self._broker = broker
        self._shell = shell
        self._now = now
        self._busy: set[Connection] = set()  # a request of theirs is inside the broker
        self.unfinished: list[Connection] = []
        self._slice_ends_ms: int | None = None  # of this drain, from its first request on
        self._slice_is_over = False

    def admit(self, connection: Connection) -> None:
        """Let a connection's next request in, unless one is inside."""
        if connection in self._busy or self._broker.stopped:
            return
        frame = self._shell.next_frame(connection)
        if frame is not None:
            self._busy.add(connection)
            now = self._now()
            if self._slice_ends_ms is None:
                self._slice_ends_ms = now.monotonic_ms + SLICE_MS
            self._slice_is_over = now.monotonic_ms >= self._slice_ends_ms
            try:
                self._broker.receive(connection, frame, now)
            except AssertionError:  # the broker no longer trusts itself: the node stops
                raise
            except Exception as error:
                bug = f"a request of {connection} met a bug of minikafka's; please report it: {error!r}"
                self._broker.outbox += [Notice(bug, error), Close(connection, "met a bug of minikafka's (above)")]

    def gone(self, connection: Connection) -> None:
        """The connection is closed; nothing more comes from it."""
        self._busy.discard(connection)
        self._broker.disconnected(connection)

    def go_on(self) -> None:
        """Let those in who had to wait because the last turn was long."""
        unfinished, self.unfinished = self.unfinished, []
        for connection in unfinished:
            self.admit(connection)

    def drain(self) -> None:
        """Carry out what the node has left in its outbox, and what comes of it, until it is empty."""
        outbox = self._broker.outbox
        while outbox:
            effects = list(outbox)
            outbox.clear()
            freed: list[Connection] = []
            for effect in effects:
                if isinstance(effect, Reply | Done | Close):
                    self._busy.discard(effect.connection)
                    freed.append(effect.connection)
                self._shell.carry_out(effect)
            for connection in freed:
                if self._slice_is_over:
                    self.unfinished.append(connection)
                else:
                    self.admit(connection)
        self._slice_ends_ms, self._slice_is_over = None, False
