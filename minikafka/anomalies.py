"""Detects in a trace what must never happen. The same detectors serve lessons, checks
and the fault simulator.

A group's promise, whatever fails: a member owns a partition from its assignment until
it gives it up, loses it, or is fenced, which means that the coordinator has evicted it;
and no partition has two owners that are not fenced. A member may be fenced long before
it learns of it (a frozen process). It may then still hold partitions, and read, but it
must not commit.

A share group's promise (KIP-932): a record is accepted once; it is finished when it was
accepted, rejected, or delivered as often as it may be, and only then does the start
offset pass it. State that is written counts, whichever broker leads the partition next.
The decisions of a leader that has been replaced count only if they are written, and it
can't write any more. A record may be delivered again, and by a leader that doesn't know
that it was replaced, even to two members at once.

An anomaly has a name:

    two owners       two members who are both not fenced own a partition
    early move       a partition was given away while its owner had not given it up
    fenced commit    a commit of a member that is out, or of a past generation, was accepted
    stale share      a member took a share that was not made for its generation
    accepted twice   two deliveries of a record were accepted
    lost record      a start offset passed a record that was neither accepted nor archived
    extra delivery   a record was delivered more often than the limit
    start went back  a share partition began at an earlier offset than before
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.trace import Event

TWO_OWNERS = "two owners"
EARLY_MOVE = "early move"
FENCED_COMMIT = "fenced commit"
STALE_SHARE = "stale share"
ACCEPTED_TWICE = "accepted twice"
LOST_RECORD = "lost record"
EXTRA_DELIVERY = "extra delivery"
START_WENT_BACK = "start went back"

# states of records, as share partitions tell them
ACKNOWLEDGED = 2
ARCHIVED = 4
FINAL = (ACKNOWLEDGED, ARCHIVED)
MOST_DELIVERIES = 5  # Kafka's default of group.share.delivery.count.limit

# events about the state of a share partition
OF_SHARE_PARTITIONS = (
    "ShareStateRead",
    "ShareRecordsAcknowledged",
    "ShareRecordsAcquired",
    "ShareLocksEnded",
    "ShareRecordsArchived",
    "ShareStartOffsetMoved",
)

Place = tuple[str, int]  # a topic, and the number of one of its partitions

# first and last offset, state, how often delivered
Batch = tuple[int, int, int, int]


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
    """The state of each group, kept up to date with each event of a trace.

    holders: the nodes that say they hold a partition, node -> member id. fenced: ids of
    members that were evicted. absent: static members that kept their place in a
    generation which they have not joined: nothing of theirs is accepted.
    """

    def __init__(self) -> None:
        self.holders: dict[Part, dict[str, str]] = {}
        self.fenced: set[str] = set()
        self.absent: dict[str, set[str]] = {}
        self._generation: dict[str, int] = {}  # classic groups only
        # group, generation -> what its leader assigned, by member id
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
                self._gave_up(event)
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
                yield from self._made_by_leader(event)
            case "MemberReconciled":
                yield from self._given(event, detail["member"], detail["owned"])
            case "OffsetCommitted":
                yield from self._committed(event)

    def owners(self, part: Part) -> dict[str, str]:
        """The owners of a partition: those that hold it and are not fenced, node ->
        member id.
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
        if instance is None:
            return
        former = self._instances.get((group, instance))
        if former is not None and former != member:
            self._former[member] = former
        self._instances[group, instance] = member

    def _loaded(self, members: dict[str, list[str]]) -> None:
        """A new coordinator starts from the last agreement: a member that was evicted
        in a rebalance that never ended is in it again, and no other has got its
        partitions.
        """
        for group, names in members.items():
            self.fenced -= set(names)
            self._generation.pop(group, None)

    def _gave_up(self, event: Event) -> None:
        """A member knows that these are not its own any more."""
        for part in parts(event.detail["group"], event.detail["partitions"]):
            holders = self.holders.get(part, {})
            holders.pop(event.node, None)

    def _made_by_leader(self, event: Event) -> Iterator[Anomaly]:
        """The leader of a classic group has assigned all of a generation."""
        assignment = event.detail["assignment"]
        generation = event.detail["group"], event.detail["generation"]
        self._made[generation] = assignment
        for member, given in assignment.items():
            yield from self._given(event, member, given)

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
        """The assignment that a classic leader made for a member in a generation; None
        if no leader assigns (KIP-848).
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


@dataclass
class SharedPart:
    """What is known of one share partition.

    leader: the node that read its state last; what others do in memory doesn't count.
    start: where it begins, according to the leader; None if nothing is known yet.
    written_start: the same, as far as it is written. states: of records; written: those
    of them that are written. accepted: offset -> the member that accepted it, ever.
    had: records that some member had. deliveries: how often the leader delivered each,
    since it read the state.
    """

    leader: str = ""
    start: int | None = None
    written_start: int = 0
    states: dict[int, int] = field(default_factory=dict)
    written: dict[int, int] = field(default_factory=dict)
    accepted: dict[int, str] = field(default_factory=dict)
    had: set[int] = field(default_factory=set)
    deliveries: dict[int, int] = field(default_factory=dict)

    def become(self, batches: Iterable[Batch], is_written: bool = True) -> None:
        """Take in states of records."""
        for offset, state in by_record(batches):
            self.states[offset] = state
            if is_written:
                self.written[offset] = state

    def first_undone(self, offset: int) -> int:
        """Where it begins by what is written down, from an offset on."""
        while self.written.get(offset) in FINAL:
            offset += 1
        return offset


class ShareWatch:
    """The state of each share group, kept up to date with each event of a trace.
    most_deliveries: the groups' limit. It is assumed that nobody resets a group's offsets meanwhile.
    """

    def __init__(self, most_deliveries: int = MOST_DELIVERIES) -> None:
        self.parts: dict[Part, SharedPart] = {}
        self._most_deliveries = most_deliveries
        # the first offset of a log
        self._log_starts: dict[Place, int] = {}
        # partitions with records that readers of committed ones must not get
        self._with_aborted: set[Place] = set()

    def see(self, event: Event) -> Iterator[Anomaly]:
        """Take in one event; gives the anomalies that it shows."""
        detail = event.detail
        match event.kind:
            case "LogStartOffsetAdvanced":
                log = detail["topic"], detail["partition"]
                known = self._log_starts.get(log, 0)
                self._log_starts[log] = max(known, detail["log_start_offset"])
            case "MarkerWritten" if detail["outcome"] == "aborted":
                log = detail["topic"], detail["partition"]
                self._with_aborted.add(log)
            case kind if kind in OF_SHARE_PARTITIONS:
                yield from self._see_part(event)

    def _see_part(self, event: Event) -> Iterator[Anomaly]:
        """The anomalies in an event about one share partition. State that is only in a
        leader's memory counts while it leads.
        """
        detail = event.detail
        part = Part(detail["group"], detail["topic"], detail["partition"])
        known = self.parts.setdefault(part, SharedPart())
        is_its_leaders = event.node == known.leader
        match event.kind:
            case "ShareStateRead":
                yield from self._read(event, part, known)
            case "ShareRecordsAcknowledged":
                yield from self._acknowledged(event, part, known)
            case "ShareRecordsAcquired" if is_its_leaders:
                yield from self._acquired(event, part, known)
            case "ShareLocksEnded" | "ShareRecordsArchived" if is_its_leaders:
                known.become(detail["batches"], is_written=False)
            case "ShareStartOffsetMoved" if is_its_leaders:
                yield from self._start_moved(event, part, known)

    def _read(self, event: Event, part: Part, known: SharedPart) -> Iterator[Anomaly]:
        """A leader continues from the written state."""
        begins = event.detail["offset"]
        batches = event.detail["batches"]
        known.leader = event.node
        known.deliveries.clear()
        if known.start is None:
            known.written_start = begins
        elif begins > known.start:
            yield from self._passed(event, part, known, begins)
        known.states.clear()
        known.written.clear()
        known.become([(0, begins - 1, ARCHIVED, 0), *batches])
        known.start = known.first_undone(begins)
        if known.start < known.written_start:
            yield went_back(event, part, known.written_start, known.start)
        known.written_start = known.start

    def _acknowledged(
        self, event: Event, part: Part, known: SharedPart
    ) -> Iterator[Anomaly]:
        member = event.detail["member"]
        batches = event.detail["batches"]
        for offset, state in by_record(batches):
            if state != ACKNOWLEDGED:
                continue
            before = known.accepted.get(offset)
            if before is not None:
                what = f"{before} and then {member} accepted {part} at {offset}"
                yield anomaly(ACCEPTED_TWICE, event, what)
            known.accepted[offset] = member
        known.become(batches)
        known.written_start = known.first_undone(known.written_start)

    def _start_moved(
        self, event: Event, part: Part, known: SharedPart
    ) -> Iterator[Anomaly]:
        offset = event.detail["offset"]
        if known.start is not None and offset < known.start:
            yield went_back(event, part, known.start, offset)
        yield from self._passed(event, part, known, offset)
        known.start = offset

    def _acquired(
        self, event: Event, part: Part, known: SharedPart
    ) -> Iterator[Anomaly]:
        for first, last, count in event.detail["batches"]:
            if known.start is not None and first < known.start:
                yield went_back(event, part, known.start, first)
            offsets = range(first, last + 1)
            known.had.update(offsets)
            for offset in offsets:
                delivered = known.deliveries.get(offset, 0) + 1
                known.deliveries[offset] = delivered
                times = max(count, delivered)
                if times > self._most_deliveries:
                    what = f"{part} at {offset} was delivered {times} times"
                    yield anomaly(EXTRA_DELIVERY, event, what)

    def _passed(
        self, event: Event, part: Part, known: SharedPart, offset: int
    ) -> Iterator[Anomaly]:
        """The start offset passes records: each must be done with, or gone."""
        log = part.topic, part.number
        first = max(known.start or 0, self._log_starts.get(log, 0))
        for passed in range(first, offset):
            is_done_with = known.states.get(passed) in FINAL
            is_aborted = log in self._with_aborted and passed not in known.had
            if not is_done_with and not is_aborted:
                what = f"{part} begins at {offset}, and nobody dealt with {passed}"
                yield anomaly(LOST_RECORD, event, what)


def by_record(batches: Iterable[Batch]) -> Iterator[tuple[int, int]]:
    """The offset and the state of each record of these batches."""
    for first, last, state, _ in batches:
        for offset in range(first, last + 1):
            yield offset, state


def went_back(event: Event, part: Part, was: int, now: int) -> Anomaly:
    what = f"{part} goes on from {now}, and had begun at {was}"
    return anomaly(START_WENT_BACK, event, what)


def share_anomalies(
    trace: Iterable[Event], most_deliveries: int = MOST_DELIVERIES
) -> list[Anomaly]:
    """All anomalies of share groups in a trace, in order."""
    watch = ShareWatch(most_deliveries)
    return [found for event in trace for found in watch.see(event)]


def group_anomalies(trace: Iterable[Event]) -> list[Anomaly]:
    """All anomalies of groups in a trace, in order."""
    watch = GroupWatch()
    return [found for event in trace for found in watch.see(event)]


def parts(group: str, partitions: Iterable[Any]) -> list[Part]:
    return [Part(group, topic, number) for topic, number in partitions]


def anomaly(name: str, event: Event, what: str) -> Anomaly:
    return Anomaly(name, event.id, event.at, what)
