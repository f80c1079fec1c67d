"""Why orders were handled more than once: by which pod, when, and how the handling
before it had ended.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from minikafka.course.on_call import fates
from minikafka.course.on_call.columns import commas
from minikafka.course.on_call.log_lines import clock
from minikafka.course.on_call.orders import Handling
from minikafka.course.on_call.world import World

MOST_LINES = 5
ENDED = "the first pod ended before its commit"
SET_BACK = "committed, and the offset was set back"
TWO_RECORDS = "in the log twice, because the producer tried again"


@dataclass
class Repeats:
    """Records that one pod handled again, for one reason."""

    pod: str
    why: str
    handlings: list[Handling] = field(default_factory=list)

    @property
    def began_ms(self) -> int:
        """When the first of them was handled."""
        return min(handling.at_ms for handling in self.handlings)

    @property
    def ended_ms(self) -> int:
        """When the last of them was handled."""
        return max(handling.at_ms for handling in self.handlings)

    def line(self) -> str:
        """8 by billing-a2 (orders-0,1), 00:13:48-00:14:02: ..."""
        count = len(self.handlings)
        began = clock(self.began_ms)
        ended = clock(self.ended_ms)
        where = _where(self.handlings)
        return f"{count} by {self.pod} ({where}), {began}-{ended}: {self.why}"


def lines(world: World) -> list[str]:
    """A line for each, in order of time. If there are many, only for the first ones."""
    repeats = _repeats(world)
    repeats.sort(key=lambda each: each.began_ms)
    told = [each.line() for each in repeats[:MOST_LINES]]
    times = sum(len(each.handlings) for each in repeats)
    orders = sum(len(world.orders.twice(app.name)) for app in world.readers)
    if times > orders:
        told.insert(0, f"{times} times in all: some a third time, or more often")
    if len(repeats) > MOST_LINES:
        told.append(f"and {len(repeats) - MOST_LINES} more")
    return told + _false_payouts(world)


def _repeats(world: World) -> list[Repeats]:
    """All that was handled again, by pod and reason."""
    found: dict[tuple[str, str], Repeats] = {}
    for app in world.readers:
        for before, again in _pairs(world.orders.twice(app.name)):
            why = _why(before, again)
            repeats = found.setdefault((again.pod, why), Repeats(again.pod, why))
            repeats.handlings.append(again)
    return list(found.values())


def _pairs(orders: list[list[Handling]]) -> Iterable[tuple[Handling, Handling]]:
    """Each handling but an order's first, with the one before it."""
    for handlings in orders:
        yield from pairwise(handlings)


def _why(before: Handling, again: Handling) -> str:
    """The reason for the repetition: how the handling before ended."""
    is_same_record = (
        before.partition == again.partition and before.offset == again.offset
    )
    if not is_same_record:
        return TWO_RECORDS
    if before.commit is None:
        return ENDED
    if before.commit:  # why it was refused
        return before.commit
    return SET_BACK


def _where(handlings: list[Handling]) -> str:
    """The topic and its partitions: orders-0,1."""
    partitions = {handling.partition for handling in handlings}
    [topic] = {partition.topic for partition in partitions}
    numbers = sorted(partition.partition for partition in partitions)
    return f"{topic}-{commas(numbers)}"


def _false_payouts(world: World) -> list[str]:
    """Payouts that were booked, and never committed."""
    count = len(fates.false_payouts(world.apps.values(), world.orders))
    if not count:
        return []
    return [f"{count} payouts were booked, and never committed: read uncommitted"]
