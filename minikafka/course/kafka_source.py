"""A Kafka source for Spark in Python alone: batches and streams, with kafka-python
instead of a jar.

    spark.dataSource.register(KafkaSource)
    source = spark.readStream.format("kafka_python")
    source = source.option("kafka.bootstrap.servers", "HOST:PORT")
    rows = source.option("subscribe", "orders").load()

It stands on Spark's Python data source API as Spark 4.2 has it. Columns, options and
the form of the offsets are those of Spark's own connector, as far as they go. This file
needs pyspark, pyarrow and kafka-python, and nothing else of this project: elsewhere copy
it, and give it to the executors with `spark.sparkContext.addPyFile`.

- `kafka.bootstrap.servers` and `subscribe` (a topic, or several with commas between)
  must be given.
- `startingOffsets` (of a batch `earliest`, of a stream `latest`) and `endingOffsets`
  (of a batch, `latest`) may be JSON such as `{"orders": {"0": 300, "1": -2}}`, where -2
  is the earliest and -1 the latest.
- `maxOffsetsPerTrigger` (none): about so many offsets in a micro-batch of a stream,
  shared among the partitions by what each has (SPARK-55304).
- `includeHeaders` (`false`): a column `headers` more.
- `kafkaConsumer.pollTimeoutMs` (120000): how long, in ms, a task waits for the next
  record before it fails.
- `monitorGroup` (none): under this group it commits what Spark says is done, for tools
  that show lag. It never reads that back.
- `kafka.*`: kafka-python's settings, with dots: `kafka.isolation.level`,
  `kafka.security.protocol`.

Unlike the connector it notices that a topic was deleted and made anew, whatever its
length: the topic's id stands in the checkpoint beside the offsets. Its limits:

- Every record passes through Python. For a large backlog take the connector.
- One Spark task reads one partition of a topic. There are no patterns of topics and no
  start by timestamp.
- Offsets that the topic no longer has always fail the query: there is no
  `failOnDataLoss=false`.
- It reads only.

Spark gives a Python source no place in the checkpoint for where a stream began, so that
stands beside each end.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import OffsetSpec
from kafka.errors import KafkaError, OffsetOutOfRangeError
from kafka.structs import OffsetAndMetadata
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import ArrayType, StructType

SCHEMA = [
    ("key", "binary"),
    ("value", "binary"),
    ("topic", "string"),
    ("partition", "integer"),
    ("offset", "long"),
    ("timestamp", "timestamp"),
    ("timestampType", "integer"),
]
HEADERS = (
    "headers",
    ArrayType(StructType().add("key", "string").add("value", "binary")),
)
OPTIONS = (
    "subscribe",
    "startingOffsets",
    "endingOffsets",
    "maxOffsetsPerTrigger",
    "includeHeaders",
    "kafkaConsumer.pollTimeoutMs",
    "monitorGroup",
)
FIXED = {
    "group_id": None,
    "enable_auto_commit": False,
    "auto_offset_reset": "none",
    "max_poll_records": 10_000,
}
EARLIEST, LATEST = -2, -1
# beside the topics in an offset; no topic can have a name with a space
IDS = "topic ids"
# there, too: in an end the offsets at which the stream began; empty in the initial
# offset
FIRST = "first start"
POLL_MS = 500
COMMIT_WITHIN_MS = 60_000

# topic -> partition, as text -> offset: as JSON has it; and IDS, FIRST
Offsets = dict[str, dict[str, Any]]


class DataLoss(RuntimeError):
    """Records that should be read are not there any more, or the topic is another
    one.
    """


@dataclass
class Range(InputPartition):
    """The part that one Spark task reads: from offset `start` up to, but not including,
    `end`.
    """

    topic: str
    partition: int
    start: int
    end: int


class KafkaSource(DataSource):
    """`spark.dataSource.register(KafkaSource)`, then the format "kafka_python"."""

    @staticmethod
    def plan(
        start: Offsets, end: Offsets, first: Offsets
    ) -> list[tuple[str, int, int, int]]:
        """The ranges that a micro-batch reads; a subclass may plan them differently."""
        return plan(start, end, first)

    @classmethod
    def name(cls) -> str:
        return "kafka_python"

    def schema(self) -> Any:
        schema = StructType()
        for name, kind in SCHEMA:
            schema.add(name, kind)
        if Settings(self.options).headers:
            schema.add(*HEADERS)
        return schema

    def reader(self, schema: Any) -> DataSourceReader:
        return BatchReader(Settings(self.options), schema, self.plan)

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return StreamReader(Settings(self.options), schema, self.plan)


class Settings:
    """The options, read and checked. Errors: ValueError for what is missing, unknown or
    can't be.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        given = {name.lower(): value for name, value in options.items()}
        known = {name.lower() for name in OPTIONS}
        for name in given:
            if name not in known and not name.startswith("kafka."):
                raise ValueError(
                    f"there is no option {name} here; there are kafka.*,"
                    f" {', '.join(OPTIONS)}"
                )
        for name in ("kafka.bootstrap.servers", "subscribe"):
            if not given.get(name):
                raise ValueError(f"the option {name} is missing")
        self.topics = [name.strip() for name in given["subscribe"].split(",")]
        self.starting = given.get("startingoffsets")
        self.ending = given.get("endingoffsets", "latest")
        at_most = given.get("maxoffsetspertrigger")
        self.at_most = int(at_most) if at_most else None
        self.headers = given.get("includeheaders", "false").lower() == "true"
        self.patience_ms = int(given.get("kafkaconsumer.polltimeoutms", "120000"))
        self.monitor_group = given.get("monitorgroup")
        self.kafka: dict[str, Any] = {}
        for name, value in given.items():
            if name.startswith("kafka."):
                ours, setting = _setting(name, value)
                self.kafka[ours] = setting

    def admin(self) -> Any:
        ours = self.kafka.keys() & KafkaAdminClient.DEFAULT_CONFIG.keys()
        return KafkaAdminClient(**{name: self.kafka[name] for name in ours})

    def consumer(self, group: str | None = None) -> Any:
        return KafkaConsumer(**{**self.kafka, **FIXED, "group_id": group})


