"""One client's TCP connection: bytes come in and become frames, which go to the node's
turn (broker/turn.py); the turn hands back answers, in the order of the requests, and
they go to the socket when it ends.

The broker takes one request of a connection at a time, or a few. While it takes no
more, or while the client doesn't read its answers, we read on until one more frame is
there, so that we notice if the client hangs up; then TCP holds the client back.
"""

import asyncio
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from minikafka.broker.effects import Frame
from minikafka.broker.turn import Turn
from minikafka.cluster.principals import ANONYMOUS, Principal
from minikafka.server.addresses import named
from minikafka.server.budget import Budget
from minikafka.server.frames import SCRATCH_BYTES, SIZE_BYTES, Frames
from minikafka.server.log import log
from minikafka.server.newcomers import Newcomers

LARGE_BYTES = 128 * 1024


class Watcher(Protocol):
    """Listens in on the connections."""

    def connected(self, connection: "Connection") -> None:
        """A client came."""

    def asked(self, connection: "Connection", frame: bytearray) -> None:
        """A whole request came."""

    def answered(self, connection: "Connection", frame: Frame | None) -> None:
        """The oldest request is finished; None: it has no answer."""

    def left(self, connection: "Connection") -> None:
        """The connection is closed."""


class Shared(NamedTuple):
    """What all connections of a server share.

    connections: those that are there. requests, answers: the budgets that count the
    bytes of all of them. max_frame_bytes: of one request.
    """

    turn: Turn
    connections: "set[Connection]"
    requests: "Budget[Connection]"
    answers: "Budget[Connection]"
    max_frame_bytes: int
    watchers: Sequence[Watcher]


