"""What a voter is, is a table, and the table is what runs (KIP-595, KIP-996)."""

import itertools
from dataclasses import replace
from random import Random
from types import SimpleNamespace

import pytest

from minikafka.clock import Now
from minikafka.cluster import roles
from minikafka.cluster.election import Election, LogEnd, Timeouts, Vote
from minikafka.cluster.roles import FOLLOWER, LEADER, TRANSITIONS, UNATTACHED
from minikafka.cluster.timers import Timers
from minikafka.trace import Trace

NOW = Now(0, 0)
ROLES = sorted({row.state for row in TRANSITIONS.values()})
EVENTS = sorted({row.event for row in TRANSITIONS.values()})
DRAWN = ("leader_heard", "later_epoch")  # that lead there from everywhere


class Voter(Election):
    """One of three; what it would say to others is dropped. moves: rows of the table
    that it went by.
    """

    def __init__(self, voters=(1, 2, 3)):
        self.moves = []
        self.asked = []
        self.timers = Timers()
        super().__init__(
            node_id=1,
            voters=voters,
            timeouts=Timeouts(),
            cluster_id=lambda: "test",
            log_end=lambda: LogEnd(0, 10),
            keep=lambda vote: None,
            changed=lambda now: None,
            ask=lambda *asked: self.asked.append(asked),
            random=Random(7).random,
            timer=self.timers.new(),
            trace=Trace("broker 1"),
        )

    def _take(self, event, now, wait_ms):
        self.moves.append((self.role, event))
        super()._take(event, now, wait_ms)

    def time_out(self):
        self.tick(Now(self.timers.next(), 0))

    def hear_votes(self, pre_vote, granted=True):
        """What both others answer to what it asked last."""
        asked, self.asked = self.asked[-2:], []
        for _, _, _, _, _, then in asked:
            vote = {"leader_epoch": self.vote.epoch, "leader_id": -1, "error_code": 0}
            vote = SimpleNamespace(vote_granted=granted, **vote)
            topic = SimpleNamespace(partitions=[vote])
            then(SimpleNamespace(error_code=0, topics=[topic]), NOW)

    def asked_by(self, candidate, epoch, pre_vote=False):
        ends = {"last_offset_epoch": 0, "last_offset": 10}
        body = {"replica_id": candidate, "replica_epoch": epoch, "pre_vote": pre_vote}
        return self.asked_for_vote(SimpleNamespace(**body, **ends), NOW)


@pytest.mark.parametrize("role, event", [*itertools.product(ROLES, EVENTS)])
def test_every_event_leads_where_the_table_says_or_stops_the_node_loudly(role, event):
    voter = Voter()
    voter.role = role
    row = TRANSITIONS.get((role, event))
    if row is not None:
        voter._take(event, NOW, None)
        assert voter.role == row.next_state
        return
    with pytest.raises(AssertionError, match=f"{event} for a {role}"):
        voter._take(event, NOW, None)
    assert voter.role == role


def walked():
    """Voters that live through all that can be; the rows that they went by."""
    elected = Voter()
    elected.start(Vote(), NOW)
    elected.time_out()
    elected.time_out()  # nobody answered: it asks again
    elected.hear_votes(pre_vote=True)
    elected.time_out()  # nobody voted
    elected.hear_votes(pre_vote=True)
    elected.hear_votes(pre_vote=False)
    assert elected.role == LEADER
    elected.resign(NOW)
    voting = Voter()
    voting.start(Vote(), NOW)
    voting.asked_by(2, epoch=1)
    voting.learn(1, 2, NOW)
    voting.lost_leader(NOW)
    voting.learn(1, 2, NOW)
    voting.time_out()
    voting.learn(2, 3, NOW)
    assert voting.role == FOLLOWER
    voting.time_out()
    voting.vote = Vote(voting.vote.epoch)
    voting.asked_by(2, epoch=voting.vote.epoch)
    alone = Voter(voters=(1,))
    alone.start(Vote(5), NOW)
    assert (alone.role, alone.vote.epoch) == (LEADER, 6)
    interrupted = []
    for role in ROLES:
        for leader in (-1, 2):
            voter = Voter()
            voter.role = role
            voter.learn(7, leader, NOW)
            interrupted.append(voter)
    return {
        move for voter in (elected, voting, alone, *interrupted) for move in voter.moves
    }


def test_voters_go_by_every_row_of_the_table_and_by_no_other():
    assert walked() == set(TRANSITIONS)


def drawn():
    """The diagram: once around, then how a follower comes and goes, and what ends
    everything.
    """
    lines, role = [UNATTACHED], ""
    while role != UNATTACHED:
        role, lines = _step(role or UNATTACHED, lines)
    for event in DRAWN:
        lines += ["", "from each of them:"]
        role, lines = _arrow(TRANSITIONS[UNATTACHED, event], lines)
        if role == FOLLOWER:
            role, lines = _step(role, lines)
    return "\n".join(f"    {line}" if line else "" for line in lines)


def _step(role, lines):
    return _arrow(next(row for row in TRANSITIONS.values() if row.state == role), lines)


def _arrow(row, lines):
    arrow = f"   |  {row.event}: {row.meaning}"
    return row.next_state, [*lines, arrow, row.next_state]


def test_the_diagram_is_drawn_from_the_table():
    assert drawn() in roles.__doc__


@pytest.mark.parametrize(
    "known, noted, rule",
    [
        (Vote(5), Vote(4), "epochs never fall"),
        (Vote(5, voted=2), Vote(5, voted=3), "a voter votes once an epoch"),
        (Vote(5, voted=2), Vote(5), "a voter votes once an epoch"),
        (Vote(5, leader=2), Vote(5, leader=3), "an epoch has one leader"),
    ],
)
def test_what_must_never_be_stops_the_node_loudly(known, noted, rule):
    voter = Voter()
    voter.vote = known
    with pytest.raises(AssertionError, match=rule):
        voter._note(noted)
    voter._note(replace(noted, epoch=6))
