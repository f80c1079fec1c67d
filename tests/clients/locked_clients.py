"""Real clients that try to come in at a listener with a lock (locked.py): by_...() is ""
where one does, else what it says.
"""

import asyncio
import json
import logging
import os
import re
import shutil
import subprocess
import time
import warnings
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import aiokafka
import confluent_kafka
from aiokafka.abc import AbstractTokenProvider
from aiokafka.helpers import create_ssl_context
from kafka import KafkaAdminClient
from kafka.net.sasl import oauth

from minikafka.server import keys
from tests.clients.locked import MODULE, PATIENCE_S, token

GO_PROGRAMS = Path(__file__).resolve().parents[1] / "sessions" / "franz_go"


class Kept(logging.Handler):
    """The errors that a logger is told."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.said = []

    def emit(self, record):
        self.said.append(record.getMessage())

    @property
    def first(self):
        """ "" if there is none. That the broker hung up, kafka-python says before it says
        why, or after it: that counts where it is all.
        """
        why = [each for each in self.said if not each.endswith("socket disconnected")]
        return (why or self.said or [""])[0]


# --- kafka-python ---


class PythonsTokens(oauth.AbstractTokenProvider):
    def token(self):
        return token()


def of_kafka_python(broker, how):
    """The configs of a client."""
    given = {
        "bootstrap_servers": broker.at(how.listener),
        "security_protocol": how.protocol,
        "bootstrap_timeout_ms": how.patience_ms,
    }
    if "SSL" in how.protocol:
        given |= {"ssl_cafile": how.ca(broker)}
        if how.shows:
            given |= {"ssl_certfile": how.own(broker), "ssl_keyfile": how.own(broker)}
    if how.mechanism == "OAUTHBEARER":
        given |= {"sasl_oauth_token_provider": PythonsTokens()}
    elif how.mechanism:
        given |= {
            "sasl_plain_username": how.user,
            "sasl_plain_password": how.password,
        }
    if how.mechanism:
        given["sasl_mechanism"] = how.mechanism
    return given


def by_kafka_python(broker, how):
    said = Kept()
    logger = logging.getLogger("kafka")
    logger.addHandler(said)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            admin = KafkaAdminClient(**of_kafka_python(broker, how))
        try:
            admin.list_topics()
        finally:
            admin.close()
    except Exception as error:
        return said.first or f"{type(error).__name__}: {error}"
    finally:
        logger.removeHandler(said)
    return ""


# --- librdkafka ---


def of_librdkafka(broker, how):
    given = {
        "bootstrap.servers": broker.at(how.listener),
        "security.protocol": how.protocol,
        "broker.address.family": "v4",
    }
    if "SSL" in how.protocol:
        given["ssl.ca.location"] = how.ca(broker)
        if how.shows:
            given["ssl.certificate.location"] = how.own(broker)
            given["ssl.key.location"] = how.own(broker)
    if how.mechanism == "OAUTHBEARER":
        given |= {
            "enable.sasl.oauthbearer.unsecure.jwt": "true",
            "sasl.oauthbearer.config": "principal=carol",
        }
    elif how.mechanism:
        given |= {"sasl.username": how.user, "sasl.password": how.password}
    if how.mechanism:
        given["sasl.mechanism"] = how.mechanism
    return given


def by_confluent_kafka(broker, how):
    said = []

    def heard(error):
        if (
            " error:" not in error.str()
        ):  # OpenSSL's own words, which come before or not
            said.append(error.str())

    given = {**of_librdkafka(broker, how), "error_cb": heard, "log_level": 0}
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


def kcat(broker, how, *args, input=""):
    """Runs kcat. Its errors come on standard error, with librdkafka's log."""
    configs = [
        word
        for name, value in of_librdkafka(broker, how).items()
        for word in ("-X", f"{name}={value}")
    ]
    # it reads $KCAT_CONFIG or a file at home
    environment = {**os.environ, "KCAT_CONFIG": os.devnull}
    return subprocess.run(
        ["kcat", *configs, *args],
        input=input,
        capture_output=True,
        text=True,
        env=environment,
        timeout=PATIENCE_S,
        check=False,
    )


def by_kcat(broker, how):
    done = kcat(broker, how, "-L", "-m", "5")
    if not done.returncode:
        return ""
    failed = re.findall(
        r"^%\d\|[^|]*\|FAIL\|[^|]*\| \[[^\]]*\]: (.*)", done.stderr, re.M
    )
    return failed[0] if failed else done.stderr


# --- aiokafka ---


class AiosTokens(AbstractTokenProvider):
    async def token(self):
        return token()


