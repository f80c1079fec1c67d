"""Snapshots of the metadata (KIP-630): written now and then, read at start, fetched by
who is too far behind.
"""

import pytest

from minikafka import Cluster
from minikafka.broker.effects import Notice
from minikafka.cluster.metadata import Image
from minikafka.cluster.snapshots import Snapshots
from minikafka.server.folder_disk import FolderDisk
from minikafka.wire.errors import KafkaError
from tests.broker.node import Node
from tests.kafka import java_tool
from tests.simulation.replication_schedules import QUICK

SMALL = {
    "metadata.log.max.record.bytes.between.snapshots": 600,
    "internal.metadata.log.segment.bytes": 500,
}


QUOTA = {
    "entity": [{"entity_type": "user", "entity_name": None}],
    "ops": [{"key": "producer_byte_rate", "value": 1e9}],
}
CREDENTIAL = {
    "name": "ann",
    "mechanism": 1,
    "iterations": 4096,
    "salt": b"salt",
    "salted_password": b"salted",
}


def told(image):
    """All that an image says."""
    return (
        image.brokers,
        image.topics,
        image.topic_names,
        image.configs,
        image.features,
        image.next_producer_id,
        image.users,
    )


def busy(**more):
    node = Node(**more)
    node.call("AlterClientQuotas", 1, entries=[QUOTA])
    node.call("AlterUserScramCredentials", 0, upsertions=[CREDENTIAL])
    for number in range(8):
        node.create_topic(f"orders-{number}", partitions=2, retention_ms=5000)
        node.broker.tick(node.now)
    node.call("DeleteTopics", 5, topic_names=["orders-3"], timeout_ms=1000)
    node.call("InitProducerId", 4, transactional_id=None, transaction_timeout_ms=1000)
    return node


def newest(node):
    return Snapshots(node.disk).newest


def test_an_image_is_the_records_that_it_tells():
    image = busy().broker.image
    again = Image()
    for record in image.records():
        again.apply(record)
    assert told(again) == told(image)


def test_what_a_later_image_no_longer_has_is_told_as_records():
    was, later = busy().broker.image, busy().broker.image
    del later.brokers[1]
    later.topics.pop("orders-1"), later.topic_names.clear()
    later.configs.clear()
    later.users.quotas.clear(), later.users.credentials.clear()
    gone = was.gone(later)
    assert {record.name for record in gone} == {
        "RemoveTopicRecord",
        "UnregisterBrokerRecord",
        "ConfigRecord",
        "ClientQuotaRecord",
        "RemoveUserScramCredentialRecord",
    }
    for record in gone:
        was.apply(record)
    assert was.users == later.users


def test_a_restart_reads_the_newest_snapshot_and_replays_the_rest():
    node = busy(**SMALL)
    before = told(node.broker.image)[1:]
    assert newest(node).end_offset > 0
    node.restart()
    assert told(node.broker.image)[1:] == before
    assert node.broker.quorum.replica.log.log_start_offset > 0, "its beginning went"
    assert len(Snapshots(node.disk).ids) == 2
    assert node.produce("orders-1", "a").error_code == 0
    node.restart(clean=False)
    assert told(node.broker.image)[1:3] == (node.broker.image.topics, before[1])


def test_kip_630_a_metadata_log_begins_after_a_restart_where_it_began_before():
    """In the middle of a segment, too; and nothing is said of its leader epochs."""
    node = Node(metadata_log_max_record_bytes_between_snapshots=1)
    for number in range(4):
        node.create_topic(f"orders-{number}")
        node.broker.tick(node.now)
        log = node.broker.quorum.replica.log
        begins, epochs = log.log_start_offset, log.epochs.entries
        assert number == 0 or log.segments[0].base_offset < begins
        for clean in (True, False):
            node.restart(clean)
            log = node.broker.quorum.replica.log
            assert log.log_start_offset >= begins
            assert set(epochs[1:]) <= set(log.epochs.entries)
            assert not [one.line for one in node.out() if isinstance(one, Notice)]