def _setting(name: str, value: str) -> tuple[str, Any]:
    """kafka.fetch.min.bytes, "1" -> fetch_min_bytes, 1: the type is that of
    kafka-python's default.
    """
    ours = name.removeprefix("kafka.").replace(".", "_")
    if ours in FIXED:
        raise ValueError(f"{name} can't be set: it is the source's own")
    if ours not in KafkaConsumer.DEFAULT_CONFIG:
        raise ValueError(f"{name} can't be set: there is no such")
    default = KafkaConsumer.DEFAULT_CONFIG[ours]
    if isinstance(default, bool):
        return ours, value.lower() == "true"
    if isinstance(default, int | float):
        return ours, type(default)(value)
    return ours, value


class Topics:
    """The brokers' answers about the topics; only the driver asks."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def admin(self) -> Any:
        return self._settings.admin()

    def offsets(self, where: str) -> Offsets:
        """where: earliest, latest, or JSON as `startingOffsets` takes it. Sorted: Spark
        compares offsets as text.
        """
        described = sorted(
            self.admin.describe_topics(self._settings.topics),
            key=lambda topic: str(topic["name"]),
        )
        missing = [str(topic["name"]) for topic in described if topic["error_code"]]
        if missing:
            raise DataLoss(f"there is no topic {', '.join(missing)}")
        numbers, ids = {}, {}
        for topic in described:
            indexes = [each["partition_index"] for each in topic["partitions"]]
            numbers[topic["name"]] = sorted(indexes)
            ids[topic["name"]] = str(topic["topic_id"])
        found: Offsets = _asked(where, numbers)
        lookups = {
            at: OffsetSpec(offset)
            for at, offset in _by_partition(found).items()
            if offset < 0  # EARLIEST or LATEST
        }
        for at, offset in self._look_up(lookups).items():
            found[at.topic][str(at.partition)] = offset
        return {**found, IDS: ids}

    def _look_up(
        self, lookups: Mapping[TopicPartition, OffsetSpec]
    ) -> dict[TopicPartition, int]:
        if not lookups:
            return {}
        isolation = self._settings.kafka.get("isolation_level", "read_uncommitted")
        said = self.admin.list_partition_offsets(
            dict(lookups), isolation_level=isolation
        )
        return {at: each.offset for at, each in said.items()}

    def commit(self, group: str, offsets: Offsets) -> None:
        """For people who watch: the query doesn't stop when it fails."""
        done = {
            at: OffsetAndMetadata(offset, "", -1)
            for at, offset in _by_partition(_of_topics(offsets)).items()
        }
        with suppress(KafkaError), self._settings.consumer(group) as consumer:
            consumer.commit(done, timeout_ms=COMMIT_WITHIN_MS)

    def close(self) -> None:
        if "admin" in self.__dict__:
            self.admin.close()


