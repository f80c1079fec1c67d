"""The real disk: a folder of the file system, with a bounded number of open files.
storage/disk.py says what a disk has to do.

Windows differs from the other systems in positioned reads and writes, in locks, and in
syncing folders.
"""

import os
import shutil
import sys
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from minikafka.storage.disk import Space
from minikafka.wire.primitives import Buffer

# the usual limit is 1,024 on Linux and 256 on macOS, and connections need some
MAX_OPEN_FILES = 200

if sys.platform == "win32":
    import msvcrt

    def pread(handle: int, size: int, at: int) -> bytes:
        os.lseek(handle, at, os.SEEK_SET)
        return os.read(handle, size)

    def pwrite(handle: int, buffer: Buffer, at: int) -> int:
        os.lseek(handle, at, os.SEEK_SET)
        return os.write(handle, buffer)

    def lock(file: IO[bytes]) -> bool:
        try:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def sync_folder(path: str) -> None:
        """Windows can't do this, and doesn't need it."""

else:
    import fcntl

    pread = os.pread
    pwrite = os.pwrite

    def lock(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def sync_folder(path: str) -> None:
        """Make the names in a folder survive a power loss: those of new and of renamed
        files.
        """
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class FolderDisk:
    """A folder of the real file system."""

    def __init__(self, path: str | Path, max_open_files: int = MAX_OPEN_FILES) -> None:
        self._root = os.path.abspath(path)
        self._max_open_files = max_open_files
        # the least recently used first
        self._handles: OrderedDict[str, int] = OrderedDict()
        self._locks: list[IO[bytes]] = []
        os.makedirs(self._root, exist_ok=True)

    def __str__(self) -> str:
        return self._root

    def open(self, path: str, create: bool = True) -> "FolderFile":
        absolute = self._absolute(path)
        try:
            return FolderFile(self, absolute, os.stat(absolute).st_size, new=False)
        except FileNotFoundError:
            if not create:
                raise
        os.close(os.open(absolute, os.O_CREAT | os.O_RDWR, 0o644))
        return FolderFile(self, absolute, 0, new=True)

    def exists(self, path: str) -> bool:
        return os.path.exists(self._absolute(path))

    def listdir(self, path: str) -> list[str]:
        return sorted(os.listdir(self._absolute(path)))

    def mkdir(self, path: str) -> None:
        os.makedirs(self._absolute(path), exist_ok=True)

    def rename(self, old: str, new: str) -> None:
        self._let_go(self._absolute(old))
        os.replace(self._absolute(old), self._absolute(new))
        sync_folder(os.path.dirname(self._absolute(new)))

    def remove(self, path: str) -> None:
        self._let_go(self._absolute(path))
        os.remove(self._absolute(path))

    def rmtree(self, path: str) -> None:
        self._let_go(self._absolute(path))
        shutil.rmtree(self._absolute(path))

    def read(self, path: str) -> bytes:
        with open(self._absolute(path), "rb") as file:
            return file.read()

    def write_atomic(self, path: str, data: bytes, sync: bool = True) -> None:
        absolute = self._absolute(path)
        with open(absolute + ".tmp", "wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(absolute + ".tmp", absolute)
        if sync:
            sync_folder(os.path.dirname(absolute))

    def space(self) -> Space:
        volume = shutil.disk_usage(self._root)
        return Space(volume.total, volume.free)

    def lock(self, path: str) -> bool:
        file = open(self._absolute(path), "ab")  # noqa: SIM115  (held until the process ends)
        if not lock(file):
            file.close()
            return False
        self._locks.append(file)
        return True

    def close(self) -> None:
        """Close all handles and release the locks."""
        self._let_go(self._root)
        for file in self._locks:
            file.close()
        self._locks.clear()

    def handle(self, absolute: str) -> int:
        """An open descriptor. The least recently used files are closed for it."""
        handles = self._handles
        if absolute in handles:
            handles.move_to_end(absolute)
            return handles[absolute]
        while len(handles) >= self._max_open_files:
            os.close(handles.popitem(last=False)[1])
        descriptor = handles[absolute] = os.open(
            absolute, os.O_RDWR | getattr(os, "O_BINARY", 0)
        )
        return descriptor

    def close_handle(self, absolute: str) -> None:
        descriptor = self._handles.pop(absolute, None)
        if descriptor is not None:
            os.close(descriptor)

    def _let_go(self, absolute: str) -> None:
        """Close handles first: Windows can't move or remove an open file, nor a folder
        that holds one.
        """
        for path in [
            path
            for path in self._handles
            if path == absolute or path.startswith(absolute + os.sep)
        ]:
            self.close_handle(path)

    def _absolute(self, path: str) -> str:
        return os.path.join(self._root, *path.split("/"))


class FolderFile:
    """A file of a FolderDisk. It keeps the size and borrows its handle."""

    def __init__(self, disk: FolderDisk, absolute: str, size: int, new: bool) -> None:
        self._disk = disk
        self._absolute = absolute
        self._new = new
        self.size = size

    def pread(self, size: int, at: int) -> bytes:
        return pread(self._disk.handle(self._absolute), size, at)

    def append(self, buffers: Sequence[Buffer]) -> None:
        handle = self._disk.handle(self._absolute)
        end = self.size
        try:
            for buffer in buffers:
                written = pwrite(handle, buffer, end)
                end += written
                # an almost full disk writes a part, and refuses the rest with an error
                while written < len(buffer):
                    more = pwrite(handle, memoryview(buffer)[written:], end)
                    written += more
                    end += more
        except OSError:
            _cut(handle, self.size)
            raise
        self.size = end

    def truncate(self, size: int) -> None:
        os.ftruncate(self._disk.handle(self._absolute), size)
        self.size = size

    def flush(self) -> None:
        os.fsync(self._disk.handle(self._absolute))
        if self._new:
            sync_folder(os.path.dirname(self._absolute))
            self._new = False

    def close(self) -> None:
        self._disk.close_handle(self._absolute)


def _cut(handle: int, size: int) -> None:
    """Cut off a torn end. A failing disk may refuse this too; then recovery does it."""
    try:
        os.ftruncate(handle, size)
    except OSError:
        pass
