"""One replica of one partition: a log, and how much of it counts.

Three offsets matter. The log end offset is where the next record goes. The high watermark is where the in-sync
replicas agree: consumers read below it, and a record counts when it has passed. The log start offset is the oldest
record that still counts.

All appends go through here, whoever makes them: producers, coordinators, the metadata quorum. So there is one place
that says what was appended and one that moves the high watermark: to the smallest log end offset of the in-sync
replicas (KIP-101 adds the leader epochs that make truncation exact). Who must hear of it is told by `hears`:
checkpoints, the cleaner, and requests that wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Protocol

from minikafka.clock import Now
from minikafka.cluster.metadata import INTERNAL_TOPICS, METADATA_TOPIC, Partition
from minikafka.storage.errors import as_storage_errors
from minikafka.storage.log import Appended, Log
from minikafka.wire.crc import Buffer
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import BatchHeader, raw_records

TRACED_RECORDS = 50
QUIET = (*INTERNAL_TOPICS, METADATA_TOPIC)  # what coordinators and the quorum write is told by their own events


class Hears(Protocol):
    """Who hears of a replica's offsets."""

    def appended(self, replica: Replica, size_bytes: int, now: Now) -> None:
        """The log end offset moved."""

    def high_watermark_advanced(self, replica: Replica, size_bytes: int) -> None:
        """size_bytes: at least so much counts now that did not."""


class Replica:
    """This broker's copy of a partition.

    topic_id: 16 bytes. partition: the partition as the metadata image has it. high_watermark: the first offset a
    consumer may not read. min_insync_replicas: how many replicas acks=all asks for.
    """

    def __init__(
        self, topic_id: bytes, partition: Partition, log: Log, node_id: int, hears: Hears, high_watermark: int = 0
    ) -> None:
        self.topic_id = topic_id
        self.partition = partition
        self.log = log
        self.high_watermark = min(max(high_watermark, log.log_start_offset), log.log_end_offset)
        self.min_insync_replicas = 1
        self._node_id = node_id
        self._hears = hears
        self._follower_ends: dict[int, int] = {}  # log end offsets, as this leader knows them
        self._waiting_bytes = 0  # appended since the high watermark stood at the log's end

    # -- roles

    @property
    def leader_epoch(self) -> int:
        return self.partition.leader_epoch

    @property
    def is_leader(self) -> bool:
        return self.partition.leader == self._node_id

    @property
    def last_stable_offset(self) -> int:
        """Where a read_committed consumer stops. Without open transactions: the high watermark."""
        return self.high_watermark

    @property
    def enough_in_sync(self) -> bool:
        """Whether acks=all may be promised: min.insync.replicas, or all of a topic that has fewer, are in sync."""
        return len(self.partition.isr) >= min(self.min_insync_replicas, len(self.partition.replicas))

    def follow_image(self, partition: Partition) -> None:
        """The partition as the image has it now: who leads, in which epoch, who is in sync. A new leader's epoch begins
        where its log ends, written to or not (KIP-101), and it knows nothing of its followers yet.
        """
        if partition.leader_epoch != self.partition.leader_epoch:
            self._follower_ends.clear()
        self.partition = partition
        if self.is_leader:
            with as_storage_errors(self.log.directory):
                self.log.epochs.assign(self.leader_epoch, self.log.log_end_offset)
            self.advance_high_watermark()

    def check_leader(self, current_leader_epoch: int = -1) -> None:
        """Refuse a request that is not for this leader in this epoch (KIP-320). -1: the client doesn't know it."""
        if not self.is_leader:
            raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER)
        if current_leader_epoch not in (-1, self.leader_epoch):
            newer = current_leader_epoch > self.leader_epoch
            raise KafkaError(Error.UNKNOWN_LEADER_EPOCH if newer else Error.FENCED_LEADER_EPOCH)

    # -- the log's end

    def append(self, batches: bytearray | memoryview, headers: Sequence[BatchHeader], now: Now) -> Appended:
        """Append checked batches as their leader: stamped with offsets and this leader's epoch. They count when the
        high watermark has passed `last_offset`, which may be at once.
        """
        appended = self.log.append(batches, self.leader_epoch, now, headers)
        if self.log.trace and self.log.topic not in QUIET:
            self.log.tell(
                "RecordsAppended", base_offset=appended.base_offset, last_offset=appended.last_offset,
                size_bytes=appended.size_bytes, **shown(batches),
            )  # fmt: skip
        self._waiting_bytes += appended.size_bytes
        self._hears.appended(self, appended.size_bytes, now)
        self.advance_high_watermark()
        return appended

    def follower_fetched(self, broker_id: int, log_end_offset: int) -> None:
        """A follower asked for records from this offset on: it has all before."""
        self._follower_ends[broker_id] = log_end_offset
        self.advance_high_watermark()

    def truncate_to(self, offset: int) -> None:
        """Drop what another leader never had. What is gone can't count."""
        self.log.truncate_to(offset)
        self.high_watermark = min(self.high_watermark, self.log.log_end_offset)

    def delete_records(self, offset: int) -> int:
        """DeleteRecords (KIP-107): -1 means up to the high watermark. Returns the new low watermark."""
        target = self.high_watermark if offset == -1 else offset
        if not 0 <= target <= self.high_watermark:
            raise KafkaError(Error.OFFSET_OUT_OF_RANGE)
        self.log.delete_records(target)
        return self.log.log_start_offset

    # -- the high watermark

    def _agreed_offset(self) -> int:
        """Up to where all in-sync replicas have the log. Of a follower that has not fetched yet nothing is known."""
        others = [self._follower_ends.get(broker, 0) for broker in self.partition.isr if broker != self._node_id]
        return min([self.log.log_end_offset, *others])

    def advance_high_watermark(self) -> None:
        """To where the replicas agree. It never goes back, though a new leader may not know yet how far others are."""
        agreed = self._agreed_offset() if self.is_leader else 0
        if agreed <= self.high_watermark:
            return
        self.high_watermark = agreed
        if self.log.trace and self.log.topic != METADATA_TOPIC:
            self.log.tell("HighWatermarkAdvanced", high_watermark=agreed)
        size_bytes = self._waiting_bytes
        if agreed == self.log.log_end_offset:
            self._waiting_bytes = 0
        self._hears.high_watermark_advanced(self, size_bytes)


def shown(batches: bytearray | memoryview) -> dict[str, Any]:
    """The first records as the trace shows them. Only here are they decoded, so they may turn out unreadable."""
    records: list[list[Any]] = []
    try:
        for record in islice(raw_records(batches), TRACED_RECORDS):
            records.append([record.offset, text(record.key), text(record.value), record.timestamp])
    except KafkaError as error:
        return {"records": records, "unreadable": error.message}
    return {"records": records}


def text(value: Buffer | None) -> str | None:
    """Keys and values as pictures show them: at most 40 characters."""
    return None if value is None else bytes(value[:160]).decode("utf-8", "replace")[:40]
