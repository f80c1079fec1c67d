"""Lesson 23's tests of the groups of a learner's Kafka, its last stage.

Where time matters, the session is short and our steps in it are far shorter; if the
machine was busy we were late, and then nobody is blamed for that.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from minikafka.course.judging import kafka_clients as clients
from minikafka.course.judging.kafka_answers import LAST, Wrong, same
from minikafka.course.judging.kafka_requests import (
    GROUP,
    TOPIC,
    commit,
    committed,
    in_generation,
    join,
    member,
    metadata,
    sync,
    with_orders,
)
from minikafka.course.judging.kafka_scripts import has_time_to_be_wrong
from minikafka.course.judging.kafka_trial import Connection, Trial
from minikafka.wire.errors import Error

_LOOKS, _LOOK_SECONDS = 60, 0.05
_SESSIONS_MS = (1000, 5000, 25_000)  # the next one where we were late
_PATIENT_MS = 2500
_JOINED = "all members have sent JoinGroup; one that waits for its answer isn't silent"
_SYNCED = "the leader has sent SyncGroup; a member that waits for it isn't silent"


@dataclass
class Member:
    """One of ours. joined: the answer to its last JoinGroup; None before the first.
    Errors of what it does: Wrong.
    """

    us: Connection
    protocols: tuple[str, ...] = ("range",)
    session_timeout_ms: int = 30_000
    joined: Any = None

    @property
    def id(self) -> str:
        """Empty while nobody has given it one."""
        return "" if self.joined is None else self.joined.member_id

    @property
    def leads(self) -> bool:
        return bool(self.joined.leader == self.id)

    def asks_to_join(self) -> None:
        """Its answer is still to be heard."""
        self._join(receive=False)

    def hears_that_it_joined(self) -> None:
        self.joined = self.us.receive(_JOINED)

    def joins(self) -> None:
        """Where nobody else has to join for that."""
        self.joined = self._join()

    def _join(self, receive: bool = True) -> Any:
        return join(
            self.us,
            self.id,
            session_timeout_ms=self.session_timeout_ms,
            receive=receive,
            protocols=self.protocols,
        )

    def asks_for_its_assignment(self) -> None:
        """Send a SyncGroup without an assignment, as a follower does."""
        sync(self.us, self.joined, receive=False)

    def assigns(self, assigned: Mapping[str, bytes]) -> None:
        """Send the assignment as a leader does: member id -> its part."""
        sync(self.us, self.joined, assigned)

    def commits(self, offset: int) -> None:
        commit(self.us, GROUP, offset, **in_generation(self.joined))

    def beats(self, expected: int = Error.NONE, why: str = "") -> None:
        """It sends a Heartbeat, and is answered this error code."""
        answer = self.us.ask("Heartbeat", **member(self.joined))
        what = "the error code of a Heartbeat"
        if why:
            what = f"{what} ({why})"
        same(what, answer.error_code, expected, LAST)

    def hears_of_rebalance(self, why: str) -> None:
        """The news may take a moment: it came over another connection."""
        expected = Error.REBALANCE_IN_PROGRESS
        for _ in range(_LOOKS):
            answer = self.us.ask("Heartbeat", **member(self.joined))
            if answer.error_code == expected:
                return
            time.sleep(_LOOK_SECONDS)
        self.beats(expected, why)

    def leaves(self) -> None:
        self.us.ask("LeaveGroup", group_id=GROUP, member_id=self.id)


def is_at_work(first: Member) -> None:
    """Let a member join, and give itself everything, as the only one in its group."""
    first.joins()
    first.assigns({first.id: b"both"})


def second_joins(first: Member, second: Member) -> None:
    """The first member is told, and joins again: then both are in one generation."""
    second.asks_to_join()
    first.hears_of_rebalance(why="a second member has sent JoinGroup")
    first.asks_to_join()
    first.hears_that_it_joined()
    second.hears_that_it_joined()


def one_member(trial: Trial) -> None:
    """A member joins, joins again, and leaves; requests with its old generation, or
    from a stranger, have no effect.
    """
    us = with_orders(trial)
    me = Member(us)
    me.joins()
    same("the leader of a group of one", me.joined.leader, me.id, LAST)
    listed = [bytes(each.metadata) for each in me.joined.members]
    same("the metadata of the members", listed, [metadata("range")], LAST)
    assigned = {me.id: b"both partitions"}
    me.assigns(assigned)
    me.beats()
    me.commits(1)
    committed(us, GROUP)

    before = replace(me)  # what it was in its old generation
    me.joins()
    before.beats(expected=Error.ILLEGAL_GENERATION)
    before.commits(2)
    before.assigns(assigned)
    me.assigns(assigned)
    me.beats()
    committed(us, GROUP)

    stranger = in_generation(me.joined) | {"member_id": "nobody"}
    commit(us, GROUP, 3, **stranger)
    join(us, "nobody", receive=False)
    us.receive("a member id that nobody was ever given is refused: error 25")
    committed(us, GROUP)

    me.leaves()
    me.beats(expected=Error.UNKNOWN_MEMBER_ID)


def two_members(trial: Trial) -> None:
    """The second one comes while the first one is at work, and leaves again."""
    first = Member(with_orders(trial))
    second = Member(trial.connect())
    is_at_work(first)
    second_joins(first, second)
    same(
        "the second member's generation",
        second.joined.generation_id,
        first.joined.generation_id,
        LAST,
    )

    leader, follower = in_their_roles(first, second)
    hears_of(leader, 2)
    follower.asks_for_its_assignment()
    leader.assigns({first.id: b"partition 0", second.id: b"partition 1"})
    follower.us.receive(_SYNCED)
    first.beats()
    second.beats()

    second.leaves()
    first.hears_of_rebalance(why="the other member has left")
    is_at_work(first)


def in_their_roles(first: Member, second: Member) -> tuple[Member, Member]:
    """The leader, and the follower."""
    if first.leads:
        return first, second
    return second, first


def hears_of(leader: Member, count: int, why: str = "") -> None:
    """All members are in the answer to the leader's JoinGroup."""
    what = "how many members the leader hears of"
    if why:
        what = f"{what} ({why})"
    same(what, len(leader.joined.members), count)


