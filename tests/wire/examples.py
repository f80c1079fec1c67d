"""Messages of any API and version, made by hypothesis from the schema text."""

from functools import cache
from typing import Any

from hypothesis import strategies as st

from minikafka.wire.errors import Error
from minikafka.wire.messages import API
from minikafka.wire.schema import Field, Message, Schema, Struct

BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
VALUES = {
    **{name: st.integers(-(2**bits), 2**bits - 1) for name, bits in BITS.items()},
    "uint16": st.integers(0, 2**16 - 1),
    "float64": st.floats(allow_nan=False),
    "bool": st.booleans(),
    # a compact length of two bytes
    "string": st.text(max_size=5) | st.just("long " * 40),
    "uuid": st.binary(min_size=16, max_size=16),
    "bytes": st.binary(max_size=5) | st.just(b"assignment " * 20),
    "records": st.binary(max_size=5) | st.just(b"batch" * 40),
}
# What the oracles, which know more of the meaning than the schema does, can hold
ERROR_CODES = st.sampled_from(
    [int(error) for error in Error if error <= Error.INVALID_RECORD_STATE]
)
BY_NAME = {
    "ErrorCode": ERROR_CODES,
    "PartitionErrorCode": ERROR_CODES,
    "AcknowledgeErrorCode": ERROR_CODES,
    "TopicConfigErrorCode": st.sampled_from([0, 29, 40]),
    "LogAppendTimeMs": st.integers(-1, 2**41),
    "RetentionTimeMs": st.integers(-1, 2**41),
    "TransactionStartTimeMs": st.integers(0, 2**41),
    "IssueTimestampMs": st.integers(0, 2**41),
    "ExpiryTimestampMs": st.integers(0, 2**41),
    "MaxTimestampMs": st.integers(0, 2**41),
}
VERSIONS = [
    (name, version)
    for name, api in API.items()
    for version in range(api.min_version, api.max_version + 1)
]
# what came with Kafka 4.4, and other implementations don't know yet
NEW = {
    ("ApiVersions", 5),
    ("DeleteGroups", 3),
    ("StreamsGroupDescribe", 1),
    ("StreamsGroupHeartbeat", 1),
    ("StreamsGroupTopologyDescriptionUpdate", 0),
    ("TxnOffsetCommit", 6),
    ("UnregisterController", 0),
}
KNOWN_VERSIONS = [each for each in VERSIONS if each not in NEW]
# 4.4's name of a field -> the one that they have
OLD_NAMES = {
    "acceptable_recovery_lag_legacy": "acceptable_recovery_lag",
    "generation_id_or_member_epoch": "generation_id",
}


@cache
def bodies(schema: Schema, version: int) -> st.SearchStrategy[dict[str, Any]]:
    """Bodies as dicts. Every field the version has may be missing, at any depth."""
    return _structs(schema.struct, version)


def _structs(struct: Struct, version: int) -> st.SearchStrategy[dict[str, Any]]:
    fields = {
        f.attribute: _values(f, version) for f in struct.fields if version in f.versions
    }
    # A null default can't be written in a version that doesn't know null
    needed = {
        f.attribute
        for f in struct.fields
        if f.default is None and version not in f.nullable
    }
    return st.fixed_dictionaries(
        {name: values for name, values in fields.items() if name in needed},
        optional={
            name: values for name, values in fields.items() if name not in needed
        },
    )


def _values(f: Field, version: int) -> st.SearchStrategy[Any]:
    values = (
        _structs(f.struct, version) if f.struct else BY_NAME.get(f.name, VALUES[f.type])
    )
    if f.array:
        values = st.lists(values, max_size=2)
    return st.none() | values if version in f.nullable else values


def full(struct: Struct, body: dict[str, Any]) -> dict[str, Any]:
    """The body with the default of every field that it leaves out, also of those that
    the version lacks.
    """
    return {
        f.attribute: _full(f, body.get(f.attribute, f.default)) for f in struct.fields
    }


def _full(f: Field, value: Any) -> Any:
    if value is None or f.struct is None:
        return [] if value == () else value
    return (
        [full(f.struct, item) for item in value] if f.array else full(f.struct, value)
    )


def read(message: Any) -> Any:
    """The message as `full` has it: each field of the schema, read as an attribute."""
    if isinstance(message, Message):
        return {
            name: read(getattr(message, name)) for name in message._struct.by_attribute
        }
    if isinstance(message, list):
        return [read(item) for item in message]
    return bytes(message) if isinstance(message, memoryview) else message
