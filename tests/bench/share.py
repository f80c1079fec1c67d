"""A share group's speed (KIP-932), as Java's ShareConsumerPerformance says it, and what
a share partition that is full costs the others: as many records as it may have in
flight are in the hands of one member, and somebody else reads another topic.
"""

import re
import subprocess
from contextlib import contextmanager

from confluent_kafka import Producer

from tests.bench import measures
from tests.kafka import java_command, java_tool
from tests.soak.share import WORKER, read_shares_from_the_start

IN_FLIGHT = 2000  # group.share.partition.max.record.locks
LONGEST_LOCK_MS = "60000"


def measure(results, brokers, rounds, scale, turns):
    """brokers: name -> one that runs. The first round warms up."""
    for number in range(-1, rounds):
        print(
            f"work, round {number + 1} of {rounds}" if number >= 0 else "warming up",
            flush=True,
        )
        kept = results if number >= 0 else type(results)(results.names)
        for size, count in (
            (100, int(400 * scale) * 1000),
            (1000, int(160 * scale) * 1000),
        ):
            measure_speed(kept, brokers, turns(number, results.names), size, count)
        for name in turns(number, results.names):
            measure_beside(kept, name, brokers[name].bootstrap, int(160 * scale) * 1000)


def measure_speed(kept, brokers, names, size, count):
    for name in names:
        broker = brokers[name]
        topic = measures.new_topic(broker.bootstrap)
        measures.produce_with_librdkafka(broker.bootstrap, topic, size, count)
        measures.until_quiet()
        before = measures.processor_seconds(broker)
        figure = consume_in_share_group(broker.bootstrap, topic, count)
        spent = measures.processor_seconds(broker) - before
        kept.add(f"share group, {size} B", "MB/s", True, name, figure)
        a_megabyte = spent * 1000 / (size * count / 1e6)
        kept.add(f"share group, {size} B, broker", "ms/MB", False, name, a_megabyte)
        measures.delete_topic(broker.bootstrap, topic)


def measure_beside(kept, name, bootstrap, count):
    """The speed of a reader alone, and beside a share partition that is full."""
    topic = measures.new_topic(bootstrap)
    measures.produce_with_librdkafka(bootstrap, topic, 1000, count)
    # the first reading of a topic is slower, whoever is there
    measures.consume_with_librdkafka(bootstrap, topic, 1000, count)
    measures.until_quiet()
    alone = measures.consume_with_librdkafka(bootstrap, topic, 1000, count)
    with in_flight(bootstrap):
        measures.until_quiet()
        beside = measures.consume_with_librdkafka(bootstrap, topic, 1000, count)
    kept.add("consume, alone", "MB/s", True, name, alone)
    kept.add(f"consume, beside {IN_FLIGHT} in flight", "MB/s", True, name, beside)
    kept.add("beside them : alone", "ratio", True, name, beside / alone)
    measures.delete_topic(bootstrap, topic)


def consume_in_share_group(bootstrap, topic, count):
    """MB/s as ShareConsumerPerformance says (it counts 1 MB as 2**20 bytes)."""
    read_shares_from_the_start(bootstrap, topic)
    done = java_tool(
        "org.apache.kafka.tools.ShareConsumerPerformance",
        *("--bootstrap-server", bootstrap, "--topic", topic, "--group", topic),
        *("--num-records", str(count), "--hide-header"),
        jvm=measures.JVM,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    _, _, _, megabytes_a_second, *_ = re.split(r",\s*", done.stdout.splitlines()[-1])
    return float(megabytes_a_second) * 1.048576


@contextmanager
def in_flight(bootstrap):
    """While a member has IN_FLIGHT records in hand and says nothing of them."""
    topic = measures.new_topic(bootstrap)
    read_shares_from_the_start(
        bootstrap, topic, share_record_lock_duration_ms=LONGEST_LOCK_MS
    )
    # one batch: it is acquired whole
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 1000, **measures.QUIET}
    )
    for _ in range(IN_FLIGHT):
        producer.produce(topic, b"x" * 100)
    assert producer.flush(60) == 0
    member = subprocess.Popen(
        java_command(WORKER, bootstrap, topic, topic, "hang"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert member.stdout.readline() == "ready\n"
        assert member.stdout.readline() == f"hangs with {IN_FLIGHT}\n"
        yield
    finally:
        member.kill()
        member.wait()
        member.stdout.close()
        measures.delete_topic(bootstrap, topic)
