"""When a node has something to do: the timers of its parts, in one heap.

A part takes its timers from the node when it is made, and sets one when it learns of
something to do later. So the node knows when to wake up without asking its parts, and
each part looks at its own timers then. A part with many deadlines, one for each member
of a group for example, keeps them in `Deadlines`, which set one timer to the earliest.

Every heartbeat moves a deadline, so that must cost nothing: both heaps are corrected
late.
"""

import heapq
from typing import Generic, TypeVar

Key = TypeVar("Key")

NEVER_MS = 1 << 62


class Timer:
    """When a part of a node has something to do. at_ms: monotonic; NEVER_MS: never."""

    __slots__ = ("_timers", "at_ms", "queued_ms")

    def __init__(self, timers: "Timers") -> None:
        self.at_ms = NEVER_MS
        self.queued_ms = NEVER_MS  # the entry of the heap that counts
        self._timers = timers

    def set(self, at_ms: int) -> None:
        """Monotonic ms, in the place of what was set before."""
        self.at_ms = at_ms
        if at_ms < self.queued_ms:
            self._timers.push(self)

    def stop(self) -> None:
        """There is nothing to do."""
        self.at_ms = NEVER_MS


class Timers:
    """The timers of one node."""

    def __init__(self) -> None:
        # at, a number, timer: an entry may be too early, or mean nothing
        self._heap: list[tuple[int, int, Timer]] = []
        self._number = 0

    def new(self) -> Timer:
        """One that is not set."""
        return Timer(self)

    def next(self) -> int:
        """Monotonic ms of the earliest; NEVER_MS: none is set."""
        while self._heap:
            queued_ms, _, timer = self._heap[0]
            if timer.at_ms == queued_ms:
                return queued_ms
            heapq.heappop(self._heap)
            if timer.queued_ms == queued_ms:
                timer.queued_ms = NEVER_MS
                timer.set(timer.at_ms)
        return NEVER_MS

    def push(self, timer: Timer) -> None:
        """A timer was set to an earlier time."""
        timer.queued_ms = timer.at_ms
        self._number += 1
        heapq.heappush(self._heap, (timer.at_ms, self._number, timer))


class Deadlines(Generic[Key]):
    """Deadlines that move: one a key, in monotonic ms. An overdue key stays so
    until it is moved or removed. timer: of the node, set to the earliest.
    """

    def __init__(self, timer: Timer | None = None) -> None:
        self._timer = timer
        self._at: dict[Key, int] = {}
        # at, a number, key: an entry may be too early, or mean nothing
        self._heap: list[tuple[int, int, Key]] = []
        self._queued: dict[Key, int] = {}  # the entry of the heap that counts for a key
        self._number = 0

    def set(self, key: Key, at_ms: int | None) -> None:
        """None: the key has no deadline any more."""
        before_ms = self._at.get(key)
        if at_ms is None:
            self._at.pop(key, None)
        else:
            self._at[key] = at_ms
            if at_ms < self._queued.get(key, at_ms + 1):
                self._push(key, at_ms)
        if self._timer is None:
            return
        if at_ms is not None and at_ms < self._timer.at_ms:
            self._timer.set(at_ms)
        elif before_ms == self._timer.at_ms:
            next_ms = self.next()
            self._timer.set(NEVER_MS if next_ms is None else next_ms)

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
