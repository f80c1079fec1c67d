"""Before a batch of a transaction is appended, its coordinator is asked (KIP-890).

A partition that is not in the transaction gets no marker, and a batch in it would stay open for ever. So the leader
that finds no open transaction of this producer in its log asks whether the partition has joined; or, for producers that
leave that to the brokers (transactions v2), lets it join. Between the answer and the append a marker may come: then the
guard is gone, and the batch is refused. (Apache Kafka: AddPartitionsToTxnManager, VerificationGuard.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from minikafka.broker.calls import Broker
from minikafka.broker.peers import Gathering
from minikafka.clock import Now
from minikafka.cluster.metadata import NO_LEADER
from minikafka.cluster.waiting import Wait
from minikafka.coordinators.groups import partition_for
from minikafka.coordinators.transaction_states import TopicPartition
from minikafka.storage.producer_state import Guard, ProducerState
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested

LANE = "joins"
VERSION = 5
RETRY_BACKOFF_MS, RETRY_MS = 20, 100  # add.partitions.to.txn.retry.backoff.ms, ...max.ms
NOT_NOW = (
    Error.NETWORK_EXCEPTION, Error.COORDINATOR_LOAD_IN_PROGRESS, Error.COORDINATOR_NOT_AVAILABLE, Error.NOT_COORDINATOR,
)  # fmt: skip


class Join(NamedTuple):
    """Partitions that are to have joined a transaction; or, if adds, to join it. knows_abortable: what asks for them
    can hear TRANSACTION_ABORTABLE. until_ms: how long CONCURRENT_TRANSACTIONS is asked again, monotonic.
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
        self.then({at: self._as_its_producer_says(error) for at, error in errors.items() if error is not Error.NONE})

    def _as_its_producer_says(self, error: Error) -> KafkaError:
        if error in NOT_NOW or (error is Error.CONCURRENT_TRANSACTIONS and not self.adds):
            why = "Unable to verify the partition has been added to the transaction. Underlying error: "
            return KafkaError(Error.NOT_ENOUGH_REPLICAS, why + error.name)
        if error is Error.PRODUCER_FENCED:
            return KafkaError(Error.INVALID_PRODUCER_EPOCH)
        if error is Error.INVALID_TXN_STATE or (error is Error.TRANSACTION_ABORTABLE and not self.knows_abortable):
            return KafkaError(Error.INVALID_TXN_STATE, "Partition was not added to the transaction")
        return KafkaError(error)


class Joins:
    """What this node asks coordinators before it appends."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.requests: Gathering[Join] = Gathering(broker, LANE, "AddPartitionsToTxn", VERSION, asked, self._take)

    def before_appending(
        self,
        body: Message,
        producer: tuple[int, int],
        logs: Mapping[TopicPartition, ProducerState],
        adds: bool,
        knows_abortable: bool,
        now: Now,
    ) -> Wait | None:
        """Ask for those partitions of a producer's request in which it has no open transaction; the request begins
        anew then. body.joined says how it went: a guard or an error for each of them. None: there is nothing to ask.
        """
        if "joined" in vars(body) or not self._broker.config["transaction.partition.verification.enable"]:
            return None
        guards = {at: state.guard(producer[0]) for at, state in logs.items() if not state.is_open(*producer)}
        body.joined = guards
        if not guards:
            return None
        wait = Wait(again=True)

        def ended(errors: dict[TopicPartition, KafkaError]) -> None:
            # Who lets it join has a new epoch, which tells of markers as well; that of the last one may come meanwhile.
            held = {at: logs[at].guard(producer[0]) for at in guards} if adds else guards
            body.joined = held | errors
            wait.finish({})

        of = body.transactional_id, *producer, frozenset(guards)
        self._ask(Join(*of, adds, knows_abortable, now.monotonic_ms + RETRY_MS, ended), now)
        return wait

    def check(self, body: Message, at: TopicPartition, producer: tuple[int, int], state: ProducerState) -> None:
        """At last, whether a batch may be appended. Errors: as its coordinator said; INVALID_TXN_STATE if the
        transaction has ended since.
        """
        joined: dict[TopicPartition, Guard | KafkaError] | None = vars(body).get("joined")
        if joined is None or state.is_open(*producer):
            return
        verdict = joined.get(at)
        if isinstance(verdict, KafkaError):
            raise verdict
        if verdict is None or not state.is_guarded_by(producer[0], verdict):
            raise KafkaError(Error.INVALID_TXN_STATE, "Record was not part of an ongoing transaction")

    # -- inside

    def _ask(self, join: Join, now: Now) -> None:
        topic = self._broker.transactions.topic
        partitions = topic.partitions if topic else {}
        leader = partitions[partition_for(join.transactional_id, len(partitions))].leader if partitions else NO_LEADER
        if leader == NO_LEADER:
            join.ended(dict.fromkeys(join.partitions, Error.COORDINATOR_NOT_AVAILABLE))
        else:
            self.requests.add(leader, join)

    def _take(self, joins: list[Join], reply: Message | None, now: Now) -> None:
        results = [None] * len(joins) if reply is None or reply.error_code else reply.results_by_transaction
        for join, result in zip(joins, results, strict=True):
            if result is None:
                join.ended(dict.fromkeys(join.partitions, Error.NETWORK_EXCEPTION))
                continue
            errors = {
                (topic.name, one.partition_index): Error(one.partition_error_code)
                for topic in result.topic_results
                for one in topic.results_by_partition
            }
            again_ms = now.monotonic_ms + RETRY_BACKOFF_MS
            if join.adds and Error.CONCURRENT_TRANSACTIONS in errors.values() and again_ms <= join.until_ms:
                self.requests.later(again_ms, lambda now, join=join: self._ask(join, now))  # type: ignore[misc]
            else:
                join.ended(errors)


def asked(joins: list[Join]) -> dict[str, Any]:
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
