"""The codecs and the checksum of record batches: gzip by the standard library, snappy,
lz4 and zstd by cramjam. The checksum is CRC-32C (Castagnoli), which producer snapshots
use too; it is computed in C, or byte by byte where the C package is missing.

Two formats have a Kafka history. Snappy: Java wraps raw snappy in xerial framing
(blocks of 32 kB, each with its size in front), librdkafka sends raw snappy, so both are
read. LZ4: the frame format with independent blocks; the Java client refuses frames
whose blocks depend on each other, which is what cramjam would write, so the frame is
written here.
"""

import gzip
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Any

from minikafka.wire.errors import CorruptRecord, Error, KafkaError
from minikafka.wire.primitives import Buffer

cramjam: Any
try:
    import cramjam
except ImportError:
    cramjam = None

_DAMAGED: tuple[type[Exception], ...] = (OSError, ValueError, zlib.error, struct.error)
if cramjam:
    _DAMAGED += (cramjam.DecompressionError,)

# indexed by their number in a batch's attributes
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

# the most bytes that one compressed byte can unpack to: a copy of 64 takes two or more
_SNAPPY_MOST = 64

_XERIAL = b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1)
_XERIAL_MAGIC = _XERIAL[:8]
_XERIAL_BLOCK = 32 * 1024
# Magic; version 1, independent blocks; blocks of at most 64 kB; the checksum of those
# two bytes.
_LZ4_FRAME = b"\x04\x22\x4d\x18\x60\x40\x82"
_LZ4_BLOCK = 64 * 1024
_LZ4_UNCOMPRESSED = 1 << 31
_POLYNOMIAL = 0x82F63B78  # of CRC-32C, reflected


def compress(codec: str, data: Buffer, level: int | None = None) -> Buffer:
    """Compress as Kafka's clients do. level: for gzip and zstd (KIP-390); the other
    codecs have only one level here.
    """
    if codec == "none":
        return data
    if codec == "gzip":
        return gzip.compress(data, 6 if level is None else level, mtime=0)
    jam = _cramjam(codec)
    if codec == "zstd":
        return bytes(jam.zstd.compress(data, level))
    return _to_xerial(jam, data) if codec == "snappy" else _to_lz4_frame(jam, data)


def decompress(codec: str, data: Buffer, wanted: int) -> tuple[bytes, bool]:
    """Returns the first `wanted` bytes of the content (for snappy, the whole blocks
    within them), and whether that is all of it.

    A batch of 1 MB can unpack to gigabytes, so a caller that needs more starts over
    with a larger `wanted`. Errors: CorruptRecord if the beginning is damaged or ends
    too early.
    """
    if codec == "none":
        return bytes(data), True
    try:
        if codec == "gzip":
            return _from_gzip(data, wanted)
        jam = _cramjam(codec)
        if codec == "snappy":
            return _from_snappy(jam, bytes(data), wanted)
        return _into_room(jam, jam.zstd if codec == "zstd" else jam.lz4, data, wanted)
    except _DAMAGED as error:
        raise CorruptRecord(
            f"the records can't be decompressed with {codec}"
        ) from error


def _from_gzip(data: Buffer, wanted: int) -> tuple[bytes, bool]:
    """Returns the first `wanted` bytes of the content, and whether that is all of it.
    Errors: ValueError if the data ends too early.
    """
    reader = zlib.decompressobj(wbits=31)
    content = reader.decompress(data, wanted)
    if not reader.eof and len(content) < wanted:
        raise ValueError("torn")
    return content, reader.eof


def _into_room(jam: Any, codec: Any, data: Buffer, wanted: int) -> tuple[bytes, bool]:
    """Decompress into a buffer of limited size: cramjam has no streams, but it fills a
    buffer before it refuses content that is too long for it.
    """
    room = bytearray(wanted)
    try:
        size, whole = codec.decompress_into(data, room), True
    except jam.DecompressionError as error:
        if "whole buffer" not in str(error):
            raise
        size, whole = wanted, False
    return bytes(memoryview(room)[:size]), whole


def _cramjam(codec: str) -> Any:
    """The cramjam package; without it only gzip is available."""
    if cramjam is None:
        raise KafkaError(
            Error.UNSUPPORTED_COMPRESSION_TYPE,
            f"{codec} needs the package cramjam: pip install cramjam",
        )
    return cramjam


def _to_xerial(jam: Any, data: Buffer) -> bytes:
    """Blocks with their sizes in front, as Java's SnappyOutputStream writes them."""
    framed = bytearray(_XERIAL)
    for at in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(jam.snappy.compress_raw(data[at : at + _XERIAL_BLOCK]))
        framed += struct.pack(">i", len(block)) + block
    return bytes(framed)


def _from_snappy(jam: Any, data: bytes, wanted: int) -> tuple[bytes, bool]:
    """Reads such blocks, or the single bare block that other clients send."""
    content = bytearray()
    blocks: Iterable[bytes] = [data]
    if data.startswith(_XERIAL_MAGIC):
        blocks = _xerial_blocks(data)
    for block in blocks:
        size = jam.snappy.decompress_raw_len(block)
        if size > _SNAPPY_MOST * len(block):
            raise ValueError("a snappy block that announces more than it can hold")
        if len(content) + size > wanted:
            return bytes(content), False
        content += jam.snappy.decompress_raw(block)
    return bytes(content), True


def _xerial_blocks(data: bytes) -> Iterator[bytes]:
    """The blocks without their sizes. Raises ValueError where a size is wrong."""
    at = len(_XERIAL)
    while at < len(data):
        (size,) = struct.unpack_from(">i", data, at)
        at += 4 + size
        if size <= 0 or at > len(data):
            raise ValueError("a snappy block of a wrong size")
        yield data[at - size : at]


def _to_lz4_frame(jam: Any, data: Buffer) -> bytes:
    """A frame of blocks; a block that compression would make longer stays
    uncompressed.
    """
    frame = bytearray(_LZ4_FRAME)
    for at in range(0, len(data), _LZ4_BLOCK):
        plain = data[at : at + _LZ4_BLOCK]
        block = bytes(jam.lz4.compress_block(plain, store_size=False))
        if len(block) < len(plain):
            frame += struct.pack("<I", len(block)) + block
        else:
            frame += struct.pack("<I", len(plain) | _LZ4_UNCOMPRESSED) + plain
    return bytes(frame + struct.pack("<I", 0))


# -- the checksum


@cache
def _crc_table() -> list[int]:
    """How each byte value changes a checksum."""
    table = list(range(256))
    for _ in range(8):
        table = [crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0) for crc in table]
    return table


def pure_crc32c(data: Buffer) -> int:
    """The checksum in plain Python, at about 10 MB a second: for machines without the
    crc32c package.
    """
    table, crc = _crc_table(), 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _compiled_crc32c() -> Callable[[Buffer], int]:
    """The function of the package crc32c. Its own `__init__` isn't imported, because
    that takes longer than everything else here: to look up its version it reads how
    every package was installed.
    """
    package = PathFinder.find_spec("crc32c")
    if package is None:
        return pure_crc32c
    compiled = PathFinder.find_spec("_crc32c", package.submodule_search_locations)
    if compiled is None or compiled.loader is None:
        return pure_crc32c
    module = module_from_spec(compiled)
    compiled.loader.exec_module(module)
    function: Callable[[Buffer], int] = module.crc32c
    return function


crc32c = _compiled_crc32c()
