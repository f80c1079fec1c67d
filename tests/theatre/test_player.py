"""What the player does with a page, in Chromium: light, faint things to come, room for
words, and fingers.
"""

from itertools import pairwise

import pytest

from minikafka.prediction import Prediction
from minikafka.theatre import picture
from tests.theatre import replicas
from tests.theatre.commit_traces import commit_first
from tests.theatre.groups import classic
from tests.theatre.overlaps import MARGIN, MEASURE, problems

pytest.importorskip("playwright.sync_api")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
CELL = (
    '<meta name="viewport" content="width=device-width,initial-scale=1">'
    "<div class=cell>{frame}<div class=minikafka-act><input id=act></div></div>"
)
SHOW = """
step => {
  const scrub = document.getElementById('scrub');
  scrub.value = step;
  scrub.dispatchEvent(new Event('input'));
}
"""


@pytest.fixture
def opened(chromium, tmp_path):
    """A picture's page, by whatever the browser calls its options."""
    contexts = []

    def open_(pic, width=960, **options):
        pic.save(tmp_path / "page.html")
        context = chromium.new_context(
            viewport={"width": width, "height": 844}, reduced_motion="reduce", **options
        )
        contexts.append(context)
        page = context.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()


def test_words_in_the_light_keep_their_strokes(opened):
    """A stroke of three pixels makes a black blob of them."""
    pic = picture("commit", commit_first())
    page = opened(pic)
    lit_texts = 0
    for scene in pic.scenes:
        if "light" in scene:
            page.evaluate(SHOW, scene["step"])
            strokes = page.eval_on_selector_all(
                "#drawing text.lit",
                "all => all.map(each => [getComputedStyle(each).stroke,"
                " each.style.stroke])",
            )
            lit_texts += len(strokes)
            assert all(now == "none" or own != "none" for now, own in strokes)
            cells = page.locator("#drawing .lit")
            assert cells.count() > 0
    page.evaluate("() => document.querySelector('#drawing text').classList.add('lit')")
    first = page.locator("#drawing text.lit").first
    assert first.evaluate("each => getComputedStyle(each).stroke") == "none"


def test_levers_are_never_dimmed(opened):
    pic = picture("quorum", replicas.stale(), live=True)
    page = opened(pic)
    lit = [scene["step"] for scene in pic.scenes if "light" in scene]
    assert lit
    for step in lit:
        page.evaluate(SHOW, step)
        assert page.locator("#drawing > .dim").count() > 0
        assert page.locator("#drawing [data-act].dim:visible").count() == 0


@pytest.mark.parametrize("width", [526, 760])
def test_what_is_to_come_is_faint_and_lies_on_no_words_when_one_goes_back(
    opened, width
):
    pic = picture("rebalance", classic())
    page = opened(pic, width + MARGIN)
    page.keyboard.press("End")
    steps = list(range(0, len(pic.scenes), 6))
    found = []
    for shown in page.evaluate(MEASURE, [steps, width]):
        found += problems(f"step {shown['step']}", shown)
    assert found == []


@pytest.mark.parametrize("width", [390, 800])
def test_a_long_sentence_makes_no_room_and_can_be_read(opened, width):
    trace = list(replicas.stale())
    pic = picture("quorum", trace)
    longest = max(pic.scenes, key=lambda scene: len(scene["sentence"]))
    shortest = min(pic.scenes, key=lambda scene: len(scene["sentence"]))
    page = opened(pic, width)
    height = "() => document.getElementById('said').offsetHeight"
    line = page.evaluate(
        "() => parseFloat(getComputedStyle(document.getElementById('said')).lineHeight)"
    )
    page.evaluate(SHOW, shortest["step"])
    room = page.evaluate(height)
    page.evaluate(SHOW, longest["step"])
    assert page.evaluate(height) <= 3 * line + 12
    if width > 560:  # on a phone a sheet grows over the picture
        assert page.evaluate(height) == room
    said = page.locator("#said")
    assert "long" in said.get_attribute("class")
    said.evaluate("said => { said.scrollTop = said.scrollHeight; }")
    foot = said.evaluate("said => said.getBoundingClientRect().bottom")
    words = page.locator("#sentence").evaluate(
        "words => words.getBoundingClientRect().bottom"
    )
    assert words <= foot


def test_nothing_is_clipped_at_the_upper_edge_of_the_stage(opened):
    page = opened(picture("quorum", replicas.stale()))
    above = page.evaluate(
        "() => document.getElementById('drawing').getBoundingClientRect().top"
        " - document.getElementById('stage').getBoundingClientRect().top"
    )
    assert above >= 2  # half the line of what is lit


