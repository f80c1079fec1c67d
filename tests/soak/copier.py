"""Exactly once under kill -9: `python -m tests.soak.copier --kills 50`.

A process copies numbers from a topic to another (tests/soak/copying.py: it reads,
squares, and writes in transactions, its offsets with them) while it is killed and
started again, and with every fifth kill a broker of three too: the one that leads what
it reads, what it writes, its group or its transactions. In the end the output, read
with read_committed, is the input, each number once and in order in every partition. On
minikafka, or on Apache Kafka (--apache).
"""

import random
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.clients.test_confluent_kafka import finish
from tests.conformance.raw import Connection
from tests.soak.copying import GROUP, RECONNECT, SOURCE, TARGET, copied
from tests.soak.failover import (
    REPLICATED,
    Cluster,
    parser_of_both,
    running,
    wait_until_in_sync,
)
from tests.soak.kill import Wrong, report

PARTITIONS = 3
AHEAD = 20_000  # the feeder waits when the copier is so many numbers behind
PATIENCE_S = 180
BROKER_DIES_EVERY = 5  # kills
ITS_TOPICS = (SOURCE, TARGET, "__consumer_offsets", "__transaction_state")


class Copier:
    """The process. died: how often it ended without being killed, because it had to
    start anew.
    """

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap, self.died, self.killed = bootstrap, 0, 0
        self.said = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the copier)
        self._start()

    def _start(self) -> None:
        command = [sys.executable, "-m", "tests.soak.copying", self.bootstrap]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stderr=self.said
        )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.killed += 1
        self._start()

    def revive(self) -> None:
        """What a supervisor does."""
        if self.process.poll() is not None:
            self.died += 1
            self._start()

    def last_words(self) -> str:
        self.said.seek(0)
        return self.said.read().decode(errors="replace")[-2000:]

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.said.close()


class Feeder(threading.Thread):
    """Writes 0, 1, 2 ... to the source, each to a partition in turn; no faster than the
    copy is read.
    """

    def __init__(self, bootstrap: str, copy: "Copy") -> None:
        super().__init__(daemon=True)
        self.copy, self.written = copy, 0
        self._over = threading.Event()
        options = {
            "enable.idempotence": True,
            "linger.ms": 5,
            "message.timeout.ms": 1000 * PATIENCE_S,
        }
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, **RECONNECT, **options}
        )

    def run(self) -> None:
        while not self._over.is_set():
            if self.written - self.copy.count > AHEAD:
                self._producer.poll(0.05)
                continue
            for _ in range(100):
                self._producer.produce(
                    SOURCE, b"%d" % self.written, partition=self.written % PARTITIONS
                )
                self.written += 1
            self._producer.poll(0.02)

    def stop(self) -> None:
        self._over.set()
        self.join()
        if self._producer.flush(PATIENCE_S):
            raise Wrong("not everything was written to the source in the end")


class Copy(threading.Thread):
    """Reads the target all the time, committed records only, and compares each with
    what must come next.
    """

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self.count, self.wrong = 0, ""
        self._next = dict(enumerate(range(PARTITIONS)))
        self._over = threading.Event()
        options = {
            "group.id": "unused",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
        }
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap, **RECONNECT, **options}
        )
        self._consumer.assign(
            [TopicPartition(TARGET, partition, 0) for partition in range(PARTITIONS)]
        )

    def run(self) -> None:
        with closing(self._consumer):
            while not self._over.is_set() and not self.wrong:
                for message in self._consumer.consume(1000, 0.1):
                    if message.error() is None:
                        self._compare(
                            message.partition(), message.offset(), message.value()
                        )

    def _compare(self, partition: int, offset: int, value: bytes) -> None:
        wanted = copied(b"%d" % self._next[partition])
        if value != wanted and not self.wrong:
            self.wrong = (
                f"partition {partition} has {value!r} at offset {offset}, where"
                f" {wanted!r} belongs"
            )
        self._next[partition] += PARTITIONS
        self.count += 1

    def wait_for(self, count: int, copier: Copier) -> None:
        """Until so many records came in all."""
        until = time.monotonic() + PATIENCE_S
        while self.count < count and not self.wrong:
            copier.revive()
            if time.monotonic() > until:
                raise Wrong(
                    f"the copy stands still at {self.count} of {count} records:"
                    f" {copier.last_words()}"
                )
            self._over.wait(0.01)
        if self.wrong:
            raise Wrong(self.wrong)

    def stop(self) -> None:
        self._over.set()
        self.join()
        if self.wrong:
            raise Wrong(self.wrong)


