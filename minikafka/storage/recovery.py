"""Recovery opens a log that is already on disk, after a clean stop, a dead process or a
power loss.

Everything below the recovery point was synced, and isn't read again. Recovery looks
only at the end of each segment there: do log and indexes fit together (Kafka's sanity
check)? If not, it reads the segment, checks every batch, and rebuilds the indexes. It
cuts the segment where a batch is wrong; the segments after it stay.

Everything after the recovery point is read batch by batch. The first batch that is torn
or wrong ends the log: it was written last, or not synced before the power went. After a
clean stop there is no such part.

Losses are reported in sentences. If not even the first batch of a synced segment is
right, the segment isn't cut: it may be another log's file, so the whole log is refused.

The metadata log is stricter, because nothing else could say what it has lost. It is
read from its beginning, and up to `committed` everything must be there. Each of its
batches is synced before the next one is written, so a crash can tear only the last one:
a wrong batch below `committed`, or one with a whole batch after it, is damage. Then the
log is refused, and stays as it is.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field

from minikafka.storage import compaction
from minikafka.storage.checkpoints import LOG_START_OFFSETS
from minikafka.storage.checks import epochs_match, rebuild_epochs
from minikafka.storage.disk import as_storage_errors, unusable
from minikafka.storage.file_names import (
    INDEX,
    INDEXES,
    LOG,
    TIME_INDEX,
    file_name,
    files_in,
)
from minikafka.storage.log import Log
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

WHOLE = Reason("whole", "every batch is whole")
_LEFTOVERS = (".deleted", ".tmp")


def recover(
    log: Log,
    budget_bytes: int,
    tell: Callable[[str], object],
    clean: bool = False,
    committed: range | None = None,
) -> Generator[int, None, None]:
    """Open the segments of a log that are on the disk. tell: called with a
    plain sentence for each loss. clean: the last stop was clean, so everything is
    synced. committed: for the metadata log, the offsets that must all be there.

    Yields the bytes read, about budget_bytes at a time; when it ends, the log is ready.
    """
    with as_storage_errors(log.directory):
        yield from Recovery(log, budget_bytes, tell, clean, committed).run()


@dataclass(eq=False)
class Part:
    """A segment, and what recovery finds out about it.

    end: where the next segment begins. synced: the whole segment is below the recovery
    point. suspect: its end doesn't look right, so it is read from its beginning.
    misfit: what doesn't look right, if that is to be reported. position, next_offset:
    where its last batch ends, as far as that is known.
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
    """The recovery of one log: see recover."""

    _log: Log
    _budget_bytes: int
    _tell: Callable[[str], object]
    _clean: bool
    _committed: range | None
    _parts: list[Part] = field(default_factory=list)
    _dropped_bytes: int = 0
    _why: str = ""

    def run(self) -> Generator[int, None, None]:
        """Open the segments, check them, and make the log ready."""
        log = self._log
        if log.epochs.damaged:
            what = "the list of leader epochs is damaged, and is rebuilt"
            self._tell(f"{log.directory}: {what}")
        without_index = self._open_segments()
        # as stored in the checkpoints
        stored_start = log.log_start_offset
        epochs_begin = stored_start
        if log.epochs.entries:
            epochs_begin = log.epochs.entries[0].start_offset
        first = log.segments[0].base_offset
        log.log_start_offset = max(stored_start, first)
        log.recovery_point = max(log.recovery_point, first)
        self._look_at_parts(without_index)
        known = log.recovery_point
        if self._clean:
            last = self._parts[-1]
            known = last.next_offset or last.segment.base_offset
        log.producers.find_snapshots()
        log.producers.load(known, log.log_start_offset)
        for part in self._parts:  # a part that ends the log removes those after it
            yield from self._recover(part, min(part.end, known))
        self._tell_of_gaps()
        self._settle(stored_start, epochs_begin)
        if self._committed is None:
            checked_from = log.log_end_offset if self._clean else known
            log.unchecked = range(log.log_start_offset, checked_from)
        if log.trace and not self._clean:
            why = Reason("damaged", self._why) if self._why else WHOLE
            log.tell(
                "LogRecovered",
                log_end_offset=log.log_end_offset,
                dropped_bytes=self._dropped_bytes,
                why=why,
            )

    def _look_at_parts(self, without_index: set[int]) -> None:
        log = self._log
        for segment, end in with_ends(log.segments):
            part = Part(
                segment=segment,
                end=end,
                synced=self._clean or end <= log.recovery_point,
                suspect=segment.base_offset in without_index,
            )
            self._parts.append(part)
            self._look(part)

    def _open_segments(self) -> set[int]:
        """Open the segments and delete leftovers, nothing else. Returns the base
        offsets of segments that lack an index.
        """
        log = self._log
        compaction.finish_swap(log)
        names = files_in(log.disk, log.directory, "")
        found = [
            offset for name, offset in names.items() if name == file_name(offset, LOG)
        ]
        found.sort()
        self._tell_of_orphans(names, found)
        for name, offset in names.items():
            has_no_log = name.endswith(INDEXES) and offset not in found
            if has_no_log or name.endswith(_LEFTOVERS):
                log.disk.remove(f"{log.directory}/{name}")
        base_offsets = found or [log.log_start_offset]
        log.segments = [log.open_segment(offset) for offset in base_offsets]
        without_index = set()
        for offset in found:
            indexes = {file_name(offset, INDEX), file_name(offset, TIME_INDEX)}
            if not indexes <= names.keys():
                without_index.add(offset)
        return without_index

    def _tell_of_orphans(self, names: Mapping[str, int], found: list[int]) -> None:
        """Report indexes whose log file is missing."""
        log = self._log
        indexed = {
            offset
            for name, offset in names.items()
            if name.endswith((INDEX, TIME_INDEX))
        }
        for orphan in sorted(indexed.difference(found)):
            what = (
                "is missing, and its index is there: the records in it, if there were"
                " any, are lost"
            )
            self._tell(f"{log.directory}/{file_name(orphan, LOG)} {what}")
            if orphan >= log.log_start_offset:
                log.damaged_at(orphan)

    def _look(self, part: Part) -> None:
        """Look at the end of a synced segment, and mark it as suspect if something
        doesn't fit.
        """
        if not part.synced:
            return
        try:
            part.next_offset = part.segment.next_offset()
        except KafkaError as error:
            part.misfit = error.message
        if part.misfit or part.next_offset > part.end:
            part.suspect = True

    def _recover(self, part: Part, known: int) -> Generator[int, None, None]:
        """Replay a segment's batches below `known` for the state of the producers, as
        far as no snapshot covers them. Read the whole segment if it isn't synced, or
        isn't right.
        """
        if not part.suspect:
            try:
                yield from self._log.producers.replay_segment(part.segment, known)
            # a batch before the end that was looked at is wrong
            except KafkaError as error:
                part.suspect = True
                part.misfit = error.message
                yield from self._log.replay_producers(part.segment.base_offset)
        if part.suspect or not part.synced:
            yield from self._read(part)

    def _read(self, part: Part) -> Generator[int, None, None]:
        """Read a segment, from the recovery point on if that can be found, and cut it
        where a batch is wrong.
        """
        log = self._log
        segment = part.segment
        base_offset = segment.base_offset
        where = None if part.suspect else _go_to(segment, log.recovery_point)
        if where is None:
            segment.truncate_indexes(base_offset)
            if log.producers.end_offset > base_offset:
                yield from log.replay_producers(base_offset)
        part.position, part.next_offset = where or (0, base_offset)
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
        """Apply the batches from part.position on, moving it past each of them. Returns
        what is wrong with the next one; "" at the end of the file.
        """
        segment = part.segment
        size = segment.size
        wanted = self._budget_bytes
        why = ""
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
                segment.note(part.position + at, header)
                end = at + header.size_bytes
                self._note(part, header, piece[at:end])
                at = end
            part.position += at
            yield len(piece)
        return why

    def _note(self, part: Part, header: BatchHeader, batch: memoryview) -> None:
        log = self._log
        if header.base_offset > part.next_offset and not log.may_have_gaps:
            log.damaged_at(part.next_offset)
        log.epochs.assign(header.partition_leader_epoch, header.base_offset)
        if header.base_offset >= log.producers.end_offset:
            marker = decode_end_transaction(batch) if header.control else None
            log.note_producer(part.segment, header, marker)
        part.next_offset = header.next_offset

    def _check_header(self, part: Part, header: BatchHeader, left: int) -> None:
        """Raise CorruptRecord unless a batch with this header can come next. left:
        bytes to the end of the file. In the metadata log no offset may be missing.
        """
        if header.size_bytes > left:
            raise CorruptRecord(
                f"the last batch has only {left} of its {header.size_bytes} bytes"
            )
        first, last = header.base_offset, header.last_offset
        wanted = part.next_offset
        is_next = first == wanted or (first > wanted and self._committed is None)
        if not is_next or not first <= last < part.end:
            raise CorruptRecord(f"a batch of offset {first} where {wanted} comes next")
        if last > part.segment.max_offset:
            raise CorruptRecord(
                f"offset {last} is too large for a segment that begins at"
                f" {part.segment.base_offset}"
            )

    def _cut(self, part: Part, why: str) -> None:
        """Cut a segment where its valid batches end; if it isn't synced, the log ends
        there.
        """
        log = self._log
        segment = part.segment
        kept = len(self._parts)
        if not part.synced:
            kept = self._parts.index(part) + 1
        after = sum([each.segment.size for each in self._parts[kept:]])
        lost_bytes = segment.size - part.position + after
        if self._committed is not None:
            self._refuse_damage(part, why)
        if part.synced and part.position == 0:
            what = f"is not what was written there: {why}. Put the right file back"
            raise unusable(segment.path(LOG), what)
        del self._parts[kept:]
        log.drop_segments(kept)
        segment.log.truncate(part.position)
        offsets = f"{part.next_offset} on"
        if part.synced and part is not self._parts[-1]:
            offsets = f"{part.next_offset} to {part.end - 1}"
        self._tell(
            f"{log.directory}: {lost_bytes} bytes are dropped, from offset {offsets}:"
            f" {why}"
        )
        if part.synced:
            log.damaged_at(part.next_offset)
        if segment is not log.active:
            part.next_offset = part.end  # the gap is reported
        self._dropped_bytes += lost_bytes
        self._why = why

    def _refuse_damage(self, part: Part, why: str) -> None:
        """Refuse the log, unless only its last batch is torn and was never
        committed.
        """
        assert self._committed is not None
        more_follows = not part.synced and part is not self._parts[-1]
        was_committed = part.next_offset < self._committed.stop
        is_damage = more_follows or was_committed
        if is_damage or _whole_batch_in(part.segment, part.position):
            damage = f"is damaged at offset {part.next_offset}: {why}"
            raise unusable(part.segment.path(LOG), f"{damage}. Put a good copy back")

    def _tell_of_gaps(self) -> None:
        """Report missing offsets between two segments of a log that was never
        compacted.
        """
        log = self._log
        if self._committed is None and log.may_have_gaps:
            return
        for part in self._parts[:-1]:
            if part.next_offset >= part.end:
                continue
            missing = f"offsets {part.next_offset} to {part.end - 1} are missing"
            gap = f"{log.directory}: {missing}"
            if self._committed is not None:
                why = f"ends too early: {gap}. Put a good copy back"
                raise unusable(part.segment.path(LOG), why)
            self._tell(gap)
            log.damaged_at(part.next_offset)

    def _settle(self, asked_start_offset: int, epochs_begin: int) -> None:
        """Set the offsets of the log. asked_start_offset: the log start offset in its
        checkpoint.
        """
        log = self._log
        log.log_end_offset = self._parts[-1].next_offset
        if self._committed is not None:
            self._check_committed(self._committed)
            # The snapshot has everything before; this beginning is stored nowhere else.
            begins = min(epochs_begin, self._committed.start, log.log_end_offset)
            log.log_start_offset = max(log.log_start_offset, begins)
        self._settle_start(asked_start_offset, epochs_begin)
        if not epochs_match(log):
            if not log.epochs.damaged:  # that was reported already
                what = "the list of leader epochs does not fit the log, and is rebuilt"
                self._tell(f"{log.directory}: {what} from it")
            rebuild_epochs(log)
        if self._clean:
            log.recovery_point = log.log_end_offset
        log.end_at(log.log_end_offset)
        log.epochs.truncate_from_start(log.log_start_offset)

    def _check_committed(self, wanted: range) -> None:
        first = self._log.segments[0]
        begins, ends = first.base_offset, self._log.log_end_offset
        if begins > wanted.start or ends < wanted.stop:
            has = f"has offsets {begins} to {ends} of {wanted.start} to {wanted.stop}"
            raise unusable(first.path(LOG), f"{has}. Put a good copy back")

    def _settle_start(self, asked: int, begins: int) -> None:
        """Check the log start offset in the checkpoint. The leader epochs begin there
        too, and are synced first when it moves, so a checkpoint that is ahead of them
        is wrong, and would hide records.
        """
        log = self._log
        if begins < asked and asked > log.segments[0].base_offset:
            says = (
                f"says that {log.directory} begins at offset {asked}, and its leader"
                f" epochs begin at {begins}. Correct that line, or remove the file"
            )
            raise unusable(LOG_START_OFFSETS, says)
        if log.log_end_offset < log.log_start_offset:
            log.truncate_fully_and_start_at(log.log_start_offset)


def _go_to(segment: Segment, recovery_point: int) -> tuple[int, int] | None:
    """Cut the indexes off at the recovery point. Returns (position, next offset) there;
    None if the recovery point can't be found.
    """
    if recovery_point <= segment.base_offset:
        return None
    try:
        position, next_offset = segment.reindex(recovery_point)
    except KafkaError:
        return None
    if position > segment.size or next_offset != recovery_point:
        return None
    return position, next_offset


def _whole_batch_in(segment: Segment, position: int) -> bool:
    """Whether a whole batch begins anywhere after this position."""
    data = segment.log.pread(segment.size - position, position)
    for at in range(1, len(data) - BATCH_OVERHEAD + 1):
        if data[at + MAGIC_AT] != MAGIC:
            continue
        try:
            header = read_header(data, at)
        except KafkaError:
            continue
        if crc_matches(data, header, at):
            return True
    return False
