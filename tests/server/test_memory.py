"""A broker's memory: what large batches leave free serves the next ones."""

import sys

import pytest

from minikafka.server.embedded import Served

kafka = pytest.importorskip("kafka")
BATCH_BYTES = 900_000
PAGE_BYTES = 4096


def page_faults(pid):
    """Minor page faults of a process so far: `minflt`, the tenth field of /proc/pid/stat."""
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[7])


@pytest.mark.skipif(sys.platform != "linux", reason="counts what Linux tells in /proc, of what glibc does")
def test_a_broker_asks_the_system_for_fresh_memory_for_few_of_many_large_batches(tmp_path):
    with Served(data=tmp_path) as served:
        producer = kafka.KafkaProducer(bootstrap_servers=served.bootstrap, max_request_size=2 * BATCH_BYTES)

        def send(count):
            for _ in range(count):
                producer.send("orders", bytes(BATCH_BYTES)).get(60)

        send(5)
        before = page_faults(served.process.pid)
        send(40)
        fresh_bytes = (page_faults(served.process.pid) - before) * PAGE_BYTES
        producer.close()
    assert fresh_bytes < 40 * BATCH_BYTES / 4
