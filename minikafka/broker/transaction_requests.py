"""What nodes ask each other for the sake of transactions: before a batch of one is
appended, and when it has ended. One request at a time is on its way to each node, and
the next one takes along what has come meanwhile.

Joins (KIP-890). A partition that is not in the transaction gets no marker, and a batch
in it would stay open for ever. So the leader that finds no open transaction of this
producer in its log asks the transaction's coordinator whether the partition has joined;
or, for producers that leave that to the brokers (transactions v2), lets it join.
Between the answer and the append a marker may come: then the guard is gone, and the
batch is refused. (Apache Kafka: AddPartitionsToTxnManager, VerificationGuard.)

Markers (KIP-98). The coordinator has decided how a transaction ended, and every
partition of it must hear so. A partition is asked until its leader has written the
marker, wherever the leadership moves; a partition that was deleted needs none. Whoever
took over as coordinator has asked with a newer epoch: then this one stops.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from minikafka.broker.ports import Asks, JoiningNode, Node
from minikafka.clock import Now
from minikafka.cluster.metadata import NO_LEADER, OFFSETS_TOPIC
from minikafka.cluster.waiting import Wait
from minikafka.coordinators.groups import partition_for
from minikafka.coordinators.transaction_states import (
    Status,
    TopicPartition,
    Transaction,
)
from minikafka.storage.producer_state import Guard, ProducerState
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested

JOIN_VERSION, MARKER_VERSION = 5, 2
JOIN_BACKOFF_MS, RETRY_MS = 20, 100  # add.partitions.to.txn.retry.backoff.ms, ...max.ms
MARKER_BACKOFF_MS = 100
# partitions asked for in one request: it is answered soon, and others have their turn
MOST_TOGETHER = 1000
# of the arrays in it; whoever gets more than MOST_REQUEST_ITEMS hangs up
MOST_ITEMS = 1 + 2 * MOST_TOGETHER
NOT_NOW = (
    Error.NETWORK_EXCEPTION,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_COORDINATOR,
)
# somebody else goes on
OVER = (Error.INVALID_PRODUCER_EPOCH, Error.TRANSACTION_COORDINATOR_FENCED)

STALE = KafkaError(Error.INVALID_PRODUCER_EPOCH)

# what the logs of partitions know of producers
Logs = Mapping[TopicPartition, ProducerState]
Part = TypeVar("Part")


def pieces(partitions: Collection[TopicPartition]) -> Iterator[list[TopicPartition]]:
    """Partitions in order, as many at a time as fit into one request."""
    ordered = sorted(partitions)
    for begin in range(0, len(ordered), MOST_TOGETHER):
        yield ordered[begin : begin + MOST_TOGETHER]


def items(partitions: Collection[TopicPartition]) -> int:
    """How many items of arrays a transaction takes in a request, at most: itself, its
    topics, its partitions.
    """
    return 1 + 2 * len(partitions)


@dataclass(eq=False, repr=False)
class Gathering(Generic[Part]):
    """Requests that gather: one at a time is on its way to each node, and the next
    takes along what came meanwhile. lane, api, version: of the requests. items(part):
    how many it takes of those that a request may have; of one part they are few enough.
    body(parts): one request. take(parts, reply or None, now): how it ended.
    """

    _broker: Asks
    _lane: str
    _api: str
    _version: int
    _items: Callable[[Part], int]
    _body: Callable[[list[Part]], Mapping[str, Any]]
    _take: Callable[[list[Part], Message | None, Now], None]
    _queues: dict[int, deque[Part]] = field(default_factory=dict)
    _asked: set[int] = field(default_factory=set)
    # monotonic ms
    _later: list[tuple[int, Callable[[Now], None]]] = field(default_factory=list)

    def add(self, node: int, part: Part) -> None:
        """Ask a node, now or with the next request."""
        self._queues.setdefault(node, deque()).append(part)
        self._ask(node)

    def later(self, at_ms: int, do: Callable[[Now], None]) -> None:
        """Try something again at a time, monotonic ms."""
        self._later.append((at_ms, do))

    def tick(self, now: Now) -> None:
        """What was to be tried again by now."""
        due = [do for at_ms, do in self._later if at_ms <= now.monotonic_ms]
        self._later = [each for each in self._later if each[0] > now.monotonic_ms]
        for do in due:
            do(now)

    def next_deadline(self) -> int | None:
        """Monotonic ms."""
        return min(at_ms for at_ms, _ in self._later) if self._later else None

    def _ask(self, node: int) -> None:
        if node in self._asked or not self._queues.get(node):
            return
        self._asked.add(node)
        queue = self._queues[node]
        parts = self._next(queue)
        is_crowded = bool(queue)

        def gathered(reply: Message | None, now: Now) -> None:
            self._asked.discard(node)
            self._take(parts, reply, now)
            if is_crowded:  # a node that asks itself does other things first
                self.later(now.monotonic_ms, lambda _: self._ask(node))
            else:
                self._ask(node)

        self._broker.ask(
            node, self._lane, self._api, self._version, self._body(parts), gathered
        )

    def _next(self, queue: deque[Part]) -> list[Part]:
        """What fits into one request."""
        parts = [queue.popleft()]
        left = MOST_ITEMS - self._items(parts[0])
        while queue and (wanted := self._items(queue[0])) <= left:
            left -= wanted
            parts.append(queue.popleft())
        return parts


# -- before a batch is appended


class Join(NamedTuple):
    """Partitions that are to have joined a transaction; or, if adds, to join it.
    knows_abortable: what asks for them can hear TRANSACTION_ABORTABLE. until_ms: how
    long CONCURRENT_TRANSACTIONS is asked again, monotonic.
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
        self.then(
            {
                at: self._as_its_producer_says(error, of_offsets=at[0] == OFFSETS_TOPIC)
                for at, error in errors.items()
                if error is not Error.NONE
            }
        )

    def _as_its_producer_says(self, error: Error, of_offsets: bool) -> KafkaError:
        """Old producers wait with a batch when too few replicas are in sync, and know
        no other way to wait with it.
        """
        waits = (
            error is Error.CONCURRENT_TRANSACTIONS and not self.adds and not of_offsets
        )
        if error in NOT_NOW or waits:
            why = (
                "Unable to verify the partition has been added to the transaction."
                " Underlying error: "
            )
            return KafkaError(Error.NOT_ENOUGH_REPLICAS, why + error.name)
        if error is Error.PRODUCER_FENCED:
            return KafkaError(Error.INVALID_PRODUCER_EPOCH)
        if error is Error.INVALID_TXN_STATE or (
            error is Error.TRANSACTION_ABORTABLE and not self.knows_abortable
        ):
            return KafkaError(
                Error.INVALID_TXN_STATE, "Partition was not added to the transaction"
            )
        return KafkaError(error)


