"""The common parts of lesson 20's experiments: clicks at a time of day, their rows in
Spark, a query that ends, and what it writes of its state.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minikafka.course.data import dataset
from minikafka.course.lessons import solutions
from minikafka.course.spark import patiently

if TYPE_CHECKING:
    from minikafka.course.connect import Connection

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
_STORES = "org.apache.spark.sql.execution.streaming.state."
ROCKSDB = f"{_STORES}RocksDBStateStoreProvider"
IN_MEMORY = f"{_STORES}HDFSBackedStateStoreProvider"  # what Spark takes unless told

GAP_MS = 30 * 60_000
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


def at(clock: str) -> int:
    """The time of a click, in ms."""
    at_ms: int = click("", clock).ingest_ms
    return at_ms


def cut(times: Iterable[int]) -> list[list[int]]:
    """The times in order, cut where more than half an hour lies between two."""
    pieces: list[list[int]] = []
    for ms in sorted(times):
        if pieces and ms - pieces[-1][-1] <= GAP_MS:
            pieces[-1].append(ms)
        else:
            pieces.append([ms])
    return pieces


def clicks(
    spark: Any,
    kafka: "Connection",
    topic: str,
    watermark: str | None = None,
    per_batch: int | None = None,
) -> Any:
    """The topic as a stream of user_id and event_time_ms, a few records at a time;
    with a watermark also of `at`, the same time as Spark has times.
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
    if watermark is None:
        return rows
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


def written_to_state(frame: Any, checkpoint: str) -> list[dict[str, int]]:
    """Runs an aggregation as `run` does. For each micro-batch the files that it added
    to the state of its one partition, and their bytes.
    """
    added: list[dict[str, int]] = []
    there: set[Path] = set()

    def see(rows: Any, _: int) -> None:
        rows.collect()  # the state is written before this comes back
        now = {
            path
            for path in Path(checkpoint, "state", "0", "0").rglob("*")
            if path.is_file() and not path.name.startswith((".", "schema"))
        }
        new = sorted(now - there)
        added.append({path.name: path.stat().st_size for path in new})
        there.update(now)

    sink = frame.writeStream.foreachBatch(see).outputMode("update")
    sink = sink.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    patiently(lambda: sink.start().awaitTermination())
    return added


def solved(lesson: str, exercise: int, name: str) -> Any:
    """The solution's function or class with this name: it is used until the learner's
    own exists.
    """
    # Spark's workers then get it by value, as what a notebook defines
    found: dict[str, Any] = {"__name__": "__main__"}
    exec(_IMPORTS + solutions(lesson)[str(exercise)], found)
    return found[name]


_IMPORTS = """from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.tws_tester import TwsTester
from minikafka.course.experiments.lesson_20_runs import GAP_MS, at, cut
from minikafka.course.kafka_source import DataLoss
"""
