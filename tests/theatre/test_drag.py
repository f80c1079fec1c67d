"""An answer that is dragged in the picture, in Chromium: by the mouse, a finger and the
keys.
"""

import json

import pytest

from tests.seeds import first_now
from tests.theatre.dragged import EVERY, rebalance
from tests.theatre.overlaps import MEASURE, problems

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture
def opened(chromium, tmp_path):
    pages = []

    def open_(pic, width=980, **settings):
        pic.save(tmp_path / "page.html")
        page = chromium.new_page(
            viewport={"width": width, "height": 1400},
            reduced_motion="reduce",
            **settings,
        )
        pages.append(page)
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.goto((tmp_path / "page.html").as_uri())
        page.keyboard.press("End")
        return page

    yield open_
    assert [page.errors for page in pages] == [[] for _ in pages]
    for page in pages:
        page.close()


def middle(page):
    box = page.locator("[role=slider]").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def says(page):
    return page.get_attribute("[role=slider]", "aria-valuetext")


@pytest.mark.parametrize("width", [980, 422])
@pytest.mark.parametrize("make", EVERY)
def test_it_is_dragged_by_the_mouse_and_the_truth_is_drawn_beside_it(
    opened, make, width
):
    pic = make()
    page = opened(pic, width)
    was = pic.data()["prediction"]["drag"]["was"]
    assert page.is_hidden("#mine")
    x, y = middle(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 90, y + 5, steps=4)
    page.mouse.up()
    mine = says(page)
    assert page.text_content("#mine") == f"my answer: {mine}"
    assert page.text_content(".drag .words") == f"you say {mine}"
    assert page.is_hidden(".drag .truth") and page.is_hidden("#verdict")
    page.click("#mine")
    assert page.is_hidden("#ask")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("End")
    said = page.inner_text("#verdict").lower()
    assert f"you said {mine}, it was {was}.".lower() in said
    assert page.inner_text("#verdict b") == f"it was {was}"
    assert page.text_content(".drag .words") == f"you said {mine}"
    assert page.text_content(".drag .trueWords") == f"it was {was}"
    assert page.locator(".drag .truth").count() and page.is_hidden("[role=slider]")


def test_until_it_is_decided_the_page_shows_no_truth(opened):
    pic = rebalance()
    page = opened(pic)
    for _ in range(30):
        page.focus("[role=slider]")
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Home")
    for _ in range(pic.prediction.decided):
        assert page.is_hidden(".drag .trueWords") and page.is_hidden("#verdict")
        assert "8.0 s" not in page.text_content("main")
        page.keyboard.press("ArrowRight")
    assert page.is_visible(".drag .trueWords") and page.is_visible("#verdict")


def test_the_keys_move_it_and_enter_says_it(opened):
    page = opened(rebalance())
    stop = page.input_value("#scrub")
    page.focus("[role=slider]")
    told = []
    for key in ("ArrowRight", "PageUp", "ArrowLeft", "Home", "End", "PageDown"):
        page.keyboard.press(key)
        told.append(float(says(page).removesuffix(" s")))
    step, fast, *_ = told
    assert fast == pytest.approx(11 * step) and told[3] == 0
    assert told[4] - told[5] == pytest.approx(10 * step)
    assert page.input_value("#scrub") == stop
    assert page.get_attribute("[role=slider]", "aria-label") == "How far?"
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("End")
    assert page.inner_text("#verdict") == (
        "Not quite: you said 0.0 s, it was 8.0 s. It is 8 s."
    )
    assert page.get_attribute("#verdict", "class") == "near"


@pytest.mark.parametrize(("least", "found"), [(6.5, "right"), (10.5, "near")])
def test_within_a_quarter_of_the_truth_it_is_right_and_beyond_not_quite(
    opened, least, found
):
    page = opened(rebalance())
    page.focus("[role=slider]")
    while float(says(page).removesuffix(" s")) < least:
        page.keyboard.press("PageUp")
    mine = says(page)
    page.click("#mine")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("End")
    assert page.get_attribute("#verdict", "class") == found
    begins = "You said" if found == "right" else "Not quite: you said"
    assert page.inner_text("#verdict").startswith(f"{begins} {mine}, it was 8.0 s.")


def test_a_finger_drags_it_and_does_not_scroll(opened):
    page = opened(rebalance(), 422, has_touch=True)
    x, y = middle(page)
    touch = page.context.new_cdp_session(page)

    def finger(kind, *points):
        given = [{"x": x, "y": y} for x, y in points]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": given})

    finger("touchStart", (x, y))
    for far in (10, 30, 60):
        finger("touchMove", (x + far, y))
    finger("touchEnd")
    assert float(says(page).removesuffix(" s")) > 2
    assert page.evaluate("document.querySelector('#stage').scrollLeft") == 0


def test_who_chooses_an_option_has_no_strip_left(opened):
    page = opened(rebalance())
    high = page.locator("#drawing").bounding_box()["height"]
    page.click("#options button:nth-child(2)")
    assert page.locator(".drag").count() == 0
    assert page.locator("#drawing").bounding_box()["height"] < high


@pytest.mark.parametrize("width", first_now([422, 558, 792, 980]))
@pytest.mark.parametrize("make", EVERY)
def test_no_words_overlap_and_axe_finds_nothing(opened, make, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    pic = make()
    page = opened(pic, width)
    last = len(pic.scenes) - 1
    found = []
    for keys, steps in (
        (["ArrowRight"] * 3, [pic.prediction.stop]),
        (["Enter"], [pic.prediction.decided, last]),
    ):
        page.focus("[role=slider]")
        for key in keys:
            page.keyboard.press(key)
        if width > 422:
            for shown in page.evaluate(MEASURE, [steps, width - 32]):
                found += problems(f"{width} px, step {shown['step']}", shown)
        violations = axe.run(page, options={"resultTypes": ["violations"]}).response
        assert violations["violations"] == []
    assert not found, "\n".join(found)


CELL = "<div class=cell>{frame}<div class=minikafka-said><input id=said></div></div>"


def test_the_kernel_hears_what_was_dragged_and_what_was_clicked(chromium):
    page = chromium.new_page(reduced_motion="reduce")
    for pages, heard in ((0, "0.0 s"), (4, 3)):
        page.set_content(CELL.format(frame=rebalance().frame(at_end=True)))
        frame = page.frames[1]
        frame.focus("[role=slider]")
        for each in (*["PageUp"] * pages, "Enter"):
            page.keyboard.press(each)
        assert json.loads(page.input_value("#said"))["option"] == heard
    page.set_content(CELL.format(frame=rebalance().frame(at_end=True)))
    page.frames[1].click("#options button:nth-child(2)")
    assert json.loads(page.input_value("#said"))["option"] == 2
    page.close()
