"""Lesson 01, the log: what a right answer does."""

from functools import cache

from minikafka import Cluster
from minikafka.course.judging.checks import Exercise, Rung, a_class, whole_number
from minikafka.course.judging.guard import plain
from minikafka.course.judging.kafkas_log import KafkasLog
from minikafka.course.lessons import Question
from minikafka.theatre import picture
from minikafka.trace import Reason, Trace

HOUR = 3600
TWO = (("append", 10, "a"), ("append", 20, "b"))

EXIT_TICKET = (
    Question(
        "a new consumer prints nothing, although the topic has plenty of records",
        right=2,
        why=(
            "2. Reading removes nothing, so other consumers don't matter. A new one has"
            " no position, and the default, latest, starts it at the end."
        ),
    ),
    Question(
        "retention.ms and segment.ms are 7 days, and an order comes every minute",
        right=2,
        why=(
            "2. The first record of a segment stays until the last one is older than 7"
            " days, too, and that one can be 7 days younger. Set segment.ms lower, or"
            " erase the data by other means."
        ),
    ),
    Question(
        "billing wakes up at position 1,000, and the log holds offsets 4,000 to 8,999",
        right=3,
        why=(
            "3. Retention deleted 3,000 orders that billing hadn't read. The broker"
            " answered OFFSET_OUT_OF_RANGE, and latest sent billing to the end, past"
            " the 5,000 that were left."
        ),
    ),
    Question(
        "s1 in partition 2, s2 in partition 0, one reader",
        right=1,
        why=(
            "1. Kafka keeps records in order within a partition, and promises nothing"
            " across partitions."
        ),
        lesson="00",
    ),
    Question(
        "some sensors' records are read out of order since yesterday",
        right=1,
        why=(
            "1. The partition is computed from the key and the number of partitions. If"
            " that number changes, many keys move."
        ),
        lesson="00",
    ),
)


# --- 1: predict a number ---


def exercise_1():
    """The first offset that can still be read: computed by running it, never typed
    in.
    """
    truth = log_start_after_ten_days()
    return Exercise(
        name="first_offset",
        takes=whole_number,
        right=f"the log starts at offset {truth} now.",
        hints=(
            (
                "Write down which offsets share a segment. A new segment begins with"
                " the record that comes more than 20 hours after the first record of"
                " the old segment."
            ),
            (
                "Each segment has four records: 0-3, 4-7, 8-11 and so on. A segment may"
                " go when its newest record is older than 72 hours. At which hour was"
                " offset 3 written? Offset 7?"
            ),
            (
                "Record n was written at hour 6n, so segment k ends with the record of"
                " hour 6(4k+3). It's hour 256 now. For which k is 6(4k+3) < 256 - 72?"
            ),
        ),
        rungs=(
            Rung(
                holds="it's what the cluster says",
                broken=lambda answer, case: not_the_log_start(answer, truth),
                cases={"this topic": None},
            ),
        ),
    )


LAST = 40


def not_the_log_start(answer, truth):
    if answer == truth:
        return None
    if not 0 <= answer <= LAST:
        return f"there is no offset {answer}: the shop wrote 0 to {LAST}."
    if answer == 31:  # the oldest record younger than 72 h
        return (
            "31 is the oldest record younger than three days. But retention looks at"
            " segments, not at records."
        )
    if answer % 4:
        return (
            f"offset {answer} is in the middle of a segment. Retention deletes whole"
            " segments."
        )
    if answer == 0:
        return (
            "0 is too small: segments whose newest record is older than three days are"
            " gone."
        )
    size, gone = ("large", "Fewer") if answer > truth else ("small", "More")
    return (
        f"{answer} is too {size}. {gone} records than that are gone: look at the newest"
        " record of each segment."
    )


