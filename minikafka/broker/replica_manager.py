"""The replicas that this node holds: made, placed and deleted as the metadata image
says.

The image decides what exists; this room makes the disk agree with it. What a start
finds is read by log_recovery.py, what time brings is done by log_upkeep.py. Making and
removing logs is background work in slices, so that no request waits behind it for long.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from minikafka.broker.config import BrokerConfig
from minikafka.broker.log_configs import LogConfigs
from minikafka.broker.log_recovery import LogRecovery, Work
from minikafka.broker.log_upkeep import LogUpkeep
from minikafka.broker.node_events import NodeEvents
from minikafka.broker.offset_checkpoints import OffsetCheckpoints
from minikafka.clock import Now
from minikafka.cluster import replica_events
from minikafka.cluster.metadata import (
    TOPIC_RESOURCE,
    ConfigChange,
    Image,
    Partition,
    PartitionChange,
    TopicChange,
    TopicPartition,
)
from minikafka.cluster.replica import Replica
from minikafka.cluster.timers import NEVER_MS, Timers
from minikafka.cluster.waiting import ALL_BYTES
from minikafka.storage import checkpoints
from minikafka.storage.disk import Disk
from minikafka.storage.log import Log
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError

# logs between two ticks; others when they are asked for, or in the background
CREATED_AT_ONCE = 20
ASKED_FOR_AT_ONCE = 200  # logs between two ticks, of those that are asked for
# what background work costs, in bytes to read
LOG_COST = 1 << 20  # making a log
FILE_COST = 1 << 16  # removing a file

MIN_ISR = "min.insync.replicas"


@dataclass(eq=False, repr=False)
class ReplicaManager:
    """All replicas of one node, by (topic, partition)."""

    _node_id: int
    _config: BrokerConfig
    _disk: Disk
    _image: Image
    _trace: Trace
    _notice: Callable[..., object]
    _events: NodeEvents
    _timers: Timers
    replicas: dict[TopicPartition, Replica] = field(default_factory=dict)
    _by_topic: dict[bytes, list[TopicPartition]] = field(default_factory=dict)
    _to_create: dict[TopicPartition, None] = field(default_factory=dict)
    _created: int = 0  # logs, since the last tick
    # not begun: the folder has its name yet
    _removals: dict[TopicPartition, Work] = field(default_factory=dict)
    _begun_removals: list[Work] = field(default_factory=list)
    _now_ms: int = 0

    def __post_init__(self) -> None:
        self._next_slice = self._timers.new()  # of background work
        self._configs = LogConfigs(self._node_id, self._config, self._image)
        self._checkpoints = OffsetCheckpoints(self._disk, self.replicas, self._notice)
        self._recovery = LogRecovery(
            _node_id=self._node_id,
            _disk=self._disk,
            _image=self._image,
            _notice=self._notice,
            _checkpoints=self._checkpoints,
            _open=self._open,
            _hold=self._hold,
        )
        self.upkeep = LogUpkeep(
            _config=self._config,
            _configs=self._configs,
            _replicas=self.replicas,
            _checkpoints=self._checkpoints,
            _notice=self._notice,
            _events=self._events,
            _timer=self._timers.new(),
        )

    # -- who has which

    def leader(
        self,
        topic: str,
        number: int,
        current_leader_epoch: int = -1,
        or_follower: bool = False,
    ) -> Replica:
        """The replica, if this node leads it in the epoch that the client believes in
        (or follows, if that will do); else Kafka's error. One that is still being
        recovered leads nothing yet.
        """
        replica = self.replicas.get((topic, number))
        if replica is None:
            replica = self.find_or_create(topic, number)
        if replica is None:
            if self._image.partition((topic, number)) is None:
                raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
            raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER)
        replica.check_leader(current_leader_epoch, or_follower)
        return replica

    def find_or_create(self, topic: str, number: int) -> Replica | None:
        """The replica, if this node has it. One whose turn has not come yet is made
        now, unless that were too many.
        """
        key = topic, number
        if key in self._to_create and self._created >= ASKED_FOR_AT_ONCE:
            return None
        replica = self.replicas.get(key)
        if replica is None and key in self._to_create:
            replica = self._create_waiting(key)
            self._set_next_slice()
        return replica

    def begin_recovery(self, now: Now) -> None:
        """At start: what the image has is recovered, in slices (`recover`)."""
        assert not self.replicas, "logs are recovered before others come"
        self._recovery.begin()
        self.upkeep.begin(now)

    def recover(self, budget_bytes: int) -> bool:
        """A slice of recovery; whether all logs are open."""
        return self._recovery.advance(budget_bytes)

    # -- what the image asks for

    def partition_changed(self, change: PartitionChange) -> None:
        """A replica may come, go, or have another leader or ISR."""
        key = change.topic, change.number
        is_held = key in self.replicas
        is_to_be_held = self._node_id in change.after.replicas
        if is_to_be_held:
            if is_held:
                self._place(self.replicas[key], change.after)
            elif key not in self._recovery.unloaded:
                self._to_create[key] = None
                if self._created < CREATED_AT_ONCE:
                    self._create_waiting(key)
                self._set_next_slice()
            self._wake(key)
        elif is_held:
            self._by_topic[change.topic_id].remove(key)
            self._remove([key])

    def topic_changed(self, change: TopicChange) -> None:
        """A topic's replicas go with it."""
        if change.after is None:
            keys = self._by_topic.pop(change.topic_id, ())
            self._remove(keys)

    def config_changed(self, change: ConfigChange) -> None:
        """Configs of logs follow at once, those that come from a broker's own too."""
        keys: Iterable[TopicPartition] = self.replicas
        if change.resource_type == TOPIC_RESOURCE:
            topic = self._image.topics.get(change.resource_name)
            keys = ()
            if topic is not None:
                keys = self._by_topic.get(topic.topic_id, ())
        configs = self._configs
        for key in keys:
            topic_name, _ = key
            replica = self.replicas[key]
            replica.log.config = configs.of_log(topic_name)
            replica.min_insync_replicas = configs.of_topic(topic_name, MIN_ISR)
        self.upkeep.config_changed()

    # -- made

    def _create_waiting(self, key: TopicPartition) -> Replica | None:
        """Its turn has come, unless it was deleted, or given to others, before."""
        if key not in self._to_create:
            return None
        del self._to_create[key]
        partition = self._image.partition(key)
        if partition is None or self._node_id not in partition.replicas:
            return None
        removal = self._removals.pop(key, None)
        if removal is not None:
            # a new topic has the name of one that was deleted
            self._begin_removal(removal)
        topic, number = key
        self._recovery.make_room(f"{topic}-{number}")
        log = self._open(topic, number)
        return self._hold(key, partition, log)

    def _open(self, topic: str, number: int, **known: int) -> Log:
        """known: what the checkpoints say of the log."""
        self._created += 1
        return Log(
            disk=self._disk,
            directory=f"{topic}-{number}",
            config=self._configs.of_log(topic),
            trace=self._trace,
            topic=topic,
            partition=number,
            topic_id=self._image.topics[topic].topic_id,
            **known,
        )

    def _hold(
        self,
        key: TopicPartition,
        partition: Partition,
        log: Log,
        high_watermark: int = 0,
    ) -> Replica:
        """The log is ready: from here on this node has the replica."""
        assert key not in self.replicas, "a node has one replica of a partition"
        assert self._node_id in partition.replicas, "a node holds what it is to hold"
        topic, _ = key
        topic_id = self._image.topics[topic].topic_id
        replica = Replica(
            topic_id=topic_id,
            partition=partition,
            log=log,
            node_id=self._node_id,
            listener=self._events.listener,
            high_watermark=high_watermark,
        )
        replica.min_insync_replicas = self._configs.of_topic(topic, MIN_ISR)
        self._by_topic.setdefault(topic_id, []).append(key)
        self.replicas[key] = replica
        if self._trace:
            replica_events.opened(log, partition, replica.high_watermark)
        self._place(replica, partition)
        return replica

    def _place(self, replica: Replica, partition: Partition) -> None:
        """Update the leader and ISR from the image."""
        replica.follow_image(partition)
        self._events.placed(replica)

    def _wake(self, key: TopicPartition) -> None:
        """Requests that wait for this partition look again."""
        for what in ("log_end", "high_watermark"):
            self._events.moved((what, *key), ALL_BYTES)

    # -- removed

    def _remove(self, keys: Iterable[TopicPartition]) -> None:
        """These partitions are deleted, or move to other nodes."""
        removed = {}
        for key in keys:
            removed[key] = self.replicas.pop(key)
        for key, replica in removed.items():
            assert key not in self._removals, "of a name one log goes at a time"
            self._removals[key] = replica.log.delete()
            self._events.removed(replica)
        was_cleaned = any(each.log.first_dirty_offset for each in removed.values())
        if was_cleaned:
            # before a new log of this name comes, which they don't fit
            self._checkpoints.write_cleaner_offsets()
        for key in removed:
            self._wake(key)
        self._set_next_slice()

    def _begin_removal(self, removal: Work) -> None:
        """Rename the folder, so that a new topic may take its name; its files go
        later.
        """
        next(removal, None)
        self._begun_removals.append(removal)

    # -- background

    def tick(self, now: Now, budget_bytes: int) -> None:
        """Duties that are due, then a slice of creation, removal and compaction."""
        self._now_ms = now.monotonic_ms
        self.upkeep.do_what_is_due(now)
        budget_bytes = self._make_and_remove(budget_bytes)
        if self.upkeep.cleaner.busy and budget_bytes > 0:
            self.upkeep.compact_further(now, budget_bytes)
        self._set_next_slice()

    def _make_and_remove(self, budget_bytes: int) -> int:
        """Create and remove logs within the budget; returns what is left of it."""
        self._created = 0
        while self._to_create and budget_bytes > 0:
            first = next(iter(self._to_create))
            self._create_waiting(first)
            budget_bytes -= LOG_COST
        while self._removals and budget_bytes > 0:
            first = next(iter(self._removals))
            self._begin_removal(self._removals.pop(first))
            budget_bytes -= LOG_COST
        while self._begun_removals and budget_bytes > 0:
            spent = next(self._begun_removals[0], None)
            if spent is None:
                del self._begun_removals[0]
            else:
                budget_bytes -= max(spent, FILE_COST)
        return budget_bytes

    def _set_next_slice(self) -> None:
        """With the next tick, while something is left to do."""
        has_to_do = self._to_create or self._removals or self._begun_removals
        is_busy = has_to_do or self.upkeep.cleaner.busy
        self._next_slice.set(self._now_ms + 1 if is_busy else NEVER_MS)

    def close(self, broker_epoch: int) -> None:
        """Sync everything and say that the shutdown was clean."""
        self.upkeep.cleaner.stop()
        for removal in self._removals.values():
            self._begin_removal(removal)
        for replica in self.replicas.values():
            replica.log.close()
        self._checkpoints.write_recovery_points()
        self._checkpoints.write_high_watermarks()
        checkpoints.write_clean_shutdown(self._disk, broker_epoch)
