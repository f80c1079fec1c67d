"""`minikafka serve`: brokers with real sockets, real files and real time. This file
reads the command's options and puts the parts together; shell.py runs them.
"""

import asyncio
import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from minikafka.broker.broker import Broker
from minikafka.broker.config import BrokerConfig
from minikafka.broker.listeners import PLAINTEXT
from minikafka.broker.peers import CONTROLLER_LISTENER
from minikafka.cluster.metadata import Endpoint
from minikafka.server.addresses import (
    CannotServe,
    is_unspecified,
    listen_socket,
    named,
)
from minikafka.server.checks import (
    check,
    check_folders,
    check_node_listener,
    cluster_secret,
    first_node,
    new_cluster_id,
    nodes_of,
    place_of,
)
from minikafka.server.defaults import (
    MOST_VOTERS,
    PROPERTIES,
    PROPERTIES_OF_MANY,
)
from minikafka.server.doors import (
    ADVERTISED,
    LISTENERS,
    NODE_ID,
    client_sockets,
    told,
    warn_of_open_doors,
)
from minikafka.server.folder_disk import FolderDisk
from minikafka.server.key_files import key_files
from minikafka.server.log import log
from minikafka.server.memory import keep_freed_memory
from minikafka.server.open_files import raised_limit, share
from minikafka.server.shell import Server, now
from minikafka.trace import Event, Trace, printable
from minikafka.wire.errors import KafkaError

if TYPE_CHECKING:
    import argparse

    from minikafka.broker.counters import Counters
    from minikafka.server.connection import Watcher


class Ready(NamedTuple):
    """What the program that starts brokers wants to know. bootstrap_servers: where clients
    reach them. control: where they are told to fail, if anywhere, and the token for it.
    """

    bootstrap_servers: str
    cluster_id: str
    control: tuple[str, str] | None = None


class Parent(NamedTuple):
    """The process or program that started this one. say_ready: clients may come.
    wait_for_end(): returns when it has ended, and then the brokers end, too; None: they
    go on.
    """

    say_ready: Callable[[Ready], object]
    wait_for_end: Callable[[], object] | None


def run_here(args: "argparse.Namespace", parent: Parent) -> int:
    """Run the brokers in this process, for any parent: a terminal, a program of ours, or
    the process that starts each broker in one. Returns the exit code.
    """

    def run(cleanup: ExitStack) -> int:
        keep_freed_memory()
        return asyncio.run(serve(args, parent, cleanup))

    return run_checked(args, run)


def run_checked(args: "argparse.Namespace", run: Callable[[ExitStack], int]) -> int:
    """Run brokers with options that were checked first; returns the exit code."""
    try:
        with ExitStack() as cleanup:
            check(args)
            return run(cleanup)
    except CannotServe as error:
        log(str(error))
        return 1


class Places(NamedTuple):
    """The nodes that run here, and where the cluster's nodes listen to each other.
    voters: if none are named, all nodes. told: the address at which the others reach a
    node that announces it when it registers.
    """

    nodes: Sequence[int]
    of_nodes: dict[int, socket.socket]
    peers: dict[int, Endpoint]
    voters: tuple[int, ...]
    told: dict[str, Endpoint]


class Shared(NamedTuple):
    """Common to all brokers of this process. most_connections: for each broker.
    listening: called with each trace event. after_turn: called by a server after each
    turn, if set.
    """

    args: "argparse.Namespace"
    places: Places
    cluster_id: str | None
    secret: bytes | None
    most_connections: int
    listening: list[Callable[[Event], None]]
    after_turn: Callable[[], None] | None


