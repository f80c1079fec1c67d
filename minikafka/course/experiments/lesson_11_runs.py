"""Lesson 11's experiments: a cluster whose brokers 1 to 3 vote, the metadata log in
words, and which brokers have it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
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
    configs = {"min.insync.replicas": 1}
    cluster.create_topic(TOPIC, replication_factor=2, configs=configs)
    cluster.run(seconds=1)
    return cluster


def partition_of(cluster: Cluster) -> Partition:
    """orders-0 as the brokers know it."""
    return cluster.partition(TOPIC, 0)


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
    read = 0
    for _ in range(5):
        polled = consumer.poll(timeout_ms=1000)
        read += sum(map(len, polled.values()))
    cluster.run(seconds=20)
    return cluster, since_ms, read


# -- the metadata log


def metadata_log(cluster: Cluster, since_ms: int = 0) -> list[Record]:
    """The records that active controllers have appended since then."""
    log: list[Record] = []
    for event in cluster.trace:
        if event.kind == "MetadataAppended" and event.at >= since_ms:
            log += map(tuple, event.detail["records"])
    return log


def in_words(records: Iterable[Record]) -> str:
    """A line a record: its offset, its type, and those of its fields that the lesson is
    about.
    """
    lines = []
    for offset, name, fields in records:
        shown = [f"{key} {fields[key]}" for key in fields if key in SHOWN]
        said = ", ".join(shown)
        line = f"{offset:3}  {name:31} {said}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def active_controller(cluster: Cluster) -> int:
    """The broker that was elected last."""
    last = elections(cluster)[-1]
    _, number = last.node.split()
    return int(number)


def elections(cluster: Cluster) -> Sequence[Event]:
    """Each time that a voter became the active controller."""
    return [event for event in cluster.trace if event.kind == "ControllerElected"]


def replication(cluster: Cluster) -> str:
    """The first columns of `kafka-metadata-quorum.sh describe --replication`, of the
    nodes that are up.
    """
    leaders, others = [], []
    up = [each.broker for each in cluster.brokers.values() if each.state == "up"]
    end = max(broker.quorum.end_offset for broker in up)
    for broker in up:
        offset = broker.quorum.end_offset
        lag = end - offset
        columns = f"{broker.node_id:<7} {offset:<13} {lag:<4}"
        if broker.quorum.is_leader:
            leaders.append(f"{columns} Leader")
        elif broker.node_id in VOTERS:
            others.append(f"{columns} Follower")
        else:
            others.append(f"{columns} Observer")
    return "\n".join(["NodeId  LogEndOffset  Lag  Status", *leaders, *others])


def told(cluster: Cluster, since_ms: int) -> str:
    """The steps of an election and what it decided, as the trace has them. PreVote and
    Vote are told apart.
    """
    lines = []
    for event in cluster.trace:
        if event.at >= since_ms and event.kind in ELECTION:
            lines.append(_told(event))
    return "\n".join(lines)


def _told(event: Event) -> str:
    if event.kind == "VotesRequested":
        said = _request_told(event.detail)
    elif event.kind == "VoteAnswered":
        said = _answer_told(event.detail)
    else:
        return str(event)
    return f"{event.at / 1000:.3f} s  {event.node}: {said}"


def _request_told(detail: Mapping[str, Any]) -> str:
    if detail["pre_vote"]:
        return "would you vote for me?"
    return f"stands for epoch {detail['epoch']}"


def _answer_told(detail: Mapping[str, Any]) -> str:
    votes = "would vote" if detail["pre_vote"] else "votes"
    if not detail["granted"]:
        votes = "no, not"
    return f"{votes} for broker {detail['candidate']}"


def votes_in_epoch_2(event: Event) -> bool:
    """Whether a voter answers a candidate of that epoch. (With a PreVote nobody votes
    yet.)
    """
    detail = event.detail
    return (
        event.kind == "VoteAnswered" and detail["epoch"] == 2 and not detail["pre_vote"]
    )


def who_wins(trace: Sequence[Event]) -> int | None:
    """The winner of epoch 2, after controller_dies: 1 broker 2, 2 broker 3, 3 neither,
    because each has refused the other; None if it isn't decided yet.
    """
    refused = set()
    for event in trace:
        if event.kind == "ControllerElected" and event.detail["epoch"] == 2:
            return 1 if event.node == "broker 2" else 2
        if votes_in_epoch_2(event) and not event.detail["granted"]:
            refused.add(event.detail["candidate"])
    return 3 if refused == {2, 3} else None


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
        name, _, _ = str(error).partition(":")
        return f"no: {name}"
    return "yes"


# -- exercise 2, as Kafka does it

Change = tuple[str, dict[str, Any]]  # type, fields
Partitions = dict[tuple[str, int], dict[str, Any]]
STATE = ("leader", "leader_epoch", "isr")


def image_of(
    snapshot: Sequence[Change], log: Sequence[Record], high_watermark: int
) -> dict[str, dict[Any, Any]]:
    """The cluster as a snapshot, and the committed records after it, say."""
    brokers: dict[int, str] = {}
    names: dict[str, str] = {}
    partitions: Partitions = {}
    committed = [
        (name, fields) for offset, name, fields in log if offset < high_watermark
    ]
    for name, fields in [*snapshot, *committed]:
        if name == "RegisterBrokerRecord":
            is_fenced = fields["fenced"]
            brokers[fields["broker_id"]] = "fenced" if is_fenced else "unfenced"
        elif name == "BrokerRegistrationChangeRecord":
            _take_in_fencing(brokers, fields)
        elif name == "UnregisterBrokerRecord":
            del brokers[fields["broker_id"]]
        elif name == "TopicRecord":
            names[fields["topic_id"]] = fields["name"]
        elif name == "RemoveTopicRecord":
            del names[fields["topic_id"]]
        elif name == "PartitionRecord":
            place = fields["topic_id"], fields["partition_id"]
            partitions[place] = {key: fields[key] for key in STATE}
        elif name == "PartitionChangeRecord":
            _take_in_change(partitions, fields)
    there = {}
    for (topic_id, number), state in partitions.items():
        if topic_id in names:
            there[names[topic_id], number] = state
    return {"brokers": brokers, "partitions": there}


def _take_in_fencing(brokers: dict[int, str], fields: dict[str, Any]) -> None:
    """1 fences a broker, -1 unfences it; 0 or nothing is about something else."""
    change = fields.get("fenced")
    if change:
        brokers[fields["broker_id"]] = "fenced" if change == 1 else "unfenced"


def _take_in_change(partitions: Partitions, fields: dict[str, Any]) -> None:
    """A replica that is named as leader leads in the next epoch."""
    state = partitions[fields["topic_id"], fields["partition_id"]]
    if "leader" in fields:
        state["leader"] = fields["leader"]
        state["leader_epoch"] += 1
    if "isr" in fields:
        state["isr"] = fields["isr"]
