"""Both disks behave alike; the real one is bounded and locked, the one in memory fails as real ones do."""

import errno
import os
import subprocess
import sys
from random import Random

import pytest

from minikafka.server.folder_disk import FolderDisk
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage.checkpoints import (
    read_meta_properties,
    read_offsets,
    take_clean_shutdown,
    write_clean_shutdown,
    write_meta_properties,
    write_offsets,
)


@pytest.fixture(params=["folder", "memory"])
def disk(request, tmp_path):
    disk = FolderDisk(tmp_path / "data") if request.param == "folder" else MemoryDisk()
    yield disk
    if request.param == "folder":
        disk.close()


def test_a_file_grows_at_its_end_and_is_read_anywhere(disk):
    disk.mkdir("orders-0")
    file = disk.open("orders-0/a.log")
    file.append([b"one", bytearray(b"two"), memoryview(b"three")])
    assert (file.size, file.pread(3, 3), file.pread(100, 6), file.pread(5, 50)) == (11, b"two", b"three", b"")
    file.truncate(4)
    file.append([b"!"])
    assert disk.read("orders-0/a.log") == b"onet!"
    file.flush()
    file.close()
    assert file.pread(10, 0) == b"onet!"
    assert disk.open("orders-0/a.log").size == 5


def test_a_file_that_must_be_there_is_not_made(disk):
    with pytest.raises(FileNotFoundError):
        disk.open("a.log", create=False)
    with pytest.raises(FileNotFoundError):
        disk.read("a.log")
    with pytest.raises(FileNotFoundError):
        disk.open("nowhere/a.log")
    assert not disk.exists("a.log")


def test_folders_are_made_listed_renamed_and_removed(disk):
    disk.mkdir("orders-0/deep")
    disk.mkdir("orders-0")
    disk.open("orders-0/b.log").append([b"b"])
    disk.open("orders-0/a.log")
    disk.open("c")
    assert disk.listdir("") == ["c", "orders-0"]
    assert disk.listdir("orders-0") == ["a.log", "b.log", "deep"]
    disk.rename("orders-0", "orders-0.x-delete")
    assert not disk.exists("orders-0") and disk.read("orders-0.x-delete/b.log") == b"b"
    with pytest.raises(OSError):
        disk.rename("c", "orders-0.x-delete")
    assert not disk.exists("c/a.log") and disk.listdir("") == ["c", "orders-0.x-delete"]
    disk.remove("orders-0.x-delete/b.log")
    assert disk.listdir("orders-0.x-delete") == ["a.log", "deep"]
    disk.rmtree("orders-0.x-delete")
    assert disk.listdir("") == ["c"]


@pytest.mark.parametrize("sync", [True, False])
def test_an_atomic_write_replaces_the_whole_file(disk, sync):
    for content in (b"long content", b"short"):
        disk.write_atomic("checkpoint", content, sync)
        assert disk.read("checkpoint") == content
    assert disk.listdir("") == ["checkpoint"]


def test_checkpoints_have_kafkas_text(disk):
    write_offsets(disk, "recovery-point-offset-checkpoint", {("orders", 1): 5, ("a", 0): 7})
    assert disk.read("recovery-point-offset-checkpoint") == b"0\n2\na 0 7\norders 1 5\n"
    assert read_offsets(disk, "recovery-point-offset-checkpoint") == {("orders", 1): 5, ("a", 0): 7}
    assert read_offsets(disk, "absent") == {}


@pytest.mark.parametrize(
    "content", [b"", b"0\n", b"0\n2\na 0 7\n", b"1\n0\n", b"0\n1\na 0\n", b"\0\0\0\0", b"\xff\xfe"]
)
def test_a_checkpoint_that_is_not_whole_is_told_from_one_that_is_absent(disk, content):
    disk.write_atomic("checkpoint", content)
    with pytest.raises(ValueError):
        read_offsets(disk, "checkpoint")


def test_meta_properties_are_java_properties(disk):
    assert read_meta_properties(disk) is None
    properties = {"version": "1", "cluster.id": "a=b:c#d", "node.id": "1"}
    write_meta_properties(disk, properties)
    assert read_meta_properties(disk) == properties
    disk.write_atomic("meta.properties", b"#\n#Sat Nov 21\nnode.id=1\nversion=1\ncluster.id=MkU3\n")
    assert read_meta_properties(disk) == {"version": "1", "cluster.id": "MkU3", "node.id": "1"}


def test_a_clean_shutdown_is_known_once(disk):
    assert not take_clean_shutdown(disk)
    write_clean_shutdown(disk)
    assert take_clean_shutdown(disk)
    assert not take_clean_shutdown(disk)


# -- the real one


def test_only_so_many_files_are_open_at_a_time(tmp_path):
    disk = FolderDisk(tmp_path, max_open_files=5)
    files = [disk.open(f"{number}.log") for number in range(20)]
    for turn in range(3):
        for number, file in enumerate(files):
            file.append([b"%d" % (number % 10)])
            assert file.pread(10, 0) == b"%d" % (number % 10) * (turn + 1)
            assert len(disk._handles) <= 5
    disk.close()
    assert len(disk._handles) == 0


def test_a_second_server_on_the_same_folder_is_refused(tmp_path):
    first, second = FolderDisk(tmp_path), FolderDisk(tmp_path)
    assert first.lock(".lock")
    assert not second.lock(".lock")
    other = (
        "import sys; from minikafka.server.folder_disk import FolderDisk\n"
        "sys.exit(FolderDisk(sys.argv[1]).lock('.lock'))"
    )
    command = [sys.executable, "-c", other, str(tmp_path)]
    assert subprocess.run(command, check=False).returncode == 0
    first.close()
    assert second.lock(".lock")
    second.close()
    assert subprocess.run(command, check=False).returncode == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
def test_a_write_that_the_real_disk_takes_only_in_part_leaves_nothing_behind(tmp_path):
    program = """
import errno, resource, sys
from minikafka.server.folder_disk import FolderDisk
file = FolderDisk(sys.argv[1]).open("a.log")
file.append([b"x" * 900])
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
try:
    file.append([b"y" * 50, b"z" * 500])
except OSError as error:
    print(error.errno == errno.EFBIG, file.size)
file.append([b"y" * 50])
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "True 900\n"
    assert (tmp_path / "a.log").read_bytes() == b"x" * 900 + b"y" * 50


# -- the one in memory


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
