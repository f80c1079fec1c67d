"""Compaction: the log keeps only the latest record for each key, so that it holds a
table instead of the table's whole history.

             clean     dirty        active
    offset   1  4  5 | 6  7  8  9 | 10 11            8 is a tombstone: the key "b" without a value, "b is deleted"
    key      c  b  a | c  a  b  c |  a  d

    offset   7  8  9              | 10 11            after a pass; the active segment is left alone
    key      a  b  c              |  a  d

A pass has two halves. First it reads the dirty part, from where the last pass ended up
to the active segment, and notes the last offset of each key there. Then it rewrites the
closed segments, including the clean part, and leaves out the records whose key occurs
again later. A record that stays keeps its offset, so a compacted log has gaps, and
consumers still find their place. A batch keeps its first and last offset and its
sequence numbers, even if only its header is left. An empty batch stays if it holds a
producer's last sequence number, or the last offset of the pass.

Tombstones. A reader that has seen a key's value must see its tombstone too, or it would
never learn that the key is gone. So the first pass that drops values because of a
tombstone keeps the tombstone itself, and writes into its batch when it may be dropped:
delete.retention.ms from now, the delete horizon (KIP-534). The first pass after that
time drops it.

Transactions. Records stay if their transaction was committed, and are dropped if it was
aborted, according to the index of aborted transactions. So a pass ends before the first
open transaction. Once a pass finds no records of a transaction before its marker any
more, it writes a delete horizon into the marker, too: a reader that has read some of
the records must still see how the transaction ended.

Swapping. New segments are written beside the old ones and put in their place by
renaming, one group of neighbours at a time, with Apache Kafka's file names:

    1  .log.cleaned and its indexes are written and synced      a crash leaves .cleaned files: deleted
    2  .cleaned becomes .swap, the log first                    .cleaned among .swap: both deleted
    3  the old segments are removed                             .swap, all of it: steps 3 and 4 are done at restart
    4  .swap loses its suffix, the log first                    an index with .swap: step 4 is done at restart

If the new segment ends earlier than the old ones, step 3 may leave old segments after
it at a restart. They do no harm: they are the end of the part that was being replaced,
so the records that supersede theirs come even later. The next pass begins where this
one began, and finds them.

Nobody waits for a pass. Closed segments don't change meanwhile, unless the log is
truncated: then the pass is given up.
"""

from bisect import bisect_right
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

from minikafka.storage.disk import as_storage_errors
from minikafka.storage.file_names import FILES, LOG, file_name, files_in
from minikafka.storage.index import Aborted
from minikafka.storage.log import Log
from minikafka.storage.segment import Segment, with_ends
from minikafka.wire import records
from minikafka.wire.primitives import Buffer
from minikafka.wire.records import BatchHeader, RawRecord
from minikafka.wire.unpacking import TooMuchToDecode

CLEANED, SWAP = ".cleaned", ".swap"
# decoding records takes about this many times as long as reading their bytes
DECODING_COST = 128
ENTRY_BYTES = 128  # memory for a key's offset, besides the key

_PIECE_BYTES = 32 << 10  # read at a time
_SLICE_BYTES = 64 << 10  # of decompressed records, after which others may work: some ms
_RECORD_BYTES = 32  # cost of a record besides its own bytes
# bytes of keys: a batch is always noted whole, even if less room is left
_ONE_BATCH_BYTES = 64 << 20
_NO_TIMESTAMP, _LAST_TIMESTAMP = -1, 2**63 - 1
_MOST_TOLD = 200  # most offsets that an event names

# why a record was dropped, as the trace says it
NO_KEY, ABORTED, KEY_COMES_AGAIN = "no_key", "aborted", "key_comes_again"
TOMBSTONE_EXPIRED, MARKER_EXPIRED = "tombstone_expired", "marker_expired"


# -- the latest record of each key


