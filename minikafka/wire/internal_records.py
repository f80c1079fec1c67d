"""The records that brokers write for each other: keys and values in Kafka's own logs
(__cluster_metadata, __consumer_offsets, __transaction_state, __share_group_state), and
the control batches of any log.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from minikafka.wire.errors import CorruptRecord
from minikafka.wire.messages import (
    COORDINATOR_RECORD,
    RECORD,
    CoordinatorRecordType,
    encode_data,
)
from minikafka.wire.primitives import (
    Buffer,
    DecodeError,
    read_unsigned_varint,
    unsigned_varint,
)
from minikafka.wire.records import (
    BatchHeader,
    NewRecord,
    RawRecord,
    Record,
    encode_batch,
    raw_records,
)
from minikafka.wire.schema import Body, Message

# Metadata log (KIP-631). Records have no key. The value is the frame version, the
# record's type and its version, as unsigned varints, and then the message.

_FRAME_VERSION = 1
_RECORD_BY_KEY = {record.key: record for record in RECORD.values()}


def encode_record(name: str, version: int, body: Body) -> bytes:
    """The value of a record for the metadata log."""
    kind = RECORD[name]
    frame = [unsigned_varint(each) for each in (_FRAME_VERSION, kind.key, version)]
    return kind.schema.to_bytes(version, body, prefix=b"".join(frame))


def decode_record(data: Buffer) -> tuple[str, int, Message]:
    """Name, version and message of a metadata record. Bytes left over raise DecodeError
    too, as in Apache Kafka.
    """
    buffer = memoryview(data)
    try:
        frame_version, at = read_unsigned_varint(buffer, 0)
        key, at = read_unsigned_varint(buffer, at)
        version, at = read_unsigned_varint(buffer, at)
    except IndexError:
        raise DecodeError("a metadata record ends within its framing") from None
    kind = _RECORD_BY_KEY.get(key)
    is_known = kind is not None and version in kind.schema.versions
    if kind is None or not is_known or frame_version != _FRAME_VERSION:
        what = f"frame version {frame_version}, key {key}, version {version}"
        raise DecodeError(f"unknown metadata record: {what}")
    message, end = kind.schema.decode(version, buffer, at)
    if end != len(buffer):
        raise DecodeError(f"{len(buffer) - end} bytes follow a {kind.name}")
    return kind.name, version, message


# Coordinators' logs. Key: int16 type of the record, then the message. Value: int16
# version, then the message; null deletes the key.

_INT16 = struct.Struct(">h")
# the type that Kafka 0.8 gave committed offsets; its fields are those of type 1
_LEGACY_OFFSET_COMMIT = 0
# only in this version does a committed offset say when it expires
_EXPIRING_OFFSET_COMMIT = 1


def _by_key(names: Iterable[str]) -> dict[int, CoordinatorRecordType]:
    """The records of one topic, by type number: each topic has its own numbering."""
    kinds = [COORDINATOR_RECORD[name] for name in names]
    return {kind.key: kind for kind in kinds}


_OF_TRANSACTIONS = ("TransactionLog",)
_OF_SHARE_PARTITIONS = ("ShareSnapshot", "ShareUpdate")
_OF_OTHERS = {*_OF_TRANSACTIONS, *_OF_SHARE_PARTITIONS}
_TRANSACTION_RECORD_BY_KEY = _by_key(_OF_TRANSACTIONS)
_SHARE_RECORD_BY_KEY = _by_key(_OF_SHARE_PARTITIONS)
_COORDINATOR_RECORD_BY_KEY = _by_key(COORDINATOR_RECORD.keys() - _OF_OTHERS)
_COORDINATOR_RECORD_BY_KEY[_LEGACY_OFFSET_COMMIT] = COORDINATOR_RECORD["OffsetCommit"]


class CoordinatorRecord(NamedTuple):
    """A record as it is read from a coordinator's log. value: None for a tombstone."""

    name: str
    key: Message
    value: Message | None


class UnknownRecord(Exception):
    """A record of a type that minikafka doesn't have: another kind of group, or from a
    newer Kafka. Loading a log skips it.
    """


def encode_coordinator_record(
    name: str, key: Body, value: Body | None, version: int | None = None
) -> tuple[bytes, bytes | None]:
    """Key and value of a coordinator's record; without a value it is a tombstone.
    version: of the value; by default the one that Kafka 4.4 writes.
    """
    kind = COORDINATOR_RECORD[name]
    key_bytes = kind.key_schema.to_bytes(0, key, _INT16.pack(kind.key))
    if value is None:
        return key_bytes, None
    if version is None:
        version = kind.written_version
        if name == "OffsetCommit" and _expires(value):
            version = _EXPIRING_OFFSET_COMMIT
    prefix = _INT16.pack(version)
    return key_bytes, kind.value_schema.to_bytes(version, value, prefix)


def _expires(commit: Body) -> bool:
    fields = commit.__dict__ if isinstance(commit, Message) else commit
    return fields.get("expire_timestamp", -1) != -1


