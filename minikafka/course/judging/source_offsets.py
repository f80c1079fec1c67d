"""Offsets as Spark passes them to a custom source, for checks of what a micro-batch
reads: where it starts, where it ends, and the first offsets that the topics still have.
"""

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeVar

Offsets = dict[str, dict[str, int]]  # topic -> partition, as a text -> offset
Key = TypeVar("Key")
Value = TypeVar("Value")


class Case(NamedTuple):
    """start, end: of the micro-batch. first: where what the topics have begins."""

    start: Offsets
    end: Offsets
    first: Offsets


Range = tuple[str, int, int, int]  # topic, partition, from, up to and without
Cases = dict[str, tuple[Offsets, Offsets, Offsets]]  # start, end, first, by name


def firsts(numbers: Iterable[str]) -> Offsets:
    return {"orders": dict.fromkeys(numbers, 0)}


# The worked examples: (start, end, first).
EXAMPLE = ({"orders": {"0": 5}}, {"orders": {"0": 9}}, {"orders": {"0": 0}})
EXAMPLE_2 = (
    {"orders": {"0": 9}},
    {"orders": {"0": 9, "1": 7}},
    {"orders": {"0": 0, "1": 2}},
)

KNOWN: Cases = {
    "five new": ({"orders": {"0": 5}}, {"orders": {"0": 10}}, {"orders": {"0": 0}}),
    "nothing new": ({"orders": {"0": 5}}, {"orders": {"0": 5}}, {"orders": {"0": 5}}),
    "one of two": (
        {"orders": {"0": 5, "1": 7}},
        {"orders": {"0": 5, "1": 9}},
        firsts("01"),
    ),
    "from 0": ({"orders": {"0": 0}}, {"orders": {"0": 3}}, {"orders": {"0": 0}}),
    "the first example": EXAMPLE,
    "two digits": (
        {"orders": {"2": 5, "10": 7}},
        {"orders": {"2": 6, "10": 9}},
        firsts(("2", "10")),
    ),
    "two topics": (
        {"orders": {"0": 5}, "payments": {"0": 1}},
        {"orders": {"0": 6}, "payments": {"0": 2}},
        {"orders": {"0": 0}, "payments": {"0": 1}},
    ),
}
NEW: Cases = {
    "partition 1 is new": (
        {"orders": {"0": 5}},
        {"orders": {"0": 5, "1": 7}},
        firsts("01"),
    ),
    "new, and cut already": (
        {"orders": {"0": 5}},
        {"orders": {"0": 5, "1": 7}},
        {"orders": {"0": 0, "1": 4}},
    ),
    "new and empty": ({"orders": {"0": 5}}, {"orders": {"0": 5, "1": 0}}, firsts("01")),
    "a new topic": ({}, {"orders": {"0": 3}}, firsts("0")),
    "the second example": EXAMPLE_2,
    "a new topic beside one that is known": (
        {"orders": {"0": 5}},
        {"orders": {"0": 5}, "payments": {"0": 3}},
        {"orders": {"0": 0}, "payments": {"0": 1}},
    ),
}
GONE: Cases = {
    "deleted before they were read": (
        {"orders": {"0": 5}},
        {"orders": {"0": 10}},
        {"orders": {"0": 8}},
    ),
    "0 was reached, and 0 to 3 are deleted": (
        {"orders": {"0": 0}},
        {"orders": {"0": 9}},
        {"orders": {"0": 4}},
    ),
    "only the next one is deleted": (
        {"orders": {"0": 5}},
        {"orders": {"0": 9}},
        {"orders": {"0": 6}},
    ),
    "the end is 0 again": (
        {"orders": {"0": 5}},
        {"orders": {"0": 0}},
        {"orders": {"0": 0}},
    ),
    "all deleted": ({"orders": {"0": 5}}, {"orders": {"0": 10}}, {"orders": {"0": 10}}),
    "shorter than before": (
        {"orders": {"0": 5}},
        {"orders": {"0": 3}},
        {"orders": {"0": 0}},
    ),
    "a partition is gone": (
        {"orders": {"0": 5, "1": 5}},
        {"orders": {"0": 5}},
        {"orders": {"0": 0}},
    ),
    "a partition is gone of which nothing was read": (
        {"orders": {"0": 5, "1": 0}},
        {"orders": {"0": 5}},
        {"orders": {"0": 0}},
    ),
    "a topic is gone": (
        {"orders": {"0": 5}, "payments": {"0": 1}},
        {"orders": {"0": 5}},
        firsts("0"),
    ),
    "deleted after they were read": (
        {"orders": {"0": 5}},
        {"orders": {"0": 9}},
        {"orders": {"0": 5}},
    ),
}


