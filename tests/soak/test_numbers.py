"""Every number that a request or a config can carry, at the ends of its type and beyond,
is refused or harmless. (What Apache Kafka refuses is compared in conformance/: the
scenarios `numbers` of configs and `quotas`.)
"""

import pytest

from minikafka.broker.config import BrokerConfig
from minikafka.broker.config_table import BROKER_CONFIGS, TABLES, is_read_only
from minikafka.cluster.metadata import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.messages import API
from tests.broker.node import Node
from tests.soak.clients import SERVED
from tests.soak.numbers import EveryNumber, ends, numbers, texts
from tests.soak.values import GROUPS, TOPICS

pytestmark = pytest.mark.slow

NO_NUMBERS = {"bool", "bytes", "records", "string", "uuid"}
RESOURCES = [
    (TOPIC_RESOURCE, TOPICS[0]),
    pytest.param(BROKER_RESOURCE, "", marks=pytest.mark.nightly),
    (BROKER_RESOURCE, "1"),
    (GROUP_RESOURCE, GROUPS[0]),
    (CLIENT_METRICS_RESOURCE, "subscription"),
]


def kinds(struct):
    found = set()
    for f in struct.fields:
        found |= kinds(f.struct) if f.struct else {f.type}
    return found


def test_each_type_of_a_field_is_a_number_with_ends_or_none():
    found = set().union(*(kinds(API[api].request.struct) for api in SERVED))
    assert found & NO_NUMBERS == NO_NUMBERS
    assert all(ends(kind) for kind in found - NO_NUMBERS)


@pytest.fixture
def node():
    node = EveryNumber()
    node.begin()
    return node


@pytest.mark.parametrize(
    "api",
    [
        api
        for api, versions in SERVED.items()
        if list(numbers(API[api].request.struct, versions[-1]))
    ],
)
def test_a_number_at_the_end_of_its_type_in_a_request_harms_nobody(node, api):
    """The request has an answer or waits for one, and no bug is met; an honest client
    goes on to write and to read, also after a restart.
    """
    node.every_number_of(api)
    node.end()


@pytest.mark.parametrize(("kind", "name"), RESOURCES)
def test_a_number_that_a_config_is_set_to_harms_nobody(node, kind, name):
    """Where it is not refused, clients go on under it."""
    verdicts = set()
    for config, row in sorted(TABLES[kind].items()):
        # one that may not change is refused whatever the number
        for text in texts(row)[: 1 if is_read_only(kind, row) else None]:
            verdicts.add(node.may_have(kind, name, config, text))
    assert verdicts == {True, False}
    node.end()


def starts_with(config, text):
    """Whether a broker may be started with it. Then a client writes and reads."""
    small = {"offsets.topic.num.partitions": "3"}
    properties = small | {config: text}
    try:
        BrokerConfig(properties=properties)
    except KafkaError:
        return False
    node = Node(**properties)
    node.create_topic("orders")
    node.send("FindCoordinator", 3, key="g", key_type=0)
    node.out()
    told = node.produce("orders", "x").error_code
    assert told in (Error.NONE, Error.MESSAGE_TOO_LARGE, Error.NOT_ENOUGH_REPLICAS)
    node.pass_time(1000)
    node.restart()
    assert node.broker.ready, node.broker.why_failed
    assert not [told.error for told in node.out() if told.error]
    assert node.values("orders") == ([] if told else ["x"])
    return True


def test_a_number_that_a_broker_is_started_with_harms_nobody():
    """Of the numbers that it takes the first and the last are tried."""
    for config, row in sorted(BROKER_CONFIGS.items()):
        if row.effect:
            continue
        taken = []
        for text in texts(row):
            try:
                BrokerConfig(properties={config: text})
            except KafkaError:
                continue
            taken.append(text)
        for text in {*taken[:1], *taken[-1:]}:
            assert starts_with(config, text)
