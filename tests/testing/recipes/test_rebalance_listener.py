"""A member that commits when its partitions are taken away, so that the next member
begins where it has ended.

Its group is rebalanced by a second member, and then by a session that ends while the
member stands still, which no listener hears of in time.
"""

from collections import Counter

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from minikafka.testing import Answer

SETTINGS = {
    "group.id": "billing",
    "session.timeout.ms": 6000,
    "heartbeat.interval.ms": 500,
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    "log_level": 0,
}
PARTITIONS = 2


class Member:
    """Bills orders, and commits what it has billed when it loses its partitions."""

    def __init__(self, kafka, topic, billed):
        self.topic, self.billed = topic, billed
        self.next = {}  # partition -> the offset to go on at
        self.refused = []
        servers = {"bootstrap.servers": kafka.bootstrap_servers}
        self.consumer = Consumer(servers | SETTINGS)
        self.consumer.subscribe(
            [topic], on_revoke=self.commit_billed, on_lost=self.forget
        )

    def commit_billed(self, consumer, partitions):
        done = [
            TopicPartition(self.topic, each.partition, self.next.pop(each.partition))
            for each in partitions
            if each.partition in self.next
        ]
        try:
            if done:
                consumer.commit(offsets=done, asynchronous=False)
        except KafkaException as error:  # what leaves a listener ends the program
            self.refused.append(error.args[0].name())

    def forget(self, consumer, partitions):
        """They have another owner by now: nothing may be committed any more."""
        self.next.clear()

    def poll(self):
        message = self.consumer.poll(0.05)
        if message is not None and message.error() is None:
            self.billed[message.value()] += 1
            self.next[message.partition()] = message.offset() + 1


@pytest.fixture
def topic(kafka):
    return kafka.topic(partitions=PARTITIONS)


@pytest.fixture
def members(kafka, topic):
    """Makes members, that bill into members.billed."""

    def make():
        made.append(Member(kafka, topic, make.billed))
        return made[-1]

    made, make.billed = [], Counter()
    yield make
    for each in made:
        each.consumer.close()


def sell(kafka, topic, *orders):
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for number, order in enumerate(orders):
        producer.produce(topic, order, partition=number % PARTITIONS)
    producer.flush()


def poll_until(condition, *members):
    while not condition():
        for each in members:
            each.poll()


def test_no_order_is_billed_twice_when_a_second_member_joins(kafka, topic, members):
    first, billed = members(), members.billed
    sell(kafka, topic, b"1", b"2", b"3", b"4")
    poll_until(lambda: len(billed) == 4, first)
    assert kafka.group("billing").committed(topic) == {}
    second = members()
    poll_until(second.consumer.assignment, first, second)
    sell(kafka, topic, b"5", b"6")
    poll_until(lambda: len(billed) == 6, first, second)
    assert {*billed.values()} == {1}


def test_orders_are_billed_twice_if_the_listeners_commit_is_refused(
    kafka, topic, members
):
    first, billed = members(), members.billed
    sell(kafka, topic, b"1", b"2")
    poll_until(lambda: len(billed) == 2, first)
    with kafka.fault(Answer("OffsetCommit", "UNKNOWN_MEMBER_ID")):
        second = members()
        poll_until(lambda: first.refused, first, second)
    assert first.refused == ["UNKNOWN_MEMBER_ID"]
    poll_until(lambda: 2 in billed.values(), first, second)


def test_a_member_whose_session_has_ended_does_not_commit(kafka, topic, members):
    first, billed = members(), members.billed
    sell(kafka, topic, b"1", b"2")
    poll_until(lambda: len(billed) == 2, first)
    kafka.clock.advance(seconds=7)  # it stood still for longer than its session
    poll_until(lambda: {*billed.values()} == {2}, first)
    assert kafka.group("billing").committed(topic) == {}
