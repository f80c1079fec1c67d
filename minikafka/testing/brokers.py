"""The brokers, in a thread of this process with an event loop of its own.

Each is a node as `minikafka serve` runs it, on sockets of the loopback interface, with
its disk in memory: so it starts in milliseconds, its "machine" may lose power, and
nothing is left when the process of the tests is killed.
"""

import asyncio
import random
import socket
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple

from minikafka.broker.broker import Broker
from minikafka.broker.config import BrokerConfig
from minikafka.broker.listeners import PLAINTEXT, SASL_PLAINTEXT
from minikafka.cluster.metadata import Endpoint
from minikafka.server.addresses import (
    CannotServe,
    listen_socket,
    named,
    port_to_listen_on,
)
from minikafka.server.checks import new_cluster_id
from minikafka.server.connection import Connection
from minikafka.server.defaults import MOST_VOTERS, PROPERTIES, PROPERTIES_OF_MANY
from minikafka.server.node_handshake import made_secret
from minikafka.server.shell import Server
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.testing.moving_loop import NS, MovingLoop
from minikafka.trace import Event, Trace
from minikafka.wire.errors import KafkaError

if TYPE_CHECKING:
    from minikafka.broker.kafka_versions import KafkaVersion
    from minikafka.cluster.users import Credential, UserMechanism
    from minikafka.server.locks import Locks

    # where it listens to clients, by name, and to the other nodes
    Sockets = tuple[dict[str, socket.socket], socket.socket | None]

LOOPBACK = "127.0.0.1"
USER, PASSWORD = "tester", "tester-secret"  # who may log in
LOGIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
MOST_CONNECTIONS = 10_000
# generous, for a busy machine: a call that takes longer would never end
PATIENCE_SECONDS = 60.0
DAY_MS = "86400000"
# Internal topics are small: a group's first member doesn't wait for fifty partitions.
SMALL = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
}
# nobody is there who could miss it, so time may be moved by days at little cost
ALONE = {"broker.heartbeat.interval.ms": DAY_MS, "broker.session.timeout.ms": DAY_MS}


