"""Real clients at listeners with locks: each connects by each protocol and mechanism, and
says the same as of Apache Kafka where it can't.

The gate has a cell of each kind. The whole table, and what clients say of a real Apache
Kafka with the same configuration, is for the night.
"""

import asyncio
import base64
import json
import logging
import re
import time
import warnings
from contextlib import ExitStack

import aiokafka
import confluent_kafka
import pytest
from aiokafka.abc import AbstractTokenProvider
from aiokafka.helpers import create_ssl_context
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafka import KafkaAdminClient
from kafka.net.sasl import oauth

from minikafka.server import keys
from minikafka.server.embedded import Served
from tests.clients.brokers import overrides
from tests.kafka import ApacheKafka, free_ports, java_tool

LISTENERS = {
    "PLAINTEXT": "PLAINTEXT",
    "SSL": "SSL",
    "MUTUAL": "SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SASL_SSL": "SASL_SSL",
    "EXPIRED": "SSL",
    "ELSEWHERE": "SSL",
}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
MODULE = "org.apache.kafka.common.security.{} required{};"
USERS = {"PLAIN": ("bob", "bob-secret"), "SCRAM-SHA-256": ("alice", "alice-secret")}
USERS["SCRAM-SHA-512"] = USERS["SCRAM-SHA-256"]
PATIENCE_S = 60


def stores(folder, listener=None):
    """The configs of keys in a folder, of one listener or of all."""
    prefix = f"listener.name.{listener.lower()}." if listener else ""
    return {
        f"{prefix}ssl.keystore.type": "PEM",
        f"{prefix}ssl.keystore.location": str(folder / "broker.pem"),
        f"{prefix}ssl.truststore.type": "PEM",
        f"{prefix}ssl.truststore.location": str(folder / "ca.pem"),
    }


def properties(folder, ports):
    """Of the broker under test and of Apache Kafka alike."""
    listeners = ",".join(
        f"{name}://localhost:{port}"
        for name, port in zip(LISTENERS, ports, strict=True)
    )
    found = {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": ",".join(
            f"{name}:{protocol}" for name, protocol in LISTENERS.items()
        ),
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "listener.name.mutual.ssl.client.auth": "required",
    }
    found |= stores(folder / "good") | stores(folder / "expired", "EXPIRED")
    found |= stores(folder / "elsewhere", "ELSEWHERE")
    for listener in ("sasl_plaintext", "sasl_ssl"):
        prefix = f"listener.name.{listener}."
        name, password = USERS["PLAIN"]
        found |= {
            f"{prefix}plain.sasl.jaas.config": MODULE.format(
                "plain.PlainLoginModule", f' user_{name}="{password}"'
            ),
            f"{prefix}oauthbearer.sasl.jaas.config": MODULE.format(
                "oauthbearer.OAuthBearerLoginModule", ""
            ),
        }
        for mechanism in ("scram-sha-256", "scram-sha-512"):
            found[f"{prefix}{mechanism}.sasl.jaas.config"] = MODULE.format(
                "scram.ScramLoginModule", ""
            )
    return found


def make_keys(folder):
    keys.make(folder / "good", ("localhost",))
    keys.make(folder / "expired", ("localhost",), expired=True)
    keys.make(folder / "elsewhere", wrong_name=True)
    keys.make(folder / "other", ("localhost",))


