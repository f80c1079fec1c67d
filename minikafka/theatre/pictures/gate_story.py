"""The fold of the gate's picture: partitions to which a transaction writes, and others
do, too; how far each may be read by those who want committed records; and what two
readers are handed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any, ClassVar

from minikafka.theatre.pictures.transaction_log import Log, Part, Record, part_of
from minikafka.theatre.pictures.transaction_story import (
    READ_COMMITTED,
    WHY_ABORTED,
    markers_of,
    readers_of,
)
from minikafka.theatre.play import (
    LIVES,
    QUIETLY,
    Cast,
    Detail,
    Says,
    Space,
    Story,
    Told,
)
from minikafka.theatre.text import capital, listed, quoted, span_of
from minikafka.trace import Event

MOST_PARTITIONS = 2
SAYS = {
    "NodeCrashed": Says("{node} crashes: what it had open stays open.", None, True),
    "NodeFrozen": Says("{node} is frozen: what it has open stays open.", None, True),
    "NodeThawed": Says("{node} goes on."),
    "NodeRestarted": Says("{node} is back."),
}


@dataclass
class Writer:
    """open: partitions of its open transaction, by name. ended: how the last one did.
    spans: from when to when one was open, in ms, with the event's number. told: how
    many of its records were acknowledged.
    """

    is_open: bool = False
    ended: str = ""
    spans: list[list[int | None]] = field(default_factory=list)
    told: int = 0

    def begins(self, at: int, number: int) -> None:
        if not self.is_open:
            self.spans.append([at, None, number])
        self.is_open = True
        self.ended = ""

    def ends(self, how: str, at: int) -> None:
        if self.is_open:
            self.spans[-1][1] = at
        self.is_open = False
        self.ended = how


@dataclass
class Read:
    """A record that a reader was handed."""

    place: int
    record: Record


class GateStory(Story):
    name = "gate"
    title = "Records, and two who read them"
    says: ClassVar[Mapping[str, Says]] = SAYS
    shows = ("levels", "most")

    def __init__(self, trace: Sequence[Event], **options: Any) -> None:
        super().__init__(trace, **options)
        self.markers = markers_of(trace)
        appended = [
            event
            for event in trace
            if event.kind == "RecordsAppended"
            and not event.detail["topic"].startswith("__")
        ]
        self.logs = {part: Log() for part in _busiest_parts(appended)}
        if self.logs:
            topics = listed(sorted({part.topic for part in self.logs}))
            self.title = f"{capital(topics)}, and two who read them"
        ends = [
            e.detail["last_offset"] + 1 for e in appended if part_of(e) in self.logs
        ]
        self.most = max(ends, default=0)
        self.levels = readers_of(trace, {part.topic for part in self.logs})
        self.read: dict[str, list[Read]] = {name: [] for name in self.levels}
        self.writers: dict[str, Writer] = {}
        self.ids: dict[str, str] = {}  # transactional id -> writer
        # (place, offset) -> from when to when it waited, in ms, with the event's number
        self.waits: dict[tuple[int, int], list[int | None]] = {}

    def cast(self) -> Cast:
        told = super().cast()
        told["parts"] = [part.name for part in self.logs]
        told["writers"] = list(self.writers)
        told["transactional"] = [
            name for name, writer in self.writers.items() if writer.spans
        ]
        told["waited"] = [
            [place, offset, self._log(place).records[offset].text]
            for place, offset in self.waits
        ]
        return told

    def is_mine(self, event: Event) -> bool:
        return bool(self.logs)

    def _log(self, place: int) -> Log:
        return list(self.logs.values())[place]

    def space(self) -> Space:
        return {
            "logs": [log.shown() for log in self.logs.values()],
            "writers": [
                [name, writer.is_open, writer.ended, writer.told, writer.spans]
                for name, writer in self._copied_writers()
            ],
            "readers": [
                [name, [self._as_it_is(read) for read in found]]
                for name, found in self.read.items()
            ],
            "waits": [[*key, *span] for key, span in self.waits.items()],
        }

    def _as_it_is(self, read: Read) -> list[Any]:
        """A record that was read, with what has become of it."""
        there = self._log(read.place).records.get(read.record.offset)
        state = there.state if there else read.record.state
        return [read.place, *astuple(replace(read.record, state=state))]

    def _copied_writers(self) -> list[tuple[str, Writer]]:
        copied = []
        for name, writer in self.writers.items():
            spans = [list(span) for span in writer.spans]
            copied.append(
                (name, Writer(writer.is_open, writer.ended, spans, writer.told))
            )
        return copied

    # -- fold: the transaction

    def _see_TransactionStateChanged(self, event: Event, d: Detail) -> Told | None:
        asker = self.asker(event)
        name = d["transactional_id"]
        state = d["state"]
        if state == "Ongoing" and asker:
            self.ids[name] = asker
        writer = self.writers.get(self.ids.get(name, ""))
        if state == "Ongoing" and asker:
            writer = self.writers.setdefault(asker, Writer())
            writer.begins(self.at, self.number)
            if d["was"] == "Ongoing":
                return QUIETLY
            return Told(f"{capital(asker)} begins a transaction.")
        if writer is None or not state.startswith("Prepare"):
            return QUIETLY
        how = "committed" if state == "PrepareCommit" else "aborted"
        writer.ends(how, self.at)
        why = "its producer asked for it"
        if how == "aborted":
            why = WHY_ABORTED.get(d["reason"], why)
        return Told(
            f"The coordinator ends the transaction of {self.ids[name]}: {how}, because"
            f" {why}.",
            f"the transaction is {how}",
            trouble=d["reason"] not in ("producer_aborts", "producer_commits"),
        )

    # -- fold: the logs

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told | None:
        part = part_of(event)
        log = self.logs.get(part)
        base = d["base_offset"]
        if log is None or (*part, base) in self.markers:
            return None
        who = self.asker(event) or "a producer"
        writer = self.writers.setdefault(who, Writer())
        is_open = "producer_id" in d
        if is_open:
            writer.begins(self.at, self.number)
        place = list(self.logs).index(part)
        values = {offset: value or "" for offset, _, value, *_ in d["records"]}
        offsets = range(base, d["last_offset"] + 1)
        for offset in offsets:
            if log.open and not is_open:
                self.waits[place, offset] = [self.at, None, self.number]
            text = values.get(offset, "")
            state = "open" if is_open else ""
            log.append(
                Record(
                    offset,
                    text,
                    who,
                    state,
                    self.number,
                )
            )
            if is_open:
                log.open[offset] = d["producer_id"]

        what = listed([quoted(values.get(each, ""), 24) for each in offsets], most=3)
        within = ", in its transaction" if is_open else ""
        return Told(
            f"{capital(who)} writes {what} to {part.name}{within}: {span_of(offsets)}.",
            self.once(f"{who} writes"),
        )

    def _see_RecordsAcknowledged(self, event: Event, d: Detail) -> Told | None:
        writer = self.writers.get(event.node)
        if writer is None or part_of(event) not in self.logs:
            return None
        writer.told += d["count"]
        return QUIETLY

    def _see_MarkerWritten(self, event: Event, d: Detail) -> Told | None:
        part = part_of(event)
        log = self.logs.get(part)
        if log is None:
            return None
        offset, outcome = d["offset"], d["outcome"]
        before = log.last_stable_offset
        word = "COMMIT" if outcome == "committed" else "ABORT"
        log.settle(d["producer_id"], outcome)
        log.append(
            Record(
                offset,
                word,
                "",
                word,
                self.number,
            )
        )
        words = (
            f"The leader of {part.name} appends the marker {word} at offset {offset}:"
            f" what the transaction wrote here is {outcome}."
        )
        opens = log.last_stable_offset > before
        light = [f"record/{list(self.logs).index(part)}/{offset}"] if opens else []
        return Told(words, f"{part.name}: {word}", light=light)

    def _see_HighWatermarkAdvanced(self, event: Event, d: Detail) -> Told | None:
        log = self.logs.get(part_of(event))
        if log is None or d["high_watermark"] <= log.high_watermark:
            return None
        log.high_watermark = d["high_watermark"]
        return QUIETLY

    # -- fold: who reads, who is away

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told | None:
        part = part_of(event)
        name = event.node
        if name not in self.read or part not in self.logs or not d["records"]:
            return None
        place = list(self.logs).index(part)
        log = self.logs[part]
        reads_committed = self.levels[name] == READ_COMMITTED
        freed = False
        for offset, _, value in d["records"]:
            there = log.records.get(offset)
            state = there.state if there else ""
            producer = there.producer if there else ""
            handed = Record(
                offset,
                value or "",
                producer,
                state,
                self.number,
            )
            self.read[name].append(Read(place, handed))
            waited = self.waits.get((place, offset))
            if reads_committed and waited and waited[1] is None:
                waited[1] = self.at
                freed = True

        what = listed([quoted(value or "–", 24) for _, _, value in d["records"]], 3)
        words = f"{capital(name)}, with {self.levels[name]}, is handed {what} of"
        words += f" {part.name}."
        chapter = self.once(f"{name} is handed records")
        if freed:
            chapter = "what waited is read"
        return Told(words, chapter)

    def _see_life(self, event: Event, d: Detail) -> Told | None:
        if event.node not in self.writers:
            return None
        life = LIVES[event.kind]
        if life == "closed" or event.kind not in self.says:
            return None
        return self.tell(event)


def _busiest_parts(appended: Sequence[Event]) -> list[Part]:
    """The partitions to which most is written, those with transactions first."""
    used: Counter[Part] = Counter()
    for event in appended:
        used[part_of(event)] += 100 if "producer_id" in event.detail else 1
    return sorted(part for part, _ in used.most_common(MOST_PARTITIONS))
