"""Boxes in rows and columns: their room, their lines, and a stage that stays as it is."""

import pytest

from minikafka.course.experiments import lesson_18_event_time as event_time
from minikafka.course.experiments.lesson_19_checkpoints import RECORDED
from minikafka.theatre import picture
from minikafka.theatre.boxes import Stage, column, either, framed, part, row, space
from minikafka.theatre.drawing import Drawing
from tests.theatre import frames, groups
from tests.theatre.cleaned import moves, tombstone
from tests.theatre.commit_traces import Commits, commit_after, commit_first
from tests.theatre.shared import slow
from tests.theatre.test_lag import slow_then_dead
from tests.theatre.test_pipeline import turned_round
from tests.theatre.traces import alice, growing, long_log, retention
from tests.theatre.transactions import zombie


def box(name, least, wanted=0, high=20, grow=0):
    return part(name, drawn, high=high, least=least, wanted=wanted, grow=grow)


def drawn(d, places, scene):
    d.places = places


def places(whole, width):
    d = Drawing(width)
    Stage(whole).draw(d, {})
    return d.places


def test_what_a_row_has_left_belongs_to_those_that_grow():
    found = places(row(box("name", 50), space(), box("lamp", 60), gap=10), 300)
    assert found["name"] == (0, 0, 50, 20)
    assert found["lamp"] == (240, 0, 60, 20)
    found = places(row(box("name", 50), box("log", 100, grow=1), gap=8), 300)
    assert found["log"].x == 58 and found["log"].right == 300


def test_where_not_all_get_what_they_want_each_gets_as_much_of_it():
    found = places(row(box("a", 50, 150), box("b", 100, 300), gap=10), 310)
    assert found["a"].w == 50 + 100 / 2 and found["b"].w == 100 + 200 / 2


def test_a_row_breaks_where_the_least_widths_have_no_room_and_its_height_tells():
    cards = row(
        box("a", 120, high=40), box("b", 120), box("c", 120), gap=10, line_gap=4
    )
    beside, below = places(cards, 380), places(column(cards, box("foot", 0)), 260)
    assert len({beside[name].x for name in "abc"}) == 3
    assert beside["a"].y == 0 and beside["b"].y == 10, "in the middle of their line"
    assert below["b"].x == 130 and below["c"] == (0, 44, 120, 20)
    assert below["foot"].y == 64


def test_boxes_that_belong_together_break_no_line_and_a_row_around_them_does():
    log = row(box("name", 60), box("records", 210, grow=1), gap=8, breaks=False)
    found = places(row(box("shop", 120), log, gap=14), 340)
    assert found["shop"].y < found["name"].y == found["records"].y
    assert found["name"].x == 0 and found["records"].right == 340
    assert places(row(box("shop", 120), log, gap=14), 420)["name"].x == 134


def test_of_two_ways_the_first_that_has_room_is_chosen():
    cards = row(box("a", 150), box("b", 150), gap=10, breaks=False)
    both = either(cards, column(box("a", 100), box("b", 100)))
    assert both.least == 100
    assert places(both, 310)["b"].x == 160
    below = places(column(both, box("foot", 0)), 300)
    assert below["b"] == (0, 20, 300, 20) and below["foot"].y == 40


def test_a_height_follows_from_the_width_that_a_box_gets():
    words = part("words", drawn, high=lambda width: 6000 / width, grow=1)
    card = framed("card", row(words), drawn, pad=5)
    assert places(column(card, gap=4), 310)["card"].h == 20 + 10
    found = places(column(card, box("foot", 0), gap=4), 110)
    assert found["words"] == (5, 5, 100, 60) and found["foot"].y == 74


def piled():
    story = Commits().orders(14)
    story.at(7000).starts(0)
    story.at(7100).poll("billing", 0, 0, 14)
    story.at(7200).starts(0, reader="a reader with a long name")
    return story.events


def orders():
    return event_time.trace(event_time.RECORDED)


EVERY = [
    ("commit", commit_after, ("row/log", "row/table", "lamp/twice/word")),
    ("commit", commit_first, ("row/log", "card/billing/name")),
    ("commit", piled, ("row/log", "lamp/skipped/word")),
    ("cleaner", moves, ("map/title", "copy/title", "gauge/all", "has/search")),
    ("cleaner", tombstone, ("map/title", "gauge/all", "has/search", "has/new")),
    ("rebalance", groups.classic, ("coordinator", "time/P0/ground", "lamp")),
    ("rebalance", groups.six, ("coordinator", "coordinator/name", "time/P7/ground")),
    ("log", alice, ("name/0", "end/2", "producer/shop", "tray/reader", "time/axis")),
    ("log", long_log, ("producer/shop", "tray/billing/name", "time/lane/log/name")),
    ("log", retention, ("producer/shop", "tray/audit", "time/axis")),
    ("watermark", orders, ("axis/10", "row/1", "mark/1", "name/in state", "sink/0")),
    ("bytes", frames.request, ("byte/0", "byte/122", "field/0", "lamp")),
    ("micro-batch", RECORDED.trace, ("plan/1", "sink", "commit/1", "lamp/word")),
    (
        "transaction",
        zombie,
        ("state/Ongoing", "reader/1", "time/lane/coordinator/name"),
    ),
    ("share-partition", slow, ("log/0", "share/0", "lamp/archived", "time/axis/0")),
    ("sink", commit_after, ("record/0", "reader/billing", "time/lane/billing/name")),
    ("pipeline", turned_round, ("flight/name", "caption/told/name", "log/0/0")),
    ("lag", slow_then_dead, ("name/records", "lag/0/ground", "pile/1/door")),
    ("partitioner", growing, ("machine/box", "machine/name", "part/0/0")),
    ("gate", zombie, ("writer/0/disc", "reader/1", "time/lane/shop/number")),
]


@pytest.mark.parametrize(("name", "trace", "keys"), EVERY)
def test_one_description_serves_every_width_and_keeps_its_places(name, trace, keys):
    options = {"table": "payments"} if name == "commit" else {}
    pic = picture(name, trace(), **options)
    for width in range(340, 1601, 140):
        drawings = pic.drawings(width)
        for drawing in drawings[:: 1 + len(drawings) // 40]:
            for key, shape in drawing.shapes.items():
                assert -1 <= shape["x"] <= width, (width, key)
                assert shape["x"] + shape.get("w", 0) <= width + 1, (width, key)
        for key in keys:
            found = [each.shapes[key] for each in drawings if key in each.shapes]
            assert found, key
            assert len({shape["y"] for shape in found}) == 1, (width, key)
            # a lamp's word is in the middle of the lamp, which its words make wider
            at = {shape["x"] for shape in found}
            assert len(at) == 1 or key.startswith("lamp"), (width, key)
