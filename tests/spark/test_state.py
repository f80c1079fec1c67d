"""What lesson 20 claims of state, timers, a time to live, state stores and real-time
mode, tried on Spark; its check's stand-in and PySpark's TwsTester beside Spark.
"""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from minikafka.course.data import dataset
from minikafka.course.experiments.lesson_20_runs import (
    CHANGELOG,
    IN_MEMORY,
    PROVIDER,
    ROCKSDB,
    as_clock,
    at,
    click,
    clicks,
    run,
    solved,
    written_to_state,
)
from minikafka.course.spark import Lab, patiently
from tests.course.wrong_answers import lesson_20

pytestmark = pytest.mark.spark

GAP_MS = 30 * 60_000
DAY_BEGINS = 978_307_200_000  # ms: 1 January 2001, 00:00 UTC


@pytest.fixture(scope="module")
def spark(spark):
    spark.conf.set(PROVIDER, ROCKSDB)
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
    from pyspark.sql import Row
    from pyspark.sql.streaming import StatefulProcessor

    class Visits(StatefulProcessor):
        def __init__(self):
            self.seen = 0

        def init(self, handle):
            self.kept = handle.getValueState("kept", "n long", ttlDurationMs=ttl_ms)

        def handleInputRows(self, key, rows, timerValues):
            count = len(list(rows))
            (before,) = self.kept.get() or (0,)
            self.kept.update((before + count,))
            self.seen += count
            yield Row(user_id=key[0], seen=self.seen, kept=before + count)

    return Visits()


