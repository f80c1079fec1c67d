"""The replicas that this node holds: made, recovered, looked after and deleted as the
metadata image says.

The image decides what exists; this room makes the disk agree with it. Retention,
compaction, checkpoints and the removal of deleted files are background work in slices,
so that no request waits behind them for long.
"""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import Any

from minikafka.broker.config import BrokerConfig, InForce
from minikafka.broker.config_rules import unusable_configs
from minikafka.broker.ports import HearsOfReplicas, PartitionKey
from minikafka.clock import Now
from minikafka.cluster import telling
from minikafka.cluster.metadata import (
    TOPIC_RESOURCE,
    ConfigChange,
    Image,
    Partition,
    PartitionChange,
    TopicChange,
)
from minikafka.cluster.replica import Replica
from minikafka.cluster.waiting import ALL_BYTES, Deadlines
from minikafka.storage import checkpoints, data_folder
from minikafka.storage.cleaner import Cleaner
from minikafka.storage.disk import Disk, as_storage_errors, unusable
from minikafka.storage.log import Log, LogConfig
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError

# replica.high.watermark.checkpoint.interval.ms
HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS = 5000
RECOVERY_SLICE_BYTES = 1 << 20
# logs between two ticks; others when they are asked for, or in the background
CREATED_AT_ONCE = 20
ASKED_FOR_AT_ONCE = 200  # logs between two ticks, of those that are asked for
# Of background work, in bytes to read: making a log, removing a file; at start opening
# a log, looking whose it is.
LOG_COST, FILE_COST, OPEN_COST, LOOK_COST = 1 << 20, 1 << 16, 1 << 14, 1 << 13

OF_THE_BROKER = "producer_id_expiration_ms"
LOG_CONFIGS = {
    field: field.replace("_", ".")
    for field in LogConfig._fields
    if field != OF_THE_BROKER
}

Work = Generator[int, None, None]  # yields what it costs, in bytes to read


