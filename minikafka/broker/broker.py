"""A node, without I/O: what it is made of, and its life.

Bytes come in (`receive`), time comes in (`tick`), and what to do with the outside world
is left in `outbox`, in order (effects.py). No socket, clock, thread or random source of
its own: simulation and TCP server drive the very same class, in one loop (turn.py).

What it is made of is wired here, and each part has a file of its own. A request's way,
from a frame to an answer, is in requests.py. Handlers reach the logs through `replicas`
(replica_manager.py), and change the cluster through `active_controller`: its decision
goes through the metadata log, and only what comes back, committed, changes the image.
Who hears of that, and of records that were appended, is in news.py. How far the node
has come in its life is in lifecycle.py.
"""

from collections.abc import Hashable, Mapping

from minikafka.broker.active_controller import ActiveController
from minikafka.broker.config import BrokerConfig, InForce, Random, random_uuid
from minikafka.broker.damage import DamagedReplicas
from minikafka.broker.due import Due
from minikafka.broker.effects import Connection, Effect
from minikafka.broker.fetch_sessions import FetchSessions
from minikafka.broker.forwarding import Forwarding
from minikafka.broker.internal_topics import InternalTopics
from minikafka.broker.isr import IsrChanges
from minikafka.broker.lifecycle import FENCED, READY, RECOVERING, STOPS, Lifecycle
from minikafka.broker.loggers import Loggers
from minikafka.broker.news import News, new_quorum
from minikafka.broker.peers import Peers
from minikafka.broker.registration import Registration
from minikafka.broker.replica_fetcher import ReplicaFetcher
from minikafka.broker.replica_manager import ReplicaManager
from minikafka.broker.requests import Requests
from minikafka.broker.sharing import Sharing
from minikafka.broker.throttling import Throttling
from minikafka.clock import Now
from minikafka.cluster.election import Then
from minikafka.cluster.metadata import METADATA_TOPIC, Image
from minikafka.coordinators.coordinator import GroupCoordinator, TransactionCoordinator
from minikafka.coordinators.transaction_requests import Joins
from minikafka.storage import checkpoints
from minikafka.storage.data_folder import identify
from minikafka.storage.disk import Disk, Space, as_storage_errors
from minikafka.trace import Trace
from minikafka.wire.errors import KafkaError
from minikafka.wire.primitives import Encoded


