"""Lesson 04, offsets and delivery: what a right answer does."""

import copy
import types
from collections import Counter, deque
from functools import cache
from typing import NamedTuple

from minikafka import Cluster
from minikafka.course.checks import Exercise, Rung, faults_for
from minikafka.course.lessons import Question
from minikafka.faults import Crash

SIX = tuple(f"o-{number}" for number in range(6))
REPEATED = ("o-0", "o-1", "o-0", "o-2", "o-1")  # the shop has sent two of its orders twice
THIRTY = tuple(f"o-{number}" for number in range(30))

EXIT_TICKET = (
    Question(
        "billing has processed record 41, nothing else is open",
        right=2,
        why="2. The committed offset is the one to read next: 42. With 41 record 41 comes again.",
    ),
    Question(
        "it commits after each record and is killed",
        right=2,
        why="2. What is done and not committed yet comes again. Nothing is lost: commit after gives at least once.",
    ),
    Question(
        "auto-commit, and the program hands its records to other threads",
        right=3,
        why="3. The next poll commits what the last one handed over, done or not. A crash then loses what was not.",
    ),
)


# --- programs on a cluster ---


class Moment(NamedTuple):
    """A moment in one life of a program: "before" or "after" its n-th call of this name, counted from 1.

    "in": an add that fails: it raises, and writes nothing. name "call" counts all blocking calls.
    """

    when: str
    name: str
    nth: int

    def __str__(self):
        if self.when == "in":
            return f"add {self.nth} fails"
        return f"killed {self.when} {self.name} {self.nth}"


class PaymentsDown(Exception):
    """What a failing add raises."""


def run(program, orders, moments=(), topic="orders", guard=None, faults=()):
    """The program pays the orders on a cluster; each moment ends a life, and it is started again.

    moments: one a life; one that is never reached ends nothing. guard: the program is a learner's.
    """
    configs = {"group.initial.rebalance.delay.ms": 0, "offsets.topic.num.partitions": 1}
    cluster = Cluster(seed=4, configs=configs, faults=faults)
    cluster.create_topic(topic, partitions=1)
    shop = cluster.producer(client_id="shop", enable_idempotence=False)
    for order in orders:
        shop.send(topic, key=order, value=value_of(order))
    shop.flush()
    consumer = cluster.consumer(topic, **MEMBER)
    payments = cluster.table("payments")
    process, life = as_a_process(program, guard), Life()

    def watched(consumer, payments):
        return process(Watched(consumer, life), Watched(payments, life))

    watched.__name__ = program.__name__
    life.program = running = cluster.start(watched, consumer, payments)
    lives = []
    for moment in (*moments, None):
        life.begins(moment)
        try:
            until_quiet(cluster, running, orders, topic)
        except Exception:
            if not life.failed:
                raise
        lives.append(list(running.calls))
        if running.state in ("crashed", "failed"):
            cluster.restart(running)
    return Outcome(cluster, orders, running, lives)


QUIET_SECONDS, MOST_SECONDS = 2, 20
MEMBER = {
    "group_id": "billing",
    "client_id": "billing",
    "group_instance_id": "billing",  # a static member has its partition back at once
    "auto_offset_reset": "earliest",
    "enable_auto_commit": False,
    "heartbeat_interval_ms": 10_000,
}


def value_of(order):
    """Each order has a value of its own."""
    return f"{20 + int(order[2:])} euros"


