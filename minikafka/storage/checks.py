"""Recovery reads batches that may be wrong: a crash tears the end of a segment, damage may strike anywhere."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple

from minikafka.storage.segment import MAX_RELATIVE_OFFSET, Segment
from minikafka.wire.errors import CorruptRecord, KafkaError
from minikafka.wire.records import BATCH_OVERHEAD, MAGIC, MAGIC_AT, BatchHeader, check_crc, crc_matches, read_header


class End(NamedTuple):
    """Where the valid batches of a segment end. why: what is wrong behind them; "" at the end of the file."""

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
                _check_header(segment, header, left, next_offset, end, dense)
                if header.size_bytes > len(piece) - at:
                    wanted = max(piece_bytes, header.size_bytes)
                    break
                check_crc(piece, header, at)
            except KafkaError as error:
                why = error.message
                break
            use(position + at, header)
            at += header.size_bytes
            next_offset = header.next_offset
        position += at
        yield len(piece)
    return End(position, next_offset, why)


def _check_header(segment: Segment, header: BatchHeader, left: int, next_offset: int, end: int, dense: bool) -> None:
    """Raise CorruptRecord unless a batch with this header can be here. left: bytes to the end of the file."""
    if header.size_bytes > left:
        raise CorruptRecord(f"the last batch has only {left} of its {header.size_bytes} bytes")
    first, last = header.base_offset, header.last_offset
    if first < next_offset or last < first or last >= end or (dense and first > next_offset):
        raise CorruptRecord(f"a batch of offset {first} where {next_offset} comes next")
    if last - segment.base_offset > MAX_RELATIVE_OFFSET:
        raise CorruptRecord(f"offset {last} is too large for a segment that begins at {segment.base_offset}")


def whole_batch_in(segment: Segment, position: int) -> bool:
    """Whether a whole batch begins anywhere behind this position."""
    data = segment.log.pread(segment.size - position, position)
    for at in range(1, len(data) - BATCH_OVERHEAD + 1):
        if data[at + MAGIC_AT] == MAGIC:
            try:
                if crc_matches(data, read_header(data, at), at):
                    return True
            except KafkaError:
                continue
    return False
