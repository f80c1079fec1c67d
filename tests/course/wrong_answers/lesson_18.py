"""Lesson 18: what becomes of each row, and the hours with each order once."""

from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right


# --- micro_batches ---


def played(
    batches,
    delay,
    size,
    *,
    late="before",
    writes="now",
    latest="earlier",
    end=0,
    back=False,
    lost=True,
):
    """An answer with some of its decisions made otherwise."""
    found, counts, seen, mark = [], {}, [], 0
    for rows in batches:
        before = mark
        if latest == "also this one":
            seen += rows
        new = (
            max(seen, default=0) - delay
            if latest != "the last one" or not seen
            else seen[-1] - delay
        )
        mark = new if back else max(mark, new)
        closed = before if late == "before" else mark
        gone = (
            [row for row in rows if row - row % size + size + end <= closed]
            if late != "row"
            else []
        )
        if late == "row":
            gone = [row for row in rows if row < before]
        for row in rows:
            if row not in gone or not lost:
                counts[row - row % size] = counts.get(row - row % size, 0) + 1
        limit = mark if writes == "now" else before
        written = [
            (begin, counts.pop(begin))
            for begin in sorted(counts)
            if begin + size + end <= limit
        ]
        if latest == "earlier" or latest == "the last one":
            seen += rows
        found.append((mark, gone if lost else [], written))
    return found


