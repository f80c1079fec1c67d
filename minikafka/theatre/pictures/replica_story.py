"""The fold of the replica set's picture: one partition's replicas, what each holds, who
leads in which epoch, and which of them are in sync.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from minikafka.theatre.axis import Scene
from minikafka.theatre.nodes import Links, epoch_at, listed, node_id
from minikafka.theatre.pictures.log_copies import (
    OF_NODES,
    CopiesStory,
    Held,
    LogCopy,
    RecordId,
)
from minikafka.theatre.pictures.replica_close import Close
from minikafka.theatre.pictures.replica_promises import Promises, light_on
from minikafka.theatre.play import (
    LIVES,
    QUIETLY,
    Cast,
    Detail,
    Says,
    Space,
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
LONGEST_MARK = 20  # letters on the axis; the sentence has the whole name
SAYS = OF_NODES | {
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
    "NodeCrashed": Says(
        "{Node} crashes. What it has written stays on its disk.", "{node} crashes", True
    ),
    "NodeRestarted": Says("{Node} is back, with its disk.", "{node} is back"),
    "NodeFrozen": Says(
        "{Node} is frozen: it does nothing, and its connections stay open.",
        "{node} is frozen",
        True,
    ),
}


@dataclass
class Copy(LogCopy):
    """One replica. fenced: as the controller said last. leads, follows, epoch: whether
    it believes to lead, or whom it follows, and in which epoch. says: of its fetches;
    asked_at: number of the event of the last one that is not answered yet.
    """

    fenced: bool = False
    leads: bool = False
    follows: int = -1
    epoch: int = -1
    says: str = ""
    asked_at: int = 0

    def lead(self, epoch: int) -> None:
        self.leads = True
        self.follows = self.broker
        self.epoch = epoch

    def follow(self, leader: int, epoch: int) -> None:
        """It may be told, too, that it leads itself."""
        self.leads = leader == self.broker
        self.follows = leader
        self.epoch = epoch

    def take(self, d: Detail, number: int) -> None:
        """Records get into its log."""
        self.fenced = False
        self.cut = ()
        self.end = d["last_offset"] + 1
        for offset in range(d["base_offset"], self.end):
            epoch = epoch_at(d["epochs"], offset)
            self.records[offset] = Held(epoch, number)

    def forget(self) -> None:
        """What it knew before it crashed; its log stays."""
        self.leads = False
        self.follows = -1
        self.cut = ()
        self.fenced = False


class ReplicaStory(CopiesStory):
    name = "replica-set"
    says: ClassVar[Mapping[str, Says]] = SAYS
    shows = ("topic", "partition", "most", "producers")

    def __init__(
        self,
        trace: Sequence[Event],
        *,
        topic: str | None = None,
        partition: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(trace, **options)
        busiest = _busiest_partition(trace, topic, partition)
        self.topic, self.partition = busiest or (topic or "", 0)
        self.title = "The replicas of a partition"
        if busiest:
            self.title = f"The replicas of {self.topic}-{self.partition}"
        mine = [event for event in trace if self._is_of_partition(event)]
        self.copies = {f"broker {number}": Copy(number) for number in _brokers(mine)}
        self.links = Links(self.copies)
        self.most = _longest(mine)
        self.clients_speak = any(
            event.kind in ("ClientStarted", "RecordsAcknowledged") for event in trace
        )
        self.promises = Promises(mine)
        self.epochs: dict[int, int] = {}  # leader epoch -> broker
        self.isr: list[int] = []
        self.asked: list[int] = []
        self.acks: dict[str, Any] = {}
        self.producers: list[str] = []
        self.close = Close(self)

    def _is_of_partition(self, event: Event) -> bool:
        topic = event.detail.get("topic")
        partition = event.detail.get("partition", self.partition)
        return (topic, partition) == (self.topic, self.partition)

    def is_mine(self, event: Event) -> bool:
        if not self.copies:
            return False
        return "topic" not in event.detail or self._is_of_partition(event)

    def cast(self) -> Cast:
        told = super().cast()
        told["ever_lost"] = self.promises.ever_lost
        told["leaders"] = {str(epoch): broker for epoch, broker in self.epochs.items()}
        return told | self.promises.names.cast()

    def ends(self, last: Scene) -> None:
        words = self.close.in_short()
        if words and not self.live:
            last["sentence"] = words

    # -- who has what

    @property
    def epoch(self) -> int:
        return max(self.epochs, default=-1)

    @property
    def leader(self) -> Copy | None:
        if not self.epochs:
            return None
        return self.copies.get(f"broker {self.epochs[self.epoch]}")

    def space(self) -> Space:
        leader = self.leader
        copies = self.copies.values()
        lost = self.promises.lost(leader)
        end = max((copy.end for copy in copies), default=0)

        return {
            "epoch": self.epoch,
            "leader": leader.broker if leader else -1,
            "isr": self.isr,
            "asked": self.asked,
            "lost": len(lost),
            "end": end,
            "names": self.promises.named_so_far(),
            "told": self.promises.space(lost, end - NEAR),
            "copies": [self._shown(copy) for copy in copies],
            "acks": {name: self.acks.get(name, "") for name in self.producers},
        }

    def _shown(self, copy: Copy) -> dict[str, Any]:
        shown = picked(copy, "broker", "leads", "follows", "epoch")
        shown |= picked(copy, "end", "high_watermark", "says", "asked_at")
        life = self.links.life(copy.name, copy.life)
        fenced = "fenced" if copy.fenced else ""
        shown["life"] = life or fenced
        shown["apart"] = self.links.apart(copy.name, f"broker {copy.follows}")
        return shown | copy.described(NEAR, self.promises.describe)

    def details(self, event: Event) -> dict[str, Any]:
        d = event.detail
        leader = self.leader
        told = super().details(event)
        told["asker"] = self.asker(event) or "a producer"
        told["Leader"] = f"Broker {leader.broker}" if leader else "The leader"
        for name in ("isr", "was"):
            if name in d:
                told[name] = listed(d[name])

        if "broker" in d:
            told["broker"] = f"broker {d['broker']}"
        if "follower" in d:
            told["Follower"] = f"Broker {d['follower']}"
        return told

    # -- fold: leaders

    def _see_ReplicaOpened(self, event: Event, d: Detail) -> Told | None:
        copy = self.copies[event.node]
        is_back = copy.fenced and not copy.life
        copy.fenced = False
        copy.end = d["log_end_offset"]
        copy.high_watermark = d["high_watermark"]
        copy.follow(d["leader"], d["leader_epoch"])
        for offset in [offset for offset in copy.records if offset >= copy.end]:
            del copy.records[offset]

        if d["leader"] >= 0:
            self.epochs.setdefault(d["leader_epoch"], d["leader"])
        if d["leader_epoch"] >= self.epoch:
            self.isr = sorted(d["isr"])
        if not is_back:
            return QUIETLY

        return Told(
            f"{capital(event.node)} is back, with its disk: its log ends at offset"
            f" {copy.end}.",
            f"{event.node} is back",
            marks=self.mark(event.node, "back"),
        )

    def _see_LeaderElected(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        epoch = d["leader_epoch"]
        copy.lead(epoch)
        copy.says = ""
        self.epochs[epoch] = copy.broker
        is_unclean = self.isr and copy.broker not in self.isr
        self.isr = sorted(d["isr"])
        self.asked = []
        who = capital(event.node)
        among = listed(d["isr"])
        words = f"{who} leads now, in epoch {epoch}; the ISR is {among}."
        if is_unclean:
            words += " It was not in the ISR."
        told = Told(words, f"{event.node} leads")
        self._add_loss(told, f"{who} doesn't have")
        told.marks = self.mark(event.node, f"leads, epoch {epoch}")
        told.marks += self.mark("isr", among)
        return told

    def _add_loss(self, told: Told, begin: str) -> None:
        """What was acknowledged and is lost with this step."""
        leader = self.leader
        lost = self.promises.newly_lost(leader)
        if not lost:
            return

        told.trouble = True
        what = self.promises.named(lost)
        who = self.promises.producer_of(lost[0])
        told.sentence += f" {begin} {what}: {who} was told that it is acknowledged."
        told.chapter = "an acknowledged record is lost"
        light = light_on(lost)
        if leader is not None:
            light.append(f"node/{leader.broker}/next")
        told.light = light

    def _see_LeaderFollowed(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        copy.leads = False
        copy.epoch = d["leader_epoch"]
        copy.follows = d["leader"]
        return QUIETLY

    def _see_IsrAsked(self, event: Event, d: Detail) -> Told:
        is_again = self.asked == d["isr"]
        self.asked = d["isr"]
        return QUIETLY if is_again else self.tell(event)

    def _see_IsrShrunk(self, event: Event, d: Detail) -> Told:
        self.isr = sorted(d["isr"])
        self.asked = []
        for copy in self.copies.values():
            if copy.broker in self.isr:
                copy.fenced = False
        return self.tell(event)

    _see_IsrExpanded = _see_IsrShrunk

    # -- fold: records

    def _see_BatchSent(self, event: Event, d: Detail) -> None:
        self.promises.sent(event)
        self.close.sent(event)
        self.acks[event.node] = d["acks"]

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        who = self.asker(event) or ""
        if who and who not in self.producers:
            self.producers.append(who)
        for record in self.promises.appended(event, who, self.number):
            self.epochs.setdefault(record.epoch, copy.broker)

        copy.take(d, self.number)
        copy.leads = True
        copy.epoch = d["epochs"][-1][0]
        offsets = range(d["base_offset"], d["last_offset"] + 1)
        what = "records"
        if len(offsets) == 1:
            record = RecordId(offsets[0], copy.epoch)
            what = quoted(self.promises.written[record].name, 30)
        sentence = (
            f"{who or 'A producer'} writes {what}: {event.node} leads, and appends"
            f" {span_of(offsets)}. So far nobody else has it."
        )
        return Told(sentence, self.once("first record"))

    def _see_RecordsReplicated(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        self.promises.replicated(event, self.number)
        copy.take(d, self.number)
        offsets = span_of(range(d["base_offset"], d["last_offset"] + 1))
        copy.says = f"got {_bare(offsets)}"
        copy.asked_at = 0

        return Told(
            f"{capital(event.node)}'s fetch is answered with {offsets}: it appends it"
            " as it is."
        )

    def _see_FollowerFetched(self, event: Event, d: Detail) -> Told | None:
        copy = self.copies.get(f"broker {d['follower']}")
        if copy is None:
            return None

        copy.says = f"fetches from {d['offset']}"
        copy.asked_at = self.number
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

        return Told(
            f"The whole ISR ({listed(self.isr)}) has it: {where}. Consumers may read up"
            " to there."
        )

    def _see_LogTruncated(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        end = d["log_end_offset"]
        copy.truncate(end)
        copy.high_watermark = min(copy.high_watermark, end)
        self.promises.cut_by |= dict.fromkeys(copy.cut, copy.name)
        what = span_of([record.offset for record in copy.cut])
        told = Told(
            f"{capital(event.node)} cuts {what} off its log: it ends at offset {end}"
            " now, like the leader's.",
            f"{event.node} cuts its log",
            trouble=True,
            marks=self.mark(event.node, f"cuts {what}", True),
        )
        lost = self.promises.lost(self.leader)
        gone = [record for record in copy.cut if record in lost]
        if gone:
            told.sentence += self._who_has_it_still(gone)
            told.light = light_on(gone)
        return told

    def _who_has_it_still(self, gone: Sequence[RecordId]) -> str:
        """Of acknowledged records that a log has just lost."""
        left = 0
        for copy in self.copies.values():
            left += any(copy.holds(record) for record in gone)

        still = "nobody has it any more"
        if left:
            still = f"{counted(left, 'replica')} has it still"
        who = capital(self.promises.producer_of(gone[0]))
        return f" {who} was told that it is acknowledged: {still}."

    # -- fold: what producers hear

    def _see_RecordsAcknowledged(self, event: Event, d: Detail) -> Told | None:
        offsets = range(d["base_offset"], d["base_offset"] + d["count"])
        mine = self.promises.at(offsets, batch=(event.node, d["batch"]))
        self.close.acknowledged(mine, event.at)
        return self._hears(event.node, mine)

    def _see_SendFailed(self, event: Event, d: Detail) -> Told | None:
        who = event.node
        error = d["error"]
        mine = self.promises.unanswered_of(batch=(who, d["batch"]))
        told = self._hears(who, mine, error)
        return told or Told(f"{who} is told that it failed: {error}.", trouble=True)

    def _see_ProduceAnswered(self, event: Event, d: Detail) -> Told | None:
        if self.clients_speak:  # they say themselves what they heard
            return None

        waits = self.promises.unanswered()
        waits = [record for record in waits if record.offset <= d["last_offset"]]
        who = self.promises.written[waits[0]].producer if waits else ""
        error = "" if d["error"] == "NONE" else d["error"]
        return self._hears(who, waits, error)

    def _hears(
        self, who: str, mine: Sequence[RecordId], error: str = ""
    ) -> Told | None:
        """A producer is told what has become of these records: an error, or that they
        are acknowledged.
        """
        if not mine:
            return None

        what = "failed" if error else "acknowledged"
        self.promises.tell(mine, what, self.number)
        for record in mine:
            self.promises.written[record].had = self._have(record)

        offsets = span_of(sorted(record.offset for record in mine))
        acks = f" (acks={self.acks[who]})" if who in self.acks else ""
        because = f": {error}" if error else ""
        sign = "✗" if error else "✓"
        told = Told(
            f"{who or 'The producer'} is told{acks}: {offsets} {what}{because}. At this"
            f" moment {self._how_many_have(mine[-1])}.",
            self.once(f"first {what}"),
            trouble=bool(error),
            marks=self.mark("told", f"{sign} {_bare(offsets)}", bool(error)),
        )
        self._add_loss(told, "The leader of now doesn't have")
        return told

    def _how_many_have(self, record: RecordId) -> str:
        have = self._have(record)
        verb = "has" if have == 1 else "have"
        return f"{have} of {counted(len(self.copies), 'replica')} {verb} it"

    def _have(self, record: RecordId) -> int:
        return sum(copy.holds(record) for copy in self.copies.values())

    # -- fold: nodes

    def _see_BrokerFenced(self, event: Event, d: Detail) -> Told | None:
        copy = self.copies.get(f"broker {d['broker']}")
        if copy is None:
            return None
        copy.fenced = True
        return self.tell(event)

    def _see_BatchRefused(self, event: Event, d: Detail) -> Told:
        error = d["error"]
        word = error if len(error) <= LONGEST_MARK else "refused"
        return self.tell(event, mark=("told", word, True))

    def _see_life(self, event: Event, d: Detail) -> Told | None:
        copy = self.copies.get(event.node)
        if copy is None:
            return None

        copy.life = LIVES[event.kind]
        copy.says = ""
        if event.kind in ("NodeRestarted", "NodeCrashed"):
            copy.forget()
        return self.tell_life(event, copy.life)


def _busiest_partition(
    trace: Sequence[Event], topic: str | None, partition: int | None
) -> tuple[str, int] | None:
    """The partition that is copied most, of those that may be meant."""
    found: Counter[tuple[str, int]] = Counter()
    for event in trace:
        if event.kind not in REPLICATED:
            continue
        part = event.detail["topic"], event.detail["partition"]
        name, number = part
        is_meant = topic in (None, name) and partition in (None, number)
        if is_meant and not name.startswith("__"):
            found[part] += 1
    return max(found, key=lambda each: (found[each], each), default=None)


def _brokers(mine: Sequence[Event]) -> list[int]:
    """Who has a replica."""
    found = {node_id(event.node) for event in mine if event.kind in REPLICATED}
    for event in mine:
        if event.kind == "ReplicaOpened":
            found.update(event.detail["replicas"])
    return sorted(found)


def _longest(mine: Sequence[Event]) -> int:
    """How far any of the logs ever goes."""
    last = [event.detail.get("last_offset", -1) for event in mine]
    return max(last, default=-1) + 1


def _bare(span: str) -> str:
    """4 to 6, of "offsets 4 to 6"."""
    return span.removeprefix("offsets ").removeprefix("offset ")
