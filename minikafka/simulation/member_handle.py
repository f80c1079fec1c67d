"""The calls of a consumer that concern its group: subscribing, the listener, commits,
leaving.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from minikafka.clients.consumer import Consumer
from minikafka.clients.errors import IllegalStateError, KafkaTimeoutError
from minikafka.clients.future import Future
from minikafka.clients.membership import Task
from minikafka.clients.structs import ConsumerRecord, OffsetAndMetadata, TopicPartition
from minikafka.clients.transactions import GroupMetadata
from minikafka.simulation.arguments import (
    ANY_MS,
    COMMITS,
    FLAG,
    FUNCTION,
    LISTENER,
    MS,
    PARTITION,
    PARTITIONS,
    TOPICS,
    checked,
)
from minikafka.simulation.calls import recorded
from minikafka.simulation.handles import Handle
from minikafka.simulation.programs import never

PATIENCE_MS = 60_000  # for commit() and committed(): Java's default.api.timeout.ms
GOODBYE_MS = 30_000  # for close()
GIVEN_MS = ANY_MS.or_none("the usual time")

CALLBACKS = {
    "revoked": "on_partitions_revoked",
    "assigned": "on_partitions_assigned",
    "lost": "on_partitions_lost",
}


class MemberHandle(Handle):
    """The part of a consumer that concerns its group. Callbacks of its listener run
    within its own calls, as in kafka-python.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.processing_ms = int(self.core.config["processing_ms"])
        self._forget()

    def _forget(self) -> None:
        """Reset everything that is in the program's memory and lost in a crash."""
        self._listener: Any = None
        self._in_task = False
        self.empty_polls = 0  # at top level
        # partition, first and last offset, number of records
        self._given: list[tuple[TopicPartition, int, int, int]] = []
        self._batch_left = 0
        # callbacks of commit_async() that are due
        self._completed: deque[Callable[[], None]] = deque()

    @property
    def core(self) -> Consumer:
        assert isinstance(self._process.core, Consumer)
        return self._process.core

    def _restart(self) -> None:
        self._forget()
        super()._restart()

    # subscribing

    @checked(topics=TOPICS, listener=LISTENER)
    @recorded
    def subscribe(
        self,
        topics: Iterable[str] | str = (),
        pattern: str | None = None,
        listener: Any = None,
    ) -> None:
        """Read these topics: with a group_id this consumer's share of their partitions,
        otherwise all of them.

        listener: has on_partitions_revoked(partitions),
        on_partitions_assigned(partitions) and optionally
        on_partitions_lost(partitions); they are called within this consumer's poll()
        and close().
        """
        self._begin()
        if pattern is not None:
            raise ValueError("subscribe(pattern=...) is not here: name the topics")
        if self.core.subscription.assigned and not self.core.subscription.topics:
            raise IllegalStateError(
                f"{self.name} has assigned its partitions: unsubscribe() first"
            )
        names = [topics] if isinstance(topics, str) else list(topics)
        if not names:
            self.unsubscribe()
            return
        self._listener = listener
        self.core.subscribe(names)
        self._turn()

    @checked(partitions=PARTITIONS)
    @recorded
    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions and no others, independently of any group."""
        self._begin()
        if self.core.subscription.topics and self.core.membership is not None:
            raise IllegalStateError(
                f"{self.name} has subscribed to topics: unsubscribe() first"
            )
        self.core.assign([self._partition(each) for each in partitions])

    @recorded
    def unsubscribe(self) -> None:
        """Stop reading; a member leaves its group."""
        self._begin()
        core = self.core
        core.leave("it unsubscribed", self._now)
        self._do_tasks(core, in_poll=False)
        core.assign([])

    def assignment(self) -> set[TopicPartition]:
        return set(self.core.subscription.assigned)

    def subscription(self) -> set[str] | None:
        return set(self.core.subscription.topics) or None

    def sleeps_in(self, group_id: str) -> bool:
        """Whether it is a member of this group that isn't polling now, so that a
        rebalance has to wait for it.
        """
        core = self.core
        joined = core.membership is not None and bool(core.membership.member_id)
        return (
            joined
            and core.config["group_id"] == group_id
            and not core.closed
            and not core.subscription.in_poll
        )

    # commits

    @checked(offsets=COMMITS, timeout_ms=GIVEN_MS)
    @recorded
    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        timeout_ms: float | None = None,
    ) -> None:
        """Commit offsets, by default the positions of all partitions, and wait until
        the coordinator has them.
        """
        self._begin("commit")
        self._of_group("commit()")
        self._work_off()
        self._run_completed()
        core, wanted = self.core, self._offsets(offsets)
        if wanted == {}:
            return
        future = core.commit(wanted, "sync", self._now)
        self._turn()
        self._await(
            core,
            future,
            timeout_ms,
            "the coordinator did not confirm the commit in time",
        )

    @checked(offsets=COMMITS, callback=FUNCTION.or_none())
    @recorded
    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        callback: Callable[[Any, Any], None] | None = None,
    ) -> Future:
        """The same as commit(), but without waiting, and tried only once.

        callback(offsets, True or the exception) is called within a later poll(),
        commit() or close().
        """
        self._begin("commit_async")
        self._of_group("commit_async()")
        self._work_off()
        wanted = self._offsets(offsets)
        committed = self.core.subscription.consumed() if wanted is None else wanted
        future = self.core.commit(wanted, "async", self._now)
        future.wait = self._environment.wait_for_future
        if callback is not None:
            given = callback
            future.add_callback(
                lambda value: self._completed.append(lambda: given(committed, value))
            )
            future.add_errback(
                lambda error: self._completed.append(lambda: given(committed, error))
            )
        self._turn()
        return future

    @checked(partition=PARTITION, metadata=FLAG, timeout_ms=GIVEN_MS)
    @recorded
    def committed(
        self,
        partition: TopicPartition,
        metadata: bool = False,
        timeout_ms: float | None = None,
    ) -> int | OffsetAndMetadata | None:
        """The offset that the group has committed; None if there is none.
        metadata=True: returns OffsetAndMetadata.
        """
        self._begin("committed")
        self._of_group("committed()")
        asked, core = self._partition(partition), self.core
        future = core.committed([asked], self._now)
        self._turn()
        found = self._await(
            core, future, timeout_ms, "the coordinator did not tell in time"
        )[asked]
        return found if metadata or found is None else found.offset

    def group_metadata(self) -> GroupMetadata:
        """This consumer's identity in its group, for a producer that commits its
        offsets in a transaction (KIP-447). A member that was evicted keeps its last
        generation, as in Java, so its commits are fenced.
        """
        self._of_group("group_metadata()")
        membership = self.core.membership
        member_id, generation = "", -1
        if membership is not None and membership.takes_part:
            member_id, generation = membership.joined_as
        instance_id = self.core.config["group_instance_id"]
        return GroupMetadata(
            self.core.config["group_id"], generation, member_id, instance_id
        )

    def _await(
        self, core: Consumer, future: Future, timeout_ms: float | None, why: str
    ) -> Any:
        if not self._wait(
            lambda: future.is_done, PATIENCE_MS if timeout_ms is None else timeout_ms
        ):
            core.questions.give_up(future)
            raise KafkaTimeoutError(f"{self.name}: {why}")
        return future.get()

    def _of_group(self, call: str) -> None:
        if self.core.membership is None:
            raise IllegalStateError(
                f"{call} needs a group: the offsets are kept by the group (group_id)"
            )

    def _offsets(self, given: Any) -> dict[TopicPartition, OffsetAndMetadata] | None:
        if given is None:
            return None
        return {
            self._partition(partition): OffsetAndMetadata(
                each.offset,
                getattr(each, "metadata", None) or "",
                getattr(each, "leader_epoch", -1),
            )
            for partition, each in given.items()
        }

    # leaving

    @checked(autocommit=FLAG, timeout_ms=GIVEN_MS)
    @recorded
    def close(self, autocommit: bool = True, timeout_ms: float | None = None) -> None:  # type: ignore[override]
        """Commit (autocommit), give the partitions back, leave the group, and close."""
        if self._process.core.closed:
            return
        self._begin("close")
        core = self.core
        if core.membership is not None:
            self._work_off()
            self._leave(
                core, autocommit, GOODBYE_MS if timeout_ms is None else timeout_ms
            )
        core.close(self._now)
        self._turn()
        self._process.deadline = None

    def _leave(self, core: Consumer, autocommit: bool, patience_ms: float) -> None:
        until = self._environment.now_ms + patience_ms
        if (
            autocommit
            and core.config["enable_auto_commit"]
            and core.subscription.consumed()
        ):
            future = core.commit(None, "close", self._now)
            self._turn()
            self._wait(lambda: future.is_done, patience_ms)
            core.questions.give_up(future)
        self._run_completed()
        core.leave("the consumer is being closed", self._now)
        try:
            self._do_tasks(core, in_poll=False)
        finally:
            member = core.membership
            self._wait(
                lambda: member is None or not member.leaving,
                max(0, until - self._environment.now_ms),
            )

    # the group's tasks, and processing time

    def _do_tasks(self, core: Consumer, in_poll: bool = True) -> None:
        """Run what the group asks of the program: callbacks, and the leader's assignor.
        Errors in these are raised here.
        """
        while (task := core.begin_task(self._now)) is not None:
            error: Exception | KeyboardInterrupt | None = None
            self._in_task = True
            try:
                self._do(task)
            except (
                Exception,
                KeyboardInterrupt,
            ) as raised:  # no others: the group isn't told about a dead program
                error = raised
            self._in_task = False
            core.end_task(task, error, self._now, in_poll)
            self._turn()
            for remark in core.subscription.remarks:
                print(f"{self.name}: {remark}")
            core.subscription.remarks.clear()
            if error is not None:
                raise error
        self._turn()

    def _do(self, task: Task) -> None:
        if task.run is not None:
            task.run()
        elif self._listener is not None:
            callback = getattr(self._listener, CALLBACKS[task.kind], None)
            if callback is None and task.kind == "lost":
                callback = self._listener.on_partitions_revoked
            if callback is not None:
                callback(list(task.partitions))

    def _run_completed(self) -> None:
        """Call the callbacks of commit_async() that are due."""
        while self._completed:
            self._completed.popleft()()

    def _give(self, records: dict[TopicPartition, list[ConsumerRecord]]) -> None:
        """The program has these records now, and will need time to process them."""
        if self.processing_ms:
            for partition, found in records.items():
                self._given.append(
                    (partition, found[0].offset, found[-1].offset, len(found))
                )

    def _work_off(self) -> None:
        """Let the time pass that the program needs for the records it was given: this
        call begins that much later.
        """
        while self._given:
            partition, first, last, count = self._given.pop(0)
            self._environment.kernel.wait(never, count * self.processing_ms)
            self._begin()
            trace = self.core.trace
            trace.now = self._environment.now_ms
            if trace:
                topic, number = partition
                trace.emit(
                    "RecordsProcessed",
                    topic=topic,
                    partition=number,
                    offsets=[first, last],
                )

    @checked(processing_ms=MS)
    def slow(self, processing_ms: int) -> None:
        """From now on the program needs this long for each record."""
        self.processing_ms = processing_ms
        trace = self.core.trace
        trace.now = self._environment.now_ms
        if trace:
            trace.emit("ProcessingSlowed", processing_ms=processing_ms)
