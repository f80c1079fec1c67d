"""Committed offsets: where each group will continue to read, partition by partition.

A committed offset is the next one to read. It is a record with the key (group, topic,
partition), so compaction keeps the last commit for each, and a tombstone deletes it.
Offsets belong to a group name, not to its members: they stay when the members leave,
until they expire (KIP-211), or the group or the topic is deleted.

An offset that a producer commits within its transaction is pending until the
transaction ends (KIP-98): nobody reads it. A member that asks for stable offsets
meanwhile gets an error and tries again, so that records aren't processed twice
(KIP-447).
"""

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

from minikafka.coordinators.runtime import CoordinatorRecord
from minikafka.wire.errors import Error
from minikafka.wire.schema import Message

Place = tuple[str, int]  # topic, partition
NOTHING = -1
LAST_MS = 2**63 - 1


class Committed(NamedTuple):
    """offset: the next to read. leader_epoch: of the last record read, -1 if unknown.
    metadata: the committer's note. expires_ms: set only by old clients
    (retention_time_ms). number: the later of two commits has the larger number.
    """

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expires_ms: int
    number: int = 0


ByTopic = dict[str, dict[int, Committed]]  # topic -> partition -> the commit
ByProducer = dict[int, dict[Place, Committed]]

UNKNOWN = Committed(NOTHING, NOTHING, "", NOTHING, NOTHING)


class NewlyCommitted(NamedTuple):
    """An offset that was pending and is committed now."""

    group: str
    place: Place
    committed: Committed


class Offsets:
    """All committed offsets of a shard: group -> topic -> partition. And the pending
    ones: group -> producer id -> (topic, partition).
    """

    def __init__(self) -> None:
        self._by_group: dict[str, ByTopic] = {}
        self._pending: dict[str, ByProducer] = {}
        # producer id -> groups for which it has pending offsets
        self._groups_of: dict[int, dict[str, None]] = {}
        self._numbers = itertools.count(1)

    def apply(
        self, key: Message, value: Message | None, producer_id: int | None = None
    ) -> None:
        """Apply an OffsetCommit record; with a producer id it is part of a
        transaction.
        """
        place = key.topic, key.partition
        if value is None:
            self._forget(key.group, *place)
            for pending in self._pending.get(key.group, {}).values():
                pending.pop(place, None)
            return
        committed = Committed(
            offset=value.offset,
            leader_epoch=value.leader_epoch,
            metadata=value.metadata,
            commit_ms=value.commit_timestamp,
            expires_ms=value.expire_timestamp,
            number=next(self._numbers),
        )
        if producer_id is None:
            self._put(key.group, place, committed)
            return
        by_producer = self._pending.setdefault(key.group, {})
        by_producer.setdefault(producer_id, {})[place] = committed
        self._groups_of.setdefault(producer_id, {})[key.group] = None

    def end_transaction(
        self, producer_id: int, committed: bool
    ) -> Iterator[NewlyCommitted]:
        """Commit a producer's pending offsets, except where somebody committed later;
        or drop them.
        """
        for group in self._groups_of.pop(producer_id, ()):
            pending = self._pending[group].pop(producer_id)
            if not self._pending[group]:
                del self._pending[group]
            if not committed:
                continue
            for place, each in pending.items():
                known = self.get(group, *place)
                if known is None or known.number < each.number:
                    self._put(group, place, each)
                    yield NewlyCommitted(group, place, each)

    def is_pending(self, group: str, topic: str, partition: int) -> bool:
        """Whether an open transaction includes an offset for this partition."""
        by_producer = self._pending.get(group, {})
        place = topic, partition
        return any(place in pending for pending in by_producer.values())

    def has_pending(self, group: str) -> bool:
        """Whether an open transaction includes offsets of this group."""
        return group in self._pending

    def places(self, group: str) -> list[Place]:
        """The partitions for which a group has offsets, committed or pending."""
        places = dict.fromkeys(self.committed(group))
        for pending in self._pending.get(group, {}).values():
            places.update(dict.fromkeys(pending))
        return list(places)

    def _put(self, group: str, place: Place, committed: Committed) -> None:
        topic, partition = place
        topics = self._by_group.setdefault(group, {})
        topics.setdefault(topic, {})[partition] = committed

    def get(self, group: str, topic: str, partition: int) -> Committed | None:
        return self._by_group.get(group, {}).get(topic, {}).get(partition)

    def committed(self, group: str) -> dict[Place, Committed]:
        """All offsets that a group has committed, topic by topic."""
        found = {}
        for topic, partitions in self._by_group.get(group, {}).items():
            for partition, committed in partitions.items():
                found[topic, partition] = committed
        return found

    def groups(self) -> list[str]:
        return list(dict.fromkeys([*self._by_group, *self._pending]))

    def _forget(self, group: str, topic: str, partition: int) -> None:
        topics = self._by_group.get(group, {})
        partitions = topics.get(topic, {})
        if partition not in partitions:
            return
        del partitions[partition]
        if not partitions:
            del topics[topic]
        if not topics:
            del self._by_group[group]


def offset_commit(
    request: Message, topic: str, topic_id: bytes, partition: Message, wall_ms: int
) -> CoordinatorRecord:
    """The record of one committed offset. Old clients (OffsetCommit 2 to 4) say how
    long to keep it, others -1.
    """
    expires_ms = NOTHING
    if request.retention_time_ms != NOTHING:
        expires_ms = min(wall_ms + request.retention_time_ms, LAST_MS)
    value = {
        "offset": partition.committed_offset,
        "leader_epoch": partition.committed_leader_epoch,
        "metadata": partition.committed_metadata or "",
        "commit_timestamp": wall_ms,
        "expire_timestamp": expires_ms,
        "topic_id": topic_id,
    }
    key = _key(request.group_id, topic, partition.partition_index)
    return CoordinatorRecord("OffsetCommit", key, value)


def forgotten(group: str, topic: str, partition: int) -> CoordinatorRecord:
    """The tombstone of one committed offset."""
    key = _key(group, topic, partition)
    return CoordinatorRecord("OffsetCommit", key, None)


def _key(group: str, topic: str, partition: int) -> dict[str, Any]:
    return {"group": group, "topic": topic, "partition": partition}


def fetched(
    partition: int, committed: Committed | None, error: Error = Error.NONE
) -> dict[str, Any]:
    """One partition of an OffsetFetch answer."""
    found = UNKNOWN
    if committed is not None and not error:
        found = committed
    return {
        "partition_index": partition,
        "error_code": error,
        "committed_offset": found.offset,
        "committed_leader_epoch": found.leader_epoch,
        "metadata": found.metadata,
    }
