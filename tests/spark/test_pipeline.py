"""`minikafka pipeline`: runs as somebody types them, on minikafka and on Apache Kafka,
and what it says on failure.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest
from kafka import KafkaAdminClient
from kafka.errors import KafkaConnectionError

from minikafka.__main__ import parser
from minikafka.course.connect import NobodyAnswers
from minikafka.course.data import dataset
from minikafka.course.pipeline import command as pipeline
from minikafka.course.pipeline.command import Arrived, compared
from minikafka.course.pipeline.job import Job, in_cities, keep, totals
from minikafka.course.pipeline.truth import NO_ACCOUNT, Truth, truth
from minikafka.server.embedded import Served
from tests.clients.brokers import until
from tests.kafka import BOTH, ApacheKafka, free_ports

pytestmark = pytest.mark.first


def typed(*words, **env):
    command = [sys.executable, "-m", "minikafka", "pipeline", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **env)


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.parametrize("on", BOTH)
def test_the_pipeline_leads_to_what_plain_python_makes_of_the_events_though_spark_is_killed(
    on, tmp_path
):
    import pandas

    out, scratch = tmp_path / "tables", tmp_path / "scratch"
    scratch.mkdir()
    with Served() if on == "minikafka" else ApacheKafka() as kafka:
        words = ("--count", "300", "--bootstrap", kafka.bootstrap, "--out", str(out))
        done = typed(*words, env={**os.environ, "TMPDIR": str(scratch)})
        admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
        # Apache Kafka's broker hears of it a moment later
        until(
            lambda: not any(topic.startswith("lab") for topic in admin.list_topics()),
            "the lab's topics are gone",
        )
        admin.close()
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        done.stdout.count("orders, batch 1: ") == 2 and "Spark is killed" in done.stdout
    )
    assert "\nEqual." in done.stdout
    ids = list(pandas.read_parquet(out / "orders")["event_id"])
    assert len(ids) == len(set(ids)) == 300
    assert list(scratch.iterdir()) == []
    left = [
        process
        for process in psutil.process_iter(["environ"])
        if scratch_of(process).startswith(str(scratch))
    ]
    assert psutil.wait_procs(left, timeout=120)[1] == []


def scratch_of(process):
    return (process.info["environ"] or {}).get("TMPDIR", "")


def test_half_a_day_after_the_other_is_the_whole_day_and_each_change_is_there_before_the_orders_it_bears_on():
    morning, afternoon = pipeline.halves(count=200, seed=3)
    assert morning.orders + afternoon.orders == dataset("orders").stream(
        "orders", count=200, seed=3
    )
    changes = list(dataset("customers_cdc").generate(count=100, seed=3))
    assert morning.changes + afternoon.changes == changes
    ends = max(event.ingest_ms for event in morning.orders)
    known = truth([], morning.changes).customers
    assert (
        known
        == truth([], [event for event in changes if event.ingest_ms <= ends]).customers
    )


def test_the_truth_counts_an_order_once_in_its_own_hour_and_in_the_city_of_that_time():
    orders, changes = (
        dataset("orders").stream("orders", count=400, seed=7),
        dataset("customers_cdc").generate(200, 7),
    )
    found = truth(orders, list(changes))
    assert sum(count for count, _ in found.revenue.values()) == len(found.orders) == 400
    assert found.unreadable == [dataset("orders").POISON] and found.late > 0
    assert any(city == NO_ACCOUNT for _, city in found.revenue)


RIGHT = Truth(
    {("12", "Cork"): (2, 500)},
    {"hana": ("Cork", "gold")},
    {"o-1", "o-2"},
    [b"\xff"],
    late=1,
)
SENT = {"revenue": 2, "unreadable": 1}
THERE = Arrived(
    RIGHT.revenue, RIGHT.customers, ["o-2", "o-1"], {"orders/0/3": b"\xff"}, SENT
)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({}, "orders in Parquet: 2 of 2 equal (1 of them late"),
        ({"orders": ["o-1", "o-2", "o-2"]}, "o-2: 2, should be 1"),
        ({"orders": ["o-1"]}, "o-2: None, should be 1"),
        (
            {"revenue": {("12", "Cork"): (3, 750)}},
            "('12', 'Cork'): (3, 750), should be (2, 500)",
        ),
        ({"customers": {}}, "customers in Parquet: 0 of 1 equal"),
        ({"unreadable": {}}, "records set aside: 0 of 1 equal"),
        ({"unreadable": {"orders/0/3": b"\xff", "orders/0/4": b"\xff"}}, "should be 1"),
    ],
)
def test_a_difference_is_seen_and_named(wrong, words):
    lines, equal = compared(RIGHT, THERE._replace(**wrong))
    assert equal == (not wrong) and words in "\n".join(lines), lines


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--count", "7"), "'7' is not a number of orders: 20 or more"),
        (("--count", "many"), "'many' is not a number of orders"),
    ],
)
def test_what_is_typed_wrongly_is_said_in_one_line(words, said):
    done = typed(*words)
    assert (
        done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
    )


def test_a_folder_that_has_files_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("keep")
    done = typed("--out", str(tmp_path))
    assert done.returncode == 2 and "is not empty. Name a new folder" in done.stderr
    assert (tmp_path / "mine").read_text() == "keep"


def a_job(folder, query):
    """With a checkpoint as Spark leaves one: its id is in a file."""
    checkpoint = folder / query
    checkpoint.mkdir()
    (checkpoint / "metadata").write_text(json.dumps({"id": query}))
    checkpoints = {"orders": str(checkpoint), "customers": str(checkpoint)}
    tables = str(folder / "tables")
    return Job("H", topics={}, checkpoints=checkpoints, tables=tables, per_batch=1)


class Rows:
    """A DataFrame's way to write Parquet files, and no more. dies: between two
    files.
    """

    def __init__(self, *files, dies=False):
        self.files, self.dies, self.write = files, dies, self
        self.modes = []

    def mode(self, mode):
        self.modes.append(mode)
        return self

    def parquet(self, path):
        shutil.rmtree(path, ignore_errors=True)
        Path(path).mkdir(parents=True)
        for name in self.files:
            Path(path, name).touch()
            if self.dies:
                raise InterruptedError


def seen_in(table):
    """What Spark and pyarrow see: they pass over names that begin with a point."""
    found = (path.relative_to(table) for path in table.rglob("part-*"))
    return sorted(str(path) for path in found if not str(path).startswith("."))


def test_a_reader_sees_a_batch_whole_or_not_at_all_and_one_that_comes_again_changes_nothing(
    tmp_path,
):
    table = a_job(tmp_path, "one").written_by("orders", "orders")
    with pytest.raises(InterruptedError):
        keep(Rows("part-0", "part-1", dies=True), table, 7)
    assert seen_in(table) == []
    keep(Rows("part-2", "part-3"), table, 7)
    assert seen_in(table) == ["batch=7/part-2", "batch=7/part-3"]
    again = Rows("part-4")
    keep(again, table, 7)
    assert seen_in(table) == ["batch=7/part-2", "batch=7/part-3"] and not again.modes


def test_a_new_checkpoint_takes_the_place_of_no_other_rows(tmp_path):
    for query in ("one", "two"):
        keep(Rows("part-0"), a_job(tmp_path, query).written_by("orders", "orders"), 0)
    assert seen_in(tmp_path / "tables" / "orders") == [
        "checkpoint=one/batch=0/part-0",
        "checkpoint=two/batch=0/part-0",
    ]


@pytest.mark.nightly
@pytest.mark.spark
def test_totals_grow_by_each_batch_without_a_look_at_the_orders_before_it(
    spark, tmp_path
):
    """There is no table of orders here, so nobody can have read one."""
    job = a_job(tmp_path, "one")
    known = spark.createDataFrame(
        [
            ("hana", "Cork", "gold", 1, 10),
            ("hana", "Faro", "gold", 2, 20),
            ("hana", None, None, 3, 30),
        ],
        "customer_id string, city string, tier string, lsn long, event_time_ms long",
    )

    def batch(number, *orders):
        columns = (
            "event_id string, customer_id string, hour string, cents long,"
            " event_time_ms long"
        )
        placed = in_cities(spark.createDataFrame(list(orders), columns), known)
        rows = totals(job, placed, number).collect()
        return {
            (row.hour, row.city): (row.orders, row.cents, row.changed) for row in rows
        }

    first = [
        ("o-1", "hana", "08", 100, 9),
        ("o-2", "hana", "08", 200, 10),
        ("o-3", "nils", "08", 400, 20),
    ]
    assert batch(0, *first) == {
        ("08", NO_ACCOUNT): (2, 500, True),
        ("08", "Cork"): (1, 200, True),
    }
    second = [("o-4", "hana", "08", 1, 19), ("o-5", "hana", "09", 2, 29)]
    grown = {
        ("08", NO_ACCOUNT): (2, 500, False),
        ("08", "Cork"): (2, 201, True),
        ("09", "Faro"): (1, 2, True),
    }
    assert batch(1, *second) == grown
    assert batch(1, *second) == grown  # it comes again
    assert batch(2, ("o-6", "hana", "09", 7, 30))[("09", NO_ACCOUNT)] == (1, 7, True)


@pytest.mark.parametrize(
    ("words", "used"), [((), "one:1,two:2"), (("--bootstrap", "three:3"), "three:3")]
)
def test_it_uses_the_kafka_that_is_typed_else_the_one_that_the_environment_names(
    words, used, monkeypatch, capsys
):
    """In the classroom's container the variable names the three brokers."""
    asked = []

    def nobody(args, bootstrap, out):
        asked.append(bootstrap)
        raise NobodyAnswers

    monkeypatch.setenv("MINIKAFKA_BOOTSTRAP", "one:1,two:2")
    monkeypatch.setattr(pipeline, "require_java", lambda: 17)
    monkeypatch.setattr(pipeline, "require_pyspark", lambda: None)
    monkeypatch.setattr(pipeline, "run", nobody)
    assert pipeline.main(parser().parse_args(["pipeline", *words])) == 1
    said = capsys.readouterr().err
    assert asked == [used] and f"nobody answers at {used}" in said
    other = "leave --bootstrap away" if words else "unset MINIKAFKA_BOOTSTRAP"
    assert other in said


