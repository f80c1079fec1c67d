"""A sentence with dials: each number that is changed plays the run anew."""

import pytest

from minikafka import Cluster
from minikafka.course import levers
from minikafka.course.experiments.lesson_06_runs import silent, unread
from minikafka.theatre.drawing import NARROW

pytestmark = pytest.mark.slow

pytest.importorskip("ipywidgets")


def run(seconds, orders):
    if seconds > 8:
        raise ValueError("so long the shop is never closed")
    cluster = Cluster(seed=1)
    cluster.create_topic("orders")
    shop = cluster.producer(client_id="shop")
    for number in range(orders):
        shop.send("orders", value=f"order {number}")
        cluster.run(seconds=seconds)
    return cluster.play("log")


@pytest.fixture
def made(monkeypatch):
    monkeypatch.setenv("MINIKAFKA_PICTURES", "text")
    return levers.dials(
        "The shop sends {orders} orders, one every {seconds} s.",
        run,
        seconds=(2, range(1, 10)),
        orders=(3, range(1, 6)),
    )


def test_a_dial_stands_in_its_place_in_the_sentence(made):
    assert str(made) == "The shop sends 3 orders, one every 2 s."
    assert list(made.dials) == ["orders", "seconds"]
    words = [getattr(part, "value", "") for part in made.words.children]
    assert words[2:5] == ["<span>sends</span>", 3, "<span>orders,</span>"]


def test_what_is_turned_plays_the_run_anew_and_prints_its_line(made):
    first = made.picture
    made.dials["seconds"].value = 5
    assert made.picture.digest != first.digest
    assert str(made) == "The shop sends 3 orders, one every 5 s."
    assert "run(orders=3, seconds=5)" in made.line.value
    made.dials["seconds"].value = 2
    assert made.picture.digest == first.digest


def test_a_number_beyond_its_range_is_the_last_one(made):
    made.dials["orders"].value = 40
    assert made.dials["orders"].value == 5


def test_what_cannot_be_is_said_and_the_picture_stays(made):
    before = made.picture
    made.dials["seconds"].value = 9
    assert "never closed" in made.line.value and made.picture is before


def test_a_rerun_draws_the_layout_that_is_shown(made, monkeypatch):
    drawn = []
    monkeypatch.delenv("MINIKAFKA_PICTURES")
    made.stage.width.value = str(NARROW)
    monkeypatch.setattr(made.stage, "send", drawn.append)
    made.dials["seconds"].value = 4
    assert [layout["width"] for layout in drawn[-1]["layouts"]] == [NARROW]
    assert drawn[-1]["begin"] == 0


def test_the_sentence_names_all_dials():
    with pytest.raises(ValueError, match="names minutes, and the dials are seconds"):
        levers.dials("{minutes}", run, seconds=(1, range(3)))


def test_a_silent_reader_is_out_when_its_session_is_over():
    trace = silent(at_s=21, session_s=10).trace
    left = [event.at for event in trace if event.kind == "MemberLeft"]
    assert 28_000 <= left[0] <= 31_100
    assert unread(0)(trace) is not None
