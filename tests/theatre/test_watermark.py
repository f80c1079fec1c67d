"""Event time and watermark: the picture of what Spark did with twelve orders
(tests/spark lets Spark do it again).
"""

import json
import re
from html import unescape

import pytest

from minikafka import predict
from minikafka.course.experiments.lesson_18_event_time import (
    ORDERS,
    RECORDED,
    Batch,
    Seen,
    begins,
    later,
    trace,
    which_are_dropped,
    with_a_clock_ahead,
)
from minikafka.theatre.drawing import LAYOUTS, NARROW, PHONE, WIDE
from tests.chromium import running_chromium
from tests.seeds import first_now

LATE = later(ORDERS, "H")
# H comes one micro-batch later
DROPPED = Seen(
    (
        Batch(0, LATE[0:3], None, 0, 2, {}),
        Batch(1, LATE[3:6], 2, 0, 3, {}),
        Batch(2, LATE[6:9], 11, 0, 3, {0: 2}),
        Batch(3, LATE[9:12], 21, 1, 2, {10: 3}),
        Batch(4, (), 27, 0, 2, {}),
    )
)
FAST = tuple(with_a_clock_ahead("E", minutes=40))
AHEAD = Seen(
    (
        Batch(0, FAST[0:3], None, 0, 2, {}),
        Batch(1, FAST[3:6], 2, 0, 4, {}),
        Batch(2, FAST[6:9], 48, 0, 1, {0: 3, 10: 2, 20: 3}),
        Batch(3, FAST[9:12], 48, 1, 1, {}),
    )
)
UPDATE = Seen(
    (
        Batch(0, ORDERS[0:3], None, 0, 2, {0: 2, 10: 1}),
        Batch(1, ORDERS[3:6], 2, 0, 3, {10: 3, 20: 1}),
        Batch(2, ORDERS[6:9], 11, 0, 2, {0: 3, 20: 3}),
        Batch(3, ORDERS[9:12], 18, 0, 3, {30: 3}),
        Batch(4, (), 27, 0, 2, {}),
    ),
    "update",
)
COMPLETE = Seen(
    (
        Batch(0, ORDERS[0:3], None, 0, 2, {0: 2, 10: 1}),
        Batch(1, ORDERS[3:6], 2, 0, 3, {0: 2, 10: 3, 20: 1}),
        Batch(2, ORDERS[6:9], 11, 0, 3, {0: 3, 10: 3, 20: 3}),
        Batch(3, ORDERS[9:12], 18, 0, 4, {0: 3, 10: 3, 20: 3, 30: 3}),
    ),
    "complete",
)


def at(pic, kind, order=None):
    return next(
        each
        for each in pic.scenes
        if each["kind"] == kind and (order or "") in each["sentence"]
    )


def window(scene, begin):
    return next(each for each in scene["space"]["windows"] if each["begin"] == begin)


def asked():
    question = predict(
        "What becomes of H?",
        {"it counts": "It came in time.", "it is dropped": "It came too late."},
    )

    def answer(events):
        return (
            1
            if any(
                each.kind == "RowCounted" and each.detail["order"] == "H"
                for each in events
            )
            else None
        )

    return RECORDED.play(question, surprise=is_h, answer=answer)


def is_h(event):
    return event.kind in ("RowCounted", "RowDropped") and event.detail["order"] == "H"


def test_an_order_of_a_window_that_ended_before_the_watermark_counts_in_the_micro_batch_that_writes_it():
    pic = RECORDED.play()
    counted, written = at(pic, "RowCounted", "H,"), at(pic, "WindowWritten")
    assert (
        "is past this window's end, and yet it counts" in counted["sentence"]
        and "order/H" in counted["light"]
    )
    assert counted["step"] < written["step"] and window(written, 0)["written"] == [3]
    assert pic.scenes[-1]["space"]["dropped"] == 0


def test_one_micro_batch_later_it_is_dropped_because_the_watermark_had_moved():
    pic = DROPPED.play()
    gone = at(pic, "RowDropped")
    assert (
        gone["trouble"]
        and window(gone, 0)["lost"] == ["H"]
        and window(pic.scenes[-1], 0)["written"] == [2]
    )
    assert pic.scenes[gone["because"]]["kind"] == "WatermarkMoved"
    assert "08:11" in pic.scenes[gone["because"]]["sentence"]
    assert (
        pic.drawing(gone["step"], WIDE).shapes["lamp/word"]["text"] == "1 order dropped"
    )


