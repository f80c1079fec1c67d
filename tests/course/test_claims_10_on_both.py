"""What lesson 10 claims about failover, on three brokers of both kinds that are killed,
stopped and started again.

Broker 1 is the only controller, so that both others may be away.
"""

import itertools
import time
from contextlib import closing, contextmanager

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaConsumer

from minikafka.wire.errors import Error
from tests.clients.brokers import until
from tests.course.processes import (
    NOBODY,
    PATIENCE_SECONDS,
    PREFERRED,
    PROPERTIES,
    UNCLEAN,
    running,
    sent,
)
from tests.kafka import APACHE_KAFKA, BOTH

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.first,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
]

NUMBERS = itertools.count()
ROLES = {1: "broker,controller", 2: "broker", 3: "broker"}
SAFE_DOWNGRADE = 2
SESSION_SECONDS = int(PROPERTIES["broker.session.timeout.ms"]) / 1000


@pytest.fixture(scope="module", params=BOTH)
def brokers(request):
    with running(request.param, ROLES) as nodes:
        yield nodes


def wrote(brokers, topic, value):
    """Its offset, when it is acknowledged to a new producer with acks=all."""
    with closing(brokers.producer(acks="all")) as producer:
        return sent(producer, topic, value)


@pytest.fixture
def topic(brokers):
    """A topic with replicas on 2 and 3, led by 2, both in sync; it has the record
    `created`.
    """
    name = f"orders-{next(NUMBERS)}"
    brokers.create(name, 2, 3)
    assert wrote(brokers, name, b"created") == 0
    return name


def test_after_kill_9_nobody_leads_until_the_session_is_over_and_nothing_moves_back_until_it_is_asked_for(
    brokers, topic
):
    began = time.monotonic()
    brokers.kill(2)
    until(lambda: brokers.described(topic) == (3, [3]))
    assert time.monotonic() - began > SESSION_SECONDS / 3
    assert wrote(brokers, topic, b"paid") == 1
    brokers.start(2)
    until(lambda: brokers.described(topic)[1] == [2, 3])
    assert brokers.described(topic)[0] == 3
    brokers.elect(PREFERRED, topic)
    until(lambda: brokers.described(topic) == (2, [2, 3]))
    assert brokers.read(topic) == [b"created", b"paid"]


def test_a_clean_stop_hands_over_before_the_broker_ends(brokers, topic):
    brokers.stop(2)
    took_s = until(lambda: brokers.described(topic)[0] == 3)
    assert took_s < SESSION_SECONDS - 2 or brokers[2].process.poll() is None
    assert brokers[2].process.wait(PATIENCE_SECONDS) in (0, 143)
    assert wrote(brokers, topic, b"paid") == 1
    brokers.start(2)
    until(lambda: brokers.described(topic)[1] == [2, 3])


def test_a_producer_carries_on_when_the_leader_changes(brokers, topic):
    """The first leader goes by kill -9, the next by a clean stop. The client is
    librdkafka: kafka-python 3.0's producer may try for ever to reach a leader that is
    no broker any more (UnknownBrokerIdError).
    """
    offsets, settings = (
        [],
        {
            "bootstrap.servers": brokers.bootstrap,
            "enable.idempotence": True,
            "log_level": 0,
        },
    )
    producer = Producer(settings)

    def send(value):
        producer.produce(
            topic,
            value,
            on_delivery=lambda error, message: offsets.append(message.offset()),
        )
        assert producer.flush(PATIENCE_SECONDS) == 0

    send(b"before")
    brokers.kill(2)
    send(b"killed")
    brokers.start(2)
    until(lambda: brokers.described(topic) == (3, [2, 3]))
    brokers.stop(3)
    send(b"stopped")
    assert offsets == [1, 2, 3]
    brokers[3].process.wait(PATIENCE_SECONDS)
    brokers.start(3)
    until(lambda: brokers.described(topic)[1] == [2, 3])
    assert brokers.read(topic) == [b"created", b"before", b"killed", b"stopped"]


def test_nobody_leads_rather_than_a_replica_that_lacks_records_and_an_unclean_election_loses_them(
    brokers, topic
):
    """KIP-966: 2 was the last in sync, so it stays eligible, and 3 doesn't become so by
    coming back.
    """
    brokers.kill(3)
    until(lambda: brokers.described(topic) == (2, [2]))
    assert wrote(brokers, topic, b"paid") == 1
    with readers(brokers, topic) as had_read:
        went_on(brokers, topic)
        for name, poll in had_read.items():
            assert polled(poll, 1) == [b"new"], f"KIP-320: {name} goes back to it"


