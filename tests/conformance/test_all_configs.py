"""Every config of Apache Kafka 4.4 is here: described alike, and changed where it may
be changed there.

differences_configs.toml lists where the two differ on purpose: scenario -> pattern of
`question: API version.field` -> why. An entry that no longer matches fails the test.
Apache Kafka is asked at night (tests/recording.py).
"""

import tomllib
from pathlib import Path

import pytest

from tests.clients.brokers import KEPT, fresh_name, minikafka
from tests.conformance.conftest import AT_ONCE
from tests.conformance.matrix import ON_PURPOSE
from tests.conformance.raw import Connection
from tests.conformance.same_answers import Asked, differences, steps, unexpected
from tests.conformance.scenarios_all_configs import SCENARIOS
from tests.kafka import ApacheKafka
from tests.recording import Recording

pytestmark = pytest.mark.slow

RECORDING = Recording(__file__)

DIFFERENCES = tomllib.loads(
    Path(__file__).with_name("differences_configs.toml").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def ours():
    with minikafka(AT_ONCE) as bootstrap:
        yield Asked(bootstrap)


@pytest.fixture(scope="module")
def theirs():
    with ApacheKafka(KEPT) as kafka:
        yield Asked(kafka.bootstrap)


def documentation(bootstrap):
    """Config of a broker, a topic or a group -> what is said of it."""
    told = {}
    with Connection(bootstrap) as connection:
        topic = connection.create_topic(fresh_name("said"))
        for kind, name in ((2, topic), (4, "1"), (32, topic)):
            resource = {"resource_type": kind, "resource_name": name}
            asked = [resource | {"configuration_keys": None}]
            answer = connection.ask(
                "DescribeConfigs", 4, resources=asked, include_documentation=True
            )
            for config in answer.results[0].configs:
                told[kind, config.name] = config.documentation
    return told


@pytest.mark.java
@pytest.mark.nightly
def test_each_config_is_documented_in_words_of_our_own(ours, theirs):
    told, told_there = (documentation(side.bootstrap) for side in (ours, theirs))
    assert told.keys() == told_there.keys()
    for which, text in told.items():
        words = text.partition(" (Without effect")[0].rstrip(".").lower()
        assert words, f"nothing is said of {which}"
        assert words not in told_there[which].lower(), which


of_each_scenario = pytest.mark.parametrize(
    "scenario", SCENARIOS, ids=lambda each: each.__name__
)


@of_each_scenario
def test_each_config_is_described_and_changed_as_recorded(ours, scenario):
    RECORDING.check(scenario.__name__, steps(ours.answers(scenario)))


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.compares
@of_each_scenario
def test_each_config_is_described_and_changed_as_in_apache_kafka(
    ours, theirs, scenario, record_property
):
    found = differences(ours.answers(scenario), theirs.answers(scenario))
    listed = DIFFERENCES.get(scenario.__name__, {})
    left, stale = unexpected(found, listed, {})
    assert not left
    assert not stale, "these no longer differ: take them out of the file"
    for why in dict.fromkeys(listed.values()):
        record_property(ON_PURPOSE, why)
    RECORDING.confirm(scenario.__name__, steps(ours.answers(scenario)))