class Locked:
    """A broker with these listeners. port: of each, by name."""

    def __init__(self, folder, ports):
        self.folder = folder
        self.port = dict(zip(LISTENERS, ports, strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("locked")
    make_keys(made)
    return made


@pytest.fixture(scope="module")
def minikafka(folder):
    ports = free_ports(len(LISTENERS))
    with Served(options=overrides(properties(folder, ports))) as kafka:
        made = Locked(folder, ports)
        add_users(made)
        yield made
        said = kafka.said()
        assert "Traceback" not in said, said
        assert "secret" not in said, said


@pytest.fixture(scope="module")
def apache_kafka(folder):
    *ports, controller = free_ports(len(LISTENERS) + 1)
    given = properties(folder, ports)
    given["listeners"] += f",CONTROLLER://127.0.0.1:{controller}"
    given["listener.security.protocol.map"] += ",CONTROLLER:PLAINTEXT"
    # a store of Java's may not be empty of a password's name
    given["controller.quorum.voters"] = f"1@127.0.0.1:{controller}"
    given["inter.broker.listener.name"] = "PLAINTEXT"
    with ExitStack() as cleanup:
        kafka = ApacheKafka(given)
        kafka.port = ports[0]
        cleanup.enter_context(kafka)
        made = Locked(folder, ports)
        add_users(made)
        yield made


def add_users(broker):
    """The first users of SCRAM, over the listener without a lock."""
    name, password = USERS["SCRAM-SHA-256"]
    admin = AdminClient({"bootstrap.servers": f"localhost:{broker.port['PLAINTEXT']}"})
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        info = ScramCredentialInfo(mechanism, 4096)
        added = UserScramCredentialUpsertion(name, info, password.encode())
        for future in admin.alter_user_scram_credentials([added]).values():
            future.result(PATIENCE_S)


class Try:
    """How a client is to connect. protocol: what it takes the listener for. trusts,
    shows: folders of the authority that it trusts and of its own certificate.
    """

    def __init__(
        self,
        listener,
        protocol=None,
        mechanism=None,
        password=None,
        trusts="good",
        shows=None,
    ):
        self.listener = listener
        self.protocol = protocol or LISTENERS[listener]
        self.mechanism = mechanism
        self.user, self.password = USERS.get(mechanism, ("carol", ""))
        self.password = password or self.password
        self.trusts, self.shows = trusts, shows
        self.patience_ms = 30_000

    def ca(self, broker):
        return str(broker.folder / self.trusts / "ca.pem")

    def own(self, broker):
        return self.shows and str(broker.folder / self.shows / "client.pem")


def token():
    """One that nobody has signed, of carol."""
    claims = {"sub": "carol", "exp": time.time() + 3600, "iat": time.time() - 1}
    parts = [json.dumps(each).encode() for each in ({"alg": "none"}, claims)]
    return (
        ".".join(base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in parts)
        + "."
    )


# -- clients: "" if it connects, else what it says


def by_kafka_python(broker, how):
    class Provider(oauth.AbstractTokenProvider):
        def token(self):
            return token()

    given = {"security_protocol": how.protocol, "bootstrap_timeout_ms": how.patience_ms}
    if "SSL" in how.protocol:
        given |= {"ssl_cafile": how.ca(broker)}
        if how.shows:
            given |= {"ssl_certfile": how.own(broker), "ssl_keyfile": how.own(broker)}
    if how.mechanism == "OAUTHBEARER":
        given |= {"sasl_oauth_token_provider": Provider()}
    elif how.mechanism:
        given |= {
            "sasl_plain_username": how.user,
            "sasl_plain_password": how.password,
        }
    if how.mechanism:
        given["sasl_mechanism"] = how.mechanism
    said = Kept()
    logger = logging.getLogger("kafka")
    logger.addHandler(said)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            admin = KafkaAdminClient(
                bootstrap_servers=f"localhost:{broker.port[how.listener]}", **given
            )
        try:
            admin.list_topics()
        finally:
            admin.close()
    except Exception as error:
        return said.first or f"{type(error).__name__}: {error}"
    finally:
        logger.removeHandler(said)
    return ""


class Kept(logging.Handler):
    """The first error that a logger is told."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.first = ""

    def emit(self, record):
        self.first = self.first or record.getMessage()


def by_confluent_kafka(broker, how):
    said = []

    def heard(error):
        if (
            " error:" not in error.str()
        ):  # OpenSSL's own words, which come before or not
            said.append(error.str())

    given = {
        "bootstrap.servers": f"localhost:{broker.port[how.listener]}",
        "security.protocol": how.protocol,
        "error_cb": heard,
        "broker.address.family": "v4",
        "log_level": 0,
    }
    if "SSL" in how.protocol:
        given["ssl.ca.location"] = how.ca(broker)
        if how.shows:
            given["ssl.certificate.location"] = how.own(broker)
            given["ssl.key.location"] = how.own(broker)
    if how.mechanism == "OAUTHBEARER":
        given |= {
            "enable.sasl.oauthbearer.unsecure.jwt": True,
            "sasl.oauthbearer.config": "principal=carol",
        }
    elif how.mechanism:
        given |= {"sasl.username": how.user, "sasl.password": how.password}
    if how.mechanism:
        given["sasl.mechanism"] = how.mechanism
    client = confluent_kafka.Producer(given)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and not said:
        client.poll(0.05)
        try:
            client.list_topics(timeout=0.5)
            return ""
        except confluent_kafka.KafkaException:
            pass
    return said[0] if said else "nothing in a minute"


def by_aiokafka(broker, how):
    class Provider(AbstractTokenProvider):
        async def token(self):
            return token()

    given = {"security_protocol": how.protocol}
    if "SSL" in how.protocol:
        given["ssl_context"] = create_ssl_context(
            cafile=how.ca(broker), certfile=how.own(broker), keyfile=how.own(broker)
        )
    if how.mechanism == "OAUTHBEARER":
        given["sasl_oauth_token_provider"] = Provider()
    elif how.mechanism:
        given |= {
            "sasl_plain_username": how.user,
            "sasl_plain_password": how.password,
        }
    if how.mechanism:
        given["sasl_mechanism"] = how.mechanism
    said = Kept()
    logger = logging.getLogger("aiokafka")
    logger.addHandler(said)

    async def connect():
        client = aiokafka.AIOKafkaProducer(
            bootstrap_servers=f"localhost:{broker.port[how.listener]}",
            request_timeout_ms=5000,
            **given,
        )
        try:
            await client.start()
        finally:
            await client.stop()

    try:
        asyncio.run(asyncio.wait_for(connect(), PATIENCE_S))
    except Exception as error:
        return said.first or f"{type(error).__name__}: {error}"
    finally:
        logger.removeHandler(said)
    return ""


def by_java(broker, how):
    folder = broker.folder
    given = {
        "security.protocol": how.protocol,
        "default.api.timeout.ms": "8000",
        "request.timeout.ms": "4000",
    }
    if "SSL" in how.protocol:
        given |= {
            "ssl.truststore.type": "PKCS12",
            "ssl.truststore.location": folder / how.trusts / "truststore.p12",
            "ssl.truststore.password": keys.PASSWORD,
        }
        if how.shows:
            given |= {
                "ssl.keystore.type": "PKCS12",
                "ssl.keystore.location": folder / how.shows / "client.p12",
                "ssl.keystore.password": keys.PASSWORD,
                "ssl.key.password": keys.PASSWORD,
            }
    if how.mechanism:
        module, options = (
            "scram.ScramLoginModule",
            f' username="{how.user}" password="{how.password}"',
        )
        if how.mechanism == "PLAIN":
            module = "plain.PlainLoginModule"
        elif how.mechanism == "OAUTHBEARER":
            module = "oauthbearer.OAuthBearerLoginModule"
            options = f' unsecuredLoginStringClaim_sub="{how.user}"'
        given |= {
            "sasl.mechanism": how.mechanism,
            "sasl.jaas.config": MODULE.format(module, options),
        }
    config = folder / f"java-{time.monotonic_ns()}.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
    done = java_tool(
        "org.apache.kafka.tools.TopicCommand",
        *("--bootstrap-server", f"localhost:{broker.port[how.listener]}"),
        *("--command-config", str(config), "--list"),
    )
    if not done.returncode:
        return ""
    found = re.findall(
        r"^(?:Caused by: )?[\w.]+(?:Exception|Error): .*", done.stderr, re.M
    )
    return found[0] if found else done.stdout + done.stderr


CLIENTS = {
    "kafka-python": by_kafka_python,
    "confluent-kafka": by_confluent_kafka,
    "aiokafka": by_aiokafka,
    "java": by_java,
}
CONNECTING = {
    "plain": Try("PLAINTEXT"),
    "TLS": Try("SSL"),
    "mutual TLS": Try("MUTUAL", shows="good"),
} | {
    f"{mechanism} at {listener}": Try(listener, mechanism=mechanism)
    for listener in ("SASL_PLAINTEXT", "SASL_SSL")
    for mechanism in MECHANISMS
}
FAILING = {
    "wrong password of PLAIN": Try("SASL_SSL", mechanism="PLAIN", password="no"),
    "wrong password of SCRAM": Try(
        "SASL_SSL", mechanism="SCRAM-SHA-256", password="no"
    ),
    "wrong authority": Try("SSL", trusts="other"),
    "expired certificate": Try("EXPIRED", trusts="expired"),
    "wrong name": Try("ELSEWHERE", trusts="elsewhere"),
    "no certificate": Try("MUTUAL"),
    "unknown certificate": Try("MUTUAL", shows="other"),
    "a plain client at TLS": Try("SSL", "PLAINTEXT"),
    "a TLS client without TLS": Try("PLAINTEXT", "SSL"),
    "no login where one is asked for": Try("SASL_PLAINTEXT", "PLAINTEXT"),
    "a login where none is asked for": Try(
        "PLAINTEXT", "SASL_PLAINTEXT", mechanism="PLAIN"
    ),
}
for _how in FAILING.values():
    _how.patience_ms = 3_000
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
    ("aiokafka", "PLAIN at SASL_SSL"),
    ("aiokafka", "wrong password of SCRAM"),
    ("aiokafka", "expired certificate"),
}


def cells(tries):
    for client in CLIENTS:
        for what in tries:
            marks = [] if (client, what) in SHORT else [pytest.mark.nightly]
            if client == "java":
                marks.append(pytest.mark.java)
            yield pytest.param(client, what, marks=marks)


def plainly(said):
    """Words without what differs between any two runs, and without the alert's name:
    Java's TLS and OpenSSL have other ones for the same.
    """
    said = re.sub(r"<Kafka\w+ \[[^\]]*\]>", "", said)
    said = re.sub(r"error:\S+:SSL routines::\S+ alert .*", "ALERT", said)
    said = re.sub(r"localhost[:/]\S*|127\.0\.0\.1\S*|\[::1\]\S*", "HERE", said)
    said = re.sub(r"<[^>]*>|0x[0-9a-f]+|\(after \d+ms[^)]*\)", "", said)
    return re.sub(r"\d+", "N", said)


@pytest.mark.parametrize(("client", "what"), list(cells(CONNECTING)))
def test_who_has_the_key_comes_in(minikafka, client, what):
    assert CLIENTS[client](minikafka, CONNECTING[what]) == ""


@pytest.mark.parametrize(("client", "what"), list(cells(FAILING)))
def test_who_has_no_key_stays_outside(minikafka, client, what):
    said = CLIENTS[client](minikafka, FAILING[what])
    assert said and "secret" not in said


@pytest.mark.java
@pytest.mark.nightly
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("what", [*CONNECTING, *FAILING])
def test_a_client_says_the_same_of_apache_kafka(minikafka, apache_kafka, client, what):
    how = {**CONNECTING, **FAILING}[what]
    ours, theirs = (
        plainly(CLIENTS[client](each, how)) for each in (minikafka, apache_kafka)
    )
    assert ours == theirs