def test_a_torn_snapshot_is_refused_by_name():
    node = busy(**SMALL)
    node.broker.stop(node.now)
    path = newest(node).path
    file = node.disk.open(path)
    file.truncate(file.size - 1)
    node.start()
    assert (
        path in node.broker.why_failed and "no whole snapshot" in node.broker.why_failed
    )


def one_that_follows():
    """A cluster of three, a node that doesn't lead its quorum, and where its log ends."""
    cluster = Cluster(brokers=3, seed=5, configs=QUICK | SMALL)
    cluster.create_topic("gone", replication_factor=3)
    away = next(
        node for node in (2, 3) if node != cluster.brokers[1].broker.quorum.leader_id
    )
    had = cluster.brokers[away].broker.quorum.end_offset
    return cluster, away, had


def test_who_was_away_for_long_fetches_a_snapshot():
    cluster, away, had = one_that_follows()
    cluster.crash(away)
    cluster.delete_topic("gone")
    for number in range(12):
        cluster.create_topic(f"orders-{number}", 2, replication_factor=2)
    cluster.restart(away)
    quorums = {node: process.broker.quorum for node, process in cluster.brokers.items()}
    cluster.run_until(
        lambda: len({quorum.applied_offset for quorum in quorums.values()}) == 1
    )
    cluster.run_until(
        lambda: all(process.broker.ready for process in cluster.brokers.values())
    )
    cluster.run(seconds=5)
    first, second, third = (
        told(process.broker.image) for process in cluster.brokers.values()
    )
    assert first == second == third
    assert quorums[away].replica.log.log_start_offset > had
    assert not [
        name for name in cluster.brokers[away].disk.listdir("") if name == "gone-0"
    ]


def test_who_never_stopped_takes_a_snapshot_in_the_place_of_its_log():
    cluster, away, had = one_that_follows()
    cluster.freeze(away)
    cluster.run(seconds=5)
    cluster.delete_topic("gone")
    for number in range(12):
        cluster.create_topic(f"orders-{number}", 2, replication_factor=2)
    cluster.thaw(away)
    cluster.run(seconds=15)
    broker = cluster.brokers[away].broker
    others = [
        process.broker for node, process in cluster.brokers.items() if node != away
    ]
    assert broker.quorum.replica.log.log_start_offset > had
    assert told(broker.image) == told(others[0].image) == told(others[1].image)
    assert broker.replicas.find_or_create("gone", 0) is None
    held = {key for key in broker.replicas.replicas if key[0] != "__consumer_offsets"}
    placed = {
        (name, number)
        for name, number, one in broker.image.all_partitions()
        if away in one.replicas
    }
    assert held == {key for key in placed if key[0] != "__consumer_offsets"}


def test_a_piece_that_is_not_there_is_refused():
    node = busy(**SMALL)
    with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        node.broker.image.topic("orders-3")
    snapshots = Snapshots(node.disk)
    piece, size = snapshots.piece(snapshots.newest, 10, 20)
    assert (len(piece), size > 30) == (20, True)
    assert snapshots.piece(snapshots.newest._replace(end_offset=1), 0, 20) is None


@pytest.mark.java
def test_apache_kafkas_dump_tool_reads_a_snapshot(tmp_path):
    node = busy(disk=FolderDisk(tmp_path), **SMALL)
    node.broker.stop(node.now)
    path = str(tmp_path / newest(node).path)
    dumped = java_tool(
        "org.apache.kafka.tools.DumpLogSegments",
        "--cluster-metadata-decoder",
        "--files",
        path,
    )
    assert dumped.returncode == 0, dumped.stderr
    for told_of in (
        "SnapshotHeader",
        "SnapshotFooter",
        '"name":"orders-1"',
        "REGISTER_BROKER_RECORD",
        "CLIENT_QUOTA_RECORD",
        "USER_SCRAM_CREDENTIAL_RECORD",
    ):
        assert told_of in dumped.stdout, told_of
    assert "Found records with invalid" not in dumped.stdout + dumped.stderr
