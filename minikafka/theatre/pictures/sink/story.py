"""The fold of the sinks' picture: one partition, its readers, and what each reader has
written outside Kafka, in the order of writing; the reader's progress according to
Kafka, and according to its sink, if the offset is stored with the result.

Only the reader's process knows that an order is done and not committed.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.casting import groups_of_members
from minikafka.theatre.pictures.sink.cast import (
    AGAIN,
    DONE,
    KILLED,
    KNOWN,
    LOST,
    NEAR,
    STILL,
    TO_DO,
    Held,
    Lasted,
    Reader,
    Record,
    Sink,
    orders,
)
from minikafka.theatre.pictures.sink.ending import in_short
from minikafka.theatre.play import QUIETLY, Cast, Detail, Says, Space, Story, Told
from minikafka.theatre.text import capital
from minikafka.trace import Event

MOST_READERS = 2
AN_AMOUNT = re.compile(r"(\d{1,9}) (\w+)")
SAYS = {
    "NodeCrashed": Says("{node} is killed.", "{node} is killed", True),
    "NodeFrozen": Says("{node} stands still.", "{node} stands still", True),
    "NodeThawed": Says("{node} goes on, with what it has in memory.", "{node} goes on"),
    "NodeRestarted": Says(
        "{node} starts again, and remembers nothing.", "{node} starts again"
    ),
    "PositionReset": Says("{node} goes on at offset {offset}: {why}."),
    "MemberLeft": Says("{who} is evicted from the group: {why}.", "{who} is evicted"),
    "CommitFailed": Says(
        "Kafka refuses the commit of {node}: {error}. What it has written stays.",
        "a commit is refused",
        True,
    ),
}


class Part(NamedTuple):
    topic: str
    partition: int

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}" if self.topic else ""


class Amount(NamedTuple):
    """The amount that an effect adds, if it is a number of something."""

    number: int
    unit: str

    @classmethod
    def of(cls, d: Detail) -> "Amount | None":
        found = AN_AMOUNT.fullmatch(str(d.get("value") or ""))
        return cls(int(found[1]), found[2]) if found else None


class SinkStory(Story):
    name = "sink"
    title = "What readers write outside Kafka"
    says: ClassVar[Mapping[str, Says]] = SAYS

    def __init__(self, trace: Sequence[Event], **options: object) -> None:
        super().__init__(trace, **options)
        polls = [event for event in trace if event.kind == "RecordsPolled"]
        effects = [event for event in trace if event.kind == "EffectWritten"]
        self.pollers = list(dict.fromkeys(event.node for event in polls))
        self.part = _busiest(polls)
        if self.part.name:
            self.title = f"{self.part.name}, and what its readers write elsewhere"
        self.readers = self._those_who_read(trace, polls, effects)
        self.sinks: dict[str, Sink] = {}
        self._build_sinks(effects)
        self.records: dict[int, Record] = {}
        self.committed: dict[str, int] = {}

    def _those_who_read(
        self, trace: Sequence[Event], polls: Sequence[Event], effects: Sequence[Event]
    ) -> dict[str, Reader]:
        """The reader that writes most; then others that read the same partition."""
        wrote = Counter(self._writer(event) for event in effects)
        chosen = [name for name, _ in wrote.most_common()]
        for event in polls:
            if _part_of(event) == self.part:
                chosen.append(event.node)
        few = list(dict.fromkeys(chosen))[:MOST_READERS]
        groups = groups_of_members(trace)
        # as they came
        nodes = dict.fromkeys(event.node for event in trace)
        there = [name for name in nodes if name in few]
        return {name: Reader(name, group=groups.get(name, "")) for name in there}

    def _build_sinks(self, effects: Sequence[Event]) -> None:
        tables = [event.detail["table"] for event in effects]
        for event in effects:
            reader = self.readers.get(self._writer(event))
            if reader is not None and not reader.table:
                reader.table = event.detail["table"]
        for reader in self.readers.values():
            reader.table = reader.table or (tables[0] if tables else "")
            if reader.table:
                self.sinks.setdefault(reader.table, Sink(reader.table))
        for event in effects:
            sink = self.sinks.get(event.detail["table"])
            amount = Amount.of(event.detail)
            if sink is not None and amount is not None:
                sink.sums[amount.unit] += 0
                sink.right[amount.unit] += 0

    def _writer(self, event: Event) -> str:
        """Whose effect it is: a client's, or a program's, which is called otherwise."""
        name = str(event.detail.get("reader") or event.node)
        if name in self.pollers or not self.pollers:
            return name
        return self.pollers[0]

    def cast(self) -> Cast:
        told = super().cast()
        told["part"] = self.part.name
        told["members"] = [list(each.member()) for each in self.readers.values()]
        told["most"] = min(len(self.records), NEAR)
        told["notes"] = [
            sink.name for sink in self.sinks.values() if sink.noted is not None
        ]
        return told

    def is_mine(self, event: Event) -> bool:
        topic = event.detail.get("topic", self.part.topic)
        partition = event.detail.get("partition", self.part.partition)
        if None in (topic, partition):
            return bool(self.part.topic)
        return bool(self.part.topic) and (topic, partition) == self.part

    def space(self) -> Space:
        near = sorted(self.records)[-NEAR:]
        return {
            "records": [list(self.records[offset]) for offset in near],
            "readers": [reader.space() for reader in self.readers.values()],
            "sinks": [sink.space() for sink in self.sinks.values()],
            "committed": dict(self.committed),
        }

    # -- from the log into a hand

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told:
        offsets = range(d["base_offset"], d["last_offset"] + 1)
        values = {offset: value for offset, _, value, *_ in d["records"]}
        for offset in offsets:
            value = values.get(offset) or ""
            self.records[offset] = Record(offset, value, self.number)
        who = self.asker(event) or "a producer"
        words = f"{capital(who)} writes {orders(offsets)} to {self.part.name}."
        return Told(words, self.once("an order is written"))

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told | None:
        reader = self.readers.get(event.node)
        offsets = [offset for offset, *_ in d["records"]]
        if reader is None or not offsets:
            return None
        for offset in offsets:
            reader.hand[offset] = Held(
                offset,
                TO_DO,
                self.number,
                self.at,
            )
        words = f"{capital(reader.name)} is handed {orders(offsets)}."
        return Told(words, self.once("an order is handed out"))

    # -- into a sink

    def _see_EffectWritten(self, event: Event, d: Detail) -> Told | None:
        reader = self.readers.get(self._writer(event))
        sink = self.sinks.get(d["table"])
        if reader is None or sink is None:
            return None
        noted = d.get("noted", {}).get(self.part.name)
        offset = _meant(reader, d, noted)
        if offset is None:
            return None
        amount = Amount.of(d)
        times = sink.gets(offset, reader.name, self.number)
        if amount is not None:
            sink.sums[amount.unit] += amount.number
            sink.right[amount.unit] += amount.number if times == 1 else 0
        reader.becomes(offset, DONE, self.number)
        span = Lasted(
            self.at,
            None,
            self.number,
            offset,
            what=AGAIN if times > 1 else DONE,
        )
        reader.spans.append(span)
        words = f"{capital(reader.name)} writes order {offset} to {sink.name}"
        if noted is not None:
            sink.noted = noted
            words += f" and, in the same transaction, that offset {noted} is done"
        marks = self.mark(reader.name, str(offset), times > 1)
        if times == 1:
            return Told(f"{words}.", self.once("an order counts"), marks=marks)
        so_often = "twice" if times == 2 else f"{times} times"
        return Told(
            f"{words}. Now it is there {so_often}.",
            f"order {offset} is there {so_often}",
            trouble=True,
            marks=marks,
            light=[
                f"sink/{sink.name}/row",
                f"sink/{sink.name}/noted",
                f"sink/{sink.name}/sum",
                f"sink/{sink.name}/lamp",
                f"reader/{reader.name}/note",
                "time",
            ],
        )

    def _see_NoteRead(self, event: Event, d: Detail) -> Told | None:
        """What a reader knows of its sink from now on, right or not."""
        reader = self.readers.get(self._writer(event))
        if reader is None or d["name"] != self.part.name:
            return None
        reader.read = "none" if d["value"] is None else str(d["value"])
        reader.read_ms = self.at
        return QUIETLY

    # -- known to Kafka

    def _see_OffsetCommitted(self, event: Event, d: Detail) -> Told | None:
        group, offset = d["group"], d["offset"]
        members = [each for each in self.readers.values() if each.group == group]
        if not members:
            return None
        self.committed[group] = offset
        asker = self.asker(event) or ""
        reader = self.readers.get(asker, members[0])
        reader.is_committed(self.at)
        reader.committed = offset
        known = self._left_out(reader, offset)
        reader.puts_down(offset)
        whom = f"group {group}" if len(members) > 1 else "it"
        words = f"{capital(reader.name)} commits: Kafka notes offset {offset} for"
        words += f" {whom}."
        if not known:
            return Told(words, self.once("a commit"))
        verb = "is" if len(known) == 1 else "are"
        table = reader.table
        left_out = f"{capital(table)} has offset {known[-1]} already, so"
        left_out += f" {orders(known)} {verb} not added."
        light = [f"order/{each}" for each in known]
        light += [
            f"sink/{table}/noted/offset",
            f"reader/{reader.name}",
            "time",
        ]
        return Told(
            f"{left_out} {words}",
            f"{orders(known)}: known already",
            light=light,
        )

    def _left_out(self, reader: Reader, up_to: int) -> list[int]:
        """Orders that it has not written, because its sink has noted them."""
        sink = self.sinks.get(reader.table)
        if sink is None or sink.noted is None:
            return []
        known = []
        for offset in reader.offsets(TO_DO):
            if offset >= up_to or offset > sink.noted:
                continue
            known.append(offset)
            held = reader.hand[offset]
            span = Lasted(
                held.since_ms,
                self.at,
                held.number,
                offset,
                KNOWN,
            )
            reader.spans.append(span)
        return known

    def _see_CommitFailed(self, event: Event, d: Detail) -> Told | None:
        reader = self.readers.get(event.node)
        if reader is None:
            return None
        reader.is_committed(self.at)
        reader.refused = d["error"]
        return self.tell(event, mark=(reader.name, "refused", True))

    def ends(self, last: Scene) -> None:
        """Tell the result, once every reader has committed what it did."""
        if any(reader.hand and not reader.refused for reader in self.readers.values()):
            return
        words = in_short(self.sinks, self.readers)
        if words:
            last["sentence"] = words
        if words and any(sink.twice for sink in self.sinks.values()):
            told = []
            for name in self.sinks:
                parts = ("row", "sum", "lamp", "noted")
                told += [f"sink/{name}/{part}" for part in parts]
            told += [f"reader/{name}/note" for name in self.readers]
            last["light"] = [*told, "time"]

    # -- who is away

    def _see_life(self, event: Event, life: str) -> Told | None:
        reader = self.readers.get(event.node)
        if reader is None or event.kind not in self.says:
            return None
        if event.kind == "NodeCrashed":
            return self._killed(event, reader)
        if event.kind == "NodeFrozen":
            reader.goes(STILL, self.at, self.number)
            return self.tell(event, light=[f"reader/{reader.name}"])
        reader.is_back(self.at)
        return self.tell(event)

    def _killed(self, event: Event, reader: Reader) -> Told:
        """The contents of its memory are gone, those of its sink are not."""
        reader.is_committed(self.at)
        done = reader.offsets(DONE)
        for offset in reader.hand:
            reader.becomes(offset, LOST, self.number)
        reader.goes(KILLED, self.at, self.number)
        is_first = self.once(KILLED)
        light = [f"reader/{name}" for name in self.readers] if is_first else []
        told = self.tell(event, light=light)
        if done:
            verb = "is" if len(done) == 1 else "are"
            what = capital(orders(done))
            told.sentence += f" {what} {verb} in {reader.table}, but not committed."
        return told

    def _see_PositionReset(self, event: Event, d: Detail) -> Told | None:
        if event.node not in self.readers:
            return None
        return self.tell(event) if self.committed else QUIETLY

    def _see_MemberLeft(self, event: Event, d: Detail) -> Told | None:
        who = d.get("client")
        if who not in self.readers or d["reason"] == "static_member_replaced":
            return None
        return self.tell(event, who=who)


def _part_of(event: Event) -> Part:
    return Part(event.detail["topic"], event.detail["partition"])


def _busiest(polls: Sequence[Event]) -> Part:
    """The partition that is read most."""
    used = Counter(_part_of(event) for event in polls)
    for part, _ in used.most_common(1):
        return part
    return Part("", 0)


def _meant(reader: Reader, d: Detail, noted: int | None) -> int | None:
    """The order behind an effect: the one that it names, or that is noted with it;
    else the oldest that is to be done.
    """
    offset: int | None = d.get("offset")
    if offset is None:
        offset = noted
    if offset is None:
        offset = min(reader.offsets(TO_DO), default=None)
    return offset
