"""A member of a consumer group (KIP-848) as the coordinator knows it, and its records.

Two records make a member. ConsumerGroupMemberMetadata is the member's description of
itself: its client, its subscription, its timeouts. ConsumerGroupCurrentMemberAssignment
is its current state: its epoch, the partitions it may use, those it has yet to give
back. A third, ConsumerGroupTargetAssignmentMember, has the partitions that it will have
in the end.

Partitions are (topic id, number): a topic that is deleted and created again is a
different topic.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, ClassVar, Self

from minikafka.cluster.metadata import Image
from minikafka.coordinators.group_rules import LEAVE_EPOCH, LEAVE_STATIC_EPOCH
from minikafka.coordinators.modern_member import ReconcilingMember
from minikafka.coordinators.runtime import CoordinatorRecord
from minikafka.wire.schema import Message, nested

TopicPartition = tuple[bytes, int]
# -> the member epoch at which it was assigned (KIP-1251)
Assignment = Mapping[TopicPartition, int]

# The fields of the metadata record that describe a member, besides the topics that it
# reads.
SAID = (
    "instance_id",
    "rack_id",
    "client_id",
    "client_host",
    "subscribed_topic_regex",
    "server_assignor",
    "rebalance_timeout_ms",
)


class MemberState(IntEnum):
    """How far a member is on its way to the target; numbered as in the record."""

    STABLE = 0  # it has everything that it should have at its epoch
    # it must give partitions back, and hasn't acknowledged that yet
    UNREVOKED_PARTITIONS = 1
    # it waits for partitions that others haven't given back yet
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127  # written by a newer Kafka


@dataclass(frozen=True, slots=True)
class ConsumerMember(ReconcilingMember):
    """member_epoch: LEAVE_STATIC_EPOCH while a static member is away.
    assigned_partitions: those it may use. partitions_pending_revocation: those it was
    told to give back, which it holds until it says that it doesn't have them any more.
    """

    kind: ClassVar[str] = "ConsumerGroup"

    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str | None = ""
    server_assignor: str | None = None
    state: MemberState = MemberState.STABLE
    assigned_partitions: Assignment = field(default_factory=dict)
    partitions_pending_revocation: Assignment = field(default_factory=dict)

    @property
    def subscription(self) -> tuple[tuple[str, ...], str]:
        """Topics by name, and a regular expression, empty if there is none."""
        return self.subscribed_topic_names, self.subscribed_topic_regex or ""

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.state is MemberState.STABLE and self.member_epoch == epoch

    @property
    def must_revoke(self) -> bool:
        """Whether the others wait for it to revoke partitions. A static member that is
        away has until the end of its session to come back.
        """
        return (
            self.state is MemberState.UNREVOKED_PARTITIONS
            and self.member_epoch != LEAVE_STATIC_EPOCH
        )

    def with_metadata(self, value: Message) -> Self:
        """The member with the content of its ConsumerGroupMemberMetadata."""
        said = {name: getattr(value, name) for name in SAID}
        names = sorted(set(value.subscribed_topic_names))
        return replace(self, subscribed_topic_names=tuple(names), **said)

    def with_current_assignment(self, value: Message) -> Self:
        """The member with the content of its ConsumerGroupCurrentMemberAssignment."""
        epoch = value.member_epoch
        is_known = value.state in MemberState.__members__.values()
        pending = value.partitions_pending_revocation
        return replace(
            self,
            member_epoch=epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=MemberState(value.state) if is_known else MemberState.UNKNOWN,
            assigned_partitions=_with_epochs(value.assigned_partitions, epoch),
            partitions_pending_revocation=_with_epochs(pending, epoch),
        )

    def without_assignment(self) -> Self:
        """The member after a tombstone of its ConsumerGroupCurrentMemberAssignment."""
        return replace(
            self,
            member_epoch=LEAVE_EPOCH,
            previous_member_epoch=LEAVE_EPOCH,
            assigned_partitions={},
            partitions_pending_revocation={},
        )

    def metadata_record(self, group_id: str) -> CoordinatorRecord:
        value = {name: getattr(self, name) for name in SAID}
        value["subscribed_topic_names"] = list(self.subscribed_topic_names)
        # the default would mean a member of the classic protocol
        value["classic_member_metadata"] = None
        return self.record("MemberMetadata", group_id, value)

    def current_assignment_record(self, group_id: str) -> CoordinatorRecord:
        pending = _topics_with_epochs(self.partitions_pending_revocation)
        value = {
            "member_epoch": self.member_epoch,
            "previous_member_epoch": self.previous_member_epoch,
            "state": self.state,
            "assigned_partitions": _topics_with_epochs(self.assigned_partitions),
            "partitions_pending_revocation": pending,
        }
        return self.record("CurrentMemberAssignment", group_id, value)


def target_record(
    group_id: str, member_id: str, partitions: Iterable[TopicPartition]
) -> CoordinatorRecord:
    """The record of a member's target assignment."""
    key = {"group_id": group_id, "member_id": member_id}
    value = {"topic_partitions": by_topic(partitions)}
    return CoordinatorRecord("ConsumerGroupTargetAssignmentMember", key, value)


def by_topic(partitions: Iterable[TopicPartition]) -> list[dict[str, Any]]:
    """Partitions as answers and records list them, with topics and numbers in order."""
    return nested(sorted(partitions), "topic_id")


def by_topic_name(
    partitions: Iterable[TopicPartition], image: Image
) -> list[dict[str, Any]]:
    """The same with the topics' names, without topics that no longer exist."""
    topics = []
    for topic in by_topic(partitions):
        name = image.topic_names.get(topic["topic_id"])
        if name is not None:
            topic["topic_name"] = name
            topics.append(topic)
    return topics


def flat(topics: Iterable[Message]) -> list[TopicPartition]:
    """The partitions in such a list."""
    return [(topic.topic_id, number) for topic in topics for number in topic.partitions]


def _topics_with_epochs(partitions: Assignment) -> list[dict[str, Any]]:
    topics = by_topic(partitions)
    for topic in topics:
        topic_id = topic["topic_id"]
        epochs = [partitions[topic_id, number] for number in topic["partitions"]]
        topic["assignment_epochs"] = epochs
    return topics


def _with_epochs(topics: Iterable[Message], member_epoch: int) -> Assignment:
    """The partitions with their assignment epochs. Before Kafka 4.3 the record had
    none: then the member's own epoch is used, or 0 for a member that is away.
    """
    partitions = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            epochs = [max(member_epoch, 0)] * len(topic.partitions)
        for number, epoch in zip(topic.partitions, epochs, strict=True):
            partitions[topic.topic_id, number] = epoch
    return partitions
