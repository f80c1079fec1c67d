"""What a config is, for a topic, a broker or a group.

The configs we honour are the rows of configs.csv, with Kafka's names, defaults and
units; a name that is not there is refused, never ignored. A topic config and the broker
config that stands behind it (its synonym) have different names for one thing. A topic's
config is looked up in Kafka's order: set on the topic, set at run time on the broker,
set at run time for all brokers, given at start, default.
"""

import csv
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from minikafka.cluster.election import Timeouts
from minikafka.cluster.metadata import (
    BROKER_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    Endpoint,
    Image,
)
from minikafka.cluster.quorum import QuorumConfig
from minikafka.cluster.snapshots import SnapshotConfig
from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError

SHORT_MAX, INT_MAX, LONG_MAX = 2**15 - 1, 2**31 - 1, 2**63 - 1


class Type(IntEnum):
    """DescribeConfigs' ConfigType."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7


NUMBERS = (Type.INT, Type.SHORT, Type.LONG, Type.DOUBLE)


class Config(NamedTuple):
    """One row of the table. lowest, highest: inclusive bounds of a number. choices:
    what a string may be.
    """

    name: str
    type: Type
    default: Any
    documentation: str
    synonym: str | None = None
    lowest: int | None = None
    highest: int | None = None
    choices: tuple[str, ...] = ()


class Source(IntEnum):
    """DescribeConfigs' ConfigSource, the strongest first."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    GROUP = 8


class Level(NamedTuple):
    """One place where a config is set. name: the config's name there."""

    name: str
    text: str | None
    source: Source


class Value(NamedTuple):
    """A config as it stands: typed value and where it comes from. synonyms: every
    level, strongest first.
    """

    value: Any
    source: Source
    synonyms: list[Level]


def parse(row: Config, text: str) -> Any:
    """The typed value of a config's text, or INVALID_CONFIG in Kafka's words."""
    text = text.strip()
    if row.type is Type.BOOLEAN:
        if text.lower() not in ("true", "false"):
            raise _invalid(row, text, "Expected value to be either true or false")
        return text.lower() == "true"
    if row.type in NUMBERS:
        return _number(row, text)
    parts = [text]
    if row.type is Type.LIST:
        parts = [part.strip() for part in text.split(",") if text]
    for part in parts:
        if row.choices and part not in row.choices:
            raise _invalid(row, part, _choices(row))
    return text


def _choices(row: Config) -> str:
    listed = ", ".join(row.choices)
    if len(row.choices) > 1:
        return f"String must be one of: {listed}"
    return f"minikafka honours only {listed}"


def show(value: Any) -> str | None:
    """A typed value as Kafka writes it."""
    if value is None:
        return None
    text = str(value)
    return text.lower() if isinstance(value, bool) else text


def is_legal(row: Config, text: str) -> bool:
    try:
        parse(row, text)
    except KafkaError:
        return False
    return True


MOST = {Type.INT: INT_MAX, Type.SHORT: SHORT_MAX}


def _number(row: Config, text: str) -> int | float:
    largest = MOST.get(row.type, LONG_MAX)
    number: int | float
    try:
        number = float(text) if row.type is Type.DOUBLE else int(text)
    except ValueError:
        number = math.nan
    is_in_range = -largest - 1 <= number <= largest  # which no NaN is
    if not is_in_range or "_" in text:  # 1_000 is Python's own
        raise _invalid(row, text, f"Not a number of type {row.type.name}")
    if row.lowest is not None and number < row.lowest:
        raise _invalid(row, text, f"Value must be at least {row.lowest}")
    if row.highest is not None and number > row.highest:
        raise _invalid(row, text, f"Value must be no more than {row.highest}")
    return number


def _invalid(row: Config, text: str, why: str) -> KafkaError:
    what = f"Invalid value {printable(text)} for configuration {row.name}"
    return KafkaError(Error.INVALID_CONFIG, f"{what}: {why}")


