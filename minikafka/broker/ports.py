"""What the parts of a node may touch of it, and what the node touches of them."""

from typing import Protocol

from minikafka.cluster.metadata import PartitionChange, TopicChange


class FollowsTopics(Protocol):
    """A part of the node that acts upon what becomes of topics and partitions."""

    def partition_changed(self, change: PartitionChange) -> None:
        """A partition was created, or is another one now."""

    def topic_changed(self, change: TopicChange) -> None:
        """A topic was created, or has gone."""


class HasDeadline(Protocol):
    """A part of the node that has something to do at a time."""

    def next_deadline(self) -> int | None:
        """Monotonic ms; None: nothing to do."""
