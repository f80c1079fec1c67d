"""The fold of the gate's picture: partitions to which a transaction writes, and others
do, too; how far each may be read by those who want committed records; and what two
readers are handed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any, ClassVar

from minikafka.theatre.axis import Scene
from minikafka.theatre.pictures.gate.cast import Freed, Place, Read, Span, Writer
from minikafka.theatre.pictures.transaction.cast import (
    READ_COMMITTED,
    markers_of,
    readers_of,
)
from minikafka.theatre.pictures.transaction.log import Log, Part, Record, part_of
from minikafka.theatre.pictures.transaction.says import WHY_ABORTED
from minikafka.theatre.play import QUIETLY, Cast, Detail, Says, Space, Story, Told
from minikafka.theatre.text import capital, listed, quoted, span_of
from minikafka.trace import Event

MOST_PARTITIONS = 2
AS_ASKED = "its producer asked for it"
BY_ITS_PRODUCER = ("producer_aborts", "producer_commits")
SAYS = {
    "NodeCrashed": Says("{node} crashes: what it had open stays open.", None, True),
    "NodeFrozen": Says("{node} is frozen: what it has open stays open.", None, True),
    "NodeThawed": Says("{node} goes on."),
    "NodeRestarted": Says("{node} is back."),
}


class GateStory(Story):
    """The gate of a partition is its last stable offset, which Log computes from the
    open transactions. The story adds which readers wait behind it, since when, and
    until when.
    """

    name = "gate"
    title = "Records, and two consumers that read them"
    says: ClassVar[Mapping[str, Says]] = SAYS
    shows = ("levels", "most")

    def __init__(self, trace: Sequence[Event], **options: Any) -> None:
        super().__init__(trace, **options)
        appended = _appended(trace)
        self.markers = markers_of(trace)
        self.logs: dict[Part, Log] = {}
        for part in _busiest_parts(appended):
            self.logs[part] = Log()

        topics = {part.topic for part in self.logs}
        if topics:
            names = listed(sorted(topics))
            self.title = f"{capital(names)}, and two consumers that read them"

        # records of the longest log, in the end
        self.most = 0
        for event in appended:
            end = event.detail["last_offset"] + 1
            if part_of(event) in self.logs:
                self.most = max(self.most, end)

        self.levels = readers_of(trace, topics)
        self.read: dict[str, list[Read]] = {}
        for name in self.levels:
            self.read[name] = []

        self.writers: dict[str, Writer] = {}
        # transactional id -> writer
        self.ids: dict[str, str] = {}
        self.waits: dict[Place, Span] = {}
        # the last one that had waited
        self.freed: Freed | None = None

    def cast(self) -> Cast:
        """The producers, and those whose records ever wait, for the names of
        the lanes.
        """
        transactional = []
        for name, writer in self.writers.items():
            if writer.spans:
                transactional.append(name)

        waited = []
        for place in self.waits:
            record = self._record(place)
            waited.append([*place, record.text])

        told = super().cast()
        told["parts"] = [part.name for part in self.logs]
        told["writers"] = list(self.writers)
        told["transactional"] = transactional
        told["waited"] = waited
        return told

    def is_mine(self, event: Event) -> bool:
        """Where nothing is written there is nothing to tell."""
        return bool(self.logs)

    def _log(self, number: int) -> Log:
        """By the number of its partition."""
        logs = list(self.logs.values())
        return logs[number]

    def _number(self, part: Part) -> int:
        """The number of a partition among those that are shown."""
        parts = list(self.logs)
        return parts.index(part)

    def _writer(self, name: str) -> Writer:
        """One that is known already, or a new one."""
        if name not in self.writers:
            self.writers[name] = Writer(name)
        return self.writers[name]

    def _record(self, place: Place) -> Record:
        """The record at a place in a log."""
        log = self._log(place.log)
        return log.records[place.offset]

    def space(self) -> Space:
        """The scene's state, as plain data."""
        readers = []
        for name, found in self.read.items():
            handed = [self._as_it_is(read) for read in found]
            readers.append([name, handed])

        waits = []
        for place, span in self.waits.items():
            waits.append([*place, *span])

        return {
            "logs": [log.shown() for log in self.logs.values()],
            "writers": [writer.space() for writer in self.writers.values()],
            "readers": readers,
            "waits": waits,
        }

    def _as_it_is(self, read: Read) -> list[Any]:
        """A record that was read, with what has become of it."""
        record = read.record
        log = self._log(read.log)
        there = log.records.get(record.offset)
        if there:
            record = replace(record, state=there.state)
        return [read.log, *astuple(record)]

    # -- fold: the transaction

    def _see_TransactionStateChanged(self, event: Event, d: Detail) -> Told | None:
        """It begins with its first partition, and ends with the decision."""
        asker = self.asker(event)
        name = d["transactional_id"]
        state = d["state"]
        if state == "Ongoing" and asker:
            self.ids[name] = asker
            writer = self._writer(asker)
            writer.begins(self.at, self.number)
            if d["was"] == "Ongoing":
                return QUIETLY
            return Told(f"{capital(asker)} begins a transaction.")

        who = self.ids.get(name, "")
        if who not in self.writers or not state.startswith("Prepare"):
            return QUIETLY
        return self._ends(who, d)

    def _ends(self, who: str, d: Detail) -> Told:
        """It is decided how a transaction ends."""
        reason = d["reason"]
        how, verb = "aborted", "aborts"
        why = WHY_ABORTED.get(reason, AS_ASKED)
        if d["state"] == "PrepareCommit":
            how, verb = "committed", "commits"
            why = AS_ASKED

        self.writers[who].ends(how, self.at)
        words = f"The coordinator {verb} the transaction of {who}, because {why}."
        return Told(
            words,
            f"the transaction is {how}",
            trouble=reason not in BY_ITS_PRODUCER,
        )

    # -- fold: the logs

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told | None:
        """A record of no transaction waits behind one that is open."""
        part = part_of(event)
        log = self.logs.get(part)
        base = d["base_offset"]
        if log is None or (*part, base) in self.markers:
            return None
        who = self.asker(event) or "a producer"
        writer = self._writer(who)
        is_open = "producer_id" in d
        if is_open:
            writer.begins(self.at, self.number)

        number = self._number(part)
        state = "open" if is_open else ""
        values = {}
        for offset, _, value, *_ in d["records"]:
            values[offset] = value or ""

        end = d["last_offset"] + 1
        offsets = range(base, end)
        texts = []
        for offset in offsets:
            text = values.get(offset, "")
            texts.append(text)
            if is_open:
                log.open[offset] = d["producer_id"]
            elif log.open:
                place = Place(number, offset)
                span = Span(self.at, None, self.number)
                self.waits[place] = span
            record = Record(
                offset,
                text,
                who,
                state,
                self.number,
            )
            log.append(record)

        what = _quoted(texts)
        where = span_of(offsets)
        words = f"{capital(who)} writes {what} to {part.name}"
        if is_open:
            words += ", in its transaction"
        chapter = self.once(f"{who} writes")
        return Told(f"{words}: {where}.", chapter)

    # -- fold: how far it goes

    def _see_RecordsAcknowledged(self, event: Event, d: Detail) -> Told | None:
        """Its writer has done all it can: for it the record is written."""
        part = part_of(event)
        writer = self.writers.get(event.node)
        if writer is None or part not in self.logs:
            return None
        writer.told += d["count"]
        return QUIETLY

    def _see_MarkerWritten(self, event: Event, d: Detail) -> Told | None:
        """A marker, once it is replicated, opens the gate, if no other transaction is
        open before it.
        """
        part = part_of(event)
        log = self.logs.get(part)
        if log is None:
            return None

        offset = d["offset"]
        outcome = d["outcome"]
        word = "COMMIT" if outcome == "committed" else "ABORT"
        opens = log.settle(d["producer_id"], outcome, marker=offset)
        marker = Record(
            offset,
            word,
            "",
            word,
            self.number,
        )
        log.append(marker)

        words = (
            f"The leader of {part.name} appends the marker {word} at offset {offset}:"
            f" what the transaction wrote here is {outcome}."
        )
        light = [f"{part.name}/{offset}"] if opens else []
        return Told(words, f"{part.name}: {word}", light=light)

    def _see_HighWatermarkAdvanced(self, event: Event, d: Detail) -> Told | None:
        """Until all replicas have a record, nobody is handed it."""
        part = part_of(event)
        log = self.logs.get(part)
        if log is None:
            return None

        high_watermark = d["high_watermark"]
        # a follower learns it later
        if high_watermark <= log.high_watermark:
            return None
        log.replicate(high_watermark)
        return QUIETLY

    # -- fold: who reads, who is away

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told | None:
        """The records that a reader was given, and whether they had to wait."""
        part = part_of(event)
        name = event.node
        if name not in self.read or part not in self.logs or not d["records"]:
            return None

        number = self._number(part)
        values = []
        places = []
        for offset, _, value in d["records"]:
            place = Place(number, offset)
            text = value or ""
            places.append(place)
            values.append(text)
            self._hand_over(name, place, text)

        level = self.levels[name]
        what = _quoted(values)
        chapter = self.once(f"{name} is handed records")
        if level == READ_COMMITTED and self._frees(name, places):
            chapter = "what waited is read"
        return Told(
            f"{capital(name)}, with {level}, gets {what} from {part.name}.",
            chapter,
        )

    def _hand_over(self, name: str, place: Place, value: str) -> None:
        """A reader has a record now."""
        log = self._log(place.log)
        there = log.records.get(place.offset)
        record = Record(
            place.offset,
            value,
            producer="",
            state="",
            number=self.number,
        )

        if there:
            record.producer = there.producer
            record.state = there.state
        read = Read(place.log, record)
        self.read[name].append(read)

    def _frees(self, name: str, places: Sequence[Place]) -> bool:
        """Whether some of what a reader was handed had waited until now."""
        freed = False
        for place in places:
            span = self.waits.get(place)
            if span is None or span.end_ms is not None:
                continue
            self.waits[place] = span._replace(end_ms=self.at)
            self.freed = Freed(place, name)
            freed = True

        return freed

    def ends(self, last: Scene) -> None:
        """Tell how long a record waited, and for what."""
        if self.freed is None:
            return
        place, reader = self.freed
        record = self._record(place)
        span = self.waits[place]
        held_by = max(
            self.writers.values(),
            key=lambda writer: writer.longest_ms(self.at),
        )

        waited = _seconds(span.lasts_ms(self.at))
        was_open = _seconds(held_by.longest_ms(self.at))
        who = capital(record.producer)
        what = quoted(record.text, 24)

        last["sentence"] = (
            f"{who}'s {what} was written at once and reached {reader} {waited} later: it"
            f" waited behind the transaction of {held_by.name}, which stayed open for"
            f" {was_open} until it was {held_by.ended}."
        )
        part = list(self.logs)[place.log]
        last["light"] = [f"{part.name}/{place.offset}", "time"]

    def _see_life(self, event: Event, life: str) -> Told | None:
        """A producer that goes away leaves its transaction open."""
        if event.node not in self.writers:
            return None
        if event.kind not in self.says or life == "closed":
            return None
        return self.tell(event)


def _appended(trace: Sequence[Event]) -> list[Event]:
    """The records written to the topics of programs."""
    found = []
    for event in trace:
        if event.kind != "RecordsAppended":
            continue
        if not event.detail["topic"].startswith("__"):
            found.append(event)
    return found


def _busiest_parts(appended: Sequence[Event]) -> list[Part]:
    """The partitions to which most is written, those with transactions first."""
    used = Counter[Part]()
    for event in appended:
        part = part_of(event)
        is_in_a_transaction = "producer_id" in event.detail
        used[part] += 100 if is_in_a_transaction else 1
    busiest = used.most_common(MOST_PARTITIONS)
    return sorted(part for part, _ in busiest)


def _quoted(texts: Sequence[str]) -> str:
    """Record values in quotation marks, joined for a sentence."""
    words = [quoted(text or "–", 24) for text in texts]
    return listed(words, most=3)


def _seconds(ms: int) -> str:
    """A duration in words, for a minute and more."""
    return f"{ms / 1000:.0f} s"
