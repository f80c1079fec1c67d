"""The fold of the transaction timeline: the requests of a transaction, the
coordinator's state, the markers, partition by partition, the last stable offset, and
what two readers are handed.

It is told of one transactional id: the one that is named, else of the busiest. Whoever
has an older epoch than the coordinator knows is a zombie, whether it has heard of that
or not.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from minikafka.theatre.play import (
    LIVES,
    QUIETLY,
    Cast,
    Detail,
    Says,
    Space,
    Story,
    Told,
    picked,
)
from minikafka.theatre.text import capital, listed, span_of
from minikafka.trace import Event

# NEAR: records of a log that are in a scene
MOST_PARTITIONS, MOST_PRODUCERS, NEAR = 3, 3, 24
LEVELS = ("read_uncommitted", "read_committed")
ASKS = {
    "InitProducerId": "asks the coordinator for a producer id and an epoch",
    "AddPartitionsToTxn": (
        "tells the coordinator to which partitions the transaction will write"
    ),
    "Produce": "sends records",
    "AddOffsetsToTxn": (
        "tells the coordinator that the transaction will commit offsets of a group"
    ),
    "TxnOffsetCommit": "sends the group's offsets to the group's coordinator",
    "EndTxn": "asks the coordinator to end the transaction",
}
WHY_ABORTED = {
    "producer_aborts": "its producer asked for it",
    "producer_came": (
        "another producer has come with its transactional id, and waits for that"
    ),
    "transaction_timeout": "its producer took longer than its timeout",
}
SAYS = {
    "OffsetPending": Says(
        "The group's coordinator has offset {offset} of {topic}-{partition} for group"
        " {group}. It is pending: it counts if the transaction does.",
        mark=("coordinator", "offset pending"),
    ),
    "PendingOffsetCommitted": Says(
        "Offset {offset} of {topic}-{partition} counts now for group {group}: it came"
        " with the transaction.",
        mark=("coordinator", "offset counts"),
    ),
    "ProducerFenced": Says(
        "{who} is refused: its epoch is {producer_epoch}, and {newest_epoch} is the"
        " newest. It is a zombie, and is fenced.",
        "a zombie is fenced",
        True,
        mark=("producer {who}", "fenced", True),
    ),
    "BatchRefused": Says(
        "The leader of {topic}-{partition} refuses a batch: {error}.",
        "a batch is refused",
        True,
    ),
    "NodeCrashed": Says(
        "{Node} crashes. What it had open stays open.", "{node} crashes", True
    ),
    "NodeFrozen": Says(
        "{Node} is frozen. What it has open stays open.", "{node} is frozen", True
    ),
    "NodeThawed": Says(
        "{Node} goes on, and knows nothing of what has happened meanwhile.",
        "{node} goes on",
    ),
    "NodeRestarted": Says("{Node} is back.", "{node} is back"),
    "ClientClosed": Says("{Node} closes."),
}

Part = tuple[str, int]


@dataclass
class Log:
    """records: offset -> [offset, text, producer, state, number of the event]. state:
    "" of no transaction, open, committed, aborted; COMMIT and ABORT of a marker.
    """

    end: int = 0
    high_watermark: int = 0
    joined: str = ""  # "", joined, marker
    records: dict[int, list[Any]] = field(default_factory=dict)
    # offset -> producer id, while it is open
    ids: dict[int, int] = field(default_factory=dict)

    @property
    def last_stable_offset(self) -> int:
        return min([self.high_watermark, *self.ids])

    def shown(self) -> dict[str, Any]:
        near = [
            self.records[offset]
            for offset in sorted(self.records)
            if offset >= self.end - NEAR
        ]
        return picked(self, "end", "last_stable_offset", "joined") | {
            "records": list(map(list, near))
        }


class TransactionStory(Story):
    name, title = "transaction", "A transaction, step by step"
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
        told = Counter(
            e.detail["transactional_id"]
            for e in trace
            if e.kind == "TransactionStateChanged"
        )
        self.transactional_id = transactional_id or next(
            (name for name, _ in told.most_common(1)), ""
        )
        if self.transactional_id:
            self.title = f"Transactions of {self.transactional_id}"
        self.markers = {
            (*part_of(e), e.detail["offset"])
            for e in trace
            if e.kind == "MarkerWritten"
        }
        self.ids = {e.detail["producer_id"] for e in trace if self._is_of_it(e)}
        appended = [e for e in trace if e.kind == "RecordsAppended"]
        used = Counter(
            part_of(e) for e in appended if e.detail.get("producer_id") in self.ids
        )
        self.logs = {
            part: Log()
            for part in sorted(part for part, _ in used.most_common(MOST_PARTITIONS))
        }
        self.most = max(
            (e.detail["last_offset"] + 1 for e in appended if part_of(e) in self.logs),
            default=0,
        )
        self.levels = self._readers(trace)
        self.read: dict[str, list[tuple[int, int, str, int]]] = {
            name: [] for name in self.levels
        }
        self.producers_shown = self._who(trace)[:MOST_PRODUCERS]
        self.epochs: dict[str, int] = {}  # producer -> its epoch
        self.by_epoch: dict[tuple[int, int], str] = {}  # producer id, epoch -> producer
        self.lives: dict[str, str] = {}
        self.fenced: set[str] = set()  # that have heard of it
        self.state, self.epoch = "", -1
        self.asks: list[Any] = []  # who, what, of whom, number of the event
        # group, topic-partition, offset, "pending", "counts" or "dropped"
        self.offsets: list[Any] = []

    def _is_of_it(self, event: Event) -> bool:
        return (
            event.kind == "TransactionStateChanged"
            and event.detail["transactional_id"] == self.transactional_id
        )

    def _who(self, trace: Sequence[Event]) -> list[str]:
        """The clients whose requests moved it, in the order in which they came."""
        sent = {
            (e.detail["connection"], e.detail["correlation_id"]): e
            for e in trace
            if e.kind == "RequestSent"
        }
        asked = [sent.get(e.cause) for e in trace if self._is_of_it(e) and e.cause]
        return list(
            dict.fromkeys(
                e.node
                for e in asked
                if e is not None and e.detail["api"] == "InitProducerId"
            )
        )

    def _readers(self, trace: Sequence[Event]) -> dict[str, str]:
        """Two readers of these partitions, one of each isolation level if there are:
        name -> level.
        """
        topics = {topic for topic, _ in self.logs}
        levels = {
            e.node: e.detail.get("config", {}).get("isolation_level", LEVELS[0])
            for e in trace
            if e.kind == "ClientStarted" and e.detail["client"] == "consumer"
        }
        reading = dict.fromkeys(
            e.node
            for e in trace
            if e.kind in ("PositionReset", "RecordsPolled")
            and e.detail["topic"] in topics
        )
        of = {name: levels.get(name, LEVELS[0]) for name in reading}
        one_each = [
            next((name for name in of if of[name] == level), "") for level in LEVELS
        ]
        chosen = [name for name in dict.fromkeys([*one_each, *of]) if name][:2]
        return {
            name: of[name]
            for name in sorted(chosen, key=lambda name: LEVELS.index(of[name]))
        }

    def is_mine(self, event: Event) -> bool:
        return bool(self.ids)

    def cast(self) -> Cast:
        return super().cast() | {
            "id": self.transactional_id,
            "parts": [named(part) for part in self.logs],
        }

    def details(self, event: Event) -> dict[str, Any]:
        d = event.detail
        who = self.by_epoch.get(
            (d.get("producer_id", -1), d.get("producer_epoch", -1)), "a producer"
        )
        return super().details(event) | {"Node": capital(event.node), "who": who}

    def space(self) -> Space:
        return picked(self, "state", "epoch") | {
            "asks": list(self.asks),
            "offsets": list(self.offsets),
            "producers": [
                [name, self.epochs.get(name, -1), self._life(name)]
                for name in self.producers_shown
            ],
            "logs": [log.shown() for log in self.logs.values()],
            "readers": [
                [name, [self._as_it_is(*read) for read in found]]
                for name, found in self.read.items()
            ],
        }

    def _life(self, name: str) -> str:
        epoch = self.epochs.get(name, -1)
        if self.lives.get(name):
            return self.lives[name]
        if name in self.fenced:
            return "fenced"
        if epoch < self.epoch:
            return "zombie" if epoch >= 0 else ""
        return "open" if self.state == "Ongoing" else "idle"

    def _as_it_is(self, place: int, offset: int, value: str, number: int) -> list[Any]:
        """A record that was read, with what has become of it."""
        record = list(self.logs.values())[place].records.get(
            offset, [offset, value, "", "", 0]
        )
        return [place, offset, value, *record[2:4], number]

    # -- fold: what is asked

    def _see_RequestSent(self, event: Event, d: Detail) -> Told | None:
        name, api = event.node, d["api"]
        if api not in ASKS or name not in self.producers_shown:
            return None
        self.asks = [name, api, d["to"], self.number]
        return Told(
            f"{capital(name)} {ASKS[api]}: {api}, to {d['to']}.",
            marks=self.mark(f"producer {name}", api),
        )

    def _see_TransactionStateChanged(self, event: Event, d: Detail) -> Told | None:
        if not self._is_of_it(event):
            return None
        self.state, self.epoch = d["state"], d["producer_epoch"]
        asker = self.asker(event)
        if d["state"] == "Empty" and asker:
            self.epochs[asker] = self.epoch
            self.by_epoch[d["producer_id"], self.epoch] = asker
            self.fenced.discard(asker)
        for part, log in self.logs.items():
            gone = d["state"] in ("Empty", "Ongoing")
            log.joined = (
                "joined"
                if named(part) in d["partitions"]
                else ""
                if gone
                else log.joined
            )
        told = getattr(self, f"_{d['state']}", self._complete)(d, asker)
        told.marks += self.mark("coordinator", d["state"], told.trouble)
        return told

    def _Empty(self, d: Detail, asker: str | None) -> Told:
        words = (
            f"The coordinator gives {asker or 'a producer'} producer id"
            f" {d['producer_id']} and epoch {self.epoch}."
        )
        older = [name for name, epoch in self.epochs.items() if epoch < self.epoch]
        words += (
            f" {capital(listed(older))} had an older one: it is a zombie."
            if older
            else ""
        )
        return Told(words, f"epoch {self.epoch}")

    def _Ongoing(self, d: Detail, asker: str | None) -> Told:
        words = (
            "The coordinator notes: the transaction is Ongoing, with"
            f" {listed(d['partitions'])}."
        )
        return Told(words, "a transaction begins" if d["was"] != "Ongoing" else None)

    def _PrepareCommit(self, d: Detail, asker: str | None) -> Told:
        return Told(
            "The coordinator writes PrepareCommit to its log: the transaction is"
            " committed, whatever happens next. The partitions don't know yet.",
            "decided: commit",
        )

    def _PrepareAbort(self, d: Detail, asker: str | None) -> Told:
        why = WHY_ABORTED.get(d["reason"], "")
        words = (
            "The coordinator writes PrepareAbort to its log: the transaction is"
            f" aborted, because {why}."
        )
        trouble = d["reason"] != "producer_aborts"
        return Told(
            f"{words} The newest epoch is {self.epoch}.", "decided: abort", trouble
        )

    def _complete(self, d: Detail, asker: str | None) -> Told:
        if self.offsets[3:] == ["pending"] and d["state"] == "CompleteAbort":
            self.offsets = [*self.offsets[:3], "dropped"]
        return Told(
            f"Every partition has its marker: {d['state']}. The next transaction may"
            " begin."
        )

    # -- fold: the logs

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told | None:
        part = part_of(event)
        if part not in self.logs or (*part, d["base_offset"]) in self.markers:
            return None
        log, whose = (
            self.logs[part],
            self.by_epoch.get(
                (d.get("producer_id", -1), d.get("producer_epoch", -1)), ""
            ),
        )
        texts = {offset: value or "" for offset, _, value, *_ in d["records"]}
        for offset in range(d["base_offset"], d["last_offset"] + 1):
            state = "open" if "producer_id" in d else ""
            log.records[offset] = [
                offset,
                texts.get(offset, ""),
                whose,
                state,
                self.number,
            ]
            if state:
                log.ids[offset] = d["producer_id"]
        log.end = d["last_offset"] + 1
        what = span_of(range(d["base_offset"], log.end))
        of = "in an open transaction" if "producer_id" in d else "of no transaction"
        return Told(
            f"The leader of {named(part)} appends {what}, {of}.",
            marks=self.mark(f"log {named(part)}", what),
        )

    def _see_MarkerWritten(self, event: Event, d: Detail) -> Told | None:
        part = part_of(event)
        if part not in self.logs:
            return None
        log, word = (
            self.logs[part],
            ("COMMIT" if d["outcome"] == "committed" else "ABORT"),
        )
        for offset in [
            offset
            for offset, producer in log.ids.items()
            if producer == d["producer_id"]
        ]:
            log.records[offset][3] = d["outcome"]
            del log.ids[offset]
        log.records[d["offset"]] = [d["offset"], word, "", word, self.number]
        log.end = d["offset"] + 1
        if d["producer_id"] in self.ids:
            log.joined = "marker"
        words = (
            f"WriteTxnMarkers has reached the leader of {named(part)}, which appends a"
            f" marker, {word}, at offset "
        )
        words += (
            f"{d['offset']}. What the transaction wrote there is {d['outcome']}, and"
            " stays in the log."
        )
        return Told(words, marks=self.mark(f"log {named(part)}", word))

    def _see_HighWatermarkAdvanced(self, event: Event, d: Detail) -> Told | None:
        log = self.logs.get(part_of(event))
        # a follower hears of it later
        if log is None or d["high_watermark"] <= log.high_watermark:
            return None
        log.high_watermark = d["high_watermark"]
        return QUIETLY

    def _see_LastStableOffsetAdvanced(self, event: Event, d: Detail) -> Told | None:
        part = part_of(event)
        if part not in self.logs or not self.once((part, d["last_stable_offset"])):
            return None
        words = (
            f"The last stable offset of {named(part)} advances to"
            f" {d['last_stable_offset']}: "
        )
        words += "readers of committed records may read so far."
        return Told(words, marks=self.mark(f"log {named(part)}", "LSO"))

    def _do_OffsetPending(self, event: Event, d: Detail) -> None:
        state = "pending" if event.kind == "OffsetPending" else "counts"
        self.offsets = [d["group"], named(part_of(event)), d["offset"], state]

    _do_PendingOffsetCommitted = _do_OffsetPending

    # -- fold: who is refused, who reads, who is away

    def _see_ProducerFenced(self, event: Event, d: Detail) -> Told | None:
        if d["transactional_id"] != self.transactional_id:
            return None
        self.fenced.add(self.by_epoch.get((d["producer_id"], d["producer_epoch"]), ""))
        return self.tell(event)

    def _see_BatchRefused(self, event: Event, d: Detail) -> Told | None:
        who = self.asker(event)
        if part_of(event) not in self.logs or who not in self.producers_shown:
            return None
        return self.tell(event, mark=(f"producer {who}", "refused", True))

    def _see_RecordsPolled(self, event: Event, d: Detail) -> Told | None:
        part, name = part_of(event), event.node
        if name not in self.read or part not in self.logs or not d["records"]:
            return None
        place = list(self.logs).index(part)
        for offset, _, value in d["records"]:
            self.read[name].append((place, offset, value or "", self.number))
        what = listed([value or "–" for _, _, value in d["records"]])
        level = "committed records" if self.levels[name] == LEVELS[1] else "everything"
        words = (
            f"{capital(name)}, which reads {level}, is handed {what} of {named(part)}."
        )
        return Told(words, marks=self.mark(f"reader {name}", what))

    def _see_life(self, event: Event, d: Detail) -> Told | None:
        if event.node not in self.producers_shown:
            return None
        life = self.lives[event.node] = LIVES[event.kind]
        return self.tell(
            event, mark=(f"producer {event.node}", life or "back", bool(life))
        )


def part_of(event: Event) -> Part:
    return event.detail.get("topic", ""), event.detail.get("partition", -1)


def named(part: Part) -> str:
    return f"{part[0]}-{part[1]}"
