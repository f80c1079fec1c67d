"""Committed offsets: a group's progress, kept by its coordinator, where it outlives the
members.

The offset committed for a partition is the one to continue from: the next record's, not
the last one's. A member that gets a partition starts there, so records that are
committed too late are read twice after a crash, and records that are committed before
they are processed may never be processed.

With enable_auto_commit the consumer itself commits the positions of all its partitions:
in poll(), when auto_commit_interval_ms is over and before it returns new records;
before it gives partitions back; and on close(). commit() waits and retries,
commit_async() tries once.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from minikafka.clients.errors import refusal
from minikafka.clients.membership import Membership
from minikafka.clients.request_state import Question
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested

Offsets = Mapping[TopicPartition, OffsetAndMetadata]

# Refusals that concern the membership: the member decides what they mean for it.
MEMBERSHIP = (
    Error.UNKNOWN_MEMBER_ID,
    Error.ILLEGAL_GENERATION,
    Error.REBALANCE_IN_PROGRESS,
    Error.FENCED_INSTANCE_ID,
    Error.STALE_MEMBER_EPOCH,
)
ONCE = ("async", "auto")  # commits that are not retried


class OffsetRequest(Question):
    """A request about committed offsets, to the group's coordinator."""

    def __init__(self, membership: Membership) -> None:
        super().__init__(membership.client, membership.coordinator)
        self.membership = membership
        self.client = membership.client
        self.coordinator = membership.coordinator
        self.identity = ("", -1)  # the identity under which it was sent

    def attempt(self) -> None:
        if self.coordinator.error is not None:
            self.fail(self.coordinator.error)
        elif self.coordinator.ready():
            takes_part = self.membership.takes_part
            self.identity = self.membership.identity if takes_part else ("", -1)
            self.send()

    def send(self) -> None:
        raise NotImplementedError

    def request(self, api: str, body: dict[str, Any]) -> None:
        self.coordinator.request(api, body, self.state.sent(self.answered, self.lost))

    def answered(self, response: Message) -> None:
        raise NotImplementedError

    def lost(self) -> None:
        """The connection was lost before the answer arrived."""


