"""What lesson 24 claims about TLS, logins and ACLs, as one check each, run on minikafka
and on Apache Kafka over TCP.

The ledger (`notebooks/claims.toml`) names these tests as its evidence.
"""

import hashlib
from contextlib import contextmanager

import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafka import KafkaAdminClient, KafkaConsumer

from minikafka.course.experiments import lesson_24_logins as logins
from minikafka.course.experiments import lesson_24_quota as quota
from minikafka.course.experiments import lesson_24_rules as rules
from minikafka.course.experiments import lesson_24_wire as wire
from minikafka.course.experiments.lesson_24_quota import Writer
from minikafka.course.experiments.lesson_24_rules import allow, deny, reads, writes
from tests.clients.brokers import until
from tests.kafka import BOTH, MINIKAFKA, ApacheKafka, free_ports

pytestmark = pytest.mark.slow

ITERATIONS, PATIENCE_S = 4096, 60
PATIENT_S = 20  # a broker that has just started makes a topic
SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


@contextmanager
def apache_kafka(protocol, port, *, advertised="", configs=None, users=None, data=None):
    """Apache Kafka instead of lesson_24_wire.broker. Nodes, and who adds the users,
    come by a second listener without a lock, and may do everything.
    """
    inside, controller = free_ports(2)
    here = f"127.0.0.1:{port}"
    kept = dict(configs or {})
    if "super.users" in kept:
        kept["super.users"] += ";User:ANONYMOUS"
    given = {
        "listeners": (
            f"{protocol}://{here},PLAINTEXT://127.0.0.1:{inside},"
            f"CONTROLLER://127.0.0.1:{controller}"
        ),
        "advertised.listeners": (
            f"{protocol}://{advertised or here},PLAINTEXT://127.0.0.1:{inside}"
        ),
        "listener.security.protocol.map": ",".join(
            f"{name}:{'PLAINTEXT' if name == 'CONTROLLER' else name}"
            for name in {"PLAINTEXT", "CONTROLLER", protocol}
        ),
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": wire.MECHANISM,
        "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": SCRAM_LOGIN,
        **kept,
    }
    if protocol == "PLAINTEXT":  # it is its own way in
        given["listeners"] = f"PLAINTEXT://{here},CONTROLLER://127.0.0.1:{controller}"
        given["advertised.listeners"] = f"PLAINTEXT://{advertised or here}"
        inside = port
    kafka = ApacheKafka(given, data=data)
    kafka.port = inside  # where it is asked whether it is ready
    kafka.bootstrap = f"127.0.0.1:{inside}"
    with kafka:
        add(kafka.bootstrap, users or {})
        yield


def add(bootstrap, users):
    """Entries of SCRAM; an admin's answer comes when the controller has them."""
    if not users:
        return
    admin = AdminClient({"bootstrap.servers": bootstrap})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, ITERATIONS)
    added = [
        UserScramCredentialUpsertion(name, info, password.encode())
        for name, password in users.items()
    ]
    for future in admin.alter_user_scram_credentials(added).values():
        future.result(PATIENCE_S)


@pytest.fixture(params=BOTH, autouse=True)
def kafka(request, monkeypatch):
    """The lesson's experiments run on either broker."""
    if request.param != MINIKAFKA:
        monkeypatch.setattr(wire, "broker", apache_kafka)
        monkeypatch.setattr(wire, "IMPATIENCE_S", PATIENT_S)
    return request.param


def test_tls_hides_an_order_but_not_the_name_that_the_client_has_dialled(capsys):
    words = ("alice", "480 euros", "orders", "till-7", "localhost")
    assert wire.searched(wire.overheard("PLAINTEXT"), *words) == list(words)
    assert wire.searched(wire.overheard("SSL"), *words) == ["localhost"]
    assert capsys.readouterr().out.count("not found") == 4


def test_a_client_compares_the_certificate_with_the_name_that_it_has_dialled():
    first, second, stored = 1, 2, 0
    assert wire.order_over_tls(["elsewhere"], "localhost") == first
    assert wire.order_over_tls(["localhost"], "127.0.0.1") == second
    assert wire.order_over_tls(["localhost", "127.0.0.1"], "127.0.0.1") == stored


def test_rfc_5802_the_password_is_not_on_the_wire(capsys):
    logins.log_in(logins.KafkaPythons)
    said = capsys.readouterr().out
    assert "the client trusts the broker: True\nthe broker answers Metadata\n" in said
    assert "'alice' on the wire: True\n'correct horse' on the wire: False\n" in said


def test_rfc_5802_an_entry_and_a_recorded_login_let_a_thief_in_and_neither_alone_does():
    assert logins.thief_tries() == ["both"]


def test_kip_290_a_deny_wins_over_every_allow_and_a_group_needs_a_rule_of_its_own(
    capsys,
):
    given = [
        allow("alice", "Read", topic="orders"),
        allow("alice", "Read", group="billing-", prefixed=True),
        allow("bob", "Write", topic="orders", prefixed=True),
        deny("bob", "Write", topic="orders"),
    ]
    programs = {
        "A": reads("alice", "orders", group="billing"),
        "B": reads("alice", "orders", group="billing-night"),
        "C": writes("bob", "orders"),
        "D": writes("bob", "orders-archive"),
    }
    assert rules.what_happens(given, programs) == "AC"
    said = capsys.readouterr().out
    assert "in the group billing: GroupAuthorizationFailedError" in said
    assert "bob writes to orders: TopicAuthorizationFailedError" in said


