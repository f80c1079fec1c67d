"""Access rules as clients' tools make, find and remove them: kafka-acls and
kafka-python's admin.
"""

import pytest
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)

from tests.clients.brokers import minikafka, until
from tests.conformance.access import AUTHORIZED
from tests.kafka import BOTH, ApacheKafka, java_tool

pytestmark = pytest.mark.slow

COMMAND = "org.apache.kafka.tools.AclCommand"


@pytest.fixture(scope="module", params=BOTH)
def bootstrap(request):
    if request.param == "minikafka":
        with minikafka(AUTHORIZED) as address:
            yield address
    else:
        with ApacheKafka(AUTHORIZED) as kafka:
            yield kafka.bootstrap


def acls(bootstrap, *args):
    """What kafka-acls prints, without empty lines."""
    done = java_tool(COMMAND, "--bootstrap-server", bootstrap, *args)
    assert not done.returncode, done.stdout + done.stderr
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


@pytest.mark.java
@pytest.mark.nightly
def test_kafka_acls_adds_lists_and_removes_rules(bootstrap):
    reader = ("--consumer", "--topic", "orders", "--group", "billing")
    acls(bootstrap, "--add", "--allow-principal", "User:alice", *reader)
    of_alice = "(principal=User:alice, host=*, operation={}, permissionType=ALLOW)"
    of_topic = (
        "Current ACLs for resource `ResourcePattern(resourceType=TOPIC, name=orders,"
        " patternType=LITERAL)`:"
    )
    listed = acls(bootstrap, "--list", "--topic", "orders")
    assert listed[0] == of_topic
    assert set(listed[1:]) == {of_alice.format("READ"), of_alice.format("DESCRIBE")}
    assert of_alice.format("READ") in acls(bootstrap, "--list", "--group", "billing")
    written = ("--operation", "Write")
    prefixed = ("--topic", "or", "--resource-pattern-type", "prefixed")
    acls(bootstrap, "--add", "--deny-principal", "User:bob", *written, *prefixed)
    matching = ("--topic", "orders", "--resource-pattern-type", "match")
    assert any("name=or," in line for line in acls(bootstrap, "--list", *matching))
    acls(bootstrap, "--remove", "--force", *matching)
    assert acls(bootstrap, "--list", *matching) == []


def names(admin, wanted):
    """The rules that are found."""
    found, _ = admin.describe_acls(wanted)
    return sorted(map(repr, found))


def test_kafka_pythons_admin_makes_finds_and_removes_rules(bootstrap):
    admin = KafkaAdminClient(bootstrap_servers=bootstrap)
    bills = ResourcePattern(ResourceType.TOPIC, "bills")
    one = ACL("User:alice", "*", ACLOperation.READ, ACLPermissionType.ALLOW, bills)
    other = ACL(
        "User:bob",
        "10.0.0.1",
        ACLOperation.ALL,
        ACLPermissionType.DENY,
        ResourcePattern(ResourceType.TOPIC, "bi", ACLResourcePatternType.PREFIXED),
    )
    wanted = ACLFilter(
        None,
        None,
        ACLOperation.ANY,
        ACLPermissionType.ANY,
        ResourcePatternFilter(
            ResourceType.TOPIC, "bills", ACLResourcePatternType.MATCH
        ),
    )
    try:
        made = admin.create_acls([one, other])
        assert made["succeeded"] == [one, other]
        # Apache Kafka's broker learns of rules a little later than its controller
        until(lambda: names(admin, wanted) == sorted(map(repr, [one, other])))
        admin.delete_acls([wanted])
        until(lambda: names(admin, wanted) == [])
    finally:
        admin.close()
