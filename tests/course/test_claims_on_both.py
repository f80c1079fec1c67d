"""What lessons 00 to 02 claim, as one check each, run on minikafka and on Apache Kafka
over TCP.

The ledger (`notebooks/claims.toml`) names these tests as its evidence.
"""

import time
from contextlib import closing

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource
from kafka.errors import (
    InvalidPartitionsError,
    InvalidRecordError,
    MessageSizeTooLargeError,
    OffsetOutOfRangeError,
)
from kafka.partitioner import Partitioner

from minikafka.clients.partitioners import murmur2
from minikafka.wire.records import batches
from tests.clients.brokers import until
from tests.conformance.raw import Connection
from tests.course.on_both import take
from tests.kafka import java_tool

pytestmark = pytest.mark.slow

MEGABYTE = 1024 * 1024
MINUTE = 60_000
DAY = 24 * 60 * MINUTE
NAMES = (
    "alice",
    "bob",
    "carol",
    "dave",
    "erin",
    "frank",
    "grace",
    "heidi",
    "ivan",
    "judy",
    "mallory",
    "olivia",
)


def test_offsets_rise_by_one_from_zero_in_each_partition(topic, write):
    name = topic(partitions=2)
    for partition in (0, 1):
        acknowledged = write(name, [b"a", b"b", b"c"], partition=partition)
        assert [metadata.offset for metadata in acknowledged] == [0, 1, 2]


def test_reading_removes_nothing_and_each_reader_has_its_own_position(
    topic, write, reader
):
    partition = TopicPartition(topic(), 0)
    write(partition.topic, [b"0", b"1", b"2"], partition=0)
    billing, audit = reader(partition), reader(partition)
    assert [record.offset for record in take(billing, 3)] == [0, 1, 2]
    assert [record.offset for record in take(audit, 2)] == [0, 1]
    assert (billing.position(partition), audit.position(partition)) == (3, 2)
    billing.seek(partition, 1)
    assert [record.value for record in take(billing, 2)] == [b"1", b"2"]


def test_a_new_reader_begins_at_the_end_unless_told_otherwise(topic, write, bootstrap):
    partition = TopicPartition(topic(), 0)
    write(partition.topic, [b"x"] * 6, partition=0)
    audit = KafkaConsumer(bootstrap_servers=bootstrap)
    audit.assign([partition])
    assert audit.poll(timeout_ms=500) == {} and audit.position(partition) == 6
    write(partition.topic, [b"next"], partition=0)
    assert [record.offset for record in take(audit, 1)] == [6]
    audit.close()


def test_a_record_may_be_any_bytes(topic, write, reader):
    values = [b"\xff\x00\xfe", b"", None, bytes(range(256))]
    partition = TopicPartition(topic(), 0)
    write(partition.topic, values, key=b"\x00\xff", partition=0)
    assert [record.value for record in take(reader(partition), 4)] == values


@pytest.mark.parametrize(
    ("config", "value", "error"),
    [
        ({"max_message_bytes": 1000}, b"x" * 2000, MessageSizeTooLargeError),
        ({"cleanup_policy": "compact"}, b"without a key", InvalidRecordError),
    ],
)
def test_a_record_may_be_too_large_and_a_compacted_topic_needs_keys(
    topic, write, config, value, error
):
    with pytest.raises(error):
        write(topic(**config), [value])


def test_deleted_records_are_out_of_range_and_their_offsets_never_come_back(
    topic, write, reader
):
    partition = TopicPartition(topic(), 0)
    write(partition.topic, [b"x"] * 5, partition=0)
    topic.admin.delete_records({partition: 5})
    strict = reader(partition, reset="none")
    strict.seek(partition, 2)
    with pytest.raises(OffsetOutOfRangeError):
        take(strict, 1)
    assert write(partition.topic, [b"next"], partition=0)[0].offset == 5
    lenient = reader(partition)
    lenient.seek(partition, 2)
    assert [record.offset for record in take(lenient, 1)] == [5]


def test_with_auto_offset_reset_latest_a_reader_that_is_out_of_range_skips_what_is_left(
    topic, write, reader
):
    partition = TopicPartition(topic(), 0)
    write(partition.topic, [b"x"] * 8, partition=0)
    topic.admin.delete_records({partition: 5})
    late = reader(partition, reset="latest")
    late.seek(partition, 2)
    while late.position(partition) == 2:
        assert late.poll(timeout_ms=500) == {}
    assert late.position(partition) == 8


