"""`minikafka pipeline`: a shop's orders and customers from Kafka through Spark to
Parquet, and back to a topic.

Orders come late, twice, in two formats, and one is rubbish; customers move and leave.
In the middle of the day Spark is killed (kill -9) when a micro-batch is written and not
yet noted, and is started again. In the end the result is compared with what plain
Python makes of the same events (truth.py).

With --follow nothing is killed and nothing compared: the job goes on until Ctrl-C.
With --from-topic the orders are somebody's own.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from kafka.errors import KafkaError

from minikafka.course.connect import VARIABLE, Connection, NobodyAnswers, named
from minikafka.course.data import dataset
from minikafka.course.pipeline.job import ORDER, Job
from minikafka.course.pipeline.process import (
    JobFailed,
    Terminated,
    live,
    terminated_as_interrupted,
)
from minikafka.course.pipeline.truth import Truth, truth
from minikafka.course.spark import Lab, SparkMissing, require_java, require_pyspark
from minikafka.server.embedded import Served
from minikafka.theatre.text import listed

KILLED_IN = 1  # the micro-batch of the orders: the second of the morning's two
SHOWN = 3  # differences of each kind
OWN_PER_BATCH = 100_000  # records of a learner's own topic
INTERRUPTED, TERMINATED = 130, 143  # as shells say it

_NOBODY = """minikafka: nobody answers at {bootstrap}.
  Start that Kafka, or {else_}: the pipeline then starts a small one of its own."""
_NO_KILL = (
    "minikafka: the pipeline kills Spark with kill -9, which Windows doesn't have. Run"
    " it in WSL2."
)
_NOT_EMPTY = (
    "minikafka: {folder} is not empty. Name a new folder for the Parquet files, or an"
    " empty one."
)
_GONE = """minikafka: the Kafka at {bootstrap} does not answer any more ({error}).
  Start it again, and run the pipeline once more: it starts over."""
_NO_KAFKA = f"""minikafka: --from-topic needs the Kafka that has the topic.
  Name it: --bootstrap HOST:PORT, or {VARIABLE}."""
_NO_TOPIC = """minikafka: there is no topic {topic} at {bootstrap}.
  It has {others}."""
_FAILED = """minikafka: the Spark job ended before its work was done:
{said}
  Is the Kafka at {bootstrap} still there? Its topics and checkpoints of this run are removed; run it again."""


class NoTopic(Exception):
    """--from-topic names one that isn't there; the message has those that are."""


class Part(NamedTuple):
    """Half a day: the events of both streams by ingest time."""

    orders: list[Any]
    changes: list[Any]


class Arrived(NamedTuple):
    """The content of the topics and the Parquet files in the end. sent: the records of
    the two topics of results.
    """

    revenue: dict[tuple[str, str], tuple[int, int]]
    customers: dict[str, tuple[str, str]]
    orders: list[str]
    unreadable: dict[str, bytes]  # address -> value
    sent: dict[str, int]


def main(args: argparse.Namespace) -> int:
    """`minikafka pipeline [--follow] [--from-topic NAME] [--count N] [--seed N]
    [--bootstrap HOST:PORT] [--out DIR]`: 0 when the result is equal, or when it has
    followed until somebody ended it. Without --bootstrap it uses the Kafka that
    MINIKAFKA_BOOTSTRAP names.
    """
    if not hasattr(os, "killpg"):
        print(_NO_KILL, file=sys.stderr)
        return 1
    out = Path(args.out).resolve() if args.out else None
    if out is not None and not _is_free(out):
        print(_NOT_EMPTY.format(folder=args.out), file=sys.stderr)
        return 2
    bootstrap = args.bootstrap or named() or None
    if args.from_topic and bootstrap is None:
        print(_NO_KAFKA, file=sys.stderr)
        return 2
    address = bootstrap or "its own address"
    try:
        with terminated_as_interrupted():
            require_pyspark()
            require_java()
            return run(args, bootstrap, out)
    except NobodyAnswers:
        else_ = "leave --bootstrap away" if args.bootstrap else f"unset {VARIABLE}"
        print(_NOBODY.format(bootstrap=bootstrap, else_=else_), file=sys.stderr)
    except NoTopic as error:
        print(error, file=sys.stderr)
        return 2
    except SparkMissing as error:
        print(error, file=sys.stderr)
    except JobFailed as error:
        print(_FAILED.format(said=error, bootstrap=address), file=sys.stderr)
    except KafkaError as error:
        print(_GONE.format(bootstrap=address, error=error), file=sys.stderr)
    except Terminated:
        return TERMINATED
    except KeyboardInterrupt:
        return INTERRUPTED
    return 1


