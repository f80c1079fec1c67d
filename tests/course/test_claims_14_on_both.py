"""What lesson 14 claims about the edges of exactly once, run on minikafka and on Apache
Kafka over TCP.
"""

import time
from collections import deque
from contextlib import closing

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from tests.course.on_both import PATIENCE_SECONDS

pytestmark = pytest.mark.slow


@pytest.fixture
def write(bootstrap):
    """Writes pairs (key, value) one after another."""
    with closing(KafkaProducer(bootstrap_servers=bootstrap)) as producer:
        yield lambda name, pairs: [
            producer.send(name, key=k, value=v).get(timeout=120) for k, v in pairs
        ]


def life(bootstrap, name, count, work):
    """One life of a program in the group `name`: work(consumer, message) for so many
    records, in their order.

    It is gone without a commit. A reader of committed records waits for what an open
    transaction holds.
    """
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": name,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
    }
    with closing(Consumer(settings)) as consumer:
        consumer.subscribe([name])
        until = time.monotonic() + PATIENCE_SECONDS
        while count:
            assert time.monotonic() < until
            message = consumer.poll(1.0)
            if message is not None and not message.error():
                work(consumer, message)
                count -= 1


def transactional(bootstrap, name):
    producer = Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": name, "log_level": 0}
    )
    producer.init_transactions(PATIENCE_SECONDS)
    return producer


def test_kip_98_an_aborted_transaction_takes_back_its_receipt_and_its_offset_and_not_what_a_database_was_told(
    bootstrap, topic, write
):
    name, receipts = topic(), topic()
    write(name, [(b"alice", b"20")])
    database, seen = [], []

    def bill(killed):
        producer = transactional(bootstrap, name)

        def work(consumer, message):
            producer.begin_transaction()
            producer.produce(receipts, message.value())
            offsets = [Place(name, message.partition(), message.offset() + 1)]
            producer.send_offsets_to_transaction(
                offsets, consumer.consumer_group_metadata(), PATIENCE_SECONDS
            )
            assert producer.flush(PATIENCE_SECONDS) == 0
            database.append(int(message.value()))
            if not killed:
                producer.commit_transaction(PATIENCE_SECONDS)

        life(bootstrap, name, 1, work)

    bill(killed=True)
    bill(killed=False)
    write(receipts, [(None, b"end")])
    life(bootstrap, receipts, 2, lambda _, message: seen.append(message.value()))
    assert seen == [b"20", b"end"]
    assert database == [20, 20]


def test_what_was_not_committed_comes_again_in_its_order_so_a_smaller_window_of_ids_recognises_nothing(
    bootstrap, topic, write
):
    name = topic()
    write(name, [(b"o-%d" % number, b"10") for number in range(5)])
    balances = {}
    for size in (3, 4, 5):
        window, added = deque(maxlen=size), []

        def work(_, message, window=window, added=added):
            if message.key() not in window:
                window.append(message.key())
                added.append(int(message.value()))

        for _ in range(2):
            life(bootstrap, name, 5, work)
        balances[size] = sum(added)
    assert balances == {3: 100, 4: 100, 5: 50}


def test_a_relay_that_was_killed_before_it_marked_a_row_sends_it_again_and_no_broker_notices(
    bootstrap, topic
):
    name, seen = topic(), []
    outbox = {1: False, 2: False, 3: False}  # id: sent

    def relay(killed_at=None):
        with closing(
            KafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True)
        ) as producer:
            for number in [number for number, sent in outbox.items() if not sent]:
                producer.send(
                    name, value=b"order", headers=[("id", b"%d" % number)]
                ).get(timeout=120)
                if number == killed_at:
                    return
                outbox[number] = True

    relay(killed_at=2)
    relay()
    life(
        bootstrap,
        name,
        4,
        lambda _, message: seen.append(dict(message.headers())["id"]),
    )
    assert seen == [b"1", b"2", b"2", b"3"]
    assert list(dict.fromkeys(seen)) == [b"1", b"2", b"3"]


@pytest.mark.parametrize("seeks", [False, True])
def test_who_tries_a_record_in_place_gets_nothing_of_other_partitions_and_who_seeks_back_and_polls_does(
    bootstrap, topic, seeks
):
    name = topic(partitions=2)
    with closing(KafkaProducer(bootstrap_servers=bootstrap)) as producer:
        producer.send(name, value=b"?", partition=0).get(timeout=120)
        settings = {
            "bootstrap_servers": bootstrap,
            "group_id": name,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
        }
        with closing(KafkaConsumer(name, **settings)) as billing:
            [[broken]] = first_polled(billing).values()
            for _ in range(5):
                producer.send(name, value=b"order", partition=1).get(timeout=120)
            got = []
            # in place: it works on the record, and doesn't poll
            for _ in range(20 if seeks else 0):
                billing.seek(TopicPartition(name, 0), broken.offset)
                got += [
                    each
                    for records in billing.poll(timeout_ms=500).values()
                    for each in records
                ]
            assert {each.offset for each in got if each.partition == 0} <= {
                broken.offset
            }
            assert [each.offset for each in got if each.partition == 1] == (
                list(range(5)) if seeks else []
            )
            assert billing.committed(TopicPartition(name, 0)) is None


def first_polled(consumer):
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        if found := consumer.poll(timeout_ms=1000):
            return found
    raise AssertionError("nothing came")


def test_a_repaired_dead_letter_comes_behind_the_later_records_of_its_key(
    bootstrap, topic, write
):
    name, dead, table = topic(), [], {}
    write(
        name,
        [
            (b"alice", b"created"),
            (b"alice", b"?aid"),
            (b"alice", b"shipped"),
            (b"bob", b"created"),
        ],
    )

    def work(consumer, message):
        if message.value().startswith(b"?"):
            dead.append(message.key())
        else:
            table[message.key()] = message.value()
        consumer.commit(message, asynchronous=False)

    life(bootstrap, name, 4, work)
    assert table == {b"alice": b"shipped", b"bob": b"created"}
    write(name, [(key, b"paid") for key in dead])
    life(bootstrap, name, 1, work)
    assert table[b"alice"] == b"paid"
