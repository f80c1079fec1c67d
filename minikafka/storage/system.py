"""Positioned reads and writes, file locks, folders on disk: where Windows and the others differ."""

from __future__ import annotations

import os
import sys
from typing import IO

from minikafka.wire.crc import Buffer

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
        """Windows can't, and needn't."""

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
        """Make names in a folder survive a power loss: those of new and of renamed files."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
