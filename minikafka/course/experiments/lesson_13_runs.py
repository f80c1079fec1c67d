"""What lesson 13 runs: payments in transactions, two readers of them, and a copying
program that is killed.

    found = copied(bill, Schedule(kills=(5,), busy=("alice 1",), lost=("EndTxn", 1,
    True))) found.wrong
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minikafka import Cluster
from minikafka.clients.structs import OffsetAndMetadata
from minikafka.course.judging.guard import Guard
from minikafka.course.judging.killed_programs import as_a_process
from minikafka.faults import Lose
from minikafka.simulation.consumer_handle import ConsumerHandle
from minikafka.simulation.producer_handle import ProducerHandle
from minikafka.trace import Event
from minikafka.wire.errors import KafkaError

SMALL = {
    "transaction.state.log.num.partitions": 1,
    "offsets.topic.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
}


def one_broker(**more: Any) -> Cluster:
    """One broker, and the topic payments with two partitions."""
    cluster = Cluster(seed=13, configs=SMALL, **more)
    cluster.create_topic("payments", partitions=2)
    return cluster


def paying(cluster: Cluster, client_id: str = "shop", **config: Any) -> ProducerHandle:
    """A producer with the transactional id pay, which it has just said to the
    coordinator.
    """
    producer: ProducerHandle = cluster.producer(
        client_id=client_id, transactional_id="pay", **config
    )
    producer.init_transactions()
    return producer


def reader(cluster: Cluster, name: str, level: str) -> ConsumerHandle:
    """A reader of payments from the beginning. level: its isolation_level."""
    found: ConsumerHandle = cluster.consumer(
        "payments", client_id=name, auto_offset_reset="earliest", isolation_level=level
    )
    return found


def polled(consumer: ConsumerHandle, seconds: float = 1) -> list[str]:
    """What it is handed in this time, partition by partition: "0:2 20 euros" is offset
    2 of partition 0.
    """
    found = []
    for _ in range(2):
        for part, records in consumer.poll(timeout_ms=500 * seconds).items():
            found += [
                f"{part.partition}:{record.offset} {record.value.decode()}"
                for record in records
            ]
    return sorted(found)


def refused(call: Callable[..., Any], *args: Any) -> str:
    """Calls it: "", or the name of the error that came of it."""
    try:
        call(*args)
    except KafkaError as error:
        return error.error.name
    return ""


# -- the exercise: read orders, write receipts, each once

ORDERS = tuple(
    (key, f"{key} {number}") for number in (1, 2, 3, 4) for key in ("alice", "bob")
)
APIS = (
    "InitProducerId",
    "AddPartitionsToTxn",
    "Produce",
    "AddOffsetsToTxn",
    "TxnOffsetCommit",
    "EndTxn",
)
QUIET_S, MOST_TIMES = 2, 6


class TillBusy(Exception):
    """The till gives no receipt now."""


class Till:
    """Gives receipts. busy: orders at which it raises TillBusy, the first time. given:
    all that it gave.
    """

    def __init__(self, busy: Sequence[str]) -> None:
        self._busy = list(busy)
        self.given: set[str] = set()

    def receipt(self, order: bytes) -> str:
        """The receipt of an order's value."""
        value = order.decode()
        if value in self._busy:
            self._busy.remove(value)
            raise TillBusy(f"no receipt for {value} now; try again")
        self.given.add(f"receipt of {value}")
        return f"receipt of {value}"


class Schedule(NamedTuple):
    """kills: in each life the number of the blocking call before which it is killed.
    busy: orders at which the till is busy once. lost: a request of the producer, by API
    and number, and whether it is its answer that is lost.
    """

    kills: tuple[int, ...] = ()
    busy: tuple[str, ...] = ()
    lost: tuple[str, int, bool] | None = None

    def __str__(self) -> str:
        said = [f"killed before call {call}" for call in self.kills]
        said += [f"the till is busy at {each}" for each in self.busy]
        if self.lost:
            api, nth, answer = self.lost
            said.append(f"{'the answer to ' if answer else ''}{api} {nth} is lost")
        return ", ".join(said) or "nothing fails"


NOTHING_FAILS = Schedule()


