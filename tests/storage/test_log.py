"""What a log does, one statement at a time."""

import pytest

from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage.checkpoints import read_partition_metadata
from minikafka.storage.retention import clean_up
from minikafka.trace import Reason
from minikafka.wire.errors import CorruptRecord, Error, KafkaError
from minikafka.wire.records import (
    BATCH_OVERHEAD,
    batches,
    crc_matches,
    decode_batch,
    read_header,
)
from tests.storage.logs import (
    TOPIC_ID,
    Now,
    append,
    batch,
    filled,
    open_log,
    recovered,
    values,
)

DAY_MS = 24 * 3600 * 1000


def kinds(events):
    return [event.kind for event in events]


def bases(log):
    return [segment.base_offset for segment in log.segments]


# -- appending and reading


def test_records_get_dense_offsets_from_zero_on():
    log = open_log()
    assert append(log, "a", "b")[:2] == (0, 1)
    assert append(log, "c")[:2] == (2, 2)
    assert log.log_end_offset == 3
    assert values(log) == ["a", "b", "c"]


def test_an_append_tells_where_the_largest_timestamp_went():
    log = open_log()
    appended = log.append(
        batch("a", "b", timestamp=5)
        + batch("c", timestamp=9)
        + batch("d", timestamp=2),
        0,
        Now(0),
    )
    assert (appended.base_offset, appended.last_offset) == (0, 3)
    assert (appended.max_timestamp, appended.offset_of_max_timestamp) == (9, 2)


def test_the_leader_epoch_is_stamped_into_every_batch_and_the_crc_still_holds():
    log = open_log()
    append(log, "a", epoch=7)
    (data,) = log.read(0, 1000, 1)
    assert read_header(data).partition_leader_epoch == 7
    assert crc_matches(data, read_header(data))


def test_log_append_time_is_the_brokers_clock():
    log = open_log(message_timestamp_type="LogAppendTime")
    assert append(log, "a", "b", timestamp=5, now=7000).max_timestamp == 7000
    (data,) = log.read(0, 1000, 2)
    assert crc_matches(data, read_header(data))
    assert [record.timestamp for record in decode_batch(data)] == [7000, 7000]
    assert log.offset_for_timestamp(6000) == (7000, 0, 0)


def test_a_fetch_gets_the_whole_batch_that_holds_its_offset():
    log = open_log()
    append(log, "a", "b", "c")
    (data,) = log.read(2, 1, 3)
    assert read_header(data).base_offset == 0


def test_a_fetch_gets_whole_batches_up_to_its_limit():
    log = open_log()
    for value in "abcd":
        append(log, value)
    size = BATCH_OVERHEAD + 11
    for limit, expected in (
        (0, 1),
        (size, 1),
        (2 * size - 1, 1),
        (2 * size, 2),
        (1 << 20, 4),
    ):
        (data,) = log.read(0, limit, 4)
        assert len(list(batches(data))) == expected
        assert len(data) == expected * size


def test_a_consumers_fetch_is_filled_up_with_the_beginning_of_one_more_batch():
    log = open_log()
    for value in "abcd":
        append(log, value)
    size = BATCH_OVERHEAD + 11
    for limit, up_to_offset, expected_bytes in (
        (0, 4, size),
        (size, 4, size),
        (size + 1, 4, size + 1),
        (2 * size - 1, 4, 2 * size - 1),
        (2 * size + 9, 4, 2 * size + 9),
        (2 * size + 1, 2, 2 * size),
        (2 * size + 9, 2, 2 * size),
        (1 << 20, 4, 4 * size),
    ):
        (data,) = log.read(0, limit, up_to_offset, fill_up=True)
        assert len(data) == expected_bytes
        (whole,) = log.read(0, limit, up_to_offset)
        assert data[: len(whole)] == whole


def test_kip_74_a_first_batch_larger_than_the_limit_is_given_only_if_one_must_be():
    log = open_log()
    append(log, "a" * 1000)
    assert log.read(0, 100, 1, min_one=False) == []
    assert len(log.read(0, 100, 1, min_one=True)[0]) > 1000


