"""What lesson 10 runs and reads: who leads, what each replica has, what a producer
waited for and heard.

Also the lesson's model of two rules by which a replica cuts its log (KIP-101): logs are
lists of (leader epoch, value).
"""

from collections.abc import Callable

from minikafka.cluster.metadata import Partition
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.producer_handle import ProducerHandle
from minikafka.wire.records import batches, decode_batch

TOPIC = "orders"
# What a failover consists of; the rest is requests, answers and copies.
TOLD = {
    "NodeCrashed",
    "NodeShutDown",
    "NodeRestarted",
    "BrokerFenced",
    "LeaderElected",
    "LogTruncated",
    "BatchSent",
    "BatchRetried",
    "RecordsAppended",
    "DuplicateRecognized",
    "RecordsAcknowledged",
    "SendFailed",
}

Log = list[tuple[int, str]]  # (leader epoch, value), by offset
EndOf = Callable[[int], tuple[int, int]]


def brokers_with_orders(
    seed: int = 1,
    partitions: int = 1,
    replication_factor: int = 3,
    min_insync_replicas: int = 2,
) -> Cluster:
    """Three brokers with Kafka's defaults, and the topic orders."""
    cluster = Cluster(brokers=3, seed=seed)
    configs = {"min.insync.replicas": min_insync_replicas}
    cluster.create_topic(
        TOPIC, partitions, replication_factor=replication_factor, configs=configs
    )
    cluster.run(seconds=1)
    return cluster


def partition_of(cluster: Cluster, number: int = 0) -> Partition:
    """A partition of orders as the brokers know it."""
    found: Partition = cluster._topics._described(TOPIC, number)
    return found


def leaders(cluster: Cluster) -> dict[int, int]:
    """Partition of orders -> the broker that leads it, -1 for nobody."""
    return {
        number: partition_of(cluster, number).leader
        for number in range(cluster.partition_count(TOPIC))
    }


def all_in_sync(cluster: Cluster) -> bool:
    """Whether all brokers are up and ready, and every replica of every partition is in
    the ISR.
    """
    if not all(
        each.state == "up" and each.broker.ready for each in cluster._brokers.values()
    ):
        return False
    found = [partition_of(cluster, number) for number in leaders(cluster)]
    return all(set(each.isr) == set(each.replicas) for each in found)


def has_stopped(cluster: Cluster, broker: int) -> bool:
    """Whether no process of this broker runs."""
    return cluster._brokers[broker].state == "down"


def logs(cluster: Cluster) -> str:
    """What each replica of orders-0 has on its disk, a line a broker: leader epoch and
    value of each record.
    """
    lines = []
    for broker, process in cluster._brokers.items():
        if broker in partition_of(cluster).replicas and process.state != "down":
            shown = "  ".join(
                f"{value} (epoch {epoch})" for epoch, value in log_of(cluster, broker)
            )
            lines.append(f"broker {broker}: {shown}")
    return "\n".join(lines)


def log_of(cluster: Cluster, broker: int) -> Log:
    """The records of one replica of orders-0, also those that don't count yet."""
    replica = cluster._brokers[broker].broker.replicas.find(TOPIC, 0)
    assert replica is not None, f"broker {broker} has no replica of {TOPIC}-0"
    log = replica.log
    data = bytearray().join(log.read(log.log_start_offset, 1 << 20, log.log_end_offset))
    return [
        (header.partition_leader_epoch, bytes(record.value or b"").decode())
        for header, batch in batches(data)
        for record in decode_batch(batch)
    ]


def told(cluster: Cluster, since_ms: int) -> str:
    """The steps of a failover, as the trace has them."""
    steps = [
        event for event in cluster.trace if event.at >= since_ms and event.kind in TOLD
    ]
    return "\n".join(
        str(event) for event in steps if event.detail.get("topic", TOPIC) == TOPIC
    )


# -- a failover, timed


def failover(ending: str = "kill -9", seed: int = 1) -> tuple[Cluster, int]:
    """The leader of orders ends by "kill -9", "power" or "clean stop", and at once the
    shop sends order 1: (the cluster when that is acknowledged, since when).
    """
    cluster = brokers_with_orders(seed)
    shop = cluster.producer(client_id="shop")
    shop.send(TOPIC, key="alice", value="order 0").get()
    began_ms, leader = cluster.now_ms, partition_of(cluster).leader
    if ending == "clean stop":
        cluster.stop(leader)
    else:
        cluster.crash(leader, power=ending == "power")
    shop.send(TOPIC, key="alice", value="order 1").get()
    return cluster, began_ms


def cut_off(cluster: Cluster) -> tuple[ProducerHandle, ProducerHandle]:
    """The leader of orders-0 is cut off from the other brokers, which elect another.
    Two producers: `lonely` with acks=1 reaches the old leader alone, `web` all others.
    """
    lonely, web = (
        cluster.producer(client_id="lonely", acks=1),
        cluster.producer(client_id="web"),
    )
    leader = partition_of(cluster).leader
    for other in {1, 2, 3} - {leader}:
        cluster.cut(leader, other)
        cluster.cut(lonely, other)
    cluster.cut(web, leader)
    return lonely, web


def restart_cleanly(cluster: Cluster, broker: int) -> None:
    """Stop it, wait until its process has ended, start it, and wait until it is in sync
    again.
    """
    cluster.stop(broker)
    cluster.run_until(lambda: has_stopped(cluster, broker))
    cluster.restart(broker)
    cluster.run_until(lambda: all_in_sync(cluster))


# -- the model: how much of its log does a replica keep that comes back?

# log, its high watermark, the leader's answers: how many records it keeps
Rule = Callable[[Log, int, EndOf], int]


def end_of(log: Log) -> EndOf:
    """How a leader with this log answers: (the largest of its epochs up to the one
    asked for, the offset behind that epoch's last record); (-1, 0) if it has none. As
    OffsetForLeaderEpoch, but for logs that begin at 0.
    """

    def answer(epoch: int) -> tuple[int, int]:
        known = [
            (each, offset + 1) for offset, (each, _) in enumerate(log) if each <= epoch
        ]
        return known[-1] if known else (-1, 0)

    return answer


def to_the_high_watermark(log: Log, high_watermark: int, end_of: EndOf) -> int:
    """The rule before Kafka 0.11: keep what you know to count."""
    return min(len(log), high_watermark)


def kept_by_epochs(log: Log, end_of: EndOf) -> int:
    """Kafka's rule since KIP-279."""
    keep = len(log)
    while keep:
        asked = log[keep - 1][0]
        epoch, end = end_of(asked)
        keep = min(end, sum(each <= epoch for each, _ in log[:keep]))
        if epoch == asked:
            break
    return keep


def two_restarts(rule: Rule) -> dict[str, list[str]]:
    """A leads, and B has copied all: created and paid count. B knows that only of
    created: it hears of the high watermark with its next fetch. B restarts. Before B
    has fetched again A dies, B leads and writes shipped. A comes back. Returns both
    logs.
    """
    a: Log = [(0, "created"), (0, "paid")]
    b = list(a)
    b = b[: rule(b, 1, end_of(a))]
    b.append((1, "shipped"))
    a = a[: rule(a, 2, end_of(b))]
    a += b[len(a) :]
    return {name: [value for _, value in log] for name, log in (("A", a), ("B", b))}
