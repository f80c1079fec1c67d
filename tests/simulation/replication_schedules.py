"""Random hours of a replicated cluster, from a seed: what goes wrong and when, what is
written, and what must hold.

Five brokers, a topic with three replicas of which two must be in sync, producers with
acks=all that resend without repeating (KIP-98), a reader. Brokers crash, lose power, go
without a word, stop, freeze, lose sight of each other, and answer late; their clocks
differ; disks flip bits or lose them while their broker is down. Then all faults end,
and the cluster has a while to heal.
"""

from collections import Counter
from random import Random
from typing import Any

from minikafka import Cluster
from minikafka.clients.errors import KafkaError
from minikafka.clients.structs import OffsetAndMetadata
from minikafka.faults import Delay, Skew
from minikafka.storage.file_names import LOG, file_name
from minikafka.wire.errors import Error
from minikafka.wire.records import batches, check_crc, decode_batch
from tests.simulation.damaged_files import damage

BROKERS, PARTITIONS = 5, 3
VOTERS = (1, 2, 3)
BASE_OFFSET_BYTES = 8  # a batch begins with it
FAULTY_S, HEALING_S = 40, 60
TOPIC, GROUP = "orders", "billing"
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


ENDS = {
    "crash": "restart",
    "silent": "restart",
    "power": "restart",
    "stop": "restart",
    "freeze": "thaw",
    "reset": "",
}
KINDS = (
    "crash",
    "crash",
    "silent",
    "power",
    "stop",
    "freeze",
    "cut",
    "isolate",
    "reset",
    "slow",
)
MOST_SKEW_MS = 5000


class Schedule:
    """What happens, second by second; printable, and the same for the same seed."""

    def __init__(
        self, seed: int, steps: dict[int, list[tuple[str, Any]]] | None = None
    ) -> None:
        """steps: what happens, if chance is not to say."""
        random = Random(seed)
        self.seed = seed
        self.steps: dict[int, list[tuple[str, Any]]] = steps or {}
        skews = [
            Skew(node, random.randint(-MOST_SKEW_MS, MOST_SKEW_MS))
            for node in range(1, BROKERS + 1)
        ]
        self.plan: list[Delay | Skew] = [*skews]
        at = FAULTY_S if steps else 2
        while at < FAULTY_S:
            kind = random.choice(KINDS)
            one, other = random.sample(range(1, BROKERS + 1), 2)
            length_s = random.randint(1, 8)
            if kind == "slow":
                slow = Delay(
                    one, other, random.randint(50, 2000), 1000 * at, 1000 * length_s
                )
                self.plan.append(slow)
            else:
                self._add(at, kind, (one, other))
                self._add(at + length_s, ENDS.get(kind, "heal"), (one, other))
            at += random.randint(1, 6)
        if not steps:
            self._add_damage(Random(f"disks {seed}"))

    def _add_damage(self, random: Random) -> None:
        """Now and then a disk is damaged while its broker is down. A random source of
        its own: all else stays as it is.
        """
        at = random.randint(3, 12)
        while at < FAULTY_S - 5:
            kind = random.choice(("damage", "damage", "lag"))
            nodes = random.randint(1, BROKERS), random.randrange(1 << 30)
            self._add(at, kind, nodes)
            self._add(
                at + random.randint(2, 5), "rot" if kind == "lag" else "restart", nodes
            )
            at += random.randint(3, 8)

    def _add(self, at: int, kind: str, nodes: tuple[int, int]) -> None:
        self.steps.setdefault(min(at, FAULTY_S), []).append((kind, nodes))

    def __repr__(self) -> str:
        steps = "; ".join(f"{at} s {steps}" for at, steps in sorted(self.steps.items()))
        return f"Schedule({self.seed}): {self.plan}; {steps}"


