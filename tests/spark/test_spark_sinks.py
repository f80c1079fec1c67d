"""What a Spark query does again after a crash, and what its sinks make of it, on
minikafka and on Apache Kafka.

What lesson 19 claims, as one check each: the ledger (`notebooks/claims.toml`) names
these tests. The plug is pulled by an error on the driver, or by kill -9 of a task's
process; tests/spark/test_pipeline.py kills a driver.
"""

import json
from pathlib import Path

import pytest

from minikafka.course.data import dataset
from minikafka.course.experiments.lesson_19_checkpoints import KILLED, RECORDED, watch
from minikafka.course.experiments.lesson_19_sinks import (
    BY_ID,
    BY_OFFSET,
    COLUMNS,
    INSERT,
    Accounts,
    Bank,
    Moment,
    balances_of,
    checkpoint_of,
    drill,
    each_partition,
    forget_last_commit,
    life,
    write_once,
)
from minikafka.course.experiments.lesson_19_sweep import sweep
from minikafka.course.spark import Lab, rows_read

pytestmark = [pytest.mark.nightly, pytest.mark.spark]

FIVE_KILLS = [
    Moment(0, "before"),
    Moment(0, "in"),
    Moment(1, "after"),
    Moment(2, "in"),
    Moment(2, "after"),
]
EVENTS = list(dataset("transfers").generate(count=40, seed=7))
POSTINGS = [json.loads(event.value) for event in EVENTS]
ROWS = [
    (each["posting_id"], each["account_id"], each["amount_cents"]) for each in POSTINGS
]


@pytest.fixture(scope="module")
def lab(kafka):
    lab = Lab("19", kafka)
    yield lab
    lab.close()


@pytest.fixture
def topic(lab):
    """With all postings in it."""
    topic = lab.topic("transfers")
    lab.send(topic, EVENTS)
    return topic


@pytest.fixture
def query(spark, kafka):
    """A stream of postings that has a checkpoint, and no sink yet."""

    def made(topic, checkpoint, at_most=30):
        rows = spark.readStream.format("kafka").option(
            "kafka.bootstrap.servers", kafka.bootstrap
        )
        rows = rows.options(
            subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=at_most
        ).load()
        posting = "posting_id string, account_id string, amount_cents long"
        return (
            rows.selectExpr(
                "partition", "offset", f"from_json(string(value), '{posting}') as p"
            )
            .select("partition", "offset", "p.*")
            .writeStream.option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
        )

    return made


def into(table, statement):
    """A bank, and a sink whose tasks write to it."""
    bank = Bank(table)
    write = each_partition(bank, statement)
    return bank, lambda frame, batch_id: frame.foreachPartition(write)


def appends():
    return into(COLUMNS, INSERT)


def by_offset():
    return into(f"{COLUMNS}, PRIMARY KEY (part, at)", BY_OFFSET)


def by_id():
    return into(f"{COLUMNS}, PRIMARY KEY (posting_id)", BY_ID)


def adds():
    accounts = Accounts()

    def sink(frame, batch_id):
        sums = frame.groupBy("account_id").agg({"*": "count", "amount_cents": "sum"})
        rows = sums.select("account_id", "count(1)", "sum(amount_cents)").collect()
        write_once(accounts, "transfers", batch_id, [tuple(row) for row in rows])

    return accounts, sink


def test_a_plan_without_a_commit_is_done_again_with_its_rows_and_its_batch_id(
    lab, topic, query
):
    """Though the limit is another now, and there is more to read."""
    given, checkpoint = [], lab.checkpoint("again")

    def keep(frame, batch_id):
        given.append((batch_id, sorted(map(tuple, frame.collect()))))

    assert life(query(topic, checkpoint), keep, Moment(1, "after")).endswith(
        "plug pulled before its commit"
    )
    offsets, commits = checkpoint_of(checkpoint)
    assert set(offsets) == {0, 1} and commits == {0}
    lab.send(topic, dataset("transfers").generate(count=10, seed=8))
    life(query(topic, checkpoint, at_most=1000), keep)
    assert given[1] == given[2] and given[1][0] == 1
    assert [batch_id for batch_id, _ in given] == [0, 1, 1, 2]
    assert sum(len(rows) for _, rows in given[2:]) + len(given[0][1]) == sum(
        lab.ends(topic).values()
    )


