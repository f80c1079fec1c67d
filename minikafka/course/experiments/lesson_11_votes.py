"""Lesson 11's model of an election: voters whose votes somebody else decides, and what
must never come of it.

A history is a list of steps: ("stand", voter, those it can reach) and ("write", voter,
those it can reach). A voter that can't be reached is dead or cut off; it keeps what it
has noted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Log = tuple[int, int]  # (epoch of the last record, offset behind it)
State = dict[str, Any]  # "epoch", "voted_for", "log"
Vote = Callable[[State, State], tuple[bool, State]]


class History(NamedTuple):
    """voters: their numbers. steps: what happens, in this order."""

    voters: tuple[int, ...]
    steps: tuple[tuple[Any, ...], ...]


def kafkas_vote(state: State, request: State) -> tuple[bool, State]:
    """Whether a voter votes for the candidate, and what it notes."""
    if request["epoch"] < state["epoch"]:
        return False, state
    if request["epoch"] > state["epoch"]:
        state = {**state, "epoch": request["epoch"], "voted_for": None}
    free = state["voted_for"] in (None, request["candidate"])
    if not free or request["log"] < state["log"]:
        return False, state
    return True, {**state, "voted_for": request["candidate"]}


@dataclass
class Voter:
    """What one voter has: its note, and the (epoch, number) of its records."""

    epoch: int = 0
    voted_for: int | None = None
    records: list[tuple[int, int]] = field(default_factory=list)

    @property
    def log(self) -> Log:
        return (self.records[-1][0] if self.records else 0), len(self.records)

    @property
    def state(self) -> State:
        return {"epoch": self.epoch, "voted_for": self.voted_for, "log": self.log}


@dataclass
class Election:
    """Voters that ask `vote`. wrong: the first thing that must never happen."""

    vote: Vote
    voters: dict[int, Voter]
    leaders: dict[int, int] = field(default_factory=dict)  # epoch -> who won it
    counted: list[tuple[int, int]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    wrong: str | None = None
    written: int = 0

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    def stand(self, candidate: int, reached: Sequence[int]) -> None:
        me = self.voters[candidate]
        me.epoch, me.voted_for = me.epoch + 1, candidate
        epoch, votes = me.epoch, {candidate}
        for other in reached:
            asked = {"epoch": epoch, "candidate": candidate, "log": me.log}
            granted, noted = self.vote(self.voters[other].state, asked)
            self.voters[other].epoch = noted["epoch"]
            self.voters[other].voted_for = noted["voted_for"]
            if granted:
                votes.add(other)
        listed = ", ".join(map(str, sorted(votes)))
        self.told.append(f"{candidate} stands for epoch {epoch}; votes of {listed}")
        if len(votes) >= self.majority:
            self._wins(candidate, epoch)

    def _wins(self, winner: int, epoch: int) -> None:
        other = self.leaders.setdefault(epoch, winner)
        if other != winner:
            self.wrong = f"epoch {epoch} has two controllers, {other} and {winner}."
        lacking = [each for each in self.counted if each not in self._of(winner)]
        if lacking:
            self.wrong = self.wrong or (
                f"{winner} is the controller of epoch {epoch}, and lacks record"
                f" {lacking[0][1]}, which counted: a majority had it."
            )

    def _of(self, voter: int) -> list[tuple[int, int]]:
        return self.voters[voter].records

    def write(self, leader: int, reached: Sequence[int]) -> None:
        """Who leads its epoch appends a record; who knows no larger epoch copies."""
        me = self.voters[leader]
        if self.leaders.get(me.epoch) != leader:
            return
        self.written += 1
        me.records.append((me.epoch, self.written))
        have = [leader]
        for other in reached:
            follower = self.voters[other]
            if follower.epoch <= me.epoch:
                if follower.epoch < me.epoch:
                    follower.epoch, follower.voted_for = me.epoch, None
                follower.records = list(me.records)
                have.append(other)
        listed = ", ".join(map(str, sorted(have)))
        self.told.append(f"{leader} writes record {self.written}; {listed} have it")
        if len(have) >= self.majority:
            self.counted = list(me.records)


def held(vote: Vote, history: History) -> Election:
    """What comes of a history with these votes, up to the first thing that is wrong."""
    election = Election(vote, {voter: Voter() for voter in history.voters})
    for what, voter, reached in history.steps:
        step = election.stand if what == "stand" else election.write
        step(voter, reached)
        if election.wrong:
            break
    return election
