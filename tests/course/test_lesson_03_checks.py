"""Lesson 03's checks: right answers pass, however they are written; known wrong ones
hear what is wrong.
"""

import random

import pytest

from minikafka.clients.accumulator import BATCH_OVERHEAD, Accumulator, record_size
from minikafka.clients.structs import TopicPartition
from minikafka.course import lessons
from minikafka.faults import Crash, Cut, Freeze, Lose
from tests.course.answers import endless, verdict
from tests.seeds import seeds

pytestmark = pytest.mark.slow

CHECKS = lessons.lesson("03")._module


def solution(exercise, name):
    names = {"Cut": Cut, "Lose": Lose}
    exec(lessons.solutions("03")[str(exercise)], names)
    return names[name]


# exercise 1


def by_event(records, batch_size, linger_ms):
    """Right, and unlike the solution: one moment after the other, by recursion over
    what is left.
    """
    if not records:
        return []

    def first_batch(start):
        began, size, numbers = records[start][0], 0, []
        for number in range(start, len(records)):
            at_ms, size_bytes = records[number]
            late = at_ms >= began + linger_ms and numbers
            if late:
                break
            if numbers and size + size_bytes > batch_size:
                return at_ms, numbers
            numbers.append(number)
            size += size_bytes
            if size == batch_size:
                return at_ms, numbers
        return began + linger_ms, numbers

    batches, start = [], 0
    while start < len(records):
        batches.append(first_batch(start))
        start = batches[-1][1][-1] + 1
    return batches


def accumulated(records, batch_size, linger_ms):
    """What the simulated producer's accumulator does, asked every millisecond and after
    every record.
    """
    partition = TopicPartition("orders", 0)
    accumulator = Accumulator(BATCH_OVERHEAD + batch_size, linger_ms, 1 << 20)
    known, batches = {}, []

    def what_may_leave(now_ms):
        queue = accumulator.queues.get(partition)
        while queue and accumulator.ready_at(queue, at_once=False) <= now_ms:
            batches.append((now_ms, known[accumulator.take(partition)]))

    for now_ms in range(records[-1][0] + linger_ms + 1):
        what_may_leave(now_ms)
        for number, (at_ms, size) in enumerate(records):
            if at_ms == now_ms:
                assert record_size(0, 0, None, bytes(size - 7), ()) == size
                batch = accumulator.append(
                    partition, now_ms, 0, None, bytes(size - 7), ()
                ).batch
                known.setdefault(batch, []).append(number)
                what_may_leave(now_ms)
    return batches


@pytest.mark.parametrize("seed", seeds(range(200)))
def test_what_the_check_calls_kafkas_is_what_the_accumulator_does(seed):
    records, batch_size, linger_ms = CHECKS.a_stream(random.Random(seed))
    # the length of a longer one takes a byte more
    small = [(at_ms, min(size, 60)) for at_ms, size in records]
    assert accumulated(small, batch_size, linger_ms) == CHECKS.kafkas_batches(
        small, batch_size, linger_ms
    )


@pytest.mark.parametrize("answer", [solution(1, "my_batches"), by_event])
def test_right_batches_are_right_however_they_are_written(answer):
    found = verdict("03", 1, answer)
    assert found.right, found
    assert "(619 scenarios tried)" in found.headline


def wrong(
    *,
    last=True,
    from_last_record=False,
    inclusive=False,
    size_first=False,
    full_waits=False,
    large_leaves=False,
    strict=False,
):
    """The rule with one mistake in it."""

    def my_batches(records, batch_size, linger_ms):
        batches, numbers, size, clock = [], [], 0, 0
        for number, (at_ms, size_bytes) in enumerate(records):
            over = (
                at_ms > clock + linger_ms if inclusive else at_ms >= clock + linger_ms
            )
            if numbers and over:
                batches.append((clock + linger_ms, numbers))
                numbers = []
            does_not_fit = (
                size + size_bytes >= batch_size
                if strict
                else size + size_bytes > batch_size
            )
            if numbers and does_not_fit and not size_first:
                batches.append((at_ms, numbers))
                numbers = []
            if not numbers:
                numbers, size, clock = [], 0, at_ms
            if from_last_record:
                clock = at_ms
            numbers.append(number)
            size += size_bytes
            if (
                size >= batch_size if large_leaves else size == batch_size
            ) and not full_waits:
                batches.append((at_ms, numbers))
                numbers = []
        if numbers and last:
            batches.append((clock + linger_ms, numbers))
        return batches

    return my_batches


def one_by_one(records, batch_size, linger_ms):
    return [(at_ms, [number]) for number, (at_ms, _) in enumerate(records)]


def all_together(records, batch_size, linger_ms):
    return [(records[0][0] + linger_ms, list(range(len(records))))] if records else []


def sizes_instead(records, batch_size, linger_ms):
    return [(at_ms + linger_ms, [size]) for at_ms, size in records]


def full_leaves_later(records, batch_size, linger_ms):
    """A batch that is full leaves when its linger is over."""
    right = CHECKS.kafkas_batches(records, batch_size, linger_ms)
    return [(records[numbers[0]][0] + linger_ms, numbers) for _, numbers in right]


