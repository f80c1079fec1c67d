"""The customers' view: which orders were accepted, which were handled, how often, and
how long they waited.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from minikafka.clients.structs import TopicPartition

WAITS_MS = 10_000  # an order that waits longer for its acknowledgement: an outage


class Place(NamedTuple):
    """Where an acknowledged order was put, and when."""

    at_ms: int
    partition: int
    offset: int


@dataclass
class Handling:
    """An order handled by a pod, once. offset: of the record that it read.
    commit: the result of the commit after it: None before it is known, or if the pod
    ended first; "" if it was accepted; otherwise why it wasn't.
    """

    at_ms: int
    pod: str
    partition: TopicPartition
    offset: int
    commit: str | None = None


class Orders:
    """The orders of one incident, by number."""

    def __init__(self) -> None:
        self.asked: dict[int, int] = {}  # number -> when the customer asked, in ms
        self.accepted: dict[int, Place] = {}
        self.refused: dict[int, str] = {}
        # by app and number of the order
        self.handled: defaultdict[str, dict[int, list[Handling]]] = defaultdict(dict)
        self.false: defaultdict[str, set[str]] = defaultdict(set)

    def waiting(self, now_ms: int) -> int:
        """How many customers have waited too long for an answer."""
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
        handled = self.handled[app]
        found = {}
        for number, place in self.accepted.items():
            if number not in handled:
                found[number] = place
        return found

    def late(self, app: str, now_ms: int, late_ms: int) -> set[int]:
        """Accepted orders that have waited for this app for too long."""
        found = set()
        for number, place in self.not_done(app).items():
            if now_ms - place.at_ms > late_ms:
                found.add(number)
        return found

    def twice(self, app: str) -> list[list[Handling]]:
        """All handlings of each order that was handled more than once."""
        return [times for times in self.handled[app].values() if len(times) > 1]
