"""Lesson 04, offsets and delivery: what a right answer does."""

import copy
import types
from collections import Counter, deque
from functools import cache

from minikafka import Cluster
from minikafka.course.checks import Exercise, Rung
from minikafka.course.lessons import Question
from minikafka.faults import Crash, Fault

SIX = tuple(f"o-{number}" for number in range(6))
REPEATED = ("o-0", "o-1", "o-0", "o-2", "o-1")  # the shop has sent two of its orders twice

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


def run(program, orders, crashes=(), faults=()):
    """The program pays the orders on a cluster, is killed at these calls, one a life, and started again each time.

    crashes: each counts the blocking calls of its life from 1; one that is never reached kills nothing.
    """
    configs = {"group.initial.rebalance.delay.ms": 0, "offsets.topic.num.partitions": 1}
    cluster = Cluster(seed=4, configs=configs, faults=faults)
    cluster.create_topic("orders", partitions=1)
    shop = cluster.producer(client_id="shop", enable_idempotence=False)
    for order in orders:
        shop.send("orders", key=order, value="20 euros")
    shop.flush()
    consumer = cluster.consumer("orders", **MEMBER)
    payments = cluster.table("payments")
    running = cluster.start(as_a_process(program), consumer, payments)
    lives = []
    for call in crashes:
        cluster.crash(running, call=call)
        cluster.run(seconds=LIFE_SECONDS)
        lives.append(list(running.calls))
        if running.state == "crashed":
            cluster.restart(running)
    cluster.run(seconds=LIFE_SECONDS)
    lives.append(list(running.calls))
    return Outcome(cluster, orders, running, lives)


LIFE_SECONDS = 4
MEMBER = {
    "group_id": "billing",
    "client_id": "billing",
    "group_instance_id": "billing",  # a static member has its partition back at once
    "auto_offset_reset": "earliest",
    "enable_auto_commit": False,
    "fetch_max_wait_ms": 5000,  # idle seconds shall cost nothing
    "heartbeat_interval_ms": 10_000,
}


class Outcome:
    """What a run has led to. lives: the calls of each life by name. written: orders, in the order of writing."""

    def __init__(self, cluster, orders, running, lives):
        self.orders, self.end = list(dict.fromkeys(orders)), len(orders)
        self.ended, self.lives = running.state == "ended", lives
        self.trace, self.seed = cluster.trace, cluster.seed
        effects = [event.detail for event in self.trace if event.kind == "EffectWritten"]
        self.written = [effect["key"] for effect in effects]
        commits = [event.detail["offset"] for event in self.trace if event.kind == "OffsetCommitted"]
        self.committed = commits[-1] if commits else None
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


def as_a_process(program):
    """The program with a memory of its own: what it keeps outside its function is as at first in every new life."""
    if not isinstance(program, types.FunctionType):
        return program
    outside = [name for name in program.__code__.co_names if isinstance(program.__globals__.get(name), CONTAINERS)]
    first = copy.deepcopy([program.__defaults__, [program.__globals__[name] for name in outside], cells(program)])

    def process(consumer, payments):
        defaults, values, closed_over = copy.deepcopy(first)
        memory = {**program.__globals__, **dict(zip(outside, values, strict=True))}
        closure = None if program.__closure__ is None else tuple(map(types.CellType, closed_over))
        born = types.FunctionType(program.__code__, memory, program.__name__, defaults, closure)
        return born(consumer, payments)

    process.__name__ = program.__name__
    return process


CONTAINERS = (list, dict, set, deque)


def cells(program):
    return [cell.cell_contents for cell in program.__closure__ or ()]


def killed(crashes, lives):
    """The kills in words: before which call each came."""
    lines = []
    for number, call in enumerate(crashes):
        calls = lives[number]
        if len(calls) >= call:
            before = " ".join(calls[max(call - 5, 0) : call - 1])
            lines.append(f"life {number + 1}: {'... ' if call > 5 else ''}{before} | killed before {calls[call - 1]}")
    return "\n".join(lines)


# --- 1: write a piece ---


def exercise_1():
    """At least once and deduplicated: a consumer whose payments are right whatever call it is killed at."""
    return Exercise(
        name="pay",
        right="every order is paid once, whenever your program is killed.",
        hints=(
            "Two things can be done with a record: writing it to payments, committing. Which order repeats, which "
            "loses? Repeating can be mended afterwards.",
            "After a crash the record comes again. Only payments remembers what was before the crash: ask it, not a "
            "variable of yours.",
            "For each record: is record.key in payments already? If not, payments.add(record, record.value). In both "
            "cases commit then, and only then.",
        ),
        rungs=(
            Rung(
                holds="without a crash every order is written, and the group's lag is 0",
                broken=not_all_paid,
                cases={"six orders": (SIX, ()), "one order": (SIX[:1], ()), "no order": ((), ())},
                describe=as_schedule,
                picture=lambda answer, case: run(answer, *case).picture(),
            ),
            Rung(
                holds="whatever call it is killed at, nothing is lost and nothing is written twice",
                broken=not_once,
                cases=one_by_one(),
                scenario=lambda source: (SIX[: source.randint(1, 4)], some_crashes(source)),
                **COMMON,
            ),
            Rung(
                holds="an order that the shop has sent twice is paid once",
                broken=not_once,
                cases={
                    "sent twice": (("o-0", "o-0"), ()),
                    "sent again later": (("o-0", "o-1", "o-0"), ()),
                    "two of them": (REPEATED, ()),
                    **{f"two of them, killed at call {call}": (REPEATED, (call,)) for call in range(1, 21)},
                },
                **COMMON,
            ),
        ),
    )


