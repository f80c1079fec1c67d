"""Replicas of this node that are damaged: found by recovery, by a look at what an
earlier run wrote, or by this leader when a follower refuses what it was given.

A damaged replica says so to the controller, as one in a failed directory does
(KIP-858): it leaves the ISR and the eligible leaders, another replica leads, and this
one truncates its log at the damage and fetches the rest again. Until then it doesn't
fetch: nobody may take it for a complete replica. If no other replica is in sync or
eligible, it keeps its role, and the loss has been reported; it is replaced as soon as
another one is in sync.

(Apache Kafka only knows failed directories: its leaders go on serving records with
flipped bits.)
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from minikafka.broker.incarnation import Incarnation
from minikafka.broker.node_events import NodeEvents
from minikafka.broker.peers import CONTROL
from minikafka.broker.replica_manager import ReplicaManager
from minikafka.clock import NodeClock, Now
from minikafka.cluster.controller import LOST_DIRECTORY
from minikafka.cluster.election import AskNode
from minikafka.cluster.metadata import METADATA_TOPIC, NO_LEADER
from minikafka.cluster.quorum import Quorum
from minikafka.cluster.replica import DamagedRecords, Replica
from minikafka.cluster.timers import NEVER_MS, Timers
from minikafka.storage.checks import Damage
from minikafka.storage.disk import unusable
from minikafka.storage.file_names import LOG
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message, nested

ASSIGN_VERSION = 0
RETRY_BACKOFF_MS = 100
MOST_ASKED = 2000  # replicas in one request
# How much of earlier runs' data is checked at a time: slow enough to disturb nobody.
LOOK_BYTES = 256 << 10
LOOK_INTERVAL_MS = 100

Key = tuple[str, int]


@dataclass(eq=False, repr=False)
class DamagedReplicas:
    """The replicas that this node knows to be damaged, or can't write to."""

    _incarnation: Incarnation
    _quorum: Quorum
    _replicas: ReplicaManager
    _events: NodeEvents
    _clock: NodeClock
    _ask_node: AskNode
    _storage_failed: Callable[[KafkaError], None]
    _notice: Callable[[str], None]
    _timers: Timers
    # By topic id and partition: the leader epoch in which this run had led or fetched
    # when it was found; -1: neither.
    _found: dict[tuple[bytes, int], int] = field(default_factory=dict)
    _to_tell: dict[Key, None] = field(
        default_factory=dict
    )  # for the controller to hear
    _is_asking: bool = False
    # with records of an earlier run
    _to_look: deque[Replica] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._next_request = self._timers.new()  # not set while one is on its way
        self._next_look = self._timers.new()

    # -- finding it

    def read(self, replica: Replica, damaged: DamagedRecords) -> list[memoryview]:
        """A read met damage. Returns what the log holds, if no other replica has
        better. Errors: NOT_LEADER_OR_FOLLOWER, because another replica will lead; or
        why nothing can be read.
        """
        self.found(replica, *damaged.damage)
        if not self._is_alone(replica):
            raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER) from damaged
        if damaged.records is None:
            raise damaged
        return damaged.records

    def logs_opened(self, now: Now) -> None:
        """Begin to look at what earlier runs wrote."""
        held = self._replicas.replicas.values()
        self._to_look.extend(replica for replica in held if replica.log.unchecked)
        if self._to_look:
            self._next_look.set(now.monotonic_ms)

    def _look(self, now: Now) -> None:
        """At the next part of it."""
        left = LOOK_BYTES
        while self._to_look and left > 0:
            replica = self._to_look[0]
            log = replica.log
            start = max(log.unchecked.start, log.log_start_offset)
            log.unchecked = range(start, min(log.unchecked.stop, log.log_end_offset))
            if (
                not log.unchecked
                or self._replicas.replicas.get(key_of(replica)) is not replica
            ):
                self._to_look.popleft()
                continue
            try:
                looked = log.look_at(start, LOOK_BYTES)
                damage = looked.damage
                left -= looked.size_bytes
            except KafkaError as error:  # the disk can't read it
                damage = Damage(start, error.message)
            if damage is not None:
                log.unchecked = range(0)
                self.found(replica, *damage)
        at_ms = now.monotonic_ms + LOOK_INTERVAL_MS
        self._next_look.set(at_ms if self._to_look else NEVER_MS)

    def found(self, replica: Replica, offset: int, why: str) -> None:
        """Damage was found: what lies at the offset is not what was written there."""
        log = replica.log
        path = log.segments[log.segment_of(offset)].path(LOG)
        if log.topic == METADATA_TOPIC:
            what = f"is damaged at offset {offset}: {why}. Put a good copy back"
            self._storage_failed(unusable(path, what))
            return
        if log.damaged_from is not None and log.damaged_from <= offset:
            return
        log.damaged_from = offset
        self._found[replica.topic_id, log.partition] = replica.leader_epoch
        alone = "no other replica is in sync"
        what = (
            alone
            if self._is_alone(replica)
            else "this replica is offline, and fetches it again"
        )
        self._notice(f"{path} is damaged at offset {offset}: {why}; {what}")
        self._events.placed(replica)

    def cannot_write(self, replica: Replica, error: KafkaError) -> None:
        """As follower: its disk is full, say. It leaves the ISR, and tries again."""
        self._notice(f"{replica.log.directory} is offline: {error.message}")
        if self._incarnation.node_id in replica.partition.isr and not self._is_alone(
            replica
        ):
            self._tell(key_of(replica))

    # -- how a damaged replica is replaced

    def placed(self, replica: Replica, now: Now) -> None:
        """The leader or the ISR may have changed; matters only if it is damaged."""
        if replica.log.damaged_from is None:
            return
        partition, me, key = (
            replica.partition,
            self._incarnation.node_id,
            key_of(replica),
        )
        found = replica.topic_id, replica.log.partition
        known_epoch = self._found.setdefault(found, -1)
        members = {*partition.isr, *partition.eligible_leader_replicas}
        if me in members:
            if members != {me}:
                self._tell(key)
        elif partition.leader not in (NO_LEADER, me):
            # what its leader knew of it is forgotten
            if known_epoch < partition.leader_epoch:
                del self._found[found]
                self._to_tell.pop(key, None)
                replica.drop_damaged()
            else:
                self._tell(key)

    def may_join(self) -> bool:
        """Whether this node may be let into the cluster: the controller knows what it
        must not lead.
        """
        return not any(self._counts(replica) for replica in self._pending())

    def _is_alone(self, replica: Replica) -> bool:
        partition = replica.partition
        return {*partition.isr, *partition.eligible_leader_replicas} <= {
            self._incarnation.node_id
        }

    def _counts(self, replica: Replica) -> bool:
        partition = replica.partition
        members = {*partition.isr, *partition.eligible_leader_replicas}
        return self._incarnation.node_id in members and not self._is_alone(replica)

    # -- telling the controller

    def _tell(self, key: Key) -> None:
        self._to_tell[key] = None
        if not self._is_asking and self._next_request.at_ms == NEVER_MS:
            self._next_request.set(self._clock.now.monotonic_ms)

    def _pending(self) -> Iterator[Replica]:
        held = self._replicas.replicas
        return (held[key] for key in self._to_tell if key in held)

    def tick(self, now: Now) -> None:
        """Look, and ask, when it is time to."""
        if self._next_look.at_ms <= now.monotonic_ms:
            self._look(now)
        if self._next_request.at_ms <= now.monotonic_ms:
            self._next_request.stop()
            self._ask()

    def _ask(self) -> None:
        asked = [*self._pending()][:MOST_ASKED]
        own = self._incarnation.registration
        leader = self._quorum.leader_id
        if not asked:
            return
        if own is None or leader == NO_LEADER:
            self._next_request.set(self._clock.now.monotonic_ms + RETRY_BACKOFF_MS)
            return
        assert not self._is_asking, "one AssignReplicasToDirs at a time is on its way"
        self._is_asking = True

        def told(reply: Message | None, now: Now) -> None:
            self._is_asking = False
            if reply is not None and not reply.error_code:
                for replica in asked:
                    self._to_tell.pop(key_of(replica), None)
            if self._to_tell:
                self._next_request.set(now.monotonic_ms + RETRY_BACKOFF_MS)

        parts = [
            (replica.topic_id, {"partition_index": replica.log.partition})
            for replica in asked
        ]
        directory = {"id": LOST_DIRECTORY, "topics": nested(parts, "topic_id")}
        body = {
            "broker_id": own.broker_id,
            "broker_epoch": own.broker_epoch,
            "directories": [directory],
        }
        self._ask_node(
            leader, CONTROL, "AssignReplicasToDirs", ASSIGN_VERSION, body, told
        )


def key_of(replica: Replica) -> Key:
    return replica.log.topic, replica.log.partition
