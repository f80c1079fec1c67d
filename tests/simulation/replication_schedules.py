"""Random hours of a replicated cluster, from a seed: what goes wrong and when, what is written, and what must hold.

Five brokers, a topic with three replicas of which two must be in sync, producers with acks=all that resend without
repeating (KIP-98), a reader that starts over now and then. Brokers crash, freeze, and lose sight of each other; then
all faults end, and the cluster has a while to heal.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from minikafka import Cluster
from minikafka.clients.errors import KafkaError
from minikafka.wire.records import batches, decode_batch

BROKERS, PARTITIONS = 5, 3
FAULTY_S, HEALING_S = 40, 60
TOPIC = "orders"
# As `serve` has them, so that a minute holds many failovers.
QUICK = {
    "broker.heartbeat.interval.ms": 200,
    "broker.session.timeout.ms": 1500,
    "controller.quorum.election.timeout.ms": 300,
    "controller.quorum.fetch.timeout.ms": 600,
    "replica.fetch.backoff.ms": 100,
    "replica.fetch.wait.max.ms": 100,
    "replica.lag.time.max.ms": 2000,
    "offsets.topic.num.partitions": 1,
}


class Schedule:
    """What happens, second by second; printable, and the same for the same seed."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.seed = seed
        self.steps: dict[int, list[tuple[str, Any]]] = {}
        at = 2
        while at < FAULTY_S:
            kind = random.choice(("crash", "crash", "freeze", "cut", "isolate"))
            one, other = random.sample(range(1, BROKERS + 1), 2)
            length_s = random.randint(1, 8)
            self._add(at, kind, (one, other))
            self._add(at + length_s, {"crash": "restart", "freeze": "thaw"}.get(kind, "heal"), (one, other))
            at += random.randint(1, 6)

    def _add(self, at: int, kind: str, nodes: tuple[int, int]) -> None:
        self.steps.setdefault(min(at, FAULTY_S), []).append((kind, nodes))

    def __repr__(self) -> str:
        return f"Schedule({self.seed}): " + "; ".join(f"{at} s {steps}" for at, steps in sorted(self.steps.items()))


