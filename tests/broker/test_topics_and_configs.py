"""Topics, partitions, configs and the cluster, as clients see them; restarts
included.
"""

import pytest

from minikafka.cluster.metadata import MetadataRecord
from minikafka.wire.errors import Error
from tests.broker.node import WALL_MS, Node

TOPIC, BROKER = 2, 4
ORDERS = {
    "name": "orders",
    "num_partitions": 1,
    "replication_factor": 1,
    "assignments": [],
    "configs": [],
}


@pytest.fixture
def node():
    return Node()


def metadata(node, *names, version=12, create=True):
    topics = None if not names else [{"name": name} for name in names]
    return node.call(
        "Metadata", version, topics=topics, allow_auto_topic_creation=create
    )


def test_metadata_creates_an_unknown_topic_unless_told_not_to(node):
    assert (
        metadata(node, "orders", create=False).topics[0].error_code
        == Error.UNKNOWN_TOPIC_OR_PARTITION
    )
    first = metadata(node, "orders").topics[0]
    assert first.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION, (
        "it is being made: clients ask again"
    )
    created = metadata(node, "orders").topics[0]
    assert (
        created.error_code,
        len(created.partitions),
        created.partitions[0].leader_id,
    ) == (Error.NONE, 1, 1)
    assert metadata(node, "orders", create=False).topics[0].topic_id == created.topic_id


def test_auto_creation_can_be_switched_off_and_sized():
    off = Node(auto_create_topics_enable="false")
    assert (
        metadata(off, "orders").topics[0].error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    )
    assert (
        metadata(off, "orders").topics[0].error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    ), "nor is it made"
    large = Node(num_partitions=5)
    metadata(large, "orders")
    assert len(metadata(large, "orders").topics[0].partitions) == 5


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state"])
def test_who_asks_for_a_coordinators_topic_gets_it_as_its_coordinator_wants_it(
    node, topic
):
    metadata(node, topic)
    assert len(node.broker.image.topics[topic].partitions) == 50
    assert node.broker.image.config(TOPIC, topic)["cleanup.policy"] == "compact"


def test_metadata_version_0_asks_for_all_topics_with_an_empty_list(node):
    node.create_topic("orders")
    assert [topic.name for topic in node.call("Metadata", 0, topics=[]).topics] == [
        "orders"
    ]
    assert node.call("Metadata", 1, topics=[]).topics == []


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "x" * 250, "é"])
def test_an_illegal_name_is_an_invalid_topic(node, name):
    assert node.create_topic(name).error_code == Error.INVALID_TOPIC_EXCEPTION
    assert metadata(node, name).topics[0].error_code == Error.INVALID_TOPIC_EXCEPTION


def test_names_that_differ_in_dot_and_underscore_only_collide(node):
    assert node.create_topic("a.b").error_code == Error.NONE
    assert node.create_topic("a_b").error_code == Error.INVALID_TOPIC_EXCEPTION


def test_the_metadata_topic_is_reserved(node):
    assert node.create_topic("__cluster_metadata").error_code == Error.INVALID_REQUEST


@pytest.mark.parametrize(
    ("wish", "error"),
    [
        ({"num_partitions": 0}, Error.INVALID_PARTITIONS),
        ({"num_partitions": 10_001}, Error.POLICY_VIOLATION),
        ({"replication_factor": 2}, Error.INVALID_REPLICATION_FACTOR),
        ({"replication_factor": 0}, Error.INVALID_REPLICATION_FACTOR),
        (
            {"configs": [{"name": "retention.ms", "value": "soon"}]},
            Error.INVALID_CONFIG,
        ),
        ({"configs": [{"name": "colour", "value": "blue"}]}, Error.INVALID_CONFIG),
        (
            {"configs": [{"name": "segment.bytes", "value": "1000"}]},
            Error.INVALID_CONFIG,
        ),
        (
            {"assignments": [{"partition_index": 0, "broker_ids": [1]}]},
            Error.INVALID_REQUEST,
        ),
    ],
)
def test_a_topic_that_cannot_be_created_says_why(node, wish, error):
    topic = ORDERS | wish
    assert (
        node.call("CreateTopics", 7, topics=[topic], timeout_ms=1000)
        .topics[0]
        .error_code
        == error
    )
    assert (
        metadata(node, "orders", create=False).topics[0].error_code
        == Error.UNKNOWN_TOPIC_OR_PARTITION
    )


