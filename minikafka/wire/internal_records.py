"""Keys and values of the records in Kafka's own logs: __cluster_metadata and __consumer_offsets."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from .crc import Buffer
from .messages import COORDINATOR_RECORD, RECORD, CoordinatorRecordType
from .primitives import DecodeError, read_unsigned_varint, unsigned_varint
from .schema import Message

Body = Message | Mapping[str, Any]

# Metadata log (KIP-631): no key; frame version, type and version of the record as unsigned varints, the message.

_FRAME_VERSION = 1
_RECORD_BY_KEY = {record.key: record for record in RECORD.values()}


def encode_record(name: str, version: int, body: Body) -> bytes:
    """The value of a record of the metadata log."""
    kind = RECORD[name]
    return kind.schema.to_bytes(version, body, b"".join(map(unsigned_varint, (_FRAME_VERSION, kind.key, version))))


def decode_record(data: Buffer) -> tuple[str, int, Message]:
    """Name, version and message of a metadata record. DecodeError also for bytes left over, as in Apache Kafka."""
    buffer = memoryview(data)
    try:
        frame_version, at = read_unsigned_varint(buffer, 0)
        key, at = read_unsigned_varint(buffer, at)
        version, at = read_unsigned_varint(buffer, at)
    except IndexError:
        raise DecodeError("a metadata record ends within its framing") from None
    kind = _RECORD_BY_KEY.get(key)
    if frame_version != _FRAME_VERSION or kind is None or version not in kind.schema.versions:
        raise DecodeError(f"unknown metadata record: frame version {frame_version}, key {key}, version {version}")
    message, end = kind.schema.decode(version, buffer, at)
    if end != len(buffer):
        raise DecodeError(f"{len(buffer) - end} bytes follow a {kind.name}")
    return kind.name, version, message


# Coordinators' logs. Key: int16 type of the record, the message. Value: int16 version, the message; null deletes.

_INT16 = struct.Struct(">h")
_LEGACY_OFFSET_COMMIT = 0  # the type of committed offsets of Kafka 0.8; their fields are those of type 1
_COORDINATOR_RECORD_BY_KEY = {record.key: record for record in COORDINATOR_RECORD.values()}
_COORDINATOR_RECORD_BY_KEY[_LEGACY_OFFSET_COMMIT] = COORDINATOR_RECORD["OffsetCommit"]
_TRANSACTION_RECORD_BY_KEY = {0: COORDINATOR_RECORD["TransactionLog"]}  # in a topic of its own


class UnknownRecord(Exception):
    """A record of a type that minikafka lacks: another kind of group, or a newer Kafka. Loading a log skips it."""


def encode_coordinator_record(
    name: str, key: Body, value: Body | None, version: int | None = None
) -> tuple[bytes, bytes | None]:
    """Key and value of a coordinator's record; no value: tombstone. version: the value's, else Kafka 4.3's."""
    kind = COORDINATOR_RECORD[name]
    key_bytes = kind.key_schema.to_bytes(0, key, _INT16.pack(kind.key))
    if value is None:
        return key_bytes, None
    if version is None:
        fields = value.__dict__ if isinstance(value, Message) else value
        expires = name == "OffsetCommit" and fields.get("expire_timestamp", -1) != -1
        version = 1 if expires else kind.written_version  # no other version can say when the offset expires
    return key_bytes, kind.value_schema.to_bytes(version, value, _INT16.pack(version))


def decode_coordinator_record(key: Buffer, value: Buffer | None) -> tuple[str, Message, Message | None]:
    """Name, key and value of a record of __consumer_offsets. Raises DecodeError or UnknownRecord."""
    return _decode(_COORDINATOR_RECORD_BY_KEY, key, value)


def decode_transaction_record(key: Buffer, value: Buffer | None) -> tuple[str, Message, Message | None]:
    """As decode_coordinator_record, of __transaction_state."""
    return _decode(_TRANSACTION_RECORD_BY_KEY, key, value)


def _decode(
    kinds: Mapping[int, CoordinatorRecordType], key: Buffer, value: Buffer | None
) -> tuple[str, Message, Message | None]:
    number, key_view = _prefix(key)
    kind = kinds.get(number)
    if kind is None:
        raise UnknownRecord(f"a coordinator's record of type {number}")
    key_message, _ = kind.key_schema.decode(0, key_view, _INT16.size)
    if value is None:
        return kind.name, key_message, None
    version, value_view = _prefix(value)
    if version not in kind.value_schema.versions:
        raise DecodeError(f"{kind.name} has no version {version}")
    return kind.name, key_message, kind.value_schema.decode(version, value_view, _INT16.size)[0]


def _prefix(data: Buffer) -> tuple[int, memoryview]:
    if len(data) < _INT16.size:
        raise DecodeError(f"{len(data)} bytes are no key or value of a coordinator's record")
    return _INT16.unpack_from(data)[0], memoryview(data)
