"""The real disk and the one in memory behave alike."""

import pytest

from minikafka.server.folder_disk import FolderDisk
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage.checkpoints import (
    read_offsets,
    take_clean_shutdown,
    write_clean_shutdown,
    write_offsets,
)
from minikafka.storage.data_folder import read_meta_properties, write_meta_properties


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
    assert (file.size, file.pread(3, 3), file.pread(100, 6), file.pread(5, 50)) == (
        11,
        b"two",
        b"three",
        b"",
    )
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
    write_offsets(
        disk, "recovery-point-offset-checkpoint", {("orders", 1): 5, ("a", 0): 7}
    )
    assert disk.read("recovery-point-offset-checkpoint") == b"0\n2\na 0 7\norders 1 5\n"
    assert read_offsets(disk, "recovery-point-offset-checkpoint") == {
        ("orders", 1): 5,
        ("a", 0): 7,
    }
    assert read_offsets(disk, "absent") == {}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"0\n",
        b"0\n2\na 0 7\n",
        b"1\n0\n",
        b"0\n1\na 0\n",
        b"\0\0\0\0",
        b"\xff\xfe",
    ],
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
    disk.write_atomic(
        "meta.properties", b"#\n#Sat Nov 21\nnode.id=1\nversion=1\ncluster.id=MkU3\n"
    )
    assert read_meta_properties(disk) == {
        "version": "1",
        "cluster.id": "MkU3",
        "node.id": "1",
    }


def test_a_clean_shutdown_is_known_once(disk):
    assert not take_clean_shutdown(disk)
    write_clean_shutdown(disk)
    assert take_clean_shutdown(disk)
    assert not take_clean_shutdown(disk)
