"""IncrementalAlterConfigs (KIP-339): change some configs of a topic or of brokers, leave the others.

Behaviour: SET, DELETE, and for lists APPEND and SUBTRACT. Each resource succeeds or fails as a whole, before anything
is written. Of a broker's configs those that stand behind a topic config can change at run time. Versions: 0 and 1,
the same fields; 1 is flexible.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.broker.config import (
    BROKER_CONFIGS,
    TOPIC_CONFIGS,
    Config,
    Type,
    check_broker_configs,
    check_topic_configs,
)
from minikafka.broker.handlers.describe_configs import check_own_id
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.metadata import BROKER_RESOURCE, TOPIC_RESOURCE, MetadataRecord
from minikafka.cluster.waiting import Wait
from minikafka.wire.errors import Error, KafkaError

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
RESOURCES = {TOPIC_RESOURCE: "topic", BROKER_RESOURCE: "broker"}


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    body = request.body
    times_named = Counter((resource.resource_type, resource.resource_name) for resource in body.resources)
    records: list[MetadataRecord] = []
    results, altered = [], []
    for resource in body.resources:
        kind, name = resource.resource_type, resource.resource_name
        result = {"error_message": None, "resource_type": kind, "resource_name": name}
        try:
            if times_named[kind, name] > 1:
                raise KafkaError(Error.INVALID_REQUEST, "Each resource must appear at most once.")
            changes = alter(broker, resource)
            records += controller.alter_config(kind, name, changes)
            altered.append({"resource": RESOURCES[kind], "name": name, "configs": changes})
        except KafkaError as error:
            result["error_code"], result["error_message"] = error.error, error.message
        results.append(result)

    def answer() -> dict[str, Any]:
        if broker.trace and not body.validate_only:
            for detail in altered:
                broker.trace.emit("ConfigsAltered", **detail)
        return {"responses": results}

    return broker.control.decide([] if body.validate_only else records, now, answer)


def alter(broker: Broker, resource: Any) -> dict[str, str | None]:
    """One resource: config -> its new text, or None where it goes back to the default."""
    table = TOPIC_CONFIGS
    if resource.resource_type == TOPIC_RESOURCE:
        check_topic(broker, resource.resource_name)
    elif resource.resource_type == BROKER_RESOURCE:
        table = BROKER_CONFIGS
        if resource.resource_name:
            check_own_id(broker, resource.resource_name, "Node")
    else:
        raise KafkaError(Error.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}")
    names = [config.name for config in resource.configs]
    if len(set(names)) < len(names):
        raise KafkaError(Error.INVALID_REQUEST, "Error due to duplicate config keys")
    current = broker.image.config(resource.resource_type, resource.resource_name)
    changes = {
        config.name: change(config, current.get(config.name), table.get(config.name)) for config in resource.configs
    }
    kept = {name: text for name, text in changes.items() if text is not None}
    (check_topic_configs if table is TOPIC_CONFIGS else check_broker_configs)(kept)
    return changes


def check_topic(broker: Broker, name: str) -> None:
    """The topic must be there."""
    if not name:
        raise KafkaError(Error.INVALID_REQUEST, "Default topic resources are not allowed.")
    if name not in broker.image.topics:
        controller.check_topic_name(name)
        raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")


def change(config: Any, current: str | None, row: Config | None) -> str | None:
    """One config's new text."""
    if config.config_operation == DELETE:
        return None
    if config.value is None:
        raise KafkaError(Error.INVALID_REQUEST, f"Null value not supported for : {config.name}")
    if config.config_operation == SET:
        return str(config.value)
    if config.config_operation not in (APPEND, SUBTRACT):
        raise KafkaError(Error.INVALID_REQUEST, f"Unknown operation {config.config_operation} for {config.name}")
    if row is None or row.type is not Type.LIST:
        verb = "APPEND" if config.config_operation == APPEND else "SUBTRACT"
        raise KafkaError(Error.INVALID_CONFIG, f"Can't {verb} to key {config.name} because its type is not LIST.")
    parts = [part for part in (row.default if current is None else current).split(",") if part]
    given = str(config.value).split(",")
    if config.config_operation == APPEND:
        return ",".join(parts + [part for part in given if part not in parts])
    return ",".join(part for part in parts if part not in given)
