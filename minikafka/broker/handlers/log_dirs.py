"""The folders that hold a broker's logs (KIP-113). A broker has one here, so nothing can move to another."""

from __future__ import annotations

from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.clock import Now
from minikafka.wire.errors import Error


def describe(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    """DescribeLogDirs (KIP-113, KIP-827): how many bytes each log takes, and how many records of it don't count yet.

    Topics null means all; what isn't here is left out. Versions: 1 to 5; 4 brings the size of the volume (-1 here: not
    known), 5 cordoned directories (there are none).
    """
    asked = request.body.topics
    wanted = None if asked is None else {(one.topic, number) for one in asked for number in one.partitions}
    topics: dict[str, list[dict[str, Any]]] = {}
    for (topic, number), replica in sorted(broker.replicas.replicas.items()):
        if wanted is None or (topic, number) in wanted:
            size_bytes, lag = replica.log.size_bytes, replica.log.log_end_offset - replica.high_watermark
            found = {"partition_index": number, "partition_size": size_bytes, "offset_lag": max(lag, 0)}
            topics.setdefault(topic, []).append(found)
    listed = [{"name": topic, "partitions": partitions} for topic, partitions in topics.items()]
    return {"results": [{"error_code": Error.NONE, "log_dir": broker.log_dir, "topics": listed}]}


def alter(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    """AlterReplicaLogDirs (KIP-113): LOG_DIR_NOT_FOUND for any folder but the one where the replica is. Versions: 1 and
    2, the same fields.
    """

    def verdict(path: str, topic: str, number: int) -> Error:
        if path != broker.log_dir:
            return Error.LOG_DIR_NOT_FOUND
        return Error.NONE if broker.replicas.find(topic, number) else Error.UNKNOWN_TOPIC_OR_PARTITION

    results: dict[str, list[dict[str, Any]]] = {}
    for folder in request.body.dirs:
        for topic in folder.topics:
            results.setdefault(topic.name, []).extend(
                {"partition_index": number, "error_code": verdict(folder.path, topic.name, number)}
                for number in topic.partitions
            )
    return {"results": [{"topic_name": topic, "partitions": partitions} for topic, partitions in results.items()]}
