"""Lesson 09's experiments: a topic with replicas, described as Kafka's tool does it,
and the orders that were lost.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence

from minikafka.cluster.metadata import NO_LEADER, Image, Partition
from minikafka.faults import Crash, Cut, Fault, Freeze
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.fault_map import NOTHING, FaultMap, Outcome, fault_map
from minikafka.simulation.producer_handle import ProducerHandle
from minikafka.trace import Event
from minikafka.wire.errors import KafkaError
from minikafka.wire.records import batches, decode_batch

TOPIC = "orders"
TOPIC_CONFIGS = 2  # Kafka's number of this type of resource

# the story of exercise 2
BEGINS_MS = 5000
EVERY_MS = 10  # from order to order
ORDERS = 5
AFTER_S = 40
STILL_MS = 12_000  # of a fault on the map
MOMENTS_MS = range(4980, 5080, 5)
SENT = {BEGINS_MS: "order 0"} | {
    BEGINS_MS + number * EVERY_MS: str(number) for number in range(1, ORDERS)
}  # when each order is sent, in a few letters


def three_brokers(
    seed: int = 1, min_insync_replicas: int = 2, faults: Sequence[Fault] = ()
) -> Cluster:
    """Three brokers, and orders with a replica on each."""
    cluster = Cluster(brokers=3, seed=seed, faults=faults)
    return _with_orders(cluster, min_insync_replicas)


def five_brokers() -> Cluster:
    """Five brokers, and orders on 3, 4 and 5. So two of its brokers may die, and the
    cluster still decides things.
    """
    return _with_orders(Cluster(brokers=5, seed=5), 2)


def _with_orders(cluster: Cluster, min_insync_replicas: int) -> Cluster:
    configs = {"min.insync.replicas": min_insync_replicas}
    cluster.create_topic(TOPIC, replication_factor=3, configs=configs)
    cluster.run(seconds=1)
    return cluster


# -- looking


def partition_of(cluster: Cluster, topic: str = TOPIC, number: int = 0) -> Partition:
    """A partition as the brokers know it."""
    return cluster.partition(topic, number)


def described(cluster: Cluster, topic: str = TOPIC) -> str:
    """The output of `kafka-topics.sh --describe` for a topic, with spaces instead of
    tabs.
    """
    image = _an_image(cluster)
    found = image.topics[topic]
    topic_id = urlsafe_b64encode(found.topic_id).rstrip(b"=").decode()
    configs = image.configs.get((TOPIC_CONFIGS, topic), {})
    in_words = [f"{name}={value}" for name, value in sorted(configs.items())]
    columns = {
        "Topic": topic,
        "TopicId": topic_id,
        "PartitionCount": len(found.partitions),
        "ReplicationFactor": len(found.partitions[0].replicas),
        "Configs": ",".join(in_words),
    }
    lines = [_columns(columns)]
    for number, partition in sorted(found.partitions.items()):
        lines.append(line(topic, number, partition))
    return "\n".join(lines).expandtabs(2)


def _an_image(cluster: Cluster) -> Image:
    """The metadata as a broker has it that is up."""
    for process in cluster.brokers.values():
        if process.state == "up":
            return process.broker.image
    raise AssertionError("no broker is up")


def line(topic: str, number: int, partition: Partition) -> str:
    """A partition's line: the columns of org.apache.kafka.tools.TopicCommand."""
    leader = "none" if partition.leader == NO_LEADER else partition.leader
    columns = {
        "Topic": topic,
        "Partition": number,
        "Leader": leader,
        "Replicas": _listed(partition.replicas),
        "Isr": _listed(partition.isr),
        "Elr": _listed(partition.eligible_leader_replicas),
        "LastKnownElr": _listed(partition.last_known_elr),
    }
    return "\t" + _columns(columns)


def _columns(columns: Mapping[str, object]) -> str:
    return "\t".join(f"{name}: {value}" for name, value in columns.items())


def _listed(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))


