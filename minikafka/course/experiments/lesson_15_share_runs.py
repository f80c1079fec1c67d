"""The run in the picture of the share partition: twelve orders in one partition, a
share group that works on them, and a classic group that works on the same ones.

Each group has three workers, and every worker needs a second for an order. The same
goes wrong in both.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from minikafka.clients.structs import ConsumerRecord, text
from minikafka.simulation.cluster import Cluster
from minikafka.trace import Event
from minikafka.wire.errors import KafkaError

TOPIC, SHARE_GROUP, CLASSIC_GROUP = "orders", "workers", "billing"
GOODS = ("tea", "mug", "pen", "jam", "hat", "cup")
ORDERS = 12
# until all have joined; from then on all in all, and where one of the groups never ends
JOIN_S, ALL_S, STUCK_S = 4, 20, 13
ORDER_S, SLOW_S = 1, 4  # for an order, and for a slow one
HALFWAY_S = 0.5
SLOW, POISON = "slow", "poison"  # what such orders hold

# Short locks and sessions, or a picture would show silence most of the time. Kafka's
# defaults are 30 s, 15 s at least, and 45 s.
CONFIGS = {
    "group.share.record.lock.duration.ms": 5_000,
    "group.share.min.record.lock.duration.ms": 1_000,
    "group.share.heartbeat.interval.ms": 1_000,
    "group.share.min.heartbeat.interval.ms": 1_000,
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 1,
    "share.coordinator.state.topic.num.partitions": 1,
}
# one order at a time, and no other with it
SHARING = {
    "max_poll_records": 1,
    "share_acquire_mode": "record_limit",
    "share_acknowledgement_mode": "explicit",
}
READING = {
    "max_poll_records": 1,
    "enable_auto_commit": False,
    "auto_offset_reset": "earliest",
    "session_timeout_ms": 6_000,
    "heartbeat_interval_ms": 1_000,
}


def side_by_side(
    slow: int | None = None,
    poison: int | None = None,
    says: str = "release",
    killed: bool = False,
    hangs_s: float | None = None,
    seed: int = 15,
) -> Cluster:
    """A share group and a classic group at work on the same twelve orders:
    cluster.play("share-partition").

    slow: the offset of an order that takes four seconds. poison: of one that nobody can
    process; says: how share workers acknowledge it, "release" or "reject". killed: half
    a second after the orders came, a worker of each group is killed while it has an
    order. hangs_s: it freezes for this long instead; a lock lasts 5 s, a session 6 s.
    """
    cluster = Cluster(seed=seed, configs=CONFIGS)
    cluster.create_topic(TOPIC, partitions=1)
    cluster.alter_group_configs(SHARE_GROUP, {"share.auto.offset.reset": "earliest"})
    sharing = [_shares(cluster, f"worker {letter}", says) for letter in "ABC"]
    reading = [_reads(cluster, f"worker {letter}") for letter in "DEF"]
    cluster.run(seconds=JOIN_S)

    _send(cluster, {slow: SLOW, poison: POISON})
    cluster.run(seconds=HALFWAY_S)
    for worker in (sharing[1], _who_reads(reading)):
        if killed:
            cluster.crash(worker)
        if hangs_s is not None:
            cluster.freeze(worker, seconds=hangs_s)
    is_stuck_soon = poison is not None and not killed
    cluster.run(seconds=STUCK_S if is_stuck_soon else ALL_S)
    return cluster


def when_through(trace: Sequence[Event]) -> int | None:
    """When the share group has accepted all orders: 1 after about 5 s, 2 after about 8,
    3 after about 15; None: it has not yet.
    """
    since_ms = 0
    accepted = set[int]()
    for event in trace:
        d = event.detail
        if event.kind == "RecordsAppended" and d["topic"] == TOPIC:
            since_ms = event.at
        elif event.kind == "ShareRecordsAcknowledged":
            for first, last, *_ in d["batches"]:
                accepted.update(range(first, last + 1))
        if len(accepted) == ORDERS:
            took_s = (event.at - since_ms) / 1000
            return 1 if took_s < 6.5 else 2 if took_s < 11.5 else 3
    return None


def _send(cluster: Cluster, special: dict[int | None, str]) -> None:
    """All orders, in one batch."""
    shop = cluster.producer(client_id="shop")
    for number in range(ORDERS):
        what = special.get(number, GOODS[number % len(GOODS)])
        shop.send(TOPIC, value=what)
    shop.flush()


def _who_reads(readers: list[Any]) -> Any:
    """The member of the classic group that has the partition."""
    return next(reader for reader in readers if reader.assignment())


def _shares(cluster: Cluster, name: str, says: str) -> Any:
    """One more member of the share group, at work."""

    def share(worker: Any) -> None:
        while True:
            for records in worker.poll(timeout_ms=1000).values():
                for record in records:
                    is_done = _work(cluster, record)
                    worker.acknowledge(record, "accept" if is_done else says)

    worker = cluster.share_consumer(
        TOPIC, group_id=SHARE_GROUP, client_id=name, **SHARING
    )
    cluster.start(share, worker)
    return worker


def _reads(cluster: Cluster, name: str) -> Any:
    """One more member of the classic group, at work. What can't be done is tried
    again.
    """

    def read(worker: Any) -> None:
        while True:
            for partition, records in worker.poll(timeout_ms=1000).items():
                for record in records:
                    if _work(cluster, record):
                        with suppress(KafkaError):
                            worker.commit()
                    else:
                        worker.seek(partition, record.offset)

    worker = cluster.consumer(TOPIC, group_id=CLASSIC_GROUP, client_id=name, **READING)
    cluster.start(read, worker)
    return worker


def _work(cluster: Cluster, record: ConsumerRecord) -> bool:
    """Whether the order could be done."""
    what = text(record.value)
    cluster.sleep(SLOW_S if what == SLOW else ORDER_S)
    return what != POISON
