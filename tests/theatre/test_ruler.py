"""An answer that is dragged in the picture: what the page knows of it."""

import pytest

from minikafka.prediction import Dragged, Stretch
from minikafka.theatre.drawing import LAYOUTS, PHONE
from tests.theatre.dragged import EVERY, asked, fork, rebalance, watermark
from tests.theatre.traces import alice

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("make", EVERY)
def test_each_place_has_its_words_and_those_near_the_truth_are_right(make):
    data = make().data()
    told = data["prediction"]["drag"]
    assert told["was"] in told["words"]
    first, last = told["right"]
    assert 0 < first <= told["words"].index(told["was"]) <= last
    assert last < len(told["words"]) - 1
    assert told["because"] == make().prediction.because[make().prediction.answer - 1]
    assert [layout["width"] for layout in data["layouts"]] == [*LAYOUTS]
    for layout in data["layouts"]:
        ruler = layout["ruler"]
        assert 0 <= ruler["left"] < ruler["right"] <= layout["width"]


def test_the_line_does_not_run_through_the_words_over_the_logs():
    """On a phone records are letters, and these words say whose."""
    pic = fork()
    for width in LAYOUTS:
        drawing = pic.drawings(width)[pic.prediction.stop]
        edge = pic.play.ruler(drawing, pic.scenes[pic.prediction.stop], "").edge
        words = [
            each for key, each in drawing.shapes.items() if key.startswith("names/")
        ]
        assert all(each["y"] < edge for each in words), width
        assert words or width > PHONE


def test_right_is_what_is_within_a_quarter_of_the_truth():
    """8.0 s, whatever the nearest option is: 18.6 s is not quite that."""
    told = rebalance().data()["prediction"]["drag"]
    first, last = told["right"]
    assert (told["words"][first], told["words"][last]) == ("6.0 s", "9.8 s")
    at = fork().data()["prediction"]["drag"]  # offsets: nothing is nearly 1
    assert at["was"] == "offset 1" and len({*at["right"]}) == 1


def test_a_length_begins_where_the_true_one_does_and_a_place_at_the_axis_begin():
    pic = rebalance()
    told = pic.data()["prediction"]["drag"]
    begin, _ = pic.prediction.truth
    assert told["begin"] == told["truth"].begin == begin
    assert (told["words"][0], told["was"]) == ("0.0 s", "8.0 s")
    assert fork().data()["prediction"]["drag"]["words"][:2] == ["offset 0", "offset 1"]
    assert watermark().data()["prediction"]["drag"]["was"] == "08:27"


def test_the_verdict_waits_until_the_truth_is_whole():
    pic = rebalance()
    _, end = pic.prediction.truth
    decided = pic.scenes[pic.prediction.decided]
    assert decided["at"] >= end > pic.scenes[decided["step"] - 1]["at"] - 1


def test_a_picture_without_such_an_axis_has_its_options_and_nothing_to_drag():
    polls = Dragged(lambda events: len(events), [0, 1000])
    pic = asked("log", alice(), polls, None, ["few", "many"])
    assert pic.prediction.answer_words and "drag" not in pic.data()["prediction"]
    assert "drag" not in rebalance(on="P9").data()["prediction"]
    assert "[role=slider]" not in pic.page() and "[role=slider]" in rebalance().page()


def test_each_option_has_its_place():
    with pytest.raises(ValueError, match="there are 3 options, and 2 places"):
        rebalance(places=(0, 3000))


def test_a_length_has_the_option_that_is_nearest_and_what_is_not_there_has_none():
    length = Dragged(lambda found: found, [0, 3000, 8000])
    assert [length(Stretch(10, 10 + ms)) for ms in (0, 1400, 1600, 60_000)] == [
        1,
        1,
        2,
        3,
    ]
    assert length(None) is None and length(5600) == 3
