"""A program as it is, under faults: the relay of an outbox, from the course's recipes
(notebooks/recipes/outbox_confluent.py). The shop's database has its orders and an
outbox; the relay sends the rows of the outbox, and deletes what Kafka has.
"""

import sqlite3
from threading import Thread

import outbox_confluent as shop
import pytest
from confluent_kafka import KafkaException

from minikafka.testing import Answer, Crash, Lose


@pytest.fixture
def database():
    with sqlite3.connect(":memory:") as database:
        database.executescript(shop.TABLES)
        yield database


@pytest.fixture
def orders(kafka):
    return kafka.topic(name=shop.TOPIC)


def a_relay(kafka, database):
    relay = shop.Relay(kafka.bootstrap_servers, database)
    shop.answered(relay.producer.init_transactions)
    return relay


@pytest.mark.parametrize("api", ["Produce", "EndTxn"])
def test_an_answer_is_lost_and_the_order_is_sent_once(kafka, orders, database, api):
    shop.place(database, "o-1", "alice", 2000)
    relay = a_relay(kafka, database)
    with kafka.fault(Lose(api, answer=True)) as fault:
        relay.relay(relay.waiting())
    assert fault.hits == 1
    assert kafka.records(orders).keys == [b"alice"]
    assert relay.waiting() == []


def test_an_order_that_kafka_refuses_stays_with_the_reason(kafka, orders, database):
    shop.place(database, "o-1", "alice", 2000)
    relay = a_relay(kafka, database)
    with kafka.fault(Answer("Produce", "MESSAGE_TOO_LARGE", topic=orders)):
        relay.relay(relay.waiting())
    assert kafka.records(orders) == []
    [(reason,)] = database.execute("SELECT refused FROM outbox")
    assert "too large" in reason


def test_a_second_relay_fences_the_first_which_keeps_its_rows(kafka, orders, database):
    shop.place(database, "o-1", "alice", 2000)
    first = a_relay(kafka, database)
    second = a_relay(kafka, database)
    with pytest.raises(KafkaException) as refused:
        first.relay(first.waiting())
    assert refused.value.args[0].fatal()
    assert kafka.records(orders) == []
    second.relay(second.waiting())
    assert kafka.records(orders).keys == [b"alice"]
    assert second.waiting() == []


def test_a_broker_dies_after_the_commit_and_the_order_is_sent_once(
    kafka, orders, database
):
    shop.place(database, "o-1", "alice", 2000)
    relay = a_relay(kafka, database)
    rows = relay.waiting()
    with kafka.fault(Crash("EndTxn", answer=True)) as fault:
        restart = Thread(target=lambda: (fault.wait(), kafka.broker(1).restart()))
        restart.start()
        relay.relay(rows)
        restart.join()
    assert kafka.records(orders).keys == [b"alice"]
    assert relay.waiting() == []
