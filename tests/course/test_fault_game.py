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
    assert found["ended"] == ["lost", "l", str(outcome), True]
    assert (found["plan"], found["window_ms"]) == (TWO, 1000)


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
