"""Every command of the page "error, cause, command" is run, on minikafka and on Apache
Kafka, or read by the program whose command it is.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig

import pytest
from kafka import KafkaConsumer, KafkaProducer

from minikafka.__main__ import parser
from minikafka.course.errors import entries
from minikafka.server.embedded import Served
from tests.clients.test_tools import Tools
from tests.course.errors_brokers import with_locks
from tests.course.provoking import tool_name
from tests.kafka import BOTH, ApacheKafka, java_tool

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
TOPIC, GROUP, TRANSACTIONAL_ID = "orders", "billing", "payments"
ANSWERED = "--bootstrap-server localhost:9092"
COMMANDS = sorted(
    {
        command.split(" | ")[0]
        for entry in entries()
        for cause in entry.causes
        for command in (cause.shows, cause.mends, cause.then)
        if command
    }
)
# they need the broker with locks
LOCKED = [
    command
    for command in COMMANDS
    if command.startswith("kafka-acls.sh") or "--command-config" in command
]
TOOLS = [
    command for command in COMMANDS if ANSWERED in command and command not in LOCKED
]
OURS = [command for command in COMMANDS if "minikafka " in command] + [
    entry.server.minikafka
    for entry in entries()
    if entry.server and entry.server.minikafka
]
OTHERS = sorted(set(COMMANDS) - {*TOOLS, *OURS, *LOCKED})
# how each of them tells its options; this machine may lack some
HELPS = {
    "curl": ["curl", "--help", "all"],
    "date": ["date", "--help"],
    "docker compose": [
        str(sysconfig.get_path("scripts") + "/docker-compose"),
        "{}",
        "--help",
    ],
    "docker volume": None,
    "env": ["env", "--help"],
    "getent": ["getent", "--help"],
    "grep": ["grep", "--help"],
    "java": ["java", "-help"],
    "ls": ["ls", "--help"],
    "kcat": ["kcat", "-h"],
    "lsof": ["lsof", "-h"],
    "mv": ["mv", "--help"],
    "nc": ["nc", "-h"],
    "openssl": ["openssl", "{}", "-help"],
    "pip": [sys.executable, "-m", "pip", "{}", "--help"],
    "ps": None,
    "python3": [sys.executable, "--help"],
    "spark-submit": None,
}


@pytest.fixture(scope="module")
def tools():
    with Tools() as java:
        yield java


@pytest.fixture(
    scope="module",
    params=BOTH,
)
def broker(request):
    """One that knows the topic, the group and the transactional id of the page."""
    if request.param == "minikafka":
        with Served() as served:
            yield with_orders(served.bootstrap)
    else:
        with ApacheKafka() as apache:
            yield with_orders(apache.bootstrap)


def with_orders(bootstrap):
    producer = KafkaProducer(
        bootstrap_servers=bootstrap, transactional_id=TRANSACTIONAL_ID
    )
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(TOPIC, b"one").get()
    producer.commit_transaction()
    producer.close()
    consumer = KafkaConsumer(
        TOPIC,
        bootstrap_servers=bootstrap,
        group_id=GROUP,
        auto_offset_reset="earliest",
    )
    next(consumer)
    consumer.commit()
    consumer.close()
    return bootstrap


@pytest.mark.java
@pytest.mark.parametrize("command", TOOLS)
def test_a_tool_of_apache_kafka_does_what_it_is_told(command, broker, tools):
    program, *words = shlex.split(command.replace("localhost:9092", broker))
    done = tools.run(tool_name(program), words)
    assert done["exit"] == 0, done
    assert "Exception" not in done["err"] and "Error:" not in done["out"], done


@pytest.mark.parametrize("command", sorted(set(OURS)))
def test_a_command_of_ours_is_one(command):
    words = shlex.split(command.partition("minikafka ")[2])
    parser().parse_args(words)


def test_the_doctor_finds_an_address_that_leads_nowhere():
    shows = "MINIKAFKA_BOOTSTRAP=localhost:9092 minikafka doctor"
    [look] = {
        cause.look
        for entry in entries()
        for cause in entry.causes
        if cause.shows == shows
    }
    with Served(options=("--advertised-host", "kafka.invalid")) as served:
        port = served.bootstrap.rpartition(":")[2]
        done = subprocess.run(
            [sys.executable, "-m", "minikafka", "doctor"],
            env={**os.environ, "MINIKAFKA_BOOTSTRAP": f"127.0.0.1:{port}"},
            capture_output=True,
            text=True,
            check=False,
        )
    pattern = ".*".join(map(re.escape, look.split("…")))
    assert re.search(pattern, done.stdout), done.stdout
    assert 'minikafka error "its message"' in done.stdout


@pytest.mark.java
def test_the_storage_tool_tells_the_cluster_id_of_a_folder(tmp_path):
    config = tmp_path / "server.properties"
    config.write_text(
        "process.roles=broker,controller\nnode.id=1\n"
        "controller.quorum.voters=1@localhost:9093\n"
        "listeners=PLAINTEXT://:9092,CONTROLLER://:9093\n"
        f"controller.listener.names=CONTROLLER\nlog.dirs={tmp_path / 'data'}\n"
    )
    storage = "kafka.tools.StorageTool"
    cluster_id = "MkU3OEVBNTcwNTJENDM2Qg"
    java_tool(storage, "format", "--cluster-id", cluster_id, "--config", str(config))
    [command] = [command for command in OTHERS if "storage" in command]
    words = command.replace("server.properties", str(config)).split()[1:]
    done = java_tool(storage, *words)
    assert done.returncode == 0 and f"cluster.id={cluster_id}" in done.stdout


@pytest.mark.parametrize("command", [each for each in OTHERS if "storage" not in each])
def test_what_another_program_is_told_it_understands(command):
    """By its own help; a program that this machine lacks is left out."""
    program, *words = shlex.split(command)
    if program == "docker":
        program = f"{program} {words.pop(0)}"
    helps = HELPS[program]
    if helps is None or not shutil.which(helps[0]):
        return
    asked = [word.format(words[0] if words else "") for word in helps]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    for option in (word for word in words if word.startswith("-")):
        is_told = option in said or all(f"-{letter}" in said for letter in option[1:])
        assert is_told, said


@pytest.fixture(scope="module", params=BOTH)
def locked(request, tmp_path_factory):
    with with_locks(request.param, tmp_path_factory.mktemp("locks")) as here:
        with_orders(here.address)
        yield here


@pytest.mark.java
@pytest.mark.parametrize("command", LOCKED)
def test_a_tool_that_asks_about_locks_does_what_it_is_told(command, locked, tools):
    client = locked.folder / "client.properties"
    client.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config="
        "org.apache.kafka.common.security.plain.PlainLoginModule required"
        ' username="alice" password="secret";\n'
    )
    text = locked.here(command).replace(locked.topic, TOPIC)
    program, *words = shlex.split(text.replace("client.properties", str(client)))
    done = tools.run(tool_name(program), words)
    assert done["exit"] == 0, done
    assert "Exception" not in done["err"] and "Error" not in done["out"], done
