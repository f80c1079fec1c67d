"""Every message that travels between nodes or is stored in an internal log, compiled,
and the frames around it.

messages.txt has all of them. It is the one place where versions differ;
schema_text.py explains its form. The names are those of Apache Kafka's own message
definitions, so that a search for a field finds its KIP. Each API names the lowest and
highest version that Apache Kafka 4.4 has; a broker may serve fewer.
"""

import struct
from pathlib import Path
from typing import Any, NamedTuple

from minikafka.wire.primitives import Buffer, DecodeError, read_unsigned_varint, sized
from minikafka.wire.schema import NO_TAGGED_FIELDS, Body, Message, Schema
from minikafka.wire.schema_text import Declaration, parse

TEXT = Path(__file__).with_name("messages.txt").read_text(encoding="utf-8")


class Api(NamedTuple):
    """A request and its response. tagged_headers: the versions in which the header of a
    response has tagged fields. For ApiVersions it never has: the client that reads it
    doesn't know yet what the broker speaks (KIP-511).
    """

    name: str
    key: int
    min_version: int
    max_version: int
    request: Schema
    response: Schema
    tagged_headers: range

    def flexible(self, version: int) -> bool:
        """Whether lengths are compact and there are tagged fields (KIP-482)."""
        return version in self.request.flexible


class RecordType(NamedTuple):
    """A record of the metadata log."""

    name: str
    key: int
    schema: Schema


class CoordinatorRecordType(NamedTuple):
    """A record of a coordinator's log. Its key starts with the record's type where
    other messages have a version, and has only one form.
    """

    name: str
    key: int
    written_version: int  # version of the value that Apache Kafka 4.4 writes
    key_schema: Schema
    value_schema: Schema


class Request(NamedTuple):
    """A decoded request. Record batches in the body are views into the frame."""

    api: Api
    version: int
    correlation_id: int
    client_id: str | None
    body: Message


class UnsupportedVersion(Exception):
    """A request for an API or version that the schema text doesn't have; it carries
    what its header says all the same.
    """

    def __init__(self, api_key: int, version: int, correlation_id: int) -> None:
        name = BY_KEY[api_key].name if api_key in BY_KEY else f"API key {api_key}"
        super().__init__(f"{name} version {version} is not supported")
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id


API: dict[str, Api] = {}
BY_KEY: dict[int, Api] = {}
RECORD: dict[str, RecordType] = {}
COORDINATOR_RECORD: dict[str, CoordinatorRecordType] = {}
# bare messages: values of control records, and what members of a group tell each other
DATA: dict[str, Schema] = {}


def _compile(declaration: Declaration) -> None:
    """Put one paragraph of the schema text into the table for its kind."""
    name, attributes = declaration.name, declaration.attributes
    if "key" in attributes:
        key = int(attributes["key"])
        request = declaration.schema("Request")
        response = declaration.schema("Response", 1)
        API[name] = BY_KEY[key] = Api(
            name=name,
            key=key,
            min_version=request.versions[0],
            max_version=request.versions[-1],
            request=request,
            response=response,
            tagged_headers=range(0) if name == "ApiVersions" else request.flexible,
        )
    elif "record" in attributes:
        RECORD[name] = RecordType(name, int(attributes["record"]), declaration.schema())
    elif "coordinator" in attributes:
        value_schema = declaration.schema("Value", 1)
        written = int(attributes.get("written", value_schema.versions[-1]))
        COORDINATOR_RECORD[name] = CoordinatorRecordType(
            name=name,
            key=int(attributes["coordinator"]),
            written_version=written,
            key_schema=Schema(f"{name}Key", range(1), range(0), declaration.structs[0]),
            value_schema=value_schema,
        )
    else:
        DATA[name] = declaration.schema()


for _declaration in parse(TEXT):
    _compile(_declaration)

# Frames. Each begins with a header; the code that owns the socket reads and writes the
# size in front of it.

# API key, API version, correlation id; the client id follows
_REQUEST_HEADER = struct.Struct(">hhi")
_RESPONSE_HEADER = struct.Struct(">i")
# never compact, so that a broker can read the header of any version
_CLIENT_ID = sized("string", flexible=False)
_VERSION = struct.Struct(">h")

# in all arrays of a request together: about what can be answered in 100 ms
MOST_REQUEST_ITEMS = 10_000


def encode_request(
    api: str, version: int, correlation_id: int, client_id: str | None, body: Body
) -> list[Any]:
    """A request as the parts of a frame, without its size. Record batches become parts
    of their own and aren't copied.
    """
    kind = API[api]
    parts: list[Any] = [
        bytearray(_REQUEST_HEADER.pack(kind.key, version, correlation_id))
    ]
    if client_id is None:
        parts[-1] += _CLIENT_ID.null
    else:
        _CLIENT_ID.encode(parts, client_id)
    if version in kind.request.flexible:
        parts[-1] += NO_TAGGED_FIELDS
    kind.request.encode(version, body, parts)
    return [part for part in parts if len(part)]