@cache
def log_start_after_ten_days():
    """One record every six hours for ten days, then sixteen hours more."""
    cluster = Cluster(seed=1)
    configs = {"segment.ms": 20 * HOUR * 1000, "retention.ms": 72 * HOUR * 1000}
    cluster.create_topic("orders", partitions=1, configs=configs)
    # it asks less often, and the check is faster
    producer = cluster.producer(metadata_max_age_ms=24 * HOUR * 1000)
    for number in range(41):
        producer.send("orders", value=f"order {number}")
        cluster.run(seconds=6 * HOUR if number < 40 else 16 * HOUR)
    return (
        cluster.consumer("orders", auto_offset_reset="earliest")
        .poll(timeout_ms=1000)
        .popitem()[1][0]
        .offset
    )


# --- 2: write a piece ---


# The worked examples of the task, one after the other.
APPENDED = [*TWO, ("append", 30, "c")]
DELETED = [
    ("delete_older_than", 20),
    ("read", 0),
    ("delete_older_than", 99),
    ("read", 3),
    ("append", 100, "d"),
]
# name of the case: (records a segment holds, calls)
READ_CASES = {
    "one record": (2, [("append", 10, "a"), ("read", 0)]),
    "from the middle": (9, [*TWO, ("append", 30, "c"), ("read", 1)]),
    "across segments": (1, [*TWO, ("read", 0)]),
    "twice": (2, [("append", 10, "a"), ("read", 0), ("read", 0)]),
    "forty records": (
        3,
        [*(("append", 10 * number, "z") for number in range(40)), ("read", 37)],
    ),
    "the example": (2, [*APPENDED, ("read", 1)]),
    "the same record again": (2, [("append", 0, "a"), ("append", 0, "a"), ("read", 0)]),
    "an empty value, and none": (
        2,
        [("append", 0, ""), ("append", 5, None), ("read", 0)],
    ),
}
END_CASES = {
    "an empty log": (2, [("read", 0)]),
    "the end": (2, [("append", 10, "a"), ("read", 1)]),
    "past the end": (2, [("append", 10, "a"), ("read", 2)]),
    "before the start": (2, [("append", 10, "a"), ("read", -1)]),
    "far before the start": (2, [*TWO, ("read", -2)]),
    "the examples": (2, [*APPENDED, ("read", 3), ("read", 4)]),
}
RETENTION_CASES = {
    "nothing to delete": (2, [("delete_older_than", 10), ("append", 10, "a")]),
    "one old segment": (1, [*TWO, ("delete_older_than", 15), ("read", 1)]),
    "an old record in a young segment": (
        2,
        [*TWO, ("delete_older_than", 15), ("read", 0)],
    ),
    "a late record at the end of a young segment": (
        2,
        [
            ("append", 20, "a"),
            ("append", 10, "b"),
            ("delete_older_than", 15),
            ("read", 0),
        ],
    ),
    "exactly the limit": (1, [*TWO, ("delete_older_than", 10), ("read", 0)]),
    "all of it": (
        2,
        [*TWO, ("delete_older_than", 99), ("append", 30, "c"), ("read", 2)],
    ),
    "an old segment behind a young one": (
        1,
        [
            ("append", 20, "a"),
            ("append", 10, "b"),
            ("delete_older_than", 15),
            ("read", 0),
        ],
    ),
    "a segment after everything was deleted": (
        2,
        [
            ("append", 10, "a"),
            ("delete_older_than", 99),
            ("append", 20, "b"),
            ("append", 40, "c"),
            ("delete_older_than", 30),
            ("read", 1),
        ],
    ),
    "the deleted": (1, [*TWO, ("delete_older_than", 15), ("read", 0)]),
    "the examples": (2, [*APPENDED, *DELETED]),
}
TIME_CASES = {
    "an empty log": (2, [("offset_for", 10)]),
    "between two": (2, [*TWO, ("offset_for", 15)]),
    "younger than all": (2, [("append", 10, "a"), ("offset_for", 11)]),
    "clocks that disagree": (
        4,
        [
            ("append", 10, "a"),
            ("append", 30, "b"),
            ("append", 20, "c"),
            ("offset_for", 20),
        ],
    ),
    "the first example": (
        2,
        [
            ("append", 10, "a"),
            ("append", 30, "b"),
            ("append", 20, "c"),
            ("offset_for", 20),
        ],
    ),
    "the second example": (
        2,
        [
            ("append", 10, "a"),
            ("append", 30, "b"),
            ("append", 20, "c"),
            ("offset_for", 31),
        ],
    ),
}


