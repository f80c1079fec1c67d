"""A member of a group of the consumer protocol (KIP-848): it reports its partitions, is
told which ones it should have, and adapts.

It uses a single request, ConsumerGroupHeartbeat, to join (member epoch 0), stay, report
and leave (-1, or -2 for a static member that will be back). The answer has the member's
epoch and, if it changed, its assignment: the partitions that it may use. The
coordinator decides; a member only adapts to its own assignment:

1.  Reconcile: commit what was read (auto-commit), give back what is not in it any more
    (the listener is told), take over what is new (the listener is told). All of it
    within poll(), as everything a program can notice.
2.  Acknowledge: say with a heartbeat at once what it has now. Not before that does the
    coordinator hand what was given back to another member.

Partitions that stay are read all the time: there is no barrier, and nobody waits for
all members. If a new assignment comes while an old one is being taken over, it is
processed next.

The member's states, and the events that move it between them, are a table, MOVES. They
are those of the Java client (MemberState), except that *unjoined* is Java's
UNSUBSCRIBED, and *leaving* includes its PREPARE_LEAVING. The member epoch is a pass:
with a wrong one, or after its session has ended, the member is *fenced*. It drops its
partitions (on_partitions_lost: another member may read them already) and joins again. A
program that does not poll for max_poll_interval_ms makes its member *stale*: it leaves
at once and joins again with the next poll. After a refusal that a retry can't fix (no
room in the group, an assignor that the coordinator doesn't have, an instance id that
another process uses) it is out for good, *fatal*, and every poll raises an error.

A heartbeat contains only what changed since the last one that was answered; when the
member joins, and after an error, it contains everything.
"""

from collections.abc import Callable
from typing import Any

from minikafka.clients.coordinator import Coordinator
from minikafka.clients.errors import refusal
from minikafka.clients.heartbeating import (
    FENCED,
    JOINING,
    LEAVING,
    STABLE,
    STALE,
    UNJOINED,
    moves_in_and_out,
    own_member_id,
)
from minikafka.clients.membership import BeforeRevoking, Membership
from minikafka.clients.structs import TopicPartition
from minikafka.clients.subscription_state import SubscriptionState
from minikafka.coordinators.consumer_member import by_topic, flat
from minikafka.coordinators.group_rules import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
)
from minikafka.wire.errors import Error
from minikafka.wire.schema import Message

RECONCILING, ACKNOWLEDGING = "reconciling", "acknowledging"

IN_GROUP = (JOINING, RECONCILING, ACKNOWLEDGING, STABLE)  # the states with heartbeats

# state, event -> the next state
MOVES = {
    **moves_in_and_out(IN_GROUP),
    (JOINING, "share_is_new"): RECONCILING,
    (STABLE, "share_is_new"): RECONCILING,
    (ACKNOWLEDGING, "share_is_new"): RECONCILING,
    (RECONCILING, "share_is_new"): RECONCILING,
    (JOINING, "share_is_had"): STABLE,
    (RECONCILING, "share_is_had"): STABLE,
    (STABLE, "share_is_had"): STABLE,
    (ACKNOWLEDGING, "share_is_had"): ACKNOWLEDGING,
    (RECONCILING, "reconciled"): ACKNOWLEDGING,
    (ACKNOWLEDGING, "said_so"): STABLE,
    (ACKNOWLEDGING, "said_so_but_share_is_new"): RECONCILING,
}

OUT = -1  # the generation of a client that isn't a member

Partitions = frozenset[tuple[bytes, int]]  # (topic id, partition)


