"""Opening a log that is already on disk, after a clean stop, a dead process or a power loss; and cutting its end.

What lies below the recovery point was synced, and isn't read again. Of each segment there only the end is looked at:
do log and indexes fit together (Kafka's sanity check)? If not, the segment is read, with its checksums, and its
indexes are built anew. It is cut where a batch is wrong; the segments behind it stay.

What lies behind the recovery point is read batch by batch. The first batch that is torn or wrong ends the log: it was
written last, or not synced before the power went. After a clean stop there is no such part.

What is lost is told, in sentences, by the generator's result. A synced segment in which not even the first batch is
right isn't cut: it may be another's file, and the log is refused.

The metadata log is stricter, since nothing could tell what it has lost. It is read from its beginning, and up to
`committed` everything must be there. Each of its batches is synced before the next one is written, so a crash tears
the last one or none: a wrong batch below `committed`, or with a whole one behind it, is damage. Then the log is
refused, and stays as it is.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, NamedTuple

from minikafka.storage import compaction
from minikafka.storage.checkpoints import LOG_START_OFFSETS
from minikafka.storage.checks import End, read_valid, whole_batch_in
from minikafka.storage.errors import unusable
from minikafka.storage.segment import INDEX, LOG, MAX_OFFSET, TIME_INDEX, Segment, file_name, offset_in
from minikafka.wire.errors import CorruptRecord, KafkaError
from minikafka.wire.records import BATCH_OVERHEAD, BatchHeader

if TYPE_CHECKING:
    from minikafka.storage.log import Log

_LEFTOVERS = (".deleted", ".tmp")


class Span(NamedTuple):
    """A segment and where it ends: at the next one's base offset. synced: all of it lies below the recovery point."""

    segment: Segment
    end: int
    synced: bool


