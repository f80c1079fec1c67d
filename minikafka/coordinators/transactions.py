"""The transaction coordinator: keeps the state of transactional ids (KIP-98, KIP-360,
KIP-447, KIP-664).

A transaction writes to many partitions, all or nothing. The coordinator of its
transactional id remembers which partitions these are and how it ended, in a partition
of `__transaction_state`. Every step is a record there (runtime.py), so another broker
can take over in the middle:

    1  InitProducerId        a producer with a transactional id gets a producer id and a new epoch. One with an older
                             epoch is fenced, and the transaction that it left open is aborted.
    2  AddPartitionsToTxn    before the first batch to a partition; AddOffsetsToTxn for the partition of a group.
    3  EndTxn                the decision. When the record PrepareCommit or PrepareAbort is committed, the transaction
                             has ended so, whatever happens next, and the producer hears of it.
    4  WriteTxnMarkers       each partition is told; again and again, until each has the marker.
    5  CompleteCommit, -Abort  nothing is left to do. The next transaction may begin.

STEPS (transaction_states.py) sums it up: which state may follow which, and what leads
there. The coordinator ends an `Ongoing` transaction whose time is over as if a new
producer had come: epoch + 1, PrepareAbort.

Since transactions v2 (KIP-890) the brokers that get the first batch do step 2; every
EndTxn bumps the epoch, so that a late batch of an ended transaction is fenced; and a
producer may abort when nothing has joined. (Apache Kafka: TransactionCoordinator,
TransactionMetadata.)
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from minikafka.clock import Now
from minikafka.cluster.metadata import TopicPartition
from minikafka.cluster.timers import Deadlines
from minikafka.cluster.waiting import Answer
from minikafka.coordinators.expressions import NeededOnce
from minikafka.coordinators.runtime import Configs, Decision, Effect, State
from minikafka.coordinators.transaction_states import (
    NO_PRODUCER_ID,
    PREPARED,
    V2,
    Status,
    Transaction,
    from_record,
)
from minikafka.trace import Reason, Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested

PRODUCER_CAME = Reason("producer_came", "a producer with its transactional id came")
PARTITIONS_JOIN = Reason("partitions_join", "partitions joined it")
COMMITS = Reason("producer_commits", "its producer commits")
ABORTS = Reason("producer_aborts", "its producer aborts")
TIME_IS_OVER = Reason(
    "transaction_timeout", "its producer took longer than transaction.timeout.ms"
)
MARKERS_WRITTEN = Reason("markers_written", "every partition has its marker")
EXPIRED = Reason(
    "transactional_id_expired", "nobody has used it for transactional.id.expiration.ms"
)


def ids(transaction: Transaction) -> Answer:
    """The id and epoch that a producer is told to continue with: never the epoch after
    the last one.
    """
    producer_id, epoch = transaction.goes_on_as
    return {
        "error_code": Error.NONE,
        "producer_id": producer_id,
        "producer_epoch": epoch,
    }


@dataclass(frozen=True, slots=True)
class Step(Effect):
    """A step of the table was written. From here on the coordinator continues by
    itself, with markers or a deadline. was: None for a new transactional id.
    """

    was: Transaction | None
    becomes: Transaction
    why: Reason


class Earlier(NamedTuple):
    """The id and epoch before the current ones, by which a repeated request is
    recognized. No record has them, and a new coordinator does without.
    """

    producer_id: int
    producer_epoch: int


@dataclass(eq=False, repr=False)
class Transactions(State):
    """The transactional ids of one partition of `__transaction_state`. version():
    transaction.version of the cluster. prepared(transaction, now): called when its
    markers are to be written. new_producer_id(now): an id for a transaction that times
    out; NO_PRODUCER_ID until there is one. has_room(size_bytes): whether so much more
    may be stored. transactions: according to the records. size_bytes: of all of these.
    """

    _config: Configs
    _version: Callable[[], int]
    _prepared: Callable[[Transaction, Now], None]
    _new_producer_id: Callable[[Now], int]
    _has_room: Callable[[int], bool]
    _trace: Trace
    transactions: dict[str, Transaction] = field(default_factory=dict)
    size_bytes: int = 0
    _earlier: dict[str, Earlier] = field(default_factory=dict)
    _deadlines: Deadlines[str] = field(default_factory=Deadlines)

    # -- called by the runtime

    def apply(
        self, name: str, key: Message, value: Message | None, offset: int
    ) -> None:
        """Apply one committed record, live or in a replay."""
        transactional_id = key.transactional_id
        self._earlier.pop(transactional_id, None)
        was = self.transactions.get(transactional_id)
        if was is not None:
            self.size_bytes -= was.size_bytes
        if value is None:
            self.transactions.pop(transactional_id, None)
            self._deadlines.set(transactional_id, None)
            return
        transaction = from_record(key, value)
        self.transactions[transactional_id] = transaction
        self.size_bytes += transaction.size_bytes

    def loaded(self, now: Now) -> Iterable[str]:
        """The replay is over: continue transactions that were decided but not
        completed.
        """
        for transaction in list(self.transactions.values()):
            self._go_on(transaction, now)
        return list(self.transactions)

    def tick(self, key: str, now: Now) -> Decision:
        """A transaction takes too long, or its id hasn't been used for a long time."""
        known = self._find(key)
        if known is None or not self._deadlines.is_overdue(key, now.monotonic_ms):
            return Decision()
        if known.status is Status.ONGOING:
            new_producer_id = NO_PRODUCER_ID
            if known.is_exhausted:
                new_producer_id = self._new_producer_id(now)
            fenced = self._fenced(known, new_producer_id)
            return self._step(fenced, {}, now, TIME_IS_OVER)
        gone = known.to(Status.DEAD)
        tombstone = gone.record(known)._replace(value=None)
        step = Step(was=known, becomes=gone, why=EXPIRED)
        return Decision([tombstone], answer={}, effect=step)

    def carry_out(self, key: str, effect: Effect, now: Now) -> None:
        """A step was written, so the state has changed. Remember the previous id and
        epoch, by which a repeated request is recognized.
        """
        assert isinstance(effect, Step)
        self._state_changed(effect)
        becomes = effect.becomes
        if becomes.status is Status.DEAD:
            return
        self._earlier[key] = Earlier(
            becomes.previous_producer_id, becomes.last_producer_epoch
        )
        self._go_on(becomes, now)

    def next_deadline(self, key: str) -> int | None:
        return self._deadlines.at(key)

    # -- requests: decide

    def needs_producer_id(self, transactional_id: str) -> bool:
        """Whether an InitProducerId or an EndTxn may need a new producer id."""
        known = self.transactions.get(transactional_id)
        return known is None or known.is_exhausted

    def init(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: tuple[int, int] | None,
        new_producer_id: int,
        now: Now,
    ) -> Decision:
        """InitProducerId. Errors: CONCURRENT_TRANSACTIONS until the last transaction is
        completed, PRODUCER_FENCED.
        """
        known = self._find(transactional_id)
        if known is None:
            known = Transaction(transactional_id, new_producer_id)
        if known.status in PREPARED:
            raise KafkaError(Error.CONCURRENT_TRANSACTIONS)
        if known.status is Status.ONGOING:
            known.check_producer_id(expected)
            refused = {
                "error_code": Error.CONCURRENT_TRANSACTIONS,
                "producer_id": -1,
                "producer_epoch": -1,
            }
            fenced = self._fenced(known, new_producer_id)
            return self._step(fenced, refused, now, PRODUCER_CAME)
        if known.is_exhausted and new_producer_id == NO_PRODUCER_ID:
            # it wasn't exhausted when the id was requested
            raise KafkaError(Error.CONCURRENT_TRANSACTIONS)
        wanted = known.begun_again(expected, new_producer_id, timeout_ms)
        return self._step(wanted, ids(wanted), now, PRODUCER_CAME)

    def add(
        self,
        producer: tuple[str, int, int],
        partitions: frozenset[TopicPartition],
        version: int,
        now: Now,
    ) -> Decision:
        """AddPartitionsToTxn, AddOffsetsToTxn. producer: transactional id, producer id,
        epoch. version: of transactions. Errors: CONCURRENT_TRANSACTIONS until the last
        transaction is completed, those of _known.
        """
        transactional_id = producer[0]
        self._check_is_over(transactional_id)
        known = self._known(*producer)
        is_open = known.status is Status.ONGOING
        if is_open and partitions <= known.partitions:
            return Decision(answer={"error_code": Error.NONE})
        wanted = known.to(
            Status.ONGOING,
            start_ms=known.start_ms if is_open else now.wall_ms,
            partitions=known.partitions | partitions,
            client_version=version,
        )
        return self._step(wanted, {"error_code": Error.NONE}, now, PARTITIONS_JOIN)

    def verify(
        self,
        transactional_id: str,
        producer_id: int,
        epoch: int,
        partition: TopicPartition,
    ) -> None:
        """AddPartitionsToTxn, only verifying (KIP-890). Errors: those of _known,
        CONCURRENT_TRANSACTIONS, TRANSACTION_ABORTABLE if the partition has not joined.
        """
        known = self._known(transactional_id, producer_id, epoch)
        if known.status in PREPARED:
            raise KafkaError(Error.CONCURRENT_TRANSACTIONS)
        if partition not in known.partitions:
            raise KafkaError(Error.TRANSACTION_ABORTABLE)

    def end(
        self,
        producer: tuple[str, int, int],
        committed: bool,
        version: int,
        new_producer_id: int,
        now: Now,
    ) -> Decision:
        """EndTxn; a repeated one gets the same answer. producer: transactional id,
        producer id, epoch. version: of transactions. Errors: CONCURRENT_TRANSACTIONS
        until the last transaction is completed, those of _known, INVALID_TXN_STATE.
        """
        transactional_id, producer_id, epoch = producer
        has_own_epoch = version >= V2
        if not has_own_epoch:
            self._known(*producer)
        self._check_is_over(transactional_id)
        known = self._find(transactional_id)
        is_again = False
        if has_own_epoch and known is not None:
            is_again = known.is_end_again(producer_id, epoch)
        if known is None or not is_again:
            known = self._known(*producer)
        is_new = has_own_epoch and not is_again
        has_ended = Status.COMPLETE_COMMIT if committed else Status.COMPLETE_ABORT
        if known.status is has_ended and not is_new:
            return Decision(answer=ids(known))
        may_end_nothing = is_new and not committed
        if known.status is not Status.ONGOING and not may_end_nothing:
            raise KafkaError(Error.INVALID_TXN_STATE)
        if version >= V2 and known.is_exhausted and new_producer_id == NO_PRODUCER_ID:
            # it wasn't exhausted when the id was requested
            raise KafkaError(Error.CONCURRENT_TRANSACTIONS)
        wanted = known.ended(committed, version, new_producer_id, now.wall_ms)
        why = COMMITS if committed else ABORTS
        return self._step(wanted, ids(wanted), now, why)

    def complete(self, transaction: Transaction, now: Now) -> Decision:
        """All markers of a prepared transaction are written."""
        if self._find(transaction.transactional_id) != transaction:
            return Decision(answer={})
        return self._step(transaction.completed(), {}, now, MARKERS_WRITTEN)

    # -- administrators' questions (KIP-664)

    def describe(self, transactional_id: str) -> Answer:
        """The fields of a DescribeTransactions answer. Errors:
        TRANSACTIONAL_ID_NOT_FOUND.
        """
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

    def listed(
        self, asked: Message, pattern: NeededOnce | None, now: Now
    ) -> list[dict[str, Any]]:
        """The transactions that pass all filters of a ListTransactions. pattern: the
        expression that it filters ids by. Errors: INVALID_REGULAR_EXPRESSION.
        """
        states = asked.state_filters
        producer_ids = asked.producer_id_filters
        longer_than_ms = asked.duration_filter
        found = []
        for each in self.transactions.values():
            if states and each.status.word not in states:
                continue
            if producer_ids and each.producer_id not in producer_ids:
                continue
            lasts_ms = now.wall_ms - each.start_ms
            if longer_than_ms >= 0 and lasts_ms <= longer_than_ms:
                continue
            if pattern is not None and not pattern.matches(each.transactional_id):
                continue
            description = {
                "transactional_id": each.transactional_id,
                "producer_id": each.producer_id,
                "transaction_state": each.status.word,
            }
            found.append(description)
        return found

    # -- helpers

    def _find(self, transactional_id: str) -> Transaction | None:
        """The transaction according to its record, with what only this coordinator
        knows.
        """
        known = self.transactions.get(transactional_id)
        earlier = self._earlier.get(transactional_id)
        if known is None or earlier is None:
            return known
        return replace(
            known,
            previous_producer_id=earlier.producer_id,
            last_producer_epoch=earlier.producer_epoch,
        )

    def _check_is_over(self, transactional_id: str) -> None:
        """Check that no markers are being written. Until they are, requests get no
        verdict: the client asks again, and gets the right answer then. Errors:
        CONCURRENT_TRANSACTIONS.
        """
        known = self.transactions.get(transactional_id)
        if known is not None and known.status in PREPARED:
            raise KafkaError(Error.CONCURRENT_TRANSACTIONS)

    def _fenced(self, known: Transaction, new_producer_id: int) -> Transaction:
        """The transaction after fencing. Errors: CONCURRENT_TRANSACTIONS while the
        producer id that it needs is missing.
        """
        version = self._version()
        if version >= V2 and known.is_exhausted and new_producer_id == NO_PRODUCER_ID:
            raise KafkaError(Error.CONCURRENT_TRANSACTIONS)
        return known.fenced(version, new_producer_id)

    def _known(
        self, transactional_id: str, producer_id: int, epoch: int
    ) -> Transaction:
        """The transaction. Errors: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED."""
        known = self._find(transactional_id)
        if known is None or known.producer_id != producer_id:
            raise KafkaError(Error.INVALID_PRODUCER_ID_MAPPING)
        if known.producer_epoch != epoch:
            if self._trace:
                self._trace.emit(
                    "ProducerFenced",
                    transactional_id=transactional_id,
                    producer_id=producer_id,
                    producer_epoch=epoch,
                    newest_epoch=known.producer_epoch,
                )
            raise KafkaError(Error.PRODUCER_FENCED)
        return known

    def _step(
        self, wanted: Transaction, answer: Answer, now: Now, why: Reason
    ) -> Decision:
        wanted = replace(wanted, update_ms=now.wall_ms)
        was = self.transactions.get(wanted.transactional_id)
        more_bytes = wanted.size_bytes
        if was is not None:
            more_bytes -= was.size_bytes
        if more_bytes > 0 and not self._has_room(more_bytes):
            reason = "too many transactional ids, or partitions in transactions"
            raise KafkaError(Error.POLICY_VIOLATION, reason)
        step = Step(was=was, becomes=wanted, why=why)
        return Decision([wanted.record(was or wanted)], answer, step)

    def _go_on(self, transaction: Transaction, now: Now) -> None:
        """Continue without a request: send markers, or set a deadline."""
        if transaction.status in PREPARED:
            self._deadlines.set(transaction.transactional_id, None)
            self._prepared(transaction, now)
            return
        if transaction.status is Status.ONGOING:
            at_ms = transaction.start_ms + transaction.timeout_ms
            every_ms = self._config[
                "transaction.abort.timed.out.transaction.cleanup.interval.ms"
            ]
        else:
            expiration_ms = self._config["transactional.id.expiration.ms"]
            at_ms = transaction.update_ms + expiration_ms
            every_ms = 1
        due_ms = now.monotonic_ms + max(at_ms - now.wall_ms, 0)
        rounds = -(-due_ms // every_ms)  # rounded up, so that it isn't before it is due
        self._deadlines.set(transaction.transactional_id, rounds * every_ms)

    def _state_changed(self, step: Step) -> None:
        if not self._trace:
            return
        was, becomes = step.was, step.becomes
        names = []
        for topic, number in sorted(becomes.partitions):
            names.append(f"{topic}-{number}")
        self._trace.emit(
            "TransactionStateChanged",
            transactional_id=becomes.transactional_id,
            producer_id=becomes.producer_id,
            producer_epoch=becomes.producer_epoch,
            was=was.status.word if was else "nothing",
            state=becomes.status.word,
            partitions=names,
            why=step.why,
        )