def test_who_may_see_neither_hears_the_same_of_a_topic_and_of_none():
    first, second = rules.answers_about("carol", "orders", "payroll")
    assert first == second == "TopicAuthorizationFailedError"


def test_read_on_a_group_is_the_right_to_join_those_who_are_there():
    given = [
        allow(user, "Read", **resource)
        for user in ("alice", "bob")
        for resource in ({"topic": "orders"}, {"group": "billing"})
    ]
    with rules.guarded(given) as address:
        told = [rules.as_user(address, user) for user in ("bob", "alice", "admin")]
        bob, alice = (
            KafkaConsumer("orders", group_id="billing", **each) for each in told[:2]
        )
        admin = KafkaAdminClient(**told[2])

        def members():
            bob.poll(100)
            alice.poll(100)
            found = admin.describe_groups(["billing"])["billing"]
            return len(found["members"])

        until(lambda: members() == 2, seconds=PATIENCE_S)
        for each in (bob, alice, admin):
            each.close()


TOPIC_AUTHORIZATION_FAILED = 29


def test_kip_11_a_removed_rule_counts_from_the_next_request_on():
    """For a connection, too, that has logged in before."""
    rule = allow("alice", "Describe", topic="orders")
    with rules.guarded([rule]) as address:
        port = int(address.rpartition(":")[2])
        admin = KafkaAdminClient(**rules.as_user(address, "admin"))
        with logins.Line(port) as line:
            logins.logged_in(line, logins.KafkaPythons("alice", rules.SECRET, "monday"))

            def error():
                told = line.ask("Metadata", 5, topics=[{"name": "orders"}])
                return told.topics[0].error_code

            assert error() == 0
            [removed] = admin.delete_acls([rules.as_acl(rule)])
            assert removed
            until(lambda: error() == TOPIC_AUTHORIZATION_FAILED, seconds=PATIENCE_S)
        admin.close()


def entry_of(password):
    salt = b"salt of 16 bytes"
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, ITERATIONS)
    return {"iterations": ITERATIONS, "salt": salt, "salted_password": salted}


SCRAM_SHA_256 = {"name": "alice", "mechanism": 1}
CHANGES = {
    "removed": {"deletions": [SCRAM_SHA_256], "upsertions": []},
    "another password": {
        "deletions": [],
        "upsertions": [SCRAM_SHA_256 | entry_of("a new password")],
    },
}


@pytest.mark.parametrize("change", CHANGES)
def test_kip_368_a_change_of_an_entry_counts_at_the_next_login(change):
    port, old = wire.free_port(), "correct horse"

    def comes_in(line, user):
        try:
            logins.logged_in(line, logins.KafkaPythons(user, old, "monday"))
        except logins.NotIn:
            return False
        return True

    def is_let_in():
        with logins.Line(port) as another:
            return comes_in(another, "alice")

    users = {"alice": old, "admin": old}
    with (
        wire.broker("SASL_PLAINTEXT", port, users=users),
        logins.Line(port) as line,
        logins.Line(port) as admin,
    ):
        assert comes_in(line, "alice") and comes_in(admin, "admin")
        told = admin.ask("AlterUserScramCredentials", 0, **CHANGES[change])
        assert [each.error_code for each in told.results] == [0]
        until(lambda: not is_let_in(), seconds=PATIENCE_S)
        assert line.ask("Metadata", 5, topics=None).brokers


def test_kip_11_allow_everyone_opens_a_topic_without_a_rule_to_everybody():
    """And the first rule of a topic closes it to all others."""
    configs = {
        "authorizer.class.name": rules.AUTHORIZER,
        "super.users": "User:admin",
        "allow.everyone.if.no.acl.found": "true",
    }
    users = dict.fromkeys(rules.USERS, rules.SECRET)
    port = wire.free_port()
    with wire.broker("SASL_PLAINTEXT", port, configs=configs, users=users):
        address = f"127.0.0.1:{port}"
        given = [allow("alice", "Write", topic="orders")]
        rules.prepare(rules.as_user(address, "admin"), given)
        assert rules.tried(writes("bob", "orders-archive"), address) == "done"
        assert rules.tried(writes("alice", "orders"), address) == "done"
        refused = rules.tried(writes("bob", "orders"), address)
        assert refused == "TopicAuthorizationFailedError"


def test_a_listener_with_sasl_tells_strangers_its_versions_and_mechanisms():
    port = wire.free_port()
    users = {"alice": "correct horse"}
    with wire.broker("SASL_PLAINTEXT", port, users=users):
        with logins.Line(port) as line:
            assert line.ask("ApiVersions", 0).api_keys
            told = line.ask("SaslHandshake", 1, mechanism="none of them").mechanisms
            assert list(told) == [wire.MECHANISM]
        with logins.Line(port) as line, pytest.raises(logins.NotIn):
            line.ask("Metadata", 5, topics=None)


def test_kip_55_a_quota_by_client_id_is_for_a_name_and_one_by_user_for_a_login():
    renamed = Writer("loader", "archive", 900_000)
    by_name, by_login = quota.by_client_id, quota.by_user
    assert quota.silent_for(by_name("loader", 50_000), [renamed]) == [0]
    [seconds] = quota.silent_for(by_login("loader", 50_000), [renamed])
    assert seconds > 0


def test_kip_55_all_programs_of_a_user_share_its_quota():
    writers = [
        Writer("loader", "loader", 450_000),
        Writer("loader", "archive", 450_000),
        Writer("billing", "loader", 450_000),
    ]
    found = quota.silent_for(quota.by_user("loader", 50_000), writers)
    assert [each > 0 for each in found] == [False, True, False]
