"""Kafka's own error codes for what can't be done. Every test here runs against Apache
Kafka as well.
"""

import time

import pytest

from minikafka.wire.errors import Error
from tests.conformance.raw import batch

pytestmark = pytest.mark.slow

UNSET = {"num_partitions": -1, "replication_factor": -1}


def create(broker, name, version=5, **topic):
    """The answer to creating one topic."""
    asked = {"name": name, "num_partitions": 1, "replication_factor": 1, **topic}
    return broker.ask("CreateTopics", version, topics=[asked]).topics[0]


def configs(**pairs):
    return [
        {"name": key.replace("_", "."), "value": value} for key, value in pairs.items()
    ]


# --- topics ---


@pytest.mark.parametrize("illegal", ["", ".", "..", "a b", "a/b", "ü", "x" * 250])
def test_an_illegal_topic_name_is_refused(broker, illegal):
    assert create(broker, illegal).error_code == Error.INVALID_TOPIC_EXCEPTION
    described = broker.ask(
        "Metadata", 5, topics=[{"name": illegal}], allow_auto_topic_creation=True
    )
    assert described.topics[0].error_code == Error.INVALID_TOPIC_EXCEPTION


def test_the_longest_legal_name_is_accepted(broker, name):
    assert create(broker, name + "-" * (249 - len(name))).error_code == 0


def test_names_that_differ_only_in_dot_and_underscore_collide(broker, name):
    assert create(broker, name + ".a_b").error_code == 0
    assert create(broker, name + "_a.b").error_code == Error.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"num_partitions": 0}, Error.INVALID_PARTITIONS),
        ({"num_partitions": -2}, Error.INVALID_PARTITIONS),
        ({"num_partitions": 10_001}, Error.POLICY_VIOLATION),
        ({"replication_factor": 0}, Error.INVALID_REPLICATION_FACTOR),
        ({"replication_factor": 2}, Error.INVALID_REPLICATION_FACTOR),
        ({"configs": configs(retention_ms="soon")}, Error.INVALID_CONFIG),
        ({"configs": configs(no_such_config="1")}, Error.INVALID_CONFIG),
        ({"configs": configs(retention_ms=None)}, Error.INVALID_CONFIG),
        ({"configs": configs(segment_bytes="10")}, Error.INVALID_CONFIG),
        ({"configs": configs(cleanup_policy="burn")}, Error.INVALID_CONFIG),
        (
            {
                "num_partitions": 2,
                "assignments": [{"partition_index": 0, "broker_ids": [1]}],
            },
            Error.INVALID_REQUEST,
        ),
        (
            UNSET | {"assignments": [{"partition_index": 1, "broker_ids": [1]}]},
            Error.INVALID_REPLICA_ASSIGNMENT,
        ),
        (
            UNSET | {"assignments": [{"partition_index": 0, "broker_ids": [9]}]},
            Error.INVALID_REPLICA_ASSIGNMENT,
        ),
    ],
)
def test_a_topic_that_cannot_be_made_is_refused(broker, name, wrong, error):
    assert create(broker, name, **wrong).error_code == error


def test_a_topic_that_exists_or_is_named_twice_is_refused(broker, topic, name):
    assert create(broker, topic).error_code == Error.TOPIC_ALREADY_EXISTS
    twice = [{"name": name + "x", "num_partitions": 1, "replication_factor": 1}] * 2
    answers = broker.ask("CreateTopics", 5, topics=twice).topics
    assert {answer.error_code for answer in answers} == {Error.INVALID_REQUEST}


def test_validate_only_checks_and_creates_nothing(broker, name):
    """KIP-4."""
    asked = {"name": name, "num_partitions": 3, "replication_factor": 1}
    [answer] = broker.ask("CreateTopics", 5, topics=[asked], validate_only=True).topics
    assert (answer.error_code, answer.num_partitions) == (0, 3)
    described = broker.ask(
        "Metadata", 5, topics=[{"name": name}], allow_auto_topic_creation=False
    )
    assert described.topics[0].error_code == Error.UNKNOWN_TOPIC_OR_PARTITION


