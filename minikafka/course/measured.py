"""The current values that a monitoring system asks a cluster for: Kafka's own
numbers.
"""

from minikafka.clients.errors import IllegalStateError
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.processes import best_informed
from minikafka.wire.errors import KafkaError


def active_controllers(cluster: Cluster) -> int:
    """How many brokers think that they are the active controller."""
    active = 0
    for process in cluster.brokers.values():
        if process.state == "up":
            active += process.broker.quorum.is_leader
    return active


def under_replicated(cluster: Cluster) -> int:
    """Partitions that have fewer replicas in sync than they should; 0 while nobody
    can tell.
    """
    try:
        topics = best_informed(cluster.brokers).image.topics.values()
    except IllegalStateError:
        return 0
    found = 0
    for topic in topics:
        for partition in topic.partitions.values():
            found += len(partition.isr) < len(partition.replicas)
    return found


def lag(cluster: Cluster, group: str) -> int | None:
    """The lag in all partitions that have a leader; None while nobody can tell."""
    try:
        topics = best_informed(cluster.brokers).image.topics
        behind = 0
        for (topic, number), records in cluster.lag(group).items():
            if topics[topic].partitions[number].leader >= 0:
                behind += records
        return behind
    except (KafkaError, IllegalStateError):
        return None
