"""kill -9 of one of three brokers under honest clients: `python -m tests.soak.failover
--rounds 50`.

Idempotent producers with acks=all, librdkafka's and Java's, write numbers to topics
with three replicas, of which two must be in sync, while groups of both protocols, of
both clients, read and commit. A broker dies, is started again, and when all replicas
are in sync the next one dies. In the end every acknowledged record is there once, in
order, at its offset, on minikafka as on Apache Kafka (--apache), and no commit went
back. The longest time without an acknowledgement is told for each.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, NewTopic

from minikafka.course.clusters.jvm_cluster import JvmCluster
from minikafka.server.embedded import Served
from tests.clients.brokers import STEADY, overrides, until
from tests.clients.test_confluent_kafka import finish
from tests.kafka import SMALL_JVM, an_address, java_missing
from tests.soak.java_numbers import JavaReader, JavaWriter
from tests.soak.kill import (
    PATIENCE_SECONDS,
    RECONNECT,
    SMALL,
    LibrdkafkaReader,
    LibrdkafkaWriter,
    Reader,
    Writer,
    Wrong,
    committed,
    everything,
    parser_of,
    report,
    wait_for,
)
from tests.soak.kill import TOPICS as ITS_TOPICS

REPLICATED = {"min.insync.replicas": "2"}
JAVAS = "java"  # the topic that Java's producer writes
TOPICS = {**ITS_TOPICS, JAVAS: SMALL}
PROTOCOLS = ("classic", "consumer")
OF_ITS_OWN = 5  # an address that tests/docker leaves alone


class Cluster(Protocol):
    """Three brokers, each a process."""

    bootstrap: str

    def kill(self, broker: int) -> None:
        """kill -9 of broker 1, 2 or 3, which comes back."""


class Processes:
    """minikafka serve --processes."""

    def __init__(self, folder: str, properties: Mapping[str, str]) -> None:
        more = overrides({"offsets.topic.num.partitions": "3", **STEADY, **properties})
        options = ("--brokers", "3", "--processes", *more)
        self._folder = folder
        self.served = Served(data=folder, options=options)
        self.bootstrap = self.served.bootstrap

    def kill(self, broker: int) -> None:
        file = Path(self._folder) / f"broker-{broker}.pid"
        os.kill(int(file.read_text()), signal.SIGKILL)


class Jvm(JvmCluster):
    """The compose file's brokers, on the JVM."""

    def _ready_to_start(self) -> Path:
        self.jars = super()._ready_to_start()
        return self.jars

    def kill(self, broker: int) -> None:
        one = self.brokers[broker - 1]
        process = self.processes[one.name]
        process.kill()
        process.wait()
        self._start(one, self.jars)


@contextmanager
def running(
    apache: bool, properties: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Cluster]:
    """properties: of minikafka's brokers."""
    if apache:
        with Jvm(an_address(OF_ITS_OWN), jvm=SMALL_JVM) as cluster:
            yield cluster
        return
    with tempfile.TemporaryDirectory(prefix="minikafka-failover-") as folder:
        processes = Processes(folder, properties)
        with processes.served:
            yield processes
            if "Traceback" in processes.served.said():
                raise Wrong(processes.served.said())


def in_sync(bootstrap: str, topics: Sequence[str]) -> bool:
    """Whether all three replicas of all partitions of these topics are."""
    admin = AdminClient({"bootstrap.servers": bootstrap, **RECONNECT})
    try:
        described = admin.describe_topics(
            TopicCollection(list(topics)), request_timeout=5
        )
        partitions = [
            one for topic in described.values() for one in topic.result().partitions
        ]
    except Exception:
        return False
    return all(len(one.isr) == 3 and one.leader is not None for one in partitions)


def wait_until_in_sync(
    bootstrap: str, topics: Sequence[str] = (*TOPICS, "__consumer_offsets")
) -> None:
    try:
        until(lambda: in_sync(bootstrap, topics), seconds=2 * PATIENCE_SECONDS)
    except AssertionError:
        raise Wrong("the replicas are not in sync again") from None


def clients(bootstrap: str, java: bool) -> tuple[list[Writer], list[Reader]]:
    writers: list[Writer] = [LibrdkafkaWriter(bootstrap, topic) for topic in ITS_TOPICS]
    readers: list[Reader] = [
        LibrdkafkaReader(bootstrap, protocol) for protocol in PROTOCOLS
    ]
    if java:
        writers.append(JavaWriter(bootstrap, JAVAS))
        readers += [JavaReader(bootstrap, protocol) for protocol in PROTOCOLS]
    return writers, readers


def failover(rounds: int, seed: int, apache: bool, java: bool = True) -> str:
    """So many kills; a summary, or Wrong. java: whether Java's clients take part."""
    dice = random.Random(seed)
    pauses = []
    with running(apache) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        topics = []
        for name, config in TOPICS.items():
            topics.append(NewTopic(name, 1, 3, config=config | REPLICATED))
        finish(admin.create_topics(topics))
        writers, readers = clients(cluster.bootstrap, java)
        for thread in (*writers, *readers):
            thread.start()
        wait_for(writers, 200)
        for number in range(rounds):
            wait_until_in_sync(cluster.bootstrap)
            before = {reader.group: reader.committed for reader in readers}
            for writer in writers:
                writer.longest_pause_s = 0.0
            cluster.kill(dice.randint(1, 3))
            wait_for(writers, dice.randint(200, 3000))
            pauses.append(max(writer.longest_pause_s for writer in writers))
            no_commit_went_back(cluster.bootstrap, before, number + 1)
            print(
                f"round {number + 1} of {rounds}: {pauses[-1]:.1f} s without an"
                " acknowledgement",
                flush=True,
            )
        deadline = time.monotonic() + PATIENCE_SECONDS
        for reader in readers:
            while not reader.commits and time.monotonic() < deadline:
                reader.join(0.1)
        for thread in (*writers, *readers):
            thread.stop()
        wait_until_in_sync(cluster.bootstrap)
        for writer in writers:
            writer.check(everything(cluster.bootstrap, writer.topic))
        stuck = [reader.group for reader in readers if not reader.commits]
        if stuck:
            raise Wrong(f"nothing was ever committed by {stuck}")
    records = sum(len(writer.acknowledged) for writer in writers)
    commits = sum(reader.commits for reader in readers)
    pauses.sort()
    name = "Apache Kafka" if apache else "minikafka"
    return (
        f"{name}: {rounds} kills, {records} records of {len(writers)} producers and"
        f" {commits} commits of {len(readers)} groups acknowledged: nothing lost, none"
        f" twice, no commit back; longest pause {pauses[-1]:.1f} s, median"
        f" {pauses[len(pauses) // 2]:.1f} s"
    )


def no_commit_went_back(bootstrap: str, before: dict[str, int], round: int) -> None:
    for group, offset in before.items():
        now = committed(bootstrap, group)
        if now < offset:
            raise Wrong(
                f"round {round}: a commit of {group} went back from {offset} to {now}"
            )


def parser_of_both(
    soak: str, description: str | None, **numbers: int
) -> argparse.ArgumentParser:
    parser = parser_of(soak, description, **numbers)
    parser.add_argument(
        "--apache",
        action="store_true",
        help="on three Apache Kafkas instead, for comparison",
    )
    return parser


def main() -> int:
    args = parser_of_both("failover", __doc__, rounds=10, seed=1).parse_args()
    if missing := java_missing():
        print(f"failover: without Java's clients: {missing}", flush=True)
    java = not missing
    return report("failover", failover, args.rounds, args.seed, args.apache, java)


if __name__ == "__main__":
    sys.exit(main())
