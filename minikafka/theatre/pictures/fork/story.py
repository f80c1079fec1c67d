"""The fold of the fork's picture: one log on several brokers, of which two believe to
lead for a while; where their logs part, and what is cut off when they meet again.

What producers have in hand is what they have sent and not heard of yet: the same
records that lie in the logs.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar

from minikafka.theatre.axis import Scene
from minikafka.theatre.nodes import Links
from minikafka.theatre.pictures.fork.actors import Copy, Producer
from minikafka.theatre.pictures.fork.close import MOST_NAMED, Close
from minikafka.theatre.pictures.log_copies import OF_NODES, RecordId
from minikafka.theatre.pictures.log_partition import (
    PartitionStory,
    acknowledged,
    batch_of,
    brokers_of,
    latest_epoch,
    offsets_of,
)
from minikafka.theatre.pictures.replica_set.promises import Promises
from minikafka.theatre.play import QUIETLY, Cast, Detail, Says, Space, Told, picked
from minikafka.theatre.text import capital, listed, quoted, span_of
from minikafka.trace import Event

NEAR = 24  # records of a log that are in a scene
LONGEST_NAME = 30  # letters of a record's name, in a sentence
ENDS_LEADING = ("NodeCrashed", "NodeShutDown", "NodeStopped")
SAYS = OF_NODES | {
    "LeaderElected": Says(
        "{Node} leads now, in epoch {leader_epoch}.", first="{node} leads"
    ),
    "LeaderFollowed": Says(
        "{Node} hears of epoch {leader_epoch}, and {leader_epoch} is larger than {was}."
        " It stops leading, and follows broker {leader}.",
        "{node} hears of epoch {leader_epoch}",
    ),
    "RecordsAppended": Says(
        "{who} sends {what} to {node}, which appends {them} at {offsets}, in epoch"
        " {epoch}.",
        first="first record",
    ),
    "RecordsReplicated": Says("{Node} copies {offsets} from broker {leader}."),
    "LogTruncated": Says(
        "{Node} truncates its log: it drops {what}, which no other broker had. Now its"
        " log ends where the epochs agree. {fate}",
        "{node} cuts its log",
        trouble=True,
    ),
    "RecordsAcknowledged": Says(
        "{node} hears “done, {offsets}”{whose}.", "{node} hears"
    ),
    "SendFailed": Says("{node} hears: {error}.", "{node} hears", trouble=True),
    "LinkCut": Says(
        "The network is cut: nothing gets through between {alone} and the others."
        " Nobody has noticed yet.",
        "the network is cut",
    ),
    "LinkHealed": Says(
        "The network is back: all brokers can reach each other again.",
        "the network is back",
    ),
    "BrokerFenced": Says(
        "The controller has heard nothing from {broker} for {silent_ms} ms, so it fences"
        " that broker and chooses another leader."
    ),
    "LogDiverged": Says(
        "{Node} says in its fetch: “My log ends in epoch {own_epoch}.” The leader"
        " answers: “Here epoch {epoch} ended at offset {end_offset}.”",
        "where does your epoch end?",
    ),
    "BatchRetried": Says("{Node} will send its batch again: {why}."),
    "NodeCrashed": Says("{Node} crashes.", "{node} crashes", True),
    "NodeRestarted": Says(
        "{Node} is back, with what is on its disk.", "{node} is back"
    ),
    "NodeFrozen": Says("{Node} is frozen.", "{node} is frozen", True),
}


class ForkStory(PartitionStory):
    """leaders: by leader epoch, the broker's number."""

    name = "fork"
    title = "One log, two leaders"
    title_of_part = "One log, two leaders: {part}"
    of_replicas = (
        "ReplicaOpened",
        "RecordsReplicated",
        "LeaderElected",
        "LogTruncated",
    )
    says: ClassVar[Mapping[str, Says]] = SAYS
    shows = ("topic", "partition", "most", "order")

    def __init__(self, trace: Sequence[Event], **options: Any) -> None:
        super().__init__(trace, **options)
        self._place_brokers()
        self.promises = Promises(self.mine)
        self.leaders: dict[int, int] = {}
        self.producers: dict[str, Producer] = {}
        self.acks: dict[str, str] = {}  # of each producer

    def _place_brokers(self) -> None:
        """Find the brokers with a replica, their rows, and which of them reach each
        other.
        """
        replicas = self.replicas()
        brokers = sorted(brokers_of(replicas) - {0})
        self.order = _old_leader_last(brokers, replicas)
        self.copies: dict[str, Copy] = {}
        for number in brokers:
            copy = Copy(number)
            self.copies[copy.name] = copy
        self.links = Links(self.copies)

    def cast(self) -> Cast:
        copies = self.copies.values()
        leaders = {}
        for epoch, broker in self.leaders.items():
            leaders[str(epoch)] = broker
        told = super().cast()
        told["leaders"] = leaders
        told["producers"] = list(self.producers)
        told["dropped"] = any(copy.dropped for copy in copies)
        return told | self.promises.names.cast()

    def details(self, event: Event) -> Detail:
        told = super().details(event)
        broker = told.get("broker")
        if broker is not None:
            told["broker"] = f"broker {broker}"
        copy = self.copies.get(event.node)
        if copy is not None:
            told["own_epoch"] = copy.last_epoch
        return told

    # -- what is where

    @property
    def newest(self) -> int:
        """The largest leader epoch so far."""
        return max(self.leaders, default=-1)

    @property
    def fork(self) -> int | None:
        """The first offset at which two logs hold different records."""
        differ: list[int] = []
        for one, other in combinations(self.copies.values(), 2):
            differ += one.differing(other)
        return min(differ, default=None)

    def space(self) -> Space:
        copies = self.copies.values()
        producers = self.producers.values()
        return {
            "newest": self.newest,
            "fork": self.fork,
            "end": max((copy.end for copy in copies), default=0),
            "names": self.promises.named_so_far(),
            "copies": [self._shown(copy) for copy in copies],
            "producers": [each.to_json(self.promises) for each in producers],
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
            "asked_to",
        )
        shown["led"] = [list(span) for span in copy.led]
        shown["life"] = self.links.life(copy.name, copy.life)
        shown["dropped"] = [self._dropped(record) for record in copy.dropped]
        shown |= copy.described(NEAR, self.promises.describe)
        shown["cut"] = []  # they fall into the row of what was dropped
        return shown

    def _dropped(self, record: RecordId) -> list[Any]:
        """A record in the form that a log has it, and what its producer was told."""
        promises = self.promises
        return [*record, *promises.describe(record), 0, promises.was_told(record)]

    def _are_alike(self) -> bool:
        """Whether all logs hold the same records."""
        logs = [(copy.end, copy.epochs) for copy in self.copies.values()]
        return all(log == logs[0] for log in logs)

    def ends(self, last: Scene) -> None:
        close = Close(
            self.copies.values(),
            self.producers,
            self.promises,
            self.leaders,
        )
        words = close.in_short(last["at"])
        if words and not self.live:
            last["sentence"] = words
            light = [f"producer/{name}" for name in self.producers]
            for copy in self.copies.values():
                for record in copy.dropped:
                    again = self.promises.again(record) or record
                    light += [f"{offset}/{epoch}" for offset, epoch in (record, again)]
            last["light"] = [*light, "dropped", "time/lane"]

    # -- fold: leaders

    def _see_ReplicaOpened(self, event: Event, d: Detail) -> Told:
        epoch = d["leader_epoch"]
        leader = d["leader"]
        copy = self.copies[event.node]
        copy.end = d["log_end_offset"]
        copy.high_watermark = d["high_watermark"]
        if leader == copy.broker:
            copy.lead(epoch, self.at, self.number)
        else:
            copy.follow(leader, epoch, self.at)
        if leader >= 0:
            self.leaders.setdefault(epoch, leader)
        return QUIETLY

    def _see_LeaderElected(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        epoch = d["leader_epoch"]
        self.leaders[epoch] = copy.broker
        copy.lead(epoch, self.at, self.number)
        leading = [other for other in self.copies.values() if other.leads]
        if len(leading) < 2:
            return self.tell(event)
        return self._tell_both(event, leading)

    def _tell_both(self, event: Event, leading: Sequence[Copy]) -> Told:
        """Somebody leads now, and another one still does."""
        old = min(leading, key=lambda each: each.epoch)
        words = (
            f"{capital(event.node)} leads now, in epoch {event.detail['leader_epoch']}."
            f" {capital(old.name)} doesn't know that, and still leads in epoch"
            f" {old.epoch}."
        )
        # with what each has: here one may be asked which of it stays
        light = []
        for each in leading:
            light.append(f"node/{each.broker}")
            light.append(f"record/{each.broker}")
        return Told(words, chapter="two leaders", light=light)

    def _see_LeaderFollowed(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        was = copy.epoch
        has_led = copy.leads
        copy.follow(d["leader"], d["leader_epoch"], self.at)
        if not has_led:
            return QUIETLY
        return self.tell(event, was=was)

    # -- fold: records

    def _see_BatchSent(self, event: Event, d: Detail) -> None:
        self.promises.sent(event)
        self.acks[event.node] = str(d["acks"])

    def _see_RecordsAppended(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        who = self.asker(event) or ""
        written = self.promises.appended(event, who, self.number)
        self._append(copy, d)
        if who:
            self._send(who, copy.broker)
        return self.tell(
            event,
            who=who or "A producer",
            what=self._named(written),
            them="it" if len(written) == 1 else "them",
            offsets=span_of(offsets_of(d)),
            epoch=copy.epoch,
        )

    def _append(self, copy: Copy, d: Detail) -> None:
        """A broker that appends leads, as far as it knows."""
        epoch = latest_epoch(d)
        copy.take(d, self.number)
        copy.lead(epoch, self.at, self.number)
        self.leaders.setdefault(epoch, copy.broker)

    def _send(self, who: str, broker: int) -> None:
        """A producer reaches a broker, and waits from now on."""
        producer = self.producers.get(who)
        if producer is None:
            producer = Producer(who, at=broker, acks=self.acks.get(who, ""))
            self.producers[who] = producer
        producer.sends(broker, self.at, self.number)

    def _named(self, records: Sequence[RecordId]) -> str:
        """The first of these records, in a sentence."""
        if not records:
            return "records"
        names = []
        for record in records:
            written = self.promises.written[record]
            names.append(quoted(written.name, LONGEST_NAME))
        return listed(names, MOST_NAMED + 1)

    def _see_RecordsReplicated(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        self.promises.replicated(event, self.number)
        copy.take(d, self.number)
        told = self.tell(event, offsets=span_of(offsets_of(d)), leader=copy.follows)
        if copy.dropped and self._are_alike():
            told.sentence += " The logs are alike again."
        return told

    def _do_HighWatermarkAdvanced(self, event: Event, d: Detail) -> None:
        copy = self.copies[event.node]
        copy.high_watermark = d["high_watermark"]

    def _do_LogDiverged(self, event: Event, d: Detail) -> None:
        copy = self.copies[event.node]
        copy.asked_to = d["end_offset"]

    def _see_LogTruncated(self, event: Event, d: Detail) -> Told:
        copy = self.copies[event.node]
        copy.drop(d["log_end_offset"])
        offsets = []
        light = []
        for offset, epoch in copy.cut:
            offsets.append(offset)
            light.append(f"record/{copy.broker}/{offset}/{epoch}")
        return self.tell(
            event, what=span_of(offsets), fate=self._who_was_told(copy.cut), light=light
        )

    def _who_was_told(self, gone: Sequence[RecordId]) -> str:
        """What producers were told about records that were just cut off."""
        promises = self.promises
        for record in gone:
            if promises.was_told(record) == "acknowledged":
                who = capital(promises.producer_of(record))
                return f"{who} was told “done”, and now the record is gone."
        return "No producer was told “done” for it."

    # -- fold: what producers hear

    def _see_RecordsAcknowledged(self, event: Event, d: Detail) -> Told | None:
        offsets = acknowledged(d)
        batch = batch_of(event)
        number = self.number
        promises = self.promises
        promises.tell(promises.at(offsets, batch), "acknowledged", number)
        # what was written of this batch before is answered, too
        earlier = promises.unanswered_of(batch)
        promises.tell(earlier, "written again", number)

        producer = self.producers.get(event.node)
        if producer is None:
            return None
        producer.hears(self.at, number, done=list(offsets))
        of_one = ": with acks=1 the leader doesn't wait for the others"
        whose = of_one if producer.acks == "1" else ""
        return self.tell(event, offsets=span_of(offsets), whose=whose)

    def _see_SendFailed(self, event: Event, d: Detail) -> Told | None:
        promises = self.promises
        failed = promises.unanswered_of(batch_of(event))
        promises.tell(failed, "failed", self.number)

        producer = self.producers.get(event.node)
        if producer is None:
            return None
        producer.hears(self.at, self.number, failed=d["error"])
        return self.tell(event)

    def _see_BatchRetried(self, event: Event, d: Detail) -> Told | None:
        if event.node not in self.producers:
            return None
        retried = event.node, d["reason"]
        if not self.once(retried):
            return QUIETLY
        return self.tell(event)

    # -- fold: nodes and links

    def _see_LinkCut(self, event: Event, d: Detail) -> Told | None:
        if not self.links.follow(event):
            return None
        alone = next(self._cut_off(), None)
        if alone is None or not self.once("cut off"):
            return QUIETLY
        return self.tell(event, alone=alone)

    def _cut_off(self) -> Iterator[str]:
        """The nodes that are cut off from all others."""
        for name in self.copies:
            if self.links.life(name, "") == "cut off":
                yield name

    def _see_LinkHealed(self, event: Event, d: Detail) -> Told | None:
        if not self.links.follow(event):
            return None
        for one, other in combinations(self.copies, 2):
            if self.links.apart(one, other):
                return QUIETLY
        return self.tell(event)

    def _see_BrokerFenced(self, event: Event, d: Detail) -> Told:
        broker = d["broker"]
        if f"broker {broker}" not in self.copies:
            return QUIETLY
        if not self.once(("fenced", broker)):
            return QUIETLY
        return self.tell(event)

    def _see_life(self, event: Event, life: str) -> Told | None:
        copy = self.copies.get(event.node)
        if copy is None:
            return None
        copy.life = life
        if event.kind in ENDS_LEADING:
            copy.end_leading(self.at)
        return self.tell(event)


def _old_leader_last(brokers: Sequence[int], replicas: Sequence[Event]) -> list[int]:
    """Rows from below to the top."""
    first = _first_leader(replicas)
    order = [broker for broker in brokers if broker != first]
    if first in brokers:
        order.append(first)
    return order


def _first_leader(replicas: Sequence[Event]) -> int:
    """-1, where no broker opens its replica with one."""
    for event in replicas:
        if event.kind != "ReplicaOpened":
            continue
        leader: int = event.detail["leader"]
        if leader >= 0:
            return leader
    return -1
