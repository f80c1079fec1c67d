"""Windows and watermarks of Spark, over minikafka and over Apache Kafka: what lesson 18
claims, one test each.
"""

import random

import pytest

from minikafka.course import lessons
from minikafka.course.connect import Connection
from minikafka.course.experiments import lesson_18_event_time
from minikafka.course.experiments.lesson_18_event_time import (
    ORDERS,
    RECORDED,
    dropped,
    in_state,
    run,
    watch,
)
from minikafka.course.spark import Lab
from tests.theatre.test_watermark import COMPLETE, DROPPED, LATE, UPDATE

pytestmark = pytest.mark.spark

FIELDS = "order_id string, event_time_ms long"


@pytest.fixture(scope="module")
def lab(spark, bootstrap):
    lab = Lab("18", Connection(bootstrap))
    yield lab
    lab.close()


def sent(lab, topic, minutes, partition=0):
    """Orders placed at these minutes, named by their minute."""
    made = [
        lesson_18_event_time._record((f"o-{minute}", minute), 0) for minute in minutes
    ]
    records = [record._replace(partition=partition) for record in made]
    lab.send(topic, records)


def placed(spark, lab, *topics):
    from pyspark.sql import functions as F

    reader = spark.readStream.format("kafka").option(
        "kafka.bootstrap.servers", lab.bootstrap
    )
    rows = (
        reader.option("subscribe", ",".join(topics))
        .option("startingOffsets", "earliest")
        .load()
    )
    orders = rows.select(
        F.from_json(F.col("value").cast("string"), FIELDS).alias("order")
    ).select("order.*")
    return orders.withColumn("event_time", F.timestamp_millis("event_time_ms"))


def hours(orders):
    from pyspark.sql import functions as F

    counted = orders.groupBy(F.window("event_time", "1 hour")).agg(
        F.count("*").alias("orders")
    )
    return counted.select(F.hour("window.start").alias("hour"), "orders")


def by_hour(rows):
    return {row["hour"]: row["orders"] for row in rows}


def test_a_late_order_counts_in_the_micro_batch_that_writes_its_window_and_is_dropped_in_the_next(
    lab,
):
    assert watch(lab, ORDERS) == RECORDED
    assert watch(lab, LATE) == DROPPED


def test_update_writes_each_change_and_complete_writes_all_and_forgets_nothing(lab):
    assert watch(lab, ORDERS, "update") == UPDATE
    assert watch(lab, ORDERS, "complete") == COMPLETE


def test_in_one_micro_batch_nothing_is_late_and_the_last_windows_stay_in_state(
    spark, lab
):
    topic = lab.topic("orders", partitions=1)
    sent(lab, topic, [130, 70, 5, 15])
    query, rows = run(
        lab, hours(placed(spark, lab, topic).withWatermark("event_time", "10 minutes"))
    )
    assert (
        dropped(query) == 0 and by_hour(rows) == {8: 2, 9: 1} and in_state(query) == 1
    )


def test_nobody_waits_for_an_idle_partition_and_what_it_brings_late_is_dropped_and_counted_in_sums(
    spark, lab
):
    topic, checkpoint = lab.topic("orders", partitions=2), lab.checkpoint("idle")
    counted = hours(placed(spark, lab, topic).withWatermark("event_time", "10 minutes"))
    sent(lab, topic, [5], partition=0)
    sent(lab, topic, [6, 70, 200], partition=1)
    _, rows = run(lab, counted, checkpoint=checkpoint)
    assert by_hour(rows) == {8: 2, 9: 1}
    sent(lab, topic, [20, 30, 80], partition=0)
    query, rows = run(lab, counted, checkpoint=checkpoint)
    assert rows == [] and dropped(query) == 2  # of three orders in two hours


def test_of_two_streams_the_slower_ones_watermark_counts(spark, lab):
    slow, fast = lab.topic("slow", partitions=1), lab.topic("fast", partitions=1)
    sent(lab, slow, [5, 61])
    sent(lab, fast, [6, 200])
    streams = [
        placed(spark, lab, topic).withWatermark("event_time", "0 minutes")
        for topic in (slow, fast)
    ]
    _, rows = run(lab, hours(streams[0].union(streams[1])))
    assert by_hour(rows) == {8: 2}


def test_ids_stay_in_state_unless_the_event_time_is_compared_too_or_the_watermark_asked(
    spark, lab
):
    topic = lab.topic("orders", partitions=1)
    sent(lab, topic, [5, 15, 15, 70, 130])
    orders = placed(spark, lab, topic).withWatermark("event_time", "10 minutes")
    found = [
        run(lab, once)
        for once in (
            orders.dropDuplicates(["order_id"]),
            orders.dropDuplicates(["order_id", "event_time"]),
            orders.dropDuplicatesWithinWatermark(["order_id"]),
        )
    ]
    assert [len(rows) for _, rows in found] == [4, 4, 4]
    assert [in_state(query) for query, _ in found] == [4, 1, 1]


def test_exercise_1s_rule_is_sparks(lab):
    """A random case, in micro-batches of three."""
    source, now, orders = random.Random(18), 0, []
    for number in range(18):
        now += source.randint(1, 9)
        orders.append(
            (f"o-{number}", max(now - source.choice((0, 0, source.randint(1, 40))), 0))
        )
    batches = [
        [minute for _, minute in orders[at : at + 3]] for at in range(0, len(orders), 3)
    ] + [[]]
    truth = lessons.lesson("18")._module.truth(batches, 5, 10)
    seen = watch(lab, orders, delay=5, size=10)
    for number, (batch, (watermark, late, written)) in enumerate(
        zip(seen.batches, truth, strict=False)
    ):
        assert max(batch.watermark or 0, 0) == watermark
        assert [minute for _, minute in seen.lost(number)] == late
        assert list(batch.written.items()) == written
    assert any(late for _, late, _ in truth)


def test_a_lever_of_the_picture_lets_spark_run_again_and_knows_what_it_has_seen(lab):
    pytest.importorskip("ipywidgets")
    live = lesson_18_event_time.levers(lab, RECORDED)
    first = live.picture.digest
    live.press("H")
    assert live.picture.scenes[-1]["space"]["dropped"] == 1
    live.reset()
    assert live.picture.digest == first
