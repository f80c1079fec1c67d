"""A classic consumer group: how its members agree on which of them reads which
partitions (KIP-62, KIP-345, KIP-394).

The coordinator does not assign. It gathers the members, chooses one of them as leader,
lets that one assign, and passes the result on. Whatever goes wrong, the members do it
again:

    member A (leader)       coordinator                    member B
      |-- JoinGroup ----------> |                              |
      |                         | PreparingRebalance           |
      |                         | <---------------- JoinGroup -|
      |                         | all are in: generation 2     |
      |<- you lead, members A B-| CompletingRebalance          |
      |                         |----------- A leads --------->|
      |-- SyncGroup(A: 0 1,     | <---------------- SyncGroup -|
      |             B: 2) ----->|                              |
      |<------ yours: 0 1 ------| Stable ------- yours: 2 ---->|
      |-- Heartbeat ----------->| <---------------- Heartbeat -|

The coordinator holds back each JoinGroup until all members have sent one, or until the
rebalance timeout is over: members that haven't joined by then are removed. That is the
barrier at which everybody stops reading. A member learns of it from its next heartbeat
(REBALANCE_IN_PROGRESS). The generation is the number of the agreement: a request with
an old one is refused (ILLEGAL_GENERATION), and so is one by a member that was removed
(UNKNOWN_MEMBER_ID). So a member that slept through a rebalance can't commit for a
partition that another member has now.

Hard state is one record, GroupMetadata (classic_agreement.py): generation, leader,
protocol, members with their assignments. It is written when the leader has assigned,
when a static member is replaced, and when the group is empty; `apply` sets it, live as
in a replay. Everything else is volatile: a new coordinator begins with the last
agreement and full sessions (classic_timers.py).

This file decides what a request means (runtime.py), and changes nothing.
classic_rebalance.py changes the group: `apply` for records, and `carry_out` for the
effects of a decision (classic_effects.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from minikafka.clock import Now, soonest
from minikafka.cluster.waiting import Answer, Wait
from minikafka.coordinators import classic_effects as effects
from minikafka.coordinators.classic_rebalance import RebalancingGroup
from minikafka.coordinators.classic_state import (
    COMPLETING,
    CONSUMER,
    EMPTY,
    PREPARING,
    STABLE,
    ClassicMember,
)
from minikafka.coordinators.runtime import Decision
from minikafka.trace import Reason
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message


class Leaving(NamedTuple):
    """A member that leaves. A static member may be named by its instance id alone.
    reason: in the member's words, if it gives one.
    """

    member_id: str
    instance_id: str | None = None
    reason: str | None = None


@dataclass(eq=False, repr=False)
class ClassicGroup(RebalancingGroup):
    """One group: its decisions about requests and about time. It reads its state and
    doesn't change it.
    """

    type = "classic"

    @property
    def state_name(self) -> str:
        return self.state

    # -- decide: JoinGroup

    def join(
        self,
        wait: Wait,
        request: Message,
        client: tuple[str, str],
        version: int,
        now: Now,
    ) -> Decision:
        """JoinGroup. client: (client id, host).

        - A known static member (KIP-345) gets its place back.
        - From version 4 on a new dynamic member is given its id, and asked to join
          again with it (KIP-394).
        - Everybody else waits for the others, unless the answer is known already.
        """
        member_id = request.member_id
        instance_id = request.group_instance_id
        client_id, client_host = client
        if not self._has_room(member_id):
            return self._refuse_for_lack_of_room(member_id)
        if not self._supports(request):
            raise KafkaError(Error.INCONSISTENT_GROUP_PROTOCOL)
        if member_id == "":
            former_id = self.members.static_member_id(instance_id)
            if former_id is not None:
                return self._come_back(wait, former_id, request, version, now)
            if instance_id is None and version >= 4:
                return self._hand_out_id(client_id, request.session_timeout_ms)
        is_promised = member_id in self._sessions.promised
        if is_promised and instance_id is not None:
            why = "A member id was handed out to a dynamic member, not to a static."
            raise KafkaError(Error.UNKNOWN_SERVER_ERROR, why)
        if member_id == "" or is_promised:
            new_id = member_id or self._new_member_id(instance_id or client_id)
            member = ClassicMember(new_id, instance_id, client_id, client_host)
            member = member.joining_with(request)
            came = effects.MemberCame(
                wait=wait,
                member=member,
                protocol_type=request.protocol_type,
                reason=request.reason,
            )
            return Decision(effect=came)
        member = self.members.check(member_id, instance_id)
        return self._join_again(wait, member, request)

    def _has_room(self, member_id: str) -> bool:
        """Whether there is room for the member (group.max.size). During a rebalance
        only members that have joined it count.
        """
        if self.state == EMPTY:
            return True
        inside = self.joining if self.state == PREPARING else self.members
        return member_id in inside or len(inside) < self._max_size

    def _refuse_for_lack_of_room(self, member_id: str) -> Decision:
        error = Error.GROUP_MAX_SIZE_REACHED
        answer = {"error_code": error, "member_id": member_id}
        return Decision(answer=answer, effect=effects.RoomRefused(member_id))

    def _supports(self, request: Message) -> bool:
        """Whether the member could agree on a protocol with the others."""
        names = [each.name for each in request.protocols]
        if self.state == EMPTY:
            return bool(request.protocol_type and names)
        is_of_our_type = request.protocol_type == self.protocol_type
        return is_of_our_type and self.members.support(names)

    def _hand_out_id(self, client_id: str, session_timeout_ms: int) -> Decision:
        """Give a new member its id. A member that dies between its two requests is
        waited for no longer than a session.
        """
        promised = self._new_member_id(client_id)
        answer = {"error_code": Error.MEMBER_ID_REQUIRED, "member_id": promised}
        return Decision(
            answer=answer, effect=effects.IdPromised(promised, session_timeout_ms)
        )

    def _come_back(
        self, wait: Wait, former_id: str, request: Message, version: int, now: Now
    ) -> Decision:
        """A static member came back as a new process (KIP-345). If the group is stable
        and would still agree on the same protocol, the member simply goes on with the
        same assignment, and nobody else notices.
        """
        member_id = self._new_member_id(request.group_instance_id)
        former = self.members[former_id].joining_with(request)
        member = replace(former, member_id=member_id)
        members = self.members.replaced(former_id, member)
        goes_on = self.state == STABLE and members.elect_protocol() == self.protocol
        if not goes_on:
            return Decision(effect=effects.StaticMemberCame(wait, former_id, member))
        answer = self.join_answer(member_id, members)
        if version >= 9:
            answer["skip_assignment"] = member_id == members.leader  # KIP-814
        # an old leader can't be told not to assign, so it isn't told that it leads
        else:
            answer["leader"] = self.members.leader or ""
            answer["members"] = []
        assignments = self.assignments_with(former_id, member_id)
        record = self.record(members, assignments, now)
        return Decision(
            [record], answer, effects.StaticMemberReplaced(former_id, member)
        )

    def _join_again(
        self, wait: Wait, member: ClassicMember, request: Message
    ) -> Decision:
        """A known member joins again. If it says nothing new and isn't the leader, it
        missed the answer, so it gets that again.
        """
        changed = member.joining_with(request)
        is_unchanged = changed.protocols == member.protocols
        leads = member.member_id == self.members.leader
        is_agreed = self.state == COMPLETING or (self.state == STABLE and not leads)
        if is_unchanged and is_agreed:
            answer = self.join_answer(member.member_id, self.members)
            return Decision(answer=answer)
        if self.state == EMPTY:
            raise KafkaError(Error.UNKNOWN_MEMBER_ID)
        if leads and is_unchanged:
            what = "which leads"
        else:
            what = "whose subscription changed"
        why = f"{member.client_id}, {what}, joins again"
        return Decision(effect=effects.JoinedAgain(wait, changed, why))

    # -- decide: other requests, and time

    def sync(self, wait: Wait, request: Message, now: Now) -> Decision:
        """SyncGroup. The leader sends the assignment; the others wait until it is
        committed.
        """
        member_id = self.check_generation(request).member_id
        self.check_protocol(request)
        if self.state == PREPARING:
            raise KafkaError(Error.REBALANCE_IN_PROGRESS)
        if self.state == STABLE:
            answer = self.sync_answer(member_id, self.assignments)
            return Decision(answer=answer, effect=effects.Synced(member_id))
        if member_id != self.members.leader:
            return Decision(effect=effects.WaitsToSync(wait, member_id))
        assignments = {}
        for each in request.assignments:
            assignments[each.member_id] = bytes(each.assignment)
        record = self.record(self.members, assignments, now)
        return Decision(
            [record],
            answer=self.sync_answer(member_id, assignments),
            effect=effects.Assigned(),
            failed=effects.Assigned(),
        )

    def heartbeat(self, request: Message) -> Decision:
        """Heartbeat: the member is alive, and learns whether it must join again."""
        member_id = self.check_generation(request).member_id
        error = Error.REBALANCE_IN_PROGRESS if self.state == PREPARING else Error.NONE
        return Decision(answer={"error_code": error}, effect=effects.Heard(member_id))

    def leave(self, leaving: Sequence[Leaving]) -> Decision:
        """LeaveGroup: each member has its own result."""
        results = []
        left: dict[str, Reason] = {}
        for each in leaving:
            error = Error.NONE
            try:
                member_id = self._check_leaving(each, left)
                why = f"it left: {each.reason}" if each.reason else "it said goodbye"
                left[member_id] = Reason("goodbye", why)
            except KafkaError as refusal:
                error = refusal.error
            result = {
                "member_id": each.member_id,
                "group_instance_id": each.instance_id,
                "error_code": error,
            }
            results.append(result)
        answer = {"members": results, "error_code": Error.NONE}
        return Decision(answer=answer, effect=effects.Left(left) if left else None)

    def _check_leaving(self, leaving: Leaving, left: Mapping[str, Reason]) -> str:
        """The id of the member that leaves. Errors: UNKNOWN_MEMBER_ID, also if the same
        request has removed it already; FENCED_INSTANCE_ID.
        """
        member_id = leaving.member_id
        if not member_id:
            member_id = self.members.static_member_id(leaving.instance_id) or ""
        if member_id in left:
            raise KafkaError(Error.UNKNOWN_MEMBER_ID)
        if member_id not in self._sessions.promised:
            self.members.check(member_id, leaving.instance_id)
        return member_id

    def check_commit(self, request: Message, version: int, transactional: bool) -> None:
        """Check whether an OffsetCommit is accepted. One without a generation comes
        from a client that isn't a member (an admin tool, a consumer that assigns
        partitions by hand), and only an empty group accepts it. A producer's commit may
        name the member, and is accepted without one, too (KIP-447). Errors:
        UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED_INSTANCE_ID,
        REBALANCE_IN_PROGRESS.
        """
        member_id = request.member_id
        instance_id = request.group_instance_id
        generation = request.generation_id_or_member_epoch
        if generation < 0:
            names_nobody = member_id == "" and instance_id is None
            if self.state == EMPTY or (names_nobody and transactional):
                return
            if names_nobody:
                raise KafkaError(Error.UNKNOWN_MEMBER_ID)
        self.members.check(member_id, instance_id)
        if generation != self.generation:
            raise KafkaError(Error.ILLEGAL_GENERATION)
        if self.state == COMPLETING and not transactional:
            raise KafkaError(Error.REBALANCE_IN_PROGRESS)

    def check_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Anybody may read committed offsets."""

    def check_forget(self) -> None:
        """Check whether offsets may be deleted. Errors: NON_EMPTY_GROUP if the members
        aren't consumers, because it isn't known what they read.
        """
        if self.state_name != "Empty" and self.protocol_type != CONSUMER:
            raise KafkaError(Error.NON_EMPTY_GROUP)

    def tick(self) -> Decision:
        """Timers are soft state, so there is nothing to decide."""
        return Decision(effect=effects.TimePassed())

    def next_deadline(self) -> int | None:
        return soonest(
            self._sessions.next_deadline(),
            self._join_timer.at_ms,
            self._sync_deadline_ms,
        )

    # -- questions from other parts

    def describe(self) -> Answer:
        return self.describe_as(self.state, is_stable=self.state == STABLE)

    def offsets_age_from(self, commit_ms: int) -> int | None:
        """The time from which a committed offset ages (KIP-211). In a stable group, and
        in one that never had members, that is the commit; in an empty group it is when
        the last member left. None during a rebalance: offsets don't age then.
        """
        if self.protocol_type is None or self.state == STABLE:
            return commit_ms
        if self.state != EMPTY:
            return None
        if self.empty_since_ms is None:
            return commit_ms
        return self.empty_since_ms
