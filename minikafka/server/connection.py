"""One client's TCP connection: bytes in, whole frames to the broker, answers back in
the order of the requests.

The broker has one request of a connection at a time, or a few. While it takes no more,
or while the client does not read its answers, we go on reading until another frame is
there, so that a hang-up is noticed; then TCP holds the client back.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from minikafka.server.addresses import named
from minikafka.server.frames import SCRATCH_BYTES, SIZE_BYTES, BadFrame, Frames

if TYPE_CHECKING:
    from minikafka.server.shell import Server

LARGE_BYTES = 128 * 1024


class Connection(asyncio.BufferedProtocol):
    """The broker knows it as an opaque, hashable thing; str() is the client's address.
    listener: the name of the one that it came through.
    """

    def __init__(self, server: "Server", listener: str) -> None:
        self.server = server
        self.listener = listener
        self.transport: asyncio.Transport
        self.name = "?"
        self.host = "?"
        self.closed = False
        self.active_at = 0.0  # of the event loop's clock, seconds
        self.frames = Frames(server.max_frame_bytes)  # that the broker has not seen
        # answers that the socket has not taken yet, when last counted
        self.unread_bytes = 0
        self._answers: list[Any] = []  # bytes-like
        self._answer_bytes = 0
        self._choked = False  # the client does not read what we send

    def __str__(self) -> str:
        return self.name

    # --- asyncio tells us ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        peer = transport.get_extra_info("peername")
        if peer:
            self.host, self.name = peer[0], named(peer)
        self.server.connected(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.frames.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            self.frames.came(nbytes)
        except BadFrame as bad:
            self.server.refuse(
                self,
                what_is_wrong(bad.beginning, bad.size, self.server.max_frame_bytes),
            )
        if not self.closed:
            self.server.turn(self)

    def eof_received(self) -> bool:
        return False  # a client that has said its last word does not wait for ours

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._drop_frames()
        self.count_unread()
        self.server.disconnected(self)

    def pause_writing(self) -> None:
        self._choked = True

    def resume_writing(self) -> None:
        self._choked = False
        self.count_unread()
        self.server.turn(self)

    # --- the server asks us ---

    @property
    def asks(self) -> bool:
        """There is a request for the broker, which has none of this client now, and the
        client reads its answers.
        """
        return bool(self.frames.whole) and not (self._choked or self.closed)

    def next_frame(self) -> bytearray:
        """The next request, if it asks."""
        return self.frames.take()

    def answer(self, frame: Sequence[Any]) -> None:
        """Keep one answer for the next send()."""
        size = sum(map(len, frame))
        self._answers.append(size.to_bytes(SIZE_BYTES, "big"))
        self._answers.extend(frame)
        self._answer_bytes += size
        if self._answer_bytes > SCRATCH_BYTES:
            # before the next request: only the socket knows whether the client reads
            self.send()

    def send(self) -> None:
        """Give the kept answers to the socket at once, and read on or wait, as the
        backlog says.
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
        self.server.requests.hold(self, self.frames.held_bytes)
        if self.frames.whole:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    def close(self) -> None:
        """What has been answered is still sent; nothing more is read."""
        if not self.closed:
            self.send()
            self.closed = True
            self._drop_frames()
            self.transport.close()

    def abort(self) -> None:
        """Nothing more is sent or read."""
        self.closed = True
        self._drop_frames()
        self.transport.abort()
        self.count_unread()

    def count_unread(self) -> None:
        """Tell the budget of all answers if the client has read some, or has got some
        more to read.
        """
        unread_bytes = self.transport.get_write_buffer_size()
        if unread_bytes != self.unread_bytes:
            self.unread_bytes = unread_bytes
            self.server.answers.hold(self, unread_bytes)

    def _drop_frames(self) -> None:
        self.frames.drop()
        self.server.requests.hold(self, 0)


def merged(parts: list[Any]) -> Iterator[Any]:
    """Small parts joined, since a system call, and a reader who wakes for each, cost
    more than a copy; large ones (records out of the log) as they are.
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
    """Why these four bytes can't begin a request, in words that help whoever pointed
    the wrong program at this port.
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
