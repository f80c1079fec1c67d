"""What lesson 13 runs: payments in transactions, two readers of them, and a copying
program that is killed.

    found = copied(bill, Schedule(kills=(5,), busy=("alice 1",), lost=("EndTxn", 1,
    True))) found.wrong
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from minikafka import Cluster
from minikafka.clients.errors import KafkaTimeoutError
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
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


def three_brokers() -> Cluster:
    """Three brokers, all with a copy of both partitions of payments. Broker 2 leads
    partition 0, and is the coordinator of the transactional id pay.
    """
    cluster = Cluster(brokers=3, seed=1, configs=SMALL)
    cluster.create_topic(
        "payments",
        partitions=2,
        replication_factor=3,
        configs={"min.insync.replicas": 2},
    )
    return cluster


def dies_in_the_middle() -> tuple[list[str], list[str]]:
    """A shop with an idempotent producer dies between the two records of a payment; a
    new process sends both. What an auditor has read after the first, and in the end.
    """
    with one_broker() as cluster:
        auditor = reader(cluster, "auditor", "read_uncommitted")
        shop = cluster.producer(client_id="shop")
        shop.send("payments", value="alice -20", partition=0).get()
        cluster.crash(shop)
        first = polled(auditor)
        again = cluster.producer(client_id="shop")
        again.send("payments", value="alice -20", partition=0).get()
        again.send("payments", value="bob +20", partition=1).get()
        return first, sorted(first + polled(auditor))


def _both_records(shop: ProducerHandle) -> None:
    shop.begin_transaction()
    shop.send("payments", value="alice -20", partition=0)
    shop.send("payments", value="bob +20", partition=1)
    shop.flush()


def pays() -> Cluster:
    """The payment in one transaction, on three brokers; the shop commits two seconds
    later. Two readers poll all the time: one for all records, one for committed ones.
    """
    cluster = three_brokers()
    for name in ("uncommitted", "committed"):
        cluster.start(_polls, reader(cluster, name, f"read_{name}"))
    shop = paying(cluster)
    _both_records(shop)
    cluster.run(seconds=2)
    shop.commit_transaction()
    cluster.run(seconds=1)
    return cluster


def _polls(consumer: ConsumerHandle) -> None:
    """A program that polls forever."""
    while True:
        consumer.poll(timeout_ms=500)


def the_shop_hangs() -> tuple[Cluster, ConsumerHandle]:
    """The shop has a transaction open on partition 0; the kiosk, which has none, writes
    to both partitions after it. An auditor reads committed records.
    """
    cluster = one_broker()
    auditor = reader(cluster, "auditor", "read_committed")
    shop = paying(cluster)
    shop.begin_transaction()
    shop.send("payments", value="20 euros", partition=0).get()
    kiosk = cluster.producer(client_id="kiosk")
    kiosk.send("payments", value="5 euros", partition=0).get()
    kiosk.send("payments", value="6 euros", partition=1).get()
    return cluster, auditor


def audited() -> tuple[str, int]:
    """The same with an auditor in a group, who commits what it was given: the group as
    a tool shows it, and where partition 0 ends for the auditor.
    """
    cluster, _ = the_shop_hangs()
    auditor = cluster.consumer(
        "payments",
        client_id="auditor",
        group_id="audit",
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    while not polled(auditor):
        pass
    auditor.commit()
    [end] = auditor.end_offsets([TopicPartition("payments", 0)]).values()
    return str(cluster.group("audit")), end


def two_of_a_name() -> tuple[str, list[str], list[str]]:
    """The first program with the transactional id hangs before its commit, a second one
    pays and commits, and the first goes on: the error it gets, the log of partition 0,
    and the records that are read.
    """
    cluster = one_broker()
    auditor = reader(cluster, "auditor", "read_committed")
    first = paying(cluster, client_id="first")
    first.begin_transaction()
    first.send("payments", value="20 euros", partition=0).get()
    second = paying(cluster, client_id="second")
    second.begin_transaction()
    second.send("payments", value="20 euros", partition=0).get()
    second.commit_transaction()
    told = heard(first.commit_transaction)
    cluster.run(seconds=1)
    return told, _log_of_partition_0(cluster), polled(auditor)


def _log_of_partition_0(cluster: Cluster) -> list[str]:
    """The values of its records, and what its markers say, by offset."""
    found: dict[int, str] = {}
    for event in cluster.trace:
        d = event.detail
        if d.get("topic") != "payments" or d.get("partition") != 0:
            continue
        if event.kind == "RecordsAppended":
            found |= {record[0]: record[2] for record in d["records"]}
        elif event.kind == "MarkerWritten":
            found[d["offset"]] = {"committed": "COMMIT"}.get(d["outcome"], "ABORT")
    return [each for _, each in sorted(found.items())]


def after_days(days: int) -> str:
    """A program pays, is quiet for so many days, and pays again with the same producer:
    what the second commit hears.
    """
    with one_broker() as cluster:
        job = paying(cluster)
        for quiet_days in (0, days):
            cluster.run(seconds=quiet_days * 24 * 3600)
            job.begin_transaction()
            job.send("payments", value="20 euros", partition=0)
            told = heard(job.commit_transaction)
        return told


def the_coordinator_dies() -> tuple[Cluster, list[str]]:
    """The payment in one transaction. The coordinator is killed when PrepareCommit is
    in its log. Twenty seconds later: what a program reads that wants committed records.
    """
    cluster = three_brokers()
    shop = paying(cluster)
    _both_records(shop)
    cluster.start(lambda: shop.commit_transaction())  # goes on while brokers die
    cluster.crash(_until_prepared(cluster))
    cluster.run(seconds=20)
    auditor = reader(cluster, "auditor", "read_committed")
    read: list[str] = []
    cluster.start(lambda: read.extend(polled(auditor)))
    cluster.run(seconds=2)
    return cluster, read


def steps(cluster: Cluster) -> str:
    """The steps of the transaction, and the brokers that died and led meanwhile."""
    told = "TransactionStateChanged", "NodeCrashed", "LeaderElected"
    crashed = next(e.at for e in cluster.trace if e.kind == "NodeCrashed")
    return "\n".join(
        str(event)
        for event in cluster.trace
        if event.kind in told and event.at >= crashed - 1000
    )


def _until_prepared(cluster: Cluster) -> int:
    """Runs until a coordinator has written PrepareCommit into its log: its broker."""

    def prepared() -> list[Event]:
        return [
            event
            for event in cluster.trace
            if event.detail.get("state") == "PrepareCommit"
        ]

    cluster.run_until(lambda: bool(prepared()))
    return int(prepared()[-1].node.split()[1])


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
    """The records it is given in this time, partition by partition: "0:2 20 euros" is
    offset 2 of partition 0.
    """
    found = []
    for _ in range(2):
        for part, records in consumer.poll(timeout_ms=500 * seconds).items():
            found += [
                f"{part.partition}:{record.offset} {record.value.decode()}"
                for record in records
            ]
    return sorted(found)


def heard(call: Callable[..., Any], *args: Any) -> str:
    """Calls it: "done", or the name of the error that came of it."""
    try:
        call(*args)
    except KafkaError as error:
        return error.error.name
    return "done"


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
QUIET_S, MOST_TIMES, BLOCK_S = 2, 6, 5
LARGEST, MOST_TRIES = 2_000, 4
TOO_LARGE = " and a long list" * 200
ENDS = ("commit_transaction", "abort_transaction", "poll")


class TillBusy(Exception):
    """The till gives no receipt now."""


class Till:
    """Gives receipts. busy: orders at which it raises TillBusy, once for each time they
    are listed. given: all receipts it gave. refused: the orders at which it was busy,
    each with the calls of the program's life and how many there were by then.
    """

    def __init__(
        self,
        busy: Sequence[str],
        large: str | None = None,
        fenced: str | None = None,
        take_over: Callable[[], Any] = lambda: None,
    ) -> None:
        self._busy = list(busy)
        self._large, self._fenced, self._take_over = large, fenced, take_over
        self.asked: Counter[str] = Counter()
        self.given: set[str] = set()
        self.refused: list[tuple[str, list[str], int]] = []
        self.program: Any = None  # whose calls these are

    def receipt(self, order: bytes) -> str:
        """The receipt of an order's value."""
        value = order.decode()
        if value in self._busy:
            self._busy.remove(value)
            if self.program is not None:
                calls = self.program.calls
                self.refused.append((value, calls, len(calls)))
            raise TillBusy(f"no receipt for {value} now; try again")
        self.asked[value] += 1
        if value == self._fenced and self.asked[value] == 1:
            self._take_over()
        if value == self._large and self.asked[value] > MOST_TRIES:
            self.program.crash_at_call = len(self.program.calls) + 1
        receipt = f"receipt of {value}"
        if value == self._large:
            receipt += TOO_LARGE
        self.given.add(receipt)
        return receipt

    def counted_all_the_same(self) -> str | None:
        """The order at which it was busy, and whose transaction was committed before
        the program aborted it or read on.
        """
        for order, calls, at in self.refused:
            ends = [call for call in calls[at:] if call in ENDS]
            if ends[:1] == ["commit_transaction"]:
                return order
        return None


