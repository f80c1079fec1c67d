"""KIP-368: where a login ends after connections.max.reauth.ms, clients that know it log in
again on the connection that they have, in time, and others have to come anew.
"""

import asyncio
import json

import aiokafka
import confluent_kafka
import pytest
from kafka import KafkaProducer

from tests.clients.brokers import until
from tests.clients.java_tools import JavaTools
from tests.clients.locked import Try, locked_apache_kafka, locked_minikafka, make_keys
from tests.clients.locked_clients import (
    in_java,
    of_aiokafka,
    of_java,
    of_kafka_python,
    of_librdkafka,
)
from tests.kafka import BOTH, MINIKAFKA

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

# clients begin again when some 90% have passed: the rest is for a slow machine
SHORT = {"connections.max.reauth.ms": "8000"}
HOW = Try("SASL_SSL", mechanism="SCRAM-SHA-512")


@pytest.fixture(scope="module", params=BOTH)
def broker(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("locked")
    make_keys(folder)
    locked = locked_minikafka if request.param == MINIKAFKA else locked_apache_kafka
    with locked(folder, SHORT) as made:
        yield made


def test_librdkafka_logs_in_again_on_the_same_connection(broker):
    told = {}

    def heard(text):
        for name, of_one in json.loads(text)["brokers"].items():
            if of_one["req"].get("Produce"):
                told[name] = of_one

    given = of_librdkafka(broker, HOW)
    producer = confluent_kafka.Producer(
        {**given, "stats_cb": heard, "statistics.interval.ms": 100}
    )

    def requests(name):
        producer.produce("orders", b"order")
        assert producer.flush(60) == 0
        producer.poll(0.05)
        return max((one["req"][name] for one in told.values()), default=0)

    until(lambda: requests("SaslHandshake") == 2, "librdkafka has logged in again")
    written = requests("Produce")
    until(lambda: requests("Produce") > written + 1, "it goes on")
    [leader] = told.values()
    assert (leader["connects"], leader["disconnects"]) == (1, 0)


def test_kafka_python_logs_in_again_on_the_same_connection(broker, caplog):
    caplog.set_level("DEBUG", "kafka.net.connection")
    producer = KafkaProducer(**of_kafka_python(broker, HOW))

    def is_said(words):
        producer.send("orders", b"order").get(60)
        return any(words in record.getMessage() for record in caplog.records)

    try:
        until(lambda: is_said("Beginning SASL re-auth"), "kafka-python logs in again")
        assert not is_said("re-authentication failed")
    finally:
        producer.close()


def test_aiokafka_which_does_not_log_in_again_comes_anew(broker):
    async def write():
        producer = aiokafka.AIOKafkaProducer(**of_aiokafka(broker, HOW))
        await producer.start()
        connections = set()
        try:
            while len(connections) < 2:
                await producer.send_and_wait("orders", b"order")
                # its client keeps them by node and purpose
                connections |= set(map(id, producer.client._conns.values()))
        finally:
            await producer.stop()

    asyncio.run(asyncio.wait_for(write(), 120))


@pytest.mark.java
def test_java_logs_in_again_on_the_same_connection(broker):
    with JavaTools() as java:
        jvm = java.gateway.jvm
        strings = "org.apache.kafka.common.serialization.StringSerializer"
        given = of_java(broker, HOW) | {
            "key.serializer": strings,
            "value.serializer": strings,
        }
        clients = jvm.org.apache.kafka.clients.producer
        producer = clients.KafkaProducer(in_java(java, given))

        def total(name):
            [found] = [
                metric.metricValue()
                for about, metric in producer.metrics().items()
                if (about.name(), about.group()) == (name, "producer-metrics")
            ]
            return found

        def has_logged_in_again():
            producer.send(clients.ProducerRecord("orders", "order")).get()
            return total("successful-reauthentication-total") > 0

        try:
            until(has_logged_in_again, "Java's producer has logged in again")
            assert total("failed-reauthentication-total") == 0
            # to the address that it was given, and to the leader
            assert total("connection-creation-total") <= 2
        finally:
            producer.close()
