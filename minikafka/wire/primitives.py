"""A codec for each primitive type of the protocol
(https://kafka.apache.org/protocol#protocol_types), and for arrays.

A reader takes a memoryview and a position, and returns the value and the position after
it. A writer takes the parts of a frame and a value; the last part is always a bytearray
that grows, and record batches become parts of their own, so that they are never copied.
Numbers seldom come here: schema.py packs a whole run of them at once.

Non-flexible versions write lengths as int16 (strings) or int32 (bytes, records,
arrays), and null as -1. Flexible versions (KIP-482) write the length plus one as an
unsigned varint, and null as 0. Like Apache Kafka, readers take any negative length as
null and replace malformed UTF-8. The schema decides whether null is allowed.
"""

import struct
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from minikafka.wire.errors import CorruptRecord

Buffer = bytes | bytearray | memoryview
Reader = Callable[[memoryview, int], tuple[Any, int]]
Writer = Callable[[list[Any], Any], None]


class Codec(NamedTuple):
    """How values of one type are read and written. null: the bytes that stand for null;
    the writer itself is never given a null.
    """

    decode: Reader
    encode: Writer
    null: bytes = b""


class Length(NamedTuple):
    """How the lengths of strings, bytes and arrays are read and written."""

    read: Callable[[memoryview, int], tuple[int, int]]
    write: Callable[[int], bytes]


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
_INT8 = struct.Struct(">b")


class DecodeError(ValueError):
    """The bytes are not the expected message: they are truncated, have an impossible
    length, or are null where that isn't allowed.
    """


class ItemBudget:
    """How many array items and tagged fields one message may still hold. Two bytes on
    the wire can become 250 bytes of objects in memory, and each item is work, so a
    frame of 100 MB could fill any machine's memory, or hold up everybody else for
    minutes. Apache Kafka has no such limit.
    """

    def __init__(self, most: int) -> None:
        self.most = self.left = most

    def take(self, count: int) -> None:
        """Count so many more items. Raises DecodeError once the budget is exceeded."""
        self.left -= count
        if self.left < 0:
            raise DecodeError(f"it holds more than {self.most} items")


# A new one for each Schema.decode. Other threads may be reading messages of their own.
items_of_this_message: ContextVar[ItemBudget] = ContextVar("items_of_this_message")


class EncodeError(ValueError):
    """The values don't fit the message: an unknown field, a wrong type, or a field that
    this version doesn't have.
    """


def read_unsigned_varint(buffer: memoryview, at: int) -> tuple[int, int]:
    """Reads seven bits per byte, lowest first; the high bit says that another byte
    follows. At most five bytes.
    """
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


def _read_compact(buffer: memoryview, at: int) -> tuple[int, int]:
    """Read a length in a flexible version: it is written plus one, and 0 stands for
    null.
    """
    byte = buffer[at]
    if byte < 0x80:
        return byte - 1, at + 1
    length, at = read_unsigned_varint(buffer, at)
    return length - 1, at


def _compact(length: int) -> bytes:
    return _ONE_BYTE[length + 1] if length < 0x7F else unsigned_varint(length + 1)


def _number_reader(code: str) -> Reader:
    layout = struct.Struct(">" + code)
    unpack, size = layout.unpack_from, layout.size

    def read(buffer: memoryview, at: int) -> tuple[Any, int]:
        return unpack(buffer, at)[0], at + size

    return read


_COMPACT = Length(_read_compact, _compact)
_INT16 = Length(_number_reader("h"), struct.Struct(">h").pack)
_INT32 = Length(_number_reader("i"), struct.Struct(">i").pack)


def number(code: str) -> Codec:
    """The codec of a number. code: its struct code, as in FIXED."""
    pack = struct.Struct(">" + code).pack

    def write(parts: list[Any], value: Any) -> None:
        parts[-1] += pack(value)

    return Codec(_number_reader(code), write)


def _text(view: memoryview) -> str:
    if len(view) > MAX_STRING_BYTES:
        raise DecodeError(
            f"a string of {len(view)} bytes: at most {MAX_STRING_BYTES} are allowed"
        )
    text = str(view, "utf-8", "replace")
    may_have_grown = 3 * len(view) > MAX_STRING_BYTES  # a replacement takes 3 bytes
    if may_have_grown and len(text.encode()) > MAX_STRING_BYTES:
        raise DecodeError(
            f"a string of {len(view)} bytes, too many of them malformed: it could not"
            " be written again"
        )
    return text


def _utf8(text: str) -> bytes:
    data = text.encode()
    if len(data) > MAX_STRING_BYTES:
        raise EncodeError(
            f"a string of {len(data)} bytes: at most {MAX_STRING_BYTES} are allowed"
        )
    return data


def _as_it_is(value: Any) -> Any:
    return value


class Converter(NamedTuple):
    """Turns bytes on the wire into a value, and a value into bytes."""

    from_bytes: Callable[[memoryview], Any]
    to_bytes: Callable[[Any], bytes]


_CONVERTERS = {
    "string": Converter(_text, _utf8),
    "bytes": Converter(bytes, _as_it_is),
    "records": Converter(_as_it_is, _as_it_is),
}


