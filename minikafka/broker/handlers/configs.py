"""The configs of topics, brokers, groups and their like: what holds, and where it comes
from.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from minikafka.broker.calls import MOST_TIMES, Call, as_listed, results_of
from minikafka.broker.config import OWN, BrokerConfig, Level, Source, Value
from minikafka.broker.config_rules import is_legal
from minikafka.broker.config_table import (
    SHOWN_WHERE_SET,
    TABLES,
    Config,
    Type,
    is_internal,
    is_read_only,
    parse,
    show,
    without_row,
)
from minikafka.broker.loggers import Loggers
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.metadata import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    Image,
)
from minikafka.cluster.waiting import Answer
from minikafka.storage.disk import Disk
from minikafka.wire import messages
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.primitives import Encoded

TYPES = 3  # the first version of DescribeConfigs with types and documentation


class Plain(NamedTuple):
    """The configs of a resource that sets none. all: as one array."""

    rows: dict[str, Encoded]
    all: Encoded


# what has no empty name
EMPTY = {
    BROKER_LOGGER_RESOURCE: "Broker id",
    CLIENT_METRICS_RESOURCE: "Client metrics subscription name",
    GROUP_RESOURCE: "Group name",
}
LISTED = (
    TOPIC_RESOURCE,
    BROKER_RESOURCE,
    BROKER_LOGGER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
)


@dataclass(eq=False, repr=False)
class ConfigHandlers:
    """The configs of topics, brokers, groups and their like."""

    node_id: int
    disk: Disk
    image: Image
    config: BrokerConfig
    loggers: Loggers

    def describe_configs(self, request: Call, now: Now) -> Answer:
        """DescribeConfigs (KIP-133, KIP-226, KIP-569): configs, and where each value
        comes from.

        - A topic's configs with their synonyms, strongest level first.
        - A broker's by its id; the name "" shows what is set at run time for all
          brokers.
        - A group's (KIP-848) and those of a subscription to clients' metrics (KIP-714),
          whether there is such a one or not.
        - The levels of a broker's loggers (KIP-412), asked of itself.
        - A resource that is named very often is refused, so that no short request has a
          very long answer (Apache Kafka answers each time).

        Versions: 1 to 4.

        - 1 adds sources and synonyms.
        - 3 adds types and documentation.
        """
        times_named = Counter(map(identity, request.body.resources))

        def shown(resource: Any) -> Answer:
            if times_named[identity(resource)] > MOST_TIMES:
                why = f"Each resource must appear at most {MOST_TIMES} times."
                raise KafkaError(Error.INVALID_REQUEST, why)
            return {"configs": self.configs(resource, request)}

        return {
            "results": results_of(request.body.resources, named, shown, say_why=True)
        }

    def configs(self, resource: Any, request: Call) -> Encoded:
        """The configs of a resource that are asked for, as the answer shows them."""
        kind, name = self.check_resource(resource)
        keys = resource.configuration_keys or None  # none named: all
        rows: dict[str, Encoded] = {}
        if kind == BROKER_LOGGER_RESOURCE:
            for key, level in self.loggers.levels.items():
                rows[key] = encode(of_logger(key, level, request), request)
        elif kind == BROKER_RESOURCE:
            for row, value in self.of_broker(name):
                rows[row.name] = encoded(kind, row, value, request)
        else:
            # Thousands of topics and groups differ in few of them, and what they share
            # is encoded once.
            plain = self.shared(request, kind)
            own = self.image.config(kind, name)
            if not own and keys is None:
                return plain.all
            rows = dict(plain.rows)
            for key in own:
                if key in rows:
                    rows[key] = self.one_in_force(request, kind, name, key)
        if keys is not None:
            rows = {key: row for key, row in rows.items() if key in keys}
        return join(request, list(rows.values()))

    def shared(self, request: Call, kind: int) -> Plain:
        """Every config of a topic or a group that sets none itself. No topic has an
        empty name.
        """
        body = request.body
        key = (
            "described",
            request.version,
            body.include_synonyms,
            body.include_documentation,
            kind,
        )
        known = self.config.in_force(self.image)
        found: Plain | None = known.get(key)
        if found is None:
            rows = {}
            names = sorted(
                (key for key in TABLES[kind] if not is_internal(key)), reverse=True
            )
            for name in as_listed(names):
                rows[name] = self.one_in_force(request, kind, "", name)
            found = Plain(rows, join(request, list(rows.values())))
            known[key] = found
        return found

    def one_in_force(self, request: Call, kind: int, name: str, key: str) -> Encoded:
        """One config of a resource, as it counts on this node."""
        value = self.config.value(self.image, self.node_id, kind, name, key)
        return encoded(kind, TABLES[kind][key], value, request)

    def check_resource(self, resource: Any) -> tuple[int, str]:
        """Type and name of a resource whose configs may be asked for."""
        kind, name = identity(resource)
        if kind == TOPIC_RESOURCE:
            controller.check_topic_name(name)
            if name not in self.image.topics:  # without a word, as in Apache Kafka
                raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, "")
        elif kind == BROKER_RESOURCE:
            if name:
                check_own_id(self.node_id, name, "Broker", " or empty string,")
        elif kind not in EMPTY:
            raise KafkaError(
                Error.INVALID_REQUEST, f"Unsupported resource type: {kind}"
            )
        elif not name:
            raise KafkaError(Error.INVALID_REQUEST, f"{EMPTY[kind]} must not be empty")
        elif kind == BROKER_LOGGER_RESOURCE:
            check_own_id(self.node_id, name, "Broker", "")
        return kind, name

    def of_broker(self, name: str) -> Iterator[tuple[Config, Value]]:
        """Each config of this broker with its value; the name "": those that are set at
        run time for all brokers.
        """
        table = TABLES[BROKER_RESOURCE]
        if not name:
            source = Source.DYNAMIC_DEFAULT_BROKER
            for key, text in self.config.of_all(self.image).items():
                row = table.get(key) or without_row(key)
                yield row, Value(text, source, [Level(key, text, source)])
            return
        places = dict(self.config.places(self.node_id, str(self.disk)))
        for row in table.values():
            value = self.config.value(
                self.image, self.node_id, BROKER_RESOURCE, name, row.name
            )
            is_set = value.source != Source.DEFAULT
            is_shown = is_set or row.name not in SHOWN_WHERE_SET
            if is_shown and not is_internal(row.name):
                yield row, places.get(row.name, value)
        beside = self.config.without_row(self.image, self.node_id)
        for key, levels in beside.items():
            strongest = levels[0]
            yield without_row(key), Value(strongest.text, strongest.source, levels)

    def list_config_resources(self, request: Call, now: Now) -> Answer:
        """ListConfigResources (KIP-1142): what may have configs of its own.

        Versions: 0 and 1.

        - 0 asks for the client metrics.
        - 1 names types; none of them means all.
        """
        wanted = [CLIENT_METRICS_RESOURCE]
        if request.version >= 1:
            named = request.body.resource_types or LISTED
            wanted = list(dict.fromkeys(named))
        if not set(wanted) <= set(LISTED):
            raise KafkaError(Error.UNSUPPORTED_VERSION)
        found = []
        for kind in wanted:
            for name in self.names_of(kind):
                found.append({"resource_name": name, "resource_type": kind})
        return {"config_resources": found}

    def names_of(self, kind: int) -> list[str]:
        """The resources of one type."""
        image = self.image
        if kind == TOPIC_RESOURCE:
            return list(image.topics)
        if kind in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE):
            return [str(one.broker_id) for one in image.live_brokers()]
        return [name for whose, name in image.configs if whose == kind]


def identity(resource: Any) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name


def encoded(kind: int, row: Config, value: Value, request: Call) -> Encoded:
    return encode(described(kind, row, value, request), request)


def encode(fields: Answer, request: Call) -> Encoded:
    response = messages.API[request.api].response
    return response.encode_item(request.version, "results.configs", fields)


def join(request: Call, rows: list[Encoded]) -> Encoded:
    """Rows that were encoded one by one, as one array."""
    response = messages.API[request.api].response
    return response.join_items(request.version, rows)


def named(resource: Any) -> Answer:
    return {
        "resource_type": resource.resource_type,
        "resource_name": resource.resource_name,
    }


def described(kind: int, row: Config, value: Value, request: Call) -> Answer:
    """One config as the answer shows it; of a secret not the value."""
    hidden = row.is_sensitive
    answer: Answer = {
        "name": row.name,
        "value": None if hidden else show(value.value),
        "read_only": is_read_only(kind, row),
        "config_source": value.source,
        "is_sensitive": hidden,
    }
    if request.body.include_synonyms:
        synonyms = []
        for name, text, source in value.synonyms:
            shown = None if hidden else text
            if shown and source == OWN.get(kind) and is_legal(row, shown):
                shown = show(parse(row, shown))
            synonyms.append({"name": name, "value": shown, "source": source})
        answer["synonyms"] = synonyms
    if request.version >= TYPES:
        answer["config_type"] = row.type
        answer["documentation"] = None
        if request.body.include_documentation:
            answer["documentation"] = row.documentation
    return answer


def of_logger(name: str, level: str, request: Call) -> Answer:
    """A logger's level as the answer shows it."""
    answer: Answer = {
        "name": name,
        "value": level,
        "read_only": False,
        "config_source": Source.BROKER_LOGGER,
    }
    if request.version >= TYPES:
        answer |= {"config_type": Type.UNKNOWN, "documentation": None}
        if request.body.include_documentation:
            answer["documentation"] = ""
    return answer


def check_own_id(node_id: int, name: str, what: str, or_else: str = ",") -> None:
    """A broker answers for its own configs only, and changes no others."""
    if not name.isdecimal():
        why = f"{what} id must be an integer, but it is: {name}"
        raise KafkaError(Error.INVALID_REQUEST, why)
    if name != str(node_id):
        expected = f"{node_id}{or_else}"
        why = f"Unexpected broker id, expected {expected} but received {name}"
        raise KafkaError(Error.INVALID_REQUEST, why)