class Transactions:
    """The transactions of a log in which none is open: which producers aborted, and
    which producers' records are still there.
    """

    def __init__(self, aborted: list[Aborted]) -> None:
        self._by_producer: dict[int, list[Aborted]] = {}
        self._by_marker = {each.last_offset: each for each in aborted}
        self._seen: set[int] = set()  # producers with records after their last marker
        for each in aborted:
            self._by_producer.setdefault(each.producer_id, []).append(each)

    def is_aborted(self, header: BatchHeader) -> bool:
        """Whether a batch's records belong to an aborted transaction."""
        if not header.transactional or header.control:
            return False
        known = self._by_producer.get(header.producer_id, ())
        number = bisect_right(known, header.base_offset, key=_first_offset)
        return number > 0 and header.base_offset < known[number - 1].last_offset

    def pass_by(self, header: BatchHeader) -> tuple[bool, Aborted | None]:
        """Call it for each batch of the log, in order. Returns whether the batch is a
        marker whose transaction has no records left, and if it isn't, the transaction
        that it aborts, if any.
        """
        if not header.transactional:
            return False, None
        if not header.control:
            self._seen.add(header.producer_id)
            return False, None
        if header.producer_id not in self._seen:
            return True, None
        self._seen.discard(header.producer_id)
        return False, self._by_marker.get(header.base_offset)


@dataclass(eq=False, repr=False)
class LatestOffsets:
    """The last offset of each key in a part of a log, without those of aborted
    transactions.

    end_offset: where the part ends. It moves back to the point at which room_bytes, the
    memory for keys, was used up.
    """

    _first_offset: int
    end_offset: int
    _room_bytes: int
    _transactions: Transactions
    full: bool = False
    _offsets: dict[bytes, int] = field(default_factory=dict)

    def wants(self, header: BatchHeader) -> bool:
        """Whether the records of the next batch are to be noted, one by one."""
        if header.control or header.last_offset < self._first_offset:
            return False
        if self._transactions.is_aborted(header):
            return False
        if self._room_bytes <= 0:
            self.end_offset = min(self.end_offset, header.base_offset)
        self.full = header.base_offset >= self.end_offset
        return not self.full

    def note(self, record: RawRecord) -> None:
        """Note the offset of a record's key."""
        if record.key is None:
            return
        known = self._offsets.get(record.key, -1)
        if known < 0:
            self._room_bytes -= len(record.key) + ENTRY_BYTES
            if self._room_bytes < -_ONE_BATCH_BYTES:
                raise TooMuchToDecode
        self._offsets[record.key] = max(record.offset, known)

    @property
    def keys(self) -> int:
        """How many different keys have been noted so far."""
        return len(self._offsets)

    def offsets_from(self, offset: int) -> list[int]:
        """The latest records' offsets, from this one on."""
        return sorted(each for each in self._offsets.values() if each >= offset)

    def why_gone(self, header: BatchHeader, record: RawRecord, now_ms: int) -> str:
        """Why a record is dropped from the log; "" if it stays."""
        if header.control or record.offset >= self.end_offset:
            return ""
        if record.key is None:
            return NO_KEY
        if self._transactions.is_aborted(header):
            return ABORTED
        if record.offset < self._offsets.get(record.key, -1):
            return KEY_COMES_AGAIN
        horizon = header.delete_horizon
        if horizon is None or horizon > now_ms or not record.tombstone:
            return ""
        return TOMBSTONE_EXPIRED


# -- one pass


def tells_all(log: Log) -> bool:
    """Whether the trace is told about a pass step by step. About Kafka's own topics it
    is told only the end.
    """
    return bool(log.trace) and not log.topic.startswith("__")


class Copied:
    """What the trace says about the copy of a segment, by offsets: the records that
    were copied, the dropped ones with the reason, and the copied tombstones and markers
    that get their horizon.
    """

    def __init__(self) -> None:
        self.copied: list[int] = []
        self.gone: list[list[Any]] = []
        self.horizons: list[int] = []

    def note(self, offset: int, why: str, waits: bool) -> None:
        """why: the reason for a dropped record, "" for one that stays. waits: the
        record is to be dropped after delete.retention.ms.
        """
        if why:
            self.gone.append([offset, why])
            return
        self.copied.append(offset)
        if waits:
            self.horizons.append(offset)

    def detail(self) -> dict[str, Any]:
        return {
            "copied": len(self.copied),
            "gone": len(self.gone),
            "copied_offsets": self.copied[:_MOST_TOLD],
            "gone_offsets": self.gone[:_MOST_TOLD],
            "horizons": self.horizons[:_MOST_TOLD],
        }