class Node:
    """One broker: its ports and its disk, which outlive it, and the server while it
    runs. listeners: by name. new_connection(node): makes what makes the connections of
    its clients. trace: of all its lives.
    """

    def __init__(
        self,
        number: int,
        config: BrokerConfig,
        listeners: "dict[str, socket.socket]",
        of_nodes: "socket.socket | None",
        secret: bytes | None,
        new_connection: "MakeConnections",
        trace: Trace,
    ) -> None:
        self.number = number
        self.state = "down"
        self.touched = False
        self.disk = MemoryDisk()
        self.server: Server | None = None
        self.config = config
        self._sockets: Sockets | None = (listeners, of_nodes)
        self._addresses = addresses_of(listeners)
        self._of_nodes = None if of_nodes is None else of_nodes.getsockname()[:2]
        self._secret = secret
        self._new_connection = new_connection
        self._trace = trace
        self._broker: Broker | None = None  # of its latest life
        self._running: asyncio.Task[None] | None = None
        # what stood still with it
        self.when_thawed: list[Callable[[], object]] = []

    @property
    def name(self) -> str:
        """As the trace names it."""
        return self._trace.node

    def address(self, listener: str) -> str:
        """host:port, as clients are told."""
        return named(self.config.advertised[listener])

    async def start(self, cut_off: Sequence[int] = ()) -> None:
        """Returns when clients may come. cut_off: nodes to which nothing passes.
        Errors: CannotServe.
        """
        loop = asyncio.get_running_loop()
        assert isinstance(loop, MovingLoop)
        listeners, of_nodes = self._listening()
        self._broker = broker = Broker(
            self.number, self.config, self.disk, random.SystemRandom(), self._trace
        )
        self.server = server = Server(
            broker,
            max_connections=MOST_CONNECTIONS,
            secret=self._secret,
            locks=self._locks(),
            clock=loop.moved.now,
            new_connection=self._new_connection(self),
        )
        for other in cut_off:
            server.cut(other)
        ready = asyncio.Event()
        self._running = asyncio.create_task(server.run(listeners, ready.set, of_nodes))
        self.state = "up"
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait(
            (self._running, waiting), return_when=asyncio.FIRST_COMPLETED
        )
        if not ready.is_set():
            waiting.cancel()
            self.state = "down"
            await self._running  # may raise
            raise CannotServe(broker.why_failed or f"broker {self.number} has stopped")

    def _locks(self) -> "Locks | None":
        protocols = {self.config.protocol(name) for name in self._addresses}
        if protocols == {PLAINTEXT}:
            return None
        # loads what only those need who have locks
        from minikafka.server.locks import Locks

        return Locks(self.config)

    def _listening(self) -> "Sockets":
        """Its sockets; after a restart the same ports again."""
        kept, self._sockets = self._sockets, None
        if kept is not None:
            return kept
        of_nodes = None if self._of_nodes is None else listen_socket(*self._of_nodes)
        listeners = {}
        for name, address in self._addresses.items():
            listeners[name] = port_to_listen_on(*address)
        return listeners, of_nodes

    def crash(self, power: bool) -> None:
        """It hears and says nothing any more. power: with its machine, so that what was
        not flushed is lost.
        """
        if self.state == "down" or self.server is None:
            return
        self.state = "down"
        self.touched = True
        self.tell("NodeCrashed")
        self.server.crash()
        self.server = None
        self.when_thawed.clear()
        if power:
            self.disk.lose_power(random.Random(self.number))
        else:
            self.disk.crash()

    async def ended(self) -> None:
        """Its ports are free, after a crash."""
        if self._running is not None:
            await self._running

    def freeze(self) -> None:
        if self.state == "up" and self.server is not None:
            self.state = "frozen"
            self.touched = True
            self.tell("NodeFrozen")
            self.server.freeze()

    def thaw(self) -> None:
        if self.state == "frozen" and self.server is not None:
            self.state = "up"
            self.tell("NodeThawed")
            self.server.thaw()
            waiting, self.when_thawed = self.when_thawed, []
            for go_on in waiting:
                go_on()

    def tell(self, kind: str, **detail: Any) -> None:
        """Emit what a test has done to it, for those who listen."""
        if self._trace:
            loop = asyncio.get_running_loop()
            assert isinstance(loop, MovingLoop)
            self._trace.now = loop.moved.now().monotonic_ms
            self._trace.cause = None
            self._trace.emit(kind, **detail)

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of a topic that it knows, or knew when it crashed."""
        if self._broker is None:
            return None
        return self._broker.image.topic_names.get(topic_id)


# given a node, what makes the connections of its clients
MakeConnections = Callable[[Node], Callable[..., Connection]]
Listening = list[Callable[[Event], None]]  # called with each trace event


class Brokers:
    """All brokers of a cluster. Any thread but the loop's own may call."""

    def __init__(self, nodes: dict[int, Node]) -> None:
        self.nodes = nodes
        self._is_touched = False
        self._cuts: set[frozenset[int]] = set()
        self._loop = MovingLoop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="minikafka", daemon=True
        )

    def start(self) -> None:
        """Returns when all of them run. Errors: CannotServe."""
        self._thread.start()
        try:
            self.run(self._start_all())
        except BaseException:
            self.close()
            raise

    async def _start_all(self) -> None:
        await asyncio.gather(*(node.start() for node in self.nodes.values()))

    def run(
        self,
        doing: Coroutine[Any, Any, Any],
        seconds: float | None = PATIENCE_SECONDS,
    ) -> Any:
        """Run it in the loop; returns what it returns. Errors: TimeoutError, after
        `seconds`.
        """
        assert threading.current_thread() is not self._thread
        done: Future[Any] = asyncio.run_coroutine_threadsafe(doing, self._loop)
        return done.result(seconds)

    # -- what may happen to a broker

    @property
    def touched(self) -> bool:
        """Whether something has happened to one, or their time has been moved."""
        return self._is_touched or any(each.touched for each in self.nodes.values())

    def crash(self, number: int, power: bool) -> None:
        self.run(self._crash(self.nodes[number], power))

    async def _crash(self, node: Node, power: bool) -> None:
        node.crash(power)
        await node.ended()

    def restart(self, number: int) -> None:
        """A broker that isn't down is killed first."""
        node = self.nodes[number]
        self.crash(number, power=False)
        self.run(self._restart(node))

    async def _restart(self, node: Node) -> None:
        await node.ended()
        node.tell("NodeRestarted")
        await node.start(self.cuts_of(node.number))

    def freeze(self, number: int) -> None:
        self.run(in_loop(self.nodes[number].freeze))

    def thaw(self, number: int) -> None:
        self.run(in_loop(self.nodes[number].thaw))

    def cut(self, one: int, other: int) -> None:
        self._is_touched = True
        self._cuts.add(frozenset((one, other)))
        self.run(self._for_each_way(one, other, Server.cut, "LinkCut"))

    def mend(self, one: int, other: int) -> None:
        self._cuts.discard(frozenset((one, other)))
        self.run(self._for_each_way(one, other, Server.mend, "LinkHealed"))

    def cuts_of(self, number: int) -> list[int]:
        """The brokers from which one is cut off."""
        found: list[int] = []
        for pair in self._cuts:
            if number in pair:
                found += pair - {number}
        return found

    async def _for_each_way(
        self, one: int, other: int, do: Callable[[Server, int], None], kind: str
    ) -> None:
        ends = f"broker {one}", f"broker {other}"
        self.nodes[one].tell(kind, one=ends[0], other=ends[1])
        for from_, to in ((one, other), (other, one)):
            server = self.nodes[from_].server
            if server is not None:
                do(server, to)

    def mend_all(self) -> None:
        """All are up, and reach each other."""
        for one, other in [tuple(pair) for pair in self._cuts]:
            self.mend(one, other)
        for number in self.nodes:
            self.thaw(number)
            if self.nodes[number].state == "down":
                self.restart(number)

    # -- time

    def now_ms(self) -> int:
        """Milliseconds on the brokers' clock, as in the trace."""
        return self._loop.moved.now().monotonic_ms

    def advance(self, seconds: float) -> None:
        """Move the brokers' time on. Returns when everything that was due by then is
        done.
        """
        self._is_touched = True
        self.run(self._advance(round(seconds * NS)), None)

    async def _advance(self, ns: int) -> None:
        self.nodes[1].tell("TimeMoved", seconds=ns / NS)
        there = asyncio.Event()
        self._loop.moved.move(ns, there.set)
        await there.wait()

    # -- the end

    def close(self) -> None:
        """Ends all of them as kill -9 does; returns when nothing is left."""
        if self._loop.is_closed():
            return
        try:
            self.run(self._crash_all())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _crash_all(self) -> None:
        for node in self.nodes.values():
            node.crash(power=False)  # none is left to wonder where another one is
        for node in self.nodes.values():
            await node.ended()
        this = asyncio.current_task()
        left = [task for task in asyncio.all_tasks() if task is not this]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await asyncio.sleep(0)  # closes the last transports


