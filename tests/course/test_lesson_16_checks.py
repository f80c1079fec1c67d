"""Lesson 16's checks: right answers pass, and what is no answer is met calmly. Wrong
ones are in wrong_answers.
"""

import json

import pytest

from minikafka.course import lessons
from tests.course.answers import endless, verdict

pytestmark = pytest.mark.slow


def solution(exercise, name):
    names = {"json": json}
    exec(lessons.solutions("16")[str(exercise)], names)
    return names[name]


@pytest.mark.parametrize(("exercise", "name"), [(1, "health"), (2, "into_table")])
def test_the_solution_passes_every_rung(exercise, name):
    said = verdict("16", exercise, solution(exercise, name))
    assert said.right, said
    assert len(str(said).splitlines()) == 5  # a headline, four rungs


def failing(*args):
    raise KeyError("Leader")


@pytest.mark.parametrize("exercise", [1, 2])
def test_what_fails_never_ends_or_returns_something_else_is_told_so(exercise):
    assert "it raised KeyError: 'Leader'" in str(verdict("16", exercise, failing))
    assert "it had not come back after 0.1 s" in str(verdict("16", exercise, endless))
    assert "it returned 'fine', and should return" in str(
        verdict("16", exercise, lambda *args: "fine")
    )
    assert "it returned 7, and should return" in str(
        verdict("16", exercise, lambda *args: 7)
    )


@pytest.mark.parametrize("exercise", [1, 2])
def test_a_stub_is_not_an_attempt(exercise):
    def stub(records):
        """..."""
        ...

    assert not verdict("16", exercise, stub).attempted


def test_the_verdict_shows_the_lines_of_the_smallest_case():
    said = str(verdict("16", 1, lambda lines, min_isr: {0: "fine"}))
    assert "Topic: orders  Partition: 0  Leader: " in said
    said = str(verdict("16", 2, lambda records: ({}, {})))
    assert "smallest case: " in said and "(lsn " in said
