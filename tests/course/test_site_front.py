"""The site's front page, and the playground's plays that are made with it, as files."""

import json
import re
from html.parser import HTMLParser

import pytest

from minikafka.clients.partitioners import murmur2
from minikafka.course.contents import contents
from minikafka.course.experiments.from_trace import partition_for, values_read
from minikafka.course.publishing import playground, playground_plays, site, site_hook
from tests.browser.site import SUB_PATH, Tab, served
from tests.chromium import running_chromium

pytestmark = pytest.mark.slow

KILOBYTE = 1024


@pytest.fixture(scope="module")
def trace():
    return site_hook.run()


@pytest.fixture(scope="module")
def front():
    return site.front()


def test_what_the_front_page_plays_is_what_its_run_did(trace):
    facts = site_hook.facts(trace)
    before, asked = facts["chosen"]
    assert asked["partition"] + 1 == partition_for("paid")(trace)
    assert (before["partitions"], asked["partitions"]) == (2, 3)
    for choice in facts["chosen"]:
        positive = murmur2(choice["key"].encode()) & 0x7FFFFFFF
        assert choice["hash"] == positive
        assert choice["partition"] == positive % choice["partitions"]
    assert ", then ".join(each["value"] for each in facts["read"]) == values_read(trace)


def test_the_front_page_asks_what_lesson_00_asks(front):
    asked = contents()["00"].predictions[0]
    assert asked.question.split(". ")[-1].replace("'", "’") in front
    assert len(site_hook.facts(site_hook.run())["because"]) == len(asked.options)


def test_the_front_page_weighs_less_than_60_kb_with_all_that_its_question_needs(front):
    kilobytes = len(front.encode()) / KILOBYTE
    print(f"the front page: {kilobytes:.1f} kB")
    assert kilobytes < 60
    eager = [tag for tag in re.findall("<img [^>]*>", front) if "lazy" not in tag]
    assert eager == []
    assert re.findall("<script [^>]*src=|<link [^>]*stylesheet", front) == []


def test_the_front_page_tells_of_every_lesson_with_a_picture_and_a_sentence(front):
    for lesson in contents().values():
        assert f'src="pictures/{lesson.number}-card.svg"' in front
        words = site.sentence(lesson)
        assert words.endswith((".", "?")) and not re.search(r"[*`\[]", words), words
    assert front.count("<ul") == front.count("</ul>")


class Links(HTMLParser):
    """The names of the plays that a page leads to."""

    def __init__(self, html):
        super().__init__()
        self.plays = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        link = dict(attributes).get("href") or ""
        if link.startswith("#play="):
            self.plays.append(link.removeprefix("#play="))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / SUB_PATH.strip("/")
    folder.mkdir(parents=True)
    site.place_playground(folder)
    return folder


def test_each_play_that_the_playground_offers_is_made_with_it(folder):
    page = (folder / "playground.html").read_text(encoding="utf-8")
    names = [each.name for each in playground_plays.ALL]
    assert Links(page).plays == names
    assert sorted(path.stem for path in (folder / "plays").iterdir()) == sorted(names)
    first = f'<iframe src="plays/{names[0]}.html"'
    assert first in page


@pytest.mark.parametrize("ready", playground_plays.ALL, ids=lambda each: each.name)
def test_a_play_that_is_ready_is_the_one_that_its_settings_make(folder, ready):
    asked = json.loads(ready.question)
    made = json.loads(playground.answer(json.dumps(asked)))
    page = (folder / "plays" / f"{ready.name}.html").read_text(encoding="utf-8")
    assert page == made["page"]
    for what in ready.changes:
        assert what[1] in page
    assert made["times"][0] <= ready.ms < made["times"][-1]


def test_of_the_two_brokers_that_are_killed_only_one_is_the_active_controller(folder):
    page = (folder / "playground.html").read_text(encoding="utf-8")
    [plays] = re.findall(
        '<script type="application/json" id="plays">(.*?)</script>', page
    )
    least = {
        name: min(each["watched"]["numbers"]["active controllers"])
        for name, each in json.loads(plays).items()
    }
    assert least.pop("the-controller-dies") == 0
    assert set(least.values()) == {1}


@pytest.mark.browser
@pytest.mark.parametrize("name", ["two-readers", "a-broker-dies"])
def test_on_a_phone_a_thumb_reaches_the_levers_beside_the_cluster(folder, name):
    root = folder.parents[SUB_PATH.count("/") - 1]
    with served(root) as address, running_chromium() as browser:
        page = Tab(browser, address).page
        page.set_viewport_size({"width": 390, "height": 660})
        page.goto(f"{address}/playground.html#play={name}")
        buttons = page.locator("#reach button:visible")
        buttons.first.wait_for()
        drawing = page.frame_locator("#stage iframe").locator("#drawing")
        drawing.evaluate(
            "e => e.ownerDocument.defaultView.frameElement.scrollIntoView()"
        )
        boxes = [button.bounding_box() for button in buttons.all()]
        assert len(boxes) >= 6
        assert all(box["height"] >= 44 and box["width"] >= 44 for box in boxes)
        assert all(box["y"] + box["height"] <= 660 for box in boxes)
        top, above = drawing.bounding_box()["y"], min(box["y"] for box in boxes)
        assert 0 <= top < above - 250
        sheet = page.frame_locator("#stage iframe").locator("#sheet").bounding_box()
        assert sheet["y"] + sheet["height"] <= above
        whose = buttons.nth(1).text_content()
        buttons.nth(1).click()
        lever = page.locator("#reach p").nth(1).locator("button").last
        words = lever.text_content()
        lever.click()
        asked = json.loads(page.input_value(".minikafka-act input"))
        assert asked["act"] == f"{words} {whose}"
        page.set_viewport_size({"width": 1280, "height": 720})
        assert not page.is_visible("#reach")


@pytest.mark.browser
def test_on_a_phone_a_lesson_has_no_picture_too_small_to_read(front, tmp_path):
    path = tmp_path / "index.html"
    path.write_text(front, encoding="utf-8")
    with running_chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 660})
        page.goto(path.as_uri())
        cards = page.locator("#lessons .cards")
        assert cards.locator("img:visible").count() == 0
        assert cards.locator("h3:visible").count() == len(contents())
        page.set_viewport_size({"width": 1280, "height": 720})
        assert cards.locator("img:visible").count() == len(contents())
