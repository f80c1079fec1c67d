"""A consumer's place in its group: what the two protocols have in common, and what a consumer asks of either.

A group shares the partitions of its topics among its members so that each has one owner. The group's coordinator, a
broker, knows who is a member; a member must say again and again that it is alive, and must give a partition up before
another may have it. How the members agree on who gets what is a matter of the protocol:

    classic_membership.py    JoinGroup, SyncGroup, Heartbeat: the group stops at a barrier, one member (the leader)
                             decides, all get their share at once (group_protocol="classic")
    consumer_membership.py   ConsumerGroupHeartbeat (KIP-848): the coordinator decides, each member is brought to its
                             share step by step and nobody waits for all (group_protocol="consumer")

Two clocks run against a member. The *session*: the coordinator puts it out when it has heard no heartbeat for
session_timeout_ms. Heartbeats come from the background (Java has a thread for them), so this one notices a dead or
frozen process. The *poll interval*: a process may be alive and its program stuck, so a member that has not polled for
max_poll_interval_ms leaves by itself, and joins again when the program polls at last.

What must happen in the program's own call, because it may block or fail there (the callbacks of a rebalance listener,
and a leader's assignor), is put into `tasks`. The shell takes them up inside poll() and close():

    while (task := membership.begin_task()) is not None:
        ...call listener.on_partitions_revoked(task.partitions), or task.run() for an assignor...
        membership.end_task(task, error)    # None, or what was raised; then the membership goes on

The interface, for a subclass (one per protocol). The consumer calls, and sets nothing by itself:

    work()                    after every event, and when next_work() is due: send what can be sent. Heartbeats and the
                              poll interval always; joining and changes of partitions only while consumer.in_poll (the
                              program is in poll(), so it has done its work on all it was given), and not while `tasks`
                              holds something
    next_work()               times in ms (or None) at which work() may have something to do without being told
    polled()                  a poll begins or ends (here)
    subscription_changed()    consumer.topics was changed by subscribe()
    metadata_changed()        consumer.metadata was read again
    leave(why)                unsubscribe() or close(): give all partitions back (a task), then say goodbye; `leaving`
                              is true until that is done. Without a coordinator it ends at once
    may_commit()              raises CommitFailedError or RebalanceInProgressError if a commit can't be sent now
    commit_refused(error, identity)    an OffsetCommit sent as `identity` was refused for membership's sake: returns
                              the error to raise, and rejoins if need be
    identity                  (member_id, generation or member epoch), as commits carry it (here)

and a subclass uses, from here: revoke(), lose(), assign() for changes of partitions, move() for its state, overdue()
for the poll interval, fail() for errors that the next poll raises. commits.begin_auto("revoke", done) commits before
partitions go; mark them with consumer.assigned[partition].stop() first. consumer.now_ms is the time, consumer.random()
brings chance. The coordinator is sent to with coordinator.request() when coordinator.ready(); see coordinator.py. Trace
events of callbacks and states are emitted here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minikafka.clients.coordinator import Coordinator
from minikafka.clients.structs import TopicPartition
from minikafka.wire.errors import Error

if TYPE_CHECKING:
    from minikafka.clients.consumer import Consumer


@dataclass(eq=False)
class Task:
    """Something for the program's own call. kind: "revoked", "assigned", "lost" (the listener's), or "assign".

    run: what an "assign" does. done: what the membership does next; failed: what it does next after an error, where
    that is something else. ready: whether it can be done yet.
    """

    kind: str
    partitions: list[TopicPartition]
    done: Callable[[], None]
    run: Callable[[], None] | None = None
    failed: Callable[[], None] | None = None
    ready: Callable[[], bool] | None = None
    begun: bool = False


class Membership:
    """What both protocols share. generation: the classic generation, or the member epoch of KIP-848; -1: none."""

    def __init__(self, consumer: Consumer, coordinator: Coordinator) -> None:
        self.consumer = consumer
        self.coordinator = coordinator
        assert consumer.commits is not None, "a consumer with a group has both"
        self.commits = consumer.commits
        self.member_id = ""
        self.generation = -1
        self.instance_id: str | None = consumer.config["group_instance_id"]
        self.state = "unjoined"
        self.leaving = False
        self.tasks: deque[Task] = deque()
        self._poll_deadline: int | None = None  # None: never polled
        self._given_as = self.identity  # who it was when it was given what it has; one that is put out has no id left

    # for the consumer; a subclass provides these

    def work(self) -> None:
        raise NotImplementedError

    def next_work(self) -> list[int | None]:
        raise NotImplementedError

    def subscription_changed(self) -> None:
        raise NotImplementedError

    def metadata_changed(self) -> None:
        raise NotImplementedError

    def leave(self, why: str) -> None:
        raise NotImplementedError

    def may_commit(self) -> None:
        raise NotImplementedError

    def commit_refused(self, error: Error, identity: tuple[str, int]) -> Exception:
        raise NotImplementedError

    # the same in both

    @property
    def settled(self) -> bool:
        """Whether no rebalance keeps it from committing by itself now and then."""
        return True

    @property
    def identity(self) -> tuple[str, int]:
        return self.member_id, self.generation

    def polled(self) -> None:
        self._poll_deadline = self.consumer.now_ms + int(self.consumer.config["max_poll_interval_ms"])

    def overdue(self) -> bool:
        """Whether the program has not polled for too long."""
        deadline = self.overdue_at()
        return deadline is not None and deadline <= self.consumer.now_ms

    def overdue_at(self) -> int | None:
        """When it will be; None while a poll goes on."""
        return None if self.consumer.in_poll else self._poll_deadline

    def move(self, state: str, why: str) -> None:
        """Into another state."""
        was, self.state = self.state, state
        if was != state:
            self.emit("MemberStateChanged", member=self.member_id, was=was, state=state, why=why)

    def emit(self, kind: str, /, **detail: Any) -> None:
        if self.consumer.trace:
            self.consumer.trace.emit(kind, group=self.coordinator.group_id, **detail)

    def fail(self, error: Exception) -> None:
        """The next poll raises this."""
        self.consumer.error = error

    # changes of partitions: each is a task, `done` is called when the listener has returned

    def revoke(self, partitions: Iterable[TopicPartition], done: Callable[[], None]) -> None:
        """Give partitions back in order. From now on nothing of them is handed to the program."""
        self._change("revoked", partitions, done)

    def lose(self, partitions: Iterable[TopicPartition], done: Callable[[], None]) -> None:
        """Partitions are gone already: another member may have them."""
        self._change("lost", partitions, done)

    def assign(self, partitions: Iterable[TopicPartition], done: Callable[[], None]) -> None:
        """New partitions come to those that the consumer holds; told also when there are none, as in Java."""
        self.tasks.append(Task("assigned", list(partitions), done))

    def _change(self, kind: str, partitions: Iterable[TopicPartition], done: Callable[[], None]) -> None:
        given = [each for each in partitions if each in self.consumer.assigned]
        if not given:
            done()
            return
        for partition in given:
            self.consumer.assigned[partition].stop()
        self.tasks.append(Task(kind, given, done))

    def has_task(self) -> bool:
        """Whether the program must do something now: none is being done, and the next one is ready."""
        if not self.tasks or self.tasks[0].begun:
            return False
        ready = self.tasks[0].ready
        return ready is None or ready()

    def begin_task(self) -> Task | None:
        """The next task, which the caller now does; None if there is nothing to do now."""
        if not self.has_task():
            return None
        task = self.tasks[0]
        task.begun = True
        if task.kind == "assigned":
            self._given_as = self.identity
            self.consumer.grant(task.partitions)
        if task.kind != "assign":
            self._tell(task)
        return task

    def end_task(self, task: Task, error: BaseException | None = None) -> None:
        """The program has done it."""
        if not self.tasks or self.tasks[0] is not task:
            return  # everything was given up in the meantime
        self.tasks.popleft()
        if task.kind in ("revoked", "lost"):
            self.consumer.drop(task.partitions)
        (task.done if error is None or task.failed is None else task.failed)()

    def _tell(self, task: Task) -> None:
        gone = () if task.kind == "assigned" else task.partitions
        owned = [list(each) for each in sorted(self.consumer.assigned) if each not in gone]
        kind = {"assigned": "PartitionsAssigned", "revoked": "PartitionsRevoked", "lost": "PartitionsLost"}[task.kind]
        member_id, generation = self._given_as if task.kind == "lost" else self.identity
        self.emit(
            kind,
            member=member_id,
            generation=generation,
            partitions=[list(each) for each in sorted(task.partitions)],
            owned=owned,
        )
