"""Leaders keep their ISR true: who has fallen behind leaves it, who has caught up comes
back (KIP-497).

The controller decides. A leader says what it wants, with the epochs that it believes
in, and goes on as if the answer could be yes or no: who is to join must already have a
record before it counts, who is to leave must still have it.
"""

from typing import Any

from minikafka.broker.ports import CONTROL, LeadingNode
from minikafka.clock import Now, soonest
from minikafka.cluster.metadata import NO_LEADER
from minikafka.cluster.replica import Replica
from minikafka.wire.messages import MOST_REQUEST_ITEMS
from minikafka.wire.schema import Message, nested

ALTER_PARTITION_VERSION = 3
RETRY_BACKOFF_MS = 50

Key = tuple[str, int]


class IsrChanges:
    """What this node's leaders ask of the controller: one request at a time, for all of
    them.
    """

    def __init__(self, node: LeadingNode) -> None:
        self._node = node
        self._wanted: dict[Key, Replica] = {}
        self._is_asking = False
        self._ask_at: int | None = None  # monotonic ms
        self._look_at: int | None = None

    def look(self, key: Key, replica: Replica, now: Now) -> None:
        """This leader's followers have moved, or stand still: is the ISR another
        one?
        """
        if replica.asked_isr or not replica.is_leader:
            return
        image = self._node.image
        wanted = replica.wanted_isr(now, self._node.config["replica.lag.time.max.ms"])
        isr = set(replica.partition.isr)
        joining = {
            broker
            for broker in wanted - isr
            if broker in image.brokers and not image.brokers[broker].fenced
        }
        wanted = wanted & isr | joining
        if wanted != isr:
            replica.asked_isr = frozenset(wanted)
            if replica.log.trace:
                replica.log.tell("IsrAsked", was=sorted(isr), isr=sorted(wanted))
            self._wanted[key] = replica
            self._ask_at = now.monotonic_ms if self._ask_at is None else self._ask_at

    def tick(self, now: Now) -> None:
        """Look at all leaders every half replica.lag.time.max.ms, and ask."""
        if self._look_at is not None and self._look_at <= now.monotonic_ms:
            self._look_at = None
            for key, replica in self._node.replicas.replicas.items():
                if replica.is_leader and len(replica.partition.replicas) > 1:
                    self._look_at = (
                        now.monotonic_ms
                        + self._node.config["replica.lag.time.max.ms"] // 2
                    )
                    self.look(key, replica, now)
        if (
            self._ask_at is not None
            and self._ask_at <= now.monotonic_ms
            and not self._is_asking
        ):
            self._ask_at = None
            self._ask(now)

    def placed(self, replica: Replica, now: Now) -> None:
        """This node may lead a partition with followers now."""
        has_followers = replica.is_leader and len(replica.partition.replicas) > 1
        if has_followers and self._look_at is None:
            self._look_at = now.monotonic_ms

    def next_deadline(self) -> int | None:
        """Monotonic ms."""
        return soonest(None if self._is_asking else self._ask_at, self._look_at)

    def _ask(self, now: Now) -> None:
        leader = self._node.quorum.leader_id
        self._wanted = {
            key: each
            for key, each in self._wanted.items()
            if each.asked_isr and each.is_leader
        }
        if leader == NO_LEADER and self._wanted:
            self._ask_at = now.monotonic_ms + RETRY_BACKOFF_MS
        if leader == NO_LEADER or not self._wanted:
            return
        wanted = self._take_some()
        assert not self._is_asking, "one AlterPartition at a time is on its way"
        self._is_asking = True
        epochs = {
            key: replica.partition.partition_epoch for key, replica in wanted.items()
        }

        def isr_decided(reply: Message | None, now: Now) -> None:
            self._is_asking = False
            if self._wanted:
                self._ask_at = now.monotonic_ms
            topics = () if reply is None or reply.error_code else reply.topics
            parts = (
                (topic.topic_id, part) for topic in topics for part in topic.partitions
            )
            errors = {
                (topic_id, part.partition_index): part.error_code
                for topic_id, part in parts
            }
            for key, replica in wanted.items():
                if replica.partition.partition_epoch != epochs[key]:
                    continue  # the image has it, and more
                if errors.get((replica.topic_id, key[1]), -1):
                    replica.asked_isr = frozenset()
                    replica.advance_high_watermark()
                    self._look_at = now.monotonic_ms + RETRY_BACKOFF_MS

        rows = (
            (replica.topic_id, self._asked(number, replica))
            for (_, number), replica in wanted.items()
        )
        body = {
            "broker_id": self._node.node_id,
            "broker_epoch": self._node.broker_epoch,
            "topics": nested(rows, "topic_id"),
        }
        self._node.ask(
            leader,
            CONTROL,
            "AlterPartition",
            ALTER_PARTITION_VERSION,
            body,
            isr_decided,
        )

    def _take_some(self) -> dict[Key, Replica]:
        """As many as fit into one request; the others are asked for with the next
        one.
        """
        some: dict[Key, Replica] = {}
        left = MOST_REQUEST_ITEMS
        for key, replica in self._wanted.items():
            left -= 2 + len(replica.asked_isr)  # a topic, a partition, its replicas
            if left < 0:
                break
            some[key] = replica
        for key in some:
            del self._wanted[key]
        return some

    def _asked(self, number: int, replica: Replica) -> dict[str, Any]:
        own = {self._node.node_id: self._node.broker_epoch}
        epochs = {
            broker: follower.broker_epoch
            for broker, follower in replica.followers.items()
        } | own
        isr = [
            {"broker_id": broker, "broker_epoch": epochs.get(broker, -1)}
            for broker in sorted(replica.asked_isr)
        ]
        return {
            "partition_index": number,
            "leader_epoch": replica.leader_epoch,
            "new_isr_with_epochs": isr,
            "partition_epoch": replica.partition.partition_epoch,
        }
