"""When a log's newest segment is closed and a new one begins (LogSegment.shouldRoll).

Age is measured in record timestamps, from the segment's first batch to the new ones, so
a quiet partition isn't rolled by time alone. Only if the first batch has no timestamp
is the time of the last append used instead.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from minikafka.clock import how_long
from minikafka.storage.config import LogConfig
from minikafka.storage.index import OFFSET_ENTRY_BYTES, TIME_ENTRY_BYTES
from minikafka.trace import Reason
from minikafka.wire.records import BatchHeader

if TYPE_CHECKING:
    from minikafka.storage.segment import Segment

LARGE_OFFSET = Reason("large_offset", "its indexes can't hold so large an offset")


def reason_to_roll(
    segment: "Segment",
    config: LogConfig,
    size_bytes: int,
    headers: Sequence[BatchHeader],
    now_ms: int | None,
) -> Reason | None:
    """Why a new segment has to begin for these batches; None if they may be appended to
    this one.
    """
    segment_bytes = segment.size
    if not segment_bytes:
        return None
    if segment_bytes + size_bytes > config.segment_bytes:
        why = f"it would become larger than segment.bytes ({config.segment_bytes})"
        return Reason("segment_bytes", why)
    first_ms = segment.first_timestamp
    has_timestamp = first_ms >= 0
    if has_timestamp:
        age_ms = max([header.max_timestamp for header in headers]) - first_ms
    else:
        age_ms = (now_ms or 0) - (segment.appended_ms or now_ms or 0)
    if age_ms > config.max_segment_ms:
        return _too_old(config, has_timestamp)
    if headers[-1].last_offset > segment.max_offset:
        return LARGE_OFFSET
    most_bytes = config.segment_index_bytes
    has_room = (
        segment.index.size_bytes + OFFSET_ENTRY_BYTES <= most_bytes
        # two entries, because the last one is written when the segment is closed
        and segment.time_index.size_bytes + 2 * TIME_ENTRY_BYTES <= most_bytes
    )
    if not has_room:
        why = f"its index is full (segment.index.bytes, {most_bytes})"
        return Reason("index_full", why)
    return None


def _too_old(config: LogConfig, has_timestamp: bool) -> Reason:
    limit_ms = config.max_segment_ms
    name = "segment.ms" if limit_ms == config.segment_ms else "max.compaction.lag.ms"
    limit = f"{name} ({how_long(limit_ms)})"
    if has_timestamp:
        why = (
            f"the new record is more than {limit} younger than the old segment's first"
        )
    else:
        why = f"the last append to the old segment was more than {limit} ago"
    return Reason(name.replace(".", "_"), why)
