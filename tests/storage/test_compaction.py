"""What one pass of compaction does to a log."""

import pytest

from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.wire.internal_records import encode_control_batch, encode_end_transaction
from minikafka.wire.records import encode_batch
from tests.storage.logs import Now
from tests.storage.tables import (
    DAY_MS,
    all_batches,
    compact,
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
    put(
        log,
        ("a", "0"),
        ("b", "1"),
        ("a", "2"),
        ("c", "3"),
        ("b", "4"),
        epoch=7,
        compression=codec,
        producer_id=5,
        producer_epoch=3,
        base_sequence=40,
    )
    roll(log)
    ((before, _),) = all_batches(log)
    compact(log)
    ((after, records),) = all_batches(log)
    assert entries(log) == [(2, "a", "2"), (3, "c", "3"), (4, "b", "4")]
    assert (
        after.records_count,
        len(records),
        after.size_bytes < before.size_bytes,
    ) == (3, 3, codec != "x")
    same = {"batch_length": 0, "crc": 0, "records_count": 0}
    assert after._replace(**same) == before._replace(**same)


def test_timestamps_and_headers_of_records_stay():
    log = open_table()
    records = [
        (time, key, b"", [("h", bytes([time]))])
        for time, key in ((30, b"a"), (20, b"b"), (10, b"a"))
    ]
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
    assert [(record.offset, record.timestamp) for record in read_all(log)] == [
        (1, 5000),
        (2, 5000),
    ]


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
    assert [header.delete_horizon for header, _ in all_batches(log)] == [
        None,
        10_500,
    ], "not put off"
    assert (2, "a", None) in entries(log)
    compact(log, now=10_500)
    assert entries(log) == [(1, "b", "1"), (3, "c", "3")]
    assert table(log) == {"b": "1", "c": "3"}


def test_a_tombstone_may_be_kept_for_ever():
    log = open_table(delete_retention_ms=2**63 - 1)
    put(log, ("a", None), timestamp=-1)
    roll(log)
    compact(log, now=5)
    assert [
        (header.delete_horizon, *records) for header, records in all_batches(log)
    ] == [(2**63 - 1, (0, -1, b"a", None, []))]


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
        put(
            log,
            ("a", str(sequence)),
            producer_id=5,
            producer_epoch=0,
            base_sequence=sequence,
            compression="gzip",
        )
    put(log, ("a", "last"))
    roll(log)
    compact(log)
    assert entries(log) == [(3, "a", "last")]
    assert [
        (header.base_offset, header.last_sequence) for header, _ in all_batches(log)
    ] == [(2, 2), (3, -1)]
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
    assert [header.base_offset for header, _ in all_batches(log)] == [
        3,
        4,
    ], "no longer needed"


def test_an_empty_batch_has_no_largest_timestamp():
    log = open_table()
    put(
        log,
        ("a", "0"),
        timestamp=9000,
        producer_id=5,
        producer_epoch=0,
        base_sequence=0,
    )
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
    put(log, (None, "1"), (None, "2"))
    roll(log)
    compact(log)
    assert [
        (header.last_offset, header.records_count) for header, _ in all_batches(log)
    ] == [(0, 1), (2, 0)]
    for ending in (".log", ".index", ".timeindex"):
        disk.remove(f"orders-0/{3:020}{ending}")
    log = recovered_table(disk, recovery_point=3)
    assert (log.log_end_offset, put(log, ("b", "3")).base_offset) == (3, 3)


# -- transactions


def transactional(log, *pairs, producer_id=9, sequence=0):
    return put(
        log,
        *pairs,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        transactional=True,
    )


def end(log, committed, producer_id=9):
    log.append(
        bytearray(encode_end_transaction(committed, producer_id, 0, 1, 1000)),
        0,
        Now(1000),
    )


def test_what_an_aborted_transaction_wrote_goes_and_hides_nothing():
    log = open_table(segment_bytes=1000)
    put(log, ("a", "old"), ("b", "old"))
    transactional(log, ("a", "aborted"))
    transactional(log, ("b", "committed"), producer_id=8)
    end(log, False)
    transactional(log, ("c", "hidden"), producer_id=8, sequence=1)
    put(log, ("c", "later"))
    end(log, True, producer_id=8)
    roll(log)
    compact(log)
    assert entries(log) == [(0, "a", "old"), (3, "b", "committed"), (6, "c", "later")]
    assert [header.base_offset for header, _ in all_batches(log) if header.control] == [
        4,
        7,
    ], "markers stay"


def markers(log):
    """(offset, records, whether a time is set at which it goes) of each."""
    found = [header for header, _ in all_batches(log) if header.control]
    return [
        (header.base_offset, header.records_count, header.delete_horizon is not None)
        for header in found
    ]


@pytest.mark.parametrize("committed", [True, False])
def test_a_marker_goes_some_time_after_the_last_record_of_its_transaction(committed):
    log = open_table(segment_bytes=1000)
    transactional(log, ("a", "0"))
    end(log, committed)
    put(log, ("a", "2"))
    roll(log)
    compact(log, now=1000)
    assert markers(log) == [(1, 1, False)], "this pass found a record of it"
    assert len(log.aborted_transactions(0, 3)) == (0 if committed else 1)
    last_ms = 3000 + DAY_MS
    stages = (
        (2000, [(1, 1, False)]),
        (3000, [(1, 1, True)]),
        (last_ms - 1, [(1, 1, True)]),
        (last_ms, []),
    )
    # the first drops what held the producer's last sequence number
    for number, (now, left) in enumerate(stages, 1):
        transactional(log, ("b", str(now)), sequence=number)
        put(log, ("a", "again"))
        end(log, True)
        roll(log)
        compact(log, now=now)
        assert [each for each in markers(log) if each[0] == 1] == left, now
    assert log.aborted_transactions(0, 3) == []
    assert entries(log)[-1][1:] == ("a", "again")


def test_the_index_of_aborted_transactions_is_that_of_the_new_segment():
    disk = MemoryDisk()
    log = open_table(disk, segment_bytes=10_000)
    for number in range(3):
        transactional(log, ("a", str(number)), sequence=number)
        end(log, number == 1)
    roll(log)
    put(log, ("b", "1"))
    roll(log)
    before = log.aborted_transactions(0, log.log_end_offset)
    assert [each.first_offset for each in before] == [0, 4]
    compact(log)
    assert len(log.segments) == 2 and entries(log) == [(2, "a", "1"), (6, "b", "1")]
    assert log.aborted_transactions(0, log.log_end_offset) == before
    log.close()
    log = recovered_table(disk, segment_bytes=10_000, clean=True)
    assert log.aborted_transactions(0, log.log_end_offset) == before


def test_a_pass_ends_before_the_first_transaction_that_is_open():
    log = open_table(segment_bytes=1000)
    put(log, ("a", "0"))
    put(log, ("a", "1"))
    transactional(log, ("b", "2"))
    put(log, ("a", "3"))
    put(log, ("a", "4"))
    roll(log)
    compact(log)
    assert log.first_dirty_offset == 2
    assert entries(log) == [(1, "a", "1"), (2, "b", "2"), (3, "a", "3"), (4, "a", "4")]
    end(log, False)
    roll(log)
    compact(log)
    assert entries(log) == [(4, "a", "4")]


def test_control_records_are_copied_as_they_are():
    log = open_table()
    log.append(bytearray(encode_control_batch(2, b"leader", 1000)), 0, Now(0))
    put(log, ("a", "1"))
    roll(log)
    before = log.segments[0].log.pread(1000, 0)
    compact(log)
    compact(log, now=5 * DAY_MS)
    assert log.segments[0].log.pread(1000, 0) == before
