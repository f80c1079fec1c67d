"""What the parts of a node may touch, of the node and of each other.

A part gets the node when it is made, and sees of it what its port says: every part who
the node is, what it knows of the cluster, and how it asks others (`Node`); some a
little more. No part knows `Broker`, and none imports a part that knows it in turn.
What handlers may touch, which is more, is in calls.py; what coordinators may, in
coordinators/ports.py.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from minikafka.broker.config import BrokerConfig
from minikafka.broker.lifecycle import Lifecycle
from minikafka.clock import Now
from minikafka.cluster.metadata import (
    BrokerRegistration,
    Image,
    PartitionChange,
    TopicChange,
)
from minikafka.cluster.quorum import Quorum
from minikafka.cluster.replica import Hears, Replica
from minikafka.cluster.waiting import Answer
from minikafka.coordinators.ports import Asks
from minikafka.trace import Trace
from minikafka.wire.errors import KafkaError

CONTROLLER_LISTENER = "CONTROLLER"  # where nodes talk to each other
CONTROL = "control"  # the lane of what is answered at once

PartitionKey = tuple[str, int]


# -- what a part does for the node


class FollowsTopics(Protocol):
    """A part of the node that acts upon what becomes of topics and partitions."""

    def partition_changed(self, change: PartitionChange) -> None:
        """A partition was created, or is another one now."""

    def topic_changed(self, change: TopicChange) -> None:
        """A topic was created, or has gone."""


class HasDeadline(Protocol):
    """A part of the node that has something to do at a time."""

    def next_deadline(self) -> int | None:
        """Monotonic ms; None: nothing to do."""


# -- what a part may touch of others


class HearsOfReplicas(Hears, Protocol):
    """Who hears of the replicas that this node holds."""

    def placed(self, replica: Replica) -> None:
        """A replica is there, or has another leader, another ISR, or another log start
        offset.
        """

    def removed(self, replica: Replica) -> None:
        """This node has the replica no more."""

    def moved(self, key: tuple[Any, ...], size_bytes: int) -> None:
        """Parked requests should look at what they wait for."""


class HoldsReplicas(Protocol):
    """The replicas of this node."""

    @property
    def replicas(self) -> Mapping[PartitionKey, Replica]:
        """By topic and partition."""

    def leader(self, topic: str, number: int) -> Replica:
        """The replica that leads. Errors: NOT_LEADER_OR_FOLLOWER,
        UNKNOWN_TOPIC_OR_PARTITION.
        """

    def changed(self, now: Now) -> None:
        """Some log has a new beginning or end."""


class KnowsItself(Protocol):
    """The registration of this node."""

    @property
    def own(self) -> BrokerRegistration | None:
        """This run's, once it is committed."""


class KnowsDamage(Protocol):
    """The damaged replicas of this node."""

    @property
    def may_join(self) -> bool:
        """Whether the controller knows what this node must not lead."""

    def cannot_write(self, replica: Replica, error: KafkaError) -> None:
        """As follower."""


# -- what a part may touch of the node


class Node(Asks, Protocol):
    """What every part may touch."""

    node_id: int
    config: BrokerConfig
    trace: Trace
    image: Image
    quorum: Quorum
    now: Now

    @property
    def cluster_id(self) -> str:
        """Of the cluster that this node belongs to."""

    @property
    def broker_epoch(self) -> int:
        """The offset of this node's registration, -1 before."""

    def notice(self, line: str, error: Exception | None = None) -> None:
        """Something went wrong that ends one thing and not the node."""

    def storage_failed(self, error: KafkaError) -> None:
        """The node stops."""

    def random_uuid(self) -> bytes:
        """16 bytes, from the node's random source."""


class RegisteredNode(Node, Protocol):
    """For the active controller: is that broker this node?"""

    @property
    def registration(self) -> KnowsItself:
        """This node's."""


class LivingNode(Node, Protocol):
    """For the registration, which takes the node through its life."""

    life: Lifecycle

    @property
    def damage(self) -> KnowsDamage:
        """Who has some is let in a little later."""


class FollowingNode(Node, Protocol):
    """For the fetcher."""

    @property
    def damage(self) -> KnowsDamage:
        """What it can't write."""


class LeadingNode(Node, Protocol):
    """For those who look at the replicas that this node holds."""

    @property
    def replicas(self) -> HoldsReplicas:
        """All of them."""


class DamagedNode(LeadingNode, RegisteredNode, Protocol):
    """For damaged replicas, which get another place."""

    @property
    def news(self) -> HearsOfReplicas:
        """Who hears of it."""


class Split(NamedTuple):
    """A request that the active controller must answer, but for a part. rest: what it
    is asked. whole: makes of its answer the one to the whole request.
    """

    rest: Answer
    whole: Callable[[Answer], Answer]
