"""`minikafka serve`: one broker with real sockets, real files and real time.

The loop is short: bytes arrive, a frame goes to the broker, what the broker left in its outbox goes out, one timer is
set for the broker's next deadline. Everything runs on one thread, so the broker never sees two things at once.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from minikafka.broker.broker import Broker
from minikafka.broker.config import BrokerConfig
from minikafka.broker.effects import Close, Notice, Reply, Request
from minikafka.clock import Now
from minikafka.server.addresses import CannotServe, listen_socket
from minikafka.server.connection import Connection
from minikafka.storage.data_folder import refuse_others
from minikafka.storage.disk import FolderDisk
from minikafka.trace import Event, Trace
from minikafka.wire.errors import KafkaError

if TYPE_CHECKING:
    import argparse
    import socket

    from minikafka.server.handshakes import Handshakes

NODE_ID = 1
LISTENER = "PLAINTEXT"
PROPERTIES = {"group.initial.rebalance.delay.ms": "0"}  # where `serve` differs from Kafka: serve --help says why
FLUSH_SECONDS = 2.0  # how long a stopping server waits for clients to read their last answers


def now() -> Now:
    return Now(time.monotonic_ns() // 1_000_000, time.time_ns() // 1_000_000)


def log(line: str) -> None:
    print(f"minikafka: {line}", file=sys.stderr, flush=True)


class Server:
    """The asyncio shell around one broker.

    max_frame_bytes: larger requests close their connection. idle_ms: so long may a connection say nothing.
    """

    def __init__(
        self,
        broker: Broker,
        *,
        max_frame_bytes: int,
        idle_ms: int,
        handshakes: Handshakes | None = None,
        after_turn: Callable[[], object] | None = None,
    ) -> None:
        self.broker = broker
        self.max_frame_bytes = max_frame_bytes
        self.held_bytes = 0  # frames that have not reached the broker, partial ones too, of all connections
        self.max_held_bytes = 2 * max_frame_bytes
        self.connections: set[Connection] = set()
        self._idle_seconds = idle_ms / 1000
        self._handshakes = handshakes
        self._after_turn = after_turn
        self._timer: asyncio.TimerHandle | None = None
        self._changed = asyncio.Event()  # the broker has become ready, or has stopped, or shall stop
        self._ready = False
        self._stopping = False
        self._bug: BaseException | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._callback_failed)

    # --- the life of the server ---

    async def run(self, listener: socket.socket, say_ready: Callable[[], object]) -> None:
        """Start the broker, accept clients, return when it has stopped: cleanly, or broker.stopped says why."""
        self.broker.start(now())
        self._drain()
        while not (self.broker.ready or self.broker.stopped or self._stopping):
            await self._next_change()
        if self.broker.stopped:
            return
        accepting = await self._loop.create_server(lambda: Connection(self), sock=listener, backlog=512)
        self._close_idle()
        if not self._stopping:
            say_ready()
        try:
            while not (self._stopping or self.broker.stopped):
                await self._next_change()
        finally:
            accepting.close()
        if not self.broker.stopped:
            self.broker.stop(now())  # answers what is parked, writes the clean shutdown marker
            self._drain()
        await self._hang_up()

    def stop(self) -> None:
        """Ask for a clean stop; run() returns soon after."""
        self._stopping = True
        self._changed.set()

    async def _next_change(self) -> None:
        await self._changed.wait()
        self._changed.clear()
        if self._bug:
            raise self._bug

    def _callback_failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """An error in a callback: of the system's (no more open files) it is only said; of ours it stops the node."""
        error = context.get("exception")
        if error is None or isinstance(error, OSError):
            log(f"{context['message']}: {error}")
        else:
            self._bug = error
            self._changed.set()

    async def _hang_up(self) -> None:
        """Close all connections; give clients a moment to read the last answers."""
        if self._timer:
            self._timer.cancel()
        for connection in list(self.connections):
            connection.close()
        patience = self._loop.time() + FLUSH_SECONDS
        while self.connections and self._loop.time() < patience:
            await asyncio.sleep(0.01)
        for connection in list(self.connections):
            connection.transport.abort()

    # --- one turn: requests in, answers out ---

    def turn(self, connection: Connection) -> None:
        """Something came from this client: pass it on, then send whatever the broker has left for anybody."""
        connection.active_at = self._loop.time()
        if self.held_bytes > self.max_held_bytes:
            self._drop_the_largest()
        self._pass_on(connection)
        connection.send()  # also settles whether we go on reading
        self._drain()

    def _pass_on(self, connection: Connection) -> None:
        if self._stopping or self.broker.stopped:
            return
        frame = connection.next_frame()
        if frame is None:
            return
        if self._handshakes:
            self._handshakes.asked(connection, frame)
        try:
            self.broker.receive(connection, frame, now())
        except AssertionError:  # the broker no longer trusts itself: the node stops
            raise
        except Exception:
            traceback.print_exc()
            self.refuse(connection, "met a bug of minikafka's (above); please report it")

    def _drain(self) -> None:
        """Empty the outbox, again while answers free connections whose next request waits; one write a connection."""
        touched: dict[Connection, None] = {}  # a set would do, but not in the order in which they were answered
        outbox = self.broker.outbox
        while outbox:
            effects = list(outbox)
            outbox.clear()
            freed = []
            for effect in effects:
                assert not isinstance(effect, Request), "a cluster of one has no peers"
                if isinstance(effect, Notice):
                    self._say(effect)
                    continue
                connection: Any = effect.connection
                touched[connection] = None
                freed.append(connection)
                connection.busy = False
                if isinstance(effect, Reply):
                    if self._handshakes:
                        self._handshakes.answered(connection, effect.frame)
                    connection.answer(effect.frame)
                elif isinstance(effect, Close):
                    self.refuse(connection, effect.why)
            for connection in freed:
                self._pass_on(connection)
        if self._after_turn:
            self._after_turn()
        for connection in touched:
            connection.send()
        self._settle()

    def _say(self, notice: Notice) -> None:
        log(notice.line)
        if notice.error is not None and self._handshakes:  # --verbose
            traceback.print_exception(notice.error)

    def _settle(self) -> None:
        """After each turn: one timer for the broker's next deadline."""
        broker = self.broker
        if broker.stopped or broker.ready != self._ready:
            self._ready = broker.ready
            self._changed.set()
        if broker.stopped or self._stopping:
            return
        at = broker.next_deadline() / 1000
        if self._timer and self._timer.when() <= at:
            return  # a tick too many costs less than a timer a request
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self.broker.tick(now())
        self._drain()

    # --- connections ---

    def connected(self, connection: Connection) -> None:
        connection.active_at = self._loop.time()
        self.connections.add(connection)
        self.broker.connected(connection, LISTENER, connection.host)
        if self._handshakes:
            self._handshakes.connected(connection)

    def disconnected(self, connection: Connection) -> None:
        self.connections.discard(connection)
        if self._handshakes:
            self._handshakes.left(connection)
        self.broker.disconnected(connection)
        self._drain()

    def refuse(self, connection: Connection, why: str) -> None:
        """Close one connection and say why; nobody else is touched."""
        log(f"closed the connection of {connection}, which {why}.")
        connection.close()

    def _drop_the_largest(self) -> None:
        hog = max(self.connections, key=lambda connection: connection.held_bytes)
        self.refuse(
            hog,
            f"holds {hog.held_bytes} of {self.held_bytes} bytes of unfinished requests, above {self.max_held_bytes}",
        )

    def _close_idle(self) -> None:
        """connections.max.idle.ms; a connection that we closed and whose client never reads goes the same way."""
        oldest = self._loop.time() - self._idle_seconds
        for connection in list(self.connections):
            if connection.active_at <= oldest:
                connection.transport.abort() if connection.closed else connection.close()
        self._loop.call_later(min(self._idle_seconds / 2, 60.0), self._close_idle)


