"""The Spark job of `minikafka pipeline`: orders and changes of customers from Kafka to
Parquet, and revenue to a topic.

It may be killed at any moment and started again. What makes that harmless stands at
each sink: a batch's folder is there whole or not at all, a total is the one of the
batch before and this batch's, and is sent with its key, and a record that is set aside
says where it came from. No record is read by a later batch, so twice as many orders
take twice as long. It runs as a process of its own, because a process is what gets
killed.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from minikafka.course.pipeline.truth import NO_ACCOUNT
from minikafka.theatre.text import counted

# said by a job that then waits to be killed
HOLD = "every sink is written, and nothing is noted yet"
# longer than the shop's day: no order comes too late to be counted
FORGET_IDS_AFTER = "12 hours"

ORDER = (
    "event_id string, customer_id string, amount_cents long, amount struct<cents:"
    " long>, event_time_ms long"
)
CHANGE = (
    "before struct<customer_id: string>, after struct<customer_id: string, city:"
    " string, tier: string>, lsn long, event_time_ms long"
)
CUSTOMERS_TABLE = (
    "customer_id string, city string, tier string, lsn long, event_time_ms long"
)
TOTALS_TABLE = "hour string, city string, orders long, cents long, changed boolean"


@dataclass(frozen=True)
class Job:
    """topics and checkpoints by their roles. tables: the folder of the Parquet files.
    per_batch: most records of a micro-batch. hold_in: the micro-batch of the orders
    before whose commit the job waits to be killed, or None.
    """

    bootstrap: str
    topics: dict[str, str]  # orders, customers, revenue, unreadable
    checkpoints: dict[str, str]  # orders, customers
    tables: str
    per_batch: int
    hold_in: int | None = None

    def command(self) -> list[str]:
        return [sys.executable, "-m", __name__, json.dumps(asdict(self))]

    def table(self, name: str) -> Path:
        return Path(self.tables, name)

    def written_by(self, role: str, table: str) -> Path:
        """Where the query with this checkpoint keeps its rows of a table. A new
        checkpoint counts its micro-batches from 0 again: by its id in the path they
        can't take the place of other rows.
        """
        metadata = Path(self.checkpoints[role], "metadata").read_text(encoding="utf-8")
        return self.table(table) / f"checkpoint={json.loads(metadata)['id']}"


def run(job: Job, spark: Any) -> None:
    """All that is there now: the customers first, so that no order is older than what
    is known of its customer.
    """
    changes = changes_of(source(job, spark, "customers"))
    _to_the_end(job, "customers", changes, partial(keep_changes, job))
    known = spark.read.schema(CUSTOMERS_TABLE)
    known = known.parquet(str(job.written_by("customers", "customers"))).persist()
    limited = source(job, spark, "orders", maxOffsetsPerTrigger=str(job.per_batch))
    orders = once_each(orders_of(limited))
    _to_the_end(job, "orders", orders, partial(write_orders, job, known))


def source(job: Job, spark: Any, role: str, **options: str) -> Any:
    """The topic's rows as Kafka gives them, from its beginning."""
    reader = spark.readStream.format("kafka")
    reader = reader.option("kafka.bootstrap.servers", job.bootstrap)
    reader = reader.option("subscribe", job.topics[role])
    return reader.options(startingOffsets="earliest", **options).load()


def _to_the_end(job: Job, role: str, rows: Any, write: Callable[..., None]) -> None:
    """A query that writes all that is there now."""
    writer = rows.writeStream.foreachBatch(write).trigger(availableNow=True)
    writer = writer.option("checkpointLocation", job.checkpoints[role])
    writer.start().awaitTermination()


def changes_of(rows: Any) -> Any:
    """A row for each change; a deleted customer has neither city nor tier."""
    from pyspark.sql import functions as F

    change = F.from_json(F.col("value").cast("string"), CHANGE)
    told = rows.where("value is not null").select(change.alias("c"))
    customer = F.coalesce("c.after.customer_id", "c.before.customer_id")
    row = ("c.after.city", "c.after.tier", "c.lsn", "c.event_time_ms")
    return told.select(customer.alias("customer_id"), *row)


def orders_of(rows: Any) -> Any:
    """A row for each record. What can't be read has its address as its id, and its
    record's timestamp as its time.
    """
    from pyspark.sql import functions as F

    order = F.from_json(F.col("value").cast("string"), ORDER)
    cents = F.coalesce("o.amount_cents", "o.amount.cents")
    read = rows.withColumn("o", order).withColumn("cents", cents)
    told = ("o.event_id", "o.customer_id", "cents", "o.event_time_ms")
    all_told = " and ".join(f"{name} is not null" for name in told)
    read = read.withColumn("readable", F.expr(all_told))
    readable = F.col("readable")
    address = F.concat_ws("/", "topic", "partition", "offset")
    event_id = F.when(readable, F.col("o.event_id")).otherwise(address)
    placed = F.timestamp_millis("o.event_time_ms")
    at = F.when(readable, placed).otherwise(F.col("timestamp"))
    return read.select(
        "readable",
        event_id.alias("event_id"),
        "o.customer_id",
        "cents",
        "o.event_time_ms",
        at.alias("at"),
        "key",
        "value",
        address.alias("address"),
    )


