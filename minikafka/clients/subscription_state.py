"""A consumer's subscription: its topics, the partitions that it has, its position in
each of them, and the records that were fetched and not returned yet.

All parts of a consumer work on this: the membership takes partitions over and gives
them back, positions are looked up, records fetched. An error for the program's next
poll is kept here, too.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from minikafka.clients.connection import Client
from minikafka.clients.errors import IllegalStateError
from minikafka.clients.items import Item
from minikafka.clients.request_state import Question, RequestState
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.trace import Reason


@dataclass
class Fetched:
    """The answer to one fetch for one partition; its batches are decoded one at a time,
    when they are reached.
    """

    items: Iterator[Item]
    cause: Any
    ahead: Item | None = None

    def peek(self) -> Item | None:
        if self.ahead is None:
            self.ahead = next(self.items, None)
        return self.ahead

    def take(self) -> Item:
        """Take the item that peek() has shown."""
        assert self.ahead is not None
        taken = self.ahead
        self.ahead = None
        return taken


@dataclass
class Assigned:
    """A partition that a consumer reads.

    fetch: the state of the request for its records. position: the next offset to
    return, None until known. reset: "earliest" or "latest" if the program asked for it.
    question: the open request for the position; its answer is ignored after a seek.
    why: the reason for the next reset, if it isn't the usual one. stopped: the
    partition is about to be given back to the group, and isn't read any more.
    """

    fetch: RequestState
    position: int | None = None
    reset: str | None = None
    question: Question | None = None
    paused: bool = False
    stopped: bool = False
    high_watermark: int | None = None
    fetched: Fetched | None = None
    why: Reason | None = None
    # auto_offset_reset skipped the records that were there before
    started_at_end: bool = False
    leader_epoch: int = -1  # of the last record before the position, if known
    # epoch of the leader whose log was found to have that record (KIP-320)
    validated_epoch: int = -1

    @property
    def readable(self) -> bool:
        """Whether its records may be returned."""
        return not self.paused and not self.stopped

    def holds_record(self) -> bool:
        """Whether a record is there. Skips offsets without records; raises KafkaError
        for a damaged batch.
        """
        if self.fetched is None:
            return False
        item = self.fetched.peek()
        while item is not None and item.record is None:
            passed = self.fetched.take()
            self.position = passed.next_offset
            self.leader_epoch = passed.leader_epoch
            item = self.fetched.peek()
        if item is None:
            self.fetched = None
        return item is not None

    def in_doubt(self, epoch: int) -> bool:
        """Whether a leader of this epoch may lack records that were read: the leader of
        the last record's own epoch has them.
        """
        known = max(self.leader_epoch, self.validated_epoch)
        return self.position is not None and self.leader_epoch >= 0 and known < epoch

    def move(
        self, offset: int | None, reset: str | None = None, leader_epoch: int = -1
    ) -> None:
        self.position = offset
        self.reset = reset
        self.question = None
        self.fetched = None
        self.why = None
        self.leader_epoch = leader_epoch
        self.validated_epoch = -1
        self.started_at_end = False


class SubscriptionState:
    """The subscription of one consumer, and its partitions.

    topics: subscribed to; empty with assign(). in_poll: the program is in poll(), so it
    has processed all records that it was given. error: raised by the next take().
    remarks: hints for the person at the screen.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self.topics: list[str] = []
        self.assigned: dict[TopicPartition, Assigned] = {}
        self.in_poll = False
        self.error: Exception | None = None
        self.remarks: list[str] = []

    def held(self, partition: TopicPartition) -> Assigned:
        if partition not in self.assigned:
            names = ", ".join(map(str, self.assigned)) or "nothing yet"
            raise IllegalStateError(
                f"{TopicPartition(*partition)} is not assigned to {self._client.name},"
                f" which has {names}"
            )
        return self.assigned[partition]

    def unread(self) -> Assigned:
        """The initial state of a partition that was just assigned."""
        return Assigned(RequestState(self._client, self._client.metadata))

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The positions that a commit without explicit offsets commits."""
        offsets = {}
        for partition, held in self.assigned.items():
            if held.position is not None:
                offset = OffsetAndMetadata(held.position, "", held.leader_epoch)
                offsets[partition] = offset
        return offsets

    # for the group

    def grant(self, partitions: Iterable[TopicPartition]) -> None:
        """Take over partitions that the group has assigned."""
        for partition in partitions:
            self.assigned[partition] = self.unread()
            self._client.metadata.want(partition.topic)

    def stop(self, partitions: Iterable[TopicPartition]) -> None:
        """Return no more records of these partitions: they are about to be
        given back.
        """
        for partition in partitions:
            self.assigned[partition].stopped = True

    def drop(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget partitions that were given back or lost."""
        for partition in partitions:
            self.assigned.pop(partition, None)
