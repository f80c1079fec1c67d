"""Requests that nodes send each other about transactions: before a batch of a
transaction is appended, and when the transaction has ended. Each node has one request
in flight, and the next one takes along everything that has come meanwhile.

Verification (KIP-890). A partition that isn't in the transaction gets no marker, and a
batch in it would stay open forever. So a leader that finds no open transaction of this
producer in its log asks the transaction's coordinator whether the partition has joined;
or, for producers that leave that to the brokers (transactions v2), adds it. A marker
may come between the answer and the append: then the guard is gone, and the batch is
refused. (Apache Kafka: AddPartitionsToTxnManager, VerificationGuard.)

Markers (KIP-98). The coordinator has decided how a transaction ends, and every
partition in it must be told. A partition is asked until its leader has written the
marker, wherever the leadership moves; a partition that was deleted needs none. If
another coordinator has taken over, it has asked with a newer epoch: then this one
stops.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from minikafka.clock import Now
from minikafka.cluster.election import AskNode
from minikafka.cluster.metadata import (
    NO_LEADER,
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    Image,
    TopicPartition,
)
from minikafka.cluster.timers import NEVER_MS, Timer
from minikafka.cluster.waiting import Wait
from minikafka.coordinators.runtime import Configs, partition_for
from minikafka.coordinators.transaction_states import Status, Transaction
from minikafka.storage.producer_state import Guard, ProducerState
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested

ADD_VERSION, MARKER_VERSION = 5, 2
ADD_BACKOFF_MS, RETRY_MS = 20, 100  # add.partitions.to.txn.retry.backoff.ms, ...max.ms
MARKER_BACKOFF_MS = 100
# partitions in one request: few enough that it is answered soon, and others get their
# turn
MOST_TOGETHER = 1000
# array items in one request; a node closes the connection if there are more than
# MOST_REQUEST_ITEMS
MOST_ITEMS = 1 + 2 * MOST_TOGETHER
RETRIABLE = (
    Error.NETWORK_EXCEPTION,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
)
# another coordinator or producer has taken over
FENCED = (Error.INVALID_PRODUCER_EPOCH, Error.TRANSACTION_COORDINATOR_FENCED)

STALE = KafkaError(Error.INVALID_PRODUCER_EPOCH)

# the producer state of each partition's log
Logs = Mapping[TopicPartition, ProducerState]
Verdict = Guard | KafkaError  # whether a batch may be appended
Part = TypeVar("Part")


class Identity(NamedTuple):
    """A producer id with one of its epochs."""

    producer_id: int
    producer_epoch: int


def pieces(partitions: Collection[TopicPartition]) -> Iterator[list[TopicPartition]]:
    """Partitions in order, as many at a time as fit into one request."""
    ordered = sorted(partitions)
    for begin in range(0, len(ordered), MOST_TOGETHER):
        yield ordered[begin : begin + MOST_TOGETHER]


def items(partitions: Collection[TopicPartition]) -> int:
    """How many array items a transaction takes in a request, at most: itself, its
    topics, its partitions.
    """
    return 1 + 2 * len(partitions)


@dataclass(eq=False, repr=False)
class Batcher(Generic[Part]):
    """Requests in batches: each node has one in flight, and the next one takes along
    what came meanwhile. lane, api, version: of the requests. items(part): how many of a
    request's array items a part takes, which must be few enough for one request.
    body(parts): builds a request. take(parts, reply or None, now): called when it has
    ended. timer: set to the next retry.
    """

    _ask_node: AskNode
    _timer: Timer
    _lane: str
    _api: str
    _version: int
    _items: Callable[[Part], int]
    _body: Callable[[list[Part]], Mapping[str, Any]]
    _take: Callable[[list[Part], Message | None, Now], None]
    _queues: dict[int, deque[Part]] = field(default_factory=dict)
    _asked: set[int] = field(default_factory=set)
    # retries: monotonic ms, and what to do
    _later: list[tuple[int, Callable[[Now], None]]] = field(default_factory=list)

    def add(self, node: int, part: Part) -> None:
        """Send a part to a node, now or with the next request."""
        self._queues.setdefault(node, deque()).append(part)
        self._ask(node)

    def later(self, at_ms: int, do: Callable[[Now], None]) -> None:
        """Call do(now) at a time, in monotonic ms."""
        self._later.append((at_ms, do))
        if at_ms < self._timer.at_ms:
            self._timer.set(at_ms)

    def tick(self, now: Now) -> None:
        """Try again what is due by now."""
        if self._timer.at_ms > now.monotonic_ms:
            return
        due = []
        later = []
        for at_ms, do in self._later:
            if at_ms <= now.monotonic_ms:
                due.append(do)
            else:
                later.append((at_ms, do))
        self._later = later
        self._timer.set(min((at_ms for at_ms, _ in later), default=NEVER_MS))
        for do in due:
            do(now)

    def _ask(self, node: int) -> None:
        if node in self._asked or not self._queues.get(node):
            return
        self._asked.add(node)
        queue = self._queues[node]
        parts = self._next(queue)
        is_crowded = bool(queue)

        def answered(reply: Message | None, now: Now) -> None:
            self._asked.discard(node)
            self._take(parts, reply, now)
            # a node that sends requests to itself does other things first
            if is_crowded:
                self.later(now.monotonic_ms, lambda _: self._ask(node))
            else:
                self._ask(node)

        body = self._body(parts)
        self._ask_node(node, self._lane, self._api, self._version, body, answered)

    def _next(self, queue: deque[Part]) -> list[Part]:
        """Take as many parts as fit into one request."""
        parts: list[Part] = []
        left = MOST_ITEMS
        while queue:
            left -= self._items(queue[0])
            if parts and left < 0:
                break
            parts.append(queue.popleft())
        return parts


# -- before a batch is appended


class AddPartitions(NamedTuple):
    """Partitions that should have joined a transaction; or, with adds, that are to join
    it. knows_abortable: whether the client's version has TRANSACTION_ABORTABLE.
    until_ms: how long to ask again after CONCURRENT_TRANSACTIONS, monotonic.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition]
    adds: bool
    knows_abortable: bool
    until_ms: int
    then: Callable[[dict[TopicPartition, KafkaError]], object]

    def ended(self, errors: Mapping[TopicPartition, Error]) -> None:
        """Pass on the error that the producer gets for each partition that hasn't
        joined.
        """
        refused = {}
        for at, error in errors.items():
            if error is not Error.NONE:
                topic, _ = at
                refused[at] = self._as_its_producer_says(error, topic == OFFSETS_TOPIC)
        self.then(refused)

    def all_ended(self, error: Error) -> None:
        """Pass on the same error for all partitions."""
        self.ended(dict.fromkeys(self.partitions, error))

    def _as_its_producer_says(self, error: Error, of_offsets: bool) -> KafkaError:
        """The error as the producer should see it. Old producers retry a batch when too
        few replicas are in sync, and know no other error that makes them retry.
        """
        waits = error in RETRIABLE
        if error is Error.CONCURRENT_TRANSACTIONS:
            waits = not self.adds and not of_offsets
        if waits:
            why = (
                "Unable to verify the partition has been added to the transaction."
                " Underlying error: "
            )
            return KafkaError(Error.NOT_ENOUGH_REPLICAS, why + error.name)
        if error is Error.PRODUCER_FENCED:
            return KafkaError(Error.INVALID_PRODUCER_EPOCH)
        is_unheard_of = (
            error is Error.TRANSACTION_ABORTABLE and not self.knows_abortable
        )
        if error is Error.INVALID_TXN_STATE or is_unheard_of:
            why = "Partition was not added to the transaction"
            return KafkaError(Error.INVALID_TXN_STATE, why)
        return KafkaError(error)


