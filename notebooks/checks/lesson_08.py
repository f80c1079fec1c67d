"""Lesson 08, storage: what a right answer does."""

import itertools
import operator
import struct
from random import Random

from minikafka.course.experiments.lesson_08_runs import Record, crc32c, log_file
from minikafka.course.judging.checks import Exercise, Rung, WrongKind, short
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "alice's address and tombstone in one segment, 40 days old",
        right=2,
        why=(
            "2. Both records are in the active segment. The next record closes it,"
            " because the day is long over, and then the cleaner makes a pass. The"
            " broker looks at a segment's age only when a record arrives, and a restart"
            " closes nothing."
        ),
    ),
    Question(
        "a lag of 38 in a compacted partition",
        right=1,
        why=(
            "1. Offset 5 is in a gap, so the group gets 8, then 9, 41 and 42. A lag"
            " counts offsets, with or without a record."
        ),
    ),
    Question(
        "a service with a table, off for a weekend",
        right=3,
        why=(
            "3. By default a tombstone may go after a day, and the record it deleted"
            " is gone by then. No record is left that takes that key out of the old"
            " table, so the table has to go first. The lag says nothing about that."
        ),
    ),
    Question(
        "segment.ms and retention.ms of seven days each",
        right=2,
        why=(
            "2. Retention deletes whole segments, by the age of their newest record."
            " The first record of a segment is seven days older than the last one,"
            " and has to wait until that one is seven days old, too."
        ),
        lesson="01",
    ),
    Question(
        "a table in memory, and a committed offset",
        right=3,
        why=(
            "3. It goes on at its committed offset, but the crash has destroyed the"
            " table in its memory. Such a program has to read from the start, or to"
            " store the table and its offset together."
        ),
        lesson="04",
    ),
)

HOUR = 3_600_000
NOW = 500 * HOUR
SMALL_NOW = 1000
# name: segments, now_ms, min_compaction_lag_ms, delete_retention_ms
SEGMENTS, NOW_MS, LAG, RETENTION = range(4)
NAMES = ("segments", "now_ms", "min_compaction_lag_ms", "delete_retention_ms")
KEYS = ("alice", "Alice", "ali", "bob", "", "0", "Zoë", "bob ", "carol")
VALUES = ("12 Elm Street", "", "0", "None", "Straße 7")


# --- 1: write the cleaner ---


def made(*segments, lag=0, retention=24 * HOUR, now=NOW):
    """A case from segments that are written as (key, value, hours ago, horizon)."""
    offsets = itertools.count(3)
    records = [
        [record_of(next(offsets), *fields) for fields in segment]
        for segment in segments
    ]
    return records, now, lag, retention


def record_of(offset, key, value, hours_ago=9, horizon=None):
    return Record(offset, NOW - int(hours_ago * HOUR), key, value, horizon)