def _asked(where: str, there_are: Mapping[str, Sequence[int]]) -> Offsets:
    """topic -> partition -> an offset, EARLIEST or LATEST, for every partition there
    is.
    """
    marks = {"earliest": EARLIEST, "latest": LATEST}
    if where in marks:
        return {
            topic: {str(number): marks[where] for number in numbers}
            for topic, numbers in there_are.items()
        }
    given = json.loads(where)
    named = {topic: sorted(map(int, numbers)) for topic, numbers in given.items()}
    if named != there_are:
        raise ValueError(
            f"offsets must name every partition of every topic: {dict(there_are)}"
        )
    found: Offsets = {}
    for topic, numbers in there_are.items():
        offsets = given[topic]
        found[topic] = {str(number): int(offsets[str(number)]) for number in numbers}
    return found


def _of_topics(offsets: Offsets) -> Offsets:
    """The topics' offsets alone."""
    beside = (IDS, FIRST)
    return {topic: offsets[topic] for topic in offsets if topic not in beside}


def _by_partition(offsets: Offsets) -> dict[TopicPartition, int]:
    found = {}
    for topic, numbers in offsets.items():
        for number, offset in numbers.items():
            found[TopicPartition(topic, int(number))] = offset
    return found


def same_topics(start: Offsets, end: Offsets) -> None:
    """Errors: DataLoss where a topic has another id than it had."""
    for topic, before in start.get(IDS, {}).items():
        if end.get(IDS, {}).get(topic, before) != before:
            raise DataLoss(
                f"{topic} was deleted and created again: this checkpoint belongs to the"
                " old one"
            )


def plan(
    start: Offsets, end: Offsets, first: Offsets
) -> list[tuple[str, int, int, int]]:
    """(topic, partition, from, up to) for each partition that has something between two
    offsets. What is new is read from its first offset on. first: the first offsets that
    the topics still have. Errors: DataLoss.
    """
    ranges: list[tuple[str, int, int, int]] = []
    for topic, numbers in start.items():
        gone = numbers.keys() - end.get(topic, {}).keys()
        if gone:
            raise DataLoss(f"partitions {', '.join(sorted(gone))} of {topic} are gone")
    for topic, numbers in end.items():
        for number, stop in numbers.items():
            oldest: int = first[topic][number]
            begin = start.get(topic, {}).get(number, oldest)
            if begin > stop:
                raise DataLoss(
                    f"{topic}-{number} ends at offset {stop}, and {begin} had been"
                    " reached"
                )
            if begin < oldest:
                raise DataLoss(
                    f"{topic}-{number} begins at offset {oldest}; {begin} to"
                    f" {oldest - 1} are gone"
                )
            if begin < stop:
                ranges.append((topic, int(number), begin, stop))
    return ranges


def read(wanted: Range | None, settings: Settings, schema: Any) -> Iterator[Any]:
    """The records of a range as Arrow batches. Offsets without a record (compaction,
    ends of transactions) are skipped.

    Errors: DataLoss; TimeoutError when nothing comes for `kafkaConsumer.pollTimeoutMs`.
    """
    if wanted is None:  # Spark's word for a plan without ranges
        return
    at = TopicPartition(wanted.topic, wanted.partition)
    consumer = settings.consumer()
    try:
        consumer.assign([at])
        consumer.seek(at, wanted.start)
        moved, reached = time.monotonic(), wanted.start
        while reached < wanted.end:
            polled = consumer.poll(timeout_ms=min(POLL_MS, settings.patience_ms))
            came = polled.get(at, ())
            records = [record for record in came if record.offset < wanted.end]
            if records:
                yield _as_arrow(records, schema)
            position = consumer.position(at)
            if position > reached:
                moved, reached = time.monotonic(), position
            elif time.monotonic() - moved > settings.patience_ms / 1000:
                raise TimeoutError(
                    f"{at.topic}-{at.partition}: nothing came from offset {reached} on"
                )
    except OffsetOutOfRangeError as error:
        raise DataLoss(
            f"{at.topic}-{at.partition} has no offset {reached} any more"
        ) from error
    finally:
        consumer.close()


