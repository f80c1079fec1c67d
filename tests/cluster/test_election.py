"""A voter's rules (KIP-595, KIP-996; the Raft paper, 5.2 and 5.4), asked of a voter
that runs among others.
"""

from types import SimpleNamespace

import pytest

from minikafka import Cluster
from minikafka.cluster.election import Vote
from minikafka.cluster.quorum_state import QuorumState
from minikafka.wire.errors import Error
from tests.simulation.replication_schedules import QUICK

FAR = 1_000_000


class Voter:
    """A follower of the quorum, which others ask for its vote."""

    def __init__(self):
        self.cluster = Cluster(brokers=3, seed=2, configs=QUICK)
        leader = self.cluster._brokers[1].broker.quorum.leader_id
        self.node, self.other = {1, 2, 3} - {leader}
        self.leader = leader

    @property
    def quorum(self):
        return self.cluster._brokers[self.node].broker.quorum

    def asked(self, candidate, epoch, last_epoch=None, end_offset=FAR, pre_vote=False):
        """Its answer to one request: whether it would vote, or the error."""
        last_epoch = epoch - 1 if last_epoch is None else last_epoch
        body = {"replica_id": candidate, "replica_epoch": epoch, "pre_vote": pre_vote}
        body |= {"last_offset_epoch": last_epoch, "last_offset": end_offset}
        broker = self.cluster._brokers[self.node].broker
        answer = self.quorum.election.asked_for_vote(
            SimpleNamespace(**body), broker.now
        )
        return (
            answer["vote_granted"]
            if answer["error_code"] == Error.NONE
            else Error(answer["error_code"]).name
        )

    def restart(self):
        self.cluster.crash(self.node)
        self.cluster.restart(self.node)


@pytest.fixture
def voter():
    return Voter()


def test_it_votes_once_an_epoch(voter):
    assert voter.asked(voter.leader, 100)
    assert voter.asked(voter.leader, 100), (
        "the same candidate may ask again: its answer was lost"
    )
    assert not voter.asked(voter.other, 100)
    assert voter.asked(voter.other, 101)


def test_its_vote_outlives_a_crash(voter):
    assert voter.asked(voter.leader, 100)
    voter.restart()
    assert voter.quorum.epoch == 100
    assert not voter.asked(voter.other, 100)


def test_a_voter_that_forgets_would_be_noticed(voter, monkeypatch):
    assert voter.asked(voter.leader, 100)
    voted = Vote(voter.quorum.epoch)
    monkeypatch.setattr(QuorumState, "vote", lambda self: voted)
    voter.restart()
    assert voter.asked(voter.other, 100), "two leaders of one epoch"


def test_it_votes_for_nobody_whose_log_is_behind_its_own(voter):
    epoch, end = voter.quorum.replica.log.epochs.latest, voter.quorum.end_offset
    assert not voter.asked(voter.other, 100, epoch, end - 1)
    assert not voter.asked(voter.other, 101, epoch - 1, FAR), (
        "a longer log of an older epoch is behind"
    )
    assert voter.asked(voter.other, 102, epoch, end)


def test_who_asks_in_an_older_epoch_hears_of_the_new_one(voter):
    assert voter.asked(voter.leader, 100)
    assert voter.asked(voter.other, 99) == "FENCED_LEADER_EPOCH"


def test_a_pre_vote_changes_nothing_and_is_refused_while_the_leader_is_heard(voter):
    epoch = voter.quorum.epoch
    assert not voter.asked(voter.other, epoch, pre_vote=True)
    assert voter.quorum.epoch == epoch and voter.quorum.leader_id == voter.leader
    voter.cluster.crash(voter.leader)
    voter.cluster.run_until(lambda: voter.quorum.leader_id != voter.leader)
    assert voter.quorum.epoch >= epoch
