"""The table of configs, and what a text means in it.

It has each config that Apache Kafka 4.4 describes, with its name, default and unit:
those that we honour, and those that are kept and told and change nothing. The column
update says who may change a broker's config while it runs; effect says why one has
none.

The table lies in two files: configs.csv has those that we honour, more_configs.csv the
others, which are read when somebody wants to see or to set them. A row is understood
when it is asked for itself.
"""

import csv
import math
from collections.abc import Iterator, Mapping
from enum import IntEnum
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from minikafka.broker.listeners import of_listener
from minikafka.cluster.metadata import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from minikafka.trace import printable
from minikafka.wire.errors import Error, KafkaError

SHORT_MAX, INT_MAX, LONG_MAX = 2**15 - 1, 2**31 - 1, 2**63 - 1


class Type(IntEnum):
    """DescribeConfigs' ConfigType."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


NUMBERS = (Type.INT, Type.SHORT, Type.LONG, Type.DOUBLE)

# who may change a broker's config while it runs
READ_ONLY, CLUSTER_WIDE = "", "cluster-wide"
PER_BROKER, PER_LISTENER = "per-broker", "per-listener"

# describes how a node was started; it is shown and can't be set
TOLD = "told"
# Why a config has no effect.
WITHOUT_EFFECT = {
    "directories": "there is one log directory",
    "disk": "the disk writes and deletes when it likes",
    "fixed": "here it is always the same",
    "kerberos": "there is no Kerberos",
    "metrics": "nobody is told metrics",
    "plugin": "no classes of others are loaded",
    "purgatory": "what waits is not swept",
    "quota": "nothing is slowed down by it",
    "remote": "there is no tiered storage",
    "sasl": "no broker here logs in to another one",
    "socket": "the system's own holds",
    "telemetry": "clients push no metrics",
    "threads": "one thread does all the work",
    "time": "segments are closed on time",
    "tls": "TLS is Python's own",
    "tokens": "there are no delegation tokens",
    "voters": "who votes is said at the start",
}


class Config(NamedTuple):
    """One row of the table. synonym: the broker config behind it. lowest, highest:
    inclusive bounds of a number. choices: the allowed strings.
    """

    name: str
    type: Type
    default: Any
    documentation: str | None
    synonym: str | None = None
    lowest: int | None = None
    highest: int | None = None
    choices: tuple[str, ...] = ()
    update: str = READ_ONLY
    effect: str = ""

    @property
    def is_sensitive(self) -> bool:
        """Whether nobody is told its value: what nobody knows may be a secret."""
        return self.type in (Type.PASSWORD, Type.UNKNOWN)


def parse(row: Config, text: str) -> Any:
    """The typed value of a config's text, or INVALID_CONFIG in Kafka's words."""
    text = text.strip()
    if row.type is Type.BOOLEAN:
        if text.lower() not in ("true", "false"):
            raise invalid(row, text, "Expected value to be either true or false")
        return text.lower() == "true"
    if row.type in NUMBERS:
        return _number(row, text)
    if row.type is Type.CLASS and text not in (row.default, *row.choices):
        raise invalid(row, text, f"Class {printable(text)} could not be found.")
    parts = [text]
    if row.type is Type.LIST:
        parts = [part.strip() for part in text.split(",") if text]
    for part in parts:
        if row.choices and not {part, part.upper()} & {*row.choices}:
            raise invalid(row, part, _choices(row))
    return ",".join(parts)


def _choices(row: Config) -> str:
    listed = ", ".join(row.choices)
    if len(row.choices) > 1:
        return f"String must be one of: {listed}"
    return f"minikafka honours only {listed}"


def show(value: Any) -> str | None:
    """A typed value as Kafka writes it."""
    if value is None:
        return None
    if isinstance(value, float):
        return _show_float(value)
    text = str(value)
    return text.lower() if isinstance(value, bool) else text


def _show_float(value: float) -> str:
    """A number as Java writes it: with an exponent if it is large or small."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return str(value)
    from decimal import Decimal  # seldom, and it takes a while to load

    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int), "a config is a finite number"
    first, *rest = map(str, digits)
    mantissa = f"{'-' * sign}{first}.{''.join(rest) or '0'}"
    return f"{mantissa}E{exponent + len(rest)}"


MOST = {Type.INT: INT_MAX, Type.SHORT: SHORT_MAX}


def _number(row: Config, text: str) -> int | float:
    largest = MOST.get(row.type, LONG_MAX)
    number: int | float
    try:
        number = float(text) if row.type is Type.DOUBLE else int(text)
    except ValueError:
        number = math.nan
    is_in_range = -largest - 1 <= number <= largest  # which no NaN is
    if row.type is Type.DOUBLE:
        is_in_range = math.isfinite(number)
    if not is_in_range or "_" in text:  # 1_000 is Python's own
        raise invalid(row, text, f"Not a number of type {row.type.name}")
    if row.lowest is not None and number < row.lowest:
        raise invalid(row, text, f"Value must be at least {row.lowest}")
    if row.highest is not None and number > row.highest:
        raise invalid(row, text, f"Value must be no more than {row.highest}")
    return number


def invalid(row: Config, text: str, why: str) -> KafkaError:
    """INVALID_CONFIG, in Kafka's words."""
    what = f"Invalid value {printable(text)} for configuration {row.name}"
    return KafkaError(Error.INVALID_CONFIG, f"{what}: {why}")