# --- the command ---


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
    disk = FolderDisk(data_folder(args, cleanup))
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
    port = listener.getsockname()[1]
    host = args.advertised_host or args.host
    try:
        config = BrokerConfig(advertised={LISTENER: (host, port)}, properties=PROPERTIES | dict(args.override))
    except KafkaError as error:
        raise CannotServe(f"--override: {error.message}") from error
    trace = Trace(f"broker {NODE_ID}")
    flush_trace = None
    if args.trace:
        flush_trace = cleanup.enter_context(trace_file(args.trace, trace))
    handshakes = None
    if args.verbose:
        from minikafka.server.handshakes import Handshakes

        handshakes = Handshakes(log)
    broker = Broker(NODE_ID, config, disk, random.Random(), trace)
    server = Server(
        broker,
        max_frame_bytes=config["socket.request.max.bytes"],
        idle_ms=config["connections.max.idle.ms"],
        handshakes=handshakes,
        after_turn=flush_trace,
    )
    raise_file_limit()
    stop_on_signals(server)
    if args.exit_with_parent:
        stop_with_parent(server)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    await server.run(listener, lambda: print(f"ready {address}", flush=True))
    if broker.stopped:
        log(broker.stopped)
        return 1
    return 0


def check(args: argparse.Namespace) -> None:
    if args.brokers != 1:
        raise CannotServe("--brokers: one broker it is for now; several come with replication.")
    if args.host in ("0.0.0.0", "::") and not args.advertised_host:
        raise CannotServe(
            f"clients can't connect to {args.host}: with --host {args.host} say which name they should use, "
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
    """Every event becomes a line of JSON, its time counted from here on; gives what writes the lines of a turn out."""
    import json

    began_ms = now().monotonic_ms

    try:
        file = open(path, "w", encoding="utf-8")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise CannotServe(f"can't write the trace to {path}: {error.strerror}.") from error
    with file:

        def write(event: Event) -> None:
            line = event.to_json()
            line["at"] -= began_ms
            file.write(json.dumps(line) + "\n")

        trace.listeners.append(write)
        yield file.flush


def raise_file_limit() -> None:
    """Systems give 256 (macOS) or 1,024 open files unless asked for more; each client takes one."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 10_240 if hard == resource.RLIM_INFINITY else min(hard, 10_240)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


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