def test_a_finger_finds_every_button_of_the_player(opened):
    page = opened(
        picture("commit", commit_first()), 390, has_touch=True, is_mobile=True
    )
    page.tap("#text")
    sizes = page.eval_on_selector_all(
        "button, select",
        "all => all.filter(each => each.checkVisibility()).map(each =>"
        " [each.id, each.offsetWidth, each.offsetHeight])",
    )
    assert len(sizes) >= 4
    assert [size for size in sizes if min(size[1:]) < 44] == []
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width == 390


def test_a_finger_that_is_beside_a_lever_means_it_and_far_from_all_means_none(chromium):
    pic = picture("quorum", replicas.stale(), live=True)
    with chromium.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    ) as context:
        page = context.new_page()
        page.set_content(CELL.format(frame=pic.frame(at_end=True)))
        frame = page.frames[1]
        lever = frame.wait_for_selector("[data-act='kill broker 3']")
        lever.scroll_into_view_if_needed()
        box = lever.bounding_box()
        middle = box["x"] + box["width"] / 2
        page.touchscreen.tap(middle, box["y"] + box["height"] + 15)
        assert '"act":"kill broker 3"' in page.input_value("#act")
        page.evaluate("document.getElementById('act').value = ''")
        page.touchscreen.tap(middle + 150, box["y"] - 40)
        assert page.input_value("#act") == ""


def test_whoever_steps_is_told_of_slow_motion_and_of_silence(opened):
    """As while it plays: a burst takes longer than it did, and silence is cut short."""
    pic = picture("replica-set", replicas.acks_1(), seed=3)
    page = opened(pic)
    assert page.is_hidden("#corner")
    page.click("#help")
    said = {}
    for scene in pic.scenes:
        page.evaluate(SHOW, scene["step"])
        said[scene["step"]] = page.inner_text("#corner")
    gaps = {
        after["step"]: after["at"] - scene["at"]
        for scene, after in pairwise(pic.scenes)
    }
    assert said[0] == "seed 3"
    shortest = min(gaps, key=lambda step: (gaps[step], step))
    assert "slow motion" in said[shortest]
    longest = max(gaps, key=lambda step: (gaps[step], step))
    assert f"× time · {gaps[longest] / 1000:.1f} s later" in said[longest]


def test_the_header_is_as_high_after_the_window_has_changed(opened):
    """A frame changes its height with what it holds: what is said beside the title
    stays what it was.
    """
    pic = picture("replica-set", replicas.acks_1(), seed=3)
    page = opened(pic, 390)
    of_header = "() => document.querySelector('header').offsetHeight"
    for scene in pic.scenes:
        page.evaluate(SHOW, scene["step"])
        before = page.evaluate(of_header), page.inner_text("#corner")
        page.evaluate("() => dispatchEvent(new Event('resize'))")
        assert (page.evaluate(of_header), page.inner_text("#corner")) == before


TOPS = """
steps => steps.map(step => {
  const scrub = document.getElementById('scrub');
  scrub.value = step;
  scrub.dispatchEvent(new Event('input'));
  return document.getElementById('stage').getBoundingClientRect().top;
})
"""


def asked_late():
    """Which stops to ask in the middle, and is decided some steps later."""
    pic = picture("commit", commit_first())
    last = len(pic.scenes) - 1
    asked = Prediction(
        "What comes again, when the reader is there again?",
        ["nothing", "what was done and not committed"],
        answer=2,
        because=[
            "Nobody but the group knows where it was, and it had not said so yet, so"
            " that is not known to anybody.",
            "The committed offset is what is read next.",
        ],
    )
    asked.stop, asked.decided = last // 3, last - 2
    pic.prediction = asked
    return pic, asked


@pytest.mark.parametrize("width", [390, 980])
@pytest.mark.parametrize("option", ["first-child", "last-child"])
def test_the_drawing_stays_where_it_is_from_the_question_on(opened, width, option):
    pic, asked = asked_late()
    page = opened(pic, width)
    page.keyboard.press("End")
    top = "() => document.getElementById('stage').getBoundingClientRect().top"
    at_the_question = page.evaluate(top)
    page.click(f"#options button:{option}")
    tops = page.evaluate(TOPS, list(range(asked.stop, len(pic.scenes))))
    assert set(tops) == {at_the_question}


@pytest.fixture
def moving(chromium, tmp_path):
    """A picture's page for somebody who likes motion."""
    pages = []

    def open_(pic, height=844):
        pic.save(tmp_path / "page.html")
        page = chromium.new_page(viewport={"width": 980, "height": height})
        pages.append(page)
        page.clock.install()
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield open_
    for page in pages:
        page.close()


def number_of(page):
    return int(page.input_value("#scrub"))