def decode_request(frame: Buffer) -> Request:
    """A request from a frame without its size. Raises UnsupportedVersion or
    DecodeError.

    Bytes after the last field are ignored, as in Apache Kafka.
    """
    buffer = memoryview(frame)
    if len(buffer) < _REQUEST_HEADER.size:
        raise DecodeError(f"a request of {len(buffer)} bytes has no whole header")
    key, version, correlation_id = _REQUEST_HEADER.unpack_from(buffer)
    try:
        client_id, at = _CLIENT_ID.decode(buffer, _REQUEST_HEADER.size)
    except (struct.error, DecodeError):
        client_id = at = None
    api = BY_KEY.get(key)
    if api is None or not api.min_version <= version <= api.max_version:
        raise UnsupportedVersion(key, version, correlation_id)
    if at is None:
        raise DecodeError("the header of a request ends within its client id")
    if version in api.request.flexible:
        at = _skip_tagged_fields(buffer, at)
    body, _ = api.request.decode(version, buffer, at, MOST_REQUEST_ITEMS)
    return Request(api, version, correlation_id, client_id, body)


def api_name(frame: Buffer) -> str:
    """The name of the API that a request is for, from its first two bytes."""
    key = int.from_bytes(frame[:2], "big", signed=True)
    return BY_KEY[key].name if key in BY_KEY else f"API key {key}"


def encode_response(
    api: str, version: int, correlation_id: int, body: Body
) -> list[Any]:
    """A response as the parts of a frame, without its size."""
    kind = API[api]
    parts: list[Any] = [bytearray(_RESPONSE_HEADER.pack(correlation_id))]
    if version in kind.tagged_headers:
        parts[-1] += NO_TAGGED_FIELDS
    kind.response.encode(version, body, parts)
    return [part for part in parts if len(part)]


def decode_response(api: str, version: int, frame: Buffer) -> tuple[int, Message]:
    """The correlation id and the response. The caller sent the request, so it knows the
    API and version. Raises DecodeError.
    """
    buffer = memoryview(frame)
    kind = API[api]
    if len(buffer) < _RESPONSE_HEADER.size:
        raise DecodeError(f"a response of {len(buffer)} bytes has no whole header")
    (correlation_id,) = _RESPONSE_HEADER.unpack_from(buffer)
    at = _RESPONSE_HEADER.size
    if version in kind.tagged_headers:
        at = _skip_tagged_fields(buffer, at)
    body, _ = kind.response.decode(version, buffer, at)
    return correlation_id, body


def _skip_tagged_fields(buffer: memoryview, at: int) -> int:
    """Skip a header's tagged fields: none are defined that we know. Returns the
    position after them.
    """
    try:
        if not buffer[at]:  # nearly always
            return at + 1
        count, at = read_unsigned_varint(buffer, at)
        if count > MOST_REQUEST_ITEMS:
            raise DecodeError(f"the header announces {count} tagged fields")
        for _ in range(count):
            _, at = read_unsigned_varint(buffer, at)
            size, at = read_unsigned_varint(buffer, at)
            at += size
    except IndexError:
        raise DecodeError("the header ends within its tagged fields") from None
    return at


# Bare messages: the reader knows their version, or finds it in front of them


def encode_data(name: str, version: int, body: Body) -> bytes:
    """A bare message, such as the value of a control record."""
    return DATA[name].to_bytes(version, body)


def decode_data(name: str, version: int, data: Buffer) -> Message:
    """A bare message from its bytes. Raises DecodeError."""
    message, _ = DATA[name].decode(version, memoryview(data))
    return message


def encode_versioned(name: str, version: int, body: Body) -> bytes:
    """A bare message with its version in front: a group member's subscription or
    assignment.
    """
    return DATA[name].to_bytes(version, body, _VERSION.pack(version))


def decode_versioned(name: str, data: Buffer) -> Message:
    """The message after its version. Raises DecodeError.

    A version newer than ours is read as our newest, as Apache Kafka's ConsumerProtocol
    does: such a message only has more fields at its end.
    """
    if len(data) < _VERSION.size:
        raise DecodeError(f"a {name} of {len(data)} bytes has no version")
    (version,) = _VERSION.unpack_from(data)
    if version < 0:
        raise DecodeError(f"{name} has no version {version}")
    newest = DATA[name].versions[-1]
    return decode_data(name, min(version, newest), memoryview(data)[_VERSION.size :])
