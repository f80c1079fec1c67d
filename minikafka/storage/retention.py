"""Retention deletes whole segments at the front of a log, never a part of one. A topic
that is only compacted loses nothing except segments below its log start offset.

Three reasons, in Kafka's order: the segment is below the log start offset; the log
would still have retention.bytes without it; its largest timestamp is older than
retention.ms. Only a run of segments beginning with the first can be deleted. If that
includes even the active segment, a new one is rolled first, so that the log keeps its
end offset. So records live longer than retention.ms says: until their whole segment is
that old, and the next pass comes (log.retention.check.interval.ms).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from minikafka.clock import how_long
from minikafka.storage.segment import with_ends
from minikafka.trace import Reason

if TYPE_CHECKING:
    from minikafka.storage.log import Log
    from minikafka.storage.segment import Segment

BELOW_START = Reason("log_start_offset", "its records lie before the log start offset")
ALL_ARE_DELETED = Reason("all_are_deleted", "all older segments are to be deleted")


def clean_up(log: "Log", now_ms: int) -> None:
    """Delete all segments that have a reason to be deleted now."""
    delete_below_start(log)
    if log.config.deletes and log.config.retention_bytes >= 0:
        _delete_by_size(log, log.config.retention_bytes)
    if log.config.deletes and log.config.retention_ms >= 0:
        _delete_by_age(log, log.config.retention_ms, now_ms)


def delete_below_start(log: "Log") -> None:
    """Delete segments whose records are all below the log start offset."""
    start = log.log_start_offset

    def lies_before(segment: "Segment", end: int) -> bool:
        return end <= start

    _delete(log, lies_before, BELOW_START)


def _delete_by_size(log: "Log", limit: int) -> None:
    surplus = log.size_bytes - limit

    def fits_into_surplus(segment: "Segment", end: int) -> bool:
        nonlocal surplus
        surplus -= segment.size
        return surplus >= 0

    why = f"the log is larger than retention.bytes ({limit})"
    _delete(log, fits_into_surplus, Reason("retention_bytes", why))


def _delete_by_age(log: "Log", limit: int, now_ms: int) -> None:
    def old(segment: "Segment", end: int) -> bool:
        if now_ms - _youngest_ms(segment, now_ms) <= limit:
            return False
        segment.check_largest()  # a damaged time index must not make a record look old
        return now_ms - _youngest_ms(segment, now_ms) > limit

    why = f"all its records are older than retention.ms ({how_long(limit)})"
    _delete(log, old, Reason("retention_ms", why), retention_ms=limit)


def _youngest_ms(segment: "Segment", now_ms: int) -> int:
    """The largest timestamp; if there is none, the time of the last append as far as
    this process knows it.
    """
    timestamp, _ = segment.largest
    if timestamp >= 0:
        return timestamp
    if segment.appended_ms is None:
        segment.appended_ms = now_ms
    return segment.appended_ms


def _delete(
    log: "Log",
    deletable: "Callable[[Segment, int], bool]",
    why: Reason,
    **limit: int,
) -> None:
    """Delete segments from the first on, while deletable(segment, end offset) holds. An
    empty active segment stays. limit: the setting that decides, for the trace.
    """
    count = 0
    for segment, end in with_ends(log.segments):
        is_empty = segment is log.active and not segment.size
        if is_empty or not deletable(segment, end):
            break
        count += 1
    if not count:
        return
    if count == len(log.segments):
        log.roll(log.log_end_offset, ALL_ARE_DELETED, sync=False)
    gone, log.segments = log.segments[:count], log.segments[count:]
    if log.segments[0] is log.active:
        # otherwise a power loss could take the only file that still knows where the log
        # was
        log.active.flush()
    start = log.segments[0].base_offset
    log.move_start(start, why)
    for segment, end in with_ends(gone, start):
        size_bytes = segment.size
        segment.remove()
        if log.trace:
            log.tell(
                "SegmentDeleted",
                base_offset=segment.base_offset,
                next_offset=end,
                size_bytes=size_bytes,
                why=why,
                **limit,
            )
    log.keep_snapshots()
