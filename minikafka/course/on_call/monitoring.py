"""What a monitoring system measures of the brokers and the shop every ten seconds."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.course import measured
from minikafka.course.on_call import fates
from minikafka.course.on_call.brokers import Brokers
from minikafka.course.on_call.orders import Orders
from minikafka.course.on_call.programs import Reader

SAMPLE_MS = 10_000


class Sample(NamedTuple):
    """The measurements at one time. Kafka's names are in `metrics.py`."""

    at_ms: int
    under_replicated: int
    offline: int
    under_min_isr: int
    controllers: int
    isr_shrinks: int
    failed_produces: int
    lag: dict[str, int]
    waiting: int  # customers who wait for an answer for too long
    late: int  # accepted orders that wait for too long to be handled
    refused: int
    accepted: int

    @property
    def unhappy(self) -> int:
        """Customers who wait too long, or were refused."""
        return self.waiting + self.late + self.refused

    @property
    def is_outage(self) -> bool:
        """Whether there are such customers."""
        return self.unhappy > 0


class UnhealthyPartitions:
    """How many partitions lack a replica, a leader, or enough replicas in sync."""

    def __init__(self) -> None:
        self.under_replicated = 0
        self.offline = 0
        self.under_min_isr = 0

    def count(self, partition: Any, min_isr: int) -> None:
        """Count one more partition, if something is wrong with it."""
        replicas = len(partition.replicas)
        in_sync = len(partition.isr)
        self.under_replicated += in_sync < replicas
        self.offline += partition.leader < 0
        self.under_min_isr += in_sync < min(min_isr, replicas)


def sample(
    brokers: Brokers,
    orders: Orders,
    readers: Sequence[Reader],
    late_ms: int,
    earlier: Sequence[Sample],
) -> Sample:
    """Measure everything now. late_ms: how long an accepted order may wait to be
    handled. earlier: the samples before this one.
    """
    since_ms = earlier[-1].at_ms if earlier else 0
    kinds = _kinds_since(brokers, since_ms)
    unhealthy = _unhealthy(brokers)
    lags = {}
    late = 0
    for reader in readers:
        lags[reader.name] = _lag(brokers, reader.name, earlier)
        late += _late(brokers, reader, late_ms)
    now_ms = brokers.cluster.now_ms
    refused_earlier = sum(each.refused for each in earlier)
    accepted_earlier = sum(each.accepted for each in earlier)
    return Sample(
        at_ms=now_ms,
        under_replicated=unhealthy.under_replicated,
        offline=unhealthy.offline,
        under_min_isr=unhealthy.under_min_isr,
        controllers=measured.active_controllers(brokers.cluster),
        isr_shrinks=kinds.count("IsrShrunk"),
        failed_produces=kinds.count("BatchRefused"),
        lag=lags,
        waiting=orders.waiting(now_ms),
        late=late,
        refused=len(orders.refused) - refused_earlier,
        accepted=len(orders.accepted) - accepted_earlier,
    )


def _kinds_since(brokers: Brokers, since_ms: int) -> list[str]:
    """The kinds of events after a time, newest first."""
    kinds = []
    for event in reversed(brokers.events):
        if event.at <= since_ms:
            break
        kinds.append(event.kind)
    return kinds


def _unhealthy(brokers: Brokers) -> UnhealthyPartitions:
    """The partitions as the best informed broker sees them."""
    found = UnhealthyPartitions()
    image = brokers.image()
    if image is None:
        return found
    for topic in image.topics.values():
        min_isr = brokers.min_isr(topic.name)
        for partition in topic.partitions.values():
            found.count(partition, min_isr)
    return found


def _lag(brokers: Brokers, group: str, earlier: Sequence[Sample]) -> int:
    """The lag in all partitions that have a leader. While no broker can tell it, the
    last known value.
    """
    now = measured.lag(brokers.cluster, group)
    if now is not None:
        return now
    return earlier[-1].lag[group] if earlier else 0


def _late(brokers: Brokers, reader: Reader, late_ms: int) -> int:
    """How many accepted orders have waited too long, and can still be handled."""
    now_ms = brokers.cluster.now_ms
    late = reader.orders.late(reader.name, now_ms, late_ms)
    if not late:  # asking what is lost takes longer
        return 0
    return len(late - fates.lost(reader, brokers))
