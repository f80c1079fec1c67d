"""Records of Kafka's own logs: read as they were written, refused where they are none,
and as a broker wrote them.
"""

from pathlib import Path

import pytest
from hypothesis import given, settings

from minikafka.wire.internal_records import (
    UnknownRecord,
    decode_coordinator_record,
    decode_record,
    decode_share_record,
    decode_transaction_record,
    encode_coordinator_record,
    encode_record,
)
from minikafka.wire.messages import COORDINATOR_RECORD, RECORD, decode_versioned
from minikafka.wire.primitives import DecodeError
from tests.wire.examples import bodies, full, read

LINES = (Path(__file__).parent / "coordinator_records.txt").read_text().splitlines()
APACHE = [
    tuple(None if part == "-" else bytes.fromhex(part) for part in line.split())
    for line in LINES
    if line[0] != "#"
]
DECODERS = {  # of records that lie in a topic of their own
    "TransactionLog": decode_transaction_record,
    "ShareSnapshot": decode_share_record,
    "ShareUpdate": decode_share_record,
}
OFFSET = {"group": "billing", "topic": "orders", "partition": 3}
KEY, VALUE = encode_coordinator_record(
    "OffsetCommit", OFFSET, {"offset": 17, "leader_epoch": 2}
)

# The metadata log


@pytest.mark.parametrize(
    ("name", "version"),
    [(name, v) for name, record in RECORD.items() for v in record.schema.versions],
)
def test_metadata_records_read_as_they_were_written(name, version):
    schema = RECORD[name].schema

    @settings(max_examples=20)
    @given(bodies(schema, version))
    def holds(body):
        data = encode_record(name, version, body)
        assert data[:3] == bytes((1, RECORD[name].key, version))
        kind, found, message = decode_record(data)
        assert (kind, found, read(message)) == (
            name,
            version,
            full(schema.struct, body),
        )

    holds()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x01",
        b"\x00\x02\x00",
        b"\x01\x63\x00",
        b"\x01\x02\x09",
        b"\x01\x02\x00\x05a",
    ],
)
def test_a_metadata_record_of_unknown_framing_kind_or_version_is_refused(data):
    with pytest.raises(DecodeError):
        decode_record(data)


def test_as_in_apache_kafka_nothing_may_follow_a_metadata_record():
    record = encode_record("RemoveTopicRecord", 0, {"topic_id": bytes(16)})
    with pytest.raises(DecodeError, match="4 bytes follow a RemoveTopicRecord"):
        decode_record(record + b"more")


# The log of the group coordinators


@pytest.mark.parametrize(("key", "value"), APACHE)
def test_a_record_of_apache_kafkas_coordinator_is_written_again_with_the_same_bytes(
    key, value
):
    assert encode_coordinator_record(*decode_coordinator_record(key, value)) == (
        key,
        value,
    )


def test_apache_kafkas_records_tell_what_its_groups_did():
    decoded = [decode_coordinator_record(*record) for record in APACHE]
    static = next(
        value.members[0] for _, _, value in decoded if getattr(value, "members", [])
    )
    assert (static.group_instance_id, static.client_host, static.rebalance_timeout) == (
        "till",
        "/127.0.0.1",
        300_000,
    )
    assert decode_versioned(
        "ConsumerProtocolSubscription", static.subscription
    ).topics == ["orders"]
    (share,) = decode_versioned(
        "ConsumerProtocolAssignment", static.assignment
    ).assigned_partitions
    assert (share.topic, share.partitions) == ("orders", [0, 1, 2])
    epochs = [
        v.member_epoch
        for name, _, v in decoded
        if name == "ConsumerGroupCurrentMemberAssignment" and v
    ]
    assert epochs == [2, -2, 2]  # the static member left for now, to come back
    offsets = {
        (k.group, k.partition): v.offset
        for name, k, v in decoded
        if name == "OffsetCommit"
    }
    assert offsets == {
        (group, p): 3 * (p == 1)
        for group in ("modern", "classic", "pattern")
        for p in range(3)
    }


@pytest.mark.parametrize(
    ("name", "version"),
    [
        (name, v)
        for name, kind in COORDINATOR_RECORD.items()
        for v in kind.value_schema.versions
    ],
)
def test_coordinator_records_read_as_they_were_written(name, version):
    kind = COORDINATOR_RECORD[name]

    @settings(max_examples=20)
    @given(bodies(kind.key_schema, 0), bodies(kind.value_schema, version))
    def holds(key, value):
        key_bytes, value_bytes = encode_coordinator_record(name, key, value, version)
        assert (key_bytes[:2], value_bytes[:2]) == (
            kind.key.to_bytes(2),
            version.to_bytes(2),
        )
        decode = DECODERS.get(name, decode_coordinator_record)
        found, read_key, read_value = decode(key_bytes, value_bytes)
        assert (found, read(read_key)) == (name, full(kind.key_schema.struct, key))
        assert read(read_value) == full(kind.value_schema.struct, value)

    holds()


def test_a_record_without_a_value_is_a_tombstone():
    assert encode_coordinator_record("OffsetCommit", OFFSET, None) == (KEY, None)
    name, key, value = decode_coordinator_record(KEY, None)
    assert (name, key.to_dict(), value) == ("OffsetCommit", OFFSET, None)


def test_values_are_written_in_the_version_of_apache_kafka_4_3():
    written = {kind.name: kind.written_version for kind in COORDINATOR_RECORD.values()}
    later = {name: version for name, version in written.items() if version}
    assert later == {"OffsetCommit": 4, "GroupMetadata": 3, "TransactionLog": 1}


def test_kip_211_an_offset_that_says_when_it_expires_is_written_in_the_version_that_can():
    _, value = encode_coordinator_record(
        "OffsetCommit", OFFSET, {"offset": 17, "expire_timestamp": 9000}
    )
    assert value.startswith(b"\0\1")
    assert decode_coordinator_record(KEY, value)[2].expire_timestamp == 9000


def test_an_offset_committed_to_kafka_0_8_has_a_type_of_its_own():
    _, value = encode_coordinator_record(
        "OffsetCommit", OFFSET, {"offset": 17}, version=0
    )
    name, key, old = decode_coordinator_record(b"\0\0" + KEY[2:], value)
    assert (name, key.topic, old.offset, old.leader_epoch) == (
        "OffsetCommit",
        "orders",
        17,
        -1,
    )


def test_kip_848_a_member_without_classic_metadata_says_so():
    """The default is a struct of defaults, so a member without this tag would be one of
    the classic protocol.
    """
    key = {"group_id": "billing", "member_id": "m"}
    for value, tags in ({}, b"\0"), ({"classic_member_metadata": None}, b"\1\0\1\0"):
        data = encode_coordinator_record("ConsumerGroupMemberMetadata", key, value)[1]
        # rebalance timeout, assignor, tags
        assert data.endswith(b"\xff\xff\xff\xff" + b"\1" + tags)


def test_a_record_of_a_kind_of_group_we_lack_is_told_from_a_broken_one():
    with pytest.raises(UnknownRecord, match="type 99"):
        decode_coordinator_record(b"\0\x63\0\7billing", None)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", None),
        (b"\0", None),
        (KEY[:-1], None),
        (KEY, b"\0"),
        (KEY, b"\0\x05" + VALUE[2:]),
        (KEY, VALUE[:-1]),
    ],
)
def test_a_coordinator_record_that_is_cut_off_or_of_an_unknown_version_is_refused(
    key, value
):
    with pytest.raises(DecodeError):
        decode_coordinator_record(key, value)
