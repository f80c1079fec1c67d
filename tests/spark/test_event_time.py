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
from tests.theatre.test_watermark import AHEAD, COMPLETE, DROPPED, FAST, LATE, UPDATE

pytestmark = [pytest.mark.first, pytest.mark.nightly, pytest.mark.spark]

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


def test_a_clock_that_is_ahead_moves_the_watermark_for_all(lab):
    assert watch(lab, FAST) == AHEAD


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


def payments_of(lab, topic, minutes):
    """Payments: the minute at which its order was placed -> when it was paid."""
    records = [
        lesson_18_event_time._record((f"o-{ordered}", paid), 0)
        for ordered, paid in minutes.items()
    ]
    lab.send(topic, records)


def named(spark, lab, name, topic, delay="10 minutes"):
    rows = placed(spark, lab, topic)
    if delay:
        rows = rows.withWatermark("event_time", delay)
    return rows.selectExpr(f"order_id as {name}_id", f"event_time as {name}_at")


def joined(left, right, within=None):
    """Each row of orders with its payments, or with none."""
    from pyspark.sql import functions as F

    same = "paid_id = ordered_id"
    if within is None:
        return left.join(right, F.expr(same), "left_outer")
    bound = f"paid_at between ordered_at and ordered_at + interval {within}"
    return left.join(right, F.expr(f"{same} and {bound}"), "left_outer")


def pairs(rows):
    return {(row["ordered_id"], row["paid_id"]) for row in rows}


def test_an_outer_join_waits_for_the_slower_stream_and_then_loses_no_payment(
    spark, lab
):
    orders, payments = lab.topic("orders", partitions=1), lab.topic("payments")
    ordered = named(spark, lab, "ordered", orders)
    outer = joined(ordered, named(spark, lab, "paid", payments), "20 minutes")
    checkpoint = lab.checkpoint("outer")

    sent(lab, orders, [5, 10, 100, 200, 300])
    payments_of(lab, payments, {5: 12, 100: 106})  # and then no more for a while
    _, rows = run(lab, outer, checkpoint=checkpoint)
    # 96 minutes is the payments' watermark, 290 the orders'
    assert pairs(rows) == {("o-5", "o-5"), ("o-100", "o-100"), ("o-10", None)}

    payments_of(lab, payments, {300: 310})
    payments_of(lab, payments, {200: 215})
    query, rows = run(lab, outer, checkpoint=checkpoint)
    assert pairs(rows) == {("o-300", "o-300"), ("o-200", "o-200")}
    assert dropped(query) == 0


def test_without_a_bound_in_time_a_join_keeps_every_row_and_an_outer_join_is_refused(
    spark, lab
):
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    orders, payments = lab.topic("orders", partitions=1), lab.topic("payments")
    sent(lab, orders, [5, 10, 300])
    payments_of(lab, payments, {5: 12, 300: 310})
    ordered = named(spark, lab, "ordered", orders)
    paid = named(spark, lab, "paid", payments)
    query, rows = run(lab, ordered.join(paid, F.expr("paid_id = ordered_id")))
    assert len(rows) == 2 and in_state(query) == 5

    unmarked = named(spark, lab, "paid", payments, delay=None)
    for refused in joined(ordered, paid), joined(ordered, unmarked, "20 minutes"):
        with pytest.raises(PySparkException, match=r"(?i)outer.*watermark"):
            run(lab, refused)


def test_without_the_orders_watermark_an_outer_join_forgets_and_misses_nothing(
    spark, lab
):
    """It runs: Spark refuses it only where the payments have none."""
    orders, payments = lab.topic("orders", partitions=1), lab.topic("payments")
    sent(lab, orders, [5, 10, 300])
    payments_of(lab, payments, {5: 12, 300: 310})
    paid = named(spark, lab, "paid", payments)
    both = {("o-5", "o-5"), ("o-300", "o-300")}
    for delay, told, kept in (
        ("10 minutes", {*both, ("o-10", None)}, 2),
        (None, both, 5),
    ):
        ordered = named(spark, lab, "ordered", orders, delay)
        query, rows = run(lab, joined(ordered, paid, "20 minutes"))
        assert pairs(rows) == told and in_state(query) == kept


def test_a_third_stream_wants_one_event_time_of_the_first_two(spark, lab):
    """Orders with their payments have two; Spark names them when the query runs."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    topics = [lab.topic(name, partitions=1) for name in ("orders", "paid", "sent")]
    sent(lab, topics[0], [5, 600])
    ordered, paid, shipped = (
        named(spark, lab, name, topic)
        for name, topic in zip(("ordered", "paid", "shipped"), topics, strict=True)
    )
    later = "shipped_at between paid_at and paid_at + interval 130 minutes"
    chain = joined(ordered, paid, "20 minutes").join(
        shipped, F.expr(f"shipped_id = paid_id and {later}"), "left_outer"
    )
    with pytest.raises(PySparkException, match="at most one event time column"):
        run(lab, chain)


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
