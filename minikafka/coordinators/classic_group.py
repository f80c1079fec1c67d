"""A classic consumer group: how its members agree on who reads what (KIP-62, KIP-345,
KIP-394).

The coordinator does not assign. It gathers the members, chooses one of them as leader,
lets that one assign, and hands the result on. Everything that can go wrong is answered
by doing it again:

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

A JoinGroup is held back until all members have sent one, or the rebalance timeout is
over: who has not come by then is out. That is the barrier behind which everybody stops
reading. A member learns of it from its next heartbeat (REBALANCE_IN_PROGRESS). The
generation is the number of the agreement: a request with an old one is refused
(ILLEGAL_GENERATION), so a member that slept through a rebalance can't commit for a
partition that is another's now.

Hard state is one record, GroupMetadata (classic_agreement.py): generation, leader,
protocol, members with their assignments. It is written when the leader has assigned,
when a static member is replaced, and when the group is empty. All else is soft: a new
coordinator begins with the last agreement and full sessions (classic_timers.py).

The first half of the class decides (runtime.py): what a request means, without changing
anything. The second half changes the group, once it is decided, and once the records
are committed if there are any.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from minikafka.clock import Now, soonest
from minikafka.cluster.waiting import Answer, Wait
from minikafka.coordinators.classic_agreement import Agreement
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


class Leaving(NamedTuple):
    """Who leaves. A static member may be named by its instance id alone. reason: in
    the member's words, if it gives one.
    """

    member_id: str
    instance_id: str | None = None
    reason: str | None = None


@dataclass(eq=False, repr=False)
class ClassicGroup(Agreement):
    """One group. joining, syncing: the members' requests that wait for the others.
    unsynced: who knows the new generation and has not asked for its assignment.

    new_member_id(prefix): a unique id. initial_delay_ms: how long an empty group waits
    for more members than the first. max_size: how many members it takes.
    """

    type = "classic"

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
        self._events = ClassicEvents(self.group_id, self._trace)

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

        - A static member of before (KIP-345) gets its place back.
        - From version 4 on a new dynamic member is given its id, and asked to come
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
            return Decision(change=partial(self._add, wait, member, request))
        member = self.members.check(member_id, instance_id)
        return self._join_again(wait, member, request)

    def _has_room(self, member_id: str) -> bool:
        """Whether it may join (group.max.size). During a rebalance those count who have
        joined it.
        """
        if self.state == EMPTY:
            return True
        inside = self.joining if self.state == PREPARING else self.members
        return member_id in inside or len(inside) < self._max_size

    def _refuse_for_lack_of_room(self, member_id: str) -> Decision:
        error = Error.GROUP_MAX_SIZE_REACHED
        answer = {"error_code": error, "member_id": member_id}
        return Decision(answer=answer, change=partial(self._forget, member_id))

    def _supports(self, request: Message) -> bool:
        """Whether the member could agree with the others on a protocol."""
        names = [each.name for each in request.protocols]
        if self.state == EMPTY:
            return bool(request.protocol_type and names)
        is_of_our_type = request.protocol_type == self.protocol_type
        return is_of_our_type and self.members.support(names)

    def _hand_out_id(self, client_id: str, session_timeout_ms: int) -> Decision:
        """A member that dies between its two requests is not waited for longer than a
        session.
        """
        promised = self._new_member_id(client_id)
        answer = {"error_code": Error.MEMBER_ID_REQUIRED, "member_id": promised}
        promise = partial(self._sessions.promise, promised, session_timeout_ms)
        return Decision(answer=answer, change=promise)

    def _come_back(
        self, wait: Wait, former_id: str, request: Message, version: int, now: Now
    ) -> Decision:
        """A static member came back as a new process (KIP-345). While the group is
        stable and still agrees on the same protocol it simply goes on with the same
        assignment, and nobody else notices.
        """
        member_id = self._new_member_id(request.group_instance_id)
        former = self.members[former_id].joining_with(request)
        member = replace(former, member_id=member_id)
        members = self.members.replaced(former_id, member)
        goes_on = self.state == STABLE and members.elect_protocol() == self.protocol
        if not goes_on:
            change = partial(self._replace_and_join, wait, former_id, member)
            return Decision(change=change)
        answer = self.join_answer(member_id, members)
        if version >= 9:
            answer["skip_assignment"] = member_id == members.leader  # KIP-814
        else:  # a leader can't be told not to assign: it isn't told that it leads
            answer["leader"] = self.members.leader or ""
            answer["members"] = []
        assignments = self.assignments_with(former_id, member_id)
        record = self.record(members, assignments, now)
        return Decision([record], answer, partial(self._replace, former_id, member))

    def _join_again(
        self, wait: Wait, member: ClassicMember, request: Message
    ) -> Decision:
        """A member of before. If it says nothing new, and needn't lead, it missed the
        answer: here it is again.
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
        return Decision(change=partial(self._wait_to_join, wait, changed, why))

    # -- decide: other requests, and time

    def sync(self, wait: Wait, request: Message, now: Now) -> Decision:
        """SyncGroup. The leader brings the assignment; the others wait until it is
        committed.
        """
        member_id = self.check_generation(request).member_id
        self.check_protocol(request)
        if self.state == PREPARING:
            raise KafkaError(Error.REBALANCE_IN_PROGRESS)
        if self.state == STABLE:
            answer = self.sync_answer(member_id, self.assignments)
            return Decision(answer=answer, change=partial(self._has_synced, member_id))
        if member_id != self.members.leader:
            return Decision(change=partial(self._wait_to_sync, wait, member_id))
        assignments = {}
        for each in request.assignments:
            assignments[each.member_id] = bytes(each.assignment)
        record = self.record(self.members, assignments, now)
        return Decision(
            [record],
            answer=self.sync_answer(member_id, assignments),
            change=partial(self._hand_out, assignments),
            failed=self._could_not_assign,
        )

    def heartbeat(self, request: Message) -> Decision:
        """Heartbeat: the member lives, and learns whether it must join again."""
        member_id = self.check_generation(request).member_id
        error = Error.REBALANCE_IN_PROGRESS if self.state == PREPARING else Error.NONE
        answer = {"error_code": error}
        return Decision(answer=answer, change=partial(self.heard, member_id))

    def leave(self, leaving: Sequence[Leaving]) -> Decision:
        """LeaveGroup: each of the members has its own result."""
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
        change = partial(self._leave, left) if left else None
        return Decision(answer=answer, change=change)

    def _check_leaving(self, leaving: Leaving, left: Mapping[str, Reason]) -> str:
        """The id of who leaves. Errors: UNKNOWN_MEMBER_ID, also if it has left with the
        same request; FENCED_INSTANCE_ID.
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
        """Whether an OffsetCommit is accepted. One without generation is of somebody
        who is no member (an admin tool, a consumer that assigns partitions by hand):
        only an empty group accepts it. One of a producer may say who the member is, and
        is accepted without (KIP-447). Errors: UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION,
        FENCED_INSTANCE_ID, REBALANCE_IN_PROGRESS.
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

    def tick(self) -> Decision:
        """Time is soft: nothing is to be decided."""
        return Decision(change=self._time_passed)

    def next_deadline(self) -> int | None:
        return soonest(
            self._sessions.next_deadline(),
            self._join_timer.at_ms,
            self._sync_deadline_ms,
        )

    # -- questions of others

    def describe(self) -> Answer:
        return self.describe_as(self.state, is_stable=self.state == STABLE)

    def offsets_age_from(self, commit_ms: int) -> int | None:
        """From when on a committed offset gets old (KIP-211): not while members may
        come and go; from the moment when the last one left; for groups that never had
        any, from the commit.
        """
        if self.protocol_type is None or self.state == STABLE:
            return commit_ms
        if self.state != EMPTY:
            return None
        if self.empty_since_ms is None:
            return commit_ms
        return self.empty_since_ms

    # -- change: a replay

    def restore(self, value: Message) -> None:
        """In a replay the group becomes what its GroupMetadata says."""
        super().restore(value)
        self.state = STABLE if self.members else EMPTY

    def loaded(self, now: Now) -> None:
        """The replay is over: every member gets a full session."""
        for member_id in self.members:
            self.heard(member_id, now)

    # -- change: members come and go

    def heard(self, member_id: str, now: Now) -> None:
        """A member is alive: its session begins anew."""
        member = self.members.get(member_id)
        if member is None or member_id in self._sessions.new:
            return
        if member_id in self.joining or member_id in self.syncing:
            self._sessions.pause(member_id)
        else:
            self._sessions.renew(member_id, member.session_timeout_ms, now)

    def _add(
        self, wait: Wait, member: ClassicMember, request: Message, now: Now
    ) -> Decision | None:
        """A new member waits for the next generation."""
        if not self.members:
            self.protocol_type = request.protocol_type
        self._join_timer.somebody_came = True
        self._sessions.begin(member.member_id, now)
        why = Reason("new", request.reason or "it is new")
        self._events.member_joined(member, why)
        return self._wait_to_join(wait, member, f"{member.client_id} joins", now)

    def _replace(self, former_id: str, member: ClassicMember, now: Now) -> None:
        """A static member is another process now. The former one is fenced."""
        fenced = Error.FENCED_INSTANCE_ID
        join_answer = {"error_code": fenced, "member_id": former_id}
        _answer(self.joining, former_id, join_answer)
        _answer(self.syncing, former_id, {"error_code": fenced})
        self.members = self.members.replaced(former_id, member)
        self.assignments = self.assignments_with(former_id, member.member_id)
        self._forget(former_id, now)
        sentence = f"{member.instance_id} came back as another process"
        why = Reason("static_member_replaced", sentence)
        self._events.member_left(former_id, member.client_id, why)
        self._events.member_joined(member, why)
        self.heard(member.member_id, now)

    def _replace_and_join(
        self, wait: Wait, former_id: str, member: ClassicMember, now: Now
    ) -> Decision | None:
        self._replace(former_id, member, now)
        why = f"static member {member.instance_id} is back"
        return self._wait_to_join(wait, member, why, now)

    def _wait_to_join(
        self, wait: Wait, member: ClassicMember, why: str, now: Now
    ) -> Decision | None:
        """A member, as it describes itself now, waits behind the barrier; if there is
        none yet, it goes up.
        """
        member_id = member.member_id
        self.members.put(member)
        former = {"error_code": Error.UNKNOWN_MEMBER_ID, "member_id": member_id}
        _answer(self.joining, member_id, former)
        self.joining[member_id] = wait
        self.heard(member_id, now)
        if self.state == PREPARING:
            return self._complete_if_all_joined(now)
        return self._prepare(Event.MEMBER_JOINS, why, now)

    def _leave(self, left: Mapping[str, Reason], now: Now) -> Decision | None:
        names = []
        for member_id in left:
            member = self.members.get(member_id)
            names.append(member.client_id if member else member_id)
        for member_id, why in left.items():
            self.remove(member_id, why, now)
        sentence = f"{', '.join(names)} left"
        return self._after_removal(Event.MEMBER_LEAVES, sentence, now)

    def remove(self, member_id: str, why: Reason, now: Now) -> None:
        """Out, whether it goes by itself or not. What it waits for is refused."""
        unknown = Error.UNKNOWN_MEMBER_ID
        _answer(self.joining, member_id, {"error_code": unknown, "member_id": ""})
        _answer(self.syncing, member_id, {"error_code": unknown})
        member = self.members.get(member_id)
        if member is not None:  # of a promised id nobody else has heard
            self._events.member_left(member_id, member.client_id, why)
        self._forget(member_id, now)

    def _forget(self, member_id: str, now: Now) -> None:
        self.members.remove(member_id)
        self.unsynced.pop(member_id, None)
        self._sessions.forget(member_id)

    def _after_removal(self, event: Event, why: str, now: Now) -> Decision | None:
        if self.state in (STABLE, COMPLETING):
            return self._prepare(event, why, now)
        if self.state == PREPARING:
            return self._complete_if_all_joined(now)
        return None

    # -- change: the rebalance

    def _prepare(self, event: Event, why: str, now: Now) -> Decision | None:
        """Everybody must join again. An empty group gathers members for a while first
        (KIP-134).
        """
        was_empty = self.state == EMPTY
        if self.state == COMPLETING:
            self.assignments = {}
            self._refuse_syncs(Error.REBALANCE_IN_PROGRESS, now)
        self.unsynced.clear()
        self._sync_deadline_ms = None
        self._move(event, why)
        self._events.rebalance_started(self.generation, Reason(event.value, why))
        timeout_ms = self.members.rebalance_timeout_ms
        if was_empty:
            self._join_timer.gather(self._initial_delay_ms, timeout_ms, now)
        else:
            self._join_timer.wait_for_all(timeout_ms, now)
        return self._complete_if_all_joined(now)

    def _complete_if_all_joined(self, now: Now) -> Decision | None:
        if self._join_timer.is_gathering or not self._all_joined:
            return None
        return self._complete_join(Event.ALL_JOINED, "all members have joined", now)

    @property
    def _all_joined(self) -> bool:
        """Whether every member asked to join, those who were only given an id
        included.
        """
        return not self._sessions.promised and len(self.joining) == len(self.members)

    def _join_time_is_up(self, now: Now) -> Decision | None:
        if self._join_timer.gather_on(self._initial_delay_ms, now):
            return None
        if self._join_timer.is_gathering:
            why = "it has waited for more members long enough"
            return self._complete_join(Event.ALL_JOINED, why, now)
        why = "the rebalance timeout is over"
        return self._complete_join(Event.REBALANCE_TIMEOUT, why, now)

    def _complete_join(self, event: Event, why: str, now: Now) -> Decision | None:
        """The barrier opens: who did not come is out, the next generation begins, or
        the group is empty.
        """
        self._join_timer.stop()
        self._remove_absent(now)
        self.unsynced.clear()
        if not self.members:
            return self._write_that_it_is_empty(now)
        if not self.members.elect_leader(self.joining):  # only absent static ones
            self._join_timer.try_again(self.members.rebalance_timeout_ms, now)
            return None
        self._begin_generation(event, why, now)
        return None

    def _remove_absent(self, now: Now) -> None:
        """A static member keeps its place until its session is over."""
        why = Reason("rebalance_timeout", "it did not join again in time")
        for member in list(self.members.values()):
            has_come = member.member_id in self.joining
            if not has_come and member.instance_id is None:
                self.remove(member.member_id, why, now)

    def _begin_generation(self, event: Event, why: str, now: Now) -> None:
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
        self._sync_deadline_ms = now.monotonic_ms + self.members.rebalance_timeout_ms

    def _write_that_it_is_empty(self, now: Now) -> Decision:
        """The group is empty then, whether that could be written or not."""
        generation = self.generation + 1
        record = self.empty_record(generation, now)
        become_empty = partial(self._become_empty, generation)
        return Decision(
            [record],
            change=become_empty,
            failed=lambda _, now: become_empty(now),
        )

    def _become_empty(self, generation: int, now: Now) -> None:
        self.generation = generation
        self.protocol = None
        self.assignments = {}
        self.empty_since_ms = now.wall_ms
        self.topics = self.subscribed_topics()
        self._move(Event.NOBODY_JOINED, "no member is left")

    def _wait_to_sync(self, wait: Wait, member_id: str, now: Now) -> None:
        # what it asked before came over another connection
        _answer(self.syncing, member_id, {"error_code": Error.UNKNOWN_MEMBER_ID})
        self.syncing[member_id] = wait
        self._has_synced(member_id, now)
        self.heard(member_id, now)

    def _has_synced(self, member_id: str, now: Now) -> None:
        self.unsynced.pop(member_id, None)

    def _hand_out(self, assignments: Mapping[str, bytes], now: Now) -> None:
        """The leader's assignment is committed: everybody gets its part of it."""
        self.assignments = assignments
        self._move(Event.LEADER_ASSIGNED, "the leader has assigned")
        self._events.assignment_made(self)
        for member_id in self.members:
            if member_id in self.syncing:
                answer = self.sync_answer(member_id, assignments)
                _answer(self.syncing, member_id, answer)
                self.heard(member_id, now)
        leader = self.members.leader or ""
        self._has_synced(leader, now)
        self.heard(leader, now)

    def _could_not_assign(self, error: KafkaError, now: Now) -> None:
        """The leader's assignment is not in the log, maybe never will be: all who wait
        for it start over.
        """
        self._refuse_syncs(error.error, now)
        why = "the assignment could not be written"
        self._prepare(Event.ASSIGNMENT_LOST, why, now)

    def _refuse_syncs(self, error: Error, now: Now) -> None:
        for member_id in list(self.syncing):
            _answer(self.syncing, member_id, {"error_code": error})
            self.heard(member_id, now)

    # -- change: time

    def _time_passed(self, now: Now) -> Decision | None:
        """Sessions that ended, ids never used, a rebalance or a sync that took too
        long.
        """
        result = None
        for member_id in self._sessions.over(now):
            # what happened to another one may have changed that
            if self._sessions.is_over(member_id, now):
                result = self._session_is_over(member_id, now) or result
        if self._join_timer.is_up(now):
            result = self._join_time_is_up(now) or result
        sync_ms = self._sync_deadline_ms
        if sync_ms is not None and sync_ms <= now.monotonic_ms:
            result = self._sync_time_is_up(now) or result
        return result

    def _session_is_over(self, member_id: str, now: Now) -> Decision | None:
        if member_id in self._sessions.promised:
            self._forget(member_id, now)
            # it was waited for; nobody else has heard of it
            if self.state == PREPARING:
                return self._complete_if_all_joined(now)
            return None
        member = self.members[member_id]
        silence = f"no heartbeat for {member.session_timeout_ms / 1000:.2f} s"
        self.remove(member_id, Reason("session_timeout", silence), now)
        why = f"{member.client_id} was silent"
        return self._after_removal(Event.SESSION_TIMEOUT, why, now)

    def _sync_time_is_up(self, now: Now) -> Decision | None:
        """Members that know the new generation and never asked for their assignment
        are out.
        """
        self._sync_deadline_ms = None
        late = list(self.unsynced)
        why = Reason("sync_timeout", "it never asked for its share")
        for member_id in late:
            self.remove(member_id, why, now)
        if not late:
            return None
        sentence = "a member never asked for its share"
        return self._prepare(Event.SYNC_TIMEOUT, sentence, now)

    # -- small things

    def _move(self, event: Event, why: str) -> None:
        """To the state that follows by the table."""
        was = self.state
        self.state = TRANSITIONS[was, event].next_state
        self._events.state_changed(was, self.state, Reason(event.value, why))


def _answer(waits: dict[str, Wait], member_id: str, answer: Answer) -> None:
    """Answer what a member waits for, if it does."""
    wait = waits.pop(member_id, None)
    if wait is not None:
        wait.finish(answer)
