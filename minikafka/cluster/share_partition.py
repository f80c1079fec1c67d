"""A partition as a share group sees it (KIP-932): which records may be delivered next,
which member has which, and which are finished.

The broker that leads the partition keeps this state beside the log. Nothing here reads
a log, knows the time or writes anything: the caller passes in the records that were
read and the time, and says when a transition has been written. So what is acquired next
depends only on the history of calls.

    acquire      a member gets records, each with a lock that ends
    acknowledge  it says what became of them, or that it needs more time
    release      it has left, and its records come back
    locks_end    it said nothing in time, and its records come back

A member's acknowledgement takes effect when it has been written: the broker that leads
the partition next goes on from there. (Apache Kafka: SharePartition, which does all
this in the same order.)
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
    """A member's verdict on a record. GAP: there is no record at this offset."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4

    @property
    def word(self) -> str:
        """The type as clients and the trace spell it."""
        return self.name.lower()


BECOMES = {
    Acknowledge.GAP: RecordState.ARCHIVED,
    Acknowledge.ACCEPT: RecordState.ACKNOWLEDGED,
    Acknowledge.RELEASE: RecordState.AVAILABLE,
    Acknowledge.REJECT: RecordState.ARCHIVED,
}


class AcknowledgementBatch(NamedTuple):
    """An acknowledgement of a range of offsets: one type for all of them, or one for
    each.
    """

    first_offset: int
    last_offset: int
    acknowledge_types: Sequence[int]


class GivenUp(NamedTuple):
    """Records that are Archiving: rejected, or else delivered too often."""

    part: InFlight
    is_rejected: bool


@dataclass(slots=True)
class StateTransition:
    """A change of records that takes effect when it has been written. batches: what is
    to be written. said: for each batch the member's acknowledgement; None if the member
    has left. renewed: records whose locks were renewed, which takes effect at once.
    """

    parts: list[InFlight] = field(default_factory=list)
    batches: list[StateBatch] = field(default_factory=list)
    said: list[Acknowledge | None] = field(default_factory=list)
    renewed: list[InFlight] = field(default_factory=list)

    def begin(
        self,
        part: InFlight,
        state: RecordState,
        limits: Limits,
        said: Acknowledge | None,
    ) -> None:
        part.begin(state, limits.most_deliveries, limits.given_up)
        self.parts.append(part)
        self.batches.append(part.written())
        self.said.append(said)

    def given_up(self) -> list[GivenUp]:
        """The records whose dead letters are to be written."""
        return [
            GivenUp(part, said is Acknowledge.REJECT)
            for part, said in zip(self.parts, self.said, strict=True)
            if part.state is RecordState.ARCHIVING
        ]


