"""What a partition knows of transactions: the markers that end them, and who has one open.

WriteTxnMarkers (KIP-98): the transaction coordinator has decided, and asks the leaders of all partitions of the
transaction to write so; an administrator asks one leader, to abort a transaction that no coordinator knows any more
(KIP-664). A marker is written once the leader has found its epochs to be current, and answered when all in-sync
replicas have it. The coordinator asks again until each partition has its marker, so one may come twice. Versions: 1; 2
brings the transaction's version (KIP-1228).

DescribeProducers (KIP-664): the producers that a replica remembers, leader or not. Version 0.
"""

from __future__ import annotations

from typing import Any

from minikafka.broker.calls import Broker, Call
from minikafka.broker.handlers.produce import Promise, replicated
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.metadata import OFFSETS_TOPIC
from minikafka.cluster.waiting import Wait
from minikafka.storage.producer_state import Marker, Producer
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.topics import nested

TIMEOUT_MS = 30_000  # request.timeout.ms of brokers


def write(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    """WriteTxnMarkers: each partition has its own verdict."""
    written, pending = [], []
    for each in request.body.markers:
        epochs = each.coordinator_epoch, each.transaction_version
        marker = Marker(each.producer_id, each.producer_epoch, each.transaction_result, *epochs)
        results = []
        for topic, number in [(asked.name, number) for asked in each.topics for number in asked.partition_indexes]:
            answer = {"partition_index": number, "error_code": Error.NONE}
            results.append((topic, answer))
            try:
                pending.append(promise(broker, topic, marker, answer, now))
            except KafkaError as error:
                answer.update(refusal(error))
                if error.error is Error.KAFKA_STORAGE_ERROR:
                    broker.storage_failed(error)
        written.append((each.producer_id, results))

    def answer_all() -> dict[str, Any]:
        return {"markers": [{"producer_id": of, "topics": nested(results)} for of, results in written]}

    if not pending:
        return answer_all()
    return replicated(pending, now.monotonic_ms + TIMEOUT_MS, lambda *_: None, answer_all)


def promise(broker: Broker, topic: str, marker: Marker, answer: dict[str, Any], now: Now) -> Promise:
    """Write a marker into a partition. What was committed for groups is for their coordinator to know."""
    number = answer["partition_index"]
    if broker.replicas.find(topic, number) is None:
        raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
    replica = broker.replicas.leader(topic, number)
    of_groups = topic == OFFSETS_TOPIC
    appended = broker.groups.end_transaction(number, marker, now) if of_groups else replica.append_marker(marker, now)
    return Promise(replica, replica.leader_epoch, appended.last_offset + 1, answer, refusal)


def refusal(error: KafkaError) -> dict[str, Any]:
    return {"error_code": error.error}


def describe_producers(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    """DescribeProducers."""
    topics = []
    for topic in request.body.topics:
        partitions = [describe(broker, topic.name, number) for number in topic.partition_indexes]
        topics.append({"name": topic.name, "partitions": partitions})
    return {"topics": topics}


def describe(broker: Broker, topic: str, number: int) -> dict[str, Any]:
    """One partition's answer."""
    try:
        controller.check_topic_name(topic)
        log = broker.replicas.leader(topic, number, or_follower=True).log
    except KafkaError as error:
        return {"partition_index": number, "error_code": error.error, "error_message": error.message}
    producers = [described(*each) for each in log.producers.producers.items()]
    return {"partition_index": number, "active_producers": producers}


def described(producer_id: int, producer: Producer) -> dict[str, Any]:
    first_offset = producer.transaction_first_offset
    return {
        "producer_id": producer_id,
        "producer_epoch": producer.epoch,
        "last_sequence": producer.last_sequence,
        "last_timestamp": producer.timestamp,
        "coordinator_epoch": producer.coordinator_epoch,
        "current_txn_start_offset": -1 if first_offset is None else first_offset,
    }
