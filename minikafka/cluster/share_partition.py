"""A partition as a share group sees it (KIP-932): which records may be handed out next,
who has which, and what is done with.

The broker that leads the partition keeps it, beside the log that it speaks of. Nothing
here reads a log, knows the time or writes anything down: the records that were read, the
time, and the word that a transition is written come from outside. So what is acquired next
can be said of a history of calls alone.

    acquire      a member gets records, each with a lock that ends
    acknowledge  it says what became of them, or that it needs more time
    release      it is gone, and what it had comes back
    locks_end    it said nothing in time, and what it had comes back

What a member says counts when it is written down: the broker that leads the partition
next goes on from there. (Apache Kafka: SharePartition, from which the order of all this
is taken.)
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from minikafka.cluster.share_acquiring import Acquired, Acquiring, Asked, Limits, Read
from minikafka.cluster.share_batches import (
    Batch,
    InFlight,
    RecordState,
    StateBatch,
)
from minikafka.cluster.share_window import Window
from minikafka.wire.errors import Error, KafkaError


class Acknowledge(IntEnum):
    """What a member says of a record; GAP: there is none at this offset."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4

    @property
    def word(self) -> str:
        """As clients and the trace say it."""
        return self.name.lower()


BECOMES = {
    Acknowledge.GAP: RecordState.ARCHIVED,
    Acknowledge.ACCEPT: RecordState.ACKNOWLEDGED,
    Acknowledge.RELEASE: RecordState.AVAILABLE,
    Acknowledge.REJECT: RecordState.ARCHIVED,
}


class AcknowledgementBatch(NamedTuple):
    """What a member says: one type for all, or one for each offset."""

    first_offset: int
    last_offset: int
    acknowledge_types: Sequence[int]


@dataclass(slots=True)
class StateTransition:
    """What becomes of records as soon as it is written down. batches: what is to be
    written. said: of each of them what its member said; None: its member is gone.
    renewed: records whose locks are new ones, at once.
    """

    parts: list[InFlight] = field(default_factory=list)
    batches: list[StateBatch] = field(default_factory=list)
    said: list[Acknowledge | None] = field(default_factory=list)
    renewed: list[InFlight] = field(default_factory=list)

    def begin(
        self,
        part: InFlight,
        state: RecordState,
        most_deliveries: int,
        said: Acknowledge | None,
    ) -> None:
        part.begin(state, most_deliveries)
        self.parts.append(part)
        self.batches.append(part.written())
        self.said.append(said)


