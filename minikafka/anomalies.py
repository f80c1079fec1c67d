"""What must never happen, looked for in a trace. The same detectors serve lessons,
checks and the fault simulator.

A group's promise, whatever fails: a member owns a partition from its assignment until
it gives it up, loses it, or is fenced, which means that the coordinator has put it out;
and no partition has two owners who are not fenced. A member may be fenced long before
it learns of it (a frozen process). It may then still hold partitions, and read; what it
may not do is commit.

An anomaly has a name:

    two owners       two members who are both not fenced own a partition
    early move       a partition was given away while its owner had not given it up
    fenced commit    a commit of a member that is out, or of a past generation, was accepted
    stale share      a member took a share that was not made for its generation
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from minikafka.trace import Event

TWO_OWNERS = "two owners"
EARLY_MOVE = "early move"
FENCED_COMMIT = "fenced commit"
STALE_SHARE = "stale share"


class Part(NamedTuple):
    """One partition of one group."""

    group: str
    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


class Anomaly(NamedTuple):
    """name: as above. event: the id of the event at which it shows. at: ms. what: in
    one sentence.
    """

    name: str
    event: tuple[str, int]
    at: int
    what: str


class GroupWatch:
    """What is known of the groups of a trace, event by event.

    holders: who holds a partition by its own account, node -> member id. fenced: member
    ids that are out. absent: static members that kept their place in a generation which
    they have not joined: nothing of theirs is accepted.
    """

    def __init__(self) -> None:
        self.holders: dict[Part, dict[str, str]] = {}
        self.fenced: set[str] = set()
        self.absent: dict[str, set[str]] = {}
        self._generation: dict[str, int] = {}  # classic groups only
        self._made: dict[tuple[str, int], dict[str, Any]] = {}
        # group, instance id -> member id
        self._instances: dict[tuple[str, str], str] = {}
        # of a static member that came back: its id before
        self._former: dict[str, str] = {}

    def see(self, event: Event) -> Iterator[Anomaly]:
        """Take in one event; gives the anomalies that it shows."""
        detail = event.detail
        match event.kind:
            case "PartitionsAssigned":
                yield from self._assigned(event)
            case "PartitionsRevoked" | "PartitionsLost":
                for part in parts(detail["group"], detail["partitions"]):
                    self.holders.get(part, {}).pop(event.node, None)
            case "NodeCrashed" | "NodeRestarted":
                for holders in self.holders.values():
                    holders.pop(event.node, None)
            case "MemberLeft":
                self.fenced.add(detail["member"])
            case "MemberJoined":
                self._joined(detail["group"], detail["member"], detail["instance"])
            case "GenerationBegan":
                group = detail["group"]
                self._generation[group] = detail["generation"]
                self.absent[group] = set(detail["absent"])
            case "GroupLoaded":
                self._loaded(detail["members"])
            case "AssignmentMade" if detail["by"] != "coordinator":
                generation = detail["group"], detail["generation"]
                self._made[generation] = detail["assignment"]
                for member, given in detail["assignment"].items():
                    yield from self._given(event, member, given)
            case "MemberReconciled":
                yield from self._given(event, detail["member"], detail["owned"])
            case "OffsetCommitted":
                yield from self._committed(event)

    def owners(self, part: Part) -> dict[str, str]:
        """Who owns a partition: those who hold it and are not fenced, node -> member
        id.
        """
        out = self.fenced | self.absent.get(part.group, set())
        owners = {}
        for node, member in self.holders.get(part, {}).items():
            if member not in out:
                owners[node] = member
        return owners

    def _joined(self, group: str, member: str, instance: str | None) -> None:
        # KIP-848: a member keeps its id when it joins again
        self.fenced.discard(member)
        if instance is not None:
            former = self._instances.get((group, instance))
            if former is not None and former != member:
                self._former[member] = former
            self._instances[group, instance] = member

    def _loaded(self, members: dict[str, list[str]]) -> None:
        """A new coordinator goes on with the last agreement: who was put out in a
        rebalance that never ended is in it again, and nobody has got its partitions.
        """
        for group, names in members.items():
            self.fenced -= set(names)
            self._generation.pop(group, None)

    def _assigned(self, event: Event) -> Iterator[Anomaly]:
        group = event.detail["group"]
        member = event.detail["member"]
        generation = event.detail["generation"]
        made = self._made_for(group, generation, member)
        if generation == self._generation.get(group):
            self.absent.get(group, set()).discard(member)
        for part in parts(group, event.detail["partitions"]):
            self.holders.setdefault(part, {})[event.node] = member
            owners = self.owners(part)
            if event.node in owners and len(owners) > 1:
                what = f"{' and '.join(sorted(owners))} own {part}"
                yield anomaly(TWO_OWNERS, event, what)
            if made is not None and [part.topic, part.number] not in made:
                what = f"{event.node} took {part}, not its in generation {generation}"
                yield anomaly(STALE_SHARE, event, what)

    def _made_for(self, group: str, generation: int, member: str) -> list[Any] | None:
        """What a classic leader assigned to a member in a generation; None where no
        leader assigns (KIP-848).
        """
        if not any(name == group for name, _ in self._made):
            return None
        made = self._made.get((group, generation), {})
        # it takes over what its instance was given
        while member not in made and member in self._former:
            member = self._former[member]
        assigned: list[Any] = made.get(member, [])
        return assigned

    def _given(
        self, event: Event, member: str, given: list[list[Any]]
    ) -> Iterator[Anomaly]:
        for part in parts(event.detail["group"], given):
            for node, owner in self.owners(part).items():
                if owner != member:
                    what = f"{part} went to {member} while {node} still owned it"
                    yield anomaly(EARLY_MOVE, event, what)

    def _committed(self, event: Event) -> Iterator[Anomaly]:
        member = event.detail["member"]
        generation = event.detail["generation"]
        current = self._generation.get(event.detail["group"], generation)
        if member in self.fenced:
            what = f"{member} is out, and its commit was accepted"
            yield anomaly(FENCED_COMMIT, event, what)
        elif member and generation != current:
            what = f"{member} committed in generation {generation}, it is {current}"
            yield anomaly(FENCED_COMMIT, event, what)


def group_anomalies(trace: Iterable[Event]) -> list[Anomaly]:
    """All anomalies of groups in a trace, in order."""
    watch = GroupWatch()
    return [found for event in trace for found in watch.see(event)]


def parts(group: str, partitions: Iterable[Any]) -> list[Part]:
    return [Part(group, topic, number) for topic, number in partitions]


def anomaly(name: str, event: Event, what: str) -> Anomaly:
    return Anomaly(name, event.id, event.at, what)
