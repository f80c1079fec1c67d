"""A Spark query's progress report beside what the brokers say, for checks of lag."""

import random
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from minikafka.course.judging.source_offsets import Offsets, without


class Report(NamedTuple):
    """A progress report, and what is asked."""

    read: dict[str, dict[int, int]]  # topic -> partition -> up to which offset
    ends: dict[int, int]  # partition -> end, of the topic that is asked for
    topic: str = "orders"
    apart: bool = False  # each topic has a source of its own
    # the micro-batch was limited, so the topic had more already when it was planned
    limited: bool = False


TOPICS = ("orders", "payments", "orders-old", "Orders", "order", "0")


def a_report(source: random.Random, new: int = 0, others: int = 0) -> Report:
    """A report on one topic, and on at most `others` more."""
    how_many = 1 + source.randint(0, others)
    topics = source.sample(TOPICS, how_many)
    read = {}
    for topic in topics:
        read[topic] = _some_offsets(source)
    asked = source.choice(topics)
    ends = {}
    for number, offset in read[asked].items():
        written_since = source.choice((0, 1, source.randrange(50)))
        ends[number] = offset + written_since
    for _ in range(source.randint(0, new)):
        number = len(ends)
        ends[number] = source.randrange(50)
    ends = dict(source.sample(list(ends.items()), len(ends)))
    is_apart = source.random() < 0.5
    return Report(read, ends, asked, apart=is_apart)


def _some_offsets(source: random.Random) -> dict[int, int]:
    """The offsets of a topic with up to twelve partitions."""
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
    for partition in sorted(case.ends, reverse=True):
        fewer = without(mine, partition)
        if not fewer:
            continue
        read = {**case.read, case.topic: fewer}
        ends = without(case.ends, partition)
        yield case._replace(read=read, ends=ends)


MORE = 2  # records that a limited micro-batch leaves in each partition


def beyond(offsets: Offsets, more: int) -> Offsets:
    """The offsets moved on by this many."""
    found: Offsets = {}
    for topic, partitions in offsets.items():
        found[topic] = {}
        for partition, offset in partitions.items():
            found[topic][partition] = offset + more
    return found


def progress_of(case: Report) -> Any:
    """The query's lastProgress: PySpark's own class makes it of what the JVM says."""
    from pyspark.sql.streaming.listener import StreamingQueryProgress

    if case.apart:
        sources = [_source(case, [topic]) for topic in case.read]
    else:
        sources = [_source(case, case.read)]
    said = {
        "id": "1a6e0c1c-7a52-4c0e-9d7e-0b5f8f0c2a17",
        "runId": "8b1f3d52-5d0b-4b7e-8a43-6c0d9e2f4b17",
        "name": None,
        "timestamp": "2001-01-01T08:00:00.000Z",
        "batchId": 3,
        "batchDuration": 50,
        "numInputRows": 40,
        "inputRowsPerSecond": 80.0,
        "processedRowsPerSecond": 800.0,
        "durationMs": {"addBatch": 40, "triggerExecution": 50},
        "stateOperators": [],
        "sources": sources,
        "sink": {"description": "ForeachBatchSink", "numOutputRows": -1},
    }
    return StreamingQueryProgress.fromJson(said)


def _source(case: Report, topics: Iterable[str]) -> dict[str, Any]:
    """The report's part about a source that reads these topics."""
    offsets: Offsets = {}
    for topic in topics:
        offsets[topic] = {}
        for number, offset in case.read[topic].items():
            offsets[topic][str(number)] = offset
    more = MORE if case.limited else 0
    latest = beyond(offsets, more)
    metrics = {
        "avgOffsetsBehindLatest": f"{more}.0",
        "maxOffsetsBehindLatest": str(more),
        "minOffsetsBehindLatest": str(more),
    }
    return {
        "description": "KafkaV2[Subscribe[orders]]",
        "startOffset": None,
        "endOffset": offsets,
        "latestOffset": latest,
        "numInputRows": 40,
        "inputRowsPerSecond": 80.0,
        "processedRowsPerSecond": 800.0,
        "metrics": metrics,
    }
