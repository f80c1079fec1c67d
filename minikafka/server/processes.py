"""`minikafka serve --brokers N --processes`: one process per broker, so that each can
die alone (kill -9).

This process runs no broker. It keeps the brokers' ports for them, starts each as node N
of its voters, writes its process id to broker-N.pid in the data folder, and restarts
one that died. When it ends, they end.

The code is loaded once, here: on Linux each broker is a fork of this process, which
therefore has no event loop, and no thread except one that waits for its parent to end.
On other systems each broker loads the code again.
"""

import argparse
import gc
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

from minikafka.server.addresses import CannotServe, NodeAt, keep_port
from minikafka.server.checks import cluster_secret, nodes_of, place_of
from minikafka.server.defaults import MOST_VOTERS
from minikafka.server.doors import (
    ADVERTISED,
    LISTENER,
    LISTENERS,
    NODE_ID,
    parsed,
    wanted,
)
from minikafka.server.log import log
from minikafka.server.serve import (
    Parent,
    Ready,
    data_folder,
    port_of,
    run_checked,
    run_here,
)
from minikafka.server.shell import now

CONTEXT: Any = multiprocessing.get_context(
    "fork" if sys.platform == "linux" else "spawn"
)
# a broker that died sooner than this after its start is restarted only after this time
SOON_SECONDS = 2.0
STOP_SECONDS = 30.0


def run_processes(args: argparse.Namespace, parent: Parent) -> int:
    """Run all brokers until this process is told to stop. Returns the exit code."""
    return run_checked(args, lambda cleanup: run_all(args, parent, cleanup))


def run_all(args: argparse.Namespace, parent: Parent, cleanup: ExitStack) -> int:
    """The same, once the options are checked."""
    args.handed_secret = cluster_secret(args)
    nodes = nodes_of(args)
    ports = kept_ports(args, nodes, cleanup)
    folder, cluster_id = data_folder(args, nodes, cleanup)
    stop = Stop(parent.wait_for_end)
    our_life, our_end = CONTEXT.Pipe(duplex=False)
    # sockets that a broker inherits must not keep the other brokers alive
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=our_end.close)
    # these objects stay; a garbage collection that looked at them would copy their
    # pages in each fork
    gc.freeze()
    brokers = []
    for at, node in enumerate(nodes):
        own = args_of(args, at, node, folder, ports, str(cluster_id))
        brokers.append(Child(own, folder, our_life, restart=not args.no_restart))
    try:
        watch(brokers, stop, partial(say_ready, parent, str(cluster_id)))
    finally:
        our_end.close()
        until = time.monotonic() + STOP_SECONDS
        for broker in brokers:
            broker.end(until)
    return 0 if stop.wanted else 1


class Ports(NamedTuple):
    """The sockets that this process keeps for its brokers: where clients reach each
    node, where the voters listen to the other nodes, and where metrics are told.
    """

    of_clients: dict[int, dict[str, socket.socket]]
    of_voters: dict[int, socket.socket]
    of_metrics: dict[int, socket.socket]


def kept_ports(args: argparse.Namespace, nodes: range, cleanup: ExitStack) -> Ports:
    ports = Ports({}, {}, {})
    for at, node in enumerate(nodes):
        ports.of_clients[node] = {
            name: keep_port(host, port) for name, host, port in wanted(args, at)
        }
        if args.metrics is not None:
            port = args.metrics + at if args.metrics else 0
            ports.of_metrics[node] = keep_port(args.host, port, option="--metrics")
    # an odd number of them; with only two brokers the first one votes alone
    for node in nodes[: MOST_VOTERS if len(nodes) >= MOST_VOTERS else 1]:
        ports.of_voters[node] = keep_port("127.0.0.1", 0)
    for kept in (*ports.of_voters.values(), *ports.of_metrics.values()):
        cleanup.callback(kept.close)
    for by_name in ports.of_clients.values():
        for kept in by_name.values():
            cleanup.callback(kept.close)
    return ports


