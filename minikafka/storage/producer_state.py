"""A log remembers its idempotent producers, so that a retried batch is written only
once (KIP-98, KIP-360).

A producer numbers the records it sends to a partition: each batch carries producer id,
epoch and base sequence. For each producer id the log keeps the epoch and the last five
batches (five, because a producer has at most five requests in flight):

- a batch with the sequence numbers of one of the five was written before, and is
  answered with the offset it got then;
- the next batch must begin with the sequence number after the last one's; with any
  other, records were lost on the way: OUT_OF_ORDER_SEQUENCE_NUMBER;
- a batch of an older epoch comes from a producer that was replaced:
  INVALID_PRODUCER_EPOCH;
- a batch of a newer epoch begins at 0 again;
- a producer that the log doesn't know, perhaps because retention deleted its records,
  may begin with any number.

Transactions. A producer's first transactional batch opens a transaction here, and the
marker that the transaction coordinator writes ends it. Until then, and until the high
watermark has passed the marker, its first offset is unstable: read_committed consumers
stop there. A marker, too, is refused if its epoch is older than the producer's, or if
its coordinator's epoch is older than one seen before: TRANSACTION_COORDINATOR_FENCED.

All this can be derived from the log itself. So that a restart needn't read the whole
log for it, a snapshot is written when a segment is closed and at a clean stop:
`00000000000000000042.snapshot` is the state before offset 42.
"""

import struct
import weakref
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from minikafka.storage.disk import Disk
from minikafka.storage.file_names import file_name, files_in
from minikafka.storage.index import Aborted
from minikafka.storage.segment import Segment
from minikafka.wire.compression import crc32c
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.internal_records import EndTransaction, decode_end_transaction
from minikafka.wire.records import BATCH_OVERHEAD, MAX_SEQUENCE, BatchHeader

REMEMBERED_BATCHES = 5
MOST_PRODUCERS = 50_000  # per log, at half a kilobyte each
MAX_EPOCH = 2**15 - 1
SNAPSHOT = ".snapshot"

_VERSION = 1
_HEAD = struct.Struct(">hI")  # version, CRC-32C of the bytes after it
_COUNT = struct.Struct(">i")
# producer id, epoch, last sequence, last offset, offset delta, timestamp, coordinator
# epoch, first offset of the transaction
_ENTRY = struct.Struct(">qhiqiqiq")


class Appended(NamedTuple):
    """The offsets and timestamps that an append assigned. offset_of_max_timestamp: the
    last offset of the batch that has the largest timestamp.
    """

    base_offset: int
    last_offset: int
    size_bytes: int
    max_timestamp: int
    offset_of_max_timestamp: int


class Marker(NamedTuple):
    """The end of a transaction in one partition. coordinator_epoch: of the coordinator
    that decided. transaction_version: 2 if each transaction has an epoch of its own
    (KIP-890).
    """

    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int
    transaction_version: int = 0


class Batch(NamedTuple):
    """One of a producer's last batches."""

    last_sequence: int
    last_offset: int
    offset_delta: int  # records in it, minus one
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & MAX_SEQUENCE


@dataclass(slots=True)
class Producer:
    """One producer id. All batches are of its current epoch."""

    epoch: int
    timestamp: int
    batches: tuple[Batch, ...] = ()
    coordinator_epoch: int = -1
    transaction_first_offset: int | None = None

    def remember(self, batch: Batch) -> None:
        self.batches = (*self.batches[1 - REMEMBERED_BATCHES :], batch)

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else -1


class Guard:
    """Held while the coordinator is being asked whether a producer's transaction may
    begin here. A marker for the producer that arrives meanwhile makes it invalid
    (KIP-890).
    """


