"""Connections to the other nodes of the cluster: one for each (node, lane), made when a
request needs it.

A lost connection takes its requests along: each is reported as failed, and the broker
decides what to do next.
"""

import asyncio
import socket
from collections.abc import Callable

from minikafka.broker.effects import Request
from minikafka.server.addresses import reach
from minikafka.server.frames import SIZE_BYTES, Frames
from minikafka.server.node_handshake import HandshakeError, handshake_as_connector


class Lane(asyncio.BufferedProtocol):
    """One connection to another node. replied(request, frame), failed(request): each
    request ends with one of these.

    secret: the cluster's, which the other node has to know, too; None: no handshake.
    stranger(why): called if the other side isn't a node of our cluster, or its host
    name can't be resolved; with None if it is one.
    """

    def __init__(
        self,
        address: tuple[str, int],
        secret: bytes | None,
        stranger: Callable[[str | None], object],
        max_frame_bytes: int,
        replied: Callable[[Request, bytearray], None],
        failed: Callable[[list[Request]], None],
    ) -> None:
        self.closed = False
        self._is_held = False
        self._address = address
        self._secret = secret
        self._stranger = stranger
        self._replied = replied
        self._failed = failed
        self._asked: list[Request] = []
        self._unsent: list[bytes] = []
        self._frames = Frames(max_frame_bytes)
        self._transport: asyncio.Transport | None = None
        self._connecting = asyncio.get_running_loop().create_task(self._connect())

    def ask(self, request: Request) -> None:
        """Send a request, as soon as the connection exists."""
        self._asked.append(request)
        size = sum(map(len, request.frame))
        self._unsent.append(
            b"".join((size.to_bytes(SIZE_BYTES, "big"), *request.frame))
        )
        self._send()

    @property
    def waits(self) -> bool:
        """Whether a reply is still missing."""
        return bool(self._asked) and not self.closed

    def hold(self) -> None:
        """Nothing passes in either direction, until `release`."""
        self._is_held = True
        if self._transport is not None:
            self._transport.pause_reading()

    def release(self) -> None:
        """Send and hear again, beginning with what has waited."""
        self._is_held = False
        if self._transport is not None and not self.closed:
            self._transport.resume_reading()
        self._send()

    def close(self) -> None:
        self.closed = True
        self._connecting.cancel()
        if self._transport is not None:
            self._transport.abort()

    async def _connect(self) -> None:
        try:
            sock = await self._greeted()
        except (OSError, EOFError):  # nobody is there, or not any more
            self.connection_lost(None)
        except HandshakeError as failed:
            self._stranger(str(failed))
            self.connection_lost(None)
        else:
            self._stranger(None)
            await asyncio.get_running_loop().create_connection(lambda: self, sock=sock)

    async def _greeted(self) -> socket.socket:
        """A connection on which both sides have proved themselves. Errors: HandshakeError,
        OSError, EOFError.
        """
        host = self._address[0]
        try:
            sock = await reach(*self._address)
        except (socket.gaierror, UnicodeError) as error:
            raise HandshakeError(
                f"can't be asked: the name {host!r} is not known here ({error})"
            ) from error
        try:
            if self._secret is not None:
                await handshake_as_connector(sock, self._secret)
        except BaseException:
            sock.close()
            raise
        return sock

    def _send(self) -> None:
        if self._transport is not None and self._unsent and not self._is_held:
            self._transport.write(b"".join(self._unsent))
            self._unsent.clear()

    # --- called by asyncio ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._is_held:
            transport.pause_reading()
        self._send()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._frames.buffer()

    def buffer_updated(self, nbytes: int) -> None:
        for frame in self._frames.came(nbytes):
            if not self._asked:
                self.close()
            if self.closed:
                return
            self._replied(self._asked.pop(0), frame)
        if self._frames.bad is not None:
            self.close()  # that isn't a node of ours

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        asked, self._asked = self._asked, []
        self._failed(asked)
