"""The configs we honour, with Kafka's names, defaults and units. A name that is not here is refused, never ignored.

A topic's config is looked up in Kafka's order: set on the topic, set at run time on the broker, set at run time for
all brokers, given at start, default. A topic config and the broker config that stands behind it (its synonym) have
different names for one thing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple

from minikafka.cluster.metadata import BROKER_RESOURCE, TOPIC_RESOURCE, Endpoint, Image
from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError

SHORT_MAX, INT_MAX, LONG_MAX = 2**15 - 1, 2**31 - 1, 2**63 - 1


class Type(IntEnum):
    """DescribeConfigs' ConfigType."""

    BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST = 1, 2, 3, 4, 5, 6, 7


class Source(IntEnum):
    """DescribeConfigs' ConfigSource, the strongest first."""

    TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT_BROKER, STATIC_BROKER, DEFAULT = 1, 2, 3, 4, 5


class Config(NamedTuple):
    """One row of the table. lowest, highest: inclusive bounds of a number. choices: what a string may be."""

    name: str
    type: Type
    default: Any
    documentation: str
    synonym: str | None = None
    lowest: int | None = None
    highest: int | None = None
    choices: tuple[str, ...] = ()


_B, _S, _I, _L, _D, _LIST = Type.BOOLEAN, Type.STRING, Type.INT, Type.LONG, Type.DOUBLE, Type.LIST

# fmt: off
TOPIC_CONFIGS = {row.name: row for row in (
    Config("cleanup.policy", _LIST, "delete", "What happens to old segments: delete, compact or both.",
           "log.cleanup.policy", choices=("compact", "delete")),
    Config("compression.type", _S, "producer", "Batches stay as the producer compressed them.",
           "compression.type", choices=("producer",)),
    Config("delete.retention.ms", _L, 86_400_000, "How long compaction keeps tombstones for those who still read.",
           "log.cleaner.delete.retention.ms", 0),
    Config("index.interval.bytes", _I, 4096, "An index entry at most every so many bytes.",
           "log.index.interval.bytes", 0),
    Config("max.compaction.lag.ms", _L, LONG_MAX, "A record is compacted once it is older than this.",
           "log.cleaner.max.compaction.lag.ms", 1),
    Config("max.message.bytes", _I, 1_048_588, "The largest record batch that is accepted.", "message.max.bytes", 0),
    Config("message.timestamp.after.max.ms", _L, 3_600_000, "How far a timestamp may lie in the future.",
           "log.message.timestamp.after.max.ms", 0),
    Config("message.timestamp.before.max.ms", _L, LONG_MAX, "How far a timestamp may lie in the past.",
           "log.message.timestamp.before.max.ms", 0),
    Config("message.timestamp.type", _S, "CreateTime", "Who stamps records: the producer or the broker.",
           "log.message.timestamp.type", choices=("CreateTime", "LogAppendTime")),
    Config("min.cleanable.dirty.ratio", _D, 0.5, "A log is compacted when more of it than this is dirty.",
           "log.cleaner.min.cleanable.ratio", 0, 1),
    Config("min.compaction.lag.ms", _L, 0, "A record is not compacted before it is so old.",
           "log.cleaner.min.compaction.lag.ms", 0),
    Config("min.insync.replicas", _I, 1, "How many replicas must be in sync for acks=all.", "min.insync.replicas", 1),
    Config("retention.bytes", _L, -1, "Old segments go when a partition is larger than this; -1: no limit.",
           "log.retention.bytes"),
    Config("retention.ms", _L, 604_800_000, "Segments older than this go; -1: never.", "log.retention.ms", -1),
    Config("segment.bytes", _I, 1_073_741_824, "A segment is closed at this size.", "log.segment.bytes", 1_048_576),
    Config("segment.index.bytes", _I, 10_485_760, "The largest size of an index file.", "log.index.size.max.bytes", 4),
    Config("segment.ms", _L, 604_800_000, "A segment is closed at this age.", "log.roll.ms", 1),
    Config("internal.segment.bytes", _I, None, "For tests and lessons: smaller than segment.bytes allows.", lowest=1),
)}

