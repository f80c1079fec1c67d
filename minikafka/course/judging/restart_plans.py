"""The outcome of a plan for a rolling restart (lesson 10): the simulator carries it out
while orders come.
"""

from functools import cache
from typing import Any, NamedTuple

from minikafka.clients.errors import KafkaTimeoutError
from minikafka.course.experiments.lesson_10_runs import (
    all_in_sync,
    brokers_with_orders,
    has_stopped,
)
from minikafka.simulation.cluster import Cluster

EVERY_S, LONGEST_S = 1, 2.0
Plan = tuple[tuple[Any, ...], ...]
Wrong = tuple[str, int]  # a sentence about a broker, and which
# what is wrong with a step; how long an order took or waits still, at most, in s; how
# often a controller was elected; whether all are in sync
Outcome = tuple[Wrong | None, float, int, bool]


class Case(NamedTuple):
    """seed: another broker is the controller each time. start_s: seconds until a broker
    is up. brokers: the numbers of the three, of which the answer is told the first
    told_count.
    """

    seed: int
    start_s: int
    brokers: tuple[int, ...] = (1, 2, 3)
    told_count: int = 3

    @property
    def told(self) -> list[int]:
        """The brokers that the answer is to restart."""
        return list(self.brokers[: self.told_count])

    @property
    def controller(self) -> int:
        """The active controller, by the number that the answer is told."""
        return self.brokers[controller_of(self.seed) - 1]


CASES = {
    "the first example": Case(4, 2, told_count=1),
    "the second example": Case(4, 2, told_count=0),
    "a start takes 2 s": Case(4, 2),
    "a start takes 3 s": Case(2, 3),
    "a start takes 45 s": Case(5, 45),
    "other numbers": Case(4, 2, (0, 12, 7)),
    "two brokers": Case(4, 2, (30, 4, 5), told_count=2),
    "the controller stays up": Case(5, 2, told_count=2),
}


@cache
def controller_of(seed: int) -> int:
    """The active controller of the cluster with this seed."""
    with brokers_with_orders(seed, partitions=3) as cluster:
        return controllers(cluster)[-1]


def controllers(cluster: Cluster) -> list[int]:
    """The brokers that were elected, in this order."""
    return [
        int(event.node.split()[1])
        for event in cluster.trace
        if event.kind == "ControllerElected"
    ]


def outcome(plan: Plan, case: Case) -> Outcome:
    """The outcome when the simulator's brokers 1 to 3 carry it out."""
    numbers = {told: number for number, told in enumerate(case.brokers, 1)}
    real = tuple(
        (what, *(numbers[each] for each in which))
        if what in ("stop", "start")
        else (what, *which)
        for what, *which in plan
    )
    return restarted(real, case.seed, case.start_s)


@cache
def restarted(plan: Plan, seed: int, start_s: int) -> Outcome:
    """What the plan did to a cluster that gets an order every second. An order without
    an answer is as old as the time since it was sent.
    """
    with brokers_with_orders(seed, partitions=3) as cluster:
        shop = cluster.producer(client_id="shop")
        took_ms: list[int] = []
        sent_ms: list[int] = []
        down: set[int] = set()

        def sells() -> None:
            while True:
                number = len(took_ms)
                sent_ms.append(cluster.now_ms)
                shop.send("orders", value=f"order {number}", partition=number % 3).get()
                took_ms.append(cluster.now_ms - sent_ms[-1])
                cluster.sleep(EVERY_S)

        cluster.start(sells)
        cluster.run(seconds=2)
        before = len(controllers(cluster))
        wrong: Wrong | None = None
        for step in plan:
            wrong = wrong or carried_out(cluster, step, start_s, down)
        cluster.run(seconds=3)
        if len(took_ms) < len(sent_ms):
            took_ms.append(cluster.now_ms - sent_ms[-1])
        elections = len(controllers(cluster)) - before
        return wrong, max(took_ms) / 1000, elections, all_in_sync(cluster)


def carried_out(
    cluster: Cluster, step: tuple[Any, ...], start_s: int, down: set[int]
) -> Wrong | None:
    """Carry out one step. Returns what is wrong with it, and for which broker,
    or None.
    """
    what, *which = step
    try:
        if what == "stop":
            if which[0] in down:
                return "broker {} is stopped while it is down", which[0]
            down.add(which[0])
            cluster.stop(which[0])
            cluster.run_until(lambda: has_stopped(cluster, which[0]), 30)
        elif what == "start":
            if which[0] not in down:
                return "broker {} is started while it runs", which[0]
            down.discard(which[0])
            cluster.start(comes_up, cluster, which[0], start_s)
        elif what == "wait":
            cluster.run(seconds=which[0])
        elif down:
            said = "it waits until all are in sync, while broker {} is down"
            return said, min(down)
        else:
            cluster.run_until(lambda: all_in_sync(cluster), 120)
    except KafkaTimeoutError:
        return f"{what} was never done: too many brokers were away", 1
    return None


def comes_up(cluster: Cluster, broker: int, start_s: int) -> None:
    """A broker is told to start, reads its logs, and is up."""
    cluster.sleep(start_s)
    cluster.restart(broker)
