"""Clumsy hands on a cluster of three, from a seed: whatever is done to it at whatever
moment, nobody meets a bug.

Brokers and clients are crashed, stopped, frozen, started again and cut off, a few
virtual ms apart, while clients send, read and write in transactions, and an
administrator changes and asks things. Each call may be refused, in words: with Kafka's
error, or because it makes no sense now. Anything else is a problem.
"""

from collections.abc import Callable
from random import Random
from typing import Any

from minikafka import Cluster
from minikafka.clients.errors import KafkaError
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from tests.simulation.replication_schedules import QUICK

TOPIC, GROUP = "orders", "billing"
STEPS, PROTOCOLS = 40, ("classic", "consumer")
PAUSES_MS = (0, 0, 1, 5, 10, 50, 100, 500, 3000, 35_000)
PROGRESS = {TopicPartition(TOPIC, 0): OffsetAndMetadata(0, "")}


class World:
    """Three brokers, a producer that writes in transactions, a member of a group.
    random: decides what a hand does.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cluster = Cluster(brokers=3, seed=seed, configs=QUICK)
        self.cluster.create_topic(TOPIC, 2, replication_factor=3)
        self.producer = self.cluster.producer(acks="all", transactional_id="till")
        self.member = self.joined()
        self.producer.init_transactions()

    def joined(self) -> Any:
        protocol = self.random.choice(PROTOCOLS)
        return self.cluster.consumer(
            TOPIC, group_id=GROUP, auto_offset_reset="earliest", group_protocol=protocol
        )

    @property
    def broker(self) -> int:
        return self.random.choice((1, 2, 3))

    @property
    def process(self) -> Any:
        return self.random.choice((1, 2, 3, 1, 2, 3, self.producer, self.member))

    @property
    def other_topic(self) -> str:
        return f"other-{self.random.choice('abc')}"


HANDS: dict[str, Callable[[World], Any]] = {
    "crash": lambda world: world.cluster.crash(world.process),
    "lose power": lambda world: world.cluster.crash(world.broker, power=True),
    "go without a word": lambda world: world.cluster.crash(world.broker, silent=True),
    "stop": lambda world: world.cluster.stop(world.broker),
    "restart": lambda world: world.cluster.restart(world.process),
    "restart a broker": lambda world: world.cluster.restart(world.broker),
    "freeze": lambda world: world.cluster.freeze(world.process),
    "thaw": lambda world: world.cluster.thaw(world.process),
    "thaw a broker": lambda world: world.cluster.thaw(world.broker),
    "cut": lambda world: world.cluster.cut(world.member, world.broker),
    "cut brokers": lambda world: world.cluster.cut(1, world.random.choice((2, 3))),
    "reset": lambda world: world.cluster.reset(1, world.random.choice((2, 3))),
    "heal": lambda world: world.cluster.heal(),
    "send": lambda world: world.producer.send(TOPIC, value="x"),
    "begin": lambda world: world.producer.begin_transaction(),
    "send offsets": lambda world: world.producer.send_offsets_to_transaction(
        PROGRESS, world.member.group_metadata()
    ),
    "commit": lambda world: world.producer.commit_transaction(),
    "abort": lambda world: world.producer.abort_transaction(),
    "poll": lambda world: world.member.poll(timeout_ms=100),
    "commit offsets": lambda world: world.member.commit(timeout_ms=1000),
    "join": lambda world: world.joined().poll(timeout_ms=200),
    "create": lambda world: world.cluster.create_topic(
        world.other_topic, replication_factor=world.broker
    ),
    "delete": lambda world: world.cluster.delete_topic(world.other_topic),
    "add partitions": lambda world: world.cluster.create_partitions(
        TOPIC, 1 + world.broker
    ),
    "alter": lambda world: world.cluster.alter_configs(
        TOPIC, {"min.insync.replicas": world.broker}
    ),
    "delete records": lambda world: world.cluster.delete_records(TOPIC, 0, 1),
    "delete the group": lambda world: world.cluster.delete_group(GROUP),
    "alter offsets": lambda world: world.cluster.alter_offsets(
        GROUP, {TopicPartition(TOPIC, 0): 0}
    ),
    "groups": lambda world: world.cluster.groups(),
    "group": lambda world: world.cluster.group(GROUP),
    "lag": lambda world: world.cluster.lag(GROUP),
    "committed offsets": lambda world: world.cluster.committed_offsets(GROUP),
    "log offsets": lambda world: world.cluster.log_offsets(TOPIC, 0),
    "records": lambda world: world.cluster.records(TOPIC, 0),
    "leader": lambda world: world.cluster.leader(TOPIC),
}


class Schedule:
    """What the hands do, and how many virtual ms pass before the next: printable, the
    same for the same seed.
    """

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.seed = seed
        self.steps = [
            (random.choice(list(HANDS)), random.choice(PAUSES_MS)) for _ in range(STEPS)
        ]

    def __repr__(self) -> str:
        return f"Schedule({self.seed}): {self.steps}"


class Run:
    """One schedule. problems: the step that met something else than a refusal, if one
    did.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.problems: list[str] = []
        world = World(schedule.seed)
        for number, (hand, pause_ms) in enumerate(schedule.steps, 1):
            try:
                try:
                    HANDS[hand](world)
                except KafkaError:
                    pass  # refused
                world.cluster.run_ms(pause_ms)
            except Exception as error:
                self.problems.append(
                    f"step {number}, {hand}, at {world.cluster.now_ms} ms: {error!r}"
                )
                return
