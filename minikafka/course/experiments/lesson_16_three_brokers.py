"""The three brokers of lesson 16's table, simulated: all of them vote, and `orders` is as
there.
"""

from minikafka.simulation.cluster import Cluster

TOPIC, PARTITIONS = "orders", 3
SEED = 16


def three_brokers() -> Cluster:
    """Brokers 1 to 3, which are the controllers, too; `orders` has three partitions,
    three copies, and needs two in sync.
    """
    cluster = Cluster(brokers=3, seed=SEED)
    needs_two = {"min.insync.replicas": 2}
    cluster.create_topic(
        TOPIC, partitions=PARTITIONS, replication_factor=3, configs=needs_two
    )
    cluster.run(seconds=1)
    return cluster


def described(cluster: Cluster) -> list[str]:
    """A line for each partition, as `kafka-topics.sh --describe` has it, from what the
    brokers that are up know.
    """
    lines = []
    for number in range(PARTITIONS):
        partition = cluster.partition(TOPIC, number)
        leader = partition.leader if partition.leader >= 0 else "none"
        replicas = ",".join(map(str, partition.replicas))
        in_sync = ",".join(map(str, partition.isr))
        lines.append(
            f"Partition: {number}   Leader: {leader}   Replicas: {replicas}"
            f"   Isr: {in_sync}"
        )
    return lines
