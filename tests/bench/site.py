"""What a learner feels of the course in a browser: seconds until the playground is live
after a cold load, and from a click on a member's card to the first changed frame; what
it loads, and how long the site takes to build.

The browser's processor time stands beside, as that says the same on a busy machine.
"""

import statistics
import tempfile
import time
from pathlib import Path

from minikafka.course.publishing import site
from tests.bench.pictures import CLICK, CLICKS
from tests.browser.site import MEGABYTE, SUB_PATH, Tab, playground, served, size
from tests.chromium import running_chromium


def table():
    with tempfile.TemporaryDirectory(prefix="minikafka-bench-") as root:
        folder = Path(root) / SUB_PATH.strip("/")
        began = time.monotonic()
        site.write(folder)
        built = (
            f"site: {time.monotonic() - began:.0f} s to build, {size(folder):.1f} MB"
        )
        with served(root) as address, running_chromium() as browser:
            return "\n".join([built, *figures(browser, Tab(browser, address))])


def figures(browser, tab):
    """Freeze and undo, by turns, in the playground."""
    processor = browser.new_browser_cdp_session()
    began, before = time.monotonic(), processor_ms(processor)
    page = playground(tab)
    live_s, live_ms = time.monotonic() - began, processor_ms(processor) - before
    frame = page.frame_locator("#stage iframe")
    found, spent = [], []
    for number in range(CLICKS):
        frame.locator("#scrub").press("Home")
        for _ in range(8):
            frame.locator("body").press("ArrowRight")
        lever = frame.locator(
            f"#drawing rect[data-act='{'freeze' if number % 2 else 'slow'} consumer A']"
        )
        before = processor_ms(processor)
        found.append(lever.evaluate(CLICK))
        spent.append(processor_ms(processor) - before)
    tab.close()
    return [
        (
            f"live after a cold load: {live_s:.1f} s and {tab.loaded / MEGABYTE:.1f} MB"
            f" ({live_ms:.0f} ms of processor)"
        ),
        (
            f"click to first changed frame: {statistics.median(found):.0f} ms, median"
            f" of {len(found)} ({min(found):.0f} to {max(found):.0f};"
            f" {statistics.median(spent):.0f} ms of processor)"
        ),
    ]


def processor_ms(session):
    """Of all of the browser's processes, since it began."""
    return 1000 * sum(
        each["cpuTime"]
        for each in session.send("SystemInfo.getProcessInfo")["processInfo"]
    )
