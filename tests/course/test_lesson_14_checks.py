"""Lesson 14's checks: the solution passes, and what is no answer is met calmly. (Wrong
answers: wrong_answers/.)
"""

import pytest

from minikafka.course.experiments import lesson_14_settings
from minikafka.course.experiments.lesson_14_runs import Accounts, Tables
from tests.course.answers import endless, solution, verdict

pytestmark = pytest.mark.slow


def test_the_solution_is_right_on_every_rung():
    said = verdict("14", 1, solution("14", 1, "my_sink"))
    assert said.right and len(said.lines) == 6, said


def test_the_settings_of_the_solution_are_right_on_every_rung_and_on_days_that_no_rung_has():
    settings = solution("14", 2, "my_settings")
    said = verdict("14", 2, settings)
    assert said.right and len(said.lines) == 4, said
    for kind in lesson_14_settings.KINDS:
        day = lesson_14_settings.a_day(*settings, kind, seed=11)
        assert (day.lost, day.twice, day.overtaken) == ([], [], None), day
        assert not day.failed or kind == "no way out", day


def test_a_verdict_on_settings_says_on_which_day_which_target_broke_and_shows_it_where_it_breaks():
    said = verdict("14", 2, ({"linger_ms": 20}, {}))
    assert "payments were acknowledged and are gone" in said.headline
    assert (
        "smallest case: maintenance, seed 3: a_day(*my_settings, 'maintenance', seed=3)"
        in said.lines
    )
    assert any("ISR of orders-0 shrunk from" in line for line in said.lines)
    assert said.picture.crisis_ms is not None


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (7, "my_settings should be a pair"),
        ({}, "my_settings should be a pair"),
        ("ab", "my_settings should be a pair"),
        (({"linger_ms": 5},), "my_settings should be a pair"),
        ((5, {}), "the producer's part is 5"),
        (({"acks": [1]}, {}), "acks=[1] can't be"),
        (({"linger_ms": "5"}, {}), "give a whole number of virtual ms"),
        (({"linger_ms": float("nan")}, {}), "give a whole number of virtual ms"),
        (({}, {"min.insync.replicas": "two"}), "Not a number"),
    ],
)
def test_what_are_no_settings_is_told_in_a_line(answer, words):
    said = verdict("14", 2, answer)
    assert not said.right and words in said.headline, said


def test_settings_that_are_not_there_yet_are_not_an_attempt():
    assert not verdict("14", 2, ...).attempted and not verdict("14", 2, None).attempted


def test_what_a_transaction_of_tables_does_counts_together_or_not_at_all():
    tables = Tables()
    with pytest.raises(ZeroDivisionError), tables.transaction():
        tables.insert("orders", cents=20)
        tables.insert("outbox", cents=1 // 0)
    assert tables.rows("orders") == []
    with tables.transaction():
        tables.insert("orders", cents=20)
        tables.insert("outbox", cents=20, sent=False)
    tables.update("outbox", 1, sent=True)
    assert tables.rows("outbox") == [{"id": 1, "cents": 20, "sent": True}]
    assert tables.rows("outbox", sent=False) == []


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
        (
            lambda consumer, database: database.add("mallory", 1),
            "no order is of mallory",
        ),
        (
            lambda consumer, database: [
                database.add(each.key, None) for each in consumer
            ],
            "it raised TypeError",
        ),
    ],
)
def test_what_is_no_answer_is_met_calmly(answer, words):
    said = verdict("14", 1, answer)
    assert not said.right and words in str(said), said


def test_an_answer_that_never_ends_is_stopped():
    said = verdict("14", 1, endless)
    assert not said.right and "stopped" in str(said), said
