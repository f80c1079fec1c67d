"""The processes on the network: brokers and clients, each of which may crash, freeze,
and start again.

A frozen process keeps its connections; messages wait until it goes on. A crash ends the
connections of a process.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any

from minikafka.broker.broker import Broker
from minikafka.broker.config import BrokerConfig
from minikafka.broker.effects import (
    Admitted,
    Frame,
    HangUp,
    Notice,
    Reconfigured,
    Request,
)
from minikafka.broker.peers import CONTROLLER_LISTENER
from minikafka.broker.turn import Turn
from minikafka.clients.connection import Client, Connect, Send
from minikafka.clients.errors import IllegalStateError
from minikafka.clients.metadata import Address
from minikafka.cluster.replica import Replica
from minikafka.simulation.clock import Clock
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.simulation.network import Link, Network
from minikafka.trace import Trace
from minikafka.wire.errors import KafkaError

if TYPE_CHECKING:
    from minikafka.clock import Now
    from minikafka.simulation.programs import Program


CONTROLLER_PORT = 9093  # the port on which brokers listen to each other


class Agenda:
    """Which process's tick is due next. Outdated entries are skipped when their time
    comes.
    """

    def __init__(self) -> None:
        self._due: list[tuple[int, int, Process]] = []
        self._added = 0

    def add(self, process: "Process") -> None:
        self._added += 1
        process.number, process.agenda = self._added, self
        if process.deadline is not None:
            self.put(process, process.deadline)

    def put(self, process: "Process", at_ms: int) -> None:
        heapq.heappush(self._due, (at_ms, process.number, process))

    def next(self) -> "Process | None":
        """Among those due first, the process that has been there longest."""
        while self._due and self._due[0][2].deadline != self._due[0][0]:
            heapq.heappop(self._due)
        return self._due[0][2] if self._due else None


class Process:
    """state: "up", "frozen" or "down". deadline: when tick() is due, or None.

    silent: it went down with its machine, so nobody is told. watchers: the programs
    that wait for this process, and the functions that tell them that something has
    changed.
    """

    def __init__(self, name: str, clock: Clock, network: Network, trace: Trace) -> None:
        self.name = name
        self.clock = clock
        self.network = network
        self.trace = trace
        self.state = "up"
        self.silent = False
        self.number = 0
        self.agenda: Agenda | None = None
        self.watchers: dict[Program, Callable[[], None]] = {}
        self._deadline: int | None = None
        self.skew_ms = 0  # how far the wall clock is off
        self._inbox: deque[Callable[[], None]] = deque()

    @property
    def deadline(self) -> int | None:
        return self._deadline

    @deadline.setter
    def deadline(self, at_ms: int | None) -> None:
        if at_ms != self._deadline:
            self._deadline = at_ms
            if at_ms is not None and self.agenda is not None:
                self.agenda.put(self, at_ms)

    def now(self) -> "Now":
        return self.clock.now(self.skew_ms)

    def changed(self) -> None:
        for watcher in self.watchers.values():
            watcher()

    def crash(self, silent: bool = False) -> None:
        if self.state != "down":
            self.silent = silent
            self._go_down("NodeCrashed")

    def _go_down(self, how: str | None = None) -> None:
        self.state, self.deadline = "down", None
        self._inbox.clear()
        self.vanish()
        self.network.vanish(self, self.silent)  # type: ignore[arg-type]
        if how is not None:
            self._emit(how)
            self.changed()

    def freeze(self) -> None:
        if self.state == "up":
            self.state, self.deadline = "frozen", None
            self._emit("NodeFrozen")

    def thaw(self) -> None:
        if self.state != "frozen":
            return
        self.state = "up"
        self._emit("NodeThawed")
        while self._inbox:
            self._inbox.popleft()()
        # something that arrived meanwhile may have let a node go that was about to stop
        if self.state == "up":
            self.tick()
        self.changed()

    def tick(self) -> None:
        """Let the timers that are due go off."""

    def vanish(self) -> None:
        """Drop everything that a crash takes away."""

    def _when_up(self, action: Callable[[], None]) -> None:
        if self.state == "frozen":
            self._inbox.append(action)
        elif self.state == "up":
            action()

    def _emit(self, kind: str) -> None:
        self.trace.now = self.clock.now_ms
        self.trace.cause = None
        if self.trace:
            self.trace.emit(kind)


class Inbound:
    """A client's connection to a broker, as that broker's turn works with it
    (broker/turn.py). str(): its name in traces.
    """

    def __init__(self, link: Link, process: "BrokerProcess") -> None:
        self.requests: deque[bytearray] = deque()
        self.is_paused = False  # a simulated client reads all its answers
        self._link = link
        self._process = process

    def __str__(self) -> str:
        return self._link.name

    def answer(self, frame: Frame | None) -> None:
        network = self._process.network
        if frame is None:
            network.unanswered(self._link)
        else:
            network.answer(self._link, list(frame))

    def refuse(self, why: str) -> None:
        self._process.network.close(self._link, by_caller=False)
        self._process.forget(self._link)


class BrokerProcess(Process):
    """A broker with its disk. The disk outlives a crash, with everything that the
    operating system had accepted.
    """

    def __init__(
        self,
        node_id: int,
        config: BrokerConfig,
        random: Random,
        clock: Clock,
        network: Network,
        trace: Trace,
        address: Address,
        skew_ms: int,
    ) -> None:
        super().__init__(f"broker {node_id}", clock, network, trace)
        self.node_id = node_id
        self.skew_ms = skew_ms
        self.disk = MemoryDisk()
        self._config = config
        self._random = random
        self._inbound: dict[Link, Inbound] = {}  # from clients
        self._lanes: dict[tuple[int, str], Link] = {}  # to other nodes
        self._asked: dict[Link, list[Request]] = {}
        self._connections = 0
        network.listen(address, self)
        network.listen((address[0], CONTROLLER_PORT), self)
        self._start()

    def _start(self) -> None:
        self.broker = Broker(
            self.node_id, self._config, self.disk, self._random, self.trace
        )
        self._turn = Turn(self.broker, self, self.now)
        self._leaving = False
        self.broker.start(self.now())
        self._turn.run()

    def lose_power(self, silent: bool = False) -> None:
        """The same as a crash, but everything that was not on disk yet is lost
        or torn.
        """
        self.crash(silent)
        self.disk.lose_power(self._random)

    def stop(self) -> None:
        """A clean stop: others take over first."""
        if self.state == "up":
            self._leaving = True
            self.broker.leave(self.now())
            self._turn.run()

    def restart(self) -> None:
        self.crash()
        self.state, self.silent = "up", False
        self._emit("NodeRestarted")
        self._start()

    def vanish(self) -> None:
        self.disk.crash()
        for held in (self._inbound, self._lanes, self._asked):
            held.clear()

    def tick(self) -> None:
        self.broker.tick(self.now())
        self._turn.run()

    # called by the network, for clients

    def accept(self, link: Link) -> bool:
        if self.state == "down":
            return False

        def connected() -> None:
            inbound = self._inbound[link] = Inbound(link, self)
            listener = (
                CONTROLLER_LISTENER if link.port == CONTROLLER_PORT else "PLAINTEXT"
            )
            self._turn.connected(inbound, listener, link.caller.name)

        self._when_up(connected)
        return True

    def request(self, link: Link, frame: bytearray) -> None:
        def received() -> None:
            # otherwise it came after the broker had closed the connection, or had been
            # restarted
            if link in self._inbound:
                self._turn.receive(self._inbound[link], [frame])

        self._when_up(received)

    def hung_up(self, link: Link) -> None:
        def disconnected() -> None:
            if link in self._inbound:
                self.forget(link)
                self._turn.run()

        self._when_up(disconnected)

    def forget(self, link: Link) -> None:
        """A client's connection is closed."""
        self._turn.gone(self._inbound.pop(link))

    # called by the network, for other nodes

    def reply(self, link: Link, frame: bytearray) -> None:
        def received() -> None:
            if link in self._asked:
                request = self._asked[link].pop(0)
                self.broker.receive_reply(request.node, request.lane, frame, self.now())
                self._turn.run()

        self._when_up(received)

    def lost(self, link: Link) -> None:
        def gone() -> None:
            for request in self._asked.pop(link, ()):
                self._lanes.pop((request.node, request.lane), None)
                self.broker.request_failed(
                    request.node, request.lane, request.correlation_id, self.now()
                )
            self._turn.run()

        self._when_up(gone)

    # called by a turn

    def holds(self) -> bool:
        return False

    def turn_ended(self, touched: Iterable[Any]) -> None:
        if self.broker.life.why_failed is not None:
            self.crash()
            return
        self.deadline = self.broker.next_deadline()
        if self._leaving and self.broker.may_stop:
            self._leaving = False
            self.broker.stop(self.now())
            self._turn.run()
            if self.state != "down":
                self._go_down("NodeShutDown")

    def carry_out(
        self, effect: Request | HangUp | Notice | Admitted | Reconfigured
    ) -> None:
        if isinstance(effect, Request):
            self._ask(effect)
        elif isinstance(effect, HangUp):
            link = self._lanes.pop((effect.node, effect.lane))
            del self._asked[link]
            self.network.close(link, by_caller=True)
        elif isinstance(effect, Notice):
            error = effect.error
            if error is not None and not isinstance(error, KafkaError):
                # a bug of ours, which a lesson or a test must not ignore
                raise error

    def _ask(self, request: Request) -> None:
        lane = request.node, request.lane
        link = self._lanes.get(lane)
        if link is None or link not in self._asked:
            self._connections += 1
            name = f"{self.name} {request.lane} #{self._connections}"
            link = self._lanes[lane] = self.network.connect(
                self, name, self.broker.peers.addresses[request.node]
            )
            self._asked[link] = []
        self._asked[link].append(request)
        self.network.request(link, list(request.frame))


