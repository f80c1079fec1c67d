"""What a restart finds: after a clean stop, a dead process, a torn write, a power
loss.
"""

import os
import struct
from random import Random

import pytest

from minikafka.server.folder_disk import FolderDisk
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage.index import OFFSET_ENTRY, TIME_ENTRY, Index
from minikafka.storage.producer_state import encode_snapshot
from minikafka.storage.recovery import recover
from minikafka.storage.segment import MAX_RELATIVE_OFFSET
from minikafka.wire.errors import KafkaError
from minikafka.wire.records import batches, read_header
from tests.seeds import seeds
from tests.storage.logs import (
    CountingDisk,
    Now,
    append,
    batch,
    open_log,
    recovered,
    values,
)

LOG = "orders-0/00000000000000000000.log"


def files(disk):
    return {name: disk.read(f"orders-0/{name}") for name in disk.listdir("orders-0")}


# -- torn tails


def torn_disk(cut):
    disk = MemoryDisk()
    log = open_log(disk)
    append(log, "a", "b")
    append(log, "c")
    whole = log.size_bytes
    append(log, "the last one", "of two")
    disk.open(LOG).truncate(whole + cut)
    return disk, whole


def test_a_log_torn_at_any_byte_of_its_last_batch_ends_with_the_batch_before():
    _, whole = torn_disk(0)
    last = len(batch("the last one", "of two"))
    for cut in range(last):
        events = []
        disk, _ = torn_disk(cut)
        log = recovered(disk, events)
        assert (log.log_end_offset, log.size_bytes) == (3, whole)
        assert values(log) == ["a", "b", "c"]
        (event,) = events
        assert event.kind == "LogRecovered" and event.detail["dropped_bytes"] == cut
        assert append(log, "again").base_offset == 3
    assert values(recovered(torn_disk(last)[0])) == [
        "a",
        "b",
        "c",
        "the last one",
        "of two",
    ]


@pytest.mark.parametrize(
    "garbage", [bytes(500), b"\xff" * 500, Random(1).randbytes(500), b"\0"]
)
def test_garbage_behind_the_last_batch_is_dropped(garbage):
    disk, whole = torn_disk(0)
    disk.open(LOG).append([garbage])
    events = []
    log = recovered(disk, events)
    assert (log.log_end_offset, log.size_bytes) == (3, whole)
    assert events[0].detail["dropped_bytes"] == len(garbage)


def test_a_wrong_checksum_ends_the_log_and_later_segments_go():
    disk = MemoryDisk()
    log = open_log(disk, segment_bytes=200)
    for value in "abcdefgh":
        append(log, value)
    size = log.size_bytes
    path = "orders-0/00000000000000000002.log"
    disk.open(path).data[-1] ^= 1
    events = []
    log = recovered(disk, events, segment_bytes=200)
    assert values(log) == ["a", "b", "c"]
    assert [segment.base_offset for segment in log.segments] == [0, 2]
    assert "offset 3 does not match its checksum" in str(events[0])
    assert events[0].detail["dropped_bytes"] == size - log.size_bytes
    assert (
        sorted(name for name in disk.listdir("orders-0") if name.endswith(".log"))[-1]
        == "00000000000000000002.log"
    )


def test_recovery_says_so_once_and_a_clean_restart_says_nothing():
    disk = MemoryDisk()
    log = open_log(disk)
    append(log, "a")
    log.close()
    events = []
    recovered(disk, events, clean=True, recovery_point=1)
    assert events == []
    recovered(disk, events)
    assert [str(event) for event in events] == [
        "0.000 s  broker 1: orders-0 recovered up to offset 1, 0 bytes dropped: every"
        " batch is whole"
    ]


@pytest.mark.parametrize("budget_bytes", [61, 100, 1000, 1 << 20])
def test_recovery_goes_on_in_slices_of_its_budget(budget_bytes):
    disk = MemoryDisk()
    log = open_log(disk)
    for number in range(20):
        append(log, "x" * number * 10)
    log = open_log(disk)
    slices = list(recover(log, budget_bytes, print))
    assert sum(slices) >= log.size_bytes
    assert max(slices) <= max(budget_bytes, 61 + 11 + 200)
    assert log.log_end_offset == 20


# -- what is rebuilt


