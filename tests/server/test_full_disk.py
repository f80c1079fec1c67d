"""A disk that is full. Apache Kafka 4.3.1 answers KAFKA_STORAGE_ERROR, halts with exit
code 1 as its only log directory has failed, and has every acknowledged record after a
restart with space; so do we.
"""

import resource

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from minikafka.server.embedded import Served

# of one file: the system refuses what is over it, as a full disk would
LIMIT_BYTES = 1 << 20


def test_a_full_disk_stops_the_node_with_one_plain_line_and_loses_nothing_acknowledged(
    tmp_path,
):
    acknowledged, failed = [], []

    def delivered(error, message):
        (failed if error else acknowledged).append(
            error.name() if error else message.offset()
        )

    with Served(data=tmp_path) as served:
        resource.prlimit(
            served.process.pid, resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES)
        )
        producer = Producer(
            {
                "bootstrap.servers": served.bootstrap,
                "retries": 0,
                "message.timeout.ms": 60_000,
                "log_level": 0,
            }
        )
        for _ in range(200):
            producer.produce("orders", bytes(50_000), on_delivery=delivered)
            producer.flush(60)
            if "KAFKA_STORAGE_ERROR" in failed:
                break
        assert "KAFKA_STORAGE_ERROR" in failed
        assert served.process.wait(60) == 1
        assert (
            served.said()
            .splitlines()[-1]
            .startswith("minikafka: node 1 stops: orders-0: ")
        )
        assert "Traceback" not in served.said()
    assert len(acknowledged) > 10

    with Served(data=tmp_path) as served:
        consumer = Consumer(
            {
                "bootstrap.servers": served.bootstrap,
                "group.id": "unused",
                "enable.auto.commit": False,
            }
        )
        first, end = consumer.get_watermark_offsets(TopicPartition("orders", 0), 60)
        consumer.close()
        assert (first, end) == (0, max(acknowledged) + 1)


if not hasattr(resource, "prlimit"):
    pytest.skip("needs Linux to limit another process", allow_module_level=True)
