"""The common parts of lesson 20's experiments: clicks at a time of day, their rows in
Spark, and a query that ends.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from minikafka.course.data import dataset
from minikafka.course.lessons import solutions
from minikafka.course.spark import patiently

if TYPE_CHECKING:
    from minikafka.course.connect import Connection

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

_DAY_MS = 24 * 3_600_000


def click(user: str, clock: str) -> Any:
    """An event of the data set `user_events`, of 1 January 2001 at this time:
    "10:04".
    """
    events = dataset("user_events")
    hours, minutes = map(int, clock.split(":"))
    at = events.DAY_STARTS // _DAY_MS * _DAY_MS + (hours * 60 + minutes) * events.MINUTE
    value = events.as_json({"user_id": user, "action": "view", "event_time_ms": at})
    return events.Event("user_events", user.encode(), value, [], at)


def as_clock(ms: int) -> str:
    """The time of day, UTC: 10:04."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%H:%M")


def clicks(
    spark: Any,
    kafka: "Connection",
    topic: str,
    watermark: str,
    per_batch: int | None = None,
) -> Any:
    """The topic as a stream of user_id, event_time_ms and `at`, with a watermark on
    `at`; so many records at a time.
    """
    from pyspark.sql import functions as F

    source = spark.readStream.format("kafka").option(
        "kafka.bootstrap.servers", kafka.bootstrap
    )
    source = source.option("subscribe", topic).option("startingOffsets", "earliest")
    if per_batch:
        source = source.option("maxOffsetsPerTrigger", per_batch)
    event = F.from_json(
        F.col("value").cast("string"), "user_id string, event_time_ms long"
    ).alias("event")
    rows = source.load().select(event).select("event.*")
    return rows.withColumn("at", F.timestamp_millis("event_time_ms")).withWatermark(
        "at", watermark
    )


def run(frame: Any, checkpoint: str, mode: str = "append") -> list[list[Any]]:
    """Reads what is there, ends, and returns the rows of each micro-batch that gave
    any.
    """
    batches: dict[int, list[Any]] = {}
    sink = frame.writeStream.foreachBatch(
        lambda rows, batch_id: batches.update({batch_id: rows.collect()})
    )
    sink = (
        sink.outputMode(mode)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
    )
    patiently(lambda: sink.start().awaitTermination())
    return [batch for _, batch in sorted(batches.items()) if batch]


def solved(lesson: str, exercise: int, name: str) -> Any:
    """The solution's function or class with this name: it is used until the learner's
    own exists.
    """
    # Spark's workers then get it by value, as what a notebook defines
    found: dict[str, Any] = {"__name__": "__main__"}
    exec(_IMPORTS + solutions(lesson)[str(exercise)], found)
    return found[name]


_IMPORTS = """import pandas as pd
from pyspark.sql.streaming import StatefulProcessor
from minikafka.course.kafka_source import DataLoss
GAP_MS = 30 * 60_000
"""
