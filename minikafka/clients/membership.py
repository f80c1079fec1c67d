"""A consumer's place in its group: what the two protocols have in common, and the
methods that a consumer calls on either.

A group divides the partitions of its topics among its members so that each partition
has one owner. The group's coordinator, a broker, knows the members; a member must keep
showing that it is alive, and must give a partition up before another may have it. The
protocol says how the members agree on the assignment:

    classic_membership.py    JoinGroup, SyncGroup, Heartbeat: the group stops at a barrier, one member (the leader)
                             decides, all get their assignment at once (group_protocol="classic")
    consumer_membership.py   ConsumerGroupHeartbeat (KIP-848): the coordinator decides, each member is brought to its
                             assignment step by step and nobody waits for all (group_protocol="consumer")

How a member shows that it is alive, and which timers run against it, is in
heartbeating.py.

Things that must happen in the program's own call, because they may block or fail (the
callbacks of a rebalance listener, and a leader's assignor), are put into `tasks`. The
shell carries them out inside poll() and close():

    while (task := membership.begin_task()) is not None:
        ...call listener.on_partitions_revoked(task.partitions), or task.run() for an assignor...
        membership.end_task(task, error)    # None, or what was raised; then the membership goes on
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from minikafka.clients.coordinator import Coordinator
from minikafka.clients.errors import CommitFailedError, refusal
from minikafka.clients.heartbeating import HeartbeatingMember
from minikafka.clients.structs import TopicPartition
from minikafka.clients.subscription_state import SubscriptionState
from minikafka.wire.errors import Error

# Commits what was read (auto-commit), and then calls what it is given.
BeforeRevoking = Callable[[Callable[[], None]], None]

EVENTS = {
    "assigned": "PartitionsAssigned",
    "revoked": "PartitionsRevoked",
    "lost": "PartitionsLost",
}


@dataclass(eq=False)
class Task:
    """Something to be done in the program's own call. kind: "revoked", "assigned",
    "lost" (callbacks of the listener), or "assign".

    run: the function of an "assign". done: what the membership does next; failed: what
    it does next after an error, if that is something else. ready: whether it can be
    done yet.
    """

    kind: str
    partitions: list[TopicPartition]
    done: Callable[[], None]
    run: Callable[[], None] | None = None
    failed: Callable[[], None] | None = None
    ready: Callable[[], bool] = lambda: True
    begun: bool = False


class Membership(HeartbeatingMember):
    """The common part of both protocols. The consumer only calls methods, and sets no
    attributes.

    generation: the classic generation, or the member epoch of KIP-848; -1: none.
    gone_because: the end of the error message for a commit by a client that is no
    longer a member.
    """

    gone_because: ClassVar[str]
    subscription: SubscriptionState

    def __init__(
        self,
        subscription: SubscriptionState,
        coordinator: Coordinator,
        commit_before_revoking: BeforeRevoking,
    ) -> None:
        super().__init__(coordinator)
        self.subscription = subscription
        self.commit_before_revoking = commit_before_revoking
        self.generation = -1
        self.instance_id: str | None = self.client.config["group_instance_id"]
        self.tasks: deque[Task] = deque()
        # its identity when it was given its partitions, and when it was last in the
        # group
        self._given_as = self.joined_as = self.identity

    # for the consumer; subclasses implement these

    def work(self) -> None:
        """Send everything that can be sent now. The consumer calls it after every
        event, and at the times given to wake().

        Heartbeats go on all the time. Joining, and changes of partitions, only while
        subscription.in_poll (the program is in poll(), so it has processed everything
        it was given), and not while there are tasks.
        """
        raise NotImplementedError

    def subscription_changed(self) -> None:
        """The program has subscribed to other topics."""

    def metadata_changed(self) -> None:
        """The consumer has read its metadata again."""

    def leave(self, why: str) -> None:
        """The program unsubscribes or closes: give all partitions back (a task), then
        leave the group.

        `leaving` is true until that is done. Without a coordinator it is done at once.
        """
        raise NotImplementedError

    def why_no_commit(self) -> Exception | None:
        """The reason why a commit can't be sent now: CommitFailedError or
        RebalanceInProgressError; None if it can.
        """
        raise NotImplementedError

    def commit_refused(self, error: Error, identity: tuple[str, int]) -> Exception:
        """The error to raise after the coordinator has refused a commit that was sent
        under `identity`.
        """
        return refusal(error) if error is Error.FENCED_INSTANCE_ID else self.gone()

    # the same in both

    @property
    def in_rebalance(self) -> bool:
        """Whether it is taking part in a rebalance; then it doesn't commit by
        itself.
        """
        return False

    @property
    def takes_part(self) -> bool:
        """Whether the consumer subscribes. One that assigns its partitions by itself is
        no member.
        """
        return bool(self.subscription.topics)

    @property
    def identity(self) -> tuple[str, int]:
        """Member id and generation, as a commit gives them for its sender."""
        return self.member_id, self.generation

    def who(self, instance: str) -> dict[str, Any]:
        """The fields that identify the member in a request. instance: the API's name
        for the instance id.
        """
        return {
            "group_id": self.coordinator.group_id,
            "member_id": self.member_id,
            instance: self.instance_id,
        }

    def raises(self) -> bool:
        """Let the poll raise an error. Returns true if the member is out for good."""
        self.take_coordinator_error()
        if self.fatal is None or self.tasks:
            return False
        self.subscription.error = self.fatal
        return True

    def gone(self) -> CommitFailedError:
        """The error for a commit whose sender is no longer a member."""
        name, group = self.client.name, self.coordinator.group_id
        return CommitFailedError(
            f"{name} is not a member of group {group} any more, {self.gone_because}"
        )

    # changes of partitions: each is a task, and `done` is called when the listener has
    # returned

    def revoke(
        self,
        partitions: Iterable[TopicPartition],
        done: Callable[[], None],
        kind: str = "revoked",
    ) -> None:
        """Give partitions back in an orderly way. From now on the program gets no more
        of their records.
        """
        given = [each for each in partitions if each in self.subscription.assigned]
        if not given:
            done()
            return
        self.subscription.stop(given)
        self.tasks.append(Task(kind, given, done))

    def lose(
        self, partitions: Iterable[TopicPartition], done: Callable[[], None]
    ) -> None:
        """Drop partitions that another member may have already."""
        self.revoke(partitions, done, "lost")

    def assign(
        self, partitions: Iterable[TopicPartition], done: Callable[[], None]
    ) -> None:
        """Take over new partitions. The listener is also called if there are none, as
        in Java.
        """
        self.tasks.append(Task("assigned", list(partitions), done))

    def has_task(self) -> bool:
        """Whether the program must do something now: no task is in progress, and the
        next one is ready.
        """
        if not self.tasks:
            return False
        first = self.tasks[0]
        return not first.begun and first.ready()

    def begin_task(self) -> Task | None:
        """The next task, which the caller must do now; None if there is none."""
        if not self.has_task():
            return None
        task = self.tasks[0]
        task.begun = True
        if task.kind == "assigned":
            self._given_as = self.joined_as = self.identity
            self.subscription.grant(task.partitions)
        if task.kind != "assign":
            self._partitions_changed(task)
        return task

    def end_task(self, task: Task, error: BaseException | None = None) -> None:
        """The program has finished the task, or it failed with this error."""
        if not self.tasks or self.tasks[0] is not task:
            return  # everything was given up in the meantime
        self.tasks.popleft()
        if task.kind in ("revoked", "lost"):
            self.subscription.drop(task.partitions)
        if error is not None and task.failed is not None:
            task.failed()
        else:
            task.done()

    def drop_tasks(self, *kinds: str) -> None:
        """Forget the tasks of these kinds that have not begun."""
        self.tasks = deque(
            task for task in self.tasks if task.begun or task.kind not in kinds
        )

    def _partitions_changed(self, task: Task) -> None:
        owned = sorted(self.subscription.assigned)
        if task.kind != "assigned":
            owned = [each for each in owned if each not in task.partitions]
        member_id, generation = self._given_as if task.kind == "lost" else self.identity
        self.emit(
            EVENTS[task.kind],
            member=member_id,
            generation=generation,
            partitions=[list(each) for each in sorted(task.partitions)],
            owned=[list(each) for each in owned],
        )
