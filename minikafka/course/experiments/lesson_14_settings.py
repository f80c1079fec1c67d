"""What lesson 14's stretch runs: a shop with your settings sends payments to three
brokers, on one kind of day.

    found = a_day({"linger_ms": 5}, {"min.insync.replicas": 1}, "leader cut off",
    seed=1) found.lost, found.waited_ms(99)

The day's kind says what goes wrong; its seed says when, and how far the brokers are
away.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import ceil
from random import Random
from typing import Any, NamedTuple

from minikafka.cluster.metadata import NO_LEADER
from minikafka.course.experiments.lesson_10_runs import TOPIC, log_of, partition_of
from minikafka.faults import Lose
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.producer_handle import ProducerHandle
from minikafka.trace import Event
from minikafka.wire.errors import KafkaError

TOLD = {
    "NodeCrashed",
    "NodeShutDown",
    "NodeRestarted",
    "NodeFrozen",
    "NodeThawed",
    "BrokerFenced",
    "LinkCut",
    "LinkHealed",
    "IsrShrunk",
    "IsrExpanded",
    "LeaderElected",
    "LogTruncated",
}

Settings = Mapping[str, Any]
Step = tuple[int, Callable[[], Any]]  # (ms after the first payment, what happens then)


class Kind(NamedTuple):
    """A kind of day. every_ms: a payment comes so often, for so many seconds; then all
    have after_s to settle.
    """

    says: str
    every_ms: int
    for_s: int
    after_s: int


KINDS = {
    "calm": Kind("nothing goes wrong", 5, 2, 1),
    "messages lost": Kind(
        "a request of the shop is lost, and later an answer", 10, 2, 3
    ),
    "leader cut off": Kind(
        "the leader is cut off from the two others, and not from the shop", 200, 12, 40
    ),
    "leader frozen": Kind("the leader stands still", 200, 10, 40),
    "leader killed": Kind("the leader dies by kill -9, and stays away", 200, 10, 40),
    "maintenance": Kind(
        "a broker is dead, another is stopped cleanly, the third one loses power",
        200,
        22,
        40,
    ),
    "no way out": Kind("the shop reaches no broker for a long time", 500, 6, 75),
}


@dataclass(frozen=True)
class Day:
    """What became of the payments. waits: of each one, from send() to the word on it in
    ms, None if none came.
    """

    waits: tuple[int | None, ...]
    failed: tuple[str, ...]
    acknowledged: tuple[str, ...]
    there: tuple[str, ...] | None  # the leader's log in the end; None: nobody leads
    requests_per_s: float
    told: str
    trace: tuple[Event, ...]

    @property
    def lost(self) -> list[str]:
        """Payments that were acknowledged, and that the log doesn't hold."""
        return [each for each in self.acknowledged if each not in (self.there or ())]

    @property
    def twice(self) -> list[str]:
        return [each for each, times in Counter(self.there or ()).items() if times > 1]

    @property
    def overtaken(self) -> str | None:
        """The first payment that stands behind a later one."""
        numbers = [int(each.split()[1]) for each in self.there or ()]
        return next((f"payment {b}" for a, b in pairwise(numbers) if b < a), None)

    def waited_ms(self, percent: float) -> int | None:
        """So many percent of the payments had word after at most so many ms; None if
        they never had.
        """
        known = sorted(each for each in self.waits if each is not None)
        needed = ceil(len(self.waits) * percent / 100)
        return known[needed - 1] if needed <= len(known) else None

    @property
    def steps(self) -> list[str]:
        """What became of brokers, leaders and the ISR."""
        return [
            str(event)
            for event in self.trace
            if event.kind in TOLD and event.detail.get("topic", TOPIC) == TOPIC
        ]

    def __str__(self) -> str:
        ninety_nine, longest = (self.waited_ms(percent) for percent in (99, 100))
        return (
            f"{self.told}\n{len(self.acknowledged)} acknowledged, {len(self.failed)}"
            f" failed; of the acknowledged ones {len(self.lost)} lost;"
            f" {len(self.twice)} twice\n99% had word after {_ms(ninety_nine)}, all"
            f" after {_ms(longest)}; {self.requests_per_s:.0f} requests a second"
        )

    __repr__ = __str__


def _ms(found: int | None) -> str:
    return "more time than the day had" if found is None else f"{found} ms"


def a_day(
    producer: Settings, topic: Settings, kind: str = "calm", seed: int = 1
) -> Day:
    """A day of this kind. producer, topic: the settings that are not to be Kafka's
    defaults.
    """
    return _a_day(
        tuple(sorted(producer.items())), tuple(sorted(topic.items())), kind, seed
    )


def none_possible(producer: Settings, topic: Settings) -> str | None:
    """Why there is no such producer, or no such topic; None if there are."""
    with Cluster() as cluster:
        try:
            cluster.producer(**producer)
            cluster.create_topic(TOPIC, configs=_texts(topic))
        except (TypeError, ValueError, KafkaError) as error:
            return str(error)
    return None


