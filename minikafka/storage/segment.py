"""A segment: a run of a log's batches in one file, and the two indexes that find a
place in it.

`00000000000000000042.log` begins at offset 42, its base offset, and holds record
batches one after the other, exactly as they travel over the network. Only the newest
segment of a log is written to; a closed one never changes again. The indexes are sparse
(see index.py), so a search ends by reading batch headers until it reaches the right
one. A third index, of aborted transactions, exists if the segment has a marker that
aborts one.
"""

from collections.abc import Iterator, Sequence
from struct import Struct

from minikafka.storage.disk import Disk
from minikafka.storage.file_names import (
    FILES,
    INDEX,
    LOG,
    TIME_INDEX,
    TRANSACTION_INDEX,
    file_name,
)
from minikafka.storage.index import (
    OFFSET_ENTRY,
    TIME_ENTRY,
    Entry,
    Index,
    TransactionIndex,
)
from minikafka.wire.errors import CorruptRecord, KafkaError
from minikafka.wire.primitives import Buffer
from minikafka.wire.records import (
    BATCH_OVERHEAD,
    LOG_OVERHEAD,
    BatchHeader,
    batches,
    moments,
    read_header,
)
from minikafka.wire.unpacking import Allowance, TooMuchToDecode

MAX_OFFSET = 2**63 - 1
MAX_RELATIVE_OFFSET = 2**31 - 1

# reading a batch's header takes about as long as looking at this many records
_HEADER_COST = 3
_SCAN_BYTES = 8192  # a search reads headers in pieces of two index intervals
_REMEMBERED_READS = 8
# from a batch's header: base offset, batch length, last offset delta
_PLACE = Struct(">qi11xi")
_BASE_OFFSET = Struct(">q")


def with_ends(
    segments: "Sequence[Segment]", end: int = MAX_OFFSET
) -> "Iterator[tuple[Segment, int]]":
    """Neighbouring segments, each with its end: where the next one begins, or `end` for
    the last one.
    """
    ends = [segment.base_offset for segment in segments[1:]]
    return zip(segments, [*ends, end], strict=True)


