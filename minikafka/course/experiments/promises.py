"""Which promise holds when: one record, a producer's settings, and a fault; one record,
a consumer's habits, and a kill. Each cell of the page is a run of its own on a
simulated cluster; no cell is typed in.

`python -m minikafka.course.experiments.promises` prints the tables.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.faults import Fault, Lose
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.consumer_handle import ConsumerHandle

TOPIC, COPY = "orders", "copies"
GROUP = "billing"
PLACE = TopicPartition(TOPIC, 0)
ORDER, TAKEN_BACK = "order", "taken back"
# of five brokers 1 to 3 vote; with this seed these have the copies
SEED, LEADER, FOLLOWERS = 5, 3, (4, 5)
# an answer; until a leader is elected, or a record has been sent again
SOON_S, ELECTION_S = 5, 20
LONGER_THAN_A_SESSION_MS = 60_000
SMALL = {
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
}
COUNTS = ("lost", "once", "twice")
WAITS, REFUSED = "waits", "refused"

# --- writing --------------------------------------------------------------------------

ACKS: tuple[int | str, ...] = (0, 1, "all")
LEAST_IN_SYNC = (1, 2)


class Written:
    """A topic with three copies, and a shop that sends one record. A majority of the
    voters lives, whatever happens to the copies.
    """

    def __init__(
        self, acks: int | str, least_in_sync: int, faults: tuple[Fault, ...] = ()
    ) -> None:
        self.cluster = Cluster(brokers=5, seed=SEED, faults=list(faults))
        configs = {"min.insync.replicas": least_in_sync}
        self.cluster.create_topic(TOPIC, replication_factor=3, configs=configs)
        self.cluster.run(seconds=1)
        assert self.cluster.leader(TOPIC) == LEADER
        # idempotent as in Java: with acks=all, and with less it can't be
        settings = {"acks": acks, "enable_idempotence": acks == "all"}
        self.shop = self.cluster.producer(client_id="shop", **settings)
        self.told: Any = None

    def send(self, wait_s: float) -> None:
        self.told = self.shop.send(TOPIC, value=ORDER)
        self.cluster.run(seconds=wait_s)

    @property
    def is_acknowledged(self) -> bool:
        return self.told.is_done and self.told.succeeded()

    @property
    def copies(self) -> int:
        """So many times a consumer is handed it now."""
        records = self.cluster.records(TOPIC, 0)
        return [record.value for record in records].count(ORDER.encode())

    @property
    def fate(self) -> str:
        if self.cluster.leader(TOPIC) is None:
            return WAITS
        if not self.copies and not self.is_acknowledged:
            return REFUSED
        return COUNTS[self.copies]


def request_lost(acks: int | str, least_in_sync: int) -> str:
    """The shop's request doesn't arrive."""
    lost = Lose("shop", LEADER, "Produce")
    run = Written(acks, least_in_sync, (lost,))
    run.send(ELECTION_S)
    return run.fate


def answer_lost(acks: int | str, least_in_sync: int) -> str:
    """The record arrives, and the broker's answer doesn't."""
    lost = Lose("shop", LEADER, "Produce", answer=True)
    run = Written(acks, least_in_sync, (lost,))
    run.send(ELECTION_S)
    return run.fate


def leader_dies(acks: int | str, least_in_sync: int) -> str:
    """The leader has the record, and dies before a follower has fetched it."""
    run = Written(acks, least_in_sync)
    for follower in FOLLOWERS:
        run.cluster.cut(LEADER, follower)
    run.send(1)
    run.cluster.crash(LEADER)
    run.cluster.heal()
    run.cluster.run(seconds=ELECTION_S)
    run.cluster.restart(LEADER)
    run.cluster.run(seconds=ELECTION_S)
    return run.fate


def followers_still(acks: int | str, least_in_sync: int) -> str:
    """Both followers are frozen and out of the ISR when the shop sends; later they go
    on.
    """
    run = _alone(acks, least_in_sync)
    counted = run.is_acknowledged and run.copies
    for follower in FOLLOWERS:
        run.cluster.thaw(follower)
    run.cluster.run(seconds=ELECTION_S)
    return run.fate if counted else f"{WAITS}, then {run.fate}"


def leader_dies_alone(acks: int | str, least_in_sync: int) -> str:
    """The same, but the leader dies before they go on, and never comes back."""
    run = _alone(acks, least_in_sync)
    run.cluster.crash(LEADER)
    for follower in FOLLOWERS:
        run.cluster.thaw(follower)
    run.cluster.run(seconds=ELECTION_S)
    return run.fate


def _alone(acks: int | str, least_in_sync: int) -> Written:
    """Only the leader is in sync, and a record was sent to it."""
    run = Written(acks, least_in_sync)
    for follower in FOLLOWERS:
        run.cluster.freeze(follower)
        run.cluster.run(seconds=ELECTION_S)
    run.send(SOON_S)
    return run


WRITING_HEADS = (
    "the request is lost",
    "the answer is lost",
    "the leader dies before a follower has it",
    "both followers stand still for a while",
    "both stand still, and the leader dies for good",
)
WRITING = (request_lost, answer_lost, leader_dies, followers_still, leader_dies_alone)


# --- reading --------------------------------------------------------------------------

LEVELS = ("read_uncommitted", "read_committed")


class Work:
    """A consumer's effects outside Kafka, in a table that survives it.

    by_key: an order that is done again overwrites its row. with_offset: the row and the
    next offset are one transaction of the table, and the consumer begins there.
    """

    def __init__(self, by_key: bool = False, with_offset: bool = False) -> None:
        self.by_key, self.with_offset = by_key, with_offset
        self.rows: list[str] = []
        self.next_offset = 0

    def do(self, record: Any) -> None:
        value = record.value.decode()
        has_row = self.by_key and value in self.rows
        if not has_row:
            self.rows.append(value)
        self.next_offset = record.offset + 1


SINKS: dict[str, Callable[[], Work]] = {
    "appends": Work,
    "writes by key": lambda: Work(by_key=True),
    "keeps the offset with the row": lambda: Work(with_offset=True),
}
ORDERS_OF_COMMIT = ("commit, then work", "work, then commit")


def read(level: str, order: str, sink: str) -> str:
    """The consumer is killed between its work and its commit; a new one goes on."""
    work = SINKS[sink]()
    with Cluster(seed=SEED, configs=SMALL) as cluster:
        cluster.create_topic(TOPIC)
        _one_aborted_and_one_committed(cluster)
        killed = _consumer(cluster, level, work)
        _work_until_killed(cluster, killed, order, work)
        following = _consumer(cluster, level, work)
        for record in _polled(following):
            work.do(record)
    fate = COUNTS[work.rows.count(ORDER)]
    if TAKEN_BACK in work.rows:
        return f"{fate}; what was aborted too"
    return fate


def _work_until_killed(
    cluster: Cluster, consumer: ConsumerHandle, order: str, work: Work
) -> None:
    """It is killed when it has done the first of the two with the order."""
    commits_first = order == ORDERS_OF_COMMIT[0]
    for record in _polled(consumer):
        if commits_first:
            consumer.commit(_after(record))
        else:
            work.do(record)
        if record.value == ORDER.encode():
            cluster.crash(consumer)
            return
        if commits_first:
            work.do(record)
        else:
            consumer.commit(_after(record))


def _after(record: Any) -> dict[TopicPartition, OffsetAndMetadata]:
    """The offset to commit after a record: the next one."""
    return {PLACE: OffsetAndMetadata(record.offset + 1, "")}


def copied(level: str) -> str:
    """A copy in Kafka: the copy and the offset are in one transaction, and the copier
    is killed before it ends. How often a reader with this level is handed the order.
    """
    with Cluster(seed=SEED, configs=SMALL) as cluster:
        for topic in (TOPIC, COPY):
            cluster.create_topic(topic)
        shop = cluster.producer(client_id="shop")
        shop.send(TOPIC, value=ORDER).get()
        _copy(cluster, is_killed=True)
        _copy(cluster, is_killed=False)
        cluster.run(seconds=1)
        reader = cluster.consumer(
            COPY, auto_offset_reset="earliest", isolation_level=level
        )
        times = len(_polled(reader))
        return COUNTS[times]


def _copy(cluster: Cluster, is_killed: bool) -> None:
    """Copy what isn't committed as copied. is_killed: before the transaction ends."""
    consumer = _consumer(cluster, "read_committed", Work())
    copier = cluster.producer(transactional_id="copier")
    copier.init_transactions()
    for record in _polled(consumer):
        copier.begin_transaction()
        copier.send(COPY, value=record.value).get()
        group = consumer.group_metadata()
        copier.send_offsets_to_transaction(_after(record), group)
        if not is_killed:
            copier.commit_transaction()
    cluster.crash(copier)
    cluster.crash(consumer)


