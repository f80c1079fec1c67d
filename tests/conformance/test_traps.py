"""The traps that other implementations fell into, as numbered in the project's protocol
notes, one test each.

Trap 6 (the order of aborted transactions, the CRC of control batches) waits for
transactions.
"""

import time
import zlib

import pytest

from minikafka.wire.errors import Error
from minikafka.wire.messages import API, decode_response, encode_request
from minikafka.wire.records import crc_matches, read_header
from tests.conformance.raw import Connection, batch

pytestmark = pytest.mark.slow


def versions(broker, version=0):
    """API key -> (lowest, highest) as the broker advertises them."""
    answer = broker.ask(
        "ApiVersions", version, client_software_name="raw", client_software_version="1"
    )
    assert answer.error_code == 0
    return {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}


@pytest.mark.parametrize("version", [4, 8, 11, 12])
def test_1_an_empty_fetch_answer_is_zero_bytes_and_never_null(broker, topic, version):
    answer = broker.fetch(topic, version=version)
    assert answer.error_code == 0
    assert answer.records is not None
    assert len(answer.records) == 0


def test_2_produce_is_advertised_from_0_though_0_to_2_are_refused(broker):
    assert versions(broker)[API["Produce"].key][0] == 0
    broker.send_frame(encode_old_produce())
    assert broker.is_closed_by_the_broker()


def encode_old_produce():
    frame = bytearray(
        b"".join(
            encode_request("Produce", 3, 1, "raw", {"acks": 1, "timeout_ms": 1000})
        )
    )
    frame[2:4] = (2).to_bytes(2, "big")
    return bytes(frame)


def joining(group, member_id=""):
    protocols = [{"name": "range", "metadata": b""}]
    timeouts = {"session_timeout_ms": 60_000, "rebalance_timeout_ms": 6000}
    return {
        "group_id": group,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": protocols,
    } | timeouts


def join(broker, version, group, member_id=""):
    """The answer, when there is a coordinator that has loaded the group."""
    while True:
        answer = broker.ask("JoinGroup", version, **joining(group, member_id))
        if answer.error_code not in (
            Error.NOT_COORDINATOR,
            Error.COORDINATOR_LOAD_IN_PROGRESS,
        ):
            return answer
        broker.ask("FindCoordinator", 3, key=group)


def test_3_join_group_is_advertised_and_served_from_0(broker, name):
    assert versions(broker)[API["JoinGroup"].key][0] == 0
    joined = join(broker, 0, name)
    assert (joined.error_code, joined.generation_id, joined.leader) == (
        0,
        1,
        joined.member_id,
    )


@pytest.mark.parametrize("version", [0, 3, 4, 9])
def test_5_kip_394_asks_a_new_member_to_come_again_only_from_version_4_on(
    broker, name, version
):
    first = join(broker, version, name)
    if version < 4:
        assert (first.error_code, first.generation_id) == (0, 1)
        return
    assert (first.error_code, first.generation_id) == (Error.MEMBER_ID_REQUIRED, -1)
    joined = join(broker, version, name, first.member_id)
    assert (joined.error_code, joined.generation_id, joined.member_id) == (
        0,
        1,
        first.member_id,
    )


def test_5_an_id_that_was_handed_out_counts_until_the_session_ends(broker, name):
    """Whoever holds one is waited for by the group, and comes in with it once; another
    id does not.
    """
    first, second = (join(broker, 4, name).member_id for _ in range(2))
    assert join(broker, 4, name, "another").error_code == Error.UNKNOWN_MEMBER_ID
    assert join(broker, 4, name, first).generation_id == 1
    assert (
        broker.ask(
            "SyncGroup", 2, group_id=name, generation_id=1, member_id=first
        ).error_code
        == 0
    )
    # a leader that joins again starts a rebalance
    waits = broker.send("JoinGroup", 4, **joining(name, first))
    with Connection("{}:{}".format(*broker.socket.getpeername())) as other:
        assert join(other, 4, name, second).generation_id == 2
    assert (waits, broker.read("JoinGroup", 4).generation_id) == (
        broker.correlation_id,
        2,
    )


def test_4_an_unknown_version_of_api_versions_is_answered_in_version_0_with_error_35_and_its_own_range(
    broker,
):
    """KIP-511."""
    frame = bytearray(b"".join(encode_request("ApiVersions", 4, 77, "raw", {})))
    frame[2:4] = (99).to_bytes(2, "big")
    broker.send_frame(bytes(frame))
    correlation_id, answer = decode_response("ApiVersions", 0, broker.read_frame())
    assert (correlation_id, answer.error_code) == (77, Error.UNSUPPORTED_VERSION)
    assert API["ApiVersions"].key in {api.api_key for api in answer.api_keys}
    assert versions(broker), "the connection goes on"


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_4_the_header_of_an_api_versions_answer_is_version_0_even_where_the_body_is_flexible(
    broker, version
):
    sent = broker.send(
        "ApiVersions", version, client_software_name="raw", client_software_version="1"
    )
    frame = broker.read_frame()
    assert int.from_bytes(frame[:4], "big") == sent
    assert int.from_bytes(frame[4:6], "big") == 0, (
        "the error code comes right behind the correlation id"
    )
    assert decode_response("ApiVersions", version, frame)[1].api_keys


