"""A data folder is its owner's: what a node takes for its own, what it leaves alone,
and when it refuses to start.
"""

import json
import os

import pytest

from minikafka.broker.config import BrokerConfig
from minikafka.broker.effects import Notice
from minikafka.cluster.metadata import MetadataRecord
from minikafka.server.folder_disk import FolderDisk
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.wire.errors import KafkaError
from minikafka.wire.records import batches, encode_batch
from tests.broker.node import Node, values

METADATA = "__cluster_metadata-0/00000000000000000000.log"


def said(node):
    """What the node told its operator."""
    return [effect.line for effect in node.out() if isinstance(effect, Notice)]


def used(disk=None):
    """A node that has three records in orders-0."""
    node = Node(disk=disk)
    node.create_topic("orders", segment_ms=5000)
    node.produce("orders", "a", "b", "c")
    return node


# -- whose folder it is


@pytest.mark.parametrize(
    "name", ["photos-2023", "thesis-1", "backup-delete", "notes.txt"]
)
def test_a_folder_that_holds_something_else_is_refused_and_left_as_it_is(
    tmp_path, name
):
    (tmp_path / name).mkdir()
    (tmp_path / name / "content").write_text("mine")
    node = Node(disk=FolderDisk(tmp_path))
    assert (
        node.broker.why_failed
        == f"node 1 stops: {tmp_path} holds {name}, and no meta.properties: it is no"
        " data folder, or a damaged one. Name a new or empty folder with --data, or"
        " put that file back"
    )
    assert [
        str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))
    ] == [name, f"{name}/content"]


def test_what_operating_systems_put_into_a_folder_does_not_count(tmp_path):
    (tmp_path / "lost+found").mkdir()
    (tmp_path / ".DS_Store").touch()
    assert Node(disk=FolderDisk(tmp_path)).broker.ready


def test_data_without_meta_properties_is_refused_as_by_kafka():
    node = used()
    node.disk.remove("meta.properties")
    node.restart(clean=False)
    assert (
        "holds __cluster_metadata-0, orders-0, and no meta.properties"
        in node.broker.why_failed
    )
    assert node.disk.exists("orders-0/00000000000000000000.log")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "meta.properties has no cluster.id"),
        (b"\xff\xfe\x00garbage", "meta.properties has no cluster.id"),
        (
            b"cluster.id=a\nnode.id=2\ndirectory.id=b\n",
            "meta.properties belongs to node 2, but this is node 1",
        ),
        (
            b"cluster.id=a\nnode.id=1\ndirectory.id=!\n",
            "meta.properties has a directory.id that is no id",
        ),
    ],
)
def test_a_damaged_meta_properties_is_named_in_one_line(content, words):
    node = used()
    node.disk.write_atomic("meta.properties", content)
    node.restart(clean=False)
    assert (
        node.broker.why_failed.startswith(f"node 1 stops: {words}")
        and "\n" not in node.broker.why_failed
    )


def test_a_full_disk_at_the_first_start_is_one_line():
    node = Node(disk=MemoryDisk(capacity_bytes=20))
    assert (
        node.broker.why_failed.endswith("No space left on device")
        and "\n" not in node.broker.why_failed
    )


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    node = used(FolderDisk(tmp_path))
    read = FolderDisk.read

    def refuse(disk, path):
        if path == "recovery-point-offset-checkpoint":
            raise PermissionError(13, "Permission denied", f"{tmp_path}/{path}")
        return read(disk, path)

    node.broker.stop(node.now)
    monkeypatch.setattr(FolderDisk, "read", refuse)
    node.start()
    where = f"{tmp_path}/recovery-point-offset-checkpoint"
    assert node.broker.why_failed == f"node 1 stops: {where}: Permission denied"


