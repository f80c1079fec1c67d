"""The state of a consumer group as its records describe it (KIP-848): members, epochs,
the target, and each partition's owner.

Nothing here decides. Records come in, one at a time, live or in a replay, and lead to
the same state; if compaction removed some on the way, the final state is still the
same. The trace is told what happened to the group once its records are applied, and
never in a replay.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from minikafka.cluster.metadata import Image
from minikafka.coordinators.consumer_member import (
    ConsumerMember,
    MemberState,
    TopicPartition,
    flat,
)
from minikafka.coordinators.group_rules import JOIN_EPOCH, take_one
from minikafka.coordinators.modern_group_state import ReconcilingState
from minikafka.trace import Reason, Trace
from minikafka.wire.schema import Message

THE_GROUP = ""  # used where a member id would be

NEW_GROUP_EPOCH = Reason("group_epoch", "group epoch")
NEW_TARGET = Reason("target_assignment", "target assignment")
RECONCILIATION = Reason("reconciliation", "reconciliation")

# The records that can move the group to another state, with the reason. Others are
# steps in between.
MOVES = {
    "ConsumerGroupMetadata": NEW_GROUP_EPOCH,
    "ConsumerGroupTargetAssignmentMetadata": NEW_TARGET,
    "ConsumerGroupCurrentMemberAssignment": RECONCILIATION,
}


class ConsumerGroupState(ReconcilingState[ConsumerMember, frozenset[TopicPartition]]):
    """Its own attributes follow from the members, and are kept up to date so that a
    heartbeat need not look at all members: static_members by instance id; owners of
    partitions; subscribers of topics by name, and of patterns; how many members are
    stable at which epoch.
    """

    kind = "ConsumerGroup"

    def __init__(self) -> None:
        super().__init__()
        self.static_members: dict[str, str] = {}
        self.owners: dict[TopicPartition, str] = {}
        self.subscribers: Counter[str] = Counter()
        self.patterns: Counter[str] = Counter()
        self.has_partition_metadata = False
        self._stable_at: Counter[int] = Counter()

    @property
    def name(self) -> str:
        """The group's state in Kafka's words."""
        if not self.members:
            return "Empty"
        if self.group_epoch > self.assignment_epoch:
            return "Assigning"
        stable = self._stable_at[self.assignment_epoch]
        return "Stable" if stable == len(self.members) else "Reconciling"

    def _target_of(self, value: Message) -> frozenset[TopicPartition]:
        return frozenset(flat(value.topic_partitions))

    def _apply_more(self, name: str, key: Message, value: Message | None) -> None:
        """Apache Kafka stores the topics that a regular expression matched; here they
        are found again.
        """
        if name == "PartitionMetadata":
            # from Kafka 4.0 and before; metadata_hash replaced it
            self.has_partition_metadata = value is not None
        else:
            super()._apply_more(name, key, value)

    def _put(self, member: ConsumerMember) -> None:
        member_id = member.member_id
        self.members[member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member_id
        self.subscribers.update(member.subscribed_topic_names)
        if member.subscribed_topic_regex:
            self.patterns[member.subscribed_topic_regex] += 1
        for partition in member.assigned_partitions:
            self.owners[partition] = member_id
        for partition in member.partitions_pending_revocation:
            self.owners[partition] = member_id
        if member.state is MemberState.STABLE:
            self._stable_at[member.member_epoch] += 1

    def _take_out(self, member_id: str) -> ConsumerMember:
        member = self.members.pop(member_id, None)
        if member is None:
            return ConsumerMember(member_id)
        instance_id = member.instance_id or ""
        is_static = instance_id in self.static_members
        if is_static and self.static_members[instance_id] == member_id:
            del self.static_members[instance_id]
        for topic in member.subscribed_topic_names:
            take_one(self.subscribers, topic)
        if member.subscribed_topic_regex:
            take_one(self.patterns, member.subscribed_topic_regex)
        for partitions in (
            member.assigned_partitions,
            member.partitions_pending_revocation,
        ):
            for partition in partitions:
                if self.owners.get(partition) == member_id:
                    del self.owners[partition]
        if member.state is MemberState.STABLE:
            take_one(self._stable_at, member.member_epoch)
        return member


@dataclass(eq=False, repr=False)
class Events:
    """Notes what the records did as they are applied, and emits it with the reasons.
    live: not in a replay.
    """

    _group_id: str
    _image: Image
    _trace: Trace
    live: bool
    _noted: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    _state: str = "Empty"

    def emit(self, why: Mapping[str, Reason], assignor: str) -> None:
        """why: reasons by member id, or THE_GROUP. assignor: the one that made the
        target.
        """
        for kind, detail in self._noted:
            if "assignor" in detail:
                detail["assignor"] = assignor
            elif detail.get("why", "") is None:
                detail["why"] = why[detail.get("member", THE_GROUP)]
            self._trace.emit(kind, **detail)
        self._noted.clear()

    def applied(
        self,
        state: ConsumerGroupState,
        name: str,
        key: Message,
        value: Message | None,
        was: ConsumerMember | None,
    ) -> None:
        """A record was applied. was: its member before that."""
        is_listened_to = self.live and self._trace
        if is_listened_to and name == "ConsumerGroupMemberMetadata":
            self._member_came_or_left(state, key.member_id, was)
        if value is None or name not in MOVES:
            return
        if is_listened_to:
            if name == "ConsumerGroupMetadata":
                self._note("RebalanceStarted", generation=state.group_epoch, why=None)
            elif name == "ConsumerGroupTargetAssignmentMetadata":
                if state.members:
                    self._assignment_made(state)
            else:
                self._reconciled(state, state.members[key.member_id])
            if state.name != self._state:
                change = {"was": self._state, "state": state.name}
                self._note("GroupStateChanged", **change, why=MOVES[name])
        self._state = state.name

    def _assignment_made(self, state: ConsumerGroupState) -> None:
        assignment = {}
        for member_id in sorted(state.target):
            assignment[member_id] = self._named(state.target[member_id])
        self._note(
            "AssignmentMade",
            generation=state.assignment_epoch,
            by="coordinator",
            assignor="",
            assignment=assignment,
        )

    def _member_came_or_left(
        self, state: ConsumerGroupState, member_id: str, was: ConsumerMember | None
    ) -> None:
        member = state.members.get(member_id)
        if was is None and member is not None:
            self._note(
                "MemberJoined",
                member=member_id,
                client=member.client_id,
                instance=member.instance_id,
                why=None,
            )
        elif was is not None and member is None:
            self._note("MemberLeft", member=member_id, client=was.client_id, why=None)

    def _reconciled(self, state: ConsumerGroupState, member: ConsumerMember) -> None:
        # a static member's new process, before its first step
        if member.member_epoch == JOIN_EPOCH:
            return
        member_id = member.member_id
        others = []
        for partition in state.target.get(member_id, frozenset()):
            owner = state.owners.get(partition, member_id)
            if owner != member_id:
                others.append(partition)
        self._note(
            "MemberReconciled",
            member=member_id,
            epoch=member.member_epoch,
            owned=self._named(member.assigned_partitions),
            revoking=self._named(member.partitions_pending_revocation),
            waiting_for=self._named(others),
        )

    def _note(self, kind: str, **detail: Any) -> None:
        """why: None if the draft has the reason."""
        self._noted.append((kind, {"group": self._group_id, **detail}))

    def _named(self, partitions: Iterable[TopicPartition]) -> list[list[str | int]]:
        names = self._image.topic_names
        found: list[list[str | int]] = []
        for topic_id, number in partitions:
            name = names.get(topic_id, topic_id.hex())
            found.append([name, number])
        return sorted(found)
