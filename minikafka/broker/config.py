"""Looks up a config of a topic, a broker or a group: its value, and where it comes
from.

The names are those of config_table.py. A topic config and the broker config behind it
(its synonym) are different names for one thing. A topic's config is looked up in
Kafka's order: set on the topic, set at run time on the broker, set at run time for all
brokers, given at start, default.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from minikafka.broker.config_rules import checked_at_start, is_legal
from minikafka.broker.config_table import (
    BROKER_CONFIGS,
    TABLES,
    WITHOUT_EFFECT,
    parse,
    show,
    without_row,
)
from minikafka.broker.kafka_versions import KafkaVersion
from minikafka.broker.listeners import (
    PLAINTEXT,
    PROTOCOL_MAP,
    PROTOCOLS,
    WITH_SASL,
    WITH_TLS,
    names_for,
    of_listener,
    protocol_map,
)
from minikafka.cluster.election import Timeouts
from minikafka.cluster.features import ELR_FEATURE, level
from minikafka.cluster.metadata import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    Endpoint,
    Image,
)
from minikafka.cluster.quorum import QuorumConfig
from minikafka.cluster.snapshots import SnapshotConfig
from minikafka.cluster.users import Credential, UserMechanism

MIN_ISR = "min.insync.replicas"
# how the names of configs begin that a single listener may have for itself
OF_EACH_LISTENER = (
    "ssl.",
    "sasl.",
    "connections.max.reauth.ms",
    "max.connection.creation.rate",
)
# said for one mechanism of one listener, or not at all
ONLY_OF_MECHANISMS = ("sasl.jaas.config",)
MOST_IN_FORCE = 10_000  # of what follows from configs, and is kept


class Source(IntEnum):
    """DescribeConfigs' ConfigSource."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


OWN = {
    TOPIC_RESOURCE: Source.TOPIC,
    CLIENT_METRICS_RESOURCE: Source.CLIENT_METRICS,
    GROUP_RESOURCE: Source.GROUP,
}


class Level(NamedTuple):
    """One place where a config is set. name: the config's name there."""

    name: str
    text: str | None
    source: Source


class Value(NamedTuple):
    """A config's current state: typed value and where it comes from. synonyms: every
    level, strongest first.
    """

    value: Any
    source: Source
    synonyms: list[Level]


class InForce:
    """A broker's configs as they are now: what changes at run time has changed."""

    def __init__(self, config: "BrokerConfig", image: Image, broker_id: int) -> None:
        self._config, self._image = config, image
        self._broker_id = broker_id

    def __getitem__(self, name: str) -> Any:
        found = self._config.value(
            self._image, self._broker_id, BROKER_RESOURCE, "", name
        )
        return found.value


def no_stores(configs: Mapping[str, str]) -> None:
    """No listener has TLS."""