LATEST = {
    "the example": (
        [
            [Record(0, 0, "alice", "Elm"), Record(1, 10, "bob", "Oak")],
            [Record(2, 20, "alice", "Fir")],
            [Record(3, 30, "carol", "Ash")],
        ],
        1000,
        0,
        500,
    ),
    "twice in one segment": made(
        [("alice", "a"), ("bob", "b"), ("alice", "c")], [("zoe", "z")]
    ),
    "the same value again": made([("alice", "a")], [("alice", "a")], [("zoe", "z")]),
    "an older timestamp behind a newer one": made(
        [("alice", "new", 1), ("alice", "late", 30)], [("zoe", "z")]
    ),
    "an empty value is a value": made([("alice", "a"), ("alice", "")], [("zoe", "z")]),
    "an empty key is a key": made([("", "a"), ("bob", "b"), ("", "c")], [("zoe", "z")]),
    "names that look alike": made(
        [("alice", "a"), ("Alice", "b"), ("ali", "c")], [("zoe", "z")]
    ),
    "only the active segment": made([("alice", "a")]),
    "an empty segment in between": made(
        [("alice", "a")], [], [("alice", "b")], [("zoe", "z")]
    ),
}
ACTIVE = {
    "the example": (
        [
            [Record(0, 0, "alice", "Elm"), Record(1, 10, "bob", "Oak")],
            [Record(2, 20, "alice", "Fir")],
            [Record(3, 30, "alice", "Ash")],
        ],
        1000,
        0,
        500,
    ),
    "a key twice in the active one": made(
        [("bob", "b")], [("alice", "a"), ("alice", "c")]
    ),
    "an empty active segment": made([("alice", "a"), ("alice", "b")], []),
}
YOUNG = {
    "an hour, and a record of half an hour": made(
        [("alice", "a", 3)],
        [("alice", "b", 2), ("bob", "c", 0.5)],
        [("bob", "d", 0)],
        lag=HOUR,
    ),
    "exactly an hour is old enough": made(
        [("alice", "a", 1)], [("alice", "b", 1)], [("zoe", "z", 0)], lag=HOUR
    ),
    "an old segment behind a young one": made(
        [("alice", "a", 9)],
        [("bob", "b", 0)],
        [("alice", "c", 9)],
        [("zoe", "z", 0)],
        lag=HOUR,
    ),
    "young is the first of its segment": made(
        [("alice", "a", 0), ("bob", "b", 9)],
        [("bob", "c", 9)],
        [("zoe", "z", 0)],
        lag=HOUR,
    ),
    "a lag of 0": made([("alice", "a", 0)], [("alice", "b", 0)], [("zoe", "z", 0)]),
}
TOMBSTONES = {
    "the example": (
        [[Record(0, 0, "alice", "Elm"), Record(1, 10, "alice", None)], []],
        1000,
        0,
        500,
    ),
    "its horizon is over": made(
        [("alice", None, 99, NOW - 1), ("bob", "b")], [("zoe", "z")]
    ),
    "a horizon of 0 is over, too": made([("alice", None, 99, 0)], [("zoe", "z")]),
    "its horizon is now": made([("alice", None, 99, NOW)], [("zoe", "z")]),
    "its horizon comes in a moment": made(
        [("alice", None, 99, NOW + 1)], [("zoe", "z")]
    ),
    "alice comes back": made([("alice", None), ("alice", "a")], [("zoe", "z")]),
    "an old tombstone, and she came back": made(
        [("alice", None, 99, NOW + 1)], [("alice", "a")], [("zoe", "z")]
    ),
    "deleted twice": made(
        [("alice", None, 99, NOW + 5), ("alice", None)], [("zoe", "z")]
    ),
    "in the active segment": made([("alice", "a")], [("alice", None)]),
    "in a young segment": made(
        [("alice", "a", 9)], [("alice", None, 0)], [("zoe", "z", 0)], lag=HOUR
    ),
    "retention of 0": made([("alice", "a"), ("alice", None)], [], retention=0),
}


def exercise_1():
    """The cleaner in four rungs: the latest of each key; the active segment; what is
    too young; tombstones.
    """
    common = {"smaller": smaller, "describe": as_call, "broken": another}
    return Exercise(
        name="clean",
        right="your cleaner keeps what Kafka's keeps.",
        hints=(
            (
                "Go over the same records twice. The first time, note something for"
                " each key. The second time, decide record by record. Which segments do"
                " you go over?"
            ),
            (
                "First note the last offset of each key in the segments that may be"
                " cleaned. A record stays if its key doesn't appear there again. At the"
                " end, add the segments that may not be cleaned, as they are."
            ),
            (
                "If a tombstone that would stay has no horizon yet, keep"
                " record._replace(horizon_ms=now_ms + delete_retention_ms). If its"
                " horizon is now_ms or earlier, drop it. And which segments hold a young record?"
            ),
        ),
        rungs=(
            Rung(
                holds="in closed segments, only the last record for each key stays",
                cases=LATEST,
                scenario=lambda source: drawn(source, lonely=True),
                **common,
            ),
            Rung(
                holds="the active segment stays as it is, and its keys don't count for the others",
                cases=ACTIVE,
                scenario=drawn,
                **common,
            ),
            Rung(
                holds="from the first segment with a young record on, everything stays",
                cases=YOUNG,
                scenario=lambda source: drawn(source, ages=True),
                **common,
            ),
            Rung(
                holds="a tombstone stays until its horizon, and then it goes",
                cases=TOMBSTONES,
                scenario=lambda source: drawn(source, ages=True, tombstones=True),
                **common,
            ),
        ),
    )


