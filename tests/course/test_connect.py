"""The cluster switch: which Kafka a notebook talks to, and with which clients."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from minikafka.course import connect as switch
from minikafka.course.connect import (
    VARIABLE,
    Connection,
    NobodyAnswers,
    bootstrap,
    connect,
)
from minikafka.server.embedded import Served

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served():
    with Served() as kafka:
        yield kafka


@pytest.fixture
def named(served, monkeypatch):
    """The environment names a cluster, and no own one may start."""
    monkeypatch.setenv(VARIABLE, served.bootstrap)
    monkeypatch.setattr(switch, "_own", None)
    return served.bootstrap


def in_a_kernel(program):
    """Runs a program in a Python of its own, as a kernel would."""
    environment = {
        name: value for name, value in os.environ.items() if name != VARIABLE
    }
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def create(kafka, topic, partitions):
    admin = kafka.admin()
    admin.create_topics({topic: {"num_partitions": partitions}})
    admin.close()


def somebody_listens(address):
    host, port = address.rsplit(":", 1)
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def test_the_environment_names_the_cluster(named, capsys):
    assert bootstrap() == named
    assert connect().bootstrap == named
    assert (
        capsys.readouterr().out
        == "Cluster: the one that MINIKAFKA_BOOTSTRAP names, over TCP.\n"
    )


def test_without_a_name_a_kernel_has_one_kafka_of_its_own_and_takes_it_along():
    program = (
        "from minikafka.course.connect import bootstrap, connect\n"
        "first = bootstrap(); connection = connect()\n"
        "assert connection.bootstrap == bootstrap() == first\n"
        "print(first, flush=True)\ninput()\n"
    )
    kernel = in_a_kernel(program)
    said = kernel.stdout.readline()
    address = kernel.stdout.readline().strip()
    assert (
        said
        == "Cluster: a small Kafka of this notebook's own (minikafka serve), over TCP."
        " It goes when the kernel goes.\n"
    )
    assert somebody_listens(address)
    kernel.communicate("\n")
    assert kernel.returncode == 0
    assert not somebody_listens(address)


@pytest.mark.skipif(os.name == "nt", reason="process groups are Unix")
def test_interrupting_the_kernel_leaves_its_kafka_alone():
    program = (
        "import signal\n"
        "from minikafka.course.connect import bootstrap, connect\n"
        # who runs the tests may ignore it
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "address = bootstrap()\n"
        "try:\n    print(address, flush=True)\n    while True: pass\n"
        "except KeyboardInterrupt:\n    connect()\n    print('interrupted',"
        " flush=True)\ninput()\n"
    )
    kernel = in_a_kernel(program)
    address = kernel.stdout.readline().strip()
    os.killpg(kernel.pid, signal.SIGINT)  # as Jupyter does: to the whole process group
    assert kernel.stdout.readline().startswith("Cluster:")
    assert kernel.stdout.readline() == "interrupted\n"
    assert somebody_listens(address)
    kernel.communicate("\n")
    assert not somebody_listens(address)


def test_where_nobody_answers_it_says_so_and_what_to_do(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    monkeypatch.setenv(VARIABLE, address)
    monkeypatch.setattr(switch, "_ANSWER_WITHIN_MS", 200)
    with pytest.raises(NobodyAnswers) as raised:
        connect()
    assert (
        str(raised.value).splitlines()[0]
        == f"minikafka: nobody answers at {address}, which {VARIABLE} names."
    )
    assert "unset MINIKAFKA_BOOTSTRAP" in str(raised.value)
    assert raised.value._render_traceback_() == str(raised.value).splitlines()


@pytest.mark.parametrize(
    ("choice", "fix"),
    [
        ("docker", "Start it:  docker compose -f docker/"),
        ("jvm", "Start it:  make kafka"),
    ],
)
def test_docker_and_jvm_name_the_brokers_of_the_compose_file(monkeypatch, choice, fix):
    monkeypatch.setenv(VARIABLE, choice)
    monkeypatch.setenv(
        "KAFKA_HOST", "127.254.254.1" if sys.platform == "linux" else "localhost"
    )
    monkeypatch.setattr(switch, "_ANSWER_WITHIN_MS", 200)
    assert bootstrap() == switch.compose.bootstrap() and bootstrap().count(",") == 2
    with pytest.raises(NobodyAnswers) as raised:
        connect()
    assert fix in str(raised.value)


def test_text_and_dicts_go_out_as_in_the_simulation_and_come_back_as_bytes(named):
    kafka = Connection(named)
    create(kafka, "switch-orders", partitions=2)
    producer = kafka.producer()
    producer.send("switch-orders", key="alice", value="zu zahlen: 3 €")
    producer.send("switch-orders", key="alice", value={"status": "paid"})
    producer.send("switch-orders", key=b"alice", value=b"\xff")
    producer.close()
    consumer = kafka.consumer("switch-orders", auto_offset_reset="earliest")
    records = [next(consumer) for _ in range(3)]
    consumer.close()
    assert [record.key for record in records] == [b"alice"] * 3
    assert [record.value for record in records] == [
        "zu zahlen: 3 €".encode(),
        b'{"status": "paid"}',
        b"\xff",
    ]
    assert json.loads(records[1].value) == {"status": "paid"}


def test_a_consumer_without_a_group_reads_all_partitions(named):
    kafka = Connection(named)
    create(kafka, "switch-wide", partitions=3)
    producer = kafka.producer()
    for partition in range(3):
        producer.send("switch-wide", value=str(partition), partition=partition)
    producer.close()
    consumer = kafka.consumer("switch-wide", auto_offset_reset="earliest")
    assert sorted(next(consumer).value for _ in range(3)) == [b"0", b"1", b"2"]
    assert consumer.config["group_id"] is None
    consumer.close()


def test_a_serializer_of_ones_own_wins(named):
    producer = Connection(named).producer(key_serializer=None)
    assert producer.config["key_serializer"] is None
    producer.close()