# -- the file


class Columns(NamedTuple):
    """One line of configs.csv, unparsed."""

    of: str
    name: str
    type: str
    default: str
    synonym: str
    lowest: str
    highest: str
    choices: str
    update: str
    effect: str
    documentation: str


HONOURED, OTHERS = "configs.csv", "more_configs.csv"
Lines = dict[str, dict[str, Columns]]


@cache
def _read(file: str) -> Lines:
    """The lines of a file, for topics, brokers, groups, and client metrics. A broker
    config behind a topic's, without a line of its own, has the topic's.
    """
    found: Lines = {each: {} for each in ("topic", "broker", "group", "client-metrics")}
    path = Path(__file__).with_name(file)
    with path.open(encoding="utf-8", newline="") as text:
        lines = csv.reader(text)
        assert tuple(next(lines)) == Columns._fields
        for line in lines:
            row = Columns(*line)
            found[row.of][row.name] = row
    brokers = found["broker"]
    for row in found["topic"].values():
        if row.synonym:
            behind = row._replace(name=row.synonym, synonym="", update=CLUSTER_WIDE)
            brokers.setdefault(row.synonym, behind)
    return found


class Table(Mapping[str, Config]):
    """The configs of one type of resource, by name."""

    def __init__(self, resource: str) -> None:
        self._resource = resource
        self._rows: dict[str, Config] = {}

    def __getitem__(self, name: str) -> Config:
        row = self._rows.get(name)
        if row is None:
            columns = self._line(name)
            if columns is None:
                raise KeyError(name)
            row = self._rows[name] = _row(columns)
        return row

    def _line(self, name: Any) -> Columns | None:
        for file in (HONOURED, OTHERS):
            line = _read(file)[self._resource].get(name)
            if line is not None:
                return line
        return None

    def __contains__(self, name: object) -> bool:
        return self._line(name) is not None

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(
            _read(file)[self._resource] for file in (HONOURED, OTHERS)
        )

    def __len__(self) -> int:
        return sum(len(_read(file)[self._resource]) for file in (HONOURED, OTHERS))


def _row(columns: Columns) -> Config:
    """One row of the table. The default null means that there is none."""
    row = Config(
        name=columns.name,
        type=Type[columns.type.upper()],
        default=None,
        documentation=_documentation(columns),
        synonym=columns.synonym or None,
        lowest=_bound(columns.lowest),
        highest=_bound(columns.highest),
        choices=tuple(columns.choices.split()),
        update=columns.update,
        effect=columns.effect,
    )
    if columns.default == "null":
        return row
    if row.type is Type.CLASS:
        return row._replace(default=columns.default)
    return row._replace(default=parse(row, columns.default))


def _documentation(columns: Columns) -> str:
    why = WITHOUT_EFFECT.get(columns.effect)
    if why is None:
        return columns.documentation
    return f"{columns.documentation} (Without effect: {why}.)"


def _bound(text: str) -> int | None:
    return int(text) if text else None


TOPIC_CONFIGS = Table("topic")
BROKER_CONFIGS = Table("broker")
GROUP_CONFIGS = Table("group")
CLIENT_METRICS_CONFIGS = Table("client-metrics")
TABLES: dict[int, Table] = {
    TOPIC_RESOURCE: TOPIC_CONFIGS,
    BROKER_RESOURCE: BROKER_CONFIGS,
    CLIENT_METRICS_RESOURCE: CLIENT_METRICS_CONFIGS,
    GROUP_RESOURCE: GROUP_CONFIGS,
}


def without_row(name: str) -> Config:
    """A broker's config that is not in the table. One of a single listener is like the
    config of all listeners, its synonym. Any other, for a plugin perhaps, is kept, and
    its name told.
    """
    of_one = of_listener(name)
    if of_one is not None and of_one.name in BROKER_CONFIGS:
        row = BROKER_CONFIGS[of_one.name]
        return row._replace(
            name=name, documentation=None, synonym=row.name, update=READ_ONLY
        )
    return Config(name, Type.UNKNOWN, default=None, documentation=None)


# Described where they are set, and not before.
SHOWN_WHERE_SET = frozenset(
    {
        "allow.everyone.if.no.acl.found",
        "follower.replication.throttled.rate",
        "group.share.initialize.retry.interval.ms",
        "leader.replication.throttled.rate",
        "log.initial.task.delay.ms",
        "replica.alter.log.dirs.io.max.bytes.per.second",
        "share.coordinator.cold.partition.snapshot.interval.ms",
        "share.coordinator.state.topic.prune.interval.ms",
        "super.users",
    }
)


def is_read_only(kind: int, row: Config) -> bool:
    """Whether it is as it was when the broker started."""
    return kind == BROKER_RESOURCE and row.update == READ_ONLY


def is_of_plugin(row: Config) -> bool:
    """Whether a class that the broker loads reads it, such as the authorizer. The
    broker keeps whatever it is set to at run time, and the class, as in Apache Kafka,
    goes on with what it was at the start.
    """
    return row.type is Type.UNKNOWN


def is_internal(name: str) -> bool:
    """Whether it is for tests and lessons, and described nowhere."""
    return name.startswith("internal.")


@cache
def run_time_broker_configs() -> frozenset[str]:
    """The names of those that change while a broker runs."""
    return frozenset(
        name
        for name, row in BROKER_CONFIGS.items()
        if not is_read_only(BROKER_RESOURCE, row)
    )
