"""Lesson 10's experiments: which broker leads, what each replica has, what a producer
waited for, and the answers it got.

Also the lesson's model of two rules by which a replica cuts its log (KIP-101): logs are
lists of (leader epoch, value).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minikafka.cluster.metadata import Partition
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.consumer_handle import ConsumerHandle
from minikafka.simulation.producer_handle import ProducerHandle
from minikafka.trace import Event
from minikafka.wire.records import batches, decode_batch

TOPIC = "orders"
# The events of a failover; the others are requests, answers and copies.
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
    return cluster.partition(TOPIC, number)


def leaders(cluster: Cluster) -> dict[int, int]:
    """Partition of orders -> the broker that leads it, -1 for nobody."""
    found = {}
    for number in range(cluster.partition_count(TOPIC)):
        found[number] = partition_of(cluster, number).leader
    return found


def all_in_sync(cluster: Cluster) -> bool:
    """Whether all brokers are up and ready, and every replica of every partition is in
    the ISR.
    """
    for process in cluster.brokers.values():
        if process.state != "up" or not process.broker.ready:
            return False
    for number in leaders(cluster):
        partition = partition_of(cluster, number)
        if set(partition.isr) != set(partition.replicas):
            return False
    return True


def has_stopped(cluster: Cluster, broker: int) -> bool:
    """Whether no process of this broker runs."""
    return cluster.brokers[broker].state == "down"


def logs(cluster: Cluster) -> str:
    """The records that each replica of orders-0 has on its disk, one line per broker:
    leader epoch and value of each record.
    """
    lines = []
    replicas = partition_of(cluster).replicas
    for broker in cluster.brokers:
        if broker not in replicas or has_stopped(cluster, broker):
            continue
        log = log_of(cluster, broker)
        records = [f"{value} (epoch {epoch})" for epoch, value in log]
        shown = "  ".join(records)
        lines.append(f"broker {broker}: {shown}")
    return "\n".join(lines)


def log_of(cluster: Cluster, broker: int) -> Log:
    """The records of one replica of orders-0, also those that are not committed yet."""
    replica = cluster.brokers[broker].broker.replicas.find_or_create(TOPIC, 0)
    assert replica is not None, f"broker {broker} has no replica of {TOPIC}-0"
    log = replica.log
    pieces = log.read(log.log_start_offset, 1 << 20, log.log_end_offset)
    data = bytearray().join(pieces)
    found = []
    for header, batch in batches(data):
        for record in decode_batch(batch):
            value = bytes(record.value or b"").decode()
            found.append((header.partition_leader_epoch, value))
    return found


def told(cluster: Cluster, since_ms: int) -> str:
    """The steps of a failover, as the trace has them."""
    lines = []
    for event in cluster.trace:
        topic = event.detail.get("topic", TOPIC)
        is_a_step = event.kind in TOLD and topic == TOPIC
        if is_a_step and event.at >= since_ms:
            lines.append(str(event))
    return "\n".join(lines)


# -- a failover, timed


def failover(ending: str = "kill -9", seed: int = 1) -> tuple[Cluster, int]:
    """The leader of orders ends by "kill -9", "power" or "clean stop", and at once the
    shop sends order 1: (the cluster when that is acknowledged, since when).
    """
    cluster = brokers_with_orders(seed)
    shop = cluster.producer(client_id="shop")
    shop.send(TOPIC, key="alice", value="order 0").get()
    began_ms = cluster.now_ms
    leader = partition_of(cluster).leader
    if ending == "clean stop":
        cluster.stop(leader)
    else:
        is_power = ending == "power"
        cluster.crash(leader, power=is_power, silent=is_power)
    shop.send(TOPIC, key="alice", value="order 1").get()
    return cluster, began_ms


def waited_ms(run: tuple[Cluster, int]) -> int:
    """From when the leader ended until order 1 was acknowledged."""
    cluster, began_ms = run
    return cluster.now_ms - began_ms


def which_were_quick(runs: Mapping[str, tuple[Cluster, int]]) -> int:
    """The runs in which order 1 was acknowledged within a second: 1 two of them, 2 one,
    3 none or all.
    """
    quick = sum(waited_ms(run) < 1000 for run in runs.values())
    return {2: 1, 1: 2}.get(quick, 3)


def the_controller_decides(event: Event) -> bool:
    """Whether the controller gives up the leader that is cut off."""
    return event.kind == "BrokerFenced"


def cut_off(
    cluster: Cluster, acks: int | str = "all", before: Sequence[str] = ("created",)
) -> tuple[ProducerHandle, ProducerHandle]:
    """The leader of orders-0 is cut off from the other brokers, which elect another.
    Two producers: `lonely` reaches the old leader alone, `web` all others. acks: of
    lonely; before: the values that it has sent before the cut.
    """
    lonely = cluster.producer(client_id="lonely", acks=acks)
    for value in before:
        lonely.send(TOPIC, key="alice", value=value).get()
    if acks != "all":
        cluster.run(seconds=1)  # the others copy it
    web = cluster.producer(client_id="web")
    leader = partition_of(cluster).leader
    for other in {1, 2, 3} - {leader}:
        cluster.cut(leader, other)
        cluster.cut(lonely, other)
    cluster.cut(web, leader)
    return lonely, web


class Heard:
    """What a producer knows about one record, looked up whenever it is printed."""

    def __init__(self, sent: Any) -> None:
        self._sent = sent

    @property
    def said(self) -> str:
        """What the producer knows by now."""
        if not self._sent.is_done:
            return "nothing"
        if self._sent.exception:
            return "an error"
        return f"done, offset {self._sent.value.offset}"

    def __str__(self) -> str:
        return f"lonely hears: {self.said}"


def two_leaders(
    acks: int | str = "all",
    before: Sequence[str] = ("created",),
    values: Sequence[str] = ("lonely order",),
) -> tuple[Cluster, tuple[str, Heard]]:
    """The leader is cut off, with the producer lonely. web's order is acknowledged by
    the next leader, what lonely sends gets to the old one; 30 s later. acks: of lonely,
    which sends some values before the cut and some after it.
    """
    cluster = brokers_with_orders(seed=1)
    lonely, web = cut_off(cluster, acks, before)
    *_, heard = [Heard(lonely.send(TOPIC, key="bob", value=value)) for value in values]
    web.send(TOPIC, key="alice", value="paid").get()
    cluster.run(seconds=30)
    return cluster, (str(heard), heard)


def two_leaders_meet() -> Cluster:
    """The same, and then the network is repaired."""
    cluster, _ = two_leaders()
    cluster.heal()
    cluster.run(seconds=10)
    return cluster


def two_leaders_meet_with_acks_1() -> Cluster:
    """The same, but lonely doesn't wait for followers. It sends two orders before the
    cut and one after it.
    """
    cluster, _ = two_leaders(acks=1, before=("created", "booked"), values=("loaded",))
    cluster.heal()
    cluster.run(seconds=10)
    return cluster


def the_next_leader_writes(event: Event) -> bool:
    """Whether a leader after the first one appends records of orders."""
    if event.kind != "RecordsAppended" or event.detail["topic"] != TOPIC:
        return False
    epochs = [epoch for epoch, _ in event.detail["epochs"]]
    return max(epochs) > 0


def where_it_is_cut(trace: Sequence[Event]) -> int | None:
    """The offset before which the first log ends that is cut."""
    for event in trace:
        if event.kind == "LogTruncated":
            end: int = event.detail["log_end_offset"]
            return end
    return None


def what_lonely_hears(trace: Sequence[Event]) -> int:
    """1 done while they are apart, 2 done later, 3 an error; of its second record,
    which it sends when the network is cut.
    """
    is_apart = was_cut = False
    for event in trace:
        if event.kind in ("LinkCut", "LinkHealed"):
            is_apart = event.kind == "LinkCut"
            was_cut = True
        if event.node != "lonely" or not was_cut:
            continue
        if event.kind == "RecordsAcknowledged":
            return 1 if is_apart else 2
        if event.kind == "SendFailed":
            return 3
    raise LookupError("lonely has heard nothing yet")


def the_last_copy_is_down(
    *, reads: bool = False
) -> tuple[Cluster, int, int, ConsumerHandle | None]:
    """created is on both replicas, paid on the leader alone, whose machine loses power,
    and only the follower comes back: (the cluster, the last leader, the follower, who
    had read both).
    """
    cluster = brokers_with_orders(seed=7, replication_factor=2, min_insync_replicas=1)
    leader, follower = partition_of(cluster).replicas
    shop = cluster.producer(client_id="shop")
    shop.send(TOPIC, key="alice", value="created").get()
    cluster.crash(follower)
    cluster.run_until(lambda: follower not in partition_of(cluster).isr)
    offset = shop.send(TOPIC, key="alice", value="paid").get().offset
    print("acknowledged: paid, offset", offset)
    auditor = None
    if reads:
        auditor = cluster.consumer(
            TOPIC, client_id="auditor", auto_offset_reset="earliest"
        )
        print("the auditor reads", read_by(auditor))
    cluster.crash(leader, power=True)
    cluster.restart(follower)
    cluster.run(seconds=30)
    return cluster, leader, follower, auditor


def an_unclean_election() -> tuple[Cluster, ConsumerHandle]:
    """The same, with an auditor that had read both; then the follower may lead, and the
    last leader is repaired.
    """
    cluster, leader, follower, auditor = the_last_copy_is_down(reads=True)
    assert auditor is not None
    cluster.alter_configs(TOPIC, {"unclean.leader.election.enable": "true"})
    cluster.run_until(lambda: partition_of(cluster).leader == follower, seconds=400)
    cluster.restart(leader)
    return cluster, auditor


def read_by(consumer: ConsumerHandle) -> list[str]:
    """The values that the next poll with records brings."""
    polled = consumer.poll(timeout_ms=10_000).values()
    return [record.value.decode() for records in polled for record in records]


def what_is_read(cluster: Cluster) -> list[str]:
    """The values that a new consumer of orders gets, from the oldest record on."""
    return [str(record.value, "utf-8") for record in cluster.records(TOPIC)]


def rolling_restart() -> Cluster:
    """Three partitions; brokers 1, 2 and 3 are restarted one after another."""
    cluster = brokers_with_orders(seed=1, partitions=3)
    print("before:      partition: leader", leaders(cluster))
    for broker in (1, 2, 3):
        restart_cleanly(cluster, broker)
    return cluster


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
    asked for, the offset after that epoch's last record); (-1, 0) if it has none. As
    OffsetForLeaderEpoch, but for logs that begin at 0.
    """

    def answer(epoch: int) -> tuple[int, int]:
        found = -1, 0
        for offset, (each, _) in enumerate(log):
            if each <= epoch:
                found = each, offset + 1
        return found

    return answer


