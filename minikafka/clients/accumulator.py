"""Records that wait to be sent, in one queue of batches for each partition.

A batch is closed when it has batch_size bytes, or when the next record would exceed
them. It is sent when it is closed, or linger_ms after its first record, or at once
during a flush; several partitions of one broker travel in one request. That is all that
"batching" means. A record larger than batch_size has a batch of its own, which lingers,
too: Java makes it as large as the record may get, so it is never full. (In Java there
are some bytes to spare, enough for a tiny record.)
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.clients.future import Future
from minikafka.clients.structs import RecordMetadata, TopicPartition, sizes
from minikafka.wire.primitives import bytes_size, varint_size
from minikafka.wire.records import BATCH_OVERHEAD, NewRecord

Headers = Sequence[tuple[str, bytes | None]]


@dataclass(eq=False, repr=False)
class Batch:
    """Records of one partition that travel together.

    number: counts the batches of one producer from 1, for the trace. size_bytes: as if
    uncompressed. attempts: tries that have failed. base_sequence: -1 until first sent
    (KIP-98).
    """

    partition: TopicPartition
    created_ms: int
    number: int = 0
    size_bytes: int = BATCH_OVERHEAD
    records: list[NewRecord] = field(default_factory=list)
    futures: list[Future] = field(default_factory=list)
    closed: bool = False
    done: bool = False
    attempts: int = 0
    sent_ms: int = 0
    failed_ms: int = 0
    retry_at: int = 0
    base_sequence: int = -1
    # producer id and epoch, once it has a sequence
    producer: tuple[int, int] = (-1, -1)

    def room_for(
        self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers
    ) -> int:
        """The number of bytes that this record would take as the batch's next one."""
        first = self.records[0][0] if self.records else timestamp
        return record_size(len(self.records), timestamp - first, key, value, headers)

    def append(
        self,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        size_bytes: int,
    ) -> Future:
        """Add a record. size_bytes: the result of room_for() for it."""
        self.size_bytes += size_bytes
        self.records.append((timestamp, key, value, headers))
        future = Future()
        self.futures.append(future)
        return future

    def described(self) -> dict[str, Any]:
        """The batch's details, the same in every trace event about it."""
        topic, partition = self.partition
        return {
            "topic": topic,
            "partition": partition,
            "batch": self.number,
            "count": len(self.records),
        }

    def succeed(self, base_offset: int, log_append_time_ms: int) -> None:
        self.done = True
        for index, future in enumerate(self.futures):
            timestamp, key, value, headers = self.records[index]
            offset = -1 if base_offset < 0 else base_offset + index
            stamped = timestamp if log_append_time_ms < 0 else log_append_time_ms
            where = *self.partition, self.partition
            bytes_of_each = sizes(key, value, headers)
            metadata = RecordMetadata(*where, offset, stamped, None, *bytes_of_each)
            future.succeed(metadata)

    def fail(self, error: Exception) -> None:
        self.done = True
        for future in self.futures:
            future.fail(error)


class Placed(NamedTuple):
    """Where a record was added. size_bytes: how much larger it made the batch; filled:
    batches that are closed because of it.
    """

    future: Future
    size_bytes: int
    batch: Batch
    filled: list[Batch]


@dataclass(eq=False, repr=False)
class Accumulator:
    batch_size: int
    linger_ms: int
    buffer_memory: int
    used_bytes: int = 0
    batches: int = 0  # made so far
    queues: dict[TopicPartition, deque[Batch]] = field(default_factory=dict)
    # in order of creation, both sent and unsent
    incomplete: dict[Batch, None] = field(default_factory=dict)

    def is_filling(self, topic: str, partition: int) -> bool:
        """Whether the partition's last batch takes more records."""
        queue = self.queues.get(TopicPartition(topic, partition))
        if not queue:
            return False
        return not queue[-1].closed

    def append(
        self,
        partition: TopicPartition,
        now_ms: int,
        timestamp: int,
        key: Any,
        value: Any,
        headers: Headers,
    ) -> Placed:
        """Add a record to its partition's last batch, or to a new one."""
        filled = self.make_room(partition, timestamp, key, value, headers)
        queue = self.queues.setdefault(partition, deque())
        size_bytes = 0
        if not queue or queue[-1].closed:
            self.batches += 1
            queue.append(Batch(partition, now_ms, self.batches))
            self.incomplete[queue[-1]] = None
            size_bytes = BATCH_OVERHEAD
        batch = queue[-1]
        record_bytes = batch.room_for(timestamp, key, value, headers)
        size_bytes += record_bytes
        future = batch.append(timestamp, key, value, headers, record_bytes)
        self.used_bytes += size_bytes
        if batch.size_bytes == self.batch_size:
            batch.closed = True
            filled.append(batch)
        return Placed(future, size_bytes, batch, filled)

    def make_room(
        self,
        partition: TopicPartition,
        timestamp: int,
        key: Any,
        value: Any,
        headers: Headers,
    ) -> list[Batch]:
        """Close the partition's last batch if the record doesn't fit into it. Returns
        the closed batches: one or none.
        """
        if not self.is_filling(*partition):
            return []
        batch = self.queues[partition][-1]
        record_bytes = batch.room_for(timestamp, key, value, headers)
        if batch.size_bytes + record_bytes <= self.batch_size:
            return []
        batch.closed = True
        return [batch]

    def has_room(self, size_bytes: int) -> bool:
        return self.used_bytes + size_bytes <= self.buffer_memory or not self.incomplete

    def ready_at(self, queue: deque[Batch], at_once: bool) -> int:
        """When the first batch of a queue may be sent; a time in the past if it may be
        sent now.
        """
        first = queue[0]
        if first.attempts:
            return first.retry_at
        is_full = first.closed or len(queue) > 1
        if is_full or at_once:
            return first.created_ms
        return first.created_ms + self.linger_ms

    def take(self, partition: TopicPartition) -> Batch:
        batch = self.queues[partition].popleft()
        batch.closed = True
        return batch

    def put_back(self, batch: Batch) -> None:
        """Put a batch back at the front of its queue.

        Batches with sequence numbers keep their order. Without numbers the last one put
        back becomes the first: several that were in flight on one lost connection
        change their order, as in the Java client.
        """
        queue = self.queues.setdefault(batch.partition, deque())
        place = 0
        for other in queue:
            is_earlier = 0 <= other.base_sequence < batch.base_sequence
            if not is_earlier:
                break
            place += 1
        queue.insert(place, batch)

    def drop(self, batch: Batch) -> None:
        """Take a batch out of its queue, so that it is not sent any more."""
        queue = self.queues.get(batch.partition, deque())
        if batch in queue:
            queue.remove(batch)

    def finished(self, batch: Batch) -> None:
        del self.incomplete[batch]
        self.used_bytes -= batch.size_bytes

    def waiting_records(self) -> int:
        """Records that have not been sent yet."""
        return sum(
            len(batch.records) for queue in self.queues.values() for batch in queue
        )


def record_size(
    offset_delta: int,
    timestamp_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Headers,
) -> int:
    """Bytes of one record in a batch v2: length, attributes, two deltas, key, value,
    headers, each with its varint.
    """
    body = (
        1
        + varint_size(timestamp_delta)
        + varint_size(offset_delta)
        + bytes_size(key)
        + bytes_size(value)
    )
    body += varint_size(len(headers))
    for name, data in headers:
        body += bytes_size(name.encode("utf-8")) + bytes_size(data)
    return varint_size(body) + body