def _texts(topic: Settings) -> dict[str, str]:
    """As a topic's configuration has them: true for True."""
    return {name: str(value).lower() for name, value in topic.items()}


@lru_cache(maxsize=64)
def _a_day(producer: Any, topic: Any, kind: str, seed: int) -> Day:
    source = Random(f"{kind} {seed}")
    near = source.choice((1, 2))
    faults = _lost_messages(source) if kind == "messages lost" else []
    with Cluster(3, seed, faults=faults, latency_ms=(near, 2 * near + 1)) as cluster:
        cluster.create_topic(TOPIC, replication_factor=3, configs=_texts(dict(topic)))
        shop = cluster.producer(client_id="shop", **dict(producer))
        cluster.run(seconds=1)
        shop.partitions_for(TOPIC)
        began_ms, at_ms = cluster.now_ms, source.randint(1000, 1500)
        waits, futures = _sells(
            cluster, shop, KINDS[kind], list(_goes_wrong(cluster, shop, kind, at_ms))
        )
        failed = tuple(each for each, future in futures.items() if future.failed())
        acknowledged = tuple(
            each for each, future in futures.items() if future.succeeded()
        )
        sent = sum(
            event.kind == "BatchSent" and event.at >= began_ms
            for event in cluster.trace
        )
        requests_per_s = sent / KINDS[kind].for_s
        told = f"{kind}, seed {seed}: {KINDS[kind].says}"
        there = _there(cluster)
        return Day(
            tuple(waits.values()),
            failed,
            acknowledged,
            there,
            requests_per_s,
            told,
            tuple(cluster.trace),
        )


def _lost_messages(source: Random) -> list[Lose]:
    """A request to the leader, whoever that is, and an answer."""
    request, answer = source.randint(4, 8), source.randint(12, 20)
    return [
        Lose("shop", broker, "Produce", nth=nth, answer=nth == answer)
        for broker in (1, 2, 3)
        for nth in (request, answer)
    ]


def _goes_wrong(
    cluster: Cluster, shop: ProducerHandle, kind: str, at_ms: int
) -> Iterator[Step]:
    leader = partition_of(cluster).leader
    one, other = (
        broker for broker in partition_of(cluster).replicas if broker != leader
    )
    if kind == "leader cut off":
        yield at_ms, lambda: [cluster.cut(leader, each) for each in (one, other)]
        yield at_ms + 20_000, cluster.heal
    elif kind == "leader frozen":
        yield at_ms, lambda: cluster.freeze(leader, seconds=25)
    elif kind == "leader killed":
        yield at_ms, lambda: cluster.crash(leader)
    elif kind == "maintenance":
        yield at_ms, lambda: cluster.crash(one)
        yield at_ms + 14_000, lambda: cluster.stop(other)
        yield at_ms + 20_000, lambda: cluster.crash(leader, power=True)
        yield at_ms + 24_000, lambda: [cluster.restart(each) for each in (leader, one)]
        yield at_ms + 38_000, lambda: cluster.restart(other)
    elif kind == "no way out":
        yield at_ms, lambda: [cluster.cut(shop, each) for each in (leader, one, other)]
        yield at_ms + 70_000, cluster.heal


def _sells(
    cluster: Cluster, shop: ProducerHandle, kind: Kind, steps: list[Step]
) -> tuple[dict[str, int | None], dict[str, Any]]:
    """payment -> how long until there was word on it, and payment -> its future."""
    began_ms = cluster.now_ms
    waits: dict[str, int | None] = {}
    futures = {}

    def heard(payment: str, sent_ms: int, _: Any) -> None:
        waits[payment] = cluster.now_ms - sent_ms

    sends = {
        number * kind.every_ms: f"payment {number}"
        for number in range(kind.for_s * 1000 // kind.every_ms)
    }
    does = dict(steps)
    for at_ms in sorted({*sends, *does, (kind.for_s + kind.after_s) * 1000}):
        cluster.run_ms(max(0, began_ms + at_ms - cluster.now_ms))
        if at_ms in does:
            does[at_ms]()
        if at_ms in sends:
            payment, sent_ms = sends[at_ms], cluster.now_ms
            waits[payment] = None
            future = futures[payment] = shop.send(TOPIC, key="till", value=payment)
            future.add_callback(heard, payment, sent_ms)
            future.add_errback(heard, payment, sent_ms)
    return waits, futures


def _there(cluster: Cluster) -> tuple[str, ...] | None:
    """The leader's log, also what doesn't count yet; None if nobody leads."""
    leader = partition_of(cluster).leader
    return (
        None
        if leader == NO_LEADER
        else tuple(value for _, value in log_of(cluster, leader))
    )
