"""The state that a share coordinator keeps (KIP-932): the states of share partitions,
in a partition of `__share_group_state`.

The broker that leads a partition keeps its share partitions in memory
(cluster/share_partition.py). The outcome of their records must survive that broker. So
it is written here, by the leader of the partition of this topic to which the share
partition's key hashes, and read back by the next leader.

    ShareSnapshot   all of it: the start offset, and the state of the records after it
    ShareUpdate     what changed since; after 500 of them comes a snapshot again

Two epochs fence. The leader epoch is that of the partition's leader: a leader that was
replaced can't write any more. The state epoch grows when the state is reset, because
somebody altered the group's offsets: earlier deliveries no longer count.

`ShareStates` decides how to answer a request and applies committed records, as the
other coordinators do (runtime.py). If two writes concern the same records, the later
outcome counts: the one with more deliveries, or among equals the state that is further
along.
"""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from minikafka.clock import Now
from minikafka.cluster.metadata import Image
from minikafka.cluster.share_batches import StateBatch
from minikafka.cluster.timers import Deadlines
from minikafka.cluster.waiting import Answer
from minikafka.coordinators.runtime import (
    Configs,
    CoordinatorRecord,
    Decision,
    Effect,
)
from minikafka.storage.checkpoints import uuid_bytes, uuid_text
from minikafka.wire.errors import Error, KafkaError
from minikafka.wire.schema import Message

INT_MAX = 2**31 - 1
UNKNOWN = -1  # an epoch, an offset or a count that wasn't given


class ShareKey(NamedTuple):
    """A share partition: the partition of a topic, as a group sees it."""

    group_id: str
    topic_id: bytes
    partition: int

    def __str__(self) -> str:
        """The key as FindCoordinator names it, which is also what is hashed."""
        return f"{self.group_id}:{uuid_text(self.topic_id)}:{self.partition}"

    @staticmethod
    def parse(text: str) -> "ShareKey":
        """The key that such a text names. Errors: INVALID_REQUEST."""
        group_id, _, rest = text.rpartition(":")
        group_id, _, topic_id = group_id.rpartition(":")
        try:
            key = ShareKey(group_id, uuid_bytes(topic_id), int(rest))
        except ValueError:
            raise KafkaError(Error.INVALID_REQUEST) from None
        is_int = -INT_MAX - 1 <= key.partition <= INT_MAX
        if not group_id.strip() or not is_int or "_" in rest:
            raise KafkaError(Error.INVALID_REQUEST)
        return key


@dataclass(frozen=True, slots=True)
class ShareState:
    """The state of one share partition. start_offset: UNKNOWN until somebody reads;
    then the group's configs say where it begins. newest_leader_epoch: of any leader
    that has read it; leader_epoch is 0 after a reset. updates: how many since the last
    snapshot, which is at snapshot_offset.
    """

    snapshot_epoch: int = 0
    state_epoch: int = 0
    leader_epoch: int = 0
    newest_leader_epoch: int = 0
    start_offset: int = UNKNOWN
    delivery_complete_count: int = UNKNOWN
    create_timestamp: int = 0
    write_timestamp: int = 0
    batches: tuple[StateBatch, ...] = ()
    updates: int = 0
    snapshot_offset: int = UNKNOWN

    def snapshot(self, key: ShareKey) -> CoordinatorRecord:
        """The record of the whole state."""
        value = {
            "snapshot_epoch": self.snapshot_epoch,
            "state_epoch": self.state_epoch,
            "create_timestamp": self.create_timestamp,
            "write_timestamp": self.write_timestamp,
            **self._shared(),
        }
        return CoordinatorRecord("ShareSnapshot", key._asdict(), value)

    def update(self, key: ShareKey) -> CoordinatorRecord:
        """The record of its content as a change."""
        value = {"snapshot_epoch": self.snapshot_epoch, **self._shared()}
        return CoordinatorRecord("ShareUpdate", key._asdict(), value)

    def _shared(self) -> dict[str, Any]:
        return {
            "leader_epoch": self.leader_epoch,
            "start_offset": self.start_offset,
            "delivery_complete_count": self.delivery_complete_count,
            "state_batches": [batch._asdict() for batch in self.batches],
        }

    def updated(self, value: Message) -> "ShareState":
        """The state after a ShareUpdate. Fields that the update omits stay as
        they are.
        """
        start_offset = value.start_offset
        if start_offset == UNKNOWN:
            start_offset = self.start_offset
        leader_epoch = value.leader_epoch
        if leader_epoch == UNKNOWN:
            leader_epoch = self.leader_epoch
        batches = combined(self.batches, state_batches(value), start_offset)
        return replace(
            self,
            leader_epoch=leader_epoch,
            newest_leader_epoch=max(leader_epoch, self.newest_leader_epoch),
            start_offset=start_offset,
            delivery_complete_count=value.delivery_complete_count,
            batches=batches,
            updates=self.updates + 1,
        )