def to_the_high_watermark(log: Log, high_watermark: int, end_of: EndOf) -> int:
    """The rule before Kafka 0.11: keep what you know to be committed."""
    return min(len(log), high_watermark)


def kept_by_epochs(log: Log, end_of: EndOf) -> int:
    """Kafka's rule since KIP-279."""
    keep = len(log)
    while keep:
        asked, _ = log[keep - 1]
        epoch, end = end_of(asked)
        own_end = sum(each <= epoch for each, _ in log[:keep])
        keep = min(end, own_end)
        if epoch == asked:
            break
    return keep


def two_restarts(rule: Rule) -> dict[str, list[str]]:
    """A leads, and B has copied everything: created and paid are committed. B knows
    this only for created, because it learns the high watermark with its next fetch. B
    restarts. Before B has fetched again A dies, B leads and writes shipped. A comes
    back. Returns both logs.
    """
    a: Log = [(0, "created"), (0, "paid")]
    b = list(a)
    b = b[: rule(b, 1, end_of(a))]
    b.append((1, "shipped"))
    a = a[: rule(a, 2, end_of(b))]
    a += b[len(a) :]
    return {"A": _values(a), "B": _values(b)}


def _values(log: Log) -> list[str]:
    return [value for _, value in log]


def what_they_hold(found: dict[str, list[str]], options: Sequence[str]) -> int:
    """The number of the option that says what A and B hold."""
    a = ", ".join(found["A"])
    b = ", ".join(found["B"])
    said = f"both {a}" if a == b else f"A {a}; B {b}"
    return options.index(said) + 1
