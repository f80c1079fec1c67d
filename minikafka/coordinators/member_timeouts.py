"""How long the members of a consumer group may be silent, and how long they may take to give up partitions (KIP-848).

Soft state: a new coordinator gives every member its full time again.
"""

from __future__ import annotations

from collections.abc import Mapping

from minikafka.clock import Now
from minikafka.coordinators.consumer_member import LEAVE_STATIC_EPOCH, Member, MemberState
from minikafka.coordinators.deadlines import Deadlines


class MemberTimeouts:
    """The deadlines of all members of a group. Those of members that are gone or have revoked by then mean nothing."""

    def __init__(self, session_timeout_ms: int) -> None:
        self._session_timeout_ms = session_timeout_ms
        self._sessions = Deadlines()
        self._revocations = Deadlines()

    def heard(self, member_id: str, now: Now) -> None:
        """The member is alive; its session begins anew."""
        self._sessions.set(member_id, now.monotonic_ms + self._session_timeout_ms)

    def moved(self, member: Member, now: Now) -> None:
        """The member's current assignment changed: it may have to revoke now."""
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            self._revocations.set(member.member_id, now.monotonic_ms + member.rebalance_timeout_ms)

    def next_deadline(self) -> int | None:
        """Monotonic ms; maybe too early, never too late."""
        deadlines = [self._sessions.next(), self._revocations.next()]
        return min((at_ms for at_ms in deadlines if at_ms is not None), default=None)

    def expired(self, members: Mapping[str, Member], now: Now) -> dict[str, str]:
        """Who is to be fenced, and why. Each gets its time once more, should the records that fence it be lost."""
        fenced = {}
        for member_id in self._revocations.due(now.monotonic_ms):
            member = members.get(member_id)
            if member is not None and must_revoke(member):
                fenced[member_id] = f"it did not give up partitions within {member.rebalance_timeout_ms / 1000:.2f} s"
                self.moved(member, now)
        for member_id in self._sessions.due(now.monotonic_ms):
            if member_id in members:
                fenced[member_id] = f"no heartbeat for {self._session_timeout_ms / 1000:.2f} s"
                self.heard(member_id, now)
        return fenced


def must_revoke(member: Member) -> bool:
    """Whether the others wait for it. A static member that is away has its session to come back."""
    return member.state is MemberState.UNREVOKED_PARTITIONS and member.member_epoch != LEAVE_STATIC_EPOCH
