"""One partition as a consumer holds it, the records that were fetched for it and not
handed over yet, and the fetcher.

One fetch is open at each leader at a time; the next one leaves as soon as a poll has
emptied what came before.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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

# record (None: nothing to see up to the next offset), next offset, leader epoch,
# timestamp type
Item = tuple[Record | None, int, int, int]


@dataclass
class Fetched:
    """The answer to one fetch of one partition; its batches are decoded one at a time,
    when reached.
    """

    items: Iterator[Item]
    cause: Any
    ahead: Item | None = None

    def peek(self) -> Item | None:
        if self.ahead is None:
            self.ahead = next(self.items, None)
        return self.ahead

    def take(self) -> Item:
        """What peek() has shown."""
        assert self.ahead is not None
        taken, self.ahead = self.ahead, None
        return taken


@dataclass
class Assigned:
    """A partition that a consumer reads.

    fetch: the state of the request for its records. position: the next offset to hand
    over, None until known. reset: "earliest" or "latest" if it was asked for. question:
    what asks for the position now; its answer is not wanted any more after a move. why:
    the reason for the next reset, where it is not the usual one. stopped: it is about
    to be given back to the group, and nothing of it is read any more.
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
    # it was auto_offset_reset that passed over what was there before
    started_at_end: bool = False
    leader_epoch: int = -1  # of the last record before the position, if known
    # of the leader whose log was found to hold that record (KIP-320)
    validated_epoch: int = -1

    @property
    def readable(self) -> bool:
        """Whether its records may be handed over."""
        return not self.paused and not self.stopped

    def holds_record(self) -> bool:
        """Whether a record is there. Goes over offsets without records; raises
        KafkaError for a damaged batch.
        """
        if self.fetched is None:
            return False
        while (item := self.fetched.peek()) is not None and item[0] is None:
            _, self.position, self.leader_epoch, _ = self.fetched.take()
        if item is None:
            self.fetched = None
        return item is not None

    def in_doubt(self, epoch: int) -> bool:
        """Whether a leader of this epoch may lack what was read: the leader of the
        record's own epoch has it.
        """
        known = max(self.leader_epoch, self.validated_epoch)
        return self.position is not None and self.leader_epoch >= 0 and known < epoch

    def move(
        self, offset: int | None, reset: str | None = None, leader_epoch: int = -1
    ) -> None:
        self.position, self.reset, self.question, self.fetched, self.why = (
            offset,
            reset,
            None,
            None,
            None,
        )
        self.leader_epoch, self.validated_epoch = leader_epoch, -1
        self.started_at_end = False


class Fetcher:
    """Asks the leaders for the records after each position."""

    def __init__(self, consumer: "Consumer") -> None:
        self._consumer = consumer

    def work(self) -> None:
        due = [
            partition
            for partition, held in self._consumer.assigned.items()
            if held.position is not None
            and held.fetched is None
            and held.readable
            and held.question is None
            and self._consumer.is_due(held.fetch)
        ]
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
            part = {
                "partition": partition.partition,
                "current_leader_epoch": (
                    self._consumer.metadata.partition(*partition).leader_epoch
                ),
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
        self._consumer.request(
            node, "Fetch", body, lambda response: self._fetched(asked, response)
        )

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
                # A seek, a pause or another assignment may have come in between.
                if (
                    self._consumer.assigned.get(partition) is held
                    and held.position == offset
                ):
                    self._arrived(partition, held, offset, part)

    def _arrived(
        self, partition: TopicPartition, held: Assigned, offset: int, part: Message
    ) -> None:
        error, config = Error(part.error_code), self._consumer.config
        if error is Error.NONE:
            held.high_watermark = part.high_watermark
            if part.records is not None and len(part.records):
                records = items(
                    part.records,
                    offset,
                    config["check_crcs"],
                    part.aborted_transactions or (),
                )
                held.fetched = Fetched(records, self._consumer.trace.cause)
        elif (
            error is Error.OFFSET_OUT_OF_RANGE and config["auto_offset_reset"] != "none"
        ):
            held.move(None)
            sentence = (
                f"offset {offset} is out of range, and auto_offset_reset is"
                f' "{config["auto_offset_reset"]}"'
            )
            held.why = Reason("out_of_range", sentence)
        elif not held.fetch.refused(error):
            self._consumer.error = KafkaError(
                error, f"reading {partition} at offset {offset}: {error.message}"
            )


def items(
    data: Any, offset: int, check_crcs: bool, aborted: Iterable[Message] = ()
) -> Iterator[Item]:
    """Records of an answer from `offset` on, without those of aborted transactions, if
    it lists any (KIP-98).

    It begins with the whole batch that holds the offset, and may end in half a one.
    """
    beginnings = deque(
        sorted((each.first_offset, each.producer_id) for each in aborted)
    )
    # producers whose transactional records are passed over until their next marker
    gone: set[int] = set()
    for header, batch in batches(data):
        while beginnings and beginnings[0][0] <= header.last_offset:
            gone.add(beginnings.popleft()[1])
        is_aborted = header.transactional and header.producer_id in gone
        if header.control:
            gone.discard(header.producer_id)
        if header.next_offset <= offset:
            continue
        if check_crcs:
            check_crc(batch, header)
        if not header.control and not is_aborted:
            for record in decode_batch(batch):
                if record.offset >= offset:
                    kind = 1 if header.log_append_time else 0
                    yield record, record.offset + 1, header.partition_leader_epoch, kind
        # Control batches and compaction leave offsets without records: the position
        # goes over them.
        yield None, header.next_offset, header.partition_leader_epoch, 0


def consumer_record(
    partition: TopicPartition, item: Item, deserializers: tuple[Any, Any]
) -> ConsumerRecord:
    record, _, epoch, timestamp_type = item
    assert record is not None
    topic, headers = partition.topic, record.headers
    return ConsumerRecord(
        *partition,
        epoch,
        record.offset,
        record.timestamp,
        timestamp_type,
        apply(deserializers[0], topic, headers, record.key),
        apply(deserializers[1], topic, headers, record.value),
        headers,
        None,
        *sizes(record.key, record.value, headers),
    )
