"""What the tests of this folder share: logs on a disk in memory, batches, and a disk
that counts.
"""

from typing import NamedTuple

from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage.config import LogConfig
from minikafka.storage.log import Log
from minikafka.storage.recovery import recover
from minikafka.trace import Trace
from minikafka.wire.records import batches, decode_batch, encode_batch

TOPIC_ID = bytes(range(16))


class Now(NamedTuple):
    wall_ms: int
    monotonic_ms: int = 0


def open_log(
    disk=None,
    events=None,
    *,
    recovery_point=0,
    log_start_offset=0,
    first_dirty_offset=0,
    topic_id=TOPIC_ID,
    **config,
):
    """orders-0 on the disk; not yet recovered if it was there before."""
    listeners = [] if events is None else [events.append]
    return Log(
        MemoryDisk() if disk is None else disk,
        "orders-0",
        LogConfig(**config),
        Trace("broker 1", listeners),
        "orders",
        0,
        topic_id=topic_id,
        recovery_point=recovery_point,
        log_start_offset=log_start_offset,
        first_dirty_offset=first_dirty_offset,
    )


def recovered(disk, events=None, *, clean=False, budget_bytes=1 << 20, **arguments):
    log = open_log(disk, events, **arguments)
    for _ in recover(log, budget_bytes, print, clean):
        pass
    return log


def batch(*values, timestamp=1000, step=1, **fields):
    """A batch of these values, `step` ms apart."""
    records = [
        (timestamp + number * step, b"key", value.encode(), [])
        for number, value in enumerate(values)
    ]
    return bytearray(encode_batch(records, **fields))


def append(log, *values, epoch=0, now=1000, **fields):
    return log.append(batch(*values, **fields), epoch, Now(now))


def values(log, offset=None):
    """All values from an offset on, in the order of the log."""
    position = log.log_start_offset if offset is None else offset
    found = []
    while position < log.log_end_offset:
        (data,) = log.read(position, 1 << 20, log.log_end_offset)
        for header, one in batches(data):
            found += [
                record.value.decode()
                for record in decode_batch(one)
                if record.offset >= position
            ]
            position = header.next_offset
    return found


class CountingFile:
    def __init__(self, disk, path, file):
        self._disk, self._path, self._file = disk, path, file

    def __getattr__(self, name):
        return getattr(self._file, name)

    @property
    def size(self):
        return self._file.size

    def pread(self, size, at):
        data = self._file.pread(size, at)
        self._disk.reads.append((self._path, at, len(data)))
        return data


class CountingDisk:
    """Passes everything on and takes note of reads: (path, position, size in bytes)."""

    def __init__(self, disk):
        self._disk = disk
        self.reads = []

    def __getattr__(self, name):
        return getattr(self._disk, name)

    def open(self, path, create=True):
        return CountingFile(self, path, self._disk.open(path, create))

    def read(self, path):
        data = self._disk.read(path)
        self.reads.append((path, 0, len(data)))
        return data

    @property
    def bytes_read(self):
        return sum(size for _, _, size in self.reads)


def filled(events=None, segments=4, **config):
    """Segments of one record each, a minute apart."""
    log = open_log(
        events=events, **({"segment_bytes": 80, "retention_ms": -1} | config)
    )
    for number in range(segments):
        append(log, str(number), timestamp=number * 60_000)
    return log