class SharePartition:
    """limits(): what the group is configured to now. batches: what was written down of
    records from start_offset on.
    """

    def __init__(
        self,
        limits: Callable[[], Limits],
        start_offset: int,
        batches: Iterable[StateBatch] = (),
    ) -> None:
        self.window = Window(start_offset, batches)
        self._limits = limits

    @property
    def can_acquire(self) -> bool:
        """Whether a fetch may get something: what comes back always may be."""
        if self.window.next_fetch_offset() != self.window.end_offset + 1:
            return True
        return self.window.in_flight < self._limits().most_in_flight

    def acquire(self, asked: Asked, read: Read, now_ms: int) -> list[Acquired]:
        """A member gets records of those that were read from next_fetch_offset on."""
        acquiring = Acquiring(self.window, self._limits(), asked, read, now_ms)
        return acquiring.acquire()

    # -- the end of a delivery

    def acknowledge(
        self, member_id: str, said: Sequence[AcknowledgementBatch], now_ms: int
    ) -> StateTransition:
        """What a member says of records that it has. It counts when it is written down
        (`committed`); locks are renewed at once. Errors: INVALID_RECORD_STATE,
        INVALID_REQUEST; then nothing of it counts.
        """
        transition = StateTransition()
        try:
            for each in said:
                if each.last_offset >= self.window.start_offset:
                    self._acknowledge(member_id, each, transition, now_ms)
        except KafkaError:
            self.rolled_back(transition, now_ms)
            raise
        return transition

    def _acknowledge(
        self,
        member_id: str,
        said: AcknowledgementBatch,
        transition: StateTransition,
        now_ms: int,
    ) -> None:
        first, last, types = said
        for batch in self._acknowledged(said):
            if batch.last < self.window.start_offset:
                continue
            if batch.is_whole:
                _check_owner(batch.whole, member_id)
            fits = first <= batch.first and batch.last <= last
            is_cut = batch.first < self.window.start_offset
            if batch.is_whole and (not fits or len(types) > 1 or is_cut):
                if batch.whole.state is not RecordState.ACQUIRED:
                    raise _invalid(
                        "The batch cannot be acknowledged. The subset batch is not in"
                        " the acquired state."
                    )
                batch.split()
            if batch.is_whole:
                if batch.whole.state is not RecordState.ACQUIRED:
                    raise _invalid(NOT_ACQUIRED)
                self._say(batch.whole, types[0], transition, now_ms)
                continue
            for part in batch.within(max(first, self.window.start_offset), last):
                _check_part(part, member_id)
                one = types[part.first - first] if len(types) > 1 else types[0]
                self._say(part, one, transition, now_ms)

    def _acknowledged(self, said: AcknowledgementBatch) -> list[Batch]:
        """The batches that a member speaks of."""
        first, last, _ = said
        floor = self.window.batches.at_or_before(first)
        if floor is None and first < self.window.start_offset <= last:
            floor = self.window.batches.at_or_before(self.window.start_offset)
        if floor is None:
            raise _invalid(
                "Batch record not found. The request batch offsets are not found in the"
                " cache."
            )
        batches = self.window.batches.beginning(floor.first, last)
        if batches[-1].last < first:
            raise KafkaError(
                Error.INVALID_REQUEST,
                "Batch record not found. The first offset in request is past acquired"
                " records.",
            )
        if batches[-1].last < last:
            raise KafkaError(
                Error.INVALID_REQUEST,
                "Batch record not found. The last offset in request is past acquired"
                " records.",
            )
        return batches

    def _say(
        self, part: InFlight, said: int, transition: StateTransition, now_ms: int
    ) -> None:
        limits = self._limits()
        if said == Acknowledge.RENEW:
            if not limits.renews:
                raise _invalid(
                    "Renewing acquisition locks is not enabled for the group."
                )
            part.lock_ends_ms = now_ms + limits.lock_ms
            transition.renewed.append(part)
            return
        self._begin(part, BECOMES[Acknowledge(said)], transition, Acknowledge(said))

    def _begin(
        self,
        part: InFlight,
        state: RecordState,
        transition: StateTransition,
        said: Acknowledge | None,
    ) -> None:
        transition.begin(part, state, self._limits().most_deliveries, said)
        if part.state.is_final:
            self.window.count(part, 1)

    def release(self, member_id: str) -> StateTransition:
        """A member is gone: what it has comes back, when that is written down."""
        transition = StateTransition()
        for batch in self.window.batches:
            is_cut = batch.first < self.window.start_offset <= batch.last
            is_its = any(_is_with(part, member_id) for part in batch.parts)
            if is_its and is_cut:
                batch.split()
            for part in batch.parts:
                if _is_with(part, member_id) and part.before is None:
                    self._begin(part, self._back(part), transition, None)
        return transition

    def _back(self, part: InFlight) -> RecordState:
        """What a record becomes that comes back; before the start offset there is no
        log.
        """
        if part.last < self.window.start_offset:
            return RecordState.ARCHIVED
        return RecordState.AVAILABLE

    def locks_end(self, now_ms: int) -> list[StateBatch]:
        """Locks that have ended: their records come back at once. Returns what is to be
        written down.
        """
        written = []
        for batch in self.window.batches:
            is_cut = batch.first < self.window.start_offset <= batch.last
            if is_cut and any(_is_over(part, now_ms) for part in batch.parts):
                batch.split()
            for part in batch.parts:
                if not _is_over(part, now_ms):
                    continue
                part.become(self._back(part), self._limits().most_deliveries)
                part.lock_ends_ms = None
                written.append(part.written())
                if part.state.is_final:
                    self.window.count(part, 1)
                else:
                    self.window.may_find_free = True
        return written

    def next_lock_end(self) -> int | None:
        """Monotonic ms."""
        ends = [
            part.lock_ends_ms
            for batch in self.window.batches
            for part in batch.parts
            if part.state is RecordState.ACQUIRED and part.lock_ends_ms is not None
        ]
        return min(ends, default=None)

    # -- what was written down

    def committed(self, transition: StateTransition) -> None:
        """The transition is written down: it counts."""
        for part in transition.parts:
            part.committed()
            if part.state is RecordState.AVAILABLE:
                self.window.may_find_free = True
        self.window.move_start()

    def rolled_back(self, transition: StateTransition, now_ms: int) -> None:
        """The transition can't be written down: it never was."""
        for part in transition.parts:
            was_final = part.state.is_final
            part.rolled_back(now_ms, self._limits().most_deliveries)
            if part.state is RecordState.AVAILABLE:
                self.window.may_find_free = True
            if was_final and not part.state.is_final:
                self.window.count(part, -1)

    def locks_written(self) -> None:
        """What locks_end returned has been written, or can't be: it counts anyway."""
        self.window.move_start()


NOT_ACQUIRED = (
    "The batch cannot be acknowledged. The batch is not in the acquired state."
)
BEING_CHANGED = (
    "The record state is invalid. The acknowledgement of delivery could not be"
    " completed."
)


def _invalid(why: str) -> KafkaError:
    return KafkaError(Error.INVALID_RECORD_STATE, why)


def _check_owner(whole: InFlight, member_id: str) -> None:
    """Whether a member may say something of a batch."""
    if not whole.member_id:
        raise _invalid(NOT_ACQUIRED)
    if whole.member_id != member_id:
        raise _invalid("Member is not the owner of batch record")
    if whole.before is not None:
        raise _invalid(BEING_CHANGED)


def _check_part(part: InFlight, member_id: str) -> None:
    """The same of one record."""
    if part.state is not RecordState.ACQUIRED:
        raise _invalid("The offset cannot be acknowledged. The offset is not acquired.")
    if part.before is not None:
        raise _invalid(BEING_CHANGED)
    if part.member_id != member_id:
        raise _invalid("Member is not the owner of offset")


def _is_with(part: InFlight, member_id: str) -> bool:
    return part.state is RecordState.ACQUIRED and part.member_id == member_id


def _is_over(part: InFlight, now_ms: int) -> bool:
    """Whether its lock has ended, and nobody is writing down what became of it."""
    if part.state is not RecordState.ACQUIRED or part.lock_ends_ms is None:
        return False
    return part.lock_ends_ms <= now_ms
