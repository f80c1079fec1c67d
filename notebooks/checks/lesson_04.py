"""Lesson 04, offsets and delivery: what a right answer does."""

from collections import Counter
from functools import cache

from minikafka.clients.structs import ConsumerRecord, text
from minikafka.course.judging.checks import Exercise, Rung, faults_for
from minikafka.course.judging.killed_programs import (
    FAILS,
    Moment,
    around_each_effect,
    ended_by,
    run,
    value_of,
)
from minikafka.course.lessons import Question
from minikafka.faults import Crash

SIX = tuple(f"o-{number}" for number in range(6))
# the shop has sent two of its orders twice
REPEATED = ("o-0", "o-1", "o-0", "o-2", "o-1")
THIRTY = tuple(f"o-{number}" for number in range(30))

EXIT_TICKET = (
    Question(
        "orders 5, 6 and 8 are finished, 7 is not; the largest offset to commit",
        right=1,
        why=(
            "1. The committed offset is the next one to read: 7. If it commits 9 and"
            " crashes, order 7 is lost. With 7, order 8 comes again, and an idempotent"
            " consumer tolerates that."
        ),
    ),
    Question(
        "2 ms of work, 6 ms for a commit; a commit per record, or one per poll of 100",
        right=3,
        why=(
            "3. With a commit per record an order takes 8 ms. With one per poll it takes"
            " 2.06 ms, because 100 orders share the 6 ms."
        ),
    ),
    Question(
        "200 records a second, at most 150 repeated after a crash",
        right=2,
        why=(
            "2. In two seconds it handles 400 records, in half a second 100, which"
            " leaves room. If it committed before the work, it would repeat none and"
            " lose some."
        ),
    ),
    Question(
        "committed offset 3, the log starts at 7, latest",
        right=3,
        why=(
            "3. Offset 3 is out of range, so auto_offset_reset decides, and latest"
            " skips everything already in the log."
        ),
        lesson="01",
    ),
    Question(
        "a partition was added while billing was stopped",
        right=1,
        why=(
            "1. A committed offset belongs to one partition, and the group has none"
            " for the new one."
        ),
        lesson="02",
    ),
)


# --- 1: write a piece ---


HINTS_1 = (
    (
        "You do two things with a record: write it to payments, and commit. In which"
        " order does a crash repeat an order, and in which does it lose one? Only a"
        " repeated one can be caught later."
    ),
    (
        "After a crash the record comes again, and your variables are gone. Only"
        " payments remembers what you did before, so ask payments."
    ),
    (
        "For each record: is record.key in payments already? If not,"
        " payments.add(record, record.value). Then commit, in both cases. Don't catch"
        " an error of add. Let the program die: it will be restarted."
    ),
)


WITHOUT_A_CRASH = {
    "six orders": (SIX, ()),
    "one order": (SIX[:1], ()),
    "no order": ((), ()),
    "thirty orders": (THIRTY, ()),
    "another topic": (SIX[:2], (), "refunds"),
}


def exercise_1():
    """At least once and deduplicated: a consumer whose payments are right whatever call
    it is killed at.
    """
    common = {"smaller": fewer, "describe": as_schedule, "picture": as_picture}
    return Exercise(
        name="pay",
        right="every order is paid once, whenever your program is killed.",
        hints=HINTS_1,
        rungs=(
            Rung(
                holds=(
                    "without a crash every order is written unchanged, and the group's"
                    " lag is 0"
                ),
                broken=not_all_paid,
                cases=WITHOUT_A_CRASH,
                describe=as_schedule,
                picture=as_picture,
            ),
            Rung(
                holds=(
                    "killed before or after any add and any commit, it loses nothing,"
                    " repeats nothing, and has lag 0"
                ),
                broken=not_once,
                cases=killed_around_each_effect(SIX[:3]),
                scenario=lambda source: (
                    SIX[: source.randint(1, 4)],
                    some_moments(source),
                ),
                scenarios=25,
                **common,
            ),
            Rung(
                holds="an order that payments refuses for a moment is paid in the end",
                broken=not_once,
                cases={
                    f"add {nth} fails": (SIX[:3], (Moment("in", "add", nth),))
                    for nth in (1, 2, 3)
                }
                | {"four adds fail": (SIX[:3], (Moment("from", "add", 2),))},
                **common,
            ),
            Rung(
                holds="an order that the shop has sent twice is paid once",
                broken=not_once,
                cases={
                    "sent twice": (("o-0", "o-0"), ()),
                    "sent again later": (("o-0", "o-1", "o-0"), ()),
                    "two of them": (REPEATED, ()),
                    **killed_around_each_effect(REPEATED),
                },
                **common,
            ),
        ),
    )


