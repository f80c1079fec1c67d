"""A program that copies in transactions: it reads, writes, and commits its offsets in
the same transaction as its records. So each record is copied once, whatever happens in
between, and a second copier with the same transactional.id fences the first.

There are three brokers, because librdkafka 2.16 needs another one when it loses a
connection: with its only broker it forgets who coordinates the group, and then waits
in send_offsets_to_transaction for ever, whatever its timeout (confluentinc/librdkafka
issues 5511 and 5456).
"""

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from minikafka.testing import Answer, Lose

pytestmark = pytest.mark.minikafka(brokers=3)

ANSWER_S = 3  # how long it waits for an answer before it asks again


def answered(call, *args):
    """Calls again as long as the error says that this may help."""
    while True:
        try:
            return call(*args, ANSWER_S)
        except KafkaException as error:
            if not error.args[0].retriable():
                raise


class Copier:
    """As it may run at work, but for the loop around copy()."""

    def __init__(self, kafka, source, target):
        servers = {"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0}
        self.target = target
        self.consumer = Consumer(
            {
                **servers,
                "group.id": "copier",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )
        self.consumer.subscribe([source])
        self.producer = Producer({**servers, "transactional.id": "copier-1"})
        self.producer.init_transactions()  # fences the one before

    def copy(self):
        """One record. Errors: KafkaException; where it is fatal, another one is at
        work.
        """
        while (message := self.consumer.poll(0.1)) is None:
            pass
        self.producer.begin_transaction()
        self.producer.produce(self.target, message.value().upper())
        offsets = self.consumer.position(self.consumer.assignment())
        group = self.consumer.consumer_group_metadata()
        answered(self.producer.send_offsets_to_transaction, offsets, group)
        answered(self.producer.commit_transaction)

    def close(self):
        self.consumer.close()


@pytest.fixture
def topics(kafka):
    """Two topics; the first has two records."""
    source, target = kafka.topic(), kafka.topic()
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for value in (b"a", b"b"):
        producer.produce(source, value)
    producer.flush()
    return source, target


@pytest.fixture
def start(kafka, topics):
    """Starts a copier, which is closed after the test."""
    started = []

    def start():
        started.append(Copier(kafka, *topics))
        return started[-1]

    yield start
    for each in started:
        each.close()


@pytest.mark.parametrize(
    "fault",
    [
        Lose("Produce", answer=True),
        Lose("TxnOffsetCommit", answer=True),
        Lose("EndTxn", answer=True),
        Answer("EndTxn", "COORDINATOR_NOT_AVAILABLE"),
    ],
    ids=repr,
)
def test_each_record_is_copied_once(kafka, topics, start, fault):
    source, target = topics
    copier = start()
    with kafka.fault(fault) as active:
        copier.copy()
        copier.copy()
    assert active.hits == 1
    assert kafka.records(target).values == [b"A", b"B"]
    assert kafka.group("copier").committed(source) == {0: 2}


def test_a_fenced_copier_copies_nothing_and_has_to_end(kafka, topics, start):
    source, target = topics
    fenced = start()
    fenced.copy()
    kafka.fence("copier-1")  # as a second copier does when it starts
    with pytest.raises(KafkaException) as refused:
        fenced.copy()
    assert refused.value.args[0].fatal()
    assert kafka.records(target).values == [b"A"]
    assert kafka.group("copier").committed(source) == {0: 1}


def test_its_successor_goes_on_where_it_was_fenced(kafka, topics, start):
    _, target = topics
    fenced = start()
    fenced.copy()
    kafka.fence("copier-1")
    with pytest.raises(KafkaException):
        fenced.copy()
    fenced.close()
    start().copy()
    assert kafka.records(target).values == [b"A", b"B"]


def test_a_copier_that_dies_in_a_transaction_leaves_nothing_of_it(kafka, topics, start):
    _, target = topics
    dying = start()
    with kafka.fault(Answer("EndTxn", "INVALID_TXN_STATE")), pytest.raises(Exception):  # noqa: B017
        dying.copy()
    dying.close()
    assert kafka.records(target) == []
    successor = start()  # its init_transactions aborts what the other one left
    successor.copy()
    assert kafka.records(target).values == [b"A"]
