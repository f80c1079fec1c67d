"""A member of a classic group: it joins, gets an assignment, sends heartbeats, and
starts over when it is asked to.

One rebalance, as the member sees it (KIP-62, KIP-394, KIP-429):

1.  Something calls for it: the first poll, a heartbeat answered with
    REBALANCE_IN_PROGRESS, a new subscription, for the leader also new partitions. It
    begins at the next poll and not before: until the program comes back, the whole
    group waits, at most rebalance_timeout (max_poll_interval_ms).
2.  Prepare: commit what was read (auto-commit). *Eager*: give back all partitions, and
    the listener is told. From here to step 5 the member reads nothing: "stop the
    world". *Cooperative*: keep them, and go on reading.
3.  JoinGroup, with topics and what one had. A first one is refused with
    MEMBER_ID_REQUIRED and the id to join with, so that a client whose answer got lost
    does not become a ghost member. It is answered when all members are in: the barrier.
    One of them is the leader and gets what all have said.
4.  SyncGroup. The leader sends everyone's assignment, which its assignor has made; the
    others send nothing, and wait.
5.  Complete: the listener is told what is new. Cooperative: first what is to be given
    back; then join once more, since only now that it was revoked may the partition be
    given to another.

The member's states, and the events that move it between them, are a table, MOVES. It
also has a *generation*: the number of the rebalance that its assignment is from. A
request with an old one is refused, so a member that acts late, after the group went on
without it, can do no harm: UNKNOWN_MEMBER_ID (evicted), ILLEGAL_GENERATION (it missed a
rebalance), FENCED_INSTANCE_ID (another process has taken this static member's place,
KIP-345). In the first two cases it drops its partitions (on_partitions_lost: another
member may read them already) and joins again; in the third it raises an error and is
out.

The member sends a heartbeat every heartbeat_interval_ms, for as long as the process
lives, whether the program polls or not. The answers tell it whether a rebalance is
going on, and whether it was evicted. If the coordinator hasn't answered for
session_timeout_ms, the member looks for it again.

A static member (group_instance_id) doesn't say goodbye: it may come back within the
session and get its assignment again.

As in Java, answers to JoinGroup are processed only in poll(), those to SyncGroup and
heartbeats at once.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from minikafka.clients import assigning
from minikafka.clients.coordinator import Coordinator
from minikafka.clients.errors import RebalanceInProgressError, refusal
from minikafka.clients.membership import BeforeRevoking, Membership, Task
from minikafka.clients.request_state import RequestState
from minikafka.clients.structs import TopicPartition
from minikafka.clients.subscription_state import SubscriptionState
from minikafka.coordinators.assignors import Assignment
from minikafka.wire.errors import Error
from minikafka.wire.schema import Message

UNJOINED, PREPARING, COMPLETING, STABLE = (
    "unjoined",
    "preparing_rebalance",
    "completing_rebalance",
    "stable",
)

# state, event -> the next state
MOVES = {
    (UNJOINED, "join_sent"): PREPARING,
    (STABLE, "join_sent"): PREPARING,
    (PREPARING, "member_id_given"): UNJOINED,  # KIP-394: join again with it
    (PREPARING, "all_joined"): COMPLETING,
    (PREPARING, "refused"): UNJOINED,
    # mainly because another rebalance has begun in the meantime
    (COMPLETING, "refused"): UNJOINED,
    (COMPLETING, "share_received"): STABLE,
    (PREPARING, "out"): UNJOINED,  # evicted by the coordinator, or left by itself
    (COMPLETING, "out"): UNJOINED,
    (STABLE, "out"): UNJOINED,
    (UNJOINED, "out"): UNJOINED,
}

# answers that show that the coordinator took the heartbeat as a sign of life
HEARD = (Error.NONE, Error.REBALANCE_IN_PROGRESS)
OUT = (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION, Error.FENCED_INSTANCE_ID)
# how much longer than the rebalance timeout the answer to JoinGroup may take, as in
# Java
PATIENCE_MS = 5000


class ClassicMembership(Membership):
    """A member of a group with group_protocol="classic"."""

    moves = MOVES
    heartbeat_states = (COMPLETING, STABLE)
    gone_because = (
        "and another may have its partitions: the time between two polls was longer"
        " than max_poll_interval_ms, or no heartbeat came through for"
        " session_timeout_ms"
    )

    def __init__(
        self,
        subscription: SubscriptionState,
        coordinator: Coordinator,
        commit_before_revoking: BeforeRevoking,
    ) -> None:
        super().__init__(subscription, coordinator, commit_before_revoking)
        self._assignors = assigning.chosen_assignors(
            self.client.config["partition_assignment_strategy"]
        )
        # Whether members keep their partitions during a rebalance: all assignors must
        # allow it (KIP-429).
        self.cooperative = all(each.cooperative for each in self._assignors)
        # why the member must join at the next poll; None if it needn't
        self._rejoin_why: str | None = None
        self._preparing = False  # step 2 is in progress
        self._prepared = False  # step 2 is done
        # for JoinGroup and then SyncGroup
        self._joining = RequestState(self.client, coordinator)
        self._join_answer: Message | None = None  # arrived between polls
        self._joined_topics: list[str] = []
        # the last assignment, and its generation
        self._had: tuple[list[TopicPartition], int] = ([], -1)
        self._leader: assigning.Leader | None = None  # while it leads
        self._session_deadline = 0

    # what the consumer calls

    def work(self) -> None:
        self.check_poll_interval()
        if self.state in self.heartbeat_states:
            self.client.wake(self._session_deadline)
            if self._session_deadline <= self.client.now_ms:
                # nothing was heard, but the next coordinator gets as much time
                self._heard()
                self.coordinator.lost()
        self.stay_alive()
        if self.subscription.in_poll and not self.leaving:
            self._rebalance()

    @property
    def in_rebalance(self) -> bool:
        has_agreed = self.state == STABLE and not self.tasks
        return not has_agreed or self._rejoin_why is not None

    def subscription_changed(self) -> None:
        topics = sorted(self.subscription.topics)
        if self.state != UNJOINED and topics == self._joined_topics:
            return
        if self._joined_topics:
            self.rejoin("the subscription has changed")
        else:
            self.rejoin("it has subscribed")

    def metadata_changed(self) -> None:
        """Only the leader watches the partitions of all the group's topics."""
        if self.state != STABLE or self._leader is None:
            return
        if self._leader.is_outdated():
            self.rejoin("the topics' partitions have changed")

    def leave(self, why: str) -> None:
        self.leaving = True
        self.tasks.clear()
        partitions = list(self.subscription.assigned)
        say_goodbye = partial(self._say_goodbye, why)
        if self.state == STABLE and self.generation >= 0:
            self.revoke(partitions, say_goodbye)
        else:
            self.lose(partitions, say_goodbye)

    def why_no_commit(self) -> Exception | None:
        if self.state in (PREPARING, COMPLETING):
            return RebalanceInProgressError(
                f"{self.client.name} is in the middle of a rebalance: poll() ends it,"
                " then commit what is still yours"
            )
        return None if self.state == STABLE else self.gone()

    def commit_refused(self, error: Error, identity: tuple[str, int]) -> Exception:
        if error is Error.REBALANCE_IN_PROGRESS:
            self.rejoin("the group is already rebalancing")
            return RebalanceInProgressError(
                f"{self.coordinator.group_id} is rebalancing: poll() first, then commit"
            )
        if self.identity != identity and self.state in (PREPARING, COMPLETING):
            return RebalanceInProgressError(
                f"{self.coordinator.group_id} has rebalanced since: poll() first"
            )
        if self.identity == identity:
            self._put_out(error)
        return super().commit_refused(error, identity)

    def poll_overdue(self, why: str) -> None:
        self._say_goodbye(why)
        self._rejoin_why = why

    # heartbeats: in the background

    def send_heartbeat(self) -> None:
        self._heartbeat_later()
        body = self.who("group_instance_id")
        body["generation_id"] = self.generation
        answered = partial(self._heartbeat_answered, self.identity)
        self.coordinator.request("Heartbeat", body, self.heartbeat.sent(answered))

    def _heartbeat_answered(self, identity: tuple[str, int], response: Message) -> None:
        error = Error(response.error_code)
        if error in HEARD:
            self._heard()
        elif error not in OUT and not self.heartbeat.refused(error):
            self.heartbeat.back_off()
        if identity != self.identity:
            return
        # a member that is joining knows that already
        if error is Error.REBALANCE_IN_PROGRESS and self.state == STABLE:
            self.rejoin("the group is rebalancing")
        elif error in OUT:
            self._put_out(error)

    def _heartbeat_later(self) -> None:
        interval_ms = int(self.client.config["heartbeat_interval_ms"])
        self.heartbeat.at_ms = self.client.now_ms + interval_ms
        self.client.wake(self.heartbeat.at_ms)

    def _heard(self) -> None:
        """Coordinator and member have heard from each other: the session starts
        again.
        """
        timeout_ms = int(self.client.config["session_timeout_ms"])
        self._session_deadline = self.client.now_ms + timeout_ms
        self.client.wake(self._session_deadline)

    # a rebalance: in poll

    def rejoin(self, why: str) -> None:
        """Join (again) at the next poll."""
        self._rejoin_why = self._rejoin_why or why

    def _rebalance(self) -> None:
        if self.raises():
            return
        if self._join_answer is not None:
            answer = self._join_answer
            self._join_answer = None
            self._join_answered(answer)
        wants_to_join = self._rejoin_why is not None and self.subscription.topics
        is_busy = self._preparing or self.tasks
        if not wants_to_join or is_busy:
            return
        if self.client.is_due(self._joining) and self.coordinator.ready():
            if self._prepared:
                self._join()
            else:
                self._prepare()

    def _prepare(self) -> None:
        self._preparing = True
        if self.generation < 0:
            self._give_back()
            return
        if not self.cooperative:
            self.subscription.stop(self.subscription.assigned)
        self.commit_before_revoking(self._give_back)

    def _give_back(self) -> None:
        """The commit has ended, successfully or not: now give the partitions back. A
        member that was evicted has lost all of them.
        """
        owned = list(self.subscription.assigned)
        if self.generation < 0:
            self.lose(owned, self._ready_to_join)
        elif self.cooperative:
            topics = self.subscription.topics
            unwanted = [each for each in owned if each.topic not in topics]
            self.revoke(unwanted, self._ready_to_join)
        else:
            self.revoke(owned, self._ready_to_join)

    def _ready_to_join(self) -> None:
        self._preparing = False
        self._prepared = True
        if self.generation < 0 and self.subscription.assigned:
            # evicted in the meantime
            self._prepare()
        elif self.subscription.in_poll:
            self._rebalance()

    def _join(self) -> None:
        config = self.client.config
        why = self._rejoin_why or ""
        self._joined_topics = sorted(self.subscription.topics)
        self._leader = None
        owned = list(self.subscription.assigned)
        protocols = []
        for each in self._assignors:
            metadata = assigning.encode_subscription(
                each, self._joined_topics, owned, self.generation, self._had
            )
            protocols.append({"name": each.name, "metadata": metadata})
        body = {
            "session_timeout_ms": config["session_timeout_ms"],
            "rebalance_timeout_ms": config["max_poll_interval_ms"],
            "protocol_type": "consumer",
            "protocols": protocols,
            "reason": why,
        }
        self.event("join_sent", why)
        all_joined_ms = config["max_poll_interval_ms"] + PATIENCE_MS
        timeout_ms = max(self.client.request_timeout_ms, all_joined_ms)
        self._send("JoinGroup", body, self._join_arrived, timeout_ms)

    def _send(
        self,
        api: str,
        body: dict[str, Any],
        answered: Callable[[Message], None],
        timeout_ms: int | None = None,
    ) -> None:
        def failed() -> None:
            self.event("refused", "the coordinator could not be reached")

        if self.coordinator.ready():
            on_response = self._joining.sent(answered, failed)
            whole_body = self.who("group_instance_id") | body
            self.coordinator.request(api, whole_body, on_response, timeout_ms)
        else:  # lost since the coordinator answered JoinGroup
            self._joining.back_off()
            failed()

    def _join_arrived(self, response: Message) -> None:
        if self.subscription.in_poll:
            self._join_answered(response)
        else:
            self._join_answer = response  # the next poll looks at it

    def _join_answered(self, response: Message) -> None:
        error = Error(response.error_code)
        if error is Error.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            why = "the coordinator has given it a member id to join with"
            self.event("member_id_given", why)
        elif error is not Error.NONE:
            self._refused(error)
        else:
            self.member_id = response.member_id
            self.generation = response.generation_id
            self._heartbeat_later()
            self._heard()
            if response.leader == response.member_id:
                self.event("all_joined", "leads the group")
                self._lead(response)
            else:
                self.event("all_joined", "waits for the leader's assignment")
                self._sync(response.protocol_name, {})

    def _lead(self, response: Message) -> None:
        """Let the assignor run, in the program's own call, as soon as metadata of the
        group's topics is there.
        """
        name = response.protocol_name
        assignor = next(each for each in self._assignors if each.name == name)
        leader = assigning.Leader(self, assignor, response)
        self._leader = leader

        def run() -> None:
            assignment = leader.assign()
            if self._leader is leader and self.state == COMPLETING:
                self._sync(assignor.name, assignment)

        def failed() -> None:
            if self._leader is leader and self.state == COMPLETING:
                self._joining.back_off()
                self.event("refused", f"its assignor {assignor.name} failed")

        task = Task(
            kind="assign",
            partitions=[],
            done=lambda: None,
            run=run,
            failed=failed,
            ready=leader.knows_the_topics,
        )
        self.tasks.append(task)

    def _sync(self, protocol: str, assignment: Assignment) -> None:
        assignments = []
        for member, partitions in assignment.items():
            encoded = assigning.encode_assignment(partitions)
            assignments.append({"member_id": member, "assignment": encoded})
        body = {
            "generation_id": self.generation,
            "protocol_type": "consumer",
            "protocol_name": protocol,
            "assignments": assignments,
        }
        self._send("SyncGroup", body, self._sync_answered)

    def _sync_answered(self, response: Message) -> None:
        error = Error(response.error_code)
        if error is not Error.NONE:
            self._refused(error)
            return
        self.event("share_received", f"has its share of generation {self.generation}")
        self._rejoin_why = None
        self._prepared = False
        assigned = assigning.decode_assignment(response.assignment)
        self._had = (assigned, self.generation)
        owned = self.subscription.assigned
        keeps = set(assigned)
        gone = [each for each in owned if each not in keeps]
        if gone:
            why = "it has given partitions back that others wait for"
            self.revoke(gone, partial(self.rejoin, why))
        new = [each for each in assigned if each not in owned]
        self.assign(new, lambda: None)
        self.subscription_changed()
        self.metadata_changed()

    # errors, and leaving

    def _refused(self, error: Error) -> None:
        """The coordinator has refused a JoinGroup or a SyncGroup."""
        if error in OUT:
            self._put_out(error)
            return
        is_final = error is not Error.REBALANCE_IN_PROGRESS
        if is_final and not self._joining.refused(error):
            self._joining.back_off()
            self.subscription.error = refusal(error)
        self.event("refused", f"{error.name}: {error.message}")

    def _put_out(self, error: Error) -> None:
        """The coordinator has evicted the member, or the group has gone on to another
        generation without it.
        """
        why = f"{error.name}: {error.message}"
        self._reset(why, keep_member_id=error is Error.ILLEGAL_GENERATION)
        if error is Error.FENCED_INSTANCE_ID:
            self.fatal = refusal(error)
            self.lose(list(self.subscription.assigned), lambda: None)
        else:
            self.rejoin(error.name)

    def _say_goodbye(self, why: str) -> None:
        """Leave the group. A static member goes without a LeaveGroup and keeps its
        place until the session ends.
        """
        is_member = self.member_id and self.state != UNJOINED
        if self.instance_id is not None or not is_member:
            self.left()
        else:
            members = [{"member_id": self.member_id, "reason": why}]
            body = {"group_id": self.coordinator.group_id, "members": members}
            self.say_goodbye("LeaveGroup", body)
        self._reset(why)

    def _reset(self, why: str, keep_member_id: bool = False) -> None:
        self.event("out", why)
        self.generation = -1
        if not keep_member_id:
            self.member_id = ""
        self._joining.give_up()
        self._join_answer = None
        self._prepared = False
        self._rejoin_why = None
        self._leader = None
        self.drop_tasks("assigned", "assign")
