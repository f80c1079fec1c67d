"""DescribeConfigs (KIP-133, KIP-226, KIP-569): the configs of topics and brokers, and where each value comes from.

Behaviour: a topic's configs with their synonyms, strongest level first; a broker's by its id; the name "" shows what
is set at run time for all brokers. Versions: 1 to 4; 1 adds sources and synonyms, 3 types and documentation.
"""

from __future__ import annotations

from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.broker.config import (
    BROKER_CONFIGS,
    RUN_TIME_BROKER_CONFIGS,
    TOPIC_CONFIGS,
    Config,
    Source,
    Value,
    show,
)
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.metadata import BROKER_RESOURCE, TOPIC_RESOURCE
from minikafka.wire.errors import Error, KafkaError


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    results = []
    for resource in request.body.resources:
        result: dict[str, Any] = {
            "resource_type": resource.resource_type,
            "resource_name": resource.resource_name,
            "configs": [],
        }
        try:
            keys = resource.configuration_keys
            for row, value in values(broker, resource):
                if keys is None or row.name in keys:
                    result["configs"].append(describe(row, value, request))
        except KafkaError as error:
            result["error_code"], result["error_message"] = error.error, error.message
        results.append(result)
    return {"results": results}


def values(broker: Broker, resource: Any) -> list[tuple[Config, Value]]:
    """Each config of a resource with its value."""
    config, image, name = broker.config, broker.image, resource.resource_name
    if resource.resource_type == TOPIC_RESOURCE:
        controller.check_topic_name(name)
        image.topic(name)
        return [(row, config.topic_value(image, broker.node_id, name, row.name)) for row in TOPIC_CONFIGS.values()]
    if resource.resource_type == BROKER_RESOURCE and name == "":
        source, set_for_all = Source.DYNAMIC_DEFAULT_BROKER, image.config(BROKER_RESOURCE, "")
        return [
            (BROKER_CONFIGS[key], Value(text, source, [(key, text, source)])) for key, text in set_for_all.items()
        ]
    if resource.resource_type == BROKER_RESOURCE:
        check_own_id(broker, name, "Broker", " or empty string")
        return [(row, config.broker_value(image, broker.node_id, row.name)) for row in BROKER_CONFIGS.values()]
    raise KafkaError(Error.INVALID_REQUEST, f"Unsupported resource type: {resource.resource_type}")


def check_own_id(broker: Broker, name: str, what: str, or_else: str = "") -> None:
    """A broker answers for its own configs only, and changes no others."""
    if not name.isdecimal():
        raise KafkaError(Error.INVALID_REQUEST, f"{what} id must be an integer, but it is: {name}")
    if name != str(broker.node_id):
        why = f"Unexpected broker id, expected {broker.node_id}{or_else}, but received {name}"
        raise KafkaError(Error.INVALID_REQUEST, why)


def describe(row: Config, value: Value, request: Call) -> dict[str, Any]:
    """One config as the answer shows it."""
    body = request.body
    answer: dict[str, Any] = {
        "name": row.name,
        "value": show(value.value),
        "read_only": row.name not in RUN_TIME_BROKER_CONFIGS and row.name not in TOPIC_CONFIGS,
        "config_source": value.source,
    }
    if body.include_synonyms:
        answer["synonyms"] = [{"name": name, "value": text, "source": source} for name, text, source in value.synonyms]
    if request.version >= 3:
        answer["config_type"] = row.type
        answer["documentation"] = row.documentation if body.include_documentation else None
    return answer
