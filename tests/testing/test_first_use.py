"""The first client of a fresh Kafka meets the same errors on minikafka's fresh brokers
as on Apache Kafka, in the same order, until it is served.
"""

import time

import kafka
import pytest

from minikafka.testing import Kafka
from tests.conformance.raw import Connection
from tests.kafka import APACHE_KAFKA, MINIKAFKA, ApacheKafka

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

MEMBER_ID_REQUIRED = "MEMBER_ID_REQUIRED"  # KIP-394: it is served
NO_MEMBER = {
    "group_id": "billing",
    "session_timeout_ms": 30_000,
    "rebalance_timeout_ms": 30_000,
    "member_id": "",
    "protocol_type": "consumer",
    "protocols": [{"name": "range", "metadata": b""}],
}
COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, LOAD_IN_PROGRESS = (15, 16, 14)
UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_MEMBER = 3, 79
WAIT_SECONDS = 240


@pytest.fixture(
    params=[MINIKAFKA, pytest.param(APACHE_KAFKA, marks=pytest.mark.nightly)]
)
def fresh(request):
    """A connection to a Kafka that nobody has used, and which one it is."""
    is_ours = request.param == MINIKAFKA
    with Kafka(fresh=True) if is_ours else ApacheKafka() as running:
        address = running.bootstrap_servers if is_ours else running.bootstrap
        with Connection(address) as connection:
            yield connection, request.param


def errors_until(last, ask):
    """The error codes of its answers, without repetitions, until this one comes."""
    found, deadline = [], time.monotonic() + WAIT_SECONDS
    while last not in found:
        assert time.monotonic() < deadline, found
        error = ask()
        if error not in found[-1:]:
            found.append(error)
    return found


def find_coordinator(connection, kind):
    return connection.ask("FindCoordinator", 3, key="billing", key_type=kind).error_code


def check(found, wanted, which):
    """On Apache Kafka the log of a new topic may be read within a millisecond."""
    may_be_missed = {LOAD_IN_PROGRESS} if which == APACHE_KAFKA else set()
    assert [each for each in wanted if each in found or each not in may_be_missed] == (
        found
    )


def test_kip_394_a_groups_first_member_waits_for_its_coordinator(fresh):
    connection, which = fresh
    found = errors_until(0, lambda: find_coordinator(connection, 0))
    assert found == [COORDINATOR_NOT_AVAILABLE, 0]
    found = errors_until(
        UNKNOWN_MEMBER, lambda: connection.ask("JoinGroup", 5, **NO_MEMBER).error_code
    )
    check(found, [NOT_COORDINATOR, LOAD_IN_PROGRESS, UNKNOWN_MEMBER], which)


def test_kip_98_the_first_transactional_producer_waits_for_its_coordinator(fresh):
    connection, which = fresh
    found = errors_until(0, lambda: find_coordinator(connection, 1))
    assert found == [COORDINATOR_NOT_AVAILABLE, 0]
    new = {"transactional_id": "billing", "transaction_timeout_ms": 60_000}
    found = errors_until(
        0, lambda: connection.ask("InitProducerId", 4, **new).error_code
    )
    check(found, [NOT_COORDINATOR, LOAD_IN_PROGRESS, 0], which)


def test_the_first_idempotent_producer_waits_for_an_id(fresh):
    connection, _ = fresh
    new = {"transactional_id": None, "transaction_timeout_ms": 60_000}
    found = errors_until(
        0, lambda: connection.ask("InitProducerId", 4, **new).error_code
    )
    assert found == [LOAD_IN_PROGRESS, 0]


def test_an_auto_created_topic_is_unknown_in_the_first_answer(fresh):
    connection, _ = fresh

    def ask():
        asked = {"topics": [{"name": "orders"}], "allow_auto_topic_creation": True}
        [topic] = connection.ask("Metadata", 9, **asked).topics
        return topic.error_code

    assert errors_until(0, ask) == [UNKNOWN_TOPIC_OR_PARTITION, 0]


@pytest.mark.parametrize("kind", [0, 1], ids=["groups", "transactions"])
def test_other_brokers_have_a_coordinator_at_the_first_answer(kind):
    with Kafka() as running, Connection(running.bootstrap_servers) as connection:
        assert find_coordinator(connection, kind) == 0


def test_a_fresh_broker_is_for_one_test_and_its_members_arrive(pytester):
    pytester.makepyfile(
        """
        import pytest

        seen = []

        @pytest.mark.parametrize("number", range(2))
        @pytest.mark.minikafka(fresh=True)
        def test_one(kafka, number):
            assert kafka not in seen
            seen.append(kafka)
        """
    )
    plugin = ("-p", "no:minikafka", "-p", "minikafka.testing.plugin")
    pytester.runpytest_inprocess(*plugin).assert_outcomes(passed=2)


def test_a_real_member_gets_through():
    with Kafka(fresh=True) as running:
        topic = running.topic()
        member = kafka.KafkaConsumer(
            topic, bootstrap_servers=running.bootstrap_servers, group_id="billing"
        )
        while not member.assignment():
            member.poll(50)
        running.group("billing").wait_stable(members=1)
        member.close()
        assert "NOT_COORDINATOR" in str(running.heard)
