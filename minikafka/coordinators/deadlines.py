"""Deadlines that move. Every heartbeat moves one, so that must cost nothing: the heap is corrected late."""

from __future__ import annotations

import heapq
from typing import Generic, TypeVar

Key = TypeVar("Key")


class Deadlines(Generic[Key]):
    """One deadline a key, in monotonic ms. Whoever is overdue stays so until the deadline is moved or removed."""

    def __init__(self) -> None:
        self._at: dict[Key, int] = {}
        self._heap: list[tuple[int, int, Key]] = []  # at, a number, key: an entry may be too early, or mean nothing
        self._queued: dict[Key, int] = {}  # the entry of the heap that counts for a key
        self._number = 0

    def set(self, key: Key, at_ms: int | None) -> None:
        """None: the key has no deadline any more."""
        if at_ms is None:
            self._at.pop(key, None)
            return
        self._at[key] = at_ms
        if at_ms < self._queued.get(key, at_ms + 1):
            self._push(key, at_ms)

    def next(self) -> int | None:
        """The earliest deadline."""
        while self._heap:
            queued_ms, _, key = self._heap[0]
            at_ms = self._at.get(key)
            counts = self._queued.get(key) == queued_ms
            if counts and at_ms == queued_ms:
                return at_ms
            heapq.heappop(self._heap)
            if counts:
                del self._queued[key]
                if at_ms is not None:
                    self._push(key, at_ms)
        return None

    def at(self, key: Key) -> int | None:
        return self._at.get(key)

    def is_overdue(self, key: Key, now_ms: int) -> bool:
        return self._at.get(key, now_ms + 1) <= now_ms

    def overdue(self, now_ms: int) -> list[Key]:
        """The keys whose time has come, in the order of their deadlines."""
        due = []
        while (at_ms := self.next()) is not None and at_ms <= now_ms:
            key = heapq.heappop(self._heap)[2]
            del self._queued[key]
            due.append(key)
        for key in due:
            self._push(key, self._at[key])
        return due

    def _push(self, key: Key, at_ms: int) -> None:
        self._queued[key] = at_ms
        self._number += 1
        heapq.heappush(self._heap, (at_ms, self._number, key))
