"""The state of a transactional id, and which state may follow which
(transactions.py).
"""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from minikafka.cluster.metadata import TopicPartition
from minikafka.coordinators.runtime import CoordinatorRecord
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested

NO_PRODUCER_ID, NO_EPOCH, NO_TIME = -1, -1, -1
LAST_EPOCH = 2**15 - 2  # of a producer
FENCE_EPOCH = LAST_EPOCH + 1  # reserved for fencing it
ID_BYTES, PARTITION_BYTES = 1000, 150  # in memory
V2 = 2  # the transaction.version from which on each transaction has an epoch of its own


class Status(IntEnum):
    """The state of a transactional id; numbered as in the record."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6  # expired; its record is a tombstone
    # on the way from Ongoing to PrepareAbort; never in a record
    PREPARE_EPOCH_FENCE = 7

    @property
    def word(self) -> str:
        """The state's name as administrators see it: PrepareCommit."""
        return self.name.title().replace("_", "")


COMPLETE = (Status.COMPLETE_COMMIT, Status.COMPLETE_ABORT)
IDLE = (Status.EMPTY, *COMPLETE)
OPEN = (Status.ONGOING,)
OPEN_OR_IDLE = (*OPEN, *IDLE)
PREPARED = (Status.PREPARE_COMMIT, Status.PREPARE_ABORT)

