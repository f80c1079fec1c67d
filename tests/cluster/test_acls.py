"""KIP-11, KIP-290, KIP-679, KIP-1276: what access rules mean, as StandardAuthorizer
decides it; tests/conformance/test_access.py compares with Apache Kafka.
"""

import pytest

from minikafka.cluster.acls import (
    Acl,
    AclFilter,
    Acls,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    Who,
)
from minikafka.cluster.metadata import Image, MetadataRecord
from minikafka.cluster.principals import ANONYMOUS, USER, Principal

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
READ, WRITE, DESCRIBE, ALL = (
    Operation.READ,
    Operation.WRITE,
    Operation.DESCRIBE,
    Operation.ALL,
)
ALICE = Who(Principal(USER, "alice"), "10.0.0.7")
BOB = Who(Principal(USER, "bob"), "10.0.0.7")


def rule(
    name,
    operation=READ,
    *,
    pattern=LITERAL,
    principal="User:alice",
    host="*",
    permission=Permission.ALLOW,
):
    return Acl(TOPIC, name, pattern, principal, host, operation, permission)


def denial(name, operation=READ, **more):
    return rule(name, operation, permission=Permission.DENY, **more)


def acls(*rules):
    found = Acls()
    for number, one in enumerate(rules):
        found.add({"id": number.to_bytes(16, "big")} | one._asdict())
    return found


def test_without_a_rule_about_a_resource_the_rules_say_nothing():
    assert acls().decide(ALICE, READ, TOPIC, "orders") is None
    assert acls(rule("bills")).decide(ALICE, READ, TOPIC, "orders") is None
    assert acls(rule("orders")).decide(ALICE, READ, GROUP, "orders") is None


def test_a_rule_for_others_is_a_no():
    assert acls(rule("orders")).decide(BOB, READ, TOPIC, "orders") is False
    assert acls(rule("orders", WRITE)).decide(ALICE, READ, TOPIC, "orders") is False


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        (LITERAL, "orders", True),
        (LITERAL, "order", False),
        (LITERAL, "*", True),
        (PREFIXED, "order", True),
        (PREFIXED, "orders", True),
        (PREFIXED, "orders-eu", False),
        (PREFIXED, "*", False),
    ],
)
def test_kip_290_a_pattern_is_a_name_a_prefix_or_a_star(pattern, name, matches):
    found = acls(rule(name, pattern=pattern)).decide(ALICE, READ, TOPIC, "orders")
    assert found is (True if matches else None)


@pytest.mark.parametrize("number", range(2))
def test_a_denial_counts_more_than_any_rule_that_allows(number):
    rules = [rule("orders", ALL), denial("o", pattern=PREFIXED)]
    first, second = rules[number], rules[1 - number]
    assert acls(first, second).decide(ALICE, READ, TOPIC, "orders") is False
    assert acls(first, second).decide(ALICE, WRITE, TOPIC, "orders") is True


@pytest.mark.parametrize("operation", ["READ", "WRITE", "DELETE", "ALTER", "ALL"])
def test_who_may_touch_something_may_describe_it(operation):
    found = acls(rule("orders", Operation[operation]))
    assert found.decide(ALICE, DESCRIBE, TOPIC, "orders") is True


def test_what_is_implied_is_not_denied_with_it():
    found = acls(denial("orders", READ), rule("orders", DESCRIBE))
    assert found.decide(ALICE, DESCRIBE, TOPIC, "orders") is True


def test_who_may_alter_configs_may_see_them():
    found = acls(rule("orders", Operation.ALTER_CONFIGS))
    assert found.decide(ALICE, Operation.DESCRIBE_CONFIGS, TOPIC, "orders") is True
    assert found.decide(ALICE, DESCRIBE, TOPIC, "orders") is False


def test_a_rule_may_be_about_everybody_but_not_about_everybody_of_another_type():
    assert acls(rule("orders", principal="User:*")).decide(BOB, READ, TOPIC, "orders")
    found = acls(rule("orders", principal="Group:*"))
    assert found.decide(BOB, READ, TOPIC, "orders") is False


@pytest.mark.parametrize(
    ("host", "address", "matches"),
    [
        ("10.0.0.7", "10.0.0.7", True),
        ("10.0.0.8", "10.0.0.7", False),
        ("10.0.0.0/24", "10.0.0.7", True),
        ("10.0.0.9/24", "10.0.0.7", True),
        ("10.0.0.7/32", "10.0.0.7", True),
        ("10.0.1.0/24", "10.0.0.7", False),
        ("fd00::/8", "fd00::7", True),
        ("fd00::/8", "10.0.0.7", False),
        ("10.0.0.0/99", "10.0.0.7", False),
    ],
)
def test_kip_1276_a_host_is_an_address_or_a_range_of_them(host, address, matches):
    who = Who(ANONYMOUS, address)
    one = rule("orders", principal="User:ANONYMOUS", host=host)
    assert acls(one).decide(who, READ, TOPIC, "orders") is matches


def test_kip_679_some_topic_may_be_written_to_if_no_denial_covers_what_is_allowed():
    def some(*rules):
        return acls(*rules).allows_some(ALICE, WRITE, TOPIC)

    assert not some()
    assert some(rule("orders", WRITE))
    assert some(rule("orders", ALL))
    assert not some(rule("orders", READ))
    assert not some(rule("orders", WRITE), denial("orders", WRITE))
    assert not some(rule("orders", WRITE), denial("or", WRITE, pattern=PREFIXED))
    assert not some(rule("orders", WRITE), denial("*", ALL))
    assert some(rule("*", WRITE), denial("orders", WRITE))
    assert some(rule("or", WRITE, pattern=PREFIXED), denial("orders", WRITE))


def test_a_rule_that_is_gone_counts_no_more():
    found = acls(rule("or", pattern=PREFIXED), rule("orders", pattern=PREFIXED))
    found.remove({"id": bytes(16)})
    assert found.decide(ALICE, READ, TOPIC, "or") is None
    assert found.decide(ALICE, READ, TOPIC, "orders") is True
    found.remove({"id": (1).to_bytes(16, "big")})
    assert found.decide(ALICE, READ, TOPIC, "orders") is None
    assert rule("orders", pattern=PREFIXED) not in found


def test_a_filter_that_matches_finds_all_rules_about_a_name():
    rules = [
        rule("orders"),
        rule("or", pattern=PREFIXED),
        rule("*"),
        rule("bills"),
        rule("orders-eu", pattern=PREFIXED),
    ]

    def found(name, pattern):
        wanted = AclFilter(TOPIC, name, pattern, None, None, 1, 1)
        return [one.resource_name for one in rules if wanted.matches(one)]

    assert found("orders", PatternType.MATCH) == ["orders", "or", "*"]
    assert found("orders", PatternType.ANY) == ["orders"]
    assert found("or", PREFIXED) == ["or"]
    assert found(None, LITERAL) == ["orders", "*", "bills"]


def test_rules_are_in_a_snapshot_and_what_a_later_one_lacks_is_removed():
    image, later = Image(), Image()
    for number, one in enumerate([rule("orders"), rule("or", pattern=PREFIXED)]):
        fields = {"id": number.to_bytes(16, "big")} | one._asdict()
        image.apply(MetadataRecord("AccessControlEntryRecord", 0, fields))
    again = Image.of(image.records())
    assert again.acls.by_id == image.acls.by_id
    assert again.acls.decide(ALICE, READ, TOPIC, "orders") is True
    for record in image.gone(later):
        image.apply(record)
    assert not image.acls.by_id