HINTS_2 = (
    (
        "An offset is never used twice. Keep the next one in self.end, because the"
        " length of a list shrinks when something is deleted."
    ),
    (
        "The log starts at the first record of self.segments[0], or at self.end if"
        " that segment is empty. read raises IndexError below the start and above"
        " self.end. At self.end it returns []."
    ),
    (
        "Retention: while the first segment has records and the largest"
        " timestamp among them is less than the limit, drop that segment. If no"
        " segment is left, put an empty one in its place. The offsets continue from"
        " self.end."
    ),
)


def exercise_2():
    """A log in memory, in four rungs: append and read, the ends, retention, and
    (stretch) search by time.
    """
    common = {
        "smaller": fewer_steps,
        "describe": as_calls,
        "picture": what_kafkas_log_does,
        "broken": differs,
    }
    return Exercise(
        name="TinyLog",
        takes=a_class,
        right="your log does what Kafka's does.",
        hints=HINTS_2,
        rungs=(
            Rung(
                holds=(
                    "offsets rise by one, and read returns everything from an offset on"
                ),
                cases=READ_CASES,
                scenario=lambda source: steps(
                    source, ("append", "append", "read"), inside=True
                ),
                needs=("append", "read"),
                **common,
            ),
            Rung(
                holds=(
                    "read returns nothing at the end, and raises an error beyond either"
                    " end"
                ),
                cases=END_CASES,
                scenario=lambda source: steps(source, ("append", "append", "read")),
                **common,
            ),
            Rung(
                holds="retention deletes whole segments, oldest first, and the numbering continues",
                cases=RETENTION_CASES,
                scenario=lambda source: steps(
                    source, ("append", "append", "append", "delete_older_than", "read")
                ),
                needs=("delete_older_than",),
                **common,
            ),
            Rung(
                holds="a search by time finds the first record that isn't earlier",
                cases=TIME_CASES,
                scenario=lambda source: steps(
                    source, ("append",) * 3 + ("delete_older_than", "offset_for")
                ),
                needs=("offset_for",),
                stretch=True,
                **common,
            ),
        ),
    )


def steps(source, kinds, inside=False):
    """A random segment size and calls; timestamps mostly rise. inside: reads stay
    within the log.
    """
    calls = []
    appended = 0
    for _ in range(source.randint(2, 12 if source.random() < 0.9 else 60)):
        kind = kinds[source.randrange(len(kinds))]
        if kind == "append":
            at = max(0, 10 * appended + source.choice((0, 0, 5, -25)))
            calls.append(("append", at, "abcdefghijklmnopqrstuvwxyz"[appended % 26]))
            appended += 1
        elif kind == "read":
            calls.append(
                (
                    "read",
                    (
                        source.randint(0, appended)
                        if inside
                        else source.randint(-3, appended + 2)
                    ),
                )
            )
        else:
            calls.append((kind, source.randint(0, 10 * appended + 10)))
    return source.randint(1, 4), calls


def differs(answer, case):
    """The first call at which the answer and Kafka's log part; also when the caller
    changes the lists it gets.
    """
    parted = parting(answer, case, spoil=False)
    if parted or not parting(answer, case, spoil=True):
        return parted
    return (
        "read returns the log's own list: when the caller empties that list, the"
        " records are gone from the log, too."
    )


