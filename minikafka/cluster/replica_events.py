"""The trace events of a replica. Call these functions only behind `if log.trace`.

A replica without followers emits no events about leaders and followers. The metadata
log is a replica too, with event kinds of its own; records that coordinators write get
events from the coordinators.
"""

from itertools import islice
from typing import Any

from minikafka.cluster.metadata import (
    BROKER_RESOURCE,
    INTERNAL_TOPICS,
    METADATA_TOPIC,
    MetadataRecord,
    Partition,
)
from minikafka.storage.log import Appended, Log
from minikafka.trace import HIDDEN
from minikafka.wire.errors import KafkaError
from minikafka.wire.internal_records import decode_end_transaction
from minikafka.wire.primitives import Buffer
from minikafka.wire.records import (
    BatchHeader,
    batches,
    decode_batch,
    raw_records,
    read_header,
)

TRACED_RECORDS = 50
LEADER_CHANGE = "LeaderChangeMessage"
SECRETS: dict[str, tuple[str, ...]] = {
    "UserScramCredentialRecord": ("salt", "stored_key", "server_key")
}
OF_METADATA = {
    "RecordsAppended": "MetadataAppended",
    "RecordsReplicated": "MetadataReplicated",
}


def is_followed(partition: Partition) -> bool:
    """Whether its leader has followers."""
    return len(partition.replicas) > 1


def opened(log: Log, partition: Partition, high_watermark: int) -> None:
    """The log is open: what it holds, and what the image says about it."""
    if not is_followed(partition):
        return
    log.tell(
        "ReplicaOpened",
        log_start_offset=log.log_start_offset,
        log_end_offset=log.log_end_offset,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        leader=partition.leader,
        leader_epoch=partition.leader_epoch,
        high_watermark=high_watermark,
    )


def image_followed(log: Log, was: Partition, now: Partition, is_leader: bool) -> None:
    """The leader or its epoch has changed; on the leader itself, also the ISR."""
    if log.topic == METADATA_TOPIC or not is_followed(now):
        return
    epoch = now.leader_epoch
    if (epoch, now.leader) != (was.leader_epoch, was.leader):
        if is_leader:
            log.tell("LeaderElected", leader_epoch=epoch, isr=list(now.isr))
        else:
            log.tell("LeaderFollowed", leader_epoch=epoch, leader=now.leader)
    elif is_leader and set(now.isr) != set(was.isr):
        kind = "IsrShrunk" if len(now.isr) < len(was.isr) else "IsrExpanded"
        log.tell(kind, was=list(was.isr), isr=list(now.isr))


def appended(
    log: Log, partition: Partition, kind: str, what: Appended, copied: Buffer
) -> None:
    """Records were appended to the log, by its leader (RecordsAppended) or by a
    follower (RecordsReplicated).
    """
    header = read_header(copied)
    told: dict[str, Any] = {
        "base_offset": what.base_offset,
        "last_offset": what.last_offset,
    }
    if log.topic == METADATA_TOPIC:
        if is_followed(partition):
            told["epochs"] = epochs_of(header, copied)
            told["records"] = metadata_records(copied)
            log.trace.emit(OF_METADATA[kind], **told)
    elif log.topic not in INTERNAL_TOPICS:
        told["size_bytes"] = what.size_bytes
        told |= shown(copied)
        if header.transactional:
            told |= _producer(header)
        if is_followed(partition):
            told["epochs"] = epochs_of(header, copied)
        log.tell(kind, **told)
    if header.control and kind == "RecordsAppended":
        _marker_written(log, header, copied)


def _producer(header: BatchHeader) -> dict[str, Any]:
    return {
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
    }


def _marker_written(log: Log, header: BatchHeader, copied: Buffer) -> None:
    marker = decode_end_transaction(copied)
    if marker is not None:
        outcome = "committed" if marker.committed else "aborted"
        offset = header.base_offset
        log.tell("MarkerWritten", **_producer(header), offset=offset, outcome=outcome)


def follower_fetched(log: Log, follower: int, offset: int) -> None:
    """A follower's fetch tells the leader how far the follower's log goes."""
    if log.topic not in (*INTERNAL_TOPICS, METADATA_TOPIC):
        log.tell("FollowerFetched", follower=follower, offset=offset)


def high_watermark_advanced(
    log: Log, partition: Partition, before: tuple[int, int], after: tuple[int, int]
) -> None:
    """More records are committed now. before, after: the high watermark and the last
    stable offset, which is left out while it equals the high watermark.
    """
    was, was_stable = before
    now, stable = after
    if log.topic == METADATA_TOPIC:
        if is_followed(partition):
            log.trace.emit("MetadataCommitted", high_watermark=now)
        return
    log.tell("HighWatermarkAdvanced", high_watermark=now)
    goes_alone = was_stable < was or stable < now
    if stable > was_stable and goes_alone:
        log.tell("LastStableOffsetAdvanced", last_stable_offset=stable)


def epochs_of(header: BatchHeader, copied: Buffer) -> list[list[int]]:
    """[leader epoch, first offset] for each epoch that begins in these batches. header:
    of the first batch, which is nearly always the only one.
    """
    if header.size_bytes == len(copied):
        return [[header.partition_leader_epoch, header.base_offset]]
    first: dict[int, int] = {}
    for each, _ in batches(copied):
        first.setdefault(each.partition_leader_epoch, each.base_offset)
    return [[epoch, offset] for epoch, offset in first.items()]


def metadata_records(copied: Buffer) -> list[list[Any]]:
    """[offset, name, fields] of each record."""
    told: list[list[Any]] = []
    for header, batch in batches(copied):
        if header.control:
            told.append([header.base_offset, LEADER_CHANGE, {}])
            continue
        for record in decode_batch(batch):
            name, _, fields = MetadataRecord.decoded(record)
            told.append([record.offset, name, _plain(without_secrets(name, fields))])
    return told


def without_secrets(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a record that the trace may show. This room doesn't know which
    broker configs are secret, so it hides the values of all of them; ConfigsAltered
    shows those that aren't secret.
    """
    hidden = SECRETS.get(name, ())
    if name == "ConfigRecord" and fields["resource_type"] == BROKER_RESOURCE:
        hidden = ("value",)
    return fields | {field: HIDDEN for field in hidden if fields[field] is not None}


def _plain(value: Any) -> Any:
    """The value as JSON: bytes and ids become hexadecimal."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    return value


def shown(copied: Buffer) -> dict[str, Any]:
    """The first records as the trace shows them. They are decoded only here, so this is
    where they may turn out to be unreadable.
    """
    records: list[list[Any]] = []
    try:
        for record in islice(raw_records(copied), TRACED_RECORDS):
            key, value = text(record.key), text(record.value)
            records.append([record.offset, key, value, record.timestamp])
    except KafkaError as error:
        return {"records": records, "unreadable": error.message}
    return {"records": records}


def text(value: Buffer | None) -> str | None:
    """A key or a value as pictures show it: at most 40 characters."""
    if value is None:
        return None
    return bytes(value[:160]).decode("utf-8", "replace")[:40]
