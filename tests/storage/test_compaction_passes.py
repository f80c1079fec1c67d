"""How a pass of compaction goes on: by segments, in slices, beside readers and writers;
and how much work it is.
"""

import pytest

from minikafka.server.folder_disk import FolderDisk
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage.compaction import DECODING_COST, Compaction
from minikafka.storage.log import BELOW_START
from minikafka.storage.segment import MAX_RELATIVE_OFFSET
from minikafka.wire.errors import KafkaError
from minikafka.wire.records import read_header, stamp
from tests.storage.logs import CountingDisk, append
from tests.storage.tables import (
    DAY_MS,
    clean,
    compact,
    encoded,
    entries,
    open_table,
    put,
    roll,
    table,
)

OF_THE_CLEANER = (
    "CompactionStarted",
    "KeysNoted",
    "SegmentCopied",
    "SegmentsCompacted",
)


def names(log, ending):
    return [name for name in log.disk.listdir(log.directory) if name.endswith(ending)]


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
    assert {int(name[:20]) for name in names(log, ".snapshot")} <= bases, (
        "a merged segment's snapshot goes"
    )
    assert {int(name[:20]) for name in names(log, ".index")} == bases


def test_segments_that_are_too_far_apart_for_an_index_stay_apart():
    log = open_table()
    for offset in (0, MAX_RELATIVE_OFFSET - 1, MAX_RELATIVE_OFFSET + 5):
        data = encoded([(str(offset), "x")])
        stamp(data, offset, 0)
        log.append_as_follower(data)
        roll(log)
    compact(log)
    assert [segment.base_offset for segment in log.segments[:-1]] == [
        0,
        MAX_RELATIVE_OFFSET,
    ]
    assert [offset for offset, _, _ in entries(log)] == [
        0,
        MAX_RELATIVE_OFFSET - 1,
        MAX_RELATIVE_OFFSET + 5,
    ]


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
        assert (read_header(data[0]).base_offset if data else None) == (
            following[0] if following else None
        )


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
    assert (
        str(event)
        == "0.000 s  broker 1: orders-0 compacted offsets 0 up to 10: 1 of 10 records"
        " are left"
    )
    assert (
        event.detail["size_bytes_before"] == size
        and event.detail["size_bytes_after"] == log.segments[0].size
    )


def test_the_trace_tells_which_offsets_are_copied_and_why_others_go():
    events = []
    log = open_table(events=events, segment_bytes=1000, min_cleanable_dirty_ratio=0.1)
    put(log, ("a", "1"), ("b", "1"))
    roll(log)
    put(log, ("a", None))
    roll(log)
    clean(log)
    put(log, ("c", "1"))
    roll(log)
    clean(log, now=2000 + DAY_MS)
    told = [
        (event.kind, event.detail) for event in events if event.kind in OF_THE_CLEANER
    ]
    assert [kind for kind, _ in told] == [
        *("CompactionStarted", "KeysNoted", "KeysNoted"),
        *("SegmentCopied", "SegmentCopied", "SegmentsCompacted"),
        *("CompactionStarted", "KeysNoted"),
        *("SegmentCopied", "SegmentCopied", "SegmentsCompacted"),
    ]
    assert [detail["offsets"] for kind, detail in told if kind == "KeysNoted"] == [
        [0, 1],
        [2],
        [3],
    ]
    assert [
        (detail["copied_offsets"], detail["gone_offsets"], detail["horizons"])
        for kind, detail in told
        if kind == "SegmentCopied"
    ] == [
        ([1], [[0, "key_comes_again"]], []),
        ([2], [], [2]),
        ([1], [[2, "tombstone_expired"]], []),
        ([3], [], []),
    ]


# -- in slices


def test_readers_and_writers_go_on_between_the_slices():
    log = open_table(segment_bytes=100_000)
    for number in range(400):
        put(log, (f"key {number % 50}", f"{number}" + "x" * 2000))
    expected, slices = table(log), 0
    for spent in Compaction(log, log.active.base_offset, 0, 1 << 20).run():
        assert spent <= 68_000 * DECODING_COST  # 64 kB and the record that comes to it
        put(log, ("new", str(slices)))
        slices += 1
        assert table(log) == expected | {"new": str(slices - 1)}
    assert slices > 20
    assert len(entries(log)) < 400


@pytest.mark.parametrize("cut", ["truncate", "delete", "retention", "start over"])
@pytest.mark.parametrize("after", [0, 3, 9, 12])
def test_a_pass_is_given_up_if_the_log_is_cut_meanwhile(cut, after):
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


def test_a_pass_is_given_up_if_its_segments_were_deleted_before_it_began(tmp_path):
    """Retention and compaction may be due in the same tick. The log is so small that a
    pass over it never pauses, and the disk is a real one, which has lost the files.
    """
    log = open_table(FolderDisk(tmp_path))
    for key in ("bob", "alice", "alice"):
        put(log, (key, "1 Oak Road"))
        roll(log)
    work = Compaction(log, log.log_end_offset, 0, 1 << 20).run()
    log.delete_segments(lambda _, end: end <= 3, BELOW_START)
    assert list(work) == []
    assert entries(log) == [] and log.log_start_offset == 3


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
    assert not clean(log)
    assert disk.bytes_read == 0
