"""A log remembers its idempotent producers, so that a retried batch is written once (KIP-98, KIP-360).

A producer numbers the records it sends to a partition: each batch carries producer id, epoch and base sequence. The
log keeps, for each producer id, the epoch and the last five batches (five, because a producer has at most five
requests in flight):

- a batch with the sequence numbers of one of the five was written before, and is answered with the offset it got then;
- the next batch must begin with the sequence number after the last one's; with any other, records were lost on the
  way: OUT_OF_ORDER_SEQUENCE_NUMBER;
- a batch of an older epoch comes from a producer that was replaced: INVALID_PRODUCER_EPOCH;
- a batch of a newer epoch begins at 0 again;
- a producer that the log doesn't know, perhaps because retention deleted what it wrote, may begin with any number.

All this follows from the log itself. So that a restart needn't read the whole log for it, a snapshot is written when
a segment is closed and at a clean stop: `00000000000000000042.snapshot` is the state before offset 42.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from minikafka.storage.disk import Disk
from minikafka.storage.segment import Segment, file_name, offset_in
from minikafka.wire.crc import crc32c
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import BATCH_OVERHEAD, MAX_SEQUENCE, BatchHeader

REMEMBERED_BATCHES = 5
SNAPSHOT = ".snapshot"

_VERSION = 1
_HEAD = struct.Struct(">hI")  # version, CRC-32C of what follows
_COUNT = struct.Struct(">i")
# producer id, epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch, transaction's first offset
_ENTRY = struct.Struct(">qhiqiqiq")


class Appended(NamedTuple):
    """Where an append put its records. offset_of_max_timestamp: the last offset of the batch that has it."""

    base_offset: int
    last_offset: int
    size_bytes: int
    max_timestamp: int
    offset_of_max_timestamp: int


class Batch(NamedTuple):
    """One of the last batches of a producer."""

    last_sequence: int
    last_offset: int
    offset_delta: int  # records in it, minus one
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & MAX_SEQUENCE


@dataclass(slots=True)
class Producer:
    """One producer id. The batches are all of its current epoch."""

    epoch: int
    timestamp: int
    batches: deque[Batch] = field(default_factory=lambda: deque(maxlen=REMEMBERED_BATCHES))
    coordinator_epoch: int = -1
    transaction_first_offset: int | None = None

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else -1


class ProducerState:
    """All producers of one log, as of the batches before end_offset."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self.producers: dict[int, Producer] = {}
        self.end_offset = 0
        self._disk = disk
        self._directory = directory
        self._snapshots: list[int] = []  # their offsets, ascending

    # -- one batch

    def check(self, header: BatchHeader) -> Appended | None:
        """Check a producer's batch before it is appended. Returns where it was appended if it was before; None if it
        comes next. Errors: OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH.
        """
        producer = self.producers.get(header.producer_id)
        if producer is None:
            return None
        first, last = header.base_sequence, header.last_sequence
        if header.producer_epoch == producer.epoch:
            for known in producer.batches:
                if known.last_sequence == last and known.first_sequence == first:
                    base_offset = known.last_offset - known.offset_delta
                    return Appended(
                        base_offset, known.last_offset, header.size_bytes, known.timestamp, known.last_offset
                    )
            if first == (producer.last_sequence + 1) & MAX_SEQUENCE:
                return None
            what = f"sent sequence number {first} after {producer.last_sequence}"
        elif header.producer_epoch > producer.epoch:
            if first == 0:
                return None
            what = f"begins epoch {header.producer_epoch} with {first} instead of 0"
        else:
            what = f"sent epoch {header.producer_epoch}, but {producer.epoch} is in use"
            raise KafkaError(Error.INVALID_PRODUCER_EPOCH, f"producer {header.producer_id} {what}")
        raise KafkaError(Error.OUT_OF_ORDER_SEQUENCE_NUMBER, f"producer {header.producer_id} {what}")

    def replay(self, header: BatchHeader) -> None:
        """Take a batch of the log into account, in the order of the log. Its leader has checked it."""
        self.end_offset = header.next_offset
        if header.producer_id < 0:
            return
        producer = self.producers.get(header.producer_id)
        if producer is None:
            producer = self.producers[header.producer_id] = Producer(header.producer_epoch, header.max_timestamp)
        if header.producer_epoch != producer.epoch:
            producer.epoch = header.producer_epoch
            producer.batches.clear()
        producer.timestamp = header.max_timestamp
        if header.control:
            producer.transaction_first_offset = None
            return
        producer.batches.append(
            Batch(header.last_sequence, header.last_offset, header.last_offset_delta, header.max_timestamp)
        )
        if header.transactional and producer.transaction_first_offset is None:
            producer.transaction_first_offset = header.base_offset

    def replay_segment(self, segment: Segment, up_to_offset: int) -> Iterator[int]:
        """Take a segment's batches below an offset into account, as far as they were not yet. Yields the bytes read."""
        start = self.end_offset
        if start < up_to_offset:
            for _, header in segment.headers(segment.position_before(start), up_to_offset):
                if header.last_offset >= start:
                    self.replay(header)
                    yield BATCH_OVERHEAD
            self.end_offset = max(self.end_offset, up_to_offset)

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget producers that have been silent since producer.id.expiration.ms, unless a transaction is open."""
        expired = [
            producer_id
            for producer_id, producer in self.producers.items()
            if producer.transaction_first_offset is None and now_ms - producer.timestamp >= expiration_ms
        ]
        for producer_id in expired:
            del self.producers[producer_id]

    # -- snapshots

    def find_snapshots(self, names: list[str]) -> None:
        """Take note of the snapshots among a folder's files."""
        offsets = (offset_in(name) for name in names if name.endswith(SNAPSHOT))
        self._snapshots = sorted(offset for offset in offsets if offset is not None)

    def take_snapshot(self) -> None:
        """Write the state before end_offset, if that isn't on disk yet."""
        if self.end_offset not in self._snapshots:
            self._disk.write_atomic(self._path(self.end_offset), encode_snapshot(self.producers))
            self._snapshots = sorted([*self._snapshots, self.end_offset])

    def load(self, up_to_offset: int, log_start_offset: int) -> None:
        """Begin with the newest readable snapshot up to an offset, or with nothing: end_offset says how far."""
        self.producers, self.end_offset = {}, log_start_offset
        for offset in reversed(self._snapshots):
            if offset <= up_to_offset:
                try:
                    self.producers = decode_snapshot(self._disk.read(self._path(offset)))
                except (KafkaError, FileNotFoundError):
                    self._remove(offset)
                    continue
                self.end_offset = max(offset, log_start_offset)
                return

    def keep_snapshots(self, base_offsets: set[int], log_end_offset: int) -> None:
        """Delete those behind the log's end, and those of no segment except for the newest, of a clean stop."""
        known = [offset for offset in self._snapshots if offset <= log_end_offset]
        for offset in set(self._snapshots) - {*known[-1:], *(base_offsets & set(known))}:
            self._remove(offset)

    def reset(self, offset: int) -> None:
        """The log is empty and goes on at an offset."""
        self.producers, self.end_offset = {}, offset
        for snapshot in list(self._snapshots):
            self._remove(snapshot)

    def _remove(self, offset: int) -> None:
        self._snapshots.remove(offset)
        if self._disk.exists(self._path(offset)):
            self._disk.remove(self._path(offset))

    def _path(self, offset: int) -> str:
        return f"{self._directory}/{file_name(offset, SNAPSHOT)}"


