"""Lesson 19's three sinks, each killed at each of its calls:

python -m tests.spark.kills [WORDS OF A SINK OR A KILL]

After each kill the query starts again, and its table must be what plain Python makes of
the topic. Without words it writes notebooks/kills_of_three_sinks.md, the map.
"""

import json
import os
import signal
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from minikafka.course.connect import Connection
from minikafka.course.data import dataset
from minikafka.course.experiments.lesson_19_sinks import (
    BY_ID,
    COLUMNS,
    Accounts,
    Bank,
    Fuse,
    Moment,
    balances_of,
    each_partition,
    forget_last_commit,
    life,
    unlist_last,
    until_it_ends,
    write_once,
)
from minikafka.course.places import NOTEBOOKS
from minikafka.course.spark import Lab, session
from minikafka.server.embedded import Served

PAGE = NOTEBOOKS / "kills_of_three_sinks.md"
HEAD = """\
# Three sinks, killed at each of their calls

**{kills} kills, and {equal} times the table still equals the topic.** A Spark query is
killed at each call of its sink, and starts again: its table has each record once, whatever
the call was. The file sink keeps that promise to Spark alone: after at least {twice} of its
{files} kills pandas, which knows nothing of the sink's lists, reads a batch twice.

Each line below is one kill.
"""
HOW = """\
## How it was done

`python -m tests.spark.kills` writes this page. Each kill hits micro-batch 1 of lesson 19's
query. Then the query starts again with its checkpoint. When it has read everything, its
table must equal the one that plain Python makes of the topic. The tests run every row with
PySpark 4.2, on minikafka and on Apache Kafka.

A *task*'s process gets a `kill -9`. At the *driver*'s calls an error ends the query, which
leaves the same checkpoint. For the file sink's lists and commits, we take away the files
that a killed driver wouldn't have written.
"""
HEADS = ("killed", "just before it would", "in the end")
BATCH, AT_MOST = 1, 60
EVENTS = list(dataset("transfers").generate(count=100, seed=7))
POSTINGS = [json.loads(event.value) for event in EVENTS]
ROWS = [
    (each["posting_id"], each["account_id"], each["amount_cents"]) for each in POSTINGS
]
ROW = "posting_id string, account_id string, amount_cents long"
BY_KEY, SUMS, FILES = "rows, upserted by key", "sums, with the batch id", "file sink"


class Kill(NamedTuple):
    """where: the process that ends. at: what it was about to do. how: a Moment, a Fuse,
    or, for the file sink, a number of rows or a function that takes files away.
    """

    where: str
    at: str
    how: object


def in_task(at, call, number=1):
    return Kill("task", at, Fuse(call, number))


def in_driver(at, call, number=1):
    return Kill("driver", at, Fuse(call, number))


BEFORE = Kill("driver", "call the sink", Moment(BATCH, "before"))
AFTER = Kill("driver", "write Spark's commit", Moment(BATCH, "after"))
KILLS = {
    BY_KEY: (
        BEFORE,
        in_task("begin its transaction", "begin"),
        in_task("upsert its first row", "row"),
        in_task("upsert its fifth row", "row", 5),
        in_task("commit its transaction", "commit"),
        in_task("tell Spark that it is done", "end"),
        AFTER,
    ),
    SUMS: (
        BEFORE,
        in_driver("begin its transaction", "begin"),
        in_driver("look for the batch id", "noted"),
        in_driver("add its first sum", "row"),
        in_driver("add its fifth sum", "row", 5),
        in_driver("note the batch id", "note"),
        in_driver("commit its transaction", "commit"),
        in_driver("return to Spark", "end"),
        AFTER,
    ),
    FILES: (
        Kill("task", "write its first row", 0),
        Kill("task", "write its fifth row", 4),
        Kill("driver", "list the files", unlist_last),
        Kill("driver", "write Spark's commit", forget_last_commit),
    ),
}
CASES = [(sink, kill) for sink, kills in KILLS.items() for kill in kills]


class Place:
    """A Kafka with the transfers in it, and a Spark."""

    def __init__(self, lab, spark):
        self.lab, self.spark = lab, spark
        self.topic = lab.topic("transfers", partitions=3)
        lab.send(self.topic, EVENTS)

    def rows(self):
        """A stream of postings."""
        reader = self.spark.readStream.format("kafka").options(
            subscribe=self.topic,
            startingOffsets="earliest",
            maxOffsetsPerTrigger=AT_MOST,
        )
        rows = reader.option("kafka.bootstrap.servers", self.lab.bootstrap).load()
        posting = f"from_json(string(value), '{ROW}') as p"
        return rows.selectExpr("partition", "offset", posting).select(
            "partition", "offset", "p.*"
        )

    def writer(self, rows=None):
        stream = self.rows() if rows is None else rows
        checkpoint = self.lab.checkpoint("kills")
        return stream.writeStream.option("checkpointLocation", checkpoint).trigger(
            availableNow=True
        ), checkpoint


def happens(place, sink, kill):
    """What there is after the kill and a restart, in words, once that is checked."""
    return {BY_KEY: upserts, SUMS: adds, FILES: lists}[sink](place, kill.how)