def sized(kind: str, flexible: bool) -> Codec:
    """The codec of a type with a length in front: string, bytes or records. Record
    batches are read as views into the frame, without copying them.
    """
    if flexible:
        read_length, length = _COMPACT
    elif kind == "string":
        read_length, length = _INT16
    else:
        read_length, length = _INT32
    from_bytes, to_bytes = _CONVERTERS[kind]

    def read(buffer: memoryview, at: int) -> tuple[Any, int]:
        size, at = read_length(buffer, at)
        if size < 0:
            return None, at
        end = at + size
        if end > len(buffer):  # a slice would silently be shorter
            raise DecodeError(f"{size} bytes are announced, {len(buffer) - at} remain")
        return from_bytes(buffer[at:end]), end

    def write(parts: list[Any], value: Any) -> None:
        data = to_bytes(value)
        parts[-1] += length(len(data))
        parts[-1] += data

    def write_apart(parts: list[Any], value: Any) -> None:
        """Adds bytes, or a list of bytes (slices of several segments, say), as separate
        parts of the frame.
        """
        slices = value if isinstance(value, list) else [value]
        size = sum(map(len, slices))
        parts[-1] += length(size)
        parts.extend(slices)
        parts.append(bytearray())

    return Codec(read, write_apart if kind == "records" else write, length(NULL))


def _read_uuid(buffer: memoryview, at: int) -> tuple[bytes, int]:
    end = at + 16
    if end > len(buffer):
        raise DecodeError("a uuid is cut off")
    return bytes(buffer[at:end]), end


def _write_uuid(parts: list[Any], value: bytes) -> None:
    if len(value) != 16:
        raise EncodeError(f"a uuid has 16 bytes, not {len(value)}")
    parts[-1] += value


UUID = Codec(_read_uuid, _write_uuid)


class Encoded(bytes):
    """A struct, or an array of structs, that is already encoded for the same version:
    it is written as it is.
    """


def join_array(items: Sequence[Encoded], flexible: bool) -> Encoded:
    """An array made from structs that are already encoded."""
    _, length = _COMPACT if flexible else _INT32
    return Encoded(length(len(items)) + b"".join(items))


def array(item: Codec, flexible: bool, code: str = "") -> Codec:
    """The codec of an array. code: for an array of numbers (partition indexes, broker
    ids), their struct code, so that all are packed or unpacked in one call.
    """
    read_length, length = _COMPACT if flexible else _INT32
    read_item, write_item = item.decode, item.encode
    width = struct.calcsize(">" + code) or 1  # the fewest bytes that an item takes

    def read(buffer: memoryview, at: int) -> tuple[list[Any] | None, int]:
        count, at = read_length(buffer, at)
        if count < 0:
            return None, at
        size = count * width
        left = len(buffer) - at
        if size > left:
            raise DecodeError(
                f"an array of {count} items is announced, {left} bytes remain"
            )
        items_of_this_message.get().take(count)
        if code:
            numbers = struct.unpack_from(f">{count}{code}", buffer, at)
            return list(numbers), at + size
        items = []
        for _ in range(count):
            value, at = read_item(buffer, at)
            if value is None:
                raise DecodeError("an item of an array is null")
            items.append(value)
        return items, at

    def write(parts: list[Any], values: Any) -> None:
        if type(values) is Encoded:
            parts[-1] += values
            return
        parts[-1] += length(len(values))
        if code:
            parts[-1] += struct.pack(f">{len(values)}{code}", *values)
            return
        for value in values:
            if value is None:
                raise EncodeError("an item of an array is None")
            write_item(parts, value)

    return Codec(read, write, length(NULL))


def nullable_struct(codec: Codec, tagged: bool) -> Codec:
    """A byte in front says whether the struct is there: 1 if it is; for null -1, or 0
    in a tagged field (KIP-893).
    """

    def read(buffer: memoryview, at: int) -> tuple[Any, int]:
        (present,) = _INT8.unpack_from(buffer, at)
        at += 1
        is_null = present <= 0 if tagged else present < 0
        return (None, at) if is_null else codec.decode(buffer, at)

    def write(parts: list[Any], value: Any) -> None:
        parts[-1] += _INT8.pack(1)
        codec.encode(parts, value)

    return Codec(read, write, _INT8.pack(0 if tagged else NULL))


# Numbers as they are written in records: varints. Zigzag puts the sign into the lowest
# bit (0, -1, 1, -2, ...), then each byte takes 7 bits, lowest first. Keys and values
# have their length in front as such a number.


def append_varint(data: bytearray, value: int) -> None:
    """Append a number as a varint. The sign goes into the lowest bit, so that small
    numbers of either sign are short.
    """
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
    """(value, position after it). Raises IndexError if the data ends first. Bits beyond
    the 64th are cut off.
    """
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
    """Append a key, a value, or a header's name or value, with its length in front."""
    if content is None:
        data.append(1)  # a length of -1
    else:
        append_varint(data, len(content))
        data += content


def bytes_size(content: bytes | None) -> int:
    """How many bytes append_bytes() appends."""
    return 1 if content is None else varint_size(len(content)) + len(content)


def read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    """(the bytes that append_bytes() wrote, position after them). Errors: CorruptRecord
    if fewer bytes are there than the length says; IndexError if the data ends within
    the length.
    """
    length, at = read_varint(data, at)
    if length < 0:
        return None, at
    end = at + length
    if end > len(data):
        raise CorruptRecord(f"{length} bytes announced, {len(data) - at} left")
    return data[at:end], end


def int64(value: int) -> int:
    """Wrap a number to 64 bits, as Java's arithmetic does with timestamps."""
    if -(1 << 63) <= value < 1 << 63:
        return value
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
