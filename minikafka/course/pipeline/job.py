"""The Spark job of `minikafka pipeline`: orders and changes of customers from Kafka to
Parquet, and revenue to a topic.

It may be killed at any moment and started again. What makes that harmless stands at
each sink: a batch's folder is overwritten, a total is computed from the folders and
sent with its key, and a record that is set aside says where it came from. It runs as a
process of its own, because a process is what gets killed.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
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
ORDERS_TABLE = (
    "event_id string, customer_id string, cents long, event_time_ms long, hour string"
)
CUSTOMERS_TABLE = (
    "customer_id string, city string, tier string, lsn long, event_time_ms long"
)


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

    def table(self, name: str) -> str:
        return os.path.join(self.tables, name)


def run(job: Job, spark: Any) -> None:
    """All that is there now: the customers first, so that no order is older than what
    is known of its customer.
    """
    changes = changes_of(source(job, spark, "customers"))
    _to_the_end(job, "customers", changes, partial(keep_changes, job))
    limited = source(job, spark, "orders", maxOffsetsPerTrigger=str(job.per_batch))
    orders = once_each(orders_of(limited))
    _to_the_end(job, "orders", orders, partial(write_orders, job))


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


def keep_changes(job: Job, frame: Any, batch_id: int) -> None:
    """Overwrites the batch's folder: done again it is the same."""
    frame.persist()
    frame.write.mode("overwrite").parquet(f"{job.table('customers')}/batch={batch_id}")
    _say(f"customers, batch {batch_id}: {frame.count()} changes to Parquet")
    frame.unpersist()


def write_orders(job: Job, frame: Any, batch_id: int) -> None:
    """Three sinks, each of which can stand being written again."""
    from pyspark.sql import functions as F

    frame.persist()  # else each sink would read the topic again
    set_aside(job, frame.where("not readable"))
    hour = F.date_format("at", "yyyy-MM-dd'T'HH").alias("hour")
    good = frame.where("readable").select(
        "event_id", "customer_id", "cents", "event_time_ms", hour
    )
    good.write.mode("overwrite").parquet(f"{job.table('orders')}/batch={batch_id}")
    by_hour = good.groupBy("hour").count().collect()
    orders_in = {row.hour: row["count"] for row in by_hour}
    if orders_in:
        key = F.concat_ws(" ", "hour", "city")
        value = F.to_json(F.struct("hour", "city", "orders", "cents"))
        totals = revenue(job, frame.sparkSession, list(orders_in))
        told = totals.select(key.alias("key"), value.alias("value"))
        _to_topic(job, told, "revenue")
    count, hours = sum(orders_in.values()), counted(len(orders_in), "hour")
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


def revenue(job: Job, spark: Any, hours: list[str]) -> Any:
    """(hour, city, orders, cents) of these hours, from all orders that are in Parquet:
    a late one corrects its hour.
    """
    from pyspark.sql import functions as F

    orders = spark.read.schema(ORDERS_TABLE).parquet(job.table("orders"))
    orders = orders.where(F.col("hour").isin(hours))
    changes = spark.read.schema(CUSTOMERS_TABLE).parquet(job.table("customers"))
    is_hers = F.col("c.customer_id") == F.col("o.customer_id")
    is_before = F.col("c.event_time_ms") <= F.col("o.event_time_ms")
    joined = orders.alias("o").join(changes.alias("c"), is_hers & is_before, "left")
    lived = F.coalesce(F.max_by("city", "lsn"), F.lit(NO_ACCOUNT))
    placed = joined.groupBy("event_id", "hour", "cents").agg(lived.alias("city"))
    count, total = F.count("*"), F.sum("cents")
    return placed.groupBy("hour", "city").agg(
        count.alias("orders"), total.alias("cents")
    )


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
