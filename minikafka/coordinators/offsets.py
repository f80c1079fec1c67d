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
from minikafka.wire.schema import Message, nested

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


ByTopic = dict[str, dict[int, Committed]]  # and partition
ByProducer = dict[int, dict[Place, Committed]]

UNKNOWN = Committed(NOTHING, NOTHING, "", NOTHING, NOTHING)


class NewlyCommitted(NamedTuple):
    """An offset that was pending."""

    group: str
    place: Place
    committed: Committed


class Offsets:
    """All committed offsets of a shard: group -> topic -> partition. And those that are
    pending: group -> producer id -> (topic, partition).
    """

    def __init__(self) -> None:
        self._by_group: dict[str, ByTopic] = {}
        self._pending: dict[str, ByProducer] = {}
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
        """A producer's pending offsets are committed, unless somebody committed later
        ones; or they are gone.
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
        """Whether a transaction is open in which an offset was committed."""
        by_producer = self._pending.get(group, {})
        place = topic, partition
        return any(place in pending for pending in by_producer.values())

    def has_pending(self, group: str) -> bool:
        """Whether a transaction is open with offsets of a group."""
        return group in self._pending

    def places(self, group: str) -> list[Place]:
        """Where a group has offsets, committed or pending."""
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
        """All that a group has committed, topic by topic."""
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

    def answer(self, request: Message, require_stable: bool) -> dict[str, Any]:
        """OffsetFetch of one group (groups.py)."""
        group_id = request.group_id

        def found(topic: str, number: int) -> dict[str, Any]:
            if require_stable and self.is_pending(group_id, topic, number):
                return fetched(number, None, Error.UNSTABLE_OFFSET_COMMIT)
            return fetched(number, self.get(group_id, topic, number))

        if request.topics is None:
            places = self.committed(group_id)
            return {"topics": nested((place[0], found(*place)) for place in places)}
        topics = []
        for asked in request.topics:
            partitions = [found(asked.name, each) for each in asked.partition_indexes]
            topics.append({"name": asked.name, "partitions": partitions})
        return {"topics": topics}

    def commit_event(
        self, request: Message, topic: str, partition: Message
    ) -> dict[str, Any]:
        """What the trace is told of a commit."""
        before = self.get(request.group_id, topic, partition.partition_index)
        return {
            "group": request.group_id,
            "member": request.member_id,
            "generation": request.generation_id_or_member_epoch,
            "topic": topic,
            "partition": partition.partition_index,
            "offset": partition.committed_offset,
            "was": before.offset if before else None,
        }


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
