"""Brokers that fail when they are told to, and whose time may be moved: what a test in
Python does with them directly (kafka.py), and one in any language over HTTP
(control.py).
"""

from collections.abc import Callable, Sequence
from typing import Any

from minikafka.broker.peers import CONTROLLER_LISTENER
from minikafka.server.connection import Connection, Shared
from minikafka.testing.brokers import Brokers, Listening, MakeConnections, Node
from minikafka.testing.faults import Active, Faults, WireFault
from minikafka.testing.heard import Heard
from minikafka.testing.meddling import MeddledConnection
from minikafka.testing.planned import Planned

DAY_S = 86_400.0
# by how much one call may move the time: it takes a minute for one broker, and longer
# for several, which talk to each other all the while
MOST_DAYS_OF_ONE, MOST_DAYS_OF_MANY = 366, 1


class FailingKafka:
    """make_nodes(new_connection, listening): the nodes that are to run. listener: the one
    whose addresses clients are given. plan: the faults that are there from the start.
    heard: what clients have asked of late, and what came of it; print it.
    """

    def __init__(
        self,
        make_nodes: Callable[[MakeConnections, Listening], dict[int, Node]],
        listener: str,
        plan: Sequence[Planned] = (),
    ) -> None:
        self.heard = Heard(lambda: self._brokers.now_ms())
        self._faults = Faults()
        self.planned = [self._faults.add(*each) for each in plan]
        nodes = make_nodes(self._connections_of, self.heard.listening)
        self._brokers = Brokers(nodes)
        self._listener = listener
        self.bootstrap_servers = ",".join(
            node.address(listener) for node in nodes.values()
        )
        self.cluster_id = next(iter(nodes.values())).config.cluster_id or ""
        self.clock = Clock(self._brokers)
        self._brokers.start()
        self.heard.begin()

    def _connections_of(self, node: Node) -> Callable[..., Connection]:
        """What makes the connections of a node. Other nodes' meet no faults."""

        def connection(shared: Shared, listener: str, *rest: Any) -> Connection:
            if listener == CONTROLLER_LISTENER:
                return Connection(shared, listener, *rest)
            return MeddledConnection(
                self._faults, self.heard, node, shared, listener, *rest
            )

        return connection

    def close(self) -> None:
        """End all brokers. Clients lose their connections."""
        self.heard.end()
        self._brokers.close()

    # -- what goes wrong

    def fault(self, fault: WireFault, seed: int = 0) -> Active:
        """Lose, Delay, Answer, Throttle, Crash or Freeze: it is there until the end of
        its `with`, or until it is lifted. seed: of chance_percent.
        """
        return self._faults.add(fault, seed)

    def broker(self, broker_id: int) -> "OneBroker":
        """Errors: LookupError."""
        if broker_id not in self._brokers.nodes:
            raise LookupError(f"no broker {broker_id}: {[*self._brokers.nodes]}")
        return OneBroker(self._brokers, broker_id, self._listener)

    @property
    def brokers(self) -> list["OneBroker"]:
        """All of them."""
        return [self.broker(each) for each in self._brokers.nodes]

    def cut(self, one: int, other: int) -> None:
        """Nothing passes between two brokers any more, and neither notices more than
        silence. Clients reach both. Errors: ValueError.
        """
        if one == other:
            raise ValueError(f"broker {one} is never cut off from itself")
        self._brokers.cut(one, other)

    def mend(self, one: int, other: int) -> None:
        """The two hear each other again, beginning with what was on its way."""
        self._brokers.mend(one, other)

    # -- for the next test

    @property
    def is_as_new(self) -> bool:
        """Whether nothing has happened to the brokers and their time."""
        return not self._brokers.touched

    def mend_all(self) -> None:
        """Every broker is up, and reaches the others."""
        self._faults.lift_all()
        self._brokers.mend_all()

    def lift_faults(self) -> None:
        """Nothing goes wrong any more on the wire."""
        self._faults.lift_all()


class OneBroker:
    """One of the brokers, and what may happen to its process."""

    def __init__(self, brokers: Brokers, broker_id: int, listener: str) -> None:
        self.broker_id = broker_id
        self._listener = listener
        self._brokers = brokers

    @property
    def address(self) -> str:
        """host:port; the same after a restart."""
        return self._brokers.nodes[self.broker_id].address(self._listener)

    @property
    def state(self) -> str:
        """up, frozen or down."""
        return self._brokers.nodes[self.broker_id].state

    def kill(self, *, power: bool = False) -> None:
        """kill -9: nobody is answered, connections break, what it wrote is there after
        a restart. power: its machine loses power, and what was not flushed is lost.
        """
        self._brokers.crash(self.broker_id, power)

    def restart(self) -> None:
        """Start it again on the same port and disk; kill it first, if it isn't down."""
        self._brokers.restart(self.broker_id)

    def freeze(self) -> None:
        """SIGSTOP: it stands still, its connections stay open."""
        self._brokers.freeze(self.broker_id)

    def thaw(self) -> None:
        """SIGCONT: it goes on as if nothing had happened."""
        self._brokers.thaw(self.broker_id)


class Clock:
    """The time of the brokers."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self.advanced_seconds = 0.0

    def advance(self, seconds: float) -> None:
        """Move the time of all brokers on. What is due by then happens before this
        returns: sessions end, transactions time out, old records are deleted. Sockets
        stay open. Clients' own clocks don't move, so a member that is alive is late as
        well, and joins again. Several brokers talk to each other all the while, which
        takes about 15 ms for a second. Errors: ValueError, also for more than a year, or
        a day if there are several brokers.
        """
        is_alone = len(self._brokers.nodes) == 1
        days = MOST_DAYS_OF_ONE if is_alone else MOST_DAYS_OF_MANY
        if not 0 <= seconds <= days * DAY_S:
            raise ValueError(
                f"one call moves the time on by {days} day(s) at most, and never back"
            )
        self.advanced_seconds += seconds
        self._brokers.advance(seconds)