def _read() -> dict[str, dict[str, Config]]:
    """The rows of configs.csv for a topic, a broker and a group."""
    found: dict[str, dict[str, Config]] = {"topic": {}, "broker": {}, "group": {}}
    path = Path(__file__).with_name("configs.csv")
    with path.open(encoding="utf-8", newline="") as rows:
        for columns in csv.DictReader(rows):
            row = _row(columns)
            found[columns["of"]][row.name] = row
    return found


def _row(columns: Mapping[str, str]) -> Config:
    """One row. The default null: there is none."""
    row = Config(
        name=columns["name"],
        type=Type[columns["type"].upper()],
        default=None,
        documentation=columns["documentation"],
        synonym=columns["synonym"] or None,
        lowest=_bound(columns["lowest"]),
        highest=_bound(columns["highest"]),
        choices=tuple(columns["choices"].split()),
    )
    if columns["default"] == "null":
        return row
    return row._replace(default=parse(row, columns["default"]))


def _bound(text: str) -> int | None:
    return int(text) if text else None


_CONFIGS = _read()
TOPIC_CONFIGS = _CONFIGS["topic"]
BROKER_CONFIGS = _CONFIGS["broker"]
GROUP_CONFIGS = _CONFIGS["group"]
for _one in TOPIC_CONFIGS.values():
    if _one.synonym:
        BROKER_CONFIGS[_one.synonym] = _one._replace(name=_one.synonym, synonym=None)
TABLES = {
    TOPIC_RESOURCE: TOPIC_CONFIGS,
    BROKER_RESOURCE: BROKER_CONFIGS,
    GROUP_RESOURCE: GROUP_CONFIGS,
}
# Known where they are set, and not before.
THROTTLES = frozenset(
    {
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    }
)
RUN_TIME_BROKER_CONFIGS = THROTTLES | {
    row.synonym for row in TOPIC_CONFIGS.values() if row.synonym
}


class Rule(NamedTuple):
    """What bounds and choices can't say: which values are legal, and in words."""

    holds: Callable[[Any], bool]
    words: str


BROKER_RULES = {
    "connections.max.idle.ms": Rule(
        lambda ms: ms < 0 or ms > 100, "Value must be negative or more than 100"
    ),
    "group.consumer.assignors": Rule(lambda names: names != "", "must not be empty"),
    "log.retention.ms": Rule(lambda ms: ms != 0, "Value must be -1 or at least 1"),
}

# Which config bounds which: at most, and less than.
AT_MOST = {
    "group.min.session.timeout.ms": "group.max.session.timeout.ms",
    "log.cleaner.min.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
}
LESS_THAN = {
    "group.consumer.heartbeat.interval.ms": "group.consumer.session.timeout.ms",
    "group.streams.heartbeat.interval.ms": "group.streams.session.timeout.ms",
}


def check_topic_configs(configs: Mapping[str, Any]) -> dict[str, str]:
    """Every name known, every value legal: the configs as they will be stored. Else
    INVALID_CONFIG.
    """
    for name, text in configs.items():
        if text is None:
            why = f"Null value not supported for topic configs: {name}"
            raise KafkaError(Error.INVALID_CONFIG, why)
    legal = checked(configs, TOPIC_CONFIGS, "topic config name")
    shortest = _number_of(legal, "min.compaction.lag.ms")
    longest = _number_of(legal, "max.compaction.lag.ms")
    if shortest > longest:
        why = (
            f"conflict topic config setting min.compaction.lag.ms ({shortest}) >"
            f" max.compaction.lag.ms ({longest})"
        )
        raise KafkaError(Error.INVALID_CONFIG, why)
    return legal


def _number_of(topic_configs: Mapping[str, str], name: str) -> int:
    return int(topic_configs.get(name, TOPIC_CONFIGS[name].default))


