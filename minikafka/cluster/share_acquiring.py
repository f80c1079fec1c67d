"""Acquiring: which records of a share partition a fetch gets (KIP-932, KIP-1206).

Records that came back go first, in the order of their offsets; then those that were
never delivered, as long as not too many are in flight. Records come in batches, as they
were produced, and are acquired in batches: the number that a member asks for is a soft
limit, unless the member says that it is strict.

A record that crashes its consumer takes the rest of its batch with it. So the more
often records were delivered, the fewer go together, and for the last delivery each goes
alone.
"""

from collections.abc import Iterable, Sequence
from math import ceil
from typing import NamedTuple

from minikafka.cluster.share_batches import Batch, InFlight, RecordState
from minikafka.cluster.share_window import Range, Window

FIRST_DELIVERY = 1
FEWEST_DELIVERIES = 2  # records delivered fewer times are never held back


class Limits(NamedTuple):
    """The group's configuration. most_in_flight: offsets from start to end."""

    most_in_flight: int
    most_deliveries: int
    lock_ms: int
    renews: bool
    dead_letters: bool = False

    @property
    def given_up(self) -> RecordState:
        """What a record becomes that nobody shall have any more."""
        if self.dead_letters:
            return RecordState.ARCHIVING
        return RecordState.ARCHIVED


class Acquired(NamedTuple):
    """Records that a member has acquired, by the names of the fields."""

    first_offset: int
    last_offset: int
    delivery_count: int


class Asked(NamedTuple):
    """What one fetch asks for. most_records: a soft limit, or a hard one if strict is
    set. batch_size: long runs are cut into pieces of about this many records.
    """

    member_id: str
    most_records: int
    batch_size: int
    strict: bool


class Read(NamedTuple):
    """The records that a fetch read. fetch_offset: where it began to read. batches: of
    the log. aborted: offsets of aborted transactions, which no member may get.
    """

    fetch_offset: int
    batches: Sequence[Range]
    aborted: Sequence[Range] = ()


