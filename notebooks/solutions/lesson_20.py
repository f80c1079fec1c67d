"""Lesson 20, Spark IV: one solution an exercise. Each part replaces the stub in the
solved edition; exercises 2 and 3 are in extra notebooks.
"""

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.streaming.tws_tester import TwsTester

from minikafka import lesson
from minikafka.course.experiments.lesson_20_runs import GAP_MS, at, cut
from minikafka.course.kafka_source import DataLoss


# %% exercise 1
class Sessions(StatefulProcessor):
    """One row for each session of a user, when it is over: user_id, start_ms, end_ms,
    events.
    """

    def init(self, handle):
        self.handle = handle
        self.times = handle.getListState("times", "ms long")

    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            self.times.appendValue((row.event_time_ms,))
            self.handle.registerTimer(row.event_time_ms + GAP_MS)
        return iter([])

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        still_open = []
        for piece in cut(ms for (ms,) in self.times.get()):
            # most timers end nothing: a later click of the session has its own
            if piece[-1] + GAP_MS > timerValues.getCurrentWatermarkInMs():
                still_open += [(ms,) for ms in piece]
                continue
            yield Row(
                user_id=key[0],
                start_ms=piece[0],
                end_ms=piece[-1],
                events=len(piece),
            )
        self.times.clear()
        if still_open:
            self.times.put(still_open)


# %% exercise 2
def try_out(processor):
    """A test of a Sessions: comes back if the processor is right, and fails if not."""

    def click(clock):
        return Row(user_id="wanda", event_time_ms=at(clock))

    def session(start, end, events):
        return Row(user_id="wanda", start_ms=at(start), end_ms=at(end), events=events)

    tester = TwsTester(
        processor,
        timeMode="EventTime",
        eventTimeExtractor=lambda row: row.event_time_ms,
    )
    assert tester.test("wanda", [click("10:20"), click("10:00")]) == []
    assert tester.setWatermark(at("10:30")) == []  # the first timer, and no end
    assert tester.setWatermark(at("10:50")) == [session("10:00", "10:20", 2)]
    # the next one, and nothing of the first
    assert tester.test("wanda", [click("12:00")]) == []
    assert tester.setWatermark(at("12:30")) == [session("12:00", "12:00", 1)]


# %% exercise 3
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
lesson("20").exit_ticket(3, 1, 2, 3, 1)
