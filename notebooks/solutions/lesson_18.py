"""Lesson 18, Spark II: one solution an exercise. Each part replaces the stub in the
solved edition.
"""

from pyspark.sql import functions as F

from minikafka import lesson


# %% exercise 1
def micro_batches(batches, delay, size):
    """(watermark, dropped, written) of each micro-batch."""
    found, counts, latest, watermark = [], {}, 0, 0
    for rows in batches:
        # of the micro-batch before: what it has written is closed to late rows
        closed = watermark
        watermark = max(watermark, latest - delay)
        dropped = []
        for minute in rows:
            begin = minute - minute % size
            if begin + size <= closed:
                dropped.append(minute)
            else:
                counts[begin] = counts.get(begin, 0) + 1
        over = sorted(begin for begin in counts if begin + size <= watermark)
        found.append(
            (watermark, dropped, [(begin, counts.pop(begin)) for begin in over])
        )
        latest = max([latest, *rows])  # for the next micro-batch
    return found


# %% exercise 2
def hourly(orders):
    """Orders and cents of each hour. orders: a stream."""
    # one watermark for both: an id is remembered for two hours, and an hour stays open
    # for two more
    once = orders.withWatermark("event_time", "2 hours").dropDuplicatesWithinWatermark(
        ["event_id"]
    )
    hours = once.groupBy(F.window("event_time", "1 hour")).agg(
        F.count("*").alias("orders"), F.sum("cents").alias("cents")
    )
    return hours.select(F.col("window.start").alias("hour"), "orders", "cents")


# %% exit ticket
lesson("18").exit_ticket(3, 2, 2, 1, 2)
