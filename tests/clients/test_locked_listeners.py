"""Real clients at listeners with locks: each connects by each protocol and mechanism, and
says the same as of Apache Kafka where it can't.

The gate has a cell of each kind. The whole table, and what clients say of a real Apache
Kafka with the same configuration, is for the night.
"""

import pytest

from tests.clients.java_tools import JavaTools
from tests.clients.locked import (
    CONNECTING,
    FAILING,
    locked_apache_kafka,
    locked_minikafka,
    make_keys,
)
from tests.clients.locked_clients import CLIENTS, missing, plainly


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("locked")
    make_keys(made)
    return made


@pytest.fixture(scope="module")
def minikafka(folder):
    with locked_minikafka(folder) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def apache_kafka(folder):
    with locked_apache_kafka(folder) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def java():
    with JavaTools() as tools:
        yield tools


@pytest.fixture
def words(request, client):
    """What the client says of a broker."""
    if missing(client):
        pytest.skip(f"no {missing(client)} here")

    def said(broker, how):
        if client == "java":
            return CLIENTS[client](request.getfixturevalue("java"), broker, how)
        return CLIENTS[client](broker, how)

    return said


# one of each kind, for the gate
SHORT = {
    ("kafka-python", "mutual TLS"),
    ("kafka-python", "SCRAM-SHA-512 at SASL_SSL"),
    ("kafka-python", "wrong name"),
    ("kafka-python", "wrong password of PLAIN"),
    ("confluent-kafka", "TLS"),
    ("confluent-kafka", "OAUTHBEARER at SASL_PLAINTEXT"),
    ("confluent-kafka", "SCRAM-SHA-256 at SASL_SSL"),
    ("confluent-kafka", "wrong authority"),
    ("confluent-kafka", "a plain client at TLS"),
    ("confluent-kafka", "a mechanism that is not enabled"),
    ("aiokafka", "PLAIN at SASL_SSL"),
    ("aiokafka", "wrong password of SCRAM"),
    ("aiokafka", "expired certificate"),
}


# librdkafka before 2.6.1, as in Debian's kcat, sends its nonce twice in the end (its
# pull request 4895): Apache Kafka 4 refuses that (CVE-2024-56128), and so do we
REFUSED_BY_BOTH = {("kcat", what) for what in CONNECTING if "SCRAM" in what}


def cells(tries):
    for client in CLIENTS:
        for what in tries:
            if (client, what) in REFUSED_BY_BOTH:
                continue
            marks = [] if (client, what) in SHORT else [pytest.mark.nightly]
            if client == "java":
                marks.append(pytest.mark.java)
            yield pytest.param(client, what, marks=marks)


@pytest.mark.parametrize(("client", "what"), list(cells(CONNECTING)))
def test_who_has_the_key_comes_in(minikafka, words, what):
    assert words(minikafka, CONNECTING[what]) == ""


@pytest.mark.parametrize(("client", "what"), list(cells(FAILING)))
def test_who_has_no_key_stays_outside(minikafka, words, what):
    said = words(minikafka, FAILING[what])
    assert said and "secret" not in said


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("what", [*CONNECTING, *FAILING])
def test_a_client_says_the_same_of_apache_kafka(minikafka, apache_kafka, words, what):
    how = {**CONNECTING, **FAILING}[what]
    ours, theirs = (plainly(words(each, how)) for each in (minikafka, apache_kafka))
    assert ours == theirs