def test_nothing_is_read_from_the_high_watermark_on():
    log = open_log()
    for value in "abc":
        append(log, value)
    assert [header.base_offset for header, _ in batches(log.read(0, 1000, 2)[0])] == [
        0,
        1,
    ]
    assert log.read(2, 1000, 2) == []
    assert log.read(3, 1000, 3) == []


@pytest.mark.parametrize("offset", [-1, 4])
def test_an_offset_outside_the_log_is_out_of_range(offset):
    log = open_log()
    append(log, "a", "b", "c")
    with pytest.raises(KafkaError) as caught:
        log.read(offset, 1000, 3)
    assert caught.value.error is Error.OFFSET_OUT_OF_RANGE


def test_a_follower_keeps_the_offsets_and_epochs_of_its_leader_gaps_too():
    leader, follower = open_log(), open_log()
    append(leader, "a", "b", epoch=1)
    leader.truncate_fully_and_start_at(10)
    append(leader, "c", epoch=3)
    follower.append_as_follower(leader.read(10, 1000, 11)[0])
    assert follower.log_end_offset == 11
    assert follower.read(0, 1000, 11)[0] == leader.read(10, 1000, 11)[0]
    assert follower.epochs.entries == [(3, 10)]
    with pytest.raises(KafkaError, match="where 11 comes next"):
        follower.append_as_follower(leader.read(10, 1000, 11)[0])


def test_a_log_whose_index_is_damaged_is_cut_at_the_right_place_and_gets_a_new_index():
    log = open_log(index_interval_bytes=100)
    for number in range(12):
        append(log, "x" * 40, timestamp=number)
    index = log.active.index
    entry = index[1]
    index.truncate(1)
    index.append(entry.key, entry.value + 1)
    log.truncate_to(9)
    assert values(log) == ["x" * 40] * 9 and log.max_timestamp() == (8, 8)
    assert log.active.next_offset() == 9 and len(index) > 2, (
        "log and index fit together"
    )


@pytest.mark.parametrize("length", [-12, -1, 0, 48, 1 << 30])
def test_a_damaged_length_ends_a_read_before_it_and_is_an_error_there(length):
    disk = MemoryDisk()
    log = open_log(disk)
    for value in "abc":
        append(log, value)
    first = len(log.read(0, 1, 1)[0])
    # so that the place of the second batch is remembered, and not looked for
    log.read(0, first, 3)
    file = disk.open("orders-0/00000000000000000000.log")
    rest = file.pread(file.size - first - 12, first + 12)
    file.truncate(first + 8)
    file.append([length.to_bytes(4, "big", signed=True), rest])
    assert [each.offset for each in decode_batch(log.read(0, 1 << 20, 3)[0])] == [0]
    with pytest.raises(CorruptRecord, match="claims"):
        log.read(1, 1 << 20, 3)


# -- files


def test_the_folder_has_kafkas_names():
    disk = MemoryDisk()
    log = open_log(disk)
    append(log, "a")
    log.roll(1, Reason("segment_ms", "because"))
    log.close()
    assert disk.listdir("orders-0") == [
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "00000000000000000001.index",
        "00000000000000000001.log",
        "00000000000000000001.snapshot",
        "00000000000000000001.timeindex",
        "leader-epoch-checkpoint",
        "partition.metadata",
    ]
    assert disk.read("orders-0/leader-epoch-checkpoint") == b"0\n1\n0 0\n"
    assert (
        disk.read("orders-0/partition.metadata")
        == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n"
    )
    assert read_partition_metadata(disk, "orders-0") == TOPIC_ID


def test_an_index_entry_comes_after_each_interval_and_names_the_end_of_its_batch():
    log = open_log(index_interval_bytes=300)
    for number in range(8):
        append(log, "x" * 29, "", timestamp=1000 + number)
    assert log.size_bytes == 8 * 110
    # the batch that begins there, and its last offset
    assert list(log.active.index) == [(7, 330), (13, 660)]
    assert list(log.active.time_index) == [(1004, 7), (1007, 13)]


