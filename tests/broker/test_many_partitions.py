"""A node with thousands of partitions: no turn of it takes as long as a follower of the
metadata quorum waits for its leader (KIP-595), and a stop and a start do nothing for
each log that it does not need. Work is counted, not time.
"""

import pytest

from minikafka.broker import log_recovery
from minikafka.cluster import controller, placer
from minikafka.cluster.controller import CHANGES_AT_ONCE
from minikafka.cluster.metadata import Image, MetadataRecord
from minikafka.cluster.quorum import RECORDS_AT_ONCE
from minikafka.simulation.memory_disk import MemoryDisk
from tests.broker.node import Node

pytestmark = pytest.mark.slow

MANY = 2500
OPENED_AT_ONCE = 300


class CountingDisk(MemoryDisk):
    """written: the files that were written whole."""

    def __init__(self):
        super().__init__()
        self.written = []

    def write_atomic(self, path, data, sync=True):
        self.written.append(path)
        super().write_atomic(path, data, sync)


def counter(monkeypatch, owner, name):
    """Counts the calls of a method in its one item."""
    calls, before = [0], getattr(owner, name)

    def counted(*args, **kwargs):
        calls[0] += 1
        return before(*args, **kwargs)

    monkeypatch.setattr(
        owner, name, staticmethod(counted) if owner is MetadataRecord else counted
    )
    return calls


def with_many(disk=None):
    node = Node(disk)
    node.create_topic("many", partitions=MANY)
    node.pass_time(5000)
    assert len(node.broker.replicas.replicas) == MANY
    return node


def test_a_decision_of_thousands_of_records_is_decoded_in_pieces_and_counts_as_a_whole(
    monkeypatch,
):
    node = Node()
    decoded = counter(monkeypatch, MetadataRecord, "decoded")
    topic = {
        "name": "many",
        "num_partitions": MANY,
        "replication_factor": 1,
        "assignments": [],
        "configs": [],
    }
    node.send("CreateTopics", 7, topics=[topic], timeout_ms=1000)
    turns = 1
    while node.broker.quorum.is_publishing:
        assert decoded[0] <= RECORDS_AT_ONCE
        assert "many" not in node.broker.image.topics
        assert node.broker.next_deadline() == node.now.monotonic_ms + 1
        decoded[0] = 0
        node.broker.tick(node.now)
        turns += 1
    assert turns > MANY // RECORDS_AT_ONCE
    assert len(node.broker.image.topics["many"].partitions) == MANY
    assert node.answer().topics[0].error_code == 0


def image_of_many(brokers=(1, 2, 3)):
    """Each partition is on all brokers, and led by each in turn."""
    image = Image()
    for broker in brokers:
        fields = {
            "broker_id": broker,
            "broker_epoch": broker,
            "end_points": [],
            "fenced": False,
        }
        fields["incarnation_id"] = bytes(16)
        image.apply(MetadataRecord("RegisterBrokerRecord", 3, fields))
    topic_id = bytes([7] * 16)
    placement = placer.place(image, MANY, len(brokers), first=0)
    for record in controller.create_topic(image, "many", topic_id, placement, {}):
        image.apply(record)
    return image


def value(topic, name):
    return {"min.insync.replicas": 1, "unclean.leader.election.enable": False}[name]


def decide_until_done(image, decide):
    """The decisions, one after the other, each in the image before the next; and who
    leads afterwards.
    """
    decisions = []
    while records := decide():
        assert len(records) <= CHANGES_AT_ONCE + 2
        for record in records:
            image.apply(record)
        decisions.append([record.name for record in records])
        assert len(decisions) < 10
    return decisions, {partition.leader for _, _, partition in image.all_partitions()}


def test_two_silent_brokers_are_fenced_in_several_decisions_and_never_lead_in_between():
    image = image_of_many()

    def decide():
        assert all(
            partition.leader != 2 or 1 in partition.isr
            for _, _, partition in image.all_partitions()
        )
        if image.brokers[1].fenced:
            return []
        return controller.fence(image, [1, 2], value).records

    decisions, leaders = decide_until_done(image, decide)
    fenced = [names.count("BrokerRegistrationChangeRecord") for names in decisions]
    assert fenced == [0, 0, 2]  # with the last one
    assert leaders == {3}
    assert image.brokers[2].fenced


def test_a_broker_that_wants_to_stop_hands_over_in_several_decisions():
    """KIP-112's controlled shutdown: it may go when there is nothing left to hand
    over.
    """
    image = image_of_many()
    decisions, leaders = decide_until_done(
        image, lambda: controller.begin_shutdown(image, 1, value)
    )
    assert [len(names) for names in decisions] == [
        CHANGES_AT_ONCE + 1,
        CHANGES_AT_ONCE,
        MANY - 2 * CHANGES_AT_ONCE,
    ]
    assert leaders == {2, 3}
    assert all(1 not in partition.isr for _, _, partition in image.all_partitions())


def test_a_start_opens_so_many_logs_in_one_turn(monkeypatch):
    node = with_many()
    node.broker.stop(node.now)
    opened = counter(monkeypatch, log_recovery, "recover")
    node.broker = node.new_broker()
    node.broker.start(node.now)
    most = 0
    while not node.broker.ready:
        opened[0] = 0
        node.broker.tick(node.now)
        most = max(most, opened[0])
    assert 0 < most <= OPENED_AT_ONCE
    assert len(node.broker.replicas.replicas) == MANY


def test_logs_without_a_record_cost_nothing_at_a_stop_and_a_start():
    """A sync for each of thousands of logs took longer than `serve` waits for its
    brokers to stop.
    """
    disk = CountingDisk()
    node = with_many(disk)
    disk.written.clear()
    node.restart(clean=True)
    assert not [path for path in disk.written if path.startswith("many-")]
    assert node.produce("many", "paid", partition=7).error_code == 0
    node.restart(clean=True)
    assert [path for path in disk.written if path.endswith(f"/{1:020}.snapshot")] == [
        f"many-7/{1:020}.snapshot"
    ]
    assert node.values("many", partition=7) == ["paid"]
