"""Produce (KIP-98, KIP-360): append record batches to partitions.

Behaviour: acks=0 gets no answer (an error closes the connection, which is how the client learns of it), acks=1 is
answered when the leader has written, acks=all when all in-sync replicas have, min.insync.replicas at least; a batch
that is there already waits like a new one. Nothing is synced to disk before the answer, as in Apache Kafka. A batch
is appended as it came: only its base offset, its leader epoch and, for LogAppendTime, its timestamps are stamped. The
checks are those of Kafka's that the batch header can show (cluster/validation.py). So a wrong record within a batch
whose CRC is right, or a timestamp that is too early and not the batch's first, is accepted here and refused by Apache
Kafka; and so are more records than one request may make the broker look at: MESSAGE_TOO_LARGE, on which the Java
client sends smaller batches. Versions: 3 is the first with record batches v2; 0 is advertised all the same, because
older librdkafka stops compressing when it sees that 0 is missing. 7 allows zstd (KIP-110), 8 adds error messages
(KIP-467), 9 is flexible.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from minikafka.broker.calls import Broker, Call
from minikafka.clock import Now
from minikafka.cluster.metadata import INTERNAL_TOPICS
from minikafka.cluster.replica import Replica
from minikafka.cluster.validation import RefusedRecords, check_batch
from minikafka.cluster.waiting import Wait
from minikafka.storage.log import Appended
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import BATCH_OVERHEAD, BatchHeader, read_header
from minikafka.wire.unpacking import Allowance

ALL, NONE = -1, 0
ADMIN_CLIENT_ID = "__admin_client"  # the one client that Apache Kafka lets write to internal topics
MAX_RECORDS = 50_000  # looked at in one request: about a tenth of a second


def handle(broker: Broker, request: Call, now: Now) -> dict[str, Any] | Wait | None:
    body = request.body
    topics, pending = [], []
    allowance = Allowance(records=MAX_RECORDS)
    failed = None
    for topic in body.topic_data:
        partitions = []
        for partition in topic.partition_data:
            answer, promised = produce(broker, request, topic.name, partition, now, allowance)
            failed = failed or answer["error_code"]
            partitions.append(answer)
            if promised is not None and not promised.is_kept:
                pending.append(promised)
        topics.append({"name": topic.name, "partition_responses": partitions})
    if body.acks == NONE:
        return {"close": f"produced with acks=0 and failed with {Error(failed).name}"} if failed else None
    if not pending:
        return {"responses": topics}
    return replicated(topics, pending, now.monotonic_ms + body.timeout_ms)


class Promise(NamedTuple):
    """acks=all: the records of one partition's answer, up to this offset, are to be on all in-sync replicas first."""

    replica: Replica
    leader_epoch: int
    next_offset: int
    answer: dict[str, Any]

    @property
    def is_kept(self) -> bool:
        """Whether it needn't wait any more; what went wrong stands in the answer then."""
        if self.replica.leader_epoch != self.leader_epoch or not self.replica.is_leader:
            self.break_(Error.NOT_LEADER_OR_FOLLOWER)
        elif self.replica.high_watermark < self.next_offset:
            return False
        elif not self.replica.enough_in_sync:
            self.break_(Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        return True

    def break_(self, error: Error) -> None:
        self.answer.update(refusal(self.answer["index"], KafkaError(error)))


def replicated(topics: list[dict[str, Any]], pending: list[Promise], deadline_ms: int) -> Wait:
    """The answer waits until the high watermarks have passed what was appended; at the deadline the others hear
    REQUEST_TIMED_OUT, though their records may still come to count.
    """

    def attempt(wait: Wait, now: Now, expired: bool) -> dict[str, Any] | None:
        pending[:] = [promise for promise in pending if not promise.is_kept]
        if pending and not expired:
            return None
        for promise in pending:
            promise.break_(Error.REQUEST_TIMED_OUT)
        return {"responses": topics}

    logs = [promise.replica.log for promise in pending]
    return Wait([("high_watermark", log.topic, log.partition) for log in logs], deadline_ms, attempt)


def produce(
    broker: Broker, request: Call, topic: str, partition: Any, now: Now, allowance: Allowance
) -> tuple[dict[str, Any], Promise | None]:
    """One partition of a request: its answer's fields, and what must become true before they are."""
    try:
        replica, appended, append_time_ms = append(broker, request, topic, partition, now, allowance)
    except KafkaError as error:
        if broker.trace:
            refused: dict[str, Any] = {"error": error.error.name, "message": error.message}
            broker.trace.emit("BatchRefused", topic=topic, partition=partition.index, **refused)
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
        return answer, None
    return answer, Promise(replica, replica.leader_epoch, appended.last_offset + 1, answer)


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
    check_batch(replica.log, batch, partition.records, now, allowance)
    duplicate = replica.log.producers.check(batch) if batch.producer_id >= 0 else None
    if duplicate is not None:
        if broker.trace:
            broker.trace.emit(
                "DuplicateRecognized",
                topic=topic, partition=partition.index, base_offset=duplicate.base_offset,
                last_offset=duplicate.last_offset,
            )  # fmt: skip
        return replica, duplicate, duplicate.max_timestamp
    appended = replica.append(partition.records, [batch], now)
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
