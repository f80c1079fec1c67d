"""What Java's producer does when something goes wrong. The fixture java calls Kafka's
own classes; in a project of yours it may as well be the program under test, in a
process of its own, with kafka.bootstrap_servers on its command line.
"""

import pytest
from py4j.protocol import Py4JJavaError

from minikafka.testing import Answer, Lose, Throttle

pytestmark = [pytest.mark.java, pytest.mark.nightly]


@pytest.fixture
def a_producer(java):
    """Makes producers, and closes them after the test."""
    made = []

    def make(kafka, **configs):
        made.append(java.producer(kafka.bootstrap_servers, **configs))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def send(java):
    """Waits until the broker has all of them."""

    def send(producer, topic, *values):
        futures = [producer.send(java.record(topic, value)) for value in values]
        for future in futures:
            future.get()

    return send


def test_an_answer_is_lost_and_the_record_is_there_once(kafka, a_producer, send):
    topic = kafka.topic()
    with kafka.fault(Lose("Produce", answer=True)) as fault:
        send(a_producer(kafka), topic, b"order 1")
    assert fault.hits == 1
    assert kafka.records(topic).values == [b"order 1"]


def test_without_idempotence_the_record_is_there_twice(kafka, a_producer, send):
    topic = kafka.topic()
    producer = a_producer(kafka, enable_idempotence="false")
    with kafka.fault(Lose("Produce", answer=True)):
        send(producer, topic, b"order 1")
    assert kafka.records(topic).values == [b"order 1", b"order 1"]


def test_the_leader_moves_and_the_producer_finds_the_new_one(
    kafka_cluster, a_producer, send
):
    topic = kafka_cluster.topic()
    producer = a_producer(kafka_cluster)
    send(producer, topic, b"order 1")
    old = kafka_cluster.leader(topic)
    kafka_cluster.move_leader(topic, to=old % 3 + 1)
    send(producer, topic, b"order 2")
    assert kafka_cluster.records(topic).values == [b"order 1", b"order 2"]


def test_the_coordinator_moves_and_the_transaction_is_committed(
    kafka_cluster, a_producer, send
):
    topic = kafka_cluster.topic()
    producer = a_producer(kafka_cluster, transactional_id="till-1")
    producer.initTransactions()
    producer.beginTransaction()
    send(producer, topic, b"order 1")
    old = kafka_cluster.leader("__transaction_state")
    kafka_cluster.move_leader("__transaction_state", to=old % 3 + 1)
    producer.commitTransaction()
    while not kafka_cluster.records(topic):
        pass  # the answer may come before the records are visible
    assert kafka_cluster.records(topic).values == [b"order 1"]


def test_a_broker_throttles_and_a_metric_says_so(kafka, a_producer, send):
    topic = kafka.topic()
    producer = a_producer(kafka)
    with kafka.fault(Throttle("Produce", 100)):
        send(producer, topic, b"order 1")
    metrics = {
        each.getKey().name(): each.getValue().metricValue()
        for each in producer.metrics().entrySet()
    }
    assert metrics["produce-throttle-time-max"] == 100


def test_a_batch_is_too_large_and_is_split(kafka, a_producer, send):
    topic = kafka.topic()
    producer = a_producer(kafka, linger_ms=1000)
    with kafka.fault(Answer("Produce", "MESSAGE_TOO_LARGE")) as fault:
        send(producer, topic, b"order 1", b"order 2")
    assert fault.hits == 1
    assert kafka.records(topic).values == [b"order 1", b"order 2"]


def test_a_record_is_too_large_and_is_reported(kafka, a_producer, send):
    topic = kafka.topic()
    too_large = Answer("Produce", "MESSAGE_TOO_LARGE")
    with (
        kafka.fault(too_large),
        pytest.raises(Py4JJavaError, match="RecordTooLargeException"),
    ):
        send(a_producer(kafka), topic, b"order 1")
    assert kafka.records(topic) == []


def test_another_producer_with_its_id_has_fenced_it(kafka, a_producer, send):
    topic = kafka.topic()
    producer = a_producer(kafka, transactional_id="till-2")
    producer.initTransactions()
    producer.beginTransaction()
    send(producer, topic, b"order 1")
    kafka.fence("till-2")
    with pytest.raises(Py4JJavaError, match="ProducerFencedException"):
        producer.commitTransaction()
    assert kafka.records(topic) == []
