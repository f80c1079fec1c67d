"""The transaction coordinator: what transactional ids are doing (KIP-98, KIP-360, KIP-447, KIP-664).

A transaction writes to many partitions, all or nothing. Somebody must remember which partitions these are and how it
ended: the coordinator of its transactional id, in a partition of `__transaction_state`. Every step is a record there
(runtime.py), so another broker can take over in the middle:

    1  InitProducerId        who comes with a transactional id gets a producer id and a new epoch. Whoever had an older
                             epoch is fenced, and what it had open is aborted.
    2  AddPartitionsToTxn    before the first batch to a partition; AddOffsetsToTxn for the partition of a group.
    3  EndTxn                the decision. When the record PrepareCommit or PrepareAbort is committed, the transaction
                             has ended so, whatever happens next, and the producer hears of it.
    4  WriteTxnMarkers       each partition is told; again and again, until each has the marker.
    5  CompleteCommit, -Abort  nothing is left to do. The next transaction may begin.

STEPS is the whole of it: which state may follow which, and what leads there. An `Ongoing` transaction whose time is
over is ended by the coordinator, as if a new producer had come: epoch + 1, PrepareAbort. (Apache Kafka:
TransactionCoordinator, TransactionMetadata.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Protocol

from minikafka.clock import Now
from minikafka.cluster.waiting import Answer
from minikafka.coordinators.deadlines import Deadlines
from minikafka.coordinators.runtime import CoordinatorRecord, Decision
from minikafka.coordinators.subscriptions import compiled
from minikafka.trace import Reason, Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message
from minikafka.wire.topics import nested

NO_PRODUCER_ID, NO_EPOCH, NO_TIME = -1, -1, -1
LAST_EPOCH = 2**15 - 2  # of a producer: one more is left to fence it

PRODUCER_CAME = Reason("producer_came", "a producer with its transactional id came")
PARTITIONS_JOIN = Reason("partitions_join", "partitions joined it")
COMMITS = Reason("producer_commits", "its producer commits")
ABORTS = Reason("producer_aborts", "its producer aborts")
TIME_IS_OVER = Reason("transaction_timeout", "its producer took longer than transaction.timeout.ms")
MARKERS_WRITTEN = Reason("markers_written", "every partition has its marker")
EXPIRED = Reason("transactional_id_expired", "nobody has used it for transactional.id.expiration.ms")

TopicPartition = tuple[str, int]


class Status(IntEnum):
    """Where a transactional id is; numbered as in the record."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6  # expired; its record is a tombstone
    PREPARE_EPOCH_FENCE = 7  # on the way from Ongoing to PrepareAbort; never in a record

    @property
    def word(self) -> str:
        """As administrators read it: PrepareCommit."""
        return self.name.title().replace("_", "")


IDLE = (Status.EMPTY, Status.COMPLETE_COMMIT, Status.COMPLETE_ABORT)
PREPARED = (Status.PREPARE_COMMIT, Status.PREPARE_ABORT)

# From which states, what leads where.
STEPS: tuple[tuple[tuple[Status, ...], str, Status], ...] = (
    (IDLE, "InitProducerId", Status.EMPTY),
    ((Status.ONGOING, *IDLE), "AddPartitionsToTxn, AddOffsetsToTxn", Status.ONGOING),
    ((Status.ONGOING,), "EndTxn: commit", Status.PREPARE_COMMIT),
    ((Status.ONGOING,), "EndTxn: abort", Status.PREPARE_ABORT),
    ((Status.ONGOING,), "InitProducerId, or time is over", Status.PREPARE_EPOCH_FENCE),
    ((Status.PREPARE_EPOCH_FENCE,), "at once", Status.PREPARE_ABORT),
    ((Status.PREPARE_COMMIT,), "all markers written", Status.COMPLETE_COMMIT),
    ((Status.PREPARE_ABORT,), "all markers written", Status.COMPLETE_ABORT),
    (IDLE, "transactional.id.expiration.ms without use", Status.DEAD),
)


