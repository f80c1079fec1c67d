"""What the protocol promises beyond the bytes of well-formed messages: versions,
missing fields, hostile bytes.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minikafka.wire.messages import (
    API,
    UnsupportedVersion,
    decode_request,
    decode_response,
    decode_versioned,
    encode_request,
    encode_response,
    encode_versioned,
)
from minikafka.wire.primitives import (
    DecodeError,
    EncodeError,
    read_unsigned_varint,
    unsigned_varint,
)
from minikafka.wire.schema import Message
from tests.wire.examples import VERSIONS

ONE_BATCH = {
    "acks": -1,
    "topic_data": [
        {"name": "orders", "partition_data": [{"index": 0, "records": b"a batch"}]}
    ],
}


def test_an_item_that_was_encoded_before_is_written_as_it_is():
    partition = {"partition_index": 1, "leader_id": 2, "replica_nodes": [2, 3]}
    topic = {"name": "orders", "partitions": [partition]}
    for version in API["Metadata"].response.versions:
        encoded = API["Metadata"].response.encode_item(version, "topics", topic)
        whole, by_item = ({"topics": [topic, each]} for each in (topic, encoded))
        assert encode_response("Metadata", version, 7, whole) == encode_response(
            "Metadata", version, 7, by_item
        )


def request(api, version, body, client_id="me"):
    return b"".join(encode_request(api, version, 7, client_id, body))


def response(api, version, body):
    return b"".join(encode_response(api, version, 7, body))


# Tagged fields and flexible versions


def test_kip_482_a_tagged_field_is_written_only_where_it_differs_from_its_default():
    absent = response("ApiVersions", 3, {})
    assert (
        response(
            "ApiVersions", 3, {"finalized_features_epoch": -1, "supported_features": []}
        )
        == absent
    )
    assert response("ApiVersions", 3, {"finalized_features_epoch": 0}) == absent[
        :-1
    ] + b"\x01\x01\x08" + bytes(8)


def test_kip_482_a_struct_of_defaults_is_a_default_however_it_is_spelled():
    def fetched(**leader):
        topics = [
            {
                "topic": "orders",
                "partitions": [{"records": b"", "current_leader": leader}],
            }
        ]
        return response("Fetch", 12, {"responses": topics})

    assert (
        fetched()
        == fetched(leader_id=-1)
        == fetched(leader_id=-1, leader_epoch=-1)
        != fetched(leader_epoch=0)
    )


def test_kip_482_unknown_tagged_fields_are_skipped():
    plain = response("ApiVersions", 3, {"error_code": 35})
    newer = plain[:-1] + b"\x02" + b"\x01\x08" + (9).to_bytes(8) + b"\x63\x03abc"
    assert decode_response("ApiVersions", 3, newer)[1].finalized_features_epoch == 9


def test_kip_482_unknown_tagged_fields_of_a_header_are_skipped():
    plain = request("Metadata", 9, {"topics": None})
    at = 8 + 2 + len("me")
    tagged = plain[:at] + b"\x01\x05\x02ab" + plain[at + 1 :]
    assert decode_request(tagged).body == decode_request(plain).body


def test_kip_511_the_header_of_an_api_versions_response_is_the_same_in_every_version():
    for version in range(5):
        frame = response("ApiVersions", version, {"error_code": 35})
        assert frame.startswith((7).to_bytes(4) + (35).to_bytes(2))


def test_the_client_id_of_a_header_is_never_compact_and_may_be_null():
    for version in (8, 9):
        assert request("Produce", version, ONE_BATCH)[8:12] == b"\x00\x02me"
        assert (
            decode_request(
                request("Produce", version, ONE_BATCH, client_id=None)
            ).client_id
            is None
        )


# Versions


def test_a_request_of_an_unknown_version_or_api_tells_what_its_header_says():
    for key, version in ((18, 99), (0, 2), (999, 0)):
        frame = (
            key.to_bytes(2)
            + version.to_bytes(2)
            + (7).to_bytes(4)
            + b"\x00\x02me"
            + b"\x00whatever"
        )
        with pytest.raises(UnsupportedVersion) as caught:
            decode_request(frame)
        refused = caught.value
        assert (refused.api_key, refused.version, refused.correlation_id) == (
            key,
            version,
            7,
        )


def test_a_header_that_is_cut_off_still_tells_the_version_it_asked_for():
    with pytest.raises(UnsupportedVersion) as caught:
        decode_request(b"\x00\x12\x00\x63\x00\x00\x00\x07\x00\x20me")
    assert (caught.value.api_key, caught.value.version) == (18, 99)


def test_a_field_that_a_version_lacks_reads_as_its_default():
    topics = [{"name": "orders", "partition_responses": [{"index": 0}]}]
    _, old = decode_response(
        "Produce", 3, response("Produce", 3, {"responses": topics})
    )
    partition = old.responses[0].partition_responses[0]
    assert (
        partition.log_start_offset,
        partition.record_errors,
        partition.error_message,
    ) == (-1, [], None)
    assert partition.current_leader.leader_id == -1
    with pytest.raises(AttributeError, match="has no field leader"):
        print(partition.leader)


def test_a_default_that_is_a_list_is_not_shared():
    frame = response("FindCoordinator", 3, {})
    first, second = (decode_response("FindCoordinator", 3, frame)[1] for _ in range(2))
    first.coordinators.append("mine")
    assert second.coordinators == []


def test_setting_a_field_that_a_version_lacks_is_an_error_unless_kafka_lets_it_be_ignored():
    with pytest.raises(
        EncodeError, match=r"CoordinatorKeys is set, but version 3 does not have it"
    ):
        request("FindCoordinator", 3, {"coordinator_keys": ["billing"]})
    request("FindCoordinator", 3, {"key": "billing", "coordinator_keys": []})
    assert request("Fetch", 6, {"session_epoch": 3}) == request("Fetch", 6, {})
    with pytest.raises(
        EncodeError, match="ReplicaState is set, but version 12 does not have it"
    ):
        request("Fetch", 12, {"replica_state": {"replica_id": 2}})


def test_null_needs_a_version_that_knows_it():
    assert request("Metadata", 1, {"topics": None}).endswith(b"\xff\xff\xff\xff")
    with pytest.raises(
        EncodeError, match=r"Metadata.topics must not be None in version 0"
    ):
        request("Metadata", 0, {"topics": None})
    with pytest.raises(DecodeError, match=r"Metadata.topics must not be null"):
        decode_request(request("Metadata", 0, {})[:-4] + b"\xff\xff\xff\xff")


def test_kip_893_a_struct_may_be_null():
    without = response("DescribeTopicPartitions", 0, {})
    assert decode_response("DescribeTopicPartitions", 0, without)[1].next_cursor is None
    cursor = {"topic_name": "orders", "partition_index": 3}
    _, page = decode_response(
        "DescribeTopicPartitions",
        0,
        response("DescribeTopicPartitions", 0, {"next_cursor": cursor}),
    )
    assert page.next_cursor == Message(**cursor)


# What may be handed in


def test_a_field_that_does_not_exist_is_an_error_at_any_depth():
    with pytest.raises(EncodeError, match="Produce has no field topics"):
        request("Produce", 9, {"topics": []})
    with pytest.raises(EncodeError, match="TopicProduceData has no field topic"):
        request("Produce", 9, {"topic_data": [{"topic": "orders"}]})


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"acks": 70_000}, "acks"),
        ({"acks": "all"}, "acks"),
        ({"transactional_id": 5}, "transactional_id"),
        ({"transactional_id": "x" * 40_000}, "at most 32767"),
        ({"topic_data": 5}, "topic_data"),
        ({"topic_data": [None]}, "item of an array is None"),
        ({"topic_data": [{"topic_id": bytes(15)}]}, "16 bytes, not 15"),
    ],
)
def test_a_value_that_does_not_fit_is_an_error_that_names_it(body, field):
    with pytest.raises(EncodeError, match=field):
        request("Produce", 13, body)


def test_a_version_that_kafka_does_not_have_cannot_be_written():
    with pytest.raises(ValueError, match="ProduceRequest has versions 3 to 13, not 2"):
        request("Produce", 2, ONE_BATCH)


def test_messages_and_dicts_are_written_alike_and_messages_compare_by_their_fields():
    decoded = decode_request(request("Produce", 9, ONE_BATCH)).body
    assert request("Produce", 9, decoded) == request("Produce", 9, ONE_BATCH)
    partition = Message(index=0, records=b"a batch")
    assert decoded == Message(
        **ONE_BATCH
        | {"topic_data": [Message(name="orders", partition_data=[partition])]}
    )
    assert decoded != Message(acks=0)
    assert decoded.to_dict()["topic_data"] == ONE_BATCH["topic_data"]
    assert repr(partition) == "Message(index=0, records=b'a batch')"


# Records are not copied


def test_record_batches_are_views_into_the_frame_which_the_broker_may_stamp():
    for version in (8, 9):
        frame = bytearray(request("Produce", version, ONE_BATCH))
        records = decode_request(frame).body.topic_data[0].partition_data[0].records
        assert isinstance(records, memoryview)
        records[:1] = b"A"
        assert b"A batch" in frame


def test_record_batches_of_a_response_are_parts_of_the_frame_themselves():
    slices = [memoryview(b"one"), b"two"]
    body = {
        "responses": [
            {"topic": "orders", "partitions": [{"records": slices}, {"records": b""}]}
        ]
    }
    for version in (11, 12):
        parts = encode_response("Fetch", version, 7, body)
        assert [
            part for part in parts if part is slices[0] or part is slices[1]
        ] == slices
        first, second = (
            decode_response("Fetch", version, b"".join(parts))[1]
            .responses[0]
            .partitions
        )
        # nothing to read is empty, not null
        assert (first.records, second.records) == (b"onetwo", b"")


# Hostile bytes


@pytest.mark.parametrize("version", [8, 9])
def test_an_array_longer_than_the_bytes_that_remain_is_refused_before_it_is_built(
    version,
):
    frame = request("Metadata", version, {"topics": []})
    at = len(frame) - (7 if version == 8 else 5)
    length = (2**31 - 1).to_bytes(4) if version == 8 else unsigned_varint(2**31 - 1)
    with pytest.raises(DecodeError, match=r"an array of \d{10} items is announced"):
        decode_request(frame[:at] + length)


def test_an_array_of_numbers_is_refused_by_its_width():
    frame = request(
        "Fetch",
        7,
        {"forgotten_topics_data": [{"topic": "orders", "partitions": [1, 2]}]},
    )
    with pytest.raises(
        DecodeError, match="an array of 3 items is announced, 8 bytes remain"
    ):
        decode_request(frame[:-12] + (3).to_bytes(4) + frame[-8:])


@pytest.mark.parametrize(
    ("api", "version"),
    [pair for pair in VERSIONS if pair[0] in ("Produce", "Fetch", "CreateTopics")],
)
def test_a_request_that_is_cut_off_anywhere_is_refused(api, version):
    topics = {
        "Produce": ONE_BATCH,
        "Fetch": {"topics": [{"partitions": [{"partition": 1}]}], "rack_id": "r"},
    }
    if api == "Fetch" and version < 11:
        topics["Fetch"].pop("rack_id")
    frame = request(api, version, topics.get(api, {"topics": [{"name": "orders"}]}))
    decode_request(frame)
    for size in range(len(frame)):
        with pytest.raises(DecodeError):
            decode_request(frame[:size])


@given(st.sampled_from(VERSIONS), st.binary(max_size=60))
def test_garbage_is_a_message_or_a_decoding_error_and_nothing_else(pair, garbage):
    api, version = pair
    header = (
        API[api].key.to_bytes(2) + version.to_bytes(2) + (7).to_bytes(4) + b"\xff\xff"
    )
    for decode in (
        lambda: decode_request(header + garbage),
        lambda: decode_response(api, version, garbage),
    ):
        try:
            decode()
        except DecodeError:
            pass


def test_as_in_apache_kafka_bytes_behind_a_request_are_ignored():
    frame = request("Metadata", 9, {"topics": None})
    assert decode_request(frame + b"more").body == decode_request(frame).body


def test_as_in_apache_kafka_malformed_utf_8_is_replaced():
    frame = request("DeleteTopics", 1, {"topic_names": ["ab"]})
    assert decode_request(frame.replace(b"ab", b"a\xff")).body.topic_names == [
        "a\ufffd"
    ]


def test_malformed_utf_8_that_could_not_be_written_again_is_refused():
    """A replacement takes three bytes: the string would not fit into an answer that
    repeats it.
    """
    frame = request("DeleteTopics", 1, {"topic_names": ["a" * 32_767]})
    with pytest.raises(DecodeError, match="malformed"):
        decode_request(frame.replace(b"aa", b"a\xff", 1))
    shorter = request("DeleteTopics", 1, {"topic_names": ["a" * 32_765]})
    assert decode_request(shorter.replace(b"aa", b"a\xff", 1)).body.topic_names == [
        "a\ufffd" + "a" * 32_763
    ]


@given(st.integers(0, 2**32 - 1))
def test_varints_read_as_they_were_written(value):
    data = unsigned_varint(value)
    assert read_unsigned_varint(memoryview(data), 0) == (value, len(data))


def test_a_varint_has_at_most_five_bytes():
    with pytest.raises(DecodeError, match="longer than five bytes"):
        read_unsigned_varint(memoryview(b"\xff" * 6), 0)


def test_a_small_frame_cannot_become_a_large_heap():
    """Two bytes a topic, 250 bytes a Message: without a limit on items a frame of 100
    MB would need 12 GB.
    """
    flexible, plain = (
        (9, unsigned_varint(200_002), b"\x01\0"),
        (
            1,
            (200_001).to_bytes(4, "big"),
            b"\0\0",
        ),
    )
    for version, start, item in (flexible, plain):
        body = start + item * 200_001 + bytes(4)
        with pytest.raises(DecodeError, match="more than 200000 items"):
            API["Metadata"].request.decode(version, memoryview(body))


# Bare messages


def test_a_subscription_begins_with_its_version():
    data = encode_versioned("ConsumerProtocolSubscription", 1, {"topics": ["orders"]})
    assert data == b"\0\1" + b"\0\0\0\1\0\6orders" + b"\xff\xff\xff\xff" + bytes(4)
    assert decode_versioned("ConsumerProtocolSubscription", data).generation_id == -1


def test_as_in_apache_kafka_a_subscription_newer_than_ours_is_read_as_our_newest():
    data = encode_versioned(
        "ConsumerProtocolSubscription", 3, {"topics": ["orders"], "rack_id": "west"}
    )
    assert (
        decode_versioned(
            "ConsumerProtocolSubscription", b"\0\x09" + data[2:] + b"more"
        ).rack_id
        == "west"
    )


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xff\0\0\0\0", b"\0\0\0\0"])
def test_what_is_no_subscription_is_refused(data):
    """A consumer's Metadata is opaque to the broker, which has to live with anything
    there.
    """
    with pytest.raises(DecodeError):
        decode_versioned("ConsumerProtocolSubscription", data)
