"""Producers' requests for transactions, the requests that coordinators and leaders send
each other, and administrators' requests about transactions.

Old versions don't know PRODUCER_FENCED: they get INVALID_PRODUCER_EPOCH (KIP-588).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from minikafka.broker.calls import Call, limit_repeats, results_by_topic, results_of
from minikafka.broker.config import BrokerConfig
from minikafka.broker.forwarding import Forwarding
from minikafka.broker.replica_manager import ReplicaManager
from minikafka.clock import Now
from minikafka.cluster import controller
from minikafka.cluster.metadata import OFFSETS_TOPIC, Image, TopicPartition
from minikafka.cluster.promises import Promise, replicated
from minikafka.cluster.replica import Replica
from minikafka.cluster.waiting import Answer, Wait, all_of
from minikafka.coordinators.coordinator import GroupCoordinator, TransactionCoordinator
from minikafka.coordinators.expressions import NeededOnce
from minikafka.coordinators.runtime import Decision
from minikafka.coordinators.transaction_requests import Identity
from minikafka.coordinators.transaction_states import NO_PRODUCER_ID, V2, Status
from minikafka.storage.producer_state import Marker, Producer
from minikafka.trace import Trace
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
V0 = 0  # a version of transactions, before V2 (KIP-890)
BUMPS = 5  # the version of EndTxn that gives the producer its next epoch
TIMEOUT_MS = 30_000  # request.timeout.ms of brokers


class TransactionalProducer(NamedTuple):
    """The producer of a request about its transaction."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class Asked(NamedTuple):
    """One transaction of an AddPartitionsToTxn. verify_only: the partitions are not to
    join, but to have joined.
    """

    producer: TransactionalProducer
    verify_only: bool
    partitions: tuple[TopicPartition, ...]


Codes = dict[TopicPartition, Error]  # of each partition of a transaction


