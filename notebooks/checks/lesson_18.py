"""Lesson 18, Spark II: what a right answer does. Exercise 2 runs on the notebook's own
Spark session.
"""

import json
import os
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from minikafka.course.judging.checks import Exercise, Rung, WrongKind, short
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "the last window of a topic that has fallen silent",
        right=3,
        why=("3. Only a later event moves the watermark. The passing of time doesn't."),
    ),
    Question(
        "counts of update mode, added up",
        right=2,
        why=(
            "2. Each micro-batch that adds to a window writes its whole count so far,"
            " and a topic keeps all of these rows. Append waits until no order can be"
            " added any more, so there is one row to add up."
        ),
    ),
    Question(
        "three micro-batches with a row each",
        right=2,
        why=(
            "2. The third micro-batch drops by the watermark of the second, 09:07, and"
            " the row's window ends at 09:10. At its end it writes by its own, 09:13."
        ),
    ),
    Question(
        "a query that is started again",
        right=1,
        why="1. State and watermark are in the checkpoint, beside the offsets.",
        lesson="17",
    ),
    Question(
        "a topic with LogAppendTime",
        right=2,
        why=(
            "2. Then the timestamp is the broker's. Only the value can say when the"
            " order was placed."
        ),
        lesson="01",
    ),
)

# --- 1: what becomes of each row ---


WATERMARKS = {
    "two micro-batches": ([[12], [15]], 10, 10),
    "no row at all": ([[], []], 10, 10),
    "it never goes back": ([[30], [5], [6]], 10, 10),
}
WINDOWS = {
    "one window": ([[2, 6], [25], []], 10, 10),
    "its end is the watermark": ([[2], [20], []], 10, 10),
    "late, and in time": ([[2, 6, 12], [21], [8, 25], []], 10, 10),
}
TOO_LATE = {
    "the first example": ([[2, 6, 12], [21], [8, 25], []], 10, 10),
    "the second example": ([[2, 6, 12], [21], [25], [8]], 10, 10),
    "the third example": ([[12], [25], [26], [13]], 10, 10),
    "late twice, at the same minute": (
        [[2], [32], [33], [8, 8], []],
        10,
        10,
    ),
}


def exercise_1():
    """Watermark, dropped and written of each micro-batch, in append mode."""
    common = {"smaller": fewer_rows, "describe": as_call}
    return Exercise(
        name="micro_batches",
        right="that is what Spark does.",
        hints=(
            (
                "Keep three things from one micro-batch to the next: the latest event"
                " time so far, the watermark of the micro-batch before, and a dict:"
                " begin of a window -> count."
            ),
            (
                "In each micro-batch: first the watermark (latest of the ones before,"
                " minus delay, and never back), then its rows, then what is written. A"
                " row's window begins at minute - minute % size."
            ),
            (
                "A row is dropped if its window's end is <= the watermark of the"
                " micro-batch BEFORE; all others are counted first. Then each window"
                " whose end is <= the watermark of THIS one is written and deleted."
            ),
        ),
        rungs=(
            Rung(
                holds="the watermark of each micro-batch",
                broken=not_the_watermarks,
                cases=WATERMARKS,
                scenario=some_rows,
                **common,
            ),
            Rung(
                holds="windows are written when they are over, with all that counted",
                broken=not_what_is_written,
                cases=WINDOWS,
                scenario=lambda source: in_time(some_rows(source)),
                **common,
            ),
            Rung(
                holds="what comes too late is dropped",
                broken=not_what_becomes_of_all,
                cases=TOO_LATE,
                scenario=some_rows,
                **common,
            ),
        ),
    )


def truth(batches, delay, size):
    """(watermark, dropped, written) of each micro-batch: compared with Spark in
    tests/spark.
    """
    found, counts, seen = [], Counter(), []
    watermark = 0
    for rows in batches:
        before = watermark
        if seen:
            watermark = max(watermark, max(seen) - delay)
        dropped = []
        for minute in rows:
            begin = minute - minute % size
            if begin + size <= before:
                dropped.append(minute)
            else:
                counts[begin] += 1
        over = sorted(begin for begin in counts if begin + size <= watermark)
        written = [(begin, counts.pop(begin)) for begin in over]
        seen += rows
        found.append((watermark, dropped, written))
    return found


