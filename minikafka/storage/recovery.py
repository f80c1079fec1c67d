"""Recovery opens a log that is already on disk, after a clean stop, a dead process or a
power loss.

What lies below the recovery point was synced, and isn't read again. Recovery looks only
at the end of each segment there: do log and indexes fit together (Kafka's sanity
check)? If not, it reads the segment, checks every batch, and builds the indexes anew.
It cuts the segment where a batch is wrong; the segments behind it stay.

What lies behind the recovery point is read batch by batch. The first batch that is torn
or wrong ends the log: it was written last, or not synced before the power went. After a
clean stop there is no such part.

What is lost is told in sentences. A synced segment in which not even the first batch is
right isn't cut: it may be another's file, and the log is refused.

The metadata log is stricter, since nothing could tell what it has lost. It is read from
its beginning, and up to `committed` everything must be there. Each of its batches is
synced before the next one is written, so a crash tears the last one or none: a wrong
batch below `committed`, or with a whole one behind it, is damage. Then the log is
refused, and stays as it is.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from minikafka.storage import compaction
from minikafka.storage.checkpoints import LOG_START_OFFSETS
from minikafka.storage.checks import epochs_anew, epochs_fit
from minikafka.storage.disk import unusable
from minikafka.storage.file_names import (
    INDEX,
    INDEXES,
    LOG,
    TIME_INDEX,
    file_name,
    files_in,
)
from minikafka.storage.segment import Segment, with_ends
from minikafka.trace import Reason
from minikafka.wire.errors import CorruptRecord, KafkaError
from minikafka.wire.internal_records import decode_end_transaction
from minikafka.wire.records import (
    BATCH_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    BatchHeader,
    check_crc,
    crc_matches,
    read_header,
)

if TYPE_CHECKING:
    from minikafka.storage.log import Log

_LEFTOVERS = (".deleted", ".tmp")


@dataclass(eq=False)
class Part:
    """A segment, and what recovery finds out about it.

    end: where the next segment begins. synced: all of the segment lies below the
    recovery point. suspect: its end doesn't look right, so it is read from its
    beginning. misfit: what doesn't look right, if that is to be told. position,
    next_offset: behind its last batch, as far as that is known.
    """

    segment: Segment
    end: int
    synced: bool
    suspect: bool
    misfit: str = ""
    position: int = 0
    next_offset: int = 0


@dataclass(eq=False, repr=False)
class Recovery:
    """The recovery of one log: see Log.recover."""

    _log: "Log"
    _budget_bytes: int
    _tell: Callable[[str], object]
    _clean: bool
    _committed: range | None
    _parts: list[Part] = field(default_factory=list)
    _dropped_bytes: int = 0
    _why: str = ""

    def run(self) -> Generator[int, None, None]:
        """Make the log ready."""
        log = self._log
        if log.epochs.damaged:
            self._tell(
                f"{log.directory}: the list of leader epochs is damaged, and begins"
                " anew"
            )
        without_index = self._open_segments()
        start, first = log.log_start_offset, log.segments[0].base_offset
        # as they were stored
        epochs_begin = log.epochs.entries[0][1] if log.epochs.entries else start
        log.log_start_offset = max(log.log_start_offset, first)
        log.recovery_point = max(log.recovery_point, first)
        for segment, end in with_ends(log.segments):
            synced = self._clean or end <= log.recovery_point
            self._parts.append(
                Part(segment, end, synced, segment.base_offset in without_index)
            )
            self._look(self._parts[-1])
        last = self._parts[-1]
        known = (
            last.next_offset or last.segment.base_offset
            if self._clean
            else log.recovery_point
        )
        log.producers.find_snapshots()
        log.producers.load(known, log.log_start_offset)
        for part in self._parts:  # a part that ends the log removes those behind it
            yield from self._recover(part, min(part.end, known))
        self._tell_of_gaps()
        self._settle(start, epochs_begin)
        if self._clean and self._committed is None:
            log.unchecked = range(log.log_start_offset, log.log_end_offset)
        elif self._committed is None:
            log.unchecked = range(log.log_start_offset, known)
        if log.trace and not self._clean:
            why = (
                Reason("damaged", self._why)
                if self._why
                else Reason("whole", "every batch is whole")
            )
            log.tell(
                "LogRecovered",
                log_end_offset=log.log_end_offset,
                dropped_bytes=self._dropped_bytes,
                why=why,
            )

    def _open_segments(self) -> set[int]:
        """Open the segments and delete leftovers, nothing else. Returns base offsets of
        those that lack an index.
        """
        log = self._log
        compaction.finish_swap(log)
        names = files_in(log.disk, log.directory, "")
        found = sorted(
            offset for name, offset in names.items() if name == file_name(offset, LOG)
        )
        orphans = {
            offset
            for name, offset in names.items()
            if name.endswith((INDEX, TIME_INDEX))
        } - set(found)
        for orphan in sorted(orphans):
            what = (
                "is missing, and its index is there: the records in it, if there were"
                " any, are lost"
            )
            self._tell(f"{log.directory}/{file_name(orphan, LOG)} {what}")
            if orphan >= log.log_start_offset:
                log.damaged_at(orphan)
        for name, offset in names.items():
            if (offset not in found and name.endswith(INDEXES)) or name.endswith(
                _LEFTOVERS
            ):
                log.disk.remove(f"{log.directory}/{name}")
        log.segments = [
            log.open_segment(offset) for offset in found or [log.log_start_offset]
        ]
        return {
            offset
            for offset in found
            for kind in (INDEX, TIME_INDEX)
            if file_name(offset, kind) not in names
        }

    def _look(self, part: Part) -> None:
        """Look at the end of a synced segment."""
        if part.synced:
            try:
                part.next_offset = part.segment.next_offset()
            except KafkaError as error:
                part.misfit = error.message
            part.suspect = (
                part.suspect or bool(part.misfit) or part.next_offset > part.end
            )

    def _recover(self, part: Part, known: int) -> Generator[int, None, None]:
        """Replay a segment's batches below `known` for the state of the producers, as
        far as no snapshot has them. Read the segment if it isn't synced, or not right.
        """
        if not part.suspect:
            try:
                yield from self._log.producers.replay_segment(part.segment, known)
            except KafkaError as error:  # somewhere before the end that was looked at
                part.suspect, part.misfit = True, error.message
                yield from self._log.replay_producers(part.segment.base_offset)
        if part.suspect or not part.synced:
            yield from self._read(part)

    def _read(self, part: Part) -> Generator[int, None, None]:
        """Read a segment, from the recovery point on if it can be found, and cut it
        where it is wrong.
        """
        log, segment = self._log, part.segment
        where = None if part.suspect else _go_to(segment, log.recovery_point)
        if where is None:
            segment.truncate_indexes(segment.base_offset)
            if log.producers.end_offset > segment.base_offset:
                yield from log.replay_producers(segment.base_offset)
        part.position, part.next_offset = where or (0, segment.base_offset)
        segment.aborted.truncate(part.next_offset)
        why = yield from self._note_batches(part)
        if why:
            self._cut(part, why)
        elif part.misfit:
            whole = f"it is whole up to offset {part.next_offset}, and has new indexes"
            self._tell(f"{segment.path(LOG)}: {part.misfit}; {whole}")
        if segment is not log.active:
            segment.seal()

    def _note_batches(self, part: Part) -> Generator[int, None, str]:
        """Take the batches from part.position on into account, and move it behind them.
        Returns what is wrong there; "" at the end of the file.
        """
        log, segment, size = self._log, part.segment, part.segment.size
        why, wanted = "", self._budget_bytes
        while part.position < size and not why:
            piece = memoryview(segment.log.pread(wanted, part.position))
            at, wanted = 0, self._budget_bytes
            while at < len(piece):
                left = size - part.position - at
                if len(piece) - at < min(left, BATCH_OVERHEAD):
                    break
                try:
                    header = read_header(piece, at)
                    self._check_header(part, header, left)
                    if header.size_bytes > len(piece) - at:
                        wanted = max(self._budget_bytes, header.size_bytes)
                        break
                    check_crc(piece, header, at)
                except KafkaError as error:
                    why = error.message
                    break
                if header.base_offset > part.next_offset and not log.may_have_gaps:
                    log.damaged_at(part.next_offset)
                segment.note(part.position + at, header)
                log.epochs.assign(header.partition_leader_epoch, header.base_offset)
                if header.base_offset >= log.producers.end_offset:
                    marker = (
                        decode_end_transaction(piece[at : at + header.size_bytes])
                        if header.control
                        else None
                    )
                    log.note_producer(segment, header, marker)
                at += header.size_bytes
                part.next_offset = header.next_offset
            part.position += at
            yield len(piece)
        return why

    def _check_header(self, part: Part, header: BatchHeader, left: int) -> None:
        """Raise CorruptRecord unless a batch with this header can come next. left:
        bytes to the end of the file. In the metadata log no offset is missing.
        """
        if header.size_bytes > left:
            raise CorruptRecord(
                f"the last batch has only {left} of its {header.size_bytes} bytes"
            )
        first, last, wanted = header.base_offset, header.last_offset, part.next_offset
        gap = first > wanted and self._committed is not None
        if first < wanted or last < first or last >= part.end or gap:
            raise CorruptRecord(f"a batch of offset {first} where {wanted} comes next")
        if last > part.segment.max_offset:
            raise CorruptRecord(
                f"offset {last} is too large for a segment that begins at"
                f" {part.segment.base_offset}"
            )

    def _cut(self, part: Part, why: str) -> None:
        """Cut a segment where its valid batches end; one that isn't synced ends the
        log.
        """
        log, segment = self._log, part.segment
        kept = len(self._parts) if part.synced else self._parts.index(part) + 1
        lost_bytes = (
            segment.size
            - part.position
            + sum(each.segment.size for each in self._parts[kept:])
        )
        if self._committed is not None:
            self._refuse_damage(part, why)
        if part.synced and part.position == 0:
            raise unusable(
                segment.path(LOG),
                f"is not what was written there: {why}. Put the right file back",
            )
        del self._parts[kept:]
        log.drop_segments(kept)
        segment.log.truncate(part.position)
        last = (
            f" to {part.end - 1}"
            if part.synced and part is not self._parts[-1]
            else " on"
        )
        self._tell(
            f"{log.directory}: {lost_bytes} bytes are dropped, from offset"
            f" {part.next_offset}{last}: {why}"
        )
        if part.synced:
            log.damaged_at(part.next_offset)
        if segment is not log.active:
            part.next_offset = part.end  # the gap is told
        self._dropped_bytes, self._why = self._dropped_bytes + lost_bytes, why

    def _refuse_damage(self, part: Part, why: str) -> None:
        """Refuse the log, unless only its last batch is torn, and never was
        committed.
        """
        assert self._committed is not None
        more = not part.synced and part is not self._parts[-1]
        if (
            more
            or part.next_offset < self._committed.stop
            or _whole_batch_in(part.segment, part.position)
        ):
            damage = f"is damaged at offset {part.next_offset}: {why}"
            raise unusable(part.segment.path(LOG), f"{damage}. Put a good copy back")

    def _tell_of_gaps(self) -> None:
        """Between two segments of a log that was never compacted no offset is
        missing.
        """
        log = self._log
        if self._committed is None and log.may_have_gaps:
            return
        for part in self._parts[:-1]:
            if part.next_offset < part.end:
                gap = (
                    f"{log.directory}: offsets {part.next_offset} to {part.end - 1} are"
                    " missing"
                )
                if self._committed is not None:
                    raise unusable(
                        part.segment.path(LOG),
                        f"ends too early: {gap}. Put a good copy back",
                    )
                self._tell(gap)
                log.damaged_at(part.next_offset)

    def _settle(self, asked_start_offset: int, epochs_begin: int) -> None:
        """Set the offsets of the log. asked_start_offset: the log start offset of its
        checkpoint.
        """
        log = self._log
        log.log_end_offset = end = self._parts[-1].next_offset
        first = log.segments[0]
        wanted = self._committed
        if wanted is not None and (
            end < wanted.stop or first.base_offset > wanted.start
        ):
            has = (
                f"has offsets {first.base_offset} to {end} of {wanted.start} to"
                f" {wanted.stop}"
            )
            raise unusable(first.path(LOG), f"{has}. Put a good copy back")
        self._settle_start(asked_start_offset, epochs_begin)
        if not epochs_fit(log):
            if not log.epochs.damaged:  # that was told
                self._tell(
                    f"{log.directory}: the list of leader epochs is not the log's, and"
                    " made anew from it"
                )
            epochs_anew(log)
        if self._clean:
            log.recovery_point = log.log_end_offset
        log.end_at(log.log_end_offset)
        log.epochs.truncate_from_start(log.log_start_offset)

    def _settle_start(self, asked: int, begins: int) -> None:
        """Check the log start offset of the checkpoint. The leader epochs begin there
        too, and are synced first when it moves: a checkpoint that is ahead of them is
        wrong, and would hide records.
        """
        log = self._log
        if begins < asked and asked > log.segments[0].base_offset:
            says = (
                f"says that {log.directory} begins at offset {asked}, and its leader"
                f" epochs begin at {begins}"
            )
            raise unusable(
                LOG_START_OFFSETS, f"{says}. Correct that line, or remove the file"
            )
        if log.log_end_offset < log.log_start_offset:
            log.truncate_fully_and_start_at(log.log_start_offset)


def _go_to(segment: Segment, recovery_point: int) -> tuple[int, int] | None:
    """Cut the indexes off at the recovery point. Returns its (position, next offset);
    None if it doesn't seem there.
    """
    if recovery_point <= segment.base_offset:
        return None
    try:
        position, next_offset = segment.reindex(recovery_point)
    except KafkaError:
        return None
    return (
        (position, next_offset)
        if position <= segment.size and next_offset == recovery_point
        else None
    )


def _whole_batch_in(segment: Segment, position: int) -> bool:
    """Whether a whole batch begins anywhere behind this position."""
    data = segment.log.pread(segment.size - position, position)
    for at in range(1, len(data) - BATCH_OVERHEAD + 1):
        if data[at + MAGIC_AT] == MAGIC:
            try:
                if crc_matches(data, read_header(data, at), at):
                    return True
            except KafkaError:
                continue
    return False
