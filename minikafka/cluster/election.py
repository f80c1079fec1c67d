"""Elects the leader of the metadata quorum: one voter's part in KRaft's election
(KIP-595; PreVote, KIP-996; the Raft paper, 5.2).

The rules. A voter votes once per epoch, and writes its vote to disk before it announces
it. It votes only for a candidate whose log is at least as complete as its own: the
later last epoch wins, then the longer log. The candidate with the votes of a majority
leads that epoch, so there is at most one leader per epoch, and it has every committed
record.

A follower that hears nothing from its leader first asks whether it would win (PreVote),
without a new epoch: voters that still hear the leader say no, so a voter with a bad
connection can't unseat the leader. A leader resigns by itself once a majority no longer
fetches from it, because another leader may have been elected by then.

A voter's roles, and the events that lead from one to another, are the table in
roles.py. A leader announces its epoch to voters that don't fetch. A node that isn't a
voter only follows.

Which epochs are believed. Anybody who reaches the port can send a request, and epochs
are a finite number, so an epoch named in a request is believed only as far as elections
could have led. A leader's first record carries its epoch, so the log tells how many
leaders there were; MOST_AHEAD more epochs may have ended without a leader, or be in a
log that is further along. A node that fell behind by more than that learns the epoch
all the same: it hears of no leader, so it asks, and when a voter answers from its known
address, epochs up to HIGHEST_EPOCH are believed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from minikafka.clock import Now
from minikafka.cluster.metadata import METADATA_TOPIC, NO_LEADER
from minikafka.cluster.roles import (
    ALONE,
    FOLLOWER,
    GAVE_VOTE,
    LATER_EPOCH,
    LEADER,
    LEADER_HEARD,
    LEADER_LOST,
    PROSPECTIVE,
    RESIGNED,
    TIMED_OUT,
    TRANSITIONS,
    UNATTACHED,
    WON,
    WOULD_WIN,
)
from minikafka.cluster.timers import NEVER_MS, Timer
from minikafka.trace import Trace
from minikafka.wire.errors import Error
from minikafka.wire.schema import Message

LANE = "quorum"
VOTE_VERSION, BEGIN_VERSION, END_VERSION = 2, 1, 1
# 34 years at one election per second; as many again would still fit into an int32
HIGHEST_EPOCH = 2**30
MOST_AHEAD = 1000  # how far a request's epoch may be ahead of the log's last epoch

Then = Callable[[Message | None, Now], None]


# Sends a request to another node: (node, lane, api, version, body, then), where
# then(reply or None, now) is called once.
AskNode = Callable[[int, str, str, int, Mapping[str, object], Then], None]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Kafka's configs controller.quorum.*, in ms."""

    election_timeout_ms: int = 1000
    fetch_timeout_ms: int = 2000
    election_backoff_max_ms: int = 1000


class LogEnd(NamedTuple):
    """How far a log goes. The larger of two ends is further: the later last epoch wins,
    then the longer log.
    """

    last_epoch: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class Vote:
    """The state that must survive a restart. voted: the candidate that this voter voted
    for in this epoch, or NO_LEADER.
    """

    epoch: int = 0
    voted: int = NO_LEADER
    leader: int = NO_LEADER


