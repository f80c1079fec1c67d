"""`minikafka serve --brokers N --processes`: a process for each broker, so that each can die alone (kill -9).

This process runs no broker. It keeps the brokers' ports for them, starts each with `serve --node N --voters ...`,
writes its process id to broker-N.pid in the data folder, and starts one that died again. When it ends, they end.
"""

import argparse
import asyncio
import os
import signal
import socket
import sys
from contextlib import ExitStack, suppress
from typing import Any

from minikafka.server.addresses import keep_port
from minikafka.server.log import log
from minikafka.server.serve import MOST_VOTERS, known_cluster_id, port_of, stop_on_signals, stop_with_parent
from minikafka.server.shell import now

SOON_SECONDS = 2.0  # one that died sooner than this after its start waits so long before it is started again
STOP_SECONDS = 30.0


async def run_processes(args: argparse.Namespace, folder: str, cleanup: ExitStack) -> int:
    """Run all brokers until a stop is wanted; returns the exit code."""
    nodes = range(1, args.brokers + 1)
    kept = {node: keep_port(args.host, args.port + node - 1 if args.port else 0) for node in nodes}
    of_nodes = {node: keep_port("127.0.0.1", 0) for node in nodes[:MOST_VOTERS]}
    for each in (*kept.values(), *of_nodes.values()):
        cleanup.callback(each.close)
    wanted = asyncio.Event()
    stop_on_signals(wanted)
    if args.exit_with_parent:
        stop_with_parent(wanted)
    cluster_id = known_cluster_id(folder, nodes, args)
    brokers = [Child(node, command(args, node, folder, kept, of_nodes, cluster_id), folder) for node in nodes]
    lives = [asyncio.create_task(broker.live(restart=not args.no_restart)) for broker in brokers]
    stopping: asyncio.Future[Any] = asyncio.ensure_future(wanted.wait())
    all_ready: asyncio.Future[Any] = asyncio.gather(*(broker.ready.wait() for broker in brokers))
    await asyncio.wait([all_ready, stopping, *lives], return_when=asyncio.FIRST_COMPLETED)
    if all_ready.done():
        print("ready " + ",".join(broker.address for broker in brokers), flush=True)
        await asyncio.wait([stopping, asyncio.gather(*lives)], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    all_ready.cancel()
    await asyncio.gather(*(broker.stop() for broker in brokers))
    await asyncio.gather(*lives)
    await asyncio.gather(stopping, all_ready, return_exceptions=True)
    return 0 if wanted.is_set() else 1


def command(
    args: argparse.Namespace, node: int, folder: str, kept: dict[int, socket.socket],
    of_nodes: dict[int, socket.socket], cluster_id: str,
) -> list[str]:
    """The command line of one broker."""
    voters = ",".join(f"{voter}@127.0.0.1:{port_of(listener)}" for voter, listener in of_nodes.items())
    own = [sys.executable, "-m", "minikafka", "serve", "--exit-with-parent", "--kept-ports"]
    own += ["--node", str(node), "--voters", voters, f"--cluster-id={cluster_id}"]  # an id may begin with a dash
    own += ["--host", args.host, "--port", str(port_of(kept[node]))]
    own += ["--data", os.path.join(folder, f"broker-{node}")]
    if args.advertised_host:
        own += ["--advertised-host", args.advertised_host]
    if args.racks:
        own += ["--racks", ",".join(args.racks)]
    if args.trace:
        with suppress(OSError):
            os.remove(f"{args.trace}.{node}")  # of an earlier run: a broker that starts again goes on in its file
        own += ["--trace", f"{args.trace}.{node}", "--trace-began-ms", str(now().monotonic_ms)]
    for name, value in args.override:
        own += ["--override", f"{name}={value}"]
    return own + (["--verbose"] if args.verbose else [])


class Child:
    """One broker's process. ready: it has said so at least once. address: where clients reach it."""

    def __init__(self, node: int, command: list[str], folder: str) -> None:
        self.ready = asyncio.Event()
        self.address = ""
        self._node = node
        self._command = command
        self._pid_file = os.path.join(folder, f"broker-{node}.pid")
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = False

    async def live(self, restart: bool) -> None:
        """Start it, and again whenever it dies, until it is to stop. One that never was ready is not tried again."""
        loop = asyncio.get_running_loop()
        while not self._stopping:
            began = loop.time()
            pipe = asyncio.subprocess.PIPE
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdin=pipe, stdout=pipe, start_new_session=True
            )
            with open(self._pid_file, "w", encoding="ascii") as file:
                file.write(f"{self._process.pid}\n")
            assert self._process.stdout is not None
            line = (await self._process.stdout.readline()).decode()
            if line.startswith("ready "):
                self.address = line.removeprefix("ready ").strip()
                self.ready.set()
            code = await self._process.wait()
            with suppress(FileNotFoundError):
                os.remove(self._pid_file)
            if self._stopping or not restart or not self.ready.is_set():
                break
            log(f"broker {self._node} (process {self._process.pid}) died ({how(code)}): it is started again.")
            if loop.time() - began < SOON_SECONDS:
                await asyncio.sleep(SOON_SECONDS)
        if not self._stopping:
            log(f"broker {self._node} has ended ({how(code)}).")

    async def stop(self) -> None:
        """End it cleanly: its standard input ends."""
        self._stopping = True
        if self._process is None or self._process.returncode is not None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), STOP_SECONDS)
        except TimeoutError:
            self._process.kill()


def how(code: int) -> str:
    """A process's end in words."""
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"

