"""The labs on a Spark cluster, with state and Python workers: a master and two workers,
by the commands of docker/compose.yaml.

They run on this machine, with the four jars that the image adds to PySpark's own and no
packages to fetch.
"""

import os
import subprocess
import sys
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest

from minikafka.course import spark
from minikafka.course.clusters import compose
from minikafka.server.embedded import Served
from tests.kafka import free_ports
from tests.spark.connector import four_jars

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).resolve().parents[2]
LAB = """
from minikafka.course.connect import Connection
from minikafka.course.data import dataset
from minikafka.course.spark import Lab, rows_read, session
import sys

kafka = Connection(sys.argv[1])
spark, lab = session(), Lab("17", kafka)
topic = lab.topic("orders", partitions=3)
lab.send(topic, dataset("orders").stream("orders", count=600, seed=7))
stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap).option("subscribe", topic)
writer = stream.option("startingOffsets", "earliest").load().groupBy("partition").count().writeStream
writer = writer.format("memory").queryName("counts").outputMode("complete")
query = writer.option("checkpointLocation", lab.checkpoint("counts")).trigger(availableNow=True).start()
query.awaitTermination()
print(spark.sparkContext.master, rows_read(query), lab.ends(topic),
      dict(sorted((row.partition, row["count"]) for row in spark.table("counts").collect())),
      spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1, sep="|")

# 18: windows, their state and watermark in a checkpoint on a disk that all workers see, and two lives of a query
from minikafka.course.experiments import lesson_18_event_time as event_time
from pyspark.sql import functions as F

value = F.col("value").cast("string")
at = F.timestamp_millis(F.get_json_object(value, "$.event_time_ms").cast("long"))
rows = stream.option("startingOffsets", "earliest").load().select(at.alias("at")).where("at is not null")
hours = rows.withWatermark("at", "10 minutes").groupBy(F.window("at", "1 hour")).count()
checkpoint = lab.checkpoint("hours")
_, written = event_time.run(lab, hours, checkpoint=checkpoint)
_, again = event_time.run(lab, hours, checkpoint=checkpoint)
print(len(written), len(again), sep="|")

# 19: a batch that is not committed comes again, with the same rows
from minikafka.course.experiments.lesson_19_sinks import forget_last_commit

given, checkpoint = [], lab.checkpoint("again")
sink = rows.writeStream.foreachBatch(lambda frame, batch: given.append((batch, frame.count())))
sink = sink.option("checkpointLocation", checkpoint).trigger(availableNow=True)
for life in range(2):
    sink.start().awaitTermination()
    forget_last_commit(checkpoint)
print(*given, sep="|")

# 20: a stateful processor and a source in Python, in workers' processes
from minikafka.course.experiments.lesson_20_runs import ROCKSDB, clicks, run, solved
from minikafka.course.kafka_source import KafkaSource

spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
events = list(dataset("user_events").generate(count=100, seed=7))
visits = lab.topic("user_events", partitions=1)
lab.send(visits, events)
by_user = clicks(spark, kafka, visits, watermark="2 hours").groupBy("user_id")
columns = "user_id string, start_ms long, end_ms long, events long"
sessions = by_user.transformWithState(
    solved("20", 1, "Sessions")(), columns, outputMode="append", timeMode="EventTime"
)
checkpoint = lab.checkpoint("sessions")
told = [row for batch in run(sessions, checkpoint) for row in batch]
state = spark.read.format("statestore").option("stateVarName", "times").load(checkpoint)
spark.dataSource.register(KafkaSource)
own = spark.read.format("kafka_python").option("kafka.bootstrap.servers", kafka.bootstrap)
orders = own.option("subscribe", topic).load()
print(len(events), sum(row.events for row in told) + state.count(), orders.count(), sep="|")
lab.close()
spark.stop()
"""