def test_a_clock_that_is_ahead_drops_orders_from_the_micro_batch_after_the_next_on():
    assert [AHEAD.lost(number) for number in range(4)] == [[], [], [], [*FAST[9:12]]]
    assert [which_are_dropped(trace(seen)) for seen in (RECORDED, AHEAD, DROPPED)] == [
        1,
        2,
        2,
    ]


def test_the_stop_of_the_clock_that_is_ahead_has_the_watermark_and_not_who_is_dropped():
    question = {"question": "Which are dropped?", "options": ["none", "three", "six"]}
    pic = AHEAD.play(question, surprise=begins(2), answer=which_are_dropped)
    stop, decided = pic.prediction.stop, pic.prediction.decided
    assert pic.scenes[stop]["kind"] == "WatermarkMoved"
    assert "08:48" in pic.scenes[stop]["sentence"]
    assert at(pic, "RowDropped", "J,")["step"] == decided > stop + 1


def test_the_last_sentence_says_how_many_counted_and_why_no_more():
    assert DROPPED.play().scenes[-1]["sentence"] == (
        "11 of 12 orders counted. H did not: the watermark, 10 minutes behind the latest"
        " order, had passed the end of its window before."
    )
    assert RECORDED.play().scenes[-1]["sentence"] == (
        "12 of 12 orders counted, H too: micro-batch 2 drops by the watermark before,"
        " 08:02, and writes by its own, 08:11."
    )
    assert COMPLETE.play().scenes[-1]["sentence"] == (
        "12 of 12 orders counted: output mode complete closes no window."
    )


def test_a_window_is_forgotten_when_it_is_over_and_complete_mode_forgets_none():
    assert [
        each["forgotten"] for each in RECORDED.play().scenes[-1]["space"]["windows"]
    ] == [True, True, False, False]
    assert [
        each["forgotten"] for each in UPDATE.play().scenes[-1]["space"]["windows"]
    ] == [True, True, False, False]
    assert not any(
        each["forgotten"] for each in COMPLETE.play().scenes[-1]["space"]["windows"]
    )


def test_update_writes_a_window_each_time_it_has_changed_and_complete_writes_all():
    last = UPDATE.play().scenes[-1]
    assert [window(last, begin)["written"] for begin in (0, 10, 20, 30)] == [
        [2, 3],
        [1, 3],
        [1, 3],
        [3],
    ]
    assert window(COMPLETE.play().scenes[-1], 0)["written"] == [2, 2, 3, 3]


def test_a_run_that_spark_counts_otherwise_is_refused():
    wrong = Seen((*DROPPED.batches[:3], Batch(3, LATE[9:12], 21, 0, 2, {10: 3})))
    with pytest.raises(AssertionError, match="micro-batch 3"):
        trace(wrong)


@pytest.mark.parametrize("width", LAYOUTS)
def test_a_micro_batch_drops_by_the_watermark_before_it_and_writes_by_its_own(width):
    """So H, of a window that ended by 08:11, still counts in micro-batch 2."""
    pic = RECORDED.play()
    drawn = pic.drawings(width)[-1].shapes
    before, own = drawn["closed/2/mark"], drawn["mark/2"]
    assert before["x"] == drawn["mark/1"]["x"] < own["x"]
    assert before["x"] < drawn["order/H"]["x"] < own["x"]
    assert before["dash"] and "dash" not in own
    words = drawn["closed/2/time"]["text"], drawn["mark/2/time"]["text"]
    assert [each[-5:] for each in words] == ["08:02", "08:11"]
    if width == WIDE:
        assert words == ("drops by watermark 08:02", "writes by watermark 08:11")
    if width == PHONE:
        assert words == ("drops by 08:02", "writes by 08:11")


def test_the_end_of_the_late_orders_picture_is_in_its_light():
    pic = asked()
    assert "order/H" in pic.drawings(WIDE)[-1].lit


def test_an_order_comes_a_micro_batch_later_and_from_the_last_one_goes_back():
    assert [name for name, _ in LATE].index("H") == 10
    assert later(LATE, "H") == ORDERS


