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
            cluster.looks.append((self.broker.node_id, self.follower))
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
