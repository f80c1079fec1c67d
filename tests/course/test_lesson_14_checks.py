"""Lesson 14's checks: the solution passes, and what is no answer is met calmly. (Wrong answers: wrong_answers/.)"""

import pytest

from minikafka.course.edge_runs import Accounts
from tests.course.answers import solution, verdict


def test_the_solution_is_right_on_every_rung():
    said = verdict("14", 1, solution("14", 1, "my_sink"))
    assert said.right and len(said.lines) == 5, said


def test_what_a_transaction_of_the_database_does_counts_together_or_not_at_all():
    accounts = Accounts()
    with pytest.raises(ZeroDivisionError), accounts.transaction():
        accounts.add("alice", 20)
        accounts.note("orders 0", 1 // 0)
    assert accounts.balances() == {} and accounts.noted("orders 0") is None
    with accounts.transaction():
        accounts.add("alice", 20)
        accounts.note("orders 0", 7)
    assert accounts.balances() == {"alice": 20} and accounts.notes() == {"orders 0": 7}


def test_a_stub_is_not_an_attempt():
    def stub(consumer, database):
        """..."""
        ...

    assert not verdict("14", 1, stub).attempted


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "this is None, not my_sink"),
        (7, "this is 7, not my_sink"),
        (lambda consumer: list(consumer), "it raised TypeError"),
        (lambda consumer, database: list(consumer), "an order is lost"),
        (lambda consumer, database: database.add("mallory", 1), "no order is of mallory"),
        (lambda consumer, database: [database.add(each.key, None) for each in consumer], "it raised IntegrityError"),
    ],
)
def test_what_is_no_answer_is_met_calmly(answer, words):
    said = verdict("14", 1, answer)
    assert not said.right and words in str(said), said


def test_an_answer_that_never_ends_is_stopped():
    def endless(consumer, database):
        while True:
            pass

    said = verdict("14", 1, endless)
    assert not said.right and "stopped" in str(said), said