class Election:
    """One node's part in the election. log_end(): the end of this node's log.
    keep(vote): write it to disk, synced. changed(now): called when the role, the epoch
    or the leader has changed. random(): 0 <= x < 1. timer: runs out when this node has
    heard of nobody for too long.
    """

    def __init__(
        self,
        *,
        node_id: int,
        voters: Sequence[int],
        timeouts: Timeouts,
        cluster_id: Callable[[], str],
        log_end: Callable[[], LogEnd],
        keep: Callable[[Vote], None],
        changed: Callable[[Now], None],
        ask: AskNode,
        random: Callable[[], float],
        timer: Timer,
        trace: Trace,
    ) -> None:
        self.role = UNATTACHED
        self.vote = Vote()
        self.has_fetched = False  # from the leader of this epoch
        self._node_id = node_id
        self._voters = voters
        self._others = [voter for voter in voters if voter != node_id]
        self._majority = len(voters) // 2 + 1
        self._is_voter = node_id in voters
        self._timeouts = timeouts
        self._cluster_id = cluster_id
        self._log_end = log_end
        self._keep = keep
        self._changed = changed
        self._ask = ask
        self._random = random
        self._trace = trace
        self._timer = timer
        self._votes: dict[int, bool] = {}
        self._rounds = 0  # votes that this voter has lost in a row
        self._tries = 0  # attempts in a row, lost or not
        # on the leader: when each voter last fetched
        self._heard_ms: dict[int, int] = {}

    # -- life

    def start(self, vote: Vote, now: Now) -> None:
        """vote: the one kept on disk. A sole voter leads the next epoch at once."""
        self._note(vote)
        if not self._others and self._is_voter:
            self._note(Vote(vote.epoch + 1, self._node_id))
            self._lead(ALONE, now)
        elif vote.leader not in (NO_LEADER, self._node_id):
            self._take(LEADER_HEARD, now, self._timeouts.fetch_timeout_ms)
        else:
            self._forget_leader(now)

    def tick(self, now: Now) -> None:
        """When the timer has run out: a leader checks on its voters, another voter asks
        for votes, and a node without a vote looks for the leader again.
        """
        if now.monotonic_ms < self._timer.at_ms:
            return
        if self.role == LEADER:
            self._look_after_voters(now)
        elif self._is_voter:
            self._note(replace(self.vote, leader=NO_LEADER))
            self._ask_for_votes(TIMED_OUT, now)
        else:
            self._timer.set(now.monotonic_ms + self._timeouts.fetch_timeout_ms)
            self._forget_leader(now)

    def resign(self, now: Now) -> None:
        """Stop cleanly: tell the voters, naming the one with the longest log as the
        first candidate.
        """
        if self.role != LEADER or not self._others:
            return

        def heard_ms(voter: int) -> int:
            return self._heard_ms.get(voter, 0)

        def heard_of_it(reply: Message | None, now: Now) -> None:
            pass

        last_heard_first = sorted(self._others, key=heard_ms, reverse=True)
        candidates = [
            {"candidate_id": voter, "candidate_directory_id": bytes(16)}
            for voter in last_heard_first
        ]
        body = self._body(
            {
                "leader_id": self._node_id,
                "leader_epoch": self.vote.epoch,
                "preferred_candidates": candidates,
            }
        )
        for voter in last_heard_first:
            self._ask(voter, LANE, "EndQuorumEpoch", END_VERSION, body, heard_of_it)
        self._forget_leader(now)

    # -- requests from other nodes

    def asked_for_vote(self, asked: Message, now: Now) -> dict[str, Any]:
        """Vote: one partition of the request. Returns the fields of its answer."""
        refused = self._refused(asked.replica_epoch, asked.replica_id)
        if not refused and not self._is_possible_log(asked):
            refused = Error.INVALID_REQUEST
        if refused:
            return {**self._answer(refused), "vote_granted": False}
        if asked.replica_epoch > self.vote.epoch:
            self.learn(asked.replica_epoch, NO_LEADER, now)
        granted = self._would_vote(asked)
        if granted and not asked.pre_vote:
            self._note(replace(self.vote, voted=asked.replica_id))
            self._keep(self.vote)
            self._take(GAVE_VOTE, now, self._patience_ms())
        if self._trace:
            candidates_end = [asked.last_offset_epoch, asked.last_offset]
            own_end = list(self._log_end())
            self._tell(
                "VoteAnswered",
                candidate=asked.replica_id,
                granted=granted,
                pre_vote=asked.pre_vote,
                ends=[candidates_end, own_end],
            )
        return {**self._answer(Error.NONE), "vote_granted": granted}

    @staticmethod
    def _is_possible_log(asked: Message) -> bool:
        """Whether a candidate can have the log that it claims: nobody has led the epoch
        that it wants to lead yet, while a pre-vote names the epoch that it is already
        in.
        """
        latest = asked.replica_epoch
        if not asked.pre_vote:
            latest -= 1
        last_epoch = asked.last_offset_epoch
        end_offset = asked.last_offset
        if last_epoch == -1:
            return bool(end_offset == 0)
        return bool(0 <= last_epoch <= latest and end_offset >= 0)

    def _would_vote(self, asked: Message) -> bool:
        candidates_end = LogEnd(asked.last_offset_epoch, asked.last_offset)
        if candidates_end < self._log_end():
            return False
        if asked.pre_vote:
            has_leader = self.role == FOLLOWER and self.has_fetched
            return self.role != LEADER and not has_leader
        knows_no_leader = self.vote.leader == NO_LEADER
        return knows_no_leader and self.vote.voted in (NO_LEADER, asked.replica_id)

    def told_of_leader(self, told: Message, now: Now) -> dict[str, Any]:
        """BeginQuorumEpoch: one partition of the request. Returns the fields of its
        answer.
        """
        return self._answer(self._believe(told, now))

    def told_of_resignation(self, told: Message, now: Now) -> dict[str, Any]:
        """EndQuorumEpoch: one partition of the request. The first of the preferred
        candidates stands at once, the next a little later. Returns the fields of the
        answer.
        """
        refused = self._believe(told, now)
        if not refused:
            order = [each.candidate_id for each in told.preferred_candidates]
            place = len(order)
            if self._node_id in order:
                place = order.index(self._node_id)
            wait_ms = place * self._timeouts.election_timeout_ms // 2
            self._forget_leader(now, wait_ms)
        return self._answer(refused)

    def _believe(self, told: Message, now: Now) -> Error:
        """Take the sender's word for the leader and the epoch. An epoch has one leader,
        so a sender that names another one doesn't belong to this quorum, and is
        refused. (In Apache Kafka that stops the node.)
        """
        refused = self._refused(told.leader_epoch, told.leader_id)
        if refused:
            return refused
        another = self.vote.leader not in (NO_LEADER, told.leader_id)
        if told.leader_epoch == self.vote.epoch and another:
            return Error.INVALID_REQUEST
        self.learn(told.leader_epoch, told.leader_id, now)
        return Error.NONE

    def _refused(self, epoch: int, sender: int) -> Error:
        """Why a voter's request is refused, or NONE. Apache Kafka only asks that the
        epoch isn't older and the id isn't negative, because its voters may change.
        """
        if epoch < self.vote.epoch:
            return Error.FENCED_LEADER_EPOCH
        if not self._is_voter or sender not in self._others:
            return Error.INCONSISTENT_VOTER_SET
        ahead_of_log = self._log_end().last_epoch + MOST_AHEAD
        believed = max(ahead_of_log, self.vote.epoch + 1)
        if epoch > min(believed, HIGHEST_EPOCH):
            return Error.INVALID_REQUEST
        return Error.NONE

    # -- news about the leader

    def learn(self, epoch: int, leader: int, now: Now) -> None:
        """Another node says who leads which epoch (NO_LEADER if it doesn't know). An
        older epoch is ignored, and so is a claim that this node leads: it knows that
        better itself. An epoch has one leader, so a sender that names a different one,
        or a node that isn't a voter, is ignored as well.
        """
        if leader == self._node_id or leader not in self._voters:
            leader = NO_LEADER
        names_first = leader != NO_LEADER and self.vote.leader == NO_LEADER
        known_epoch = self.vote.epoch
        if not known_epoch <= epoch <= HIGHEST_EPOCH:
            return
        if epoch == known_epoch and not names_first:
            return
        voted = self.vote.voted if epoch == known_epoch else NO_LEADER
        self._note(Vote(epoch, voted, leader))
        self._keep(self.vote)
        if leader == NO_LEADER:
            self._take(LATER_EPOCH, now, None)
            return
        if self._trace:
            self._tell("ControllerFollowed", leader=leader)
        self._take(LEADER_HEARD, now, self._timeouts.fetch_timeout_ms)

    def fetched(self, now: Now) -> None:
        """The leader of this epoch has answered a fetch."""
        self.has_fetched = True
        self._rounds = self._tries = 0
        self._timer.set(now.monotonic_ms + self._timeouts.fetch_timeout_ms)

    def lost_leader(self, now: Now) -> None:
        """The node that this one took for the leader of this epoch says that it
        isn't.
        """
        if self.role == FOLLOWER:
            self._forget_leader(now)

    def heard_from(self, node: int, now: Now) -> None:
        """A node has fetched from this leader; the time is kept only for voters."""
        if node in self._others:
            self._heard_ms[node] = now.monotonic_ms

    # -- roles

    def _note(self, vote: Vote) -> None:
        """Set the epoch, vote and leader, for the current epoch or a later one."""
        known = self.vote
        assert vote.epoch >= known.epoch, "epochs never fall"
        if vote.epoch == known.epoch:
            assert known.voted in (NO_LEADER, vote.voted), "a voter votes once an epoch"
            one_leader = known.leader == vote.leader or NO_LEADER in (
                known.leader,
                vote.leader,
            )
            assert one_leader, "an epoch has one leader"
        self.vote = vote

    def _take(self, event: str, now: Now, wait_ms: int | None) -> None:
        """Follow the table to the next role. wait_ms: how long to wait there; None to
        keep the running timer.
        """
        transition = TRANSITIONS.get((self.role, event))
        assert transition is not None, f"nothing is {event} for a {self.role} voter"
        self.role = transition.next_state
        self.has_fetched = False
        if wait_ms is None and self._timer.at_ms == NEVER_MS:
            wait_ms = self._patience_ms()
        if wait_ms is not None:
            self._timer.set(now.monotonic_ms + wait_ms)
        self._changed(now)

    def _patience_ms(self) -> int:
        """Between one and two election timeouts, so that two voters rarely stand at the
        same time. It doubles after each attempt without a result, because others may be
        slower than a short timeout assumes.
        """
        timeout_ms = self._timeouts.election_timeout_ms
        doubled_ms = timeout_ms << min(self._tries, 10)
        longest_ms = self._timeouts.election_backoff_max_ms
        shortest_ms = max(timeout_ms, min(doubled_ms, longest_ms))
        return round(shortest_ms * (1 + self._random()))

    def _ask_for_votes(self, event: str, now: Now) -> None:
        self._votes = {}
        self._take(event, now, self._patience_ms())
        role = self.role
        pre_vote = role == PROSPECTIVE
        if pre_vote:
            self._tries += 1
        last_epoch, end_offset = self._log_end()
        asked = {
            "replica_epoch": self.vote.epoch,
            "replica_id": self._node_id,
            "pre_vote": pre_vote,
            "last_offset_epoch": last_epoch,
            "last_offset": end_offset,
        }
        if self._trace:
            self._tell(
                "VotesRequested",
                pre_vote=pre_vote,
                log_end_offset=end_offset,
                wait_ms=self._timer.at_ms - now.monotonic_ms,
            )
        for voter in self._others:
            self._ask_for_vote(voter, asked, role)
        self._count(now)

    def _ask_for_vote(self, voter: int, asked: dict[str, Any], role: str) -> None:
        def voted(reply: Message | None, now: Now) -> None:
            if reply is None or reply.error_code or not reply.topics:
                return
            vote = reply.topics[0].partitions[0]
            # a voter that would vote for us has lost faith in the leader it names
            leader = NO_LEADER if vote.vote_granted else vote.leader_id
            self.learn(vote.leader_epoch, leader, now)
            same_epoch = self.vote.epoch == asked["replica_epoch"]
            still_wanted = same_epoch and self.role == role
            if still_wanted and vote.error_code == Error.NONE:
                self._votes[voter] = vote.vote_granted
                self._count(now)

        body = self._body(asked) | {"voter_id": voter}
        self._ask(voter, LANE, "Vote", VOTE_VERSION, body, voted)

    def _count(self, now: Now) -> None:
        granted = 1 + sum(self._votes.values())  # including its own vote
        refused = len(self._votes) + 1 - granted
        most_refused = len(self._others) + 1 - self._majority
        if granted >= self._majority:
            if self.role == PROSPECTIVE:
                self._stand(now)
            else:
                self._lead(WON, now)
        elif refused > most_refused:
            self._rounds += 1
            doubled_ms = 50 << min(self._rounds, 10)
            longest_ms = min(self._timeouts.election_backoff_max_ms, doubled_ms)
            wait_ms = max(1, round(longest_ms * self._random()))
            self._timer.set(now.monotonic_ms + wait_ms)

    def _stand(self, now: Now) -> None:
        self._note(Vote(self.vote.epoch + 1, self._node_id))
        self._keep(self.vote)
        self._ask_for_votes(WOULD_WIN, now)

    def _lead(self, event: str, now: Now) -> None:
        self._note(replace(self.vote, leader=self._node_id))
        self._keep(self.vote)
        self._rounds = self._tries = 0
        self._heard_ms = dict.fromkeys(self._others, now.monotonic_ms)
        self._take(event, now, None)
        if not self._others:
            self._timer.stop()
            return
        self._look_again_later(now)
        if self._trace:
            self._tell("ControllerElected", votes=1 + sum(self._votes.values()))
        for voter in self._others:
            self._tell_epoch(voter)

    def _look_after_voters(self, now: Now) -> None:
        patience_ms = self._timeouts.fetch_timeout_ms * 3 // 2
        late, gone = [], []
        for voter in self._others:
            silent_ms = now.monotonic_ms - self._heard_ms[voter]
            if silent_ms >= patience_ms // 3:
                late.append(voter)
            if silent_ms >= patience_ms:
                gone.append(voter)
        reached = len(self._others) + 1 - len(gone)
        if reached < self._majority:
            self._forget_leader(now)
            return
        self._look_again_later(now)
        for voter in late:
            self._tell_epoch(voter)

    def _look_again_later(self, now: Now) -> None:
        self._timer.set(now.monotonic_ms + self._timeouts.fetch_timeout_ms // 2)

    def _tell_epoch(self, voter: int) -> None:
        def epoch_told(reply: Message | None, now: Now) -> None:
            if reply is not None and not reply.error_code and reply.topics:
                other = reply.topics[0].partitions[0]
                self.learn(other.leader_epoch, other.leader_id, now)

        fields = {"leader_id": self._node_id, "leader_epoch": self.vote.epoch}
        body = self._body(fields) | {"voter_id": voter}
        self._ask(voter, LANE, "BeginQuorumEpoch", BEGIN_VERSION, body, epoch_told)

    def _forget_leader(self, now: Now, wait_ms: int | None = None) -> None:
        """Within this epoch: the leader has resigned, or nothing is heard from it."""
        resigns = self.role == LEADER
        if self._trace and resigns:
            self._tell("ControllerResigned")
        self._note(replace(self.vote, leader=NO_LEADER))
        if wait_ms is None:
            wait_ms = self._patience_ms()
        self._take(RESIGNED if resigns else LEADER_LOST, now, wait_ms)

    # -- messages and trace events

    def _body(self, fields: dict[str, Any]) -> dict[str, Any]:
        partition = {"partition_index": 0, **fields}
        topics = [{"topic_name": METADATA_TOPIC, "partitions": [partition]}]
        return {"cluster_id": self._cluster_id(), "topics": topics}

    def _answer(self, error: Error) -> dict[str, Any]:
        return {
            "partition_index": 0,
            "error_code": error,
            "leader_id": self.vote.leader,
            "leader_epoch": self.vote.epoch,
        }

    def _tell(self, kind: str, **detail: Any) -> None:
        self._trace.emit(kind, epoch=self.vote.epoch, **detail)