def state_batches(message: Message) -> tuple[StateBatch, ...]:
    """The state batches of a record, a request or an answer."""
    batches = []
    for each in message.state_batches:
        batch = StateBatch(
            first_offset=each.first_offset,
            last_offset=each.last_offset,
            delivery_state=each.delivery_state,
            delivery_count=each.delivery_count,
        )
        batches.append(batch)
    return tuple(batches)


def combined(
    some: Sequence[StateBatch], more: Sequence[StateBatch], start_offset: int
) -> tuple[StateBatch, ...]:
    """Combine both, without offsets before the start offset. If they concern the same
    records, the later outcome counts; neighbours in the same state are joined.
    """
    waiting = sorted(_kept([*some, *more], start_offset))
    # states that hold at this offset: which one, and up to where
    latest: list[tuple[int, int, int]] = []
    found: list[StateBatch] = []
    at = 0
    while waiting or latest:
        if not latest:
            at = waiting[0].first_offset
        while waiting and waiting[0].first_offset <= at:
            _, last, state, count = waiting.pop(0)
            heapq.heappush(latest, (-count, -state, last))
        count, state, last = latest[0]
        if last < at:
            heapq.heappop(latest)
            continue
        if waiting:
            last = min(last, waiting[0].first_offset - 1)
        _append(found, StateBatch(at, last, -state, -count))
        at = last + 1
    return tuple(found)


def _kept(batches: Iterable[StateBatch], start_offset: int) -> list[StateBatch]:
    if start_offset == UNKNOWN:
        return list(batches)
    kept = []
    for batch in batches:
        if batch.last_offset >= start_offset:
            first = max(batch.first_offset, start_offset)
            kept.append(batch._replace(first_offset=first))
    return kept


def _append(found: list[StateBatch], batch: StateBatch) -> None:
    last = found[-1] if found else None
    if last is not None and last[1] + 1 == batch[0] and last[2:] == batch[2:]:
        found[-1] = last._replace(last_offset=batch.last_offset)
    else:
        found.append(batch)


@dataclass(frozen=True, slots=True)
class LookLater(Effect):
    """Check later again whether a snapshot is due."""


