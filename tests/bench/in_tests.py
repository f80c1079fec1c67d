"""minikafka.testing as a test feels it: how soon brokers are there, what a topic, a week
and five hundred tests cost. Beside it what else a test may start on the same machine:
the mock in librdkafka, kfake of franz-go, and Apache Kafka without Docker, which a
container comes on top of.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer

from minikafka.testing import Kafka
from tests.bench import measures
from tests.kafka import ApacheKafka

ROOT = Path(__file__).resolve().parents[2]
KFAKE = Path(__file__).with_name("kfake")
TIMES = 20
WEEK_S = 7 * 24 * 3600
TEN_LINES = """
from confluent_kafka import Producer

def test_a_payment_is_written(kafka):
    topic = kafka.topic()
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce(topic, b"paid")
    producer.flush()
    assert kafka.records(topic).values == [b"paid"]
"""
MANY = """
import pytest

@pytest.mark.parametrize("number", range(500))
def test_a_topic(kafka, number):
    assert kafka.records(kafka.topic()) == []
"""
# beside what pytest has imported anyway
IMPORTS = """
import pytest, time
began = time.process_time()
import minikafka.testing.kafka
print(time.process_time() - began)
"""
MEMORY = """
import os, pytest
from tests.bench import measures
before = measures.resident_megabytes(os.getpid())
from minikafka.testing import Kafka
with Kafka() as kafka:
    kafka.topic()
    print(measures.resident_megabytes(os.getpid()) - before)
"""


def table():
    # the first ones read modules
    with Kafka(brokers=3) as cluster:
        cluster.topic()
    rows = {
        "imports, CPU": f"{median(cpu_seconds_of_imports) * 1000:.0f} ms",
        "one broker": milliseconds(lambda: Kafka().close()),
        "three brokers": milliseconds(lambda: Kafka(brokers=3).close()),
        "memory of one, imports included": f"{float(python(MEMORY)):.0f} MB",
    }
    with Kafka() as kafka:
        rows["a topic"] = milliseconds(kafka.topic)
    with Kafka() as kafka:
        rows["a week passes"] = milliseconds(
            lambda: kafka.clock.advance(seconds=WEEK_S), 3
        )
    rows["pytest with a test of ten lines"] = f"{pytest_seconds(TEN_LINES):.1f} s"
    rows["pytest with 500 tests, a topic each"] = f"{pytest_seconds(MANY):.1f} s"
    rows["librdkafka's mock of one broker"] = milliseconds(start_a_mock)
    rows |= kfake()
    began = time.perf_counter()
    with ApacheKafka() as apache:
        rows["Apache Kafka, one broker"] = f"{time.perf_counter() - began:.1f} s"
        megabytes = measures.resident_megabytes(apache.process.pid)
        rows["Apache Kafka, its memory"] = f"{megabytes:.0f} MB"
        rows["Apache Kafka, a topic"] = milliseconds(
            lambda: measures.new_topic(apache.bootstrap)
        )
    return "\n".join(f"{what:40}{figure}" for what, figure in rows.items())


def milliseconds(do, times=TIMES):
    took = []
    for _ in range(times):
        began = time.perf_counter()
        do()
        took.append((time.perf_counter() - began) * 1000)
    return f"{statistics.median(took):.1f} ms ({min(took):.1f} to {max(took):.1f})"


def median(measure, times=5):
    return statistics.median(measure() for _ in range(times))


def cpu_seconds_of_imports():
    return float(python(IMPORTS))


def python(code):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return done.stdout


def start_a_mock():
    mock = Producer({"test.mock.num.brokers": 1, **measures.QUIET})
    assert mock.list_topics(timeout=30).brokers


def kfake():
    """Of a program in Go, which measures itself."""
    if shutil.which("go") is None:
        return {"kfake": "needs Go, which isn't here"}
    command = ["go", "run", "."]
    done = subprocess.run(command, cwd=KFAKE, stdout=subprocess.PIPE, check=True)
    figures = json.loads(done.stdout)
    return {
        "kfake of one broker": f"{figures['start_ms']:.2f} ms",
        "kfake, a topic": f"{figures['topic_ms']:.2f} ms",
        "kfake, its memory": f"{figures['megabytes']:.0f} MB",
    }


def pytest_seconds(text):
    """From the command to its end, without plugins of other people."""
    with tempfile.TemporaryDirectory(prefix="minikafka-bench-") as folder:
        (Path(folder) / "test_it.py").write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += ["-p", "minikafka.testing.plugin"]
        known = {
            "PYTHONPATH": str(ROOT),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        began = time.perf_counter()
        subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **known},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return time.perf_counter() - began
