"""An open transaction as a gate: what waits behind it, when it opens, and what two
readers are handed.
"""

import pytest

from minikafka.course.experiments.lesson_13_held import handed_at_once, held_back
from minikafka.prediction import Prediction
from minikafka.theatre import picture
from minikafka.theatre.drawing import (
    NARROW,
    PHONE,
    WIDE,
)
from tests.theatre import transactions
from tests.theatre.replicas import first, shapes


@pytest.fixture(scope="module")
def run():
    with held_back() as cluster:
        return tuple(cluster.trace)


@pytest.fixture(scope="module")
def gate(run):
    return picture("gate", run, seed=13)


def handed(scene, name):
    found = dict(scene["space"]["readers"])[name]
    return [(value, state) for _, _, value, _, state, _ in found]


def test_a_gate_is_shut_while_a_transaction_is_open_and_there_only(gate):
    shut = [[log["is_held"] for log in scene["space"]["logs"]] for scene in gate.scenes]
    opened = first(gate, "RecordsAppended", "20 euros")["step"]
    marker = first(gate, "MarkerWritten")["step"]
    assert shut[opened:marker] == [[True, False]] * (marker - opened)
    assert shut[marker:] == [[False, False]] * (len(shut) - marker)
    before = gate.scenes[marker - 1]
    for width in (WIDE, NARROW):
        thick = shapes(gate, before, width)["log/payments-0/gate"]
        thin = shapes(gate, before, width)["log/payments-1/gate"]
        assert thick["w"] > 2 * thin["w"]
        assert "log/payments-0/behind" in shapes(gate, before, width)
        assert "log/payments-0/behind" not in shapes(gate, gate.scenes[marker], width)


def test_somebody_elses_record_is_behind_the_gate_until_it_opens(gate):
    before = gate.scenes[first(gate, "MarkerWritten")["step"] - 1]
    drawn = shapes(gate, before)
    assert drawn["log/payments-0/gate"]["x"] < drawn["record/payments-0/1"]["x"]
    drawn = shapes(gate, gate.scenes[-1])
    assert drawn["log/payments-0/gate"]["x"] > drawn["record/payments-0/1"]["x"]


def test_what_waits_is_read_when_the_transaction_has_ended(gate):
    marker = first(gate, "MarkerWritten")["step"]
    assert handed(gate.scenes[marker], "auditor") == [("6 euros", "")]
    assert handed(gate.scenes[-1], "auditor") == [("6 euros", ""), ("5 euros", "")]
    [wait] = gate.scenes[-1]["space"]["waits"]
    _, _, begin, end, _ = wait
    drawn = shapes(gate, gate.scenes[-1])
    lane = "time/lane/waits 0 1"
    assert drawn[f"{lane}/name"]["text"] == "5 euros"
    assert drawn[f"{lane}/bar/0/words"]["text"].startswith("waits, ")
    assert drawn[f"{lane}/number"]["text"] == f"{(end - begin) / 1000:.1f} s"
    assert end - begin > 60_000


def test_the_end_says_who_waited_for_whom_and_how_long(gate):
    assert gate.scenes[-1]["sentence"] == (
        "Kiosk's “5 euros” was written at once and reached auditor 70 s later: it waited"
        " behind the transaction of shop, which stayed open for 70 s until it was"
        " aborted."
    )


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_a_record_comes_from_its_writer_and_goes_on_to_a_reader(gate, width):
    drawn = shapes(gate, gate.scenes[-1], width)
    record = drawn["record/payments-0/1"]
    writer = drawn["writer/1/disc"]
    assert abs(record["from_x"] - writer["x"]) < 20
    handed = drawn["reader/1/1"]
    assert (handed["from_x"], handed["from_y"]) == (record["x"], record["y"])


def test_a_reader_of_all_records_has_the_aborted_one_crossed_out_in_the_end(gate):
    was, *_ = handed(first(gate, "TransactionStateChanged", "aborts"), "dashboard")
    *_, last = gate.scenes
    assert was == ("20 euros", "open")
    assert handed(last, "dashboard")[0] == ("20 euros", "aborted")
    assert "reader/0/0/cross" in shapes(gate, last)


def test_before_the_answer_no_gate_is_drawn_and_nothing_waits(run):
    asked = Prediction("What?", ["both", "the 6 euros", "none"])
    pic = picture(
        "gate",
        run,
        prediction=asked,
        surprise=lambda event: event.kind == "RecordsPolled",
        answer=handed_at_once,
    )
    assert pic.prediction.answer == 2
    stop = pic.drawings(WIDE)[pic.prediction.stop].shapes
    decided = pic.drawings(WIDE)[pic.prediction.decided].shapes
    for key in (
        "log/payments-0/gate",
        "log/payments-0/behind",
        "time/lane/waits 0 1/bar/0",
        "reader/1/wait",
    ):
        assert key not in stop and key in decided, key


def test_a_transaction_that_commits_opens_the_gate_too():
    pic = picture("gate", transactions.zombie())
    opened = first(pic, "MarkerWritten", "COMMIT")
    assert opened["light"]
    assert "committed" in opened["sentence"]


def test_on_a_phone_a_reader_has_all_that_it_was_handed(gate):
    drawn = shapes(gate, gate.scenes[-1], PHONE)
    for side, name in enumerate(("dashboard", "auditor")):
        for number, _ in enumerate(dict(gate.scenes[-1]["space"]["readers"])[name]):
            assert f"reader/{side}/{number}" in drawn
        words = drawn[f"reader/{side}/name"]
        assert words["y"] < drawn[f"reader/{side}/level"]["y"]
        assert words["text"] == name and "room" not in words, "it isn't cut"