def some_rows(source):
    """(batches, delay, size). Most rows come in order; some are late by up to an
    hour.
    """
    now, batches = 0, []
    for _ in range(source.randint(2, 8)):
        rows = []
        for _ in range(source.randint(0, 4)):
            now += source.randint(0, 9)
            late = source.choice(
                (0, 0, 0, source.randint(1, 12), source.randint(1, 60))
            )
            rows.append(max(now - late, 0))
        batches.append(rows)
    return batches, source.choice((0, 5, 10, 20)), source.choice((5, 10, 15))


def in_time(case):
    """The same without the rows that would be dropped."""
    batches, delay, size = case
    dropped = [gone for _, gone, _ in truth(batches, delay, size)]
    return (
        [
            [row for row in rows if row not in gone]
            for rows, gone in zip(batches, dropped, strict=True)
        ],
        delay,
        size,
    )


def fewer_rows(case):
    batches, delay, size = case
    for number in range(len(batches)):
        yield batches[:number] + batches[number + 1 :], delay, size
    for number, rows in enumerate(batches):
        for place in range(len(rows)):
            yield (
                [
                    *batches[:number],
                    rows[:place] + rows[place + 1 :],
                    *batches[number + 1 :],
                ],
                delay,
                size,
            )


def as_call(case):
    return f"micro_batches({case[0]}, delay={case[1]}, size={case[2]})"


def answered(answer, case):
    """What the answer returns, as (watermark, dropped, written) of each micro-batch.
    Raises WrongKind.
    """
    batches, delay, size = case
    found = answer(batches, delay, size)
    is_list = isinstance(found, Sequence) and not isinstance(found, str)
    if not is_list or len(found) != len(batches):
        raise WrongKind(
            f"it returned {short(found)}, and should return a list with one entry for"
            " each micro-batch."
        )
    made = []
    for each in found:
        if not isinstance(each, Sequence) or len(each) != 3:
            raise WrongKind(
                f"an entry is {short(each)}, and should be (watermark, dropped,"
                " written)."
            )
        watermark, dropped, written = each
        if not isinstance(dropped, Sequence) or not isinstance(written, Sequence):
            raise WrongKind(
                f"an entry is {short(each)}: dropped and written should be lists."
            )
        windows = [tuple(one) if isinstance(one, Sequence) else one for one in written]
        made.append((watermark, list(dropped), windows))
    return made


def not_the_watermarks(answer, case):
    return differs(answered(answer, case), truth(*case), parts=(0,))


def not_what_is_written(answer, case):
    return differs(answered(answer, case), truth(*case), parts=(0, 2))


def not_what_becomes_of_all(answer, case):
    return differs(answered(answer, case), truth(*case), parts=(0, 1, 2))


NAMES = ("works with watermark", "drops", "writes")


def differs(found, right, parts):
    for number, (theirs, ours) in enumerate(zip(found, right, strict=True)):
        for part in parts:
            right, said = ours[part], theirs[part]
            if right == said:
                continue
            if part > 0:  # a list
                right, said = right or "nothing", said or "nothing"
            return f"micro-batch {number} {NAMES[part]} {right}, and yours says {said}."
    return None


# --- 2: the hours, each order once ---

SCHEMA = "event_id string, event_time timestamp, cents long, arrived timestamp"
RESULT = ("hour", "orders", "cents")
OPENS_MS = 978_336_000_000  # 08:00

