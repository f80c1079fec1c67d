"""What the rebalance's picture knows of a group at one moment, and since when: members, coordinator, partitions.

A partition is read while one member that holds it lives and is in the group. What coordinators tell is enough to know
that; where the members tell too (a simulation), their word counts for when they begin and stop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from minikafka.theatre.rebalance_cast import MOST_MEMBERS, Actor, Cast, Part

PHASES = {  # a group's state: in plain words, in short ones, and its fill
    "Empty": ("nobody is here", "nobody is here", "wash"),
    "PreparingRebalance": ("everyone joins", "join", "cell"),
    "CompletingRebalance": ("the leader assigns", "assign", "chip"),
    "Assigning": ("the coordinator assigns", "assign", "chip"),
    "Reconciling": ("members change over", "change over", "cell"),
    "Stable": ("Stable", "Stable", "good"),
    "Dead": ("gone", "gone", "wash"),
}
MOST_NAMED = 8  # in one sentence
Span = tuple[int, list[str], str, int | None]
AWAY = {"frozen": "frozen: no heartbeat", "crashed": "crashed: it says nothing", "closed": "has left",
        "left": "has left"}  # fmt: skip


@dataclass
class ShownMember:
    """owns: what it reads as it believes; gives: of these, what it must give up; waits: what it was given and may not
    read yet. asked: the request it waits for, answered: the answer that has just come, (words, trouble).
    """

    actor: Actor
    id: str = ""
    inside: bool = False  # a member, as the coordinator sees it
    life: str = ""
    owns: list[Part] = field(default_factory=list)
    gives: list[Part] = field(default_factory=list)
    waits: list[Part] = field(default_factory=list)
    given: list[Part] = field(default_factory=list)  # by the coordinator's last word
    epoch: int = -1
    reconciled: bool = True  # nothing to give up, nothing to wait for, as the coordinator sees it
    asked: str = ""
    asked_at: int = -1
    answered: tuple[str, bool, int] | None = None  # words, whether it is trouble, at which step
    processing_ms: int = 0
    overdue: bool = False
    told: bool = False  # of the rebalance, and has not joined again yet
    why: str = ""  # it is in its state, in its own words
    revoked: list[Part] = field(default_factory=list)  # given up just now: its listener still runs

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
        return not self.inside and bool(self.owns) and self.life in ("", "frozen")

    @property
    def holds(self) -> bool:
        """What it owns is its own: by the coordinator's word, or because it is at work and believes so."""
        return self.inside or not self.life


