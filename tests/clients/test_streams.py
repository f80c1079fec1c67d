"""Kafka Streams with processing.guarantee=exactly_once_v2 (KIP-129, KIP-447), its
threads as consumers of a classic group and as members of a streams group (KIP-1071):
WordCount.java.

It is killed with kill -9 and started again, and on three brokers so is one of them,
while lines come. What it counted it reads in its changelog then. Its cache is off, so
each word's counts come one by one: with exactly once they are 1, 2, 3 ..., none twice
and none missing.
"""

import subprocess
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from minikafka.course.experiments import lesson_21_streams
from tests.clients.brokers import until
from tests.clients.nodes import QUICK, SESSION_MS, node
from tests.clients.test_confluent_kafka import finish
from tests.kafka import APACHE_KAFKA, BOTH, java_command
from tests.soak.failover import REPLICATED, running, wait_until_in_sync
from tests.soak.kill import RECONNECT

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.java]

PARTITIONS, PATIENCE_S = 2, 240
# how often it is killed; a streams group's member that is gone is missed for a session
KILLS = {"classic": 3, "streams": 2}
SHORT_SESSIONS = {
    "group.streams.session.timeout.ms": str(SESSION_MS),
    "group.streams.heartbeat.interval.ms": "300",
    "group.streams.initial.rebalance.delay.ms": "0",
}
LINES_BETWEEN_KILLS = 2000
WORDS = ("to", "be", "or", "not", "that", "is", "the", "question")
ITS_TOPICS = ("lines", "counts", "__consumer_offsets", "__transaction_state")


class Counting:
    """The process of Kafka Streams. protocol: classic or streams. replicas: of its own
    topics.
    """

    def __init__(self, bootstrap, folder, protocol, replicas):
        source = str(Path(__file__).with_name("WordCount.java"))
        self.command = java_command(source, bootstrap, folder, protocol, str(replicas))
        self.said = Path(folder) / "said"
        self.start()

    def start(self):
        with self.said.open("ab") as said:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )

    def kill(self):
        self.process.kill()
        self.process.wait()


class Counts:
    """Reads the counts, committed ones only. latest: word -> count."""

    def __init__(self, bootstrap, counting):
        options = {
            "group.id": "unused",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
        self.consumer = Consumer(
            {"bootstrap.servers": bootstrap, **options, **RECONNECT}
        )
        self.consumer.assign(
            [TopicPartition("counts", number, 0) for number in range(PARTITIONS)]
        )
        self.counting, self.latest = counting, Counter()

    def read_until(self, total):
        """Every count is the one that comes next for its word."""
        until = time.monotonic() + PATIENCE_S
        while self.latest.total() < total:
            for message in self.consumer.consume(500, 0.2):
                if message.error() is None:
                    word = message.key().decode()
                    self.latest[word] += 1
                    assert int(message.value()) == self.latest[word], (
                        f"{word} at {message.offset()}"
                    )
            said = self.counting.said.read_text()[-3000:]
            assert self.counting.process.poll() is None, said
            assert time.monotonic() < until, (
                f"{self.latest.total()} of {total} words are counted: {said}"
            )


class Lines:
    """Writes lines. words: word -> how often it was written."""

    def __init__(self, bootstrap):
        options = {"enable.idempotence": True, "linger.ms": 5, **RECONNECT}
        self.producer, self.words = (
            Producer({"bootstrap.servers": bootstrap, **options}),
            Counter(),
        )

    def write(self):
        for number in range(LINES_BETWEEN_KILLS):
            line = [WORDS[number % 8], WORDS[number % 3]]
            self.words.update(line)
            self.producer.produce(
                "lines", " ".join(line), partition=number % PARTITIONS
            )
        assert self.producer.flush(PATIENCE_S) == 0


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("protocol", KILLS)
def test_kip_447_kafka_streams_counts_every_word_once_though_it_and_a_broker_are_killed(
    protocol, kind, tmp_path
):
    with running(kind == APACHE_KAFKA, SHORT_SESSIONS) as cluster:
        create_topics(cluster.bootstrap, replicas=3, config=REPLICATED)
        wait_until_in_sync(cluster.bootstrap, ("lines", "counts"))

        def meanwhile(number):
            if number == 1:
                wait_until_in_sync(cluster.bootstrap, ITS_TOPICS)
                cluster.kill(2)

        counting = Counting(cluster.bootstrap, str(tmp_path), protocol, replicas=3)
        counts_every_word(cluster.bootstrap, counting, KILLS[protocol], meanwhile)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("kind", BOTH)
def test_kip_1071_kafka_streams_is_a_streams_group_and_restores_its_state_after_a_kill(
    kind, tmp_path
):
    with node(kind, tmp_path / "data", QUICK | SHORT_SESSIONS) as broker:
        create_topics(broker.bootstrap, replicas=1, config={})
        folder = tmp_path / "state"
        folder.mkdir()
        counting = Counting(broker.bootstrap, str(folder), "streams", replicas=1)
        counts_every_word(broker.bootstrap, counting, KILLS["streams"])


def create_topics(bootstrap, replicas, config):
    admin = AdminClient({"bootstrap.servers": bootstrap, **RECONNECT})
    topics = [
        NewTopic(name, PARTITIONS, replicas, config=config)
        for name in ("lines", "counts")
    ]
    finish(admin.create_topics(topics))


def counts_every_word(bootstrap, counting, kills, meanwhile=lambda number: None):
    """Lines come, and it is killed and started again as often. meanwhile(number): what
    happens while it is dead.
    """
    lines, counts = Lines(bootstrap), Counts(bootstrap, counting)
    with closing(counts.consumer):
        try:
            for number in range(kills):
                lines.write()
                # in the middle of its work
                counts.read_until(lines.words.total() - LINES_BETWEEN_KILLS)
                counting.kill()
                meanwhile(number)
                counting.start()
            lines.write()
            counts.read_until(lines.words.total())
        finally:
            counting.kill()
        assert counts.latest == lines.words


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", BOTH)
def test_its_topics_are_named_after_the_program_and_the_store_as_lesson_21_says(
    kind, tmp_path
):
    with node(kind, tmp_path / "data", QUICK | SHORT_SESSIONS) as broker:
        create_topics(broker.bootstrap, replicas=1, config={})
        (tmp_path / "state").mkdir()
        counting = Counting(
            broker.bootstrap, str(tmp_path / "state"), "classic", replicas=1
        )
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        words, changelog = lesson_21_streams.WORDS, lesson_21_streams.CHANGELOG
        try:
            until(lambda: {words, changelog} <= names(admin))
        finally:
            counting.kill()
        its_own = {name for name in names(admin) if name.startswith("word-count")}
        assert its_own == {words, changelog}
        assert (
            policy(admin, words) == "delete" and policy(admin, changelog) == "compact"
        )


def names(admin):
    return set(admin.list_topics(timeout=60).topics)


def policy(admin, topic):
    """The topic's cleanup.policy."""
    asked = ConfigResource(ConfigResource.Type.TOPIC, topic)
    [described] = finish(admin.describe_configs([asked])).values()
    return described["cleanup.policy"].value
