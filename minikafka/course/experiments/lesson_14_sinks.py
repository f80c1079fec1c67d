"""Lesson 14's two sinks on one partition: one is told each order, and Kafka notes how
far it is; the other stores the offset with the result. Both are killed behind an order.
"""

from collections.abc import Callable, Sequence
from typing import Any

from minikafka import Cluster
from minikafka.course.experiments.lesson_14_runs import (
    CONFIGS,
    MEMBER,
    Accounts,
)
from minikafka.faults import Crash, Fault
from minikafka.simulation.fault_map import NOTHING, FaultMap, Outcome, fault_map
from minikafka.trace import Event

ORDERS, CENTS = 5, 10
BEGINS_MS, EVERY_MS = 1000, 1000  # when the shop writes the first order, and the next
WORKS_S = 0.4  # from an order in the database to its commit
KILLED_MS = 3200  # order 2 is in both databases, and not committed
DEAD_MS = 2500
PLAIN, NOTING = "plain", "noting"
Wait = Callable[[float], None]


def plain_sink(orders: Any, accounts: Accounts, wait: Wait) -> None:
    """Adds each order, and then commits."""
    for order in orders:
        accounts.add("sales", int(order.value))
        wait(WORKS_S)
        orders.commit()


def noting_sink(orders: Any, accounts: Accounts, wait: Wait) -> None:
    """Adds each order whose offset isn't noted, and notes it in one transaction; then
    commits.
    """
    for order in orders:
        last = accounts.noted("orders-0")
        if last is None or order.offset > last:
            with accounts.transaction():
                accounts.add("sales", int(order.value))
                accounts.note("orders-0", order.offset)
        wait(WORKS_S)
        orders.commit()


def side_by_side(faults: Sequence[Fault] | None = None) -> Cluster:
    """Five orders of 10 cents, read by both. Without faults of their own both are
    killed behind order 2, and start again.
    """
    if faults is None:
        faults = [_killed(PLAIN, KILLED_MS), _killed(NOTING, KILLED_MS)]
    cluster = Cluster(seed=14, configs=CONFIGS, faults=list(faults))
    cluster.create_topic("orders", partitions=1)
    for name, sink in ((PLAIN, plain_sink), (NOTING, noting_sink)):
        named = {"group_id": name, "group_instance_id": name, "client_id": name}
        orders = cluster.consumer("orders", **MEMBER | named)
        cluster.start(
            sink, orders, Accounts(cluster, f"{name}'s database"), cluster.sleep
        )
    cluster.run_ms(BEGINS_MS - cluster.now_ms)
    shop = cluster.producer(client_id="shop")
    for _ in range(ORDERS):
        shop.send("orders", value=str(CENTS))
        cluster.run_ms(EVERY_MS)
    cluster.run(seconds=5)
    return cluster


def _killed(name: str, at_ms: int) -> Crash:
    return Crash(name, at_ms=at_ms, restart_after_ms=DEAD_MS)


def starts_again(event: Event) -> bool:
    """A program that was killed starts again."""
    return event.kind == "NodeRestarted"


def a_goes_on(event: Event) -> bool:
    """The member that stood still goes on."""
    return event.kind == "NodeThawed"


def what_counts(trace: Sequence[Event]) -> int:
    """1 order 2 is once in both databases, 2 twice in plain's, 3 twice in both. Raises
    LookupError while it may still be added.
    """
    written = dict.fromkeys((PLAIN, NOTING), 0)
    times: dict[str, int] = {}
    for event in trace:
        d = event.detail
        if event.kind == "EffectWritten":
            reader = d["reader"]
            written[reader] += 1
            # order 0 and order 1 are there once
            if written[reader] == 4:
                times.setdefault(reader, 2)
        elif event.kind == "OffsetCommitted" and d["offset"] == 3:
            times.setdefault(d["group"], written[d["group"]] - 2)
    return {(1, 1): 1, (2, 1): 2, (2, 2): 3}[times[PLAIN], times[NOTING]]


def added(trace: Sequence[Event]) -> int:
    """How often A and B have added the order. Raises LookupError before A has heard
    that its commit is refused.
    """
    times = 0
    for event in trace:
        times += event.kind == "EffectWritten"
        if event.kind == "CommitFailed":
            return times
    raise LookupError("nobody's commit was refused yet")


# -- the map

MOMENTS_MS = range(2960, 3560, 20)
MARKS = {3019: "it counts", 3422: "its commit"}


def killed_at_each_moment() -> FaultMap:
    """Each of the two killed once, at each moment around order 2."""
    faults = [_killed(PLAIN, 0), _killed(NOTING, 0)]
    return fault_map(side_by_side, faults, fared, MOMENTS_MS, keeps_traces=True)


def fared(cluster: Cluster) -> Outcome:
    """The fate of the five orders, in both databases."""
    written = dict.fromkeys((PLAIN, NOTING), 0)
    for event in cluster.trace:
        if event.kind == "EffectWritten":
            written[event.detail["reader"]] += 1
    if max(written.values()) > ORDERS:
        return Outcome("twice")
    if min(written.values()) < ORDERS:
        return Outcome("lost")
    return NOTHING
