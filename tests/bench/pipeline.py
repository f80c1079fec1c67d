"""Rows a second of the orders pipeline: Spark reads a topic, parses each order and sums them up, by customer and hour.

Once as a batch, once as a stream from an empty checkpoint (availableNow, with a watermark and state), with Spark's own
connector on two cores; and the batch with the source in Python of `minikafka/course/kafka_source.py`.
"""

import tempfile
import time

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from datasets import orders
from tests.bench.measures import QUIET, delete_topic
from tests.clients.brokers import fresh_name

SIZES = (1_000_000, 4_000_000, 16_000_000)
PARTITIONS = 4  # of the topic of each size
MORE_PARTITIONS = (1, 2, 8)  # at the smallest size
DIFFERENT = 20_000  # orders; a larger topic repeats them
AT_A_TIME = 1000
MOST_IN_FLIGHT = 500_000  # records that wait in the producer
COLUMNS = "customer_id string, amount_cents long, amount struct<cents: long>, event_time_ms long"


def runs(quick):
    """(rows, partitions) of each measurement; quick: only the smallest size."""
    if quick:
        return [(SIZES[0], PARTITIONS)]
    return [*((SIZES[0], partitions) for partitions in MORE_PARTITIONS), *((rows, PARTITIONS) for rows in SIZES)]


def topic_of(bootstrap, rows, partitions):
    """A new topic with so many orders; the same bytes in the same partitions on each broker."""
    name = fresh_name("pipeline")
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    topic = NewTopic(name, partitions, 1, config={"retention.ms": "-1"})
    admin.create_topics([topic])[name].result(30)
    options = {"linger.ms": 5, "queue.buffering.max.messages": 1_000_000, "partitioner": "murmur2_random"}
    producer = Producer({"bootstrap.servers": bootstrap, **options, **QUIET})
    whole = [event for event in orders.stream("orders", count=DIFFERENT, seed=7) if event.value != orders.POISON]
    some = [{"key": event.key, "value": event.value} for event in whole[:DIFFERENT]]
    for first in range(0, rows, AT_A_TIME):
        at = first % DIFFERENT
        assert producer.produce_batch(name, some[at : at + AT_A_TIME]) == AT_A_TIME
        producer.poll(0)
        while len(producer) > MOST_IN_FLIGHT:
            producer.poll(0.01)
    assert producer.flush(300) == 0
    return name


def read(reader, bootstrap, topic, source="kafka"):
    """The orders as columns."""
    from pyspark.sql import functions as F

    rows = reader.format(source).option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic)
    order = F.from_json(F.col("value").cast("string"), COLUMNS).alias("order")
    found = rows.option("startingOffsets", "earliest").load().select(order)
    cents = F.coalesce("order.amount_cents", "order.amount.cents").alias("cents")
    return found.select("order.customer_id", cents, F.timestamp_millis("order.event_time_ms").alias("at"))


def totals(frame):
    from pyspark.sql import functions as F

    by = frame.groupBy(F.window("at", "1 hour"), "customer_id")
    return by.agg(F.sum("cents").alias("cents"), F.count("*").alias("orders"))


def batch(spark, bootstrap, topic, rows, source="kafka"):
    """Rows a second."""
    began = time.perf_counter()
    found = totals(read(spark.read, bootstrap, topic, source)).collect()
    seconds = time.perf_counter() - began
    assert sum(row.orders for row in found) == rows
    return rows / seconds


def stream(spark, bootstrap, topic, rows):
    """Rows a second, from the start of the query to its end."""
    with tempfile.TemporaryDirectory(prefix="minikafka-bench-") as checkpoint:
        frame = totals(read(spark.readStream, bootstrap, topic).withWatermark("at", "2 hours"))
        sink = frame.writeStream.outputMode("update").format("noop").option("checkpointLocation", checkpoint)
        began = time.perf_counter()
        query = sink.trigger(availableNow=True).start()
        query.awaitTermination()
        seconds = time.perf_counter() - began
        assert sum(progress["numInputRows"] for progress in query.recentProgress) == rows
    return rows / seconds


def measure(results, brokers, rounds, quick):
    """brokers: name -> one that runs. The smallest topic is read once before, and that isn't counted."""
    from minikafka.course.kafka_source import KafkaSource
    from minikafka.course.spark import session

    spark = session("bench")
    spark.dataSource.register(KafkaSource)
    for rows, partitions in runs(quick):
        topics = {name: topic_of(broker.bootstrap, rows, partitions) for name, broker in brokers.items()}
        for number in range(-1, rounds):
            for name in list(brokers) if number % 2 == 0 else list(brokers)[::-1]:
                at = brokers[name].bootstrap, topics[name], rows
                label = f"{rows // 1_000_000} million rows, {partitions} partitions"
                figures = {f"batch, {label}": batch(spark, *at), f"stream, {label}": stream(spark, *at)}
                if rows == SIZES[0] and partitions == PARTITIONS:
                    figures[f"batch in Python, {label}"] = batch(spark, *at, source="kafka_python")
                for what, figure in figures.items() if number >= 0 else ():
                    results.add(what, "rows/s", True, name, figure)
        for name, topic in topics.items():
            delete_topic(brokers[name].bootstrap, topic)
    spark.stop()
