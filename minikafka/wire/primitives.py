"""One reader and one writer for each primitive type of the protocol (https://kafka.apache.org/protocol#protocol_types).

A reader takes a memoryview and a position, and returns the value and the position behind it. A writer takes the parts
of a frame and a value; the last part is always a bytearray that grows, and record batches become parts of their own,
so that they are never copied. Numbers have no function here: schema.py packs a whole run of them at once.

Non-flexible versions write lengths as int16 (strings) or int32 (bytes, records, arrays), and null as -1. Flexible
versions (KIP-482) write the length plus one as an unsigned varint, and null as 0. Like Apache Kafka, readers take any
negative length for null and replace malformed UTF-8. Whether null is allowed is for the schema to say.
"""

import struct
from collections.abc import Callable
from typing import Any

Reader = Callable[[memoryview, int], tuple[Any, int]]
Writer = Callable[[list[Any], Any], None]
LengthReader = Callable[[memoryview, int], tuple[int, int]]
LengthWriter = Callable[[int], bytes]

# Kafka type -> struct code; a run of such fields is packed and unpacked in one call
FIXED = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
}
NULL = -1
MAX_STRING_BYTES = 0x7FFF  # also in flexible versions, whose lengths could be larger
_INT8, _INT16, _INT32 = struct.Struct(">b"), struct.Struct(">h"), struct.Struct(">i")


class DecodeError(ValueError):
    """The bytes are not the expected message: truncated, with a nonsense length, or null where that is not allowed."""


class ItemBudget:
    """How many array items and tagged fields one message may still hold. Two bytes on the wire can become 250 bytes of
    objects in memory, and each item is work, so a frame of 100 MB could fill any machine, or hold up all others for
    minutes; Apache Kafka has no such limit. Read on one thread only.
    """

    most = left = 0

    def begin(self, most: int) -> None:
        self.most = self.left = most

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise DecodeError(f"it holds more than {self.most} items")


budget = ItemBudget()


class EncodeError(ValueError):
    """The values do not fit the message: an unknown field, a wrong type, or a field that the version does not have."""


