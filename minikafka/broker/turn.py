"""One turn of a node: requests in, effects out. Both shells take it from here, so they
keep the same order.

A shell lives in this loop, whether its clock and its network are real or simulated:

    turn.admit(connection)                    when a connection has a whole request
    broker.receive_reply(...), request_failed(...)
                                              when another node answers, or never will
    broker.tick(now)                          when broker.next_deadline() has come
    turn.drain()                              after each of these: carry out the outbox
    turn.go_on()                              then those who had to wait

(In etcd's raft the outbox is Ready. There is no Advance here: what an effect promises
is in the log, and on disk where it has to be, before the effect is in the outbox. So it
may be carried out at once, and nobody reports back.)

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
    """What a turn needs from the outside."""

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
# how long connections' next requests are let in; then they wait for the next turn
SLICE_MS = 50


class Turn:
    """The turns of one node. now: reads the shell's clock. unfinished: connections that
    wait for their next turn because this one was long.
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
        life = self._broker.life
        # once the node is over, nobody's may come: what it would append then comes
        # behind what it noted as its end
        while not life.is_over:
            inside = self._inside[connection]
            if inside and not self._may_come_too(connection, inside):
                return
            frame = self._shell.next_frame(connection)
            if frame is None:
                return
            self._inside[connection] = inside + 1
            now = self._now()
            if self._slice_ends_ms is None:
                self._slice_ends_ms = now.monotonic_ms + SLICE_MS
            self._slice_is_over = now.monotonic_ms >= self._slice_ends_ms
            try:
                self._broker.receive(connection, frame, now)
            except AssertionError:  # the broker no longer trusts itself: the node stops
                raise
            except Exception as error:
                self._met_a_bug(connection, error)

    def _may_come_too(self, connection: Connection, inside: int) -> bool:
        """Whether one more of its requests may be inside beside so many."""
        client = self._broker.requests.clients[connection]
        return client.allows_pipelining and inside < MOST_INSIDE

    def _met_a_bug(self, connection: Connection, error: Exception) -> None:
        """An error that the broker itself did not catch ends the connection."""
        bug = (
            f"a request of {connection} met a bug of minikafka's; please report it:"
            f" {error!r}"
        )
        outbox = self._broker.outbox
        outbox.append(Notice(bug, error))
        outbox.append(Close(connection, "met a bug of minikafka's (above)"))

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
        """Carry out the outbox, and everything that follows from it, until it
        is empty.
        """
        outbox = self._broker.outbox
        while outbox:
            effects = list(outbox)
            outbox.clear()
            freed: list[Connection] = []
            for effect in effects:
                if isinstance(effect, ENDS_A_REQUEST):
                    connection = effect.connection
                    if self._inside[connection]:  # none, once it is gone
                        self._inside[connection] -= 1
                    freed.append(connection)
                self._shell.carry_out(effect)
            for connection in freed:
                if self._slice_is_over:
                    self.unfinished.append(connection)
                else:
                    self.admit(connection)
        self._slice_ends_ms = None
        self._slice_is_over = False
