"""Every config of Apache Kafka 4.3 is here: described alike, and changed where it may
be changed there.

differences_configs.toml lists where the two differ on purpose: scenario -> pattern of
`question: API version.field` -> why. An entry that no longer matches fails the test.
"""

import tomllib
from pathlib import Path

import pytest

from tests.clients.brokers import KEPT, fresh_name, minikafka
from tests.conformance.conftest import AT_ONCE
from tests.conformance.matrix import ON_PURPOSE
from tests.conformance.raw import Connection
from tests.conformance.same_answers import Side, differences, unexpected
from tests.conformance.scenarios_all_configs import SCENARIOS
from tests.kafka import ApacheKafka

pytestmark = [pytest.mark.slow, pytest.mark.java]

DIFFERENCES = tomllib.loads(
    Path(__file__).with_name("differences_configs.toml").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def both():
    with minikafka(AT_ONCE) as ours, ApacheKafka(KEPT) as apache:
        yield ours, apache.bootstrap


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


def test_each_config_is_documented_in_words_of_our_own(both):
    ours, theirs = map(documentation, both)
    assert ours.keys() == theirs.keys()
    for which, text in ours.items():
        words = text.partition(" (Without effect")[0].rstrip(".").lower()
        assert words, f"nothing is said of {which}"
        assert words not in theirs[which].lower(), which


@pytest.mark.compares
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_each_config_is_described_and_changed_as_in_apache_kafka(
    both, scenario, record_property
):
    name = fresh_name(scenario.__name__)
    with Side(both[0], name) as ours, Side(both[1], name) as theirs:
        for side in (ours, theirs):
            scenario(side)
    found = differences(ours.answers, theirs.answers)
    listed = DIFFERENCES.get(scenario.__name__, {})
    left, stale = unexpected(found, listed, {})
    assert not left
    assert not stale, "these no longer differ: take them out of the file"
    for why in dict.fromkeys(listed.values()):
        record_property(ON_PURPOSE, why)
