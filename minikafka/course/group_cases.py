"""A group as data, for checks of assignors: in words, and played by real consumers on a cluster."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from minikafka import Cluster
from minikafka.coordinators.assignors import Member, Partition

LEAVES = "old"  # the member that has what none of the others had
BUSY = {"max_poll_records": 4, "processing_ms": 300}  # whoever has records polls every 1.2 s


def group(**owned: Sequence[int]) -> dict[str, Member]:
    """Members by name, each with the numbers of the partitions of orders that it had."""
    return {name: Member(("orders",), tuple(("orders", number) for number in had)) for name, had in owned.items()}


def owner_of(members: Mapping[str, Member]) -> dict[Partition, str]:
    """{partition: who had it}; where two say so, the first."""
    return {partition: name for name, member in reversed(list(members.items())) for partition in member.owned}


def listed(partitions: Iterable[Partition]) -> str:
    return " ".join(f"{topic}-{number}" for topic, number in sorted(partitions)) or "nothing"


def had(members: Mapping[str, Member]) -> str:
    """ "A had orders-0, B is new"."""
    return ", ".join(
        f"{name} had {listed(member.owned)}" if member.owned else f"{name} is new" for name, member in members.items()
    )


def counts(partitions: Mapping[str, int]) -> str:
    return " and ".join(f"{topic} has {count} partition{'s' * (count != 1)}" for topic, count in partitions.items())


def shares(assignment: Mapping[str, Iterable[Partition]]) -> str:
    return "; ".join(f"{name}: {listed(share)}" for name, share in assignment.items()) or "nothing to anybody"


def on_a_cluster(
    assign: Callable[[dict[str, Member], dict[str, int]], Mapping[str, Any]],
    members: Mapping[str, Member],
    partitions: Mapping[str, int],
    cooperative: bool = False,
) -> Cluster:
    """The members with what they had; at 4 s one leaves that had the rest, those who had nothing join, and `assign`
    runs. It sees the members by the case's names.
    """
    cluster = Cluster(seed=6, configs={"group.initial.rebalance.delay.ms": 1000, "offsets.topic.num.partitions": 1})
    for topic, count in partitions.items():
        cluster.create_topic(topic, partitions=count)
    every = [(topic, number) for topic, count in partitions.items() for number in range(count)]
    owner, leaving = owner_of(members), set[str]()

    def assignor(found: dict[str, Member], _: dict[str, int]) -> dict[str, Any]:
        ids = {member_id.split("-")[0]: member_id for member_id in found}
        if LEAVES in ids:
            given: Mapping[str, Any] = {
                name: [part for part in every if owner.get(part, LEAVES) == name] for name in ids
            }
        else:
            given = assign({name: found[ids[name]] for name in sorted(ids)}, dict(partitions))
        return {ids[name]: share for name, share in given.items()}

    assignor.__name__ = "your_cooperative" if cooperative else "yours"
    assignor.cooperative = cooperative  # type: ignore[attr-defined]
    settings = {"group_id": "billing", "partition_assignment_strategy": assignor, "heartbeat_interval_ms": 1000}

    def begin(names: Iterable[str]) -> None:
        for name in names:
            cluster.start(_read, cluster.consumer(*partitions, client_id=name, **settings, **BUSY), leaving)

    cluster.start(_sell, cluster, cluster.producer(client_id="shop"), every)
    begin([LEAVES, *(name for name, member in members.items() if member.owned)])
    cluster.run(seconds=4)
    leaving.add(LEAVES)
    begin(name for name, member in members.items() if not member.owned)
    with contextlib.redirect_stdout(io.StringIO()):  # what the clients remark about an assignment
        cluster.run(seconds=10)
    cluster.close()
    return cluster


def _sell(cluster: Cluster, shop: Any, partitions: Sequence[Partition]) -> None:
    while True:
        for topic, number in partitions:
            shop.send(topic, partition=number, value="order")
        cluster.sleep(0.2)


def _read(consumer: Any, leaving: set[str]) -> None:
    while consumer.name not in leaving:
        consumer.poll(timeout_ms=500)
    consumer.close()