@dataclass(eq=False)
class Verification:
    """Whether batches in one request of a producer may be appended.

    adds: as for AddPartitions. verdicts: a guard or an error for each partition in which
    the producer has no open transaction. left: how many AddPartitions have not ended.
    wait: ends when all have; None if there was nothing to ask.
    """

    producer: Identity
    logs: Logs
    adds: bool
    verdicts: dict[TopicPartition, Verdict] = field(default_factory=dict)
    left: int = 0
    wait: Wait | None = None

    def ended(self, errors: dict[TopicPartition, KafkaError]) -> None:
        """One of its AddPartitions has ended."""
        self.verdicts.update(errors)
        self.left -= 1
        if self.left:
            return
        if self.adds:
            # In transactions v2 this transaction has an epoch of its own, which gives
            # its markers away as well as a guard does. The marker of the last one may
            # still come meanwhile and must not void the guard: it is taken only now.
            producer_id = self.producer.producer_id
            for at, verdict in self.verdicts.items():
                if not isinstance(verdict, KafkaError):
                    self.verdicts[at] = self.logs[at].guard(producer_id)
        assert self.wait is not None, "what was asked is waited for"
        self.wait.finish({})

    def check(
        self, at: TopicPartition, producer: Identity, state: ProducerState
    ) -> None:
        """Check whether a batch may be appended now. Errors: the coordinator's;
        INVALID_TXN_STATE if the transaction has ended since.
        """
        if state.is_open(*producer):
            return
        verdict = self.verdicts.get(at)
        if isinstance(verdict, KafkaError):
            raise verdict
        if verdict is None or not state.is_guarded_by(producer.producer_id, verdict):
            why = "Record was not part of an ongoing transaction"
            raise KafkaError(Error.INVALID_TXN_STATE, why)


