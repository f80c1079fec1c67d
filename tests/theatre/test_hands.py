"""What is dragged in a live picture, in Chromium: by the mouse, by two clicks, and by
the keys.
"""

import json

import pytest

from minikafka import Cluster
from minikafka.theatre import picture
from minikafka.theatre.drawing import NARROW, WIDE
from tests.theatre import groups

pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
CELL = "<div class=cell>{frame}<div class=minikafka-act><input id=act></div></div>"


@pytest.fixture(scope="module")
def run():
    """Four orders, and billing, which needs 100 ms for each."""
    with Cluster(seed=1) as cluster:
        cluster.create_topic("orders")
        shop = cluster.producer(client_id="shop")
        for number in range(4):
            shop.send("orders", value=f"order {number}").get()
        member = {
            "group_id": "billing",
            "auto_offset_reset": "earliest",
            "processing_ms": 100,
        }
        billing = cluster.consumer("orders", client_id="billing", **member)
        for _ in range(4):
            billing.poll(timeout_ms=10_000, max_records=1)
        cluster.run(seconds=1)
        yield cluster.trace


@pytest.fixture
def opened(chromium, run):
    pages = []

    def open_(name, live, width=960):
        page = chromium.new_page(
            viewport={"width": width, "height": 700}, reduced_motion="reduce"
        )
        pages.append(page)
        page.set_content(
            CELL.format(frame=picture(name, run, live=live).frame(at_end=True))
        )
        frame = page.frames[1]
        frame.wait_for_selector("[data-onto]")
        return page, frame

    yield open_
    for page in pages:
        page.close()


def asked(page):
    """What the kernel is asked to do."""
    said = json.loads(page.input_value("#act") or "{}")
    return said.get("act"), said.get("onto")


def middle(frame, selector):
    box = frame.locator(selector).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def offset(frame, text):
    """Where the record with this value stands."""
    box = frame.locator(f"#drawing g:has-text('{text}')").first.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + 8


@pytest.mark.parametrize("width", [960, 540])
def test_a_reader_that_is_dragged_to_a_record_seeks_there(opened, width):
    page, frame = opened("log", live=True, width=width)
    page.mouse.move(*middle(frame, "[data-onto]"))
    page.mouse.down()
    page.mouse.move(*offset(frame, "order 1"), steps=4)
    assert frame.locator("#drawing .aimed").count() == 1
    page.mouse.up()
    assert (
        asked(page) == ("seek billing", "0/1")
        and frame.locator("#drawing .aimed").count() == 0
    )


def test_two_clicks_do_what_a_drag_does(opened):
    page, frame = opened("log", live=True)
    page.mouse.click(*middle(frame, "[data-onto]"))
    assert "Now click on its new place" in frame.text_content("#sentence") and asked(
        page
    ) == (None, None)
    page.mouse.click(*offset(frame, "order 2"))
    assert asked(page) == ("seek billing", "0/2")


def test_the_keys_do_it_too_and_escape_lets_go(opened):
    page, frame = opened("log", live=True)
    sentence = frame.text_content("#sentence")
    for keys in (
        ["Enter", "ArrowLeft", "Escape"],
        ["Enter", "ArrowLeft", "ArrowLeft", "Enter"],
    ):
        assert (
            asked(page) == (None, None) and frame.text_content("#sentence") == sentence
        )
        frame.focus("[data-onto]")
        for key in keys:
            page.keyboard.press(key)
    assert asked(page) == ("seek billing", "0/2")


def test_a_rate_is_dragged_along_its_scale(opened):
    page, frame = opened("lag", live={"billing": 100})
    x, y = middle(frame, "[data-onto]")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 1000, y, steps=3)  # the frame is left, and the pointer kept
    page.mouse.up()
    assert asked(page) == ("rate billing", "billing/12")