BROKER_CONFIGS = {row.name: row for row in (
    Config("auto.create.topics.enable", _B, True, "Metadata for an unknown topic creates it."),
    Config("broker.heartbeat.interval.ms", _I, 2000, "How often a broker says that it lives.", lowest=1),
    Config("broker.rack", _S, None, "Where the broker stands: replicas are spread over racks."),
    Config("broker.session.timeout.ms", _I, 9000, "A broker silent for so long is fenced: it leads nothing.", lowest=1),
    Config("connections.max.idle.ms", _L, 600_000, "A connection that is silent for so long is closed; -1: never."),
    Config("controller.quorum.election.backoff.max.ms", _I, 1000, "How long a voter who lost waits at most.", lowest=0),
    Config("controller.quorum.election.timeout.ms", _I, 1000, "A voter without a leader stands then.", lowest=1),
    Config("controller.quorum.fetch.timeout.ms", _I, 2000, "A voter who hears nothing of its leader seeks another one.",
           lowest=1),
    Config("default.replication.factor", _I, 1, "Replicas of a topic that is created automatically.", lowest=1,
           highest=SHORT_MAX),
    Config("delete.topic.enable", _B, True, "DeleteTopics is allowed."),
    Config("fetch.max.bytes", _I, 57_671_680, "The most bytes one fetch answers with.", lowest=1024),
    Config("group.consumer.assignment.interval.ms", _I, 1000, "Targets of a consumer group are made this far apart.",
           lowest=0),
    Config("group.consumer.assignors", _LIST, "uniform,range", "How the coordinator assigns (KIP-848); first: default.",
           choices=("uniform", "range")),
    Config("group.consumer.heartbeat.interval.ms", _I, 5000, "How often a member of a consumer group says it is alive.",
           lowest=1),
    Config("group.consumer.max.size", _I, INT_MAX, "The most members of a consumer group.", lowest=1),
    Config("group.consumer.session.timeout.ms", _I, 45_000, "A member of a consumer group silent so long is out.",
           lowest=1),
    Config("group.initial.rebalance.delay.ms", _I, 3000, "An empty group waits so long for more members.", lowest=0),
    Config("group.max.session.timeout.ms", _I, 1_800_000, "The longest session a classic member may ask for.",
           lowest=1),
    Config("group.max.size", _I, INT_MAX, "The most members of a classic group.", lowest=1),
    Config("group.min.session.timeout.ms", _I, 6000, "The shortest session a classic member may ask for.", lowest=0),
    Config("log.cleaner.backoff.ms", _L, 15_000, "How long compaction waits before it looks at the logs again.",
           lowest=0),
    Config("log.cleaner.dedupe.buffer.size", _L, 134_217_728, "Memory for the keys of a pass of compaction.",
           lowest=1_048_577),
    Config("log.flush.offset.checkpoint.interval.ms", _I, 60_000, "How often recovery points are written.",
           lowest=0),
    Config("log.retention.check.interval.ms", _L, 300_000, "How often retention looks at the logs.", lowest=1),
    Config("max.connections", _I, INT_MAX, "The most connections; one more is closed at once.", lowest=1),
    Config("max.incremental.fetch.session.cache.slots", _I, 1000, "How many fetch sessions are kept (KIP-227).",
           lowest=0),
    Config("num.partitions", _I, 1, "Partitions of a topic when nobody says a number.", lowest=1),
    Config("offset.metadata.max.bytes", _I, 4096, "The longest text that goes with a committed offset.", lowest=0),
    Config("offsets.commit.timeout.ms", _I, 5000, "What a group writes must be committed within this time.", lowest=1),
    Config("offsets.retention.check.interval.ms", _L, 600_000, "How often expired offsets are looked for.", lowest=1),
    Config("offsets.retention.minutes", _I, 10_080, "An empty group's offsets are kept so long.", lowest=1),
    Config("offsets.topic.num.partitions", _I, 50, "Partitions of __consumer_offsets.", lowest=1),
    Config("offsets.topic.replication.factor", Type.SHORT, 3,
           "Replicas of __consumer_offsets, if there are brokers enough.", lowest=1),
    Config("offsets.topic.segment.bytes", _I, 104_857_600, "Segments of __consumer_offsets, small for quick cleaning.",
           lowest=1_048_576),  # what segment.bytes allows
    Config("producer.id.expiration.ms", _I, 86_400_000, "A producer silent for so long is forgotten.", lowest=1),
    Config("replica.fetch.backoff.ms", _I, 1000, "How long a follower waits after a fetch that failed.", lowest=0),
    Config("replica.fetch.max.bytes", _I, 1_048_576, "The most bytes that a follower asks of one partition.", lowest=0),
    Config("replica.fetch.response.max.bytes", _I, 10_485_760, "The most bytes that a follower asks for.", lowest=0),
    Config("replica.fetch.wait.max.ms", _I, 500, "How long a leader may let a follower wait for records.", lowest=0),
    Config("replica.lag.time.max.ms", _L, 30_000, "A follower behind for so long is no longer in sync.", lowest=1),
    Config("socket.request.max.bytes", _I, 104_857_600, "A larger request closes its connection.", lowest=1024),
    *(Config(row.synonym, row.type, row.default, row.documentation, None, row.lowest, row.highest, row.choices)
      for row in TOPIC_CONFIGS.values() if row.synonym),
)}
# fmt: on