def _one_aborted_and_one_committed(cluster: Cluster) -> None:
    shop = cluster.producer(client_id="shop", transactional_id="shop")
    shop.init_transactions()
    for value in (TAKEN_BACK, ORDER):
        shop.begin_transaction()
        shop.send(TOPIC, value=value).get()
        if value == TAKEN_BACK:
            shop.abort_transaction()
        else:
            shop.commit_transaction()
    cluster.run(seconds=1)


def _consumer(cluster: Cluster, level: str, work: Work) -> ConsumerHandle:
    """Where the sink keeps the offset, it begins there, whatever Kafka has."""
    settings = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
    consumer = cluster.consumer(group_id=GROUP, isolation_level=level, **settings)
    if work.with_offset:
        consumer.assign([PLACE])
        consumer.seek(PLACE, work.next_offset)
    else:
        consumer.subscribe([TOPIC])
    return consumer


def _polled(consumer: ConsumerHandle) -> list[Any]:
    """The result of a poll that waits until a dead member's session is over."""
    polled = consumer.poll(timeout_ms=LONGER_THAN_A_SESSION_MS)
    return [record for records in polled.values() for record in records]


# --- the tables -----------------------------------------------------------------------


def writing() -> str:
    """In Markdown: a row for acks and min.insync.replicas, a column for each fault."""
    rows = []
    for acks, least in product(ACKS, LEAST_IN_SYNC):
        fates = [fault(acks, least) for fault in WRITING]
        rows.append([f"`{acks}`", str(least), *fates])
    return table(["`acks`", "`min.insync.replicas`", *WRITING_HEADS], rows)


def reading() -> str:
    """In Markdown: a row for what the consumer does, a column for each level."""
    rows = []
    for order, sink in product(ORDERS_OF_COMMIT, SINKS):
        fates = [read(level, order, sink) for level in LEVELS]
        rows.append([order, sink, *fates])
    copies = [copied(level) for level in LEVELS]
    rows.append(["both in one transaction", "is a topic of Kafka", *copies])
    levels = [f"`{level}`" for level in LEVELS]
    return table(["the consumer", "its sink", *levels], rows)


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table with these headings and rows."""
    rule = ["--"] * len(head)
    lines = []
    for row in (head, rule, *rows):
        cells = " | ".join(row)
        lines.append(f"| {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables of promises for writing and for reading."""
    print(writing(), reading(), sep="\n\n")


if __name__ == "__main__":
    main()