def test_recovery_builds_the_same_indexes_and_producers_that_were_there():
    disk = MemoryDisk()
    config = {"segment_bytes": 2000, "index_interval_bytes": 300}
    log = open_log(disk, **config)
    for number in range(40):
        append(
            log,
            "x" * 50,
            "y",
            timestamp=1000 + number,
            producer_id=number % 3,
            producer_epoch=0,
            base_sequence=number // 3 * 2,
            epoch=number // 15,
        )
    known = {
        producer_id: producer.batches[-1]
        for producer_id, producer in log.producers.producers.items()
    }
    log.close()
    before = files(disk)
    for name in before:
        if name.endswith(("index", ".snapshot", "checkpoint")):
            disk.remove(f"orders-0/{name}")
    log = recovered(disk, **config)
    assert {
        producer_id: producer.batches[-1]
        for producer_id, producer in log.producers.producers.items()
    } == known
    assert log.epochs.entries == [(0, 0), (1, 30), (2, 60)]
    log.close()
    after = files(disk)
    assert {
        name: data for name, data in before.items() if not name.endswith(".snapshot")
    } == {name: data for name, data in after.items() if not name.endswith(".snapshot")}


@pytest.mark.parametrize("clean", [False, True])
def test_a_batch_that_damage_took_is_no_duplicate_when_its_producer_sends_it_again(
    clean,
):
    """The snapshot of the producers may know more than what is left of the log."""
    disk = MemoryDisk()
    log = open_log(disk)
    for number in range(3):
        append(log, "x", producer_id=7, producer_epoch=0, base_sequence=number)
    log.close()
    disk.open(LOG).truncate(log.size_bytes - 1)
    log = recovered(disk, clean=clean, recovery_point=3)
    assert (log.log_end_offset, log.producers.producers[7].last_sequence) == (2, 1)
    again = batch("x", producer_id=7, producer_epoch=0, base_sequence=2)
    assert log.producers.check(read_header(again)) is None
    assert log.append(again, 0, Now(1000)).base_offset == 2


def test_a_batch_whose_magic_is_damaged_in_the_middle_of_a_closed_segment_is_cut_off_there():
    """The segment's end looks right: the batch is met where producers are rebuilt
    without their snapshots.
    """
    disk = MemoryDisk()
    config = {"segment_bytes": 500, "index_interval_bytes": 150}
    log = open_log(disk, **config)
    for number in range(16):
        append(log, "x" * 20, producer_id=7, producer_epoch=0, base_sequence=number)
    log.flush()
    damaged = log.segments[1]
    position = next(
        position for position, header in damaged.headers(0) if header.base_offset == 7
    )
    disk.open(damaged.path(".log")).data[position + 16] = 1
    for name in disk.listdir("orders-0"):
        if name.endswith(".snapshot"):
            disk.remove(f"orders-0/{name}")
    log = open_log(disk, recovery_point=16, **config)
    told = []
    assert list(recover(log, 1 << 20, told.append))
    assert len(told) == 1 and "from offset 7 to 9: " in told[0]
    assert values(log) == ["x" * 20] * 13
    assert log.producers.producers[7].last_sequence == 15


def test_leftovers_are_removed():
    disk = MemoryDisk()
    log = open_log(disk)
    append(log, "a")
    log.close()
    before = files(disk)
    for name in (
        "00000000000000000007.index",
        "00000000000000000009.log.deleted",
        "00000000000000000000.log.cleaned",
    ):
        disk.open(f"orders-0/{name}").append([b"left over"])
    recovered(disk)
    assert set(files(disk)) == set(before)


def test_a_log_that_lost_all_its_records_goes_on_at_the_log_start_offset():
    disk = MemoryDisk()
    log = open_log(disk)
    append(log, *"abcdef")
    log.delete_records(5)
    disk.open(LOG).truncate(10)
    log = recovered(disk, log_start_offset=5)
    assert (log.log_start_offset, log.log_end_offset) == (5, 5)
    assert append(log, "g").base_offset == 5


# -- how much is read


def append_from(log, numbers):
    """A record of a kilobyte for each sequence number."""
    for number in numbers:
        append(
            log,
            "x" * 1000,
            timestamp=number,
            producer_id=1,
            producer_epoch=0,
            base_sequence=number,
        )


