"""What customers would say: which orders were accepted, which were handled, how often,
and how long they waited.
"""

from collections import Counter, defaultdict
from typing import NamedTuple

WAITS_MS = 10_000  # an order that waits longer for its acknowledgement: an outage


class Place(NamedTuple):
    """Where an acknowledged order was put, and when."""

    at_ms: int
    partition: int
    offset: int


class Orders:
    """The orders of one incident, by number."""

    def __init__(self) -> None:
        self.asked: dict[int, int] = {}  # number -> when the customer asked
        self.accepted: dict[int, Place] = {}
        self.refused: dict[int, str] = {}
        self.done: defaultdict[str, Counter[int]] = defaultdict(Counter)
        self.false: defaultdict[str, set[str]] = defaultdict(set)

    def waiting(self, now_ms: int) -> int:
        """How many customers wait for an answer for too long."""
        waiting = 0
        for number in self._unanswered():
            waited_ms = now_ms - self.asked[number]
            waiting += waited_ms > WAITS_MS
        return waiting

    def _unanswered(self) -> set[int]:
        """The orders that were neither accepted nor refused yet."""
        return self.asked.keys() - self.accepted.keys() - self.refused.keys()

    def not_done(self, app: str) -> dict[int, Place]:
        """Accepted orders that this app has not handled."""
        done = self.done[app]
        found = {}
        for number, place in self.accepted.items():
            if number not in done:
                found[number] = place
        return found

    def late(self, app: str, now_ms: int, late_ms: int) -> set[int]:
        """Accepted orders that have waited for this app for too long."""
        found = set()
        for number, place in self.not_done(app).items():
            if now_ms - place.at_ms > late_ms:
                found.add(number)
        return found

    def twice(self, app: str) -> int:
        """How many orders were handled more than once."""
        return sum(times > 1 for times in self.done[app].values())
