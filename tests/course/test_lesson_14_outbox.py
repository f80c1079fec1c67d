"""Lesson 14's outbox: ids are drawn before transactions end, and what a relay makes of
that.
"""

import random

import pytest

from minikafka.course.experiments.lesson_14_outbox import (
    RELAYS,
    Outbox,
    above_the_last_id,
    below_the_oldest_open,
    four_relays,
    from_the_log,
    not_marked,
    relayed,
)
from tests.seeds import seeds


def test_who_asks_for_ids_above_the_last_one_never_sends_a_row_that_is_committed_late():
    assert relayed(above_the_last_id, looks_in_between=True) == ["Oak"]
    for relay in (not_marked, below_the_oldest_open, from_the_log):
        assert sorted(relayed(relay, looks_in_between=True)) == ["Elm", "Oak"]


@pytest.mark.parametrize("looks_in_between", [True, False])
def test_only_the_databases_log_has_the_order_of_the_commits(looks_in_between):
    assert relayed(from_the_log, looks_in_between) == ["Oak", "Elm"]
    assert relayed(below_the_oldest_open, looks_in_between) == ["Elm", "Oak"]


def test_a_mark_in_each_row_sends_by_id_what_it_finds_together():
    assert relayed(not_marked, looks_in_between=True) == ["Oak", "Elm"]
    assert relayed(not_marked, looks_in_between=False) == ["Elm", "Oak"]


def test_the_lesson_shows_each_relay_in_a_line():
    _, *lines = four_relays().splitlines()
    assert [line.split("  ")[0] for line in lines] == list(RELAYS)
    assert lines[0].split()[-3:] == ["Oak", "Elm", "Oak"]


@pytest.mark.parametrize("seed", seeds(range(50)))
def test_whatever_the_order_of_commits_three_of_four_send_each_row_once(seed):
    source = random.Random(seed)
    outbox, going_on = Outbox(), []
    sent = {name: [] for name in RELAYS}
    for number in range(40):
        draw = source.random()
        if draw < 0.4 or not going_on:
            going_on.append(outbox.insert("alice", str(number)))
        elif draw < 0.8:
            outbox.commit(going_on.pop(source.randrange(len(going_on))))
        else:
            look(outbox, sent)
    while going_on:
        outbox.commit(going_on.pop(0))
    look(outbox, sent)
    by_id = sorted(outbox.committed)
    assert sent["the database's log"] == outbox.committed
    assert sent["below the oldest open one"] == by_id
    assert sorted(sent["rows that aren't marked"]) == by_id
    assert set(sent["ids above the last one"]) <= set(by_id)


def look(outbox, sent):
    for name, relay in RELAYS.items():
        sent[name] += relay(outbox, sent[name])