class Acquiring:
    """One fetch on its way through the records."""

    def __init__(
        self, window: Window, limits: Limits, asked: Asked, read: Read, now_ms: int
    ) -> None:
        self._window = window
        self._limits = limits
        self._asked = asked
        self._read = read
        self._lock_ends_ms = now_ms + limits.lock_ms
        self._acquired: list[Acquired] = []
        self._count = 0
        self._left = 0

    def acquire(self) -> list[Acquired]:
        """Acquire records. Returns those that the member has now."""
        window = self._window
        batches = self._read.batches
        read_nothing = not batches or batches[-1].last < window.start_offset
        if read_nothing or self._asked.most_records <= 0:
            return []
        last, self._left = self._room(batches[-1].last)
        if self._left <= 0:
            return []
        first = batches[0].first
        window.archive_missing(self._read.fetch_offset, first)
        base = self._base(first)
        known = window.batches.beginning(min(first, base), last)
        if known:
            self._acquire_known(known, base, Range(first, last))
            if self._acquired:
                window.move_gap(self._acquired[-1].last_offset + 1)
        else:
            self._acquire_new(Range(base, last))
        return self._without_aborted()

    def _room(self, last: int) -> tuple[int, int]:
        """The offset up to which records may be acquired, and how many. If no more may
        be in flight, only records that came back can be acquired.
        """
        most = self._asked.most_records
        fetch_offset = self._read.fetch_offset
        end_offset = self._window.end_offset
        may_be_added = self._limits.most_in_flight - self._window.in_flight
        left = min(most, may_be_added)
        if left <= 0 and fetch_offset <= end_offset:
            left = min(most, end_offset - fetch_offset + 1)
            last = min(last, end_offset)
        return last, left

    def _base(self, first: int) -> int:
        """The offset at which acquiring begins: the fetch may have read from the middle
        of a batch in flight, or from before the start offset.
        """
        floor = self._window.batches.at_or_before(first)
        if floor is None:
            return max(first, self._window.start_offset)
        return floor.first if floor.last >= first else first

    def _acquire_known(self, known: list[Batch], base: int, read: Range) -> None:
        """Acquire from batches in flight, from the gaps between them, and from the
        records after them.
        """
        gap = base
        for batch in known:
            if self._left <= 0:
                return
            if self._window.open_gap is not None:
                if gap < batch.first:
                    self._acquire_new(Range(gap, batch.first - 1))
                gap = batch.last + 1
                if self._left <= 0:
                    return
            if not self._acquire_again(batch, read):
                return
        after = Range(known[-1].last + 1, read.last)
        if self._left > 0 and after.first <= after.last:
            self._acquire_new(after)

    def _acquire_again(self, batch: Batch, read: Range) -> bool:
        """Acquire the free records of a batch in flight. Returns whether to go on after
        it.
        """
        is_held_back = self._is_held_back(batch, read)
        has_others = self._count > 0
        if is_held_back and has_others:
            return False
        was_read = read.first <= batch.first and batch.last <= read.last
        is_too_long = self._asked.strict and len(batch) > self._left
        may_go_as_one = was_read and not is_too_long and not is_held_back
        if batch.is_whole:
            part = batch.whole
            if not part.is_free:
                return True
            if may_go_as_one:
                part.acquire(self._asked.member_id, self._lock_ends_ms)
                acquired = Acquired(part.first, part.last, part.delivery_count)
                self._took([acquired], len(batch))
                return True
            batch.split()
        count = self._acquire_one_by_one(batch, read)
        return not (is_held_back and count)

    def _acquire_one_by_one(self, batch: Batch, read: Range) -> int:
        """Acquire records one by one from a batch that was split. Returns how many. The
        more often they were delivered, the fewer go together, and for the last delivery
        each goes alone: a record that crashes its consumer then takes few others with
        it.
        """
        most = self._limits.most_deliveries
        few_from = _few_from(most)
        few: int | None = None
        taken: list[Acquired] = []
        for part in batch.within(*read):
            if not part.is_free:
                continue
            is_last_time = most > 2 and part.delivery_count == most - 1
            if is_last_time and taken:
                break
            if few is None and part.delivery_count >= few_from:
                # half of the batch, and half as many with each further delivery
                halvings = part.delivery_count - few_from + 1
                few = max(1, len(batch) >> halvings)
            part.acquire(self._asked.member_id, self._lock_ends_ms)
            taken.append(Acquired(part.first, part.last, part.delivery_count))
            if is_last_time or len(taken) == few:
                break
            if self._asked.strict and len(taken) == self._left:
                break
        self._took(_joined(taken), len(taken))
        return len(taken)

    def _is_held_back(self, batch: Batch, read: Range) -> bool:
        """Whether a free record of the batch was delivered so often that only a few may
        go together.
        """
        few_from = _few_from(self._limits.most_deliveries)
        parts = batch.parts if batch.is_whole else batch.within(*read)
        return any(part.is_free and part.delivery_count >= few_from for part in parts)

    def _acquire_new(self, wanted: Range) -> None:
        """Acquire records that were never delivered."""
        window = self._window
        first, last = wanted
        if not window.batches and window.end_offset > first:
            first = window.end_offset
        if self._left < last - first + 1:
            last_wanted = first + self._left - 1
            end_of_batch = _end_of_batch_with(self._read.batches, last_wanted)
            passes_gap = window.open_gap is not None and end_of_batch > last
            if not passes_gap:
                last = end_of_batch
        acquired = self._put(Range(first, last))
        if window.batches.first.first == first:
            window.start_offset = first
        window.end_offset = max(window.end_offset, last)
        if self._asked.strict:
            last = acquired[0].last_offset
        window.move_gap(last + 1)
        self._took(acquired, last - first + 1)

    def _put(self, new: Range) -> list[Acquired]:
        """Put new records in flight, in batches of about the requested size. If the
        limit is strict, only the first ones are acquired, and the others are free.
        """
        asked = self._asked
        runs = [new]
        if not asked.strict:
            runs = _runs(self._read.batches, new, asked.batch_size)
        acquired = []
        for first, last in runs:
            part = InFlight(first, last, RecordState.AVAILABLE, 0)
            batch = Batch(part)
            self._window.batches.put(batch)
            if asked.strict and len(batch) > self._left:
                batch.split()
                last = first + self._left - 1
                self._window.may_find_free = True
            for each in batch.within(first, last):
                each.acquire(asked.member_id, self._lock_ends_ms)
            acquired.append(Acquired(first, last, FIRST_DELIVERY))
        return acquired

    def _without_aborted(self) -> list[Acquired]:
        """The acquired records without those of aborted transactions, which are
        archived.
        """
        left = self._acquired
        for gone in self._read.aborted:
            for batch in self._window.batches.overlapping(gone.first, gone.last):
                self._window.archive(batch, gone, RecordState.ACQUIRED)
            acquired, left = left, []
            for each in acquired:
                left += _without(each, gone)
        return left

    def _took(self, acquired: Iterable[Acquired], count: int) -> None:
        self._acquired += acquired
        self._count += count
        self._left -= count


def _few_from(most_deliveries: int) -> int:
    """The number of deliveries from which on only a few records go together."""
    return max(FEWEST_DELIVERIES, ceil(most_deliveries / 2))


def _joined(taken: Sequence[Acquired]) -> list[Acquired]:
    """Join neighbours that were delivered equally often."""
    joined: list[Acquired] = []
    for each in taken:
        if joined:
            last = joined[-1]
            are_neighbours = last.last_offset + 1 == each.first_offset
            if are_neighbours and last.delivery_count == each.delivery_count:
                joined[-1] = last._replace(last_offset=each.last_offset)
                continue
        joined.append(each)
    return joined


def _runs(read: Sequence[Range], new: Range, size: int) -> list[Range]:
    """Cut new records at the beginnings of the log's batches, into runs of at least
    `size` records.
    """
    runs = []
    first, last = new
    if last - first + 1 > size:
        for base, _ in read:
            if base > last:
                break
            if base > first and base - first >= size:
                runs.append(Range(first, base - 1))
                first = base
    return [*runs, Range(first, last)]


def _end_of_batch_with(read: Sequence[Range], offset: int) -> int:
    """The last offset of the log's batch that holds an offset; the offset itself if
    there is none.
    """
    found = None
    for each in read:
        if offset < each.first:
            break
        found = each
    if found is not None and offset <= found.last:
        return found.last
    return offset


def _without(acquired: Acquired, gone: Range) -> list[Acquired]:
    """The acquired records without those in a range."""
    if acquired.last_offset < gone.first or acquired.first_offset > gone.last:
        return [acquired]
    pieces = []
    if acquired.first_offset < gone.first:
        pieces.append(acquired._replace(last_offset=gone.first - 1))
    if acquired.last_offset > gone.last:
        pieces.append(acquired._replace(first_offset=gone.last + 1))
    return pieces