class TransactionVerifier:
    """The requests that this node sends to coordinators before it appends. in_force: its
    configs, as they are now.
    """

    def __init__(
        self, image: Image, in_force: Configs, ask: AskNode, timer: Timer
    ) -> None:
        self._image = image
        self._in_force = in_force
        self.requests: Batcher[AddPartitions] = Batcher(
            ask,
            timer,
            _lane="joins",
            _api="AddPartitionsToTxn",
            _version=ADD_VERSION,
            _items=lambda asked: items(asked.partitions),
            _body=partitions_to_add,
            _take=self._take,
        )

    def begin(
        self,
        transactional_id: str,
        producer: Identity,
        logs: Logs,
        adds: bool,
        knows_abortable: bool,
        now: Now,
    ) -> Verification | None:
        """Ask about the partitions of a producer's request in which it has no open
        transaction. Returns None if verification is switched off.
        """
        if not self._in_force["transaction.partition.verification.enable"]:
            return None
        guards = {}
        refused = {}
        for at, state in logs.items():
            if state.is_open(*producer):
                continue
            if state.is_stale(*producer):
                refused[at] = STALE
            else:
                guards[at] = state.guard(producer.producer_id)
        verification = Verification(producer, logs, adds, {**guards, **refused})
        if not guards:
            return verification
        verification.wait = Wait()
        parts = list(pieces(guards))
        verification.left = len(parts)
        for part in parts:
            asked = AddPartitions(
                transactional_id=transactional_id,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                partitions=frozenset(part),
                adds=adds,
                knows_abortable=knows_abortable,
                until_ms=now.monotonic_ms + RETRY_MS,
                then=verification.ended,
            )
            self._ask(asked, now)
        return verification

    # -- helpers

    def _ask(self, asked: AddPartitions, now: Now) -> None:
        leader = NO_LEADER
        topic = self._image.topics.get(TRANSACTIONS_TOPIC)
        if topic is not None and topic.partitions:
            number = partition_for(asked.transactional_id, len(topic.partitions))
            leader = topic.partitions[number].leader
        if leader == NO_LEADER:
            asked.all_ended(Error.COORDINATOR_NOT_AVAILABLE)
        else:
            self.requests.add(leader, asked)

    def _take(
        self, batch: list[AddPartitions], reply: Message | None, now: Now
    ) -> None:
        if reply is None or reply.error_code:
            for asked in batch:
                asked.all_ended(Error.NETWORK_EXCEPTION)
            return
        for asked, result in zip(batch, reply.results_by_transaction, strict=True):
            self._take_one(asked, result, now)

    def _take_one(self, asked: AddPartitions, result: Message, now: Now) -> None:
        """Process the coordinator's result for one transaction."""
        errors = {}
        for topic in result.topic_results:
            for one in topic.results_by_partition:
                errors[topic.name, one.partition_index] = Error(
                    one.partition_error_code
                )
        again_ms = now.monotonic_ms + ADD_BACKOFF_MS
        is_busy = asked.adds and Error.CONCURRENT_TRANSACTIONS in errors.values()
        if is_busy and again_ms <= asked.until_ms:
            self.requests.later(again_ms, partial(self._ask, asked))
        else:
            asked.ended(errors)


def partitions_to_add(batch: list[AddPartitions]) -> dict[str, Any]:
    """The request to one coordinator."""
    transactions = []
    for asked in batch:
        transaction = {
            "transactional_id": asked.transactional_id,
            "producer_id": asked.producer_id,
            "producer_epoch": asked.producer_epoch,
            "verify_only": not asked.adds,
            "topics": nested(sorted(asked.partitions), "name", "partitions"),
        }
        transactions.append(transaction)
    return {"transactions": transactions}


# -- when a transaction has ended


