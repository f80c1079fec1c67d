"""The fold of the fork's picture: one log on several brokers, of which two believe to
lead for a while; where their logs part, and what is cut off when they meet again.

What producers have in hand is what they have sent and not heard of yet: the same
records that lie in the logs.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar

from minikafka.theatre.axis import Scene
from minikafka.theatre.nodes import Links, node_id
from minikafka.theatre.pictures.fork_actors import Copy, Producer
from minikafka.theatre.pictures.fork_close import MOST_NAMED, in_short
from minikafka.theatre.pictures.log_copies import (
    OF_NODES,
    CopiesStory,
    RecordId,
)
from minikafka.theatre.pictures.replica_promises import Promises
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
from minikafka.theatre.text import capital, listed, quoted, span_of
from minikafka.trace import Event

NEAR = 24  # records of a log that are in a scene
OF_REPLICAS = ("ReplicaOpened", "RecordsReplicated", "LeaderElected", "LogTruncated")
SAYS = OF_NODES | {
    "BrokerFenced": Says(
        "The controller has heard nothing from {broker} for {silent_ms} ms: it fences"
        " it, and chooses another leader."
    ),
    "LogDiverged": Says(
        "{Node} says in its fetch: my log ends in epoch {own_epoch}. The leader"
        " answers: here epoch {epoch} ended at offset {end_offset}.",
        "where does your epoch end?",
    ),
    "BatchRetried": Says("{Node} will send its batch again: {why}."),
    "NodeCrashed": Says("{Node} crashes.", "{node} crashes", True),
    "NodeRestarted": Says("{Node} is back, with its disk.", "{node} is back"),
    "NodeFrozen": Says("{Node} is frozen.", "{node} is frozen", True),
}


class ForkStory(CopiesStory):
    name = "fork"
    says: ClassVar[Mapping[str, Says]] = SAYS
    shows = ("topic", "partition", "most", "order")

    def __init__(
        self,
        trace: Sequence[Event],
        *,
        topic: str | None = None,
        partition: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(trace, **options)
        self.topic, self.partition = _busiest(trace, topic, partition)
        self.title = "One log, two leaders"
        if self.topic:
            self.title = f"One log, two leaders: {self.topic}-{self.partition}"

        mine = [event for event in trace if self._is_of_partition(event)]
        replicas = [event for event in mine if event.kind in OF_REPLICAS]
        brokers = sorted({node_id(event.node) for event in replicas} - {0})
        self.copies = {f"broker {number}": Copy(number) for number in brokers}
        self.order = _old_leader_last(brokers, replicas)
        self.links = Links(self.copies)

        last = [event.detail.get("last_offset", -1) for event in mine]
        self.most = max(last, default=-1) + 1
        self.promises = Promises(mine)
        self.leaders: dict[int, int] = {}  # leader epoch -> broker
        self.producers: dict[str, Producer] = {}
        self.parted_at: int | None = None  # the first offset that was written twice

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
        told["leaders"] = {str(epoch): who for epoch, who in self.leaders.items()}
        told["producers"] = list(self.producers)
        told["dropped"] = any(copy.dropped for copy in self.copies.values())
        return told | self.promises.names.cast()

    def details(self, event: Event) -> Detail:
        told = super().details(event)
        if "broker" in told:
            told["broker"] = f"broker {told['broker']}"
        copy = self.copies.get(event.node)
        if copy is not None:
            held = copy.records.get(copy.end - 1)
            told["own_epoch"] = held.epoch if held else copy.epoch
        return told

    # -- what is where

    @property
    def newest(self) -> int:
        """The largest leader epoch that there is."""
        return max(self.leaders, default=-1)

    @property
    def fork(self) -> int | None:
        """The first offset at which two logs hold different records."""
        differ = []
        for one, other in combinations(self.copies.values(), 2):
            for offset, held in one.records.items():
                there = other.records.get(offset)
                if there is not None and there.epoch != held.epoch:
                    differ.append(offset)
        return min(differ, default=None)

    def space(self) -> Space:
        copies = self.copies.values()
        end = max((copy.end for copy in copies), default=0)
        producers = []
        for name, producer in self.producers.items():
            producers.append([name, *self._shown_producer(name, producer)])
        return {
            "newest": self.newest,
            "fork": self.fork,
            "end": end,
            "names": self.promises.named_so_far(),
            "copies": [self._shown(copy) for copy in copies],
            "producers": producers,
        }

    def _shown(self, copy: Copy) -> Detail:
        shown = picked(
            copy,
            "broker",
            "leads",
            "follows",
            "epoch",
            "end",
        )
        shown |= picked(copy, "high_watermark", "asked_to")
        shown["led"] = [list(span) for span in copy.led]
        shown["life"] = self.links.life(copy.name, copy.life)
        shown["dropped"] = [self._dropped(record) for record in copy.dropped]
        return shown | copy.described(NEAR, self.promises.describe) | {"cut": []}

    def _dropped(self, record: RecordId) -> list[Any]:
        """As a log has it, and what its producer was told."""
        described = self.promises.describe(record)
        told = self.promises.was_told(record)
        return [*record, *described, 0, told]

    def _shown_producer(self, name: str, producer: Producer) -> list[Any]:
        shown = picked(
            producer,
            "at",
            "since",
            "failed",
            "done",
            "number",
        )
        hand = []
        for record in self._in_hand(name, producer):
            letter, called, _ = self.promises.describe(record)
            hand.append([letter, called, f"{record.offset}/{record.epoch}"])

        waited = [list(span) for span in producer.waited]
        return [*shown.values(), hand, waited]

    def _in_hand(self, name: str, producer: Producer) -> list[RecordId]:
        """What it has sent, and heard nothing of; a batch that was written twice is one
        thing.
        """
        if producer.since is None:
            return []

        written = self.promises.written
        mine = [
            record
            for record in self.promises.unanswered()
            if written[record].producer == name
        ]
        latest = {(written[each].batch, written[each].name): each for each in mine}
        return list(latest.values())

    def _are_alike(self) -> bool:
        """Whether all logs hold the same records."""
        logs = []
        for copy in self.copies.values():
            held = {offset: each.epoch for offset, each in copy.records.items()}
            logs.append((copy.end, held))
        return all(log == logs[0] for log in logs)

    def ends(self, last: Scene) -> None:
        words = in_short(self, last)
        if words and not self.live:
            last["sentence"] = words

    # -- fold: leaders

    def _see_ReplicaOpened(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        copy.end = d["log_end_offset"]
        copy.high_watermark = d["high_watermark"]
        leader = d["leader"]
        if leader == copy.broker:
            copy.lead(d["leader_epoch"], self.at, self.number)
        else:
            copy.follow(leader, d["leader_epoch"], self.at)
        if leader >= 0:
            self.leaders.setdefault(d["leader_epoch"], leader)
        return QUIETLY

    def _see_LeaderElected(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        epoch = d["leader_epoch"]
        self.leaders[epoch] = copy.broker
        copy.lead(epoch, self.at, self.number)
        both = [other for other in self.copies.values() if other.leads]
        words = f"{capital(event.node)} leads now, in epoch {epoch}."
        if len(both) < 2:
            return Told(words, self.once(f"{event.node} leads"))

        old = min(both, key=lambda each: each.epoch)
        words += (
            f" {capital(old.name)} knows nothing of that, and leads on in epoch"
            f" {old.epoch}."
        )
        # with what each has: here one may be asked which of it stays
        light = []
        for each in both:
            light += [f"node/{each.broker}", f"record/{each.broker}"]
        return Told(words, "two leaders", light=light)

    def _see_LeaderFollowed(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        epoch = d["leader_epoch"]
        was = copy.epoch
        has_led = copy.leads
        copy.follow(d["leader"], epoch, self.at)
        if not has_led:
            return QUIETLY

        return Told(
            f"{capital(event.node)} hears of epoch {epoch}, and {epoch} is larger than"
            f" {was}. It leads no more, and follows broker {d['leader']}.",
            f"{event.node} hears of epoch {epoch}",
        )

    # -- fold: records

    def _see_BatchSent(self, event: Event, d: Detail) -> None:
        self.promises.sent(event)

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        who = self.asker(event) or ""
        written = self.promises.appended(event, who, self.number)
        copy.take(d, self.number)
        copy.lead(d["epochs"][-1][0], self.at, self.number)
        if self.parted_at is None:
            self.parted_at = self.fork
        self.leaders.setdefault(copy.epoch, copy.broker)
        if who:
            producer = self.producers.setdefault(who, Producer(copy.broker))
            producer.sends(copy.broker, self.at, self.number)

        names = [quoted(self.promises.written[each].name, 30) for each in written]
        what = listed(names, MOST_NAMED + 1) if names else "records"
        them = "it" if len(names) == 1 else "them"
        offsets = span_of(range(d["base_offset"], d["last_offset"] + 1))

        return Told(
            f"{who or 'A producer'} sends {what} to {event.node}, which appends"
            f" {them}: {offsets}, epoch {copy.epoch}.",
            self.once("first record"),
        )

    def _see_RecordsReplicated(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        self.promises.replicated(event, self.number)
        copy.take(d, self.number)
        offsets = span_of(range(d["base_offset"], d["last_offset"] + 1))
        words = f"{capital(event.node)} copies {offsets} from broker {copy.follows}."
        if copy.dropped and self._are_alike():
            words += " The logs are alike again."
        return Told(words)

    def _see_HighWatermarkAdvanced(self, event: Event, d: Detail) -> Told:
        self.copies[event.node].high_watermark = d["high_watermark"]
        return QUIETLY

    def _see_LogDiverged(self, event: Event, d: Detail) -> Told:
        told = self.tell(event)
        self.copies[event.node].asked_to = d["end_offset"]
        return told

    def _see_LogTruncated(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        end = d["log_end_offset"]
        copy.truncate(end)
        copy.high_watermark = min(copy.high_watermark, end)
        copy.asked_to = None
        copy.dropped += copy.cut
        what = span_of([record.offset for record in copy.cut])
        light = [
            f"record/{copy.broker}/{each.offset}/{each.epoch}" for each in copy.cut
        ]

        return Told(
            f"{capital(event.node)} cuts {what} off: what it had alone, and the leader"
            f" hasn't. Its log ends where epochs agree.{self._who_was_told(copy.cut)}",
            f"{event.node} cuts its log",
            trouble=True,
            light=light,
        )

    def _who_was_told(self, gone: Sequence[RecordId]) -> str:
        """Of records that were just cut off."""
        lost = [each for each in gone if self.promises.was_told(each) == "acknowledged"]
        if not lost:
            return " Nobody was told that it is done."

        who = capital(self.promises.producer_of(lost[0]))
        return f" {who} was told “done”: acknowledged, then cut."

    # -- fold: what producers hear

    def _see_RecordsAcknowledged(self, event: Event, d: Detail) -> Told | None:
        offsets = range(d["base_offset"], d["base_offset"] + d["count"])
        mine = self.promises.at(offsets, batch=(event.node, d["batch"]))
        told = self._hears(event, f"done, {span_of(offsets)}", done=list(offsets))
        # what was written of this batch before is answered, too
        batch = event.node, d["batch"]
        self.promises.tell(mine, "acknowledged", self.number)
        earlier = self.promises.unanswered_of(batch)
        self.promises.tell(earlier, "written again", self.number)
        return told

    def _see_SendFailed(self, event: Event, d: Detail) -> Told | None:
        mine = self.promises.unanswered_of((event.node, d["batch"]))
        self.promises.tell(mine, "failed", self.number)
        return self._hears(event, d["error"], trouble=True)

    def _hears(
        self, event: Event, what: str, done: Sequence[int] = (), trouble: bool = False
    ) -> Told | None:
        producer = self.producers.get(event.node)
        if producer is None:
            return None

        producer.hears(self.at, self.number)
        producer.done = done
        producer.failed = "" if done else what

        return Told(
            f"{event.node} hears: {what}.", f"{event.node} hears", trouble=trouble
        )

    def _see_BatchRetried(self, event: Event, d: Detail) -> Told | None:
        if event.node not in self.producers:
            return None
        return self.tell(event) if self.once((event.node, d["reason"])) else QUIETLY

    # -- fold: nodes and links

    def _see_LinkCut(self, event: Event, d: Detail) -> Told | None:
        if not self.links.follow(event):
            return None

        alone = [name for name in self.copies if self.links.life(name, "") == "cut off"]
        if event.kind == "LinkHealed":
            pairs = combinations(self.copies, 2)
            if any(self.links.apart(*pair) for pair in pairs):
                return QUIETLY
            words = "The network is back: all hear each other again."
            return Told(words, "the network is back")

        if not alone or not self.once("cut off"):
            return QUIETLY

        return Told(
            f"The network is cut: nothing passes between {alone[0]} and the others."
            " Nobody knows it yet.",
            "the network is cut",
        )

    _see_LinkHealed = _see_LinkCut

    def _see_BrokerFenced(self, event: Event, d: Detail) -> Told | None:
        is_new = f"broker {d['broker']}" in self.copies and self.once(
            ("fenced", d["broker"])
        )
        return self.tell(event) if is_new else QUIETLY

    def _see_life(self, event: Event, d: Detail) -> Told | None:
        copy = self.copies.get(event.node)
        if copy is None:
            return None

        copy.life = LIVES[event.kind]
        if event.kind in ("NodeCrashed", "NodeShutDown", "NodeStopped"):
            copy.end_leading(self.at)
        return self.tell(event)


def _busiest(
    trace: Sequence[Event], topic: str | None, partition: int | None
) -> tuple[str, int]:
    """The partition that is copied most, of those that may be meant."""
    found: Counter[tuple[str, int]] = Counter()
    for event in trace:
        if event.kind in OF_REPLICAS:
            name, number = event.detail["topic"], event.detail["partition"]
            is_meant = topic in (None, name) and partition in (None, number)
            if is_meant and not name.startswith("__"):
                found[name, number] += 1

    nothing = topic or "", partition or 0
    return max(
        found,
        key=lambda each: (found[each], each),
        default=nothing,
    )


def _old_leader_last(brokers: Sequence[int], replicas: Sequence[Event]) -> list[int]:
    """Rows from top to bottom: what the first leader had alone falls off below."""
    leading = [
        event.detail["leader"] for event in replicas if event.kind == "ReplicaOpened"
    ]
    first = next((leader for leader in leading if leader >= 0), -1)
    return sorted(brokers, key=lambda broker: (broker == first, broker))