class OffsetFetch(OffsetRequest):
    """Asks for committed offsets. The value is {partition: OffsetAndMetadata, or None
    if nothing is committed}.
    """

    def __init__(
        self, membership: Membership, partitions: Iterable[TopicPartition]
    ) -> None:
        super().__init__(membership)
        self._partitions = list(partitions)

    def send(self) -> None:
        topics = nested(self._partitions, partitions="partition_indexes")
        group: dict[str, Any] = {
            "group_id": self.coordinator.group_id,
            "topics": topics,
        }
        member_id, member_epoch = self.identity
        if self.client.config["group_protocol"] == "consumer" and member_id:
            group["member_id"] = member_id
            group["member_epoch"] = member_epoch
        self.request("OffsetFetch", {"groups": [group], "require_stable": True})

    def answered(self, response: Message) -> None:
        (group,) = response.groups
        parts = [part for topic in group.topics for part in topic.partitions]
        error = first_error([group, *parts])
        if error in (Error.STALE_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID):
            self.state.back_off()  # the next heartbeat updates the epoch
        elif error is Error.NONE:
            self.succeed(self._committed(group))
        elif not self.state.refused(error):
            self.fail(refusal(error))

    def _committed(
        self, group: Message
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        committed: dict[TopicPartition, OffsetAndMetadata | None]
        committed = dict.fromkeys(self._partitions)
        for topic in group.topics:
            for part in topic.partitions:
                partition = TopicPartition(topic.name, part.partition_index)
                if partition in committed and part.committed_offset >= 0:
                    committed[partition] = OffsetAndMetadata(
                        part.committed_offset,
                        part.metadata or "",
                        part.committed_leader_epoch,
                    )
        return committed


class OffsetCommit(OffsetRequest):
    """A commit. Its value is True.

    how: the kind of commit: "sync", "async", "auto", "revoke", "close". gives_up_at:
    ms; None if the shell decides.
    """

    def __init__(
        self,
        membership: Membership,
        offsets: Offsets,
        how: str,
        gives_up_at: int | None = None,
    ) -> None:
        super().__init__(membership)
        self._offsets = offsets
        self._how = how
        self._gives_up_at = gives_up_at

    def attempt(self) -> None:
        error: Exception | None = None
        if self.membership.takes_part:
            error = self.membership.why_no_commit()
        if self._gives_up_at is not None and self._gives_up_at <= self.client.now_ms:
            why = "the coordinator could not be reached in time"
            error = KafkaError(Error.REQUEST_TIMED_OUT, why)
        if error is not None:
            self.fail(error)
        else:
            super().attempt()

    def send(self) -> None:
        self._emit("CommitSent", how=self._how)
        member_id, generation = self.identity
        instance_id = self.client.config["group_instance_id"]
        body = {
            "group_id": self.coordinator.group_id,
            "member_id": member_id,
            "generation_id_or_member_epoch": generation,
            "group_instance_id": instance_id if member_id else None,
            "topics": topics_of(self._offsets),
        }
        self.request("OffsetCommit", body)

    def answered(self, response: Message) -> None:
        parts = [part for topic in response.topics for part in topic.partitions]
        error = first_error(parts)
        if error is Error.NONE:
            self._emit("CommitAcknowledged")
            self.succeed(True)
        elif error in MEMBERSHIP:
            self.fail(self.membership.commit_refused(error, self.identity), error)
        else:
            has_no_topic = error is Error.UNKNOWN_TOPIC_OR_PARTITION
            is_final = has_no_topic or not self.state.refused(error)
            if is_final or self._how in ONCE:
                self.fail(refusal(error), error)

    def lost(self) -> None:
        if self._how in ONCE:
            error = Error.COORDINATOR_NOT_AVAILABLE
            self.fail(refusal(error), error)

    def fail(self, exception: BaseException, refused: Error | None = None) -> None:
        """refused: the coordinator's error. Nothing happens if the shell has given the
        commit up.
        """
        if self in self.client.questions:
            name = type(exception).__name__ if refused is None else refused.name
            self._emit("CommitFailed", error=name)
            super().fail(exception)

    def _emit(self, kind: str, /, **detail: Any) -> None:
        if not self.client.trace:
            return
        shown = []
        for (topic, number), each in self._offsets.items():
            shown.append([topic, number, each.offset])
        group = self.coordinator.group_id
        self.client.trace.emit(kind, group=group, offsets=shown, **detail)


class AutoCommit:
    """Commits the positions of one consumer automatically (enable_auto_commit)."""

    def __init__(self, membership: Membership) -> None:
        self._membership = membership
        self._client = membership.client
        self._subscription = membership.subscription
        self._at: int | None = None  # None: before the first poll

    def before_revoking(self, done: Callable[[], None]) -> None:
        """Commit before partitions are given back; then call done().

        done is also called if the commit can't be finished before the group would go on
        without this member.
        """
        offsets = self._subscription.consumed()
        if not self._client.config["enable_auto_commit"] or not offsets:
            done()
            return
        interval_ms = int(self._client.config["max_poll_interval_ms"])
        until = self._client.now_ms + interval_ms
        commit = OffsetCommit(self._membership, offsets, "revoke", until)
        commit.add_callback(lambda _: done()).add_errback(lambda _: done())
        self._client.questions.ask(commit)

    def work(self) -> None:
        client, membership = self._client, self._membership
        if not client.config["enable_auto_commit"] or not self._subscription.in_poll:
            return
        interval_ms = int(client.config["auto_commit_interval_ms"])
        if self._at is None:
            self._at = client.now_ms + interval_ms
        if membership.takes_part and membership.in_rebalance:
            return  # it commits before it gives partitions back anyway
        if self._at <= client.now_ms:
            self._at = client.now_ms + interval_ms
            if not membership.takes_part or membership.why_no_commit() is None:
                self._commit()
        client.wake(self._at)

    def _commit(self) -> None:
        offsets = self._subscription.consumed()
        if offsets:
            commit = OffsetCommit(self._membership, offsets, "auto")
            commit.add_errback(lambda error: self._failed(commit, error))
            self._client.questions.ask(commit)

    def _failed(self, commit: OffsetCommit, error: Exception) -> None:
        if isinstance(error, KafkaError) and error.error.retriable:
            self._at = commit.state.at_ms
            self._client.wake(self._at)


def first_error(answers: Iterable[Message]) -> Error:
    """The first error in the parts of an answer; NONE if there is none."""
    for each in answers:
        if each.error_code:
            return Error(each.error_code)
    return Error.NONE


def topics_of(offsets: Offsets) -> list[dict[str, Any]]:
    """The offsets of a commit, as a request lists them."""
    parts = []
    for (topic, number), each in offsets.items():
        part = {
            "partition_index": number,
            "committed_offset": each.offset,
            "committed_leader_epoch": each.leader_epoch,
            "committed_metadata": each.metadata,
        }
        parts.append((topic, part))
    return nested(parts)