class Schedule(NamedTuple):
    """kills: in each life the number of the blocking call before which it is killed.
    busy: orders at which the till is busy, once for each time that they stand there.
    lost: a request of the producer, by API and number, and whether it is its answer
    that is lost. orders: (key, value); keys are dealt out over so many partitions.
    gap: the shop sends its first order in a transaction, whose marker takes an offset.
    in_a_row: so many of what is lost. fenced: when the till is asked for this order,
    another program takes the transactional id. large: this order's receipt is larger
    than the topic takes.
    """

    kills: tuple[int, ...] = ()
    busy: tuple[str, ...] = ()
    lost: tuple[str, int, bool] | None = None
    orders: tuple[tuple[str, str], ...] = ORDERS
    partitions: int = 2
    gap: bool = False
    in_a_row: int = 1
    fenced: str | None = None
    large: str | None = None

    def __str__(self) -> str:
        said = [f"killed before call {call}" for call in self.kills]
        said += [f"the till is busy at {each}" for each in self.busy]
        if self.lost:
            api, nth, answer = self.lost
            row = f" and {self.in_a_row - 1} more" if self.in_a_row > 1 else ""
            said.append(f"{'the answer to ' if answer else ''}{api} {nth}{row} is lost")
        if self.fenced:
            said.append(f"another one takes the transactional id at {self.fenced}")
        if self.large:
            said.append(f"the receipt of {self.large} is too large")
        if self.gap:
            said.append("an offset between two orders is missing")
        shown = ", ".join(said) or "nothing fails"
        if self.orders == ORDERS:
            return shown
        values = ", ".join(value for _, value in self.orders)
        return f"{shown}; {self.partitions} partition(s), orders {values}"


