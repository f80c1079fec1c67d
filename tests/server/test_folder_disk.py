"""The real disk opens so many files at a time, is locked by one server, and takes a
write whole or not at all.
"""

import os
import subprocess
import sys

import pytest

from minikafka.server.folder_disk import FolderDisk


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
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "True 900\n"
    assert (tmp_path / "a.log").read_bytes() == b"x" * 900 + b"y" * 50
