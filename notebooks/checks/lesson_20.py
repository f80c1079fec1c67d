"""Lesson 20, Spark IV: what a right answer does. Exercise 1 runs in a stand-in for
Spark's micro-batches.
"""

from collections import Counter, defaultdict

from minikafka.course.judging.checks import Exercise, Rung, WrongKind, a_class, short
from minikafka.course.judging.micro_batches import run
from minikafka.course.judging.source_offsets import (
    GONE,
    KNOWN,
    NEW,
    as_offsets,
    fewer_partitions,
    some_offsets,
    the_plan,
)
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "five timers for one visit",
        right=3,
        why=(
            "3. A timer is a time and a key, and five times are five timers. Nothing"
            " replaces the older ones."
        ),
    ),
    Question(
        "a dict in the processor's __init__",
        right=1,
        why=(
            "1. Each task of each micro-batch unpacks a fresh copy of the processor."
            " Only what the handle gave stands in the checkpoint."
        ),
    ),
    Question(
        "commit(end) of a source that has nothing new to read",
        right=2,
        why=(
            "2. Spark says commit when it plans the next micro-batch. With no next one,"
            " the last offsets stay unsaid."
        ),
    ),
    Question(
        "a query that was killed between sink and commit",
        right=1,
        why=(
            "1. The plan stands in the checkpoint without a commit, so Spark runs it"
            " again: the same two offsets. A source must then give the same records."
        ),
        lesson="17",
    ),
    Question(
        "a position and a committed offset",
        right=3,
        why=(
            "3. The position is the reader's own, and moves with each record; the"
            " committed offset is what a group would go on from."
        ),
        lesson="04",
    ),
)

# --- 1: sessions ---

GAP, DELAY = 30, 10  # minutes
MINUTE_MS = 60_000
MS = 1 / MINUTE_MS  # a millisecond, in minutes
BEGINS = 10 * 60  # minutes: a case's minute 0 is 10:00
COLUMNS = ["user_id", "start_ms", "end_ms", "events"]
MOST_SHOWN = 20  # rows of a micro-batch, in a verdict
THE_END = ("zzz", 10_000)  # moves the watermark past all others


HINTS_1 = (
    (
        "State: the times of the user's events that stand in no told session"
        " yet, as a list state. Each event appends its time, and registers a"
        " timer 30 minutes later."
    ),
    (
        "When a timer goes off, sort the times and cut them where more than 30"
        " minutes lie between two. A piece is over when the watermark has"
        " reached its last time plus 30 minutes; not every timer ends a"
        " session."
    ),
    (
        "Keep the pieces that are not over: times.clear(), then"
        " times.put([(ms,), ...]) of what is open. Yield one DataFrame with a"
        " row for each piece that is over, and nothing where there is none."
    ),
)


IN_ORDER = {
    "one event": [[("wanda", 0)]],
    "two events": [[("wanda", 0), ("wanda", 20)]],
    "a session over two micro-batches": [
        [("wanda", 0)],
        [("wanda", 20)],
    ],
    "30 minutes are no gap": [[("wanda", 0), ("wanda", 30)]],
    "two sessions": [[("wanda", 0)], [("wanda", 31)]],
    "two sessions in one micro-batch": [[("wanda", 0), ("wanda", 31), ("wanda", 65)]],
    "two users": [[("wanda", 0), ("bruno", 10)], [("bruno", 35)]],
    "the example": [[("wanda", 0), ("wanda", 20), ("wanda", 65)]],
    "the same moment twice": [[("wanda", 0), ("wanda", 0)]],
    "half a minute more than 30": [[("wanda", 0), ("wanda", 30.5)]],
    "a millisecond more than 30 minutes": [[("wanda", 0), ("wanda", 30 + MS)]],
    "names that begin alike": [[("wan", 0), ("wanda", 10)]],
    "three at once": [[("wanda", 0), ("wanda", 1), ("wanda", 2)]],
    "over to the minute": [
        [("wanda", 0)],
        [("bruno", 39)],
        [("bruno", 40)],
        [("bruno", 41)],
    ],
    "over to the millisecond": [
        [("wanda", 0)],
        [("bruno", 40 - MS)],
        [("bruno", 40)],
    ],
    "120 clicks": [
        [("wanda", minute) for minute in range(80)],
        [("wanda", minute) for minute in range(80, 120)],
    ],
}
OUT_OF_ORDER = {
    "out of order in a micro-batch": [[("wanda", 5), ("wanda", 0)]],
    "out of order over two": [[("wanda", 5)], [("wanda", 0)]],
    "an event joins two sessions": [
        [("wanda", 0), ("bruno", 36)],
        [("wanda", 34)],
        [("wanda", 28)],
    ],
}
TOLD = {
    "one event": [[("wanda", 0)]],
    "two sessions": [[("wanda", 0)], [("wanda", 60)]],
}