@dataclass(eq=False, repr=False)
class TransactionHandlers:
    """Handles requests about transactions."""

    image: Image
    config: BrokerConfig
    replicas: ReplicaManager
    groups: GroupCoordinator
    transactions: TransactionCoordinator
    forwarding: Forwarding
    storage_failed: Callable[[KafkaError], None]
    trace: Trace

    def refuse(self, request: Call, error: KafkaError) -> Answer:
        answer: Answer = {"error_code": said(request, error)}
        if request.api == "InitProducerId":
            answer["producer_epoch"] = -1
        return answer

    # -- of producers

    def init_producer_id(self, request: Call, now: Now) -> Answer | Wait:
        """InitProducerId (KIP-98): an identity for an idempotent producer, or for a
        transactional one.

        - Without a transactional id every call gives a new producer id with epoch 0,
          also when the client names an old one (KIP-360: that is for transactional
          producers).
        - With one its coordinator says which id and epoch, and fences the last holder.

        Versions: 0 to 5.

        - 2 is flexible.
        - 3 brings the id and epoch that the producer has.
        """
        body = request.body
        names_id, names_epoch = body.producer_id >= 0, body.producer_epoch >= 0
        if body.transactional_id == "" or names_id != names_epoch:
            raise KafkaError(Error.INVALID_REQUEST)
        if body.transactional_id is None:
            return self.init_idempotent(now)
        timeout_ms = body.transaction_timeout_ms
        if not 0 < timeout_ms <= self.config["transaction.max.timeout.ms"]:
            raise KafkaError(Error.INVALID_TRANSACTION_TIMEOUT)
        transactional_id = body.transactional_id
        producer_id = self.new_producer_id(transactional_id, now)
        if isinstance(producer_id, Wait):
            return producer_id
        expected = Identity(body.producer_id, body.producer_epoch) if names_id else None

        def decide(transactions: Any, _: Wait, now: Now) -> Decision:
            return transactions.init(
                transactional_id, timeout_ms, expected, producer_id, now
            )

        return self.transactions.ask(transactional_id, decide, now)

    def init_idempotent(self, now: Now) -> Answer | Wait:
        producer_id = self.forwarding.next_producer_id(now)
        if isinstance(producer_id, Wait):
            return producer_id
        if self.trace:
            self.trace.emit(
                "ProducerIdAssigned", producer_id=producer_id, producer_epoch=0
            )
        return {
            "error_code": Error.NONE,
            "producer_id": producer_id,
            "producer_epoch": 0,
        }

    def new_producer_id(self, transactional_id: str, now: Now) -> int | Wait:
        """It is asked for before the coordinator decides, if that may want one."""
        transactions = self.transactions.state(transactional_id)
        if not transactions.needs_producer_id(transactional_id):
            return NO_PRODUCER_ID
        return self.forwarding.next_producer_id(now)

    def add_partitions_to_txn(self, request: Call, now: Now) -> Answer | Wait:
        """AddPartitionsToTxn (KIP-98, KIP-890): all partitions of a transaction join
        it, or none.

        Versions: 0 to 5.

        - 3 is flexible.
        - 4 brings many transactions and verification.
        """
        transactions = asked_for(request)
        outcomes = [self.outcome_of(request, asked, now) for asked in transactions]

        def results() -> Answer:
            rows = []
            for asked, outcome in zip(transactions, outcomes, strict=True):
                codes = codes_of(request, asked, outcome)
                rows.append(joined_answer(asked, codes))
            if request.version < MANY:
                return {"results_by_topic_v3_and_below": rows[0]["topic_results"]}
            return {"results_by_transaction": rows}

        waits = [outcome for outcome in outcomes if isinstance(outcome, Wait)]
        return all_of(waits, results)

    def outcome_of(self, request: Call, asked: Asked, now: Now) -> Codes | Wait:
        """The results for one transaction's partitions, or a Wait for them."""
        if asked.verify_only:
            return {at: self.verified(asked, at) for at in asked.partitions}
        missing = []
        for at in asked.partitions:
            topic, number = at
            known = self.image.topics.get(topic)
            if known is None or number not in known.partitions:
                missing.append(at)
        if missing:
            codes = dict.fromkeys(asked.partitions, Error.OPERATION_NOT_ATTEMPTED)
            codes |= dict.fromkeys(missing, Error.UNKNOWN_TOPIC_OR_PARTITION)
            return codes
        version = V2 if request.version >= MANY else V0
        return self.joining(asked.producer, frozenset(asked.partitions), version, now)

    def verified(self, asked: Asked, partition: TopicPartition) -> Error:
        """Whether a partition has joined."""
        producer = asked.producer
        try:
            transactions = self.transactions.state(producer.transactional_id)
            transactions.verify(*producer, partition)
        except KafkaError as error:
            return error.error
        return Error.NONE

    def joining(
        self,
        producer: TransactionalProducer,
        partitions: frozenset[TopicPartition],
        version: int,
        now: Now,
    ) -> Wait:
        def decide(transactions: Any, _: Wait, now: Now) -> Decision:
            return transactions.add(producer, partitions, version, now)

        return self.transactions.ask(producer.transactional_id, decide, now)

    def add_offsets_to_txn(self, request: Call, now: Now) -> Wait:
        """AddOffsetsToTxn (KIP-98): a partition of group offsets joins, made or not.

        Versions: 0 to 4.

        - 3 is flexible.
        """
        producer = transactional_producer(request.body)
        place = (OFFSETS_TOPIC, self.groups.partition(request.body.group_id))
        return self.joining(producer, frozenset({place}), V0, now)

    def end_txn(self, request: Call, now: Now) -> Wait:
        """EndTxn (KIP-98): commit or abort; answered when that is decided, before the
        markers are written.

        Versions: 0 to 5.

        - 3 is flexible.
        - 5 is of transactions v2 (KIP-890).
        """
        producer = transactional_producer(request.body)
        transactional_id, committed = producer.transactional_id, request.body.committed
        version = V2 if request.version >= BUMPS else V0
        producer_id: int | Wait = NO_PRODUCER_ID
        if version == V2:
            producer_id = self.new_producer_id(transactional_id, now)
        if isinstance(producer_id, Wait):
            return producer_id

        def decide(transactions: Any, _: Wait, now: Now) -> Decision:
            return transactions.end(producer, committed, version, producer_id, now)

        return self.transactions.ask(transactional_id, decide, now)

    # -- of coordinators

    def write_txn_markers(self, request: Call, now: Now) -> Answer | Wait:
        """WriteTxnMarkers (KIP-98): the transaction coordinator has decided, and asks
        the leaders of all partitions of the transaction to write so; an administrator
        asks one leader, to abort a transaction that no coordinator knows any more
        (KIP-664).

        - A marker is written once the leader has found its epochs to be current, and
          answered when all in-sync replicas have it.
        - The coordinator asks again until each partition has its marker, so one may
          come twice.

        Versions: 1 to 2.

        - 2 brings the transaction's version (KIP-1228).
        """
        written: list[Answer] = []
        pending: list[Promise] = []
        highest = self.highest_coordinator_epoch()
        for each in request.body.markers:
            marker = Marker(
                each.producer_id,
                each.producer_epoch,
                each.transaction_result,
                each.coordinator_epoch,
                each.transaction_version,
            )
            results = []
            for topic in each.topics:
                for number in topic.partition_indexes:
                    answer = {"partition_index": number, "error_code": Error.NONE}
                    results.append((topic.name, answer))
                    kept = self.write(topic.name, marker, highest, answer, now)
                    if kept is not None:
                        pending.append(kept)
            written.append({"producer_id": each.producer_id, "topics": nested(results)})
        whole: Answer = {"markers": written}
        if not pending:
            return whole
        deadline_ms = now.monotonic_ms + TIMEOUT_MS
        return replicated(pending, deadline_ms, tell_nobody, lambda: whole)

    def write(
        self,
        topic: str,
        marker: Marker,
        highest_coordinator_epoch: int | None,
        answer: Answer,
        now: Now,
    ) -> Promise | None:
        """Write a marker into a partition. Returns what must become true before that is
        answered, or None if it failed; then the error is in the answer.
        """
        number = answer["partition_index"]
        try:
            if self.replicas.find_or_create(topic, number) is None:
                raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
            replica = self.replicas.leader(topic, number)
            check_coordinator_epoch(replica, marker, highest_coordinator_epoch)
            if topic == OFFSETS_TOPIC:
                # what was committed for groups is for their coordinator to know
                appended = self.groups.end_transaction(number, marker, now)
            else:
                appended = replica.append_marker(marker, now)
        except KafkaError as error:
            answer["error_code"] = error.error
            if error.error is Error.KAFKA_STORAGE_ERROR:
                self.storage_failed(error)
            return None
        return Promise(
            replica,
            leader_epoch=replica.leader_epoch,
            next_offset=appended.last_offset + 1,
            answer=answer,
            refuse=refused_marker,
        )

    def highest_coordinator_epoch(self) -> int | None:
        """A coordinator's epoch is the leader epoch of a partition of
        `__transaction_state`: no higher epoch is believed until this node learns of it.
        None: there are no coordinators yet, and any epoch in an administrator's request
        is accepted.
        """
        topic = self.transactions.topic
        if topic is None:
            return None
        return max(partition.leader_epoch for partition in topic.partitions.values())

    # -- of administrators

    def describe_transactions(self, request: Call, now: Now) -> Answer:
        """DescribeTransactions (KIP-664): what their coordinator knows of transactions.

        Version: 0.
        """

        def named(transactional_id: str) -> Answer:
            return {"transactional_id": transactional_id}

        def shown(transactional_id: str) -> Answer:
            transactions = self.transactions.state(transactional_id)
            return transactions.describe(transactional_id)

        names = limit_repeats(request.body.transactional_ids)
        return {"transaction_states": results_of(names, named, shown)}

    def list_transactions(self, request: Call, now: Now) -> Answer:
        """ListTransactions (KIP-664, KIP-994, KIP-1152): those that this broker
        coordinates.

        Versions: 0 to 2.

        - 1 filters by duration.
        - 2 filters by pattern.
        """
        loaded = self.transactions.loaded()
        pattern = None
        if request.body.transactional_id_pattern:
            pattern = NeededOnce(request.body.transactional_id_pattern)
        found = []
        for transactions in loaded:
            found += transactions.listed(request.body, pattern, now)
        known = {status.word for status in Status}
        unknown = set(request.body.state_filters) - known
        return {
            "error_code": Error.NONE,
            "unknown_state_filters": sorted(unknown),
            "transaction_states": found,
        }

    def describe_producers(self, request: Call, now: Now) -> Answer:
        """DescribeProducers (KIP-664): the producers that a replica remembers, leader
        or not.

        Version: 0.
        """

        def named(number: int) -> Answer:
            return {"partition_index": number}

        def remembered(topic: Any, number: int) -> Answer:
            controller.check_topic_name(topic.name)
            replica = self.replicas.leader(topic.name, number, or_follower=True)
            producers = replica.log.producers.producers
            return {
                "active_producers": [described(*each) for each in producers.items()]
            }

        for topic in request.body.topics:
            topic.partition_indexes = limit_repeats(topic.partition_indexes)
        topics = limit_repeats(request.body.topics, lambda topic: topic.name)
        answers = results_by_topic(
            topics,
            "name",
            named,
            remembered,
            say_why=True,
            partitions="partition_indexes",
        )
        return {"topics": answers}


