"""A node listens before its logs are recovered, and refuses per API what it can't do
yet.
"""

import pytest

from minikafka.wire.errors import Error
from tests.broker.node import Node


class Early(Node):
    """A node whose recovery goes on when the test says so."""

    early = False

    def start(self):
        if not self.early:
            super().start()
            return
        self.broker = self.new_broker()
        self.broker.start(self.now)
        self.connect("client")

    def restart_early(self):
        self.early = True
        self.restart(clean=False)

    def recover(self):
        while not self.broker.ready:
            self.broker.tick(self.now)


@pytest.fixture
def node():
    node = Early()
    node.create_topic("orders")
    node.create_topic("others")
    node.produce("orders", "a")
    node.restart_early()
    return node


def test_a_partition_that_is_still_being_recovered_has_no_leader_here_yet(node):
    assert node.produce("orders", "b").error_code == Error.NOT_LEADER_OR_FOLLOWER
    assert node.fetch("orders").error_code == Error.NOT_LEADER_OR_FOLLOWER
    assert node.fetch("nowhere").error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    node.recover()
    assert node.values("orders") == ["a"]


def test_what_is_known_of_the_cluster_is_told_at_once(node):
    assert [topic.name for topic in node.call("Metadata", 8, topics=None).topics] == [
        "orders",
        "others",
    ]
    assert node.call("ApiVersions", 0).error_code == Error.NONE


def test_groups_have_no_coordinator_yet(node):
    node.call("FindCoordinator", 3, key="g", key_type=0)
    assert (
        node.call("OffsetFetch", 5, group_id="g", topics=[]).error_code
        == Error.NOT_COORDINATOR
    )


def test_kip_631_a_broker_in_recovery_is_fenced_and_gets_no_new_partitions(node):
    assert node.create_topic("new").error_code == Error.INVALID_REPLICATION_FACTOR
    asked = [{"name": "orders", "count": 3, "assignments": None}]
    refused = node.call("CreatePartitions", 1, topics=asked, timeout_ms=1000).results[0]
    assert refused.error_code == Error.INVALID_REPLICATION_FACTOR
    node.recover()
    assert node.create_topic("new").error_code == Error.NONE


def test_a_topic_deleted_during_recovery_is_gone(node):
    node.call("DeleteTopics", 4, topic_names=["orders"], timeout_ms=1000)
    assert node.produce("orders", "b").error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    node.recover()
    node.early = False
    node.restart()
    assert node.fetch("orders").error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert not [name for name in node.disk.listdir("") if name.startswith("orders")]


def test_after_an_unclean_stop_the_last_leader_leads_again_in_a_new_epoch(node):
    """KIP-966: it may have lost records, so it left the ISR, and is the best there
    is.
    """
    node.recover()
    partition = (
        node.call("Metadata", 8, topics=[{"name": "orders"}]).topics[0].partitions[0]
    )
    assert (partition.leader_id, partition.leader_epoch, list(partition.isr_nodes)) == (
        1,
        2,
        [1],
    )
