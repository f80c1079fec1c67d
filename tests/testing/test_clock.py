"""The brokers' time, moved while real clients are connected."""

import time

import confluent_kafka
import pytest
from confluent_kafka import KafkaError, KafkaException

from minikafka.testing.moving_loop import NS, MovingLoop


def produce(kafka, topic, value, **config):
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0} | config
    )
    producer.produce(topic, value)
    assert producer.flush(60) == 0
    return producer


def test_old_records_are_deleted_when_their_time_is_over(kafka):
    topic = kafka.topic(config={"retention.ms": "3600000", "segment.ms": "1000"})
    produce(kafka, topic, b"old")
    kafka.clock.advance(seconds=10)
    assert kafka.records(topic).values == [b"old"]
    kafka.clock.advance(seconds=2 * 3600)
    assert kafka.records(topic) == []


def test_a_client_that_was_connected_goes_on(kafka):
    topic = kafka.topic()
    producer = produce(kafka, topic, b"before")
    connected = {*node_of(kafka).server.connections}
    kafka.clock.advance(seconds=6 * 24 * 3600)  # retention.ms is seven days
    producer.produce(topic, b"after")
    assert producer.flush(60) == 0
    # a client may leave a connection that it needs no longer, but it opens no new one
    assert {*node_of(kafka).server.connections} <= connected
    assert kafka.records(topic).values == [b"before", b"after"]


def node_of(kafka):
    [node] = kafka._brokers.nodes.values()
    return node


def test_a_transaction_that_is_open_for_too_long_is_aborted_and_its_producer_fenced(
    kafka,
):
    topic = kafka.topic()
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "transactional.id": "copier",
            "transaction.timeout.ms": 60_000,
            "log_level": 0,
        }
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"too late")
    producer.flush(60)
    kafka.clock.advance(seconds=75)
    with pytest.raises(KafkaException) as late:
        producer.commit_transaction(60)
    assert late.value.args[0].code() in (
        KafkaError._FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
    )
    assert kafka.records(topic) == []


def test_records_get_the_brokers_time_where_the_topic_says_so(kafka):
    topic = kafka.topic(config={"message.timestamp.type": "LogAppendTime"})
    kafka.clock.advance(seconds=24 * 3600)
    began_ms = time.time() * 1000
    produce(kafka, topic, b"tomorrow")
    [record] = kafka.records(topic)
    assert record.timestamp >= began_ms + 24 * 3600 * 1000 - 1
    assert kafka.clock.advanced_seconds == 24 * 3600


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 10**400])
def test_time_goes_on_by_a_year_at_once_at_most_and_not_back(kafka, seconds):
    with pytest.raises(ValueError, match=r"by 366 day\(s\) at most, and never back"):
        kafka.clock.advance(seconds)


def test_timers_go_off_in_their_order_each_at_its_time():
    """Those that are set on the way, too."""
    loop, heard = MovingLoop(), []
    began = loop.time()

    def hear(what):
        heard.append((what, round(loop.time() - began)))

    def again():
        hear("third")
        loop.call_later(1800, hear, "on the way")

    loop.call_later(7200, hear, "too late")
    loop.call_later(3600, hear, "last")
    loop.call_later(600, again)
    loop.call_later(60, hear, "second")
    loop.call_later(1, hear, "first")
    loop.moved.move(3601 * NS, loop.stop)
    loop.run_forever()
    loop.close()
    assert heard == [
        ("first", 1),
        ("second", 60),
        ("third", 600),
        ("on the way", 2400),
        ("last", 3600),
    ]
