"""A partition that a consumer has, the records that were fetched for it and not
returned yet, and the fetcher.

Each leader has one open fetch at a time; the next one is sent as soon as a poll has
taken all records of the last one.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from minikafka.clients.connection import Node
from minikafka.clients.consumer_config import ISOLATION_LEVELS
from minikafka.clients.request_state import Question, RequestState
from minikafka.clients.structs import ConsumerRecord, TopicPartition, apply, sizes
from minikafka.trace import Reason
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import Record, batches, check_crc, decode_batch
from minikafka.wire.schema import Message, nested

if TYPE_CHECKING:
    from minikafka.clients.consumer import Consumer


class Item(NamedTuple):
    """The next item in an answer. record: None if there is nothing to see up to the
    next offset.
    """

    record: Record | None
    next_offset: int
    leader_epoch: int
    timestamp_type: int


@dataclass
class Fetched:
    """The answer to one fetch for one partition; its batches are decoded one at a time,
    when they are reached.
    """

    items: Iterator[Item]
    cause: Any
    ahead: Item | None = None

    def peek(self) -> Item | None:
        if self.ahead is None:
            self.ahead = next(self.items, None)
        return self.ahead

    def take(self) -> Item:
        """Take the item that peek() has shown."""
        assert self.ahead is not None
        taken = self.ahead
        self.ahead = None
        return taken


@dataclass
class Assigned:
    """A partition that a consumer reads.

    fetch: the state of the request for its records. position: the next offset to
    return, None until known. reset: "earliest" or "latest" if the program asked for it.
    question: the open request for the position; its answer is ignored after a seek.
    why: the reason for the next reset, if it isn't the usual one. stopped: the
    partition is about to be given back to the group, and isn't read any more.
    """

    fetch: RequestState
    position: int | None = None
    reset: str | None = None
    question: Question | None = None
    paused: bool = False
    stopped: bool = False
    high_watermark: int | None = None
    fetched: Fetched | None = None
    why: Reason | None = None
    # auto_offset_reset skipped the records that were there before
    started_at_end: bool = False
    leader_epoch: int = -1  # of the last record before the position, if known
    # epoch of the leader whose log was found to have that record (KIP-320)
    validated_epoch: int = -1

    @property
    def readable(self) -> bool:
        """Whether its records may be returned."""
        return not self.paused and not self.stopped

    def holds_record(self) -> bool:
        """Whether a record is there. Skips offsets without records; raises KafkaError
        for a damaged batch.
        """
        if self.fetched is None:
            return False
        item = self.fetched.peek()
        while item is not None and item.record is None:
            passed = self.fetched.take()
            self.position = passed.next_offset
            self.leader_epoch = passed.leader_epoch
            item = self.fetched.peek()
        if item is None:
            self.fetched = None
        return item is not None

    def in_doubt(self, epoch: int) -> bool:
        """Whether a leader of this epoch may lack records that were read: the leader of
        the last record's own epoch has them.
        """
        known = max(self.leader_epoch, self.validated_epoch)
        return self.position is not None and self.leader_epoch >= 0 and known < epoch

    def move(
        self, offset: int | None, reset: str | None = None, leader_epoch: int = -1
    ) -> None:
        self.position = offset
        self.reset = reset
        self.question = None
        self.fetched = None
        self.why = None
        self.leader_epoch = leader_epoch
        self.validated_epoch = -1
        self.started_at_end = False


class Fetcher:
    """Asks the leaders for the records after each position."""

    def __init__(self, consumer: "Consumer") -> None:
        self._consumer = consumer

    def work(self) -> None:
        due = []
        for partition, held in self._consumer.assigned.items():
            if held.position is None or held.fetched is not None:
                continue
            if held.question is not None:
                continue
            if held.readable and self._consumer.is_due(held.fetch):
                due.append(partition)
        for node, partitions in self._consumer.leaders(due):
            if not any(waiting.api == "Fetch" for waiting in node.in_flight):
                self._send(node, partitions)

    def _send(self, node: Node, partitions: list[TopicPartition]) -> None:
        config = self._consumer.config
        parts = []
        asked: dict[TopicPartition, tuple[Assigned, int]] = {}
        for partition in partitions:
            held = self._consumer.assigned[partition]
            assert held.position is not None
            held.fetch.in_flight = True
            asked[partition] = (held, held.position)
            known = self._consumer.metadata.partition(*partition)
            part = {
                "partition": partition.partition,
                "current_leader_epoch": known.leader_epoch,
                "fetch_offset": held.position,
                "partition_max_bytes": config["max_partition_fetch_bytes"],
            }
            parts.append((partition.topic, part))
        body = {
            "replica_id": -1,
            "max_wait_ms": config["fetch_max_wait_ms"],
            "min_bytes": config["fetch_min_bytes"],
            "max_bytes": config["fetch_max_bytes"],
            "isolation_level": ISOLATION_LEVELS.index(config["isolation_level"]),
            # no fetch session (KIP-227): every request names all its partitions
            "session_epoch": -1,
            "topics": nested(parts, "topic"),
        }
        self._consumer.request(node, "Fetch", body, partial(self._fetched, asked))

    def _fetched(
        self,
        asked: dict[TopicPartition, tuple[Assigned, int]],
        response: Message | None,
    ) -> None:
        for held, _ in asked.values():
            held.fetch.in_flight = False
            if response is None or response.error_code:
                held.fetch.back_off()
        if response is None:
            return
        for topic in response.responses:
            for part in topic.partitions:
                partition = TopicPartition(topic.topic, part.partition_index)
                held, offset = asked[partition]
                # There may have been a seek, a pause or another assignment in between.
                is_held = self._consumer.assigned.get(partition) is held
                if is_held and held.position == offset:
                    self._arrived(partition, held, offset, part)

    def _arrived(
        self, partition: TopicPartition, held: Assigned, offset: int, part: Message
    ) -> None:
        error = Error(part.error_code)
        reset = self._consumer.config["auto_offset_reset"]
        if error is Error.NONE:
            held.high_watermark = part.high_watermark
            if part.records is not None and len(part.records):
                check_crcs = self._consumer.config["check_crcs"]
                aborted = part.aborted_transactions or ()
                records = items(part.records, offset, check_crcs, aborted)
                held.fetched = Fetched(records, self._consumer.trace.cause)
        elif error is Error.OFFSET_OUT_OF_RANGE and reset != "none":
            held.move(None)
            sentence = (
                f'offset {offset} is out of range, and auto_offset_reset is "{reset}"'
            )
            held.why = Reason("out_of_range", sentence)
        elif not held.fetch.refused(error):
            why = f"reading {partition} at offset {offset}: {error.message}"
            self._consumer.error = KafkaError(error, why)


def items(
    data: Any, offset: int, check_crcs: bool, aborted: Iterable[Message] = ()
) -> Iterator[Item]:
    """The records of an answer from `offset` on, without those of aborted transactions,
    if it lists any (KIP-98).

    An answer begins with the whole batch that holds the offset, and may end within a
    batch.
    """
    first_offsets = [(each.first_offset, each.producer_id) for each in aborted]
    beginnings = deque(sorted(first_offsets))
    # producers whose transactional records are skipped until their next marker
    gone: set[int] = set()
    for header, batch in batches(data):
        while beginnings and beginnings[0][0] <= header.last_offset:
            _, producer_id = beginnings.popleft()
            gone.add(producer_id)
        is_aborted = header.transactional and header.producer_id in gone
        if header.control:
            gone.discard(header.producer_id)
        if header.next_offset <= offset:
            continue
        if check_crcs:
            check_crc(batch, header)
        epoch = header.partition_leader_epoch
        if not header.control and not is_aborted:
            kind = 1 if header.log_append_time else 0
            for record in decode_batch(batch):
                if record.offset >= offset:
                    yield Item(record, record.offset + 1, epoch, kind)
        # Control batches and compaction leave offsets without records: the position
        # skips them.
        yield Item(None, header.next_offset, epoch, 0)


def consumer_record(
    partition: TopicPartition, item: Item, deserializers: tuple[Any, Any]
) -> ConsumerRecord:
    record = item.record
    assert record is not None
    headers = record.headers
    of_key, of_value = deserializers
    bytes_of_each = sizes(record.key, record.value, headers)
    return ConsumerRecord(
        *partition,
        item.leader_epoch,
        record.offset,
        record.timestamp,
        item.timestamp_type,
        apply(of_key, partition.topic, headers, record.key),
        apply(of_value, partition.topic, headers, record.value),
        headers,
        None,
        *bytes_of_each,
    )
