"""Until when groups of the newer protocols wait for their members (KIP-848, KIP-1071,
KIP-932).
"""

from typing import NamedTuple

from minikafka.clock import Now
from minikafka.coordinators.member_timers import MemberTimers


class Member(NamedTuple):
    member_id: str
    must_revoke: bool = False
    rebalance_timeout_ms: int = 1000


def at(ms):
    return Now(monotonic_ms=ms, wall_ms=ms)


def test_a_member_is_silent_once_its_session_is_over_and_the_longest_silent_is_first():
    timers = MemberTimers()
    timers.renew("late", 100, at(10))
    timers.renew("early", 100, at(0))
    assert timers.next_deadline() == 100
    assert timers.silent(100, at(99)) == {}
    out = timers.silent(100, at(200))
    assert list(out) == ["early", "late"]
    assert {reason.code for reason in out.values()} == {"session_timeout"}
    assert str(out["early"]) == "no heartbeat for 0.10 s"


def test_a_heartbeat_does_not_prolong_the_time_to_revoke():
    member = Member("a", must_revoke=True)
    timers = MemberTimers()
    timers.renew("a", 5000, at(0))
    timers.begin_revocation(member, at(0))
    timers.renew("a", 5000, at(900))
    out = timers.late({"a": member}, "tasks", at(1000))
    assert str(out["a"]) == "it did not give up tasks within 1.00 s"


def test_who_has_given_up_what_it_must_is_not_late():
    timers = MemberTimers()
    timers.begin_revocation(Member("a", must_revoke=True), at(0))
    timers.follow("a", Member("a"))
    assert timers.late({}, "partitions", at(5000)) == {}
    assert timers.next_deadline() is None


def test_nobody_waits_for_a_member_that_is_out():
    timers = MemberTimers()
    timers.renew("a", 100, at(0))
    timers.begin_revocation(Member("a", must_revoke=True), at(0))
    timers.follow("a", None)
    assert timers.next_deadline() is None
