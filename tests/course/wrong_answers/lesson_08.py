"""Lesson 08: write the cleaner; find the last good byte."""

import struct
from itertools import chain

from minikafka.course.experiments.lesson_08_runs import crc32c
from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right


def parted(segments, now_ms, lag_ms):
    """(what may be cleaned, what may not), as one list each."""
    end = len(segments) - 1
    for number, segment in enumerate(segments[:-1]):
        if any(now_ms - record.timestamp_ms < lag_ms for record in segment):
            end = number
            break
    return list(chain(*segments[:end])), list(chain(*segments[end:]))


def settled(record, now_ms, retention_ms):
    """A tombstone that stays, or None."""
    if record.value is not None:
        return record
    if record.horizon_ms is None:
        return record._replace(horizon_ms=now_ms + retention_ms)
    return record if record.horizon_ms > now_ms else None


@right(1)
def from_the_end(segments, now_ms, min_compaction_lag_ms, delete_retention_ms):
    """Backwards: the first of a key that it meets is the last one."""
    old, rest = parted(segments, now_ms, min_compaction_lag_ms)
    seen, kept = set(), []
    for record in reversed(old):
        if record.key not in seen:
            seen.add(record.key)
            kept.append(settled(record, now_ms, delete_retention_ms))
    return [record for record in reversed(kept) if record] + rest


@right(1)
def a_table_of_records(segments, now_ms, min_compaction_lag_ms, delete_retention_ms):
    old, rest = parted(segments, now_ms, min_compaction_lag_ms)
    table = {}
    for record in old:
        table.pop(record.key, None)
        table[record.key] = record
    stays = (settled(record, now_ms, delete_retention_ms) for record in table.values())
    return [record for record in stays if record is not None] + rest


@right(1)
def as_a_generator(segments, now_ms, min_compaction_lag_ms, delete_retention_ms):
    old, rest = parted(segments, now_ms, min_compaction_lag_ms)
    last = {record.key: record for record in old}
    for record in old:
        if last[record.key] is record:
            stays = settled(record, now_ms, delete_retention_ms)
            if stays:
                yield stays
    yield from rest


@right(1)
def plain_tuples(segments, now_ms, min_compaction_lag_ms, delete_retention_ms):
    return [
        tuple(record)
        for record in as_a_generator(
            segments, now_ms, min_compaction_lag_ms, delete_retention_ms
        )
    ]


@wrong(1, "offset 0 is still there: 'alice' appears again")
def keeps_all(segments, now_ms, min_compaction_lag_ms, delete_retention_ms):
    return list(chain(*segments))


@wrong(1, "offset 0 is gone, but should stay")
def active_hides(segments, now_ms, min_compaction_lag_ms, delete_retention_ms):
    everything = list(chain(*segments))
    last = {record.key: record.offset for record in everything}
    return [record for record in everything if last[record.key] == record.offset]


@wrong(1, "is gone, but should stay")
def without_the_active_one(
    segments, now_ms, min_compaction_lag_ms, delete_retention_ms
):
    old, _ = parted(segments, now_ms, min_compaction_lag_ms)
    last = {record.key: record.offset for record in old}
    return [record for record in old if last[record.key] == record.offset]


@wrong(1, "is still there")
def segment_by_segment(segments, now_ms, min_compaction_lag_ms, delete_retention_ms):
    kept = []
    for segment in segments[:-1]:
        last = {record.key: record.offset for record in segment}
        kept += [record for record in segment if last[record.key] == record.offset]
    return kept + segments[-1]


@wrong(1, "offsets go up", "is gone, but should stay")
def new_offsets(segments, now_ms, min_compaction_lag_ms, delete_retention_ms):
    kept = as_a_generator(segments, now_ms, min_compaction_lag_ms, delete_retention_ms)
    return [record._replace(offset=number) for number, record in enumerate(kept)]


@wrong(1, "in another order")
def by_first_offset_of_a_key(
    segments, now_ms, min_compaction_lag_ms, delete_retention_ms
):
    """A dict keeps the place where a key came first."""
    old, rest = parted(segments, now_ms, min_compaction_lag_ms)
    last = {record.key: record for record in old}
    stays = (settled(record, now_ms, delete_retention_ms) for record in last.values())
    return [record for record in stays if record] + rest


@wrong(1, "is gone, but should stay")
def by_the_newest_timestamp(
    segments, now_ms, min_compaction_lag_ms, delete_retention_ms
):
    old, rest = parted(segments, now_ms, min_compaction_lag_ms)
    last = {}
    for record in old:
        if (
            record.key not in last
            or record.timestamp_ms >= last[record.key].timestamp_ms
        ):
            last[record.key] = record
    return [record for record in old if last[record.key] is record] + rest


