"""The asyncio shell around one broker: its life, the clients it accepts, its timer, and
its connections to other nodes.

A request doesn't come through here: its connection (connection.py) gives it to the
node's turn (broker/turn.py), which hands the answer back to the connection. Everything
runs on one thread, so the broker never sees two things at once.

Memory is bounded over all connections (budget.py). When requests that aren't whole yet,
or wait for their turn, use up their budget, connections give way; until then one turn
of the event loop can at most double them, because that is how frames grow. When answers
that clients haven't read use up theirs, further requests wait; if that hasn't helped
after PATIENCE_MS, connections that don't read give way.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from minikafka.broker.broker import Broker
from minikafka.broker.effects import (
    Admitted,
    HangUp,
    Notice,
    Reconfigured,
    Request,
)
from minikafka.broker.peers import CONTROLLER_LISTENER
from minikafka.broker.turn import Turn
from minikafka.clock import Now
from minikafka.cluster import election
from minikafka.server.addresses import listen_on, named
from minikafka.server.budget import Budget
from minikafka.server.connection import Connection, Shared, Watcher
from minikafka.server.frames import SCRATCH_BYTES
from minikafka.server.log import log
from minikafka.server.newcomers import Newcomers
from minikafka.server.node_handshake import NodeHandshakes
from minikafka.server.peers import Lane
from minikafka.wire.primitives import DecodeError

if TYPE_CHECKING:
    import socket

    from minikafka.server.locks import Locks

HAND_OVER_LOOK_SECONDS = 0.02
# how long a stopping server waits for clients to read their last answers
FLUSH_SECONDS = 2.0
# how long a request waits for other clients to read their answers
PATIENCE_MS = 2_000
LOOK_AGAIN_SECONDS = 0.25  # how often that is checked
# things that may happen a thousand times a second are reported once in this time
ONCE_SECONDS = 1.0
MOST_QUEUING = 512  # connections that the system queues until they are accepted


def now() -> Now:
    return Now(time.monotonic_ns() // 1_000_000, time.time_ns() // 1_000_000)


class Server:
    """The sockets of one broker.

    max_connections: further ones are closed at once; a lower max.connections counts
    instead. secret: the cluster's, for the handshake on the nodes' listener; None:
    there is no handshake. locks: of the listeners that have one. watchers: listen in on
    the connections. verbose: bugs are reported with their traceback. after_turn: called
    when a turn's answers are about to be sent. clock: reads another time than the
    machine's. new_connection: makes a client's connection, where there is no TLS.
    """

    def __init__(
        self,
        broker: Broker,
        *,
        max_connections: int,
        secret: bytes | None = None,
        locks: "Locks | None" = None,
        watchers: Sequence[Watcher] = (),
        verbose: bool = False,
        after_turn: Callable[[], object] | None = None,
        clock: Callable[[], Now] | None = None,
        new_connection: Callable[..., Connection] = Connection,
    ) -> None:
        config = broker.config
        self._now = clock or now
        self._new_connection = new_connection
        self.broker = broker
        self.max_frame_bytes: int = config["socket.request.max.bytes"]
        # so that one connection never takes more than half
        self.requests = Budget[Connection](2 * (self.max_frame_bytes + SCRATCH_BYTES))
        # a few of the largest, or many ordinary ones
        self.answers = Budget[Connection](4 * config["fetch.max.bytes"])
        self.connections: set[Connection] = set()
        self._turn = Turn(broker, self, self._now)
        self._shared = Shared(
            self._turn,
            self.connections,
            self.requests,
            self.answers,
            self.max_frame_bytes,
            watchers,
        )
        self._max_connections = max_connections
        self._turned_away = 0
        self._secret = secret
        self._node_handshakes = (
            None
            if secret is None
            else NodeHandshakes(secret, self._most_connections // 2, self._let_in_node)
        )
        # of addresses that have opened too many; each is closed in a moment
        self._held: dict[socket.socket, asyncio.TimerHandle] = {}
        self._locks = locks
        self._is_reconfigured = False
        self._newcomers = Newcomers(self._most_connections // 2)
        # nodes whose place is taken by a stranger, as far as we have reported
        self._strangers: set[int] = set()
        self._idle_seconds = config["connections.max.idle.ms"] / 1000
        self._is_verbose = verbose
        self._after_turn = after_turn
        self._timer: asyncio.TimerHandle | None = None
        # each will be called in a moment
        self._is_settling = False
        self._is_looking = False
        self._lanes: dict[tuple[int, str], Lane] = {}  # to other nodes
        # the broker has become ready, or has stopped, or is to stop
        self._changed = asyncio.Event()
        self._ready = False
        self._stopping = False
        self._has_crashed = False
        self._is_frozen = False
        self._thawed = asyncio.Event()
        # what other nodes did while it stood still
        self._unheard: list[Callable[[], None]] = []
        self._cut_off: set[int] = set()  # nodes to which nothing passes
        self._bug: BaseException | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._callback_failed)

    # --- the life of the server ---

    async def run(
        self,
        listeners: "Mapping[str, socket.socket]",
        say_ready: Callable[[], object],
        of_nodes: "socket.socket | None" = None,
        of_metrics: "socket.socket | None" = None,
    ) -> None:
        """Start the broker, accept clients once it is ready, and return when it has
        stopped: cleanly, or broker.why_failed gives the reason. listeners: where it
        listens to clients, by name. of_nodes: where it
        listens to the other nodes of its cluster, from the start. of_metrics: where it
        tells its metrics, from the start too.

        Clients that connected sooner would see a cluster without brokers; Apache Kafka
        refuses them too until it has read the metadata and the logs. Errors:
        CannotServe if another program has begun to listen there.
        """
        self.broker.start(self._now())
        self._turn.run()
        if self.broker.why_failed:
            return
        accepting = []
        if of_nodes is not None:
            accepting.append(self._accepting(of_nodes, CONTROLLER_LISTENER))
        if of_metrics is not None:
            accepting.append(self._telling(of_metrics))
        if self._idle_seconds >= 0:
            self._close_idle()
        try:
            while not (self.broker.ready or self.broker.why_failed or self._stopping):
                await self._next_change()
            if self.broker.ready and not self._stopping:
                self._open_stores()
                for name, listener in listeners.items():
                    accepting.append(self._accepting(listener, name))
                say_ready()
            while not (self._stopping or self.broker.why_failed):
                await self._next_change()
        finally:
            for task in accepting:
                task.cancel()
            if self._node_handshakes is not None:
                self._node_handshakes.close()
            self._newcomers.close()
            for held in list(self._held):
                self._drop(held)
            for listener in listeners.values():
                listener.close()
            if of_nodes is not None:
                of_nodes.close()
            if of_metrics is not None:
                of_metrics.close()
        if self._has_crashed:
            self._vanish()  # those that were accepted meanwhile, too
            return
        if not self.broker.why_failed:
            # answers parked requests, and writes the clean shutdown marker
            self.broker.stop(self._now())
            self._turn.run()
        await self._hang_up()

    async def hand_over(self) -> None:
        """Before a clean stop: let others take over the partitions this broker leads
        (controlled shutdown).
        """
        if self.broker.ready and not self.broker.why_failed:
            self.broker.leave(self._now())
            self._turn.run()
            while not (self.broker.may_stop or self.broker.why_failed):
                await asyncio.sleep(HAND_OVER_LOOK_SECONDS)

    def stop(self) -> None:
        """Ask for a clean stop; run() returns soon after."""
        self._stopping = True
        self._changed.set()

    # --- what may happen to a process ---

    def crash(self) -> None:
        """End as a process that is killed does: nobody is answered, nothing more is
        written. run() returns soon after.
        """
        self._has_crashed = True
        self._vanish()
        self.stop()

    def _vanish(self) -> None:
        """Close everything without a word; the broker hears of nothing any more."""
        if self._timer:
            self._timer.cancel()
        for lane in self._lanes.values():
            lane.close()
        for connection in list(self.connections):
            connection.vanish()

    def freeze(self) -> None:
        """Stand still, as a process that is stopped does: connections stay open, and
        what comes waits.
        """
        self._is_frozen = True
        self._thawed.clear()
        if self._timer:
            self._timer.cancel()
            self._timer = None
        for connection in self.connections:
            connection.transport.pause_reading()
        for lane in self._lanes.values():
            lane.hold()

    def thaw(self) -> None:
        """Go on, as if nothing had happened."""
        self._is_frozen = False
        self._thawed.set()
        for (node, _), lane in list(self._lanes.items()):
            if node not in self._cut_off:
                lane.release()
        for connection in list(self.connections):
            connection.flush()
        unheard, self._unheard = self._unheard, []
        for hear in unheard:
            hear()
        self._tick()

    def cut(self, node: int) -> None:
        """Hold back what this node asks the other one, and the answers, until `mend`.
        They arrive then, because TCP sends them again.
        """
        self._cut_off.add(node)
        for (other, _), lane in self._lanes.items():
            if other == node:
                lane.hold()

    def mend(self, node: int) -> None:
        """Ask this node again, and hear its answers, beginning with what has waited."""
        self._cut_off.discard(node)
        for (other, _), lane in list(self._lanes.items()):
            if other == node and not self._is_frozen:
                lane.release()

    def _accepting(self, listener: "socket.socket", name: str) -> asyncio.Task[None]:
        """Start to listen and accept clients, until cancelled."""
        listener.setblocking(False)
        listen_on(listener, MOST_QUEUING)
        task = asyncio.create_task(self._accept(listener, name))
        task.add_done_callback(self._accepting_ended)
        return task

    def _telling(self, listener: "socket.socket") -> asyncio.Task[None]:
        """Start to tell the metrics, until cancelled."""
        # loads what only those need who want metrics
        from minikafka.server.metrics import MetricsPage

        task = asyncio.create_task(MetricsPage(self.broker).serve(listener))
        task.add_done_callback(self._accepting_ended)
        return task

    async def _accept(self, listener: "socket.socket", name: str) -> None:
        """Accept clients one at a time, so that a burst can't open more than there is
        room for (asyncio's own loop accepts a hundred).
        """
        handshakes = self._node_handshakes if name == CONTROLLER_LISTENER else None
        while True:
            try:
                client, address = await self._loop.sock_accept(listener)
                if self._is_frozen:
                    await self._thawed.wait()
                if name != CONTROLLER_LISTENER:
                    await self._keep_pace(client, name)
                waiting = len(self._held) + (
                    0 if self._node_handshakes is None else len(self._node_handshakes)
                )
                if len(self.connections) + waiting >= self._most_connections:
                    client.close()
                    self._turn_away()
                    # sock_accept doesn't wait while a client is in the queue
                    await asyncio.sleep(0)
                elif handshakes is not None:
                    handshakes.begin(client, named(address))
                    await asyncio.sleep(0)
                elif held_ms := self._held_ms(name, address[0]):
                    self._hold(client, held_ms)
                    await asyncio.sleep(0)
                else:
                    await self._let_in(client, name)
            except ConnectionError:
                pass  # the client left before it was accepted
            except OSError as error:  # the whole system is out of open files or memory
                log(
                    f"can't accept a connection: {error.strerror}; trying again in"
                    f" {ONCE_SECONDS:.0f} s."
                )
                await asyncio.sleep(ONCE_SECONDS)

    async def _keep_pace(self, client: "socket.socket", name: str) -> None:
        """Let a client wait, and those behind it, if too many come (KIP-612)."""
        wait_ms = self.broker.throttling.connection_wait_ms(name, self._now())
        if wait_ms:
            try:
                await asyncio.sleep(wait_ms / 1000)
            except asyncio.CancelledError:
                client.close()
                raise

    def _held_ms(self, name: str, host: str) -> int:
        """0, or for how long a connection of this address is held. Nodes have no
        quota.
        """
        if name == CONTROLLER_LISTENER:
            return 0
        return self.broker.throttling.connected(host, self._now())

    def _hold(self, client: "socket.socket", held_ms: int) -> None:
        """One too many of its address (KIP-612): it is closed after a while, unheard, so
        that its client doesn't come again at once.
        """
        self._held[client] = self._loop.call_later(held_ms / 1000, self._drop, client)

    def _drop(self, client: "socket.socket") -> None:
        self._held.pop(client).cancel()
        client.close()

    async def _let_in(self, client: "socket.socket", name: str) -> None:
        await self._loop.connect_accepted_socket(
            partial(self._connection, name), client
        )

    def _connection(self, name: str) -> Connection:
        """A new one on this listener."""
        door = None if self._locks is None else self._locks.doors.get(name)
        if door is None:
            return self._new_connection(self._shared, name)
        if door.context is None:
            return self._new_connection(
                self._shared, name, self._newcomers, door.max_frame_bytes
            )
        # loads what only those need who have TLS
        from minikafka.server.tls_connection import TlsConnection

        return TlsConnection(
            self._shared,
            name,
            self._newcomers,
            door.max_frame_bytes,
            door.context,
            door.principal_of,
            door.logs_in,
        )

    async def _let_in_node(self, node: "socket.socket") -> None:
        await self._let_in(node, CONTROLLER_LISTENER)

    def _turn_away(self) -> None:
        if not self._turned_away:
            self._loop.call_later(ONCE_SECONDS, self._tell_turned_away)
        self._turned_away += 1

    @property
    def _most_connections(self) -> int:
        """max.connections may change at run time."""
        allowed: int = self.broker.in_force["max.connections"]
        return min(self._max_connections, allowed)

    def _tell_turned_away(self) -> None:
        log(
            f"turned away {self._turned_away} connection(s): {self._most_connections} at"
            " a time are what max.connections and the limit of open files (ulimit -n)"
            " allow."
        )
        self._turned_away = 0

    async def _next_change(self) -> None:
        await self._changed.wait()
        self._changed.clear()
        if self._bug:
            raise self._bug

    def _callback_failed(
        self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]
    ) -> None:
        """An error in a callback: one from the system is only reported, one of ours
        stops the node.
        """
        error = context.get("exception")
        if error is None or isinstance(error, OSError):
            log(f"{context['message']}: {error}")
        else:
            self._bug = error
            self._changed.set()

    def _accepting_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self._bug = task.exception()
            self._changed.set()

    async def _hang_up(self) -> None:
        """Close all connections; give clients a moment to read the last answers."""
        if self._timer:
            self._timer.cancel()
        for connection in list(self.connections):
            connection.close()
        patience = self._loop.time() + FLUSH_SECONDS
        # it has something to send to other nodes
        leaving = [
            lane for (_, name), lane in self._lanes.items() if name == election.LANE
        ]
        while (
            self.connections or any(lane.waits for lane in leaving)
        ) and self._loop.time() < patience:
            await asyncio.sleep(0.01)
        for lane in self._lanes.values():
            lane.close()
        for connection in list(self.connections):
            connection.transport.abort()

    # --- what a turn needs (broker/turn.py) ---

    def holds(self) -> bool:
        """Nothing new begins while the node stops, or stands still, or while the answers
        that nobody has read yet use up the memory meant for them.
        """
        return self._stopping or self._is_frozen or self.answers.full

    def carry_out(
        self, effect: Request | HangUp | Notice | Admitted | Reconfigured
    ) -> None:
        """Carry out an effect of the broker that is no answer to a client."""
        if isinstance(effect, Request):
            self._ask(effect)
        elif isinstance(effect, Notice):
            # a traceback with --verbose
            log(effect.line, effect.error if self._is_verbose else None)
        elif isinstance(effect, Admitted):
            if effect.connection in self.connections:
                connection: Any = effect.connection
                connection.admitted()
        elif isinstance(effect, Reconfigured):
            self._is_reconfigured = True
        else:
            log(
                f"closed the connection to node {effect.node} ({effect.lane}), which"
                " did not answer in time."
            )
            self._lanes[effect.node, effect.lane].close()

    def turn_ended(self, touched: Iterable[Connection]) -> None:
        """Send the answers, with one write per connection."""
        if self._after_turn:
            self._after_turn()
        if self._is_reconfigured:  # before the client that set it hears of it
            self._open_stores()
        if not self._is_frozen:
            for connection in touched:
                connection.flush()
        if not self._is_settling:
            self._is_settling = True
            self._loop.call_soon(self._settle)

    def _open_stores(self) -> None:
        """Use what the broker's own configs say now of keystores and truststores."""
        self._is_reconfigured = False
        if self._locks is not None:
            self._locks.open_stores(self.broker.own_configs)

    def _settle(self) -> None:
        """After all turns of one round of the loop, when everybody whose bytes were
        there has had its turn: let those go on whom a long turn left behind, and set
        one timer for the broker's next deadline.
        """
        self._is_settling = False
        self._drop_half_requests()
        broker = self.broker
        if broker.why_failed or broker.ready != self._ready:
            self._ready = broker.ready
            self._changed.set()
        if broker.why_failed or self._stopping or self._is_frozen:
            return
        if self._turn.ready:
            if not self.answers.full:
                self._turn.run()
            elif not self._is_looking:
                self._is_looking = True
                self._loop.call_later(LOOK_AGAIN_SECONDS, self._look_again)
        at = broker.next_deadline() / 1000
        if self._timer and self._timer.when() <= at:
            return  # one tick too many costs less than a timer per request
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self.broker.tick(self._now())
        self._turn.run()

    # --- memory over all connections ---

    def _look_again(self) -> None:
        """While requests are held back: check which answers were read meanwhile, and
        which requests have waited long enough.
        """
        self._is_looking = False
        if self._stopping:
            return
        for connection in self.answers.holders():
            connection.count_unread()
        self._turn.run()
        overdue_ms = self._now().monotonic_ms - PATIENCE_MS
        waiting = self._turn.ready
        while (
            waiting and self.answers.full and next(iter(waiting.values())) <= overdue_ms
        ):
            self._drop_a_lazy_reader()
            self._turn.run()

    def _drop_a_lazy_reader(self) -> None:
        budget = self.answers
        lazy = budget.who_gives_way()
        log(
            f"closed the connection of {lazy}, which does not read {budget.held(lazy)}"
            f" of {budget.total_bytes} bytes of answers, above {budget.most_bytes},"
            " while others wait."
        )
        lazy.abort()

    def _drop_half_requests(self) -> None:
        budget = self.requests
        while budget.full:
            hog = budget.who_gives_way()
            hog.refuse(
                f"holds {budget.held(hog)} of {budget.total_bytes} bytes of unfinished"
                f" requests, above {budget.most_bytes}"
            )

    # --- other nodes ---

    def _ask(self, request: Request) -> None:
        if self._has_crashed:
            return
        key = request.node, request.lane
        lane = self._lanes.get(key)
        if lane is None or lane.closed:
            address = self.broker.peers.addresses[request.node]
            stranger = partial(self._stranger, request.node, address)
            ends = (self.max_frame_bytes, self._replied, self._failed)
            lane = self._lanes[key] = Lane(address, self._secret, stranger, *ends)
            if request.node in self._cut_off:
                lane.hold()
        lane.ask(request)

    def _stranger(self, node: int, address: tuple[str, int], why: str | None) -> None:
        """Report a stranger in a node's place once, until the node itself is there: we
        try again many times a second.
        """
        if why is None:
            self._strangers.discard(node)
        elif node not in self._strangers:
            self._strangers.add(node)
            log(f"node {node}, at {named(address)}, {why}.")

    def _replied(self, request: Request, frame: bytearray) -> None:
        try:
            self.broker.receive_reply(request.node, request.lane, frame, self._now())
        except DecodeError as error:
            log(
                f"closed the connection to node {request.node}, which sent no answer:"
                f" {error}."
            )
            self._lanes[request.node, request.lane].close()
            self._failed([request])
        self._turn.run()

    def _failed(self, requests: list[Request]) -> None:
        if self._has_crashed:
            return
        if self._is_frozen:
            self._unheard.append(partial(self._failed, requests))
            return
        for request in requests:
            self.broker.request_failed(
                request.node, request.lane, request.correlation_id, self._now()
            )
        if not self._stopping:
            self._turn.run()

    # --- idle connections ---

    def _close_idle(self) -> None:
        """Apply connections.max.idle.ms. A connection that we closed and whose client
        never reads is closed for good as well.
        """
        if self._stopping:
            return
        oldest = time.monotonic() - self._idle_seconds
        for connection in list(self.connections):
            if connection.active_at <= oldest:
                (
                    connection.transport.abort()
                    if connection.closed
                    else connection.close()
                )
        self._loop.call_later(min(self._idle_seconds / 2, 60.0), self._close_idle)
