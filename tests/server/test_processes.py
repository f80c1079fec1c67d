"""`minikafka serve --brokers N --processes`: brokers that die alone, and come back."""

import os
import signal
import subprocess
import sys
from contextlib import closing

import psutil
import pytest

from minikafka.server.embedded import Served
from tests.clients.brokers import STEADY, overrides, until
from tests.conformance.raw import Connection

pytestmark = pytest.mark.slow

kafka = pytest.importorskip("kafka")
QUICK = ("--processes", *overrides({"offsets.topic.num.partitions": "1", **STEADY}))


def process_of(folder, broker):
    try:
        return int((folder / f"broker-{broker}.pid").read_text() or 0)
    except FileNotFoundError:
        return 0


def described(bootstrap, topic):
    """(leader, replicas in sync) of a topic's only partition, as told by a broker that
    has heard of both.
    """
    with closing(kafka.KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        while True:
            for partition in admin.describe_topics([topic])[0]["partitions"]:
                if partition["leader_id"] > 0:
                    return partition["leader_id"], sorted(partition["isr_nodes"])


def test_a_producer_carries_on_over_the_kill_of_the_leader_which_comes_back_and_catches_up(
    tmp_path,
):
    with Served(data=tmp_path, options=("--brokers", "3", *QUICK)) as served:
        addresses = served.bootstrap.split(",")
        admin = kafka.KafkaAdminClient(bootstrap_servers=addresses)
        admin.create_topics(
            [
                kafka.admin.NewTopic(
                    "orders", 1, 3, topic_configs={"min.insync.replicas": "2"}
                )
            ]
        )
        admin.close()
        producer = kafka.KafkaProducer(
            bootstrap_servers=addresses, acks="all", enable_idempotence=True
        )
        acked = [
            producer.send("orders", b"%d" % number).get(60).offset
            for number in range(10)
        ]
        leader, _ = described(addresses, "orders")
        killed = process_of(tmp_path, leader)
        assert killed
        os.kill(killed, signal.SIGKILL)
        acked += [
            producer.send("orders", b"%d" % number).get(60).offset
            for number in range(10, 20)
        ]
        producer.close()
        assert acked == list(range(20))
        until(lambda: process_of(tmp_path, leader) not in (0, killed))
        until(lambda: described(addresses, "orders")[1] == [1, 2, 3])
        settings = {"auto_offset_reset": "earliest", "consumer_timeout_ms": 60_000}
        consumer = kafka.KafkaConsumer(
            "orders", bootstrap_servers=addresses, **settings
        )
        read = [next(consumer).value for _ in range(20)]
        consumer.close()
        assert read == [b"%d" % number for number in range(20)]
    assert not list(tmp_path.glob("*.pid"))


def test_a_fourth_broker_is_no_voter_and_serves_like_the_others(tmp_path):
    with Served(
        data=tmp_path, options=("--brokers", "4", "--no-restart", *QUICK)
    ) as served:
        addresses = served.bootstrap.split(",")
        admin = kafka.KafkaAdminClient(bootstrap_servers=addresses[3:])
        until(lambda: len(admin.describe_cluster()["brokers"]) == 4)
        admin.create_topics([kafka.admin.NewTopic("orders", 4, 4)])
        admin.close()
        producer = kafka.KafkaProducer(bootstrap_servers=addresses[3:], acks="all")
        assert [
            producer.send("orders", b"x", partition=number).get(60).offset
            for number in range(4)
        ] == [0] * 4
        producer.close()
        gone = process_of(tmp_path, 4)
        assert gone
        os.kill(gone, signal.SIGKILL)
        until(lambda: "broker 4 has ended (SIGKILL)" in served.said())


def test_brokers_end_with_the_process_that_started_them_however_that_ended(tmp_path):
    with Served(data=tmp_path, options=("--brokers", "3", *QUICK)) as served:
        first = process_of(tmp_path, 1)
        os.kill(first, signal.SIGKILL)
        # the youngest now, and heir of all that is open
        until(lambda: process_of(tmp_path, 1) not in (0, first))
        brokers = [process_of(tmp_path, broker) for broker in (1, 2, 3)]
        assert all(map(runs, brokers))
        served.kill()
        until(lambda: not any(map(runs, brokers)))


def runs(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize(
    "options",
    [
        ["--processes"],
        ["--node", "1"],
        ["--voters", "1@localhost:9093"],
        ["--node", "1", "--voters", "1"],
    ],
    ids=" ".join,
)
def test_what_makes_no_cluster_is_said_in_a_line(options):
    command = [sys.executable, "-m", "minikafka", "serve", "--port", "0", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode in (1, 2) and not done.stdout
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_a_broker_that_can_not_start_again_has_said_why_and_is_left_alone(tmp_path):
    """The others go on: it would say the same for ever."""
    with Served(data=tmp_path, options=("--brokers", "3", *QUICK)) as served:
        properties = tmp_path / "broker-3" / "meta.properties"
        properties.write_text(properties.read_text().replace("version=1", "version=2"))
        os.kill(process_of(tmp_path, 3), signal.SIGKILL)
        until(lambda: "broker 3 has ended (exit code 1)." in served.said())
        lines = served.said().splitlines()
        assert (
            sum(
                "meta.properties has version 2, and only 1 is known here" in line
                for line in lines
            )
            == 1
        )
        with Connection(served.bootstrap.split(",")[0]) as client:
            until(
                lambda: (
                    sorted(
                        each.broker_id
                        for each in client.ask("DescribeCluster", 0).brokers
                    )
                    == [1, 2]
                )
            )


def test_a_cluster_id_may_begin_with_a_dash(tmp_path):
    cluster_id = "-4Qd6xk5SGm0xJq1sN3W0A"  # one of 64 does
    # the second time it stands in the folder
    for options in ((f"--cluster-id={cluster_id}",), ()):
        with Served(
            data=tmp_path, options=("--brokers", "3", *QUICK, *options)
        ) as served:
            admin = kafka.KafkaAdminClient(bootstrap_servers=served.bootstrap)
            assert admin.describe_cluster()["cluster_id"] == cluster_id
            admin.close()


def test_whoever_is_interrupted_before_all_brokers_are_ready_ends_without_a_traceback(
    tmp_path,
):
    command = [
        sys.executable,
        "-m",
        "minikafka",
        "serve",
        "--brokers",
        "3",
        "--port",
        "0",
        "--data",
        str(tmp_path),
    ]
    # so nobody is soon elected
    command += [*QUICK, *overrides({"controller.quorum.election.timeout.ms": "60000"})]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        until(lambda: process_of(tmp_path, 1))
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=120)
    assert (process.returncode, said) == (0, "")
    assert "Traceback" not in errors and "never retrieved" not in errors, errors
    assert not list(tmp_path.glob("*.pid"))