def went_on(brokers, topic):
    """The only replica in sync dies, too, and the other one is made to lead."""
    brokers.kill(2)
    brokers.start(3)
    until(lambda: brokers.described(topic)[0] == NOBODY)
    until(lambda: brokers[3].is_ready() and brokers.live() == [1, 3])
    assert brokers.described(topic)[0] == NOBODY
    brokers.configure(topic, "unclean.leader.election.enable", "true")
    brokers.elect(UNCLEAN, topic)
    until(lambda: brokers.described(topic)[0] == 3)
    assert wrote(brokers, topic, b"new") == 1, "the offset is given a second time"
    brokers.start(2)
    until(lambda: brokers.described(topic)[1] == [2, 3])
    brokers.elect(PREFERRED, topic)
    until(lambda: brokers.described(topic)[0] == 2)
    assert brokers.read(topic) == [b"created", b"new"], "paid is on no broker any more"


def test_kip_966_with_nobody_in_sync_or_eligible_the_last_known_leader_leads_when_it_is_back(
    brokers, topic
):
    """After kill -9 it isn't eligible any more. Unclean elections are off."""
    brokers.kill(3)
    until(lambda: brokers.described(topic) == (2, [2]))
    assert wrote(brokers, topic, b"paid") == 1
    brokers.kill(2)
    until(lambda: brokers.described(topic)[0] == NOBODY)
    brokers.start(3)
    until(lambda: brokers[3].is_ready() and brokers.live() == [1, 3])
    assert brokers.described(topic)[0] == NOBODY
    assert brokers.partition(topic).eligible_leader_replicas == [2]
    brokers.start(2)
    until(lambda: brokers.described(topic)[0] == 2)
    until(lambda: brokers.described(topic)[1] == [2, 3])
    assert brokers.read(topic) == [b"created", b"paid"]


@pytest.mark.java
def test_without_eligible_leader_replicas_the_last_in_sync_replica_stays_in_the_isr_and_leads_when_it_is_back():
    """As in a cluster that was upgraded and hasn't switched KIP-966 on. On minikafka it
    is never off.
    """
    off = {"feature": "eligible.leader.replicas.version", "max_version_level": 0}
    update = {"feature_updates": [off | {"upgrade_type": SAFE_DOWNGRADE}]}
    with running(APACHE_KAFKA, ROLES) as brokers:
        assert brokers.ask("UpdateFeatures", 1, **update).error_code == Error.NONE
        brokers.create("orders", 2, 3)
        brokers.kill(3)
        until(lambda: brokers.described("orders") == (2, [2]))
        assert wrote(brokers, "orders", b"paid") == 0
        brokers.kill(2)
        until(lambda: brokers.described("orders") == (NOBODY, [2]))
        brokers.start(3)
        until(lambda: brokers[3].is_ready() and brokers.live() == [1, 3])
        found = brokers.partition("orders")
        assert brokers.described("orders") == (NOBODY, [2])
        assert not found.eligible_leader_replicas and not found.last_known_elr
        brokers.start(2)
        until(lambda: brokers.described("orders") == (2, [2, 3]))
        assert brokers.read("orders") == [b"paid"]


@contextmanager
def readers(brokers, topic):
    """Two clients that have read created and paid: {name: what polls it}."""
    settings = {"bootstrap_servers": brokers.bootstrap, "auto_offset_reset": "earliest"}
    python = KafkaConsumer(topic, **settings)
    librdkafka = Consumer(
        {
            "bootstrap.servers": brokers.bootstrap,
            "group.id": f"of-{topic}",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    librdkafka.assign([TopicPartition(topic, 0, 0)])

    def poll_python():
        polled = python.poll(timeout_ms=500).values()
        return [record.value for records in polled for record in records]

    def poll_librdkafka():
        message = librdkafka.poll(0.5)
        return [] if message is None or message.error() else [message.value()]

    found = {"kafka-python": poll_python, "librdkafka": poll_librdkafka}
    with closing(python), closing(librdkafka):
        for poll in found.values():
            assert polled(poll, 2) == [b"created", b"paid"]
        yield found


def polled(poll, count):
    """The first records that come, in so many polls as it takes."""
    found = []
    until(lambda: found.extend(poll()) or len(found) >= count)
    return found
