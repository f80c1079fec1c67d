"""What producers ask for the sake of transactions, what coordinators and leaders ask of
each other, and what administrators ask about transactions.

Old versions don't know PRODUCER_FENCED: they hear INVALID_PRODUCER_EPOCH (KIP-588).
"""

from typing import Any, NamedTuple

from minikafka.broker.calls import Broker, Call, a_few_times, by_topic, judged
from minikafka.broker.handlers.produce import Promise, replicated
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.metadata import OFFSETS_TOPIC
from minikafka.cluster.replica import Replica
from minikafka.cluster.waiting import Answer, Wait, all_of
from minikafka.coordinators.transaction_states import (
    NO_PRODUCER_ID,
    V2,
    Status,
    TopicPartition,
)
from minikafka.storage.producer_state import Marker, Producer
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import nested

# from this version on
KNOWS_FENCED = {
    "InitProducerId": 4,
    "AddPartitionsToTxn": 2,
    "AddOffsetsToTxn": 2,
    "EndTxn": 2,
}
# the version of AddPartitionsToTxn that asks for many transactions, as brokers do
MANY = 4
BUMPS = 5  # the version of EndTxn that gives the producer its next epoch
TIMEOUT_MS = 30_000  # request.timeout.ms of brokers


class Asked(NamedTuple):
    """One transaction of an AddPartitionsToTxn. verify_only: they are not to join, but
    to have joined.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    verify_only: bool
    partitions: tuple[TopicPartition, ...]


def said(request: Call, error: KafkaError) -> Error:
    """The error as this version of the API knows it."""
    fenced = (
        error.error is Error.PRODUCER_FENCED
        and request.version < KNOWS_FENCED[request.api]
    )
    return Error.INVALID_PRODUCER_EPOCH if fenced else error.error


def refuse(request: Call, error: KafkaError) -> Answer:
    return {"error_code": said(request, error)} | (
        {"producer_epoch": -1} if request.api == "InitProducerId" else {}
    )


# -- of producers


def init_producer_id(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """InitProducerId (KIP-98): an identity for an idempotent producer, or for a
    transactional one.

    Without a transactional id every call gives a new producer id with epoch 0, also
    when the client names an old one (KIP-360: that is for transactional producers).
    With one its coordinator says which id and epoch, and fences whoever had them.
    Versions: 0 to 5; 2 is flexible, 3 brings the id and epoch that the producer has.
    """
    body = request.body
    if body.transactional_id == "" or (body.producer_id < 0) != (
        body.producer_epoch < 0
    ):
        raise KafkaError(Error.INVALID_REQUEST)
    if body.transactional_id is None:
        producer_id = broker.forwarding.next_producer_id(now)
        if isinstance(producer_id, Wait):
            return producer_id
        if broker.trace:
            broker.trace.emit(
                "ProducerIdAssigned", producer_id=producer_id, producer_epoch=0
            )
        return {
            "error_code": Error.NONE,
            "producer_id": producer_id,
            "producer_epoch": 0,
        }
    if (
        not 0
        < body.transaction_timeout_ms
        <= broker.config["transaction.max.timeout.ms"]
    ):
        raise KafkaError(Error.INVALID_TRANSACTION_TIMEOUT)
    producer_id = new_producer_id(broker, body.transactional_id, now)
    if isinstance(producer_id, Wait):
        return producer_id
    expected = (
        (body.producer_id, body.producer_epoch) if body.producer_id >= 0 else None
    )
    transactional_id = body.transactional_id
    asked = transactional_id, body.transaction_timeout_ms, expected, producer_id
    return broker.transactions.ask(
        transactional_id,
        lambda transactions, _, now: transactions.init(*asked, now),
        now,
    )


def new_producer_id(broker: Broker, transactional_id: str, now: Now) -> int | Wait:
    """It is asked for before the coordinator decides, if that may want one."""
    may_want_one = broker.transactions.state(transactional_id).needs_producer_id(
        transactional_id
    )
    return broker.forwarding.next_producer_id(now) if may_want_one else NO_PRODUCER_ID


def add_partitions(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """AddPartitionsToTxn (KIP-98, KIP-890): all partitions of a transaction join it, or
    none. Versions: 0 to 5; 3 is flexible, 4 brings many transactions and verification.
    """
    transactions, topics = asked_for(request), broker.image.topics
    outcomes: list[dict[TopicPartition, Error] | Wait] = []
    for asked in transactions:
        missing = [
            at
            for at in asked.partitions
            if at[0] not in topics or at[1] not in topics[at[0]].partitions
        ]
        if asked.verify_only:
            outcomes.append(
                {at: verified(broker, asked, at) for at in asked.partitions}
            )
        elif missing:
            codes = dict.fromkeys(asked.partitions, Error.OPERATION_NOT_ATTEMPTED)
            outcomes.append(
                codes | dict.fromkeys(missing, Error.UNKNOWN_TOPIC_OR_PARTITION)
            )
        else:
            version = V2 if request.version >= MANY else 0
            outcomes.append(
                joining(broker, asked[:3], frozenset(asked.partitions), version, now)
            )

    def answer() -> Answer:
        results = []
        for asked, outcome in zip(transactions, outcomes, strict=True):
            if isinstance(outcome, Wait):
                code = (
                    Error.NONE
                    if outcome.error is None
                    else said(request, outcome.error)
                )
                outcome = dict.fromkeys(asked.partitions, code)
            parts = [
                (
                    topic,
                    {
                        "partition_index": number,
                        "partition_error_code": outcome[topic, number],
                    },
                )
                for topic, number in asked.partitions
            ]
            named = nested(parts, "name", "results_by_partition")
            results.append(
                {"transactional_id": asked.transactional_id, "topic_results": named}
            )
        if request.version < MANY:
            return {"results_by_topic_v3_and_below": results[0]["topic_results"]}
        return {"results_by_transaction": results}

    return all_of([each for each in outcomes if isinstance(each, Wait)], answer)


def asked_for(request: Call) -> list[Asked]:
    """The transactions of an AddPartitionsToTxn."""
    body = request.body
    if request.version < MANY:
        only = Asked(
            body.v3_and_below_transactional_id,
            body.v3_and_below_producer_id,
            body.v3_and_below_producer_epoch,
            False,
            flat(body.v3_and_below_topics),
        )
        return [only]
    return [
        Asked(
            each.transactional_id,
            each.producer_id,
            each.producer_epoch,
            each.verify_only,
            flat(each.topics),
        )
        for each in body.transactions
    ]


def flat(topics: Any) -> tuple[TopicPartition, ...]:
    return tuple(
        dict.fromkeys(
            (topic.name, number) for topic in topics for number in topic.partitions
        )
    )


def verified(broker: Broker, asked: Asked, partition: TopicPartition) -> Error:
    """Whether a partition has joined."""
    try:
        broker.transactions.state(asked.transactional_id).verify(*asked[:3], partition)
    except KafkaError as error:
        return error.error
    return Error.NONE


def joining(
    broker: Broker,
    producer: tuple[str, int, int],
    partitions: frozenset[TopicPartition],
    version: int,
    now: Now,
) -> Wait:
    transactional_id = producer[0]
    return broker.transactions.ask(
        transactional_id,
        lambda transactions, _, now: transactions.add(
            producer, partitions, version, now
        ),
        now,
    )


def add_offsets(broker: Broker, request: Call, now: Now) -> Wait:
    """AddOffsetsToTxn (KIP-98): a partition of group offsets joins, made or not.
    Versions: 0 to 4; 3 is flexible.
    """
    body = request.body
    partition = frozenset({(OFFSETS_TOPIC, broker.groups.partition(body.group_id))})
    return joining(
        broker,
        (body.transactional_id, body.producer_id, body.producer_epoch),
        partition,
        0,
        now,
    )


def end(broker: Broker, request: Call, now: Now) -> Wait:
    """EndTxn (KIP-98): commit or abort; answered when that is decided, before the
    markers are written. Versions: 0 to 5; 3 is flexible, 5 is of transactions v2
    (KIP-890).
    """
    body = request.body
    producer = body.transactional_id, body.producer_id, body.producer_epoch
    version = V2 if request.version >= BUMPS else 0
    producer_id: int | Wait = NO_PRODUCER_ID
    if version:
        producer_id = new_producer_id(broker, body.transactional_id, now)
    if isinstance(producer_id, Wait):
        return producer_id
    how = body.committed, version, producer_id
    return broker.transactions.ask(
        body.transactional_id,
        lambda transactions, _, now: transactions.end(producer, *how, now),
        now,
    )


# -- of coordinators


def write_markers(broker: Broker, request: Call, now: Now) -> Answer | Wait:
    """WriteTxnMarkers (KIP-98): the transaction coordinator has decided, and asks the
    leaders of all partitions of the transaction to write so; an administrator asks one
    leader, to abort a transaction that no coordinator knows any more (KIP-664).

    A marker is written once the leader has found its epochs to be current, and answered
    when all in-sync replicas have it. The coordinator asks again until each partition
    has its marker, so one may come twice. Versions: 1; 2 brings the transaction's
    version (KIP-1228).
    """
    written, pending = [], []
    highest = highest_coordinator_epoch(broker)
    for each in request.body.markers:
        epochs = each.coordinator_epoch, each.transaction_version
        marker = Marker(
            each.producer_id, each.producer_epoch, each.transaction_result, *epochs
        )
        results = []
        for topic, number in [
            (asked.name, number)
            for asked in each.topics
            for number in asked.partition_indexes
        ]:
            answer = {"partition_index": number, "error_code": Error.NONE}
            results.append((topic, answer))
            try:
                pending.append(promise(broker, topic, marker, highest, answer, now))
            except KafkaError as error:
                answer["error_code"] = error.error
                if error.error is Error.KAFKA_STORAGE_ERROR:
                    broker.storage_failed(error)
        written.append((each.producer_id, results))

    def answer_all() -> Answer:
        return {
            "markers": [
                {"producer_id": producer_id, "topics": nested(results)}
                for producer_id, results in written
            ]
        }

    if not pending:
        return answer_all()
    return replicated(
        pending, now.monotonic_ms + TIMEOUT_MS, lambda *_: None, answer_all
    )


def promise(
    broker: Broker,
    topic: str,
    marker: Marker,
    highest_coordinator_epoch: int | None,
    answer: Answer,
    now: Now,
) -> Promise:
    """Write a marker into a partition. What was committed for groups is for their
    coordinator to know.
    """
    number = answer["partition_index"]
    if broker.replicas.find(topic, number) is None:
        raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
    replica = broker.replicas.leader(topic, number)
    check_coordinator_epoch(replica, marker, highest_coordinator_epoch)
    of_groups = topic == OFFSETS_TOPIC
    appended = (
        broker.groups.end_transaction(number, marker, now)
        if of_groups
        else replica.append_marker(marker, now)
    )
    return Promise(
        replica,
        replica.leader_epoch,
        appended.last_offset + 1,
        answer,
        lambda error: {"error_code": error.error},
    )


def highest_coordinator_epoch(broker: Broker) -> int | None:
    """A coordinator's epoch is the leader epoch of a partition of
    `__transaction_state`: no higher one is believed, until this node hears of it.
    None: there are no coordinators yet, and an administrator may say what he likes.
    """
    topic = broker.transactions.topic
    if topic is None:
        return None
    return max(partition.leader_epoch for partition in topic.partitions.values())


def check_coordinator_epoch(
    replica: Replica, marker: Marker, highest: int | None
) -> None:
    """A marker whose coordinator's epoch none of them has come to is refused: were it
    kept, no coordinator could ever end that producer's transactions again. (Apache
    Kafka believes it.) Errors: UNKNOWN_LEADER_EPOCH, INVALID_REQUEST.
    """
    if min(marker.producer_id, marker.producer_epoch, marker.coordinator_epoch + 1) < 0:
        raise KafkaError(Error.INVALID_REQUEST)
    if highest is not None:
        if marker.coordinator_epoch > highest:
            raise KafkaError(Error.UNKNOWN_LEADER_EPOCH)
        replica.log.producers.forget_coordinator(marker.producer_id, highest)


# -- of administrators


def describe(broker: Broker, request: Call, now: Now) -> Answer:
    """DescribeTransactions (KIP-664). Version 0."""

    def one(name: str) -> Answer:
        return judged(
            {"transactional_id": name},
            lambda: broker.transactions.state(name).describe(name),
        )

    return {
        "transaction_states": [
            one(each) for each in a_few_times(request.body.transactional_ids)
        ]
    }


def listed(broker: Broker, request: Call, now: Now) -> Answer:
    """ListTransactions (KIP-664, KIP-994, KIP-1152): those that this broker
    coordinates. Versions: 0 to 2; 1 filters by duration, 2 by pattern.
    """
    found = [
        each
        for transactions in broker.transactions.loaded()
        for each in transactions.listed(request.body, now)
    ]
    unknown = set(request.body.state_filters) - {status.word for status in Status}
    return {
        "error_code": Error.NONE,
        "unknown_state_filters": sorted(unknown),
        "transaction_states": found,
    }


def describe_producers(broker: Broker, request: Call, now: Now) -> Answer:
    """DescribeProducers (KIP-664): the producers that a replica remembers, leader or
    not. Version 0.
    """

    def remembered(topic: Any, number: int) -> Answer:
        controller.check_topic_name(topic.name)
        producers = broker.replicas.leader(
            topic.name, number, or_follower=True
        ).log.producers.producers
        return {"active_producers": [described(*each) for each in producers.items()]}

    def named(number: int) -> Answer:
        return {"partition_index": number}

    for topic in request.body.topics:
        topic.partition_indexes = a_few_times(topic.partition_indexes)
    topics = a_few_times(request.body.topics, lambda topic: topic.name)
    answers = by_topic(
        topics, "name", named, remembered, say_why=True, partitions="partition_indexes"
    )
    return {"topics": answers}


def described(producer_id: int, producer: Producer) -> Answer:
    first_offset = producer.transaction_first_offset
    return {
        "producer_id": producer_id,
        "producer_epoch": producer.epoch,
        "last_sequence": producer.last_sequence,
        "last_timestamp": producer.timestamp,
        "coordinator_epoch": producer.coordinator_epoch,
        "current_txn_start_offset": -1 if first_offset is None else first_offset,
    }
