"""At start: which partition does each log in the data folder belong to, and how much of
it is intact?

The metadata image says which logs there should be. The log of a deleted topic is
removed, a log that nobody knows is set aside, and every other one is read from the
point up to which the last run knew it to be intact. A log that ends before that point
has lost records: another replica has them, or nobody.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field

from minikafka.broker.config_rules import unusable_configs
from minikafka.broker.offset_checkpoints import Noted, OffsetCheckpoints
from minikafka.cluster.metadata import Image, Partition, TopicPartition
from minikafka.storage import checkpoints, data_folder
from minikafka.storage.disk import Disk, as_storage_errors, unusable
from minikafka.storage.log import Log
from minikafka.storage.recovery import recover

SLICE_BYTES = 1 << 20
OPEN_COST = 1 << 14  # opening a log, in bytes to read
LOOK_COST = 1 << 13  # looking whose a log is

Work = Generator[int, None, None]  # yields what it costs, in bytes to read


@dataclass(eq=False, repr=False)
class LogRecovery:
    """The recovery of one node's logs, in slices. open(topic, number, known): known is
    what the last run noted of the log, as Log takes it. hold(partition's key, partition,
    log, high watermark): the log is ready, and from here on this node has the replica.
    """

    _node_id: int
    _disk: Disk
    _image: Image
    _notice: Callable[..., object]
    _checkpoints: OffsetCheckpoints
    _open: Callable[..., Log]
    _hold: Callable[[TopicPartition, Partition, Log, int], object]
    # the partitions of the cluster that were not looked at yet: some have a log here
    unloaded: dict[TopicPartition, None] = field(default_factory=dict)
    _rest: Work = field(init=False)  # what is left to do

    def begin(self) -> None:
        """Begin to recover the logs of the partitions in the image."""
        for topic, number, _ in self._image.all_partitions():
            self.unloaded[topic, number] = None
        self._rest = self._recover()

    def advance(self, budget_bytes: int) -> bool:
        """A slice; whether all logs are open."""
        with as_storage_errors(str(self._disk)):
            for spent in self._rest:
                budget_bytes -= spent
                if budget_bytes <= 0:
                    return False
        return True

    def _recover(self) -> Work:
        """Set aside logs that the image doesn't know, open the others."""
        for line in unusable_configs(self._image):
            self._notice(line)
        yield from self._sort_out()
        last_run = self._checkpoints.take_last_run()
        while self.unloaded:
            key = next(iter(self.unloaded))
            partition = self._image.partition(key)  # it may have gone meanwhile
            if partition is not None and self._node_id in partition.replicas:
                yield from self._recover_log(key, partition, last_run.noted(key))
            del self.unloaded[key]
        self._checkpoints.write_cleaner_offsets()

    # -- whose it is

    def _sort_out(self) -> Work:
        """Those of deleted topics go, those of nobody are set aside."""
        keys = {}
        for topic, number, _ in self._image.all_partitions():
            keys[f"{topic}-{number}"] = topic, number
        for directory in data_folder.logs(self._disk):
            yield LOOK_COST
            self._place_folder(directory, keys.get(directory))
        for directory in data_folder.deleted_logs(self._disk):
            yield from data_folder.remove(self._disk, directory)

    def _place_folder(self, directory: str, key: TopicPartition | None) -> None:
        """key: the partition that would have a log of this name."""
        found_id = checkpoints.read_partition_metadata(self._disk, directory)
        wanted_id = None
        is_elsewhere = False
        partition = None if key is None else self._image.partition(key)
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
            self._notice(f"{path} is damaged, and is rewritten")
        elif found_id != wanted_id:
            what = (
                "holds an id that no topic had. Put the right file back, or move that"
                " folder away"
            )
            raise unusable(path, what)

    def make_room(self, directory: str) -> None:
        """A new topic's log goes into this folder: set aside what is in it already."""
        with as_storage_errors(directory):
            if self._disk.exists(directory):
                why = "is where the log of a new topic has to be"
                self._set_aside(directory, why)

    def _set_aside(self, directory: str, why: str) -> None:
        """Nobody knows whose it is; nothing is removed that we did not make."""
        renamed = data_folder.rename(self._disk, directory, data_folder.STRAY)
        what_now = f"it is {renamed} now, and nobody reads it"
        self._notice(f"{directory} {why}: {what_now}")

    # -- how whole it is

    def _recover_log(
        self, key: TopicPartition, partition: Partition, noted: Noted
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
        yield from recover(log, SLICE_BYTES, self._notice, noted.stopped_clean)
        self._look_for_losses(log, noted)
        if len(partition.replicas) == 1:
            # no other replica has what is missing
            log.damaged_from = None
            log.unchecked = range(0)
        self._hold(key, partition, log, noted.high_watermark)

    def _look_for_losses(self, log: Log, noted: Noted) -> None:
        """Check whether a log ends where the last run got to. Missing records are on
        another replica; if there is none, they are lost for good.
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
