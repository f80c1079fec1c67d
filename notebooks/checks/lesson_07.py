"""Lesson 07, lag and capacity: what a right answer does."""

import math
import numbers
from functools import cache

from minikafka import Cluster
from minikafka.course.experiments.lesson_07_runs import sell, start
from minikafka.course.judging.checks import Exercise, Rung
from minikafka.course.judging.checks import number as a_number
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "a busy member, and a committed offset that stands still",
        right=1,
        why=(
            "1. If the work between two polls takes too long, the member has left the"
            " group by the time it polls. It isn't allowed to commit and gets the same"
            " records again, so it is busy and gets nowhere."
        ),
    ),
    Question(
        "12 partitions, 6 members, and two more",
        right=2,
        why=(
            "2. With 8 members some still have two partitions, as each of the six had,"
            " and they finish last. 12 members would need half the time."
        ),
    ),
    Question(
        "20 minutes down at a load of 75 percent",
        right=3,
        why=(
            "3. New orders take three quarters of the capacity, so one quarter is left"
            " for those that wait: 20 × 0.75 / 0.25 = 60 minutes."
        ),
    ),
    Question(
        "lag 0, and records in another thread",
        right=3,
        why=(
            "3. Once the auto-commit interval has passed, the next poll commits"
            " everything that was handed over. Kafka doesn't know how much of it the"
            " thread has done by then."
        ),
        lesson="04",
    ),
    Question(
        "the lag after a member was killed",
        right=2,
        why=(
            "2. A broken connection tells the coordinator nothing. It waits for the"
            " session timeout of 45 s, and in that time 45 × 8 = 360 orders come in."
        ),
        lesson="05",
    ),
)

# A case is what the learner's function is given: rate, backlog, recover_s,
# processing_ms, partitions.
NAMES = ("rate", "backlog", "recover_s", "processing_ms", "partitions")
RATE, BACKLOG, RECOVER_S, PROCESSING_MS, PARTITIONS = range(5)


# --- 1: write a piece ---

STEADY = {
    "one member does it": (8, 0, 60, 100, 4),
    "four partitions": (18, 0, 60, 100, 4),
    "three partitions": (18, 0, 60, 100, 3),
    "slow work": (1, 0, 600, 2500, 5),
}
TO_CATCH_UP = {
    "ten minutes down": (8, 4800, 3600, 100, 6),
    "a spike": (5, 900, 60, 100, 12),
    "nothing comes in any more": (0, 590, 60, 100, 6),
}
NOT_TO_BE_DONE = {
    "one partition, too fast": (18, 0, 60, 100, 1),
    "a partition each is not enough": (50, 0, 60, 100, 4),
    "too little time": (8, 4800, 60, 100, 6),
}
TIGHT = {
    "four are no better than three": (24, 0, 60, 100, 6),
    "one is enough": (1, 0, 60, 100, 6),
    "a member each": (38, 0, 60, 100, 4),
    # in numbers that no way to compute it rounds
    "done exactly then": (8, 0, 60, 250, 4),
    "caught up exactly then": (4, 240, 60, 125, 2),
}


def exercise_1():
    """How many members a group needs, in four rungs: to keep up; to catch up; what
    can't be done; no more than that.
    """
    common = {"smaller": smaller, "describe": as_call, "picture": on_a_cluster}
    return Exercise(
        name="members_needed",
        right="that many members keep up and catch up, and one fewer wouldn't.",
        hints=(
            (
                "The member with the most partitions finishes last, so it decides. How"
                " many partitions does it have if they are dealt out as evenly as"
                " possible? And how many orders does it get in recover_s seconds?"
            ),
            (
                "By then backlog + rate * recover_s orders have to be done, an equal"
                " share of them in each partition. For how many partitions can one"
                " member do that in recover_s seconds?"
            ),
            (
                "Try each number: for members in range(1, partitions + 1), the busiest"
                " has -(-partitions // members) partitions (rounded up). Does its work,"
                " in ms, fit into recover_s * 1000? The first number for which it does"
                " is the answer. And if there is none?"
            ),
        ),
        rungs=(
            Rung(
                "with that many members no partition falls behind",
                too_few,
                STEADY,
                a_steady_day,
                **common,
            ),
            Rung(
                "the backlog is done in time, and so are the orders that come in meanwhile",
                too_few,
                TO_CATCH_UP,
                an_outage,
                **common,
            ),
            Rung(
                "it returns None when even a member for each partition isn't enough",
                not_none,
                NOT_TO_BE_DONE,
                too_much,
                **common,
            ),
            Rung(
                "one member fewer wouldn't be enough",
                too_many,
                TIGHT,
                an_outage,
                **common,
            ),
        ),
    )


