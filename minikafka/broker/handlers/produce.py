"""Produce (KIP-98, KIP-360): append record batches to partitions.

Behaviour: acks=0 gets no answer (an error closes the connection, which is how the client learns of it), acks=1 and
acks=all are answered when the leader has written, acks=all also needs min.insync.replicas in sync. Nothing is synced
to disk before the answer, as in Apache Kafka. A batch is appended as it came: only its base offset, its leader epoch
and, for LogAppendTime, its timestamps are stamped. The checks are those of Kafka's that the batch header can show
(`check_batch`); records inside are looked at only for a compacted topic, where each needs a key, or to say which of
them have a timestamp out of bounds (`check_records`). So a wrong record within a batch whose CRC is right, or a
timestamp that is too early and not the batch's first, is accepted here and refused by Apache Kafka. Of one request so
many records and bytes are looked at, and no more: MESSAGE_TOO_LARGE, on which the Java client sends smaller batches.
Versions: 3 is the first with record batches v2; 0 is advertised all the same, because older librdkafka stops
compressing when it sees that 0 is missing. 7 allows zstd (KIP-110), 8 adds error messages (KIP-467), 9 is flexible.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from minikafka.cluster.metadata import INTERNAL_TOPICS
from minikafka.storage.log import Appended
from minikafka.wire.errors import CorruptRecord, Error, KafkaError
from minikafka.wire.records import BATCH_OVERHEAD, BatchHeader, crc_matches, raw_records, read_header
from minikafka.wire.unpacking import Allowance, TooMuchToDecode

if TYPE_CHECKING:
    from minikafka.broker.broker import Broker, Call, Now
    from minikafka.cluster.replica import Replica

KEY, VERSIONS = 0, (3, 9)

ALL, NONE = -1, 0
ADMIN_CLIENT_ID = "__admin_client"  # the one client that Apache Kafka lets write to internal topics
MAX_RECORDS = 50_000  # looked at in one request: about a tenth of a second
MAX_BLAMED = 1000  # by name, of the records of a batch
TRACED_RECORDS = 50
NO_TIMESTAMP = -1
ANY_TIME = -(1 << 63), (1 << 63) - 1


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | None:
    body = request.body
    topics = []
    allowance = Allowance(records=MAX_RECORDS)
    failed = None
    for topic in body.topic_data:
        partitions = []
        for partition in topic.partition_data:
            answer = produce(broker, request, topic.name, partition, now, allowance)
            failed = failed or answer["error_code"]
            partitions.append(answer)
        topics.append({"name": topic.name, "partition_responses": partitions})
    if body.acks == NONE:
        return {"close": f"produced with acks=0 and failed with {Error(failed).name}"} if failed else None
    return {"responses": topics}


def produce(
    broker: Broker, request: Call, topic: str, partition: Any, now: Now, allowance: Allowance
) -> dict[str, Any]:
    """One partition of a request: its answer's fields."""
    try:
        replica, appended, append_time_ms = append(broker, request, topic, partition, now, allowance)
    except KafkaError as error:
        if broker.trace:
            why = {"topic": topic, "partition": partition.index, "error": error.error.name, "why": error.message}
            broker.trace.emit("BatchRefused", **why)
        if error.error is Error.KAFKA_STORAGE_ERROR:
            broker.storage_failed(error)
        return refusal(partition.index, error)
    return {
        "index": partition.index,
        "error_code": Error.NONE,
        "base_offset": appended.base_offset,
        "log_append_time_ms": append_time_ms,
        "log_start_offset": replica.log.log_start_offset,
    }