def test_a_topic_of_ones_own_needs_the_kafka_that_has_it():
    environment = {**os.environ, "MINIKAFKA_BOOTSTRAP": ""}
    done = typed("--from-topic", "mine", env=environment)
    assert done.returncode == 2 and "--bootstrap HOST:PORT" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.nightly
@pytest.mark.spark  # it looks for Java and PySpark first, and starts neither
def test_a_topic_that_is_not_there_is_told_with_those_that_are():
    with Served() as kafka:
        admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
        admin.create_topics({name: {"num_partitions": 1} for name in ("mine", "ours")})
        admin.close()
        done = typed("--from-topic", "mien", "--bootstrap", kafka.bootstrap)
    assert done.returncode == 2 and "there is no topic mien" in done.stderr
    assert "It has topics mine and ours" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.nightly
@pytest.mark.spark
def test_without_a_kafka_there_it_says_what_to_do():
    [port] = free_ports(1)
    done = typed("--bootstrap", f"127.0.0.1:{port}")
    assert (
        done.returncode == 1
        and "leave --bootstrap away" in done.stderr
        and "Traceback" not in done.stderr
    )


def test_without_java_it_says_which_one(tmp_path):
    done = typed(
        env={
            "PATH": str(tmp_path),
            "HOME": str(tmp_path),
            "PYTHONPATH": str(Path.cwd()),
        }
    )
    assert (
        done.returncode == 1
        and "It needs Java 17 or 21" in done.stderr
        and "Traceback" not in done.stderr
    )


