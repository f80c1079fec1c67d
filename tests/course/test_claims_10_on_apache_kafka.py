"""What lesson 10 claims about failover, tried on three brokers of Apache Kafka. Its cells are the same on minikafka.

Broker 1 is the only controller, so that both others may be away.
"""

import itertools
import time
from contextlib import ExitStack

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.errors import KafkaConnectionError

from tests.kafka import ApacheKafka, java_tool

pytestmark = [pytest.mark.java, pytest.mark.timeout(1200)]

NUMBERS = itertools.count()
PATIENCE_SECONDS = 120
SESSION_SECONDS = 9  # broker.session.timeout.ms, as it is by default
# The first tier compiles faster, and three JVMs share a machine.
JVM = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
TOPICS = "org.apache.kafka.tools.TopicCommand"
ELECTION = "org.apache.kafka.tools.LeaderElectionCommand"
CONFIGS = "kafka.admin.ConfigCommand"


class Brokers(dict):
    """1, 2 and 3 of one cluster."""

    def __init__(self, stack):
        self[1] = ApacheKafka(jvm=JVM)
        voters = {"controller.quorum.voters": self[1].properties["controller.quorum.voters"]}
        for number in (2, 3):
            self[number] = ApacheKafka(voters | {"process.roles": "broker", "node.id": str(number)}, jvm=JVM)
            self[number].properties["listeners"] = self[number].properties["advertised.listeners"]
        for each in self.values():
            stack.enter_context(each)
        self.bootstrap = ",".join(each.bootstrap for each in self.values())

    def kill(self, number):
        self[number].process.kill()
        self[number].process.wait()

    def tool(self, name, *args):
        """What a tool prints that asks broker 1."""
        done = java_tool(name, "--bootstrap-server", self[1].bootstrap, *args, timeout=PATIENCE_SECONDS)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def brokers():
    with ExitStack() as stack:
        yield Brokers(stack)


@pytest.fixture
def topic(brokers):
    """A topic with replicas on 2 and 3, led by 2, both in sync; it has the record `created`."""
    name = f"orders-{next(NUMBERS)}"
    brokers.tool(TOPICS, "--create", "--topic", name, "--replica-assignment", "2:3")
    assert sent(brokers, name, b"created") == 0
    wait_for(lambda: described(brokers, name) == (2, [2, 3]))
    return name


def wait_for(condition):
    """How many seconds it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + PATIENCE_SECONDS, "it did not come true"
    return time.monotonic() - began


def described(brokers, topic):
    """(leader, ISR), as broker 1 knows them; the leader is -1 for none."""
    admin = KafkaAdminClient(bootstrap_servers=brokers[1].bootstrap)
    try:
        [partition] = admin.describe_topics([topic])[0]["partitions"]
    except KafkaConnectionError:  # it asked a broker that is away
        return described(brokers, topic)
    finally:
        admin.close()
    return partition["leader_id"], sorted(partition["isr_nodes"])


def sent(brokers, topic, value):
    """Its offset, when it is acknowledged with acks=all."""
    producer = KafkaProducer(bootstrap_servers=brokers.bootstrap, acks="all")
    offset = producer.send(topic, value).get(timeout=PATIENCE_SECONDS).offset
    producer.close()
    return offset


def read(brokers, topic, count):
    consumer = KafkaConsumer(topic, bootstrap_servers=brokers.bootstrap, auto_offset_reset="earliest")
    values = [next(consumer).value for _ in range(count)]
    assert not consumer.poll(timeout_ms=500)
    consumer.close()
    return values


def test_after_kill_9_nobody_leads_until_the_session_is_over_and_nothing_moves_back_until_it_is_asked_for(
    brokers, topic
):
    brokers.kill(2)
    assert wait_for(lambda: described(brokers, topic) == (3, [3])) > SESSION_SECONDS / 2
    assert sent(brokers, topic, b"paid") == 1
    brokers[2].start()
    wait_for(lambda: described(brokers, topic)[1] == [2, 3])
    assert described(brokers, topic)[0] == 3
    brokers.tool(ELECTION, "--election-type", "PREFERRED", "--topic", topic, "--partition", "0")
    wait_for(lambda: described(brokers, topic) == (2, [2, 3]))
    assert read(brokers, topic, 2) == [b"created", b"paid"]


def test_a_clean_stop_hands_over_before_the_broker_ends(brokers, topic):
    brokers[2].process.terminate()
    took_s = wait_for(lambda: described(brokers, topic)[0] == 3)
    assert took_s < SESSION_SECONDS / 2 or brokers[2].process.poll() is None
    assert brokers[2].process.wait(PATIENCE_SECONDS) in (0, 143)
    assert sent(brokers, topic, b"paid") == 1
    brokers[2].start()
    wait_for(lambda: described(brokers, topic)[1] == [2, 3])


def test_a_producer_carries_on_when_the_leader_changes(brokers, topic):
    """The first leader goes by kill -9, the next by a clean stop."""
    producer = KafkaProducer(bootstrap_servers=brokers.bootstrap, acks="all")
    offsets = [producer.send(topic, b"before").get(timeout=PATIENCE_SECONDS).offset]
    brokers.kill(2)
    offsets.append(producer.send(topic, b"killed").get(timeout=PATIENCE_SECONDS).offset)
    brokers[2].start()
    wait_for(lambda: described(brokers, topic) == (3, [2, 3]))
    brokers[3].process.terminate()
    offsets.append(producer.send(topic, b"stopped").get(timeout=PATIENCE_SECONDS).offset)
    producer.close()
    assert offsets == [1, 2, 3]
    brokers[3].process.wait(PATIENCE_SECONDS)
    brokers[3].start()
    wait_for(lambda: described(brokers, topic)[1] == [2, 3])


def test_nobody_leads_rather_than_a_replica_that_lacks_records_and_an_unclean_election_loses_them(brokers, topic):
    """KIP-966: 2 was the last in sync, so it stays eligible, and 3 doesn't become so by coming back."""
    brokers.kill(3)
    wait_for(lambda: described(brokers, topic) == (2, [2]))
    assert sent(brokers, topic, b"paid") == 1
    brokers.kill(2)
    brokers[3].start()
    wait_for(lambda: described(brokers, topic)[0] == -1)
    until = time.monotonic() + SESSION_SECONDS
    wait_for(lambda: described(brokers, topic)[0] != -1 or time.monotonic() > until)
    assert described(brokers, topic)[0] == -1
    unclean = "unclean.leader.election.enable=true"
    brokers.tool(CONFIGS, "--alter", "--entity-type", "topics", "--entity-name", topic, "--add-config", unclean)
    brokers.tool(ELECTION, "--election-type", "UNCLEAN", "--topic", topic, "--partition", "0")
    wait_for(lambda: described(brokers, topic)[0] == 3)
    assert sent(brokers, topic, b"new") == 1, "the offset is given a second time"
    brokers[2].start()
    wait_for(lambda: described(brokers, topic)[1] == [2, 3])
    brokers.tool(ELECTION, "--election-type", "PREFERRED", "--topic", topic, "--partition", "0")
    wait_for(lambda: described(brokers, topic)[0] == 2)
    assert read(brokers, topic, 2) == [b"created", b"new"], "paid is on no broker any more"
