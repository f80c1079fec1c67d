"""What runs on the network: brokers and clients, each a process that may crash, freeze, and start again.

A frozen process keeps its connections; what arrives waits until it goes on. A crashed one takes its connections along.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from minikafka.broker.broker import Broker
from minikafka.broker.config import BrokerConfig
from minikafka.broker.effects import Close, Done, Notice, Reply
from minikafka.clients.connection import Client, Connect, Send
from minikafka.clients.metadata import Address
from minikafka.simulation.clock import Clock
from minikafka.simulation.network import Link, Network
from minikafka.storage.disk import MemoryDisk
from minikafka.trace import Trace
from minikafka.wire.errors import KafkaError

if TYPE_CHECKING:
    from minikafka.clock import Now
    from minikafka.simulation.programs import Program


class Agenda:
    """Which process's tick is due next. Entries that no longer hold are passed over when their time comes."""

    def __init__(self) -> None:
        self._due: list[tuple[int, int, Process]] = []
        self._added = 0

    def add(self, process: Process) -> None:
        self._added += 1
        process.number, process.agenda = self._added, self
        if process.deadline is not None:
            self.put(process, process.deadline)

    def put(self, process: Process, at_ms: int) -> None:
        heapq.heappush(self._due, (at_ms, process.number, process))

    def next(self) -> Process | None:
        """Among those due first, the one that is there longest."""
        while self._due and self._due[0][2].deadline != self._due[0][0]:
            heapq.heappop(self._due)
        return self._due[0][2] if self._due else None


class Process:
    """state: "up", "frozen" or "down". deadline: when tick() is due, or None.

    watchers: the programs that wait for this process, and what tells them that something has changed.
    """

    def __init__(self, name: str, clock: Clock, network: Network, trace: Trace) -> None:
        self.name = name
        self.clock = clock
        self.network = network
        self.trace = trace
        self.state = "up"
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

    def now(self) -> Now:
        return self.clock.now(self.skew_ms)

    def changed(self) -> None:
        for tell in self.watchers.values():
            tell()

    def crash(self) -> None:
        if self.state == "down":
            return
        self.state, self.deadline = "down", None
        self._inbox.clear()
        self.vanish()
        self.network.vanish(self)  # type: ignore[arg-type]
        self._tell("NodeCrashed")
        self.changed()

    def freeze(self) -> None:
        if self.state == "up":
            self.state, self.deadline = "frozen", None
            self._tell("NodeFrozen")

    def thaw(self) -> None:
        if self.state != "frozen":
            return
        self.state = "up"
        self._tell("NodeThawed")
        while self._inbox:
            self._inbox.popleft()()
        self.tick()
        self.changed()

    def tick(self) -> None:
        """Timers."""

    def vanish(self) -> None:
        """Drop what a crash takes away."""

    def _when_up(self, action: Callable[[], None]) -> None:
        if self.state == "frozen":
            self._inbox.append(action)
        elif self.state == "up":
            action()

    def _tell(self, kind: str) -> None:
        self.trace.now = self.clock.now_ms
        self.trace.cause = None
        if self.trace:
            self.trace.emit(kind)


class BrokerProcess(Process):
    """A broker with its disk. The disk outlives a crash; what the operating system had taken is on it."""

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
        self._requests: dict[Link, deque[bytearray]] = {}  # the first one is inside the broker
        self._links: dict[str, Link] = {}
        network.listen(address, self)
        self._start()

    def _start(self) -> None:
        self.broker = Broker(self.node_id, self._config, self.disk, self._random, self.trace)
        self.broker.start(self.now())
        self._turn()

    def restart(self) -> None:
        self.crash()
        self.state = "up"
        self._tell("NodeRestarted")
        self._start()

    def vanish(self) -> None:
        self.disk.crash()
        self._requests.clear()
        self._links.clear()

    def tick(self) -> None:
        self.broker.tick(self.now())
        self._turn()

    # the network calls these

    def accept(self, link: Link) -> bool:
        if self.state == "down" or not self.broker.ready:
            return False

        def connected() -> None:
            self._requests[link] = deque()
            self._links[link.name] = link
            self.broker.connected(link.name, "PLAINTEXT", link.caller.name)

        self._when_up(connected)
        return True

    def request(self, link: Link, frame: bytearray) -> None:
        def received() -> None:
            if link not in self._requests:  # it came after the broker had closed the connection, or had been restarted
                return
            self._requests[link].append(frame)
            if len(self._requests[link]) == 1:
                self.broker.receive(link.name, frame, self.now())
                self._turn()

        self._when_up(received)

    def hung_up(self, link: Link) -> None:
        def disconnected() -> None:
            if self._requests.pop(link, None) is not None:
                del self._links[link.name]
                self.broker.disconnected(link.name)
                self._turn()

        self._when_up(disconnected)

    def _turn(self) -> None:
        """Carry out what the broker decided; a finished request lets the next one of its connection in."""
        while self.broker.outbox:
            outbox, self.broker.outbox = self.broker.outbox, []
            for item in outbox:
                if isinstance(item, Notice):
                    if item.error is not None and not isinstance(item.error, KafkaError):
                        raise item.error  # a bug of ours: a lesson or a test must not go on over it
                    continue
                assert isinstance(item, (Reply, Done, Close)), f"one broker has no peers: {item}"
                link = self._links[item.connection]  # type: ignore[index]
                if isinstance(item, Close):
                    self.network.close(link, by_caller=False)
                    del self._requests[link], self._links[link.name]
                    self.broker.disconnected(link.name)
                    continue
                if isinstance(item, Reply):
                    self.network.answer(link, list(item.frame))
                else:
                    self.network.unanswered(link)
                waiting = self._requests[link]
                waiting.popleft()
                if waiting:
                    self.broker.receive(link.name, waiting[0], self.now())
        self.deadline = self.broker.next_deadline()
        if self.broker.stopped is not None:
            self.crash()


class ClientProcess(Process):
    """A client's core in a process of its own."""

    def __init__(self, name: str, core: Client, clock: Clock, network: Network, trace: Trace) -> None:
        super().__init__(name, clock, network, trace)
        self.core = core
        self._links: dict[str, Link] = {}

    def restart(self, core: Client) -> None:
        """A new core takes over; it goes on numbering connections."""
        self.crash()
        self.state = "up"
        core.connections = self.core.connections
        self.core = core
        self._tell("NodeRestarted")

    def vanish(self) -> None:
        self.core.closed = True
        self._links.clear()

    def tick(self) -> None:
        self.core.tick(self.now())
        self.turn()

    def turn(self) -> None:
        """Carry out what the core decided. Call it after every call of the core."""
        outbox, self.core.outbox = self.core.outbox, []
        for item in outbox:
            if isinstance(item, Connect):
                self._links[item.connection] = self.network.connect(self, item.connection, item.address)
            elif isinstance(item, Send):
                if item.connection in self._links:
                    self.network.request(self._links[item.connection], item.frame)
            else:
                link = self._links.pop(item.connection, None)
                if link is not None:
                    self.network.close(link, by_caller=True)
        self.deadline = self.core.next_deadline()
        self.changed()

    # the network calls these

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