def say_ready(parent: Parent, cluster_id: str, addresses: str) -> None:
    parent.say_ready(Ready(addresses, cluster_id))


def watch(
    brokers: list["Child"], stop: "Stop", say_ready: Callable[[str], object]
) -> None:
    """Start the brokers, and restart those that die, until this process is told to
    stop, all have ended, or one never got ready.
    """
    told = False
    while not stop.wanted and not all(broker.ended for broker in brokers):
        signs = [stop.reader]
        for broker in brokers:
            signs += broker.signs
        wait(signs, patience_for(brokers))
        for broker in brokers:
            broker.look()
        if told:
            continue
        if any(broker.ended for broker in brokers):
            return
        if all(broker.address for broker in brokers):
            told = True
            say_ready(",".join(broker.address for broker in brokers))


def patience_for(brokers: list["Child"]) -> float | None:
    """Seconds until a broker is to be started; None if all are running."""
    soon = [broker.start_at for broker in brokers if broker.start_at is not None]
    if not soon:
        return None
    return max(0.0, min(soon) - time.monotonic())


def args_of(
    args: argparse.Namespace,
    at: int,
    node: int,
    folder: str,
    ports: Ports,
    cluster_id: str,
) -> argparse.Namespace:
    """The arguments for one broker's process: `serve --node N --voters ...`. at: its
    place among all.
    """
    own = argparse.Namespace(**vars(args))
    own.processes = False
    own.no_restart = False
    own.brokers = 1
    own.node = NodeAt(node)
    own.cluster_id = cluster_id
    own.kept_ports = True
    own.voters = {}
    for voter, listener in ports.of_voters.items():
        own.voters[voter] = ("127.0.0.1", port_of(listener))
    if args.racks:
        own.racks = [args.racks[at % len(args.racks)]]
    own.override = [each for each in args.override if each[0] != NODE_ID]
    give_ports(own, ports.of_clients[node], at)
    if args.metrics is not None:
        own.metrics = port_of(ports.of_metrics[node])
    if args.advertised_port:
        own.advertised_port = args.advertised_port + at
    own.data = place_of(folder, node, several=True)
    if args.trace:
        own.trace = f"{args.trace}.{node}"
        own.trace_began_ms = now().monotonic_ms
        with suppress(OSError):
            # left by an earlier run: a restarted broker appends to its file
            os.remove(own.trace)
    return own


def give_ports(
    own: argparse.Namespace, kept: Mapping[str, socket.socket], at: int
) -> None:
    """Name the ports for clients that are kept for one broker. at: its place among
    all.
    """
    given = dict(own.override)
    if LISTENERS not in given:
        own.port = port_of(kept[LISTENER])
        return
    listens = [(name, host, port_of(kept[name])) for name, host, _ in wanted(own, at)]
    told = []
    if ADVERTISED in given:
        for name, host, port in parsed(ADVERTISED, given[ADVERTISED]):
            told.append((name, host, port + at if port else 0))
    own.override = [
        *own.override,
        (LISTENERS, as_text(listens)),
        *([(ADVERTISED, as_text(told))] if told else []),
    ]


def as_text(listeners: Iterable[tuple[str, str, int]]) -> str:
    """Listeners as `listeners` names them."""
    return ",".join(
        f"{name}://{f'[{host}]' if ':' in host else host}:{port}"
        for name, host, port in listeners
    )


