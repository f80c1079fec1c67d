"""Two brokers die within one heartbeat. Their sessions end one after the other, so the
controller fences one by one, as Apache Kafka's does: the second of them may lead for a
moment, though it is dead (KIP-966 says who may lead then).
"""

import pytest

from minikafka import Cluster
from tests.simulation.replication_schedules import QUICK
from tests.simulation.three_brokers import kinds

pytestmark = pytest.mark.slow

VOTERS = {1, 2, 3}  # who decides lives on


def on_two(min_insync_replicas):
    """A cluster, and a partition whose replicas are the two that don't vote."""
    for seed in range(20):
        cluster = Cluster(brokers=5, seed=seed, configs=QUICK)
        cluster.create_topic(
            "orders",
            partitions=20,
            replication_factor=2,
            configs={"min.insync.replicas": min_insync_replicas},
        )
        for number in range(20):
            described = cluster.partition("orders", number)
            if VOTERS.isdisjoint(described.replicas):
                return cluster, number, described.replicas
    raise AssertionError("no seed places it so")


@pytest.mark.parametrize("min_insync_replicas", [1, 2])
@pytest.mark.parametrize("apart_ms", [0, 100])
@pytest.mark.parametrize("comes_first", [0, 1])
def test_what_was_acknowledged_is_there_when_both_are_back(
    min_insync_replicas, apart_ms, comes_first
):
    cluster, number, replicas = on_two(min_insync_replicas)
    producer = cluster.producer(acks="all")
    sent = [
        producer.send("orders", value=str(each), partition=number) for each in range(20)
    ]
    producer.flush()
    assert all(each.is_done for each in sent)

    first, second = replicas
    cluster.crash(first)
    cluster.run(seconds=apart_ms / 1000)
    cluster.crash(second)
    described = cluster.partition
    cluster.run_until(lambda: described("orders", number).leader == -1)
    assert len(kinds(cluster, "BrokerFenced")) == 2

    for broker in (replicas[comes_first], replicas[1 - comes_first]):
        cluster.restart(broker)
        cluster.run(seconds=10)
    found = described("orders", number)
    assert (found.leader in replicas, set(found.isr)) == (True, set(replicas))
    values = [record.value for record in cluster.records("orders", number)]
    assert values == [str(each).encode() for each in range(20)]
