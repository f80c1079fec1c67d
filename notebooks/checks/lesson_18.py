"""Lesson 18, Spark II: what a right answer does. Exercise 2 runs on the notebook's own
Spark session.
"""

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from minikafka.course.judging.checks import Exercise, Rung, WrongKind, short
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "a backlog of three days in one micro-batch",
        right=2,
        why=(
            "2. Before the first micro-batch has ended there is no watermark, and"
            " nothing is late."
        ),
    ),
    Question(
        "the last window of a topic that has fallen silent",
        right=3,
        why=(
            "3. Only a later event moves the watermark. Time that passes on the wall"
            " moves nothing."
        ),
    ),
    Question(
        "a dashboard that shows this minute's count",
        right=2,
        why=(
            "2. Update writes a window each time it has changed; the table keeps the"
            " latest row of each key. Append would be silent until the minute can't"
            " change any more."
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
            "2. Then the timestamp is the broker's. When the order was placed stands in"
            " the value, if anywhere."
        ),
        lesson="01",
    ),
)

# --- 1: what becomes of each row ---


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
                " less delay, and never back), then its rows, then what is written. A"
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
                cases={
                    "two micro-batches": ([[12], [15]], 10, 10),
                    "it never goes back": ([[30], [5], [6]], 10, 10),
                },
                scenario=some_rows,
                **common,
            ),
            Rung(
                holds="windows are written when they are over, with all that counted",
                broken=not_what_is_written,
                cases={
                    "one window": ([[2, 6], [25], []], 10, 10),
                    "its end is the watermark": ([[2], [20], []], 10, 10),
                    "late, and in time": ([[2, 6, 12], [21], [8, 25], []], 10, 10),
                },
                scenario=lambda source: in_time(some_rows(source)),
                **common,
            ),
            Rung(
                holds="what comes too late is dropped",
                broken=not_what_becomes_of_all,
                cases={
                    "one micro-batch later": ([[2, 6, 12], [21], [25], [8]], 10, 10)
                },
                scenario=some_rows,
                **common,
            ),
        ),
    )


def truth(batches, delay, size):
    """(watermark, dropped, written) of each micro-batch: compared with Spark in
    tests/spark.
    """
    found, counts, latest, watermark, before = [], {}, None, 0, 0
    for rows in batches:
        before, watermark = (
            watermark,
            max(watermark, 0 if latest is None else latest - delay),
        )
        dropped = [minute for minute in rows if minute - minute % size + size <= before]
        for minute in rows:
            if minute - minute % size + size > before:
                begin = minute - minute % size
                counts[begin] = counts.get(begin, 0) + 1
        written = [
            (begin, counts[begin])
            for begin in sorted(counts)
            if begin + size <= watermark
        ]
        counts = {
            begin: count for begin, count in counts.items() if begin + size > watermark
        }
        latest = max([*rows, *([] if latest is None else [latest])], default=None)
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
    if (
        not isinstance(found, Sequence)
        or isinstance(found, str)
        or len(found) != len(batches)
    ):
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
        made.append(
            (
                watermark,
                list(dropped),
                [tuple(one) if isinstance(one, Sequence) else one for one in written],
            )
        )
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
            if theirs[part] != ours[part]:
                return (
                    f"micro-batch {number} {NAMES[part]}"
                    f" {ours[part] or 'nothing' if part else ours[part]}, and yours"
                    f" says {theirs[part] or 'nothing' if part else theirs[part]}."
                )
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
LATE_MINUTES = 120  # and still counts


def exercise_2():
    """Orders and cents of each hour, every order once, with a state that forgets."""
    common = {
        "cases": {"nine orders": NINE_ORDERS},
        "describe": lambda case: "three come twice; six micro-batches",
    }
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
                ' select(F.col("window.start").alias("hour"), ...), and two sums.'
            ),
        ),
        call_seconds=6.0,
        rungs=(
            Rung(holds="append mode can write it", broken=not_written, **common),
            Rung(
                holds="each hour has its orders, each once",
                broken=not_the_hours,
                **common,
            ),
            Rung(holds="the state forgets", broken=not_forgetting, **common),
        ),
    )


