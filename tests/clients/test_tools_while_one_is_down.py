"""Apache Kafka's tools while one of three brokers is down: they say the same of minikafka
as of Apache Kafka.
"""

import os
import re
import signal

import pytest

from minikafka.course.clusters.jvm_cluster import JvmCluster
from minikafka.server.embedded import Served
from tests.clients.brokers import STEADY, overrides
from tests.clients.test_tools import Tools
from tests.conformance.raw import Connection, batch
from tests.kafka import SMALL_JVM, an_address
from tests.server.test_processes import process_of

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.slow,
    pytest.mark.java,
    pytest.mark.timeout(1200),
]

DOWN = 3
LIKE_THEIRS = {"min.insync.replicas": "2", **STEADY}
# One that goes on, one with another leader, one that nobody leads, one it never had.
REPLICAS = {"orders": ([1, 2, 3], [3, 1, 2]), "alone": ([3], [2])}
LINES = """
topics --list
topics --describe --topic orders
topics --describe --topic orders --under-replicated-partitions
topics --describe --topic alone
topics --describe --topic alone --unavailable-partitions
topics --describe --topic orders --under-min-isr-partitions
topics --describe --topic orders --at-min-isr-partitions
topics --create --topic on-two --replication-factor 2 --partitions 1
topics --create --topic on-three --replication-factor 3 --partitions 1
topics --create --topic chosen --replica-assignment 3:1:2
topics --create --topic on-none --replica-assignment 3
topics --describe --topic chosen
topics --alter --topic chosen --partitions 2 --replica-assignment 3:1:2,3:2:1
topics --alter --topic on-two --partitions 2
topics --delete --topic on-two
log-dirs --describe --topic-list orders,alone
log-dirs --describe --topic-list orders --broker-list 1,2
log-dirs --describe --topic-list orders --broker-list 1,3
get-offsets --topic orders
get-offsets --topic alone --partitions 1
configs --describe --entity-type topics --entity-name orders
leader-election --election-type preferred --topic orders --partition 1
leader-election --election-type preferred --topic orders --partition 0
leader-election --election-type unclean --topic alone --partition 0
groups --list
""".strip().splitlines()
ITS_OWN = [
    (re.compile(pattern), word)
    for pattern, word in (
        (r'"logDir":"[^"]*"', '"logDir":(folder)'),
        (r'"size":\d+', '"size":(bytes)'),
        (r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{22}(?![A-Za-z0-9_-])", "(id)"),
        (r"[\w.]+:\d{4,5}", "(address)"),
        (r"\[Thread-\d+\]", "(thread)"),
    )
]


def make_topics(broker):
    for name, placed in REPLICAS.items():
        assignments = []
        for number, replicas in enumerate(placed):
            assignments.append({"partition_index": number, "broker_ids": replicas})
        made = {"name": name, "num_partitions": -1, "replication_factor": -1}
        made["assignments"] = assignments
        asked = {"topics": [made], "timeout_ms": 20_000}
        [created] = broker.ask("CreateTopics", 5, **asked).topics
        assert created.error_code == 0, created
    while broker.produce("orders", batch(b"a", b"b")).error_code != 0:
        pass


def wait_until_it_is_missed(broker):
    """Returns when the others have taken over."""
    names = [{"name": name} for name in REPLICAS]
    asked = {"topics": names, "allow_auto_topic_creation": False}
    leaders = []
    while leaders != [1, 1, -1, 2]:
        found = {}
        for topic in broker.ask("Metadata", 12, **asked).topics:
            for each in topic.partitions:
                found[topic.name, each.partition_index] = each.leader_id
        leaders = [
            found.get((name, number)) for name in REPLICAS for number in range(2)
        ]


def told(java, bootstrap):
    """What the tools say that ask the broker here."""
    found = {}
    for line in LINES:
        tool, *words = line.split()
        done = java.run(tool, ["--bootstrap-server", bootstrap, *words])
        text = done["out"] + done["err"]
        for pattern, word in ITS_OWN:
            text = pattern.sub(word, text)
        lines = {" ".join(each.split()) for each in text.splitlines()}
        # where in a program of Java an error was met
        kept = sorted(each for each in lines if each and not each.startswith("at "))
        found[line] = [f"exit {done['exit']}", *kept]
    return found


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    options = ("--processes", "--brokers", "3", *overrides(LIKE_THEIRS))
    found = []
    with Tools() as java:
        with Served(data=data, options=options) as kafka:
            first = kafka.bootstrap.split(",")[0]
            with Connection(first) as broker:
                make_topics(broker)
                # so that it can't start again
                (data / f"broker-{DOWN}" / "meta.properties").write_text("none")
                os.kill(process_of(data, DOWN), signal.SIGKILL)
                wait_until_it_is_missed(broker)
            found.append(told(java, first))
        with JvmCluster(an_address(), jvm=SMALL_JVM) as kafka:
            first = kafka.bootstrap.split(",")[0]
            with Connection(first) as broker:
                make_topics(broker)
                kafka.processes[f"kafka-{DOWN}"].kill()
                wait_until_it_is_missed(broker)
            found.append(told(java, first))
    return found


@pytest.mark.compares
@pytest.mark.parametrize("line", LINES)
def test_a_tool_says_the_same_while_a_broker_is_down(sides, line):
    ours, theirs = sides
    assert ours[line] == theirs[line]
