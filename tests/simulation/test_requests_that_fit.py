"""What a node asks of another fits into what that one takes in one request, however
many partitions it is about.

The limit on a request's items is made small here, so that few partitions reach it;
clients have the usual one.
"""

from functools import partial

import pytest

from minikafka import Cluster
from minikafka.broker.peers import Peers
from minikafka.wire import messages
from tests.simulation.replication_schedules import QUICK

pytestmark = pytest.mark.slow

ONE_EACH = {"transaction.state.log.num.partitions": 1}
PARTITIONS = 30


@pytest.fixture(params=[24, pytest.param(41, marks=pytest.mark.slow)])
def most(request, monkeypatch):
    """The number of items that a request may hold in this test."""
    ask = Peers.ask

    def checked(peers, node, lane, api, version, body, then):
        with monkeypatch.context() as limited:
            limited.setattr(messages, "MOST_REQUEST_ITEMS", request.param)
            messages.decode_request(
                b"".join(messages.encode_request(api, version, 1, None, body))
            )
        asked.add(api)
        ask(peers, node, lane, api, version, body, then)

    asked = set()
    monkeypatch.setattr(Peers, "ask", checked)
    monkeypatch.setattr("minikafka.broker.isr.MOST_REQUEST_ITEMS", request.param)
    monkeypatch.setattr(
        "minikafka.broker.replica_fetcher.MOST_NAMED", request.param // 2
    )
    monkeypatch.setattr(
        "minikafka.coordinators.transaction_requests.MOST_TOGETHER",
        request.param // 2 - 1,
    )
    monkeypatch.setattr(
        "minikafka.coordinators.transaction_requests.MOST_ITEMS", request.param
    )
    yield request.param
    assert asked >= {"WriteTxnMarkers", "AddPartitionsToTxn", "AlterPartition", "Fetch"}


def isrs(cluster):
    """How many replicas of the partitions are in sync."""
    return {
        len(cluster.partition("orders", number).isr) for number in range(PARTITIONS)
    }


def one_transaction(producer):
    producer.init_transactions()
    producer.begin_transaction()
    for number in range(PARTITIONS):
        producer.send("orders", partition=number, value=f"{number}")
    producer.commit_transaction()


@pytest.mark.parametrize("sessions", [1000, 0])
def test_partitions_that_no_request_could_name_together_are_followed_all_and_come_back_into_their_isr(
    most, sessions
):
    slots = {"max.incremental.fetch.session.cache.slots": sessions}
    cluster = Cluster(brokers=3, seed=most, configs=QUICK | ONE_EACH | slots)
    cluster.create_topic("orders", partitions=PARTITIONS, replication_factor=3)
    cluster.start(
        one_transaction, cluster.producer(transactional_id="t", acks="all", linger_ms=5)
    )
    cluster.run(seconds=30)
    reader = cluster.consumer(
        "orders", isolation_level="read_committed", auto_offset_reset="earliest"
    )
    seen = []
    cluster.run_until(partial(read_all, reader, seen), 30)
    assert sorted(seen) == list(range(PARTITIONS))
    cluster.crash(2)
    cluster.run_until(lambda: isrs(cluster) == {2}, 30)
    cluster.restart(2)
    cluster.run_until(lambda: isrs(cluster) == {3}, 30)
    assert isrs(cluster) == {3}


def read_all(reader, seen):
    for records in reader.poll(timeout_ms=100).values():
        seen += [int(record.value) for record in records]
    return len(seen) >= PARTITIONS