class LogChanged(Exception):
    """Segments were deleted or truncated while they were being compacted, so the
    offsets noted for their keys are wrong now.
    """


class Compaction:
    """One pass over a log. It cleans the dirty part below end_offset, where a segment
    begins.

    now_ms: wall clock. buffer_bytes: memory for keys; if it isn't enough, the next pass
    goes on from there.
    """

    def __init__(
        self, log: Log, end_offset: int, now_ms: int, buffer_bytes: int
    ) -> None:
        self.log = log
        self._first_dirty_offset = max(log.first_dirty_offset, log.log_start_offset)
        self._end_offset = end_offset
        self._now_ms = now_ms
        unstable = log.producers.first_unstable_offset(end_offset)
        stable = end_offset if unstable is None else min(end_offset, unstable)
        aborted = log.aborted_transactions(log.log_start_offset, stable)
        self._transactions = Transactions(aborted)
        self._latest = LatestOffsets(
            self._first_dirty_offset, stable, buffer_bytes, self._transactions
        )
        self._segments = [
            segment for segment in log.segments if segment.base_offset < end_offset
        ]
        self._sizes = [segment.size for segment in self._segments]
        self._cleaned: Segment | None = None
        self._work_bytes = 0
        self._copied: Copied | None = None  # only while the trace has a listener
        assert self._segments, "nothing to clean"

    def run(self) -> Generator[int, None, None]:
        """Yields the work done, measured in bytes of plain reading. At the end the log
        is clean up to its first_dirty_offset. Errors: KAFKA_STORAGE_ERROR, and those of
        decode_batch for records that can't be read: their segment stays as it is.
        """
        with as_storage_errors(self.log.directory):
            try:
                self._check_segments()  # it may have begun before others worked
                yield from self._note_keys()
                for group in self._groups():
                    yield from self._rewrite(group)
                self.log.first_dirty_offset = self._latest.end_offset
            except LogChanged:
                self.discard()
            except OSError:
                raise
            except Exception:
                self.discard()
                raise

    def _note_keys(self) -> Generator[int, None, None]:
        for segment, end in with_ends(self._segments, self._end_offset):
            if end <= self._first_dirty_offset:
                continue
            yield from self._note_keys_of(segment)
            if tells_all(self.log):
                self.log.tell(
                    "KeysNoted",
                    base_offset=segment.base_offset,
                    next_offset=end,
                    keys=self._latest.keys,
                    offsets=self._latest.offsets_from(segment.base_offset)[:_MOST_TOLD],
                )
            if self._latest.full:
                return

    def _note_keys_of(self, segment: Segment) -> Generator[int, None, None]:
        start = segment.position_before(self._first_dirty_offset)
        for header, batch in segment.batches(start, _PIECE_BYTES):
            if self._latest.wants(header):
                for record in self._records(header, batch):
                    self._latest.note(record)
                    if self._work_bytes >= _SLICE_BYTES:
                        yield from self._pause()
            elif self._latest.full:
                return

    def _groups(self) -> list[list[Segment]]:
        """Groups of neighbours whose records and indexes would fit into one segment
        even if no record were dropped.
        """
        config = self.log.config
        groups: list[list[Segment]] = []
        size_bytes = index_bytes = 0
        for segment, end in with_ends(self._segments, self._end_offset):
            if segment.base_offset >= self._latest.end_offset:
                break
            own_index_bytes = max(
                segment.index.size_bytes, segment.time_index.size_bytes
            )
            size_bytes += segment.size
            index_bytes += own_index_bytes
            fits = (
                size_bytes <= config.segment_bytes
                and index_bytes <= config.segment_index_bytes
            )
            if not groups or not fits or end - 1 > groups[-1][0].max_offset:
                groups.append([])
                size_bytes = segment.size
                index_bytes = own_index_bytes
            groups[-1].append(segment)
        return groups

    def _rewrite(self, group: list[Segment]) -> Generator[int, None, None]:
        """Rewrite a group as one segment, and put that in its place."""
        cleaned = self.log.open_segment(group[0].base_offset, CLEANED)
        self._cleaned = cleaned
        last_offsets = self._needed_last_offsets()
        records_before = records_after = 0
        for segment, end in with_ends(group, self._end_of(group)):
            self._copied = Copied() if tells_all(self.log) else None
            for header, batch in segment.batches(0, _PIECE_BYTES):
                needed = header.last_offset in last_offsets
                gone, aborts = self._transactions.pass_by(header)
                rest = yield from self._clean(header, batch, needed, gone)
                records_before += header.records_count
                if rest:
                    kept = records.read_header(rest)
                    cleaned.append(rest, [kept], None)
                    records_after += kept.records_count
                if aborts is not None:
                    cleaned.aborted.append(aborts)
            if self._copied is not None:
                self.log.tell(
                    "SegmentCopied",
                    base_offset=segment.base_offset,
                    next_offset=end,
                    into=cleaned.base_offset,
                    delete_retention_ms=self.log.config.delete_retention_ms,
                    **self._copied.detail(),
                )
        size_bytes_before = sum([segment.size for segment in group])
        size_bytes_after = cleaned.size
        next_offset = self._swap(group, cleaned)
        self._cleaned = None
        if self.log.trace:
            self.log.tell(
                "SegmentsCompacted",
                base_offset=cleaned.base_offset,
                next_offset=next_offset,
                records_before=records_before,
                records_after=records_after,
                size_bytes_before=size_bytes_before,
                size_bytes_after=size_bytes_after,
            )

    def _end_of(self, group: list[Segment]) -> int:
        """The offset at which the segment after these begins."""
        following = self.log.segments.index(group[-1]) + 1
        return self.log.segments[following].base_offset

    def _needed_last_offsets(self) -> set[int]:
        """The last offsets of batches that stay even if they are empty: the last batch
        of each producer, and the last one of the pass.
        """
        needed = {self._end_offset - 1}
        for producer in self.log.producers.producers.values():
            if producer.batches:
                needed.add(producer.batches[-1].last_offset)
        return needed

    def _clean(
        self, header: BatchHeader, batch: memoryview, needed: bool, gone: bool
    ) -> Generator[int, None, Buffer]:
        """Returns what is left of a batch: all of it unchanged, a part, only its header
        if that is needed, or nothing. gone: the batch is a marker whose transaction has
        no records left.

        The records are read twice, once to see which of them stay and once to write
        those, so that they are never all in memory at once.
        """
        count = 0
        first = newest = _NO_TIMESTAMP
        horizon = header.delete_horizon
        for record in self._records(header, batch):
            why = self._why_gone(header, record, gone)
            if self._copied is not None:
                is_new = header.delete_horizon is None
                waits = is_new and self._may_go_later(header, record, gone)
                self._copied.note(record.offset, why, waits)
            if not why:
                if not count:
                    first = newest = record.timestamp
                newest = max(newest, record.timestamp)
                count += 1
                if horizon is None and self._may_go_later(header, record, gone):
                    wanted = self._now_ms + self.log.config.delete_retention_ms
                    horizon = min(wanted, _LAST_TIMESTAMP)
            if self._work_bytes >= _SLICE_BYTES:
                yield from self._pause()
        if not count:
            return empty(header) if needed else b""
        if count == header.records_count and horizon == header.delete_horizon:
            return batch
        shorter = header._replace(
            base_timestamp=first, max_timestamp=newest, records_count=count
        )
        if horizon is not None:  # the batch's timestamps are relative to it
            shorter = shorter._replace(
                base_timestamp=horizon,
                attributes=header.attributes | records.DELETE_HORIZON,
            )
        content = bytearray()
        for record in self._records(header, batch):
            if not self._why_gone(header, record, gone):
                records.encode_raw(content, shorter, record)
            if self._work_bytes >= _SLICE_BYTES:
                yield from self._pause()
        return records.assemble(shorter, content)

    def _why_gone(self, header: BatchHeader, record: RawRecord, gone: bool) -> str:
        """Why a record is dropped; "" if it stays."""
        horizon = header.delete_horizon
        if gone and horizon is not None and horizon <= self._now_ms:
            return MARKER_EXPIRED
        return self._latest.why_gone(header, record, self._now_ms)

    def _may_go_later(self, header: BatchHeader, record: RawRecord, gone: bool) -> bool:
        """Whether a record that stays now may be dropped after delete.retention.ms."""
        if record.offset >= self._latest.end_offset:
            return False
        return gone or (record.tombstone and not header.control)

    def _records(self, header: BatchHeader, batch: memoryview) -> Iterator[RawRecord]:
        """A batch's records; their cost is added up. Errors: CorruptRecord, because a
        rewritten batch would get a new, valid checksum.
        """
        records.check_crc(batch, header)
        self._work_bytes += records.BATCH_OVERHEAD
        for record in records.raw_records(batch):
            self._work_bytes += len(record.rest) + _RECORD_BYTES
            yield record

    def _swap(self, group: list[Segment], cleaned: Segment) -> int:
        """Put a segment in the place of those that it was made from. Returns the offset
        after them.
        """
        log = self.log
        cleaned.seal()
        cleaned.flush()
        cleaned.rename(SWAP)
        for segment in group:
            segment.remove()
        cleaned.rename("")
        replacement = log.open_segment(cleaned.base_offset)
        replacement.appended_ms = group[-1].appended_ms
        for segments in (log.segments, self._segments):
            first = segments.index(group[0])
            segments[first : first + len(group)] = [replacement]
        self._sizes = [segment.size for segment in self._segments]
        log.keep_snapshots()
        return log.segments[log.segments.index(replacement) + 1].base_offset

    def _pause(self) -> Generator[int, None, None]:
        """Let others work, then make sure that the segments haven't changed."""
        work_bytes, self._work_bytes = self._work_bytes, 0
        yield work_bytes * DECODING_COST
        self._check_segments()

    def _check_segments(self) -> None:
        """Errors: LogChanged."""
        found = self.log.segments[: len(self._segments)]
        sizes = [segment.size for segment in found]
        if found != self._segments or sizes != self._sizes:
            raise LogChanged

    def discard(self) -> None:
        """Remove the segment that wasn't put in place. If the log was deleted
        meanwhile, it is gone already.
        """
        if self._cleaned is None:
            return
        self._cleaned.close()
        for kind in FILES:
            name = file_name(self._cleaned.base_offset, kind)
            path = f"{self.log.directory}/{name}{CLEANED}"
            if self.log.disk.exists(path):
                self.log.disk.remove(path)


