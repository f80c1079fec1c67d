"""Until when a group of the consumer, the streams or the share protocol waits for its
members: for a sign of life of each, and for those that have something to give up.

Both are soft state. A new coordinator begins with full sessions, and with the full time
to revoke. A classic group waits in other ways: classic_timers.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from minikafka.clock import Now, soonest
from minikafka.cluster.waiting import Deadlines
from minikafka.trace import Reason


class Member(Protocol):
    """One that others may have to wait for."""

    @property
    def member_id(self) -> str:
        """Its id."""

    @property
    def must_revoke(self) -> bool:
        """Whether it has something to give up that others wait for."""

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long it may take to give it up."""


@dataclass(eq=False, repr=False)
class MemberTimers:
    """A session of each member, ended by silence; and a deadline of each that must
    revoke. Members of a share group have nothing to revoke.
    """

    _sessions: Deadlines[str] = field(default_factory=Deadlines)
    _revocations: Deadlines[str] = field(default_factory=Deadlines)

    def renew(self, member_id: str, session_timeout_ms: int, now: Now) -> None:
        """A member is alive: its session begins anew."""
        self._sessions.set(member_id, now.monotonic_ms + session_timeout_ms)

    def begin_revocation(self, member: Member, now: Now) -> None:
        """A member was told what it has now. If it must give something up, it has its
        rebalance timeout for that.
        """
        if member.must_revoke:
            until_ms = now.monotonic_ms + member.rebalance_timeout_ms
            self._revocations.set(member.member_id, until_ms)

    def follow(self, member_id: str, member: Member | None) -> None:
        """A record was applied; member: as it is now, None once it is out."""
        if member is None:
            self.forget(member_id)
        elif not member.must_revoke:
            self._revocations.set(member_id, None)

    def forget(self, member_id: str) -> None:
        """Nobody waits for it any more."""
        self._sessions.set(member_id, None)
        self._revocations.set(member_id, None)

    def late(
        self, members: Mapping[str, Member], what: str, now: Now
    ) -> dict[str, Reason]:
        """Members whose time to revoke is over, with the reason why they are out. what:
        they had to give up.
        """
        reasons = {}
        for member_id in self._revocations.overdue(now.monotonic_ms):
            seconds = members[member_id].rebalance_timeout_ms / 1000
            why = f"it did not give up {what} within {seconds:.2f} s"
            reasons[member_id] = Reason("rebalance_timeout", why)
        return reasons

    def silent(self, session_timeout_ms: int, now: Now) -> dict[str, Reason]:
        """Members whose session is over, with the reason why they are out; the longest
        silent first.
        """
        seconds = session_timeout_ms / 1000
        why = Reason("session_timeout", f"no heartbeat for {seconds:.2f} s")
        return dict.fromkeys(self._sessions.overdue(now.monotonic_ms), why)

    def next_deadline(self) -> int | None:
        """Monotonic ms."""
        return soonest(self._sessions.next(), self._revocations.next())
