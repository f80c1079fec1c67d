"""kafka-python 3, unchanged, against `minikafka serve` (or any Kafka that
MINIKAFKA_BOOTSTRAP names).
"""

import json
import subprocess
import sys
import time
from contextlib import closing

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, KafkaAdminClient, OffsetSpec
from kafka.errors import (
    MessageSizeTooLargeError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)

pytestmark = pytest.mark.slow


def producing(bootstrap, **options):
    return closing(KafkaProducer(bootstrap_servers=bootstrap, **options))


def read(bootstrap, topic, count, partition=0, offset=0, **options):
    """So many records from an offset on, or the first ones when fewer come within a
    minute.
    """
    with closing(
        KafkaConsumer(
            bootstrap_servers=bootstrap, consumer_timeout_ms=60_000, **options
        )
    ) as consumer:
        consumer.assign([TopicPartition(topic, partition)])
        consumer.seek(TopicPartition(topic, partition), offset)
        records = []
        for record in consumer:
            records.append(record)
            if len(records) == count:
                break
        return records


@pytest.fixture
def admin(bootstrap):
    with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as client:
        yield client


def test_key_value_headers_and_timestamp_come_back_as_they_were_sent(bootstrap, topic):
    headers = [("trace", b"abc"), ("empty", b""), ("trace", b"again")]
    with producing(bootstrap) as producer:
        sent = producer.send(
            topic, b"paid", b"alice", headers, timestamp_ms=1_700_000_000_123
        ).get(60)
        producer.send(topic, key=b"alice", value=None).get(60)
        producer.send(topic, key=None, value=b"").get(60)
    assert (sent.partition, sent.offset, sent.timestamp) == (0, 0, 1_700_000_000_123)
    record, tombstone, empty = read(bootstrap, topic, 3)
    assert (record.key, record.value, list(record.headers)) == (
        b"alice",
        b"paid",
        headers,
    )
    assert (record.timestamp, record.timestamp_type) == (1_700_000_000_123, 0)
    assert (tombstone.key, tombstone.value, tombstone.offset) == (b"alice", None, 1)
    assert (empty.key, empty.value, empty.offset) == (None, b"", 2)


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_acks_setting_writes_in_order(bootstrap, topic, acks):
    with producing(
        bootstrap, acks=acks, enable_idempotence=acks == "all", linger_ms=2
    ) as producer:
        for number in range(500):
            producer.send(topic, value=str(number).encode(), partition=0)
        producer.flush(60)
    assert [record.value for record in read(bootstrap, topic, 500)] == [
        str(number).encode() for number in range(500)
    ]


def test_gzip_batches_are_read_back(bootstrap, topic):
    with producing(bootstrap, compression_type="gzip", linger_ms=20) as producer:
        for number in range(200):
            producer.send(topic, value=b"%d " % number * 50)
        producer.flush(60)
    assert [record.value for record in read(bootstrap, topic, 200)] == [
        b"%d " % number * 50 for number in range(200)
    ]


def test_a_record_of_nearly_a_megabyte_fits_and_one_above_max_message_bytes_does_not(
    bootstrap, topic, admin
):
    large = bytes(range(256)) * 3900
    with producing(bootstrap, max_request_size=8 << 20) as producer:
        assert producer.send(topic, value=large).get(60).offset == 0
        with pytest.raises(MessageSizeTooLargeError):
            producer.send(topic, value=bytes(2 << 20)).get(60)
    admin.alter_configs(
        [ConfigResource("TOPIC", topic, {"max.message.bytes": str(4 << 20)})]
    )
    with producing(bootstrap, max_request_size=8 << 20) as producer:
        assert producer.send(topic, value=bytes(2 << 20)).get(60).offset == 1
    assert [record.value for record in read(bootstrap, topic, 2)] == [
        large,
        bytes(2 << 20),
    ]


def test_offsets_are_found_by_timestamp_and_at_both_ends(bootstrap, topic):
    partition = TopicPartition(topic, 0)
    with producing(bootstrap) as producer:
        for number in range(10):
            producer.send(
                topic, value=b"x", timestamp_ms=1_700_000_000_000 + 1000 * number
            ).get(60)
    with closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer:
        found = consumer.offsets_for_times({partition: 1_700_000_003_500})[partition]
        assert (found.offset, found.timestamp) == (4, 1_700_000_004_000)
        assert (
            consumer.offsets_for_times({partition: 1_700_000_009_001})[partition]
            is None
        )
        assert consumer.beginning_offsets([partition]) == {partition: 0}
        assert consumer.end_offsets([partition]) == {partition: 10}


def test_a_consumer_that_waits_at_the_end_sees_a_record_when_it_comes(bootstrap, topic):
    partition = TopicPartition(topic, 0)
    with (
        producing(bootstrap) as producer,
        closing(KafkaConsumer(bootstrap_servers=bootstrap)) as consumer,
    ):
        producer.send(topic, value=b"before").get(60)
        consumer.assign([partition])
        consumer.seek_to_end(partition)
        assert consumer.position(partition) == 1
        producer.send(topic, value=b"after").get(60)
        polled = consumer.poll(timeout_ms=60_000)
    assert [record.value for record in polled[partition]] == [b"after"]


