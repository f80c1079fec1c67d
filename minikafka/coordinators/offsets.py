"""Committed offsets: where each group goes on reading, partition by partition.

A committed offset is the next one to read. It is a record under the key (group, topic, partition), so compaction keeps
the last commit of each, and a tombstone forgets it. Offsets belong to a group name, not to its members: they stay when
the members go, until they expire (KIP-211), the group is deleted, or the topic is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from minikafka.coordinators.runtime import CoordinatorRecord
from minikafka.wire.schema import Message

NOTHING = -1
LAST_MS = 2**63 - 1


class Committed(NamedTuple):
    """offset: the next to read. leader_epoch: of the last record read, -1 if unknown. metadata: the committer's note.
    expires_ms: set by old clients only (retention_time_ms).
    """

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expires_ms: int


class Offsets:
    """All committed offsets of a shard: group -> topic -> partition."""

    def __init__(self) -> None:
        self._by_group: dict[str, dict[str, dict[int, Committed]]] = {}

    def apply(self, key: Message, value: Message | None) -> None:
        """One OffsetCommit record."""
        if value is None:
            self._forget(key.group, key.topic, key.partition)
            return
        self._by_group.setdefault(key.group, {}).setdefault(key.topic, {})[key.partition] = Committed(
            value.offset, value.leader_epoch, value.metadata, value.commit_timestamp, value.expire_timestamp
        )

    def get(self, group: str, topic: str, partition: int) -> Committed | None:
        return self._by_group.get(group, {}).get(topic, {}).get(partition)

    def of(self, group: str) -> Iterator[tuple[str, int, Committed]]:
        """(topic, partition, committed) of a group."""
        for topic, partitions in self._by_group.get(group, {}).items():
            for partition, committed in partitions.items():
                yield topic, partition, committed

    def topics(self, group: str) -> list[str]:
        return list(self._by_group.get(group, {}))

    def groups(self) -> list[str]:
        return list(self._by_group)

    def _forget(self, group: str, topic: str, partition: int) -> None:
        topics = self._by_group.get(group, {})
        partitions = topics.get(topic, {})
        if partitions.pop(partition, None) is not None and not partitions:
            del topics[topic]
            if not topics:
                del self._by_group[group]


def offset_commit(request: Message, topic: str, topic_id: bytes, partition: Message, wall_ms: int) -> CoordinatorRecord:
    """The record of one committed offset. Old clients (OffsetCommit 2 to 4) say how long to keep it, others -1."""
    retention_ms = request.retention_time_ms
    value = {
        "offset": partition.committed_offset,
        "leader_epoch": partition.committed_leader_epoch,
        "metadata": partition.committed_metadata or "",
        "commit_timestamp": wall_ms,
        "expire_timestamp": NOTHING if retention_ms == NOTHING else min(wall_ms + retention_ms, LAST_MS),
        "topic_id": topic_id,
    }
    return CoordinatorRecord("OffsetCommit", offset_key(request.group_id, topic, partition.partition_index), value)


def forgotten(group: str, topic: str, partition: int) -> CoordinatorRecord:
    """The tombstone of one committed offset."""
    return CoordinatorRecord("OffsetCommit", offset_key(group, topic, partition), None)


def offset_key(group: str, topic: str, partition: int) -> dict[str, Any]:
    return {"group": group, "topic": topic, "partition": partition}


def fetched(partition: int, committed: Committed | None) -> dict[str, Any]:
    """One partition of an OffsetFetch answer."""
    found = committed or Committed(NOTHING, NOTHING, "", NOTHING, NOTHING)
    return {
        "partition_index": partition,
        "committed_offset": found.offset,
        "committed_leader_epoch": found.leader_epoch,
        "metadata": found.metadata,
    }