def _is_free(folder: Path) -> bool:
    """Is there nothing yet, or an empty folder?"""
    if not folder.exists():
        return True
    return folder.is_dir() and not any(folder.iterdir())


def run(args: argparse.Namespace, bootstrap: str | None, out: Path | None) -> int:
    """Nothing stays but what is in `out`."""
    with ExitStack() as stack:
        scratch = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="minikafka-pipeline-")
        )
        kafka = Connection(bootstrap or stack.enter_context(Served()).bootstrap)
        kafka.check()
        lab = Lab("pipeline", kafka)
        stack.callback(lab.close)
        tables = out or Path(scratch, "tables")
        stack.callback(_remove_begun, tables)
        if args.from_topic:
            _from_topic(args.from_topic, lab, kafka, tables, args.follow, scratch)
            equal = True
        elif args.follow:
            _follow(halves(args.count, args.seed), lab, tables, scratch)
            equal = True
        else:
            equal = _drill(halves(args.count, args.seed), lab, tables, scratch)
    if out is not None:
        print(f"The Parquet files are in {out}.")
    return 0 if equal else 1


def _remove_begun(tables: Path) -> None:
    """Remove files that a killed job had begun to write, under names that readers
    ignore.
    """
    for begun in tables.rglob(".batch=*"):
        shutil.rmtree(begun, ignore_errors=True)


def _drill(parts: tuple[Part, Part], lab: Lab, tables: Path, scratch: str) -> bool:
    """The whole day with a crash in it, and the comparison: is the result equal?"""
    morning, afternoon = parts
    job = _job_of_the_shop(lab, tables, morning)
    _send(lab, job, morning, "the morning")
    live(replace(job, hold_in=KILLED_IN), scratch)
    print(
        "Spark is killed (kill -9): what it has written stays, and its checkpoint"
        " knows nothing of it"
    )
    _send(lab, job, afternoon, "the afternoon")
    live(job, scratch)
    arrived = what_arrived(lab, job)
    orders = morning.orders + afternoon.orders
    changes = morning.changes + afternoon.changes
    lines, equal = compared(truth(orders, changes), arrived)
    print("\nBeside what plain Python makes of the same events:", *lines, sep="\n  ")
    print("Equal." if equal else "NOT equal.")
    return equal


def _follow(parts: tuple[Part, Part], lab: Lab, tables: Path, scratch: str) -> None:
    """The shop's day, and whatever somebody sends to its topic, until Ctrl-C."""
    morning, afternoon = parts
    job = replace(_job_of_the_shop(lab, tables, morning), follow=True)
    _send(lab, job, morning, "the morning")
    _send(lab, job, afternoon, "the afternoon")
    print(f"It follows {job.topics['orders']} at {lab.bootstrap} until Ctrl-C.")
    _say_where_the_totals_go(job)
    live(job, scratch)


def _from_topic(
    topic: str, lab: Lab, kafka: Connection, tables: Path, follow: bool, scratch: str
) -> None:
    """Somebody's own topic, which stays as it is; to its end, or until Ctrl-C."""
    admin = kafka.admin()
    there = sorted(name for name in admin.list_topics() if not name.startswith("__"))
    admin.close()
    if topic not in there:
        others = f"topics {listed(there)}" if there else "no topic at all"
        raise NoTopic(
            _NO_TOPIC.format(topic=topic, bootstrap=lab.bootstrap, others=others)
        )
    job = Job(
        bootstrap=lab.bootstrap,
        topics={"orders": topic, **_results(lab)},
        checkpoints={"orders": lab.checkpoint("orders")},
        tables=str(tables),
        per_batch=OWN_PER_BATCH,
        follow=follow,
    )
    until = "until Ctrl-C" if follow else "to its end"
    print(f"It reads {topic} at {lab.bootstrap} from its beginning {until}.")
    print(f"An order is JSON with {ORDER}; what is none is set aside.")
    _say_where_the_totals_go(job)
    live(job, scratch)


def _job_of_the_shop(lab: Lab, tables: Path, morning: Part) -> Job:
    topics = {
        "orders": lab.topic("orders"),
        "customers": lab.topic("customers_cdc", partitions=1),
    }
    checkpoints = {name: lab.checkpoint(name) for name in ("orders", "customers")}
    return Job(
        bootstrap=lab.bootstrap,
        topics={**topics, **_results(lab)},
        checkpoints=checkpoints,
        tables=str(tables),
        per_batch=len(morning.orders) // 2 + 1,
    )


