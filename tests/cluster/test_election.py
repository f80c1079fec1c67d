"""A voter's rules (KIP-595, KIP-996; the Raft paper, 5.2 and 5.4), asked of one voter
and its disk: broker 1 of three, which follows broker 2. Elections among running nodes
are in tests/simulation.
"""

from random import Random
from types import SimpleNamespace

import pytest

from minikafka.clock import Now
from minikafka.cluster.election import MOST_AHEAD, Election, LogEnd, Timeouts, Vote
from minikafka.cluster.metadata import NO_LEADER
from minikafka.cluster.quorum_state import QuorumState
from minikafka.cluster.roles import FOLLOWER, LEADER
from minikafka.cluster.timers import Timers
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.storage.data_folder import METADATA_LOG
from minikafka.trace import Trace
from minikafka.wire.errors import Error

VOTERS = (1, 2, 3)
OTHER, LEADS = 3, 2
EPOCH, END_OFFSET = 5, 10
FAR = 1_000_000
LONGEST_SILENCE_MS = Timeouts().fetch_timeout_ms


class Voter:
    """election: of the node since it started last; sent: (node, API, its partition's
    fields).
    """

    def __init__(self):
        self.disk, self.now, self.sent = MemoryDisk(), Now(0, 0), []
        self.disk.mkdir(METADATA_LOG)
        self.start()
        self.election.learn(EPOCH, LEADS, self.now)
        self.election.fetched(self.now)

    def start(self):
        state = QuorumState(self.disk, VOTERS)
        self.timers = Timers()
        self.election = Election(
            node_id=1,
            voters=VOTERS,
            timeouts=Timeouts(),
            cluster_id=lambda: "test",
            log_end=lambda: LogEnd(EPOCH, END_OFFSET),
            keep=state.keep_vote,
            changed=lambda now: None,
            ask=self.ask,
            random=Random(7).random,
            timer=self.timers.new(),
            trace=Trace("broker 1"),
        )
        self.election.start(state.checked(state.vote(), EPOCH), self.now)

    def ask(self, node, lane, api, version, body, then):
        self.sent.append((node, api, body["topics"][0]["partitions"][0], then))

    def lose_power_and_restart(self):
        self.disk.lose_power(Random(7))
        self.start()

    def asked(self, candidate, epoch, last_epoch=None, end_offset=FAR, pre_vote=False):
        """Its answer to one request: whether it would vote, or the error."""
        last_epoch = epoch - 1 if last_epoch is None else last_epoch
        body = {"replica_id": candidate, "replica_epoch": epoch, "pre_vote": pre_vote}
        body |= {"last_offset_epoch": last_epoch, "last_offset": end_offset}
        answer = self.election.asked_for_vote(SimpleNamespace(**body), self.now)
        if answer["error_code"] == Error.NONE:
            return answer["vote_granted"]
        return Error(answer["error_code"]).name

    def hears_nothing(self):
        """Until it does something about it."""
        self.now = Now(self.timers.next(), 0)
        self.election.tick(self.now)

    def hear(self, *nodes, granted=True):
        """What these answer to its last request for votes."""
        asked, self.sent = self.sent, []
        for node, _, _, then in asked:
            if node in nodes:
                vote = {"leader_epoch": self.election.vote.epoch, "error_code": 0}
                vote |= {"vote_granted": granted, "leader_id": NO_LEADER}
                topic = SimpleNamespace(partitions=[SimpleNamespace(**vote)])
                then(SimpleNamespace(error_code=0, topics=[topic]), self.now)


@pytest.fixture
def voter():
    return Voter()


def test_it_votes_once_an_epoch(voter):
    assert voter.asked(LEADS, 100)
    assert voter.asked(LEADS, 100), (
        "the same candidate may ask again: its answer was lost"
    )
    assert not voter.asked(OTHER, 100)
    assert voter.asked(OTHER, 101)


def test_its_vote_outlives_a_loss_of_power(voter):
    assert voter.asked(LEADS, 100)
    voter.lose_power_and_restart()
    assert voter.election.vote == Vote(100, voted=LEADS)
    assert not voter.asked(OTHER, 100)


def test_a_voter_that_forgets_would_be_noticed(voter, monkeypatch):
    assert voter.asked(LEADS, 100)
    monkeypatch.setattr(QuorumState, "vote", lambda self: Vote(100))
    voter.lose_power_and_restart()
    assert voter.asked(OTHER, 100), "two leaders of one epoch"


