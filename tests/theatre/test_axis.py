"""Time is drawn to scale, in every picture whose story it is."""

from itertools import pairwise

import pytest

from minikafka.course import demo
from minikafka.theatre import picture
from minikafka.theatre.axis import NOW, Chapter, Time, even_times
from minikafka.theatre.clock import in_short
from minikafka.theatre.drawing import NARROW, PHONE, WIDE, Drawing, widest
from minikafka.theatre.lanes import Lanes
from minikafka.theatre.pictures.share_partition.records import lane_of
from minikafka.theatre.pictures.share_partition.time import bars as work_bars
from tests.theatre import replicas, shared, transactions
from tests.theatre.test_lag import piling_up

pytestmark = pytest.mark.slow

SINCE_MS = demo.SINCE_MS
# an x is told to a tenth
EXACT = 0.2


def bars(pic, width, prefix):
    """The bars of a lane, by the number of the event that began them."""
    shapes = pic.drawings(width)[-1].shapes
    return [
        shape
        for key, shape in shapes.items()
        if key.startswith(prefix)
        and shape["kind"] == "rect"
        and {"of", "w"} <= set(shape)
    ]


def moment_of(pic, bar):
    return pic.scenes[bar["of"]]["at"]


def assert_to_scale(pic, prefix):
    """Of the bars in a lane, each is as much longer than another as it lasted longer."""
    for width in (WIDE, NARROW):
        found = bars(pic, width, prefix)
        assert len(found) >= 3, found
        spans = [
            (bar["w"], moment_of(pic, after) - moment_of(pic, bar))
            for bar, after in pairwise(found)
            if bar["w"] > 5
        ]
        longest, lasted = max(spans)
        for wide, ms in spans:
            assert wide == pytest.approx(longest * ms / lasted, abs=EXACT), spans
        assert len({ms for _, ms in spans}) > 1


@pytest.fixture(scope="module")
def eager():
    return demo.rebalance("range", "A freezes", seed=7)


def test_what_nobody_reads_in_a_rebalance_is_as_long_as_it_lasts(eager):
    assert_to_scale(picture("rebalance", eager, since_ms=SINCE_MS), "time/P0/")


def test_two_rebalances_beside_each_other_have_one_scale(eager):
    other = demo.rebalance("cooperative-sticky", "A freezes", seed=7)
    pic = picture("rebalance", eager, beside=other, since_ms=SINCE_MS)
    for lane in ("time/0/P0/", "time/1/P0/"):
        assert_to_scale(pic, lane)
    scales = set()
    for lane in ("time/0/P0/", "time/1/P0/"):
        first, second, *_ = bars(pic, WIDE, lane)
        ms = moment_of(pic, second) - moment_of(pic, first)
        scales.add(round(first["w"] / ms, 2))
    assert len(scales) == 1


def test_a_partition_without_a_leader_is_as_long_as_it_lasts():
    assert_to_scale(picture("replica-set", replicas.acks_1()), "time/lane/leader/bar/")


def test_a_stale_leader_in_the_quorums_picture_is_as_long_as_it_lasts():
    assert_to_scale(picture("quorum", replicas.stale()), "time/lane/leader/bar/")


def test_a_transactions_states_are_as_long_as_they_last():
    pic = picture("transaction", transactions.zombie())
    assert_to_scale(pic, "time/lane/coordinator/bar/")


def test_a_lag_is_drawn_over_the_same_axis():
    """The line of now goes on as evenly as time does."""
    pic = picture("lag", piling_up())
    drawn = zip(pic.scenes, pic.drawings(WIDE), strict=True)
    places = {scene["at"]: d.shapes["time/cursor"]["x"] for scene, d in drawn}
    first, *_, last = places
    a_ms = (places[last] - places[first]) / (last - first)
    for at, x in places.items():
        assert x == pytest.approx(places[first] + a_ms * (at - first), abs=0.2)


def test_a_workers_bar_is_as_long_as_it_had_the_record():
    pic = picture("share-partition", shared.slow())
    shapes = pic.drawings(WIDE)[-1].shapes
    bars = []
    for member in pic.scenes[-1]["space"]["members"]:
        for number, bar in enumerate(work_bars(member["work"])):
            shape = shapes.get(f"{lane_of(member['name'])}/{number}")
            if shape and bar.until and bar.until - bar.since > 500:
                # between two of them there is a little room
                bars.append((bar.until - bar.since, shape["w"] + 1))
    [(longest_ms, longest), *others] = sorted(bars, reverse=True)
    assert others
    for lasted_ms, wide in others:
        assert wide == pytest.approx(longest / longest_ms * lasted_ms, abs=0.2)


