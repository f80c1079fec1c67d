"""Virtual time. It moves only when somebody waits, and then from one due action to the
next.
"""

import heapq
from collections.abc import Callable

from minikafka.clock import Now

MIDNIGHT_MS = 1_767_225_600_000  # 2026-01-01T00:00:00Z, when every simulation begins


class Clock:
    """now_ms counts from 0. Actions due at the same time run in the order in which they
    were scheduled.
    """

    def __init__(self) -> None:
        self.now_ms = 0
        self._due: list[tuple[int, int, Callable[[], object]]] = []
        self._scheduled = 0

    def now(self, skew_ms: int = 0) -> Now:
        """The current time. skew_ms: how far a node's wall clock is off."""
        return Now(self.now_ms, MIDNIGHT_MS + self.now_ms + skew_ms)

    def schedule(self, at_ms: int, action: Callable[[], object]) -> None:
        self._scheduled += 1
        heapq.heappush(self._due, (max(at_ms, self.now_ms), self._scheduled, action))

    def next_at(self) -> int | None:
        return self._due[0][0] if self._due else None

    def run_next(self) -> None:
        """Move on to the next due action, and run it."""
        at_ms, _, action = heapq.heappop(self._due)
        self.now_ms = at_ms
        action()
