"""Numbers as they are written in records. A varint puts the sign into the lowest bit (zigzag: 0, -1, 1, -2, ...), then
7 bits into a byte, the lowest first. Keys and values have their length before them as such a number.
"""

from __future__ import annotations

from minikafka.wire.errors import CorruptRecord


def append_varint(data: bytearray, value: int) -> None:
    rest = value << 1 if value >= 0 else (-value << 1) - 1
    while rest > 0x7F:
        data.append(rest & 0x7F | 0x80)
        rest >>= 7
    data.append(rest)


def varint_size(value: int) -> int:
    """How many bytes append_varint() appends."""
    if 0 <= value < 64:
        return 1
    zigzag = value << 1 if value >= 0 else (-value << 1) - 1
    return (zigzag.bit_length() + 6) // 7


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, position behind it); IndexError where the data ends first. What goes beyond 64 bits is cut off."""
    byte = data[at]
    at += 1
    if byte <= 0x7F:
        return (byte >> 1) ^ -(byte & 1), at
    rest = byte & 0x7F
    shift = 7
    while byte > 0x7F:
        byte = data[at]
        at += 1
        rest |= (byte & 0x7F) << shift
        shift += 7
        if shift > 70:
            raise CorruptRecord("a number of more than 10 bytes")
    rest &= (1 << 64) - 1
    return (rest >> 1) ^ -(rest & 1), at


def append_bytes(data: bytearray, content: bytes | None) -> None:
    if content is None:
        data.append(1)  # a length of -1
    else:
        append_varint(data, len(content))
        data += content


def bytes_size(content: bytes | None) -> int:
    """How many bytes append_bytes() appends."""
    return 1 if content is None else varint_size(len(content)) + len(content)


def read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = read_varint(data, at)
    if length < 0:
        return None, at
    end = at + length
    if end > len(data):
        raise CorruptRecord(f"{length} bytes announced, {len(data) - at} left")
    return data[at:end], end


def int64(value: int) -> int:
    """Wrap a number to 64 bits, as Java's arithmetic does with timestamps."""
    return value if -(1 << 63) <= value < 1 << 63 else (value + (1 << 63)) % (1 << 64) - (1 << 63)