def busiest(members, partitions):
    """How many partitions the member with the most has, when they are dealt out
    evenly.
    """
    return -(-partitions // members)


def work_ms(case, members):
    """What the busiest member has to do until recover_s is over, times the number of
    partitions: a whole number.
    """
    return (
        busiest(members, case[PARTITIONS])
        * (case[BACKLOG] + case[RATE] * case[RECOVER_S])
        * case[PROCESSING_MS]
    )


def is_enough(case, members):
    return work_ms(case, members) <= case[RECOVER_S] * 1000 * case[PARTITIONS]


def fewest(case):
    """The right answer."""
    return next(
        (
            members
            for members in range(1, case[PARTITIONS] + 1)
            if is_enough(case, members)
        ),
        None,
    )


def is_close(case):
    """Whether some number of members is within a thousandth of just enough: rounding
    must not decide.
    """
    room = case[RECOVER_S] * 1000 * case[PARTITIONS]
    return any(
        abs(work_ms(case, members) - room) * 1000 < room
        for members in range(1, case[PARTITIONS] + 1)
    )


def drawn(source, load, quiet):
    """A case in which the work is about `load` times what all partitions' members can
    do.
    """
    while True:
        partitions = source.choice(
            (1, 2, 3, 4, 5, 6, 8, 10, 12, source.randint(13, 300))
        )
        processing_ms = source.choice(
            (20, 50, 100, 200, 250, 1000, source.randint(1, 9000))
        )
        recover_s = source.choice((60, 120, 300, 600, source.randint(10, 100_000)))
        orders = round(recover_s * 1000 / processing_ms * partitions * load)
        backlog = 0 if quiet else source.randrange(orders + 1)
        case = (
            (orders - backlog) // recover_s,
            backlog,
            recover_s,
            processing_ms,
            partitions,
        )
        if not is_close(case) and case[RATE] + case[BACKLOG] > 0:
            return case


def a_steady_day(source):
    while fewest(case := drawn(source, source.uniform(0.05, 1), quiet=True)) is None:
        pass
    return case


def an_outage(source):
    while fewest(case := drawn(source, source.uniform(0.05, 1), quiet=False)) is None:
        pass
    return case


def too_much(source):
    return drawn(source, source.uniform(0.5, 2), quiet=source.random() < 0.3)


def smaller(case):
    """Fewer partitions with less to do, less backlog, rounder numbers."""
    rate, backlog, recover_s, processing_ms, partitions = case
    candidates = [
        (
            rate * few // partitions,
            backlog * few // partitions,
            recover_s,
            processing_ms,
            few,
        )
        for few in range(1, partitions)
    ]
    candidates += [(rate, 0, recover_s, processing_ms, partitions)] if backlog else []
    if (recover_s, processing_ms) != (60, 100):
        scale = processing_ms / 100
        at_rate = round(rate * scale)
        candidates.append(
            (at_rate, round(backlog * scale * 60 / recover_s), 60, 100, partitions)
        )
    candidates += (
        [(rate, backlog // 100 * 100, recover_s, processing_ms, partitions)]
        if backlog % 100
        else []
    )
    for candidate in candidates:
        if (
            candidate != case
            and candidate[RATE] + candidate[BACKLOG] > 0
            and not is_close(candidate)
        ):
            yield candidate


def as_call(case):
    return f"members_needed({', '.join(f'{name}={value}' for name, value in zip(NAMES, case, strict=True))})"


def answer_to(answer, case):
    """What it returned, and what is wrong with its form."""
    found, right = answer(*case), fewest(case)
    if found is None:
        return (
            None,
            f"it returned None, but {members_do(right)} enough." if right else None,
        )
    if isinstance(found, float) and math.isfinite(found) and found == int(found):
        return (
            None,
            (
                f"it returned {found!r}. Members are a whole number: int(...) makes it"
                " one."
            ),
        )
    if isinstance(found, bool) or not isinstance(found, numbers.Integral):
        return None, f"it returned {found!r}. Members are a whole number, or None."
    if found < 1:
        return None, f"it returned {found}. A group without a member does nothing."
    return found, None


def members_do(count):
    return "1 member is" if count == 1 else f"{count} members are"


def too_few(answer, case):
    found, problem = answer_to(answer, case)
    if problem or found is None or is_enough(case, found):
        return problem
    rate, backlog, recover_s, processing_ms, partitions = case
    most = busiest(found, partitions)
    comes, does = rate * most / partitions, 1000 / processing_ms
    left = (work_ms(case, found) / partitions - recover_s * 1000) / processing_ms
    waiting = backlog * most / partitions
    flow = (
        f"{waiting:,.0f} orders wait there at the start, new ones come in at"
        f" {comes:.3g} a second"
        if backlog
        else f"orders come in there at {comes:.3g} a second"
    )
    return (
        f"{found} member{'s are' if found > 1 else ' is'} not enough: after {recover_s}"
        f" s about {left:,.0f} orders still wait in one member's partitions.\nWith"
        f" {found} member{'s' * (found > 1)} for {partitions}"
        f" partition{'s' * (partitions > 1)}, the busiest has {most} of them: {flow},"
        f" and a member can handle {does:.3g}"
    )


def not_none(answer, case):
    found, problem = answer_to(answer, case)
    if problem or found is None or fewest(case) is not None:
        return problem
    more = " Members without a partition are idle." if found > case[PARTITIONS] else ""
    share = (case[BACKLOG] + case[RATE] * case[RECOVER_S]) / case[PARTITIONS]
    can = case[RECOVER_S] * 1000 / case[PROCESSING_MS]
    return (
        f"it returned {found}, but no number of members is enough.{more} The answer is"
        f" None: first the topic needs more partitions.\nin {case[RECOVER_S]} s one"
        f" partition alone gets {share:,.0f} orders, and a member can handle"
        f" {can:,.0f}"
    )


def too_many(answer, case):
    found, problem = answer_to(answer, case)
    right = fewest(case)
    if problem or found is None or found == right:
        return problem
    if found > case[PARTITIONS]:
        why = f"{found - case[PARTITIONS]} of the {found} would have no partition"
    elif busiest(found, case[PARTITIONS]) == busiest(right, case[PARTITIONS]):
        most = busiest(found, case[PARTITIONS])
        why = (
            f"with {right} members, as with {found}, the busiest has {most} of the"
            f" {case[PARTITIONS]} partitions"
        )
    else:
        why = (
            f"with {right} members the busiest has {busiest(right, case[PARTITIONS])}"
            " partitions, and can do that in time"
        )
    return f"it returned {found}, but {members_do(right)} enough.\n{why}"


ORDERS_IN_A_PICTURE = 6000


def on_a_cluster(answer, case):
    """The group of the answer's size at work, from the moment it begins."""
    rate, backlog, recover_s, _, partitions = case
    if backlog + rate * recover_s > ORDERS_IN_A_PICTURE:
        return None
    found = answer(*case)
    members = min(
        found if isinstance(found, int) and found >= 1 else partitions, partitions + 1
    )
    return at_work(case, members).play("lag")


def at_work(case, members):
    """A cluster on which the case has been run with so many members, until recover_s is
    over.
    """
    rate, backlog, recover_s, processing_ms, partitions = case
    cluster = Cluster(seed=7)
    cluster.create_topic("orders", partitions=partitions)
    shop = cluster.producer(client_id="shop")
    for number in range(backlog):
        shop.send("orders", partition=number % partitions, value="order")
    at_once = max(1, 1000 // processing_ms)  # about a second's work
    names = [f"billing {number + 1}" for number in range(members)]
    start(cluster, *names, processing_ms=processing_ms, max_poll_records=at_once)
    # a new group waits before it begins, once more if others join
    cluster.run(seconds=6 if members > 1 else 3)
    cluster.start(sell, cluster, shop, rate, 1)
    cluster.run(seconds=recover_s)
    cluster.close()
    return cluster


# --- 2: predict a number ---

# Orders a minute in each partition, what a member does in a minute, and minutes down.
A_MINUTE = (4, 4, 7)
A_MEMBER_DOES = 10
MINUTES_DOWN = 15
# with a pencil
EXPECTED = max(MINUTES_DOWN * rate / (A_MEMBER_DOES - rate) for rate in A_MINUTE)
NEAR_ENOUGH = 2


def exercise_2():
    """When the lag is zero again after an outage; two minutes either way are near
    enough.
    """
    return Exercise(
        name="minutes",
        takes=a_number,
        right=(
            "the busiest partition decides. 15 * 7 orders wait there, and each minute"
            " takes away only 10 - 7 of them."
        ),
        hints=(
            (
                "Each partition has its own member, and no member can help another. So"
                " there are three sums to do, not one."
            ),
            (
                "While a member works on the old orders, new ones come in. How many of"
                " its ten a minute are left for the old ones?"
            ),
            (
                "At first, 15 minutes' orders wait in each partition: 15 times its rate."
                " Each minute takes away 10 minus that rate. Which of the three takes"
                " longest?"
            ),
        ),
        rungs=(
            Rung(
                holds="that is what happens",
                broken=not_the_minutes,
                cases={"15 minutes down": None},
            ),
        ),
        call_seconds=10.0,  # the first time it runs the cluster
    )


def not_the_minutes(answer, _):
    truth = minutes_until_zero()
    if any(abs(answer - right) <= NEAR_ENOUGH for right in (truth, EXPECTED)):
        return None
    said = f"not {answer:g}."
    if abs(answer - MINUTES_DOWN * A_MINUTE[0] / (A_MEMBER_DOES - A_MINUTE[0])) <= 0.3:
        return (
            f"{said} That is when partitions 0 and 1 are done. The lag of partition 2"
            " isn't zero yet."
        )
    if (
        abs(answer - MINUTES_DOWN * sum(A_MINUTE) / (3 * A_MEMBER_DOES - sum(A_MINUTE)))
        <= 2
    ):
        return (
            f"{said} That would be right if the three could share all orders. But each"
            " reads only its own partition."
        )
    if abs(answer - MINUTES_DOWN * max(A_MINUTE) / A_MEMBER_DOES) <= 1:
        return f"{said} That would be right if no new orders came in."
    if abs(answer - (truth + MINUTES_DOWN)) <= 2:
        return f"{said} Count from the moment when the members are back."
    return f"{said} It takes {'less' if answer > truth else 'longer'}."


@cache
def minutes_until_zero():
    """Run on a cluster: minutes from the members' return until all orders that are
    there are done.
    """
    cluster = Cluster(seed=8)
    cluster.create_topic("orders", partitions=len(A_MINUTE))
    shop = cluster.producer(client_id="shop")
    # Long waits for what isn't there yet: fewer requests to simulate, and the same
    # minutes.
    waits = {"fetch_max_wait_ms": 20_000, "heartbeat_interval_ms": 10_000}
    members = start(
        cluster,
        *"ABC",
        processing_ms=60_000 // A_MEMBER_DOES,
        max_poll_records=10,
        **waits,
    )
    cluster.run(seconds=5)
    for number, rate in enumerate(A_MINUTE):
        cluster.start(sell_evenly, cluster, shop, number, rate)
    cluster.run(seconds=60)
    for member in members:
        cluster.crash(member)
    cluster.run(seconds=60 * MINUTES_DOWN)
    back_ms = cluster.now_ms
    for member in members:
        cluster.restart(member)
    cluster.run(seconds=60 * 40)
    cluster.close()
    return (first_time_at_zero(cluster.trace, back_ms) - back_ms) / 60_000


def sell_evenly(cluster, shop, partition, a_minute):
    while True:
        shop.send("orders", partition=partition, value="order")
        cluster.sleep(60 / a_minute)


def first_time_at_zero(trace, since_ms):
    """When, after that time, no order of any partition was left to do for the first
    time since the outage.
    """
    ends, done, zero = {}, {}, {}
    for event in trace:
        detail = event.detail
        if detail.get("topic") != "orders":
            continue
        if event.kind == "RecordsAppended":
            ends[detail["partition"]] = detail["last_offset"] + 1
        elif event.kind == "RecordsProcessed":
            done[detail["partition"]] = detail["offsets"][1] + 1
            if (
                event.at > since_ms
                and done[detail["partition"]] == ends[detail["partition"]]
            ):
                zero.setdefault(detail["partition"], event.at)
    return max(zero.values())
