"""What one pass of compaction does to a log."""

import pytest

from minikafka.storage.disk import MemoryDisk
from minikafka.storage.segment import MAX_RELATIVE_OFFSET
from minikafka.wire.errors import KafkaError
from minikafka.wire.records import encode_batch, encode_control_batch, encode_end_transaction, read_header, stamp
from tests.storage.logs import CountingDisk, Now, append
from tests.storage.tables import (
    DAY_MS,
    all_batches,
    compact,
    encoded,
    entries,
    open_table,
    put,
    read_all,
    recovered_table,
    roll,
    table,
)


def names(log, ending):
    return [name for name in log.disk.listdir(log.directory) if name.endswith(ending)]


# -- what stays


def test_the_latest_record_of_each_key_stays_at_its_offset():
    log = open_table()
    for number, key in enumerate("abcabad"):
        put(log, (key, str(number)))
    roll(log)
    compact(log)
    assert entries(log) == [(2, "c", "2"), (4, "b", "4"), (5, "a", "5"), (6, "d", "6")]
    assert (log.log_start_offset, log.log_end_offset) == (0, 7)


def test_the_active_segment_is_left_alone_and_hides_nothing_yet():
    log = open_table()
    put(log, ("a", "0"))
    roll(log)
    put(log, ("a", "1"), ("a", "2"))
    before = log.active.log.pread(1000, 0)
    compact(log)
    assert entries(log) == [(0, "a", "0"), (1, "a", "1"), (2, "a", "2")]
    assert log.active.log.pread(1000, 0) == before
    assert log.first_dirty_offset == log.active.base_offset == 1


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_batch_that_loses_records_keeps_all_that_its_header_says(codec):
    log = open_table()
    put(log, ("a", "0"), ("b", "1"), ("a", "2"), ("c", "3"), ("b", "4"), epoch=7, compression=codec,
        producer_id=5, producer_epoch=3, base_sequence=40)  # fmt: skip
    roll(log)
    ((before, _),) = all_batches(log)
    compact(log)
    ((after, records),) = all_batches(log)
    assert entries(log) == [(2, "a", "2"), (3, "c", "3"), (4, "b", "4")]
    assert (after.records_count, len(records), after.size_bytes < before.size_bytes) == (3, 3, codec != "x")
    same = {"batch_length": 0, "crc": 0, "records_count": 0}
    assert after._replace(**same) == before._replace(**same)


def test_timestamps_and_headers_of_records_stay():
    log = open_table()
    records = [(time, key, b"", [("h", bytes([time]))]) for time, key in ((30, b"a"), (20, b"b"), (10, b"a"))]
    log.append(bytearray(encode_batch(records)), 0, Now(0))
    roll(log)
    compact(log)
    assert [tuple(record) for record in read_all(log)] == [
        (1, 20, b"b", b"", [("h", b"\x14")]),
        (2, 10, b"a", b"", [("h", b"\x0a")]),
    ]
    assert log.max_timestamp() == (20, 1) == log.offset_for_timestamp(15)[:2]


def test_the_time_that_a_broker_stamped_stays():
    log = open_table(message_timestamp_type="LogAppendTime")
    put(log, ("a", "0"), ("b", "1"), ("a", None), now=5000)
    roll(log)
    compact(log)
    compact(log, now=3000)
    assert [(record.offset, record.timestamp) for record in read_all(log)] == [(1, 5000), (2, 5000)]


def test_a_batch_that_loses_nothing_is_copied_as_it_is():
    log = open_table()
    put(log, ("a", "0"), ("b", "1"), compression="gzip")
    put(log, ("c", "2"))
    roll(log)
    before = log.segments[0].log.pread(1000, 0)
    compact(log)
    assert log.segments[0].log.pread(1000, 0) == before


def test_records_without_a_key_go():
    log = open_table(cleanup_policy="delete")
    put(log, ("a", "0"), (None, "1"))
    roll(log)
    compact(log)
    assert entries(log) == [(0, "a", "0")]


# -- tombstones


