"""What lesson 22 claims, on three brokers of both kinds."""

import itertools
from contextlib import closing

import pytest
from kafka import KafkaConsumer, TopicPartition

from minikafka.wire.errors import Error
from tests.clients.brokers import until
from tests.course.processes import running, sent
from tests.kafka import BOTH

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.timeout(1200)]

ROLES = {1: "broker,controller", 2: "broker", 3: "broker"}
NUMBERS = itertools.count()


@pytest.fixture(scope="module", params=BOTH)
def brokers(request):
    with running(request.param, ROLES) as nodes:
        yield nodes


@pytest.fixture
def topic(brokers):
    name = f"orders-{next(NUMBERS)}"
    brokers.create(name, 2, 3, 1, min_insync_replicas=2)
    return name


def member(brokers, topic, group, **options):
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=brokers.bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **options,
    )
    found = []
    until(lambda: found.extend(consumer.poll(timeout_ms=500).values()) or found)
    return consumer


def write(brokers, topic, count):
    with closing(brokers.producer(acks="all")) as producer:
        for number in range(count):
            sent(producer, topic, b"order %d" % number)


def test_with_one_of_three_brokers_dead_partitions_are_under_replicated_and_neither_unavailable_nor_under_min_isr(
    brokers, topic
):
    write(brokers, topic, 1)
    brokers.kill(2)
    until(lambda: len(brokers.described(topic)[1]) == 2)
    found = brokers.partition(topic)
    assert len(found.isr_nodes) < len(found.replica_nodes)
    assert found.leader_id in brokers.live()
    assert len(found.isr_nodes) >= 2
    write(brokers, topic, 1)


def test_the_offsets_of_a_group_with_members_are_not_reset(brokers, topic):
    write(brokers, topic, 3)
    group = f"billing-{topic}"
    with closing(member(brokers, topic, group)) as consumer:
        consumer.commit()
        at = TopicPartition(topic, 0)
        assert consumer.committed(at) == 3
        [found] = brokers.ask(
            "FindCoordinator", 4, coordinator_keys=[group]
        ).coordinators
        asked, brokers.asked = brokers.asked, f"{found.host}:{found.port}"
        part = {"partition_index": 0, "committed_offset": 0}
        told = brokers.ask(
            "OffsetCommit",
            8,
            group_id=group,
            topics=[{"name": topic, "partitions": [part]}],
        )
        brokers.asked = asked
        assert told.topics[0].partitions[0].error_code == Error.UNKNOWN_MEMBER_ID
        assert consumer.committed(at) == 3


def test_what_was_committed_and_not_done_is_no_lag(brokers, topic):
    """The consumer commits what it was given, and is gone before it has done it."""
    write(brokers, topic, 5)
    with closing(member(brokers, topic, f"billing-{topic}")) as consumer:
        consumer.commit()
        at = TopicPartition(topic, 0)
        lag = consumer.end_offsets([at])[at] - consumer.committed(at)
        assert lag == 0
