"""Control batches: what brokers write into a log for each other. Each holds one record, which no consumer is shown.

The record's key says of what kind it is: version int16, type int16. A marker ends a transaction in one partition
(KIP-98); a leader of the metadata quorum begins its epoch with a record of its own (KIP-595), and a snapshot has one at
its beginning and one at its end (KIP-630).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from minikafka.wire.crc import Buffer
from minikafka.wire.errors import CorruptRecord
from minikafka.wire.messages import encode_data
from minikafka.wire.records import BatchHeader, RawRecord, Record, encode_batch, raw_records

ABORT, COMMIT, LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER = range(5)  # types

_KEY, _MARKER = struct.Struct(">hh"), struct.Struct(">hi")  # version, type; version, coordinator epoch



def encode_control_batch(control_type: int, value: bytes, timestamp: int, **fields: Any) -> bytes:
    """A batch with one control record. Its key: version 0 and the type (ABORT, COMMIT, LEADER_CHANGE), both int16.
    fields: more of encode_batch's.
    """
    key = _KEY.pack(0, control_type)
    return encode_batch([(timestamp, key, value, [])], control=True, **fields)


def encode_end_transaction(
    committed: bool, producer_id: int, producer_epoch: int, coordinator_epoch: int, timestamp: int
) -> bytes:
    """The marker that ends a transaction in one partition (KIP-98). Value: version int16, coordinator epoch int32."""
    return encode_control_batch(
        COMMIT if committed else ABORT, _MARKER.pack(0, coordinator_epoch), timestamp,
        producer_id=producer_id, producer_epoch=producer_epoch, transactional=True,
    )  # fmt: skip


def encode_leader_change(leader_id: int, voters: Sequence[int], timestamp: int) -> bytes:
    """The first batch of a KRaft leader's epoch (KIP-595): LeaderChangeMessage version 0, granted by all voters."""
    listed = [{"voter_id": voter} for voter in voters]
    change = {"version": 0, "leader_id": leader_id, "voters": listed, "granting_voters": listed}
    return encode_control_batch(LEADER_CHANGE, encode_data("LeaderChangeMessage", 0, change), timestamp)


class EndTransaction(NamedTuple):
    """What a marker says. coordinator_epoch: of the transaction coordinator that decided."""

    committed: bool
    coordinator_epoch: int


def decode_end_transaction(batch: Buffer) -> EndTransaction | None:
    """The marker in a control batch; None if it is one of another kind, or compaction left only its header."""
    for record in raw_records(batch):
        kind, value = control_type(record), record.value
        if kind in (ABORT, COMMIT) and value is not None and len(value) >= _MARKER.size:
            return EndTransaction(kind == COMMIT, _MARKER.unpack_from(value)[1])
    return None


def markers(batches: Buffer, headers: Iterable[BatchHeader]) -> Iterator[tuple[BatchHeader, EndTransaction | None]]:
    """Each of these batches, with the marker if it is one."""
    view, at = memoryview(batches), 0
    for header in headers:
        end = at + header.size_bytes
        yield header, decode_end_transaction(view[at:end]) if header.control else None
        at = end


def control_type(record: Record | RawRecord) -> int:
    """What a control record is: ABORT, COMMIT, LEADER_CHANGE or a type that later versions added."""
    if record.key is None or len(record.key) < _KEY.size:
        raise CorruptRecord("a control record without a type")
    return int(_KEY.unpack_from(record.key)[1])