NOTHING_FAILS = Schedule()


class Copied(NamedTuple):
    """What a reader of committed records finds in the end, and the group's position.
    keys: of the receipts. till: the receipts it gave, and where it was busy. calls: of
    each life, by name.
    """

    receipts: list[str]
    keys: list[str | None]
    till: Till
    lags: list[int]
    ended: str
    calls: list[list[str]]
    trace: tuple[Event, ...]
    orders: tuple[tuple[str, str], ...] = ORDERS
    goes_on: bool = False
    large: str | None = None

    @property
    def wrong(self) -> str | None:
        """The first thing that is wrong, in a line."""
        if self.goes_on:
            return (
                "another program took its transactional id and it was fenced, but it goes"
                " on: it should end."
            )
        if self.large:
            return self._wrong_at_the_large_one(self.large)
        if self.ended:
            return (
                f"the program has ended{self.ended}. A service runs on: tomorrow there"
                " are more orders."
            )
        counted = self.till.counted_all_the_same()
        if counted:
            return (
                f"the till was busy at order {counted}, and then the program committed."
                " Nothing of this batch may count, and the batch must come again."
            )
        made_up = [each for each in self.receipts if each not in self.till.given]
        if made_up:
            return f"there is a receipt that the till never gave: {made_up[0]!r}."
        count = Counter(self.receipts)
        for _, order in self.orders:
            times = count.pop(f"receipt of {order}", 0)
            if times != 1:
                return (
                    f"a reader of committed records finds {times or 'no'} receipts of"
                    f" order {order}."
                )
        for receipt, key in zip(self.receipts, self.keys, strict=True):
            if key != receipt.split()[2]:
                return (
                    f"the {receipt} has the key {key}, but the order had the key"
                    f" {receipt.split()[2]}."
                )
        for key in dict.fromkeys(key for key, _ in self.orders):
            mine = [each for each in self.receipts if f" {key} " in each]
            if mine != sorted(mine):
                return (
                    f"the receipts of {key} are in another order than the orders:"
                    f" {', '.join(mine)}."
                )
        return self._wrong_offsets()

    def _wrong_at_the_large_one(self, order: str) -> str | None:
        tries = self.till.asked[order]
        if tries > MOST_TRIES:
            return (
                f"the receipt of order {order} is too large each time, and the program tried"
                f" {tries} times: it would try forever."
            )
        if not self.ended:
            return (
                f"the receipt of order {order} is too large, and the program goes on:"
                " it should end."
            )
        key = next(owner for owner, each in self.orders if each == order)
        before = [each for owner, each in self.orders if owner == key]
        allowed = before[: before.index(order)]
        found = [each for each in self.receipts if f" {key} " in each]
        left = self.lags[list(dict(self.orders)).index(key) % len(self.lags)]
        if left < len(before) - len(allowed):
            return (
                f"order {order}, whose receipt is too large, has none, but the group's"
                " offset is past it: it is lost."
            )
        if found != [f"receipt of {each}" for each in before[: len(before) - left]]:
            return f"the receipts of {key} and the group's offset don't agree: {found}."
        return None

    def _wrong_offsets(self) -> str | None:
        ahead = -min([0, *self.lags])
        if ahead:
            return (
                f"all receipts are there, but the group's offset is {ahead} past the end"
                " of its partition: the next orders would be skipped."
            )
        if any(self.lags):
            return (
                f"all receipts are there, but the group has a lag of {sum(self.lags)}."
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
        times = schedule.in_a_row
        faults.append(Lose("till", 1, api, nth=nth, times=times, answer=answer))
    with Cluster(seed=4, configs=SMALL, faults=faults) as cluster:
        partitions = schedule.partitions
        cluster.create_topic("orders", partitions=partitions)
        cluster.create_topic(
            "receipts", partitions=partitions, configs={"max.message.bytes": LARGEST}
        )
        ends = _sent_orders(cluster, schedule)
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
        receipts = cluster.producer(
            client_id="till", transactional_id="till", max_block_ms=BLOCK_S * 1000
        )

        others = []

        def take_over() -> None:
            other = cluster.producer(client_id="other", transactional_id="till")
            others.append(cluster.start(lambda: other.init_transactions()))

        till = Till(schedule.busy, schedule.large, schedule.fenced, take_over)
        running = cluster.start(as_a_process(program, guard), orders, receipts, till)
        till.program = running
        calls = []
        for kill in (*schedule.kills, None):
            running.crash_at_call = kill
            _until_quiet(cluster, running, ends, schedule.in_a_row // 10)
            calls.append(list(running.calls))
            if running.state == "crashed" and not schedule.large:
                cluster.restart(running)
        goes_on = schedule.fenced is not None and running.alive
        if schedule.fenced and not goes_on:
            cluster.run_until(lambda: not any(each.alive for each in others))
            cluster.restart(running)  # as a supervisor does, with new clients
            _until_quiet(cluster, running, ends)
            calls.append(list(running.calls))
        ended = (
            ""
            if running.alive
            else (
                f" with {type(running.error).__name__}"
                if running.error
                else " by itself"
            )
        )
        found, customers = _receipts(cluster)
        lags = _lags(cluster, ends)
        trace = tuple(cluster.trace)
        return Copied(
            found,
            customers,
            till,
            lags,
            ended,
            calls,
            trace,
            schedule.orders,
            goes_on,
            schedule.large,
        )


def _sent_orders(cluster: Cluster, schedule: Schedule) -> list[int]:
    """The shop sends them; returns the offset behind the last one, by partition."""
    shop = cluster.producer(client_id="shop")
    ends = [0] * schedule.partitions
    keys = list(dict.fromkeys(key for key, _ in schedule.orders))
    for number, (key, order) in enumerate(schedule.orders):
        partition = keys.index(key) % schedule.partitions
        record: dict[str, Any] = {"key": key, "value": order, "partition": partition}
        ends[partition] += 1
        if schedule.gap and number == 0:
            in_a_transaction = cluster.producer(transactional_id="shop")
            in_a_transaction.init_transactions()
            in_a_transaction.begin_transaction()
            in_a_transaction.send("orders", **record)
            in_a_transaction.commit_transaction()
            ends[partition] += 1
        else:
            shop.send("orders", **record)
    shop.flush()
    return ends


def _until_quiet(
    cluster: Cluster, running: Any, ends: list[int], more: int = 0
) -> None:
    """Until the program is dead, or all orders are committed and it has polled once
    more.
    """
    for _ in range(MOST_TIMES + more):
        try:
            cluster.run(seconds=QUIET_S)
        except Exception:
            if running.state != "failed":
                raise
        if not running.alive or not any(_lags(cluster, ends)):
            return


def _lags(cluster: Cluster, ends: list[int]) -> list[int]:
    """The group's lag by partition, from what its coordinator says."""
    done = [0] * len(ends)
    for event in cluster.trace:
        if (
            event.kind in ("OffsetCommitted", "PendingOffsetCommitted")
            and event.detail["topic"] == "orders"
        ):
            done[event.detail["partition"]] = event.detail["offset"]
    return [end - each for end, each in zip(ends, done, strict=True)]


def _receipts(cluster: Cluster) -> tuple[list[str], list[str | None]]:
    """The values and the keys that a reader of committed records gets."""
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


def behind(
    batch: Mapping[TopicPartition, Sequence[Any]],
) -> dict[TopicPartition, OffsetAndMetadata]:
    """What to commit when these records are done: in each partition one past the
    last.
    """
    return {
        partition: OffsetAndMetadata(records[-1].offset + 1, "")
        for partition, records in batch.items()
    }


def go_back(orders: Any, batch: Mapping[TopicPartition, Sequence[Any]]) -> None:
    """The consumer reads these records again: poll has moved on, and an abort doesn't
    change that.
    """
    for partition, records in batch.items():
        orders.seek(partition, records[0].offset)


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
            receipts.send_offsets_to_transaction(behind(batch), orders.group_metadata())
            while True:
                try:
                    receipts.commit_transaction()
                    break
                except KafkaTimeoutError:
                    pass  # perhaps it is decided: only a commit may follow
        except TillBusy:
            receipts.abort_transaction()
            go_back(orders, batch)
