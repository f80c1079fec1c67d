"""Lesson 16's checks, beside test_every_exercise.py and wrong_answers/: a verdict shows
the lines of the smallest case.
"""

import pytest

from tests.course.answers import verdict

pytestmark = pytest.mark.slow


def test_the_verdict_shows_the_lines_of_the_smallest_case():
    said = str(verdict("16", 1, lambda lines, min_isr: {0: "fine"}))
    assert "Topic: orders  Partition: 0  Leader: " in said
    said = str(verdict("14", 3, lambda records: ({}, {})))
    assert "smallest case: " in said and "(lsn " in said
