"""Lesson 19's checks, beside test_every_exercise.py and wrong_answers/: the smallest
case of a sink that notes too late, and the bank.
"""

import pytest

from minikafka.course.experiments.lesson_19_sinks import Bank, write_once
from tests.course.answers import verdict

pytestmark = pytest.mark.slow


def test_what_runs_in_the_lesson_until_an_exercise_is_solved_is_right_too():
    assert verdict("19", 2, write_once).right


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
