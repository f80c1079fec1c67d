"""A Spark query's progress report beside what the brokers say, for checks of lag."""

import random
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple


class Report(NamedTuple):
    """A progress report, and what is asked. read: topic -> partition -> the offset up to
    which it is read. ends: those of the topic that is asked for. apart: each topic has a
    source of its own. bare: the report has nothing but the offsets. limited: the
    micro-batch was, so the topic had more already when it was planned.
    """

    read: dict[str, dict[int, int]]
    ends: dict[int, int]
    topic: str = "orders"
    apart: bool = False
    bare: bool = False
    limited: bool = False


TOPICS = ("orders", "payments", "orders-old", "Orders", "order", "0")


def a_report(source: random.Random, new: int = 0, others: int = 0) -> Report:
    """A report on one topic, and on so many others at most."""
    how_many = 1 + source.randint(0, others)
    topics = source.sample(TOPICS, how_many)
    read = {topic: _some_offsets(source) for topic in topics}
    asked = source.choice(topics)
    ends = {}
    for number, offset in read[asked].items():
        written_since = source.choice((0, 1, source.randrange(50)))
        ends[number] = offset + written_since
    for _ in range(source.randint(0, new)):
        number = len(ends)
        ends[number] = source.randrange(50)
    is_apart = source.random() < 0.5
    return Report(read, ends, asked, apart=is_apart)


def _some_offsets(source: random.Random) -> dict[int, int]:
    """Of a topic with up to twelve partitions."""
    count = source.choice((1, 2, 3, 5, 12))
    return {number: source.randrange(400) for number in range(count)}


def a_smaller_report(case: Report) -> Iterator[Report]:
    """One source for all topics, without another topic, without a partition."""
    if case.apart:
        yield case._replace(apart=False)
    for topic in case.read:
        if topic != case.topic:
            yield case._replace(read=without(case.read, topic))
    mine = case.read[case.topic]
    for gone in sorted(case.ends, reverse=True):
        fewer = without(mine, gone)
        if fewer:
            read = {**case.read, case.topic: fewer}
            ends = without(case.ends, gone)
            yield case._replace(read=read, ends=ends)


def without(mapping: dict[Any, Any], gone: Any) -> dict[Any, Any]:
    return {key: value for key, value in mapping.items() if key != gone}


MORE = 2  # records that a limited micro-batch leaves in each partition


def beyond(offsets: dict[str, dict[str, int]], more: int) -> dict[str, dict[str, int]]:
    """The offsets so much further on."""
    found = {}
    for topic, partitions in offsets.items():
        found[topic] = {name: offset + more for name, offset in partitions.items()}
    return found


def progress_of(case: Report) -> dict[str, Any]:
    """As PySpark gives it: offsets as the text of a dict, and metrics of the moment of
    the report.
    """
    topics = list(case.read)
    together = [topics]
    if case.apart:
        together = [[topic] for topic in topics]
    sources = [_source(case, group) for group in together]
    if case.bare:
        return {"sources": sources}
    return {"batchId": 3, "numInputRows": 40, "sources": sources}


def _source(case: Report, topics: Iterable[str]) -> dict[str, Any]:
    """What the report says of one that reads these topics."""
    offsets = {}
    for topic in topics:
        read = case.read[topic]
        offsets[topic] = {str(number): offset for number, offset in read.items()}
    found: dict[str, Any] = {"endOffset": str(offsets)}
    if case.bare:
        return found
    more = MORE if case.limited else 0
    latest = beyond(offsets, more)
    metrics = {
        "avgOffsetsBehindLatest": f"{more}.0",
        "maxOffsetsBehindLatest": str(more),
        "minOffsetsBehindLatest": str(more),
    }
    found["startOffset"] = "None"
    found["latestOffset"] = str(latest)
    found["metrics"] = metrics
    return found
