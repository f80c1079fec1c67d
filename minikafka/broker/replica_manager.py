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
from minikafka.broker.offset_checkpoints import Noted, OffsetCheckpoints
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
# what background work costs, in bytes to read
LOG_COST = 1 << 20  # making a log
FILE_COST = 1 << 16  # removing a file
OPEN_COST = 1 << 14  # at start, opening a log
LOOK_COST = 1 << 13  # at start, looking whose a log is

OF_THE_BROKER = "producer_id_expiration_ms"
LOG_CONFIGS = {
    field: field.replace("_", ".")
    for field in LogConfig._fields
    if field != OF_THE_BROKER
}

MIN_ISR = "min.insync.replicas"

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
    _now_ms: int = 0

    def __post_init__(self) -> None:
        self._in_force = InForce(self._config, self._image, self._node_id)
        buffer_bytes = self._config["log.cleaner.dedupe.buffer.size"]
        self._cleaner = Cleaner(buffer_bytes, self._notice)
        self._checkpoints = OffsetCheckpoints(
            self._disk,
            self.replicas,
            self._notice,
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
            if self._partition((topic, number)) is None:
                raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
            raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER)
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

    def _partition(self, key: PartitionKey) -> Partition | None:
        """As the image has it now."""
        name, number = key
        topic = self._image.topics.get(name)
        return None if topic is None else topic.partitions.get(number)

    def _create_waiting(self, key: PartitionKey) -> Replica | None:
        """Its turn has come, unless it was deleted, or given to others, before."""
        if key not in self._to_create:
            return None
        del self._to_create[key]
        partition = self._partition(key)
        if partition is None or self._node_id not in partition.replicas:
            return None
        removal = self._removals.pop(key, None)
        if removal is not None:
            # a new topic has the name of one that was deleted
            self._begin_removal(removal)
        topic, number = key
        directory = f"{topic}-{number}"
        with as_storage_errors(directory):
            if self._disk.exists(directory):
                why = "stands where the log of a new topic has to be"
                self._set_aside(directory, why)
        log = self._open(topic, number)
        return self._hold(key, partition, log)

    # -- what the image asks for

    def begin_recovery(self, now: Now) -> None:
        """At start: what the image has is recovered, in slices (`recover`)."""
        assert not self.replicas, "logs are recovered before others come"
        for topic, number, _ in self._image.all_partitions():
            self._unloaded[topic, number] = None
        config = self._config
        flush_ms = config["log.flush.offset.checkpoint.interval.ms"]
        self._periods_ms = {
            self._clean_up: config["log.retention.check.interval.ms"],
            self._write_recovery_points: max(1, flush_ms),
            self._write_high_watermarks: HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS,
            self._compact: self._compaction_period_ms(),
        }
        for work in self._periods_ms:
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
        last_run = self._checkpoints.take_last_run()
        while self._unloaded:
            key = next(iter(self._unloaded))
            partition = self._partition(key)  # it may have gone meanwhile
            if partition is not None and self._node_id in partition.replicas:
                yield from self._recover_log(key, partition, last_run.noted(key))
            del self._unloaded[key]
        self._checkpoints.write_cleaner_offsets()

    def _recover_log(
        self, key: PartitionKey, partition: Partition, noted: Noted
    ) -> Work:
        """One log, from where the last run knew it to be whole."""
        topic, number = key
        log = self._open(
            topic,
            number,
            recovery_point=noted.recovery_point or 0,
            log_start_offset=noted.log_start_offset,
            first_dirty_offset=noted.first_dirty_offset,
        )
        yield OPEN_COST
        clean = noted.stopped_clean
        yield from log.recover(RECOVERY_SLICE_BYTES, self._notice, clean)
        self._look_for_losses(log, noted)
        if len(partition.replicas) == 1:
            # no other replica has what is missing
            log.damaged_from = None
            log.unchecked = range(0)
        self._hold(key, partition, log, noted.high_watermark)

    def _look_for_losses(self, log: Log, noted: Noted) -> None:
        """Whether a log ends where the last run got to. Another replica has what is
        missing; if there is none, nobody ever will.
        """
        end = log.log_end_offset
        recovery_point = noted.recovery_point or 0
        got_to = max(recovery_point, noted.high_watermark)
        if end < got_to:
            where = f"ends at offset {end}, and had got to {got_to}"
            self._notice(f"{log.directory} {where}: records are lost")
            if noted.stopped_clean or end < recovery_point:
                log.damaged_at(end)
            return
        # a clean stop noted where the log ends
        was_noted = noted.stopped_clean and noted.recovery_point is not None
        if was_noted and end > recovery_point:
            log.damaged_at(recovery_point)

    def _sort_out(self) -> Work:
        """Whose is each log? Those of deleted topics go, those of nobody are set
        aside.
        """
        keys = {}
        for topic, number, _ in self._image.all_partitions():
            keys[f"{topic}-{number}"] = topic, number
        for directory in data_folder.logs(self._disk):
            yield LOOK_COST
            self._place_folder(directory, keys.get(directory))
        for directory in data_folder.deleted_logs(self._disk):
            yield from data_folder.remove(self._disk, directory)

    def _place_folder(self, directory: str, key: PartitionKey | None) -> None:
        """key: the partition that would have a log of this name."""
        found_id = checkpoints.read_partition_metadata(self._disk, directory)
        wanted_id = None
        is_elsewhere = False
        partition = None if key is None else self._partition(key)
        if key is not None and partition is not None:
            topic, _ = key
            wanted_id = self._image.topics[topic].topic_id
            is_elsewhere = self._node_id not in partition.replicas
        was_deleted = found_id in self._image.deleted
        has_moved_away = is_elsewhere and found_id == wanted_id
        path = f"{directory}/{checkpoints.PARTITION_METADATA}"
        if was_deleted or has_moved_away:
            data_folder.rename(self._disk, directory, data_folder.DELETE)
        elif wanted_id is None:
            why = "belongs to no topic that the metadata knows"
            self._set_aside(directory, why)
        elif found_id is None:
            self._notice(f"{path} is damaged, and written anew")
        elif found_id != wanted_id:
            what = (
                "holds an id that no topic had. Put the right file back, or move that"
                " folder away"
            )
            raise unusable(path, what)

    def _set_aside(self, directory: str, why: str) -> None:
        """Nobody knows whose it is; nothing is removed that we did not make."""
        renamed = data_folder.rename(self._disk, directory, data_folder.STRAY)
        what_now = f"it is {renamed} now, and nobody reads it"
        self._notice(f"{directory} {why}: {what_now}")

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
        """When it is done next."""
        period_ms = 0 if at_once else self._periods_ms[work]
        self._timers.set(work, now_ms + period_ms)

    def partition_changed(self, change: PartitionChange) -> None:
        """A replica may come, go, or have another leader or ISR."""
        key = change.topic, change.number
        is_held = key in self.replicas
        is_to_be_held = self._node_id in change.after.replicas
        if is_to_be_held:
            if is_held:
                self._place(self.replicas[key], change.after)
            elif key not in self._unloaded:
                self._to_create[key] = None
                if self._created < CREATED_AT_ONCE:
                    self._create_waiting(key)
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
        keys: Iterable[PartitionKey] = self.replicas
        if change.resource_type == TOPIC_RESOURCE:
            topic = self._image.topics.get(change.resource_name)
            keys = ()
            if topic is not None:
                keys = self._by_topic.get(topic.topic_id, ())
        for key in keys:
            topic_name, _ = key
            replica = self.replicas[key]
            replica.log.config = self._log_config(topic_name)
            replica.min_insync_replicas = self._topic_value(topic_name, MIN_ISR)
        self._cleaner.buffer_bytes = self._in_force["log.cleaner.dedupe.buffer.size"]
        self._periods_ms[self._compact] = self._compaction_period_ms()
        self._arm(self._compact, self._now_ms)

    def _compaction_period_ms(self) -> int:
        return max(1, int(self._in_force["log.cleaner.backoff.ms"]))

    def _remove(self, keys: Iterable[PartitionKey]) -> None:
        """These partitions are deleted, or move to other nodes."""
        removed = {}
        for key in keys:
            removed[key] = self.replicas.pop(key)
        for key, replica in removed.items():
            assert key not in self._removals, "of a name one log goes at a time"
            self._removals[key] = replica.log.delete()
            self._hearer.removed(replica)
        was_cleaned = any(each.log.first_dirty_offset for each in removed.values())
        if was_cleaned:
            # before a new log of this name comes, which they don't fit
            self._checkpoints.write_cleaner_offsets()
        for key in removed:
            self._wake(key)

    def _wake(self, key: PartitionKey) -> None:
        """Requests that wait for this partition look again."""
        for what in ("log_end", "high_watermark"):
            self._hearer.moved((what, *key), ALL_BYTES)

    def _open(self, topic: str, number: int, **known: int) -> Log:
        """known: what the checkpoints say of the log."""
        self._created += 1
        return Log(
            disk=self._disk,
            directory=f"{topic}-{number}",
            config=self._log_config(topic),
            trace=self._trace,
            topic=topic,
            partition=number,
            topic_id=self._image.topics[topic].topic_id,
            **known,
        )

    def _hold(
        self, key: PartitionKey, partition: Partition, log: Log, high_watermark: int = 0
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
            hears=self._hearer,
            high_watermark=high_watermark,
        )
        replica.min_insync_replicas = self._topic_value(topic, MIN_ISR)
        self._by_topic.setdefault(topic_id, []).append(key)
        self.replicas[key] = replica
        if self._trace:
            telling.opened(replica, partition)
        self._place(replica, partition)
        return replica

    def _place(self, replica: Replica, partition: Partition) -> None:
        """Who leads it, and who is in sync, is as the image has it now."""
        replica.follow_image(partition)
        self._hearer.placed(replica)

    def _topic_value(self, topic: str, name: str) -> Any:
        """A topic's config as it is in force on this node."""
        found = self._config.value(
            self._image, self._node_id, TOPIC_RESOURCE, topic, name
        )
        return found.value

    def _log_config(self, topic: str) -> LogConfig:
        """The same for all topics that set the same."""
        in_force = self._config.in_force(self._image)
        own = self._image.config(TOPIC_RESOURCE, topic)
        key = "log", *own.items()
        found: LogConfig | None = in_force.get(key)
        if found is None:
            found = in_force[key] = self._new_log_config(topic)
        return found

    def _new_log_config(self, topic: str) -> LogConfig:
        values = {}
        for field_name, name in LOG_CONFIGS.items():
            values[field_name] = self._topic_value(topic, name)
        segment_bytes = self._topic_value(topic, "internal.segment.bytes")
        if segment_bytes is not None:
            values["segment_bytes"] = segment_bytes
        expiration_ms = self._in_force["producer.id.expiration.ms"]
        return LogConfig(**values, producer_id_expiration_ms=expiration_ms)

    # -- background

    def tick(self, now: Now, budget_bytes: int) -> None:
        """Timers that are due, then a slice of deletion and compaction."""
        self._now_ms = now.monotonic_ms
        for work in self._timers.overdue(self._now_ms):
            self._timers.set(work, None)
            self._some_rest = True
            work(now)
        budget_bytes = self._make_and_remove(budget_bytes)
        if self._cleaner.busy and budget_bytes > 0:
            self._clean(now, budget_bytes)

    def _make_and_remove(self, budget_bytes: int) -> int:
        """Logs, so far as the budget goes; returns what is left of it."""
        self._created = 0
        while self._to_create and budget_bytes > 0:
            first = next(iter(self._to_create))
            self._create_waiting(first)
            budget_bytes -= LOG_COST
        while self._removals and budget_bytes > 0:
            first = next(iter(self._removals))
            self._begin_removal(self._removals.pop(first))
            budget_bytes -= LOG_COST
        while self._background and budget_bytes > 0:
            spent = next(self._background[0], None)
            if spent is None:
                del self._background[0]
            else:
                budget_bytes -= max(spent, FILE_COST)
        return budget_bytes

    def _clean(self, now: Now, budget_bytes: int) -> None:
        """A slice of compaction."""
        got_further = self._cleaner.advance(budget_bytes)
        if got_further is None:
            return
        self._checkpoints.write_cleaner_offsets()
        self._arm(self._compact, now.monotonic_ms, at_once=got_further)

    def _begin_removal(self, removal: Work) -> None:
        """Rename the folder, so that a new topic may take its name; its files go
        later.
        """
        next(removal, None)
        self._background.append(removal)

    def next_deadline(self) -> int | None:
        """Monotonic ms of the next background work."""
        has_to_do = self._to_create or self._removals or self._background
        if has_to_do or self._cleaner.busy:
            return self._now_ms + 1
        return self._timers.next()

    def close(self, broker_epoch: int) -> None:
        """Sync everything and say that the shutdown was clean."""
        self._cleaner.stop()
        for removal in self._removals.values():
            self._begin_removal(removal)
        for replica in self.replicas.values():
            replica.log.close()
        self._checkpoints.write_recovery_points()
        self._checkpoints.write_high_watermarks()
        checkpoints.write_clean_shutdown(self._disk, broker_epoch)

    def _clean_up(self, now: Now) -> None:
        """Retention. A follower's leader hears where its log begins now."""
        for replica in self.replicas.values():
            replica.log.clean_up(now)
            if not replica.is_leader:
                self._hearer.placed(replica)
        self._arm(self._clean_up, now.monotonic_ms)
        self.changed(now)

    def _compact(self, now: Now) -> None:
        """Begin with the log that is worth it most, if none is being compacted."""
        if self._cleaner.busy:
            return
        logs = []
        for replica in self.replicas.values():
            logs.append((replica.log, replica.last_stable_offset))
        nothing_is_dirty = self._cleaner.begin(logs, now.wall_ms)
        if nothing_is_dirty and not self._cleaner.busy:
            self._arm(self._compact, now.monotonic_ms)

    def _write_recovery_points(self, _: Now) -> None:
        self._checkpoints.write_recovery_points()

    def _write_high_watermarks(self, _: Now) -> None:
        self._checkpoints.write_high_watermarks()