TOPICS = ("orders", "payments", "orders-old", "Orders", "0")


def some_offsets(source: random.Random, new: int = 0, trouble: bool = False) -> Case:
    """(start, end, first) of one or two topics."""
    case = Case({}, {}, {})
    how_many = source.randint(1, 2)
    for topic in source.sample(TOPICS, how_many):
        add_topic(case, topic, source, new)
    if trouble and source.random() < 0.5:
        make_trouble = source.choice((move_a_start, lose_a_partition))
        make_trouble(case, source)
    return case


def add_topic(case: Case, topic: str, source: random.Random, new: int) -> None:
    """A topic of a few partitions. new: at most this many more that the previous
    micro-batch did not know.
    """
    starts = case.start[topic] = {}
    ends = case.end[topic] = {}
    firsts = case.first[topic] = {}
    known = source.choice((1, 2, 3, 4, 12))
    there = known + source.randint(0, new)
    for partition in range(there):
        number = str(partition)
        oldest = source.choice((0, source.randrange(50)))
        begin = oldest + source.choice((0, source.randrange(50)))
        more = source.choice((0, 1, source.randrange(90)))
        firsts[number] = oldest
        ends[number] = begin + more
        if partition < known:
            starts[number] = begin


def move_a_start(case: Case, source: random.Random) -> None:
    """One partition's, to where its records may have gone or have not come yet."""
    topic = source.choice(sorted(case.start))
    starts = case.start[topic]
    number = source.choice(sorted(starts))
    was = starts[number]
    earlier = max(was - 60, 0)
    later = was + 100
    just_before = max(case.first[topic][number] - 1, 0)
    starts[number] = source.choice((0, earlier, just_before, later))


def lose_a_partition(case: Case, source: random.Random) -> None:
    """One that the micro-batch before knew, and the broker doesn't know any more."""
    topic = source.choice(sorted(case.start))
    number = source.choice(sorted(case.start[topic]))
    del case.end[topic][number]
    del case.first[topic][number]


def fewer_partitions(case: Case) -> Iterator[Case]:
    """The case without one of its topics, and without one of its partitions."""
    start, end, first = case
    for topic, numbers in end.items():
        yield Case(
            start=without(start, topic),
            end=without(end, topic),
            first=without(first, topic),
        )
        for number in numbers:
            yield Case(
                start=without_partition(start, topic, number),
                end=without_partition(end, topic, number),
                first=without_partition(first, topic, number),
            )


def without_partition(offsets: Offsets, topic: str, number: str) -> Offsets:
    if topic not in offsets:
        return offsets
    return {**offsets, topic: without(offsets[topic], number)}


def without(mapping: Mapping[Key, Value], gone: Key) -> dict[Key, Value]:
    """A copy of the mapping without one key."""
    return {key: value for key, value in mapping.items() if key != gone}


def as_offsets(case: Case) -> str:
    start, end, first = case
    return f"start {start}, end {end}, first {first}"


def the_plan(start: Offsets, end: Offsets, first: Offsets) -> list[Range] | None:
    """The ranges, sorted; or None where records are gone."""
    for topic, starts in start.items():
        ends = end.get(topic, {})
        if starts.keys() - ends.keys():
            return None
    ranges = []
    for topic, ends in end.items():
        starts = start.get(topic, {})
        for number, stop in ends.items():
            oldest = first[topic][number]
            begin = starts.get(number, oldest)
            if not oldest <= begin <= stop:
                return None
            if begin < stop:
                ranges.append((topic, int(number), begin, stop))
    return sorted(ranges)
