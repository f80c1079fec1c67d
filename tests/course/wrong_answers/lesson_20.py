"""Lesson 20: sessions by event time, and what a micro-batch of a source reads."""

import json

from tests.course.wrong_answers import Answers

ANSWERS = Answers()
wrong, right = ANSWERS.wrong, ANSWERS.right

GAP = 30 * 60_000


def frame(rows, columns=("user_id", "start_ms", "end_ms", "events")):
    import pandas as pd

    return pd.DataFrame(rows, columns=list(columns))


def pieces(times, gap=GAP):
    """Times, cut where more than the gap lies between two."""
    found = []
    for ms in times:
        if found and ms - found[-1][-1] <= gap:
            found[-1].append(ms)
        else:
            found.append([ms])
    return found


class Base:
    """A right one, of which each wrong one spoils a part."""

    wait = GAP

    def init(self, handle):
        self.handle = handle
        self.times = handle.getListState("times", "ms long")

    def handleInputRows(self, key, rows, timerValues):
        for each in rows:
            for ms in each["event_time_ms"].tolist():
                self.times.appendValue((ms,))
                self.handle.registerTimer(ms + self.wait)
        return iter([])

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        watermark, found = (
            timerValues.getCurrentWatermarkInMs(),
            self.cut([ms for (ms,) in self.times.get()]),
        )
        over = [piece for piece in found if piece[-1] + GAP <= watermark]
        self.keep([(ms,) for piece in found if piece not in over for ms in piece])
        if over:
            yield from self.told(
                frame([(key[0], piece[0], piece[-1], len(piece)) for piece in over])
            )

    def cut(self, times):
        return pieces(sorted(times))

    def keep(self, times):
        self.times.put(times)

    def told(self, found):
        yield found

    def close(self):
        pass


@right(1)
class InAMap(Base):
    """Times and how often each came; a piece is told by the timer of its own last
    time.
    """

    def init(self, handle):
        self.handle, self.counts = (
            handle,
            handle.getMapState("counts", "ms long", "n long"),
        )

    def handleInputRows(self, key, rows, timerValues):
        for each in rows:
            for ms in each["event_time_ms"].tolist():
                (before,) = self.counts.getValue((ms,)) or (0,)
                self.counts.updateValue((ms,), (before + 1,))
                self.handle.registerTimer(ms + GAP)
        yield from ()

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        last = expiredTimerInfo.getExpiryTimeInMs() - GAP
        counts = {ms: n for (ms,), (n,) in self.counts.iterator()}
        for piece in pieces(sorted(counts)):
            if piece[-1] == last:
                for ms in piece:
                    self.counts.removeKey((ms,))
                yield frame([(key[0], piece[0], last, sum(counts[ms] for ms in piece))])


@right(1)
class InOneText(Base):
    """One timer at a time, and all times in a value."""

    def init(self, handle):
        self.handle, self.kept = handle, handle.getValueState("kept", "times string")

    def times_now(self):
        return json.loads((self.kept.get() or ("[]",))[0])

    def handleInputRows(self, key, rows, timerValues):
        times = self.times_now() + [
            ms for each in rows for ms in each["event_time_ms"].tolist()
        ]
        self.kept.update((json.dumps(sorted(times)),))
        for at in list(self.handle.listTimers()):
            self.handle.deleteTimer(at)
        self.handle.registerTimer(
            min(piece[-1] for piece in pieces(sorted(times))) + GAP
        )
        return iter(())

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        rows, still = [], []
        for piece in pieces(self.times_now()):
            if piece[-1] + GAP > timerValues.getCurrentWatermarkInMs():
                still += piece
            else:
                rows.append((key[0], piece[0], piece[-1], len(piece)))
        self.kept.clear()
        if still:
            self.kept.update((json.dumps(still),))
            self.handle.registerTimer(pieces(still)[0][-1] + GAP)
        return iter([frame(rows)])


@wrong(
    1,
    "in the end it told (wanda, 10:00, 10:31, 2); the sessions are (wanda, 10:00,"
    " 10:00, 1) (wanda,",
)
class TheFirstTimerEndsIt(Base):
    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        times = sorted(ms for (ms,) in self.times.get())
        self.times.clear()
        if times:
            yield frame([(key[0], times[0], times[-1], len(times))])


@wrong(1, "in the end (wanda, 10:00, 10:00, 1) is over, and was not told.")
class InAnAttribute(Base):
    def __init__(self):
        self.mine = {}

    def handleInputRows(self, key, rows, timerValues):
        for each in rows:
            for ms in each["event_time_ms"].tolist():
                self.mine.setdefault(key[0], []).append(ms)
                self.handle.registerTimer(ms + GAP)
        return iter([])

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        for piece in pieces(sorted(self.mine.pop(key[0], []))):
            yield frame([(key[0], piece[0], piece[-1], len(piece))])


@wrong(1, "in the end it told (wanda, 10:00, 10:20, 2) 2 times.")
class NothingIsDeleted(Base):
    def keep(self, times):
        pass