class Joins:
    """What this node asks coordinators before it appends."""

    def __init__(self, broker: JoiningNode) -> None:
        self._broker = broker
        self.requests: Gathering[Join] = Gathering(
            broker,
            _lane="joins",
            _api="AddPartitionsToTxn",
            _version=JOIN_VERSION,
            _items=lambda join: items(join.partitions),
            _body=asked_joins,
            _take=self._take,
        )

    def before_appending(
        self,
        body: Message,
        producer: tuple[int, int],
        logs: Logs,
        adds: bool,
        knows_abortable: bool,
        now: Now,
    ) -> Wait | None:
        """Ask for those partitions of a producer's request in which it has no open
        transaction; the request begins anew then. body.joined says how it went: a guard
        or an error for each of them. None: there is nothing to ask.
        """
        if (
            "joined" in vars(body)
            or not self._broker.config["transaction.partition.verification.enable"]
        ):
            return None
        begins = {
            at: state for at, state in logs.items() if not state.is_open(*producer)
        }
        refused = {
            at: STALE for at, state in begins.items() if state.is_stale(*producer)
        }
        guards = {
            at: state.guard(producer[0])
            for at, state in begins.items()
            if at not in refused
        }
        body.joined = guards | refused
        if not guards:
            return None
        wait = Wait(again=True)
        left = list(pieces(guards))

        def ended(errors: dict[TopicPartition, KafkaError]) -> None:
            refused.update(errors)
            left.pop()
            if left:
                return
            # Who lets it join has a new epoch, which tells of markers as well; that of
            # the last one may come meanwhile.
            held = (
                {at: logs[at].guard(producer[0]) for at in guards} if adds else guards
            )
            body.joined = held | refused
            wait.finish({})

        for piece in list(left):
            join = Join(
                body.transactional_id,
                *producer,
                frozenset(piece),
                adds,
                knows_abortable,
                now.monotonic_ms + RETRY_MS,
                ended,
            )
            self._ask(join, now)
        return wait

    def check(
        self,
        body: Message,
        at: TopicPartition,
        producer: tuple[int, int],
        state: ProducerState,
    ) -> None:
        """Whether a batch may now be appended. Errors: as its coordinator said;
        INVALID_TXN_STATE if it ended since.
        """
        joined: dict[TopicPartition, Guard | KafkaError] | None = vars(body).get(
            "joined"
        )
        if joined is None or state.is_open(*producer):
            return
        verdict = joined.get(at)
        if isinstance(verdict, KafkaError):
            raise verdict
        if verdict is None or not state.is_guarded_by(producer[0], verdict):
            raise KafkaError(
                Error.INVALID_TXN_STATE, "Record was not part of an ongoing transaction"
            )

    # -- inside

    def _ask(self, join: Join, now: Now) -> None:
        topic = self._broker.transactions.topic
        partitions = topic.partitions if topic else {}
        leader = (
            partitions[partition_for(join.transactional_id, len(partitions))].leader
            if partitions
            else NO_LEADER
        )
        if leader == NO_LEADER:
            join.ended(dict.fromkeys(join.partitions, Error.COORDINATOR_NOT_AVAILABLE))
        else:
            self.requests.add(leader, join)

    def _take(self, joins: list[Join], reply: Message | None, now: Now) -> None:
        results = (
            [None] * len(joins)
            if reply is None or reply.error_code
            else reply.results_by_transaction
        )
        for join, result in zip(joins, results, strict=True):
            if result is None:
                join.ended(dict.fromkeys(join.partitions, Error.NETWORK_EXCEPTION))
                continue
            errors = {
                (topic.name, one.partition_index): Error(one.partition_error_code)
                for topic in result.topic_results
                for one in topic.results_by_partition
            }
            again_ms = now.monotonic_ms + JOIN_BACKOFF_MS
            if (
                join.adds
                and Error.CONCURRENT_TRANSACTIONS in errors.values()
                and again_ms <= join.until_ms
            ):
                self.requests.later(again_ms, partial(self._ask, join))
            else:
                join.ended(errors)


