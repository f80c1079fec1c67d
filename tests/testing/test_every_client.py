"""Each fault, and how each client gets over it: a record that was sent once is there
once, because an idempotent producer (KIP-98) numbers what it sends.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import aiokafka
import confluent_kafka
import kafka as kafka_python
import pytest

from minikafka.testing import Answer, Crash, Delay, Freeze, Lose, Throttle
from tests.testing.java_clients import JavaClients

pytestmark = pytest.mark.slow


def by_librdkafka(address, topic):
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": address, "enable.idempotence": True, "log_level": 0}
    )
    producer.produce(topic, b"paid")
    assert producer.flush(120) == 0


def by_kafka_python(address, topic):
    producer = kafka_python.KafkaProducer(bootstrap_servers=address)
    producer.send(topic, b"paid").get(120)
    producer.close()


def by_aiokafka(address, topic):
    async def send():
        async with aiokafka.AIOKafkaProducer(
            bootstrap_servers=address, enable_idempotence=True
        ) as producer:
            await producer.send_and_wait(topic, b"paid")

    asyncio.run(send())


def by_java(address, topic):
    with JavaClients() as java:
        producer = java.producer(address)
        producer.send(java.record(topic, b"paid")).get()
        producer.close()


CLIENTS = [
    by_librdkafka,
    by_kafka_python,
    by_aiokafka,
    pytest.param(by_java, marks=[pytest.mark.java, pytest.mark.nightly]),
]
# with what the test does meanwhile
FAULTS = [
    (Lose("Produce"), None),
    (Lose("Produce", answer=True), None),
    (Answer("Produce", "NOT_LEADER_OR_FOLLOWER"), None),
    (Answer("Produce", "REQUEST_TIMED_OUT", done=True), None),
    (Delay("Produce", 100), None),
    (Delay("Produce", 100, answer=True), None),
    (Throttle("Produce", 100), None),
    (Crash("Produce"), "restart"),
    (Crash("Produce", answer=True), "restart"),
    (Freeze("Produce"), "thaw"),
    (Freeze("Produce", answer=True), "thaw"),
]


@pytest.mark.parametrize("by", CLIENTS)
@pytest.mark.parametrize(("fault", "then"), FAULTS, ids=repr)
def test_kip_98_what_was_sent_once_is_there_once(kafka, by, fault, then):
    topic = kafka.topic()
    with kafka.fault(fault) as active, ThreadPoolExecutor() as threads:
        sent = threads.submit(by, kafka.bootstrap_servers, topic)
        active.wait(timeout=120)
        if then is not None:
            getattr(kafka.broker(1), then)()
        sent.result()
    assert active.hits == 1
    assert kafka.records(topic).values == [b"paid"]
