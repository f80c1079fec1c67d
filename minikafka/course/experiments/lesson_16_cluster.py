"""Lesson 16's cluster: brokers that are processes, customers who keep ordering, and
Kafka's own commands.

    cluster = RunningCluster()
    cluster.run("kafka-topics.sh --bootstrap-server H --describe --topic orders")
"""

import atexit
import json
import logging
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from itertools import count
from pathlib import Path
from typing import Any

from minikafka.course.experiments import lesson_16_tools as tools
from minikafka.course.experiments.lesson_16_metrics import Watch, scraped
from minikafka.server.addresses import keep_port

VOTERS = (1, 2, 3)
PATIENCE_SECONDS = 120.0
LOOK_SECONDS = 0.1
STEADY = 4  # looks that see the same
MB = 1_000_000
RECORD_BYTES = 100_000
AT_ONCE = 12  # records without an answer
ORDER_SECONDS = 0.02
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
# The replicas of each partition, the preferred leader first.
ORDERS = ((1, 2, 3), (2, 3, 1), (3, 1, 2), (1, 3, 2), (2, 1, 3), (3, 2, 1))
AUDIT = ((1,), (2,), (3,))
# A broker that is gone is noticed in two seconds: a lesson doesn't wait for nine.
QUICK = {
    "broker.heartbeat.interval.ms": 300,
    "broker.session.timeout.ms": 2000,
    "replica.lag.time.max.ms": 5000,
    "replica.fetch.backoff.ms": 100,
    "replica.fetch.max.bytes": 200_000,  # so that a throttled move begins slowly, too
    "controller.quorum.election.timeout.ms": 50,
    "controller.quorum.fetch.timeout.ms": 900,
    "auto.create.topics.enable": "false",
    "offsets.topic.num.partitions": 3,  # 50 would be most of what is counted
    "auto.leader.rebalance.enable": "false",  # it would act after five minutes
    "quota.window.num": 2,  # 11 would allow a burst of ten seconds
    "log.retention.check.interval.ms": 1000,
}
TOPICS = ("orders", "audit", "__consumer_offsets")

# (partition -> replicas, the broker that leaves, all brokers): partition -> new ones
Retire = Callable[
    [dict[int, list[int]], int, Sequence[int]], Mapping[int, Sequence[int]]
]


def emptied(
    replicas: Mapping[int, Sequence[int]], broker: int, brokers: Sequence[int]
) -> dict[int, list[int]]:
    """What exercise 2 asks for, until the learner's own is right."""
    load = Counter(each for there in replicas.values() for each in there)
    plan = {}
    for number, there in sorted(replicas.items()):
        if broker in there:
            _, new = min((load[each], each) for each in set(brokers) - set(there))
            load[new] += 1
            plan[number] = [new if each == broker else each for each in there]
    return plan


class Node:
    """One broker: `minikafka serve --node N`, a child process on ports of its own."""

    def __init__(self, number: int, folder: Path, voters: Mapping[int, int]) -> None:
        self.number = number
        self.kept = [keep_port("127.0.0.1", 0) for _ in range(2)]
        port, metrics = (each.getsockname()[1] for each in self.kept)
        self.bootstrap = f"127.0.0.1:{port}"
        self.metrics = f"http://127.0.0.1:{metrics}/metrics"
        self.output = folder / f"broker-{number}.out"
        named = ",".join(f"{each}@127.0.0.1:{at}" for each, at in voters.items())
        options = {
            "--node": number,
            "--voters": named,
            "--cluster-id": CLUSTER_ID,
            "--port": port,
            "--metrics": metrics,
            "--data": folder / f"broker-{number}",
        }
        self.command = [sys.executable, "-m", "minikafka", "serve"]
        self.command += ["--exit-with-parent", "--kept-ports"]
        for name, value in options.items():
            self.command += [name, str(value)]
        for name, value in QUICK.items():
            self.command += ["--override", f"{name}={value}"]
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def is_up(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def is_ready(self) -> bool:
        """It has registered, and takes clients."""
        return self.is_up and self.output.read_bytes().startswith(b"ready ")

    def start(self) -> None:
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Jupyter's interrupt isn't for the cluster
            )

    def end(self, kill: bool) -> None:
        """By SIGKILL, or cleanly by SIGTERM; returns when it has ended."""
        if self.process is None:
            return
        if kill:
            self.process.kill()
        else:
            self.process.terminate()
        self.process.communicate()

    def close(self) -> None:
        self.end(kill=True)
        for each in self.kept:
            each.close()