@wrong(1, "its segment isn't cleaned", "is gone, but should stay")
def young_records_only(segments, now_ms, min_compaction_lag_ms, delete_retention_ms):
    """Spares the young records, and not what lies behind them."""
    old = list(chain(*segments[:-1]))
    last = {record.key: record.offset for record in old}
    kept = []
    for record in old:
        young = now_ms - record.timestamp_ms < min_compaction_lag_ms
        if young or last[record.key] == record.offset:
            stays = record if young else settled(record, now_ms, delete_retention_ms)
            kept += [stays] if stays else []
    return kept + segments[-1]


@wrong(1, "is still there", "is gone, but should stay")
def exactly_that_age_is_young(
    segments, now_ms, min_compaction_lag_ms, delete_retention_ms
):
    return list(
        as_a_generator(segments, now_ms, min_compaction_lag_ms + 1, delete_retention_ms)
    )


@wrong(1, "is gone, but should stay")
def tombstones_go_at_once(segments, now_ms, min_compaction_lag_ms, delete_retention_ms):
    old, rest = parted(segments, now_ms, min_compaction_lag_ms)
    last = {record.key: record for record in old}
    stay = (record for record in old if last[record.key] is record)
    return [record for record in stay if record.value is not None] + rest


@wrong(1, "but should be")
def no_horizon(segments, now_ms, min_compaction_lag_ms, delete_retention_ms):
    old, rest = parted(segments, now_ms, min_compaction_lag_ms)
    last = {record.key: record for record in old}
    return [record for record in old if last[record.key] is record] + rest


@wrong(1, "but should be")
def the_horizon_moves(segments, now_ms, min_compaction_lag_ms, delete_retention_ms):
    """Each pass gives a tombstone another day."""
    old, rest = parted(segments, now_ms, min_compaction_lag_ms)
    last = {record.key: record for record in old}
    kept = []
    for record in old:
        if last[record.key] is not record:
            continue
        if record.value is None:
            if record.horizon_ms is not None and record.horizon_ms <= now_ms:
                continue
            record = record._replace(horizon_ms=now_ms + delete_retention_ms)
        kept.append(record)
    return kept + rest


@wrong(1, "is still there: its horizon, ")
def horizon_now_is_future(segments, now_ms, min_compaction_lag_ms, delete_retention_ms):
    kept = as_a_generator(segments, now_ms, min_compaction_lag_ms, delete_retention_ms)
    lost = {
        record.offset: record
        for record in chain(*segments)
        if record.value is None and record.horizon_ms == now_ms
    }
    old, _ = parted(segments, now_ms, min_compaction_lag_ms)
    last = {record.key: record.offset for record in old}
    again = [each for each in lost.values() if last.get(each.key) == each.offset]
    return sorted({*kept, *again})


@wrong(1, "but should be", "is gone, but should stay")
def horizon_from_the_timestamp(
    segments, now_ms, min_compaction_lag_ms, delete_retention_ms
):
    old, rest = parted(segments, now_ms, min_compaction_lag_ms)
    last = {record.key: record for record in old}
    kept = []
    for record in old:
        if last[record.key] is record:
            if record.value is None and record.horizon_ms is None:
                record = record._replace(
                    horizon_ms=record.timestamp_ms + delete_retention_ms
                )
            if record.value is not None or record.horizon_ms > now_ms:
                kept.append(record)
    return kept + rest


@wrong(1, "is gone, but should stay")
def an_empty_value_is_a_tombstone(
    segments, now_ms, min_compaction_lag_ms, delete_retention_ms
):
    old, rest = parted(segments, now_ms, min_compaction_lag_ms)
    last = {record.key: record for record in old if record.value}
    return [record for record in old if last.get(record.key) is record] + rest


@wrong(1, "its horizon, 0, is past")
def a_horizon_of_0_is_none(
    segments, now_ms, min_compaction_lag_ms, delete_retention_ms
):
    old, rest = parted(segments, now_ms, min_compaction_lag_ms)
    last = {record.key: record for record in old}
    kept = []
    for record in old:
        if last[record.key] is not record:
            continue
        if record.value is None:
            if not record.horizon_ms:
                record = record._replace(horizon_ms=now_ms + delete_retention_ms)
            elif record.horizon_ms <= now_ms:
                continue
        kept.append(record)
    return kept + rest


