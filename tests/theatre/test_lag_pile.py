"""Lag as things: the squares that wait in a partition."""

import pytest

from minikafka.theatre import picture
from minikafka.theatre.drawing import LAYOUTS
from minikafka.theatre.pictures.lag.pile import PALE
from tests.theatre.commit_traces import Commits

pytestmark = pytest.mark.slow


def at(pic, kind, number=0):
    return [scene for scene in pic.scenes if scene["kind"] == kind][number]


def squares(drawing, number=0):
    """Of a pile: key -> shape, from the door on."""
    start = f"pile/{number}/square/"
    found = {key: each for key, each in drawing.shapes.items() if key.startswith(start)}
    return dict(sorted(found.items(), key=lambda each: int(each[0].split("/")[-1])))


def test_records_pile_up_behind_a_hatch_and_go_to_the_reader():
    story = Commits().orders(8)
    story.at(1000).starts(0)
    story.poll("billing", 0, 0, 3)
    story.commit(3)
    story.at(2000).tell("billing", "NodeFrozen")
    story.at(3000).append(0, 8, ("k", "v"))
    story.at(4000).tell("billing", "NodeThawed")
    pic = picture("lag", story.events)
    for width in LAYOUTS:
        drawings = pic.drawings(width)

        def drawn(kind, number=0, drawings=drawings):
            return drawings[at(pic, kind, number)["step"]]

        handed = squares(drawn("RecordsPolled"))
        assert {each["fill"] for each in handed.values()} == {"actor1"}
        assert [each.get("fade") for each in handed.values()] == [None] * 3 + [PALE] * 5
        done = squares(drawn("OffsetCommitted"))
        assert list(done) == list(handed)[3:]
        first = next(iter(done))
        assert done[first]["x"] <= handed[first]["x"]

        frozen = drawn("RecordsAppended", -1)
        assert frozen.shapes["pile/0/door"]["fill"] == "hatch"
        assert len(squares(frozen)) == 6
        assert drawings[-1].shapes["pile/0/door"]["fill"] == "actor1"
        assert drawings[-1].shapes["name/square/words"]["text"] == "= 1 record"


def test_where_there_are_many_a_square_is_as_many_as_have_room():
    story = Commits().orders(2000)
    story.at(1000).starts(0)
    story.poll("billing", 0, 0, 500)
    pic = picture("lag", story.events)
    for width in LAYOUTS:
        drawing = pic.drawings(width)[-1]
        words = drawing.shapes["name/square/words"]["text"]
        records = int(words.split()[1].replace(",", ""))
        pile = squares(drawing).values()
        assert len(pile) == 2000 // records
        in_hand = [each for each in pile if "fade" not in each]
        assert len(in_hand) == (500 + records // 2) // records
        for each in pile:
            assert each["x"] + each["w"] <= width
            assert each["y"] + each["h"] <= drawing.bottom


def busy_too_long(rounds=2):
    """A reader needs 350 s for what it is handed, and may be silent for 300 s."""
    story = Commits().orders(2000)
    of_it = {"group": "billing", "member": "A"}
    for number in range(rounds):
        handed = 1000 + 360_000 * number
        story.at(handed).tell(
            "A",
            "PartitionsAssigned",
            **of_it,
            generation=2 * number + 1,
            partitions=[["orders", 0]],
            owned=[["orders", 0]],
        )
        story.poll("A", 0, 0, 500)
        why = "no poll for 300 s (max_poll_interval_ms)"
        overdue = {"reason": "max_poll_interval_ms", "why": why}
        story.at(handed + 300_000).tell("A", "PollOverdue", **of_it, **overdue)
        story.at(handed + 350_000).tell(
            "A",
            "PartitionsLost",
            **of_it,
            generation=2 * number + 1,
            partitions=[["orders", 0]],
            owned=[],
        )
    return story.events


def test_who_is_busy_for_too_long_is_out_until_it_polls_again():
    pic = picture("lag", busy_too_long())
    for width in LAYOUTS:
        drawings = pic.drawings(width)
        out = drawings[at(pic, "PollOverdue")["step"]]
        assert out.shapes["pile/0/door"]["fill"] == "hatch"
        last = drawings[-1].shapes
        hatched = [
            each["w"]
            for key, each in last.items()
            if key.startswith("lag/0/") and each.get("fill") == "hatch"
        ]
        assert len(hatched) == 2
        allowed, over = last["caught/0"], last["caught/0/over"]
        assert over["line"] == "trouble", "the 50 s that are too many"
        assert allowed["x2"] < over["x"] < over["x2"]
        assert "350 s" in last["caught/0/words"]["text"]
        assert last["caught/0/words"]["text"].endswith(": out after 300 s")
        assert "caught/1" not in last, "it is said once"
        assert not any(key.startswith("lines/") for key in last), "they are flat"
        hands = [each["text"] for key, each in last.items() if key.endswith("/again")]
        assert set(hands) == {"500"}, "the same each time"
        rates = [each for key, each in last.items() if key.startswith("name/rates/")]
        words = " ".join(each["text"] for each in rates)
        assert words == "The same 500 records handed over 2 times, 0 committed."
    polls = at(pic, "PartitionsLost")["sentence"]
    assert polls.startswith("A polls again after 350 s, but may not commit")
    assert pic.scenes[-1]["sentence"] == (
        "A was handed the same 500 records 2 times and lost its partition 2 times before"
        " it could commit: they take 350 s, and a poll is due within 300 s. The lag is"
        " still 2,000."
    )
