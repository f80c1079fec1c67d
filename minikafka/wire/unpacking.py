"""Finds the records in a batch, and decodes no more of the batch than the caller asks
for.

All records of a batch are compressed together, and each record begins with its length,
so a reader reaches a record only through those before it. A broker reads records where
it needs keys or timestamps, and any client may have sent them: a few bytes can unpack
to gigabytes, or to millions of records. So the content is decompressed only as far as
records are asked for, and all of it counts against an allowance.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from minikafka.wire.compression import decompress
from minikafka.wire.errors import CorruptRecord, Error, KafkaError
from minikafka.wire.primitives import read_varint

_SMALLEST_RECORD = 7
_FEWEST_BYTES = 8192  # an eighth of what is decompressed first

# Where a record is: the batch's content as far as it is decompressed, the positions in
# it where the record's key begins and where the record ends; and offset_delta and
# timestamp_delta, as the batch has them.
PlaceInBatch = tuple[bytes, int, int, int, int]


class TooMuchToDecode(KafkaError):
    """A batch holds more than the allowance lets us decode."""

    def __init__(self) -> None:
        super().__init__(
            Error.MESSAGE_TOO_LARGE,
            "the batch holds too many records, or too large ones, to be unpacked",
        )


@dataclass(slots=True)
class Allowance:
    """How much may be decoded, for one batch or for all batches of a request.

    content_bytes: how many bytes decompression may produce. records: how many records
    may be looked at.
    """

    content_bytes: int = 16 << 20
    records: int = 1 << 31

    def use(self, records: int) -> None:
        self.records -= records
        if self.records < 0:
            raise TooMuchToDecode


def walk(
    packed: memoryview,
    codec: str,
    count: int,
    last_offset_delta: int,
    allowance: Allowance,
) -> Iterator[PlaceInBatch]:
    """The records of a batch, one after the other. packed: the bytes after the header,
    which says codec, count and last_offset_delta. Errors: CorruptRecord once a bad
    record is reached; TooMuchToDecode.
    """
    if count * _SMALLEST_RECORD > len(packed) + allowance.content_bytes:
        raise TooMuchToDecode
    unpacked = _unpack(codec, packed, allowance)
    content, whole = next(unpacked)
    at, left = 0, count
    while left > 0:
        try:
            length, start = read_varint(content, at)
            # after the attributes, of which none are defined
            timestamp_delta, key_at = read_varint(content, start + 1)
            offset_delta, key_at = read_varint(content, key_at)
            end = start + length
        except IndexError:
            end = len(content) + 1
        if end > len(content):
            if whole:
                raise CorruptRecord(f"{left} of {count} records are not there")
            content, whole = next(unpacked)
            continue
        if key_at >= end or not 0 <= offset_delta <= last_offset_delta:
            raise CorruptRecord(f"record {count - left} of the batch is malformed")
        allowance.records -= 1
        if allowance.records < 0:
            raise TooMuchToDecode
        yield content, key_at, end, offset_delta, timestamp_delta
        at, left = end, left - 1
    if not whole:
        content, whole = next(unpacked)
    if at != len(content):
        raise CorruptRecord(f"{len(content) - at} bytes behind the last record")


def _unpack(
    codec: str, packed: memoryview, allowance: Allowance
) -> Iterator[tuple[bytes, bool]]:
    """The content decompressed so far, and whether that is all of it. Each step yields
    more, always from the beginning. Errors: TooMuchToDecode.
    """
    most_bytes = len(packed) + allowance.content_bytes
    wanted_bytes = 0
    while wanted_bytes < most_bytes:
        wanted_bytes = min(
            8 * max(wanted_bytes, len(packed), _FEWEST_BYTES), most_bytes
        )
        content, whole = decompress(codec, packed, wanted_bytes)
        allowance.content_bytes = most_bytes - max(len(packed), len(content))
        yield content, whole
    raise TooMuchToDecode
