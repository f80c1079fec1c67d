"""The values that a learner may give as `partitioner=`: a name, a function, or a
partitioner of kafka-python.
"""

from typing import Any

from minikafka.clients.partitioners import (
    Choice,
    Partitioner,
    Partitions,
    RoundRobinPartitioner,
    Unplaced,
)
from minikafka.trace import Reason


def partitioner(given: Any) -> Partitioner | None:
    """given: None, "default", "round_robin", a function of (key, all_partitions,
    available), or an object.

    None means the Java client's own rule.
    """
    if given is None or given == "default":
        return None
    if given == "round_robin":
        return RoundRobinPartitioner()
    if isinstance(given, Partitioner):
        return given
    if callable(given) or (hasattr(given, "partition") and not isinstance(given, str)):
        return CustomPartitioner(given)
    raise ValueError(
        f'partitioner={given!r}: give "default", "round_robin", or a function of (key,'
        " all, available)"
    )


class CustomPartitioner(Partitioner):
    """A learner's own rule. Its result is checked."""

    def __init__(self, rule: Any) -> None:
        self._rule = rule
        self.name = getattr(rule, "__name__", type(rule).__name__)

    def choose(self, record: Unplaced, partitions: Partitions) -> Choice:
        if hasattr(self._rule, "partition"):
            (key, value), cluster = record.original, ClusterMetadata(partitions)
            partition = self._rule.partition(
                partitions.topic, key, record.key, value, record.value, cluster
            )
        else:
            partition = self._rule(
                record.key, list(partitions.all), list(partitions.available)
            )
        if (
            isinstance(partition, bool)
            or not isinstance(partition, int)
            or partition not in partitions.all
        ):
            first, *more = partitions.all
            span = f"{first} to {more[-1]}" if more else str(first)
            raise ValueError(
                f"the partitioner {self.name} returned {partition!r};"
                f" {partitions.topic} has partitions {span}"
            )
        return Choice(
            partition, Reason("own_rule", f"chosen by {self.name}"), rule=self.name
        )


class ClusterMetadata:
    """The part of the cluster that kafka-python's partitioners use."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions

    def partitions_for_topic(self, topic: str) -> set[int]:
        return set(self._partitions.all)

    def available_partitions_for_topic(self, topic: str) -> set[int]:
        return set(self._partitions.available)

    def topics(self) -> set[str]:
        return {self._partitions.topic}
