"""Leaders keep their ISR up to date: replicas that have fallen behind leave it, those
that have caught up come back (KIP-497).

The controller decides. A leader proposes an ISR, with the epochs it knows, and until
the answer comes allows for both outcomes: a record is committed only when replicas that
are to join have it, and those that are to leave, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from minikafka.broker.config import BrokerConfig
from minikafka.broker.counters import Counters
from minikafka.broker.incarnation import Incarnation
from minikafka.broker.peers import CONTROL
from minikafka.broker.replica_manager import ReplicaManager
from minikafka.clock import Now
from minikafka.cluster.election import AskNode
from minikafka.cluster.metadata import NO_LEADER, Image, Partition
from minikafka.cluster.quorum import Quorum
from minikafka.cluster.replica import Replica
from minikafka.cluster.timers import NEVER_MS, Timers
from minikafka.wire.messages import MOST_REQUEST_ITEMS
from minikafka.wire.schema import Message, nested

ALTER_PARTITION_VERSION = 3
RETRY_BACKOFF_MS = 50
UNKNOWN_EPOCH = -1  # of a broker
NO_ANSWER = -1  # in the place of an error code

Key = tuple[str, int]


class Proposed(NamedTuple):
    """What the controller was asked for: the ISR that a partition should have. was: the
    partition at that time.
    """

    was: Partition
    isr: frozenset[int]


@dataclass(eq=False, repr=False)
class IsrChanges:
    """The requests of this node's leaders to the controller: one at a time, for all of
    them.
    """

    _incarnation: Incarnation
    _config: BrokerConfig
    _image: Image
    _quorum: Quorum
    _replicas: ReplicaManager
    _ask_node: AskNode
    _timers: Timers
    _counters: Counters | None = None
    _wanted: dict[Key, Replica] = field(default_factory=dict)
    _is_asking: bool = False

    def __post_init__(self) -> None:
        self._next_request = self._timers.new()  # not set while one is on its way
        self._next_look = self._timers.new()  # at all leaders

    def look(self, key: Key, replica: Replica, now: Now) -> None:
        """This leader's followers have moved, or stand still: check whether the ISR
        must change.
        """
        if replica.pending_isr or not replica.is_leader:
            return
        brokers = self._image.brokers
        most_lag_ms = self._config["replica.lag.time.max.ms"]
        caught_up = replica.proposed_isr(now, most_lag_ms)
        isr = set(replica.partition.isr)
        wanted = isr & caught_up
        for broker_id in caught_up - isr:
            if broker_id in brokers and not brokers[broker_id].fenced:
                wanted.add(broker_id)
        if wanted == isr:
            return
        replica.pending_isr = frozenset(wanted)
        if replica.log.trace:
            replica.log.tell("IsrAsked", was=sorted(isr), isr=sorted(wanted))
        self._wanted[key] = replica
        if not self._is_asking and self._next_request.at_ms == NEVER_MS:
            self._next_request.set(now.monotonic_ms)

    def tick(self, now: Now) -> None:
        """Look at all leaders every half replica.lag.time.max.ms, and ask."""
        if self._next_look.at_ms <= now.monotonic_ms:
            self._look_at_all(now)
        if self._next_request.at_ms <= now.monotonic_ms:
            self._next_request.stop()
            self._ask(now)

    def _look_at_all(self, now: Now) -> None:
        """And again later, while there is a leader with followers."""
        self._next_look.stop()
        interval_ms = self._config["replica.lag.time.max.ms"] // 2
        for key, replica in self._replicas.replicas.items():
            if has_followers(replica):
                self._next_look.set(now.monotonic_ms + interval_ms)
                self.look(key, replica, now)

    def placed(self, replica: Replica, now: Now) -> None:
        """This node may lead a partition with followers now."""
        if has_followers(replica) and self._next_look.at_ms == NEVER_MS:
            self._next_look.set(now.monotonic_ms)

    def _ask(self, now: Now) -> None:
        """Send an AlterPartition with all proposals, as far as one request
        holds them.
        """
        for key, replica in list(self._wanted.items()):
            if not replica.pending_isr or not replica.is_leader:
                del self._wanted[key]  # the image has changed meanwhile
        if not self._wanted:
            return
        controller = self._quorum.leader_id
        if controller == NO_LEADER:
            self._next_request.set(now.monotonic_ms + RETRY_BACKOFF_MS)
            return
        asked = self._take_some()
        proposed = {}
        rows = []
        for key, replica in asked.items():
            _, number = key
            proposed[key] = Proposed(replica.partition, replica.pending_isr)
            rows.append((replica.topic_id, self._row(number, replica)))
        body = {
            "broker_id": self._incarnation.node_id,
            "broker_epoch": self._incarnation.broker_epoch,
            "topics": nested(rows, "topic_id"),
        }

        def isr_decided(reply: Message | None, now: Now) -> None:
            self._decided(asked, proposed, reply, now)

        assert not self._is_asking, "one AlterPartition at a time is on its way"
        self._is_asking = True
        self._ask_node(
            controller,
            CONTROL,
            "AlterPartition",
            ALTER_PARTITION_VERSION,
            body,
            isr_decided,
        )

    def _decided(
        self,
        asked: Mapping[Key, Replica],
        proposed: Mapping[Key, Proposed],
        reply: Message | None,
        now: Now,
    ) -> None:
        """The controller has answered, or nobody has. Its decision comes with the
        image; partitions that it refused are checked again.
        """
        self._is_asking = False
        if self._wanted:
            self._next_request.set(now.monotonic_ms)
        errors = errors_of(reply)
        for key, replica in asked.items():
            was, isr = proposed[key]
            _, number = key
            was_refused = errors.get((replica.topic_id, number), NO_ANSWER)
            if self._counters is not None and not was_refused:
                self._counters.isr_changed(was.isr, isr)
            if replica.partition.partition_epoch != was.partition_epoch:
                continue  # the image has it, and more
            if was_refused:
                replica.pending_isr = frozenset()
                replica.advance_high_watermark()
                self._next_look.set(now.monotonic_ms + RETRY_BACKOFF_MS)

    def _take_some(self) -> dict[Key, Replica]:
        """As many as fit into one request; the others go with the next one."""
        some: dict[Key, Replica] = {}
        left = MOST_REQUEST_ITEMS
        for key, replica in self._wanted.items():
            left -= 2 + len(replica.pending_isr)  # a topic, a partition, its replicas
            if left < 0:
                break
            some[key] = replica
        for key in some:
            del self._wanted[key]
        return some

    def _row(self, number: int, replica: Replica) -> dict[str, Any]:
        """One partition of an AlterPartition."""
        epochs = {}
        for broker_id, follower in replica.followers.items():
            epochs[broker_id] = follower.broker_epoch
        epochs[self._incarnation.node_id] = self._incarnation.broker_epoch
        isr = []
        for broker_id in sorted(replica.pending_isr):
            epoch = epochs.get(broker_id, UNKNOWN_EPOCH)
            isr.append({"broker_id": broker_id, "broker_epoch": epoch})
        return {
            "partition_index": number,
            "leader_epoch": replica.leader_epoch,
            "new_isr_with_epochs": isr,
            "partition_epoch": replica.partition.partition_epoch,
        }


def has_followers(replica: Replica) -> bool:
    """Whether this node leads a partition that others replicate."""
    return replica.is_leader and len(replica.partition.replicas) > 1


def errors_of(reply: Message | None) -> dict[tuple[bytes, int], int]:
    """The error code of each partition in the answer to an AlterPartition."""
    errors: dict[tuple[bytes, int], int] = {}
    if reply is None or reply.error_code:
        return errors
    for topic in reply.topics:
        for part in topic.partitions:
            errors[topic.topic_id, part.partition_index] = part.error_code
    return errors
