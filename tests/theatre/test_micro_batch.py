"""Micro-batches with three lamps: the picture of a checkpoint and a sink as they were
found (tests/spark makes one).
"""

import pytest

from minikafka.course.experiments.lesson_19_checkpoints import RECORDED, Seen
from minikafka.theatre.drawing import NARROW, WIDE
from tests.theatre.drawn import assert_drawn_from_json

ONCE = Seen(  # a sink that notes batch ids, killed before Spark's commit
    (
        ("QueryStarted", {"life": 1}),
        ("PlanWritten", {"batch": 0, "records": 79}),
        ("RowsWritten", {"batch": 0, "rows": 79, "whole": True}),
        ("QueryDied", {"life": 1}),
        ("QueryStarted", {"life": 2}),
        ("RowsWritten", {"batch": 0, "rows": 0, "whole": True}),
        ("BatchCommitted", {"batch": 0}),
    )
)
MANY = Seen(
    tuple(
        fact
        for number in range(12)
        for fact in (
            ("PlanWritten", {"batch": number, "records": 1000}),
            *[("RowsWritten", {"batch": number, "rows": 1000, "whole": True})] * 9,
        )
    )
)


def told(pic, kind):
    return [scene["sentence"] for scene in pic.scenes if scene["kind"] == kind]


def batch(scene, number):
    return next(each for each in scene["space"]["batches"] if each["number"] == number)


def rows(scene, number):
    return [each[0] for each in batch(scene, number)["attempts"]]


def test_each_kill_says_which_of_the_three_is_there():
    after, in_the_middle, before = told(RECORDED.play(), "QueryDied")
    assert (
        after
        == "The plug is pulled. Of micro-batch 1 the plan is there, its rows are in the"
        " sink, the commit is missing."
    )
    assert in_the_middle == after  # the rows of the life before are all there
    assert (
        "Of micro-batch 2 the plan is there, nothing of it is in the sink, the commit"
        " is missing." in before
    )


def test_a_plan_without_a_commit_is_lit_when_the_query_starts_again():
    starts = [
        scene for scene in RECORDED.play().scenes if scene["kind"] == "QueryStarted"
    ]
    assert (
        "the checkpoint is empty" in starts[0]["sentence"] and "light" not in starts[0]
    )
    assert [scene["light"] for scene in starts[1:]] == [["plan/1", "commit/1"]] * 2 + [
        ["plan/2", "commit/2"]
    ]


def test_the_lamp_turns_red_at_the_step_at_which_a_row_is_there_twice():
    pic = RECORDED.play()
    red = next(scene for scene in pic.scenes if scene["space"]["too_many"])
    assert red["kind"] == "RowsWritten"
    assert rows(red, 1) == [78, 39]
    assert red["space"]["too_many"] == 39
    for width in (WIDE, NARROW):
        drawings = pic.drawings(width)
        assert "lamp/word" not in drawings[red["step"] - 1].shapes
        assert drawings[red["step"]].shapes["lamp/word"]["text"] == "39 rows too many"
    assert pic.scenes[-1]["space"]["too_many"] == 117


def test_a_sink_that_knows_the_batch_has_not_a_row_more():
    pic = ONCE.play()
    assert (
        told(pic, "RowsWritten")[-1]
        == "The sink has micro-batch 0 already: not a row more."
    )
    troubles = [scene["kind"] for scene in pic.scenes if scene["trouble"]]
    assert pic.scenes[-1]["space"]["too_many"] == 0
    assert troubles == ["QueryDied"]
    drawn = pic.drawings(WIDE)[-1].shapes
    assert drawn["sink/0/1/words"]["text"] == "life 2: known, 0 more"


def test_what_was_done_for_a_micro_batch_has_its_cause_in_what_was_done_before_for_it():
    scenes = RECORDED.play().scenes
    commit = next(
        scene
        for scene in scenes
        if scene["sentence"].startswith("Spark writes commits/1")
    )
    assert scenes[commit["because"]]["kind"] == "RowsWritten"


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_lengths_are_numbers_of_records_and_what_is_done_again_lies_under_the_same(
    width,
):
    drawn = RECORDED.play().drawings(width)[-1].shapes
    plans = [drawn[f"plan/{number}"] for number in range(3)]
    a_record = plans[0]["w"] / 79
    assert [each["w"] / a_record for each in plans] == pytest.approx(
        [79, 78, 43], abs=0.2
    )
    attempts = [drawn[f"sink/1/{number}"] for number in range(3)]
    assert {each["x"] for each in attempts} == {plans[1]["x"]}
    assert [each["w"] / a_record for each in attempts] == pytest.approx(
        [78, 39, 78], abs=0.2
    )
    assert [each["line"] for each in attempts] == ["none", "trouble", "trouble"]
    heights = [each["y"] for each in attempts]
    assert heights == sorted(set(heights))


def test_files_are_there_from_the_step_on_that_writes_them_and_no_kill_takes_them_away():
    pic = RECORDED.play()
    for step, drawing in enumerate(pic.drawings(WIDE)):
        for batch_told in pic.scenes[step]["space"]["batches"]:
            number = batch_told["number"]
            assert f"plan/{number}" in drawing.shapes
            there = f"commit/{number}" in drawing.shapes
            assert there == bool(batch_told["committed"])
    killed = next(scene for scene in pic.scenes if scene["kind"] == "QueryDied")
    drawn = pic.drawings(WIDE)[killed["step"]].shapes
    assert drawn["commit/1/place"]["text"] == "missing"


def test_a_kill_is_a_stroke_down_to_what_the_query_was_about_and_its_cross_stays():
    pic = RECORDED.play()
    deaths = [scene["step"] for scene in pic.scenes if scene["kind"] == "QueryDied"]
    before_commit, among_rows, before_rows = (
        pic.drawings(WIDE)[step].shapes for step in deaths
    )
    assert before_commit["query"]["line"] == "trouble"
    stroke = before_commit["kill/1/stroke"]
    sink = before_commit["sink"]
    assert stroke["y2"] > sink["y"] + sink["h"]
    part = among_rows["sink/1/1"]
    assert among_rows["kill/2/stroke"]["x"] == part["x"] + part["w"]
    assert before_rows["kill/3/stroke"]["y2"] < sink["y"]
    assert "kill/1/stroke" not in among_rows
    for drawn in (before_commit, among_rows, before_rows):
        assert "kill/1/1" in drawn
    end = pic.drawings(WIDE)[-1].shapes
    ended = [end[f"kill/{life}/words"]["text"] for life in (1, 2, 3)]
    assert ended == ["life 1 ends", "life 2 ends", "life 3 ends"]


@pytest.mark.parametrize("seen", [RECORDED, ONCE, MANY, Seen(())])
def test_it_is_drawn_anew_from_its_json_and_fits_a_notebook(seen):
    assert_drawn_from_json(seen.play(), most=430)


def test_the_last_sentence_says_what_came_of_the_kills():
    assert RECORDED.play().scenes[-1]["sentence"] == (
        "The query died 3 times. Micro-batch 1 had a plan and no commit, so it was done"
        " again: 117 rows too many."
    )
    assert ONCE.play().scenes[-1]["sentence"] == (
        "The query died once. Micro-batch 0 had a plan and no commit, so it was done"
        " again: no row is too many."
    )
