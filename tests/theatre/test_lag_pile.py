"""Lag as things: the squares that wait in a partition."""

from minikafka.theatre import picture
from minikafka.theatre.drawing import LAYOUTS
from minikafka.theatre.pictures.lag_pile import PALE
from tests.theatre.commit_traces import Commits


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
        assert len(in_hand) == 500 // records
        for each in pile:
            assert each["x"] + each["w"] <= width
            assert each["y"] + each["h"] <= drawing.bottom
