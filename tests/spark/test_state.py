"""What lesson 20 claims of state, timers and a time to live, tried on Spark; its
check's stand-in beside Spark.
"""

import random
import sys

import pytest

from minikafka.course.data import dataset
from minikafka.course.experiments.lesson_20_runs import (
    ROCKSDB,
    as_clock,
    click,
    clicks,
    run,
    solved,
)
from minikafka.course.spark import Lab, patiently
from tests.course.wrong_answers import lesson_20

pytestmark = pytest.mark.spark

GAP_MS = 30 * 60_000
DAY_BEGINS = 978_307_200_000  # ms: 1 January 2001, 00:00 UTC


@pytest.fixture(scope="module")
def spark(spark):
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    return spark


@pytest.fixture(scope="module")
def lab(kafka):
    lab = Lab("20", kafka)
    yield lab
    lab.close()


def by_user(spark, kafka, lab, events, per_batch):
    topic = lab.topic("user_events", partitions=1)
    lab.send(topic, events)
    return clicks(spark, kafka, topic, "10 minutes", per_batch).groupBy("user_id")


def counts_in_an_attribute_and_in_the_state(ttl_ms=None):
    """Made inside a function, so that Spark's workers get the class by value."""
    import pandas as pd
    from pyspark.sql.streaming import StatefulProcessor

    class Visits(StatefulProcessor):
        def __init__(self):
            self.seen = 0

        def init(self, handle):
            self.kept = handle.getValueState("kept", "n long", ttlDurationMs=ttl_ms)

        def handleInputRows(self, key, rows, timerValues):
            count = sum(len(frame) for frame in rows)
            (before,) = self.kept.get() or (0,)
            self.kept.update((before + count,))
            self.seen += count
            yield pd.DataFrame(
                {"user_id": [key[0]], "seen": [self.seen], "kept": [before + count]}
            )

    return Visits()


def a_timer_for_each_row():
    import pandas as pd
    from pyspark.sql.streaming import StatefulProcessor

    class Timers(StatefulProcessor):
        def init(self, handle):
            self.handle = handle

        def handleInputRows(self, key, rows, timerValues):
            for frame in rows:
                for ms in frame["event_time_ms"].tolist():
                    self.handle.registerTimer(ms + 30 * 60_000)
            return iter([])

        def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
            times = (
                expiredTimerInfo.getExpiryTimeInMs(),
                timerValues.getCurrentWatermarkInMs(),
            )
            yield pd.DataFrame(
                [[key[0], *times]], columns=["user_id", "timer", "watermark"]
            )

    return Timers()


def test_an_attribute_forgets_between_micro_batches_and_mixes_keys_and_a_state_variable_does_neither(
    spark, kafka, lab
):
    users = ["bruno"] * 3 + ["wanda"] * 2 + ["bruno"] + ["wanda"] * 4
    grouped = by_user(
        spark, kafka, lab, [click(user, "10:00") for user in users], per_batch=5
    )
    columns = "user_id string, seen long, kept long"
    frame = grouped.transformWithStateInPandas(
        counts_in_an_attribute_and_in_the_state(), columns, "update", "none"
    )
    batches = [
        [tuple(row) for row in rows]
        for rows in run(frame, lab.checkpoint("visits"), "update")
    ]
    assert batches == [
        [("bruno", 3, 3), ("wanda", 5, 2)],
        [("bruno", 1, 4), ("wanda", 5, 6)],
    ]


def test_each_time_is_a_timer_and_somebody_elses_event_sets_it_off(spark, kafka, lab):
    events = [
        click("wanda", clock) for clock in ("10:00", "10:04", "10:08", "10:12", "10:12")
    ]
    grouped = by_user(
        spark, kafka, lab, [*events, click("bruno", "10:48")], per_batch=5
    )
    columns = "user_id string, timer long, watermark long"
    frame = grouped.transformWithStateInPandas(
        a_timer_for_each_row(), columns, "append", "EventTime"
    )
    [rows] = run(frame, lab.checkpoint("timers"))
    assert [
        (row.user_id, as_clock(row.timer), as_clock(row.watermark)) for row in rows
    ] == [
        ("wanda", "10:30", "10:38"),
        ("wanda", "10:34", "10:38"),
        # a watermark that has reached it is enough; 10:12 came twice, and is one timer
        ("wanda", "10:38", "10:38"),
    ]


@pytest.fixture
def data_only(spark):
    """With processing time Spark runs micro-batches without data for ever, to look for
    what has expired.
    """
    name = "spark.sql.streaming.noDataMicroBatches.enabled"
    spark.conf.set(name, "false")
    yield
    spark.conf.unset(name)


@pytest.mark.parametrize(("ttl_ms", "count"), [(GAP_MS, 3), (1, 1)])
def test_a_time_to_live_counts_the_machines_clock_and_not_event_time(
    data_only, spark, kafka, lab, ttl_ms, count
):
    """Six hours lie between the events, and less than half an hour between the
    micro-batches, but more than 1 ms.
    """
    events = [click("wanda", clock) for clock in ("9:00", "9:05", "15:00")]
    processor = counts_in_an_attribute_and_in_the_state(ttl_ms)
    frame = by_user(spark, kafka, lab, events, per_batch=2).transformWithStateInPandas(
        processor, "user_id string, seen long, kept long", "update", "ProcessingTime"
    )
    batches = run(frame, lab.checkpoint("ttl"), "update")
    assert [row.kept for rows in batches for row in rows] == [2, count]


