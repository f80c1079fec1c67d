"""What lesson 09 claims about replication, tried on three brokers of Apache Kafka that are killed and frozen.

Broker 1 is the only controller, so that both others may die. The lesson's cells are the same on minikafka.
"""

import itertools
import os
import re
import signal
import time
from contextlib import ExitStack

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaTimeoutError, NotEnoughReplicasError

from minikafka.cluster.metadata import Partition
from minikafka.course.replica_runs import line
from tests.kafka import ApacheKafka, java_tool

pytestmark = pytest.mark.java

NUMBERS = itertools.count()
PATIENCE_SECONDS = 120
LAG_MS, SESSION_MS = 4000, 9000
# Java's stops at the first tier compile faster, and three JVMs share a machine.
JVM = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
COMMON = {"replica.lag.time.max.ms": str(LAG_MS), "broker.session.timeout.ms": str(SESSION_MS)}
TOPIC_COMMAND = "org.apache.kafka.tools.TopicCommand"


class Brokers:
    """Brokers 1, 2 and 3 of one cluster."""

    def __init__(self, stack):
        first = ApacheKafka(COMMON, jvm=JVM)
        voters = {"controller.quorum.voters": first.properties["controller.quorum.voters"]}
        self.by_id = {1: first}
        for number in (2, 3):
            each = ApacheKafka(COMMON | voters | {"process.roles": "broker", "node.id": str(number)}, jvm=JVM)
            each.properties["listeners"] = each.properties["advertised.listeners"]
            self.by_id[number] = each
        for each in self.by_id.values():
            stack.enter_context(each)
        self.bootstrap = ",".join(each.bootstrap for each in self.by_id.values())

    def signal(self, number, what):
        os.kill(self.by_id[number].process.pid, what)

    def freeze(self, number):
        self.signal(number, signal.SIGSTOP)

    def thaw(self, number):
        self.signal(number, signal.SIGCONT)

    def kill(self, number):
        self.by_id[number].process.kill()
        self.by_id[number].process.wait()

    def restart(self, number):
        self.by_id[number].start()


@pytest.fixture(scope="module")
def brokers():
    with ExitStack() as stack:
        yield Brokers(stack)


