"""OffsetForLeaderEpoch (KIP-101, KIP-320): where the records of a leader epoch end.

Behaviour: the answer names the largest epoch up to the one asked for that has records, and its end. A consumer whose
leader has changed asks with the epoch of the last record it read: if that epoch ends before its position, the log was
cut there. Versions: 2 to 4; 3 brings the replica's id, 4 is flexible.
"""

from __future__ import annotations

from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.clock import Now
from minikafka.wire.errors import KafkaError


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    return {
        "topics": [
            {"topic": topic.topic, "partitions": [look_up(broker, topic.topic, each) for each in topic.partitions]}
            for topic in request.body.topics
        ]
    }


def look_up(broker: Broker, topic: str, asked: Any) -> dict[str, Any]:
    """One partition's answer."""
    try:
        replica = broker.replicas.leader(topic, asked.partition, asked.current_leader_epoch)
    except KafkaError as error:
        return {"partition": asked.partition, "error_code": error.error}
    leader_epoch, end_offset = replica.log.end_offset_for_epoch(asked.leader_epoch)
    return {"partition": asked.partition, "leader_epoch": leader_epoch, "end_offset": end_offset}
