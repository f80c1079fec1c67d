"""Lesson 20, Spark IV: what a right answer does. Exercise 1 runs in a stand-in for
Spark's micro-batches, exercise 2 in PySpark's own TwsTester.
"""

from collections import Counter, defaultdict

from minikafka.course.experiments.lesson_20_runs import GAP_MS, cut
from minikafka.course.judging.checks import (
    Exercise,
    NotAttempted,
    Rung,
    WrongKind,
    a_class,
    is_stub,
    short,
)
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
        "three clicks, three timers, and a watermark",
        right=3,
        why=(
            "3. The watermark is 9:42, which has reached 9:30 and 9:40. The timer of"
            " 9:50 waits for somebody's next click."
        ),
    ),
    Question(
        "a dict by user in an attribute",
        right=1,
        why=(
            "1. The dict keeps the users apart, and is as new as the copy of the"
            " processor: each micro-batch begins with an empty one. The tester keeps"
            " one processor, so it never sees that."
        ),
    ),
    Question(
        "stock that is kept for a quarter of an hour",
        right=2,
        why=(
            "2. A replay runs a day of event time in minutes. Only the watermark goes"
            " by the orders' own times; the other two go by the machine's clock."
        ),
    ),
    Question(
        "which clicks are too late",
        right=3,
        why=(
            "3. The watermark is 11:50, and 11:48's window ended then. 11:55 is out of"
            " order, but in time."
        ),
        lesson="18",
    ),
    Question(
        "a query that was killed between sink and commit",
        right=1,
        why=(
            "1. The plan stands in the checkpoint without a commit, so Spark runs it"
            " again, from the state of micro-batch 6 and between the same two offsets."
        ),
        lesson="17",
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
        "A timer only says: look again. Which of the user's clicks are still in"
        " self.times, and which sessions are they? cut(ms for (ms,) in"
        " self.times.get()) tells you."
    ),
    (
        "A piece is over when timerValues.getCurrentWatermarkInMs() has reached its"
        " last time plus GAP_MS. Most timers end no session, and one may end two."
    ),
    (
        "Keep the pieces that are not over: times.clear(), then"
        " times.put([(ms,), ...]) of what is open. Yield a Row for each piece that"
        " is over, and nothing where there is none."
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
        takes=a_processor,
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


def a_processor(answer):
    """A class that says what a timer does."""
    if is_stub(getattr(a_class(answer), "handleExpiredTimer", None)):
        raise NotAttempted("Sessions.handleExpiredTimer is still the stub.")
    return answer


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
    return [Counter(map(row_of, rows)) for rows in found], store


def row_of(given):
    from pyspark.sql import Row

    if not isinstance(given, Row):
        raise WrongKind(f"a processor yields Rows, and this is {short(given)}.")
    if not hasattr(given, "__fields__"):
        names = ", ".join(f"{name}=..." for name in COLUMNS)
        raise WrongKind(f"the Row has no names: write Row({names}).")
    row = given.asDict()
    if sorted(row) != sorted(COLUMNS):
        raise WrongKind(
            f"the columns are {', '.join(row)}; they should be {', '.join(COLUMNS)}."
            " Spark goes by these names, and leaves null where there is none."
        )
    user, *numbers = (row[name] for name in COLUMNS)
    if not all(isinstance(each, int) for each in numbers):
        raise WrongKind(
            f"start_ms, end_ms and events are whole numbers, and a row is {row}."
        )
    return (str(user), *numbers)


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


# --- 2: a test of somebody else's processor ---


def exercise_2():
    """A test that right processors pass, and wrong ones don't."""
    common = {"describe": lambda processor: processor.__name__}
    return Exercise(
        name="try_out",
        right="right processors pass, and each wrong one is noticed.",
        hints=(
            (
                "One TwsTester, one user, and two sessions of hers. Write down which"
                " rows must come out, and after which watermark."
            ),
            (
                "Give test() the clicks of the first session out of order. Set the"
                " watermark to the first timer: nothing may come. Then set it to half"
                " an hour after the last click: one row, with all its clicks."
            ),
            (
                "Now a click hours later, and the watermark half an hour after it: one"
                " row with one click. Compare whole rows: assert tester.setWatermark("
                "...) == [Row(user_id=..., start_ms=..., end_ms=..., events=...)]."
            ),
        ),
        rungs=(
            Rung(
                holds="right processors pass",
                broken=refuses_a_right_one,
                cases=named(keeps_a_list, keeps_a_text),
                **common,
            ),
            Rung(
                holds="a session that is told at its first timer is noticed",
                broken=passes_a_wrong_one,
                cases=named(ends_at_the_first_timer),
                **common,
            ),
            Rung(
                holds="clicks that are taken in the order they came in are noticed",
                broken=passes_a_wrong_one,
                cases=named(never_sorts),
                **common,
            ),
            Rung(
                holds="clicks that stay in the state are noticed",
                broken=passes_a_wrong_one,
                cases=named(forgets_nothing),
                **common,
            ),
        ),
    )


def named(*processors):
    return {each.__name__: each for each in processors}


def refuses_a_right_one(answer, processor):
    try:
        answer(processor())
    except Exception as error:
        said = f"{type(error).__name__}: {error}" if str(error) else "AssertionError"
        return f"{processor.__name__} is right, and the test failed with {said}."
    return None


def passes_a_wrong_one(answer, processor):
    try:
        answer(processor())
    except Exception:  # a test that stops with any error is red
        return None
    return f"{processor.__name__} is wrong, and the test came back as if it were right."


def over_and_open(pieces, timerValues):
    watermark = timerValues.getCurrentWatermarkInMs()
    over = [piece for piece in pieces if piece[-1] + GAP_MS <= watermark]
    return over, [ms for piece in pieces if piece not in over for ms in piece]


def session_row(key, piece):
    from pyspark.sql import Row

    return Row(user_id=key[0], start_ms=piece[0], end_ms=piece[-1], events=len(piece))


class keeps_a_list:
    """Right: all times in a list, a timer for each."""

    def init(self, handle):
        self.handle = handle
        self.times = handle.getListState("times", "ms long")

    def handleInputRows(self, key, rows, timerValues):
        for row in rows:
            self.times.appendValue((row.event_time_ms,))
            self.handle.registerTimer(row.event_time_ms + GAP_MS)
        return iter([])

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        pieces = self.pieces([ms for (ms,) in self.times.get()])
        over, still_open = self.decided(pieces, timerValues)
        self.keep(still_open)
        return iter([session_row(key, piece) for piece in over])

    def pieces(self, times):
        return cut(times)

    def decided(self, pieces, timerValues):
        return over_and_open(pieces, timerValues)

    def keep(self, times):
        self.times.clear()
        if times:
            self.times.put([(ms,) for ms in times])

    def close(self):
        pass


class keeps_a_text(keeps_a_list):
    """Right: all times in one value, and one timer, for the session that ends first."""

    def init(self, handle):
        self.handle = handle
        self.kept = handle.getValueState("kept", "times string")

    def handleInputRows(self, key, rows, timerValues):
        self.keep(self.there() + [row.event_time_ms for row in rows])
        return iter([])

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        over, still_open = over_and_open(cut(self.there()), timerValues)
        self.keep(still_open)
        return [session_row(key, piece) for piece in over]

    def there(self):
        (text,) = self.kept.get() or ("",)
        return [int(ms) for ms in text.split()]

    def keep(self, times):
        for ms in list(self.handle.listTimers()):
            self.handle.deleteTimer(ms)
        self.kept.clear()
        if times:
            self.kept.update((" ".join(map(str, times)),))
            self.handle.registerTimer(cut(times)[0][-1] + GAP_MS)


class ends_at_the_first_timer(keeps_a_list):
    def decided(self, pieces, timerValues):
        return pieces, []


class never_sorts(keeps_a_list):
    def pieces(self, times):
        found = []
        for ms in times:
            if found and ms - found[-1][-1] <= GAP_MS:
                found[-1].append(ms)
            else:
                found.append([ms])
        return found


class forgets_nothing(keeps_a_list):
    def keep(self, times):
        pass


# --- 3: what a micro-batch reads ---


def exercise_3():
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
