"""One replica of one partition: a log, and how much of it is safe to show.

Three offsets matter. The log end offset is where the next record goes. The high watermark is where the in-sync
replicas agree: consumers read below it. The log start offset is the oldest record that still counts. The leader moves
the high watermark to the smallest log end offset of the in-sync replicas; with a single replica that is its own
(KIP-101 adds the leader epochs that make truncation exact).
"""

from __future__ import annotations

from collections.abc import Sequence

from minikafka.cluster.metadata import Partition
from minikafka.cluster.quorum import Clock
from minikafka.storage.errors import as_storage_errors
from minikafka.storage.log import Appended, Log
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import BatchHeader


class Replica:
    """This broker's copy of a partition.

    topic_id: 16 bytes. partition: the partition as the metadata image has it. high_watermark: the first offset a
    consumer may not read. min_insync_replicas: how many replicas acks=all asks for.
    """

    def __init__(self, topic_id: bytes, partition: Partition, log: Log, node_id: int, trace: Trace) -> None:
        self.topic_id = topic_id
        self.partition = partition
        self.log = log
        self.high_watermark = log.log_start_offset
        self.min_insync_replicas = 1
        self._node_id = node_id
        self._trace = trace

    @property
    def leader_epoch(self) -> int:
        return self.partition.leader_epoch

    @property
    def last_stable_offset(self) -> int:
        """Where a read_committed consumer stops. Without open transactions: the high watermark."""
        return self.high_watermark

    @property
    def enough_in_sync(self) -> bool:
        """Whether acks=all may be promised: min.insync.replicas, or all of a topic that has fewer, are in sync."""
        return len(self.partition.isr) >= min(self.min_insync_replicas, len(self.partition.replicas))

    def begin_epoch(self) -> None:
        """If this node leads, its epoch begins where the log ends, written to or not (KIP-101)."""
        if self.partition.leader == self._node_id:
            with as_storage_errors(self.log.directory):
                self.log.epochs.assign(self.leader_epoch, self.log.log_end_offset)

    def check_leader(self, current_leader_epoch: int = -1) -> None:
        """Refuse a request that is not for this leader in this epoch (KIP-320). -1: the client doesn't know the
        epoch.
        """
        if self.partition.leader != self._node_id:
            raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER)
        if current_leader_epoch not in (-1, self.leader_epoch):
            newer = current_leader_epoch > self.leader_epoch
            raise KafkaError(Error.UNKNOWN_LEADER_EPOCH if newer else Error.FENCED_LEADER_EPOCH)

    def append_as_leader(self, batch: bytearray | memoryview, headers: Sequence[BatchHeader], now: Clock) -> Appended:
        """Append checked batches, stamped with offsets and this leader's epoch. The high watermark advances later."""
        return self.log.append(batch, self.leader_epoch, now, headers)

    def advance_high_watermark(self) -> None:
        """Move the high watermark to the smallest log end offset of the in-sync replicas."""
        agreed = self.log.log_end_offset
        if agreed > self.high_watermark:
            self.high_watermark = agreed
            if self._trace:
                self._trace.emit(
                    "HighWatermarkAdvanced", topic=self.log.topic, partition=self.log.partition, high_watermark=agreed
                )

    def delete_records(self, offset: int) -> int:
        """DeleteRecords (KIP-107): -1 means up to the high watermark. Returns the new low watermark."""
        target = self.high_watermark if offset == -1 else offset
        if not 0 <= target <= self.high_watermark:
            raise KafkaError(Error.OFFSET_OUT_OF_RANGE)
        self.log.delete_records(target)
        return self.log.log_start_offset
