"""Lesson 19, Spark III: what a right answer does. No Spark is needed: a checkpoint is
numbers, accounts a table.
"""

import inspect
from contextlib import contextmanager
from typing import NamedTuple

from minikafka.course.experiments.lesson_19_sinks import Accounts
from minikafka.course.judging.checks import Exercise, Rung, WrongKind
from minikafka.course.judging.killed_programs import as_a_process
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "the first micro-batch after a restart",
        right=1,
        why=(
            "1. Batch 7 runs again as it was planned, from 700 to 900. The 500 new"
            " records come in batch 8."
        ),
    ),
    Question(
        "a task that is run again",
        right=2,
        why=(
            "2. The first transaction counts, and so does the second one. Only a key"
            " would have shown the database that they hold the same rows."
        ),
    ),
    Question(
        "a checkpoint that was put back",
        right=2,
        why=(
            "2. The copy goes on at batch 41, and the sink adds nothing before batch"
            " 53. It compares two numbers, and doesn't look at the postings."
        ),
    ),
    Question(
        "commit first, then the work",
        right=1,
        why=(
            "1. Committed and not done: at most once. Spark writes its commit last, so"
            " it is at least once."
        ),
        lesson="04",
    ),
    Question(
        "who knows the query's place",
        right=2,
        why=(
            "2. Spark commits nothing to Kafka. With an empty checkpoint it is a first"
            " start."
        ),
        lesson="17",
    ),
)

# --- 1: a sink that may be killed ---


class Killed(BaseException):
    """The process ends. No `except Exception` holds it up."""


class Plan(NamedTuple):
    """What Spark gives to the sink, in order: (query, batch id, sums). again: the
    whole of it comes once more, each micro-batch at once after it was written, as after
    a kill just before Spark's commit. kills: micro-batch (its place in the plan) ->
    before which call to the accounts the process is killed, counted from 1; "every"
    tries them all.
    """

    batches: tuple
    again: bool = False
    kills: object = None


def exercise_1():
    return Exercise(
        name="write",
        right="killed before each of its calls, it added every sum once.",
        hints=(
            (
                "The accounts must show which micro-batch they include. So the sums and"
                " the note of the batch id have to count together, or not at all: one"
                " `with accounts.transaction():` around both."
            ),
            (
                "Ask accounts.noted(query) first. None means that this query has added"
                " nothing yet; 0 is a batch id, although Python treats it as false."
            ),
            (
                "In one transaction: if noted is not None and batch_id <= noted,"
                " return; else add each sum, then accounts.note(query, batch_id)."
            ),
        ),
        rungs=written_once(),
    )


def plan_of(*batches):
    """The micro-batches of one query, from 0 on."""
    return Plan(tuple(("bank", number, rows) for number, rows in enumerate(batches)))


def sums(name, count):
    """Sums of 10 cents and more, for accounts of their own."""
    return tuple((f"{name}-{leg}", leg, 10 * leg) for leg in range(1, count + 1))


EXAMPLE = (("hana", 2, -500), ("nils", 1, 500))


ONE, ANOTHER = sums("hana", 1), sums("nils", 1)
WRITTEN = {
    "one account": plan_of(ONE),
    "two micro-batches": plan_of(sums("hana", 2), sums("nils", 2)),
    "an empty one": plan_of((), ANOTHER),
    "the same sum again": plan_of(ONE, ONE),
    "a sum of 0": plan_of((("hana", 2, 0),)),
    "the first example": Plan((("transfers", 0, EXAMPLE),)),
}
AGAIN = {
    "batch 0": plan_of(sums("hana", 2))._replace(again=True),
    "batches 0 and 1": plan_of(ONE, ANOTHER)._replace(again=True),
    "the second example": Plan((("transfers", 0, EXAMPLE),), again=True),
    "an older one": Plan((("bank", 0, ONE), ("bank", 1, ANOTHER), ("bank", 0, ONE))),
}
KILLED = {
    "one account": plan_of(ONE)._replace(kills="every"),
    "two accounts": plan_of(sums("hana", 2))._replace(kills="every"),
    "the second batch": plan_of(ONE, sums("nils", 2))._replace(kills="every"),
}
TWO_QUERIES = {
    "both have a batch 0": Plan((("bank", 0, ONE), ("fees", 0, sums("fees", 1)))),
    "a space is a letter": Plan((("bank", 0, ONE), ("bank ", 0, sums("fees", 1)))),
    "one is further": Plan(
        (
            ("bank", 0, ONE),
            ("bank", 1, ANOTHER),
            ("fees", 0, sums("fees", 1)),
            ("bank", 2, sums("mia", 1)),
        ),
        again=True,
    ),
}


