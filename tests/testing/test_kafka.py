"""A Kafka in the process of a test: real clients use it over TCP."""

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import aiokafka
import confluent_kafka
import kafka as kafka_python
import pytest

from minikafka.testing import Kafka
from minikafka.wire.errors import KafkaError
from tests.conformance.raw import Connection

KAFKAS, ASKED = 3, 500


def send(kafka, topic, *values, key=None):
    with_it = kafka_python.KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    for value in values:
        with_it.send(topic, key=key, value=value)
    with_it.flush()
    with_it.close()


def test_kafka_python_writes_and_the_test_sees_keys_values_and_headers(kafka):
    topic = kafka.topic()
    producer = kafka_python.KafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    producer.send(topic, key=b"alice", value=b"paid", headers=[("by", b"card")])
    producer.close()
    [record] = kafka.records(topic)
    assert (record.key, record.value) == (b"alice", b"paid")
    assert record.headers == [("by", b"card")]


def test_librdkafka_writes_and_reads(kafka):
    topic = kafka.topic()
    where = {"bootstrap.servers": kafka.bootstrap_servers}
    producer = confluent_kafka.Producer(where)
    producer.produce(topic, b"paid")
    assert producer.flush(60) == 0
    reads = {"group.id": "billing", "auto.offset.reset": "earliest"}
    consumer = confluent_kafka.Consumer(where | reads)
    consumer.subscribe([topic])
    message = consumer.poll(60)
    assert message.value() == b"paid"
    consumer.commit(message, asynchronous=False)
    assert kafka.group("billing").committed(topic) == {0: 1}
    assert kafka.group("billing").lag() == 0
    consumer.close()


async def _write_with_aiokafka(kafka, topic):
    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers)
    await producer.start()
    await producer.send_and_wait(topic, b"paid")
    await producer.stop()


def test_a_coroutine_may_use_it_as_any_other_function_does(kafka):
    topic = kafka.topic()
    asyncio.run(_write_with_aiokafka(kafka, topic))
    assert kafka.records(topic).values == [b"paid"]


def test_two_topics_never_have_the_same_name(kafka):
    assert kafka.topic() != kafka.topic()


def test_a_topic_that_exists_is_refused(kafka):
    kafka.topic(name="orders")
    with pytest.raises(KafkaError, match="TOPIC_ALREADY_EXISTS"):
        kafka.topic(name="orders")


def test_a_deleted_topic_is_gone(kafka):
    topic = kafka.topic()
    kafka.delete_topics(topic, topic)
    kafka.delete_topics(topic)
    with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        kafka.leader(topic)


def test_kip_98_an_aborted_transaction_is_not_among_the_records(kafka):
    topic = kafka.topic()
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "copier"}
    )
    producer.init_transactions(60)
    for value, end in (
        (b"undone", producer.abort_transaction),
        (b"done", producer.commit_transaction),
    ):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(60)
        end(60)
    assert kafka.records(topic).values == [b"done"]


def test_an_open_transaction_is_not_among_the_records(kafka):
    topic = kafka.topic()
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "copier"}
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"open")
    producer.flush(60)
    assert kafka.records(topic) == []
    producer.abort_transaction(60)


def test_kip_360_a_fenced_producer_can_not_commit(kafka):
    topic = kafka.topic()
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "copier"}
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"from before")
    producer.flush(60)
    kafka.fence("copier")
    with pytest.raises(confluent_kafka.KafkaException) as fenced:
        producer.commit_transaction(60)
    assert fenced.value.args[0].fatal()
    assert kafka.records(topic) == []


def test_records_print_themselves_as_a_table(kafka):
    topic = kafka.topic(name="orders")
    assert str(kafka.records(topic)) == "orders holds no committed records"
    send(kafka, topic, b"paid", b"\xff\x00", None, key=b"alice")
    assert str(kafka.records(topic)).splitlines() == [
        "orders: 3 committed record(s)",
        "partition  offset  key    value  headers",
        "0          0       alice  paid",
        "0          1       alice  ff 00",
        "0          2       alice  null",
    ]


def test_a_property_that_can_not_be_is_refused():
    with pytest.raises(ValueError, match="config"):
        Kafka(config={"log.retention.ms": "soon"})


def test_a_config_for_a_plugin_is_taken_with_a_warning():
    with pytest.warns(UserWarning, match=r"my\.plugin\.setting"):
        Kafka(config={"my.plugin.setting": "1"}).close()


def test_nothing_is_left_when_it_is_closed():
    before = set(threading.enumerate())
    with Kafka() as kafka:
        address = kafka.bootstrap_servers
    assert set(threading.enumerate()) == before
    host, port = address.split(":")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)))


def test_kafkas_of_one_process_hear_only_their_own_clients():
    def ask(kafka, name):
        """Requests of many sizes; the topics of the answers."""
        topic = {"topics": [{"name": name}], "allow_auto_topic_creation": False}
        with Connection(kafka.bootstrap_servers) as connection:
            for size in range(ASKED):
                connection.ask(
                    "FindCoordinator", 3, key=name * (1 + size % 9), key_type=0
                )
                yield connection.ask("Metadata", 9, **topic).topics[0].name

    names = [f"orders-{number}" for number in range(KAFKAS)]
    with ExitStack() as stack, ThreadPoolExecutor(KAFKAS) as threads:
        kafkas = [stack.enter_context(Kafka()) for _ in names]
        heard = threads.map(lambda *asked: {*ask(*asked)}, kafkas, names)
        assert [*heard] == [{name} for name in names]
