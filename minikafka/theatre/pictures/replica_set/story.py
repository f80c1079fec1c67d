"""The fold of the replica set's picture: one partition's replicas, what each holds, who
leads in which epoch, and which of them are in sync.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from minikafka.theatre.axis import Scene
from minikafka.theatre.nodes import Links, listed
from minikafka.theatre.pictures.log_copies import OF_NODES, RecordId
from minikafka.theatre.pictures.log_partition import (
    PartitionStory,
    acknowledged,
    batch_of,
    brokers_of,
    latest_epoch,
    offsets_of,
)
from minikafka.theatre.pictures.replica_set.actors import Copy
from minikafka.theatre.pictures.replica_set.close import Close
from minikafka.theatre.pictures.replica_set.promises import Promises, light_on
from minikafka.theatre.play import QUIETLY, Cast, Detail, Says, Space, Told, picked
from minikafka.theatre.text import capital, counted, quoted, span_of
from minikafka.trace import Event

# producers say themselves what they heard
BY_CLIENTS = ("ClientStarted", "RecordsAcknowledged")
NEAR = 24  # records of a log that are in a scene
LONGEST_NAME = 30  # letters of a record's name, in a sentence
LONGEST_MARK = 20  # letters on the axis; the sentence has the whole name
SAYS = OF_NODES | {
    "TopicCreated": Says("Topic {topic} is created."),
    "ReplicaOpened": Says(
        "{Node} is back: the log on its disk ends at offset {log_end_offset}.",
        "{node} is back",
        mark=("{node}", "back"),
    ),
    "LeaderElected": Says(
        "{Node} leads now, in epoch {leader_epoch}; the ISR is {isr}.",
        "{node} leads",
        mark=("{node}", "leads, epoch {leader_epoch}"),
    ),
    "IsrAsked": Says(
        "{Node} asks the controller for ISR {isr} instead of {was}. Until the answer"
        " comes, it waits for all brokers in either of them."
    ),
    "IsrShrunk": Says(
        "The controller has decided: the ISR is {isr}. From now on a record is"
        " committed when these have it.",
        "ISR {isr}",
        mark=("isr", "{isr}", True),
    ),
    "IsrExpanded": Says(
        "The controller has decided: the ISR is {isr} again.",
        "ISR {isr}",
        mark=("isr", "{isr}"),
    ),
    "RecordsAppended": Says(
        "{who} sends {what} to {node}, which leads and appends {them} at {offsets}. So"
        " far no other broker has {them}.",
        first="first record",
    ),
    "RecordsReplicated": Says(
        "{Node} gets {offsets} in the answer to its fetch, and appends that, too."
    ),
    "HighWatermarkAdvanced": Says(
        "The whole ISR ({isr}) has everything before offset {high_watermark}, so that"
        " is committed: the high watermark is {high_watermark}. Consumers may read up to"
        " there."
    ),
    "LogTruncated": Says(
        "{Node} truncates its log: it drops {what}, which the leader doesn't have. Now"
        " its log ends at offset {log_end_offset}.",
        "{node} cuts its log",
        True,
        mark=("{node}", "cuts {what}", True),
    ),
    "SendFailed": Says("{node} is told that it failed: {error}.", trouble=True),
    "FollowerFetched": Says(
        "{Follower} fetches from offset {offset}, so {node} knows that it has"
        " everything before that."
    ),
    "LogDiverged": Says(
        "{Node} says in its fetch which epoch its log ends in. {Leader} answers: “Epoch"
        " {epoch} ended at offset {end_offset} here.”"
    ),
    "BrokerFenced": Says(
        "The controller ({node}) has heard nothing from {broker} for {silent_ms} ms"
        "{since}, so it fences that broker.",
        "{broker} is fenced",
        mark=("{broker}", "fenced", True),
    ),
    "BatchRefused": Says(
        "{Node} refuses a batch from {asker}: {error}.", "{error}", True
    ),
    "NodeCrashed": Says(
        "{Node} crashes. What it has written stays on its disk.", "{node} crashes", True
    ),
    "NodeRestarted": Says(
        "{Node} is back, with what is on its disk.", "{node} is back"
    ),
    "NodeFrozen": Says(
        "{Node} is frozen: it does nothing, and its connections stay open.",
        "{node} is frozen",
        True,
    ),
}


class ReplicaStory(PartitionStory):
    """epochs: by leader epoch, the number of the broker. isr: as the controller decided
    it last; asked: as the leader wants it. acks: of each producer, as it sent last.
    clients_speak: the trace holds what producers heard, not only what brokers answered.
    """

    name = "replica-set"
    title = "The replicas of a partition"
    title_of_part = "The replicas of {part}"
    of_replicas = (
        "ReplicaOpened",
        "RecordsReplicated",
        "FollowerFetched",
        "LeaderElected",
        "LeaderFollowed",
    )
    says: ClassVar[Mapping[str, Says]] = SAYS
    shows = ("topic", "partition", "most", "producers")

    def __init__(self, trace: Sequence[Event], **options: Any) -> None:
        super().__init__(trace, **options)
        self._place_brokers()
        self.clients_speak = any(event.kind in BY_CLIENTS for event in trace)
        self.promises = Promises(self.mine)
        self.epochs: dict[int, int] = {}
        self.isr: list[int] = []
        self.asked: list[int] = []
        self.acks: dict[str, Any] = {}
        self.producers: list[str] = []
        self.gone_at: dict[str, int] = {}  # when a broker went away last, in ms
        self.close = Close(self.copies, self.promises, self.epochs, self.acks)

    def _place_brokers(self) -> None:
        """Find the brokers with a replica, and which of them reach each other."""
        self.copies: dict[str, Copy] = {}
        for number in _brokers(self.replicas()):
            copy = Copy(number)
            self.copies[copy.name] = copy
        self.links = Links(self.copies)

    def cast(self) -> Cast:
        leaders = {}
        for epoch, broker in self.epochs.items():
            leaders[str(epoch)] = broker
        told = super().cast()
        told["ever_lost"] = self.promises.ever_lost
        told["leaders"] = leaders
        return told | self.promises.names.cast()

    def ends(self, last: Scene) -> None:
        if self.close.waited:
            last["space"]["waited"] = self.close.waited
        if self.live:
            return
        last["sentence"] = self.close.in_short(self.leader) or last["sentence"]
        lost = self.promises.lost(self.leader)
        cutters = {self.promises.cut_by.get(record, "") for record in lost}
        if self.leader and lost and all(cutters):
            lanes = ["told", "leader", *sorted(cutters)]
            last["light"] = [
                *light_on(sorted(lost)),
                *(f"time/lane/{lane}" for lane in lanes),
                "record",
                f"node/{self.leader.broker}",
            ]
        left = self.close.waited_for
        if left and "light" not in last:
            last["light"] = [
                "time/lane/isr",
                *(f"time/lane/broker {broker}" for broker in left),
                *(f"node/{broker}" for broker in left),
                "time/lane/told",
            ]

    # -- who has what

    @property
    def epoch(self) -> int:
        return max(self.epochs, default=-1)

    @property
    def leader(self) -> Copy | None:
        if not self.epochs:
            return None
        broker = self.epochs[self.epoch]
        return self.copies.get(f"broker {broker}")

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

    def _shown(self, copy: Copy) -> Detail:
        shown = picked(
            copy,
            "broker",
            "leads",
            "follows",
            "epoch",
            "end",
            "high_watermark",
            "says",
            "asked_at",
        )
        life = self.links.life(copy.name, copy.life)
        fenced = "fenced" if copy.fenced else ""
        shown["life"] = life or fenced
        shown["apart"] = self.links.apart(copy.name, f"broker {copy.follows}")
        return shown | copy.described(NEAR, self.promises.describe)

    def details(self, event: Event) -> Detail:
        d = event.detail
        leader = self.leader
        told = super().details(event)
        told["asker"] = self.asker(event) or "a producer"
        told["Leader"] = capital(leader.name) if leader else "The leader"
        for name in ("isr", "was"):
            if name in d:
                told[name] = listed(d[name])

        if "broker" in d:
            told["broker"] = f"broker {d['broker']}"
        if "follower" in d:
            told["Follower"] = f"Broker {d['follower']}"
        return told

    # -- fold: leaders

    def _see_ReplicaOpened(self, event: Event, d: Detail) -> Told:
        epoch = d["leader_epoch"]
        leader = d["leader"]
        copy = self.copies[event.node]
        is_back = copy.fenced and not copy.life
        copy.open(d)
        if leader >= 0:
            self.epochs.setdefault(epoch, leader)
        if epoch >= self.epoch:
            self.isr = sorted(d["isr"])
        if not is_back:
            return QUIETLY
        return self.tell(event)

    def _see_LeaderElected(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        epoch = d["leader_epoch"]
        is_unclean = bool(self.isr) and copy.broker not in self.isr
        copy.lead(epoch)
        # a controller elects no broker that it has fenced
        copy.fenced = False
        copy.says = ""
        self.epochs[epoch] = copy.broker
        self.isr = sorted(d["isr"])
        self.asked = []

        told = self.tell(event)
        told.marks += self.mark("isr", listed(self.isr))
        if is_unclean:
            told.sentence += " It was not in the ISR."
        self._add_loss(told, f"{capital(event.node)} doesn't have")
        return told

    def _add_loss(self, told: Told, begin: str) -> None:
        """Tell the acknowledged records that are lost with this step."""
        leader = self.leader
        lost = self.promises.newly_lost(leader)
        if not lost:
            return

        what = self.promises.named(lost)
        who = self.promises.producer_of(lost[0])
        light = light_on(lost)
        if leader is not None:
            light.append(f"node/{leader.broker}/next")
        told.sentence += f" {begin} {what}, although {who} was told “done”."
        told.chapter = "an acknowledged record is lost"
        told.trouble = True
        told.light = light

    def _see_LeaderFollowed(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        copy.leads = False
        copy.epoch = d["leader_epoch"]
        copy.follows = d["leader"]
        return QUIETLY

    def _see_IsrAsked(self, event: Event, d: Detail) -> Told:
        isr = d["isr"]
        if self.asked == isr:
            return QUIETLY
        self.asked = isr
        return self.tell(event)

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
        self.close.sent(event, self.isr)
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
        copy.epoch = latest_epoch(d)
        offsets = offsets_of(d)
        return self.tell(
            event,
            who=who or "A producer",
            what=self._what(offsets, copy.epoch),
            them="it" if len(offsets) == 1 else "them",
            offsets=span_of(offsets),
        )

    def _what(self, offsets: Sequence[int], epoch: int) -> str:
        """A single record by its name."""
        if len(offsets) != 1:
            return "records"
        [offset] = offsets
        record = RecordId(offset, epoch)
        name = self.promises.written[record].name
        return quoted(name, LONGEST_NAME)

    def _see_RecordsReplicated(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        self.promises.replicated(event, self.number)
        copy.take(d, self.number)
        offsets = span_of(offsets_of(d))
        copy.says = f"got {offsets}"
        copy.asked_at = 0
        return self.tell(event, offsets=offsets)

    def _see_FollowerFetched(self, event: Event, d: Detail) -> Told | None:
        copy = self.copies.get(f"broker {d['follower']}")
        if copy is None:
            return None

        copy.says = f"fetches from offset {d['offset']}"
        copy.asked_at = self.number
        # of the first records of all
        return self.tell(event) if d["offset"] else QUIETLY

    def _see_HighWatermarkAdvanced(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        copy.high_watermark = d["high_watermark"]
        if copy.leads:
            return self.tell(event, isr=listed(self.isr))
        return Told(
            f"{capital(event.node)} learns from the answer to its fetch that the high"
            f" watermark is {copy.high_watermark}."
        )

    def _see_LogTruncated(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        copy.cut_off(d["log_end_offset"])
        self.promises.cut_by |= dict.fromkeys(copy.cut, copy.name)
        offsets = [record.offset for record in copy.cut]
        told = self.tell(event, what=span_of(offsets))

        lost = self.promises.lost(self.leader)
        gone = [record for record in copy.cut if record in lost]
        if gone:
            told.sentence += self._who_has_it_still(gone)
            told.light = light_on(gone)
        return told

    def _who_has_it_still(self, gone: Sequence[RecordId]) -> str:
        """The brokers that still have acknowledged records that a log has just lost."""
        left = 0
        for copy in self.copies.values():
            left += any(copy.holds(record) for record in gone)

        still = "no replica has it any more"
        if left:
            verb = "has" if left == 1 else "have"
            still = f"{counted(left, 'replica')} still {verb} it"
        who = capital(self.promises.producer_of(gone[0]))
        return f" {who} was told “done”, and now {still}."

    # -- fold: what producers hear

    def _see_RecordsAcknowledged(self, event: Event, d: Detail) -> Told | None:
        batch = batch_of(event)
        mine = self.promises.at(acknowledged(d), batch)
        self.close.acknowledged(mine, event.at, self.isr)
        return self._hears(event.node, mine)

    def _see_SendFailed(self, event: Event, d: Detail) -> Told | None:
        batch = batch_of(event)
        mine = self.promises.unanswered_of(batch)
        told = self._hears(event.node, mine, error=d["error"])
        return told or self.tell(event)

    def _see_ProduceAnswered(self, event: Event, d: Detail) -> Told | None:
        """The broker's answer to a producer, if the producer emits no events itself."""
        if self.clients_speak:
            return None
        last = d["last_offset"]
        error = d["error"]
        unanswered = self.promises.unanswered()
        mine = [record for record in unanswered if record.offset <= last]
        if not mine:
            return None
        written = self.promises.written[mine[0]]
        return self._hears(
            written.producer, mine, error="" if error == "NONE" else error
        )

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
            written = self.promises.written[record]
            written.had = self._have(record)

        sign = "✗" if error else "✓"
        has_failed = bool(error)
        offsets = span_of(sorted(record.offset for record in mine))
        named = self.promises.written[mine[0]].name
        if len(mine) > 1 or len(named) > LONGEST_MARK:
            named = offsets.removeprefix("offsets ")
        said = f"{offsets} failed, {error}" if error else f"“done, {offsets}”"
        told = Told(
            f"{who or 'The producer'} is told{self._with_acks(who)}: {said}."
            f" At this moment {self._how_many_have(mine[-1])}.",
            chapter=self.once(f"first {what}"),
            trouble=has_failed,
            marks=self.mark("told", f"{sign} {named}", has_failed),
        )
        self._add_loss(told, "The current leader doesn't have")
        return told

    def _with_acks(self, who: str) -> str:
        """The acks that its producer asked for, as far as that was seen."""
        if who not in self.acks:
            return ""
        return f" (acks={self.acks[who]})"

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
        since = ""
        before_ms = self.gone_at.get(copy.name, event.at) - (event.at - d["silent_ms"])
        if copy.life and 0 < before_ms < d["silent_ms"]:
            before = f"{before_ms / 1000:.1f} s before it was {copy.life}"
            since = f": its last heartbeat came {before}"
        told = self.tell(event, since=since)
        if copy.life:
            told.marks = []  # on the bar that says since when it has been away
        if event.node == copy.name:
            told.sentence = (
                f"{capital(event.node)} is the controller, too, and has had no heartbeat"
                f" from the broker in its own process for {d['silent_ms']} ms, so it"
                " fences itself."
            )
        return told

    def _see_BatchRefused(self, event: Event, d: Detail) -> Told:
        error = d["error"]
        word = error if len(error) <= LONGEST_MARK else "refused"
        return self.tell(event, mark=("told", word, True))

    def _see_life(self, event: Event, life: str) -> Told | None:
        copy = self.copies.get(event.node)
        if copy is None:
            return None

        copy.life = life
        copy.says = ""
        self.gone_at[copy.name] = event.at
        if event.kind in ("NodeRestarted", "NodeCrashed"):
            copy.forget()
        return self.tell_life(event, life)


def _brokers(replicas: Sequence[Event]) -> list[int]:
    """The brokers that have a replica, or are named as having one."""
    found = brokers_of(replicas)
    for event in replicas:
        if event.kind == "ReplicaOpened":
            found.update(event.detail["replicas"])
    return sorted(found)
