"""Why orders were handled more than once: by which pod, when, and what had become of
the time before.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from minikafka.course.on_call import fates
from minikafka.course.on_call.columns import commas
from minikafka.course.on_call.orders import Handling

if TYPE_CHECKING:
    from minikafka.course.on_call.world import World

MOST_LINES = 5
ENDED = "the first pod ended before its commit"
SET_BACK = "committed, and the offset was set back"
TWO_RECORDS = "in the log twice, by a second try of the producer"


class Again(NamedTuple):
    """What a line is about: what one pod handled again, for one reason."""

    pod: str
    why: str


def lines(world: "World") -> list[str]:
    """A line each, in order of time; of many the first."""
    found: dict[Again, list[Handling]] = {}
    for app in world.readers():
        for first, again in _pairs(world.orders.twice(app.name)):
            about = Again(again.pod, _why(first, again))
            found.setdefault(about, []).append(again)
    told = sorted(found.items(), key=lambda item: _began_ms(item[1]))
    texts = [_line(world, about, again) for about, again in told[:MOST_LINES]]
    if len(told) > MOST_LINES:
        texts.append(f"and {len(told) - MOST_LINES} more")
    return texts + _false(world)


def _pairs(orders: list[list[Handling]]) -> Iterable[tuple[Handling, Handling]]:
    """Each handling but an order's first, with the one before it."""
    for handlings in orders:
        yield from pairwise(handlings)


def _why(first: Handling, again: Handling) -> str:
    """What became of the time before, that there was another."""
    if first.offset != again.offset or first.partition != again.partition:
        return TWO_RECORDS
    if first.commit is None:
        return ENDED
    return first.commit or SET_BACK


def _line(world: "World", about: Again, again: list[Handling]) -> str:
    """8 by billing-a2 (orders-0,1), 00:13:48-00:14:02: ..."""
    began, ended = _began_ms(again), max(handling.at_ms for handling in again)
    time = f"{world.clock(began)}-{world.clock(ended)}"
    partitions = {handling.partition for handling in again}
    [topic] = {partition.topic for partition in partitions}
    where = f"{topic}-{commas(sorted(each.partition for each in partitions))}"
    return f"{len(again)} by {about.pod} ({where}), {time}: {about.why}"


def _began_ms(again: list[Handling]) -> int:
    """When the first of them was."""
    return min(handling.at_ms for handling in again)


def _false(world: "World") -> list[str]:
    """Payouts that were booked, and never committed."""
    count = len(fates.false_payouts(world))
    if not count:
        return []
    return [f"{count} payouts were booked, and never committed: read uncommitted"]