def tool(brokers, *args):
    """What TopicCommand prints; broker 1 is asked, who is never killed."""
    done = java_tool(TOPIC_COMMAND, "--bootstrap-server", brokers.by_id[1].bootstrap, *args, timeout=PATIENCE_SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def topic(brokers):
    """Makes a topic with replicas on these brokers, the first of which leads, and waits until all are in sync."""

    def make(*replicas, **configs):
        name = f"orders-{next(NUMBERS)}"
        wait_for(lambda: len(nodes(brokers)) == 3)
        settings = [word for key, value in configs.items() for word in ("--config", f"{key.replace('_', '.')}={value}")]
        tool(brokers, "--create", "--topic", name, "--replica-assignment", ":".join(map(str, replicas)), *settings)
        producer = KafkaProducer(bootstrap_servers=brokers.bootstrap, acks="all")
        producer.send(name, b"created").get(timeout=PATIENCE_SECONDS)
        producer.close()
        return name

    return make


def nodes(brokers):
    admin = KafkaAdminClient(bootstrap_servers=brokers.by_id[1].bootstrap)
    found = admin.describe_cluster()["brokers"]
    admin.close()
    return found


def wait_for(condition):
    until = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < until, "it did not come true"


def columns(brokers, topic):
    """A partition's line, column by column, as it is printed."""
    printed = tool(brokers, "--describe", "--topic", topic).splitlines()[1]
    return dict(re.findall(r"(\w+): ([^\t]*)", printed)), printed


def isr(brokers, topic):
    return columns(brokers, topic)[0]["Isr"].split(",")


@pytest.fixture
def producer(brokers):
    made = []

    def make(**options):
        made.append(KafkaProducer(bootstrap_servers=brokers.bootstrap, linger_ms=0, **options))
        return made[-1]

    yield make
    for each in made:
        each.close(timeout=5)


def read(brokers, topic):
    """What a consumer gets up to the high watermark: its end offset is that."""
    consumer = KafkaConsumer(bootstrap_servers=brokers.bootstrap, auto_offset_reset="earliest")
    partition = TopicPartition(topic, 0)
    consumer.assign([partition])
    end, values = consumer.end_offsets([partition])[partition], []
    while len(values) < end:
        values += [record.value.decode() for some in consumer.poll(timeout_ms=500).values() for record in some]
    consumer.close()
    return values


def test_the_tool_prints_a_partition_as_the_lesson_does(brokers, topic):
    name = topic(1, 2, 3)
    assert columns(brokers, name)[1] == line(name, 0, Partition((1, 2, 3), (1, 2, 3), 1, 0, 0))


def test_min_insync_replicas_is_capped_at_the_number_of_replicas(topic, producer):
    name = topic(1, min_insync_replicas=2)
    assert producer(acks="all").send(name, b"paid").get(timeout=PATIENCE_SECONDS).offset == 1


def test_acks_all_waits_for_a_follower_that_stands_still_until_it_is_out_of_the_isr(brokers, topic, producer):
    """min.insync.replicas=2 is met all the time, by the two others."""
    name = topic(1, 2, 3, min_insync_replicas=2)
    shop = producer(acks="all")
    shop.send(name, b"paid").get(timeout=PATIENCE_SECONDS)
    brokers.freeze(3)
    try:
        shipped = shop.send(name, b"shipped")
        with pytest.raises(KafkaTimeoutError):
            shipped.get(timeout=LAG_MS / 2000)
        assert shipped.get(timeout=PATIENCE_SECONDS).offset == 2
        assert isr(brokers, name) == ["1", "2"]
    finally:
        brokers.thaw(3)


def test_kip_966_below_min_insync_replicas_acks_all_is_refused_and_what_acks_1_wrote_waits_to_be_read(
    brokers, topic, producer
):
    name = topic(1, 2, 3, min_insync_replicas=2)
    try:
        for gone, left in ((2, ["1", "3"]), (3, ["1"])):
            brokers.kill(gone)
            wait_for(lambda left=left: isr(brokers, name) == left)
        found, _ = columns(brokers, name)
        assert (found["Leader"], found["Elr"], found["LastKnownElr"]) == ("1", "3", ""), "3 left it when 2 was out"
        with pytest.raises((NotEnoughReplicasError, KafkaTimeoutError)):
            producer(acks="all", retries=0, enable_idempotence=False).send(name, b"refused").get(timeout=60)
        assert producer(acks=1).send(name, b"paid").get(timeout=PATIENCE_SECONDS).offset == 1
        assert read(brokers, name) == ["created"]
        brokers.restart(3)
        wait_for(lambda: isr(brokers, name) == ["1", "3"])
        wait_for(lambda: read(brokers, name) == ["created", "paid"])
    finally:
        for each in (2, 3):
            if brokers.by_id[each].process.poll() is not None:
                brokers.restart(each)


def test_with_acks_1_a_record_is_gone_when_the_leader_dies_before_a_follower_fetched_it_also_from_its_own_disk(
    brokers, topic, producer
):
    name = topic(2, 3, 1, min_insync_replicas=2)
    shop = producer(acks=1)
    shop.send(name, b"paid").get(timeout=PATIENCE_SECONDS)
    wait_for(lambda: read(brokers, name) == ["created", "paid"])
    try:
        for follower in (1, 3):
            brokers.freeze(follower)
        # The first may leave with the answer to a fetch that waits at the leader; nobody asks for the next.
        for value in (b"shipped", b"delivered"):
            acknowledged = shop.send(name, value).get(timeout=PATIENCE_SECONDS)
        brokers.kill(2)
    finally:
        for follower in (1, 3):
            brokers.thaw(follower)
    assert acknowledged.offset == 3
    wait_for(lambda: columns(brokers, name)[0]["Leader"] == "3")
    brokers.restart(2)
    wait_for(lambda: "2" in isr(brokers, name))
    assert "delivered" not in read(brokers, name)
