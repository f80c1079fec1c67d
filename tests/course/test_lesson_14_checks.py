"""Lesson 14's checks, beside test_every_exercise.py and wrong_answers/: the settings on
other days, and transactions of the two tables.
"""

import pytest

from minikafka.course.experiments import lesson_14_settings
from minikafka.course.experiments.lesson_14_runs import Accounts, Tables
from tests.course.answers import solution, verdict

pytestmark = pytest.mark.slow


def test_the_settings_of_the_solution_are_right_on_every_rung_and_on_days_that_no_rung_has():
    settings = solution("14", 2)
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
