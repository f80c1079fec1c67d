"""The runtime of the coordinators: state that lives in an internal topic.

A group, with its members and committed offsets, must survive the broker that looks after it. So its state is a log:
every change is a record in a partition of `__consumer_offsets`, and whoever leads that partition is the coordinator.
What it knows is what it has read there. A request takes four steps:

    decide   look at the state, change nothing: the records that the request means, and the answer to give
    append   the records, as one batch, to the partition
    wait     until the high watermark passes them: now they can't be lost
    apply    the records to the state, then give the answer

A new leader replays `apply` over the whole log, in slices, and answers COORDINATOR_LOAD_IN_PROGRESS meanwhile.
Compaction keeps that log short. Requests for one key (a group) wait while its records are not committed yet, so
`decide` sees committed state only; other keys go on. Not everything is worth a record: heartbeats and who waits for
whom are soft state, and a new leader does without.

Nothing here knows what a group is: `State` says what the runtime asks of it. (Apache Kafka: CoordinatorRuntime.)
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from minikafka.clock import Now
from minikafka.cluster.replica import Replica
from minikafka.cluster.waiting import Answer, Wait
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.internal_records import UnknownRecord, decode_coordinator_record, encode_coordinator_record
from minikafka.wire.primitives import EncodeError
from minikafka.wire.records import batches, encode_batch, raw_records, read_header
from minikafka.wire.schema import Message

LOAD_SLICE_BYTES = 1 << 18
RECORD_COST_BYTES = 256  # replaying a record takes as long as reading so many bytes
TICK_RETRY_MS = 500  # what time asks for is tried again so much later, as in Apache Kafka


class Record(NamedTuple):
    """A record before it is encoded: the schema's name, key and value. value None: a tombstone."""

    name: str
    key: dict[str, Any]
    value: dict[str, Any] | None


# What decide gives: records, and the answer once they are committed. Without an answer the wait is kept by
# whoever decided, and finished later (a JoinGroup waits for the other members).
Decision = tuple[Sequence[Record], Answer | None]
Decide = Callable[[Wait, Now], Decision]
Notice = Callable[[str, Exception], None]


class State(Protocol):
    """What one partition of the internal topic holds."""

    def apply(self, name: str, key: Message, value: Message | None) -> None:
        """Take in one committed record, live or in a replay."""

    def loaded(self, now: Now) -> Iterable[str]:
        """The replay is over: sessions begin. Returns the keys that are there."""

    def tick(self, key: str, now: Now) -> Sequence[Record]:
        """The deadline of a key has come: what that means for it."""

    def next_deadline(self, key: str) -> int | None:
        """When this key needs a tick, monotonic ms: maybe too early, never too late."""


class Pending(NamedTuple):
    """Appended, not committed yet."""

    next_offset: int
    key: str
    records: list[tuple[bytes, bytes | None]]
    wait: Wait
    answer: Answer | None


