"""The checkpoints of a node's logs: of each, offsets that a restart begins from
(storage/checkpoints.py says what the files are). One is written when it says something
else than last time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from minikafka.cluster.metadata import TopicPartition
from minikafka.cluster.replica import Replica
from minikafka.storage import checkpoints
from minikafka.storage.disk import Disk, as_storage_errors

Offsets = dict[TopicPartition, int]


class Noted(NamedTuple):
    """The last run's checkpoints for one log. recovery_point: None if it wrote none.
    stopped_clean: it shut down cleanly.
    """

    recovery_point: int | None
    log_start_offset: int
    first_dirty_offset: int
    high_watermark: int
    stopped_clean: bool


class LastRun(NamedTuple):
    """The last run's checkpoints for all logs."""

    recovery_points: Offsets
    log_start_offsets: Offsets
    cleaner_offsets: Offsets
    high_watermarks: Offsets
    stopped_clean: bool

    def noted(self, key: TopicPartition) -> Noted:
        return Noted(
            recovery_point=self.recovery_points.get(key),
            log_start_offset=self.log_start_offsets.get(key, 0),
            first_dirty_offset=self.cleaner_offsets.get(key, 0),
            high_watermark=self.high_watermarks.get(key, 0),
            stopped_clean=self.stopped_clean,
        )


@dataclass(eq=False, repr=False)
class OffsetCheckpoints:
    """replicas: all that this node holds. notice: hears of a file that can't be
    read.
    """

    _disk: Disk
    _replicas: Mapping[TopicPartition, Replica]
    _notice: Callable[..., object]
    _written: dict[str, Offsets] = field(default_factory=dict)

    def take_last_run(self) -> LastRun:
        """Read what the last run wrote. The mark of its clean shutdown is taken away:
        this run's may not be clean.
        """
        return LastRun(
            stopped_clean=checkpoints.take_clean_shutdown(self._disk),
            recovery_points=self._read(checkpoints.RECOVERY_POINTS),
            log_start_offsets=self._read(checkpoints.LOG_START_OFFSETS),
            cleaner_offsets=self._read(checkpoints.CLEANER_OFFSETS),
            high_watermarks=self._read(checkpoints.HIGH_WATERMARKS),
        )

    def _read(self, name: str) -> Offsets:
        """One checkpoint; nothing, where that is damaged."""
        try:
            self._written[name] = checkpoints.read_offsets(self._disk, name)
        except ValueError:
            self._notice(f"{name} is damaged, and counts for nothing")
            return {}
        return self._written[name]

    def write_recovery_points(self) -> None:
        """Up to where each log is synced, and where it begins."""
        synced = {}
        begins = {}
        for key, replica in self._replicas.items():
            synced[key] = replica.log.recovery_point
            begins[key] = replica.log.log_start_offset
        self._write(checkpoints.RECOVERY_POINTS, synced)
        self._write(checkpoints.LOG_START_OFFSETS, begins)

    def write_high_watermarks(self) -> None:
        """Up to where each log is committed."""
        offsets = {}
        for key, replica in self._replicas.items():
            offsets[key] = replica.high_watermark
        self._write(checkpoints.HIGH_WATERMARKS, offsets)

    def write_cleaner_offsets(self) -> None:
        """Up to where each compacted log is clean."""
        offsets = {}
        for key, replica in self._replicas.items():
            if replica.log.first_dirty_offset:
                offsets[key] = replica.log.first_dirty_offset
        self._write(checkpoints.CLEANER_OFFSETS, offsets)

    def _write(self, name: str, offsets: Offsets) -> None:
        if self._written.get(name) == offsets:
            return
        with as_storage_errors(name):
            checkpoints.write_offsets(self._disk, name, offsets)
        self._written[name] = offsets
