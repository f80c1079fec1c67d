"""A frame taken apart: which bytes are which field, by the schema text, up to where it
makes no sense any more.

wire/schema.py reads frames fast, and doesn't remember where a field was; here each one
is read by itself. Who can't go on says why, as the broker or client that reads it does.
"""

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from minikafka.theatre.pictures.bytes.story import Part
from minikafka.theatre.text import counted
from minikafka.wire import messages, primitives, records
from minikafka.wire.errors import CorruptRecord, Error
from minikafka.wire.primitives import FIXED, DecodeError
from minikafka.wire.schema import Field, Struct

# the fields of a batch's header, and their types (wire/records.py)
BATCH_HEADER = {
    "BaseOffset": "int64",
    "BatchLength": "int32",
    "PartitionLeaderEpoch": "int32",
    "Magic": "int8",
    "CRC": "uint32",
    "Attributes": "int16",
    "LastOffsetDelta": "int32",
    "BaseTimestamp": "int64",
    "MaxTimestamp": "int64",
    "ProducerId": "int64",
    "ProducerEpoch": "int16",
    "BaseSequence": "int32",
    "RecordsCount": "int32",
}
TEXT_MOST = 24  # letters of a value

Read = Callable[[memoryview, int], tuple[Any, int]]


class Apart(NamedTuple):
    """A frame taken apart into its fields."""

    parts: list[Part]
    end: int  # up to where it was read
    why: str  # what stopped the reading there; nothing if all fields were read


class Layout(NamedTuple):
    """How a message's fields are written."""

    version: int
    flexible: bool  # with compact lengths and tagged fields (KIP-482)


def request_apart(frame: bytes) -> Apart:
    """A request, without its size."""
    return _apart(frame, _Reader.request)


def response_apart(frame: bytes, api: str, version: int) -> Apart:
    """An answer, without its size, as the client reads it that asked this."""

    def read(reader: "_Reader") -> None:
        reader.response(api, version)

    return _apart(frame, read)


def batch_apart(frame: bytes) -> Apart:
    """A record batch by itself."""
    return _apart(frame, _Reader.batch)


def _apart(frame: bytes, read: "Callable[[_Reader], None]") -> Apart:
    reader = _Reader(frame)
    why = ""
    try:
        read(reader)
    except (struct.error, IndexError):
        why = "the bytes end too early"
    except CorruptRecord as error:
        why = error.message
    except DecodeError as error:
        why = str(error)
    return Apart(reader.parts, reader.at, why)


