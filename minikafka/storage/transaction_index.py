"""A segment's index of aborted transactions: what a read_committed consumer has to leave out (KIP-98).

`.txnindex`    version int16, producer id, first offset, last offset, last stable offset, all int64

One entry for each marker in the segment that aborts a transaction, in the order of the markers. A transaction goes from
its first record to its marker, its last offset; it may have begun in an earlier segment. The last stable offset is the
one behind the marker, or the first offset of another transaction that was open then: what comes in later entries has
records from there on, at most. So a search ends with the first entry whose last stable offset lies beyond what is read.

The format is Apache Kafka's. The file is made with the first entry; most segments have none.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from minikafka.storage.disk import Disk, File

_ENTRY = struct.Struct(">hqqqq")
_VERSION = 0
_BLOCK_ENTRIES = 64  # read at a time


class Aborted(NamedTuple):
    """An aborted transaction in one partition."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def overlapping(indexes: Iterable[TransactionIndex], offset: int, up_to_offset: int) -> list[Aborted]:
    """The aborted transactions with records from an offset on and below another, by their first offsets. indexes: of
    the segment that holds the offset, and of all that follow.
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
        """Whether there is a file."""
        return self._file is not None

    def __len__(self) -> int:
        return self._file.size // _ENTRY.size if self._file else 0

    def append(self, aborted: Aborted) -> None:
        """Its marker is in the log now."""
        if self._file is None:
            self._file = self._disk.open(self._path)
        self._file.append([_ENTRY.pack(_VERSION, *aborted)])

    def ending_from(self, offset: int) -> Iterator[Aborted]:
        """Those whose markers lie at an offset or behind it."""
        number = self._find(offset)
        while block := self._read(number, _BLOCK_ENTRIES):
            yield from block
            number += len(block)

    def truncate(self, offset: int) -> None:
        """Keep those whose markers lie below an offset."""
        if self._file is not None:
            self._file.truncate(self._find(offset) * _ENTRY.size)

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _find(self, offset: int) -> int:
        """How many of them have their markers below an offset."""
        return bisect_left(range(len(self)), offset, key=lambda number: self._read(number, 1)[0].last_offset)

    def _read(self, first: int, count: int) -> list[Aborted]:
        data = self._file.pread(min(count, len(self) - first) * _ENTRY.size, first * _ENTRY.size) if self._file else b""
        return [Aborted(*fields) for _, *fields in _ENTRY.iter_unpack(data)]
