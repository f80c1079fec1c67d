"""confluent-kafka (librdkafka), unchanged, against `minikafka serve` (or any Kafka that
MINIKAFKA_BOOTSTRAP names).
"""

from contextlib import closing

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
)

pytestmark = pytest.mark.slow


def send(bootstrap, topic, messages, **options):
    """Produce keyword sets of Producer.produce; returns the delivered messages, raises
    on a failed one.
    """
    delivered = []

    def on_delivery(error, message):
        if error:
            raise KafkaException(error)
        delivered.append(message)

    producer = Producer({"bootstrap.servers": bootstrap, **options})
    for message in messages:
        producer.produce(topic, on_delivery=on_delivery, **message)
        producer.poll(0)
    assert producer.flush(120) == 0, "not everything was delivered"
    return delivered


def consuming(bootstrap, *partitions, **options):
    """A consumer that was given its partitions: assign, no group."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            **options,
        }
    )
    consumer.assign(list(partitions))
    return closing(consumer)


def read(bootstrap, topic, count, partition=0, offset=OFFSET_BEGINNING, **options):
    with consuming(
        bootstrap, TopicPartition(topic, partition, offset), **options
    ) as consumer:
        messages = []
        while len(messages) < count:
            message = consumer.poll(60)
            assert message is not None, f"only {len(messages)} of {count} came"
            assert message.error() is None, message.error()
            messages.append(message)
        return messages


@pytest.fixture
def admin(bootstrap):
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


def finish(futures):
    """The results of an admin call, or the first error."""
    return {name: future.result(120) for name, future in futures.items()}


def test_key_value_headers_and_timestamp_come_back_as_they_were_sent(bootstrap, topic):
    headers = [("trace", b"abc"), ("nothing", None), ("trace", b"again")]
    message = {
        "key": b"alice",
        "value": b"paid",
        "headers": headers,
        "timestamp": 1_700_000_000_123,
    }
    send(bootstrap, topic, [message, {"key": None, "value": None}])
    record, bare = read(bootstrap, topic, 2)
    assert (record.key(), record.value(), record.headers()) == (
        b"alice",
        b"paid",
        headers,
    )
    assert record.timestamp()[1] == 1_700_000_000_123
    assert (bare.key(), bare.value(), bare.offset()) == (None, None, 1)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_stored_as_sent_and_read_back(bootstrap, topic, codec):
    values = [b"%d:" % number + b"abc" * 100 for number in range(1000)]
    send(
        bootstrap,
        topic,
        [{"value": value} for value in values],
        **{"compression.type": codec, "linger.ms": 20},
    )
    assert [message.value() for message in read(bootstrap, topic, 1000)] == values


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_acks_setting_writes_in_order(bootstrap, topic, acks):
    values = [str(number).encode() for number in range(2000)]
    send(
        bootstrap,
        topic,
        [{"value": value, "partition": 0} for value in values],
        acks=acks,
    )
    assert [message.value() for message in read(bootstrap, topic, 2000)] == values


def test_an_idempotent_producer_numbers_its_batches_and_keeps_five_in_flight(
    bootstrap, topic, admin
):
    finish(admin.create_topics([NewTopic(topic, 3, 1)]))
    options = {"enable.idempotence": True, "batch.num.messages": 10, "linger.ms": 0}
    values = [str(number).encode() for number in range(3000)]
    delivered = send(
        bootstrap,
        topic,
        [{"value": v, "partition": n % 3} for n, v in enumerate(values)],
        **options,
    )
    assert len(delivered) == 3000
    for partition in range(3):
        got = [message.value() for message in read(bootstrap, topic, 1000, partition)]
        assert got == values[partition::3]


def test_large_messages_go_through_whole(bootstrap, topic, admin):
    finish(
        admin.create_topics(
            [NewTopic(topic, 1, 1, config={"max.message.bytes": str(20 << 20)})]
        )
    )
    values = [bytes([number]) * (10 << 20) for number in range(3)]
    send(
        bootstrap,
        topic,
        [{"value": value} for value in values],
        **{"message.max.bytes": 20 << 20},
    )
    assert [message.value() for message in read(bootstrap, topic, 3)] == values


def test_a_message_above_max_message_bytes_is_refused(bootstrap, topic):
    with pytest.raises(KafkaException) as refused:
        send(
            bootstrap,
            topic,
            [{"value": bytes(3 << 20)}],
            **{"message.max.bytes": 20 << 20},
        )
    assert refused.value.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE


def test_offsets_are_found_by_timestamp_and_at_both_ends(bootstrap, topic):
    send(
        bootstrap,
        topic,
        [{"value": b"x", "timestamp": 1_700_000_000_000 + 1000 * n} for n in range(10)],
    )
    with consuming(bootstrap) as consumer:
        assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=60) == (
            0,
            10,
        )
        asked = [TopicPartition(topic, 0, 1_700_000_003_500)]
        assert [
            found.offset for found in consumer.offsets_for_times(asked, timeout=60)
        ] == [4]
        asked = [TopicPartition(topic, 0, 1_700_000_009_001)]
        assert [
            found.offset for found in consumer.offsets_for_times(asked, timeout=60)
        ] == [OFFSET_END]


def test_a_consumer_is_told_where_a_partition_ends_and_goes_on_when_more_comes(
    bootstrap, topic
):
    send(bootstrap, topic, [{"value": b"before"}])
    partition = TopicPartition(topic, 0, OFFSET_BEGINNING)
    with consuming(bootstrap, partition, **{"enable.partition.eof": True}) as consumer:
        assert consumer.poll(60).value() == b"before"
        assert consumer.poll(60).error().code() == KafkaError._PARTITION_EOF
        send(bootstrap, topic, [{"value": b"after"}])
        assert consumer.poll(60).value() == b"after"


def test_an_offset_out_of_range_resets_as_the_consumer_asks(bootstrap, topic):
    send(bootstrap, topic, [{"value": b"0"}, {"value": b"1"}])
    assert [
        m.value()
        for m in read(
            bootstrap, topic, 1, offset=99, **{"auto.offset.reset": "earliest"}
        )
    ] == [b"0"]
    with (
        consuming(
            bootstrap, TopicPartition(topic, 0, 99), **{"auto.offset.reset": "error"}
        ) as consumer,
    ):
        assert consumer.poll(60).error().code() == KafkaError._AUTO_OFFSET_RESET


def test_admin_creates_describes_grows_and_deletes_a_topic(topic, admin):
    finish(admin.create_topics([NewTopic(topic, 3, 1)]))
    with pytest.raises(KafkaException) as refused:
        finish(admin.create_topics([NewTopic(topic, 3, 1)]))
    assert refused.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
    finish(admin.create_partitions([NewPartitions(topic, 5)]))
    assert sorted(admin.list_topics(topic, timeout=60).topics[topic].partitions) == [
        0,
        1,
        2,
        3,
        4,
    ]
    finish(admin.delete_topics([topic]))
    assert topic not in admin.list_topics(timeout=60).topics


def test_admin_alters_configs_one_by_one(topic, admin):
    def value(name):
        [(_, configs)] = finish(
            admin.describe_configs([ConfigResource("topic", topic)])
        ).items()
        return configs[name].value

    finish(
        admin.create_topics([NewTopic(topic, 1, 1, config={"retention.ms": "60000"})])
    )
    assert value("retention.ms") == "60000"
    change = ConfigEntry(
        "retention.ms", "70000", incremental_operation=AlterConfigOpType.SET
    )
    finish(
        admin.incremental_alter_configs(
            [ConfigResource("topic", topic, incremental_configs=[change])]
        )
    )
    assert value("retention.ms") == "70000"
    change = ConfigEntry(
        "retention.ms", None, incremental_operation=AlterConfigOpType.DELETE
    )
    finish(
        admin.incremental_alter_configs(
            [ConfigResource("topic", topic, incremental_configs=[change])]
        )
    )
    assert value("retention.ms") == "604800000"


def test_admin_deletes_records(bootstrap, topic, admin):
    send(bootstrap, topic, [{"value": str(number).encode()} for number in range(10)])
    finish(admin.delete_records([TopicPartition(topic, 0, 4)]))
    with consuming(bootstrap) as consumer:
        assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=60) == (
            4,
            10,
        )
    finish(admin.delete_records([TopicPartition(topic, 0, OFFSET_END)]))
    with consuming(bootstrap) as consumer:
        assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=60) == (
            10,
            10,
        )