# -- what is in it


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_what_a_node_did_not_make_it_neither_removes_nor_stumbles_over(tmp_path):
    node = used(FolderDisk(tmp_path))
    node.broker.stop(node.now)
    for name in ("photos-2023", "backup-delete", f"x-0.{'0' * 32}-delete"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "content").write_text("mine")
    (tmp_path / "notes-1").write_text("mine")
    (tmp_path / "old-1").symlink_to("photos-2023")
    for name in (
        "foo.index",
        "foo.snapshot",
        "foo.log",
        "foo.swap",
        "draft.tmp",
        "5.log",
    ):
        (tmp_path / "orders-0" / name).write_text("mine")
    before = {
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and path.read_bytes() == b"mine"
    }
    node.start()
    assert node.broker.ready and node.values("orders") == ["a", "b", "c"]
    assert {
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and path.read_bytes() == b"mine"
    } == before


def test_a_log_that_the_metadata_does_not_know_is_set_aside_as_by_kafka():
    """Its LogManager renames such a log to `topic-partition.id-stray` and lets it
    lie.
    """
    node, other = used(), used()
    node.create_topic("mine")
    other.create_topic("theirs")
    other.produce("theirs", "x")
    other.broker.stop(other.now)
    node.broker.stop(node.now)
    node.disk.mkdir("theirs-0")
    for path, file in other.disk.files().items():
        if path.startswith("theirs-0/"):
            node.disk.write_atomic(path, bytes(file.data))
    node.start()
    [renamed] = [name for name in node.disk.listdir("") if name.startswith("theirs-0")]
    assert renamed.endswith("-stray")
    assert said(node) == [
        f"theirs-0 belongs to no topic that the metadata knows: it is {renamed} now,"
        " and nobody reads it"
    ]
    log = "00000000000000000000.log"
    assert node.disk.read(f"{renamed}/{log}") == other.disk.read(f"theirs-0/{log}")
    node.restart()
    assert said(node) == [] and node.disk.exists(renamed)


@pytest.mark.parametrize("again", [False, True])
def test_the_deletion_of_a_topic_that_a_crash_cut_short_goes_on(again):
    node = used()
    log = {
        path: bytes(file.data)
        for path, file in node.disk.files().items()
        if path.startswith("orders-0/")
    }
    node.call("DeleteTopics", 5, topic_names=["orders"], timeout_ms=1000)
    if again:
        node.create_topic("orders")
    node.disk.crash()
    # as if the crash had come before the folder was renamed
    for name in node.disk.listdir(""):
        if name.startswith("orders-0"):
            node.disk.rmtree(name)
    node.disk.mkdir("orders-0")
    for path, content in log.items():
        node.disk.write_atomic(path, content)
    node.start()
    assert said(node) == []
    assert [name for name in node.disk.listdir("") if name.startswith("orders")] == (
        ["orders-0"] if again else []
    )
    assert not again or node.values("orders") == []


def test_a_new_topic_does_not_take_a_folder_that_is_there_already():
    node = Node()
    node.disk.mkdir("photos-0")
    node.disk.write_atomic("photos-0/00000000000000000000.log", b"mine")
    topic = {
        "name": "photos",
        "num_partitions": 1,
        "replication_factor": 1,
        "assignments": [],
        "configs": [],
    }
    node.send("CreateTopics", 7, topics=[topic], timeout_ms=1000)
    renamed = f"photos-0.{'0' * 32}-stray"
    assert said(node) == [
        f"photos-0 is where the log of a new topic has to be: it is {renamed} now,"
        " and nobody reads it"
    ]
    node.produce("photos", "a")
    assert node.values("photos") == ["a"]
    assert node.disk.read(f"{renamed}/00000000000000000000.log") == b"mine"


def test_a_damaged_partition_metadata_costs_no_record():
    node = used()
    node.disk.write_atomic("orders-0/partition.metadata", b"\0\0\0")
    node.restart(clean=False)
    assert said(node) == ["orders-0/partition.metadata is damaged, and is rewritten"]
    assert node.values("orders") == ["a", "b", "c"]
    node.disk.write_atomic(
        "orders-0/partition.metadata", b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n"
    )
    node.restart(clean=False)
    assert node.broker.why_failed.startswith(
        "node 1 stops: orders-0/partition.metadata holds an id that no topic had"
    )
    assert node.disk.exists("orders-0")


