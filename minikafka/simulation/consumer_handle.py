"""The consumer handle that a learner works with."""

from collections.abc import Iterable
from typing import Any

from minikafka.clients.errors import IllegalStateError, KafkaTimeoutError
from minikafka.clients.positions import EARLIEST, LATEST
from minikafka.clients.structs import ConsumerRecord, OffsetAndTimestamp, TopicPartition
from minikafka.simulation.arguments import (
    ANY_MS,
    COUNT,
    PARTITION,
    PARTITIONS,
    PLACE,
    TEXT,
    TIMES,
    checked,
)
from minikafka.simulation.calls import recorded
from minikafka.simulation.member_handle import MemberHandle

PATIENCE_MS = 60_000  # how long iterating at top level waits for one more record


class ConsumerHandle(MemberHandle):
    """A consumer, used like kafka-python's KafkaConsumer."""

    @property
    def config(self) -> dict[str, Any]:
        return dict(self.core.config)

    # reading

    @checked(timeout_ms=ANY_MS, max_records=COUNT.or_none("max_poll_records"))
    @recorded
    def poll(
        self, timeout_ms: float = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """The records that came since the last poll, {TopicPartition:
        [ConsumerRecord]}. Waits for some up to timeout_ms.
        """
        self._begin("poll")
        most = max_records or self.core.config["max_poll_records"]
        records = self._poll(timeout_ms, most)
        if not records and self._environment.kernel.program() is None:
            self.empty_polls += 1
            self._say_why_nothing_came()
        return records

    def _poll(
        self, timeout_ms: float | None, max_records: int
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        if not self.core.subscription.assigned and not self.core.subscription.topics:
            raise IllegalStateError(
                f"{self.name} reads nothing yet: subscribe() or assign() first"
            )
        if self._in_task:
            raise IllegalStateError(
                "a rebalance listener runs within poll(), so it can't poll itself"
            )
        self._work_off()
        self._run_completed()
        # a restart replaces self.core; a dead program's `finally` must not touch the
        # new one
        core = self.core
        core.begin_poll(self._now)
        self._turn()
        try:
            if timeout_ms is not None:
                # An empty poll takes a ms, even with a timeout of 0, so a program that
                # polls in a loop lets time pass.
                timeout_ms = max(1, timeout_ms)
            self._wait_for_records(timeout_ms)
            return self._take(max_records)
        finally:
            core.end_poll()
            if self._process.core is core and self._process.state == "up":
                self._turn()

    def _wait_for_records(self, limit_ms: float | None) -> None:
        """Wait for records. Callbacks and the assignor run meanwhile, however long they
        take.
        """
        core = self.core

        def came() -> bool:
            return core.has_task() or core.has_records()

        began_ms = self._environment.now_ms
        left_ms = limit_ms
        while self._wait(came, left_ms) and core.has_task():
            self._do_tasks(core)
            if limit_ms is not None:
                left_ms = max(0, began_ms + limit_ms - self._environment.now_ms)

    def _take(self, max_records: int) -> dict[TopicPartition, list[ConsumerRecord]]:
        records = self.core.take(max_records, self._now)
        self._give(records)
        return records

    def __iter__(self) -> "ConsumerHandle":
        return self

    def __next__(self) -> ConsumerRecord:
        """One record after the other.

        In a program this waits forever; at top level it ends after 60 virtual seconds
        without a record.
        """
        return self._next_record()

    @recorded
    def _next_record(self) -> ConsumerRecord:
        if self._process.core.closed and self._process.state == "up":
            raise StopIteration
        self._begin("poll")
        if (
            self._batch_left > 0
            and self.core.subscription.error is None
            and self.core.has_records()
        ):
            return self._next_of_batch()
        is_member = self.core.membership is not None
        self._batch_left = self.core.config["max_poll_records"] if is_member else 0
        patience_ms = self.core.config["consumer_timeout_ms"]
        at_top_level = self._environment.kernel.program() is None
        if patience_ms is None and at_top_level:
            patience_ms = PATIENCE_MS
        records = self._poll(patience_ms, 1)
        for found in records.values():
            self._batch_left -= 1
            return found[0]
        if at_top_level and self.core.config["consumer_timeout_ms"] is None:
            print(
                f"{self.name}: no record for {PATIENCE_MS // 1000} virtual seconds, so"
                " the loop ends here."
            )
        raise StopIteration

    def _next_of_batch(self) -> ConsumerRecord:
        """Another record from the last poll, without a new poll: the group doesn't see
        one either.
        """
        self._work_off()
        self._batch_left -= 1
        [[found]] = self._take(1).values()
        self._turn()
        return found

    # positions

    @checked(partition=PARTITION, offset=PLACE)
    @recorded
    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Read on from this offset."""
        self._begin()
        self._at_time()
        self._assigned([partition])
        self.core.seek(self._partition(partition), offset)

    @checked(partitions=PARTITION)
    @recorded
    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Read on from the oldest existing record; without partitions, in all
        of them.
        """
        self._begin()
        self.core.seek_to("earliest", self._assigned(partitions))

    @checked(partitions=PARTITION)
    @recorded
    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Read only records that come from the next poll on; without partitions, in all
        of them.
        """
        self._begin()
        self.core.seek_to("latest", self._assigned(partitions))

    @checked(partition=PARTITION, timeout_ms=ANY_MS.or_none("request_timeout_ms"))
    @recorded
    def position(
        self, partition: TopicPartition, timeout_ms: float | None = None
    ) -> int:
        """The offset of the next record that poll() returns."""
        self._begin("position")
        asked = self._partition(partition)
        self._assigned([asked])
        core = self.core
        held = core.subscription.held(asked)
        if held.position is None:
            core.begin_waiting(self._now)
            self._turn()
            try:
                limit_ms = core.request_timeout_ms if timeout_ms is None else timeout_ms

                def is_answered() -> bool:
                    return (
                        held.position is not None or core.subscription.error is not None
                    )

                self._wait(is_answered, limit_ms)
                core.raise_error()
            finally:
                core.end_waiting()
        if held.position is None:
            why = f"the position in {asked} could not be found in time"
            raise KafkaTimeoutError(why)
        return held.position

    def _assigned(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """The partitions given; all assigned ones if none are given.

        A subscription has none before metadata has come: then this waits for it.
        """
        wanted = [self._partition(each) for each in partitions]
        missing = [
            topic
            for topic in self.core.subscription.topics
            if not self.core.metadata.partitions(topic)
        ]
        if missing and self.core.membership is None:
            self.core.begin_waiting(self._now)
            self._turn()
            self._wait(
                lambda: (
                    not any(
                        not self.core.metadata.partitions(topic) for topic in missing
                    )
                ),
                30_000,
            )
            self.core.end_waiting()
        return wanted or list(self.core.subscription.assigned)

    @checked(partitions=PARTITION)
    @recorded
    def pause(self, *partitions: TopicPartition) -> None:
        """poll() returns nothing from these partitions until resume()."""
        self._begin()
        self._at_time()
        self.core.pause(self._assigned(partitions) if partitions else [])

    @checked(partitions=PARTITION)
    @recorded
    def resume(self, *partitions: TopicPartition) -> None:
        self._begin()
        self._at_time()
        self.core.pause(self._assigned(partitions) if partitions else [], paused=False)

    def paused(self) -> set[TopicPartition]:
        assigned = self.core.subscription.assigned
        return {partition for partition, held in assigned.items() if held.paused}

    @checked(partition=PARTITION)
    def highwater(self, partition: TopicPartition) -> int | None:
        """The high watermark as the last fetch saw it."""
        return self.core.subscription.held(self._partition(partition)).high_watermark

    def _at_time(self) -> None:
        self.core.trace.now = self._environment.now_ms

    # asking without changing the position

    @checked(partitions=PARTITIONS)
    @recorded
    def beginning_offsets(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """The oldest existing offset of each partition."""
        answers = self._ask(dict.fromkeys(partitions, EARLIEST))
        return {partition: each.offset for partition, each in answers.items()}

    @checked(partitions=PARTITIONS)
    @recorded
    def end_offsets(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """The offset that the next record of each partition will get."""
        answers = self._ask(dict.fromkeys(partitions, LATEST))
        return {partition: each.offset for partition, each in answers.items()}

    @checked(timestamps=TIMES)
    @recorded
    def offsets_for_times(
        self, timestamps: dict[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """For each partition, the first record at or after a time (ms since the epoch);
        None if there is none.
        """
        wanted = {partition: int(each) for partition, each in timestamps.items()}
        found: dict[TopicPartition, OffsetAndTimestamp | None] = {}
        for partition, answer in self._ask(wanted).items():
            found[partition] = None if answer.offset < 0 else answer
        return found

    def _ask(
        self, timestamps: dict[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        self._begin("offsets")
        wanted = {}
        for partition, timestamp in timestamps.items():
            wanted[self._partition(partition)] = timestamp
        lookup = self.core.ask_offsets(wanted, self._now)
        self._turn()
        if not self._wait(lambda: lookup.is_done, self.core.request_timeout_ms):
            self.core.questions.give_up(lookup)
            names = ", ".join(map(str, wanted))
            why = f"no answer about {names} in time: do they exist?"
            raise KafkaTimeoutError(why)
        answers: dict[TopicPartition, OffsetAndTimestamp] = lookup.get()
        return {partition: answers[partition] for partition in wanted}

    @checked(topic=TEXT)
    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """The partitions of a topic, which this consumer now looks up; None if there is
        no such topic.
        """
        self._begin("partitions_for_topic")
        self.core.metadata.want(topic)
        self._environment.topics.check_topic(topic)
        self.core.begin_waiting(self._now)
        self._turn()
        self._wait(lambda: bool(self.core.metadata.partitions(topic)), 30_000)
        self.core.end_waiting()
        found = self.core.metadata.partitions(topic)
        return set(found) if found else None
