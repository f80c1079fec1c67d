"""What lesson 11 claims about the control plane, tried on Apache Kafka. Its cells are the same on minikafka.

Nodes 1 and 2 are controllers only, 3 is controller and broker, 4 is a broker only. So two of three voters may go, and
both brokers are still there.
"""

import re
import time
from collections import Counter
from contextlib import ExitStack, closing

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic
from kafka.errors import KafkaError, KafkaTimeoutError

from tests.kafka import ApacheKafka, java_tool

pytestmark = [pytest.mark.java, pytest.mark.timeout(1200)]

PATIENCE_SECONDS = 120
LAG_MS = 4000  # replica.lag.time.max.ms, so that a leader soon wants a dead follower out of the ISR
JVM = ("-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
TOPICS = "org.apache.kafka.tools.TopicCommand"
DUMP = "org.apache.kafka.tools.DumpLogSegments"
ROLES = {1: "controller", 2: "controller", 3: "broker,controller", 4: "broker"}


class Nodes(dict):
    """1 to 4 of one cluster."""

    def __init__(self, stack):
        found = {
            number: ApacheKafka({"node.id": str(number), "process.roles": roles}, jvm=JVM)
            for number, roles in ROLES.items()
        }
        voters = ",".join(f"{number}@127.0.0.1:{found[number].controller_port}" for number in (1, 2, 3))
        common = {"controller.quorum.voters": voters, "replica.lag.time.max.ms": str(LAG_MS)}
        for number, node in found.items():
            node.properties |= common
            if ROLES[number] == "controller":
                del node.properties["advertised.listeners"]
                node.properties["listeners"] = f"CONTROLLER://127.0.0.1:{node.controller_port}"
                node.port = node.controller_port
            elif ROLES[number] == "broker":
                node.properties["listeners"] = node.properties["advertised.listeners"]
        for number, node in found.items():
            stack.enter_context(node)
            self[number] = node
        self.bootstrap = self[4].bootstrap
        self.admin = stack.enter_context(closing(KafkaAdminClient(bootstrap_servers=self.bootstrap)))

    def kill(self, number):
        self[number].process.kill()
        self[number].process.wait()

    def create(self, topic, *replicas):
        args = ("--create", "--topic", topic, "--replica-assignment", ":".join(map(str, replicas)))
        done = java_tool(TOPICS, "--bootstrap-server", self.bootstrap, *args, timeout=PATIENCE_SECONDS)
        assert done.returncode == 0, done.stdout + done.stderr
        wait_for(lambda: described(self, topic) == (replicas[0], sorted(replicas)))

    def quorum(self):
        return self.admin.describe_metadata_quorum()["topics"][0]["partitions"][0]


@pytest.fixture(scope="module")
def nodes():
    with ExitStack() as stack:
        yield Nodes(stack)


def wait_for(condition):
    """How many seconds it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + PATIENCE_SECONDS, "it did not come true"
    return time.monotonic() - began


def described(nodes, topic):
    """(leader, ISR), as broker 4 knows them; the leader is -1 for none, and while it knows no such topic yet."""
    for partition in nodes.admin.describe_topics([topic])[0]["partitions"]:
        return partition["leader_id"], sorted(partition["isr_nodes"])
    return -1, []


def producer(nodes, **configs):
    """One that runs already: it has sent a record, and so it has its producer id."""
    return KafkaProducer(bootstrap_servers=nodes.bootstrap, **configs)


def sent(by, topic, value):
    """Its offset, when it is acknowledged."""
    return by.send(topic, value).get(timeout=PATIENCE_SECONDS).offset


def read(nodes, topic, count):
    with closing(KafkaConsumer(bootstrap_servers=nodes.bootstrap, auto_offset_reset="earliest")) as consumer:
        consumer.subscribe([topic])
        return [next(consumer).value for _ in range(count)]


def metadata_records(nodes):
    """How many of each type the dump tool finds in broker 4's copy of the metadata log."""
    [log] = (nodes[4].data / "__cluster_metadata-0").glob("*0.log")
    done = java_tool(DUMP, "--cluster-metadata-decoder", "--files", str(log), timeout=PATIENCE_SECONDS)
    return Counter(re.findall(r'"type":"(\w+)"', done.stdout))


def test_kip_631_neither_records_nor_heartbeats_go_into_the_metadata_log(nodes):
    """KIP-835: the controller's own NO_OP_RECORD is there twice a second."""
    nodes.create("busy", 4)
    with closing(producer(nodes)) as shop:
        sent(shop, "busy", b"order")
        before = metadata_records(nodes)
        for _ in range(100):
            shop.send("busy", b"order")
        shop.flush()
        assert read(nodes, "busy", 101) == [b"order"] * 101
        wait_for(lambda: metadata_records(nodes)["NO_OP_RECORD"] > before["NO_OP_RECORD"] + 10)
    grown = metadata_records(nodes) - before
    assert not {"PARTITION_CHANGE_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD"} & set(grown), grown
    assert set(grown) <= {"NO_OP_RECORD", "PRODUCER_IDS_RECORD"}, grown
    assert before["REGISTER_BROKER_RECORD"] == 2, "brokers 3 and 4; controllers have a record of another type"
    assert before["BROKER_REGISTRATION_CHANGE_RECORD"] >= 2, "each was unfenced after it had registered"


def test_kip_500_a_dead_controller_holds_up_no_record_and_the_other_voters_elect_another_in_a_later_epoch(nodes):
    nodes.create("alone", 4)
    was = nodes.quorum()
    assert sorted(each["replica_id"] for each in was["current_voters"]) == [1, 2, 3]
    with closing(producer(nodes)) as shop:
        sent(shop, "alone", b"created")
        nodes.kill(was["leader_id"])
        began = time.monotonic()
        assert sent(shop, "alone", b"paid") == 1
        assert time.monotonic() - began < 1.5, "shorter than a voter waits until it asks for votes"
    wait_for(lambda: nodes.quorum()["leader_id"] not in (was["leader_id"], -1))
    assert nodes.quorum()["leader_epoch"] > was["leader_epoch"]
    nodes[was["leader_id"]].start()
    wait_for(lambda: all(each["log_end_offset"] > was["high_watermark"] for each in nodes.quorum()["current_voters"]))


def test_without_a_majority_records_are_written_and_read_and_nothing_is_decided(nodes):
    """A topic can't be created, and a dead follower stays in the ISR, though min.insync.replicas is 1 (KIP-497)."""
    nodes.create("orders", 4, 3)
    patient = {"request_timeout_ms": 5000, "delivery_timeout_ms": 4 * LAG_MS}
    with closing(producer(nodes, acks="all", **patient)) as shop, closing(producer(nodes, acks=1)) as hasty:
        assert [sent(shop, "orders", b"created"), sent(hasty, "orders", b"noted")] == [0, 1]
        nodes.kill(1)
        nodes.kill(2)
        assert [sent(shop, "orders", b"paid"), sent(hasty, "orders", b"seen")] == [2, 3]
        assert read(nodes, "orders", 4) == [b"created", b"noted", b"paid", b"seen"]
        admin = KafkaAdminClient(bootstrap_servers=nodes.bootstrap, request_timeout_ms=8000)
        with closing(admin), pytest.raises(KafkaError):
            admin.create_topics([NewTopic("more", 1, 1)], timeout_ms=5000)
        nodes.kill(3)
        with pytest.raises(KafkaTimeoutError):
            shop.send("orders", b"shipped").get(timeout=PATIENCE_SECONDS)
        assert sent(hasty, "orders", b"late") > 3
        assert described(nodes, "orders") == (4, [3, 4])
        for number in (1, 2):
            nodes[number].start()
        wait_for(lambda: described(nodes, "orders") == (4, [4]))
        assert sent(producer(nodes, acks="all"), "orders", b"delivered") > 4
    nodes[3].start()
    wait_for(lambda: described(nodes, "orders") == (4, [3, 4]))
