"""Lesson 14, exactly once at the edges: what a right answer does."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from minikafka.course.experiments.lesson_14_settings import a_day, none_possible
from minikafka.course.judging.checks import Exercise, Rung, WrongKind, short
from minikafka.course.judging.killed_sinks import CALLS, lives
from minikafka.course.lessons import Question
from minikafka.theatre import picture

EXIT_TICKET = (
    Question(
        "the current address of each customer, by id: what else to store",
        right=3,
        why=(
            "3. An upsert: the same record gives the same row. With two programs an"
            " older address could overtake a newer one."
        ),
    ),
    Question(
        "a service that keeps an Idempotency-Key: which key to send",
        right=2,
        why=(
            "2. It must be the same when the record comes again, after a crash or at"
            " another member. Topic, partition and offset are."
        ),
    ),
    Question(
        "a sink that checks the stored offset before it opens the transaction",
        right=2,
        why=(
            "2. The second one stores the offset meanwhile, but the first goes by what it"
            " read before. If it's killed there, it has written nothing."
        ),
    ),
    Question(
        "which kind of delivery: work done, then the offset committed",
        right=1,
        why="1. A crash between the two repeats the work. Nothing is lost.",
        lesson="04",
    ),
    Question(
        "records with one key: their order",
        right=2,
        why=(
            "2. One key goes to one partition, and a partition keeps its order. A record"
            " that is written again later loses its place in it."
        ),
        lesson="02",
    ),
)


# --- 1: write a piece ---


HINTS_1 = (
    (
        "What you do in one transaction of the database counts together, or not"
        " at all. Which two things must never be there without each other?"
    ),
    (
        "A partition's offsets only grow. So one number is enough to tell whether a"
        " record has counted already. Put topic and partition into the note's name."
    ),
    (
        "For each record: open a transaction; look up the note of its topic and"
        " partition; if there is none (None, and not 0), or the record's offset"
        " is larger, add it and note the offset. After the transaction, commit."
    ),
)


def exercise_1():
    """A sink that neither loses nor repeats, with one note a partition."""
    common = {"smaller": fewer, "describe": as_schedule}
    return Exercise(
        name="my_sink",
        right=(
            "each order counts once, whenever your program is killed, and the notes"
            " stay few."
        ),
        hints=HINTS_1,
        rungs=(
            Rung(
                "without a crash each order counts once, and Kafka hears of it",
                wrong,
                CALM,
                describe=as_schedule,
            ),
            Rung(
                "killed before or after any call, it loses and repeats nothing",
                wrong,
                KILLED,
                some_deaths,
                **common,
            ),
            Rung(
                "an add that fails for a moment loses and repeats nothing",
                wrong,
                FAILING,
                **common,
            ),
            Rung(
                "several partitions and topics", wrong, PARTITIONED, several, **common
            ),
            Rung(
                "the group's offsets are set back, and no order counts again",
                wrong,
                SET_BACK,
                set_back,
                **common,
            ),
            Rung(
                "it keeps at most one note for each partition",
                too_much_noted,
                LONG,
                describe=lambda case: "500 orders",
            ),
        ),
    )


def orders(count, *places, gaps=(), amounts=None):
    """(topic, partition, offset, account, cents), in turns from these places. gaps:
    offsets that nobody gets. amounts: in turns; None: each another one.
    """
    places, found = places or (("orders", 0),), []
    ends = Counter()
    for number in range(count):
        place = places[number % len(places)]
        while ends[place] in gaps:
            ends[place] += 1
        cents = amounts[number % len(amounts)] if amounts else 100 + number
        account = ("alice", "bob")[number // 2 % 2]
        found.append((*place, ends[place], account, cents))
        ends[place] += 1
    return tuple(found)


PLACES = (("orders", 0), ("orders", 1), ("refunds", 0))
CALM = {
    "one order": (orders(1), ()),
    "no order": ((), ()),
    "five orders": (orders(5), ()),
    "a gap in the offsets": (orders(4, gaps=(0, 2)), ()),
    "the first example": (
        (("orders", 0, 0, "alice", 20), ("orders", 0, 1, "alice", 5)),
        (),
    ),
    "the same account and amount twice": (
        (("orders", 0, 0, "alice", 5), ("orders", 0, 1, "alice", 5)),
        (),
    ),
    "an amount below zero": (
        (("orders", 0, 0, "alice", 20), ("orders", 0, 1, "alice", -20)),
        (),
    ),
    "an order of 0 cents": (
        (("orders", 0, 0, "alice", 0), ("orders", 0, 1, "bob", 7)),
        (),
    ),
}
KILLED = {
    f"killed {when} {call} {nth}": (orders(3), ((when, call, nth),))
    for call in CALLS
    for nth in (1, 2, 3)
    for when in ("before", "after")
}
FAILING = {f"add {nth} fails": (orders(3), (("in", "add", nth),)) for nth in (1, 2, 3)}
PARTITIONED = {
    "two partitions": (orders(4, *PLACES[:2]), (("after", "add", 3),)),
    "two topics": (orders(4, PLACES[0], PLACES[2]), (("before", "commit", 2),)),
    "names that look alike": (orders(4, ("orders", 10), ("orders1", 0)), ()),
    "an order of one partition waits": (
        (("orders", 1, 4, "alice", 5), ("orders", 0, 2, "alice", 7)),
        (),
    ),
}
SET_BACK = {
    f"set back to {offset}": (orders(3), (("back", "offsets", offset),))
    for offset in (0, 1, 2)
} | {
    "two partitions, set back to 0": (
        orders(6, *PLACES[:2]),
        (("back", "offsets", 0),),
    ),
    "30 orders, set back to 0": (orders(30, gaps=(7,)), (("back", "offsets", 0),)),
}
LONG = {
    "500 orders": (
        orders(500, *PLACES),
        (("before", "commit", 200), ("after", "commits", 100)),
    )
}


def moments(source):
    return tuple(
        (source.choice(("before", "after")), source.choice(CALLS), source.randint(1, 3))
        for _ in range(source.randint(1, 4))
    )


def some_deaths(source):
    given = orders(
        source.randint(1, 6), gaps=(source.randint(0, 5),), amounts=amounts(source)
    )
    return given, moments(source)


def amounts(source):
    """Also the same again and again, 0, and money that goes back."""
    return source.choice((None, (7,), (7, 7, -7), (0, 3), (-20, 5, 5)))


def several(source):
    places = source.sample(PLACES, source.randint(2, 3))
    given = orders(source.randint(2, 8), *places, amounts=amounts(source))
    return given, moments(source)


def set_back(source):
    """Perhaps a kill before it, perhaps one after."""
    given, _ = several(source)
    back = "back", "offsets", source.randint(0, 3)
    deaths = moments(source)[:2]
    return given, (*deaths[1:], back, *deaths[:1])


def fewer(case):
    """Fewer lives, fewer orders."""
    given, deaths = case
    for at in range(len(deaths)):
        yield given, deaths[:at] + deaths[at + 1 :]
    for count in range(1, len(given)):
        yield given[:count], deaths


def as_schedule(case):
    given, deaths = case
    named = " ".join(
        f"{topic}-{partition}@{offset}" for topic, partition, offset, *_ in given
    )
    ends = [as_end(*death) for death in deaths]
    return ", ".join([named or "no order", *ends]).replace(
        "commits", "the end of transaction"
    )


def as_end(when, call, nth):
    if when == "back":
        return f"the group's offsets are set back to {nth}"
    return f"add {nth} fails" if when == "in" else f"killed {when} {call} {nth}"


def wrong(answer, case):
    database, committed = lives(answer, *case)
    should = Counter()
    for _, _, _, account, cents in case[0]:
        should[account] += cents
    found = database.balances()
    strange = [account for account in found if account not in should]
    if strange:
        return f"{strange[0]!r} has a balance, but no order is for {strange[0]}."
    for account in sorted(should):
        if found.get(account, 0) != should[account]:
            amounts_of = [each[4] for each in case[0] if each[3] == account]
            less = found.get(account, 0) < should[account]
            what = "an order is lost" if less else "an order counts twice"
            if min(amounts_of) < 0:
                what = "an order is lost, or counts twice, or not as it is"
            return (
                f"{what}: {account} should have {should[account]} cents, and has"
                f" {found.get(account, 0)}."
            )
    for place, end in {each[:2]: each[2] + 1 for each in case[0]}.items():
        if committed.get(place) != end:
            return (
                "all orders count, but Kafka hasn't heard of it:"
                f" {place[0]}-{place[1]} keeps a lag."
            )
    return None


def too_much_noted(answer, case):
    database, _ = lives(answer, *case)
    most = database.most
    allowed = len({each[:2] for each in case[0]})
    if most > allowed:
        return (
            f"after 500 orders there are {most} notes for {allowed} partitions: the"
            " notes grow without end."
        )
    return wrong(answer, case)


# --- 2: settings that meet targets ---

WORD_MS, REQUESTS_PER_S, LONGEST_MS = 60, 60, 45_000
MOST_STEPS = 12  # of a day, in a verdict
CALM_DAYS = (("calm", 3), ("calm", 5))
TROUBLE = (
    ("messages lost", 4),
    ("messages lost", 6),
    ("leader cut off", 3),
    ("leader frozen", 4),
    ("leader killed", 5),
    ("maintenance", 3),
    ("maintenance", 6),
)
NO_WAY_OUT = ("no way out", 3)
OF_THE_PRODUCER = (
    *(
        "acks",
        "enable_idempotence",
        "retries",
        "linger_ms",
        "batch_size",
        "delivery_timeout_ms",
        "request_timeout_ms",
    ),
    "max_in_flight_requests_per_connection",
)
OF_THE_TOPIC = ("min.insync.replicas", "unclean.leader.election.enable")
PAIR = 'a pair, such as ({"linger_ms": 5}, {"min.insync.replicas": 1})'


def exercise_2():
    """Settings of a producer and a topic, judged on days that the learner has not
    seen.
    """
    common = {"describe": as_day, "picture": the_day}
    return Exercise(
        name="my_settings",
        takes=settings,
        right="your settings meet all four targets, on every kind of day.",
        hints=(
            (
                "Four targets, and few settings. Which one decides how long a record"
                " waits for others? Which one decides how many replicas have it before"
                " it is acknowledged? And which one when the producer gives up? Other"
                " settings must not be worse than their defaults."
            ),
            (
                'acks="all" waits for all that are in sync, and that may be the leader'
                " alone: min.insync.replicas says how many must be in sync. With as"
                " many as there are replicas, one dead broker stops all payments. Leave"
                " idempotence on, and retries as they are."
            ),
            (
                "Payments come every 5 ms, so a request leaves every linger_ms + 5 ms or"
                " so: that makes the requests a second. The answer comes some 20 ms after"
                " the linger is over. The producer gives up after delivery_timeout_ms,"
                " which must hold linger_ms + request_timeout_ms (30,000), and be at"
                " most 45,000."
            ),
        ),
        rungs=(
            Rung(
                f"a calm day: an answer after {WORD_MS} ms for 99%, and at most"
                f" {REQUESTS_PER_S} requests a second",
                too_slow,
                named(CALM_DAYS),
                describe=as_day,
            ),
            Rung(
                "no acknowledged payment is lost; each is there once, in order",
                not_kept,
                named(TROUBLE),
                **common,
            ),
            Rung(
                "no payment fails while something can be done",
                fails,
                named(TROUBLE),
                **common,
            ),
            Rung(
                f"the shop has an answer for each payment after {LONGEST_MS // 1000} s",
                no_word,
                named((*TROUBLE, NO_WAY_OUT)),
                **common,
            ),
        ),
    )


def named(days):
    return {f"{kind}, seed {seed}": (kind, seed) for kind, seed in days}


def settings(answer):
    """The two dictionaries. Raises WrongKind for what no producer and no topic
    takes.
    """
    if isinstance(answer, str) or not isinstance(answer, Sequence) or len(answer) != 2:
        raise WrongKind(f"should be {PAIR}, and this is {short(answer)}.")
    for given, known, whose in zip(
        answer, (OF_THE_PRODUCER, OF_THE_TOPIC), ("producer", "topic"), strict=True
    ):
        if not isinstance(given, Mapping):
            raise WrongKind(f"should be {PAIR}; the {whose}'s part is {short(given)}.")
        for name, value in given.items():
            if name not in known:
                raise WrongKind(
                    f"{name!r} is no setting of the {whose} here. Choose from"
                    f" {', '.join(known)}."
                )
            if not isinstance(value, str | int | float | None):
                raise WrongKind(f"{name}={short(value)} can't be.")
    if refusal := none_possible(*answer):
        raise WrongKind(refusal)
    return answer


def as_day(case):
    return f"a_day(*my_settings, {case[0]!r}, seed={case[1]})"


def the_day(answer, case):
    kind, seed = case
    return picture(
        "pipeline" if kind == "messages lost" else "replica-set",
        a_day(*answer, kind, seed).trace,
    )


def broke(line, day):
    """The line, and what happened on that day."""
    return "\n".join([line, day.told, *day.steps[:MOST_STEPS]])


def too_slow(answer, case):
    day = a_day(*answer, *case)
    waited_ms = day.waited_ms(99)
    if waited_ms is None or waited_ms > WORD_MS:
        took = "more time than the day has" if waited_ms is None else f"{waited_ms} ms"
        return broke(
            f"99% had an answer after {took}, and should have one after {WORD_MS} ms.",
            day,
        )
    if day.requests_per_s > REQUESTS_PER_S:
        return broke(
            f"{day.requests_per_s:.0f} requests a second, and {REQUESTS_PER_S} are"
            " allowed.",
            day,
        )
    return None


def not_kept(answer, case):
    day = a_day(*answer, *case)
    if day.there is None:
        return broke("in the end orders has no leader, so no payment can be read.", day)
    if day.lost:
        return broke(
            f"{len(day.lost)} payments were acknowledged and are gone. The first is"
            f" {day.lost[0]}.",
            day,
        )
    line = (
        f"{day.twice[0]} is there twice."
        if day.twice
        else f"{day.overtaken} comes after a later one."
    )
    return broke(line, day) if day.twice or day.overtaken else None


def fails(answer, case):
    day = a_day(*answer, *case)
    open_still = day.waits.count(None)
    if day.failed:
        return broke(
            f"{len(day.failed)} of {len(day.waits)} payments fail. The first is"
            f" {day.failed[0]}.",
            day,
        )
    return (
        broke(
            f"{open_still} of {len(day.waits)} payments still wait at the end of the day.",
            day,
        )
        if open_still
        else None
    )


def no_word(answer, case):
    day = a_day(*answer, *case)
    longest_ms = day.waited_ms(100)
    if longest_ms is not None and longest_ms <= LONGEST_MS:
        return None
    waited = (
        "never came" if longest_ms is None else f"came after {longest_ms / 1000:.1f} s"
    )
    return broke(
        f"the answer for a payment {waited}, and should come after at most"
        f" {LONGEST_MS // 1000} s.",
        day,
    )


# --- 3: changes into a table ---

NAMES = ("alice", "bruno", "chidi", "dalia")
# also one that is another's beginning, in capitals, and no ASCII
MORE_NAMES = ("alice", "alic", "Alice", "bruno", "zoë", "łucja", "10", "1")
CITIES = ("Arles", "Bergen", "Cork", "Kraków")


HINTS_3 = (
    (
        "Two answers that need not care for each other: the table takes every"
        " record, the counts take every change once."
    ),
    (
        "A row is set to `after`, or taken away when `after` is null, or when"
        " the whole value is. Taking away what isn't there is no error:"
        " pop(name, None)."
    ),
    (
        "Each of them has a number of its own, lsn. A set of those that were"
        " counted tells what has come again. They don't rise from record to"
        " record: three partitions are read in turns."
    ),
)


def exercise_3():
    """The table that the changes lead to, and how many changes of each kind there
    were.
    """
    common = {"smaller": without_one, "describe": as_changes}
    return Exercise(
        name="into_table",
        right="the table is right, and each change counts once.",
        hints=HINTS_3,
        rungs=(
            Rung(
                holds="the table is what the snapshot and the changes lead to",
                broken=not_the_table,
                cases=PLAIN,
                scenario=some_changes,
                **common,
            ),
            Rung(
                holds=(
                    "a null value takes its key away, also where nothing else is left"
                    " of it"
                ),
                broken=not_the_table,
                cases=NULLS,
                scenario=lambda source: compacted(
                    source, some_changes(source, nulls=True)
                ),
                **common,
            ),
            Rung(
                holds="what comes again leaves the table right",
                broken=not_the_table,
                cases=REPEATED,
                scenario=lambda source: some_changes(source, nulls=True, repeated=True),
                **common,
            ),
            Rung(
                holds="each change counts once, whatever its number",
                broken=not_the_counts,
                cases=COUNTED,
                scenario=lambda source: some_changes(source, nulls=True, repeated=True),
                **common,
            ),
        ),
    )


def change(lsn, op, name, before, after):
    """(key, value) as the connector writes it. before, after: a city, or None."""
    told = {
        "op": op,
        "before": row_of(name, before),
        "after": row_of(name, after),
        "lsn": lsn,
    }
    return name.encode(), json.dumps(told, ensure_ascii=False).encode()


def row_of(name, city):
    return None if city is None else {"customer_id": name, "city": city}


def null(name):
    return name.encode(), None


def again(records):
    return records + records


PLAIN = {
    "a snapshot": [
        change(1, "r", "alice", None, "Arles"),
        change(2, "r", "bruno", None, "Cork"),
    ],
    "an update": [
        change(1, "r", "alice", None, "Arles"),
        change(2, "u", "alice", "Arles", "Cork"),
    ],
    "a delete": [
        change(1, "r", "alice", None, "Arles"),
        change(2, "d", "alice", "Arles", None),
    ],
    "new again": [
        change(1, "d", "alice", "Arles", None),
        change(2, "c", "alice", None, "Cork"),
    ],
}
NULLS = {
    "a delete and its null": [
        change(1, "r", "alice", None, "Arles"),
        change(2, "d", "alice", "Arles", None),
        null("alice"),
    ],
    "only the null is left": [change(1, "r", "alice", None, "Arles"), null("alice")],
    "nobody knew the key": [null("bruno"), change(2, "c", "alice", None, "Cork")],
}
REPEATED = {
    "deleted, made anew, and all of it again": again(
        [
            change(1, "d", "alice", "Arles", None),
            null("alice"),
            change(2, "c", "alice", None, "Cork"),
        ]
    ),
    "the null again, and what followed it": [
        change(1, "d", "alice", "Arles", None),
        null("alice"),
        change(2, "c", "alice", None, "Cork"),
        null("alice"),
        change(2, "c", "alice", None, "Cork"),
    ],
}
COUNTED = {
    "once": [
        change(1, "r", "alice", None, "Arles"),
        change(2, "u", "alice", "Arles", "Cork"),
    ],
    "twice the same": again([change(1, "r", "alice", None, "Arles")]),
    "the first example": again([change(1, "r", "alice", None, "Cork")]),
    "the second example": [
        change(1, "r", "alice", None, "Cork"),
        change(2, "d", "alice", "Cork", None),
        null("alice"),
    ],
    "the same row, read again later": [
        change(1, "r", "alice", None, "Arles"),
        change(2, "r", "alice", None, "Arles"),
    ],
    "number 0": again([change(0, "r", "alice", None, "Arles")]),
    "a smaller number later": [
        change(5, "r", "bruno", None, "Cork"),
        change(2, "r", "alice", None, "Arles"),
    ],
    "a null is no change": [change(1, "d", "alice", "Arles", None), null("alice")],
}


def some_changes(source, nulls=False, repeated=False):
    """Changes of three partitions, read in turns: in order for each key, and not for
    all.
    """
    names = source.sample(MORE_NAMES, 4) if source.random() < 0.5 else NAMES
    partitions = {name: [] for name in names[:3]}
    partitions[names[3]] = partitions[names[0]]  # two names in one partition
    cities, latest = {}, []
    lsn = source.choice((0, 1, 9, 98))
    for _ in range(source.randint(1, 14)):
        name = source.choice(names)
        before = cities.get(name)
        is_gone = before is not None and source.random() < 0.35
        if is_gone:
            op, after = "d", None
        else:
            op = "u" if before is not None else source.choice("rc")
            after = source.choice([city for city in CITIES if city != before])
        made = [change(lsn, op, name, before, after)]
        if is_gone and nulls:
            made.append(null(name))
        cities[name] = after
        latest = [*latest, *made][-5:]
        partitions[name] += made
        if repeated and source.random() < 0.2:
            for record in latest:
                partitions[record[0].decode()].append(record)
        lsn += 1
    return in_turns(source, [partitions[name] for name in names[:3]])


def in_turns(source, partitions):
    """The records of some partitions, a few of one, then a few of another."""
    read = []
    while any(partitions):
        chosen = source.choice([records for records in partitions if records])
        taken = source.randint(1, 3)
        read += chosen[:taken]
        del chosen[:taken]
    return read


def compacted(source, records):
    """Some of what a later record of the same key has overwritten is gone."""
    last = {key: number for number, (key, _) in enumerate(records)}
    return [
        each
        for number, each in enumerate(records)
        if last[each[0]] == number or source.random() < 0.5
    ]


def without_one(records):
    for gone in range(len(records)):
        if len(records) > 1:
            yield records[:gone] + records[gone + 1 :]


def as_changes(records):
    shown = []
    for key, value in records:
        name = key.decode()
        if value is None:
            shown.append(f"{name} null")
            continue
        told = json.loads(value)
        after = (told["after"] or {}).get("city")
        shown.append(f"{name} {told['op']} -> {after} (lsn {told['lsn']})")
    return "; ".join(shown)


def the_answer(answer, records):
    """(table, counts), or a line on why it is none."""
    found = answer(list(records))
    is_pair = isinstance(found, tuple | list) and len(found) == 2
    if not is_pair or not all(isinstance(each, Mapping) for each in found):
        return (
            f"it returned {found!r}, and should return two dicts: the table, the"
            " counts."
        )
    return found


def not_the_table(answer, records):
    found = the_answer(answer, records)
    if isinstance(found, str):
        return found
    truth = {}
    for key, value in records:
        row = json.loads(value)["after"] if value is not None else None
        truth.pop(key.decode(), None)
        if row is not None:
            truth[key.decode()] = row
    table = found[0]
    if table == truth:
        return None
    if {name.encode(): row for name, row in truth.items()} == table and truth:
        return (
            "the rows are right, and their names are bytes: they should be text,"
            " b'alice'.decode()."
        )
    for name in sorted({*truth, *table}, key=str):
        if name not in table:
            city = truth[name]["city"]
            return f"{name} is in the database ({city}), and not in the table."
        if name not in truth:
            return (
                f"{name} is not in the database any more, and the table has"
                f" {table[name]!r}."
            )
        if table[name] != truth[name]:
            return f"{name} should be {truth[name]!r}, and is {table[name]!r}."
    return None


def not_the_counts(answer, records):
    found = the_answer(answer, records)
    if isinstance(found, str):
        return found
    changes = {
        json.loads(value)["lsn"]: json.loads(value)["op"]
        for _, value in records
        if value is not None
    }
    truth = dict(Counter(changes.values()))
    counts = {op: count for op, count in found[1].items() if count}
    if counts == truth:
        return None
    return f"the counts are {dict(found[1])}, and {truth} is true."