def test_it_plays_up_to_its_question_by_itself_and_a_digit_answers(moving):
    pic, asked = asked_late()
    page = moving(pic)
    assert number_of(page) <= asked.stop
    page.clock.run_for(5000)
    page.wait_for_selector("#ask", state="visible")
    assert number_of(page) == asked.stop
    assert page.evaluate("document.activeElement.id") == "question"
    page.keyboard.press("3")  # there are two
    assert page.is_visible("#ask")
    page.keyboard.press("2")
    page.clock.run_for(15_000)
    page.wait_for_selector("#verdict", state="visible")
    assert page.get_attribute("#verdict", "class") == "right"


def test_what_asks_nothing_plays_from_the_start_as_soon_as_it_is_seen(moving):
    page = moving(picture("commit", commit_first()), height=100)
    page.clock.run_for(5000)
    assert number_of(page) == 0
    page.set_viewport_size({"width": 980, "height": 844})
    for _ in range(50):  # until it has been told that it is seen
        page.clock.run_for(1000)
    assert number_of(page) > 0


def test_whoever_touches_it_first_decides_where_it_stands(moving):
    page = moving(picture("commit", commit_first()))
    page.keyboard.press("End")
    last = number_of(page)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.clock.run_for(60_000)
    assert last > 1 and number_of(page) == 1


IN_THE_WINDOW = """
frame => {
  const { top, bottom: end } = frame.getBoundingClientRect(), inside = frame.contentDocument;
  const { bottom } = inside.getElementById('sheet').getBoundingClientRect();
  return Math.round(Math.min(innerHeight, end) - top - bottom);
}
"""


def test_in_a_frame_the_sheet_of_a_phone_is_at_the_bottom_of_what_is_seen_of_it(
    chromium,
):
    pic, _ = asked_late()
    with chromium.new_context(
        viewport={"width": 390, "height": 560}, reduced_motion="reduce"
    ) as context:
        page = context.new_page()
        words = "<p>words</p>" * 40
        page.set_content(words + CELL.format(frame=pic.frame()) + words)
        page.frames[1].wait_for_selector("#ask", state="visible")
        for block in ("start", "center"):
            page.locator("iframe").evaluate(
                "(frame, block) => frame.scrollIntoView({ block })", block
            )
            page.wait_for_function(
                f"({IN_THE_WINDOW})(document.querySelector('iframe')) === 0"
            )


@pytest.mark.parametrize("width", [390, 980])
def test_there_is_one_box_for_the_caption_the_question_and_the_verdict(opened, width):
    """While it asks, no caption; until the verdict, a line says what was said."""
    pic, asked = asked_late()
    page = opened(pic, width)
    page.keyboard.press("End")
    assert page.is_visible("#ask") and page.is_hidden("#said")
    page.click("#options button:first-child")
    page.evaluate(SHOW, asked.decided - 1)
    assert page.is_visible("#said") and page.is_hidden("#ask")
    assert page.inner_text("#yours") == "You said (1) nothing."
    page.evaluate(SHOW, asked.decided)
    assert page.is_visible("#said") and page.is_hidden("#yours")
    assert page.inner_text("#verdict b") == "(2) what was done and not committed"


def test_once_answered_a_phones_sheet_is_low_and_the_rest_of_why_unfolds(opened):
    pic, asked = asked_late()
    page = opened(pic, 390)
    page.keyboard.press("End")
    page.click("#options button:first-child")
    high = "() => document.getElementById('sheet').offsetHeight"
    for step in range(asked.stop, len(pic.scenes)):
        page.evaluate(SHOW, step)
        assert page.evaluate(high) <= 150
    assert "You said" not in page.inner_text("#verdict")
    page.click("#why")
    assert "You said (1) nothing." in page.inner_text("#verdict")
    assert page.is_hidden("#why")


@pytest.mark.parametrize("width", [390, 980])
def test_a_question_and_an_answer_bring_the_controls_to_the_windows_top(opened, width):
    """From under the head of a site, say."""
    pic, _ = asked_late()
    page = opened(pic, width)
    page.evaluate("document.body.prepend(document.createElement('header'))")
    page.add_style_tag(content="body > header { height: 120px }")
    top = "() => document.getElementById('bar').getBoundingClientRect().top"
    page.evaluate(SHOW, 0)
    page.evaluate("scrollTo(0, 0)")
    page.keyboard.press("End")
    assert page.is_visible("#ask") and 0 <= page.evaluate(top) <= 8
    page.evaluate("scrollTo(0, 0)")
    page.click("#options button:first-child")
    assert page.evaluate(top) <= 8


def test_one_event_needs_no_player(opened):
    pic = picture("commit", commit_first()[:1])
    assert len(pic.scenes) == 1
    page = opened(pic)
    assert not page.is_visible("#go") and not page.is_visible("#keys")


def test_a_phone_gets_no_hints_on_keys(opened):
    pic = picture("commit", commit_first())
    page = opened(pic, 390, has_touch=True, is_mobile=True)
    assert not page.is_visible("#keys") and not page.is_visible("#help")
    assert page.locator("#bar").bounding_box()["height"] < 100