def once_each(orders: Any) -> Any:
    """Without the orders that a producer sent again. The ids are in the query's state,
    so its checkpoint has them.
    """
    watched = orders.withWatermark("at", FORGET_IDS_AFTER)
    return watched.dropDuplicatesWithinWatermark(["event_id"])


def keep(rows: Any, table: Path, batch_id: int) -> Path:
    """Writes the batch's folder, which is there whole or not at all: it is written
    under a name that readers pass over, and gets its own in one step. A folder that is
    there stays, for a batch that comes again has the same rows.
    """
    folder = table / f"batch={batch_id}"
    if not folder.exists():
        begun = table / f".batch={batch_id}"
        rows.write.mode("overwrite").parquet(str(begun))
        begun.rename(folder)
    return folder


def keep_changes(job: Job, frame: Any, batch_id: int) -> None:
    """Done again it is the same."""
    frame.persist()
    keep(frame, job.written_by("customers", "customers"), batch_id)
    _say(f"customers, batch {batch_id}: {frame.count()} changes to Parquet")
    frame.unpersist()


def write_orders(job: Job, known: Any, frame: Any, batch_id: int) -> None:
    """Three sinks, each of which can stand being written again. known: the changes of
    the customers.
    """
    from pyspark.sql import functions as F

    frame.persist()  # else each sink would read the topic again
    set_aside(job, frame.where("not readable"))
    hour = F.date_format("at", "yyyy-MM-dd'T'HH").alias("hour")
    good = frame.where("readable").select(
        "event_id", "customer_id", "cents", "event_time_ms", hour
    )
    keep(good, job.written_by("orders", "orders"), batch_id)
    key = F.concat_ws(" ", "hour", "city")
    value = F.to_json(F.struct("hour", "city", "orders", "cents"))
    changed = totals(job, in_cities(good, known), batch_id).where("changed")
    _to_topic(job, changed.select(key.alias("key"), value.alias("value")), "revenue")
    by_hour = good.groupBy("hour").count().collect()
    count, hours = sum(row["count"] for row in by_hour), counted(len(by_hour), "hour")
    _say(f"orders, batch {batch_id}: {count} orders to Parquet, {hours}")
    frame.unpersist()
    if batch_id == job.hold_in:
        _say(HOLD)
        threading.Event().wait()


def set_aside(job: Job, rows: Any) -> None:
    """To the topic for what can't be read, as it came, with its address: whoever looks
    knows two of one record.
    """
    from pyspark.sql import functions as F

    address = F.col("address").cast("binary")
    came = F.struct(F.lit("from").alias("key"), address.alias("value"))
    told = rows.select("key", "value", F.array(came).alias("headers"))
    _to_topic(job, told, "unreadable", includeHeaders="true")


def in_cities(orders: Any, changes: Any) -> Any:
    """The orders, each with the city in which its customer lived when it was placed.

    Both go by once, in the order of time. A join would pair each order with each
    earlier change of its customer.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    address = F.struct("lsn", "city").alias("address")
    moves = changes.select("customer_id", "event_time_ms", address)
    both = orders.unionByName(moves, allowMissingColumns=True)
    by_time = Window.partitionBy("customer_id").orderBy("event_time_ms")
    until_then = by_time.rangeBetween(Window.unboundedPreceding, Window.currentRow)
    lived = F.max("address").over(until_then)  # the largest lsn is the latest
    city = F.coalesce(lived["city"], F.lit(NO_ACCOUNT)).alias("city")
    return both.select("event_id", "hour", "cents", city).where("event_id is not null")


def totals(job: Job, orders: Any, batch_id: int) -> Any:
    """(hour, city, orders, cents, changed) of all orders so far: what the batch before
    has kept, and this batch's orders, which change some of it.
    """
    from pyspark.sql import functions as F

    sums = (F.count("*").alias("orders"), F.sum("cents").alias("cents"))
    found = orders.groupBy("hour", "city").agg(*sums).withColumn("changed", F.lit(True))
    table = job.written_by("orders", "totals")
    reader = orders.sparkSession.read.schema(TOTALS_TABLE)
    if batch_id > 0:
        before = reader.parquet(str(table / f"batch={batch_id - 1}"))
        found = found.unionByName(before.withColumn("changed", F.lit(False)))
    added = (F.sum(name).alias(name) for name in ("orders", "cents"))
    found = found.groupBy("hour", "city").agg(*added, F.max("changed").alias("changed"))
    return reader.parquet(str(keep(found, table, batch_id)))


def _to_topic(job: Job, rows: Any, role: str, **options: str) -> None:
    writer = rows.write.format("kafka").option("kafka.bootstrap.servers", job.bootstrap)
    writer.options(topic=job.topics[role], **options).save()


def _say(line: str) -> None:
    print(line, flush=True)


def _die_with_the_parent() -> None:
    """Waits for the end of standard input; then nothing of this job stays, Spark's JVM
    included.
    """
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)


def main() -> int:
    from minikafka.course.spark import SparkMissing, session

    threading.Thread(target=_die_with_the_parent, daemon=True).start()
    try:
        run(Job(**json.loads(sys.argv[1])), session("pipeline"))
    except SparkMissing as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:  # Spark's own carry a screenful of the JVM's stack
        print(*str(error).strip().splitlines()[:3], sep="\n", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
