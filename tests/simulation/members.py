"""Members of a group, and the programs that use them, for the tests of consumer
groups.
"""


def sent(cluster, count=20, partitions=2):
    """Records in turn to each partition of "orders", with the keys k0, k1, ..."""
    if "orders" not in cluster.topics():
        cluster.create_topic("orders", partitions=partitions)
    producer = cluster.producer()
    for n in range(count):
        producer.send(
            "orders",
            key=f"k{n}",
            value=str(n),
            partition=n % cluster.partition_count("orders"),
        )
    producer.flush()


def member(cluster, **config):
    return cluster.consumer(
        "orders", group_id="billing", **{"auto_offset_reset": "earliest", **config}
    )


def reads(consumer, seen=None):
    """A program: read for ever."""
    for record in consumer:
        if seen is not None:
            seen.append((record.partition, record.offset))


def running(cluster, count=1, **config):
    made = [member(cluster, **config) for _ in range(count)]
    for each in made:
        cluster.start(reads, each)
    return made


def numbers(consumer):
    return sorted(partition.partition for partition in consumer.assignment())


def kinds(cluster, *wanted, node=None):
    return [
        event
        for event in cluster.trace
        if event.kind in wanted and (node is None or event.node == node)
    ]


def committed(cluster):
    return {
        partition.partition: offset
        for partition, offset in cluster.committed_offsets("billing").items()
    }
