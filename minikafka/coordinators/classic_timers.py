"""How long a classic group waits: for a sign of life from each member, and for all
members to join.

Both are soft state. A new coordinator begins with full sessions, and without a
rebalance.
"""

from dataclasses import dataclass, field

from minikafka.clock import Now
from minikafka.cluster.timers import Deadlines

# how long a new member may wait for its first answer (KAFKA-7610)
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
# a group whose members are all absent static ones is looked at no more often than this,
# whatever the rebalance timeout
JOIN_RETRY_MS = 100


@dataclass(eq=False, repr=False)
class Sessions:
    """How long each member may be silent before it counts as dead.

    A member has no session while it waits for the others, because it can't send
    heartbeats then. A new member that never got an answer to a JoinGroup isn't waited
    for indefinitely, and neither is a client that was given an id and hasn't joined
    with it.
    """

    # ids handed out with MEMBER_ID_REQUIRED and not used yet (KIP-394)
    promised: set[str] = field(default_factory=set)
    # members that never got an answer to a JoinGroup
    new: set[str] = field(default_factory=set)
    _ends: Deadlines[str] = field(default_factory=Deadlines)

    def promise(self, member_id: str, timeout_ms: int, now: Now) -> None:
        self.promised.add(member_id)
        self._ends.set(member_id, now.monotonic_ms + timeout_ms)

    def begin(self, member_id: str, now: Now) -> None:
        """Start the session of a new member, which lasts until it gets its
        first answer.
        """
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
    """How long the members' JoinGroups are waited for.

    For the members of a running group that is the longest rebalance timeout among them.
    A group that was empty has nobody to wait for: it gathers members, so that a single
    rebalance serves all that start together (group.initial.rebalance.delay.ms,
    KIP-134). If somebody joined during a delay another delay follows, within the
    rebalance timeout.
    """

    at_ms: int | None = None
    is_gathering: bool = False
    somebody_came: bool = False  # during this delay
    _remaining_ms: int = 0  # for which an empty group may still gather members

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
        """Begin another delay, if there is a reason and enough time left."""
        is_worth_it = self.is_gathering and self.somebody_came
        if not is_worth_it or self._remaining_ms <= 0:
            return False
        self.somebody_came = False
        next_ms = min(delay_ms, self._remaining_ms)
        self._remaining_ms -= next_ms
        self.at_ms = now.monotonic_ms + next_ms
        return True

    def try_again(self, timeout_ms: int, now: Now) -> None:
        """All members are absent: look again later."""
        self.at_ms = now.monotonic_ms + max(timeout_ms, JOIN_RETRY_MS)

    def stop(self) -> None:
        self.at_ms = None

    def is_up(self, now: Now) -> bool:
        return self.at_ms is not None and self.at_ms <= now.monotonic_ms
