"""Committed offsets: where each group goes on reading, partition by partition.

A committed offset is the next one to read. It is a record under the key (group, topic,
partition), so compaction keeps the last commit of each, and a tombstone forgets it.
Offsets belong to a group name, not to its members: they stay when the members go, until
they expire (KIP-211), the group is deleted, or the topic is.

An offset that a producer commits within its transaction is pending until the
transaction ends (KIP-98): nobody reads it. Who asks for stable offsets meanwhile is
sent away, so that a partition isn't read twice (KIP-447).
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
    metadata: the committer's note. expires_ms: set by old clients only
    (retention_time_ms). number: of two commits the later one has the larger.
    """

    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expires_ms: int
    number: int = 0


class Offsets:
    """All committed offsets of a shard: group -> topic -> partition. And those that are
    pending: group -> producer id -> (topic, partition).
    """

    def __init__(self) -> None:
        self._by_group: dict[str, dict[str, dict[int, Committed]]] = {}
        self._pending: dict[str, dict[int, dict[Place, Committed]]] = {}
        # producer id -> groups that it has pending offsets for
        self._groups_of: dict[int, dict[str, None]] = {}
        self._numbers = itertools.count(1)

    def apply(
        self, key: Message, value: Message | None, producer_id: int | None = None
    ) -> None:
        """One OffsetCommit record, of a transaction if there is a producer id."""
        place = key.topic, key.partition
        if value is None:
            self._forget(key.group, *place)
            for pending in self._pending.get(key.group, {}).values():
                pending.pop(place, None)
            return
        when = value.commit_timestamp, value.expire_timestamp
        committed = Committed(
            value.offset, value.leader_epoch, value.metadata, *when, next(self._numbers)
        )
        if producer_id is None:
            self._put(key.group, place, committed)
        else:
            self._pending.setdefault(key.group, {}).setdefault(producer_id, {})[
                place
            ] = committed
            self._groups_of.setdefault(producer_id, {})[key.group] = None

    def end_transaction(
        self, producer_id: int, committed: bool
    ) -> Iterator[tuple[str, Place, Committed]]:
        """A producer's pending offsets are committed, unless somebody committed later
        ones; or they are gone. Yields (group, place, committed) of what counts now.
        """
        for group in self._groups_of.pop(producer_id, ()):
            pending = self._pending[group].pop(producer_id)
            if not self._pending[group]:
                del self._pending[group]
            for place, each in pending.items() if committed else ():
                known = self.get(group, *place)
                if known is None or known.number < each.number:
                    self._put(group, place, each)
                    yield group, place, each

    def is_pending(self, group: str, topic: str, partition: int) -> bool:
        """Whether a transaction is open in which an offset was committed."""
        return any(
            (topic, partition) in pending
            for pending in self._pending.get(group, {}).values()
        )

    def has_pending(self, group: str) -> bool:
        """Whether a transaction is open with offsets of a group."""
        return group in self._pending

    def places(self, group: str) -> list[Place]:
        """Where a group has offsets, committed or pending."""
        committed = [(topic, partition) for topic, partition, _ in self.of(group)]
        pending = [
            place for each in self._pending.get(group, {}).values() for place in each
        ]
        return list(dict.fromkeys([*committed, *pending]))

    def _put(self, group: str, place: Place, committed: Committed) -> None:
        topic, partition = place
        self._by_group.setdefault(group, {}).setdefault(topic, {})[partition] = (
            committed
        )

    def get(self, group: str, topic: str, partition: int) -> Committed | None:
        return self._by_group.get(group, {}).get(topic, {}).get(partition)

    def of(self, group: str) -> Iterator[tuple[str, int, Committed]]:
        """(topic, partition, committed) of a group."""
        for topic, partitions in self._by_group.get(group, {}).items():
            for partition, committed in partitions.items():
                yield topic, partition, committed

    def groups(self) -> list[str]:
        return list(dict.fromkeys([*self._by_group, *self._pending]))

    def _forget(self, group: str, topic: str, partition: int) -> None:
        topics = self._by_group.get(group, {})
        partitions = topics.get(topic, {})
        if partitions.pop(partition, None) is not None and not partitions:
            del topics[topic]
            if not topics:
                del self._by_group[group]


def offset_commit(
    request: Message, topic: str, topic_id: bytes, partition: Message, wall_ms: int
) -> CoordinatorRecord:
    """The record of one committed offset. Old clients (OffsetCommit 2 to 4) say how
    long to keep it, others -1.
    """
    retention_ms = request.retention_time_ms
    value = {
        "offset": partition.committed_offset,
        "leader_epoch": partition.committed_leader_epoch,
        "metadata": partition.committed_metadata or "",
        "commit_timestamp": wall_ms,
        "expire_timestamp": (
            NOTHING if retention_ms == NOTHING else min(wall_ms + retention_ms, LAST_MS)
        ),
        "topic_id": topic_id,
    }
    return forgotten(request.group_id, topic, partition.partition_index)._replace(
        value=value
    )


def forgotten(group: str, topic: str, partition: int) -> CoordinatorRecord:
    """The tombstone of one committed offset."""
    return CoordinatorRecord(
        "OffsetCommit", {"group": group, "topic": topic, "partition": partition}, None
    )


def fetched(
    partition: int, committed: Committed | None, error: Error = Error.NONE
) -> dict[str, Any]:
    """One partition of an OffsetFetch answer."""
    found = (
        committed
        if committed and not error
        else Committed(NOTHING, NOTHING, "", NOTHING, NOTHING)
    )
    return {
        "partition_index": partition,
        "error_code": error,
        "committed_offset": found.offset,
        "committed_leader_epoch": found.leader_epoch,
        "metadata": found.metadata,
    }
