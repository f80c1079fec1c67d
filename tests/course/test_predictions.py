"""What a prediction says: its options, and once the run has decided, why each of two
options was right or wrong.
"""

import pytest

from minikafka import Cluster
from minikafka.course import predictions, progress
from minikafka.course.predictions import predict

WHY = {
    "once": "The work was done before the kill.",
    "twice": "Nothing was committed, so `B` did it again.",
}


@pytest.fixture(autouse=True)
def a_kernel_that_has_just_started(monkeypatch):
    monkeypatch.setattr(predictions, "_first_runs", {})
    monkeypatch.setattr(predictions, "_first_answers", {})


def run(orders):
    cluster = Cluster(seed=1)
    cluster.create_topic("orders", partitions=1)
    shop = cluster.producer(client_id="shop")
    for number in range(orders):
        shop.send("orders", value=str(number))
        cluster.run(seconds=1)
    return cluster


def appended(trace):
    return sum(event.kind == "RecordsAppended" for event in trace)


def played(question, orders, answer=lambda trace: min(appended(trace), 2)):
    return run(orders).play(
        question,
        "log",
        surprise=lambda event: event.kind == "RecordsAppended",
        answer=answer,
    )


def test_it_shows_its_options_and_marks_mine():
    assert str(predict("How many?", ["one", "two"])).splitlines()[:3] == [
        "Predict. How many?",
        "    1  one",
        "    2  two",
    ]
    assert "  > 2  two" in str(predict("How many?", ["one", "two"], mine=2))


@pytest.mark.parametrize("mine", [0, 3, "2", True, 1.5])
def test_one_that_is_no_option_is_refused_in_plain_words(mine):
    with pytest.raises(
        ValueError, match=f"mine is {mine!r}, and the options have the numbers 1 to 2"
    ):
        predict("How many?", ["one", "two"], mine=mine)


def test_options_may_come_with_the_sentence_that_is_true_of_each():
    assert predict("?", WHY) == predict("?", list(WHY.items()))
    assert (
        predict("?", WHY).options
        == predict("?", list(WHY)).options
        == ("once", "twice")
    )
    assert predict("?", list(WHY)).because == ()
    with pytest.raises(ValueError, match="'twice' has none"):
        predict("?", [("once", "Because."), "twice"])


@pytest.mark.parametrize(
    ("mine", "said"),
    [
        (
            2,
            (
                "You said (2) twice, and so it was. Nothing was committed, so B did it"
                " again."
            ),
        ),
        (
            1,
            (
                "You said (1) once. The work was done before the kill.\n"
                "It was (2) twice. Nothing was committed, so B did it again."
            ),
        ),
    ],
)
def test_the_verdict_says_why_ones_own_option_is_wrong_and_why_the_right_one_is_right(
    mine, said
):
    assert str(predict("?", WHY, mine).settle(2)) == said
    assert played(predict("?!", WHY, mine), orders=3).prediction.verdict == said


def test_without_a_prediction_the_answer_is_folded_and_not_in_the_text():
    said = predict("?", WHY).settle(2)
    assert said == predictions.NOT_PREDICTED and "twice" not in said
    assert "<details" in said.cards and "It was (2) twice." in said.cards


def test_without_sentences_the_verdict_is_one_line():
    assert (
        str(predict("?", list(WHY), 1).settle(2))
        == "You said (1) once. It was (2) twice."
    )
    assert (
        str(predict("?", list(WHY), 2).settle(2))
        == "You said (2) twice, and so it was."
    )


def test_a_changed_experiment_is_no_verdict_on_a_prediction_that_was_written_for_the_first():
    q = predict("?", WHY, mine=2)
    other = (
        "You predicted (2) twice for the first run. This run is another experiment:"
        " here it was (2) twice."
    )
    assert "and so it was" in repr(played(q, orders=3))
    assert other in repr(played(q, orders=4))  # the same answer, by chance
    # the first one, run again
    assert "and so it was" in repr(played(predict("?", WHY, mine=2), orders=3))


