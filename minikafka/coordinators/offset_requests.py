"""Requests about the offsets that groups have committed: how they are decided
(runtime.py), over the groups and offsets of one partition. Nothing is changed here.

Offsets belong to a group name (offsets.py). Each kind of group has its own rules for
who may commit, read and forget them; `OwnsOffsets` has the questions it must answer.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from minikafka.clock import Now
from minikafka.cluster.metadata import Image
from minikafka.cluster.waiting import Answer
from minikafka.coordinators.group_effects import OffsetsCommitted, OffsetsLookedAt
from minikafka.coordinators.offsets import (
    NOTHING,
    Committed,
    Offsets,
    fetched,
    forgotten,
    offset_commit,
)
from minikafka.coordinators.runtime import Configs, CoordinatorRecord, Decision
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested


class OwnsOffsets(Protocol):
    """A group, as far as its offsets are concerned."""

    @property
    def state_name(self) -> str:
        """The group's state in Kafka's words; "Empty" if it has no members."""

    def check_commit(self, request: Message, version: int, transactional: bool) -> None:
        """Check whether an OffsetCommit is accepted. Errors: those of the answer."""

    def check_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Check whether an OffsetFetch is answered. Errors: those of the answer."""

    def check_forget(self) -> None:
        """Check whether an OffsetDelete is accepted. Errors: those of the answer."""

    def subscribes_to(self, topic: str) -> bool:
        """Whether its members read a topic, or might."""

    def offsets_age_from(self, commit_ms: int) -> int | None:
        """The time from which an offset ages; None while it doesn't age."""

    def tombstones(self) -> list[CoordinatorRecord]:
        """The records that delete the group's own records."""


