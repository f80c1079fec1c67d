"""One partition as a consumer holds it, and the records that were fetched for it and not handed over yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from minikafka.clients.serializers import apply
from minikafka.clients.structs import ConsumerRecord, TopicPartition
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.records import Record, batches, crc_matches, decode_batch

Item = tuple[
    Record | None, int, int, int
]  # record, next offset, leader epoch, timestamp type; None: nothing to see up to there


@dataclass
class Fetched:
    """The answer to one fetch of one partition.

    offset: the position it is for; batches are decoded one at a time, when reached.
    """

    offset: int
    items: Iterator[Item]
    cause: Any
    ahead: Item | None = None

    def peek(self) -> Item | None:
        if self.ahead is None:
            self.ahead = next(self.items, None)
        return self.ahead

    def drop(self) -> None:
        self.ahead = None


@dataclass
class Assigned:
    """position: the next offset to hand over, None until known. reset: "earliest" or "latest" if it was asked for.

    why: the reason for the next reset, where it is not the usual one. seeks: counts moves: an answer from before one is
    no longer wanted.
    """

    position: int | None = None
    reset: str | None = None
    resetting: bool = False
    paused: bool = False
    fetching: bool = False
    retry_at: int = 0
    high_watermark: int | None = None
    fetched: Fetched | None = None
    why: str = ""
    started_at_end: bool = False  # it was auto_offset_reset that passed over what was there before
    seeks: int = 0

    def move(self, offset: int | None, reset: str | None = None) -> None:
        self.position, self.reset, self.resetting, self.fetched, self.why = offset, reset, False, None, ""
        self.started_at_end = False
        self.seeks += 1


def items(data: Any, offset: int, check_crcs: bool) -> Iterator[Item]:
    """Records of an answer from `offset` on.

    It begins with the whole batch that holds the offset, and may end in half a one.
    """
    for header, batch in batches(data):
        if header.next_offset <= offset:
            continue
        if check_crcs and not crc_matches(batch, header):
            raise KafkaError(
                Error.CORRUPT_MESSAGE, f"the batch at offset {header.base_offset} does not match its checksum"
            )
        if not header.control:
            for record in decode_batch(batch):
                if record.offset >= offset:
                    kind = 1 if header.log_append_time else 0
                    yield record, record.offset + 1, header.partition_leader_epoch, kind
        # Control batches and compaction leave offsets without records: the position goes over them.
        yield None, header.next_offset, header.partition_leader_epoch, 0


def consumer_record(partition: TopicPartition, item: Item, deserializers: tuple[Any, Any]) -> ConsumerRecord:
    record, _, epoch, timestamp_type = item
    assert record is not None
    key, value, headers = record.key, record.value, record.headers
    read = [
        data if how is None else apply(how, partition.topic, headers, data)
        for how, data in zip(deserializers, (key, value), strict=True)
    ]
    return ConsumerRecord(
        topic=partition.topic,
        partition=partition.partition,
        leader_epoch=epoch,
        offset=record.offset,
        timestamp=record.timestamp,
        timestamp_type=timestamp_type,
        key=read[0],
        value=read[1],
        headers=headers,
        checksum=None,
        serialized_key_size=-1 if key is None else len(key),
        serialized_value_size=-1 if value is None else len(value),
        serialized_header_size=sum(len(name) + len(data or b"") for name, data in headers) if headers else -1,
    )