def test_it_votes_for_nobody_whose_log_is_behind_its_own(voter):
    assert not voter.asked(OTHER, 100, EPOCH, END_OFFSET - 1)
    assert not voter.asked(OTHER, 101, EPOCH - 1, FAR), (
        "a longer log of an older epoch is behind"
    )
    assert voter.asked(OTHER, 102, EPOCH, END_OFFSET)


def test_who_asks_in_an_older_epoch_hears_of_the_new_one(voter):
    assert voter.asked(LEADS, 100)
    assert voter.asked(OTHER, 99) == "FENCED_LEADER_EPOCH"


def test_who_is_no_voter_or_says_what_can_not_be_gets_no_vote(voter):
    assert voter.asked(4, 100) == "INCONSISTENT_VOTER_SET"
    assert voter.asked(1, 100) == "INCONSISTENT_VOTER_SET", "nobody asks itself"
    assert voter.asked(OTHER, 100, last_epoch=100) == "INVALID_REQUEST", (
        "nobody has led the epoch that it wants to lead"
    )
    assert voter.asked(OTHER, EPOCH + MOST_AHEAD + 1) == "INVALID_REQUEST", (
        "no elections lead so far from what the log knows"
    )
    assert voter.election.vote == Vote(EPOCH, leader=LEADS)


def test_a_pre_vote_changes_nothing_and_is_refused_while_the_leader_is_heard(voter):
    assert not voter.asked(OTHER, EPOCH, EPOCH, pre_vote=True)
    assert voter.election.vote == Vote(EPOCH, leader=LEADS)
    voter.hears_nothing()
    assert voter.now.monotonic_ms == LONGEST_SILENCE_MS
    assert voter.asked(OTHER, EPOCH, EPOCH, pre_vote=True)
    assert voter.asked(LEADS, EPOCH, EPOCH, pre_vote=True), "it is no vote"
    assert voter.election.vote == Vote(EPOCH)


def test_who_would_lose_stands_in_no_new_epoch(voter):
    voter.hears_nothing()
    assert [(node, api, each["pre_vote"]) for node, api, each, _ in voter.sent] == [
        (LEADS, "Vote", True),
        (OTHER, "Vote", True),
    ]
    voter.hear(LEADS, OTHER, granted=False)
    assert voter.election.vote == Vote(EPOCH) and voter.sent == []


def test_who_has_the_votes_of_a_majority_leads_and_says_so(voter):
    voter.hears_nothing()
    voter.hear(OTHER)
    assert voter.election.vote == Vote(EPOCH + 1, voted=1)
    assert QuorumState(voter.disk, VOTERS).vote() == voter.election.vote
    assert voter.election.role != LEADER
    voter.hear(OTHER)
    assert voter.election.role == LEADER
    assert [(node, api) for node, api, _, _ in voter.sent] == [
        (LEADS, "BeginQuorumEpoch"),
        (OTHER, "BeginQuorumEpoch"),
    ]


def test_a_leader_that_a_majority_no_longer_fetches_from_resigns(voter):
    voter.hears_nothing()
    voter.hear(OTHER)
    voter.hear(OTHER)
    began_ms = voter.now.monotonic_ms
    while voter.election.role == LEADER:
        assert voter.now.monotonic_ms < began_ms + LONGEST_SILENCE_MS * 3 // 2
        voter.hears_nothing()
    assert voter.election.vote == Vote(EPOCH + 1, voted=1)


def test_a_leader_that_one_follower_fetches_from_has_its_majority(voter):
    voter.hears_nothing()
    voter.hear(OTHER)
    voter.hear(OTHER)
    for _ in range(20):
        voter.election.heard_from(OTHER, voter.now)
        voter.hears_nothing()
    assert voter.election.role == LEADER


def test_of_two_leaders_of_an_epoch_the_second_is_not_believed(voter):
    told = SimpleNamespace(leader_id=OTHER, leader_epoch=EPOCH)
    answer = voter.election.told_of_leader(told, voter.now)
    assert answer["error_code"] == Error.INVALID_REQUEST
    assert voter.election.role == FOLLOWER
    assert voter.election.vote.leader == LEADS
