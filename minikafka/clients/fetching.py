"""Fetching the records after each position of a consumer.

Each leader has one open fetch at a time; the next one is sent as soon as a poll has
taken all records of the last one.
"""

from functools import partial
from typing import Any

from minikafka.clients.connection import Client, Node
from minikafka.clients.consumer_config import ISOLATION_LEVELS
from minikafka.clients.items import Item, items
from minikafka.clients.structs import ConsumerRecord, TopicPartition, apply, sizes
from minikafka.clients.subscription_state import (
    Assigned,
    Fetched,
    SubscriptionState,
)
from minikafka.trace import Reason
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested


class Fetcher:
    """Asks the leaders for the records after each position."""

    def __init__(self, client: Client, subscription: SubscriptionState) -> None:
        self._client = client
        self._subscription = subscription

    def work(self) -> None:
        due = []
        for partition, held in self._subscription.assigned.items():
            if held.position is None or held.fetched is not None:
                continue
            if held.question is not None:
                continue
            if held.readable and self._client.is_due(held.fetch):
                due.append(partition)
        for node, partitions in self._client.leaders(due):
            if not any(waiting.api == "Fetch" for waiting in node.in_flight):
                self._send(node, partitions)

    def _send(self, node: Node, partitions: list[TopicPartition]) -> None:
        config = self._client.config
        parts = []
        asked: dict[TopicPartition, tuple[Assigned, int]] = {}
        for partition in partitions:
            held = self._subscription.assigned[partition]
            assert held.position is not None
            held.fetch.in_flight = True
            asked[partition] = (held, held.position)
            known = self._client.metadata.partition(*partition)
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
        self._client.request(node, "Fetch", body, partial(self._fetched, asked))

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
                is_held = self._subscription.assigned.get(partition) is held
                if is_held and held.position == offset:
                    self._arrived(partition, held, offset, part)

    def _arrived(
        self, partition: TopicPartition, held: Assigned, offset: int, part: Message
    ) -> None:
        error = Error(part.error_code)
        reset = self._client.config["auto_offset_reset"]
        if error is Error.NONE:
            held.high_watermark = part.high_watermark
            if part.records is not None and len(part.records):
                check_crcs = self._client.config["check_crcs"]
                aborted = part.aborted_transactions or ()
                records = items(part.records, offset, check_crcs, aborted)
                held.fetched = Fetched(records, self._client.trace.cause)
        elif error is Error.OFFSET_OUT_OF_RANGE and reset != "none":
            held.move(None)
            sentence = (
                f'offset {offset} is out of range, and auto_offset_reset is "{reset}"'
            )
            held.why = Reason("out_of_range", sentence)
        elif not held.fetch.refused(error):
            why = f"reading {partition} at offset {offset}: {error.message}"
            self._subscription.error = KafkaError(error, why)


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