def test_what_names_an_unknown_topic_says_so(broker, name):
    unknown = Error.UNKNOWN_TOPIC_OR_PARTITION
    described = broker.ask(
        "Metadata", 5, topics=[{"name": name}], allow_auto_topic_creation=False
    )
    assert described.topics[0].error_code == unknown
    assert (
        broker.ask("DeleteTopics", 4, topic_names=[name], timeout_ms=60_000)
        .responses[0]
        .error_code
        == unknown
    )
    more = [{"name": name, "count": 3, "assignments": None}]
    grown = broker.ask("CreatePartitions", 1, topics=more, timeout_ms=60_000)
    assert grown.results[0].error_code == unknown
    resource = {"resource_type": 2, "resource_name": name, "configuration_keys": None}
    assert (
        broker.ask("DescribeConfigs", 2, resources=[resource]).results[0].error_code
        == unknown
    )
    assert broker.fetch(name).error_code == unknown
    assert broker.produce(name, batch(b"a")).error_code == unknown
    assert broker.offset(name, -1).error_code == unknown
    assert delete_records(broker, name, 0).error_code == unknown
    answer = broker.ask("DescribeTopicPartitions", 0, topics=[{"name": name}])
    assert answer.topics[0].error_code == unknown


def test_what_names_an_unknown_topic_id_says_so(broker):
    """KIP-516."""
    unknown = bytes(range(16))
    answer = broker.ask("Metadata", 12, topics=[{"topic_id": unknown, "name": None}])
    assert answer.topics[0].error_code == Error.UNKNOWN_TOPIC_ID
    answer = broker.ask(
        "DeleteTopics",
        6,
        topics=[{"topic_id": unknown, "name": None}],
        timeout_ms=60_000,
    )
    assert answer.responses[0].error_code == Error.UNKNOWN_TOPIC_ID


def test_what_names_an_unknown_partition_says_so(broker, topic):
    unknown = Error.UNKNOWN_TOPIC_OR_PARTITION
    assert broker.fetch(topic, partition=7).error_code == unknown
    assert broker.produce(topic, batch(b"a"), partition=7).error_code == unknown
    assert broker.offset(topic, -1, partition=7).error_code == unknown
    assert delete_records(broker, topic, 0, partition=7).error_code == unknown


@pytest.mark.parametrize("count", [-1, 0, 1, 2])
def test_partitions_only_grow(broker, name, count):
    """KIP-195."""
    broker.create_topic(name, partitions=2)
    asked = {"name": name, "count": count, "assignments": None}
    answer = broker.ask("CreatePartitions", 1, topics=[asked], timeout_ms=60_000)
    assert answer.results[0].error_code == Error.INVALID_PARTITIONS


# --- configs ---


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"name": "no.such.config", "value": "1"}, Error.INVALID_CONFIG),
        ({"name": "retention.ms", "value": "soon"}, Error.INVALID_CONFIG),
        (
            {"name": "retention.ms", "value": "1", "config_operation": 2},
            Error.INVALID_CONFIG,
        ),
        ({"name": "retention.ms", "value": None}, Error.INVALID_REQUEST),
    ],
)
def test_a_config_that_cannot_be_set_is_refused(broker, topic, change, error):
    assert alter(broker, topic, change) == error


def test_configs_of_an_unknown_topic_cannot_be_altered(broker, name):
    assert (
        alter(broker, name, {"name": "retention.ms", "value": "1"})
        == Error.UNKNOWN_TOPIC_OR_PARTITION
    )


def alter(broker, topic, change):
    resource = {
        "resource_type": 2,
        "resource_name": topic,
        "configs": [{"config_operation": 0, **change}],
    }
    return (
        broker.ask("IncrementalAlterConfigs", 0, resources=[resource])
        .responses[0]
        .error_code
    )


# --- produce ---


@pytest.mark.parametrize("acks", [2, -2, 100])
def test_acks_other_than_0_1_and_all_are_refused(broker, topic, acks):
    assert (
        broker.produce(topic, batch(b"a"), acks=acks).error_code
        == Error.INVALID_REQUIRED_ACKS
    )


def test_a_batch_above_max_message_bytes_is_refused(broker, name):
    broker.create_topic(name, max_message_bytes=1000)
    assert (
        broker.produce(name, batch(bytes(2000))).error_code == Error.MESSAGE_TOO_LARGE
    )
    assert broker.produce(name, batch(bytes(100))).error_code == 0


