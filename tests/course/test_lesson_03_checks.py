"""Lesson 03's checks, beside test_every_exercise.py and wrong_answers/: the rule that
they call Kafka's is what the accumulator does.
"""

import random

import pytest

from minikafka.clients.accumulator import BATCH_OVERHEAD, Accumulator, record_size
from minikafka.clients.structs import TopicPartition
from minikafka.course import lessons
from minikafka.faults import Crash, Lose
from tests.course.answers import hears, solution, verdict
from tests.seeds import seeds

pytestmark = pytest.mark.slow

CHECKS = lessons.lesson("03")._module


# exercise 2


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


def full_leaves_later(records, batch_size, linger_ms):
    """A batch that is full leaves when its linger is over."""
    right = CHECKS.kafkas_batches(records, batch_size, linger_ms)
    return [(records[numbers[0]][0] + linger_ms, numbers) for _, numbers in right]


def test_a_record_that_leaves_twice_is_told():
    hears(
        "03",
        2,
        lambda records, *_: [(0, [0, 0])] * len(records),
        "record 0 leaves twice",
    )


def test_a_batch_without_records_is_none():
    found = verdict("03", 2, lambda *_: [(0, [])])
    assert "a batch without records leaves" in str(found)


def test_a_counterexample_of_batches_can_be_played():
    found = verdict("03", 2, full_leaves_later)
    assert "is full" in str(found.picture.table())


# exercise 1


def but(goal, *faults):
    """The solution, with other faults for one goal."""
    return lambda asked: list(faults) if asked == goal else solution("03", 1)(asked)


LOSE = Lose("shop", 1, "Produce", nth=2)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            but("twice", LOSE, Lose("shop", 1, "Produce", nth=4, answer=True)),
            "your 2 faults. One fault can do it.",
        ),
        (but("twice", Crash("shop", at_ms=1000)), "the shop itself must stay up"),
        (but("overtaken", "lose"), "'lose' is no fault"),
    ],
)
def test_a_wrong_plan_hears_what_is_wrong(answer, words):
    hears("03", 1, answer, words)


def test_a_plan_that_missed_can_be_played():
    found = verdict(
        "03", 1, but("overtaken", Lose("shop", 1, "Produce", nth=2, answer=True))
    )
    assert "answer is lost" in str(found.picture.table())