def _first_offset(aborted: Aborted) -> int:
    return aborted.first_offset


def empty(header: BatchHeader) -> bytes:
    """A batch of which only the header is left."""
    attributes = header.attributes & ~records.DELETE_HORIZON & ~records.COMPRESSION
    emptied = header._replace(
        attributes=attributes, base_timestamp=_NO_TIMESTAMP, records_count=0
    )
    return records.assemble(emptied, b"")


# -- restart


def finish_swap(log: Log) -> None:
    """Finish the swap that a crash interrupted if the new segment is complete;
    otherwise remove the new segment.
    """
    disk, directory = log.disk, log.directory
    unfinished = files_in(disk, directory, CLEANED)
    if unfinished:
        first = min(unfinished.values())
        for name, offset in files_in(disk, directory, CLEANED, SWAP).items():
            if offset >= first:
                disk.remove(f"{directory}/{name}")
    for base_offset in files_in(disk, directory, LOG + SWAP).values():
        segment = log.open_segment(base_offset, SWAP)
        end = segment.next_offset()
        segment.close()
        for name, offset in files_in(disk, directory, *FILES).items():
            if base_offset <= offset < end:
                disk.remove(f"{directory}/{name}")
    for kind in FILES:
        for name in files_in(disk, directory, kind + SWAP):
            disk.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix(SWAP)}")
