"""The simulated consumer is a good member of a group on a real broker, together with
kafka-python.
"""

import re
import time
from contextlib import closing
from random import Random
from threading import Event, Thread

import kafka as kafka_python
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

from minikafka.clients.consumer import Consumer
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.trace import Trace
from tests.clients.nodes import node
from tests.clients_sim.sockets import SocketShell, now
from tests.kafka import BOTH

pytestmark = pytest.mark.slow

PARTITIONS, RECORDS = 6, 60
ASSIGNORS = {
    each.name: each
    for each in (
        RangePartitionAssignor,
        RoundRobinPartitionAssignor,
        StickyPartitionAssignor,
        CooperativeStickyAssignor,
    )
}


@pytest.fixture(scope="module", params=BOTH)
def kafka(request, tmp_path_factory):
    with node(request.param, tmp_path_factory.mktemp("data")) as running:
        yield running


@pytest.fixture
def topic(kafka, request):
    name = re.sub("[^a-z0-9_-]", ".", request.node.name.lower())[:200]
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    admin.create_topics([NewTopic(name, PARTITIONS, 1)])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap)
    for number in range(RECORDS):
        producer.send(name, value=b"%d" % number, partition=number % PARTITIONS)
    producer.close()
    return name


CHANCE = Random(7)  # one for all, so that no two make the same member id


def ours(kafka, topic, listener=None, **config):
    host, port = kafka.bootstrap.split(":")
    settings = {
        "group_id": topic,
        "auto_offset_reset": "earliest",
        "heartbeat_interval_ms": 100,
        **config,
    }
    core = Consumer(
        "ours",
        [(host, int(port))],
        Trace("ours"),
        topic,
        random=CHANCE.random,
        **settings,
    )
    return SocketShell(core, listener)


POLLED = Event()  # a consumer of theirs has polled


class Theirs(Thread):
    """A kafka-python consumer that polls all the time. Its polls are long: 3.0 forgets
    its new share when one ends between JoinGroup and SyncGroup.
    """

    def __init__(self, kafka, topic, assignor):
        super().__init__()
        self.consumer = KafkaConsumer(
            topic,
            bootstrap_servers=kafka.bootstrap,
            group_id=topic,
            auto_offset_reset="earliest",
            partition_assignment_strategy=[ASSIGNORS[assignor]],
            heartbeat_interval_ms=100,
        )
        self.share = set()
        self.leaving = Event()
        self.start()

    def run(self):
        with closing(self.consumer):
            while not self.leaving.is_set():
                self.consumer.poll(timeout_ms=1000)
                self.share = self.consumer.assignment()
                POLLED.set()

    def close(self):
        self.leaving.set()
        self.join()


def numbers(partitions):
    return sorted(partition for _, partition in partitions)


def until(condition, *ours):
    """Poll ours in turn, or wait for a poll of theirs, until the condition holds."""
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        if condition():
            return
        for shell in ours:
            shell.poll(0.05)
        if not ours:
            POLLED.wait(1)
            POLLED.clear()
    raise AssertionError("it did not come true")


def shared(*owners):
    """Whether each of the partitions has one owner, and each owner some."""
    return all(owners) and sorted(
        each for owned in owners for each in numbers(owned)
    ) == list(range(PARTITIONS))


@pytest.mark.parametrize("assignor", ASSIGNORS)
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_our_member_shares_a_group_with_kafka_python(kafka, topic, assignor, first):
    mine = ours(kafka, topic, partition_assignment_strategy=assignor)
    if first == "ours":
        until(lambda: len(mine.core.subscription.assigned) == PARTITIONS, mine)
    other = Theirs(kafka, topic, assignor)
    if first == "theirs":
        until(lambda: len(other.share) == PARTITIONS)
    until(lambda: shared(mine.core.subscription.assigned, other.share), mine)
    mine.close()
    until(lambda: len(other.share) == PARTITIONS)
    other.close()


def test_what_our_member_commits_kafka_python_goes_on_from(kafka, topic):
    mine, seen = ours(kafka, topic, enable_auto_commit=False), []
    while len(seen) < RECORDS:
        seen += mine.poll(1)
    assert set(seen) == {
        (topic, number % PARTITIONS, number // PARTITIONS) for number in range(RECORDS)
    }
    mine.wait(mine.core.commit(None, "sync", now()))
    partition = TopicPartition(topic, 0)
    mine.wait(
        mine.core.commit({partition: OffsetAndMetadata(4, "by hand")}, "sync", now())
    )
    assert mine.wait(mine.core.committed([partition], now()))[
        partition
    ] == OffsetAndMetadata(4, "by hand", -1)
    mine.close()
    other = KafkaConsumer(bootstrap_servers=kafka.bootstrap, group_id=topic)
    assert other.committed(kafka_python.TopicPartition(topic, 0), metadata=True)[
        :2
    ] == (4, "by hand")
    assert (
        other.committed(kafka_python.TopicPartition(topic, 1)) == RECORDS // PARTITIONS
    )
    other.close()


def test_kip_848_our_members_share_a_group(kafka, topic):
    heard = []
    first = ours(
        kafka,
        topic,
        lambda *told: heard.append(told),
        group_protocol="consumer",
        heartbeat_interval_ms=3000,
    )
    until(lambda: len(first.core.subscription.assigned) == PARTITIONS, first)
    second = ours(kafka, topic, group_protocol="consumer", heartbeat_interval_ms=3000)
    until(
        lambda: shared(
            first.core.subscription.assigned, second.core.subscription.assigned
        ),
        first,
        second,
    )
    assert [kind for kind, _ in heard][:2] == ["assigned", "revoked"]
    second.close()
    until(lambda: len(first.core.subscription.assigned) == PARTITIONS, first)
    first.close()