def test_a_deleted_log_is_renamed_first_and_then_removed():
    disk = MemoryDisk()
    log = open_log(disk)
    append(log, "a")
    size = log.size_bytes
    work = log.delete()
    freed = [next(work)]
    assert disk.listdir("") == ["orders-0.000102030405060708090a0b0c0d0e0f-delete"]
    freed += work
    assert disk.listdir("") == []
    assert sum(freed) >= size


# -- rolling


def test_a_segment_is_rolled_before_it_grows_over_segment_bytes():
    events = []
    log = open_log(events=events, segment_bytes=200)
    for value in "abcd":
        append(log, value)
    assert bases(log) == [0, 2]
    assert all(segment.size <= 200 for segment in log.segments)
    assert kinds(events) == ["SegmentRolled"]
    assert events[0].detail["reason"] == "segment_bytes"


def test_segment_ms_counts_from_the_first_batchs_timestamp_and_not_from_the_clock():
    log = open_log(segment_ms=1000)
    append(log, "a", timestamp=5000, now=0)
    append(log, "b", timestamp=6000, now=50_000)
    assert bases(log) == [0]
    append(log, "c", timestamp=6001, now=50_000)
    assert bases(log) == [0, 2]


def test_without_timestamps_segment_ms_counts_by_the_clock():
    log = open_log(segment_ms=1000)
    append(log, "a", timestamp=-1, now=5000)
    append(log, "b", timestamp=-1, now=6001)
    assert bases(log) == [0, 1]


def test_a_quiet_partition_is_not_rolled_by_time_alone():
    log = open_log(segment_ms=1000)
    append(log, "a", timestamp=0)
    clean_up(log, Now(DAY_MS))
    assert bases(log) == [0]


def test_a_full_index_rolls_the_segment():
    log = open_log(segment_index_bytes=60, index_interval_bytes=0)
    for number in range(20):
        append(log, "a", timestamp=number)
    assert len(log.segments) > 3
    assert all(
        segment.index.size_bytes <= 60 and segment.time_index.size_bytes <= 60
        for segment in log.segments
    )


def test_an_offset_too_far_from_the_base_offset_rolls_the_segment():
    log = open_log()
    append(log, "a")
    far = batch("b")
    leader = open_log()
    leader.truncate_fully_and_start_at(2**31)
    leader.append(far, 0, Now(0))
    log.append_as_follower(far)
    assert bases(log) == [0, 2**31]
    assert values(log, 2**31) == ["b"]


def test_what_is_rolled_is_synced():
    log = open_log()
    append(log, "a")
    assert log.recovery_point == 0
    log.roll(1, Reason("segment_ms", "because"))
    assert log.recovery_point == 1


def test_flush_messages_syncs_every_so_many_records():
    log = open_log(flush_messages=3)
    append(log, "a", "b")
    assert log.recovery_point == 0
    append(log, "c")
    assert log.recovery_point == 3


# -- timestamps


def test_an_offset_is_found_by_timestamp_even_if_timestamps_jump():
    log = open_log(segment_bytes=200, index_interval_bytes=0)
    for timestamp in (100, 500, 300, 900, 200, 1000):
        append(log, str(timestamp), timestamp=timestamp)
    expected = {0: 0, 100: 0, 101: 1, 301: 1, 500: 1, 501: 3, 900: 3, 901: 5, 1000: 5}
    for timestamp, offset in expected.items():
        found = log.offset_for_timestamp(timestamp)
        assert found is not None and found[1] == offset, timestamp
    assert log.offset_for_timestamp(1001) is None


def test_the_search_by_timestamp_looks_inside_compressed_batches():
    log = open_log()
    append(log, "a", "b", "c", timestamp=100, step=10, compression="gzip", epoch=4)
    assert log.offset_for_timestamp(105) == (110, 1, 4)


def test_the_search_by_timestamp_begins_at_the_log_start_offset():
    log = open_log()
    append(log, "a", "b", "c", timestamp=100, step=10)
    log.delete_records(2)
    assert log.offset_for_timestamp(0) == (120, 2, 0)


