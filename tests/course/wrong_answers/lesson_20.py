"""Lesson 20: sessions by event time. Tests of somebody else's sessions:
lesson_20_tests.py; what a micro-batch of a source reads: lesson_20_plans.py.
"""

import json

from tests.course.wrong_answers.lesson_20_tests import ANSWERS

wrong, right = ANSWERS.wrong, ANSWERS.right

GAP = 30 * 60_000


def session(user, piece):
    """The row of a piece of this user's times."""
    return told(user, piece[0], piece[-1], len(piece))


def told(user, start_ms, end_ms, events):
    from pyspark.sql import Row

    return Row(user_id=user, start_ms=start_ms, end_ms=end_ms, events=events)


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
        for row in rows:
            ms = row.event_time_ms
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
            yield from self.told([session(key[0], piece) for piece in over])

    def cut(self, times):
        return pieces(sorted(times))

    def keep(self, times):
        self.times.clear()
        if times:
            self.times.put(times)

    def told(self, found):
        yield from found

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
        for row in rows:
            ms = row.event_time_ms
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
                yield session(key[0], [ms for ms in piece for _ in range(counts[ms])])


@right(1)
class InOneText(Base):
    """One timer at a time, and all times in a value."""

    def init(self, handle):
        self.handle, self.kept = handle, handle.getValueState("kept", "times string")

    def times_now(self):
        return json.loads((self.kept.get() or ("[]",))[0])

    def handleInputRows(self, key, rows, timerValues):
        times = self.times_now() + [row.event_time_ms for row in rows]
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
                rows.append(session(key[0], piece))
        self.kept.clear()
        if still:
            self.kept.update((json.dumps(still),))
            self.handle.registerTimer(pieces(still)[0][-1] + GAP)
        return iter(rows)


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
            yield session(key[0], times)


@wrong(1, "in the end (wanda, 10:00, 10:00, 1) is over, and was not told.")
class InAnAttribute(Base):
    def __init__(self):
        self.mine = {}

    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            ms = row.event_time_ms
            self.mine.setdefault(key[0], []).append(ms)
            self.handle.registerTimer(ms + GAP)
        return iter([])

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        for piece in pieces(sorted(self.mine.pop(key[0], []))):
            yield session(key[0], piece)


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
            [ms for (ms,) in self.times.get()] + [row.event_time_ms for row in rows]
        )
        *over, last = pieces(times)
        self.times.put([(ms,) for ms in last])
        return iter([session(key[0], piece) for piece in over])

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
        for ms in sorted(row.event_time_ms for row in rows):
            kept = self.kept.get()
            if kept and ms - kept[1] > GAP:
                yield told(key[0], *kept)
                kept = None
            start, _, n = kept or (ms, ms, 0)
            self.kept.update((start, ms, n + 1))
            self.handle.registerTimer(ms + GAP)

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        kept = self.kept.get()
        if kept and kept[1] + GAP <= timerValues.getCurrentWatermarkInMs():
            self.kept.clear()
            yield told(key[0], *kept)


@wrong(1, "all of wanda's sessions were told, and a timer at")
class LooksAgainForEver(Base):
    """A timer every half hour, also when the user is gone."""

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        yield from super().handleExpiredTimer(key, timerValues, expiredTimerInfo)
        self.handle.registerTimer(timerValues.getCurrentWatermarkInMs() + GAP)


@wrong(1, "it raised TypeError: a value of a state is a tuple")
class NoTuple(Base):
    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            ms = row.event_time_ms
            self.times.appendValue(ms)
        return iter([])


@wrong(
    1,
    "in the end it told (wanda, 36000 ms, 36000 ms, 1); the sessions are (wanda, 10:00,"
    " 10:00, 1).",
)
class InSeconds(Base):
    def told(self, found):
        for row in found:
            yield told(
                row.user_id, row.start_ms // 1000, row.end_ms // 1000, row.events
            )


@wrong(
    1,
    "the columns are count, user_id, start_ms, end_ms; they should be user_id,"
    " start_ms, end_ms,",
)
class OtherColumns(Base):
    def told(self, found):
        from pyspark.sql import Row

        for row in found:
            named = row.asDict()
            yield Row(count=named.pop("events"), **named)


@wrong(1, "a processor yields Rows, and this is ('wanda', 36000000, 36000000, 1).")
class Tuples(Base):
    def told(self, found):
        yield from map(tuple, found)


@wrong(1, "a processor yields Rows, and this is {'user_id': 'wanda', 'start_ms': ")
class Dicts(Base):
    def told(self, found):
        yield from [row.asDict() for row in found]


@wrong(1, "the Row has no names: write Row(user_id=..., start_ms=..., end_ms=..., ")
class RowsWithoutNames(Base):
    def told(self, found):
        from pyspark.sql import Row

        yield from [Row(*row) for row in found]


@wrong(1, "a processor yields Rows, and this is [Row(user_id='wanda', start_ms=")
class AListOfRows(Base):
    def told(self, found):
        yield found


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
        for row in found:
            if not self.noted.containsKey((row.start_ms,)):
                self.noted.updateValue((row.start_ms,), (True,))
                yield row


