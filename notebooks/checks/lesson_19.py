"""Lesson 19, Spark III: what a right answer does. No Spark is needed: a checkpoint is
numbers, a bank a table.
"""

import inspect
from collections import Counter
from contextlib import contextmanager
from typing import NamedTuple

from minikafka.course.experiments.lesson_19_sinks import Bank
from minikafka.course.judging.checks import Exercise, Rung, WrongKind
from minikafka.course.judging.killed_programs import as_a_process
from minikafka.course.lessons import Question

EXIT_TICKET = (
    Question(
        "killed after the sink, before the commit",
        right=3,
        why=(
            "3. The plan in offsets/7 has no commit, so batch 7 runs again: the same"
            " records, the same number."
        ),
    ),
    Question(
        "what the sink with a batch id can't see",
        right=2,
        why=(
            "2. To Kafka and to Spark they are two records. Only something inside them,"
            " a posting's id, tells."
        ),
    ),
    Question(
        "Spark's Kafka sink after a restart",
        right=1,
        why=(
            "1. What a program sends anew has new sequence numbers, and is new to the"
            " broker. There is no transaction that read_committed could leave out."
        ),
    ),
    Question(
        "commit first, then the work",
        right=1,
        why=(
            "1. Committed and not done: at most once. Spark writes commits/ last, and"
            " so it is at least once."
        ),
        lesson="04",
    ),
    Question(
        "where the query's place is",
        right=2,
        why=(
            "2. Spark commits nothing to Kafka. With an empty checkpoint it is a first"
            " start."
        ),
        lesson="17",
    ),
)

# --- 1: what runs again ---


