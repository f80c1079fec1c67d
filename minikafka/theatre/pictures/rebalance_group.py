"""Who is on the stage of the rebalance, and what is known of the group at one moment,
and since when.

A consumer that was restarted comes back with a new member id and is the same actor,
unless the coordinator still holds the old id as a member: then there are two, and the
newer one carries a mark (A'). A partition is read while one member that holds it lives
and is in the group. What coordinators tell is enough to know that; where the members
tell too (a simulation), their word counts for when they begin and stop.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from minikafka.theatre.casting import busiest_topic, legend, letters
from minikafka.theatre.drawing import COLOURS, actor_colour, actor_number
from minikafka.theatre.play import picked
from minikafka.theatre.text import listed
from minikafka.trace import Event

Part = tuple[str, int]

MOST_MEMBERS, MOST_PARTITIONS = 6, 8
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PHASES = {  # a group's state: in plain words, in short ones, and its fill
    "Empty": ("nobody is here", "nobody is here", "wash"),
    "PreparingRebalance": ("everyone joins", "join", "cell"),
    "CompletingRebalance": ("the leader assigns", "assign", "chip"),
    "Assigning": ("the coordinator assigns", "assign", "chip"),
    "Reconciling": ("members change over", "change over", "cell"),
    "Stable": ("Stable", "Stable", "good"),
    "Dead": ("gone", "gone", "wash"),
}
SILENT = ("frozen", "cut off")  # in no position to know that it is out
Span = tuple[int, list[str], str, int | None]
AWAY = {
    "frozen": "frozen: no heartbeat",
    "crashed": "crashed: it says nothing",
    "closed": "has left",
    "left": "has left",
    "cut off": "cut off: hears nothing",
}


@dataclass(frozen=True)
class Actor:
    """number: gives colour (six of them) and pattern (0 none, then one more each time
    colours repeat).
    """

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
    """members: member id -> actor. clients_speak: the trace holds what members did, not
    only what brokers saw. keeps: members were seen to keep partitions through a
    rebalance.
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
        """Topic -> what stands before a partition's number: P, or a letter of each of
        several topics.
        """
        names = list(dict.fromkeys(topic for topic, _ in self.parts))
        return {names[0]: "P"} if len(names) == 1 else letters(names)

    def label(self, part: Part) -> str:
        return f"{self.short.get(part[0], part[0])}{part[1]}"

    def to_json(self) -> dict[str, Any]:
        """What the picture shows of it. legend: the topics' letters, where there are
        several.
        """
        return picked(self, "group", "kind", "keeps") | {
            "topics": " and ".join(dict.fromkeys(topic for topic, _ in self.parts)),
            "partitions": [self.label(part) for part in self.parts],
            "left_out": self.left_out,
            "legend": (
                legend(self.short).removeprefix("keys: ") if len(self.short) > 1 else ""
            ),
            "actors": [asdict(actor) for actor in self.actors],
        }