def check_broker_configs(configs: Mapping[str, str]) -> dict[str, str]:
    """The same for broker configs that may change at run time: those that stand behind
    a topic config, and throttles.
    """
    for name in configs:
        if name in BROKER_CONFIGS and name not in RUN_TIME_BROKER_CONFIGS:
            why = f"Cannot update these configs dynamically: [{name}]"
            raise KafkaError(Error.INVALID_REQUEST, why)
    try:
        return checked(configs, BROKER_CONFIGS, "broker config name")
    except KafkaError as error:
        raise KafkaError(Error.INVALID_REQUEST, error.message) from None


@dataclass
class BrokerConfig:
    """What a broker is started with. advertised: listener name -> (host, port) told to
    clients. properties: Kafka's names, as text. peers: node id -> (host, port) where
    the cluster's nodes listen to each other. voters: those that vote on metadata; none
    named: all. cluster_id: for an empty disk, so that many become one; None: one is
    made.
    """

    advertised: dict[str, Endpoint] = field(
        default_factory=lambda: {"PLAINTEXT": ("localhost", 9092)}
    )
    properties: dict[str, str] = field(default_factory=dict)
    peers: dict[int, Endpoint] = field(default_factory=dict)
    voters: tuple[int, ...] = ()
    cluster_id: str | None = None

    def __post_init__(self) -> None:
        self.properties = checked(self.properties, BROKER_CONFIGS, "broker config name")
        for name, bound in AT_MOST.items():
            if self[name] > self[bound]:
                raise self._out_of_order(name, "at most", bound)
        for name, bound in LESS_THAN.items():
            if self[name] >= self[bound]:
                raise self._out_of_order(name, "less than", bound)

    def _out_of_order(self, name: str, words: str, bound: str) -> KafkaError:
        what = f"{name} ({self[name]}) must be {words} {bound} ({self[bound]})"
        return KafkaError(Error.INVALID_CONFIG, what)

    @cached_property
    def _static(self) -> dict[str, Any]:
        values = {name: row.default for name, row in BROKER_CONFIGS.items()}
        for name, text in self.properties.items():
            values[name] = parse(BROKER_CONFIGS[name], text)
        return values

    def __getitem__(self, name: str) -> Any:
        """A broker config that cannot change at run time, typed."""
        return self._static[name]

    def value(
        self, image: Image, broker_id: int, kind: int, resource: str, name: str
    ) -> Value:
        """A config of a topic, a broker or a group with its levels, those of the broker
        config behind it included. It is the same for all who set the same, and
        thousands of partitions ask.
        """
        own = None
        if kind != BROKER_RESOURCE:
            own = image.config(kind, resource).get(name)
        key = "value", broker_id, kind, name, own
        found: Value | None = image.in_force.get(key)
        if found is None:
            found = self._value(image, broker_id, kind, name, own)
            image.in_force[key] = found
        return found

    def _value(
        self, image: Image, broker_id: int, kind: int, name: str, own: str | None
    ) -> Value:
        row = TABLES[kind][name]
        levels: list[Level] = []
        if own is not None:
            source = Source.TOPIC if kind == TOPIC_RESOURCE else Source.GROUP
            levels.append(Level(name, own, source))
        of_broker = name if kind == BROKER_RESOURCE else row.synonym
        if of_broker:
            levels += self._broker_levels(image, broker_id, of_broker)
        for level in levels:
            if level.text is None:
                return Value(None, level.source, levels)
            # what was stored when it was legal, and no longer is, gives way to the next
            if is_legal(row, level.text):
                return Value(parse(row, level.text), level.source, levels)
        return Value(row.default, Source.DEFAULT, levels)

    def places(self, node_id: int, log_dir: str) -> Iterator[tuple[Config, Value]]:
        """What a node is, as it was started: configs that aren't given as such here."""
        listeners = ",".join(
            f"{name}://{host}:{port}" for name, (host, port) in self.advertised.items()
        )
        found_at = "Where clients find this broker."
        yield _place("advertised.listeners", Type.LIST, listeners, found_at)
        listens_at = "Where it listens; the addresses are those that it tells."
        yield _place("listeners", Type.LIST, listeners, listens_at)
        yield _place("log.dirs", Type.LIST, log_dir, "Where the logs are.")
        yield _place("node.id", Type.INT, node_id, "The number of this node.")

    def _broker_levels(self, image: Image, broker_id: int, name: str) -> list[Level]:
        levels: list[Level] = []
        own = image.config(BROKER_RESOURCE, str(broker_id)).get(name)
        if own is not None:
            levels.append(Level(name, own, Source.DYNAMIC_BROKER))
        of_all = image.config(BROKER_RESOURCE, "").get(name)
        if of_all is not None:
            levels.append(Level(name, of_all, Source.DYNAMIC_DEFAULT_BROKER))
        if name in self.properties:
            levels.append(Level(name, self.properties[name], Source.STATIC_BROKER))
        default = BROKER_CONFIGS[name].default
        if default is not None:
            levels.append(Level(name, show(default), Source.DEFAULT))
        return levels


