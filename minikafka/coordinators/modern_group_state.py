"""The state of a consumer, a streams or a share group as its records describe it, as
far as the three are alike: epochs, the target, and the members.

Nothing here decides. Records come in, one at a time, live or in a replay, and lead to
the same state.
"""

from typing import Any, ClassVar, Generic, TypeVar

from minikafka.coordinators.group_rules import FIRST_EPOCH, NO_ASSIGNMENT_EPOCH
from minikafka.coordinators.modern_member import ReconcilingMember
from minikafka.wire.schema import Message

AnyMember = TypeVar("AnyMember")
AnyTarget = TypeVar("AnyTarget")
AnyReconciled = TypeVar("AnyReconciled", bound=ReconcilingMember)


class ModernGroupState(Generic[AnyMember, AnyTarget]):
    """Only `apply` may change it.

    group_epoch grows whenever the target must be made again; assignment_epoch is the
    group epoch that the target was made for, at assignment_timestamp_ms (wall clock).
    metadata_hash: of the group's topics at that group epoch. target: by member id.
    kind: how the names of the group's records begin.
    """

    kind: ClassVar[str]

    def __init__(self) -> None:
        self.group_epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assignment_timestamp_ms = 0
        self.target: dict[str, AnyTarget] = {}
        self.members: dict[str, AnyMember] = {}

    @property
    def name(self) -> str:
        """The group's state in Kafka's words."""
        raise NotImplementedError

    def apply(self, name: str, key: Message, value: Message | None) -> None:
        """Apply one of this group's records."""
        match name.removeprefix(self.kind):
            case "Metadata" if value is not None:
                self._set_epoch(value)
            case "TargetAssignmentMetadata" if value is not None:
                self.assignment_epoch = value.assignment_epoch
                self.assignment_timestamp_ms = value.assignment_timestamp
            case "TargetAssignmentMetadata":
                self.assignment_epoch = NO_ASSIGNMENT_EPOCH
                self.assignment_timestamp_ms = 0
            case "TargetAssignmentMember" if value is not None:
                self.target[key.member_id] = self._target_of(value)
            case "TargetAssignmentMember":
                self.target.pop(key.member_id, None)
            case rest:
                self._apply_more(rest, key, value)

    def described(self, group_id: str, members: list[Any]) -> dict[str, Any]:
        """The fields of a DescribedGroup that all three kinds have."""
        return {
            "group_id": group_id,
            "group_state": self.name,
            "group_epoch": self.group_epoch,
            "assignment_epoch": self.assignment_epoch,
            "members": members,
        }

    def _set_epoch(self, value: Message) -> None:
        self.group_epoch = value.epoch
        self.metadata_hash = value.metadata_hash

    def _target_of(self, value: Message) -> AnyTarget:
        """The content of a TargetAssignmentMember."""
        raise NotImplementedError

    def _apply_more(self, name: str, key: Message, value: Message | None) -> None:
        """Apply a record that not all three kinds have, or apply in the same way."""
        raise NotImplementedError


class ReconcilingState(ModernGroupState[AnyReconciled, AnyTarget]):
    """The state of a consumer or a streams group."""

    def _apply_more(self, name: str, key: Message, value: Message | None) -> None:
        match name:
            case "MemberMetadata":
                was = self._take_out(key.member_id)
                if value is not None:
                    self._put(was.with_metadata(value))
            case "CurrentMemberAssignment" if value is not None:
                was = self._take_out(key.member_id)
                self._put(was.with_current_assignment(value))
            case "CurrentMemberAssignment":
                if key.member_id in self.members:
                    was = self._take_out(key.member_id)
                    self._put(was.without_assignment())

    def _put(self, member: AnyReconciled) -> None:
        """Add or replace a member, and everything that follows from members."""
        raise NotImplementedError

    def _take_out(self, member_id: str) -> AnyReconciled:
        """Remove a member and return it; a new one if it wasn't there."""
        raise NotImplementedError