def test_kip_734_the_largest_timestamp_has_an_offset():
    log = open_log(segment_bytes=200)
    assert log.max_timestamp() is None
    for timestamp in (100, 900, 300):
        append(log, "a", "b", timestamp=timestamp, step=-5)
    assert log.max_timestamp() == (900, 2)


# -- cutting and epochs


def test_truncation_never_cuts_a_batch_in_two():
    log = open_log()
    append(log, "a", "b")
    append(log, "c", "d")
    log.truncate_to(3)
    assert log.log_end_offset == 2
    assert append(log, "e").base_offset == 2
    assert values(log) == ["a", "b", "e"]


def test_truncation_removes_later_segments_and_lowers_the_recovery_point():
    events = []
    log = filled(events)
    log.truncate_to(1)
    assert bases(log) == [0, 1] and log.log_end_offset == 1 and log.recovery_point == 1
    assert events[-1].kind == "LogTruncated"
    assert log.offset_for_timestamp(60_000) is None


def test_kip_101_a_follower_learns_where_an_epoch_ends():
    log = open_log()
    for epoch, count in ((1, 2), (3, 3), (6, 1)):
        append(log, *"x" * count, epoch=epoch)
    assert log.epochs.entries == [(1, 0), (3, 2), (6, 5)]
    assert [log.end_offset_for_epoch(epoch) for epoch in (0, 1, 2, 3, 5, 6, 7, -1)] == [
        (0, 0),
        (1, 2),
        (1, 2),
        (3, 5),
        (3, 5),
        (6, 6),
        (-1, -1),
        (-1, -1),
    ]
    assert [log.epochs.epoch_at(offset) for offset in range(6)] == [1, 1, 3, 3, 3, 6]


def test_kip_595_a_fetch_of_a_diverging_epoch_learns_where_to_truncate():
    log = open_log()
    append(log, "a", "b", epoch=1)
    append(log, "c", epoch=3)
    assert log.diverging_epoch(3, 3) is None
    assert log.diverging_epoch(2, 3) == (1, 2)
    assert log.diverging_epoch(1, 3) == (1, 2)
    with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
        log.diverging_epoch(9, 3)


def test_epochs_follow_the_log_when_it_is_cut_at_either_end():
    log = open_log()
    for epoch in (1, 2, 3):
        append(log, "a", "b", epoch=epoch)
    log.delete_records(3)
    assert log.epochs.entries == [(2, 3), (3, 4)]
    log.truncate_to(4)
    assert log.epochs.entries == [(2, 3)]
    assert log.epochs.epoch_at(3) == 2


# -- a full disk


def test_a_full_disk_is_a_storage_error_and_no_part_of_the_batch_is_visible():
    disk = MemoryDisk()
    log = open_log(disk)
    append(log, "a")
    disk.capacity_bytes = disk.used_bytes + 50
    with pytest.raises(KafkaError, match="No space left") as caught:
        append(log, "b")
    assert caught.value.error is Error.KAFKA_STORAGE_ERROR
    assert log.log_end_offset == 1 and values(log) == ["a"]
    disk.crash()
    disk.capacity_bytes = None
    log = recovered(disk)
    assert values(log) == ["a"]
    assert append(log, "c").base_offset == 1


def test_a_disk_that_fills_up_while_rolling_leaves_the_log_usable():
    disk = MemoryDisk()
    log = open_log(disk, segment_bytes=100)
    append(log, "a")
    disk.capacity_bytes = disk.used_bytes
    for _ in range(2):
        with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
            append(log, "b")
    assert values(log) == ["a"]
    disk.capacity_bytes = None
    assert append(log, "c").base_offset == 1
    assert values(log) == ["a", "c"]
    assert values(recovered(disk)) == ["a", "c"]


def test_no_event_is_built_without_a_listener(monkeypatch):
    log = filled(segments=3)

    def fail(*args, **kwargs):
        raise AssertionError("an event was built")

    monkeypatch.setattr(type(log.trace), "emit", fail)
    append(log, "a")
    log.delete_records(2)
    log.truncate_to(3)