class _Reader:
    """Goes through a frame, field by field."""

    def __init__(self, frame: bytes) -> None:
        self.buffer = memoryview(frame)
        self.at = 0
        self.parts: list[Part] = []
        self.section = ""

    def take(self, name: str, type_name: str, read: Read, depth: int = 0) -> Any:
        """Read a field, and remember where it was. Returns its value."""
        first = self.at
        value, end = read(self.buffer, first)
        self.at = end
        part = Part(
            section=self.section,
            depth=depth,
            name=name,
            type=type_name,
            value=shown(value),
            first=first,
            end=end,
        )
        self.parts.append(part)
        return value

    def number(self, name: str, type_name: str, depth: int = 0) -> int:
        value: int = self.take(name, type_name, _fixed(type_name), depth)
        return value

    def say(self, value: str) -> None:
        """Describe the last field's value in better words."""
        self.parts[-1] = self.parts[-1]._replace(value=value)

    # -- frames

    def request(self) -> None:
        self.section = "request header"
        key = self.number("ApiKey", "int16")
        api = messages.BY_KEY.get(key)
        self.say(f"{key} {api.name}" if api else f"{key}, unknown")
        version = self.number("ApiVersion", "int16")
        self.number("CorrelationId", "int32")
        self.take("ClientId", "string?", _sized("string", flexible=False))
        if api is None:
            raise DecodeError(f"there is no API {key}")
        if version not in range(api.min_version, api.max_version + 1):
            raise DecodeError(f"{api.name} has no version {version}")
        layout = Layout(version, api.flexible(version))
        if layout.flexible:
            self.tagged_fields(depth=0)
        self.section = f"{api.name} request"
        self.fields(api.request.struct, layout, depth=0)

    def response(self, api_name: str, version: int) -> None:
        self.section = "response header"
        self.number("CorrelationId", "int32")
        api = messages.API[api_name]
        layout = Layout(version, api.flexible(version))
        if layout.flexible and api_name != "ApiVersions":
            self.tagged_fields(depth=0)
        self.section = f"{api_name} response"
        self.fields(api.response.struct, layout, depth=0)

    # -- by the schema

    def fields(self, what: Struct, layout: Layout, depth: int) -> None:
        for field in what.fields:
            is_there = layout.version in field.versions
            if is_there and field.tag is None:
                self.field(field, layout, depth)
        if layout.flexible:
            self.tagged_fields(depth)

    def field(self, field: Field, layout: Layout, depth: int) -> None:
        is_nullable = layout.version in field.nullable
        type_name = f"{field.type}?" if is_nullable else field.type
        if field.array:
            self.array(field, f"[]{type_name}", layout, depth)
        elif field.struct:
            if is_nullable:
                present = self.number(field.name, "int8", depth)
                if present < 0:
                    return
            self.fields(field.struct, layout, depth + 1)
        elif field.type == "records":
            self.records(field.name, type_name, layout, depth)
        elif field.type in FIXED:
            value = self.number(field.name, field.type, depth)
            if field.name == "ErrorCode":
                self.say(f"{value} {error_name(value)}")
        else:
            read = _sized(field.type, layout.flexible)
            self.take(field.name, type_name, read, depth)

    def records(self, name: str, type_name: str, layout: Layout, depth: int) -> None:
        size = self.take(name, type_name, _length(layout.flexible), depth)
        if size > 0:
            self.say(f"{size} bytes")
            self.batches(self.at + size)

    def array(self, field: Field, type_name: str, layout: Layout, depth: int) -> None:
        count = self.take(field.name, type_name, _length(layout.flexible), depth)
        left = len(self.buffer) - self.at
        if count > left:
            raise DecodeError(
                f"an array of {count} items is announced, {left} bytes remain"
            )
        for number in range(count):
            self.item(field, number, layout, depth + 1)

    def item(self, field: Field, number: int, layout: Layout, depth: int) -> None:
        """Read one item of an array."""
        name = f"[{number}]"
        if field.struct:
            self.fields(field.struct, layout, depth)
        elif field.type in FIXED:
            self.number(name, field.type, depth)
        else:
            read = _sized(field.type, layout.flexible)
            self.take(name, field.type, read, depth)

    def tagged_fields(self, depth: int) -> None:
        varint = primitives.read_unsigned_varint
        count = self.take("tagged fields", "varint", varint, depth)
        for _ in range(count):
            self.take("tag", "varint", varint, depth + 1)
            self.take("tagged field", "bytes", _tagged, depth + 1)

    # -- record batches

    def batches(self, end: int) -> None:
        """Those in a field of records, which ends there. What comes after it is of the
        message again.
        """
        section = self.section
        whole = self.buffer
        if end > len(whole):
            announced = end - self.at
            left = len(whole) - self.at
            raise DecodeError(f"{announced} bytes are announced, {left} remain")
        self.buffer = whole[:end]
        while self.at < end:
            self.batch()
        self.buffer = whole
        self.section = section

    def batch(self) -> None:
        first = self.at
        header = self.batch_header()
        end = first + records.LOG_OVERHEAD + header["BatchLength"]
        least = first + records.BATCH_OVERHEAD
        most = len(self.buffer)
        if not least <= end <= most:
            raise CorruptRecord(
                f"the batch announces {end - first} bytes, {most - first} are there"
            )
        if header["Attributes"] & records.COMPRESSION:
            self.take("records", "compressed", _rest_up_to(end))
            return
        for number in range(header["RecordsCount"]):
            self.record(number)
        self.check_end("the records end", end)

    def batch_header(self) -> dict[str, int]:
        """Read a record batch's header, as field name -> value. Errors: CorruptRecord
        for another magic than 2.
        """
        self.section = "record batch"
        header = {}
        for name, type_name in BATCH_HEADER.items():
            value = self.number(name, type_name)
            header[name] = value
            if name == "Magic" and value != records.MAGIC:
                raise CorruptRecord(f"magic {value} instead of 2")
            if name == "CRC":
                self.say(f"{value:08x}")
        return header

    def record(self, number: int) -> None:
        self.section = f"record {number}"
        length = self.varint("Length")
        end = self.at + length
        self.number("Attributes", "int8")
        self.varint("TimestampDelta")
        self.varint("OffsetDelta")
        self.content("Key")
        self.content("Value")
        headers = self.varint("Headers")
        for _ in range(headers):
            self.content("Name", depth=1)
            self.content("Content", depth=1)
        self.check_end(f"record {number} ends", end)

    def check_end(self, what: str, end: int) -> None:
        """Check that reading stopped exactly where the end was announced."""
        if self.at != end:
            off = counted(end - self.at, "byte")
            raise CorruptRecord(f"{what} {off} off")

    def varint(self, name: str, depth: int = 0) -> int:
        value: int = self.take(name, "varint", _varint, depth)
        return value

    def content(self, name: str, depth: int = 0) -> None:
        """Read a length as a varint, and that many bytes; a length of -1 means null."""
        self.take(name, "varint, bytes", _content, depth)


# -- one field


def _fixed(type_name: str) -> Read:
    return primitives.number(FIXED[type_name]).decode


def _length(flexible: bool) -> Read:
    """Reads the length of an array, or of records; -1 means null."""
    return _compact if flexible else _fixed("int32")


def _compact(buffer: memoryview, at: int) -> tuple[int, int]:
    length, at = primitives.read_unsigned_varint(buffer, at)
    return length - 1, at


def _sized(kind: str, flexible: bool) -> Read:
    if kind == "uuid":
        return primitives.UUID.decode
    return primitives.sized(kind, flexible).decode


def _tagged(buffer: memoryview, at: int) -> tuple[bytes, int]:
    """Read a tagged field's size, and that many bytes."""
    size, at = primitives.read_unsigned_varint(buffer, at)
    left = len(buffer) - at
    if size > left:
        raise DecodeError(f"{size} bytes are announced, {left} remain")
    return bytes(buffer[at : at + size]), at + size


def _varint(buffer: memoryview, at: int) -> tuple[int, int]:
    return primitives.read_varint(bytes(buffer), at)


def _content(buffer: memoryview, at: int) -> tuple[bytes | None, int]:
    return primitives.read_bytes(bytes(buffer), at)


def _rest_up_to(end: int) -> Read:
    def read(buffer: memoryview, at: int) -> tuple[bytes, int]:
        return bytes(buffer[at:end]), end

    return read


# -- in words


def shown(value: Any) -> str:
    """A value as one reads it."""
    if value is None:
        return "null"
    if isinstance(value, (bytes, memoryview)):
        data = bytes(value)
        text = data.decode("latin-1")
        if not text.isascii() or not text.isprintable():
            return data.hex(" ")[:TEXT_MOST]
        value = text
    if isinstance(value, str):
        return f"“{value[:TEXT_MOST]}”"
    return str(value)


def error_name(code: int) -> str:
    """The error code's name in Kafka's spelling; "unknown" if it has none."""
    try:
        return Error(code).name
    except ValueError:
        return "unknown"