def test_a_restart_after_kill_9_reads_only_past_the_recovery_point():
    disk = MemoryDisk()
    config = {"segment_bytes": 100_000}
    log = open_log(disk, **config)
    append_from(log, range(300))
    log.flush()
    recovery_point, position = log.recovery_point, log.active.size
    segments = len(log.segments)
    append_from(log, range(300, 330))
    assert (segments, len(log.segments)) == (4, 4)
    behind = log.active.size - position
    active = f"orders-0/{log.active.base_offset:020}.log"
    disk.crash()

    counting = CountingDisk(disk)
    log = recovered(counting, recovery_point=recovery_point, **config)
    assert (log.log_end_offset, log.producers.producers[1].last_sequence) == (330, 329)
    logs = [
        (path, at, size) for path, at, size in counting.reads if path.endswith(".log")
    ]
    closed = [size for path, _, size in logs if path != active]
    assert sum(closed) <= 3 * (8192 + 61), (
        "of a closed segment only the end is looked at"
    )
    logs = [(path, at, size) for path, at, size in logs if path == active]
    # The headers of at most one index interval and one batch before the recovery point
    # are looked at to find it.
    assert min(at for _, at, _ in logs) >= position - 4096 - 2 * 1100
    assert sum(size for _, _, size in logs) <= behind + 3 * 8192
    assert counting.bytes_read - sum(size for _, _, size in logs) - sum(closed) < 4096


def test_a_clean_restart_reads_next_to_nothing():
    disk = MemoryDisk()
    log = open_log(disk, segment_bytes=100_000)
    for number in range(300):
        append(log, "x" * 1000, timestamp=number)
    log.close()
    counting = CountingDisk(disk)
    log = recovered(counting, clean=True, recovery_point=300, segment_bytes=100_000)
    assert log.log_end_offset == 300
    assert counting.bytes_read < 2 * 8192


def read_figures(log, disk, offset):
    """(reads, bytes beside the batch) of a random read."""
    del disk.reads[:]
    (data,) = log.read(offset, 1, log.log_end_offset)
    header = read_header(data)
    assert header.base_offset <= offset <= header.last_offset
    assert len(list(batches(data))) == 1
    return len(disk.reads), disk.bytes_read - len(data)


def test_a_random_offset_in_10_mb_costs_at_most_24_reads_and_64_kb():
    disk = CountingDisk(MemoryDisk())
    log = open_log(disk, segment_bytes=3 << 20)
    random = Random(4)
    while log.size_bytes < 10 << 20:
        append(log, *["x" * random.randrange(200)] * random.randrange(1, 200))
    disk._disk.crash()
    log = recovered(disk, segment_bytes=3 << 20, recovery_point=log.log_end_offset)
    figures = [
        read_figures(log, disk, random.randrange(log.log_end_offset))
        for _ in range(500)
    ]
    assert max(reads for reads, _ in figures) <= 24
    assert max(size for _, size in figures) <= 64 << 10


@pytest.mark.skipif(os.name == "nt", reason="files with holes are made otherwise there")
def test_a_random_offset_in_10_gb_costs_at_most_24_reads_and_64_kb(tmp_path):
    """Ten segments of 1 GB that are holes, but for their indexes and the batches around
    the offsets that are read.
    """
    one = batch(*["x" * 180] * 10)
    segment_batches = (1 << 30) // len(one)
    per_segment = segment_batches * 10
    # an index entry comes when more than 4096 bytes lie behind the last
    every = 4096 // len(one) + 2
    marks = range(every, segment_batches, every)
    index = b"".join(
        struct.pack(">ii", mark * 10 + 9, mark * len(one)) for mark in marks
    )
    times = struct.pack(">qi", 1009, per_segment - 1)
    folder = tmp_path / "orders-0"
    folder.mkdir()
    for number in range(10):
        stem = folder / f"{number * per_segment:020}"
        with open(f"{stem}.log", "wb") as file:
            file.truncate(segment_batches * len(one))
        (folder / f"{stem}.index").write_bytes(index)
        (folder / f"{stem}.timeindex").write_bytes(times)

    def write(offset):
        segment, inside = divmod(offset, per_segment)
        target = inside // 10
        first = max(target - every, 0)
        with open(folder / f"{segment * per_segment:020}.log", "r+b") as file:
            file.seek(first * len(one))
            for number in range(first, target + 1):
                struct.pack_into(">q", one, 0, segment * per_segment + number * 10)
                file.write(one)

    end = 10 * per_segment
    (folder / f"{end:020}.snapshot").write_bytes(encode_snapshot({}))
    # where a start looks whether log and index agree
    for segment_end in range(per_segment, end + 1, per_segment):
        write(segment_end - 1)
    disk = CountingDisk(FolderDisk(tmp_path))
    log = recovered(disk, clean=True, recovery_point=end)
    assert log.log_end_offset == end and log.size_bytes > 10 * 10**9
    random = Random(5)
    figures = []
    for offset in [0, 9, 10, end - 1, *(random.randrange(end) for _ in range(200))]:
        write(offset)
        figures.append(read_figures(log, disk, offset))
    assert max(reads for reads, _ in figures) <= 24
    assert max(size for _, size in figures) <= 64 << 10


