"""A network that obeys a seed: connections as TCP gives them, with a latency of some ms, and the faults of a plan.

On a connection messages keep their order, and none is lost without the connection. Real frames travel: what a client
encoded, joined to one buffer, is what the broker decodes.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from minikafka.clients.metadata import Address
from minikafka.faults import Plan
from minikafka.simulation.clock import Clock
from minikafka.trace import Reason, Trace
from minikafka.wire.messages import BY_KEY


class Server(Protocol):
    """The side that listens."""

    name: str

    def accept(self, link: Link) -> bool: ...

    def request(self, link: Link, frame: bytearray) -> None: ...

    def hung_up(self, link: Link) -> None: ...


class Caller(Protocol):
    """The side that connects."""

    name: str

    def reply(self, link: Link, frame: bytearray) -> None: ...

    def lost(self, link: Link) -> None: ...


class Link:
    """One connection. open: neither side has closed it. server: None until it is accepted."""

    def __init__(self, name: str, caller: Caller, target: str, port: int) -> None:
        self.name = name
        self.port = port
        self.caller = caller
        self.target = target
        self.server: Server | None = None
        self.open = True
        self.losing = False  # a message was lost: whatever is sent from now on is lost too, until both sides notice
        self.apis: list[str] = []  # requests without an answer yet, for faults that name an API
        self.last_arrival = {True: 0, False: 0}  # by direction, so that nothing overtakes

    def __repr__(self) -> str:
        return self.name


class Network:
    """latency_ms: shortest and longest time of a message on its way."""

    def __init__(self, clock: Clock, random: Random, plan: Plan, trace: Trace, latency_ms: tuple[int, int]) -> None:
        self._clock = clock
        self._random = random
        self._plan = plan
        self._trace = trace
        self._shortest, self._spread = latency_ms[0], latency_ms[1] - latency_ms[0] + 1
        self._listening: dict[Address, Server] = {}
        self._links: dict[Link, None] = {}
        self._cut: dict[tuple[str, str], list[Callable[[], None]]] = {}  # what waits for the cut to heal

    def listen(self, address: Address, server: Server) -> None:
        self._listening[address] = server

    def connect(self, caller: Caller, name: str, address: Address) -> Link:
        server = self._listening.get(address)
        link = Link(name, caller, server.name if server else "{}:{}".format(*address), address[1])
        self._links[link] = None

        def arrive() -> None:
            if not link.open:
                return
            if server is not None and server.accept(link):
                link.server = server
            else:
                self.close(link, by_caller=False)  # connection refused

        self._carry(link, True, arrive)
        return link

    def request(self, link: Link, frame: list[Any]) -> None:
        data = bytearray().join(frame)
        api = BY_KEY[int.from_bytes(data[:2], "big")].name
        link.apis.append(api)

        def arrive() -> None:
            if link.open and link.server is not None:
                link.server.request(link, data)

        if not link.losing and not self._is_lost(link, api, answer=False):
            self._carry(link, True, arrive)

    def answer(self, link: Link, frame: list[Any]) -> None:
        data = bytearray().join(frame)

        def arrive() -> None:
            if link.open:
                link.caller.reply(link, data)

        api = link.apis.pop(0)
        if not link.losing and not self._is_lost(link, api, answer=True):
            self._carry(link, False, arrive)

    def unanswered(self, link: Link) -> None:
        """A request is finished without an answer."""
        link.apis.pop(0)

    def close(self, link: Link, by_caller: bool) -> None:
        """One side hangs up; the other side learns it after what was sent before."""
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

    def vanish(self, node: Caller | Server) -> None:
        """All connections of a node end at once, as after kill -9; the other sides learn it after the latency."""
        for link in list(self._links):
            if link.caller is node or link.server is node:
                self.close(link, by_caller=link.caller is node)

    def cut(self, one: str, other: str) -> None:
        self._cut.setdefault(_pair(one, other), [])

    def heal(self, one: str | None = None, other: str | None = None) -> None:
        """End one cut, or all. What was held back goes on its way, in order."""
        for pair in [_pair(one, other)] if one is not None and other is not None else list(self._cut):
            for go_on in self._cut.pop(pair, []):
                go_on()

    def _is_lost(self, link: Link, api: str, answer: bool) -> bool:
        chance = self._random.random() if self._plan.needs_chance else 0.0
        if not self._plan.loses(link.caller.name, link.target, api, answer, chance):
            return False
        if self._trace:
            ends = (link.target, link.caller.name) if answer else (link.caller.name, link.target)
            what = "answer to" if answer else "request"
            self._trace.now = self._clock.now_ms
            self._trace.emit(
                "MessageLost",
                source=ends[0], target=ends[1], api=api, answer=answer, connection=link.name,
                why=Reason("fault_plan", f"the fault plan loses this {what} {api}"),
            )  # fmt: skip
        if link in self._links:
            del self._links[link]
            link.losing = True
            self._carry(link, not answer, lambda: self._broken(link))
        return True

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
        """Schedule an arrival after the latency, behind all that was sent before it in this direction."""
        now_ms = self._clock.now_ms
        latency = self._shortest + int(self._random.random() * self._spread)
        latency += self._plan.extra_delay_ms(link.caller.name, link.target, now_ms)
        arrival = max(now_ms + latency, link.last_arrival[to_server])
        link.last_arrival[to_server] = arrival

        def at_the_door() -> None:
            held_back = self._cut.get(_pair(link.caller.name, link.target))
            if held_back is None:
                arrive()
            else:
                held_back.append(lambda: self._carry(link, to_server, arrive))

        self._clock.schedule(arrival, at_the_door)


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)