def written_once():
    """The four rungs."""
    common = {"broken": not_once, "smaller": a_smaller_plan, "describe": as_plan}
    return (
        Rung(
            holds="each micro-batch is added",
            cases=WRITTEN,
            scenario=a_plan,
            **common,
        ),
        Rung(
            holds="one that comes again changes nothing",
            cases=AGAIN,
            scenario=lambda source: a_plan(source)._replace(again=True),
            **common,
        ),
        Rung(
            holds=(
                "killed at any call and started again, nothing is lost and nothing is"
                " added twice"
            ),
            cases=KILLED,
            scenario=lambda source: with_kills(a_plan(source), source),
            **common,
        ),
        Rung(
            holds="two queries may add to the same accounts",
            cases=TWO_QUERIES,
            scenario=lambda source: with_kills(
                a_plan(source, queries=source.sample(QUERIES, 2)), source
            ),
            **common,
        ),
    )


QUERIES = ("bank", "fees", "Bank", "bank-eu", "łódź")
ACCOUNTS = ("hana", "Hana", "han", "łucja", "10", "1")


def some_sums(source):
    """For up to three accounts, with amounts of all kinds."""
    return tuple(
        (account, source.randint(1, 3), source.choice((0, -500, 500, 10, 3 * 10**9)))
        for account in source.sample(ACCOUNTS, source.randrange(4))
    )


def a_plan(source, queries=("bank",)):
    numbers = {query: source.choice((0, 0, 9)) for query in queries}
    batches = []
    for _ in range(source.randint(1, 5)):
        query = source.choice(queries)
        batches.append((query, numbers[query], some_sums(source)))
        numbers[query] += 1
    return Plan(tuple(batches))


def with_kills(plan, source):
    kills = {
        place: source.randint(1, 7)
        for place in range(len(plan.batches))
        if source.random() < 0.6
    }
    return plan._replace(again=source.random() < 0.5, kills=kills)


class Doomed:
    """The accounts in the hands of a process that is killed before its n-th call; counts
    the calls.
    """

    def __init__(self, accounts, killed_before=None):
        self._accounts, self._killed_before = accounts, killed_before
        self.calls = []

    def _called(self, name):
        if self.calls and self.calls[-1] == "killed":
            raise Killed
        self.calls.append(name)
        if len(self.calls) == self._killed_before:
            self.calls[-1] = "killed"
            raise Killed

    @contextmanager
    def transaction(self):
        self._called("transaction")
        with self._accounts.transaction():
            yield
            self._called("end of the transaction")

    def __getattr__(self, name):
        found = getattr(self._accounts, name)

        def call(*args, **kwargs):
            self._called(name)
            return found(*args, **kwargs)

        return call if name in ("add", "note", "noted") else found


def not_once(answer, plan):
    if plan.kills != "every":
        return outcome(answer, plan, plan.kills or {})
    for place in range(len(plan.batches)):
        for call in range(1, 4 + 2 * len(plan.batches[place][2])):
            problem = outcome(answer, plan, {place: call})
            if problem:
                return problem
    return None


def outcome(answer, plan, kills):
    """What is wrong in the end, or None. Each call is that of a new process."""
    accounts, story = Accounts(), []
    process = as_a_process(inspect.unwrap(answer), None)
    for place, (query, batch_id, rows) in enumerate(plan.batches):
        lives = [kills[place]] if place in kills else []
        lives += [None] * (1 + plan.again)
        for killed_before in lives:
            lent = Doomed(accounts, killed_before)
            try:
                answer.guard.call(process, (lent, query, batch_id, list(rows)))
            except Killed:
                pass
            calls = " ".join(lent.calls) or "no call"
            story.append(f"{query}, batch {batch_id}: {calls}")
    once = {(query, batch_id): rows for query, batch_id, rows in plan.batches}
    line = what_is_wrong(accounts, [row for rows in once.values() for row in rows])
    return None if line is None else "\n".join([line, *story])