class ProducerState:
    """All producers of one log, as of the batches before end_offset."""

    def __init__(self, disk: Disk, directory: str) -> None:
        self.producers: dict[int, Producer] = {}
        self.end_offset = 0
        self._disk = disk
        self._directory = directory
        self._snapshots: list[int] = []  # their offsets, ascending
        # producer ids with an open transaction, ordered by its first offset
        self.ongoing: dict[int, None] = {}
        # (marker's offset, transaction's first offset), not replicated yet
        self.decided: deque[tuple[int, int]] = deque()
        self._guards: weakref.WeakValueDictionary[int, Guard] = (
            weakref.WeakValueDictionary()
        )

    # -- one batch

    def check(self, header: BatchHeader) -> Appended | None:
        """Check a producer's batch before it is appended. Returns None if it comes
        next; if it was appended before, it returns where. Errors:
        OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH; INVALID_TXN_STATE for a
        batch without the transactional bit while a transaction is open.
        """
        producer = self.producers.get(header.producer_id)
        if producer is None:
            return None
        self.check_epoch(header.producer_id, header.producer_epoch)
        first, last = header.base_sequence, header.last_sequence
        same_epoch = header.producer_epoch == producer.epoch
        for known in producer.batches if same_epoch else ():
            if known.last_sequence == last and known.first_sequence == first:
                return Appended(
                    base_offset=known.last_offset - known.offset_delta,
                    last_offset=known.last_offset,
                    size_bytes=header.size_bytes,
                    max_timestamp=known.timestamp,
                    offset_of_max_timestamp=known.last_offset,
                )
        wanted = (producer.last_sequence + 1) & MAX_SEQUENCE if same_epoch else 0
        if first != wanted:
            what = f"begins epoch {header.producer_epoch} with {first} instead of 0"
            if same_epoch:
                what = f"sent sequence number {first} after {producer.last_sequence}"
            why = f"producer {header.producer_id} {what}"
            raise KafkaError(Error.OUT_OF_ORDER_SEQUENCE_NUMBER, why)
        if header.producer_id in self.ongoing and not header.transactional:
            what = (
                f"producer {header.producer_id} sent a batch without a transaction, and"
                " has one open"
            )
            raise KafkaError(Error.INVALID_TXN_STATE, what)
        return None

    def check_epoch(self, producer_id: int, epoch: int) -> None:
        """Check a batch or marker that a coordinator writes for a producer. Errors:
        INVALID_PRODUCER_EPOCH.
        """
        if self.is_stale(producer_id, epoch):
            producer = self.producers[producer_id]
            what = (
                f"producer {producer_id} sent epoch {epoch}, but {producer.epoch} is"
                " in use"
            )
            raise KafkaError(Error.INVALID_PRODUCER_EPOCH, what)

    def is_stale(self, producer_id: int, epoch: int) -> bool:
        """Whether a newer epoch of a producer is known."""
        producer = self.producers.get(producer_id)
        return producer is not None and epoch < producer.epoch

    def check_marker(self, marker: Marker) -> None:
        """Check a marker before it is appended. With transactions v2 its epoch is newer
        than the epoch that wrote the records (KIP-890, KIP-1228); a marker that is
        repeated after its transaction's end may have the same epoch. It may be newer by
        one at most, which is what a fencing coordinator writes: any larger epoch would
        lock the producer out for good. (Apache Kafka accepts any.)

        Errors: INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED.
        """
        epoch = marker.producer_epoch
        is_open = marker.producer_id in self.ongoing
        must_be_newer = marker.transaction_version >= 2 and is_open
        oldest = epoch
        if must_be_newer and epoch != MAX_EPOCH:
            oldest -= 1
        self.check_epoch(marker.producer_id, oldest)
        producer = self.producers.get(marker.producer_id)
        if producer is None:
            return
        if marker.coordinator_epoch < producer.coordinator_epoch:
            what = (
                f"coordinator epoch {marker.coordinator_epoch} after"
                f" {producer.coordinator_epoch}"
            )
            raise KafkaError(Error.TRANSACTION_COORDINATOR_FENCED, what)
        if is_open and epoch > producer.epoch + 1:
            what = f"epoch {epoch} ends a transaction of epoch {producer.epoch}"
            raise KafkaError(Error.INVALID_PRODUCER_EPOCH, what)

    def forget_coordinator(self, producer_id: int, highest: int) -> None:
        """Forget the coordinator epoch of a producer's last marker if it is above
        `highest`, the highest that exists: then no coordinator ever had it.
        """
        producer = self.producers.get(producer_id)
        if producer is not None and producer.coordinator_epoch > highest:
            producer.coordinator_epoch = -1

    def is_open(self, producer_id: int, epoch: int) -> bool:
        """Whether a producer has a transaction open here with this epoch."""
        if producer_id not in self.ongoing:
            return False
        return self.producers[producer_id].epoch == epoch

    def guard(self, producer_id: int) -> Guard:
        """A guard to hold until it is known whether a transaction may begin here."""
        return self._guards.setdefault(producer_id, Guard())

    def is_guarded_by(self, producer_id: int, guard: Guard) -> bool:
        """Whether no marker has arrived since the guard was taken."""
        return self._guards.get(producer_id) is guard

    def replay(
        self, header: BatchHeader, marker: EndTransaction | None
    ) -> Aborted | None:
        """Apply a batch of the log, in the log's order, to the state. The leader has
        checked it. marker: its content if it is a control batch. Returns the
        transaction that the marker aborts, if that has records here.
        """
        last_offset = header.last_offset
        self.end_offset = last_offset + 1
        if header.producer_id < 0 or (header.control and marker is None):
            return None
        producer = self.producers.get(header.producer_id)
        if producer is None:
            self._make_room()
            producer = Producer(header.producer_epoch, header.max_timestamp)
            self.producers[header.producer_id] = producer
        if header.producer_epoch != producer.epoch:
            producer.epoch = header.producer_epoch
            producer.batches = ()
        producer.timestamp = header.max_timestamp
        if marker is not None:
            return self._end(producer, header, marker)
        batch = Batch(
            last_sequence=header.last_sequence,
            last_offset=last_offset,
            offset_delta=header.last_offset_delta,
            timestamp=header.max_timestamp,
        )
        producer.remember(batch)
        if header.transactional and producer.transaction_first_offset is None:
            producer.transaction_first_offset = header.base_offset
            self.ongoing[header.producer_id] = None
        return None

    def _end(
        self, producer: Producer, header: BatchHeader, marker: EndTransaction
    ) -> Aborted | None:
        self._guards.pop(header.producer_id, None)
        producer.coordinator_epoch = marker.coordinator_epoch
        first_offset = producer.transaction_first_offset
        producer.transaction_first_offset = None
        if first_offset is None:
            return None
        del self.ongoing[header.producer_id]
        self.decided.append((header.base_offset, first_offset))
        if marker.committed:
            return None
        next_open = self._first_open()
        return Aborted(
            producer_id=header.producer_id,
            first_offset=first_offset,
            last_offset=header.base_offset,
            last_stable_offset=header.next_offset if next_open is None else next_open,
        )

    def _first_open(self) -> int | None:
        for producer_id in self.ongoing:
            return self.producers[producer_id].transaction_first_offset
        return None

    def first_unstable_offset(self, high_watermark: int) -> int | None:
        """The first offset of the earliest transaction that is open, or whose marker
        isn't replicated yet. high_watermark: it must never go back between calls.
        """
        if not self.ongoing and not self.decided:
            return None
        while self.decided and self.decided[0][0] < high_watermark:
            self.decided.popleft()
        offsets = [first_offset for _, first_offset in self.decided]
        first_open = self._first_open()
        if first_open is not None:
            offsets.append(first_open)
        return min(offsets, default=None)

    def replay_segment(self, segment: Segment, up_to_offset: int) -> Iterator[int]:
        """Apply those of a segment's batches below an offset that haven't been applied
        yet. Yields the bytes read.
        """
        start = self.end_offset
        if start >= up_to_offset:
            return
        begin = segment.position_before(start)
        for position, header in segment.headers(begin, up_to_offset):
            if header.last_offset < start:
                continue
            marker = None
            if header.control:
                marker = decode_end_transaction(segment.batch(position, header))
            self.replay(header, marker)
            yield BATCH_OVERHEAD
        self.end_offset = max(self.end_offset, up_to_offset)

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget producers that have been silent for producer.id.expiration.ms, unless
        they have an open transaction.
        """
        for producer_id, producer in list(self.producers.items()):
            is_silent = now_ms - producer.timestamp >= expiration_ms
            if is_silent and producer_id not in self.ongoing:
                del self.producers[producer_id]

    def _make_room(self) -> None:
        """When too many producers are remembered, those that have been silent for
        longest are forgotten, as if they had expired (Apache Kafka has no such limit).
        Many go at once, because it takes a while to look at all of them.
        """
        if len(self.producers) < MOST_PRODUCERS:
            return

        def heard_ms(producer_id: int) -> int:
            return self.producers[producer_id].timestamp

        idle = [each for each in self.producers if each not in self.ongoing]
        by_silence = sorted(idle, key=heard_ms)
        for producer_id in by_silence[: MOST_PRODUCERS // 10]:
            del self.producers[producer_id]

    # -- snapshots

    def find_snapshots(self) -> None:
        """Find the snapshots in the log's folder."""
        found = files_in(self._disk, self._directory, SNAPSHOT)
        self._snapshots = sorted(found.values())

    def take_snapshot(self) -> None:
        """Write the state before end_offset, unless that is on disk already."""
        if self.end_offset not in self._snapshots:
            snapshot = encode_snapshot(self.producers)
            self._disk.write_atomic(self._path(self.end_offset), snapshot)
            self._snapshots = sorted([*self._snapshots, self.end_offset])

    def load(self, up_to_offset: int, log_start_offset: int) -> None:
        """Load the newest readable snapshot up to an offset, or start with an empty
        state. end_offset then says how far it goes.
        """
        self._begin(log_start_offset)
        for offset in reversed(self._snapshots):
            if offset > up_to_offset:
                continue
            try:
                snapshot = decode_snapshot(self._disk.read(self._path(offset)))
            except (KafkaError, FileNotFoundError):
                self._remove(offset)
                continue
            self.producers = snapshot
            self.end_offset = max(offset, log_start_offset)
            self.ongoing = _ongoing(snapshot)
            return

    def keep_snapshots(self, base_offsets: set[int], log_end_offset: int) -> None:
        """Delete the snapshots after the end of the log, and those that belong to no
        segment, except the newest one, which a clean stop wrote.
        """
        known = [offset for offset in self._snapshots if offset <= log_end_offset]
        needed = base_offsets.intersection(known).union(known[-1:])
        for offset in set(self._snapshots) - needed:
            self._remove(offset)

    def reset(self, offset: int) -> None:
        """The log is now empty, and continues at an offset."""
        self._begin(offset)
        for snapshot in list(self._snapshots):
            self._remove(snapshot)

    def _begin(self, offset: int) -> None:
        self.producers = {}
        self.end_offset = offset
        self.ongoing.clear()
        self.decided.clear()

    def _remove(self, offset: int) -> None:
        self._snapshots.remove(offset)
        if self._disk.exists(self._path(offset)):
            self._disk.remove(self._path(offset))

    def _path(self, offset: int) -> str:
        return f"{self._directory}/{file_name(offset, SNAPSHOT)}"