def killed_around_each_effect(orders):
    return {
        str(moment): (orders, (moment,)) for moment in around_each_effect(len(orders))
    }


def some_moments(source):
    """Two or three in a row."""
    return tuple(
        Moment(
            source.choice(("before", "after")),
            source.choice(("add", "commit")),
            source.randint(1, 3),
        )
        for _ in range(source.choice((2, 2, 3)))
    )


def fewer(case):
    """Fewer lives, fewer orders, earlier moments."""
    orders, moments = case
    for at in range(len(moments)):
        yield orders, moments[:at] + moments[at + 1 :]
    for count in range(1, len(orders)):
        yield orders[:count], moments
        yield (
            orders[:count],
            tuple(moment._replace(nth=min(moment.nth, count)) for moment in moments),
        )
    for at, moment in enumerate(moments):
        if moment.nth > 1:
            yield (
                orders,
                (
                    *moments[:at],
                    moment._replace(nth=moment.nth - 1),
                    *moments[at + 1 :],
                ),
            )


def as_schedule(case):
    orders, moments, *topic = case
    return ", ".join(
        [
            f"orders {' '.join(orders) or 'none'}",
            *map(str, moments),
            *(f"topic {name}" for name in topic),
        ]
    )


def paid(answer, case):
    return run(answer.__wrapped__, *case, guard=answer.guard)


def as_picture(answer, case):
    return paid(answer, case).picture()


def not_all_paid(answer, case):
    found = paid(answer, case)
    if found.never or found.twice:
        return wrong(found, case[1])
    if found.ended:
        return "it has ended. A service keeps running: tomorrow there are more orders."
    return wrong(found, case[1])


def not_once(answer, case):
    return wrong(paid(answer, case), case[1])


def wrong(found, moments):
    """Which order went wrong, and what the program was doing when it was killed; the
    line to paste is the last.
    """
    line = what_is_wrong(found)
    if line is None:
        return None
    why = why_twice(found) if found.twice else []
    crashes = [
        f'Crash("pay", call={len(calls)})'
        for moment, calls in zip(moments, found.lives, strict=False)
        if moment.when not in FAILS
    ]
    paste = (
        [f"faults=[{', '.join(crashes)}]"]
        if crashes and len(crashes) == len(moments)
        else []
    )
    return "\n".join([line, *why, *ended_by(moments, found.lives), *paste])


def why_twice(found):
    """What payments was asked for in place of an order's key, or that it wasn't asked;
    or where the log has the order again.
    """
    asked = [each for each in found.asked if not isinstance(each, ConsumerRecord)]
    if any(text(each) in found.orders for each in asked):
        return []
    order = found.twice[0]
    if asked:
        name, what = text(asked[0]), ""
        if name in map(str, range(found.end)):
            what = ", an offset"
        elif name in map(value_of, found.orders):
            what = ", a value"
        return [
            f"the program asks payments for {asked[0]!r}{what}; the keys of the rows look like {order}"
        ]
    if found.asked:
        return [
            "the program asks payments for a record, so it compares offsets. The shop may send an"
            " order twice, at two offsets: ask for the key"
        ]
    if len(found.lives) > 1:
        return [
            "The program never asked payments whether it was there. After a crash your variables"
            " are gone."
        ]
    return []