def test_7_offset_and_leader_epoch_are_stamped_without_touching_the_crc(broker, topic):
    first, second = batch(b"a", b"b"), batch(b"c")
    assert broker.produce(topic, first).base_offset == 0
    assert broker.produce(topic, second).base_offset == 2
    stored = broker.fetch(topic, 2).records
    header = read_header(stored)
    assert (header.base_offset, header.partition_leader_epoch) == (2, 0)
    assert header.crc == read_header(second).crc
    assert crc_matches(stored, header)


def test_7_only_log_append_time_forces_a_new_crc(broker, name):
    """KIP-32; KIP-98: the checksum leaves out what a broker stamps."""
    broker.create_topic(name, message_timestamp_type="LogAppendTime")
    sent = batch(b"a", timestamp=int(time.time() * 1000) - 60_000)
    answer = broker.produce(name, sent)
    stored = broker.fetch(name).records
    header = read_header(stored)
    assert header.log_append_time
    assert (
        header.max_timestamp
        == answer.log_append_time_ms
        > read_header(sent).max_timestamp
    )
    assert header.crc != read_header(sent).crc
    assert crc_matches(stored, header)


@pytest.mark.parametrize("software", ["", "no spaces", "-dash-first", "ümlaut"])
def test_8_client_software_must_match_kafkas_pattern(broker, software):
    """KIP-511."""
    answer = broker.ask(
        "ApiVersions", 3, client_software_name=software, client_software_version="1.0"
    )
    assert answer.error_code == Error.INVALID_REQUEST
    assert versions(broker, 3), "the connection goes on"


def test_9_nothing_is_advertised_before_it_works(request, broker):
    if "Apache" in request.node.name:
        pytest.skip("Apache Kafka has telemetry")
    telemetry = {71, 72}
    assert not versions(broker).keys() & telemetry


def test_9_transactions_v2_is_a_feature_and_a_version_of_end_txn_together(broker):
    """KIP-890."""
    end_transaction, each_has_an_epoch = 26, 5  # KIP-890
    answer = broker.ask(
        "ApiVersions", 3, client_software_name="raw", client_software_version="1"
    )
    levels = {
        feature.name: feature.max_version_level for feature in answer.finalized_features
    }
    assert (
        versions(broker)[end_transaction][1] == each_has_an_epoch
        and levels["transaction.version"] == 2
    )


def test_10_answers_keep_the_order_of_the_requests_even_when_an_earlier_one_is_parked(
    broker, topic
):
    fetch = broker.send_fetch(topic, max_wait_ms=300, min_bytes=1)
    metadata = broker.send("Metadata", 5, topics=[{"name": topic}])
    api_versions = broker.send("ApiVersions", 0)
    answered = [int.from_bytes(broker.read_frame()[:4], "big") for _ in range(3)]
    assert answered == [fetch, metadata, api_versions]


def test_10_a_pipeline_of_many_requests_is_answered_in_order(broker, topic):
    frames = [
        b"".join(encode_request("ApiVersions", 0, number, "raw", {}))
        for number in range(1000)
    ]
    broker.send_bytes(
        b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    )
    assert [
        int.from_bytes(broker.read_frame()[:4], "big") for _ in range(1000)
    ] == list(range(1000))


def test_11_acks_0_gets_no_answer_at_all(broker, topic):
    assert broker.produce(topic, batch(b"a"), acks=0) is None
    assert broker.ask("Metadata", 5, topics=[{"name": topic}]).topics[0].error_code == 0
    assert len(broker.fetch(topic).records) > 0


def test_11_an_error_behind_acks_0_closes_the_connection(broker, topic):
    assert broker.produce(topic, batch(b"a"), acks=0, partition=99) is None
    assert broker.is_closed_by_the_broker()


GARBAGE = {
    "a negative length": b"\xff\xff\xff\xff",
    "more than socket.request.max.bytes": (200 << 20).to_bytes(4, "big") + b"x" * 100,
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an unknown API": b"\0\0\0\x0a\x03\xe7\0\0\0\0\0\x01\xff\xff",
    "an unknown version": b"\0\0\0\x0a\0\x03\0\x63\0\0\0\x01\xff\xff",
    "a request that ends too early": b"\0\0\0\x0c\0\x03\0\x05\0\0\0\x01\xff\xff\0\0",
    "an array longer than the request": (
        b"\0\0\0\x0e\0\x03\0\x05\0\0\0\x01\xff\xff\x7f\xff\xff\xff"
    ),
}


@pytest.mark.parametrize("what", GARBAGE)
def test_12_garbage_closes_its_connection_and_hurts_nobody_else(
    bootstrap, broker, what
):
    assert versions(broker)
    with Connection(bootstrap) as hostile:
        hostile.send_bytes(GARBAGE[what])
        assert hostile.is_closed_by_the_broker()
    assert versions(broker)


def test_a_wrong_crc_is_noticed_because_it_is_crc_32c_over_attributes_to_end(
    broker, topic
):
    wrong = batch(b"a")
    wrong[17:21] = zlib.crc32(wrong[21:]).to_bytes(4, "big")
    assert broker.produce(topic, wrong).error_code == Error.CORRUPT_MESSAGE
