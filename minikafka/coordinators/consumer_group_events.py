"""Tells the trace what happened to a consumer group (KIP-848): as its records are applied, never in a replay."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minikafka.cluster.metadata import Image
from minikafka.coordinators.consumer_group_state import ConsumerGroupState
from minikafka.coordinators.consumer_member import JOIN_EPOCH, Member, TopicPartition
from minikafka.trace import Trace
from minikafka.wire.schema import Message

THE_GROUP = ""  # stands where a member id would

# A record that can move the group to another state, as the event that moved it. Others are steps in between.
MOVES = {
    "ConsumerGroupMetadata": "group epoch",
    "ConsumerGroupTargetAssignmentMetadata": "target assignment",
    "ConsumerGroupCurrentMemberAssignment": "reconciliation",
}


class Events:
    """live: from the end of the replay on. assignor: the one that made the last target."""

    def __init__(self, group_id: str, image: Image, trace: Trace) -> None:
        self.live = False
        self.assignor = ""
        self._group_id = group_id
        self._image = image
        self._trace = trace
        self._why: dict[str, str] = {}
        self._state = "Empty"

    def because(self, member_id: str, why: str) -> None:
        """The reason of what the next records do to a member, or to THE_GROUP."""
        if self._trace:
            self._why[member_id] = why

    def applied(
        self, state: ConsumerGroupState, name: str, key: Message, value: Message | None, was: Member | None
    ) -> None:
        """A record was applied. was: its member before."""
        if self.live and self._trace:
            if name == "ConsumerGroupMemberMetadata":
                self._member_came_or_left(state, key.member_id, was)
            elif name == "ConsumerGroupMetadata" and value is not None:
                why = self._why.pop(THE_GROUP, "")
                self._emit("RebalanceStarted", generation=state.group_epoch, why=why)
            elif name == "ConsumerGroupTargetAssignmentMetadata" and value is not None:
                target = {member_id: self._named(state.target[member_id]) for member_id in sorted(state.target)}
                self._emit(
                    "AssignmentMade",
                    generation=state.assignment_epoch, by="coordinator", assignor=self.assignor, assignment=target,
                )  # fmt: skip
            elif name == "ConsumerGroupCurrentMemberAssignment" and value is not None:
                self._reconciled(state, state.members[key.member_id])
            if name in MOVES and value is not None and state.name != self._state:
                event = MOVES[name]
                self._emit("GroupStateChanged", was=self._state, state=state.name, event=event, why=event)
        if name in MOVES and value is not None:
            self._state = state.name

    def _member_came_or_left(self, state: ConsumerGroupState, member_id: str, was: Member | None) -> None:
        member = state.members.get(member_id)
        if was is None and member is not None:
            why = self._why.pop(member_id, "")
            self._emit("MemberJoined", member=member_id, client=member.client_id, instance=member.instance_id, why=why)
        elif was is not None and member is None:
            self._emit("MemberLeft", member=member_id, client=was.client_id, why=self._why.pop(member_id, ""))

    def _reconciled(self, state: ConsumerGroupState, member: Member) -> None:
        if member.member_epoch == JOIN_EPOCH:  # a static member's new process, before its first step
            return
        target = state.target.get(member.member_id, frozenset())
        others = [one for one in target if state.owners.get(one, member.member_id) != member.member_id]
        self._emit(
            "MemberReconciled",
            member=member.member_id,
            epoch=member.member_epoch,
            owned=self._named(member.assigned_partitions),
            revoking=self._named(member.partitions_pending_revocation),
            waiting_for=self._named(others),
        )

    def _emit(self, kind: str, **detail: Any) -> None:
        self._trace.emit(kind, group=self._group_id, **detail)

    def _named(self, partitions: Iterable[TopicPartition]) -> list[list[str | int]]:
        names = self._image.topic_names
        return sorted([names.get(topic_id, topic_id.hex()), number] for topic_id, number in partitions)
