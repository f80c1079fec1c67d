"""The programs of tests/simulation/transaction_schedules.py, and the ledger in which
they write what they were told.

A payer writes orders in transactions, and takes a quarter of them back. A copier reads
what is committed there, and writes it to another topic in transactions to which its
group's offsets belong. Both end when they are fenced or have waited for too long, as
real ones do.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from minikafka import Cluster
from minikafka.clients.errors import KafkaTimeoutError
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.simulation.consumer_handle import ConsumerHandle
from minikafka.simulation.producer_handle import ProducerHandle
from minikafka.wire.errors import KafkaError

ORDERS, COPIES, GROUP = "orders", "copies", "copiers"
PARTITIONS = 2
PAYER_TIMEOUT_MS, COPIER_TIMEOUT_MS = 4000, 5000
CLEANUP_MS = 1000  # how often it is looked for those who take longer
SLOW_MS = 5000  # a payer that sleeps so long within a transaction finds it aborted


@dataclass
class Transaction:
    """One of a payer. state: "open", "committing", "committed" or "aborting", as its
    program knows. fenced: a newer producer came before it wanted to commit.
    """

    name: str
    identity: tuple[int, int]  # producer id and epoch
    state: str = "open"
    fenced: bool = False
    values: list[tuple[int, str]] = field(default_factory=list)  # partition, value


class Ledger:
    """What all programs know. is_over: payers begin nothing new."""

    def __init__(self) -> None:
        self.is_over = False
        self.transactions: list[Transaction] = []
        self._newest: dict[str, tuple[int, int]] = {}
        self._tags = 0

    def came(self, producer: ProducerHandle) -> None:
        """A producer is done with init_transactions(): whatever older ones have open
        can't be committed any more.
        """
        name, identity = producer.config["transactional_id"], identity_of(producer)
        newest = self._newest[name] = max(self._newest.get(name, identity), identity)
        for each in self.transactions:
            if (
                each.name == name
                and each.identity < newest
                and each.state in ("open", "aborting")
            ):
                each.fenced = True

    def begun(self, producer: ProducerHandle) -> Transaction:
        name, identity = producer.config["transactional_id"], identity_of(producer)
        self.transactions.append(
            Transaction(name, identity, fenced=identity < self._newest[name])
        )
        return self.transactions[-1]

    def tag(self) -> str:
        """A name for a copier's transaction."""
        self._tags += 1
        return f"t{self._tags}"


def identity_of(producer: ProducerHandle) -> tuple[int, int]:
    return producer.core.producer_id, producer.core.producer_epoch


def pay(cluster: Cluster, producer: ProducerHandle, ledger: Ledger) -> None:
    """A transaction after the other, until all is over or another producer has come."""
    dice = Random(f"{cluster.seed} {producer.name} {len(ledger.transactions)}")
    try:
        producer.init_transactions()
        ledger.came(producer)
        while not ledger.is_over:
            cluster.run_ms(dice.randint(50, 400))
            transaction = ledger.begun(producer)
            try:
                pay_once(cluster, producer, transaction, dice)
            except KafkaTimeoutError:
                return  # whether it counts nobody knows: whoever comes next settles it
            except KafkaError:
                if transaction.state == "open":
                    transaction.state = "aborting"
                producer.abort_transaction()
    except KafkaError:
        return


def pay_once(
    cluster: Cluster, producer: ProducerHandle, transaction: Transaction, dice: Random
) -> None:
    """Some records to one partition or to all, maybe slowly, and the end."""
    number = f"{transaction.name}:{id_of(transaction)}"
    producer.begin_transaction()
    for turn in range(dice.randint(1, 3)):
        for partition in dice.sample(range(PARTITIONS), dice.randint(1, PARTITIONS)):
            value = f"{number}:{turn}:{dice.randrange(1 << 30)}"
            transaction.values.append((partition, value))
            producer.send(ORDERS, value=value, partition=partition)
        if dice.random() < 0.3:
            producer.flush()
            cluster.run_ms(SLOW_MS if dice.random() < 0.1 else dice.randint(10, 1000))
    if dice.random() < 0.25:
        transaction.state = "aborting"
        producer.abort_transaction()
    else:
        transaction.state = "committing"
        producer.commit_transaction()
        transaction.state = "committed"


def id_of(transaction: Transaction) -> str:
    return "{}.{}".format(*transaction.identity)


def copy(
    cluster: Cluster, consumer: ConsumerHandle, producer: ProducerHandle, ledger: Ledger
) -> None:
    """Copy what is committed, a few records a transaction, for ever."""
    try:
        producer.init_transactions()
        while True:
            found = consumer.poll(timeout_ms=500, max_records=6)
            if found:
                try:
                    copy_once(consumer, producer, ledger.tag(), found)
                except KafkaTimeoutError:
                    return
                except KafkaError:
                    producer.abort_transaction()
                    rewind(consumer)
    except KafkaError:
        return


def copy_once(
    consumer: ConsumerHandle,
    producer: ProducerHandle,
    tag: str,
    found: dict[TopicPartition, Any],
) -> None:
    """Outputs, and how far the input is read. Both carry the transaction's tag."""
    producer.begin_transaction()
    for partition, records in found.items():
        for record in records:
            value = f"{tag}|{record.offset}|{record.value.decode()}"
            producer.send(COPIES, value=value, partition=partition.partition)
    offsets = {
        partition: OffsetAndMetadata(records[-1].offset + 1, tag)
        for partition, records in found.items()
    }
    producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
    producer.commit_transaction()


def rewind(consumer: ConsumerHandle) -> None:
    """Back to what is committed, or to the beginning."""
    partitions: Iterable[TopicPartition] = sorted(consumer.assignment())
    for partition in partitions:
        consumer.seek(partition, consumer.committed(partition) or 0)
