"""No request stops the node, holds up the others for long, or makes it remember without
an end.

What one request may hold or do is counted here, not timed; what Apache Kafka 4.3.1
answers to the same is told where it answers.
"""

from dataclasses import replace

import pytest

from minikafka.broker import fetch_sessions, replica_manager, requests
from minikafka.broker.effects import Close, Notice, Reply
from minikafka.broker.handlers import HANDLERS
from minikafka.broker.handlers import metadata as metadata_handler
from minikafka.broker.peers import CONTROLLER_LISTENER
from minikafka.cluster import waiting
from minikafka.cluster.controller import MAX_TOPICS_PER_REQUEST
from minikafka.cluster.metadata import INTERNAL_TOPICS, METADATA_TOPIC, OFFSETS_TOPIC
from minikafka.wire.errors import Error
from minikafka.wire.messages import (
    API,
    MOST_REQUEST_ITEMS,
    decode_response,
    encode_request,
    encode_versioned,
)
from minikafka.wire.primitives import MAX_STRING_BYTES
from tests.broker.node import Node, encode_batch

RANGE = [
    {
        "name": "range",
        "metadata": encode_versioned(
            "ConsumerProtocolSubscription", 1, {"topics": ["orders"]}
        ),
    }
]
JOINING = {
    "session_timeout_ms": 30_000,
    "rebalance_timeout_ms": 30_000,
    "protocol_type": "consumer",
    "protocols": RANGE,
}


@pytest.fixture
def node():
    node = Node(offsets_topic_num_partitions=3)
    node.create_topic("orders")
    return node


def with_coordinator(node):
    node.call("FindCoordinator", 3, key="g", key_type=0)
    node.pass_time(100)
    return node


def sync(node, version, member_id, **more):
    """A member of g asks for its assignment in the first generation."""
    who = {"group_id": "g", "generation_id": 1, "member_id": member_id}
    return node.call("SyncGroup", version, **who, **more)


def place(partition=0, offset=0):
    return {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1000}


def fetching(*places, topic="orders", **more):
    limits = {
        "max_wait_ms": 500,
        "min_bytes": 1,
        "max_bytes": 1000,
        "session_epoch": -1,
    } | more
    return {"topics": [{"topic": topic, "partitions": list(places)}]} | limits


def test_a_partition_named_twice_in_a_fetch_is_read_once_at_the_place_named_last(node):
    node.produce("orders", "a", "b")
    node.send("Fetch", 11, **fetching(place(offset=0), place(offset=2)))
    assert node.answer() is None
    node.connect("other")
    node.send("Metadata", 8, connection="other", topics=[])
    node.out()
    node.pass_time(500)
    [topic] = node.answer("Fetch", 11).responses
    assert [partition.high_watermark for partition in topic.partitions] == [2]


def test_a_pending_member_id_with_an_instance_id_is_refused_as_in_apache_kafka(node):
    """KIP-345: ids are handed out to dynamic members only."""
    with_coordinator(node)
    node.send(
        "JoinGroup", 5, group_id="g", member_id="", group_instance_id="i1", **JOINING
    )
    node.pass_time(3000)
    static = node.answer()
    sync(node, 3, static.member_id, group_instance_id="i1")
    pending = node.call("JoinGroup", 5, group_id="g", member_id="", **JOINING)
    assert pending.error_code == Error.MEMBER_ID_REQUIRED
    for instance in ("i1", "i2"):
        who = {"member_id": pending.member_id, "group_instance_id": instance}
        again = node.call("JoinGroup", 5, group_id="g", **who, **JOINING)
        assert again.error_code == Error.UNKNOWN_SERVER_ERROR
    [group] = node.call("DescribeGroups", 5, groups=["g"]).groups
    assert [member.group_instance_id for member in group.members] == ["i1"]


