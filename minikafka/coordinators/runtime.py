"""The runtime of the coordinators: state that lives in an internal topic.

A group, with its members and committed offsets, must survive the broker that looks
after it. So its state is a log: every change is a record in a partition of
`__consumer_offsets`, and the leader of that partition is the coordinator. It knows only
what it has read there. A request takes five steps:

    decide   look at the state, change nothing: refuse (KafkaError), or return a Decision
    append   its records, as one batch, to the partition
    wait     until the high watermark has passed them: now they can't be lost
    apply    the records to the state, live as in a replay
    effect   what has no record, tell the trace, give the answer

A decision is data: the records, and an `Effect`, which says what else is to be done;
only `State.carry_out` does it. A request without records goes from `decide` straight to
its effect. Most requests do: heartbeats, and which member waits for which, are soft
state, and a new leader does without it. Such an effect may lead to records (the last
member left, so the group is empty now): then it returns another Decision, for the same
request.

Requests for one key (a group) queue until its records are committed, so `decide` sees
only committed state; other keys go on. Nobody waits forever: a request whose records
aren't committed in time is refused, and so are those behind it. Its records stay in the
log, though, and are applied if they are committed later.

A new leader replays `apply` over the whole log, in slices, and answers
COORDINATOR_LOAD_IN_PROGRESS meanwhile. Compaction keeps that log short. Records of a
transaction are pending until its marker is in this log too: the marker says whether
they are committed (KIP-98). Nothing here knows what a group is: `State` has the methods
that the runtime calls, and `RecordCodec` encodes and decodes the records. (Apache
Kafka: CoordinatorRuntime.)
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from minikafka.clock import Now
from minikafka.cluster.replica import Replica
from minikafka.cluster.timers import NEVER_MS, Deadlines, Timers
from minikafka.cluster.waiting import Answer, Wait
from minikafka.storage.producer_state import Appended, Marker
from minikafka.trace import Cause, Trace
from minikafka.wire.errors import CorruptRecord, Error, KafkaError
from minikafka.wire.internal_records import COMMIT, UnknownRecord, control_type
from minikafka.wire.primitives import Buffer, DecodeError, EncodeError
from minikafka.wire.records import (
    BatchHeader,
    RawRecord,
    batches,
    encode_batch,
    raw_records,
    read_header,
)
from minikafka.wire.schema import Message

LOAD_SLICE_BYTES = 1 << 18
RECORD_COST_BYTES = 256  # replaying a record takes as long as reading this many bytes
# a failed tick is tried again after this time, as in Apache Kafka
TICK_RETRY_MS = 500

# How a failed write is named in answers (Apache Kafka:
# GroupCoordinatorService.handleOperationException).
AS_A_COORDINATOR_SAYS = {
    Error.REQUEST_TIMED_OUT: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_ENOUGH_REPLICAS: Error.COORDINATOR_NOT_AVAILABLE,
    Error.UNKNOWN_TOPIC_OR_PARTITION: Error.COORDINATOR_NOT_AVAILABLE,
    Error.NOT_LEADER_OR_FOLLOWER: Error.NOT_COORDINATOR,
    Error.KAFKA_STORAGE_ERROR: Error.NOT_COORDINATOR,
    Error.MESSAGE_TOO_LARGE: Error.UNKNOWN_SERVER_ERROR,
    Error.RECORD_LIST_TOO_LARGE: Error.UNKNOWN_SERVER_ERROR,
    Error.INVALID_FETCH_SIZE: Error.UNKNOWN_SERVER_ERROR,
}


class CoordinatorRecord(NamedTuple):
    """A record before it is encoded: the schema's name, key and value. value: None for
    a tombstone.
    """

    name: str
    key: dict[str, Any]
    value: dict[str, Any] | None


class Effect:
    """What a decision leads to besides its records: soft state, trace events, answers.
    Each kind is a frozen dataclass; State.carry_out says what it means.
    """

    __slots__ = ()


class Decision(NamedTuple):
    """The outcome of a request. answer: given at the end; None if the keeper of the
    Wait ends it later (a JoinGroup waits for the other members). effect: carried out
    after the records have been applied. failed: passed to give_up instead, if the
    records can't be written or aren't committed in time; None if nothing has to be
    given up then. producer: id and epoch, if the records are part of a transaction.
    """

    records: Sequence[CoordinatorRecord] = ()
    answer: Answer | None = None
    effect: Effect | None = None
    failed: Effect | None = None
    producer: tuple[int, int] | None = None


Decide = Callable[[Now], Decision]
Notice = Callable[[str, Exception], None]


class Configs(Protocol):
    """Broker configs by Kafka's names, typed."""

    def __getitem__(self, name: str, /) -> Any: ...


