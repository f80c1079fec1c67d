"""The Spark job of `minikafka pipeline`: orders and changes of customers from Kafka to
Parquet, and revenue to a topic.

It may be killed at any moment and started again. What makes that harmless stands at
each sink: a batch's folder is there whole or not at all, a total is the one of the
batch before and this batch's, and is sent with its key, and a record that is set aside
says where it came from. No record is read by a later batch, so twice as many orders
take twice as long. It runs as a process of its own, because a process is what gets
killed. Who started it says on its standard input that it is to end: it does between two
micro-batches.
"""

import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from minikafka.course.pipeline.reports import Account, Lag
from minikafka.course.pipeline.truth import NO_ACCOUNT
from minikafka.theatre.text import counted

# said by a job that then waits to be killed
HOLD = "every sink is written, and nothing is noted yet"
# longer than the shop's day: no order comes too late to be counted
FORGET_IDS_AFTER = "12 hours"
# the ids of many orders don't fit into the memory of a lab's driver
IDS_ON_DISK = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}
FOLLOWS_EVERY = "2 seconds"
REPORTS_EVERY = 1  # second

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
    """topics and checkpoints by their roles; without a topic of customers nobody has an
    account. tables: the folder of the Parquet files. per_batch: most records of a
    micro-batch. hold_in: the micro-batch of the orders before whose commit the job
    waits to be killed, or None. follow: go on until told to end.
    """

    bootstrap: str
    topics: dict[str, str]  # orders, revenue, unreadable; maybe customers
    checkpoints: dict[str, str]  # orders; maybe customers
    tables: str
    per_batch: int
    hold_in: int | None = None
    follow: bool = False

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


class Gate:
    """Every micro-batch goes through it. Once it is closed, none is being written and
    none begins.
    """

    def __init__(self) -> None:
        self._writing = threading.Lock()
        self._closed = False

    def through(self, write: Callable[..., None]) -> Callable[..., None]:
        def batch(frame: Any, batch_id: int) -> None:
            with self._writing:
                if self._closed:
                    raise InterruptedError("the job ends before this micro-batch")
                write(frame, batch_id)

        return batch

    def close(self) -> None:
        with self._writing:
            self._closed = True


def run(job: Job, spark: Any, told_to_end: threading.Event) -> None:
    """The customers that are there now come first, so that no order is older than what
    is known of its customer.
    """
    known = customers(job, spark).persist()
    limited = source(job, spark, "orders", maxOffsetsPerTrigger=str(job.per_batch))
    orders = once_each(orders_of(limited))
    gate, account = Gate(), Account()
    write = gate.through(partial(write_orders, job, known, account))
    writer = _writer(job, "orders", orders, write)
    if job.follow:
        writer = writer.trigger(processingTime=FOLLOWS_EVERY)
    else:
        writer = writer.trigger(availableNow=True)
    query = writer.start()
    lag, said = Lag(job.bootstrap, job.topics["orders"]), ""
    while not query.awaitTermination(REPORTS_EVERY):
        if told_to_end.is_set():
            gate.close()
            end_between_batches(query)
            break
        account.add(query.recentProgress)
        line = account.now(lag.behind(account.position))
        if line != said:
            _say(line)
        said = line
    account.add(query.recentProgress)
    _say(account.total())


def end_between_batches(query: Any) -> None:
    """Wait until the last micro-batch has been committed, too."""
    while query.isActive and query.status["isTriggerActive"]:
        threading.Event().wait(0.1)
    query.stop()


def customers(job: Job, spark: Any) -> Any:
    """The known customers, after a query that writes all changes that are there now."""
    if "customers" not in job.topics:
        return spark.createDataFrame([], CUSTOMERS_TABLE)
    changes = changes_of(source(job, spark, "customers"))
    writer = _writer(job, "customers", changes, partial(keep_changes, job))
    writer.trigger(availableNow=True).start().awaitTermination()
    known = spark.read.schema(CUSTOMERS_TABLE)
    return known.parquet(str(job.written_by("customers", "customers")))