def what_is_wrong(accounts, wanted):
    """wanted: the sums that there should be, of all micro-batches."""
    right = {}
    for account, postings, cents in wanted:
        before = right.get(account, (0, 0))
        right[account] = (before[0] + postings, before[1] + cents)
    found = {account: tuple(numbers) for account, *numbers in accounts.rows()}
    for account in right | found:
        if found.get(account) != right.get(account):
            return f"{account} has {told(found, account)}, not {told(right, account)}."
    return None


def told(balances, account):
    if account not in balances:
        return "no balance"
    postings, cents = balances[account]
    return f"{cents} cents in {postings} posting{'s' if postings != 1 else ''}"


def a_smaller_plan(plan):
    if plan.kills == "every":
        return
    kills = plan.kills or {}
    for gone in reversed(range(len(plan.batches))):
        kept = plan.batches[:gone] + plan.batches[gone + 1 :]
        if kept and has_no_gap(kept):
            left = {
                place - (place > gone): call
                for place, call in kills.items()
                if place != gone
            }
            yield plan._replace(batches=kept, kills=left or None)
    for place in kills:
        left = {at: call for at, call in kills.items() if at != place}
        yield plan._replace(kills=left or None)
    if plan.again:
        yield plan._replace(again=False)


def has_no_gap(batches):
    """Does each query's next micro-batch have the next number?"""
    latest = {}
    for query, batch_id, _ in batches:
        if latest.get(query, batch_id - 1) != batch_id - 1:
            return False
        latest[query] = batch_id
    return True


def as_plan(plan):
    shown = "; ".join(
        f"{query}, batch {batch_id}: {list(rows)}"
        for query, batch_id, rows in plan.batches
    )
    return shown + (", each of them twice" if plan.again else "")


# --- 2: what runs again ---


HINTS_2 = (
    (
        "Only the newest plan matters: max(offsets). If its number is among the"
        " commits, nothing runs again."
    ),
    (
        "A plan says where the micro-batch ends. It begins where the plan"
        " before it ended: offsets[newest - 1]."
    ),
    (
        "For each partition of the newest plan: from .get(partition, 0) of the"
        " plan before, which is {} for the first one, to the plan's offset."
        " Leave out a partition where the two are equal."
    ),
)


COMMITTED = {
    "the first one": ({0: {0: 5}}, {0}),
    "three done": ({0: {0: 5}, 1: {0: 9}, 2: {0: 12}}, {0, 1, 2}),
    "never started": ({}, set()),
    "the second example": (
        {0: {0: 30, 1: 20}, 1: {0: 55, 1: 41}},
        {0, 1},
    ),
    "older commits": ({9: {0: 7}, 10: {0: 9}}, {8, 9, 10}),
}
OPEN = {
    "one partition": ({0: {0: 5}, 1: {0: 9}}, {0}),
    "two partitions": ({0: {0: 30, 1: 20}, 1: {0: 55, 1: 41}}, {0}),
    "the first one": ({0: {0: 30, 1: 20}}, set()),
}
STILL_OR_NEW = {
    "partition 1 has nothing new": (
        {0: {0: 30, 1: 20}, 1: {0: 55, 1: 20}},
        {0},
    ),
    "partition 1 is new": ({0: {0: 30}, 1: {0: 55, 1: 7}}, {0}),
    "an empty micro-batch": ({0: {0: 30}, 1: {0: 30}}, {0}),
    "partition 1 was empty": (
        {0: {0: 30, 1: 0}, 1: {0: 55, 1: 7}},
        {0},
    ),
    "a new partition without records": (
        {0: {0: 30}, 1: {0: 55, 1: 0}},
        {0},
    ),
    "a dozen partitions": (
        {
            0: dict.fromkeys(range(12), 5),
            1: dict.fromkeys(range(12), 9),
        },
        {0},
    ),
}
OLD_FILES = {
    "9 and 10": ({10: {0: 88}, 9: {0: 80}}, {9}),
    "from 37 on": ({38: {0: 70}, 39: {0: 90}, 37: {0: 50}}, {37, 38}),
}