def test_admin_creates_describes_grows_and_deletes_a_topic(topic, admin):
    admin.create_topics(
        {
            topic: {
                "num_partitions": 3,
                "replication_factor": 1,
                "configs": {"retention.ms": "60000"},
            }
        }
    )
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics({topic: {"num_partitions": 3, "replication_factor": 1}})
    assert topic in admin.list_topics()
    [described] = admin.describe_topics([topic])
    assert [partition["partition_index"] for partition in described["partitions"]] == [
        0,
        1,
        2,
    ]
    admin.create_partitions({topic: 5})
    [described] = admin.describe_topics([topic])
    assert len(described["partitions"]) == 5
    admin.delete_topics([topic])
    assert topic not in admin.list_topics()
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.delete_topics([topic])


def test_admin_alters_and_resets_a_topics_config(topic, admin):
    def modified():
        return {
            name: config["value"]
            for name, config in admin.describe_configs(
                [ConfigResource("TOPIC", topic)]
            )["topic"][topic].items()
        }

    admin.create_topics({topic: {"configs": {"retention.ms": "60000"}}})
    assert modified() == {"retention.ms": "60000"}
    admin.alter_configs(
        [
            ConfigResource(
                "TOPIC", topic, {"segment.bytes": "2000000", "retention.ms": "70000"}
            )
        ]
    )
    assert modified() == {"retention.ms": "70000", "segment.bytes": "2000000"}
    admin.reset_configs([ConfigResource("TOPIC", topic, ["retention.ms"])])
    assert modified() == {"segment.bytes": "2000000"}


def test_deleted_records_are_gone_for_readers(bootstrap, topic, admin):
    partition = TopicPartition(topic, 0)
    with producing(bootstrap) as producer:
        for number in range(10):
            producer.send(topic, value=str(number).encode()).get(60)
    assert admin.delete_records({partition: 4})[partition]["low_watermark"] == 4
    earliest = admin.list_partition_offsets({partition: OffsetSpec.EARLIEST})[partition]
    assert earliest.offset == 4
    assert [record.value for record in read(bootstrap, topic, 6, offset=4)] == [
        b"4",
        b"5",
        b"6",
        b"7",
        b"8",
        b"9",
    ]


def test_log_append_time_is_the_brokers_clock(bootstrap, topic, admin):
    admin.create_topics(
        {topic: {"configs": {"message.timestamp.type": "LogAppendTime"}}}
    )
    before = int(time.time() * 1000)
    with producing(bootstrap) as producer:
        sent = producer.send(topic, value=b"x", timestamp_ms=1).get(60)
    after = int(time.time() * 1000)
    [record] = read(bootstrap, topic, 1)
    assert record.timestamp_type == 1
    assert before <= record.timestamp == sent.timestamp <= after


def test_the_cluster_describes_itself(bootstrap, admin):
    cluster = admin.describe_cluster()
    assert [f"{broker['host']}:{broker['port']}" for broker in cluster["brokers"]] == [
        bootstrap
    ]
    assert cluster["controller_id"] == cluster["brokers"][0]["broker_id"]


def test_an_unknown_topic_is_created_when_it_is_first_used(bootstrap, topic, admin):
    with producing(bootstrap) as producer:
        producer.send(topic, value=b"x").get(60)
    assert topic in admin.list_topics()


def test_many_partitions_are_read_by_one_consumer(bootstrap, topic, admin):
    admin.create_topics({topic: {"num_partitions": 12}})
    with producing(bootstrap) as producer:
        for number in range(1200):
            producer.send(topic, value=str(number).encode(), partition=number % 12)
        producer.flush(60)
    with closing(
        KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    ) as consumer:
        consumer.assign([TopicPartition(topic, number) for number in range(12)])
        seen = []
        while len(seen) < 1200:
            polled = consumer.poll(timeout_ms=60_000)
            assert polled, f"only {len(seen)} records came"
            seen += [
                int(record.value) for records in polled.values() for record in records
            ]
    assert sorted(seen) == list(range(1200))


def test_the_command_line_that_the_course_uses(bootstrap, topic):
    def kafka(*args, input=None):
        command = [sys.executable, "-m", *args]
        done = subprocess.run(
            command,
            input=input,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def admin(*args):
        return json.loads(
            kafka("kafka.admin", "-b", bootstrap, "--format", "json", *args)
        )

    admin(
        "topics",
        "create",
        "-t",
        topic,
        "--num-partitions",
        "2",
        "--replication-factor",
        "1",
    )
    kafka("kafka.producer", "-b", bootstrap, "-t", topic, input="created\npaid\n")
    [described] = admin("topics", "describe", "-t", topic)
    assert len(described["partitions"]) == 2
    assert topic in str(admin("topics", "list"))
    admin("partitions", "create", "-p", f"{topic}:3")
    admin("topics", "delete", "-t", topic)
    assert topic not in str(admin("topics", "list"))
