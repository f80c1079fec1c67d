"""Micro-batches with three lamps: the picture of a checkpoint and a sink as they were
found (tests/spark makes one).
"""

import json

import pytest

from minikafka.course.experiments.lesson_19_checkpoints import RECORDED, Seen
from minikafka.theatre.drawing import NARROW, WIDE
from minikafka.theatre.picture import Picture

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
    red = next(scene for scene in pic.scenes if scene["trouble"])
    assert (
        red["kind"] == "RowsWritten"
        and batch(red, 1)["rows"] == [78, 39]
        and red["space"]["too_many"] == 39
    )
    for width in (WIDE, NARROW):
        drawings = pic.drawings(width)
        assert (
            drawings[red["step"] - 1].shapes["lamp/word"]["text"] == "no row too many"
        )
        assert drawings[red["step"]].shapes["lamp/word"]["text"] == "39 rows too many"
    assert pic.scenes[-1]["space"]["too_many"] == 117


def test_a_sink_that_knows_the_batch_has_not_a_row_more():
    pic = ONCE.play()
    assert (
        told(pic, "RowsWritten")[-1]
        == "The sink has micro-batch 0 already: not a row more."
    )
    assert pic.scenes[-1]["space"]["too_many"] == 0 and not any(
        scene["trouble"] for scene in pic.scenes
    )


def test_what_was_done_for_a_micro_batch_has_its_cause_in_what_was_done_before_for_it():
    scenes = RECORDED.play().scenes
    commit = next(
        scene
        for scene in scenes
        if scene["sentence"].startswith("Spark writes commits/1")
    )
    assert scenes[commit["because"]]["kind"] == "RowsWritten"


@pytest.mark.parametrize("seen", [RECORDED, ONCE, MANY, Seen(())])
def test_it_is_drawn_anew_from_its_json_and_fits_a_notebook(seen):
    pic = seen.play()
    cast, scenes = json.loads(json.dumps([pic.cast, pic.scenes]))
    again = Picture(type(pic.play), cast, scenes)
    for width in (WIDE, NARROW):
        for mine, other in zip(pic.drawings(width), again.drawings(width), strict=True):
            assert mine.shapes == other.shapes and mine.bottom <= 430
