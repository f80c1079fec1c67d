"""A member of a consumer, a streams or a share group, as far as the three are alike.

Two records make a member: its description of itself (MemberMetadata), and its current
state (CurrentMemberAssignment). A third (TargetAssignmentMember) has what it will have
in the end.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from minikafka.coordinators.group_rules import JOIN_EPOCH
from minikafka.coordinators.runtime import CoordinatorRecord
from minikafka.wire.schema import Message


@dataclass(frozen=True, slots=True)
class ModernMember:
    """kind: how the names of its records begin. previous_member_epoch: the one before,
    which is still accepted from a member that missed an answer.
    """

    kind: ClassVar[str]

    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    member_epoch: int = JOIN_EPOCH
    previous_member_epoch: int = -1

    def at_epoch(self, epoch: int, **changes: Any) -> Self:
        """The member at an epoch that its next answer will tell it; the epoch that it
        knows now stays acceptable.
        """
        return replace(
            self, member_epoch=epoch, previous_member_epoch=self.member_epoch, **changes
        )

    def tombstones(self, group_id: str) -> list[CoordinatorRecord]:
        """The records that remove the member, in Kafka's order: Kafka refuses to load
        any other order.
        """
        names = ("CurrentMemberAssignment", "TargetAssignmentMember", "MemberMetadata")
        return [self.record(name, group_id, None) for name in names]

    def record(
        self, name: str, group_id: str, value: dict[str, Any] | None
    ) -> CoordinatorRecord:
        """A record of the member, by its name without the kind of group."""
        key = {"group_id": group_id, "member_id": self.member_id}
        return CoordinatorRecord(f"{self.kind}{name}", key, value)


@dataclass(frozen=True, slots=True)
class ReconcilingMember(ModernMember):
    """A member of a consumer or a streams group, which reaches its target step by step.
    rebalance_timeout_ms: how long it may take to revoke.
    """

    instance_id: str | None = None
    rebalance_timeout_ms: int = -1

    @property
    def must_revoke(self) -> bool:
        """Whether the others wait for it to give something up."""
        raise NotImplementedError

    def with_metadata(self, value: Message) -> Self:
        """The member with the content of its MemberMetadata."""
        raise NotImplementedError

    def with_current_assignment(self, value: Message) -> Self:
        """The member with the content of its CurrentMemberAssignment."""
        raise NotImplementedError

    def without_assignment(self) -> Self:
        """The member after a tombstone of its CurrentMemberAssignment."""
        raise NotImplementedError