def test_kip_345_absent_static_members_without_a_rebalance_timeout_keep_nobody_busy(
    node,
):
    """They keep their place until their sessions end; so long nobody can lead, and
    there is nothing to do.
    """
    with_coordinator(node)
    node.connect("other")
    for connection, instance, timeout_ms in (("client", "one", 0), ("other", "two", 1)):
        asked = JOINING | {
            "group_id": "g",
            "member_id": "",
            "rebalance_timeout_ms": timeout_ms,
        }
        node.send("JoinGroup", 5, connection, group_instance_id=instance, **asked)
    node.pass_time(3000)
    for reply in node.out():
        joined = decode_response("JoinGroup", 5, reply.frame[0])[1]
        sync(node, 0, joined.member_id, assignments=[])
    node.call(
        "LeaveGroup",
        3,
        group_id="g",
        members=[{"member_id": "", "group_instance_id": "two"}],
    )
    ticks, tick = [], node.broker.tick
    node.broker.tick = lambda now: (ticks.append(now), tick(now))
    node.pass_time(20_000)
    assert (
        node.call("DescribeGroups", 4, groups=["g"]).groups[0].group_state
        == "PreparingRebalance"
    )
    assert len(ticks) < 20 * 15, "more than 15 ticks a second"
    node.pass_time(20_000)
    assert node.call("DescribeGroups", 4, groups=["g"]).groups[0].group_state == "Empty"


@pytest.mark.parametrize(
    ("version", "instance"), [(0, None), (5, "i" * 32_760), (6, "i" * 32_760)]
)
def test_a_member_id_too_long_for_a_string_is_never_made(node, version, instance):
    with_coordinator(node)
    body = {"group_id": "g", "member_id": "", **JOINING} | (
        {"group_instance_id": instance} if instance else {}
    )
    frame = b"".join(encode_request("JoinGroup", version, 5, "c" * 32_760, body))
    node.asked = "JoinGroup", version
    node.broker.receive("client", bytearray(frame), node.now)
    assert node.answer().error_code == Error.UNKNOWN_SERVER_ERROR
    node.pass_time(60_000)
    assert node.broker.why_failed is None
    assert not node.out()


def test_garbage_in_the_offsets_topic_fails_its_partition_and_no_other(node):
    """Apache Kafka: CoordinatorState.FAILED, answered with NOT_COORDINATOR."""
    with_coordinator(node)
    garbage = encode_batch([(0, b"\0\1", b"x", [])])
    frame = encode_request(
        "Produce",
        8,
        5,
        "__admin_client",
        {
            "acks": -1,
            "timeout_ms": 1000,
            "topic_data": [
                {
                    "name": OFFSETS_TOPIC,
                    "partition_data": [{"index": 0, "records": garbage}],
                }
            ],
        },
    )
    node.asked = "Produce", 8
    node.broker.receive("client", bytearray(b"".join(frame)), node.now)
    assert node.answer().responses[0].partition_responses[0].error_code == Error.NONE
    node.restart()
    while not (notices := [item for item in node.out() if isinstance(item, Notice)]):
        node.pass_time(1)
    assert notices[0].line.startswith("__consumer_offsets-0 failed")
    node.pass_time(100)
    codes = {
        f"g{i}": node.call("OffsetFetch", 5, group_id=f"g{i}", topics=[]).error_code
        for i in range(20)
    }
    assert set(codes.values()) == {Error.NONE, Error.NOT_COORDINATOR}


def test_an_unforeseen_error_ends_its_request_and_connection_only(node, monkeypatch):
    def has_a_bug(request, now):
        return {}["a bug"]

    key = API["Heartbeat"].key
    row = HANDLERS[key]._replace(handle=lambda handlers: has_a_bug)
    monkeypatch.setitem(HANDLERS, key, row)
    node.send("Heartbeat", 3, group_id="g", generation_id=1, member_id="m")
    notice, close = node.out()
    assert "Heartbeat 3" in notice.line
    assert isinstance(notice.error, KeyError)
    assert isinstance(close, Close)
    monkeypatch.undo()
    node.connect("other")
    node.send("Metadata", 8, connection="other", topics=[])
    assert isinstance(node.out()[0], Reply)


def test_the_same_thing_is_told_once(node):
    for _ in range(3):
        node.broker.notice("the log of orders-0 is odd")
    assert node.out() == [Notice("the log of orders-0 is odd")]


# -- internal topics: one table of names and rules