def of_aiokafka(broker, how):
    """The configs of a client, to be made where a loop runs."""
    given = {
        "bootstrap_servers": broker.at(how.listener),
        "security_protocol": how.protocol,
    }
    if "SSL" in how.protocol:
        given["ssl_context"] = create_ssl_context(
            cafile=how.ca(broker), certfile=how.own(broker), keyfile=how.own(broker)
        )
    if how.mechanism == "OAUTHBEARER":
        given["sasl_oauth_token_provider"] = AiosTokens()
    elif how.mechanism:
        given |= {
            "sasl_plain_username": how.user,
            "sasl_plain_password": how.password,
        }
    if how.mechanism:
        given["sasl_mechanism"] = how.mechanism
    return given


def by_aiokafka(broker, how):
    said = Kept()
    logger = logging.getLogger("aiokafka")
    logger.addHandler(said)

    async def connect():
        client = aiokafka.AIOKafkaProducer(
            request_timeout_ms=5000, **of_aiokafka(broker, how)
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


# --- Java ---


def of_java(broker, how):
    given = {
        "bootstrap.servers": broker.at(how.listener),
        "security.protocol": how.protocol,
    }
    if "SSL" in how.protocol:
        given |= {
            "ssl.truststore.type": "PKCS12",
            "ssl.truststore.location": str(
                broker.folder / how.trusts / "truststore.p12"
            ),
            "ssl.truststore.password": keys.PASSWORD,
        }
        if how.shows:
            given |= {
                "ssl.keystore.type": "PKCS12",
                "ssl.keystore.location": str(broker.folder / how.shows / "client.p12"),
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
    return given


def in_java(java, given):
    """Configs as Java's clients take them."""
    found = java.gateway.jvm.java.util.HashMap()
    for name, value in given.items():
        found.put(name, value)
    return found


def words_of(error):
    """What an exception of Java says, with its causes, the last one first."""
    said = []
    while error is not None:
        said.append(f"{error.getClass().getSimpleName()}: {error.getMessage()}")
        error = error.getCause()
    return " in ".join(reversed(said))


def by_java(java, broker, how):
    """java: a JavaTools."""
    from py4j.protocol import Py4JJavaError

    given = of_java(broker, how) | {
        "default.api.timeout.ms": str(max(8_000, how.patience_ms)),
        "request.timeout.ms": "4000",
    }
    admins = java.gateway.jvm.org.apache.kafka.clients.admin.Admin
    try:
        admin = admins.create(in_java(java, given))
        try:
            admin.listTopics().names().get()
        finally:
            admin.close()
    except Py4JJavaError as error:
        return words_of(error.java_exception)
    return ""


# --- franz-go ---


@cache
def go_program():
    """The path of tests/sessions/franz_go/connect, compiled."""
    where = str(Path(mkdtemp(prefix="franz-go-")) / "connect")
    command = ["go", "build", "-o", where, "./connect"]
    subprocess.run(command, cwd=GO_PROGRAMS, check=True)
    return where


def by_franz_go(broker, how):
    given = {
        "Bootstrap": broker.at(how.listener),
        "Protocol": how.protocol,
        "Mechanism": how.mechanism,
        "User": how.user,
        "Password": how.password,
        "Token": token(),
        "CA": how.ca(broker),
        "Own": how.own(broker) or "",
        "PatienceMs": how.patience_ms,
    }
    done = subprocess.run(
        [go_program()],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    return done.stdout.strip()


def missing(client):
    """The command that this client needs and this machine lacks, or ""."""
    command = {"kcat": "kcat", "franz-go": "go"}.get(client)
    return command if command and shutil.which(command) is None else ""


CLIENTS = {
    "kafka-python": by_kafka_python,
    "confluent-kafka": by_confluent_kafka,
    "aiokafka": by_aiokafka,
    "kcat": by_kcat,
    "franz-go": by_franz_go,
    "java": by_java,
}


def plainly(said):
    """Words without what differs between any two runs, and without the alert's name:
    Java's TLS and OpenSSL have other ones for the same.
    """
    said = re.sub(r"<Kafka\w+ \[[^\]]*\]>", "", said)
    said = re.sub(r"error:\S+:SSL routines::\S+ alert .*", "ALERT", said)
    # what librdkafka adds to OpenSSL's words, or doesn't
    said = said.replace("SSL handshake failed: error", "error")
    said = re.sub(r"(:SSL routines::[\w ]+): broker certificate.*", r"\1 ", said)
    said = re.sub(r"Received fatal alert: \w+", "ALERT", said)
    said = re.sub(r"remote error: tls: .*", "ALERT", said)
    said = re.sub(r"localhost[:/]\S*|127\.0\.0\.1\S*|\[::1\]\S*", "HERE", said)
    said = re.sub(r"<[^>]*>|0x[0-9a-f]+|\(after \d+ms[^)]*\)", "", said)
    return re.sub(r"\d+", "N", said)
