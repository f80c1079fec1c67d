"""The configs of topics and brokers: what holds and where it comes from, and what may
change at run time.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from minikafka.broker import config
from minikafka.broker.calls import MOST_TIMES, Broker, Call, each_judged
from minikafka.broker.config import TABLES, Config, Source, Type, Value
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.metadata import (
    BROKER_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
    MetadataRecord,
    config_records,
)
from minikafka.cluster.waiting import Answer, Wait
from minikafka.wire import messages
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.primitives import Encoded

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
CLIENT_METRICS = 16
TWICE = "Each resource must appear at most once."
RESOURCES = {
    TOPIC_RESOURCE: "topic",
    BROKER_RESOURCE: "broker",
    GROUP_RESOURCE: "group",
}
CHECKS = {
    TOPIC_RESOURCE: config.check_topic_configs,
    BROKER_RESOURCE: config.check_broker_configs,
}
RUN_TIME_CONFIGS = (
    config.RUN_TIME_BROKER_CONFIGS
    | config.TOPIC_CONFIGS.keys()
    | config.GROUP_CONFIGS.keys()
)
# Apache Kafka has bounds for a group's; here there are none.
CHECKS[GROUP_RESOURCE] = partial(
    config.checked, table=config.GROUP_CONFIGS, what="group config name"
)


def describe(broker: Broker, request: Call, now: Now) -> Answer:
    """DescribeConfigs (KIP-133, KIP-226, KIP-569): configs, and where each value comes
    from.

    A topic's configs with their synonyms, strongest level first; a broker's by its id;
    the name "" shows what is set at run time for all brokers; a group's (KIP-848)
    whether there is such a group or not. A resource that is named very often is
    refused, so that no short request has a very long answer (Apache Kafka answers each
    time). Versions: 1 to 4; 1 adds sources and synonyms, 3 types and documentation.
    """

    times_named = Counter(map(identity, request.body.resources))

    def shown(resource: Any) -> Answer:
        if times_named[identity(resource)] > MOST_TIMES:
            why = f"Each resource must appear at most {MOST_TIMES} times."
            raise KafkaError(Error.INVALID_REQUEST, why)
        return {"configs": configs(broker, resource, request)}

    return {"results": each_judged(request.body.resources, named, shown, say_why=True)}


def identity(resource: Any) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name


def configs(broker: Broker, resource: Any, request: Call) -> Encoded:
    """The configs of a resource that are asked for, as the answer shows them. Thousands
    of topics and groups differ in few of them, and what they share is encoded once.
    """
    kind, name = check_resource(broker, resource)
    own, keys = broker.image.config(kind, name), resource.configuration_keys
    if kind == CLIENT_METRICS:
        rows: dict[str, Encoded] = {}  # there is no telemetry (KIP-714)
    elif kind == BROKER_RESOURCE:
        rows = {
            row.name: encoded(row, value, request)
            for row, value in of_broker(broker, name)
        }
    else:
        plain = shared(broker, request, kind)
        if not own and keys is None:
            return plain.all
        rows = {
            key: in_force(broker, request, kind, name, key)
            for key in own
            if key in plain.rows
        }
        rows = plain.rows | rows
    wanted = rows if keys is None else set(keys)
    return join(request, [row for key, row in rows.items() if key in wanted])


class Plain(NamedTuple):
    """The configs of whoever sets none. all: as one array."""

    rows: dict[str, Encoded]
    all: Encoded


def shared(broker: Broker, request: Call, kind: int) -> Plain:
    """Every config of a topic or a group that sets none itself. No topic has an empty
    name.
    """
    body = request.body
    key = (
        "described",
        request.version,
        body.include_synonyms,
        body.include_documentation,
        kind,
    )
    found: Plain | None = broker.image.in_force.get(key)
    if found is None:
        rows = {
            name: in_force(broker, request, kind, "", name) for name in TABLES[kind]
        }
        found = broker.image.in_force[key] = Plain(
            rows, join(request, list(rows.values()))
        )
    return found


def in_force(broker: Broker, request: Call, kind: int, name: str, key: str) -> Encoded:
    value = broker.config.value(broker.image, broker.node_id, kind, name, key)
    return encoded(TABLES[kind][key], value, request)


def encoded(row: Config, value: Value, request: Call) -> Encoded:
    response = messages.API[request.api].response
    return response.encode_item(
        request.version, "results.configs", described(row, value, request)
    )


def join(request: Call, rows: list[Encoded]) -> Encoded:
    return messages.API[request.api].response.join_items(request.version, rows)


def named(resource: Any) -> Answer:
    return {
        "resource_type": resource.resource_type,
        "resource_name": resource.resource_name,
    }


def check_resource(broker: Broker, resource: Any) -> tuple[int, str]:
    """Type and name of a resource whose configs may be asked for."""
    kind, name = identity(resource)
    if kind == TOPIC_RESOURCE:
        controller.check_topic_name(name)
        broker.image.topic(name)
    elif kind == BROKER_RESOURCE:
        if name:
            check_own_id(broker, name, "Broker", " or empty string")
    elif kind == GROUP_RESOURCE and not name:
        raise KafkaError(Error.INVALID_REQUEST, "Group name must not be empty")
    elif kind not in (GROUP_RESOURCE, CLIENT_METRICS):
        raise KafkaError(Error.INVALID_REQUEST, f"Unsupported resource type: {kind}")
    return kind, name


def of_broker(broker: Broker, name: str) -> Iterator[tuple[Config, Value]]:
    """Each config of this broker with its value; the name "": those that are set at run
    time for all brokers.
    """
    table, source = TABLES[BROKER_RESOURCE], Source.DYNAMIC_DEFAULT_BROKER
    if name:
        for row in table.values():
            yield (
                row,
                broker.config.value(
                    broker.image, broker.node_id, BROKER_RESOURCE, name, row.name
                ),
            )
        yield from broker.config.places(broker.node_id, broker.log_dir)
    else:
        for key, text in broker.image.config(BROKER_RESOURCE, "").items():
            yield table[key], Value(text, source, [(key, text, source)])


def described(row: Config, value: Value, request: Call) -> Answer:
    """One config as the answer shows it."""
    body = request.body
    answer: Answer = {
        "name": row.name,
        "value": config.show(value.value),
        "read_only": row.name not in RUN_TIME_CONFIGS,
        "config_source": value.source,
    }
    if body.include_synonyms:
        answer["synonyms"] = [
            {"name": name, "value": text, "source": source}
            for name, text, source in value.synonyms
        ]
    if request.version >= 3:
        answer["config_type"] = row.type
        answer["documentation"] = (
            row.documentation if body.include_documentation else None
        )
    return answer


def check_own_id(broker: Broker, name: str, what: str, or_else: str = "") -> None:
    """A broker answers for its own configs only, and changes no others."""
    if not name.isdecimal():
        raise KafkaError(
            Error.INVALID_REQUEST, f"{what} id must be an integer, but it is: {name}"
        )
    if name != str(broker.node_id):
        why = (
            f"Unexpected broker id, expected {broker.node_id}{or_else}, but received"
            f" {name}"
        )
        raise KafkaError(Error.INVALID_REQUEST, why)


def alter(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """IncrementalAlterConfigs (KIP-339): change some configs of a topic, a group or of
    brokers, leave the others. SET, DELETE, and for lists APPEND and SUBTRACT.
    AlterConfigs (KIP-133), the old form: what isn't named is taken back.

    Each resource succeeds or fails as a whole, before anything is written. Of a
    broker's configs those that stand behind a topic config can change at run time.
    Versions: 0 and 1, the same fields; 1 is flexible (of AlterConfigs 2).
    """
    body = request.body
    times_named = Counter(
        (resource.resource_type, resource.resource_name) for resource in body.resources
    )
    records: list[MetadataRecord] = []
    altered: list[Answer] = []

    def verdict(resource: Any) -> Answer:
        kind, name = resource.resource_type, resource.resource_name
        if times_named[kind, name] > 1:
            raise KafkaError(Error.INVALID_REQUEST, TWICE)
        new = changes(broker, resource, request.api == "IncrementalAlterConfigs")
        records.extend(config_records(kind, name, new))
        altered.append({"resource": RESOURCES[kind], "name": name, "configs": new})
        return {"error_message": None}

    answer = {"responses": each_judged(body.resources, named, verdict, say_why=True)}
    return (
        answer
        if body.validate_only
        else broker.active_controller.change(
            records, now, answer, "ConfigsAltered", altered
        )
    )


def changes(broker: Broker, resource: Any, incremental: bool) -> dict[str, str | None]:
    """One resource: config -> its new text, or None where it goes back to the
    default.
    """
    kind = resource.resource_type
    if kind == TOPIC_RESOURCE:
        check_topic(broker, resource.resource_name)
    elif kind == GROUP_RESOURCE:
        if not resource.resource_name:
            raise KafkaError(
                Error.INVALID_REQUEST, "Default group resources are not allowed."
            )
    elif kind != BROKER_RESOURCE:
        raise KafkaError(Error.INVALID_REQUEST, f"Unknown resource type {kind}")
    elif resource.resource_name:
        check_own_id(broker, resource.resource_name, "Node")
    names = [asked.name for asked in resource.configs]
    if len(set(names)) < len(names):
        raise KafkaError(Error.INVALID_REQUEST, "Error due to duplicate config keys")
    current, table = broker.image.config(kind, resource.resource_name), TABLES[kind]
    new: dict[str, str | None] = {} if incremental else dict.fromkeys(current)
    for asked in resource.configs:
        operation = asked.config_operation if incremental else SET
        new[asked.name] = change(
            asked, operation, current.get(asked.name), table.get(asked.name)
        )
    CHECKS[kind]({name: text for name, text in new.items() if text is not None})
    return new


def resources(broker: Broker, request: Call, now: Now) -> Answer:
    """ListConfigResources (KIP-1142): what may have configs of its own. Of client
    metrics there are none, and of a broker's loggers nothing can be set. Versions: 0
    asks for the client metrics; 1 names types, none of them: all.
    """
    image = broker.image
    found = {
        TOPIC_RESOURCE: list(image.topics),
        BROKER_RESOURCE: [str(one.broker_id) for one in image.live_brokers()],
        CLIENT_METRICS: [],
        GROUP_RESOURCE: [
            name for kind, name in image.configs if kind == GROUP_RESOURCE
        ],
    }
    wanted = (
        [CLIENT_METRICS]
        if request.version == 0
        else dict.fromkeys(request.body.resource_types or found)
    )
    if not found.keys() >= set(wanted):
        raise KafkaError(Error.UNSUPPORTED_VERSION)
    named = [
        {"resource_name": name, "resource_type": kind}
        for kind in wanted
        for name in found[kind]
    ]
    return {"config_resources": named}


def check_topic(broker: Broker, name: str) -> None:
    if not name:
        raise KafkaError(
            Error.INVALID_REQUEST, "Default topic resources are not allowed."
        )
    if name not in broker.image.topics:
        controller.check_topic_name(name)
        raise KafkaError(
            Error.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
        )


def change(
    asked: Any, operation: int, current: str | None, row: Config | None
) -> str | None:
    """One config's new text."""
    if operation == DELETE:
        return None
    if asked.value is None:
        raise KafkaError(
            Error.INVALID_REQUEST, f"Null value not supported for : {asked.name}"
        )
    if operation == SET:
        return str(asked.value)
    if operation not in (APPEND, SUBTRACT):
        raise KafkaError(
            Error.INVALID_REQUEST, f"Unknown operation {operation} for {asked.name}"
        )
    if row is None or row.type is not Type.LIST:
        verb = "APPEND" if operation == APPEND else "SUBTRACT"
        raise KafkaError(
            Error.INVALID_CONFIG,
            f"Can't {verb} to key {asked.name} because its type is not LIST.",
        )
    parts = [
        part
        for part in (row.default if current is None else current).split(",")
        if part
    ]
    given = str(asked.value).split(",")
    if operation == APPEND:
        return ",".join(parts + [part for part in given if part not in parts])
    return ",".join(part for part in parts if part not in given)
