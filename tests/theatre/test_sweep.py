"""Small pictures of many runs: one is drawn when it is told, and what went wrong stands
in its column.
"""

import json

import pytest

from minikafka.course.experiments.lesson_04_runs import killed_at, sweep
from minikafka.theatre import picture
from minikafka.theatre.drawing import LAYOUTS, NARROW, WIDE
from minikafka.theatre.picture import Picture
from minikafka.trace import Event


def commit_first(consumer, payments):
    for record in consumer:
        consumer.commit()
        payments.add(record, record.value)


@pytest.fixture(scope="module")
def pic():
    return sweep(
        [killed_at(commit_first, call) for call in range(1, 7)],
        ["poll", "commit", "add"],
    )


def test_who_commits_first_loses_an_order_when_it_is_killed_between_commit_and_effect(
    pic,
):
    sentences = [scene["sentence"] for scene in pic.scenes]
    assert (
        sentences[1]
        == "Killed just as it makes call 2 (commit), and started again: each order is"
        " there once."
    )
    assert (
        sentences[2]
        == "Killed just as it makes call 3 (add), and started again: order 0 is"
        " missing."
    )
    assert [scene["trouble"] for scene in pic.scenes] == [False, False, True] * 2
    assert pic.summary(pic.scenes[-1]) == "2 of 6 runs went wrong"


def test_the_end_says_what_all_runs_say_and_counts_them_below_each_call(pic):
    assert pic.scenes[-1]["sentence"] == (
        "If it's killed between commit and add, one order is missing in 2 of 2 runs; if"
        " it's killed just as it calls poll or commit, nothing goes wrong."
    )
    before, last = [drawing.shapes for drawing in pic.drawings(WIDE)[-2:]]
    assert [last[f"sum/{call}"]["text"] for call in range(3)] == [
        "0 of 2",
        "0 of 2",
        "2 of 2",
    ]
    assert "sum/0" not in before
    assert pic.scenes[-1]["light"] == ["sum/2", "run/3", "run/6"]


@pytest.mark.parametrize("width", LAYOUTS)
def test_how_often_something_is_there_is_never_cut(pic, width):
    last = pic.drawings(width)[-1].shapes
    assert last["run/3/0/word"]["text"] == "–"
    assert last["call"]["text"] == "calling"


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_runs_killed_at_the_same_call_stand_below_each_other_and_none_before_its_time(
    pic, width
):
    third = pic.drawings(width)[2].shapes
    assert "run/3" in third and "run/4" not in third and "place/5" in third
    last = pic.drawings(width)[-1].shapes
    wrong = [
        key
        for key, shape in last.items()
        if shape.get("line") == "trouble" and shape["kind"] == "rect"
    ]
    assert wrong == ["run/3", "run/3/0", "run/6", "run/6/1"]
    assert (
        last["run/3"]["x"] == last["run/6"]["x"]
        and last["run/3"]["y"] < last["run/6"]["y"]
    )


def test_drawn_again_from_its_json_it_is_the_same(pic):
    again = Picture(type(pic.play), *json.loads(json.dumps([pic.cast, pic.scenes])))
    assert again.svg() == pic.svg() and again.digest == pic.digest


def test_of_several_sinks_each_has_a_row_and_a_part_that_is_there_again_is_told():
    runs = [
        ("append", "before its rows", [1, 1]),
        ("append", "among its rows", [1, 1.5]),
        ("by key", "before its rows", [1, 1]),
        ("by key", "among its rows", [1, 1]),
    ]
    events = []
    for number, (row, call, written) in enumerate(runs, 1):
        found = {"run": number, "call": call, "row": row, "written": written}
        identity = ("sweep", number)
        events.append(Event(identity, number, "Spark", "RunEnded", None, found))
    sinks = picture("sweep", events, things="micro-batch")
    assert (
        sinks.scenes[1]["sentence"]
        == "Append: killed among its rows, and started again: micro-batch 1 is there"
        " 1.5 times."
    )
    assert sinks.scenes[1]["time"] == "run 2"
    drawn = sinks.drawings(WIDE)[-1].shapes
    assert drawn["run/2/1/word"]["text"] == "1.5×"
    assert [drawn[f"round/{row}"]["text"] for row in range(2)] == ["append", "by key"]
    assert drawn["run/1"]["x"] == drawn["run/3"]["x"]
    assert sinks.summary(sinks.scenes[-1]) == "1 of 4 runs went wrong"
    assert [drawn[f"sum/{row}"]["text"] for row in range(2)] == ["1 of 2", "0 of 2"]
    assert sinks.scenes[-1]["sentence"] == (
        "Append goes wrong in 1 of 2 runs: killed among its rows; by key goes wrong in"
        " 0 of 2 runs."
    )
