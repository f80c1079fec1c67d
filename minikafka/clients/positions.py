"""Where a consumer continues to read: each partition's position, and how it is found if
there is none yet.

It is the offset that the group has committed; if there is none, or no group,
auto_offset_reset decides. Leaders are asked (ListOffsets) for the first offset, the
next one, or the first one at a given time, for any number of partitions; after a
retriable refusal (a leader that moved) they are asked again after retry_backoff_ms.
"""

from collections.abc import Callable
from functools import partial

from minikafka.clients.commits import OffsetFetch
from minikafka.clients.connection import Client
from minikafka.clients.consumer_config import ISOLATION_LEVELS
from minikafka.clients.errors import LogTruncationError, NoOffsetForPartitionError
from minikafka.clients.membership import Membership
from minikafka.clients.request_state import Question
from minikafka.clients.structs import (
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TopicPartition,
)
from minikafka.clients.subscription_state import Assigned, SubscriptionState
from minikafka.clients.truncation import EndOfEpoch
from minikafka.trace import Reason
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested

LATEST, EARLIEST = -1, -2

Found = Callable[[TopicPartition, OffsetAndTimestamp], None]


class OffsetLookup(Question):
    """Done when there is an answer for every partition; its value is {TopicPartition:
    OffsetAndTimestamp}.

    timestamps: LATEST, EARLIEST or ms since the epoch. found: called with each answer
    as it arrives.
    """

    def __init__(
        self,
        client: Client,
        timestamps: dict[TopicPartition, int],
        found: Found | None = None,
    ) -> None:
        super().__init__(client, client.metadata)
        self._client = client
        self._timestamps = timestamps
        # partitions that haven't been asked for yet
        self._wanted = dict.fromkeys(timestamps)
        self._answers: dict[TopicPartition, OffsetAndTimestamp] = {}
        self._found = found
        for topic, _ in timestamps:
            client.metadata.want(topic)

    def attempt(self) -> None:
        if not self._timestamps:
            self.succeed({})
        for node, partitions in self._client.leaders(list(self._wanted)):
            parts = []
            for partition in partitions:
                del self._wanted[partition]
                known = self._client.metadata.partition(*partition)
                part = {
                    "partition_index": partition.partition,
                    "current_leader_epoch": known.leader_epoch,
                    "timestamp": self._timestamps[partition],
                }
                parts.append((partition.topic, part))
            level = self._client.config.get("isolation_level", "read_uncommitted")
            body = {
                "replica_id": -1,
                "isolation_level": ISOLATION_LEVELS.index(level),
                "topics": nested(parts),
            }
            answered = partial(self._answered, partitions)
            self._client.request(node, "ListOffsets", body, answered)

    def _answered(
        self, partitions: list[TopicPartition], response: Message | None
    ) -> None:
        if response is None:
            self.state.back_off()
            self._wanted.update(dict.fromkeys(partitions))
            return
        for topic in response.topics:
            for part in topic.partitions:
                self._answer(TopicPartition(topic.name, part.partition_index), part)

    def _answer(self, partition: TopicPartition, part: Message) -> None:
        error = Error(part.error_code)
        if error is Error.NONE:
            answer = OffsetAndTimestamp(part.offset, part.timestamp, part.leader_epoch)
            self._answers[partition] = answer
            self._tell(partition, answer)
            if self._found is not None:
                self._found(partition, answer)
            if len(self._answers) == len(self._timestamps) and not self.is_done:
                self.succeed(self._answers)
        elif self.state.refused(error):
            self._wanted[partition] = None
        elif not self.is_done:
            self.fail(KafkaError(error))

    def _tell(self, partition: TopicPartition, answer: OffsetAndTimestamp) -> None:
        """Emit an event for an offset found by time; the ends of a log get none."""
        timestamp = self._timestamps[partition]
        if self._client.trace and timestamp >= 0:
            self._client.trace.emit(
                "OffsetFound",
                topic=partition.topic,
                partition=partition.partition,
                timestamp=timestamp,
                offset=answer.offset,
            )


