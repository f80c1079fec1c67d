"""What lesson 11 runs and reads: a cluster whose brokers 1 to 3 vote, the metadata log
in words, who has it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from minikafka.clients.errors import KafkaTimeoutError
from minikafka.cluster.metadata import Partition
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.consumer_handle import ConsumerHandle
from minikafka.simulation.producer_handle import ProducerHandle
from minikafka.trace import Event
from minikafka.wire.errors import KafkaError

TOPIC = "orders"
# orders is on 4 and 5, which don't vote, and broker 1 is the first active controller
SEED = 12
VOTERS = (1, 2, 3)
SHOWN = {
    "broker_id",
    "fenced",
    "name",
    "value",
    "partition_id",
    "leader",
    "isr",
    "feature_level",
}
ELECTION = {
    "NodeCrashed",
    "NodeShutDown",
    "NodeRestarted",
    "VotesRequested",
    "VoteAnswered",
    "ControllerElected",
    "ControllerResigned",
    "BrokerFenced",
    "IsrAsked",
    "IsrShrunk",
    "LeaderElected",
}

Record = tuple[int, str, dict[str, Any]]  # offset, type, fields


def five_brokers() -> Cluster:
    """Five brokers with Kafka's defaults. 1 to 3 vote in the metadata quorum; orders is
    on 4, which leads, and 5.
    """
    cluster = Cluster(brokers=5, seed=SEED)
    cluster.create_topic(
        TOPIC, replication_factor=2, configs={"min.insync.replicas": 1}
    )
    cluster.run(seconds=1)
    return cluster


def partition_of(cluster: Cluster) -> Partition:
    """orders-0 as the brokers know it."""
    found: Partition = cluster._topics._described(TOPIC, 0)
    return found


def one_lacks_it() -> tuple[Cluster, int]:
    """Broker 3 is cut off from the controller, broker 1, which creates the topic
    refunds: brokers 1 and 2 have the records. Then 1 dies, and 3 is back.
    """
    cluster = five_brokers()
    cluster.cut(1, 3)
    cluster.run_ms(300)
    cluster.create_topic("refunds")
    since_ms = cluster.now_ms
    cluster.crash(1)
    cluster.run(seconds=10)
    return cluster, since_ms


def controller_dies(
    end: Callable[[Cluster], object],
) -> tuple[Cluster, int, int]:
    """end(cluster) says how broker 1 ends. In the same moment the shop sends an order:
    (the cluster some seconds later, since when, how long the order took in ms).
    """
    cluster = five_brokers()
    shop = cluster.producer(client_id="shop")
    shop.send(TOPIC, key="alice", value="created").get()
    since_ms = cluster.now_ms
    end(cluster)
    shop.send(TOPIC, key="alice", value="paid").get()
    waited_ms = cluster.now_ms - since_ms
    cluster.run_until(lambda: active_controller(cluster) != 1)
    cluster.run(seconds=12)
    return cluster, since_ms, waited_ms


def twenty_seconds_of_work() -> tuple[Cluster, int, int]:
    """The shop sends 100 orders, and a consumer reads them: (the cluster, since when,
    how many were read).
    """
    cluster = five_brokers()
    shop = cluster.producer(client_id="shop")
    shop.send(TOPIC, key="alice", value="created").get()
    since_ms = cluster.now_ms
    for number in range(100):
        shop.send(TOPIC, value=f"order {number}")
    consumer = cluster.consumer(TOPIC, auto_offset_reset="earliest")
    read = sum(
        len(records)
        for _ in range(5)
        for records in consumer.poll(timeout_ms=1000).values()
    )
    cluster.run(seconds=20)
    return cluster, since_ms, read


# -- the metadata log


def metadata_log(cluster: Cluster, since_ms: int = 0) -> list[Record]:
    """What active controllers have appended since then."""
    appended = [
        event
        for event in cluster.trace
        if event.kind == "MetadataAppended" and event.at >= since_ms
    ]
    return [
        (offset, name, fields)
        for event in appended
        for offset, name, fields in event.detail["records"]
    ]


def in_words(records: Iterable[Record]) -> str:
    """A line a record: its offset, its type, and those of its fields that the lesson is
    about.
    """
    lines = []
    for offset, name, fields in records:
        said = ", ".join(
            f"{key} {value}" for key, value in fields.items() if key in SHOWN
        )
        lines.append(f"{offset:3}  {name:31} {said}".rstrip())
    return "\n".join(lines)


def active_controller(cluster: Cluster) -> int:
    """The broker that was elected last."""
    return int(elections(cluster)[-1].node.split()[1])


def elections(cluster: Cluster) -> Sequence[Event]:
    """Each time that a voter became the active controller."""
    return [event for event in cluster.trace if event.kind == "ControllerElected"]


def replication(cluster: Cluster) -> str:
    """The first columns of `kafka-metadata-quorum.sh describe --replication`, of the
    nodes that are up.
    """
    up = {
        node: process.broker.quorum
        for node, process in cluster._brokers.items()
        if process.state == "up"
    }
    end = max(quorum.end_offset for quorum in up.values())
    lines = ["NodeId  LogEndOffset  Lag  Status"]
    for node, quorum in sorted(up.items(), key=lambda each: not each[1].is_leader):
        status = (
            "Leader"
            if quorum.is_leader
            else "Follower"
            if node in VOTERS
            else "Observer"
        )
        lines.append(
            f"{node:<7} {quorum.end_offset:<13} {end - quorum.end_offset:<4} {status}"
        )
    return "\n".join(lines)


def told(cluster: Cluster, since_ms: int) -> str:
    """The steps of an election and what it decided, as the trace has them. PreVote and
    Vote are told apart.
    """
    return "\n".join(
        _told(event)
        for event in cluster.trace
        if event.at >= since_ms and event.kind in ELECTION
    )


def _told(event: Event) -> str:
    at, d = f"{event.at / 1000:.3f} s  {event.node}", event.detail
    if event.kind == "VotesRequested":
        return f"{at}: " + (
            "would you vote for me?"
            if d["pre_vote"]
            else f"stands for epoch {d['epoch']}"
        )
    if event.kind == "VoteAnswered":
        asked = "would vote" if d["pre_vote"] else "votes"
        return (
            f"{at}: {asked if d['granted'] else 'no, not'} for broker {d['candidate']}"
        )
    return str(event)


def who_may_win(cluster: Cluster, since_ms: int) -> int:
    """After one_lacks_it: 1 broker 2 or 3, 2 broker 2 alone, 3 nobody."""
    if active_controller(cluster) == 1:
        return 3
    return 2 if "no, not for broker 3" in told(cluster, since_ms) else 1


# -- what still works


def without_a_majority() -> tuple[Cluster, ProducerHandle, ConsumerHandle]:
    """A shop and a reader run, then two of the three voters are killed, and ten seconds
    pass.
    """
    cluster = five_brokers()
    shop = cluster.producer(client_id="shop")
    shop.send(TOPIC, key="alice", value="created").get()
    reader = cluster.consumer(TOPIC, client_id="reader", auto_offset_reset="earliest")
    reader.poll(timeout_ms=1000)
    cluster.crash(1)
    cluster.crash(2)
    cluster.run(seconds=10)
    return cluster, shop, reader


def tried(call: Any, *args: Any, **kwargs: Any) -> str:
    """Calls it: "yes", or the name of the error that came of it."""
    try:
        call(*args, **kwargs)
    except (KafkaError, KafkaTimeoutError) as error:
        return f"no: {str(error).partition(':')[0]}"
    return "yes"


# -- exercise 2, as Kafka does it

Change = tuple[str, dict[str, Any]]  # type, fields
Partitions = dict[tuple[str, int], dict[str, Any]]


def image_of(
    snapshot: Sequence[Change], log: Sequence[Record], high_watermark: int
) -> dict[str, dict[Any, Any]]:
    """The cluster as a snapshot, and the committed records behind it, say."""
    brokers: dict[int, str] = {}
    names: dict[str, str] = {}
    partitions: Partitions = {}
    committed = [
        (name, fields) for offset, name, fields in log if offset < high_watermark
    ]
    for name, fields in [*snapshot, *committed]:
        if name == "RegisterBrokerRecord":
            brokers[fields["broker_id"]] = "fenced" if fields["fenced"] else "unfenced"
        elif name == "BrokerRegistrationChangeRecord" and fields.get("fenced"):
            brokers[fields["broker_id"]] = (
                "fenced" if fields["fenced"] == 1 else "unfenced"
            )
        elif name == "UnregisterBrokerRecord":
            del brokers[fields["broker_id"]]
        elif name == "TopicRecord":
            names[fields["topic_id"]] = fields["name"]
        elif name == "RemoveTopicRecord":
            del names[fields["topic_id"]]
        elif name in ("PartitionRecord", "PartitionChangeRecord"):
            _take_in(partitions, name, fields)
    there = {
        (names[topic], number): each
        for (topic, number), each in partitions.items()
        if topic in names
    }
    return {"brokers": brokers, "partitions": there}


def _take_in(partitions: Partitions, name: str, fields: dict[str, Any]) -> None:
    """A partition is new, or something changed in it: who is named as leader leads in
    the next epoch.
    """
    place = fields["topic_id"], fields["partition_id"]
    if name == "PartitionRecord":
        partitions[place] = {
            key: fields[key] for key in ("leader", "leader_epoch", "isr")
        }
    else:
        changed = {key: fields[key] for key in ("leader", "isr") if key in fields}
        epoch = partitions[place]["leader_epoch"] + ("leader" in fields)
        partitions[place] |= changed | {"leader_epoch": epoch}
