"""The hostile day against the listener of the nodes: three of them on a virtual clock,
and strangers who know all that one can know (node_requests.py).

While it lasts they may hold up elections as long as they like: who reaches that
listener can. But no node stops, and then, in peace, the three elect, and take a write
that all of them have; and so they do when they were started again from their disks, so
nothing that was stored poisons them. What was acknowledged is still there.
"""

from collections import deque
from random import Random
from typing import Any

from minikafka import Cluster
from minikafka.clients.future import Future
from minikafka.coordinators.transaction_states import Status
from minikafka.simulation.network import Link
from minikafka.simulation.processes import CONTROLLER_PORT, best_informed
from minikafka.wire.messages import API, decode_response
from tests.simulation.replication_schedules import QUICK
from tests.soak.core import KEPT_STEPS, heard
from tests.soak.frames import encoded, fitted, meaning, mutated, twisted
from tests.soak.node_requests import NODES, Known, new_request
from tests.soak.traffic import Send
from tests.soak.values import TOPICS, Values, World
from tests.soak.witness import CONFIGS, Failure

STRANGERS = 6  # connections to each node
BURST = 12  # requests at most, between which no time passes
WRITES_EVERY = 400  # requests
PEACE_S, PATIENCE_S = 10, 120  # virtual
PROPERTIES = QUICK | {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "metadata.log.max.record.bytes.between.snapshots": "20000",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
}
WITNESS, OWNER = "witness", "owner"
SAFE = CONFIGS | {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"}


class Stranger:
    """One connection to the listener of a node: a request at a time, sent again whoever
    it is taken for.
    """

    state = "up"
    silent = False

    def __init__(self, name: str, node: int, nodes: "Nodes") -> None:
        self.name = name
        self.node = node
        self.busy: Send | None = None
        self._nodes = nodes
        self._link: Link | None = None
        self._connections = 0

    def send(self, send: Send) -> None:
        network = self._nodes.cluster.network
        if self._link is None:
            self._connections += 1
            name = f"{self.name} #{self._connections}"
            self._link = network.connect(
                self, name, (f"broker-{self.node}", CONTROLLER_PORT)
            )
        self.busy = send
        network.request(self._link, [send.frame])

    def reply(self, link: Link, frame: bytearray) -> None:
        """The network calls it, and `lost`."""
        if link is self._link and self.busy is not None:
            send, self.busy = self.busy, None
            self._nodes.answered(send, frame)

    def lost(self, link: Link) -> None:
        if link is self._link:
            self._link = self.busy = None


class Count:
    """What fuzz.py asks of a driver's traffic."""

    sent = 0


class Nodes:
    """Three nodes under one seed's traffic. With every other seed somebody listens to
    their trace.
    """

    def __init__(self, seed: int) -> None:
        self.traffic = Count()
        self.steps: deque[tuple[int, Any]] = deque(maxlen=KEPT_STEPS)
        self.random = Random(seed)
        self.values = Values(World(self.random))
        self.answers = 0
        self.down: int | None = None
        self.cluster = Cluster(brokers=3, seed=seed, configs=PROPERTIES)
        self.cluster.listeners[:] = [] if seed % 2 else [heard]
        for name in TOPICS[:3]:
            self.cluster.create_topic(name, partitions=2, replication_factor=3)
        self.cluster.create_topic(
            WITNESS, partitions=1, replication_factor=3, configs=SAFE
        )
        # Without an id: whoever reaches that listener can write markers, and have any
        # producer's epoch pass by.
        self.producer = self.cluster.producer(acks="all", enable_idempotence=False)
        self.transaction("before")
        self.written: list[tuple[str, Future]] = []
        self.strangers = [
            Stranger(f"stranger {at}", NODES[at % 3], self)
            for at in range(3 * STRANGERS)
        ]

    def run(self, requests: int) -> None:
        """So many requests, then peace; and once more after a start from the disks.
        Failure, or what a node raises.
        """
        while self.traffic.sent < requests:
            self.burst(requests - self.traffic.sent)
            self.cluster.run(
                seconds=self.random.choice([0.002, 0.005, 0.01, 0.05, 0.3])
            )
            self.check()
            if self.traffic.sent // WRITES_EVERY > len(self.written):
                self.write()
            if self.random.random() < 0.002:
                self.cluster.run(seconds=self.random.choice([1, 3, 10]))
            if self.random.random() < (0.001 if self.down is None else 0.01):
                self.crash_or_restart()
        if self.down is not None:
            self.crash_or_restart()
        self.in_peace("after the hostile day")
        for node in NODES:
            (
                self.cluster.crash(node)
                if self.random.random() < 0.5
                else self.cluster.stop(node)
            )
        self.cluster.run(seconds=5)
        for node in NODES:
            self.cluster.restart(node)
        self.in_peace("after a start from the disks")

    def close(self) -> None:
        """Nothing is held that does not go by itself."""

    def summary(self) -> str:
        epoch = max(each.broker.quorum.epoch for each in self.cluster.brokers.values())
        return (
            f"{self.answers} answers, epoch {epoch}, {self.cluster.now_ms // 1000}"
            " virtual s"
        )

    # -- what befalls them

    def burst(self, most: int) -> None:
        idle = [each for each in self.strangers if each.busy is None]
        for stranger in self.random.sample(
            idle, min(len(idle), most, self.random.randint(1, BURST))
        ):
            self.send(stranger)

    def send(self, stranger: Stranger) -> None:
        brokers = [each.broker for each in self.cluster.brokers.values()]
        at = self.cluster.brokers[stranger.node].broker
        leader = max(
            brokers,
            key=lambda each: (each.quorum.is_leader, each.quorum.applied_offset),
        )
        ask, dice = new_request(Known(self.values, at, leader)), self.random.random()
        shape = API[ask.api].request.struct
        body = fitted(shape, ask.version, ask.body)
        if dice < 0.15:
            body = twisted(shape, ask.version, body, self.values)
        self.traffic.sent += 1
        frame = encoded(ask._replace(body=body), self.traffic.sent)
        if 0.15 <= dice < 0.2:
            frame = mutated(frame, self.random)
        send = Send(
            stranger.node,
            ask._replace(body=body),
            self.traffic.sent,
            frame,
            not 0.15 <= dice < 0.2,
        )
        self.steps.append((self.cluster.now_ms, send))
        stranger.send(send)

    def answered(self, send: Send, frame: bytearray) -> None:
        """Every answer is one that a client can read."""
        self.answers += 1
        version = meaning(send.ask, send.frame, send.intact).version
        _, answer = decode_response(send.ask.api, version, frame)
        if send.intact:
            self.values.world.learn(send.ask.api, send.ask.body, answer)

    def crash_or_restart(self) -> None:
        """While a node is away strangers may register in its place."""
        if self.down is None:
            self.down = self.random.choice(NODES)
            self.cluster.crash(self.down)
        else:
            node, self.down = self.down, None
            self.cluster.restart(node)

    # -- what must hold

    def check(self) -> None:
        for node, process in self.cluster.brokers.items():
            if node != self.down and (
                process.state != "up" or process.broker.why_failed
            ):
                raise Failure(
                    f"node {node} is {process.state}: {process.broker.why_failed}"
                )

    def write(self) -> Future:
        value = f"record {len(self.written)}"
        self.written.append((value, self.producer.send(WITNESS, value=value)))
        return self.written[-1][1]

    def in_peace(self, when: str) -> None:
        """They elect, and take a write; what was acknowledged is there."""
        self.cluster.run(seconds=PEACE_S)
        self.check()
        last = self.write()
        self.cluster.run_until(lambda: last.is_done, PATIENCE_S)
        if not last.succeeded():
            raise Failure(f"{when} the cluster takes no write: {last.exception}")
        self.cluster.run(seconds=PEACE_S)
        self.check()
        leaders = {
            each.broker.quorum.leader_id for each in self.cluster.brokers.values()
        }
        if len(leaders) != 1 or not leaders <= set(NODES):
            raise Failure(f"{when} the nodes follow {leaders}")
        registered = best_informed(self.cluster.brokers).image.brokers
        places = {node: each.endpoints for node, each in registered.items()}
        if places != {node: {"PLAINTEXT": (f"broker-{node}", 9092)} for node in NODES}:
            raise Failure(f"{when} these are registered: {places}")
        self.transaction(when)
        there = {record.value for record in self.cluster.records(WITNESS, 0)}
        gone = [
            value
            for value, future in self.written
            if future.succeeded() and value.encode() not in there
        ]
        if gone:
            raise Failure(f"{when} {gone} are gone")

    def transaction(self, when: str) -> None:
        """A transactional id of which nobody else knows goes on, and its transactions
        come to their end.
        """
        owner = self.cluster.producer(transactional_id=OWNER)
        owner.init_transactions()
        owner.begin_transaction()
        owner.send(TOPICS[0], value=f"committed {when}", partition=0)
        owner.commit_transaction()
        owner.close()
        self.cluster.run_until(self._has_completed, PATIENCE_S)

    def _has_completed(self) -> bool:
        for process in self.cluster.brokers.values():
            for shard in process.broker.transactions.shards.values():
                known = shard.state.transactions.get(OWNER)
                if known is not None and known.status is Status.COMPLETE_COMMIT:
                    return True
        return False