def read_unsigned_varint(buffer: memoryview, at: int) -> tuple[int, int]:
    """Seven bits a byte, the lowest first; the high bit says that another byte follows. At most five bytes."""
    byte = buffer[at]
    if byte < 0x80:  # nearly always
        return byte, at + 1
    value = byte & 0x7F
    for shift in (7, 14, 21, 28):
        at += 1
        byte = buffer[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
    raise DecodeError("a varint is longer than five bytes")


_ONE_BYTE = [bytes((value,)) for value in range(0x80)]


def unsigned_varint(value: int) -> bytes:
    """The bytes of an unsigned varint."""
    if value < 0x80:  # nearly always
        return _ONE_BYTE[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_int16_length(buffer: memoryview, at: int) -> tuple[int, int]:
    return _INT16.unpack_from(buffer, at)[0], at + 2


def read_int32_length(buffer: memoryview, at: int) -> tuple[int, int]:
    return _INT32.unpack_from(buffer, at)[0], at + 4


def read_compact_length(buffer: memoryview, at: int) -> tuple[int, int]:
    byte = buffer[at]
    if byte < 0x80:
        return byte - 1, at + 1
    length, at = read_unsigned_varint(buffer, at)
    return length - 1, at


int16_length: LengthWriter = _INT16.pack
int32_length: LengthWriter = _INT32.pack


def compact_length(length: int) -> bytes:
    return _ONE_BYTE[length + 1] if length < 0x7F else unsigned_varint(length + 1)


def _text(view: memoryview) -> str:
    if len(view) > MAX_STRING_BYTES:
        raise DecodeError(f"a string of {len(view)} bytes: at most {MAX_STRING_BYTES} are allowed")
    text = str(view, "utf-8", "replace")
    if 3 * len(view) > MAX_STRING_BYTES and len(text.encode()) > MAX_STRING_BYTES:  # each replacement takes 3 bytes
        raise DecodeError(f"a string of {len(view)} bytes, too many of them malformed: it could not be written again")
    return text


def _utf8(text: str) -> bytes:
    data = text.encode()
    if len(data) > MAX_STRING_BYTES:
        raise EncodeError(f"a string of {len(data)} bytes: at most {MAX_STRING_BYTES} are allowed")
    return data


def _bytes_reader(read_length: LengthReader, convert: Callable[[memoryview], Any]) -> Reader:
    def read(buffer: memoryview, at: int) -> tuple[Any, int]:
        length, at = read_length(buffer, at)
        if length < 0:
            return None, at
        end = at + length
        if end > len(buffer):  # a slice would silently be shorter
            raise DecodeError(f"{length} bytes are announced, {len(buffer) - at} remain")
        return convert(buffer[at:end]), end

    return read


def _bytes_writer(length: LengthWriter, convert: Callable[[Any], bytes]) -> Writer:
    def write(parts: list[Any], value: Any) -> None:
        if value is None:
            parts[-1] += length(NULL)
        else:
            data = convert(value)
            parts[-1] += length(len(data))
            parts[-1] += data

    return write


def string_reader(flexible: bool) -> Reader:
    return _bytes_reader(read_compact_length if flexible else read_int16_length, _text)


def string_writer(flexible: bool) -> Writer:
    return _bytes_writer(compact_length if flexible else int16_length, _utf8)


def bytes_reader(flexible: bool) -> Reader:
    return _bytes_reader(read_compact_length if flexible else read_int32_length, bytes)


def bytes_writer(flexible: bool) -> Writer:
    return _bytes_writer(compact_length if flexible else int32_length, lambda value: value)


def records_reader(flexible: bool) -> Reader:
    """Record batches as a view into the frame: they are checked, appended and served without being copied."""
    return _bytes_reader(read_compact_length if flexible else read_int32_length, lambda view: view)


def records_writer(flexible: bool) -> Writer:
    """Takes bytes, or a list of bytes (slices of several segments, say), as parts of the frame of their own."""
    length = compact_length if flexible else int32_length

    def write(parts: list[Any], value: Any) -> None:
        if value is None:
            parts[-1] += length(NULL)
            return
        slices = value if isinstance(value, list) else [value]
        parts[-1] += length(sum(map(len, slices)))
        parts.extend(slices)
        parts.append(bytearray())

    return write


def read_uuid(buffer: memoryview, at: int) -> tuple[bytes, int]:
    end = at + 16
    if end > len(buffer):
        raise DecodeError("a uuid is cut off")
    return bytes(buffer[at:end]), end


def write_uuid(parts: list[Any], value: bytes) -> None:
    if len(value) != 16:
        raise EncodeError(f"a uuid has 16 bytes, not {len(value)}")
    parts[-1] += value


def array_reader(flexible: bool, read_item: Reader) -> Reader:
    read_length = read_compact_length if flexible else read_int32_length

    def read(buffer: memoryview, at: int) -> tuple[list[Any] | None, int]:
        length, at = read_length(buffer, at)
        if length < 0:
            return None, at
        if length > len(buffer) - at:
            raise DecodeError(f"an array of {length} items is announced, {len(buffer) - at} bytes remain")
        budget.take(length)
        items = []
        for _ in range(length):
            item, at = read_item(buffer, at)
            if item is None:
                raise DecodeError("an item of an array is null")
            items.append(item)
        return items, at

    return read


def array_writer(flexible: bool, write_item: Writer) -> Writer:
    length = compact_length if flexible else int32_length

    def write(parts: list[Any], value: Any) -> None:
        if value is None:
            parts[-1] += length(NULL)
            return
        parts[-1] += length(len(value))
        for item in value:
            if item is None:
                raise EncodeError("an item of an array is None")
            write_item(parts, item)

    return write


def fixed_array_reader(flexible: bool, code: str) -> Reader:
    """An array of numbers (partition indexes, broker ids), unpacked in one call."""
    read_length = read_compact_length if flexible else read_int32_length
    width = struct.calcsize(">" + code)

    def read(buffer: memoryview, at: int) -> tuple[list[Any] | None, int]:
        length, at = read_length(buffer, at)
        if length < 0:
            return None, at
        end = at + length * width
        if end > len(buffer):
            raise DecodeError(f"an array of {length} items is announced, {len(buffer) - at} bytes remain")
        budget.take(length)
        return list(struct.unpack_from(f">{length}{code}", buffer, at)), end

    return read


def fixed_array_writer(flexible: bool, code: str) -> Writer:
    length = compact_length if flexible else int32_length

    def write(parts: list[Any], value: Any) -> None:
        if value is None:
            parts[-1] += length(NULL)
        else:
            parts[-1] += length(len(value))
            parts[-1] += struct.pack(f">{len(value)}{code}", *value)

    return write


def nullable_struct_reader(read_struct: Reader, tagged: bool) -> Reader:
    """One byte in front says whether the struct is there: 1, or for null -1, or 0 in a tagged field (KIP-893)."""

    def read(buffer: memoryview, at: int) -> tuple[Any, int]:
        (present,) = _INT8.unpack_from(buffer, at)
        return (None, at + 1) if present < tagged else read_struct(buffer, at + 1)

    return read


def nullable_struct_writer(write_struct: Writer, tagged: bool) -> Writer:
    null = _INT8.pack(0 if tagged else NULL)

    def write(parts: list[Any], value: Any) -> None:
        if value is None:
            parts[-1] += null
        else:
            parts[-1] += _INT8.pack(1)
            write_struct(parts, value)

    return write
