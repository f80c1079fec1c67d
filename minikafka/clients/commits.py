"""Committed offsets: how far a group has come, kept by its coordinator, outliving its members.

The offset committed for a partition is the one to go on from: the next record's, not the last one's. A member that is
given a partition starts there, so what is committed too late is read twice after a crash, and what is committed before
its work is done may never be done.

With enable_auto_commit the consumer commits by itself the positions of all its partitions: in poll(), when
auto_commit_interval_ms is over and before anything new is handed over; before it gives partitions back; on close().
commit() waits and tries again, commit_async() tries once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minikafka.clients.coordinator import MOVED, Coordinator
from minikafka.clients.errors import refusal
from minikafka.clients.future import Future
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

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
# The same question again may be answered.
LATER = (*MOVED, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.REQUEST_TIMED_OUT, Error.UNSTABLE_OFFSET_COMMIT)
STALE = (Error.STALE_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID)


@dataclass(eq=False)
class Commit:
    """offsets is None for a question: what is committed for these partitions?

    gives_up_at: ms; None: tried until the caller gives up. once: not tried again.
    """

    future: Future
    partitions: list[TopicPartition]
    offsets: Offsets | None = None
    how: str = ""
    once: bool = False
    gives_up_at: int | None = None
    retry_at: int = 0
    in_flight: bool = False


class Commits:
    """The commits and questions of one consumer that are not answered yet."""

    def __init__(self, consumer: Consumer, coordinator: Coordinator) -> None:
        self._consumer = consumer
        self._coordinator = coordinator
        self._open: list[Commit] = []
        self._auto_at: int | None = None

    # for the consumer and its shell

    def begin(self, offsets: Offsets, how: str) -> Future:
        """Commit. how: "sync" (tried again until give_up()), "async" (once), "close"; the future's value is True."""
        future = Future()
        self._begin(Commit(future, list(offsets), offsets, how, once=how == "async"))
        return future

    def begin_auto(self, how: str, done: Callable[[], None]) -> None:
        """Before partitions are given back: commit the positions, if the consumer does so by itself; then done().

        done is called too if it can't be done before the group would go on without this member.
        """
        offsets = self._consumer.positions.consumed()
        if not self._consumer.config["enable_auto_commit"] or not offsets:
            done()
            return
        until = self._consumer.now_ms + int(self._consumer.config["max_poll_interval_ms"])
        future = Future()
        future.add_callback(lambda _: done()).add_errback(lambda _: done())
        self._begin(Commit(future, list(offsets), offsets, how, gives_up_at=until))

    def committed(self, partitions: Iterable[TopicPartition]) -> Future:
        """Ask: the future's value is {partition: OffsetAndMetadata, or None where nothing is committed}."""
        future = Future()
        self._begin(Commit(future, list(partitions)))
        return future

    def give_up(self, future: Future) -> None:
        """Nobody waits for it any more."""
        self._open = [each for each in self._open if each.future is not future]

    def work(self) -> None:
        self._auto_commit()
        for each in list(self._open):
            if not each.in_flight and each.retry_at <= self._consumer.now_ms:
                self._try(each)

    def next_work(self) -> list[int | None]:
        found: list[int | None] = [self._auto_at] if self._may_auto_commit() else []
        for each in self._open:
            if not each.in_flight:
                due = each.retry_at > self._consumer.now_ms
                found.append(each.retry_at if due else self._coordinator.next_chance())
        return found

    # inside

    def _auto_commit(self) -> None:
        now, interval_ms = self._consumer.now_ms, int(self._consumer.config["auto_commit_interval_ms"])
        if self._auto_at is None and self._consumer.in_poll:
            self._auto_at = now + interval_ms
        if self._may_auto_commit() and self._auto_at is not None and self._auto_at <= now:
            self._auto_at = now + interval_ms
            offsets = self._consumer.positions.consumed()
            if offsets and self._may_commit() is None:
                self._begin(Commit(Future().add_errback(self._auto_failed), list(offsets), offsets, "auto", once=True))

    def _may_auto_commit(self) -> bool:
        """While a rebalance is on its way a member doesn't: it commits before it gives anything back."""
        member = self._consumer.membership
        settled = member is None or not self._consumer.topics or member.settled
        return self._consumer.in_poll and bool(self._consumer.config["enable_auto_commit"]) and settled

    def _auto_failed(self, error: Exception) -> None:
        if isinstance(error, KafkaError) and error.error.retriable:
            self._auto_at = self._consumer.now_ms + self._consumer.retry_backoff_ms

    def _begin(self, commit: Commit) -> None:
        self._open.append(commit)
        self._try(commit)

    def _may_commit(self) -> Exception | None:
        """Why a commit makes no sense now. Who has assigned its partitions by itself may always try."""
        if self._consumer.membership is None or not self._consumer.topics:
            return None
        try:
            self._consumer.membership.may_commit()
        except KafkaError as error:
            return error
        return None

    def _try(self, commit: Commit) -> None:
        if commit.gives_up_at is not None and commit.gives_up_at <= self._consumer.now_ms:
            self._end(commit, KafkaError(Error.REQUEST_TIMED_OUT, "the coordinator could not be reached in time"))
            return
        error = None if commit.offsets is None else self._may_commit()
        if error is not None:
            self._end(commit, error)
        elif self._coordinator.error is not None:
            self._end(commit, self._coordinator.error)
        elif self._coordinator.ready():
            commit.in_flight = True
            self._send(commit)

    def _send(self, commit: Commit) -> None:
        identity = self._identity()
        if commit.offsets is None:
            api, body = "OffsetFetch", self._question(commit.partitions, identity)
        else:
            api, body = "OffsetCommit", self._commit(commit.offsets, identity)
            self._emit("CommitSent", commit.offsets, how=commit.how)

        def answer(response: Message) -> None:
            commit.in_flight = False
            if commit.offsets is None:
                self._told(commit, response.groups[0])
            else:
                errors = [Error(part.error_code) for topic in response.topics for part in topic.partitions]
                self._committed(commit, next((each for each in errors if each is not Error.NONE), Error.NONE), identity)

        def failed() -> None:
            commit.in_flight = False
            self._later(commit, Error.COORDINATOR_NOT_AVAILABLE)

        self._coordinator.request(api, body, answer, failed=failed)

    def _identity(self) -> tuple[str, int]:
        member = self._consumer.membership
        return ("", -1) if member is None or not self._consumer.topics else member.identity

    def _commit(self, offsets: Offsets, identity: tuple[str, int]) -> dict[str, Any]:
        topics: dict[str, list[dict[str, Any]]] = {}
        for partition, each in offsets.items():
            part = {
                "partition_index": partition.partition,
                "committed_offset": each.offset,
                "committed_leader_epoch": each.leader_epoch,
                "committed_metadata": each.metadata,
            }
            topics.setdefault(partition.topic, []).append(part)
        return {
            "group_id": self._coordinator.group_id,
            "member_id": identity[0],
            "generation_id_or_member_epoch": identity[1],
            "group_instance_id": self._consumer.config["group_instance_id"] if identity[0] else None,
            "topics": [{"name": topic, "partitions": parts} for topic, parts in topics.items()],
        }

    def _question(self, partitions: Iterable[TopicPartition], identity: tuple[str, int]) -> dict[str, Any]:
        topics: dict[str, list[int]] = {}
        for topic, number in partitions:
            topics.setdefault(topic, []).append(number)
        group: dict[str, Any] = {
            "group_id": self._coordinator.group_id,
            "topics": [{"name": topic, "partition_indexes": numbers} for topic, numbers in topics.items()],
        }
        if self._consumer.config["group_protocol"] == "consumer" and identity[0]:
            group |= {"member_id": identity[0], "member_epoch": identity[1]}
        return {"groups": [group], "require_stable": True}

    def _committed(self, commit: Commit, error: Error, identity: tuple[str, int]) -> None:
        assert commit.offsets is not None
        if error is Error.NONE:
            self._emit("CommitAcknowledged", commit.offsets)
            self._end(commit, None, True)
        elif error in LATER:
            self._later(commit, error)
        elif error in MEMBERSHIP and self._consumer.membership is not None:
            self._end(commit, self._consumer.membership.commit_refused(error, identity), refused=error)
        else:
            self._end(commit, refusal(error), refused=error)

    def _told(self, commit: Commit, group: Message) -> None:
        parts = [(topic.name, part) for topic in group.topics for part in topic.partitions]
        errors = [Error(group.error_code), *(Error(part.error_code) for _, part in parts)]
        error = next((each for each in errors if each is not Error.NONE), Error.NONE)
        if error in LATER or error in STALE:
            self._later(commit, error)
        elif error is not Error.NONE:
            self._end(commit, refusal(error))
        else:
            found = {
                TopicPartition(topic, part.partition_index): (
                    OffsetAndMetadata(part.committed_offset, part.metadata or "", part.committed_leader_epoch)
                    if part.committed_offset >= 0
                    else None
                )
                for topic, part in parts
            }
            self._end(commit, None, {partition: found.get(partition) for partition in commit.partitions})

    def _later(self, commit: Commit, error: Error) -> None:
        if error in MOVED or error is Error.REQUEST_TIMED_OUT:
            self._coordinator.lost()
        if commit.once:
            self._end(commit, refusal(error), refused=error)
        else:
            commit.retry_at = self._consumer.now_ms + self._consumer.retry_backoff_ms

    def _end(self, commit: Commit, error: Exception | None, value: Any = None, refused: Error | None = None) -> None:
        if commit not in self._open:
            return  # given up
        self._open.remove(commit)
        if error is None:
            commit.future.succeed(value)
            return
        if commit.offsets is not None:
            name = refused.name if refused is not None else type(error).__name__
            self._emit("CommitFailed", commit.offsets, error=name)
        commit.future.fail(error)

    def _emit(self, kind: str, offsets: Offsets, /, **detail: Any) -> None:
        if self._consumer.trace:
            shown = [[topic, number, each.offset] for (topic, number), each in offsets.items()]
            self._consumer.trace.emit(kind, group=self._coordinator.group_id, offsets=shown, **detail)
