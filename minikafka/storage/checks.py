"""Reading batches that may be wrong: after a crash the end of a segment, after damage any part of it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple

from minikafka.storage.segment import MAX_RELATIVE_OFFSET, Segment
from minikafka.wire.errors import KafkaError
from minikafka.wire.records import BATCH_OVERHEAD, MAGIC, BatchHeader, crc_matches, read_header

_MAGIC_AT = 16


class End(NamedTuple):
    """Where the valid batches of a segment end, and why not at the end of the file; "" if there."""

    position: int
    next_offset: int
    why: str


def read_valid(
    segment: Segment,
    position: int,
    next_offset: int,
    end: int,
    dense: bool,
    piece_bytes: int,
    use: Callable[[int, BatchHeader], None],
) -> Generator[int, None, End]:
    """Read a segment from `position` on and hand each batch that is whole and valid to `use`.

    next_offset: the smallest that may come next; with `dense`, the only one. end: all are below. Yields the bytes it
    read, piece by piece.
    """
    why, wanted, size = "", piece_bytes, segment.size
    while position < size and not why:
        piece = memoryview(segment.log.pread(wanted, position))
        at, wanted = 0, piece_bytes
        while at < len(piece):
            left = size - position - at
            if len(piece) - at < min(left, BATCH_OVERHEAD):
                break
            try:
                header = read_header(piece, at)
            except KafkaError as error:
                why = error.message
                break
            why = _wrong(segment, header, left, next_offset, end, dense)
            if why:
                break
            if header.size_bytes > len(piece) - at:
                wanted = max(piece_bytes, header.size_bytes)
                break
            if not crc_matches(piece, header, at):
                why = f"the batch at offset {header.base_offset} does not match its checksum"
                break
            use(position + at, header)
            at += header.size_bytes
            next_offset = header.next_offset
        position += at
        yield len(piece)
    return End(position, next_offset, why)


def _wrong(segment: Segment, header: BatchHeader, left: int, next_offset: int, end: int, dense: bool) -> str:
    """What is wrong with a header, or "". left: bytes to the end of the file."""
    if header.size_bytes > left:
        return f"the last batch has only {left} of its {header.size_bytes} bytes"
    first, last = header.base_offset, header.last_offset
    if first < next_offset or last < first or last >= end or (dense and first > next_offset):
        return f"a batch of offset {first} where {next_offset} comes next"
    if last - segment.base_offset > MAX_RELATIVE_OFFSET:
        return f"offset {last} is too large for a segment that begins at {segment.base_offset}"
    return ""


def whole_batch_in(segment: Segment, position: int) -> bool:
    """Whether a whole batch begins anywhere behind this position."""
    data = segment.log.pread(segment.size - position, position)
    for at in range(1, len(data) - BATCH_OVERHEAD + 1):
        if data[at + _MAGIC_AT] == MAGIC:
            try:
                if crc_matches(data, read_header(data, at), at):
                    return True
            except KafkaError:
                continue
    return False
