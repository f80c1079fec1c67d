"""What lesson 14's stretch runs: a shop with your settings sends payments to three
brokers, on one kind of day.

    found = a_day({"linger_ms": 5}, {"min.insync.replicas": 1}, "leader cut off")
    found.lost, found.waited_ms(99)

The kind of day says what goes wrong; its seed says when, and how far away the brokers
are.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
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
    """A kind of day. every_ms: how often a payment comes, for this many seconds; then
    everything has after_s to settle.
    """

    says: str
    every_ms: int
    for_s: int
    after_s: int


KINDS = {
    "calm": Kind(
        says="nothing goes wrong",
        every_ms=5,
        for_s=2,
        after_s=1,
    ),
    "messages lost": Kind(
        says="a request of the shop is lost, and later an answer",
        every_ms=10,
        for_s=2,
        after_s=3,
    ),
    "leader cut off": Kind(
        says="the leader is cut off from the two others, and not from the shop",
        every_ms=200,
        for_s=12,
        after_s=40,
    ),
    "leader frozen": Kind(
        says="the leader stands still",
        every_ms=200,
        for_s=10,
        after_s=40,
    ),
    "leader killed": Kind(
        says="the leader dies by kill -9, and stays away",
        every_ms=200,
        for_s=10,
        after_s=40,
    ),
    "maintenance": Kind(
        says="a broker is dead, another is stopped cleanly, the third one loses power",
        every_ms=200,
        for_s=22,
        after_s=40,
    ),
    "no way out": Kind(
        says="the shop reaches no broker for a long time",
        every_ms=500,
        for_s=6,
        after_s=75,
    ),
}


@dataclass(frozen=True)
class Day:
    """The payments of a day. waits: for each one, ms from send() to its result; None if
    there was none.
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
        there = self.there or ()
        return [payment for payment in self.acknowledged if payment not in there]

    @property
    def twice(self) -> list[str]:
        times = Counter(self.there or ())
        return [payment for payment in times if times[payment] > 1]

    @property
    def overtaken(self) -> str | None:
        """The first payment that comes after a later one in the log."""
        numbers = [int(payment.split()[1]) for payment in self.there or ()]
        for before, number in pairwise(numbers):
            if number < before:
                return f"payment {number}"
        return None

    def waited_ms(self, percent: float) -> int | None:
        """This percentage of the payments had a result after at most this many ms; None
        if they never had one.
        """
        known = sorted(wait for wait in self.waits if wait is not None)
        needed = ceil(len(self.waits) * percent / 100)
        if needed > len(known):
            return None
        return known[needed - 1]

    @property
    def steps(self) -> list[str]:
        """What happened to brokers, leaders and the ISR."""
        return [str(event) for event in self.trace if _is_told(event)]

    def __str__(self) -> str:
        acknowledged, failed = len(self.acknowledged), len(self.failed)
        lost, twice = len(self.lost), len(self.twice)
        ninety_nine = _ms(self.waited_ms(99))
        longest = _ms(self.waited_ms(100))
        return (
            f"{self.told}\n{acknowledged} acknowledged, {failed} failed; of the"
            f" acknowledged ones {lost} lost; {twice} twice\n99% had an answer after"
            f" {ninety_nine}, all after {longest}; {self.requests_per_s:.0f} requests"
            " a second"
        )

    __repr__ = __str__


def _is_told(event: Event) -> bool:
    topic = event.detail.get("topic", TOPIC)
    return event.kind in TOLD and topic == TOPIC


def _ms(found: int | None) -> str:
    if found is None:
        return "more time than the day had"
    return f"{found} ms"


