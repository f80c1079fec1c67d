"""What a trace tells about one partition, its readers in one group, and what they do
with each record: the fold of the commit point's picture (commit_point.py draws it).

A record is done when its effect is written to a table outside Kafka (EffectWritten); in
a trace without such events, when it is handed over. Between the two it is *in hand*: in
the memory of a process that may crash. From this follow, at the exact event, the two
anomalies: a record is skipped when nobody holds it any more and a reader begins after
it; it is a duplicate when its effect is written a second time.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from minikafka.theatre.casting import (
    busiest_group,
    busiest_partitions,
    groups_of_members,
)
from minikafka.theatre.pictures.log_state import Position
from minikafka.theatre.pictures.log_story import LogStory
from minikafka.theatre.play import (
    QUIETLY,
    Cast,
    Detail,
    EventId,
    Says,
    Space,
    Told,
    picked,
)
from minikafka.theatre.text import capital, listed
from minikafka.trace import Event

HOW = {
    "auto": "Auto-commit: ",
    "close": "On closing, ",
    "revoke": "Before it gives the partition up, ",
}
# who writes an effect, where that is done outside of any client's program
YOUR_PROGRAM = "Your program"
ASSIGNMENTS = ("PartitionsAssigned", "PartitionsRevoked", "PartitionsLost")
READ = ("RecordsPolled", "OffsetCommitted", "EffectWritten")
OF_THE_LOG = {
    kind: says
    for kind, says in LogStory.says.items()
    if kind != "SegmentRolled"  # no story of this picture
}
SAYS = {
    **OF_THE_LOG,
    "EffectWritten": Says(
        "{writer} writes record {record} to {table}{twice}.", first="first effect"
    ),
    "CommitSent": Says(
        "{by}{node} asks the coordinator to note offset {asked} for the group."
    ),
    "CommitFailed": Says(
        "{node} could not commit: {error}.",
        "{error}",
        True,
        mark=("{lane}", "refused", True),
    ),
    "OffsetsExpired": Says(
        "The committed offset of group {group} has expired: it is deleted.",
        "the commit expires",
        True,
        mark=("commits", "expired", True),
    ),
    "GroupDeleted": Says(
        "Group {group} is deleted, with its commits.",
        "the group is deleted",
        mark=("commits", "deleted"),
    ),
    "PartitionsAssigned": Says(
        "{node} is given partition {mine}, in generation {generation} of the group."
    ),
    "PartitionsRevoked": Says("{node} gives partition {mine} up."),
    "PartitionsLost": Says("{node} gives partition {mine} up."),
    "MemberLeft": Says("{who} is out of the group: {why}."),
}


class CommitStory(LogStory):
    """The story of one partition and one group."""

    name, title = "commit", "The commit point"
    says = SAYS

    def __init__(
        self,
        trace: Sequence[Event],
        *,
        topic: str | None = None,
        partition: int | None = None,
        group: str | None = None,
        table: str | None = None,
        **options: Any,
    ) -> None:
        commits = [event for event in trace if event.kind == "OffsetCommitted"]
        polls = [event for event in trace if event.kind == "RecordsPolled"]
        mine = self.choose(trace, topic, commits, polls)
        if partition is None:
            partition = _busiest(mine)
        super().__init__(trace, topic=self.topic, partitions=[partition], **options)
        self.partition = partition
        self.group = group or busiest_group(trace, self.topic)
        self.groups = groups_of_members(trace)
        effects = [event for event in trace if event.kind == "EffectWritten"]
        tables = [event.detail["table"] for event in effects]
        self.table = table or (tables[0] if tables else "")

        if self.topic:
            who = self.group or "A reader"
            self.title = f"{who} and partition {partition} of {self.topic}"

        self.committed: int | None = None
        self.commit: EventId | None = None  # id of the event that moved it
        # reader -> offset of a commit that has no answer yet
        self.under_way: dict[str, int] = {}
        # offset -> id of the event that last asked to commit it
        self.asked: dict[int, EventId] = {}
        self.given: set[int] = set()  # offsets handed over to anyone of the group
        # those of them whose effect isn't there, and that may come yet
        self.undone: set[int] = set()
        # reader -> offsets handed over and not done
        self.in_hand: dict[str, list[int]] = {}
        # offset -> numbers of the events that wrote its effect
        self.effects: dict[int, list[int]] = {}
        # offset -> number of the event after which nobody will read it
        self.skipped: dict[int, int] = {}
        self.furthest: int | None = None  # the group has read up to here
        # while nothing is committed: the log's start, where a reader began
        self.began: int | None = None
        self.crashed: EventId | None = None

    def cast(self) -> Cast:
        return super().cast() | {"group": self.group}

    def space(self) -> Space:
        log = self._log(self.partition)
        readers = list(self.readers.values())
        places = [reader.next.get(self.partition) for reader in readers]
        standing = [offset for offset in places if offset is not None]
        repeated = [offset for offset in self.effects if len(self.effects[offset]) > 1]
        near = [*standing, self.committed or 0, *self.skipped, *repeated]
        effects = sorted(self.effects.items())
        return picked(self, "topic", "group") | {
            "log": log.space(near),
            "committed": self.committed,
            "readers": [self._reader_space(reader) for reader in readers],
            "table": self.table,
            "effects": {str(offset): list(numbers) for offset, numbers in effects},
            "spans": self._spans(),
            "comes_again": self._comes_again(),
            "skipped": {
                str(offset): each for offset, each in sorted(self.skipped.items())
            },
            "down": self.away,
        }

    def _reader_space(self, reader: Position) -> Space:
        """A reader, and what it has in hand and under way."""
        in_hand = sorted(self.in_hand.get(reader.name, ()))
        return picked(reader, "name", "state") | {
            "next": reader.next.get(self.partition),
            "in_hand": in_hand,
            "commits": self.under_way.get(reader.name),
        }

    def _spans(self) -> Detail:
        """What a crash would make of the records between the committed offset and the
        position, as [from, up to].
        """
        begins = self.began if self.committed is None else self.committed
        furthest = self.furthest or 0

        again = None
        if begins is not None:
            position = self._position()
            is_back = position is not None and position < furthest
            first = begins if position is None or not is_back else position
            again = [first, furthest] if first < furthest else None

        before = self._undone_before(self.committed or 0)
        lost = [min(before), self.committed] if before else None
        return {"lost": lost, "again": again}

    def _comes_again(self) -> bool:
        """Whether the group goes over records once more, whatever happens now."""
        position = self._position()
        return position is None or position < (self.furthest or 0)

    def _undone_before(self, offset: int) -> list[int]:
        """Records that were handed over, are not done, and stand before an offset."""
        return [each for each in self.undone if each < offset]

    def _position(self) -> int | None:
        """Where the group reads: the furthest of its readers that live."""
        alive = [each for each in self.readers.values() if each.state in ("", "frozen")]
        places = [each.next.get(self.partition) for each in alive]
        return max((place for place in places if place is not None), default=None)

    def is_mine(self, event: Event) -> bool:
        """An effect may be anybody's; of members it is who reads this partition."""
        if event.kind == "EffectWritten":  # it may say no topic, group or partition
            return True
        is_of_a_member = event.node in self.groups and event.node not in self.readers
        if event.kind.startswith("Node") and is_of_a_member:
            return False  # it reads other partitions
        if event.kind in ASSIGNMENTS and not self.parts_of(event):
            return False
        return super().is_mine(event)

    def details(self, event: Event) -> Detail:
        return super().details(event) | {"mine": self.partition, "group": self.group}

    # -- handed over, done

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told:
        offsets = [offset for offset, *_ in d["records"]]
        if not offsets:
            self._reader(event.node).next[d["partition"]] = d["position"]
            return QUIETLY

        skipped = self._jump(offsets[0])
        again = [offset for offset in offsets if offset in self.given]
        told = super()._see_RecordsPolled(event, d)
        self.given.update(offsets)
        self.undone.update(self._not_done(offsets))
        self.furthest = max(self.furthest or 0, d["position"])

        if self.table:
            held = self._not_done(self.in_hand.get(event.node, ()))
            self.in_hand[event.node] = [*held, *offsets]
        else:
            for offset in offsets:
                self._done(offset)

        what = self._with_value(offsets)
        told.sentence = (
            f"{event.node} is handed {what}: its next one is {d['position']}."
        )
        if again:
            told.sentence += f" {capital(records(again))} had been handed over before."
            told.because = self.commit or told.because
            if not self.table:
                told.trouble = True
                told.light = self._light(again, "twice")
        return self._with_skipped(told, skipped, "never read")

    def _with_value(self, offsets: Sequence[int]) -> str:
        """The records in words; of a single one its value, where that is short."""
        record = self._log(self.partition).records.get(offsets[0])
        value = record.value if record and len(offsets) == 1 else None
        is_short = bool(value) and len(value or "") <= 24
        if is_short:
            return f"{records(offsets)} (“{value}”)"
        return records(offsets)

    def _not_done(self, offsets: Iterable[int]) -> list[int]:
        """Those of these records whose effect is not there."""
        return [offset for offset in offsets if offset not in self.effects]

    def _see_EffectWritten(self, event: Event, d: Detail) -> Told | None:
        offset = self._meant(event, d)
        mine = {"table": self.table, "topic": self.topic, "partition": self.partition}
        is_of_another = any(d.get(name) not in (None, mine[name]) for name in mine)
        if offset is None or is_of_another:
            return None
        times = self._done(offset)
        for held in self.in_hand.values():
            if offset in held:
                held.remove(offset)

        is_there_twice = times > 1
        mark = ("effects", str(offset), is_there_twice)
        writer = event.node if event.node in self.readers else YOUR_PROGRAM
        told = self.tell(
            event, writer=writer, record=offset, twice=_again(times), mark=mark
        )

        if is_there_twice:
            told.chapter = self.once(f"duplicate of {offset}") and "duplicate"
            told.trouble = True
            told.light = self._light([offset], "twice")
        return told

    def _meant(self, event: Event, d: Detail) -> int | None:
        """The record behind an effect that does not name one: the oldest in its
        writer's hand.
        """
        if d.get("offset") is not None:
            return int(d["offset"])
        hands = [self.in_hand.get(event.node, []), *self.in_hand.values()]
        return next((held[0] for held in hands if held), None)

    def _done(self, offset: int) -> int:
        """How often this record's effect is there now."""
        self.effects.setdefault(offset, []).append(self.number)
        self.skipped.pop(offset, None)
        self.undone.discard(offset)
        return len(self.effects[offset])

    # -- commits

    def _see_CommitSent(self, event: Event, d: Detail) -> Told | None:
        here = (self.topic, self.partition)
        asked = [at for topic, number, at in d["offsets"] if (topic, number) == here]
        offset = asked[0] if asked else None
        if offset in (None, self.committed) or event.node not in self.readers:
            return None  # auto-commit says the same every few seconds
        self.under_way[event.node] = offset
        self.asked[offset] = event.id
        return self.tell(event, by=HOW.get(d["how"], ""), asked=offset)

    def _do_CommitAcknowledged(self, event: Event, d: Detail) -> None:
        self.under_way.pop(event.node, None)

    _do_CommitFailed = _do_CommitAcknowledged

    def _see_OffsetCommitted(self, event: Event, d: Detail) -> Told | None:
        offset = d["offset"]
        before = self.committed
        if offset == before:
            return None
        self.committed = offset
        self.commit = event.id
        words = f"group {self.group} has committed {offset}"
        if before is not None and offset < before:
            words += f", which is behind {before}"
        sentence = f"The coordinator notes it: {words}."
        held = sorted(each for each in self._all_in_hand() if each < offset)
        if self.table and held:
            sentence += f" {_these_are(held)} in hand and not yet in {self.table}."
        told = Told(
            sentence,
            self.once("first commit"),
            because=self.asked.get(offset),
            marks=self.mark("commits", str(offset)),
        )
        return self._with_skipped(told, self._settle())

    def _all_in_hand(self) -> list[int]:
        """Whoever has them."""
        return [offset for held in self.in_hand.values() for offset in held]

    def _do_OffsetsExpired(self, event: Event, d: Detail) -> None:
        self.committed = self.began = None
        self.commit = event.id

    _do_GroupDeleted = _do_OffsetsExpired

    # -- readers come and go

    def _see_PositionReset(self, event: Event, d: Detail) -> Told:
        skipped = self._jump(d["offset"])
        told = super()._see_PositionReset(event, d)
        log = self._log(self.partition)
        is_at_the_start = log.log_start_offset == d["offset"] < log.log_end_offset
        if self.committed is None and is_at_the_start:
            self.began = d["offset"]
        if told is QUIETLY:
            return told
        told.because = told.because or self.commit
        told = self._with_skipped(told, skipped, "never read")
        return self._with_skipped(told, self._settle())

    def _see_PartitionsAssigned(self, event: Event, d: Detail) -> Told:
        self._reader(event.node)
        return self.tell(event, because=self.crashed)

    def _do_PartitionsRevoked(self, event: Event, d: Detail) -> None:
        self._reader(event.node).next.pop(self.partition, None)

    _do_PartitionsLost = _do_PartitionsRevoked

    def _see_MemberLeft(self, event: Event, d: Detail) -> Told:
        who = d.get("client") or d["member"]
        return self.tell(event, who=who, because=self.crashed)

    def _see_life(self, event: Event, d: Detail) -> Told | None:
        told = super()._see_life(event, d)
        reader = self.readers.get(event.node)
        held: list[int] = []
        if event.kind in ("NodeCrashed", "ClientClosed"):
            held = self.in_hand.pop(event.node, [])
        if told is None or reader is None:
            return told
        if event.kind == "NodeCrashed":
            self.crashed = event.id
            self._crash(told, event.node, self._not_done(held))
        elif event.kind == "NodeRestarted":
            reader.next.pop(self.partition, None)
            told.sentence = f"{event.node} is back, and remembers nothing."
        return told

    def _crash(self, told: Told, node: str, held: Sequence[int]) -> None:
        """What a reader forgets, and what stays."""
        under_way = self.under_way.pop(node, None)
        committed = self.committed or 0
        done = sorted(offset for offset in self.effects if offset >= committed)

        if held:
            forgets = f"forgets {records(held)}, which it had in hand"
            told.sentence = f"{node} crashes, and {forgets}."
        if under_way is not None and under_way != self.committed:
            told.sentence += f" Its commit of {under_way} may be on its way."
        if not held and done and self.table:
            told.sentence += f" {_these_are(done)} in {self.table} and not committed."

    # -- who will never be read

    def _settle(self) -> list[int]:
        """Records that were handed over, are not done, in nobody's hand, and before the
        committed offset and the position.
        """
        passed = min(self.committed or 0, self._position() or 0)
        held = set(self._all_in_hand())
        given_up = [each for each in self._undone_before(passed) if each not in held]
        return self._skip(sorted(given_up))

    def _jump(self, offset: int) -> list[int]:
        """Records that a reader goes past without reading them, where the group was
        before.
        """
        if self.furthest is None or offset <= self.furthest:
            return []
        known = self._log(self.partition).records
        past = [each for each in range(self.furthest, offset) if each in known]
        self.furthest = offset
        return self._skip(past)

    def _skip(self, offsets: Iterable[int]) -> list[int]:
        """Nobody will read these; returns those that this is news of."""
        new = [each for each in self._not_done(offsets) if each not in self.skipped]
        self.skipped.update(dict.fromkeys(new, self.number))
        self.undone.difference_update(new)
        return new

    def _with_skipped(
        self, told: Told, skipped: list[int], why: str = "committed, and never done"
    ) -> Told:
        """Tells what was lost with this event."""
        if not skipped:
            return told
        told.sentence += f" {_these_are(skipped)} lost: {why}."
        told.trouble = True
        told.chapter = "lost"
        which = skipped[0] if len(skipped) == 1 else len(skipped)
        told.marks += self.mark("effects", f"{which} lost", True)
        told.light = self._light(skipped, "skipped")
        return told

    def _light(self, offsets: Sequence[int], lamp: str) -> list[str]:
        """The first time, the keys of what the picture is about: these records, what
        became of them, and the lamp.
        """
        partition = self.partition
        keys = []
        for offset in offsets:
            effect = f"effect/{offset}"
            keys += [f"record/{partition}/{offset}", effect, f"{effect}/2"]

        keys += [f"lamp/{lamp}", f"boundary/{partition}/committed"]
        return self.first(f"light on {lamp}", *keys, f"reader/{partition}", "row")


def _busiest(mine: Sequence[Event]) -> int:
    """The partition that is read most."""
    reading = [event for event in mine if event.kind in READ]
    found = busiest_partitions(reading or mine, 1)
    return found[0] if found else 0


def records(offsets: Sequence[int]) -> str:
    """record 4 · records 4 and 6 · records 4 to 6"""
    first = offsets[0]
    last = offsets[-1]
    count = len(offsets)
    if 2 < count == last - first + 1:
        return f"records {first} to {last}"
    if count > 6:
        return f"{count} records"
    return f"record{'s' if count > 1 else ''} {listed(offsets)}"


def _again(times: int) -> str:
    """How often an effect is there, where it is more than once."""
    if times <= 1:
        return ""
    if times == 2:
        return " again: it is there twice"
    return f" yet again: it is there {times} times"


def _these_are(offsets: Sequence[int]) -> str:
    """The beginning of a sentence about records."""
    verb = "is" if len(offsets) == 1 else "are"
    return f"{capital(records(offsets))} {verb}"
