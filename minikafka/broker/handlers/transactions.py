"""What a transactional producer asks its coordinator, and what administrators ask about transactions.

Old versions don't know PRODUCER_FENCED: they hear INVALID_PRODUCER_EPOCH (KIP-588).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from minikafka.broker.calls import Broker, Call
from minikafka.clock import Now
from minikafka.cluster.metadata import OFFSETS_TOPIC
from minikafka.cluster.waiting import Answer, Wait
from minikafka.coordinators.transaction_states import NO_PRODUCER_ID, V2, Status, TopicPartition
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.topics import nested

KNOWS_FENCED = {"InitProducerId": 4, "AddPartitionsToTxn": 2, "AddOffsetsToTxn": 2, "EndTxn": 2}  # from this version on
MANY = 4  # the version of AddPartitionsToTxn that asks for many transactions, as brokers do
BUMPS = 5  # the version of EndTxn that gives the producer its next epoch


class Asked(NamedTuple):
    """One transaction of an AddPartitionsToTxn. verify_only: they are not to join, but to have joined."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    verify_only: bool
    partitions: tuple[TopicPartition, ...]


def said(request: Call, error: KafkaError) -> Error:
    """The error as this version of the API knows it."""
    fenced = error.error is Error.PRODUCER_FENCED and request.version < KNOWS_FENCED[request.api]
    return Error.INVALID_PRODUCER_EPOCH if fenced else error.error


def refuse(request: Call, error: KafkaError) -> dict[str, Any]:
    return {"error_code": said(request, error)}


def add_partitions(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait:
    """AddPartitionsToTxn (KIP-98, KIP-890): all partitions of a transaction join it, or none. Versions: 0 to 5; 3 is
    flexible, 4 brings many transactions and verification.
    """
    transactions = asked_for(request)
    results: list[list[tuple[str, dict[str, Any]]]] = [[] for _ in transactions]
    whole, waits = Wait(), []

    def take(at: int, codes: dict[TopicPartition, Error]) -> None:
        results[at] = [
            (topic, {"partition_index": number, "partition_error_code": codes[topic, number]})
            for topic, number in transactions[at].partitions
        ]

    for at, asked in enumerate(transactions):
        missing = [place for place in asked.partitions if place[1] not in partitions_of(broker, place[0])]
        if asked.verify_only:
            take(at, {place: verified(broker, asked, place) for place in asked.partitions})
        elif missing:
            codes = dict.fromkeys(asked.partitions, Error.OPERATION_NOT_ATTEMPTED)
            take(at, codes | dict.fromkeys(missing, Error.UNKNOWN_TOPIC_OR_PARTITION))
        else:
            version = V2 if request.version >= MANY else 0
            waits.append((at, joining(broker, asked[:3], frozenset(asked.partitions), version, now)))

    def ended(at: int, wait: Wait) -> None:
        code = Error.NONE if wait.error is None else said(request, wait.error)
        take(at, dict.fromkeys(transactions[at].partitions, code))
        if all(each.is_done for _, each in waits):
            whole.finish(shaped(request, transactions, results))

    for at, wait in waits:
        wait.then(partial(ended, at))
    return whole if waits else shaped(request, transactions, results)


def asked_for(request: Call) -> list[Asked]:
    """The transactions of an AddPartitionsToTxn."""
    body = request.body
    if request.version < MANY:
        of = body.v3_and_below_transactional_id, body.v3_and_below_producer_id, body.v3_and_below_producer_epoch
        return [Asked(*of, False, flat(body.v3_and_below_topics))]
    return [
        Asked(each.transactional_id, each.producer_id, each.producer_epoch, each.verify_only, flat(each.topics))
        for each in body.transactions
    ]


def flat(topics: Any) -> tuple[TopicPartition, ...]:
    return tuple(dict.fromkeys((topic.name, number) for topic in topics for number in topic.partitions))


def partitions_of(broker: Broker, topic: str) -> Any:
    known = broker.image.topics.get(topic)
    return known.partitions if known else ()


def verified(broker: Broker, asked: Asked, partition: TopicPartition) -> Error:
    """Whether a partition has joined."""
    try:
        transactions = broker.transactions.state(asked.transactional_id)
        transactions.verify(asked.transactional_id, asked.producer_id, asked.producer_epoch, partition)
    except KafkaError as error:
        return error.error
    return Error.NONE


def joining(
    broker: Broker, of: tuple[str, int, int], partitions: frozenset[TopicPartition], version: int, now: Now
) -> Wait:
    how = of, partitions, version
    return broker.transactions.ask(of[0], lambda transactions, _, now: transactions.add(*how, now), now)


def shaped(
    request: Call, transactions: list[Asked], results: list[list[tuple[str, dict[str, Any]]]]
) -> dict[str, Any]:
    """The answer to an AddPartitionsToTxn."""
    by_topic = [nested(theirs, "name", "results_by_partition") for theirs in results]
    if request.version < MANY:
        return {"results_by_topic_v3_and_below": by_topic[0]}
    parts = zip(transactions, by_topic, strict=True)
    return {
        "results_by_transaction": [
            {"transactional_id": asked.transactional_id, "topic_results": topics} for asked, topics in parts
        ]
    }


def add_offsets(broker: Broker, request: Call, now: Now) -> Wait:
    """AddOffsetsToTxn (KIP-98): the partition of a group's offsets joins, though the topic may not be made yet.
    Versions: 0 to 4; 3 is flexible.
    """
    body = request.body
    partition = frozenset({(OFFSETS_TOPIC, broker.groups.partition(body.group_id))})
    of = body.transactional_id, body.producer_id, body.producer_epoch
    return joining(broker, of, partition, 0, now)


def end(broker: Broker, request: Call, now: Now) -> Wait:
    """EndTxn (KIP-98): commit or abort; answered when that is decided, before the markers are written. Versions: 0 to
    5; 3 is flexible, 5 is of transactions v2 (KIP-890).
    """
    body = request.body
    of = body.transactional_id, body.producer_id, body.producer_epoch
    version, producer_id = (V2 if request.version >= BUMPS else 0), NO_PRODUCER_ID
    if version and broker.transactions.state(of[0]).needs_producer_id(of[0]):
        found = broker.control.next_producer_id(now)
        if isinstance(found, Wait):
            return found
        producer_id = found
    how = body.committed, version, producer_id
    return broker.transactions.ask(of[0], lambda transactions, _, now: transactions.end(of, *how, now), now)


def describe(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    """DescribeTransactions (KIP-664). Version 0."""

    def one(transactional_id: str) -> Answer:
        try:
            described: Answer = broker.transactions.state(transactional_id).describe(transactional_id)
        except KafkaError as error:
            return {"transactional_id": transactional_id, "error_code": error.error}
        return {"transactional_id": transactional_id, **described}

    return {"transaction_states": [one(each) for each in request.body.transactional_ids]}


def listed(broker: Broker, request: Call, now: Now) -> dict[str, Any]:
    """ListTransactions (KIP-664, KIP-994, KIP-1152): those that this broker coordinates. Versions: 0 to 2; 1 filters by
    duration, 2 by pattern.
    """
    found = [each for transactions in broker.transactions.loaded() for each in transactions.listed(request.body, now)]
    unknown = set(request.body.state_filters) - {status.word for status in Status}
    return {"error_code": Error.NONE, "unknown_state_filters": sorted(unknown), "transaction_states": found}