def run_broker(
    args: argparse.Namespace, ready: Connection, parents_life: Connection
) -> None:
    """The whole life of one broker's process."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C is meant for the parent, which stops all

    def say_ready(told: Ready) -> None:
        ready.send(told.bootstrap_servers)

    sys.exit(run_here(args, Parent(say_ready, lambda: wait([parents_life]))))


class Child:
    """One broker's process. address: where clients reach it, once it is ready. ended:
    it won't be restarted. start_at: when it is to be started, in seconds of the
    monotonic clock; None while it runs.
    """

    def __init__(
        self, args: argparse.Namespace, folder: str, our_life: Connection, restart: bool
    ) -> None:
        self.address = ""
        self.ended = False
        self.start_at: float | None = time.monotonic()
        self._args = args
        self._our_life = our_life
        self._restart = restart
        self._node = args.node.number
        self._pid_file = os.path.join(folder, f"broker-{self._node}.pid")
        self._process: BaseProcess | None = None
        self._ready: Connection | None = None  # where it reports that it is ready
        self._is_ready = False
        self._began = 0.0

    @property
    def signs(self) -> list[Any]:
        """The file objects that become readable when something has happened."""
        signs: list[Any] = []
        if self._process is not None:
            signs.append(self._process.sentinel)
        if self._ready is not None:
            signs.append(self._ready)
        return signs

    def look(self) -> None:
        """Start it if it is time, and notice that it is ready or has died."""
        if self.start_at is not None and self.start_at <= time.monotonic():
            self._start()
        if self._ready is not None and self._ready.poll():
            with suppress(EOFError):  # it died before
                self.address = self._ready.recv()
                self._is_ready = True
            self._ready = None
        if self._process is not None and self._process.exitcode is not None:
            self._died(self._process)

    def _start(self) -> None:
        self.start_at = None
        self._began = time.monotonic()
        self._is_ready = False
        self._ready, say = CONTEXT.Pipe(duplex=False)
        self._process = CONTEXT.Process(
            target=run_broker, args=(self._args, say, self._our_life)
        )
        self._process.start()
        say.close()
        self._write_pid(self._process.pid)

    def _write_pid(self, pid: int | None) -> None:
        try:
            with open(self._pid_file, "w", encoding="ascii") as file:
                file.write(f"{pid}\n")
        except OSError as error:
            why = (
                f"can't write the id of process {pid} to {self._pid_file}:"
                f" {error.strerror}."
            )
            if not self.address:
                raise CannotServe(why) from error
            log(why)  # it has served before, so it can say itself whether it can go on

    def _died(self, process: BaseProcess) -> None:
        """It has died. If it never got ready, or stopped by itself at its start, it
        isn't restarted: it has said why, and would fail the same way each time.
        """
        assert process.exitcode is not None
        end = how(process.exitcode)
        stopped_itself = process.exitcode > 0 and not self._is_ready
        self._process = None
        self._ready = None
        self._forget()
        self.ended = not self._restart or not self.address or stopped_itself
        if self.ended:
            log(f"broker {self._node} has ended ({end}).")
            return
        log(
            f"broker {self._node} (process {process.pid}) died ({end}): it is started"
            " again."
        )
        self.start_at = time.monotonic()
        if self.start_at - self._began < SOON_SECONDS:
            self.start_at += SOON_SECONDS

    def end(self, until: float) -> None:
        """Wait for it to end: it was told to. until: the latest time, in seconds of the
        monotonic clock.
        """
        if self._process is not None:
            self._process.join(max(0.0, until - time.monotonic()))
            if self._process.exitcode is None:
                self._process.kill()
                self._process.join()
            self._forget()

    def _forget(self) -> None:
        with suppress(OSError):
            os.remove(self._pid_file)


class Stop:
    """Whether this process is to stop: SIGINT or SIGTERM came (a second one ends the
    process at once), or our parent has ended. reader: a socket that becomes readable
    then.
    """

    def __init__(self, wait_for_end: Callable[[], object] | None) -> None:
        self.wanted = False
        self.reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._signalled)
        if wait_for_end is not None:
            waiting = partial(self._wait, wait_for_end)
            threading.Thread(target=waiting, daemon=True).start()

    def _signalled(self, number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        self.wanted = True

    def _wait(self, wait_for_end: Callable[[], object]) -> None:
        wait_for_end()
        self.wanted = True
        self._writer.send(b"\0")


def how(code: int) -> str:
    """How a process ended, in words."""
    if code < 0:
        return signal.Signals(-code).name
    return f"exit code {code}"
