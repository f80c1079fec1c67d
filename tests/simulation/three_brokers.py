"""What the tests of a replicated cluster share: three brokers, or five, with one topic,
and what became of it.
"""

from minikafka import Cluster
from minikafka.clients.errors import KafkaError
from tests.simulation.replication_schedules import QUICK


def three(min_insync_replicas=2, seed=3, **more):
    cluster = Cluster(brokers=3, seed=seed, configs=QUICK | more)
    cluster.create_topic(
        "orders",
        replication_factor=3,
        configs={"min.insync.replicas": min_insync_replicas},
    )
    return cluster


def five(seeds=range(20), **configs):
    """A cluster whose voters survive: of the replicas of `orders` at most one is a
    voter (1, 2 and 3 are).
    """
    for seed in seeds:
        cluster = Cluster(brokers=5, seed=seed, configs=QUICK | configs)
        cluster.create_topic(
            "orders", replication_factor=3, configs={"min.insync.replicas": 2}
        )
        partition = cluster.partition("orders", 0)
        if {4, 5} < set(partition.replicas):
            return cluster, partition.replicas
    raise AssertionError("no seed places it so")


def isr(cluster, topic="orders"):
    return set(cluster.partition(topic, 0).isr)


def leader_of(cluster, topic="orders"):
    return cluster.partition(topic, 0).leader


def followers(cluster):
    return sorted({1, 2, 3} - {cluster.leader("orders")})


def sent(cluster, *values, seconds=10, **config):
    """What became of each: its offset, or the name of the error."""
    futures = [
        cluster.producer(acks="all", **config).send("orders", value=value)
        for value in values
    ]
    cluster.run_until(lambda: all(future.is_done for future in futures), seconds)
    found = []
    for future in futures:
        try:
            found.append(future.get().offset)
        except KafkaError as error:
            found.append(error.error.name)
    return found


def kinds(cluster, kind):
    return [event for event in cluster.trace if event.kind == kind]
