"""Deleted files keep their place on a disk for file.delete.delay.ms.

Kafka renames a deleted segment's files and removes them later. The simulation's brokers
remove them at once, so their bytes are counted here until that delay is over.
"""

from typing import NamedTuple

from minikafka.simulation.memory_disk import MemoryDisk

DELETE_DELAY_MS = 60_000  # the default of file.delete.delay.ms
HEARD_MS = 2000  # within which all brokers have heard that a topic is deleted


class Deleted(NamedTuple):
    """Bytes of deleted files, and when the disk has them back."""

    until_ms: int
    disk: MemoryDisk
    size: int


class DeletedFiles:
    """Those that still take up space on the brokers' disks."""

    def __init__(self) -> None:
        self._kept: list[Deleted] = []  # the one that goes first comes first
        self._of_topics: list[Deleted] = []  # the brokers are about to remove them

    def add_segment(self, disk: MemoryDisk, size: int, at_ms: int) -> None:
        """A broker has removed a segment: take its bytes up again."""
        disk.take(size)
        self._kept.append(Deleted(at_ms + DELETE_DELAY_MS, disk, size))

    def add_topic(self, disk: MemoryDisk, topic: str, at_ms: int) -> None:
        """The controller has deleted a topic: note how large its folders are, because
        the broker will remove them in a moment.
        """
        size = 0
        for path, file in disk.files().items():
            folder, _, _ = path.partition("/")
            if folder.rpartition("-")[0] == topic:
                size += file.size
        self._of_topics.append(Deleted(at_ms + DELETE_DELAY_MS, disk, size))

    def pass_time(self, now_ms: int) -> None:
        """Take up the bytes of deleted topics, and give back those whose delay is
        over.
        """
        self._take_topics(now_ms)
        while self._kept and self._kept[0].until_ms <= now_ms:
            deleted = self._kept.pop(0)
            deleted.disk.give_back(deleted.size)

    def _take_topics(self, now_ms: int) -> None:
        """Not before the brokers have removed the folders: nothing counts twice."""
        latest_ms = now_ms + DELETE_DELAY_MS - HEARD_MS
        while self._of_topics and self._of_topics[0].until_ms <= latest_ms:
            deleted = self._of_topics.pop(0)
            deleted.disk.used_bytes += deleted.size
            self._kept.append(deleted)
        self._kept.sort(key=lambda deleted: deleted.until_ms)
