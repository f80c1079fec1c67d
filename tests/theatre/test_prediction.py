"""Predict first: where the picture stops, and what it says afterwards."""

from types import SimpleNamespace

import pytest

from minikafka.theatre import picture
from minikafka.theatre.drawing import WIDE
from tests.theatre import groups
from tests.theatre.traces import alice, retention

OPTIONS = ["`created`, `paid`", "`paid`, `created`", "it depends"]


def asked(
    mine=None,
    answer=2,
    surprise=lambda event: event.kind == "RecordsPolled",
    options=OPTIONS,
):
    question = {"question": "A reader sees...", "options": options, "mine": mine}
    return picture(
        "log", alice(), prediction=question, surprise=surprise, answer=answer
    )


def test_it_stops_at_the_last_step_before_the_first_surprise():
    pic = asked()
    stop = pic.prediction.stop
    assert pic.scenes[stop + 1]["kind"] == "RecordsPolled"
    assert not [
        scene for scene in pic.scenes[: stop + 1] if scene["kind"] == "RecordsPolled"
    ]


def test_while_nothing_is_predicted_the_text_asks_and_tells_nothing():
    text = repr(asked())
    assert (
        "(2) paid, created" in text
        and "it was" not in text.lower()
        and "reads" not in text
    )


@pytest.mark.parametrize("mine", [1, "`created`, `paid`", "created, paid"])
def test_mine_is_an_options_number_from_one_or_its_text(mine):
    assert (
        asked(mine).prediction.verdict
        == "You said (1) created, paid. It was (2) paid, created."
    )


def test_a_right_prediction_is_said_to_be_right():
    assert asked(2).prediction.verdict == "You said (2) paid, created, and so it was."
    assert "and so it was" in repr(asked(2))


def test_an_answer_that_is_no_option_is_said_as_it_is():
    assert (
        asked("2", answer=5, options=["0", "1", "2"]).prediction.verdict
        == "You said (3) 2. It was 5."
    )


def test_the_rule_under_the_picture_waits_for_the_surprise():
    def feet(pic):
        return [bool(pic._step(scene)["foot"]) for scene in pic.scenes]

    stop = asked(mine=1).prediction.stop
    assert (
        feet(asked(mine=1))
        == feet(asked())
        == [step > stop for step in range(len(asked().scenes))]
    )
    assert all(feet(picture("log", alice())))


def test_what_the_marks_mean_is_said_while_the_question_is_open():
    pic = asked()
    pic.play.legend = "Outlined: open."
    feet = [pic._step(scene)["foot"] for scene in pic.scenes]
    stop = pic.prediction.stop
    assert set(feet[: stop + 1]) == {"Outlined: open."}
    assert set(feet[stop + 1 :]) == {f"Outlined: open. {pic.play.rule}"}


def test_without_a_surprise_it_asks_at_the_start():
    assert asked(surprise=None).prediction.stop == 0
    assert asked(surprise=lambda event: False).prediction.stop == 0


def test_a_lessons_own_prediction_will_do():
    own = SimpleNamespace(question="?", options=["a", "b"], mine=2)
    assert (
        picture("log", alice(), prediction=own, answer=1).prediction.verdict
        == "You said (2) b. It was (1) a."
    )


def test_beside_a_second_trace_the_answer_is_that_of_the_first_and_waits_until_it_is_seen():
    def rebalances(trace):
        return sum(event.kind == "RebalanceStarted" for event in trace)

    trace = groups.classic("cooperative-sticky")
    question = {"question": "How many rebalances?", "options": ["0", "1"], "mine": 1}
    pic = picture(
        "rebalance",
        trace,
        beside=groups.classic("range"),
        prediction=question,
        answer=rebalances,
    )
    last = max(event.at for event in trace if event.kind == "RebalanceStarted")
    assert pic.prediction.verdict.endswith(f"It was {rebalances(trace)}.")
    assert pic.scenes[pic.prediction.decided]["at"] >= last


def test_a_picture_that_asked_closes_in_the_light_of_its_surprise():
    asked = {"question": "Twice?", "options": ["no", "yes"], "answer": "yes"}
    without, with_one = (
        picture("log", retention(), prediction=each) for each in (None, asked)
    )
    lit = [scene["step"] for scene in without.scenes if "light" in scene]
    assert lit and lit[-1] < len(without.scenes) - 1
    assert not without.drawings(WIDE)[-1].lit
    assert with_one.drawings(WIDE)[-1].lit
    assert with_one.digest == without.digest