def kept(segments, now_ms, lag_ms, retention_ms):
    """The right answer, as Kafka's cleaner has it."""
    end = len(segments) - 1
    for number, segment in enumerate(segments[:-1]):
        newest = max((record.timestamp_ms for record in segment), default=0)
        if lag_ms > 0 and newest > now_ms - lag_ms:
            end = number
            break
    cleanable = list(itertools.chain.from_iterable(segments[:end]))
    latest = {record.key: record.offset for record in cleanable}
    left = []
    for record in cleanable:
        is_over = record.horizon_ms is not None and record.horizon_ms <= now_ms
        if record.offset < latest[record.key] or (record.value is None and is_over):
            continue
        if record.value is None and record.horizon_ms is None:
            record = record._replace(horizon_ms=now_ms + retention_ms)
        left.append(record)
    return left + list(itertools.chain.from_iterable(segments[end:]))


def drawn(source, *, lonely=False, ages=False, tombstones=False):
    """A random log. lonely: the keys of the active segment are nowhere else."""
    lag = source.choice((0, HOUR, 5 * HOUR)) if ages else 0
    retention = source.choice((0, HOUR, 24 * HOUR))
    keys = source.sample(KEYS, source.randint(1, len(KEYS)))
    offset = source.choice((0, 7, 98, source.randrange(10**6)))
    segments = []
    for _ in range(source.randint(1, 5)):
        segment = []
        for _ in range(source.randint(1, 5)):
            segment.append(drawn_record(source, offset, keys, tombstones))
            offset += source.choice((1, 1, 1, source.randint(2, 9)))
        segments.append(segment)
    if lonely:
        segments[-1] = [
            record._replace(key=f"only here {record.offset}") for record in segments[-1]
        ]
    elif source.random() < 0.2:
        segments.append([])
    return segments, NOW, lag, retention


def drawn_record(source, offset, keys, tombstones):
    age_ms = source.choice((0, HOUR - 1, HOUR, 2 * HOUR, 9 * HOUR, 9 * HOUR, 99 * HOUR))
    key, value, horizon = source.choice(keys), source.choice(VALUES), None
    if tombstones and source.random() < 0.4:
        value = None
        horizon = source.choice((None, None, NOW - 1, NOW, NOW + 1, NOW + 5 * HOUR))
    return Record(offset, NOW - age_ms, key, value, horizon)


def smaller(case):
    """In small numbers; without a segment; without a record."""
    segments, *rest = case
    if rest[0] > SMALL_NOW:
        yield with_small_times(case)
    offsets = itertools.count()
    small = [
        [record._replace(offset=next(offsets)) for record in segment]
        for segment in segments
    ]
    if small != segments:
        yield small, *rest
    for gone in range(len(segments) - 1):
        yield segments[:gone] + segments[gone + 1 :], *rest
    for number, segment in enumerate(segments):
        for gone in range(len(segment)):
            fewer = segment[:gone] + segment[gone + 1 :]
            if fewer or number == len(segments) - 1:
                before, after = segments[:number], segments[number + 1 :]
                yield [*before, fewer, *after], *rest