@pytest.fixture
def on_minikafka(kafka, request):
    if "Apache" in request.node.name:
        pytest.skip("Kafka has no part in it")


def test_a_query_whose_python_did_not_come_up_in_time_goes_on_from_its_checkpoint(
    on_minikafka, spark, kafka, lab, tmp_path, monkeypatch
):
    been, python = tmp_path / "been", tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\nmkdir "{been}" 2>/dev/null && exit 1\nexec "{sys.executable}"'
        ' "$@"\n'
    )
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))
    grouped = by_user(
        spark,
        kafka,
        lab,
        [click("wanda", clock) for clock in ("9:00", "9:05")],
        per_batch=2,
    )
    columns = "user_id string, seen long, kept long"
    frame = grouped.transformWithStateInPandas(
        counts_in_an_attribute_and_in_the_state(), columns, "update", "none"
    )
    assert run(frame, lab.checkpoint("late"), "update") == [[("wanda", 2, 2)]]
    assert been.exists()


def test_a_time_to_live_is_refused_with_event_time(on_minikafka, spark, kafka, lab):
    processor = counts_in_an_attribute_and_in_the_state(GAP_MS)
    frame = by_user(
        spark, kafka, lab, [click("wanda", "9:00")], per_batch=2
    ).transformWithStateInPandas(
        processor, "user_id string, seen long, kept long", "update", "EventTime"
    )
    with pytest.raises(Exception, match=r"(?i)ttl"):
        run(frame, lab.checkpoint("refused"), "update")


def two_days(checks):
    """Micro-batches of (user, ms): two of the check's random days, one after the other;
    the clock goes on an hour every three micro-batches.
    """
    source = random.Random(7)
    days = [*checks.a_day(source, late=45), *checks.a_day(source, late=45)]
    batches = []
    for number, rows in enumerate(days):
        hours = number // 3
        batches.append(
            [
                (user, DAY_BEGINS + checks.in_ms(minute + 60 * hours))
                for user, minute in rows
            ]
        )
    return batches


def test_the_stand_in_of_the_check_tells_sessions_as_spark_does(
    on_minikafka, spark, kafka, lab
):
    """Out of order, late, too late: the same rows in the same micro-batch, and the same
    state in the end.
    """
    from minikafka.course.judging import micro_batches
    from minikafka.course.lessons import lesson

    batches = two_days(lesson("20")._module)
    sessions = solved("20", 1, "Sessions")
    frames, store = micro_batches.run(sessions, batches, delay_ms=10 * 60_000)

    topic = lab.topic("user_events", partitions=1)
    checkpoint = lab.checkpoint("sessions")
    found = []
    grouped = clicks(spark, kafka, topic, "10 minutes").groupBy("user_id")
    columns = "user_id string, start_ms long, end_ms long, events long"
    frame = grouped.transformWithStateInPandas(
        sessions(), columns, "append", "EventTime"
    )
    sink = frame.writeStream.outputMode("append").option(
        "checkpointLocation", checkpoint
    )
    sink = sink.foreachBatch(
        lambda rows, _: found[-1].extend(map(tuple, rows.collect()))
    )
    query = None

    def take_in():
        nonlocal query
        query = query if query is not None and query.isActive else sink.start()
        query.processAllAvailable()

    for batch in batches:
        found.append([])
        lab.send(topic, [at(user, ms) for user, ms in batch])
        patiently(take_in)
    query.stop()
    assert found == [
        [row for frame in each for row in frame.itertuples(index=False, name=None)]
        for each in frames
    ]
    state = (
        spark.read.format("statestore").option("stateVarName", "times").load(checkpoint)
    )
    kept = sorted((row.key.user_id, row.list_element.ms) for row in state.collect())
    assert kept == sorted(
        (key[0], ms) for key, times in store.left()["times"].items() for (ms,) in times
    )


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("ShortNames", "unexpected keyword argument"),
        ("PutsWhatIsLeft", "EMPTY_LIST_VALUE"),
        ("AsksWhenItNeedsIt", "INVALID_HANDLE_STATE"),
        ("AFloatIsNoTime", "'float' object cannot be interpreted as an integer"),
        ("TwoForOneColumn", "STRUCT_ARRAY_LENGTH_MISMATCH"),
    ],
)
def test_what_the_stand_in_refuses_spark_refuses(
    on_minikafka, spark, kafka, lab, answer, words
):
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(lesson_20)
    clicked = [click("wanda", "10:00"), click("bruno", "12:00")]
    frame = by_user(spark, kafka, lab, clicked, per_batch=1).transformWithStateInPandas(
        getattr(lesson_20, answer)(),
        "user_id string, start_ms long, end_ms long, events long",
        "append",
        "EventTime",
    )
    with pytest.raises(Exception, match=words):
        run(frame, lab.checkpoint(answer))


def at(user, ms):
    """A click of a user at this time, in ms."""
    events = dataset("user_events")
    value = events.as_json({"user_id": user, "action": "view", "event_time_ms": ms})
    return events.Event("user_events", user.encode(), value, [], ms)
