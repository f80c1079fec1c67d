"""A share partition's place in its log: the records in flight, and the offsets before
and after them (KIP-932).

    offset   0 1 2 3 | 4 5 6 | 7 8 9 | 10 11 12 ...
             done    | with A| back  | never delivered
                     ^ start         ^ end 9

The state that was written may have gaps: records between others that count as never
delivered, because their member's broker failed before their outcome was written. They
are delivered like new records when their turn comes.
"""

from collections.abc import Iterable
from typing import NamedTuple

from minikafka.cluster.share_batches import (
    Batch,
    Batches,
    InFlight,
    RecordState,
    StateBatch,
)

NONE_YET = -1  # an offset that doesn't exist


class Range(NamedTuple):
    """A range of offsets, both ends included."""

    first: int
    last: int


class Window:
    """start_offset: all records before it are finished. end_offset: the last offset
    that was ever delivered; while nothing is in flight, the next one to be delivered.
    delivery_complete_count: how many records from the start offset on are finished
    (KIP-1226). may_find_free: whether records may have come back.
    """

    def __init__(self, start_offset: int, batches: Iterable[StateBatch] = ()) -> None:
        self.start_offset = self.end_offset = start_offset
        self.batches = Batches()
        self.delivery_complete_count = 0
        self.may_find_free = False
        # where a gap begins: records that were never delivered although later ones
        # were, up to _gaps_end
        self._gap: int | None = None
        self._gaps_end = NONE_YET
        self._restore(batches)

    def _restore(self, batches: Iterable[StateBatch]) -> None:
        begin = self.start_offset
        for first, last, state, count in batches:
            assert begin <= first <= last, "batches are in order, and don't overlap"
            if self._gap is None and first > begin:
                self._gap = begin
            begin = last + 1
            part = InFlight(first, last, RecordState(state), count)
            self.batches.put(Batch(part))
            if part.state.is_final:
                self.delivery_complete_count += last - first + 1
        if not self.batches:
            return
        self.may_find_free = True
        self.end_offset = self._gaps_end = self.batches.last.last
        self.move_start()

    # -- what can be fetched

    @property
    def in_flight(self) -> int:
        """How many offsets are in flight, including gaps."""
        if not self.batches:
            return 0
        return self.end_offset - self.start_offset + 1

    @property
    def _is_fresh(self) -> bool:
        return not self.batches or self.start_offset > self.batches.last.last

    def next_fetch_offset(self) -> int:
        """Where the next fetch begins to read: at the first free record, or else after
        everything that was delivered.
        """
        if self._is_fresh:
            self.may_find_free = False
            return self.end_offset
        free = self._first_free() if self.may_find_free else NONE_YET
        if free == NONE_YET:
            self.may_find_free = False
            return self.end_offset + 1
        return free

    def _first_free(self) -> int:
        gap = self.open_gap
        for batch in self.batches:
            if gap is not None:
                if batch.first > gap:
                    return gap
                gap = max(batch.last + 1, gap)
            for part in batch.parts:
                if part.is_free:
                    return part.first
        return NONE_YET

    # -- gaps

    @property
    def open_gap(self) -> int | None:
        """Where records begin that were never delivered although later ones were."""
        return self._gap if self._gaps_end == self.end_offset else None

    def move_gap(self, offset: int) -> None:
        if self.open_gap is not None and offset <= self._gaps_end:
            self._gap = offset
        else:
            self._gap = None

    def _close_gap(self) -> None:
        """Move the gap behind records that are in flight by now, because those aren't
        missing and needn't be waited for. (Apache Kafka checks this when it fetches
        there, which it may not do while the maximum is in flight.)
        """
        gap = self.open_gap
        while gap is not None and gap <= self._gaps_end:
            batch = self.batches.at_or_before(gap)
            if batch is None or batch.last < gap:
                break
            gap = batch.last + 1
        self._gap = gap if gap is not None and gap <= self._gaps_end else None

    # -- finished records

    def count(self, part: InFlight, sign: int) -> None:
        """Count finished records (sign 1), or uncount them (-1)."""
        if part.last >= self.start_offset:
            first = max(part.first, self.start_offset)
            self.delivery_complete_count += sign * (part.last - first + 1)

    def move_start(self) -> None:
        """Move the start offset past finished records, and forget those."""
        self._close_gap()
        if not self._starts_done:
            return
        last_done, done = self._done_from_start()
        if last_done == NONE_YET:
            return
        if last_done == self.batches.last.last:
            # records may have been deleted beyond those that were being written
            self.start_offset = max(self.start_offset, last_done + 1)
            self.end_offset = self.start_offset
            self.batches.clear()
            self.delivery_complete_count = 0
            return
        begin = last_done + 1
        batch = self.batches.at_or_before(last_done)
        assert batch is not None, "what is done with is in flight"
        if batch.last == last_done:
            following = self.batches.after(last_done)
            assert following is not None, "not all is done with"
            begin = following.first
            gap = self.open_gap
            if gap is not None:
                begin = min(gap, max(begin, self.start_offset))
                self.start_offset = begin
            keep_from = following.first
        else:
            keep_from = batch.first
        self.start_offset = max(self.start_offset, begin)
        self.delivery_complete_count -= done
        self.batches.drop_before(keep_from)

    @property
    def _starts_done(self) -> bool:
        """Whether the record at the start offset is finished."""
        batch = self.batches.at_or_before(self.start_offset)
        if batch is None:
            return False
        at = batch.parts if batch.is_whole else batch.within(*[self.start_offset] * 2)
        return all(part.is_done for part in at)

    def _done_from_start(self) -> tuple[int, int]:
        """The last offset up to which all records are finished, and how many records
        that is.
        """
        last_done, done = NONE_YET, 0
        gap = self.open_gap
        for batch in self.batches:
            if gap is not None and batch.last >= gap:
                break
            for part in batch.parts:
                if not part.is_done:
                    return last_done, done
                last_done = part.last
                if part.last >= self.start_offset:
                    done += part.last - max(part.first, self.start_offset) + 1
        return last_done, done

    # -- the log

    def log_starts_at(self, offset: int) -> None:
        """The log now begins after this share partition's start: records before that
        are gone.
        """
        if offset <= self.start_offset:
            return
        if not self.batches:
            self.start_offset = self.end_offset = offset
            self.delivery_complete_count = 0
            return
        gone = Range(self.start_offset, offset - 1)
        done = self._done_within(gone)
        for batch in self.batches.overlapping(*gone):
            self.archive(batch, gone, RecordState.AVAILABLE, counts=False)
        self.start_offset = offset
        self.delivery_complete_count -= done
        self.end_offset = max(self.end_offset, offset)

    def _done_within(self, gone: Range) -> int:
        done = 0
        for batch in self.batches.overlapping(*gone):
            for part in batch.within(*gone):
                if part.state.is_final:
                    first, last = max(part.first, gone.first), min(part.last, gone.last)
                    done += last - first + 1
        return done

    def archive_missing(self, fetch_offset: int, base: int) -> None:
        """Archive free records that are no longer in the log, because compaction
        removed them.
        """
        missing = Range(fetch_offset, base - 1)
        if fetch_offset < base:
            for batch in self.batches.overlapping(*missing):
                self.archive(batch, missing, RecordState.AVAILABLE)

    def archive(
        self, batch: Batch, gone: Range, state: RecordState, counts: bool = True
    ) -> None:
        """Archive the records of a batch that are in this range and in this state."""
        fits = gone.first <= batch.first and batch.last <= gone.last
        if batch.is_whole and not fits:
            if batch.whole.state is not state:
                return
            batch.split()
        for part in batch.within(*gone):
            if part.state is state:
                part.archive()
                self.may_find_free = True
                if counts:
                    self.delivery_complete_count += part.last - part.first + 1