class Configs(Protocol):
    """Broker configs by Kafka's names, typed."""

    def __getitem__(self, name: str, /) -> Any: ...


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transactional id: its producer, and the transaction that it has open or had last.

    Times are wall clock ms. Not in the record: last_producer_epoch and previous_producer_id, by which an InitProducerId
    that comes again is known.
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

    def to(self, status: Status, **changes: Any) -> Transaction:
        """One step of the table."""
        assert any(self.status in before and status is after for before, _, after in STEPS), (self.status, status)
        return replace(self, status=status, **changes)

    @property
    def is_exhausted(self) -> bool:
        """Whether the producer id has no epochs left."""
        return self.producer_epoch >= LAST_EPOCH

    def check_producer_id(self, expected: tuple[int, int] | None) -> None:
        """A producer may name the id before this one if that had no epochs left: the answer that told it the new one
        may have got lost. Errors: PRODUCER_FENCED.
        """
        if expected is None or self.producer_epoch == NO_EPOCH or expected[0] == self.producer_id:
            return
        if expected[0] != self.previous_producer_id or expected[1] < LAST_EPOCH:
            raise KafkaError(Error.PRODUCER_FENCED)

    def begun_again(self, expected: tuple[int, int] | None, new_producer_id: int, timeout_ms: int) -> Transaction:
        """A producer comes. expected: the id and epoch that it says it has (KIP-360); without them it is a new one, and
        whoever is there is fenced. Errors: PRODUCER_FENCED.
        """
        fresh = self.producer_epoch == NO_EPOCH
        self.check_producer_id(expected)
        last_epoch = NO_EPOCH if expected is None else self.producer_epoch
        to_empty: dict[str, Any] = {"timeout_ms": timeout_ms, "partitions": frozenset(), "start_ms": NO_TIME}
        if self.is_exhausted and (expected is None or expected[1] == self.producer_epoch):
            ids = {"producer_id": new_producer_id, "producer_epoch": 0, "previous_producer_id": self.producer_id}
            return self.to(Status.EMPTY, **ids, last_producer_epoch=last_epoch, **to_empty)
        if expected is None or fresh or expected[1] == self.producer_epoch:
            next_epoch = self.producer_epoch + 1
            return self.to(Status.EMPTY, producer_epoch=next_epoch, last_producer_epoch=last_epoch, **to_empty)
        if expected[1] == self.last_producer_epoch:
            return self.to(Status.EMPTY, **to_empty)  # the answer got lost
        raise KafkaError(Error.PRODUCER_FENCED)

    def fenced(self) -> Transaction:
        """Aborted by its coordinator, and nobody goes on with its epoch."""
        fence = self.to(Status.PREPARE_EPOCH_FENCE, producer_epoch=self.producer_epoch + 1)
        return fence.to(Status.PREPARE_ABORT, last_producer_epoch=NO_EPOCH)

    def completed(self) -> Transaction:
        """Every partition has its marker."""
        committed = self.status is Status.PREPARE_COMMIT
        return self.to(Status.COMPLETE_COMMIT if committed else Status.COMPLETE_ABORT, partitions=frozenset())

    def record(self) -> CoordinatorRecord:
        partitions = nested(sorted(self.partitions), "topic", "partition_ids")
        value = {
            "producer_id": self.producer_id,
            "producer_epoch": self.producer_epoch,
            "transaction_timeout_ms": self.timeout_ms,
            "transaction_status": self.status,
            "transaction_partitions": None if self.status is Status.EMPTY else partitions,
            "transaction_last_update_timestamp_ms": self.update_ms,
            "transaction_start_timestamp_ms": self.start_ms,
        }
        return CoordinatorRecord("TransactionLog", {"transactional_id": self.transactional_id}, value)


def from_record(key: Message, value: Message) -> Transaction:
    """The other way round."""
    topics = value.transaction_partitions or ()
    return Transaction(
        key.transactional_id, value.producer_id, value.producer_epoch, value.transaction_timeout_ms,
        Status(value.transaction_status),
        frozenset((topic.topic, number) for topic in topics for number in topic.partition_ids),
        value.transaction_start_timestamp_ms, value.transaction_last_update_timestamp_ms,
    )  # fmt: skip


