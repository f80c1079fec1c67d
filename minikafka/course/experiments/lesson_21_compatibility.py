"""Whether one schema can read what another wrote, by trying it: the writer's schema
makes values of every shape that it has, and fastavro reads them with the other.

A registry proves it from the two schemas; for records, unions and numbers, which the
lesson has, the trial finds the same. It is made for Avro: of other kinds nothing is
refused.
"""

import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

LEVELS = ("NONE", "BACKWARD", "FORWARD", "FULL")  # each also with _TRANSITIVE
_SAMPLES = {
    "null": None,
    "boolean": True,
    "int": 7,
    "long": 7,
    "float": 0.5,
    "double": 0.5,
    "string": "text",
    "bytes": b"bytes",
}

Schema = dict[str, Any]  # as registered: schemaType, and schema as a text


def must_read(
    new: Schema, versions: Sequence[Schema], level: str
) -> Iterator[tuple[Schema, Schema]]:
    """Pairs (reader, writer) that a new version must satisfy. BACKWARD: the new one
    reads the last one; FORWARD: the other way; FULL: both; with _TRANSITIVE: all
    versions, and not only the last one.
    """
    way, _, transitive = level.partition("_")
    for old in versions if transitive else versions[-1:]:
        if way in ("BACKWARD", "FULL"):
            yield new, old
        if way in ("FORWARD", "FULL"):
            yield old, new


def trouble(reader: Schema, writer: Schema) -> str | None:
    """What happens when the reader gets the writer's records: None if nothing,
    otherwise in words.
    """
    if {reader.get("schemaType", "AVRO"), writer.get("schemaType", "AVRO")} != {"AVRO"}:
        return None
    parsed = json.loads(writer["schema"])
    for value in samples(parsed):
        try:
            read(write(parsed, value), parsed, json.loads(reader["schema"]))
        except Exception as error:  # whatever the library finds
            return f"a reader of {value!r} fails: {error}".replace("\n", " ")
    return None


def samples(schema: Any) -> Iterator[Any]:
    """Values that this schema can write: each branch of each union in one of them."""
    if isinstance(schema, list):
        for branch in schema:
            yield from samples(branch)
    elif isinstance(schema, str):
        yield _SAMPLES[schema]
    elif schema["type"] == "record":
        yield from _records(schema["fields"])
    elif schema["type"] == "array":
        for item in samples(schema["items"]):
            yield [item]
    elif schema["type"] == "map":
        for item in samples(schema["values"]):
            yield {"key": item}
    elif schema["type"] == "enum":
        yield from schema["symbols"]
    elif schema["type"] == "fixed":
        yield bytes(schema["size"])
    else:
        yield from samples(schema["type"])


def _records(fields: Sequence[Any]) -> Iterator[dict[str, Any]]:
    each = {field["name"]: list(samples(field["type"])) for field in fields}
    first = {name: values[0] for name, values in each.items()}
    yield first
    for name, values in each.items():
        for value in values[1:]:
            yield first | {name: value}


def write(schema: Any, value: Any) -> bytes:
    """The value in Avro's bytes, and nothing else: no names, no types."""
    from fastavro import parse_schema, schemaless_writer

    out = io.BytesIO()
    schemaless_writer(out, parse_schema(schema), value)
    return out.getvalue()


def read(data: bytes, writer: Any, reader: Any = None) -> Any:
    """The content of bytes that were written with the writer's schema, in the shape of
    the reader's.
    """
    from fastavro import parse_schema, schemaless_reader

    parsed = parse_schema(writer)
    wanted = parse_schema(reader) if reader is not None else None
    return schemaless_reader(io.BytesIO(data), parsed, wanted)