def command(service, port):
    """As the compose file has it, at an address of this machine."""
    words = compose.document({})["services"][service]["command"]
    here = [
        word.replace("spark-master", "127.0.0.1").replace("7077", str(port))
        for word in words
    ]
    assert here[0] == "spark-class"
    return [str(Path(sys.executable).parent / here[0]), *here[1:]]


@pytest.mark.spark
@pytest.mark.timeout(900)  # six JVMs, on a machine that has other things to do, too
def test_a_lab_runs_on_a_master_and_two_workers_as_it_runs_on_two_threads(tmp_path):
    four = four_jars()
    assert len(four) == 4
    port, web, *webs = free_ports(4)
    settings = (
        f"spark.jars {','.join(map(str, four))}",
        f"spark.executor.extraJavaOptions {spark.SHORT_LIVED}",
    )
    (tmp_path / "spark-defaults.conf").write_text("\n".join(settings) + "\n")
    environment = {
        **os.environ,
        # spark-class asks the first python3
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_JAVA_OPTS": spark.SHORT_LIVED,
        "SPARK_CONF_DIR": str(tmp_path),
        "TMPDIR": str(tmp_path),
        spark.VARIABLE: "",
        spark.MASTER_VARIABLE: f"spark://127.0.0.1:{port}",
    }
    log = (tmp_path / "log").open("wb")
    options = {
        "env": environment,
        "stdin": subprocess.DEVNULL,
        "stdout": log,
        "stderr": log,
    }
    with ExitStack() as stack:
        stack.enter_context(log)
        kafka = stack.enter_context(Served())
        for service, extra in (
            ("spark-master", web),
            ("spark-worker-1", webs[0]),
            ("spark-worker-2", webs[1]),
        ):
            process = subprocess.Popen(
                [*command(service, port), "--webui-port", str(extra)], **options
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
        wait_for_workers(web, 2, process)
        done = subprocess.run(
            [sys.executable, "-c", LAB, kafka.bootstrap],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        another_waits_until_cores_are_free(environment)
    assert done.returncode == 0, done.stderr[-3000:]
    lesson_17, lesson_18, lesson_19, lesson_20 = (
        line.split("|") for line in done.stdout.splitlines()[-4:]
    )
    master, rows, ends, counts, executors = lesson_17
    assert (master, rows) == (environment[spark.MASTER_VARIABLE], "608")
    assert ends == counts and int(executors) == 1
    assert lesson_18 == ["9", "0"]  # the tenth hour is in state, in both lives
    assert lesson_19 == ["(0, 607)", "(0, 607)"]
    assert lesson_20 == ["1184", "1184", "608"]


HOLDS = """
import sys
from minikafka.course.spark import session
spark = session(own={"spark.cores.max": sys.argv[1]})
print("ready", flush=True)
input()
spark.stop()
"""


def another_waits_until_cores_are_free(environment):
    """The cluster has four cores. Who finds none says so."""

    def holding(cores):
        return subprocess.Popen(
            [sys.executable, "-c", HOLDS, cores],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    with holding("4") as first:
        lines = first.stdout
        assert "ready\n" in lines
        with holding("1") as second:
            starts, waits, *_ = (second.stdout.readline() for _ in range(3))
            assert starts.startswith("Spark starts")
            assert waits == (
                f"Spark waits for a free core at {environment[spark.MASTER_VARIABLE]}:"
                " sessions of other notebooks have them all, one each.\n"
            )
            first.stdin.write("\n")
            first.stdin.flush()
            assert second.stdout.readline() == "ready\n"
            second.stdin.write("\n")
            second.stdin.flush()


def wait_for_workers(web, count, last):
    """Until Spark's master knows so many; pytest's timeout ends it."""
    while True:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{web}/json/", timeout=10
            ) as page:
                # the master says the same of itself
                if page.read().count(b'"ALIVE"') >= count + 1:
                    return
        except OSError:
            pass
        try:
            pytest.fail(f"a worker has stopped: {last.wait(timeout=0.5)}")
        except subprocess.TimeoutExpired:
            pass
