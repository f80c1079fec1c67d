"""The disk in memory fails as real ones do: it fills up, its process dies, its power
goes.
"""

import errno
from random import Random

import pytest

from minikafka.simulation.memory_disk import MemoryDisk


def test_a_full_disk_takes_nothing_and_gives_space_back():
    disk = MemoryDisk(capacity_bytes=10)
    file = disk.open("a")
    file.append([b"12345678"])
    with pytest.raises(OSError, match="No space left") as caught:
        file.append([b"123"])
    assert caught.value.errno == errno.ENOSPC and file.size == 8
    with pytest.raises(OSError, match="No space left"):
        disk.write_atomic("b", b"12345")
    assert disk.listdir("") == ["a"]
    file.truncate(2)
    file.append([b"345678"])
    disk.remove("a")
    assert disk.used_bytes == 0


def test_a_dead_process_loses_its_locks_and_nothing_else():
    disk = MemoryDisk()
    disk.open("a").append([b"written"])
    assert disk.lock(".lock") and not disk.lock(".lock")
    disk.crash()
    assert disk.lock(".lock")
    assert disk.read("a") == b"written"


def test_a_power_loss_keeps_what_was_flushed_and_a_part_of_the_rest_and_obeys_its_seed():
    def outcome(seed):
        disk = MemoryDisk()
        kept, torn, new = disk.open("kept"), disk.open("torn"), disk.open("new")
        kept.append([b"a" * 1000])
        kept.flush()
        torn.append([b"a" * 1000])
        torn.flush()
        torn.append([b"b" * 2000])
        new.append([b"c" * 100])
        disk.lose_power(Random(seed))
        assert disk.read("kept") == b"a" * 1000
        assert disk.read("torn").startswith(b"a" * 1000)
        assert disk.used_bytes == sum(len(disk.read(name)) for name in disk.listdir(""))
        return [(name, disk.read(name)) for name in disk.listdir("")]

    outcomes = [outcome(seed) for seed in range(40)]
    assert outcomes == [outcome(seed) for seed in range(40)]
    assert len({str(each) for each in outcomes}) > 30
    assert any("new" not in dict(each) for each in outcomes)
    assert any(b"\0" in dict(each)["torn"] for each in outcomes)


def test_a_cut_that_was_not_flushed_may_be_undone_by_a_power_loss():
    def outcome(seed):
        disk = MemoryDisk()
        file = disk.open("a")
        file.append([b"0123456789"])
        file.flush()
        file.truncate(6)
        file.append([b"abc"])
        file.truncate(2)
        disk.lose_power(Random(seed))
        return disk.read("a")

    assert {outcome(seed) for seed in range(20)} == {b"0123456789", b"01"}
