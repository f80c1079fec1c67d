"""One replica of one partition: a log, and how much of it is committed.

Three offsets matter. The log end offset is where the next record goes. The high
watermark is the offset up to which all in-sync replicas have the log: records below it
are committed, and consumers read only those. The log start offset is that of the oldest
record that can still be read.

All appends go through here: those of producers, coordinators and the metadata quorum.
So a single place announces what was appended, and a single place moves the high
watermark: to the smallest log end offset of the in-sync replicas (KIP-101 adds the
leader epochs that make truncation exact). Both are announced through `listener`
(broker/node_events.py): to requests that wait, among them followers' fetches, to the
metadata image, coordinators, checkpoints and the cleaner.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from minikafka.clock import Now
from minikafka.cluster import replica_events
from minikafka.cluster.metadata import Partition
from minikafka.storage.checks import Damage
from minikafka.storage.disk import as_storage_errors
from minikafka.storage.log import Appended, Log
from minikafka.storage.producer_state import Marker
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.internal_records import encode_end_transaction
from minikafka.wire.primitives import Buffer
from minikafka.wire.records import BatchHeader, read_header
from minikafka.wire.schema import Message

# checked when a follower asks again: the next batch tells whether an offset is right
DOUBTED_BYTES = 4 << 20
UNKNOWN = -1  # high watermark of a leader that hasn't answered yet
OF_DAMAGE = (Error.CORRUPT_MESSAGE, Error.INVALID_RECORD)


class DamagedRecords(KafkaError):
    """The log no longer holds what was written there. records: what it holds instead;
    None if that can't be read.
    """

    def __init__(
        self, error: Error, damage: Damage, records: list[memoryview] | None
    ) -> None:
        super().__init__(error, damage.why)
        self.damage = damage
        self.records = records


class PartitionListener(NamedTuple):
    """Is told when a replica's offsets move.

    appended(replica, appended, now): the log end offset. high_watermark_advanced(replica,
    size_bytes): at least so many bytes are committed now that were not.
    """

    appended: Callable[["Replica", Appended, Now], None]
    high_watermark_advanced: Callable[["Replica", int], None]


@dataclass(slots=True)
class Follower:
    """What a leader knows about a follower. log_end_offset: the follower has everything
    before it. caught_up_ms: when it last had everything that the leader had, monotonic.
    broker_epoch: of the run that fetched, -1 if it didn't say. was_sent: whether
    records from this offset on have been sent to it.
    """

    caught_up_ms: int
    log_end_offset: int = 0
    broker_epoch: int = -1
    fetched_ms: int = 0
    leader_end: int = 0  # the leader's log end offset at that fetch
    log_start_offset: int = 0
    was_sent: bool = False

    def fetched(
        self, offset: int, leader_end: int, broker_epoch: int, now_ms: int
    ) -> None:
        """The follower has caught up as of this fetch if it asks for the leader's end,
        and as of its previous fetch if it now has everything up to the leader's end
        then. So a follower that fetches without a pause stays in sync under steady
        load.
        """
        if offset >= leader_end:
            self.caught_up_ms = now_ms
        elif offset >= self.leader_end and self.fetched_ms:
            self.caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        if offset != self.log_end_offset:
            self.was_sent = False
        self.log_end_offset, self.broker_epoch = offset, broker_epoch
        self.fetched_ms, self.leader_end = now_ms, leader_end


class Replica:
    """This broker's copy of a partition.

    topic_id: 16 bytes. partition: the partition's state in the metadata image.
    high_watermark: the first offset that a consumer may not read. min_insync_replicas:
    how many replicas acks=all asks for.
    """

    def __init__(
        self,
        topic_id: bytes,
        partition: Partition,
        log: Log,
        node_id: int,
        listener: PartitionListener,
        high_watermark: int = 0,
    ) -> None:
        self.topic_id = topic_id
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.is_leader = partition.leader == node_id
        self.log = log
        self.high_watermark = min(
            max(high_watermark, log.log_start_offset), log.log_end_offset
        )
        self.min_insync_replicas = 1
        self._node_id = node_id
        self._listener = listener
        # Known only to the leader. Observers follow the metadata log without a vote.
        self.followers: dict[int, Follower] = {}
        self.observers: dict[int, Follower] = {}
        # proposed to the controller, which hasn't answered yet
        self.pending_isr: frozenset[int] = frozenset()
        self._leader_high_watermark = UNKNOWN  # as this follower knows it
        # as a follower: what the leader sent for this offset was refused, and is asked
        # for again
        self._doubted_offset = -1
        # bytes appended since the high watermark was last at the log's end
        self._waiting_bytes = 0

    # -- roles

    @property
    def last_stable_offset(self) -> int:
        """Where a read_committed consumer stops: the first offset of a transaction that
        is open, or whose marker isn't committed yet. Without such a transaction it is
        the high watermark.
        """
        producers = self.log.producers
        if not producers.ongoing and not producers.decided:
            return self.high_watermark
        unstable = producers.first_unstable_offset(self.high_watermark)
        if unstable is None:
            return self.high_watermark
        return min(self.high_watermark, max(unstable, self.log.log_start_offset))

    @property
    def high_watermark_lags(self) -> bool:
        """Whether this leader's high watermark hasn't yet reached the end that its log
        had when its epoch began (KIP-207).
        """
        entries = self.log.epochs.entries
        return (
            bool(entries)
            and len(self.partition.replicas) > 1
            and self.high_watermark < entries[-1][1]
        )

    @property
    def lags(self) -> bool:
        """Whether this follower still lacks something that is committed, as far as it
        knows: before the leader's first answer it knows nothing.
        """
        is_told = self._leader_high_watermark != UNKNOWN
        return not is_told or self.log.log_end_offset < self._leader_high_watermark

    @property
    def enough_in_sync(self) -> bool:
        """Whether acks=all may be promised: min.insync.replicas are in sync, or all
        replicas if the topic has fewer.
        """
        return len(self.partition.isr) >= min(
            self.min_insync_replicas, len(self.partition.replicas)
        )

    def follow_image(self, partition: Partition) -> None:
        """Follow the partition's new state in the image: leader, epoch and ISR. A new
        leader's epoch begins where its log ends, even before it writes anything
        (KIP-101), and it knows nothing about its followers yet.
        """
        was = self.partition
        assert partition.leader_epoch >= was.leader_epoch, "a leader epoch never falls"
        if partition.partition_epoch != was.partition_epoch:
            self.pending_isr = frozenset()
        if partition.leader_epoch != was.leader_epoch:
            self.followers.clear()
            self.observers.clear()
            self._leader_high_watermark, self._doubted_offset = UNKNOWN, -1
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.is_leader = partition.leader == self._node_id
        if self.log.trace:
            replica_events.image_followed(self.log, was, partition, self.is_leader)
        if self.is_leader:
            with as_storage_errors(self.log.directory):
                self.log.epochs.assign(self.leader_epoch, self.log.log_end_offset)
            self.advance_high_watermark()

    def check_leader(
        self, current_leader_epoch: int = -1, or_follower: bool = False
    ) -> None:
        """Refuse a request that isn't for this leader in this epoch (KIP-320). -1: the
        client doesn't know the epoch. or_follower: a follower of that epoch may answer
        too (KIP-392).
        """
        if not self.is_leader and not or_follower:
            raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER)
        if current_leader_epoch not in (-1, self.leader_epoch):
            newer = current_leader_epoch > self.leader_epoch
            raise KafkaError(
                Error.UNKNOWN_LEADER_EPOCH if newer else Error.FENCED_LEADER_EPOCH
            )

    # -- the log's end

    def append(
        self, batches: bytearray | memoryview, headers: Sequence[BatchHeader], now: Now
    ) -> Appended:
        """Append checked batches as their leader, stamped with offsets and this
        leader's epoch. They are committed when the high watermark has passed
        `last_offset`, which may be at once.
        """
        assert self.is_leader, "only the leader appends"
        appended = self.log.append(batches, self.leader_epoch, now, headers)
        self._tell_appended("RecordsAppended", appended, batches, now)
        return appended

    def append_marker(self, marker: Marker, now: Now) -> Appended:
        """As leader: append a marker, which ends a producer's transaction here. Errors:
        NOT_ENOUGH_REPLICAS, and those of check_marker.
        """
        if not self.enough_in_sync:
            raise KafkaError(Error.NOT_ENOUGH_REPLICAS)
        self.log.producers.check_marker(marker)
        encoded = encode_end_transaction(
            marker.committed,
            marker.producer_id,
            marker.producer_epoch,
            marker.coordinator_epoch,
            now.wall_ms,
        )
        batch = bytearray(encoded)
        return self.append(batch, [read_header(batch)], now)

    def take(self, answer: Message, now: Now) -> None:
        """As a follower: process the leader's answer to a fetch from the end of this
        log. If the two logs have diverged, drop what the leader doesn't have (KIP-279:
        back to the end of the last epoch that both know; the next fetch may find that
        they diverged even earlier). Otherwise append the records as they are. Errors:
        CorruptRecord or INVALID_RECORD if these aren't the bytes that were once
        written.
        """
        assert not self.is_leader, "a leader takes nothing from others"
        if answer.diverging_epoch.epoch >= 0:
            epoch, end_offset = (
                answer.diverging_epoch.epoch,
                answer.diverging_epoch.end_offset,
            )
            if self.log.trace:
                self.log.tell("LogDiverged", epoch=epoch, end_offset=end_offset)
            own_epoch, own_end = self.log.end_offset_for_epoch(epoch)
            self.truncate_to(min(own_end, end_offset) if own_epoch >= 0 else 0)
            return
        if answer.records:
            appended = self._append_as_follower(answer.records, answer.log_start_offset)
            self._tell_appended("RecordsReplicated", appended, answer.records, now)
        self._leader_high_watermark = answer.high_watermark
        self.advance_high_watermark()
        if self.log.log_start_offset < answer.log_start_offset <= self.high_watermark:
            self.log.delete_records(answer.log_start_offset)

    def _append_as_follower(self, records: Buffer, leaders_start: int) -> Appended:
        """A compacted log may have gaps in its offsets. In any other log a gap is
        doubtful until the leader has checked it, which it does when it is asked for
        that offset again.
        """
        log = self.log
        gapless = not log.config.compacts and self._doubted_offset != log.log_end_offset
        try:
            if log.log_start_offset == log.log_end_offset == leaders_start:
                first = read_header(records)
                # DeleteRecords moved the leader's log start offset into this batch
                if 0 <= first.base_offset < leaders_start <= first.last_offset:
                    self.start_at(first.base_offset)
            return log.append_as_follower(records, self.leader_epoch, gapless)
        except KafkaError as error:
            if error.error is not Error.KAFKA_STORAGE_ERROR:
                self._doubted_offset = log.log_end_offset
            raise

    def read(
        self,
        offset: int,
        max_bytes: int,
        end: int,
        min_one: bool,
        follower_id: int | None = None,
    ) -> list[memoryview]:
        """Read batches for a consumer, or for a follower: see Log.read. The last batch
        may be cut for a consumer, but not for a follower, which would only drop it.

        Three things are checked before they are sent: batches that an earlier run
        wrote, batches that a follower asks for again, because it may have found them
        damaged, and a place where records are missing. Errors: those of Log.read, and
        DamagedRecords.
        """
        log = self.log
        try:
            records = log.read(offset, max_bytes, end, min_one, follower_id is None)
        except KafkaError as error:
            if error.error not in OF_DAMAGE:
                raise
            damage = Damage(offset, error.message)
            raise DamagedRecords(error.error, damage, None) from error
        follower = None
        if follower_id is not None and records:
            follower = self.followers.get(follower_id, self.observers.get(follower_id))
        is_refetch = False
        if follower is not None and follower.log_end_offset == offset:
            is_refetch, follower.was_sent = follower.was_sent, True
        must_check = offset in log.unchecked if records else min_one and offset < end
        if must_check or is_refetch:
            size_bytes = max(sum(map(len, records)), DOUBTED_BYTES if is_refetch else 0)
            found = log.look_at(offset, size_bytes).damage
            if found is not None:
                raise DamagedRecords(Error.CORRUPT_MESSAGE, found, records)
        return records

    def start_at(self, offset: int) -> None:
        """As a follower: drop all records, because the leader's log begins here."""
        assert not self.is_leader, "a leader drops nothing"
        self.log.truncate_fully_and_start_at(offset)
        self.high_watermark = offset

    def _tell_appended(
        self, kind: str, appended: Appended, batches: Buffer, now: Now
    ) -> None:
        if self.log.trace:
            replica_events.appended(self.log, self.partition, kind, appended, batches)
        self._waiting_bytes += appended.size_bytes
        self._listener.appended(self, appended, now)
        self.advance_high_watermark()

    def follower_fetched(
        self,
        broker_id: int,
        offset: int,
        now: Now,
        broker_epoch: int = -1,
        log_start_offset: int = 0,
    ) -> None:
        """A follower asked for records from this offset on, so it has everything
        between log_start_offset and there.
        """
        follower = self.followers.setdefault(broker_id, Follower(now.monotonic_ms))
        if self.log.trace and (
            offset != follower.log_end_offset or not follower.fetched_ms
        ):
            replica_events.follower_fetched(self.log, broker_id, offset)
        follower.fetched(
            offset, self.log.log_end_offset, broker_epoch, now.monotonic_ms
        )
        follower.log_start_offset = log_start_offset
        self.advance_high_watermark()

    def proposed_isr(self, now: Now, lag_time_max_ms: int) -> frozenset[int]:
        """As leader: the ISR as it should be now. A follower leaves it when its log has
        been behind the leader's for more than lag_time_max_ms. It rejoins when it has
        everything up to the high watermark and up to the start of this leader's epoch.
        """
        wanted = set(self.partition.isr)
        needed = max(
            self.high_watermark,
            self.log.epochs.entries[-1][1] if self.log.epochs.entries else 0,
        )
        for broker in self.partition.replicas:
            if broker == self._node_id:
                continue
            follower = self.followers.setdefault(broker, Follower(now.monotonic_ms))
            behind = follower.log_end_offset != self.log.log_end_offset
            if (
                broker in wanted
                and behind
                and follower.caught_up_ms + lag_time_max_ms < now.monotonic_ms
            ):
                wanted.discard(broker)
            elif (
                broker not in wanted
                and follower.fetched_ms
                and follower.log_end_offset >= needed
            ):
                wanted.add(broker)
        assert wanted <= set(self.partition.replicas), "the ISR is within the replicas"
        return frozenset(wanted)

    def truncate_to(self, offset: int) -> None:
        """Drop records that another leader never had. They can't have been
        committed.
        """
        assert not self.is_leader, "a leader drops nothing"
        self.log.truncate_to(offset)
        self.high_watermark = min(self.high_watermark, self.log.log_end_offset)

    def drop_damaged(self) -> None:
        """Drop everything from the damage on: another replica leads, and has it."""
        assert not self.is_leader, "a leader drops nothing"
        self.log.drop_damaged()
        self.high_watermark = min(self.high_watermark, self.log.log_end_offset)

    def delete_records(self, offset: int) -> int:
        """DeleteRecords (KIP-107): -1 means up to the high watermark. Returns the
        offset up to which records were deleted.
        """
        target = self.high_watermark if offset == -1 else offset
        if not 0 <= target <= self.high_watermark:
            raise KafkaError(Error.OFFSET_OUT_OF_RANGE)
        self.log.delete_records(target)
        assert self.log.log_start_offset <= self.high_watermark, (
            "what is not committed is not deleted"
        )
        return target

    def low_watermark(self, live: Container[int]) -> int:
        """The offset up to which this leader and all replicas on live brokers have
        deleted the log.
        """
        others = [
            broker
            for broker in self.partition.replicas
            if broker != self._node_id and broker in live
        ]
        starts = [
            self.followers[broker].log_start_offset if broker in self.followers else 0
            for broker in others
        ]
        return min([self.log.log_start_offset, *starts])

    # -- the high watermark

    def _agreed_offset(self) -> int:
        """The offset up to which all in-sync replicas have the log. A follower that
        hasn't fetched yet counts as 0. A replica that is about to join the ISR counts
        already, and one that is about to leave it still counts, so that nothing is
        promised that another leader, elected meanwhile, doesn't have. Below
        min.insync.replicas nothing new is committed (KIP-966).
        """
        if not self.enough_in_sync:
            return 0
        others = self.pending_isr.union(self.partition.isr) - {self._node_id}
        ends = [
            self.followers[broker].log_end_offset if broker in self.followers else 0
            for broker in others
        ]
        return min([self.log.log_end_offset, *ends])

    def advance_high_watermark(self) -> None:
        """Move the high watermark to where the replicas agree. A follower learns that
        offset from its leader, and may not have the log that far yet. The high
        watermark never goes back, although a new leader may not know yet how far the
        others are.
        """
        agreed = (
            self._agreed_offset()
            if self.is_leader
            else min(self._leader_high_watermark, self.log.log_end_offset)
        )
        if agreed <= self.high_watermark:
            return
        assert agreed <= self.log.log_end_offset, (
            "the high watermark is at most the log end offset"
        )
        before = self._committed_offsets() if self.log.trace else None
        self.high_watermark = agreed
        if before is not None:
            after = self._committed_offsets()
            replica_events.high_watermark_advanced(
                self.log, self.partition, before, after
            )
        size_bytes = self._waiting_bytes
        if agreed == self.log.log_end_offset:
            self._waiting_bytes = 0
        self._listener.high_watermark_advanced(self, size_bytes)

    def _committed_offsets(self) -> tuple[int, int]:
        return self.high_watermark, self.last_stable_offset
