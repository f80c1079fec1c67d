"""The checkpoints of a node's logs: of each, offsets that a restart begins from
(storage/checkpoints.py says what the files are). One is written when it says something
else than last time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from minikafka.broker.ports import PartitionKey
from minikafka.cluster.replica import Replica
from minikafka.storage import checkpoints
from minikafka.storage.disk import Disk, as_storage_errors

Offsets = dict[PartitionKey, int]


@dataclass(eq=False, repr=False)
class OffsetCheckpoints:
    """replicas: all that this node holds. notice: hears of a file that can't be
    read.
    """

    _disk: Disk
    _replicas: Mapping[PartitionKey, Replica]
    _notice: Callable[..., object]
    _written: dict[str, Offsets] = field(default_factory=dict)

    def read(self, name: str) -> Offsets:
        """What the last run wrote; nothing, where that is damaged."""
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
        """Up to where each log counts."""
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
