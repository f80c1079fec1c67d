"""Lesson 16's commands without Java: kafka-python does what Apache Kafka's own tools do,
and prints the same, but for ids, folders and versions by name.
"""

import re

import pytest

from minikafka.course.experiments import lesson_16_tools as tools
from minikafka.course.experiments.lesson_16_cluster import RunningCluster, emptied
from tests.kafka import java_missing

pytestmark = [pytest.mark.slow, pytest.mark.java]

PLAN = "--reassignment-json-file plan.json"
LINES = (
    "kafka-topics.sh --bootstrap-server H --describe --topic orders",
    "kafka-topics.sh --bootstrap-server H --describe --topic audit",
    f"kafka-reassign-partitions.sh --bootstrap-server H {PLAN} --execute --throttle 9000000",
    f"kafka-reassign-partitions.sh --bootstrap-server H {PLAN} --verify",
    "kafka-leader-election.sh --bootstrap-server H --election-type preferred"
    " --all-topic-partitions",
    "kafka-configs.sh --bootstrap-server H --alter --entity-type topics --entity-name"
    " audit --add-config retention.ms=1000,segment.ms=2000",
    "kafka-configs.sh --bootstrap-server H --alter --entity-type clients --entity-name"
    " loader --add-config producer_byte_rate=500000",
    "kafka-features.sh --bootstrap-server H describe",
)


@pytest.fixture(scope="module")
def cluster():
    if java_missing():
        pytest.skip(java_missing())
    running = RunningCluster(orders_mb=1)
    yield running
    running.close()


def facts(text):
    """Words, without what Python's doesn't print or what no two runs share."""
    text = re.sub(r"TopicId: \S+|Elr: *|LastKnownElr: *|Epoch: \d+", "", text)
    text = re.sub(r'"log_dirs":\[[^]]*\]', "", text)
    text = re.sub(r"\d\.\d+-IV\d+|\b(7|33)\b", "version", text)  # metadata.version
    return [line.split() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("line", LINES)
def test_kafka_python_says_what_kafkas_own_tool_says(cluster, line):
    cluster.write("plan.json", {"orders": cluster.replicas("orders")})
    name, *words = line.split()
    ours = tools.in_python(name, words, cluster.bootstrap, cluster._folder)
    theirs = tools.run(line, cluster.bootstrap, cluster._folder)
    assert facts(ours) == facts(theirs)


def test_a_throttle_without_java_is_what_the_tool_would_set_and_is_taken_back(cluster):
    cluster.write("plan.json", {"audit": {0: [2, 3]}})
    words = ["--bootstrap-server", "H", *PLAN.split(), "--execute", "--throttle", "777"]
    name = "kafka-reassign-partitions.sh"
    tools.in_python(name, words, cluster.bootstrap, cluster._folder)
    asked = "kafka-configs.sh --bootstrap-server H --describe --entity-type"
    topic = tools.run(f"{asked} topics --entity-name audit", cluster.bootstrap, ".")
    assert "leader.replication.throttled.replicas=0:1 " in topic
    assert "follower.replication.throttled.replicas=0:2,0:3 " in topic
    broker = tools.run(f"{asked} brokers --entity-name 3", cluster.bootstrap, ".")
    assert "follower.replication.throttled.rate=777 " in broker
    cluster.until_moved()
    words = ["--bootstrap-server", "H", *PLAN.split(), "--verify"]
    tools.in_python(name, words, cluster.bootstrap, cluster._folder)
    for kind, entity in (("topics", "audit"), ("brokers", "3")):
        left = tools.run(
            f"{asked} {kind} --entity-name {entity}", cluster.bootstrap, "."
        )
        assert "throttled" not in left


def test_what_can_not_be_done_without_java_is_told_with_what_can(cluster):
    with pytest.raises(
        tools.NoSuchCommand, match=r"kafka-topics.sh --describe --topic"
    ):
        tools.in_python("kafka-topics.sh", ["--delete"], cluster.bootstrap, ".")
    with pytest.raises(tools.NoSuchCommand, match="kafka-topics isn't one of"):
        tools.run("kafka-topics --list", cluster.bootstrap, ".")


def test_the_plan_that_stands_in_is_as_exercise_2_asks():
    replicas = {0: [1, 2], 1: [2, 1], 2: [1, 3]}
    assert emptied(replicas, 1, [1, 2, 3, 4]) == {0: [4, 2], 1: [2, 3], 2: [4, 3]}
