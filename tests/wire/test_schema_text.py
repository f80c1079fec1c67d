"""The schema text says what the message definitions inside Apache Kafka's jars say,
field by field.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any
from zipfile import ZipFile

import pytest

from minikafka.wire.messages import API, COORDINATOR_RECORD, DATA, RECORD
from minikafka.wire.schema import Field, Schema, Struct
from tests.kafka import VERSION, kafka_jars

pytestmark = pytest.mark.java

JARS = (
    ("kafka-clients", "message"),
    ("kafka-metadata", "metadata"),
    ("kafka-group-coordinator", "message"),
    ("kafka-transaction-coordinator", "message"),
    ("kafka-share-coordinator", "message"),
)
FIRST_BROKER_VERSIONS = range(0x8000)
ZERO = {
    "string": "",
    "bytes": "",
    "bool": "false",
    "records": "null",
    "uuid": "",
    "float64": "0.0",
}


@cache
def definition(name: str) -> dict[str, Any]:
    """Apache Kafka's own definition of a message. Its JSON has // comments."""
    for jar, folder in JARS:
        with ZipFile(kafka_jars() / f"{jar}-{VERSION}.jar") as archive:
            path = f"common/{folder}/{name}.json"
            if path in archive.namelist():
                return json.loads(
                    re.sub(
                        r"^\s*//.*$",
                        "",
                        archive.read(path).decode(),
                        flags=re.MULTILINE,
                    )
                )
    raise AssertionError(f"Apache Kafka {VERSION} has no message {name}")


def versions(text: str | None, within: set[int]) -> set[int]:
    """`2+`, `0-4`, `3` or `none`, as far as it lies within the versions of the
    parent.
    """
    if text in (None, "none"):
        return set()
    first, _, last = text.rstrip("+").partition("-")
    return {
        v
        for v in within
        if v >= int(first) and (text.endswith("+") or v <= int(last or first))
    }


def theirs(
    fields: list[dict[str, Any]],
    within: set[int],
    every: set[int],
    common: dict[str, Any],
) -> Iterator[tuple]:
    for f in fields:
        present = versions(f.get("versions", f.get("taggedVersions")), within)
        if not present:
            continue  # gone before the oldest version that Apache Kafka still has
        struct = f.get("fields") or common.get(f["type"].lstrip("[]"))
        kind = f["type"].lstrip("[]")
        assert "tag" not in f or versions(f["taggedVersions"], within) == present
        zero = (
            "[]"
            if f["type"].startswith("[]")
            else "{}"
            if struct is not None
            else ZERO.get(kind, "0")
        )
        yield (
            f["name"],
            f["type"],
            present,
            versions(f.get("nullableVersions"), present),
            f.get("tag"),
            constant(zero if f.get("default") is None else json_text(f["default"])),
            ignorable(f.get("ignorable", False), present, every),
            list(theirs(struct, present, every, common)) if struct else None,
        )


def ours(struct: Struct, within: set[int], every: set[int]) -> Iterator[tuple]:
    for f in struct.fields:
        present = within & set(f.versions)
        yield (
            f.name,
            ("[]" if f.array else "") + f.type,
            present,
            present & set(f.nullable),
            f.tag,
            constant(written_default(f)),
            ignorable(f.ignorable, present, every),
            list(ours(f.struct, present, every)) if f.struct else None,
        )


def ignorable(flag: bool, present: set[int], every: set[int]) -> bool | None:
    """Nothing to ignore in a field that every version has."""
    return None if present == every else flag


def json_text(default: object) -> str:
    # A bare null is no default, "null" is.
    return str(default).lower() if isinstance(default, bool) else str(default)


def constant(text: str) -> str | int:
    return int(text, 0) if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", text) else text


def written_default(f: Field) -> str:
    if f.default is None:
        return "null"
    if f.array or f.struct:
        return "[]" if f.array else "{}"
    if f.type in ("uuid", "bytes"):
        return "" if not any(f.default) else "?"
    return str(f.default).lower() if isinstance(f.default, bool) else str(f.default)


def assert_same(schema: Schema) -> None:
    official = definition(schema.name)
    every = versions(official["validVersions"], set(FIRST_BROKER_VERSIONS))
    assert set(schema.versions) == every
    assert set(schema.flexible) & every == versions(official["flexibleVersions"], every)
    common = {
        struct["name"]: struct["fields"] for struct in official.get("commonStructs", [])
    }
    assert list(ours(schema.struct, every, every)) == list(
        theirs(official["fields"], every, every, common)
    )


@pytest.mark.parametrize("name", API)
def test_each_api_has_the_fields_of_apache_kafka(name):
    api = API[name]
    assert (
        definition(f"{name}Request")["apiKey"]
        == definition(f"{name}Response")["apiKey"]
        == api.key
    )
    assert_same(api.request)
    assert_same(api.response)


@pytest.mark.parametrize("name", RECORD)
def test_each_record_of_the_metadata_log_has_the_fields_of_apache_kafka(name):
    assert definition(name)["apiKey"] == RECORD[name].key
    assert_same(RECORD[name].schema)


@pytest.mark.parametrize("name", COORDINATOR_RECORD)
def test_each_record_of_a_coordinator_has_the_fields_of_apache_kafka(name):
    record = COORDINATOR_RECORD[name]
    assert (
        definition(f"{name}Key").get("apiKey", 0)
        == definition(f"{name}Value").get("apiKey", 0)
        == record.key
    )
    assert_same(record.key_schema)
    assert_same(record.value_schema)


def test_a_committed_offset_of_kafka_0_8_has_the_fields_of_todays():
    for part, schema in (
        ("Key", COORDINATOR_RECORD["OffsetCommit"].key_schema),
        ("Value", COORDINATOR_RECORD["OffsetCommit"].value_schema),
    ):
        official = definition(f"LegacyOffsetCommit{part}")
        assert (official["apiKey"], official["validVersions"]) == (0, "0")
        theirs_at_0, ours_at_0 = (
            theirs(official["fields"], {0}, {0}, {}),
            ours(schema.struct, {0}, {0}),
        )
        assert list(theirs_at_0) == [field for field in ours_at_0 if field[2]]


@pytest.mark.parametrize("name", DATA)
def test_each_bare_message_has_the_fields_of_apache_kafka(name):
    assert_same(DATA[name])