class Timers:
    """Deadlines of many keys, of which the earliest is wanted. A key has at most one; a later one changes nothing."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, Any]] = []
        self._armed: dict[Any, int] = {}

    def arm(self, key: Any, deadline_ms: int | None) -> None:
        if deadline_ms is not None and deadline_ms < self._armed.get(key, deadline_ms + 1):
            self._armed[key] = deadline_ms
            heapq.heappush(self._heap, (deadline_ms, key))

    def due(self, now_ms: int) -> list[Any]:
        """Keys whose deadline has come; each is disarmed. One that is armed for now meanwhile is due the next time."""
        due = []
        while self._heap and self._heap[0][0] <= now_ms:
            deadline_ms, key = heapq.heappop(self._heap)
            if self._armed.get(key) == deadline_ms:
                del self._armed[key]
                due.append(key)
        return due

    def next_deadline(self) -> int | None:
        return self._heap[0][0] if self._heap else None


class Shard:
    """One partition of the internal topic that this node leads. arm(key): the key's deadline may have changed."""

    def __init__(self, replica: Replica, state: State, arm: Callable[[str], None], notice: Notice) -> None:
        self.replica = replica
        self.state = state
        self.loading: Generator[int, None, None] | None = self._load()
        self._inherited_end = replica.log.log_end_offset
        self._arm = arm
        self._notice = notice
        self._pending: deque[Pending] = deque()
        self._queued: dict[str, list[tuple[Decide, Wait]]] = {}  # keys whose records are not committed yet
        self.open: dict[Wait, None] = {}
        self.failed = False

    @property
    def can_load(self) -> bool:
        """Whether all that earlier leaders wrote is committed. They may have answered for it when a new leader's high
        watermark, which comes with its fetches, had not got so far.
        """
        return self.replica.high_watermark >= self._inherited_end

    def _load(self) -> Generator[int, None, None]:
        """Replays the log; yields the work done, in bytes as reading alone would count them."""
        log = self.replica.log
        position = log.log_start_offset
        while chunks := log.read(position, LOAD_SLICE_BYTES, self.replica.high_watermark):
            for header, batch in batches(chunks[0]):
                position = header.next_offset
                spent = header.size_bytes
                for record in () if header.control else raw_records(batch):
                    self._replay(record.key, record.value)
                    spent += len(record.rest) + RECORD_COST_BYTES
                    if spent >= LOAD_SLICE_BYTES:
                        yield spent
                        spent = 0
                yield spent

    def _replay(self, key: bytes | None, value: bytes | None) -> None:
        if key is not None:
            try:
                self.state.apply(*decode_coordinator_record(key, value))
            except UnknownRecord:
                return  # of a newer Kafka, or of a feature that is not here

    def run(self, key: str, decide: Decide, wait: Wait, now: Now) -> None:
        """Decide and append; a request for a key whose last records are not committed yet queues."""
        if wait not in self.open:
            self.open[wait] = None
            wait.then(lambda ended: self.open.pop(ended, None))
        if key in self._queued:
            self._queued[key].append((decide, wait))
            return
        try:
            if not self.replica.enough_in_sync:
                raise KafkaError(Error.COORDINATOR_NOT_AVAILABLE)
            records, answer = decide(wait, now)
            if records:
                self._append(key, records, wait, answer, now)
            elif answer is not None:
                wait.finish(answer)
        except KafkaError as error:
            if error.error is Error.KAFKA_STORAGE_ERROR:
                raise
            wait.fail(error)
        except EncodeError as error:  # what a client named doesn't fit into a record
            wait.fail(KafkaError(Error.UNKNOWN_SERVER_ERROR, str(error)))
        except AssertionError:
            raise
        except Exception as error:  # of a decision: it ends, the group stays as it was
            wait.fail(KafkaError(Error.UNKNOWN_SERVER_ERROR))
            self._notice(f"a request of {key!r} met a bug of minikafka's: {error!r}", error)
            return
        self._arm(key)

    def _append(
        self, key: str, records: Sequence[Record], wait: Wait, answer: Answer | None, now: Now
    ) -> None:
        encoded = [encode_coordinator_record(*record) for record in records]
        batch = bytearray(encode_batch([(now.wall_ms, name, value, []) for name, value in encoded]))
        limit = self.replica.log.config.max_message_bytes
        if len(batch) > limit:
            raise KafkaError(
                Error.UNKNOWN_SERVER_ERROR,
                f"the state of {key!r} takes {len(batch)} bytes, more than {limit} (max.message.bytes)",
            )
        appended = self.replica.append(batch, [read_header(batch)], now)
        self._pending.append(Pending(appended.last_offset + 1, key, encoded, wait, answer))
        self._queued[key] = []

    def commit(self, now: Now) -> None:
        """Apply and answer what the high watermark has passed; let in the requests that waited for it."""
        while self._pending and self._pending[0].next_offset <= self.replica.high_watermark:
            done = self._pending.popleft()
            for key, value in done.records:
                self.state.apply(*decode_coordinator_record(key, value))
            if done.answer is not None:
                done.wait.finish(done.answer)
            queue = self._queued.pop(done.key)
            self._arm(done.key)
            for decide, wait in queue:  # behind the first that appends, the others queue again
                self.run(done.key, decide, wait, now)

    def close(self, error: KafkaError) -> None:
        """This node leads the partition no more: every open request ends with the error."""
        for wait in list(self.open):
            wait.fail(error)


