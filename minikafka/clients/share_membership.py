"""A member of a share group (KIP-932): it reports that it is there, and is told from
which partitions it may fetch.

It uses a single request, ShareGroupHeartbeat, to join (member epoch 0), stay and leave
(-1). Several members share a partition, so none has to give it up before another may
have it: a new assignment takes effect at once, and there is nothing to reconcile and
nothing to acknowledge. A member owns records, not partitions, and these have their own
locks (share_deliveries.py).

The rest is as in consumer_membership.py: with a wrong epoch, or after its session has
ended, the member is *fenced* and joins again. If its program does not poll for
max_poll_interval_ms it becomes *stale*: it leaves, and joins again with the next poll.
After a refusal that a retry can't fix it is out for good, *fatal*.
"""

from collections.abc import Callable

from minikafka.clients.coordinator import Coordinator
from minikafka.clients.errors import refusal
from minikafka.clients.heartbeating import (
    FENCED,
    JOINING,
    STABLE,
    STALE,
    UNJOINED,
    HeartbeatingMember,
    moves_in_and_out,
    own_member_id,
)
from minikafka.clients.share_subscription import ShareSubscription
from minikafka.clients.structs import TopicPartition
from minikafka.coordinators.consumer_member import flat
from minikafka.coordinators.group_rules import JOIN_EPOCH, LEAVE_EPOCH
from minikafka.wire.errors import Error
from minikafka.wire.schema import Message

IN_GROUP = (JOINING, STABLE)  # the states with heartbeats

# state, event -> the next state
MOVES = {
    **moves_in_and_out(IN_GROUP),
    (JOINING, "share_is_had"): STABLE,
}


class ShareMembership(HeartbeatingMember):
    """epoch: the member epoch; 0 while it joins."""

    moves = MOVES
    heartbeat_states = IN_GROUP
    subscription: ShareSubscription

    def __init__(
        self,
        subscription: ShareSubscription,
        coordinator: Coordinator,
        random: Callable[[], float],
    ) -> None:
        super().__init__(coordinator)
        self.subscription = subscription
        # a broker accepts at most 36 characters
        self.member_id = own_member_id(random)
        self.epoch = JOIN_EPOCH
        self._assignment: frozenset[tuple[bytes, int]] = frozenset()
        self._said: list[str] | None = None  # the topics that the coordinator knows
        self._interval_ms = 0  # given by the coordinator

    # called by the consumer

    def work(self) -> None:
        self.check_poll_interval()
        if self.subscription.in_poll and not self.leaving:
            self._poll_work()
        self.stay_alive()

    def metadata_changed(self) -> None:
        """The names of topics may be known now."""
        self._use_assignment()

    def leave(self, why: str) -> None:
        """Leave the group; `leaving` is true until that is done."""
        was_in_group = self.state in IN_GROUP
        self.leaving = True
        self._start_over()
        self.event("leaves", why)
        if was_in_group:
            self._say_goodbye()
        else:
            self.left()
        self.event("left", why)

    # in poll

    def _poll_work(self) -> None:
        self.take_coordinator_error()
        if self.fatal is not None:
            self.subscription.error = self.fatal
        elif self.state == FENCED:
            self._join("all_dropped", "again, after it was put out")
        elif self.state in (UNJOINED, STALE) and self.subscription.topics:
            is_first = self.state == UNJOINED
            self._join("polled", "the first poll" if is_first else "it polls again")

    def _join(self, event: str, why: str) -> None:
        self._start_over()
        self.event(event, why)
        self.heartbeat.at_ms = self.client.now_ms

    def poll_overdue(self, why: str) -> None:
        self._say_goodbye()
        self._drop_out("overdue", why)

    # heartbeats: in the background

    def send_heartbeat(self) -> None:
        topics = sorted(self.subscription.topics)
        news = None if topics == self._said else topics
        self._said = topics
        self.heartbeat.at_ms = self.client.now_ms + self._interval_ms
        body = {
            "group_id": self.coordinator.group_id,
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "subscribed_topic_names": news,
        }
        on_response = self.heartbeat.sent(self._answered, failed=self._say_all_again)
        self.coordinator.request("ShareGroupHeartbeat", body, on_response)

    def _say_all_again(self) -> None:
        """After a lost heartbeat it isn't known what the coordinator has seen."""
        self._said = None

    def _answered(self, response: Message) -> None:
        error = Error(response.error_code)
        message = response.error_message or error.message
        if error is Error.NONE:
            self._accepted(response)
        elif error in (Error.FENCED_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID):
            self._drop_out("put_out", f"{error.name}: {message}")
        elif self.heartbeat.refused(error):
            self._say_all_again()
        else:
            self.fatal = refusal(error, response.error_message)
            self._drop_out("refused", f"{error.name}: {message}")

    def _accepted(self, response: Message) -> None:
        self.heartbeat.at_ms += response.heartbeat_interval_ms - self._interval_ms
        self._interval_ms = response.heartbeat_interval_ms
        self.epoch = response.member_epoch
        if self.state == JOINING:
            self.event("share_is_had", f"it is a member, at epoch {self.epoch}")
        if response.assignment is not None:
            self._assignment = frozenset(flat(response.assignment.topic_partitions))
            self._use_assignment()

    def _use_assignment(self) -> None:
        """Fetch from the partitions whose topics' names are known. The others wait for
        metadata.
        """
        names = self.client.metadata.topic_names
        assigned = []
        for topic_id, number in self._assignment:
            if topic_id in names:
                assigned.append(TopicPartition(names[topic_id], number))
            else:
                self.client.metadata.refresh()
        assigned.sort()
        if assigned != self.subscription.assigned:
            self.subscription.assigned = assigned
            self.emit(
                "SharePartitionsAssigned",
                member=self.member_id,
                epoch=self.epoch,
                partitions=[list(each) for each in assigned],
            )

    # errors, and leaving

    def _drop_out(self, event: str, why: str) -> None:
        self._start_over()
        self.event(event, why)

    def _start_over(self) -> None:
        self.epoch = JOIN_EPOCH
        self._said = None
        self._assignment = frozenset()
        self.heartbeat.give_up()
        self._use_assignment()

    def _say_goodbye(self) -> None:
        """Leave the group, with a single request whose answer is ignored."""
        body = {
            "group_id": self.coordinator.group_id,
            "member_id": self.member_id,
            "member_epoch": LEAVE_EPOCH,
        }
        self.say_goodbye("ShareGroupHeartbeat", body)
