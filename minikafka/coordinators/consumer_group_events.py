"""Tells the trace what happened to a consumer group (KIP-848): once its records are applied, never in a replay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from minikafka.cluster.metadata import Image
from minikafka.coordinators.consumer_group_state import ConsumerGroupState
from minikafka.coordinators.consumer_member import JOIN_EPOCH, ConsumerMember, TopicPartition
from minikafka.trace import Reason, Trace
from minikafka.wire.schema import Message

THE_GROUP = ""  # stands where a member id would

# A record that can move the group to another state, as the reason. Others are steps in between.
MOVES = {
    "ConsumerGroupMetadata": Reason("group_epoch", "group epoch"),
    "ConsumerGroupTargetAssignmentMetadata": Reason("target_assignment", "target assignment"),
    "ConsumerGroupCurrentMemberAssignment": Reason("reconciliation", "reconciliation"),
}


@dataclass(eq=False, repr=False)
class Events:
    """What the records did is noted as they are applied, and told with the reasons. live: not in a replay."""

    _group_id: str
    _image: Image
    _trace: Trace
    live: bool
    _noted: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    _state: str = "Empty"

    def tell(self, why: Mapping[str, Reason], assignor: str) -> None:
        """why: reasons by member id, or THE_GROUP. assignor: the one that made the target."""
        for kind, detail in self._noted:
            if "assignor" in detail:
                detail["assignor"] = assignor
            elif detail.get("why", "") is None:
                detail["why"] = why[detail.get("member", THE_GROUP)]
            self._trace.emit(kind, **detail)
        self._noted.clear()

    def applied(
        self, state: ConsumerGroupState, name: str, key: Message, value: Message | None, was: ConsumerMember | None
    ) -> None:
        """A record was applied. was: its member before."""
        if self.live and self._trace:
            if name == "ConsumerGroupMemberMetadata":
                self._member_came_or_left(state, key.member_id, was)
            elif name == "ConsumerGroupMetadata" and value is not None:
                self._note("RebalanceStarted", generation=state.group_epoch, why=None)
            elif name == "ConsumerGroupTargetAssignmentMetadata" and value is not None:
                target = {member_id: self._named(state.target[member_id]) for member_id in sorted(state.target)}
                self._note(
                    "AssignmentMade",
                    generation=state.assignment_epoch, by="coordinator", assignor="", assignment=target,
                )  # fmt: skip
            elif name == "ConsumerGroupCurrentMemberAssignment" and value is not None:
                self._reconciled(state, state.members[key.member_id])
            if name in MOVES and value is not None and state.name != self._state:
                self._note("GroupStateChanged", was=self._state, state=state.name, why=MOVES[name])
        if name in MOVES and value is not None:
            self._state = state.name

    def _member_came_or_left(self, state: ConsumerGroupState, member_id: str, was: ConsumerMember | None) -> None:
        member = state.members.get(member_id)
        if was is None and member is not None:
            self._note("MemberJoined", member=member_id, client=member.client_id, instance=member.instance_id, why=None)
        elif was is not None and member is None:
            self._note("MemberLeft", member=member_id, client=was.client_id, why=None)

    def _reconciled(self, state: ConsumerGroupState, member: ConsumerMember) -> None:
        if member.member_epoch == JOIN_EPOCH:  # a static member's new process, before its first step
            return
        target = state.target.get(member.member_id, frozenset())
        others = [one for one in target if state.owners.get(one, member.member_id) != member.member_id]
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
        return sorted([names.get(topic_id, topic_id.hex()), number] for topic_id, number in partitions)
