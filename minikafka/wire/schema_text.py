"""Reads the schema text (messages.txt).

One paragraph per message, one line per field, official names throughout:

    Heartbeat key=12 versions=0-4 flexible=4+        an API: the request, then the response
      GroupId: string
      GroupInstanceId: string? 3+                    exists from version 3; may be null
    ->
      ThrottleTimeMs: int32 1+ ignorable
      ErrorCode: int16

A record of a coordinator's log has the same form: the key, then the value, with
`written=` where Kafka writes another version than the newest it can read.

`name: type[?] [versions] [=default] [tag=n] [ignorable]`. Without versions a field
exists wherever its parent does. `[]` before the type makes an array. `?12+` says that
null is allowed from version 12 only. A struct's fields are indented below its first
use; a second use gives only its name. Without a default a field reads as zero, false,
empty, or a struct of defaults (records: null). A tagged field (KIP-482) is written only
if it differs from its default. A field that a version doesn't have reads as its
default; setting it is an error unless it is ignorable.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from minikafka.wire.primitives import FIXED
from minikafka.wire.schema import Field, Schema, Struct

_LATEST = 0x7FFF  # versions are int16
_FIELD = re.compile(
    r"(?P<indent>(?:  )+)(?P<name>\w+):"
    r" (?P<array>\[\])?(?P<type>\w+)(?P<nullable>\?(?P<since>\d+\+)?)?"
    r"(?: (?P<versions>\d[\d+-]*))?(?: =(?P<default>\S+))?(?:"
    r" tag=(?P<tag>\d+))?(?P<ignorable> ignorable)?"
)
_WORD_BEGINS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ZERO = {
    "bool": False,
    "string": "",
    "bytes": b"",
    "uuid": bytes(16),
    "float64": 0.0,
    "records": None,
}


class Declaration(NamedTuple):
    """One paragraph of the schema text: one struct, or two around the arrow."""

    name: str
    # key=, record= or coordinator=, versions=, flexible=, written=
    attributes: dict[str, str]
    # parsed when first needed: a program uses few messages
    structs: Sequence[Callable[[], Struct]]

    def schema(self, suffix: str = "", part: int = 0) -> Schema:
        """The schema of one of the structs. suffix: what its name adds to the
        paragraph's.
        """
        versions = version_range(self.attributes["versions"])
        flexible = range(0)
        if "flexible" in self.attributes:
            flexible = version_range(self.attributes["flexible"])
        return Schema(self.name + suffix, versions, flexible, self.structs[part])


def version_range(text: str) -> range:
    """The versions that a text such as `3`, `3-9` or `3+` stands for."""
    first, dash, last = text.rstrip("+").partition("-")
    if text.endswith("+"):
        end = _LATEST
    elif dash:
        end = int(last)
    else:
        end = int(first)
    return range(int(first), end + 1)


def parse(text: str) -> Iterator[Declaration]:
    """Reads the schema text. Lines that begin with # are comments."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for written, paragraph in groupby(lines, bool):
        if written:
            yield _declaration(list(paragraph))


def _declaration(lines: list[str]) -> Declaration:
    """One paragraph. Its fields are parsed when the message is first used."""
    first, *rows = lines
    name, *pairs = first.split()
    attributes = dict([pair.split("=", 1) for pair in pairs])
    parts = [rows]
    if "->" in rows:
        arrow = rows.index("->")
        parts = [rows[:arrow], rows[arrow + 1 :]]
    versions = version_range(attributes["versions"])
    structs = [partial(_struct, name, part, versions) for part in parts]
    return Declaration(name, attributes, structs)


def _struct(name: str, lines: list[str], versions: range) -> Struct:
    """All fields of a request, a response or a record."""
    rows = []
    for line in lines:
        row = _FIELD.fullmatch(line)
        if row is None:
            raise ValueError(
                f"{name}: this line of the schema text is not a field: {line!r}"
            )
        rows.append(row)
    return Struct(name, _fields(rows, 1, versions, {}))


def _fields(
    rows: list[re.Match[str]], depth: int, versions: range, structs: dict[str, Struct]
) -> list[Field]:
    """The fields at one depth. Lines indented below a field describe its struct."""
    starts = [at for at, row in enumerate(rows) if len(row["indent"]) == 2 * depth]
    fields = []
    for start, end in pairwise([*starts, len(rows)]):
        row, *inner = rows[start:end]
        type_name = row["type"]
        present = versions
        if row["versions"]:
            present = version_range(row["versions"])
        if inner:
            inner_fields = _fields(inner, depth + 1, present, structs)
            structs[type_name] = Struct(type_name, inner_fields)
        fields.append(_field(row, present, structs.get(type_name)))
    return fields


def _field(row: re.Match[str], versions: range, struct: Struct | None) -> Field:
    """The field that one line describes. versions: those in which it exists."""
    name = row["name"]
    type_name = row["type"]
    if not struct and type_name not in FIXED and type_name not in _ZERO:
        raise ValueError(f"{name}: there is no type {type_name}")
    nullable = range(0)
    if row["since"]:
        nullable = version_range(row["since"])
    elif row["nullable"]:
        nullable = versions
    tag = int(row["tag"]) if row["tag"] else None
    return Field(
        name=name,
        attribute=snake_case(name),
        type=type_name,
        array=row["array"] is not None,
        versions=versions,
        nullable=nullable,
        default=_default(row, struct),
        tag=tag,
        ignorable=row["ignorable"] is not None,
        struct=struct,
    )


def _default(row: re.Match[str], struct: Struct | None) -> Any:
    """The value that the field reads as in versions that don't have it."""
    text = row["default"]
    type_name = row["type"]
    if text == "null":
        return None
    if row["array"]:
        return ()
    if struct:
        return {}
    if text is None:
        return _ZERO.get(type_name, 0)
    if type_name == "bool":
        return text == "true"
    if type_name in FIXED:
        return int(text, 0)
    return text


def snake_case(name: str) -> str:
    """`ThrottleTimeMs` -> `throttle_time_ms`."""
    return _WORD_BEGINS.sub("_", name).lower()