def test_nothing_closed_is_shaded_while_a_prediction_is_open():
    pic = asked()
    assert pic.scenes[pic.prediction.stop]["kind"] != "RowDropped"
    assert (
        at(pic, "RowCounted", "H,")["step"]
        == pic.prediction.stop + 1
        == pic.prediction.decided
    )
    for width in (WIDE, NARROW):
        shapes = pic.drawing(pic.prediction.stop, width).shapes
        assert not any(key.startswith("closed/") for key in shapes)


def test_it_is_drawn_anew_from_its_json():
    for seen in (RECORDED, DROPPED, UPDATE, COMPLETE):
        pic = seen.play()
        cast, scenes = json.loads(json.dumps([pic.cast, pic.scenes]))
        again = type(pic)(type(pic.play), cast, scenes)
        for width in (WIDE, NARROW):
            for mine, other in zip(
                pic.drawings(width), again.drawings(width), strict=True
            ):
                assert mine.shapes == other.shapes and mine.bottom <= 460


# -- levers


@pytest.fixture
def live(monkeypatch):
    pytest.importorskip("ipywidgets")
    monkeypatch.delenv("MINIKAFKA_PICTURES", raising=False)
    from minikafka.course.levers.watermark import WatermarkLive

    asked_for = []

    def rerun(orders, mode, delay):
        asked_for.append((tuple(orders), mode, delay))
        return trace(
            DROPPED
            if tuple(orders) == LATE
            else UPDATE
            if mode == "update"
            else RECORDED
        )

    made = WatermarkLive(rerun, later, ORDERS, ("append", "update", "complete"))
    made.asked_for = asked_for
    return made


def test_a_click_on_an_order_lets_it_come_a_micro_batch_later(live):
    before = live.picture.digest
    live.stage.clicked.value = json.dumps({"act": "later H", "at": 0, "turn": 1})
    assert live.asked_for[-1] == (LATE, "append", 10) and live.picture.digest != before
    assert "A B C D E F G I J K H L" in live.line.value
    sent = json.loads(
        unescape(re.search(r'data-play="(.*?)"', live.stage.data.value)[1])
    )
    # the first micro-batch that differs
    begins = at(live.picture, "MicroBatchBegan", "G, I and J")["step"]
    assert sent["begin"] == begins - 1
    live.reset()
    assert (
        live.asked_for[-1] == (ORDERS, "append", 10) and live.picture.digest == before
    )


def test_mode_and_delay_are_levers_that_print_their_line(live):
    live.mode.value = "update"
    live.delay.value = 20
    assert live.asked_for[-1] == (ORDERS, "update", 20)
    assert (
        ".outputMode(&quot;update&quot;)" in live.line.value
        and "20 minutes" in live.line.value
    )


def test_a_run_that_fails_is_told_and_the_picture_and_the_orders_stay(live):
    def stopped(orders, mode, delay):
        raise RuntimeError("Spark has stopped")

    before, live.rerun = live.picture.digest, stopped
    live.press("H")
    assert (
        "Spark has stopped" in live.line.value
        and "Spark has stopped" in live.stage.data.value
    )
    assert live.picture.digest == before and live.orders == ORDERS


def test_each_order_of_a_live_picture_is_a_lever(live):
    shapes = live.picture.drawing(len(live.picture.scenes) - 1, WIDE).shapes
    assert {shape["act"] for shape in shapes.values() if "act" in shape} == {
        f"later {name}" for name, _ in ORDERS
    }


# -- in a browser


@pytest.mark.browser
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("theme", first_now(["light", "dark"]))
def test_no_two_texts_overlap_and_axe_finds_nothing(theme, tmp_path):
    pytest.importorskip("playwright.sync_api")
    axe_api = pytest.importorskip("axe_playwright_python.sync_playwright")
    from tests.theatre.overlaps import visit

    shown = {
        "asked": asked(),
        "dropped": DROPPED.play(live=True),
        "update": UPDATE.play(),
        "complete": COMPLETE.play(),
    }
    chosen = list(shown)[:2] if theme == "light" else list(shown)[2:]
    with running_chromium() as browser:
        page = browser.new_page(color_scheme=theme, reduced_motion="reduce")
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        found = [
            visit(page, name, shown[name], tmp_path, axe_api.Axe()) for name in chosen
        ]
    assert not errors
    assert not [
        line
        for each in found
        for line in (*each.overlaps, *each.verdicts, *each.violations)
    ]
