"""The same requests to each of three brokers, of minikafka and of Apache Kafka: whoever
is asked, the answers are the same (test_same_answers.py says how they are compared).
Apache Kafka is asked at night (tests/recording.py).
"""

from functools import partial

import pytest

from minikafka.course.clusters.jvm_cluster import JvmCluster
from minikafka.server.embedded import Served
from tests.clients.brokers import STEADY, overrides
from tests.conformance.same_answers import (
    CONFIGS,
    Asked,
    differences,
    steps,
    unexpected,
)
from tests.conformance.scenarios_three import BROKERS, SCENARIOS, OneOfThree
from tests.kafka import SMALL_JVM, an_address
from tests.recording import Recording

pytestmark = pytest.mark.slow

RECORDING = Recording(__file__)

# As docker/compose.yaml has them.
LIKE_THEIRS = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    **STEADY,
}


def each_of(bootstrap):
    return [
        Asked(bootstrap, partial(OneOfThree, broker=broker), f"the broker {broker}")
        for broker in BROKERS
    ]


@pytest.fixture(scope="module")
def ours():
    with Served(options=("--brokers", "3", *overrides(LIKE_THEIRS))) as kafka:
        yield each_of(kafka.bootstrap)


@pytest.fixture(scope="module")
def theirs():
    with JvmCluster(an_address(), jvm=SMALL_JVM) as kafka:
        yield each_of(kafka.bootstrap)


of_each_scenario = pytest.mark.parametrize(
    "scenario", SCENARIOS, ids=lambda each: each.__name__
)


def steps_of(brokers, scenario):
    return [step for broker in brokers for step in steps(broker.answers(scenario))]


@of_each_scenario
def test_each_of_three_brokers_answers_as_recorded(ours, scenario):
    RECORDING.check(scenario.__name__, steps_of(ours, scenario))


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.compares
@of_each_scenario
def test_each_of_three_brokers_answers_as_apache_kafka_does(ours, theirs, scenario):
    for our_broker, their_broker in zip(ours, theirs, strict=True):
        found = differences(
            our_broker.answers(scenario), their_broker.answers(scenario)
        )
        left, _ = unexpected(found, {}, CONFIGS)
        assert not left, our_broker.suffix
    RECORDING.confirm(scenario.__name__, steps_of(ours, scenario))