def common_protocol(trial: Trial) -> None:
    """Both members have range, only one has sticky; a third has neither."""
    first = Member(with_orders(trial), protocols=("sticky", "range"))
    second = Member(trial.connect())
    third = Member(trial.connect(), protocols=("roundrobin",))
    first.joins()
    second_joins(first, second)
    leader, _ = in_their_roles(first, second)
    listed = [bytes(each.metadata) for each in leader.joined.members]
    same("the members' metadata, for range", listed, 2 * [metadata("range")])

    third.asks_to_join()
    answer = third.us.receive("no protocol is common, and it is refused: error 23")
    what = "the error code of a JoinGroup whose protocols the others lack"
    same(what, answer.error_code, Error.INCONSISTENT_GROUP_PROTOCOL, LAST)
    first.beats(why="one whose JoinGroup is refused is no newcomer")


def third_member(trial: Trial) -> None:
    """It comes when the second one waits in SyncGroup, for what the leader of a
    generation says that is over now.
    """
    first = Member(with_orders(trial))
    second = Member(trial.connect())
    third = Member(trial.connect())
    first.joins()
    second_joins(first, second)
    _, follower = in_their_roles(first, second)
    follower.asks_for_its_assignment()
    has_time_to_be_wrong(third.us)

    third.asks_to_join()
    why = "a third member came before the leader's SyncGroup: all who wait hear 27"
    answer = follower.us.receive(why)
    what = f"the error code of a SyncGroup that waited ({why})"
    same(what, answer.error_code, Error.REBALANCE_IN_PROGRESS, LAST)

    first.asks_to_join()
    second.asks_to_join()
    for each in (first, second, third):
        each.hears_that_it_joined()
    heard = [len(each.joined.members) for each in (first, second, third) if each.leads]
    same("how many members the leader hears of", heard, [3])


def beating_member(trial: Trial) -> None:
    """For longer than its session it says nothing but Heartbeat."""
    us = with_orders(trial)
    for session_ms in _SESSIONS_MS:
        if stays_in(us, session_ms):
            return


def stays_in(us: Connection, session_ms: int) -> bool:
    """False: we were late, so that we can't know. Errors: Wrong.

    It is heard after we send, and answered before we receive. If less than a session
    lies between a sending and the answer after it, it was never silent for one.
    """
    seconds = session_ms / 1000
    begin = time.monotonic()
    sent = begin
    me = Member(us, session_timeout_ms=session_ms)
    is_at_work(me)
    while time.monotonic() < begin + 2 * seconds:
        time.sleep(seconds / 5)
        before = sent
        sent = time.monotonic()
        answer = us.ask("Heartbeat", **member(me.joined))
        silence_ms = 1000 * (time.monotonic() - before)
        if not answer.error_code:
            continue
        if silence_ms >= session_ms:
            return False
        raise Wrong(
            f"the error code of a Heartbeat is {answer.error_code}, and should be 0: it"
            f" is at most {silence_ms:.0f} ms since the one before, and each begins the"
            f" session of {session_ms} ms anew",
            LAST,
        )
    return True


def patient_member(trial: Trial) -> None:
    """It waits in JoinGroup and in SyncGroup for longer than its session."""
    first = Member(with_orders(trial))
    second = Member(trial.connect(), session_timeout_ms=_PATIENT_MS)
    is_at_work(first)

    second.asks_to_join()
    time.sleep(1.4 * _PATIENT_MS / 1000)
    first.asks_to_join()
    first.hears_that_it_joined()
    second.hears_that_it_joined()
    leader, follower = in_their_roles(first, second)
    hears_of(leader, 2, why="one waited for its JoinGroup's answer")

    if follower is second:  # the patient one
        follower.asks_for_its_assignment()
        time.sleep(1.4 * _PATIENT_MS / 1000)
        leader.assigns({first.id: b"partition 0", second.id: b"partition 1"})
        answer = follower.us.receive(_SYNCED)
        what = f"the error code of a SyncGroup that waited ({_SYNCED})"
        same(what, answer.error_code, Error.NONE, LAST)


def silent_member(trial: Trial) -> None:
    """Nobody says that it has gone."""
    first = Member(with_orders(trial), session_timeout_ms=500)
    second = Member(trial.connect())
    is_at_work(first)

    second.asks_to_join()
    second.joined = second.us.receive(
        "the silent member's session of 500 ms is over, and it is out"
    )
    same("the leader of those who are left", second.joined.leader, second.id, LAST)
    first.beats(expected=Error.UNKNOWN_MEMBER_ID, why="it was silent")


def confluent_member(trial: Trial) -> None:
    """With offsets of its group in the end."""
    clients.confluent_writes(trial, TOPIC, 5)
    clients.confluent_reads(trial, TOPIC, 5, group_id=GROUP)


def python_members(trial: Trial) -> None:
    """Alone, and then two at once."""
    with_orders(trial)
    clients.kafka_python_members(trial, TOPIC, 1)
    clients.kafka_python_members(trial, TOPIC, 2)