def parting(answer, case, spoil):
    """spoil: whoever reads empties the list that it gets."""
    segment_size, calls = case
    mine, kafkas = answer(segment_size), KafkasLog(segment_size)
    for number, (name, *arguments) in enumerate(calls):
        expected, found = (
            outcome(kafkas, name, arguments),
            outcome(mine, name, arguments),
        )
        if name == "delete_older_than" and not isinstance(found, OutOfRange):
            found = None  # whatever it returns
        if plain(expected) != plain(found):
            return (
                f"{call(name, arguments)} {said(found, 'gave', 'raised')}, and Kafka's"
                f" log {said(expected)}.\n"
                + (
                    f"before it: {as_calls((segment_size, calls[:number]))}"
                    if number < len(calls) - 1
                    else ""
                )
            )
        if spoil and isinstance(found, list):
            found.clear()
    return None


class OutOfRange:
    """What a call raised: IndexError, or by mistake another exception in its place."""

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return isinstance(other, OutOfRange) and other.name == self.name


def outcome(log, name, arguments):
    try:
        return getattr(log, name)(*arguments)
    except IndexError:
        return OutOfRange("IndexError")
    except LookupError as error:
        return OutOfRange(type(error).__name__)


def said(found, gives="gives", raises="raises"):
    return (
        f"{raises} {found.name}"
        if isinstance(found, OutOfRange)
        else f"{gives} {found!r}"
    )


def fewer_steps(case):
    segment_size, calls = case
    for at in range(len(calls)):
        yield segment_size, calls[:at] + calls[at + 1 :]
    for smaller in range(1, segment_size):
        yield smaller, calls


def call(name, arguments):
    return f"{name}({', '.join(map(repr, arguments))})"


def as_calls(case):
    segment_size, calls = case
    return ", ".join(
        [
            f"TinyLog({segment_size})",
            *(call(name, arguments) for name, *arguments in calls),
        ]
    )


WHERE = {"topic": "tiny", "partition": 0}
SIZE = 70  # bytes of a small record in a batch of its own


def what_kafkas_log_does(_, case):
    """The same calls on Kafka's log, as a picture of its segments."""
    segment_size, calls = case
    log, events = KafkasLog(segment_size), []
    trace = Trace("broker 1", [events.append])
    trace.emit(
        "TopicCreated", topic="tiny", partitions=1, replication_factor=1, configs={}
    )
    for name, *arguments in calls:
        trace.now += 1000
        before = [segment for segment in log.segments if segment]
        outcome(log, name, arguments)
        if name == "append":
            append_as_events(
                trace, log, *arguments, rolled=len(log.segments) > max(1, len(before))
            )
        elif name == "delete_older_than":
            delete_as_events(
                trace,
                log,
                [segment for segment in before if segment not in log.segments],
            )
    return picture("log", events)


def append_as_events(trace, log, timestamp, value, rolled):
    offset = log.end - 1
    if rolled:
        why = Reason("segment_bytes", f"it is full, with {log.segment_size} records")
        trace.emit("SegmentRolled", **WHERE, base_offset=offset, why=why)
    records = [[offset, None, value, timestamp]]
    trace.emit(
        "RecordsAppended",
        **WHERE,
        base_offset=offset,
        last_offset=offset,
        size_bytes=SIZE,
        records=records,
    )
    trace.emit("HighWatermarkAdvanced", **WHERE, high_watermark=log.end)


def delete_as_events(trace, log, deleted):
    for segment in deleted:
        base, after = segment[0][0], segment[-1][0] + 1
        why = Reason("retention_ms", "its newest record is older than the limit")
        size_bytes = SIZE * len(segment)
        trace.emit(
            "SegmentDeleted",
            **WHERE,
            base_offset=base,
            next_offset=after,
            size_bytes=size_bytes,
            why=why,
        )
        trace.emit("LogStartOffsetAdvanced", **WHERE, log_start_offset=after, why=why)
