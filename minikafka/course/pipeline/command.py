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
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NamedTuple

from kafka.errors import KafkaError

from minikafka.course.connect import VARIABLE, Connection, NobodyAnswers, named
from minikafka.course.data import dataset
from minikafka.course.pipeline.job import HOLD, Job
from minikafka.course.pipeline.truth import Truth, truth
from minikafka.course.spark import Lab, SparkMissing, require_java, require_pyspark
from minikafka.server.embedded import Served, nameless_file

KILLED_IN = 1  # the micro-batch of the orders: the second of the morning's two
SHOWN = 3  # differences of each kind

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
    0 when the result is equal. Without --bootstrap it uses the Kafka that
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
    address = bootstrap or "its own address"
    try:
        require_pyspark()
        require_java()
        return run(args.count, args.seed, bootstrap, out)
    except NobodyAnswers:
        else_ = "leave --bootstrap away" if args.bootstrap else f"unset {VARIABLE}"
        print(_NOBODY.format(bootstrap=bootstrap, else_=else_), file=sys.stderr)
    except SparkMissing as error:
        print(error, file=sys.stderr)
    except JobFailed as error:
        print(_FAILED.format(said=error, bootstrap=address), file=sys.stderr)
    except KafkaError as error:
        print(_GONE.format(bootstrap=address, error=error), file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    return 1


def _is_free(folder: Path) -> bool:
    """Is there nothing yet, or an empty folder?"""
    if not folder.exists():
        return True
    return folder.is_dir() and not any(folder.iterdir())


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
        topics = {
            "orders": lab.topic("orders"),
            "customers": lab.topic("customers_cdc", partitions=1),
            "revenue": lab.topic("revenue", configs={"cleanup.policy": "compact"}),
            "unreadable": lab.topic("unreadable", partitions=1),
        }
        checkpoints = {name: lab.checkpoint(name) for name in ("orders", "customers")}
        job = Job(
            bootstrap=kafka.bootstrap,
            topics=topics,
            checkpoints=checkpoints,
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
    orders = morning.orders + afternoon.orders
    changes = morning.changes + afternoon.changes
    lines, equal = compared(truth(orders, changes), arrived)
    print("\nBeside what plain Python makes of the same events:", *lines, sep="\n  ")
    said = "Equal." if equal else "NOT equal."
    where = f"The Parquet files are in {out}." if out else ""
    print(said, where)
    return 0 if equal else 1


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
    java = os.environ.get("JAVA_TOOL_OPTIONS", "")
    places = {
        "TMPDIR": scratch,
        "SPARK_LOCAL_DIRS": scratch,
        "JAVA_TOOL_OPTIONS": f"{java} -Djava.io.tmpdir={scratch}".strip(),
    }
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
