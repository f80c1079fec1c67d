"""Who is on the stage of the rebalance: which group, which partitions, and an actor for every member.

A consumer that was restarted comes back with a new member id and is the same actor, unless the coordinator still
holds the old id as a member: then there are two, and the newer one carries a mark (A').
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from minikafka.theatre.casting import busiest_topic, legend, letters
from minikafka.theatre.drawing import COLOURS, actor_colour, actor_number
from minikafka.trace import Event

Part = tuple[str, int]

MOST_MEMBERS, MOST_PARTITIONS = 6, 8
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Actor:
    """number: gives colour (six of them) and pattern (0 none, then one more each time colours repeat)."""

    name: str
    letter: str
    number: int

    @property
    def colour(self) -> str:
        return actor_colour(self.number)

    @property
    def ink(self) -> str:
        return f"on{self.number % COLOURS + 1}"

    @property
    def pattern(self) -> int:
        return self.number // COLOURS


def actors_of(told: dict[str, Any]) -> dict[str, Actor]:
    """By name, from what Cast.to_json has told."""
    return {each["name"]: Actor(**each) for each in told["actors"]}


@dataclass(frozen=True)
class Cast:
    """members: member id -> actor. clients_speak: the trace holds what members did, not only what brokers saw. keeps:
    members were seen to keep partitions through a rebalance.
    """

    group: str
    parts: list[Part]
    left_out: int
    actors: list[Actor]
    members: dict[str, Actor]
    clients_speak: bool
    kind: str = "classic"  # or "consumer": KIP-848
    states_told: bool = True  # by the coordinator; else they follow from the rest
    keeps: bool = False

    @cached_property
    def short(self) -> dict[str | None, str]:
        """Topic -> what stands before a partition's number: P, or a letter of each of several topics."""
        names = list(dict.fromkeys(topic for topic, _ in self.parts))
        return {names[0]: "P"} if len(names) == 1 else letters(names)

    def label(self, part: Part) -> str:
        return f"{self.short.get(part[0], part[0])}{part[1]}"

    def to_json(self) -> dict[str, Any]:
        """What the picture shows of it. legend: the topics' letters, where there are several."""
        return {
            "group": self.group,
            "kind": self.kind,
            "keeps": self.keeps,
            "topics": " and ".join(dict.fromkeys(topic for topic, _ in self.parts)),
            "partitions": [self.label(part) for part in self.parts],
            "left_out": self.left_out,
            "legend": legend(self.short).removeprefix("keys: ") if len(self.short) > 1 else "",
            "actors": [asdict(actor) for actor in self.actors],
        }


def cast(trace: Sequence[Event], group: str | None, topic: str | None, partitions: Sequence[int] | None) -> Cast:
    """The busiest group unless one is named; the partitions it was ever given, or all of the topic it reads."""
    groups = Counter(event.detail["group"] for event in trace if event.kind in ("MemberJoined", "RebalanceStarted"))
    group = group or max(sorted(groups), key=lambda name: groups[name], default="")
    mine = [event for event in trace if event.detail.get("group") == group]
    members = _members(mine)
    names = list(dict.fromkeys(members.values()))
    by_letter = sorted(_letters(names).items(), key=lambda pair: (len(pair[1]), pair[1]))
    order = [letter for _, letter in by_letter]
    actors = [Actor(name, letter, actor_number(letter.rstrip("'"), order) + COLOURS * letter.count("'"))
              for name, letter in by_letter]  # fmt: skip
    found = {actor.name: actor for actor in actors}
    parts = _parts(trace, mine, topic)
    if partitions is not None:
        parts = [part for part in parts if part[1] in partitions]
    speak = any(event.kind in ("PartitionsAssigned", "PartitionsRevoked") for event in mine)
    return Cast(
        group,
        parts[:MOST_PARTITIONS],
        max(len(parts) - MOST_PARTITIONS, 0),
        actors,
        {member: found[name] for member, name in members.items()},
        speak,
        "consumer" if any(event.kind == "MemberReconciled" for event in mine) else "classic",
        any(event.kind == "GroupStateChanged" for event in mine),
        any(event.kind == "PartitionsRevoked" and event.detail["owned"] for event in mine),
    )


def _members(mine: Sequence[Event]) -> dict[str, str]:
    """Member id -> actor's name."""
    names: dict[str, str] = {}
    living: dict[str, list[str]] = {}
    for event in mine:
        member: Any = event.detail.get("member")
        if event.kind == "MemberJoined" and member not in names:
            client = event.detail["client"] or "member"
            same = living.setdefault(client, [])
            names[member] = client if not same else f"{client} ({len(same) + 1})"
            same.append(member)
        elif event.kind == "MemberLeft":
            living = {client: [each for each in same if each != member] for client, same in living.items()}
    return names


def _parts(trace: Sequence[Event], mine: Sequence[Event], topic: str | None) -> list[Part]:
    made = [event.detail["assignment"].values() for event in mine if event.kind == "AssignmentMade"]
    assigned = {(name, number) for shares in made for parts in shares for name, number in parts}
    topics = {topic} if topic else {name for name, _ in assigned} or {busiest_topic(trace)}
    sizes = [event.detail for event in trace if event.kind in ("TopicCreated", "PartitionsCreated")]
    there = {(d["topic"], number) for d in sizes for number in range(d["partitions"])}
    return sorted(part for part in assigned | there if part[0] in topics)


def _letters(names: Sequence[str]) -> dict[str, str]:
    """A letter each: the one a name ends with ("consumer b" is B) where that tells them all apart, else in order."""
    ends = [name.split(" (")[0].replace("-", " ").split(" ")[-1].upper() for name in names]
    if all(end in ALPHABET and len(end) == 1 for end in ends):
        return {name: end + "'" * ends[:n].count(end) for n, (name, end) in enumerate(zip(names, ends, strict=True))}
    return {name: ALPHABET[n] if n < len(ALPHABET) else str(n + 1) for n, name in enumerate(names)}
