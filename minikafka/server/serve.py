"""`minikafka serve`: one broker with real sockets, real files and real time. Here the command reads its options and
puts the parts together; shell.py is what runs.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from minikafka.broker.broker import Broker
from minikafka.broker.config import BrokerConfig
from minikafka.server.addresses import CannotServe, listen_socket
from minikafka.server.folder_disk import FolderDisk
from minikafka.server.log import log
from minikafka.server.open_files import raised_limit, share
from minikafka.server.shell import LISTENER, Server, now
from minikafka.storage.data_folder import refuse_others
from minikafka.trace import Event, Trace
from minikafka.wire.errors import KafkaError

if TYPE_CHECKING:
    import argparse

NODE_ID = 1
PROPERTIES = {"group.initial.rebalance.delay.ms": "0"}  # where `serve` differs from Kafka: serve --help says why


def main(args: argparse.Namespace) -> int:
    """Run `minikafka serve` until it is told to stop; returns the exit code."""
    try:
        with ExitStack() as cleanup:
            return asyncio.run(serve(args, cleanup))
    except CannotServe as error:
        log(str(error))
        return 1


async def serve(args: argparse.Namespace, cleanup: ExitStack) -> int:
    check(args)
    files = share(raised_limit())
    disk = FolderDisk(data_folder(args, cleanup), files.disk)
    try:
        refuse_others(disk)
        alone = disk.lock(".lock")
    except KafkaError as error:
        raise CannotServe(f"{error.message}.") from error
    except OSError as error:
        raise CannotServe(f"can't use {args.data} as data folder: {error.strerror}.") from error
    if not alone:
        raise CannotServe(f"another server runs on {args.data}: stop it, or choose another folder with --data.")
    listener = listen_socket(args.host, args.port)
    reached_at, port = listener.getsockname()[:2]
    host = args.advertised_host or args.host
    try:
        config = BrokerConfig(advertised={LISTENER: (host, port)}, properties=PROPERTIES | dict(args.override))
    except KafkaError as error:
        raise CannotServe(f"--override: {error.message}") from error
    trace = Trace(f"broker {NODE_ID}")
    write_trace = None
    if args.trace:
        write_trace = cleanup.enter_context(trace_file(args.trace, trace))
    handshakes = None
    if args.verbose:
        from minikafka.server.handshakes import Handshakes

        handshakes = Handshakes(log)
    broker = Broker(NODE_ID, config, disk, random.Random(), trace)
    server = Server(
        broker, max_connections=files.connections, handshakes=handshakes, after_turn=write_trace
    )
    stop_on_signals(server)
    if args.exit_with_parent:
        stop_with_parent(server)
    if not ipaddress.ip_address(reached_at.partition("%")[0]).is_loopback:
        log(f"there is no authentication: anybody who reaches {reached_at}:{port} may read and write.")
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    await server.run(listener, lambda: print(f"ready {address}", flush=True))
    if broker.stopped:
        log(broker.stopped)
        return 1
    return 0


def check(args: argparse.Namespace) -> None:
    if args.brokers != 1:
        raise CannotServe("--brokers: one broker it is for now; several come with replication.")
    told = args.advertised_host or args.host
    if told in ("0.0.0.0", "::"):
        raise CannotServe(
            f"--host: clients can't connect to {told}: say which name they should use, "
            "for example --advertised-host localhost."
        )


def data_folder(args: argparse.Namespace, cleanup: ExitStack) -> str:
    """--data, or a temporary folder that goes when the server does."""
    if args.data:
        try:
            os.makedirs(args.data, exist_ok=True)
        except OSError as error:
            raise CannotServe(f"can't use {args.data} as data folder: {error.strerror}.") from error
        return str(args.data)
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="minikafka-")
    cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
    if args.verbose:
        log(f"the data is in {folder} and goes away when the server stops; --data DIR keeps it.")
    return folder


@contextmanager
def trace_file(path: str, trace: Trace) -> Iterator[Callable[[], None]]:
    """Every event becomes a line of JSON, its time counted from here on; gives what writes the lines of a turn out.

    A trace that can't be written any more (a full disk, a closed pipe) ends, and the server goes on.
    """
    import json

    began_ms = now().monotonic_ms
    lines: list[str] = []

    def keep(event: Event) -> None:
        line = event.to_json()
        line["at"] -= began_ms
        lines.append(json.dumps(line) + "\n")

    def write() -> None:
        if not lines:
            return
        try:
            file.writelines(lines)
            file.flush()
        except OSError as error:
            trace.listeners.remove(keep)
            log(f"the trace in {path} ends here: {error.strerror}.")
        lines.clear()

    try:
        file = open(path, "w", encoding="utf-8")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise CannotServe(f"--trace: can't write the trace to {path}: {error.strerror}.") from error
    trace.listeners.append(keep)
    try:
        yield write
    finally:
        try:
            file.close()
        except OSError:  # what it still holds was lost when the trace ended, and told then
            pass


def stop_on_signals(server: Server) -> None:
    """SIGINT and SIGTERM stop cleanly; a second one ends the process at once."""
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        signal.signal(number, signal.SIG_DFL)
        server.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop, number)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda number, frame: loop.call_soon_threadsafe(stop, number) and None)


def stop_with_parent(server: Server) -> None:
    """Our standard input is a pipe from the process that started us: it ends when that process does, somehow."""
    loop = asyncio.get_running_loop()

    def wait() -> None:
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(server.stop)

    threading.Thread(target=wait, daemon=True).start()