def test_a_damaged_batch_is_refused(broker, topic):
    damaged = batch(b"a")
    damaged[-1] ^= 1
    assert broker.produce(topic, damaged).error_code == Error.CORRUPT_MESSAGE


def test_a_batch_of_an_unknown_magic_is_refused(broker, topic):
    future = batch(b"a")
    future[16] = 3
    assert broker.produce(topic, future).error_code in (
        Error.CORRUPT_MESSAGE,
        Error.INVALID_RECORD,
    )


def test_two_batches_for_one_partition_are_refused(broker, topic):
    assert (
        broker.produce(topic, batch(b"a") + batch(b"b")).error_code
        == Error.INVALID_RECORD
    )


def test_a_batch_that_is_cut_off_is_refused(broker, topic):
    assert (
        broker.produce(topic, batch(b"abcdefgh")[:-3]).error_code
        == Error.INVALID_RECORD
    )


def test_a_timestamp_far_in_the_future_is_refused(broker, topic):
    """KIP-937."""
    tomorrow = int(time.time() * 1000) + 24 * 3_600_000
    assert (
        broker.produce(topic, batch(b"a", timestamp=tomorrow)).error_code
        == Error.INVALID_TIMESTAMP
    )


def test_only_the_wrong_partition_of_a_request_is_refused(broker, topic):
    data = [{"index": 0, "records": batch(b"a")}, {"index": 5, "records": batch(b"b")}]
    answer = broker.ask(
        "Produce",
        8,
        acks=-1,
        timeout_ms=60_000,
        topic_data=[{"name": topic, "partition_data": data}],
    )
    answers = {
        answer.index: answer.error_code
        for answer in answer.responses[0].partition_responses
    }
    assert answers == {0: 0, 5: Error.UNKNOWN_TOPIC_OR_PARTITION}


# --- idempotent producers (KIP-98) ---


@pytest.fixture
def producer_id(broker):
    """A new one. Apache Kafka asks for patience while it fetches its first block of
    ids.
    """
    while True:
        answer = broker.ask(
            "InitProducerId", 1, transactional_id=None, transaction_timeout_ms=60_000
        )
        if answer.error_code != Error.COORDINATOR_LOAD_IN_PROGRESS:
            assert (answer.error_code, answer.producer_epoch) == (0, 0)
            return answer.producer_id


def numbered(value, producer_id, sequence, epoch=0):
    return batch(
        value, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
    )


def test_a_batch_sent_again_gets_its_old_offset_and_is_not_stored_twice(
    broker, topic, producer_id
):
    """KIP-98."""
    for sequence in range(5):
        assert (
            broker.produce(
                topic, numbered(b"%d" % sequence, producer_id, sequence)
            ).base_offset
            == sequence
        )
    for sequence in (4, 0):
        again = broker.produce(topic, numbered(b"%d" % sequence, producer_id, sequence))
        assert (again.error_code, again.base_offset) == (0, sequence)
    assert broker.offset(topic, -1).offset == 5


def test_a_gap_in_the_sequence_is_refused(broker, topic, producer_id):
    """KIP-98."""
    assert broker.produce(topic, numbered(b"0", producer_id, 0)).error_code == 0
    refused = broker.produce(topic, numbered(b"2", producer_id, 2))
    assert refused.error_code == Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_duplicate_older_than_five_batches_is_refused(broker, topic, producer_id):
    """KIP-98; KAFKA-5494: the last five are known."""
    for sequence in range(7):
        assert (
            broker.produce(topic, numbered(b"x", producer_id, sequence)).error_code == 0
        )
    refused = broker.produce(topic, numbered(b"x", producer_id, 0))
    assert refused.error_code == Error.OUT_OF_ORDER_SEQUENCE_NUMBER, (
        "only the last five are remembered"
    )


def test_an_older_epoch_is_fenced_and_a_new_one_begins_at_zero(
    broker, topic, producer_id
):
    """KIP-98."""
    assert (
        broker.produce(topic, numbered(b"x", producer_id, 0, epoch=1)).error_code == 0
    )
    assert (
        broker.produce(topic, numbered(b"x", producer_id, 1, epoch=0)).error_code
        == Error.INVALID_PRODUCER_EPOCH
    )
    refused = broker.produce(topic, numbered(b"x", producer_id, 3, epoch=2))
    assert refused.error_code == Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert (
        broker.produce(topic, numbered(b"x", producer_id, 0, epoch=2)).error_code == 0
    )