def test_minus_one_asks_for_the_brokers_defaults(node):
    topic = ORDERS | {"num_partitions": -1, "replication_factor": -1}
    created = node.call("CreateTopics", 7, topics=[topic], timeout_ms=1000).topics[0]
    assert (created.num_partitions, created.replication_factor) == (1, 1)


def test_validate_only_creates_nothing_and_tells_of_nothing():
    events = []
    node = Node(listeners=[events.append])
    assert (
        node.call("CreateTopics", 7, topics=[ORDERS], validate_only=True, timeout_ms=0)
        .topics[0]
        .error_code
        == Error.NONE
    )
    assert metadata(node).topics == []
    assert not [event for event in events if event.kind == "TopicCreated"]


def test_a_topic_is_created_once(node):
    node.create_topic("orders")
    assert node.create_topic("orders").error_code == Error.TOPIC_ALREADY_EXISTS


def grow(node, count):
    topic = {"name": "orders", "count": count, "assignments": None}
    return (
        node.call("CreatePartitions", 3, topics=[topic], timeout_ms=1000)
        .results[0]
        .error_code
    )


def test_kip_195_partitions_are_added_and_never_removed(node):
    node.create_topic("orders", partitions=2)
    node.produce("orders", "a", partition=1)
    assert grow(node, 2) == Error.INVALID_PARTITIONS
    assert grow(node, 1) == Error.INVALID_PARTITIONS
    assert grow(node, 4) == Error.NONE
    assert node.values("orders", partition=1) == ["a"]
    assert node.produce("orders", "b", partition=3).base_offset == 0


def test_metadata_describes_a_topic_once_until_something_changes(node):
    def partitions():
        return len(
            node.call("Metadata", 12, topics=[{"name": "orders"}]).topics[0].partitions
        )

    node.create_topic("orders", partitions=2)
    assert partitions() == 2
    before = dict(node.broker.descriptions)
    assert partitions() == 2
    [key] = before
    assert node.broker.descriptions[key] is before[key]
    grow(node, 4)
    assert partitions() == 4
    node.call("DeleteTopics", 5, topic_names=["orders"], timeout_ms=1000)
    node.create_topic("orders", partitions=3)
    assert partitions() == 3


@pytest.mark.parametrize("version", range(14))
def test_metadata_reads_the_same_from_what_was_encoded_before(node, version):
    node.create_topic("orders", partitions=2)
    asked = {"topics": [{"name": "orders"}]}
    first, second = (
        node.call("Metadata", version, **asked),
        node.call("Metadata", version, **asked),
    )
    assert first == second
    [topic] = first.topics
    assert [each.leader_id for each in topic.partitions] == [1, 1]


def test_a_deleted_topic_is_gone_and_a_new_one_of_its_name_is_empty_with_another_id(
    node,
):
    first = node.create_topic("orders")
    node.produce("orders", "a")
    assert (
        node.call("DeleteTopics", 6, topics=[{"name": "orders"}])
        .responses[0]
        .error_code
        == Error.NONE
    )
    assert node.fetch("orders").error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    second = node.create_topic("orders")
    assert second.topic_id != first.topic_id
    assert node.values("orders") == []


def test_a_deleted_topics_files_are_removed_in_the_background(node):
    node.create_topic("orders")
    node.produce("orders", "a")
    node.call("DeleteTopics", 5, topic_names=["orders"])
    node.pass_time(61_000)
    assert not [name for name in node.disk.listdir("") if name.startswith("orders")]


def test_everything_survives_a_restart_and_a_kill(node):
    created = node.create_topic("orders", partitions=2, retention_ms=5000)
    node.produce("orders", "a", partition=1)
    cluster_id = metadata(node).cluster_id
    for clean in (True, False):
        node.restart(clean)
        again = metadata(node)
        assert (again.cluster_id, again.topics[0].topic_id) == (
            cluster_id,
            created.topic_id,
        )
        assert [partition.leader_id for partition in again.topics[0].partitions] == [
            1,
            1,
        ]
        assert configs(node, TOPIC, "orders")["retention.ms"].value == "5000"
        assert node.values("orders", partition=1) == ["a"]


