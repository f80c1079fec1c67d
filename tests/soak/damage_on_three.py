"""Every file of one broker out of three, damaged while it is down: is a record lost?

    python -m tests.soak.damage_on_three [--seed 1]

Three brokers hold a topic; one of them, which leads it or follows, stops cleanly or is
killed. One of its files is damaged, and it starts again. Then it must

    refuse   with one line; with the undamaged file put back it starts; or
    start    and be whole again by itself, or have never been otherwise.

And then every acknowledged record is on all three, and the cluster takes another one.
Of a node alone, and of the same files in Apache Kafka, see damage.py and
damage_on_both.py.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

from minikafka import Cluster
from minikafka.clients.errors import KafkaError
from tests.simulation.replication_schedules import QUICK, contents

STOPS, ROLES = ("clean stop", "kill -9"), ("leader", "follower")
DAMAGES = ("flip", "cut", "empty", "delete", "swap")
NODES = (1, 2, 3)
RECORDS = 30
SMALL = {"internal.segment.bytes": 1000, "index.interval.bytes": 150}
SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": 3000}
HEALING_S = 40

Case = tuple[str, str, str, str]  # stop, role, path, damage


class Three:
    """A cluster with a topic of a few segments, of which one broker is down."""

    def __init__(self, stop: str, role: str) -> None:
        self.cluster = Cluster(brokers=3, seed=5, configs=QUICK | SNAPSHOTS)
        configs = {"min.insync.replicas": 2, **SMALL}
        self.cluster.create_topic("orders", replication_factor=3, configs=configs)
        self.cluster.create_topic("others", replication_factor=3)
        self.acknowledged = self.send(RECORDS)
        self.cluster.run(seconds=8)  # checkpoints are written
        leader = self.cluster.leader("orders")
        self.node = (
            leader if role == "leader" else next(n for n in NODES if n != leader)
        )
        self.process = self.cluster.brokers[self.node]
        if stop == "clean stop":
            self.cluster.stop(self.node)
            self.cluster.run_until(lambda: self.process.state == "down")
        else:
            self.cluster.crash(self.node)
        self.disk = self.process.disk

    def send(self, count: int) -> dict[int, str]:
        producer = self.cluster.producer(acks="all")
        values = [f"value {number}" for number in range(count)]
        found = {}
        for value in values:
            future = producer.send("orders", value=value)
            producer.flush()
            found[future.get().offset] = value
        return found

    def paths(self) -> list[str]:
        return [path for path in self.disk.files() if ".lock" not in path]

    def damage(self, path: str, how: str, random: Random) -> bytes | None:
        """What the file held; None if this damage changes nothing."""
        before = self.disk.read(path)
        after: bytes | None = before
        if how == "flip" and before:
            at = random.randrange(len(before))
            flipped = before[at] ^ 1 << random.randrange(8)
            after = before[:at] + bytes([flipped]) + before[at + 1 :]
        elif how == "cut" and before:
            after = before[: random.randrange(len(before))]
        elif how == "empty":
            after = b""
        elif how == "swap":
            after = next(self._siblings(path), before)
        if how == "delete":
            self.disk.remove(path)
        elif after == before or after is None:
            return None
        else:
            self.disk.write_atomic(path, after)
        return before

    def _siblings(self, path: str) -> Iterator[bytes]:
        """Of the same kind: first in the same folder, then elsewhere, then another
        node's.
        """
        folder, _, name = path.rpartition("/")
        kind = name.partition(".")[2] if name[:20].isdigit() else name
        for other in self.paths():
            if (
                other != path
                and other.endswith(kind)
                and other.rpartition("/")[0] == folder
            ):
                yield self.disk.read(other)
        for other in self.paths():
            if other != path and other.endswith(kind):
                yield self.disk.read(other)
        for node in NODES:
            disk = self.cluster.brokers[node].disk
            if node != self.node and disk.exists(path):
                yield disk.read(path)

    def outcome(self, path: str, before: bytes) -> str:
        """refused, whole, or what is wrong."""
        words = "whole"
        self.cluster.restart(self.node)
        try:
            self.cluster.run_until(self._is_over, HEALING_S)
            if self.process.state == "down":
                words = (
                    self.process.broker.why_failed or "it is down, and doesn't say why"
                )
                if "\n" in words or not self.process.broker.why_failed:
                    return f"broken: {words}"
                words = "refused"
                self.disk.write_atomic(path, before)
                self.cluster.restart(self.node)
                self.cluster.run_until(self._is_over, HEALING_S)
            self.acknowledged |= self.send(1)
            self.cluster.run_until(self._is_over, HEALING_S)
            return next(self._wrong(), words)
        except KafkaError as error:
            return f"broken: {error}"

    def _is_over(self) -> bool:
        return self.process.state == "down" or self._is_healed()

    def _is_healed(self) -> bool:
        if not all(self.cluster.brokers[node].broker.ready for node in NODES):
            return False
        described = self.cluster.partition("orders", 0)
        replicas = [self._replica(node) for node in NODES]
        ends = {replica.log.log_end_offset for replica in replicas}
        unchecked = any(replica.log.unchecked for replica in replicas)
        return set(described.isr) == set(NODES) and len(ends) == 1 and not unchecked

    def _replica(self, node: int) -> Any:
        return self.cluster.brokers[node].broker.replicas.find_or_create("orders", 0)

    def _wrong(self) -> Iterator[str]:
        for node in NODES:
            replica = self._replica(node)
            has = dict(contents(replica, replica.log.log_end_offset))
            if has != self.acknowledged:
                missing = [offset for offset in self.acknowledged if offset not in has]
                yield (
                    f"broken: node {node} has {len(has)} records, without {missing[:5]}"
                )


def cases() -> list[Case]:
    """All of them: for each stop and role, each file that is there then."""
    found = []
    for stop in STOPS:
        for role in ROLES:
            paths = Three(stop, role).paths()
            found += [
                (stop, role, path, damage) for path in paths for damage in DAMAGES
            ]
    return found


def run(case: Case, seed: int) -> str | None:
    """How it ended; None if there is nothing to damage."""
    stop, role, path, damage = case
    three = Three(stop, role)
    before = three.damage(path, damage, Random(f"{seed} {case}"))
    return None if before is None else three.outcome(path, before)


def main() -> int:
    parser = argparse.ArgumentParser(prog="damage_on_three", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    seed = parser.parse_args().seed
    verdicts: Counter[str] = Counter()
    for case in cases():
        verdict = run(case, seed)
        if verdict is not None:
            verdicts[verdict.partition(":")[0]] += 1
            if verdict.startswith("broken"):
                print(", ".join(case), verdict, flush=True)
    print(dict(verdicts), flush=True)
    return 1 if verdicts["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
