"""Apache Kafka's checks of a producer's batch before a replica appends it (UnifiedLog,
LogValidator).

A batch is checked by its header. The records inside are looked at only for a compacted
topic, where each needs a key, or to find those whose timestamp is out of bounds. How
many may be looked at in one request is limited (unpacking.py).
"""

from minikafka.clock import Now
from minikafka.storage.log import Log
from minikafka.wire.errors import CorruptRecord, Error, KafkaError
from minikafka.wire.records import BatchHeader, crc_matches, raw_records
from minikafka.wire.unpacking import Allowance, TooMuchToDecode

MAX_BLAMED = 1000  # records of a batch that are named in the error
NO_TIMESTAMP = -1
ANY_TIME = -(1 << 63), (1 << 63) - 1


def check_batch(
    log: Log, batch: BatchHeader, records: memoryview, now: Now, allowance: Allowance
) -> None:
    """Kafka's checks of a client's batch, as far as its header shows
    (UnifiedLog.analyzeAndValidateRecords).
    """
    config = log.config
    if batch.base_offset != 0:
        why = (
            "The baseOffset of the record batch should be 0, but it is"
            f" {batch.base_offset}"
        )
        raise KafkaError(Error.INVALID_RECORD, why)
    check_size(log, batch)
    if not crc_matches(records, batch):
        why = "Record is corrupt: the stored CRC does not match the batch"
        raise KafkaError(Error.CORRUPT_MESSAGE, why)
    count, delta = batch.records_count, batch.last_offset_delta
    if delta < 0 or count != delta + 1:
        what = f"{count} records, last offset delta {delta}"
        why = f"Inconsistent batch offset range: {what}"
        raise KafkaError(Error.INVALID_RECORD, why)
    if batch.control:
        why = "Clients are not allowed to write control records"
        raise KafkaError(Error.INVALID_RECORD, why)
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        why = (
            f"Invalid sequence number {batch.base_sequence} in record batch with"
            f" producerId {batch.producer_id}"
        )
        raise KafkaError(Error.INVALID_RECORD, why)
    if batch.size_bytes > config.segment_bytes:
        raise KafkaError(Error.RECORD_LIST_TOO_LARGE)
    if batch.log_append_time:
        why = (
            "The producer sent a batch of type LogAppendTime, which is up to the broker"
        )
        raise KafkaError(Error.INVALID_TIMESTAMP, why)
    earliest, latest = time_bounds(log, now)
    is_timely = batch.base_timestamp >= earliest and batch.max_timestamp <= latest
    if config.compacts or not is_timely:
        check_records(log, batch, records, now, allowance)


def check_size(log: Log, batch: BatchHeader) -> None:
    """Check max.message.bytes, both for the batch that came and for the one that the
    broker makes from it.
    """
    if batch.size_bytes > log.config.max_message_bytes:
        why = (
            f"The record batch size is {batch.size_bytes} bytes which exceeds the"
            " maximum configured value of"
        )
        raise KafkaError(
            Error.MESSAGE_TOO_LARGE, f"{why} {log.config.max_message_bytes}"
        )


def time_bounds(log: Log, now: Now) -> tuple[int, int]:
    """The timestamps that records may have: message.timestamp.before.max.ms and
    .after.max.ms (KIP-937).
    """
    config = log.config
    if config.message_timestamp_type == "LogAppendTime":
        return ANY_TIME
    return (
        now.wall_ms - config.message_timestamp_before_max_ms,
        now.wall_ms + config.message_timestamp_after_max_ms,
    )


def check_records(
    log: Log, batch: BatchHeader, records: memoryview, now: Now, allowance: Allowance
) -> None:
    """Kafka's checks of each record, which name the records at fault (KIP-467): the
    timestamp must be within bounds, and in a compacted topic there must be a key,
    because compaction couldn't handle a record without one.
    """
    if batch.records_count > allowance.records:
        raise TooMuchToDecode
    partition = f"{log.topic}-{log.partition}"
    earliest, latest = time_bounds(log, now)
    blamed: dict[int, str] = {}
    count = count_untimely = 0
    try:
        for index, record in enumerate(raw_records(records, allowance)):
            if record.offset != index:
                why = f"Record {index} of the batch has offset {record.offset}"
                raise KafkaError(Error.INVALID_RECORD, why)
            if record.key is None and log.config.compacts:
                why = (
                    "Compacted topic cannot accept message without key in topic"
                    f" partition {partition}"
                )
            elif (
                record.timestamp == NO_TIMESTAMP
                or earliest <= record.timestamp <= latest
            ):
                continue
            else:
                count_untimely += 1
                why = (
                    f"Timestamp {record.timestamp} of message with offset {index} is"
                    " out of range. "
                )
                why += f"The timestamp should be within [{earliest}, {latest}]"
            count += 1
            if len(blamed) < MAX_BLAMED:
                blamed[index] = why
    except CorruptRecord as error:  # its own code would make the client try again
        raise KafkaError(Error.INVALID_RECORD, error.message) from error
    if count_untimely:
        why = "One or more records have been rejected due to invalid timestamp"
        raise RefusedRecords(Error.INVALID_TIMESTAMP, why, blamed)
    if count:
        shown = [
            f"RecordError(batchIndex={at}, message='{why}')"
            for at, why in list(blamed.items())[:3]
        ]
        why = (
            f"One or more records have been rejected due to {count} record errors in"
            " total, and only showing the first three errors at most:"
            f" [{', '.join(shown)}]"
        )
        raise RefusedRecords(Error.INVALID_RECORD, why, blamed)


class RefusedRecords(KafkaError):
    """Some records are at fault for the refusal of their batch (KIP-467). blamed: index
    in the batch -> reason.
    """

    def __init__(self, error: Error, why: str, blamed: dict[int, str]) -> None:
        super().__init__(error, why)
        self.blamed = blamed