def leader_of(bootstrap: str, topic: str, partition: int) -> int:
    admin, leader = AdminClient({"bootstrap.servers": bootstrap, **RECONNECT}), -1
    while leader < 0:  # nobody leads while an election is on
        leader = admin.list_topics(topic, 30).topics[topic].partitions[partition].leader
    return leader


def coordinator_of(bootstrap: str, key_type: int) -> int:
    """Who coordinates the copier's group (0) or its transactions (1)."""
    with Connection(bootstrap.partition(",")[0]) as broker:
        while True:
            answer = broker.ask(
                "FindCoordinator", 4, key_type=key_type, coordinator_keys=[GROUP]
            )
            if answer.coordinators[0].node_id >= 0:
                return answer.coordinators[0].node_id


def uncommitted(bootstrap: str) -> int:
    """How many records of the target a reader of uncommitted records sees."""
    options = {
        "group.id": "unused",
        "isolation.level": "read_uncommitted",
        "enable.auto.commit": False,
    }
    seen, finished = 0, 0
    with closing(
        Consumer(
            {
                "bootstrap.servers": bootstrap,
                "enable.partition.eof": True,
                **options,
                **RECONNECT,
            }
        )
    ) as consumer:
        consumer.assign(
            [TopicPartition(TARGET, partition, 0) for partition in range(PARTITIONS)]
        )
        while finished < PARTITIONS:
            messages = consumer.consume(1000, 1)
            finished += sum(message.error() is not None for message in messages)
            seen += sum(message.error() is None for message in messages)
    return seen


def kill_one_of_its_brokers(cluster: Cluster, dice: random.Random) -> int:
    """When all replicas are in sync."""
    wait_until_in_sync(cluster.bootstrap, ITS_TOPICS)
    if dice.random() < 0.5:
        broker = leader_of(
            cluster.bootstrap, dice.choice((SOURCE, TARGET)), dice.randrange(PARTITIONS)
        )
    else:
        broker = coordinator_of(cluster.bootstrap, dice.choice((0, 1)))
    cluster.kill(broker)
    return broker


def copy(kills: int, seed: int, apache: bool) -> str:
    """So many kills; a summary, or Wrong."""
    dice, brokers = random.Random(seed), 0
    with running(apache) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **RECONNECT})
        finish(
            admin.create_topics(
                [
                    NewTopic(name, PARTITIONS, 3, config=REPLICATED)
                    for name in (SOURCE, TARGET)
                ]
            )
        )
        copied_so_far = Copy(cluster.bootstrap)
        feeder, copier = (
            Feeder(cluster.bootstrap, copied_so_far),
            Copier(cluster.bootstrap),
        )
        try:
            feeder.start()
            copied_so_far.start()
            copied_so_far.wait_for(500, copier)
            for number in range(1, kills + 1):
                began = time.monotonic()
                copied_so_far.wait_for(
                    copied_so_far.count + dice.randint(1, 3000), copier
                )
                also = ""
                if number % BROKER_DIES_EVERY == 0:
                    also = (
                        f", and broker {kill_one_of_its_brokers(cluster, dice)} with it"
                    )
                    brokers += 1
                copier.kill()
                seconds = time.monotonic() - began
                print(
                    f"kill {number} of {kills} at {copied_so_far.count} records,"
                    f" {seconds:.1f} s{also}",
                    flush=True,
                )
            feeder.stop()
            copied_so_far.wait_for(feeder.written, copier)
        finally:
            copier.stop()
        copied_so_far.stop()
        seen = uncommitted(cluster.bootstrap)
    return (
        f"{'Apache Kafka' if apache else 'minikafka'}: {copier.killed} kills of the"
        f" copier, {brokers} of a broker: {feeder.written} records, each copied once"
        f" and in order; it started anew {copier.died} times by itself;"
        f" {seen - feeder.written} records of transactions that were taken back, seen"
        " by no reader of committed ones"
    )


def main() -> int:
    args = parser_of_both("copier", __doc__, kills=10, seed=1).parse_args()
    return report("copier", copy, args.kills, args.seed, args.apache)


if __name__ == "__main__":
    sys.exit(main())
