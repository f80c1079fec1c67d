"""Votes in the controllers' picture: what each voter has said, to whom, and whether a
candidate may still win its epoch (KIP-595; KIP-996 has the PreVote).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from minikafka.theatre.pictures.log_copies import LogCopy
from minikafka.theatre.play import Detail
from minikafka.theatre.text import capital, counted, listed

LOST = "no majority"  # what a candidate is that can't win its epoch any more


class VoteAnswer(NamedTuple):
    """pre_vote: it was only asked whether it would. number: of the event that told
    it.
    """

    candidate: int
    granted: bool
    pre_vote: bool
    number: int


@dataclass
class Voter(LogCopy):
    """role: "", pre-candidate, candidate, LOST, controller, follower. vote: for whom, in
    this epoch. answered: its latest answer to a candidate, or nothing. waits: since
    when and until when, before it asks for votes, or nothing.
    """

    role: str = ""
    epoch: int = 0
    leader: int = -1
    vote: int = -1
    answered: VoteAnswer | tuple[()] = field(default=())
    waits: Sequence[int] = ()

    def stand(self, epoch: int, *, pre_vote: bool) -> None:
        """It would lead. With a PreVote it only asks, and votes for nobody yet."""
        self.role = "pre-candidate" if pre_vote else "candidate"
        self.epoch = epoch
        self.leader = -1
        if not pre_vote:
            self.vote = self.broker

    def answer(self, d: Detail, number: int) -> None:
        """To a candidate that has asked. A larger epoch is its own from then on."""
        epoch = d["epoch"]
        if epoch > self.epoch:
            self.epoch = epoch
            self.vote = -1
        pre = d["pre_vote"]
        self.answered = VoteAnswer(d["candidate"], d["granted"], pre, number)
        if d["granted"] and not pre:
            self.vote = d["candidate"]
            self.role = ""
            self.leader = -1
            self.waits = ()

    def lead(self, epoch: int) -> None:
        self.role = "controller"
        self.epoch = epoch
        self.leader = self.broker
        self.waits = ()

    def follow(self, leader: int, epoch: int) -> None:
        if epoch != self.epoch:
            self.vote = -1
        self.role = "follower"
        self.epoch = epoch
        self.leader = leader
        self.answered = ()
        self.waits = ()


class Votes:
    """The votes of all voters, in every epoch. observers: nodes without a vote."""

    def __init__(self, voters: Collection[Voter], observers: Sequence[str]) -> None:
        self.voters = [voter for voter in voters if voter.name not in observers]
        # (candidate, epoch) -> the voters that have refused it
        self.refusals: dict[tuple[int, int], set[int]] = {}

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    def refused(self, voter: Voter, candidate: int, epoch: int) -> list[Voter]:
        """A voter has refused a candidate. Returns the candidates of this epoch, once
        none of them can win it.
        """
        self.refusals.setdefault((candidate, epoch), set()).add(voter.broker)
        stood = []
        for each in self.voters:
            if each.role == "candidate" and each.epoch == epoch:
                stood.append(each)
        if any(map(self._may_win, stood)):
            return []
        for each in stood:
            each.role = LOST
        return stood

    def why_nobody_won(self, lost: Sequence[Voter]) -> str:
        """In words, with the votes of each."""
        votes = [len(each) for each in self.given(lost)]
        counts = []
        for each, count in zip(lost, votes, strict=True):
            counts.append(f"{each.name} has {counted(count, 'vote')}")
        said = capital(listed(counts))
        if len(lost) > 1 and len(set(votes)) == 1:
            said = f"Each has {counted(votes[0], 'vote')}"
        majority = f"a majority is {self.majority}"
        return f"{said}, and {majority}, so nobody wins epoch {lost[0].epoch}."

    def given(self, candidates: Sequence[Voter]) -> list[list[int]]:
        """Who voted for each candidate, itself first."""
        return [
            sorted(self._of(each), key=lambda broker: (broker != each.broker, broker))
            for each in candidates
        ]

    def _of(self, candidate: Voter) -> set[int]:
        """The voters that have voted for a candidate in its epoch."""
        found = set()
        for each in self.voters:
            is_of_its_epoch = each.epoch == candidate.epoch
            if is_of_its_epoch and each.vote == candidate.broker:
                found.add(each.broker)
        return found

    def _may_win(self, candidate: Voter) -> bool:
        """Whether it has a majority if all vote for it that have not answered yet, and
        are there to answer.
        """
        votes = self._of(candidate)
        refusals = self.refusals.get((candidate.broker, candidate.epoch), set())
        for each in self.voters:
            if not each.life and each.broker not in refusals:
                votes.add(each.broker)
        return len(votes) >= self.majority


def answer_in_words(voter: Voter, d: Detail) -> str:
    """A voter's answer to a candidate, and the reason."""
    name = capital(voter.name)
    candidate = f"broker {d['candidate']}"
    epoch = d["epoch"]
    if d["pre_vote"] and d["granted"]:
        return (
            f"{name} would vote for {candidate}, because it doesn't hear from a controller"
            f" either, and {candidate}'s log is at least as long as its own."
        )
    if d["granted"]:
        return f"{name} gives {candidate} its one vote in epoch {epoch}."
    verb = "would not vote" if d["pre_vote"] else "does not vote"
    return (
        f"{name} {verb} for {candidate} in epoch {epoch}, because {_why_not(voter, d)}."
    )


def _why_not(voter: Voter, d: Detail) -> str:
    """ends: where the candidate's log ends, and where its own does."""
    theirs, own = d["ends"]
    if theirs < own:
        return "its own log is longer"
    if d["pre_vote"] or voter.vote < 0:
        return "it still hears from a controller"
    if voter.vote == voter.broker:
        return "it has voted for itself"
    return f"it has voted for broker {voter.vote}"


@dataclass
class Without:
    """The last time that nobody was the controller: since when, why, which epochs
    nobody won, what came of it, and who led the partition all the while ("": nobody
    did).
    """

    since_ms: int | None = None
    said: list[str] = field(default_factory=list)
    lasted_ms: int = 0  # and over
    leader: str = ""

    def begins(self, at_ms: int, why: str, leader: str) -> None:
        """The controller is gone."""
        if self.since_ms is None:
            self.since_ms = at_ms
            self.said = [why]
            self.lasted_ms = 0
            self.leader = leader

    def is_back(self) -> None:
        """The same controller goes on."""
        self.since_ms = None

    def nobody_wins(self, epoch: int) -> None:
        self.said.append(f"nobody won epoch {epoch}")

    def ends(self, at_ms: int, winner: str, epoch: int, leader: str) -> None:
        """Another controller was elected: note how long there was none."""
        if leader != self.leader:
            self.leader = ""
        if self.since_ms is not None:
            self.lasted_ms = at_ms - self.since_ms
            self.said.append(f"{winner} won epoch {epoch}")
            self.since_ms = None

    @property
    def in_words(self) -> str:
        """How long it was, and why; "" where it was not, or is not over."""
        if not self.lasted_ms:
            return ""
        seconds = f"{self.lasted_ms / 1000:.1f} s"
        return f"There was no controller for {seconds}: {listed(self.said)}."
