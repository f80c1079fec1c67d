"""aiokafka, unchanged, against `minikafka serve` (or any Kafka that MINIKAFKA_BOOTSTRAP
names).

It speaks only old versions, none of them flexible.
"""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.errors import MessageSizeTooLargeError

pytestmark = pytest.mark.slow


async def send(bootstrap, topic, messages, **options):
    """Produce keyword sets of AIOKafkaProducer.send; returns what the broker said of
    each.
    """
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, **options) as producer:
        sent = [await producer.send(topic, **message) for message in messages]
        return await asyncio.gather(*sent)


async def read(bootstrap, topic, count, offset=0):
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek(TopicPartition(topic, 0), offset)
        return [await asyncio.wait_for(consumer.getone(), 60) for _ in range(count)]


def test_key_value_headers_and_timestamp_come_back_as_they_were_sent(bootstrap, topic):
    headers = [("trace", b"abc"), ("trace", b"again")]
    message = {
        "key": b"alice",
        "value": b"paid",
        "headers": headers,
        "timestamp_ms": 1_700_000_000_123,
    }
    [sent] = asyncio.run(send(bootstrap, topic, [message]))
    assert (sent.partition, sent.offset) == (0, 0)
    [record] = asyncio.run(read(bootstrap, topic, 1))
    assert (record.key, record.value, list(record.headers)) == (
        b"alice",
        b"paid",
        headers,
    )
    assert record.timestamp == 1_700_000_000_123


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_stored_as_sent_and_read_back(bootstrap, topic, codec):
    values = [b"%d:" % number + b"abc" * 100 for number in range(200)]
    asyncio.run(
        send(
            bootstrap,
            topic,
            [{"value": value} for value in values],
            compression_type=codec,
            linger_ms=20,
        )
    )
    assert [
        record.value for record in asyncio.run(read(bootstrap, topic, 200))
    ] == values


@pytest.mark.parametrize(
    "options", [{"acks": 0}, {"acks": 1}, {"acks": "all"}, {"enable_idempotence": True}]
)
def test_every_acks_setting_writes_in_order(bootstrap, topic, options):
    values = [str(number).encode() for number in range(500)]
    asyncio.run(
        send(bootstrap, topic, [{"value": value} for value in values], **options)
    )
    assert [
        record.value for record in asyncio.run(read(bootstrap, topic, 500))
    ] == values


def test_a_message_above_max_message_bytes_is_refused(bootstrap, topic):
    with pytest.raises(MessageSizeTooLargeError):
        asyncio.run(
            send(
                bootstrap, topic, [{"value": bytes(2 << 20)}], max_request_size=8 << 20
            )
        )


def test_offsets_are_found_by_timestamp_and_at_both_ends(bootstrap, topic):
    partition = TopicPartition(topic, 0)

    async def look_up():
        async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
            consumer.assign([partition])
            found = await consumer.offsets_for_times({partition: 1_700_000_003_500})
            ends = (
                await consumer.beginning_offsets([partition]),
                await consumer.end_offsets([partition]),
            )
            return found[partition].offset, ends

    messages = [
        {"value": b"x", "timestamp_ms": 1_700_000_000_000 + 1000 * number}
        for number in range(10)
    ]
    asyncio.run(send(bootstrap, topic, messages))
    assert asyncio.run(look_up()) == (4, ({partition: 0}, {partition: 10}))


def test_admin_creates_grows_and_deletes_a_topic(bootstrap, topic):
    async def partitions(admin):
        [described] = await admin.describe_topics([topic])
        return len(described["partitions"])

    async def scenario():
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        try:
            await admin.create_topics([NewTopic(topic, 3, 1)])
            assert await partitions(admin) == 3
            await admin.create_partitions({topic: NewPartitions(5)})
            # Apache Kafka's broker learns it a moment after the controller
            while await partitions(admin) != 5:
                pass
            await admin.delete_topics([topic])
            assert topic not in await admin.list_topics()
        finally:
            await admin.close()

    asyncio.run(scenario())
