"""A network that obeys a seed: connections as TCP gives them, with a latency of some
ms, and the faults of a plan.

On a connection messages keep their order, and none is lost unless the connection is.
Real frames travel: what a client encoded, joined to one buffer, is what the broker
decodes.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, Protocol

from minikafka.clients.metadata import Address
from minikafka.faults import Plan
from minikafka.simulation.clock import Clock
from minikafka.trace import Reason, Trace
from minikafka.wire.messages import api_name


class Server(Protocol):
    """The side of a connection that listens."""

    name: str
    state: str
    silent: bool

    def accept(self, link: "Link") -> bool: ...

    def request(self, link: "Link", frame: bytearray) -> None: ...

    def hung_up(self, link: "Link") -> None: ...


class Caller(Protocol):
    """The side that connects."""

    name: str
    state: str

    def reply(self, link: "Link", frame: bytearray) -> None: ...

    def lost(self, link: "Link") -> None: ...


class Link:
    """One connection. open: neither side has closed it. server: None until it is
    accepted.
    """

    def __init__(self, name: str, caller: Caller, target: str, port: int) -> None:
        self.name = name
        self.port = port
        self.caller = caller
        self.target = target
        self.server: Server | None = None
        self.open = True
        # a message was lost: everything sent from now on is lost too, until both sides
        # notice
        self.losing = False
        # requests without an answer yet, for faults that name an API
        self.apis: list[str] = []
        # by direction, so that nothing overtakes
        self.last_arrival = {True: 0, False: 0}
        # half-open: this side's machine is down, or knows nothing of it
        self.gone: Caller | Server | None = None
        # by direction: arrivals in order
        self.on_its_way: dict[bool, deque[Callable[[], None]]] = {
            True: deque(),
            False: deque(),
        }

    def __repr__(self) -> str:
        return self.name


def _everybody(link: Link) -> bool:
    """Whom a network admits unless told otherwise."""
    return True


class Network:
    """latency_ms: shortest and longest time that a message takes. admits: whether both
    sides of a new connection accept each other, as in a TLS handshake; where they
    don't, it is closed at once.
    """

    def __init__(
        self,
        clock: Clock,
        random: Random,
        plan: Plan,
        trace: Trace,
        latency_ms: tuple[int, int],
    ) -> None:
        self._clock = clock
        self._random = random
        self._plan = plan
        self._trace = trace
        self.admits: Callable[[Link], bool] = _everybody
        self._shortest, self._spread = latency_ms[0], latency_ms[1] - latency_ms[0] + 1
        self._listening: dict[Address, Server] = {}
        self._links: dict[Link, None] = {}
        # messages that wait for the cut to heal
        self._cut: dict[tuple[str, str], list[Callable[[], None]]] = {}

    def listen(self, address: Address, server: Server) -> None:
        self._listening[address] = server

    def connect(self, caller: Caller, name: str, address: Address) -> Link:
        server = self._listening.get(address)
        link = Link(
            name,
            caller,
            server.name if server else "{}:{}".format(*address),
            address[1],
        )
        self._links[link] = None

        def arrive() -> None:
            if not link.open or (
                server is not None and server.state == "down" and server.silent
            ):
                return
            is_let_in = server is None or server.state == "down" or self.admits(link)
            if server is not None and is_let_in and server.accept(link):
                link.server = server
            else:
                self.close(link, by_caller=False)  # refused, or no handshake

        self._carry(link, True, arrive)
        return link

    def request(self, link: Link, frame: list[Any]) -> None:
        data = bytearray().join(frame)
        api = api_name(data)
        link.apis.append(api)

        def arrive() -> None:
            if link.open and link.server is not None:
                link.server.request(link, data)

        if link.gone is not None:
            self._to_nobody(link, link.gone, to_server=True)
        elif not link.losing and not self._is_lost(link, api, answer=False):
            self._carry(link, True, arrive)

    def answer(self, link: Link, frame: list[Any]) -> None:
        data = bytearray().join(frame)

        def arrive() -> None:
            if link.open:
                link.caller.reply(link, data)

        api = link.apis.pop(0)
        if link.gone is not None:
            self._to_nobody(link, link.gone, to_server=False)
        elif not link.losing and not self._is_lost(link, api, answer=True):
            self._carry(link, False, arrive)

    def unanswered(self, link: Link) -> None:
        """A request is finished, but gets no answer."""
        link.apis.pop(0)

    def close(self, link: Link, by_caller: bool) -> None:
        """One side closes the connection; the other side learns it after everything
        that was sent before.
        """
        if link not in self._links:
            return
        del self._links[link]

        def arrive() -> None:
            if not link.open:
                return
            link.open = False
            if not by_caller:
                link.caller.lost(link)
            elif link.server is not None:
                link.server.hung_up(link)

        self._carry(link, by_caller, arrive)

    def vanish(self, node: Caller | Server, silent: bool) -> None:
        """End all connections of a node at once, as after kill -9; the other sides
        learn it after the latency. silent: its machine went down, so they learn
        nothing, and the connections are half-open.
        """
        for link in [
            each for each in self._links if node in (each.caller, each.server)
        ]:
            if silent:
                del self._links[link]
                link.gone = node
            else:
                self.close(link, by_caller=link.caller is node)

    def reset(self, one: str, other: str) -> None:
        """End all connections between two nodes at once, for both sides; messages on
        their way are lost.
        """
        for link in [
            each
            for each in self._links
            if {each.caller.name, each.target} == {one, other}
        ]:
            del self._links[link]
            link.losing = True
            self._carry(link, True, partial(self._broken, link))

    def cut(self, one: str, other: str) -> tuple[str, str]:
        """Let nothing arrive between these two from now on; returns them as
        heal() does.
        """
        self._cut.setdefault(_pair(one, other), [])
        return _pair(one, other)

    def heal(
        self, one: str | None = None, other: str | None = None
    ) -> list[tuple[str, str]]:
        """End one cut, or all; returns which. Messages that were held back continue, in
        order.
        """
        wanted = (
            [_pair(one, other)]
            if one is not None and other is not None
            else list(self._cut)
        )
        ended = [pair for pair in wanted if pair in self._cut]
        for pair in ended:
            for go_on in self._cut.pop(pair):
                go_on()
        return ended

    def emit(self, kind: str, **detail: Any) -> None:
        """Emit an event of the network."""
        if self._trace:
            self._trace.now = self._clock.now_ms
            self._trace.emit(kind, **detail)

    def _is_lost(self, link: Link, api: str, answer: bool) -> bool:
        chance = self._random.random() if self._plan.needs_chance else 0.0
        if not self._plan.loses(link.caller.name, link.target, api, answer, chance):
            return False
        ends = (
            (link.target, link.caller.name)
            if answer
            else (link.caller.name, link.target)
        )
        what = "answer to" if answer else "request"
        why = Reason("fault_plan", f"the fault plan loses this {what} {api}")
        self.emit(
            "MessageLost",
            source=ends[0],
            target=ends[1],
            api=api,
            answer=answer,
            connection=link.name,
            why=why,
        )
        if link in self._links:
            del self._links[link]
            link.losing = True
            self._carry(link, not answer, lambda: self._broken(link))
        return True

    def _to_nobody(self, link: Link, gone: Caller | Server, to_server: bool) -> None:
        """A machine that is back answers messages on connections it doesn't know with a
        reset.
        """
        if gone.state != "down":
            self._carry(link, to_server, lambda: self._broken(link))

    @staticmethod
    def _broken(link: Link) -> None:
        """Both sides find the connection reset."""
        if not link.open:
            return
        link.open = False
        link.caller.lost(link)
        if link.server is not None:
            link.server.hung_up(link)

    def _carry(self, link: Link, to_server: bool, arrive: Callable[[], None]) -> None:
        """Send something in one direction, behind everything that was sent
        before it.
        """
        link.on_its_way[to_server].append(arrive)
        self._travel(link, to_server)

    def _travel(self, link: Link, to_server: bool) -> None:
        """After the latency the oldest message on its way arrives; a cut holds it back
        until it heals.
        """
        now_ms = self._clock.now_ms
        latency = self._shortest + int(self._random.random() * self._spread)
        latency += self._plan.extra_delay_ms(link.caller.name, link.target, now_ms)
        arrival = max(now_ms + latency, link.last_arrival[to_server])
        link.last_arrival[to_server] = arrival

        def at_the_door() -> None:
            cut = self._cut.get(_pair(link.caller.name, link.target))
            if cut is not None:
                cut.append(lambda: self._travel(link, to_server))
            else:
                link.on_its_way[to_server].popleft()()

        self._clock.schedule(arrival, at_the_door)


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)