def until_quiet(cluster, running, orders, topic):
    """Until the program has ended, or nothing of consequence happens any more."""
    seen = 0
    for _ in range(MOST_SECONDS // QUIET_SECONDS):
        cluster.run(seconds=QUIET_SECONDS)
        before, seen = seen, sum(event.kind in CONSEQUENCES for event in cluster.trace)
        done = {event.detail["key"] for event in cluster.trace if event.kind == "EffectWritten"} == set(orders)
        if not running.alive or (done and seen == before) or (done and committed(cluster.trace) == len(orders)):
            return


CONSEQUENCES = ("EffectWritten", "OffsetCommitted", "RecordsPolled")


def committed(trace):
    return next((event.detail["offset"] for event in reversed(trace) if event.kind == "OffsetCommitted"), None)


class Life:
    """What the program has called since it began to live, and the moment that ends it."""

    def begins(self, moment):
        self.moment, self.count, self.failed = moment, Counter(), False
        if moment is not None and moment.name == "call":
            self.program.crash_at_call = moment.nth

    def before(self, name):
        """It enters a call: kills it there, or lets the call fail."""
        self.count[name] += 1
        if self.moment is None:
            return
        when, what, nth = self.moment
        if (when, what, nth) == ("before", name, self.count[name]):
            self.ends_at_its_next_call()
        elif (when, what, nth) == ("in", name, self.count[name]):
            self.failed = True
            raise PaymentsDown("payments is down for a moment, and nothing was written")

    def after(self, name):
        if self.moment == ("after", name, self.count[name]):
            self.ends_at_its_next_call()

    def ends_at_its_next_call(self):
        self.program.crash_at_call = len(self.program.calls) + 1


class Watched:
    """A client that tells the life of its calls that have an effect."""

    def __init__(self, client, life):
        self._client, self._life = client, life

    def __getattr__(self, name):
        found = getattr(self._client, name)
        if name not in EFFECTS:
            return found

        def call(*args, **kwargs):
            self._life.before(EFFECTS[name])
            result = found(*args, **kwargs)
            self._life.after(EFFECTS[name])
            return result

        return call

    def __iter__(self):
        return iter(self._client)

    def __next__(self):
        return next(self._client)

    def __contains__(self, key):
        return key in self._client

    def __len__(self):
        return len(self._client)


EFFECTS = {"add": "add", "commit": "commit", "commit_async": "commit"}


class Outcome:
    """What a run has led to. lives: the calls of each life by name. written: (order, value), in order of writing."""

    def __init__(self, cluster, orders, running, lives):
        self.orders, self.end = list(dict.fromkeys(orders)), len(orders)
        self.ended, self.lives = running.state == "ended", lives
        self.trace, self.seed = cluster.trace, cluster.seed
        effects = [event.detail for event in self.trace if event.kind == "EffectWritten"]
        self.written = [effect["key"] for effect in effects]
        self.values = {effect["key"]: effect["value"] for effect in effects}
        self.committed = committed(self.trace)
        cluster.close()

    @property
    def never(self):
        return [order for order in self.orders if order not in self.written]

    @property
    def twice(self):
        return [order for order, times in Counter(self.written).items() if times > 1]

    def picture(self):
        from minikafka.theatre import picture

        return picture("commit", self.trace, seed=self.seed, table="payments")


def as_a_process(program, guard=None):
    """The program with a memory of its own: what it keeps outside its function is as at first in every new life."""
    if not isinstance(program, types.FunctionType):
        return guard.program(program) if guard else program
    outside = [name for name in program.__code__.co_names if isinstance(program.__globals__.get(name), CONTAINERS)]
    itself = [name for name in program.__code__.co_names if program.__globals__.get(name) is program]
    first = copy.deepcopy(
        [program.__defaults__, [program.__globals__[name] for name in outside], cells(program), vars(program)]
    )

    def process(consumer, payments):
        defaults, values, closed_over, attributes = copy.deepcopy(first)
        memory = {**program.__globals__, **dict(zip(outside, values, strict=True))}
        closure = None if program.__closure__ is None else tuple(map(types.CellType, closed_over))
        born = types.FunctionType(program.__code__, memory, program.__name__, defaults, closure)
        memory.update(dict.fromkeys(itself, born))
        vars(born).update(attributes)
        return (guard.program(born) if guard else born)(consumer, payments)

    return process


CONTAINERS = (list, dict, set, deque)


def cells(program):
    return [cell.cell_contents for cell in program.__closure__ or ()]


def ended_by(moments, lives):
    """How each life ended, in words, and the calls before it."""
    lines = []
    for number, moment in enumerate(moments[: len(lives) - 1]):
        calls = lives[number]
        before = calls if moment.when == "in" else calls[:-1]
        shown = " ".join(before[-4:])
        end = f"killed before {calls[-1]}" if moment.name == "call" else moment
        lines.append(f"life {number + 1}: {'... ' if len(before) > 4 else ''}{shown} | {end}".replace(":  |", ": |"))
    return lines


# --- 1: write a piece ---


def exercise_1():
    """At least once and deduplicated: a consumer whose payments are right whatever call it is killed at."""
    common = {"smaller": fewer, "describe": as_schedule, "picture": as_picture}
    return Exercise(
        name="pay",
        right="every order is paid once, whenever your program is killed.",
        hints=(
            "Two things can be done with a record: writing it to payments, committing. Which order repeats, which "
            "loses? Repeating can be mended afterwards.",
            "After a crash the record comes again. Only payments remembers what was before the crash: ask it, not a "
            "variable of yours.",
            "For each record: is record.key in payments already? If not, payments.add(record, record.value). In both "
            "cases commit then, and only then. An error of add is best left alone: the program ends, and starts again.",
        ),
        rungs=(
            Rung(
                holds="without a crash every order is written as it is, and the group's lag is 0",
                broken=not_all_paid,
                cases={
                    "six orders": (SIX, ()),
                    "one order": (SIX[:1], ()),
                    "no order": ((), ()),
                    "thirty orders": (THIRTY, ()),
                    "another topic": (SIX[:2], (), "refunds"),
                },
                describe=as_schedule,
                picture=as_picture,
            ),
            Rung(
                holds="killed before or after any add and any commit, it loses nothing, repeats nothing, and has lag 0",
                broken=not_once,
                cases=around_each_effect(SIX[:3]),
                scenario=lambda source: (SIX[: source.randint(1, 4)], some_moments(source)),
                scenarios=25,
                **common,
            ),
            Rung(
                holds="an order that payments refuses for a moment is paid in the end",
                broken=not_once,
                cases={f"add {nth} fails": (SIX[:3], (Moment("in", "add", nth),)) for nth in (1, 2, 3)},
                **common,
            ),
            Rung(
                holds="an order that the shop has sent twice is paid once",
                broken=not_once,
                cases={
                    "sent twice": (("o-0", "o-0"), ()),
                    "sent again later": (("o-0", "o-1", "o-0"), ()),
                    "two of them": (REPEATED, ()),
                    **around_each_effect(REPEATED),
                },
                **common,
            ),
        ),
    )


def around_each_effect(orders):
    """Killed before and after each add and each commit that there may be; and before each of its first calls."""
    around = [Moment(when, name, nth) for name in ("add", "commit") for nth in range(1, len(orders) + 1)
              for when in ("before", "after")]  # fmt: skip
    return {str(moment): (orders, (moment,)) for moment in around}


def some_moments(source):
    """Two or three in a row."""
    return tuple(
        Moment(source.choice(("before", "after")), source.choice(("add", "commit")), source.randint(1, 3))
        for _ in range(source.choice((2, 2, 3)))
    )


def fewer(case):
    """Fewer lives, fewer orders, earlier moments."""
    orders, moments = case
    for at in range(len(moments)):
        yield orders, moments[:at] + moments[at + 1 :]
    for count in range(1, len(orders)):
        yield orders[:count], moments
        yield orders[:count], tuple(moment._replace(nth=min(moment.nth, count)) for moment in moments)
    for at, moment in enumerate(moments):
        if moment.nth > 1:
            yield orders, (*moments[:at], moment._replace(nth=moment.nth - 1), *moments[at + 1 :])


def as_schedule(case):
    orders, moments, *topic = case
    return ", ".join([f"orders {' '.join(orders) or 'none'}", *map(str, moments), *(f"topic {name}" for name in topic)])


def paid(answer, case):
    return run(answer.__wrapped__, *case, guard=answer.guard)


def as_picture(answer, case):
    return paid(answer, case).picture()


def not_all_paid(answer, case):
    found = paid(answer, case)
    if found.never or found.twice:
        return wrong(found, case[1])
    if found.ended:
        return "it has ended. A service runs on: tomorrow there are more orders."
    return wrong(found, case[1])


def not_once(answer, case):
    return wrong(paid(answer, case), case[1])


def wrong(found, moments):
    """Which order went wrong, and what the program was doing when it was killed; the line to paste is the last."""
    line = what_is_wrong(found)
    if line is None:
        return None
    crashes = [
        f'Crash("pay", call={len(calls)})'
        for moment, calls in zip(moments, found.lives, strict=False)
        if moment.when != "in"
    ]
    paste = [f"faults=[{', '.join(crashes)}]"] if crashes and len(crashes) == len(moments) else []
    return "\n".join([line, *ended_by(moments, found.lives), *paste])


def what_is_wrong(found):
    strange = [order for order in found.written if order not in found.orders]
    if strange:
        return f"a row was written for {strange[0]}, and there is no such order."
    if found.never:
        over = " The program has ended; a service runs on." if found.ended else ""
        return f"order {found.never[0]} is never written.{over}"
    if found.twice:
        return f"order {found.twice[0]} is written {Counter(found.written)[found.twice[0]]} times."
    for order in found.orders:
        if found.values[order] != value_of(order):
            return f"order {order} is {value_of(order)}, and payments has {found.values[order]!r}."
    if (found.committed or 0) != found.end:
        nothing = "nothing is committed" if found.committed is None else f"the committed offset is {found.committed}"
        return f"all orders are written, but {nothing}, and the log end offset is {found.end}: a lag stays."
    return None


# --- 2: break a consumer ---


def careful(consumer, payments):
    """Pays each order, and looks first whether it is paid."""
    while True:
        batch = consumer.poll(timeout_ms=60_000, max_records=3)
        consumer.commit()
        for records in batch.values():
            for record in records:
                if record.key not in payments:
                    payments.add(record, record.value)


def exercise_2():
    """Choose the faults that make careful() skip orders; one crash at the right call is enough, and the first wins."""
    return Exercise(
        name="faults",
        takes=faults_for('Crash("careful", call=3)', Crash, places=("careful",)),
        right=f'one crash and three orders are gone. [Crash("careful", call={shortest().call})] is the shortest.',
        hints=(
            "When is an order committed and not yet written? That is where to kill it.",
            "Its calls are poll, commit, then an add for each of three orders, and again from poll. Count from 1; a "
            "crash at call n comes before n has any effect.",
            "Between commit and the first add nothing is done and all three are committed. The first call after the "
            "first commit: which number is it?",
        ),
        rungs=(
            Rung(holds="an order is skipped", broken=nothing_skipped, cases={"six orders": None}, picture=broken_run),
            Rung(holds="by one crash", broken=too_many, cases={"six orders": None}, picture=broken_run),
            Rung(holds="three orders are", broken=too_little, cases={"six orders": None}, picture=broken_run),
            Rung(holds="at the earliest call there is", broken=too_late, cases={"six orders": None}),
        ),
    )


@cache
def calls_of_careful():
    return tuple(run(careful, SIX).lives[0])


@cache
def shortest():
    """The first single crash that skips the most orders: tried, not typed in."""
    crashes = [Crash("careful", call=call) for call in range(1, len(calls_of_careful()) + 1)]
    return max(crashes, key=lambda crash: len(break_it([crash]).never))  # of equal ones the first


def break_it(faults):
    """careful, with one of these crashes in each life."""
    return run(careful, SIX, [Moment("before", "call", fault.call) for fault in faults])


def broken_run(faults, _):
    return break_it(faults).picture()


def nothing_skipped(faults, _):
    if not faults:
        return "no fault, and all six orders are paid. Put a Crash into the list."
    for crash in faults:
        if crash.call is None:
            return f'{crash} names no call. Write Crash("careful", call=...)'
    found = break_it(faults)
    if found.never:
        return None
    first = faults[0].call
    if first > len(found.lives[0]):
        return f"the program has only {len(calls_of_careful())} calls: it was never killed."
    why = "nothing was committed that was not written yet; what comes again, it finds in payments."
    moments = [Moment("before", "call", fault.call) for fault in faults]
    return "\n".join(["all six orders are paid.", why, *ended_by(moments, found.lives)])


def too_many(faults, _):
    if len(faults) == 1:
        return None
    never = len(break_it(faults).never)
    return f"{never} of 6 orders are skipped, by {len(faults)} crashes. One can skip orders, and the fewest win."


def too_little(faults, _):
    never, most = len(break_it(faults).never), len(break_it([shortest()]).never)
    return None if never >= most else f"{never} of 6 orders are skipped. One crash can do more."


def too_late(faults, _):
    return None if faults == [shortest()] else "it works, and there is an earlier moment."