async def in_loop(do: Callable[[], None]) -> None:
    do()


class Wanted(NamedTuple):
    """What the nodes of a new cluster are to be. sockets: where each listens to clients,
    by the listener's name. told: the addresses that clients are told. properties: of
    each, by Kafka's names. users: who may log in by SCRAM. files: what stands at the
    URLs that properties name. cluster_id: None: a new one. kafka_version: the older
    Kafka that clients are to see.
    """

    sockets: dict[int, dict[str, socket.socket]]
    told: Mapping[int, dict[str, Endpoint]]
    properties: Mapping[int, Mapping[str, str]]
    users: "Sequence[tuple[UserMechanism, Credential]]" = ()
    files: Mapping[str, str] = {}
    cluster_id: str | None = None
    kafka_version: "KafkaVersion | None" = None


def nodes_here(
    count: int,
    properties: Mapping[str, str],
    sasl: str | None,
    new_connection: MakeConnections,
    listening: Listening,
) -> dict[int, Node]:
    """A new cluster for the tests of this process. properties: for all nodes. sasl: the
    mechanism by which clients log in, on a listener of their own; None: they needn't.
    Errors: ValueError for a property that can't be.
    """
    names = [PLAINTEXT] if sasl is None else [PLAINTEXT, SASL_PLAINTEXT]
    logins, users = ({}, []) if sasl is None else logins_by(sasl)
    sockets = {}
    for number in range(1, count + 1):
        sockets[number] = {name: port_to_listen_on(LOOPBACK, 0) for name in names}
    told = {number: addresses_of(each) for number, each in sockets.items()}
    properties_of = {number: {**logins, **properties} for number in sockets}
    wanted = Wanted(sockets, told, properties_of, users)
    return nodes_of(wanted, new_connection, listening)


