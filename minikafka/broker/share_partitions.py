"""The share partitions that this node keeps, because it leads their partitions
(KIP-932).

One is made when a member first fetches from it: its state is read from its share
coordinator, in the epoch of this leader, which fences the one before. Then members'
acknowledgements and the ends of locks are written there; a change counts when it is
written (cluster/share_partition.py). A share partition is dropped when this node no
longer leads the partition, when another node has it now, and when no member of the
group is connected here.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from minikafka.broker import dead_letters
from minikafka.broker.config import BrokerConfig
from minikafka.broker.config_rules import BY_DURATION, is_beginning
from minikafka.broker.dead_letters import REJECTED, TOO_OFTEN, DeadLetters
from minikafka.broker.durations import duration_ms
from minikafka.broker.node_events import NodeEvents
from minikafka.broker.replica_manager import ReplicaManager
from minikafka.broker.share_sessions import ShareSession
from minikafka.clock import Now
from minikafka.cluster.metadata import Image, PartitionChange, TopicChange
from minikafka.cluster.replica import Replica
from minikafka.cluster.share_acquiring import Acquired, Asked, Read
from minikafka.cluster.share_batches import InFlight, RecordState, StateBatch
from minikafka.cluster.share_partition import (
    AcknowledgementBatch,
    GivenUp,
    SharePartition,
    StateTransition,
)
from minikafka.cluster.timers import Deadlines
from minikafka.cluster.waiting import ALL_BYTES, Wait
from minikafka.coordinators.runtime import Configs
from minikafka.coordinators.share_limits import configured_text, limits
from minikafka.coordinators.share_persister import SharePersister, Then
from minikafka.coordinators.share_states import UNKNOWN, ShareKey, state_batches
from minikafka.trace import Trace
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message
from minikafka.wire.unpacking import Allowance

EARLIEST, LATEST = "earliest", "latest"
MOST_SEARCHED = 100_000  # records, for a start by time
MOST_IN_FLIGHT = 1 << 20  # offsets of a state that is read, whatever the limits were
# states of records that are written down
WRITTEN = (
    RecordState.AVAILABLE,
    RecordState.ACKNOWLEDGED,
    RecordState.ARCHIVING,
    RecordState.ARCHIVED,
)

# what a failed read or write is called in answers
AS_A_FETCH_SAYS = {
    Error.NOT_COORDINATOR: Error.COORDINATOR_NOT_AVAILABLE,
    Error.COORDINATOR_NOT_AVAILABLE: Error.COORDINATOR_NOT_AVAILABLE,
    Error.COORDINATOR_LOAD_IN_PROGRESS: Error.COORDINATOR_NOT_AVAILABLE,
    Error.GROUP_ID_NOT_FOUND: Error.GROUP_ID_NOT_FOUND,
    Error.UNKNOWN_TOPIC_OR_PARTITION: Error.UNKNOWN_TOPIC_OR_PARTITION,
    Error.FENCED_LEADER_EPOCH: Error.NOT_LEADER_OR_FOLLOWER,
    Error.FENCED_STATE_EPOCH: Error.NOT_LEADER_OR_FOLLOWER,
}
# this leader has lost it: somebody else has it now, or nobody
LOST = (
    Error.NOT_LEADER_OR_FOLLOWER,
    Error.GROUP_ID_NOT_FOUND,
    Error.UNKNOWN_TOPIC_OR_PARTITION,
)


Led = tuple[ShareKey, int]  # a share partition, and the leader epoch


@dataclass(eq=False, slots=True)
class Held:
    """One share partition. partition: None while its state is being read. error: why
    that failed. is_over: it is not this node's any more.
    """

    key: ShareKey
    topic: str
    replica: Replica
    leader_epoch: int
    config: Configs
    image: Any
    state_epoch: int = 0
    partition: SharePartition | None = None
    error: KafkaError | None = None
    is_over: bool = False
    # writes that are not answered: one that is tried again says where it begins now,
    # for a later one may have said so before it
    writes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def group_id(self) -> str:
        return self.key.group_id

    @property
    def led(self) -> Led:
        """It, as led in one epoch."""
        return self.key, self.leader_epoch

    def written(self, batches: Sequence[StateBatch]) -> dict[str, Any]:
        """A WriteShareGroupState of it."""
        assert self.partition is not None, "what was not read is not written"
        window = self.partition.window
        return {
            "state_epoch": self.state_epoch,
            "leader_epoch": self.leader_epoch,
            "start_offset": window.start_offset,
            "delivery_complete_count": window.delivery_complete_count,
            "state_batches": [batch._asdict() for batch in batches],
        }


@dataclass(eq=False, repr=False)
class SharePartitions:
    """All of a node, by key. persister: where their state is. letters: what becomes of
    records that a group gives up, if it wants to know.
    """

    _node_id: int
    _config: BrokerConfig
    _image: Image
    _replicas: ReplicaManager
    _events: NodeEvents
    _persister: SharePersister
    _letters: DeadLetters
    _trace: Trace
    _locks: Deadlines[ShareKey]
    held: dict[ShareKey, Held] = field(default_factory=dict)
    # writes that are not answered, of those that were dropped too
    _writing: Counter[Led] = field(default_factory=Counter)

    # -- coming and going

    def get(self, key: ShareKey) -> Held | None:
        return self.held.get(key)

    def of(self, key: ShareKey, topic: str) -> Held:
        """The share partition; its state may still have to be read, and requests that
        wait for it are woken then. Errors: NOT_LEADER_OR_FOLLOWER,
        UNKNOWN_TOPIC_OR_PARTITION, the reason why its state could not be read.
        """
        held = self.held.get(key)
        if held is None:
            replica = self._replicas.leader(topic, key.partition)
            epoch = replica.leader_epoch
            held = Held(key, topic, replica, epoch, self._config, self._image)
            self.held[key] = held
            self._read(held)
        if held.error is not None:
            del self.held[key]
            raise held.error
        return held

    def _read(self, held: Held) -> None:
        """Writes of this node itself from before it dropped the share partition must
        finish first: nothing would fence them.
        """
        if self._writing[held.led]:
            return

        def read(result: Message | KafkaError, now: Now) -> None:
            if held.is_over:
                return
            try:
                if isinstance(result, KafkaError):
                    raise _as_a_fetch_says(result)
                self._begin(held, result, now)
            except KafkaError as error:
                held.error = error.with_traceback(None)
            self._moved(held.key)

        self._persister.read(held.key, held.leader_epoch, read)

    def _persist(self, held: Held, batches: Sequence[StateBatch], then: Then) -> None:
        """Write the outcome of records."""
        self._writing[held.led] += 1
        fields = held.written(batches)
        held.writes.append(fields)

        def answered(result: Message | KafkaError, now: Now) -> None:
            held.writes = [each for each in held.writes if each is not fields]
            then(result, now)
            self._writing[held.led] -= 1
            if self._writing[held.led]:
                return
            del self._writing[held.led]
            next_one = self.held.get(held.key)
            if next_one is None or next_one is held:
                return
            if next_one.led == held.led:
                self._read(next_one)

        self._persister.write(held.key, fields, answered)

    def _begin(self, held: Held, state: Message, now: Now) -> None:
        """Errors: UNKNOWN_SERVER_ERROR for a state that can't be valid."""
        held.state_epoch = state.state_epoch
        start_offset = state.start_offset
        if start_offset == UNKNOWN:
            start_offset = self._first_offset(held, now)
        batches = state_batches(state)
        if not is_sane(start_offset, batches):
            why = f"Failed to initialize the share partition {held.key}"
            raise KafkaError(Error.UNKNOWN_SERVER_ERROR, why)
        held.partition = SharePartition(lambda: limits(held), start_offset, batches)
        self._tell(
            "ShareStateRead",
            held,
            offset=start_offset,
            batches=[list(map(int, batch)) for batch in batches],
        )
        self._bury(held, held.partition.archiving(), now)

    def _first_offset(self, held: Held, now: Now) -> int:
        """Where a group begins that has never read (share.auto.offset.reset)."""
        strategy = configured_text(held, "share.auto.offset.reset").strip().lower()
        log = held.replica.log
        if strategy == EARLIEST:
            return log.log_start_offset
        if strategy == LATEST or not is_beginning(strategy):  # an old version took it
            return held.replica.high_watermark
        ago_ms = duration_ms(strategy.removeprefix(BY_DURATION))
        since_ms = max(0, now.wall_ms - ago_ms)
        found = log.offset_for_timestamp(since_ms, Allowance(records=MOST_SEARCHED))
        if found is None:
            why = f"Offset for timestamp {since_ms} not found"
            raise KafkaError(Error.OFFSET_NOT_AVAILABLE, why)
        _, offset, _ = found
        return min(offset, held.replica.high_watermark)

    def _drop(self, held: Held) -> None:
        """It doesn't belong to this node any more; requests that wait for it look
        again. One that is over may be told so late that another has its key by then.
        """
        if held.is_over:
            return
        held.is_over = True
        del self.held[held.key]
        self._locks.set(held.key, None)
        self._moved(held.key)

    def partition_changed(self, change: PartitionChange) -> None:
        """Drop a partition's share partitions if another node leads it now."""
        if change.after.leader != self._node_id:
            self._drop_of(change.topic_id, change.number)

    def topic_changed(self, change: TopicChange) -> None:
        """Its share partitions go with it."""
        if change.after is None:
            self._drop_of(change.topic_id, None)

    def _drop_of(self, topic_id: bytes, number: int | None) -> None:
        for key, held in list(self.held.items()):
            if key.topic_id == topic_id and number in (None, key.partition):
                self._drop(held)

    def group_has_gone(self, group_id: str) -> None:
        """Nobody of it is connected here."""
        for held in list(self.held.values()):
            if held.group_id == group_id:
                self._drop(held)

    # -- records

    def acquire(self, held: Held, asked: Asked, read: Read, now: Now) -> list[Acquired]:
        """A member gets records that were read."""
        assert held.partition is not None, "its state is there"
        acquired = held.partition.acquire(asked, read, now.monotonic_ms)
        if acquired:
            if self._locks.at(held.key) is None:
                lock_ms = limits(held).lock_ms
                self._locks.set(held.key, now.monotonic_ms + lock_ms)
            self._tell_acquired(held, asked.member_id, acquired)
        return acquired

    def acknowledge(
        self,
        held: Held,
        member_id: str,
        said: Sequence[AcknowledgementBatch],
        now: Now,
    ) -> Wait:
        """A member's acknowledgement; it ends when that is written. Errors: those of
        SharePartition, and those of a failed write.
        """
        wait = Wait()
        try:
            if held.partition is None:
                raise KafkaError(Error.INVALID_RECORD_STATE)
            transition = held.partition.acknowledge(member_id, said, now.monotonic_ms)
        except KafkaError as error:
            wait.fail(error.with_traceback(None))
            return wait
        if transition.renewed:
            self._tell(
                "ShareLocksRenewed",
                held,
                member=member_id,
                batches=[[part.first, part.last] for part in transition.renewed],
                lock_ms=limits(held).lock_ms,
            )
        self._write(held, member_id, transition, wait)
        return wait

    def session_ended(self, session: ShareSession) -> None:
        """Its member's records come back."""
        group_id, member_id = session.key
        for topic_id, number in session.partitions:
            held = self.held.get(ShareKey(group_id, topic_id, number))
            if held is not None and held.partition is not None:
                transition = held.partition.release(member_id)
                self._write(held, member_id, transition, Wait())

    def log_starts_later(self, held: Held) -> None:
        """Its position is not in the log any more."""
        assert held.partition is not None, "its state is there"
        before = held.partition.window.start_offset
        held.partition.window.log_starts_at(held.replica.log.log_start_offset)
        self._tell_start(held, before)

    def _write(
        self, held: Held, member_id: str, transition: StateTransition, wait: Wait
    ) -> None:
        if not transition.batches:
            wait.finish({})
            return

        def written(result: Message | KafkaError, now: Now) -> None:
            partition = held.partition
            assert partition is not None, "its state was there"
            if isinstance(result, KafkaError):
                partition.rolled_back(transition, now.monotonic_ms)
                error = _as_a_fetch_says(result)
                if error.error in LOST:
                    self._drop(held)
                wait.fail(error)
            else:
                before = partition.window.start_offset
                partition.committed(transition)
                self._tell(
                    "ShareRecordsAcknowledged",
                    held,
                    member=member_id,
                    batches=[list(map(int, batch)) for batch in transition.batches],
                    said=[
                        None if said is None else said.word for said in transition.said
                    ],
                )
                self._tell_start(held, before)
                wait.finish({})
                self._bury(held, transition.given_up(), now)
            self._moved(held.key)

        self._persist(held, transition.batches, written)

    # -- dead letters

    def _bury(self, held: Held, given_up: Sequence[GivenUp], now: Now) -> None:
        """Have the dead letters of records written, and then archive them."""
        for part, is_rejected in given_up:
            what = dead_letters.GivenUp(
                group_id=held.group_id,
                topic=held.topic,
                partition=held.key.partition,
                first=part.first,
                last=part.last,
                delivery_count=part.delivery_count,
                why=REJECTED if is_rejected else TOO_OFTEN,
            )
            self._letters.write(
                what, held.replica, partial(self._buried, held, part), now
            )

    def _buried(self, held: Held, part: InFlight, now: Now) -> None:
        partition = held.partition
        assert partition is not None, "its state was there"
        if held.is_over:  # who has it now writes the letter again
            return
        batch = partition.archive(part)

        def written(result: Message | KafkaError, now: Now) -> None:
            before = partition.window.start_offset
            partition.locks_written()
            self._tell_start(held, before)
            self._moved(held.key)

        self._tell("ShareRecordsArchived", held, batches=[list(map(int, batch))])
        self._persist(held, [batch], written)

    # -- time

    def tick(self, now: Now) -> None:
        """End the locks whose time is up, and make their records available again."""
        for key in self._locks.overdue(now.monotonic_ms):
            held = self.held[key]
            assert held.partition is not None, "who has locks has a state"
            batches = held.partition.locks_end(now.monotonic_ms)
            self._locks.set(key, held.partition.next_lock_end())
            if batches:
                given_up = held.partition.given_up(batches)
                self._locks_ended(held, batches, given_up)

    def _locks_ended(
        self, held: Held, batches: Sequence[StateBatch], given_up: Sequence[GivenUp]
    ) -> None:
        self._tell(
            "ShareLocksEnded",
            held,
            batches=[list(map(int, batch)) for batch in batches],
        )

        def written(result: Message | KafkaError, now: Now) -> None:
            partition = held.partition
            assert partition is not None, "its state was there"
            before = partition.window.start_offset
            partition.locks_written()
            self._tell_start(held, before)
            lost = result if isinstance(result, KafkaError) else None
            if lost is not None and _as_a_fetch_says(lost).error in LOST:
                self._drop(held)
            self._moved(held.key)
            self._bury(held, given_up, now)

        self._persist(held, batches, written)
        self._moved(held.key)

    # -- inside

    def _moved(self, key: ShareKey) -> None:
        self._events.moved(("share", str(key)), ALL_BYTES)

    def _tell(self, kind: str, held: Held, **detail: Any) -> None:
        if self._trace:
            self._trace.emit(
                kind,
                group=held.group_id,
                topic=held.topic,
                partition=held.key.partition,
                **detail,
            )

    def _tell_acquired(
        self, held: Held, member_id: str, acquired: Sequence[Acquired]
    ) -> None:
        if self._trace:
            allowed = limits(held)
            self._tell(
                "ShareRecordsAcquired",
                held,
                member=member_id,
                batches=[list(batch) for batch in acquired],
                lock_ms=allowed.lock_ms,
                most_deliveries=allowed.most_deliveries,
            )

    def _tell_start(self, held: Held, before: int) -> None:
        assert held.partition is not None, "its state is there"
        start_offset = held.partition.window.start_offset
        assert start_offset >= before, "the start offset never goes back"
        if start_offset > before:
            for fields in held.writes:
                fields |= held.written(()) | {"state_batches": fields["state_batches"]}
            self._tell("ShareStartOffsetMoved", held, was=before, offset=start_offset)


def _as_a_fetch_says(error: KafkaError) -> KafkaError:
    code = AS_A_FETCH_SAYS.get(error.error, Error.UNKNOWN_SERVER_ERROR)
    return KafkaError(code, error.message)


def is_sane(start_offset: int, batches: Sequence[StateBatch]) -> bool:
    """Whether records can be in flight like this: in order, in existing states, and not
    too many.
    """
    next_offset = start_offset
    for batch in batches:
        is_range = next_offset <= batch.first_offset <= batch.last_offset
        is_known = batch.delivery_state in WRITTEN and batch.delivery_count >= 0
        if not is_range or not is_known:
            return False
        next_offset = batch.last_offset + 1
    return next_offset - start_offset <= MOST_IN_FLIGHT
