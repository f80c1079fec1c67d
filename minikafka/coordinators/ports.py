"""The parts of a node that coordinators, and the code that calls them, may use.

A node has more (broker/ports.py says what its other parts see). These are the parts
that come from the rooms below: who the node is, what it knows about the cluster, its
replicas, and how it sends requests to other nodes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from minikafka.clock import Now
from minikafka.cluster.election import Then
from minikafka.cluster.metadata import Image, Topic
from minikafka.cluster.replica import Replica
from minikafka.cluster.waiting import Answer, Wait
from minikafka.coordinators.runtime import Configs
from minikafka.coordinators.share_states import ShareKey
from minikafka.coordinators.transaction_states import TopicPartition
from minikafka.storage.producer_state import Guard
from minikafka.trace import Trace
from minikafka.wire.errors import KafkaError
from minikafka.wire.schema import Message


class Asks(Protocol):
    """Something that can send requests to nodes."""

    def ask(
        self,
        node: int,
        lane: str,
        api: str,
        version: int,
        body: Mapping[str, object],
        then: Then,
    ) -> None:
        """Send a request to a node, which may be this one. then(reply or None, now) is
        called once.
        """


class LeadsPartitions(Protocol):
    """The replicas of this node, as far as it leads them."""

    def leader(self, topic: str, number: int) -> Replica:
        """The replica, which leads its partition. Errors: NOT_LEADER_OR_FOLLOWER,
        UNKNOWN_TOPIC_OR_PARTITION.
        """

    def changed(self, now: Now) -> None:
        """A log has a new beginning or end."""


class GivesProducerIds(Protocol):
    """Allocates producer ids."""

    def next_producer_id(self, now: Now) -> int | Wait:
        """A producer id that was never used before, or a Wait for one."""


class AsksController(GivesProducerIds, Protocol):
    """Requests that only the active controller can fulfil."""

    def create(
        self,
        topics: Sequence[dict[str, Any]],
        now: Now,
        answer: Callable[[], Answer],
    ) -> Answer | Wait:
        """Create topics. answer(): called once they exist."""


class HasTopic(Protocol):
    """A coordinator, as far as others need to find it."""

    @property
    def topic(self) -> Topic | None:
        """The internal topic that holds its state; None if it doesn't exist yet."""


class KnowingNode(Asks, Protocol):
    """For parts that send requests about partitions in the metadata image."""

    image: Image

    @property
    def config(self) -> Configs:
        """The configs with which this node was started."""

    @property
    def in_force(self) -> Configs:
        """The configs of this node that are in force now."""


class HasShareStatesMade(Protocol):
    """The requests that a node sends to share coordinators."""

    def initialize(
        self,
        key: ShareKey,
        state_epoch: int,
        start_offset: int,
        then: Callable[[Message | KafkaError, Now], None],
    ) -> None:
        """Create the state of a share partition, or reset it."""


class Shares(Protocol):
    """What a node does for share groups."""

    @property
    def persister(self) -> HasShareStatesMade:
        """Sends the requests to share coordinators."""


class CoordinatingNode(KnowingNode, Protocol):
    """The node as its coordinators see it."""

    node_id: int
    trace: Trace
    now: Now

    @property
    def replicas(self) -> LeadsPartitions:
        """All replicas on this node."""

    @property
    def forwarding(self) -> AsksController:
        """Allocates producer ids and creates topics, through the controller."""

    @property
    def sharing(self) -> Shares:
        """What the node does for share groups."""

    def notice(self, line: str, error: Exception | None = None) -> None:
        """Report something that went wrong and ends one thing, but not the node."""

    def storage_failed(self, error: KafkaError) -> None:
        """The disk has failed: stop the node."""

    def random_uuid(self) -> bytes:
        """16 bytes from the node's random source."""


class JoiningNode(KnowingNode, Protocol):
    """The node as the requests to transaction coordinators see it."""

    @property
    def transactions(self) -> HasTopic:
        """The transaction coordinator, whose topic says which node leads which
        partition.
        """


class JoiningRequest(Protocol):
    """A producer's request, whose partitions must join its transaction first."""

    body: Message
    joined: Mapping[TopicPartition, Guard | KafkaError] | None