def test_the_cursor_says_now_and_each_chapter_so_far_has_a_stroke():
    chapters = [
        Chapter(0, "begins", 1),
        Chapter(8000, "a crash", 5),
        Chapter(8003, "its end", 6),
        Chapter(9000, "later", 9),
    ]
    axis = Time(0, 10_000, chapters).axis(100, 800, 8500)
    d = Drawing(WIDE)
    axis.foot(d, 50)
    strokes = {
        key: shape for key, shape in d.shapes.items() if key.startswith("time/chapter/")
    }
    assert [shape["tip"] for shape in strokes.values()] == [
        "begins",
        "a crash · its end",
    ]
    assert strokes["time/chapter/5"]["x"] == axis.x(8000) == 660
    now = d.shapes["time/cursor/now"]
    assert (now["text"], now["x"]) == (NOW, axis.x(8500))
    ticks = [shape for key, shape in d.shapes.items() if "time/axis/" in key]
    assert all(shape["x"] < now["x"] - 20 for shape in ticks)


@pytest.mark.parametrize("first_ms", [0, 4_300, 8_200])
@pytest.mark.parametrize(
    "last_ms", [9_900, 10_400, 16_000, 19_082, 30_059, 101_000, 7_400_000]
)
@pytest.mark.parametrize("room", [180, 326, 420, 680])
def test_the_times_under_an_axis_are_equally_far_from_each_other(
    first_ms, last_ms, room
):
    told = even_times(first_ms, last_ms, room)
    steps = {after - at for (at, _), (after, _) in pairwise(told)}
    assert told and len(steps) <= 1
    words = [words for _, words in told]
    assert len(set(words)) == len(words)


def test_an_axis_begins_with_0_s_where_the_first_event_comes_a_little_later():
    assert even_times(21, 90_027, 680)[0] == (0, "0 s")
    assert even_times(4_000, 90_027, 680)[0] == (10_000, "10 s")


def test_what_stands_on_hatching_has_a_plate_under_it():
    pic = picture("quorum", replicas.stale())
    shapes = pic.drawings(WIDE)[-1].shapes
    plates = [key for key in shapes if key.endswith("/plate")]
    order = list(shapes)
    assert plates
    for key in plates:
        words = key.removesuffix("plate") + "words"
        plate, text = shapes[key], shapes[words]
        assert order.index(key) < order.index(words)
        assert plate["x"] < text["x"] < plate["x"] + plate["w"]


def silent(*moments_ms):
    """Scenes at these moments, in which nothing happens."""
    return [{"at": ms, "time": f"{ms} ms", "marks": []} for ms in moments_ms]


@pytest.mark.parametrize("width", [WIDE, NARROW, PHONE])
def test_a_silence_that_is_cut_short_says_how_long_it_was(width):
    lanes = Lanes(silent(0, 10, 20, 97, 107, 117, 300_117, 300_120))
    drawing = Drawing(width)
    lanes.draw(drawing, 0, [], 7, 96, width - 92)
    shapes = drawing.shapes
    cursor = shapes["time/cursor/head"]["x"]
    said = [shapes[f"time/break/{step}/long"] for step in (3, 6)]
    assert [each["text"] for each in said] == ["77 ms", "5 min"]
    begins = [each["x"] - widest(each["text"], 12) for each in said]
    assert begins[0] >= 0 and begins[1] > said[0]["x"] and said[1]["x"] < cursor
    for number, step in enumerate((3, 6)):
        at_once = Drawing(width)
        lanes.draw(at_once, 0, [], step, 96, width - 92)
        assert said[number]["x"] < at_once.shapes["time/cursor/head"]["x"] - 4
        assert said[number] == at_once.shapes[f"time/break/{step}/long"]


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (97, "97 ms"),
        (1500, "1.5 s"),
        (60_003, "60 s"),
        (301_000, "5 min"),
        (9 * 3_600_000, "9 h"),
        (7 * 86_400_000, "7 days"),
    ],
)
def test_how_long_it_was_is_told_in_short(ms, words):
    assert in_short(ms) == words
