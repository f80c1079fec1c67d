"""Lesson 08's checks, beside test_every_exercise.py and wrong_answers/: they agree with
our cleaner, our recovery, and Apache Kafka's cleaner.
"""

import itertools
import random
import time

import pytest

from minikafka.course import lessons
from minikafka.course.experiments.lesson_08_runs import Record, torn_log
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage import checkpoints
from minikafka.storage.segment import LOG, file_name
from minikafka.wire.errors import Error
from minikafka.wire.records import batches, decode_batch, encode_batch, stamp
from tests.conformance.raw import Connection
from tests.course.answers import solution
from tests.kafka import ApacheKafka
from tests.seeds import seeds
from tests.storage.logs import Now, recovered
from tests.storage.tables import clean, open_table, roll
from tests.storage.test_compaction_apache_kafka import alter

pytestmark = pytest.mark.slow

checks = lessons.lesson("08")._module
HOUR = 3_600_000
SEEDS = range(300)


def case_of(seed):
    """A random case whose tombstones have no horizon yet: a log's first pass."""
    source = random.Random(seed)
    segments, now_ms, lag_ms, retention_ms = checks.drawn(
        source, ages=True, tombstones=True
    )
    fresh = [
        [record._replace(horizon_ms=None) for record in segment] for segment in segments
    ]
    return fresh, now_ms, lag_ms, retention_ms


def batch_of(record):
    value = None if record.value is None else record.value.encode()
    key = record.key.encode()
    return bytearray(encode_batch([(record.timestamp_ms, key, value, [])]))


def renumbered(segments):
    """As a broker gives offsets: from 0, without gaps."""
    offsets = itertools.count()
    return [
        [record._replace(offset=next(offsets)) for record in segment]
        for segment in segments
    ]


def what_is_left(pairs):
    """(header, records) of batches as the exercise's records."""
    return [
        Record(
            record.offset,
            record.timestamp,
            bytes(record.key).decode(),
            None if record.value is None else bytes(record.value).decode(),
            header.delete_horizon if record.value is None else None,
        )
        for header, records in pairs
        for record in records
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_exercises_cleaner_keeps_what_ours_keeps(seed):
    segments, now_ms, lag_ms, retention_ms = case_of(seed)
    segments = renumbered(segments)
    log = open_table(
        segment_bytes=1 << 20,
        min_compaction_lag_ms=lag_ms,
        delete_retention_ms=retention_ms,
        min_cleanable_dirty_ratio=0.0,
    )
    for number, segment in enumerate(segments):
        if number:
            roll(log)
        for record in segment:
            log.append(batch_of(record), 0, Now(now_ms))
    expected = checks.kept(segments, now_ms, lag_ms, retention_ms)
    was_cleaned = clean(log, now_ms)
    found = what_is_left(
        (header, decode_batch(segment.batch(position, header)))
        for segment in log.segments
        for position, header in segment.headers(0)
    )
    assert found == expected
    assert (
        was_cleaned or len(segments) == 1 or expected == [*itertools.chain(*segments)]
    )


@pytest.mark.parametrize("seed", seeds(range(20)))
def test_the_exercises_recovery_cuts_where_ours_cuts(seed):
    data, whole = torn_log(seed)
    assert solution("08", 2)(data) == whole
    disk = MemoryDisk()
    disk.mkdir("orders-0")
    disk.open(f"orders-0/{file_name(0, LOG)}").append([renumbered_batches(data, whole)])
    assert recovered(disk).size_bytes == whole


def renumbered_batches(data, whole):
    """The same bytes with offsets as a log has them: no checksum covers them."""
    data = bytearray(data)
    offset = at = 0
    for header, batch in batches(bytes(data[:whole])):
        stamp(memoryview(data)[at : at + len(batch)], offset, 0, None)
        offset += header.records_count
        at += len(batch)
    return data


# -- Apache Kafka's cleaner

LAGS = (0, HOUR, 5 * HOUR)
PARTITIONS = 100  # for each
RETENTION = 24 * HOUR
# none of them is near to a lag: the cleaner's clock is its own
AGES = (0, HOUR // 2, 2 * HOUR, 9 * HOUR, 9 * HOUR, 99 * HOUR)


@pytest.mark.nightly
@pytest.mark.java
def test_apache_kafkas_cleaner_keeps_what_the_exercise_keeps(tmp_path):
    """300 random logs, one a partition, in the segments that Apache Kafka made of
    them.
    """
    properties = {"log.cleaner.backoff.ms": "100", "log.retention.ms": "-1"}
    with (
        ApacheKafka(properties, data=tmp_path) as kafka,
        Connection(kafka.bootstrap) as broker,
    ):
        now_ms = 1000 * int(time.time())
        for number, lag_ms in enumerate(LAGS):
            topic = f"addresses-{number}"
            write_logs(broker, topic, lag_ms, now_ms)
            written = [segments_on_disk(tmp_path, topic, each) for each in range(100)]
            alter(broker, topic, "compact")
            for partition, segments in enumerate(written):
                case = segments, now_ms, lag_ms, RETENTION
                expected = checks.kept(*case)
                found = wait_for_cleaner(tmp_path, topic, partition, case)
                assert found == [without_time(each) for each in expected]


def write_logs(broker, topic, lag_ms, now_ms):
    broker.create_topic(
        topic,
        PARTITIONS,
        cleanup_policy="delete",
        segment_ms=HOUR,
        min_cleanable_dirty_ratio=0.0,
        min_compaction_lag_ms=lag_ms,
        delete_retention_ms=RETENTION,
    )
    for partition in range(PARTITIONS):
        source = random.Random(f"{topic} {partition}")
        keys = source.sample(checks.KEYS, source.randint(1, len(checks.KEYS)))
        for _ in range(source.randint(1, 14)):
            record = checks.drawn_record(source, 0, keys, tombstones=True)
            record = record._replace(timestamp_ms=now_ms - source.choice(AGES))
            append(broker, topic, partition, batch_of(record))


def append(broker, topic, partition, batch):
    """A partition just made may not have heard yet that it leads."""
    not_yet = (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.NOT_LEADER_OR_FOLLOWER)
    while True:
        answer = broker.produce(topic, bytearray(batch), partition=partition)
        if answer.error_code not in not_yet:
            assert answer.error_code == Error.NONE
            return


def segments_on_disk(data, topic, partition):
    """Lists of records, a list a segment file."""
    folder = data / f"{topic}-{partition}"
    return [
        what_is_left((header, decode_batch(one)) for header, one in batches(content))
        for content in (path.read_bytes() for path in sorted(folder.glob("*.log")))
    ]


def wait_for_cleaner(data, topic, partition, case):
    """What is on the disk when the cleaner has been everywhere where it may clean."""
    end = min(checks.untouched_offsets(case))
    until = time.monotonic() + 120
    while end > 0 and cleaned_offset(data, topic, partition) < end:
        assert time.monotonic() < until, f"{topic}-{partition} is not cleaned to {end}"
    left = itertools.chain(*segments_on_disk(data, topic, partition))
    return [without_time(each) for each in left]


def cleaned_offset(data, topic, partition):
    """What Apache Kafka notes: a line a partition, after two lines of its own."""
    lines = (data / checkpoints.CLEANER_OFFSETS).read_text().splitlines()[2:]
    known = {tuple(line.split()[:2]): int(line.split()[2]) for line in lines}
    return known.get((topic, str(partition)), 0)


def without_time(record):
    """The horizon counts from the moment of the pass: here only whether there is one."""
    return record._replace(horizon_ms=record.horizon_ms is not None)
