"""Crashes, freezes, cuts and slow programs, caused by hand or by a plan's fault at its
time.

A client lives in the process of the program that was given it or made it: a crash or a
freeze of one affects both.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, assert_never

from minikafka.faults import Crash, Cut, Freeze, Place, Reset, Timed, node_name
from minikafka.simulation.arguments import COUNT, MS, SECONDS, checked
from minikafka.simulation.calls import Book, recorded
from minikafka.simulation.consumer_handle import ConsumerHandle
from minikafka.simulation.handles import Handle
from minikafka.simulation.kernel import Kernel
from minikafka.simulation.network import Network
from minikafka.simulation.processes import BrokerProcess, ClientProcess, Process
from minikafka.simulation.programs import Program

Target = Place | Handle | Program


class Link(NamedTuple):
    """The names of two nodes that exchange messages."""

    one: str
    other: str


class Mishaps:
    """Lets things go wrong in one cluster."""

    call_name = "cluster"

    def __init__(
        self,
        book: Book,
        kernel: Kernel,
        network: Network,
        brokers: Mapping[int, BrokerProcess],
        clients: Mapping[str, Handle],
    ) -> None:
        self.book = book
        self._clock = kernel.clock
        self._programs = kernel.programs
        self._network = network
        self._brokers = brokers
        self._clients = clients

    @checked(call=COUNT.or_none("now"))
    @recorded
    def crash(
        self,
        target: Target,
        call: int | None = None,
        power: bool = False,
        silent: bool = False,
    ) -> None:
        """kill -9 of a broker (its id), a client, or a program with its clients.

        call: crash at the program's call-th blocking call from its start. power: the
        broker's machine loses power, and everything that was written but not synced.
        silent: the broker's machine goes down without a word: the others' connections
        to it look healthy until their requests time out, or until it is back and resets
        them.
        """
        found = self._find(target)
        if power or silent:
            _crash_machine(found, power, silent)
        elif call is not None:
            _crash_at_call(found, call)
        else:
            for program in self._programs_of(found):
                crash_program(program)
            if not isinstance(found, Program):
                found.crash()
        self._programs.leave_if_dead()

    @recorded
    def stop(self, broker: Target) -> None:
        """Stop a broker (its id) cleanly, as SIGTERM does: it hands over the partitions
        it leads, then it ends.
        """
        found = self._find(broker)
        if not isinstance(found, BrokerProcess):
            raise TypeError(f"{broker!r} is no broker")
        found.stop()

    @checked(seconds=SECONDS.or_none("until thaw()"))
    @recorded
    def freeze(self, target: Target, seconds: float | None = None) -> None:
        """Let it stand still with open connections, as in a long garbage collection.
        seconds: after which it goes on.
        """
        found = self._find(target)
        for process in self._processes_of(found):
            process.freeze()
        for program in self._programs_of(found):
            if program.state == "running":
                program.state = "frozen"
        if seconds is not None:
            self._after(round(seconds * 1000), self._thaw, found)

    @recorded
    def thaw(self, target: Target) -> None:
        """Let a frozen broker, client or program go on."""
        self._thaw(self._find(target))

    @recorded
    def restart(self, target: Target) -> None:
        """Start it again: a broker on its disk, a client or a program from the
        beginning, with no memory of before.
        """
        self._restart(self._find(target))

    @recorded
    def cut(self, one: Target, other: Target) -> None:
        """Let nothing pass between two of them until heal()."""
        for link in self._links(one, other):
            self._cut(link)

    @recorded
    def heal(self, one: Target | None = None, other: Target | None = None) -> None:
        """End the cut between two of them, or all cuts; messages that were held back
        arrive.
        """
        if (one is None) != (other is None):
            raise TypeError(
                "heal() ends all cuts, heal(one, other) that between these two"
            )
        if one is None or other is None:
            self._heal(None)
            return
        for link in self._links(one, other):
            self._heal(link)

    def _cut(self, link: Link) -> None:
        one, other = self._network.cut(link.one, link.other)
        self._network.emit("LinkCut", one=one, other=other)

    def _heal(self, link: Link | None) -> None:
        """link: None for all cuts."""
        ends = (None, None) if link is None else link
        for one, other in self._network.heal(*ends):
            self._network.emit("LinkHealed", one=one, other=other)

    @recorded
    def reset(self, one: Target, other: Target) -> None:
        """Break all connections between two of them; messages on their way are lost."""
        for link in self._links(one, other):
            self._network.reset(link.one, link.other)

    @checked(processing_ms=MS)
    @recorded
    def slow(self, consumer: Target, processing_ms: int) -> None:
        """From now on this consumer's program needs this long for each record."""
        if isinstance(consumer, Program):
            clients = clients_of(consumer)
        else:
            name = getattr(consumer, "name", consumer)
            known = self._clients.values()
            clients = [client for client in known if client.name == name]
        consumers = [each for each in clients if isinstance(each, ConsumerHandle)]
        if not consumers:
            raise ValueError(f"{consumer!r} is no consumer")
        for each in consumers:
            each.slow(processing_ms)

    # faults of a plan

    def begin(self, fault: Timed) -> None:
        """Begin a fault of the plan at its time."""
        if isinstance(fault, Cut):
            self._begin_cut(fault)
        elif isinstance(fault, Freeze):
            self._without_record(self.freeze, fault.node, fault.for_ms / 1000)
        elif isinstance(fault, Reset):
            self._network.reset(node_name(fault.one), node_name(fault.other))
        elif isinstance(fault, Crash):
            self._begin_crash(fault)
        else:
            assert_never(fault)

    def _begin_cut(self, fault: Cut) -> None:
        link = Link(node_name(fault.one), node_name(fault.other))
        self._cut(link)
        if fault.for_ms is not None:
            self._after(fault.for_ms, self._heal, link)

    def _begin_crash(self, fault: Crash) -> None:
        node = fault.node
        self._without_record(self.crash, node, None, fault.power, fault.silent)
        if fault.restart_after_ms is not None:
            restart = partial(self._without_record, self.restart)
            self._after(fault.restart_after_ms, restart, node)

    def _after(self, ms: int, act: Callable[..., None], what: object) -> None:
        """Call act(what) after this many virtual ms."""
        self._clock.schedule(self._clock.now_ms + ms, partial(act, what))

    # internals

    def _find(self, target: Target) -> Process | Program:
        """The broker, client or program that is meant; names as in the trace
        work too.
        """
        if isinstance(target, Program) and target in self._programs.all:
            return target
        if isinstance(target, Handle) and target in self._clients.values():
            return target._process
        known: dict[str, Process | Program] = {}
        for broker in self._brokers.values():
            known[broker.name] = broker
        for name, client in self._clients.items():
            known[name] = client._process
        for program in self._programs.all:
            known[program.name] = program
        if isinstance(target, (int, str)):
            name = node_name(target)
        else:
            name = getattr(target, "__name__", repr(target))
        if name not in known:
            raise ValueError(
                f"{target!r} is not here; there are {', '.join(known)} (a broker is"
                " meant by its id, from 1)"
            )
        return known[name]

    def _links(self, one: Target, other: Target) -> list[Link]:
        """Links between each process of one and each process of the other."""
        mine = self._processes_of(self._find(one))
        theirs = self._processes_of(self._find(other))
        links = []
        for one_end in mine:
            for other_end in theirs:
                links.append(Link(one_end.name, other_end.name))
        return links

    def _users(self, process: Process) -> list[Program]:
        """The programs that a client belongs to."""
        users = []
        for program in self._programs.all:
            if process in self._processes_of(program):
                users.append(program)
        return users

    def _processes_of(self, found: Process | Program) -> list[Process]:
        if isinstance(found, Program):
            return [client._process for client in clients_of(found)]
        return [found]

    def _programs_of(self, found: Process | Program) -> list[Program]:
        if isinstance(found, Program):
            return [found]
        return self._users(found)

    def _thaw(self, found: Process | Program) -> None:
        for process in self._processes_of(found):
            process.thaw()
        for program in self._programs_of(found):
            if program.state == "frozen":
                self._programs.thaw(program)

    def _restart(self, found: Process | Program) -> None:
        if isinstance(found, BrokerProcess):
            found.restart()
            return
        if isinstance(found, ClientProcess):
            programs = [each for each in self._users(found) if each.state == "crashed"]
            if not programs:
                self._handle_of(found)._restart()
            for program in programs:
                self._restart(program)
            return
        assert isinstance(found, Program)
        crash_program(found)
        for client in (*found.args, *found.kwargs.values()):
            if isinstance(client, Handle):
                client._restart()
        self._programs.begin(found)

    def _handle_of(self, process: Process) -> Handle:
        return next(each for each in self._clients.values() if each._process is process)

    def _without_record(self, method: Callable[..., Any], *args: Any) -> None:
        inside = self.book.inside
        self.book.inside = True
        try:
            method(*args)
        finally:
            self.book.inside = inside


def _crash_machine(found: Process | Program, power: bool, silent: bool) -> None:
    """A machine fails, together with its broker."""
    if not isinstance(found, BrokerProcess):
        raise TypeError(
            "only a broker can lose power or go without a word: it has a machine of its"
            " own"
        )
    if power:
        found.lose_power(silent)
    else:
        found.crash(silent)


def _crash_at_call(found: Process | Program, call: int) -> None:
    """Let a program crash later, when it enters this blocking call."""
    if not isinstance(found, Program):
        raise TypeError("only a program can crash at a call")
    found.crash_at_call = call


def clients_of(program: Program) -> list[Handle]:
    """The clients that live and die with a program: its arguments, and those it
    made.
    """
    known = (*program.args, *program.kwargs.values(), *program.made)
    return [each for each in known if isinstance(each, Handle)]


def crash_program(program: Program) -> None:
    """kill -9 of a program and its clients."""
    if not program.alive:
        return
    program.state = "crashed"
    program.crash_at_call = None
    for client in clients_of(program):
        client._process.crash()