def best_informed(brokers: Mapping[int, BrokerProcess]) -> Broker:
    """A broker whose view can be shown: among those that are up and ready, the one that
    has seen most of the metadata.
    """
    up = [
        process.broker
        for process in brokers.values()
        if process.state != "down" and process.broker.ready
    ]
    if not up:
        raise IllegalStateError("no broker is up: cluster.restart(1) starts it again")
    return max(up, key=lambda broker: broker.quorum.applied_offset)


def leading(brokers: Mapping[int, BrokerProcess], topic: str, number: int) -> Replica:
    """The replica that leads a partition, according to the brokers that are up; if none
    leads, one that could.
    """
    partition = best_informed(brokers).image.topics[topic].partitions[number]
    up = [
        node
        for node, process in brokers.items()
        if process.state != "down" and process.broker.ready
    ]
    for node in (partition.leader, *partition.isr, *partition.replicas):
        replica = (
            brokers[node].broker.replicas.find_or_create(topic, number)
            if node in up
            else None
        )
        if replica is not None:
            return replica
    raise IllegalStateError(
        f"no broker that has {topic}-{number} is up:"
        f" cluster.restart({partition.replicas[0]})"
    )


class ClientProcess(Process):
    """A client's core in its own process."""

    def __init__(
        self, name: str, core: Client, clock: Clock, network: Network, trace: Trace
    ) -> None:
        super().__init__(name, clock, network, trace)
        self.core = core
        self._links: dict[str, Link] = {}

    def restart(self, core: Client) -> None:
        """Start a new core, which continues the numbering of connections. The old one
        crashes, unless it was closed.
        """
        if self.core.closed:
            self._go_down()
        else:
            self.crash()
        self.state, self.silent = "up", False
        core.connections = self.core.connections
        self.core = core
        self._emit("NodeRestarted")

    def vanish(self) -> None:
        self.core.closed = True
        self._links.clear()

    def tick(self) -> None:
        self.core.tick(self.now())
        self.turn()

    def turn(self) -> None:
        """Carry out the core's effects. Call it after every call of the core."""
        outbox, self.core.outbox = self.core.outbox, []
        for item in outbox:
            if isinstance(item, Connect):
                self._links[item.connection] = self.network.connect(
                    self, item.connection, item.address
                )
            elif isinstance(item, Send):
                if item.connection in self._links:
                    self.network.request(self._links[item.connection], item.frame)
            else:
                link = self._links.pop(item.connection, None)
                if link is not None:
                    self.network.close(link, by_caller=True)
        self.deadline = self.core.next_deadline()
        self.changed()

    # called by the network

    def reply(self, link: Link, frame: bytearray) -> None:
        def received() -> None:
            self.core.receive_reply(link.name, frame, self.now())
            self.turn()

        self._when_up(received)

    def lost(self, link: Link) -> None:
        def gone() -> None:
            self._links.pop(link.name, None)
            self.core.connection_lost(link.name, self.now())
            self.turn()

        self._when_up(gone)
