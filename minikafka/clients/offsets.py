"""Asking for offsets (ListOffsets): the first, the next, or the first at a time, of any number of partitions.

Each partition's leader is asked; refusals that may pass (a leader that moved) are asked again after retry_backoff_ms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from minikafka.clients.consumer_config import ISOLATION_LEVELS
from minikafka.clients.request_state import Question
from minikafka.clients.structs import OffsetAndTimestamp, TopicPartition
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested

if TYPE_CHECKING:
    from minikafka.clients.connection import Client

LATEST, EARLIEST = -1, -2

Found = Callable[[TopicPartition, OffsetAndTimestamp], None]


class OffsetLookup(Question):
    """Done when every partition is answered; its value is {TopicPartition: OffsetAndTimestamp}.

    timestamps: LATEST, EARLIEST or ms since the epoch. found is told of each answer as it comes.
    """

    def __init__(self, client: Client, timestamps: dict[TopicPartition, int], found: Found | None = None) -> None:
        super().__init__(client, client.metadata)
        self._timestamps = timestamps
        self._wanted = dict.fromkeys(timestamps)  # partitions that are not asked yet
        self._answers: dict[TopicPartition, OffsetAndTimestamp] = {}
        self._found = found
        for topic, _ in timestamps:
            client.metadata.want(topic)

    def attempt(self) -> None:
        if not self._timestamps:
            self.succeed({})
        for node, partitions in self.client.leaders(list(self._wanted)):
            parts = []
            for partition in partitions:
                del self._wanted[partition]
                part = {
                    "partition_index": partition.partition,
                    "current_leader_epoch": self.client.metadata.partition(*partition).leader_epoch,
                    "timestamp": self._timestamps[partition],
                }
                parts.append((partition.topic, part))
            level = ISOLATION_LEVELS.index(self.client.config.get("isolation_level", "read_uncommitted"))
            body = {"replica_id": -1, "isolation_level": level, "topics": nested(parts)}
            self.client.request(node, "ListOffsets", body, partial(self._answered, partitions))

    def _answered(self, partitions: list[TopicPartition], response: Message | None) -> None:
        if response is None:
            self.state.back_off()
            self._wanted.update(dict.fromkeys(partitions))
            return
        for topic in response.topics:
            for part in topic.partitions:
                self._answer(TopicPartition(topic.name, part.partition_index), part)

    def _answer(self, partition: TopicPartition, part: Message) -> None:
        error = Error(part.error_code)
        if error is Error.NONE:
            answer = self._answers[partition] = OffsetAndTimestamp(part.offset, part.timestamp, part.leader_epoch)
            if self._found is not None:
                self._found(partition, answer)
            if len(self._answers) == len(self._timestamps) and not self.is_done:
                self.succeed(self._answers)
        elif self.state.refused(error):
            self._wanted[partition] = None
        elif not self.is_done:
            self.fail(KafkaError(error))
