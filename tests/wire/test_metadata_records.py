"""Apache Kafka's DumpLogSegments finds in our metadata records, every kind in every version, what we wrote."""

import json
import re
from base64 import urlsafe_b64encode
from random import Random
from typing import Any

import pytest

from minikafka.wire.messages import RECORD, encode_record
from minikafka.wire.records import encode_batch
from minikafka.wire.schema import Field, Struct
from tests.kafka import java_tool
from tests.wire.examples import full

pytestmark = pytest.mark.java

VALUES = {
    "bool": [False, True],
    "int8": [-128, -1, 0, 1, 127],
    "int16": [-(2**15), 0, 1, 2**15 - 1],
    "uint16": [0, 1, 2**16 - 1],
    "int32": [-(2**31), -1, 0, 1, 2**31 - 1],
    "int64": [-(2**63), -1, 0, 1, 2**63 - 1],
    "string": ["", "orders", "long " * 40],
    "uuid": [bytes(16), bytes(range(16))],
}


def sample(struct: Struct, version: int, random: Random) -> dict[str, Any]:
    return {f.attribute: sample_field(f, version, random) for f in struct.fields if version in f.versions}


def sample_field(f: Field, version: int, random: Random) -> Any:
    if version in f.nullable and random.random() < 0.3:
        return None
    values = [
        sample(f.struct, version, random) if f.struct else random.choice(VALUES[f.type])
        for _ in range(random.randint(0, 2) if f.array else 1)
    ]
    return values if f.array else values[0]


def as_json(f: Field, value: Any) -> Any:
    """A value as Apache Kafka's MetadataJsonConverters show it: uuids in URL-safe base64 without padding."""
    if f.array and value is not None:
        return [as_item(f, item) for item in value]
    return as_item(f, value)


def as_item(f: Field, value: Any) -> Any:
    if f.struct:
        return {camel(g.name): as_json(g, value[g.attribute]) for g in f.struct.fields}
    return urlsafe_b64encode(value).rstrip(b"=").decode() if isinstance(value, bytes) else value


def camel(name: str) -> str:
    return name[0].lower() + name[1:]


def test_dump_log_segments_reads_every_kind_of_metadata_record_in_every_version(tmp_path):
    random = Random(7)
    written = [
        (record, version, sample(record.schema.struct, version, random))
        for record in RECORD.values()
        for version in record.versions
        for _ in range(8)
    ]
    values = [encode_record(record.name, version, body) for record, version, body in written]
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(encode_batch([(0, None, value, []) for value in values], leader_epoch=1))

    dump = java_tool("org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--files", str(log))
    payloads = [json.loads(found) for found in re.findall(r" payload: (\{.*\})$", dump.stdout, flags=re.MULTILINE)]

    assert len(payloads) == len(written), dump.stdout + dump.stderr
    for (record, version, body), payload in zip(written, payloads, strict=True):
        struct = record.schema.struct
        assert payload["type"] == re.sub(r"(?<=[a-z])(?=[A-Z])", "_", record.name).upper()
        assert payload["version"] == version
        everything = full(struct, body)
        for f in struct.fields:
            # Kafka leaves out a tagged field that has its default
            expected = as_json(f, everything[f.attribute])
            if version in f.versions and not (f.tag is not None and f.is_default(everything[f.attribute])):
                assert payload["data"].pop(camel(f.name)) == expected, (record.name, version, f.name)
        assert payload["data"] == {}
