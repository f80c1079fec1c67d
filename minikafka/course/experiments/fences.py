"""The larger number fences the old boss: four places in Kafka where somebody is
replaced, each as a run in which the old one comes back.

`python -m minikafka.course.experiments.fences` prints the table of the page.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from minikafka.clients.structs import OffsetAndMetadata, TopicPartition
from minikafka.course.experiments.promises import SMALL, table
from minikafka.simulation.cluster import Cluster
from minikafka.trace import Event
from minikafka.wire.errors import KafkaError

TOPIC = "orders"
PLACE = TopicPartition(TOPIC, 0)
SEED, ELECTION_S = 1, 15


class Fence(NamedTuple):
    """was, then: the numbers of the old boss and of the new one. does: what the old one
    tries when it is back. hears: the answer it gets.
    """

    boss: str
    number: str
    was: int
    then: int
    does: str
    hears: str

    @property
    def cells(self) -> list[str]:
        return [
            self.boss,
            self.number,
            f"{self.was}, then {self.then}",
            self.does,
            self.hears,
        ]


def member() -> Fence:
    """A joined first. B comes, and all members join again, so what A knew about itself
    no longer counts.
    """
    with Cluster(seed=SEED, configs=SMALL) as cluster:
        cluster.create_topic(TOPIC, partitions=2)
        of_group = {"group_id": "billing", "enable_auto_commit": False}
        first = cluster.consumer(TOPIC, client_id="A", **of_group)
        first.poll(timeout_ms=2000)
        old = first.group_metadata()
        second = cluster.consumer(TOPIC, client_id="B", **of_group)
        cluster.start(_polls_for_ever, second)
        while first.group_metadata().generation_id == old.generation_id:
            first.poll(timeout_ms=1000)
        new = first.group_metadata()
        copier = cluster.producer(transactional_id="copier")
        copier.init_transactions()
        copier.begin_transaction()
        offsets = {PLACE: OffsetAndMetadata(1, "")}
        return Fence(
            boss="member of a group",
            number="generation",
            was=old.generation_id,
            then=new.generation_id,
            does="commits offsets in a transaction",
            hears=_error(lambda: copier.send_offsets_to_transaction(offsets, old)),
        )


def _polls_for_ever(consumer: Any) -> None:
    while True:
        consumer.poll(timeout_ms=500)


def leader() -> Fence:
    """The leader is cut off from the other brokers, who elect another one. A shop that
    knows only the old one sends to it when the network is back.
    """
    with Cluster(brokers=3, seed=SEED) as cluster:
        cluster.create_topic(TOPIC, replication_factor=3)
        cluster.run(seconds=1)
        old = cluster.leader(TOPIC)
        assert old is not None
        others = [number for number in (1, 2, 3) if number != old]
        shop = cluster.producer(client_id="shop", retries=0, enable_idempotence=False)
        shop.send(TOPIC, value="created").get()
        for other in others:
            cluster.cut(old, other)
            cluster.cut("shop", other)
        cluster.run(seconds=ELECTION_S)
        told = shop.send(TOPIC, value="paid")
        cluster.run(seconds=1)
        cluster.heal()
        hears = _error(told.get)
        epochs = _details(cluster, "LeaderElected", "leader_epoch")
        return Fence(
            boss="leader of a partition",
            number="leader epoch",
            was=epochs[-1] - 1,
            then=epochs[-1],
            does="takes a record from a producer",
            hears=hears,
        )


def controller() -> Fence:
    """The active controller is cut off. The other voters elect another one, and the old
    one is back.
    """
    with Cluster(brokers=3, seed=SEED) as cluster:
        [elected] = _events(cluster, "ControllerElected")
        old = int(elected.node.removeprefix("broker "))
        for other in (1, 2, 3):
            if other != old:
                cluster.cut(old, other)
        cluster.run(seconds=ELECTION_S)
        cluster.heal()
        cluster.run(seconds=ELECTION_S)
        was, then = _details(cluster, "ControllerElected", "epoch")
        followed = _events(cluster, "ControllerFollowed", node=elected.node)
        return Fence(
            boss="active controller",
            number="controller epoch",
            was=was,
            then=then,
            does="asks for votes again",
            hears=f"no vote: it follows in epoch {followed[-1].detail['epoch']}",
        )


def producer() -> Fence:
    """A program hangs before its commit, another one comes with its transactional id,
    and then the first goes on.
    """
    with Cluster(seed=SEED, configs=SMALL) as cluster:
        cluster.create_topic(TOPIC)
        first = cluster.producer(transactional_id="pay")
        first.init_transactions()
        first.begin_transaction()
        first.send(TOPIC, value="20 euros").get()
        cluster.producer(transactional_id="pay").init_transactions()
        hears = _error(first.commit_transaction)
        [fenced] = _events(cluster, "ProducerFenced")
        return Fence(
            boss="transactional producer",
            number="producer epoch",
            was=fenced.detail["producer_epoch"],
            then=fenced.detail["newest_epoch"],
            does="commits its transaction",
            hears=hears,
        )


FENCES = (member, leader, controller, producer)


def fences() -> list[Fence]:
    """Run all four experiments with a fence."""
    return [run() for run in FENCES]


def in_words() -> str:
    """In Markdown: a row for each place."""
    head = ["the boss", "its number", "in the run", "the old one", "and hears"]
    return table(head, [fence.cells for fence in fences()])


def _error(does: Callable[[], object]) -> str:
    """The name of the error that this ends with."""
    try:
        does()
    except KafkaError as error:
        assert error.error is not None
        return f"`{error.error.name}`"
    raise AssertionError("the old boss was not refused")


def _events(cluster: Cluster, kind: str, node: str = "") -> list[Event]:
    return [
        event
        for event in cluster.trace
        if event.kind == kind and node in ("", event.node)
    ]


def _details(cluster: Cluster, kind: str, name: str) -> list[Any]:
    return [event.detail[name] for event in _events(cluster, kind)]


if __name__ == "__main__":
    print(in_words())
