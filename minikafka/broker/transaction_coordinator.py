"""The transactional ids that this node coordinates: those whose partition of `__transaction_state` it leads, and the
markers that it has to get written.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from minikafka.broker.calls import Broker
from minikafka.broker.coordinator import Coordinator
from minikafka.broker.handlers import features
from minikafka.broker.transaction_markers import Markers, Pending
from minikafka.clock import Now
from minikafka.cluster.metadata import TRANSACTIONS_TOPIC
from minikafka.coordinators.runtime import RecordCodec
from minikafka.coordinators.transaction_states import Transaction
from minikafka.coordinators.transactions import Transactions
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.internal_records import decode_transaction_record, encode_coordinator_record

WRITE_TIMEOUT_MS = 5000


class TransactionCoordinator(Coordinator):
    """This node's part of the transactional ids."""

    topic_name, prefix = TRANSACTIONS_TOPIC, "transaction.state.log"

    def __init__(self, broker: Broker) -> None:
        codec = RecordCodec(encode_coordinator_record, decode_transaction_record)
        super().__init__(broker, self._new_transactions, codec, WRITE_TIMEOUT_MS)
        self._markers = Markers(broker, self._complete)

    def partition(self, key: str) -> int:
        """Errors: INVALID_REQUEST, NOT_COORDINATOR while there is no such topic."""
        if not key:
            raise KafkaError(Error.INVALID_REQUEST)
        return super().partition(key)

    def more_configs(self) -> dict[str, str]:
        config = self._broker.config
        least = min(config[f"{self.prefix}.min.isr"], len(self._broker.image.live_brokers()) or 1)
        configs = {"compression.type": "uncompressed", "min.insync.replicas": str(least)}
        return configs | {"unclean.leader.election.enable": "false"}

    def resigned(self, partition: int) -> None:
        """The next coordinator reads in the log what was prepared, and goes on with it."""
        super().resigned(partition)
        self._markers.drop(partition)

    def tick(self, now: Now, budget_bytes: int) -> None:
        super().tick(now, budget_bytes)
        self._markers.requests.tick(now)

    def next_deadline(self) -> int | None:
        deadlines = (super().next_deadline(), self._markers.requests.next_deadline())
        return min((at_ms for at_ms in deadlines if at_ms is not None), default=None)

    # -- inside

    def _version(self) -> int:
        return features.level(self._broker.image, features.TRANSACTION_FEATURE)

    def _new_transactions(self, partition: int) -> Transactions:
        of = self._broker.config, self._version, partial(self._prepared, partition), self._broker.trace
        return Transactions(*of)

    def _prepared(self, partition: int, transaction: Transaction, now: Now) -> None:
        epoch = self.shards[partition].replica.leader_epoch
        self._markers.send(Pending(partition, epoch, transaction, set(transaction.partitions)), now)

    def _complete(self, pending: Pending, now: Now) -> None:
        """Every partition has its marker. If that can't be written down now, it is tried again."""
        transaction = pending.transaction

        def decide(transactions: Transactions, _: Any, now: Now) -> Any:
            return transactions.complete(transaction, now)

        wait = self.ask(transaction.transactional_id, decide, now)
        wait.then(lambda ended: self._markers.completed(pending, ended.error is None, self._broker.now))