def test_kip_534_the_first_pass_writes_when_a_tombstone_may_go_and_the_first_one_after_that_drops_it():
    log = open_table(delete_retention_ms=500)
    put(log, ("a", "0"), ("b", "1"), timestamp=100)
    put(log, ("a", None), ("c", "3"), timestamp=200)
    roll(log)
    compact(log, now=10_000)
    assert entries(log) == [(1, "b", "1"), (2, "a", None), (3, "c", "3")]
    assert [header.delete_horizon for header, _ in all_batches(log)] == [None, 10_500]
    assert [record.timestamp for record in read_all(log)] == [100, 200, 200]
    compact(log, now=10_499)
    assert [header.delete_horizon for header, _ in all_batches(log)] == [None, 10_500], "not put off"
    assert (2, "a", None) in entries(log)
    compact(log, now=10_500)
    assert entries(log) == [(1, "b", "1"), (3, "c", "3")]
    assert table(log) == {"b": "1", "c": "3"}


def test_a_tombstone_hides_nothing_that_comes_later():
    log = open_table(delete_retention_ms=0)
    put(log, ("a", "0"))
    put(log, ("a", None))
    put(log, ("a", "2"))
    roll(log)
    compact(log)
    assert entries(log) == [(2, "a", "2")]


# -- batches that only a producer or the log end needs


def test_kip_98_the_batch_with_a_producers_last_sequence_stays_as_an_empty_one():
    disk = MemoryDisk()
    log = open_table(disk)
    for sequence in range(3):
        put(log, ("a", str(sequence)), producer_id=5, producer_epoch=0, base_sequence=sequence)
    put(log, ("a", "last"))
    roll(log)
    compact(log)
    assert entries(log) == [(3, "a", "last")]
    assert [(header.base_offset, header.last_sequence) for header, _ in all_batches(log)] == [(2, 2), (3, -1)]
    for name in names(log, ".snapshot"):
        disk.remove(f"orders-0/{name}")
    log = recovered_table(disk)
    assert log.producers.producers[5].last_sequence == 2
    empty, _ = next(all_batches(log))
    duplicate = log.producers.check(empty)
    assert duplicate.base_offset == 2
    assert log.producers.check(empty._replace(base_sequence=3)) is None
    put(log, ("b", "newer"), producer_id=5, producer_epoch=0, base_sequence=3)
    roll(log)
    compact(log)
    assert [header.base_offset for header, _ in all_batches(log)] == [3, 4], "no longer needed"


def test_an_empty_batch_has_no_largest_timestamp():
    log = open_table()
    put(log, ("a", "0"), timestamp=9000, producer_id=5, producer_epoch=0, base_sequence=0)
    put(log, ("a", "1"), timestamp=1000)
    roll(log)
    compact(log)
    assert [header.records_count for header, _ in all_batches(log)] == [0, 1]
    assert log.max_timestamp() == (1000, 1)
    assert log.offset_for_timestamp(5000) is None


def test_the_last_batch_of_a_pass_keeps_the_log_end_offset_if_the_active_segment_is_lost():
    disk = MemoryDisk()
    log = open_table(disk)
    put(log, ("a", "0"))
    put(log, ("b", "1"), (None, "2"))
    roll(log)
    put(log, ("b", "3"))
    roll(log)
    compact(log)
    assert entries(log) == [(0, "a", "0"), (3, "b", "3")]
    put(log, ("b", "4"))
    roll(log)
    put(log, ("b", "5"))
    log.truncate_to(5)
    compact(log)
    put(log, ("b", "5"))
    for name in names(log, ""):
        if name.startswith(f"{5:020}") and "snapshot" not in name:
            disk.remove(f"orders-0/{name}")
    assert recovered_table(disk, recovery_point=5).log_end_offset == 5


# -- transactions


def transactional(log, *pairs, producer_id=9, sequence=0):
    return put(log, *pairs, producer_id=producer_id, producer_epoch=0, base_sequence=sequence, transactional=True)


def end(log, committed, producer_id=9):
    log.append(bytearray(encode_end_transaction(committed, producer_id, 0, 1, 1000)), 0, Now(1000))


