"""What a trace tells about one partition, its readers in one group, and what they do
with each record: the fold of the commit point's picture (commit_point.py draws it).

A record is done when its effect is written to a table outside Kafka (EffectWritten); in
a trace without such events, when it is handed over. Between the two it is *in hand*: in
the memory of a process that may crash. From this follow, at the exact event, the two
anomalies: a record is skipped when nobody holds it any more and a reader begins after
it; it is a duplicate when its effect is written a second time.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.casting import (
    busiest_group,
    busiest_partitions,
    groups_of_members,
)
from minikafka.theatre.pictures.commit_cast import (
    READ,
    TO_DO,
    Asked,
    Commit,
    Hand,
)
from minikafka.theatre.pictures.commit_fates import Fates
from minikafka.theatre.pictures.commit_says import (
    HOW,
    SAYS,
    once_more,
    records,
    these_are,
)
from minikafka.theatre.pictures.log_state import Position
from minikafka.theatre.pictures.log_story import LogStory
from minikafka.theatre.play import (
    QUIETLY,
    Cast,
    Detail,
    EventId,
    Space,
    Told,
    picked,
)
from minikafka.theatre.text import capital
from minikafka.trace import Event

# who writes an effect, where that is done outside of any client's program
YOUR_PROGRAM = "Your program"
ASSIGNMENTS = ("PartitionsAssigned", "PartitionsRevoked", "PartitionsLost")
OF_READING = ("RecordsPolled", "OffsetCommitted", "EffectWritten")


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
        commits = _of_kind(trace, "OffsetCommitted")
        polls = _of_kind(trace, "RecordsPolled")
        mine = self.choose(trace, topic, commits, polls)
        if partition is None:
            partition = _busiest(mine)
        super().__init__(
            trace,
            topic=self.topic,
            partitions=[partition],
            **options,
        )
        self.partition = partition
        self.group = group or busiest_group(trace, self.topic)
        self.groups = groups_of_members(trace)
        effects = _of_kind(trace, "EffectWritten")
        self.table = table or ""
        if effects and not table:
            self.table = effects[0].detail["table"]
        if self.topic:
            who = self.group or "A reader"
            self.title = f"{who} and partition {partition} of {self.topic}"

        self.committed: int | None = None
        self.commit: EventId | None = None  # id of the event that moved it
        self.flag: int | None = None  # number of the event that asked to move it
        self.expired: int | None = None  # what was committed, and is deleted
        # reader -> its commit that has no answer yet
        self.under_way: dict[str, Commit] = {}
        self.asked: dict[int, Asked] = {}  # by offset
        self.fates = Fates()
        self.hands: dict[str, Hand] = {}  # by reader
        # whose memory the effect that was written last came from
        self.wrote = ""
        # while nothing is committed: the log's start, where a reader began
        self.began: int | None = None
        self.crashed: EventId | None = None
        self.producers: list[str] = []

    def cast(self) -> Cast:
        return super().cast() | {"group": self.group}

    def space(self) -> Space:
        log = self._log(self.partition)
        readers = list(self.readers.values())
        standing = self._places(readers)
        committed = self.committed or 0
        expired = self.expired or 0
        near = [*standing, committed, expired, *self.fates.worth_showing()]
        space = picked(
            self,
            "topic",
            "group",
            "table",
            "committed",
            "expired",
            "flag",
            "wrote",
        )
        space |= self.fates.space()
        space["log"] = log.space(near)
        space["producers"] = list(self.producers)
        space["readers"] = [self._reader_space(reader) for reader in readers]
        space["spans"] = self._spans()
        space["comes_again"] = self._comes_again()
        space["down"] = self.away
        return space

    def _reader_space(self, reader: Position) -> Space:
        """A reader, and what it has in memory and under way."""
        name = reader.name
        hand = self.hands.get(name, Hand())
        commit = self.under_way.get(name)
        space = picked(reader, "name", "state")
        space["next"] = reader.next.get(self.partition)
        space["hand"] = hand.space()
        space["holds"] = len(hand.held)
        space["commits"] = list(commit) if commit else None
        return space

    def _spans(self) -> Detail:
        """What a crash would make of the records between the committed offset and the
        position, as [from, up to].
        """
        begins = self.began if self.committed is None else self.committed
        furthest = self.fates.furthest or 0

        again = None
        if begins is not None:
            position = self._position()
            is_back = position is not None and position < furthest
            first = begins if position is None or not is_back else position
            again = [first, furthest] if first < furthest else None

        before = self.fates.undone_before(self.committed or 0)
        lost = [min(before), self.committed] if before else None
        return {"lost": lost, "again": again}

    def _comes_again(self) -> bool:
        """Whether the group goes over records once more, whatever happens now."""
        position = self._position()
        furthest = self.fates.furthest or 0
        return position is None or position < furthest

    def _position(self) -> int | None:
        """Where the group reads: the furthest of its readers that live."""
        alive = [
            reader for reader in self.readers.values() if reader.state in ("", "frozen")
        ]
        return max(self._places(alive), default=None)

    def _places(self, readers: Sequence[Position]) -> list[int]:
        """Where those of these readers stand that stand anywhere."""
        places = []
        for reader in readers:
            place = reader.next.get(self.partition)
            if place is not None:
                places.append(place)
        return places

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
        names = super().details(event)
        names["mine"] = self.partition
        names["group"] = self.group
        return names

    # -- written, handed over, done

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told:
        who = self.asker(event) or "a producer"
        if who not in self.producers:
            self.producers.append(who)
        return super()._see_RecordsAppended(event, d)

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told:
        offsets = [offset for offset, *_ in d["records"]]
        if not offsets:
            self._reader(event.node).next[d["partition"]] = d["position"]
            return QUIETLY

        skipped = self._jump(offsets[0])
        told = super()._see_RecordsPolled(event, d)
        position = d["position"]
        again = self.fates.hand_over(offsets, position)
        self._into_hand(event.node, offsets)

        what = self._with_value(offsets)
        told.sentence = f"{event.node} is handed {what}: its next one is {position}."
        if again:
            which = capital(records(again))
            told.sentence += f" {which} had been handed over before."
            told.because = self.commit or told.because
            if not self.table:
                told.trouble = True
                told.light = self._light(again, "twice")
        return self._with_skipped(told, skipped, "never read")

    def _into_hand(self, name: str, offsets: Sequence[int]) -> None:
        """Where there is no table, a record is done when it is handed over."""
        hand = self._hand(name)
        for offset in hand.to_do():
            if offset in self.fates.effects:
                hand.is_done(offset, self.number)
        hand.puts_down(self.committed or 0)
        state = TO_DO if self.table else READ
        hand.takes(offsets, state, self.number)
        if not self.table:
            for offset in offsets:
                self.fates.do(offset, self.number)

    def _hand(self, name: str) -> Hand:
        """What a reader has in memory; it may be new."""
        return self.hands.setdefault(name, Hand())

    def _with_value(self, offsets: Sequence[int]) -> str:
        """The records in words; of a single one its value, where that is short."""
        record = self._log(self.partition).records.get(offsets[0])
        value = record.value if record and len(offsets) == 1 else None
        is_short = bool(value) and len(value or "") <= 24
        if is_short:
            return f"{records(offsets)} (“{value}”)"
        return records(offsets)

    def _see_EffectWritten(self, event: Event, d: Detail) -> Told | None:
        offset = self._meant(event, d)
        if offset is None or self._is_of_another(d):
            return None
        times = self.fates.do(offset, self.number)
        self._out_of_hand(offset, event.node)
        is_there_twice = times > 1
        writer = event.node if event.node in self.readers else YOUR_PROGRAM
        told = self.tell(
            event,
            writer=writer,
            record=offset,
            twice=once_more(times),
            mark=("effects", str(offset), is_there_twice),
        )

        if is_there_twice:
            told.chapter = self.once(f"duplicate of {offset}") and "duplicate"
            told.trouble = True
            told.light = self._light([offset], "twice")
        return told

    def _is_of_another(self, d: Detail) -> bool:
        """Whether an effect is of another table or partition, as far as it says."""
        mine = picked(self, "table", "topic", "partition")
        return any(d.get(name) not in (None, mine[name]) for name in mine)

    def _out_of_hand(self, offset: int, writer: str) -> None:
        """Whoever holds the record has it to do no more. writer: of its effect."""
        self.wrote = writer if writer in self.readers else ""
        for name, hand in self.hands.items():
            if offset in hand.to_do():
                hand.is_done(offset, self.number)
                hand.puts_down(self.committed or 0)
                self.wrote = self.wrote or name

    def _meant(self, event: Event, d: Detail) -> int | None:
        """The record behind an effect that does not name one: the oldest in its
        writer's hand.
        """
        if d.get("offset") is not None:
            return int(d["offset"])
        of_its_writer = self.hands.get(event.node, Hand())
        hands = [of_its_writer, *self.hands.values()]
        in_hand = [offset for hand in hands for offset in hand.to_do()]
        return in_hand[0] if in_hand else None

    # -- commits

    def _see_CommitSent(self, event: Event, d: Detail) -> Told | None:
        here = (self.topic, self.partition)
        asked = [at for topic, number, at in d["offsets"] if (topic, number) == here]
        offset = asked[0] if asked else None
        if offset in (None, self.committed) or event.node not in self.readers:
            return None  # auto-commit says the same every few seconds
        self.under_way[event.node] = Commit(offset, self.number)
        self.asked[offset] = Asked(event.id, self.number)
        return self.tell(event, by=HOW.get(d["how"], ""), asked=offset)

    def _do_CommitAcknowledged(self, event: Event, d: Detail) -> None:
        self.under_way.pop(event.node, None)

    _do_CommitFailed = _do_CommitAcknowledged

    def _see_OffsetCommitted(self, event: Event, d: Detail) -> Told | None:
        offset = d["offset"]
        before = self.committed
        if offset == before:
            return None
        asked = self.asked.get(offset)
        self.committed = offset
        self.commit = event.id
        self.flag = asked.number if asked else self.number
        for hand in self.hands.values():
            hand.puts_down(offset)

        sentence = (
            f"The coordinator notes it: group {self.group} has committed {offset}"
        )
        if before is not None and offset < before:
            sentence += f", which is behind {before}"
        sentence += "."
        held = sorted(each for each in self._all_in_hand() if each < offset)
        if self.table and held:
            sentence += f" {these_are(held)} in hand and not yet in {self.table}."
        told = Told(
            sentence,
            self.once("first commit"),
            because=asked.event if asked else None,
            marks=self.mark("commits", str(offset)),
        )
        return self._with_skipped(told, self._settle())

    def _all_in_hand(self) -> list[int]:
        """Whoever has them."""
        return [offset for hand in self.hands.values() for offset in hand.to_do()]

    def _do_OffsetsExpired(self, event: Event, d: Detail) -> None:
        if self.committed is not None:
            self.expired = self.committed
        self.committed = self.began = self.flag = None
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
        if event.kind in ("NodeCrashed", "ClientClosed") and event.node in self.hands:
            held = self.hands[event.node].is_lost(self.number)
        if told is None or reader is None:
            return told
        if event.kind == "NodeCrashed":
            self.crashed = event.id
            self._crash(told, event.node, self.fates.not_done(held))
        elif event.kind == "NodeRestarted":
            reader.next.pop(self.partition, None)
            self.hands.pop(event.node, None)
            self.under_way.pop(event.node, None)
            told.sentence = f"{event.node} is back, and remembers nothing."
        return told

    def _crash(self, told: Told, node: str, held: Sequence[int]) -> None:
        """What a reader forgets, and what stays."""
        under_way = self.under_way.get(node)
        committed = self.committed or 0
        done = sorted(each for each in self.fates.effects if each >= committed)

        if held:
            forgets = f"forgets {records(held)}, which it had in hand"
            told.sentence = f"{node} crashes, and {forgets}."
        if under_way and under_way.offset != self.committed:
            told.sentence += f" Its commit of {under_way.offset} may be on its way."
        if not held and done and self.table:
            told.sentence += f" {these_are(done)} in {self.table} and not committed."

    # -- who will never be read

    def _settle(self) -> list[int]:
        """Records that were handed over, are not done, in nobody's hand, and before the
        committed offset and the position.
        """
        passed = min(self.committed or 0, self._position() or 0)
        held = set(self._all_in_hand())
        return self.fates.give_up(passed, held, self.number)

    def _jump(self, offset: int) -> list[int]:
        """Records that a reader goes past without reading them."""
        known = self._log(self.partition).records
        return self.fates.jump(offset, known, self.number)

    def _with_skipped(
        self, told: Told, skipped: list[int], why: str = "committed, and never done"
    ) -> Told:
        """Tells what was lost with this event."""
        if not skipped:
            return told
        told.sentence += f" {these_are(skipped)} lost: {why}."
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
        keys += [f"commit/{self.flag}", "expired"]
        return self.first(
            f"light on {lamp}", *keys, f"reader/{partition}", "row", "card"
        )


def _of_kind(trace: Sequence[Event], kind: str) -> list[Event]:
    return [event for event in trace if event.kind == kind]


def _busiest(mine: Sequence[Event]) -> int:
    """The partition that is read most."""
    reading = [event for event in mine if event.kind in OF_READING]
    found = busiest_partitions(reading or mine, 1)
    return found[0] if found else 0
