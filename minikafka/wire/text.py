"""Reads the schema text (messages.txt).

One message a paragraph, one field a line, official names throughout:

    Heartbeat key=12 versions=0-4 flexible=4+        an API: the request, then the response
      GroupId: string
      GroupInstanceId: string? 3+                    exists from version 3; may be null
    ->
      ThrottleTimeMs: int32 1+ ignorable
      ErrorCode: int16

A record of a coordinator's log is written alike: the key, then the value, with
`written=` where Kafka writes another version than the newest it can read.

`name: type[?] [versions] [=default] [tag=n] [ignorable]`. Without versions a field
exists wherever its parent does. `[]` before the type makes an array. `?12+` says that
null is allowed from version 12 only. A struct's fields are indented below its first
use; a second use gives its name alone. Without a default a field reads as zero, false,
empty, or a struct of defaults (records: null). A tagged field (KIP-482) is written only
where it differs from its default. A field that a version lacks reads as its default;
setting it is an error unless it is ignorable.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from .primitives import FIXED
from .schema import Field, Schema, Struct

_LATEST = 0x7FFF  # versions are int16
_FIELD = re.compile(
    r"(?P<indent>(?:  )+)(?P<name>\w+):"
    r" (?P<array>\[\])?(?P<type>\w+)(?P<nullable>\?(?P<since>\d+\+)?)?"
    r"(?: (?P<versions>\d[\d+-]*))?(?: =(?P<default>\S+))?(?:"
    r" tag=(?P<tag>\d+))?(?P<ignorable> ignorable)?"
)
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
    # read when first asked for: a program uses few messages
    structs: list[Callable[[], Struct]]

    def schema(self, suffix: str = "", part: int = 0) -> Schema:
        flexible = (
            version_range(self.attributes["flexible"])
            if "flexible" in self.attributes
            else range(0)
        )
        return Schema(
            self.name + suffix,
            version_range(self.attributes["versions"]),
            flexible,
            self.structs[part],
        )


def version_range(text: str) -> range:
    """`3`, `3-9` or `3+`."""
    first, dash, last = text.rstrip("+").partition("-")
    end = _LATEST if text.endswith("+") else int(last if dash else first)
    return range(int(first), end + 1)


def parse(text: str) -> Iterator[Declaration]:
    """Reads the schema text. Lines that begin with # are comments."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for written, paragraph in groupby(lines, bool):
        if written:
            yield _declaration(list(paragraph))


def _declaration(lines: list[str]) -> Declaration:
    name, *attributes = lines[0].split()
    versions = dict(pair.split("=", 1) for pair in attributes)
    parts = [lines[1:]]
    if "->" in lines:
        arrow = lines.index("->")
        parts = [lines[1:arrow], lines[arrow + 1 :]]
    present = version_range(versions["versions"])
    return Declaration(
        name, versions, [partial(_struct, name, part, present) for part in parts]
    )


def _struct(name: str, lines: list[str], versions: range) -> Struct:
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
    """The fields at one depth. What is indented below a field is its struct."""
    starts = [i for i, row in enumerate(rows) if len(row["indent"]) == 2 * depth]
    fields = []
    for start, end in pairwise([*starts, len(rows)]):
        row = rows[start]
        present = version_range(row["versions"]) if row["versions"] else versions
        if end > start + 1:
            structs[row["type"]] = Struct(
                row["type"], _fields(rows[start + 1 : end], depth + 1, present, structs)
            )
        fields.append(_field(row, present, structs.get(row["type"])))
    return fields


def _field(row: re.Match[str], versions: range, struct: Struct | None) -> Field:
    nullable = range(0)
    if row["nullable"]:
        nullable = version_range(row["since"]) if row["since"] else versions
    if not struct and row["type"] not in FIXED and row["type"] not in _ZERO:
        raise ValueError(f"{row['name']}: there is no type {row['type']}")
    return Field(
        name=row["name"],
        attribute=snake_case(row["name"]),
        type=row["type"],
        array=bool(row["array"]),
        versions=versions,
        nullable=nullable,
        default=_default(row, struct),
        tag=int(row["tag"]) if row["tag"] else None,
        ignorable=bool(row["ignorable"]),
        struct=struct,
    )


def _default(row: re.Match[str], struct: Struct | None) -> Any:
    text = row["default"]
    if text == "null":
        return None
    if row["array"]:
        return ()
    if struct:
        return {}
    if text is None:
        return _ZERO.get(row["type"], 0)
    return (
        text == "true"
        if row["type"] == "bool"
        else int(text, 0)
        if row["type"] in FIXED
        else text
    )


def snake_case(name: str) -> str:
    """`ThrottleTimeMs` -> `throttle_time_ms`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
