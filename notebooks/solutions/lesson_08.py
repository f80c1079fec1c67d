"""Lesson 08, storage: one solution an exercise. Each part replaces the stub in the
solved edition.
"""

from minikafka import lesson
from minikafka.course.experiments.lesson_08_runs import crc32c


# %% exercise 1
def clean(segments, now_ms, min_compaction_lag_ms, delete_retention_ms):
    """What stays of a log when a pass of the cleaner is over: records in the order of
    their offsets.
    """
    # What may be cleaned: closed segments, up to the first that has a young record.
    cleanable, untouched = [], []
    for segment in segments[:-1]:
        young = any(
            now_ms - record.timestamp_ms < min_compaction_lag_ms for record in segment
        )
        if young or untouched:
            untouched += segment
        else:
            cleanable += segment
    untouched += segments[-1]

    # The last offset of each key. What is untouched doesn't count.
    latest = {record.key: record.offset for record in cleanable}
    kept = []
    for record in cleanable:
        if record.offset < latest[record.key]:
            continue
        if record.value is None:
            if record.horizon_ms is None:
                record = record._replace(horizon_ms=now_ms + delete_retention_ms)
            elif record.horizon_ms <= now_ms:
                continue
        kept.append(record)
    return kept + untouched


# %% exercise 2
def whole_bytes(data):
    """How many bytes from the start on are whole batches."""
    at = 0
    while len(data) - at >= 21:
        length = int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        end = at + 12 + length
        if length < 9 or end > len(data):
            break
        checksum = int.from_bytes(data[at + 17 : at + 21], "big")
        if crc32c(data[at + 21 : end]) != checksum:
            break
        at = end
    return at


# %% exit ticket
lesson("08").exit_ticket(2, 1, 3, 2, 3)