# -- the metadata log (KIP-631)


def test_a_flipped_bit_anywhere_in_the_metadata_log_refuses_the_folder_and_changes_nothing():
    """But in a batch's leader epoch, which no checksum covers and the next epoch
    doesn't depend on alone.
    """
    node = used()
    node.disk.crash()
    whole = node.disk.read(METADATA)
    starts = []
    position = 0
    for header, _ in batches(whole):
        starts.append(position)
        position += header.size_bytes
    for at in range(0, len(whole), 13):
        start = max(start for start in starts if start <= at)
        if 12 <= at - start < 16:
            continue
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        node.disk.write_atomic(METADATA, bytes(damaged))
        node.start()
        assert (
            f"node 1 stops: {METADATA} is damaged at offset" in node.broker.why_failed
        ), at
        assert node.disk.read(METADATA) == damaged and node.disk.exists("orders-0")
    node.disk.write_atomic(METADATA, whole)
    node.start()
    assert node.values("orders") == ["a", "b", "c"]


@pytest.mark.parametrize("kept", [0, 1, 2, 3])
def test_a_metadata_log_that_is_shorter_than_what_was_committed_is_refused(kept):
    node = used()
    node.disk.crash()
    whole = node.disk.read(METADATA)
    ends = [0]
    for header, _ in batches(whole):
        ends.append(ends[-1] + header.size_bytes)
    node.disk.write_atomic(METADATA, whole[: ends[kept]])
    node.start()
    assert node.broker.why_failed.startswith("node 1 stops: __cluster_metadata-0")
    assert node.disk.exists("orders-0")


@pytest.mark.parametrize("path", [METADATA, "__cluster_metadata-0"])
def test_a_missing_metadata_log_beside_data_is_refused(path):
    node = used()
    node.disk.crash()
    node.disk.remove(path) if path == METADATA else node.disk.rmtree(path)
    node.start()
    assert (
        node.broker.why_failed
        == "node 1 stops: __cluster_metadata-0 holds no metadata, and beside it is"
        " orders-0. Put a good copy back"
    )


@pytest.mark.parametrize("cut", [1, 40, 70])
def test_an_append_to_the_metadata_log_that_was_torn_was_never_answered_and_is_dropped(
    cut,
):
    node = used()
    node.disk.crash()
    end = node.broker.quorum.high_watermark
    torn = encode_batch([(0, None, b"never finished", [])], base_offset=end)[:cut]
    node.disk.open(METADATA).append([torn])
    node.start()
    [line] = said(node)
    assert line.startswith(
        f"__cluster_metadata-0: {len(torn)} bytes are dropped, from offset {end} on: "
    )
    assert node.values("orders") == ["a", "b", "c"]


def test_without_a_known_high_watermark_a_whole_batch_behind_a_bad_one_tells_damage_from_a_torn_end():
    node = used()
    node.disk.crash()
    node.disk.remove("__cluster_metadata-0/replication-offset-checkpoint")
    file = node.disk.open(METADATA)
    file.data[80] ^= 1
    node.start()
    assert "is damaged at offset" in node.broker.why_failed


def test_a_snapshot_that_is_not_whole_is_refused():
    node = used()
    node.disk.write_atomic(
        "__cluster_metadata-0/00000000000000000100-0000000001.checkpoint", b"..."
    )
    node.restart()
    name = "__cluster_metadata-0/00000000000000000100-0000000001.checkpoint"
    assert (
        node.broker.why_failed
        == f"node 1 stops: {name} is no whole snapshot (its end is missing). Put a good"
        " copy back"
    )