def a_timer_for_each_row():
    from pyspark.sql import Row
    from pyspark.sql.streaming import StatefulProcessor

    class Timers(StatefulProcessor):
        def init(self, handle):
            self.handle = handle

        def handleInputRows(self, key, rows, timerValues):
            for row in rows:
                self.handle.registerTimer(row.event_time_ms + 30 * 60_000)
            return iter([])

        def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
            yield Row(
                user_id=key[0],
                timer=expiredTimerInfo.getExpiryTimeInMs(),
                watermark=timerValues.getCurrentWatermarkInMs(),
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
    frame = grouped.transformWithState(
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


def test_the_tester_keeps_one_processor_where_spark_has_one_for_each_task_of_a_micro_batch(
    spark, kafka, lab
):
    from pyspark.sql import Row
    from pyspark.sql.streaming.tws_tester import TwsTester

    turns = [("bruno", 3), ("wanda", 2), ("bruno", 1), ("wanda", 4)]
    tester = TwsTester(counts_in_an_attribute_and_in_the_state(ttl_ms=1))
    given = []
    for user, count in turns:
        rows = [Row(user_id=user, event_time_ms=at("10:00"))] * count
        given += map(tuple, tester.test(user, rows))

    clicked = [click(user, "10:00") for user, count in turns for _ in range(count)]
    frame = by_user(spark, kafka, lab, clicked, per_batch=5).transformWithState(
        counts_in_an_attribute_and_in_the_state(),
        "user_id string, seen long, kept long",
        "update",
        "none",
    )
    batches = run(frame, lab.checkpoint("tested"), "update")
    on_spark = [tuple(row) for rows in batches for row in rows]
    assert [seen for _, seen, _ in given] == [3, 5, 6, 10]
    assert [seen for _, seen, _ in on_spark] == [3, 5, 1, 5]
    # the state is alike; of a time to live of a millisecond the tester knows nothing
    assert [kept for *_, kept in given] == [kept for *_, kept in on_spark]


def test_the_tester_takes_what_spark_refuses():
    """The last four of test_what_the_stand_in_refuses_spark_refuses."""
    from pyspark.sql import Row
    from pyspark.sql.streaming.tws_tester import TwsTester

    for answer in ("ShortNames", "PutsWhatIsLeft", "TwoForOneColumn", "KeepsTexts"):
        tester = TwsTester(
            getattr(lesson_20, answer)(),
            timeMode="EventTime",
            eventTimeExtractor=lambda row: row.event_time_ms,
        )
        tester.test("wanda", [Row(user_id="wanda", event_time_ms=at("10:00"))])
    tester = TwsTester(
        lesson_20.ShortNames(),
        timeMode="EventTime",
        eventTimeExtractor=lambda row: row.event_time_ms,
    )
    tester.test("wanda", [Row(user_id="wanda", event_time_ms=at("10:00"))])
    assert len(tester.setWatermark(at("10:30"))) == 1


def counts(spark, kafka, topic, per_batch=500):
    """How many clicks each user has, with whichever store is set."""
    return clicks(spark, kafka, topic, per_batch=per_batch).groupBy("user_id").count()


@pytest.fixture
def stores(spark):
    """Sets a state store; RocksDB without changelogs afterwards."""

    def choose(provider, changelog):
        spark.conf.set(PROVIDER, provider)
        spark.conf.set(CHANGELOG, changelog)

    yield choose
    spark.conf.set(PROVIDER, ROCKSDB)
    spark.conf.unset(CHANGELOG)


def test_three_changed_keys_are_a_hundred_bytes_but_for_rocksdb_without_changelogs(
    spark, kafka, lab, stores
):
    topic = lab.topic("user_events", partitions=1)
    everybody = [click(f"user-{number}", "10:00") for number in range(500)]
    lab.send(topic, [*everybody, *everybody[:3]])
    found = {}
    for provider, changelog in (
        (IN_MEMORY, "false"),
        (ROCKSDB, "false"),
        (ROCKSDB, "true"),
    ):
        stores(provider, changelog)
        _, second = written_to_state(
            counts(spark, kafka, topic), lab.checkpoint("counts")
        )
        kinds = {Path(name).suffix: size for name, size in second.items()}
        found[provider, changelog] = kinds
    assert set(found[IN_MEMORY, "false"]) == {".delta"}
    assert set(found[ROCKSDB, "true"]) == {".changelog"}
    assert set(found[ROCKSDB, "false"]) == {".sst", ".zip"}
    small = *found[IN_MEMORY, "false"].values(), *found[ROCKSDB, "true"].values()
    assert max(small) < 150 and sum(found[ROCKSDB, "false"].values()) > 4000


def test_a_checkpoint_keeps_its_store_and_takes_changelogs_or_leaves_them(
    on_minikafka, spark, kafka, lab, stores
):
    topic = lab.topic("user_events", partitions=1)
    rocks, memory = lab.checkpoint("rocks"), lab.checkpoint("memory")

    def once_more(checkpoint):
        lab.send(topic, [click("wanda", "10:00")])
        frame = counts(spark, kafka, topic, per_batch=100)
        names = written_to_state(frame, checkpoint)[-1]
        return {Path(name).suffix for name in names} - {".sst"}

    stores(ROCKSDB, "false")
    assert once_more(rocks) == {".zip"}
    stores(ROCKSDB, "true")
    assert once_more(rocks) - {".zip"} == {".changelog"}
    stores(ROCKSDB, "false")
    assert ".zip" in once_more(rocks)
    stores(IN_MEMORY, "false")
    assert ".delta" in once_more(memory)
    assert ".delta" not in once_more(rocks)
    stores(ROCKSDB, "true")
    assert once_more(memory) == {".delta"}
    stores(IN_MEMORY, "false")
    frame = clicks(spark, kafka, topic).groupBy("user_id")
    processor = counts_in_an_attribute_and_in_the_state()
    columns = "user_id string, seen long, kept long"
    with pytest.raises(Exception, match="STORE_BACKEND_NOT_SUPPORTED_FOR_TWS"):
        run(
            frame.transformWithState(processor, columns, "update", "none"),
            lab.checkpoint("refused"),
            "update",
        )


NO_PANDAS = """
import importlib.abc, os, sys
class NoPandas(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "pandas" and os.environ.get("NO_PANDAS"):
            raise ModuleNotFoundError("No module named 'pandas'", name=name)
sys.meta_path.insert(0, NoPandas())
"""
COUNTS = """
import os, sys
driver_too = sys.argv[1] == "driver too"
from minikafka.course.connect import Connection
from minikafka.course.experiments.lesson_20_runs import PROVIDER, ROCKSDB, click, clicks, run
from minikafka.course.spark import Lab, session
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor
class Counts(StatefulProcessor):
    def init(self, handle):
        self.kept = handle.getValueState("kept", "n long")
    def handleInputRows(self, key, rows, timerValues):
        yield Row(n=len(list(rows)), pandas="pandas" in __import__("sys").modules)
os.environ["NO_PANDAS"] = "1"  # from here on: of the workers
spark = session()
if not driver_too:
    del os.environ["NO_PANDAS"]
spark.conf.set(PROVIDER, ROCKSDB)
spark.conf.set("spark.sql.shuffle.partitions", "1")
kafka = Connection(sys.argv[2])
lab = Lab("20p", kafka)
topic = lab.topic("user_events", partitions=1)
lab.send(topic, [click("wanda", "10:00")] * 2)
by_user = clicks(spark, kafka, topic).groupBy("user_id")
frame = by_user.transformWithState(Counts(), "n long, pandas boolean", "update", "none")
print(run(frame, lab.checkpoint("p"), "update"))
lab.close()
spark.stop()
"""


@pytest.mark.parametrize("where", ["driver too", "workers alone"])
def test_rows_need_pandas_on_the_driver_and_not_in_the_workers(
    on_minikafka, kafka, tmp_path, where
):
    (tmp_path / "sitecustomize.py").write_text(NO_PANDAS)
    paths = [str(tmp_path), str(Path(__file__).parents[2])]
    done = subprocess.run(
        [sys.executable, "-c", COUNTS, where, kafka.bootstrap],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    if where == "driver too":
        assert "Pandas >= 2.2.0 must be installed" in done.stderr
    else:
        assert "[[Row(n=2, pandas=False)]]" in done.stdout, done.stderr


def test_each_time_is_a_timer_and_somebody_elses_event_sets_it_off(spark, kafka, lab):
    events = [
        click("wanda", clock) for clock in ("10:00", "10:04", "10:08", "10:12", "10:12")
    ]
    grouped = by_user(
        spark, kafka, lab, [*events, click("bruno", "10:48")], per_batch=5
    )
    columns = "user_id string, timer long, watermark long"
    frame = grouped.transformWithState(
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
    frame = by_user(spark, kafka, lab, events, per_batch=2).transformWithState(
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
    frame = grouped.transformWithState(
        counts_in_an_attribute_and_in_the_state(), columns, "update", "none"
    )
    assert run(frame, lab.checkpoint("late"), "update") == [[("wanda", 2, 2)]]
    assert been.exists()


def test_a_time_to_live_is_refused_with_event_time(on_minikafka, spark, kafka, lab):
    processor = counts_in_an_attribute_and_in_the_state(GAP_MS)
    frame = by_user(
        spark, kafka, lab, [click("wanda", "9:00")], per_batch=2
    ).transformWithState(
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
    given, store = micro_batches.run(sessions, batches, delay_ms=10 * 60_000)

    topic = lab.topic("user_events", partitions=1)
    checkpoint = lab.checkpoint("sessions")
    found = []
    grouped = clicks(spark, kafka, topic, "10 minutes").groupBy("user_id")
    columns = "user_id string, start_ms long, end_ms long, events long"
    frame = grouped.transformWithState(sessions(), columns, "append", "EventTime")
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
        lab.send(topic, [click_at(user, ms) for user, ms in batch])
        patiently(take_in)
    query.stop()
    assert found == [[tuple(row) for row in each] for each in given]
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
        ("Tuples", "'tuple' object has no attribute 'asDict'"),
        ("RowsWithoutNames", "Cannot convert Row into dict"),
    ],
)
def test_what_the_stand_in_refuses_spark_refuses(
    on_minikafka, spark, kafka, lab, answer, words
):
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(lesson_20)
    clicked = [click("wanda", "10:00"), click("bruno", "12:00")]
    frame = by_user(spark, kafka, lab, clicked, per_batch=1).transformWithState(
        getattr(lesson_20, answer)(),
        "user_id string, start_ms long, end_ms long, events long",
        "append",
        "EventTime",
    )
    with pytest.raises(Exception, match=words):
        run(frame, lab.checkpoint(answer))


def click_at(user, ms):
    """A click of a user at this time, in ms."""
    events = dataset("user_events")
    value = events.as_json({"user_id": user, "action": "view", "event_time_ms": ms})
    return events.Event("user_events", user.encode(), value, [], ms)


def in_real_time(spark, kafka, lab, rows, batch="5 minutes", mode="update", **to):
    """A query that is started, and its checkpoint."""
    checkpoint = lab.checkpoint("real-time")
    sink = rows.writeStream.format("kafka").outputMode(mode)
    sink = sink.option("kafka.bootstrap.servers", kafka.bootstrap).options(**to)
    sink = sink.option("checkpointLocation", checkpoint).trigger(realTime=batch)
    return sink.start(), Path(checkpoint)


def as_they_are(spark, kafka, topic):
    stream = spark.readStream.format("kafka").option("subscribe", topic)
    stream = stream.option("kafka.bootstrap.servers", kafka.bootstrap)
    return stream.option("startingOffsets", "earliest").load().select("key", "value")


def test_in_real_time_records_pass_before_their_offsets_are_written(spark, kafka, lab):
    """A batch of five minutes: it is still running when its record has arrived."""
    topic, copy = (lab.topic("user_events", partitions=1) for _ in range(2))
    rows = as_they_are(spark, kafka, topic)
    query, checkpoint = in_real_time(spark, kafka, lab, rows, topic=copy)
    lab.send(topic, [click("wanda", "10:00")])
    consumer = kafka.consumer(
        copy, auto_offset_reset="earliest", consumer_timeout_ms=120_000
    )
    assert next(consumer).key == b"wanda"
    consumer.close()
    assert query.isActive and not (checkpoint / "commits" / "0").exists()
    query.stop()


def test_real_time_mode_refuses_append_short_batches_aggregations_and_python(
    on_minikafka, spark, kafka, lab
):
    from pyspark.sql import functions as F

    topic, copy = (lab.topic("user_events", partitions=1) for _ in range(2))
    rows = as_they_are(spark, kafka, topic)
    with pytest.raises(Exception, match="The output mode Append is not supported"):
        in_real_time(spark, kafka, lab, rows, mode="append", topic=copy)
    with pytest.raises(Exception, match="less than the 5000 ms minimum"):
        in_real_time(spark, kafka, lab, rows, batch="1 second", topic=copy)
    decoded = F.udf(lambda value: value.decode())("value").alias("value")
    text = F.col("count").cast("string").alias("value")
    visits = clicks(spark, kafka, topic).groupBy("user_id")
    counted = visits.transformWithState(
        counts_in_an_attribute_and_in_the_state(),
        "user_id string, seen long, kept long",
        "update",
        "none",
    )
    for frame, words in (
        (rows.select("key", decoded), "ArrowEvalPythonExec|BatchEvalPythonExec"),
        (rows.groupBy("key").count().select("key", text), "HashAggregateExec"),
        (counted.select(F.col("user_id").alias("value")), "operator metadata|allow"),
    ):
        query, _ = in_real_time(spark, kafka, lab, frame, topic=copy)
        with pytest.raises(Exception, match=words):
            query.awaitTermination(120)
