"""A segment's two indexes: from an offset to a position in its file, from a timestamp to an offset. Both are sparse,
and sorted.

`.index`       relative offset int32, position int32     the batch at this position ends at this offset
`.timeindex`   timestamp int64, relative offset int32    no batch up to this offset has a larger timestamp

Offsets count from the segment's base offset: four bytes are enough, and a segment is closed before they aren't. There
is an entry about every index.interval.bytes (4096) of records, so 1 GB of records has at most 2 MB of `.index`: a
search reads a few hundred bytes of it and then at most one interval of the log. Both formats are Apache Kafka's,
except that ours are never preallocated.

The newest entries wait in memory until there are enough for one write: the index of what a crash may lose is rebuilt
anyway.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from operator import itemgetter
from typing import NamedTuple

from minikafka.storage.disk import Disk, File

OFFSET_ENTRY, TIME_ENTRY = ">ii", ">qi"  # relative offset and position; timestamp and relative offset

_PENDING_ENTRIES = 512
_BLOCK_ENTRIES = 64  # a search finds the first entry of a block, then reads the block
_key = itemgetter(0)


class Entry(NamedTuple):
    """key: relative offset or timestamp, ascending. value: position or relative offset."""

    key: int
    value: int


class Index:
    """Entries of one file, sorted by key. entry: OFFSET_ENTRY or TIME_ENTRY."""

    def __init__(self, disk: Disk, path: str, entry: str) -> None:
        self._disk = disk
        self.path = path
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
        return len(self) * self._entry.size

    @property
    def last(self) -> Entry | None:
        """The newest entry."""
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
        """How many entries have a key of at most `key`: the one before is the place to start from."""
        if self._pending and self._pending[0].key <= key:
            return self._stored + bisect_right(self._pending, key, key=_key)
        blocks = range(0, self._stored, _BLOCK_ENTRIES)
        number = bisect_right(blocks, key, key=lambda first: self._read(first, 1)[0].key)
        first = blocks[number - 1] if number else 0
        return first + bisect_right(self._read(first, min(_BLOCK_ENTRIES, self._stored - first)), key, key=_key)

    def lookup(self, key: int) -> Entry | None:
        """The entry with the largest key of at most `key`."""
        found = self.find(key)
        return self[found - 1] if found else None

    def truncate(self, entries: int) -> None:
        """Keep the first entries, so many."""
        if entries < len(self):
            self._last = None
        if entries < self._stored:
            self._file.truncate(entries * self._entry.size)
            self._stored, self._dirty = entries, True
        del self._pending[entries - self._stored :]

    def write(self) -> None:
        """Write the entries that wait in memory. Errors: OSError; they then wait on."""
        if self._pending:
            self._file.append([b"".join(self._entry.pack(*entry) for entry in self._pending)])
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
