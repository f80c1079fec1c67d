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
TOOLS = [command for command in COMMANDS if ANSWERED in command]
OURS = [command for command in COMMANDS if "minikafka " in command] + [
    entry.server.minikafka for entry in entries() if entry.server
]
OTHERS = sorted(set(COMMANDS) - set(TOOLS) - set(OURS))


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


def test_what_other_programs_are_told_they_understand():
    """By their own help; a program that this machine lacks is left out."""
    compose = str(sysconfig.get_path("scripts") + "/docker-compose")
    helps = {
        "docker compose down --volumes": ([compose, "down", "--help"], "--volumes"),
        "docker volume ls": (None, ""),
        "getent hosts kafka": (["getent", "--help"], "getent"),
        "nc -vz localhost 9092": (["nc", "-h"], "-z"),
        "openssl s_client -connect localhost:9092 -brief": (
            ["openssl", "s_client", "-help"],
            "-brief",
        ),
    }
    assert {*helps} == {command for command in OTHERS if "storage" not in command}
    for command, option in helps.values():
        if command and shutil.which(command[0]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert option in done.stdout + done.stderr
