"""The consumer: it has a position in each of its partitions, asks for what comes next, and hands over when polled.

Little happens between polls: as in the Java client, a position is found, records are asked for, a group is joined, only
while somebody polls (or waits for an answer). So a new consumer with auto_offset_reset="latest" starts at the end as it
is at its first poll, not at its birth. Only a member's heartbeats go on by themselves.

With a group_id, a consumer of topics shares their partitions with the group's other members (membership.py), and starts
where the group has committed (commits.py, positions.py). One that assigns its partitions can commit, but is no member.
Without a group, a consumer of topics reads all their partitions, those added later included, and commits nothing, as in
kafka-python. The Java client doesn't subscribe without a group.id: there such a consumer assigns its partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from minikafka.clients.classic_membership import ClassicMembership
from minikafka.clients.commits import Commits
from minikafka.clients.connection import Client, Now
from minikafka.clients.consumer_config import DEFAULTS, checked
from minikafka.clients.consumer_membership import ConsumerMembership
from minikafka.clients.coordinator import Coordinator
from minikafka.clients.errors import IllegalStateError, NoOffsetForPartitionError
from minikafka.clients.fetching import Assigned, Fetched, Fetcher, consumer_record
from minikafka.clients.future import Future
from minikafka.clients.membership import Membership, Task
from minikafka.clients.metadata import Address
from minikafka.clients.offsets import Lookup
from minikafka.clients.positions import Positions
from minikafka.clients.structs import ConsumerRecord, OffsetAndMetadata, TopicPartition, text
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError


class Consumer(Client):
    """config: as consumer_config.DEFAULTS. random: 0 <= random() < 1, for the member id in the consumer protocol."""

    def __init__(
        self, name: str, bootstrap: Sequence[Address], trace: Trace, *topics: str,
        random: Callable[[], float] | None = None, **config: Any,
    ) -> None:  # fmt: skip
        self.config = checked({**DEFAULTS, **config})
        given = self.config
        super().__init__(
            name,
            bootstrap,
            trace,
            client_id=given["client_id"] or name,
            request_timeout_ms=given["request_timeout_ms"],
            retry_backoff_ms=given["retry_backoff_ms"],
            reconnect_backoff_ms=given["reconnect_backoff_ms"],
            metadata_max_age_ms=given["metadata_max_age_ms"],
            allow_auto_create_topics=given["allow_auto_create_topics"],
        )
        self.topics: list[str] = []  # subscribed to; empty with assign()
        self.assigned: dict[TopicPartition, Assigned] = {}
        self.waiting = 0  # calls of the program that wait for records or a position
        self.in_poll = False  # the program is in poll(), so it has done its work on all it was given
        self.taken = 0  # records handed over so far
        self.error: Exception | None = None  # the next take() raises it
        self.remarks: list[str] = []  # for whoever sits before the screen
        self.random = random
        self.positions = Positions(self)
        self.fetcher = Fetcher(self)
        self.coordinator: Coordinator | None = None
        self.commits: Commits | None = None
        self.membership: Membership | None = None
        if given["group_id"] is not None:
            self.coordinator = Coordinator(self, given["group_id"])
            self.commits = Commits(self, self.coordinator)
            self.membership = self._new_membership(self.coordinator)
        if self.trace:
            self.trace.emit("ClientStarted", client="consumer", topics=list(topics))
        if topics:
            self.subscribe(topics)

    # what a program calls, through the shell

    def subscribe(self, topics: Iterable[str]) -> None:
        self.topics = list(dict.fromkeys(topics))
        for topic in self.topics:
            self.metadata.want(topic)
        if self.membership is not None:
            self.membership.subscription_changed()
            return
        self.assigned = {partition: held for partition, held in self.assigned.items() if partition.topic in self.topics}
        self._assign_subscribed()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        self.topics = []
        before = self.assigned
        self.assigned = {partition: before.get(partition, Assigned()) for partition in partitions}
        for partition in self.assigned:
            self.metadata.want(partition.topic)

    def held(self, partition: TopicPartition) -> Assigned:
        if partition not in self.assigned:
            names = ", ".join(map(str, self.assigned)) or "nothing yet"
            raise IllegalStateError(f"{TopicPartition(*partition)} is not assigned to {self.name}, which has {names}")
        return self.assigned[partition]

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.held(partition).move(offset)
        if isinstance(self.error, NoOffsetForPartitionError):
            self.error = None  # the next poll looks again whether a position is missing
        if self.trace:
            self.trace.emit("PositionSought", topic=partition.topic, partition=partition.partition, offset=offset)

    def seek_to(self, where: str, partitions: Iterable[TopicPartition]) -> None:
        """where: "earliest" or "latest". The offset is asked for at the next poll or position()."""
        for partition in list(partitions) or list(self.assigned):
            self.held(partition).move(None, where)

    def pause(self, partitions: Iterable[TopicPartition], paused: bool = True) -> None:
        names = [TopicPartition(*partition) for partition in partitions]
        for partition in names:
            self.held(partition).paused = paused
        if self.trace:
            self.trace.emit(
                "PartitionsPaused" if paused else "PartitionsResumed", partitions=[str(each) for each in names]
            )

    def take(self, max_records: int, now: Now) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Up to max_records that have arrived, {partition: records}; positions move past them.

        Asks for more where nothing is left.
        """
        self._enter(now)
        self._leave_poll()
        self.raise_error()
        taken: dict[TopicPartition, list[ConsumerRecord]] = {}
        for partition, held in self.assigned.items():
            if max_records > 0 and held.fetched is not None and held.readable:
                records = self._take_from(partition, held, held.fetched, max_records)
                max_records -= len(records)
                if records:
                    taken[partition] = records
        self.taken += sum(map(len, taken.values()))
        # Who was served first is last next time, so that one full partition does not starve the others.
        for partition in taken:
            self.assigned[partition] = self.assigned.pop(partition)
        self._do_what_is_due(now)
        return taken

    def raise_error(self) -> None:
        """Raise, once, what went wrong while nobody looked."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    def has_records(self) -> bool:
        if self.error is not None:
            return True
        try:
            return any(held.readable and held.holds_record() for held in self.assigned.values())
        except KafkaError as error:
            self.error = error
            return True

    def begin_poll(self, now: Now) -> None:
        """From here to end_poll() the consumer works by itself: its group, metadata, positions, fetches."""
        self._enter(now)
        self.waiting += 1
        self.in_poll = True
        self._polled()
        self._do_what_is_due(now)

    def end_poll(self) -> None:
        self._leave_poll()
        self.waiting -= 1

    def begin_waiting(self, now: Now) -> None:
        """As begin_poll() without the group's work: the program asks for a position, or for a topic's partitions."""
        self._enter(now)
        self.waiting += 1
        self._do_what_is_due(now)

    def end_waiting(self) -> None:
        self.waiting -= 1

    def _leave_poll(self) -> None:
        if self.in_poll:
            self.in_poll = False
            self._polled()

    def _polled(self) -> None:
        if self.membership is not None:
            self.membership.polled()

    # the group

    def has_task(self) -> bool:
        """Whether the program must do something for the group (membership.Task) before anything goes on."""
        return self.membership is not None and self.membership.has_task()

    def begin_task(self, now: Now) -> Task | None:
        self._enter(now)
        task = None if self.membership is None else self.membership.begin_task()
        if task is not None:
            self._leave_poll()
        return task

    def end_task(self, task: Task, error: BaseException | None, now: Now, in_poll: bool = True) -> None:
        """in_poll: whether the program goes on polling."""
        self._enter(now)
        self.in_poll = in_poll
        assert self.membership is not None
        self.membership.end_task(task, error)
        self._do_what_is_due(now)

    def leave(self, why: str, now: Now) -> None:
        """Out of the group; done when there is no task and membership.leaving is false."""
        self._enter(now)
        if self.membership is not None and self.topics:
            self.membership.leave(why)

    def commit(self, offsets: dict[TopicPartition, OffsetAndMetadata] | None, how: str, now: Now) -> Future:
        """None: all positions. Give it up with commits.give_up()."""
        self._enter(now)
        assert self.commits is not None, "the shell asks for a group first"
        future = self.commits.begin(self.positions.consumed() if offsets is None else offsets, how)
        self._do_what_is_due(now)
        return future

    def committed(self, partitions: Iterable[TopicPartition], now: Now) -> Future:
        self._enter(now)
        assert self.commits is not None, "the shell asks for a group first"
        future = self.commits.committed(partitions)
        self._do_what_is_due(now)
        return future

    def grant(self, partitions: Iterable[TopicPartition]) -> None:
        """The group has given it these."""
        for partition in partitions:
            self.assigned[partition] = Assigned()
            self.metadata.want(partition.topic)

    def drop(self, partitions: Iterable[TopicPartition]) -> None:
        """They are not its own any more."""
        for partition in partitions:
            self.assigned.pop(partition, None)

    def _new_membership(self, coordinator: Coordinator) -> Membership:
        if self.config["group_protocol"] == "consumer":
            return ConsumerMembership(self, coordinator)
        return ClassicMembership(self, coordinator)

    # questions, and the end

    def ask_offsets(self, timestamps: dict[TopicPartition, int], now: Now) -> Lookup:
        """Offsets for LATEST, EARLIEST or times in ms. positions.lookups.give_up() ends it when it takes too long."""
        self._enter(now)
        wanted = {TopicPartition(*partition): at for partition, at in timestamps.items()}
        lookup = self.positions.lookups.begin(wanted)
        self._do_what_is_due(now)
        return lookup

    def close(self, now: Now) -> None:
        self._enter(now)
        self.disconnect()
        if self.trace:
            self.trace.emit("ClientClosed")

    # what happens by itself while somebody polls

    def busy(self) -> bool:
        return self.waiting > 0 or self.positions.lookups.is_open()

    def metadata_changed(self, now: Now) -> None:
        self._assign_subscribed()
        if self.membership is not None:
            self.membership.metadata_changed()
        for topic in self.metadata.wanted:
            error = self.metadata.errors.get(topic, Error.NONE)
            if error is not Error.NONE and not error.retriable:
                self.error = KafkaError(error, f"topic {topic!r}: {error.message}")

    def work(self, now: Now) -> None:
        if self.membership is not None:
            self.membership.work()
        if self.commits is not None:
            self.commits.work()
        self.positions.lookups.work(self._now)
        if self.waiting:
            self.positions.find()
            self.fetcher.work()

    def next_work(self) -> list[int | None]:
        deadlines = self.positions.lookups.next_work()
        if self.membership is not None and self.topics:
            deadlines += self.membership.next_work()
        if self.commits is not None:
            deadlines += self.commits.next_work()
        if self.waiting:
            deadlines += self.fetcher.next_work()
        return deadlines

    def _assign_subscribed(self) -> None:
        """Without a group, all partitions of its topics are its own."""
        if self.membership is None:
            for topic in self.topics:
                for number in self.metadata.partitions(topic) or {}:
                    self.assigned.setdefault(TopicPartition(topic, number), Assigned())

    def _take_from(
        self, partition: TopicPartition, held: Assigned, fetched: Fetched, max_records: int
    ) -> list[ConsumerRecord]:
        deserializers = (self.config["key_deserializer"], self.config["value_deserializer"])
        records: list[ConsumerRecord] = []
        while len(records) < max_records and (item := fetched.peek()) is not None:
            if item[0] is not None:
                records.append(consumer_record(partition, item, deserializers))
                held.leader_epoch = item[2]
            fetched.drop()
            held.position = item[1]
        held.holds_record()
        if records and self.trace:
            shown = [[each.offset, text(each.key), text(each.value)] for each in records[:50]]
            self.trace.emit(
                "RecordsPolled",
                cause=fetched.cause, topic=partition.topic, partition=partition.partition, records=shown,
                position=held.position,
            )  # fmt: skip
        return records
