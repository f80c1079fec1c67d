"""What the groups of the consumer, the streams and the share protocol have in common
(KIP-848, KIP-1071, KIP-932). A classic group has nothing of it.

The rules are in group_rules.py. What all three do in the same way is here: they answer
other parts' questions, write the records of their epochs, and wait for their members.
consumer_group.py explains the protocol.
"""

from typing import Any, ClassVar, Generic, Protocol, TypeVar

from minikafka.clock import Now
from minikafka.cluster.metadata import Image
from minikafka.coordinators import group_rules
from minikafka.coordinators.member_timers import MemberTimers
from minikafka.coordinators.modern_group_state import ModernGroupState
from minikafka.coordinators.modern_member import ModernMember, ReconcilingMember
from minikafka.coordinators.runtime import Configs, CoordinatorRecord
from minikafka.coordinators.subscriptions import SeenTopics
from minikafka.trace import Reason
from minikafka.wire.schema import Message

AnyMember = TypeVar("AnyMember", bound=ModernMember)
AnyReconciling = TypeVar("AnyReconciling", bound=ReconcilingMember)


class ModernGroup(Generic[AnyMember]):
    """One group. image: the cluster's topics, as this node knows them. own_records: the
    records about the group as a whole, in the order of their tombstones.
    """

    type: ClassVar[str]
    own_records: ClassVar[tuple[str, ...]]
    state: ModernGroupState[AnyMember, Any]

    def __init__(self, group_id: str, config: Configs, image: Image) -> None:
        self.group_id = group_id
        self._config = config
        self._image = image
        self._timers = MemberTimers()

    @property
    def protocol_type(self) -> str:
        return self.type

    @property
    def member_ids(self) -> list[str]:
        return list(self.state.members)

    @property
    def state_name(self) -> str:
        return self.state.name

    def next_deadline(self) -> int | None:
        return self._timers.next_deadline()

    def offsets_age_from(self, commit_ms: int) -> int:
        return commit_ms

    def tombstones(self) -> list[CoordinatorRecord]:
        """The records that delete all of the group's own records."""
        records = []
        for member in self.state.members.values():
            records += member.tombstones(self.group_id)
        records += [self._record(name, None) for name in self.own_records]
        return records

    # -- for the kinds

    def _configured(self, name: str) -> int:
        """A config of this group; by default the broker's."""
        return group_rules.configured(self.group_id, name, self._image, self._config)

    def _member(self, member_id: str) -> AnyMember:
        """The member. Errors: UNKNOWN_MEMBER_ID."""
        member = self.state.members.get(member_id)
        if member is None:
            raise group_rules.unknown_member(member_id, self.group_id)
        return member

    def _may_assign(self, now: Now) -> bool:
        """Whether the last target is old enough."""
        interval_ms = self._configured(f"{self.type}.assignment.interval.ms")
        last_ms = self.state.assignment_timestamp_ms
        return group_rules.may_assign(interval_ms, last_ms, now)

    @property
    def _session_timeout_ms(self) -> int:
        return self._configured(f"{self.type}.session.timeout.ms")

    def _answer(self, member: AnyMember) -> dict[str, Any]:
        """What each answer to a heartbeat says. Without an assignment in it, the last
        one that the member was given remains valid.
        """
        interval_ms = self._configured(f"{self.type}.heartbeat.interval.ms")
        return {
            "member_id": member.member_id,
            "member_epoch": member.member_epoch,
            "heartbeat_interval_ms": interval_ms,
        }

    def _record(self, name: str, value: dict[str, Any] | None) -> CoordinatorRecord:
        """A record about the group as a whole, by its name without the kind of
        group.
        """
        name = f"{self.state.kind}{name}"
        return CoordinatorRecord(name, {"group_id": self.group_id}, value)

    def _group_epoch_record(self, epoch: int, seen: SeenTopics) -> CoordinatorRecord:
        """The record of a new group epoch. seen: the topics that it is based on."""
        value = {"epoch": epoch, "metadata_hash": seen.hash}
        return self._record("Metadata", value)

    def _target_epoch_record(self, epoch: int, now: Now) -> CoordinatorRecord:
        """The record that says that there is a target for a group epoch."""
        value = {"assignment_epoch": epoch, "assignment_timestamp": now.wall_ms}
        return self._record("TargetAssignmentMetadata", value)

    def _emptied(self, epoch: int, leavers: int) -> list[CoordinatorRecord]:
        """When the last members leave, nothing is left to assign: the record that says
        so for the new group epoch, with no time, so that who joins next needn't wait.
        """
        if leavers < len(self.state.members):
            return []
        value = {"assignment_epoch": epoch, "assignment_timestamp": 0}
        return [self._record("TargetAssignmentMetadata", value)]


class Heard(Protocol):
    """The draft of a heartbeat. heard: the member that is alive. moved: whether its
    assignment changed.
    """

    heard: str
    moved: bool


class ReconcilingGroup(ModernGroup[AnyReconciling]):
    """A consumer or a streams group: a member gives something up before another has it,
    and what it reads is committed.
    """

    # -- who is late

    def _overdue(self, what: str, now: Now) -> dict[str, Reason]:
        """The members whose session or rebalance timeout is over, with the reason for
        removing them. what: what they had to give up.
        """
        why = self._timers.late(self.state.members, what, now)
        return why | self._timers.silent(self._session_timeout_ms, now)

    def loaded(self, now: Now) -> None:
        """The replay is over: every member gets a full session, and its full time to
        revoke.
        """
        for member_id in self.state.members:
            self._heard(member_id, True, now)

    def _heard_from(self, draft: Heard, now: Now) -> None:
        """The records of a heartbeat's draft have been applied."""
        if draft.heard in self.state.members:
            self._heard(draft.heard, draft.moved, now)

    def _heard(self, member_id: str, moved: bool, now: Now) -> None:
        """The member is alive. moved: its assignment changed, so its rebalance timeout
        for giving something up starts now.
        """
        self._timers.renew(member_id, self._session_timeout_ms, now)
        if moved:
            self._timers.begin_revocation(self.state.members[member_id], now)

    # -- committed offsets

    def check_commit(self, request: Message, version: int, transactional: bool) -> None:
        """Check whether an OffsetCommit is accepted, from a member or from another
        client (group_rules.py). Errors: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH,
        UNSUPPORTED_VERSION.
        """
        is_empty = not self.state.members
        if group_rules.needs_no_member(request, transactional, is_empty):
            return
        member = self._member(request.member_id)
        self._check_commit_of(member, request, None if transactional else version)

    def _check_commit_of(
        self, member: AnyReconciling, request: Message, version: int | None
    ) -> None:
        """Check whether a member's OffsetCommit is accepted. version: of OffsetCommit;
        None for a TxnOffsetCommit. Errors: STALE_MEMBER_EPOCH, UNSUPPORTED_VERSION.
        """
        raise NotImplementedError

    def check_forget(self) -> None:
        """It is known what the members read, so everything else may be forgotten."""

    def check_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Check whether a member may ask for committed offsets; without a member id and
        an epoch anybody may. Errors: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH.
        """
        if member_id is None and member_epoch < 0:
            return
        member = self._member(member_id or "")
        group_rules.check_fetch(received=member_epoch, expected=member.member_epoch)
