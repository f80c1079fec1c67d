"""What a node counts while somebody wants to know it (`serve --metrics`): records and
bytes of topics, changes of ISRs, and how long requests take.

Nothing is counted otherwise: the parts that would count hold None in the place of
`Counters`. What can be computed from the node's state is never counted; metrics.py
computes it when it is asked for.

The counts are those of Apache Kafka's meters: BrokerTopicMetrics, ReplicaManager's
IsrShrinksPerSec and IsrExpandsPerSec, ControllerStats, and RequestMetrics.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache

from minikafka.cluster.metadata import (
    METADATA_TOPIC,
    NO_LEADER,
    PartitionChange,
    TopicChange,
)
from minikafka.cluster.replica import Replica
from minikafka.storage.producer_state import Appended
from minikafka.wire.messages import BY_KEY

RECENT = 1024  # requests of one kind whose times are kept
FETCH = "Fetch"


@dataclass(slots=True)
class Traffic:
    """Of one topic, or of all: what was written to this node as a leader, and what
    consumers have read.
    """

    messages_in: int = 0
    bytes_in: int = 0
    bytes_out: int = 0


@dataclass(slots=True)
class Times:
    """How many requests of one kind were answered, and how long the latest took."""

    count: int = 0
    recent_ms: deque[int] = field(default_factory=lambda: deque(maxlen=RECENT))


@dataclass(eq=False, repr=False)
class Counters:
    """Of one node, since it was started. total: of all topics, also of those that have
    been deleted. requests: by API and version. times: by API; those of Fetch once more
    as FetchConsumer and FetchFollower.
    """

    topics: dict[str, Traffic] = field(default_factory=lambda: defaultdict(Traffic))
    total: Traffic = field(default_factory=Traffic)
    replication_bytes_in: int = 0
    replication_bytes_out: int = 0
    isr_shrinks: int = 0
    isr_expands: int = 0
    unclean_elections: int = 0
    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    times: dict[str, Times] = field(default_factory=lambda: defaultdict(Times))

    # -- of logs

    def appended(self, replica: Replica, appended: Appended) -> None:
        """Records were appended, as a leader's or as a follower's."""
        topic = replica.log.topic
        if topic == METADATA_TOPIC:
            return
        if not replica.is_leader:
            self.replication_bytes_in += appended.size_bytes
            return
        messages = appended.last_offset - appended.base_offset + 1
        for traffic in (self.topics[topic], self.total):
            traffic.messages_in += messages
            traffic.bytes_in += appended.size_bytes

    def read(self, topic: str, size_bytes: int, by_follower: bool) -> None:
        """Records of a topic are in an answer to a fetch."""
        if not size_bytes or topic == METADATA_TOPIC:
            return
        if by_follower:
            self.replication_bytes_out += size_bytes
            return
        for traffic in (self.topics[topic], self.total):
            traffic.bytes_out += size_bytes

    # -- of the cluster

    def isr_changed(self, was: Collection[int], isr: Collection[int]) -> None:
        """The controller has agreed to another ISR that this leader proposed."""
        if len(isr) < len(was):
            self.isr_shrinks += 1
        else:
            self.isr_expands += 1

    def partition_changed(self, change: PartitionChange) -> None:
        """An election is unclean if its winner may lack committed records (KIP-966)."""
        before, leader = change.before, change.after.leader
        if before is None or leader in (NO_LEADER, before.leader):
            return
        if leader not in (*before.isr, *before.eligible_leader_replicas):
            self.unclean_elections += 1

    def topic_changed(self, change: TopicChange) -> None:
        """A deleted topic's counts go with it."""
        if change.after is None:
            self.topics.pop(change.name, None)

    # -- of requests

    def answered(self, head: bytes, from_a_node: bool, ms: float) -> None:
        """A request was answered. head: its first four bytes, the API and the version.
        from_a_node: it came over the nodes' listener.
        """
        taken = round(ms)
        for kind in kinds(head, from_a_node):
            api, _ = kind
            self.requests[kind] += 1
            times = self.times[api]
            times.count += 1
            times.recent_ms.append(taken)


@lru_cache(maxsize=1024)
def kinds(head: bytes, from_a_node: bool) -> tuple[tuple[str, int], ...]:
    """As what a request counts, by API and version. As nothing, if no Kafka has its
    version: a client could make as many counts as there are numbers.
    """
    api = BY_KEY.get(int.from_bytes(head[:2], "big"))
    version = int.from_bytes(head[2:], "big")
    if api is None or not api.min_version <= version <= api.max_version:
        return ()
    if api.name == FETCH:
        by_whom = "FetchFollower" if from_a_node else "FetchConsumer"
        return (api.name, version), (by_whom, version)
    return ((api.name, version),)
