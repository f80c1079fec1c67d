"""Lesson 19's checks, beside test_every_exercise.py and wrong_answers/: the smallest
case of a sink that notes too late, and what a transaction leaves.
"""

import pytest

from minikafka.course.experiments.lesson_19_sinks import (
    BY_ID,
    COLUMNS,
    Accounts,
    Bank,
    each_partition,
    write_once,
)
from tests.course.answers import verdict

pytestmark = pytest.mark.slow


def test_what_runs_in_the_lesson_until_an_exercise_is_solved_is_right_too():
    assert verdict("19", 1, write_once).right


def test_the_smallest_case_of_a_sink_that_notes_too_late_is_one_sum_and_a_kill():
    def write(accounts, query, batch_id, sums):
        last = accounts.noted(query)
        if last is not None and batch_id <= last:
            return
        for each in sums:
            accounts.add(*each)
        accounts.note(query, batch_id)

    said = str(verdict("19", 1, write))
    assert "smallest case: one account: bank, batch 0: [('hana-1', 1, 10)]" in said
    assert "bank, batch 0: noted add killed" in said


def test_a_transaction_of_the_accounts_counts_as_a_whole_or_not_at_all():
    accounts = Accounts()
    with pytest.raises(RuntimeError), accounts.transaction():
        accounts.add("hana", 1, 5)
        accounts.note("bank", 0)
        raise RuntimeError
    assert accounts.rows() == [] and accounts.noted("bank") is None
    with accounts.transaction():
        accounts.add("hana", 1, 5)
        accounts.add("hana", 1, 7)
        accounts.note("bank", 0)
    assert accounts.rows() == [("hana", 2, 12)] and accounts.noted("bank") == 0


def test_a_row_of_the_bank_takes_the_place_of_the_one_with_its_key():
    bank = Bank(f"{COLUMNS}, PRIMARY KEY (posting_id)")
    with pytest.raises(RuntimeError), bank.transaction() as database:
        database.executemany(BY_ID, [(0, 0, "t-1", "hana", 5)])
        raise RuntimeError
    assert len(bank) == 0
    write = each_partition(bank, BY_ID)
    write([(0, 0, "t-1", "hana", 5), (0, 1, "t-2", "nils", -5)])
    write([(2, 9, "t-1", "hana", 7)])
    assert bank.balances() == {"hana": 7, "nils": -5} and bank.twice() == 0
