"""Compiles fields (text.py reads them from the schema text) into functions that decode
and encode.

This module knows the protocol's types, not its APIs. A struct is compiled at the first
use of a version. What remains at run time is a short list of steps: a run of numbers is
one call of struct.unpack, everything else one call of a codec of primitives.py.
"""

import struct as layouts
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

from . import primitives
from .primitives import (
    FIXED,
    Codec,
    DecodeError,
    Encoded,
    EncodeError,
    Reader,
    Writer,
    read_unsigned_varint,
    unsigned_varint,
)

NO_TAGGED_FIELDS = b"\0"
# of a message that no client sent: an answer, a record of an internal topic
MOST_ITEMS = 200_000


class Message:
    """Any struct of the protocol, with its fields as attributes. In a decoded one,
    absent fields read as defaults.
    """

    __slots__ = ("__dict__", "_struct")
    _struct: "Struct | None"

    def __init__(self, **fields: Any) -> None:
        self._struct = None
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        if (
            name.startswith("_")
            or self._struct is None
            or name not in self._struct.by_attribute
        ):
            raise AttributeError(f"{self._name()} has no field {name}")
        self.__dict__[name] = default = self._struct.by_attribute[name].fresh_default()
        return default

    if TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None: ...

    def _name(self) -> str:
        return self._struct.name if self._struct else "Message"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        defaults = (self._struct or other._struct or _NO_STRUCT).by_attribute

        def value(message: Message, name: str) -> Any:
            default = defaults[name].fresh_default() if name in defaults else ...
            return message.__dict__.get(name, default)

        return all(
            value(self, name) == value(other, name)
            for name in self.__dict__.keys() | other.__dict__.keys()
        )

    def __repr__(self) -> str:
        fields = (f"{name}={_brief(value)}" for name, value in self.__dict__.items())
        return f"{self._name()}({', '.join(fields)})"

    def to_dict(self) -> dict[str, Any]:
        """The fields that are set, nested messages as dicts and records as bytes."""
        return {name: _plain(value) for name, value in self.__dict__.items()}


Body = Message | Mapping[str, Any]


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        return value.to_dict()
    if isinstance(value, list):
        return (
            [_plain(item) for item in value]
            if value and not isinstance(value[0], int | str)
            else [*value]
        )
    return bytes(value) if isinstance(value, memoryview) else value


def _brief(value: Any) -> str:
    return f"<{len(value)} bytes>" if isinstance(value, memoryview) else repr(value)


def nested(
    parts: Iterable[tuple[Any, Any]],
    topic: str = "name",
    partitions: str = "partitions",
) -> list[dict[str, Any]]:
    """Messages name a topic once and list its partitions under it; code works with one
    partition at a time. parts: (topic, one partition's). topic, partitions: what the
    API calls these two fields. The order stays.
    """
    found: dict[Any, list[Any]] = {}
    for name, part in parts:
        found.setdefault(name, []).append(part)
    return [{topic: name, partitions: theirs} for name, theirs in found.items()]


@dataclass(frozen=True, slots=True)
class Field:
    """One line of the schema text."""

    name: str
    attribute: str
    type: str  # of the items, if it is an array
    array: bool
    versions: range
    nullable: range
    default: Any  # None, a scalar, () for an array or {} for a struct
    tag: int | None
    ignorable: bool
    struct: "Struct | None"

    def fresh_default(self) -> Any:
        """The default; lists and messages are new each time, since they can be
        changed.
        """
        if self.default is None:
            return None
        if self.array:
            return []
        return _message(self.struct, {}) if self.struct else self.default

    def is_default(self, value: Any) -> bool:
        if value is None or self.default is None:
            return value is self.default
        if self.array:
            return len(value) == 0
        if self.struct:
            fields = _fields_of(value)
            return all(
                self.struct.by_attribute[name].is_default(fields[name])
                for name in fields
            )
        return bool(value == self.default)


@dataclass(eq=False)
class Struct:
    """Fields in the order in which they are written."""

    name: str
    fields: Sequence[Field]
    by_attribute: Mapping[str, Field] = field(init=False)

    def __post_init__(self) -> None:
        self.by_attribute = {f.attribute: f for f in self.fields}


_NO_STRUCT = Struct("Message", [])


