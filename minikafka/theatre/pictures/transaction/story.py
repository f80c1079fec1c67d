"""The fold of the transaction timeline: the requests of a transaction, the
coordinator's state, the markers, partition by partition, the last stable offset, and
what two readers are handed.

It is told of one transactional id: the one that is named, else of the busiest. Whoever
has an older epoch than the coordinator knows is a zombie, whether it has heard of that
or not.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.pictures.transaction.cast import (
    READ_COMMITTED,
    busiest_id,
    busiest_parts,
    markers_of,
    readers_of,
    who_asked,
)
from minikafka.theatre.pictures.transaction.ending import Decided, Handed, in_short
from minikafka.theatre.pictures.transaction.log import MARKERS, Log, Record, part_of
from minikafka.theatre.pictures.transaction.says import ASKS, SAYS, WHY_ABORTED
from minikafka.theatre.play import (
    QUIETLY,
    Cast,
    Detail,
    Says,
    Space,
    Story,
    Told,
    picked,
)
from minikafka.theatre.text import capital, key_part, lasting, listed, quoted, span_of
from minikafka.trace import Event

MOST_PRODUCERS = 3


class Read(NamedTuple):
    """A record that a reader was handed. place: which of the partitions. number: of the
    event that told of it.
    """

    place: int
    offset: int
    value: str
    number: int


class Asked(NamedTuple):
    """A request that a client sent. number: of its event."""

    who: str
    api: str
    of_whom: str
    number: int


class GroupOffset(NamedTuple):
    """A group's offset that a transaction commits. state: pending, counts, dropped."""

    group: str
    part: str
    offset: int
    state: str


