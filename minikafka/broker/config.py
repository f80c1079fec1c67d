"""What a config is, for a topic, a broker or a group.

The configs we honour are the rows of configs.csv, with Kafka's names, defaults and
units; a name that is not there is refused, never ignored. A topic config and the broker
config that stands behind it (its synonym) have different names for one thing. A topic's
config is looked up in Kafka's order: set on the topic, set at run time on the broker,
set at run time for all brokers, given at start, default.
"""

import csv
import operator
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
from minikafka.cluster.quorum import SnapshotConfig
from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError

SHORT_MAX, INT_MAX, LONG_MAX = 2**15 - 1, 2**31 - 1, 2**63 - 1


class Type(IntEnum):
    """DescribeConfigs' ConfigType."""

    BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST = 1, 2, 3, 4, 5, 6, 7


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

    TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT_BROKER, STATIC_BROKER, DEFAULT, GROUP = (
        1,
        2,
        3,
        4,
        5,
        8,
    )


# a config's name there, its text, and which level it is
Level = tuple[str, str | None, Source]


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
    if row.type in (Type.INT, Type.SHORT, Type.LONG, Type.DOUBLE):
        return _number(row, text)
    parts = (
        [text]
        if row.type is Type.STRING
        else [part.strip() for part in text.split(",") if text]
    )
    for part in parts:
        if row.choices and part not in row.choices:
            listed = ", ".join(row.choices)
            several = len(row.choices) > 1
            raise _invalid(
                row,
                part,
                f"{'String must be one of:' if several else 'minikafka honours only'}"
                f" {listed}",
            )
    return text


def show(value: Any) -> str | None:
    """A typed value as Kafka writes it."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_legal(row: Config, text: str) -> bool:
    try:
        parse(row, text)
    except KafkaError:
        return False
    return True


def _number(row: Config, text: str) -> int | float:
    largest = {Type.INT: INT_MAX, Type.SHORT: SHORT_MAX}.get(row.type, LONG_MAX)
    try:
        number = float(text) if row.type is Type.DOUBLE else int(text)
        # 1_000 is Python's own
        if "_" in text or not -largest - 1 <= number <= largest:
            raise ValueError
    except ValueError:
        raise _invalid(row, text, f"Not a number of type {row.type.name}") from None
    if row.lowest is not None and number < row.lowest:
        raise _invalid(row, text, f"Value must be at least {row.lowest}")
    if row.highest is not None and number > row.highest:
        raise _invalid(row, text, f"Value must be no more than {row.highest}")
    return number


def _invalid(row: Config, text: str, why: str) -> KafkaError:
    return KafkaError(
        Error.INVALID_CONFIG,
        f"Invalid value {printable(text)} for configuration {row.name}: {why}",
    )


def _read(table: str) -> dict[str, Config]:
    """The rows of configs.csv for a topic, a broker or a group. null: there is no
    default.
    """
    found = {}
    for (
        belongs_to,
        name,
        type_,
        default,
        synonym,
        lowest,
        highest,
        choices,
        documentation,
    ) in csv.reader(_ROWS):
        if belongs_to == table:
            least, most = (int(bound) if bound else None for bound in (lowest, highest))
            alternatives = tuple(choices.split())
            row = Config(
                name,
                Type[type_.upper()],
                None,
                documentation,
                synonym or None,
                least,
                most,
                alternatives,
            )
            found[name] = (
                row if default == "null" else row._replace(default=parse(row, default))
            )
    return found


_ROWS = Path(__file__).with_name("configs.csv").read_text(encoding="utf-8").splitlines()
TOPIC_CONFIGS, BROKER_CONFIGS, GROUP_CONFIGS = (
    _read("topic"),
    _read("broker"),
    _read("group"),
)
BROKER_CONFIGS |= {
    row.synonym: row._replace(name=row.synonym, synonym=None)
    for row in TOPIC_CONFIGS.values()
    if row.synonym
}
TABLES = {
    TOPIC_RESOURCE: TOPIC_CONFIGS,
    BROKER_RESOURCE: BROKER_CONFIGS,
    GROUP_RESOURCE: GROUP_CONFIGS,
}
RUN_TIME_BROKER_CONFIGS = frozenset(
    row.synonym for row in TOPIC_CONFIGS.values() if row.synonym
)

# What bounds and choices can't say: which values are legal, in words.
BROKER_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "connections.max.idle.ms": (
        lambda ms: ms < 0 or ms > 100,
        "Value must be negative or more than 100",
    ),
    "group.consumer.assignors": (lambda names: names != "", "must not be empty"),
    "log.retention.ms": (lambda ms: ms != 0, "Value must be -1 or at least 1"),
}

# Which config bounds which: (name, how it compares, name).
BROKER_ORDER = (
    ("group.min.session.timeout.ms", operator.le, "group.max.session.timeout.ms"),
    (
        "group.consumer.heartbeat.interval.ms",
        operator.lt,
        "group.consumer.session.timeout.ms",
    ),
    (
        "log.cleaner.min.compaction.lag.ms",
        operator.le,
        "log.cleaner.max.compaction.lag.ms",
    ),
)


def check_topic_configs(configs: Mapping[str, Any]) -> dict[str, str]:
    """Every name known, every value legal: the configs as they will be stored. Else
    INVALID_CONFIG.
    """
    for name, text in configs.items():
        if text is None:
            raise KafkaError(
                Error.INVALID_CONFIG,
                f"Null value not supported for topic configs: {name}",
            )
    legal = checked(configs, TOPIC_CONFIGS, "topic config name")
    lags = ("min.compaction.lag.ms", "max.compaction.lag.ms")
    shortest, longest = (
        int(legal.get(name, TOPIC_CONFIGS[name].default)) for name in lags
    )
    if shortest > longest:
        why = (
            f"conflict topic config setting min.compaction.lag.ms ({shortest}) >"
            f" max.compaction.lag.ms ({longest})"
        )
        raise KafkaError(Error.INVALID_CONFIG, why)
    return legal


def check_broker_configs(configs: Mapping[str, str]) -> dict[str, str]:
    """The same for broker configs that may change at run time: those that stand behind
    a topic config.
    """
    for name in configs:
        if name in BROKER_CONFIGS and name not in RUN_TIME_BROKER_CONFIGS:
            raise KafkaError(
                Error.INVALID_REQUEST,
                f"Cannot update these configs dynamically: [{name}]",
            )
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
        for name, compares, bound in BROKER_ORDER:
            if not compares(self[name], self[bound]):
                words = "at most" if compares is operator.le else "less than"
                raise KafkaError(
                    Error.INVALID_CONFIG,
                    f"{name} ({self[name]}) must be {words} {bound} ({self[bound]})",
                )

    @cached_property
    def _static(self) -> dict[str, Any]:
        return {
            name: (
                parse(row, self.properties[name])
                if name in self.properties
                else row.default
            )
            for name, row in BROKER_CONFIGS.items()
        }

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
        own = (
            None if kind == BROKER_RESOURCE else image.config(kind, resource).get(name)
        )
        key = "value", broker_id, kind, name, own
        found: Value | None = image.in_force.get(key)
        if found is None:
            found = image.in_force[key] = self._value(image, broker_id, kind, name, own)
        return found

    def _value(
        self, image: Image, broker_id: int, kind: int, name: str, own: str | None
    ) -> Value:
        row = TABLES[kind][name]
        levels: list[Level] = []
        if own is not None:
            levels.append(
                (name, own, Source.TOPIC if kind == TOPIC_RESOURCE else Source.GROUP)
            )
        behind = name if kind == BROKER_RESOURCE else row.synonym
        if behind:
            levels += self._broker_levels(image, broker_id, behind)
        # what was stored when it was legal, and no longer is, gives way to the next
        for _, text, source in levels:
            if text is None or is_legal(row, text):
                return Value(None if text is None else parse(row, text), source, levels)
        return Value(row.default, Source.DEFAULT, levels)

    def places(self, node_id: int, log_dir: str) -> Iterator[tuple[Config, Value]]:
        """What a node is, as it was started: configs that aren't given as such here."""
        listeners = ",".join(
            f"{name}://{host}:{port}" for name, (host, port) in self.advertised.items()
        )
        for name, type_, value, documentation in (
            (
                "advertised.listeners",
                Type.LIST,
                listeners,
                "Where clients find this broker.",
            ),
            (
                "listeners",
                Type.LIST,
                listeners,
                "Where it listens; the addresses are those that it tells.",
            ),
            ("log.dirs", Type.LIST, log_dir, "Where the logs are."),
            ("node.id", Type.INT, node_id, "The number of this node."),
        ):
            synonyms = [(name, show(value), Source.STATIC_BROKER)]
            yield (
                Config(name, type_, value, documentation),
                Value(value, Source.STATIC_BROKER, synonyms),
            )

    def _broker_levels(self, image: Image, broker_id: int, name: str) -> list[Level]:
        levels: list[Level] = []
        for resource, source in (
            (str(broker_id), Source.DYNAMIC_BROKER),
            ("", Source.DYNAMIC_DEFAULT_BROKER),
        ):
            text = image.config(BROKER_RESOURCE, resource).get(name)
            if text is not None:
                levels.append((name, text, source))
        if name in self.properties:
            levels.append((name, self.properties[name], Source.STATIC_BROKER))
        if BROKER_CONFIGS[name].default is not None:
            levels.append((name, show(BROKER_CONFIGS[name].default), Source.DEFAULT))
        return levels