@dataclass(eq=False, repr=False)
class ShareStates:
    """The share partitions of one partition of the topic, by their key as text."""

    _config: Configs
    _image: Image
    states: dict[str, ShareState] = field(default_factory=dict)
    _snapshots: Deadlines[str] = field(default_factory=Deadlines)

    # -- called by the runtime

    def apply(
        self, name: str, key: Message, value: Message | None, offset: int
    ) -> None:
        """Apply one committed record, live or in a replay."""
        text = str(ShareKey(key.group_id, key.topic_id, key.partition))
        was = self.states.get(text, ShareState())
        if value is None:
            self.states.pop(text, None)
            self._snapshots.set(text, None)
        elif name == "ShareUpdate":
            self.states[text] = was.updated(value)
        else:
            self.states[text] = ShareState(
                snapshot_epoch=value.snapshot_epoch,
                state_epoch=value.state_epoch,
                leader_epoch=value.leader_epoch,
                newest_leader_epoch=max(value.leader_epoch, was.newest_leader_epoch),
                start_offset=value.start_offset,
                delivery_complete_count=value.delivery_complete_count,
                create_timestamp=value.create_timestamp,
                write_timestamp=value.write_timestamp,
                batches=state_batches(value),
                snapshot_offset=offset,
            )

    def apply_pending(
        self, producer_id: int, name: str, key: Message, value: Message | None
    ) -> None:
        """Raises: nobody writes to this topic in transactions."""
        raise AssertionError(f"{name} is never part of a transaction")

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """Does nothing: this topic has no transactions."""

    def carry_out(self, key: str, effect: Effect, now: Now) -> None:
        """Set when this key is looked at next."""
        assert isinstance(effect, LookLater), f"nothing else comes of it: {effect}"
        self._look_later(key, now)

    def give_up(self, key: str, failed: Effect, error: KafkaError, now: Now) -> None:
        """Raises: no decision here has anything to give up."""
        raise AssertionError(f"nobody waits for {failed}")

    def loaded(self, now: Now) -> Iterable[str]:
        for key in self.states:
            self._look_later(key, now)
        return list(self.states)

    def tick(self, key: str, now: Now) -> Decision:
        """A share partition that is rarely written gets a snapshot now and then, so
        that the log before it is no longer needed.
        """
        state = self.states.get(key)
        if state is None:
            return Decision()
        interval_ms = self._cold_ms
        if not state.updates or now.wall_ms - state.write_timestamp < interval_ms:
            return Decision(effect=LookLater())
        snapshot = replace(
            state,
            snapshot_epoch=state.snapshot_epoch + 1,
            write_timestamp=now.wall_ms,
        )
        return Decision([snapshot.snapshot(ShareKey.parse(key))], effect=LookLater())

    def next_deadline(self, key: str) -> int | None:
        return self._snapshots.at(key)

    def needed_from(self) -> int | None:
        """The offset before which no record is needed any more: that of the oldest of
        the last snapshots. None if there are no states.
        """
        offsets = [state.snapshot_offset for state in self.states.values()]
        return min(offsets, default=None)

    # -- requests: decide

    def initialize(self, key: ShareKey, asked: Message, now: Now) -> Decision:
        """InitializeShareGroupState: create the state, or reset it. Errors: those of
        _check; FENCED_STATE_EPOCH.
        """
        _check_partition(key)
        _check_epoch("state", asked.state_epoch)
        state = self.states.get(str(key))
        _check_state_epoch(state, asked.state_epoch)
        self._check_topic(key)
        is_known = asked.start_offset != UNKNOWN
        new = ShareState(
            snapshot_epoch=0 if state is None else state.snapshot_epoch + 1,
            state_epoch=asked.state_epoch,
            start_offset=asked.start_offset,
            delivery_complete_count=0 if is_known else UNKNOWN,
            create_timestamp=now.wall_ms,
            write_timestamp=now.wall_ms,
        )
        return self._write(key, new.snapshot(key), {})

    def read(self, key: ShareKey, asked: Message, now: Now) -> Decision:
        """ReadShareGroupState: for the leader of the partition, which keeps the share
        partition from now on. Errors: those of _check; FENCED_LEADER_EPOCH.
        """
        _check_partition(key)
        _check_epoch("leader", asked.leader_epoch)
        state = self._state(key, "Read")
        _check_leader_epoch(state, asked.leader_epoch)
        self._check_topic(key)
        answer = {
            "state_epoch": state.state_epoch,
            "start_offset": state.start_offset,
            "state_batches": [batch._asdict() for batch in state.batches],
        }
        if asked.leader_epoch == state.newest_leader_epoch:
            return Decision(answer=answer)
        led = replace(state, leader_epoch=asked.leader_epoch, batches=())
        return self._write(key, self._record(key, led, now), answer)

    def write(self, key: ShareKey, asked: Message, now: Now) -> Decision:
        """WriteShareGroupState: store the outcome of records. Errors: those of _check;
        FENCED_LEADER_EPOCH, FENCED_STATE_EPOCH.
        """
        _check_partition(key)
        _check_epoch("leader", asked.leader_epoch)
        _check_epoch("state", asked.state_epoch)
        state = self._state(key, "Write")
        _check_leader_epoch(state, asked.leader_epoch)
        _check_state_epoch(state, asked.state_epoch)
        self._check_topic(key)
        # an older write that arrives late doesn't move the start back
        start_offset = max(asked.start_offset, state.start_offset)
        complete = asked.delivery_complete_count
        if asked.start_offset == state.start_offset:
            complete = max(complete, state.delivery_complete_count)
        elif asked.start_offset < state.start_offset:
            complete = state.delivery_complete_count
        change = replace(
            state,
            start_offset=start_offset,
            delivery_complete_count=complete,
            batches=combined((), state_batches(asked), start_offset),
        )
        return self._write(key, self._record(key, change, now), {})

    def delete(self, key: ShareKey) -> Decision:
        """DeleteShareGroupState. Deleting a state that doesn't exist succeeds. Errors:
        those of _check.
        """
        _check_partition(key)
        self._check_topic(key)
        if str(key) not in self.states:
            return Decision(answer={})
        tombstone = CoordinatorRecord("ShareSnapshot", key._asdict(), None)
        return Decision([tombstone], {})

    def summary(self, key: ShareKey) -> Decision:
        """ReadShareGroupStateSummary: the start offset. Errors: those of _check."""
        _check_partition(key)
        self._check_topic(key)
        state = self.states.get(str(key))
        if state is None:
            nothing = {"state_epoch": 0, "leader_epoch": 0, "start_offset": UNKNOWN}
            return Decision(answer=nothing)
        answer = {
            "state_epoch": state.state_epoch,
            "leader_epoch": state.leader_epoch,
            "start_offset": state.start_offset,
            "delivery_complete_count": state.delivery_complete_count,
        }
        return Decision(answer=answer)

    def forget(self, key: ShareKey) -> Decision:
        """Delete the state, because its topic was deleted."""
        if str(key) not in self.states:
            return Decision()
        return Decision([CoordinatorRecord("ShareSnapshot", key._asdict(), None)])

    # -- helpers

    @property
    def _cold_ms(self) -> int:
        name = "share.coordinator.cold.partition.snapshot.interval.ms"
        interval_ms: int = self._config[name]
        return interval_ms

    def _look_later(self, key: str, now: Now) -> None:
        if key in self.states:
            self._snapshots.set(key, now.monotonic_ms + self._cold_ms)

    def _write(
        self, key: ShareKey, record: CoordinatorRecord, answer: Answer
    ) -> Decision:
        is_new = self._snapshots.at(str(key)) is None
        return Decision([record], answer, LookLater() if is_new else None)

    def _record(self, key: ShareKey, change: ShareState, now: Now) -> CoordinatorRecord:
        """The record of a change; after many changes, a snapshot instead."""
        most = self._config["share.coordinator.snapshot.update.records.per.snapshot"]
        state = self.states[str(key)]
        if state.updates < most:
            return change.update(key)
        whole = replace(
            change,
            snapshot_epoch=state.snapshot_epoch + 1,
            batches=combined(state.batches, change.batches, change.start_offset),
            create_timestamp=now.wall_ms,
            write_timestamp=now.wall_ms,
        )
        return whole.snapshot(key)

    def _state(self, key: ShareKey, what: str) -> ShareState:
        state = self.states.get(str(key))
        if state is None:
            why = f"{what} operation on uninitialized share partition not allowed."
            raise KafkaError(Error.INVALID_REQUEST, why)
        return state

    def _check_topic(self, key: ShareKey) -> None:
        name = self._image.topic_names.get(key.topic_id, "")
        topic = self._image.topics.get(name)
        if topic is None or key.partition not in topic.partitions:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)


def _check_partition(key: ShareKey) -> None:
    if key.partition < 0:
        why = "The partition id cannot be a negative number."
        raise KafkaError(Error.INVALID_REQUEST, why)


def _check_epoch(whose: str, epoch: int) -> None:
    if epoch < 0:
        why = f"The {whose} epoch cannot be a negative number."
        raise KafkaError(Error.INVALID_REQUEST, why)


def _check_leader_epoch(state: ShareState, epoch: int) -> None:
    if state.newest_leader_epoch > epoch:
        raise KafkaError(Error.FENCED_LEADER_EPOCH)


def _check_state_epoch(state: ShareState | None, epoch: int) -> None:
    if state is not None and state.state_epoch > epoch:
        raise KafkaError(Error.FENCED_STATE_EPOCH)
