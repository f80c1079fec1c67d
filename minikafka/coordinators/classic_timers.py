"""How long a classic group waits: for a sign of life of each member, and for all of
them to join.

Both are soft state. A new coordinator begins with full sessions, and without a
rebalance.
"""

from dataclasses import dataclass, field

from minikafka.clock import Now
from minikafka.cluster.waiting import Deadlines

# how long a new member may wait for its first answer (KAFKA-7610)
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
# a group of absent static members is looked at no more often, whatever their rebalance
# timeout
JOIN_RETRY_MS = 100


@dataclass(eq=False, repr=False)
class Sessions:
    """Until when silence is no sign of death.

    A member has no session while it waits for the others, as it can't send heartbeats
    then. A new one, which never got an answer to a JoinGroup, is not waited for for
    ever; nor is who was given an id and has not come with it.
    """

    # ids handed out with MEMBER_ID_REQUIRED, not used yet (KIP-394)
    promised: set[str] = field(default_factory=set)
    # members that never got an answer to a JoinGroup
    new: set[str] = field(default_factory=set)
    _ends: Deadlines[str] = field(default_factory=Deadlines)

    def promise(self, member_id: str, timeout_ms: int, now: Now) -> None:
        self.promised.add(member_id)
        self._ends.set(member_id, now.monotonic_ms + timeout_ms)

    def begin(self, member_id: str, now: Now) -> None:
        """The first session of a member, until it gets its first answer."""
        self.promised.discard(member_id)
        self.new.add(member_id)
        self._ends.set(member_id, now.monotonic_ms + NEW_MEMBER_JOIN_TIMEOUT_MS)

    def renew(self, member_id: str, timeout_ms: int, now: Now) -> None:
        self._ends.set(member_id, now.monotonic_ms + timeout_ms)

    def pause(self, member_id: str) -> None:
        self._ends.set(member_id, None)

    def forget(self, member_id: str) -> None:
        self.promised.discard(member_id)
        self.new.discard(member_id)
        self._ends.set(member_id, None)

    def over(self, now: Now) -> list[str]:
        return list(self._ends.overdue(now.monotonic_ms))

    def is_over(self, member_id: str, now: Now) -> bool:
        return self._ends.is_overdue(member_id, now.monotonic_ms)

    def next_deadline(self) -> int | None:
        return self._ends.next()


@dataclass(eq=False, repr=False, slots=True)
class JoinTimer:
    """Until when the members' JoinGroups are waited for.

    All members are waited for as long as the slowest of them may take. A group that was
    empty has nobody to wait for: it gathers members, so that one rebalance will do for
    all that start together (group.initial.rebalance.delay.ms, KIP-134). Each delay in
    which somebody came is followed by another, within the rebalance timeout.
    """

    at_ms: int | None = None
    is_gathering: bool = False
    somebody_came: bool = False  # during this delay
    _remaining_ms: int = 0  # of the time that an empty group may still gather

    def wait_for_all(self, timeout_ms: int, now: Now) -> None:
        self.is_gathering = False
        self.somebody_came = False
        self.at_ms = now.monotonic_ms + timeout_ms

    def gather(self, delay_ms: int, timeout_ms: int, now: Now) -> None:
        self.is_gathering = True
        self.somebody_came = False
        self.at_ms = now.monotonic_ms + delay_ms
        self._remaining_ms = max(timeout_ms - delay_ms, 0)

    def gather_on(self, delay_ms: int, now: Now) -> bool:
        """Begin another delay, if there is reason to and time for it."""
        is_worth_it = self.is_gathering and self.somebody_came
        if not is_worth_it or self._remaining_ms <= 0:
            return False
        self.somebody_came = False
        next_ms = min(delay_ms, self._remaining_ms)
        self._remaining_ms -= next_ms
        self.at_ms = now.monotonic_ms + next_ms
        return True

    def try_again(self, timeout_ms: int, now: Now) -> None:
        """All that are members are absent: look again later."""
        self.at_ms = now.monotonic_ms + max(timeout_ms, JOIN_RETRY_MS)

    def stop(self) -> None:
        self.at_ms = None

    def is_up(self, now: Now) -> bool:
        return self.at_ms is not None and self.at_ms <= now.monotonic_ms