def test_a_data_directory_belongs_to_one_node(node):
    assert "belongs to node 1" in Node(disk=node.disk, node_id=2).broker.why_failed


# -- configs


def configs(node, resource_type, name, version=4, keys=None):
    resource = {
        "resource_type": resource_type,
        "resource_name": name,
        "configuration_keys": keys,
    }
    result = node.call(
        "DescribeConfigs", version, resources=[resource], include_synonyms=True
    ).results[0]
    if result.error_code:
        return Error(result.error_code)
    return {config.name: config for config in result.configs}


def alter(node, resource_type, name, *changes):
    listed = [
        {"name": key, "config_operation": operation, "value": value}
        for key, operation, value in changes
    ]
    resource = {
        "resource_type": resource_type,
        "resource_name": name,
        "configs": listed,
    }
    return Error(
        node.call("IncrementalAlterConfigs", 1, resources=[resource])
        .responses[0]
        .error_code
    )


SET, DELETE, APPEND = 0, 1, 2


def test_kip_226_a_topics_config_overrides_the_brokers_which_overrides_the_default(
    node,
):
    node.create_topic("orders")
    source = lambda: configs(node, TOPIC, "orders")["retention.ms"].config_source  # noqa: E731
    assert source() == 5
    alter(node, BROKER, "", ("log.retention.ms", SET, "7000"))
    assert source() == 3
    alter(node, BROKER, "1", ("log.retention.ms", SET, "6000"))
    assert source() == 2
    alter(node, TOPIC, "orders", ("retention.ms", SET, "5000"))
    config = configs(node, TOPIC, "orders")["retention.ms"]
    assert [(one.name, one.value, one.source) for one in config.synonyms] == [
        ("retention.ms", "5000", 1),
        ("log.retention.ms", "6000", 2),
        ("log.retention.ms", "7000", 3),
        ("log.retention.hours", "168", 5),
    ]
    alter(node, TOPIC, "orders", ("retention.ms", DELETE, None))
    assert configs(node, TOPIC, "orders")["retention.ms"].value == "6000"


def test_kip_339_a_resource_is_altered_as_a_whole_or_not_at_all(node):
    node.create_topic("orders")
    changes = [("retention.ms", SET, "5000"), ("segment.ms", SET, "never")]
    assert alter(node, TOPIC, "orders", *changes) is Error.INVALID_CONFIG
    assert configs(node, TOPIC, "orders")["retention.ms"].value == "604800000"
    assert (
        alter(node, TOPIC, "orders", ("retention.ms", APPEND, "1"))
        is Error.INVALID_CONFIG
    )
    assert (
        alter(node, TOPIC, "nowhere", ("retention.ms", SET, "1"))
        is Error.UNKNOWN_TOPIC_OR_PARTITION
    )
    assert alter(node, TOPIC, "orders", ("colour", SET, "blue")) is Error.INVALID_CONFIG


def test_only_the_asked_configs_are_described(node):
    node.create_topic("orders")
    assert list(configs(node, TOPIC, "orders", keys=["retention.ms"])) == [
        "retention.ms"
    ]
    assert configs(node, TOPIC, "nowhere") is Error.UNKNOWN_TOPIC_OR_PARTITION
    assert configs(node, BROKER, "7") is Error.INVALID_REQUEST
    assert configs(node, BROKER, "1")["num.partitions"].read_only


def test_a_changed_retention_is_obeyed(node):
    node.create_topic("orders", retention_ms=-1)
    node.produce("orders", "a")
    node.pass_time(600_000)
    assert node.values("orders") == ["a"]
    alter(node, TOPIC, "orders", ("retention.ms", SET, "1000"))
    node.pass_time(300_000)
    assert node.fetch("orders").error_code == Error.OFFSET_OUT_OF_RANGE
    assert node.fetch("orders", 1).log_start_offset == 1


# -- offsets


def offset(node, timestamp, version=7):
    partition = {
        "partition_index": 0,
        "timestamp": timestamp,
        "current_leader_epoch": -1,
    }
    answer = node.call(
        "ListOffsets",
        version,
        replica_id=-1,
        topics=[{"name": "orders", "partitions": [partition]}],
    )
    found = answer.topics[0].partitions[0]
    return (
        (found.timestamp, found.offset)
        if not found.error_code
        else Error(found.error_code)
    )