def _as_arrow(records: Sequence[Any], schema: Any) -> Any:
    from pyarrow import RecordBatch, array
    from pyspark.sql.pandas.types import to_arrow_schema

    columns: dict[str, Callable[[Any], Any]] = {
        "timestamp": lambda record: record.timestamp * 1000,  # in microseconds
        "timestampType": lambda record: record.timestamp_type,
        "headers": _headers,
    }
    arrow = to_arrow_schema(schema, timezone="UTC")
    arrays = []
    for field in arrow:
        get = columns.get(field.name, attrgetter(field.name))
        values = [get(record) for record in records]
        arrays.append(array(values, type=field.type))
    return RecordBatch.from_arrays(arrays, schema=arrow)


def _headers(record: Any) -> list[dict[str, Any]] | None:
    found = [{"key": key, "value": value} for key, value in record.headers]
    return found or None


Plan = Callable[[Offsets, Offsets, Offsets], list[tuple[str, int, int, int]]]


def _ranges(topics: Topics, start: Offsets, end: Offsets, plan: Plan) -> list[Range]:
    same_topics(start, end)
    first = topics.offsets("earliest")
    planned = plan(_of_topics(start), _of_topics(end), _of_topics(first))
    return [Range(*each) for each in planned]


def share(
    begin: Mapping[TopicPartition, int], latest: Offsets, at_most: int
) -> Offsets:
    """Where a micro-batch of about so many offsets ends: each partition gets its share
    of the limit by what waits in it, rounded down, but at least one offset.
    """
    waiting = {}
    for at, end in _by_partition(latest).items():
        waiting[at] = max(end - begin[at], 0)
    backlog = sum(waiting.values())
    if backlog <= at_most:
        return latest
    ends: Offsets = {topic: {} for topic in latest}
    for at, count in waiting.items():
        part = at_most * count / backlog
        taken = math.floor(part) if part >= 1 else math.ceil(part)
        # one that ends before it begins has lost records: `plan` has to see that
        end = min(begin[at] + taken, latest[at.topic][str(at.partition)])
        ends[at.topic][str(at.partition)] = end
    return ends


class BatchReader(DataSourceReader):
    """Plans once, on the driver; reads in tasks."""

    def __init__(self, settings: Settings, schema: Any, plan: Plan) -> None:
        self._settings = settings
        self._schema = schema
        self._plan = plan

    def partitions(self) -> list[Range]:
        topics = Topics(self._settings)
        try:
            start = topics.offsets(self._settings.starting or "earliest")
            end = topics.offsets(self._settings.ending)
            return _ranges(topics, start, end, self._plan)
        finally:
            topics.close()

    def read(self, partition: Range | None) -> Iterator[Any]:
        return read(partition, self._settings, self._schema)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Spark asks for offsets, writes them into its checkpoint, then asks for the ranges
    between two of them.

    Of micro-batch 0 it writes the end only, and asks where it begins anew after each
    crash. So the reader hands out the beginning with every end.
    """

    def __init__(self, settings: Settings, schema: Any, plan: Plan) -> None:
        self._settings = settings
        self._schema = schema
        self._plan = plan
        self._topics = Topics(settings)
        self._target: Offsets | None = None  # of a query that ends with what is there

    def initialOffset(self) -> Offsets:
        return {**self._topics.offsets(self._settings.starting or "latest"), FIRST: {}}

    def getDefaultReadLimit(self) -> ReadLimit:
        if self._settings.at_most is None:
            return ReadAllAvailable()
        return ReadMaxRows(self._settings.at_most)

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._topics.offsets("latest")

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:
        latest = self._target or self._topics.offsets("latest")
        if isinstance(limit, ReadMaxRows):
            ids = latest[IDS]
            latest = {**self._within(start, latest, limit.max_rows), IDS: ids}
        return {**latest, FIRST: start.get(FIRST) or _of_topics(start)}

    def _within(self, start: Offsets, latest: Offsets, at_most: int) -> Offsets:
        begin = {
            **_by_partition(_of_topics(self._topics.offsets("earliest"))),
            **_by_partition(_of_topics(start)),
        }
        return share(begin, _of_topics(latest), at_most)

    def partitions(self, start: Offsets, end: Offsets) -> list[Range]:
        if start.get(FIRST) == {}:
            start = {**end[FIRST], IDS: start[IDS]}
        return _ranges(self._topics, start, end, self._plan)

    def read(self, partition: Range | None) -> Iterator[Any]:
        return read(partition, self._settings, self._schema)

    def commit(self, end: Offsets) -> None:
        if self._settings.monitor_group:
            self._topics.commit(self._settings.monitor_group, end)

    def stop(self) -> None:
        self._topics.close()
