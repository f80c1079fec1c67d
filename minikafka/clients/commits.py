"""Committed offsets: how far a group has come, kept by its coordinator, outliving its
members.

The offset committed for a partition is the one to go on from: the next record's, not
the last one's. A member that is given a partition starts there, so what is committed
too late is read twice after a crash, and what is committed before its work is done may
never be done.

With enable_auto_commit the consumer commits by itself the positions of all its
partitions: in poll(), when auto_commit_interval_ms is over and before anything new is
handed over; before it gives partitions back; on close(). commit() waits and tries
again, commit_async() tries once.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from minikafka.clients.errors import refusal
from minikafka.clients.request_state import Question
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested

if TYPE_CHECKING:
    from minikafka.clients.consumer import Consumer

Offsets = Mapping[TopicPartition, OffsetAndMetadata]

# Refusals for membership's sake: the member knows what they mean for it.
MEMBERSHIP = (
    Error.UNKNOWN_MEMBER_ID,
    Error.ILLEGAL_GENERATION,
    Error.REBALANCE_IN_PROGRESS,
    Error.FENCED_INSTANCE_ID,
    Error.STALE_MEMBER_EPOCH,
)
ONCE = ("async", "auto")  # commits that are not tried again


class OffsetRequest(Question):
    """A request about committed offsets, to the group's coordinator."""

    def __init__(self, consumer: "Consumer") -> None:
        assert consumer.coordinator is not None, "the shell asks for a group first"
        super().__init__(consumer, consumer.coordinator)
        self.consumer = consumer
        self.coordinator = consumer.coordinator
        self.identity = ("", -1)  # as whom it was sent

    def attempt(self) -> None:
        if self.coordinator.error is not None:
            self.fail(self.coordinator.error)
        elif self.coordinator.ready():
            self.identity = (
                ("", -1)
                if self.consumer.member is None
                else self.consumer.member.identity
            )
            self.send()

    def send(self) -> None:
        raise NotImplementedError

    def request(self, api: str, body: dict[str, Any]) -> None:
        self.coordinator.request(api, body, self.state.sent(self.answered, self.lost))

    def answered(self, response: Message) -> None:
        raise NotImplementedError

    def lost(self) -> None:
        """The connection was lost before the answer came."""


class OffsetFetch(OffsetRequest):
    """Asks what is committed. The value is {partition: OffsetAndMetadata, or None where
    nothing is}.
    """

    def __init__(
        self, consumer: "Consumer", partitions: Iterable[TopicPartition]
    ) -> None:
        super().__init__(consumer)
        self._partitions = list(partitions)

    def send(self) -> None:
        topics = nested(self._partitions, partitions="partition_indexes")
        group: dict[str, Any] = {
            "group_id": self.coordinator.group_id,
            "topics": topics,
        }
        if self.consumer.config["group_protocol"] == "consumer" and self.identity[0]:
            group |= {"member_id": self.identity[0], "member_epoch": self.identity[1]}
        self.request("OffsetFetch", {"groups": [group], "require_stable": True})

    def answered(self, response: Message) -> None:
        group = response.groups[0]
        parts = [
            (topic.name, part) for topic in group.topics for part in topic.partitions
        ]
        error = first_error([group, *(part for _, part in parts)])
        if error in (Error.STALE_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID):
            self.state.back_off()  # the next heartbeat brings the epoch up to date
        elif error is Error.NONE:
            found = {
                TopicPartition(topic, part.partition_index): OffsetAndMetadata(
                    part.committed_offset,
                    part.metadata or "",
                    part.committed_leader_epoch,
                )
                for topic, part in parts
                if part.committed_offset >= 0
            }
            self.succeed(
                {partition: found.get(partition) for partition in self._partitions}
            )
        elif not self.state.refused(error):
            self.fail(refusal(error))


