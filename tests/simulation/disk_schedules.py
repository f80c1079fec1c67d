"""Random hours of a replicated cluster (replication_schedules.py) with disks that fail
under their broker, and with data folders that are older than their cluster, from a
seed. All five brokers vote.

A disk that fails takes no write from some operation on, in the middle of whatever that
belongs to: the broker stops by itself, and starts again on a disk that works. An older
folder is one that somebody put back from a copy: it was copied while the broker ran, or
after a clean stop. The broker must not lead with it what it no longer has (KIP-966: it
names the epoch of its last clean stop, and that is no longer the one it had).
"""

import errno
from copy import deepcopy
from random import Random
from typing import Any
from unittest.mock import patch

from minikafka.simulation import cluster as simulated
from minikafka.simulation.memory_disk import MemoryDisk
from tests.simulation import replication_schedules as replication
from tests.simulation.replication_schedules import BROKERS, FAULTY_S
from tests.storage.crashing import CrashingDisk

MOST_WRITES = 400  # before a disk fails


class FailingDisk(CrashingDisk):
    """When no write is left, each one fails."""

    def use(self, name: str) -> None:
        if self.left == 0:
            raise OSError(errno.EIO, "Input/output error")
        super().use(name)


class Schedule(replication.Schedule):
    """Beside all else, disks that fail and folders that are put back."""

    def __init__(
        self, seed: int, steps: dict[int, list[tuple[str, Any]]] | None = None
    ) -> None:
        super().__init__(seed, steps)
        if steps:
            return
        random = Random(f"failing disks {seed}")
        at = random.randint(2, 8)
        while at < FAULTY_S - 6:
            kind = random.choice(("sicken", "sicken", "copy"))
            nodes = random.randint(1, BROKERS), random.randrange(1 << 30)
            later = at + random.randint(2, 6)
            self._add(at, kind, nodes)
            self._add(later, "cure" if kind == "sicken" else "put back", nodes)
            self._add(later + random.randint(1, 3), "restart", nodes)
            at += random.randint(3, 9)


class Brokers(replication.Brokers):
    def __init__(self, cluster: Any, topics: dict[str, int]) -> None:
        super().__init__(cluster, topics)
        self._copies: dict[int, MemoryDisk] = {}

    def strike(self, kind: str, one: int, other: int) -> None:
        process = self._cluster.brokers[one]
        if kind == "sicken" and process.state == "up":
            self._end("crash", one)
            if process.state == "down":
                self._undamaged.pop(one, None)
                writes = Random(other).randint(1, MOST_WRITES)
                process.disk = FailingDisk(whole(process.disk), writes)
                self._cluster.restart(one)
        elif kind == "cure" and isinstance(process.disk, FailingDisk):
            process.disk.left = -1
        elif kind in ("damage", "lag") and isinstance(process.disk, FailingDisk):
            return  # it fails as it is
        elif kind == "copy" and process.state == "up":
            self._copies[one] = deepcopy(whole(process.disk))
        elif kind == "put back" and one in self._copies:
            self._put_back(one, self._copies.pop(one), Random(other))
        else:
            super().strike(kind, one, other)

    def _put_back(self, one: int, copy: MemoryDisk, random: Random) -> None:
        """As with a damaged disk, the others have all that it has, and don't all end
        before it is in sync again.
        """
        self._end_and_damage(one, random)
        self._to_damage.pop(one, None)
        process = self._cluster.brokers[one]
        if process.state == "down":
            copy.crash()
            process.disk = copy


def whole(disk: Any) -> MemoryDisk:
    return disk.disk if isinstance(disk, FailingDisk) else disk


class Run(replication.Run):
    def __init__(self, schedule: Schedule) -> None:
        with patch.object(simulated, "MOST_VOTERS", BROKERS):
            super().__init__(schedule)

    def brokers(self, cluster: Any, topics: dict[str, int]) -> Brokers:
        return Brokers(cluster, topics)
