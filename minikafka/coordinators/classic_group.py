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

Hard state is one record, GroupMetadata: generation, leader, protocol, members with
their shares. It is written when the leader has assigned, when a static member is
replaced, and when the group is empty. All else is soft: a new coordinator begins with
the last agreement and full sessions.

The first half of the class decides (runtime.py): what a request means, without changing
anything. The second half changes the group, once it is decided, and once the records
are committed if there are any.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from minikafka.clock import Now, soonest
from minikafka.cluster.waiting import Answer, Deadlines, Wait
from minikafka.coordinators import classic_state
from minikafka.coordinators.classic_state import (
    COMPLETING,
    CONSUMER,
    EMPTY,
    PREPARING,
    STABLE,
    ClassicMember,
    Members,
)
from minikafka.coordinators.runtime import CoordinatorRecord, Decision
from minikafka.trace import Reason, Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

# how long a new member may wait for its first answer (KAFKA-7610)
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
# a group of absent static members is looked at no more often, whatever their rebalance
# timeout
JOIN_RETRY_MS = 100


@dataclass(eq=False, repr=False)
class ClassicGroup:
    """One group. members: what they said of themselves. shares: what the leader
    assigned to each of them. joining, syncing: their requests that wait for the others.
    unsynced: who knows the new generation and has not asked for its share. topics:
    subscribed to, None if that can't be known. empty_since_ms: wall clock.

    new_member_id(prefix): a unique id. initial_delay_ms: how long an empty group waits
    for more members than the first. max_size: how many members it takes.
    """

    type = "classic"

    group_id: str
    _initial_delay_ms: int
    _max_size: int
    _new_member_id: Callable[[str], str]
    _trace: Trace
    state: str = EMPTY
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    members: Members = field(default_factory=Members)
    shares: Mapping[str, bytes] = field(default_factory=dict)
    topics: set[str] | None = None
    empty_since_ms: int | None = None
    joining: dict[str, Wait] = field(default_factory=dict)
    syncing: dict[str, Wait] = field(default_factory=dict)
    unsynced: dict[str, None] = field(default_factory=dict)
    # ids handed out with MEMBER_ID_REQUIRED, not used yet (KIP-394)
    _promised: set[str] = field(default_factory=set)
    # members that never got an answer to a JoinGroup
    _new: set[str] = field(default_factory=set)
    # of members, and of promised ids
    _sessions: Deadlines[str] = field(default_factory=Deadlines)
    _join_deadline_ms: int | None = None
    _sync_deadline_ms: int | None = None
    # the rebalance began with an empty group: it waits for its delay, not for all
    _gathering: bool = False
    _newcomer: bool = False  # somebody came during the initial delay
    _initial_remaining_ms: int = 0  # of the time that an empty group may still wait

    @property
    def member_ids(self) -> list[str]:
        return list(self.members)

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
        """JoinGroup. client: (client id, host). From version 4 on a new member is given
        its id, and asked to come again with it (KIP-394).
        """
        member_id, instance_id = request.member_id, request.group_instance_id
        if not self._has_room(member_id):
            refused = {
                "error_code": Error.GROUP_MAX_SIZE_REACHED,
                "member_id": member_id,
            }
            return Decision((), refused, partial(self._forget, member_id))
        if not self._supports(request):
            raise KafkaError(Error.INCONSISTENT_GROUP_PROTOCOL)
        former_id = self.members.static_member_id(instance_id)
        if member_id == "" and former_id is not None:
            return self._come_back(wait, former_id, request, version, now)
        if member_id == "" and instance_id is None and version >= 4:
            promised = self._new_member_id(client[0])
            answer = {"error_code": Error.MEMBER_ID_REQUIRED, "member_id": promised}
            return Decision(
                (), answer, partial(self._promise, promised, request.session_timeout_ms)
            )
        if member_id in self._promised and instance_id is not None:
            why = "A member id was handed out to a dynamic member, not to a static."
            raise KafkaError(Error.UNKNOWN_SERVER_ERROR, why)
        if member_id == "" or member_id in self._promised:
            new_id = member_id or self._new_member_id(instance_id or client[0])
            member = ClassicMember(new_id, instance_id, *client).joining_with(request)
            return Decision(change=partial(self._add, wait, member, request))
        return self._join_again(
            wait, self.members.check(member_id, instance_id), request
        )

    def _has_room(self, member_id: str) -> bool:
        """Whether it may join (group.max.size). During a rebalance those count who have
        joined it.
        """
        if self.state == PREPARING:
            return member_id in self.joining or len(self.joining) < self._max_size
        return (
            self.state == EMPTY
            or member_id in self.members
            or len(self.members) < self._max_size
        )

    def _supports(self, request: Message) -> bool:
        """Whether the member could agree with the others on a protocol."""
        names = [each.name for each in request.protocols]
        if self.state == EMPTY:
            return bool(request.protocol_type and names)
        return request.protocol_type == self.protocol_type and self.members.support(
            names
        )

    def _come_back(
        self, wait: Wait, former_id: str, request: Message, version: int, now: Now
    ) -> Decision:
        """A static member came back as a new process (KIP-345). While the group is
        stable and still agrees on the same protocol it simply goes on with the same
        share, and nobody else notices.
        """
        member_id = self._new_member_id(request.group_instance_id)
        member = replace(
            self.members[former_id].joining_with(request), member_id=member_id
        )
        members = self.members.replaced(former_id, member)
        shares = {
            member_id if each == former_id else each: share
            for each, share in self.shares.items()
        }
        if self.state != STABLE or members.elect_protocol() != self.protocol:
            return Decision(
                change=partial(self._replace_and_join, wait, former_id, member)
            )
        answer = self._joined(member_id, members)
        if version >= 9:
            answer["skip_assignment"] = member_id == members.leader  # KIP-814
        else:  # a leader can't be told not to assign: it isn't told that it leads
            answer |= {"leader": self.members.leader or "", "members": []}
        record = classic_state.group_metadata(self, members, shares, now)
        return Decision([record], answer, partial(self._replace, former_id, member))

    def _join_again(
        self, wait: Wait, member: ClassicMember, request: Message
    ) -> Decision:
        """A member of before. If it says nothing new, and needn't lead, it missed the
        answer: here it is again.
        """
        asks = member.joining_with(request)
        unchanged = asks.protocols == member.protocols
        leads = member.member_id == self.members.leader
        if unchanged and (
            self.state == COMPLETING or (self.state == STABLE and not leads)
        ):
            return Decision(answer=self._joined(member.member_id, self.members))
        if self.state == EMPTY:
            raise KafkaError(Error.UNKNOWN_MEMBER_ID)
        what = "which leads" if leads and unchanged else "whose subscription changed"
        why = f"{member.client_id}, {what}, joins again"
        return Decision(change=partial(self._wait_to_join, wait, asks, why))

    def _joined(self, member_id: str, members: Members) -> Answer:
        """The answer to a JoinGroup. The leader also gets everybody's metadata, to
        assign by.
        """
        protocol = self.protocol or ""
        everybody = [
            {
                "member_id": each.member_id,
                "group_instance_id": each.instance_id,
                "metadata": each.protocols[protocol],
            }
            for each in (members.values() if member_id == members.leader else ())
        ]
        return {
            "generation_id": self.generation,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol,
            "leader": members.leader or "",
            "member_id": member_id,
            "members": everybody,
        }

    # -- decide: other requests, and time

    def sync(self, wait: Wait, request: Message, now: Now) -> Decision:
        """SyncGroup. The leader brings the assignment; the others wait until it is
        committed.
        """
        member_id = self._check(request).member_id
        for asked, ours in (
            (request.protocol_type, self.protocol_type),
            (request.protocol_name, self.protocol),
        ):
            if asked is not None and ours is not None and asked != ours:
                raise KafkaError(Error.INCONSISTENT_GROUP_PROTOCOL)
        if self.state == PREPARING:
            raise KafkaError(Error.REBALANCE_IN_PROGRESS)
        if self.state == STABLE:
            share = self._share(self.shares.get(member_id, b""))
            return Decision((), share, lambda now: self.unsynced.pop(member_id, None))
        if member_id != self.members.leader:
            return Decision(change=partial(self._await_share, wait, member_id))
        shares = {
            each.member_id: bytes(each.assignment) for each in request.assignments
        }
        record = classic_state.group_metadata(self, self.members, shares, now)
        answer = self._share(shares.get(member_id, b""))
        return Decision(
            [record], answer, partial(self._hand_out, shares), self._could_not_assign
        )

    def _share(self, share: bytes) -> Answer:
        return {
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol,
            "assignment": share,
        }

    def heartbeat(self, request: Message) -> Decision:
        """Heartbeat: the member lives, and learns whether it must join again."""
        member_id = self._check(request).member_id
        error = Error.REBALANCE_IN_PROGRESS if self.state == PREPARING else Error.NONE
        return Decision((), {"error_code": error}, partial(self.heard, member_id))

    def leave(self, leaving: Sequence[tuple[str, str | None, str | None]]) -> Decision:
        """LeaveGroup of (member id, instance id, reason) each; a static one may be
        named by its instance id alone.
        """
        results = []
        left: dict[str, Reason] = {}
        for member_id, instance_id, reason in leaving:
            result = {
                "member_id": member_id,
                "group_instance_id": instance_id,
                "error_code": Error.NONE,
            }
            results.append(result)
            try:
                named = member_id or self.members.static_member_id(instance_id) or ""
                if named in left:
                    raise KafkaError(Error.UNKNOWN_MEMBER_ID)
                if named not in self._promised:
                    self.members.check(named, instance_id)
                why = f"it left: {reason}" if reason else "it said goodbye"
                left[named] = Reason("goodbye", why)
            except KafkaError as error:
                result["error_code"] = error.error
        answer = {"members": results, "error_code": Error.NONE}
        return Decision((), answer, partial(self._leave, left) if left else None)

    def check_commit(self, request: Message, version: int, transactional: bool) -> None:
        """Whether an OffsetCommit counts. One without generation is of somebody who is
        no member (an admin tool, a consumer that assigns partitions by hand): only an
        empty group accepts it. One of a producer may say who the member is, and is
        accepted without (KIP-447). Errors: UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION,
        FENCED_INSTANCE_ID, REBALANCE_IN_PROGRESS.
        """
        member_id, instance_id = request.member_id, request.group_instance_id
        generation = request.generation_id_or_member_epoch
        if generation < 0 and self.state == EMPTY:
            return
        if generation < 0 and member_id == "" and instance_id is None:
            if transactional:
                return
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
            self._sessions.next(), self._join_deadline_ms, self._sync_deadline_ms
        )

    def tombstones(self) -> list[CoordinatorRecord]:
        """What deletes the group from the log."""
        return [CoordinatorRecord("GroupMetadata", {"group": self.group_id}, None)]

    def _check(self, request: Message) -> ClassicMember:
        """Who asks, if it is a member, and of this generation."""
        member = self.members.check(request.member_id, request.group_instance_id)
        if request.generation_id != self.generation:
            raise KafkaError(Error.ILLEGAL_GENERATION)
        return member

    # -- questions of others

    def describe(self) -> Answer:
        return classic_state.describe(self)

    def offsets_age_from(self, commit_ms: int) -> int | None:
        """From when on a committed offset gets old (KIP-211): not while members may
        come and go; from the moment when the last one left; for groups that never had
        any, from the commit.
        """
        if self.protocol_type is None or self.state == STABLE:
            return commit_ms
        if self.state == EMPTY:
            return commit_ms if self.empty_since_ms is None else self.empty_since_ms
        return None

    def subscribes_to(self, topic: str) -> bool:
        """Whether members read a topic. If their subscriptions can't be read: maybe, so
        yes.
        """
        return (
            self.protocol_type == CONSUMER
            if self.topics is None
            else topic in self.topics
        )

    # -- change: a replay

    def restore(self, value: Message) -> None:
        """In a replay the group becomes what its GroupMetadata says."""
        self.generation, self.protocol = value.generation, value.protocol
        self.protocol_type = value.protocol_type or None
        self.members = classic_state.restored(value)
        self.shares = {each.member_id: bytes(each.assignment) for each in value.members}
        self.state = STABLE if self.members else EMPTY
        self.empty_since_ms = (
            value.current_state_timestamp
            if value.current_state_timestamp >= 0
            else None
        )
        self.topics = self._subscribed()

    def loaded(self, now: Now) -> None:
        """The replay is over: every member gets a full session."""
        for member_id in self.members:
            self.heard(member_id, now)

    # -- change: members come and go

    def heard(self, member_id: str, now: Now) -> None:
        """A member is alive: its session begins anew. It has none while it waits for
        the others, as it can't send heartbeats then; but a new one is not waited for
        for ever.
        """
        if member_id in self.members and member_id not in self._new:
            waits = member_id in self.joining or member_id in self.syncing
            ends_ms = now.monotonic_ms + self.members[member_id].session_timeout_ms
            self._sessions.set(member_id, None if waits else ends_ms)

    def _promise(self, member_id: str, session_timeout_ms: int, now: Now) -> None:
        """A member that dies between its two requests is not waited for longer than a
        session.
        """
        self._promised.add(member_id)
        self._sessions.set(member_id, now.monotonic_ms + session_timeout_ms)

    def _add(
        self, wait: Wait, member: ClassicMember, request: Message, now: Now
    ) -> Decision | None:
        """A new member waits for the next generation."""
        if not self.members:
            self.protocol_type = request.protocol_type
        self._newcomer = True
        self._promised.discard(member.member_id)
        self._new.add(member.member_id)
        self._sessions.set(
            member.member_id, now.monotonic_ms + NEW_MEMBER_JOIN_TIMEOUT_MS
        )
        self._tell_joined(member, Reason("new", request.reason or "it is new"))
        return self._wait_to_join(wait, member, f"{member.client_id} joins", now)

    def _replace(self, former_id: str, member: ClassicMember, now: Now) -> None:
        """A static member is another process now. The former one is fenced."""
        why = Reason(
            "static_member_replaced",
            f"{member.instance_id} came back as another process",
        )
        self._end(
            self.joining,
            former_id,
            {"error_code": Error.FENCED_INSTANCE_ID, "member_id": former_id},
        )
        self._end(self.syncing, former_id, {"error_code": Error.FENCED_INSTANCE_ID})
        self.members = self.members.replaced(former_id, member)
        self.shares = {
            member.member_id if each == former_id else each: part
            for each, part in self.shares.items()
        }
        self._forget(former_id, now)
        self._tell_left(former_id, member.client_id, why)
        self._tell_joined(member, why)
        self.heard(member.member_id, now)

    def _replace_and_join(
        self, wait: Wait, former_id: str, member: ClassicMember, now: Now
    ) -> Decision | None:
        self._replace(former_id, member, now)
        return self._wait_to_join(
            wait, member, f"static member {member.instance_id} is back", now
        )

    def _wait_to_join(
        self, wait: Wait, member: ClassicMember, why: str, now: Now
    ) -> Decision | None:
        """A member, as it describes itself now, waits behind the barrier; if there is
        none yet, it goes up.
        """
        member_id = member.member_id
        self.members.put(member)
        self._end(
            self.joining,
            member_id,
            {"error_code": Error.UNKNOWN_MEMBER_ID, "member_id": member_id},
        )
        self.joining[member_id] = wait
        self.heard(member_id, now)
        if self.state == PREPARING:
            return self._complete_if_all_joined(now)
        return self._prepare(Reason("member_joins", why), now)

    def _leave(self, left: Mapping[str, Reason], now: Now) -> Decision | None:
        names = [
            self.members[each].client_id if each in self.members else each
            for each in left
        ]
        for member_id, why in left.items():
            self.remove(member_id, why, now)
        return self._after_removal(
            Reason("member_leaves", f"{', '.join(names)} left"), now
        )

    def remove(self, member_id: str, why: Reason, now: Now) -> None:
        """Out, whether it goes by itself or not. What it waits for is refused."""
        self._end(
            self.joining,
            member_id,
            {"error_code": Error.UNKNOWN_MEMBER_ID, "member_id": ""},
        )
        self._end(self.syncing, member_id, {"error_code": Error.UNKNOWN_MEMBER_ID})
        if member_id in self.members:  # of a promised id nobody else has heard
            self._tell_left(member_id, self.members[member_id].client_id, why)
        self._forget(member_id, now)

    def _forget(self, member_id: str, now: Now) -> None:
        self.members.remove(member_id)
        self.unsynced.pop(member_id, None)
        self._promised.discard(member_id)
        self._new.discard(member_id)
        self._sessions.set(member_id, None)

    def _after_removal(self, why: Reason, now: Now) -> Decision | None:
        if self.state in (STABLE, COMPLETING):
            return self._prepare(why, now)
        return self._complete_if_all_joined(now) if self.state == PREPARING else None

    # -- change: the rebalance

    def _prepare(self, why: Reason, now: Now) -> Decision | None:
        """Everybody must join again. An empty group gathers members for a while first
        (KIP-134).
        """
        was_empty = self.state == EMPTY
        if self.state == COMPLETING:
            self.shares = {}
            self._end_syncs({"error_code": Error.REBALANCE_IN_PROGRESS}, now)
        self.unsynced.clear()
        self._sync_deadline_ms = None
        self._gathering, self._newcomer = was_empty, False
        self._move(why)
        if self._trace:
            self._trace.emit(
                "RebalanceStarted",
                group=self.group_id,
                generation=self.generation,
                why=why,
            )
        timeout_ms = self.members.rebalance_timeout_ms
        if was_empty:
            self._initial_remaining_ms = max(timeout_ms - self._initial_delay_ms, 0)
        self._join_deadline_ms = now.monotonic_ms + (
            self._initial_delay_ms if was_empty else timeout_ms
        )
        return self._complete_if_all_joined(now)

    def _complete_if_all_joined(self, now: Now) -> Decision | None:
        if self._gathering or not self._all_joined:
            return None
        return self._complete_join(Reason("all_joined", "all members have joined"), now)

    @property
    def _all_joined(self) -> bool:
        """Whether every member asked to join, those who were only given an id
        included.
        """
        return not self._promised and len(self.joining) == len(self.members)

    def _join_time_is_up(self, now: Now) -> Decision | None:
        if self._gathering and self._newcomer and self._initial_remaining_ms > 0:
            self._newcomer = False
            delay_ms = min(self._initial_delay_ms, self._initial_remaining_ms)
            self._initial_remaining_ms -= delay_ms
            self._join_deadline_ms = now.monotonic_ms + delay_ms
            return None
        if self._gathering:
            return self._complete_join(
                Reason("all_joined", "it has waited for more members long enough"), now
            )
        return self._complete_join(
            Reason("rebalance_timeout", "the rebalance timeout is over"), now
        )

    def _complete_join(self, why: Reason, now: Now) -> Decision | None:
        """The barrier opens: who did not come is out (a static member keeps its place),
        the next generation begins.
        """
        self._join_deadline_ms = None
        for member in [
            each for each in self.members.values() if each.member_id not in self.joining
        ]:
            if member.instance_id is None:
                self.remove(
                    member.member_id,
                    Reason("rebalance_timeout", "it did not join again in time"),
                    now,
                )
        self.unsynced.clear()
        if not self.members:
            become_empty = partial(self._become_empty, self.generation + 1)
            record = classic_state.empty_group_metadata(self, self.generation + 1, now)
            # written or not
            return Decision(
                [record], None, become_empty, lambda _, now: become_empty(now)
            )
        if not self.members.elect_leader(self.joining):  # only absent static ones
            self._join_deadline_ms = now.monotonic_ms + max(
                self.members.rebalance_timeout_ms, JOIN_RETRY_MS
            )
            return None
        self.generation += 1
        self.protocol = self.members.elect_protocol()
        self.topics = self._subscribed()
        self._move(why)
        if self._trace:
            # static ones
            absent = [each for each in self.members if each not in self.joining]
            self._trace.emit(
                "GenerationBegan",
                group=self.group_id,
                generation=self.generation,
                leader=self.members.leader,
                protocol=self.protocol,
                members=list(self.members),
                absent=absent,
            )
        self._new.clear()
        for member_id in self.members:
            if member_id in self.joining:
                self._end(
                    self.joining, member_id, self._joined(member_id, self.members)
                )
            self.heard(member_id, now)
            self.unsynced[member_id] = None
        self._sync_deadline_ms = now.monotonic_ms + self.members.rebalance_timeout_ms
        return None

    def _become_empty(self, generation: int, now: Now) -> None:
        self.generation, self.protocol, self.empty_since_ms = (
            generation,
            None,
            now.wall_ms,
        )
        self.topics = self._subscribed()
        self._move(Reason("nobody_joined", "no member is left"))

    def _await_share(self, wait: Wait, member_id: str, now: Now) -> None:
        # a connection ago
        self._end(self.syncing, member_id, {"error_code": Error.UNKNOWN_MEMBER_ID})
        self.syncing[member_id] = wait
        self.unsynced.pop(member_id, None)
        self.heard(member_id, now)

    def _hand_out(self, shares: Mapping[str, bytes], now: Now) -> None:
        """The leader's assignment is committed: everybody gets its share, nothing if
        the leader forgot it.
        """
        self.shares = shares
        self._move(Reason("leader_assigned", "the leader has assigned"))
        if self._trace:
            classic_state.tell_assignment(self._trace, self)
        for member_id in self.members:
            if member_id in self.syncing:
                self._end(
                    self.syncing, member_id, self._share(shares.get(member_id, b""))
                )
                self.heard(member_id, now)
        self.unsynced.pop(self.members.leader or "", None)
        self.heard(self.members.leader or "", now)

    def _could_not_assign(self, error: KafkaError, now: Now) -> None:
        """The leader's assignment is not in the log, maybe never will be: all who wait
        for a share start over.
        """
        self._end_syncs({"error_code": error.error}, now)
        self._prepare(
            Reason("assignment_lost", "the assignment could not be written"), now
        )

    def _end_syncs(self, answer: Answer, now: Now) -> None:
        for member_id in list(self.syncing):
            self._end(self.syncing, member_id, answer)
            self.heard(member_id, now)

    # -- change: time

    def _time_passed(self, now: Now) -> Decision | None:
        """Sessions that ended, ids never used, a rebalance or a sync that took too
        long.
        """
        result = None
        for member_id in self._sessions.overdue(now.monotonic_ms):
            if not self._sessions.is_overdue(member_id, now.monotonic_ms):
                continue  # what happened to another one changed that
            if member_id in self._promised:
                self._forget(member_id, now)
                # it was waited for; nobody else has heard of it
                if self.state == PREPARING:
                    result = self._complete_if_all_joined(now) or result
                continue
            member = self.members[member_id]
            silent = f"no heartbeat for {member.session_timeout_ms / 1000:.2f} s"
            self.remove(member_id, Reason("session_timeout", silent), now)
            why = Reason("session_timeout", f"{member.client_id} was silent")
            result = self._after_removal(why, now) or result
        if (
            self._join_deadline_ms is not None
            and self._join_deadline_ms <= now.monotonic_ms
        ):
            result = self._join_time_is_up(now) or result
        if (
            self._sync_deadline_ms is not None
            and self._sync_deadline_ms <= now.monotonic_ms
        ):
            result = self._sync_time_is_up(now) or result
        return result

    def _sync_time_is_up(self, now: Now) -> Decision | None:
        """Members that know the new generation and never asked for their share are
        out.
        """
        self._sync_deadline_ms = None
        late = list(self.unsynced)
        why = Reason("sync_timeout", "it never asked for its share")
        for member_id in late:
            self.remove(member_id, why, now)
        if not late:
            return None
        why = Reason("sync_timeout", "a member never asked for its share")
        return self._prepare(why, now)

    # -- small things

    def _end(self, waits: dict[str, Wait], member_id: str, answer: Answer) -> None:
        """Answer what a member waits for, if it does."""
        wait = waits.pop(member_id, None)
        if wait is not None:
            wait.finish(answer)

    def _move(self, why: Reason) -> None:
        """why: its code is the event that moves the group."""
        was = self.state
        self.state = classic_state.TRANSITIONS[was, why.code].next_state
        if self._trace:
            states = {"was": was, "state": self.state}
            self._tell("GroupStateChanged", **states, why=why)

    def _tell_joined(self, member: ClassicMember, why: Reason) -> None:
        if self._trace:
            who = {"member": member.member_id, "client": member.client_id}
            self._tell("MemberJoined", **who, instance=member.instance_id, why=why)

    def _tell_left(self, member_id: str, client_id: str, why: Reason) -> None:
        if self._trace:
            self._tell("MemberLeft", member=member_id, client=client_id, why=why)

    def _tell(self, kind: str, **detail: Any) -> None:
        self._trace.emit(kind, group=self.group_id, **detail)

    def _subscribed(self) -> set[str] | None:
        if self.protocol_type != CONSUMER:
            return None
        return classic_state.subscribed_topics(self.members, self.protocol or "")