def struck(writer, sink, how, store):
    """Two lives: one that is killed, and one that reads the rest."""
    if isinstance(how, Moment):
        first = life(writer, sink, how, store)
    else:

        def doomed(frame, batch_id):
            store.fuse = how if batch_id == BATCH else None
            sink(frame, batch_id)

        first = life(writer, doomed, None, store)
        assert f"batch {BATCH} written" not in first, first
    assert "committed" in first and f"batch {BATCH + 1}" not in first, first
    last = life(writer, sink, None, store)
    assert f"batch {BATCH} written and committed" in last, last


def upserts(place, how):
    bank = Bank(f"{COLUMNS}, PRIMARY KEY (posting_id)")
    writer, _ = place.writer()
    write = each_partition(bank, BY_ID)
    struck(writer, lambda frame, _: frame.foreachPartition(write), how, bank)
    truth = balances_of({posting: (who, cents) for posting, who, cents in ROWS})
    assert bank.balances() == truth and bank.total() == 0
    assert sorted(bank.ids()) == sorted({posting for posting, _, _ in ROWS})
    return "equal: each posting once"


def adds(place, how):
    accounts = Accounts()
    writer, _ = place.writer()

    def add(frame, batch_id):
        sums = frame.groupBy("account_id").agg({"*": "count", "amount_cents": "sum"})
        rows = sums.select("account_id", "count(1)", "sum(amount_cents)").collect()
        write_once(accounts, "transfers", batch_id, [tuple(row) for row in rows])

    struck(writer, add, how, accounts)
    truth = Counter()
    for _, who, cents in ROWS:
        truth[who] += cents
    assert accounts.balances() == dict(truth) and len(accounts) == len(ROWS)
    return "equal: each record once"


def lists(place, how):
    folder = place.lab.checkpoint("files")
    rows = place.rows()
    dies = isinstance(how, int)
    flag = Path(place.lab.checkpoint("flag"), "dies")
    if dies:
        flag.touch()
        rows = rows.mapInPandas(dies_after(how, str(flag)), rows.schema)
    writer, checkpoint = place.writer(rows)
    writer = writer.format("parquet").option("path", folder)
    if dies:
        assert until_it_ends(writer) and not flag.exists()
    else:
        assert not until_it_ends(writer)
        take_away_up_to(how, folder, checkpoint)
    assert not until_it_ends(writer)
    found = place.spark.read.parquet(folder).select("posting_id", "account_id")
    assert Counter(map(tuple, found.collect())) == Counter(row[:2] for row in ROWS)
    more = len(pd.read_parquet(folder)) - len(ROWS)
    # files that a task had finished, of a batch that Spark gave up, may stay
    assert more >= 0 and (dies or (more > 0) == (how is unlist_last))
    twice = more > 0 and not dies
    return "equal for Spark" + "<br>**pandas reads a batch twice**" * twice


def take_away_up_to(how, folder, checkpoint):
    """The newest micro-batch's list or commit."""
    if how is unlist_last:
        unlist_last(folder, checkpoint)
    else:
        forget_last_commit(checkpoint)


def dies_after(rows, flag):
    """For mapInPandas: in micro-batch BATCH, a task's process ends after some rows,
    once.
    """

    def pass_on(frames):
        from pyspark import TaskContext

        context = TaskContext.get()
        here = (context.getLocalProperty("streaming.sql.batchId"), os.path.exists(flag))
        for frame in frames:
            yield frame.iloc[:rows]
            if here == (str(BATCH), True) and context.partitionId() == 0:
                os.remove(flag)
                os.kill(os.getpid(), signal.SIGKILL)
            yield frame.iloc[rows:]

    return pass_on


def page(found):
    """found: what happened, by case."""
    ends = list(found.values())
    told = HEAD.format(
        kills=len(ends),
        equal=sum(each.startswith("equal") for each in ends),
        twice=sum("twice" in each for each in ends),
        files=len(KILLS[FILES]),
    )
    parts = [told]
    for sink, kills in KILLS.items():
        parts.append(f"## {sink[0].upper()}{sink[1:]}")
        parts += told_of(kills, [found[sink, kill] for kill in kills])
    parts.append(HOW)
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def told_of(kills, results):
    """One sink's kills; what equal means there is said once, before them."""
    ends, means = zip(*(parted(result) for result in results), strict=True)
    rows = [(kill.where, kill.at, end) for kill, end in zip(kills, ends, strict=True)]
    lines = [f"| {' | '.join(row)} |" for row in (HEADS, *rows)]
    lines.insert(1, "|--" * len(HEADS) + "|")
    told = [f"Equal means {words}." for words in dict.fromkeys(means) if words]
    return [*told, "\n".join(lines)]


def parted(result):
    """The end of a kill in a word or two, and what that means, if it is said."""
    end, _, means = result.partition(": ")
    return end, means


@contextmanager
def a_place():
    with Served() as kafka:
        lab = Lab("19", Connection(kafka.bootstrap))
        spark = session("kills")
        try:
            yield Place(lab, spark)
        finally:
            spark.stop()
            lab.close()


def main(words):
    found = {}
    with a_place() as place:
        for sink, kill in CASES:
            if all(word in f"{sink} {kill.where} {kill.at}" for word in words):
                found[sink, kill] = happens(place, sink, kill)
                print(f"{sink}: {kill.where}, {kill.at}: {found[sink, kill]}")
    if not words:
        PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