Encoded = tuple[bytes, bytes | None]  # key and value
Decoded = tuple[str, Message, Message | None]  # the schema's name, key and value


class RecordCodec(NamedTuple):
    """The codec for the records of one internal topic. decode raises UnknownRecord for
    a record of a newer Kafka.
    """

    encode: Callable[[str, dict[str, Any], dict[str, Any] | None], Encoded]
    decode: Callable[[Buffer, Buffer | None], Decoded]


class State(Protocol):
    """The content of one partition of the internal topic."""

    def apply(
        self, name: str, key: Message, value: Message | None, offset: int
    ) -> None:
        """Apply one committed record, live or in a replay. offset: the record's."""

    def apply_pending(
        self, producer_id: int, name: str, key: Message, value: Message | None
    ) -> None:
        """Keep a record that will be committed only if the producer's
        transaction is.
        """
        raise AssertionError(f"{name} is never part of a transaction")

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """Commit the producer's pending records, or drop them."""
        return None

    def carry_out(self, key: str, effect: Effect, now: Now) -> Decision | None:
        """Carry out the effect of a decision for this key. Returns another decision if
        there is more to write.
        """

    def give_up(self, key: str, failed: Effect, error: KafkaError, now: Now) -> None:
        """The records of a decision for this key can't be written, or aren't committed
        in time.
        """
        raise AssertionError(f"nobody waits for {failed}")

    def loaded(self, now: Now) -> Iterable[str]:
        """The replay is over: start the sessions. Returns the keys that exist."""

    def tick(self, key: str, now: Now) -> Decision:
        """The deadline of a key has come: decide what follows from that."""

    def next_deadline(self, key: str) -> int | None:
        """When tick is due for this key, in monotonic ms."""


@dataclass(slots=True, eq=False)
class Write:
    """A request on its way through the log: perhaps queued behind another one for its
    key, then appended. cause: what the node was processing when the request came; the
    trace names it as the cause of everything that follows.
    """

    key: str
    decide: Decide
    wait: Wait
    deadline_ms: int
    cause: Cause | None
    decision: Decision | None = None
    decoded: list[Decoded] = field(default_factory=list)
    next_offset: int = -1


class Ended(NamedTuple):
    """A marker on its way through the log."""

    next_offset: int
    producer_id: int
    committed: bool


# by partition: writes, and keys that need a tick
Timed = Deadlines[tuple[int, Write | str]]


