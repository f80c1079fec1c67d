"""A broker's memory: what large batches leave free serves the next ones."""

import sys

import pytest

from minikafka.server.embedded import Served

pytestmark = pytest.mark.slow

confluent_kafka = pytest.importorskip("confluent_kafka")
RECORD_BYTES, RECORDS = 1000, 60_000
PAGE_BYTES = 4096


def page_faults(pid):
    """Minor page faults of a process so far: `minflt`, the tenth field of
    /proc/pid/stat.
    """
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[7])


@pytest.mark.skipif(
    sys.platform != "linux",
    reason="counts what Linux tells in /proc, of what glibc does",
)
def test_a_broker_asks_the_system_for_little_fresh_memory_while_large_batches_come(
    tmp_path,
):
    with Served(
        data=tmp_path,
        options=("--brokers", "3", "--override", "default.replication.factor=3"),
    ) as served:
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": served.bootstrap, "log_level": 0}
        )

        def send():
            for _ in range(RECORDS):
                producer.produce("orders", bytes(RECORD_BYTES))
            assert producer.flush(60) == 0

        send()
        before = page_faults(served.process.pid)
        send()
        fresh_bytes = (page_faults(served.process.pid) - before) * PAGE_BYTES
    assert fresh_bytes < RECORDS * RECORD_BYTES / 4
