"""Cuts frames out of the bytes from a socket: a size (int32) and then that many bytes.

Small frames are cut out of one scratch buffer that all connections of a thread share; a
frame that didn't arrive whole gets a bytearray of its own, which grows as its bytes come
and which the socket fills directly.
"""

import threading

SCRATCH_BYTES = 64 * 1024
# allocated for a frame before its bytes have come: a claimed size is only a claim
FIRST_BYTES = 64 * 1024
SIZE_BYTES = 4


class Scratch(threading.local):
    """One buffer is enough for all connections of an event loop: asyncio fills it and
    calls us in one go. In another thread another loop may do so meanwhile.
    """

    def __init__(self) -> None:
        self.buffer = memoryview(bytearray(SCRATCH_BYTES))


_scratch = Scratch()


class Frames:
    """The frames of one connection. held_bytes: of the one that isn't whole yet. bad:
    four bytes that came where a frame should begin, and can't be its size; nothing
    behind them makes sense. max_frame_bytes: of a frame that begins from now on.
    """

    def __init__(self, max_frame_bytes: int) -> None:
        self.held_bytes = 0
        self.bad: bytes | None = None
        self.max_frame_bytes = max_frame_bytes
        self._rest = b""  # fewer than four bytes: not even a size
        # the partial frame: filled up to _filled, _size when complete
        self._frame: bytearray | None = None
        self._filled = 0
        self._size = 0
        self._view: memoryview | None = None
        # a client that has sent a frame of some size may well send another one
        self._believed = FIRST_BYTES

    def buffer(self) -> memoryview:
        """The buffer that the socket fills next (asyncio's get_buffer)."""
        if self._frame is None:
            kept = len(self._rest)
            buffer = _scratch.buffer
            buffer[:kept] = self._rest
            return buffer[kept:]
        if self._filled == len(self._frame):
            growth = min(self._size - self._filled, self._filled)
            self._frame.extend(bytes(growth))
            self.held_bytes += growth
        self._view = memoryview(self._frame)[self._filled :]
        return self._view

    def came(self, nbytes: int) -> list[bytearray]:
        """This many bytes are in the buffer now (buffer_updated). Returns the frames
        that are whole with them.
        """
        if self._frame is None:
            return self._cut(_scratch.buffer[: len(self._rest) + nbytes])
        assert self._view is not None
        self._view.release()  # a bytearray can't grow while a view of it exists
        self._filled += nbytes
        if self._filled < self._size:
            return []
        self._believed = max(self._believed, self._size)
        frame, self._frame = self._frame, None
        self.held_bytes = 0
        return [frame]

    def drop(self) -> None:
        """Drop the partial frame: its rest won't come."""
        self._frame = None
        self._rest = b""
        self.held_bytes = 0

    def _cut(self, data: memoryview) -> list[bytearray]:
        """The whole frames; the rest begins a partial one."""
        whole = []
        at = 0
        end = len(data)
        while end - at >= SIZE_BYTES:
            size = int.from_bytes(data[at : at + SIZE_BYTES], "big", signed=True)
            if not 0 <= size <= self.max_frame_bytes:
                self.bad = bytes(data[at : at + SIZE_BYTES])
                at = end
                break
            at += SIZE_BYTES
            if end - at < size:
                self._begin(size, data[at:])
                at = end
                break
            whole.append(bytearray(data[at : at + size]))
            at += size
        self._rest = bytes(data[at:])
        return whole

    def _begin(self, size: int, beginning: memoryview) -> None:
        frame = bytearray(min(size, self._believed))
        frame[: len(beginning)] = beginning
        self.held_bytes = len(frame)
        self._frame = frame
        self._filled = len(beginning)
        self._size = size
