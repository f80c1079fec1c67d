"""The state of the share partition's story: each record as the share group and as the
consumer group has it; and which member worked on which record, from when to when.
"""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any, NamedTuple

from minikafka.theatre.play import EventId
from minikafka.theatre.text import key_part

AVAILABLE, ACQUIRED = "available", "acquired"
ACKNOWLEDGED, ARCHIVED = "acknowledged", "archived"
# as brokers tell them
# 3: archiving, until the dead letter is written
STATES = {0: AVAILABLE, 1: ACQUIRED, 2: ACKNOWLEDGED, 3: ARCHIVED, 4: ARCHIVED}
FINAL = (ACKNOWLEDGED, ARCHIVED)
NEAR = 40  # records that are in a scene


@dataclass
class Shared:
    """A record as the share group has it. who: the member that has it, or had it last.
    count: how often it was delivered. until, lock_ms: its lock. number: of the last
    event about it; event: that one's id.
    """

    state: str = AVAILABLE
    who: str = ""
    count: int = 0
    until: int = 0
    lock_ms: int = 0
    number: int = 0
    event: EventId | None = None

    def told(self, offset: int) -> list[Any]:
        """The record's state as scenes store it."""
        *shown, _event = astuple(self)
        return [offset, *shown]


@dataclass
class Read:
    """A record as the consumer group has it. state: "" while nobody has it, in hand,
    done. count: how often it was handed over.
    """

    state: str = ""
    who: str = ""
    count: int = 0
    number: int = 0

    def told(self, offset: int) -> list[Any]:
        """The record as scenes store it."""
        return [offset, *astuple(self)]


IN_HAND, DONE = "in hand", "done"


@dataclass
class Work:
    """A member had a record. until: None while it has it. how: that ended: accept,
    release, reject, lock, gone, commit, again. number: of the event that began it.
    """

    offset: int
    since: int
    number: int
    until: int | None = None
    how: str = ""


@dataclass
class Member:
    """life: "", crashed, frozen, closed. away: from when to when it was not there."""

    name: str
    life: str = ""
    done: int = 0
    work: list[Work] = field(default_factory=list)
    away: list[list[Any]] = field(default_factory=list)

    def begins(self, offset: int, at: int, number: int) -> None:
        """The member has acquired a record."""
        self.work.append(Work(offset, at, number))

    def ends(self, offsets: Iterable[int], at: int, how: str) -> None:
        """The member no longer has these records."""
        ended = set(offsets)
        for each in self.work:
            if each.until is None and each.offset in ended:
                each.until = at
                each.how = how

    def lives(self, life: str, at: int) -> None:
        """The member's life changes: it crashes, freezes, or is back ("")."""
        if self.away and self.away[-1][1] is None:
            self.away[-1][1] = at
        if life:
            self.away.append([at, None, life])
        self.life = life

    @property
    def in_hand(self) -> list[int]:
        """The records that it has now."""
        return [each.offset for each in self.work if each.until is None]

    def told(self) -> dict[str, Any]:
        """The member as scenes store it."""
        return {
            "name": self.name,
            "life": self.life,
            "done": self.done,
            "work": [list(astuple(each)) for each in self.work],
            "away": [list(each) for each in self.away],
        }


class Batch(NamedTuple):
    """Records of which a member said the same. times: how often they were delivered.
    said: None where the member is gone.
    """

    first: int
    last: int
    state: int
    times: int
    said: str | None


def joined(batches: Sequence[Sequence[int]], said: Sequence[str | None]) -> list[Batch]:
    """Those together that lie together and of which the same is told."""
    found: list[Batch] = []
    for each, words in zip(batches, said, strict=True):
        first, last, state, times = each
        before = found[-1] if found else None
        if before is not None and before[1:] == (first - 1, state, times, words):
            found[-1] = before._replace(last=last)
        else:
            found.append(Batch(first, last, state, times, words))
    return found


def lane_of(member: str) -> str:
    """The key of a member's lane."""
    return f"time/member/{key_part(member)}"


def letter_of(member: str) -> str:
    """One letter for a member: of its last word."""
    *_, last_word = member.replace("-", " ").split(" ")
    return last_word[:1].upper()


def span(first: int, last: int) -> str:
    """record 4 · records 4 to 6"""
    return f"record {first}" if first == last else f"records {first} to {last}"


def spans(offsets: Sequence[int]) -> str:
    """record 4 · records 4 to 6, of offsets that are in order"""
    return span(offsets[0], offsets[-1])


def seconds(ms: int) -> str:
    """A duration in seconds: 5 s, 4.5 s."""
    return f"{round(ms / 1000, 1):g} s"