# What bounds and choices can't say: which values are legal, in words.
BROKER_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "connections.max.idle.ms": (lambda ms: ms < 0 or ms > 100, "Value must be negative or more than 100"),
    "group.consumer.assignors": (lambda names: names != "", "must not be empty"),
    "log.retention.ms": (lambda ms: ms != 0, "Value must be -1 or at least 1"),
}

# Which config bounds which: (name, how it compares, name).
BROKER_ORDER = (
    ("group.min.session.timeout.ms", operator.le, "group.max.session.timeout.ms"),
    ("group.consumer.heartbeat.interval.ms", operator.lt, "group.consumer.session.timeout.ms"),
    ("log.cleaner.min.compaction.lag.ms", operator.le, "log.cleaner.max.compaction.lag.ms"),
)


class Value(NamedTuple):
    """A config as it stands: typed value and where it comes from. synonyms: (name, text, source) of every level,
    strongest first.
    """

    value: Any
    source: Source
    synonyms: list[tuple[str, str | None, Source]]


def parse(row: Config, text: str) -> Any:
    """The typed value of a config's text, or INVALID_CONFIG in Kafka's words."""
    text = text.strip()
    if row.type is Type.BOOLEAN:
        if text.lower() not in ("true", "false"):
            raise _invalid(row, text, "Expected value to be either true or false")
        return text.lower() == "true"
    if row.type in (Type.INT, Type.SHORT, Type.LONG, Type.DOUBLE):
        return _number(row, text)
    parts = [text] if row.type is Type.STRING else [part.strip() for part in text.split(",") if text]
    for part in parts:
        if row.choices and part not in row.choices:
            listed = ", ".join(row.choices)
            several = len(row.choices) > 1
            raise _invalid(row, part, f"{'String must be one of:' if several else 'minikafka honours only'} {listed}")
    return text


