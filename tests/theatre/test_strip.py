"""The strip over a picture: cells that are pointed at, chosen, and gone through by keys;
and what a browser sees of them at several widths.
"""

import pytest

from minikafka.course import levers
from minikafka.course.experiments.lesson_09_runs import SENT, fared, five_orders
from minikafka.faults import Crash, Freeze
from minikafka.simulation.fault_map import fault_map

pytest.importorskip("playwright.sync_api")
axe_api = pytest.importorskip("axe_playwright_python.sync_playwright")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
FAULTS = [Crash(1, restart_after_ms=20_000), Freeze(1, at_ms=0, for_ms=12_000)]
LOST = "acknowledged records lost"
NOTHING_LOST = "nothing acknowledged lost"
TALL = {"width": 1280, "height": 900}  # the map and its picture fit


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A page that holds all its runs."""
    found = fault_map(five_orders, FAULTS, fared, [4985, 5025], keeps_traces=True)
    path = tmp_path_factory.mktemp("strip") / "page.html"
    levers.faults(found, marks=SENT).alone().save(path)
    return path


@pytest.fixture
def asking(chromium, path):
    page = chromium.new_page(reduced_motion="reduce", viewport=TALL)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    yield page
    page.close()
    assert errors == []


@pytest.fixture
def page(asking):
    """The page of somebody who does not want to guess."""
    asking.get_by_role("button", name="show all").click()
    return asking


def told(page, but=""):
    """All that one can read of the cells, and hear."""
    read = "cells => cells.flatMap(c => [c.textContent, c.title, c.ariaLabel])"
    return " ".join(page.locator(f"#strip [data-key]{but}").evaluate_all(read))


def shows(page, words):
    page.locator(f'#drawing[aria-label*="{words}"]').wait_for()


def test_but_for_the_run_that_is_shown_a_map_is_blank_until_somebody_guesses(asking):
    shows(asking, NOTHING_LOST)
    asking.locator('[data-key="1/0"]').hover()
    cells = told(asking, ":not([aria-selected=true])")
    for words in (cells, asking.locator("#strip .told").text_content()):
        assert (
            "nothing" not in words
            and "waited" not in words
            and "l" not in words.split()
        )
    asking.locator('[data-key="1/0"]').click()
    assert "✗ You chose “broker 1 freezes" in asking.text_content("#strip .asks")
    assert "1 of 4 runs end like this: lost." in asking.text_content("#strip .asks")
    assert "waited 12 s" in told(asking)
    shows(asking, NOTHING_LOST)


def test_a_guess_that_is_right_is_told_so_and_its_run_is_shown(asking):
    asking.locator('[data-key="1/1"]').focus()
    asking.keyboard.press("Enter")
    assert "✓ You chose “broker 1 freezes" in asking.text_content("#strip .asks")
    asking.locator("#scrub").press("End")
    shows(asking, LOST)


def test_pointing_at_a_cell_shows_its_run_and_leaving_the_chosen_one_again(page):
    page.locator('[data-key="1/0"]').hover()
    shows(page, NOTHING_LOST)
    assert "waited 12 s" in page.locator("#strip .fate").text_content()
    page.mouse.move(5, 5)
    shows(page, LOST)


def test_a_cell_that_is_chosen_stays_and_begins_at_its_fault(page):
    page.locator('[data-key="1/0"]').click()
    page.locator("#ticks .flag").wait_for(state="attached")
    assert page.locator("#scrub").input_value() != page.get_attribute("#scrub", "max")
    page.mouse.move(5, 5)
    page.locator("#scrub").press("End")
    shows(page, NOTHING_LOST)


def test_arrow_keys_take_the_fault_along_time_and_the_run_follows(page):
    page.locator('[aria-selected="true"]').focus()
    page.keyboard.press("ArrowLeft")
    shows(page, NOTHING_LOST)
    assert page.locator(":focus").get_attribute("data-key") == "1/0"
    page.keyboard.press("End")
    shows(page, LOST)
    assert page.locator('#strip [tabindex="0"]').count() == 1


def test_a_fault_that_is_dragged_along_time_takes_the_run_with_it_and_stays(page):
    from_here = page.locator('[data-key="1/1"]').bounding_box()
    to = page.locator('[data-key="0/0"]').bounding_box()  # beside its own row, too
    page.mouse.move(from_here["x"] + 5, from_here["y"] + 5)
    page.mouse.down()
    page.mouse.move(to["x"] + 5, to["y"] + 5)
    shows(page, NOTHING_LOST)
    assert page.locator("#strip .shown").get_attribute("data-key") == "1/0"
    page.mouse.move(to["x"] - 200, to["y"] - 40)
    page.mouse.up()
    chosen = page.locator('#strip [aria-selected="true"]')
    assert chosen.get_attribute("data-key") == "1/0"
    page.mouse.move(5, 5)
    shows(page, NOTHING_LOST)
    assert "freezes for 12 s at 4.985 s" in page.text_content("#strip .fate")


def test_a_finger_that_is_dragged_along_a_row_does_the_same(chromium, path):
    page = chromium.new_page(has_touch=True, reduced_motion="reduce", viewport=TALL)
    page.goto(path.as_uri())
    page.get_by_role("button", name="show all").click()
    session = page.context.new_cdp_session(page)
    place = page.locator('[data-key="1/1"]').bounding_box()
    x, y = place["x"] + place["width"] - 5, place["y"] + 5
    for kind, at in (("touchStart", x), ("touchMove", x - place["width"])):
        touched = {"type": kind, "touchPoints": [{"x": at, "y": y}]}
        session.send("Input.dispatchTouchEvent", touched)
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    shows(page, NOTHING_LOST)
    chosen = page.locator('#strip [aria-selected="true"]')
    assert chosen.get_attribute("data-key") == "1/0"
    page.close()


def test_on_a_phone_the_map_that_asks_is_above_its_picture_and_wholly_in_sight(asking):
    asking.set_viewport_size({"width": 390, "height": 660})
    grid = asking.locator("#strip .map").bounding_box()
    foot = grid["y"] + grid["height"]
    assert foot < asking.locator("#stage").bounding_box()["y"]
    assert foot < asking.locator("#sheet").bounding_box()["y"]


@pytest.mark.parametrize("width", [390, 760, 1200])
def test_it_fits_and_axe_finds_nothing(asking, width):
    asking.set_viewport_size({"width": width, "height": 900})
    for state in ("blank", "shown"):
        assert asking.evaluate(
            "document.documentElement.scrollWidth"
            " <= document.documentElement.clientWidth"
        )
        found = axe_api.Axe().run(asking)
        assert found.violations_count == 0, found.generate_report()
        if state == "blank":
            asking.get_by_role("button", name="show all").click()
