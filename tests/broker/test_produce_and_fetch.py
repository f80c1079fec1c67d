"""Produce and Fetch, told to one node in real frames."""

from dataclasses import replace

import pytest

from minikafka.trace import Trace
from minikafka.wire.errors import Error
from minikafka.wire.internal_records import encode_control_batch
from minikafka.wire.records import encode_batch, read_header
from tests.broker.node import WALL_MS, Node, values


@pytest.fixture
def node():
    node = Node()
    node.create_topic("orders")
    return node


def test_records_get_increasing_offsets_from_zero(node):
    assert node.produce("orders", "a", "b").base_offset == 0
    assert node.produce("orders", "c").base_offset == 2
    assert node.values("orders", 0) == ["a", "b", "c"]


def test_reading_removes_nothing(node):
    node.produce("orders", "a", "b")
    assert node.values("orders") == node.values("orders") == ["a", "b"]


def test_acks_0_gets_no_answer_at_all(node):
    assert node.produce("orders", "a", acks=0) is None
    assert node.values("orders") == ["a"]


def test_acks_0_that_fails_closes_the_connection(node):
    node.send(
        "Produce",
        9,
        acks=0,
        timeout_ms=0,
        topic_data=[
            {"name": "nowhere", "partition_data": [{"index": 0, "records": b""}]}
        ],
    )
    assert node.closed()


def test_only_three_values_of_acks_exist(node):
    assert node.produce("orders", "a", acks=2).error_code == Error.INVALID_REQUIRED_ACKS


def test_acks_all_needs_min_insync_replicas_but_never_more_than_there_are(node):
    node.create_topic("careful", min_insync_replicas=2)
    assert node.produce("careful", "a", acks=-1).error_code == Error.NONE
    replica = node.broker.replicas.leader("careful", 0)
    replica.partition = replace(
        replica.partition, replicas=(*replica.partition.replicas, 99)
    )
    assert node.produce("careful", "a", acks=-1).error_code == Error.NOT_ENOUGH_REPLICAS
    assert node.produce("careful", "a", acks=1).error_code == Error.NONE


def test_an_unknown_topic_or_partition_is_its_own_error(node):
    assert node.produce("nowhere", "a").error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert (
        node.produce("orders", "a", partition=7).error_code
        == Error.UNKNOWN_TOPIC_OR_PARTITION
    )
    assert (
        node.fetch("orders", partition=7).error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    )


def batch(**header):
    return bytearray(encode_batch([(WALL_MS, None, b"a", [])], **header))


def two_batches():
    return batch() + batch()


def wrong_crc():
    broken = batch()
    broken[-1] ^= 1
    return broken


@pytest.mark.parametrize(
    ("records", "error"),
    [
        (b"", Error.INVALID_RECORD),
        (two_batches(), Error.INVALID_RECORD),
        (wrong_crc(), Error.CORRUPT_MESSAGE),
        (batch(base_offset=3), Error.INVALID_RECORD),
        (
            batch(producer_id=5, producer_epoch=0, base_sequence=-1),
            Error.INVALID_RECORD,
        ),
        (encode_control_batch(1, b"\0\0\0\0\0\0", WALL_MS), Error.INVALID_RECORD),
        (
            bytearray(encode_batch([(WALL_MS, None, b"a" * 1_100_000, [])])),
            Error.MESSAGE_TOO_LARGE,
        ),
        (
            bytearray(encode_batch([(WALL_MS + 3_700_000, None, b"a", [])])),
            Error.INVALID_TIMESTAMP,
        ),
    ],
    ids=[
        "empty",
        "two batches",
        "wrong crc",
        "base offset",
        "sequence",
        "control",
        "too large",
        "future",
    ],
)
def test_a_batch_whose_header_is_wrong_is_refused_and_nothing_is_appended(
    node, records, error
):
    assert node.produce("orders", batch=records).error_code == error
    assert node.values("orders") == []


def test_kip_110_zstd_needs_produce_7(node):
    records = encode_batch([(WALL_MS, None, b"a", [])], compression="zstd")
    assert (
        node.produce("orders", batch=records, version=6).error_code
        == Error.UNSUPPORTED_COMPRESSION_TYPE
    )
    assert node.produce("orders", batch=records, version=7).error_code == Error.NONE