def test_a_page_without_a_kernel_says_what_to_do(chromium, run, tmp_path):
    picture("log", run, live=True).save(tmp_path / "page.html")
    page = chromium.new_page(reduced_motion="reduce")
    page.goto((tmp_path / "page.html").as_uri())
    page.keyboard.press("End")
    page.focus("[data-onto]")
    for key in ("Enter", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    assert "Run this cell again" in page.text_content("#sentence")
    page.close()


LIVE_CELL = CELL.replace(
    "</div></div>",
    "</div><div class=minikafka-width><input id=layout></div>"
    "<div class=minikafka-data id=data></div></div>",
)
GIVE = """play => {
  const node = document.createElement('i');
  node.dataset.play = play;
  document.getElementById('data').replaceChildren(node);
}"""


def test_a_page_says_which_layout_it_shows_and_is_given_the_other_when_it_needs_it(
    chromium,
    run,
):
    pic = picture("log", run, live=True)
    page = chromium.new_page(
        viewport={"width": 640, "height": 700}, reduced_motion="reduce"
    )
    page.set_content(LIVE_CELL.format(frame=pic.frame(at_end=True)))
    frame = page.frames[1]
    frame.wait_for_selector("[data-onto]")
    page.evaluate(GIVE, json.dumps(pic.data(at_end=True, widths=[NARROW])))
    page.wait_for_function("document.getElementById('layout').value === '560'")
    narrow = frame.locator("#drawing > *").count()

    page.set_viewport_size({"width": 1000, "height": 700})
    page.wait_for_function("document.getElementById('layout').value === '920'")
    wide = pic.data(widths=[WIDE])
    wide = {name: wide[name] for name in ("layouts", "texts")}
    page.evaluate(GIVE, json.dumps({**wide, "redrawn": True}))
    frame.wait_for_function(
        "before => document.querySelectorAll('#drawing > *').length !== before",
        arg=narrow,
    )
    assert frame.input_value("#scrub") == str(len(pic.scenes) - 1), "it stays there"
    page.close()


class Levers:
    """A group with levers on its members' cards, in a cell whose kernel listens."""

    def __init__(self, chromium):
        trace = groups.classic("range")
        self.picture = picture("rebalance", trace, live=True)
        self.page = chromium.new_page(
            viewport={"width": 960, "height": 900}, reduced_motion="reduce"
        )
        frame = self.picture.frame(at_end=True)
        self.page.set_content(LIVE_CELL.format(frame=frame))
        self.frame = self.page.frames[1]
        self.frame.wait_for_selector("rect[data-act^='freeze']")

    def pull(self, selector, x, y):
        self.page.mouse.move(*middle(self.frame, selector))
        self.page.mouse.down()
        self.page.mouse.move(x, y, steps=5)

    def at(self, part):
        """A point of the timeline, from 0 to 1."""
        box = self.frame.locator("#scrub").bounding_box()
        return box["x"] + part * box["width"], box["y"] + box["height"] / 2

    def asked(self):
        said = json.loads(self.page.input_value("#act") or "{}")
        return said.get("act"), said.get("at")

    def step(self):
        return int(self.frame.input_value("#scrub"))


@pytest.fixture
def levers(chromium):
    opened = Levers(chromium)
    yield opened
    opened.page.close()


def test_a_lever_that_is_pulled_onto_the_timeline_acts_at_that_moment(levers):
    levers.pull("rect[data-act^='freeze']", *levers.at(0.5))
    said, step = levers.frame.inner_text("#carried"), levers.step()
    scene = levers.picture.scenes[step]
    assert said.endswith(f"at {scene['time']}") and levers.asked() == (None, None)
    levers.page.mouse.up()
    act, at_ms = levers.asked()
    assert act.startswith("freeze") and at_ms == scene["at"]
    assert not levers.frame.query_selector("#carried")


def test_it_may_be_let_go_on_the_axis_in_the_picture(levers):
    """There the line of now follows."""
    lane = levers.frame.locator("[data-shape]", has_text="P0").last.bounding_box()
    drawn = levers.frame.locator("#drawing").bounding_box()
    x = drawn["x"] + drawn["width"] * 0.4
    levers.pull("rect[data-act^='freeze']", x, lane["y"] + 5)
    step = levers.step()
    levers.page.mouse.up()
    assert 0 < step < len(levers.picture.scenes) - 1
    assert levers.asked()[1] == levers.picture.scenes[step]["at"]


def test_let_go_anywhere_else_it_does_nothing_and_the_moment_is_the_same(levers):
    before = levers.step()
    levers.pull("rect[data-act^='freeze']", *levers.at(0.3))
    assert levers.step() != before
    levers.page.mouse.move(*middle(levers.frame, "#title"))
    levers.page.mouse.up()
    assert levers.asked() == (None, None) and levers.step() == before
    levers.frame.locator("rect[data-act^='freeze']:visible").first.click()
    assert levers.asked()[0].startswith("freeze"), "a click is still a click"


def test_the_flag_of_a_change_is_pulled_to_another_moment(levers):
    play = levers.picture.data(at_end=True)
    play["flags"] = [{"step": 12, "words": "frozen", "act": "move 0"}]
    levers.page.evaluate(GIVE, json.dumps(play))
    levers.frame.wait_for_selector("#ticks .flag[data-act]", state="attached")
    levers.pull("#ticks .flag", *levers.at(0.25))
    step = levers.step()
    levers.page.mouse.up()
    assert levers.asked() == ("move 0", levers.picture.scenes[step]["at"])
