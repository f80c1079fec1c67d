"""How Spark cuts a topic into micro-batches, and each micro-batch into tasks.

from minikafka.course.experiments.lesson_17_batches import how_cut

print(how_cut(lab, stream))
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from minikafka.course.spark import Lab


@dataclass(frozen=True)
class Cut:
    """One micro-batch. tasks: a Kafka partition -> how many of its records each task
    read.
    """

    tasks: dict[int, tuple[int, ...]]

    @property
    def records(self) -> int:
        """How many records it read, of all partitions."""
        return sum(map(sum, self.tasks.values()))


class Cuts(list[Cut]):
    """A query's micro-batches, in order; printed as a line each."""

    def __str__(self) -> str:
        lines = []
        for number, batch in enumerate(self):
            parts = []
            for partition, counts in sorted(batch.tasks.items()):
                parts.append(f"partition {partition}: {'+'.join(map(str, counts))}")
            tasks = sum(map(len, batch.tasks.values()))
            head = f"micro-batch {number}: {batch.records} records, {tasks} tasks"
            lines.append(f"  {head}   {', '.join(parts)}")
        return "\n".join(lines)


def how_cut(lab: Lab, stream: Any) -> Cuts:
    """Runs a stream from Kafka over what is there, and tells how Spark cut it."""
    from pyspark.sql import functions as F

    cuts = Cuts()

    def look(frame: Any, _: int) -> None:
        task = F.spark_partition_id().alias("task")
        counted = frame.groupBy("partition", task).count()
        tasks: defaultdict[int, list[int]] = defaultdict(list)
        for row in counted.orderBy("task").collect():
            tasks[row["partition"]].append(row["count"])
        cuts.append(Cut({each: tuple(counts) for each, counts in tasks.items()}))

    writer = stream.writeStream.foreachBatch(look)
    writer = writer.option("checkpointLocation", lab.checkpoint("cut"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return cuts