@pytest.mark.parametrize("made", [appends, by_offset, by_id, adds])
def test_after_five_kills_the_sums_are_right_by_key_or_with_the_batch_id_and_else_not(
    lab, topic, query, made
):
    """Right: every record once, by offset or in sums; by its id every posting once,
    though the topic has one of them twice.
    """
    bank, sink = made()
    lives = drill(query(topic, lab.checkpoint("five")), sink, FIVE_KILLS, bank)
    assert sum("plug pulled" in line for line in lives) == 5 and "plug" not in lives[-1]
    each_posting_once = balances_of(
        {posting: (account, cents) for posting, account, cents in ROWS}
    )
    each_record_once = balances_of(
        {number: (account, cents) for number, (_, account, cents) in enumerate(ROWS)}
    )
    assert sum(each_posting_once.values()) == 0 != sum(each_record_once.values())
    if made is appends:
        assert len(bank) > len(ROWS) and bank.balances() != each_posting_once
    elif made is by_id:
        assert bank.balances() == each_posting_once and bank.twice() == 0
    else:
        assert bank.balances() == each_record_once and len(bank) == len(ROWS)
    if made is by_offset:
        assert bank.twice() == 1


def test_the_kafka_sink_writes_a_batch_again_and_read_committed_shows_both(
    lab, topic, spark, kafka
):
    copy, checkpoint = lab.topic("copy"), lab.checkpoint("copy")
    rows = spark.readStream.format("kafka").option(
        "kafka.bootstrap.servers", kafka.bootstrap
    )
    rows = (
        rows.options(subscribe=topic, startingOffsets="earliest")
        .load()
        .select("key", "value")
    )
    writer = (
        rows.writeStream.format("kafka")
        .option("kafka.bootstrap.servers", kafka.bootstrap)
        .option("topic", copy)
    )
    writer = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    writer.start().awaitTermination()
    assert forget_last_commit(checkpoint) == 0
    writer.start().awaitTermination()
    found = sorted(
        record.value for record in lab.records(copy, isolation_level="read_committed")
    )
    assert found == sorted(2 * [event.value for event in EVENTS])


def test_a_new_checkpoint_begins_at_batch_0_and_a_sink_that_knows_batch_ids_leaves_it_out(
    lab, topic, query
):
    accounts, sink = adds()
    life(query(topic, lab.checkpoint("first")), sink)
    assert accounts.noted("transfers") == 2 and len(accounts) == len(ROWS)
    lab.send(topic, EVENTS[:10])
    assert (
        life(query(topic, lab.checkpoint("second"), at_most=1000), sink)
        == "batch 0 written and committed"
    )
    assert len(accounts) == len(ROWS)


def test_each_task_writes_a_new_file_in_each_micro_batch(lab, topic, query):
    folder = Path(lab.checkpoint("files"))
    writer = query(topic, lab.checkpoint("small")).format("parquet")
    writer.option("path", str(folder)).start().awaitTermination()
    partitions, batches = 3, 3
    assert len(list(folder.glob("*.parquet"))) == partitions * batches


def test_each_action_on_a_micro_batch_reads_the_topic_again_unless_it_is_kept(
    lab, topic, query
):
    def twice(frame, batch_id):
        assert frame.count() == frame.count() == len(ROWS)

    def kept(frame, batch_id):
        frame.persist()
        twice(frame, batch_id)
        frame.unpersist()

    assert [rows_read(run(query, lab, topic, sink)) for sink in (twice, kept)] == [
        2 * len(ROWS),
        len(ROWS),
    ]


def test_the_picture_of_three_kills_is_what_spark_wrote(lab, query):
    bank, topic, checkpoint = Bank(), lab.topic("transfers"), lab.checkpoint("watched")

    def row_by_row(rows):
        for row in rows:
            each_partition(bank, INSERT)([row])

    def one_task(frame, batch_id):
        frame.coalesce(1).foreachPartition(row_by_row)

    lab.send(topic, list(dataset("transfers").generate(count=150, seed=7))[:200])
    writer = query(topic, checkpoint, at_most=80)
    seen = watch(writer, one_task, KILLED, bank, checkpoint)
    assert seen == RECORDED


def test_of_three_sinks_the_one_that_appends_repeats_what_it_wrote_before_a_kill(
    lab, query
):
    """A posting that is in the topic once."""
    topic = lab.topic("once")
    each_once = {json.loads(event.value)["posting_id"]: event for event in EVENTS}
    lab.send(topic, list(each_once.values()))
    sinks = {"append": appends, "by key": by_offset, "batch id": adds}
    pic = sweep(lambda checkpoint: query(topic, checkpoint, at_most=40), sinks, lab)
    written = [run["written"] for run in pic.scenes[-1]["space"]["runs"]]
    whole = [1] * len(written[0])
    assert written[0] == whole
    # of three tasks one was killed; what the others had written depends on when
    assert 1 <= written[1][1] < 2
    assert written[2][1] == 2
    assert written[3:] == [whole] * 6


def run(query, lab, topic, sink):
    started = (
        query(topic, lab.checkpoint("actions"), at_most=1000).foreachBatch(sink).start()
    )
    started.awaitTermination()
    return started
