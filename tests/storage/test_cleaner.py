"""Which log the cleaner takes, and when."""

import struct

import pytest

from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage.cleaner import Cleaner, find_dirt
from minikafka.wire.errors import KafkaError
from tests.storage.tables import (
    BUFFER_BYTES,
    clean,
    compact,
    entries,
    fail,
    open_table,
    put,
    roll,
)

HOUR_MS = 3_600_000


def filled(clean_records=0, dirty_records=0, **config):
    log = open_table(segment_bytes=1000, **config)
    for number in range(clean_records):
        put(log, (f"clean {number}", "x"))
    if clean_records:
        roll(log)
        compact(log)
    for number in range(dirty_records):
        put(log, (f"dirty {number}", "x"))
    if dirty_records:
        roll(log)
    return log


@pytest.mark.parametrize(
    ("dirty", "worth_it"),
    [(0, False), (10, False), (29, False), (31, True), (90, True)],
)
def test_a_log_is_cleaned_when_more_than_min_cleanable_dirty_ratio_of_it_is_dirty(
    dirty, worth_it
):
    log = filled(30, dirty, min_cleanable_dirty_ratio=0.5)
    assert clean(log) == worth_it
    assert (log.first_dirty_offset == log.log_end_offset) == (worth_it or not dirty)


def test_the_dirtiest_log_is_first():
    logs = [filled(30, 10), filled(30, 60), filled(30, 40)]
    cleaner = Cleaner(BUFFER_BYTES, fail)
    for log in logs:
        log.config = filled(min_cleanable_dirty_ratio=0.1).config
    order = []
    while (
        cleaner.begin([(log, log.log_end_offset) for log in logs], 2000)
        and cleaner.busy
    ):
        order.append(logs.index(cleaner.log))
        assert cleaner.advance(1 << 40) is True
    assert order == [1, 2, 0]


def test_a_log_that_is_not_compacted_is_not_looked_at():
    assert not clean(filled(0, 50, cleanup_policy="delete"))


def test_nothing_is_cleaned_above_the_last_stable_offset():
    log = filled(0, 50)
    bases = [segment.base_offset for segment in log.segments]
    assert find_dirt(log, bases[2], 2000).end_offset == bases[2]
    assert find_dirt(log, bases[2] - 1, 2000).end_offset == bases[1]
    assert find_dirt(log, 0, 2000).dirty_bytes == 0
    compact(log, up_to_offset=bases[2] + 1)
    assert log.first_dirty_offset == bases[2]


def test_kip_58_records_younger_than_min_compaction_lag_ms_are_left_alone():
    log = open_table(min_compaction_lag_ms=HOUR_MS)
    for number in range(3):
        put(log, ("a", str(number)), timestamp=number * HOUR_MS)
        roll(log)
    assert not clean(log, now=HOUR_MS - 1)
    assert clean(log, now=HOUR_MS)
    assert log.first_dirty_offset == 1
    assert clean(log, now=10 * HOUR_MS)
    assert entries(log) == [(2, "a", "2")]


def test_kip_354_a_record_older_than_max_compaction_lag_ms_is_cleaned_however_little_is_dirty():
    log = filled(60, 1, max_compaction_lag_ms=HOUR_MS)
    assert not clean(log, now=HOUR_MS + 1000)
    assert clean(log, now=HOUR_MS + 1001)


def test_kip_354_the_active_segment_is_rolled_at_max_compaction_lag_ms():
    events = []
    log = open_table(events=events, max_compaction_lag_ms=HOUR_MS)
    for number in range(3):
        put(log, ("a", "x"), timestamp=1 + number * HOUR_MS)
    rolls = [
        event.detail["reason"] for event in events if event.kind == "SegmentRolled"
    ]
    assert rolls == ["max_compaction_lag_ms"]


def test_a_pass_that_gets_nowhere_is_not_begun_again_at_once():
    log = filled()
    put(
        log,
        ("a", "0"),
        producer_id=9,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
    roll(log)
    cleaner = Cleaner(BUFFER_BYTES, fail)
    assert cleaner.begin([(log, 1)], 2000) and cleaner.busy
    assert cleaner.advance(1 << 40) is False
    assert entries(log) == [(0, "a", "0")]


class Failing(MemoryDisk):
    """A disk on which writing the new segment of one log fails."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def open(self, path, create=True):
        if path.endswith(".log.cleaned"):
            raise self.error
        return super().open(path, create)


def dirty(disk=None):
    log = open_table(disk, segment_bytes=1000)
    put(log, ("a", "0"), ("a", "1"))
    roll(log)
    return log


@pytest.mark.parametrize(
    "error", [struct.error("int too large"), ZeroDivisionError("a bug"), KeyError("a")]
)
def test_a_log_that_cant_be_cleaned_is_told_of_once_and_the_others_go_on(error):
    told, logs = [], [dirty(Failing(error)), dirty()]
    cleaner = Cleaner(BUFFER_BYTES, lambda line, error: told.append((line, error)))
    while (
        cleaner.begin([(log, log.log_end_offset) for log in logs], 2000)
        and cleaner.busy
    ):
        cleaner.advance(1 << 40)
    assert [(line.partition(":")[0], why) for line, why in told] == [
        ("orders-0 is not compacted any more", error)
    ]
    assert [log.first_dirty_offset for log in logs] == [0, 2]
    assert entries(logs[0]) == [(0, "a", "0"), (1, "a", "1")]


def test_a_disk_that_fails_is_not_the_fault_of_a_log():
    log = dirty(Failing(OSError(5, "Input/output error")))
    cleaner = Cleaner(BUFFER_BYTES, fail)
    assert cleaner.begin([(log, log.log_end_offset)], 2000) and cleaner.busy
    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        cleaner.advance(1 << 40)
