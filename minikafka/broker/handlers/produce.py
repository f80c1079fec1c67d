"""Produce (KIP-98, KIP-360): append record batches to partitions.

Behaviour:

- acks=0 gets no answer (an error closes the connection, which is how the client learns
  of it), acks=1 is answered when the leader has written, acks=all when all in-sync
  replicas have, min.insync.replicas at least; a batch that is there already waits like a
  new one. While it waits the connection's next request is served, where Apache Kafka
  reads no further: a producer's requests in flight are replicated together, and answered
  in their order.
- Nothing is synced to disk before the answer, as in Apache Kafka.
- A batch is appended as it came: only its base offset, its leader epoch and, for
  LogAppendTime, its timestamps are stamped; it is recompressed if the topic's
  compression.type names another codec than the producer chose.
- The checks are those of Kafka's that the batch header can show
  (cluster/validation.py). So a wrong record within a batch whose CRC is right, or a
  timestamp that is too early and not the batch's first, is accepted here and refused by
  Apache Kafka.
- More records than one request may make the broker look at are refused with
  MESSAGE_TOO_LARGE, on which the Java client sends smaller batches.

Versions: 3 to 13.

- 3 is the first with record batches v2; 0 is advertised all the same, because older
  librdkafka stops compressing when it sees that 0 is missing.
- 7 allows zstd (KIP-110).
- 8 adds error messages (KIP-467).
- 9 is flexible.
- 10 names the leader to one who asks the wrong node (KIP-951).
- Since 11 a producer may be told to abort its transaction, since 12 partitions join it
  of themselves (KIP-890).
- 13 names topics by id (KIP-516).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from minikafka.broker.calls import Call, Disconnect, Served
from minikafka.broker.handlers.leaders import current_leader, leaders_named
from minikafka.broker.replica_manager import ReplicaManager
from minikafka.broker.throttling import Throttling
from minikafka.clock import Now
from minikafka.cluster import replica_events
from minikafka.cluster.metadata import INTERNAL_TOPICS, Image
from minikafka.cluster.promises import Promise, replicated
from minikafka.cluster.quotas import PRODUCE
from minikafka.cluster.replica import Replica
from minikafka.cluster.validation import RefusedRecords, check_batch, check_size
from minikafka.cluster.waiting import Answer
from minikafka.coordinators.transaction_requests import (
    Identity,
    TransactionVerifier,
    Verification,
)
from minikafka.storage.log import Appended, Log
from minikafka.trace import Trace
from minikafka.wire.errors import CorruptRecord, Error, KafkaError
from minikafka.wire.primitives import Buffer
from minikafka.wire.records import (
    BATCH_OVERHEAD,
    BatchHeader,
    read_header,
    recompressed,
)
from minikafka.wire.unpacking import Allowance

ALL, NONE = -1, 0
# the first version with each of these
ZSTD = 7
CURRENT_LEADERS = 10
TRANSACTION_ABORTABLE = 11
IMPLICIT_JOIN = 12
TOPIC_IDS = 13
# the one client that Apache Kafka lets write to internal topics
ADMIN_CLIENT_ID = "__admin_client"
MAX_RECORDS = 50_000  # looked at in one request: about a tenth of a second


@dataclass(eq=False, repr=False)
class ProduceHandlers:
    """Handles Produce: appends the batches of producers."""

    image: Image
    replicas: ReplicaManager
    verifier: TransactionVerifier
    throttling: Throttling
    storage_failed: Callable[[KafkaError], None]
    trace: Trace

    def produce(self, request: Call, now: Now) -> Served:
        body = request.body
        verification = None
        if body.transactional_id is not None:
            verification = self.verified(request, now)
        if verification is not None and verification.wait is not None:
            resume = partial(self.append_all, request, verification)
            return verification.wait.go_on_with(resume)
        return self.append_all(request, verification, now)

    def append_all(
        self, request: Call, verification: Verification | None, now: Now
    ) -> Served:
        """Append to each partition. verification: of those in a transaction, if there
        are any, and it has ended.
        """
        body = request.body
        producing = Producing(self, request, verification, now)
        topics = []
        for topic in body.topic_data:
            name = self.name_of(request, topic)
            partitions = []
            for partition in topic.partition_data:
                partitions.append(producing.partition(name, partition))
            answer = {"name": name, "partition_responses": partitions}
            if request.version >= TOPIC_IDS:
                answer["topic_id"] = topic.topic_id
            topics.append(answer)
        if body.acks == NONE:
            request.began_ns = None  # its time doesn't count, as in Apache Kafka
            self.throttling.throttle(request, PRODUCE, request.size_bytes)
            if not producing.failed:
                return None
            error = Error(producing.failed).name
            return Disconnect(f"produced with acks=0 and failed with {error}")
        whole = partial(self.whole_answer, request, topics)
        if not producing.pending:
            return whole()
        # what is in the log needn't be in memory for as long as the answer waits
        body.topic_data.clear()
        deadline_ms = now.monotonic_ms + body.timeout_ms
        wait = replicated(producing.pending, deadline_ms, tell, whole)
        wait.allows_pipelining = True
        return wait

    def name_of(self, request: Call, topic: Any) -> str | None:
        """None: a topic id that nobody knows."""
        if request.version < TOPIC_IDS:
            return topic.name
        return self.image.topic_names.get(topic.topic_id)

    def verified(self, request: Call, now: Now) -> Verification | None:
        """In a transaction: ask its coordinator about the partitions in which it begins
        (KIP-890). Errors in a batch are reported when it is appended.
        """
        logs = {}
        producer = None
        for topic in request.body.topic_data:
            name = self.name_of(request, topic)
            if name is None:
                continue
            for partition in topic.partition_data:
                try:
                    batch = only_batch(partition.records, request.version)
                    if not batch.transactional:
                        continue
                    replica = self.replicas.leader(name, partition.index)
                except KafkaError:
                    continue
                logs[name, partition.index] = replica.log.producers
                producer = Identity(batch.producer_id, batch.producer_epoch)
        if producer is None:
            return None
        return self.verifier.begin(
            request.body.transactional_id,
            producer,
            logs,
            adds=request.version >= IMPLICIT_JOIN,
            knows_abortable=request.version >= TRANSACTION_ABORTABLE,
            now=now,
        )

    def whole_answer(self, request: Call, topics: list[Answer]) -> Answer:
        """The whole answer, with the leaders of the partitions that this node does not
        lead, and for how long the client is throttled.
        """
        throttle_ms = self.throttling.throttle(request, PRODUCE, request.size_bytes)
        whole: Answer = {"responses": topics, "throttle_time_ms": throttle_ms}
        if request.version < CURRENT_LEADERS:
            return whole
        astray = []
        for topic in topics:
            for answer in topic["partition_responses"]:
                if answer["error_code"] != Error.NOT_LEADER_OR_FOLLOWER:
                    continue
                astray.append(answer)
                name = topic["name"]
                if name in self.image.topics:
                    answer["current_leader"] = current_leader(
                        self.image, name, answer["index"]
                    )
        if astray:
            whole["node_endpoints"] = leaders_named(self.image, request, astray)
        return whole


class Placed(NamedTuple):
    """Where a partition's batch is in the log. append_time_ms: -1 if the producer
    stamped the records; for a batch that was there already its timestamp, no matter who
    stamped it, as in Apache Kafka.
    """

    replica: Replica
    appended: Appended
    append_time_ms: int


@dataclass(eq=False, repr=False)
class Producing:
    """One Produce. pending: what must become true before it is answered. failed: the
    first error of a partition, 0 without one.
    """

    handlers: "ProduceHandlers"
    request: Call
    verification: Verification | None
    now: Now
    allowance: Allowance = field(
        default_factory=lambda: Allowance(records=MAX_RECORDS),
    )
    pending: list[Promise] = field(default_factory=list)
    failed: int = 0

    def partition(self, topic: str | None, partition: Any) -> Answer:
        """Append to one partition: its answer's fields."""
        try:
            placed = append(self, topic, partition)
        except KafkaError as error:
            self.failed = self.failed or error.error
            self._tell_refusal(topic, partition, error)
            if error.error is Error.KAFKA_STORAGE_ERROR:
                self.handlers.storage_failed(error)
            return refusal(partition.index, error)
        replica, appended, append_time_ms = placed
        answer = {
            "index": partition.index,
            "error_code": Error.NONE,
            "base_offset": appended.base_offset,
            "log_append_time_ms": append_time_ms,
            "log_start_offset": replica.log.log_start_offset,
        }
        acks = self.request.body.acks
        if acks == ALL and replica.high_watermark <= appended.last_offset:
            promise = Promise(
                replica,
                leader_epoch=replica.leader_epoch,
                next_offset=appended.last_offset + 1,
                answer=answer,
                refuse=partial(refusal, partition.index),
            )
            self.pending.append(promise)
        elif acks != NONE:
            tell(replica, appended.last_offset, answer)
        return answer

    def _tell_refusal(
        self, topic: str | None, partition: Any, error: KafkaError
    ) -> None:
        if self.handlers.trace:
            self.handlers.trace.emit(
                "BatchRefused",
                topic=topic,
                partition=partition.index,
                error=error.error.name,
                message=error.message,
            )


