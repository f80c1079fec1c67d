"""What lesson 23 tries with the groups of somebody's Kafka, its last stage.

Where time matters, the session is short and what we do in it is far shorter; and where
the machine was busy, it is we who were late, and nobody is blamed for that.
"""

import time
from typing import Any

from minikafka.course.judging import kafka_clients as clients
from minikafka.course.judging.kafka_answers import LAST, Wrong, same
from minikafka.course.judging.kafka_requests import (
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


def heartbeat(us: Connection, joined: Any, expected: int = 0, why: str = "") -> None:
    """Errors: Wrong, for another error code than expected."""
    answer = us.ask("Heartbeat", **member(joined))
    what = f"the error code of a Heartbeat{why and f' ({why})'}"
    same(what, answer.error_code, expected, LAST)


def one_member(trial: Trial) -> None:
    """It joins, joins again, and leaves; what it says of its old generation, or what a
    stranger says, counts for nothing.
    """
    us = with_orders(trial)
    me = join(us)
    same("the leader of a group of one", me.leader, me.member_id, LAST)
    listed = [bytes(each.metadata) for each in me.members]
    same("the metadata of the members", listed, [metadata("range")], LAST)
    sync(us, me, {me.member_id: b"both partitions"})
    heartbeat(us, me)
    commit(us, "billing", 1, **in_generation(me))
    committed(us, "billing")

    again = join(us, me.member_id)
    heartbeat(us, me, expected=Error.ILLEGAL_GENERATION)
    commit(us, "billing", 2, **in_generation(me))
    sync(us, me, {me.member_id: b"both partitions"})
    sync(us, again, {me.member_id: b"both partitions"})
    heartbeat(us, again)
    committed(us, "billing")

    stranger = in_generation(again) | {"member_id": "nobody"}
    commit(us, "billing", 3, **stranger)
    join(us, "nobody", receive=False)
    us.receive("a member id that nobody was ever given is refused: error 25")
    committed(us, "billing")

    us.ask("LeaveGroup", group_id="billing", member_id=me.member_id)
    heartbeat(us, again, expected=Error.UNKNOWN_MEMBER_ID)


def two_members(trial: Trial) -> None:
    """The second one comes while the first one is at work, and leaves again."""
    first, second = with_orders(trial), trial.connect()
    a = join(first)
    sync(first, a, {a.member_id: b"both"})

    join(second, receive=False)
    rebalancing(first, a, why="a second member has sent JoinGroup")
    join(first, a.member_id, receive=False)
    a, b = first.receive(_JOINED), second.receive(_JOINED)
    same("the second member's generation", b.generation_id, a.generation_id, LAST)

    leader = a if a.leader == a.member_id else b
    same("how many members the leader hears of", len(leader.members), 2)

    assigned = {a.member_id: b"partition 0", b.member_id: b"partition 1"}
    follower, of_follower = (second, b) if leader is a else (first, a)
    of_leader = first if leader is a else second
    sync(follower, of_follower, receive=False)
    sync(of_leader, leader, assigned)
    follower.receive(_SYNCED)

    for us, joined in ((first, a), (second, b)):
        heartbeat(us, joined)

    second.ask("LeaveGroup", group_id="billing", member_id=b.member_id)
    rebalancing(first, a, why="the other member has left")
    a = join(first, a.member_id)
    sync(first, a, {a.member_id: b"both"})


def rebalancing(us: Connection, joined: Any, why: str) -> None:
    """The news may take a moment: it came over another connection."""
    expected = Error.REBALANCE_IN_PROGRESS
    for _ in range(_LOOKS):
        if us.ask("Heartbeat", **member(joined)).error_code == expected:
            return
        time.sleep(_LOOK_SECONDS)
    heartbeat(us, joined, expected, why)


def common_protocol(trial: Trial) -> None:
    """Both members have range, only one has sticky; a third has neither."""
    first, second, third = with_orders(trial), trial.connect(), trial.connect()
    both = ["sticky", "range"]
    a = join(first, protocols=both)
    join(second, receive=False, protocols=["range"])
    rebalancing(first, a, why="a second member has sent JoinGroup")
    join(first, a.member_id, receive=False, protocols=both)
    a, b = first.receive(_JOINED), second.receive(_JOINED)
    leader = a if a.leader == a.member_id else b
    listed = [bytes(each.metadata) for each in leader.members]
    same("the members' metadata, for range", listed, 2 * [metadata("range")])

    join(third, receive=False, protocols=["roundrobin"])
    code = third.receive(
        "no protocol is common, and it is refused: error 23"
    ).error_code
    what = "the error code of a JoinGroup whose protocols the others lack"
    same(what, code, Error.INCONSISTENT_GROUP_PROTOCOL, LAST)
    heartbeat(first, a, why="one whose JoinGroup is refused is no newcomer")


def third_member(trial: Trial) -> None:
    """It comes when the second one waits in SyncGroup, for what the leader of a
    generation says that is over now.
    """
    first, second, third = with_orders(trial), trial.connect(), trial.connect()
    a = join(first)
    join(second, receive=False)
    rebalancing(first, a, why="a second member has sent JoinGroup")
    join(first, a.member_id, receive=False)
    a, b = first.receive(_JOINED), second.receive(_JOINED)
    waits, of_waits = (second, b) if a.leader == a.member_id else (first, a)
    sync(waits, of_waits, receive=False)
    has_time_to_be_wrong(third)

    join(third, receive=False)
    why = "a third member came before the leader's SyncGroup: all who wait hear 27"
    code = waits.receive(why).error_code
    what = f"the error code of a SyncGroup that waited ({why})"
    same(what, code, Error.REBALANCE_IN_PROGRESS, LAST)

    join(first, a.member_id, receive=False)
    join(second, b.member_id, receive=False)
    found = [us.receive(_JOINED) for us in (first, second, third)]
    heard = [len(each.members) for each in found if each.leader == each.member_id]
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
    sent = begin = time.monotonic()
    joined = join(us, session_timeout_ms=session_ms)
    sync(us, joined, {joined.member_id: b"both"})
    while time.monotonic() < begin + 2 * seconds:
        time.sleep(seconds / 5)
        before, sent = sent, time.monotonic()
        code = us.ask("Heartbeat", **member(joined)).error_code
        silence_ms = 1000 * (time.monotonic() - before)
        if code and silence_ms >= session_ms:
            return False
        if code:
            raise Wrong(
                f"the error code of a Heartbeat is {code}, and should be 0: it is at"
                f" most {silence_ms:.0f} ms since the one before, and each begins the"
                f" session of {session_ms} ms anew",
                LAST,
            )
    return True


def patient_member(trial: Trial) -> None:
    """It waits in JoinGroup and in SyncGroup for longer than its session."""
    first, second = with_orders(trial), trial.connect()
    a = join(first)
    sync(first, a, {a.member_id: b"both"})

    join(second, receive=False, session_timeout_ms=_PATIENT_MS)
    time.sleep(1.4 * _PATIENT_MS / 1000)
    join(first, a.member_id, receive=False)
    a, b = first.receive(_JOINED), second.receive(_JOINED)
    leader = a if a.leader == a.member_id else b
    what = (
        "how many members the leader hears of (one waited for its JoinGroup's answer)"
    )
    same(what, len(leader.members), 2)

    if leader is a:
        sync(second, b, receive=False)
        time.sleep(1.4 * _PATIENT_MS / 1000)
        sync(first, a, {a.member_id: b"partition 0", b.member_id: b"partition 1"})
        code = second.receive(_SYNCED).error_code
        same(f"the error code of a SyncGroup that waited ({_SYNCED})", code, 0, LAST)


def silent_member(trial: Trial) -> None:
    """Nobody says that it has gone."""
    first, second = with_orders(trial), trial.connect()
    a = join(first, session_timeout_ms=500)
    sync(first, a, {a.member_id: b"both"})

    join(second, receive=False)
    b = second.receive("the silent member's session of 500 ms is over, and it is out")
    same("the leader of those who are left", b.leader, b.member_id, LAST)
    heartbeat(first, a, expected=Error.UNKNOWN_MEMBER_ID, why="it was silent")


def confluent_member(trial: Trial) -> None:
    """With offsets of its group in the end."""
    clients.confluent_writes(trial, TOPIC, 5)
    clients.confluent_reads(trial, TOPIC, 5, group_id="billing")


def python_members(trial: Trial) -> None:
    """Alone, and then two at once."""
    with_orders(trial)
    clients.kafka_python_members(trial, TOPIC, 1)
    clients.kafka_python_members(trial, TOPIC, 2)