def exercise_1():
    """Sessions by event time: told once, when no event in time can change them any
    more.
    """
    common = {"smaller": fewer_rows, "describe": as_batches}
    return Exercise(
        name="Sessions",
        right=(
            "sessions are told once, when they are over, and nothing of them is kept."
        ),
        hints=HINTS_1,
        takes=a_class,
        rungs=(
            Rung(
                holds=(
                    "a session is told once, as soon as the watermark is 30 minutes"
                    " past its last event"
                ),
                broken=not_the_sessions,
                cases=IN_ORDER,
                scenario=lambda source: a_day(source, late=0),
                scenarios=60,
                **common,
            ),
            Rung(
                holds="an event that comes late, but in time, belongs to its session",
                broken=not_the_sessions,
                cases=OUT_OF_ORDER,
                scenario=lambda source: a_day(source, late=25),
                scenarios=60,
                **common,
            ),
            Rung(
                holds="of what was told nothing stays in the state",
                broken=something_stays,
                cases=TOLD,
                scenario=lambda source: a_day(source, late=25),
                scenarios=30,
                **common,
            ),
        ),
    )


USERS = ("wanda", "bruno", "Wanda", "wan", "łucja", "10", "1")


def a_day(source, late):
    """A few micro-batches of (user, minutes after ten). late: so many minutes an event
    may come out of order.
    """
    users = source.sample(USERS, 2) if source.random() < 0.5 else USERS[:2]
    now, batches = 0, []
    for _ in range(source.randint(1, 5)):
        batch = []
        for _ in range(source.randint(1, 6)):
            now += source.choice((0, 0.5, 1, 7, 20, 30, 30.5, 31, 45))
            minute = max(0, now - source.randint(0, late))
            batch.append((source.choice(users), minute))
        batches.append(batch)
    return batches


def fewer_rows(batches):
    for at, batch in enumerate(batches):
        before, after = batches[:at], batches[at + 1 :]
        if len(batches) > 1:
            yield before + after
        if len(batch) > 1:
            for row in range(len(batch)):
                yield [*before, batch[:row] + batch[row + 1 :], *after]


def as_batches(batches):
    shown = []
    for batch in batches:
        rows = [f"{user} {clock(minute)}" for user, minute in batch]
        if len(rows) > MOST_SHOWN:
            rows[2:-1] = ["..."]
            rows[-1] += f" ({len(batch)} rows)"
        shown.append(", ".join(rows))
    return f"watermark {DELAY} minutes; micro-batches: {' | '.join(shown)}"


def clock(minute):
    """10:00, or 10:00:30, or 10:00:30.001."""
    minutes, ms = divmod(in_ms(minute), MINUTE_MS)
    seconds, ms = divmod(ms, 1000)
    shown = f"{minutes // 60}:{minutes % 60:02}"
    if seconds or ms:
        shown += f":{seconds:02}"
    return f"{shown}.{ms:03}" if ms else shown


def in_ms(minute):
    return round((BEGINS + minute) * MINUTE_MS)


def sessions_given(answer, batches):
    """(for each micro-batch a Counter of the rows it gave, the store): a last one moves
    the watermark to the end.
    """
    steps = []
    for batch in [*batches, [THE_END]]:
        steps.append([(user, in_ms(minute)) for user, minute in batch])
    found, store = run(answer, steps, DELAY * MINUTE_MS)
    given = []
    for frames in found:
        given.append(Counter())
        for frame in frames:
            given[-1].update(rows_of(frame))
    return given, store


def rows_of(frame):
    from pandas import DataFrame

    if not isinstance(frame, DataFrame):
        raise WrongKind(f"a processor yields DataFrames, and this is {short(frame)}.")
    if len(frame) and sorted(frame.columns) != sorted(COLUMNS):
        raise WrongKind(
            f"the columns are {', '.join(map(str, frame.columns))}; they should be"
            f" {', '.join(COLUMNS)}."
        )
    rows = frame.reindex(columns=COLUMNS).itertuples(index=False)
    try:
        return [
            (str(user), int(start), int(end), int(events))
            for user, start, end, events in rows
        ]
    except (TypeError, ValueError):
        raise WrongKind(
            "start_ms, end_ms and events are numbers, and a row is"
            f" {frame.iloc[0].to_dict()}."
        ) from None


def truth(batches):
    """The same for right answers, in minutes: for each micro-batch the sessions that
    are over after it.
    """
    open_times, told = defaultdict(list), []
    watermark = -10_000
    for batch in [*batches, [THE_END]]:
        for user, minute in batch:
            if minute > watermark:
                open_times[user].append(minute)
        for _, minute in batch:
            watermark = max(watermark, minute - DELAY)
        told.append(Counter())
        for user, times in open_times.items():
            still_open = []
            for piece in pieces(times):
                if piece[-1] + GAP > watermark:
                    still_open += piece
                    continue
                row = user, in_ms(piece[0]), in_ms(piece[-1]), len(piece)
                told[-1][row] += 1
            open_times[user] = still_open
    return told