class OffsetCommit(OffsetRequest):
    """A commit. Its value is True.

    how: what it is for: "sync", "async", "auto", "revoke", "close". gives_up_at: ms;
    None: when the shell does.
    """

    def __init__(
        self,
        consumer: "Consumer",
        offsets: Offsets,
        how: str,
        gives_up_at: int | None = None,
    ) -> None:
        super().__init__(consumer)
        self._offsets = offsets
        self._how = how
        self._gives_up_at = gives_up_at

    def attempt(self) -> None:
        error = (
            None
            if self.consumer.member is None
            else self.consumer.member.why_no_commit()
        )
        if self._gives_up_at is not None and self._gives_up_at <= self.consumer.now_ms:
            error = KafkaError(
                Error.REQUEST_TIMED_OUT, "the coordinator could not be reached in time"
            )
        if error is not None:
            self.fail(error)
        else:
            super().attempt()

    def send(self) -> None:
        self._emit("CommitSent", how=self._how)
        member_id, generation = self.identity
        body = {
            "group_id": self.coordinator.group_id,
            "member_id": member_id,
            "generation_id_or_member_epoch": generation,
            "group_instance_id": (
                self.consumer.config["group_instance_id"] if member_id else None
            ),
            "topics": topics_of(self._offsets),
        }
        self.request("OffsetCommit", body)

    def answered(self, response: Message) -> None:
        error = first_error(
            part for topic in response.topics for part in topic.partitions
        )
        if error is Error.NONE:
            self._emit("CommitAcknowledged")
            self.succeed(True)
        elif error in MEMBERSHIP and self.consumer.membership is not None:
            self.fail(
                self.consumer.membership.commit_refused(error, self.identity), error
            )
        elif (
            error is Error.UNKNOWN_TOPIC_OR_PARTITION
            or not self.state.refused(error)
            or self._how in ONCE
        ):
            self.fail(refusal(error), error)

    def lost(self) -> None:
        if self._how in ONCE:
            self.fail(
                refusal(Error.COORDINATOR_NOT_AVAILABLE),
                Error.COORDINATOR_NOT_AVAILABLE,
            )

    def fail(self, exception: BaseException, refused: Error | None = None) -> None:
        """refused: the coordinator's error. Nothing happens if the shell has given the
        commit up.
        """
        if self in self.consumer.questions:
            self._emit(
                "CommitFailed",
                error=type(exception).__name__ if refused is None else refused.name,
            )
            super().fail(exception)

    def _emit(self, kind: str, /, **detail: Any) -> None:
        if self.consumer.trace:
            shown = [
                [topic, number, each.offset]
                for (topic, number), each in self._offsets.items()
            ]
            self.consumer.trace.emit(
                kind, group=self.coordinator.group_id, offsets=shown, **detail
            )


class AutoCommit:
    """Commits the positions of one consumer by itself (enable_auto_commit)."""

    def __init__(self, consumer: "Consumer") -> None:
        self._consumer = consumer
        self._at: int | None = None  # None: before the first poll

    def before_revoking(self, done: Callable[[], None]) -> None:
        """Commit before partitions are given back; then done().

        done is called too if it can't be done before the group would go on without this
        member.
        """
        offsets = self._consumer.positions.consumed()
        if not self._consumer.config["enable_auto_commit"] or not offsets:
            done()
            return
        until = self._consumer.now_ms + int(
            self._consumer.config["max_poll_interval_ms"]
        )
        commit = OffsetCommit(self._consumer, offsets, "revoke", until)
        commit.add_callback(lambda _: done()).add_errback(lambda _: done())
        self._consumer.questions.ask(commit)

    def work(self) -> None:
        consumer, member = self._consumer, self._consumer.member
        if not consumer.config["enable_auto_commit"] or not consumer.in_poll:
            return
        interval_ms = int(consumer.config["auto_commit_interval_ms"])
        if self._at is None:
            self._at = consumer.now_ms + interval_ms
        if member is not None and not member.settled:
            # while the group rebalances: it commits before it gives partitions back
            # anyway
            return
        if self._at <= consumer.now_ms:
            self._at = consumer.now_ms + interval_ms
            offsets = consumer.positions.consumed()
            if offsets and (member is None or member.why_no_commit() is None):
                commit = OffsetCommit(consumer, offsets, "auto")
                commit.add_errback(lambda error: self._failed(commit, error))
                consumer.questions.ask(commit)
        consumer.wake(self._at)

    def _failed(self, commit: OffsetCommit, error: Exception) -> None:
        if isinstance(error, KafkaError) and error.error.retriable:
            self._at = commit.state.at_ms
            self._consumer.wake(self._at)


def first_error(answers: Iterable[Message]) -> Error:
    """The first error of an answer's parts; NONE if all went well."""
    return next(
        (Error(each.error_code) for each in answers if each.error_code), Error.NONE
    )


def topics_of(offsets: Offsets) -> list[dict[str, Any]]:
    """The offsets of a commit, as a request lists them."""
    return nested(
        (
            partition.topic,
            {
                "partition_index": partition.partition,
                "committed_offset": each.offset,
                "committed_leader_epoch": each.leader_epoch,
                "committed_metadata": each.metadata,
            },
        )
        for partition, each in offsets.items()
    )