@dataclass(eq=False, repr=False)
class ReplicaManager:
    """All replicas of one node, by (topic, partition)."""

    _node_id: int
    _config: BrokerConfig
    _disk: Disk
    _image: Image
    _trace: Trace
    _notice: Callable[..., object]
    _hearer: HearsOfReplicas
    replicas: dict[PartitionKey, Replica] = field(default_factory=dict)
    # logs of the last run, still to be recovered
    _unloaded: dict[PartitionKey, None] = field(default_factory=dict)
    _recovery: Work = field(init=False)  # what is left of it
    _to_create: dict[PartitionKey, None] = field(default_factory=dict)
    _created: int = 0  # logs, since the last tick
    _by_topic: dict[bytes, list[PartitionKey]] = field(default_factory=dict)
    # not begun: the folder has its name yet
    _removals: dict[PartitionKey, Work] = field(default_factory=dict)
    _background: list[Work] = field(default_factory=list)
    # of what there is to do
    _timers: Deadlines[Callable[[Now], None]] = field(default_factory=Deadlines)
    _periods_ms: dict[Callable[[Now], None], int] = field(default_factory=dict)
    # work that was done, and is due again when some log has changed
    _some_rest: bool = False
    _written: dict[str, dict[PartitionKey, int]] = field(default_factory=dict)
    _now_ms: int = 0

    def __post_init__(self) -> None:
        self._in_force = InForce(self._config, self._image, self._node_id)
        self._cleaner = Cleaner(
            self._config["log.cleaner.dedupe.buffer.size"], self._notice
        )

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
        replica = self.find(topic, number)
        if replica is None:
            known = (
                topic in self._image.topics
                and number in self._image.topics[topic].partitions
            )
            raise KafkaError(
                Error.NOT_LEADER_OR_FOLLOWER
                if known
                else Error.UNKNOWN_TOPIC_OR_PARTITION
            )
        replica.check_leader(current_leader_epoch, or_follower)
        return replica

    def find(self, topic: str, number: int) -> Replica | None:
        """The replica, if this node has it. One whose turn has not come yet is made
        now, unless that were too many.
        """
        key = topic, number
        if key in self._to_create and self._created >= ASKED_FOR_AT_ONCE:
            return None
        return self.replicas.get(key) or self._create_waiting(key)

    def _create_waiting(self, key: PartitionKey) -> Replica | None:
        if key not in self._to_create:
            return None
        del self._to_create[key]
        topic = self._image.topics.get(key[0])
        partition = topic.partitions.get(key[1]) if topic else None
        if partition is None or self._node_id not in partition.replicas:
            return None  # deleted, or given to others, before its turn
        removal = self._removals.pop(key, None)
        if removal is not None:
            # a new topic has the name of one that was deleted
            self._begin_removal(removal)
        directory = f"{key[0]}-{key[1]}"
        with as_storage_errors(directory):
            if self._disk.exists(directory):
                self._set_aside(
                    directory, "stands where the log of a new topic has to be"
                )
        return self._hold(key, partition, self._open(*key))

    # -- what the image asks for

    def begin_recovery(self, now: Now) -> None:
        """At start: what the image has is recovered, in slices (`recover`)."""
        assert not self.replicas, "logs are recovered before others come"
        self._unloaded = {
            (topic, number): None for topic, number, _ in self._image.all_partitions()
        }
        for work, period_ms in (
            (self._clean_up, self._config["log.retention.check.interval.ms"]),
            (
                self._write_recovery_points,
                max(1, self._config["log.flush.offset.checkpoint.interval.ms"]),
            ),
            (self._write_high_watermarks, HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS),
            (self._compact, self._compaction_period_ms()),
        ):
            self._periods_ms[work] = period_ms
            self._arm(work, now.monotonic_ms)
        self._recovery = self._recover()

    def recover(self, budget_bytes: int) -> bool:
        """A slice of recovery; whether all logs are open."""
        with as_storage_errors(str(self._disk)):
            for spent in self._recovery:
                budget_bytes -= spent
                if budget_bytes <= 0:
                    return False
        return True

    def _recover(self) -> Work:
        """Set aside logs that the image doesn't know, open the others. Yields bytes
        read.
        """
        for line in unusable_configs(self._image):
            self._notice(line)
        yield from self._sort_out()
        clean = checkpoints.take_clean_shutdown(self._disk)
        recovery_points = self._read(checkpoints.RECOVERY_POINTS)
        start_offsets = self._read(checkpoints.LOG_START_OFFSETS)
        dirty_offsets = self._read(checkpoints.CLEANER_OFFSETS)
        high_watermarks = self._read(checkpoints.HIGH_WATERMARKS)
        while self._unloaded:
            key = next(iter(self._unloaded))
            topic = self._image.topics.get(key[0])
            # of now: it may have gone meanwhile
            partition = topic.partitions.get(key[1]) if topic else None
            if partition is not None and self._node_id in partition.replicas:
                high_watermark = high_watermarks.get(key, 0)
                log = self._open(
                    *key,
                    recovery_point=recovery_points.get(key, 0),
                    log_start_offset=start_offsets.get(key, 0),
                    first_dirty_offset=dirty_offsets.get(key, 0),
                )
                yield OPEN_COST
                yield from log.recover(RECOVERY_SLICE_BYTES, self._notice, clean)
                recovery_point = recovery_points.get(key, 0)
                before = max(recovery_point, high_watermark)
                if log.log_end_offset < before:
                    what = (
                        f"ends at offset {log.log_end_offset}, and had got to {before}:"
                        " records are lost"
                    )
                    self._notice(f"{log.directory} {what}")
                    if clean or log.log_end_offset < recovery_point:
                        log.damaged_at(log.log_end_offset)
                elif (
                    clean
                    and log.log_end_offset > recovery_point
                    and key in recovery_points
                ):
                    log.damaged_at(recovery_point)  # a clean stop noted where it ends
                if len(partition.replicas) == 1:
                    # no other replica has it
                    log.damaged_from, log.unchecked = None, range(0)
                self._hold(key, partition, log, high_watermark)
            del self._unloaded[key]
        self._written[checkpoints.CLEANER_OFFSETS] = dirty_offsets
        self._write_cleaner_offsets()

    def _sort_out(self) -> Work:
        """Whose is each log? Those of deleted topics go, those of nobody are set
        aside.
        """
        partitions = {
            f"{topic}-{number}": (topic, one)
            for topic, number, one in self._image.all_partitions()
        }
        for directory in data_folder.logs(self._disk):
            yield LOOK_COST
            topic_id = checkpoints.read_partition_metadata(self._disk, directory)
            topic, partition = partitions.get(directory, (None, None))
            wanted = self._image.topics[topic].topic_id if topic else None
            elsewhere = (
                partition is not None and self._node_id not in partition.replicas
            )
            if topic_id in self._image.deleted or (elsewhere and topic_id == wanted):
                data_folder.rename(self._disk, directory, data_folder.DELETE)
            elif wanted is None:
                self._set_aside(
                    directory, "belongs to no topic that the metadata knows"
                )
            elif topic_id is None:
                self._notice(
                    f"{directory}/{checkpoints.PARTITION_METADATA} is damaged, and"
                    " written anew"
                )
            elif topic_id != wanted:
                path = f"{directory}/{checkpoints.PARTITION_METADATA}"
                raise unusable(
                    path,
                    "holds an id that no topic had. Put the right file back, or move"
                    " that folder away",
                )
        for directory in data_folder.deleted_logs(self._disk):
            yield from data_folder.remove(self._disk, directory)

    def _set_aside(self, directory: str, why: str) -> None:
        renamed = data_folder.rename(self._disk, directory, data_folder.STRAY)
        self._notice(f"{directory} {why}: it is {renamed} now, and nobody reads it")

    def _read(self, name: str) -> dict[PartitionKey, int]:
        try:
            return checkpoints.read_offsets(self._disk, name)
        except ValueError:
            self._notice(f"{name} is damaged, and counts for nothing")
            return {}

    def changed(self, now: Now) -> None:
        """Some log has a new beginning or end: its checkpoints will have to follow, and
        it may be worth compacting.
        """
        if not self._some_rest:
            return
        for work in (
            self._write_recovery_points,
            self._write_high_watermarks,
            self._compact,
        ):
            if self._timers.at(work) is None:
                self._arm(work, now.monotonic_ms)
        self._some_rest = False

    def _arm(
        self, work: Callable[[Now], None], now_ms: int, at_once: bool = False
    ) -> None:
        self._timers.set(work, now_ms if at_once else now_ms + self._periods_ms[work])

    def partition_changed(self, change: PartitionChange) -> None:
        """A replica may come, go, or have another leader or ISR."""
        key = change.topic, change.number
        if self._node_id in change.after.replicas:
            if key in self.replicas:
                self._place(self.replicas[key], change.after)
            elif key not in self._unloaded:
                self._to_create[key] = None
                if self._created < CREATED_AT_ONCE:
                    self._create_waiting(key)
            self._wake(key)
        elif key in self.replicas:
            self._by_topic[change.topic_id].remove(key)
            self._remove([key])

    def topic_changed(self, change: TopicChange) -> None:
        """A topic's replicas go with it."""
        if change.after is None:
            self._remove(self._by_topic.pop(change.topic_id, ()))

    def config_changed(self, change: ConfigChange) -> None:
        """Configs of logs follow at once, those that come from a broker's own too."""
        keys: Iterable[PartitionKey] = self.replicas
        if change.resource_type == TOPIC_RESOURCE:
            topic = self._image.topics.get(change.resource_name)
            keys = self._by_topic.get(topic.topic_id, ()) if topic else ()
        for key in keys:
            replica = self.replicas[key]
            replica.log.config = self._log_config(key[0])
            replica.min_insync_replicas = self._topic_value(
                key[0], "min.insync.replicas"
            )
        self._cleaner.buffer_bytes = self._in_force["log.cleaner.dedupe.buffer.size"]
        self._periods_ms[self._compact] = self._compaction_period_ms()
        self._arm(self._compact, self._now_ms)

    def _compaction_period_ms(self) -> int:
        return max(1, int(self._in_force["log.cleaner.backoff.ms"]))

    def _remove(self, keys: Iterable[PartitionKey]) -> None:
        """These partitions are deleted, or move to other nodes."""
        removed = {key: self.replicas.pop(key) for key in keys}
        for key, replica in removed.items():
            assert key not in self._removals, "of a name one log goes at a time"
            self._removals[key] = replica.log.delete()
            self._hearer.removed(replica)
        if any(replica.log.first_dirty_offset for replica in removed.values()):
            # before a new log of this name comes, which they don't fit
            self._write_cleaner_offsets()
        for key in removed:
            self._wake(key)

    def _wake(self, key: PartitionKey) -> None:
        self._hearer.moved(("log_end", *key), ALL_BYTES)
        self._hearer.moved(("high_watermark", *key), ALL_BYTES)

    def _open(self, topic: str, number: int, **known: int) -> Log:
        """known: what the checkpoints say of the log."""
        self._created += 1
        config, topic_id = self._log_config(topic), self._image.topics[topic].topic_id
        return Log(
            self._disk,
            f"{topic}-{number}",
            config,
            self._trace,
            topic,
            number,
            topic_id=topic_id,
            **known,
        )

    def _hold(
        self, key: PartitionKey, partition: Partition, log: Log, high_watermark: int = 0
    ) -> Replica:
        """The log is ready: from here on this node has the replica."""
        assert key not in self.replicas, "a node has one replica of a partition"
        assert self._node_id in partition.replicas, "a node holds what it is to hold"
        topic_id = self._image.topics[key[0]].topic_id
        replica = Replica(
            topic_id, partition, log, self._node_id, self._hearer, high_watermark
        )
        replica.min_insync_replicas = self._topic_value(key[0], "min.insync.replicas")
        self._by_topic.setdefault(topic_id, []).append(key)
        self.replicas[key] = replica
        if self._trace:
            telling.opened(replica, partition)
        self._place(replica, partition)
        return replica

    def _place(self, replica: Replica, partition: Partition) -> None:
        replica.follow_image(partition)
        self._hearer.placed(replica)

    def _topic_value(self, topic: str, name: str) -> Any:
        return self._config.value(
            self._image, self._node_id, TOPIC_RESOURCE, topic, name
        ).value

    def _log_config(self, topic: str) -> LogConfig:
        """The same for all topics that set the same."""
        in_force = self._config.in_force(self._image)
        key = "log", *self._image.config(TOPIC_RESOURCE, topic).items()
        found: LogConfig | None = in_force.get(key)
        if found is None:
            found = in_force[key] = self._new_log_config(topic)
        return found

    def _new_log_config(self, topic: str) -> LogConfig:
        values = {
            field: self._topic_value(topic, name) for field, name in LOG_CONFIGS.items()
        }
        segment_bytes = self._topic_value(topic, "internal.segment.bytes")
        if segment_bytes is not None:
            values["segment_bytes"] = segment_bytes
        return LogConfig(
            **values,
            producer_id_expiration_ms=self._in_force["producer.id.expiration.ms"],
        )

    # -- background

    def tick(self, now: Now, budget_bytes: int) -> None:
        """Timers that are due, then a slice of deletion and compaction."""
        self._now_ms = now.monotonic_ms
        for work in self._timers.overdue(now.monotonic_ms):
            self._timers.set(work, None)
            self._some_rest = True
            work(now)
        self._created = 0
        while self._to_create and budget_bytes > 0:
            self._create_waiting(next(iter(self._to_create)))
            budget_bytes -= LOG_COST
        while self._removals and budget_bytes > 0:
            self._begin_removal(self._removals.pop(next(iter(self._removals))))
            budget_bytes -= LOG_COST
        while self._background and budget_bytes > 0:
            spent = next(self._background[0], None)
            if spent is None:
                del self._background[0]
            else:
                budget_bytes -= max(spent, FILE_COST)
        if self._cleaner.busy and budget_bytes > 0:
            got_further = self._cleaner.advance(budget_bytes)
            if got_further is not None:
                self._write_cleaner_offsets()
                self._arm(self._compact, now.monotonic_ms, at_once=got_further)

    def _begin_removal(self, removal: Work) -> None:
        """Rename the folder, so that a new topic may take its name; its files go
        later.
        """
        next(removal, None)
        self._background.append(removal)

    def next_deadline(self) -> int | None:
        """Monotonic ms of the next background work."""
        if self._to_create or self._removals or self._background or self._cleaner.busy:
            return self._now_ms + 1
        return self._timers.next()

    def close(self, broker_epoch: int) -> None:
        """Sync everything and say that the shutdown was clean."""
        self._cleaner.stop()
        for removal in self._removals.values():
            self._begin_removal(removal)
        for replica in self.replicas.values():
            replica.log.close()
        self._write_recovery_points()
        self._write_high_watermarks()
        checkpoints.write_clean_shutdown(self._disk, broker_epoch)

    def _clean_up(self, now: Now) -> None:
        for replica in self.replicas.values():
            replica.log.clean_up(now)
            if not replica.is_leader:
                self._hearer.placed(replica)
        self._arm(self._clean_up, now.monotonic_ms)
        self.changed(now)

    def _compact(self, now: Now) -> None:
        if not self._cleaner.busy:
            logs = [
                (replica.log, replica.last_stable_offset)
                for replica in self.replicas.values()
            ]
            if self._cleaner.begin(logs, now.wall_ms) and not self._cleaner.busy:
                self._arm(self._compact, now.monotonic_ms)

    def _write_recovery_points(self, now: Now | None = None) -> None:
        self._checkpoint(
            checkpoints.RECOVERY_POINTS, lambda replica: replica.log.recovery_point
        )
        self._checkpoint(
            checkpoints.LOG_START_OFFSETS, lambda replica: replica.log.log_start_offset
        )

    def _write_high_watermarks(self, now: Now | None = None) -> None:
        self._checkpoint(
            checkpoints.HIGH_WATERMARKS, lambda replica: replica.high_watermark
        )

    def _write_cleaner_offsets(self) -> None:
        offsets = {
            key: replica.log.first_dirty_offset
            for key, replica in self.replicas.items()
        }
        self._write(
            checkpoints.CLEANER_OFFSETS,
            {key: offset for key, offset in offsets.items() if offset},
        )

    def _checkpoint(self, name: str, offset: Callable[[Replica], int]) -> None:
        self._write(
            name, {key: offset(replica) for key, replica in self.replicas.items()}
        )

    def _write(self, name: str, offsets: dict[PartitionKey, int]) -> None:
        if self._written.get(name) != offsets:
            with as_storage_errors(name):
                checkpoints.write_offsets(self._disk, name, offsets)
            self._written[name] = offsets
