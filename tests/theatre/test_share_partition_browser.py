"""The share partition's page in a browser, from a phone to a wide window."""

import pytest

from minikafka.theatre import picture
from tests.chromium import running_chromium
from tests.theatre import overlaps, shared

pytest.importorskip("playwright.sync_api")
axe_api = pytest.importorskip("axe_playwright_python.sync_playwright")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
EVERY = 5  # so many steps one is measured, and those that have light
PHONE = 390 - overlaps.MARGIN
QUESTION = {
    "question": "Worker A needs four seconds for an order. Who waits for it?",
    "options": ["everybody behind it", "nobody in the share group"],
    "mine": None,
}


@pytest.fixture(scope="module")
def pages():
    with running_chromium() as browser:
        yield {
            theme: browser.new_page(color_scheme=theme, reduced_motion="reduce")
            for theme in ("light", "dark")
        }


def is_next_one(event):
    """Somebody gets a record while the slow one is in hand."""
    return event.kind == "ShareRecordsAcquired" and event.at > 5_000


def asked():
    return picture(
        "share-partition",
        shared.slow(),
        prediction=QUESTION,
        surprise=is_next_one,
        answer=2,
    )


@pytest.mark.parametrize("number", range(len(shared.RUNS)))
def test_no_two_texts_overlap_and_axe_finds_nothing(
    pages, tmp_path, monkeypatch, number
):
    run = shared.RUNS[number]
    monkeypatch.setattr(overlaps, "DRAWN", (PHONE, *overlaps.DRAWN))
    page = pages[("light", "dark")[number % 2]]
    pic = picture("share-partition", run())
    steps = range(0, len(pic.scenes), EVERY)
    found = overlaps.visit(page, run.__name__, pic, tmp_path, axe_api.Axe(), steps)
    assert found.overlaps == found.violations == []


def test_it_stops_to_ask_and_says_nothing_of_the_answer_before(pages, tmp_path):
    found = overlaps.visit(pages["light"], "asked", asked(), tmp_path)
    assert found.verdicts == found.overlaps == []


def test_hovering_a_record_marks_it_in_the_log_in_both_groups_and_in_the_lanes(
    pages, tmp_path
):
    page = pages["light"]
    page.set_viewport_size({"width": 980, "height": 700})
    picture("share-partition", shared.slow()).save(tmp_path / "page.html")
    page.goto((tmp_path / "page.html").as_uri())
    page.keyboard.press("End")
    word = page.locator("#drawing text:has-text('slow')").bounding_box()
    page.mouse.move(word["x"] + 5, word["y"] + 5)
    # in the log, in either group, and its bars in two lanes
    assert page.locator("#drawing .cause").count() == 5
