"""What a share coordinator keeps (KIP-932): the state of share partitions, in a partition
of `__share_group_state`.

A share partition is kept in memory by the broker that leads its partition
(cluster/share_partition.py). What became of its records must survive that broker. So it
is written down here, by whoever leads the partition of this topic that the share
partition's key falls on, and read back by the next leader.

    ShareSnapshot   all of it: where it begins, and what became of the records behind
    ShareUpdate     what changed since; after 500 of them comes a snapshot again

Two epochs fence. The leader epoch is that of the partition's leader: one that has been
replaced can't write any more. The state epoch grows when the state begins anew, because
somebody altered the group's offsets: what was delivered before counts no more.

`ShareStates` decides what a request means and takes in what is committed, as the other
coordinators do (runtime.py). What became of records that two writes speak of is what
happened later: the one with more deliveries, then the one that is further.
"""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from minikafka.clock import Now
from minikafka.cluster.metadata import Image
from minikafka.cluster.share_batches import StateBatch
from minikafka.cluster.waiting import Answer, Deadlines
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
UNKNOWN = -1  # an epoch, an offset or a count that is not said


class ShareKey(NamedTuple):
    """A share partition: the partition of a topic, as a group sees it."""

    group_id: str
    topic_id: bytes
    partition: int

    def __str__(self) -> str:
        """As FindCoordinator names it, and as it is hashed."""
        return f"{self.group_id}:{uuid_text(self.topic_id)}:{self.partition}"

    @staticmethod
    def parse(text: str) -> "ShareKey":
        """Errors: INVALID_REQUEST."""
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
    """The state of one share partition. start_offset: UNKNOWN until somebody reads; then
    the group's configs say where it begins. newest_leader_epoch: of any leader that has
    read it; leader_epoch is 0 when it begins anew. updates: how many since the last
    snapshot, which lies at snapshot_offset.
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
        """All of it."""
        value = {
            "snapshot_epoch": self.snapshot_epoch,
            "state_epoch": self.state_epoch,
            "create_timestamp": self.create_timestamp,
            "write_timestamp": self.write_timestamp,
            **self._shared(),
        }
        return CoordinatorRecord("ShareSnapshot", key._asdict(), value)

    def update(self, key: ShareKey) -> CoordinatorRecord:
        """What it says, as a change."""
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
        """After a ShareUpdate. What it doesn't say is as before."""
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
    """Those of a record, a request or an answer."""
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
    """Both, without what lies before the start offset. Where they speak of the same
    records, what happened later counts; neighbours that say the same are one.
    """
    waiting = sorted(_kept([*some, *more], start_offset))
    latest: list[tuple[int, int, int]] = []  # of those that hold here: what, and up to
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
    """Whether a snapshot is due is asked again after a while."""


@dataclass(eq=False, repr=False)
class ShareStates:
    """The share partitions of one partition of the topic, by their key as text."""

    _config: Configs
    _image: Image
    states: dict[str, ShareState] = field(default_factory=dict)
    _snapshots: Deadlines[str] = field(default_factory=Deadlines)

    # -- what the runtime asks

    def apply(
        self, name: str, key: Message, value: Message | None, offset: int
    ) -> None:
        """One committed record, live or in a replay."""
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
        """Nobody writes to it in transactions."""
        raise AssertionError(f"{name} is never part of a transaction")

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """There are none."""

    def carry_out(self, key: str, effect: Effect, now: Now) -> None:
        """The next look at this key comes later."""
        assert isinstance(effect, LookLater), f"nothing else comes of it: {effect}"
        self._look_later(key, now)

    def give_up(self, key: str, failed: Effect, error: KafkaError, now: Now) -> None:
        """Nobody waits for one."""
        raise AssertionError(f"nobody waits for {failed}")

    def loaded(self, now: Now) -> Iterable[str]:
        for key in self.states:
            self._look_later(key, now)
        return list(self.states)

    def tick(self, key: str, now: Now) -> Decision:
        """One that is not written to gets a snapshot now and then: what lies before it
        in the log is needed no more.
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
        """The offset before which no record is needed any more: there lies the oldest of
        the last snapshots. None where there is no state.
        """
        offsets = [state.snapshot_offset for state in self.states.values()]
        return min(offsets, default=None)

    # -- requests: decide

    def initialize(self, key: ShareKey, asked: Message, now: Now) -> Decision:
        """InitializeShareGroupState: it begins, or begins anew. Errors: as of _check;
        FENCED_STATE_EPOCH.
        """
        _check_partition(key)
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
        """ReadShareGroupState: for the leader of the partition, which has the share
        partition from now on. Errors: as of _check; FENCED_LEADER_EPOCH.
        """
        _check_partition(key)
        state = self._state(key, "Read")
        _check_leader_epoch(state, asked.leader_epoch)
        self._check_topic(key)
        answer = {
            "state_epoch": state.state_epoch,
            "start_offset": state.start_offset,
            "state_batches": [batch._asdict() for batch in state.batches],
        }
        if asked.leader_epoch in (UNKNOWN, state.newest_leader_epoch):
            return Decision(answer=answer)
        led = replace(state, leader_epoch=asked.leader_epoch, batches=())
        return self._write(key, self._record(key, led, now), answer)

    def write(self, key: ShareKey, asked: Message, now: Now) -> Decision:
        """WriteShareGroupState: what became of records. Errors: as of _check;
        FENCED_LEADER_EPOCH, FENCED_STATE_EPOCH.
        """
        _check_partition(key)
        state = self._state(key, "Write")
        _check_leader_epoch(state, asked.leader_epoch)
        _check_state_epoch(state, asked.state_epoch)
        self._check_topic(key)
        change = replace(
            state,
            start_offset=asked.start_offset,
            delivery_complete_count=asked.delivery_complete_count,
            batches=combined((), state_batches(asked), asked.start_offset),
        )
        return self._write(key, self._record(key, change, now), {})

    def delete(self, key: ShareKey) -> Decision:
        """DeleteShareGroupState: it goes; one that isn't there has gone. Errors: as of
        _check.
        """
        _check_partition(key)
        self._check_topic(key)
        if str(key) not in self.states:
            return Decision(answer={})
        tombstone = CoordinatorRecord("ShareSnapshot", key._asdict(), None)
        return Decision([tombstone], {})

    def summary(self, key: ShareKey) -> Decision:
        """ReadShareGroupStateSummary: where it begins. Errors: as of _check."""
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
        """Its topic has gone."""
        if str(key) not in self.states:
            return Decision()
        return Decision([CoordinatorRecord("ShareSnapshot", key._asdict(), None)])

    # -- inside

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
        """A change; or, when there were many, all that is known after it."""
        most = self._config["share.coordinator.snapshot.update.records.per.snapshot"]
        state = self.states[str(key)]
        if state.updates < most:
            return change.update(key)
        start_offset = change.start_offset
        if start_offset == UNKNOWN:
            start_offset = state.start_offset
        whole = replace(
            change,
            snapshot_epoch=state.snapshot_epoch + 1,
            start_offset=start_offset,
            batches=combined(state.batches, change.batches, start_offset),
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


def _check_leader_epoch(state: ShareState, epoch: int) -> None:
    if epoch != UNKNOWN and state.newest_leader_epoch > epoch:
        raise KafkaError(Error.FENCED_LEADER_EPOCH)


def _check_state_epoch(state: ShareState | None, epoch: int) -> None:
    if state is not None and epoch != UNKNOWN and state.state_epoch > epoch:
        raise KafkaError(Error.FENCED_STATE_EPOCH)
