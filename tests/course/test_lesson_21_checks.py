"""Lesson 21's check: the solution passes, and what is no answer is met calmly. (Wrong
answers: wrong_answers/.)
"""

import pytest

from minikafka.course.judging.killed_joins import End, Life, Record, joined, should_be
from minikafka.course.judging.killed_programs import processes
from tests.course.answers import endless, solution, verdict

pytestmark = pytest.mark.slow


def test_the_solution_is_right_on_every_rung():
    said = verdict("21", 1, solution("21", 1, "my_join"))
    assert said.right and len(said.lines) == 5, said


def test_a_stub_is_not_an_attempt():
    def stub(task):
        """..."""
        ...

    assert not verdict("21", 1, stub).attempted


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "this is None, not my_join"),
        (7, "this is 7, not my_join"),
        (lambda one, two: list(one), "it raised TypeError"),
        (lambda task: list(task), "an order is lost"),
        (lambda task: task.send("orders", "a", 1), 'send to "joined" or "changelog"'),
        (lambda task: task.send("joined", [], {1: [2]}), "an order is lost"),
        (lambda task: [task.commit() for _ in task], "an order is lost"),
        (lambda task: task.nothing(), "AttributeError"),
    ],
)
def test_what_is_no_answer_is_met_calmly(answer, words):
    said = verdict("21", 1, answer)
    assert not said.right and words in str(said), said


def test_an_answer_that_never_ends_is_stopped():
    said = verdict("21", 1, endless)
    assert not said.right and "stopped" in str(said), said


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
