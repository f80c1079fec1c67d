"""A member of a group of the consumer protocol (KIP-848): it says what it has, is told what it is to have, and adapts.

There is one request, ConsumerGroupHeartbeat. It joins (member epoch 0), stays, reports and leaves (-1, or -2 for a
static member that will be back). The answer brings the member's epoch and, when it changed, its share: the partitions
that it may use. The coordinator decides the shares; all that a member does is to adapt to its own:

1.  Reconcile: commit what was read (auto-commit), give back what is not in the share any more (the listener is told),
    take over what is new (the listener is told). All of it within poll(), as everything a program can notice.
2.  Acknowledge: say with a heartbeat at once what it has now. Not before that does the coordinator hand what was given
    back to another member.

Partitions that stay are read all the time: there is no barrier and nobody waits for all. A new share may come while an
old one is being taken over; it is next.

The member's states and what moves it between them are a table, MOVES; they are those of the Java client (MemberState),
but for *unjoined*, which is Java's UNSUBSCRIBED, and *leaving*, which is its PREPARE_LEAVING as well. The member epoch
is a pass: with a wrong one, or after a session that ended, the member is *fenced*. It drops what it has
(on_partitions_lost: another may read it already) and joins anew. A program that does not poll for max_poll_interval_ms
makes its member *stale*: it leaves at once and joins again with the next poll. After a refusal that asking again does
not mend (no place in the group, an assignor that the coordinator doesn't have, an instance id that another process
uses) it is out for good, *fatal*, and every poll raises.

A heartbeat says only what changed since the last one that was answered; when it joins, and after an error, everything.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from minikafka.clients.coordinator import MOVED, Coordinator
from minikafka.clients.errors import CommitFailedError, refusal
from minikafka.clients.membership import Membership
from minikafka.clients.structs import TopicPartition
from minikafka.wire.errors import Error
from minikafka.wire.schema import Message

if TYPE_CHECKING:
    from minikafka.clients.consumer import Consumer

UNJOINED, JOINING, RECONCILING, ACKNOWLEDGING = "unjoined", "joining", "reconciling", "acknowledging"
STABLE, FENCED, STALE, LEAVING, FATAL = "stable", "fenced", "stale", "leaving", "fatal"

IN_GROUP = (JOINING, RECONCILING, ACKNOWLEDGING, STABLE)  # the states with heartbeats

# state, event -> the next state
MOVES = {
    (UNJOINED, "polled"): JOINING,
    (STALE, "polled"): JOINING,
    (FENCED, "all_dropped"): JOINING,
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
    (LEAVING, "left"): UNJOINED,
    (FATAL, "left"): FATAL,
    **{(state, "put_out"): FENCED for state in IN_GROUP},
    **{(state, "overdue"): STALE for state in IN_GROUP},
    **{(state, "refused"): FATAL for state in IN_GROUP},
    **{(state, "leaves"): LEAVING for state in (UNJOINED, FENCED, STALE, LEAVING, *IN_GROUP)},
    (FATAL, "leaves"): FATAL,
}

JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH = 0, -1, -2
OUT = -1  # the generation of who is no member

Share = frozenset[tuple[bytes, int]]  # (topic id, partition)


class ConsumerMembership(Membership):
    """A member of a group with group_protocol="consumer". generation: the member epoch; 0 while it joins."""

    def __init__(self, consumer: Consumer, coordinator: Coordinator) -> None:
        super().__init__(consumer, coordinator)
        assert consumer.random is not None, "the member makes its own id (KIP-1082)"
        drawn = bytes(int(consumer.random() * 256) for _ in range(16))
        self.member_id = f"{consumer.client_id}-{uuid.UUID(bytes=drawn, version=4)}"
        self._share: Share = frozenset()  # what it is to have, as the coordinator said last
        self._had: Share = frozenset()  # what it has taken over
        self._reconciling = False  # step 1 is being done
        self._life = 0  # counts its joins; what an earlier one began is of no interest
        self._said: dict[str, Any] = {}  # what the coordinator knows of it
        self._heartbeat_at = 0
        self._heartbeat_open = False
        self._interval_ms = 0  # the coordinator says it
        self._fatal: Exception | None = None

    # what the consumer calls

    def work(self) -> None:
        if self.state in IN_GROUP and self.overdue():
            self._go_stale()
        if self.consumer.in_poll and not self.leaving:
            self._poll_work()
        if self.state in IN_GROUP:
            self._stay_alive()

    def next_work(self) -> list[int | None]:
        if self.state not in IN_GROUP:
            return []
        found = [self.overdue_at()]
        if not self._heartbeat_open:
            due = self._heartbeat_at > self.consumer.now_ms
            found.append(self._heartbeat_at if due else self.coordinator.next_chance())
        return found

    def subscription_changed(self) -> None:
        """The next heartbeat says it."""

    def metadata_changed(self) -> None:
        """Which topics it watches is the coordinator's business; names of a share's topics are looked up in poll()."""

    def leave(self, why: str) -> None:
        self.leaving = True
        in_group = self.state in IN_GROUP
        self._begin_anew()
        self._event("leaves", why)
        give_back = self.revoke if in_group and self.generation > JOIN_EPOCH else self.lose
        give_back(self._held(), lambda: self._say_goodbye(why, in_group))

    def may_commit(self) -> None:
        if self.state not in (*IN_GROUP, LEAVING) or self.generation <= JOIN_EPOCH:
            raise CommitFailedError(self._gone())

    def commit_refused(self, error: Error, identity: tuple[str, int]) -> Exception:
        """The next heartbeat will find out what it means for the member."""
        return refusal(error) if error is Error.FENCED_INSTANCE_ID else CommitFailedError(self._gone())

    def _gone(self) -> str:
        return (
            f"{self.consumer.name} is not a member of group {self.coordinator.group_id} any more, or its epoch is old, "
            "and another may have its partitions: poll() brings it up to date, then commit what is still yours"
        )

    # in poll: join, and adapt to the share

    def _poll_work(self) -> None:
        if self.coordinator.error is not None:
            self.fail(self.coordinator.error)
            self.coordinator.error = None
        if self.tasks:
            return
        if self._fatal is not None:
            self.fail(self._fatal)
        elif self.state in (UNJOINED, STALE) and self.consumer.topics:
            self._join("polled", "the first poll" if self.state == UNJOINED else "it polls again")
        elif self.state == RECONCILING and not self._reconciling:
            self._reconcile()

    def _join(self, event: str, why: str) -> None:
        self._begin_anew()
        self.generation = JOIN_EPOCH
        self._event(event, why)
        self._heartbeat_at = self.consumer.now_ms

    def _reconcile(self) -> None:
        """Step 1, for the topics of the share whose names are known; the others wait for metadata."""
        names = self.consumer.metadata.topic_names
        known = frozenset(each for each in self._share if each[0] in names)
        if known != self._share:
            self.consumer.metadata.refresh()
            if known == self._had:
                return
        share = sorted(TopicPartition(names[topic_id], number) for topic_id, number in known)
        gone = [each for each in self.consumer.assigned if each not in share]
        for partition in gone:
            self.consumer.assigned[partition].stop()
        self._reconciling = True
        life = self._life

        def give_back() -> None:
            if life == self._life:
                self.revoke(gone, take_over)

        def take_over() -> None:
            if life == self._life:
                self.assign([each for each in share if each not in self.consumer.assigned], complete)

        def complete() -> None:
            if life == self._life:
                self._reconciling = False
                self._had = known
                self._said.pop("topic_partitions", None)
                self._event("reconciled", "it has taken over its share")
                self._heartbeat_at = self.consumer.now_ms

        self.commits.begin_auto("revoke", give_back)

    # heartbeats: in the background

    def _stay_alive(self) -> None:
        if self._heartbeat_at > self.consumer.now_ms or self._heartbeat_open or not self.coordinator.ready():
            return
        life, news = self._life, self._news()
        self._said |= news
        self._heartbeat_open = True
        self._heartbeat_at = self.consumer.now_ms + self._interval_ms
        self.coordinator.request(
            "ConsumerGroupHeartbeat",
            self._who() | news,
            lambda response: self._heartbeat_answered(response, life),
            failed=lambda: self._heartbeat_failed(life),
        )
        if self.state == ACKNOWLEDGING:
            if self._share == self._had:
                self._event("said_so", "it has said what it has")
            else:
                self._event("said_so_but_share_is_new", "it has said what it has, and is to have something else")

    def _who(self) -> dict[str, Any]:
        return {
            "group_id": self.coordinator.group_id,
            "member_id": self.member_id,
            "member_epoch": self.generation,
            "instance_id": self.instance_id,
        }

    def _news(self) -> dict[str, Any]:
        """What the coordinator does not know yet."""
        everything = {
            "rebalance_timeout_ms": self.consumer.config["max_poll_interval_ms"],
            "subscribed_topic_names": sorted(self.consumer.topics),
            "server_assignor": self.consumer.config["group_remote_assignor"],
            "topic_partitions": by_topic(self._had),
        }
        return {name: value for name, value in everything.items() if self._said.get(name) != value}

    def _heartbeat_answered(self, response: Message, life: int) -> None:
        if life != self._life:
            return
        self._heartbeat_open = False
        error = Error(response.error_code)
        if error is Error.NONE:
            self._heartbeat_at += response.heartbeat_interval_ms - self._interval_ms
            if self.state == ACKNOWLEDGING:
                self._heartbeat_at = self.consumer.now_ms
            self._interval_ms = response.heartbeat_interval_ms
            self.generation = response.member_epoch
            if response.assignment is not None:
                self._told_share(response.assignment.topic_partitions)
        elif error in (Error.FENCED_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID):
            self._put_out(error)
        elif error in MOVED or error is Error.COORDINATOR_LOAD_IN_PROGRESS:
            if error in MOVED:
                self.coordinator.lost()
            self._heartbeat_failed(life)
        else:
            self._refused(error, response.error_message)

    def _told_share(self, topics: Iterable[Message]) -> None:
        self._share = frozenset((topic.topic_id, number) for topic in topics for number in topic.partitions)
        if self._share != self._had or self._reconciling:
            self._event("share_is_new", f"its share at epoch {self.generation} is another")
        else:
            self._event("share_is_had", f"it has its share of epoch {self.generation}")

    def _heartbeat_failed(self, life: int) -> None:
        """What was heard of the last heartbeat is not known: the next one says everything."""
        if life != self._life:
            return
        self._heartbeat_open = False
        self._said.clear()
        self._heartbeat_at = self.consumer.now_ms + self.consumer.retry_backoff_ms

    # what goes wrong, and leaving

    def _put_out(self, error: Error) -> None:
        self._begin_anew()
        self.generation = OUT
        self._event("put_out", f"{error.name}: {error.message}")
        self.lose(self._held(), lambda: self._rejoin(error))

    def _rejoin(self, error: Error) -> None:
        if self.state == FENCED:
            self._join("all_dropped", f"again, after {error.name}")

    def _refused(self, error: Error, message: str | None) -> None:
        self._begin_anew()
        self.generation = OUT
        self._fatal = refusal(error, message)
        self._event("refused", f"{error.name}: {message or error.message}")
        self.lose(self._held(), lambda: None)

    def _go_stale(self) -> None:
        seconds = self.consumer.config["max_poll_interval_ms"] / 1000
        why = f"no poll for {seconds:g} s (max_poll_interval_ms)"
        self.emit("PollOverdue", member=self.member_id, why=why)
        self._send_goodbye()
        self._begin_anew()
        self.generation = OUT
        self._event("overdue", why)
        self.lose(self._held(), lambda: None)

    def _say_goodbye(self, why: str, in_group: bool) -> None:
        sent = in_group and self._send_goodbye()
        self.generation = OUT
        self._event("left", why)
        if not sent:
            self.leaving = False

    def _send_goodbye(self) -> bool:
        """Best effort, once. A static member's says that it will be back."""
        if not self.coordinator.ready():
            return False
        epoch = LEAVE_EPOCH if self.instance_id is None else LEAVE_STATIC_EPOCH
        body = self._who() | {"member_epoch": epoch}
        self.coordinator.request("ConsumerGroupHeartbeat", body, lambda _: self._left(), failed=self._left)
        return True

    def _left(self) -> None:
        self.leaving = False

    def _begin_anew(self) -> None:
        """Whatever goes on is given up, callbacks included that have not begun."""
        self._life += 1
        self._share = self._had = frozenset()
        self._reconciling = self._heartbeat_open = False
        self._said.clear()
        for task in [each for each in self.tasks if not each.begun]:
            self.tasks.remove(task)

    def _held(self) -> list[TopicPartition]:
        """What it has, without what is being given back at this moment."""
        going = [each for task in self.tasks if task.kind != "assigned" for each in task.partitions]
        return [each for each in self.consumer.assigned if each not in going]

    def _event(self, event: str, why: str) -> None:
        self.move(MOVES[self.state, event], why)


def by_topic(share: Share) -> list[dict[str, Any]]:
    """Partitions as a heartbeat lists them."""
    topics: dict[bytes, list[int]] = {}
    for topic_id, number in sorted(share):
        topics.setdefault(topic_id, []).append(number)
    return [{"topic_id": topic_id, "partitions": numbers} for topic_id, numbers in topics.items()]
