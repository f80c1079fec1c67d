"""The state of a share group as its records in `__consumer_offsets` describe it
(KIP-932): members, epochs, the target, and the partitions whose state is kept. The
states of the messages themselves are in another topic, `__share_group_state`
(share_states.py).

Nothing here decides. A member of a share group has an epoch, as in a consumer group
(consumer_group_state.py), but it never has to give anything up: several members may
read a partition, so a member reaches its target with its next heartbeat.

A partition is assigned once its state exists in the log of a share coordinator. So the
group remembers which partitions' states are being created, which exist, and for which
topics they are being deleted.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple, TypeVar

from minikafka.coordinators.consumer_member import TopicPartition, by_topic, flat
from minikafka.coordinators.group_rules import LEAVE_EPOCH, take_one
from minikafka.coordinators.modern_group_state import ModernGroupState
from minikafka.coordinators.modern_member import ModernMember
from minikafka.coordinators.runtime import CoordinatorRecord
from minikafka.wire.schema import Message

STABLE = 0  # the only state that a member can have
Of = TypeVar("Of")


@dataclass(frozen=True, slots=True)
class ShareMember(ModernMember):
    """It has its whole target at once: there is nothing to reconcile."""

    kind: ClassVar[str] = "ShareGroup"

    subscribed_topic_names: tuple[str, ...] = ()
    assigned: frozenset[TopicPartition] = frozenset()

    def metadata_record(self, group_id: str) -> CoordinatorRecord:
        """The record of the member's description of itself."""
        value = {
            "rack_id": self.rack_id,
            "client_id": self.client_id,
            "client_host": self.client_host,
            "subscribed_topic_names": list(self.subscribed_topic_names),
        }
        return self.record("MemberMetadata", group_id, value)

    def assignment_record(self, group_id: str) -> CoordinatorRecord:
        """The record of the member's epoch and partitions."""
        value = {
            "member_epoch": self.member_epoch,
            "previous_member_epoch": self.previous_member_epoch,
            "state": STABLE,
            "assigned_partitions": by_topic(self.assigned),
        }
        return self.record("CurrentMemberAssignment", group_id, value)


class TopicState(NamedTuple):
    """The partitions of a topic whose state exists or is being created."""

    name: str
    partitions: frozenset[int]


ByTopicId = Mapping[bytes, TopicState]


def with_partitions(some: ByTopicId, more: ByTopicId) -> dict[bytes, TopicState]:
    """The union of two sets of partitions, by topic id."""
    together = dict(some)
    for topic_id, (name, partitions) in more.items():
        had = together.get(topic_id)
        known = had.partitions if had else frozenset()
        together[topic_id] = TopicState(name, known | partitions)
    return together


def without_partitions(some: ByTopicId, gone: ByTopicId) -> dict[bytes, TopicState]:
    """The partitions in `some` that aren't in `gone`."""
    left = {}
    for topic_id, (name, partitions) in some.items():
        if topic_id in gone:
            partitions -= gone[topic_id].partitions
        if partitions:
            left[topic_id] = TopicState(name, partitions)
    return left


@dataclass(frozen=True, slots=True)
class Kept:
    """The partitions whose state is kept. deleting: names of topics, by id."""

    initializing: ByTopicId = field(default_factory=dict)
    initialized: ByTopicId = field(default_factory=dict)
    deleting: Mapping[bytes, str] = field(default_factory=dict)

    @staticmethod
    def of(value: Message) -> "Kept":
        """The content of a ShareGroupStatePartitionMetadata record."""
        return Kept(
            _topic_states(value.initializing_topics),
            _topic_states(value.initialized_topics),
            {topic.topic_id: topic.topic_name for topic in value.deleting_topics},
        )

    def record(self, group_id: str) -> CoordinatorRecord:
        deleting = []
        for topic_id, name in sorted(self.deleting.items()):
            deleting.append({"topic_id": topic_id, "topic_name": name})
        value = {
            "initializing_topics": _listed(self.initializing),
            "initialized_topics": _listed(self.initialized),
            "deleting_topics": deleting,
        }
        key = {"group_id": group_id}
        return CoordinatorRecord("ShareGroupStatePartitionMetadata", key, value)

    def without_topics(self, gone: Collection[bytes]) -> "Kept":
        """The same without topics that don't exist any more."""
        initializing = _except(self.initializing, gone)
        initialized = _except(self.initialized, gone)
        deleting = _except(self.deleting, gone)
        return Kept(initializing, initialized, deleting)

    @property
    def topic_ids(self) -> set[bytes]:
        return {*self.initializing, *self.initialized, *self.deleting}


def _except(some: Mapping[bytes, Of], gone: Collection[bytes]) -> dict[bytes, Of]:
    left = {}
    for topic_id, one in some.items():
        if topic_id not in gone:
            left[topic_id] = one
    return left


def _topic_states(topics: Iterable[Message]) -> dict[bytes, TopicState]:
    states = {}
    for topic in topics:
        partitions = frozenset(topic.partitions)
        states[topic.topic_id] = TopicState(topic.topic_name, partitions)
    return states


def _listed(topics: ByTopicId) -> list[dict[str, Any]]:
    listed = []
    for topic_id, (name, partitions) in sorted(topics.items()):
        one = {
            "topic_id": topic_id,
            "topic_name": name,
            "partitions": sorted(partitions),
        }
        listed.append(one)
    return listed


class ShareGroupState(ModernGroupState[ShareMember, frozenset[TopicPartition]]):
    """subscribers: how many members subscribe to each topic. kept: the partitions whose
    state is kept, None if that was never written.
    """

    kind = "ShareGroup"

    def __init__(self) -> None:
        super().__init__()
        self.subscribers: Counter[str] = Counter()
        self.kept: Kept | None = None

    @property
    def name(self) -> str:
        """The group's state in Kafka's words."""
        return "Stable" if self.members else "Empty"

    def _target_of(self, value: Message) -> frozenset[TopicPartition]:
        return frozenset(flat(value.topic_partitions))

    def _apply_more(self, name: str, key: Message, value: Message | None) -> None:
        match name:
            case "MemberMetadata" if value is not None:
                self._present(self._member(key.member_id), value)
            case "MemberMetadata":
                self._stop_counting(key.member_id)
                self.members.pop(key.member_id, None)
            case "CurrentMemberAssignment":
                self._assign(key.member_id, value)
            case "StatePartitionMetadata":
                self.kept = None if value is None else Kept.of(value)

    def _member(self, member_id: str) -> ShareMember:
        return self.members.get(member_id) or ShareMember(member_id)

    def _stop_counting(self, member_id: str) -> None:
        """Stop counting a member as a subscriber of its topics."""
        if member_id in self.members:
            for topic in self.members[member_id].subscribed_topic_names:
                take_one(self.subscribers, topic)

    def _present(self, member: ShareMember, value: Message) -> None:
        self._stop_counting(member.member_id)
        self.subscribers.update(value.subscribed_topic_names)
        self.members[member.member_id] = replace(
            member,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            subscribed_topic_names=tuple(value.subscribed_topic_names),
        )

    def _assign(self, member_id: str, value: Message | None) -> None:
        if value is not None:
            self.members[member_id] = replace(
                self._member(member_id),
                member_epoch=value.member_epoch,
                previous_member_epoch=value.previous_member_epoch,
                assigned=frozenset(flat(value.assigned_partitions)),
            )
        elif member_id in self.members:
            self.members[member_id] = replace(
                self.members[member_id],
                member_epoch=LEAVE_EPOCH,
                previous_member_epoch=LEAVE_EPOCH,
                assigned=frozenset(),
            )