def test_the_epoch_of_the_quorum_never_falls_back():
    node = used()
    node.restart()
    epoch = node.broker.quorum.replica.leader_epoch
    node.disk.remove("__cluster_metadata-0/quorum-state")
    node.restart()
    assert node.broker.quorum.replica.leader_epoch == epoch + 1
    assert (
        json.loads(node.disk.read("__cluster_metadata-0/quorum-state"))["leaderEpoch"]
        == epoch + 1
    )
    node.disk.write_atomic("__cluster_metadata-0/quorum-state", b"{")
    node.restart()
    assert node.broker.why_failed.startswith(
        "node 1 stops: __cluster_metadata-0/quorum-state is not what was written"
    )


# -- recovery


def test_a_stop_while_logs_are_recovered_leaves_what_the_next_start_needs():
    """No marker of a clean stop, and no checkpoint that knows only a half of the
    logs.
    """
    node = Node()
    for topic in ("first", "second"):
        node.create_topic(topic)
        node.produce(topic, "a", "b", "c")
    node.call(
        "DeleteRecords",
        2,
        timeout_ms=1000,
        topics=[
            {"name": "second", "partitions": [{"partition_index": 0, "offset": 2}]}
        ],
    )
    node.pass_time(61_000)
    node.disk.crash()
    node.disk.open("second-0/00000000000000000000.log").append([b"torn"])
    checkpoints = {
        name: node.disk.read(name)
        for name in node.disk.listdir("")
        if name.endswith("-checkpoint")
    }
    assert "log-start-offset-checkpoint" in checkpoints

    broker = type(node.broker)(
        1, BrokerConfig(), node.disk, node.broker.random, node.broker.trace
    )
    broker.start(node.now)
    assert not broker.replicas.recover(budget_bytes=1)
    broker.stop(node.now)
    assert not broker.ready and broker.why_failed is None
    assert not node.disk.exists(".kafka_cleanshutdown")
    assert {name: node.disk.read(name) for name in checkpoints} == checkpoints

    node.disk.crash()
    node.start()
    assert said(node) == [
        "second-0: 4 bytes are dropped, from offset 3 on: 4 bytes are too few for a"
        " record batch"
    ]
    assert node.broker.replicas.replicas["second", 0].log.log_start_offset == 2


def test_records_that_are_gone_are_told_by_the_high_watermark_that_was_noted():
    node = used()
    node.pass_time(6000)
    node.disk.crash()
    node.disk.open("orders-0/00000000000000000000.log").truncate(0)
    node.start()
    assert said(node) == [
        "orders-0 ends at offset 0, and had got to 3: records are lost"
    ]


def test_a_damaged_checkpoint_is_told():
    node = used()
    node.broker.stop(node.now)
    node.disk.write_atomic("recovery-point-offset-checkpoint", b"\0garbage")
    node.disk.write_atomic("orders-0/leader-epoch-checkpoint", b"\0garbage")
    node.start()
    assert said(node) == [
        "recovery-point-offset-checkpoint is damaged, and counts for nothing",
        "orders-0: the list of leader epochs is damaged, and is rebuilt",
    ]
    assert values(node.fetch("orders")) == ["a", "b", "c"]


# -- configs


def test_a_segment_size_for_the_offsets_topic_that_no_topic_may_have_is_refused_when_given():
    with pytest.raises(KafkaError, match="Value must be at least 1048576"):
        BrokerConfig(properties={"offsets.topic.segment.bytes": "20000"})


def test_a_stored_config_that_is_no_longer_legal_gives_way_to_the_default_and_is_told():
    node = used()
    record = {
        "resource_type": 2,
        "resource_name": "orders",
        "name": "segment.bytes",
        "value": "20000",
    }
    node.broker.quorum.append([MetadataRecord("ConfigRecord", 0, record)], node.now)
    node.restart()
    assert said(node) == [
        "topic orders: segment.bytes=20000 is not legal, and the default holds"
    ]
    assert (
        node.broker.replicas.replicas["orders", 0].log.config.segment_bytes == 1 << 30
    )
    assert node.values("orders") == ["a", "b", "c"]
