"""Records of a share partition that are in flight: delivered to a member, or waiting to
be delivered again (KIP-932).

    Available      may be acquired
    Acquired       one member has it, until its lock ends
    Acknowledged   a member has processed it
    Archiving      it was given up, and its dead letter is being written (KIP-1191)
    Archived       nobody gets it any more: rejected, or delivered too often

    Available      -- acquired ------------------------> Acquired
    Acquired       -- accepted ------------------------> Acknowledged
    Acquired       -- rejected, or a gap --------------> Archived
    Acquired       -- released, or its lock has ended -> Available, or Archived if
                                                         that was its last delivery
    Archiving      -- its letter is written, or can't be -> Archived

In a group that names a topic for dead letters, a record that is rejected or was
delivered for the last time is Archiving first.

Records that were acquired together are one batch for as long as they are all in the
same state: one `InFlight` then holds the state of all of them. When their states
differ, each record has its own.

A change that a member asks for takes effect when it has been written. Meanwhile nobody
else may change the record, and if it can't be written, the change is undone.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

NOBODY = ""


class RecordState(IntEnum):
    """Numbered as in the records of the share coordinator."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    ARCHIVED = 4

    @property
    def is_final(self) -> bool:
        """Whether the state can't change any more."""
        return self in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


class StateBatch(NamedTuple):
    """What is written about neighbouring records, by the names of the fields."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


class Before(NamedTuple):
    """The state to go back to if a change can't be written."""

    state: RecordState
    member_id: str


@dataclass(slots=True, eq=False)
class InFlight:
    """Records in one state: a single record, or a whole batch.

    lock_ends_ms: when others may have them, monotonic; None if nobody has them. before:
    the previous state, while a change is being written. is_settled: they are archived,
    whether the write succeeds or not.
    """

    first: int
    last: int
    state: RecordState
    delivery_count: int
    member_id: str = NOBODY
    lock_ends_ms: int | None = None
    before: Before | None = None
    is_settled: bool = False

    @property
    def is_free(self) -> bool:
        """Whether a member may acquire it."""
        return self.state is RecordState.AVAILABLE and self.before is None

    @property
    def is_done(self) -> bool:
        """Whether nobody gets it any more, and that has been written."""
        return self.state.is_final and self.before is None

    def acquire(self, member_id: str, lock_ends_ms: int) -> None:
        """Give it to a member until the lock ends, and count the delivery."""
        assert self.is_free, "what somebody has is not acquired"
        self.state = RecordState.ACQUIRED
        self.delivery_count += 1
        self.member_id = member_id
        self.lock_ends_ms = lock_ends_ms

    def become(
        self,
        state: RecordState,
        most_deliveries: int,
        given_up: RecordState = RecordState.ARCHIVED,
    ) -> None:
        """Take it from its member. If it would be available again but has been
        delivered often enough, it is given up: what it becomes then.
        """
        assert self.state is RecordState.ACQUIRED, "only who has it can give it back"
        is_back = state is RecordState.AVAILABLE
        if is_back and self.delivery_count >= most_deliveries:
            state = given_up
        self.state = state
        self.member_id = NOBODY

    def begin(
        self, state: RecordState, most_deliveries: int, given_up: RecordState
    ) -> None:
        """Take it from its member as soon as the change has been written; until then
        its lock runs on.
        """
        before = Before(self.state, self.member_id)
        self.become(state, most_deliveries, given_up)
        self.before = before

    def committed(self) -> None:
        """The change that was begun has been written."""
        self.before = None
        self.lock_ends_ms = None

    def rolled_back(self, now_ms: int, most_deliveries: int) -> None:
        """The change that was begun can't be written. The state is as before, or free
        if its lock has ended meanwhile.
        """
        assert self.before is not None, "what goes back has begun"
        before, self.before = self.before, None
        if self.is_settled:
            self.lock_ends_ms = None
            return
        self.state, self.member_id = before
        if self.lock_ends_ms is not None and self.lock_ends_ms <= now_ms:
            self.become(RecordState.AVAILABLE, most_deliveries)
            self.lock_ends_ms = None

    def archive(self) -> None:
        """Archive it: the log no longer has the record, or nobody may read it."""
        self.is_settled = True
        self.state = RecordState.ARCHIVED
        self.member_id = NOBODY
        self.lock_ends_ms = None

    def written(self) -> StateBatch:
        """What is written about it."""
        return StateBatch(self.first, self.last, self.state, self.delivery_count)


