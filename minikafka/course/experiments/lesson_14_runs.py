"""Lesson 14's experiments: a topic of orders, a program between Kafka and a database,
and the moments at which it dies.
"""

import copy
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from minikafka import Cluster
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.simulation.mishaps import clients_of
from minikafka.wire.errors import KafkaError

CONFIGS = {
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
}
MEMBER = {
    "group_id": "billing",
    "group_instance_id": "billing",  # a static member has its partition back at once
    "auto_offset_reset": "earliest",
    "enable_auto_commit": False,
    "isolation_level": "read_committed",
}

MOST_LETTERS = 100  # of a note


class Accounts:
    """Balances in a database that survives when a program dies, and a few notes. No
    order has a row of its own.

    cluster: its trace gets each amount that counts, and each note that is read, under
    this name of the database.
    """

    def __init__(self, cluster: Cluster | None = None, name: str = "accounts") -> None:
        self.name = name
        self.cluster = cluster
        self._balances: dict[str, int] = {}
        self._notes: dict[str, Any] = {}
        # the state that an open transaction rolls back to
        self._before: tuple[dict[str, int], dict[str, Any]] | None = None
        # what was done in it, and is not told before it counts
        self._added: list[tuple[str, int]] = []
        self._noted: dict[str, Any] = {}

    def add(self, account: str, cents: int) -> None:
        """So much more on this account."""
        self._balances[account] = self._balances.get(account, 0) + cents
        self._added.append((account, cents))
        self._counts()

    def note(self, name: str, value: str | int) -> None:
        """A note of this name, in the place of one that is there already. value: a
        number, or a short text.
        """
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise TypeError(
                f"note({name!r}, ...): a note is a whole number or a text, not a"
                f" {type(value).__name__}"
            )
        if (
            (abs(value) >= 2**63)
            if isinstance(value, int)
            else len(value) > MOST_LETTERS
        ):
            raise ValueError(
                f"note({name!r}, ...): a note has {MOST_LETTERS} letters at most, a"
                " number 64 bits"
            )
        self._notes[name] = value
        self._noted[name] = value
        self._counts()

    def noted(self, name: str) -> Any:
        """The value last noted under this name, or None."""
        value = self._notes.get(name)
        self._tell("NoteRead", name=name, value=value)
        return value

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Changes made inside count when it ends, all together; if it ends with an
        error, none of them counts.
        """
        if self._before is not None:
            raise RuntimeError("a transaction is open already")
        self._before = dict(self._balances), dict(self._notes)
        try:
            yield
            self.commits()
        except BaseException:
            self.rolls_back()
            raise

    def commits(self) -> None:
        """The end of a transaction, from which on it counts."""
        self._before = None
        self._counts()

    def rolls_back(self) -> None:
        """A database rolls an open transaction back when its connection is gone."""
        if self._before is not None:
            (self._balances, self._notes), self._before = self._before, None
            self._added.clear()
            self._noted.clear()

    def _counts(self) -> None:
        """The changes count now, unless a transaction is open: each amount is reported,
        with the notes that count from the same moment.
        """
        if self._before is not None:
            return
        added, noted = list(self._added), dict(self._noted)
        self._added.clear()
        self._noted.clear()
        for account, cents in added:
            value = f"{cents} cents"
            self._tell("EffectWritten", key=account, value=value, noted=noted)

    def _tell(self, kind: str, **detail: Any) -> None:
        """Report what a program does here, with the name of its reader."""
        if self.cluster is None:
            return
        trace = self.cluster.environment.trace_of_writer()
        program = self.cluster.kernel.program()
        readers = [client.name for client in clients_of(program)] if program else []
        if trace:
            reader = next(iter(readers), None)
            trace.emit(kind, table=self.name, reader=reader, **detail)

    def balances(self) -> dict[str, int]:
        """The balance of each account, in cents."""
        return dict(sorted(self._balances.items()))

    def notes(self) -> dict[str, Any]:
        """The noted values, by name."""
        return dict(sorted(self._notes.items()))


class Tables:
    """A database with tables of rows, which stays when a program dies. Each row has an
    id, counted from 1.
    """

    def __init__(self) -> None:
        self._tables: dict[str, list[dict[str, Any]]] = {}

    def insert(self, table: str, **row: Any) -> None:
        """Append a row to a table, with the next id."""
        rows = self._tables.setdefault(table, [])
        rows.append({"id": len(rows) + 1, **row})

    def rows(self, table: str, **like: Any) -> list[dict[str, Any]]:
        """The rows that have these values, by their ids."""
        return [
            dict(row)
            for row in self._tables.get(table, [])
            if all(row[name] == like[name] for name in like)
        ]

    def update(self, table: str, number: int, **changes: Any) -> None:
        """Other values in the row with this id."""
        self._tables[table][number - 1].update(changes)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Changes made inside count when it ends, all together; if it ends with an
        error, none of them counts.
        """
        before = copy.deepcopy(self._tables)
        try:
            yield
        except BaseException:
            self._tables = before
            raise


def with_orders(*orders: tuple[str, str]) -> Cluster:
    """A cluster with these records (key, value) in the topic orders, which has one
    partition.
    """
    cluster = Cluster(seed=14, configs=CONFIGS)
    for topic in ("orders", "receipts"):
        cluster.create_topic(topic, partitions=1)
    shop = cluster.producer(client_id="shop")
    for key, value in orders:
        shop.send("orders", key=key, value=value)
    shop.flush()
    return cluster


