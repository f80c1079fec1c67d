"""Every exercise: its solution is right, and what is no answer is met calmly: nothing
yet, a stub, a number, what raises, what never ends, and what is of the wrong kind.
(Wrong answers: wrong_answers/. Exercises that need Spark have tests of their own.)
"""

import pytest

from minikafka.course import lessons
from tests.course.answers import endless, exercise_of, hears, solution, verdict

pytestmark = pytest.mark.slow

WITH_SPARK = {("17", 1), ("18", 2), ("20", 1), ("20", 2)}
EXERCISES = [
    (lesson, exercise)
    for lesson in [*(f"{number:02}" for number in range(1, 22)), "24"]
    for exercise in range(1, len(lessons.lesson(lesson)._exercises()) + 1)
    if (lesson, exercise) not in WITH_SPARK
]


# the others ask for a number, a list of faults, or a class
FUNCTIONS = [
    each for each in EXERCISES if exercise_of(*each).takes is None and each != ("01", 2)
]


def stub(*given, **named):
    """..."""
    ...


def raises(*given, **named):
    raise ZeroDivisionError


def returns_nothing(*given, **named):
    """It isn't taken for a stub."""
    return {}.get("nothing")


@pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
def test_the_solution_is_right_on_every_rung(lesson, exercise):
    said = verdict(lesson, exercise, solution(lesson, exercise))
    rungs = exercise_of(lesson, exercise).rungs
    assert said.right and len(said.lines) == (len(rungs) if rungs[1:] else 0), said


@pytest.mark.parametrize(
    ("lesson", "exercise", "scenarios"), [("03", 2, 619), ("04", 1, 69), ("09", 1, 617)]
)
def test_the_number_of_scenarios_is_fixed(lesson, exercise, scenarios):
    said = verdict(lesson, exercise, solution(lesson, exercise))
    assert f"({scenarios} scenarios tried)" in said.headline


@pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)
def test_nothing_yet_and_a_stub_are_not_an_attempt(lesson, exercise):
    assert not verdict(lesson, exercise, ...).attempted
    assert not verdict(lesson, exercise, stub).attempted


@pytest.mark.parametrize(("lesson", "exercise"), FUNCTIONS)
def test_what_is_no_function_hears_which_one_is_asked_for(lesson, exercise):
    name = exercise_of(lesson, exercise).name
    for answer in (None, 7):
        said = verdict(lesson, exercise, answer)
        assert f"this is {answer}, not {name}" in str(said), said


@pytest.mark.parametrize(("lesson", "exercise"), FUNCTIONS)
def test_what_raises_hears_so(lesson, exercise):
    hears(lesson, exercise, raises, "ZeroDivisionError")


@pytest.mark.parametrize(("lesson", "exercise"), FUNCTIONS)
def test_what_never_ends_is_stopped(lesson, exercise):
    hears(lesson, exercise, endless, "it had not come back after 0.1 s")