class Runtime:
    """The shards of one internal topic on one node, by partition.

    new_state: makes the empty state of a partition. notice(line, error): something failed that ends a shard, not the
    node.
    """

    def __init__(self, new_state: Callable[[int], State], notice: Notice) -> None:
        self.shards: dict[int, Shard] = {}
        self._loading: dict[int, Shard] = {}
        self._timers = Timers()
        self._new_state = new_state
        self._notice = notice

    def elected(self, partition: int, replica: Replica) -> None:
        """This node leads a partition now: load its state (goes on in tick)."""
        if partition not in self.shards:
            state = self._new_state(partition)
            shard = Shard(
                replica, state, lambda key: self._timers.arm((partition, key), state.next_deadline(key)), self._notice
            )
            self.shards[partition] = self._loading[partition] = shard

    def resigned(self, partition: int) -> None:
        """This node leads a partition no longer: its state is dropped, its clients must ask for the coordinator."""
        shard = self.shards.pop(partition, None)
        self._loading.pop(partition, None)
        if shard is not None:
            shard.close(KafkaError(Error.NOT_COORDINATOR))

    def shard(self, partition: int) -> Shard:
        """The loaded shard. Errors: NOT_COORDINATOR, also where loading failed; COORDINATOR_LOAD_IN_PROGRESS."""
        shard = self.shards.get(partition)
        if shard is None or shard.failed:
            raise KafkaError(Error.NOT_COORDINATOR)
        if shard.loading is not None:
            raise KafkaError(Error.COORDINATOR_LOAD_IN_PROGRESS)
        return shard

    def submit(self, partition: int, key: str, decide: Decide, wait: Wait, now: Now) -> None:
        """A request for a key. Its wait may end at once, or when its records are committed, or later."""
        self._run(partition, self.shard(partition), key, decide, wait, now)

    def high_watermark_advanced(self, partition: int, now: Now) -> None:
        """Something may be committed now."""
        shard = self.shards.get(partition)
        if shard is not None and not shard.failed:
            with self._failing(partition, shard):
                shard.commit(now)

    def tick(self, now: Now, budget_bytes: int) -> None:
        """Timers, and a slice of loading."""
        for partition, key in self._timers.due(now.monotonic_ms):
            shard = self.shards.get(partition)
            if shard is not None and shard.loading is None and not shard.failed:
                self._tick_key(partition, shard, key, now)
        for partition, shard in [each for each in self._loading.items() if each[1].can_load]:
            assert shard.loading is not None
            with self._failing(partition, shard):
                for spent in shard.loading:
                    budget_bytes -= spent
                    if budget_bytes <= 0:
                        return
                shard.loading = None
                del self._loading[partition]
                for key in shard.state.loaded(now):
                    self._timers.arm((partition, key), shard.state.next_deadline(key))

    def next_deadline(self) -> int | None:
        """Monotonic ms; 0 (at once) while something is being loaded."""
        return 0 if any(shard.can_load for shard in self._loading.values()) else self._timers.next_deadline()

    def close(self) -> None:
        """The node stops."""
        for partition in list(self.shards):
            self.resigned(partition)

    def _tick_key(self, partition: int, shard: Shard, key: str, now: Now) -> None:
        if not shard.replica.enough_in_sync:  # the key stays due
            self._timers.arm((partition, key), now.monotonic_ms + TICK_RETRY_MS)
            return

        def decide(_: Wait, now: Now) -> Decision:
            try:
                return shard.state.tick(key, now), {}
            except Exception:
                self._timers.arm((partition, key), now.monotonic_ms + TICK_RETRY_MS)
                raise

        self._run(partition, shard, key, decide, Wait(), now)

    def _run(self, partition: int, shard: Shard, key: str, decide: Decide, wait: Wait, now: Now) -> None:
        with self._failing(partition, shard):
            shard.run(key, decide, wait, now)

    @contextmanager
    def _failing(self, partition: int, shard: Shard) -> Iterator[None]:
        """An error that nobody foresaw, such as a record that can't be read, ends this shard: its groups have no
        coordinator here until the partition moves or the node restarts (Apache Kafka: CoordinatorState.FAILED).
        """
        try:
            yield
        except Exception as error:
            if isinstance(error, AssertionError) or getattr(error, "error", None) is Error.KAFKA_STORAGE_ERROR:
                raise
            shard.failed, shard.loading = True, None
            self._loading.pop(partition, None)
            shard.close(KafkaError(Error.NOT_COORDINATOR))
            self._notice(f"{shard.replica.log.directory} failed, its groups have no coordinator here: {error}", error)
