"""What `minikafka keys` prints works as it is printed: for the broker, and for each
client.
"""

import asyncio
import re
import shlex
import subprocess
import sys
import textwrap

import aiokafka
import confluent_kafka
import kafka
import pytest

from minikafka.server.embedded import Served
from tests.kafka import free_ports, java_tool

pytestmark = pytest.mark.slow

PASSWORD = "alice-secret"


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys") / "made"
    command = [sys.executable, "-m", "minikafka", "keys", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def printed(text):
    return with_a_free_port(text)


def with_a_free_port(text):
    [port] = free_ports(1)
    return text.replace("9093", str(port))


@pytest.fixture(scope="module")
def broker(printed):
    with Served(options=options(printed)) as kafka:
        yield kafka
        assert "Traceback" not in kafka.said(), kafka.said()


def options(printed):
    """Of `minikafka serve`."""
    command = re.search(r"minikafka serve (.*?)\n\n", printed, re.DOTALL)[1]
    return tuple(shlex.split(command.replace("\\\n", " ")))


def block(printed, title):
    """The indented lines under a title."""
    found = re.search(rf"^{title}.*:\n((?:  .*\n)+)", printed, re.MULTILINE)[1]
    return textwrap.dedent(found)


def configs(printed, title):
    lines = block(printed, title).splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_kafka_python(broker, printed):
    code = block(printed, "kafka-python and aiokafka")
    [producer] = re.findall(r"KafkaProducer\(.*?\)", code, re.DOTALL)
    with eval(producer, {"KafkaProducer": kafka.KafkaProducer}) as producer:
        assert producer.send("orders", b"order").get(60).topic == "orders"


def test_aiokafka(broker, printed):
    code = block(printed, "kafka-python and aiokafka")
    [statements] = re.findall(r"from aiokafka.*", code, re.DOTALL)
    names = {}
    exec(statements, names)

    async def write():
        async with aiokafka.AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap,
            security_protocol="SSL",
            ssl_context=names["ssl_context"],
        ) as producer:
            return await producer.send_and_wait("orders", b"order")

    assert asyncio.run(write()).topic == "orders"


def test_librdkafka(broker, printed):
    producer = confluent_kafka.Producer(configs(printed, "confluent-kafka"))
    producer.produce("orders", b"order")
    assert producer.flush(60) == 0


@pytest.mark.java
@pytest.mark.nightly
def test_kafkas_tools(broker, printed, tmp_path):
    file = tmp_path / "client.properties"
    file.write_text(block(printed, "Java"))
    done = java_tool(
        "org.apache.kafka.tools.TopicCommand",
        *("--bootstrap-server", broker.bootstrap),
        *("--command-config", str(file), "--list"),
    )
    assert not done.returncode, done.stdout + done.stderr


def test_a_password_instead_of_the_clients_certificate(text):
    printed = with_a_free_port(text)

    def said(pattern):
        return re.search(pattern, printed)[0].replace("...", PASSWORD)

    own, of_client = options(printed), "ssl.client.auth=required"
    at = own.index(of_client)
    own = own[: at - 1] + own[at + 1 :]
    own = tuple(
        said(r"listeners=SASL_SSL://localhost:\d+") if "listeners=" in each else each
        for each in own
    )
    mechanisms = said(r"sasl.enabled.mechanisms=[\w-]+")
    add_user = shlex.split(said(r"--add-scram '.*?'"))
    with Served(options=(*own, "--override", mechanisms, *add_user)) as broker:
        given = configs(printed, "confluent-kafka")
        for name in ("ssl.certificate.location", "ssl.key.location"):
            del given[name]
        for pattern in (r"security.protocol=SASL_SSL", r"sasl.mechanism=[\w-]+"):
            name, value = said(pattern).split("=")
            given[name] = value
        user = re.search(r"name=(\w+)", add_user[1])[1]
        given |= {"sasl.username": user, "sasl.password": PASSWORD}
        producer = confluent_kafka.Producer(given)
        producer.produce("orders", b"order")
        assert producer.flush(60) == 0
        assert PASSWORD not in broker.said()
