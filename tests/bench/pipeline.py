"""Rows a second of the orders pipeline: Spark reads a topic, parses each order and sums
them up, by customer and hour.

Once as a batch, once as a stream from an empty checkpoint (availableNow, with a
watermark and state), with Spark's own connector on two cores; and the batch with the
source in Python of `minikafka/course/kafka_source.py`. Each size with PARTITIONS
partitions, the smallest one with fewer and with more, too. A topic has as many copies
as its cluster gives to those who ask for nothing: one on minikafka, three on the
compose file's brokers.
"""

import tempfile
import time
from functools import partial

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from datasets import orders
from tests.bench.measures import QUIET, delete_topic, processor_seconds
from tests.clients.brokers import fresh_name

MILLIONS = (1, 4, 16)  # of rows
PARTITIONS = 4  # of the topic of each size
OF_THE_SMALLEST = (1, 2, 4, 8)
DIFFERENT = 20_000  # orders; a larger topic repeats them
AT_A_TIME = 1000
MOST_IN_FLIGHT = 500_000  # records that wait in the producer
WRITTEN_WITHIN_S = 1800  # a topic, on a busy machine
COLUMNS = (
    "customer_id string, amount_cents long, amount struct<cents: long>, event_time_ms"
    " long"
)


def runs(millions, quick):
    """(rows, partitions) of each measurement; quick: only the smallest size."""
    smallest, *larger = sorted(
        round(each * 1_000_000 / AT_A_TIME) * AT_A_TIME for each in millions
    )
    if quick:
        return [(smallest, PARTITIONS)]
    return [
        *((smallest, partitions) for partitions in OF_THE_SMALLEST),
        *((rows, PARTITIONS) for rows in larger),
    ]


def topic_of(bootstrap, rows, partitions):
    """A new topic with so many orders; the same bytes in the same partitions on each
    broker.
    """
    name = fresh_name("pipeline")
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    topic = NewTopic(name, partitions, -1, config={"retention.ms": "-1"})
    admin.create_topics([topic])[name].result(30)
    options = {
        "linger.ms": 5,
        # a busy machine answers late, and what is sent again must not be there twice
        "enable.idempotence": True,
        "delivery.timeout.ms": WRITTEN_WITHIN_S * 1000,
        "queue.buffering.max.messages": 1_000_000,
        "partitioner": "murmur2_random",
    }
    producer = Producer({"bootstrap.servers": bootstrap, **options, **QUIET})
    whole = [
        event
        for event in orders.stream("orders", count=DIFFERENT, seed=7)
        if event.value != orders.POISON
    ]
    some = [{"key": event.key, "value": event.value} for event in whole[:DIFFERENT]]
    for first in range(0, rows, AT_A_TIME):
        at = first % DIFFERENT
        assert producer.produce_batch(name, some[at : at + AT_A_TIME]) == AT_A_TIME
        producer.poll(0)
        while len(producer) > MOST_IN_FLIGHT:
            producer.poll(0.01)
    assert producer.flush(WRITTEN_WITHIN_S) == 0
    found = rows_in(bootstrap, name, partitions)
    assert found == rows, f"{found:,} of {rows:,} rows are at {bootstrap}"
    return name


def rows_in(bootstrap, topic, partitions):
    """By the end offsets: nothing else takes one."""
    group = {"group.id": topic, "bootstrap.servers": bootstrap, **QUIET}
    consumer = Consumer(group)
    ends = 0
    for number in range(partitions):
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, number), 60)
        ends += end
    consumer.close()
    return ends


def read(reader, bootstrap, topic, source="kafka"):
    """The orders as a data frame with their JSON fields as columns."""
    from pyspark.sql import functions as F

    rows = (
        reader.format(source)
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
    )
    order = F.from_json(F.col("value").cast("string"), COLUMNS).alias("order")
    found = rows.option("startingOffsets", "earliest").load().select(order)
    cents = F.coalesce("order.amount_cents", "order.amount.cents").alias("cents")
    return found.select(
        "order.customer_id",
        cents,
        F.timestamp_millis("order.event_time_ms").alias("at"),
    )


def totals(frame):
    from pyspark.sql import functions as F

    by = frame.groupBy(F.window("at", "1 hour"), "customer_id")
    return by.agg(F.sum("cents").alias("cents"), F.count("*").alias("orders"))


def batch(spark, bootstrap, topic, rows, source="kafka"):
    """Read the topic in a batch query. Returns rows per second."""
    began = time.perf_counter()
    found = totals(read(spark.read, bootstrap, topic, source)).collect()
    seconds = time.perf_counter() - began
    counted = sum(row.orders for row in found)
    assert counted == rows, f"{counted:,} of {rows:,} rows at {bootstrap}"
    return rows / seconds


def stream(spark, bootstrap, topic, rows):
    """Rows a second, from the start of the query to its end."""
    with tempfile.TemporaryDirectory(prefix="minikafka-bench-") as checkpoint:
        frame = totals(
            read(spark.readStream, bootstrap, topic).withWatermark("at", "2 hours")
        )
        sink = (
            frame.writeStream.outputMode("update")
            .format("noop")
            .option("checkpointLocation", checkpoint)
        )
        began = time.perf_counter()
        query = sink.trigger(availableNow=True).start()
        query.awaitTermination()
        seconds = time.perf_counter() - began
        assert (
            sum(progress["numInputRows"] for progress in query.recentProgress) == rows
        )
    return rows / seconds


def measure(results, brokers, millions, rounds, quick):
    """brokers: name -> one that runs. The very first round isn't counted: Spark
    compiles as it runs.
    """
    from minikafka.course.kafka_source import KafkaSource
    from minikafka.course.spark import session

    spark = session("bench", {"spark.driver.extraJavaOptions": ""})
    spark.dataSource.register(KafkaSource)
    began = time.perf_counter()
    planned = runs(millions, quick)
    for number, (rows, partitions) in enumerate(planned):
        label = (
            f"{rows / 1_000_000:g} million rows, {partitions}"
            f" partition{'s' * (partitions > 1)}"
        )
        print(f"{label}: being written, {minutes_since(began)}", flush=True)
        topics = {
            name: topic_of(broker.bootstrap, rows, partitions)
            for name, broker in brokers.items()
        }
        with_python = (rows, partitions) == (planned[0][0], PARTITIONS)
        for turn in range(-1 if number == 0 else 0, rounds):
            which = f"round {turn + 1} of {rounds}" if turn >= 0 else "warming up"
            print(f"{label}: {which}, {minutes_since(began)}", flush=True)
            kept = results if turn >= 0 else type(results)(results.names)
            for name in list(brokers) if turn % 2 == 0 else list(brokers)[::-1]:
                for what, reading in {
                    **WITH_THE_CONNECTOR,
                    **(IN_PYTHON if with_python else {}),
                }.items():
                    before = processor_seconds(brokers[name])
                    speed = reading(spark, brokers[name].bootstrap, topics[name], rows)
                    spent = processor_seconds(brokers[name]) - before
                    kept.add(f"{what}, {label}", "rows/s", True, name, speed)
                    kept.add(
                        f"{what}, {label}, broker",
                        "us/row",
                        False,
                        name,
                        spent * 1_000_000 / rows,
                    )
        for name, topic in topics.items():
            delete_topic(brokers[name].bootstrap, topic)
    spark.stop()


WITH_THE_CONNECTOR = {"batch": batch, "stream": stream}
IN_PYTHON = {"batch in Python": partial(batch, source="kafka_python")}


def minutes_since(began):
    return f"{(time.perf_counter() - began) / 60:.1f} minutes so far"