def test_a_search_by_time_finds_the_first_offset_that_is_not_earlier(
    topic, write, reader
):
    partition = TopicPartition(topic(), 0)
    now = int(time.time() * 1000)
    for minute in (0, 10, 5, 20):
        write(
            partition.topic, [b"order"], partition=0, timestamp_ms=now + minute * MINUTE
        )
    consumer = reader(partition)
    found = {
        minute: consumer.offsets_for_times({partition: now + minute * MINUTE})[
            partition
        ]
        for minute in (0, 5, 11, 21)
    }
    assert {minute: each and each.offset for minute, each in found.items()} == {
        0: 0,
        5: 1,
        11: 3,
        21: None,
    }


def test_a_partition_keeps_the_order_and_a_key_keeps_its_partition(
    topic, write, reader
):
    name = topic(partitions=4)
    acknowledged = [
        write(name, [b"%d" % number], key=b"alice")[0] for number in range(10)
    ]
    assert {metadata.partition for metadata in acknowledged} == {
        (murmur2(b"alice") & 0x7FFFFFFF) % 4
    }
    read = take(reader(TopicPartition(name, acknowledged[0].partition)), 10)
    assert [record.value for record in read] == [b"%d" % number for number in range(10)]


def test_more_partitions_remap_keys_move_no_record_and_disturb_no_offset(
    topic, write, reader, bootstrap
):
    name = topic(partitions=2)
    before = write(name, [b"created"], key=b"alice")[0]
    topic.grow(name, 3)
    with_new_metadata = KafkaProducer(bootstrap_servers=bootstrap)
    after = with_new_metadata.send(name, key=b"alice", value=b"paid").get(timeout=120)
    with_new_metadata.close()
    assert (before.partition, after.partition) == (1, 0)
    consumer = reader(*(TopicPartition(name, number) for number in range(3)))
    ends = {
        partition.partition: end
        for partition, end in consumer.end_offsets(list(consumer.assignment())).items()
    }
    assert ends == {0: 1, 1: 1, 2: 0}


def test_no_record_waits_for_an_earlier_one_in_another_partition(topic, write, reader):
    name = topic(partitions=2)
    one, other = TopicPartition(name, 0), TopicPartition(name, 1)
    write(name, [b"created"], partition=1)
    write(name, [b"paid"], partition=0)
    consumer = reader(one, other)
    consumer.pause(other)  # partition 1 is late
    assert [record.value for record in take(consumer, 1)] == [b"paid"]
    consumer.resume(other)
    assert [record.value for record in take(consumer, 1)] == [b"created"]


def test_from_4_to_5_partitions_nine_of_twelve_keys_go_elsewhere(
    topic, write, bootstrap
):
    name, keys = topic(partitions=4), [key.encode() for key in NAMES]
    before = {key: write(name, [b"created"], key=key)[0].partition for key in keys}
    topic.grow(name, 5)
    with_new_metadata = KafkaProducer(bootstrap_servers=bootstrap)
    sent = {key: with_new_metadata.send(name, key=key, value=b"paid") for key in keys}
    with_new_metadata.close()
    assert sum(sent[key].get(timeout=120).partition != before[key] for key in keys) == 9


@pytest.mark.parametrize("partitions", [4, 8])
def test_more_partitions_do_not_divide_a_hot_key(topic, reader, bootstrap, partitions):
    name = topic(partitions=partitions)
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for number in range(200):
        producer.send(name, key=b"megamart", value=b"order")
        producer.send(name, key=b"customer-%d" % number, value=b"order")
    producer.close()
    consumer = reader(*(TopicPartition(name, number) for number in range(partitions)))
    ends = consumer.end_offsets(list(consumer.assignment())).values()
    assert sum(ends) == 400 and max(ends) >= 200


def test_partitions_are_never_taken_away(topic):
    name = topic(partitions=3)
    with pytest.raises(InvalidPartitionsError):
        topic.admin.create_partitions({name: 2})


def test_one_broker_leads_many_partitions(topic):
    name = topic(partitions=3)
    partitions = topic.admin.describe_topics([name])[0]["partitions"]
    assert [each["leader_id"] for each in partitions] == [
        partitions[0]["leader_id"]
    ] * 3


