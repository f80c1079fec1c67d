"""Lesson 19, Spark III: what a right answer does. No Spark is needed: a checkpoint is
numbers, a bank a table.
"""

from contextlib import contextmanager
from typing import NamedTuple

from minikafka.course.experiments.lesson_19_sinks import Bank
from minikafka.course.judging.checks import Exercise, Rung, WrongKind
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
        hints=(
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
        ),
        rungs=(
            Rung(
                holds="nothing, if the newest plan is committed",
                cases={
                    "the first one": ({0: {0: 5}}, {0}),
                    "three done": ({0: {0: 5}, 1: {0: 9}, 2: {0: 12}}, {0, 1, 2}),
                    "never started": ({}, set()),
                },
                scenario=lambda source: a_checkpoint(source, committed=True),
                **common,
            ),
            Rung(
                holds="else from the plan before to the newest one",
                cases={
                    "one partition": ({0: {0: 5}, 1: {0: 9}}, {0}),
                    "two partitions": ({0: {0: 30, 1: 20}, 1: {0: 55, 1: 41}}, {0}),
                    "the first one": ({0: {0: 30, 1: 20}}, set()),
                },
                scenario=lambda source: a_checkpoint(source, committed=False, plans=6),
                **common,
            ),
            Rung(
                holds=(
                    "a partition without new records is left out, a new one begins at 0"
                ),
                cases={
                    "partition 1 has nothing new": (
                        {0: {0: 30, 1: 20}, 1: {0: 55, 1: 20}},
                        {0},
                    ),
                    "partition 1 is new": ({0: {0: 30}, 1: {0: 55, 1: 7}}, {0}),
                    "an empty micro-batch": ({0: {0: 30}, 1: {0: 30}}, {0}),
                },
                scenario=lambda source: a_checkpoint(
                    source, committed=False, plans=6, new=2, still=True
                ),
                **common,
            ),
            Rung(
                holds="old files may be gone, and files come in any order",
                cases={
                    "9 and 10": ({10: {0: 88}, 9: {0: 80}}, {9}),
                    "from 37 on": ({38: {0: 70}, 39: {0: 90}, 37: {0: 50}}, {37, 38}),
                },
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
    ends = {
        partition: source.randrange(50) for partition in range(source.randint(1, 3))
    }
    found = []
    for number in range(first, first + source.randint(1 if first == 0 else 2, plans)):
        if new and source.random() < 0.3:
            ends[len(ends)] = 0
        ends = {
            each: end + source.randrange(0 if still else 1, 40)
            for each, end in ends.items()
        }
        found.append((number, dict(ends)))
    newest = found[-1][0]
    if old:
        source.shuffle(found)
    return dict(found), {number for number, _ in found if committed or number < newest}


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
    found, truth = answer(dict(offsets), set(commits)), runs_again(offsets, commits)
    if not isinstance(found, dict):
        raise WrongKind(
            f"it returned {found!r}, and should return a dict: partition -> (from, to)."
        )
    if not all(
        isinstance(pair, tuple | list) and len(pair) == 2 for pair in found.values()
    ):
        raise WrongKind(
            f"it returned {found}, and should have a pair for each partition: (from,"
            " to)."
        )
    found = {partition: tuple(pair) for partition, pair in found.items()}
    return None if found == truth else f"it says {found}, and {truth} is true."


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


def written_once():
    """The four rungs."""
    common = {"broken": not_once, "smaller": a_smaller_plan, "describe": as_plan}
    return (
        Rung(
            holds="each micro-batch is written",
            cases={
                "one posting": Plan((("bank", 0, postings("t-1", 1)),)),
                "two micro-batches": Plan(
                    (("bank", 0, postings("t-1", 2)), ("bank", 1, postings("t-2", 2)))
                ),
                "an empty one": Plan(
                    (("bank", 0, ()), ("bank", 1, postings("t-2", 1)))
                ),
                "the topic has it twice": Plan((("bank", 0, postings("t-1", 1) * 2),)),
            },
            scenario=a_plan,
            **common,
        ),
        Rung(
            holds="one that comes again changes nothing",
            cases={
                "batch 0": Plan((("bank", 0, postings("t-1", 2)),), again=True),
                "batches 0 and 1": Plan(
                    (("bank", 0, postings("t-1", 1)), ("bank", 1, postings("t-2", 1))),
                    again=True,
                ),
            },
            scenario=lambda source: a_plan(source)._replace(again=True),
            **common,
        ),
        Rung(
            holds=(
                "killed at any call and started again, nothing is lost and nothing is"
                " there twice"
            ),
            cases={
                "one posting": Plan((("bank", 0, postings("t-1", 1)),), kills="every"),
                "two postings": Plan((("bank", 0, postings("t-1", 2)),), kills="every"),
                "the second batch": Plan(
                    (("bank", 0, postings("t-1", 1)), ("bank", 1, postings("t-2", 2))),
                    kills="every",
                ),
            },
            scenario=lambda source: with_kills(a_plan(source), source),
            **common,
        ),
        Rung(
            holds="two queries may write to one bank",
            cases={
                "both have a batch 0": Plan(
                    (("bank", 0, postings("t-1", 1)), ("fees", 0, postings("f-1", 1)))
                ),
                "one is further": Plan(
                    (
                        ("bank", 0, postings("t-1", 1)),
                        ("bank", 1, postings("t-2", 1)),
                        ("fees", 0, postings("f-1", 1)),
                        ("bank", 2, postings("t-3", 1)),
                    ),
                    again=True,
                ),
            },
            scenario=lambda source: with_kills(
                a_plan(source, queries=("bank", "fees")), source
            ),
            **common,
        ),
    )


def postings(transfer, count):
    """Postings of 10 cents and more, with names and accounts of their own."""
    return tuple(
        (f"{transfer}-{leg}", f"account-{leg}", 10 * leg) for leg in range(1, count + 1)
    )


def a_plan(source, queries=("bank",)):
    numbers, batches = dict.fromkeys(queries, 0), []
    for place in range(source.randint(1, 5)):
        query = source.choice(queries)
        batches.append(
            (query, numbers[query], postings(f"t-{place}", source.randrange(4)))
        )
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
    """What is wrong in the end, or None."""
    bank, story = Bank(), []
    for place, (query, batch_id, rows) in enumerate(plan.batches):
        starts = [kills[place]] if place in kills else []
        for killed_before in (*starts, *[None] * (1 + plan.again)):
            lent = Doomed(bank, killed_before)
            try:
                answer(lent, query, batch_id, list(rows))
            except Killed:
                pass
            story.append(
                f"{query}, batch {batch_id}: {' '.join(lent.calls) or 'no call'}"
            )
    there, wanted = (
        sorted(bank.ids()),
        sorted(row[0] for _, _, rows in plan.batches for row in rows),
    )
    if there == wanted:
        return None
    lost, extra = less(wanted, there), less(there, wanted)
    line = (
        f"{lost[0]} is not in the bank."
        if lost
        else f"{extra[0]} is there once too often."
    )
    return "\n".join([line, *story])


def less(these, those):
    """What is in the first list and not in the second, as often as it is more."""
    those = list(those)
    return [each for each in these if each not in those or those.remove(each)]


def a_smaller_plan(plan):
    if plan.kills == "every":
        return
    for gone in range(len(plan.batches)):
        kept = [batch for place, batch in enumerate(plan.batches) if place != gone]
        if kept and all(
            b[1] == sum(a[0] == b[0] for a in kept[:place])
            for place, b in enumerate(kept)
        ):
            kills = {
                place - (place > gone): call
                for place, call in (plan.kills or {}).items()
                if place != gone
            }
            yield plan._replace(batches=tuple(kept), kills=kills or None)
    for place in plan.kills or {}:
        yield plan._replace(
            kills={at: call for at, call in plan.kills.items() if at != place} or None
        )
    if plan.again:
        yield plan._replace(again=False)


def as_plan(plan):
    shown = ", ".join(
        f"{query} {batch_id} with {len(rows)} postings"
        for query, batch_id, rows in plan.batches
    )
    return shown + (", each of them twice" if plan.again else "")
