"""The job's reports while it runs: lag, rate and state, and in the end the fate of each
record.

The lag is counted as group tools count it, from Kafka's end offsets. Spark commits
nothing to Kafka, so no group tool shows this one.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka.errors import KafkaError

from minikafka.course.connect import Connection
from minikafka.theatre.text import counted


@dataclass
class Account:
    """The fate of the records of the micro-batches so far.

    again: orders that were there already. late: so late that their ids are forgotten,
    so nobody can say whether they are new. aside: records that aren't orders. position:
    partition -> the first offset that no micro-batch has read. rate: records a second
    of the latest micro-batch. remembered: ids in the query's state.
    """

    records: int = 0
    again: int = 0
    late: int = 0
    aside: int = 0
    position: dict[int, int] = field(default_factory=dict)
    rate: float = 0.0
    remembered: int = 0
    _added: int = -1

    @property
    def orders(self) -> int:
        return self.records - self.again - self.late - self.aside

    def add(self, reports: list[Any]) -> None:
        """The query's latest reports (StreamingQueryProgress); those that are known
        already count once.
        """
        for report in reports:
            if "addBatch" not in report["durationMs"]:
                self.rate = 0.0  # it waits, and there was no micro-batch
            elif report["batchId"] > self._added:
                self._add(report)

    def _add(self, report: Any) -> None:
        self._added = report["batchId"]
        self.records += report["numInputRows"]
        self.rate = report["processedRowsPerSecond"]
        [source], [state] = report["sources"], report["stateOperators"]
        self.remembered = state["numRowsTotal"]
        self.late += state["numRowsDroppedByWatermark"]
        self.again += state["customMetrics"]["numDroppedDuplicateRows"]
        [offsets] = ast.literal_eval(source["endOffset"]).values()
        self.position = {int(number): offset for number, offset in offsets.items()}

    def now(self, lag: int | None) -> str:
        """lag: None where Kafka doesn't say its end offsets."""
        behind = "unknown: Kafka does not answer" if lag is None else f"{lag:,}"
        does = "waiting for records" if lag == 0 else "working"
        return (
            f"{does}: lag {behind}; {self.rate:,.0f} records a second;"
            f" {self.remembered:,} ids in its state"
        )

    def total(self) -> str:
        """Each record is in one of these."""
        return (
            f"{counted(self.records, 'record')} read: {self.orders:,} orders in"
            f" Parquet, {self.again:,} came again, {self.aside:,} set aside,"
            f" {self.late:,} too late"
        )


class Lag:
    """How many records of a topic no micro-batch has read."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        self._consumer = Connection(bootstrap).consumer()

    def behind(self, position: Mapping[int, int]) -> int | None:
        """position: partition -> offset; a partition that isn't in it is read from its
        beginning. None: Kafka doesn't answer.
        """
        from kafka import TopicPartition

        try:
            numbers = self._consumer.partitions_for_topic(self._topic) or set()
            partitions = [TopicPartition(self._topic, number) for number in numbers]
            ends = self._consumer.end_offsets(partitions)
            begins = self._consumer.beginning_offsets(partitions)
        except KafkaError:
            return None
        return sum(
            end - position.get(partition.partition, begins[partition])
            for partition, end in ends.items()
        )
