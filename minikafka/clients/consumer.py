"""The consumer: it has a position in each of its partitions, fetches the next records,
and returns them when polled.

Little happens between polls: as in the Java client, positions are looked up, records
fetched and groups joined only while the program polls (or waits for an answer). So a
new consumer with auto_offset_reset="latest" starts at the end of the log at its first
poll, not at its creation. Only a member's heartbeats go on by themselves.

With a group_id, a consumer of topics shares their partitions with the group's other
members (membership.py), and starts at the committed offsets (commits.py, positions.py).
A consumer that assigns its partitions itself can commit, but isn't a member. Without a
group, a consumer of topics reads all their partitions, including those added later, and
commits nothing, as in kafka-python. The Java client doesn't subscribe without a
group.id: there such a consumer assigns its partitions.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from minikafka.clients.classic_membership import ClassicMembership
from minikafka.clients.commits import AutoCommit, OffsetCommit, OffsetFetch
from minikafka.clients.connection import Client
from minikafka.clients.consumer_config import DEFAULTS, checked
from minikafka.clients.consumer_membership import ConsumerMembership
from minikafka.clients.coordinator import Coordinator
from minikafka.clients.errors import NoOffsetForPartitionError
from minikafka.clients.fetching import Fetcher, consumer_record
from minikafka.clients.future import Future
from minikafka.clients.membership import Membership, Task
from minikafka.clients.metadata import Address
from minikafka.clients.positions import OffsetLookup, Positions
from minikafka.clients.request_state import Question
from minikafka.clients.structs import (
    ConsumerRecord,
    OffsetAndMetadata,
    TopicPartition,
    text,
)
from minikafka.clients.subscription_state import Assigned, Fetched, SubscriptionState
from minikafka.clock import Now
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError


class Consumer(Client):
    """config: as consumer_config.DEFAULTS. random: 0 <= random() < 1, for the member id
    in the consumer protocol.
    """

    def __init__(
        self,
        name: str,
        bootstrap: Sequence[Address],
        trace: Trace,
        *topics: str,
        random: Callable[[], float] | None = None,
        **config: Any,
    ) -> None:
        super().__init__(name, bootstrap, trace, checked({**DEFAULTS, **config}))
        self.subscription = SubscriptionState(self)
        self.waiting = 0  # calls of the program that wait for records or a position
        self.taken = 0  # records handed over so far
        self.membership: Membership | None = None
        self.auto_commit: AutoCommit | None = None
        if self.config["group_id"] is not None:
            self.membership = self._new_membership(random)
            self.auto_commit = AutoCommit(self.membership)
        self.positions = Positions(self, self.subscription, self.membership)
        self.fetcher = Fetcher(self, self.subscription)
        if self.trace:
            shown = {"isolation_level": self.config["isolation_level"]}
            self.trace.emit(
                "ClientStarted", client="consumer", topics=list(topics), config=shown
            )
        if topics:
            self.subscribe(topics)

    def _new_membership(self, random: Callable[[], float] | None) -> Membership:
        coordinator = Coordinator(self, self.config["group_id"])
        if self.config["group_protocol"] == "classic":
            return ClassicMembership(
                self.subscription, coordinator, self._commit_before_revoking
            )
        assert random is not None, "the member makes its own id"
        return ConsumerMembership(
            self.subscription, coordinator, self._commit_before_revoking, random
        )

    def _commit_before_revoking(self, done: Callable[[], None]) -> None:
        assert self.auto_commit is not None, "a consumer with a group has it"
        self.auto_commit.before_revoking(done)

    # called by programs, through the shell

    def subscribe(self, topics: Iterable[str]) -> None:
        self.subscription.topics = list(dict.fromkeys(topics))
        for topic in self.subscription.topics:
            self.metadata.want(topic)
        if self.membership is not None:
            self.membership.subscription_changed()
            return
        self.subscription.assigned = {
            partition: held
            for partition, held in self.subscription.assigned.items()
            if partition.topic in self.subscription.topics
        }
        self._assign_subscribed()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        self.subscription.topics = []
        self.subscription.assigned = {
            partition: self.subscription.assigned.get(partition)
            or self.subscription.unread()
            for partition in partitions
        }
        for partition in self.subscription.assigned:
            self.metadata.want(partition.topic)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.subscription.held(partition).move(offset)
        if isinstance(self.subscription.error, NoOffsetForPartitionError):
            # the next poll checks again whether a position is missing
            self.subscription.error = None
        if self.trace:
            self.trace.emit(
                "PositionSought",
                topic=partition.topic,
                partition=partition.partition,
                offset=offset,
            )

    def seek_to(self, where: str, partitions: Iterable[TopicPartition]) -> None:
        """where: "earliest" or "latest". The offset is looked up at the next poll or
        position().
        """
        for partition in list(partitions) or list(self.subscription.assigned):
            self.subscription.held(partition).move(None, where)

    def pause(self, partitions: Iterable[TopicPartition], paused: bool = True) -> None:
        names = [TopicPartition(*partition) for partition in partitions]
        for partition in names:
            self.subscription.held(partition).paused = paused
        if self.trace:
            kind = "PartitionsPaused" if paused else "PartitionsResumed"
            self.trace.emit(kind, partitions=[str(each) for each in names])

    def take(
        self, max_records: int, now: Now
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Up to max_records that have arrived, {partition: records}; positions move
        past them.

        Fetches more for partitions that have none left.
        """
        self._enter(now)
        self._leave_poll()
        self.raise_error()
        taken: dict[TopicPartition, list[ConsumerRecord]] = {}
        for partition, held in self.subscription.assigned.items():
            if max_records > 0 and held.fetched is not None and held.readable:
                records = self._take_from(partition, held, held.fetched, max_records)
                max_records -= len(records)
                if records:
                    taken[partition] = records
        self.taken += sum(map(len, taken.values()))
        # The partition served first comes last next time, so that one with many records
        # doesn't starve the others.
        for partition in taken:
            self.subscription.assigned[partition] = self.subscription.assigned.pop(
                partition
            )
        self._do_what_is_due()
        return taken

    def raise_error(self) -> None:
        """Raise an error that came up since the last call, once."""
        if self.subscription.error is not None:
            error, self.subscription.error = self.subscription.error, None
            raise error

    def has_records(self) -> bool:
        if self.subscription.error is not None:
            return True
        try:
            return any(
                held.readable and held.holds_record()
                for held in self.subscription.assigned.values()
            )
        except KafkaError as error:
            self.subscription.error = error
            return True

    def begin_poll(self, now: Now) -> None:
        """From here to end_poll() the consumer works on its own: its group, metadata,
        positions, fetches.
        """
        self._enter(now)
        self.subscription.in_poll = True
        self._polled()
        self.begin_waiting(now)

    def end_poll(self) -> None:
        self._leave_poll()
        self.end_waiting()

    def begin_waiting(self, now: Now) -> None:
        """The same as begin_poll() without the group's work: the program waits for a
        position, or for a topic's partitions.
        """
        self._enter(now)
        self.waiting += 1
        self._do_what_is_due()

    def end_waiting(self) -> None:
        self.waiting -= 1

    def _leave_poll(self) -> None:
        if self.subscription.in_poll:
            self.subscription.in_poll = False
            self._polled()

    def _polled(self) -> None:
        if self.membership is not None:
            self.membership.polled()

    # the group

    def has_task(self) -> bool:
        """Whether the program must do something for the group (membership.Task) before
        anything else happens.
        """
        return self.membership is not None and self.membership.has_task()

    def begin_task(self, now: Now) -> Task | None:
        self._enter(now)
        task = None if self.membership is None else self.membership.begin_task()
        if task is not None:
            self._leave_poll()
        return task

    def end_task(
        self, task: Task, error: BaseException | None, now: Now, in_poll: bool = True
    ) -> None:
        """The program has finished a task. in_poll: whether it goes on polling."""
        self._enter(now)
        self.subscription.in_poll = in_poll
        assert self.membership is not None
        self.membership.end_task(task, error)
        self._do_what_is_due()

    def leave(self, why: str, now: Now) -> None:
        """Begin to leave the group. The consumer is out when there is no task and
        membership.leaving is false.
        """
        self._enter(now)
        if self.membership is not None and self.subscription.topics:
            self.membership.leave(why)

    def commit(
        self,
        offsets: dict[TopicPartition, OffsetAndMetadata] | None,
        how: str,
        now: Now,
    ) -> Future:
        """Commit offsets; None: the positions of all partitions. how: see
        OffsetCommit.
        """
        self._enter(now)
        assert self.membership is not None, "the shell asks for a group first"
        if offsets is None:
            offsets = self.subscription.consumed()
        return self._ask(OffsetCommit(self.membership, offsets, how))

    def committed(self, partitions: Iterable[TopicPartition], now: Now) -> Future:
        """Ask for the group's committed offsets: {partition: OffsetAndMetadata, or None
        if nothing is committed}.
        """
        self._enter(now)
        assert self.membership is not None, "the shell asks for a group first"
        return self._ask(OffsetFetch(self.membership, partitions))

    # questions

    def ask_offsets(self, timestamps: dict[TopicPartition, int], now: Now) -> Future:
        """Ask for the offsets at LATEST, EARLIEST, or times in ms since the epoch."""
        self._enter(now)
        lookup = OffsetLookup(
            self,
            {TopicPartition(*partition): at for partition, at in timestamps.items()},
        )
        self.questions.add(lookup)
        self._do_what_is_due()
        return lookup

    def _ask(self, question: Question) -> Future:
        self.questions.ask(question)
        self._do_what_is_due()
        return question

    # what happens automatically during a poll

    def busy(self) -> bool:
        return self.waiting > 0 or any(
            isinstance(question, OffsetLookup) for question in self.questions
        )

    def metadata_read(self) -> None:
        super().metadata_read()
        self._assign_subscribed()
        if self.membership is not None:
            self.membership.metadata_changed()
        for topic in self.metadata.wanted:
            error = self.metadata.errors.get(topic, Error.NONE)
            if error is not Error.NONE and not error.retriable:
                self.subscription.error = KafkaError(
                    error, f"topic {topic!r}: {error.message}"
                )

    def work(self) -> None:
        if self.membership is not None:
            self.membership.work()
        if self.auto_commit is not None:
            self.auto_commit.work()
        super().work()
        if self.waiting:
            self.positions.find()
            self.positions.validate()
            self.fetcher.work()

    def _assign_subscribed(self) -> None:
        """Assign all partitions of its topics to a consumer without a group."""
        if self.membership is None:
            for topic in self.subscription.topics:
                for number in self.metadata.partitions(topic) or {}:
                    self.subscription.assigned.setdefault(
                        TopicPartition(topic, number), self.subscription.unread()
                    )

    def _take_from(
        self,
        partition: TopicPartition,
        held: Assigned,
        fetched: Fetched,
        max_records: int,
    ) -> list[ConsumerRecord]:
        deserializers = (
            self.config["key_deserializer"],
            self.config["value_deserializer"],
        )
        records: list[ConsumerRecord] = []
        while held.holds_record() and len(records) < max_records:
            item = fetched.ahead
            assert item is not None
            records.append(consumer_record(partition, item, deserializers))
            fetched.ahead = None  # taken, now that it could be deserialized
            held.position = item.next_offset
            held.leader_epoch = item.leader_epoch
        if records and self.trace:
            shown = [
                [each.offset, text(each.key), text(each.value)] for each in records[:50]
            ]
            self.trace.emit(
                "RecordsPolled",
                cause=fetched.cause,
                topic=partition.topic,
                partition=partition.partition,
                records=shown,
                position=held.position,
            )
        return records
