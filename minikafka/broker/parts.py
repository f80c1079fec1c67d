"""The parts of a node. Each is given the others that it works with here and nowhere
else, and knows of no more.

A node's logs are reached through `replicas` (replica_manager.py). What changes the
cluster goes through `active_controller`: its decision goes through the metadata log, and
only what comes back, committed, changes the image. The end of `__init__` wires up which
parts react to that and to appended records (node_events.py), and what each state of the
node's life begins with (lifecycle.py).
"""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from minikafka.broker.access import authorizer_of
from minikafka.broker.active_controller import ActiveController
from minikafka.broker.config import (
    BrokerConfig,
    InForce,
    Random,
    quorum_config,
    random_uuid,
)
from minikafka.broker.counters import Counters
from minikafka.broker.damage import DamagedReplicas
from minikafka.broker.dead_letters import DeadLetters
from minikafka.broker.effects import Effect, Reconfigured
from minikafka.broker.fetch_sessions import FetchSessions
from minikafka.broker.forwarding import Forwarding
from minikafka.broker.incarnation import Incarnation
from minikafka.broker.internal_topics import InternalTopics
from minikafka.broker.isr import IsrChanges
from minikafka.broker.lifecycle import FENCED, READY, RECOVERING, Lifecycle
from minikafka.broker.listeners import WITH_SASL
from minikafka.broker.log_configs import LogConfigs
from minikafka.broker.loggers import Loggers
from minikafka.broker.node_events import Hearers, NodeEvents
from minikafka.broker.peers import Peers
from minikafka.broker.registration import Registration
from minikafka.broker.replica_fetcher import ReplicaFetcher
from minikafka.broker.replica_manager import ReplicaManager
from minikafka.broker.replication_quotas import (
    AS_FOLLOWER,
    AS_LEADER,
    Names,
    ReplicationQuota,
)
from minikafka.broker.share_partitions import SharePartitions
from minikafka.broker.share_sessions import ShareSessions
from minikafka.broker.sharing import Sharing
from minikafka.broker.throttling import Throttling
from minikafka.clock import NodeClock, Now, no_time
from minikafka.cluster.metadata import (
    BROKER_RESOURCE,
    OFFSETS_TOPIC,
    SHARE_STATE_TOPIC,
    TRANSACTIONS_TOPIC,
    ConfigChange,
    Image,
)
from minikafka.cluster.quorum import Listener, Quorum
from minikafka.cluster.timers import Deadlines, Timers
from minikafka.cluster.waiting import Waiting
from minikafka.coordinators.coordinator import (
    GroupCoordinator,
    Host,
    TransactionCoordinator,
)
from minikafka.coordinators.share_coordinator import ShareCoordinator
from minikafka.coordinators.share_persister import SharePersister
from minikafka.coordinators.transaction_requests import TransactionVerifier
from minikafka.storage.disk import Disk
from minikafka.trace import Trace
from minikafka.wire.errors import KafkaError
from minikafka.wire.primitives import Encoded

if TYPE_CHECKING:
    from minikafka.broker.login import Login, Logins


