"""The state of a classic group, and everything that changes it: `apply` for changes
that are in the log, `carry_out` for those that aren't.

The hard state is what all members have agreed on and the log says: `agreed`. Only
`apply` sets it, live as in a replay.

Everything else is volatile, and lost with the coordinator. Between two agreements
members join, describe themselves and wait. Nobody may rely on that before the leader
has assigned, so writing a record for each JoinGroup would be pointless (Apache Kafka's
GroupMetadataManager keeps it only in memory, too). An agreement that is applied
replaces it. One exception: a group that became empty is empty even if its record could
not be written; in the log it keeps its members until somebody joins again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from minikafka.clock import Now
from minikafka.cluster.waiting import Answer, Wait
from minikafka.coordinators import classic_effects as effects
from minikafka.coordinators.classic_agreement import Agreement
from minikafka.coordinators.classic_effects import ClassicEffect
from minikafka.coordinators.classic_events import ClassicEvents
from minikafka.coordinators.classic_state import (
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    TRANSITIONS,
    ClassicMember,
    Event,
)
from minikafka.coordinators.classic_timers import JoinTimer, Sessions
from minikafka.coordinators.runtime import Decision
from minikafka.trace import Reason, Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

NOBODY_IS_LEFT = "no member is left"


@dataclass(eq=False, repr=False)
class RebalancingGroup(Agreement):
    """A group between two agreements, or at one. The attributes that it inherits are
    the current ones.

    agreed: what the log says. joining, syncing: the members' requests that wait for the
    others. unsynced: members that know the new generation and haven't asked for their
    assignment yet.

    new_member_id(prefix): a unique id. initial_delay_ms: how long an empty group waits
    for more members than the first. max_size: how many members it may have.
    """

    _initial_delay_ms: int
    _max_size: int
    _new_member_id: Callable[[str], str]
    _trace: Trace
    state: str = EMPTY
    joining: dict[str, Wait] = field(default_factory=dict)
    syncing: dict[str, Wait] = field(default_factory=dict)
    unsynced: dict[str, None] = field(default_factory=dict)
    _sessions: Sessions = field(default_factory=Sessions)
    _join_timer: JoinTimer = field(default_factory=JoinTimer)
    _sync_deadline_ms: int | None = None

    def __post_init__(self) -> None:
        """Nothing is agreed on yet."""
        self.agreed = Agreement(self.group_id)
        self._events = ClassicEvents(self.group_id, self._trace)

    # -- apply and carry out

    def apply(self, value: Message) -> None:
        """Apply a GroupMetadata record, live or in a replay: from now on it is agreed
        on. If the members were told that it could not be written, it comes too late,
        because they are on their way to the next agreement.
        """
        self.agreed.restore(value)
        is_too_late = self.state == PREPARING and self.agreed.members
        if is_too_late:
            return
        self.follow(self.agreed)
        self.state = STABLE if self.members else EMPTY

    def carry_out(self, effect: ClassicEffect, now: Now) -> Decision | None:
        """Carry out the effect of a decision. Returns another decision if there is more
        to write.

        The effects: a member comes, waits or leaves; time has passed; a record has been
        applied.
        """
        match effect:
            case effects.Heard(member_id):
                self.heard(member_id, now)
            case effects.IdPromised(member_id, session_timeout_ms):
                self._sessions.promise(member_id, session_timeout_ms, now)
            case effects.RoomRefused(member_id):
                self._forget(member_id)
            case effects.MemberCame():
                return self._add(effect, now)
            case effects.StaticMemberCame(wait, former_id, member):
                return self._replace_and_join(wait, former_id, member, now)
            case effects.JoinedAgain(wait, member, why):
                return self._wait_to_join(wait, member, why, now)
            case effects.Synced(member_id):
                self._has_synced(member_id)
            case effects.WaitsToSync(wait, member_id):
                self._wait_to_sync(wait, member_id, now)
            case effects.Left(why_by_id):
                return self._leave(why_by_id, now)
            case effects.TimePassed():
                return self._time_passed(now)
            case effects.StaticMemberReplaced(former_id, member):
                # its full description, not only what was agreed on
                self.members.put(member)
                self._was_replaced(former_id, member, now)
            case effects.Assigned():
                self._hand_out(now)
            case effects.BecameEmpty():
                self._tell_move(PREPARING, Event.NOBODY_JOINED, NOBODY_IS_LEFT)
        return None

    def give_up(self, failed: ClassicEffect, error: KafkaError, now: Now) -> None:
        """The record of an agreement isn't in the log, and maybe never will be."""
        match failed:
            case effects.Assigned():
                # the members that wait for it start over
                self._refuse_syncs(error.error, now)
                why = "the assignment could not be written"
                self._prepare(Event.ASSIGNMENT_LOST, why, now)
            case effects.BecameEmpty():
                self._become_empty(failed)

    def loaded(self, now: Now) -> None:
        """The replay is over: every member gets a full session."""
        for member_id in self.members:
            self.heard(member_id, now)

    # -- effects: members come and go

    def heard(self, member_id: str, now: Now) -> None:
        """A member is alive: start its session again."""
        member = self.members.get(member_id)
        if member is None or member_id in self._sessions.new:
            return
        waits_for_others = member_id in self.joining or member_id in self.syncing
        if waits_for_others:
            self._sessions.pause(member_id)
        else:
            self._sessions.renew(member_id, member.session_timeout_ms, now)

    def _add(self, came: effects.MemberCame, now: Now) -> Decision | None:
        """Add a new member, which waits for the next generation."""
        member = came.member
        if not self.members:
            self.protocol_type = came.protocol_type
        self._join_timer.somebody_came = True
        self._sessions.begin(member.member_id, now)
        why = Reason("new", came.reason or "it is new")
        self._events.member_joined(member, why)
        sentence = f"{member.client_id} joins"
        return self._wait_to_join(came.wait, member, sentence, now)

    def _was_replaced(self, former_id: str, member: ClassicMember, now: Now) -> None:
        """A static member is another process now. The former one is fenced."""
        _refuse(self.joining, former_id, Error.FENCED_INSTANCE_ID, told_id=former_id)
        _refuse(self.syncing, former_id, Error.FENCED_INSTANCE_ID)
        self._forget(former_id)
        sentence = f"{member.instance_id} came back as another process"
        why = Reason("static_member_replaced", sentence)
        self._events.member_left(former_id, member.client_id, why)
        self._events.member_joined(member, why)
        self.heard(member.member_id, now)

    def _replace_and_join(
        self, wait: Wait, former_id: str, member: ClassicMember, now: Now
    ) -> Decision | None:
        """A static member is another process now, but the others can't simply go on: it
        wants another protocol, or they are joining again already.
        """
        new_id = member.member_id
        self.members = self.members.replaced(former_id, member)
        self.assignments = self.assignments_with(former_id, new_id)
        self._was_replaced(former_id, member, now)
        why = f"static member {member.instance_id} is back"
        return self._wait_to_join(wait, member, why, now)

    def _wait_to_join(
        self, wait: Wait, member: ClassicMember, why: str, now: Now
    ) -> Decision | None:
        """A member, with its new description, waits for the others. If they haven't
        begun to join, all must join.
        """
        member_id = member.member_id
        self.members.put(member)
        # its earlier request came over another connection
        _refuse(self.joining, member_id, Error.UNKNOWN_MEMBER_ID, told_id=member_id)
        self.joining[member_id] = wait
        self.heard(member_id, now)
        if self.state == PREPARING:
            return self._complete_if_all_joined(now)
        return self._prepare(Event.MEMBER_JOINS, why, now)

    def _leave(self, left: Mapping[str, Reason], now: Now) -> Decision | None:
        """Remove members that leave; a single rebalance is enough for all of them."""
        names = []
        for member_id in left:
            member = self.members.get(member_id)
            name = member_id if member is None else member.client_id
            names.append(name)
        for member_id, why in left.items():
            self.remove(member_id, why, now)
        everybody = ", ".join(names)
        sentence = f"{everybody} left"
        return self._after_removal(Event.MEMBER_LEAVES, sentence, now)

    def remove(self, member_id: str, why: Reason, now: Now) -> None:
        """Remove a member, whether it leaves by itself or not. Requests that it waits
        for are refused.
        """
        _refuse(self.joining, member_id, Error.UNKNOWN_MEMBER_ID, told_id="")
        _refuse(self.syncing, member_id, Error.UNKNOWN_MEMBER_ID)
        member = self.members.get(member_id)
        if member is not None:
            # nobody else has heard of an id that was only promised
            self._events.member_left(member_id, member.client_id, why)
        self._forget(member_id)

    def _forget(self, member_id: str) -> None:
        """Remove everything that is known about a member, and don't wait for it any
        more.
        """
        self.members.remove(member_id)
        self.unsynced.pop(member_id, None)
        self._sessions.forget(member_id)

    def _after_removal(self, event: Event, why: str, now: Now) -> Decision | None:
        """After a removal the member's partitions must go to others. If all are joining
        again anyway, it may have been the last one they waited for.
        """
        if self.state in (STABLE, COMPLETING):
            return self._prepare(event, why, now)
        if self.state == PREPARING:
            return self._complete_if_all_joined(now)
        return None

    # -- effects: the rebalance

    def _prepare(self, event: Event, why: str, now: Now) -> Decision | None:
        """Make all members join again. An empty group gathers members for a while first
        (KIP-134).
        """
        was_empty = self.state == EMPTY
        if self.state == COMPLETING:
            self.assignments = {}
            self._refuse_syncs(Error.REBALANCE_IN_PROGRESS, now)
        self.unsynced.clear()
        self._sync_deadline_ms = None
        self._move(event, why)
        reason = Reason(event.value, why)
        self._events.rebalance_started(self.generation, reason)
        timeout_ms = self.members.rebalance_timeout_ms
        if was_empty:
            self._join_timer.gather(self._initial_delay_ms, timeout_ms, now)
        else:
            self._join_timer.wait_for_all(timeout_ms, now)
        return self._complete_if_all_joined(now)

    def _complete_if_all_joined(self, now: Now) -> Decision | None:
        """Open the barrier if all have joined. An empty group waits until its time is
        up, no matter who has joined.
        """
        if self._join_timer.is_gathering or not self._all_joined:
            return None
        why = "all members have joined"
        return self._complete_join(Event.ALL_JOINED, why, now)

    @property
    def _all_joined(self) -> bool:
        """Whether every member has asked to join, including those that were only given
        an id.
        """
        if self._sessions.promised:
            return False
        return len(self.joining) == len(self.members)

    def _join_time_is_up(self, now: Now) -> Decision | None:
        """The rebalance timeout is over: the barrier opens for the members that have
        joined.
        """
        if self._join_timer.gather_on(self._initial_delay_ms, now):
            return None
        if self._join_timer.is_gathering:
            why = "it has waited for more members long enough"
            return self._complete_join(Event.ALL_JOINED, why, now)
        why = "the rebalance timeout is over"
        return self._complete_join(Event.REBALANCE_TIMEOUT, why, now)

    def _complete_join(self, event: Event, why: str, now: Now) -> Decision | None:
        """The barrier opens: members that didn't join are removed, and the next
        generation begins, or the group is empty.
        """
        self._join_timer.stop()
        self._remove_absent(now)
        self.unsynced.clear()
        if not self.members:
            return self._write_that_it_is_empty(now)
        if not self.members.elect_leader(self.joining):
            # only static members that are away
            timeout_ms = self.members.rebalance_timeout_ms
            self._join_timer.try_again(timeout_ms, now)
            return None
        self._begin_generation(event, why, now)
        return None

    def _remove_absent(self, now: Now) -> None:
        """Remove members that didn't join. A static member keeps its place until its
        session is over.
        """
        why = Reason("rebalance_timeout", "it did not join again in time")
        for member in list(self.members.values()):
            member_id = member.member_id
            has_come = member_id in self.joining
            is_static = member.instance_id is not None
            if not has_come and not is_static:
                self.remove(member_id, why, now)

    def _begin_generation(self, event: Event, why: str, now: Now) -> None:
        """Tell all members about the next generation, so that they ask for their
        assignment.
        """
        self.generation += 1
        self.protocol = self.members.elect_protocol()
        self.topics = self.subscribed_topics()
        self._move(event, why)
        self._events.generation_began(self, joined=self.joining)
        self._sessions.new.clear()
        for member_id in self.members:
            if member_id in self.joining:
                answer = self.join_answer(member_id, self.members)
                _answer(self.joining, member_id, answer)
            self.heard(member_id, now)
            self.unsynced[member_id] = None
        timeout_ms = self.members.rebalance_timeout_ms
        self._sync_deadline_ms = now.monotonic_ms + timeout_ms

    def _write_that_it_is_empty(self, now: Now) -> Decision:
        """The record of an empty group. Afterwards the group is empty, whether the
        record could be written or not.
        """
        generation = self.generation + 1
        record = self.empty_record(generation, now)
        empty = effects.BecameEmpty(generation, at_ms=now.wall_ms)
        return Decision([record], effect=empty, failed=empty)

    def _become_empty(self, empty: effects.BecameEmpty) -> None:
        """Make the group empty even without a record that says so."""
        self.generation = empty.generation
        self.protocol = None
        self.assignments = {}
        self.empty_since_ms = empty.at_ms
        self.topics = self.subscribed_topics()
        self._move(Event.NOBODY_JOINED, NOBODY_IS_LEFT)

    def _wait_to_sync(self, wait: Wait, member_id: str, now: Now) -> None:
        """A member waits for the leader's assignment."""
        # its earlier request came over another connection
        _refuse(self.syncing, member_id, Error.UNKNOWN_MEMBER_ID)
        self.syncing[member_id] = wait
        self._has_synced(member_id)
        self.heard(member_id, now)

    def _has_synced(self, member_id: str) -> None:
        """The member has asked for its assignment, so it isn't late."""
        self.unsynced.pop(member_id, None)

    def _hand_out(self, now: Now) -> None:
        """The leader's assignment is committed: each member gets its part."""
        why = "the leader has assigned"
        self._tell_move(COMPLETING, Event.LEADER_ASSIGNED, why)
        self._events.assignment_made(self)
        for member_id in self.members:
            if member_id in self.syncing:
                answer = self.sync_answer(member_id, self.assignments)
                _answer(self.syncing, member_id, answer)
                self.heard(member_id, now)
        # the leader sent the assignment, and the decision itself answers it
        leader = self.members.leader or ""
        self._has_synced(leader)
        self.heard(leader, now)

    def _refuse_syncs(self, error: Error, now: Now) -> None:
        """No member gets an assignment in this generation."""
        for member_id in list(self.syncing):
            _refuse(self.syncing, member_id, error)
            self.heard(member_id, now)

    # -- effects: time

    def _time_passed(self, now: Now) -> Decision | None:
        """Look at sessions that ended, ids that were never used, and a rebalance or a
        sync that took too long.
        """
        to_write = None
        for member_id in self._sessions.over(now):
            # an earlier removal may have changed that
            if self._sessions.is_over(member_id, now):
                to_write = self._session_is_over(member_id, now) or to_write
        if self._join_timer.is_up(now):
            to_write = self._join_time_is_up(now) or to_write
        sync_ms = self._sync_deadline_ms
        is_too_late = sync_ms is not None and sync_ms <= now.monotonic_ms
        if is_too_late:
            to_write = self._sync_time_is_up(now) or to_write
        return to_write

    def _session_is_over(self, member_id: str, now: Now) -> Decision | None:
        """A member was silent for too long, or never joined with the id that it was
        given.
        """
        if member_id in self._sessions.promised:
            self._forget(member_id)
            # the others waited for it, but they haven't heard of it
            if self.state == PREPARING:
                return self._complete_if_all_joined(now)
            return None
        member = self.members[member_id]
        seconds = member.session_timeout_ms / 1000
        silence = Reason("session_timeout", f"no heartbeat for {seconds:.2f} s")
        self.remove(member_id, silence, now)
        why = f"{member.client_id} was silent"
        return self._after_removal(Event.SESSION_TIMEOUT, why, now)

    def _sync_time_is_up(self, now: Now) -> Decision | None:
        """Remove members that know the new generation but never asked for their
        assignment.
        """
        self._sync_deadline_ms = None
        late = list(self.unsynced)
        if not late:
            return None
        why = Reason("sync_timeout", "it never asked for its share")
        for member_id in late:
            self.remove(member_id, why, now)
        sentence = "a member never asked for its share"
        return self._prepare(Event.SYNC_TIMEOUT, sentence, now)

    # -- small things

    def _move(self, event: Event, why: str) -> None:
        """Move to the state that the table names."""
        was = self.state
        self.state = TRANSITIONS[was, event].next_state
        self._tell_move(was, event, why)

    def _tell_move(self, was: str, event: Event, why: str) -> None:
        """Tell the trace that the group, or a record that was applied, has followed the
        table.
        """
        state = TRANSITIONS[was, event].next_state
        assert self.state == state, "a record moves a group as its table says"
        reason = Reason(event.value, why)
        self._events.state_changed(was, state, reason)


def _answer(waits: dict[str, Wait], member_id: str, answer: Answer) -> None:
    """Answer the request that a member waits for, if there is one."""
    wait = waits.pop(member_id, None)
    if wait is not None:
        wait.finish(answer)


def _refuse(
    waits: dict[str, Wait], member_id: str, error: Error, told_id: str | None = None
) -> None:
    """Refuse the request that a member waits for, if there is one. told_id: the member
    id in the answer to a JoinGroup.
    """
    answer: Answer = {"error_code": error}
    if told_id is not None:
        answer["member_id"] = told_id
    _answer(waits, member_id, answer)
