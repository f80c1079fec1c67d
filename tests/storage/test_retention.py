"""Retention and DeleteRecords: what goes at the front of a log, and when."""

import pytest

from minikafka.storage.retention import clean_up
from minikafka.wire.errors import KafkaError
from tests.storage.logs import Now, append, filled, open_log, values

DAY_MS = 24 * 3600 * 1000


def kinds(events):
    return [event.kind for event in events]


def bases(log):
    return [segment.base_offset for segment in log.segments]


def test_retention_ms_deletes_whole_segments_whose_largest_timestamp_is_older():
    events = []
    log = filled(events, retention_ms=60_000)
    clean_up(log, Now(180_000))
    assert bases(log) == [2, 3] and log.log_start_offset == 2
    assert kinds(events)[-3:] == [
        "LogStartOffsetAdvanced",
        "SegmentDeleted",
        "SegmentDeleted",
    ]
    assert events[-1].detail["retention_ms"] == 60_000
    clean_up(log, Now(180_001))
    assert bases(log) == [3]


def test_when_even_the_active_segment_is_too_old_a_new_one_is_rolled_first():
    events = []
    log = filled(events, retention_ms=1000)
    del events[:]
    clean_up(log, Now(DAY_MS))
    assert bases(log) == [4]
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (4, 4, 0)
    assert kinds(events) == [
        "SegmentRolled",
        "LogStartOffsetAdvanced",
        *["SegmentDeleted"] * 4,
    ]
    assert append(log, "next").base_offset == 4


def test_an_empty_active_segment_stays():
    log = open_log(retention_ms=0, retention_bytes=0)
    clean_up(log, Now(DAY_MS))
    assert bases(log) == [0]


def test_a_young_segment_protects_the_old_ones_behind_it():
    log = open_log(segment_bytes=80, retention_ms=1000)
    for timestamp in (DAY_MS, 0, 0):
        append(log, "a", timestamp=timestamp)
    clean_up(log, Now(DAY_MS))
    assert bases(log) == [0, 1, 2]


def test_retention_bytes_deletes_while_the_rest_is_still_as_large():
    size = filled().segments[0].size
    log = filled(retention_bytes=2 * size)
    clean_up(log, Now(0))
    assert bases(log) == [2, 3]
    log = filled(retention_bytes=2 * size + 1)
    clean_up(log, Now(0))
    assert bases(log) == [1, 2, 3]


def test_retention_bytes_zero_empties_the_log_but_keeps_its_end():
    log = filled(retention_bytes=0)
    clean_up(log, Now(0))
    assert (log.log_start_offset, log.log_end_offset) == (4, 4)


def test_minus_one_keeps_everything():
    log = filled(retention_bytes=-1)
    clean_up(log, Now(10**15))
    assert len(log.segments) == 4


def test_kip_107_deleted_records_are_gone_at_once_and_their_segments_too():
    events = []
    log = filled(events)
    del events[:]
    log.delete_records(2)
    assert bases(log) == [2, 3] and log.log_start_offset == 2
    assert kinds(events) == [
        "LogStartOffsetAdvanced",
        "SegmentDeleted",
        "SegmentDeleted",
    ]
    with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
        log.read(1, 1000, 4)


def test_kip_107_the_log_start_offset_may_lie_inside_a_batch():
    log = open_log()
    append(log, "a", "b", "c")
    log.delete_records(2)
    assert values(log) == ["c"]
    with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
        log.delete_records(4)
    log.delete_records(0)
    assert log.log_start_offset == 2


def test_deleting_all_records_keeps_the_next_offset():
    log = filled()
    log.delete_records(4)
    assert (log.log_start_offset, log.log_end_offset) == (4, 4)
    assert append(log, "next").base_offset == 4


def test_a_damaged_time_index_makes_no_record_old():
    log = filled(retention_ms=3_600_000)
    (entry,) = log.segments[2].time_index
    log.segments[2].time_index._file.data[:8] = (
        entry.key - 86_400_000 & 2**64 - 1
    ).to_bytes(8, "big")
    log.segments[2].time_index._last = log.segments[2]._largest = None
    assert log.segments[2].largest[0] < 0
    clean_up(log, Now(3_600_000 + 30_000))
    assert bases(log) == [1, 2, 3]