@dataclass(eq=False)
class Schema:
    """A whole message: a request, a response, or a record of an internal log."""

    name: str
    versions: range
    flexible: range
    read: Callable[[], Struct]  # from the schema text, when the message is used first

    @cached_property
    def struct(self) -> Struct:
        """The fields."""
        return self.read()

    def decode(
        self,
        version: int,
        buffer: memoryview,
        at: int = 0,
        most_items: int = MOST_ITEMS,
    ) -> tuple[Message, int]:
        """The message and the position behind it. Raises DecodeError; ValueError if
        there is no such version.
        """
        primitives.budget.begin(most_items)
        try:
            return self._codec(version).decode(buffer, at)
        except (layouts.error, IndexError):
            raise DecodeError(
                f"{self.name} version {version}: the message ends too early"
            ) from None
        except DecodeError as error:
            raise DecodeError(f"{self.name} version {version}: {error}") from None

    def encode(self, version: int, body: Body, parts: list[Any]) -> None:
        """Appends the message to the parts of a frame, whose last is a bytearray.
        Missing fields become defaults.
        """
        self._codec(version).encode(parts, body)

    def to_bytes(self, version: int, body: Body, prefix: bytes = b"") -> bytes:
        """A message without record batches, which would be parts of their own."""
        parts = [bytearray(prefix)]
        self.encode(version, body, parts)
        return bytes(parts[0])

    def encode_item(self, version: int, path: str, item: Mapping[str, Any]) -> Encoded:
        """One item of an array of this message, to be put into it any number of times.
        path: to the array, with dots between the fields.
        """
        struct: Struct | None = self.struct
        for attribute in path.split("."):
            assert struct is not None
            struct = struct.by_attribute[attribute].struct
        assert struct is not None, f"{path} has no structs"
        parts: list[Any] = [bytearray()]
        _compiled(struct, version, version in self.flexible).encode(parts, item)
        return Encoded(parts[0])

    def join_items(self, version: int, items: Sequence[Encoded]) -> Encoded:
        """A whole array of this message."""
        return primitives.join_array(items, version in self.flexible)

    def _codec(self, version: int) -> Codec:
        if version not in self.versions:
            raise ValueError(
                f"{self.name} has versions {self.versions[0]} to {self.versions[-1]},"
                f" not {version}"
            )
        return _compiled(self.struct, version, version in self.flexible)


def _message(struct: Struct | None, fields: dict[str, Any]) -> Message:
    message = Message.__new__(Message)
    message.__dict__ = fields
    message._struct = struct
    return message


def _fields_of(body: Any) -> Mapping[str, Any]:
    return body if isinstance(body, dict) else body.__dict__


# of fields without a tag: what to read or write, and with what
_Steps = list[tuple[Any, Any, Any, Any]]
_Tagged = list[tuple[Field, Codec]]


@cache
def _compiled(struct: Struct, version: int, flexible: bool) -> Codec:
    """The functions that read and write one struct at a version."""
    present = [f for f in struct.fields if version in f.versions]
    plain = [f for f in present if f.tag is None]
    reads: _Steps = []
    writes: _Steps = []
    for fixed, group in groupby(plain, lambda f: f.type in FIXED and not f.array):
        if fixed:
            run = list(group)
            layout = layouts.Struct(">" + "".join(FIXED[f.type] for f in run))
            reads.append(
                ([f.attribute for f in run], layout.unpack_from, layout.size, False)
            )
            writes.append(
                ([(f.attribute, f.default) for f in run], None, layout.pack, None)
            )
        else:
            for f in group:
                codec, nullable = _codec(f, version, flexible), version in f.nullable
                reads.append((f.attribute, codec.decode, 0, nullable))
                writes.append(
                    (
                        f.attribute,
                        f.default,
                        codec.encode,
                        codec.null if nullable else None,
                    )
                )
    tagged = [(f, _codec(f, version, flexible)) for f in present if f.tag is not None]
    decode = _decoder(struct, version, flexible, reads, tagged)
    return Codec(decode, _encoder(struct, version, flexible, writes, tagged))


