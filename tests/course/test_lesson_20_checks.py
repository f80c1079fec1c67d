"""Lesson 20's checks: the solutions pass, a stub is not an attempt, and what never ends
is stopped.
"""

import inspect

import pytest

from minikafka.course.experiments.lesson_20_runs import solved
from minikafka.course.judging import micro_batches
from tests.course.answers import endless, verdict

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
]  # the solutions import PySpark; no session is started


def test_the_solutions_pass():
    from minikafka.course.kafka_source import plan

    for exercise, answer in (
        (1, solved("20", 1, "Sessions")),
        (2, solved("20", 2, "try_out")),
        (3, solved("20", 3, "plan")),
        (3, plan),
    ):
        said = verdict("20", exercise, answer)
        assert said.right, said


def test_a_stub_is_not_an_attempt():
    from pyspark.sql.streaming import StatefulProcessor

    class Sessions(StatefulProcessor):
        """One row for each session."""

        def init(self, handle):
            self.times = handle.getListState("times", "ms long")

        def handleInputRows(self, key, rows, timerValues):
            return iter([])

        def handleExpiredTimer(self, key, timerValues, expiredTimerInfo): ...

    said = verdict("20", 1, Sessions)
    assert not said.attempted
    assert "Sessions.handleExpiredTimer is still the stub" in str(said)
    assert "should be the class itself" in str(verdict("20", 1, lambda: Sessions))

    def try_out(processor):
        """A test."""
        ...

    assert not verdict("20", 2, try_out).attempted


@pytest.mark.parametrize(
    ("ours", "sparks"),
    [
        ("Handle", "StatefulProcessorHandle"),
        ("_Value", "ValueState"),
        ("_List", "ListState"),
        ("_Map", "MapState"),
        ("Times", "TimerValues"),
        ("Expired", "ExpiredTimerInfo"),
    ],
)
def test_the_stand_in_has_sparks_methods_with_sparks_parameters(ours, sparks):
    from pyspark.sql.streaming import stateful_processor

    assert calls(getattr(micro_batches, ours)) == calls(
        getattr(stateful_processor, sparks)
    )


def calls(kind):
    """Method -> its parameters and their defaults."""
    found = {}
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_"):
            parameters = inspect.signature(method).parameters.values()
            found[name] = [(each.name, each.default) for each in parameters]
    return found


def test_a_plan_that_never_ends_is_stopped():
    assert "it had not come back after 0.1 s" in str(verdict("20", 3, endless))


def test_what_a_processor_returns_is_told_when_it_is_no_iterator():
    class Returns:
        def init(self, handle):
            self.handle = handle

        def handleInputRows(self, key, rows, timerValues):
            return 0

    assert "it returned 0, and should yield Rows" in str(verdict("20", 1, Returns))
