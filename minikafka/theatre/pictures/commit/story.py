"""One partition, its readers in one group, and what they do with each record: the fold
of the commit point's picture (play.py draws it).

A record is done when its effect is written to a table outside Kafka (EffectWritten); in
a trace without such events, when it is handed over. Between the two it is *in hand*: in
the memory of a process that may crash. From this follow, at the exact event, the two
anomalies: a record is skipped when no process holds it any more and a reader begins
after it; it is a duplicate when its effect is written a second time.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.axis import Scene
from minikafka.theatre.casting import (
    busiest_group,
    busiest_partitions,
    groups_of_members,
)
from minikafka.theatre.clock import in_short
from minikafka.theatre.pictures.commit.fates import Fates
from minikafka.theatre.pictures.commit.memory import READ, TO_DO, Asked, Commit, Hands
from minikafka.theatre.pictures.commit.says import (
    HOW,
    SAYS,
    once_more,
    records,
    these_are,
)
from minikafka.theatre.pictures.log.state import Position
from minikafka.theatre.pictures.log.story import LogStory, lane_of
from minikafka.theatre.play import QUIETLY, Cast, Detail, EventId, Space, Told, picked
from minikafka.theatre.text import capital, in_words, key_part
from minikafka.trace import Event

# who writes an effect, where that is done outside of any client's program
YOUR_PROGRAM = "Your program"
UNCOMMITTED = "done, not yet committed"  # what comes again
LONGEST_VALUE = 24  # in a sentence
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
        super().__init__(trace, topic=self.topic, partitions=[partition], **options)
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
        self.hands = Hands()
        # whose memory the effect that was written last came from
        self.wrote = ""
        # while nothing is committed: the log's start, where a reader began
        self.began: int | None = None
        self.crashed: EventId | None = None
        # reader -> number of its crash and when that was, until it reads again
        self.crashes: dict[str, tuple[int, int]] = {}
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
            self, "topic", "group", "table", "committed", "expired", "flag", "wrote"
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
        hand = self.hands.hand(name)
        commit = self.under_way.get(name)
        space = picked(reader, "name", "state")
        space["next"] = reader.next.get(self.partition)
        space["hand"] = hand.space()
        space["holds"] = len(hand.held)
        space["commits"] = list(commit) if commit else None
        return space

    def _spans(self) -> Detail:
        """What a crash would do to the records between the committed offset and the
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
        """Whether the group will read records again, whatever happens now."""
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
        """The positions of those of these readers that have one."""
        places = []
        for reader in readers:
            place = reader.next.get(self.partition)
            if place is not None:
                places.append(place)
        return places

    def is_mine(self, event: Event) -> bool:
        """An effect may be anybody's; events of members belong to this picture if they
        read this partition.
        """
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
        node = event.node
        position = d["position"]
        offsets = [offset for offset, *_ in d["records"]]
        if not offsets:
            reader = self._reader(node)
            reader.next[d["partition"]] = position
            return QUIETLY

        skipped = self._jump(offsets[0])
        told = super()._see_RecordsPolled(event, d)
        again = self.fates.hand_over(offsets, position)
        self._into_hand(node, offsets)

        if node in self.crashes:
            number, at = self.crashes.pop(node)
            lasted = in_short(event.at - at)
            why = f"crashed, idle for {lasted}"
            for mark in told.marks:
                mark |= {"since": number, "why": why, "in_short": [lasted]}
        what = self._with_value(offsets)
        told.sentence = f"{node} is handed {what}, and will read {position} next."
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
        self.hands.hand_over(
            name,
            offsets,
            state=TO_DO if self.table else READ,
            done=self.fates.effects,
            committed=self.committed or 0,
            number=self.number,
        )
        if not self.table:
            for offset in offsets:
                self.fates.do(offset, self.number)

    def _with_value(self, offsets: Sequence[int]) -> str:
        """The records in words; of a single one its value, where that is short."""
        told = records(offsets)
        if len(offsets) > 1:
            return told
        log = self._log(self.partition)
        record = log.records.get(offsets[0])
        value = record.value if record else None
        if value and len(value) <= LONGEST_VALUE:
            return f"{told} (“{value}”)"
        return told

    def _see_EffectWritten(self, event: Event, d: Detail) -> Told | None:
        offset = self._meant(event, d)
        if offset is None or self._is_of_another(d):
            return None
        node = event.node
        times = self.fates.do(offset, self.number)
        is_there_twice = times > 1
        self._out_of_hand(offset, node)
        told = self.tell(
            event,
            writer=node if node in self.readers else YOUR_PROGRAM,
            record=offset,
            twice=once_more(times),
            mark=("effects", str(offset), is_there_twice),
        )

        if is_there_twice:
            told.chapter = self.once(f"duplicate of {offset}") and "duplicate"
            told.trouble = True
            told.light = self._light([offset], "twice")
            [mark] = told.marks
            mark |= {"since": self.fates.effects[offset][-2], "why": UNCOMMITTED}
        return told

    def ends(self, last: Scene) -> None:
        """The records that are in the table twice, and why."""
        doubled = [offset for offset, at in self.fates.effects.items() if len(at) > 1]
        if self.table and doubled:
            which = these_are(doubled)
            it = "it" if len(doubled) == 1 else "they"
            last["sentence"] = (
                f"{which} in {self.table} twice: {UNCOMMITTED}, so {it} came again."
            )
            last["light"] = [f"effect/{offset}" for offset in doubled]
            last["light"] += [f"effect/{offset}/2" for offset in doubled]
            last["light"] += ["lamp/twice", "time/lane/effects"]
            last["light"] += [
                f"time/lane/{key_part(lane_of(name))}" for name in self.readers
            ]

    def _is_of_another(self, d: Detail) -> bool:
        """Whether an effect belongs to another table or partition, as far as it
        says.
        """
        mine = picked(self, "table", "topic", "partition")
        for name, value in mine.items():
            said = d.get(name)
            if said is not None and said != value:
                return True
        return False

    def _out_of_hand(self, offset: int, writer: str) -> None:
        """The reader that holds the record has finished it. writer: of the record's
        effect.
        """
        holder = self.hands.is_done(
            offset, committed=self.committed or 0, number=self.number
        )
        self.wrote = writer if writer in self.readers else holder

    def _meant(self, event: Event, d: Detail) -> int | None:
        """The record behind an effect that does not name one: the oldest in its
        writer's hand.
        """
        if d.get("offset") is not None:
            return int(d["offset"])
        return self.hands.oldest(event.node)

    # -- commits

    def _see_CommitSent(self, event: Event, d: Detail) -> Told | None:
        offset = None
        for topic, partition, at in d["offsets"]:
            if (topic, partition) == (self.topic, self.partition):
                offset = at
        if offset is None or event.node not in self.readers:
            return None
        if offset == self.committed:
            return None  # auto-commit says the same every few seconds
        number = self.number
        self.under_way[event.node] = Commit(offset, number)
        self.asked[offset] = Asked(event.id, number)
        by = HOW.get(d["how"], "")
        return self.tell(event, by=by, asked=offset)

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
        self.hands.puts_down(offset)

        sentence = (
            f"The coordinator stores it: group {self.group} has committed {offset}"
        )
        if before is not None and offset < before:
            sentence += f", which is behind {before}"
        sentence += "."
        undone = []
        for each in sorted(self.hands.to_do()):
            if each < offset:
                undone.append(each)
        if undone:
            which = these_are(undone)
            sentence += f" {which} in hand and not yet in {self.table}."
        told = Told(
            sentence,
            self.once("first commit"),
            because=asked.event if asked else None,
            marks=self.mark("commits", str(offset)),
        )
        return self._with_skipped(told, self._settle())

    def _do_OffsetsExpired(self, event: Event, d: Detail) -> None:
        if self.committed is not None:
            self.expired = self.committed
        self.committed = self.began = self.flag = None
        self.commit = event.id

    _do_GroupDeleted = _do_OffsetsExpired

    # -- readers come and go

    def _see_PositionReset(self, event: Event, d: Detail) -> Told:
        offset = d["offset"]
        skipped = self._jump(offset)
        told = super()._see_PositionReset(event, d)
        log = self._log(self.partition)
        is_at_the_start = offset == log.log_start_offset
        has_records = offset < log.log_end_offset
        if self.committed is None and is_at_the_start and has_records:
            self.began = offset
        if told is QUIETLY:
            return told
        if event.node in self.crashes:  # until it reads, a span tells of it
            told.marks = []
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
        return self.tell(
            event, who=d.get("client") or d["member"], because=self.crashed
        )

    def _see_life(self, event: Event, life: str) -> Told | None:
        told = super()._see_life(event, life)
        node = event.node
        ends = event.kind in ("NodeCrashed", "ClientClosed")
        held = self.hands.is_gone(node, self.number) if ends else []
        if told is None or node not in self.readers:
            return told
        if event.kind == "NodeCrashed":
            self.crashed = event.id
            self.crashes[node] = (self.number, event.at)
            undone = self.fates.not_done(held)
            self._crash(told, node, undone)
        elif event.kind == "NodeRestarted":
            self.hands.forgets(node)
            self.under_way.pop(node, None)
            reader = self._reader(node)
            reader.next.pop(self.partition, None)
            told.sentence = f"{node} is back, and remembers nothing."
            if node in self.crashes:
                told.marks = []
        return told

    def _crash(self, told: Told, node: str, held: Sequence[int]) -> None:
        """A reader crashes: tell what it forgets, and what stays."""
        committed = self.committed or 0
        done = []
        for offset in sorted(self.fates.effects):
            if offset >= committed:
                done.append(offset)

        if held:
            forgets = f"forgets {records(held)}, which it had in hand"
            told.sentence = f"{node} crashes, and {forgets}."
        under_way = self.under_way.get(node)
        if under_way and under_way.offset != self.committed:
            told.sentence += f" Its commit of {under_way.offset} may be on its way."
        if not held and done and self.table:
            which = these_are(done)
            told.sentence += f" {which} in {self.table} and not committed."

    # -- who will never be read

    def _settle(self) -> list[int]:
        """Records that were handed over, are not done, in nobody's hand, and before the
        committed offset and the position.
        """
        committed = self.committed or 0
        position = self._position() or 0
        passed = min(committed, position)
        held = set(self.hands.to_do())
        return self.fates.give_up(passed, held, self.number)

    def _jump(self, offset: int) -> list[int]:
        """Records that a reader skips."""
        known = self._log(self.partition).records
        return self.fates.jump(offset, known, self.number)

    def _with_skipped(
        self, told: Told, skipped: list[int], why: str = "committed, and never done"
    ) -> Told:
        """Tells what was lost with this event."""
        if not skipped:
            return told
        which = these_are(skipped)
        told.sentence += f" {which} lost: {why}."
        told.trouble = True
        told.chapter = "lost"
        short = skipped[0] if len(skipped) == 1 else in_words(len(skipped))
        told.marks += self.mark("effects", f"{short} lost", trouble=True)
        told.light = self._light(skipped, "skipped")
        return told

    def _light(self, offsets: Sequence[int], lamp: str) -> list[str]:
        """The first time, the keys of the shapes that the step is about: these records,
        their fates, and the lamp.
        """
        partition = self.partition
        keys = []
        for offset in offsets:
            effect = f"effect/{offset}"
            keys.append(f"record/{partition}/{offset}")
            keys.append(effect)
            keys.append(f"{effect}/2")
        keys += [
            f"lamp/{lamp}",
            f"boundary/{partition}/committed",
            f"commit/{self.flag}",
            "expired",
            f"reader/{partition}",
            "row",
            "card",
        ]
        return self.first(f"light on {lamp}", *keys)


def _of_kind(trace: Sequence[Event], kind: str) -> list[Event]:
    return [event for event in trace if event.kind == kind]


def _busiest(mine: Sequence[Event]) -> int:
    """The partition that is read most."""
    reading = [event for event in mine if event.kind in OF_READING]
    found = busiest_partitions(reading or mine, 1)
    return found[0] if found else 0