def test_what_an_aborted_transaction_wrote_goes_and_hides_nothing():
    log = open_table(segment_bytes=1000)
    put(log, ("a", "old"), ("b", "old"))
    transactional(log, ("a", "aborted"))
    transactional(log, ("b", "committed"), producer_id=8)
    end(log, False)
    end(log, True, producer_id=8)
    roll(log)
    compact(log)
    assert entries(log) == [(0, "a", "old"), (3, "b", "committed")]
    assert [header.base_offset for header, _ in all_batches(log) if header.control] == [4, 5], "markers stay"


def test_a_pass_ends_before_the_first_transaction_of_which_it_sees_no_end():
    log = open_table(segment_bytes=1000)
    put(log, ("a", "0"))
    put(log, ("a", "1"))
    transactional(log, ("b", "2"))
    put(log, ("a", "3"))
    roll(log)
    compact(log)
    assert log.first_dirty_offset == 2
    assert entries(log) == [(2, "b", "2"), (3, "a", "3")]
    end(log, False)
    roll(log)
    compact(log)
    assert entries(log) == [(3, "a", "3")]


def test_control_records_are_copied_as_they_are():
    log = open_table()
    log.append(bytearray(encode_control_batch(2, b"leader", 1000)), 0, Now(0))
    put(log, ("a", "1"))
    roll(log)
    before = log.segments[0].log.pread(1000, 0)
    compact(log)
    compact(log, now=5 * DAY_MS)
    assert log.segments[0].log.pread(1000, 0) == before


# -- segments


def test_small_neighbours_become_one_segment_no_larger_than_segment_bytes():
    log = open_table(segment_bytes=300)
    for number in range(40):
        put(log, (f"key {number}", "x"))
    roll(log)
    for _ in range(3):
        log.config = open_table(segment_bytes=1000).config
        compact(log)
        sizes = [segment.size for segment in log.segments[:-1]]
        assert max(sizes) <= 1000 and len(sizes) < 6
        assert len(entries(log)) == 40
    bases = {segment.base_offset for segment in log.segments}
    assert {int(name[:20]) for name in names(log, ".snapshot")} <= bases, "a merged segment's snapshot goes"
    assert {int(name[:20]) for name in names(log, ".index")} == bases


def test_segments_that_are_too_far_apart_for_an_index_stay_apart():
    log = open_table()
    for offset in (0, MAX_RELATIVE_OFFSET - 1, MAX_RELATIVE_OFFSET + 5):
        data = encoded([(str(offset), "x")])
        stamp(data, offset, 0)
        log.append_as_follower(data)
        roll(log)
    compact(log)
    assert [segment.base_offset for segment in log.segments[:-1]] == [0, MAX_RELATIVE_OFFSET + 5]
    assert [offset for offset, _, _ in entries(log)] == [0, MAX_RELATIVE_OFFSET - 1, MAX_RELATIVE_OFFSET + 5]


def test_a_reader_finds_its_place_at_every_offset():
    log = open_table(index_interval_bytes=100)
    for number in range(60):
        put(log, (f"key {number % 7}", str(number)))
    roll(log)
    compact(log)
    compact(log)
    kept = [offset for offset, _, _ in entries(log)]
    for offset in range(60):
        data = log.read(offset, 1, 60)
        following = [each for each in kept if each >= offset]
        assert (read_header(data[0]).base_offset if data else None) == (following[0] if following else None)


def test_what_lies_below_the_log_start_offset_hides_nothing_and_is_not_seen():
    log = open_table()
    for number in range(6):
        put(log, ("ab"[number % 2], str(number)))
    roll(log)
    log.delete_records(3)
    compact(log)
    assert entries(log) == [(4, "a", "4"), (5, "b", "5")]
    assert log.log_start_offset == 3


def test_the_trace_tells_of_each_new_segment():
    events = []
    log = open_table(events=events, segment_bytes=1000)
    for number in range(10):
        put(log, ("a", str(number)))
    roll(log)
    size = log.segments[0].size
    compact(log)
    (event,) = [event for event in events if event.kind == "SegmentsCompacted"]
    assert str(event) == "0.000 s  broker 1: orders-0 compacted offsets 0 up to 10: 1 of 10 records are left"
    assert event.detail["size_bytes_before"] == size and event.detail["size_bytes_after"] == log.segments[0].size


