"""Fetches of followers are parked while they have all: who looks again, and when."""

import pytest

from minikafka import Cluster
from minikafka.broker.handlers.fetch import Fetching


@pytest.fixture
def cluster(monkeypatch):
    """cluster.looks: of followers whose fetch is parked, as (leader, follower)."""
    cluster = Cluster(brokers=3, seed=3)
    cluster.looks = []
    attempt = Fetching.attempt

    def noted(self, wait, now, expired):
        if self.session is not None and not expired:
            cluster.looks.append((self.handlers.node_id, self.follower))
        return attempt(self, wait, now, expired)

    monkeypatch.setattr(Fetching, "attempt", noted)
    cluster.create_topic("orders", partitions=3, replication_factor=3)
    cluster.run(seconds=2)
    cluster.looks.clear()
    return cluster


def test_a_commit_of_metadata_wakes_no_follower_that_it_is_not_about(cluster):
    cluster.alter_configs("orders", {"retention.ms": "5000000"})
    cluster.create_topic("alone", partitions=3, replication_factor=1)
    cluster.run(seconds=0.1)
    assert cluster.looks == []


def test_each_follower_looks_once_a_commit_when_what_it_fetches_changes(cluster):
    cluster.create_topic("more", partitions=6, replication_factor=3)
    cluster.run(seconds=0.01)
    nodes = (1, 2, 3)
    pairs = [(leader, other) for leader in nodes for other in nodes if leader != other]
    assert set(cluster.looks) == set(pairs)
    assert len(cluster.looks) <= 2 * len(pairs)


def test_a_topic_that_goes_wakes_its_followers(cluster):
    cluster.delete_topic("orders")
    cluster.run(seconds=0.1)
    assert len(set(cluster.looks)) == 6


def test_a_follower_that_is_added_while_its_fetch_is_parked_joins_with_the_next(
    cluster,
):
    """Nobody interrupts a fetch that is on its way, nor does Apache Kafka."""
    cluster.create_topic("alone", partitions=1, replication_factor=1)
    cluster.run(seconds=1)
    described = cluster.partition
    [leader] = described("alone", 0).replicas
    other = leader % 3 + 1
    moved = {"partition_index": 0, "replicas": [leader, other]}
    body = {
        "topics": [{"name": "alone", "partitions": [moved]}],
        "timeout_ms": 1000,
    }
    cluster.admin.ask("AlterPartitionReassignments", body)
    wait_ms = cluster.brokers[leader].broker.config["replica.fetch.wait.max.ms"]
    cluster.run(seconds=(wait_ms + 100) / 1000)
    assert set(described("alone", 0).isr) == {leader, other}