@dataclass
class Group:
    """One group, moved on by its story. spans: lane -> (since when, who, what, the records that waited when it was
    over, or None); only ever appended to. What: "reads", "nobody", or "two" where two and more own it.
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

    @property
    def kind(self) -> str:
        return self.cast.kind

    def member(self, member_id: str) -> ShownMember | None:
        actor = self.cast.members.get(member_id)
        return self.of(actor) if actor else None

    def of(self, actor: Actor) -> ShownMember:
        return self.members.setdefault(actor.name, ShownMember(actor))

    def named(self, client: str) -> ShownMember | None:
        """The member that a client is now: the newest of its member ids."""
        found = [each for each in self.members.values() if each.actor.name.split(" (")[0] == client]
        return found[-1] if found else None

    @property
    def inside(self) -> list[ShownMember]:
        return [each for each in self.members.values() if each.inside]

    @property
    def cooperative(self) -> bool:
        return self.kind == "consumer" or "cooperative" in self.assignor or self.cast.keeps

    def parts(self, given: Iterable[Any]) -> list[Part]:
        return sorted((topic, number) for topic, number in given)

    def labels(self, parts: Iterable[Part]) -> str:
        names = [self.cast.label(part) for part in parts]
        return "all partitions" if 3 < len(names) == len(self.cast.parts) else listed(names)

    def owners(self, part: Part) -> list[ShownMember]:
        return [each for each in self.members.values() if part in each.owns]

    def waiting(self, part: Part) -> int:
        return max(self.end.get(part, 0) - self.position.get(part, 0), 0)

    # -- lanes

    def note(self, at: int) -> None:
        """Write down who reads what from now on."""
        for part in self.cast.parts:
            lane, owners = self.cast.label(part), self.owners(part)
            readers = [each.actor.name for each in owners if each.reads]
            if len(self.holders(part)) > 1:
                self._span(lane, at, [each.actor.name for each in self.holders(part)], "two")
            elif readers:
                self._span(lane, at, readers, "reads")
            elif owners or lane in self.spans:
                self._span(lane, at, [each.actor.name for each in owners if each.life == "frozen"][:1], "nobody")
        if self.state:
            self._span("group", at, [str(self.number)], self.state)

    def holders(self, part: Part) -> list[ShownMember]:
        """In the order of their letters; it should never be two."""
        return sorted([each for each in self.owners(part) if each.holds], key=lambda each: each.actor.number)

    @property
    def two_owners(self) -> list[Part]:
        """Partitions that have two owners now."""
        return [part for part in self.cast.parts if len(self.holders(part)) > 1]

    def _span(self, lane: str, at: int, who: list[str], what: str) -> None:
        spans = self.spans.setdefault(lane, [])
        if spans and spans[-1][1:3] == (who, what):
            return
        if spans:
            waited = sum(self.waiting(part) for part in self.cast.parts if self.cast.label(part) == lane)
            spans[-1] = (*spans[-1][:3], waited)
        spans.append((at, who, what, None))

    # -- one moment as plain JSON

    def space(self, step: int) -> dict[str, Any]:
        """step: the one that is told now."""
        parts = self.cast.parts
        names = ("kind", "state", "down", "number", "leader", "assignor")
        return {name: getattr(self, name) for name in names} | {
            "assigns": self._assigns(step),
            "waits_for": self._waits_for(),
            "two_owners": [self.cast.label(part) for part in self.two_owners],
            "inside": len(self.inside),
            "members": [self._member(each) for each in self._shown()],
            "free": [self.cast.label(part) for part in parts if not self._held(part)] if self.state else [],
            "waiting": {self.cast.label(part): self.waiting(part) for part in parts},
            "spans": {lane: list(spans) for lane, spans in sorted(self.spans.items())},
        }

    def _held(self, part: Part) -> bool:
        """By a member of the group: what a removed one still believes doesn't count."""
        return any(each.inside for each in self.owners(part))

    def _shown(self) -> list[ShownMember]:
        """At most six members, those inside first; in the order of their letters."""
        members = sorted(self.members.values(), key=lambda each: each.actor.number)
        chosen = sorted(members, key=lambda each: not (each.inside or each.owns))[:MOST_MEMBERS]
        return [each for each in members if each in chosen] if len(members) > MOST_MEMBERS else members

    def _assigns(self, step: int) -> str:
        """Who is busy assigning now: a member's name, "coordinator" or nobody."""
        if self.kind == "classic":
            return self.leader if self.state == "CompletingRebalance" else ""
        return "coordinator" if self.state == "Assigning" or self.assigned_at == step else ""

    @property
    def missing(self) -> list[ShownMember]:
        """Members that have not joined again yet."""
        return [each for each in self.inside if not each.joining]

    def _waits_for(self) -> list[str]:
        """Whose JoinGroup is missing; known only where the members tell."""
        if self.state != "PreparingRebalance" or not self.cast.clients_speak:
            return []
        return [each.actor.letter for each in self.missing]

    def _member(self, each: ShownMember) -> dict[str, Any]:
        label = self.cast.label
        return {
            "name": each.actor.name,
            "life": each.life,
            "inside": each.inside,
            "words": self.words(each),
            "trouble": each.is_blind or (each.overdue and each.reads),
            "owns": [label(part) for part in each.owns],
            "gives": [label(part) for part in each.must_give],
            "waits": [label(part) for part in each.still_waits],
            "asked": each.asked,
            "asked_at": each.asked_at,
            "answered": list(each.answered) if each.answered else None,
        }

    def words(self, each: ShownMember) -> str:
        """What a member does, in plain words."""
        if each.is_blind:
            return "frozen: is out, doesn't know it" if each.life else "is out, doesn't know it"
        if each.life == "closed" and each.inside:
            return "closed, still a member"
        if each.life == "crashed" and not each.inside:
            return "crashed, is out"
        if each.life:
            return AWAY[each.life]
        if not each.inside:
            return "asks to join" if each.asked else "not in the group" if each.id else "starts"
        if each.overdue:
            return "too slow: poll is overdue"
        if each.revoked:
            return f"gives up {self.labels(each.revoked) if each.owns else 'all'}"
        if each.asked == "LeaveGroup":
            return "leaves the group"
        if each.told:
            return "was told, joins at next poll"
        if each.must_give:
            return f"must give up {self.labels(each.must_give)}"
        if each.joining and self.state == "PreparingRebalance":
            whom = self.missing[0].actor.letter if len(self.missing) == 1 else "all"
            return f"reads on, waits for {whom}" if each.owns else f"waits for {whom}"
        if self.kind == "classic" and self.state == "CompletingRebalance":
            mine = each.actor.name == self.leader
            return "decides who reads what" if mine else "waits for a share"
        waits = each.still_waits
        if waits:
            holders = [(owner, part) for part in waits for owner in self.owners(part) if owner.inside]
            if holders:
                owner, part = holders[0]
                return f"waits until {owner.actor.letter} gives up {self.labels([part])}"
            unheard = [part for part in waits if part not in each.given]
            return f"waits to hear of {self.labels(unheard)}" if unheard else f"takes over {self.labels(waits)}"
        if not each.owns:
            return "owns nothing"
        if each.processing_ms:
            return f"reads, slowly: {each.processing_ms} ms a record"
        return "reads"


def listed(words: list[str]) -> str:
    """A, B and C."""
    if len(words) < 2:
        return "".join(words)
    if len(words) > MOST_NAMED:
        words = [*words[: MOST_NAMED - 1], f"{len(words) - MOST_NAMED + 1} more"]
    return f"{', '.join(words[:-1])} and {words[-1]}"