def test_asking_for_the_offsets_topic_makes_it_as_its_coordinator_wants_it(node):
    for _ in range(2):
        [topic] = node.call(
            "Metadata",
            8,
            topics=[{"name": OFFSETS_TOPIC}],
            allow_auto_topic_creation=True,
        ).topics
        assert topic.is_internal
    assert len(topic.partitions) == 3
    asked = {
        "resource_type": 2,
        "resource_name": OFFSETS_TOPIC,
        "configuration_keys": ["cleanup.policy"],
    }
    [result] = node.call("DescribeConfigs", 4, resources=[asked]).results
    assert result.configs[0].value == "compact"


@pytest.mark.parametrize("name", ["__share_group_state", METADATA_TOPIC])
def test_asking_for_an_internal_topic_that_nobody_coordinates_makes_nothing(node, name):
    [topic] = node.call(
        "Metadata", 8, topics=[{"name": name}], allow_auto_topic_creation=True
    ).topics
    assert topic.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert topic.is_internal == (name in INTERNAL_TOPICS)
    assert name not in node.broker.image.topics


def test_the_metadata_log_is_not_there_for_clients(node):
    name, end = METADATA_TOPIC, node.broker.quorum.high_watermark
    created = node.create_topic(name)
    assert created.error_code == Error.INVALID_REQUEST
    assert node.produce(name, "x").error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    deleted = node.call(
        "DeleteTopics", 4, topic_names=[name], timeout_ms=1000
    ).responses[0]
    assert deleted.error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert node.fetch(name).error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert node.broker.quorum.high_watermark == end


def test_records_of_internal_topics_are_not_for_clients_to_write_or_delete(node):
    with_coordinator(node)
    assert node.produce(OFFSETS_TOPIC, "x").error_code == Error.INVALID_TOPIC_EXCEPTION
    asked = [
        {"name": OFFSETS_TOPIC, "partitions": [{"partition_index": 0, "offset": -1}]}
    ]
    [topic] = node.call("DeleteRecords", 1, topics=asked, timeout_ms=1000).topics
    assert topic.partitions[0].error_code == Error.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize(
    ("api", "version", "names"),
    [
        ("Vote", 2, ("topic_name", "partition_index")),
        ("BeginQuorumEpoch", 1, ("topic_name", "partition_index")),
        ("EndQuorumEpoch", 1, ("topic_name", "partition_index")),
        ("FetchSnapshot", 1, ("name", "partition")),
    ],
)
@pytest.mark.parametrize("topics", [0, 1, 2])
def test_the_quorum_is_asked_of_one_partition_of_one_topic(
    node, api, version, names, topics
):
    """KIP-595, KIP-630."""
    node.broker.connected("node", CONTROLLER_LISTENER, "127.0.0.1")
    topic, partition = names
    # two of one topic, or one each of two
    partitions = [{partition: number} for number in range(3 - topics)]
    asked = [{topic: METADATA_TOPIC, "partitions": partitions}] * topics
    node.send(api, version, "node", cluster_id=node.broker.cluster_id, topics=asked)
    assert node.answer().error_code == Error.INVALID_REQUEST


def test_the_controller_that_clients_are_told_of_is_one_of_the_brokers_that_they_are_told_of(
    node,
):
    """Metadata and DescribeCluster, in KRaft: while the active controller's broker is
    fenced, another one is named.
    """
    brokers = node.broker.image.brokers
    brokers[2] = replace(brokers[1], broker_id=2)

    def told():
        return (
            node.call("Metadata", 12, topics=[]).controller_id,
            node.call("DescribeCluster", 1).controller_id,
        )

    assert told() == (1, 1)
    brokers[1] = replace(brokers[1], fenced=True)
    assert told() == (2, 2)
    brokers[2] = replace(brokers[2], fenced=True)
    assert told() == (-1, -1)


def test_a_coordinator_without_the_clients_listener_is_not_available(node):
    with_coordinator(node)
    node.broker.connected("elsewhere", "INSIDE", "127.0.0.1")
    node.send("FindCoordinator", 4, "elsewhere", key_type=0, coordinator_keys=["g"])
    [answer] = node.answer().coordinators
    assert (answer.error_code, answer.node_id) == (Error.COORDINATOR_NOT_AVAILABLE, -1)


# -- what a client names fits into every answer and record


