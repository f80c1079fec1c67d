"""Replicas that catch up are held up where their quota is used up (KIP-73), so that a
reassignment leaves clients and replicas in sync their share of the network.

Each broker measures for itself, as a leader and as a follower: the bytes of partitions
that a topic names in its list of throttled replicas. While they are more than the rate
allows, a leader gives such partitions no records, and a follower doesn't ask for them.
Replicas in sync are never held up, though their bytes count: else they would leave the
ISR.

A leader counts records; Apache Kafka's counts the headers of the partitions too.
"""

from functools import lru_cache
from typing import NamedTuple

from minikafka.broker.config import BrokerConfig, InForce
from minikafka.clock import NodeClock
from minikafka.cluster.metadata import TOPIC_RESOURCE, Image
from minikafka.cluster.quotas import SimpleRate

ALL = "*"
MOST_LISTS = 1000  # that are kept as sets


class Names(NamedTuple):
    """The configs of one role. rate: a broker's. replicas: a topic's."""

    rate: str
    replicas: str


AS_LEADER = Names(
    "leader.replication.throttled.rate", "leader.replication.throttled.replicas"
)
AS_FOLLOWER = Names(
    "follower.replication.throttled.rate", "follower.replication.throttled.replicas"
)


class ReplicationQuota:
    """What this broker has replicated recently in one role, of throttled partitions."""

    def __init__(
        self,
        names: Names,
        node_id: int,
        config: BrokerConfig,
        image: Image,
        clock: NodeClock,
    ) -> None:
        self._names = names
        self._node_id = node_id
        self._config = config
        self._image = image
        self._clock = clock
        self._in_force = InForce(config, image, node_id)
        self._rate = SimpleRate(
            config["replication.quota.window.num"],
            config["replication.quota.window.size.seconds"] * 1000,
        )

    @property
    def is_exceeded(self) -> bool:
        """Whether more was replicated than the rate allows."""
        limit: int | None = self._in_force[self._names.rate]
        if limit is None:
            return False
        return self._rate.measure(self._clock.now.monotonic_ms) > limit

    def throttles(self, topic: str, partition: int) -> bool:
        """Whether this partition is one of those that are counted, and held up when
        this broker's replica of it, or the one that fetches from it, is not in sync.
        """
        name = self._names.replicas
        if name not in self._image.config(TOPIC_RESOURCE, topic):
            return False
        listed = self._config.value(
            self._image, self._node_id, TOPIC_RESOURCE, topic, name
        ).value
        named = _partitions(listed, self._node_id)
        return str(partition) in named or ALL in named

    def record(self, topic: str, partition: int, size_bytes: int) -> None:
        """So many bytes of a partition were given, or taken; they count if it is
        throttled.
        """
        if size_bytes and self.throttles(topic, partition):
            self._rate.record(size_bytes, self._clock.now.monotonic_ms)


@lru_cache(MOST_LISTS)
def _partitions(listed: str, node_id: int) -> frozenset[str]:
    """Of a list of partition:broker, the partitions of this broker; or ALL. Numbers may
    have any length, so they are compared as text, without leading zeros. (A list with
    an empty part is legal, and Apache Kafka's broker then fails to understand it.)
    """
    found = []
    for replica in listed.split(","):
        partition, _, broker = replica.partition(":")
        if partition == ALL:
            found.append(ALL)
        elif broker and (broker.lstrip("0") or "0") == str(node_id):
            found.append(partition.lstrip("0") or "0")
    return frozenset(found)
