"""`minikafka pipeline --follow` and `--from-topic`: a topic of somebody's own, until
somebody ends it.
"""

import os
import re
import signal
import subprocess
import sys

import psutil
import pytest
from kafka import KafkaAdminClient
from kafka.errors import KafkaConnectionError

from minikafka.course.connect import Connection
from minikafka.course.pipeline import reports
from minikafka.course.pipeline.reports import Account, Lag
from minikafka.server.embedded import Served
from tests.clients.brokers import until
from tests.kafka import ApacheKafka

pytestmark = pytest.mark.nightly

AT = 978_365_438_212  # in 2001: the records' own timestamps are of today


def order(number, at=AT):
    return {
        "event_id": f"mine-{number}",
        "customer_id": "zoë",
        "amount_cents": number,
        "event_time_ms": at,
    }


class Typed:
    """The command while it runs. said: its lines so far."""

    def __init__(self, scratch, *words):
        self.said = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "minikafka", "pipeline", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "TMPDIR": str(scratch)},
            # who runs the tests may ignore Ctrl-C
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def until_it_says(self, *words):
        for line in self.process.stdout:
            self.said.append(line.strip())
            if all(word in line for word in words):
                return
        raise AssertionError("\n".join(self.said))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("on", "ended_by"),
    [
        ("minikafka", signal.SIGINT),
        pytest.param("Apache Kafka", signal.SIGTERM, marks=pytest.mark.java),
    ],
)
def test_it_follows_a_topic_of_ones_own_until_it_is_ended_and_leaves_no_trace(
    on, ended_by, tmp_path
):
    import pandas

    out, scratch = tmp_path / "tables", tmp_path / "scratch"
    scratch.mkdir()
    with Served() if on == "minikafka" else ApacheKafka() as kafka:
        admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
        admin.create_topics({"mine": {"num_partitions": 2}})
        admin.wait_for_topics(["mine"], 120_000)
        producer = Connection(kafka.bootstrap).producer()
        for number in range(10):
            producer.send("mine", value=order(number))
        producer.send("mine", value="no order")
        producer.flush()
        where = ("--bootstrap", kafka.bootstrap, "--out", str(out))
        typed = Typed(scratch, "--follow", "--from-topic", "mine", *where)
        typed.until_it_says("waiting for records", "lag 0", "10 ids in its state")
        two_days_before = AT - 48 * 3_600_000
        for value in (order(3), order(10), order(11, at=two_days_before), [1]):
            producer.send("mine", value=value)
        producer.close()
        typed.until_it_says("waiting for records", "lag 0", "11 ids in its state")
        topics = set(admin.list_topics())
        typed.process.send_signal(ended_by)
        typed.until_it_says("15 records read")
        assert typed.process.wait(300) == 0, typed.said
        until(lambda: set(admin.list_topics()) == {"mine"}, "its topics are gone")
        admin.close()
    assert len(topics) == 3
    total = "11 orders in Parquet, 1 came again, 2 set aside, 1 too late"
    assert total in typed.said[-1]
    assert any(
        re.match(r"working: lag \d+; \d+ records a", line) for line in typed.said
    )
    orders = pandas.read_parquet(out / "orders")
    assert sorted(orders["cents"]) == list(range(11))
    assert set(orders["customer_id"]) == {"zoë"}
    aside = pandas.read_parquet(out / "unreadable")
    assert set(aside["value"]) == {b"no order", b"[1]"}
    assert all(re.fullmatch(r"mine/[01]/\d+", each) for each in aside["address"])
    assert [path for path in out.rglob(".batch=*")] == [] == list(scratch.iterdir())
    left = [
        process
        for process in psutil.process_iter(["environ"])
        if (process.info["environ"] or {}).get("TMPDIR", "") == str(scratch)
    ]
    assert psutil.wait_procs(left, timeout=120)[1] == []


@pytest.mark.spark
def test_without_follow_it_ends_at_the_end_of_ones_own_topic(tmp_path):
    """The cluster is the one of the switch."""
    out = tmp_path / "tables"
    with Served() as kafka:
        admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
        admin.create_topics({"mine": {"num_partitions": 1}})
        producer = Connection(kafka.bootstrap).producer()
        for number in range(30):
            producer.send("mine", value=order(number % 20))
        producer.close()
        words = ("pipeline", "--from-topic", "mine", "--out", str(out))
        done = subprocess.run(
            [sys.executable, "-m", "minikafka", *words],
            env={**os.environ, "MINIKAFKA_BOOTSTRAP": kafka.bootstrap},
            capture_output=True,
            text=True,
            check=False,
        )
        assert list(admin.list_topics()) == ["mine"]
        admin.close()
    assert done.returncode == 0, done.stdout + done.stderr
    total = "30 records read: 20 orders in Parquet, 10 came again, 0 set aside"
    assert total in done.stdout


def report(batch, rows, *, idle=False, late=0, again=0, offsets="{'t': {'0': 0}}"):
    """As Spark reports: a query that waits repeats the state of its last batch."""
    state = {
        "numRowsTotal": rows,
        "numRowsDroppedByWatermark": late,
        "customMetrics": {"numDroppedDuplicateRows": again},
    }
    return {
        "batchId": batch,
        "durationMs": {"latestOffset": 9} if idle else {"addBatch": 50},
        "numInputRows": 0 if idle else rows,
        "processedRowsPerSecond": 0.0 if idle else rows / 2,
        "stateOperators": [state],
        "sources": [{"endOffset": offsets}],
    }


def test_each_batch_is_counted_once_though_the_latest_reports_come_again():
    account = Account()
    first = report(0, 100, late=2, again=3, offsets="{'t': {'0': 60, '10': 40}}")
    waits = report(1, 100, idle=True, late=2, again=3)
    account.add([first])
    account.add([first, waits])
    assert account.position == {0: 60, 10: 40} and account.rate == 0
    account.add([first, waits, report(1, 50, late=1)])
    assert (account.records, account.late, account.again) == (150, 3, 3)
    assert account.orders == 144 and account.rate == 25
    account.aside = 4
    assert account.total().startswith("150 records read: 140 orders in Parquet, 3 came")


class Ends:
    """A consumer's view of a topic with a partition that retention has been at."""

    def partitions_for_topic(self, topic):
        return {0, 1, 10}

    def beginning_offsets(self, partitions):
        return {each: 5 * (each.partition == 1) for each in partitions}

    def end_offsets(self, partitions):
        return dict.fromkeys(partitions, 12)


class Gone(Ends):
    def end_offsets(self, partitions):
        raise KafkaConnectionError("socket disconnected")


@pytest.mark.parametrize(
    ("consumer", "lag"), [(Ends(), (12 - 9) + (12 - 5) + (12 - 0)), (Gone(), None)]
)
def test_the_lag_is_what_no_batch_has_read_and_unknown_where_kafka_is_gone(
    consumer, lag, monkeypatch
):
    monkeypatch.setattr(reports.Connection, "consumer", lambda connection: consumer)
    assert Lag("H:1", "t").behind({0: 9}) == lag
    said = Account().now(lag)
    assert said.startswith(f"working: lag {'unknown' if lag is None else '22'}")