class Segment:
    """One segment. A search may need the disk; appending takes one write.

    suffix: added to the file names while the segment isn't part of its log
    (compaction.py).
    """

    def __init__(
        self,
        disk: Disk,
        directory: str,
        base_offset: int,
        index_interval_bytes: int,
        suffix: str = "",
    ) -> None:
        self.base_offset = base_offset
        # the largest offset that its indexes can hold
        self.max_offset = base_offset + MAX_RELATIVE_OFFSET
        self.index_interval_bytes = index_interval_bytes
        # wall clock of the last append; None until it is known
        self.appended_ms: int | None = None
        self._disk = disk
        self._directory = directory
        self._suffix = suffix
        self.index = Index(disk, self.path(INDEX), OFFSET_ENTRY)
        self.time_index = Index(disk, self.path(TIME_INDEX), TIME_ENTRY)
        self.aborted = TransactionIndex(disk, self.path(TRANSACTION_INDEX))
        # last, because the log file is what makes a segment
        self.log = disk.open(self.path(LOG))
        self._files = (self.log, self.index, self.time_index, self.aborted)
        self._first_timestamp: int | None = None
        self._largest: tuple[int, int] | None = None
        self._bytes_since_index_entry = 0
        # where the last reads ended: offset -> position
        self._next_reads: dict[int, int] = {}

    def path(self, kind: str) -> str:
        """The path of one of its files; kind is an ending from FILES."""
        return f"{self._directory}/{file_name(self.base_offset, kind)}{self._suffix}"

    @property
    def size(self) -> int:
        """The size of the record batches, in bytes."""
        return self.log.size

    @property
    def largest(self) -> tuple[int, int]:
        """(largest timestamp, last offset of the first batch that has it); (-1, base
        offset) if no batch has a timestamp.
        """
        if self._largest is None:
            entry = self.time_index.last
            if entry is None:
                self._largest = (-1, self.base_offset)
            else:
                self._largest = (entry.key, self.base_offset + entry.value)
        return self._largest

    def check_largest(self) -> None:
        """Check the largest timestamp, which the time index gives, against the log. If
        it is wrong, search the log for it.
        """
        timestamp, offset = self.largest
        try:
            found = self.locate(offset)
            if found is not None:
                _, header = found
                if (header.max_timestamp, header.last_offset) == (timestamp, offset):
                    return
            headers = [header for _, header in self.headers(0) if header.records_count]
            newest = max(headers, key=lambda header: header.max_timestamp)
            self._largest = (newest.max_timestamp, newest.last_offset)
        except (KafkaError, ValueError):  # the log can't be read, or has no records
            return

    @property
    def first_timestamp(self) -> int:
        """The largest timestamp of the first batch, from which segment.ms counts; -1 if
        it has none.
        """
        if self._first_timestamp is None:
            if not self.size:
                return -1
            first = read_header(self.log.pread(BATCH_OVERHEAD, 0))
            self._first_timestamp = first.max_timestamp
        return self._first_timestamp

    # -- writing

    def append(
        self, batches: Buffer, headers: Sequence[BatchHeader], now_ms: int | None
    ) -> None:
        """Append whole batches. headers: theirs, with the final offsets. Errors:
        OSError, and then nothing is appended.
        """
        position = self.log.size
        self.log.append([batches])
        self.appended_ms = now_ms
        for header in headers:
            self.note(position, header)
            position += header.size_bytes

    def note(self, position: int, header: BatchHeader) -> None:
        """Note the batch at `position`: its timestamp if it is the largest, and an
        index entry if one is due.
        """
        last_offset = header.last_offset
        if position == 0:
            self._first_timestamp = header.max_timestamp
        if header.max_timestamp > self.largest[0] and header.records_count:
            self._largest = (header.max_timestamp, last_offset)
        if self._bytes_since_index_entry > self.index_interval_bytes:
            self.index.append(last_offset - self.base_offset, position)
            self._note_time()
            self._bytes_since_index_entry = 0
        self._bytes_since_index_entry += header.size_bytes

    def _note_time(self) -> None:
        timestamp, offset = self.largest
        last = self.time_index.last
        noted = -1 if last is None else last.key
        if timestamp > noted:
            self.time_index.append(timestamp, offset - self.base_offset)

    def seal(self) -> None:
        """Close the segment: its time index ends with its largest timestamp, which
        retention looks at.
        """
        self._note_time()
        self.index.write()
        self.time_index.write()

    def flush(self) -> None:
        """Make everything survive a power loss."""
        for file in self._files:
            file.flush()

    def close(self) -> None:
        for file in self._files:
            file.close()

    def remove(self) -> None:
        """Delete the files, the log last. A crash may then leave a log without indexes,
        which can be rebuilt; an index without a log means that somebody else removed
        it.
        """
        self.close()
        for path in reversed(self._paths()):
            self._disk.remove(path)

    def rename(self, suffix: str) -> None:
        """Give the files another suffix, the log first. Afterwards the segment has to
        be opened again.
        """
        self.close()
        olds = self._paths()
        self._suffix = suffix
        for old, new in zip(olds, self._paths(), strict=True):
            self._disk.rename(old, new)

    def _paths(self) -> list[str]:
        """The paths of the files that exist, the log first."""
        return [
            self.path(kind)
            for kind in FILES
            if kind != TRANSACTION_INDEX or self.aborted.exists
        ]

    def truncate(self, position: int) -> None:
        """Cut off the batches from `position` on."""
        _, first_lost = next(self.headers(position))
        try:
            self.reindex(first_lost.base_offset)
        except KafkaError:  # the indexes are damaged, so rebuild them
            self.truncate_indexes(self.base_offset)
            self.reindex(first_lost.base_offset)
        self.aborted.truncate(first_lost.base_offset)
        self.log.truncate(position)

    def cut_off(self, offset: int) -> int:
        """Keep the batches below an offset, whatever comes after them. Returns the
        position where they end.
        """
        position, end = 0, self.base_offset
        try:
            for at, header in self.headers(0):
                if header.base_offset < end or header.last_offset >= offset:
                    break
                position, end = at + header.size_bytes, header.next_offset
        except KafkaError:
            pass  # the bytes to be cut off aren't a header
        self.log.truncate(min(position, self.size))
        self.truncate_indexes(self.base_offset)
        for at, header in self.headers(0):
            self.note(at, header)
        self.aborted.truncate(end)
        return end

    def reindex(self, up_to_offset: int) -> tuple[int, int]:
        """Cut the indexes off at an offset, and note the batches between their last
        entry and that offset again. Returns where these end: (position, next offset).
        Errors: CorruptRecord if the indexes don't fit the log.
        """
        self.truncate_indexes(up_to_offset)
        position, next_offset = 0, self.base_offset
        for at, header in self._tail(up_to_offset):
            self.note(at, header)
            position, next_offset = at + header.size_bytes, header.next_offset
        return position, next_offset

    def truncate_indexes(self, offset: int) -> None:
        """Keep the index entries for offsets below this one."""
        relative = offset - self.base_offset
        kept = kept_times = 0
        if relative:
            kept = self.index.find(relative - 1)
            kept_times = len(self.time_index)
        while kept_times and self.time_index[kept_times - 1].value >= relative:
            kept_times -= 1
        self.index.truncate(kept)
        self.time_index.truncate(kept_times)
        self._largest = None
        self._bytes_since_index_entry = 0
        self._next_reads.clear()

    # -- reading

    def headers(
        self, position: int, up_to_offset: int = MAX_OFFSET
    ) -> Iterator[tuple[int, BatchHeader]]:
        """(position, header) of the batches from a position on and below an offset. No
        records are read.
        """
        piece, start = b"", position
        while position < self.size:
            if position + BATCH_OVERHEAD > start + len(piece):
                piece, start = self.log.pread(_SCAN_BYTES, position), position
            header = read_header(piece, position - start)
            if header.base_offset >= up_to_offset:
                return
            yield position, header
            if header.next_offset >= up_to_offset:
                return
            position += header.size_bytes

    def batches(
        self, position: int, piece_bytes: int
    ) -> Iterator[tuple[BatchHeader, memoryview]]:
        """All batches from a position on, read in pieces of about piece_bytes. Errors:
        CorruptRecord.
        """
        while position < self.size:
            first = read_header(self.log.pread(BATCH_OVERHEAD, position))
            if first.size_bytes > self.size - position:
                raise CorruptRecord(
                    f"the batch at position {position} of segment {self.base_offset} is"
                    " not whole"
                )
            piece = self.log.pread(max(piece_bytes, first.size_bytes), position)
            for header, batch in batches(piece):
                yield header, batch
                position += header.size_bytes

    def position_before(self, offset: int) -> int:
        """Where to begin reading headers to find the batch that holds this offset. An
        index entry that the log contradicts is passed over, so a damaged index makes a
        search slow but not wrong.
        """
        relative = offset - self.base_offset
        entry = self.index.lookup(relative)
        if entry and entry.key <= relative and self._agrees(entry):
            return entry.value
        return 0

    def _tail(
        self, up_to_offset: int = MAX_OFFSET
    ) -> Iterator[tuple[int, BatchHeader]]:
        """(position, header) of the batches from the last index entry on. Errors:
        CorruptRecord if the log contradicts the entry.
        """
        entry = self.index.last
        if entry and not self._agrees(entry):
            raise CorruptRecord("the index does not fit the log")
        return self.headers(entry.value if entry else 0, up_to_offset)

    def _agrees(self, entry: Entry) -> bool:
        """Whether the batch at an entry's position ends at its offset."""
        if not 0 <= entry.value < self.size:
            return False
        try:
            header = read_header(self.log.pread(BATCH_OVERHEAD, entry.value))
        except KafkaError:
            return False
        return header.last_offset - self.base_offset == entry.key

    def locate(self, offset: int) -> tuple[int, BatchHeader] | None:
        """Position and header of the first batch that ends at this offset or later;
        None if all batches end before it.
        """
        for position, header in self.headers(self.position_before(offset)):
            if header.last_offset >= offset:
                return position, header
        return None

    def next_offset(self) -> int:
        """The offset after the last batch: the last index entry is at most an interval
        away from it. Errors: CorruptRecord if the ends of log and indexes don't fit
        together.
        """
        end, offset = 0, self.base_offset
        for position, header in self._tail():
            if header.base_offset < offset:
                raise CorruptRecord(
                    f"offset {header.base_offset} stands where {offset} comes next"
                )
            end, offset = position + header.size_bytes, header.next_offset
        if end != self.size:
            raise CorruptRecord("the last batch is not whole")
        time_entry = self.time_index.last
        if time_entry and not 0 <= time_entry.value < offset - self.base_offset:
            raise CorruptRecord("the time index does not fit the log")
        return offset

    def batch(self, position: int, header: BatchHeader) -> bytes:
        return self.log.pread(header.size_bytes, position)

    def read(
        self,
        offset: int,
        max_bytes: int,
        up_to_offset: int,
        min_one: bool,
        fill_up: bool = False,
    ) -> memoryview | None:
        """Whole batches from the one that holds the offset on, in at most max_bytes;
        with min_one the first batch is returned even if it alone is larger. fill_up:
        use the bytes that are left for the beginning of one more batch.

        Returns None if no batch of this segment ends at the offset or later.
        """
        position = self._next_reads.get(offset, -1)
        if position < 0:
            found = self.locate(offset)
            if found is None:
                return None
            position, _ = found
        left = self.size - position
        if left <= 0:
            return None
        wanted_bytes = max(max_bytes, BATCH_OVERHEAD)
        data = self.log.pread(min(wanted_bytes, left), position)
        first_bytes = 0
        if left >= BATCH_OVERHEAD:
            _, length, _ = _PLACE.unpack_from(data)
            first_bytes = LOG_OVERHEAD + length
        if not BATCH_OVERHEAD <= first_bytes <= left:
            raise CorruptRecord(
                f"the batch at offset {offset} claims {first_bytes} bytes, and {left}"
                " are there"
            )
        if first_bytes > max_bytes:
            if not min_one:
                return memoryview(b"")
            data = self.log.pread(first_bytes, position)
        is_cut = fill_up and len(data) < left
        return self._batches_below(up_to_offset, data, position, is_cut)

    def _batches_below(
        self, up_to_offset: int, data: bytes, position: int, is_cut: bool
    ) -> memoryview:
        """The batches in the bytes read at a position. is_cut: also the beginning of
        the next batch, if that is below up_to_offset.
        """
        end = next_offset = 0
        while len(data) - end >= BATCH_OVERHEAD:
            base_offset, length, last_offset_delta = _PLACE.unpack_from(data, end)
            next_end = end + LOG_OVERHEAD + length
            is_whole = end + BATCH_OVERHEAD <= next_end <= len(data)
            if not is_whole or base_offset >= up_to_offset:
                break
            end = next_end
            next_offset = base_offset + last_offset_delta + 1
        if end:
            if len(self._next_reads) >= _REMEMBERED_READS:
                oldest = next(iter(self._next_reads))
                del self._next_reads[oldest]
            self._next_reads[next_offset] = position + end
        if is_cut and next_offset < up_to_offset:
            is_named = len(data) - end >= _BASE_OFFSET.size
            if not is_named or _BASE_OFFSET.unpack_from(data, end)[0] < up_to_offset:
                return memoryview(data)
        return memoryview(data)[:end]

    def find_timestamp(
        self, timestamp: int, from_offset: int, allowance: Allowance
    ) -> tuple[int, int, int] | None:
        """(timestamp, offset, leader epoch) of the first record from from_offset on
        whose timestamp is `timestamp` or later; None if this segment has none.

        A search that would look at more than is allowed ends early. It then returns the
        segment's largest timestamp and the offset it has reached: it can't have missed
        a matching record before that.
        """
        first = self.base_offset
        older = self.time_index.lookup(timestamp - 1)
        if older:
            first += older.value
        start = self.position_before(max(first, from_offset))
        for position, header in self.headers(start):
            if header.last_offset < from_offset:
                continue
            reached = max(from_offset, header.base_offset)
            try:
                allowance.use(_HEADER_COST)
                if header.max_timestamp >= timestamp:
                    batch = self.batch(position, header)
                    for found, offset in moments(batch, allowance):
                        if found >= timestamp and offset >= from_offset:
                            return found, offset, header.partition_leader_epoch
                        reached = max(reached, offset)
            except TooMuchToDecode:
                return self.largest[0], reached, header.partition_leader_epoch
        return None

    def first_with(
        self, timestamp: int, last_offset: int, allowance: Allowance
    ) -> int | None:
        """The offset of the first record with this timestamp in the batch that ends at
        last_offset; None if no record has it; last_offset if finding out would look at
        more than is allowed.
        """
        located = self.locate(last_offset)
        if located is None:
            return None
        batch = self.batch(*located)
        try:
            for found, offset in moments(batch, allowance):
                if found == timestamp:
                    return offset
        except TooMuchToDecode:
            return last_offset
        return None
