"""CreatePartitions (KIP-195): a topic grows. It can never shrink.

Behaviour: Count is the new total. Existing partitions and their records stay where they are; only the choice of a
partition by key changes, for records to come. Versions: 0 to 3, the same fields; 2 is flexible.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.metadata import MetadataRecord
from minikafka.cluster.waiting import Wait
from minikafka.wire.errors import Error, KafkaError


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    body = request.body
    times_named = Counter(topic.name for topic in body.topics)
    records: list[MetadataRecord] = []
    results, grown = [], []
    for topic in {topic.name: topic for topic in body.topics}.values():
        try:
            if times_named[topic.name] > 1:
                raise KafkaError(Error.INVALID_REQUEST, "Duplicate topic name.")
            records += grow(broker, topic)
            was = len(broker.image.topic(topic.name).partitions)
            grown.append({"topic": topic.name, "partitions": topic.count, "was": was})
            results.append({"name": topic.name, "error_code": Error.NONE, "error_message": None})
        except KafkaError as error:
            results.append({"name": topic.name, "error_code": error.error, "error_message": error.message})

    def answer() -> dict[str, Any]:
        if broker.trace and not body.validate_only:
            for detail in grown:
                broker.trace.emit("PartitionsCreated", **detail)
        return {"results": results}

    return broker.control.decide([] if body.validate_only else records, now, answer)


def grow(broker: Broker, asked: Any) -> list[MetadataRecord]:
    """The records that add partitions to one topic."""
    topic = broker.image.topic(asked.name)
    current = len(topic.partitions)
    new = asked.count - current
    if new == 0:
        raise KafkaError(Error.INVALID_PARTITIONS, f"Topic already has {current} partition(s).")
    if new < 0:
        raise KafkaError(
            Error.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {current} partition(s); {asked.count} would not be an increase.",
        )
    if new > controller.MAX_PARTITIONS_PER_REQUEST:
        raise KafkaError(Error.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    if asked.assignments is not None:
        if len(asked.assignments) != new:
            raise KafkaError(
                Error.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {new} additional partition(s), but only {len(asked.assignments)} "
                "assignment(s) were specified.",
            )
        chosen = {current + number: one.broker_ids for number, one in enumerate(asked.assignments)}
        return controller.create_partitions(topic, controller.check_placement(broker.image, chosen, current))
    factor = len(topic.partitions[0].replicas)
    first = topic.partitions[current - 1].replicas[0] + 1
    return controller.create_partitions(topic, controller.place(broker.image, new, factor, first))
