"""DescribeTopicPartitions (KIP-966): topics and partitions a page at a time.

Behaviour: topics in the order of their names, at most ResponsePartitionLimit partitions an answer (2,000 at the
most); NextCursor says where the next page begins. A cursor must name a topic that is asked for. Version: 0.
"""

from __future__ import annotations

from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.broker.handlers.metadata import TOPIC_OPERATIONS, topic_fields
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.wire.errors import Error, KafkaError

PARTITION_LIMIT = 2000  # max.request.partition.size.limit


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    body = request.body
    names = sorted({topic.name for topic in body.topics} or broker.image.topics)
    first_partition = 0
    if body.cursor is not None:
        if body.cursor.partition_index < 0 or (body.topics and body.cursor.topic_name not in names):
            return {"topics": [{"error_code": Error.INVALID_REQUEST, "name": name} for name in names]}
        names = [name for name in names if name >= body.cursor.topic_name]
        if names and names[0] == body.cursor.topic_name:
            first_partition = body.cursor.partition_index
    left = max(1, min(body.response_partition_limit, PARTITION_LIMIT))
    topics: list[dict[str, Any]] = []
    for name in names:
        if left == 0:
            return {"topics": topics, "next_cursor": {"topic_name": name, "partition_index": 0}}
        answer, shown, complete = describe(broker, name, first_partition, left)
        topics.append(answer)
        left -= shown
        if not complete:
            return {"topics": topics, "next_cursor": {"topic_name": name, "partition_index": first_partition + shown}}
        first_partition = 0
    return {"topics": topics, "next_cursor": None}


def describe(broker: Broker, name: str, first: int, limit: int) -> tuple[dict[str, Any], int, bool]:
    """One topic from a partition on: its answer, how many partitions it shows, whether these are the last."""
    try:
        if name not in broker.image.topics:
            controller.check_topic_name(name)
        topic = broker.image.topic(name)
    except KafkaError as error:
        return {"error_code": error.error, "name": name, "partitions": []}, 0, True
    numbers = [number for number in topic.partitions if number >= first]
    shown = {number: topic.partitions[number] for number in numbers[:limit]}
    answer = topic_fields(broker, topic, shown, TOPIC_OPERATIONS)
    for partition in answer["partitions"]:
        # eligible leader replicas: none as long as the ISR is not below min.insync.replicas
        partition |= {"eligible_leader_replicas": [], "last_known_elr": []}
    return answer, min(limit, len(numbers)), len(numbers) <= limit
