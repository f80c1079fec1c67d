"""OffsetCommit (KIP-98, KIP-211): a group writes down where it goes on reading.

Behaviour: the commit of a member counts if the member is one and its generation (KIP-848: member epoch) is the
group's; a request with generation -1 and no member id is of a consumer that assigns partitions by hand, or of a tool,
and counts while the group is empty. Answered when the records are committed. That a partition exists is not checked by
Apache Kafka's coordinator, but before it: so here. Versions: 2 to 9; 2 to 4 carry a retention time, 6 the leader
epoch, 7 brings static members, 8 is flexible, 9 the consumer protocol's epochs. (10 names topics by id.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minikafka.wire.errors import Error, KafkaError

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker, Call, Now
    from minikafka.broker.waiting import Wait

KEY, VERSIONS = 8, (2, 9)


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    body = request.body
    unknown = [failed(topic, take_unknown(broker, topic), Error.UNKNOWN_TOPIC_OR_PARTITION) for topic in body.topics]
    body.topics = [topic for topic in body.topics if topic.partitions]

    def whole(answer: dict[str, Any]) -> dict[str, Any]:
        """The coordinator's answer and what it wasn't asked for."""
        return {"topics": [*answer["topics"], *(topic for topic in unknown if topic["partitions"])]}

    if not body.topics:
        return whole({"topics": []})
    return broker.groups.change(
        request,
        body.group_id,
        lambda groups, _: groups.commit(body, request.version, now),
        lambda error: refuse(body.topics, error),
        now,
        whole,
    )


def take_unknown(broker: Broker, topic: Any) -> list[Any]:
    """Takes the partitions that don't exist out of a request's topic, and returns them."""
    known = broker.image.topics[topic.name].partitions if topic.name in broker.image.topics else {}
    unknown = [each for each in topic.partitions if each.partition_index not in known]
    topic.partitions = [each for each in topic.partitions if each.partition_index in known]
    return unknown


def refuse(topics: list[Any], error: KafkaError) -> dict[str, Any]:
    """The API has no error for the whole: every partition says it."""
    return {"topics": [failed(topic, topic.partitions, error.error) for topic in topics]}


def failed(topic: Any, partitions: list[Any], error: Error) -> dict[str, Any]:
    results = [{"partition_index": each.partition_index, "error_code": error} for each in partitions]
    return {"name": topic.name, "partitions": results}
