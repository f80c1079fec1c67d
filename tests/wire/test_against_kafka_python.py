"""kafka-python has its own encoders, which real clients use against us: the frames are
equal, headers included.
"""

from importlib import import_module
from pkgutil import walk_packages
from typing import Any
from uuid import UUID

import kafka.protocol
import pytest
from hypothesis import given, settings
from kafka.protocol.api_message import ApiMessage

from minikafka.wire.messages import API, encode_request, encode_response
from minikafka.wire.schema import Struct
from tests.wire.examples import KNOWN_VERSIONS, NEW, OLD_NAMES, bodies, full

pytestmark = pytest.mark.slow

for module in walk_packages(kafka.protocol.__path__, "kafka.protocol."):
    if not module.name.startswith(("kafka.protocol.old", "kafka.protocol.generate")):
        import_module(module.name)
CLASSES = {cls.__name__: cls for cls in ApiMessage.__subclasses__()}
SHARED_VERSIONS = [
    (api, version) for api, version in KNOWN_VERSIONS if f"{api}Request" in CLASSES
]
some = settings(max_examples=8)
BETWEEN_NODES = {
    "Vote",
    "BeginQuorumEpoch",
    "EndQuorumEpoch",
    "AlterPartition",
    "BrokerRegistration",
    "BrokerHeartbeat",
    "AllocateProducerIds",
    "AssignReplicasToDirs",
    "FetchSnapshot",
}
OF_VOTERS_AND_TOKENS = {
    "AddRaftVoter",
    "CreateDelegationToken",
    "DescribeDelegationToken",
    "ExpireDelegationToken",
    "RemoveRaftVoter",
    "RenewDelegationToken",
}
SHARE_APIS = {api for api in API if "Share" in api}


def build(cls: Any, struct: Struct, version: int, body: dict[str, Any]) -> Any:
    """kafka-python's object with the same values. It has a class for each struct and
    wants every field.
    """
    values = {}
    for f in struct.fields:
        value = body[f.attribute]
        if version not in f.versions or (f.tag is not None and f.is_default(value)):
            continue
        if f.struct and f.array and value is not None:
            value = [
                build(getattr(cls, f.type), f.struct, version, item) for item in value
            ]
        elif f.struct and value is not None:
            value = build(getattr(cls, f.type), f.struct, version, value)
        elif f.type == "uuid":
            value = UUID(bytes=value)
        name = f.attribute
        if name not in cls._struct.fields:
            name = OLD_NAMES.get(name, name)
        # to kafka-python sets, partly renamed
        if name not in cls._struct.fields or name == "authorized_operations":
            name, value = (
                "authorized_operations",
                {bit for bit in range(32) if value >> bit & 1},
            )
        values[name] = value
    return cls(version=version, **values)


def has_kafka_pythons_bytes(schema, version, encode, *header):
    """Whatever the body. header: what kafka-python is told besides."""

    @some
    @given(bodies(schema, version))
    def holds(body):
        theirs = build(
            CLASSES[schema.name], schema.struct, version, full(schema.struct, body)
        )
        theirs.with_header(*header)
        assert b"".join(encode(body)) == theirs.encode(header=True)

    holds()


@pytest.mark.parametrize(("api", "version"), SHARED_VERSIONS)
def test_requests_have_kafka_pythons_bytes(api, version):
    def encode(body):
        return encode_request(api, version, 7, "me", body)

    has_kafka_pythons_bytes(API[api].request, version, encode, 7, "me")


@pytest.mark.parametrize(("api", "version"), SHARED_VERSIONS)
def test_responses_have_kafka_pythons_bytes(api, version):
    def encode(body):
        return encode_response(api, version, 7, body)

    has_kafka_pythons_bytes(API[api].response, version, encode, 7)


def test_kafka_python_knows_what_clients_send_but_for_newer_groups_tokens_and_what_nodes_say():
    for name, api in API.items():
        for schema in (api.request, api.response):
            if schema.name in CLASSES:
                known = set(range(CLASSES[schema.name].max_version + 1))
                assert {
                    version for version in schema.versions if (name, version) not in NEW
                } <= known
    missing = {api for api in API if f"{api}Request" not in CLASSES}
    assert missing == {
        "ConsumerGroupHeartbeat",
        "ConsumerGroupDescribe",
        "StreamsGroupHeartbeat",
        "StreamsGroupDescribe",
        "StreamsGroupTopologyDescriptionUpdate",
        "UnregisterBroker",
        "UnregisterController",
        *OF_VOTERS_AND_TOKENS,
        *SHARE_APIS,
        *BETWEEN_NODES,
    }