class Recovery:
    """The recovery of one log. told: what is lost, a plain sentence each."""

    def __init__(self, log: Log, budget_bytes: int, clean: bool, committed: int | None) -> None:
        self.told: list[str] = []
        self._log = log
        self._budget_bytes = budget_bytes
        self._clean = clean
        self._committed = committed
        self._ends: dict[int, int] = {}  # base offset of a segment -> the offset behind its last batch
        self._misfits: dict[int, str] = {}  # base offset of a segment -> what doesn't fit at its end
        self._dropped_bytes, self._why = 0, ""

    def run(self) -> Generator[int, None, list[str]]:
        """Make the log ready: see Log.recover."""
        log = self._log
        if log.epochs.damaged:
            self.told.append(f"{log.directory}: the list of leader epochs is damaged, and begins anew")
        suspects = self._open_segments()
        start, first = log.log_start_offset, log.segments[0].base_offset
        log.log_start_offset = max(log.log_start_offset, first)
        log.recovery_point = max(log.recovery_point, first)
        log.producers.find_snapshots(log.disk.listdir(log.directory))
        suspects |= self._look()
        yield from self._check(suspects, synced=True)
        try:
            yield from _replay_producers(log, self._end() if self._clean else log.recovery_point)
        except CorruptRecord:  # somewhere between the ends that were looked at
            suspects = {segment.base_offset for segment in log.segments}
            yield from self._check(suspects, synced=True)
            unsynced = [span.segment.base_offset for span in self._spans() if not span.synced]
            yield from _replay_producers(log, min(unsynced, default=self._end()))
        yield from self._check(suspects, synced=False)
        self._tell_of_gaps()
        self._settle(start)
        if log.trace and not self._clean:
            why = self._why or "every batch is whole"
            log.tell(
                "LogRecovered", log_end_offset=log.log_end_offset, dropped_bytes=self._dropped_bytes, why=why
            )
        return self.told

    def _spans(self) -> list[Span]:
        log = self._log
        ends = [segment.base_offset for segment in log.segments[1:]] + [MAX_OFFSET]
        return [
            Span(segment, end, self._clean or end <= log.recovery_point)
            for segment, end in zip(log.segments, ends, strict=True)
        ]

    def _end(self) -> int:
        return self._ends[self._log.active.base_offset]

    def _open_segments(self) -> set[int]:
        """Open the segments, delete leftovers. Returns base offsets of those whose indexes are missing. Files with
        other names than ours are left alone.
        """
        log = self._log
        compaction.finish_swap(log)
        names = {name: offset for name in log.disk.listdir(log.directory) if (offset := offset_in(name)) is not None}
        found = sorted(offset for name, offset in names.items() if name == file_name(offset, LOG))
        orphans = {offset for name, offset in names.items() if name.endswith((INDEX, TIME_INDEX))} - set(found)
        for orphan in sorted(orphans):
            self.told.append(
                f"{log.directory}/{file_name(orphan, LOG)} is missing, and its index is there: the records in it, if "
                "there were any, are lost"
            )
        for name, offset in names.items():
            if (offset in orphans and name.endswith((INDEX, TIME_INDEX))) or name.endswith(_LEFTOVERS):
                log.disk.remove(f"{log.directory}/{name}")
        missing = {offset for offset in found for kind in (INDEX, TIME_INDEX) if file_name(offset, kind) not in names}
        log.segments = [log.open_segment(offset) for offset in found or [log.log_start_offset]]
        return missing

    def _look(self) -> set[int]:
        """Look at the ends of the synced segments. Returns base offsets of those that don't look right."""
        suspects = set()
        for segment, end, synced in self._spans():
            if synced:
                try:
                    self._ends[segment.base_offset] = segment.next_offset()
                except KafkaError as error:
                    suspects.add(segment.base_offset)
                    self._misfits[segment.base_offset] = error.message
                else:
                    if self._ends[segment.base_offset] > end:
                        suspects.add(segment.base_offset)
        return suspects

    def _check(self, suspects: set[int], synced: bool) -> Generator[int, None, None]:
        """Read the suspects among the synced segments, or all that are not synced, from the recovery point on."""
        for span in self._spans():
            segment, suspect = span.segment, span.segment.base_offset in suspects
            if span.synced != synced or (synced and not suspect):
                continue
            found = yield from self._check_segment(span, suspect)
            self._ends[segment.base_offset] = found.next_offset
            if found.why:
                self._cut(span, found)
            elif segment.base_offset in self._misfits:
                why = self._misfits[segment.base_offset]
                whole = f"it is whole up to offset {found.next_offset}, and has new indexes"
                self.told.append(f"{segment.path(LOG)}: {why}; {whole}")
            if segment is not self._log.active:
                segment.seal()
            if found.why and not synced:
                return

    def _check_segment(self, span: Span, suspect: bool) -> Generator[int, None, End]:
        log, segment = self._log, span.segment
        where = None if suspect else _go_to(segment, log.recovery_point)
        if where is None:
            segment.truncate_indexes(segment.base_offset)
        position, next_offset = where or (0, segment.base_offset)

        def use(at: int, header: BatchHeader) -> None:
            segment.note(at, header)
            log.epochs.assign(header.partition_leader_epoch, header.base_offset)
            if header.base_offset >= log.producers.end_offset:
                log.producers.replay(header)

        dense = self._committed is not None
        return (yield from read_valid(segment, position, next_offset, span.end, dense, self._budget_bytes, use))

    def _cut(self, span: Span, found: End) -> None:
        """Cut a segment where its valid batches end; one that isn't synced ends the log."""
        log, segment = self._log, span.segment
        later = [] if span.synced else log.segments[log.segments.index(segment) + 1 :]
        if self._committed is not None:
            self._refuse_damage(span, found, bool(later))
        if span.synced and found.position == 0:
            raise unusable(segment.path(LOG), f"is not what was written there: {found.why}. Put the right file back")
        lost_bytes = segment.size - found.position + sum(each.size for each in later)
        _remove_segments(log, len(log.segments) - len(later))
        segment.log.truncate(found.position)
        last = f" to {span.end - 1}" if span.synced and span.end < MAX_OFFSET else " on"
        self.told.append(
            f"{log.directory}: {lost_bytes} bytes are dropped, from offset {found.next_offset}{last}: {found.why}"
        )
        if segment is not log.active:
            self._ends[segment.base_offset] = span.end  # the gap is told
        self._dropped_bytes, self._why = self._dropped_bytes + lost_bytes, found.why

    def _refuse_damage(self, span: Span, found: End, more: bool) -> None:
        """Raise unless all that is wrong is one torn batch at the end that nobody was told of."""
        assert self._committed is not None
        segment = span.segment
        if more or found.next_offset < self._committed or whole_batch_in(segment, found.position):
            raise unusable(
                segment.path(LOG), f"is damaged at offset {found.next_offset}: {found.why}. Put a good copy back"
            )

    def _tell_of_gaps(self) -> None:
        """Between two segments of a log that was never compacted no offset is missing."""
        log = self._log
        if self._committed is None and (log.config.compacts or log.first_dirty_offset):
            return
        for segment, end, _ in self._spans()[:-1]:
            next_offset = self._ends.get(segment.base_offset, end)
            if next_offset < end:
                gap = f"{log.directory}: offsets {next_offset} to {end - 1} are missing"
                if self._committed is not None:
                    raise unusable(segment.path(LOG), f"ends too early: {gap}. Put a good copy back")
                self.told.append(gap)

    def _settle(self, asked_start_offset: int) -> None:
        """Where the log ends, and what follows from that. asked_start_offset: where it begins, says its checkpoint."""
        log = self._log
        log.log_end_offset = end = self._end()
        first = log.segments[0]
        if self._committed is not None and (end < self._committed or first.base_offset > 0):
            has = f"has offsets {first.base_offset} to {end} of 0 to {self._committed}"
            raise unusable(first.path(LOG), f"{has}. Put a good copy back")
        self._settle_start(asked_start_offset)
        log.recovery_point = log.log_end_offset if self._clean else min(log.recovery_point, log.log_end_offset)
        log.first_dirty_offset = min(log.first_dirty_offset, log.log_end_offset)
        log.epochs.truncate_from_end(log.log_end_offset)
        log.epochs.truncate_from_start(log.log_start_offset)
        log.producers.end_offset = log.log_end_offset
        log.producers.remove_snapshots(after=log.log_end_offset)
        log.producers.keep_snapshots({segment.base_offset for segment in log.segments})

    def _settle_start(self, asked: int) -> None:
        """The list of leader epochs begins where the log does, and is written first when that moves: a checkpoint that
        is ahead of it is wrong, and would hide records.
        """
        log = self._log
        begins = log.epochs.entries[0][1] if log.epochs.entries else asked
        if begins < asked and asked > log.segments[0].base_offset:
            says = f"says that {log.directory} begins at offset {asked}, and its leader epochs begin at {begins}"
            raise unusable(LOG_START_OFFSETS, f"{says}. Correct that line, or remove the file")
        if log.log_end_offset < log.log_start_offset:
            start_over(log, log.log_start_offset)


