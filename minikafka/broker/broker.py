"""A node, without I/O: its life, and what shells call.

Bytes come in (`receive`), time comes in (`tick`), and what to do with the outside world
is left in `outbox`, in order (effects.py). No socket, clock, thread or random source of
its own: simulation and TCP server drive the very same class, in one loop (turn.py).

Its parts are wired together in parts.py, and each has a file of its own. A request's
way, from a frame to an answer, is in requests.py. How far the node has come in its life
is in lifecycle.py.
"""

from collections.abc import Callable
from functools import partial

from minikafka.broker.config import BrokerConfig, Random
from minikafka.broker.counters import Counters
from minikafka.broker.effects import Connection
from minikafka.broker.handlers import Handlers
from minikafka.broker.lifecycle import LOGS_OPENED, RECOVERING, STOPS
from minikafka.broker.mutations import limit_mutations
from minikafka.broker.parts import Parts
from minikafka.broker.requests import Requests
from minikafka.clock import Now, no_time
from minikafka.cluster.metadata import METADATA_TOPIC
from minikafka.cluster.principals import ANONYMOUS, Principal
from minikafka.cluster.timers import NEVER_MS
from minikafka.storage import checkpoints
from minikafka.storage.data_folder import identify
from minikafka.storage.disk import Disk, as_storage_errors
from minikafka.trace import Trace
from minikafka.wire.errors import KafkaError

# how much of each kind of background work a tick does
BACKGROUND_BUDGET_BYTES = 4 << 20
IDLE_MS = 1000  # without any timer, as long as the node is not in the cluster yet