class Positions:
    """The positions of one consumer's partitions. membership: None without a group."""

    def __init__(
        self,
        client: Client,
        subscription: SubscriptionState,
        membership: Membership | None,
    ) -> None:
        self._client = client
        self._subscription = subscription
        self._membership = membership

    def find(self) -> None:
        """Look up the positions that are missing."""
        maybe_committed = []
        to_reset = []
        for partition, held in self._subscription.assigned.items():
            if held.position is not None or held.question is not None or held.stopped:
                continue
            is_to_be_reset = held.reset is not None or held.why
            if self._membership is not None and not is_to_be_reset:
                maybe_committed.append(partition)
            else:
                to_reset.append(partition)
        if self._membership is not None and maybe_committed:
            self._ask_committed(self._membership, maybe_committed)
        self._reset(to_reset)

    def validate(self) -> None:
        """Ask leaders of later epochs whether they have the records that were read."""
        for partition, held in self._subscription.assigned.items():
            epoch = self._client.metadata.partition(*partition).leader_epoch
            if held.in_doubt(epoch) and held.question is None and held.fetched is None:
                self._validate(partition, held, epoch)

    def _validate(self, partition: TopicPartition, held: Assigned, epoch: int) -> None:
        position = held.position
        assert position is not None

        def found(end: int | None) -> None:
            if self._asked_by(question, partition) is None:
                return
            held.question, held.validated_epoch = None, epoch
            if end is None or end < position:
                self._truncated(partition, held, end)

        question = EndOfEpoch(self._client, partition, held.leader_epoch)
        question.add_callback(found)
        self._ask(question, [partition])

    def _truncated(
        self, partition: TopicPartition, held: Assigned, end: int | None
    ) -> None:
        """The log was truncated before the position. end: where it ends; None if that
        isn't known.
        """
        if self._client.config["auto_offset_reset"] == "none":
            what = f"{partition} was truncated"
            where = "" if end is None else f" to offset {end}"
            self._subscription.error = LogTruncationError(
                f"{what}{where}, before the position {held.position}: seek() to one"
            )
            return
        sentence = (
            f"the log was cut there, and offset {held.position} was the next to read"
        )
        why = Reason("truncated", sentence)
        if end is None:
            held.move(None)
            held.why = why
        else:
            held.move(end)
            self._position_reset(partition, end, why)

    def _ask_committed(
        self, membership: Membership, partitions: list[TopicPartition]
    ) -> None:
        group = membership.coordinator.group_id
        why = Reason("committed", f"group {group} has committed it")

        def found(offsets: dict[TopicPartition, OffsetAndMetadata | None]) -> None:
            to_reset = []
            for partition, committed in offsets.items():
                held = self._asked_by(question, partition)
                if held is None:
                    continue
                if committed is None:
                    held.question = None
                    to_reset.append(partition)
                else:
                    held.move(committed.offset, leader_epoch=committed.leader_epoch)
                    self._position_reset(partition, committed.offset, why)
            self._reset(to_reset)

        question = OffsetFetch(membership, partitions)
        question.add_callback(found)
        self._ask(question, partitions)

    def _reset(self, partitions: list[TopicPartition]) -> None:
        questions: dict[TopicPartition, int] = {}
        whys: dict[TopicPartition, Reason] = {}
        for partition in partitions:
            held = self._subscription.assigned[partition]
            where = held.reset or self._client.config["auto_offset_reset"]
            if where == "none":
                what = (
                    f"there is no position for {partition}, and auto_offset_reset is"
                    ' "none": seek() to one'
                )
                self._subscription.error = NoOffsetForPartitionError(what)
                return
            questions[partition] = EARLIEST if where == "earliest" else LATEST
            if held.why:
                why = held.why
            elif held.reset:
                why = Reason("program", f"the program asked for the {where} offset")
            else:
                why = Reason("auto_offset_reset", f'auto_offset_reset is "{where}"')
            whys[partition] = why

        def found(partition: TopicPartition, answer: OffsetAndTimestamp) -> None:
            held = self._asked_by(question, partition)
            if held is not None:
                held.move(answer.offset)
                configured = whys[partition].code == "auto_offset_reset"
                held.started_at_end = configured and questions[partition] == LATEST
                self._position_reset(partition, answer.offset, whys[partition])

        if questions:
            question = OffsetLookup(self._client, questions, found)
            self._ask(question, partitions)

    def _ask(self, question: Question, partitions: list[TopicPartition]) -> None:
        for partition in partitions:
            self._subscription.assigned[partition].question = question
        question.add_errback(self._failed, question)
        self._client.questions.ask(question)

    def _asked_by(
        self, question: Question, partition: TopicPartition
    ) -> Assigned | None:
        """The partition, unless there was a seek or another assignment in between."""
        held = self._subscription.assigned.get(partition)
        if held is None or held.question is not question:
            return None
        return held

    def _failed(self, question: Question, error: Exception) -> None:
        self._subscription.error = error
        for held in self._subscription.assigned.values():
            if held.question is question:
                held.question = None

    def _position_reset(
        self, partition: TopicPartition, offset: int, why: Reason
    ) -> None:
        if self._client.trace:
            topic, number = partition
            self._client.trace.emit(
                "PositionReset",
                topic=topic,
                partition=number,
                offset=offset,
                why=why,
            )
