"""Runs of transactions for the timeline, each a second or two of real time."""

from functools import cache

from minikafka import Cluster
from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.wire.errors import KafkaError
from tests.simulation.replication_schedules import QUICK

INTERNAL = {
    "transaction.state.log.num.partitions": 1,
    "offsets.topic.num.partitions": 1,
}


def three(topic="payments"):
    """Three brokers, two partitions with a leader each, and a reader of either kind."""
    cluster = Cluster(brokers=3, seed=5, configs=QUICK | INTERNAL)
    cluster.create_topic(topic, partitions=2, replication_factor=3)
    readers = [
        cluster.consumer(
            topic,
            client_id=name,
            auto_offset_reset="earliest",
            isolation_level=f"read_{name}",
        )
        for name in ("uncommitted", "committed")
    ]
    return cluster, readers


def polled(readers):
    for reader in readers:
        for _ in range(2):
            reader.poll(timeout_ms=600)


def transactional(cluster, client_id, **config):
    producer = cluster.producer(transactional_id="pay", client_id=client_id, **config)
    producer.init_transactions()
    return producer


@cache
def zombie(name="shop", topic="payments", value="10 euros"):
    """A transaction commits, with a group's offsets. In the second one its producer
    freezes; another one comes, and the first one goes on.
    """
    cluster, readers = three(topic)
    with cluster:
        cluster.create_topic("orders", replication_factor=3)
        feeder = cluster.producer(client_id="feeder")
        feeder.send("orders", value="order").get()
        source = cluster.consumer(
            "orders",
            group_id="copy",
            client_id="copier",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        while not source.poll(timeout_ms=1000):
            pass
        shop = transactional(cluster, name)
        shop.begin_transaction()
        for number in range(2):
            shop.send(topic, value=value, partition=number)
        shop.send_offsets_to_transaction(
            {TopicPartition("orders", 0): OffsetAndMetadata(1, "")},
            source.group_metadata(),
        )
        shop.commit_transaction()
        cluster.run_ms(500)
        polled(readers)
        shop.begin_transaction()
        shop.send(topic, value="20", partition=0).get()
        feeder.send(topic, value="plain", partition=0).get()
        polled(readers)
        another = transactional(cluster, "another")
        try:
            shop.commit_transaction()
        except KafkaError:
            polled(readers)
        another.begin_transaction()
        another.send(topic, value="30", partition=0)
        another.commit_transaction()
        cluster.run_ms(500)
        polled(readers)
        return tuple(cluster.trace)


@cache
def too_slow():
    """A transaction that its producer leaves open, on one broker."""
    with Cluster(seed=5, configs=INTERNAL) as cluster:
        cluster.create_topic("payments")
        shop = transactional(cluster, "shop", transaction_timeout_ms=5000)
        shop.begin_transaction()
        shop.send("payments", value="10", partition=0).get()
        cluster.run(seconds=20)
        try:
            shop.commit_transaction()
        except KafkaError:
            return tuple(cluster.trace)
        raise AssertionError("it was committed")
