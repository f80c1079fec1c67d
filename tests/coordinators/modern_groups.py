"""What the tests of consumer groups (KIP-848) and of streams groups (KIP-1071) share: a
coordinator of one group without a broker. What it decides goes through bytes, then into
the state.
"""

from types import SimpleNamespace
from typing import Any

from minikafka.cluster.metadata import Image, MetadataRecord
from minikafka.wire.internal_records import (
    decode_coordinator_record,
    encode_coordinator_record,
)
from minikafka.wire.schema import Message
from tests.coordinators.purity import unchanged


class Topics:
    """An image with topics only."""

    def __init__(self, **topics: int) -> None:
        self.image = Image()
        self._created = 0
        for name, partitions in topics.items():
            self.create(name, partitions)

    def create(self, name: str, partitions: int) -> None:
        self._created += 1
        topic_id = self._created.to_bytes(16, "big")
        self.image.apply(
            MetadataRecord("TopicRecord", 0, {"name": name, "topic_id": topic_id})
        )
        self.grow(name, partitions)

    def grow(self, name: str, partitions: int) -> None:
        topic = self.image.topics[name]
        for number in range(len(topic.partitions), partitions):
            fields = {
                "partition_id": number,
                "topic_id": topic.topic_id,
                "replicas": [1],
                "isr": [1],
                "leader": 1,
            }
            self.image.apply(
                MetadataRecord(
                    "PartitionRecord",
                    0,
                    {**fields, "leader_epoch": 0, "partition_epoch": 0},
                ),
            )

    def delete(self, name: str) -> None:
        topic_id = self.image.topics[name].topic_id
        self.image.apply(MetadataRecord("RemoveTopicRecord", 0, {"topic_id": topic_id}))


class Coordinator:
    """One group. log: all its records so far, encoded. Time moves by hand."""

    def __init__(self, topics: Topics, config: dict[str, object]) -> None:
        self.topics = topics
        self.config = config
        self.now = SimpleNamespace(monotonic_ms=1_000_000, wall_ms=1_700_000_000_000)
        self.events: list = []
        self.log: list[tuple[bytes, bytes | None]] = []
        self.group = self.new_group()

    def new_group(self) -> Any:
        raise NotImplementedError

    def not_yet_loaded(self) -> Any:
        """A group into which records are replayed."""
        return self.new_group()

    def commit(self, draft: Any) -> None:
        for record in draft.records:
            key, value = encode_coordinator_record(*record)
            self.log.append((key, value))
            self.group.apply(*decode_coordinator_record(key, value))
        self.group.committed(draft, self.now)

    def sleep(self, seconds: float) -> None:
        """Time passes; the group ticks when it asked for it."""
        until_ms = self.now.monotonic_ms + round(seconds * 1000)
        while (due_ms := self.group.next_deadline()) is not None and due_ms <= until_ms:
            self._move_to(max(due_ms, self.now.monotonic_ms))
            with unchanged(self.group):
                draft = self.group.tick(self.now)
            self.commit(draft)
            later_ms = self.group.next_deadline()
            assert later_ms is None or later_ms > self.now.monotonic_ms, (
                "after a tick the next deadline is later"
            )
        self._move_to(until_ms)

    def _move_to(self, monotonic_ms: int) -> None:
        self.now.wall_ms += monotonic_ms - self.now.monotonic_ms
        self.now.monotonic_ms = monotonic_ms

    def restart(self) -> None:
        """Another coordinator takes over: all it knows is the log."""
        self.group = self.replayed(self.log)
        self.group.loaded(self.now)

    def replayed(self, log: list[tuple[bytes, bytes | None]]) -> Any:
        group = self.not_yet_loaded()
        for key, value in log:
            group.apply(*decode_coordinator_record(key, value))
        return group


def beat_until_quiet(*members: Any, rounds: int = 6) -> None:
    """Everybody sends heartbeats until nothing moves any more."""
    for _ in range(rounds):
        for member in members:
            member.beat()


def through_bytes(schema: Any, version: int, body: dict) -> Message:
    return schema.decode(version, memoryview(schema.to_bytes(version, body)), 0)[0]


def hard_state(group: Any) -> dict:
    """The part of a group's state that is in records."""
    return dict(vars(group.state))
