"""Record batches, version 2 (KIP-98, KIP-82): what producers send, what lies on disk,
what consumers receive. The same bytes in all three.

A batch is a header of 61 bytes and then its records:

    base_offset             int64   the broker stamps it
    batch_length            int32   bytes after this field
    partition_leader_epoch  int32   the broker stamps it
    magic                   int8    2
    crc                     uint32  CRC-32C of all that follows: it covers none of what the broker stamps
    attributes              int16   bits 0-2 compression, 3 LogAppendTime, 4 transactional, 5 control, 6 delete horizon
    last_offset_delta       int32
    base_timestamp          int64
    max_timestamp           int64
    producer_id, producer_epoch, base_sequence     int64, int16, int32: -1 without idempotence
    records_count           int32

Compression covers the records and not the header: a broker learns all it needs
(offsets, timestamps, sequence numbers) without decompressing anything. In a record,
timestamps and offsets are small differences to the header's, and all numbers are
varints (zigzag, 7 bits a byte), so an empty record costs 7 bytes:

    length varint, attributes int8, timestamp delta varint, offset delta varint,
    key length varint, key, value length varint, value                  a length of -1 means null
    headers count varint, and for each: key length varint, key, value length varint, value

A control batch holds one record that no consumer sees; its key says of what kind it is
(internal_records.py).
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from minikafka.wire.compression import CODECS, compress, crc32c
from minikafka.wire.errors import CorruptRecord, Error, KafkaError
from minikafka.wire.primitives import (
    Buffer,
    append_bytes,
    append_varint,
    int64,
    read_bytes,
    read_varint,
)
from minikafka.wire.unpacking import Allowance, walk

Headers = list[tuple[str, bytes | None]]

MAGIC = 2
BATCH_OVERHEAD = 61  # bytes of a batch without records
LOG_OVERHEAD = 12  # base offset and batch length, which the batch length doesn't count
MAX_SEQUENCE = 2**31 - 1  # the sequence number after it is 0

# attributes
COMPRESSION = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

_HEADER = struct.Struct(">qiibIhiqqqhii")
# positions in the header
MAGIC_AT, _CRC_AT, _AFTER_CRC, _MAX_TIMESTAMP_AT = 16, 17, 21, 35
_INT64, _INT32 = struct.Struct(">q"), struct.Struct(">i")
_UINT32, _INT16 = struct.Struct(">I"), struct.Struct(">h")


# -- the header


class BatchHeader(NamedTuple):
    """The first 61 bytes of a batch, field by field."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size_bytes(self) -> int:
        """The size of the whole batch, header and records."""
        return LOG_OVERHEAD + self.batch_length

    @property
    def last_offset(self) -> int:
        """The offset of the last record, even if compaction has removed it."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset after the last record: the next batch begins here or later."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; after 2^31 - 1 numbers wrap to 0. -1
        without idempotence.
        """
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) & MAX_SEQUENCE

    @property
    def compression(self) -> str:
        """none, gzip, snappy, lz4 or zstd. Errors: UNSUPPORTED_COMPRESSION_TYPE for a
        number without a name.
        """
        number = self.attributes & COMPRESSION
        if number >= len(CODECS):
            why = f"unknown compression type id {number}"
            raise KafkaError(Error.UNSUPPORTED_COMPRESSION_TYPE, why)
        return CODECS[number]

    @property
    def log_append_time(self) -> bool:
        """Whether all records share max_timestamp, which the broker set (KIP-32)."""
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def transactional(self) -> bool:
        """Whether the batch is part of a transaction (KIP-98)."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def control(self) -> bool:
        """Whether it holds a control record, which consumers never see."""
        return bool(self.attributes & CONTROL)

    @property
    def delete_horizon(self) -> int | None:
        """When compaction may drop the batch's tombstones, in ms since 1970 (KIP-534).
        It is stored in base_timestamp.
        """
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None


def read_header(buffer: Buffer, at: int = 0) -> BatchHeader:
    """The header of the batch that begins at `at`. The batch itself need not be whole.
    Errors: CorruptRecord if these bytes can't be a header; INVALID_RECORD for the
    formats before Kafka 0.11 (magic 0 and 1).
    """
    left = len(buffer) - at
    if left <= MAGIC_AT:
        raise CorruptRecord(f"{left} bytes are too few for a record batch")
    magic = buffer[at + MAGIC_AT]
    if magic in (0, 1):
        why = f"records in the old format with magic {magic}; only magic 2 is supported"
        raise KafkaError(Error.INVALID_RECORD, why)
    if magic != MAGIC:
        raise CorruptRecord(f"magic {magic} instead of 2")
    if left < BATCH_OVERHEAD:
        raise CorruptRecord(f"{left} bytes are too few for a record batch")
    header = BatchHeader._make(_HEADER.unpack_from(buffer, at))
    if header.batch_length < BATCH_OVERHEAD - LOG_OVERHEAD:
        raise CorruptRecord(
            f"batch length {header.batch_length} is smaller than an empty batch's"
        )
    return header


def crc_matches(buffer: Buffer, header: BatchHeader, at: int = 0) -> bool:
    """Whether the batch at `at`, with this header, is whole and its content matches its
    CRC-32C.
    """
    end = at + LOG_OVERHEAD + header.batch_length
    if end > len(buffer):
        return False
    return crc32c(memoryview(buffer)[at + _AFTER_CRC : end]) == header.crc


def check_crc(buffer: Buffer, header: BatchHeader, at: int = 0) -> None:
    """Raises CorruptRecord unless crc_matches."""
    if not crc_matches(buffer, header, at):
        raise CorruptRecord(
            f"the batch at offset {header.base_offset} does not match its checksum"
        )


def batches(buffer: Buffer) -> Iterator[tuple[BatchHeader, memoryview]]:
    """The whole batches in a buffer, in order, without copying. An incomplete last one
    is left out: a fetch may cut it.
    """
    view = memoryview(buffer)
    at = 0
    while len(view) - at >= BATCH_OVERHEAD:
        header = read_header(view, at)
        end = at + LOG_OVERHEAD + header.batch_length
        if end > len(view):
            return
        yield header, view[at:end]
        at = end


def stamp(
    batch: bytearray | memoryview,
    base_offset: int,
    leader_epoch: int,
    log_append_time_ms: int | None = None,
) -> None:
    """Write the fields that only the leader knows into a batch. The CRC changes only if
    the leader sets the timestamp too.
    """
    _INT64.pack_into(batch, 0, base_offset)
    _INT32.pack_into(batch, LOG_OVERHEAD, leader_epoch)
    if log_append_time_ms is not None:
        (attributes,) = _INT16.unpack_from(batch, _AFTER_CRC)
        _INT16.pack_into(batch, _AFTER_CRC, attributes | LOG_APPEND_TIME)
        _INT64.pack_into(batch, _MAX_TIMESTAMP_AT, log_append_time_ms)
        _write_crc(batch)


def _write_crc(batch: bytearray | memoryview) -> None:
    (batch_length,) = _INT32.unpack_from(batch, 8)
    end = LOG_OVERHEAD + batch_length
    crc = crc32c(memoryview(batch)[_AFTER_CRC:end])
    _UINT32.pack_into(batch, _CRC_AT, crc)


# -- the records


class Record(NamedTuple):
    """One record as a consumer sees it. timestamp: ms since 1970. headers: in order,
    names may repeat (KIP-82).
    """

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


# timestamp, key, value, headers
NewRecord = tuple[int, bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]


def encode_batch(
    records: Sequence[NewRecord],
    *,
    base_offset: int = 0,
    compression: str = "none",
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
    leader_epoch: int = -1,
) -> bytes:
    """One batch of (timestamp, key, value, headers), as a producer makes it."""
    assert records, "a producer sends no empty batch"
    attributes = CODECS.index(compression)
    if transactional:
        attributes |= TRANSACTIONAL
    if control:
        attributes |= CONTROL
    timestamps = [timestamp for timestamp, _, _, _ in records]
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=0,
        partition_leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=len(records) - 1,
        base_timestamp=timestamps[0],
        max_timestamp=max(timestamps),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        records_count=len(records),
    )
    return assemble(header, encode_records(header, enumerate(records)))


def encode_records(
    header: BatchHeader, records: Iterable[tuple[int, NewRecord]]
) -> bytearray:
    """The content of a batch with this header, from pairs of (offset delta, record)."""
    content = bytearray()
    for offset_delta, (timestamp, key, value, headers) in records:
        timestamp_delta = timestamp - header.base_timestamp
        rest = _value_and_headers(value, headers)
        _append_record(content, timestamp_delta, offset_delta, key, rest)
    return content


def assemble(header: BatchHeader, content: Buffer, level: int | None = None) -> bytes:
    """A whole batch, from a header, whose length and CRC are computed here, and from
    its encoded records.
    """
    payload = compress(header.compression, content, level) if content else b""
    length = BATCH_OVERHEAD - LOG_OVERHEAD + len(payload)
    batch = bytearray(_HEADER.pack(*header._replace(batch_length=length)))
    batch += payload
    _write_crc(batch)
    return bytes(batch)


def encode_raw(content: bytearray, header: BatchHeader, record: "RawRecord") -> None:
    """Append a record to the content of the batch that this header is for. The record's
    value and headers aren't decoded for this.
    """
    timestamp_delta = int64(record.timestamp - header.base_timestamp)
    offset_delta = record.offset - header.base_offset
    _append_record(content, timestamp_delta, offset_delta, record.key, record.rest)


def _append_record(
    body: bytearray,
    timestamp_delta: int,
    offset_delta: int,
    key: bytes | None,
    rest: Buffer,
) -> None:
    """rest: value and headers, encoded."""
    data = bytearray(1)  # no attributes are defined
    append_varint(data, timestamp_delta)
    append_varint(data, offset_delta)
    append_bytes(data, key)
    append_varint(body, len(data) + len(rest))
    body += data
    body += rest


def _value_and_headers(
    value: bytes | None, headers: Sequence[tuple[str, bytes | None]]
) -> bytearray:
    data = bytearray()
    append_bytes(data, value)
    append_varint(data, len(headers))
    for name, content in headers:
        append_bytes(data, name.encode())
        append_bytes(data, content)
    return data


# -- reading the records


class RawRecord(NamedTuple):
    """A record decoded only as far as a broker needs it. rest: value and headers, still
    encoded.
    """

    offset: int
    timestamp: int
    key: bytes | None
    rest: bytes

    @property
    def tombstone(self) -> bool:
        """Whether the value is null: in a compacted topic that deletes the key."""
        length, _ = read_varint(self.rest, 0)
        return length < 0

    @property
    def value(self) -> bytes | None:
        """The value, decoded when asked for; None if it is null."""
        value, _ = read_bytes(self.rest, 0)
        return value


def decode_batch(batch: Buffer) -> list[Record]:
    """All records of one whole batch, including those of a control batch. The CRC is
    not checked here. Errors: CorruptRecord if the bytes don't hold what the header
    says; UNSUPPORTED_COMPRESSION_TYPE if the codec is missing; TooMuchToDecode.
    """
    records = []
    try:
        for content, at, end, offset, timestamp in _walk(batch, Allowance()):
            key, at = read_bytes(content, at)
            value, at = read_bytes(content, at)
            headers: Headers = []
            if content[at] != 0 or at + 1 != end:
                headers = _read_headers(content, at, end)
            records.append(Record(offset, timestamp, key, value, headers))
    except (IndexError, UnicodeDecodeError) as error:
        why = f"record {len(records)} of the batch is malformed"
        raise CorruptRecord(why) from error
    return records


def _read_headers(content: bytes, at: int, end: int) -> Headers:
    count, at = read_varint(content, at)
    if not 0 <= count <= end - at:
        raise CorruptRecord(f"{count} record headers in {end - at} bytes")
    headers: Headers = []
    for _ in range(count):
        name, at = read_bytes(content, at)
        value, at = read_bytes(content, at)
        if name is None:
            raise CorruptRecord("a record header without a name")
        headers.append((name.decode(), value))
    if at != end:
        raise CorruptRecord(f"a record ends {end - at} bytes off")
    return headers


def raw_records(
    batch: Buffer, allowance: Allowance | None = None
) -> Iterator[RawRecord]:
    """The records of one whole batch, one after the other. Little more is decompressed
    than the caller asks for. It raises what decode_batch raises, once it reaches the
    bad record. Headers are not looked at. allowance: how much may be decompressed, and
    how many records looked at (unpacking.py).
    """
    for content, at, end, offset, timestamp in _walk(batch, allowance or Allowance()):
        try:
            key, at = read_bytes(content, at)
            length, value_at = read_varint(content, at)
        except IndexError as error:
            why = f"the record at offset {offset} is malformed"
            raise CorruptRecord(why) from error
        if max(value_at, value_at + length) >= end:
            raise CorruptRecord(
                f"the record at offset {offset} is shorter than its fields"
            )
        yield RawRecord(offset, timestamp, key, content[at:end])


def recompressed(
    batch: Buffer, codec: str, level: int | None, allowance: Allowance
) -> bytes:
    """One whole batch with its records recompressed with another codec. It raises what
    raw_records raises.
    """
    header = read_header(batch)
    content = bytearray()
    for record in raw_records(batch, allowance):
        encode_raw(content, header, record)
    attributes = header.attributes & ~COMPRESSION | CODECS.index(codec)
    return assemble(header._replace(attributes=attributes), content, level)


def moments(batch: Buffer, allowance: Allowance) -> Iterator[tuple[int, int]]:
    """The (timestamp, offset) of each record of one whole batch, read as raw_records
    reads them.
    """
    for _, _, _, offset, timestamp in _walk(batch, allowance):
        yield timestamp, offset


# As PlaceInBatch (unpacking.py), with the record's own offset and timestamp.
PlaceInLog = tuple[bytes, int, int, int, int]


def _walk(batch: Buffer, allowance: Allowance) -> Iterator[PlaceInLog]:
    """Where the records of one whole batch are, with their offsets and timestamps."""
    header = read_header(batch)
    size_bytes = header.size_bytes
    if size_bytes > len(batch):
        raise CorruptRecord(
            f"the batch has {size_bytes} bytes, but only {len(batch)} are there"
        )
    packed = memoryview(batch)[BATCH_OVERHEAD:size_bytes]
    for content, at, end, offset_delta, timestamp_delta in walk(
        packed,
        header.compression,
        header.records_count,
        header.last_offset_delta,
        allowance,
    ):
        timestamp = (
            header.max_timestamp
            if header.log_append_time
            else int64(header.base_timestamp + timestamp_delta)
        )
        yield content, at, end, header.base_offset + offset_delta, timestamp
