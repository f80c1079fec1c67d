"""`minikafka pipeline`: a shop's orders and customers from Kafka through Spark to
Parquet, and back to a topic.

Orders come late, twice, in two formats, and one is rubbish; customers move and leave.
In the middle of the day Spark is killed (kill -9) when a micro-batch is written and not
yet noted, and is started again. In the end the result is compared with what plain
Python makes of the same events (pipeline_truth.py).
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NamedTuple

from kafka.errors import KafkaError

from minikafka.course.connect import Connection, NobodyAnswers
from minikafka.course.data import dataset
from minikafka.course.pipeline.job import HOLD, Job
from minikafka.course.pipeline.truth import Truth, truth
from minikafka.course.spark import Lab, SparkMissing, require_java, require_pyspark
from minikafka.server.embedded import Served, nameless_file

KILLED_IN = 1  # the micro-batch of the orders: the second of the morning's two
SHOWN = 3  # differences of each kind

_NOBODY = """minikafka: nobody answers at {bootstrap}.
  Start that Kafka, or leave --bootstrap away: the pipeline then starts a small one of its own."""
_NO_KILL = (
    "minikafka: the pipeline kills Spark with kill -9, which Windows doesn't have. Run"
    " it in WSL2."
)
_NOT_EMPTY = (
    "minikafka: {folder} is not empty. Name a new folder for the Parquet files, or an"
    " empty one."
)
_GONE = """minikafka: the Kafka at {bootstrap} does not answer any more ({error}).
  Start it again, and run the pipeline once more: it begins anew."""
_FAILED = """minikafka: the Spark job ended before its work was done:
{said}
  Is the Kafka at {bootstrap} still there? Its topics and checkpoints of this run are removed; run it again."""


class JobFailed(Exception):
    """The Spark job ended with an error; the message is what it said last."""


class Part(NamedTuple):
    """Half a day: the events of both streams by ingest time."""

    orders: list[Any]
    changes: list[Any]


class Arrived(NamedTuple):
    """What is in the topics and the Parquet files in the end. sent: the records of the
    two topics of results.
    """

    revenue: dict[tuple[str, str], tuple[int, int]]
    customers: dict[str, tuple[str, str]]
    orders: list[str]
    unreadable: dict[str, bytes]  # address -> value
    sent: dict[str, int]


def main(args: argparse.Namespace) -> int:
    """`minikafka pipeline [--count N] [--seed N] [--bootstrap HOST:PORT] [--out DIR]`:
    0 when the result is equal.
    """
    if not hasattr(os, "killpg"):
        print(_NO_KILL, file=sys.stderr)
        return 1
    out = Path(args.out).resolve() if args.out else None
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        print(_NOT_EMPTY.format(folder=args.out), file=sys.stderr)
        return 2
    try:
        require_pyspark()
        require_java()
        return run(args.count, args.seed, args.bootstrap, out)
    except NobodyAnswers:
        print(_NOBODY.format(bootstrap=args.bootstrap), file=sys.stderr)
    except SparkMissing as error:
        print(error, file=sys.stderr)
    except JobFailed as error:
        print(
            _FAILED.format(said=error, bootstrap=args.bootstrap or "its own address"),
            file=sys.stderr,
        )
    except KafkaError as error:
        print(
            _GONE.format(bootstrap=args.bootstrap or "its own address", error=error),
            file=sys.stderr,
        )
    except KeyboardInterrupt:
        return 130
    return 1


def run(count: int, seed: int, bootstrap: str | None, out: Path | None) -> int:
    """The whole day, and the comparison. Nothing stays but what is in `out`."""
    morning, afternoon = halves(count, seed)
    with ExitStack() as stack:
        scratch = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="minikafka-pipeline-")
        )
        kafka = Connection(bootstrap or stack.enter_context(Served()).bootstrap)
        kafka.check()
        lab = Lab("pipeline", kafka)
        stack.callback(lab.close)
        job = Job(
            bootstrap=kafka.bootstrap,
            topics={
                "orders": lab.topic("orders"),
                "customers": lab.topic("customers_cdc", partitions=1),
                "revenue": lab.topic("revenue", configs={"cleanup.policy": "compact"}),
                "unreadable": lab.topic("unreadable", partitions=1),
            },
            checkpoints={
                name: lab.checkpoint(name) for name in ("orders", "customers")
            },
            tables=str(out or Path(scratch, "tables")),
            per_batch=len(morning.orders) // 2 + 1,
        )
        _send(lab, job, morning, "the morning")
        _spark(replace(job, hold_in=KILLED_IN), scratch)
        print(
            "Spark is killed (kill -9): what it has written stays, and its checkpoint"
            " knows nothing of it"
        )
        _send(lab, job, afternoon, "the afternoon")
        _spark(job, scratch)
        arrived = what_arrived(lab, job)
    expected = truth(
        morning.orders + afternoon.orders, morning.changes + afternoon.changes
    )
    lines, equal = compared(expected, arrived)
    print("\nBeside what plain Python makes of the same events:", *lines, sep="\n  ")
    print(
        "Equal." if equal else "NOT equal.",
        f"The Parquet files are in {out}." if out else "",
    )
    return 0 if equal else 1


def halves(count: int, seed: int) -> tuple[Part, Part]:
    """The events until 13:00, and the rest: an order that was offline at noon is in the
    second.
    """
    orders, cdc = dataset("orders"), dataset("customers_cdc")
    noon = orders.DAY_STARTS + orders.DAY_MS // 2
    streams = (
        orders.stream("orders", count=count, seed=seed),
        list(cdc.generate(count=count // 2, seed=seed)),
    )

    def part(belongs: Callable[[Any], bool]) -> Part:
        return Part(
            *([event for event in events if belongs(event)] for events in streams)
        )

    return part(lambda event: event.ingest_ms < noon), part(
        lambda event: event.ingest_ms >= noon
    )


def _send(lab: Lab, job: Job, part: Part, called: str) -> None:
    lab.send(job.topics["customers"], part.changes)
    lab.send(job.topics["orders"], part.orders)
    print(
        f"{called}: {len(part.orders):,} orders and {len(part.changes):,} changes of"
        " customers are in Kafka"
    )


def _spark(job: Job, scratch: str) -> None:
    """One life of the job, to its end or to where it holds; its lines are shown. Raises
    JobFailed.
    """
    with nameless_file() as errors, _process(job, scratch, errors) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(f"  {line.rstrip()}", flush=True)
            if line.rstrip() == HOLD:
                return
        if process.wait() != 0:
            errors.seek(0)
            raise JobFailed(errors.read().decode(errors="replace").strip())


@contextmanager
def _process(
    job: Job, scratch: str, errors: IO[bytes]
) -> Iterator[subprocess.Popen[str]]:
    """The job as a process group of its own, its JVM included: in the end all of it is
    killed, whatever it does.

    What a JVM that is killed can't remove is in `scratch`.
    """
    java = (
        f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} -Djava.io.tmpdir={scratch}".strip()
    )
    places = {"TMPDIR": scratch, "SPARK_LOCAL_DIRS": scratch, "JAVA_TOOL_OPTIONS": java}
    process = subprocess.Popen(
        job.command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env={**os.environ, **places},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:  # it has ended, and its JVM too
            pass
        process.communicate()


def what_arrived(lab: Lab, job: Job) -> Arrived:
    """Read with kafka-python and pandas: whoever comes after Spark sees the same."""
    import pandas

    changes = (
        pandas.read_parquet(job.table("customers"))
        .sort_values("lsn")
        .drop_duplicates("customer_id", keep="last")
    )
    there = changes[changes["city"].notna()]
    results, unreadable = (
        lab.records(job.topics["revenue"]),
        lab.records(job.topics["unreadable"]),
    )
    # of one key in order: they share a partition
    totals = [json.loads(record.value) for record in results]
    return Arrived(
        revenue={
            (each["hour"], each["city"]): (each["orders"], each["cents"])
            for each in totals
        },
        customers={row.customer_id: (row.city, row.tier) for row in there.itertuples()},
        orders=list(pandas.read_parquet(job.table("orders"))["event_id"]),
        unreadable={
            dict(record.headers)["from"].decode(): record.value for record in unreadable
        },
        sent={"revenue": len(results), "unreadable": len(unreadable)},
    )


def compared(expected: Truth, arrived: Arrived) -> tuple[list[str], bool]:
    """A line for each result, with the first differences; and whether there are
    none.
    """
    late = f"{expected.late} of them late, and in the hour in which they were placed"
    pairs: dict[str, tuple[dict[Any, Any], dict[Any, Any]]] = {
        "orders in Parquet": (_counted(expected.orders), _counted(arrived.orders)),
        "customers in Parquet": (expected.customers, arrived.customers),
        "totals by hour and city": (expected.revenue, arrived.revenue),
        "records set aside": (
            _counted(expected.unreadable),
            _counted(arrived.unreadable.values()),
        ),
    }
    notes = {
        "orders in Parquet": late,
        "totals by hour and city": (
            f"the topic has {arrived.sent['revenue']}: a late order, or a batch that is"
            " done again, sends its hour again"
        ),
        "records set aside": f"the topic has {arrived.sent['unreadable']}",
    }
    lines = []
    for name, (right, found) in pairs.items():
        equal = sum(found.get(key) == value for key, value in right.items())
        note = f" ({notes[name]})" if name in notes else ""
        lines.append(f"{name}: {equal:,} of {len(right):,} equal{note}")
        differing = sorted(
            key
            for key in right.keys() | found.keys()
            if right.get(key) != found.get(key)
        )
        lines += [
            f"    {key}: {found.get(key)}, should be {right.get(key)}"
            for key in differing[:SHOWN]
        ]
    return lines, all(right == found for right, found in pairs.values())


def _counted(values: Iterable[Any]) -> dict[Any, int]:
    """How often each is there: those of the truth once."""
    return dict(Counter(values))
