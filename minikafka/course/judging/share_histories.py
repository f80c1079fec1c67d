"""Histories of a share partition for lesson 15's exercise, and what the broker's own
share partition says of them.

A step is ("acquire", member), one of ("accept", "release", "reject") with a member and
an offset, ("gone", member), or ("wait", seconds). Each record is a batch of its own, and
who acquires gets one.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

from minikafka.cluster.share_acquiring import Asked, Limits, Read
from minikafka.cluster.share_partition import (
    Acknowledge,
    AcknowledgementBatch,
    SharePartition,
)
from minikafka.cluster.share_window import Range
from minikafka.wire.errors import KafkaError

Step = tuple[Any, ...]
Handed = list[tuple[int, int]]  # (offset, delivery count)

SAYS = {
    "accept": Acknowledge.ACCEPT,
    "release": Acknowledge.RELEASE,
    "reject": Acknowledge.REJECT,
}
MEMBERS = ("A", "B", "a", "C1", "C10", "Ärger", "wörker 2", "0")
NEXT = "next"  # who acquires what is left, in the end
MOST_IN_FLIGHT = 2000


class History(NamedTuple):
    """The records from first up to, and without, end; a lock's seconds; the most
    deliveries.
    """

    first: int
    end: int
    steps: tuple[Step, ...]
    lock_s: int
    most: int


class Kafkas:
    """The broker's share partition, with one history."""

    def __init__(self, history: History) -> None:
        limits = Limits(
            MOST_IN_FLIGHT, history.most, history.lock_s * 1000, renews=False
        )
        self.partition = SharePartition(lambda: limits, history.first)
        self.end = history.end
        self.now_ms = 0
        # what each member has
        self.held: dict[int, str] = {}

    def acquire(self, member: str) -> tuple[int, int] | None:
        """(offset, delivery count) of the record that it gets."""
        offset = self.partition.window.next_fetch_offset()
        if offset >= self.end:
            return None
        batches = [Range(each, each) for each in range(offset, self.end)]
        asked = Asked(member, most_records=1, batch_size=1, strict=True)
        found = self.partition.acquire(asked, Read(offset, batches), self.now_ms)
        if not found:
            return None
        [(first, last, count)] = found
        assert first == last, "one record at a time"
        self.held[first] = member
        return first, count

    def do(self, step: Step) -> None:
        """Carry out one step of a history, given as its name and arguments."""
        what, *given = step
        if what == "acquire":
            self.acquire(given[0])
        elif what == "wait":
            self.now_ms += 1000 * given[0]
            for batch in self.partition.locks_end(self.now_ms):
                for offset in range(batch.first_offset, batch.last_offset + 1):
                    del self.held[offset]
            self.partition.locks_written()
        elif what == "gone":
            self.partition.committed(self.partition.release(given[0]))
            self.held = {at: who for at, who in self.held.items() if who != given[0]}
        else:
            member, offset = given
            self._says(member, offset, SAYS[what])

    def _says(self, member: str, offset: int, said: int) -> None:
        batch = AcknowledgementBatch(offset, offset, [said])
        try:
            change = self.partition.acknowledge(member, [batch], self.now_ms)
        except KafkaError:
            return  # it is refused, and nothing has changed
        if change.parts:
            del self.held[offset]
        self.partition.committed(change)

    def left(self) -> Handed:
        """The records that may be delivered next."""
        handed: Handed = []
        while found := self.acquire(NEXT):
            handed.append(found)
        return handed


def kafkas(history: History) -> Handed:
    """The records that may be delivered after this history: (offset, delivery
    count).
    """
    partition = Kafkas(history)
    for step in history.steps:
        partition.do(step)
    return partition.left()


def is_honest(history: History) -> bool:
    """Whether members speak only of records that they have."""
    partition = Kafkas(history)
    for step in history.steps:
        if step[0] in SAYS and partition.held.get(step[2]) != step[1]:
            return False
        partition.do(step)
    return True


# -- named histories


def told(steps: str, offsets: str = "0-3", most: int = 5) -> History:
    """A history in words: "acquire A; accept A 0; gone A; wait 30". offsets: the first
    one, and the end. Locks are for 30 s.
    """
    first, end = offsets.split("-")
    made = [_step(each) for each in steps.split(";") if each.strip()]
    return History(int(first), int(end), tuple(made), 30, most)


def _step(words: str) -> Step:
    what, *given = words.split()
    return (what, *(int(each) if each.isdigit() else each for each in given))


def named(text: str, most: int = 5) -> dict[str, History]:
    """A line each: its name, its offsets, its steps."""
    found = {}
    for line in text.strip().splitlines():
        name, offsets, steps = line.split(":")
        found[name.strip()] = told(steps, offsets.strip(), most)
    return found