def test_log_append_time_is_the_brokers_and_told_to_the_producer(node):
    node.create_topic("stamped", message_timestamp_type="LogAppendTime")
    node.pass_time(1234)
    assert (
        node.produce(
            "stamped", batch=encode_batch([(5, None, b"a", [])])
        ).log_append_time_ms
        == WALL_MS + 1234
    )
    header = read_header(node.fetch("stamped").records)
    assert header.log_append_time and header.max_timestamp == WALL_MS + 1234


def test_create_time_is_left_alone(node):
    assert (
        node.produce(
            "orders", batch=encode_batch([(5, None, b"a", [])])
        ).log_append_time_ms
        == -1
    )
    assert read_header(node.fetch("orders").records).max_timestamp == 5


def test_the_leader_stamps_its_epoch_into_the_batch(node):
    node.elect("orders")
    node.produce("orders", "a")
    assert read_header(node.fetch("orders").records).partition_leader_epoch == 1


# -- fetch


def test_an_empty_answer_is_zero_bytes_never_null(node):
    assert bytes(node.fetch("orders").records) == b""
    refused = node.fetch("orders", 99)
    assert refused.error_code == Error.OFFSET_OUT_OF_RANGE
    assert bytes(refused.records) == b""


def test_a_fetch_waits_for_min_bytes(node):
    node.send_fetch("orders", max_wait_ms=500, min_bytes=1)
    assert node.answer() is None
    node.connect("other")
    produce(node, "other", "a")
    replies = node.out()
    assert [reply.connection for reply in replies] == ["other", "client"]


def test_a_fetch_waits_no_longer_than_max_wait(node):
    node.send_fetch("orders", max_wait_ms=500)
    node.pass_time(499)
    assert node.answer() is None
    node.pass_time(1)
    assert values(node.answer().responses[0].partitions[0]) == []


def test_a_waiting_fetch_counts_the_bytes_that_arrive(node):
    size = len(encode_batch([(WALL_MS, None, b"a", [])]))
    node.send_fetch("orders", max_wait_ms=500, min_bytes=2 * size)
    node.connect("other")
    produce(node, "other", "a")
    assert [item.connection for item in node.out()] == ["other"]
    produce(node, "other", "b")
    assert [item.connection for item in node.out()] == ["other", "client"]


def test_a_waiting_fetch_counts_the_bytes_that_are_there(node):
    size = len(encode_batch([(WALL_MS, None, b"a", [])]))
    node.produce("orders", "a")
    node.send_fetch("orders", max_wait_ms=500, min_bytes=2 * size)
    assert node.answer() is None
    node.connect("other")
    produce(node, "other", "b")
    assert [item.connection for item in node.out()] == ["other", "client"]


def test_a_fetch_that_waits_for_a_deleted_topic_is_told(node):
    node.send_fetch("orders", max_wait_ms=500)
    node.connect("other")
    node.send(
        "DeleteTopics", 5, connection="other", topic_names=["orders"], timeout_ms=1000
    )
    assert [item.connection for item in node.out()] == ["client", "other"]


def test_a_client_that_hangs_up_is_no_longer_waited_for(node):
    node.send_fetch("orders", max_wait_ms=500)
    node.broker.disconnected("client")
    node.connect("other")
    produce(node, "other", "a")
    assert [item.connection for item in node.out()] == ["other"]
    assert len(node.broker.requests.waiting) == 0


def test_kip_74_a_batch_larger_than_the_limit_is_given_whole_but_alone(node):
    node.produce("orders", "a" * 5000)
    node.produce("orders", "b" * 5000)
    assert node.values("orders", max_bytes=100) == ["a" * 5000]


def test_kip_320_a_client_with_an_old_leader_epoch_is_fenced(node):
    node.elect("orders")
    assert fetch_in_epoch(node, 0) == Error.FENCED_LEADER_EPOCH
    assert fetch_in_epoch(node, 1) == Error.NONE
    assert fetch_in_epoch(node, 2) == Error.UNKNOWN_LEADER_EPOCH


def test_topics_can_be_fetched_by_id(node):
    node.produce("orders", "a")
    topic_id = node.call("Metadata", 12, topics=[{"name": "orders"}]).topics[0].topic_id
    asked = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    body = {"max_wait_ms": 0, "min_bytes": 1, "session_epoch": -1}
    answer = node.call(
        "Fetch", 13, **body, topics=[{"topic_id": topic_id, "partitions": [asked]}]
    )
    assert values(answer.responses[0].partitions[0]) == ["a"]
    answer = node.call(
        "Fetch", 13, **body, topics=[{"topic_id": b"x" * 16, "partitions": [asked]}]
    )
    assert answer.responses[0].partitions[0].error_code == Error.UNKNOWN_TOPIC_ID