class Connection(asyncio.BufferedProtocol):
    """To the broker this is an opaque, hashable object; str() is the client's address.
    listener: the name of the listener that the client used. newcomers: whom it belongs
    to until it has shown who it is, where that is asked for. max_frame_bytes: of a
    request until then.
    """

    def __init__(
        self,
        shared: Shared,
        listener: str,
        newcomers: Newcomers | None = None,
        max_frame_bytes: int | None = None,
    ) -> None:
        self._shared = shared
        self._newcomers = newcomers
        self._is_known = False  # to the broker, and to those that listen in
        self._turn = shared.turn
        self.listener = listener
        self.transport: asyncio.Transport
        self.name = "?"
        self.host = "?"
        self.closed = False
        self.active_at = time.monotonic()
        self._frames = Frames(max_frame_bytes or shared.max_frame_bytes)
        self.requests: deque[bytearray] = deque()  # that the broker hasn't had yet
        self.is_paused = False  # the client doesn't read what we send
        self._unanswered = 0  # requests that aren't finished
        # answers that the socket hadn't taken yet when they were last counted
        self.unread_bytes = 0
        self._answers: list[Any] = []  # bytes-like
        self._answer_bytes = 0

    def __str__(self) -> str:
        return self.name

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        peer = transport.get_extra_info("peername")
        if peer:
            self.host, self.name = peer[0], named(peer)
        self._shared.connections.add(self)
        if self._newcomers is not None:
            self._newcomers.add(self)
        self._begin()

    def _begin(self) -> None:
        """The client may speak Kafka's protocol."""
        self._let_in(ANONYMOUS)

    def _let_in(self, principal: Principal) -> None:
        """The broker hears of it. principal: who TLS has shown the client to be."""
        self._is_known = True
        self._turn.connected(self, self.listener, self.host, principal)
        for watcher in self._shared.watchers:
            watcher.connected(self)

    def admitted(self) -> None:
        """The client has shown who it is."""
        self._frames.max_frame_bytes = self._shared.max_frame_bytes
        if self._newcomers is not None:
            self._newcomers.discard(self)

    # --- in: bytes, frames, the turn ---

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._frames.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        self.active_at = time.monotonic()
        self._take(self._frames.came(nbytes))

    def _take(self, frames: list[bytearray]) -> None:
        """Whole requests came, or a part of one."""
        self._unanswered += len(frames)
        for watcher in self._shared.watchers:
            for frame in frames:
                watcher.asked(self, frame)
        self._turn.receive(self, frames)

    # --- out: the turn, answers, bytes ---

    def answer(self, frame: Frame | None) -> None:
        """Keep one answer for the next flush(); None: the oldest request has none."""
        self._unanswered -= 1
        for watcher in self._shared.watchers:
            watcher.answered(self, frame)
        if frame is None or self.closed:
            return
        size = sum(map(len, frame))
        self._answers.append(size.to_bytes(SIZE_BYTES, "big"))
        self._answers.extend(frame)
        self._answer_bytes += size
        if self._answer_bytes > SCRATCH_BYTES:
            # before the next request, because only the socket knows whether the client
            # reads
            self._write()

    def flush(self) -> None:
        """The turn has ended: give the answers to the socket, and read on or wait,
        depending on the backlog. What can't be a request ends the connection once the
        requests before it are answered.
        """
        if self.closed:
            return
        self._write()
        bad = self._frames.bad
        if bad is not None and not self._unanswered:
            self.refuse(what_is_wrong(bad, self._frames.max_frame_bytes))
            return
        self._shared.requests.hold(self, self.held_bytes)
        if self.requests or bad is not None:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    def _write(self) -> None:
        if not self._answers:
            return
        answers, size_bytes = self._answers, self._answer_bytes
        self._answers, self._answer_bytes = [], 0
        for part in (
            merged(answers) if size_bytes >= LARGE_BYTES else [b"".join(answers)]
        ):
            self._send(part)
        self.count_unread()

    def _send(self, part: Any) -> None:
        self.transport.write(part)

    # --- brakes ---

    def pause_writing(self) -> None:
        self._turn.pause(self)

    def resume_writing(self) -> None:
        self.active_at = time.monotonic()
        self.count_unread()
        self._turn.resume(self)

    @property
    def held_bytes(self) -> int:
        """Of requests that aren't whole yet, or that the broker hasn't had yet."""
        return self._frames.held_bytes + sum(map(len, self.requests))

    def count_unread(self) -> None:
        """Update the budget of all answers if the client has read some, or has more to
        read.
        """
        unread_bytes = self.transport.get_write_buffer_size()
        if unread_bytes != self.unread_bytes:
            self.unread_bytes = unread_bytes
            self._shared.answers.hold(self, unread_bytes)

    # --- the end ---

    def eof_received(self) -> bool:
        return False  # a client that has closed its end isn't waiting for our answers

    def refuse(self, why: str) -> None:
        """Close it and say why; others aren't affected."""
        if self._newcomers is None:
            log(f"closed the connection of {self}, which {why}.")
        else:
            self._newcomers.tell(self, why)
        self.close()

    def close(self) -> None:
        """Send the answers that are there, but read nothing more."""
        if not self.closed:
            self._write()
            self.closed = True
            self._drop_requests()
            self._say_goodbye()
            self.transport.close()

    def _say_goodbye(self) -> None:
        """Nothing: what is below closes the connection without a word."""

    def abort(self) -> None:
        """Close at once: nothing more is sent or read."""
        self.closed = True
        self._drop_requests()
        self.transport.abort()
        self.count_unread()

    def vanish(self) -> None:
        """The broker is gone, and hears of nothing any more."""
        self._is_known = False
        self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._drop_requests()
        self.count_unread()
        self._shared.connections.discard(self)
        if self._newcomers is not None:
            self._newcomers.discard(self)
        if not self._is_known:
            return
        for watcher in self._shared.watchers:
            watcher.left(self)
        self._turn.gone(self)
        self._turn.run()

    def _drop_requests(self) -> None:
        self._turn.drop_requests(self)
        self._frames.drop()
        self._shared.requests.hold(self, 0)


def merged(parts: list[Any]) -> Iterator[Any]:
    """The parts with small ones joined, because a system call, and a reader that wakes
    up for each, cost more than a copy; large ones (records from the log) stay as they
    are.
    """
    small: list[Any] = []
    for part in parts:
        if len(part) < LARGE_BYTES:
            small.append(part)
        else:
            yield b"".join(small)
            yield part
            small = []
    yield b"".join(small)


def what_is_wrong(beginning: bytes, max_frame_bytes: int) -> str:
    """Why these four bytes can't begin a request, in words that help a person who
    pointed the wrong program at this port.
    """
    if beginning[:3] in (
        b"GET",
        b"POS",
        b"PUT",
        b"HEA",
        b"DEL",
        b"OPT",
        b"CON",
        b"PRI",
    ):
        return "speaks HTTP; this port speaks the Kafka protocol"
    if beginning[:2] == b"\x16\x03":
        return (
            "speaks TLS; this port has none (security.protocol=PLAINTEXT, or"
            " SASL_PLAINTEXT)"
        )
    size = int.from_bytes(beginning, "big", signed=True)
    if size < 0:
        return f"announced a request of {size} bytes"
    return (
        f"announced a request of {size} bytes, more than socket.request.max.bytes"
        f" ({max_frame_bytes})"
    )
