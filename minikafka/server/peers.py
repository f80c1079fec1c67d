"""Connections to the other nodes of the cluster: one for each (node, lane), made when a request needs it.

A connection that is lost takes its requests along: each is reported as failed, and what to do next is the broker's
affair.
"""

import asyncio
from collections.abc import Callable

from minikafka.broker.effects import Request

SIZE_BYTES = 4


class Lane(asyncio.Protocol):
    """One connection to another node. replied(request, frame), failed(request): how each request ends."""

    def __init__(
        self,
        address: tuple[str, int],
        max_frame_bytes: int,
        replied: Callable[[Request, bytearray], None],
        failed: Callable[[list[Request]], None],
    ) -> None:
        self.closed = False
        self._address = address
        self._max_frame_bytes = max_frame_bytes
        self._replied = replied
        self._failed = failed
        self._asked: list[Request] = []
        self._unsent: list[bytes] = []
        self._data = bytearray()
        self._transport: asyncio.Transport | None = None
        self._connecting = asyncio.get_running_loop().create_task(self._connect())

    def ask(self, request: Request) -> None:
        """Send a request, as soon as the connection is there."""
        self._asked.append(request)
        size = sum(map(len, request.frame))
        self._unsent.append(b"".join((size.to_bytes(SIZE_BYTES, "big"), *request.frame)))
        self._send()

    @property
    def waits(self) -> bool:
        """Whether a reply is still to come."""
        return bool(self._asked) and not self.closed

    def close(self) -> None:
        self.closed = True
        self._connecting.cancel()
        if self._transport is not None:
            self._transport.abort()

    async def _connect(self) -> None:
        try:
            await asyncio.get_running_loop().create_connection(lambda: self, *self._address)
        except OSError:
            self.connection_lost(None)

    def _send(self) -> None:
        if self._transport is not None and self._unsent:
            self._transport.write(b"".join(self._unsent))
            self._unsent.clear()

    # --- asyncio tells us ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        self._data += data
        while len(self._data) >= SIZE_BYTES:
            end = SIZE_BYTES + int.from_bytes(self._data[:SIZE_BYTES], "big", signed=True)
            if not SIZE_BYTES <= end <= SIZE_BYTES + self._max_frame_bytes or not self._asked:
                self.close()  # that is no node of ours
                return
            if len(self._data) < end:
                return
            frame = self._data[SIZE_BYTES:end]
            del self._data[:end]
            self._replied(self._asked.pop(0), frame)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        asked, self._asked = self._asked, []
        self._failed(asked)
