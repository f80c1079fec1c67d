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
        open_ones = 0
        for number, at_ms in self.asked.items():
            is_open = number not in self.accepted and number not in self.refused
            open_ones += is_open and now_ms - at_ms > WAITS_MS
        return open_ones

    def not_done(self, app: str) -> dict[int, Place]:
        """Accepted orders that this app has not handled."""
        done = self.done[app]
        return {
            number: place
            for number, place in self.accepted.items()
            if number not in done
        }

    def late(self, app: str, now_ms: int, late_ms: int) -> set[int]:
        """Accepted orders that have waited for this app for too long."""
        return {
            number
            for number, place in self.not_done(app).items()
            if now_ms - place.at_ms > late_ms
        }

    def twice(self, app: str) -> int:
        """How many orders were handled more than once."""
        return sum(times > 1 for times in self.done[app].values())
