"""A client's image of the cluster: brokers, the topics it cares for, partitions and their leaders.

It is read again when a topic is missing, when an answer showed that it is stale, and every metadata_max_age_ms (5
minutes). Between these a client does not notice that partitions were added.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from minikafka.wire.errors import Error
from minikafka.wire.schema import Message

Address = tuple[str, int]


class Partition(NamedTuple):
    """leader is None while there is none; leader_epoch is -1 when unknown."""

    leader: int | None
    leader_epoch: int


class Metadata:
    def __init__(self, max_age_ms: int, retry_backoff_ms: int, allow_auto_create_topics: bool) -> None:
        self.brokers: dict[int, Address] = {}
        self.controller_id = -1
        self.wanted: dict[str, None] = {}  # a dict keeps the order, a set would not
        self.errors: dict[str, Error] = {}  # by topic, as the last answer had it
        self.topic_names: dict[bytes, str] = {}  # by topic id
        self._topics: dict[str, dict[int, Partition]] = {}
        self._max_age_ms = max_age_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._allow_auto_create_topics = allow_auto_create_topics
        self._due_at: int | None = None  # None: asked now, or nothing wanted
        self._asked_at = -retry_backoff_ms
        self._in_flight = False
        self._refresh_again = False

    def want(self, topic: str) -> bool:
        """Care for a topic from now on; true if its partitions are known."""
        if topic not in self.wanted:
            self.wanted[topic] = None
        if topic not in self._topics:
            self.refresh()
        return topic in self._topics

    def refresh(self) -> None:
        """Ask again as soon as the back-off allows."""
        if self._in_flight:
            self._refresh_again = True
        else:
            soon = self._asked_at + self._retry_backoff_ms
            self._due_at = soon if self._due_at is None else min(self._due_at, soon)

    def due_at(self) -> int | None:
        return self._due_at if self.wanted or not self.brokers else None

    def partitions(self, topic: str) -> dict[int, Partition] | None:
        """{number: Partition} in order of the numbers, or None if the topic is not known."""
        return self._topics.get(topic)

    def leader(self, topic: str, partition: int) -> int | None:
        known = self._topics.get(topic, {}).get(partition)
        return None if known is None else known.leader

    def leader_epoch(self, topic: str, partition: int) -> int:
        known = self._topics.get(topic, {}).get(partition)
        return -1 if known is None else known.leader_epoch

    def request(self) -> dict[str, Any]:
        return {
            "topics": [{"name": topic} for topic in self.wanted],
            "allow_auto_topic_creation": self._allow_auto_create_topics,
        }

    def asked(self, now_ms: int) -> None:
        self._asked_at, self._in_flight, self._refresh_again, self._due_at = now_ms, True, False, None

    def failed(self, now_ms: int) -> None:
        self._in_flight = False
        self._due_at = now_ms + self._retry_backoff_ms

    def update(self, response: Message, now_ms: int) -> None:
        self._in_flight = False
        self._due_at = now_ms + self._max_age_ms
        self.brokers = {broker.node_id: (broker.host, broker.port) for broker in response.brokers}
        self.controller_id = response.controller_id
        for topic in response.topics:
            error = Error(topic.error_code)
            self.errors[topic.name] = error
            if error is Error.NONE:
                found = {each.partition_index: _partition(each) for each in topic.partitions}
                self._topics[topic.name] = dict(sorted(found.items()))
                self.topic_names[topic.topic_id] = topic.name
            else:
                self._topics.pop(topic.name, None)
        missing = [
            topic for topic in self.wanted if self.errors.get(topic, Error.NONE).retriable or not self._complete(topic)
        ]
        if self._refresh_again or missing:
            self.refresh()

    def _complete(self, topic: str) -> bool:
        if self.errors.get(topic, Error.NONE) is not Error.NONE:
            return True  # not retriable: asking again would not help
        partitions = self._topics.get(topic, {})
        return bool(partitions) and all(each.leader is not None for each in partitions.values())


def _partition(described: Message) -> Partition:
    has_leader = described.leader_id >= 0
    return Partition(described.leader_id if has_leader else None, described.leader_epoch)