def exercise_2():
    """The newest plan, if it has no commit, from where the plan before it ended."""
    common = {
        "broken": not_what_runs_again,
        "smaller": fewer_files,
        "describe": as_files,
    }
    return Exercise(
        name="again",
        right="that is what the sink is given when the query starts.",
        hints=HINTS_2,
        rungs=(
            Rung(
                holds="nothing, if the newest plan is committed",
                cases=COMMITTED,
                scenario=lambda source: a_checkpoint(source, committed=True),
                **common,
            ),
            Rung(
                holds="else from the plan before to the newest one",
                cases=OPEN,
                scenario=lambda source: a_checkpoint(source, committed=False, plans=6),
                **common,
            ),
            Rung(
                holds=(
                    "a partition without new records is left out, a new one begins at 0"
                ),
                cases=STILL_OR_NEW,
                scenario=lambda source: a_checkpoint(
                    source, committed=False, plans=6, new=2, still=True
                ),
                **common,
            ),
            Rung(
                holds="old files may be gone, and files come in any order",
                cases=OLD_FILES,
                scenario=lambda source: a_checkpoint(
                    source, committed=False, plans=6, new=1, still=True, old=95
                ),
                **common,
            ),
        ),
    )


def a_checkpoint(source, committed, plans=4, new=0, still=False, old=0):
    """(offsets, commits): plans with ends that grow; old: the number of the first may
    be so large.
    """
    first = source.randint(0, old)
    partitions = source.choice((1, 2, 3, 11)) if old else source.randint(1, 3)
    ends = {partition: source.randrange(50) for partition in range(partitions)}
    plans = source.randint(1 if first == 0 else 2, plans)
    offsets = {}
    for number in range(first, first + plans):
        if new and source.random() < 0.3:
            ends[len(ends)] = 0
        for partition in ends:
            ends[partition] += source.randrange(0 if still else 1, 40)
        offsets[number] = dict(ends)
    commits = set(offsets) if committed else set(offsets) - {number}
    if first and source.random() < 0.5:
        commits.add(first - 1)
    if old:
        numbers = list(offsets)
        source.shuffle(numbers)
        offsets = {number: offsets[number] for number in numbers}
    return offsets, commits


def fewer_files(case):
    offsets, commits = case
    for gone in sorted(offsets)[:-2]:
        yield (
            {number: ends for number, ends in offsets.items() if number != gone},
            commits - {gone},
        )
    for partition in {each for ends in offsets.values() for each in ends}:
        without = {
            number: {each: end for each, end in ends.items() if each != partition}
            for number, ends in offsets.items()
        }
        if all(without.values()):
            yield without, commits


def as_files(case):
    offsets, commits = case
    return f"offsets {offsets}, commits {commits or '{}'}"


def runs_again(offsets, commits):
    newest = max(offsets, default=None)
    if newest is None or newest in commits:
        return {}
    before = offsets.get(newest - 1, {})
    ranges = {
        partition: (before.get(partition, 0), end)
        for partition, end in offsets[newest].items()
    }
    return {partition: pair for partition, pair in ranges.items() if pair[0] < pair[1]}


def not_what_runs_again(answer, case):
    offsets, commits = case
    truth = runs_again(offsets, commits)
    found = answer(dict(offsets), set(commits))
    if not isinstance(found, dict):
        raise WrongKind(
            f"it returned {found!r}, and should return a dict: partition -> (from, to)."
        )
    for pair in found.values():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise WrongKind(
                f"it returned {found}, and should have a pair for each partition:"
                " (from, to)."
            )
    found = {partition: tuple(pair) for partition, pair in found.items()}
    if found == truth:
        return None
    return f"it says {found}, and {truth} is true."
