"""The saved page in a browser: steps, keys, themes, and axe-core. JupyterLab has its
own test in tests/browser.
"""

import pytest

from minikafka.course.experiments.lesson_12_frames import play
from minikafka.course.experiments.lesson_19_checkpoints import RECORDED
from minikafka.theatre import picture
from tests.seeds import first_now
from tests.theatre import frames
from tests.theatre.cleaned import moves, tombstone
from tests.theatre.commit_traces import commit_after, commit_first, piling_up
from tests.theatre.groups import classic, consumer
from tests.theatre.shared import hangs, many, slow
from tests.theatre.test_pipeline import three_partitions, turned_round
from tests.theatre.traces import alice, growing, retention

pytest.importorskip("playwright.sync_api")
pytestmark = [
    pytest.mark.first,
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
EVERY = [
    ("log", retention),
    ("log", alice),
    ("partitioner", growing),
    ("bytes", frames.request),
    ("bytes", frames.batch),
    ("cleaner", moves),
    ("cleaner", tombstone),
    ("commit", commit_after),
    ("commit", commit_first),
    ("lag", piling_up),
    ("micro-batch", RECORDED.trace),
    ("rebalance", classic),
    ("rebalance", consumer),
    ("pipeline", turned_round),
    ("pipeline", three_partitions),
    ("share-partition", slow),
    ("share-partition", hangs),
    ("share-partition", many),
]
DIMMED = (
    "() => [...document.querySelectorAll('#drawing > .dim')].filter(e =>"
    " e.style.display !== 'none').length"
)
SIZES = first_now([(420, "light"), (700, "dark"), (960, "light")])
THEMES = first_now(["light", "dark"])


@pytest.fixture
def opened(chromium, tmp_path):
    pages = []

    def open_(pic, width=960, theme="light", motion="reduce"):
        pic.save(tmp_path / "page.html")
        page = chromium.new_page(
            viewport={"width": width, "height": 647},
            color_scheme=theme,
            reduced_motion=motion,
        )
        pages.append(page)
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield open_
    assert [page.errors for page in pages] == [[] for _ in pages]
    for page in pages:
        page.close()


def sentence(page):
    return page.text_content("#sentence")


def test_keys_step_through_it_and_without_motion_it_never_starts_by_itself(opened):
    pic = picture("log", retention(), seed=7)
    page = opened(pic)
    assert (
        sentence(page) == pic.sentence(pic.scenes[0])
        and page.text_content("#go").strip() == "play"
    )
    for key, step in [
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("End", -1),
        ("Home", 0),
        ("n", 1),
    ]:
        page.keyboard.press(key)
        assert sentence(page) == pic.sentence(pic.scenes[step]), key
    page.keyboard.press(" ")
    assert page.text_content("#go").strip() == "pause"
    page.keyboard.press(" ")
    assert page.text_content("#go").strip() == "play"


def test_chapters_and_rows_ahead_are_hidden_until_it_was_played_to_the_end(opened):
    pic = picture("log", retention())
    page = opened(pic)
    page.keyboard.press("t")
    assert (
        page.locator("#ticks i").count() == 0 and page.locator("tbody tr").count() == 1
    )
    page.keyboard.press("End")
    page.keyboard.press("Home")
    assert page.locator("tbody tr").count() == len(pic.scenes)
    assert page.locator("#ticks i").count() == sum(
        1 for scene in pic.scenes if scene["chapter"]
    )


def test_stepping_back_shows_what_was_there(opened):
    page = opened(picture("log", alice()))
    page.keyboard.press("ArrowRight")
    visible = "all => all.filter(e => e.style.display !== 'none').map(e => e.outerHTML)"
    then = page.eval_on_selector_all("#drawing > [data-shape]", visible)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert page.eval_on_selector_all("#drawing > [data-shape]", visible) == then


def test_what_a_step_is_about_is_lit_and_the_rest_dimmed_with_motion_as_without(opened):
    pic = picture("commit", commit_first())
    lit = next(scene["step"] for scene in pic.scenes if "light" in scene)
    seen = []
    for motion in ("reduce", "no-preference"):
        page = opened(pic, motion=motion)
        for _ in range(lit):
            page.keyboard.press("ArrowRight")
        if seen:  # what moves arrives by and by
            page.wait_for_function(f"count => ({DIMMED})() === count", arg=seen[0])
        seen.append(page.evaluate(DIMMED))
        assert page.locator("#drawing .lit").count() > 0
    assert seen[0] > 0


def test_a_phones_page_does_not_go_up_for_what_is_lit_and_has_no_place_yet(opened):
    pic = picture("commit", commit_after())
    doubled = next(
        scene["step"] for scene in pic.scenes if "effect/3/2" in scene.get("light", ())
    )
    page = opened(pic, width=390, motion="no-preference")
    page.locator("#scrub").fill(str(doubled - 1))
    page.evaluate("() => { scrolled = []; scrollBy = ({ top }) => scrolled.push(top) }")
    page.keyboard.press("ArrowRight")
    page.locator("#drawing .lit").last.wait_for(state="attached")
    assert all(top > 0 for top in page.evaluate("scrolled"))


def test_hovering_an_effect_marks_its_cause(opened):
    page = opened(picture("log", retention()))
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.hover("#said")
    assert "because of event" in page.text_content(
        "#foot"
    ) and "is deleted as a whole" in page.text_content("#foot")
    assert page.locator("#drawing .cause").count() > 0


def test_hovering_a_record_marks_its_whole_way(opened):
    page = opened(picture("log", alice()))
    page.keyboard.press("End")
    page.hover("#drawing g:has-text('created')")
    # in the log, in the tray, and its marks in two lanes
    assert page.locator("#drawing .cause").count() == 4


def focused(page):
    return page.evaluate("document.activeElement.dataset.act")


def test_hovering_a_byte_marks_its_field_and_so_does_the_focus(opened):
    page = opened(picture("bytes", frames.batch()))
    page.hover("#drawing rect[aria-label^='byte 66:']")
    # alice, her length, and the field's line
    assert page.locator("#drawing .cause").count() == 7
    page.focus("#drawing [data-grid=fields][tabindex='0']")
    page.keyboard.press("ArrowDown")
    assert page.text_content("#foot").startswith("bytes 8 to 11: BatchLength, int32")
    assert page.locator("#drawing .cause").count() == 5


def test_two_digits_are_typed_onto_a_byte_and_arrow_keys_go_from_byte_to_byte(opened):
    page = opened(picture("bytes", frames.request(), live=True))
    page.click("#drawing [data-act='byte 18']")
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
    assert focused(page) == "byte 18" and page.input_value("#scrub") == "0"
    page.keyboard.press("7")
    hex_of = "document.activeElement.nextElementSibling.textContent"
    assert page.evaluate(hex_of) == "7_"
    page.keyboard.press("Escape")
    assert page.evaluate(hex_of) == "00"
    page.keyboard.type("7f")
    assert "the levers need its kernel" in sentence(page)  # a saved page has none


def test_a_byte_of_a_saved_picture_takes_no_digit(opened):
    page = opened(picture("bytes", frames.request()))
    page.focus("#drawing [data-grid=bytes][tabindex='0']")
    page.keyboard.type("7f")
    assert sentence(page) == "The frame has 123 bytes and 32 fields."
    assert "read-only here" in page.text_content("#scenario")


def test_a_click_on_a_byte_of_a_page_without_python_flips_it_and_another_takes_it_back(
    opened,
):
    page = opened(play(frames.frames()["answer"]))
    page.click("#drawing [data-act='step 34']")
    assert sentence(page).startswith("Byte 33 changes from 00 to 01, so BaseOffset is")
    page.focus("#drawing [data-act='step 35']")
    page.keyboard.press("Enter")
    assert sentence(page).startswith("Byte 34 changes from ff to fe")
    page.click("#drawing [data-act='step 0']")
    assert sentence(page) == "The frame has 60 bytes and 12 fields."


def test_a_prediction_stops_it_until_an_option_is_clicked(opened):
    question = {
        "question": "A reader sees...",
        "options": ["created, paid", "paid, created"],
        "mine": None,
    }
    pic = picture(
        "log",
        alice(),
        prediction=question,
        surprise=lambda event: event.kind == "RecordsPolled",
        answer=2,
    )
    page = opened(pic)
    page.keyboard.press("End")
    assert sentence(page) == pic.sentence(
        pic.scenes[pic.prediction.stop]
    ) and page.is_visible("#ask")
    page.click("#options button:first-child")
    assert not page.is_visible("#ask")
    assert (
        page.text_content("#verdict")
        == "You said (1) created, paid. It was (2) paid, created."
    )
    page.keyboard.press("End")
    assert sentence(page) == pic.sentence(pic.scenes[-1])


def test_a_clicked_option_hears_its_own_sentence_when_the_answer_is_decided_and_not_before(
    opened,
):
    question = {
        "question": "?",
        "options": ["none", "one", "three"],
        "because": ["None.", "One.", "Three."],
    }

    def polls(trace):
        return min(3, sum(event.kind == "RecordsPolled" for event in trace))

    pic = picture(
        "log",
        alice(),
        prediction=question,
        surprise=lambda event: event.kind == "RecordsPolled",
        answer=polls,
    )
    page = opened(pic)
    page.keyboard.press("End")
    page.click("#options button:first-child")
    page.keyboard.press("Home")
    for _ in range(pic.prediction.decided):
        assert not page.is_visible("#verdict")
        page.keyboard.press("ArrowRight")
    assert (
        page.inner_text("#verdict")
        == "You said (1) none. None.\nIt was (3) three. Three."
    )


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_wider_than_the_page_and_no_text_smaller_than_twelve_pixels(
    opened, size
):
    width, theme = size
    for name, trace in EVERY:
        page = opened(picture(name, trace()), width, theme)
        page.keyboard.press("End")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        sizes = page.eval_on_selector_all(
            "#drawing text",
            "all => all.map(t => parseFloat(getComputedStyle(t).fontSize))",
        )
        assert min(sizes) >= 12
        if width == 960:  # it grows with its window, up to its height
            high = page.evaluate("document.querySelector('main').offsetHeight")
            assert high <= page.viewport_size["height"], name


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_no_violation_on_a_narrow_page_either(opened, theme):
    """On wide ones tests/theatre/test_lessons_browser.py looks, at every picture of
    every lesson.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for name, trace in dict(EVERY).items():
        page = opened(picture(name, trace()), 420, theme)
        for key in ("End", "t"):
            page.keyboard.press(key)
            assert axe.run(page).response["violations"] == [], (name, key)