def said(request: Call, error: KafkaError) -> Error:
    """The error as this version of the API knows it."""
    is_fenced = error.error is Error.PRODUCER_FENCED
    if is_fenced and request.version < KNOWS_FENCED[request.api]:
        return Error.INVALID_PRODUCER_EPOCH
    return error.error


def codes_of(request: Call, asked: Asked, outcome: Codes | Wait) -> Codes:
    """The error code of each partition of a transaction, now that it is known."""
    if not isinstance(outcome, Wait):
        return outcome
    code = Error.NONE
    if outcome.error is not None:
        code = said(request, outcome.error)
    return dict.fromkeys(asked.partitions, code)


def joined_answer(asked: Asked, codes: Codes) -> Answer:
    parts = []
    for at in asked.partitions:
        topic, number = at
        part = {"partition_index": number, "partition_error_code": codes[at]}
        parts.append((topic, part))
    return {
        "transactional_id": asked.producer.transactional_id,
        "topic_results": nested(parts, "name", "results_by_partition"),
    }


def asked_for(request: Call) -> list[Asked]:
    """The transactions of an AddPartitionsToTxn."""
    body = request.body
    if request.version < MANY:
        producer = TransactionalProducer(
            body.v3_and_below_transactional_id,
            body.v3_and_below_producer_id,
            body.v3_and_below_producer_epoch,
        )
        partitions = places_in(body.v3_and_below_topics)
        return [Asked(producer, verify_only=False, partitions=partitions)]
    found = []
    for each in body.transactions:
        producer = transactional_producer(each)
        found.append(Asked(producer, each.verify_only, places_in(each.topics)))
    return found