# -- idempotence (KIP-98)


def idempotent(node, value, sequence, producer_id=None, epoch=0):
    if producer_id is None:
        producer_id = node.producer_id
    return node.produce(
        "orders",
        value,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )


@pytest.fixture
def numbered(node):
    node.producer_id = node.call(
        "InitProducerId", 4, transactional_id=None, transaction_timeout_ms=1000
    ).producer_id
    return node


def test_kip_98_a_batch_sent_twice_is_answered_with_its_old_offset(numbered):
    assert idempotent(numbered, "a", 0).base_offset == 0
    again = idempotent(numbered, "a", 0)
    assert (again.error_code, again.base_offset) == (Error.NONE, 0)
    assert numbered.values("orders") == ["a"]


def test_kip_98_a_gap_in_the_sequence_is_refused(numbered):
    idempotent(numbered, "a", 0)
    assert idempotent(numbered, "c", 2).error_code == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert idempotent(numbered, "b", 1).error_code == Error.NONE


def test_kip_98_the_last_five_batches_are_remembered(numbered):
    for sequence in range(7):
        idempotent(numbered, str(sequence), sequence)
    assert [
        idempotent(numbered, "x", sequence).base_offset for sequence in range(2, 7)
    ] == [2, 3, 4, 5, 6]
    assert idempotent(numbered, "x", 1).error_code != Error.NONE


def test_kip_98_sequences_survive_restart_clean_or_not(numbered):
    idempotent(numbered, "a", 0)
    numbered.restart()
    assert idempotent(numbered, "a", 0).base_offset == 0
    numbered.restart(clean=False)
    assert idempotent(numbered, "a", 0).base_offset == 0
    assert idempotent(numbered, "c", 2).error_code == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert idempotent(numbered, "b", 1).base_offset == 1


def test_kip_98_an_old_producer_epoch_is_refused(numbered):
    idempotent(numbered, "a", 0, epoch=1)
    assert (
        idempotent(numbered, "b", 1, epoch=0).error_code == Error.INVALID_PRODUCER_EPOCH
    )


def test_kip_730_no_producer_id_is_given_twice_not_even_after_a_crash(numbered):
    given = {numbered.producer_id}
    for clean in (True, False):
        numbered.restart(clean)
        new = numbered.call(
            "InitProducerId", 4, transactional_id=None, transaction_timeout_ms=1000
        ).producer_id
        assert new not in given
        given.add(new)


# -- no listener, no event


def test_without_a_listener_producing_and_fetching_build_no_event(node, monkeypatch):
    def explode(*_, **__):
        raise AssertionError("an event was built")

    monkeypatch.setattr("minikafka.trace.Event", explode)
    node.produce("orders", "a")
    node.produce("nowhere", "a")
    node.fetch("orders", 99)
    node.pass_time(400_000)
    assert node.values("orders") == ["a"]
    with pytest.raises(AssertionError, match="an event was built"):
        Trace("x", [print]).emit("NodeCrashed")


def test_with_a_listener_an_append_is_told_with_its_cause():
    events = []
    node = Node(listeners=[events.append])
    node.create_topic("orders")
    node.produce("orders", "a")
    appended = next(event for event in events if event.kind == "RecordsAppended")
    assert appended.cause == ("client", 5)
    assert appended.detail["records"] == [[0, None, "a", WALL_MS]]
    assert str(appended) == "0.000 s  broker 1: offsets 0 to 0 appended to orders-0"


def produce(node, connection, value):
    records = encode_batch([(WALL_MS, None, value.encode(), [])])
    topic = {"name": "orders", "partition_data": [{"index": 0, "records": records}]}
    node.send(
        "Produce", 9, connection=connection, acks=1, timeout_ms=100, topic_data=[topic]
    )


def fetch_in_epoch(node, epoch):
    asked = {
        "partition": 0,
        "fetch_offset": 0,
        "partition_max_bytes": 1000,
        "current_leader_epoch": epoch,
    }
    return node.fetch(
        "orders", topics=[{"topic": "orders", "partitions": [asked]}]
    ).error_code
