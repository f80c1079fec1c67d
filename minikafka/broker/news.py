"""What has happened within a node, and who hears of it.

Records were appended to a log, or are committed: parked requests look again, and the
node's own state machines read on. Committed metadata changes the image, and each change
goes to those parts of the node that have to do with it. A replica came, has another
place in the cluster, or went: who fetches and who keeps the ISR acts upon it.
"""

from collections.abc import Sequence
from typing import Any

from minikafka.broker.calls import Broker
from minikafka.broker.config import quorum_config
from minikafka.broker.ports import FollowsTopics
from minikafka.clock import Now
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
    PartitionChange,
    TopicChange,
)
from minikafka.cluster.quorum import Listener, Quorum
from minikafka.cluster.replica import Replica
from minikafka.cluster.waiting import ALL_BYTES, METADATA
from minikafka.storage.disk import Disk

# by state machines of this node
FOLLOWED = (METADATA_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC)


class News:
    """Hears what happens, and passes it on."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    # -- of logs (cluster.replica.Hears)

    def appended(self, replica: Replica, size_bytes: int, now: Now) -> None:
        """The end of a log moved."""
        broker, log = self._broker, replica.log
        # which is synced, and has no place in the checkpoints
        if log.topic != METADATA_TOPIC:
            broker.replicas.changed(now)
        followers = [("fetched_by", node) for node in replica.followers]
        for key in (("log_end", log.topic, log.partition), *followers):
            if key in broker.requests.waiting:
                broker.requests.moved(key, size_bytes)

    def high_watermark_advanced(self, replica: Replica, size_bytes: int) -> None:
        """Records are committed that were not."""
        requests, log = self._broker.requests, replica.log
        key = ("high_watermark", log.topic, log.partition)
        if log.topic in FOLLOWED or key in requests.waiting:
            requests.moved(key, size_bytes)

    def follow(self, key: tuple[Any, ...], now: Now) -> None:
        """Something arrived under a key: the state machines of this node read what is
        committed, the image and the coordinators.
        """
        broker = self._broker
        if key == METADATA:
            broker.registration.committed(now)
        elif key[0] == "high_watermark" and key[1] in FOLLOWED:
            _, topic, number = key
            if topic == METADATA_TOPIC:
                if broker.quorum.hand_on():
                    broker.requests.moved(METADATA, ALL_BYTES)
            elif topic == OFFSETS_TOPIC:
                broker.groups.high_watermark_advanced(number, now)
            elif topic == SHARE_STATE_TOPIC:
                broker.sharing.coordinator.high_watermark_advanced(number, now)
            else:
                broker.transactions.high_watermark_advanced(number, now)

    # -- of replicas (ports.HearsOfReplicas)

    def placed(self, replica: Replica) -> None:
        """A replica leads or follows, perhaps another node than before."""
        broker = self._broker
        for part in (broker.damage, broker.fetcher, broker.isr):
            part.placed(replica, broker.now)

    def removed(self, replica: Replica) -> None:
        """This node has a replica no more."""
        self._broker.fetcher.removed(replica)

    def moved(self, key: tuple[Any, ...], size_bytes: int) -> None:
        """Parked requests look again."""
        self._broker.requests.moved(key, size_bytes)

    # -- of metadata

    def committed(self, records: Sequence[MetadataRecord]) -> None:
        """Metadata is committed: the image changes."""
        for record in records:
            change = self._broker.image.apply(record)
            if change is not None:
                self._hand_out(change)
        self._broker.descriptions.clear()

    def replaced(self, later: Image, records: Sequence[MetadataRecord]) -> None:
        """Too far behind to replay the log: the image becomes another node's, and what
        is gone there goes here.
        """
        self.committed([*self._broker.image.gone(later), *records])

    def leader_changed(self, now: Now) -> None:
        """Another node is the active controller, or none, or it is this one."""
        self._broker.registration.leader_changed(now)
        self._broker.active_controller.leader_changed(now)
        self._broker.requests.moved(METADATA, 1)

    def _hand_out(self, change: Change) -> None:
        """To those parts that have to do with it. What a node reads before its logs
        are being opened is history: who begins later looks at the outcome.
        """
        broker, now = self._broker, self._broker.now
        allowed = broker.life.allowed
        followers: list[FollowsTopics] = []
        if allowed.follows_image:
            followers.append(broker.replicas)
        if allowed.coordinates:
            followers += [broker.groups, broker.transactions, broker.sharing]
        match change:
            case BrokerChange():
                broker.active_controller.broker_changed(change, now)
                broker.peers.broker_changed(change, now)
            case PartitionChange():
                for part in followers:
                    part.partition_changed(change)
            case TopicChange():
                for part in followers:
                    part.topic_changed(change)
            case ConfigChange() if allowed.follows_image:
                broker.replicas.config_changed(change)


def new_quorum(broker: Broker, news: News, disk: Disk) -> Quorum:
    """The metadata log of a node, and what it tells."""
    return Quorum(
        node_id=broker.node_id,
        config=quorum_config(broker.node_id, broker.config),
        listener=Listener(
            committed=news.committed,
            replaced=news.replaced,
            leader_changed=news.leader_changed,
            image=broker.image.records,
        ),
        hears=news,
        ask=broker.ask,
        disk=disk,
        random=broker.random.random,
        trace=broker.trace,
    )