@pytest.mark.nightly
@pytest.mark.spark  # it looks for Java and PySpark first, and starts neither
def test_a_job_that_fails_is_told_with_its_own_last_words_and_nothing_stays(
    monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    words = "import sys; print('half done'); sys.exit('No space left on device')"
    monkeypatch.setattr(
        pipeline.Job, "command", lambda job: [sys.executable, "-c", words]
    )
    assert pipeline.main(parser().parse_args(["pipeline", "--count", "20"])) == 1
    said = capsys.readouterr()
    assert (
        "  half done" in said.out
        and "No space left on device" in said.err
        and "run it again" in said.err
    )
    assert list(tmp_path.iterdir()) == []


def typed_with_a_job(folder, job, *words):
    """The command with something else in Spark's place."""
    here = folder / "typed.py"
    here.write_text(
        "import signal, sys\n"
        # who runs the tests may ignore it
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from minikafka.__main__ import main\n"
        "from minikafka.course.pipeline import command as pipeline\n"
        f"pipeline.Job.command = lambda self: [sys.executable, '-c', {job!r}]\n"
        f"sys.exit(main(['pipeline', '--count', '20', *{words!r}]))\n"
    )
    scratch = folder / "scratch"
    scratch.mkdir()
    return subprocess.Popen(
        [sys.executable, "-u", str(here)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    )


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_ctrl_c_and_kill_end_the_job_and_all_that_it_has_started(
    number, code, tmp_path
):
    job = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"
    with typed_with_a_job(tmp_path, job) as process:
        pid = next(int(line) for line in process.stdout if line.strip().isdigit())
        process.send_signal(number)
        assert process.wait(300) == code
    assert not psutil.pid_exists(pid)
    assert list((tmp_path / "scratch").iterdir()) == []


@pytest.mark.nightly
@pytest.mark.spark
def test_a_second_ctrl_c_ends_at_once_what_does_not_end_when_asked(tmp_path):
    """Of what it had begun to write nothing stays either."""
    out = tmp_path / "out"
    job = (
        "import os, sys, pathlib\n"
        f"pathlib.Path({str(out)!r}, 'orders', '.batch=0').mkdir(parents=True)\n"
        "print(os.getpid(), flush=True)\n"
        "for line in sys.stdin: print('asked to', line, flush=True)"
    )
    words = ("--follow", "--out", str(out))
    with typed_with_a_job(tmp_path, job, *words) as process:
        pid = next(int(line) for line in process.stdout if line.strip().isdigit())
        process.send_signal(signal.SIGINT)
        assert any("asked to end" in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 130
    assert not psutil.pid_exists(pid)
    assert list((tmp_path / "scratch").iterdir()) == []
    assert list((out / "orders").iterdir()) == []


def test_a_kafka_that_is_gone_is_told_in_a_sentence(monkeypatch, capsys):
    def gone(*_):
        raise KafkaConnectionError("socket disconnected")

    monkeypatch.setattr(pipeline, "require_java", lambda: 17)
    monkeypatch.setattr(pipeline, "require_pyspark", lambda: None)
    monkeypatch.setattr(pipeline, "run", gone)
    assert (
        pipeline.main(parser().parse_args(["pipeline", "--bootstrap", "127.0.0.1:9"]))
        == 1
    )
    assert (
        "the Kafka at 127.0.0.1:9 does not answer any more" in capsys.readouterr().err
    )
