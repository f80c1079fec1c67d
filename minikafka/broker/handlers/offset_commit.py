"""OffsetCommit (KIP-98, KIP-211): a group writes down where it goes on reading.

Behaviour: the commit of a member counts if the member is one and its generation (KIP-848: member epoch) is the
group's; a request with generation -1 and no member id is of a consumer that assigns partitions by hand, or of a tool,
and counts while the group is empty. Answered when the records are committed. That a partition exists is not checked by
Apache Kafka's coordinator, but before it: so here. Versions: 2 to 9; 2 to 4 carry a retention time, 6 the leader
epoch, 7 brings static members, 8 is flexible, 9 the consumer protocol's epochs. (10 names topics by id.)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from minikafka.wire.errors import Error, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker
    from minikafka.broker.calls import Call
    from minikafka.clock import Now
    from minikafka.cluster.waiting import Wait

KEY, VERSIONS = 8, (2, 9)


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    """Partitions that don't exist are answered here, the others by the coordinator."""
    body = request.body
    body.unknown = without_unknown(broker, body.topics)
    body.topics = [topic for topic in body.topics if topic.partitions]
    if not body.topics:
        return {"topics": merged(body.unknown, ())}
    return broker.groups.ask(body.group_id, lambda groups, _, now: groups.commit(body, request.version, now), now)


def shape(request: Call, answer: dict[str, Any]) -> dict[str, Any]:
    return {"topics": merged(request.body.unknown, answer["topics"])}


def refuse(request: Call, error: KafkaError) -> dict[str, Any]:
    """The API has no error for the whole: every partition says it."""
    return shape(request, {"topics": [refused(topic, error.error) for topic in request.body.topics]})


def without_unknown(broker: Broker, topics: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """Takes the partitions that don't exist out of a request's topics; returns the results by topic, with those."""
    results: dict[str, dict[str, Any]] = {}
    for topic in topics:
        known = broker.image.topics[topic.name].partitions if topic.name in broker.image.topics else {}
        result = results.setdefault(topic.name, {"name": topic.name, "partitions": []})
        result["partitions"] += [
            {"partition_index": each.partition_index, "error_code": Error.UNKNOWN_TOPIC_OR_PARTITION}
            for each in topic.partitions
            if each.partition_index not in known
        ]
        topic.partitions = [each for each in topic.partitions if each.partition_index in known]
    return results


def merged(results: dict[str, dict[str, Any]], answered: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The coordinator's results beside those that it wasn't asked for."""
    for topic in answered:
        results[topic["name"]]["partitions"] += topic["partitions"]
    return [result for result in results.values() if result["partitions"]]


def refused(topic: Any, error: Error) -> dict[str, Any]:
    partitions = [{"partition_index": each.partition_index, "error_code": error} for each in topic.partitions]
    return {"name": topic.name, "partitions": partitions}
