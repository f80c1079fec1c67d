"""A learner's program under the map of all faults: where it may be killed, and what is
said of one that can't be mapped.
"""

import sys
import threading

import pytest

from minikafka.course.experiments.lesson_04_map import (
    ENDLESS,
    NoMap,
    fared,
    paid_by,
    wherever_killed,
)
from minikafka.faults import Crash
from minikafka.simulation.fault_map import NOTHING
from tests.course.answers import solution

pytestmark = pytest.mark.slow

KILLED, FROZEN, CUT_OFF, WITHOUT_BROKER = range(4)


def commit_after(consumer, payments):
    for record in consumer:
        payments.add(record, record.value)
        consumer.commit()


def commit_first(consumer, payments):
    for record in consumer:
        consumer.commit()
        payments.add(record, record.value)


@pytest.fixture(scope="module")
def repeats():
    return wherever_killed(commit_after)


def moments(trace, kind):
    """When something of this kind happened, as long as nothing had gone wrong."""
    return {event.at for event in trace if event.kind == kind}


def test_who_commits_after_pays_twice_where_it_is_killed_between_the_two(repeats):
    committing = moments(paid_by(commit_after, []).trace, "CommitSent")
    kinds = {cell.fault.at_ms: cell.outcome for cell in repeats.rows[KILLED]}
    wrong = [at_ms for at_ms, outcome in kinds.items() if outcome != NOTHING]
    assert set(wrong) == committing and len(committing) == 4
    assert {outcome.kind for outcome in kinds.values()} == {"nothing", "twice"}


def test_it_pays_twice_when_it_stood_still_for_longer_than_its_session(repeats):
    first = repeats.rows[FROZEN][0]
    assert str(first.outcome) == "twice o-0"
    assert [cell.outcome for cell in repeats.rows[WITHOUT_BROKER]] == [NOTHING] * len(
        repeats.moments
    )


def test_who_commits_first_loses_the_order_that_it_had_in_hand():
    found = wherever_killed(commit_first)
    assert set(found.counts()) == {"nothing", "lost"}
    lost = [cell for cell in found.cells("lost") if cell in found.rows[KILLED]]
    assert {str(cell.outcome) for cell in lost} == {f"lost o-{n}" for n in range(4)}
    assert len(lost) == len(found.cells("lost"))


def test_the_map_of_the_exercises_solution_stays_grey():
    found = wherever_killed(solution("04", 1))
    assert list(found.counts()) == ["nothing"]


def test_each_cell_is_the_same_plan_run_by_hand(repeats):
    for row in repeats.rows:
        cell = row[2]
        by_hand = paid_by(commit_after, cell.plan)
        assert fared(by_hand) == cell.outcome
        assert list(map(str, by_hand.trace)) == list(map(str, cell.trace))


# -- programs that nobody wants


def raises(consumer, payments):
    for _ in consumer:
        raise ValueError("no amount")


def loops(consumer, payments):
    while True:
        pass


def catches_its_own_mistake(consumer, payments):
    while True:
        try:
            consumer.pol()
        except BaseException:
            pass


def polls_without_waiting(consumer, payments):
    while True:
        consumer.poll(timeout_ms=0)


def does_nothing(consumer, payments): ...


def pays_twice(consumer, payments):
    for record in consumer:
        payments.add(record, record.value)
        payments.add(record, record.value)


def waits(consumer, payments):
    threading.Event().wait(600)


@pytest.mark.parametrize(
    ("program", "what"),
    [
        (raises, "raises raises ValueError: no amount"),
        (loops, "loops never gives way"),
        (catches_its_own_mistake, "catches_its_own_mistake never gives way"),
        (polls_without_waiting, "polls_without_waiting never gives way"),
        (waits, "waits never gives way"),
        (does_nothing, "does_nothing doesn't pay o-0, o-1, o-2, o-3"),
        (pays_twice, "pays_twice pays o-0, o-1, o-2, o-3 twice"),
    ],
)
def test_what_is_wrong_without_any_fault_is_said_at_once(program, what):
    with pytest.raises(NoMap) as said:
        wherever_killed(program)
    assert str(said.value) == f"{what}, although nothing goes wrong: no map."
    assert said.value._render_traceback_() == [str(said.value)]


def test_what_it_prints_is_lost_and_nothing_else(capsys):
    def prints(consumer, payments):
        for record in consumer:
            print("x" * 10_000)
            payments.add(record, record.value)
            consumer.commit()

    assert fared(paid_by(prints, [])) == NOTHING
    assert capsys.readouterr().out == ""


def test_a_program_that_ends_is_started_again():
    def one_each(consumer, payments):
        for record in consumer:
            if record.key not in payments:
                payments.add(record, record.value)
            consumer.commit()
            if record.offset == 1:
                sys.exit("enough")
            if record.offset == 2:
                raise ValueError("enough")

    assert fared(paid_by(one_each, [])) == NOTHING


@pytest.mark.nightly
def test_a_program_that_never_gives_way_after_a_fault_is_a_cell_like_others():
    def loops_at_a_second_row(consumer, payments):
        for record in consumer:
            while record.key in payments:
                pass
            payments.add(record, record.value)
            consumer.commit()

    [at_ms, *_] = sorted(
        moments(paid_by(loops_at_a_second_row, []).trace, "CommitSent")
    )
    killed = paid_by(loops_at_a_second_row, [Crash("billing", at_ms=at_ms)])
    assert fared(killed) == ENDLESS


def test_each_life_has_a_fresh_memory():
    seen = []

    def remembers(consumer, payments):
        for record in consumer:
            if record.key not in seen:
                payments.add(record, record.value)
            seen.append(record.key)
            consumer.commit()

    found = wherever_killed(remembers)
    assert "twice" in found.counts() and seen == []
