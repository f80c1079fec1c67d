"""CreateTopics (KIP-4, KIP-464, KIP-525): new topics, each with its own verdict.

Behaviour: -1 for partitions or replication factor means the broker's default. One bad topic does not stop the others;
those that are good are created together. Versions: 2 to 7; 5 adds the resulting configs to the answer, 7 the topic
id.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.broker.config import TOPIC_CONFIGS, Source, check_topic_configs, show
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.metadata import METADATA_TOPIC, MetadataRecord
from minikafka.cluster.waiting import Wait
from minikafka.wire.errors import Error, KafkaError


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    body = request.body
    times_named = Counter(topic.name for topic in body.topics)
    by_default = broker.config["num.partitions"]
    counts = (len(topic.assignments) or topic.num_partitions for topic in body.topics)
    partitions = sum(by_default if count == -1 else max(count, 0) for count in counts)
    records: list[MetadataRecord] = []
    results = []
    defaults = resulting_configs(broker)
    for topic in {topic.name: topic for topic in body.topics}.values():
        try:
            if times_named[topic.name] > 1:
                raise KafkaError(Error.INVALID_REQUEST, "Duplicate topic name.")
            if partitions > controller.MAX_PARTITIONS_PER_REQUEST:
                raise KafkaError(Error.POLICY_VIOLATION, "Excessively large number of partitions per request.")
            if len(times_named) > controller.MAX_TOPICS_PER_REQUEST:
                most = controller.MAX_TOPICS_PER_REQUEST
                raise KafkaError(Error.POLICY_VIOLATION, f"A request may create at most {most} topics.")
            result, new = create(broker, topic, defaults)
            results.append(result)
            records += new
        except KafkaError as error:
            results.append({"name": topic.name, "error_code": error.error, "error_message": error.message})

    def answer() -> dict[str, Any]:
        if broker.trace and records and not body.validate_only:
            tell(broker, body.topics, results)
        return {"topics": results}

    return broker.control.decide([] if body.validate_only else records, now, answer)


def create(broker: Broker, topic: Any, defaults: list[dict[str, Any]]) -> tuple[dict[str, Any], list[MetadataRecord]]:
    """One topic: its answer, and the records that create it. defaults: the configs of a topic that sets none."""
    if topic.name == METADATA_TOPIC:
        raise KafkaError(Error.INVALID_REQUEST, f"Creation of internal topic {METADATA_TOPIC} is prohibited.")
    controller.check_new_topic_name(topic.name, broker.image)
    if topic.name in broker.image.topics:
        raise KafkaError(Error.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
    configs = check_topic_configs({config.name: config.value for config in topic.configs})
    placement = place(broker, topic)
    topic_id = broker.random_uuid()
    records = controller.create_topic(broker.image, topic.name, topic_id, placement, configs)
    result = {
        "name": topic.name,
        "topic_id": topic_id,
        "error_code": Error.NONE,
        "error_message": None,
        "num_partitions": len(placement),
        "replication_factor": len(placement[0]),
        "configs": [
            row | {"value": configs[row["name"]], "config_source": Source.TOPIC} if row["name"] in configs else row
            for row in defaults
        ],
    }
    return result, records


def place(broker: Broker, topic: Any) -> controller.Placement:
    """Where the partitions go: as the client says, or as the controller chooses."""
    if topic.assignments:
        for name, value in (("replication factor", topic.replication_factor), ("numPartitions", topic.num_partitions)):
            if value != -1:
                what = f"A manual partition assignment was specified, but {name} was not set to -1."
                raise KafkaError(Error.INVALID_REQUEST, what)
        [(number, times), *_] = Counter(one.partition_index for one in topic.assignments).most_common(1)
        if times > 1:
            what = f"Found multiple manual partition assignments for partition {number}"
            raise KafkaError(Error.INVALID_REPLICA_ASSIGNMENT, what)
        return controller.check_placement(
            broker.image, {one.partition_index: one.broker_ids for one in topic.assignments}
        )
    partitions = broker.config["num.partitions"] if topic.num_partitions == -1 else topic.num_partitions
    factor = broker.config["default.replication.factor"] if topic.replication_factor == -1 else topic.replication_factor
    return broker.control.place(partitions, factor)


def resulting_configs(broker: Broker) -> list[dict[str, Any]]:
    """Every config that a new topic has, and where it comes from (KIP-525)."""
    values = {name: broker.config.topic_value(broker.image, broker.node_id, "", name) for name in TOPIC_CONFIGS}
    return [
        {"name": name, "value": show(value.value), "config_source": value.source} for name, value in values.items()
    ]


def tell(broker: Broker, asked: list[Any], results: list[dict[str, Any]]) -> None:
    """A trace event for each topic that was created."""
    configs = {topic.name: {config.name: config.value for config in topic.configs} for topic in asked}
    for result in results:
        if result["error_code"] == Error.NONE:
            broker.trace.emit(
                "TopicCreated",
                topic=result["name"],
                partitions=result["num_partitions"],
                replication_factor=result["replication_factor"],
                configs=configs[result["name"]],
            )
