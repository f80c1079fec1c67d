"""Lesson 20, Spark IV: one solution an exercise. Each part replaces the stub in the
solved edition.
"""

import pandas as pd
from pyspark.sql.streaming import StatefulProcessor

from minikafka import lesson
from minikafka.course.kafka_source import DataLoss

GAP_MS = 30 * 60_000


# %% exercise 1
class Sessions(StatefulProcessor):
    """One row for each session of a user, when it is over: user_id, start_ms, end_ms,
    events.
    """

    def init(self, handle):
        self.handle = handle
        self.times = handle.getListState("times", "ms long")

    def handleInputRows(self, key, rows, timerValues):
        for frame in rows:
            for ms in frame["event_time_ms"].tolist():
                self.times.appendValue((ms,))
                self.handle.registerTimer(ms + GAP_MS)
        return iter([])

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        watermark = timerValues.getCurrentWatermarkInMs()
        pieces = []
        for (ms,) in sorted(self.times.get()):  # they came in any order
            if pieces and ms - pieces[-1][-1] <= GAP_MS:
                pieces[-1].append(ms)
            else:
                pieces.append([ms])
        over = [piece for piece in pieces if piece[-1] + GAP_MS <= watermark]
        still_open = [(ms,) for piece in pieces if piece not in over for ms in piece]
        self.times.clear()
        if still_open:
            self.times.put(still_open)
        # most timers end nothing: a later event of the session has a timer of its own
        if over:
            rows = [(key[0], piece[0], piece[-1], len(piece)) for piece in over]
            yield pd.DataFrame(
                rows, columns=["user_id", "start_ms", "end_ms", "events"]
            )


# %% exercise 2
def plan(start, end, first):
    """What one micro-batch reads: a list of (topic, partition, from, up to)."""
    ranges = []
    for topic, partitions in start.items():
        if partitions.keys() - end.get(topic, {}).keys():
            raise DataLoss(f"{topic} has fewer partitions than it had")
    for topic, partitions in end.items():
        for number, stop in partitions.items():
            oldest = first[topic][number]
            # not known yet: all that it has
            begin = start.get(topic, {}).get(number, oldest)
            if not oldest <= begin <= stop:
                raise DataLoss(
                    f"{topic}-{number} has offsets {oldest} to {stop}, and we stood at"
                    f" {begin}"
                )
            if begin < stop:
                ranges.append((topic, int(number), begin, stop))
    return ranges


# %% exit ticket
lesson("20").exit_ticket(3, 1, 2, 1, 3)