def append(
    broker: Broker, request: Call, topic: str, partition: Any, now: Now, allowance: Allowance
) -> tuple[Replica, Appended, int]:
    """Check and append one partition's batch. A batch that is there already (same producer, same sequence) is not
    appended again. Returns the log append time, too: -1 if the producer stamped the records; for a batch that is there
    already its timestamp, whoever stamped it, as Apache Kafka does.
    """
    acks = request.body.acks
    if acks not in (ALL, NONE, 1):
        raise KafkaError(Error.INVALID_REQUIRED_ACKS)
    if topic in INTERNAL_TOPICS and request.client.client_id != ADMIN_CLIENT_ID:
        raise KafkaError(Error.INVALID_TOPIC_EXCEPTION)
    batch = only_batch(partition.records, request.version)
    replica = broker.replicas.leader(topic, partition.index)
    if acks == ALL and not replica.enough_in_sync:
        raise KafkaError(Error.NOT_ENOUGH_REPLICAS)
    check_batch(replica, batch, partition.records, now, allowance)
    duplicate = replica.log.producers.check(batch) if batch.producer_id >= 0 else None
    if duplicate is not None:
        if broker.trace:
            broker.trace.emit(
                "DuplicateRecognized",
                topic=topic, partition=partition.index, base_offset=duplicate.base_offset,
                last_offset=duplicate.last_offset,
            )  # fmt: skip
        return replica, duplicate, duplicate.max_timestamp
    appended = replica.append_as_leader(partition.records, [batch], now)
    if broker.trace:
        tell(broker, topic, partition, appended)
    replica.advance_high_watermark()
    broker.replicas.changed(now)
    broker.moved(("partition", topic, partition.index), appended.size_bytes)
    stamped = replica.log.config.message_timestamp_type == "LogAppendTime"
    return replica, appended, now.wall_ms if stamped else -1


def only_batch(records: memoryview | None, version: int) -> BatchHeader:
    """Since Produce 3 a partition's records are exactly one batch, of magic 2."""
    if records is None or len(records) < BATCH_OVERHEAD:
        raise KafkaError(
            Error.INVALID_RECORD, f"Produce requests with version {version} must have at least one record batch"
        )
    batch = read_header(records)
    if batch.size_bytes != len(records):
        raise KafkaError(
            Error.INVALID_RECORD,
            f"Produce requests with version {version} are only allowed to contain exactly one record batch",
        )
    if batch.compression == "zstd" and version < 7:
        raise KafkaError(
            Error.UNSUPPORTED_COMPRESSION_TYPE,
            f"Produce requests with version {version} are not allowed to use ZStandard compression",
        )
    return batch


def check_batch(replica: Replica, batch: BatchHeader, records: memoryview, now: Now, allowance: Allowance) -> None:
    """Kafka's checks of a client's batch, as far as the header shows (UnifiedLog.analyzeAndValidateRecords,
    LogValidator).
    """
    config = replica.log.config
    if batch.base_offset != 0:
        raise KafkaError(
            Error.INVALID_RECORD, f"The baseOffset of the record batch should be 0, but it is {batch.base_offset}"
        )
    if batch.size_bytes > config.max_message_bytes:
        raise KafkaError(
            Error.MESSAGE_TOO_LARGE,
            f"The record batch size is {batch.size_bytes} bytes which exceeds the maximum configured value of "
            f"{config.max_message_bytes}",
        )
    if not crc_matches(records, batch):
        raise KafkaError(Error.CORRUPT_MESSAGE, "Record is corrupt: the stored CRC does not match the batch")
    if batch.last_offset_delta < 0 or batch.records_count != batch.last_offset_delta + 1:
        raise KafkaError(
            Error.INVALID_RECORD,
            f"Inconsistent batch offset range: {batch.records_count} records, "
            f"last offset delta {batch.last_offset_delta}",
        )
    if batch.control:
        raise KafkaError(Error.INVALID_RECORD, "Clients are not allowed to write control records")
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        raise KafkaError(
            Error.INVALID_RECORD,
            f"Invalid sequence number {batch.base_sequence} in record batch with producerId {batch.producer_id}",
        )
    if batch.transactional:
        raise KafkaError(Error.INVALID_TXN_STATE, "This broker has no transactions yet")
    if batch.size_bytes > config.segment_bytes:
        raise KafkaError(Error.RECORD_LIST_TOO_LARGE)
    if batch.log_append_time:
        raise KafkaError(
            Error.INVALID_TIMESTAMP, "The producer sent a batch of type LogAppendTime, which is up to the broker"
        )
    earliest, latest = time_bounds(replica, now)
    if config.compacts or batch.base_timestamp < earliest or batch.max_timestamp > latest:
        check_records(replica, batch, records, now, allowance)


