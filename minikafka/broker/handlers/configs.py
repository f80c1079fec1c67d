"""The configs of topics and brokers: what holds and where it comes from, and what may
change at run time.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from minikafka.broker import config
from minikafka.broker.calls import (
    CONTROLLER_LISTENER,
    MOST_TIMES,
    Broker,
    Call,
    Split,
    each_judged,
)
from minikafka.broker.config import TABLES, Config, Level, Source, Type, Value
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

# operations of IncrementalAlterConfigs
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
CLIENT_METRICS = 16
TYPES = 3  # the first version of DescribeConfigs with types and documentation
TWICE = "Each resource must appear at most once."
RESOURCES = {
    TOPIC_RESOURCE: "topic",
    BROKER_RESOURCE: "broker",
    GROUP_RESOURCE: "group",
}
RUN_TIME_CONFIGS = (
    config.RUN_TIME_BROKER_CONFIGS
    | config.TOPIC_CONFIGS.keys()
    | config.GROUP_CONFIGS.keys()
)


def describe(broker: Broker, request: Call, now: Now) -> Answer:
    """DescribeConfigs (KIP-133, KIP-226, KIP-569): configs, and where each value comes
    from.

    - A topic's configs with their synonyms, strongest level first.
    - A broker's by its id; the name "" shows what is set at run time for all brokers.
    - A group's (KIP-848), whether there is such a group or not.
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
        return {"configs": configs(broker, resource, request)}

    return {"results": each_judged(request.body.resources, named, shown, say_why=True)}


def identity(resource: Any) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name


def configs(broker: Broker, resource: Any, request: Call) -> Encoded:
    """The configs of a resource that are asked for, as the answer shows them."""
    kind, name = check_resource(broker, resource)
    keys = resource.configuration_keys
    if kind == CLIENT_METRICS:
        rows: dict[str, Encoded] = {}  # there is no telemetry (KIP-714)
    elif kind == BROKER_RESOURCE:
        rows = {}
        for row, value in of_broker(broker, name):
            rows[row.name] = encoded(row, value, request)
    else:
        # Thousands of topics and groups differ in few of them, and what they share is
        # encoded once.
        plain = shared(broker, request, kind)
        own = broker.image.config(kind, name)
        if not own and keys is None:
            return plain.all
        rows = dict(plain.rows)
        for key in own:
            if key in rows:
                rows[key] = in_force(broker, request, kind, name, key)
    if keys is not None:
        rows = {key: row for key, row in rows.items() if key in keys}
    return join(request, list(rows.values()))


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
    known = broker.config.in_force(broker.image)
    found: Plain | None = known.get(key)
    if found is None:
        rows = {}
        for name in TABLES[kind]:
            rows[name] = in_force(broker, request, kind, "", name)
        found = Plain(rows, join(request, list(rows.values())))
        known[key] = found
    return found


def in_force(broker: Broker, request: Call, kind: int, name: str, key: str) -> Encoded:
    """One config of a resource, as it counts on this node."""
    value = broker.config.value(broker.image, broker.node_id, kind, name, key)
    return encoded(TABLES[kind][key], value, request)


def encoded(row: Config, value: Value, request: Call) -> Encoded:
    response = messages.API[request.api].response
    fields = described(row, value, request)
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
    table = TABLES[BROKER_RESOURCE]
    if not name:
        source = Source.DYNAMIC_DEFAULT_BROKER
        for key, text in broker.image.config(BROKER_RESOURCE, "").items():
            yield table[key], Value(text, source, [Level(key, text, source)])
        return
    for row in table.values():
        value = broker.config.value(
            broker.image, broker.node_id, BROKER_RESOURCE, name, row.name
        )
        if value.synonyms or row.name not in config.THROTTLES:
            yield row, value
    yield from broker.config.places(broker.node_id, broker.log_dir)


def described(row: Config, value: Value, request: Call) -> Answer:
    """One config as the answer shows it."""
    answer: Answer = {
        "name": row.name,
        "value": config.show(value.value),
        "read_only": row.name not in RUN_TIME_CONFIGS,
        "config_source": value.source,
    }
    if request.body.include_synonyms:
        synonyms = []
        for name, text, source in value.synonyms:
            synonyms.append({"name": name, "value": text, "source": source})
        answer["synonyms"] = synonyms
    if request.version >= TYPES:
        answer["config_type"] = row.type
        answer["documentation"] = None
        if request.body.include_documentation:
            answer["documentation"] = row.documentation
    return answer