class Run:
    """One schedule on one cluster. problems: what must not have happened, a sentence each."""

    def __init__(self, schedule: Schedule) -> None:
        self.cluster = Cluster(brokers=BROKERS, seed=schedule.seed, configs=QUICK)
        self.acked: dict[int, list[tuple[int, str]]] = {number: [] for number in range(PARTITIONS)}
        self.sent = 0
        self.seen: dict[tuple[int, int], str] = {}
        self.problems: list[str] = []
        configs = {"min.insync.replicas": "2"}
        self.cluster.create_topic(TOPIC, PARTITIONS, replication_factor=3, configs=configs)
        self.producers = [self.cluster.producer(client_id=name, acks="all", retries=1000) for name in ("p", "q")]
        self.waiting: list[tuple[int, str, Any]] = []
        self.consumer = self.cluster.consumer(TOPIC, auto_offset_reset="earliest")
        for second in range(FAULTY_S + HEALING_S):
            for kind, nodes in schedule.steps.get(second, ()):
                self.fault(kind, *nodes)
            if second < FAULTY_S + HEALING_S - 30:
                self.produce(second)
            self.read()
            self.cluster.run_ms(500)
        self.settle()
        self.look()

    def fault(self, kind: str, one: int, other: int) -> None:
        cluster = self.cluster
        process = cluster._brokers[one]
        if kind == "crash":
            cluster.crash(one)
        elif kind == "restart" and process.state == "down":
            cluster.restart(one)
        elif kind == "freeze" and process.state == "up":
            cluster.freeze(one)
        elif kind == "thaw" and process.state == "frozen":
            cluster.thaw(one)
        elif kind == "cut":
            cluster.cut(one, other)
        elif kind == "isolate":
            for node in range(1, BROKERS + 1):
                if node != one:
                    cluster.cut(one, node)
        elif kind == "heal":
            cluster.heal()

    def produce(self, second: int) -> None:
        for number, producer in enumerate(self.producers):
            for partition in range(PARTITIONS):
                value = f"{number}-{second}-{self.sent}"
                self.sent += 1
                self.waiting.append((partition, value, producer.send(TOPIC, value=value, partition=partition)))

    def read(self) -> None:
        for partition, records in self.consumer.poll(timeout_ms=500).items():
            for record in records:
                self._note(partition.partition, record.offset, record.value.decode())

    def _note(self, partition: int, offset: int, value: str) -> None:
        known = self.seen.setdefault((partition, offset), value)
        if known != value:
            self.problems.append(f"{TOPIC}-{partition} offset {offset} was {known}, and is {value}")

    def settle(self) -> None:
        """The faults are over: all brokers are up and in sync within the time that was left."""
        for node, process in self.cluster._brokers.items():
            if process.state != "up" or not process.broker.ready:
                self.problems.append(f"broker {node} is not back: {process.state}")
        for number in range(PARTITIONS):
            partition = self.cluster._topics._described(TOPIC, number)
            if len(partition.isr) != len(partition.replicas) or partition.leader < 0:
                self.problems.append(f"{TOPIC}-{number} has not healed: {partition}")
        for partition, value, future in self.waiting:
            try:
                if not future.is_done:
                    self.problems.append(f"{value} was neither acknowledged nor refused")
                else:
                    self.acked[partition].append((future.get().offset, value))
            except KafkaError:
                pass  # refused: it may be there or not

    def look(self) -> None:
        """The logs, and the trace."""
        for number in range(PARTITIONS):
            logs = {}
            for node in self.cluster._topics._described(TOPIC, number).replicas:
                replica = self.cluster._brokers[node].broker.replicas.find(TOPIC, number)
                if replica is None:
                    self.problems.append(f"broker {node} has no {TOPIC}-{number}")
                else:
                    logs[node] = contents(replica, replica.high_watermark)
            longest = max(logs.values(), key=len)
            for node, log in logs.items():
                if log != longest[: len(log)]:
                    self.problems.append(f"{TOPIC}-{number}: broker {node} has another log")
            self._look_at_log(number, dict(longest))
        epochs = Counter()
        for event in self.cluster.trace:
            if event.kind == "LeaderElected":
                epochs[event.detail["topic"], event.detail["partition"], event.detail["leader_epoch"], event.node] = 1
            elif event.kind == "ControllerElected":
                epochs["the quorum", 0, event.detail["epoch"], event.node] = 1
        leaders = Counter(key[:3] for key in epochs)
        self.problems += [f"two leaders of {key}" for key, count in leaders.items() if count > 1]

    def _look_at_log(self, number: int, log: dict[int, str]) -> None:
        for offset, value in self.acked[number]:
            if log.get(offset) != value:
                self.problems.append(f"{TOPIC}-{number} lost {value}, acknowledged at {offset}: {log.get(offset)}")
        twice = [value for value, count in Counter(log.values()).items() if count > 1]
        if twice:
            self.problems.append(f"{TOPIC}-{number} has {twice[:3]} twice")
        for (partition, offset), value in self.seen.items():
            if partition == number and log.get(offset) != value:
                self.problems.append(f"{TOPIC}-{number} offset {offset} was read as {value}: {log.get(offset)} now")


def contents(replica: Any, up_to: int) -> list[tuple[int, str]]:
    """(offset, value) of all records below an offset."""
    found: list[tuple[int, str]] = []
    offset = replica.log.log_start_offset
    while offset < up_to:
        data = bytearray().join(replica.log.read(offset, 1 << 20, up_to))
        for header, batch in batches(data):
            found += [(record.offset, bytes(record.value).decode()) for record in decode_batch(batch)]
            offset = header.next_offset
    return [(offset, value) for offset, value in found if offset < up_to]