def show(value: Any) -> str | None:
    """A typed value as Kafka writes it."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def check_topic_configs(configs: Mapping[str, Any]) -> dict[str, str]:
    """Every name known, every value legal: the configs as they will be stored. Else INVALID_CONFIG."""
    for name, text in configs.items():
        if text is None:
            raise KafkaError(Error.INVALID_CONFIG, f"Null value not supported for topic configs: {name}")
    checked = _checked(configs, TOPIC_CONFIGS, "topic config name")
    lags = ("min.compaction.lag.ms", "max.compaction.lag.ms")
    shortest, longest = (int(checked.get(name, TOPIC_CONFIGS[name].default)) for name in lags)
    if shortest > longest:
        raise KafkaError(
            Error.INVALID_CONFIG,
            f"conflict topic config setting min.compaction.lag.ms ({shortest}) > max.compaction.lag.ms ({longest})",
        )
    return checked


def check_broker_configs(configs: Mapping[str, str]) -> dict[str, str]:
    """The same for broker configs that may change at run time: those that stand behind a topic config."""
    for name in configs:
        if name in BROKER_CONFIGS and name not in RUN_TIME_BROKER_CONFIGS:
            raise KafkaError(Error.INVALID_REQUEST, f"Cannot update these configs dynamically: [{name}]")
    try:
        return _checked(configs, BROKER_CONFIGS, "broker config name")
    except KafkaError as error:
        raise KafkaError(Error.INVALID_REQUEST, error.message) from None


RUN_TIME_BROKER_CONFIGS = frozenset(row.synonym for row in TOPIC_CONFIGS.values() if row.synonym)


@dataclass
class BrokerConfig:
    """What a broker is started with. advertised: listener name -> (host, port) told to clients. properties: Kafka's
    names, as text. peers: node id -> (host, port) of the cluster's nodes, where they listen to each other. voters:
    those of them that vote on metadata; none named: all. cluster_id: for an empty disk, so that many empty disks become
    one cluster; None: one is made.
    """

    advertised: dict[str, Endpoint] = field(default_factory=lambda: {"PLAINTEXT": ("localhost", 9092)})
    properties: dict[str, str] = field(default_factory=dict)
    peers: dict[int, Endpoint] = field(default_factory=dict)
    voters: tuple[int, ...] = ()
    cluster_id: str | None = None

    def __post_init__(self) -> None:
        self.properties = _checked(self.properties, BROKER_CONFIGS, "broker config name")
        for name, compares, bound in BROKER_ORDER:
            if not compares(self[name], self[bound]):
                words = "at most" if compares is operator.le else "less than"
                why = f"{name} ({self[name]}) must be {words} {bound} ({self[bound]})"
                raise KafkaError(Error.INVALID_CONFIG, why)

    @cached_property
    def _static(self) -> dict[str, Any]:
        return {
            name: parse(row, self.properties[name]) if name in self.properties else row.default
            for name, row in BROKER_CONFIGS.items()
        }

    def __getitem__(self, name: str) -> Any:
        """A broker config that cannot change at run time, typed."""
        return self._static[name]

    def broker_value(self, image: Image, broker_id: int, name: str) -> Value:
        """A broker config with its levels."""
        return _strongest(BROKER_CONFIGS[name], self._broker_levels(image, broker_id, name))

    def topic_value(self, image: Image, broker_id: int, topic: str, name: str) -> Value:
        """A topic config with its levels, those of the broker config behind it included."""
        row = TOPIC_CONFIGS[name]
        levels: list[tuple[str, str | None, Source]] = []
        own = image.config(TOPIC_RESOURCE, topic).get(name)
        if own is not None:
            levels.append((name, own, Source.TOPIC))
        if row.synonym:
            levels += self._broker_levels(image, broker_id, row.synonym)
        return _strongest(row, levels)

    def _broker_levels(self, image: Image, broker_id: int, name: str) -> list[tuple[str, str | None, Source]]:
        levels: list[tuple[str, str | None, Source]] = []
        for resource, source in ((str(broker_id), Source.DYNAMIC_BROKER), ("", Source.DYNAMIC_DEFAULT_BROKER)):
            text = image.config(BROKER_RESOURCE, resource).get(name)
            if text is not None:
                levels.append((name, text, source))
        if name in self.properties:
            levels.append((name, self.properties[name], Source.STATIC_BROKER))
        if BROKER_CONFIGS[name].default is not None:
            levels.append((name, show(BROKER_CONFIGS[name].default), Source.DEFAULT))
        return levels


def _strongest(row: Config, levels: list[tuple[str, str | None, Source]]) -> Value:
    """What was legal when it was stored, and no longer is, gives way to the next level."""
    for _, text, source in levels:
        if text is None or is_legal(row, text):
            return Value(None if text is None else parse(row, text), source, levels)
    return Value(row.default, Source.DEFAULT, levels)


def is_legal(row: Config, text: str) -> bool:
    try:
        parse(row, text)
    except KafkaError:
        return False
    return True


def unusable_configs(image: Image) -> Iterator[str]:
    """Which stored configs are no longer legal, a sentence each."""
    for (resource_type, resource), configs in image.configs.items():
        table = TOPIC_CONFIGS if resource_type == TOPIC_RESOURCE else BROKER_CONFIGS
        of_what = f"topic {resource}" if resource_type == TOPIC_RESOURCE else f"broker {resource or '(all)'}"
        for name, text in configs.items():
            if name in table and not is_legal(table[name], text):
                yield f"{of_what}: {name}={text} is not legal, and the default holds"


def _number(row: Config, text: str) -> int | float:
    largest = {Type.INT: INT_MAX, Type.SHORT: SHORT_MAX}.get(row.type, LONG_MAX)
    try:
        number = float(text) if row.type is Type.DOUBLE else int(text)
        if "_" in text or not -largest - 1 <= number <= largest:  # 1_000 is Python's own
            raise ValueError
    except ValueError:
        raise _invalid(row, text, f"Not a number of type {row.type.name}") from None
    if row.lowest is not None and number < row.lowest:
        raise _invalid(row, text, f"Value must be at least {row.lowest}")
    if row.highest is not None and number > row.highest:
        raise _invalid(row, text, f"Value must be no more than {row.highest}")
    return number


def _checked(configs: Mapping[str, str], table: Mapping[str, Config], what: str) -> dict[str, str]:
    checked = {}
    for name, text in configs.items():
        if name not in table:
            raise KafkaError(Error.INVALID_CONFIG, f"Unknown {what}: {printable(name)}")
        value = parse(table[name], text)
        legal, words = BROKER_RULES.get(name, (None, ""))
        if legal and not legal(value):
            raise _invalid(table[name], text, words)
        checked[name] = text
    return checked


def _invalid(row: Config, text: str, why: str) -> KafkaError:
    shown = printable(text)
    return KafkaError(Error.INVALID_CONFIG, f"Invalid value {shown} for configuration {row.name}: {why}")