class TransactionStory(Story):
    name = "transaction"
    title = "A transaction, step by step"
    says: ClassVar[Mapping[str, Says]] = SAYS
    shows = ("producers_shown", "levels", "most")

    def __init__(
        self,
        trace: Sequence[Event],
        *,
        transactional_id: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(trace, **options)
        self.transactional_id = transactional_id or busiest_id(trace)
        if self.transactional_id:
            self.title = f"Transactions of {self.transactional_id}"
        mine = [event for event in trace if self._is_of_it(event)]
        self.ids = {event.detail["producer_id"] for event in mine}
        self.producers_shown = who_asked(trace, mine)[:MOST_PRODUCERS]
        self.markers = markers_of(trace)
        appended = [event for event in trace if event.kind == "RecordsAppended"]
        self.logs = {part: Log() for part in busiest_parts(appended, self.ids)}
        ends = [
            e.detail["last_offset"] + 1 for e in appended if part_of(e) in self.logs
        ]
        self.most = max(ends, default=0)
        self.levels = readers_of(trace, {part.topic for part in self.logs})
        self.read: dict[str, list[Read]] = {name: [] for name in self.levels}
        # reader -> where it reads next, by place
        self.positions: dict[str, dict[int, int]] = {name: {} for name in self.levels}
        self.epochs: dict[str, int] = {}  # producer -> its epoch
        self.by_epoch: dict[tuple[int, int], str] = {}  # producer id, epoch -> producer
        self.lives: dict[str, str] = {}
        self.fenced: set[str] = set()  # that have heard of it
        self.state = ""
        self.epoch = -1
        self.asks: Asked | tuple[()] = ()
        self.offsets: GroupOffset | tuple[()] = ()
        # by partition and offset, when it was written
        self.written_ms: dict[tuple[int, int], int] = {}
        self.decided: list[Decided] = []
        # its records that a reader of committed ones was handed, and who that was
        self.handed: list[Handed] = []
        self.heard_by = ""

    def _is_of_it(self, event: Event) -> bool:
        if event.kind != "TransactionStateChanged":
            return False
        return bool(event.detail["transactional_id"] == self.transactional_id)

    def is_mine(self, event: Event) -> bool:
        return bool(self.ids)

    def cast(self) -> Cast:
        told = super().cast()
        told["id"] = self.transactional_id
        told["parts"] = [part.name for part in self.logs]
        return told

    def details(self, event: Event) -> dict[str, Any]:
        told = super().details(event)
        told["Node"] = capital(event.node)
        told["who"] = self._producer(event.detail) or "a producer"
        return told

    def _producer(self, d: Detail) -> str:
        """The producer with the producer id and epoch of an event."""
        key = (d.get("producer_id", -1), d.get("producer_epoch", -1))
        return self.by_epoch.get(key, "")

    def space(self) -> Space:
        space = picked(self, "state", "epoch", "asks", "offsets")
        space["producers"] = [
            [name, self.epochs.get(name, -1), self._life(name)]
            for name in self.producers_shown
        ]
        space["logs"] = [log.shown() for log in self.logs.values()]
        space["readers"] = [
            [name, [self._as_it_is(read) for read in found]]
            for name, found in self.read.items()
        ]
        space["waits"] = [self._waits(name) for name in self.read]
        space["later"] = self._later()
        return space

    def _later(self) -> dict[str, str]:
        """How long after the first record of a single transaction its reader was handed
        the last so far.
        """
        if len(self.decided) != 1 or not self.handed:
            return {}
        ms = self.handed[-1].at_ms - self.handed[0].at_ms
        return {self.heard_by: lasting(ms)} if ms else {}

    def _waits(self, reader: str) -> list[list[int]]:
        """Records that are written and that a reader of committed records has not been
        given: place and offset.
        """
        if self.levels[reader] != READ_COMMITTED:
            return []
        leaves_out = (*MARKERS, "aborted")
        found = []
        logs = list(self.logs.values())
        for place, position in sorted(self.positions[reader].items()):
            for offset, record in logs[place].records.items():
                if offset >= position and record.state not in leaves_out:
                    found.append([place, offset])
        return found

    def _life(self, name: str) -> str:
        """The state of a producer that is shown."""
        epoch = self.epochs.get(name, -1)
        if self.lives.get(name):
            return self.lives[name]
        if name in self.fenced:
            return "fenced"
        if epoch < self.epoch:
            return "zombie" if epoch >= 0 else ""
        return "open" if self.state == "Ongoing" else "idle"

    def _as_it_is(self, read: Read) -> list[Any]:
        """A record that was read, with what has become of it."""
        log = list(self.logs.values())[read.place]
        record = log.records.get(read.offset)
        became = (record.producer, record.state) if record else ("", "")
        return [read.place, read.offset, read.value, *became, read.number]

    # -- fold: what is asked

    def _see_RequestSent(self, event: Event, d: Detail) -> Told | None:
        name = event.node
        api = d["api"]
        to = d["to"]
        if api not in ASKS or name not in self.producers_shown:
            return None
        self.asks = Asked(who=name, api=api, of_whom=to, number=self.number)
        words = f"{capital(name)} {ASKS[api]}: {api}, to {to}."
        chapter = f"{name} asks to end it" if api == "EndTxn" else None
        return Told(words, chapter, marks=self.mark(f"producer {name}", api))

    # -- fold: what the coordinator decides

    def _see_TransactionStateChanged(self, event: Event, d: Detail) -> Told | None:
        if not self._is_of_it(event):
            return None
        state = d["state"]
        self.state = state
        self.epoch = d["producer_epoch"]
        asker = self.asker(event)
        if state == "Empty" and asker:
            self.epochs[asker] = self.epoch
            self.by_epoch[d["producer_id"], self.epoch] = asker
            self.fenced.discard(asker)

        for part, log in self.logs.items():
            if part.name in d["partitions"]:
                log.joined = "joined"
            elif state in ("Empty", "Ongoing"):
                log.joined = ""

        told = self._tell_state(d, asker)
        told.marks += self.mark("coordinator", state, told.trouble)
        return told

    def _tell_state(self, d: Detail, asker: str | None) -> Told:
        match d["state"]:
            case "Empty":
                return self._tell_new_epoch(d, asker or "a producer")
            case "Ongoing":
                words = (
                    "The coordinator notes that the transaction is Ongoing, with"
                    f" {listed(d['partitions'])}."
                )
                begins = d["was"] != "Ongoing"
                return Told(words, "a transaction begins" if begins else None)
            case "PrepareCommit":
                self._decide("")
                return Told(
                    "The coordinator writes PrepareCommit to its log: the transaction"
                    " is committed, whatever happens next. The partitions don't know"
                    " yet.",
                    "decided: commit",
                    light=self._decided("state/PrepareCommit"),
                )
            case "PrepareAbort":
                why = WHY_ABORTED.get(d["reason"], "")
                self._decide(why)
                words = (
                    "The coordinator writes PrepareAbort to its log: the transaction is"
                    f" aborted, because {why}. The newest epoch is {self.epoch}."
                )
                unasked = d["reason"] != "producer_aborts"
                return Told(words, "decided: abort", trouble=unasked)

        return self._tell_complete(d["state"])

    def _decide(self, why: str) -> None:
        """How it ends is known from now on."""
        there = [len(log.open) for log in self.logs.values() if log.open]
        self.decided.append(
            Decided(why, self.at, partitions=len(there), records=sum(there))
        )

    def _decided(self, state: str) -> list[str]:
        """The decision, and what is still open then, the first time."""
        light = [state, "coordinator"]
        for part, log in self.logs.items():
            light += [f"record/{key_part(part.name)}/{offset}" for offset in log.open]
        return self.first("decided", *light)

    def _tell_new_epoch(self, d: Detail, asker: str) -> Told:
        words = (
            f"The coordinator gives {asker} producer id {d['producer_id']} and epoch"
            f" {self.epoch}."
        )
        older = [name for name, epoch in self.epochs.items() if epoch < self.epoch]
        if older:
            words += f" {capital(listed(older))} has an older one, so it is a zombie."
        return Told(words, f"epoch {self.epoch}")

    def _tell_complete(self, state: str) -> Told:
        offsets = self.offsets
        if offsets and offsets.state == "pending" and state == "CompleteAbort":
            self.offsets = offsets._replace(state="dropped")
        return Told(
            f"Every partition has its marker: {state}. The next transaction may begin.",
            "every marker is there",
        )

    def ends(self, last: Scene) -> None:
        """Tell the result, if there was one transaction and it is over."""
        if len(self.decided) != 1 or not self.state.startswith("Complete"):
            return
        words = in_short(self.decided[0], last["at"], self.heard_by, self.handed)
        is_the_end = last["kind"] == "TransactionStateChanged"
        last["sentence"] = words if is_the_end else f"{last['sentence']} {words}"
        if self.handed:
            markers = [
                f"record/{key_part(part.name)}/{each.offset}"
                for part, log in self.logs.items()
                for each in log.markers
            ]
            reader = f"reader/{list(self.levels).index(self.heard_by)}"
            last["light"] = ["state/PrepareCommit", *markers, reader, "time"]

    # -- fold: the logs

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told | None:
        part = part_of(event)
        log = self.logs.get(part)
        base = d["base_offset"]
        if log is None or (*part, base) in self.markers:
            return None
        is_open = "producer_id" in d
        state = "open" if is_open else ""
        whose = self._producer(d)
        values = {offset: value for offset, _, value, *_ in d["records"]}
        offsets = range(base, d["last_offset"] + 1)

        for offset in offsets:
            text = values.get(offset) or ""
            log.append(
                Record(
                    offset=offset,
                    text=text,
                    producer=whose,
                    state=state,
                    number=self.number,
                )
            )
            if is_open:
                log.open[offset] = d["producer_id"]
                place = list(self.logs).index(part)
                self.written_ms[place, offset] = self.at

        what = span_of(offsets)
        within = "in an open transaction" if is_open else "outside any transaction"
        words = f"The leader of {part.name} appends {what}, {within}."
        return Told(words, marks=self.mark(f"log {part.name}", what))

    def _see_MarkerWritten(self, event: Event, d: Detail) -> Told | None:
        part = part_of(event)
        offset = d["offset"]
        outcome = d["outcome"]
        log = self.logs.get(part)
        if log is None:
            return None
        word = "COMMIT" if outcome == "committed" else "ABORT"
        log.settle(d["producer_id"], outcome, marker=offset)
        log.append(
            Record(
                offset=offset, text=word, producer="", state=word, number=self.number
            )
        )
        if d["producer_id"] in self.ids:
            log.joined = "marker"
        words = (
            f"WriteTxnMarkers reaches the leader of {part.name}, which appends a marker,"
            f" {word}, at offset {offset}. What the transaction wrote there is now"
            f" {outcome}, and stays in the log."
        )
        chapter = self.once(f"markers: {word}")
        return Told(words, chapter, marks=self.mark(f"log {part.name}", word))

    def _see_HighWatermarkAdvanced(self, event: Event, d: Detail) -> Told | None:
        log = self.logs.get(part_of(event))
        # a follower hears of it later
        if log is None or d["high_watermark"] <= log.high_watermark:
            return None
        went_with_it = log.replicate(d["high_watermark"])
        # otherwise what comes next tells how far the last stable offset goes
        return QUIETLY if went_with_it else None

    def _see_LastStableOffsetAdvanced(self, event: Event, d: Detail) -> Told | None:
        part = part_of(event)
        offset = d["last_stable_offset"]
        if part not in self.logs or not self.once((part, offset)):
            return None
        words = (
            f"The last stable offset of {part.name} advances to {offset}: readers of"
            " committed records may read up to there."
        )
        log = self.logs[part]
        ended = [each.offset for each in log.markers if each.offset < offset]
        if log.held or not ended or not self.once((part, "opens", ended[-1])):
            return Told(words)
        return Told(words, marks=self.mark(f"log {part.name}", "opens"))

    def _do_OffsetPending(self, event: Event, d: Detail) -> None:
        state = "pending" if event.kind == "OffsetPending" else "counts"
        part = part_of(event).name
        self.offsets = GroupOffset(
            group=d["group"], part=part, offset=d["offset"], state=state
        )

    _do_PendingOffsetCommitted = _do_OffsetPending

    # -- fold: who is refused, who reads, who is away

    def _see_ProducerFenced(self, event: Event, d: Detail) -> Told | None:
        if d["transactional_id"] != self.transactional_id:
            return None
        self.fenced.add(self._producer(d))
        return self.tell(event)

    def _see_BatchRefused(self, event: Event, d: Detail) -> Told | None:
        who = self.asker(event)
        if part_of(event) not in self.logs or who not in self.producers_shown:
            return None
        return self.tell(event, mark=(f"producer {who}", "refused", True))

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told | None:
        part = part_of(event)
        name = event.node
        if name not in self.read or part not in self.logs or not d["records"]:
            return None
        place = list(self.logs).index(part)

        for offset, _, value in d["records"]:
            self.read[name].append(
                Read(place=place, offset=offset, value=value or "", number=self.number)
            )

        self.positions[name][place] = d["position"]
        what = listed([value or "–" for _, _, value in d["records"]])
        reads_committed = self.levels[name] == READ_COMMITTED
        if reads_committed:
            self._hear(name, place, d)
        level = "committed records" if reads_committed else "everything"
        said = listed([quoted(value or "–", 24) for _, _, value in d["records"]])
        words = f"{capital(name)}, which reads {level}, gets {said} from {part.name}."
        chapter = self.once(f"{name} is handed records")
        marks = self.mark(f"reader {name}", what)
        if reads_committed:
            for offset, *_ in d["records"]:
                marks += self.mark(f"read {place}/{offset}", "read")
        return Told(words, chapter, marks=marks)

    def _hear(self, name: str, place: int, d: Detail) -> None:
        """A reader of committed records was handed some."""
        self.heard_by = name
        for offset, _, value in d["records"]:
            written_ms = self.written_ms.get((place, offset))
            if written_ms is not None:
                self.handed.append(Handed(value or "–", self.at, written_ms))

    def _see_PositionReset(self, event: Event, d: Detail) -> Told | None:
        part = part_of(event)
        if event.node not in self.read or part not in self.logs:
            return None
        place = list(self.logs).index(part)
        self.positions[event.node][place] = d["offset"]
        return QUIETLY

    def _see_life(self, event: Event, life: str) -> Told | None:
        name = event.node
        if name not in self.producers_shown:
            return None
        self.lives[name] = life
        mark = (f"producer {name}", life or "back", bool(life))
        return self.tell(event, mark=mark)
