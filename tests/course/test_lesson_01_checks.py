"""Lesson 01's checks, beside test_every_exercise.py and wrong_answers/: a log whose
methods fail, and a stretch that is not attempted yet.
"""

import pytest

from tests.course.answers import hears, solution, verdict

pytestmark = pytest.mark.slow

SOLUTION = solution("01", 2)


class SparesTheActive(SOLUTION):
    def delete_older_than(self, timestamp):
        while (
            len(self.segments) > 1
            and max(when for _, when, _ in self.segments[0]) < timestamp
        ):
            del self.segments[0]


class NeverComesBack(SOLUTION):
    def append(self, timestamp, value):
        while True:
            pass


class Raises(SOLUTION):
    def read(self, offset):
        return self.segmnets


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (NeverComesBack, "it had not come back after 2 s"),
        (Raises, "it raised AttributeError"),
    ],
)
def test_a_log_that_raises_or_never_comes_back_hears_so(answer, words):
    hears("01", 2, answer, words)


def test_a_log_without_its_stretch_is_right_and_hears_what_is_left():
    class Core(SOLUTION):
        def offset_for(self, timestamp):
            """The first offset not older."""
            ...

    found = verdict("01", 2, Core)
    assert found.right and "stretch, not attempted yet: TinyLog.offset_for" in str(
        found
    )


def test_a_counterexample_can_be_played():
    assert "deleted" in str(verdict("01", 2, SparesTheActive).picture.table())
