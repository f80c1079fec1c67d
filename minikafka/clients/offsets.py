"""Asking for offsets (ListOffsets): the first, the next, or the first at a time, of any number of partitions.

Each partition's leader is asked; refusals that may pass (a leader that moved) are asked again after retry_backoff_ms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from minikafka.clients.connection import Client
from minikafka.clients.future import Future
from minikafka.clients.structs import OffsetAndTimestamp, TopicPartition
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

LATEST, EARLIEST = -1, -2

Found = Callable[[TopicPartition, OffsetAndTimestamp], None]


class Lookup(Future):
    """Done when every partition is answered; its value is {TopicPartition: OffsetAndTimestamp}.

    found is told of each answer as it comes. wanted: partitions not asked yet; asked: on their way.
    """

    def __init__(self, timestamps: dict[TopicPartition, int], found: Found | None = None) -> None:
        super().__init__()
        self.timestamps = timestamps
        self.wanted = dict.fromkeys(timestamps)
        self.answers: dict[TopicPartition, OffsetAndTimestamp] = {}
        self.retry_at = 0
        self._found = found

    def answer(self, partition: TopicPartition, answer: OffsetAndTimestamp) -> None:
        self.answers[partition] = answer
        if self._found is not None:
            self._found(partition, answer)
        if len(self.answers) == len(self.timestamps) and not self.is_done:
            self.succeed(self.answers)

    def ask_again(self, partitions: Iterable[TopicPartition], at_ms: int) -> None:
        self.wanted.update(dict.fromkeys(partitions))
        self.retry_at = at_ms


class Lookups:
    """The open questions of one consumer."""

    def __init__(self, client: Client, isolation_level: int = 0) -> None:
        self._client = client
        self._isolation_level = isolation_level
        self._open: list[Lookup] = []

    def begin(self, timestamps: dict[TopicPartition, int], found: Found | None = None) -> Lookup:
        lookup = Lookup(timestamps, found)
        for topic, _ in timestamps:
            self._client.metadata.want(topic)
        self._open.append(lookup)
        if not timestamps:
            lookup.succeed({})
        return lookup

    def give_up(self, lookup: Lookup) -> None:
        if lookup in self._open:
            self._open.remove(lookup)

    def is_open(self) -> bool:
        return bool(self._open)

    def work(self, now_ms: int) -> None:
        self._open = [lookup for lookup in self._open if not lookup.is_done]
        for lookup in self._open:
            if lookup.wanted and lookup.retry_at <= now_ms:
                self._ask(lookup, now_ms)

    def next_work(self) -> list[int | None]:
        return [lookup.retry_at for lookup in self._open if lookup.wanted and self._reachable(lookup)]

    def _reachable(self, lookup: Lookup) -> bool:
        """Whether waiting alone helps: not while a connection or metadata is on its way."""
        leaders = [self._client.metadata.leader(*partition) for partition in lookup.wanted]
        nodes = [self._client.nodes.get(leader) for leader in leaders if leader is not None]
        return any(node is not None and (node.ready or node.connection is None) for node in nodes)

    def _ask(self, lookup: Lookup, now_ms: int) -> None:
        by_leader: dict[int, list[TopicPartition]] = {}
        for partition in lookup.wanted:
            leader = self._client.metadata.leader(*partition)
            if leader is None:
                self._client.metadata.refresh()
            else:
                by_leader.setdefault(leader, []).append(partition)
        for leader, partitions in sorted(by_leader.items()):
            node = self._client.ready(leader)
            if node is not None:
                for partition in partitions:
                    del lookup.wanted[partition]
                body = self._request({partition: lookup.timestamps[partition] for partition in partitions})
                self._client.request(node, "ListOffsets", body, self._answer(lookup, partitions))
            elif leader in self._client.nodes:
                lookup.retry_at = max(lookup.retry_at, self._client.nodes[leader].retry_at)

    def _request(self, timestamps: dict[TopicPartition, int]) -> dict[str, Any]:
        topics: dict[str, list[dict[str, Any]]] = {}
        for (topic, partition), timestamp in timestamps.items():
            epoch = self._client.metadata.leader_epoch(topic, partition)
            asked = {"partition_index": partition, "current_leader_epoch": epoch, "timestamp": timestamp}
            topics.setdefault(topic, []).append(asked)
        return {
            "replica_id": -1,
            "isolation_level": self._isolation_level,
            "topics": [{"name": topic, "partitions": partitions} for topic, partitions in topics.items()],
        }

    def _answer(self, lookup: Lookup, partitions: list[TopicPartition]) -> Callable[[Message | None], None]:
        def answer(response: Message | None) -> None:
            again_at = self._client.trace.now + self._client.retry_backoff_ms
            if response is None:
                lookup.ask_again(partitions, again_at)
                return
            for topic in response.topics:
                for part in topic.partitions:
                    partition, error = TopicPartition(topic.name, part.partition_index), Error(part.error_code)
                    if error is Error.NONE:
                        lookup.answer(partition, OffsetAndTimestamp(part.offset, part.timestamp, part.leader_epoch))
                    elif error.retriable:
                        lookup.ask_again([partition], again_at)
                        self._client.metadata.refresh()
                    elif not lookup.is_done:
                        lookup.fail(KafkaError(error))

        return answer