class SharePartition:
    """limits(): the group's current configuration. batches: what was written about
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
        """Whether a fetch may get something: records that came back may always be
        acquired.
        """
        if self.window.next_fetch_offset() != self.window.end_offset + 1:
            return True
        return self.window.in_flight < self._limits().most_in_flight

    def acquire(self, asked: Asked, read: Read, now_ms: int) -> list[Acquired]:
        """Acquire records for a member, from those that were read from
        next_fetch_offset on.
        """
        acquiring = Acquiring(self.window, self._limits(), asked, read, now_ms)
        return acquiring.acquire()

    # -- the end of a delivery

    def acknowledge(
        self, member_id: str, said: Sequence[AcknowledgementBatch], now_ms: int
    ) -> StateTransition:
        """A member acknowledges records that it has. That takes effect when it has been
        written (`committed`); locks are renewed at once. Errors: INVALID_RECORD_STATE
        or INVALID_REQUEST, and then nothing has changed.
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
        """The batches that an acknowledgement covers."""
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
        state = BECOMES[Acknowledge(said)]
        if said == Acknowledge.REJECT:
            state = limits.given_up
        self._begin(part, state, transition, Acknowledge(said))

    def _begin(
        self,
        part: InFlight,
        state: RecordState,
        transition: StateTransition,
        said: Acknowledge | None,
    ) -> None:
        transition.begin(part, state, self._limits(), said)
        if part.state.is_final:
            self.window.count(part, 1)

    def release(self, member_id: str) -> StateTransition:
        """A member has left: its records come back once that has been written."""
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
        """The state of a record that comes back. Before the start offset there is no
        log, so it is archived there.
        """
        if part.last < self.window.start_offset:
            return RecordState.ARCHIVED
        return RecordState.AVAILABLE

    def locks_end(self, now_ms: int) -> list[StateBatch]:
        """End the locks whose time is up: their records come back at once. Returns what
        is to be written.
        """
        written = []
        limits = self._limits()
        for batch in self.window.batches:
            is_cut = batch.first < self.window.start_offset <= batch.last
            if is_cut and any(_is_over(part, now_ms) for part in batch.parts):
                batch.split()
            for part in batch.parts:
                if not _is_over(part, now_ms):
                    continue
                most, given_up = limits.most_deliveries, limits.given_up
                part.become(self._back(part), most, given_up)
                part.lock_ends_ms = None
                written.append(part.written())
                if part.state.is_final:
                    self.window.count(part, 1)
                elif part.state is RecordState.AVAILABLE:
                    self.window.may_find_free = True
        return written

    def next_lock_end(self) -> int | None:
        """When the next lock ends, in monotonic ms; None if nothing is acquired."""
        ends = [
            part.lock_ends_ms
            for batch in self.window.batches
            for part in batch.parts
            if part.state is RecordState.ACQUIRED and part.lock_ends_ms is not None
        ]
        return min(ends, default=None)

    # -- after the write

    def committed(self, transition: StateTransition) -> None:
        """The transition has been written: it takes effect."""
        for part in transition.parts:
            part.committed()
            if part.state is RecordState.AVAILABLE:
                self.window.may_find_free = True
        self.window.move_start()

    def rolled_back(self, transition: StateTransition, now_ms: int) -> None:
        """The transition can't be written: undo it."""
        for part in transition.parts:
            was_final = part.state.is_final
            part.rolled_back(now_ms, self._limits().most_deliveries)
            if part.state is RecordState.AVAILABLE:
                self.window.may_find_free = True
            if was_final and not part.state.is_final:
                self.window.count(part, -1)

    def locks_written(self) -> None:
        """What locks_end or archive returned has been written, or can't be: it takes
        effect either way.
        """
        self.window.move_start()

    # -- dead letters

    def archiving(self) -> list[GivenUp]:
        """The records of a state that was read whose dead letters may not have been
        written.
        """
        most = self._limits().most_deliveries
        return [
            GivenUp(part, part.delivery_count < most)
            for batch in self.window.batches
            for part in batch.parts
            if part.state is RecordState.ARCHIVING
        ]

    def given_up(self, batches: Iterable[StateBatch]) -> list[GivenUp]:
        """The records among those of locks_end whose dead letters are to be written."""
        found = []
        for first, _, state, _ in batches:
            if state == RecordState.ARCHIVING:
                batch = self.window.batches.at_or_before(first)
                assert batch is not None, "what is given up is in flight"
                [part] = batch.within(first, first)
                found.append(GivenUp(part, is_rejected=False))
        return found

    def archive(self, part: InFlight) -> StateBatch:
        """Its dead letter has been written, or can't be. Returns what is to be
        written.
        """
        part.archive()
        self.window.count(part, 1)
        return part.written()


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
    """Check that a member may acknowledge a whole batch."""
    if not whole.member_id:
        raise _invalid(NOT_ACQUIRED)
    if whole.member_id != member_id:
        raise _invalid("Member is not the owner of batch record")
    if whole.before is not None:
        raise _invalid(BEING_CHANGED)


def _check_part(part: InFlight, member_id: str) -> None:
    """Check that a member may acknowledge a single record."""
    if part.state is not RecordState.ACQUIRED:
        raise _invalid("The offset cannot be acknowledged. The offset is not acquired.")
    if part.before is not None:
        raise _invalid(BEING_CHANGED)
    if part.member_id != member_id:
        raise _invalid("Member is not the owner of offset")


def _is_with(part: InFlight, member_id: str) -> bool:
    return part.state is RecordState.ACQUIRED and part.member_id == member_id


def _is_over(part: InFlight, now_ms: int) -> bool:
    """Whether its lock has ended, and no change of it is being written."""
    if part.state is not RecordState.ACQUIRED or part.lock_ends_ms is None:
        return False
    return part.lock_ends_ms <= now_ms
