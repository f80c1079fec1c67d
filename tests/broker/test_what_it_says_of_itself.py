"""What a node says of its cluster, and of the versions that it speaks."""

import pytest

from minikafka.wire.errors import Error
from tests.broker.node import Node


@pytest.fixture
def node():
    return Node()


def test_describe_topic_partitions_goes_page_by_page(node):
    node.create_topic("a", partitions=3)
    node.create_topic("b", partitions=2)
    seen, cursor = [], None
    while True:
        answer = node.call(
            "DescribeTopicPartitions",
            0,
            topics=[],
            response_partition_limit=2,
            cursor=cursor,
        )
        seen += [
            (topic.name, one.partition_index)
            for topic in answer.topics
            for one in topic.partitions
        ]
        cursor = answer.next_cursor
        if cursor is None:
            break
    assert seen == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)]


def test_describe_cluster_names_its_brokers(node):
    answer = node.call("DescribeCluster", 2)
    assert [(one.broker_id, one.host, one.port) for one in answer.brokers] == [
        (1, "localhost", 9092)
    ]
    assert (
        node.call("DescribeCluster", 1, endpoint_type=2).error_code
        == Error.MISMATCHED_ENDPOINT_TYPE
    )


def test_every_group_is_coordinated_by_this_node(node):
    answer = node.call("FindCoordinator", 4, key_type=0, coordinator_keys=["billing"])
    assert (answer.coordinators[0].error_code, answer.coordinators[0].node_id) == (
        Error.NONE,
        1,
    )


# -- versions


def test_kip_35_an_unknown_version_of_api_versions_is_answered_in_version_0(node):
    node.broker.receive(
        "client", bytearray(b"\0\x12\x03\xe7\0\0\0\x05\xff\xff"), node.now
    )
    answer = node.answer("ApiVersions", 0)
    assert answer.error_code == Error.UNSUPPORTED_VERSION
    assert [
        (key.api_key, key.min_version, key.max_version) for key in answer.api_keys
    ] == [(18, 0, 5)]


def test_an_unknown_version_of_anything_else_closes_the_connection(node):
    node.broker.receive(
        "client", bytearray(b"\0\x03\x03\xe7\0\0\0\x05\xff\xff"), node.now
    )
    assert node.closed()


def test_kip_511_a_client_must_name_its_software_properly(node):
    good, bad = (
        {"client_software_version": "1.0"},
        {"client_software_name": "my client"},
    )
    assert (
        node.call(
            "ApiVersions", 3, client_software_name="kafka-python", **good
        ).error_code
        == Error.NONE
    )
    assert (
        node.call("ApiVersions", 3, **good, **bad).error_code == Error.INVALID_REQUEST
    )


def test_produce_and_join_group_are_advertised_from_0_for_older_librdkafka(node):
    keys = {key.api_key: key for key in node.call("ApiVersions", 0).api_keys}
    assert (keys[0].min_version, keys[0].max_version) == (0, 13)
    assert keys[11].min_version == 0
