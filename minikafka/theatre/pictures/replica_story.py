"""The fold of the replica set's picture: one partition's replicas, what each holds, and
what producers were told.

A record is known by its offset and its leader epoch: two logs may hold different ones
at one offset. Who was told that a record is acknowledged keeps that word; whether the
leader still has the record is looked up at every step.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from minikafka.theatre.casting import letters
from minikafka.theatre.nodes import Links, epoch_at, listed, node_id
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
from minikafka.theatre.text import capital, counted, quoted, span_of
from minikafka.trace import Event

REPLICATED = (
    "ReplicaOpened",
    "RecordsReplicated",
    "FollowerFetched",
    "LeaderElected",
    "LeaderFollowed",
)
NEAR = 24  # records of a log that are in a scene
SAYS = {
    "TopicCreated": Says("Topic {topic} is created."),
    "IsrAsked": Says(
        "{Node} asks the controller for ISR {isr} instead of {was}. Until it hears, it"
        " counts on both."
    ),
    "IsrShrunk": Says(
        "The controller has decided: the ISR is {isr}. Only they must have a record"
        " before it counts.",
        "ISR {isr}",
        mark=("isr", "{isr}", True),
    ),
    "IsrExpanded": Says(
        "The controller has decided: the ISR is {isr} again.",
        "ISR {isr}",
        mark=("isr", "{isr}"),
    ),
    "FollowerFetched": Says(
        "{Follower} fetches from offset {offset}: so {node} knows that it has all"
        " before."
    ),
    "LogDiverged": Says(
        "{Node} says in its fetch how its log ends. {Leader} answers: epoch {epoch}"
        " ended at offset {end_offset} here."
    ),
    "BrokerFenced": Says(
        "The controller ({node}) has heard nothing from {broker} for {silent_ms} ms: it"
        " fences it.",
        "{broker} is fenced",
        mark=("{broker}", "fenced", True),
    ),
    "BatchRefused": Says(
        "{Node} refuses a batch of {asker}: {error}.", "{error}", True
    ),
    "LinkCut": Says(
        "The network between {one} and {other} is cut: nothing passes, and neither"
        " knows yet.",
        "{one} and {other} are cut",
    ),
    "LinkHealed": Says(
        "The network between {one} and {other} heals: what was held back arrives.",
        "{one} and {other} hear each other",
    ),
    "NodeCrashed": Says(
        "{Node} crashes. What it has written stays on its disk.", "{node} crashes", True
    ),
    "NodeStopped": Says("{Node} stops.", "{node} stops", True),
    "NodeShutDown": Says(
        "{Node} stops cleanly: what it led, others lead already.", "{node} stops"
    ),
    "NodeRestarted": Says("{Node} is back, with its disk.", "{node} is back"),
    "NodeFrozen": Says(
        "{Node} is frozen: it does nothing, and its connections stay open.",
        "{node} is frozen",
        True,
    ),
    "NodeThawed": Says(
        "{Node} goes on, and knows nothing of what has happened meanwhile.",
        "{node} goes on",
    ),
}
Id = tuple[int, int]  # of a record: offset, leader epoch

LONGEST_MARK = 20  # letters on the axis; the sentence has the whole name


@dataclass
class Written:
    """A record as its leader appended it. told: "", "acknowledged" or "failed", as its
    producer heard.
    """

    key: str | None
    value: str | None
    producer: str
    number: int
    batch: Any = None
    told: str = ""
    told_at: int = 0


@dataclass
class Copy:
    """One replica. records: offset -> (leader epoch, number of the event that brought
    it). role: in which epoch it believes to lead, or whom it follows.
    """

    broker: int
    life: str = ""
    fenced: bool = False  # as the controller said last
    leads: bool = False
    follows: int = -1
    epoch: int = -1
    end: int = 0
    high_watermark: int = 0
    says: str = ""
    asked_at: int = 0
    records: dict[int, Id] = field(default_factory=dict)
    cut: list[list[int]] = field(default_factory=list)


class ReplicaStory(Story):
    name = "replica-set"
    says: ClassVar[Mapping[str, Says]] = SAYS
    shows = ("topic", "partition", "most", "producers", "ever_lost")

    def __init__(
        self,
        trace: Sequence[Event],
        *,
        topic: str | None = None,
        partition: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(trace, **options)
        found = Counter(
            (event.detail["topic"], event.detail["partition"])
            for event in trace
            if event.kind in REPLICATED
            and topic in (None, event.detail["topic"])
            and partition in (None, event.detail["partition"])
            and not event.detail["topic"].startswith("__")
        )
        busiest: tuple[str, int] = max(
            found, key=lambda each: (found[each], each), default=(topic or "", 0)
        )
        self.topic, self.partition = busiest
        mine = [event for event in trace if self._is_of_partition(event)]
        self.title = (
            f"The replicas of {self.topic}-{self.partition}"
            if found
            else "The replicas of a partition"
        )
        nodes = {event.node for event in mine if event.kind in REPLICATED}
        given = [
            event.detail["replicas"] for event in mine if event.kind == "ReplicaOpened"
        ]
        ids = {number for each in given for number in each} | {
            node_id(node) for node in nodes
        }
        self.copies = {f"broker {number}": Copy(number) for number in sorted(ids)}
        self.links = Links(self.copies)
        self.letters = letters(
            record[1]
            for event in mine
            for record in event.detail.get("records", ())
            if event.kind == "RecordsAppended"
        )
        self.most = max(
            (
                event.detail["last_offset"] + 1
                for event in mine
                if "last_offset" in event.detail
            ),
            default=0,
        )
        self.clients_speak = any(
            event.kind in ("ClientStarted", "RecordsAcknowledged") for event in trace
        )
        self.written: dict[Id, Written] = {}
        self.epochs: dict[int, int] = {}  # leader epoch -> broker
        self.isr: list[int] = []
        self.asked: list[int] = []
        self.batches: dict[Any, Any] = {}
        self.acks: dict[str, Any] = {}
        self.producers: list[str] = []
        self.lost_before: set[Id] = set()
        self.ever_lost = False

    def _is_of_partition(self, event: Event) -> bool:
        d = event.detail
        return (d.get("topic"), d.get("partition", self.partition)) == (
            self.topic,
            self.partition,
        )

    def is_mine(self, event: Event) -> bool:
        return bool(self.copies) and (
            "topic" not in event.detail or self._is_of_partition(event)
        )

    def cast(self) -> Cast:
        return super().cast() | {
            "leaders": {str(epoch): broker for epoch, broker in self.epochs.items()}
        }

    # -- who has what

    @property
    def epoch(self) -> int:
        return max(self.epochs, default=-1)

    @property
    def leader(self) -> Copy | None:
        return (
            self.copies.get(f"broker {self.epochs[self.epoch]}")
            if self.epochs
            else None
        )

    def lost(self) -> set[Id]:
        """Acknowledged, and not in the leader's log."""
        leader = self.leader
        told = {
            each
            for each, record in self.written.items()
            if record.told == "acknowledged"
        }
        if leader is None:
            return set()
        return {
            (o, e)
            for o, e in told
            if o >= leader.end or leader.records.get(o, (e,))[0] != e
        }

    def space(self) -> Space:
        leader, lost, end = (
            self.leader,
            self.lost(),
            max((copy.end for copy in self.copies.values()), default=0),
        )
        told = sorted(
            (o, e, each) for (o, e), each in self.written.items() if o > end - NEAR
        )
        return {
            "epoch": self.epoch,
            "leader": leader.broker if leader else -1,
            "isr": self.isr,
            "asked": self.asked,
            "lost": len(lost),
            "end": end,
            "told": [
                [
                    o,
                    e,
                    each.told,
                    self._name(each),
                    each.producer,
                    each.told_at or each.number,
                    (o, e) in lost,
                ]
                for o, e, each in told
            ],
            "copies": [self._shown(copy) for copy in self.copies.values()],
            "acks": {
                producer: self.acks.get(producer, "") for producer in self.producers
            },
        }

    def _shown(self, copy: Copy) -> dict[str, Any]:
        near = sorted(each for each in copy.records if each >= copy.end - NEAR)
        names = (
            "broker",
            "leads",
            "follows",
            "epoch",
            "end",
            "high_watermark",
            "says",
            "asked_at",
        )
        return picked(copy, *names) | {
            "life": (
                self.links.life(f"broker {copy.broker}", copy.life)
                or "fenced" * copy.fenced
            ),
            "apart": self.links.apart(
                f"broker {copy.broker}", f"broker {copy.follows}"
            ),
            "records": [
                [
                    o,
                    copy.records[o][0],
                    *self._words(o, copy.records[o][0]),
                    copy.records[o][1],
                ]
                for o in near
            ],
            "cut": [[o, e, *self._words(o, e), 0] for o, e in copy.cut],
        }

    def _name(self, record: Written) -> str:
        return record.value if record.value is not None else record.key or ""

    def _words(self, offset: int, epoch: int) -> tuple[str, str, str]:
        """Letter, value, and both in full."""
        record = self.written.get((offset, epoch))
        if record is None:
            return "", "", "not seen being written"
        key = "no key" if record.key is None else f"key {record.key}"
        return (
            self.letters.get(record.key, "?"),
            self._name(record),
            f"{key}, {self._name(record)}",
        )

    def details(self, event: Event) -> dict[str, Any]:
        d, leader = event.detail, self.leader
        told = super().details(event) | {
            "Node": capital(event.node),
            "asker": self.asker(event) or "a producer",
        }
        told |= {name: listed(d[name]) for name in ("isr", "was") if name in d}
        told |= {"broker": f"broker {d['broker']}"} if "broker" in d else {}
        told |= {"Follower": f"Broker {d['follower']}"} if "follower" in d else {}
        return told | {"Leader": f"Broker {leader.broker}" if leader else "The leader"}

    # -- fold: leaders

    def _see_ReplicaOpened(self, event: Event, d: Detail) -> Told | None:
        copy = self.copies[event.node]
        again, copy.fenced = copy.fenced and not copy.life, False
        copy.end, copy.high_watermark = d["log_end_offset"], d["high_watermark"]
        copy.leads, copy.follows, copy.epoch = (
            d["leader"] == copy.broker,
            d["leader"],
            d["leader_epoch"],
        )
        copy.records = {
            offset: each for offset, each in copy.records.items() if offset < copy.end
        }
        if d["leader"] >= 0:
            self.epochs.setdefault(d["leader_epoch"], d["leader"])
        if d["leader_epoch"] >= self.epoch:
            self.isr = sorted(d["isr"])
        words = (
            f"{capital(event.node)} is back, with its disk: its log ends at offset"
            f" {copy.end}."
        )
        return (
            Told(words, f"{event.node} is back", marks=self.mark(event.node, "back"))
            if again
            else QUIETLY
        )

    def _see_LeaderElected(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        copy.leads, copy.epoch, copy.follows, copy.says = (
            True,
            d["leader_epoch"],
            copy.broker,
            "",
        )
        self.epochs[d["leader_epoch"]] = copy.broker
        unclean = (
            " It was not in the ISR."
            if self.isr and copy.broker not in self.isr
            else ""
        )
        self.isr, self.asked, among = sorted(d["isr"]), [], listed(d["isr"])
        words = (
            f"{capital(event.node)} leads now, in epoch {copy.epoch}; the ISR is"
            f" {among}.{unclean}"
        )
        told = self._with_loss(
            Told(words, f"{event.node} leads"), f" {capital(event.node)} doesn't have"
        )
        told.marks = self.mark(event.node, f"leads, epoch {copy.epoch}") + self.mark(
            "isr", among
        )
        return told

    def _with_loss(self, told: Told, begin: str) -> Told:
        """What was acknowledged and is lost with this step."""
        lost = self.lost()
        new, self.lost_before = sorted(lost - self.lost_before), lost
        if new:
            self.ever_lost = told.trouble = True
            what = ", ".join(
                f"offset {o}, {quoted(self._name(self.written[o, e]), 24)}"
                for o, e in new[:2]
            )
            what += f" and {len(new) - 2} more" if len(new) > 2 else ""
            who = self.written[new[0]].producer or "the producer"
            told.sentence += f"{begin} {what}: {who} was told that it is acknowledged."
            told.light = [
                "lamp",
                *(f"told/{o}/{e}" for o, e in new),
                *(f"{o}/{e}" for o, e in new),
            ]
            if self.leader is not None:
                told.light.append(f"node/{self.leader.broker}/next")
            told.chapter = "an acknowledged record is lost"
        return told

    def _see_LeaderFollowed(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        copy.leads, copy.epoch, copy.follows = False, d["leader_epoch"], d["leader"]
        return QUIETLY

    def _see_IsrAsked(self, event: Event, d: Detail) -> Told:
        again, self.asked = self.asked == d["isr"], d["isr"]
        return QUIETLY if again else self.tell(event)

    def _see_IsrShrunk(self, event: Event, d: Detail) -> Told:
        self.isr, self.asked = sorted(d["isr"]), []
        for copy in self.copies.values():
            copy.fenced = copy.fenced and copy.broker not in self.isr
        return self.tell(event)

    _see_IsrExpanded = _see_IsrShrunk

    # -- fold: records

    def _see_BatchSent(self, event: Event, d: Detail) -> None:
        self.batches[d["connection"], d["correlation_id"]] = (event.node, d["batch"])
        self.acks[event.node] = d["acks"]

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told:
        copy, who = self.copies[event.node], self.asker(event) or ""
        if who and who not in self.producers:
            self.producers.append(who)
        for offset, key, value, _ in d.get("records", ()):
            at = offset, epoch_at(d["epochs"], offset)
            self.written[at] = Written(
                key, value, who, self.number, self.batches.get(event.cause)
            )
            self.epochs.setdefault(at[1], copy.broker)
        self._take(copy, d)
        copy.leads, copy.epoch = True, d["epochs"][-1][0]
        offsets = range(d["base_offset"], d["last_offset"] + 1)
        what = (
            quoted(self._name(self.written[offsets[0], copy.epoch]), 30)
            if len(offsets) == 1
            else "records"
        )
        sentence = (
            f"{who or 'A producer'} writes {what}: {event.node} leads, and appends"
            f" {span_of(offsets)}."
        )
        return Told(f"{sentence} So far nobody else has it.", self.once("first record"))

    def _see_RecordsReplicated(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        # a trace may begin after it was written
        for offset, key, value, _ in d.get("records", ()):
            self.written.setdefault(
                (offset, epoch_at(d["epochs"], offset)),
                Written(key, value, "", self.number),
            )
        self._take(copy, d)
        offsets = span_of(range(d["base_offset"], d["last_offset"] + 1))
        copy.says = f"got {offsets.removeprefix('offset')}".replace("  ", " ").replace(
            "got s ", "got "
        )
        copy.asked_at = 0
        return Told(
            f"{capital(event.node)}'s fetch is answered with {offsets}: it appends it"
            " as it is."
        )

    def _take(self, copy: Copy, d: Detail) -> None:
        copy.fenced, copy.cut, copy.end = False, [], d["last_offset"] + 1
        for offset in range(d["base_offset"], copy.end):
            copy.records[offset] = (epoch_at(d["epochs"], offset), self.number)

    def _see_FollowerFetched(self, event: Event, d: Detail) -> Told | None:
        copy = self.copies.get(f"broker {d['follower']}")
        if copy is None:
            return None
        copy.says, copy.asked_at = f"fetches from {d['offset']}", self.number
        # of the first records of all
        return self.tell(event) if d["offset"] else QUIETLY

    def _see_HighWatermarkAdvanced(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        copy.high_watermark = d["high_watermark"]
        where = f"the high watermark is {copy.high_watermark}"
        if not copy.leads:
            return Told(
                f"{capital(event.node)} hears with an answer to its fetch: {where}."
            )
        everyone = listed(self.isr)
        return Told(
            f"The whole ISR ({everyone}) has it: {where}. Consumers may read up to"
            " there."
        )

    def _see_LogTruncated(self, event: Event, d: Detail) -> Told:
        copy, end = self.copies[event.node], d["log_end_offset"]
        copy.cut = [
            [offset, copy.records.pop(offset)[0]]
            for offset in sorted(copy.records)
            if offset >= end
        ]
        copy.end, copy.high_watermark = end, min(copy.high_watermark, end)
        what = span_of([offset for offset, _ in copy.cut])
        told = Told(
            f"{capital(event.node)} cuts {what} off its log: it ends at offset {end}"
            " now, like the leader's.",
            f"{event.node} cuts its log",
            True,
            marks=self.mark(event.node, f"cuts {what}", True),
        )
        gone = [(o, e) for o, e in self.lost() if [o, e] in copy.cut]
        if gone:
            left = [
                each
                for each in self.copies.values()
                if any(each.records.get(o, (-1,))[0] == e for o, e in gone)
            ]
            who = self.written[gone[0]].producer or "the producer"
            told.sentence += f" {who} was told that it is acknowledged: "
            told.sentence += (
                f"{counted(len(left), 'replica')} has it still."
                if left
                else "nobody has it any more."
            )
            told.light = [
                "lamp",
                *(f"told/{o}/{e}" for o, e in gone),
                *(f"{o}/{e}" for o, e in gone),
            ]
        return told

    # -- fold: what producers hear

    def _see_RecordsAcknowledged(self, event: Event, d: Detail) -> Told | None:
        offsets = range(d["base_offset"], d["base_offset"] + d["count"])
        mine = [
            max(
                (each for each in self.written if each[0] == offset),
                key=lambda each: self._is_of(each, event),
                default=None,
            )
            for offset in offsets
        ]
        return self._hears(
            event.node, "acknowledged", [each for each in mine if each is not None]
        )

    def _is_of(self, record: Id, event: Event) -> tuple[bool, int]:
        return (
            self.written[record].batch == (event.node, event.detail["batch"]),
            record[1],
        )

    def _see_SendFailed(self, event: Event, d: Detail) -> Told | None:
        batch = (event.node, d["batch"])
        mine = [
            each
            for each, record in self.written.items()
            if record.batch == batch and not record.told
        ]
        told = self._hears(event.node, "failed", mine, d["error"])
        return told or Told(
            f"{event.node} is told that it failed: {d['error']}.", trouble=True
        )

    def _see_ProduceAnswered(self, event: Event, d: Detail) -> Told | None:
        if self.clients_speak:  # they say themselves what they heard
            return None
        waits = [
            each
            for each, record in self.written.items()
            if each[0] <= d["last_offset"] and not record.told
        ]
        fine = d["error"] == "NONE"
        producer = self.written[waits[0]].producer if waits else ""
        return self._hears(
            producer,
            "acknowledged" if fine else "failed",
            waits,
            "" if fine else d["error"],
        )

    def _hears(
        self, who: str, what: str, mine: Sequence[Id], error: str = ""
    ) -> Told | None:
        if not mine:
            return None
        for each in mine:
            self.written[each].told, self.written[each].told_at = what, self.number
        offsets, last = span_of(sorted(offset for offset, _ in mine)), mine[-1]
        have = sum(
            copy.records.get(last[0], (-1,))[0] == last[1]
            for copy in self.copies.values()
        )
        acks = f" (acks={self.acks[who]})" if who in self.acks else ""
        where = (
            f"{have} of {counted(len(self.copies), 'replica')}"
            f" {'has' if have == 1 else 'have'} it"
        )
        words = (
            f"{'✗' if error else '✓'}"
            f" {offsets.removeprefix('offset').removeprefix('s').strip()}"
        )
        sentence = (
            f"{who or 'The producer'} is told{acks}: {offsets}"
            f" {what}{': ' if error else ''}{error}."
        )
        told = Told(
            f"{sentence} At this moment {where}.",
            self.once(f"first {what}"),
            what == "failed",
            marks=self.mark("told", words, what == "failed"),
        )
        return self._with_loss(told, " The leader of now doesn't have")

    # -- fold: nodes

    def _see_BrokerFenced(self, event: Event, d: Detail) -> Told | None:
        copy = self.copies.get(f"broker {d['broker']}")
        if copy is None:
            return None
        copy.fenced = True
        return self.tell(event)

    def _see_BatchRefused(self, event: Event, d: Detail) -> Told:
        error = d["error"] if len(d["error"]) <= LONGEST_MARK else "refused"
        return self.tell(event, mark=("told", error, True))

    def _see_LinkCut(self, event: Event, d: Detail) -> Told | None:
        mark = (d["one"], "cut" if event.kind == "LinkCut" else "heals")
        return self.tell(event, mark=mark) if self.links.follow(event) else None

    _see_LinkHealed = _see_LinkCut

    def _see_life(self, event: Event, d: Detail) -> Told | None:
        copy, life = self.copies.get(event.node), LIVES[event.kind]
        if copy is None:
            return None
        copy.life, copy.says = life, ""
        if event.kind in ("NodeRestarted", "NodeCrashed"):
            copy.leads, copy.follows, copy.cut, copy.fenced = False, -1, [], False
        return self.tell(event, mark=(event.node, life or "back", bool(life)))
