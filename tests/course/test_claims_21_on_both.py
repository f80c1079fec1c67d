"""What lesson 21 claims about state beside Kafka, run on minikafka and on Apache Kafka
over TCP: its word count, with kafka-python's clients. (Schemas:
test_lesson_21_registry.py; Connect: tests/clients/test_connect.py.)
"""

from collections import Counter

import pytest
from kafka import (
    ConsumerRebalanceListener,
    KafkaAdminClient,
    KafkaConsumer,
    KafkaProducer,
    TopicPartition,
)
from kafka.structs import OffsetAndMetadata

from minikafka.course.experiments.lesson_21_streams import (
    CHANGELOG,
    LINES,
    WORDS,
    WordCount,
)
from tests.clients.nodes import QUICK, node
from tests.kafka import BOTH

pytestmark = pytest.mark.slow

PARTITIONS = 2
ConsumerRebalanceListener.register(WordCount)  # kafka-python asks for its own class
TEXT = ["to be or not to be", "that is the question", "to be"]


class Killed(Exception):
    """As by kill -9: nothing more is sent."""


class Clients:
    """Makes the clients of one instance, over TCP."""

    def __init__(self, bootstrap, exactly_once):
        self.bootstrap, self.exactly_once = bootstrap, exactly_once

    def producer(self):
        named = {"transactional_id": "word-count-1"} if self.exactly_once else {}
        self.made = KafkaProducer(bootstrap_servers=self.bootstrap, **named)
        if self.exactly_once:
            self.made.init_transactions()
        return self.made

    def reader(self, **config):
        return KafkaConsumer(
            bootstrap_servers=self.bootstrap,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            enable_auto_commit=False,
            **config,
        )

    def consumer(self):
        self.member = self.reader(group_id="word-count", session_timeout_ms=6000)
        return self.member

    def all_records(self, topic, partition):
        reader, place = self.reader(group_id=None), TopicPartition(topic, partition)
        reader.assign([place])
        end, found = reader.end_offsets([place])[place], []
        while reader.position(place) < end:
            for records in reader.poll(timeout_ms=100).values():
                found += records
        reader.close()
        return found

    def begin(self, producer):
        if self.exactly_once:
            producer.begin_transaction()

    def commit(self, producer, consumer, polled):
        offsets = {
            place: OffsetAndMetadata(records[-1].offset + 1, "", -1)
            for place, records in polled.items()
        }
        if self.exactly_once:
            producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
            producer.commit_transaction()
        else:
            consumer.commit(offsets)

    def gone(self):
        """Nothing is committed by this."""
        self.member.close(autocommit=False)
        self.made.close(timeout=0)


@pytest.fixture(params=BOTH)
def bootstrap(request, tmp_path):
    with node(request.param, tmp_path / "data", QUICK) as broker:
        admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
        wanted = {"num_partitions": PARTITIONS, "replication_factor": 1}
        compacted = wanted | {"configs": {"cleanup.policy": "compact"}}
        names = [LINES, WORDS, CHANGELOG]
        admin.create_topics({LINES: wanted, WORDS: wanted, CHANGELOG: compacted})
        admin.wait_for_topics(names, 240_000)
        admin.close()
        with KafkaProducer(bootstrap_servers=broker.bootstrap) as author:
            for number, line in enumerate(TEXT):
                author.send(LINES, line.encode(), partition=number % PARTITIONS)
        yield broker.bootstrap


def works(instance, before_commit=lambda: None):
    """Until all words are there and counted."""
    words = sum(len(line.split()) for line in TEXT)
    done = 0
    while done < words + len(TEXT):
        done += instance.run_once(before_commit)


def counts(instance):
    found = Counter()
    for table in instance.tables.values():
        found.update(table)
    return found


ORACLE = Counter(" ".join(TEXT).split())


def test_a_new_instance_reads_the_changelog_to_its_end_a_record_a_count_and_knows_all(
    bootstrap,
):
    first = WordCount(Clients(bootstrap, exactly_once=True))
    works(first)
    assert counts(first) == ORACLE and first.restored == 0
    first.kafka.gone()
    second = WordCount(Clients(bootstrap, exactly_once=True))
    while len(second.tables) < PARTITIONS:
        second.run_once()
    assert second.restored == ORACLE.total() and counts(second) == ORACLE
    second.kafka.gone()


@pytest.mark.parametrize("exactly_once", [False, True])
def test_kip_129_killed_between_a_count_and_its_commit_counts_twice_unless_both_are_one_transaction(
    bootstrap, exactly_once
):
    def dies():
        counted = sum(map(len, first.tables.values()))
        if counted:
            raise Killed

    first = WordCount(Clients(bootstrap, exactly_once))
    with pytest.raises(Killed):
        works(first, dies)
    written = counts(first)
    first.kafka.gone()
    again = WordCount(Clients(bootstrap, exactly_once))
    settled = 0
    while settled < 10 or counts(again).total() < ORACLE.total():
        settled = 0 if again.run_once() else settled + 1
    assert counts(again) == ORACLE + (Counter() if exactly_once else written)
    again.kafka.gone()
