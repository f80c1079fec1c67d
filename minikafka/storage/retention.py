"""Retention deletes whole segments at the front of a log, never a part of one. A topic
that is only compacted loses nothing except segments below its log start offset.

Three reasons, in Kafka's order: the segment is below the log start offset; the log
would still have retention.bytes without it; its largest timestamp is older than
retention.ms. Only a run of segments beginning with the first can be deleted. If that
includes even the active segment, a new one is rolled first, so that the log keeps its
end offset. So records live longer than retention.ms says: until their whole segment is
that old, and the next pass comes (log.retention.check.interval.ms).
"""

from minikafka.clock import Now, how_long
from minikafka.storage.disk import as_storage_errors
from minikafka.storage.log import BELOW_START, Log
from minikafka.storage.segment import Segment
from minikafka.trace import Reason


def clean_up(log: Log, now: Now) -> None:
    """One pass of retention: delete old segments, and forget silent producers."""
    config = log.config
    with as_storage_errors(log.directory):
        start = log.log_start_offset
        log.delete_segments(lambda segment, end: end <= start, BELOW_START)
        if config.deletes and config.retention_bytes >= 0:
            _delete_by_size(log, config.retention_bytes)
        if config.deletes and config.retention_ms >= 0:
            _delete_by_age(log, config.retention_ms, now.wall_ms)
        log.producers.expire(now.wall_ms, config.producer_id_expiration_ms)


def _delete_by_size(log: Log, limit: int) -> None:
    surplus = log.size_bytes - limit

    def fits_into_surplus(segment: Segment, end: int) -> bool:
        nonlocal surplus
        surplus -= segment.size
        return surplus >= 0

    why = f"the log is larger than retention.bytes ({limit})"
    log.delete_segments(fits_into_surplus, Reason("retention_bytes", why))


def _delete_by_age(log: Log, limit: int, now_ms: int) -> None:
    def old(segment: Segment, end: int) -> bool:
        if now_ms - _youngest_ms(segment, now_ms) <= limit:
            return False
        segment.check_largest()  # a damaged time index must not make a record look old
        return now_ms - _youngest_ms(segment, now_ms) > limit

    too_old = f"older than retention.ms ({how_long(limit)})"
    log.delete_segments(
        old,
        Reason("retention_ms", f"all its records are {too_old}"),
        start_why=Reason("retention_ms", f"all records before it are {too_old}"),
        retention_ms=limit,
    )


def _youngest_ms(segment: Segment, now_ms: int) -> int:
    """The largest timestamp; if there is none, the time of the last append as far as
    this process knows it.
    """
    timestamp, _ = segment.largest
    if timestamp >= 0:
        return timestamp
    if segment.appended_ms is None:
        segment.appended_ms = now_ms
    return segment.appended_ms
