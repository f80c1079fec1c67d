"""The actors of the rebalance: the members of one group, and the partitions that they
share.

A consumer that was restarted comes back with a new member id and is the same actor,
unless the coordinator still holds the old id as a member: then there are two, and the
newer one carries a mark (A').
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

from minikafka.theatre.actors import COLOURS, actor_colour, actor_number, ink_on_actor
from minikafka.theatre.casting import busiest_topic, legend, letters
from minikafka.theatre.play import picked
from minikafka.trace import Event

MOST_PARTITIONS = 8
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# told by members: what they read, and what no longer
BY_MEMBERS = ("PartitionsAssigned", "PartitionsRevoked")
OF_SIZES = ("TopicCreated", "PartitionsCreated")


class Part(NamedTuple):
    """A partition of a topic that the group reads."""

    topic: str
    number: int


@dataclass(frozen=True)
class Actor:
    """number: gives colour (six of them) and pattern (0 none, then one more each time
    colours repeat).
    """

    name: str
    letter: str
    number: int

    @property
    def client(self) -> str:
        """The name that it has as a client: "b" of "b (2)"."""
        return self.name.split(" (")[0]

    @property
    def colour(self) -> str:
        return actor_colour(self.number)

    @property
    def ink(self) -> str:
        return ink_on_actor(self.number)

    @property
    def pattern(self) -> int:
        return self.number // COLOURS


def actors_of(told: dict[str, Any]) -> dict[str, Actor]:
    """By name, from what Cast.to_json has told."""
    return {each["name"]: Actor(**each) for each in told["actors"]}


@dataclass(frozen=True)
class Cast:
    """members: member id -> actor. clients_speak: the trace holds what members did, not
    only what brokers saw. kind: "classic", or "consumer" (KIP-848). states_told: by the
    coordinator; else they follow from the rest. keeps: members were seen to keep
    partitions through a rebalance.
    """

    group: str
    parts: list[Part]
    left_out: int
    actors: list[Actor]
    members: dict[str, Actor]
    clients_speak: bool
    kind: str = "classic"
    states_told: bool = True
    keeps: bool = False

    @cached_property
    def topics(self) -> list[str]:
        return list(dict.fromkeys(part.topic for part in self.parts))

    @cached_property
    def short(self) -> dict[str | None, str]:
        """Topic -> the prefix of a partition's number: P, or a letter for each of
        several topics.
        """
        if len(self.topics) == 1:
            return {self.topics[0]: "P"}
        return letters(self.topics)

    def label(self, part: Part) -> str:
        return f"{self.short.get(part.topic, part.topic)}{part.number}"

    def to_json(self) -> dict[str, Any]:
        """The cast as the picture shows it. legend: the topics' letters, if there are
        several.
        """
        told = picked(self, "group", "kind", "keeps")
        told["topics"] = " and ".join(self.topics)
        told["partitions"] = [self.label(part) for part in self.parts]
        told["left_out"] = self.left_out
        told["legend"] = ""
        if len(self.short) > 1:
            told["legend"] = legend(self.short).removeprefix("keys: ")
        told["actors"] = [asdict(actor) for actor in self.actors]
        return told


def cast(
    trace: Sequence[Event],
    group: str | None,
    topic: str | None,
    partitions: Sequence[int] | None,
) -> Cast:
    """The busiest group unless one is named; the partitions it was ever given, or all
    of the topic it reads.
    """
    group = group or _busiest_group(trace)
    mine = [event for event in trace if event.detail.get("group") == group]
    kinds = {event.kind for event in mine}
    members = _members(mine)
    actors = _actors(list(dict.fromkeys(members.values())))
    found = {actor.name: actor for actor in actors}
    parts = _parts(trace, mine, topic)
    if partitions is not None:
        parts = [part for part in parts if part.number in partitions]
    return Cast(
        group=group,
        parts=parts[:MOST_PARTITIONS],
        left_out=max(len(parts) - MOST_PARTITIONS, 0),
        actors=actors,
        members={member: found[name] for member, name in members.items()},
        clients_speak=not kinds.isdisjoint(BY_MEMBERS),
        kind="consumer" if "MemberReconciled" in kinds else "classic",
        states_told="GroupStateChanged" in kinds,
        keeps=any(_keeps_some(event) for event in mine),
    )


def _keeps_some(event: Event) -> bool:
    return event.kind == "PartitionsRevoked" and bool(event.detail["owned"])


def _busiest_group(trace: Sequence[Event]) -> str:
    groups = Counter(
        event.detail["group"]
        for event in trace
        if event.kind in ("MemberJoined", "RebalanceStarted")
    )
    return max(sorted(groups), key=lambda name: groups[name], default="")


def _members(mine: Sequence[Event]) -> dict[str, str]:
    """Member id -> actor's name."""
    names: dict[str, str] = {}
    living: dict[str, list[str]] = {}  # client -> its member ids
    for event in mine:
        member: Any = event.detail.get("member")
        if event.kind == "MemberJoined" and member not in names:
            client = event.detail["client"] or "member"
            same = living.setdefault(client, [])
            same.append(member)
            count = len(same)
            names[member] = client
            if count > 1:
                names[member] += f" ({count})"
        elif event.kind == "MemberLeft":
            for same in living.values():
                if member in same:
                    same.remove(member)
    return names


def _parts(
    trace: Sequence[Event], mine: Sequence[Event], topic: str | None
) -> list[Part]:
    assigned = _ever_assigned(mine)
    topics = {part.topic for part in assigned} or {busiest_topic(trace)}
    if topic:
        topics = {topic}
    there = set[Part]()
    for event in trace:
        if event.kind in OF_SIZES:
            name = event.detail["topic"]
            count = event.detail["partitions"]
            there.update(Part(name, number) for number in range(count))
    every = assigned | there
    return sorted(part for part in every if part.topic in topics)


def _ever_assigned(mine: Sequence[Event]) -> set[Part]:
    assigned = set[Part]()
    for event in mine:
        if event.kind == "AssignmentMade":
            for parts in event.detail["assignment"].values():
                assigned.update(Part(topic, number) for topic, number in parts)
    return assigned


def _actors(names: Sequence[str]) -> list[Actor]:
    """In the order of their letters, and with the colours that these have."""
    given = _letters(names)
    ordered = sorted(names, key=lambda name: (len(given[name]), given[name]))
    order = [given[name] for name in ordered]
    actors = []
    for name in ordered:
        letter = given[name]
        number = actor_number(letter.rstrip("'"), order)
        repeated = letter.count("'")
        actors.append(Actor(name, letter, number + COLOURS * repeated))
    return actors


def _letters(names: Sequence[str]) -> dict[str, str]:
    """A letter for each: the one that a name ends with ("consumer b" is B) if that
    distinguishes them all, otherwise in order.
    """
    ends = [_last_word(name).upper() for name in names]
    if all(len(end) == 1 and end in ALPHABET for end in ends):
        marked = {}
        taken: Counter[str] = Counter()
        for name, end in zip(names, ends, strict=True):
            marked[name] = end + "'" * taken[end]
            taken[end] += 1
        return marked
    in_order = list(ALPHABET)
    for number in range(len(ALPHABET) + 1, len(names) + 1):
        in_order.append(str(number))
    return dict(zip(names, in_order, strict=False))


def _last_word(name: str) -> str:
    client = name.split(" (")[0]
    return client.replace("-", " ").split(" ")[-1]
