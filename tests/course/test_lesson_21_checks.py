"""Lesson 21's checks, beside test_every_exercise.py and wrong_answers/: the oracle, and
how lives are ended.
"""

import pytest

from minikafka.course.judging.killed_joins import End, Life, Record, joined, should_be
from minikafka.course.judging.killed_programs import processes
from tests.course.answers import verdict

pytestmark = pytest.mark.slow


def test_an_answer_that_goes_on_after_its_end_has_no_effect():
    def goes_on(task):
        try:
            for record in task:
                task.send("joined", record.key, 1)
                task.commit()
        finally:
            for _ in range(3):
                try:
                    task.send("joined", "late", 1)
                    task.commit()
                except BaseException:
                    pass

    said = verdict("21", 1, goes_on)
    assert not said.right


def test_a_process_keeps_its_memory_and_another_has_its_own():
    seen = []

    def remembers(what):
        seen.append(what)
        return "".join(seen)

    born = processes(remembers, None)
    one, other = born(), born()
    assert [one("a"), one("b"), other("c")] == ["a", "ab", "c"]
    assert seen == []


def test_the_oracle_joins_an_order_with_the_city_of_its_moment():
    story = [
        Record("orders", 0, "alice", 1),
        Record("customers", 0, "alice", ""),
        Record("orders", 0, "alice", 2),
        Record("customers", 0, "alice", None),
        Record("orders", 0, "alice", 3),
    ]
    assert should_be(story) == [("alice", [2, ""])]


def test_the_smallest_case_says_where_a_life_ended():
    said = verdict("21", 1, remembers_nothing)
    assert "smallest case" in str(said) and "process:" in str(said)


def remembers_nothing(task):
    for record in task:
        if record.topic == "orders":
            task.send("joined", record.key, (record.value, "Arles"))
        task.commit()


def test_lives_are_ended_before_and_after_a_call():
    class Plain:
        guard = None

    def sends(task):
        for record in task:
            task.send("changelog", record.key, record.value)
            task.commit()

    answer = Plain()
    answer.__wrapped__ = sends
    came = (Record("customers", 0, "alice", "Arles"),)
    for when, call in (("before", "send"), ("after", "send"), ("before", "commit")):
        [found] = joined(answer, (Life(came, "first", End(when, call, 1)),)).values()
        assert found.sent["changelog"] == [("alice", "Arles")]
        assert found.committed == 1
