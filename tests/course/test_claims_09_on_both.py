"""What lesson 09 claims about replication, on three brokers of both kinds that are
killed and frozen.

Broker 1 is the only controller, so that both others may die.
"""

import itertools
import time

import pytest
from kafka.errors import (
    KafkaTimeoutError,
    NotEnoughReplicasError,
    RequestTimedOutError,
)

from minikafka.cluster.metadata import Partition
from minikafka.course.experiments.lesson_09_runs import line
from tests.clients.brokers import until
from tests.course.processes import PATIENCE_SECONDS, running, sent
from tests.kafka import BOTH

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.first,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
]

NUMBERS = itertools.count()
LAG_MS, FETCH_WAIT_MS = 8000, 100
ROLES = {1: "broker,controller", 2: "broker", 3: "broker"}
TOPICS = "org.apache.kafka.tools.TopicCommand"


@pytest.fixture(scope="module", params=BOTH)
def brokers(request):
    options = {
        "replica_lag_time_max_ms": LAG_MS,
        "replica_fetch_wait_max_ms": FETCH_WAIT_MS,
    }
    with running(request.param, ROLES, **options) as nodes:
        yield nodes


@pytest.fixture
def topic(brokers):
    """Makes a topic with replicas on these brokers, the first of which leads. It has
    one record.
    """

    def make(*replicas, **configs):
        name = f"orders-{next(NUMBERS)}"
        brokers.create(name, *replicas, **configs)
        producer = brokers.producer(acks="all")
        sent(producer, name, b"created")
        producer.close()
        return name

    return make


@pytest.fixture
def producer(brokers):
    made = []

    def make(**options):
        made.append(brokers.producer(**options))
        return made[-1]

    yield make
    for each in made:
        each.close(timeout=5)


@pytest.mark.java
def test_the_tool_prints_a_partition_as_the_lesson_does(brokers, topic):
    name = topic(1, 2, 3)
    printed = brokers.tool(TOPICS, "--describe", "--topic", name).splitlines()[1]
    assert printed == line(name, 0, Partition((1, 2, 3), (1, 2, 3), 1, 0, 0))


def test_min_insync_replicas_is_capped_at_the_number_of_replicas(topic, producer):
    name = topic(1, min_insync_replicas=2)
    assert sent(producer(acks="all"), name, b"paid") == 1


def test_kip_966_an_eligible_replica_leads_when_nobody_in_sync_is_left(brokers, topic):
    name = topic(2, 3, min_insync_replicas=2)
    with brokers.frozen(3):
        until(lambda: brokers.described(name) == (2, [2]))
        assert brokers.partition(name).eligible_leader_replicas == [3]
        brokers.kill(2)
    until(lambda: brokers.described(name)[0] == 3)
    brokers.start(2)
    until(lambda: brokers.described(name) == (3, [2, 3]))
    assert brokers.read(name) == [b"created"]


@pytest.mark.java
def test_the_tool_lists_a_topic_that_asks_for_more_replicas_than_it_has_for_ever(
    brokers, topic
):
    """It compares the setting as it stands. The brokers, which cap it, take acks=all."""
    name = topic(1, min_insync_replicas=2)
    listed = brokers.tool(TOPICS, "--describe", "--under-min-isr-partitions")
    assert name in listed


def test_kafka_15583_an_isr_that_shrinks_after_the_append_makes_the_request_time_out(
    brokers, topic, producer
):
    """The high watermark stands still, so nobody says NOT_ENOUGH_REPLICAS_AFTER_APPEND;
    and the record is there.
    """
    name = topic(1, 2, 3, min_insync_replicas=2)
    shop = producer(
        acks="all", retries=0, enable_idempotence=False, request_timeout_ms=2 * LAG_MS
    )
    shop.partitions_for(name)
    with brokers.frozen(2, 3):
        told = shop.send(name, b"paid")
        with pytest.raises((RequestTimedOutError, KafkaTimeoutError)):
            told.get(timeout=60)
        until(lambda: brokers.described(name) == (1, [1]))
    until(lambda: brokers.read(name) == [b"created", b"paid"])