class Transactions:
    """The transactional ids of one partition of `__transaction_state`. prepared(transaction, now): its markers are to
    be written.
    """

    def __init__(self, config: Configs, prepared: Callable[[Transaction, Now], None], trace: Trace) -> None:
        self.transactions: dict[str, Transaction] = {}
        self._config = config
        self._prepared = prepared
        self._trace = trace
        self._deadlines: Deadlines[str] = Deadlines()

    # -- what the runtime asks

    def apply(self, name: str, key: Message, value: Message | None) -> None:
        """One committed record, live or in a replay."""
        if value is None:
            self.transactions.pop(key.transactional_id, None)
            self._deadlines.set(key.transactional_id, None)
        else:
            self.transactions[key.transactional_id] = from_record(key, value)

    def apply_pending(self, producer_id: int, name: str, key: Message, value: Message | None) -> None:
        """Never: these records are in no transaction themselves."""

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """Never, either."""

    def loaded(self, now: Now) -> Iterable[str]:
        """The replay is over: what was decided and not done yet goes on."""
        for transaction in list(self.transactions.values()):
            self._settle(transaction, now)
        return list(self.transactions)

    def tick(self, key: str, now: Now) -> Decision:
        """A transaction takes too long, or nobody has used its id for long."""
        known = self.transactions.get(key)
        if known is None or not self._deadlines.is_overdue(key, now.monotonic_ms):
            return Decision()
        if known.status is Status.ONGOING:
            return self._step(known.fenced(), {}, now, TIME_IS_OVER)
        gone = known.to(Status.DEAD)
        return Decision([gone.record()._replace(value=None)], {}, lambda _: self._tell(known, gone, EXPIRED))

    def next_deadline(self, key: str) -> int | None:
        return self._deadlines.at(key)

    # -- requests: decide

    def needs_producer_id(self, transactional_id: str) -> bool:
        """Whether an InitProducerId may want a new producer id."""
        known = self.transactions.get(transactional_id)
        return known is None or known.is_exhausted

    def init(
        self, transactional_id: str, timeout_ms: int, expected: tuple[int, int] | None, new_producer_id: int, now: Now
    ) -> Decision:
        """InitProducerId. Errors: CONCURRENT_TRANSACTIONS until the last transaction is over, PRODUCER_FENCED."""
        known = self.transactions.get(transactional_id) or Transaction(transactional_id, new_producer_id)
        if known.status in PREPARED:
            raise KafkaError(Error.CONCURRENT_TRANSACTIONS)
        if known.status is Status.ONGOING:
            known.check_producer_id(expected)
            refused = {"error_code": Error.CONCURRENT_TRANSACTIONS, "producer_id": -1, "producer_epoch": -1}
            return self._step(known.fenced(), refused, now, PRODUCER_CAME)
        if known.is_exhausted and new_producer_id == NO_PRODUCER_ID:
            raise KafkaError(Error.CONCURRENT_TRANSACTIONS)  # it wasn't when the id was asked for
        wanted = known.begun_again(expected, new_producer_id, timeout_ms)
        answer = {"error_code": 0, "producer_id": wanted.producer_id, "producer_epoch": wanted.producer_epoch}
        return self._step(wanted, answer, now, PRODUCER_CAME)

    def add(
        self, transactional_id: str, producer_id: int, epoch: int, partitions: frozenset[TopicPartition], now: Now
    ) -> Decision:
        """AddPartitionsToTxn, AddOffsetsToTxn. Errors: as of _of, CONCURRENT_TRANSACTIONS."""
        known = self._of(transactional_id, producer_id, epoch)
        if known.status in PREPARED:
            raise KafkaError(Error.CONCURRENT_TRANSACTIONS)
        if known.status is Status.ONGOING and partitions <= known.partitions:
            return Decision(answer={"error_code": Error.NONE})
        start_ms = known.start_ms if known.status is Status.ONGOING else now.wall_ms
        wanted = known.to(Status.ONGOING, partitions=known.partitions | partitions, start_ms=start_ms)
        return self._step(wanted, {"error_code": Error.NONE}, now, PARTITIONS_JOIN)

    def verify(self, transactional_id: str, producer_id: int, epoch: int, partition: TopicPartition) -> None:
        """AddPartitionsToTxn, to verify (KIP-890). Errors: as of _of, CONCURRENT_TRANSACTIONS, TRANSACTION_ABORTABLE
        if the partition has not joined.
        """
        known = self._of(transactional_id, producer_id, epoch)
        if known.status in PREPARED:
            raise KafkaError(Error.CONCURRENT_TRANSACTIONS)
        if partition not in known.partitions:
            raise KafkaError(Error.TRANSACTION_ABORTABLE)

    def end(self, transactional_id: str, producer_id: int, epoch: int, committed: bool, now: Now) -> Decision:
        """EndTxn; one that comes again hears the same. Errors: as of _of, CONCURRENT_TRANSACTIONS, INVALID_TXN_STATE.
        """
        known = self._of(transactional_id, producer_id, epoch)
        prepare = Status.PREPARE_COMMIT if committed else Status.PREPARE_ABORT
        if known.status is (Status.COMPLETE_COMMIT if committed else Status.COMPLETE_ABORT):
            return Decision(answer={"error_code": Error.NONE})
        if known.status is prepare:
            raise KafkaError(Error.CONCURRENT_TRANSACTIONS)
        if known.status is not Status.ONGOING:
            raise KafkaError(Error.INVALID_TXN_STATE)
        answer = {"error_code": Error.NONE}
        return self._step(known.to(prepare), answer, now, COMMITS if committed else ABORTS)

    def complete(self, transaction: Transaction, now: Now) -> Decision:
        """All markers of a prepared transaction are written."""
        known = self.transactions.get(transaction.transactional_id)
        if known is None or known != transaction:
            return Decision(answer={})
        return self._step(known.completed(), {}, now, MARKERS_WRITTEN)

    # -- questions of administrators (KIP-664)

    def describe(self, transactional_id: str) -> Answer:
        """Errors: TRANSACTIONAL_ID_NOT_FOUND."""
        known = self.transactions.get(transactional_id)
        if known is None:
            raise KafkaError(Error.TRANSACTIONAL_ID_NOT_FOUND)
        return {
            "transaction_state": known.status.word,
            "transaction_timeout_ms": known.timeout_ms,
            "transaction_start_time_ms": known.start_ms,
            "producer_id": known.producer_id,
            "producer_epoch": known.producer_epoch,
            "topics": nested(sorted(known.partitions), "topic"),
        }

    def listed(self, asked: Message, now: Now) -> list[dict[str, Any]]:
        """Those that all filters of a ListTransactions let through. Errors: INVALID_REGULAR_EXPRESSION."""
        pattern = compiled(asked.transactional_id_pattern) if asked.transactional_id_pattern else None
        return [
            {
                "transactional_id": each.transactional_id,
                "producer_id": each.producer_id,
                "transaction_state": each.status.word,
            }
            for each in self.transactions.values()
            if (not asked.state_filters or each.status.word in asked.state_filters)
            and (not asked.producer_id_filters or each.producer_id in asked.producer_id_filters)
            and (asked.duration_filter < 0 or now.wall_ms - each.start_ms > asked.duration_filter)
            and (pattern is None or pattern.fullmatch(each.transactional_id))
        ]

    # -- inside

    def _of(self, transactional_id: str, producer_id: int, epoch: int) -> Transaction:
        """Errors: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED."""
        known = self.transactions.get(transactional_id)
        if known is None or known.producer_id != producer_id:
            raise KafkaError(Error.INVALID_PRODUCER_ID_MAPPING)
        if known.producer_epoch != epoch:
            if self._trace:
                self._trace.emit("ProducerFenced", transactional_id=transactional_id, producer_id=producer_id,
                                 producer_epoch=epoch, newest_epoch=known.producer_epoch)  # fmt: skip
            raise KafkaError(Error.PRODUCER_FENCED)
        return known

    def _step(self, wanted: Transaction, answer: Answer, now: Now, why: Reason) -> Decision:
        wanted = replace(wanted, update_ms=now.wall_ms)
        was = self.transactions.get(wanted.transactional_id)

        def change(now: Now) -> None:
            self.transactions[wanted.transactional_id] = wanted  # the record lacks what only a coordinator knows
            self._tell(was, wanted, why)
            self._settle(wanted, now)

        return Decision([wanted.record()], answer, change)

    def _settle(self, transaction: Transaction, now: Now) -> None:
        """What comes next of itself: markers, or a deadline."""
        if transaction.status in PREPARED:
            self._deadlines.set(transaction.transactional_id, None)
            self._prepared(transaction, now)
            return
        at_ms, every_ms = transaction.update_ms + self._config["transactional.id.expiration.ms"], 1
        if transaction.status is Status.ONGOING:
            at_ms = transaction.start_ms + transaction.timeout_ms
            every_ms = self._config["transaction.abort.timed.out.transaction.cleanup.interval.ms"]
        due_ms = now.monotonic_ms + max(at_ms - now.wall_ms, 0)
        self._deadlines.set(transaction.transactional_id, -(-due_ms // every_ms) * every_ms)

    def _tell(self, was: Transaction | None, becomes: Transaction, why: Reason) -> None:
        if self._trace:
            self._trace.emit(
                "TransactionStateChanged",
                transactional_id=becomes.transactional_id, producer_id=becomes.producer_id,
                producer_epoch=becomes.producer_epoch, was=was.status.word if was else "nothing",
                state=becomes.status.word, partitions=[f"{topic}-{n}" for topic, n in sorted(becomes.partitions)],
                why=why,
            )  # fmt: skip