def _decoder(
    struct: Struct, version: int, flexible: bool, steps: _Steps, tagged: _Tagged
) -> Reader:
    tags = {
        f.tag: (f.attribute, codec.decode, version in f.nullable) for f, codec in tagged
    }

    def decode(buffer: memoryview, at: int) -> tuple[Message, int]:
        fields: dict[str, Any] = {}
        for name, read, size, nullable in steps:
            if size:
                fields.update(zip(name, read(buffer, at), strict=True))
                at += size
            else:
                value, at = read(buffer, at)
                if value is None and not nullable:
                    raise DecodeError(f"{struct.name}.{name} must not be null")
                fields[name] = value
        if flexible:
            if not buffer[at]:  # nearly always: no tagged fields
                return _message(struct, fields), at + 1
            count, at = read_unsigned_varint(buffer, at)
            primitives.budget.take(count)
            for _ in range(count):
                at = read_tagged(buffer, at, fields)
        return _message(struct, fields), at

    def read_tagged(buffer: memoryview, at: int, fields: dict[str, Any]) -> int:
        tag, at = read_unsigned_varint(buffer, at)
        size, at = read_unsigned_varint(buffer, at)
        if size > len(buffer) - at:
            raise DecodeError(
                f"a tagged field of {size} bytes is announced, {len(buffer) - at}"
                " remain"
            )
        if tag not in tags:  # from a newer version of Kafka than ours
            return at + size
        name, read, nullable = tags[tag]
        value, end = read(buffer, at)
        if end != at + size or (value is None and not nullable):
            raise DecodeError(f"{struct.name}.{name}, a tagged field, is malformed")
        fields[name] = value
        return end

    return decode


def _encoder(
    struct: Struct, version: int, flexible: bool, steps: _Steps, tagged: _Tagged
) -> Writer:
    """A function that writes one struct, given as a Message or a dict."""
    known = {f.attribute for f in struct.fields}
    strict = [f for f in struct.fields if version not in f.versions and not f.ignorable]
    tags = {f.attribute for f, _ in tagged}
    by_tag = sorted(tagged, key=lambda each: each[0].tag or 0)

    def encode(parts: list[Any], body: Any) -> None:
        if type(body) is Encoded:
            parts[-1] += body
            return
        fields: Mapping[str, Any] = body if type(body) is dict else _fields_of(body)
        if not known.issuperset(fields):
            raise EncodeError(
                f"{struct.name} has no field {', '.join(sorted(fields.keys() - known))}"
            )
        for f in strict:
            if f.attribute in fields and not f.is_default(fields[f.attribute]):
                raise EncodeError(
                    f"{struct.name}.{f.name} is set, but version {version} does not"
                    " have it"
                )
        name: Any = None
        try:
            for name, default, write, null in steps:
                if type(name) is list:
                    parts[-1] += write(
                        *[fields.get(attribute, zero) for attribute, zero in name]
                    )
                elif (value := fields.get(name, default)) is not None:
                    write(parts, value)
                elif null is not None:
                    parts[-1] += null
                else:
                    raise EncodeError(
                        f"{struct.name}.{name} must not be None in version {version}"
                    )
            if flexible:
                write_tagged(parts, fields)
        except EncodeError:
            raise
        except (layouts.error, TypeError, ValueError, AttributeError) as error:
            names = (
                [attribute for attribute, _ in name]
                if isinstance(name, list)
                else [name]
            )
            raise EncodeError(
                f"{struct.name}.{' or '.join(names)} in version {version}: {error}"
            ) from error

    def write_tagged(parts: list[Any], fields: Mapping[str, Any]) -> None:
        if tags.isdisjoint(fields):
            parts[-1] += NO_TAGGED_FIELDS
            return
        set_fields = []
        for f, codec in by_tag:
            if f.attribute not in fields or f.is_default(value := fields[f.attribute]):
                continue
            payload: list[Any] = [bytearray()]
            if value is not None:
                codec.encode(payload, value)
            elif version in f.nullable:
                payload[0] += codec.null
            else:
                raise EncodeError(
                    f"{struct.name}.{f.attribute} must not be None in version {version}"
                )
            set_fields.append(
                unsigned_varint(f.tag or 0)
                + unsigned_varint(len(payload[0]))
                + payload[0]
            )
        parts[-1] += unsigned_varint(len(set_fields)) + b"".join(set_fields)

    return encode


def _codec(f: Field, version: int, flexible: bool) -> Codec:
    if f.struct:
        codec = _compiled(f.struct, version, flexible)
        if version in f.nullable and not f.array:
            codec = primitives.nullable_struct(codec, f.tag is not None)
    elif f.type in FIXED:  # in an array, or with a tag
        codec = primitives.number(FIXED[f.type])
    else:
        codec = (
            primitives.UUID if f.type == "uuid" else primitives.sized(f.type, flexible)
        )
    return (
        primitives.array(codec, flexible, FIXED.get(f.type, "")) if f.array else codec
    )