def copies(cluster: Cluster, topic: str = TOPIC, number: int = 0) -> str:
    """One line a replica: where its log ends, and the high watermark as its broker
    knows it.
    """
    partition = partition_of(cluster, topic, number)
    lines = []
    for broker in partition.replicas:
        process = cluster.brokers[broker]
        role = "leader" if broker == partition.leader else "follower"
        replica = process.broker.replicas.find_or_create(topic, number)
        if process.state == "down" or replica is None:
            state = process.state
        else:
            log_end_offset = replica.log.log_end_offset
            state = f"log end offset {log_end_offset}"
            state += f", high watermark {replica.high_watermark}"
            if process.state == "frozen":
                state += " (frozen)"
        lines.append(f"broker {broker}  {role:8}  {state}")
    return "\n".join(lines)


def followers(cluster: Cluster) -> list[int]:
    """The brokers that follow the leader of orders, in the order of its replicas."""
    partition = partition_of(cluster)
    return [broker for broker in partition.replicas if broker != partition.leader]


def read(cluster: Cluster) -> list[str]:
    """The values that a consumer of orders gets, from the oldest record on."""
    return [str(record.value, "utf-8") for record in cluster.records(TOPIC)]


def one_stands_still(stop: Callable[[Cluster], object]) -> Cluster:
    """Three brokers in sync; stop(cluster) says what happens to broker 1. Then the shop
    sends one order with acks=all.
    """
    cluster = three_brokers()
    shop = cluster.producer(client_id="shop")
    shop.send(TOPIC, key="alice", value="created").get()
    cluster.run(seconds=1)
    stop(cluster)
    shop.send(TOPIC, key="alice", value="delivered").get()
    return cluster


# -- where a picture stops


def another_leads(event: Event) -> bool:
    """Whether this is the first leader after the first one."""
    return event.kind == "LeaderElected" and event.detail["leader_epoch"] == 1


def turning_point(event: Event) -> bool:
    """Whether the controller gives up a frozen broker."""
    return event.kind == "BrokerFenced"


# -- answers, computed from the trace


def how_it_ended(trace: Iterable[Event]) -> int:
    """The fate of the last batch: 1 acknowledged within a second, 2 later, 3
    refused.
    """
    events = list(trace)
    if any(event.kind == "SendFailed" for event in events):
        return 3
    if waited_s(events) < 1:
        return 1
    return 2


def who_has_it(trace: Iterable[Event]) -> int:
    """The brokers that have paid: 1 all three, 2 one broker, 3 none."""
    holders = set()
    for event in trace:
        if event.kind == "LogTruncated":
            holders.discard(event.node)
        elif event.kind in ("RecordsAppended", "RecordsReplicated"):
            values = [value for _, _, value, *_ in event.detail["records"]]
            if "paid" in values:
                holders.add(event.node)
    if not holders:
        return 3
    return 2 if len(holders) == 1 else 1


def which_are_named(cluster: Cluster, options: Sequence[str]) -> int:
    """The number of the option that names the eligible leader replicas of orders."""
    eligible = partition_of(cluster).eligible_leader_replicas
    return options.index(" and ".join(map(str, eligible)) or "none") + 1


def who_leads(cluster: Cluster, options: Sequence[str]) -> int:
    """The number of the option that names the leader of orders."""
    leader = partition_of(cluster).leader
    return options.index("nobody" if leader == NO_LEADER else f"broker {leader}") + 1


def waited_s(trace: Iterable[Event]) -> float:
    """From the last batch that was sent for the first time to its acknowledgement, in
    virtual seconds.
    """
    sent_ms, heard_ms = [], []
    for event in trace:
        if event.kind == "BatchSent" and event.detail["attempt"] == 1:
            sent_ms.append(event.at)
        elif event.kind == "RecordsAcknowledged":
            heard_ms.append(event.at)
    return (heard_ms[-1] - sent_ms[-1]) / 1000


# -- exercise 2