@wrong(1, "in the end (wanda, 11:05, 11:05, 1) is over, and was not told.")
class AllIsDeleted(Base):
    def keep(self, times):
        self.times.clear()


@wrong(
    1,
    "in the end it told (wanda, 10:05, 10:00, 2); the sessions are (wanda, 10:00,"
    " 10:05, 2).",
)
class NotSorted(Base):
    def cut(self, times):
        return pieces(times)


@wrong(
    1,
    "in the end it told (wanda, 10:00, 10:00, 1); the sessions are (wanda, 10:00,"
    " 10:30, 2).",
)
class HalfAnHourIsAGap(Base):
    def cut(self, times):
        return pieces(sorted(times), gap=GAP - 1)


@wrong(1, "in the end (wanda, 10:00, 10:00, 1) is over, and was not told.")
class OnlyAtTheNextClick(Base):
    """A session is told when the next one begins: the last never."""

    def handleInputRows(self, key, rows, timerValues):
        times = sorted(
            [ms for (ms,) in self.times.get()]
            + [ms for f in rows for ms in f["event_time_ms"].tolist()]
        )
        *over, last = pieces(times)
        self.times.put([(ms,) for ms in last])
        return iter(
            [frame([(key[0], piece[0], piece[-1], len(piece)) for piece in over])]
        )

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        return iter([])


@wrong(1, "after micro-batch 2 (wanda, 10:00, 10:00, 1) is over, and was not told.")
class AMinuteTooLate(Base):
    wait = GAP + 60_000


@wrong(
    1,
    "after micro-batch 2 it told (wanda, 10:00, 10:00, 1), and an event in time could"
    " still change",
)
class OnlyForwards(Base):
    """Start, end and count in a value: an event that comes late can't join."""

    def init(self, handle):
        self.handle, self.kept = (
            handle,
            handle.getValueState("kept", "start long, end long, n long"),
        )

    def handleInputRows(self, key, rows, timerValues):
        for ms in sorted(ms for each in rows for ms in each["event_time_ms"].tolist()):
            kept = self.kept.get()
            if kept and ms - kept[1] > GAP:
                yield frame([(key[0], *kept)])
                kept = None
            start, _, n = kept or (ms, ms, 0)
            self.kept.update((start, ms, n + 1))
            self.handle.registerTimer(ms + GAP)

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        kept = self.kept.get()
        if kept and kept[1] + GAP <= timerValues.getCurrentWatermarkInMs():
            self.kept.clear()
            yield frame([(key[0], *kept)])


@wrong(1, "it raised TypeError: a value of a state is a tuple")
class NoTuple(Base):
    def handleInputRows(self, key, rows, timerValues):
        for each in rows:
            for ms in each["event_time_ms"].tolist():
                self.times.appendValue(ms)
        return iter([])


