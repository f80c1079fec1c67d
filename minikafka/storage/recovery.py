"""Opening a log that is already on disk, after a clean stop, a dead process or a power loss; and cutting its end.

After a clean stop nothing is checked: the last index entry is near the end, and a snapshot holds the producers. After
a crash, everything below the recovery point is still known to be on disk; what lies behind it is read once, batch by
batch, with its checksum. The first batch that is torn or wrong ends the log: it was written last, or not synced
before the power went. Indexes and producers are rebuilt on the way.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from minikafka.storage import compaction
from minikafka.storage.segment import INDEX, LOG, TIME_INDEX, Segment, file_name
from minikafka.wire.records import BATCH_OVERHEAD, BatchHeader

if TYPE_CHECKING:
    from minikafka.storage.log import Log

_LEFTOVERS = (".deleted", ".tmp")


def recover(log: Log, budget_bytes: int, clean: bool) -> Generator[int, None, None]:
    """Make the log ready: see Log.recover."""
    rebuild = _open_segments(log)
    log.log_start_offset = max(log.log_start_offset, log.segments[0].base_offset)
    log.recovery_point = max(log.recovery_point, log.segments[0].base_offset)
    log.producers.find_snapshots(log.disk.listdir(log.directory))
    dropped_bytes, why = 0, ""
    if clean and not rebuild:
        log.log_end_offset = log.recovery_point = log.active.next_offset()
        yield from _replay_producers(log, log.log_end_offset)
    else:
        yield from _replay_producers(log, log.recovery_point)
        dropped_bytes, why = yield from _check(log, budget_bytes, rebuild)
    if log.log_end_offset < log.log_start_offset:
        start_over(log, log.log_start_offset)
    log.recovery_point = min(log.recovery_point, log.log_end_offset)
    log.first_dirty_offset = min(log.first_dirty_offset, log.log_end_offset)
    log.epochs.truncate_from_end(log.log_end_offset)
    log.epochs.truncate_from_start(log.log_start_offset)
    log.producers.end_offset = log.log_end_offset
    log.producers.remove_snapshots(after=log.log_end_offset)
    log.producers.keep_snapshots({segment.base_offset for segment in log.segments})
    if log.trace and not clean:
        why = why or "every batch is whole"
        log.tell("LogRecovered", log_end_offset=log.log_end_offset, dropped_bytes=dropped_bytes, why=why)


def _open_segments(log: Log) -> set[int]:
    """Open the segments, delete leftovers. Returns base offsets of those whose indexes are missing."""
    compaction.finish_swap(log)
    names = set(log.disk.listdir(log.directory))
    base_offsets = sorted(
        int(name[: -len(LOG)]) for name in names if name.endswith(LOG) and name[: -len(LOG)].isdigit()
    )
    for name in names:
        stem, dot, suffix = name.partition(".")
        orphan = dot + suffix in (INDEX, TIME_INDEX) and file_name(int(stem), LOG) not in names
        if orphan or name.endswith(_LEFTOVERS):
            log.disk.remove(f"{log.directory}/{name}")
    missing = {base for base in base_offsets for suffix in (INDEX, TIME_INDEX) if file_name(base, suffix) not in names}
    log.segments = [log.open_segment(base_offset) for base_offset in base_offsets or [log.log_start_offset]]
    return missing


def _check(log: Log, budget_bytes: int, rebuild: set[int]) -> Generator[int, None, tuple[int, str]]:
    """Check the log behind the recovery point. Returns how many bytes were dropped, and why."""
    dropped_bytes, why = 0, ""
    ends = [segment.base_offset for segment in log.segments[1:]] + [None]
    for number, (segment, end) in enumerate(zip(list(log.segments), ends, strict=True)):
        if end is not None and end <= log.recovery_point and segment.base_offset not in rebuild:
            continue
        size_before = segment.size
        why = yield from _check_segment(log, segment, budget_bytes, segment.base_offset in rebuild)
        if why:
            dropped_bytes = size_before - segment.size + sum(later.size for later in log.segments[number + 1 :])
            _remove_segments(log, number + 1)
            break
    log.log_end_offset = log.active.next_offset()
    return dropped_bytes, why


def _check_segment(log: Log, segment: Segment, budget_bytes: int, whole: bool) -> Generator[int, None, str]:
    """Check one segment from the recovery point on, or from its beginning. Returns why it was cut, or ""."""
    start = segment.base_offset if whole else max(segment.base_offset, log.recovery_point)
    position = segment.truncate_indexes(start)
    next_offset = segment.base_offset
    for at, header in segment.headers(position, start) if start > segment.base_offset else ():
        segment.note(at, header)
        position, next_offset = at + header.size_bytes, header.next_offset

    def use(at: int, header: BatchHeader) -> None:
        segment.note(at, header)
        log.epochs.assign(header.partition_leader_epoch, header.base_offset)
        if header.base_offset >= log.producers.end_offset:
            log.producers.replay(header)

    why = yield from segment.check(position, next_offset, budget_bytes, use)
    if segment is not log.active:
        segment.seal()
    return why


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