def drops_the_large(records, batch_size, linger_ms):
    kept = [number for number, (_, size) in enumerate(records) if size <= batch_size]
    found = CHECKS.kafkas_batches(
        [records[number] for number in kept], batch_size, linger_ms
    )
    return [(at_ms, [kept[number] for number in numbers]) for at_ms, numbers in found]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (wrong(last=False), "record 0 never leaves"),
        (wrong(from_last_record=True), "linger_ms=5 counts from there"),
        (wrong(inclusive=True), "your batch holds the records [0, 1], and Kafka's [0]"),
        (wrong(size_first=True), "bytes, and batch_size is 100"),
        (wrong(full_waits=True), "it is full, so it need not linger"),
        (
            wrong(large_leaves=True),
            "the batch [0] leaves at 0 ms, and Kafka's at 5 ms.",
        ),
        (wrong(strict=True), "your batch holds the records [0], and Kafka's [0, 1]"),
        (one_by_one, "leaves at 0 ms, and Kafka's at"),
        (all_together, "bytes, and batch_size is 100"),
        (sizes_instead, "record 0 never leaves"),
        (full_leaves_later, "Kafka's at"),
        (drops_the_large, "never leaves"),
        (
            lambda records, *_: [(0, [n, n]) for n in range(len(records))],
            "record 0 leaves twice",
        ),
        (
            lambda records, *_: [(0, [n]) for n in range(len(records))[::-1]],
            "leave in the order [1, 0]",
        ),
        (lambda *_: 7, "it returned 7, and should return a list of batches"),
        (lambda *_: [3], "3 is no batch. A batch is a pair"),
        (lambda records, *_: records[99], "it raised IndexError"),
        (endless, "it had not come back after 0.1 s"),
        (None, "this is None, not my_batches"),
    ],
)
def test_wrong_batches_hear_what_is_wrong(answer, words):
    found = verdict("03", 1, answer)
    assert not found.right and words in str(found), found


def test_a_batch_without_records_is_none():
    found = verdict("03", 1, lambda *_: [(0, [])])
    assert "a batch without records leaves" in str(found)


def test_a_counterexample_of_batches_can_be_played():
    found = verdict("03", 1, wrong(full_waits=True))
    assert "is full" in str(found.picture.table())


# exercise 2


def by_losing_every_answer(goal):
    """Right, and unlike the solution."""
    if goal == "twice":
        return (Lose("shop", 1, "Produce", nth=3, answer=True),)
    if goal == "overtaken":
        return [Lose("shop", "broker 1", "Produce", nth=2, times=2)]
    return [Lose("shop", 1, "Produce", nth=2, times=10_000, answer=True)]


def by_a_frozen_broker(goal):
    return (
        [Freeze(1, at_ms=1000, for_ms=130_000)]
        if goal == "failed"
        else solution(2, "plan")(goal)
    )


@pytest.mark.parametrize(
    "answer", [solution(2, "plan"), by_losing_every_answer, by_a_frozen_broker]
)
def test_a_right_plan_is_right_however_it_is_written(answer):
    found = verdict("03", 2, answer)
    assert found.right, found


def but(goal, *faults):
    """The solution, with other faults for one goal."""
    return lambda asked: list(faults) if asked == goal else solution(2, "plan")(asked)


LOSE = Lose("shop", 1, "Produce", nth=2)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (but("twice"), '"twice" did not happen'),
        (
            but("twice", LOSE),
            "the log is 0 5 4 3 2 1. The program heard of no failure.",
        ),
        (
            but("overtaken", Lose("shop", 1, "Produce", nth=2, answer=True)),
            '"overtaken" did not happen',
        ),
        (
            but("overtaken", Lose("shop", 1, "Produce", nth=3)),
            '"overtaken" did not happen',
        ),
        (
            but("failed", Cut("shop", 1, at_ms=1000)),
            "The program heard that [1, 2, 3, 4, 5] failed.",
        ),
        (
            but("failed", Cut("shop", 1, at_ms=1000, for_ms=60_000)),
            "The program heard of no failure.",
        ),
        (
            but("twice", LOSE, Lose("shop", 1, "Produce", nth=4, answer=True)),
            "your 2 faults. One fault can do it.",
        ),
        (but("twice", Crash("shop", at_ms=1000)), "the shop itself must stay up"),
        (but("overtaken", "lose"), "'lose' is no fault"),
        (lambda goal: goal, "plan('twice') should be a list of faults"),
        (lambda goal: [Lose("shop", 2, "Produce")], "2 can't be: it is 'shop' or 1"),
        (lambda goal: {}[goal], "it raised KeyError: 'twice'"),
        (endless, "it had not come back after 0.1 s"),
        (None, "this is None, not plan"),
    ],
)
def test_a_wrong_plan_hears_what_is_wrong(answer, words):
    found = verdict("03", 2, answer)
    assert not found.right and words in str(found), found


def test_a_plan_that_missed_can_be_played():
    found = verdict(
        "03", 2, but("overtaken", Lose("shop", 1, "Produce", nth=2, answer=True))
    )
    assert "answer is lost" in str(found.picture.table())


def stub(goal):
    """A stub."""
    ...


@pytest.mark.parametrize("exercise", [1, 2])
def test_a_stub_is_not_attempted_yet(exercise):
    assert not verdict("03", exercise, stub).attempted