HELD = named("""
    the first example              : 0-3   : acquire A; acquire B; accept B 1
    the second example             : 0-3   : acquire A; release A 0
    nothing has happened           : 0-3   :
    no record                      : 0-0   : acquire A
    more acquired than there are   : 0-2   : acquire A; acquire A; acquire A; acquire A
    one rejected, one accepted     : 0-3   : acquire A; acquire A; reject A 0; accept A 1
    what comes back goes first     : 0-4   : acquire A; acquire A; release A 0; acquire B
    accepted the second time       : 0-3   : acquire A; release A 0; acquire B; accept B 0
    the group begins at offset 12  : 12-14 : acquire A; release A 12
    all in hand                    : 0-3   : acquire A; acquire B; acquire C
    a middle one comes back        : 0-5   : acquire A; acquire B; acquire C; release B 1
    only that one is accepted      : 0-3   : acquire A; acquire A; accept A 1; release A 0
""")
SAID = named("""
    of another's record            : 0-3 : acquire A; release B 0
    of a record that nobody has    : 0-3 : accept A 1
    twice                          : 0-3 : acquire A; release A 0; reject A 0
    after another got it           : 0-3 : acquire A; release A 0; acquire B; accept A 0
    of one that is done with       : 0-3 : acquire A; accept A 0; release A 0; acquire B
    before the first one           : 5-8 : accept A 4; acquire A; release A 5
    behind the last one            : 5-8 : acquire A; reject A 9; release A 5
    two names that look alike      : 0-3 : acquire C1; release C10 0
    A and a                        : 0-3 : acquire A; accept a 0; release A 0
""")
LOCKS = named("""
    a lock expires                 : 0-3 : acquire A; wait 30
    a second before                : 0-3 : acquire A; wait 29
    in two steps                   : 0-3 : acquire A; wait 15; acquire B; wait 15
    too late                       : 0-3 : acquire A; wait 30; accept A 0
    another has it meanwhile       : 0-3 : acquire A; wait 30; acquire B; accept A 0
    the next one has a new lock    : 0-3 : acquire A; wait 20; gone A; acquire B; wait 20
    a member is gone               : 0-3 : acquire A; acquire B; acquire A; gone A
    gone, and here again           : 0-3 : acquire A; gone A; accept A 0; acquire A
    gone with nothing              : 0-3 : acquire A; gone B; accept A 0
    one expires, one doesn't       : 0-3 : acquire A; wait 10; acquire A; wait 20
""")
TWICE = named(
    """
    released at the limit          : 0-3 : acquire A; release A 0; acquire A; release A 0
    a lock expires at the limit    : 0-3 : acquire A; wait 30; acquire B; wait 30
    gone at the limit              : 0-3 : acquire A; gone A; acquire A; gone A
    accepted at the limit          : 0-3 : acquire A; release A 0; acquire B; accept B 0
    in hand for the last time      : 0-3 : acquire A; release A 0; acquire B
    each record has its own count  : 0-3 : acquire A; acquire B; gone A; acquire A; gone A
""",
    most=2,
)
THRICE = named(
    """
    one before the limit           : 0-3 : acquire A; release A 0; acquire A; release A 0
""",
    most=3,
)
MOST = TWICE | THRICE


# -- random histories


def a_history(
    says_of: str = "its own", waits: bool = False, most: tuple[int, ...] = (10,)
) -> Callable[[Random], History]:
    """Makes random ones. says_of: whether members speak of their own records only, or
    of any. waits: whether time passes, and members go. most: limits to choose from.
    """

    def made(source: Random) -> History:
        first = source.choice((0, 0, 1, 9, 97))
        end = first + source.randint(0, 7)
        lock_s = source.choice((1, 30, 45))
        empty = History(first, end, (), lock_s, source.choice(most))
        partition, steps = Kafkas(empty), list[Step]()
        members = source.sample(MEMBERS, source.randint(1, 3))
        for _ in range(source.randint(1, 18)):
            step = _a_step(source, partition, members, says_of, lock_s if waits else 0)
            partition.do(step)
            steps.append(step)
        return empty._replace(steps=tuple(steps))

    return made


def _a_step(
    source: Random, partition: Kafkas, members: list[str], says_of: str, lock_s: int
) -> Step:
    member = source.choice(members)
    kind = source.choice(("acquire", "acquire", "say", "say", "time"))
    if kind == "time" and lock_s:
        if source.random() < 0.5:
            return "gone", member
        waited = source.choice((1, lock_s - 1, lock_s, lock_s + 1, lock_s // 2))
        return "wait", max(1, waited)
    what = source.choice(("accept", "release", "release", "reject"))
    strange = says_of == "any" and source.random() < 0.4
    if kind == "say" and strange:
        return what, member, source.randint(0, partition.end + 1)
    if kind == "say" and partition.held:
        offset = source.choice(sorted(partition.held))
        return what, partition.held[offset], offset
    return "acquire", member


def fewer(history: History) -> Iterator[History]:
    """Without one of the steps, whichever it is, or without the last record."""
    for at in range(len(history.steps)):
        steps = history.steps[:at] + history.steps[at + 1 :]
        yield history._replace(steps=steps)
    if history.end > history.first:
        yield history._replace(end=history.end - 1)


def fewer_honest(history: History) -> Iterator[History]:
    """Smaller histories in which members still acknowledge only their own records."""
    return filter(is_honest, fewer(history))
