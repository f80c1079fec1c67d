"""Faults that members of groups, transactions and aiokafka's clients meet."""

import asyncio
from contextlib import asynccontextmanager

import aiokafka
import confluent_kafka
import kafka as kafka_python
import pytest

from minikafka.testing import Answer, Delay, Lose

pytestmark = pytest.mark.slow


def fill(kafka, topic, *values):
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(60) == 0


@pytest.mark.parametrize(
    "fault",
    [
        Answer("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
        Answer("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
        Answer("JoinGroup", "NOT_COORDINATOR"),
        Answer("SyncGroup", "REBALANCE_IN_PROGRESS"),
        Answer("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS"),
        Answer("ListOffsets", "LEADER_NOT_AVAILABLE"),
        Answer("Metadata", "LEADER_NOT_AVAILABLE"),
        Answer("Fetch", "OFFSET_NOT_AVAILABLE"),
        Lose("JoinGroup"),
        Lose("SyncGroup", answer=True),
        Delay("Fetch", 20),
    ],
    ids=repr,
)
def test_a_member_of_kafka_python_passes_over_it(kafka, fault):
    topic = kafka.topic()
    fill(kafka, topic, b"paid")
    with kafka.fault(fault) as active:
        consumer = kafka_python.KafkaConsumer(
            topic,
            bootstrap_servers=kafka.bootstrap_servers,
            group_id="billing",
            auto_offset_reset="earliest",
        )
        assert next(consumer).value == b"paid"
    assert active.hits == 1
    consumer.close()


def test_a_commit_whose_answer_is_lost_is_there(kafka):
    topic = kafka.topic()
    fill(kafka, topic, b"paid")
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.subscribe([topic])
    message = consumer.poll(60)
    with kafka.fault(Lose("OffsetCommit", topic=topic, answer=True)) as fault:
        consumer.commit(message, asynchronous=True)
        fault.wait()
    assert kafka.group("billing").committed(topic) == {0: 1}
    consumer.close()


def test_a_commit_that_is_refused_leaves_the_lag(kafka):
    topic = kafka.topic()
    fill(kafka, topic, b"one", b"two")
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "billing"}
    )
    at = [confluent_kafka.TopicPartition(topic, 0, 1)]
    consumer.commit(offsets=at, asynchronous=False)
    at = [confluent_kafka.TopicPartition(topic, 0, 2)]
    too_large = Answer("OffsetCommit", "OFFSET_METADATA_TOO_LARGE")
    with kafka.fault(too_large), pytest.raises(confluent_kafka.KafkaException):
        consumer.commit(offsets=at, asynchronous=False)
    assert kafka.group("billing").lag() == 1
    consumer.close()


@pytest.mark.parametrize(
    "fault",
    [
        Answer("InitProducerId", "COORDINATOR_LOAD_IN_PROGRESS"),
        Answer("AddPartitionsToTxn", "CONCURRENT_TRANSACTIONS"),
        Answer("EndTxn", "COORDINATOR_NOT_AVAILABLE"),
        Lose("EndTxn", answer=True),
    ],
    ids=repr,
)
def test_a_transaction_passes_over_it_and_is_there_once(kafka, fault):
    topic = kafka.topic()
    with kafka.fault(fault) as active:
        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": kafka.bootstrap_servers,
                "transactional.id": "copier",
                "log_level": 0,
            }
        )
        producer.init_transactions(60)
        producer.begin_transaction()
        producer.produce(topic, b"paid")
        producer.commit_transaction(60)
    assert active.hits == 1
    assert kafka.records(topic).values == [b"paid"]


@asynccontextmanager
async def started(client):
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


@pytest.mark.parametrize(
    "fault",
    [
        Lose("Produce"),
        Lose("Produce", answer=True),
        Answer("Produce", "NOT_LEADER_OR_FOLLOWER"),
        Answer("Produce", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", done=True),
    ],
    ids=repr,
)
def test_an_idempotent_producer_of_aiokafka_writes_once(kafka, fault):
    topic = kafka.topic()

    async def write():
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=kafka.bootstrap_servers, enable_idempotence=True
        )
        async with started(producer):
            await producer.send_and_wait(topic, b"paid")

    with kafka.fault(fault) as active:
        asyncio.run(write())
    assert active.hits == 1
    assert kafka.records(topic).values == [b"paid"]


def test_a_coroutine_waits_for_a_group_in_another_thread(kafka):
    topic = kafka.topic()

    async def join():
        consumer = aiokafka.AIOKafkaConsumer(
            topic, bootstrap_servers=kafka.bootstrap_servers, group_id="billing"
        )
        async with started(consumer):
            await asyncio.to_thread(kafka.group("billing").wait_stable, members=1)

    asyncio.run(join())