def unusable_configs(image: Image) -> Iterator[str]:
    """Which stored configs are no longer legal, a sentence each."""
    for (resource_type, resource), configs in image.configs.items():
        table = TABLES[resource_type]
        kinds = {TOPIC_RESOURCE: "topic", GROUP_RESOURCE: "group"}
        of_what = f"{kinds.get(resource_type, 'broker')} {resource or '(all)'}"
        for name, text in configs.items():
            if name in table and not is_legal(table[name], text):
                yield f"{of_what}: {name}={text} is not legal, and the default holds"


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
        value = parse(table[name], text)
        legal, words = BROKER_RULES.get(name, (None, ""))
        if legal and not legal(value):
            raise _invalid(table[name], text, words)
        found[name] = text
    return found


def snapshot_config(config: BrokerConfig) -> SnapshotConfig:
    """When the metadata log is replaced by a snapshot."""
    segment_bytes = (
        config["internal.metadata.log.segment.bytes"]
        or config["metadata.log.segment.bytes"]
    )
    record_bytes = config["metadata.log.max.record.bytes.between.snapshots"]
    return SnapshotConfig(
        record_bytes, config["metadata.log.max.snapshot.interval.ms"], segment_bytes
    )


def election_timeouts(config: BrokerConfig) -> Timeouts:
    """How long the quorum waits for a leader, and for votes."""
    return Timeouts(
        election_timeout_ms=config["controller.quorum.election.timeout.ms"],
        fetch_timeout_ms=config["controller.quorum.fetch.timeout.ms"],
        election_backoff_max_ms=config["controller.quorum.election.backoff.max.ms"],
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