def _place(
    name: str, kind: Type, value: Any, documentation: str
) -> tuple[Config, Value]:
    level = Level(name, show(value), Source.STATIC_BROKER)
    row = Config(name, kind, value, documentation)
    return row, Value(value, Source.STATIC_BROKER, [level])


KINDS = {TOPIC_RESOURCE: "topic", GROUP_RESOURCE: "group", BROKER_RESOURCE: "broker"}


def unusable_configs(image: Image) -> Iterator[str]:
    """Which stored configs are no longer legal, a sentence each."""
    for (resource_type, resource), configs in image.configs.items():
        table = TABLES[resource_type]
        whose = f"{KINDS[resource_type]} {resource or '(all)'}"
        for name, text in configs.items():
            if name in table and not is_legal(table[name], text):
                yield f"{whose}: {name}={text} is not legal, and the default holds"


def checked(
    configs: Mapping[str, str], table: Mapping[str, Config], what: str
) -> dict[str, str]:
    """Every name is in the table, and every value legal: the configs as they will be
    stored.
    """
    found = {}
    for name, text in configs.items():
        if name not in table:
            raise KafkaError(Error.INVALID_CONFIG, f"Unknown {what}: {printable(name)}")
        row = table[name]
        value = parse(row, text)
        rule = BROKER_RULES.get(name)
        if rule is not None and not rule.holds(value):
            raise _invalid(row, text, rule.words)
        found[name] = text
    return found


def quorum_config(node_id: int, config: BrokerConfig) -> QuorumConfig:
    """Who votes, how patient they are, and when a snapshot of the metadata is due. A
    node alone is the only voter.
    """
    return QuorumConfig(
        voters=config.voters or tuple(sorted(config.peers)) or (node_id,),
        timeouts=Timeouts(
            election_timeout_ms=config["controller.quorum.election.timeout.ms"],
            fetch_timeout_ms=config["controller.quorum.fetch.timeout.ms"],
            election_backoff_max_ms=config["controller.quorum.election.backoff.max.ms"],
        ),
        snapshots=SnapshotConfig(
            record_bytes=config["metadata.log.max.record.bytes.between.snapshots"],
            interval_ms=config["metadata.log.max.snapshot.interval.ms"],
            segment_bytes=config["internal.metadata.log.segment.bytes"]
            or config["metadata.log.segment.bytes"],
        ),
    )


def random_uuid(random: "Random") -> bytes:
    """16 bytes, version 4; never one of those that Kafka reserves."""
    value = bytearray(int(random.random() * 256) for _ in range(16))
    value[6], value[8] = value[6] & 0x0F | 0x40, value[8] & 0x3F | 0x80
    return bytes(value)


class Random(Protocol):
    """A source of randomness, such as random.Random: a node is handed one and asks it
    for nothing but this.
    """

    def random(self) -> float:
        """From 0 up to, but not including, 1."""