HINTS_1 = (
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


def exercise_1():
    """The newest plan, if it has no commit, from where the plan before it ended."""
    common = {
        "broken": not_what_runs_again,
        "smaller": fewer_files,
        "describe": as_files,
    }
    return Exercise(
        name="again",
        right="that is what the sink is given when the query starts.",
        hints=HINTS_1,
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


# --- 2: a sink that may be killed ---


class Killed(BaseException):
    """The process ends. No `except Exception` holds it up."""


class Plan(NamedTuple):
    """What Spark gives to the sink, in order: (query, batch id, postings). again: the
    whole of it comes once more, each micro-batch at once after it was written, as after
    a kill just before Spark's commit. kills: micro-batch (its place in the plan) ->
    before which call to the bank the process is killed, counted from 1; "every" tries
    them all.
    """

    batches: tuple
    again: bool = False
    kills: object = None


def exercise_2():
    return Exercise(
        name="write",
        right="killed before each of its calls, it wrote every posting once.",
        hints=(
            (
                "What is in the bank must say which micro-batch it belongs to. So the"
                " postings and the note of the batch id have to count together, or not"
                " at all: one `with bank.transaction():` around both."
            ),
            (
                "Ask bank.noted(query) first. None means that this query has written"
                " nothing yet; 0 is a batch id, and Python takes it for false."
            ),
            (
                "In one transaction: if noted is not None and batch_id <= noted,"
                " return; else add each posting, then bank.note(query, batch_id)."
            ),
        ),
        rungs=written_once(),
    )


def plan_of(*batches):
    """The micro-batches of one query, from 0 on."""
    return Plan(tuple(("bank", number, rows) for number, rows in enumerate(batches)))


def postings(transfer, count):
    """Postings of 10 cents and more, with names and accounts of their own."""
    return tuple(
        (f"{transfer}-{leg}", f"account-{leg}", 10 * leg) for leg in range(1, count + 1)
    )


EXAMPLE = (("t-1-1", "hana", -500), ("t-1-2", "nils", 500))


ONE, ANOTHER = postings("t-1", 1), postings("t-2", 1)
WRITTEN = {
    "one posting": plan_of(ONE),
    "two micro-batches": plan_of(postings("t-1", 2), postings("t-2", 2)),
    "an empty one": plan_of((), ANOTHER),
    "the topic has it twice": plan_of(ONE * 2),
    "an id that an earlier one had": plan_of(ONE, ONE),
    "an id again, for another account": plan_of(
        (("t-1", "hana", 5),), (("t-1", "nils", 7),)
    ),
    "the first example": Plan((("transfers", 0, EXAMPLE),)),
}
AGAIN = {
    "batch 0": plan_of(postings("t-1", 2))._replace(again=True),
    "batches 0 and 1": plan_of(ONE, ANOTHER)._replace(again=True),
    "the second example": Plan((("transfers", 0, EXAMPLE),), again=True),
}
KILLED = {
    "one posting": plan_of(ONE)._replace(kills="every"),
    "two postings": plan_of(postings("t-1", 2))._replace(kills="every"),
    "the second batch": plan_of(ONE, postings("t-2", 2))._replace(kills="every"),
}
TWO_QUERIES = {
    "both have a batch 0": Plan((("bank", 0, ONE), ("fees", 0, postings("f-1", 1)))),
    "a space is a letter": Plan((("bank", 0, ONE), ("bank ", 0, postings("f-1", 1)))),
    "one is further": Plan(
        (
            ("bank", 0, ONE),
            ("bank", 1, ANOTHER),
            ("fees", 0, postings("f-1", 1)),
            ("bank", 2, postings("t-3", 1)),
        ),
        again=True,
    ),
}


def written_once():
    """The four rungs."""
    common = {"broken": not_once, "smaller": a_smaller_plan, "describe": as_plan}
    return (
        Rung(
            holds="each micro-batch is written",
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
                " there twice"
            ),
            cases=KILLED,
            scenario=lambda source: with_kills(a_plan(source), source),
            **common,
        ),
        Rung(
            holds="two queries may write to one bank",
            cases=TWO_QUERIES,
            scenario=lambda source: with_kills(
                a_plan(source, queries=source.sample(QUERIES, 2)), source
            ),
            **common,
        ),
    )


QUERIES = ("bank", "fees", "Bank", "bank-eu", "łódź")
ACCOUNTS = ("hana", "Hana", "han", "łucja", "10", "1")
# once in a while one that another micro-batch has, too
IDS = ("t-1", "t-10", "T-1", "ö-1", "1")


def some_postings(source, place):
    """Up to three, with amounts of all kinds; now and then the same row twice."""
    rows = []
    for leg in range(source.randrange(4)):
        posting_id = f"t-{place}-{leg}"
        if source.random() < 0.3:
            posting_id = source.choice(IDS)
        cents = source.choice((0, -500, 500, 10, 3_000_000_000))
        rows.append((posting_id, source.choice(ACCOUNTS), cents))
    if rows and source.random() < 0.1:
        rows.append(rows[0])
    return tuple(rows)


def a_plan(source, queries=("bank",)):
    numbers = {query: source.choice((0, 0, 9)) for query in queries}
    batches = []
    for place in range(source.randint(1, 5)):
        query = source.choice(queries)
        batches.append((query, numbers[query], some_postings(source, place)))
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
    """The bank in the hands of a process that is killed before its n-th call; counts
    the calls.
    """

    def __init__(self, bank, killed_before=None):
        self._bank, self._killed_before, self.calls = bank, killed_before, []

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
        with self._bank.transaction():
            yield
            self._called("end of the transaction")

    def __getattr__(self, name):
        found = getattr(self._bank, name)

        def call(*args, **kwargs):
            self._called(name)
            return found(*args, **kwargs)

        return call if name in ("add", "put", "note", "noted") else found


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
    bank, story = Bank(), []
    process = as_a_process(inspect.unwrap(answer), None)
    for place, (query, batch_id, rows) in enumerate(plan.batches):
        lives = [kills[place]] if place in kills else []
        lives += [None] * (1 + plan.again)
        for killed_before in lives:
            lent = Doomed(bank, killed_before)
            try:
                answer.guard.call(process, (lent, query, batch_id, list(rows)))
            except Killed:
                pass
            calls = " ".join(lent.calls) or "no call"
            story.append(f"{query}, batch {batch_id}: {calls}")
    line = what_is_wrong(bank, [row for _, _, rows in plan.batches for row in rows])
    return None if line is None else "\n".join([line, *story])


def what_is_wrong(bank, wanted):
    """wanted: the rows that there should be."""
    there = bank.rows()
    if Counter(there) == Counter(wanted):
        return None
    ids, wanted_ids = [row[0] for row in there], [row[0] for row in wanted]
    for posting_id in less(wanted_ids, ids):
        return f"{posting_id} is not in the bank."
    for posting_id in less(ids, wanted_ids):
        return f"{posting_id} is there once too often."
    row, right = less(there, wanted)[0], less(wanted, there)[0]
    return f"the bank has {row}, and {right} came."


def less(these, those):
    """What is in the first list and not in the second, as often as it is more."""
    those = list(those)
    return [each for each in these if each not in those or those.remove(each)]


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
    shown = ", ".join(
        f"{query} {batch_id} with {len(rows)} postings"
        for query, batch_id, rows in plan.batches
    )
    return shown + (", each of them twice" if plan.again else "")
