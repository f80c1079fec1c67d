"""What there is in a cluster at one moment, as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

NOBODY = -1  # the leader of a partition that has none
UNKNOWN = -2  # a trace hasn't told yet
INTERNAL = "__"  # internal topics begin so


class Place(NamedTuple):
    """A partition of a topic."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


class Part(NamedTuple):
    """A partition as its cluster describes it. leader: a broker's id, NOBODY or UNKNOWN.
    end: the offset after its last committed record; None: nobody told.
    """

    leader: int
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    end: int | None = None

    @property
    def out_of_sync(self) -> list[int]:
        return [each for each in self.replicas if each not in self.isr]


class Member(NamedTuple):
    """A member of a group. host: where its requests come from."""

    member_id: str
    client: str
    host: str = ""
    parts: tuple[Place, ...] = ()


class Group(NamedTuple):
    """kind: classic, consumer, share or streams. state: in the protocol's words."""

    name: str
    kind: str
    state: str
    members: Sequence[Member] = ()
    committed: Mapping[Place, int] = {}

    def reader(self, place: Place) -> Member | None:
        """The member that has a partition."""
        for member in self.members:
            if place in member.parts:
                return member
        return None

    @property
    def places(self) -> list[Place]:
        """The partitions that it has read, or is to read."""
        given = {place for member in self.members for place in member.parts}
        return sorted(given | {*self.committed})


@dataclass(frozen=True)
class Seen:
    """at_s: when, on a clock that only goes forward. brokers: id -> address, if it is
    known. controller: the id of the active one, or UNKNOWN. errors: what was refused.
    """

    at_s: float
    brokers: Mapping[int, str] = field(default_factory=dict)
    controller: int = UNKNOWN
    parts: Mapping[Place, Part] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    errors: Sequence[str] = ()

    def lag(self, group: Group, place: Place) -> int | None:
        """How many records a group is behind in a partition. None: it has committed no
        offset, or the partition's end isn't known.
        """
        part, committed = self.parts.get(place), group.committed.get(place)
        if part is None or part.end is None or committed is None:
            return None
        return max(part.end - committed, 0)