def pieces(times):
    found = []
    for minute in sorted(times):
        if found and minute - found[-1][-1] <= GAP:
            found[-1].append(minute)
        else:
            found.append([minute])
    return found


def not_the_sessions(answer, batches):
    found, _ = sessions_given(answer, batches)
    right = truth(batches)
    everything = sum(right, Counter())
    for number, (said, due) in enumerate(zip(found, right, strict=True)):
        where = (
            f"after micro-batch {number + 1}" if number < len(batches) else "in the end"
        )
        for row in said - due:
            if row not in everything:
                return (
                    f"{where} it told {as_row(row)}; the sessions are"
                    f" {all_of(everything)}."
                )
            if row in sum(found[:number], Counter()):
                return f"{where} it told {as_row(row)} again."
            if due[row]:
                return f"{where} it told {as_row(row)} {said[row]} times."
            return (
                f"{where} it told {as_row(row)}, and an event in time could still"
                " change that."
            )
        for row in due - said:
            return f"{where} {as_row(row)} is over, and was not told."
    return None


def as_row(row):
    user, start, end, events = row
    return f"({user}, {as_clock(start)}, {as_clock(end)}, {events})"


def as_clock(ms):
    minute = ms / MINUTE_MS
    is_a_time = BEGINS <= minute < 48 * 60
    return clock(minute - BEGINS) if is_a_time else f"{ms} ms"


def all_of(rows):
    return " ".join(as_row(row) for row in sorted(rows)) or "none"


def something_stays(answer, batches):
    _, store = sessions_given(answer, batches)
    for name, keys in store.left().items():
        for key in keys:
            if key != (THE_END[0],):
                return (
                    f"all of {key[0]}'s sessions were told, and the state {name} still"
                    f" holds {short(keys[key])}."
                )
    for expiry_ms, (user,) in sorted(store.timers):
        if user != THE_END[0]:
            return (
                f"all of {user}'s sessions were told, and a timer at"
                f" {as_clock(expiry_ms)} is still set: Spark keeps it with the state."
            )
    return None


# --- 2: what a micro-batch reads ---


def exercise_2():
    """Ranges between two offsets; a partition that is new; and what is gone is told."""
    common = {"describe": as_offsets, "smaller": fewer_partitions}
    return Exercise(
        name="plan",
        right="nothing is read twice, nothing is left out, and what is gone is told.",
        hints=(
            (
                "Go through end: the broker knows all partitions, the checkpoint may"
                " not. start.get(topic, {}) has what the checkpoint knows of a topic."
            ),
            (
                "A partition that start doesn't have begins at its first offset. One"
                " without anything new gets no range. The partitions are text, and a"
                " range has a number: int(number)."
            ),
            (
                "Three times DataLoss: a partition of start is not in end; the begin is"
                " behind the end; the begin is before first."
            ),
        ),
        rungs=(
            Rung(
                holds="each partition is read from where the last micro-batch ended",
                broken=not_the_plan,
                cases=KNOWN,
                scenario=some_offsets,
                **common,
            ),
            Rung(
                holds="a new partition is read from its first offset",
                broken=not_the_plan,
                cases=NEW,
                scenario=lambda source: some_offsets(source, new=2),
                **common,
            ),
            Rung(
                holds="records that are gone stop the query",
                broken=not_the_plan,
                cases=GONE,
                scenario=lambda source: some_offsets(source, new=1, trouble=True),
                **common,
            ),
        ),
    )


def not_the_plan(answer, case):
    from minikafka.course.kafka_source import DataLoss

    right = the_plan(*case)
    try:
        found = answer(*case)
    except DataLoss as error:
        if right is None:
            return None
        return f"it raised DataLoss: {error}; nothing is gone, and {right} is right."
    is_list = isinstance(found, list | tuple)
    if not is_list or not all(isinstance(each, list | tuple) for each in found):
        return (
            f"it returned {short(found)}, and should return a list of (topic,"
            " partition, from, up to)."
        )
    if right is None:
        return f"records are gone, and it returned {found}: it should raise DataLoss."
    ranges = [tuple(each) for each in found]
    if sorted(map(repr, ranges)) == sorted(map(repr, right)):
        return None
    if as_text(ranges) == as_text(right):
        return (
            f"the ranges are right, and {ranges[0]} should be {right[0]}: numbers, not"
            " text."
        )
    return f"it returned {ranges}, and {right} is right."


def as_text(ranges):
    return sorted(tuple(map(str, each)) for each in ranges)