class Broker:
    """A node: broker and controller in one. now: of the last time that somebody called
    it. descriptions: of topics in this image, as Metadata tells them.
    """

    def __init__(
        self,
        node_id: int,
        config: BrokerConfig,
        disk: Disk,
        random: Random,
        trace: Trace,
    ) -> None:
        self.node_id = node_id
        self.config = config
        self.trace = trace
        self.random = random
        self.now = Now(0, 0)
        self.outbox: list[Effect] = []
        self.life = Lifecycle()
        self.loggers = Loggers(self.outbox.append)
        self.notice = self.loggers.notice
        self.image = Image()
        self.in_force = InForce(config, self.image, node_id)
        self.descriptions: dict[Hashable, Encoded] = {}
        self._disk = disk

        self.news = News(self)
        self.requests = Requests(self, self.news.follow)
        self.fetch_sessions = FetchSessions(
            config["max.incremental.fetch.session.cache.slots"]
        )
        # of the cluster
        self.quorum = new_quorum(self, self.news, disk)
        self.active_controller = ActiveController(self)
        self.registration = Registration(self)
        self.forwarding = Forwarding(self)
        self.internal_topics = InternalTopics(self)
        self.peers = Peers(node_id, config, self.outbox.append, self.notice)
        # of logs
        self.replicas = ReplicaManager(
            node_id, config, disk, self.image, trace, self.notice, self.news
        )
        self.fetcher = ReplicaFetcher(self)
        self.isr = IsrChanges(self)
        self.damage = DamagedReplicas(self)
        self.throttling = Throttling(self)
        # of groups and transactions
        self.groups = GroupCoordinator(self)
        self.transactions = TransactionCoordinator(self)
        self.joins = Joins(self)
        self.sharing = Sharing(self)

        # with what each state of its life begins
        self.life.begins = {
            RECOVERING: (self.replicas.begin_recovery,),
            FENCED: (self.damage.logs_opened, self.registration.logs_opened),
            READY: (self.groups.start, self.transactions.start, self.sharing.start),
        }
        self._due = Due(self)

    # -- life

    def start(self, now: Now) -> None:
        """Format an empty disk or replay what is there, and register; the rest of the
        way into the cluster is gone in `tick`.
        """
        self._enter(now)
        disk = self._disk
        try:
            with as_storage_errors(str(disk)):
                clean_epoch = checkpoints.clean_shutdown_epoch(disk)
                cluster_id = self.config.cluster_id
                identity = identify(disk, self.node_id, cluster_id, self.random_uuid)
                self.quorum.cluster_id = identity.cluster_id
                self.quorum.start(self.notice, now)
                self.quorum.replay()
            previous_epoch = -1 if clean_epoch is None else clean_epoch
            self.registration.start(identity.directory_id, previous_epoch, now)
            self.peers.start(now)
        except KafkaError as error:
            self.storage_failed(error)
        self.requests.go_on(now)

    def leave(self, now: Now) -> None:
        """Begin a clean stop: what this broker leads goes to others first, if there are
        any. `may_stop` says when they have it.
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
            with as_storage_errors(str(self._disk)):
                if self.life.allowed.has_logs:
                    self.replicas.close(self.broker_epoch)
                self.quorum.replica.log.close()
        except KafkaError as error:
            self.storage_failed(error)
        if not self.why_failed:
            self.life.take(STOPS, now)

    def storage_failed(self, error: KafkaError) -> None:
        """The only log directory failed: the request still gets its
        KAFKA_STORAGE_ERROR, then the node stops.
        """
        is_news = self.life.fail(f"node {self.node_id} stops: {error.message}")
        if is_news and self.trace:
            name = error.error.name
            self.trace.emit("NodeStopped", error=name, message=error.message)

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

    def connected(self, connection: Connection, listener: str, host: str) -> None:
        """A client came. listener: the name of the listener it used, which decides the
        addresses it is told.
        """
        self.requests.connected(connection, listener, host)

    def disconnected(self, connection: Connection) -> None:
        """A client went; what it waits for is dropped."""
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
        """What another node answered. Errors: DecodeError if it is no answer to what it
        was asked. One that meets a bug ends what asked for it, as a request does.
        """
        self._enter(now)
        try:
            self.peers.receive_reply(node, lane, frame, now)
        except KafkaError as error:
            self.storage_failed(error)
        self._due.ask_others(now)
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
        if self.quorum.is_handing_on:  # a long batch of metadata, piece by piece
            self.requests.moved(("high_watermark", METADATA_TOPIC, 0), 0)
        self._due.do_a_slice(now)
        self._due.ask_others(now)
        self.requests.go_on(now)

    def next_deadline(self) -> int:
        """Monotonic ms at which tick should come next; after a tick it is later than
        that tick's now.
        """
        return self._due.next_deadline()

    # -- what parts and handlers call

    @property
    def cluster_id(self) -> str:
        """Of the cluster that this node belongs to, as in meta.properties."""
        return self.quorum.cluster_id

    @property
    def broker_epoch(self) -> int:
        """The offset of this node's registration, -1 before."""
        return self.registration.broker_epoch

    @property
    def log_dir(self) -> str:
        """Where this node's logs are, in words of its disk: for a real one, the
        folder's path.
        """
        return str(self._disk)

    @property
    def log_dir_space(self) -> Space | None:
        """Of the volume that it is on. Errors: KAFKA_STORAGE_ERROR."""
        with as_storage_errors(str(self._disk)):
            return self._disk.space()

    def ask(
        self,
        node: int,
        lane: str,
        api: str,
        version: int,
        body: Mapping[str, object],
        then: Then,
    ) -> None:
        """Ask a node for something; then(reply or None, now), once. This node may be
        meant: same bytes, same way.
        """
        if node == self.node_id:
            self.requests.ask_itself(api, version, body, then)
        else:
            self.peers.ask(node, lane, api, version, body, then, self.now)

    def random_uuid(self) -> bytes:
        """16 bytes, from the node's random source."""
        return random_uuid(self.random)

    # -- inside

    def _enter(self, now: Now) -> None:
        """Somebody calls: until the next call it is now. An empty outbox was taken."""
        self.now = now
        self.trace.now = now.monotonic_ms
        if not self.outbox:
            self.requests.answered_bytes = 0