def test_the_sequence_wraps_from_its_largest_value_to_zero(broker, topic, producer_id):
    """KIP-98."""
    last = 2**31 - 1
    first = broker.produce(topic, numbered(b"x", producer_id, last))
    assert first.error_code == 0, "an unknown producer may begin anywhere"
    assert broker.produce(topic, numbered(b"x", producer_id, 0)).error_code == 0


# --- fetch and offsets ---


@pytest.mark.parametrize("offset", [-1, 2, 1000])
def test_an_offset_that_is_not_there_is_out_of_range(broker, topic, offset):
    broker.produce(topic, batch(b"a"))
    answer = broker.fetch(topic, offset)
    assert (answer.error_code, len(answer.records or b"")) == (
        Error.OFFSET_OUT_OF_RANGE,
        0,
    )
    assert broker.fetch(topic, 1).error_code == 0, (
        "the end itself is an answer without records"
    )


def test_a_leader_epoch_that_is_not_the_leaders_is_refused(broker, topic):
    """KIP-320."""
    assert broker.fetch(topic, current_leader_epoch=0).error_code == 0
    assert (
        broker.fetch(topic, current_leader_epoch=99).error_code
        == Error.UNKNOWN_LEADER_EPOCH
    )


def test_the_first_batch_comes_whole_even_when_it_is_larger_than_asked(broker, topic):
    """KIP-74."""
    broker.produce(topic, batch(bytes(5000)))
    broker.produce(topic, batch(bytes(5000)))
    answer = broker.fetch(topic, partition_max_bytes=100, max_bytes=100)
    assert 5000 < len(answer.records) < 10_000


def test_fetch_sessions_know_their_id_and_epoch(broker, topic):
    """KIP-227."""

    def fetch(session_id, session_epoch):
        broker.send_fetch(topic, session_id=session_id, session_epoch=session_epoch)
        return broker.read("Fetch", 11)

    assert fetch(12345, 1).error_code == Error.FETCH_SESSION_ID_NOT_FOUND
    opened = fetch(0, 0)
    assert opened.error_code == 0
    assert opened.session_id > 0
    assert fetch(opened.session_id, 1).error_code == 0
    assert fetch(opened.session_id, 9).error_code == Error.INVALID_FETCH_SESSION_EPOCH


def test_list_offsets_answers_both_ends_a_timestamp_and_the_largest_one(broker, topic):
    """KIP-79; KIP-734."""
    broker.produce(topic, batch(b"a", b"b", timestamp=1000))
    broker.produce(topic, batch(b"c", timestamp=500))
    found = {
        asked: broker.offset(topic, asked, version=7)
        for asked in (-2, -1, -3, 1001, 400, 2000)
    }
    assert {
        asked: (answer.timestamp, answer.offset) for asked, answer in found.items()
    } == {
        -2: (-1, 0),
        -1: (-1, 3),
        -3: (1001, 1),
        1001: (1001, 1),
        400: (1000, 0),
        2000: (-1, -1),
    }


# --- deleting records (KIP-107) ---


def delete_records(broker, topic, offset, partition=0):
    topics = [
        {
            "name": topic,
            "partitions": [{"partition_index": partition, "offset": offset}],
        }
    ]
    return (
        broker.ask("DeleteRecords", 1, topics=topics, timeout_ms=60_000)
        .topics[0]
        .partitions[0]
    )


def test_records_are_deleted_up_to_an_offset_or_the_high_watermark_and_never_beyond(
    broker, topic
):
    """KIP-107."""
    for _ in range(3):
        broker.produce(topic, batch(b"a"))
    assert delete_records(broker, topic, 4).error_code == Error.OFFSET_OUT_OF_RANGE
    deleted = delete_records(broker, topic, 2)
    assert (deleted.error_code, deleted.low_watermark) == (0, 2)
    assert broker.fetch(topic, 1).error_code == Error.OFFSET_OUT_OF_RANGE
    assert broker.offset(topic, -2).offset == 2
    assert delete_records(broker, topic, -1).low_watermark == 3
    assert delete_records(broker, topic, 1).low_watermark == 3, (
        "deleting less than is gone changes nothing"
    )
