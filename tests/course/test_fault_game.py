"""The game's runs: a question in JSON, as a link holds it, and how the run ends."""

import json

import pytest

from minikafka.course.experiments.lesson_09_runs import fared, five_orders
from minikafka.course.publishing import fault_game, game_levels
from minikafka.faults import Crash, Freeze

pytestmark = pytest.mark.slow

TWO = ["freeze~2~5005~1000", "kill~1~5030"]


def ask(what, **question):
    return json.loads(fault_game.answer(json.dumps({"do": what, **question})))


def test_a_link_holds_a_solution_and_its_run_is_the_one_by_hand():
    found = ask("try", settings={"also": TWO})
    plan = [Freeze(2, 5005, 1000), Crash(1, 5030, restart_after_ms=20_000)]
    outcome = fared(five_orders(plan, acks=1))
    assert found["ended"] == ["lost", "1", str(outcome), True]
    assert (found["plan"], found["lost"]) == (TWO, 1)


def test_with_acks_all_the_same_faults_lose_nothing():
    found = ask("try", settings={"acks": "all", "also": TWO})
    assert found["ended"][0] == "waited"


def test_a_cell_is_the_run_of_its_plan_with_the_pinned_faults_before_it():
    settings = {"also": TWO[:1], "lasts_ms": 1000}
    cell = ask("try", settings=settings, cell=[0, 10], draws=True)
    assert cell["plan"] == [TWO[0], "kill~1~5030"]
    assert cell["ended"] == ask("try", settings={"also": TWO})["ended"]
    assert [flag["words"] for flag in cell["play"]["flags"]] == [
        "broker 2 freezes for 1 s",
        "broker 1 is killed",
    ]
    assert ask("pin", settings=settings, cell=[0, 10]) == {"fault": "kill~1~5030"}


def test_its_code_runs_the_same(monkeypatch, capsys):
    found = ask("try", settings={"also": TWO})
    names = {}
    exec("\n".join(found["code"][:-1]), names)
    assert capsys.readouterr().out.strip() == found["ended"][2]


def test_a_map_that_nobody_has_tried_is_grey_and_its_search_goes_from_coarse_to_fine():
    grey = ask("map", settings={"also": TWO})["strip"]
    assert {cell for row in grey["cells"] for cell in row} == {None}
    assert grey["also"] == [
        "broker 2 freezes for 1 s at 5.005 s",
        "broker 1 is killed at 5.030 s",
    ]
    first = ask("next", known=[])["cells"]
    assert first[:4] == [[0, 0], [0, 8], [0, 16], [0, 19]]
    known = [[*cell, "nothing", "nothing"] for cell in first]
    assert ask("next", known=known)["cells"] == []
    known[1][2:] = ["lost", "lost order 1"]
    assert ask("next", known=known)["cells"] == [[0, 4], [0, 12]]


@pytest.mark.parametrize("word", ["freeze~2~5005~20", "kill~3~4990", "cut~1-2~5000~5"])
def test_a_fault_is_written_as_it_was_read(word):
    assert fault_game.written(fault_game.read(word)) == word


@pytest.mark.parametrize(
    "settings",
    [
        {"also": ["freeze~9~5005~1000"]},
        {"also": ["freeze~1~5005~999"]},
        {"also": ["kill~1~99"]},
        {"also": ["nonsense"]},
        {"also": ["kill~1~5000"] * 9},
        {"acks": "0"},
        {"step_ms": 0},
        {"more": 1},
    ],
)
def test_a_link_that_makes_no_sense_is_refused(settings):
    assert set(ask("try", settings=settings)) == {"error"}


def test_the_page_begins_with_a_run_in_which_nothing_goes_wrong():
    shown = fault_game.first_picture()
    assert "nothing acknowledged lost" in shown.summary(shown.scenes[-1])
    assert "broker 1 is killed" in shown.page()