def test_names_and_values_of_32_kilobytes_are_refused_in_words_that_fit(node):
    topic = {"num_partitions": 1, "replication_factor": 1}
    long_name = node.call(
        "CreateTopics", 4, topics=[topic | {"name": "x" * 32_700}]
    ).topics[0]
    assert long_name.error_code == Error.INVALID_TOPIC_EXCEPTION
    configs = [{"name": "retention.ms", "value": "y" * 32_700}]
    long_value = node.call(
        "CreateTopics", 5, topics=[topic | {"name": "x", "configs": configs}]
    ).topics[0]
    assert long_value.error_code == Error.INVALID_CONFIG
    assert len(long_value.error_message) < 2000


@pytest.mark.parametrize(
    ("api", "version", "asked"),
    [
        ("DescribeGroups", 6, "groups"),
        ("ConsumerGroupDescribe", 1, "group_ids"),
        ("StreamsGroupDescribe", 0, "group_ids"),
    ],
)
def test_a_group_with_a_name_of_32_kilobytes_is_described_in_words_that_fit(
    node, api, version, asked
):
    with_coordinator(node)
    name = "x" * MAX_STRING_BYTES
    [described] = node.call(api, version, **{asked: [name]}).groups
    assert (described.group_id, described.error_code) == (
        name,
        Error.GROUP_ID_NOT_FOUND,
    )
    assert len(described.error_message) < 2000


def test_an_offset_kept_beyond_the_end_of_time_is_kept(node):
    """OffsetCommit 2 to 4: retention_time_ms."""
    with_coordinator(node)
    body = {
        "group_id": "g",
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "retention_time_ms": 2**63 - 1,
    }
    topics = [
        {
            "name": "orders",
            "partitions": [{"partition_index": 0, "committed_offset": 7}],
        }
    ]
    answer = node.call("OffsetCommit", 4, topics=topics, **body)
    assert answer.topics[0].partitions[0].error_code == Error.NONE
    node.restart()
    node.pass_time(100)
    [topic] = node.call("OffsetFetch", 5, group_id="g", topics=None).topics
    assert topic.partitions[0].committed_offset == 7


# -- how much one request may ask for, and how much is remembered


def test_a_request_with_too_many_items_closes_its_connection(node):
    node.send(
        "DescribeGroups",
        5,
        groups=[str(number) for number in range(MOST_REQUEST_ITEMS + 1)],
    )
    assert node.closed()
    node.connect("client")
    most = [str(number) for number in range(MOST_REQUEST_ITEMS)]
    assert len(node.call("DescribeGroups", 5, groups=most).groups) == MOST_REQUEST_ITEMS


def test_tagged_fields_are_counted_too(node):
    frame = b"".join(
        encode_request("ApiVersions", 3, 5, "test", {"client_software_name": "x"})
    )
    node.broker.receive(
        "client", bytearray(frame[:-1] + b"\xff\xff\x7f" + bytes(100)), node.now
    )
    assert node.closed()


def test_asking_for_very_many_topics_creates_the_first_ones(node):
    names = [f"auto-{number}" for number in range(metadata_handler.CREATED_AT_ONCE + 5)]
    asked = {
        "topics": [{"name": name} for name in names],
        "allow_auto_topic_creation": True,
    }
    for known in (0, len(names) - 5, len(names)):
        codes = [topic.error_code for topic in node.call("Metadata", 8, **asked).topics]
        assert codes == [Error.NONE] * known + [Error.UNKNOWN_TOPIC_OR_PARTITION] * (
            len(names) - known
        )


def test_a_negative_count_makes_no_room_for_more_partitions(node):
    """Apache Kafka: POLICY_VIOLATION above 10,000 partitions a request."""
    topics = [
        {"name": name, "num_partitions": count, "replication_factor": 1}
        for name, count in (("negative", -2_000_000), ("many", 12_000))
    ]
    answer = node.call("CreateTopics", 5, topics=topics)
    assert [topic.error_code for topic in answer.topics] == [Error.POLICY_VIOLATION] * 2


def test_too_many_new_topics_in_one_request_are_refused(node):
    names = [f"t{number}" for number in range(MAX_TOPICS_PER_REQUEST + 1)]
    topics = [
        {"name": name, "num_partitions": 1, "replication_factor": 1} for name in names
    ]
    answer = node.call("CreateTopics", 5, topics=topics)
    assert {topic.error_code for topic in answer.topics} == {Error.POLICY_VIOLATION}