async def serve(args: "argparse.Namespace", parent: Parent, cleanup: ExitStack) -> int:
    secret = cluster_secret(args)
    places = one_of_many(args, secret) if args.node else all_here(args)
    files = share(raised_limit() // len(places.nodes))
    listeners = client_sockets(args, places.nodes)
    of_metrics = metrics_listeners(args, places.nodes)
    folder, cluster_id = data_folder(args, places.nodes, cleanup)
    disks = {}
    for node in places.nodes:
        place = place_of(folder, node, several=args.brokers > 1)
        disks[node] = open_disk(place, files.disk)
    listening: list[Callable[[Event], None]] = []
    write_trace = None
    if args.trace:
        write_trace = cleanup.enter_context(trace_file(args, listening))
    shared = Shared(
        args,
        places,
        cluster_id,
        secret,
        files.connections,
        listening,
        write_trace,
    )
    addresses = {}
    servers = {}
    for at, node in enumerate(places.nodes):
        addresses[node] = told(args, at, listeners[node])
        servers[node] = server_of(shared, node, addresses[node], disks[node])
    stop_wanted = asyncio.Event()
    stop_on_signals(stop_wanted)
    if parent.wait_for_end is not None:
        stop_after(parent.wait_for_end, stop_wanted)
    first = places.nodes[0]
    warn_of_open_doors(servers[first].broker.config, listeners[first])
    warn_without_effect(servers[first].broker.config)
    stopping = asyncio.create_task(stop_all(list(servers.values()), stop_wanted))
    # of the first listener of each
    bootstrap = ",".join(
        named(next(iter(each.values()))) for each in addresses.values()
    )

    def say_ready() -> None:
        parent.say_ready(Ready(bootstrap, servers[first].broker.quorum.cluster_id))

    for node, listener in of_metrics.items():
        where = named(listener.getsockname())
        log(f"the metrics of broker {node} are at http://{where}/metrics.")
    await run(servers, listeners, places.of_nodes, of_metrics, say_ready)
    stopping.cancel()
    stopped_itself = [each for each in servers.values() if each.broker.why_failed]
    return 1 if stopped_itself else 0


def metrics_listeners(
    args: "argparse.Namespace", nodes: Sequence[int]
) -> dict[int, socket.socket]:
    """The sockets where each node tells its metrics, if that is wanted."""
    if args.metrics is None:
        return {}
    listeners = {}
    for at, node in enumerate(nodes):
        port = args.metrics + at if args.metrics else 0
        listeners[node] = listen_socket(
            args.host, port, args.kept_ports, option="--metrics"
        )
    return listeners


def server_of(
    shared: Shared, node: int, addresses: dict[str, Endpoint], disk: FolderDisk
) -> Server:
    """One node: the broker, and the server that carries its bytes. addresses: what
    clients of each listener are told.
    """
    args, places = shared.args, shared.places
    try:
        config = BrokerConfig(
            addresses | places.told,
            properties_of(args, node, bool(places.peers)),
            places.peers,
            places.voters,
            shared.cluster_id,
            args.add_scram,
            key_files(args.override),
            args.kafka_version,
        )
    except KafkaError as error:
        raise CannotServe(f"--override: {error.message}") from error
    among_nodes = (
        config["security.inter.broker.protocol"] if places.peers else PLAINTEXT
    )
    if {among_nodes, config.protocol(CONTROLLER_LISTENER)} != {PLAINTEXT}:
        raise CannotServe(
            "security.inter.broker.protocol, and CONTROLLER in"
            " listener.security.protocol.map: here nodes talk on a listener of their own,"
            " which lets in whoever knows the cluster's secret and is not encrypted"
            " (SECURITY.md). Say PLAINTEXT, or leave them out."
        )
    locks = None
    if any(config.protocol(name) != PLAINTEXT for name in addresses):
        # loads what only those need who have locks
        from minikafka.server.locks import Locks

        locks = Locks(config)
        config.check_stores = locks.check_stores
    trace = Trace(f"broker {node}", shared.listening)
    counters = None if args.metrics is None else new_counters()
    broker = Broker(
        node,
        config,
        disk,
        random.SystemRandom(),
        trace,
        counters,
        time.perf_counter_ns,
    )
    return Server(
        broker,
        max_connections=shared.most_connections,
        secret=shared.secret,
        locks=locks,
        watchers=watchers(args.verbose, counters),
        verbose=args.verbose,
        after_turn=shared.after_turn,
    )


def properties_of(
    args: "argparse.Namespace", node: int, is_one_of_many: bool
) -> dict[str, str]:
    """The server properties of one node; those on the command line win."""
    properties = {}
    if is_one_of_many:
        properties.update(PROPERTIES_OF_MANY)
    properties.update(PROPERTIES)
    if args.racks:
        at = node - first_node(args)
        properties["broker.rack"] = args.racks[at % len(args.racks)]
    properties.update(args.override)
    for name in (LISTENERS, ADVERTISED, NODE_ID):  # which say where, for all brokers
        properties.pop(name, None)
    return properties


def warn_without_effect(config: BrokerConfig) -> None:
    """Warn about properties that have no effect here, because someone who sets a
    property expects something of it.
    """
    for name in config.unknown:
        log(f"no broker config is called {printable(name)}: nothing reads it.")
    if config.without_effect:
        log(f"without effect here: {', '.join(config.without_effect)}.")


def all_here(args: "argparse.Namespace") -> Places:
    """A single broker, or a whole cluster in this process."""
    nodes = nodes_of(args)
    if len(nodes) == 1:
        return Places(nodes, of_nodes={}, peers={}, voters=(), told={})
    of_nodes = {node: listen_socket("127.0.0.1", 0) for node in nodes}
    peers = {node: listener.getsockname()[:2] for node, listener in of_nodes.items()}
    return Places(nodes, of_nodes, peers, voters=tuple(nodes[:MOST_VOTERS]), told={})


def one_of_many(args: "argparse.Namespace", secret: bytes | None) -> Places:
    """One node of a cluster whose other nodes run elsewhere. A voter listens where
    --voters says. Any other node listens on a free port, and announces it when it
    registers: on this machine only, unless --node names another address.
    """
    node, host, port = args.node
    is_voter = node in args.voters
    voter_host, voter_port = args.voters.get(node, ("127.0.0.1", 0))
    option = "--voters" if host is None and is_voter else "--node"
    listener = listen_socket(
        host or voter_host, port or voter_port, args.kept_ports, option=option
    )
    check_node_listener(args, listener, secret)
    reached_at = host or voter_host
    if is_voter:
        reached_at = voter_host
    elif is_unspecified(listener):
        reached_at = args.advertised_host or args.host
    return Places(
        nodes=[node],
        of_nodes={node: listener},
        peers=args.voters,
        voters=tuple(sorted(args.voters)),
        told={CONTROLLER_LISTENER: (reached_at, port_of(listener))},
    )


def port_of(listener: socket.socket) -> int:
    port: int = listener.getsockname()[1]
    return port


async def run(
    servers: dict[int, Server],
    listeners: dict[int, dict[str, socket.socket]],
    of_nodes: dict[int, socket.socket],
    of_metrics: dict[int, socket.socket],
    say_ready: Callable[[], object],
) -> None:
    """Run all brokers until they have stopped, and call say_ready once all of them are
    ready. A broker that stops by itself gives its reason at once; it stops alone,
    unless the cluster has never been ready.
    """
    waiting = set(servers)

    def ready(node: int) -> None:
        waiting.discard(node)
        if not waiting:
            say_ready()

    async def run_one(node: int, server: Server) -> None:
        await server.run(
            listeners[node],
            partial(ready, node),
            of_nodes.get(node),
            of_metrics.get(node),
        )
        if not server.broker.why_failed:
            return
        log(server.broker.why_failed)
        if waiting:
            for other in servers.values():
                other.stop()

    await asyncio.gather(*(run_one(node, server) for node, server in servers.items()))


def open_disk(place: str, most_open_files: int) -> FolderDisk:
    """Open one broker's data folder, for its use alone. Errors: CannotServe."""
    try:
        disk = FolderDisk(place, most_open_files)
        alone = disk.lock(".lock")
    except OSError as error:
        why = f"can't use {place} as data folder: {error.strerror}."
        raise CannotServe(why) from error
    if not alone:
        raise CannotServe(
            f"another server runs on {place}: stop it, or choose another folder with"
            " --data."
        )
    return disk


def new_counters() -> "Counters":
    from minikafka.broker.counters import Counters

    return Counters()


def watchers(verbose: bool, counters: "Counters | None") -> "list[Watcher]":
    """Those that listen in on the connections."""
    found: list[Watcher] = []
    if verbose:
        from minikafka.server.handshakes import Handshakes

        found.append(Handshakes(log))
    if counters is not None:
        from minikafka.server.metrics import RequestTimes

        found.append(RequestTimes(counters))
    return found


def data_folder(
    args: "argparse.Namespace", nodes: Sequence[int], cleanup: ExitStack
) -> tuple[str, str | None]:
    """--data, or a temporary folder that is removed when the server ends; and the id of
    the cluster: the one that the nodes' data belong to, --cluster-id, or a new one.
    None: a single broker makes its own.
    """
    made = None if len(nodes) == 1 else new_cluster_id()
    if args.data is None:
        return temporary_folder(args, cleanup), args.cluster_id or made
    cluster_id = check_folders(args.data, nodes, args.cluster_id)
    try:
        os.makedirs(args.data, exist_ok=True)
    except OSError as error:
        why = f"can't use {args.data} as data folder: {error.strerror}."
        raise CannotServe(why) from error
    return str(args.data), cluster_id or made


def temporary_folder(args: "argparse.Namespace", cleanup: ExitStack) -> str:
    import shutil
    import tempfile

    try:
        folder = tempfile.mkdtemp(prefix="minikafka-")
    except OSError as error:
        why = f"can't make a temporary folder: {error.strerror}."
        raise CannotServe(f"{why} Name one with --data DIR.") from error
    cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
    if args.verbose:
        log(
            f"the data is in {folder} and goes away when the server stops; --data DIR"
            " keeps it."
        )
    return folder


@contextmanager
def trace_file(
    args: "argparse.Namespace", listening: list[Callable[[Event], None]]
) -> Iterator[Callable[[], None]]:
    """Write every event as a line of JSON, with times counted from here on, or from a
    moment that several processes agreed on. Yields a function that flushes the lines of
    a turn.

    A trace that can't be written any more (a full disk, a closed pipe) ends, and the
    server goes on.
    """
    import json

    path, began_ms = args.trace, args.trace_began_ms
    mode = "a"
    if began_ms is None:
        began_ms = now().monotonic_ms
        mode = "w"
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
            listening.remove(keep)
            log(f"the trace in {path} ends here: {error.strerror}.")
        lines.clear()

    try:
        file = open(path, mode, encoding="utf-8")  # noqa: SIM115 (closed below)
    except OSError as error:
        why = f"can't write the trace to {path}: {error.strerror}."
        raise CannotServe(f"--trace: {why}") from error
    listening.append(keep)
    try:
        yield write
    finally:
        try:
            file.close()
        except OSError:
            # the rest was lost when the trace ended, and reported then
            pass


def stop_on_signals(wanted: asyncio.Event) -> None:
    """SIGINT and SIGTERM stop cleanly; a second one ends the process at once."""
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        signal.signal(number, signal.SIG_DFL)
        wanted.set()

    def stop_soon(number: int, frame: object) -> None:
        loop.call_soon_threadsafe(stop, number)

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop, number)
        except NotImplementedError:  # Windows
            signal.signal(number, stop_soon)


def serve_until_stopped(
    serve: Callable[[], Coroutine[Any, Any, None]], begun: Callable[[], object]
) -> None:
    """Run a server in this thread, until SIGINT or SIGTERM, or until it fails. begun():
    called when it may be asked.
    """

    async def run() -> None:
        stop_wanted = asyncio.Event()
        stop_on_signals(stop_wanted)
        serving = asyncio.create_task(serve())
        begun()
        stopping = asyncio.create_task(stop_wanted.wait())
        await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            await serving  # raises what went wrong

    asyncio.run(run())


async def stop_all(servers: list[Server], wanted: asyncio.Event) -> None:
    """Stop all servers when `wanted` is set. All hand over before any of them stops,
    otherwise the last ones would have no controller left to ask.
    """
    await wanted.wait()
    await asyncio.gather(*(server.hand_over() for server in servers))
    for server in servers:
        server.stop()


def stop_after(wait_for_end: Callable[[], object], wanted: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()

    def wait() -> None:
        wait_for_end()
        with suppress(RuntimeError):  # the loop has ended before, or ends just now
            loop.call_soon_threadsafe(wanted.set)

    threading.Thread(target=wait, daemon=True).start()