# -- indexes by themselves


def test_an_index_finds_the_last_entry_up_to_a_key_wherever_it_is(tmp_path):
    for disk in (MemoryDisk(), FolderDisk(tmp_path)):
        index = Index(disk, "one.index", OFFSET_ENTRY)
        assert index.lookup(5) is None and index.last is None
        for number in range(1000):
            index.append(number * 3 + 3, number)
        for key in range(3005):
            entry = index.lookup(key)
            assert (entry.value if entry else -1) == min(key // 3, 1000) - 1
        index.truncate(400)
        assert index.last == (1200, 399) and index.lookup(5000) == (1200, 399)
        index.append(1201, 7)
        index.write()
        again = Index(disk, "one.index", OFFSET_ENTRY)
        assert len(again) == 401 and again.last == (1201, 7)


def test_half_an_entry_at_the_end_of_an_index_is_cut_off():
    disk = MemoryDisk()
    disk.open("one.timeindex").append([struct.pack(">qi", 5, 6) + b"half"])
    index = Index(disk, "one.timeindex", TIME_ENTRY)
    assert len(index) == 1 and index.last == (5, 6)
    assert disk.open("one.timeindex").size == 12


def test_relative_offsets_fit_their_four_bytes():
    disk = MemoryDisk()
    index = Index(disk, "one.index", OFFSET_ENTRY)
    index.append(MAX_RELATIVE_OFFSET, 1)
    index.write()
    assert disk.read("one.index") == b"\x7f\xff\xff\xff\0\0\0\1"


def test_a_read_error_of_the_disk_is_a_storage_error(monkeypatch):
    log = open_log()
    append(log, "a")

    def fail(*args):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(type(log.active.log), "pread", fail)
    with pytest.raises(
        KafkaError, match="KAFKA_STORAGE_ERROR: orders-0: Input/output error"
    ):
        log.read(0, 1000, 1)


# -- power losses


@pytest.mark.parametrize("deleted_up_to", [2, 3])
@pytest.mark.parametrize("seed", seeds(range(20)))
def test_the_end_of_the_log_survives_a_power_loss_though_all_synced_segments_were_deleted(
    deleted_up_to, seed
):
    disk = MemoryDisk()
    log = open_log(disk, segment_bytes=100)
    append(log, "a" * 60)
    append(log, "b" * 60)
    append(log, "not synced")
    synced = log.recovery_point
    log.delete_records(deleted_up_to)
    disk.lose_power(Random(seed))
    assert recovered(disk, recovery_point=synced).log_end_offset >= synced == 2


@pytest.mark.parametrize(
    "restart", [False, True], ids=["running", "after a clean restart"]
)
@pytest.mark.parametrize("synced", [False, True], ids=["not synced", "synced"])
def test_kip_107_a_log_whose_records_were_deleted_survives_a_power_loss(
    synced, restart
):
    """Its leader epochs may be torn, but never begin before the log start offset that
    is on disk.
    """
    for seed in range(30):
        disk = MemoryDisk()
        log = open_log(disk)
        append(log, "a", "b", epoch=3)
        if synced:
            log.flush()
        append(log, "c", epoch=3)
        log.delete_records(3)
        if restart:
            log.close()
            log = recovered(disk, clean=True, recovery_point=3, log_start_offset=3)
        recovery_point = log.recovery_point
        disk.lose_power(Random(seed))
        log = recovered(disk, recovery_point=recovery_point, log_start_offset=3)
        assert (log.log_start_offset, log.log_end_offset) == (3, 3)