@dataclass
class BrokerConfig:
    """The settings with which a broker is started. advertised: listener name -> (host,
    port) told to clients. properties: Kafka's names, as text. peers: node id -> (host,
    port) where the cluster's nodes listen to each other. voters: those that vote on
    metadata; if none are named, all. cluster_id: for an empty disk, so that many nodes
    become one cluster; None: one is made. first_users: who may log in by SCRAM as soon
    as there is a cluster. files: what stands at the URLs that properties name.
    kafka_version: the older Kafka that clients are to see; None: the newest.
    check_stores: whether the listeners' keystores and truststores can be what configs set
    at run time for this broker say; errors: INVALID_REQUEST.
    """

    advertised: dict[str, Endpoint] = field(
        default_factory=lambda: {"PLAINTEXT": ("localhost", 9092)}
    )
    properties: dict[str, str] = field(default_factory=dict)
    peers: dict[int, Endpoint] = field(default_factory=dict)
    voters: tuple[int, ...] = ()
    cluster_id: str | None = None
    first_users: Sequence[tuple[UserMechanism, Credential]] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    kafka_version: KafkaVersion | None = None
    check_stores: Callable[[Mapping[str, str]], None] = no_stores
    _in_force: dict[Hashable, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    # the brokers' configs and the feature's level that it follows from
    _as_of: object = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.properties = checked_at_start(self.properties)

    @cached_property
    def _static(self) -> dict[str, Any]:
        return _Static(self.properties)

    def __getitem__(self, name: str) -> Any:
        """A broker config as it was at start, typed."""
        return self._static[name]

    @property
    def unknown(self) -> list[str]:
        """Which of the properties are no config of a broker's. They are kept, as in
        Apache Kafka, and nothing reads them.
        """
        return [name for name in self.properties if base_of(name) not in BROKER_CONFIGS]

    @property
    def without_effect(self) -> list[str]:
        """Which of the properties change nothing here: those of TLS without a listener
        that has it are among them, and those of logins as well.
        """
        used = {self.protocol(name) for name in self.advertised}
        has_tls, has_sasl = (not used.isdisjoint(of) for of in (WITH_TLS, WITH_SASL))
        listeners = {name.lower() for name in self.advertised}
        given = []
        for name in self.properties:
            of_one = of_listener(name)
            base = base_of(name)
            if base not in BROKER_CONFIGS:
                continue
            is_idle = (
                BROKER_CONFIGS[base].effect in WITHOUT_EFFECT
                or (base.startswith("ssl.") and not has_tls)
                or (base.startswith("sasl.") and not has_sasl)
                or (of_one is not None and of_one.listener not in listeners)
                or (of_one is not None and not base.startswith(OF_EACH_LISTENER))
                or (of_one is None and base in ONLY_OF_MECHANISMS)
            )
            if is_idle:
                given.append(name)
        return given

    # -- of one listener

    @cached_property
    def _protocols(self) -> dict[str, str]:
        return protocol_map(self[PROTOCOL_MAP])

    def protocol(self, listener: str) -> str:
        """The security protocol of a listener: that of the nodes is not in the map."""
        if PROTOCOL_MAP not in self.properties:
            return listener if listener in PROTOCOLS else PLAINTEXT
        return self._protocols.get(listener, PLAINTEXT)

    def of_listener(self, listener: str, name: str, mechanism: str = "") -> Any:
        """A broker config as it was at start, typed, for one listener, or for one
        mechanism of it.
        """
        for each in names_for(listener, name, mechanism):
            if each in self.properties:
                return parse(BROKER_CONFIGS[name], self.properties[each])
        return self[name]

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
        in_force = self.in_force(image)
        key = "value", broker_id, kind, name, own
        found: Value | None = in_force.get(key)
        if found is None:
            found = in_force[key] = self._value(image, broker_id, kind, name, own)
        return found

    def in_force(self, image: Image) -> dict[Hashable, Any]:
        """Values computed from a resource's own configs and the brokers', cached. The
        cache is emptied when the brokers' configs have changed.
        """
        as_of = image.brokers_configured, level(image, ELR_FEATURE)
        if self._as_of != as_of or len(self._in_force) > MOST_IN_FORCE:
            self._as_of = as_of
            self._in_force.clear()
        return self._in_force

    def _value(
        self, image: Image, broker_id: int, kind: int, name: str, own: str | None
    ) -> Value:
        # a broker's config of one listener has none
        row = TABLES[kind][name] if name in TABLES[kind] else without_row(name)
        levels: list[Level] = []
        if own is not None:
            levels.append(Level(name, own, OWN[kind]))
        of_broker = name if kind == BROKER_RESOURCE else row.synonym
        of_names = self._broker_levels(image, broker_id, of_broker)
        if kind == GROUP_RESOURCE and of_broker is None:
            of_names = [Level(name, show(row.default), Source.DEFAULT)]
            of_broker = name
        # A longer name without this one isn't a synonym, but it counts.
        told = levels + _from_name(of_names, of_broker)
        source = told[0].source if told else Source.DEFAULT
        if kind == BROKER_RESOURCE:
            of_names = [one for one in of_names if one.name == name]
        for one in levels + of_names:
            assert one.text is not None, "what is set has a text"
            # what was stored when it was legal, and no longer is, gives way to the next
            if is_legal(row, one.text):
                if one in told:
                    source = one.source
                value = parse(row, one.text)
                return Value(_in_units(value, one.name, name), source, told)
        return Value(row.default, source, told)

    def _broker_levels(
        self, image: Image, broker_id: int, name: str | None
    ) -> list[Level]:
        """The levels at which a broker config is set, or one behind it."""
        names = []
        while name is not None:
            names.append(name)
            row = BROKER_CONFIGS.get(name) or without_row(name)
            name = row.synonym
        places: list[tuple[Source, Mapping[str, str]]] = [
            (Source.DYNAMIC_BROKER, image.config(BROKER_RESOURCE, str(broker_id))),
            (Source.DYNAMIC_DEFAULT_BROKER, self.of_all(image)),
            (Source.STATIC_BROKER, self.properties),
            (Source.DEFAULT, _defaults(names)),
        ]
        levels = []
        for source, configs in places:
            for each in names:
                if each in configs:
                    levels.append(Level(each, configs[each], source))
        return levels

    def without_row(self, image: Image, broker_id: int) -> dict[str, list[Level]]:
        """The configs of a broker that are in no table, with their levels."""
        places = (
            image.config(BROKER_RESOURCE, str(broker_id)),
            image.config(BROKER_RESOURCE, ""),
            self.properties,
        )
        names = [name for configs in places for name in configs]
        return {
            name: _from_name(self._broker_levels(image, broker_id, name), name)
            for name in names
            if name not in BROKER_CONFIGS
        }

    def of_all(self, image: Image) -> dict[str, str]:
        """The configs set at run time for all brokers. With eligible leader replicas
        min.insync.replicas is always among them (KIP-966): unless an administrator
        changed it, it is the value with which this broker was started. (Apache Kafka
        writes it when the cluster begins.)
        """
        configs = image.config(BROKER_RESOURCE, "")
        if MIN_ISR in configs or not level(image, ELR_FEATURE):
            return configs
        given = self.properties.get(MIN_ISR, show(BROKER_CONFIGS[MIN_ISR].default))
        assert given is not None, "it has a default"
        return configs | {MIN_ISR: given}

    def places(self, node_id: int, log_dir: str) -> Iterator[tuple[str, Value]]:
        """The configs that describe how a node was started, where they aren't given as
        configs.
        """
        listeners = ",".join(
            f"{name}://{host}:{port}" for name, (host, port) in self.advertised.items()
        )
        voters = self.voters or tuple(sorted(self.peers))
        votes = not voters or node_id in voters
        told: dict[str, Any] = {
            "advertised.listeners": listeners,
            "broker.id": node_id,
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": ",".join(
                "{0}@{1[0]}:{1[1]}".format(each, self.peers[each])
                for each in voters
                if each in self.peers
            ),
            "listeners": listeners,
            "log.dirs": log_dir,
            "node.id": node_id,
            "process.roles": "broker,controller" if votes else "broker",
        }
        for name, value in told.items():
            row = BROKER_CONFIGS[name]
            levels = [Level(name, show(value), Source.STATIC_BROKER)]
            if row.default is not None:
                levels.append(Level(name, show(row.default), Source.DEFAULT))
            yield name, Value(value, Source.STATIC_BROKER, levels)


