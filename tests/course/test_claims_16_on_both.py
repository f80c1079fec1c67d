"""What lessons 04, 11, 14 and 16 claim about a cluster and its tools, run on minikafka and on
Apache Kafka over TCP. What an operator does is in tests/clients/test_operating.py.
"""

import json
import time
import uuid
from collections import Counter

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from datasets import customers_cdc, replay
from minikafka.simulation.cluster import Cluster
from tests.course.on_both import PATIENCE_SECONDS, take
from tests.kafka import java_tool

pytestmark = pytest.mark.slow

CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"


def test_a_producer_that_names_an_unknown_topic_creates_it_with_one_partition(
    topic, write
):
    name = f"ordres-{uuid.uuid4().hex}"
    assert name not in topic.admin.list_topics()
    write(name, [b"alice created", b"alice paid"])
    (found,) = topic.admin.describe_topics([name])
    assert len(found["partitions"]) == 1


def test_so_does_a_consumer(topic, bootstrap):
    """The change of the lesson's first round."""
    name = f"ordres-{uuid.uuid4().hex}"
    consumer = KafkaConsumer(name, bootstrap_servers=bootstrap)
    until = time.monotonic() + PATIENCE_SECONDS
    while name not in topic.admin.list_topics() and time.monotonic() < until:
        consumer.poll(timeout_ms=200)
    consumer.close()
    assert name in topic.admin.list_topics()


@pytest.mark.java
def test_from_beginning_counts_only_where_a_group_has_committed_nothing(
    topic, write, bootstrap
):
    """Kafka's own console consumer."""
    name = topic()
    write(name, [b"created", b"paid", b"sent"], partition=0)

    def read(group, timeout_ms=120_000):
        options = (
            "--group",
            f"{group}-{name}",
            "--from-beginning",
            "--max-messages",
            "3",
        )
        options += ("--timeout-ms", str(timeout_ms))
        return java_tool(
            CONSUMER, "--bootstrap-server", bootstrap, "--topic", name, *options
        ).stdout.split()

    assert read("billing") == ["created", "paid", "sent"]
    assert read("billing", 8000) == []
    assert read("audit") == ["created", "paid", "sent"]


def test_a_table_of_changes_ends_right_when_some_come_again_and_their_count_does_not(
    topic, bootstrap, reader
):
    changes = list(customers_cdc.generate(count=200, seed=7))
    name = topic(partitions=3, retention_ms=-1)
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        replay.send(producer, changes, name, partitions=3)
    records = take(
        reader(*(TopicPartition(name, number) for number in range(3))), len(changes)
    )
    assert len(records) == len(changes)
    table = {}
    for record in records:
        after = None if record.value is None else json.loads(record.value)["after"]
        table.pop(record.key.decode(), None)
        if after is not None:
            table[record.key.decode()] = after
    assert table == customers_cdc.current(changes)
    numbers = Counter(
        json.loads(record.value)["lsn"]
        for record in records
        if record.value is not None
    )
    assert (len(numbers), numbers.total()) == (240, 245)


def test_describe_says_what_the_controllers_last_agreed_on():
    """With one of three controllers left, a second death can't be noted: the ISR still
    names a dead broker. (tests/docker has the same on Apache Kafka.)
    """
    cluster = Cluster(brokers=3, seed=16)
    cluster.create_topic("orders", partitions=3, replication_factor=3)
    cluster.run(seconds=1)
    for broker in 3, 2:
        cluster.crash(broker)
        cluster.run(seconds=60)
    assert list(cluster.partition("orders", 0).isr) == [1, 2]
