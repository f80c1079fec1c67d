"""What the producer of confluent-kafka (librdkafka) does when something goes wrong.

Put your own settings into SETTINGS: the test that turns red is what they cost you.
"""

from types import MappingProxyType

import pytest
from confluent_kafka import KafkaException, Producer

from minikafka.testing import Answer, Lose, Throttle

SETTINGS = {"enable.idempotence": True, "log_level": 0}


def a_producer(kafka, more=MappingProxyType({})):
    servers = {"bootstrap.servers": kafka.bootstrap_servers}
    return Producer({**servers, **SETTINGS, **more})


def send(producer, topic, *values):
    """What the producer reports of each value: None, or the name of an error."""
    reported = {}
    for value in values:
        producer.produce(
            topic,
            value,
            on_delivery=lambda error, message: reported.update(
                {message.value(): error and error.name()}
            ),
        )
    producer.flush()
    return [reported[value] for value in values]


def test_an_answer_is_lost_and_the_record_is_there_once(kafka):
    topic = kafka.topic()
    with kafka.fault(Lose("Produce", answer=True)) as fault:
        assert send(a_producer(kafka), topic, b"order 1") == [None]
    assert fault.hits == 1
    assert kafka.records(topic).values == [b"order 1"]


def test_without_idempotence_the_record_is_there_twice(kafka):
    topic = kafka.topic()
    producer = a_producer(kafka, {"enable.idempotence": False})
    with kafka.fault(Lose("Produce", answer=True)):
        assert send(producer, topic, b"order 1") == [None]
    assert kafka.records(topic).values == [b"order 1", b"order 1"]


def test_the_leader_moves_and_the_producer_finds_the_new_one(kafka_cluster):
    topic = kafka_cluster.topic()
    producer = a_producer(kafka_cluster)
    send(producer, topic, b"order 1")
    old = kafka_cluster.leader(topic)
    kafka_cluster.move_leader(topic, to=old % 3 + 1)
    assert send(producer, topic, b"order 2") == [None]
    assert kafka_cluster.records(topic).values == [b"order 1", b"order 2"]


def test_the_coordinator_moves_and_the_transaction_is_committed(kafka_cluster):
    topic = kafka_cluster.topic()
    producer = a_producer(kafka_cluster, {"transactional.id": "till-1"})
    producer.init_transactions()
    producer.begin_transaction()
    send(producer, topic, b"order 1")
    old = kafka_cluster.leader("__transaction_state")
    kafka_cluster.move_leader("__transaction_state", to=old % 3 + 1)
    producer.commit_transaction()
    while not kafka_cluster.records(topic):
        pass  # the answer may come before the records are visible
    assert kafka_cluster.records(topic).values == [b"order 1"]


def test_a_broker_throttles_and_the_program_is_told(kafka):
    topic, told = kafka.topic(), []
    producer = a_producer(kafka, {"throttle_cb": told.append})
    with kafka.fault(Throttle("Produce", 100)):
        assert send(producer, topic, b"order 1") == [None]
    while not told:
        producer.poll(0.1)
    assert told[0].throttle_time == pytest.approx(0.1)


def test_a_batch_is_too_large_and_all_its_records_fail(kafka):
    topic = kafka.topic()
    producer = a_producer(kafka, {"linger.ms": 1000})
    with kafka.fault(Answer("Produce", "MESSAGE_TOO_LARGE")) as fault:
        reports = send(producer, topic, b"order 1", b"order 2")
    assert fault.seen == 1  # both were in one batch, which isn't split
    assert reports == ["MSG_SIZE_TOO_LARGE"] * 2
    assert kafka.records(topic) == []


def test_another_producer_with_its_id_has_fenced_it(kafka):
    topic = kafka.topic()
    producer = a_producer(kafka, {"transactional.id": "till-2"})
    producer.init_transactions()
    producer.begin_transaction()
    send(producer, topic, b"order 1")
    kafka.fence("till-2")
    with pytest.raises(KafkaException) as refused:
        producer.commit_transaction()
    assert refused.value.args[0].fatal()  # it can do nothing more
    assert kafka.records(topic) == []