def encode_snapshot(producers: dict[int, Producer]) -> bytes:
    """A snapshot file. Of the last batches it holds the newest: the others only serve retries that are on their way."""
    content = bytearray(_COUNT.pack(len(producers)))
    for producer_id, producer in producers.items():
        last = producer.batches[-1] if producer.batches else Batch(-1, -1, 0, -1)
        first_offset = -1 if producer.transaction_first_offset is None else producer.transaction_first_offset
        content += _ENTRY.pack(
            producer_id, producer.epoch, last.last_sequence, last.last_offset, last.offset_delta,
            producer.timestamp, producer.coordinator_epoch, first_offset,
        )  # fmt: skip
    return _HEAD.pack(_VERSION, crc32c(content)) + content


def decode_snapshot(data: bytes) -> dict[int, Producer]:
    """What encode_snapshot wrote. Errors: CORRUPT_MESSAGE."""
    if len(data) < _HEAD.size + _COUNT.size:
        raise KafkaError(Error.CORRUPT_MESSAGE, "a producer snapshot that is not whole")
    version, crc = _HEAD.unpack_from(data)
    content = memoryview(data)[_HEAD.size :]
    (count,) = _COUNT.unpack_from(content)
    if version != _VERSION or crc != crc32c(content) or len(content) != _COUNT.size + count * _ENTRY.size:
        raise KafkaError(Error.CORRUPT_MESSAGE, "a producer snapshot that is not whole")
    producers = {}
    for entry in _ENTRY.iter_unpack(content[_COUNT.size :]):
        producer_id, epoch, last_sequence, last_offset, offset_delta, timestamp, coordinator_epoch, first_offset = entry
        producer = Producer(epoch, timestamp, coordinator_epoch=coordinator_epoch)
        if last_offset >= 0:
            producer.batches.append(Batch(last_sequence, last_offset, offset_delta, timestamp))
        producer.transaction_first_offset = first_offset if first_offset >= 0 else None
        producers[producer_id] = producer
    return producers