@wrong(
    1,
    "in the end it told (wanda, 36000 ms, 36000 ms, 1); the sessions are (wanda, 10:00,"
    " 10:00, 1).",
)
class InSeconds(Base):
    def told(self, found):
        yield found.assign(start_ms=found.start_ms // 1000, end_ms=found.end_ms // 1000)


@wrong(
    1,
    "the columns are user_id, start_ms, end_ms, count; they should be user_id,"
    " start_ms, end_ms,",
)
class OtherColumns(Base):
    def told(self, found):
        yield found.rename(columns={"events": "count"})


@wrong(
    1, "a processor yields DataFrames, and this is ('wanda', 36000000, 36000000, 1)."
)
class Tuples(Base):
    def told(self, found):
        yield from found.itertuples(index=False, name=None)


@wrong(
    1,
    "it raised ValueError: a TTL goes with timeMode ProcessingTime, and this is"
    " EventTime",
)
class WithATimeToLive(Base):
    def init(self, handle):
        self.handle = handle
        self.times = handle.getListState("times", "ms long", GAP)


@wrong(
    1,
    "all of wanda's sessions were told, and the state times still holds [(36000000,)].",
)
class NothingIsCleared(Base):
    """Told sessions are noted, and stay."""

    def init(self, handle):
        super().init(handle)
        self.noted = handle.getMapState("noted", "ms long", "yes boolean")

    def keep(self, times):
        pass

    def told(self, found):
        new = found[[not self.noted.containsKey((int(ms),)) for ms in found.start_ms]]
        for ms in new.start_ms:
            self.noted.updateValue((int(ms),), (True,))
        yield new


# --- what a micro-batch reads ---


def lost(what):
    from minikafka.course.kafka_source import DataLoss

    raise DataLoss(what)


def planned(
    start,
    end,
    first,
    new=None,
    check=lambda begin, stop, oldest: oldest <= begin <= stop,
):
    """(topic, partition as text, from, up to), also where nothing is new; start has no
    partition that end lacks.
    """
    for topic, numbers in end.items():
        for number, stop in numbers.items():
            begin = start.get(topic, {}).get(
                number, first[topic][number] if new is None else new
            )
            if not check(begin, stop, first[topic][number]):
                lost(topic)
            yield topic, number, begin, stop


def all_there(start, end):
    if any(
        number not in end.get(topic, {}) for topic in start for number in start[topic]
    ):
        lost("a partition")


def ranges(found):
    return [
        (topic, int(number), begin, stop)
        for topic, number, begin, stop in found
        if begin < stop
    ]


@right(2)
def in_steps(start, end, first):
    all_there(start, end)
    return ranges(planned(start, end, first))


@right(2)
def as_a_table(start, end, first):
    def flat(offsets):
        return {
            (topic, int(number)): at
            for topic, numbers in offsets.items()
            for number, at in numbers.items()
        }

    begins = flat(first) | flat(start)
    stops, oldest = flat(end), flat(first)
    if not begins.keys() <= stops.keys() or any(
        not oldest[at] <= begins[at] <= stops[at] for at in stops
    ):
        lost("something")
    return tuple(
        [*at, begins[at], stops[at]]
        for at in reversed(sorted(stops))
        if begins[at] != stops[at]
    )


@wrong(2, "it returned [('orders', 0, 0, 10)], and [('orders', 0, 5, 10)] is right.")
def all_of_it_again(start, end, first):
    return ranges(
        (topic, number, first[topic][number], end[topic][number])
        for topic in end
        for number in end[topic]
    )


@wrong(2, "it returned [('orders', 0, 5, 5)], and [] is right.")
def empty_ranges(start, end, first):
    all_there(start, end)
    return [
        (topic, int(number), begin, stop)
        for topic, number, begin, stop in planned(start, end, first)
    ]


@wrong(
    2,
    "the ranges are right, and ('orders', '0', 5, 10) should be ('orders', 0, 5, 10):"
    " numbers, not",
)
def as_text(start, end, first):
    return [
        (topic, str(number), begin, stop)
        for topic, number, begin, stop in in_steps(start, end, first)
    ]


@wrong(
    2,
    "it returned [{'topic': 'orders', 'partition': 0, 'from': 5, 'up to': ..., and"
    " should return a",
)
def as_dicts(start, end, first):
    keys = ("topic", "partition", "from", "up to")
    return [dict(zip(keys, each, strict=True)) for each in in_steps(start, end, first)]


@wrong(2, "it returned [], and [('orders', 1, 0, 7)] is right.")
def new_ones_are_left_out(start, end, first):
    all_there(start, end)
    return [
        each
        for each in in_steps(start, end, first)
        if str(each[1]) in start.get(each[0], {})
    ]


@wrong(2, "it returned [('orders', 1, 0, 7)], and [('orders', 1, 4, 7)] is right.")
def new_ones_from_0(start, end, first):
    all_there(start, end)
    return ranges(
        planned(
            start, end, first, new=0, check=lambda begin, stop, oldest: begin <= stop
        )
    )


@wrong(2, "it raised KeyError: '1'")
def new_ones_are_an_error(start, end, first):
    return ranges(
        (topic, number, start[topic][number], end[topic][number])
        for topic in end
        for number in end[topic]
    )


@wrong(
    2,
    "records are gone, and it returned [('orders', 0, 5, 10)]: it should raise"
    " DataLoss.",
)
def nothing_is_ever_lost(start, end, first):
    return ranges(planned(start, end, first, check=lambda begin, stop, oldest: True))


@wrong(
    2,
    "records are gone, and it returned [('orders', 0, 8, 10)]: it should raise"
    " DataLoss.",
)
def what_is_gone_is_skipped(start, end, first):
    all_there(start, end)
    found = planned(start, end, first, check=lambda begin, stop, oldest: begin <= stop)
    return ranges(
        (topic, number, max(begin, first[topic][number]), stop)
        for topic, number, begin, stop in found
    )


@wrong(2, "records are gone, and it returned []: it should raise DataLoss.")
def shorter_is_as_well(start, end, first):
    all_there(start, end)
    return ranges(
        planned(start, end, first, check=lambda begin, stop, oldest: oldest <= begin)
    )


@wrong(2, "records are gone, and it returned []: it should raise DataLoss.")
def partitions_may_go(start, end, first):
    return ranges(planned(start, end, first))


@wrong(2, "it raised ValueError: something is gone")
def another_error(start, end, first):
    from minikafka.course.kafka_source import DataLoss

    try:
        return in_steps(start, end, first)
    except DataLoss:
        raise ValueError("something is gone") from None


@wrong(2, "it raised DataLoss: old records; nothing is gone, and [] is right.")
def any_deletion_is_a_loss(start, end, first):
    if any(oldest > 0 for numbers in first.values() for oldest in numbers.values()):
        lost("old records")
    return in_steps(start, end, first)


@wrong(2, "it returned [], and [('payments', 0, 1, 2)] is right.")
def one_topic(start, end, first):
    topic = next(iter(end))
    return [each for each in in_steps(start, end, first) if each[0] == topic]
