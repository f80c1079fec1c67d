"""DeleteRecords (KIP-107): forget all records before an offset.

Behaviour: the log start offset moves up; readers below it get OFFSET_OUT_OF_RANGE. Whole segments below it are
deleted from disk, here at once, by Apache Kafka with the next pass of retention. Offset -1 means the high watermark,
beyond which nothing can be deleted. Versions: 0 to 2, the same fields; 2 is flexible.
"""

from __future__ import annotations

from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.clock import Now
from minikafka.cluster.metadata import INTERNAL_TOPICS
from minikafka.wire.errors import Error, KafkaError


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    topics = []
    for topic in request.body.topics:
        partitions = [delete(broker, topic.name, partition) for partition in topic.partitions]
        topics.append({"name": topic.name, "partitions": partitions})
    broker.replicas.changed(now)
    return {"topics": topics}


def delete(broker: Broker, topic: str, partition: Any) -> dict[str, Any]:
    """One partition's answer: its new low watermark, or why not."""
    answer = {"partition_index": partition.partition_index, "low_watermark": -1, "error_code": Error.NONE}
    try:
        if topic in INTERNAL_TOPICS:
            raise KafkaError(Error.INVALID_TOPIC_EXCEPTION)
        answer["low_watermark"] = broker.replicas.leader(topic, partition.partition_index).delete_records(
            partition.offset
        )
    except KafkaError as error:
        answer["error_code"] = error.error
    return answer