def _ongoing(producers: dict[int, Producer]) -> dict[int, None]:
    """The producers with an open transaction, ordered by its first offset."""
    ongoing = []
    for producer_id, producer in producers.items():
        first_offset = producer.transaction_first_offset
        if first_offset is not None:
            ongoing.append((first_offset, producer_id))
    return {producer_id: None for _, producer_id in sorted(ongoing)}


def encode_snapshot(producers: dict[int, Producer]) -> bytes:
    """The content of a snapshot file: a row for each remembered batch of a producer,
    the newest last. Apache Kafka writes only the newest, and takes the last of several
    rows. The others are needed for requests that weren't answered before a restart.
    """
    content = bytearray()
    for producer_id, producer in producers.items():
        first_offset = producer.transaction_first_offset
        if first_offset is None:
            first_offset = -1
        for batch in producer.batches or [Batch(-1, -1, 0, -1)]:
            content += _ENTRY.pack(
                producer_id,
                producer.epoch,
                batch.last_sequence,
                batch.last_offset,
                batch.offset_delta,
                producer.timestamp,
                producer.coordinator_epoch,
                first_offset,
            )
    content[:0] = _COUNT.pack(len(content) // _ENTRY.size)
    return _HEAD.pack(_VERSION, crc32c(content)) + content


def decode_snapshot(data: bytes) -> dict[int, Producer]:
    """The producers in a snapshot file. Errors: CORRUPT_MESSAGE."""
    why = "a producer snapshot that is not whole"
    if len(data) < _HEAD.size + _COUNT.size:
        raise KafkaError(Error.CORRUPT_MESSAGE, why)
    version, crc = _HEAD.unpack_from(data)
    content = memoryview(data)[_HEAD.size :]
    (count,) = _COUNT.unpack_from(content)
    size = _COUNT.size + count * _ENTRY.size
    if version != _VERSION or crc != crc32c(content) or len(content) != size:
        raise KafkaError(Error.CORRUPT_MESSAGE, why)
    producers: dict[int, Producer] = {}
    for entry in _ENTRY.iter_unpack(content[_COUNT.size :]):
        (
            producer_id,
            epoch,
            last_sequence,
            last_offset,
            offset_delta,
            timestamp,
            coordinator_epoch,
            first_offset,
        ) = entry
        new = Producer(
            epoch=epoch,
            timestamp=timestamp,
            coordinator_epoch=coordinator_epoch,
            transaction_first_offset=first_offset if first_offset >= 0 else None,
        )
        producer = producers.setdefault(producer_id, new)
        if last_offset >= 0:
            batch = Batch(last_sequence, last_offset, offset_delta, timestamp)
            producer.remember(batch)
    return producers
