"""The trace events of a classic group.

Events are built only if somebody listens. This is the only place where an assignment is
decoded, because its content is the members' business and not the coordinator's.
"""

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from minikafka.coordinators.classic_agreement import Agreement
from minikafka.coordinators.classic_state import CONSUMER, ClassicMember
from minikafka.trace import Reason, Trace
from minikafka.wire.messages import decode_versioned
from minikafka.wire.primitives import DecodeError


@dataclass(frozen=True, slots=True)
class ClassicEvents:
    """Emits the events of one group."""

    group_id: str
    trace: Trace

    def state_changed(self, was: str, state: str, why: Reason) -> None:
        if self.trace:
            self._emit("GroupStateChanged", was=was, state=state, why=why)

    def member_joined(self, member: ClassicMember, why: Reason) -> None:
        if self.trace:
            self._emit(
                "MemberJoined",
                member=member.member_id,
                client=member.client_id,
                instance=member.instance_id,
                why=why,
            )

    def member_left(self, member_id: str, client_id: str, why: Reason) -> None:
        if self.trace:
            self._emit("MemberLeft", member=member_id, client=client_id, why=why)

    def rebalance_started(self, generation: int, why: Reason) -> None:
        if self.trace:
            self._emit("RebalanceStarted", generation=generation, why=why)

    def generation_began(self, group: Agreement, joined: Container[str]) -> None:
        """The next generation begins. Members that did not join are static ones: they
        keep their place.
        """
        if not self.trace:
            return
        absent = [each for each in group.members if each not in joined]
        self._emit(
            "GenerationBegan",
            generation=group.generation,
            leader=group.members.leader,
            protocol=group.protocol,
            members=list(group.members),
            absent=absent,
        )

    def assignment_made(self, group: Agreement) -> None:
        if not self.trace:
            return
        partitions = {}
        for member_id in group.members:
            assignment = group.assignments.get(member_id, b"")
            partitions[member_id] = _partitions(group.protocol_type, assignment)
        self._emit(
            "AssignmentMade",
            generation=group.generation,
            by=group.members.leader,
            assignor=group.protocol,
            assignment=partitions,
        )

    def _emit(self, kind: str, **detail: Any) -> None:
        self.trace.emit(kind, group=self.group_id, **detail)


def _partitions(protocol_type: str | None, assignment: bytes) -> list[list[Any]]:
    """[topic, partition] for each partition in a consumer's assignment; empty if it
    can't be read.
    """
    if protocol_type != CONSUMER or not assignment:
        return []
    try:
        decoded = decode_versioned("ConsumerProtocolAssignment", assignment)
    except DecodeError:
        return []
    found: list[list[Any]] = []
    for topic in decoded.assigned_partitions:
        for number in topic.partitions:
            found.append([topic.topic, number])
    return found
