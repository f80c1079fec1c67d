"""What a replica tells the trace. Only behind `if log.trace`.

A replica that is alone has nothing to say of leaders and followers. The metadata log is
a replica too, and told in events of its own; what coordinators write is told by theirs.
"""

from itertools import islice
from typing import TYPE_CHECKING, Any

from minikafka.cluster.metadata import (
    INTERNAL_TOPICS,
    METADATA_TOPIC,
    MetadataRecord,
    Partition,
)
from minikafka.storage.log import Appended
from minikafka.wire.errors import KafkaError
from minikafka.wire.internal_records import decode_end_transaction
from minikafka.wire.primitives import Buffer
from minikafka.wire.records import batches, decode_batch, raw_records, read_header

if TYPE_CHECKING:
    from minikafka.cluster.replica import Replica

TRACED_RECORDS = 50
LEADER_CHANGE = "LeaderChangeMessage"
OF_METADATA = {
    "RecordsAppended": "MetadataAppended",
    "RecordsReplicated": "MetadataReplicated",
}


def is_followed(replica: "Replica") -> bool:
    """Whether it has followers, or is one."""
    return len(replica.partition.replicas) > 1


def opened(replica: "Replica", partition: Partition) -> None:
    """The log is open: what it holds, and what the image says of it."""
    if is_followed(replica):
        log = replica.log
        told = {
            "replicas": list(partition.replicas),
            "isr": list(partition.isr),
            "leader": partition.leader,
        }
        told |= {
            "leader_epoch": partition.leader_epoch,
            "high_watermark": replica.high_watermark,
        }
        log.tell(
            "ReplicaOpened",
            log_start_offset=log.log_start_offset,
            log_end_offset=log.log_end_offset,
            **told,
        )


def image_followed(replica: "Replica", was: Partition) -> None:
    """Another leads, or it leads in another epoch; as leader: another ISR."""
    now = replica.partition
    if replica.log.topic == METADATA_TOPIC or not is_followed(replica):
        return
    if (now.leader_epoch, now.leader) != (was.leader_epoch, was.leader):
        who: dict[str, Any] = (
            {"isr": list(now.isr)} if replica.is_leader else {"leader": now.leader}
        )
        kind = "LeaderElected" if replica.is_leader else "LeaderFollowed"
        replica.log.tell(kind, leader_epoch=now.leader_epoch, **who)
    elif replica.is_leader and set(now.isr) != set(was.isr):
        kind = "IsrShrunk" if len(now.isr) < len(was.isr) else "IsrExpanded"
        replica.log.tell(kind, was=list(was.isr), isr=list(now.isr))


def appended(replica: "Replica", kind: str, what: Appended, copied: Buffer) -> None:
    """Records are in the log: its leader's (RecordsAppended) or a follower's
    (RecordsReplicated).
    """
    log, header = replica.log, read_header(copied)
    offsets: dict[str, Any] = {
        "base_offset": what.base_offset,
        "last_offset": what.last_offset,
    }
    producer: dict[str, Any] = {
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
    }
    epochs: dict[str, Any] = (
        {"epochs": epochs_of(copied)} if is_followed(replica) else {}
    )
    if log.topic == METADATA_TOPIC and epochs:
        log.trace.emit(
            OF_METADATA[kind], **offsets, **epochs, records=metadata_records(copied)
        )
    elif log.topic not in (*INTERNAL_TOPICS, METADATA_TOPIC):
        whose = producer if header.transactional else {}
        log.tell(
            kind,
            **offsets,
            size_bytes=what.size_bytes,
            **shown(copied),
            **whose,
            **epochs,
        )
    marker = (
        decode_end_transaction(copied)
        if header.control and kind == "RecordsAppended"
        else None
    )
    if marker is not None:
        outcome = "committed" if marker.committed else "aborted"
        log.tell(
            "MarkerWritten", **producer, offset=header.base_offset, outcome=outcome
        )


def follower_fetched(replica: "Replica", follower: int, offset: int) -> None:
    """What a follower's fetch says that the leader didn't know."""
    if replica.log.topic not in (*INTERNAL_TOPICS, METADATA_TOPIC):
        replica.log.tell("FollowerFetched", follower=follower, offset=offset)


def high_watermark_advanced(replica: "Replica", was: int, was_stable: int) -> None:
    """More counts now. Of the last stable offset there is nothing to say while it goes
    with the high watermark.
    """
    stable = replica.last_stable_offset
    if replica.log.topic != METADATA_TOPIC:
        replica.log.tell("HighWatermarkAdvanced", high_watermark=replica.high_watermark)
        if stable > was_stable and (
            was_stable < was or stable < replica.high_watermark
        ):
            replica.log.tell("LastStableOffsetAdvanced", last_stable_offset=stable)
    elif is_followed(replica):
        replica.log.trace.emit(
            "MetadataCommitted", high_watermark=replica.high_watermark
        )


def epochs_of(copied: Buffer) -> list[list[int]]:
    """[leader epoch, first offset] of each epoch that begins here."""
    first: dict[int, int] = {}
    for header, _ in batches(copied):
        first.setdefault(header.partition_leader_epoch, header.base_offset)
    return [[epoch, offset] for epoch, offset in first.items()]


def metadata_records(copied: Buffer) -> list[list[Any]]:
    """[offset, name, fields] of each."""
    told: list[list[Any]] = []
    for header, batch in batches(copied):
        if header.control:
            told.append([header.base_offset, LEADER_CHANGE, {}])
            continue
        for record in decode_batch(batch):
            name, _, fields = MetadataRecord.decoded(record)
            told.append([record.offset, name, _plain(fields)])
    return told


def _plain(value: Any) -> Any:
    """As JSON: bytes and ids in hexadecimal."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return (
        bytes(value).hex()
        if isinstance(value, (bytes, bytearray, memoryview))
        else value
    )


def shown(copied: Buffer) -> dict[str, Any]:
    """The first records as the trace shows them. Only here are they decoded, so they
    may turn out unreadable.
    """
    records: list[list[Any]] = []
    try:
        for record in islice(raw_records(copied), TRACED_RECORDS):
            records.append(
                [record.offset, text(record.key), text(record.value), record.timestamp]
            )
    except KafkaError as error:
        return {"records": records, "unreadable": error.message}
    return {"records": records}


def text(value: Buffer | None) -> str | None:
    """Keys and values as pictures show them: at most 40 characters."""
    return None if value is None else bytes(value[:160]).decode("utf-8", "replace")[:40]