@right(1)
def with_a_class_of_its_own(batches, delay, size):
    marks = [0]
    for number in range(1, len(batches)):
        so_far = [row for rows in batches[:number] for row in rows]
        marks.append(max(marks[-1], max(so_far, default=0) - delay))
    closed = [0, *marks]
    kept = [
        [row for row in rows if (row // size + 1) * size > closed[n]]
        for n, rows in enumerate(batches)
    ]
    found, done = [], set()
    for number, rows in enumerate(batches):
        held = [row // size * size for each in kept[: number + 1] for row in each]
        over = [w for w in sorted(set(held) - done) if w + size <= marks[number]]
        done |= set(over)
        gone = [row for row in rows if row not in kept[number]]
        found.append([marks[number], gone, [[w, held.count(w)] for w in over]])
    return found


@right(1)
def by_the_decisions(batches, delay, size):
    return played(batches, delay, size)


@wrong(1, "micro-batch 0 works with watermark 0, and yours says 5.")
def it_moves_at_once(batches, delay, size):
    return played(batches, delay, size, latest="also this one")


@wrong(1, "works with watermark 0, and yours says -10.")
def it_goes_back(batches, delay, size):
    return played(batches, delay, size, latest="the last one", back=True)


@wrong(1, "works with watermark")
def the_last_row_not_the_latest(batches, delay, size):
    found, mark = [], 0
    for number in range(len(batches)):
        before = [row for each in batches[:number] for row in each]
        mark = max(mark, before[-1] - delay) if before else mark
        found.append((mark, *truth_of(batches, delay, size)[number][1:]))
    return found


def truth_of(batches, delay, size):
    return played(batches, delay, size)


@wrong(1, "works with watermark 2, and yours says 12.")
def without_the_delay(batches, delay, size):
    return played(batches, 0, size)


@wrong(1, "writes")
def drops_by_its_own_watermark(batches, delay, size):
    return played(batches, delay, size, late="now")


@wrong(1, "drops [8], and yours says nothing.")
def drops_nothing(batches, delay, size):
    return played(batches, delay, size, lost=False)


@wrong(1, "writes")
def drops_by_the_row_and_not_by_its_window(batches, delay, size):
    return played(batches, delay, size, late="row")


@wrong(1, "writes")
def writes_a_micro_batch_later(batches, delay, size):
    return played(batches, delay, size, writes="later")


@wrong(1, "writes [(0, 1)], and yours says nothing.")
def the_end_must_be_passed(batches, delay, size):
    return played(batches, delay, size, end=1)


@wrong(1, "writes")
def writes_again_and_again(batches, delay, size):
    found, so_far = [], []
    for mark, gone, written in played(batches, delay, size):
        so_far = [*so_far, *written]
        found.append((mark, gone, list(so_far)))
    return found


@wrong(1, "writes")
def windows_without_counts(batches, delay, size):
    return [
        (mark, gone, [begin for begin, _ in written])
        for mark, gone, written in played(batches, delay, size)
    ]


@wrong(1, "writes")
def ends_instead_of_begins(batches, delay, size):
    return [
        (mark, gone, [(begin + size, count) for begin, count in written])
        for mark, gone, written in played(batches, delay, size)
    ]


@wrong(1, "an entry is 0, and should be (watermark, dropped, written).")
def watermarks_only(batches, delay, size):
    return [mark for mark, _, _ in played(batches, delay, size)]


@wrong(
    1, "it returned None, and should return a list with one entry for each micro-batch."
)
def it_prints(batches, delay, size):
    print(played(batches, delay, size))


# --- hourly: these need Spark ---


def hours(rows, size="1 hour", column="event_time"):
    from pyspark.sql import functions as F

    made = rows.groupBy(F.window(column, size)).agg(
        F.count("*").alias("orders"), F.sum("cents").alias("cents")
    )
    return made.select(F.col("window.start").alias("hour"), "orders", "cents")


def once(orders, delay="2 hours"):
    return orders.withWatermark("event_time", delay).dropDuplicatesWithinWatermark(
        ["event_id"]
    )


@right(2)
def within_the_watermark(orders):
    return hours(once(orders))


@right(2)
def by_id_and_event_time(orders):
    return hours(
        orders.withWatermark("event_time", "120 minutes").dropDuplicates(
            ["event_id", "event_time"]
        )
    )


@wrong(2, "Spark refuses:")
def without_a_watermark(orders):
    return hours(orders)


@wrong(
    2,
    "the hour of 08:00 has 5 orders and 6900 cents, and 3 orders and 3900 cents are"
    " true.",
)
def with_duplicates(orders):
    return hours(orders.withWatermark("event_time", "2 hours"))


@wrong(2, "all 9 ids are still in state at the end: it grows for ever.")
def remembers_every_id(orders):
    return hours(
        orders.withWatermark("event_time", "2 hours").dropDuplicates(["event_id"])
    )


@wrong(2, "the hour of 08:00 has 5 orders")
def distinct_rows(orders):
    return hours(orders.withWatermark("event_time", "2 hours").distinct())


@wrong(2, "the hour of 08:00 has 2 orders and 3000 cents, and 3 orders")
def ten_minutes(orders):
    return hours(once(orders, "10 minutes"))


@wrong(
    2,
    "the hour of 10:00 is not written, and the latest order was placed 2 hours after"
    " its end.",
)
def three_hours(orders):
    return hours(once(orders, "3 hours"))


@wrong(2, "Spark refuses:")
def a_watermark_on_another_column(orders):
    return hours(
        orders.withWatermark("arrived", "2 hours").dropDuplicatesWithinWatermark(
            ["event_id"]
        )
    )


@wrong(2, "the hour of 08:00 has", "the hour of 08:00 is not written")
def windows_of_ten_minutes(orders):
    return hours(once(orders), size="10 minutes")


@wrong(
    2,
    "the columns are window struct<start:timestamp,end:timestamp>, orders bigint, cents"
    " bigint",
)
def the_window_itself(orders):
    from pyspark.sql import functions as F

    made = once(orders).groupBy(F.window("event_time", "1 hour"))
    return made.agg(F.count("*").alias("orders"), F.sum("cents").alias("cents"))


@wrong(2, "has 3 orders and 39.0 cents, and 3 orders and 3900 cents are true.")
def euros(orders):
    from pyspark.sql import functions as F

    return hours(once(orders)).withColumn("cents", F.col("cents") / 100)


@wrong(2, "Spark refuses:")
def by_the_hours_name(orders):
    from pyspark.sql import functions as F

    rows = once(orders).groupBy(F.date_trunc("hour", "event_time").alias("hour"))
    return rows.agg(F.count("*").alias("orders"), F.sum("cents").alias("cents"))


@wrong(2, "it returned [], and should return a stream")
def a_list(orders):
    return []


@right(2)
def in_another_order(orders):
    return hours(once(orders)).select("cents", "hour", "orders")


@wrong(2, "has 8 orders and", "orders and", "is not written")
def ninety_minutes(orders):
    return hours(once(orders, "90 minutes"))


@wrong(2, "the hour of 08:00 has", "the hour of 09:00 has")
def an_hour_and_58_minutes(orders):
    return hours(once(orders, "118 minutes"))


def once_by(orders, *columns):
    made = orders.withWatermark("event_time", "2 hours")
    return made.dropDuplicatesWithinWatermark(list(columns))


@wrong(2, "the hour of 09:00 is not written, and the latest order was placed 2 hours")
def by_cents(orders):
    return hours(once_by(orders, "cents"))


@wrong(2, "the hour of 08:00 has")
def by_time_and_cents(orders):
    return hours(once_by(orders, "event_time", "cents"))


@wrong(2, "the hour of 08:00 has")
def ids_without_capitals(orders):
    from pyspark.sql import functions as F

    lowered = orders.withColumn("event_id", F.lower("event_id"))
    return hours(once(lowered))


@wrong(2, "hour is when the hour begins, and yours says when it ends: window.start.")
def the_end_of_the_hour(orders):
    from pyspark.sql import functions as F

    made = once(orders).groupBy(F.window("event_time", "1 hour"))
    sums = made.agg(F.count("*").alias("orders"), F.sum("cents").alias("cents"))
    return sums.select(F.col("window.end").alias("hour"), "orders", "cents")


@wrong(2, "the hour of 08:00 has", "the hour of 09:00 has")
def without_refunds(orders):
    return hours(once(orders.where("cents >= 0")))


@wrong(1, "drops")
def each_late_minute_once(batches, delay, size):
    return [
        (mark, list(dict.fromkeys(gone)), written)
        for mark, gone, written in played(batches, delay, size)
    ]


@wrong(2, "the hour of 09:00 has")
def a_second_less_than_two_hours(orders):
    return hours(once(orders, "7199 seconds"))


@wrong(2, "the hour of 10:00 is not written")
def without_hours_below_0(orders):
    return hours(once(orders)).where("cents >= 0")