def test_logs_of_a_large_topic_are_made_in_slices_or_when_they_are_asked_for(node):
    count = 10 * replica_manager.CREATED_AT_ONCE
    node.create_topic("large", partitions=count)
    made = len(node.broker.replicas.replicas)
    assert made <= replica_manager.CREATED_AT_ONCE + 1
    assert node.produce("large", "x", partition=count - 1).error_code == Error.NONE
    node.pass_time(1)
    assert (
        made + 1
        < len(node.broker.replicas.replicas)
        < made + replica_manager.CREATED_AT_ONCE
    )
    node.pass_time(1000)
    assert len(node.broker.replicas.replicas) == count + 1


def test_a_topic_deleted_before_its_logs_were_made_leaves_nothing(node):
    node.create_topic("large", partitions=100)
    node.call("DeleteTopics", 4, topic_names=["large"], timeout_ms=1000)
    node.create_topic("large", partitions=1)
    node.pass_time(1000)
    assert [name for name in node.disk.listdir("") if name.startswith("large")] == [
        "large-0"
    ]


def test_a_topic_created_in_the_place_of_one_just_deleted_begins_empty(node):
    node.produce("orders", "old")
    node.call("DeleteTopics", 4, topic_names=["orders"], timeout_ms=1000)
    node.create_topic("orders")
    assert node.produce("orders", "new").base_offset == 0
    node.restart()
    assert node.values("orders") == ["new"]


def test_a_clean_stop_finishes_what_was_deleted(node):
    node.call("DeleteTopics", 4, topic_names=["orders"], timeout_ms=1000)
    node.restart()
    assert not [name for name in node.disk.listdir("") if name.startswith("orders")]


def test_all_fetch_sessions_together_hold_so_many_partitions(monkeypatch):
    """KIP-227: the largest session is dropped, and its client goes on with full
    requests.
    """
    monkeypatch.setattr(fetch_sessions, "MOST_PARTITIONS", 10)
    node = Node()
    small = node.call(
        "Fetch",
        11,
        **fetching(*map(place, range(3)), topic="nope", max_wait_ms=0, session_epoch=0),
    )
    large = node.call(
        "Fetch",
        11,
        **fetching(*map(place, range(8)), topic="nope", max_wait_ms=0, session_epoch=0),
    )
    codes = []
    for session in (small, large):
        more = {"session_id": session.session_id, "session_epoch": 1, "max_wait_ms": 0}
        codes.append(
            node.call(
                "Fetch", 11, **fetching(place(0), topic="nope", **more)
            ).error_code
        )
    assert codes == [Error.NONE, Error.FETCH_SESSION_ID_NOT_FOUND]


def test_parked_requests_together_wait_for_so_many_keys(node, monkeypatch):
    """One more fetch is answered at once, with what is there."""
    node.create_topic("wide", partitions=6)
    monkeypatch.setattr(waiting, "MOST_KEYS", 10)
    node.send("Fetch", 11, **fetching(*map(place, range(6)), topic="wide"))
    assert node.answer() is None
    node.connect("other")
    node.send(
        "Fetch", 11, connection="other", **fetching(*map(place, range(6)), topic="wide")
    )
    assert len(node.answer().responses[0].partitions) == 6


def test_the_answers_of_many_parked_fetches_come_in_more_than_one_turn(
    node, monkeypatch
):
    monkeypatch.setattr(requests, "MOST_ANSWERED_BYTES", 1)
    for number in range(3):
        node.connect(number)
        node.send("Fetch", 11, connection=number, **fetching(place(offset=0)))
    records = encode_batch([(node.now.wall_ms, None, b"a", [])])
    data = [{"name": "orders", "partition_data": [{"index": 0, "records": records}]}]
    node.send("Produce", 8, acks=0, timeout_ms=1000, topic_data=data)
    turns = []
    for _ in range(3):
        turns.append(
            [item.connection for item in node.out() if isinstance(item, Reply)]
        )
        node.pass_time(1)
    assert turns == [[0], [1], [2]]