@wrong(1, "in the end (wanda, 10:00, 10:00, 1) is over, and was not told.")
class InADictOfTheClass(Base):
    kept = {}

    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            ms = row.event_time_ms
            self.kept.setdefault(key[0], []).append(ms)
            self.handle.registerTimer(ms + GAP)
        return iter([])

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        watermark = timerValues.getCurrentWatermarkInMs()
        found = pieces(sorted(self.kept.pop(key[0], [])))
        over = [piece for piece in found if piece[-1] + GAP <= watermark]
        self.kept[key[0]] = [ms for piece in found if piece not in over for ms in piece]
        if over:
            yield from [session(key[0], piece) for piece in over]


TIMES = {}


@wrong(1, "in the end (wanda, 10:00, 10:00, 1) is over, and was not told.")
class InTheNotebook(InADictOfTheClass):
    @property
    def kept(self):
        return TIMES

    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            ms = row.event_time_ms
            TIMES.setdefault(key[0], []).append(ms)
            self.handle.registerTimer(ms + GAP)
        return iter([])


@wrong(
    1,
    "in the end it told (wanda, 10:00, 10:00, 1); the sessions are (wanda, 10:00,"
    " 10:20, 2).",
)
class TheFirstRowOnly(Base):
    def handleInputRows(self, key, rows, timerValues):
        return super().handleInputRows(key, iter([next(rows)]), timerValues)


@wrong(1, "the sessions are (wanda, 10:00, 10:00, 2).")
class EachMomentOnce(Base):
    def cut(self, times):
        return pieces(sorted(set(times)))


@wrong(1, "the sessions are (wanda, 10:00, 10:00, 1) (wanda, 10:30:30, 10:30:30, 1).")
class WholeMinutes(Base):
    def cut(self, times):
        return pieces(sorted(times), gap=GAP + 59_999)


@wrong(1, "the sessions are (wanda, 10:00, 10:00, 1) (wanda, 10:30:00.001,")
class AMillisecondMoreIsNoGap(Base):
    def cut(self, times):
        return pieces(sorted(times), gap=GAP + 1)


@wrong(1, "in the end (wanda, 10:00, 10:00, 1) is over, and was not told.")
class AMillisecondTooEarly(Base):
    """The timer goes off before the session is over, and no other is set."""

    wait = GAP - 1


@wrong(1, "11:59, 50); the sessions are (wanda, 10:")
class OnlyTheLastFifty(Base):
    def cut(self, times):
        return pieces(sorted(times)[-50:])


@wrong(1, "handleExpiredTimer() got an unexpected keyword argument 'timerValues'")
class ShortNames(Base):
    """Spark names what it gives to handleExpiredTimer."""

    def handleExpiredTimer(self, key, tv, info):
        return super().handleExpiredTimer(key, tv, info)


@wrong(1, "handleExpiredTimer() got an unexpected keyword argument 'key'")
class UserForKey(Base):
    def handleExpiredTimer(self, user, timerValues, expiredTimerInfo):
        return super().handleExpiredTimer(user, timerValues, expiredTimerInfo)


@wrong(1, "Spark writes no empty list into times: clear() it")
class PutsWhatIsLeft(Base):
    def keep(self, times):
        self.times.put(times)


@wrong(1, "Spark gives a state variable, times, in init alone")
class AsksWhenItNeedsIt(Base):
    def init(self, handle):
        self.handle = handle

    @property
    def times(self):
        return self.handle.getListState("times", "ms long")


@wrong(1, "'float' object cannot be interpreted as an integer")
class AFloatIsNoTime(Base):
    wait = 30 * 60 * 1e3


@wrong(1, "is no long, and Spark would keep null for it")
class KeepsTexts(Base):
    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            ms = row.event_time_ms
            self.times.appendValue((str(ms),))
            self.handle.registerTimer(ms + self.wait)
        return iter([])


@wrong(1, "[STRUCT_ARRAY_LENGTH_MISMATCH] the schema has 1 column, and (")
class TwoForOneColumn(Base):
    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            ms = row.event_time_ms
            self.times.appendValue((ms, ms))
        return iter([])


@right(1)
class NamesForHandleInputRows(Base):
    """Spark gives these by place, so their names are free; and a list is as good as an
    iterator.
    """

    def init(self, h):
        self.handle = h
        self.times = h.getListState(stateName="times", schema="ms: bigint")

    def handleInputRows(self, user, clicks, _):
        super().handleInputRows(user, clicks, _)
        return []

    def handleExpiredTimer(self, key, **given):
        return tuple(super().handleExpiredTimer(key, **given))

    def keep(self, times):
        self.times.clear()
        if times:
            self.times.appendList(newState=times)


@right(1)
class WithATypesSchema(Base):
    def init(self, handle):
        from pyspark.sql.types import LongType, StructField, StructType

        self.handle = handle
        schema = StructType([StructField("ms", LongType())])
        self.times = handle.getMapState(
            "times", userKeySchema=schema, valueSchema="n int, note decimal(10, 2)"
        )

    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            ms = row.event_time_ms
            n, _ = self.times.getValue(key=(ms,)) or (0, None)
            self.times.updateValue(key=(ms,), value=(n + 1, None))
            self.handle.registerTimer(expiryTimestampMs=ms + GAP)
        return iter([])

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        watermark = timerValues.getCurrentWatermarkInMs()
        counts = {ms: n for (ms,), (n, _) in self.times.iterator()}
        for piece in pieces(sorted(counts)):
            if piece[-1] + GAP <= watermark:
                for ms in piece:
                    self.times.removeKey((ms,))
                yield session(key[0], [ms for ms in piece for _ in range(counts[ms])])
