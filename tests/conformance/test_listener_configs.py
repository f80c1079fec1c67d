"""The configs of single listeners (KIP-103, KIP-226): described and changed by minikafka as
by Apache Kafka.
"""

import pytest

from minikafka.wire.errors import Error
from tests.clients.locked import locked_apache_kafka, locked_minikafka, make_keys
from tests.conformance.raw import Connection
from tests.kafka import BOTH, MINIKAFKA

pytestmark = pytest.mark.slow

BROKER, SET = 4, 0
DYNAMIC, STATIC, DEFAULT = 2, 4, 5  # sources
STRING, INT, PASSWORD = 2, 3, 9  # types
OF_MUTUAL = "listener.name.mutual.ssl.client.auth"
OF_TLS = "listener.name.ssl.{}"
OF_LOGIN = "listener.name.sasl_ssl.{}"
OF_PLAIN = OF_LOGIN.format("plain.sasl.jaas.config")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("locked")
    make_keys(made)
    return made


@pytest.fixture(scope="module")
def ours(folder):
    with locked_minikafka(folder) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def theirs(folder):
    with locked_apache_kafka(folder) as kafka:
        yield kafka


@pytest.fixture(params=BOTH)
def broker(request):
    of = "ours" if request.param == MINIKAFKA else "theirs"
    return request.getfixturevalue(of)


def described(broker, names=None):
    """Config -> what is told of it."""
    resource = {
        "resource_type": BROKER,
        "resource_name": "1",
        "configuration_keys": names,
    }
    with Connection(broker.at("PLAINTEXT")) as connection:
        answer = connection.ask(
            "DescribeConfigs", 4, resources=[resource], include_synonyms=True
        )
    [result] = answer.results
    assert not result.error_code, result
    return {config.name: config.to_dict() for config in result.configs}


def levels(told):
    return [(each["name"], each["value"], each["source"]) for each in told["synonyms"]]


def set_to(broker, name, value, of, only_check=True):
    """The error's number. of: the broker; "" is all of them."""
    asked = {
        "resource_type": BROKER,
        "resource_name": of,
        "configs": [{"name": name, "config_operation": SET, "value": value}],
    }
    with Connection(broker.at("PLAINTEXT")) as connection:
        answer = connection.ask(
            "IncrementalAlterConfigs", 1, resources=[asked], validate_only=only_check
        )
    return answer.responses[0].error_code


@pytest.mark.java
@pytest.mark.nightly
def test_all_configs_of_locks_are_described_as_by_apache_kafka(ours, theirs):
    told, told_there = (
        {
            name: config
            for name, config in described(broker).items()
            if name.startswith(("listener.name.", "ssl.", "sasl."))
        }
        for broker in (ours, theirs)
    )
    assert told == told_there


def test_a_listeners_config_comes_before_the_one_of_all_listeners(broker):
    told = described(broker, [OF_MUTUAL])[OF_MUTUAL]
    assert (told["value"], told["config_type"]) == ("required", STRING)
    assert told["read_only"] and not told["is_sensitive"]
    assert levels(told) == [
        (OF_MUTUAL, "required", STATIC),
        ("ssl.client.auth", "none", DEFAULT),
    ]


def test_of_a_password_in_a_listeners_config_nobody_is_told_more_than_its_name(broker):
    told = described(broker, [OF_PLAIN])[OF_PLAIN]
    assert (told["value"], told["config_type"]) == (None, PASSWORD)
    assert told["is_sensitive"] and levels(told) == [(OF_PLAIN, None, STATIC)]


def test_a_listeners_config_that_is_set_at_run_time_is_told_as_such(broker):
    name = OF_TLS.format("max.connections")
    assert not set_to(broker, name, "500", "1", only_check=False)
    told = {}
    while name not in told:  # Apache Kafka's broker learns of it a little later
        told = described(broker, [name])
    assert (told[name]["value"], told[name]["config_type"]) == ("500", INT)
    assert levels(told[name]) == [
        (name, "500", DYNAMIC),
        ("max.connections", "2147483647", DEFAULT),
    ]


@pytest.mark.parametrize(
    ("name", "value", "of_one_is_fine", "of_all_is_fine"),
    [
        (OF_TLS.format("ssl.client.auth"), "none", True, False),
        (OF_TLS.format("ssl.client.auth"), "maybe", False, False),
        (OF_LOGIN.format("connections.max.reauth.ms"), "5", True, False),
        (OF_LOGIN.format("connections.max.reauth.ms"), "x", False, False),
        (OF_LOGIN.format("plain.connections.max.reauth.ms"), "x", False, False),
        (OF_TLS.format("max.connections"), "5", True, True),
        (OF_TLS.format("max.connections"), "x", False, False),
        (OF_TLS.format("max.connection.creation.rate"), "5", True, True),
        (OF_TLS.format("num.network.threads"), "5", True, True),
        (OF_TLS.format("no.such.config"), "5", True, False),
    ],
)
def test_each_broker_has_its_own_listeners_but_their_limits_may_be_of_all(
    broker, name, value, of_one_is_fine, of_all_is_fine
):
    answers = [
        0 if is_fine else Error.INVALID_REQUEST
        for is_fine in (of_one_is_fine, of_all_is_fine)
    ]
    assert [set_to(broker, name, value, of) for of in ("1", "")] == answers