class Found(NamedTuple):
    """What the answer's query did. hours: (begin in minutes, orders, cents). ids: rows
    that the duplicates' part keeps at the end, None where it has none.
    """

    columns: tuple[str, ...]
    hours: list[tuple]
    ids: int | None


_latest = []  # the last run: all rungs ask the same, and Spark takes its seconds


def run(answer, batches):
    """What became of the answer's query, or a line on why it can't be run."""
    if not _latest or _latest[0] is not getattr(answer, "__wrapped__", answer):
        _latest[:] = [getattr(answer, "__wrapped__", answer), on_spark(answer, batches)]
    return _latest[1]


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
        lines = [
            json.dumps(
                {
                    "event_id": name,
                    "event_time": stamp(minute),
                    "cents": cents,
                    "arrived": stamp(600 + copy),
                }
            )
            for copy, (name, minute, cents) in enumerate(rows, 10 * number)
        ]
        path.write_text("\n".join(lines), encoding="utf-8")
        os.utime(path, (OPENS_MS / 1000 + number, OPENS_MS / 1000 + number))


def stamp(minute):
    return f"2001-01-01T{8 + minute // 60:02}:{minute % 60:02}:00Z"


def watched(made, checkpoint):
    from pyspark.sql import functions as F

    if (
        made.columns != list(RESULT)
        or made.schema["hour"].dataType.typeName() != "timestamp"
    ):
        return Found(tuple(f"{name} {kind}" for name, kind in made.dtypes), [], None)
    hours = []
    plain = made.select(F.unix_millis("hour"), "orders", "cents")

    def keep(frame, _):
        hours.extend(map(tuple, frame.collect()))

    sink = plain.writeStream.outputMode("append").foreachBatch(keep)
    query = (
        sink.option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    kept = [
        each
        for each in query.lastProgress["stateOperators"]
        if each["operatorName"].startswith("dedupe")
    ]
    ids = sum(each["numRowsTotal"] for each in kept) if kept else None
    found = sorted(
        ((ms - OPENS_MS) // 60_000, orders, cents) for ms, orders, cents in hours
    )
    return Found(RESULT, found, ids)


def right_hours(batches):
    """The oracle in plain Python: every order once; the hours that ended two hours
    before the latest order.
    """
    orders = {name: (minute, cents) for rows in batches for name, minute, cents in rows}
    over = max(minute for minute, _ in orders.values()) - LATE_MINUTES
    hours = {}
    for minute, cents in orders.values():
        begin = minute - minute % 60
        if begin + 60 <= over:
            count, total = hours.get(begin, (0, 0))
            hours[begin] = count + 1, total + cents
    return sorted((begin, *both) for begin, both in hours.items())


def not_written(answer, batches):
    found = run(answer, batches)
    if isinstance(found, str):
        return found
    if found.columns != RESULT:
        return (
            f"the columns are {', '.join(found.columns)}, and should be hour timestamp,"
            " orders, cents."
        )
    return None


def not_the_hours(answer, batches):
    found, right = run(answer, batches).hours, right_hours(batches)
    if found == right:
        return None
    theirs = {begin: rest for begin, *rest in found}
    if len(theirs) < len(found):
        return "an hour is written twice, and append mode writes a window once."
    for begin, *rest in right:
        if begin not in theirs:
            return (
                f"the hour of {clock(begin)} is not written, and the latest order was"
                " placed 2 hours after its end."
            )
        if theirs[begin] != rest:
            counted, right_ones = (
                f"{orders} orders and {cents} cents"
                for orders, cents in (theirs[begin], rest)
            )
            return (
                f"the hour of {clock(begin)} has {counted}, and {right_ones} are true."
            )
    more = min(set(theirs) - {begin for begin, *_ in right})
    return f"{clock(more)} is written, and is no hour that is over."


def not_forgetting(answer, batches):
    ids = run(answer, batches).ids
    everyone = len({name for rows in batches for name, _, _ in rows})
    if ids is not None and ids >= everyone:
        return f"all {ids} ids are still in state at the end: it grows for ever."
    return None


def clock(minute):
    return f"{8 + minute // 60:02}:{minute % 60:02}"
