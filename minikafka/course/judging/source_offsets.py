"""Offsets as Spark hands them to a source of one's own, for checks of what a micro-batch
reads: where it starts, where it ends, and the first that the topics still have.
"""

import random
from collections.abc import Iterator
from typing import Any

Offsets = dict[str, dict[str, int]]
Case = tuple[Offsets, Offsets, Offsets]  # start, end, first

TOPICS = ("orders", "payments", "orders-old", "Orders", "0")


def some_offsets(source: random.Random, new: int = 0, trouble: bool = False) -> Case:
    """(start, end, first) of one or two topics."""
    start: Offsets = {}
    end: Offsets = {}
    first: Offsets = {}
    for topic in source.sample(TOPICS, source.randint(1, 2)):
        start[topic], end[topic], first[topic] = {}, {}, {}
        partitions = source.choice((1, 2, 3, 4, 12))
        for number in map(str, range(partitions + source.randint(0, new))):
            oldest = source.choice((0, source.randrange(50)))
            begin = oldest + source.choice((0, source.randrange(50)))
            more = source.choice((0, 1, source.randrange(90)))
            first[topic][number] = oldest
            end[topic][number] = begin + more
            if int(number) < partitions:
                start[topic][number] = begin
    if trouble and source.random() < 0.5:
        topic = source.choice(sorted(start))
        number = source.choice(sorted(start[topic]))
        was = start[topic][number]
        start[topic][number] = source.choice((0, max(was - 60, 0), was + 100))
    return start, end, first


def fewer_partitions(case: Case) -> Iterator[tuple[Offsets, ...]]:
    _, end, _ = case
    for topic in end:
        yield tuple(without(each, topic) for each in case)
        for number in end[topic]:
            yield tuple(without_partition(each, topic, number) for each in case)


def without_partition(offsets: Offsets, topic: str, number: str) -> Offsets:
    if topic not in offsets:
        return offsets
    return {**offsets, topic: without(offsets[topic], number)}


def without(mapping: dict[str, Any], gone: str) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key != gone}


def as_offsets(case: Case) -> str:
    start, end, first = case
    return f"start {start}, end {end}, first {first}"


def the_plan(
    start: Offsets, end: Offsets, first: Offsets
) -> list[tuple[str, int, int, int]] | None:
    """The ranges, sorted; or None where records are gone."""
    for topic, numbers in start.items():
        if numbers.keys() - end.get(topic, {}).keys():
            return None
    ranges = []
    for topic, numbers in end.items():
        for number, stop in numbers.items():
            oldest = first[topic][number]
            begin = start.get(topic, {}).get(number, oldest)
            if not oldest <= begin <= stop:
                return None
            if begin < stop:
                ranges.append((topic, int(number), begin, stop))
    return sorted(ranges)
