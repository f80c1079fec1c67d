"""Access rules (KIP-11, KIP-290): each API, asked by clients with different rights
about resources that are there and others that aren't, answers as Apache Kafka's does;
and rules of all kinds allow and deny the same.

Apache Kafka is asked at night (tests/recording.py).
"""

import random
import sys

import pytest

from minikafka.broker.guards import GUARDS
from minikafka.broker.handlers import HANDLERS
from minikafka.wire.errors import Error
from tests.clients.brokers import minikafka
from tests.conformance import access
from tests.conformance.access import AUTHORIZED, CLIENTS, QUESTIONS, Table
from tests.conformance.conftest import AT_ONCE
from tests.conformance.raw import Connection
from tests.conformance.same_answers import differences, steps, unexpected
from tests.kafka import ApacheKafka
from tests.recording import Recording

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux",
        reason="clients differ by addresses that only Linux has without being asked",
    ),
]

RECORDING = Recording(__file__)
# Whoever asks gets an answer, or finds out in the handler what it may not see.
UNGUARDED = {
    "ApiVersions",
    "SaslHandshake",
    "SaslAuthenticate",
    "Metadata",
    "DescribeCluster",
    "Fetch",
    "CreateDelegationToken",
    "RenewDelegationToken",
    "ExpireDelegationToken",
    "DescribeDelegationToken",
}
ABSENT = "Apache Kafka tells what one may do with a topic that is not there"
DELIBERATE = {
    "Metadata: *.topics.1.topic_authorized_operations": ABSENT,
    "DescribeTopicPartitions: *.topics.1.topic_authorized_operations": ABSENT,
    "AlterPartitionReassignments: *.responses.1.*.error_message": "other words",
}


def table_of(bootstrap):
    with Table(bootstrap, "table") as table:
        table.fill()
        return table.answers


@pytest.fixture(scope="module")
def ours():
    with minikafka({**AT_ONCE, **AUTHORIZED}) as bootstrap:
        return {"decisions": decisions(bootstrap), **table_of(bootstrap)}


def in_parts(answers):
    """The table by API, so that a difference is found quickly."""
    parts = {}
    for cell, answer in answers.items():
        parts.setdefault(cell.split(":")[0], {})[cell] = answer
    return parts


def test_every_cell_is_as_it_was_compared(ours):
    for question, cells in in_parts(ours).items():
        RECORDING.check(question, steps(cells))


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.compares
def test_the_table_is_apache_kafkas(ours):
    properties = {"log.initial.task.delay.ms": "3600000", **AUTHORIZED}
    with ApacheKafka(properties) as kafka:
        theirs = {
            "decisions": decisions(kafka.bootstrap),
            **table_of(kafka.bootstrap),
        }
    found = {}
    for cell, answer in theirs.items():
        for path, pair in differences(ours[cell], answer).items():
            found[f"{cell}.{path}"] = pair
    left, stale = unexpected(found, DELIBERATE, {})
    assert not left and not stale
    assert ours.keys() == theirs.keys()
    for question, cells in in_parts(ours).items():
        RECORDING.confirm(question, steps(cells))


def test_there_is_a_cell_for_every_api_and_every_right():
    assert len(QUESTIONS) * len(CLIENTS) > 4000
    asked = {question.api for question in QUESTIONS}
    served = {one.api for one in HANDLERS.values() if not one.inter_broker}
    of_logins = {api for api in served if "Sasl" in api or "Token" in api}
    assert served - asked == of_logins


def test_each_api_has_a_guard_or_asks_itself():
    served = {one.api for one in HANDLERS.values() if not one.inter_broker}
    assert served == GUARDS.keys() | UNGUARDED


# -- rules of all kinds


PATTERNS = ("*", "or", "order", "orders", "orders-eu", "bills", "User")
ASKED = ("o", "or", "order", "orders", "orders-eu", "orders-eu-1", "bills", "*x")
HOSTS = ("*", "127.78.0.1", "127.78.0.2", "127.0.0.1")
PRINCIPALS = ("User:*", "User:ANONYMOUS", "User:alice", "Group:ANONYMOUS", "User:A:B")


def rules_at_random(draw):
    """Some rules about topics, and those that let the tests go on."""
    rules = access.rules_of_admin()
    for _ in range(draw.randrange(1, 9)):
        name = draw.choice(PATTERNS)
        one = access.rule(
            access.TOPIC,
            name,
            draw.choice((access.LITERAL, access.PREFIXED)),
            draw.choice(HOSTS[:3]),
            draw.choice(range(2, 13)),
            draw.choice((access.ALLOW, access.ALLOW, access.DENY)),
            draw.choice(PRINCIPALS[:3]) if draw.random() < 0.8 else PRINCIPALS[4],
        )
        rules.append(one)
    return rules


def decisions(bootstrap):
    """For each of many sets of rules: what two clients may do with topics, and what
    they are told when they ask for an id.
    """
    draw = random.Random(7)
    told = []
    with (
        Connection(bootstrap) as admin,
        Connection(bootstrap, "127.78.0.1") as one,
        Connection(bootstrap, "127.78.0.2") as two,
    ):
        access.create(admin, access.rules_of_admin())
        made = [topic for topic in ASKED if topic != "*x"]
        for topic in made:
            admin.create_topic(topic)
        for _ in range(60):
            rules = rules_at_random(draw)
            access.create(admin, rules)
            wait_until_known(admin)
            for client in (one, two):
                told.append(what_it_may_do(client, made))
            remove(admin, rules[len(access.rules_of_admin()) :])
    return told


def what_it_may_do(client, topics):
    asked = {
        "topics": [{"name": topic} for topic in topics],
        "allow_auto_topic_creation": False,
        "include_topic_authorized_operations": True,
    }
    answer = client.ask("Metadata", 9, **asked)
    found = {
        topic.name: (topic.error_code, topic.topic_authorized_operations)
        for topic in answer.topics
    }
    whole = client.ask("Metadata", 9, **(asked | {"topics": None}))
    found["(seen)"] = sorted(
        topic.name for topic in whole.topics if topic.name in topics
    )
    found["(an id)"] = id_or_error(client)
    return found


def id_or_error(client):
    """What a client is told that wants to be idempotent. Apache Kafka asks for patience
    while it fetches its first block of ids.
    """
    named = {"transactional_id": None, "transaction_timeout_ms": 1000}
    while True:
        error = client.ask("InitProducerId", 1, **named).error_code
        if error != Error.COORDINATOR_LOAD_IN_PROGRESS:
            return error


def remove(admin, rules):
    filters = []
    for each in rules:
        one = {
            "resource_type_filter": each["resource_type"],
            "resource_name_filter": each["resource_name"],
            "pattern_type_filter": each["resource_pattern_type"],
            "principal_filter": each["principal"],
            "host_filter": each["host"],
            "operation": each["operation"],
            "permission_type": each["permission_type"],
        }
        filters.append(one)
    admin.ask("DeleteAcls", 3, filters=filters)
    wait_until_known(admin)


_marks = iter(range(10_000))


def wait_until_known(admin):
    """Apache Kafka's broker learns of rules a little later than its controller answers,
    in their order: the last one is told when those before it count.
    """
    name = f"mark-{next(_marks)}"
    access.create(
        admin,
        [access.rule(access.TOPIC, name, access.LITERAL, "127.9.9.9", access.READ)],
    )
    wanted = access.A_FILTER | {"resource_name_filter": name}
    while not admin.ask("DescribeAcls", 3, **wanted).resources:
        pass
