"""The labs on a Spark cluster: a master and two workers, by the commands of
docker/compose.yaml.

They run on this machine, with the four jars that the image adds to PySpark's own and no
packages to fetch.
"""

import os
import re
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

ROOT = Path(__file__).resolve().parents[2]
JARS = Path.home() / ".ivy2.5.2" / "jars"
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
    if not JARS.exists():
        pytest.skip("Spark has fetched its connector to another folder")
    port, web, *webs = free_ports(4)
    wanted = re.findall(
        r"\borg\.[\w.-]+\*\.jar",
        (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8"),
    )
    four = [str(path) for pattern in wanted for path in JARS.glob(pattern)]
    assert len(four) == 4
    settings = (
        f"spark.jars {','.join(four)}",
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
    assert done.returncode == 0, done.stderr[-3000:]
    master, rows, ends, counts, executors = done.stdout.splitlines()[-1].split("|")
    assert (master, rows) == (environment[spark.MASTER_VARIABLE], "608")
    assert ends == counts and int(executors) == 2


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
