"""What is deleted at the front of a log: whole segments, never a part of one. And the end of a log whose topic was
deleted. A topic that is only compacted loses nothing but what lies below its log start offset.

Three reasons, in Kafka's order: the segment lies below the log start offset; the log would still be as large as
retention.bytes without it; its largest timestamp is older than retention.ms. Only a run of segments from the first on
can go. If all of them are to go, even the active one, a new segment is rolled first, so that the log keeps its end
offset. So records live longer than retention.ms says: until their whole segment is that old, and the next pass comes
(log.retention.check.interval.ms).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from minikafka.storage.data_folder import DELETE, remove, rename

if TYPE_CHECKING:
    from minikafka.storage.log import Log
    from minikafka.storage.segment import Segment


def clean_up(log: Log, now_ms: int) -> None:
    """One pass."""
    delete_below_start(log)
    if log.config.deletes:
        _delete_by_size(log)
        _delete_by_age(log, now_ms)


def delete_below_start(log: Log) -> None:
    """Delete segments whose records all lie before the log start offset."""
    count = sum(1 for following in log.segments[1:] if following.base_offset <= log.log_start_offset)
    _delete(log, count, "its records lie before the log start offset")


def _delete_by_size(log: Log) -> None:
    limit = log.config.retention_bytes
    if limit < 0:
        return
    surplus = log.size_bytes - limit
    count = 0
    for segment in log.segments:
        if surplus < segment.size or _is_empty_end(log, segment):
            break
        surplus -= segment.size
        count += 1
    _delete(log, count, f"the log is larger than retention.bytes ({limit})")


def _delete_by_age(log: Log, now_ms: int) -> None:
    limit = log.config.retention_ms
    if limit < 0:
        return

    def old(segment: Segment) -> bool:
        if now_ms - _youngest_ms(segment, now_ms) <= limit:
            return False
        segment.check_largest()  # a damaged time index makes no record old
        return now_ms - _youngest_ms(segment, now_ms) > limit

    count = _leading(log, old)
    _delete(log, count, f"all its records are older than retention.ms ({limit})")


def _leading(log: Log, deletable: Callable[[Segment], bool]) -> int:
    """How many segments from the first on may go. An empty active segment stays."""
    count = 0
    for segment in log.segments:
        if _is_empty_end(log, segment) or not deletable(segment):
            break
        count += 1
    return count


def _is_empty_end(log: Log, segment: Segment) -> bool:
    return segment is log.active and segment.size == 0


def _youngest_ms(segment: Segment, now_ms: int) -> int:
    """The largest timestamp; without one, the time of the last append as far as this process knows it."""
    timestamp = segment.largest[0]
    if timestamp >= 0:
        return timestamp
    if segment.appended_ms is None:
        segment.appended_ms = now_ms
    return segment.appended_ms


def _delete(log: Log, count: int, why: str) -> None:
    if not count:
        return
    if count == len(log.segments):
        log.roll(log.log_end_offset, "all older segments are to be deleted", sync=False)
        log.active.flush()  # else a power loss could take the only file that still knows the log end offset
    gone, log.segments = log.segments[:count], log.segments[count:]
    log.move_start(log.segments[0].base_offset, why)
    for number, segment in enumerate(gone):
        following = gone[number + 1] if number + 1 < count else log.segments[0]
        size_bytes = segment.size
        segment.remove()
        if log.trace:
            log.tell("SegmentDeleted", base_offset=segment.base_offset,
                next_offset=following.base_offset, size_bytes=size_bytes, why=why,
            )  # fmt: skip
    log.producers.remove_snapshots(before=log.segments[0].base_offset)


def delete_log(log: Log) -> Generator[int, None, None]:
    """Remove a log: renamed first, so that a crash in between leaves no half of it under its name."""
    for segment in log.segments:
        segment.close()
    log.segments = []
    yield from remove(log.disk, rename(log.disk, log.directory, DELETE))
