"""`minikafka serve --brokers N --processes`: a process for each broker, so that each
can die alone (kill -9).

This process runs no broker. It keeps the brokers' ports for them, starts each as node N
of its voters, writes its process id to broker-N.pid in the data folder, and starts one
that died again. When it ends, they end.

The code is loaded once, here: on Linux each broker is a fork of this process, which
therefore has no event loop, and no thread but one that waits for its parent's end.
Elsewhere each loads the code anew.
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
from collections.abc import Callable
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from minikafka.server.addresses import CannotServe, NodeAt, keep_port
from minikafka.server.checks import cluster_secret, place_of
from minikafka.server.log import log
from minikafka.server.serve import MOST_VOTERS, Parent, data_folder, port_of, run_here
from minikafka.server.shell import now

CONTEXT: Any = multiprocessing.get_context(
    "fork" if sys.platform == "linux" else "spawn"
)
# one that died sooner than this after its start waits so long before it is started
# again
SOON_SECONDS = 2.0
STOP_SECONDS = 30.0


def run_processes(args: argparse.Namespace, parent: Parent, cleanup: ExitStack) -> int:
    """Run all brokers until a stop is wanted; returns the exit code."""
    args.handed_secret = cluster_secret(args)
    nodes = range(1, args.brokers + 1)
    kept = {
        node: keep_port(args.host, args.port + node - 1 if args.port else 0)
        for node in nodes
    }
    of_nodes = {node: keep_port("127.0.0.1", 0) for node in nodes[:MOST_VOTERS]}
    for each in (*kept.values(), *of_nodes.values()):
        cleanup.callback(each.close)
    folder, cluster_id = data_folder(args, nodes, cleanup)
    stop = Stop(parent.wait_for_end)
    our_life, our_end = CONTEXT.Pipe(duplex=False)
    # what a broker inherits must not keep the others alive
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=our_end.close)
    # what is loaded stays; a collection that looked at it would copy its pages for each
    # fork
    gc.freeze()
    each_args = (
        args_of(args, node, folder, kept, of_nodes, str(cluster_id)) for node in nodes
    )
    brokers = [Child(own, folder, our_life, not args.no_restart) for own in each_args]
    try:
        watch(brokers, stop, parent)
    finally:
        our_end.close()
        until = time.monotonic() + STOP_SECONDS
        for broker in brokers:
            broker.end(until)
    return 0 if stop.wanted else 1


def watch(brokers: list["Child"], stop: "Stop", parent: Parent) -> None:
    """Start brokers, and those again that die, until a stop is wanted, all have ended,
    or one never was ready.
    """
    told = False
    while not stop.wanted and any(not broker.ended for broker in brokers):
        soon = [broker.start_at for broker in brokers if broker.start_at is not None]
        patience = max(0.0, min(soon) - time.monotonic()) if soon else None
        wait(
            [stop.reader, *(sign for broker in brokers for sign in broker.signs)],
            patience,
        )
        for broker in brokers:
            broker.look()
        if not told and any(broker.ended for broker in brokers):
            return
        if not told and all(broker.address for broker in brokers):
            told = True
            parent.say_ready(",".join(broker.address for broker in brokers))


def args_of(
    args: argparse.Namespace,
    node: int,
    folder: str,
    kept: dict[int, socket.socket],
    of_nodes: dict[int, socket.socket],
    cluster_id: str,
) -> argparse.Namespace:
    """What one broker's process is asked for: `serve --node N --voters ...`."""
    own: dict[str, Any] = {"processes": False, "no_restart": False, "brokers": 1}
    own |= {"node": NodeAt(node), "cluster_id": cluster_id, "kept_ports": True}
    own["voters"] = {
        voter: ("127.0.0.1", port_of(listener)) for voter, listener in of_nodes.items()
    }
    own |= {"port": port_of(kept[node]), "data": place_of(folder, node, several=True)}
    if args.trace:
        own |= {"trace": f"{args.trace}.{node}", "trace_began_ms": now().monotonic_ms}
        with suppress(OSError):
            # of an earlier run: a broker that starts again goes on in its file
            os.remove(f"{args.trace}.{node}")
    return argparse.Namespace(**vars(args) | own)


def run_broker(
    args: argparse.Namespace, ready: Connection, parents_life: Connection
) -> None:
    """The whole life of one broker's process."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C is for the parent, which stops all
    sys.exit(run_here(args, Parent(ready.send, lambda: wait([parents_life]))))


class Child:
    """One broker's process. address: where clients reach it, once it was ready. ended:
    it will not be started again. start_at: when it is to be started, in seconds of the
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
        self._ready: Connection | None = None  # where it says so
        self._is_ready = False
        self._began = 0.0

    @property
    def signs(self) -> list[Any]:
        """What is ready for reading when there is something to look at."""
        process = [] if self._process is None else [self._process.sentinel]
        return process + ([] if self._ready is None else [self._ready])

    def look(self) -> None:
        """Start it when it is time to, hear that it is ready, and see that it has
        died.
        """
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
        self.start_at, self._began, self._is_ready = None, time.monotonic(), False
        self._ready, say = CONTEXT.Pipe(duplex=False)
        self._process = CONTEXT.Process(
            target=run_broker, args=(self._args, say, self._our_life)
        )
        self._process.start()
        say.close()
        try:
            with open(self._pid_file, "w", encoding="ascii") as file:
                file.write(f"{self._process.pid}\n")
        except OSError as error:
            why = (
                f"can't write the id of process {self._process.pid} to"
                f" {self._pid_file}: {error.strerror}."
            )
            if not self.address:
                raise CannotServe(why) from error
            log(why)  # it has served before: it says itself whether it can go on

    def _died(self, process: BaseProcess) -> None:
        """One that never was ready is not tried again, nor one that has stopped by
        itself at its start: it has said why, and would do so for ever.
        """
        assert process.exitcode is not None
        end = how(process.exitcode)
        stopped_itself = process.exitcode > 0 and not self._is_ready
        self._process = self._ready = None
        self._forget()
        self.ended = not self._restart or not self.address or stopped_itself
        if self.ended:
            log(f"broker {self._node} has ended ({end}).")
            return
        log(
            f"broker {self._node} (process {process.pid}) died ({end}): it is started"
            " again."
        )
        soon = time.monotonic() - self._began < SOON_SECONDS
        self.start_at = time.monotonic() + (SOON_SECONDS if soon else 0)

    def end(self, until: float) -> None:
        """It has heard that it is to end; until: how long it may take, in seconds of
        the monotonic clock.
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
    """Whether a stop is wanted: SIGINT or SIGTERM came (a second one ends the process
    at once), or our parent has ended. reader: a socket that is ready for reading then.
    """

    def __init__(self, wait_for_end: Callable[[], object] | None) -> None:
        self.wanted = False
        self.reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno())
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._signalled)
        if wait_for_end is not None:
            threading.Thread(
                target=self._wait, args=(wait_for_end,), daemon=True
            ).start()

    def _signalled(self, number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        self.wanted = True

    def _wait(self, wait_for_end: Callable[[], object]) -> None:
        wait_for_end()
        self.wanted = True
        self._writer.send(b"\0")


def how(code: int) -> str:
    """A process's end in words."""
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"
