"""One client's TCP connection: bytes come in, whole frames go to the broker, answers go
back in the order of the requests.

The broker takes one request of a connection at a time, or a few. While it takes no
more, or while the client doesn't read its answers, we read on until one more frame is
there, so that we notice if the client hangs up; then TCP holds the client back.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from minikafka.server.addresses import named
from minikafka.server.budget import Budget
from minikafka.server.frames import SCRATCH_BYTES, SIZE_BYTES, BadFrame, Frames

LARGE_BYTES = 128 * 1024


class Owner(NamedTuple):
    """What the server does with its connections, and gives them.

    connected, disconnected: called once each. turn: bytes came, or the client has read
    its answers. refuse(connection, why): it sent something that is no request.
    max_frame_bytes: of one request. requests, answers: the budgets that count the bytes
    of all connections.
    """

    connected: Callable[["Connection"], object]
    disconnected: Callable[["Connection"], object]
    turn: Callable[["Connection"], object]
    refuse: Callable[["Connection", str], object]
    max_frame_bytes: int
    requests: "Budget[Connection]"
    answers: "Budget[Connection]"


class Connection(asyncio.BufferedProtocol):
    """To the broker this is an opaque, hashable object; str() is the client's address.
    listener: the name of the listener that the client used.
    """

    def __init__(self, owner: Owner, listener: str) -> None:
        self._owner = owner
        self.listener = listener
        self.transport: asyncio.Transport
        self.name = "?"
        self.host = "?"
        self.closed = False
        self.active_at = 0.0  # of the event loop's clock, seconds
        self.frames = Frames(owner.max_frame_bytes)  # that the broker hasn't seen yet
        # answers that the socket hadn't taken yet when they were last counted
        self.unread_bytes = 0
        self._answers: list[Any] = []  # bytes-like
        self._answer_bytes = 0
        self._choked = False  # the client doesn't read what we send

    def __str__(self) -> str:
        return self.name

    # --- called by asyncio ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        peer = transport.get_extra_info("peername")
        if peer:
            self.host, self.name = peer[0], named(peer)
        self._owner.connected(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.frames.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            self.frames.came(nbytes)
        except BadFrame as bad:
            most_bytes = self._owner.max_frame_bytes
            why = what_is_wrong(bad.beginning, bad.size, most_bytes)
            self._owner.refuse(self, why)
        if not self.closed:
            self._owner.turn(self)

    def eof_received(self) -> bool:
        return False  # a client that has closed its end isn't waiting for our answers

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._drop_frames()
        self.count_unread()
        self._owner.disconnected(self)

    def pause_writing(self) -> None:
        self._choked = True

    def resume_writing(self) -> None:
        self._choked = False
        self.count_unread()
        self._owner.turn(self)

    # --- called by the server ---

    @property
    def asks(self) -> bool:
        """Whether there is a request for the broker, which has none of this client at
        the moment, and the client reads its answers.
        """
        return bool(self.frames.whole) and not (self._choked or self.closed)

    def next_frame(self) -> bytearray:
        """The next request; only if `asks`."""
        return self.frames.take()

    def answer(self, frame: Sequence[Any]) -> None:
        """Keep one answer for the next send()."""
        size = sum(map(len, frame))
        self._answers.append(size.to_bytes(SIZE_BYTES, "big"))
        self._answers.extend(frame)
        self._answer_bytes += size
        if self._answer_bytes > SCRATCH_BYTES:
            # before the next request, because only the socket knows whether the client
            # reads
            self.send()

    def send(self) -> None:
        """Give the stored answers to the socket at once, and read on or wait, depending
        on the backlog.
        """
        if self.closed:
            return
        if self._answers:
            answers, size_bytes = self._answers, self._answer_bytes
            self._answers, self._answer_bytes = [], 0
            for part in (
                merged(answers) if size_bytes >= LARGE_BYTES else [b"".join(answers)]
            ):
                self.transport.write(part)
            self.count_unread()
        self._owner.requests.hold(self, self.frames.held_bytes)
        if self.frames.whole:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    def close(self) -> None:
        """Send the answers that are there, but read nothing more."""
        if not self.closed:
            self.send()
            self.closed = True
            self._drop_frames()
            self.transport.close()

    def abort(self) -> None:
        """Close at once: nothing more is sent or read."""
        self.closed = True
        self._drop_frames()
        self.transport.abort()
        self.count_unread()

    def count_unread(self) -> None:
        """Update the budget of all answers if the client has read some, or has more to
        read.
        """
        unread_bytes = self.transport.get_write_buffer_size()
        if unread_bytes != self.unread_bytes:
            self.unread_bytes = unread_bytes
            self._owner.answers.hold(self, unread_bytes)

    def _drop_frames(self) -> None:
        self.frames.drop()
        self._owner.requests.hold(self, 0)


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


def what_is_wrong(beginning: bytes, size: int, max_frame_bytes: int) -> str:
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
        return "speaks TLS; this port speaks plain Kafka (security.protocol=PLAINTEXT)"
    if size < 0:
        return f"announced a request of {size} bytes"
    return (
        f"announced a request of {size} bytes, more than socket.request.max.bytes"
        f" ({max_frame_bytes})"
    )
