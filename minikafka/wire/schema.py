"""Compiles fields (schema_text.py reads them from the schema text) into functions that
decode and encode.

This module knows the protocol's types, not its APIs. A struct is compiled when a
version of it is first used. At run time only a short list of steps is left: a run of
numbers is one call of struct.unpack, every other field one call of a codec from
primitives.py.
"""

import struct as layouts
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from minikafka.wire import primitives
from minikafka.wire.primitives import (
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
# for a message that no client sent: a response, a record of an internal topic
MOST_ITEMS = 200_000


class Message:
    """Any struct of the protocol, with its fields as attributes. After decoding, absent
    fields read as their defaults.
    """

    __slots__ = ("__dict__", "_struct")
    _struct: "Struct | None"

    def __init__(self, **fields: Any) -> None:
        self._struct = None
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> Any:
        """The default of a field that isn't set. It is kept, because the caller may
        change it.
        """
        if name.startswith("_") or self._struct is None:
            raise AttributeError(f"{self._name()} has no field {name}")
        field = self._struct.by_attribute.get(name)
        if field is None:
            raise AttributeError(f"{self._name()} has no field {name}")
        default = field.fresh_default()
        self.__dict__[name] = default
        return default

    if TYPE_CHECKING:

        def __setattr__(self, name: str, value: Any) -> None: ...

    def _name(self) -> str:
        if self._struct is None:
            return "Message"
        return self._struct.name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        struct = self._struct or other._struct or _NO_STRUCT
        own, others = self.__dict__, other.__dict__
        for name in own.keys() | others.keys():
            default: Any = ...
            if name in struct.by_attribute:
                default = struct.by_attribute[name].fresh_default()
            if own.get(name, default) != others.get(name, default):
                return False
        return True

    def __repr__(self) -> str:
        fields = [f"{name}={_brief(value)}" for name, value in self.__dict__.items()]
        return f"{self._name()}({', '.join(fields)})"

    def to_dict(self) -> dict[str, Any]:
        """The fields that are set: nested messages become dicts, and records bytes."""
        return {name: _plain(value) for name, value in self.__dict__.items()}


Body = Message | Mapping[str, Any]


def _plain(value: Any) -> Any:
    """A value in which no message is left, and nothing that points into a frame."""
    if isinstance(value, Message):
        return value.to_dict()
    if isinstance(value, list):
        if value and not isinstance(value[0], int | str):
            return [_plain(item) for item in value]
        return [*value]
    if isinstance(value, memoryview):
        return bytes(value)
    return value


def _brief(value: Any) -> str:
    if isinstance(value, memoryview):
        return f"<{len(value)} bytes>"
    return repr(value)


def nested(
    parts: Iterable[tuple[Any, Any]],
    topic: str = "name",
    partitions: str = "partitions",
) -> list[dict[str, Any]]:
    """Group parts by topic: messages name a topic once and list its partitions under
    it, while code works with one partition at a time. parts: pairs of a topic and one
    partition's struct. topic, partitions: the names that the API gives these two
    fields. The order is kept.
    """
    by_topic: dict[Any, list[Any]] = {}
    for name, part in parts:
        by_topic.setdefault(name, []).append(part)
    return [{topic: name, partitions: found} for name, found in by_topic.items()]


class Field(NamedTuple):
    """One line of the schema text."""

    name: str
    attribute: str
    type: str  # of the items, if this is an array
    array: bool
    versions: range
    nullable: range
    default: Any  # None, a scalar, () for an array or {} for a struct
    tag: int | None
    ignorable: bool
    struct: "Struct | None"

    def fresh_default(self) -> Any:
        """The default. Lists and messages are new each time, because the caller may
        change them.
        """
        if self.default is None:
            return None
        if self.array:
            return []
        if self.struct:
            return _message(self.struct, {})
        return self.default

    def is_default(self, value: Any) -> bool:
        """Whether the value is the one that a reader would assume if the field were
        missing.
        """
        if value is None or self.default is None:
            return value is self.default
        if self.array:
            return len(value) == 0
        if self.struct:
            known = self.struct.by_attribute
            fields = _fields_of(value)
            return all(known[name].is_default(fields[name]) for name in fields)
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
    read: Callable[[], Struct]  # parses the schema text when the message is first used
    _codecs: dict[int, Codec] = field(default_factory=dict)  # by version, once used

    @cached_property
    def struct(self) -> Struct:
        """The message's fields, parsed when they are first needed."""
        return self.read()

    def decode(
        self,
        version: int,
        buffer: memoryview,
        at: int = 0,
        most_items: int = MOST_ITEMS,
    ) -> tuple[Message, int]:
        """The message and the position after it. Raises DecodeError, or ValueError if
        there is no such version.
        """
        primitives.items_of_this_message.set(primitives.ItemBudget(most_items))
        try:
            codec = self._codecs.get(version) or self._codec(version)
            return codec.decode(buffer, at)
        except (layouts.error, IndexError):
            why = "the message ends too early"
            raise DecodeError(f"{self.name} version {version}: {why}") from None
        except DecodeError as error:
            raise DecodeError(f"{self.name} version {version}: {error}") from None

    def encode(self, version: int, body: Body, parts: list[Any]) -> None:
        """Appends the message to the parts of a frame, the last of which is a
        bytearray. Missing fields get their defaults.
        """
        codec = self._codecs.get(version) or self._codec(version)
        codec.encode(parts, body)

    def to_bytes(self, version: int, body: Body, prefix: bytes = b"") -> bytes:
        """The bytes of a message that holds no record batches (those would be separate
        parts).
        """
        parts = [bytearray(prefix)]
        self.encode(version, body, parts)
        return bytes(parts[0])

    def encode_item(self, version: int, path: str, item: Mapping[str, Any]) -> Encoded:
        """Encode one item of an array of this message, so that it can be used any
        number of times. path: the fields that lead to the array, joined by dots.
        """
        struct: Struct | None = self.struct
        for attribute in path.split("."):
            assert struct is not None
            struct = struct.by_attribute[attribute].struct
        assert struct is not None, f"{path} has no structs"
        parts: list[Any] = [bytearray()]
        codec = _compiled(struct, version, version in self.flexible)
        codec.encode(parts, item)
        return Encoded(parts[0])

    def join_items(self, version: int, items: Sequence[Encoded]) -> Encoded:
        """A whole array of this message, from encoded items."""
        return primitives.join_array(items, version in self.flexible)

    def _codec(self, version: int) -> Codec:
        if version not in self.versions:
            first, last = self.versions[0], self.versions[-1]
            raise ValueError(
                f"{self.name} has versions {first} to {last}, not {version}"
            )
        codec = _compiled(self.struct, version, version in self.flexible)
        self._codecs[version] = codec
        return codec


def _message(struct: Struct, fields: dict[str, Any]) -> Message:
    """A decoded message. The fields are not copied."""
    message = Message.__new__(Message)
    message.__dict__ = fields
    message._struct = struct
    return message


def _fields_of(body: Any) -> Mapping[str, Any]:
    return body if isinstance(body, dict) else body.__dict__


# -- compiling for one version


# The fields of a struct are read and written in steps, in the order of the schema text:
# one step per field, but a single step for numbers that are neighbours. Tagged fields
# come last, ordered by tag, and only if they are set (KIP-482).


class Run(NamedTuple):
    """Neighbouring numbers that one call reads or writes."""

    fields: list[Field]
    layout: layouts.Struct


class Single(NamedTuple):
    """Any other field. nullable: whether null is allowed in this version."""

    field: Field
    codec: Codec
    nullable: bool

    @property
    def tag(self) -> int:
        return self.field.tag or 0


Steps = list[Run | Single]


@cache
def _compiled(struct: Struct, version: int, flexible: bool) -> Codec:
    """The functions that read and write one struct at a version."""
    present = [each for each in struct.fields if version in each.versions]
    plain = [each for each in present if each.tag is None]
    steps: Steps = []
    for are_numbers, group in groupby(plain, _is_a_number):
        fields = list(group)
        if are_numbers:
            codes = "".join([FIXED[each.type] for each in fields])
            steps.append(Run(fields, layouts.Struct(">" + codes)))
        else:
            steps += [_single(each, version, flexible) for each in fields]
    with_tags = [each for each in present if each.tag is not None]
    tagged = [_single(each, version, flexible) for each in with_tags]
    return Codec(
        decode=_decoder(struct, flexible, steps, tagged),
        encode=_encoder(struct, version, flexible, steps, tagged),
    )


def _is_a_number(field: Field) -> bool:
    return field.type in FIXED and not field.array


def _single(field: Field, version: int, flexible: bool) -> Single:
    return Single(
        field=field,
        codec=_codec(field, version, flexible),
        nullable=version in field.nullable,
    )


def _codec(field: Field, version: int, flexible: bool) -> Codec:
    """The codec for a field's type at a version."""
    if field.struct:
        codec = _compiled(field.struct, version, flexible)
        if version in field.nullable and not field.array:
            codec = primitives.nullable_struct(codec, field.tag is not None)
    elif field.type in FIXED:  # in an array, or tagged
        codec = primitives.number(FIXED[field.type])
    elif field.type == "uuid":
        codec = primitives.UUID
    else:
        codec = primitives.sized(field.type, flexible)
    if field.array:
        return primitives.array(codec, flexible, FIXED.get(field.type, ""))
    return codec


def _decoder(
    struct: Struct, flexible: bool, steps: Steps, tagged: list[Single]
) -> Reader:
    """A function that reads one struct. Here and in _encoder the loop goes over plain
    tuples, because they unpack fastest.
    """
    # attribute or attributes, how to read, bytes of a run (else 0), nullable
    reads: list[tuple[Any, Any, int, bool]] = []
    for step in steps:
        if isinstance(step, Run):
            names = [field.attribute for field in step.fields]
            reads.append((names, step.layout.unpack_from, step.layout.size, False))
        else:
            reads.append((step.field.attribute, step.codec.decode, 0, step.nullable))
    read_tagged = _tagged_reader(struct, tagged)

    def decode(buffer: memoryview, at: int) -> tuple[Message, int]:
        fields: dict[str, Any] = {}
        for name, read, size, nullable in reads:
            if size:
                fields.update(zip(name, read(buffer, at), strict=True))
                at += size
            else:
                value, at = read(buffer, at)
                if value is None and not nullable:
                    raise DecodeError(f"{struct.name}.{name} must not be null")
                fields[name] = value
        if flexible and not buffer[at]:  # nearly always: no tagged fields
            at += 1
        elif flexible:
            count, at = read_unsigned_varint(buffer, at)
            primitives.items_of_this_message.get().take(count)
            for _ in range(count):
                at = read_tagged(buffer, at, fields)
        # as _message does, without a call
        message = Message.__new__(Message)
        message.__dict__ = fields
        message._struct = struct
        return message, at

    return decode


def _tagged_reader(
    struct: Struct, tagged: list[Single]
) -> Callable[[memoryview, int, dict[str, Any]], int]:
    """A function that reads one tagged field and returns the position after it."""
    by_tag = {each.tag: each for each in tagged}

    def read(buffer: memoryview, at: int, fields: dict[str, Any]) -> int:
        tag, at = read_unsigned_varint(buffer, at)
        size, at = read_unsigned_varint(buffer, at)
        left = len(buffer) - at
        if size > left:
            what = f"a tagged field of {size} bytes is announced"
            raise DecodeError(f"{what}, {left} remain")
        known = by_tag.get(tag)
        if known is None:  # from a newer version of Kafka than ours
            return at + size
        name = known.field.attribute
        value, end = known.codec.decode(buffer, at)
        is_legal = value is not None or known.nullable
        if end != at + size or not is_legal:
            raise DecodeError(f"{struct.name}.{name}, a tagged field, is malformed")
        fields[name] = value
        return end

    return read


def _encoder(
    struct: Struct,
    version: int,
    flexible: bool,
    steps: Steps,
    tagged: list[Single],
) -> Writer:
    """A function that writes one struct, given as a Message or a dict."""
    # attribute or (attribute, default) of a run, default, how to write, bytes for a
    # null
    writes: list[tuple[Any, Any, Any, bytes | None]] = []
    for step in steps:
        if isinstance(step, Run):
            names = [(field.attribute, field.default) for field in step.fields]
            writes.append((names, None, step.layout.pack, None))
        else:
            field = step.field
            null = step.codec.null if step.nullable else None
            writes.append((field.attribute, field.default, step.codec.encode, null))
    known = {field.attribute for field in struct.fields}
    missing = [field for field in struct.fields if version not in field.versions]
    strict = [field for field in missing if not field.ignorable]
    write_tagged = _tagged_writer(struct, version, tagged)

    def encode(parts: list[Any], body: Any) -> None:
        if type(body) is Encoded:
            parts[-1] += body
            return
        fields: Mapping[str, Any] = body if type(body) is dict else _fields_of(body)
        if not known.issuperset(fields):
            unknown = ", ".join(sorted(fields.keys() - known))
            raise EncodeError(f"{struct.name} has no field {unknown}")
        for field in strict:
            attribute = field.attribute
            if attribute in fields and not field.is_default(fields[attribute]):
                what = f"{struct.name}.{field.name} is set"
                raise EncodeError(f"{what}, but version {version} does not have it")
        name: Any = None
        try:
            for name, default, write, null in writes:
                if type(name) is list:
                    parts[-1] += write(*[fields.get(key, zero) for key, zero in name])
                    continue
                value = fields.get(name, default)
                if value is not None:
                    write(parts, value)
                elif null is not None:
                    parts[-1] += null
                else:
                    raise _must_not_be_none(struct, name, version)
            if flexible:
                write_tagged(parts, fields)
        except EncodeError:
            raise
        except (layouts.error, TypeError, ValueError, AttributeError) as error:
            if type(name) is list:
                name = " or ".join([key for key, _ in name])
            what = f"{struct.name}.{name} in version {version}"
            raise EncodeError(f"{what}: {error}") from error

    return encode


def _tagged_writer(
    struct: Struct, version: int, tagged: list[Single]
) -> Callable[[list[Any], Mapping[str, Any]], None]:
    """A function that writes the tagged fields of one struct that are set."""
    attributes = {each.field.attribute for each in tagged}
    in_order = sorted(tagged, key=lambda each: each.tag)

    def write(parts: list[Any], fields: Mapping[str, Any]) -> None:
        if attributes.isdisjoint(fields):
            parts[-1] += NO_TAGGED_FIELDS
            return
        encoded = []
        for each in in_order:
            name = each.field.attribute
            if name not in fields or each.field.is_default(fields[name]):
                continue
            payload: list[Any] = [bytearray()]
            value = fields[name]
            if value is not None:
                each.codec.encode(payload, value)
            elif each.nullable:
                payload[0] += each.codec.null
            else:
                raise _must_not_be_none(struct, name, version)
            size = unsigned_varint(len(payload[0]))
            encoded.append(unsigned_varint(each.tag) + size + payload[0])
        parts[-1] += unsigned_varint(len(encoded))
        parts[-1] += b"".join(encoded)

    return write


def _must_not_be_none(struct: Struct, name: str, version: int) -> EncodeError:
    return EncodeError(f"{struct.name}.{name} must not be None in version {version}")
