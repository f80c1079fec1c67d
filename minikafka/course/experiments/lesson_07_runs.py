"""Lesson 07's experiments and measurements: members that need time for each order, a
shop, the lag, the work done.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from minikafka.clients.structs import TopicPartition
from minikafka.prediction import Stretch
from minikafka.simulation.clock import MIDNIGHT_MS
from minikafka.simulation.cluster import Cluster
from minikafka.trace import Event

T = TypeVar("T")


def poll_for_ever(consumer: Any) -> None:
    """A member's program: take some orders, work on them, take the next. Work is time:
    processing_ms an order.
    """
    while True:
        consumer.poll(timeout_ms=60_000)


def start(cluster: Cluster, *names: str, **settings: Any) -> list[Any]:
    """Starts members of the group billing, one for each name. Returns the running
    programs.
    """
    settings = {"group_id": "billing", "auto_offset_reset": "earliest", **settings}
    return [
        cluster.start(
            poll_for_ever, cluster.consumer("orders", client_id=name, **settings)
        )
        for name in names
    ]


def waiting(orders: int, partitions: int, seed: int, done: int = 0) -> Cluster:
    """A new cluster on which this many orders wait, evenly spread, and nobody reads.
    The group billing has committed `done` more before them, in each partition.
    """
    cluster = Cluster(seed=seed)
    cluster.create_topic("orders", partitions=partitions)
    shop = cluster.producer(client_id="shop")
    for number in range(orders + done * partitions):
        shop.send("orders", partition=number % partitions, value=f"order {number}")
    cluster.run(seconds=1)
    if done:
        parts = [TopicPartition("orders", number) for number in range(partitions)]
        cluster.alter_offsets("billing", dict.fromkeys(parts, done))
    return cluster


def sell(cluster: Cluster, shop: Any, orders: int, every_s: float) -> None:
    """A shop's program: this many orders every so many seconds, forever, to each
    partition in turn.
    """
    number = 0
    while True:
        for _ in range(orders):
            shop.send(
                "orders",
                partition=number % cluster.partition_count("orders"),
                value=f"order {number}",
            )
            number += 1
        cluster.sleep(every_s)


def fast(auto_commit_interval_ms: int = 5000) -> Cluster:
    """10 orders a second for 22 s, and a member that needs 10 ms for each."""
    cluster = Cluster(seed=2)
    cluster.create_topic("orders", partitions=1)
    start(
        cluster,
        "billing",
        processing_ms=10,
        auto_commit_interval_ms=auto_commit_interval_ms,
    )
    cluster.run(seconds=5)
    cluster.start(sell, cluster, cluster.producer(client_id="shop"), 1, 0.1)
    cluster.run(seconds=22)
    return cluster


def down_for_ten_minutes(orders_a_minute: float, then_minutes: float = 45) -> Cluster:
    """A minute of work, ten minutes down, and back for so long. The member does ten
    orders a minute.
    """
    cluster = Cluster(seed=7)
    cluster.create_topic("orders", partitions=1)
    (billing,) = start(cluster, "billing", processing_ms=6000, max_poll_records=5)
    cluster.run(seconds=5)
    cluster.start(
        sell, cluster, cluster.producer(client_id="shop"), 1, 60 / orders_a_minute
    )
    cluster.run(seconds=60)
    cluster.crash(billing)
    cluster.run(seconds=600)
    cluster.restart(billing)
    cluster.run(seconds=60 * then_minutes)
    return cluster


def refunds_pile_up(cluster: Cluster, shop: Any) -> None:
    """The group support answers one refund and dies. Then a refund comes in each hour,
    three in all.
    """
    support = cluster.consumer(
        "refunds", group_id="support", client_id="support", auto_offset_reset="earliest"
    )
    shop.send("refunds", value="refund")
    support.poll(timeout_ms=10_000)
    support.commit()
    cluster.crash(support)
    for _ in range(3):
        shop.send("refunds", value="refund")
        cluster.run(seconds=60 * 60)


def billed(trace: Iterable[Event]) -> list[tuple[int, int]]:
    """(partition, offset) of each order that a member has worked on, in this order."""
    done = [event.detail for event in trace if event.kind == "RecordsProcessed"]
    return [
        (d["partition"], offset)
        for d in done
        for offset in range(d["offsets"][0], d["offsets"][1] + 1)
    ]


def how_many_billed(trace: Iterable[Event]) -> str:
    """How many different orders members have worked on, as an option says it:
    "2,000".
    """
    return f"{len(set(billed(trace))):,}"


def lags(trace: Iterable[Event]) -> Iterator[int]:
    """The lag that a tool would have seen after each event, where one group reads one
    partition of orders.
    """
    end = committed = 0
    for event in trace:
        if event.kind == "RecordsAppended" and event.detail["topic"] == "orders":
            end = event.detail["last_offset"] + 1
        elif event.kind == "OffsetCommitted":
            committed = event.detail["offset"]
        yield end - committed


def how_the_lag_goes(trace: Iterable[Event]) -> str:
    """How the lag develops: it stays at 0 or 1, or it rises and falls back more than
    once, or it only grows.
    """
    seen = list(lags(trace))
    highest = max(seen, default=0)
    if highest <= 1:
        return "0 or 1"
    falls = sum(before - after > highest / 2 for before, after in pairwise(seen))
    return (
        f"up to {highest} and back, again and again" if falls > 1 else "more and more"
    )


def busy_and_quiet() -> Cluster:
    """50 orders a second, which billing reads, and three refunds, one an hour, since
    support died.
    """
    cluster = Cluster(seed=3)
    cluster.create_topic("orders", partitions=1)
    cluster.create_topic("refunds", partitions=1)
    shop = cluster.producer(client_id="shop")
    refunds_pile_up(cluster, shop)
    start(cluster, "billing", processing_ms=10)
    cluster.start(sell, cluster, shop, 50, 1)
    cluster.run(seconds=13)
    return cluster


def oldest_waits(cluster: Cluster, group: str) -> list[tuple[str, int, float]]:
    """(topic, lag, seconds since the first record was written that isn't committed),
    for each partition of a group.
    """
    now = MIDNIGHT_MS + cluster.now_ms
    found = []
    for partition, lag in cluster.lag(group).items():
        waiting = (
            cluster.records(partition.topic, partition.partition)[-lag:] if lag else []
        )
        found.append(
            (
                partition.topic,
                lag,
                (now - waiting[0].timestamp) / 1000 if waiting else 0.0,
            )
        )
    return found


def a_minute_at_the_peak(
    partitions: int, *, orders_a_second: int, each_ms: int
) -> tuple[int, int]:
    """So many orders come in for a minute, and each partition has a member that needs
    each_ms for an order. Returns (the lag after it, percent of the minute for which
    members were busy).
    """
    cluster = Cluster(seed=9)
    cluster.create_topic("orders", partitions=partitions)
    names = "ABCDEFGHIJ"[:partitions]
    often = {"max_poll_records": 10, "auto_commit_interval_ms": 1000}
    start(cluster, *names, processing_ms=each_ms, **often)
    cluster.run(seconds=10)
    begin_ms = cluster.now_ms
    cluster.start(sell, cluster, cluster.producer(client_id="shop"), orders_a_second, 1)
    cluster.run(seconds=60)
    polled = [event for event in cluster.trace if event.kind == "RecordsPolled"]
    work_ms = sum(
        min(each_ms * len(event.detail["records"]), cluster.now_ms - event.at)
        for event in polled
    )
    lag = sum(cluster.lag("billing").values())
    return lag, round(100 * work_ms / (partitions * (cluster.now_ms - begin_ms)))


def at_work(trace: Iterable[Event]) -> Stretch:
    """From the first order that a member was handed to the last one that was done."""
    events = list(trace)
    handed = min(event.at for event in events if event.kind == "RecordsPolled")
    done = max(event.at for event in events if event.kind == "RecordsProcessed")
    return Stretch(handed, done)


def seconds_at_work(trace: Iterable[Event]) -> float:
    """Seconds from the first record handed to the program until all were processed."""
    handed, done = at_work(trace)
    return (done - handed) / 1000


def catching_up(trace: Iterable[Event]) -> Stretch | None:
    """From the moment a member is back to the first moment at which all existing orders
    are done; None if that hasn't happened yet.
    """
    back_ms, end = None, 0
    for event in trace:
        if event.kind == "RecordsAppended" and event.detail["topic"] == "orders":
            end = event.detail["last_offset"] + 1
        elif event.kind == "NodeRestarted":
            back_ms = event.at
        elif (
            event.kind == "RecordsProcessed"
            and back_ms is not None
            and event.detail["offsets"][1] + 1 == end
        ):
            return Stretch(back_ms, event.at)
    return None


def minutes_until_nothing_waits(trace: Iterable[Event]) -> float | None:
    """How long that took; None: it never came to that."""
    found = catching_up(trace)
    return None if found is None else (found.end - found.begin) / 60_000


def minutes_to_catch_up(minutes_down: float, load_percent: float) -> float:
    """By the rule: what waits, divided by what a group can do beyond what comes in."""
    return minutes_down * load_percent / (100 - load_percent)


def in_the_middle(event: Event) -> bool:
    """A condition: in this event a member's client finds that its program hasn't polled
    for too long.
    """
    return event.kind == "PollOverdue"


def not_before(
    at_ms: int, answer: Callable[[Sequence[Event]], T]
) -> Callable[[Sequence[Event]], T | None]:
    """The same answer, but None before this moment: the verdict waits until everything
    that leads to it has been seen.
    """

    def answer_in_time(trace: Sequence[Event]) -> T | None:
        if not trace or trace[-1].at < at_ms:
            return None
        return answer(trace)

    return answer_in_time
