"""Lesson 19's checks: the solutions pass, and what is no answer is met calmly. (Wrong
answers: wrong_answers/.)
"""

import pytest

from minikafka.course.experiments.lesson_19_sinks import Bank, write_once
from tests.course.answers import endless, solution, verdict

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("exercise", "name"), [(1, "again"), (2, "write")])
def test_the_solution_is_right_on_four_rungs(exercise, name):
    said = verdict("19", exercise, solution("19", exercise, name))
    assert said.right and len(said.lines) == 4, said


def test_what_runs_in_the_lesson_until_an_exercise_is_solved_is_right_too():
    assert verdict("19", 2, write_once).right


@pytest.mark.parametrize("exercise", [1, 2])
def test_a_stub_is_not_an_attempt(exercise):
    def stub(offsets, commits):
        """..."""
        ...

    assert not verdict("19", exercise, stub).attempted


@pytest.mark.parametrize(
    ("exercise", "answer", "words"),
    [
        (1, None, "this is None, not again"),
        (1, lambda offsets, commits: 7, "it returned 7, and should return a dict"),
        (1, lambda offsets: {}, "it raised TypeError"),
        (
            2,
            lambda bank, query, batch_id, postings: bank.noted(query),
            "t-1-1 is not in the bank.",
        ),
        (2, lambda bank: bank.total(), "it raised TypeError"),
        (2, 7, "this is 7, not write"),
    ],
)
def test_what_is_no_answer_is_met_calmly(exercise, answer, words):
    said = verdict("19", exercise, answer)
    assert not said.right and words in str(said), said


@pytest.mark.parametrize("exercise", [1, 2])
def test_an_answer_that_never_ends_is_stopped(exercise):
    assert "it had not come back after 0.1 s" in str(verdict("19", exercise, endless))


def test_the_smallest_case_of_a_sink_that_notes_too_late_is_one_posting_and_a_kill():
    def write(bank, query, batch_id, postings):
        last = bank.noted(query)
        if last is not None and batch_id <= last:
            return
        for posting in postings:
            bank.add(*posting)
        bank.note(query, batch_id)

    said = str(verdict("19", 2, write))
    assert "smallest case: one posting: bank 0 with 1 postings" in said
    assert "bank, batch 0: noted add killed" in said


def test_a_transaction_of_the_bank_counts_as_a_whole_or_not_at_all():
    bank = Bank()
    with pytest.raises(RuntimeError), bank.transaction():
        bank.add("t-1-1", "hana", 5)
        bank.note("bank", 0)
        raise RuntimeError
    assert bank.ids() == [] and bank.noted("bank") is None
    with bank.transaction():
        bank.put("t-1-1", "hana", 5)
        bank.put("t-1-1", "hana", 7)
        bank.note("bank", 0)
    assert (
        bank.balances() == {"hana": 7} and bank.noted("bank") == 0 and bank.twice() == 0
    )