def check_own_id(broker: Broker, name: str, what: str, or_else: str = "") -> None:
    """A broker answers for its own configs only, and changes no others."""
    if not name.isdecimal():
        why = f"{what} id must be an integer, but it is: {name}"
        raise KafkaError(Error.INVALID_REQUEST, why)
    if name != str(broker.node_id):
        expected = f"{broker.node_id}{or_else}"
        why = f"Unexpected broker id, expected {expected}, but received {name}"
        raise KafkaError(Error.INVALID_REQUEST, why)


def alter(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """IncrementalAlterConfigs (KIP-339): change some configs of a topic, a group or of
    brokers, leave the others. SET, DELETE, and for lists APPEND and SUBTRACT.
    AlterConfigs (KIP-133), the old form: what isn't named is taken back.

    - Each resource succeeds or fails as a whole, before anything is written.
    - Of a broker's configs those that stand behind a topic config can change at run
      time, and throttles, which tools set and nothing obeys.
    - A broker is asked for its own, whoever the controller is: the broker that was
      asked looks at that, the controller doesn't.

    Versions: 0 and 1, the same fields (of AlterConfigs 0 to 2); the last is flexible.
    """
    body = request.body
    times_named = Counter(map(identity, body.resources))
    is_incremental = request.api == "IncrementalAlterConfigs"
    is_forwarded = request.client.listener == CONTROLLER_LISTENER
    records: list[MetadataRecord] = []
    altered: list[Answer] = []

    def verdict(resource: Any) -> Answer:
        kind, name = identity(resource)
        check_named_once(resource, times_named)
        if not is_forwarded:
            check_own(broker, resource)
        new = changes(broker, resource, is_incremental)
        records.extend(config_records(kind, name, new))
        altered.append({"resource": RESOURCES[kind], "name": name, "configs": new})
        return {"error_message": None}

    answer = {"responses": each_judged(body.resources, named, verdict, say_why=True)}
    if body.validate_only:
        return answer
    return broker.active_controller.change(
        records, now, answer, "ConfigsAltered", altered
    )


def split(broker: Broker, request: Call) -> Split:
    """What of it is passed on to the controller: all but the configs of other
    brokers.
    """
    resources = request.body.resources
    times_named = Counter(map(identity, resources))

    def own(resource: Any) -> Answer:
        check_named_once(resource, times_named)
        check_own(broker, resource)
        return {"error_message": None}

    judged_here = each_judged(resources, named, own, say_why=True)
    passed_on = []
    for resource, judged in zip(resources, judged_here, strict=True):
        if judged["error_code"] == Error.NONE:
            passed_on.append(resource.to_dict())

    def whole(answer: Answer) -> Answer:
        decided = iter(answer["responses"])
        responses = []
        for judged in judged_here:
            is_refused = judged["error_code"] != Error.NONE
            responses.append(judged if is_refused else next(decided))
        return answer | {"responses": responses}

    return Split(request.body.to_dict() | {"resources": passed_on}, whole)


def check_named_once(resource: Any, times_named: Counter[tuple[int, str]]) -> None:
    if times_named[identity(resource)] > 1:
        raise KafkaError(Error.INVALID_REQUEST, TWICE)


def check_own(broker: Broker, resource: Any) -> None:
    """A broker changes its own configs, those of all brokers, and no other's."""
    kind, name = identity(resource)
    if kind == BROKER_RESOURCE and name:
        check_own_id(broker, name, "Node")


def changes(broker: Broker, resource: Any, incremental: bool) -> dict[str, str | None]:
    """One resource: config -> its new text, or None where it goes back to the
    default.
    """
    kind, name = identity(resource)
    check_alterable(broker, kind, name)
    keys = [asked.name for asked in resource.configs]
    if len(set(keys)) < len(keys):
        raise KafkaError(Error.INVALID_REQUEST, "Error due to duplicate config keys")
    current = broker.image.config(kind, name)
    new: dict[str, str | None] = {}
    if not incremental:
        new = dict.fromkeys(current)
    for asked in resource.configs:
        operation = SET
        if incremental:
            operation = asked.config_operation
        row = TABLES[kind].get(asked.name)
        new[asked.name] = change(asked, operation, current.get(asked.name), row)
    to_set = {key: text for key, text in new.items() if text is not None}
    check_legal(kind, to_set)
    return new


def check_alterable(broker: Broker, kind: int, name: str) -> None:
    """Whether there is such a resource, and whether its configs may change here."""
    if kind == TOPIC_RESOURCE:
        check_topic(broker, name)
    elif kind == GROUP_RESOURCE:
        if not name:
            why = "Default group resources are not allowed."
            raise KafkaError(Error.INVALID_REQUEST, why)
    elif kind != BROKER_RESOURCE:
        raise KafkaError(Error.INVALID_REQUEST, f"Unknown resource type {kind}")


def check_topic(broker: Broker, name: str) -> None:
    if not name:
        why = "Default topic resources are not allowed."
        raise KafkaError(Error.INVALID_REQUEST, why)
    if name not in broker.image.topics:
        controller.check_topic_name(name)
        why = f"The topic '{name}' does not exist."
        raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, why)