class Batch:
    """Records that were acquired together, including gaps between them. is_whole: all
    of them are in the same state, held by a single part.
    """

    __slots__ = ("first", "is_whole", "last", "parts")

    def __init__(self, whole: InFlight) -> None:
        self.first = whole.first
        self.last = whole.last
        self.is_whole = True
        self.parts = [whole]

    def __len__(self) -> int:
        return self.last - self.first + 1

    @property
    def whole(self) -> InFlight:
        """The state of all its records."""
        assert self.is_whole, "each record has its own state"
        return self.parts[0]

    def split(self) -> None:
        """Give each record its own state from now on."""
        if not self.is_whole:
            return
        whole = self.parts[0]
        self.is_whole = False
        self.parts = []
        for offset in range(self.first, self.last + 1):
            part = InFlight(
                first=offset,
                last=offset,
                state=whole.state,
                delivery_count=whole.delivery_count,
                member_id=whole.member_id,
                lock_ends_ms=whole.lock_ends_ms,
            )
            self.parts.append(part)

    def within(self, first: int, last: int) -> list[InFlight]:
        """The parts that have records in this range."""
        if self.is_whole:
            return self.parts if self.first <= last and self.last >= first else []
        begin = max(first - self.first, 0)
        return self.parts[begin : max(last - self.first + 1, 0)]


@dataclass(slots=True)
class Batches:
    """The batches in flight, by offset. They don't overlap."""

    _firsts: list[int] = field(default_factory=list)
    _by_first: dict[int, Batch] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._firsts)

    def __iter__(self) -> Iterator[Batch]:
        return iter([self._by_first[first] for first in self._firsts])

    @property
    def first(self) -> Batch:
        return self._by_first[self._firsts[0]]

    @property
    def last(self) -> Batch:
        return self._by_first[self._firsts[-1]]

    def put(self, batch: Batch) -> None:
        assert batch.first not in self._by_first, "a record is in flight once"
        insort(self._firsts, batch.first)
        self._by_first[batch.first] = batch

    def at_or_before(self, offset: int) -> Batch | None:
        """The last batch that begins at this offset or before it."""
        at = bisect_right(self._firsts, offset)
        return self._by_first[self._firsts[at - 1]] if at else None

    def after(self, offset: int) -> Batch | None:
        """The first batch that begins after this offset."""
        at = bisect_right(self._firsts, offset)
        return self._by_first[self._firsts[at]] if at < len(self._firsts) else None

    def beginning(self, first: int, last: int) -> list[Batch]:
        """The batches that begin in this range, both ends included."""
        begin = bisect_left(self._firsts, first)
        end = bisect_right(self._firsts, last)
        return [self._by_first[each] for each in self._firsts[begin:end]]

    def overlapping(self, first: int, last: int) -> list[Batch]:
        """The batches that have records in this range."""
        floor = self.at_or_before(first)
        begin = first if floor is None else floor.first
        return [batch for batch in self.beginning(begin, last) if batch.last >= first]

    def drop_before(self, offset: int) -> None:
        """Forget the batches that begin before this offset."""
        end = bisect_left(self._firsts, offset)
        for first in self._firsts[:end]:
            del self._by_first[first]
        del self._firsts[:end]

    def clear(self) -> None:
        self._firsts.clear()
        self._by_first.clear()