class Copied(NamedTuple):
    """What a reader of committed records finds in the end, and where the group stands.
    keys: of the receipts. given: what the till gave. calls: of each life, by name.
    """

    receipts: list[str]
    keys: list[str | None]
    given: set[str]
    lags: list[int]
    ended: str
    calls: list[list[str]]
    trace: tuple[Event, ...]

    @property
    def wrong(self) -> str | None:
        """The first thing that is wrong, in a line."""
        if self.ended:
            return (
                f"the program has ended{self.ended}. A service runs on: tomorrow there"
                " are more orders."
            )
        made_up = [each for each in self.receipts if each not in self.given]
        if made_up:
            return f"there is a receipt that the till never gave: {made_up[0]!r}."
        count = Counter(self.receipts)
        for _, order in ORDERS:
            times = count.pop(f"receipt of {order}", 0)
            if times != 1:
                return (
                    f"a reader of committed records finds {times or 'no'} receipts of"
                    f" order {order}."
                )
        for receipt, key in zip(self.receipts, self.keys, strict=True):
            if key != receipt.split()[2]:
                return (
                    f"the {receipt} has the key {key}, and the order had the key"
                    f" {receipt.split()[2]}."
                )
        for key in ("alice", "bob"):
            mine = [each for each in self.receipts if f" {key} " in each]
            if mine != sorted(mine):
                return (
                    f"the receipts of {key} are in another order than the orders:"
                    f" {', '.join(mine)}."
                )
        if any(self.lags):
            return (
                f"all receipts are there, and the group has a lag of {sum(self.lags)}:"
                " its offsets are behind."
            )
        return None


def copied(
    program: Callable[..., Any],
    schedule: Schedule = NOTHING_FAILS,
    guard: Guard | None = None,
) -> Copied:
    """The program turns orders into receipts. Each kill ends a life, and it is started
    again with an empty memory.
    """
    faults = []
    if schedule.lost:
        api, nth, answer = schedule.lost
        faults.append(Lose("till", 1, api, nth=nth, answer=answer))
    with Cluster(seed=4, configs=SMALL, faults=faults) as cluster:
        for topic in ("orders", "receipts"):
            cluster.create_topic(topic, partitions=2)
        shop = cluster.producer(client_id="shop")
        for number, (key, order) in enumerate(ORDERS):
            shop.send("orders", key=key, value=order, partition=number % 2)
        shop.flush()
        orders = cluster.consumer(
            "orders",
            group_id="till",
            client_id="reader",
            group_instance_id="till",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            max_poll_records=3,
            heartbeat_interval_ms=10_000,
        )
        receipts = cluster.producer(client_id="till", transactional_id="till")
        till = Till(schedule.busy)
        running = cluster.start(as_a_process(program, guard), orders, receipts, till)
        calls = []
        for kill in (*schedule.kills, None):
            running.crash_at_call = kill
            _until_quiet(cluster, running, orders)
            calls.append(list(running.calls))
            if running.state == "crashed":
                cluster.restart(running)
        ended = (
            ""
            if running.alive
            else (
                f" with {type(running.error).__name__}"
                if running.error
                else " by itself"
            )
        )
        found, keys = _receipts(cluster)
        return Copied(
            found, keys, till.given, _lags(cluster), ended, calls, tuple(cluster.trace)
        )


def _until_quiet(cluster: Cluster, running: Any, orders: Any) -> None:
    """Until the program is dead, or all orders are committed and it has polled once
    more.
    """
    for _ in range(MOST_TIMES):
        try:
            cluster.run(seconds=QUIET_S)
        except Exception:
            if running.state != "failed":
                raise
        if not running.alive or not any(_lags(cluster)):
            return


def _lags(cluster: Cluster) -> list[int]:
    """Of the group, by partition: by what its coordinator has told."""
    done = [0, 0]
    for event in cluster.trace:
        if (
            event.kind in ("OffsetCommitted", "PendingOffsetCommitted")
            and event.detail["topic"] == "orders"
        ):
            done[event.detail["partition"]] = event.detail["offset"]
    return [len(ORDERS) // 2 - each for each in done]


def _receipts(cluster: Cluster) -> tuple[list[str], list[str | None]]:
    """What a reader of committed records gets: the values, and the keys."""
    audit = cluster.consumer(
        "receipts", auto_offset_reset="earliest", isolation_level="read_committed"
    )
    found = [
        each
        for _ in range(3)
        for records in audit.poll(timeout_ms=200).values()
        for each in records
    ]
    return [each.value.decode() for each in found], [
        each.key and each.key.decode() for each in found
    ]


def bill(orders: Any, receipts: Any, till: Any) -> None:
    """The exercise as Kafka means it."""
    receipts.init_transactions()
    while True:
        batch = orders.poll(timeout_ms=1000)
        if not batch:
            continue
        receipts.begin_transaction()
        try:
            for records in batch.values():
                for record in records:
                    receipts.send(
                        "receipts", key=record.key, value=till.receipt(record.value)
                    )
            done = {
                partition: OffsetAndMetadata(records[-1].offset + 1, "")
                for partition, records in batch.items()
            }
            receipts.send_offsets_to_transaction(done, orders.group_metadata())
            receipts.commit_transaction()
        except TillBusy:
            receipts.abort_transaction()
            for partition, records in batch.items():
                orders.seek(partition, records[0].offset)