class OffsetRequests:
    """The attributes of `Groups` that are needed here."""

    _config: Configs
    _image: Image
    _trace: Trace
    groups: Mapping[str, OwnsOffsets]
    offsets: Offsets

    def commit(
        self,
        request: Message,
        version: int,
        now: Now,
        producer: tuple[int, int] | None = None,
    ) -> Decision:
        """OffsetCommit: from a member, or, with a generation below 0, from a client
        that assigns partitions by hand. TxnOffsetCommit: from a producer (id, epoch).
        """
        group = self.groups.get(request.group_id)
        if group is not None:
            group.check_commit(request, version, producer is not None)
        elif request.generation_id_or_member_epoch >= 0:
            if producer is None and version < 9:
                raise KafkaError(Error.ILLEGAL_GENERATION)
            raise KafkaError(Error.GROUP_ID_NOT_FOUND)
        limit = self._config["offset.metadata.max.bytes"]
        records = []
        results = []
        events = []
        for topic in request.topics:
            known = self._image.topics.get(topic.name)
            topic_id = known.topic_id if known else bytes(16)
            for partition in topic.partitions:
                if len(partition.committed_metadata or "") > limit:
                    error = Error.OFFSET_METADATA_TOO_LARGE
                    results.append(_result(topic.name, partition, error))
                    continue
                results.append(_result(topic.name, partition, Error.NONE))
                record = offset_commit(
                    request, topic.name, topic_id, partition, now.wall_ms
                )
                records.append(record)
                if self._trace:
                    event = self._commit_event(request, topic.name, partition)
                    if producer:
                        event["producer_id"], _ = producer
                    events.append(event)
        change = OffsetsCommitted(
            member_id=request.member_id,
            kind="OffsetPending" if producer else "OffsetCommitted",
            events=events,
        )
        answer = {"topics": nested(results)}
        return Decision(records, answer, change, producer=producer)

    def fetch(
        self,
        request: Message,
        member_id: str | None,
        member_epoch: int,
        require_stable: bool,
    ) -> Answer:
        """OffsetFetch for one group. Null topics mean all. An offset that was never
        committed reads as -1. require_stable: an offset that a transaction may change
        is an error (KIP-447).
        """

        group_id = request.group_id

        def found(topic: str, number: int) -> dict[str, Any]:
            if require_stable and self.offsets.is_pending(group_id, topic, number):
                return fetched(number, None, Error.UNSTABLE_OFFSET_COMMIT)
            return fetched(number, self.offsets.get(group_id, topic, number))

        group = self.groups.get(group_id)
        if group is not None:
            group.check_fetch(member_id, member_epoch)
        if request.topics is None:
            places = self.offsets.committed(group_id)
            return {"topics": nested((place[0], found(*place)) for place in places)}
        topics = []
        for asked in request.topics:
            partitions = [found(asked.name, each) for each in asked.partition_indexes]
            topics.append({"name": asked.name, "partitions": partitions})
        return {"topics": topics}

    def delete_offsets(self, request: Message) -> Decision:
        """OffsetDelete (KIP-496): forget offsets of topics that nobody in the group
        reads. Errors: GROUP_ID_NOT_FOUND; those of check_forget.
        """
        group_id = request.group_id
        group = self._existing(group_id)
        group.check_forget()
        known = set(self.offsets.places(group_id))
        records = []
        results = []
        for topic in request.topics:
            is_read = group.subscribes_to(topic.name)
            error = Error.GROUP_SUBSCRIBED_TO_TOPIC if is_read else Error.NONE
            for partition in topic.partitions:
                results.append(_result(topic.name, partition, error))
                number = partition.partition_index
                if not is_read and (topic.name, number) in known:
                    records.append(forgotten(group_id, topic.name, number))
        return Decision(records, {"topics": nested(results)})

    def forget_topic(self, group_id: str, topic: str) -> Decision:
        """A topic was deleted: delete the offsets that a group committed for it."""
        records = []
        for name, number in self.offsets.places(group_id):
            if name == topic:
                records.append(forgotten(group_id, name, number))
        return Decision(records, answer={})

    def expired(self, group_id: str, group: OwnsOffsets, now: Now) -> Decision:
        """The tombstones of offsets that have expired (offsets.retention.minutes), and
        of a group that has nothing left.
        """
        committed = self.offsets.committed(group_id)
        records = []
        names = []
        for (topic, number), each in committed.items():
            is_old = self._is_old(group, topic, each, now.wall_ms)
            if is_old and not self.offsets.is_pending(group_id, topic, number):
                records.append(forgotten(group_id, topic, number))
                names.append(f"{topic}-{number}")
        is_empty = group.state_name == "Empty"
        has_no_offsets = len(records) == len(committed)
        has_pending = self.offsets.has_pending(group_id)
        goes = is_empty and has_no_offsets and not has_pending
        if goes:
            records += group.tombstones()

        looked = OffsetsLookedAt(expired=names, is_deleted=goes)
        return Decision(records, answer={}, effect=looked)

    def _is_old(
        self, group: OwnsOffsets, topic: str, committed: Committed, wall_ms: int
    ) -> bool:
        if group.subscribes_to(topic):
            return False
        if committed.expires_ms != NOTHING:
            return committed.expires_ms <= wall_ms
        since_ms = group.offsets_age_from(committed.commit_ms)
        if since_ms is None:
            return False
        retention_ms = self._config["offsets.retention.minutes"] * 60_000
        return since_ms + retention_ms <= wall_ms

    # -- helpers

    def _existing(self, group_id: str) -> OwnsOffsets:
        if group_id not in self.groups:
            raise KafkaError(Error.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        return self.groups[group_id]

    def _commit_event(
        self, request: Message, topic: str, partition: Message
    ) -> dict[str, Any]:
        before = self.offsets.get(request.group_id, topic, partition.partition_index)
        return {
            "group": request.group_id,
            "member": request.member_id,
            "generation": request.generation_id_or_member_epoch,
            "topic": topic,
            "partition": partition.partition_index,
            "offset": partition.committed_offset,
            "was": before.offset if before else None,
        }


def _result(topic: str, partition: Message, error: Error) -> tuple[str, Answer]:
    """One partition of an OffsetCommit or OffsetDelete answer, together with
    its topic.
    """
    number = partition.partition_index
    return topic, {"partition_index": number, "error_code": error}