@pytest.mark.parametrize(
    ("lesson", "exercise", "answer", "words"),
    [
        ("02", 3, lambda key, every, available: key, "A partition is a whole number"),
        ("03", 2, lambda *_: 7, "it returned 7, and should return a list of batches"),
        ("03", 2, lambda *_: [3], "3 is no batch. A batch is a pair"),
        ("05", 1, returns_nothing, "it returned None"),
        ("06", 1, lambda target, members: [], "it returned a list, not a dictionary"),
        ("06", 2, lambda members, partitions: [], "it returned a list, not a dict"),
        (
            "06",
            2,
            lambda members, _: {each: [0] for each in members},
            "a list of pairs",
        ),
        ("10", 1, lambda log, end_of: 1.5, "should return how many records stay"),
        ("10", 1, lambda log, end_of: -1, "it keeps -1 of"),
        ("10", 1, lambda log: 0, "it raised TypeError"),
        ("10", 2, lambda brokers, controller: [7], "7 is no step"),
        (
            "10",
            2,
            lambda brokers, controller: [("wait", float("nan"))],
            "wait from 0 to 15 seconds",
        ),
        ("11", 2, lambda snapshot, log: {}, "it raised TypeError"),
        ("11", 2, lambda *given: {"brokers": {}}, "and should return"),
        (
            "11",
            2,
            lambda *given: {"brokers": [], "partitions": {}},
            "should be dicts",
        ),
        (
            "11",
            2,
            lambda *given: {"brokers": {}, "partitions": {0: 1}},
            "should have leader, leader_epoch and isr",
        ),
        ("12", 1, returns_nothing, "not None"),
        ("12", 2, returns_nothing, "not None"),
        ("13", 1, lambda orders: orders.poll(), "has ended with TypeError"),
        ("14", 1, lambda consumer: list(consumer), "it raised TypeError"),
        ("14", 1, lambda consumer, database: list(consumer), "an order is lost"),
        (
            "14",
            1,
            lambda consumer, database: database.add("mallory", 1),
            "no order is for mallory",
        ),
        (
            "14",
            1,
            lambda consumer, database: [database.add(o.key, None) for o in consumer],
            "it raised TypeError",
        ),
        ("14", 2, 7, "my_settings should be a pair"),
        ("14", 2, {}, "my_settings should be a pair"),
        ("14", 2, "ab", "my_settings should be a pair"),
        ("14", 2, ({"linger_ms": 5},), "my_settings should be a pair"),
        ("14", 2, (5, {}), "the producer's part is 5"),
        ("14", 2, ({"acks": [1]}, {}), "acks=[1] can't be"),
        ("14", 2, ({"linger_ms": "5"}, {}), "give a whole number of virtual ms"),
        (
            "14",
            2,
            ({"linger_ms": float("nan")}, {}),
            "give a whole number of virtual ms",
        ),
        ("14", 2, ({}, {"min.insync.replicas": "two"}), "Not a number"),
        ("15", 1, lambda first, end: [], "it raised TypeError"),
        ("15", 1, lambda *given: 0, "should return a list of pairs"),
        ("15", 1, lambda *given: "0", "should return a list of pairs"),
        ("15", 1, lambda *given: [(0, True)], "should return a list of pairs"),
        ("16", 1, lambda *given: "fine", "it returned 'fine', and should return"),
        ("16", 2, lambda *given: [1], "it returned [1], and should return a dict"),
        ("16", 2, lambda *given: {0: 1}, "and should have a list of brokers"),
        ("14", 3, lambda *given: 7, "it returned 7, and should return"),
        ("18", 1, lambda *given: 7, "it returned 7, and should return a list"),
        (
            "18",
            1,
            lambda batches, delay, size: [(0, 0, 0)] * len(batches),
            "dropped and written should be lists",
        ),
        (
            "19",
            1,
            lambda accounts, query, batch_id, sums: accounts.noted(query),
            "hana-1 has no balance, not 10 cents in 1 posting.",
        ),
        ("19", 1, lambda accounts: accounts.rows(), "it raised TypeError"),
        (
            "19",
            2,
            lambda offsets, commits: 7,
            "it returned 7, and should return a dict",
        ),
        ("19", 2, lambda offsets: {}, "it raised TypeError"),
        ("21", 1, lambda one, two: list(one), "it raised TypeError"),
        ("21", 1, lambda task: list(task), "an order is lost"),
        ("21", 1, lambda task: task.send("orders", "a", 1), 'send to "joined" or'),
        ("21", 1, lambda task: task.send("joined", [], {1: [2]}), "an order is lost"),
        ("21", 1, lambda task: [task.commit() for _ in task], "an order is lost"),
        ("21", 1, lambda task: task.nothing(), "AttributeError"),
    ],
)
def test_what_is_of_the_wrong_kind_hears_so(lesson, exercise, answer, words):
    hears(lesson, exercise, answer, words)
