"""Lesson 04's experiments: a program that is killed while it pays orders, and what the
trace says about it.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle
from typing import Any

from minikafka.course.experiments.lesson_07_runs import lags
from minikafka.course.experiments.sweeps import Killed, sweep_of_calls
from minikafka.faults import Crash, Fault
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.producer_handle import ProducerHandle
from minikafka.trace import Event

NEW_GROUP_SECONDS = 5  # a new group begins to read after 3 s
DEAD_MEMBER_SECONDS = 60  # more than a group waits for a member that says nothing
BUSY_ORDERS, WORK_SECONDS = 1000, 0.01


def shop_with(
    orders: int, seed: int, faults: Iterable[Fault] = ()
) -> tuple[Cluster, ProducerHandle]:
    """A cluster, and the shop that has written this many orders, one a second, to the
    only partition of orders.
    """
    cluster = Cluster(seed=seed, faults=list(faults))
    cluster.create_topic("orders", partitions=1)
    shop = cluster.producer(client_id="shop")
    for number in range(orders):
        send(shop, number)
        cluster.run(seconds=1)
    return cluster, shop


def send(shop: ProducerHandle, number: int) -> None:
    """One order, into the shop's buffer."""
    shop.send("orders", key=f"o-{number}", value="20 euros")


def killed_after(orders: int, program: Callable[..., Any], seed: int = 2) -> Cluster:
    """The program pays an order a second, with auto-commit. It is killed after this
    many, and started again two seconds later. A minute later there are eight more
    orders.
    """
    cluster, shop = shop_with(orders=0, seed=seed)
    consumer = cluster.consumer(
        "orders", group_id="billing", client_id="billing", auto_offset_reset="earliest"
    )
    running = cluster.start(program, consumer, cluster.table("payments"))
    cluster.run(seconds=NEW_GROUP_SECONDS)
    for number in range(orders):
        send(shop, number)
        cluster.run(seconds=1)
    cluster.crash(running)
    cluster.run(seconds=2)
    cluster.restart(running)
    cluster.run(seconds=DEAD_MEMBER_SECONDS)
    for number in range(orders, orders + 8):
        send(shop, number)
    cluster.run(seconds=1)
    return cluster


