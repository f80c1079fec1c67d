"""Deadlines that move: a heap that is corrected late, so that moving one (every heartbeat does) costs nothing."""

from __future__ import annotations

import heapq


class Deadlines:
    """One deadline a key, in monotonic ms."""

    def __init__(self) -> None:
        self._at: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []
        self._queued: dict[str, int] = {}  # the earliest entry of the heap that counts for a key

    def set(self, key: str, at_ms: int) -> None:
        self._at[key] = at_ms
        if at_ms < self._queued.get(key, at_ms + 1):
            self._push(key, at_ms)

    def next(self) -> int | None:
        """Not later than the earliest deadline; maybe earlier, as deadlines move."""
        return self._heap[0][0] if self._heap else None

    def due(self, now_ms: int) -> list[str]:
        """Takes out the keys whose time has come, in the order of their deadlines."""
        due = []
        while self._heap and self._heap[0][0] <= now_ms:
            queued_ms, key = heapq.heappop(self._heap)
            if self._queued.get(key) != queued_ms:
                continue
            del self._queued[key]
            at_ms = self._at[key]
            if at_ms > now_ms:
                self._push(key, at_ms)
            else:
                del self._at[key]
                due.append(key)
        return due

    def _push(self, key: str, at_ms: int) -> None:
        self._queued[key] = at_ms
        heapq.heappush(self._heap, (at_ms, key))