# (id, minutes after 08:00 when it was placed, cents); each list is a micro-batch
NINE_ORDERS = (
    [("o-1", 5, 1000), ("o-2", 20, 2000), ("o-1", 5, 1000)],
    [("o-3", 70, 500), ("o-2", 20, 2000), ("o-4", 62, 700)],
    [("o-5", 130, 300)],
    [("o-7", 165, 100)],
    # o-6 comes nearly two hours late
    [("o-6", 50, 900), ("o-8", 61, 400), ("o-5", 130, 300)],
    [("o-9", 300, 600)],
)
# The worked examples, and an order that moves the watermark past both hours.
THE_EXAMPLES = (
    [("o-1", 5, 1000), ("o-1", 5, 1000)],
    [("o-2", 59, 500), ("o-3", 60, 500)],
    [("o-4", 400, 0)],
)
LATE_MINUTES = 120  # and still counts
A_MOMENT = 0.1 / 60  # in minutes


def a_day(source):
    """Orders whose ids, times and cents are easily taken for each other's. One comes
    a moment less than two hours late, two micro-batches after the latest; the last one
    ends the third hour, whose sum is below 0, to the minute.
    """
    ids = ["o-10", "ö-1", "1", "0", "o", "O-10", "01"]
    amounts = [0, 500, -500, 3_000_000_000]
    source.shuffle(ids)
    source.shuffle(amounts)
    # alike, but for their ids
    morning = [("o-1", 10, 500), ("O-1", 10, 500)]
    for hour in (0, 0, 60, 60):
        morning.append((ids.pop(), hour + source.randrange(40), amounts.pop()))
    latest = (ids.pop(), 180 - A_MOMENT, -700)
    late = (ids.pop(), 60, 700)
    return (
        [*morning[:4], morning[0], morning[3]],
        [*morning[4:], source.choice(morning)],
        [latest],
        [latest],
        [late, latest, late],
        [(ids.pop(), 300, 500)],
    )


DAYS = {
    "nine orders": NINE_ORDERS,
    "the two examples": THE_EXAMPLES,
    "another day": a_day(random.Random("18/2")),
}


def exercise_2():
    """Orders and cents of each hour, every order once, with a state that forgets."""
    runs = {}  # of this check: all rungs ask the same, and Spark takes its seconds

    def rung(holds, broken):
        def broken_on(answer, day):
            if day not in runs:
                runs[day] = on_spark(answer, DAYS[day])
            return broken(runs[day], DAYS[day])

        return Rung(
            holds=holds,
            broken=broken_on,
            cases={day: day for day in DAYS},
            describe=lambda day: f"{len(DAYS[day])} micro-batches",
        )

    return Exercise(
        name="hourly",
        right=(
            "each order counts once, each hour is written once, and the state forgets."
        ),
        hints=(
            (
                "Three steps: withWatermark, then duplicates, then the hours:"
                " groupBy(F.window(...)).agg(...)."
            ),
            (
                "The delay is the time that an order may be late: 2 hours. Both the"
                " duplicates and the windows use this one watermark."
            ),
            (
                "dropDuplicates on the id alone remembers every id."
                " dropDuplicatesWithinWatermark has the same argument. The result:"
                ' select(F.col("window.start").alias("hour"), ...), a count and a sum.'
            ),
        ),
        call_seconds=6.0,
        rungs=(
            rung("append mode can write it", not_written),
            rung("each hour has its orders, each once", not_the_hours),
            rung("the state forgets", not_forgetting),
        ),
    )


class Found(NamedTuple):
    """What the answer's query did. hours: (begin in minutes, orders, cents). ids: rows
    that the duplicates' part keeps at the end, None where it has none.
    """

    columns: tuple[str, ...]
    hours: list[tuple]
    ids: int | None


def on_spark(answer, batches):
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession

    spark = SparkSession.getActiveSession()
    if spark is None:
        return "there is no Spark session: run the cell with session() first."
    with tempfile.TemporaryDirectory(prefix="minikafka-lab18-") as folder:
        write(Path(folder, "orders"), batches)
        reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        orders = reader.json(str(Path(folder, "orders")))
        try:
            made = answer(orders)
            if not isinstance(made, DataFrame) or not made.isStreaming:
                return (
                    f"it returned {short(made)}, and should return a stream: a"
                    " DataFrame made from orders."
                )
            return watched(made, Path(folder, "checkpoint"))
        except PySparkException as error:
            return f"Spark refuses: {str(error).splitlines()[0]}"


