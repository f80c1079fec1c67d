"""The three brokers as an operator has them: their processes, their disks, what they
answer to an admin client, and what their logs keep.
"""

from typing import Any

from minikafka.clients.errors import IllegalStateError
from minikafka.course.on_call.disks import DeletedFiles
from minikafka.simulation.cluster import Cluster
from minikafka.simulation.memory_disk import MemoryDisk
from minikafka.simulation.processes import best_informed, leading
from minikafka.simulation.topics import TOPIC
from minikafka.trace import Event

BROKERS = (1, 2, 3)
MIN_ISR = "min.insync.replicas"
# what a broker's or a client's log has of what happens; the rest is forgotten
KEPT = {
    "BatchRefused",
    "BrokerFenced",
    "CommitFailed",
    "ControllerElected",
    "ControllerResigned",
    "GroupStateChanged",
    "IsrExpanded",
    "IsrShrunk",
    "LeaderElected",
    "LogStartOffsetAdvanced",
    "LogTruncated",
    "MemberLeft",
    "NodeCrashed",
    "NodeRestarted",
    "NodeShutDown",
    "NodeStopped",
    "PollOverdue",
    "PositionReset",
    "SendFailed",
    "TopicCreated",
    "TopicDeleted",
    "TransactionStateChanged",
    "VotesRequested",
}


class Brokers:
    """events: what was logged, in order. held: why a broker's machine can't be started
    now, by broker.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.events: list[Event] = []
        self.held: dict[int, str] = {}
        self.deleted = DeletedFiles()
        cluster.listeners[:] = [self._note]
        cluster.trace.clear()

    def _note(self, event: Event) -> None:
        """Keep what a log would have, and the bytes of what was deleted."""
        if event.kind in KEPT:
            self.events.append(event)
        if event.kind == "SegmentDeleted":
            disk = self.disk(int(event.node.removeprefix("broker ")))
            self.deleted.add_segment(disk, event.detail["size_bytes"], event.at)
        if event.kind == "TopicDeleted":
            for broker in filter(self.is_up, BROKERS):
                topic = event.detail["topic"]
                self.deleted.add_topic(self.disk(broker), topic, self.cluster.now_ms)

    def ask(self, api: str, body: dict[str, Any], node: int | None = None) -> Any:
        """Send an admin client's request, and wait for the answer."""
        return self.cluster.admin.ask(api, body, node)

    # one broker

    def is_up(self, broker: int) -> bool:
        """Whether this broker's process runs."""
        return self.cluster.brokers[broker].state == "up"

    def is_down(self, broker: int) -> bool:
        """Whether the broker's process has ended."""
        return self.cluster.brokers[broker].state == "down"

    def disk(self, broker: int) -> MemoryDisk:
        """The disk of a broker's machine, whether the broker runs or not."""
        return self.cluster.brokers[broker].disk

    # all of them

    def cluster_id(self) -> str | None:
        """The cluster id, the same on all brokers."""
        return self.cluster.brokers[1].broker.config.cluster_id

    def image(self) -> Any:
        """The image of the best informed broker; None while no broker is up."""
        try:
            return best_informed(self.cluster.brokers).image
        except IllegalStateError:
            return None

    def config(self, topic: str, name: str) -> str | None:
        """A topic's config, as the brokers go by it; None without the topic."""
        broker = best_informed(self.cluster.brokers)
        if topic not in broker.image.topics:
            return None
        found = broker.config.value(broker.image, broker.node_id, TOPIC, topic, name)
        return str(found.value)

    def min_isr(self, topic: str) -> int:
        """min.insync.replicas of a topic, as the brokers go by it."""
        return int(self.config(topic, MIN_ISR) or 1)

    def leader_of(self, topic: str, partition: int) -> Any:
        """The leading replica of a partition. Raises IllegalStateError without one."""
        return leading(self.cluster.brokers, topic, partition)

    def leaders_of(self, topic: str) -> list[Any]:
        """The leading replica of each partition."""
        count = self.cluster.partition_count(topic)
        return [self.leader_of(topic, number) for number in range(count)]
