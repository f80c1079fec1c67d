"""What nodes ask of each other: votes, and what brokers want of the controller. Served where nodes listen, only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.metadata import METADATA_TOPIC, MetadataRecord
from minikafka.cluster.waiting import Wait
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message


def vote(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    """Vote (KIP-595, KIP-996): would this voter, or does it, vote for the candidate. Version 2."""
    return of_quorum(broker, request, lambda asked: broker.quorum.election.asked_for_vote(asked, now))


def begin_quorum_epoch(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    """BeginQuorumEpoch (KIP-595): somebody leads the quorum. Version 1."""
    return of_quorum(broker, request, lambda asked: broker.quorum.election.told_of_leader(asked, now))


def end_quorum_epoch(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    """EndQuorumEpoch (KIP-595): the leader of the quorum resigns. Version 1."""
    return of_quorum(broker, request, lambda asked: broker.quorum.election.told_of_resignation(asked, now))


def of_quorum(broker: Broker, request: Call, answer: Callable[[Message], dict[str, Any]]) -> dict[str, Any]:
    """The frame that the three have in common: one partition of one topic, of this cluster."""
    body = request.body
    if body.cluster_id is not None and body.cluster_id != broker.cluster_id:
        raise KafkaError(Error.INCONSISTENT_CLUSTER_ID)
    [topic] = body.topics or [None]
    if topic is None or topic.topic_name != METADATA_TOPIC or len(topic.partitions) != 1:
        raise KafkaError(Error.INVALID_REQUEST)
    return {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [answer(topic.partitions[0])]}]}


def register(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    """BrokerRegistration (KIP-631): a broker comes, and gets its epoch. Version 4."""
    return broker.control.register(request.body.to_dict(), now)


def heartbeat(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    """BrokerHeartbeat (KIP-631): a broker lives; one that is ready is unfenced. Version 2."""
    if not broker.quorum.is_leader:
        raise KafkaError(Error.NOT_CONTROLLER)
    return broker.control.heartbeat(request.body, now)


def allocate_producer_ids(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    """AllocateProducerIds (KIP-730): the next block for a broker. Version 0."""
    body, image = request.body, broker.image
    known = image.brokers.get(body.broker_id)
    if known is None or known.broker_epoch != body.broker_epoch:
        raise KafkaError(Error.STALE_BROKER_EPOCH)
    records = controller.allocate_producer_ids(image, body.broker_id, body.broker_epoch)
    block = controller.producer_id_block(records[0])
    answer = {"error_code": Error.NONE, "producer_id_start": block.start, "producer_id_len": len(block)}
    return broker.control.decide(records, now, lambda: answer)


def alter_partition(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    """AlterPartition (KIP-497): leaders name the replicas that are in sync. Each partition has its own verdict.
    Version 3.
    """
    body, image = request.body, broker.image
    known = image.brokers.get(body.broker_id)
    if known is None or known.broker_epoch != body.broker_epoch:
        raise KafkaError(Error.STALE_BROKER_EPOCH)
    records: list[MetadataRecord] = []
    topics = []
    for topic in body.topics:
        partitions = []
        for asked in topic.partitions:
            answer: dict[str, Any] = {"partition_index": asked.partition_index, "error_code": Error.NONE}
            try:
                change = controller.alter_isr(image, body.broker_id, topic.topic_id, asked)
                was = image.topic_by_id(topic.topic_id).partitions[asked.partition_index]
                records.append(change)
                answer |= {"leader_id": was.leader, "leader_epoch": was.leader_epoch, "isr": change.fields["isr"]}
                answer["partition_epoch"] = was.partition_epoch + 1
            except KafkaError as error:
                answer["error_code"] = error.error
            partitions.append(answer)
        topics.append({"topic_id": topic.topic_id, "partitions": partitions})
    return broker.control.decide(records, now, lambda: {"error_code": Error.NONE, "topics": topics})
