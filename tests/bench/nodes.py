"""Three brokers, three copies of each record, acks=all: `minikafka serve --brokers 3
--processes` beside the compose file's three Apache Kafkas on the JVM. A start counts up
to the first acknowledged record; formatting folders does not.
"""

import subprocess
import tempfile
import time
from pathlib import Path

import psutil
from confluent_kafka import Producer

from minikafka.course.clusters.jvm_cluster import JvmCluster
from tests.bench import measures
from tests.kafka import SERVE

REPLICATED = {"replicas": 3, "min.insync.replicas": "2"}


class MiniNodes:
    """Three brokers of minikafka, each a process. options: more of `serve`. checkout:
    the folder that minikafka/ is in.
    """

    formatting_s = 0.0

    def __init__(self, *options, checkout="."):
        self._options = options
        self._checkout = checkout

    def start(self):
        self.data = tempfile.TemporaryDirectory(prefix="minikafka-nodes-")
        command = [*SERVE, "--data", self.data.name]
        command += ["--brokers", "3", "--processes", *self._options]
        self._parent = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=self._checkout
        )
        self.bootstrap = self._parent.stdout.readline().removeprefix("ready ").strip()
        files = Path(self.data.name).glob("broker-*.pid")
        self.processes = {
            file.stem: psutil.Process(int(file.read_text())) for file in files
        }
        return self

    def kill(self, broker):
        self.processes[f"broker-{broker}"].kill()

    def stop(self):
        self._parent.terminate()
        self._parent.wait()
        self._parent.stdout.close()
        self.data.cleanup()


class Jvm(JvmCluster):
    """The compose file's brokers."""

    formatting_s = 0.0

    def start(self):
        super().start()
        return self

    def kill(self, broker):
        self.processes[self.brokers[broker - 1].name].kill()

    def _set_up(self, jars):
        began = time.perf_counter()
        super()._set_up(jars)
        self.formatting_s = time.perf_counter() - began


def measure_starts(results, clusters, rounds):
    """clusters: name -> one that is not started yet."""
    for number in range(rounds):
        print(f"start, round {number + 1} of {rounds}", flush=True)
        for name, new in clusters.items():
            cluster = new()
            began = time.perf_counter()
            cluster.start()
            try:
                topic = measures.new_topic(cluster.bootstrap, **REPLICATED)
                acknowledge_one(cluster.bootstrap, topic)
                seconds = time.perf_counter() - began - cluster.formatting_s
                results.add(
                    "start to first acknowledged record", "s", False, name, seconds
                )
                results.add(
                    "memory after start, all three",
                    "MB",
                    False,
                    name,
                    megabytes(cluster),
                )
            finally:
                cluster.stop()


def acknowledge_one(bootstrap, topic):
    producer = Producer(
        {"bootstrap.servers": bootstrap, "acks": "all", **measures.QUIET}
    )
    producer.produce(topic, b"first")
    assert producer.flush(120) == 0


def megabytes(cluster):
    return sum(
        measures.resident_megabytes(process.pid)
        for process in cluster.processes.values()
    )


def new_topic(bootstrap):
    return measures.new_topic(bootstrap, **REPLICATED)
