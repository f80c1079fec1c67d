"""A node with an authorizer: who may do what, and how that is switched on."""

import pytest

from minikafka.broker.config import BrokerConfig
from minikafka.broker.config_rules import AUTHORIZER
from minikafka.cluster.acls import Operation, PatternType, Permission, ResourceType
from minikafka.cluster.principals import USER, Principal
from minikafka.wire.errors import Error, KafkaError
from tests.broker.node import Node

ON = {
    "authorizer_class_name": AUTHORIZER,
    "super_users": "User:root; User:operator",
}


def rule(name, operation, principal="User:alice", kind=ResourceType.TOPIC):
    return {
        "resource_type": kind,
        "resource_name": name,
        "resource_pattern_type": PatternType.LITERAL,
        "principal": principal,
        "host": "*",
        "operation": operation,
        "permission_type": Permission.ALLOW,
    }


def as_user(node, name):
    """Whoever is connected has shown to be this user."""
    for client in node.broker.requests.clients.values():
        client.principal = Principal(USER, name)


def describe(node, topic):
    topics = [{"name": topic}]
    asked = {"topics": topics, "allow_auto_topic_creation": False}
    return node.call("Metadata", 9, **asked).topics[0].error_code


@pytest.fixture
def node():
    """It has the topic orders, and root made it."""
    node = Node(**ON)
    node.call("ApiVersions", 0)
    as_user(node, "root")
    node.create_topic("orders")
    return node


def test_without_an_authorizer_everybody_may_do_everything():
    node = Node()
    node.create_topic("orders")
    assert describe(node, "orders") == Error.NONE
    answer = node.call("CreateAcls", 3, creations=[rule("orders", Operation.READ)])
    assert answer.results[0].error_code == Error.SECURITY_DISABLED


def test_super_users_may_do_everything_and_others_nothing_without_a_rule(node):
    assert describe(node, "orders") == Error.NONE
    as_user(node, "operator")
    assert describe(node, "orders") == Error.NONE
    as_user(node, "alice")
    assert describe(node, "orders") == Error.TOPIC_AUTHORIZATION_FAILED


def test_a_rule_counts_as_soon_as_it_is_answered_and_after_a_restart(node):
    made = node.call("CreateAcls", 3, creations=[rule("orders", Operation.READ)])
    assert made.results[0].error_code == Error.NONE
    as_user(node, "alice")
    assert describe(node, "orders") == Error.NONE
    node.restart()
    node.call("ApiVersions", 0)
    as_user(node, "alice")
    assert describe(node, "orders") == Error.NONE
    as_user(node, "bob")
    assert describe(node, "orders") == Error.TOPIC_AUTHORIZATION_FAILED


def test_nobody_learns_whether_there_is_a_topic_that_it_may_not_see(node):
    as_user(node, "alice")
    for topic in ("orders", "bills"):
        assert describe(node, topic) == Error.TOPIC_AUTHORIZATION_FAILED
    assert node.call("Metadata", 9, topics=None).topics == []


def test_allow_everyone_holds_for_what_no_rule_is_about():
    node = Node(**ON, allow_everyone_if_no_acl_found="true")
    node.create_topic("orders")
    assert describe(node, "orders") == Error.NONE
    node.call("CreateAcls", 3, creations=[rule("orders", Operation.READ)])
    assert describe(node, "orders") == Error.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize("broker", ["1", ""])
def test_the_authorizer_goes_on_with_what_it_was_started_with(node, broker):
    configs = [
        {"name": name, "config_operation": 0, "value": value}
        for name, value in (
            ("super.users", "User:alice"),
            ("allow.everyone.if.no.acl.found", "true"),
        )
    ]
    resource = {"resource_type": 4, "resource_name": broker, "configs": configs}
    answer = node.call("IncrementalAlterConfigs", 1, resources=[resource])
    assert answer.responses[0].error_code == Error.NONE
    for user, error in (
        ("alice", Error.TOPIC_AUTHORIZATION_FAILED),
        ("root", Error.NONE),
    ):
        as_user(node, user)
        assert describe(node, "orders") == error


def test_another_authorizer_is_refused_with_what_to_write():
    with pytest.raises(KafkaError, match=f"authorizer.class.name={AUTHORIZER}"):
        BrokerConfig(properties={"authorizer.class.name": "com.acme.Authorizer"})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"resource_name": ""}, "Invalid empty resource name"),
        (
            {"resource_type": ResourceType.CLUSTER},
            "The only valid name for the CLUSTER resource is kafka-cluster",
        ),
        ({"resource_type": 99}, "Invalid resourceType UNKNOWN"),
        ({"resource_type": ResourceType.ANY}, "Invalid resourceType ANY"),
        ({"resource_pattern_type": PatternType.MATCH}, "Invalid patternType MATCH"),
        ({"operation": Operation.ANY}, "Invalid operation ANY"),
        ({"permission_type": Permission.ANY}, "Invalid permissionType ANY"),
        ({"principal": "alice"}, "Could not parse principal from `alice`"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_and_the_others_are_made(
    node, change, why
):
    good = rule("orders", Operation.READ)
    answer = node.call("CreateAcls", 3, creations=[good | change, good])
    bad, fine = answer.results
    assert bad.error_code == Error.INVALID_REQUEST
    assert bad.error_message.startswith(why)
    assert fine.error_code == Error.NONE
    assert len(node.broker.image.acls.by_id) == 1


def test_the_same_rule_is_made_once_and_found_and_removed(node):
    one = rule("orders", Operation.READ)
    for _ in range(2):
        node.call("CreateAcls", 3, creations=[one, one])
    wanted = {
        "resource_type_filter": ResourceType.TOPIC,
        "resource_name_filter": "orders",
        "pattern_type_filter": PatternType.MATCH,
        "principal_filter": None,
        "host_filter": None,
        "operation": Operation.ANY,
        "permission_type": Permission.ANY,
    }
    found = node.call("DescribeAcls", 3, **wanted).resources
    assert [len(each.acls) for each in found] == [1]
    gone = node.call("DeleteAcls", 3, filters=[wanted, wanted]).filter_results
    assert [len(each.matching_acls) for each in gone] == [1, 1]
    assert node.call("DescribeAcls", 3, **wanted).resources == []


def test_kip_1071_internal_topics_take_the_right_to_create_them(node):
    allowed = [
        rule("g", Operation.READ, kind=ResourceType.GROUP),
        rule("orders", Operation.READ),
        rule("g-counts-changelog", Operation.DESCRIBE),
    ]
    node.call("CreateAcls", 3, creations=allowed)
    node.call("FindCoordinator", 0, key="g")
    node.pass_time(20_000)
    node.out()
    as_user(node, "alice")
    changelog = {"name": "g-counts-changelog", "partitions": 0, "replication_factor": 0}
    subtopology = {
        "subtopology_id": "0",
        "source_topics": ["orders"],
        "state_changelog_topics": [changelog],
    }
    body = {
        "group_id": "g",
        "member_id": "a",
        "member_epoch": 0,
        "rebalance_timeout_ms": 60_000,
        "process_id": "p",
        "topology": {"epoch": 0, "subtopologies": [subtopology]},
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
    }
    answer = node.call("StreamsGroupHeartbeat", 0, **body)
    told = " ".join(status.status_detail for status in answer.status)
    assert "; Unauthorized to CREATE on topics g-counts-changelog." in told
    node.pass_time(5000)
    assert "g-counts-changelog" not in node.broker.image.topics