def killed_at(program: Callable[..., Any], call: int, seed: int = 3) -> Cluster:
    """The program pays five orders, and commits by itself. It is killed on entering
    this blocking call, counted from 1, and started again.
    """
    crash = Crash(program.__name__, call=call)
    cluster, shop = shop_with(orders=0, seed=seed, faults=[crash])
    consumer = cluster.consumer(
        "orders",
        group_id="billing",
        client_id="billing",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    running = cluster.start(program, consumer, cluster.table("payments"))
    for number in range(5):
        send(shop, number)
    cluster.run(seconds=2 * NEW_GROUP_SECONDS)
    cluster.restart(running)
    cluster.run(seconds=DEAD_MEMBER_SECONDS)
    return cluster


def killed_while_busy(
    program: Callable[..., Any], auto_commit: bool = False, paid_orders: int = 677
) -> list[Event]:
    """A thousand orders wait, and each takes 10 ms of work. The program is killed when
    it has paid so many of them, and started again: what happens until all are paid.
    """
    cluster = Cluster(seed=6)
    cluster.create_topic("orders", partitions=1)
    shop = cluster.producer(client_id="shop")
    for number in range(BUSY_ORDERS):
        send(shop, number)
    cluster.run(seconds=1)
    consumer = cluster.consumer(
        "orders",
        group_id="billing",
        client_id="billing",
        auto_offset_reset="earliest",
        enable_auto_commit=auto_commit,
    )
    payments = cluster.table("payments")
    running = cluster.start(
        program, consumer, payments, lambda: cluster.sleep(WORK_SECONDS)
    )
    cluster.run_until(lambda: len(paid(cluster.trace)) >= paid_orders)
    cluster.crash(running)
    cluster.run(seconds=2)
    cluster.restart(running)
    cluster.run(seconds=2 * DEAD_MEMBER_SECONDS)
    return list(cluster.trace)


def commits_before_the_kill(trace: Iterable[Event]) -> int:
    """How many commits the program had sent when it was killed."""
    killed_ms = _killed_ms(trace)
    return sum(event.kind == "CommitSent" and event.at <= killed_ms for event in trace)


def seconds_of_work(trace: Iterable[Event]) -> float:
    """From the first payment to the kill."""
    began_ms = next(event.at for event in trace if event.kind == "EffectWritten")
    return (_killed_ms(trace) - began_ms) / 1000


def a_commit_leaves(event: Event) -> bool:
    """A condition: in this event a consumer sends a commit."""
    return event.kind == "CommitSent"


def a_day_later(event: Event) -> bool:
    """A condition: this event happens more than a day after the beginning."""
    return event.at > 24 * 60 * 60 * 1000


def first_read_by(reader: str) -> Callable[[Iterable[Event]], str]:
    """The first record that this reader got, read from a trace."""
    return lambda trace: first_read(trace, reader)


def first_read(trace: Iterable[Event], reader: str) -> str:
    """The first record that this reader got: "record 4", or "nothing". Raises
    LookupError before it has a position.
    """
    events = [event for event in trace if event.node == reader]
    kinds = {event.kind for event in events}
    if "PositionReset" not in kinds:
        raise LookupError(f"{reader} has no position yet")
    for event in events:
        if event.kind == "RecordsPolled" and event.detail["records"]:
            offset, *_ = event.detail["records"][0]
            return f"record {offset}"
    return "nothing"


def lag(trace: Iterable[Event]) -> int:
    """How many offsets of orders were written and not committed, when the trace
    ends.
    """
    *_, last = [0, *lags(trace)]
    return last


def paid(trace: Iterable[Event]) -> list[int]:
    """The offsets of the orders that were written to a table, in the order of
    writing.
    """
    written = [event for event in trace if event.kind == "EffectWritten"]
    return [event.detail["offset"] for event in written]


def twice(trace: Iterable[Event]) -> list[int]:
    """The offsets of the orders that were written more than once."""
    times = Counter(paid(trace))
    return [offset for offset, count in times.items() if count > 1]


def never(trace: Iterable[Event], orders: int) -> list[int]:
    """Those of the first `orders` orders that were never paid."""
    written = set(paid(trace))
    return [offset for offset in range(orders) if offset not in written]


def letter(cluster: Cluster, orders: int = 5) -> str:
    """.: each order was written once. t: an order was written twice. l: an order is
    lost.
    """
    if twice(cluster.trace):
        return "t"
    if never(cluster.trace, orders):
        return "l"
    return "."


def sweep(
    runs: Iterable[Cluster], calls: Sequence[str], orders: int = 5, **options: Any
) -> Any:
    """All runs in one picture: the first was killed at call 1, the second at call 2.
    calls: the names of one round. options: of the picture.
    """
    found = []
    for cluster, call in zip(runs, cycle(calls), strict=False):
        times = Counter(paid(cluster.trace))
        run = Killed(
            at_ms=_killed_ms(cluster.trace),
            call=call,
            written=[times[offset] for offset in range(orders)],
        )
        found.append(run)
    return sweep_of_calls(found, **options)


def _killed_ms(trace: Iterable[Event]) -> int:
    """When the program was killed."""
    return next(event.at for event in trace if event.kind == "NodeCrashed")


class Payments:
    """The table of payments on SQLite. When it has this many rows the process ends, as
    if it were killed.
    """

    def __init__(self, fuse: int = 3) -> None:
        self.fuse = fuse
        self.rows = sqlite3.connect(":memory:")
        self.rows.execute("create table payments (number blob, value blob)")

    def add(self, record: Any, value: bytes) -> None:
        self.rows.execute("insert into payments values (?, ?)", (record.key, value))
        if len(self.numbers()) == self.fuse:
            raise SystemExit("the plug is pulled")

    def __contains__(self, number: bytes) -> bool:
        return number in self.numbers()

    def numbers(self) -> list[bytes]:
        """The numbers of the orders, in the order of writing."""
        rows = self.rows.execute("select number from payments order by rowid")
        return [number for (number,) in rows]


def closing(event: Event) -> bool:
    """A condition: with this event a consumer begins to close, by a commit or by giving
    up its partitions.
    """
    if event.kind == "CommitSent":
        return event.detail["how"] == "close"
    return event.kind == "PartitionsRevoked"
