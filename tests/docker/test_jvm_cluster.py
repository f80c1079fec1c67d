"""The brokers of docker/compose.yaml, run: three copies of every record, and nothing
left when they stop.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import ConfigResource
from kafka.errors import KafkaError

from minikafka.course import connect
from minikafka.course.clusters import compose
from minikafka.course.clusters.jvm_cluster import (
    JvmCluster,
    NotStarted,
    is_taken,
    knows_all,
)
from minikafka.course.places import NOTEBOOKS
from tests.clients.brokers import until
from tests.kafka import SMALL_JVM, an_address, free_ports, kafka_jars
from tests.notebooks.running import BOOKS, code_cells, kernel_for, read, shown
from tests.notebooks.test_cheat_sheet import TOOLS as SCRIPTS

pytestmark = [pytest.mark.first, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def cluster():
    with JvmCluster(an_address(), jvm=SMALL_JVM) as running:
        yield running


def produced(cluster, topic, values, **configs):
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap, acks="all", **configs)
    sent = [producer.send(topic, value=value) for value in values]
    found = [each.get(timeout=120) for each in sent]
    producer.close()
    return found


def described(admin, name, partitions):
    """The topic, as a broker tells it that has heard of it."""

    def told():
        return admin.describe_topics([name])[0]

    until(lambda: len(told()["partitions"]) == partitions)
    return told()


@pytest.mark.nightly
@pytest.mark.java
def test_a_topic_has_three_copies_and_is_written_and_read(cluster):
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    admin.create_topics({"orders": {"num_partitions": 3, "replication_factor": 3}})
    admin.wait_for_topics(["orders"], 120_000)
    topic = described(admin, "orders", 3)
    assert all(
        sorted(partition["replica_nodes"]) == [1, 2, 3]
        for partition in topic["partitions"]
    )
    admin.close()
    values = [b"order %d" % number for number in range(100)]
    produced(cluster, "orders", values)
    consumer = KafkaConsumer(
        "orders",
        bootstrap_servers=cluster.bootstrap,
        auto_offset_reset="earliest",
        group_id="a",
    )
    assert sorted(next(consumer).value for _ in values) == sorted(values)
    consumer.close()


@pytest.mark.nightly
@pytest.mark.java
def test_what_the_environment_says_is_what_the_brokers_do(cluster):
    """Through the image's own translator; and where a topic says nothing it gets three
    copies, two of them in sync.
    """
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    produced(cluster, "nobody-made-it", [b"hello"])
    topic = described(admin, "nobody-made-it", 1)
    assert [len(partition["replica_nodes"]) for partition in topic["partitions"]] == [3]
    for broker in cluster.brokers:
        node = broker.environment["KAFKA_NODE_ID"]
        found = admin.describe_configs(
            [ConfigResource("BROKER", node)], config_filter="all"
        )["broker"][node]
        settings = {
            name.removeprefix("KAFKA_").lower().replace("_", "."): name
            for name in broker.environment
        }
        asked = {
            key: broker.environment[name]
            for key, name in settings.items()
            if key in found and key != "log.dirs"
        }
        assert {key: found[key]["value"] for key in asked} == asked
        assert {
            "listeners",
            "default.replication.factor",
            "min.insync.replicas",
            "node.id",
        } <= set(asked)
    admin.close()


@pytest.mark.nightly
@pytest.mark.java
def test_the_health_check_of_each_broker_succeeds_where_it_listens_and_fails_elsewhere(
    cluster,
):
    """Docker runs it in the container; here it runs with this machine's address for the
    broker's name.
    """
    [nobody] = free_ports(1)
    for broker in cluster.brokers:
        *words, look = broker.health
        here = look.replace(broker.name, cluster.address)
        elsewhere = re.sub(r"\d+$", str(nobody), here)
        assert subprocess.run([*words, here], check=False).returncode == 0
        failed = subprocess.run([*words, elsewhere], capture_output=True, check=False)
        assert failed.returncode != 0


@pytest.mark.nightly
@pytest.mark.java
def test_a_second_cluster_says_which_port_is_taken(cluster):
    with pytest.raises(
        NotStarted, match=r"port 19091 of 127\.\S+, which kafka-1 wants, is taken"
    ) as raised:
        JvmCluster(cluster.address).start()
    assert f"MINIKAFKA_BOOTSTRAP={cluster.bootstrap}" in str(raised.value)


def at_work():
    """The commands at the end of "In a terminal", as words."""
    text = (NOTEBOOKS / "04_extra_in_a_terminal.ipynb").read_text(encoding="utf-8")
    cells = ["".join(cell["source"]) for cell in json.loads(text)["cells"]]
    block = re.search(r"## At work.*?```\n(.*?)```", cells[-1], re.DOTALL)[1]
    return [shlex.split(line) for line in block.splitlines()]


@pytest.mark.nightly
@pytest.mark.java
def test_the_commands_of_a_terminal_run_one_after_another(cluster):
    said = {}
    for script, *words in at_work():
        here = [
            {"H": cluster.bootstrap, "10000": "120000"}.get(word, word)
            for word in words
        ]
        if script == "kafka-console-consumer.sh":
            # its group's coordinator is only being made, which may take its time
            here += ["--max-messages", "1"]
        command = cluster._java(kafka_jars(), SCRIPTS[script], *here)
        done = subprocess.run(
            command, input="alice:paid\n", capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (
            f"{script} {' '.join(words)}: {done.stdout}{done.stderr}"
        )
        said[script] = done.stdout
    assert "payments:" in said["kafka-get-offsets.sh"]
    assert "paid" in said["kafka-console-consumer.sh"]
    assert "audit" in said["kafka-consumer-groups.sh"]


def topics_on(cluster):
    """Without those that Kafka makes for itself: the first group that commits leaves
    __consumer_offsets behind.
    """
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    found = {name for name in admin.list_topics() if not name.startswith("__")}
    admin.close()
    return found


def processes_of(scratch):
    """Those that were started with this folder as the place for temporary files."""
    running = psutil.process_iter(["environ"])
    return [
        process
        for process in running
        if (process.info["environ"] or {}).get("TMPDIR") == str(scratch)
    ]


@pytest.mark.nightly
@pytest.mark.java
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("path", [lesson for lesson in BOOKS if lesson.id >= "16"])
def test_a_lesson_shows_the_same_on_three_brokers_and_leaves_nothing_behind(
    cluster, monkeypatch, tmp_path, path
):
    """What is stored was seen on minikafka. Only the line that names the cluster
    differs, as it should.
    """
    monkeypatch.setenv(connect.VARIABLE, cluster.bootstrap)
    for name in ("TMPDIR", "SPARK_LOCAL_DIRS"):
        monkeypatch.setenv(name, str(tmp_path))
    java_options = (
        f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} -Djava.io.tmpdir={tmp_path}"
    )
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", java_options.strip())
    before, book = topics_on(cluster), read(path)
    stored = {cell.id: shown(cell) for _, cell in code_cells(book)}
    with kernel_for(book) as client:
        for at, cell in code_cells(book):
            client.execute_cell(cell, at)
            here = [
                (kind, text.replace(connect.NAMED, connect.OWN))
                for kind, text in shown(cell)
            ]
            if "nbval-ignore-output" not in cell.metadata.get("tags", []):
                assert here == stored[cell.id], cell.id
        started = processes_of(tmp_path)
    _, alive = psutil.wait_procs(started, timeout=120)
    assert started and not alive
    # each broker hears of it in its own time
    until(lambda: topics_on(cluster) == before, f"only {before} are there")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.nightly
@pytest.mark.java
def test_with_one_broker_dead_writes_go_on_with_two_dead_they_fail_and_each_death_is_told_once(
    cluster,
):
    """The last test of this cluster: nobody mends it. What broker 1 says of the second
    death is what it said before: the producer has waited for longer than a controller
    waits for a broker (9 s), and there is no majority of controllers.
    """
    first = cluster.brokers[0].address
    impatient = {
        "delivery_timeout_ms": 15_000,
        "request_timeout_ms": 3000,
        "linger_ms": 0,
    }
    for broker in ("kafka-3", "kafka-2"):
        process = cluster.processes[broker]
        process.kill()
        process.wait()
        (died,) = cluster.newly_dead()
        assert (
            died.startswith(f"{broker} has stopped (exit code -9)")
            and cluster.newly_dead() == []
        )
        if broker == "kafka-3":
            produced(cluster, "orders", [b"two brokers"])
            until(lambda: all(3 not in isr for isr in in_sync(first)))
    before = in_sync(first)
    assert all(2 in isr for isr in before)
    with pytest.raises(KafkaError):
        produced(cluster, "orders", [b"one broker"], **impatient)
    assert in_sync(first) == before


def in_sync(address):
    """The in-sync replicas of each partition of orders, as the one broker that is up
    tells them. The client may try a dead one first.
    """
    deadline = time.monotonic() + 120
    while True:
        admin = KafkaAdminClient(bootstrap_servers=address)
        try:
            [topic] = admin.describe_topics(["orders"])
            break
        except KafkaError:
            assert time.monotonic() < deadline
        finally:
            admin.close()
    partitions = sorted(topic["partitions"], key=lambda each: each["partition_index"])
    return [each["isr_nodes"] for each in partitions]


def test_without_java_or_with_an_old_one_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(
        NotStarted, match="Java 17 or newer, and there is none here"
    ) as raised:
        JvmCluster(an_address()).start()
    assert "sudo apt install openjdk-17-jre-headless" in str(raised.value)
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    with pytest.raises(NotStarted, match="this is Java 11"):
        JvmCluster(an_address()).start()


@pytest.mark.nightly
@pytest.mark.java
def test_without_its_jars_it_says_what_fetches_them(monkeypatch, tmp_path):
    monkeypatch.setenv("MINIKAFKA_KAFKA_JARS", str(tmp_path))
    with pytest.raises(NotStarted, match=r"not in .*\n  make kafka"):
        JvmCluster(an_address()).start()


# --- make kafka ---

MAKE_KAFKA = (
    "import sys, tasks; tasks.install = lambda *a: None; sys.exit(tasks.main(['kafka',"
    " *sys.argv[1:]]))"
)


def make_kafka(*args, **variables):
    """tasks.py's `kafka`, without its set-up, which installs packages."""
    tasks_python = (
        "from pathlib import Path; import tasks; tasks.venv_python = lambda:"
        f" Path({sys.executable!r}); "
    )
    return subprocess.Popen(
        [sys.executable, "-c", tasks_python + MAKE_KAFKA, *args],
        cwd=ROOT,
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.nightly
@pytest.mark.java
@pytest.mark.skipif(
    os.name == "nt", reason="Ctrl-C is a signal to a group of processes on Unix"
)
def test_make_kafka_says_when_it_is_ready_and_ctrl_c_leaves_nothing(tmp_path):
    address = an_address(1)
    running = make_kafka(KAFKA_HOST=address, TMPDIR=str(tmp_path))
    try:
        lines = [running.stdout.readline() for _ in range(3)]
        folders = list(tmp_path.glob("minikafka-jvm-*"))
        answered = any(
            knows_all(compose.brokers({"KAFKA_HOST": address})[0].address, 3)
            for _ in range(30)
        )
    finally:
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does
        os.killpg(running.pid, signal.SIGINT)  # impatient
        _, errors = running.communicate(timeout=120)
    assert running.returncode == 0, errors
    assert (
        lines[0]
        == f"Apache Kafka {compose.brokers()[0].version}: three brokers start, 10 to 60"
        " seconds ...\n"
    )
    assert lines[1] == f"ready {compose.bootstrap({'KAFKA_HOST': address})}\n"
    assert answered and len(folders) == 1
    assert list(tmp_path.iterdir()) == []
    ports = [port for broker in compose.brokers() for port in broker.ports.values()]
    assert not any(is_taken(address, port) for port in ports)


def test_make_kafka_has_help():
    said, _ = make_kafka("--help").communicate(timeout=60)
    assert "usage: make kafka" in said and "Ctrl-C stops all three" in said
