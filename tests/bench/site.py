"""What a learner feels of the course in a browser: seconds to the first picture of the
front page, of the playground and of a lesson in JupyterLite, each after a cold load;
until the playground is alive, and from a click on a member's card to the first changed
frame, without and with a pointer that has been there; what it loads, and how long the site takes to build.

The browser's processor time stands beside, as that says the same on a busy machine.
"""

import statistics
import tempfile
import time
from pathlib import Path

from minikafka.course.publishing import site
from tests.bench.pictures import CLICK, CLICKS, POINTS_MS
from tests.browser.site import (
    MEGABYTE,
    SUB_PATH,
    Notebook,
    Tab,
    playground,
    served,
    size,
)
from tests.chromium import PATIENCE_MS, running_chromium

LESSON = "00_start_here.ipynb"
HAND_MS = 500  # from a key to the mouse, and to a lever


def table():
    with tempfile.TemporaryDirectory(prefix="minikafka-bench-") as root:
        folder = Path(root) / SUB_PATH.strip("/")
        began = time.monotonic()
        site.write(folder)
        built = (
            f"site: {time.monotonic() - began:.0f} s to build, {size(folder):.1f} MB"
        )
        with served(root) as address, running_chromium() as browser:
            first = first_pictures(browser, address)
            live = figures(browser, Tab(browser, address))
            return "\n".join([built, *first, *live])


def first_pictures(browser, address):
    """Each in a new profile: nothing of the site is there yet."""
    lines = []
    for name, most_s, show in (
        ("front page", 1, front_page),
        ("playground", 1, first_play),
        ("lesson 00 in JupyterLite", 20, stored_picture),
        ("the same, run by Python at once", 20, run_picture),
    ):
        tab = Tab(browser, address)
        began = time.monotonic()
        show(tab)
        took_s = time.monotonic() - began
        lines.append(
            f"first picture, {name}: {took_s:.1f} s (at most {most_s} s),"
            f" {tab.loaded / MEGABYTE:.2f} MB"
        )
        tab.close()
    return lines


def front_page(tab):
    tab.page.goto(f"{tab.address}/index.html", wait_until="commit")
    tab.page.locator(".lane .record").wait_for()


def first_play(tab):
    tab.page.goto(f"{tab.address}/playground.html", wait_until="commit")
    inside = tab.page.frame_locator("#stage iframe")
    inside.locator("#drawing [data-act]").first.wait_for()


def stored_picture(tab):
    """From the click on the front page's link to the picture that is in the notebook."""
    tab.page.goto(
        f"{tab.address}/lab/notebooks/index.html?path={LESSON}", wait_until="commit"
    )
    drawn(tab.page.frame_locator(".jp-OutputArea iframe").first)


def run_picture(tab):
    """To the one that the learner's Python makes: two cells are run."""
    book = Notebook(tab, LESSON)
    book.run(book.cell("from minikafka import Cluster"))
    book.run(book.cell("q1 = predict("))
    drawn(book.picture())


def drawn(picture):
    picture.locator("#drawing text:visible").first.wait_for(timeout=PATIENCE_MS)


def figures(browser, tab):
    """Of a member that is frozen in the playground, and of the run as it was before, by
    turns.
    """
    processor = browser.new_browser_cdp_session()
    began, before = time.monotonic(), processor_ms(processor)
    page = playground(tab)
    live_s, live_ms = time.monotonic() - began, processor_ms(processor) - before
    lines = [
        f"alive after a cold load: {live_s:.1f} s (at most 8 s) and"
        f" {tab.loaded / MEGABYTE:.1f} MB ({live_ms:.0f} ms of processor)"
    ]
    for points in (False, True):
        found, spent = milliseconds_of_clicks(page, processor, points)
        how = f", {POINTS_MS} ms after pointing at it," if points else ""
        lines.append(
            f"click{how} to first changed frame: {statistics.median(found):.0f} ms,"
            f" median of {len(found)} ({min(found):.0f} to {max(found):.0f};"
            f" {statistics.median(spent):.0f} ms of processor)"
        )
    tab.close()
    return lines


def milliseconds_of_clicks(page, processor, points):
    """How long each click takes, and the browser's processor time for it."""
    frame = page.frame_locator("#stage iframe")
    found, spent = [], []
    for _ in range(CLICKS):
        frame.locator("#scrub").press("Home")
        for _ in range(8):
            frame.locator("body").press("ArrowRight")
        lever = frame.locator("#drawing rect[data-act='freeze consumer A']:visible")
        lever.wait_for()
        page.wait_for_timeout(HAND_MS)
        if points:
            lever.hover()
            page.wait_for_timeout(POINTS_MS)
        before = processor_ms(processor)
        found.append(lever.evaluate(CLICK))
        spent.append(processor_ms(processor) - before)
        page.get_by_role("button", name="as it was").click()
    return found, spent


def processor_ms(session):
    """Of all of the browser's processes, since it began."""
    return 1000 * sum(
        each["cpuTime"]
        for each in session.send("SystemInfo.getProcessInfo")["processInfo"]
    )