class ConsumerMembership(Membership):
    """A member of a group with group_protocol="consumer". generation: the member epoch;
    0 while it joins.
    """

    moves = MOVES
    heartbeat_states = IN_GROUP
    gone_because = (
        "or its epoch is old, and another may have its partitions: poll() brings it up"
        " to date, then commit what is still yours"
    )

    def __init__(
        self,
        subscription: SubscriptionState,
        coordinator: Coordinator,
        commit_before_revoking: BeforeRevoking,
        random: Callable[[], float],
    ) -> None:
        super().__init__(subscription, coordinator, commit_before_revoking)
        self.member_id = f"{self.client.client_id}-{own_member_id(random)}"
        # the partitions that it should have, as the coordinator last said
        self._assignment: Partitions = frozenset()
        self._had: Partitions = frozenset()  # the partitions that it has taken over
        self._reconciling = False  # step 1 is in progress
        self._life = 0  # counts its joins; work begun before the last one is ignored
        self._said: dict[str, Any] = {}  # the fields that the coordinator knows
        self._interval_ms = 0  # given by the coordinator

    # called by the consumer

    def work(self) -> None:
        self.check_poll_interval()
        if self.subscription.in_poll and not self.leaving:
            self._poll_work()
        self.stay_alive()

    def leave(self, why: str) -> None:
        self.leaving = True
        in_group = self.state in IN_GROUP
        self._start_over()
        self.event("leaves", why)
        has_joined = in_group and self.generation > JOIN_EPOCH
        give_back = self.revoke if has_joined else self.lose

        def given_back() -> None:
            if in_group:
                self._say_goodbye()
            else:
                self.left()
            self.generation = OUT
            self.event("left", why)

        give_back(self._held(), given_back)

    def why_no_commit(self) -> Exception | None:
        may = self.state in (*IN_GROUP, LEAVING) and self.generation > JOIN_EPOCH
        return None if may else self.gone()

    def poll_overdue(self, why: str) -> None:
        self._say_goodbye()
        self._drop_out("overdue", why)

    # in poll: join, and adapt to the assignment

    def _poll_work(self) -> None:
        if self.raises() or self.tasks:
            return
        if self.state in (UNJOINED, STALE) and self.subscription.topics:
            is_first = self.state == UNJOINED
            self._join("polled", "the first poll" if is_first else "it polls again")
        elif self.state == RECONCILING and not self._reconciling:
            self._reconcile()

    def _join(self, event: str, why: str) -> None:
        self._start_over()
        self.generation = JOIN_EPOCH
        self.event(event, why)
        self.heartbeat.at_ms = self.client.now_ms

    def _reconcile(self) -> None:
        """Do step 1 for the topics whose names are known. The others wait for
        metadata.
        """
        names = self.client.metadata.topic_names
        known = frozenset(each for each in self._assignment if each[0] in names)
        if known != self._assignment:
            self.client.metadata.refresh()
            if known == self._had:
                return
        assigned = []
        for topic_id, number in known:
            assigned.append(TopicPartition(names[topic_id], number))
        assigned.sort()
        gone = [each for each in self.subscription.assigned if each not in assigned]
        self.subscription.stop(gone)
        self._reconciling = True
        life = self._life

        def give_back() -> None:
            if life == self._life:
                self.revoke(gone, take_over)

        def take_over() -> None:
            if life == self._life:
                held = self.subscription.assigned
                new = [each for each in assigned if each not in held]
                self.assign(new, complete)

        def complete() -> None:
            if life == self._life:
                self._reconciling = False
                self._had = known
                self._said.pop("topic_partitions", None)
                self.event("reconciled", "it has taken over its share")
                self.heartbeat.at_ms = self.client.now_ms

        self.commit_before_revoking(give_back)

    # heartbeats: in the background

    def send_heartbeat(self) -> None:
        news = self._news()
        self._said |= news
        self.heartbeat.at_ms = self.client.now_ms + self._interval_ms
        # After a lost heartbeat it isn't known what the coordinator has seen, so the
        # next one contains everything.
        answered = self._heartbeat_answered
        on_response = self.heartbeat.sent(answered, failed=self._said.clear)
        body = self.who("instance_id")
        body["member_epoch"] = self.generation
        body |= news
        self.coordinator.request("ConsumerGroupHeartbeat", body, on_response)
        if self.state != ACKNOWLEDGING:
            return
        why = "it has said what it has"
        if self._assignment == self._had:
            self.event("said_so", why)
        else:
            why += ", and is to have something else"
            self.event("said_so_but_share_is_new", why)

    def _news(self) -> dict[str, Any]:
        """The fields whose values the coordinator doesn't know yet."""
        everything = {
            "rebalance_timeout_ms": self.client.config["max_poll_interval_ms"],
            "subscribed_topic_names": sorted(self.subscription.topics),
            "server_assignor": self.client.config["group_remote_assignor"],
            "topic_partitions": by_topic(self._had),
        }
        news = {}
        for name, value in everything.items():
            if self._said.get(name) != value:
                news[name] = value
        return news

    def _heartbeat_answered(self, response: Message) -> None:
        error = Error(response.error_code)
        if error is Error.NONE:
            self._heartbeat_accepted(response)
        elif error in (Error.FENCED_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID):
            self._put_out(error)
        elif self.heartbeat.refused(error):
            self._said.clear()
        else:
            self.fatal = refusal(error, response.error_message)
            message = response.error_message or error.message
            self._drop_out("refused", f"{error.name}: {message}")

    def _heartbeat_accepted(self, response: Message) -> None:
        self.heartbeat.at_ms += response.heartbeat_interval_ms - self._interval_ms
        if self.state == ACKNOWLEDGING:
            self.heartbeat.at_ms = self.client.now_ms
        self._interval_ms = response.heartbeat_interval_ms
        self.generation = response.member_epoch
        self.joined_as = self.identity
        if response.assignment is None:
            return
        self._assignment = frozenset(flat(response.assignment.topic_partitions))
        if self._assignment != self._had or self._reconciling:
            why = f"its share at epoch {self.generation} is another"
            self.event("share_is_new", why)
        else:
            why = f"it has its share of epoch {self.generation}"
            self.event("share_is_had", why)

    # errors, and leaving

    def _put_out(self, error: Error) -> None:
        def rejoin() -> None:
            if self.state == FENCED:
                self._join("all_dropped", f"again, after {error.name}")

        self._drop_out("put_out", f"{error.name}: {error.message}", rejoin)

    def _drop_out(
        self, event: str, why: str, dropped: Callable[[], None] = lambda: None
    ) -> None:
        """Drop out of the group: another member may read its partitions already."""
        self._start_over()
        self.generation = OUT
        self.event(event, why)
        self.lose(self._held(), dropped)

    def _say_goodbye(self) -> None:
        """Tell the coordinator that the member leaves; a static one says that it will
        be back.
        """
        epoch = LEAVE_EPOCH if self.instance_id is None else LEAVE_STATIC_EPOCH
        body = self.who("instance_id")
        body["member_epoch"] = epoch
        self.say_goodbye("ConsumerGroupHeartbeat", body)

    def _start_over(self) -> None:
        """Give up everything that is in progress, including callbacks that have not
        begun.
        """
        self._life += 1
        self._assignment = self._had = frozenset()
        self._reconciling = False
        self.heartbeat.give_up()
        self._said.clear()
        self.drop_tasks("assigned", "revoked", "lost")

    def _held(self) -> list[TopicPartition]:
        """Its partitions, without those that it is giving back at the moment."""
        going: set[TopicPartition] = set()
        for task in self.tasks:
            if task.kind != "assigned":
                going.update(task.partitions)
        return [each for each in self.subscription.assigned if each not in going]