def with_small_times(case):
    """Ten milliseconds for each hour; what is just before or after stays so."""
    segments, now_ms, lag_ms, retention_ms = case

    def small(ms):
        sign = (ms > 0) - (ms < 0)
        return sign * max(abs(ms) * 10 // HOUR, abs(sign))

    def at(ms):
        return max(0, SMALL_NOW + small(ms - now_ms))

    made = [
        [
            record._replace(
                timestamp_ms=at(record.timestamp_ms),
                horizon_ms=None if record.horizon_ms is None else at(record.horizon_ms),
            )
            for record in segment
        ]
        for segment in segments
    ]
    return made, SMALL_NOW, small(lag_ms), small(retention_ms)


def as_call(case):
    segments, now_ms, lag_ms, retention_ms = case
    lines = [
        f"now_ms={now_ms}, min_compaction_lag_ms={lag_ms},"
        f" delete_retention_ms={retention_ms}"
    ]
    first = next((n for n, each in enumerate(segments) if young_in(each, case)), None)
    for number, segment in enumerate(segments):
        what = "closed"
        if number == len(segments) - 1:
            what = "active"
        elif first is not None and number >= first:
            what += f", not cleaned ({why_not_cleaned(case, first, number)})"
        told = (
            ", ".join(f"{record.offset} {as_record(record)}" for record in segment)
            or "no record"
        )
        lines.append(f"  segment {number + 1}, {what}: {told}")
    return "\n".join(lines)


def young_in(segment, case):
    """The young records of a segment."""
    return [
        record for record in segment if case[NOW_MS] - record.timestamp_ms < case[LAG]
    ]


def why_not_cleaned(case, first, number):
    """first: the number of the first segment with a young record."""
    if number > first:
        return f"segment {first + 1} holds a young record"
    young, *_ = young_in(case[SEGMENTS][first], case)
    age_ms = case[NOW_MS] - young.timestamp_ms
    return f"offset {young.offset} is young: its age is {age_ms}, less than {case[LAG]}"


def as_record(record):
    horizon = "" if record.horizon_ms is None else f", horizon_ms={record.horizon_ms}"
    return (
        f"{record.key!r}={record.value!r} (timestamp_ms={record.timestamp_ms}{horizon})"
    )


def another(answer, case):
    """What an answer keeps that it shouldn't, loses, or changes."""
    found = answer(**dict(zip(NAMES, case, strict=True)))
    if isinstance(found, str | bytes | dict) or not hasattr(found, "__iter__"):
        raise WrongKind(f"clean should return a list of records, not {short(found)}.")
    found = list(found)
    for record in found:
        if isinstance(record, list):
            raise WrongKind(
                "clean should return one list of records, without segments."
            )
        if not isinstance(record, tuple) or len(record) != len(Record._fields):
            raise WrongKind(f"{short(record)} in the list isn't a Record.")
    right = kept(*case)
    if found == right:
        return None
    return first_difference(case, right, [Record(*record) for record in found])


def first_difference(case, right, found):
    by_offset = {record.offset: record for record in found}
    untouched = set(untouched_offsets(case))
    for record in right:
        mine = by_offset.get(record.offset)
        if mine is None:
            why = (
                "its segment isn't cleaned"
                if record.offset in untouched
                else why_kept(record)
            )
            return f"offset {record.offset} is gone, but should stay: {why}."
        if mine != record:
            return f"offset {record.offset} is {as_record(mine)}, but should be {as_record(record)}."
    wanted = {record.offset for record in right}
    for record in found:
        if record.offset not in wanted:
            return f"offset {record.offset} is still there: {why_gone(case, record)}."
    if len(found) > len(right):
        return "a record is in the list twice."
    offsets = list(map(operator.attrgetter("offset"), found))
    return f"the records are in another order: {offsets}. Offsets go up."


def untouched_offsets(case):
    segments = case[SEGMENTS]
    end = len(segments) - 1
    for number, segment in enumerate(segments[:-1]):
        if young_in(segment, case):
            end = number
            break
    for segment in segments[end:]:
        for record in segment:
            yield record.offset


def why_kept(record):
    if record.value is None:
        return f"it is the last one for {record.key!r}, and its horizon isn't reached"
    return f"it is the last one for {record.key!r} in the segments that are cleaned"


def why_gone(case, record):
    before = {each.offset: each for segment in case[SEGMENTS] for each in segment}
    was = before.get(record.offset, record)
    has_horizon = was.value is None and was.horizon_ms is not None
    if has_horizon and was.horizon_ms <= case[NOW_MS]:
        return f"its horizon, {was.horizon_ms}, has passed"
    return f"{record.key!r} appears again in the segments that are cleaned"


# --- 2: the last good byte (stretch) ---


def exercise_2():
    """How much of a log file is whole, in three rungs: all of it; a torn end; damage."""
    common = {"broken": not_so_many, "describe": as_file}
    return Exercise(
        name="whole_bytes",
        right="your recovery cuts where Kafka's cuts.",
        hints=(
            (
                "Go from batch to batch. The first 12 bytes of a batch tell where the"
                " next one begins. What if some of them are missing?"
            ),
            (
                "A batch is whole if it ends within the file, and the checksum of its"
                " bytes from 21 on is the one at 17 to 20. Stop at the first batch that"
                " isn't whole: nothing after it counts."
            ),
            (
                "int.from_bytes(data[at + 8:at + 12], 'big', signed=True) is the length"
                " of what follows. A length that leaves no room for a checksum is"
                " damage, too."
            ),
        ),
        rungs=(
            Rung(
                holds="a whole file is whole",
                cases={"no batch": b"", "the example": example(whole=True)},
                scenario=lambda source: log_file(source, source.randint(0, 5)),
                **common,
            ),
            Rung(
                holds="a torn end doesn't count",
                cases={
                    "the example": example(whole=False),
                    "a few bytes only": b"\0\0\0",
                    "twelve bytes": struct.pack(">qi", 0, 60),
                    "zeros": bytes(100),
                },
                scenario=torn,
                **common,
            ),
            Rung(
                holds="from a damaged batch on nothing counts",
                cases={
                    "a length of -1": struct.pack(">qi", 0, -1) + bytes(60),
                    "a length that goes beyond the end": beyond_the_end(),
                    "a length of 2 GB": struct.pack(">qi", 0, 2**31 - 1) + bytes(60),
                    # the checksum of nothing is 0
                    "a length of 8, and zeros": struct.pack(">qi", 0, 8) + bytes(60),
                },
                scenario=damaged,
                **common,
            ),
        ),
    )


def example(*, whole):
    """One batch of the notebook's example; the other one torn, or not there."""
    first = log_file(Random(1), 1)
    return first if whole else first + log_file(Random(2), 1)[:-1]


def beyond_the_end():
    """A whole batch, and one whose length is ten bytes too large: no checksum covers
    it, and that of the bytes that are there is right.
    """
    first, last = log_file(Random(3), 1), bytearray(log_file(Random(4), 1))
    length = int.from_bytes(last[8:12], "big")
    last[8:12] = (length + 10).to_bytes(4, "big")
    return first + bytes(last)


def torn(source):
    last = log_file(source, 1)
    return log_file(source, source.randint(0, 4)) + last[: source.randrange(len(last))]


def damaged(source):
    """A bit flips in what the checksum covers, or in the checksum."""
    data = bytearray(log_file(source, source.randint(1, 5)))
    starts = [start for start, _ in whole_batches(bytes(data))]
    start = source.choice(starts)
    length = int.from_bytes(data[start + 8 : start + 12], "big")
    at = source.randrange(start + 17, start + 12 + length)
    data[at] ^= 1 << source.randrange(8)
    return bytes(data)


def whole_batches(data):
    """(start, end) of each batch up to the first that isn't whole."""
    at = 0
    while len(data) - at >= 21:
        length = struct.unpack_from(">i", data, at + 8)[0]
        end = at + 12 + length
        if length < 9 or end > len(data):
            return
        if struct.unpack_from(">I", data, at + 17)[0] != crc32c(data[at + 21 : end]):
            return
        yield at, end
        at = end


def not_so_many(answer, data):
    found = answer(data)
    if isinstance(found, bool) or not isinstance(found, int):
        raise WrongKind(
            f"whole_bytes should return a whole number, not {short(found)}."
        )
    batches = list(whole_batches(data))
    right = batches[-1][1] if batches else 0
    if found == right:
        return None
    where = f"the {len(batches)} whole batches end at byte {right} of {len(data)}"
    return f"it returned {found}: {where}."


def as_file(data):
    return f"{len(data)} bytes, {data[:24].hex(' ')}{' ...' if len(data) > 24 else ''}"
