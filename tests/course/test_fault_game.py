"""The game's runs: a question in JSON, as a link holds it, and how the run ends."""

import json
from itertools import combinations

import pytest

from minikafka.course.experiments.lesson_09_runs import fared, five_orders
from minikafka.course.publishing import fault_game, game_levels
from minikafka.faults import Crash, Freeze
from minikafka.simulation.fault_map import struck

pytestmark = pytest.mark.slow

TWO = ["freeze~2~5005~1000", "kill~1~5030"]


def ask(what, **question):
    return json.loads(fault_game.answer(json.dumps({"do": what, **question})))


def test_a_link_holds_a_solution_and_its_run_is_the_one_by_hand():
    found = ask("try", settings={"also": TWO})
    plan = [Freeze(2, 5005, 1000), Crash(1, 5030, restart_after_ms=20_000)]
    outcome = fared(five_orders(plan, acks=1))
    assert found["ended"] == ["lost", "−1", str(outcome), True]
    assert (found["plan"], found["lost"]) == (TWO, [1])


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
        " over, and what it doesn’t have is dropped. Two of three brokers were away, and"
        " they are the controllers, too: without a majority nobody could name a leader"
        " until one was back.",
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
        ["kill~2~5000", "kill~1~5050"],
        "1",
        "Nothing lost. Order 4 waited 31 s for a new leader, and is safe.",
        "By the time broker 3 took over, it had orders 0 to 3. Two of three brokers were"
        " away, and they are the controllers, too: without a majority nobody could name"
        " a leader until one was back.",
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
    assert puzzle.lost in (None, tuple(found["lost"]))
    assert puzzle.solution[: len(puzzle.also)] == puzzle.also
    assert len(puzzle.solution) == puzzle.faults
    board = fault_game.Settings(lasts_ms=puzzle.lasts_ms, cuts=puzzle.cuts)
    cells = {
        fault_game.written(struck(fault, at_ms))
        for fault in board.faults
        for at_ms in board.moments
    }
    assert cells.issuperset(puzzle.solution[len(puzzle.also) :])


def test_every_day_of_a_month_has_a_puzzle_of_its_own_and_none_is_a_level():
    puzzles = game_levels.days()
    levels = {
        (each.lasts_ms, each.lost) for each in game_levels.LEVELS if not each.also
    }
    assert len(puzzles) == len(set(puzzles)) == 31
    assert levels.isdisjoint(
        (each.lasts_ms, each.lost) for each in puzzles if not each.also
    )


def test_no_two_levels_share_a_solution():
    """A run loses what it loses: it can't lose two different things."""
    asked = [level.lost for level in game_levels.LEVELS[1:-1]]
    assert len(asked) == len(set(asked))
    first, *others = game_levels.LEVELS[:-1]
    assert {len(level.solution) for level in others}.isdisjoint({first.faults})


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
    settings = {
        "also": puzzle.also,
        "lasts_ms": puzzle.lasts_ms,
        "cuts": puzzle.cuts,
    }
    rows = len(ask("map", settings=settings)["strip"]["faults"])
    ended = {
        ask("try", settings=settings, cell=[row, column])["ended"][0]
        for row in range(rows)
        for column in range(fault_game.COLUMNS)
    }
    assert ended <= {"nothing", "waited"}


@pytest.mark.parametrize(
    ("level", "cells"),
    [
        # the leader stands still until it is replaced, with orders on their way to it
        (1, [f"freeze~1~{ms}~12000" for ms in range(5010, 5060, 5)]),
        # the shop has heard of order 3, and not of order 4
        (2, ["kill~1~5050", "kill~1~5055"]),
    ],
)
@pytest.mark.nightly
def test_the_only_moments_that_solve_a_level_of_one_fault(level, cells):
    puzzle = game_levels.LEVELS[level - 1]
    settings = {"also": puzzle.also, "lasts_ms": puzzle.lasts_ms}
    found = []
    for row in range(len(fault_game.Settings().faults)):
        for column in range(fault_game.COLUMNS):
            ran = ask("try", settings=settings, cell=[row, column])
            asked = puzzle.lost or tuple(ran["lost"])
            if ran["ended"][0] == "lost" and tuple(ran["lost"]) == asked:
                found.append(ran["plan"][-1])
    assert found == cells


LOSE_POWER = [Crash(node, 5040, restart_after_ms=100, power=True) for node in (1, 2, 3)]


def test_with_acks_all_an_order_is_lost_only_when_all_that_have_it_lose_their_power():
    """What the last level says: nothing is written to disk by then (flush.ms)."""
    assert fared(five_orders(LOSE_POWER, acks="all")).kind == "lost"
    for two in combinations(LOSE_POWER, 2):
        assert fared(five_orders(two, acks="all")).kind == "waited"


def test_the_lines_above_the_board_are_the_run_without_a_cells_fault():
    """An order is “done” before broker 2 has it: acks=1 waits for nobody."""
    strip = ask("map")["strip"]
    lines = {
        name: [(strip["moments"][int(column)], order) for column, order in marks]
        for name, marks in strip["tracks"].items()
    }
    assert list(lines) == [
        "on broker 1",
        "shop hears “done”",
        "on broker 2",
        "on broker 3",
    ]
    assert [order for _, order in lines["on broker 1"]] == list("01234")
    assert lines["shop hears “done”"][3] == ("5.045 s", "3")
    assert lines["on broker 2"][3] == ("5.050 s", "3")


def test_a_broker_that_is_cut_off_has_no_order_above_the_board():
    strip = ask("map", settings={"also": ["cut~1-2~5000~1000"]})["strip"]
    assert strip["tracks"]["on broker 2"] == []
    assert len(strip["tracks"]["on broker 3"]) == 5


def test_orders_that_come_together_have_one_mark():
    strip = ask("map", settings={"also": ["freeze~2~5020~20"]})["strip"]
    numbers = [order for _, order in strip["tracks"]["on broker 2"]]
    assert numbers == ["0", "1–2", "3", "4"]


def test_a_board_of_cuts_has_one_between_any_two_brokers():
    strip = ask("map", settings={"cuts": True})["strip"]
    ends = ["broker 1 - broker 2", "broker 1 - broker 3", "broker 2 - broker 3"]
    assert strip["faults"] == [f"{each} cut for 12 s" for each in ends]