class Run:
    """One schedule on one cluster. problems: what must not have happened, a sentence
    each.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.cluster = Cluster(
            brokers=BROKERS, seed=schedule.seed, configs=QUICK, faults=schedule.plan
        )
        self.acked: dict[int, list[tuple[int, str]]] = {
            number: [] for number in range(PARTITIONS)
        }
        self.sent = 0
        self.seen: dict[tuple[int, int], str] = {}
        self.problems: list[str] = []
        configs = {"min.insync.replicas": "2"}
        self.cluster.create_topic(
            TOPIC, PARTITIONS, replication_factor=3, configs=configs
        )
        self.producers = [
            self.cluster.producer(client_id=name, acks="all", retries=1000)
            for name in ("p", "q")
        ]
        self.waiting: list[tuple[int, str, Any]] = []
        self.consumer = self.cluster.consumer(TOPIC, auto_offset_reset="earliest")
        # A JoinGroup to a coordinator that went without a word waits for
        # max.poll.interval.ms and 5 s, as in Java
        by_hand = {
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "max_poll_interval_ms": 20_000,
        }
        self.member = self.cluster.consumer(TOPIC, group_id=GROUP, **by_hand)
        self.committed: dict[Any, int] = {}
        brokers = self.brokers(self.cluster, {TOPIC: PARTITIONS})
        self.misplaced = brokers.misplaced
        for second in range(FAULTY_S + HEALING_S):
            for kind, nodes in schedule.steps.get(second, ()):
                brokers.strike(kind, *nodes)
            brokers.put_back()
            if second % 8 == 0:
                brokers.end_rot(are_faults_over=second >= FAULTY_S)
            if second < FAULTY_S + HEALING_S - 30:
                self.produce(second)
            self.read()
            self.cluster.run_ms(500)
        self.settle()
        self.look()

    def brokers(self, cluster: Cluster, topics: dict[str, int]) -> "Brokers":
        return Brokers(cluster, topics)

    def produce(self, second: int) -> None:
        for number, producer in enumerate(self.producers):
            for partition in range(PARTITIONS):
                value = f"{number}-{second}-{self.sent}"
                self.sent += 1
                self.waiting.append(
                    (
                        partition,
                        value,
                        producer.send(TOPIC, value=value, partition=partition),
                    )
                )

    def read(self) -> None:
        for partition, records in self._polled(self.consumer, 500).items():
            for record in records:
                self._note(partition.partition, record.offset, record.value.decode())
        for partition, records in self._polled(self.member, 100).items():
            offset = records[-1].offset + 1
            self.member.commit_async(
                {partition: OffsetAndMetadata(offset)}, self._committed
            )

    def _polled(self, consumer: Any, timeout_ms: int) -> dict[Any, list[Any]]:
        """A reader sees that a checksum is wrong, and asks again from where it is."""
        try:
            return consumer.poll(timeout_ms=timeout_ms)
        except KafkaError as error:
            if error.error is not Error.CORRUPT_MESSAGE:
                raise
            for partition in sorted(consumer.assignment()):
                consumer.seek(partition, consumer.position(partition))
            return {}

    def _committed(self, offsets: Any, answer: Any) -> None:
        """A commit counts once it was acknowledged."""
        if not isinstance(answer, Exception):
            for partition, told in offsets.items():
                self.committed[partition] = max(
                    self.committed.get(partition, 0), told.offset
                )

    def _note(self, partition: int, offset: int, value: str) -> None:
        if value in self.misplaced:
            return
        known = self.seen.setdefault((partition, offset), value)
        if known != value:
            self.problems.append(
                f"{TOPIC}-{partition} offset {offset} was {known}, and is {value}"
            )

    def settle(self) -> None:
        """The faults are over: all brokers are up and in sync within the time that was
        left.
        """
        for node, process in self.cluster.brokers.items():
            if process.state != "up" or not process.broker.ready:
                self.problems.append(f"broker {node} is not back: {process.state}")
        for number in range(PARTITIONS):
            partition = self.cluster.partition(TOPIC, number)
            if len(partition.isr) != len(partition.replicas) or partition.leader < 0:
                self.problems.append(f"{TOPIC}-{number} has not healed: {partition}")
        for partition, value, future in self.waiting:
            try:
                if not future.is_done:
                    self.problems.append(
                        f"{value} was neither acknowledged nor refused"
                    )
                else:
                    self.acked[partition].append((future.get().offset, value))
            except KafkaError:
                pass  # refused: it may be there or not

    def look(self) -> None:
        """The logs, the group, and the trace."""
        is_there = GROUP in self.cluster.groups()
        now = self.cluster.committed_offsets(GROUP) if is_there else {}
        if not self.committed:
            self.problems.append(f"{GROUP} has never committed")
        for partition, offset in self.committed.items():
            if now.get(partition, 0) < offset:
                self.problems.append(
                    f"{GROUP} had committed {offset} of {partition}, and has"
                    f" {now.get(partition)}"
                )
        for number in range(PARTITIONS):
            logs = {}
            for node in self.cluster.partition(TOPIC, number).replicas:
                replica = self.cluster.brokers[node].broker.replicas.find_or_create(
                    TOPIC, number
                )
                if replica is None:
                    self.problems.append(f"broker {node} has no {TOPIC}-{number}")
                    continue
                try:
                    logs[node] = contents(replica, replica.high_watermark)
                except KafkaError as error:
                    self.problems.append(
                        f"{TOPIC}-{number} of broker {node} is damaged: {error}"
                    )
            longest = max(logs.values(), key=len, default=[])
            for node, log in logs.items():
                if log != longest[: len(log)]:
                    self.problems.append(
                        f"{TOPIC}-{number}: broker {node} has another log"
                    )
            self._look_at_log(number, dict(longest))
        epochs = Counter()
        for event in self.cluster.trace:
            if event.kind == "LeaderElected":
                epochs[
                    event.detail["topic"],
                    event.detail["partition"],
                    event.detail["leader_epoch"],
                    event.node,
                ] = 1
            elif event.kind == "ControllerElected":
                epochs["the quorum", 0, event.detail["epoch"], event.node] = 1
        leaders = Counter(key[:3] for key in epochs)
        self.problems += [
            f"two leaders of {key}" for key, count in leaders.items() if count > 1
        ]

    def _look_at_log(self, number: int, log: dict[int, str]) -> None:
        for offset, value in self.acked[number]:
            if log.get(offset) != value:
                self.problems.append(
                    f"{TOPIC}-{number} lost {value}, acknowledged at {offset}:"
                    f" {log.get(offset)}"
                )
        twice = [value for value, count in Counter(log.values()).items() if count > 1]
        if twice:
            self.problems.append(f"{TOPIC}-{number} has {twice[:3]} twice")
        for (partition, offset), value in self.seen.items():
            if partition == number and log.get(offset) != value:
                self.problems.append(
                    f"{TOPIC}-{number} offset {offset} was read as {value}:"
                    f" {log.get(offset)} now"
                )


class Brokers:
    """Lets the steps of a schedule happen to the brokers. topics: what must not lose a
    record, with their partitions.

    To the controller kill -9 is a loss of power, after which records may be missing
    (KIP-966). When one replica did lose its power, or a part of its disk, and then all
    have ended before they were in sync again, who led last leads, whatever it has: that
    is outside the promise, so the last of them is spared, from a clean stop and from
    damage, too. (Played on Apache Kafka 4.3.1: one of three replicas lost its power,
    one stopped cleanly, the leader died with the controller, and 19 of 20 acknowledged
    records were lost.)
    """

    def __init__(self, cluster: Cluster, topics: dict[str, int]) -> None:
        self._cluster, self._topics = cluster, topics
        self._died: set[int] = set()  # since all were in sync
        # replicas of the partitions of which one has lost its power since
        self._at_stake: list[set[int]] = []
        # Of followers: their leader, the path of its log, and its size when they died
        self._lagging: dict[int, tuple[int, str, int]] = {}
        # nodes on whose disks a bit flipped while they were up
        self._rotten: set[int] = set()
        # Values of records whose base offset has flipped. No checksum covers it, so a
        # reader of that leader finds them at another offset, as on Apache Kafka. A
        # follower doesn't, nor does the leader at its next start.
        self.misplaced: set[str] = set()
        # what a damaged file held, by node and path
        self._undamaged: dict[int, dict[str, bytes]] = {}
        # nodes whose disk is damaged before they start again
        self._to_damage: dict[int, Random] = {}

    def strike(self, kind: str, one: int, other: int) -> None:
        cluster = self._cluster
        process = cluster.brokers[one]
        if kind in ("crash", "silent", "power") or (
            kind == "stop" and process.state == "up"
        ):
            self._end(kind, one)
        elif kind == "damage" and process.state == "up":
            self._end_and_damage(one, Random(other))
        elif kind == "lag" and process.state == "up":
            self._let_lag(one, Random(other))
        elif kind == "rot":
            self._rot(one, Random(other))
        elif kind == "restart" and (process.state == "down" or process._leaving):
            self._restart(one)
        elif kind == "freeze" and process.state == "up":
            cluster.freeze(one)
        elif kind == "thaw" and process.state == "frozen":
            cluster.thaw(one)
        elif kind == "cut":
            cluster.cut(one, other)
        elif kind == "reset":
            cluster.reset(one, other)
        elif kind == "isolate":
            for node in range(1, BROKERS + 1):
                if node != one:
                    cluster.cut(one, node)
        elif kind == "heal":
            cluster.heal()

    def _end_and_damage(self, one: int, random: Random) -> None:
        """A clean stop, or kill -9, of a broker whose disk will be damaged. As when
        power is lost, the others have all that it has, and don't all end before it is
        whole again.
        """
        if not self._are_whole():
            return
        at_stake = self._replicas_beside(one)
        if one in VOTERS:
            at_stake.append(set(VOTERS))
        self._to_damage[one] = random
        self._end(random.choice(("stop", "crash", "silent")), one)
        self._at_stake = at_stake

    def _let_lag(self, one: int, random: Random) -> None:
        """A follower dies, and its leader's disk will flip a bit in what it comes back
        for.
        """
        followed = [
            (number, each)
            for number, each in enumerate(self._all())
            if one in each.replicas
        ]
        led = [(number, each.leader) for number, each in followed if each.leader != one]
        if self._are_whole() and led:
            number, leader = random.choice(led)
            path = f"{TOPIC}-{number}/{file_name(0, LOG)}"
            size = self._cluster.brokers[leader].disk.open(path).size
            self._end("crash", one)
            self._at_stake = [set(each.replicas) for _, each in followed]
            self._lagging[one] = leader, path, size

    def _rot(self, one: int, random: Random) -> None:
        leader, path, size = self._lagging.pop(one, (0, "", 0))
        if leader and not self._is_last(leader):
            data = self._cluster.brokers[leader].disk.open(path).data
            if len(data) > size:
                at = random.randrange(size, len(data))
                self._note_misplaced(data, size, at)
                data[at] ^= 1 << random.randrange(8)
                self._rotten.add(leader)
        if self._cluster.brokers[one].state == "down":
            self._cluster.restart(one)

    def _note_misplaced(self, data: bytes, begin: int, at: int) -> None:
        """Whether the byte that flips belongs to a batch's base offset. begin: of some
        batch before it.
        """
        for _, batch in batches(memoryview(data)[begin:]):
            if begin <= at < begin + BASE_OFFSET_BYTES:
                for record in decode_batch(batch):
                    self.misplaced.add(bytes(record.value).decode())
            begin += len(batch)

    def end_rot(self, are_faults_over: bool) -> None:
        """What nobody has asked for yet is found at the next start."""
        for node in [*self._rotten]:
            if are_faults_over or not self._is_last(node):
                self._died.add(node)
                self._cluster.crash(node)
                self._cluster.restart(node)
                self._rotten.discard(node)

    def _restart(self, one: int) -> None:
        process, random = self._cluster.brokers[one], self._to_damage.pop(one, None)
        if random is not None and process.state == "down":
            self._undamaged[one] = damage(process.disk, random)
        self._cluster.restart(one)

    def put_back(self) -> None:
        """A broker that refuses its damaged disk says so, and gets the undamaged file
        back.
        """
        for node, files in self._undamaged.items():
            process = self._cluster.brokers[node]
            if (
                files
                and process.state == "down"
                and process.broker.why_failed is not None
            ):
                for path, data in files.items():
                    process.disk.write_atomic(path, data)
                files.clear()
                self._cluster.restart(node)

    def _end(self, kind: str, one: int) -> None:
        whole = (kind == "power" or self._at_stake) and self._are_whole()
        if whole:
            self._died, self._at_stake = set(), []
        if self._is_last(one):
            return
        self._died.add(one)
        if kind == "stop":
            self._cluster.stop(one)
        elif kind == "power" and whole:
            # records that no other replica has are outside the promise
            self._at_stake = self._replicas_beside(one)
            self._cluster.crash(one, power=True, silent=True)
        else:
            self._cluster.crash(one, silent=kind == "silent")

    def _is_last(self, one: int) -> bool:
        """Whether all others that have a replica beside a damaged one have ended."""
        died = {*self._died, one}
        return any(replicas <= died for replicas in self._at_stake)

    def _are_whole(self) -> bool:
        """Whether all replicas are in sync, and all brokers there: one just restarted
        may still count as in sync.
        """
        brokers = self._cluster.brokers.values()
        if self._rotten or not all(
            each.state == "up" and each.broker.ready for each in brokers
        ):
            return False
        return all(len(each.isr) == len(each.replicas) for each in self._all())

    def _replicas_beside(self, one: int) -> list[set[int]]:
        """Of each partition of which this broker has a replica."""
        return [set(each.replicas) for each in self._all() if one in each.replicas]

    def _all(self) -> list[Any]:
        described = self._cluster.partition
        return [
            described(name, number)
            for name, count in self._topics.items()
            for number in range(count)
        ]


def contents(replica: Any, up_to: int) -> list[tuple[int, str]]:
    """(offset, value) of all records below an offset."""
    found: list[tuple[int, str]] = []
    offset = replica.log.log_start_offset
    while offset < up_to:
        data = bytearray().join(replica.log.read(offset, 1 << 20, up_to))
        for header, batch in batches(data):
            check_crc(batch, header)
            found += [
                (record.offset, bytes(record.value).decode())
                for record in decode_batch(batch)
            ]
            offset = header.next_offset
    return [(offset, value) for offset, value in found if offset < up_to]


def is_noticed(run, schedule):
    """Something that must hold doesn't, or a node stops rather than go on with a state
    that can't be.
    """
    try:
        return bool(run(schedule).problems)
    except AssertionError:
        return True