WHYS = [
    (
        ["freeze~1~5030~12000"],
        "1",
        "Orders 2 to 4 were confirmed, and are gone.",
        "Broker 1 woke after broker 2 had taken over: it accepted orders 2 to 4, said"
        " “done”, and had to drop them.",
    ),
    (
        TWO,
        "1",
        "Order 1 was confirmed, and is gone.",
        "Broker 1 said “done” before broker 2 had order 1. Then broker 2 took over, and"
        " what it doesn’t have is dropped.",
    ),
    (
        ["kill~2~5000", "freeze~3~5000~100", "kill~1~5050"],
        "1",
        "Orders 1 to 3 were confirmed, and are gone.",
        "Broker 1 said “done” before broker 3 had orders 1 to 3. Then broker 3 took"
        " over, and what it doesn’t have is dropped.",
    ),
    (
        ["freeze~2~5020~20", "kill~1~5040"],
        "1",
        "Orders 1 and 2 were confirmed, and are gone.",
        "Broker 1 said “done” before broker 2 had orders 1 and 2. Then broker 2 took"
        " over, and what it doesn’t have is dropped.",
    ),
    (
        [],
        "1",
        "No harm done: every order was confirmed, and is still there.",
        "Broker 1 led all the time, and kept every order.",
    ),
    (
        ["kill~1~5030"],
        "1",
        "Nothing lost. Orders 2 to 4 waited 11 s for a new leader, and are safe.",
        "By the time broker 2 took over, it had orders 0 and 1.",
    ),
    (
        ["kill~1~4990"],
        "1",
        "Nothing lost. Orders 0 to 4 waited 11 s for a new leader, and are safe.",
        "Nothing had been confirmed when broker 2 took over: the shop sent its orders"
        " again.",
    ),
    (
        ["freeze~1~5030~1000"],
        "1",
        "Nothing lost. Orders 2 to 4 waited 1 s for broker 1, and are safe.",
        "Broker 1 led again before anybody had replaced it.",
    ),
    (
        ["kill~1~5040"],
        "all",
        "Nothing lost. Orders 2 to 4 waited 13 s for a new leader, and are safe.",
        "Broker 2 took over, and already had orders 0 and 1 when the shop was told.",
    ),
]


@pytest.mark.parametrize(("faults", "acks", "said", "why"), WHYS)
def test_why_a_run_ended_so_is_read_off_its_trace(faults, acks, said, why):
    found = ask("try", settings={"acks": acks, "also": faults})
    assert (found["said"], found["why"]) == (said, why)


def test_the_replay_of_a_lost_order_begins_where_a_log_drops_it():
    play = ask("try", settings={"also": TWO}, draws=True)["play"]
    steps = [step["sentence"] for step in play["steps"] if "sentence" in step]
    assert "truncates its log" in play["steps"][play["begin"]]["sentence"]
    assert sum("truncates its log" in sentence for sentence in steps) == 2


def test_a_new_map_shows_the_end_of_the_run_that_has_only_the_faults_of_every_run():
    found = ask("map", settings={"also": TWO[:1]}, given=1, draws=True)
    assert found["strip"]["given"] == 1
    assert found["begin"] == len(found["steps"]) - 1
    assert [flag["words"] for flag in found["flags"]] == ["broker 2 freezes for 1 s"]


@pytest.mark.parametrize(
    "puzzle",
    [*game_levels.LEVELS[:-1], *game_levels.days()],
    ids=lambda each: each.goal,
)
def test_a_puzzle_has_a_solution(puzzle):
    found = ask("try", settings={"acks": puzzle.acks, "also": puzzle.solution})
    assert found["ended"][0] == "lost"
    assert puzzle.lost in (None, found["lost"])
    assert puzzle.solution[: len(puzzle.also)] == puzzle.also
    assert len(puzzle.solution) == puzzle.faults
    assert puzzle.lasts_ms in fault_game.LASTS_MS
    last = puzzle.solution[-1].split("~")
    first_ms = fault_game.Settings().moments[0]
    assert (int(last[2]) - first_ms) % fault_game.COARSE_MS == 0  # a cell of the map


def test_every_day_of_a_month_has_a_puzzle_of_its_own():
    puzzles = game_levels.days()
    assert len(puzzles) == 31 and len(set(puzzles)) == 31


@pytest.mark.parametrize("puzzle", game_levels.LEVELS[:-1], ids=lambda each: each.goal)
def test_what_solves_the_others_loses_nothing_in_the_last_level(puzzle):
    last = game_levels.LEVELS[-1]
    found = ask("try", settings={"acks": last.acks, "also": puzzle.solution})
    assert found["ended"][0] != "lost"


@pytest.mark.nightly
@pytest.mark.parametrize(
    "puzzle",
    [each for each in game_levels.LEVELS[:-1] if each.faults > len(each.also) + 1],
    ids=lambda each: each.goal,
)
def test_a_puzzle_is_not_solved_by_fewer_faults_than_it_allows(puzzle):
    settings = {"also": puzzle.also, "lasts_ms": puzzle.lasts_ms}
    rows = len(fault_game.Settings().faults)
    ended = {
        ask("try", settings=settings, cell=[row, column])["ended"][0]
        for row in range(rows)
        for column in range(fault_game.COLUMNS)
    }
    assert ended == {"nothing", "waited"}


def test_what_solves_the_third_puzzle_does_not_solve_the_fourth():
    fourth = game_levels.LEVELS[3]
    for first in ("freeze~2~5000~100", "cut~1-2~5000~100"):
        for ms in (5030, 5050, 5060):
            plan = [*fourth.also, first, f"kill~1~{ms}"]
            assert ask("try", settings={"also": plan})["ended"][0] != "lost"