class _Static(dict[str, Any]):
    """The configs of a broker as they were at start, understood when asked for."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        super().__init__()
        self._properties = properties

    def __missing__(self, name: str) -> Any:
        row = BROKER_CONFIGS[name]
        value = row.default
        if name in self._properties:
            value = parse(row, self._properties[name])
        self[name] = value
        return value


def base_of(name: str) -> str:
    """The config that a name is about, which may name a single listener as well."""
    of_one = of_listener(name)
    return name if of_one is None else of_one.name


def _defaults(names: list[str]) -> dict[str, str]:
    found = {}
    for name in names:
        text = show(BROKER_CONFIGS[name].default) if name in BROKER_CONFIGS else None
        if text is not None:
            found[name] = text
    return found


def _from_name(levels: list[Level], name: str | None) -> list[Level]:
    """From the first on that has this name."""
    for number, one in enumerate(levels):
        if one.name == name:
            return levels[number:]
    return []


UNITS_MS = {"ms": 1, "minutes": 60_000, "hours": 3_600_000}


def _in_units(value: Any, given: str, wanted: str) -> Any:
    """A duration that a config of another unit says. Less than nothing is no limit."""
    of_given, of_wanted = (name.rpartition(".")[2] for name in (given, wanted))
    if of_given == of_wanted or of_given not in UNITS_MS:
        return value
    return max(-1, value * UNITS_MS[of_given])


def quorum_config(node_id: int, config: BrokerConfig) -> QuorumConfig:
    """The voters, their timeouts, and when a snapshot of the metadata is due. A node
    alone is the only voter.
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
