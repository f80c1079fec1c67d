"""What the records of a consumer group say (KIP-848): members, epochs, the target, who
owns which partition.

Nothing here decides. Records come in, one at a time, live or in a replay, and the state
after them is the same; where compaction removed some on the way, the state at the end
still is. The trace hears what happened to the group once its records are applied, and
never in a replay.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from minikafka.cluster.metadata import Image
from minikafka.coordinators.consumer_member import (
    JOIN_EPOCH,
    ConsumerMember,
    MemberState,
    TopicPartition,
    flat,
)
from minikafka.trace import Reason, Trace
from minikafka.wire.schema import Message

FIRST_EPOCH = 1  # of a group without records
NO_ASSIGNMENT_EPOCH = -1
THE_GROUP = ""  # stands where a member id would

# A record that can move the group to another state, as the reason. Others are steps in
# between.
MOVES = {
    "ConsumerGroupMetadata": Reason("group_epoch", "group epoch"),
    "ConsumerGroupTargetAssignmentMetadata": Reason(
        "target_assignment", "target assignment"
    ),
    "ConsumerGroupCurrentMemberAssignment": Reason("reconciliation", "reconciliation"),
}


class ConsumerGroupState:
    """`apply` is the only way to change it.

    group_epoch grows whenever the target must be made anew; assignment_epoch is the one
    the target was made for, at assignment_timestamp_ms (wall clock). metadata_hash: of
    the subscribed topics at that group epoch. The other attributes follow from members,
    kept up to date so that a heartbeat need not look at all members: static_members by
    instance id; owners of partitions; subscribers of topics by name, and of patterns;
    how many stable members at which epoch.
    """

    def __init__(self) -> None:
        self.group_epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assignment_timestamp_ms = 0
        self.target: dict[str, frozenset[TopicPartition]] = {}
        self.members: dict[str, ConsumerMember] = {}
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
        return (
            "Stable"
            if self._stable_at[self.assignment_epoch] == len(self.members)
            else "Reconciling"
        )

    def apply(self, name: str, key: Message, value: Message | None) -> None:
        """Take in a record of this group. What Apache Kafka found by a regular
        expression, it stores; here it is found anew.
        """
        match name:
            case "ConsumerGroupMetadata":
                self.group_epoch = FIRST_EPOCH if value is None else value.epoch
                self.metadata_hash = 0 if value is None else value.metadata_hash
            case "ConsumerGroupPartitionMetadata":
                # of Kafka 4.0 and before; metadata_hash replaced it
                self.has_partition_metadata = value is not None
            case "ConsumerGroupTargetAssignmentMetadata":
                self.assignment_epoch = (
                    NO_ASSIGNMENT_EPOCH if value is None else value.assignment_epoch
                )
                self.assignment_timestamp_ms = (
                    0 if value is None else value.assignment_timestamp
                )
            case "ConsumerGroupTargetAssignmentMember" if value is not None:
                self.target[key.member_id] = frozenset(flat(value.topic_partitions))
            case "ConsumerGroupTargetAssignmentMember":
                self.target.pop(key.member_id, None)
            case "ConsumerGroupMemberMetadata":
                was = self._take_out(key.member_id)
                if value is not None:
                    self._put(was.with_metadata(value))
            case "ConsumerGroupCurrentMemberAssignment" if (
                value is not None or key.member_id in self.members
            ):
                was = self._take_out(key.member_id)
                self._put(
                    was.without_assignment()
                    if value is None
                    else was.with_current_assignment(value)
                )

    def _put(self, member: ConsumerMember) -> None:
        """A member, and everything that follows from members."""
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self.subscribers.update(member.subscribed_topic_names)
        if member.subscribed_topic_regex:
            self.patterns[member.subscribed_topic_regex] += 1
        self.owners.update(dict.fromkeys(member.assigned_partitions, member.member_id))
        self.owners.update(
            dict.fromkeys(member.partitions_pending_revocation, member.member_id)
        )
        if member.state is MemberState.STABLE:
            self._stable_at[member.member_epoch] += 1

    def _take_out(self, member_id: str) -> ConsumerMember:
        """The member, which is here no longer; a new one, if it wasn't."""
        member = self.members.pop(member_id, None)
        if member is None:
            return ConsumerMember(member_id)
        if (
            member.instance_id is not None
            and self.static_members.get(member.instance_id) == member.member_id
        ):
            del self.static_members[member.instance_id]
        for topic in member.subscribed_topic_names:
            self.subscribers[topic] -= 1
            if not self.subscribers[topic]:
                del self.subscribers[topic]
        self.patterns -= Counter(
            [member.subscribed_topic_regex] if member.subscribed_topic_regex else []
        )
        for partition in (
            *member.assigned_partitions,
            *member.partitions_pending_revocation,
        ):
            if self.owners.get(partition) == member.member_id:
                del self.owners[partition]
        if member.state is MemberState.STABLE:
            self._stable_at -= Counter([member.member_epoch])
        return member


@dataclass(eq=False, repr=False)
class Events:
    """What the records did is noted as they are applied, and told with the reasons.
    live: not in a replay.
    """

    _group_id: str
    _image: Image
    _trace: Trace
    live: bool
    _noted: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    _state: str = "Empty"

    def tell(self, why: Mapping[str, Reason], assignor: str) -> None:
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
        """A record was applied. was: its member before."""
        if self.live and self._trace:
            if name == "ConsumerGroupMemberMetadata":
                self._member_came_or_left(state, key.member_id, was)
            elif name == "ConsumerGroupMetadata" and value is not None:
                self._note("RebalanceStarted", generation=state.group_epoch, why=None)
            elif name == "ConsumerGroupTargetAssignmentMetadata" and value is not None:
                target = {
                    member_id: self._named(state.target[member_id])
                    for member_id in sorted(state.target)
                }
                self._note(
                    "AssignmentMade",
                    generation=state.assignment_epoch,
                    by="coordinator",
                    assignor="",
                    assignment=target,
                )
            elif name == "ConsumerGroupCurrentMemberAssignment" and value is not None:
                self._reconciled(state, state.members[key.member_id])
            if name in MOVES and value is not None and state.name != self._state:
                self._note(
                    "GroupStateChanged",
                    was=self._state,
                    state=state.name,
                    why=MOVES[name],
                )
        if name in MOVES and value is not None:
            self._state = state.name

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
        target = state.target.get(member.member_id, frozenset())
        others = [
            one
            for one in target
            if state.owners.get(one, member.member_id) != member.member_id
        ]
        self._note(
            "MemberReconciled",
            member=member.member_id,
            epoch=member.member_epoch,
            owned=self._named(member.assigned_partitions),
            revoking=self._named(member.partitions_pending_revocation),
            waiting_for=self._named(others),
        )

    def _note(self, kind: str, **detail: Any) -> None:
        """why: None where the draft knows it."""
        self._noted.append((kind, {"group": self._group_id, **detail}))

    def _named(self, partitions: Iterable[TopicPartition]) -> list[list[str | int]]:
        names = self._image.topic_names
        return sorted(
            [names.get(topic_id, topic_id.hex()), number]
            for topic_id, number in partitions
        )