def check_legal(kind: int, new: dict[str, str]) -> None:
    if kind == TOPIC_RESOURCE:
        config.check_topic_configs(new)
    elif kind == BROKER_RESOURCE:
        config.check_broker_configs(new)
    else:
        # Apache Kafka has bounds for a group's; here there are none.
        config.checked(new, config.GROUP_CONFIGS, "group config name")


def change(
    asked: Any, operation: int, current: str | None, row: Config | None
) -> str | None:
    """One config's new text."""
    if operation == DELETE:
        return None
    if asked.value is None:
        why = f"Null value not supported for : {asked.name}"
        raise KafkaError(Error.INVALID_REQUEST, why)
    if operation == SET:
        return str(asked.value)
    if operation not in (APPEND, SUBTRACT):
        why = f"Unknown operation {operation} for {asked.name}"
        raise KafkaError(Error.INVALID_REQUEST, why)
    if row is None or row.type is not Type.LIST:
        verb = "SUBTRACT"
        if operation == APPEND:
            verb = "APPEND"
        why = f"Can't {verb} to key {asked.name} because its type is not LIST."
        raise KafkaError(Error.INVALID_CONFIG, why)
    if current is None:
        current = row.default
    parts = [part for part in current.split(",") if part]
    given = str(asked.value).split(",")
    if operation == APPEND:
        parts += [part for part in given if part not in parts]
    else:
        parts = [part for part in parts if part not in given]
    return ",".join(parts)


def resources(broker: Broker, request: Call, now: Now) -> Answer:
    """ListConfigResources (KIP-1142): what may have configs of its own.

    - Of client metrics there are none, and of a broker's loggers nothing can be set.

    Versions: 0 and 1.

    - 0 asks for the client metrics.
    - 1 names types; none of them means all.
    """
    wanted = [CLIENT_METRICS]
    if request.version >= 1:
        named = request.body.resource_types or LISTED
        wanted = list(dict.fromkeys(named))
    if not set(wanted) <= set(LISTED):
        raise KafkaError(Error.UNSUPPORTED_VERSION)
    found = []
    for kind in wanted:
        for name in names_of(broker, kind):
            found.append({"resource_name": name, "resource_type": kind})
    return {"config_resources": found}


LISTED = (TOPIC_RESOURCE, BROKER_RESOURCE, CLIENT_METRICS, GROUP_RESOURCE)


def names_of(broker: Broker, kind: int) -> list[str]:
    """The resources of one type."""
    image = broker.image
    if kind == TOPIC_RESOURCE:
        return list(image.topics)
    if kind == BROKER_RESOURCE:
        return [str(one.broker_id) for one in image.live_brokers()]
    if kind == GROUP_RESOURCE:
        return [name for whose, name in image.configs if whose == GROUP_RESOURCE]
    return []  # client metrics