def _go_to(segment: Segment, recovery_point: int) -> tuple[int, int] | None:
    """Cut the indexes off at the recovery point. Returns where that is: (position, next offset); None if the segment
    doesn't look like having got so far.
    """
    if recovery_point <= segment.base_offset:
        return None
    segment.truncate_indexes(recovery_point)
    entry = segment.index.last
    if entry and not segment.agrees(entry):
        return None
    position, next_offset = entry.value if entry else 0, segment.base_offset
    try:
        for at, header in segment.headers(position, recovery_point):
            segment.note(at, header)
            position, next_offset = at + header.size_bytes, header.next_offset
    except KafkaError:
        return None
    return (position, next_offset) if position <= segment.size and next_offset == recovery_point else None


# -- producers, and the end


def _remove_segments(log: Log, first: int) -> None:
    for segment in log.segments[first:]:
        segment.remove()
    del log.segments[first:]


def _replay_producers(log: Log, up_to_offset: int) -> Generator[int, None, None]:
    """Rebuild the state of the producers before an offset: the newest snapshot, then the headers behind it."""
    producers = log.producers
    producers.load(up_to_offset)
    producers.end_offset = max(producers.end_offset, log.log_start_offset)
    ends = [segment.base_offset for segment in log.segments[1:]] + [up_to_offset]
    for segment, end in zip(log.segments, ends, strict=True):
        start = producers.end_offset
        if start < min(end, up_to_offset):
            for _, header in segment.headers(segment.position_before(start), up_to_offset):
                if header.last_offset >= start:
                    producers.replay(header)
                    yield BATCH_OVERHEAD
    producers.end_offset = up_to_offset


def truncate(log: Log, offset: int) -> int:
    """Cut the log's end off. Returns the new log end offset: `offset`, or less if a batch holds it."""
    kept = max(number for number, segment in enumerate(log.segments) if segment.base_offset <= offset)
    _remove_segments(log, kept + 1)
    found = log.active.locate(offset)
    if found is not None:
        position, header = found
        offset = min(offset, header.base_offset)
        log.active.truncate(position)
        log.active.flush()
    log.epochs.truncate_from_end(offset)
    log.producers.remove_snapshots(after=offset)
    for _ in _replay_producers(log, offset):
        pass
    return offset


def start_over(log: Log, offset: int) -> None:
    """Drop everything and begin at an offset."""
    _remove_segments(log, 0)
    log.segments.append(log.open_segment(offset))
    log.active.flush()
    log.epochs.clear()
    log.producers.reset(offset)
    log.log_start_offset = log.log_end_offset = log.recovery_point = log.first_dirty_offset = offset