def transactional_producer(named: Any) -> TransactionalProducer:
    return TransactionalProducer(
        named.transactional_id, named.producer_id, named.producer_epoch
    )


def places_in(topics: Any) -> tuple[TopicPartition, ...]:
    """The partitions that are named, each once."""
    places: list[TopicPartition] = []
    for topic in topics:
        places += [(topic.name, number) for number in topic.partitions]
    return tuple(dict.fromkeys(places))


def tell_nobody(replica: Replica, last_offset: int, answer: Answer) -> None:
    """A marker is no record of a producer."""


def refused_marker(error: KafkaError) -> Answer:
    return {"error_code": error.error}


def check_coordinator_epoch(
    replica: Replica, marker: Marker, highest: int | None
) -> None:
    """A marker whose coordinator's epoch none of them has come to is refused: were it
    kept, no coordinator could ever end that producer's transactions again. (Apache
    Kafka believes it.) Errors: UNKNOWN_LEADER_EPOCH, INVALID_REQUEST.
    """
    if marker.producer_id < 0 or marker.producer_epoch < 0:
        raise KafkaError(Error.INVALID_REQUEST)
    if marker.coordinator_epoch < -1:
        raise KafkaError(Error.INVALID_REQUEST)
    if highest is not None:
        if marker.coordinator_epoch > highest:
            raise KafkaError(Error.UNKNOWN_LEADER_EPOCH)
        replica.log.producers.forget_coordinator(marker.producer_id, highest)


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