def one_by_one():
    """Every call once, for three orders; every two calls of two lives, for two."""
    once = {f"killed at call {call}": (SIX[:3], (call,)) for call in range(1, 13)}
    pairs = {f"killed at calls {one} and {two}": (SIX[:2], (one, two)) for one in range(1, 9) for two in range(1, 9)}
    return once | pairs


def some_crashes(source):
    return tuple(source.randint(1, 12) for _ in range(source.choice((1, 1, 1, 2, 3))))


def fewer(case):
    """Fewer kills, fewer orders, earlier kills."""
    orders, crashes = case
    for at in range(len(crashes)):
        yield orders, crashes[:at] + crashes[at + 1 :]
    for count in range(1, len(orders)):
        yield orders[:count], crashes
    for at, call in enumerate(crashes):
        if call > 1:
            yield orders, (*crashes[:at], call - 1, *crashes[at + 1 :])


def as_schedule(case):
    orders, crashes = case
    faults = ", ".join(f'Crash("pay", call={call})' for call in crashes)
    return f"orders {' '.join(orders) or 'none'}, faults=[{faults}]"


COMMON = {"smaller": fewer, "describe": as_schedule, "picture": lambda answer, case: run(answer, *case).picture()}


def not_all_paid(answer, case):
    found = run(answer, *case)
    if found.never or found.twice:
        return wrong(found, case[1])
    if found.ended:
        return "it has ended. A service runs on: tomorrow there are more orders."
    if (found.committed or 0) != found.end:
        nothing = "nothing is committed" if found.committed is None else f"the committed offset is {found.committed}"
        return f"all orders are written, but {nothing}, and the log end offset is {found.end}."
    return None


def not_once(answer, case):
    return wrong(run(answer, *case), case[1])


def wrong(found, crashes):
    """Which order went wrong, and what the program was doing when it was killed."""
    if found.never:
        line = f"order {found.never[0]} is never written."
        if found.ended:
            line += " The program has ended; a service runs on."
    elif found.twice:
        line = f"order {found.twice[0]} is written {Counter(found.written)[found.twice[0]]} times."
    else:
        return None
    return "\n".join([line, *killed(crashes, found.lives).splitlines()])


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
        takes=(list, tuple, Crash),
        right=f'one crash and three orders are gone. [Crash("careful", call={shortest()[0].call})] is the shortest.',
        hints=(
            "When is an order committed and not yet written? That is where to kill it.",
            "Its calls are poll, commit, then an add for each of three orders, and again from poll. Count from 1; a "
            "crash at call n comes before n has any effect.",
            "Between commit and the first add nothing is done and all three are committed. The first call after the "
            "first commit: which number is it?",
        ),
        rungs=(
            Rung(holds="an order is skipped", broken=nothing_skipped, cases={"six orders": None}, picture=broken_run),
            Rung(holds="three are, by one crash", broken=too_little, cases={"six orders": None}, picture=broken_run),
            Rung(holds="at the earliest call there is", broken=too_late, cases={"six orders": None}),
        ),
    )


@cache
def calls_of_careful():
    return tuple(run(careful, SIX).lives[0])


@cache
def shortest():
    """The first single crash that skips the most orders: tried, not typed in."""
    skipped = {call: len(run(careful, SIX, (call,)).never) for call in range(1, len(calls_of_careful()) + 1)}
    most = max(skipped.values())
    return [Crash("careful", call=next(call for call, count in skipped.items() if count == most))]


def listed(faults):
    """A fault by itself is a list of one."""
    return [faults] if isinstance(faults, Fault) else list(faults)


def split(faults):
    """Crashes of careful at a call, one a life, and all other faults."""
    for fault in faults:
        if not isinstance(fault, Fault):
            raise TypeError(f'{fault!r} is no fault. Write Crash("careful", call=...)')
    crashes = [fault for fault in faults if isinstance(fault, Crash) and fault.call is not None]
    for crash in crashes:
        if crash.node != "careful":
            raise ValueError(f'{crash.node!r} is no program here: the program is "careful"')
    return tuple(crash.call for crash in crashes), [fault for fault in faults if fault not in crashes]


def break_it(faults):
    crashes, others = split(listed(faults))
    return run(careful, SIX, crashes, others), crashes


def broken_run(faults, _):
    return break_it(faults)[0].picture()


def nothing_skipped(faults, _):
    if not faults:
        return "no fault, and all six orders are paid. Put a Crash into the list."
    found, crashes = break_it(faults)
    if found.never:
        return None
    if crashes and not killed(crashes, found.lives):
        return f"the program has only {len(calls_of_careful())} calls: it was never killed."
    why = "nothing was committed that was not written yet; what comes again, it finds in payments."
    return "\n".join(["all six orders are paid.", why, *killed(crashes, found.lives).splitlines()])


def too_little(faults, _):
    never = break_it(faults)[0].never
    most = len(break_it(shortest())[0].never)
    if len(listed(faults)) > 1:
        return f"{len(never)} of 6 orders are skipped, by {len(listed(faults))} faults. One is enough."
    return None if len(never) >= most else f"{len(never)} of 6 orders are skipped. One crash can do more."


def too_late(faults, _):
    (best,) = shortest()
    crashes, _others = split(listed(faults))
    if crashes == (best.call,):
        return None
    return "it works, and there is an earlier moment." if crashes else "it works, and a Crash at a call is simpler."
