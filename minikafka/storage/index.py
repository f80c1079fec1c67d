"""A segment's three indexes, sorted: from an offset to a position in its file, from a
timestamp to an offset, and the aborted transactions, which a read_committed consumer
has to leave out (KIP-98).

    .index      relative offset int32, position int32
                the batch at this position ends at this offset
    .timeindex  timestamp int64, relative offset int32
                no batch up to this offset has a larger timestamp
    .txnindex   version int16, then int64 each: producer id, first offset, last offset,
                last stable offset

The first two are sparse. Their offsets count from the segment's base offset: four bytes
are enough, and a segment is closed before they aren't. There is an entry about every
index.interval.bytes (4096) of records, so 1 GB of records has at most 2 MB of `.index`:
a search reads a few hundred bytes of it and then at most one interval of the log. The
newest entries wait in memory until there are enough for one write: for the part of a
log that a crash can lose, the index is rebuilt anyway.

The third one has an entry for each marker in the segment that aborts a transaction, in
the order of the markers. A transaction goes from its first record to its marker, its
last offset; it may have begun in an earlier segment. The last stable offset is the one
after the marker, or the first offset of another transaction that was open then: the
transactions of later entries have no records before it. So a search ends with the first
entry whose last stable offset is beyond the offsets being read. The file is created
with its first entry; most segments have none.

The formats are Apache Kafka's, except that our files are never preallocated.
"""

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from minikafka.storage.disk import Disk, File

# relative offset and position; timestamp and relative offset
OFFSET_ENTRY, TIME_ENTRY = ">ii", ">qi"
OFFSET_ENTRY_BYTES, TIME_ENTRY_BYTES = 8, 12

_ABORTED, _ABORTED_VERSION = struct.Struct(">hqqqq"), 0

_PENDING_ENTRIES = 512
# entries read at a time: a search finds the first entry of a block, then reads the
# block
_BLOCK_ENTRIES = 64
_key = itemgetter(0)


class Entry(NamedTuple):
    """key: relative offset or timestamp, ascending. value: position or relative
    offset.
    """

    key: int
    value: int


class Index:
    """The entries of one file, sorted by key. entry: OFFSET_ENTRY or TIME_ENTRY."""

    def __init__(self, disk: Disk, path: str, entry: str) -> None:
        self._entry = struct.Struct(entry)
        self._file: File = disk.open(path)
        self._stored = self._file.size // self._entry.size
        if self._file.size % self._entry.size:
            self._file.truncate(self._stored * self._entry.size)
        self._pending: list[Entry] = []
        self._dirty = False
        self._last: Entry | None = None

    def __len__(self) -> int:
        return self._stored + len(self._pending)

    @property
    def size_bytes(self) -> int:
        return (self._stored + len(self._pending)) * self._entry.size

    @property
    def last(self) -> Entry | None:
        if self._last is None and len(self):
            self._last = self[len(self) - 1]
        return self._last

    def __getitem__(self, number: int) -> Entry:
        if number >= self._stored:
            return self._pending[number - self._stored]
        return self._read(number, 1)[0]

    def append(self, key: int, value: int) -> None:
        """Add an entry; its key must be larger than the last one's."""
        self._last = Entry(key, value)
        self._pending.append(self._last)
        if len(self._pending) >= _PENDING_ENTRIES:
            self.write()

    def find(self, key: int) -> int:
        """The number of entries whose key is at most `key`: the last of them is the
        place to start from.
        """
        if self._pending and self._pending[0].key <= key:
            return self._stored + bisect_right(self._pending, key, key=_key)
        blocks = range(0, self._stored, _BLOCK_ENTRIES)
        number = bisect_right(blocks, key, key=self._key_of)
        first = blocks[number - 1] if number else 0
        count = min(_BLOCK_ENTRIES, self._stored - first)
        return first + bisect_right(self._read(first, count), key, key=_key)

    def _key_of(self, number: int) -> int:
        return self._read(number, 1)[0].key

    def lookup(self, key: int) -> Entry | None:
        """The entry with the largest key that is at most `key`."""
        found = self.find(key)
        return self[found - 1] if found else None

    def truncate(self, entries: int) -> None:
        """Keep only the first `entries` entries."""
        if entries < len(self):
            self._last = None
        if entries < self._stored:
            self._file.truncate(entries * self._entry.size)
            self._stored, self._dirty = entries, True
        del self._pending[entries - self._stored :]

    def write(self) -> None:
        """Write the entries that wait in memory. Errors: OSError; the entries then stay
        in memory.
        """
        if self._pending:
            packed = [self._entry.pack(*entry) for entry in self._pending]
            self._file.append([b"".join(packed)])
            self._stored, self._dirty = len(self), True
            self._pending.clear()

    def flush(self) -> None:
        """Make the entries survive a power loss."""
        self.write()
        if self._dirty:
            self._file.flush()
            self._dirty = False

    def close(self) -> None:
        self._file.close()

    def _read(self, first: int, count: int) -> list[Entry]:
        size = self._entry.size
        data = self._file.pread(count * size, first * size)
        return [Entry._make(entry) for entry in self._entry.iter_unpack(data)]


class Aborted(NamedTuple):
    """An aborted transaction in one partition."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def overlapping(
    indexes: "Iterable[TransactionIndex]", offset: int, up_to_offset: int
) -> list[Aborted]:
    """The aborted transactions with records from `offset` on and below up_to_offset,
    ordered by their first offsets. indexes: those of the segment that holds `offset`
    and of all later ones.
    """
    found = []
    for aborted in chain.from_iterable(index.ending_from(offset) for index in indexes):
        if aborted.first_offset < up_to_offset:
            found.append(aborted)
        if aborted.last_stable_offset >= up_to_offset:
            break
    return sorted(found, key=lambda each: each.first_offset)


class TransactionIndex:
    """The aborted transactions whose markers are in one segment. Errors: OSError."""

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        self._file: File | None = disk.open(path) if disk.exists(path) else None

    @property
    def exists(self) -> bool:
        return self._file is not None

    def __len__(self) -> int:
        return self._file.size // _ABORTED.size if self._file else 0

    def append(self, aborted: Aborted) -> None:
        """Add a transaction whose marker has just been appended to the log."""
        if self._file is None:
            self._file = self._disk.open(self._path)
        self._file.append([_ABORTED.pack(_ABORTED_VERSION, *aborted)])

    def ending_from(self, offset: int) -> Iterator[Aborted]:
        """The transactions whose markers are at `offset` or after it."""
        number = self._find(offset)
        while block := self._read(number, _BLOCK_ENTRIES):
            yield from block
            number += len(block)

    def truncate(self, offset: int) -> None:
        """Keep only transactions whose markers are below an offset."""
        if self._file is not None:
            self._file.truncate(self._find(offset) * _ABORTED.size)

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _find(self, offset: int) -> int:
        """How many transactions have their marker below an offset."""
        return bisect_left(range(len(self)), offset, key=self._last_offset_of)

    def _last_offset_of(self, number: int) -> int:
        return self._read(number, 1)[0].last_offset

    def _read(self, first: int, count: int) -> list[Aborted]:
        if self._file is None:
            return []
        count = min(count, len(self) - first)
        data = self._file.pread(count * _ABORTED.size, first * _ABORTED.size)
        return [Aborted(*fields) for _, *fields in _ABORTED.iter_unpack(data)]
