"""Clusters of both kinds whose nodes are processes of their own: a test kills, freezes
and starts each alone.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from minikafka.server.addresses import keep_port
from minikafka.wire.errors import Error
from tests.clients.brokers import overrides, until
from tests.conformance.raw import Connection
from tests.kafka import APACHE_KAFKA, SMALL_JVM, ApacheKafka, java_tool

PATIENCE_SECONDS = 120
NOBODY = -1
PREFERRED, UNCLEAN = 0, 1  # elections
TOPIC_RESOURCE, SET = 2, 0
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
# The first tier compiles faster, and some JVMs share a machine.
JVM = ("-Xmx384m", *SMALL_JVM)
# As Apache Kafka has them; `minikafka serve` is quicker to notice unless it is told.
PROPERTIES = {
    "broker.heartbeat.interval.ms": "1000",
    "broker.session.timeout.ms": "9000",
    "controller.quorum.election.timeout.ms": "1000",
    "controller.quorum.fetch.timeout.ms": "2000",
    "replica.lag.time.max.ms": "30000",
}


class Minikafka:
    """One node, `minikafka serve --node`, started as ApacheKafka is (tests/kafka.py).
    Its ports are kept for it.
    """

    def __init__(self, number, kept, voters, properties):
        self.kept = kept
        self.bootstrap = f"127.0.0.1:{port_of(kept[0])}"
        self.folder = Path(tempfile.mkdtemp(prefix="minikafka-node-"))
        self.data, self.output, self.errors = (
            self.folder / name for name in ("data", "stdout", "stderr")
        )
        self.data.mkdir()
        self.command = [
            sys.executable,
            "-m",
            "minikafka",
            "serve",
            "--exit-with-parent",
            "--kept-ports",
        ]
        self.command += [
            "--node",
            str(number),
            "--voters",
            voters,
            "--cluster-id",
            CLUSTER_ID,
        ]
        self.command += [
            "--port",
            str(port_of(kept[0])),
            "--data",
            str(self.data),
            *overrides(properties),
        ]
        self.process = None

    def start(self):
        with self.output.open("wb") as output, self.errors.open("ab") as errors:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=output, stderr=errors
            )

    def is_ready(self):
        """This run of it is a broker of the cluster."""
        return self.output.read_bytes().startswith(b"ready ")

    def __enter__(self):
        self.start()

    def __exit__(self, *error):
        said = ""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            said = self.errors.read_text(errors="replace")
        shutil.rmtree(self.folder)
        for each in self.kept:
            each.close()
        assert "Traceback" not in said, said


class Jvm(ApacheKafka):
    """One node of Apache Kafka."""

    def is_ready(self):
        return True  # start() returns when it is


def port_of(kept):
    return kept.getsockname()[1]


def minikafka_nodes(roles, properties):
    """There are no nodes that only control: those are brokers, too."""
    kept = {number: [keep_port("127.0.0.1", 0) for _ in range(2)] for number in roles}
    controllers = [number for number, role in roles.items() if "controller" in role]
    voters = ",".join(
        f"{number}@127.0.0.1:{port_of(kept[number][1])}" for number in controllers
    )
    return {
        number: Minikafka(number, kept[number], voters, properties) for number in roles
    }


def apache_kafka_nodes(roles, properties):
    found = {
        number: Jvm(
            properties | {"node.id": str(number), "process.roles": role}, jvm=JVM
        )
        for number, role in roles.items()
    }
    controllers = [number for number, role in roles.items() if "controller" in role]
    voters = ",".join(
        f"{number}@127.0.0.1:{found[number].controller_port}" for number in controllers
    )
    for number, node in found.items():
        node.properties["controller.quorum.voters"] = voters
        if roles[number] == "controller":
            del node.properties["advertised.listeners"]
            node.properties["listeners"] = (
                f"CONTROLLER://127.0.0.1:{node.controller_port}"
            )
            node.port = node.controller_port
        elif roles[number] == "broker":
            node.properties["listeners"] = node.properties["advertised.listeners"]
    return found


class Nodes(dict):
    """The nodes of one cluster, by number. asked: the broker that is asked how things
    are, as none of the others. later: brokers that a test starts itself.

    brokers: the numbers of those that are there in the beginning.
    """

    def __init__(self, stack, kind, roles, asked, properties, later=()):
        makes = apache_kafka_nodes if kind == APACHE_KAFKA else minikafka_nodes
        super().__init__(makes(roles, PROPERTIES | properties))
        only_controls = {
            number
            for number, role in roles.items()
            if role == "controller" and kind == APACHE_KAFKA
        }
        self.brokers = sorted(roles.keys() - only_controls - set(later))
        self.asked = self[asked].bootstrap
        self.bootstrap = ",".join(self[number].bootstrap for number in self.brokers)
        for node in self.values():
            stack.push(node)
        stack.callback(self._kill_all)
        # together: alone none of several controllers is of use, and none ends cleanly
        with ThreadPoolExecutor() as pool:
            list(pool.map(self.start, sorted(roles.keys() - set(later))))
        until(self.all_are_there)

    def _kill_all(self):
        for node in self.values():
            if node.process is not None:
                node.process.kill()

    def kill(self, *numbers):
        for number in numbers:
            self[number].process.kill()
            self[number].process.communicate()

    def start(self, *numbers):
        for number in numbers:
            self[number].start()

    def stop(self, number):
        """A clean stop is asked for."""
        self[number].process.terminate()

    @contextmanager
    def frozen(self, *numbers):
        """They stand still. On a busy machine a process goes on for a moment after the
        signal, until the thread that gets it has a CPU.
        """
        try:
            for number in numbers:
                os.kill(self[number].process.pid, signal.SIGSTOP)
            for number in numbers:
                os.waitid(os.P_PID, self[number].process.pid, os.WSTOPPED | os.WNOWAIT)
            yield
        finally:
            for number in numbers:
                os.kill(self[number].process.pid, signal.SIGCONT)

    def ask(self, api, version, **body):
        with Connection(self.asked) as broker:
            return broker.ask(api, version, **body)

    def tool(self, name, *args):
        """What a tool of Apache Kafka prints."""
        done = java_tool(
            name, "--bootstrap-server", self.asked, *args, timeout=PATIENCE_SECONDS
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def live(self):
        """The brokers that are not fenced; none while the one that is asked has only
        just started.
        """
        try:
            return sorted(
                each.broker_id for each in self.ask("DescribeCluster", 0).brokers
            )
        except (OSError, EOFError):
            return []

    def all_are_there(self):
        return self.live() == self.brokers and all(
            self[number].is_ready() for number in self.brokers
        )

    def create(self, topic, *replicas, **configs):
        """A topic of one partition with replicas on these brokers. The first leads, and
        all are in sync.

        What a test that failed has left dead is started before.
        """
        self.start(
            *(
                number
                for number, node in self.items()
                if node.process.poll() is not None
            )
        )
        until(self.all_are_there)
        assignments = [{"partition_index": 0, "broker_ids": list(replicas)}]
        settings = [
            {"name": name.replace("_", "."), "value": str(value)}
            for name, value in configs.items()
        ]
        wanted = {
            "name": topic,
            "num_partitions": -1,
            "replication_factor": -1,
            "assignments": assignments,
        }

        def is_created():
            [told] = self.ask(
                "CreateTopics",
                7,
                topics=[wanted | {"configs": settings}],
                timeout_ms=60_000,
            ).topics
            return told.error_code in (Error.NONE, Error.TOPIC_ALREADY_EXISTS)

        until(is_created)
        until(lambda: self.described(topic) == (replicas[0], sorted(replicas)))

    def partition(self, topic):
        """The topic's partition as DescribeTopicPartitions tells it, None while the
        broker knows no such topic.
        """
        [found] = self.ask(
            "DescribeTopicPartitions", 0, topics=[{"name": topic}]
        ).topics
        return found.partitions[0] if found.partitions else None

    def described(self, topic):
        """The leader of the topic's partition and its ISR, as the brokers
        describe it.
        """
        found = self.partition(topic)
        return (found.leader_id, sorted(found.isr_nodes)) if found else (NOBODY, [])

    def elect(self, how, topic):
        wanted = [{"topic": topic, "partitions": [0]}]

        def done():
            answer = self.ask(
                "ElectLeaders",
                2,
                election_type=how,
                topic_partitions=wanted,
                timeout_ms=60_000,
            )
            [each] = answer.replica_election_results
            return each.partition_result[0].error_code in (
                Error.NONE,
                Error.ELECTION_NOT_NEEDED,
            )

        until(done)

    def configure(self, topic, name, value):
        configs = [{"name": name, "config_operation": SET, "value": value}]
        resource = {
            "resource_type": TOPIC_RESOURCE,
            "resource_name": topic,
            "configs": configs,
        }

        def is_set():
            [answer] = self.ask(
                "IncrementalAlterConfigs", 1, resources=[resource]
            ).responses
            return answer.error_code == Error.NONE

        until(is_set)

    def producer(self, **options):
        return KafkaProducer(**self._client, linger_ms=0, **options)

    @property
    def _client(self):
        """As patient as the rest: a broker alone may be fenced for a while."""
        return {
            "bootstrap_servers": self.bootstrap,
            "bootstrap_timeout_ms": PATIENCE_SECONDS * 1000,
        }

    def read(self, topic):
        """What a consumer gets up to the high watermark: its end offset is that."""
        at, values = TopicPartition(topic, 0), []
        consumer = KafkaConsumer(**self._client, auto_offset_reset="earliest")
        consumer.assign([at])
        end, deadline = (
            consumer.end_offsets([at])[at],
            time.monotonic() + PATIENCE_SECONDS,
        )
        while consumer.position(at) < end:
            assert time.monotonic() < deadline, (values, end)
            values += [
                record.value
                for some in consumer.poll(timeout_ms=500).values()
                for record in some
            ]
        consumer.close()
        return values


@contextmanager
def running(kind, roles, asked=1, **properties):
    """roles: of each node, as in process.roles. properties: with _ for each dot."""
    if sys.platform == "win32":
        pytest.skip("no signal stops a process cleanly there, or for a while")
    with ExitStack() as stack:
        named = {
            name.replace("_", "."): str(value) for name, value in properties.items()
        }
        yield Nodes(stack, kind, roles, asked, named)


def sent(producer, topic, value):
    """Its offset, when it is acknowledged."""
    return producer.send(topic, value).get(timeout=PATIENCE_SECONDS).offset
