"""The fold of the controller quorum's picture: terms and votes, the metadata log of
each voter, and what follows from its committed records: who is fenced, who leads a
partition, and which client still believes otherwise.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

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
from minikafka.theatre.text import capital, span_of
from minikafka.trace import Event

QUORUM = (
    "VotesRequested",
    "VoteAnswered",
    "ControllerElected",
    "ControllerFollowed",
    "MetadataAppended",
    "MetadataReplicated",
    "MetadataCommitted",
)
METADATA_TOPIC = "__cluster_metadata"
NEAR = 14  # records of a log that are in a scene
MOST_SAID = 4  # records that the sentence of an append names
UNCHANGED = -2  # PartitionChangeRecord: the leader stays
SAYS = {
    "ControllerElected": Says(
        "{Node} has {votes} votes, a majority: it is the active controller of epoch"
        " {epoch}. Others hear of it and follow.",
        "{node} is the controller",
        mark=("{node}", "controller, epoch {epoch}"),
    ),
    "ControllerResigned": Says(
        "{Node} gives up the lead of epoch {epoch}: it stops, or hears from no"
        " majority.",
        "{node} resigns",
        True,
        mark=("{node}", "resigns", True),
    ),
    "ControllerFollowed": Says("{Node} follows broker {leader} in epoch {epoch}."),
    "BrokerFenced": Says(
        "The controller has heard nothing from broker {broker} for {silent_ms} ms: it"
        " decides to fence it.",
        "broker {broker} is silent",
        True,
    ),
    "LogTruncated": Says(
        "{Node} cuts its metadata log at offset {log_end_offset}, to be like the"
        " controller's.",
        "{node} cuts its log",
        True,
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
        "{Node} crashes. Its log and its vote stay on disk.", "{node} crashes", True
    ),
    "NodeStopped": Says("{Node} stops.", "{node} stops", True),
    "NodeShutDown": Says(
        "{Node} stops cleanly: what it led, others lead already.", "{node} stops"
    ),
    "NodeRestarted": Says(
        "{Node} is back, with its log and its vote.", "{node} is back"
    ),
    "NodeFrozen": Says(
        "{Node} is frozen: it hears nobody, and nobody hears it.",
        "{node} is frozen",
        True,
    ),
    "NodeThawed": Says(
        "{Node} goes on, and knows nothing of what has happened meanwhile.",
        "{node} goes on",
    ),
}


@dataclass
class Voter:
    """vote: for whom, in this epoch. records: offset -> (leader epoch, number of the
    event that brought it).
    """

    broker: int
    role: str = ""  # "", pre-candidate, candidate, controller, follower
    epoch: int = 0
    leader: int = -1
    vote: int = -1
    life: str = ""
    # candidate, granted, number of the event
    answered: list[Any] = field(default_factory=list)
    end: int = 0
    high_watermark: int = 0
    records: dict[int, tuple[int, int]] = field(default_factory=dict)
    cut: list[list[int]] = field(default_factory=list)


class QuorumStory(Story):
    name = "quorum"
    says: ClassVar[Mapping[str, Says]] = SAYS
    shows = ("most", "observers")

    def __init__(
        self,
        trace: Sequence[Event],
        *,
        topic: str | None = None,
        partition: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(trace, **options)
        self.title = "The controller quorum"
        names = sorted(
            {event.node for event in trace if event.kind in QUORUM},
            key=lambda name: (node_id(name), name),
        )
        self.voters = {name: Voter(node_id(name)) for name in names}
        asked = {
            event.node
            for event in trace
            if event.kind in ("VotesRequested", "VoteAnswered")
        }
        self.observers = [name for name in names if asked and name not in asked]
        self.links = Links(self.voters)
        self.most = max(
            (
                event.detail["last_offset"] + 1
                for event in trace
                if event.kind == "MetadataAppended"
            ),
            default=0,
        )
        told = Counter(
            event.detail["topic"]
            for event in trace
            if event.kind == "LeaderElected"
            or event.kind in ("TopicCreated", "RecordsAppended")
        )
        own = [name for name in told if not name.startswith("__")]
        self.part = (
            topic or max(own, key=lambda name: (told[name], name), default=""),
            partition,
        )
        # (offset, leader epoch) -> [name, fields]
        self.records: dict[tuple[int, int], list[Any]] = {}
        self.topics: dict[str, str] = {}  # id -> name
        self.controllers: dict[int, int] = {}  # epoch -> node
        self.two = 0  # an epoch that had two controllers
        self.clients: dict[str, int] = {}  # to whom it last sent records

    def is_mine(self, event: Event) -> bool:
        return (
            bool(self.voters)
            and event.detail.get("topic", METADATA_TOPIC) == METADATA_TOPIC
        )

    def cast(self) -> Cast:
        leaders = {str(epoch): node for epoch, node in self.controllers.items()}
        label = f"{self.part[0]}-{self.part[1]}" if self.part[0] else ""
        return super().cast() | {"leaders": leaders, "part": label}

    def space(self) -> Space:
        active = self.active
        fenced, leader = self.image(active) if active else (set(), -1)
        return {
            "epoch": max(self.controllers, default=0),
            "controller": active.broker if active else -1,
            "majority": (len(self.voters) - len(self.observers)) // 2 + 1,
            "fenced": sorted(fenced),
            "leader": leader,
            "two": self.two,
            "end": max((voter.end for voter in self.voters.values()), default=0),
            "voters": [self._shown(voter) for voter in self.voters.values()],
            "clients": [[name, to, to == leader] for name, to in self.clients.items()],
        }

    @property
    def active(self) -> Voter | None:
        """The controller of the latest epoch, whatever has become of it."""
        return (
            self.voters.get(f"broker {self.controllers[max(self.controllers)]}")
            if self.controllers
            else None
        )

    def image(self, voter: Voter) -> tuple[set[int], int]:
        """What this voter's committed records say: who is fenced, and who leads the
        partition.
        """
        fenced, leader = set[int](), -1
        for offset in sorted(voter.records):
            name, d = (
                self.records[offset, voter.records[offset][0]]
                if offset < voter.high_watermark
                else ("", {})
            )
            if name in (
                "RegisterBrokerRecord",
                "BrokerRegistrationChangeRecord",
            ) and d.get("fenced", 0):
                (fenced.add if d["fenced"] in (1, True) else fenced.discard)(
                    d["broker_id"]
                )
            elif self._of_part(name, d) and d.get("leader", UNCHANGED) != UNCHANGED:
                leader = d["leader"]
        return fenced, leader

    def _of_part(self, name: str, d: Detail) -> bool:
        return (
            name in ("PartitionRecord", "PartitionChangeRecord")
            and (self.topics.get(d["topic_id"]), d["partition_id"]) == self.part
        )

    def _shown(self, voter: Voter) -> dict[str, Any]:
        near = sorted(each for each in voter.records if each >= voter.end - NEAR)
        names = (
            "broker",
            "role",
            "epoch",
            "leader",
            "vote",
            "answered",
            "end",
            "high_watermark",
        )
        return picked(voter, *names) | {
            "life": self.links.life(f"broker {voter.broker}", voter.life),
            "knows": self.image(voter)[1],
            "records": [
                [
                    o,
                    voter.records[o][0],
                    *self._words(o, voter.records[o][0]),
                    voter.records[o][1],
                ]
                for o in near
            ],
            "cut": [[o, e, *self._words(o, e), 0] for o, e in voter.cut],
        }

    def _words(self, offset: int, epoch: int) -> tuple[str, str, str]:
        """A record in two short words, and in full."""
        name, d = self.records[offset, epoch]
        topic = (
            f"{self.topics.get(d.get('topic_id', ''), '?')}-{d.get('partition_id', '')}"
        )
        broker, isr = f"broker {d.get('broker_id', '')}", d.get("isr")
        fenced = {1: "fenced", -1: "unfenced"}.get(d.get("fenced", 0), "changed")
        elr = d.get("eligible_leader_replicas")
        changed = (
            f"ISR {listed(isr)}"
            if isr
            else f"ELR {listed(elr)}"
            if elr is not None
            else "replicas"
        )
        if d.get("leader", UNCHANGED) != UNCHANGED:
            changed = f"leader {d['leader']}" if d["leader"] >= 0 else "leader –"
        short: tuple[str, str] = {
            "LeaderChangeMessage": (f"epoch {epoch}", "begins"),
            "FeatureLevelRecord": ("level", str(d.get("name", ""))),
            "RegisterBrokerRecord": (broker, "registers"),
            "BrokerRegistrationChangeRecord": (broker, fenced),
            "TopicRecord": ("topic", str(d.get("name", ""))),
            "PartitionRecord": (f"leader {d.get('leader', '')}", topic),
            "PartitionChangeRecord": (changed, topic),
            "RemoveTopicRecord": ("topic", "removed"),
            "ConfigRecord": ("config", str(d.get("name", ""))),
            "ProducerIdsRecord": ("producer", "ids"),
        }.get(name, (name.removesuffix("Record"), ""))
        more = f", ISR {listed(isr)}" if isr and not short[0].startswith("ISR") else ""
        return *short, f"{name} ({' '.join(short)}{more})"

    def details(self, event: Event) -> dict[str, Any]:
        return super().details(event) | {"Node": capital(event.node)}

    # -- fold: votes

    def _see_VotesRequested(self, event: Event, d: Detail) -> Told:
        voter, pre = self.voters[event.node], d["pre_vote"]
        voter.role, voter.leader = "pre-candidate" if pre else "candidate", -1
        voter.vote = voter.vote if pre else voter.broker
        voter.epoch = d["epoch"]
        for each in self.voters.values():
            each.answered = []
        if pre:
            words = (
                f"{capital(event.node)} hears no controller. It asks whether it would"
                " win: a PreVote, and no new epoch."
            )
            return Told(
                words,
                self.once(f"silence {d['epoch']}") and "no controller",
                marks=self.mark(event.node, "?"),
            )
        words = (
            f"{capital(event.node)} stands for epoch {d['epoch']}: it votes for itself,"
            " and asks the others."
        )
        return Told(
            words,
            f"votes for epoch {d['epoch']}",
            marks=self.mark(event.node, "asks for votes"),
        )

    def _see_VoteAnswered(self, event: Event, d: Detail) -> Told:
        voter, pre, granted = self.voters[event.node], d["pre_vote"], d["granted"]
        if d["epoch"] > voter.epoch:
            voter.epoch, voter.vote = d["epoch"], -1
        voter.answered = [d["candidate"], granted, self.number]
        why = ""
        if granted and not pre:
            voter.vote, voter.role, voter.leader = d["candidate"], "", -1
        elif not granted and d["ends"][0] < d["ends"][1]:
            why = ", because its own log goes further"
        elif not granted:
            why = f", because it has voted for broker {voter.vote}"
            why = ", because it hears a controller" if pre or voter.vote < 0 else why
        verb = {
            (True, True): "would vote",
            (True, False): "would not vote",
            (False, True): "votes",
            (False, False): "does not vote",
        }[pre, granted]
        words = (
            f"{capital(event.node)} {verb} for broker {d['candidate']} in epoch"
            f" {d['epoch']}{why}."
        )
        sign = (
            ""
            if pre
            else f"votes {d['candidate']}"
            if granted
            else f"not {d['candidate']}"
        )
        return Told(words, marks=self.mark(event.node, sign) if sign else [])

    def _see_ControllerElected(self, event: Event, d: Detail) -> Told:
        voter, epoch = self.voters[event.node], d["epoch"]
        voter.role, voter.epoch, voter.leader = "controller", epoch, voter.broker
        if self.controllers.setdefault(epoch, voter.broker) != voter.broker:
            self.two = epoch
        return self.tell(event)

    def _see_ControllerResigned(self, event: Event, d: Detail) -> Told:
        self.voters[event.node].role, self.voters[event.node].leader = "", -1
        return self.tell(event)

    def _see_ControllerFollowed(self, event: Event, d: Detail) -> Told:
        voter = self.voters[event.node]
        voter.vote = voter.vote if voter.epoch == d["epoch"] else -1
        voter.role, voter.epoch, voter.leader, voter.answered = (
            "follower",
            d["epoch"],
            d["leader"],
            [],
        )
        return self.tell(event)

    # -- fold: the metadata log

    def _see_MetadataAppended(self, event: Event, d: Detail) -> Told | None:
        said = self._take(event, d)
        # the first record of its epoch: its election is told next
        if self.voters[event.node].role != "controller":
            return None
        marks = self.mark("log", " ".join(said[0][:2])) if said else []
        more = (
            f"; and {len(said) - MOST_SAID} records more"
            if len(said) > MOST_SAID
            else ""
        )
        whole = "; ".join(words[2] for words in said[:MOST_SAID]) + more
        words = (
            f"{capital(event.node)}, the controller, appends to the metadata log:"
            f" {whole}."
        )
        return Told(f"{words} It counts when a majority has it.", marks=marks)

    def _see_MetadataReplicated(self, event: Event, d: Detail) -> Told:
        voter = self.voters[event.node]
        if not voter.role and self.active:  # it is back, and remembers who leads
            voter.role, voter.leader = "follower", self.active.broker
        self._take(event, d)
        offsets = span_of(range(d["base_offset"], d["last_offset"] + 1))
        return Told(
            f"{capital(event.node)} fetches {offsets} of the metadata log from the"
            " controller."
        )

    def _take(self, event: Event, d: Detail) -> list[tuple[str, str, str]]:
        voter = self.voters[event.node]
        voter.cut, voter.end = [], d["last_offset"] + 1
        said = []
        for offset, name, fields in d["records"]:
            epoch = epoch_at(d["epochs"], offset)
            self.records[offset, epoch] = [name, fields]
            self.controllers.setdefault(
                epoch,
                voter.broker if event.kind == "MetadataAppended" else voter.leader,
            )
            if name == "TopicRecord":
                self.topics[fields["topic_id"]] = fields["name"]
            voter.records[offset] = (epoch, self.number)
            said.append(self._words(offset, epoch))
        return said

    def _see_MetadataCommitted(self, event: Event, d: Detail) -> Told:
        voter = self.voters[event.node]
        before, voter.high_watermark = self.image(voter), d["high_watermark"]
        now, words = (
            self.image(voter),
            f"the high watermark of the metadata log is {d['high_watermark']}",
        )
        who = f"broker {now[1]}" if now[1] >= 0 else "nobody"
        news = [f"broker {node} is fenced" for node in sorted(now[0] - before[0])]
        news += [f"broker {node} is unfenced" for node in sorted(before[0] - now[0])]
        news += (
            [f"{who} leads {self.part[0]}-{self.part[1]}"]
            if now[1] != before[1]
            else []
        )
        what = f" So {' and '.join(news)}." if news else ""
        if voter.role == "controller":
            return Told(
                f"A majority has it: {words}.{what}",
                news[-1] if now[1] != before[1] else None,
            )
        if now[1] == before[1]:
            return QUIETLY
        return Told(
            f"{capital(event.node)} hears that it counts, and knows now who"
            f" leads.{what}"
        )

    def _see_LogTruncated(self, event: Event, d: Detail) -> Told:
        voter, end = self.voters[event.node], d["log_end_offset"]
        voter.cut = [
            [offset, voter.records.pop(offset)[0]]
            for offset in sorted(voter.records)
            if offset >= end
        ]
        voter.end = end
        return self.tell(event, mark=(event.node, "cut", True))

    # -- fold: clients and nodes

    def _see_RequestSent(self, event: Event, d: Detail) -> Told | None:
        """Where a client sends records shows whom it takes for the leader."""
        active = self.active
        leader = self.image(active)[1] if active else -1
        if d["api"] != "Produce" or leader < 0:
            return None
        to, before = node_id(d["to"]), self.clients.get(event.node)
        self.clients[event.node] = to
        if to == leader:
            words = (
                f"{event.node} sends its records to {d['to']}: its metadata is up to"
                " date."
            )
            return Told(words) if before not in (None, to) else None
        words = (
            f"{event.node} still sends its records to {d['to']}: its metadata is stale."
            f" Broker {leader} leads now."
        )
        return Told(
            words,
            "stale metadata",
            True,
            marks=self.mark("log", "stale", True),
            light=["clients", f"node/{to}"],
        )

    def _see_BrokerFenced(self, event: Event, d: Detail) -> Told:
        return self.tell(event)

    def _see_LinkCut(self, event: Event, d: Detail) -> Told | None:
        mark = (d["one"], "cut" if event.kind == "LinkCut" else "heals")
        return self.tell(event, mark=mark) if self.links.follow(event) else None

    _see_LinkHealed = _see_LinkCut

    def _see_life(self, event: Event, d: Detail) -> Told | None:
        voter, life = self.voters.get(event.node), LIVES[event.kind]
        if voter is None:
            return None
        voter.life, voter.answered = life, []
        if event.kind == "NodeRestarted":
            voter.role, voter.leader, voter.cut = "", -1, []
        return self.tell(event, mark=(event.node, life or "back", bool(life)))