def _writer(job: Job, role: str, rows: Any, write: Callable[..., None]) -> Any:
    writer = rows.writeStream.foreachBatch(write)
    return writer.option("checkpointLocation", job.checkpoints[role])


def source(job: Job, spark: Any, role: str, **options: str) -> Any:
    """The topic's rows as Kafka gives them, from its beginning."""
    reader = spark.readStream.format("kafka")
    reader = reader.option("kafka.bootstrap.servers", job.bootstrap)
    reader = reader.option("subscribe", job.topics[role])
    return reader.options(startingOffsets="earliest", **options).load()


def changes_of(rows: Any) -> Any:
    """A row for each change; a deleted customer has neither city nor tier."""
    from pyspark.sql import functions as F

    change = F.from_json(F.col("value").cast("string"), CHANGE)
    told = rows.where("value is not null").select(change.alias("c"))
    customer = F.coalesce("c.after.customer_id", "c.before.customer_id")
    row = ("c.after.city", "c.after.tier", "c.lsn", "c.event_time_ms")
    return told.select(customer.alias("customer_id"), *row)


def orders_of(rows: Any) -> Any:
    """A row for each record. What can't be read has its address as its id, and no time:
    a record's timestamp of today would put the watermark behind all orders of the
    shop's day, which is long ago, and they would all be late.
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
    at = F.when(readable, F.timestamp_millis("o.event_time_ms"))
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


def write_orders(
    job: Job, known: Any, account: Account, frame: Any, batch_id: int
) -> None:
    """Each sink tolerates being written again. known: the changes of the customers."""
    from pyspark.sql import functions as F

    frame.persist()  # else each sink would read the topic again
    account.aside += set_aside(job, frame.where("not readable"), batch_id)
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
    if not frame.isEmpty():  # Spark has batches without rows, to move the watermark
        orders = counted(count, "order")
        _say(f"orders, batch {batch_id}: {orders} to Parquet, {hours}")
    frame.unpersist()
    if batch_id == job.hold_in:
        _say(HOLD)
        threading.Event().wait()


def set_aside(job: Job, rows: Any, batch_id: int) -> int:
    """Write records that can't be read to a table and a topic of their own, as they
    came, with their address, so that a repetition can be recognized. Returns how many
    there were.
    """
    from pyspark.sql import functions as F

    kept = rows.select("address", "key", "value")
    keep(kept, job.written_by("orders", "unreadable"), batch_id)
    address = F.col("address").cast("binary")
    came = F.struct(F.lit("from").alias("key"), address.alias("value"))
    told = rows.select("key", "value", F.array(came).alias("headers"))
    _to_topic(job, told, "unreadable", includeHeaders="true")
    count: int = rows.count()
    return count


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
    kept = reader.parquet(str(keep(found, table, batch_id)))
    # a batch that comes again needs the one before it, and nobody those before that
    shutil.rmtree(table / f"batch={batch_id - 2}", ignore_errors=True)
    return kept


def _to_topic(job: Job, rows: Any, role: str, **options: str) -> None:
    writer = rows.write.format("kafka").option("kafka.bootstrap.servers", job.bootstrap)
    writer.options(topic=job.topics[role], **options).save()


def _say(line: str) -> None:
    print(line, flush=True)


def _listen(told_to_end: threading.Event) -> None:
    """A line on standard input says that the job is to end. The end of standard input
    says that its parent is gone: then nothing of this job stays, Spark's JVM included.
    """
    while os.read(0, 1):
        told_to_end.set()
    os.killpg(0, signal.SIGKILL)


def main() -> int:
    from minikafka.course.spark import SparkMissing, session

    told_to_end = threading.Event()
    threading.Thread(target=_listen, args=(told_to_end,), daemon=True).start()
    try:
        job = Job(**json.loads(sys.argv[1]))
        run(job, session("pipeline", IDS_ON_DISK), told_to_end)
    except SparkMissing as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:  # Spark's own carry a screenful of the JVM's stack
        print(*str(error).strip().splitlines()[:3], sep="\n", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
