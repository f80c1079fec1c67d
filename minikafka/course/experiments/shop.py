"""A shop that sends orders, and the group that bills them: what the demo and the
playground run.
"""

from typing import Any

from minikafka.simulation.cluster import Cluster

# kip-848 names the protocol; its assignor is `uniform`, the first of
# group.consumer.assignors.
PROTOCOLS: dict[str, dict[str, Any]] = {
    "range": {"partition_assignment_strategy": "range"},
    "cooperative-sticky": {"partition_assignment_strategy": "cooperative-sticky"},
    "kip-848": {"group_protocol": "consumer"},
}
MORE_PROTOCOLS: dict[str, dict[str, Any]] = PROTOCOLS | {
    "roundrobin": {"partition_assignment_strategy": "roundrobin"},
    "sticky": {"partition_assignment_strategy": "sticky"},
    "kip-848 with range": {
        "group_protocol": "consumer",
        "group_remote_assignor": "range",
    },
}
# Members beat often and wait little, or a picture would show silence most of the time:
# Kafka's defaults are 5 s (3 s in a classic group) and 3 s.
CONFIGS = {
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "1000",
}
CLASSIC = {"heartbeat_interval_ms": 1000}
SESSION_MS = 45_000  # Kafka's default: then a silent member is given up
FLUSH_S = 0.5  # a member needs so long to bring a partition that it gives up in order
TOPIC, GROUP = "orders", "billing"


class Shop:
    """A topic, its shop, and any members that join. per_second: orders; protocol: one
    of MORE_PROTOCOLS. session_timeout_ms: of members of a classic group.
    """

    def __init__(
        self,
        cluster: Cluster,
        protocol: str,
        partitions: int = 6,
        per_second: int = 10,
        replicas: int = 1,
        session_timeout_ms: int = SESSION_MS,
    ) -> None:
        self.cluster, self.protocol = cluster, protocol
        self.classic = CLASSIC | {"session_timeout_ms": session_timeout_ms}
        cluster.create_topic(TOPIC, partitions=partitions, replication_factor=replicas)
        cluster.start(shop, cluster, cluster.producer(client_id="shop"), 1 / per_second)

    def join(self, name: str) -> Any:
        """One more member, at work."""
        options = MORE_PROTOCOLS[self.protocol]
        options = options if "group_protocol" in options else options | self.classic
        consumer = self.cluster.consumer(
            group_id=GROUP, client_id=name, auto_offset_reset="earliest", **options
        )
        consumer.subscribe([TOPIC], listener=Flush(self.cluster))
        self.cluster.start(billing, consumer)
        return consumer


def shop(cluster: Cluster, producer: Any, every_s: float) -> None:
    number = 0
    while True:
        producer.send(TOPIC, key=f"customer {number % 40}", value=f"order {number}")
        number += 1
        cluster.sleep(every_s)


def billing(consumer: Any) -> None:
    for _ in consumer:
        pass


class Flush:
    """The work that a member does before it gives partitions up."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def on_partitions_revoked(self, partitions: Any) -> None:
        self._cluster.sleep(FLUSH_S * len(partitions))

    def on_partitions_assigned(self, partitions: Any) -> None:
        pass