def write(folder, batches):
    """A file for each micro-batch; Spark takes the oldest first."""
    folder.mkdir()
    for number, rows in enumerate(batches):
        path = folder / f"{number}.json"
        lines = []
        for copy, (name, minute, cents) in enumerate(rows, 10 * number):
            order = {
                "event_id": name,
                "event_time": stamp(minute),
                "cents": cents,
                "arrived": stamp(600 + copy),
            }
            lines.append(json.dumps(order))
        path.write_text("\n".join(lines), encoding="utf-8")
        os.utime(path, (OPENS_MS / 1000 + number, OPENS_MS / 1000 + number))


def stamp(minute):
    minutes, ms = divmod(round(minute * 60_000), 60_000)
    return f"2001-01-01T{clock(minutes)}:{ms / 1000:06.3f}Z"


def watched(made, checkpoint):
    from pyspark.sql import functions as F

    has_columns = sorted(made.columns) == sorted(RESULT)
    if not has_columns or made.schema["hour"].dataType.typeName() != "timestamp":
        return Found(tuple(f"{name} {kind}" for name, kind in made.dtypes), [], None)
    hours = []
    plain = made.select(F.unix_millis("hour"), "orders", "cents")

    def keep(frame, _):
        for ms, orders, cents in frame.collect():
            hours.append(((ms - OPENS_MS) // 60_000, orders, cents))

    sink = plain.writeStream.outputMode("append").foreachBatch(keep)
    sink = sink.option("checkpointLocation", str(checkpoint))
    query = sink.trigger(availableNow=True).start()
    query.awaitTermination()
    kept = [
        each["numRowsTotal"]
        for each in query.lastProgress["stateOperators"]
        if each["operatorName"].startswith("dedupe")
    ]
    return Found(RESULT, sorted(hours), sum(kept) if kept else None)


def right_hours(batches):
    """The oracle in plain Python: every order once; the hours that ended two hours
    before the latest order.
    """
    orders = {name: (minute, cents) for rows in batches for name, minute, cents in rows}
    over = max(minute for minute, _ in orders.values()) - LATE_MINUTES
    hours = {}
    for minute, cents in orders.values():
        begin = int(minute // 60) * 60
        if begin + 60 <= over:
            count, total = hours.get(begin, (0, 0))
            hours[begin] = count + 1, total + cents
    return sorted((begin, *both) for begin, both in hours.items())


def not_written(found, _):
    if isinstance(found, str):
        return found
    if found.columns != RESULT:
        return (
            f"the columns are {', '.join(found.columns)}, and should be hour timestamp,"
            " orders, cents."
        )
    return None


def not_the_hours(found, batches):
    right = right_hours(batches)
    if found.hours == right:
        return None
    theirs = {begin: rest for begin, *rest in found.hours}
    if len(theirs) < len(found.hours):
        return "an hour is written twice, and append mode writes a window once."
    if [(begin - 60, *rest) for begin, *rest in found.hours] == right:
        return (
            "hour is when the hour begins, and yours says when it ends: window.start."
        )
    for begin, *rest in right:
        if begin not in theirs:
            return (
                f"the hour of {clock(begin)} is not written, and the latest order was"
                " placed 2 hours after its end."
            )
        if theirs[begin] != rest:
            counted, truth = as_sums(theirs[begin]), as_sums(rest)
            return f"the hour of {clock(begin)} has {counted}, and {truth} are true."
    more = min(set(theirs) - {begin for begin, *_ in right})
    return f"{clock(more)} is written, and is no hour that is over."


def as_sums(rest):
    orders, cents = rest
    return f"{orders} orders and {cents} cents"


def not_forgetting(found, batches):
    everyone = len({name for rows in batches for name, _, _ in rows})
    if found.ids is not None and found.ids >= everyone:
        return f"all {found.ids} ids are still in state at the end: it grows for ever."
    return None


def clock(minute):
    return f"{8 + minute // 60:02}:{minute % 60:02}"
