"""What is measured: each function does one piece of work against a bootstrap address
and returns a number.
"""

import os
import re
import statistics
import subprocess
import time
from pathlib import Path

import psutil
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.clients.brokers import fresh_name
from tests.kafka import java_tool

QUIET = {"log_level": 0}
QUIET_PERCENT = 15  # of all processors

# whose compiler may take its time, as in production
JVM = ("-Xmx512m", "-XX:+UseSerialGC")


def new_topic(bootstrap, replicas=1, partitions=1, **configs):
    name = fresh_name("bench")
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    admin.create_topics([NewTopic(name, partitions, replicas, config=configs)])[
        name
    ].result(30)
    return name


def delete_topic(bootstrap, topic):
    """So that disks don't fill and nobody cleans up in the middle of the next
    measure.
    """
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    admin.delete_topics([topic])[topic].result(30)


def produce_with_librdkafka(bootstrap, topic, size, count, more=None):
    """MB/s from the first send to the last acknowledgement, acks=all. more: configs."""
    options = {
        "linger.ms": 5,
        "queue.buffering.max.messages": 1_000_000,
        "queue.buffering.max.kbytes": 1 << 20,
    }
    options |= more or {}
    producer = Producer({"bootstrap.servers": bootstrap, **options, **QUIET})
    producer.list_topics(topic, timeout=30)
    value = (bytes(range(256)) * (size // 256 + 1))[:size]
    thousand = [{"value": value}] * 1000
    began = time.perf_counter()
    for _ in range(count // 1000):
        assert producer.produce_batch(topic, thousand) == 1000
        producer.poll(0)
    assert producer.flush(120) == 0
    return size * count / (time.perf_counter() - began) / 1e6


def produce_with_java(bootstrap, topic, size, count):
    """MB/s as ProducerPerformance says (it counts 1 MB as 2**20 bytes)."""
    done = java_tool(
        "org.apache.kafka.tools.ProducerPerformance",
        *(
            "--topic",
            topic,
            "--num-records",
            str(count),
            "--record-size",
            str(size),
            "--throughput",
            "-1",
        ),
        *("--producer-props", f"bootstrap.servers={bootstrap}"),
        jvm=JVM,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return float(re.findall(r"\(([\d.]+) MB/sec\)", done.stdout)[-1]) * 1.048576


def consume_with_librdkafka(bootstrap, topic, size, count, more=None):
    """MB/s from assign to the last record. more: configs."""
    options = {
        "group.id": "unused",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
    options |= more or {}
    consumer = Consumer({"bootstrap.servers": bootstrap, **options, **QUIET})
    consumer.list_topics(topic, timeout=30)
    began = time.perf_counter()
    consumer.assign([TopicPartition(topic, 0, 0)])
    got = 0
    while got < count:
        messages = consumer.consume(min(10_000, count - got), timeout=30)
        assert messages, f"only {got} of {count} records came"
        got += len(messages)
    seconds = time.perf_counter() - began
    consumer.close()
    return size * count / seconds / 1e6


def end_to_end_latency(bootstrap, topic, count):
    """(median, 99th percentile) in ms from a record's send to its arrival in a
    consumer, one record at a time.
    """
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, **QUIET})
    options = {
        "group.id": "unused",
        "enable.auto.commit": False,
        "fetch.wait.max.ms": 500,
    }
    consumer = Consumer({"bootstrap.servers": bootstrap, **options, **QUIET})
    consumer.assign([TopicPartition(topic, 0, 0)])
    waits = []
    for number in range(count + count // 10):
        began = time.perf_counter()
        producer.produce(topic, b"x" * 100)
        producer.poll(0)
        assert consumer.poll(30) is not None
        if number >= count // 10:  # the first ones warm up
            waits.append((time.perf_counter() - began) * 1000)
    producer.flush(10)
    consumer.close()
    return statistics.median(waits), statistics.quantiles(waits, n=100)[98]


def processor_seconds(broker):
    """What a broker, or all of a cluster, has used of the processors, in user and
    kernel mode.
    """
    nodes = (
        broker.processes.values() if hasattr(broker, "processes") else [broker.process]
    )
    spent = [psutil.Process(node.pid).cpu_times() for node in nodes]
    return sum(each.user + each.system for each in spent)


def client_seconds():
    """What this process, and the clients that it ran as processes, have used of the
    processors.
    """
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def until_quiet():
    """Nobody is measured beside a virtual machine that still compiles what it ran
    last.
    """
    for _ in range(60):
        if psutil.cpu_percent(0.5) < QUIET_PERCENT:
            return
    print("  the machine does not come to rest", flush=True)


def resident_megabytes(pid):
    """Memory of a process as the system counts it."""
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        return int(status.read_text().split("VmRSS:")[1].split()[0]) / 1000
    return int(subprocess.check_output(["ps", "-o", "rss=", "-p", str(pid)])) / 1000
