"""The same requests to each of three brokers, of minikafka and of Apache Kafka: whoever
is asked, the answers are the same (test_same_answers.py says how they are compared).
"""

import pytest

from minikafka.course.clusters.jvm_cluster import JvmCluster
from minikafka.server.embedded import Served
from tests.clients.brokers import STEADY, fresh_name, overrides
from tests.conformance.same_answers import CONFIGS, differences, unexpected
from tests.conformance.scenarios_three import BROKERS, SCENARIOS, OneOfThree
from tests.kafka import SMALL_JVM, an_address

pytestmark = [pytest.mark.slow, pytest.mark.java, pytest.mark.nightly]

# As docker/compose.yaml has them.
LIKE_THEIRS = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    **STEADY,
}


@pytest.fixture(scope="module")
def both():
    options = ("--brokers", "3", *overrides(LIKE_THEIRS))
    with (
        Served(options=options) as ours,
        JvmCluster(an_address(), jvm=SMALL_JVM) as theirs,
    ):
        yield ours.bootstrap, theirs.bootstrap


@pytest.mark.compares
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_each_of_three_brokers_answers_as_apache_kafka_does(both, scenario):
    found = {}
    for broker in BROKERS:
        name = fresh_name(f"{scenario.__name__}-{broker}")
        with (
            OneOfThree(both[0], name, broker) as ours,
            OneOfThree(both[1], name, broker) as theirs,
        ):
            for side in (ours, theirs):
                scenario(side)
        differing = differences(ours.answers, theirs.answers)
        found |= {f"broker {broker}, {path}": each for path, each in differing.items()}
    left, _ = unexpected(found, {}, CONFIGS)
    assert not left
