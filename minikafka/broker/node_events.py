"""Events within a node, and the parts that react to them.

Records were appended to a log or committed: parked requests look again, and the node's
own state machines read on. Committed metadata changes the image, and each change goes
to the parts of the node that it concerns. A replica was created, was given another role,
or was removed: the parts that fetch and that maintain the ISR react to it.

This file knows no part of the node: parts.py wires up which parts are told about what,
and in which order (Hearers).
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from minikafka.broker.counters import Counters
from minikafka.broker.lifecycle import Lifecycle
from minikafka.clock import NodeClock, Now
from minikafka.cluster.metadata import (
    METADATA_TOPIC,
    OFFSETS_TOPIC,
    SHARE_STATE_TOPIC,
    TRANSACTIONS_TOPIC,
    BrokerChange,
    Change,
    ConfigChange,
    Image,
    MetadataRecord,
    Partition,
    PartitionChange,
    TopicChange,
)
from minikafka.cluster.replica import PartitionListener, Replica
from minikafka.cluster.waiting import ALL_BYTES, METADATA, Waiting
from minikafka.storage.producer_state import Appended

# by state machines of this node
FOLLOWED = (METADATA_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC)

Key = tuple[Any, ...]


class FollowsTopics(Protocol):
    """A part of the node that reacts to changes of topics and partitions."""

    def partition_changed(self, change: PartitionChange) -> None:
        """A partition was created, or has changed."""

    def topic_changed(self, change: TopicChange) -> None:
        """A topic was created, or has gone."""


class Hearers(NamedTuple):
    """The parts that are told about each event, in the order in which they are told.

    logs_changed: the end of some log moved, other than the metadata log's. placed: a
    replica leads or follows. removed: this node no longer has the replica.
    high_watermark_advanced: by topic, the state machine that reads on in a partition.
    read_metadata(): the same for the metadata log; returns whether everything committed
    was read. metadata_committed: it was, and the image has changed. leader_changed: the
    active controller is another node.

    For changes by committed metadata: image_changed, after each batch; broker_changed;
    config_changed; by_topic, once the node's logs are being opened; and coordinators,
    once it is ready.
    """

    logs_changed: Sequence[Callable[[Now], None]]
    placed: Sequence[Callable[[Replica, Now], None]]
    removed: Sequence[Callable[[Replica], None]]
    high_watermark_advanced: Mapping[str, Callable[[int, Now], None]]
    read_metadata: Callable[[], bool]
    metadata_committed: Sequence[Callable[[Now], None]]
    leader_changed: Sequence[Callable[[Now], None]]
    image_changed: Sequence[Callable[[], None]]
    broker_changed: Sequence[Callable[[BrokerChange, Now], None]]
    config_changed: Sequence[Callable[[ConfigChange], None]]
    by_topic: Sequence[FollowsTopics]
    coordinators: Sequence[FollowsTopics]


@dataclass(eq=False, repr=False)
class NodeEvents:
    """Hears what happens, and passes it on. moves: keys under which something arrived,
    and how many bytes; those that wait for them have not looked yet.
    """

    _node_id: int
    _image: Image
    _life: Lifecycle
    _clock: NodeClock
    _waiting: Waiting
    _counters: Counters | None = None
    hearers: Hearers = field(init=False)
    moves: deque[tuple[Key, int]] = field(default_factory=deque)

    # -- of logs

    @property
    def listener(self) -> PartitionListener:
        """The listener that each replica of this node gets."""
        return PartitionListener(self.appended, self.high_watermark_advanced)

    def appended(self, replica: Replica, appended: Appended, now: Now) -> None:
        """The end of a log moved."""
        if self._counters is not None:
            self._counters.appended(replica, appended)
        log = replica.log
        keys: list[Key] = [("log_end", log.topic, log.partition)]
        # which is synced, has no place in the checkpoints, and is fetched for itself
        if log.topic != METADATA_TOPIC:
            for hear in self.hearers.logs_changed:
                hear(now)
            keys += [("fetched_by", node) for node in replica.followers]
        for key in keys:
            if key in self._waiting.by_key:
                self.moved(key, appended.size_bytes)

    def high_watermark_advanced(self, replica: Replica, size_bytes: int) -> None:
        """Records are committed that were not."""
        log = replica.log
        key = ("high_watermark", log.topic, log.partition)
        if log.topic in FOLLOWED or key in self._waiting.by_key:
            self.moved(key, size_bytes)

    def moved(self, key: Key, size_bytes: int) -> None:
        """Something arrived under a key: who waits for it looks again, soon."""
        self.moves.append((key, size_bytes))

    def follow(self, key: Key, now: Now) -> None:
        """Before those who wait for a key look again, the state machines of this node
        read what is committed: the image and the coordinators.
        """
        if key == METADATA:
            for hear in self.hearers.metadata_committed:
                hear(now)
        elif key[0] == "high_watermark" and key[1] in FOLLOWED:
            _, topic, number = key
            if topic != METADATA_TOPIC:
                self.hearers.high_watermark_advanced[topic](number, now)
            elif self.hearers.read_metadata():
                self.moved(METADATA, ALL_BYTES)

    # -- of replicas

    def placed(self, replica: Replica) -> None:
        """A replica is there, or has another leader, another ISR, or another log start
        offset.
        """
        for hear in self.hearers.placed:
            hear(replica, self._clock.now)

    def removed(self, replica: Replica) -> None:
        """This node no longer has the replica."""
        for hear in self.hearers.removed:
            hear(replica)

    # -- of metadata (cluster.quorum.Listener)

    def committed(self, records: Sequence[MetadataRecord]) -> None:
        """Metadata is committed: the image changes. Followers whose fetches are parked
        look again once, if it is about what they may fetch.
        """
        followers: dict[int, None] = {}
        for record in records:
            change = self._image.apply(record)
            if change is not None:
                self._hand_out(change)
                for replicas in replicas_of(change):
                    if self._node_id in replicas:
                        followers.update(dict.fromkeys(replicas))
        for hear in self.hearers.image_changed:
            hear()
        for node in followers:
            key = ("fetched_by", node)
            if key in self._waiting.by_key:
                self.moved(key, ALL_BYTES)

    def replaced(self, later: Image, records: Sequence[MetadataRecord]) -> None:
        """Too far behind to replay the log: the image becomes another node's, and what
        is gone there goes here.
        """
        self.committed([*self._image.gone(later), *records])

    def leader_changed(self, now: Now) -> None:
        """Another node is the active controller, or none, or it is this one."""
        for hear in self.hearers.leader_changed:
            hear(now)
        self.moved(METADATA, 1)

    def _hand_out(self, change: Change) -> None:
        """Pass the change to the parts that it concerns. Changes read before the node
        opens its logs are history: a part that starts later looks at the outcome.
        """
        hearers, allowed = self.hearers, self._life.allowed
        followers: list[FollowsTopics] = []
        if allowed.follows_image:
            followers += hearers.by_topic
        if allowed.coordinates:
            followers += hearers.coordinators
        match change:
            case BrokerChange():
                for hear in hearers.broker_changed:
                    hear(change, self._clock.now)
            case PartitionChange():
                for part in followers:
                    part.partition_changed(change)
            case TopicChange():
                for part in followers:
                    part.topic_changed(change)
            case ConfigChange() if allowed.follows_image:
                for told in hearers.config_changed:
                    told(change)


def replicas_of(change: Change) -> list[tuple[int, ...]]:
    """The nodes that have, or had, a replica of what has changed, by partition."""
    partitions: list[Partition] = []
    if isinstance(change, PartitionChange):
        partitions = [change.after]
        if change.before is not None:
            partitions.append(change.before)
    elif isinstance(change, TopicChange) and change.before is not None:
        partitions = [*change.before.partitions.values()]
    return [partition.replicas for partition in partitions]