@wrong(1, "is still there")
def an_empty_segment_ends_it(
    segments, now_ms, min_compaction_lag_ms, delete_retention_ms
):
    closed = segments[:-1]
    empty = next((at for at, each in enumerate(closed) if not each), len(closed))
    kept = as_a_generator(
        [*segments[:empty], list(chain(*segments[empty:]))],
        now_ms,
        min_compaction_lag_ms,
        delete_retention_ms,
    )
    return list(kept)


@wrong(1, "without segments")
def still_segments(segments, now_ms, min_compaction_lag_ms, delete_retention_ms):
    return segments


@right(2)
def with_struct(data):
    at = 0
    while at + 61 <= len(data):
        (length,) = struct.unpack_from(">i", data, at + 8)
        (checksum,) = struct.unpack_from(">I", data, at + 17)
        if not 9 <= length <= len(data) - at - 12:
            break
        if crc32c(bytes(data[at + 21 : at + 12 + length])) != checksum:
            break
        at += 12 + length
    return at


@right(2)
def one_after_the_other(data):
    if len(data) < 21:
        return 0
    end = 12 + int.from_bytes(data[8:12], "big", signed=True)
    if end < 21 or end > len(data):
        return 0
    if crc32c(data[21:end]) != int.from_bytes(data[17:21], "big"):
        return 0
    return end + one_after_the_other(data[end:])


@wrong(2, "it returned")
def all_of_it(data):
    return len(data)


@wrong(2, "it returned")
def without_the_checksum(data):
    at = 0
    while at + 12 <= len(data):
        end = at + 12 + int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        if end > len(data) or end <= at:
            break
        at = end
    return at


@wrong(2, "it returned")
def the_torn_one_counts(data):
    at = 0
    while at + 12 <= len(data):
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    return min(at, len(data))


@wrong(2, "it returned")
def skips_the_damaged_one(data):
    """What comes after damage is counted again."""
    at = good = 0
    while at + 21 <= len(data):
        length = int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        end = at + 12 + length
        if length < 9 or end > len(data):
            break
        if crc32c(data[at + 21 : end]) == int.from_bytes(
            data[at + 17 : at + 21], "big"
        ):
            good = end
        at = end
    return good


@wrong(2, "it returned")
def how_many_batches(data):
    count = at = 0
    while at < (end := with_struct(data)):
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
        count += at <= end
    return count


@wrong(2, "a whole number")
def the_bytes_themselves(data):
    return data[: with_struct(data)]


@wrong(2, "it returned")
def checksum_of_everything(data):
    at = 0
    while at + 21 <= len(data):
        end = at + 12 + int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        stored = int.from_bytes(data[at + 17 : at + 21], "big")
        if end > len(data) or crc32c(data[at:end]) != stored:
            break
        at = end
    return at


@wrong(2, "it returned")
def length_with_the_header(data):
    at = 0
    while at + 21 <= len(data):
        end = at + int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        stored = int.from_bytes(data[at + 17 : at + 21], "big")
        if end <= at or end > len(data) or crc32c(data[at + 21 : end]) != stored:
            break
        at = end
    return at


@wrong(2, "it raised")
def twelve_bytes_are_always_there(data):
    at = 0
    while at < len(data):
        (length,) = struct.unpack(">i", data[at + 8 : at + 12])
        (checksum,) = struct.unpack(">I", data[at + 17 : at + 21])
        end = at + 12 + length
        if length < 9 or end > len(data) or crc32c(data[at + 21 : end]) != checksum:
            break
        at = end
    return at


@wrong(2, "it returned")
def whatever_there_is_of_it(data):
    """The checksum alone decides."""
    at = 0
    while at + 21 <= len(data):
        length = int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
        end = at + 12 + length
        stored = int.from_bytes(data[at + 17 : at + 21], "big")
        if length < 9 or crc32c(data[at + 21 : end]) != stored:
            break
        at = end
    return at


@wrong(2, "it returned")
def little_endian(data):
    at = 0
    while at + 21 <= len(data):
        length = int.from_bytes(data[at + 8 : at + 12], "little", signed=True)
        end = at + 12 + length
        if length < 9 or end > len(data):
            break
        at = end
    return at


@wrong(2, "it returned")
def any_length_above_0(data):
    """The checksum of nothing is 0, as that of a disk's zeros."""
    at = 0
    while at + 21 <= len(data):
        (length,) = struct.unpack_from(">i", data, at + 8)
        (checksum,) = struct.unpack_from(">I", data, at + 17)
        end = at + 12 + length
        if length < 1 or end > len(data):
            break
        if crc32c(bytes(data[at + 21 : end])) != checksum:
            break
        at = end
    return at
