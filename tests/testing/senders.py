"""A record, sent by each client: returns once its producer knows that it's there. They
are idempotent (KIP-98).
"""

import asyncio

import aiokafka
import confluent_kafka
import kafka as kafka_python
import pytest

from tests.testing.java_clients import JavaClients


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