def test_kip_79_offsets_are_found_by_time(node):
    node.create_topic("orders")
    assert offset(node, -1) == (-1, 0)
    for _ in range(3):
        node.produce("orders", "a", "b")
        node.pass_time(1000)
    assert offset(node, -2) == (-1, 0)
    assert offset(node, -1) == (-1, 6)
    assert offset(node, WALL_MS) == (WALL_MS, 0)
    assert offset(node, WALL_MS + 1) == (WALL_MS + 1000, 2)
    assert offset(node, WALL_MS + 2001) == (-1, -1)


def test_kip_734_the_largest_timestamp_is_found(node):
    node.create_topic("orders")
    assert offset(node, -3) == (-1, -1)
    node.produce("orders", "a")
    node.pass_time(1000)
    node.produce("orders", "b")
    assert offset(node, -3) == (WALL_MS + 1000, 1)


def test_kip_107_deleted_records_are_out_of_range(node):
    node.create_topic("orders")
    node.produce("orders", "a", "b", "c")

    def delete(before):
        topic = {
            "name": "orders",
            "partitions": [{"partition_index": 0, "offset": before}],
        }
        found = (
            node.call("DeleteRecords", 2, topics=[topic], timeout_ms=100)
            .topics[0]
            .partitions[0]
        )
        return Error(found.error_code), found.low_watermark

    assert delete(2) == (Error.NONE, 2)
    assert node.fetch("orders", 1).error_code == Error.OFFSET_OUT_OF_RANGE
    assert offset(node, -2) == (-1, 2)
    assert delete(4) == (Error.OFFSET_OUT_OF_RANGE, -1)
    assert delete(-1) == (Error.NONE, 3)
    # log start offsets are written once a minute, as in Apache Kafka
    node.pass_time(60_000)
    node.restart(clean=False)
    assert offset(node, -2) == (-1, 3)


# -- a full disk


def test_a_full_disk_refuses_the_batch_then_stops_the_node(node):
    node.create_topic("orders")
    node.produce("orders", "a")
    node.disk.capacity_bytes = node.disk.used_bytes + 10
    assert node.produce("orders", "b").error_code == Error.KAFKA_STORAGE_ERROR
    assert node.broker.why_failed.startswith("node 1 stops")
    node.disk.capacity_bytes = None
    node.restart(clean=False)
    assert node.values("orders") == ["a"]


def test_a_full_disk_stops_the_node_also_when_the_metadata_log_meets_it(node):
    node.disk.capacity_bytes = node.disk.used_bytes + 10
    node.send("InitProducerId", 4, transactional_id=None, transaction_timeout_ms=1000)
    assert node.answer().error_code == Error.COORDINATOR_LOAD_IN_PROGRESS
    node.send(
        "CreateTopics",
        5,
        topics=[{"name": "new", "num_partitions": 1, "replication_factor": 1}],
    )
    [answer] = node.answer().topics
    assert answer.error_code == Error.KAFKA_STORAGE_ERROR
    assert "disk" in node.broker.why_failed or "space" in node.broker.why_failed


def test_a_topic_that_is_created_because_somebody_asked_is_told():
    events = []
    node = Node(listeners=[events.append])
    metadata(node, "orders")
    metadata(node, "orders")
    assert [
        event.detail["topic"] for event in events if event.kind == "TopicCreated"
    ] == ["orders"]


def test_kip_455_a_log_that_is_given_to_others_before_its_turn_is_not_made(node):
    topic = {"name": "orders", "num_partitions": 50, "replication_factor": 1}
    node.send("CreateTopics", 7, topics=[topic], timeout_ms=1000)
    assert len(node.broker.replicas.replicas) < 50, "some wait for their turn"
    fields = {
        "topic_id": node.broker.image.topics["orders"].topic_id,
        "partition_id": 49,
        "replicas": [2],
        "isr": [2],
        "leader": 2,
    }
    record = MetadataRecord("PartitionChangeRecord", 2, fields)
    node.broker.quorum.append([record], node.now)
    node.pass_time(1000)
    held = [number for _, number in node.broker.replicas.replicas]
    assert held == list(range(49))
