"""What lesson 23 claims about Fetch and about half a batch, as one check each, run on
minikafka and on Apache Kafka over TCP.

The ledger (`notebooks/claims.toml`) names these tests as its evidence.
"""

import time
from contextlib import contextmanager

import pytest

from minikafka.server.embedded import Served
from minikafka.wire.errors import Error
from minikafka.wire.records import batches, decode_batch, encode_batch
from tests.clients.brokers import KEPT, overrides
from tests.conformance.raw import Connection
from tests.kafka import BOTH, MINIKAFKA, ApacheKafka

pytestmark = pytest.mark.slow

TOPIC, LOG = "orders", f"{0:020}.log"
PATIENCE_S = 120


@contextmanager
def a_life(kind, data):
    """A broker on this folder, killed with kill -9 in the end; yields where it
    listens.
    """
    if kind == MINIKAFKA:
        served = Served(data, options=overrides(KEPT))
        try:
            yield served.bootstrap
        finally:
            served.kill()
        return
    with ApacheKafka({"log.initial.task.delay.ms": "3600000"}, data=data) as apache:
        yield apache.bootstrap
        apache.process.kill()
        apache.process.wait()


def batch(count):
    now_ms = int(time.time() * 1000)
    return encode_batch([(now_ms, None, b"order", []) for _ in range(count)])


def produce(broker, count):
    """The base offset. A broker that has just started may not lead yet."""
    data = {"index": 0, "records": batch(count)}
    topic = {"name": TOPIC, "partition_data": [data]}
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        broker.ask("Metadata", 5, topics=[{"name": TOPIC}])
        answer = broker.ask("Produce", 7, acks=-1, timeout_ms=9000, topic_data=[topic])
        stored = answer.responses[0].partition_responses[0]
        if stored.error_code == Error.NONE:
            return stored.base_offset
    raise AssertionError(f"not stored: {Error(stored.error_code).name}")


def fetch(broker, offset):
    """The offsets of the records in the answer."""
    asked = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1_000_000}
    topic = {"topic": TOPIC, "partitions": [asked]}
    answer = broker.ask("Fetch", 6, max_wait_ms=9000, min_bytes=1, topics=[topic])
    records = answer.responses[0].partitions[0].records
    return [each.offset for _, one in batches(records) for each in decode_batch(one)]


@pytest.mark.parametrize("kind", BOTH)
def test_fetch_from_the_middle_of_a_batch_gives_the_whole_batch(kind, tmp_path):
    with a_life(kind, tmp_path) as bootstrap:
        broker = Connection(bootstrap)
        assert produce(broker, 3) == 0 and produce(broker, 5) == 3
        assert fetch(broker, 5) == [3, 4, 5, 6, 7]


@pytest.mark.parametrize("kind", BOTH)
def test_half_a_batch_at_the_end_is_cut_off_and_its_offset_is_given_again(
    kind, tmp_path
):
    with a_life(kind, tmp_path) as bootstrap:
        assert produce(Connection(bootstrap), 3) == 0
    [log] = tmp_path.rglob(f"{TOPIC}-0/{LOG}")
    whole = log.stat().st_size
    with log.open("ab") as file:
        file.write((3).to_bytes(8, "big") + batch(5)[8:60])
    with a_life(kind, tmp_path) as bootstrap:
        broker = Connection(bootstrap)
        assert produce(broker, 1) == 3
        assert fetch(broker, 0) == [0, 1, 2, 3]
        assert log.stat().st_size == whole + len(batch(1))
