"""A classic consumer group: how its members agree on who reads what (KIP-62, KIP-345, KIP-394).

The coordinator does not assign. It gathers the members, chooses one of them as leader, lets that one assign, and hands
the result on. Everything that can go wrong is answered by doing it again:

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

A JoinGroup is held back until all members have sent one, or the rebalance timeout is over: who has not come by then
is out. That is the barrier behind which everybody stops reading. A member learns of it from its next heartbeat
(REBALANCE_IN_PROGRESS). The generation is the number of the agreement: a request with an old one is refused
(ILLEGAL_GENERATION), so a member that slept through a rebalance can't commit for a partition that is another's now.

Hard state is one record, GroupMetadata: generation, leader, protocol, members with their shares. It is written when the
leader has assigned, when a static member is replaced, and when the group is empty. All else is soft: a new coordinator
begins with the last agreement and full sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from minikafka.clock import Now
from minikafka.cluster.waiting import Answer
from minikafka.coordinators.classic_members import CONSUMER, Member, Members, subscribed_topics
from minikafka.coordinators.classic_records import group_metadata, restored, tell_assignment
from minikafka.coordinators.classic_states import COMPLETING, EMPTY, PREPARING, STABLE, TRANSITIONS
from minikafka.coordinators.runtime import Record
from minikafka.trace import Trace
from minikafka.wire.errors import Error
from minikafka.wire.schema import Message

JOIN_RETRY_MS = 100  # a group of absent static members is looked at no more often, whatever their rebalance timeout


class ClassicGroup:
    """One group. It changes by requests and by time (tick); records make it survive.

    new_member_id(prefix): a unique id. initial_delay_ms: how long an empty group waits for more members than the
    first. max_size: how many members it takes. live: not in a replay.
    """

    type = "classic"

    def __init__(
        self,
        group_id: str,
        initial_delay_ms: int,
        max_size: int,
        new_member_id: Callable[[str], str],
        trace: Trace,
        live: bool = True,
    ) -> None:
        self.group_id = group_id
        self.state = EMPTY
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.members = Members()
        self.topics: set[str] | None = None  # subscribed to, if that can be known
        self.empty_since_ms: int | None = None  # wall clock
        self._live = live
        self._initial_delay_ms = initial_delay_ms
        self.max_size = max_size
        self.new_member_id = new_member_id
        self._trace = trace
        self._join_deadline_ms: int | None = None
        self._initial_remaining_ms = 0  # of the time that an empty group may still wait
        self._gathering = False  # the rebalance began with an empty group: it waits for its delay, not for all
        self._newcomer = False  # somebody came during the initial delay
        self._sync_deadline_ms: int | None = None
        self._earliest_ms: int | None = None
        self._records: list[Record] = []

    @property
    def member_ids(self) -> list[str]:
        return list(self.members)

    @property
    def state_name(self) -> str:
        return self.state

    # -- time

    def next_deadline(self) -> int | None:
        return self._earliest_ms

    def tick(self, now: Now) -> Sequence[Record]:
        """Sessions that ended, ids never used, a rebalance or a sync that took too long."""
        now_ms = now.monotonic_ms
        for member_id, lapses_ms in list(self.members.pending.items()):
            if lapses_ms <= now_ms:
                self.members.remove(member_id)
                if self.state == PREPARING:  # it was waited for; nobody else has heard of it
                    self.complete_if_all_joined(now)
        for member in list(self.members.values()):
            if member.expires_ms <= now_ms and not member.waits:
                silent = f"no heartbeat for {member.session_timeout_ms / 1000:.2f} s"
                self.remove(member, silent)
                self.after_removal("session_timeout", f"{member.client_id} was silent", now)
        if self._join_deadline_ms is not None and self._join_deadline_ms <= now_ms:
            self._join_time_is_up(now)
        if self._sync_deadline_ms is not None and self._sync_deadline_ms <= now_ms:
            self._sync_time_is_up(now)
        deadlines = [self._join_deadline_ms, self._sync_deadline_ms, *self.members.pending.values()]
        deadlines += [member.expires_ms for member in self.members.values() if not member.waits]
        self._earliest_ms = min((at for at in deadlines if at is not None), default=None)
        return self.taken()

    # -- records

    def apply(self, name: str, key: Message, value: Message | None) -> None:
        """GroupMetadata: in a replay the group becomes what it says; live, the leader's assignment is safe now."""
        if value is None:
            return
        if self._live:
            if self.state == COMPLETING and value.generation == self.generation:
                self._hand_out({each.member_id: bytes(each.assignment) for each in value.members})
            return
        self.generation, self.protocol = value.generation, value.protocol
        self.protocol_type = value.protocol_type or None
        self.members = restored(value)
        self.state = STABLE if self.members else EMPTY
        self.empty_since_ms = value.current_state_timestamp if value.current_state_timestamp >= 0 else None
        self.topics = self._subscribed()

    def loaded(self, now: Now) -> None:
        """The replay is over: from here on requests come."""
        self._live = True
        for member in self.members.values():
            self.renew(member, now)
            self.arm(member.expires_ms)

    def tombstones(self) -> list[Record]:
        """What deletes the group from the log."""
        return [Record("GroupMetadata", {"group": self.group_id}, None)]

    def offsets_age_from(self, commit_ms: int) -> int | None:
        """From when on a committed offset gets old (KIP-211): not while members may come and go; from the moment when
        the last one left; for groups that never had any, from the commit.
        """
        if self.protocol_type is None or self.state == STABLE:
            return commit_ms
        if self.state == EMPTY:
            return commit_ms if self.empty_since_ms is None else self.empty_since_ms
        return None

    def subscribes_to(self, topic: str) -> bool:
        """Whether members read a topic. If their subscriptions can't be read: maybe, so yes."""
        return self.protocol_type == CONSUMER if self.topics is None else topic in self.topics

    # -- the rebalance

    def add(self, member: Member, why: str) -> None:
        """A new member waits for the next generation."""
        self._newcomer = True
        self.members.add(member)
        self.arm(member.expires_ms)
        if self._trace:
            self._trace.emit(
                "MemberJoined",
                group=self.group_id, member=member.member_id, client=member.client_id, instance=member.instance_id,
                why=why,
            )  # fmt: skip

    def remove(self, member: Member, why: str) -> None:
        """Out, whether it goes by itself or not. What it waits for is refused."""
        member.answer_join({"error_code": Error.UNKNOWN_MEMBER_ID, "member_id": ""})
        member.answer_sync({"error_code": Error.UNKNOWN_MEMBER_ID})
        self.members.remove(member.member_id)
        if self._trace:
            self._trace.emit(
                "MemberLeft", group=self.group_id, member=member.member_id, client=member.client_id, why=why
            )

    def joined(self, member: Member) -> Answer:
        """The answer to a JoinGroup. The leader also gets everybody's metadata, to assign by."""
        leads = member.member_id == self.members.leader
        everybody = [
            {
                "member_id": each.member_id,
                "group_instance_id": each.instance_id,
                "metadata": each.protocols[self.protocol or ""],
            }
            for each in (self.members.values() if leads else ())
        ]
        return {
            "error_code": Error.NONE,
            "generation_id": self.generation,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol,
            "leader": self.members.leader or "",
            "member_id": member.member_id,
            "members": everybody,
        }

    def prepare(self, event: str, why: str, now: Now) -> None:
        """Everybody must join again. An empty group gathers members for a while first (KIP-134)."""
        was_empty = self.state == EMPTY
        if self.state == COMPLETING:
            for member in self.members.values():
                member.assignment = b""
                member.answer_sync({"error_code": Error.REBALANCE_IN_PROGRESS})
        self.members.unsynced.clear()
        self._sync_deadline_ms = None
        self._gathering, self._newcomer = was_empty, False
        self._move(event, why)
        if self._trace:
            self._trace.emit("RebalanceStarted", group=self.group_id, generation=self.generation, why=why)
        timeout_ms = self.members.rebalance_timeout_ms
        if was_empty:
            self._initial_remaining_ms = max(timeout_ms - self._initial_delay_ms, 0)
        self._join_deadline_ms = now.monotonic_ms + (self._initial_delay_ms if was_empty else timeout_ms)
        self.arm(self._join_deadline_ms)
        self.complete_if_all_joined(now)

    def complete_if_all_joined(self, now: Now) -> None:
        if not self._gathering and self.members.all_joined:
            self._complete_join("all_joined", "all members have joined", now)

    def _join_time_is_up(self, now: Now) -> None:
        if self._gathering and self._newcomer and self._initial_remaining_ms > 0:
            self._newcomer = False
            delay_ms = min(self._initial_delay_ms, self._initial_remaining_ms)
            self._initial_remaining_ms -= delay_ms
            self._join_deadline_ms = now.monotonic_ms + delay_ms
        elif self._gathering:
            self._complete_join("all_joined", "it has waited for more members long enough", now)
        else:
            self._complete_join("rebalance_timeout", "the rebalance timeout is over", now)

    def _complete_join(self, event: str, why: str, now: Now) -> None:
        """The barrier opens: who did not come is out (a static member keeps its place), the next generation begins."""
        self._join_deadline_ms = None
        for member in [each for each in self.members.values() if each.joining is None and not each.is_static]:
            self.remove(member, "it did not join again in time")
        if not self.members.elect_joined_leader() and self.members:
            again_ms = max(self.members.rebalance_timeout_ms, JOIN_RETRY_MS)  # only absent static ones
            self._join_deadline_ms = now.monotonic_ms + again_ms
            self.arm(self._join_deadline_ms)
            return
        self.generation += 1
        self.members.unsynced.clear()
        if not self.members:
            self.protocol, self.topics, self.empty_since_ms = None, self._subscribed(), now.wall_ms
            self._move("nobody_joined", "no member is left")
            self._records.append(group_metadata(self, {}, now))
            return
        self.protocol = self.members.elect_protocol()
        self.topics = self._subscribed()
        self._move(event, why)
        if self._trace:
            absent = [each.member_id for each in self.members.values() if each.joining is None]  # static ones
            self._trace.emit(
                "GenerationBegan",
                group=self.group_id, generation=self.generation, leader=self.members.leader, protocol=self.protocol,
                members=list(self.members), absent=absent,
            )  # fmt: skip
        for member in self.members.values():
            member.is_new = False
            member.answer_join(self.joined(member))
            self.renew(member, now)
            self.members.unsynced[member.member_id] = None
        self._sync_deadline_ms = now.monotonic_ms + self.members.rebalance_timeout_ms
        self.arm(self._sync_deadline_ms)

    def _sync_time_is_up(self, now: Now) -> None:
        """Members that know the new generation and never asked for their share are out."""
        self._sync_deadline_ms = None
        late = list(self.members.unsynced)
        for member_id in late:
            self.remove(self.members[member_id], "it never asked for its share")
        if late:
            self.prepare("sync_timeout", "a member never asked for its share", now)

    def _hand_out(self, shares: Mapping[str, bytes]) -> None:
        """The leader's assignment is committed: everybody gets its share, nothing if the leader forgot it."""
        self._move("leader_assigned", "the leader has assigned")
        if self._trace:
            tell_assignment(self._trace, self, shares)
        for member in self.members.values():
            member.assignment = shares.get(member.member_id, b"")
            member.answer_sync(self.share(member))

    def share(self, member: Member) -> Answer:
        return {
            "error_code": Error.NONE,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol,
            "assignment": member.assignment,
        }

    def tell_replaced(self, former_id: str, member: Member) -> None:
        """A static member is another process now."""
        if self._trace:
            why, client = f"{member.instance_id} came back as another process", member.client_id
            self._trace.emit("MemberLeft", group=self.group_id, member=former_id, client=client, why=why)
            self._trace.emit(
                "MemberJoined",
                group=self.group_id, member=member.member_id, client=client, instance=member.instance_id, why=why,
            )  # fmt: skip

    def after_removal(self, event: str, why: str, now: Now) -> None:
        if self.state in (STABLE, COMPLETING):
            self.prepare(event, why, now)
        elif self.state == PREPARING:
            self.complete_if_all_joined(now)

    # -- small things

    def _move(self, event: str, why: str) -> None:
        was, self.state = self.state, TRANSITIONS[self.state, event].next_state
        if self._trace:
            self._trace.emit("GroupStateChanged", group=self.group_id, was=was, state=self.state, event=event, why=why)

    def renew(self, member: Member, now: Now) -> None:
        member.expires_ms = now.monotonic_ms + member.session_timeout_ms
        self.arm(member.expires_ms)

    def arm(self, deadline_ms: int) -> None:
        self._earliest_ms = deadline_ms if self._earliest_ms is None else min(self._earliest_ms, deadline_ms)

    def _subscribed(self) -> set[str] | None:
        if self.protocol_type != CONSUMER:
            return None
        return subscribed_topics(self.members, self.protocol or "")

    def taken(self) -> list[Record]:
        records, self._records = self._records, []
        return records
