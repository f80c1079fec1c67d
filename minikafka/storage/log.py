"""The log of one partition: record batches, each with the next offset, in a row of
segments.

    orders-0/                            log start offset          recovery point          log end offset
      00000000000000000000.log                |                          |                       |
      00000000000000004711.log                v                          v                       v
      00000000000000009000.log       .........[ the records that are there ......................][ the next one

Appending. Only the newest segment is written to, only at its end, and in one write. The
leader stamps base offset and leader epoch into the batch and appends it as it came,
compressed or not. Nothing is synced: a record survives the death of this process as
soon as it is written, and the death of the machine because other replicas have it too.
When the newest segment is full, or too old, it is closed and a new one begins
("rolling").

Reading. The segment with the largest base offset up to the wanted offset holds it, and
its sparse index says where to begin reading batch headers. From the batch that holds
the offset on, bytes are sent exactly as they are in the file. The first batch may begin
before the wanted offset: the consumer skips the records it didn't ask for. Offsets in a
log only grow, and none occurs twice, but there may be gaps.

Deleting. The log is cut at both ends. At the front whole segments are deleted, because
they are too old or the log is too large (retention.py); DeleteRecords may also move the
log start offset into a segment (KIP-107). At the end, records that a new leader never
had are truncated (truncate_to).

Compacting. In a compacted topic, closed segments are replaced by shorter ones that keep
only the latest record for each key, at its offset (compaction.py).

Restarting. Everything below the recovery point is synced to disk. After a crash only
the part after it is read and checked, and the log ends with the last batch that is
whole (recovery.py). A batch is there or not: if the disk is full, the log end offset
stays and the torn bytes are cut off.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass
from typing import Any

from minikafka.clock import Now
from minikafka.storage import data_folder
from minikafka.storage.checkpoints import (
    read_partition_metadata,
    write_partition_metadata,
)
from minikafka.storage.checks import Looked, checked, look_at
from minikafka.storage.config import LogConfig
from minikafka.storage.disk import Disk, as_storage_errors
from minikafka.storage.epochs import LeaderEpochs
from minikafka.storage.index import Aborted, overlapping
from minikafka.storage.producer_state import Appended as Appended
from minikafka.storage.producer_state import ProducerState
from minikafka.storage.rolling import reason_to_roll
from minikafka.storage.segment import Segment, with_ends
from minikafka.trace import Reason, Trace
from minikafka.wire.errors import CorruptRecord, Error, KafkaError
from minikafka.wire.internal_records import EndTransaction, markers
from minikafka.wire.primitives import Buffer
from minikafka.wire.records import BatchHeader, stamp
from minikafka.wire.records import batches as whole_batches
from minikafka.wire.unpacking import Allowance

MAX_EPOCH = 2**31 - 1
DELETE_RECORDS = Reason("delete_records", "DeleteRecords")
BELOW_START = Reason("log_start_offset", "its records lie before the log start offset")
ALL_ARE_DELETED = Reason("all_are_deleted", "all older segments are to be deleted")


@dataclass(eq=False, repr=False)
class Log:
    """One partition's log in one folder.

    If the folder doesn't exist it is made, and the log is ready; otherwise call
    `recovery.recover` first. log_end_offset: the offset that the next record gets.
    log_start_offset: the first one that may be read. recovery_point: everything below
    it is synced. first_dirty_offset: in a compacted log, no key occurs twice below it.
    topic_id: 16 bytes. Disk errors are raised as KAFKA_STORAGE_ERROR, and leave the log
    as it was.
    """

    disk: Disk
    directory: str
    config: LogConfig
    trace: Trace
    topic: str
    partition: int
    _: KW_ONLY
    topic_id: InitVar[bytes | None] = None
    recovery_point: int = 0
    log_start_offset: int = 0
    first_dirty_offset: int = 0

    def __post_init__(self, topic_id: bytes | None) -> None:
        self.log_end_offset = self.log_start_offset
        self._storage_errors = as_storage_errors(self.directory)
        # by base offset; empty until the log is recovered
        self.segments: list[Segment] = []
        # from this offset on, bytes are missing or aren't the ones that were written
        self.damaged_from: int | None = None
        # offsets of an earlier run that this run hasn't checked yet
        self.unchecked = range(0)
        with self._storage_errors:
            new = not self.disk.exists(self.directory)
            self.disk.mkdir(self.directory)
            if topic_id is not None:
                self._name_topic(topic_id)
            self.epochs = LeaderEpochs(self.disk, self.directory)
            self.producers = ProducerState(self.disk, self.directory)
            if new:
                self.recovery_point = self.log_start_offset
                self.first_dirty_offset = 0
                self.producers.reset(self.log_start_offset)
                self.segments.append(self.open_segment(self.log_start_offset))

    def _name_topic(self, topic_id: bytes) -> None:
        if read_partition_metadata(self.disk, self.directory) is None:
            write_partition_metadata(self.disk, self.directory, topic_id)

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self.segments)

    @property
    def may_have_gaps(self) -> bool:
        """Whether offsets may be missing, because compaction dropped records whose keys
        were written again.
        """
        return self.config.compacts or self.first_dirty_offset > 0

    @property
    def active(self) -> Segment:
        """The segment that is written to."""
        return self.segments[-1]

    def open_segment(self, base_offset: int, suffix: str = "") -> Segment:
        """Open a segment's files; they are created if they don't exist."""
        return Segment(
            self.disk,
            self.directory,
            base_offset,
            self.config.index_interval_bytes,
            suffix,
        )

    def tell(self, kind: str, **detail: Any) -> None:
        """Emit a trace event about this partition. Call it only behind `if
        log.trace`.
        """
        self.trace.emit(kind, topic=self.topic, partition=self.partition, **detail)

    # -- appending

    def append(
        self,
        batches: bytearray | memoryview,
        leader_epoch: int,
        now: Now,
        headers: Sequence[BatchHeader] | None = None,
    ) -> Appended:
        """Append whole, checked batches as their leader: stamp the next offsets and the
        epoch into them, in place, and write them.

        headers: those of these batches, if the caller has read them already. Idempotent
        producers are noted here; the caller checks them.
        """
        if headers is None:
            headers = [header for header, _ in whole_batches(batches)]
        append_ms = None
        if self.config.message_timestamp_type == "LogAppendTime":
            append_ms = now.wall_ms
        view = memoryview(batches)
        at = 0
        offset = self.log_end_offset
        stamped = []
        for header in headers:
            end = at + header.size_bytes
            stamp(view[at:end], offset, leader_epoch, append_ms)
            newest_ms = header.max_timestamp if append_ms is None else append_ms
            header = header._replace(
                base_offset=offset,
                partition_leader_epoch=leader_epoch,
                max_timestamp=newest_ms,
            )
            stamped.append(header)
            offset = header.next_offset
            at = end
        return self._write(view[:at], stamped, now.wall_ms)

    def append_as_follower(
        self, batches: Buffer, leader_epoch: int = MAX_EPOCH, gapless: bool = False
    ) -> Appended:
        """Append whole batches that a leader of this epoch has stamped. gapless: no
        offset may be missing. Errors: CorruptRecord or INVALID_RECORD if they can't
        come next, or aren't what was once written.
        """
        view = memoryview(batches)
        headers = checked(view, self.log_end_offset, gapless=gapless)
        if not headers:
            raise CorruptRecord(f"{len(view)} bytes that hold no whole batch")
        epoch = self.epochs.latest
        for header in headers:
            if not epoch <= header.partition_leader_epoch <= leader_epoch:
                what = f"leader epoch {header.partition_leader_epoch}"
                raise CorruptRecord(
                    f"a batch of {what} where {epoch} to {leader_epoch} may come"
                )
            epoch = header.partition_leader_epoch
        whole_bytes = sum([header.size_bytes for header in headers])
        return self._write(view[:whole_bytes], headers, None)

    def _write(
        self, batches: memoryview, headers: Sequence[BatchHeader], now_ms: int | None
    ) -> Appended:
        ends = list(markers(batches, headers))
        with self._storage_errors:
            for header in headers:
                epoch = header.partition_leader_epoch
                if epoch > self.epochs.latest or self.epochs.is_behind:
                    self.epochs.assign(epoch, header.base_offset)
            size_bytes = len(batches)
            segment = self.segments[-1]
            why = reason_to_roll(segment, self.config, size_bytes, headers, now_ms)
            if why:
                self.roll(headers[0].base_offset, why)
                segment = self.segments[-1]
            segment.append(batches, headers, now_ms)
        last_offset = headers[-1].last_offset
        self.log_end_offset = last_offset + 1
        for header, marker in ends:
            self.note_producer(segment, header, marker)
        if self.log_end_offset - self.recovery_point >= self.config.flush_messages:
            self.flush()
        newest = headers[0]
        if len(headers) > 1:
            newest = max(headers, key=lambda header: header.max_timestamp)
        return Appended(
            base_offset=headers[0].base_offset,
            last_offset=last_offset,
            size_bytes=size_bytes,
            max_timestamp=newest.max_timestamp,
            offset_of_max_timestamp=newest.last_offset,
        )

    def note_producer(
        self, segment: Segment, header: BatchHeader, marker: EndTransaction | None
    ) -> None:
        """Note a new batch of a segment in the state of the producers and in the index
        of aborted transactions.
        """
        aborted = self.producers.replay(header, marker)
        if aborted is not None:
            with self._storage_errors:
                segment.aborted.append(aborted)

    # -- rolling

    def roll(self, base_offset: int, why: Reason, sync: bool = True) -> None:
        """Close the active segment and begin a new one. The closed segment is synced,
        together with a snapshot of its producers.
        """
        self.active.seal()
        self.producers.end_offset = base_offset
        self.producers.take_snapshot()
        if sync:
            self._sync()
        # Last, because the disk may be full before: then there is no segment that the
        # next, smaller append knows nothing of.
        self.segments.append(self.open_segment(base_offset))
        self.recovery_point = base_offset
        if self.trace:
            self.tell("SegmentRolled", base_offset=base_offset, why=why)

    # -- reading

    def read(
        self,
        offset: int,
        max_bytes: int,
        up_to_offset: int,
        min_one: bool = True,
        fill_up: bool = False,
    ) -> list[memoryview]:
        """Whole batches of one segment, from the one that holds `offset` on, below
        up_to_offset. Empty at the end of the log.

        max_bytes: how many bytes. With min_one the first batch is returned even if it
        is larger; with fill_up the last one may be cut at that size. Errors:
        OFFSET_OUT_OF_RANGE.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            why = (
                f"offset {offset} is not in {self.log_start_offset} to"
                f" {self.log_end_offset}"
            )
            raise KafkaError(Error.OFFSET_OUT_OF_RANGE, why)
        if offset >= up_to_offset:
            return []
        with self._storage_errors:
            for segment in self.segments[self.segment_of(offset) :]:
                found = segment.read(offset, max_bytes, up_to_offset, min_one, fill_up)
                # None: compaction left nothing of this segment from that offset on
                if found is not None:
                    return [found] if found else []
        return []

    def look_at(self, offset: int, max_bytes: int) -> Looked:
        """Check the batches from this offset on: see checks.py."""
        with self._storage_errors:
            looked = look_at(self, offset, max_bytes)
        if offset == self.unchecked.start:
            self.unchecked = range(looked.next_offset, self.unchecked.stop)
        return looked

    def has_aborted_from(self, offset: int) -> bool:
        """Whether there may be an aborted transaction whose marker is at `offset` or
        after it.
        """
        later = self.segments[self.segment_of(offset) :]
        return any([segment.aborted.exists for segment in later])

    def aborted_transactions(self, offset: int, up_to_offset: int) -> list[Aborted]:
        """The aborted transactions with records from `offset` on and below
        up_to_offset, ordered by their first offsets. A read_committed reader drops
        their records. up_to_offset: no transaction is open below it.
        """
        with self._storage_errors:
            later = self.segments[self.segment_of(offset) :]
            indexes = [segment.aborted for segment in later]
            return overlapping(indexes, offset, up_to_offset)

    def segment_of(self, offset: int) -> int:
        """The number of the segment with the largest base offset up to this one. The
        search starts at the newest segment, which is asked for most.
        """
        number = len(self.segments) - 1
        while number > 0 and self.segments[number].base_offset > offset:
            number -= 1
        return number

    def offset_for_timestamp(
        self, timestamp: int, allowance: Allowance | None = None
    ) -> tuple[int, int, int] | None:
        """(timestamp, offset, leader epoch) of the first record whose timestamp is
        `timestamp` or later; None if there is none. If the search would take more than
        is allowed, the offset is an earlier one: see Segment.find_timestamp.
        """
        start = self.log_start_offset
        with self._storage_errors:
            allowance = allowance or Allowance()
            for segment in self.segments:
                largest, _ = segment.largest
                if largest < timestamp:
                    continue
                found = segment.find_timestamp(timestamp, start, allowance)
                if found is not None:
                    return found
        return None

    def max_timestamp(
        self, allowance: Allowance | None = None
    ) -> tuple[int, int] | None:
        """(timestamp, offset) of the first record with the largest timestamp (KIP-734);
        None in a log without records. If the search would take more than is allowed,
        the offset is the last one of its batch.
        """
        with self._storage_errors:
            segment = max(self.segments, key=lambda segment: segment.largest[0])
            timestamp, last_offset = segment.largest
            if timestamp < 0:
                return None
            allowance = allowance or Allowance()
            offset = segment.first_with(timestamp, last_offset, allowance)
            return None if offset is None else (timestamp, offset)

    # -- leader epochs

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """The answer to OffsetForLeaderEpoch: (largest known epoch up to `epoch`,
        offset where it ends); (-1, -1) if unknown.
        """
        return self.epochs.end_offset(epoch, self.log_end_offset)

    def diverging_epoch(
        self, last_fetched_epoch: int, fetch_offset: int
    ) -> tuple[int, int] | None:
        """Where a reader's log diverges from this one (KIP-595): (epoch, end offset);
        None if it doesn't. last_fetched_epoch: the leader epoch of the reader's last
        record.

        Errors: OFFSET_OUT_OF_RANGE if the epoch is unknown here.
        """
        epoch, end_offset = self.epochs.end_offset(
            last_fetched_epoch, self.log_end_offset
        )
        if epoch < 0:
            raise KafkaError(
                Error.OFFSET_OUT_OF_RANGE,
                f"the end of leader epoch {last_fetched_epoch} is not known",
            )
        if epoch < last_fetched_epoch or end_offset < fetch_offset:
            return epoch, end_offset
        return None

    # -- truncating

    def truncate_to(self, offset: int) -> None:
        """Drop all records from `offset` on, and epochs that would begin there. A batch
        is never split: a batch that holds the offset is dropped whole.
        """
        if offset >= self.log_end_offset:
            with self._storage_errors:
                self.epochs.truncate_from_end(offset)
            return
        if offset < self.segments[0].base_offset:
            return self.truncate_fully_and_start_at(offset)
        with self._storage_errors:
            self.drop_segments(self.segment_of(offset) + 1)
            found = self.active.locate(offset)
            if found is not None:
                position, header = found
                offset = min(offset, header.base_offset)
                self.active.truncate(position)
                self.active.flush()
            self.end_at(offset)
        if self.trace:
            self.tell("LogTruncated", log_end_offset=offset)

    def damaged_at(self, offset: int) -> None:
        """Note that from this offset on the log isn't what was written."""
        if self.damaged_from is None or offset < self.damaged_from:
            self.damaged_from = offset

    def drop_damaged(self) -> None:
        """Drop everything from the damage on. Headers there can't be trusted, so the
        log is cut after the last batch before it that is whole.
        """
        offset, self.damaged_from = self.damaged_from, None
        assert offset is not None
        if offset <= self.segments[0].base_offset:
            return self.truncate_fully_and_start_at(offset)
        with self._storage_errors:
            self.drop_segments(self.segment_of(offset) + 1)
            offset = min(offset, self.active.cut_off(offset))
            self.active.flush()
            self.end_at(offset)
        if self.trace:
            self.tell("LogTruncated", log_end_offset=offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Drop all records; the next record gets this offset."""
        with self._storage_errors:
            self.drop_segments(0)
            self.segments.append(self.open_segment(offset))
            self.active.flush()
            self.epochs.truncate_from_end(0)
            self.producers.reset(offset)
            self.log_start_offset = self.log_end_offset = offset
            self.recovery_point = self.first_dirty_offset = offset
        if self.trace:
            self.tell("LogTruncated", log_end_offset=offset)

    def drop_segments(self, first: int) -> None:
        """Delete the segments with this number and higher ones."""
        for segment in self.segments[first:]:
            segment.remove()
        del self.segments[first:]

    def end_at(self, offset: int) -> None:
        """Set the log end offset, and drop everything that checkpoints, epochs and
        producers say about records after it.
        """
        self.log_end_offset = offset
        self.recovery_point = min(self.recovery_point, offset)
        self.log_start_offset = min(self.log_start_offset, offset)
        self.first_dirty_offset = min(self.first_dirty_offset, offset)
        self.epochs.truncate_from_end(offset)
        self.keep_snapshots()
        if self.producers.end_offset > offset:
            for _ in self.replay_producers(offset):
                pass
        self.producers.end_offset = offset

    def replay_producers(self, up_to_offset: int) -> Generator[int, None, None]:
        """Rebuild the state of the producers before an offset: from the newest
        snapshot, then from the headers after it.
        """
        self.producers.load(up_to_offset, self.log_start_offset)
        for segment in self.segments[self.segment_of(self.producers.end_offset) :]:
            yield from self.producers.replay_segment(segment, up_to_offset)

    def keep_snapshots(self) -> None:
        """Delete the producer snapshots that no segment needs any more."""
        self.producers.keep_snapshots(
            {segment.base_offset for segment in self.segments}, self.log_end_offset
        )

    def delete_records(self, offset: int, why: Reason | None = DELETE_RECORDS) -> None:
        """Move the log start offset up (KIP-107): readers lose the records before it at
        once, and whole segments are removed from the disk. why: the reason for the
        trace; None if the trace isn't told.

        Errors: OFFSET_OUT_OF_RANGE beyond the log end offset.
        """
        if offset > self.log_end_offset:
            what = f"offset {offset} is beyond the log end offset {self.log_end_offset}"
            raise KafkaError(Error.OFFSET_OUT_OF_RANGE, what)
        with self._storage_errors:
            self.move_start(offset, why)
            start = self.log_start_offset
            self.delete_segments(lambda segment, end: end <= start, BELOW_START)

    def delete_segments(
        self,
        deletable: Callable[[Segment, int], bool],
        why: Reason,
        *,
        start_why: Reason | None = None,
        **limit: int,
    ) -> None:
        """Delete segments from the first on, while deletable(segment, end offset)
        holds. An empty active segment stays. For the trace: why each segment goes;
        start_why: why the log starts later, where other words are needed; limit: the
        setting that decides.
        """
        count = 0
        for segment, end in with_ends(self.segments):
            is_empty = segment is self.active and not segment.size
            if is_empty or not deletable(segment, end):
                break
            count += 1
        if not count:
            return
        if count == len(self.segments):
            self.roll(self.log_end_offset, ALL_ARE_DELETED, sync=False)
        gone, self.segments = self.segments[:count], self.segments[count:]
        if self.segments[0] is self.active:
            # otherwise a power loss could take the only file that still knows where
            # the log was
            self.active.flush()
        start = self.segments[0].base_offset
        self.move_start(start, start_why or why)
        for segment, end in with_ends(gone, start):
            size_bytes = segment.size
            segment.remove()
            if self.trace:
                self.tell(
                    "SegmentDeleted",
                    base_offset=segment.base_offset,
                    next_offset=end,
                    size_bytes=size_bytes,
                    why=why,
                    **limit,
                )
        self.keep_snapshots()

    def move_start(self, offset: int, why: Reason | None) -> None:
        """Let the log begin at `offset`, if that is later than now."""
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self.epochs.truncate_from_start(offset)
            if self.trace and why is not None:
                self.tell("LogStartOffsetAdvanced", log_start_offset=offset, why=why)

    # -- closing and deleting

    def flush(self) -> None:
        """Sync everything, and move the recovery point to the log end offset."""
        with self._storage_errors:
            if self.recovery_point < self.log_end_offset:
                self._sync()
                if self.producers.producers:
                    self.producers.take_snapshot()
                self.recovery_point = self.log_end_offset

    def _sync(self) -> None:
        self.epochs.flush()
        for segment in self.segments[self.segment_of(self.recovery_point) :]:
            segment.flush()

    def close(self) -> None:
        """Stop cleanly: everything is synced, so the next start needs to read
        nothing.
        """
        with self._storage_errors:
            if self.segments:
                self.active.seal()
                self.flush()
                # An empty log leaves nothing to read at the next start, and a snapshot
                # for each of thousands of them would mean thousands of syncs. (Apache
                # Kafka doesn't write them either when they say no more than where the
                # log begins.)
                has_records = self.log_end_offset > self.log_start_offset
                if has_records or self.producers.producers:
                    self.producers.take_snapshot()
            for segment in self.segments:
                segment.close()

    def delete(self) -> Generator[int, None, None]:
        """Remove the log from the disk, file by file. Yields the bytes freed."""
        with self._storage_errors:
            for segment in self.segments:
                segment.close()
            self.segments = []
            # Renamed first, so that a crash in between leaves no half of the log under
            # its name.
            renamed = data_folder.rename(self.disk, self.directory, data_folder.DELETE)
            yield from data_folder.remove(self.disk, renamed)
