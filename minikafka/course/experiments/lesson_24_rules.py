"""Lesson 24's rules: a broker with an authorizer, access rules (ACLs), and programs of
kafka-python that try what they may do.
"""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from minikafka.course.experiments import lesson_24_wire as wire
from minikafka.course.experiments.lesson_24_wire import (
    MECHANISM,
    PATIENCE_S,
    free_port,
)
from minikafka.server.proxy import LOOPBACK

ORDERS, ARCHIVE = "orders", "orders-archive"
ADMIN, SECRET = "admin", "practice"
USERS = (ADMIN, "alice", "bob", "carol")
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class Rule(NamedTuple):
    """One ACL. kind: "topic" or "group". prefixed: it is about all names that begin
    with this one.
    """

    allows: bool
    user: str
    operation: str
    kind: str
    name: str
    prefixed: bool


def allow(user: str, operation: str, **resource: Any) -> Rule:
    """allow("alice", "Read", topic="orders"); prefixed=True for beginnings."""
    return _rule(True, user, operation, **resource)


def deny(user: str, operation: str, **resource: Any) -> Rule:
    """deny("bob", "Write", topic="orders")."""
    return _rule(False, user, operation, **resource)


def _rule(
    allows: bool, user: str, operation: str, prefixed: bool = False, **named: str
) -> Rule:
    [(kind, name)] = named.items()
    return Rule(allows, user, operation, kind, name, prefixed)


class Program(NamedTuple):
    """Something that a user tries. group: for reading; "" for writing."""

    user: str
    topic: str
    group: str

    def __str__(self) -> str:
        if self.group:
            return f"{self.user} reads {self.topic} in the group {self.group}"
        return f"{self.user} writes to {self.topic}"


def reads(user: str, topic: str, group: str) -> Program:
    """A member of a group that wants one record of the topic."""
    return Program(user, topic, group)


def writes(user: str, topic: str) -> Program:
    """A producer that wants to store one record in the topic."""
    return Program(user, topic, "")


def as_user(address: str, user: str) -> dict[str, Any]:
    """What a client of kafka-python is told, so that it logs in."""
    return {
        "bootstrap_servers": address,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": MECHANISM,
        "sasl_plain_username": user,
        "sasl_plain_password": SECRET,
    }


@contextlib.contextmanager
def guarded(rules: Iterable[Rule]) -> Iterator[str]:
    """The address of a broker with these rules and two topics, one order in each."""
    port = free_port()
    configs = {
        "authorizer.class.name": AUTHORIZER,
        "super.users": f"User:{ADMIN}",
    }
    users = dict.fromkeys(USERS, SECRET)
    with wire.broker("SASL_PLAINTEXT", port, configs=configs, users=users):
        address = f"{LOOPBACK}:{port}"
        prepare(as_user(address, ADMIN), rules)
        yield address


def prepare(told: dict[str, Any], rules: Iterable[Rule]) -> None:
    """Make the topics, with an order in each, and the rules."""
    from kafka import KafkaProducer
    from kafka.admin import KafkaAdminClient

    admin = KafkaAdminClient(**told)
    admin.create_acls([as_acl(rule) for rule in rules])
    admin.close()
    producer = KafkaProducer(**told)
    for topic in (ORDERS, ARCHIVE):
        producer.send(topic, b"one bicycle").get(PATIENCE_S)
    producer.close()


def as_acl(rule: Rule) -> Any:
    """The rule as kafka-python has it."""
    from kafka.admin import (
        ACL,
        ACLOperation,
        ACLPermissionType,
        ACLResourcePatternType,
        ResourcePattern,
        ResourceType,
    )

    pattern = ResourcePattern(
        ResourceType[rule.kind.upper()],
        rule.name,
        ACLResourcePatternType["PREFIXED" if rule.prefixed else "LITERAL"],
    )
    return ACL(
        f"User:{rule.user}",
        "*",
        ACLOperation[rule.operation.upper()],
        ACLPermissionType["ALLOW" if rule.allows else "DENY"],
        pattern,
    )


def tried(program: Program, address: str) -> str:
    """ "done", or the name of the error."""
    from kafka import KafkaConsumer, KafkaProducer
    from kafka.errors import KafkaError

    told = as_user(address, program.user)
    client: Any
    if program.group:
        client = KafkaConsumer(
            program.topic,
            group_id=program.group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            **told,
        )
    else:
        client = KafkaProducer(**told)
    try:
        if not program.group:
            client.send(program.topic, b"one bell").get(PATIENCE_S)
        elif not client.poll(1000 * PATIENCE_S):
            return "nothing came"
        return "done"
    except KafkaError as error:
        return type(error).__name__
    finally:
        client.close()


def what_happens(rules: Iterable[Rule], programs: dict[str, Program]) -> str:
    """Each program tries, on a broker with these rules. Prints how it ends, and returns
    the letters of those that were refused.
    """
    refused = ""
    with guarded(rules) as address:
        for letter, program in programs.items():
            ends = tried(program, address)
            print(f"{letter}  {program}: {ends}")
            refused += letter if ends != "done" else ""
    return refused


def answers_about(user: str, *topics: str) -> list[str]:
    """The error that a user hears about each topic when it asks Metadata, without any
    rule.
    """
    from kafka.admin import KafkaAdminClient
    from kafka.errors import for_code

    with guarded(()) as address:
        admin = KafkaAdminClient(**as_user(address, user))
        found = {}
        for each in admin.describe_topics(list(topics)):
            found[each["name"]] = for_code(each["error_code"]).__name__
        admin.close()
    for topic in topics:
        print(f"{topic}: {found[topic]}")
    return [found[topic] for topic in topics]
