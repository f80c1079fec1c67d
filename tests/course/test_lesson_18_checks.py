"""Lesson 18's checks, beside test_every_exercise.py and wrong_answers/: the solutions,
the worked examples, and what there is without Spark.
"""

import pytest

from minikafka.course import lessons
from tests.course.answers import verdict

pytestmark = pytest.mark.slow


def the_solution(exercise, name):
    pytest.importorskip("pyspark")
    names = {}
    exec("from pyspark.sql import functions as F", names)
    exec(lessons.solutions("18")[str(exercise)], names)
    return names[name]


@pytest.mark.spark
def test_the_solution_of_exercise_2_is_right(spark):
    said = verdict("18", 2, the_solution(2, "hourly"))
    assert said.right, said
    assert "each hour has its orders, each once" in str(said)


def test_a_stub_is_not_an_attempt():
    def hourly(orders):
        """..."""
        ...

    assert not verdict("18", 1, hourly).attempted
    assert not verdict("18", 2, hourly).attempted


def test_the_worked_examples_of_exercise_1_are_true():
    truth = lessons.lesson("18")._module.truth
    early, late = [[2, 6, 12], [21], [8, 25], []], [[2, 6, 12], [21], [25], [8]]
    assert truth(early, 10, 10) == [
        (0, [], []),
        (2, [], []),
        (11, [], [(0, 3)]),
        (15, [], []),
    ]
    assert truth(late, 10, 10) == [
        (0, [], []),
        (2, [], []),
        (11, [], [(0, 2)]),
        (15, [8], []),
    ]
    # the watermark has passed 13, and not the end of its window
    assert truth([[12], [25], [26], [13]], 10, 10) == [
        (0, [], []),
        (2, [], []),
        (15, [], []),
        (16, [], []),
    ]


def test_the_three_micro_batches_of_the_exit_ticket_do_what_its_answer_says():
    truth = lessons.lesson("18")._module.truth
    assert truth([[552], [558], [547]], 5, 10)[2] == (553, [], [(540, 1)])


def test_exercise_2_without_a_session_says_so(monkeypatch):
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setattr(
        sql.SparkSession, "getActiveSession", classmethod(lambda cls: None)
    )
    assert "there is no Spark session" in str(verdict("18", 2, lambda orders: orders))