@dataclass(eq=False, repr=False)
class Shard:
    """One partition of the internal topic that this node leads."""

    partition: int
    replica: Replica
    state: State
    _codec: RecordCodec
    _deadlines: Timed
    _notice: Notice
    _trace: Trace
    failed: bool = False
    open: dict[Wait, None] = field(default_factory=dict)
    # appended and not committed yet
    _pending: deque[Write | Ended] = field(default_factory=deque)
    # requests that wait for those, by key
    _queued: dict[str, list[Write]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.loading: Generator[int, None, None] | None = self._load()
        self._inherited_end = self.replica.log.log_end_offset

    # -- loading

    @property
    def is_loaded(self) -> bool:
        return self.loading is None and not self.failed

    @property
    def can_load(self) -> bool:
        """Whether everything that earlier leaders wrote is committed here. They may
        have answered for records that this leader's high watermark, which it learned
        from its fetches, hadn't reached when it took over.
        """
        return self.replica.high_watermark >= self._inherited_end

    def _load(self) -> Generator[int, None, None]:
        """Replay the log. Yields the work done, measured in bytes of plain reading."""
        log = self.replica.log
        position = log.log_start_offset
        while chunks := log.read(
            position, LOAD_SLICE_BYTES, self.replica.high_watermark
        ):
            if position in log.unchecked:
                damage = log.look_at(position, LOAD_SLICE_BYTES).damage
                if damage is not None:
                    why = f"it is damaged at offset {damage.offset}: {damage.why}"
                    raise CorruptRecord(why)
            for header, batch in batches(chunks[0]):
                position = header.next_offset
                spent = header.size_bytes
                for record in raw_records(batch):
                    self._replay(header, record)
                    spent += len(record.rest) + RECORD_COST_BYTES
                    if spent >= LOAD_SLICE_BYTES:
                        yield spent
                        spent = 0
                yield spent

    def _replay(self, header: BatchHeader, record: RawRecord) -> None:
        if header.control:
            committed = control_type(record) == COMMIT
            self.state.end_transaction(header.producer_id, committed)
            return
        if record.key is None:
            return
        producer_id = header.producer_id if header.transactional else None
        # from a newer Kafka, or for a feature that isn't implemented here
        with suppress(UnknownRecord):
            decoded = self._codec.decode(record.key, record.value)
            self._apply(decoded, record.offset, producer_id)

    def _apply(self, record: Decoded, offset: int, producer_id: int | None) -> None:
        if producer_id is None:
            self.state.apply(*record, offset)
        else:
            self.state.apply_pending(producer_id, *record)

    # -- requests

    def run(self, write: Write, now: Now) -> None:
        """Decide, unless records of the same key are not committed yet."""
        if self.is_busy(write.key):
            self._queued[write.key].append(write)
            self._must_end(write)
        else:
            with self._answering(write, now):
                self._carry_out(write, write.decide(now), now)
            self.arm(write.key)

    def is_busy(self, key: str) -> bool:
        return key in self._queued

    def arm(self, key: str) -> None:
        """The key's deadline may have changed: set it again. While the key's records
        are not committed it waits, as requests do.
        """
        if not self.is_busy(key):
            self._deadlines.set((self.partition, key), self.state.next_deadline(key))

    def give_up(self, write: Write, error: KafkaError, now: Now) -> None:
        """Give up a request that was refused, or whose records aren't committed in
        time: those that wait for it are told. Its records stay in the log, and may be
        applied later.
        """
        code = AS_A_COORDINATOR_SAYS.get(error.error, error.error)
        error = KafkaError(code, error.message)
        decision = write.decision
        if decision is not None and decision.failed is not None:
            write.decision = Decision()
            self.state.give_up(write.key, decision.failed, error, now)
        write.wait.fail(error)

    def commit(self, now: Now) -> None:
        """Carry on with writes that the high watermark has passed, and let in the
        requests that waited for them.
        """
        while self._pending:
            if self._pending[0].next_offset > self.replica.high_watermark:
                return
            appended = self._pending.popleft()
            if isinstance(appended, Ended):
                self.state.end_transaction(appended.producer_id, appended.committed)
            else:
                self._is_committed(appended, now)

    def _is_committed(self, write: Write, now: Now) -> None:
        self._has_ended(write)
        queue = self._queued.pop(write.key)
        decision = write.decision
        write.decision = None
        assert decision is not None
        producer_id = None
        if decision.producer is not None:
            producer_id, _ = decision.producer
        first_offset = write.next_offset - len(write.decoded)
        for offset, record in enumerate(write.decoded, first_offset):
            self._apply(record, offset, producer_id)
        with self._answering(write, now):
            self._carry_out(write, decision._replace(records=()), now)
        for each in queue:  # behind the first one that appends, the others queue again
            self._has_ended(each)
            if not each.wait.is_done:
                self.run(each, now)
        self.arm(write.key)

    def close(self, error: KafkaError) -> None:
        """This node no longer leads the partition: every open request ends with the
        error.
        """
        for write in self._pending:
            if isinstance(write, Write):
                self._has_ended(write)
        for queue in self._queued.values():
            for write in queue:
                self._has_ended(write)
        for wait in list(self.open):
            wait.fail(error)

    def _must_end(self, write: Write) -> None:
        """Set the deadline at which a write is given up."""
        self._deadlines.set((self.partition, write), write.deadline_ms)

    def _has_ended(self, write: Write) -> None:
        self._deadlines.set((self.partition, write), None)

    def _carry_out(self, write: Write, decision: Decision, now: Now) -> None:
        """Carry out one effect after another, until there are records to append or
        nothing is left to do.
        """
        while not decision.records:
            next_decision = None
            if decision.effect is not None:
                next_decision = self._effect(write, decision.effect, now)
            if next_decision is None:
                if decision.answer is not None:
                    write.wait.finish(decision.answer)
                return
            answer = next_decision.answer or decision.answer
            decision = next_decision._replace(answer=answer)
        write.decision = decision
        encoded = [self._codec.encode(*record) for record in decision.records]
        # A record that couldn't be read again would break the shard when it is loaded,
        # so it is refused here.
        write.decoded = [self._codec.decode(*each) for each in encoded]
        self._append(write, encoded, decision.producer, now)

    def _effect(self, write: Write, effect: Effect, now: Now) -> Decision | None:
        """Carry out an effect. If that emits trace events, their cause is the
        request.
        """
        trace = self._trace
        trace.cause, outer = write.cause, trace.cause
        try:
            return self.state.carry_out(write.key, effect, now)
        finally:
            trace.cause = outer

    def end_transaction(self, marker: Marker, now: Now) -> Appended:
        """Append a marker; once it is committed the pending records are committed, or
        dropped. Errors: those of append_marker.
        """
        appended = self.replica.append_marker(marker, now)
        ended = Ended(
            next_offset=appended.last_offset + 1,
            producer_id=marker.producer_id,
            committed=marker.committed,
        )
        self._pending.append(ended)
        return appended

    def _append(
        self,
        write: Write,
        encoded: Sequence[Encoded],
        producer: tuple[int, int] | None,
        now: Now,
    ) -> None:
        transactional: dict[str, Any] = {}
        if producer is not None:
            producer_id, producer_epoch = producer
            self.replica.log.producers.check_epoch(producer_id, producer_epoch)
            transactional = {
                "producer_id": producer_id,
                "producer_epoch": producer_epoch,
                "base_sequence": 0,
                "transactional": True,
            }
        no_headers: list[Any] = []
        records = [(now.wall_ms, key, value, no_headers) for key, value in encoded]
        batch = bytearray(encode_batch(records, **transactional))
        limit = self.replica.log.config.max_message_bytes
        if len(batch) > limit:
            why = (
                f"the state of {write.key!r} takes {len(batch)} bytes, more than"
                f" {limit} (max.message.bytes)"
            )
            raise KafkaError(Error.MESSAGE_TOO_LARGE, why)
        if not self.replica.enough_in_sync:
            raise KafkaError(Error.NOT_ENOUGH_REPLICAS)
        appended = self.replica.append(batch, [read_header(batch)], now)
        write.next_offset = appended.last_offset + 1
        self._pending.append(write)
        self._queued[write.key] = []
        self._must_end(write)

    @contextmanager
    def _answering(self, write: Write, now: Now) -> Iterator[None]:
        """An error in a request ends this request, and not the shard."""
        try:
            yield
        except KafkaError as error:
            self.give_up(write, error, now)
            if error.error is Error.KAFKA_STORAGE_ERROR:
                raise
        # something that a client named doesn't fit into a record
        except (EncodeError, DecodeError) as error:
            refusal = KafkaError(Error.UNKNOWN_SERVER_ERROR, str(error))
            self.give_up(write, refusal, now)
        except AssertionError:
            raise
        except Exception as error:
            self.give_up(write, KafkaError(Error.UNKNOWN_SERVER_ERROR), now)
            line = f"a request of {write.key!r} met a bug of minikafka's: {error!r}"
            self._notice(line, error)


@dataclass(eq=False, repr=False)
class Runtime:
    """The shards of one internal topic on one node, by partition.

    new_state: makes the empty state of a partition. write_timeout_ms: how long a
    request waits for its records to be committed. notice(line, error): called for a
    failure that ends a shard, but not the node. trace: is told the causes of changes.
    """

    _new_state: Callable[[int], State]
    _codec: RecordCodec
    _write_timeout_ms: int
    _notice: Notice
    _trace: Trace
    _timers: Timers
    shards: dict[int, Shard] = field(default_factory=dict)
    _loading: dict[int, Shard] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._deadlines: Timed = Deadlines(self._timers.new())
        self._next_load = self._timers.new()

    def elected(self, partition: int, replica: Replica) -> None:
        """This node leads a partition now: load its state (tick continues that)."""
        if partition not in self.shards:
            shard = Shard(
                partition=partition,
                replica=replica,
                state=self._new_state(partition),
                _codec=self._codec,
                _deadlines=self._deadlines,
                _notice=self._notice,
                _trace=self._trace,
            )
            self.shards[partition] = shard
            self._loading[partition] = shard
            self._set_next_load()

    def resigned(self, partition: int) -> None:
        """This node no longer leads a partition: drop its state; clients must look for
        the new coordinator.
        """
        shard = self.shards.pop(partition, None)
        self._loading.pop(partition, None)
        self._set_next_load()
        if shard is not None:
            shard.close(KafkaError(Error.NOT_COORDINATOR))

    def shard(self, partition: int) -> Shard:
        """The loaded shard. Errors: NOT_COORDINATOR, also if loading failed;
        COORDINATOR_LOAD_IN_PROGRESS.
        """
        shard = self.shards.get(partition)
        if shard is None or shard.failed:
            raise KafkaError(Error.NOT_COORDINATOR)
        if shard.loading is not None:
            raise KafkaError(Error.COORDINATOR_LOAD_IN_PROGRESS)
        return shard

    def submit(
        self, partition: int, key: str, decide: Decide, wait: Wait, now: Now
    ) -> None:
        """Decide a request for a key. Its wait may end at once, when its records are
        committed, or later.
        """
        shard = self.shard(partition)
        shard.open[wait] = None
        wait.then(lambda ended: shard.open.pop(ended, None))
        self._run(shard, key, decide, wait, now)

    def high_watermark_advanced(self, partition: int, now: Now) -> None:
        """Records in the partition may be committed now."""
        shard = self.shards.get(partition)
        if shard is not None and not shard.failed:
            with self._failing(shard):
                shard.commit(now)
        if partition in self._loading:
            self._set_next_load()

    def tick(self, now: Now, budget_bytes: int) -> None:
        """Process deadlines, and load another slice."""
        # keys that are due again at once wait for the next tick
        for due in self._deadlines.overdue(now.monotonic_ms):
            self._deadlines.set(due, None)
            partition, what = due
            if isinstance(what, Write):
                timed_out = KafkaError(Error.REQUEST_TIMED_OUT)
                self.shards[partition].give_up(what, timed_out, now)
            else:
                self._tick_key(partition, what, now)
        if self._next_load.at_ms <= now.monotonic_ms:
            self._load(now, budget_bytes)
            self._set_next_load()

    def _load(self, now: Now, budget_bytes: int) -> None:
        """Load a slice, so that no request waits behind it for long."""
        for partition, shard in list(self._loading.items()):
            if not shard.can_load:
                continue
            assert shard.loading is not None
            with self._failing(shard):
                for spent in shard.loading:
                    budget_bytes -= spent
                    if budget_bytes <= 0:
                        return
                shard.loading = None
                del self._loading[partition]
                for key in shard.state.loaded(now):
                    shard.arm(key)

    def _set_next_load(self) -> None:
        """At once, while there is something that can be loaded."""
        can_load = any(shard.can_load for shard in self._loading.values())
        self._next_load.set(0 if can_load else NEVER_MS)

    def close(self) -> None:
        """The node stops: give up all partitions."""
        for partition in list(self.shards):
            self.resigned(partition)

    def _tick_key(self, partition: int, key: str, now: Now) -> None:
        shard = self.shards.get(partition)
        if shard is None or not shard.is_loaded or shard.is_busy(key):
            return
        wait = Wait()
        self._run(shard, key, lambda now: shard.state.tick(key, now), wait, now)
        if wait.error is not None:
            self._deadlines.set((partition, key), now.monotonic_ms + TICK_RETRY_MS)

    def _run(
        self, shard: Shard, key: str, decide: Decide, wait: Wait, now: Now
    ) -> None:
        write = Write(
            key=key,
            decide=decide,
            wait=wait,
            deadline_ms=now.monotonic_ms + self._write_timeout_ms,
            cause=self._trace.cause,
        )
        with self._failing(shard):
            shard.run(write, now)

    @contextmanager
    def _failing(self, shard: Shard) -> Iterator[None]:
        """An error that nobody foresaw, such as a record that can't be read, ends this
        shard: its groups have no coordinator here until the partition moves or the node
        restarts (Apache Kafka: CoordinatorState.FAILED).
        """
        try:
            yield
        except AssertionError:
            raise
        except Exception as error:
            if getattr(error, "error", None) is Error.KAFKA_STORAGE_ERROR:
                raise
            shard.failed = True
            shard.loading = None
            self._loading.pop(shard.partition, None)
            shard.close(KafkaError(Error.NOT_COORDINATOR))
            line = (
                f"{shard.replica.log.directory} failed, its groups have no coordinator"
                f" here: {error}"
            )
            self._notice(line, error)


def partition_for(key: str, partitions: int) -> int:
    """The partition of the internal topic that holds a key's state: Java's
    String.hashCode, made positive, modulo the number of partitions.
    """
    value = 0
    units = key.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    if value == 1 << 31:  # Java's smallest int has no positive counterpart
        return 0
    if value > 1 << 31:
        value = (1 << 32) - value
    return value % partitions