def test_acks_all_waits_for_a_follower_that_stands_still_until_it_is_out_of_the_isr(
    brokers, topic, producer
):
    """min.insync.replicas=2 is met all the time, by the two others."""
    name = topic(1, 2, 3, min_insync_replicas=2)
    shop = producer(acks="all")
    sent(shop, name, b"paid")
    with brokers.frozen(3):
        began = time.monotonic()
        assert sent(shop, name, b"shipped") == 2
        assert time.monotonic() - began > LAG_MS / 8000
        until(lambda: brokers.described(name) == (1, [1, 2]))


def test_a_slow_follower_that_catches_up_in_time_stays_in_the_isr_and_every_record_waits_for_it(
    brokers, topic, producer
):
    """Each time it has the log's end before replica.lag.time.max.ms is over. The leader
    itself has the record: acks=1 is acknowledged meanwhile.
    """
    name = topic(1, 2, 3, min_insync_replicas=2)
    careful, hasty = producer(acks="all"), producer(acks=1)
    for shop in (careful, hasty):
        sent(shop, name, b"paid")
    deadline = time.monotonic() + 1.5 * LAG_MS / 1000
    while time.monotonic() < deadline:
        with brokers.frozen(3):
            paid = careful.send(name, b"paid")
            sent(hasty, name, b"noted")
            assert not paid.is_done
        paid.get(timeout=PATIENCE_SECONDS)
        assert brokers.described(name) == (1, [1, 2, 3])


def test_kip_966_below_min_insync_replicas_acks_all_is_refused_and_what_acks_1_wrote_waits_to_be_read(
    brokers, topic, producer
):
    name = topic(1, 2, 3, min_insync_replicas=2)
    brokers.kill(2)
    until(lambda: brokers.described(name) == (1, [1, 3]))
    brokers.kill(3)
    until(lambda: brokers.described(name) == (1, [1]))
    found = brokers.partition(name)
    assert (found.eligible_leader_replicas, found.last_known_elr) == (
        [3],
        [],
    ), "3 left it when 2 was out"
    with pytest.raises((NotEnoughReplicasError, KafkaTimeoutError)):
        producer(acks="all", retries=0, enable_idempotence=False).send(
            name, b"refused"
        ).get(timeout=60)
    assert sent(producer(acks=1), name, b"paid") == 1
    assert brokers.read(name) == [b"created"]
    brokers.start(3)
    until(lambda: brokers.described(name) == (1, [1, 3]))
    until(lambda: brokers.read(name) == [b"created", b"paid"])
    brokers.start(2)


def test_with_acks_1_a_record_is_gone_when_the_leader_dies_before_a_follower_fetched_it_also_from_its_own_disk(
    brokers, topic, producer
):
    name = topic(2, 3, 1, min_insync_replicas=2)
    shop = producer(acks=1)
    sent(shop, name, b"paid")
    until(lambda: brokers.read(name) == [b"created", b"paid"])
    with brokers.frozen(1, 3):
        # The first ones may leave with the answers to fetches that wait at the leader;
        # nobody asks for the next.
        deadline = time.monotonic() + 4 * FETCH_WAIT_MS / 1000
        while time.monotonic() < deadline:
            sent(shop, name, b"shipped")
        sent(shop, name, b"delivered")
        brokers.kill(2)
    until(lambda: brokers.described(name)[0] == 3)
    brokers.start(2)
    until(lambda: 2 in brokers.described(name)[1])
    sent(producer(acks="all"), name, b"returned")
    values = brokers.read(name)
    assert (
        values[:2] == [b"created", b"paid"]
        and values[-1] == b"returned"
        and b"delivered" not in values
    )