def a_day(
    producer: Settings, topic: Settings, kind: str = "calm", seed: int = 1
) -> Day:
    """A day of this kind. producer, topic: the settings that are not to be Kafka's
    defaults.
    """
    producer_settings = tuple(sorted(producer.items()))
    topic_settings = tuple(sorted(topic.items()))
    return _a_day(producer_settings, topic_settings, kind, seed)


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
    """The settings in the form of a topic's configuration: true for True."""
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
        began_ms = cluster.now_ms
        plan = _goes_wrong(cluster, shop, kind, at_ms=source.randint(1000, 1500))
        payments = _sells(cluster, shop, KINDS[kind], dict(plan))
        requests = 0
        for event in cluster.trace:
            if event.kind == "BatchSent" and event.at >= began_ms:
                requests += 1
        return Day(
            waits=tuple(payment.waited_ms for payment in payments),
            failed=tuple(payment.name for payment in payments if payment.failed),
            acknowledged=tuple(payment.name for payment in payments if payment.done),
            there=_there(cluster),
            requests_per_s=requests / KINDS[kind].for_s,
            told=f"{kind}, seed {seed}: {KINDS[kind].says}",
            trace=tuple(cluster.trace),
        )


def _lost_messages(source: Random) -> list[Lose]:
    """Lose a request to the leader, whichever broker that is, and an answer."""
    request = source.randint(4, 8)
    answer = source.randint(12, 20)
    lost = []
    for broker in (1, 2, 3):
        lost.append(Lose("shop", broker, "Produce", nth=request))
        lost.append(Lose("shop", broker, "Produce", nth=answer, answer=True))
    return lost


def _goes_wrong(
    cluster: Cluster, shop: ProducerHandle, kind: str, at_ms: int
) -> Iterator[Step]:
    partition = partition_of(cluster)
    leader = partition.leader
    one, other = [broker for broker in partition.replicas if broker != leader]

    def cut_off_the_leader() -> None:
        cluster.cut(leader, one)
        cluster.cut(leader, other)

    def cut_off_the_shop() -> None:
        for broker in (leader, one, other):
            cluster.cut(shop, broker)

    def restart_two() -> None:
        cluster.restart(leader)
        cluster.restart(one)

    if kind == "leader cut off":
        yield at_ms, cut_off_the_leader
        yield at_ms + 20_000, cluster.heal
    elif kind == "leader frozen":
        yield at_ms, partial(cluster.freeze, leader, seconds=25)
    elif kind == "leader killed":
        yield at_ms, partial(cluster.crash, leader)
    elif kind == "maintenance":
        yield at_ms, partial(cluster.crash, one)
        yield at_ms + 14_000, partial(cluster.stop, other)
        yield at_ms + 20_000, partial(cluster.crash, leader, power=True)
        yield at_ms + 24_000, restart_two
        yield at_ms + 38_000, partial(cluster.restart, other)
    elif kind == "no way out":
        yield at_ms, cut_off_the_shop
        yield at_ms + 70_000, cluster.heal


@dataclass
class _Payment:
    """waited_ms: from send() to the result; None while there is none."""

    name: str
    sent_ms: int
    future: Any
    waited_ms: int | None = None

    @property
    def failed(self) -> bool:
        return bool(self.future.failed())

    @property
    def done(self) -> bool:
        return bool(self.future.succeeded())


def _sells(
    cluster: Cluster,
    shop: ProducerHandle,
    kind: Kind,
    plan: dict[int, Callable[[], Any]],
) -> list[_Payment]:
    """Send a payment at regular intervals, while things go wrong. plan: ms after the
    first payment -> what happens then.
    """
    began_ms = cluster.now_ms
    payments: list[_Payment] = []

    def send() -> None:
        name = f"payment {len(payments)}"
        sent_ms = cluster.now_ms
        future = shop.send(TOPIC, key="till", value=name)
        payment = _Payment(name, sent_ms, future)
        payments.append(payment)

        def heard(_: Any) -> None:
            payment.waited_ms = cluster.now_ms - sent_ms

        future.add_callback(heard)
        future.add_errback(heard)

    sends = range(0, kind.for_s * 1000, kind.every_ms)
    end_ms = (kind.for_s + kind.after_s) * 1000
    for at_ms in sorted({*sends, *plan, end_ms}):
        left_ms = began_ms + at_ms - cluster.now_ms
        cluster.run_ms(max(0, left_ms))
        if at_ms in plan:
            plan[at_ms]()
        if at_ms in sends:
            send()
    return payments


def _there(cluster: Cluster) -> tuple[str, ...] | None:
    """The leader's log, also what is not committed yet; None if nobody leads."""
    leader = partition_of(cluster).leader
    if leader == NO_LEADER:
        return None
    return tuple(value for _, value in log_of(cluster, leader))