class Broker(Parts):
    """A node: broker and controller in one. now: of the last time that somebody called
    it. stopwatch: ns since any moment, to measure how long requests take.
    """

    def __init__(
        self,
        node_id: int,
        config: BrokerConfig,
        disk: Disk,
        random: Random,
        trace: Trace,
        counters: Counters | None = None,
        stopwatch: Callable[[], int] = no_time,
    ) -> None:
        super().__init__(node_id, config, disk, random, trace, counters, stopwatch)
        self.requests = Requests(
            Handlers(self),
            self.forwarding,
            self.waiting,
            self.peers.to_itself,
            self.events,
            self.groups.settle,
            self.outbox,
            self.loggers,
            trace,
            self.clock,
            self.storage_failed,
            self.image,
            self.authorizer,
            self.login_of,
            self.throttling,
            partial(
                limit_mutations,
                throttling=self.throttling,
                image=self.image,
                config=config,
            ),
        )

    # -- life

    def start(self, now: Now) -> None:
        """Format an empty disk or replay what is there, and register; the rest of the
        way into the cluster is gone in `tick`.
        """
        self._enter(now)
        disk = self.disk
        try:
            with as_storage_errors(str(disk)):
                clean_epoch = checkpoints.clean_shutdown_epoch(disk)
                cluster_id = self.config.cluster_id
                identity = identify(disk, self.node_id, cluster_id, self.random_uuid)
                self.quorum.cluster_id = identity.cluster_id
                self.quorum.start(self.notice, now)
                self.quorum.replay()
            previous_epoch = -1 if clean_epoch is None else clean_epoch
            self.incarnation.directory_id = identity.directory_id
            self.incarnation.incarnation_id = self.random_uuid()
            self.registration.start(previous_epoch, now)
            self.peers.start()
        except KafkaError as error:
            self.storage_failed(error)
        self.requests.go_on(now)

    def leave(self, now: Now) -> None:
        """Begin a clean stop: the partitions that this broker leads go to others first,
        if there are any. `may_stop` says when they have them.
        """
        self._enter(now)
        self.registration.leave(now)
        self.requests.go_on(now)

    def stop(self, now: Now) -> None:
        """A clean stop: parked requests get their last answer, logs are synced, a
        restart needs no recovery. While logs are still being recovered nothing is
        written: the next start begins where this one did.
        """
        self._enter(now)
        self.groups.close()
        self.transactions.close()
        self.sharing.close()
        self.requests.expire_all(now)
        self.requests.go_on(now)
        self.quorum.election.resign(now)
        try:
            with as_storage_errors(str(self.disk)):
                if self.life.allowed.has_logs:
                    self.replicas.close(self.broker_epoch)
                self.quorum.replica.log.close()
        except KafkaError as error:
            self.storage_failed(error)
        if not self.why_failed:
            self.life.take(STOPS, now)

    @property
    def ready(self) -> bool:
        """Whether it is part of the cluster, and clients may come."""
        return self.life.allowed.coordinates

    @property
    def may_stop(self) -> bool:
        """Whether nobody needs it to stay."""
        return self.life.allowed.may_stop

    @property
    def why_failed(self) -> str | None:
        """Why the node stopped by itself, in one plain sentence; None, if it didn't."""
        return self.life.why_failed

    # -- what shells call

    def connected(
        self,
        connection: Connection,
        listener: str,
        host: str,
        principal: Principal = ANONYMOUS,
    ) -> None:
        """A client came. listener: the name of the listener it used, which decides the
        addresses it is told, and what is asked of it. principal: who TLS has shown it
        to be.
        """
        self.requests.connected(connection, listener, host, principal)

    def disconnected(self, connection: Connection) -> None:
        """A client has disconnected: drop everything it waits for."""
        self.requests.disconnected(connection)
        self.sharing.disconnected(connection)

    def receive(self, connection: Connection, frame: bytearray, now: Now) -> None:
        """A request, without its size. From here on the frame is the broker's: offsets
        are stamped into its batches.
        """
        self._enter(now)
        self.requests.receive(connection, frame, now)
        self.requests.go_on(now)

    def receive_reply(self, node: int, lane: str, frame: bytearray, now: Now) -> None:
        """Another node's answer. Errors: DecodeError if it can't be an answer to the
        request. A bug in handling it ends only the request for which it was asked.
        """
        self._enter(now)
        try:
            self.peers.receive_reply(node, lane, frame, now)
        except KafkaError as error:
            self.storage_failed(error)
        self._ask_others(now)
        self.requests.go_on(now)

    def request_failed(
        self, node: int, lane: str, correlation_id: int, now: Now
    ) -> None:
        """A request to another node will have no answer."""
        self._enter(now)
        self.peers.request_failed(node, lane, correlation_id, now)
        self.requests.go_on(now)

    def tick(self, now: Now) -> None:
        """Answer requests whose deadline has come, and do a slice of background
        work.
        """
        self._enter(now)
        self.requests.expire(now)
        self.peers.tick(now)
        if self.quorum.is_publishing:  # a long batch of metadata, piece by piece
            self.events.moved(("high_watermark", METADATA_TOPIC, 0), 0)
        self._do_a_slice(now)
        self._ask_others(now)
        self.requests.go_on(now)

    def next_deadline(self) -> int:
        """Monotonic ms at which tick should come next; after a tick it is later than
        that tick's now.
        """
        next_ms = self.clock.now.monotonic_ms + 1
        is_busy = self.waiting.ready or self.peers.to_itself
        is_recovering = self.life.state == RECOVERING
        if is_recovering or is_busy or self.quorum.is_publishing:
            return next_ms
        at_ms = self.timers.next()
        if at_ms == NEVER_MS:
            return next_ms + IDLE_MS
        return max(next_ms, at_ms)

    # -- inside

    def _do_a_slice(self, now: Now) -> None:
        """Do a slice of background work. Which work that is depends on whether the
        node's logs are open yet.
        """
        budget_bytes = BACKGROUND_BUDGET_BYTES
        try:
            if self.life.state == RECOVERING:
                if self.replicas.recover(budget_bytes):
                    self.life.take(LOGS_OPENED, now)
            else:
                self.replicas.tick(now, budget_bytes)
                self.groups.tick(now, budget_bytes)
                self.transactions.tick(now, budget_bytes)
                self.verifier.requests.tick(now)
                self.sharing.tick(now, budget_bytes)
            self.active_controller.tick(now)
        except KafkaError as error:
            self.storage_failed(error)

    def _ask_others(self, now: Now) -> None:
        """Send requests that are due to other nodes; a part that has just been answered
        may send its next one at once.
        """
        try:
            self.quorum.tick(now)
            if self.life.state != RECOVERING:
                self.fetcher.tick(now)
                self.isr.tick(now)
            self.damage.tick(now)
            self.registration.tick(now)
            self.forwarding.tick(now)
        except KafkaError as error:
            self.storage_failed(error)

    def _enter(self, now: Now) -> None:
        """Somebody calls: until the next call it is now. An empty outbox was taken."""
        self.clock.now = now
        self.trace.now = now.monotonic_ms
        if not self.outbox:
            self.requests.answered_bytes = 0