def asked_joins(joins: list[Join]) -> dict[str, Any]:
    """The request to one coordinator."""
    return {
        "transactions": [
            {
                "transactional_id": join.transactional_id,
                "producer_id": join.producer_id,
                "producer_epoch": join.producer_epoch,
                "verify_only": not join.adds,
                "topics": nested(sorted(join.partitions), "name", "partitions"),
            }
            for join in joins
        ]
    }


# -- when a transaction has ended


@dataclass(slots=True, eq=False)
class Pending:
    """A transaction whose markers are being written. partition, epoch: of the
    coordinator's log. left: who has none.
    """

    partition: int
    epoch: int
    transaction: Transaction
    left: set[TopicPartition] = field(default_factory=set)


Told = tuple[Pending, list[TopicPartition]]


class Markers:
    """complete(pending, now): all are written. The answer is `completed`."""

    def __init__(self, broker: Node, complete: Callable[[Pending, Now], None]) -> None:
        self._broker = broker
        self._complete = complete
        self._pending: dict[str, Pending] = {}
        self.requests: Gathering[Told] = Gathering(
            broker,
            _lane="markers",
            _api="WriteTxnMarkers",
            _version=MARKER_VERSION,
            _items=lambda told: items(told[1]),
            _body=asked_markers,
            _take=self._take,
        )

    def send(self, pending: Pending, now: Now) -> None:
        """Begin with a transaction."""
        self._pending[pending.transaction.transactional_id] = pending
        self._route(pending, sorted(pending.left), now)

    def drop(self, partition: int) -> None:
        """This node coordinates no longer what lies in a partition of
        `__transaction_state`.
        """
        self._pending = {
            name: each
            for name, each in self._pending.items()
            if each.partition != partition
        }

    def completed(self, pending: Pending, done: bool, now: Now) -> None:
        """That all markers are written is in the log now, or has to be tried again."""
        if done and self._is_current(pending):
            del self._pending[pending.transaction.transactional_id]
        elif not done:
            self._later((pending, []), now)

    # -- inside

    def _is_current(self, pending: Pending) -> bool:
        return self._pending.get(pending.transaction.transactional_id) is pending

    def _later(self, part: Told, now: Now) -> None:
        self.requests.later(
            now.monotonic_ms + MARKER_BACKOFF_MS, partial(self._route, *part)
        )

    def _route(
        self, pending: Pending, partitions: list[TopicPartition], now: Now
    ) -> None:
        """To whoever leads each partition now."""
        if not self._is_current(pending):
            return
        by_leader: dict[int, list[TopicPartition]] = {}
        for topic, number in partitions:
            known = self._broker.image.topics.get(topic)
            if known is None or number not in known.partitions:
                pending.left.discard((topic, number))
            else:
                by_leader.setdefault(known.partitions[number].leader, []).append(
                    (topic, number)
                )
        if NO_LEADER in by_leader:
            self._later((pending, by_leader.pop(NO_LEADER)), now)
        for leader, theirs in by_leader.items():
            for piece in pieces(theirs):
                self.requests.add(leader, (pending, piece))
        if not pending.left:
            self._complete(pending, now)

    def _take(self, parts: list[Told], reply: Message | None, now: Now) -> None:
        markers = reply.markers if reply is not None else [None] * len(parts)
        for part, marker in zip(parts, markers, strict=True):
            self._take_one(part, marker, now)

    def _take_one(self, part: Told, marker: Message | None, now: Now) -> None:
        """What became of one transaction's markers on one node."""
        pending, partitions = part
        if not self._is_current(pending):
            return
        results = {
            (topic.name, one.partition_index): Error(one.error_code)
            for topic in (marker.topics if marker is not None else ())
            for one in topic.partitions
        }
        if any(error in OVER for error in results.values()):
            del self._pending[pending.transaction.transactional_id]
            return
        pending.left -= {at for at, error in results.items() if error is Error.NONE}
        again = [at for at in partitions if at in pending.left]
        if again:
            self._later((pending, again), now)
        elif not pending.left:
            self._complete(pending, now)


def asked_markers(parts: list[Told]) -> dict[str, Any]:
    """The request to one leader."""
    return {
        "markers": [
            {
                "producer_id": pending.transaction.producer_id,
                "producer_epoch": pending.transaction.producer_epoch,
                "transaction_result": (
                    pending.transaction.status is Status.PREPARE_COMMIT
                ),
                "topics": nested(partitions, "name", "partition_indexes"),
                "coordinator_epoch": pending.epoch,
                "transaction_version": pending.transaction.client_version,
            }
            for pending, partitions in parts
        ]
    }