def clients(cluster: Cluster) -> tuple[Any, Any]:
    """A consumer and a transactional producer, as a program has them that has just
    started.
    """
    producer = cluster.producer(transactional_id="billing")
    producer.init_transactions()
    return cluster.consumer("orders", **MEMBER), producer


def waiting(consumer: Any) -> list[Any]:
    """The records that the consumer gets within two seconds."""
    polled = [consumer.poll(timeout_ms=1000) for _ in range(2)]
    return [
        record for batch in polled for records in batch.values() for record in records
    ]


def behind(record: Any) -> dict[TopicPartition, OffsetAndMetadata]:
    """The offset to commit when this record is done."""
    return {
        TopicPartition(record.topic, record.partition): OffsetAndMetadata(
            record.offset + 1, ""
        )
    }


def receipts(cluster: Cluster) -> int:
    """How many receipts a reader of committed records sees."""
    reader = cluster.consumer(
        "receipts", auto_offset_reset="earliest", isolation_level="read_committed"
    )
    return len(waiting(reader))


def _database_last(cluster: Cluster, accounts: Accounts, killed: bool = False) -> None:
    consumer, producer = clients(cluster)
    for record in waiting(consumer):
        producer.begin_transaction()
        producer.send("receipts", key=record.key, value=record.value)
        producer.send_offsets_to_transaction(behind(record), consumer.group_metadata())
        producer.commit_transaction()
        if killed:
            return
        accounts.add(text(record.key), int(record.value))


def database_last() -> tuple[Accounts, int]:
    """Billing commits its transaction, is killed before it tells the database, and
    starts again: the database, and how many receipts there are.
    """
    cluster, accounts = with_orders(("alice", "20")), Accounts()
    _database_last(cluster, accounts, killed=True)
    _database_last(cluster, accounts)
    return accounts, receipts(cluster)


def twice(bill_once: Callable[..., None], ids: int) -> int:
    """Five orders of 10 cents come twice to a program with a window of this many ids.
    Returns the balance.
    """
    orders = [(f"o-{number}", "10") for number in range(5)]
    cluster, accounts = with_orders(*orders), Accounts()
    window: deque[str] = deque(maxlen=ids)
    for _ in range(2):
        bill_once(cluster, accounts, window)
    return accounts.balances()["sales"]


def two_sinks(sink: Callable[..., None]) -> Accounts:
    """One order of 20 cents for alice. A and B run this sink, in one group; A has the
    partition, and freezes for a minute in its first wait(). Returns the database in the
    end, with the cluster.
    """
    config = {name: MEMBER[name] for name in ("auto_offset_reset", "group_id")}
    with Cluster(seed=14, configs=CONFIGS) as cluster:
        accounts = Accounts(cluster)
        cluster.create_topic("orders", partitions=1)
        members = [
            cluster.consumer(
                "orders", client_id=name, enable_auto_commit=False, **config
            )
            for name in ("A", "B")
        ]
        first, second = members
        cluster.start(_until_refused, sink, first, accounts, cluster.sleep)
        cluster.run(seconds=5)
        shop = cluster.producer(client_id="shop")
        shop.send("orders", key="alice", value="20").get()
        cluster.run_ms(100)
        cluster.freeze(first, seconds=60)
        cluster.start(_until_refused, sink, second, accounts, cluster.sleep)
        cluster.run(seconds=90)
    return accounts


def _until_refused(sink: Callable[..., None], *given: Any) -> None:
    """A member that was evicted can't commit: its program ends."""
    with suppress(KafkaError):
        sink(*given)


def behind_by(
    work: Callable[[Cluster, Any], None], seconds: int = 30
) -> tuple[list[int], str]:
    """Each second an order comes to each of two partitions, and `work` does them as the
    member billing. The third order of partition 0 is broken. Billing's lag in the end,
    by partition, and a text that says every 10 s where it is.
    """
    with Cluster(seed=14, configs=CONFIGS) as cluster:
        cluster.create_topic("orders", partitions=2)
        cluster.start(_a_second, cluster, cluster.producer(client_id="shop"))
        cluster.start(
            work, cluster, cluster.consumer("orders", client_id="billing", **MEMBER)
        )
        lags, told = [], []
        for _ in range(seconds // 10):
            cluster.run(seconds=10)
            lags = [lag for _, lag in sorted(cluster.lag("billing").items())]
            done = [
                offset
                for _, offset in sorted(cluster.committed_offsets("billing").items())
            ]
            told.append(
                f"after {cluster.now_ms // 1000:2} s: committed offsets {done}, lag"
                f" {lags}"
            )
        return lags, "\n".join(told)


def _a_second(cluster: Cluster, shop: Any) -> None:
    for number in range(1000):
        for partition in (0, 1):
            shop.send(
                "orders",
                value="?" if (partition, number) == (0, 2) else f"order {number}",
                partition=partition,
            )
        cluster.sleep(1)


def broken(record: Any) -> bool:
    """Whether nobody can read this record, however often one tries."""
    return text(record.value).startswith("?")


def text(found: bytes | None) -> str:
    """A key or a value as text."""
    return (found or b"").decode()
