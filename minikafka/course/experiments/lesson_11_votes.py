"""Lesson 11's model of an election: voters whose votes a learner's function decides,
and what must never result.

A history is a list of steps: ("stand", voter, those it can reach) and ("write", voter,
those it can reach). A voter that can't be reached is dead or cut off; it keeps what it
has noted.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Log = tuple[int, int]  # (epoch of the last record, offset after it)
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
    """A voter's state: its note, and the (epoch, number) of its records."""

    epoch: int = 0
    voted_for: int | None = None
    records: list[tuple[int, int]] = field(default_factory=list)

    @property
    def log(self) -> Log:
        if not self.records:
            return 0, 0
        last_epoch, _ = self.records[-1]
        return last_epoch, len(self.records)

    @property
    def state(self) -> State:
        return {"epoch": self.epoch, "voted_for": self.voted_for, "log": self.log}


@dataclass
class Election:
    """Voters that ask `vote`. wrong: the first thing that must never happen."""

    vote: Vote
    voters: dict[int, Voter]
    leaders: dict[int, int] = field(default_factory=dict)  # epoch -> who won it
    committed: list[tuple[int, int]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    wrong: str | None = None
    written: int = 0

    @property
    def majority(self) -> int:
        return len(self.voters) // 2 + 1

    def stand(self, candidate: int, reached: Sequence[int]) -> None:
        me = self.voters[candidate]
        me.epoch += 1
        me.voted_for = candidate
        epoch, votes = me.epoch, {candidate}
        for other in reached:
            asked = {"epoch": epoch, "candidate": candidate, "log": me.log}
            voter = self.voters[other]
            granted, noted = self.vote(voter.state, asked)
            voter.epoch = noted["epoch"]
            voter.voted_for = noted["voted_for"]
            if granted:
                votes.add(other)
        self.told.append(
            f"{candidate} stands for epoch {epoch}; votes of {_listed(votes)}"
        )
        if len(votes) >= self.majority:
            self._wins(candidate, epoch)

    def _wins(self, winner: int, epoch: int) -> None:
        other = self.leaders.setdefault(epoch, winner)
        if other != winner:
            self.wrong = f"epoch {epoch} has two controllers, {other} and {winner}."
        if self.wrong:
            return
        for record in self.committed:
            if record not in self.voters[winner].records:
                _, number = record
                self.wrong = (
                    f"{winner} is the controller of epoch {epoch}, and lacks record"
                    f" {number}, which was committed: a majority had it."
                )
                return

    def write(self, leader: int, reached: Sequence[int]) -> None:
        """If the voter leads its epoch it appends a record; voters that know no larger
        epoch copy it.
        """
        me = self.voters[leader]
        if self.leaders.get(me.epoch) != leader:
            return
        self.written += 1
        me.records.append((me.epoch, self.written))
        have = [leader]
        for other in reached:
            follower = self.voters[other]
            if follower.epoch > me.epoch:
                continue
            if follower.epoch < me.epoch:
                follower.epoch = me.epoch
                follower.voted_for = None
            follower.records = list(me.records)
            have.append(other)
        self.told.append(
            f"{leader} writes record {self.written}; {_listed(have)} have it"
        )
        if len(have) >= self.majority:
            self.committed = list(me.records)


def _listed(voters: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(voters)))


def held(vote: Vote, history: History) -> Election:
    """The result of a history with these votes, up to the first thing that is wrong."""
    election = Election(vote, {voter: Voter() for voter in history.voters})
    for what, voter, reached in history.steps:
        step = election.stand if what == "stand" else election.write
        step(voter, reached)
        if election.wrong:
            break
    return election
