"""Produce (KIP-98, KIP-360): append record batches to partitions.

Behaviour: acks=0 gets no answer (an error closes the connection, which is how the
client learns of it), acks=1 is answered when the leader has written, acks=all when all
in-sync replicas have, min.insync.replicas at least; a batch that is there already waits
like a new one. While it waits the connection's next request is served, where Apache
Kafka reads no further: a producer's requests in flight are replicated together, and
answered in their order. Nothing is synced to disk before the answer, as in Apache
Kafka. A batch is appended as it came: only its base offset, its leader epoch and, for
LogAppendTime, its timestamps are stamped; it is compressed anew where the topic's
compression.type names another codec than the producer chose. The checks are those of
Kafka's that the batch header can show (cluster/validation.py). So a wrong record within
a batch whose CRC is right, or a timestamp that is too early and not the batch's first,
is accepted here and refused by Apache Kafka; and so are more records than one request
may make the broker look at: MESSAGE_TOO_LARGE, on which the Java client sends smaller
batches. Versions: 3 is the first with record batches v2; 0 is advertised all the same,
because older librdkafka stops compressing when it sees that 0 is missing. 7 allows zstd
(KIP-110), 8 adds error messages (KIP-467), 9 is flexible, 10 names the leader to one
who asks the wrong node (KIP-951); since 11 a producer may be told to abort its
transaction, since 12 partitions join it of themselves (KIP-890); 13 names topics by id
(KIP-516).
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from minikafka.broker.calls import Broker, Call
from minikafka.broker.handlers.fetch import current_leader, leaders_named
from minikafka.clock import Now
from minikafka.cluster import telling
from minikafka.cluster.metadata import INTERNAL_TOPICS
from minikafka.cluster.replica import Replica
from minikafka.cluster.validation import RefusedRecords, check_batch, check_size
from minikafka.cluster.waiting import Answer, Wait
from minikafka.storage.log import Appended, Log
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
# From which versions on: the answer names leaders; transactions may be refused so;
# partitions join them of themselves; topics are named by id.
CURRENT_LEADERS, TRANSACTION_ABORTABLE, IMPLICIT_JOIN, TOPIC_IDS = 10, 11, 12, 13
# the one client that Apache Kafka lets write to internal topics
ADMIN_CLIENT_ID = "__admin_client"
MAX_RECORDS = 50_000  # looked at in one request: about a tenth of a second


def handle(broker: Broker, request: Call, now: Now) -> Answer | Wait | None:
    body = request.body
    joining = (
        join_first(broker, request, now) if body.transactional_id is not None else None
    )
    if joining is not None:
        return joining
    topics, pending = [], []
    allowance = Allowance(records=MAX_RECORDS)
    failed = None
    for topic in body.topic_data:
        partitions = []
        name = name_of(broker, request, topic)
        for partition in topic.partition_data:
            answer, promised = produce(broker, request, name, partition, now, allowance)
            failed = failed or answer["error_code"]
            partitions.append(answer)
            if promised is not None:
                pending.append(promised)
        named = {"topic_id": topic.topic_id} if request.version >= TOPIC_IDS else {}
        topics.append({"name": name, "partition_responses": partitions} | named)
    if body.acks == NONE:
        return (
            {"close": f"produced with acks=0 and failed with {Error(failed).name}"}
            if failed
            else None
        )
    if not pending:
        return answered(broker, request, topics)
    # what is in the log needn't be in memory for as long as the answer waits
    body.topic_data.clear()
    wait = replicated(
        pending,
        now.monotonic_ms + body.timeout_ms,
        tell,
        lambda: answered(broker, request, topics),
    )
    wait.lets_in = True
    return wait


def name_of(broker: Broker, request: Call, topic: Any) -> str | None:
    return (
        broker.image.topic_names.get(topic.topic_id)
        if request.version >= TOPIC_IDS
        else topic.name
    )


def join_first(broker: Broker, request: Call, now: Now) -> Wait | None:
    """In a transaction: its coordinator is asked for the partitions where it begins
    (KIP-890). What is wrong with a batch is said when it is appended.
    """
    body, logs, producer = request.body, {}, None
    for topic in body.topic_data:
        for partition in topic.partition_data:
            name = name_of(broker, request, topic)
            try:
                batch = only_batch(partition.records, request.version)
                if batch.transactional and name is not None:
                    logs[name, partition.index] = broker.replicas.leader(
                        name, partition.index
                    ).log.producers
                    producer = batch.producer_id, batch.producer_epoch
            except KafkaError:
                continue
    if producer is None:
        return None
    adds, knows_abortable = (
        request.version >= IMPLICIT_JOIN,
        request.version >= TRANSACTION_ABORTABLE,
    )
    return broker.joins.before_appending(
        body, producer, logs, adds, knows_abortable, now
    )


def answered(broker: Broker, request: Call, topics: list[Answer]) -> Answer:
    """The whole answer, with the leaders of the partitions that this node does not
    lead.
    """
    answers = [
        (topic["name"], answer)
        for topic in topics
        for answer in topic["partition_responses"]
    ]
    astray = [
        each
        for each in answers
        if each[1]["error_code"] == Error.NOT_LEADER_OR_FOLLOWER
    ]
    if not astray or request.version < CURRENT_LEADERS:
        return {"responses": topics}
    for name, answer in astray:
        if name in broker.image.topics:
            answer["current_leader"] = current_leader(broker, name, answer["index"])
    return {
        "responses": topics,
        "node_endpoints": leaders_named(
            broker, request, (answer for _, answer in astray)
        ),
    }


class Promise(NamedTuple):
    """acks=all: the records of one partition's answer, up to this offset, are to be on
    all in-sync replicas first.
    """

    replica: Replica
    leader_epoch: int
    next_offset: int
    answer: Answer
    refuse: Callable[[KafkaError], Answer]  # the fields of the answer if that fails

    def end_if_decided(self) -> bool:
        """Look whether the records are committed, or can't be by this leader any more:
        what went wrong is written into the answer. False: it goes on waiting.
        """
        if self.replica.leader_epoch != self.leader_epoch or not self.replica.is_leader:
            self.break_(Error.NOT_LEADER_OR_FOLLOWER)
        elif self.replica.high_watermark < self.next_offset:
            return False
        elif not self.replica.enough_in_sync:
            self.break_(Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        return True

    def break_(self, error: Error) -> None:
        self.answer.update(self.refuse(KafkaError(error)))


def replicated(
    pending: list[Promise],
    deadline_ms: int,
    tell: Callable[[Replica, int, Answer], None],
    answer: Callable[[], Answer],
) -> Wait:
    """The answer waits until the high watermarks have passed what was appended; at the
    deadline the others hear REQUEST_TIMED_OUT, though their records may still come to
    count. tell: hears of each promise's end.
    """

    def attempt(wait: Wait, now: Now, expired: bool) -> Answer | None:
        still = []
        for promise in pending:
            if not promise.end_if_decided():
                if not expired:
                    still.append(promise)
                    continue
                promise.break_(Error.REQUEST_TIMED_OUT)
            tell(promise.replica, promise.next_offset - 1, promise.answer)
        pending[:] = still
        return None if pending else answer()

    logs = [promise.replica.log for promise in pending]
    return Wait(
        [("high_watermark", log.topic, log.partition) for log in logs],
        deadline_ms,
        attempt,
    )


def produce(
    broker: Broker,
    request: Call,
    topic: str | None,
    partition: Any,
    now: Now,
    allowance: Allowance,
) -> tuple[Answer, Promise | None]:
    """One partition of a request: its answer's fields, and what must become true before
    they are.
    """
    try:
        replica, appended, append_time_ms = append(
            broker, request, topic, partition, now, allowance
        )
    except KafkaError as error:
        if broker.trace:
            refused: dict[str, Any] = {
                "error": error.error.name,
                "message": error.message,
            }
            broker.trace.emit(
                "BatchRefused", topic=topic, partition=partition.index, **refused
            )
        if error.error is Error.KAFKA_STORAGE_ERROR:
            broker.storage_failed(error)
        return refusal(partition.index, error), None
    answer = {
        "index": partition.index,
        "error_code": Error.NONE,
        "base_offset": appended.base_offset,
        "log_append_time_ms": append_time_ms,
        "log_start_offset": replica.log.log_start_offset,
    }
    if request.body.acks != ALL or replica.high_watermark > appended.last_offset:
        if request.body.acks != NONE:
            tell(replica, appended.last_offset, answer)
        return answer, None
    refuse = partial(refusal, partition.index)
    return answer, Promise(
        replica, replica.leader_epoch, appended.last_offset + 1, answer, refuse
    )


def tell(replica: Replica, last_offset: int, answer: Answer) -> None:
    """What the producer of these records hears, where more than this node knows
    them.
    """
    if replica.log.trace and telling.is_followed(replica):
        error = Error(answer["error_code"]).name
        replica.log.tell("ProduceAnswered", last_offset=last_offset, error=error)


def append(
    broker: Broker,
    request: Call,
    topic: str | None,
    partition: Any,
    now: Now,
    allowance: Allowance,
) -> tuple[Replica, Appended, int]:
    """Check and append one partition's batch. A batch that is there already (same
    producer, same sequence) is not appended again. Returns the log append time, too: -1
    if the producer stamped the records; for a batch that is there already its
    timestamp, whoever stamped it, as Apache Kafka does.
    """
    acks = request.body.acks
    if acks not in (ALL, NONE, 1):
        raise KafkaError(Error.INVALID_REQUIRED_ACKS)
    if topic is None:
        raise KafkaError(Error.UNKNOWN_TOPIC_ID)
    if topic in INTERNAL_TOPICS and request.client.client_id != ADMIN_CLIENT_ID:
        raise KafkaError(Error.INVALID_TOPIC_EXCEPTION)
    batch = only_batch(partition.records, request.version)
    if batch.transactional and request.body.transactional_id is None:
        raise KafkaError(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    replica = broker.replicas.leader(topic, partition.index)
    if acks == ALL and not replica.enough_in_sync:
        raise KafkaError(Error.NOT_ENOUGH_REPLICAS)
    check_batch(replica.log, batch, partition.records, now, allowance)
    if batch.transactional:
        producer = batch.producer_id, batch.producer_epoch
        broker.joins.check(
            request.body, (topic, partition.index), producer, replica.log.producers
        )
    duplicate = replica.log.producers.check(batch) if batch.producer_id >= 0 else None
    if duplicate is not None:
        if broker.trace:
            offsets: dict[str, Any] = {
                "base_offset": duplicate.base_offset,
                "last_offset": duplicate.last_offset,
            }
            broker.trace.emit(
                "DuplicateRecognized", topic=topic, partition=partition.index, **offsets
            )
        return replica, duplicate, duplicate.max_timestamp
    records = partition.records
    if replica.log.config.compression_type not in ("producer", batch.compression):
        records, batch = repacked(replica.log, batch, records, allowance)
    appended = replica.append(records, [batch], now)
    stamped = replica.log.config.message_timestamp_type == "LogAppendTime"
    return replica, appended, now.wall_ms if stamped else -1


def repacked(
    log: Log, batch: BatchHeader, records: Buffer, allowance: Allowance
) -> tuple[Buffer, BatchHeader]:
    """The batch as compression.type wants it; then its records are decoded, one by
    one.
    """
    config = log.config
    codec = (
        "none" if config.compression_type == "uncompressed" else config.compression_type
    )
    if codec == batch.compression:
        return records, batch
    levels = {
        "gzip": config.compression_gzip_level,
        "zstd": config.compression_zstd_level,
    }
    try:
        records = bytearray(recompressed(records, codec, levels.get(codec), allowance))
    except CorruptRecord as error:  # whose code would make the client try again
        raise KafkaError(Error.INVALID_RECORD, error.message) from error
    batch = read_header(records)
    check_size(log, batch)
    return records, batch


def only_batch(records: memoryview | None, version: int) -> BatchHeader:
    """Since Produce 3 a partition's records are exactly one batch, of magic 2."""
    if records is None or len(records) < BATCH_OVERHEAD:
        why = (
            f"Produce requests with version {version} must have at least one record"
            " batch"
        )
        raise KafkaError(Error.INVALID_RECORD, why)
    batch = read_header(records)
    if batch.size_bytes != len(records):
        why = (
            f"Produce requests with version {version} are only allowed to contain"
            " exactly one record batch"
        )
        raise KafkaError(Error.INVALID_RECORD, why)
    if batch.compression == "zstd" and version < 7:
        why = (
            f"Produce requests with version {version} are not allowed to use ZStandard"
            " compression"
        )
        raise KafkaError(Error.UNSUPPORTED_COMPRESSION_TYPE, why)
    return batch


def refusal(index: int, error: KafkaError) -> Answer:
    """What Kafka answers for a partition that was not appended to."""
    blamed = error.blamed if isinstance(error, RefusedRecords) else {}
    return {
        "index": index,
        "error_code": error.error,
        "base_offset": -1,
        "log_append_time_ms": -1,
        "log_start_offset": -1,
        "record_errors": [
            {"batch_index": at, "batch_index_error_message": why}
            for at, why in blamed.items()
        ],
        "error_message": error.message,
    }