@dataclass(slots=True, eq=False)
class Pending:
    """A transaction whose markers are being written. partition, epoch: of the
    coordinator's log. left: the partitions without a marker.
    """

    partition: int
    epoch: int
    transaction: Transaction
    left: set[TopicPartition] = field(default_factory=set)


class Told(NamedTuple):
    """The markers of one transaction that one leader is to write."""

    pending: Pending
    partitions: list[TopicPartition]


class Markers:
    """Sends the markers of transactions that have ended. complete(pending, now): called
    when all of a transaction's markers are written; it answers with `completed`.
    """

    def __init__(
        self,
        image: Image,
        ask: AskNode,
        complete: Callable[[Pending, Now], None],
        timer: Timer,
    ) -> None:
        self._image = image
        self._complete = complete
        self._pending: dict[str, Pending] = {}
        self.requests: Batcher[Told] = Batcher(
            ask,
            timer,
            _lane="markers",
            _api="WriteTxnMarkers",
            _version=MARKER_VERSION,
            _items=lambda told: items(told.partitions),
            _body=asked_markers,
            _take=self._take,
        )

    def send(self, pending: Pending, now: Now) -> None:
        """Begin to send the markers of a transaction."""
        self._pending[pending.transaction.transactional_id] = pending
        self._route(pending, sorted(pending.left), now)

    def drop(self, partition: int) -> None:
        """This node no longer coordinates a partition of `__transaction_state`: drop
        its transactions.
        """
        for name, pending in list(self._pending.items()):
            if pending.partition == partition:
                del self._pending[name]

    def completed(self, pending: Pending, done: bool, now: Now) -> None:
        """The end of the transaction has been written to the log (done), or must be
        tried again.
        """
        if done and self._is_current(pending):
            del self._pending[pending.transaction.transactional_id]
        elif not done:
            self._later(Told(pending, []), now)

    # -- helpers

    def _is_current(self, pending: Pending) -> bool:
        return self._pending.get(pending.transaction.transactional_id) is pending

    def _later(self, told: Told, now: Now) -> None:
        again = partial(self._route, told.pending, told.partitions)
        self.requests.later(now.monotonic_ms + MARKER_BACKOFF_MS, again)

    def _route(
        self, pending: Pending, partitions: list[TopicPartition], now: Now
    ) -> None:
        """Send the markers to the current leader of each partition."""
        if not self._is_current(pending):
            return
        by_leader: dict[int, list[TopicPartition]] = {}
        for at in partitions:
            topic, number = at
            known = self._image.topics.get(topic)
            if known is None or number not in known.partitions:
                pending.left.discard(at)
            else:
                leader = known.partitions[number].leader
                by_leader.setdefault(leader, []).append(at)
        leaderless = by_leader.pop(NO_LEADER, None)
        if leaderless is not None:
            self._later(Told(pending, leaderless), now)
        for leader, theirs in by_leader.items():
            for piece in pieces(theirs):
                self.requests.add(leader, Told(pending, piece))
        if not pending.left:
            self._complete(pending, now)

    def _take(self, parts: list[Told], reply: Message | None, now: Now) -> None:
        if reply is None:
            for told in parts:
                self._take_one(told, None, now)
            return
        for told, marker in zip(parts, reply.markers, strict=True):
            self._take_one(told, marker, now)

    def _take_one(self, told: Told, marker: Message | None, now: Now) -> None:
        """Process the result for one transaction's markers on one node. None: the node
        gave none.
        """
        pending = told.pending
        if not self._is_current(pending):
            return
        results = {}
        if marker is not None:
            for topic in marker.topics:
                for one in topic.partitions:
                    results[topic.name, one.partition_index] = Error(one.error_code)
        if any(error in FENCED for error in results.values()):
            del self._pending[pending.transaction.transactional_id]
            return
        for at, error in results.items():
            if error is Error.NONE:
                pending.left.discard(at)
        again = [at for at in told.partitions if at in pending.left]
        if again:
            self._later(Told(pending, again), now)
        elif not pending.left:
            self._complete(pending, now)


def asked_markers(parts: list[Told]) -> dict[str, Any]:
    """The request to one leader."""
    markers = []
    for pending, partitions in parts:
        transaction = pending.transaction
        marker = {
            "producer_id": transaction.producer_id,
            "producer_epoch": transaction.producer_epoch,
            "transaction_result": transaction.status is Status.PREPARE_COMMIT,
            "topics": nested(partitions, "name", "partition_indexes"),
            "coordinator_epoch": pending.epoch,
            "transaction_version": transaction.client_version,
        }
        markers.append(marker)
    return {"markers": markers}