def decode_transaction_record(key: Buffer, value: Buffer | None) -> CoordinatorRecord:
    """The same as decode_coordinator_record, for __transaction_state."""
    return decode_coordinator_record(key, value, _TRANSACTION_RECORD_BY_KEY)


def decode_share_record(key: Buffer, value: Buffer | None) -> CoordinatorRecord:
    """The same as decode_coordinator_record, for __share_group_state."""
    return decode_coordinator_record(key, value, _SHARE_RECORD_BY_KEY)


def decode_coordinator_record(
    key: Buffer,
    value: Buffer | None,
    kinds: Mapping[int, CoordinatorRecordType] = _COORDINATOR_RECORD_BY_KEY,
) -> CoordinatorRecord:
    """A record of __consumer_offsets. Raises DecodeError or UnknownRecord."""
    number, key_view = _prefix(key)
    kind = kinds.get(number)
    if kind is None:
        raise UnknownRecord(f"a coordinator's record of type {number}")
    key_message, _ = kind.key_schema.decode(0, key_view, _INT16.size)
    if value is None:
        return CoordinatorRecord(kind.name, key_message, None)
    version, value_view = _prefix(value)
    if version not in kind.value_schema.versions:
        raise DecodeError(f"{kind.name} has no version {version}")
    value_message, _ = kind.value_schema.decode(version, value_view, _INT16.size)
    return CoordinatorRecord(kind.name, key_message, value_message)


def _prefix(data: Buffer) -> tuple[int, memoryview]:
    if len(data) < _INT16.size:
        raise DecodeError(
            f"{len(data)} bytes are no key or value of a coordinator's record"
        )
    (number,) = _INT16.unpack_from(data)
    return number, memoryview(data)


# Control batches. Each holds one record, which consumers never see. Its key says which
# type it is: version int16, type int16. A marker ends a transaction in one partition
# (KIP-98); a leader of the metadata quorum begins its epoch with a record of its own
# (KIP-595), and a snapshot has one at its beginning and one at its end (KIP-630).

ABORT, COMMIT, LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER = range(5)  # types

# key: version, type; marker: version, coordinator epoch
_KEY, _MARKER = struct.Struct(">hh"), struct.Struct(">hi")


def encode_control_batch(
    control_type: int, value: bytes, timestamp: int, **fields: Any
) -> bytes:
    """A batch with one control record. fields: further arguments for encode_batch."""
    key = _KEY.pack(0, control_type)
    record: NewRecord = (timestamp, key, value, [])
    return encode_batch([record], control=True, **fields)


def encode_end_transaction(
    committed: bool,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    timestamp: int,
) -> bytes:
    """The marker that ends a transaction in one partition (KIP-98). Value: version
    int16, coordinator epoch int32.
    """
    kind = COMMIT if committed else ABORT
    value = _MARKER.pack(0, coordinator_epoch)
    return encode_control_batch(
        kind,
        value,
        timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
    )


def encode_leader_change(
    leader_id: int, voters: Sequence[int], timestamp: int
) -> bytes:
    """The first batch of a KRaft leader's epoch (KIP-595): a LeaderChangeMessage,
    version 0, with all voters as granting voters.
    """
    listed = [{"voter_id": voter} for voter in voters]
    change = {
        "version": 0,
        "leader_id": leader_id,
        "voters": listed,
        "granting_voters": listed,
    }
    value = encode_data("LeaderChangeMessage", 0, change)
    return encode_control_batch(LEADER_CHANGE, value, timestamp)


class EndTransaction(NamedTuple):
    """What a marker says. coordinator_epoch: of the transaction coordinator that
    decided how the transaction ends.
    """

    committed: bool
    coordinator_epoch: int


def decode_end_transaction(batch: Buffer) -> EndTransaction | None:
    """The marker in a control batch; None if the batch is of another type, or if
    compaction has left only its header.
    """
    for record in raw_records(batch):
        kind = control_type(record)
        value = record.value
        if kind not in (ABORT, COMMIT) or value is None or len(value) < _MARKER.size:
            continue
        _, coordinator_epoch = _MARKER.unpack_from(value)
        return EndTransaction(kind == COMMIT, coordinator_epoch)
    return None


def markers(
    batches: Buffer, headers: Iterable[BatchHeader]
) -> Iterator[tuple[BatchHeader, EndTransaction | None]]:
    """Each of these batches, together with its marker if it is one."""
    view = memoryview(batches)
    at = 0
    for header in headers:
        end = at + header.size_bytes
        marker = decode_end_transaction(view[at:end]) if header.control else None
        yield header, marker
        at = end


def control_type(record: Record | RawRecord) -> int:
    """A control record's type: ABORT, COMMIT, LEADER_CHANGE or one that a later version
    added.
    """
    if record.key is None or len(record.key) < _KEY.size:
        raise CorruptRecord("a control record without a type")
    _, number = _KEY.unpack_from(record.key)
    return int(number)
