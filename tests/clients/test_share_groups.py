"""Share groups (KIP-932) with real clients: Java's KafkaShareConsumer (ShareWorkers.java),
kafka-console-share-consumer.sh and kafka-share-groups.sh, and confluent-kafka's
ShareConsumer, a preview.

What a Java member says of itself is a line a record: partition, offset, deliveries.
"""

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Producer, ShareConsumer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.clients.brokers import fresh_name, minikafka, until
from tests.kafka import (
    APACHE_KAFKA,
    BOTH,
    CONFIG_COMMAND,
    ApacheKafka,
    java_command,
    java_tool,
)

pytestmark = [pytest.mark.slow, pytest.mark.java]

PARTITIONS, RECORDS = 2, 400
WORKER = str(Path(__file__).with_name("ShareWorkers.java"))
# the shortest lock that a broker may have
LOCK = {"group.share.record.lock.duration.ms": "1000"}
ITS_LEAST = {"group.share.min.record.lock.duration.ms": "1000"}


@pytest.fixture(scope="module", params=BOTH)
def kafka(request):
    """The bootstrap address of either Kafka."""
    if request.param == APACHE_KAFKA:
        with ApacheKafka(LOCK | ITS_LEAST) as apache:
            yield apache.bootstrap
    else:
        with minikafka(LOCK) as address:
            yield address


@pytest.fixture
def queue(kafka):
    """A topic with records, and a group that reads it from the beginning. Its locks
    outlive whatever a busy machine does to a member.
    """
    return filled(kafka, "share.record.lock.duration.ms=60000")


@pytest.fixture
def queue_with_short_locks(kafka):
    return filled(kafka)


def filled(kafka, *configs):
    name = fresh_name("queue")
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result()
    asked = ["--alter", "--entity-type", "groups", "--entity-name", name]
    added = ["--add-config", ",".join(["share.auto.offset.reset=earliest", *configs])]
    done = java_tool(CONFIG_COMMAND, "--bootstrap-server", kafka, *asked, *added)
    assert done.returncode == 0, done.stderr
    producer = Producer({"bootstrap.servers": kafka})
    for number in range(RECORDS):
        producer.produce(name, str(number), partition=number % PARTITIONS)
    assert producer.flush(60) == 0
    return name


class Worker:
    """One member in a process of its own."""

    def __init__(self, kafka, queue, what):
        self.process = subprocess.Popen(
            java_command(WORKER, kafka, queue, queue, what),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def line(self):
        return self.process.stdout.readline().strip()

    def end(self):
        """The records that it accepted: (partition, offset), with their deliveries."""
        said, _ = self.process.communicate(timeout=240)
        lines = [line.split() for line in said.splitlines()]
        return {
            (int(line[0]), int(line[1])): int(line[2])
            for line in lines
            if len(line) == 3
        }

    def kill(self):
        self.process.kill()
        self.process.communicate(timeout=60)


def everything():
    each = RECORDS // PARTITIONS
    return {(number, at) for number in range(PARTITIONS) for at in range(each)}


@pytest.mark.parametrize("what", ["accept", "implicit"])
def test_javas_share_consumer_accepts_every_record_once(kafka, queue, what):
    accepted = Worker(kafka, queue, what).end()
    assert accepted.keys() == everything()
    assert set(accepted.values()) == {1}


def test_what_java_releases_comes_again_and_what_it_rejects_never(kafka, queue):
    accepted = Worker(kafka, queue, "release").end()
    assert accepted.keys() == everything()
    assert set(accepted.values()) == {2}
    rest = fresh_name("rest")
    asked = ["--alter", "--entity-type", "groups", "--entity-name", rest]
    reset = ["--add-config", "share.auto.offset.reset=earliest"]
    java_tool(CONFIG_COMMAND, "--bootstrap-server", kafka, *asked, *reset)
    process = subprocess.run(
        java_command(WORKER, kafka, queue, rest, "reject"),
        capture_output=True,
        text=True,
        timeout=240,
    )
    lines = [line.split() for line in process.stdout.splitlines()]
    offsets = {int(line[1]) % 2 for line in lines if len(line) == 3}
    assert offsets == {0}


def test_a_java_member_that_is_killed_loses_no_record(kafka, queue_with_short_locks):
    hangs = Worker(kafka, queue_with_short_locks, "hang")
    assert hangs.line() == "ready"
    assert hangs.line().startswith("hangs with")
    others = [Worker(kafka, queue_with_short_locks, "accept") for _ in range(2)]
    hangs.kill()
    accepted = [worker.end() for worker in others]
    deliveries = Counter()
    for one in accepted:
        deliveries.update(one.keys())
    assert deliveries.keys() == everything()
    assert set(deliveries.values()) == {1}, "each is accepted by one member"
    counts = [count for one in accepted for count in one.values()]
    assert max(counts) >= 2, "what the dead one had came again"


def share_groups(kafka, *args):
    """What kafka-share-groups.sh says."""
    main = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
    done = java_tool(main, "--bootstrap-server", kafka, *args)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_console_share_consumer_reads_and_the_tool_shows_resets_and_deletes(
    kafka, queue
):
    read = java_tool(
        "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
        "--bootstrap-server",
        kafka,
        "--topic",
        queue,
        "--group",
        queue,
        "--max-messages",
        str(RECORDS),
        "--timeout-ms",
        "60000",
    )
    assert len(read.stdout.splitlines()) == RECORDS, read.stderr
    assert queue in share_groups(kafka, "--list").split()
    named = ["--group", queue]
    until(lambda: "Empty" in share_groups(kafka, "--describe", *named, "--state"))
    described = share_groups(kafka, "--describe", *named).split()
    assert described.count(queue) == 2 * PARTITIONS
    topic = ["--topic", queue]
    reset = [*named, *topic, "--to-earliest", "--execute"]
    assert queue in share_groups(kafka, "--reset-offsets", *reset)
    assert "0" in share_groups(kafka, "--describe", *named).split()
    share_groups(kafka, "--delete-offsets", *named, *topic)
    share_groups(kafka, "--delete", *named)
    assert queue not in share_groups(kafka, "--list").split()


def test_confluents_share_consumer_accepts_every_record(kafka, queue):
    consumer = ShareConsumer({"bootstrap.servers": kafka, "group.id": queue})
    consumer.subscribe([queue])
    read = Counter()

    def all_came():
        for message in consumer.poll(1.0):
            assert message.error() is None, message.error()
            read[message.partition(), message.offset()] += 1
        return len(read) == RECORDS

    until(all_came, "every record came")
    consumer.commit_sync()
    consumer.close()
    assert read.keys() == everything()