def cast(
    trace: Sequence[Event],
    group: str | None,
    topic: str | None,
    partitions: Sequence[int] | None,
) -> Cast:
    """The busiest group unless one is named; the partitions it was ever given, or all
    of the topic it reads.
    """
    groups = Counter(
        event.detail["group"]
        for event in trace
        if event.kind in ("MemberJoined", "RebalanceStarted")
    )
    group = group or max(sorted(groups), key=lambda name: groups[name], default="")
    mine = [event for event in trace if event.detail.get("group") == group]
    members = _members(mine)
    names = list(dict.fromkeys(members.values()))
    by_letter = sorted(
        _letters(names).items(), key=lambda pair: (len(pair[1]), pair[1])
    )
    order = [letter for _, letter in by_letter]
    number = {
        each: actor_number(each.rstrip("'"), order) + COLOURS * each.count("'")
        for each in order
    }
    actors = [Actor(name, letter, number[letter]) for name, letter in by_letter]
    found = {actor.name: actor for actor in actors}
    parts = _parts(trace, mine, topic)
    if partitions is not None:
        parts = [part for part in parts if part[1] in partitions]
    speak = any(
        event.kind in ("PartitionsAssigned", "PartitionsRevoked") for event in mine
    )
    return Cast(
        group,
        parts[:MOST_PARTITIONS],
        max(len(parts) - MOST_PARTITIONS, 0),
        actors,
        {member: found[name] for member, name in members.items()},
        speak,
        (
            "consumer"
            if any(event.kind == "MemberReconciled" for event in mine)
            else "classic"
        ),
        any(event.kind == "GroupStateChanged" for event in mine),
        any(
            event.kind == "PartitionsRevoked" and event.detail["owned"]
            for event in mine
        ),
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
            living = {
                client: [each for each in same if each != member]
                for client, same in living.items()
            }
    return names


def _parts(
    trace: Sequence[Event], mine: Sequence[Event], topic: str | None
) -> list[Part]:
    made = [
        event.detail["assignment"].values()
        for event in mine
        if event.kind == "AssignmentMade"
    ]
    assigned = {
        (name, number) for shares in made for parts in shares for name, number in parts
    }
    topics = (
        {topic} if topic else {name for name, _ in assigned} or {busiest_topic(trace)}
    )
    sizes = [
        event.detail
        for event in trace
        if event.kind in ("TopicCreated", "PartitionsCreated")
    ]
    there = {(d["topic"], number) for d in sizes for number in range(d["partitions"])}
    return sorted(part for part in assigned | there if part[0] in topics)


def _letters(names: Sequence[str]) -> dict[str, str]:
    """A letter each: the one a name ends with ("consumer b" is B) where that tells them
    all apart, else in order.
    """
    ends = [
        name.split(" (")[0].replace("-", " ").split(" ")[-1].upper() for name in names
    ]
    if all(end in ALPHABET and len(end) == 1 for end in ends):
        return {
            name: end + "'" * ends[:n].count(end)
            for n, (name, end) in enumerate(zip(names, ends, strict=True))
        }
    return {
        name: ALPHABET[n] if n < len(ALPHABET) else str(n + 1)
        for n, name in enumerate(names)
    }


@dataclass
class ShownMember:
    """owns: what it reads as it believes; gives: of these, what it must give up; waits:
    what it was given and may not read yet. asked: the request it waits for, answered:
    the answer that has just come, (words, trouble).
    """

    actor: Actor
    id: str = ""
    inside: bool = False  # a member, as the coordinator sees it
    life: str = ""
    cut: bool = False  # nothing passes between it and the coordinator
    owns: list[Part] = field(default_factory=list)
    gives: list[Part] = field(default_factory=list)
    waits: list[Part] = field(default_factory=list)
    given: list[Part] = field(default_factory=list)  # by the coordinator's last word
    epoch: int = -1
    # nothing to give up, nothing to wait for, as the coordinator sees it
    reconciled: bool = True
    asked: str = ""
    asked_at: int = -1
    # words, whether it is trouble, at which step
    answered: tuple[str, bool, int] | None = None
    processing_ms: int = 0
    overdue: bool = False
    told: bool = False  # of the rebalance, and has not joined again yet
    why: str = ""  # it is in its state, in its own words
    # given up just now: its listener still runs
    revoked: list[Part] = field(default_factory=list)

    @property
    def joining(self) -> bool:
        """Its JoinGroup of this rebalance is in."""
        return self.inside and self.asked == "JoinGroup"

    @property
    def must_give(self) -> list[Part]:
        return [part for part in self.gives if part in self.owns]

    @property
    def still_waits(self) -> list[Part]:
        return [part for part in self.waits if part not in self.owns]

    @property
    def reads(self) -> bool:
        return self.inside and not self.life

    @property
    def is_blind(self) -> bool:
        """Removed, and doesn't know it."""
        return not self.inside and bool(self.owns) and self.life in ("", *SILENT)

    @property
    def holds(self) -> bool:
        """What it owns is its own: by the coordinator's word, or because it is at work
        and believes so.
        """
        return self.inside or not self.life


@dataclass
class Group:
    """One group, moved on by its story. spans: lane -> (since when, who, what, the
    records that waited when it was over, or None); only ever appended to. What:
    "reads", "nobody", or "two" where two and more own it.
    """

    cast: Cast
    state: str = ""
    number: int = 0  # generation of a classic group, epoch of a consumer group
    leader: str = ""
    assignor: str = ""
    began: bool = False
    node: str = ""  # the broker that is its coordinator
    down: bool = False
    assigned_at: int = -1  # at which step an assignment was made
    members: dict[str, ShownMember] = field(default_factory=dict)
    end: dict[Part, int] = field(default_factory=dict)
    position: dict[Part, int] = field(default_factory=dict)
    spans: dict[str, list[Span]] = field(default_factory=dict)

    def member(self, member_id: str) -> ShownMember | None:
        actor = self.cast.members.get(member_id)
        return self.of(actor) if actor else None

    def of(self, actor: Actor) -> ShownMember:
        return self.members.setdefault(actor.name, ShownMember(actor))

    def named(self, client: str) -> ShownMember | None:
        """The member that a client is now: the newest of its member ids."""
        found = [
            each
            for each in self.members.values()
            if each.actor.name.split(" (")[0] == client
        ]
        return found[-1] if found else None

    @property
    def inside(self) -> list[ShownMember]:
        return [each for each in self.members.values() if each.inside]

    @property
    def cooperative(self) -> bool:
        return (
            self.cast.kind == "consumer"
            or "cooperative" in self.assignor
            or self.cast.keeps
        )

    def parts(self, given: Iterable[Any]) -> list[Part]:
        return sorted((topic, number) for topic, number in given)

    def labels(self, parts: Iterable[Part]) -> str:
        names = [self.cast.label(part) for part in parts]
        return (
            "all partitions"
            if 3 < len(names) == len(self.cast.parts)
            else listed(names)
        )

    def owners(self, part: Part) -> list[ShownMember]:
        return [each for each in self.members.values() if part in each.owns]

    def waiting(self, part: Part) -> int:
        return max(self.end.get(part, 0) - self.position.get(part, 0), 0)

    # -- lanes

    def note(self, at: int) -> None:
        """Write down who reads what from now on."""
        all_owners = self._all_owners()
        for part in self.cast.parts:
            lane, owners = self.cast.label(part), all_owners.get(part, [])
            readers = [each.actor.name for each in owners if each.reads]
            if sum(each.holds for each in owners) > 1:
                self._span(
                    lane, at, [each.actor.name for each in self.holders(part)], "two"
                )
            elif readers:
                self._span(lane, at, readers, "reads")
            elif owners or lane in self.spans:
                self._span(
                    lane,
                    at,
                    [each.actor.name for each in owners if each.life == "frozen"][:1],
                    "nobody",
                )
        if self.state:
            self._span("group", at, [str(self.number)], self.state)

    def holders(self, part: Part) -> list[ShownMember]:
        """In the order of their letters; it should never be two."""
        return sorted(
            [each for each in self.owners(part) if each.holds],
            key=lambda each: each.actor.number,
        )

    @property
    def two_owners(self) -> list[Part]:
        """Partitions that have two owners now."""
        owned = self._all_owners()
        two = {
            part
            for part, owners in owned.items()
            if sum(each.holds for each in owners) > 1
        }
        return [part for part in self.cast.parts if part in two] if two else []

    def _all_owners(self) -> dict[Part, list[ShownMember]]:
        found: dict[Part, list[ShownMember]] = {}
        for each in self.members.values():
            for part in each.owns:
                found.setdefault(part, []).append(each)
        return found

    def _span(self, lane: str, at: int, who: list[str], what: str) -> None:
        spans = self.spans.setdefault(lane, [])
        if spans and spans[-1][1:3] == (who, what):
            return
        if spans:
            waited = sum(
                self.waiting(part)
                for part in self.cast.parts
                if self.cast.label(part) == lane
            )
            spans[-1] = (*spans[-1][:3], waited)
        spans.append((at, who, what, None))

    # -- one moment as plain JSON

    def space(self, step: int) -> dict[str, Any]:
        """step: the one that is told now."""
        parts = self.cast.parts
        # what a removed one believes doesn't count
        held = {part for each in self.inside for part in each.owns}
        names = ("state", "down", "number", "leader", "assignor")
        return (
            {"kind": self.cast.kind}
            | picked(self, *names)
            | {
                "assigns": self._assigns(step),
                "waits_for": (
                    [each.actor.letter for each in self.missing]
                    if self.all_join
                    else []
                ),
                "two_owners": [self.cast.label(part) for part in self.two_owners],
                "inside": len(self.inside),
                "members": [self._member(each) for each in self._shown()],
                "free": (
                    [self.cast.label(part) for part in parts if part not in held]
                    if self.state
                    else []
                ),
                "waiting": {
                    self.cast.label(part): self.waiting(part) for part in parts
                },
                "spans": {
                    lane: list(spans) for lane, spans in sorted(self.spans.items())
                },
            }
        )

    def _shown(self) -> list[ShownMember]:
        """At most six members, those inside first; in the order of their letters."""
        members = sorted(self.members.values(), key=lambda each: each.actor.number)
        chosen = sorted(members, key=lambda each: not (each.inside or each.owns))[
            :MOST_MEMBERS
        ]
        return (
            [each for each in members if each in chosen]
            if len(members) > MOST_MEMBERS
            else members
        )

    def _assigns(self, step: int) -> str:
        """Who is busy assigning now: a member's name, "coordinator" or nobody."""
        if self.cast.kind == "classic":
            return self.leader if self.state == "CompletingRebalance" else ""
        return (
            "coordinator"
            if self.state == "Assigning" or self.assigned_at == step
            else ""
        )

    @property
    def missing(self) -> list[ShownMember]:
        """Members that have not joined again yet."""
        return [each for each in self.inside if not each.joining]

    @property
    def all_join(self) -> bool:
        """Whether it waits for JoinGroup of those that are missing: known only where
        the members tell.
        """
        return self.state == "PreparingRebalance" and self.cast.clients_speak

    def _member(self, each: ShownMember) -> dict[str, Any]:
        label = self.cast.label
        parts = {"owns": each.owns, "gives": each.must_give, "waits": each.still_waits}
        return {
            "name": each.actor.name,
            **picked(each, "life", "inside"),
            "words": self.words(each),
            "trouble": each.is_blind or (each.overdue and each.reads),
            **{how: list(map(label, which)) for how, which in parts.items()},
            **picked(each, "asked", "asked_at"),
            "answered": list(each.answered) if each.answered else None,
        } | ({"cut": True} if each.cut else {})

    def words(self, each: ShownMember) -> str:
        """What a member does, in plain words: the first of these that holds."""
        labels, waits, missing = self.labels, each.still_waits, self.missing
        whom = missing[0].actor.letter if len(missing) == 1 else "all"
        joins = each.joining and self.state == "PreparingRebalance"
        assigns = self.cast.kind == "classic" and self.state == "CompletingRebalance"
        holders = [
            (owner, part)
            for part in waits
            for owner in self.owners(part)
            if owner.inside
        ]
        holds = [
            f"waits until {owner.actor.letter} gives up {labels([part])}"
            for owner, part in holders
        ]
        unheard = [part for part in waits if part not in each.given]
        table = (
            (
                each.is_blind,
                f"{each.life}: " * bool(each.life) + "is out, doesn't know it",
            ),
            (each.life == "closed" and each.inside, "closed, still a member"),
            (each.life == "crashed" and not each.inside, "crashed, is out"),
            (each.life, AWAY.get(each.life, "")),
            (
                not each.inside,
                (
                    "asks to join"
                    if each.asked
                    else "not in the group"
                    if each.id
                    else "starts"
                ),
            ),
            (each.overdue, "too slow: poll is overdue"),
            (each.revoked, f"gives up {labels(each.revoked) if each.owns else 'all'}"),
            (each.asked == "LeaveGroup", "leaves the group"),
            (each.told, "was told, joins at next poll"),
            (each.must_give, f"must give up {labels(each.must_give)}"),
            (joins, "reads on, " * bool(each.owns) + f"waits for {whom}"),
            (
                assigns,
                (
                    "decides who reads what"
                    if each.actor.name == self.leader
                    else "waits for a share"
                ),
            ),
            (holds, "".join(holds[:1])),
            (
                waits,
                (
                    f"waits to hear of {labels(unheard)}"
                    if unheard
                    else f"takes over {labels(waits)}"
                ),
            ),
            (not each.owns, "owns nothing"),
            (each.processing_ms, f"reads, slowly: {each.processing_ms} ms a record"),
        )
        return next((words for state, words in table if state), "reads")