class RunningCluster:
    """Three brokers, which are controllers too, and the topics `orders` (six partitions, three
    copies, two of which must be in sync) and `audit` (three partitions, one copy each).
    A customer orders every 20 ms.

    There is one at a time: a new one ends the one before. orders_mb: how much each
    partition of `orders` holds at the start.
    """

    _latest: "RunningCluster | None" = None

    def __init__(self, orders_mb: int = 4) -> None:
        if RunningCluster._latest is not None:
            RunningCluster._latest.close()
        RunningCluster._latest = self
        # clients warn of each broker that dies here on purpose
        logging.getLogger("kafka").setLevel(logging.CRITICAL)
        self._ends = ExitStack()
        atexit.register(self.close)
        temporary = tempfile.TemporaryDirectory(
            prefix="minikafka-", ignore_cleanup_errors=True
        )
        self._folder = Path(self._ends.enter_context(temporary))
        self._votes = {each: keep_port("127.0.0.1", 0) for each in VOTERS}
        for kept in self._votes.values():
            self._ends.callback(kept.close)
        self.nodes: dict[int, Node] = {}
        for number in VOTERS:
            self._start(number)
        self.watch = Watch(self.nodes)
        self._ends.callback(self.watch.close)
        self._until(lambda: self.live() == list(VOTERS), "three brokers are up")
        self._make("orders", ORDERS, {"min.insync.replicas": "2"})
        self._make("audit", AUDIT, {})
        self._fill(orders_mb)
        self._ends.callback(Customers(self.bootstrap).close)

    def __repr__(self) -> str:
        return f"RunningCluster: brokers {self.live()}"

    # -- brokers

    @property
    def bootstrap(self) -> list[str]:
        return [node.bootstrap for node in self.nodes.values() if node.is_up]

    def _start(self, number: int) -> None:
        if number not in self.nodes:
            votes = {each: kept.getsockname()[1] for each, kept in self._votes.items()}
            self.nodes[number] = Node(number, self._folder, votes)
            self._ends.callback(self.nodes[number].close)
        if not self.nodes[number].is_up:
            self.nodes[number].start()

    def join(self, number: int) -> None:
        """A new broker: it's told where the voters are, and registers."""
        self.watch.begin(f"broker {number} joins")
        self._start(number)
        self._until(lambda: number in self.live(), f"broker {number} has joined")
        self.watch.end()

    def kill(self, number: int) -> None:
        """kill -9, until the others have noticed."""
        self.watch.begin(f"kill -9 of broker {number}")
        self.nodes[number].end(kill=True)
        self._until(lambda: number not in self.live(), f"broker {number} is missed")
        self.watch.end()

    def stop(self, number: int) -> None:
        """A clean stop: it hands over what it leads, then ends."""
        self.watch.begin(f"broker {number} is stopped")
        self.nodes[number].end(kill=False)
        self._until(lambda: number not in self.live(), f"broker {number} is gone")
        self.watch.end()

    def start(self, number: int) -> None:
        """It comes back, and copies what it has missed."""
        self.watch.begin(f"broker {number} comes back")
        self._start(number)
        self._until(lambda: number in self.live(), f"broker {number} is back")
        self._until(self.is_in_sync, "all replicas are in sync")
        self.watch.end()

    # -- commands

    def run(self, line: str) -> None:
        """Kafka's own command. H is the address of a broker."""
        print(f"$ {line}")
        print(tools.run(line, self.bootstrap, self._folder))

    def write(self, file: str, plan: Mapping[str, Mapping[int, Sequence[int]]]) -> None:
        """Write a plan, topic -> partition -> its replicas, as a file that
        kafka-reassign-partitions.sh reads.
        """
        rows = [
            {"topic": topic, "partition": number, "replicas": list(replicas)}
            for topic, partitions in plan.items()
            for number, replicas in partitions.items()
        ]
        text = json.dumps({"version": 1, "partitions": rows}, indent=1)
        (self._folder / file).write_text(text, encoding="utf-8")

    def until_moved(self) -> float:
        """Wait until no partition moves any more. Returns the seconds that it took."""
        self.watch.begin("partitions move")
        began = time.monotonic()
        self._until(
            lambda: not self._ask(lambda admin: admin.list_partition_reassignments()),
            "no partition moves any more",
        )
        took = time.monotonic() - began
        self.watch.end()
        return took

    def load(self, client_id: str, topic: str, seconds: float = 6) -> float:
        """This client sends as fast as it can. Returns how many MB a second were
        acknowledged; an error is raised.
        """
        from kafka import KafkaProducer

        self.watch.begin(f"{client_id} sends as fast as it can")
        value = random.Random(16).randbytes(RECORD_BYTES)
        began = time.monotonic()
        made = KafkaProducer(
            bootstrap_servers=self.bootstrap, client_id=client_id, batch_size=0
        )
        with closing(made) as producer:
            waiting: list[Any] = []
            done = 0
            while time.monotonic() < began + seconds:
                if len(waiting) < AT_ONCE:
                    partition = (done + len(waiting)) % len(AUDIT)
                    waiting.append(producer.send(topic, value, partition=partition))
                    continue
                left = [each for each in waiting if not each.is_done]
                done += len(waiting) - len(left)
                waiting = left
                self.watch.refresh()
                time.sleep(0.01)
            for each in waiting:
                each.get(PATIENCE_SECONDS)
        took = time.monotonic() - began
        self.watch.end()
        return (done + len(waiting)) * RECORD_BYTES / MB / took

    def size_mb(self, topic: str = "orders") -> float:
        """How large the largest log of the topic is."""
        sizes = [
            value
            for node in self.nodes.values()
            for name, labels, value in scraped(node.metrics)
            if name == "kafka_log_log_size" and labels["topic"] == topic
        ]
        return max(sizes) / MB

    def wait(self, seconds: float) -> None:
        self.watch.begin("time passes")
        end = time.monotonic() + seconds
        self._until(lambda: time.monotonic() > end, "time passes")
        self.watch.end()

    def empty(self, broker: int, retire: Retire) -> None:
        """Move all of a broker's replicas away, by the plans of `retire`."""
        brokers = self.live()
        plan = {
            topic: retire(self.replicas(topic), broker, brokers) for topic in TOPICS
        }
        self.write("empty.json", plan)
        self.run(
            "kafka-reassign-partitions.sh --bootstrap-server H"
            " --reassignment-json-file empty.json --execute"
        )
        self.until_moved()

    # -- what is so

    def admin(self) -> Any:
        from kafka import KafkaAdminClient

        return KafkaAdminClient(bootstrap_servers=self.bootstrap)

    def live(self) -> list[int]:
        """The brokers that the controller counts as alive."""
        brokers = self._ask(lambda admin: admin.describe_cluster()["brokers"])
        return sorted(each["broker_id"] for each in brokers if not each["is_fenced"])

    def is_in_sync(self) -> bool:
        """Whether no replica of orders is behind."""
        return all(
            len(each["isr_nodes"]) == len(each["replica_nodes"])
            for each in self._described("orders")
        )

    def replicas(self, topic: str = "orders") -> dict[int, list[int]]:
        """Partition -> its replicas, the preferred leader first."""
        return {
            each["partition_index"]: list(each["replica_nodes"])
            for each in self._described(topic)
        }

    def leaders(self, topic: str = "orders") -> dict[int, int]:
        """Partition -> its leader."""
        return {
            each["partition_index"]: each["leader_id"]
            for each in self._described(topic)
        }

    def counts(self) -> tuple[int, int, int]:
        """Partitions that are under-replicated, under their minimum of in-sync
        replicas, and offline, as the brokers count them; once the counts are steady.
        """
        seen: list[tuple[int, int, int]] = []

        def are_steady() -> bool:
            now = self.watch.latest()
            seen.append(
                (int(now.under_replicated), int(now.under_min_isr), int(now.offline))
            )
            return len(seen) >= STEADY and len(set(seen[-STEADY:])) == 1

        self._until(are_steady, "the counts are steady")
        return seen[-1]

    def _described(self, topic: str) -> list[Any]:
        [found] = self._ask(lambda admin: tools.described(admin, topic))
        partitions: list[Any] = found["partitions"]
        return partitions

    def _ask(self, question: Callable[[Any], Any]) -> Any:
        """The answer of any broker; the one that was asked may just have died."""
        from kafka.errors import KafkaError

        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                with closing(self.admin()) as admin:
                    return question(admin)
            except (KafkaError, OSError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(LOOK_SECONDS)

    # -- at the start, and at the end

    def _make(
        self, topic: str, replicas: Sequence[Sequence[int]], configs: dict[str, str]
    ) -> None:
        from kafka.admin import NewTopic

        assignment = dict(enumerate(map(list, replicas)))
        with closing(self.admin()) as admin:
            admin.create_topics(
                [NewTopic(topic, replica_assignments=assignment, topic_configs=configs)]
            )
            admin.wait_for_topics([topic], int(PATIENCE_SECONDS * 1000))

    def _fill(self, megabytes: int) -> None:
        from kafka import KafkaProducer

        value = random.Random(16).randbytes(RECORD_BYTES)
        with closing(KafkaProducer(bootstrap_servers=self.bootstrap)) as producer:
            for number in range(len(ORDERS)):
                for _ in range(megabytes * MB // RECORD_BYTES):
                    producer.send("orders", value=value, partition=number)
            producer.flush()

    def _until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {PATIENCE_SECONDS:.0f} s for this: {what}")
            self.watch.refresh()
            time.sleep(LOOK_SECONDS)

    def close(self) -> None:
        """Ends the customers and the brokers, and removes their data."""
        if RunningCluster._latest is self:
            RunningCluster._latest = None
        atexit.unregister(self.close)
        self._ends.close()


class Customers:
    """A customer orders every 20 ms; the group billing reads what they order."""

    def __init__(self, bootstrap: Sequence[str]) -> None:
        self._closed = threading.Event()
        self._threads = [
            threading.Thread(target=each, args=(list(bootstrap),), daemon=True)
            for each in (self._order, self._bill)
        ]
        for thread in self._threads:
            thread.start()

    def _order(self, bootstrap: list[str]) -> None:
        from kafka import KafkaProducer
        from kafka.errors import KafkaError

        producer = KafkaProducer(bootstrap_servers=bootstrap)
        with suppress(KafkaError):  # the cluster or the kernel has ended
            for number in count(1):
                if self._closed.wait(ORDER_SECONDS):
                    break
                key, value = b"%d" % (number % 97), b"%d" % number
                producer.send("orders", key=key, value=value)
            producer.close(timeout=1)

    def _bill(self, bootstrap: list[str]) -> None:
        from kafka import KafkaConsumer
        from kafka.errors import KafkaError

        consumer = KafkaConsumer(
            "orders",
            bootstrap_servers=bootstrap,
            group_id="billing",
            auto_offset_reset="latest",
            auto_commit_interval_ms=500,
        )
        while not self._closed.is_set():
            with suppress(KafkaError):  # its broker may have died
                consumer.poll(timeout_ms=200)
        with suppress(KafkaError):
            consumer.close(autocommit=False)

    def close(self) -> None:
        self._closed.set()
        for thread in self._threads:
            thread.join(10)
