"""What lesson 08 claims about compaction and deletion, as one check each, run on
minikafka and on Apache Kafka over TCP.

The ledger (`notebooks/claims.toml`) names these tests as its evidence.
"""

import itertools
import os
import sys
import time
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

from minikafka.server.embedded import Served
from tests.clients.brokers import fresh_name, overrides
from tests.kafka import BOTH, ApacheKafka

pytestmark = pytest.mark.slow

# each record is 5 s after the last one, so each is alone in its segment
TIME, STEP_MS = 1_700_000_000_000, 5000
EAGER = {"segment.ms": "1000", "min.cleanable.dirty.ratio": "0.01"}
QUICK = {
    "log.cleaner.backoff.ms": "50",
    "log.retention.ms": "-1",
    "log.retention.check.interval.ms": "1000",
}
PATIENCE_S = 240


@pytest.fixture(
    scope="module",
    params=BOTH,
)
def kafka(request):
    """The bootstrap address of either broker."""
    if request.param == "minikafka":
        with Served(options=overrides(QUICK)) as served:
            yield served.bootstrap
    else:
        with ApacheKafka(QUICK) as apache:
            yield apache.bootstrap


class Book:
    """A compacted topic of one partition, and who writes and reads it."""

    def __init__(self, bootstrap, **configs):
        self.bootstrap = bootstrap
        self.partition = TopicPartition(fresh_name("addresses"), 0)
        self._times = itertools.count(TIME, STEP_MS)
        named = {name.replace("_", "."): value for name, value in configs.items()}
        make_topic(bootstrap, self.partition.topic, {**COMPACTED, **named})

    def write(self, *pairs):
        """(key, value) pairs; a value of None is a tombstone."""
        producer = KafkaProducer(bootstrap_servers=self.bootstrap, linger_ms=0)
        for key, value in pairs:
            producer.send(
                self.partition.topic,
                key=key,
                value=value,
                partition=0,
                timestamp_ms=next(self._times),
            ).get(60)
        producer.close()

    def reader(self):
        consumer = KafkaConsumer(
            bootstrap_servers=self.bootstrap, auto_offset_reset="none"
        )
        consumer.assign([self.partition])
        consumer.seek(self.partition, 0)
        return consumer

    def read(self):
        """(offset, key, value) of all that is there."""
        consumer = self.reader()
        found = read_on(consumer, self.partition)
        consumer.close()
        return found

    def wait_for(self, condition):
        """Reads from the start until what is there is so."""
        until = time.monotonic() + PATIENCE_S
        while not condition(found := self.read()):
            assert time.monotonic() < until, found
        return found


COMPACTED = {"cleanup.policy": "compact", **EAGER}


def make_topic(bootstrap, name, configs):
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    settings = {"num_partitions": 1, "replication_factor": 1, "configs": configs}
    admin.create_topics({name: settings})
    admin.wait_for_topics([name], 1000 * PATIENCE_S)
    admin.close()


def read_on(consumer, partition):
    """All up to the log's end, from the consumer's position on."""
    end = consumer.end_offsets([partition])[partition]
    found = []
    until = time.monotonic() + PATIENCE_S
    while consumer.position(partition) < end and time.monotonic() < until:
        for records in consumer.poll(timeout_ms=1000).values():
            found += [(record.offset, record.key, record.value) for record in records]
    return found


def test_kip_354_without_another_write_both_records_stay_whatever_max_compaction_lag_says(
    kafka,
):
    quiet = Book(kafka, max_compaction_lag_ms="1000")
    busy = Book(kafka, max_compaction_lag_ms="1000")
    for book in (quiet, busy):
        book.write((b"alice", b"12 Elm Street"), (b"alice", None))
    # The cleaner has come to the other topic twice.
    for customer in (b"bob", b"carol"):
        busy.write((customer, b"1 Oak Road"))
        offsets = busy.wait_for(lambda found: found[0][0] > 0)
        assert offsets[0][0] in (1, 2)
    assert quiet.read() == [(0, b"alice", b"12 Elm Street"), (1, b"alice", None)]
    quiet.write((b"bob", b"1 Oak Road"))
    quiet.wait_for(lambda found: found[0] == (1, b"alice", None))


def test_what_stays_keeps_its_offset_and_a_gap_is_not_out_of_range(kafka):
    book = Book(kafka)
    book.write((b"a", b"0"), (b"b", b"1"), (b"a", b"2"), (b"c", b"3"), (b"a", b"4"))
    book.write((b"c", b"5"), (b"last", b"6"))
    found = book.wait_for(lambda found: len(found) == 4)
    assert [offset for offset, _, _ in found] == [1, 4, 5, 6]
    consumer = book.reader()
    assert consumer.beginning_offsets([book.partition]) == {book.partition: 0}
    consumer.seek(book.partition, 2)
    assert read_on(consumer, book.partition)[0] == (4, b"a", b"4")
    consumer.close()