def _results(lab: Lab) -> dict[str, str]:
    """New topics, which go when the pipeline ends."""
    return {
        "revenue": lab.topic("revenue", configs={"cleanup.policy": "compact"}),
        "unreadable": lab.topic("unreadable", partitions=1),
    }


def _say_where_the_totals_go(job: Job) -> None:
    print(f"Totals by hour and city go to the topic {job.topics['revenue']}.")


def halves(count: int, seed: int) -> tuple[Part, Part]:
    """The events until 13:00, and the rest: an order that was offline at noon is in the
    second.
    """
    orders, cdc = dataset("orders"), dataset("customers_cdc")
    noon = orders.DAY_STARTS + orders.DAY_MS // 2
    placed = orders.stream("orders", count=count, seed=seed)
    changes = cdc.generate(count=count // 2, seed=seed)
    morning, afternoon = Part([], []), Part([], [])
    for event in placed:
        part = morning if event.ingest_ms < noon else afternoon
        part.orders.append(event)
    for event in changes:
        part = morning if event.ingest_ms < noon else afternoon
        part.changes.append(event)
    return morning, afternoon


def _send(lab: Lab, job: Job, part: Part, called: str) -> None:
    lab.send(job.topics["customers"], part.changes)
    lab.send(job.topics["orders"], part.orders)
    print(
        f"{called}: {len(part.orders):,} orders and {len(part.changes):,} changes of"
        " customers are in Kafka"
    )


def what_arrived(lab: Lab, job: Job) -> Arrived:
    """Read with kafka-python and pandas: any program after Spark sees the same."""
    import pandas

    changes = pandas.read_parquet(job.table("customers")).sort_values("lsn")
    latest = changes.drop_duplicates("customer_id", keep="last")
    there = latest[latest["city"].notna()]
    orders = pandas.read_parquet(job.table("orders"))
    results = lab.records(job.topics["revenue"])
    revenue = {}
    # those of one key are in order: they have one partition
    for record in results:
        total = json.loads(record.value)
        hour_and_city = total["hour"], total["city"]
        revenue[hour_and_city] = total["orders"], total["cents"]
    set_aside = lab.records(job.topics["unreadable"])
    unreadable = {}
    for record in set_aside:
        address = dict(record.headers)["from"].decode()
        unreadable[address] = record.value
    return Arrived(
        revenue=revenue,
        customers={row.customer_id: (row.city, row.tier) for row in there.itertuples()},
        orders=list(orders["event_id"]),
        unreadable=unreadable,
        sent={"revenue": len(results), "unreadable": len(set_aside)},
    )


class Compared(NamedTuple):
    """One result beside the truth. note: what else is to be said of it."""

    name: str
    right: dict[Any, Any]
    found: dict[Any, Any]
    note: str = ""

    def lines(self) -> list[str]:
        right, found = self.right, self.found
        equal = sum(found.get(key) == value for key, value in right.items())
        note = f" ({self.note})" if self.note else ""
        lines = [f"{self.name}: {equal:,} of {len(right):,} equal{note}"]
        keys = right.keys() | found.keys()
        differing = sorted(key for key in keys if right.get(key) != found.get(key))
        for key in differing[:SHOWN]:
            lines.append(f"    {key}: {found.get(key)}, should be {right.get(key)}")
        return lines


def compared(expected: Truth, arrived: Arrived) -> tuple[list[str], bool]:
    """A line for each result, with the first differences; and whether there are
    none.
    """
    parts = (
        Compared(
            "orders in Parquet",
            right=_counted(expected.orders),
            found=_counted(arrived.orders),
            note=(
                f"{expected.late} of them late, and in the hour in which they were"
                " placed"
            ),
        ),
        Compared(
            "customers in Parquet", right=expected.customers, found=arrived.customers
        ),
        Compared(
            "totals by hour and city",
            right=expected.revenue,
            found=arrived.revenue,
            note=(
                f"the topic has {arrived.sent['revenue']}: a late order, or a batch"
                " that is done again, sends its hour again"
            ),
        ),
        Compared(
            "records set aside",
            right=_counted(expected.unreadable),
            found=_counted(arrived.unreadable.values()),
            note=f"the topic has {arrived.sent['unreadable']}",
        ),
    )
    lines = []
    for part in parts:
        lines += part.lines()
    return lines, all(part.right == part.found for part in parts)


def _counted(values: Iterable[Any]) -> dict[Any, int]:
    """How often each is there: those of the truth once."""
    return dict(Counter(values))
