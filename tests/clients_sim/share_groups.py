"""A simulated cluster with a share group that reads from the beginning."""

from minikafka import Cluster

GROUP, LOCK_MS = "workers", 5_000
# quick enough for a test, in virtual time
QUICK = {
    "group.share.heartbeat.interval.ms": 1000,
    "group.share.min.heartbeat.interval.ms": 1000,
    "group.share.record.lock.duration.ms": LOCK_MS,
    "group.share.min.record.lock.duration.ms": 1000,
    "share.coordinator.state.topic.num.partitions": 2,
    "offsets.topic.num.partitions": 2,
}


def sharing(partitions=1, records=0, brokers=1, seed=7, configs=None, **more):
    cluster = Cluster(
        brokers=brokers, seed=seed, configs=QUICK | (configs or {}), **more
    )
    cluster.create_topic("orders", partitions, replication_factor=brokers)
    cluster.alter_group_configs(GROUP, {"share.auto.offset.reset": "earliest"})
    if records:
        send(cluster, records)
    return cluster


def send(cluster, records, partition=0):
    """Each record in a batch of its own."""
    producer = cluster.producer()
    for number in range(records):
        producer.send("orders", value=str(number), partition=partition)
        producer.flush()
    producer.close()


def member(cluster, *topics, **config):
    return cluster.share_consumer(*(topics or ("orders",)), group_id=GROUP, **config)


def explicit(cluster, **config):
    return member(cluster, share_acknowledgement_mode="explicit", **config)


def poll(consumer, most=None, timeout_ms=10_000):
    """The records, whatever partition they are of."""
    polled = consumer.poll(timeout_ms=timeout_ms, max_records=most)
    return [record for records in polled.values() for record in records]


def offsets(records):
    return [(record.offset, record.delivery_count) for record in records]


def events(cluster, *kinds):
    return [event for event in cluster.trace if event.kind in kinds]
