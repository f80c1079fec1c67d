"""How long a group of the consumer, the streams or the share protocol waits for its
members: for a sign of life from each one, and for those that must give something up.

Both are soft state. A new coordinator begins with full sessions, and with the full time
to revoke. A classic group waits in a different way: classic_timers.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from minikafka.clock import Now, soonest
from minikafka.cluster.timers import Deadlines
from minikafka.trace import Reason


class Member(Protocol):
    """A member that others may have to wait for."""

    @property
    def member_id(self) -> str:
        """The id that the group gave the member."""

    @property
    def must_revoke(self) -> bool:
        """Whether it must give something up that others wait for."""

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long it may take to give that up."""


@dataclass(eq=False, repr=False)
class MemberTimers:
    """Each member's session, which ends if it is silent, and a deadline for each member
    that must revoke. Members of a share group have nothing to revoke.
    """

    _sessions: Deadlines[str] = field(default_factory=Deadlines)
    _revocations: Deadlines[str] = field(default_factory=Deadlines)

    def renew(self, member_id: str, session_timeout_ms: int, now: Now) -> None:
        """A member is alive: start its session again."""
        self._sessions.set(member_id, now.monotonic_ms + session_timeout_ms)

    def begin_revocation(self, member: Member, now: Now) -> None:
        """A member was told its new assignment. If it must give something up, its
        rebalance timeout starts now.
        """
        if member.must_revoke:
            until_ms = now.monotonic_ms + member.rebalance_timeout_ms
            self._revocations.set(member.member_id, until_ms)

    def follow(self, member_id: str, member: Member | None) -> None:
        """A record was applied. member: its state now; None if it was removed."""
        if member is None:
            self.forget(member_id)
        elif not member.must_revoke:
            self._revocations.set(member_id, None)

    def forget(self, member_id: str) -> None:
        """Stop waiting for a member."""
        self._sessions.set(member_id, None)
        self._revocations.set(member_id, None)

    def late(
        self, members: Mapping[str, Member], what: str, now: Now
    ) -> dict[str, Reason]:
        """The members whose time to revoke is over, with the reason for removing them.
        what: what they had to give up.
        """
        reasons = {}
        for member_id in self._revocations.overdue(now.monotonic_ms):
            seconds = members[member_id].rebalance_timeout_ms / 1000
            why = f"it did not give up {what} within {seconds:.2f} s"
            reasons[member_id] = Reason("rebalance_timeout", why)
        return reasons

    def silent(self, session_timeout_ms: int, now: Now) -> dict[str, Reason]:
        """The members whose session is over, with the reason for removing them, longest
        silent first.
        """
        seconds = session_timeout_ms / 1000
        why = Reason("session_timeout", f"no heartbeat for {seconds:.2f} s")
        return dict.fromkeys(self._sessions.overdue(now.monotonic_ms), why)

    def next_deadline(self) -> int | None:
        """The next deadline of any member, in monotonic ms; None if there is none."""
        return soonest(self._sessions.next(), self._revocations.next())