def time_bounds(replica: Replica, now: Now) -> tuple[int, int]:
    """The timestamps that records may have: message.timestamp.before.max.ms and .after.max.ms (KIP-937)."""
    config = replica.log.config
    if config.message_timestamp_type == "LogAppendTime":
        return ANY_TIME
    return now.wall_ms - config.message_timestamp_before_max_ms, now.wall_ms + config.message_timestamp_after_max_ms


def check_records(replica: Replica, batch: BatchHeader, records: memoryview, now: Now, allowance: Allowance) -> None:
    """Kafka's checks of each record, which say who is to blame (KIP-467): its timestamp, and in a compacted topic its
    key, because a record without one would be nobody's latest.
    """
    if batch.records_count > allowance.records:
        raise TooMuchToDecode
    partition = f"{replica.log.topic}-{replica.log.partition}"
    earliest, latest = time_bounds(replica, now)
    blamed: dict[int, str] = {}
    count = count_untimely = 0
    try:
        for index, record in enumerate(raw_records(records, allowance)):
            if record.offset != index:
                raise KafkaError(Error.INVALID_RECORD, f"Record {index} of the batch has offset {record.offset}")
            if record.key is None and replica.log.config.compacts:
                why = f"Compacted topic cannot accept message without key in topic partition {partition}"
            elif record.timestamp == NO_TIMESTAMP or earliest <= record.timestamp <= latest:
                continue
            else:
                count_untimely += 1
                why = (
                    f"Timestamp {record.timestamp} of message with offset {index} is out of range. "
                    f"The timestamp should be within [{earliest}, {latest}]"
                )
            count += 1
            if len(blamed) < MAX_BLAMED:
                blamed[index] = why
    except CorruptRecord as error:  # whose code would make the client try again
        raise KafkaError(Error.INVALID_RECORD, error.message) from error
    if count_untimely:
        why = "One or more records have been rejected due to invalid timestamp"
        raise RefusedRecords(Error.INVALID_TIMESTAMP, why, blamed)
    if count:
        shown = ", ".join(f"RecordError(batchIndex={at}, message='{why}')" for at, why in list(blamed.items())[:3])
        raise RefusedRecords(
            Error.INVALID_RECORD,
            f"One or more records have been rejected due to {count} record errors in total, and only showing "
            f"the first three errors at most: [{shown}]",
            blamed,
        )


class RefusedRecords(KafkaError):
    """Some records are to blame for the refusal of their batch (KIP-467). blamed: index in the batch -> why."""

    def __init__(self, error: Error, why: str, blamed: dict[int, str]) -> None:
        super().__init__(error, why)
        self.blamed = blamed


def refusal(index: int, error: KafkaError) -> dict[str, Any]:
    """What Kafka answers for a partition that was not appended to."""
    blamed = error.blamed if isinstance(error, RefusedRecords) else {}
    return {
        "index": index,
        "error_code": error.error,
        "base_offset": -1,
        "log_append_time_ms": -1,
        "log_start_offset": -1,
        "record_errors": [{"batch_index": at, "batch_index_error_message": why} for at, why in blamed.items()],
        "error_message": error.message,
    }


def tell(broker: Broker, topic: str, partition: Any, appended: Appended) -> None:
    """The trace event of an append, with the first of its records; what is appended unseen may be unreadable."""
    records: list[list[Any]] = []
    more: dict[str, Any] = {}
    try:
        for record in islice(raw_records(partition.records), TRACED_RECORDS):
            records.append([record.offset, text(record.key), text(record.value), record.timestamp])
    except KafkaError as error:
        more["unreadable"] = error.message
    broker.trace.emit(
        "RecordsAppended",
        topic=topic,
        partition=partition.index,
        base_offset=appended.base_offset,
        last_offset=appended.last_offset,
        size_bytes=appended.size_bytes,
        records=records,
        **more,
    )


def text(value: bytes | None) -> str | None:
    """Keys and values as pictures show them: at most 40 characters."""
    return None if value is None else bytes(value[:160]).decode("utf-8", "replace")[:40]