def five_orders(
    faults: Sequence[Fault],
    acks: int | str = 1,
    seed: int = 0,
    min_insync_replicas: int = 2,
) -> Cluster:
    """The story of exercise 2, from 5 s on: five orders, one every 10 ms, and a minute
    for the cluster to settle.
    """
    cluster = three_brokers(seed, min_insync_replicas, faults)
    shop = cluster.producer(client_id="shop", acks=acks)
    # a fault may have held up the topic
    left_ms = BEGINS_MS - cluster.now_ms
    cluster.run_ms(max(0, left_ms))
    send(cluster, shop)
    cluster.run(seconds=AFTER_S)
    return cluster


def send(cluster: Cluster, shop: ProducerHandle) -> None:
    """Send the five orders, one every EVERY_MS."""
    for number in range(ORDERS):
        shop.send(TOPIC, value=f"order {number}")
        cluster.run_ms(EVERY_MS)


def acknowledged(cluster: Cluster) -> list[str]:
    """The orders of which the shop has heard that they are done."""
    done = []
    for number, future in enumerate(cluster.futures):
        if future.is_done and future.exception is None:
            done.append(f"order {number}")
    return done


def lost(cluster: Cluster) -> list[str] | None:
    """The orders that were acknowledged and that no consumer will get any more; None
    while nobody leads. What is in the leader's log is not lost, even where too few are
    in sync for anybody to read it.
    """
    try:
        leader = partition_of(cluster).leader
        if leader == NO_LEADER:
            return None
        if cluster.brokers[leader].state != "up":
            return None
    except KafkaError:
        return None
    there = _in_the_log(cluster, leader)
    return [order for order in acknowledged(cluster) if order not in there]


def _in_the_log(cluster: Cluster, broker: int) -> list[str]:
    """The values in a broker's replica, also behind the high watermark."""
    replica = cluster.brokers[broker].broker.replicas.find_or_create(TOPIC, 0)
    assert replica is not None
    log = replica.log
    pieces = log.read(log.log_start_offset, 1 << 20, log.log_end_offset)
    found = []
    for _, batch in batches(bytearray().join(pieces)):
        for record in decode_batch(batch):
            found.append(bytes(record.value or b"").decode())
    return found


# -- the map


def every_moment(
    acks: int | str, also: Sequence[Fault] = (), min_insync_replicas: int = 2
) -> FaultMap:
    """The story of exercise 2 with one fault more, at each moment from before the first
    order until after the last.
    """
    faults = (
        Crash(1, restart_after_ms=20_000),
        Freeze(1, at_ms=0, for_ms=STILL_MS),
        Freeze(2, at_ms=0, for_ms=STILL_MS),
        Cut(1, 2, at_ms=0, for_ms=STILL_MS),
    )

    def run(plan: list[Fault]) -> Cluster:
        return five_orders(plan, acks, min_insync_replicas=min_insync_replicas)

    return fault_map(run, faults, fared, MOMENTS_MS, also, keeps_traces=True)


def loss(cluster: Cluster) -> Outcome | None:
    """The worst outcome: acknowledged orders are gone, or the partition has no
    leader.
    """
    gone = lost(cluster)
    if gone is None:
        return Outcome("nobody", "leads")
    return Outcome("lost", ", ".join(gone)) if gone else None


def fared(cluster: Cluster) -> Outcome:
    """The fate of the five orders."""
    worst = loss(cluster)
    if worst is not None:
        return worst
    there = read(cluster)
    if len(set(there)) < len(there):
        return Outcome("twice")
    if len(acknowledged(cluster)) < ORDERS:
        return Outcome("refused")
    waited = round((_last_acknowledgement_ms(cluster) - BEGINS_MS) / 1000)
    if waited:
        return Outcome("waited", f"{waited} s")
    return NOTHING


def _last_acknowledgement_ms(cluster: Cluster) -> int:
    heard_ms = 0
    for event in cluster.trace:
        if event.kind == "RecordsAcknowledged":
            heard_ms = event.at
    return heard_ms
