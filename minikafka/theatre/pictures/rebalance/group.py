"""The state of the group at one moment, and since when it holds.

A partition is read while a member that holds it lives and is in the group. The
coordinators' events are enough to know that; if the members emit events too (in a
simulation), those say when they begin and stop.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from minikafka.theatre.pictures.rebalance.cast import Actor, Cast, Part
from minikafka.theatre.pictures.rebalance.member import Member
from minikafka.theatre.pictures.rebalance.spans import Span
from minikafka.theatre.text import listed
from minikafka.trace import Event

PHASES = {  # a group's state: in plain words, in short ones, and its fill
    "Empty": ("nobody is here", "nobody is here", "wash"),
    "PreparingRebalance": ("everyone joins", "join", "cell"),
    "CompletingRebalance": ("the leader assigns", "assign", "chip"),
    "Assigning": ("the coordinator assigns", "assign", "chip"),
    "Reconciling": ("members change over", "change over", "cell"),
    "Stable": ("Stable", "Stable", "good"),
    "Dead": ("gone", "gone", "wash"),
}


@dataclass
class Group:
    """One group, moved on by its story. number: generation of a classic group, epoch of
    a consumer group. node: the broker that is its coordinator. assigned_at: at which
    step an assignment was made. step: the one that is told now. at: its moment, in ms.
    told_at: when anything was told last. spans: by lane, and only ever appended to.
    """

    cast: Cast
    state: str = ""
    number: int = 0
    leader: str = ""
    assignor: str = ""
    began: bool = False
    node: str = ""
    down: bool = False
    assigned_at: int = -1
    step: int = 0
    at: int = 0
    told_at: int = -1
    members: dict[str, Member] = field(default_factory=dict)
    end: dict[Part, int] = field(default_factory=dict)
    position: dict[Part, int] = field(default_factory=dict)
    spans: dict[str, list[Span]] = field(default_factory=dict)

    # -- who is who

    def member(self, member_id: str) -> Member | None:
        actor = self.cast.members.get(member_id)
        return self.of(actor) if actor else None

    def of(self, actor: Actor) -> Member:
        return self.members.setdefault(actor.name, Member(actor))

    def named(self, client: str) -> Member | None:
        """The member that a client is now: the newest of its member ids."""
        members = self.members.values()
        found = [each for each in members if each.actor.client == client]
        return found[-1] if found else None

    def client(self, node: str) -> Member | None:
        """The same, but also a member that has not joined yet."""
        actors = [actor for actor in self.cast.actors if actor.client == node]
        if not actors:
            return None
        return self.named(node) or self.of(actors[-1])

    def about(self, event: Event) -> Member:
        """The member that an event is about: the one it names, or else the client that
        emits it. (If that doesn't belong to the group, its actions are not shown.)
        """
        member_id = event.detail.get("member")
        found = self.member(member_id) if member_id else self.named(event.node)
        return found or Member(self.cast.actors[0])

    @property
    def inside(self) -> list[Member]:
        return [each for each in self.members.values() if each.inside]

    @property
    def missing(self) -> list[Member]:
        """Members that have not joined again yet."""
        return [each for each in self.inside if not each.joining]

    # -- how it works

    @property
    def is_classic(self) -> bool:
        return self.cast.kind == "classic"

    @property
    def cooperative(self) -> bool:
        by_name = "cooperative" in self.assignor
        return by_name or self.cast.keeps or not self.is_classic

    @property
    def all_join(self) -> bool:
        """Whether it waits for JoinGroup of those that are missing: known only where
        the members tell.
        """
        return self.state == "PreparingRebalance" and self.cast.clients_speak

    def derived(self, state: str) -> None:
        """The state follows from what has happened, where nobody tells it."""
        if not self.cast.states_told:
            self.state = state

    # -- partitions

    def parts(self, given: Iterable[Any]) -> list[Part]:
        return sorted(Part(topic, number) for topic, number in given)

    def labels(self, parts: Iterable[Part]) -> str:
        names = [self.cast.label(part) for part in parts]
        are_all = len(names) == len(self.cast.parts)
        if are_all and len(names) > 3:
            return "all partitions"
        return listed(names)

    def owners(self, part: Part) -> list[Member]:
        return [each for each in self.members.values() if part in each.owns]

    def holders(self, part: Part) -> list[Member]:
        """In the order of their letters; it should never be two."""
        holders = [each for each in self.owners(part) if each.holds]
        return sorted(holders, key=by_letter)

    @property
    def two_owners(self) -> list[Part]:
        """Partitions that have two owners now."""
        owned = self._all_owners()
        two = []
        for part in self.cast.parts:
            if _are_two(owned.get(part, [])):
                two.append(part)
        return two

    def _all_owners(self) -> dict[Part, list[Member]]:
        found: dict[Part, list[Member]] = {}
        for each in self.members.values():
            for part in each.owns:
                found.setdefault(part, []).append(each)
        return found

    @property
    def is_given_out(self) -> bool:
        """Whether each partition is assigned to a member."""
        given = {part for each in self.inside for part in each.given}
        return self.state == "Stable" and given.issuperset(self.cast.parts)

    def waiting(self, part: Part) -> int:
        """How many records wait there."""
        end = self.end.get(part, 0)
        position = self.position.get(part, 0)
        return max(end - position, 0)

    # -- lanes

    @property
    def has_readers(self) -> bool:
        """Whether any partition has had a reader: from then on it counts where nobody
        reads.
        """
        return any(self.cast.label(part) in self.spans for part in self.cast.parts)

    def note(self, at: int) -> None:
        """Note which member reads what from now on."""
        all_owners = self._all_owners()
        for part in self.cast.parts:
            lane = self.cast.label(part)
            owners = all_owners.get(part, [])
            readers = [each for each in owners if each.reads]
            if _are_two(owners):
                holders = self.holders(part)
                names = [each.actor.name for each in holders]
                self._span(lane, at, names, "two")
            elif readers:
                self._reads(lane, at, readers)
            elif owners or lane in self.spans:
                frozen = [each.actor.name for each in owners if each.life == "frozen"]
                self._span(lane, at, frozen[:1], "nobody")

        if self.state:
            self._span("group", at, [str(self.number)], self.state)

    def _reads(self, lane: str, at: int, readers: list[Member]) -> None:
        """Somebody does, or has other records in hand."""
        names = [each.actor.name for each in readers]
        works = [each.work(at) for each in readers]
        busy = [work for work in works if work is not None]
        if len(busy) < len(readers):
            self._span(lane, at, names, "reads")
        else:
            self._span(lane, at, names, "busy", busy[0].words)

    def _span(
        self, lane: str, at: int, who: list[str], what: str, words: str = ""
    ) -> None:
        spans = self.spans.setdefault(lane, [])
        last = spans[-1] if spans else None
        if last and (last.who, last.what) == (who, what):
            return
        if last:
            spans[-1] = last._replace(waited=self._waiting_in(lane))
        spans.append(Span(since_ms=at, who=who, what=what, waited=None, words=words))

    def _waiting_in(self, lane: str) -> int:
        parts = [part for part in self.cast.parts if self.cast.label(part) == lane]
        return sum(self.waiting(part) for part in parts)


def by_letter(member: Member) -> int:
    return member.actor.number


def _are_two(owners: Iterable[Member]) -> bool:
    return sum(owner.holds for owner in owners) > 1
