"""kio, an independent implementation, writes the same bytes and reads the same
values.
"""

import dataclasses
import datetime
import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from kio.index import load_entity_schema
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from minikafka.wire.messages import (
    API,
    DATA,
    RECORD,
    decode_data,
    decode_request,
    decode_response,
    encode_data,
    encode_request,
    encode_response,
)
from minikafka.wire.schema import Schema
from minikafka.wire.schema_text import snake_case
from tests.wire.examples import KNOWN_VERSIONS, NEW, OLD_NAMES, bodies, full, read

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MILLISECOND = datetime.timedelta(milliseconds=1)
some = settings(max_examples=settings().max_examples // 8)


def plain(value: Any) -> Any:
    """kio's value as ours: it has richer types for times, uuids and error codes."""
    if dataclasses.is_dataclass(value):
        return {
            f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)
        }
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // MILLISECOND
    if isinstance(value, datetime.timedelta):
        return value // MILLISECOND
    return value


def same(ours: Any, theirs: Any) -> bool:
    """Whether the values agree in all fields that kio has at this version. It leaves
    units out of names, and calls no field as Python calls a function.
    """
    if isinstance(theirs, dict) and isinstance(ours, dict):
        ours |= {old: ours[name] for name, old in OLD_NAMES.items() if name in ours}
        plainly = {name: name.rstrip("_") for name in theirs}
        names = {
            name: plain if plain in ours else f"{plain}_ms"
            for name, plain in plainly.items()
        }
        return all(same(ours[names[name]], theirs[name]) for name in theirs)
    if isinstance(theirs, list) and isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    # None is kio's uuid of zeros and its missing time
    return ours == theirs or (theirs is None and ours in (bytes(16), -1))


def kio(name: str, version: int, kind: EntityType) -> tuple[Any, Any]:
    entity = load_entity_schema(name, version, kind)
    return entity_reader(entity), entity_writer(entity)


def check(
    schema: Schema,
    version: int,
    body: dict[str, Any],
    data: bytes,
    at: int,
    reader: Any,
    writer: Any,
) -> None:
    """`data` is what we wrote; the message begins at `at`."""
    theirs, size = reader(data, at)
    assert at + size == len(data)
    assert same(full(schema.struct, body), plain(theirs))
    again = bytearray()
    writer(_Sink(again), theirs)
    assert again == data[at:]


class _Sink:
    """The part of a file that kio's writers use."""

    def __init__(self, out: bytearray) -> None:
        self.write = out.extend


@pytest.mark.parametrize(("api", "version"), KNOWN_VERSIONS)
def test_requests_have_kios_bytes_in_both_directions(api, version):
    schema = API[api].request
    reader, writer = kio(snake_case(api), version, EntityType.request)

    @some
    @given(bodies(schema, version))
    def holds(body):
        frame = b"".join(encode_request(api, version, 7, "me", body))
        header = 8 + 2 + len("me") + API[api].flexible(version)
        check(schema, version, body, frame, header, reader, writer)
        request = decode_request(frame)
        assert (
            request.api.name,
            request.version,
            request.correlation_id,
            request.client_id,
        ) == (api, version, 7, "me")
        assert read(request.body) == full(schema.struct, body)

    holds()


@pytest.mark.parametrize(("api", "version"), KNOWN_VERSIONS)
def test_responses_have_kios_bytes_in_both_directions(api, version):
    schema = API[api].response
    reader, writer = kio(snake_case(api), version, EntityType.response)

    @some
    @given(bodies(schema, version))
    def holds(body):
        frame = b"".join(encode_response(api, version, 7, body))
        header = 4 + (API[api].flexible(version) and api != "ApiVersions")
        check(schema, version, body, frame, header, reader, writer)
        correlation_id, message = decode_response(api, version, frame)
        assert correlation_id == 7
        assert read(message) == full(schema.struct, body)

    holds()


@pytest.mark.parametrize(
    ("name", "version"),
    [(name, v) for name, schema in DATA.items() for v in schema.versions],
)
def test_bare_messages_have_kios_bytes_in_both_directions(name, version):
    schema = DATA[name]
    reader, writer = kio(snake_case(name), version, EntityType.data)

    @some
    @given(bodies(schema, version))
    def holds(body):
        data = encode_data(name, version, body)
        check(schema, version, body, data, 0, reader, writer)
        assert read(decode_data(name, version, data)) == full(schema.struct, body)

    holds()


def test_kio_knows_every_version_we_serve_but_no_record_of_the_metadata_log():
    """Those are checked against Apache Kafka's DumpLogSegments."""
    known = {
        snake_case(api): {
            version
            for version in API[api].request.versions
            if (api, version) not in NEW
        }
        for api in API
    }
    known |= {snake_case(name): set(schema.versions) for name, schema in DATA.items()}
    assert all(
        versions <= set(schema_name_map[name])
        for name, versions in known.items()
        if versions
    )
    assert not {snake_case(name) for name in RECORD} & set(schema_name_map)
