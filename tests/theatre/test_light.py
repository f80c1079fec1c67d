"""What stands out and what is dimmed: what a step is about, with the words that say what
it is; what a question names; and at the end what proves its answer.
"""

import pytest

from minikafka.prediction import Prediction
from minikafka.theatre import picture
from minikafka.theatre.drawing import WIDE, Drawing
from tests.theatre import replicas
from tests.theatre.test_rebalance_rows import killed


def test_the_axis_the_rows_name_and_a_numbers_heading_are_never_dimmed():
    drawing = killed().drawings(WIDE)[-1]
    assert {"time/P0/unread", "time/P0/name", "time/unread/words"} <= drawing.lit
    ticks = {key for key in drawing.shapes if key.startswith("time/axis/")}
    assert ticks and ticks <= drawing.lit
    assert not {"time/waiting", "time/P1/name", "coordinator"} & drawing.lit


def test_what_an_open_question_names_is_not_dimmed():
    def lit(question):
        drawing = Drawing(WIDE)
        for name in ("lonely", "web"):
            drawing.rect(name, 0, 0, 9, 9)
            drawing.text(f"{name}/name", 0, 9, name)
        drawing.rect("log", 0, 0, 9, 9)
        drawing.light(["log"], question)
        return drawing.lit

    assert lit("What does lonely hear?") == {"log", "lonely", "lonely/name"}
    assert lit("Who wins?") == {"log"}


@pytest.mark.parametrize(
    ("broken", "ends", "shown"),
    [(False, False, False), (True, False, True), (False, True, True)],
)
def test_a_lamp_is_lit_once_its_condition_is_broken_or_at_the_end(broken, ends, shown):
    drawing = Drawing(WIDE)
    drawing.ends = ends
    assert drawing.lamp("lamp", 0, 0, "each once", broken) > 0
    assert bool(drawing.shapes) == shown


def test_the_end_is_in_the_light_of_the_answer_and_not_of_what_came_later():
    pic = picture("quorum", replicas.stale())
    last = len(pic.scenes) - 1
    pic.scenes[last].pop("light", None)
    first, second, *_ = [scene for scene in pic.scenes if "light" in scene]
    asked = Prediction("Who?", ["1", "2"], answer=1)
    for scene in (first, second):
        asked.stop, asked.decided = scene["step"] - 1, scene["step"]
        pic.prediction = asked
        assert pic._light(last) == scene["light"]
    pic.prediction = None
    assert pic._light(last) == ()


def test_what_is_outlined_is_in_the_order_in_which_the_step_names_it():
    """The player brings the first of them in sight, where there is no room for all."""
    drawing = Drawing(WIDE)
    for key in ("a", "b", "c"):
        drawing.rect(key, 0, 0, 9, 9)
    drawing.light(["c", "a"])
    assert drawing.outlined == ["c", "a"]