def nodes_of(
    wanted: Wanted, new_connection: MakeConnections, listening: Listening
) -> dict[int, Node]:
    """The nodes of a new cluster. listening: called with each trace event. Errors:
    ValueError for a property that can't be.
    """
    numbers = [*wanted.sockets]
    is_alone = len(numbers) == 1
    of_nodes = {}
    if not is_alone:
        of_nodes = {number: listen_socket(LOOPBACK, 0) for number in numbers}
    peers: dict[int, Endpoint] = {
        number: listener.getsockname()[:2] for number, listener in of_nodes.items()
    }
    ours = ALONE if is_alone else PROPERTIES_OF_MANY
    cluster_id = wanted.cluster_id or new_cluster_id()
    secret = None if is_alone else made_secret()
    nodes = {}
    for number, listeners in wanted.sockets.items():
        try:
            config = BrokerConfig(
                wanted.told[number],
                {**ours, **PROPERTIES, **SMALL, **wanted.properties[number]},
                peers,
                tuple(numbers)[:MOST_VOTERS] if peers else (),
                cluster_id,
                wanted.users,
                wanted.files,
                wanted.kafka_version,
            )
        except KafkaError as error:
            for each in (*listeners.values(), *of_nodes.values()):
                each.close()
            raise ValueError(f"config: {error.message}") from error
        nodes[number] = Node(
            number,
            config,
            listeners,
            of_nodes.get(number),
            secret,
            new_connection,
            Trace(f"broker {number}", listening),
        )
    return nodes


def addresses_of(listeners: Mapping[str, socket.socket]) -> dict[str, Endpoint]:
    return {name: sock.getsockname()[:2] for name, sock in listeners.items()}


def logins_by(
    sasl: str,
) -> "tuple[dict[str, str], list[tuple[UserMechanism, Credential]]]":
    """The properties of a listener on which USER logs in by this mechanism, and the
    users of SCRAM. Errors: ValueError for a mechanism that isn't there.
    """
    if sasl not in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        raise ValueError(f"sasl: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, not {sasl!r}")
    properties = {"sasl.enabled.mechanisms": sasl}
    if sasl == "PLAIN":
        config = "listener.name.sasl_plaintext.plain.sasl.jaas.config"
        properties[config] = f'{LOGIN_MODULE} user_{USER}="{PASSWORD}";'
        return properties, []
    # loads what only those need who have users
    from minikafka.server.typed import scram_user

    return properties, [scram_user(f"{sasl}=[name={USER},password={PASSWORD}]")]
