"""Apache Kafka's DumpLogSegments finds in the records of internal logs, every kind in
every version, what we wrote.
"""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from random import Random
from typing import Any

import pytest

from minikafka.wire.internal_records import encode_coordinator_record, encode_record
from minikafka.wire.messages import COORDINATOR_RECORD, RECORD
from minikafka.wire.records import encode_batch
from minikafka.wire.schema import Field, Struct
from tests.kafka import java_tool
from tests.wire.examples import full

pytestmark = pytest.mark.java

IN_OTHER_TOPICS = ("TransactionLog", "ShareSnapshot", "ShareUpdate")
VALUES = {
    "bool": [False, True],
    "int8": [-128, -1, 0, 1, 127],
    "int16": [-(2**15), 0, 1, 2**15 - 1],
    "uint16": [0, 1, 2**16 - 1],
    "float64": [0.0, 0.5, -1e300],
    "int32": [-(2**31), -1, 0, 1, 2**31 - 1],
    "int64": [-(2**63), -1, 0, 1, 2**63 - 1],
    "string": ["", "orders", "long " * 40],
    "uuid": [bytes(16), bytes(range(16))],
    "bytes": [b"", b"assignment" * 20],
}


def sample(struct: Struct, version: int, random: Random) -> dict[str, Any]:
    return {
        f.attribute: sample_field(f, version, random)
        for f in struct.fields
        if version in f.versions
    }


def sample_field(f: Field, version: int, random: Random) -> Any:
    if version in f.nullable and random.random() < 0.3:
        return None
    values = [
        sample(f.struct, version, random) if f.struct else random.choice(VALUES[f.type])
        for _ in range(random.randint(0, 2) if f.array else 1)
    ]
    return values if f.array else values[0]


def as_json(struct: Struct, version: int, body: dict[str, Any]) -> dict[str, Any]:
    """A message as Apache Kafka's JSON converters show it: tagged fields that have
    their default are left out.
    """
    everything = full(struct, body)
    return {
        camel(f.name): field_as_json(f, version, everything[f.attribute])
        for f in struct.fields
        if version in f.versions
        and not (f.tag is not None and f.is_default(everything[f.attribute]))
    }


def field_as_json(f: Field, version: int, value: Any) -> Any:
    """Uuids are in URL-safe base64 without padding."""
    if value is None:
        return None
    items = [
        (
            as_json(f.struct, version, item)
            if f.struct
            else (
                urlsafe_b64encode(item).rstrip(b"=").decode()
                if f.type == "uuid"
                else b64encode(item).decode()
                if f.type == "bytes"
                else item
            )
        )
        for item in (value if f.array else [value])
    ]
    return items if f.array else items[0]


def camel(name: str) -> str:
    return name[0].lower() + name[1:]


def test_dump_log_segments_reads_every_kind_of_metadata_record_in_every_version(
    tmp_path,
):
    random = Random(7)
    written = [
        (record, version, sample(record.schema.struct, version, random))
        for record in RECORD.values()
        for version in record.schema.versions
        for _ in range(8)
    ]
    values = [
        encode_record(record.name, version, body) for record, version, body in written
    ]
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(
        encode_batch([(0, None, value, []) for value in values], leader_epoch=1)
    )

    dump = java_tool(
        "org.apache.kafka.tools.DumpLogSegments",
        "--cluster-metadata-decoder",
        "--files",
        str(log),
    )
    payloads = [
        json.loads(found)
        for found in re.findall(r" payload: (\{.*\})$", dump.stdout, flags=re.MULTILINE)
    ]

    assert len(payloads) == len(written), dump.stdout + dump.stderr
    for (record, version, body), payload in zip(written, payloads, strict=True):
        assert (
            payload["type"] == re.sub(r"(?<=[a-z])(?=[A-Z])", "_", record.name).upper()
        )
        assert payload["version"] == version
        assert payload["data"] == as_json(record.schema.struct, version, body), (
            record.name,
            version,
        )


def test_dump_log_segments_reads_every_kind_of_coordinator_record_in_every_version(
    tmp_path,
):
    random = Random(7)
    written = [
        (
            kind,
            version,
            sample(kind.key_schema.struct, 0, random),
            sample(kind.value_schema.struct, version, random),
        )
        for kind in COORDINATOR_RECORD.values()
        if kind.name not in IN_OTHER_TOPICS
        for version in kind.value_schema.versions
        for _ in range(8)
    ]
    records = [
        encode_coordinator_record(kind.name, key, value, version)
        for kind, version, key, value in written
    ]
    tombstones = [(key, None) for key, _ in records]
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(
        encode_batch(
            [(0, key, value, []) for key, value in records + tombstones], leader_epoch=1
        )
    )

    dump = java_tool(
        "org.apache.kafka.tools.DumpLogSegments",
        "--offsets-decoder",
        "--files",
        str(log),
    )
    found = re.findall(
        r" key: (\{.*\}) payload: (\{.*\}|<DELETE>)$", dump.stdout, flags=re.MULTILINE
    )

    assert len(found) == 2 * len(written), dump.stdout + dump.stderr
    for (kind, version, key, value), (shown_key, payload) in zip(
        written, found[: len(written)], strict=True
    ):
        keys = as_json(kind.key_schema.struct, 0, key)
        assert json.loads(shown_key) == {"type": str(kind.key), "data": keys}
        values = as_json(kind.value_schema.struct, version, value)
        assert json.loads(payload) == {
            "version": str(version),
            "data": values,
        }, kind.name
    assert [(key, "<DELETE>") for key, _ in found[: len(written)]] == found[
        len(written) :
    ]
