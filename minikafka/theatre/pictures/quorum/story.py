"""The fold of the controller quorum's picture: terms and votes, the metadata log of
each voter, and what follows from its committed records: which brokers are fenced, which
one leads a partition, and which client still believes otherwise.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.nodes import Links, epoch_at, node_id
from minikafka.theatre.pictures.log_copies import (
    OF_NODES,
    CopiesStory,
    Described,
    Held,
    RecordId,
)
from minikafka.theatre.pictures.quorum.records import (
    UNCHANGED,
    MetadataRecord,
    describe,
)
from minikafka.theatre.pictures.quorum.votes import (
    LOST,
    Voter,
    Votes,
    Without,
    answer_in_words,
)
from minikafka.theatre.play import QUIETLY, Cast, Detail, Says, Space, Told, picked
from minikafka.theatre.text import capital, span_of
from minikafka.trace import Event

VOTES = ("VotesRequested", "VoteAnswered")
QUORUM = (
    *VOTES,
    "ControllerElected",
    "ControllerFollowed",
    "MetadataAppended",
    "MetadataReplicated",
    "MetadataCommitted",
)
ELECTIONS = ("VotesRequested", "ControllerElected")
OF_TOPICS = ("LeaderElected", "TopicCreated", "RecordsAppended")
GONE = {"frozen": "was frozen"}
METADATA_TOPIC = "__cluster_metadata"
NEAR = 14  # records of a log that are in a scene
MOST_SAID = 4  # records that the sentence of an append names
OF_BROKERS = ("RegisterBrokerRecord", "BrokerRegistrationChangeRecord")
OF_PARTITIONS = ("PartitionRecord", "PartitionChangeRecord")
SAYS = OF_NODES | {
    "ControllerElected": Says(
        "{Node} has {votes} votes, which is a majority, so it's the active controller of"
        " epoch {epoch}. The others hear of it and follow.",
        "{node} is the controller",
        mark=("{node}", "controller, epoch {epoch}"),
    ),
    "ControllerResigned": Says(
        "{Node} resigns as the controller of epoch {epoch}, because it's stopping or no"
        " longer hears from a majority.",
        "{node} resigns",
        True,
        mark=("{node}", "resigns", True),
    ),
    "ControllerFollowed": Says("{Node} follows broker {leader} in epoch {epoch}."),
    "BrokerFenced": Says(
        "The controller has heard nothing from broker {broker} for {silent_ms} ms, so it"
        " decides to fence that broker.",
        "broker {broker} is silent",
        True,
    ),
    "LogTruncated": Says(
        "{Node} truncates its metadata log at offset {log_end_offset}, so that it"
        " matches the controller's.",
        "{node} truncates its log",
        True,
    ),
    "NodeCrashed": Says(
        "{Node} crashes. Its log and its vote stay on disk.", "{node} crashes", True
    ),
    "NodeRestarted": Says(
        "{Node} is back, with its log and its vote.", "{node} is back"
    ),
    "NodeFrozen": Says(
        "{Node} is frozen: it hears nobody, and nobody hears it.",
        "{node} is frozen",
        True,
    ),
}


class Image(NamedTuple):
    """The image from the committed records. leader: of the partition that is shown."""

    fenced: frozenset[int]
    leader: int


class QuorumStory(CopiesStory):
    """since_ms: what happens earlier is folded, but not told."""

    name = "quorum"
    says: ClassVar[Mapping[str, Says]] = SAYS
    shows = ("most", "observers")

    def __init__(
        self,
        trace: Sequence[Event],
        *,
        topic: str | None = None,
        partition: int = 0,
        since_ms: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(trace, **options)
        self.since_ms = since_ms
        self.title = "The controller quorum"
        nodes = {event.node for event in trace if event.kind in QUORUM}
        names = sorted(nodes, key=lambda name: (node_id(name), name))
        self.voters = {name: Voter(node_id(name)) for name in names}
        self.observers = _observers(trace, names)
        self.links = Links(self.voters)
        self.most = _longest(trace)
        self.part = (topic or _busiest_topic(trace), partition)
        self.records: dict[tuple[int, int], MetadataRecord] = {}  # offset, leader epoch
        self.topics: dict[str, str] = {}  # id -> name
        self.votes = Votes(self.voters.values(), self.observers)
        self.controllers: dict[int, int] = {}  # epoch -> node
        # how an epoch ended that brokers stood for: who voted for each, winner
        self.results: dict[int, tuple[list[list[int]], str]] = {}
        self.without = Without()
        self.elections = [event for event in trace if event.kind in ELECTIONS]
        self.news = ""  # what was decided last
        self.two = 0  # an epoch that had two controllers
        self.clients: dict[str, int] = {}  # to whom it last sent records

    def see(self, event: Event) -> Told | None:
        told = super().see(event)
        is_told = event.at >= self.since_ms
        return told if is_told else None

    def is_mine(self, event: Event) -> bool:
        """Events about the metadata log, and those of clients that send records to the
        partition whose leader is shown.
        """
        d = event.detail
        is_of_metadata = d.get("topic", METADATA_TOPIC) == METADATA_TOPIC
        is_sent_there = (
            event.kind == "BatchSent" and (d["topic"], d["partition"]) == self.part
        )
        return bool(self.voters) and (is_of_metadata or is_sent_there)

    def cast(self) -> Cast:
        told = super().cast()
        told["leaders"] = {str(epoch): node for epoch, node in self.controllers.items()}
        told["part"] = self.part_name if self.part[0] else ""
        return told

    @property
    def part_name(self) -> str:
        topic, partition = self.part
        return f"{topic}-{partition}"

    def ends(self, last: Scene) -> None:
        """For how long nobody was the controller, and who led the partition
        meanwhile.
        """
        words = self.without.in_words
        if self.live or not words:
            return
        decided = last["kind"] == "MetadataCommitted" and self.news
        before = capital(f"{self.news}.") if decided else last["sentence"]
        leader = self.without.leader
        if leader:
            words += f" {capital(leader)} led {self.part_name} all that time."
        last["sentence"] = f"{before} {words}"
        last["light"] = [f"result/{epoch}" for epoch in self.results]
        last["light"] += ["time/lane", "vote"]
        if self.active:
            last["light"].append(f"node/{self.active.broker}")

    # -- who has what

    @property
    def active(self) -> Voter | None:
        """The controller of the latest epoch, whatever has become of it."""
        if not self.controllers:
            return None
        latest = self.controllers[max(self.controllers)]
        return self.voters.get(f"broker {latest}")

    @property
    def decided(self) -> Image:
        """The image from the active controller's committed records."""
        active = self.active
        return self.image(active) if active else Image(frozenset(), -1)

    def _leads(self) -> str:
        """The partition's leader if it is there, or ""."""
        name = f"broker {self.decided.leader}"
        leader = self.voters.get(name)
        return name if leader and not leader.life else ""

    def image(self, voter: Voter) -> Image:
        """The image from this voter's committed records."""
        fenced = set[int]()
        leader = -1
        for offset in sorted(voter.records):
            if offset >= voter.high_watermark:
                break
            epoch = voter.records[offset].epoch
            name, d = self.records[offset, epoch]
            if name in OF_BROKERS:
                change = d.get("fenced", 0)
                if change in (1, True):
                    fenced.add(d["broker_id"])
                elif change:
                    fenced.discard(d["broker_id"])
            elif name in OF_PARTITIONS and self._is_of_part(d):
                new = d.get("leader", UNCHANGED)
                leader = leader if new == UNCHANGED else new

        return Image(frozenset(fenced), leader)

    def _is_of_part(self, fields: Mapping[str, Any]) -> bool:
        topic = self.topics.get(fields["topic_id"])
        return (topic, fields["partition_id"]) == self.part

    def space(self) -> Space:
        active = self.active
        decided = self.decided
        leader = decided.leader
        return {
            "epoch": max(self.controllers, default=0),
            "controller": active.broker if active else -1,
            "majority": self.votes.majority,
            "results": [[epoch, *result] for epoch, result in self.results.items()],
            "fenced": sorted(decided.fenced),
            "leader": leader,
            "two": self.two,
            "end": max((voter.end for voter in self.voters.values()), default=0),
            "voters": [self._shown(voter) for voter in self.voters.values()],
            "clients": [[name, to, to == leader] for name, to in self.clients.items()],
        }

    def _shown(self, voter: Voter) -> dict[str, Any]:
        shown = picked(voter, "broker", "role", "epoch", "leader", "vote", "answered")
        shown |= picked(voter, "waits", "end", "high_watermark")
        shown["life"] = self.links.life(voter.name, voter.life)
        apart = self.links.parted(voter.name)
        if apart and self.live:
            shown["apart"] = [node_id(other) for other in apart]
        shown["knows"] = self.image(voter).leader
        return shown | voter.described(NEAR, self._describe)

    def _describe(self, record: RecordId) -> Described:
        written = self.records[record]
        return describe(written, record.epoch, self.topics)

    # -- fold: votes

    def _see_VotesRequested(self, event: Event, d: Detail) -> Told:
        voter = self.voters[event.node]
        epoch = d["epoch"]
        has_lost = voter.role == LOST
        voter.stand(epoch, pre_vote=d["pre_vote"])
        if "wait_ms" in d:
            voter.waits = (event.at, event.at + d["wait_ms"])
        for each in self.voters.values():
            each.answered = ()
        if d["pre_vote"]:
            return self._asks_before(event.node, epoch, has_lost=has_lost)
        words = (
            f"{capital(event.node)} stands for epoch {epoch}. It votes for itself and asks"
            " the others for their votes."
        )
        marks = self.mark(event.node, "asks for votes")
        return Told(words, f"votes for epoch {epoch}", marks=marks)

    def _asks_before(self, node: str, epoch: int, *, has_lost: bool) -> Told:
        """A PreVote. has_lost: nobody has won the epoch before."""
        name = capital(node)
        chapter = "no controller" if self.once(f"silence {epoch}") else None
        first = f"{name} doesn't hear from a controller, and asks whether it would win"
        if has_lost:
            chapter = f"{node} tries again"
            first = f"{name} has waited for a random time, and asks again whether it"
            first += " would win"
        words = f"{first}. This is a PreVote, which begins no new epoch."
        return Told(words, chapter, marks=self.mark(node, "?"))

    def _wait(self, now_ms: int) -> None:
        """The controller is gone, so its followers' fetch time-outs run. The trace has
        no event for them: they end where a voter asks for votes.
        """
        for event in self.elections:
            if event.at <= now_ms:
                continue
            if event.kind == "ControllerElected":
                return
            voter = self.voters[event.node]
            voter.waits = voter.waits or (now_ms, event.at)

    def _is_won(self, epoch: int) -> bool:
        """Whether somebody wins this epoch, now or later."""
        won = (each for each in self.elections if each.kind == "ControllerElected")
        return any(each.detail["epoch"] == epoch for each in won)

    def _see_VoteAnswered(self, event: Event, d: Detail) -> Told:
        voter = self.voters[event.node]
        candidate = d["candidate"]
        voter.answer(d, self.number)
        words = answer_in_words(voter, d)
        if d["pre_vote"]:
            return Told(words)
        if d["granted"]:
            return Told(words, marks=self.mark(event.node, f"votes {candidate}"))

        marks = self.mark(event.node, f"not {candidate}")
        epoch = d["epoch"]
        lost = self.votes.refused(voter, candidate, epoch)
        # if real brokers stand at the same time, the winner may come later in the trace
        if not lost or self._is_won(epoch):
            return Told(words, marks=marks)
        self.without.nobody_wins(epoch)
        self.results[epoch] = self.votes.given(lost), ""
        cards = [f"node/{each.broker}" for each in lost]
        return Told(
            f"{words} {self.votes.why_nobody_won(lost)}",
            f"nobody wins epoch {epoch}",
            trouble=True,
            marks=marks,
            light=[f"result/{epoch}", "time/lane/controller", "vote", *cards],
        )

    def _see_ControllerElected(self, event: Event, d: Detail) -> Told:
        voter = self.voters[event.node]
        epoch = d["epoch"]
        voter.lead(epoch)
        first = self.controllers.setdefault(epoch, voter.broker)
        if first != voter.broker:
            self.two = epoch
        self.without.ends(event.at, event.node, epoch, self._leads())
        self.results[epoch] = self.votes.given([voter]), event.node
        light = [f"result/{epoch}", "time/lane/controller", "vote"]
        light += [f"node/{voter.broker}", f"record/{voter.broker}"]
        return self.tell(event, light=light)

    def _see_ControllerResigned(self, event: Event, d: Detail) -> Told:
        voter = self.voters[event.node]
        if voter is self.active:
            self.without.begins(event.at, f"{event.node} gave up", self._leads())
            self._wait(event.at)
        voter.role = ""
        voter.leader = -1
        return self.tell(event)

    def _see_ControllerFollowed(self, event: Event, d: Detail) -> Told:
        voter = self.voters[event.node]
        voter.follow(d["leader"], d["epoch"])
        return self.tell(event)

    # -- fold: the metadata log

    def _see_MetadataAppended(self, event: Event, d: Detail) -> Told | None:
        voter = self.voters[event.node]
        said = self._take(voter, d, writer=voter.broker)
        # the first record of its epoch: its election is told next
        if voter.role != "controller":
            return None
        whole = "; ".join(words.full for words in said[:MOST_SAID])
        if len(said) > MOST_SAID:
            whole += f"; and {len(said) - MOST_SAID} more records"
        words = (
            f"{capital(event.node)}, the controller, appends to the metadata log:"
            f" {whole}. It's committed once a majority of the voters has it."
        )
        if not said:
            return Told(words)
        first = said[0]
        mark = f"{first.text} {first.more}"
        return Told(words, marks=self.mark("log", mark))

    def _see_MetadataReplicated(self, event: Event, d: Detail) -> Told:
        voter = self.voters[event.node]
        active = self.active
        if not voter.role and active:  # it is back, and remembers who leads
            voter.role = "follower"
            voter.leader = active.broker
        self._take(voter, d, writer=voter.leader)
        offsets = span_of(range(d["base_offset"], d["last_offset"] + 1))
        return Told(
            f"{capital(event.node)} fetches {offsets} of the metadata log from the"
            " controller."
        )

    def _take(self, voter: Voter, d: Detail, writer: int) -> list[Described]:
        """Records are appended to a voter's log. writer: the controller of their epoch,
        if nobody has named it yet.
        """
        voter.cut = ()
        voter.end = d["last_offset"] + 1
        said = []
        for offset, name, fields in d["records"]:
            epoch = epoch_at(d["epochs"], offset)
            self.records[offset, epoch] = MetadataRecord(name, fields)
            self.controllers.setdefault(epoch, writer)
            if name == "TopicRecord":
                self.topics[fields["topic_id"]] = fields["name"]
            voter.records[offset] = Held(epoch, self.number)
            said.append(self._describe(RecordId(offset, epoch)))
        return said

    def _see_MetadataCommitted(self, event: Event, d: Detail) -> Told:
        voter = self.voters[event.node]
        before = self.image(voter)
        voter.high_watermark = d["high_watermark"]
        now = self.image(voter)
        news = self._news(before, now)
        self.news = " and ".join(news)
        what = f" Now {self.news}." if news else ""
        new_leader = now.leader != before.leader
        if voter.role == "controller":
            words = f"the high watermark of the metadata log is {d['high_watermark']}"
            chapter = news[-1] if new_leader else None
            return Told(f"A majority has it, so {words}.{what}", chapter)
        if not new_leader:
            return QUIETLY
        return Told(
            f"{capital(event.node)} hears that the change is committed, so now it knows"
            f" that {self.news}."
        )

    def _news(self, before: Image, now: Image) -> list[str]:
        """The decisions between the two images; a new leader comes last."""
        fenced = sorted(now.fenced - before.fenced)
        unfenced = sorted(before.fenced - now.fenced)
        news = [f"broker {node} is fenced" for node in fenced]
        news += [f"broker {node} is unfenced" for node in unfenced]
        if now.leader != before.leader:
            who = f"broker {now.leader}" if now.leader >= 0 else "nobody"
            news.append(f"{who} leads {self.part_name}")
        return news

    def _see_LogTruncated(self, event: Event, d: Detail) -> Told:
        self.voters[event.node].truncate(d["log_end_offset"])
        return self.tell(event, mark=(event.node, "cut", True))

    # -- fold: clients and nodes

    def _see_BatchSent(self, event: Event, d: Detail) -> Told | None:
        """Where a client sends records of the partition shows whom it takes for its
        leader.
        """
        leader = self.decided.leader
        request = self.requests.get((d["connection"], d["correlation_id"]))
        if request is None or leader < 0:
            return None
        broker = request.detail["to"]
        to = node_id(broker)
        before = self.clients.get(event.node)
        self.clients[event.node] = to
        if to == leader:
            if before in (None, to):
                return None
            return Told(
                f"{capital(event.node)} sends the records of {self.part_name} to"
                f" {broker}: its metadata is up to date."
            )
        words = (
            f"{capital(event.node)} still sends the records of {self.part_name} to"
            f" {broker}: its metadata is stale. Broker {leader} leads now."
        )
        return Told(
            words,
            "stale metadata",
            trouble=True,
            marks=self.mark("log", "stale", True),
            light=["clients", f"node/{to}"],
        )

    def _see_BrokerFenced(self, event: Event, d: Detail) -> Told:
        return self.tell(event)

    def _see_life(self, event: Event, life: str) -> Told | None:
        voter = self.voters.get(event.node)
        if voter is None:
            return None
        voter.life = life
        voter.answered = ()
        voter.waits = ()
        if voter is self.active and voter.role == "controller":
            if voter.life:
                why = f"{event.node} {GONE.get(voter.life, voter.life)}"
                self.without.begins(event.at, why, self._leads())
                self._wait(event.at)
            else:
                self.without.is_back()
        if event.kind == "NodeRestarted":
            voter.role = ""
            voter.leader = -1
            voter.cut = ()
        return self.tell_life(event, voter.life)


def _observers(trace: Sequence[Event], names: Sequence[str]) -> list[str]:
    """The nodes that never voted, if others did."""
    voting = {event.node for event in trace if event.kind in VOTES}
    if not voting:
        return []
    return [name for name in names if name not in voting]


def _longest(trace: Sequence[Event]) -> int:
    """The length of the metadata log in the end."""
    appended = (event for event in trace if event.kind == "MetadataAppended")
    return max((event.detail["last_offset"] + 1 for event in appended), default=0)


def _busiest_topic(trace: Sequence[Event]) -> str:
    """The topic, none of Kafka's own, of which most is told."""
    topics = (event.detail["topic"] for event in trace if event.kind in OF_TOPICS)
    told = Counter(topics)
    own = [name for name in told if not name.startswith("__")]
    return max(own, key=lambda name: (told[name], name), default="")
