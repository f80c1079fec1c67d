"""Lesson 13's checks, beside test_every_exercise.py and wrong_answers/: without one of
its lines the solution does not survive.
"""

import random

import pytest

from minikafka.clients.errors import KafkaTimeoutError
from minikafka.course import lessons
from minikafka.course.experiments.lesson_13_runs import (
    Schedule,
    TillBusy,
    behind,
    bill,
    copied,
    go_back,
)
from tests.course.answers import solution, verdict

pytestmark = pytest.mark.slow

CHECKS = lessons.lesson("13")._module
LINES = (
    "init_transactions",
    "send_offsets_to_transaction",
    "commit_transaction",
    "abort_transaction",
    "go_back",
)


def test_what_runs_in_the_lesson_until_the_exercise_is_solved_is_right_too():
    assert verdict("13", 1, bill).right


@pytest.mark.parametrize("line", LINES)
def test_without_one_of_its_lines_the_solution_does_not_survive(line):
    source = lessons.solutions("13")["1"].splitlines()
    [at] = [number for number, each in enumerate(source) if line in each]
    indent = source[at][: len(source[at]) - len(source[at].lstrip())]
    source[at] = f"{indent}pass"
    names = {"behind": behind, "go_back": go_back, "TillBusy": TillBusy}
    names["KafkaTimeoutError"] = KafkaTimeoutError
    exec("\n".join(source), names)
    said = verdict("13", 1, names["my_bill"])
    assert said.attempted and not said.right, said


def test_kip_447_killed_before_any_call_its_receipts_and_offsets_agree():
    calls = copied(bill).calls[0]
    assert calls[:3] == ["init_transactions", "poll", "send"]
    for call in range(1, len(calls) + 1):
        assert copied(bill, Schedule(kills=(call,))).wrong is None


@pytest.mark.parametrize(
    "schedules", [30, pytest.param(300, marks=pytest.mark.nightly)]
)
def test_the_solution_survives_kills_busy_tills_and_lost_messages(schedules):
    source = random.Random(13)
    right = solution("13", 1)
    broken = [
        case
        for case in (CHECKS.anything(source) for _ in range(schedules))
        if copied(right, case).wrong
    ]
    assert broken == []