def test_librdkafka_hashes_keys_otherwise_than_java_does_and_agrees_for_one_in_three(
    topic, bootstrap
):
    from confluent_kafka import Producer

    from minikafka.course.experiments.lesson_02_partitioners import crc32

    name, went = topic(partitions=3), {}

    def heard(_, message):
        went.setdefault(message.key(), []).append(message.partition())

    for settings in ({}, {"partitioner": "murmur2_random"}):
        producer = Producer({"bootstrap.servers": bootstrap} | settings)
        for key in (b"alice", b"bob", b"carol"):
            producer.produce(name, b"paid", key, on_delivery=heard)
        producer.flush(30)
    numbers = [0, 1, 2]
    assert went == {
        key: [crc32(key, numbers, numbers), (murmur2(key) & 0x7FFFFFFF) % 3]
        for key in went
    }
    assert [
        key for key, (by_crc32, by_murmur2) in went.items() if by_crc32 == by_murmur2
    ] == [b"carol"]


@pytest.mark.java
def test_the_java_client_without_a_key_stays_with_one_partition(
    topic, bootstrap, reader
):
    name = topic(partitions=3)
    lines = "".join(f"order {number}\n" for number in range(100))
    # a batch for each
    arguments = (
        "--bootstrap-server",
        bootstrap,
        "--topic",
        name,
        "--sync",
        "--timeout",
        "0",
    )
    patience = ("--request-timeout-ms", "60000")
    done = java_tool(
        "org.apache.kafka.tools.ConsoleProducer", *arguments, *patience, input=lines
    )
    assert done.returncode == 0, done.stderr
    consumer = reader(*(TopicPartition(name, number) for number in range(3)))
    assert sorted(consumer.end_offsets(list(consumer.assignment())).values()) == [
        0,
        0,
        100,
    ]


@pytest.mark.parametrize(
    "bootstrap",
    [pytest.param("Apache Kafka", marks=pytest.mark.java)],
    indirect=True,
    scope="module",
)
def test_retention_deletes_whole_segments_and_rolls_the_active_one_when_all_are_too_old(
    topic, write, reader
):
    """minikafka's half is lesson 01 itself: there the days pass on a virtual clock."""
    start = int(time.time() * 1000) - 20 * DAY
    # segment.ms is seven days unless told otherwise
    partition = TopicPartition(topic(retention_ms=-1), 0)
    for day in range(20):
        write(
            partition.topic,
            [b"%d" % day],
            partition=0,
            timestamp_ms=start + day * (DAY + MINUTE),
        )
    consumer = reader(partition)

    def log_start():
        return consumer.beginning_offsets([partition])[partition]

    for retention_ms, log_start_offset in ((7 * DAY, 7), (1, 20)):
        retention = ConfigResource(
            "TOPIC", partition.topic, {"retention.ms": str(retention_ms)}
        )
        topic.admin.alter_configs([retention])
        until(lambda wanted=log_start_offset: log_start() >= wanted)
        assert log_start() == log_start_offset
    assert write(partition.topic, [b"again"], partition=0)[0].offset == 20


def test_beyond_retention_bytes_the_oldest_segments_go_and_the_active_one_stays(
    topic, write, reader
):
    """Each segment has two records: 1 MiB is the least that a segment may be."""
    sizes = {"segment_bytes": MEGABYTE, "retention_bytes": MEGABYTE}
    partition = TopicPartition(topic(**sizes), 0)
    half = bytes(MEGABYTE // 2 - 1000)
    acknowledged = write(partition.topic, [half] * 7, partition=0)
    assert acknowledged[-1].offset == 6
    consumer = reader(partition)
    until(lambda: consumer.beginning_offsets([partition])[partition] == 4)


def test_a_producer_may_choose_partitions_by_a_rule_of_its_own(topic, bootstrap):
    class Last(Partitioner):
        def partition(self, topic, *record_and_cluster):
            return max(record_and_cluster[-1].partitions_for_topic(topic))

    name = topic(partitions=4)
    own_rule = {"bootstrap_servers": bootstrap, "partitioner": Last()}
    with closing(KafkaProducer(**own_rule)) as shop:
        for key in NAMES:
            assert shop.send(name, b"paid", key=key.encode()).get(120).partition == 3


def test_the_same_records_in_more_partitions_make_more_and_smaller_batches(
    topic, bootstrap
):
    with Connection(bootstrap) as broker:
        for partitions in (1, 20):
            name = topic(partitions=partitions)
            shop = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=MINUTE)
            shop.partitions_for(name)
            for number in range(60):
                shop.send(name, b"paid", partition=number % partitions)
            shop.flush()
            shop.close()
            sizes = []
            for number in range(partitions):
                records = broker.fetch(name, partition=number).records
                sizes += [header.records_count for header, _ in batches(records)]
            assert sizes == [60 // partitions] * partitions