# -- in slices


def test_readers_and_writers_go_on_between_the_slices():
    log = open_table(segment_bytes=100_000)
    for number in range(400):
        put(log, (f"key {number % 50}", f"{number}" + "x" * 2000))
    expected, slices = table(log), 0
    from minikafka.storage.cleaner import find_dirt
    from minikafka.storage.compaction import Compaction

    for spent in Compaction(log, find_dirt(log, log.log_end_offset, 0).end_offset, 0, 1 << 20).run():
        assert spent <= 66_000 * 16
        put(log, ("new", str(slices)))
        slices += 1
        assert table(log) == expected | {"new": str(slices - 1)}
    assert slices > 20
    assert len(entries(log)) < 400


@pytest.mark.parametrize("cut", ["truncate", "delete", "retention", "start over"])
@pytest.mark.parametrize("after", [0, 3, 9, 12])
def test_a_pass_is_given_up_if_the_log_is_cut_meanwhile(cut, after):
    from minikafka.storage.compaction import Compaction

    log = open_table(segment_bytes=200_000)
    for number in range(300):
        put(log, (f"key {number % 100}", f"{number}" + "x" * 2000))
    roll(log)
    work = Compaction(log, log.log_end_offset, 0, 1 << 20).run()
    for _ in range(after):
        next(work)
    if cut == "truncate":
        log.truncate_to(250)
    elif cut == "start over":
        log.truncate_fully_and_start_at(7)
    elif cut == "retention":
        log.delete_records(120)
    else:
        for _ in log.delete():
            pass
    before = entries(log) if log.segments else None
    assert not list(work)[1:]
    assert log.first_dirty_offset == (7 if cut == "start over" else 0)
    if before is not None:
        assert entries(log) == before
        assert not names(log, ".cleaned") and not names(log, ".swap")
    if cut == "truncate":
        assert table(log).keys() == {f"key {number}" for number in range(100)}


def test_a_pass_that_runs_out_of_memory_for_keys_ends_there_and_the_next_goes_on():
    log = open_table(segment_bytes=400)
    for number in range(60):
        put(log, (f"key {number % 20}", str(number)))
    roll(log)
    expected, ends = table(log), []
    while log.first_dirty_offset < log.active.base_offset:
        compact(log, buffer_bytes=1000)
        ends.append(log.first_dirty_offset)
        assert table(log) == expected
    assert len(ends) > 3 and ends == sorted(set(ends))
    assert len(entries(log)) == 20


def test_a_batch_that_does_not_match_its_checksum_is_never_written_anew():
    log = open_table(segment_bytes=1000)
    for number in range(10):
        put(log, ("a", str(number)))
    roll(log)
    log.segments[0].log.data[-1] ^= 1
    before = log.segments[0].log.pread(2000, 0)
    with pytest.raises(KafkaError, match="offset 9 does not match its checksum"):
        compact(log)
    assert log.segments[0].log.pread(2000, 0) == before
    assert names(log, ".cleaned") == [] and log.first_dirty_offset == 0


# -- how much work it is


def test_a_pass_reads_the_dirty_part_twice_and_the_clean_part_once():
    disk = CountingDisk(MemoryDisk())
    log = open_table(disk, segment_bytes=200_000)
    for number in range(1000):
        put(log, (f"key {number}", "x" * 900))
    roll(log)
    compact(log)
    clean_bytes = log.size_bytes
    for number in range(100):
        put(log, (f"key {number}", "y" * 900))
    roll(log)
    dirty_bytes = log.size_bytes - clean_bytes
    disk.reads.clear()
    compact(log)
    wanted = clean_bytes + 2 * dirty_bytes
    assert wanted <= disk.bytes_read <= 1.1 * wanted
    assert len(entries(log)) == 1000


def test_nothing_dirty_is_no_work():
    disk = CountingDisk(MemoryDisk())
    log = open_table(disk)
    for number in range(20):
        append(log, str(number))
    roll(log)
    compact(log)
    disk.reads.clear()
    from tests.storage.tables import clean

    assert not clean(log)
    assert disk.bytes_read == 0