# From which states, by which event, to which state.
STEPS: tuple[tuple[tuple[Status, ...], str, Status], ...] = (
    (IDLE, "InitProducerId", Status.EMPTY),
    (OPEN_OR_IDLE, "AddPartitionsToTxn, AddOffsetsToTxn", Status.ONGOING),
    (OPEN, "EndTxn: commit", Status.PREPARE_COMMIT),
    (OPEN_OR_IDLE, "EndTxn: abort", Status.PREPARE_ABORT),
    (OPEN, "InitProducerId, or time is over", Status.PREPARE_EPOCH_FENCE),
    ((Status.PREPARE_EPOCH_FENCE,), "at once", Status.PREPARE_ABORT),
    ((Status.PREPARE_COMMIT,), "all markers written", Status.COMPLETE_COMMIT),
    ((Status.PREPARE_ABORT,), "all markers written", Status.COMPLETE_ABORT),
    (IDLE, "transactional.id.expiration.ms without use", Status.DEAD),
)


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transactional id: its producer, and its current or last transaction.

    Times are wall clock ms. previous_producer_id and last_producer_epoch (not in the
    record) help to recognize a repeated request. client_version: transaction.version of
    the producer that ended it. next_producer_id: its next id, if the transaction ends
    with the last epoch.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int = NO_EPOCH
    timeout_ms: int = 0
    status: Status = Status.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = NO_TIME
    update_ms: int = NO_TIME
    last_producer_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    client_version: int = 0
    next_producer_id: int = NO_PRODUCER_ID

    def to(self, status: Status, **changes: Any) -> "Transaction":
        """The same with another status. Asserts that the table has such a step."""
        steps = [before for before, _, after in STEPS if after is status]
        assert any(self.status in before for before in steps), (self.status, status)
        return replace(self, status=status, **changes)

    @property
    def is_exhausted(self) -> bool:
        """Whether the producer id has no epochs left."""
        return self.producer_epoch >= LAST_EPOCH

    @property
    def size_bytes(self) -> int:
        """Roughly how much memory it takes."""
        partitions_bytes = PARTITION_BYTES * len(self.partitions)
        return ID_BYTES + len(self.transactional_id) + partitions_bytes

    @property
    def goes_on_as(self) -> tuple[int, int]:
        """The id and epoch with which its producer continues, also while markers are
        still being written.
        """
        if self.next_producer_id != NO_PRODUCER_ID:
            return self.next_producer_id, 0
        return self.producer_id, self.producer_epoch

    def check_producer_id(self, expected: tuple[int, int] | None) -> None:
        """Check the id that a producer names. It may be the one before the current id,
        if that had no epochs left: the answer with the new id may have got lost.
        Errors: PRODUCER_FENCED.
        """
        is_first = self.producer_epoch == NO_EPOCH
        if expected is None or is_first:
            return
        producer_id, epoch = expected
        if producer_id == self.producer_id:
            return
        had_no_epochs_left = epoch >= LAST_EPOCH
        if producer_id != self.previous_producer_id or not had_no_epochs_left:
            raise KafkaError(Error.PRODUCER_FENCED)

    def begun_again(
        self, expected: tuple[int, int] | None, new_producer_id: int, timeout_ms: int
    ) -> "Transaction":
        """A producer starts with this id. expected: the id and epoch that it says it
        has (KIP-360); without them it is a new producer, and the current one is fenced.
        Errors: PRODUCER_FENCED.
        """
        self.check_producer_id(expected)
        changes: dict[str, Any] = {
            "timeout_ms": timeout_ms,
            "partitions": frozenset(),
            "start_ms": NO_TIME,
        }
        is_first = self.producer_epoch == NO_EPOCH
        expected_epoch = None if expected is None else expected[1]
        is_current = expected_epoch in (None, self.producer_epoch)
        if not is_current and not is_first:
            if expected_epoch != self.last_producer_epoch:
                raise KafkaError(Error.PRODUCER_FENCED)
            return self.to(Status.EMPTY, **changes)  # the answer had got lost
        last_epoch = NO_EPOCH if expected is None else self.producer_epoch
        changes["last_producer_epoch"] = last_epoch
        if self.is_exhausted and is_current:
            changes["producer_id"] = new_producer_id
            changes["producer_epoch"] = 0
            changes["previous_producer_id"] = self.producer_id
        else:
            changes["producer_epoch"] = self.producer_epoch + 1
        return self.to(Status.EMPTY, **changes)

    def fenced(self, version: int, new_producer_id: int) -> "Transaction":
        """The coordinator aborts the transaction, with an epoch that no producer has.
        version: transaction.version of the cluster.
        """
        epoch = min(self.producer_epoch + 1, FENCE_EPOCH)
        fence = self.to(Status.PREPARE_EPOCH_FENCE, producer_epoch=epoch)
        is_of_v2 = version >= V2
        needs_new_id = is_of_v2 and self.is_exhausted
        return fence.to(
            Status.PREPARE_ABORT,
            client_version=version,
            last_producer_epoch=self.producer_epoch if is_of_v2 else NO_EPOCH,
            next_producer_id=new_producer_id if needs_new_id else NO_PRODUCER_ID,
        )

    def ended(
        self, committed: bool, version: int, new_producer_id: int, now_ms: int
    ) -> "Transaction":
        """The producer ends its transaction, in transactions v2 with a new epoch."""
        status = Status.PREPARE_COMMIT if committed else Status.PREPARE_ABORT
        if version < V2:
            return self.to(status, client_version=0)
        # A producer with the fencing epoch, which shouldn't exist, may abort. There is
        # no epoch left for a commit, so that fails.
        highest = FENCE_EPOCH + 1 if committed else FENCE_EPOCH
        begins_now = self.status in IDLE  # no partition has joined
        return self.to(
            status,
            client_version=version,
            producer_epoch=min(self.producer_epoch + 1, highest),
            last_producer_epoch=self.producer_epoch,
            start_ms=now_ms if begins_now else self.start_ms,
            next_producer_id=new_producer_id if self.is_exhausted else NO_PRODUCER_ID,
        )

    def completed(self) -> "Transaction":
        """Every partition has its marker."""
        committed = self.status is Status.PREPARE_COMMIT
        status = Status.COMPLETE_COMMIT if committed else Status.COMPLETE_ABORT
        done = self.to(status, partitions=frozenset())
        if self.next_producer_id == NO_PRODUCER_ID:
            return done
        producer_id, epoch = self.goes_on_as
        return replace(
            done,
            producer_id=producer_id,
            producer_epoch=epoch,
            next_producer_id=NO_PRODUCER_ID,
            previous_producer_id=self.producer_id,
        )

    def is_end_again(self, producer_id: int, epoch: int) -> bool:
        """Whether a request to end the transaction with this id and epoch, in
        transactions v2, repeats an earlier one.
        """
        if self.status not in COMPLETE:
            return False
        if producer_id == self.producer_id and epoch + 1 == self.producer_epoch:
            return True
        # that was the last epoch, so the next transaction has another producer id
        has_new_id = self.producer_epoch == 0 and epoch == LAST_EPOCH
        return has_new_id and producer_id == self.previous_producer_id

    def record(self, was: "Transaction") -> CoordinatorRecord:
        partitions = None
        if self.status is not Status.EMPTY:
            partitions = nested(sorted(self.partitions), "topic", "partition_ids")
        value = {
            "producer_id": self.producer_id,
            "previous_producer_id": was.producer_id,
            "next_producer_id": self.next_producer_id,
            "producer_epoch": self.producer_epoch,
            "transaction_timeout_ms": self.timeout_ms,
            "transaction_status": self.status,
            "transaction_partitions": partitions,
            "transaction_last_update_timestamp_ms": self.update_ms,
            "transaction_start_timestamp_ms": self.start_ms,
            "client_transaction_version": self.client_version,
        }
        key = {"transactional_id": self.transactional_id}
        return CoordinatorRecord("TransactionLog", key, value)


def from_record(key: Message, value: Message) -> Transaction:
    """The transaction that a record describes."""
    partitions: set[TopicPartition] = set()
    for topic in value.transaction_partitions or ():
        for number in topic.partition_ids:
            partitions.add((topic.topic, number))
    return Transaction(
        key.transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        status=Status(value.transaction_status),
        partitions=frozenset(partitions),
        start_ms=value.transaction_start_timestamp_ms,
        update_ms=value.transaction_last_update_timestamp_ms,
        previous_producer_id=value.previous_producer_id,
        client_version=value.client_transaction_version,
        next_producer_id=value.next_producer_id,
    )