def tell(replica: Replica, last_offset: int, answer: Answer) -> None:
    """Tell the trace the producer's answer, if more than this node knows the
    records.
    """
    if replica.log.trace and replica_events.is_followed(replica.partition):
        error = Error(answer["error_code"]).name
        replica.log.tell("ProduceAnswered", last_offset=last_offset, error=error)


def append(producing: Producing, topic: str | None, partition: Any) -> Placed:
    """Check and append one partition's batch. A batch that is there already (same
    producer, same sequence) is not appended again.
    """
    request, now = producing.request, producing.now
    topic = checked_topic(request, topic)
    batch = only_batch(partition.records, request.version)
    if batch.transactional and request.body.transactional_id is None:
        raise KafkaError(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    replica = producing.handlers.replicas.leader(topic, partition.index)
    if request.body.acks == ALL and not replica.enough_in_sync:
        raise KafkaError(Error.NOT_ENOUGH_REPLICAS)
    log = replica.log
    check_batch(log, batch, partition.records, now, producing.allowance)
    if batch.transactional and producing.verification is not None:
        at = topic, partition.index
        producer = Identity(batch.producer_id, batch.producer_epoch)
        producing.verification.check(at, producer, log.producers)
    duplicate = log.producers.check(batch) if batch.producer_id >= 0 else None
    if duplicate is not None:
        if log.trace:
            log.tell(
                "DuplicateRecognized",
                base_offset=duplicate.base_offset,
                last_offset=duplicate.last_offset,
            )
        return Placed(replica, duplicate, duplicate.max_timestamp)
    records = partition.records
    if log.config.compression_type not in ("producer", batch.compression):
        records, batch = repacked(log, batch, records, producing.allowance)
    appended = replica.append(records, [batch], now)
    append_time_ms = -1
    if log.config.message_timestamp_type == "LogAppendTime":
        append_time_ms = now.wall_ms
    return Placed(replica, appended, append_time_ms)


def checked_topic(request: Call, topic: str | None) -> str:
    """The topic's name. Errors: those that don't depend on the batches."""
    if request.body.acks not in (ALL, NONE, 1):
        raise KafkaError(Error.INVALID_REQUIRED_ACKS)
    if topic is None:
        raise KafkaError(Error.UNKNOWN_TOPIC_ID)
    if topic in INTERNAL_TOPICS and request.client.client_id != ADMIN_CLIENT_ID:
        raise KafkaError(Error.INVALID_TOPIC_EXCEPTION)
    return topic


def repacked(
    log: Log, batch: BatchHeader, records: Buffer, allowance: Allowance
) -> tuple[Buffer, BatchHeader]:
    """The batch as compression.type wants it; then its records are decoded, one by
    one.
    """
    config = log.config
    codec, level = config.compression_type, None
    if codec == "uncompressed":
        codec = "none"
    elif codec == "gzip":
        level = config.compression_gzip_level
    elif codec == "zstd":
        level = config.compression_zstd_level
    if codec == batch.compression:
        return records, batch
    try:
        records = bytearray(recompressed(records, codec, level, allowance))
    except CorruptRecord as error:  # whose code would make the client try again
        raise KafkaError(Error.INVALID_RECORD, error.message) from error
    batch = read_header(records)
    check_size(log, batch)
    return records, batch


def only_batch(records: memoryview | None, version: int) -> BatchHeader:
    """Since Produce 3 a partition's records are exactly one batch, of magic 2."""
    requests = f"Produce requests with version {version}"
    if records is None or len(records) < BATCH_OVERHEAD:
        why = f"{requests} must have at least one record batch"
        raise KafkaError(Error.INVALID_RECORD, why)
    batch = read_header(records)
    if batch.size_bytes != len(records):
        why = f"{requests} are only allowed to contain exactly one record batch"
        raise KafkaError(Error.INVALID_RECORD, why)
    if batch.compression == "zstd" and version < ZSTD:
        why = f"{requests} are not allowed to use ZStandard compression"
        raise KafkaError(Error.UNSUPPORTED_COMPRESSION_TYPE, why)
    return batch


def refusal(index: int, error: KafkaError) -> Answer:
    """The answer for a partition that was not appended to."""
    record_errors = []
    if isinstance(error, RefusedRecords):
        for at, why in error.blamed.items():
            blamed = {"batch_index": at, "batch_index_error_message": why}
            record_errors.append(blamed)
    return {
        "index": index,
        "error_code": error.error,
        "base_offset": -1,
        "log_append_time_ms": -1,
        "log_start_offset": -1,
        "record_errors": record_errors,
        "error_message": error.message,
    }