def what_is_wrong(found):
    strange = [order for order in found.written if order not in found.orders]
    if strange:
        return f"a row was written for {strange[0]}, and there is no such order."
    if found.never:
        over = " The program has ended; a service keeps running." if found.ended else ""
        return f"order {found.never[0]} is never written.{over}"
    if found.twice:
        times = Counter(found.written)[found.twice[0]]
        often = "twice" if times == 2 else f"{times} times"
        return f"order {found.twice[0]} is written {often}."
    for order in found.orders:
        if found.values[order] != value_of(order):
            return (
                f"order {order} is {value_of(order)}, and payments has"
                f" {found.values[order]!r}."
            )
    if (found.committed or 0) != found.end:
        nothing = (
            "nothing is committed"
            if found.committed is None
            else f"the committed offset is {found.committed}"
        )
        return (
            f"all orders are written, but {nothing}, and the log end offset is"
            f" {found.end}: the group still lags behind."
        )
    return None


# --- 2: break a consumer ---


def careful(consumer, payments):
    """Pays each order, unless it is paid already."""
    while True:
        batch = consumer.poll(timeout_ms=60_000, max_records=3)
        consumer.commit()
        for records in batch.values():
            for record in records:
                if record.key not in payments:
                    payments.add(record, record.value)


def exercise_2():
    """Choose the faults that make careful() skip orders; one crash at the right call is
    enough, and the first wins.
    """
    return Exercise(
        name="faults",
        takes=faults_for('Crash("careful", call=3)', Crash, places=("careful",)),
        right=(
            'one crash and three orders are gone. [Crash("careful",'
            f" call={shortest().call})] is the earliest way."
        ),
        hints=(
            "When is an order committed, but not written yet? Kill it there.",
            (
                "Its calls are poll, commit, then an add for each of three orders, then"
                " poll again. Count from 1. A crash at call n comes before call n has"
                " any effect."
            ),
            (
                "Between the commit and the first add, all three orders are committed"
                " and none is written. Which number has the first call after the commit?"
            ),
        ),
        rungs=(
            Rung(
                holds="an order is skipped",
                broken=nothing_skipped,
                cases={"six orders": None},
                picture=broken_run,
            ),
            Rung(
                holds="one crash is enough",
                broken=too_many,
                cases={"six orders": None},
                picture=broken_run,
            ),
            Rung(
                holds="it skips three orders",
                broken=too_little,
                cases={"six orders": None},
                picture=broken_run,
            ),
            Rung(
                holds="no earlier call does that",
                broken=too_late,
                cases={"six orders": None},
            ),
        ),
    )


@cache
def calls_of_careful():
    return tuple(run(careful, SIX).lives[0])


@cache
def shortest():
    """The first single crash that skips the most orders: tried, not typed in."""
    crashes = [
        Crash("careful", call=call) for call in range(1, len(calls_of_careful()) + 1)
    ]
    # the first, if several are equal
    return max(crashes, key=lambda crash: len(break_it([crash]).never))


def break_it(faults):
    """careful, with one of these crashes in each life."""
    return run(careful, SIX, [Moment("before", "call", fault.call) for fault in faults])


def broken_run(faults, _):
    return break_it(faults).picture()


def nothing_skipped(faults, _):
    if not faults:
        return "without a fault all six orders are paid. Put a Crash into the list."
    for crash in faults:
        if crash.call is None:
            return f'{crash} names no call. Write Crash("careful", call=...)'
    found = break_it(faults)
    if found.never:
        return None
    first = faults[0].call
    if first > len(found.lives[0]):
        return (
            f"the program makes only {len(calls_of_careful())} calls, so it was never"
            " killed."
        )
    why = (
        "when it was killed, every committed order had been written. If an order comes"
        " again, the program finds it in payments."
    )
    moments = [Moment("before", "call", fault.call) for fault in faults]
    return "\n".join(["all six orders are paid.", why, *ended_by(moments, found.lives)])


def too_many(faults, _):
    if len(faults) == 1:
        return None
    never = len(break_it(faults).never)
    return (
        f"{never} of 6 orders are skipped, by {len(faults)} crashes. One can skip"
        " orders, and the fewest win."
    )


def too_little(faults, _):
    never, most = len(break_it(faults).never), len(break_it([shortest()]).never)
    return (
        None
        if never >= most
        else f"{never} of 6 orders are skipped. One crash can do more."
    )


def too_late(faults, _):
    return (
        None if faults == [shortest()] else "it works, but there is an earlier moment."
    )