class Parts:
    """All parts of one node. descriptions: of topics in this image, as Metadata tells
    them. counters: None if nobody wants to know.
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
        self.node_id = node_id
        self.config = config
        self.disk = disk
        self.random = random
        self.trace = trace
        self.counters = counters
        self.clock = NodeClock()
        self.timers = Timers()
        self.outbox: list[Effect] = []
        self.life = Lifecycle()
        self.loggers = Loggers(self.outbox.append)
        self.notice = self.loggers.notice
        self.image = Image()
        self.in_force = InForce(config, self.image, node_id)
        self.authorizer = authorizer_of(config, self.image)
        self._logins: Logins | None = None
        self.descriptions: dict[Hashable, Encoded] = {}
        self.waiting = Waiting(self.timers.new())
        self.events = NodeEvents(
            node_id, self.image, self.life, self.clock, self.waiting, counters
        )
        self.peers = Peers(
            node_id,
            config,
            self.clock,
            self.outbox.append,
            self.notice,
            self.timers.new(),
        )
        ask = self.peers.ask
        # of the cluster
        self.quorum = Quorum(
            node_id=node_id,
            config=quorum_config(node_id, config),
            listener=Listener(
                committed=self.events.committed,
                replaced=self.events.replaced,
                leader_changed=self.events.leader_changed,
                image=self.image.records,
            ),
            log_listener=self.events.listener,
            ask=ask,
            disk=disk,
            random=random.random,
            timers=self.timers,
            trace=trace,
        )
        self.incarnation = Incarnation(node_id, self.image)
        self.active_controller = ActiveController(
            self.incarnation,
            config,
            self.image,
            self.quorum,
            trace,
            self.timers.new(),
        )
        self.forwarding = Forwarding(
            self.incarnation, self.quorum, self.active_controller, ask, self.timers
        )
        self.internal_topics = InternalTopics(self.quorum, ask)
        # of logs
        self.replicas = ReplicaManager(
            node_id,
            config,
            disk,
            self.image,
            trace,
            self.notice,
            self.events,
            self.timers,
        )
        self.damage = DamagedReplicas(
            self.incarnation,
            self.quorum,
            self.replicas,
            self.events,
            self.clock,
            ask,
            self.storage_failed,
            self.notice,
            self.timers,
        )
        self.fetcher = ReplicaFetcher(
            self.incarnation,
            config,
            self._quota(AS_FOLLOWER),
            ask,
            self.damage.cannot_write,
            self.notice,
            self.timers,
        )
        self.isr = IsrChanges(
            self.incarnation,
            config,
            self.image,
            self.quorum,
            self.replicas,
            ask,
            self.timers,
            counters,
        )
        self.registration = Registration(
            self.incarnation,
            config,
            self.life,
            self.quorum,
            ask,
            self.damage.may_join,
            self.timers,
        )
        self.fetch_sessions = FetchSessions(
            config["max.incremental.fetch.session.cache.slots"]
        )
        self.throttling = Throttling(
            self.image, self.clock, config, self.in_force, stopwatch
        )
        self.leader_quota = self._quota(AS_LEADER)
        # of groups and transactions
        host = Host(
            node_id,
            config,
            self.image,
            self.clock,
            self.timers,
            trace,
            self.replicas.leader,
            self.notice,
            self.storage_failed,
        )
        self.sharing = self._sharing(host)
        self.groups = GroupCoordinator(
            host, self.in_force, self.sharing.persister, self.random_uuid
        )
        self.transactions = TransactionCoordinator(
            host, ask, self.forwarding.next_producer_id
        )
        self.verifier = TransactionVerifier(
            self.image, self.in_force, ask, self.timers.new()
        )

        self.life.begins = {
            RECOVERING: (self.replicas.begin_recovery,),
            FENCED: (self.damage.logs_opened, self.registration.logs_opened),
            READY: (self.groups.start, self.transactions.start, self.sharing.start),
        }
        self.events.hearers = Hearers(
            logs_changed=(self.replicas.upkeep.changed,),
            placed=(self.damage.placed, self.fetcher.placed, self.isr.placed),
            removed=(self.fetcher.removed,),
            high_watermark_advanced={
                OFFSETS_TOPIC: self.groups.high_watermark_advanced,
                SHARE_STATE_TOPIC: self.sharing.coordinator.high_watermark_advanced,
                TRANSACTIONS_TOPIC: self.transactions.high_watermark_advanced,
            },
            read_metadata=self.quorum.publish_committed,
            metadata_committed=(
                self.registration.committed,
                self.active_controller.committed,
            ),
            leader_changed=(
                self.registration.leader_changed,
                self.active_controller.leader_changed,
            ),
            image_changed=(self.descriptions.clear,),
            broker_changed=(
                self.active_controller.broker_changed,
                self.peers.broker_changed,
            ),
            config_changed=(self.replicas.config_changed, self._config_changed),
            by_topic=(self.replicas,)
            if counters is None
            else (self.replicas, counters),
            coordinators=(self.groups, self.transactions, self.sharing),
        )

    def _quota(self, names: Names) -> ReplicationQuota:
        """The quota of what this node replicates in one role."""
        return ReplicationQuota(
            names, self.node_id, self.config, self.image, self.clock
        )

    def _sharing(self, host: Host) -> Sharing:
        """The parts of the node that serve share groups."""
        coordinator = ShareCoordinator(host, self.replicas.upkeep.changed)
        persister = SharePersister(
            self.image,
            self.clock,
            self.peers.ask,
            self.forwarding.create,
            coordinator.creation,
            self.timers.new(),
        )
        letters = DeadLetters(
            self.image,
            LogConfigs(self.node_id, self.config, self.image),
            self.peers.ask,
            self.forwarding.create,
            self.notice,
            Deadlines(self.timers.new()),
        )
        partitions = SharePartitions(
            self.node_id,
            self.config,
            self.image,
            self.replicas,
            self.events,
            persister,
            letters,
            self.trace,
            Deadlines(self.timers.new()),
        )
        most_sessions = self.config["group.share.max.share.sessions"]
        sessions = ShareSessions(most_sessions)
        return Sharing(coordinator, persister, partitions, letters, sessions)

    def _config_changed(self, change: ConfigChange) -> None:
        changed = change.resource_type, change.resource_name
        if changed == (BROKER_RESOURCE, str(self.node_id)):
            self.outbox.append(Reconfigured())

    # -- what parts are given

    def login_of(self, listener: str) -> "Login | None":
        """The login of a new connection; None on a listener that asks for none."""
        if self.config.protocol(listener) not in WITH_SASL:
            return None
        if self._logins is None:
            # loads what only those need who have logins
            from minikafka.broker.login import Logins

            self._logins = Logins(self.config, self.image, self.random)
        return self._logins.of(listener)

    def storage_failed(self, error: KafkaError) -> None:
        """The only log directory failed: the request still gets its
        KAFKA_STORAGE_ERROR, then the node stops.
        """
        is_first = self.life.fail(f"node {self.node_id} stops: {error.message}")
        if is_first and self.trace:
            name = error.error.name
            self.trace.emit("NodeStopped", error=name, message=error.message)

    def random_uuid(self) -> bytes:
        """16 bytes, from the node's random source."""
        return random_uuid(self.random)

    # -- what it says of itself

    @property
    def own_configs(self) -> dict[str, str]:
        """The configs that are set at run time for this broker."""
        return self.image.config(BROKER_RESOURCE, str(self.node_id))

    @property
    def now(self) -> Now:
        """The last time that somebody called it."""
        return self.clock.now

    @property
    def cluster_id(self) -> str:
        """The id of the cluster that this node belongs to, as in meta.properties."""
        return self.quorum.cluster_id

    @property
    def broker_epoch(self) -> int:
        """The offset of this node's registration, -1 before."""
        return self.incarnation.broker_epoch