def test_a_changed_experiment_that_no_picture_settles_is_told_by_its_answer():
    q = predict("?", WHY, mine=2)
    assert "and so it was" in q.settle(2)
    assert q.settle(1).endswith(
        "for the first run. This run is another experiment: here it was (1) once."
    )


def test_a_new_number_is_a_new_prediction():
    played(predict("?", WHY, mine=2), orders=3)
    assert "You said (1) once, and so it was." in repr(
        played(predict("?", WHY, mine=1), orders=1)
    )


def test_the_sentences_on_the_options_are_about_the_first_run_and_its_answer():
    in_the_picture, settled = predict("?", WHY), predict("??", WHY, mine=2)
    assert "did it again" in played(in_the_picture, orders=3).prediction.verdict
    changed = played(predict("?", WHY, mine=1), orders=1).prediction
    assert changed.verdict == "You said (1) once, and so it was."
    assert "did it again" in settled.settle(2)
    assert (
        str(predict("??", WHY, mine=1).settle(1)) == "You said (1) once, and so it was."
    )


def test_the_verdict_waits_until_the_run_gives_the_answer():
    picture = played(
        predict("?", WHY),
        orders=4,
        answer=lambda trace: (None, 1, 2, 1, 2)[appended(trace)],
    )
    decided = picture.scenes[picture.prediction.decided]
    assert [scene["kind"] for scene in picture.scenes[: decided["step"] + 1]].count(
        "RecordsAppended"
    ) == 4
    assert (
        played(predict("?", WHY), orders=4, answer=2).prediction.decided
        == picture.prediction.stop + 1
    )


def test_an_answer_that_needs_the_whole_trace_is_decided_at_its_end():
    def last(trace):
        return [event for event in trace if event.kind == "RecordsAppended"][3].detail[
            "base_offset"
        ] - 1

    picture = played(predict("?", WHY), orders=4, answer=last)
    assert picture.prediction.answer == 2
    assert picture.scenes[picture.prediction.decided]["kind"] == "RecordsAppended"
    assert picture.prediction.decided == max(
        scene["step"] for scene in picture.scenes if scene["kind"] == "RecordsAppended"
    )


def test_what_is_chosen_in_the_picture_is_ones_own_prediction(monkeypatch):
    settled = []
    monkeypatch.setattr(
        predictions.progress, "predicted", lambda *words: settled.append(words)
    )
    q = predict("?", WHY)
    asked = played(q, orders=3).prediction
    assert asked.mine is None and settled == []
    q.say(2, asked.run)
    assert q.mine == 2 and settled == [("?", 2)]
    assert "and so it was" in repr(played(q, orders=3))
    assert "This run is another experiment" in repr(played(q, orders=4))
    assert "This run is another experiment" in q.settle(2)


def test_a_picture_that_asks_in_a_notebook_hears_what_is_chosen(monkeypatch):
    pytest.importorskip("ipywidgets")
    monkeypatch.delenv("MINIKAFKA_PICTURES", raising=False)
    shown = []
    monkeypatch.setattr(
        "IPython.display.display", lambda *given, **_: shown.append(given)
    )
    q = predict("?", WHY)
    played(q, orders=3)._repr_mimebundle_()
    ((bundle,),) = shown
    model = bundle["application/vnd.jupyter.widget-view+json"]["model_id"]
    field = pytest.importorskip("ipywidgets").widgets.widget._instances[model]
    assert bundle["text/plain"] == "" and "minikafka-said" in field._dom_classes
    field.value = '{"option": 1, "turn": 7}'
    assert q.mine == 1
    played(q, orders=3)._repr_mimebundle_()
    assert len(shown) == 1  # it asks no more


def test_what_is_dragged_and_is_not_right_is_no_option(monkeypatch):
    """Though the right option may be the nearest one."""
    chosen = []
    monkeypatch.setattr(
        progress, "predicted", lambda question, option: chosen.append(option)
    )
    q = predict("?", WHY)
    q.say("18.6 s", "1")
    assert chosen == [progress.NO_OPTION]
    assert "You say 18.6 s." in str(q)
    assert q.settle(1).startswith("You said 18.6 s.")
