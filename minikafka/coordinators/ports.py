"""What coordinators, and those who ask them, may touch of the node that they are on.

A node has more (broker/ports.py says what its other parts see); here is what comes from
below: who it is, what it knows of the cluster, its replicas, and how it asks others.
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
    """Whoever can ask nodes for something."""

    def ask(
        self,
        node: int,
        lane: str,
        api: str,
        version: int,
        body: Mapping[str, object],
        then: Then,
    ) -> None:
        """then(reply or None, now), once. This node may be meant."""


class LeadsPartitions(Protocol):
    """The replicas of this node."""

    def leader(self, topic: str, number: int) -> Replica:
        """The replica that leads. Errors: NOT_LEADER_OR_FOLLOWER,
        UNKNOWN_TOPIC_OR_PARTITION.
        """

    def changed(self, now: Now) -> None:
        """Some log has a new beginning or end."""


class GivesProducerIds(Protocol):
    """Where producer ids come from."""

    def next_producer_id(self, now: Now) -> int | Wait:
        """One that was never given before, or what to wait for."""


class AsksController(GivesProducerIds, Protocol):
    """What only the active controller gives."""

    def create(
        self,
        topics: Sequence[dict[str, Any]],
        now: Now,
        answer: Callable[[], Answer],
    ) -> Answer | Wait:
        """Topics that somebody needs; answer(): once they are there."""


class HasTopic(Protocol):
    """A coordinator, as far as others look for it."""

    @property
    def topic(self) -> Topic | None:
        """Where its state lies."""


class KnowingNode(Asks, Protocol):
    """For those who ask others about what is in the metadata image."""

    image: Image

    @property
    def config(self) -> Configs:
        """Of this node, as at start."""

    @property
    def in_force(self) -> Configs:
        """Of this node, as they are now."""


class HasShareStatesMade(Protocol):
    """What a node asks share coordinators."""

    def initialize(
        self,
        key: ShareKey,
        state_epoch: int,
        start_offset: int,
        then: Callable[[Message | KafkaError, Now], None],
    ) -> None:
        """The state of a share partition begins, or begins anew."""


class Shares(Protocol):
    """What a node does for share groups."""

    @property
    def persister(self) -> HasShareStatesMade:
        """Whom it asks for the states of share partitions."""


class CoordinatingNode(KnowingNode, Protocol):
    """For coordinators."""

    node_id: int
    trace: Trace
    now: Now

    @property
    def replicas(self) -> LeadsPartitions:
        """All of them."""

    @property
    def forwarding(self) -> AsksController:
        """Whom it asks for new producer ids, and for topics."""

    @property
    def sharing(self) -> Shares:
        """What it does for share groups."""

    def notice(self, line: str, error: Exception | None = None) -> None:
        """Something went wrong that ends one thing and not the node."""

    def storage_failed(self, error: KafkaError) -> None:
        """The node stops."""

    def random_uuid(self) -> bytes:
        """16 bytes, from the node's random source."""


class JoiningNode(KnowingNode, Protocol):
    """For what is asked of the coordinators of transactions."""

    @property
    def transactions(self) -> HasTopic:
        """Where they are is known from its topic."""


class JoiningRequest(Protocol):
    """A request of a producer whose partitions join its transaction first."""

    body: Message
    joined: Mapping[TopicPartition, Guard | KafkaError] | None
