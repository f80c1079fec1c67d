"""A disk in memory. It fails as real ones do: it fills up, its process dies, its power
fails.

When a process dies, nothing that it wrote is lost. A power loss is harsher. Of the
bytes appended to a file since its last flush, a part survives, and within that part a
sector may be left as zeros, because a disk writes in any order. A file that was never
flushed may be gone; a cut that was not flushed may be undone. Renames, removals and
atomic writes survive: a journaling file system keeps them in order.
"""

import errno
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from minikafka.storage.disk import Space
from minikafka.wire.primitives import Buffer

SECTOR_BYTES = 512  # the unit in which a disk writes

# when power is lost
CHANCE_THAT_A_FILE_IS_GONE = 0.3  # for a file that was never flushed
CHANCE_THAT_A_CUT_IS_UNDONE = 0.5  # for a cut that was not flushed
CHANCE_OF_A_SECTOR_OF_ZEROS = 0.3  # in bytes that survive without having been flushed

Folder = dict[str, Any]  # name -> a MemoryFile, or the Folder with that name


class MemoryFile:
    """A file of a MemoryDisk."""

    def __init__(self, disk: "MemoryDisk") -> None:
        self._disk = disk
        self.data = bytearray()
        self.durable_size: int | None = None  # at the last flush
        # the flushed end, if a cut has removed it since
        self.durable_tail = b""

    @property
    def size(self) -> int:
        return len(self.data)

    def pread(self, size: int, at: int) -> bytes:
        return bytes(memoryview(self.data)[at : at + size])

    def append(self, buffers: Sequence[Buffer]) -> None:
        size = sum(map(len, buffers))
        self._disk.take(size)
        for buffer in buffers:
            self.data += buffer

    def truncate(self, size: int) -> None:
        if self.durable_size is not None:
            kept = self.durable_size - len(self.durable_tail)
            if size < kept:
                self.durable_tail = bytes(self.data[size:kept]) + self.durable_tail
        self._disk.give_back(len(self.data) - size)
        del self.data[size:]

    def flush(self) -> None:
        self.durable_size = len(self.data)
        self.durable_tail = b""

    def close(self) -> None:
        pass

    def lose_power(self, random: Random) -> bool:
        """Keep the bytes that survive. False if not even the file does."""
        was_flushed = self.durable_size is not None
        if not was_flushed and random.random() < CHANCE_THAT_A_FILE_IS_GONE:
            return False
        flushed = self._flushed(random)
        at_risk = len(self.data) - flushed
        survives = flushed + int(random.random() * (at_risk + 1))
        self._disk.give_back(len(self.data) - survives)
        del self.data[survives:]
        if survives > flushed and random.random() < CHANCE_OF_A_SECTOR_OF_ZEROS:
            start = flushed + int(random.random() * (survives - flushed))
            end = min(start + SECTOR_BYTES, survives)
            self.data[start:end] = bytes(end - start)
        self.flush()
        return True

    def _flushed(self, random: Random) -> int:
        """The number of bytes that are safe. A cut since the last flush may be
        undone.
        """
        if self.durable_size is None:
            return 0
        kept = self.durable_size - len(self.durable_tail)
        if self.durable_tail and random.random() < CHANCE_THAT_A_CUT_IS_UNDONE:
            self._disk.give_back(len(self.data) - self.durable_size)
            self.data[kept:] = self.durable_tail
            return self.durable_size
        return kept


class MemoryDisk:
    """A Disk (storage/disk.py) in memory. capacity_bytes: None means no limit; it may
    be changed at any time.
    """

    def __init__(self, capacity_bytes: int | None = None) -> None:
        self.capacity_bytes = capacity_bytes
        self.used_bytes = 0
        self._root: Folder = {}
        self._locked: set[str] = set()

    def __str__(self) -> str:
        """The folder in which a broker says its logs are."""
        return "/var/lib/kafka/data"

    def files(self) -> dict[str, MemoryFile]:
        """All files by path, in order."""
        return dict(sorted(_files("", self._root)))

    # -- failures

    def crash(self) -> None:
        """The process dies: its locks are released, and everything it wrote is
        there.
        """
        self._locked.clear()

    def lose_power(self, random: Random) -> None:
        """The machine dies: bytes that were not flushed are lost, or torn."""
        self.crash()
        for path, file in self.files().items():
            if not file.lose_power(random):
                self.remove(path)

    def take(self, size: int) -> None:
        """Count bytes that are about to be written; OSError ENOSPC if they don't
        fit.
        """
        used_bytes = self.used_bytes + size
        if self.capacity_bytes is not None and used_bytes > self.capacity_bytes:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.used_bytes = used_bytes

    def give_back(self, size: int) -> None:
        self.used_bytes -= size

    # -- the interface of a disk

    def open(self, path: str, create: bool = True) -> MemoryFile:
        folder, name = self._place(path)
        if name not in folder:
            if not create:
                raise _absent(path)
            folder[name] = MemoryFile(self)
        return folder[name]

    def exists(self, path: str) -> bool:
        try:
            folder, name = self._place(path)
        except FileNotFoundError:
            return False
        return name in folder

    def listdir(self, path: str) -> list[str]:
        folder, _ = self._place(f"{path}/" if path else "")
        return sorted(folder)

    def mkdir(self, path: str) -> None:
        folder = self._root
        for name in path.split("/"):
            folder = folder.setdefault(name, {})

    def rename(self, old: str, new: str) -> None:
        source, old_name = self._find(old)
        target, new_name = self._place(new)
        if new_name in target:
            self.remove(new)
        target[new_name] = source.pop(old_name)

    def remove(self, path: str) -> None:
        folder, name = self._find(path)
        if not isinstance(folder[name], MemoryFile):
            raise IsADirectoryError(errno.EISDIR, "Is a directory", path)
        self.give_back(folder.pop(name).size)

    def rmtree(self, path: str) -> None:
        folder, name = self._find(path)
        for _, file in _files("", folder.pop(name)):
            self.give_back(file.size)

    def read(self, path: str) -> bytes:
        return bytes(self.open(path, create=False).data)

    def write_atomic(self, path: str, data: bytes, sync: bool = True) -> None:
        file = self.open(f"{path}.tmp")
        file.truncate(0)
        try:
            file.append([data])
        except OSError:
            self.remove(f"{path}.tmp")
            raise
        if sync:
            file.flush()
        self.rename(f"{path}.tmp", path)

    def space(self) -> Space | None:
        total = self.capacity_bytes
        if total is None:
            return None
        usable = max(total - self.used_bytes, 0)
        return Space(total, usable)

    def lock(self, path: str) -> bool:
        if path in self._locked:
            return False
        self._locked.add(path)
        return True

    def _place(self, path: str) -> tuple[Folder, str]:
        """The folder that a path leads to, and the name in it."""
        folder: Any = self._root
        *parents, name = path.split("/")
        for parent in parents:
            folder = folder.get(parent)
            if not isinstance(folder, dict):
                raise _absent(path)
        return folder, name

    def _find(self, path: str) -> tuple[Folder, str]:
        """The same for a path that must exist."""
        folder, name = self._place(path)
        if name not in folder:
            raise _absent(path)
        return folder, name


def _files(prefix: str, folder: Folder) -> Iterator[tuple[str, MemoryFile]]:
    for name, entry in folder.items():
        if isinstance(entry, MemoryFile):
            yield prefix + name, entry
        else:
            yield from _files(f"{prefix}{name}/", entry)


def _absent(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "No such file or directory", path)