@pytest.fixture
def gone(kafka):
    """A book in which alice was deleted, and the tombstone, too, is gone; and a reader
    that stands where it had read her address.
    """
    book = Book(kafka, delete_retention_ms="1")
    book.write((b"alice", b"12 Elm Street"), (b"bob", b"0"))
    slow = book.reader()
    assert (0, b"alice", b"12 Elm Street") in read_on(slow, book.partition)
    book.write((b"alice", None), (b"bob", b"1"))
    book.wait_for(lambda found: found[0][0] > 0)

    def without_alice(found):
        if any(key == b"alice" for _, key, _ in found):
            book.write((b"bob", b"again"))  # a pass needs something to clean
            return False
        return True

    book.wait_for(without_alice)
    yield book, slow
    slow.close()


def test_kip_534_a_reader_that_is_away_for_too_long_never_sees_the_tombstone(gone):
    book, slow = gone
    assert all(key == b"bob" for _, key, _ in read_on(slow, book.partition))


def test_kip_534_who_reads_again_from_the_start_into_its_old_table_keeps_what_was_deleted(
    gone,
):
    book, slow = gone
    old, new = {b"alice": b"12 Elm Street", b"bob": b"0"}, {}
    slow.seek(book.partition, 0)
    for _, key, value in read_on(slow, book.partition):
        for table in (old, new):
            if value is None:
                table.pop(key, None)
            else:
                table[key] = value
    assert old.keys() == {b"alice", b"bob"}
    assert new.keys() == {b"bob"}


@pytest.mark.java
@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_apache_kafka_keeps_each_segments_log_open_and_its_indexes_mapped():
    with ApacheKafka(QUICK) as kafka:
        name = fresh_name("orders")
        make_topic(kafka.bootstrap, name, {"segment.ms": "1000"})
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap, linger_ms=0)
        for number in range(20):
            at = TIME + number * STEP_MS
            producer.send(name, b"order", partition=0, timestamp_ms=at).get(60)
        producer.close()
        process = Path("/proc", str(kafka.process.pid))
        of_topic = f"/{name}-0/"
        # without readlink's error for a file that has been closed since it was listed
        is_open = {os.path.realpath(each) for each in (process / "fd").iterdir()}
        logs = [file for file in is_open if of_topic in file and file.endswith(".log")]
        assert len(logs) == 20
        maps = (process / "maps").read_text().splitlines()
        mapped = {line.split()[-1] for line in maps if of_topic in line}
        assert len(mapped) >= 20


def test_with_a_topic_go_the_offsets_that_groups_have_committed_for_it(kafka):
    group, topic = fresh_name("billing"), fresh_name("orders")
    partition = TopicPartition(topic, 0)
    make_topic(kafka, topic, {})
    producer = KafkaProducer(bootstrap_servers=kafka)
    assert producer.send(topic, b"old", partition=0).get(60).offset == 0
    consumer = KafkaConsumer(
        bootstrap_servers=kafka, group_id=group, enable_auto_commit=False
    )
    consumer.assign([partition])
    consumer.commit({partition: OffsetAndMetadata(1, "", -1)})
    consumer.close()
    admin = KafkaAdminClient(bootstrap_servers=kafka)
    assert partition in committed(admin, group)
    admin.delete_topics([topic])
    until = time.monotonic() + PATIENCE_S
    while partition in committed(admin, group) or topic in admin.list_topics():
        assert time.monotonic() < until
    admin.close()
    producer.close()
    make_topic(kafka, topic, {})
    producer = KafkaProducer(bootstrap_servers=kafka)
    assert producer.send(topic, b"new", partition=0).get(60).offset == 0
    producer.close()


def committed(admin, group):
    return {
        partition
        for partition, told in admin.list_group_offsets(group)[group].items()
        if told.offset >= 0
    }


def test_with_compact_and_delete_last_records_go_too_also_from_the_active_segment(
    kafka,
):
    book = Book(kafka, cleanup_policy="compact,delete", retention_ms="3600000")
    book.write((b"bob", b"1 Oak Road"), (b"alice", b"12 Elm Street"), (b"alice", None))
    consumer = book.reader()
    until = time.monotonic() + PATIENCE_S
    while consumer.beginning_offsets([book.partition])[book.partition] < 3:
        assert time.monotonic() < until
    assert consumer.end_offsets([book.partition])[book.partition] == 3
    consumer.close()
