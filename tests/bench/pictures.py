"""What a learner feels of a picture: the time from a click on a member's card to the
first changed frame, in JupyterLab with its kernel, without and with a pointer that has
been on the lever for a while, and the frames a second while a large picture moves.
"""

import statistics
import tempfile
from itertools import pairwise
from pathlib import Path

from minikafka.course import demo
from minikafka.course.contents import contents
from minikafka.course.publishing.pictures_of_lessons import shown
from minikafka.theatre import picture
from minikafka.theatre.drawing import WIDE
from tests.browser.jupyter import Lesson, jupyter_lab
from tests.browser.levers import a_group_with_levers
from tests.chromium import running_chromium

CLICKS = 10
POINTS_MS = 1000  # from pointing at a lever to clicking it
CLICK = """lever => new Promise(done => {
  const drawing = document.getElementById('drawing'), began = performance.now();
  new MutationObserver((_, seen) => {
    seen.disconnect();
    requestAnimationFrame(() => done(performance.now() - began));
  }).observe(drawing, { childList: true });
  lever.dispatchEvent(new MouseEvent('click', { bubbles: true }));
})"""
FRAMES = """seconds => new Promise(done => {
  const times = [];
  const turn = now => {
    times.push(now);
    if (now - times[0] < seconds * 1000) requestAnimationFrame(turn);
    else done(times);
  };
  document.getElementById('go').click();
  requestAnimationFrame(turn);
})"""


def table():
    with running_chromium() as browser:
        clicks = milliseconds_of_clicks(browser, points=False)
        pointed = milliseconds_of_clicks(browser, points=True)
        frames = {name: frame_times(browser, each) for name, each in moving().items()}
    lines = []
    for how, took in {
        "click": clicks,
        f"click, {POINTS_MS} ms after pointing at it,": pointed,
    }.items():
        lines.append(
            f"{how} to first changed frame: {statistics.median(took):.0f} ms, median of"
            f" {len(took)} ({min(took):.0f} to {max(took):.0f})"
        )
    for name, times in frames.items():
        middle, slow = statistics.median(times), statistics.quantiles(times, n=20)[-1]
        lines.append(
            f"a frame of {name}: {middle:.1f} ms median, {slow:.1f} ms at 95 %, "
            f"{1000 / statistics.mean(times):.0f} a second"
        )
    return "\n".join(lines)


def moving():
    """Two groups beside each other; and the lesson picture with the most shapes, which
    is one of lesson 07.
    """
    traces = [
        demo.rebalance(protocol, "A freezes", seed=7)
        for protocol in ("range", "cooperative-sticky")
    ]
    beside = picture("rebalance", traces[0], beside=traces[1], since_ms=demo.SINCE_MS)
    every = [each.picture for each in shown(contents()["07"])]
    largest = max(every, key=lambda each: len(each.drawings(WIDE)[-1].shapes))
    return {
        "two groups that play beside each other": beside,
        f"the largest picture, {len(largest.drawings(WIDE)[-1].shapes)} shapes": (
            largest
        ),
    }


def milliseconds_of_clicks(browser, points):
    """Freeze and slow, by turns. points: whether the pointer is on the lever before."""
    with tempfile.TemporaryDirectory(prefix="minikafka-bench-") as place:
        folder, found = Path(place), []
        with (
            jupyter_lab(folder) as server,
            browser.new_context(viewport={"width": 1366, "height": 900}) as context,
        ):
            lesson = Lesson(context.new_page(), server, a_group_with_levers(folder))
            lesson.open()
            lesson.run_all()
            shown = lesson.picture()
            for number in range(CLICKS):
                shown.focus("scrub")
                shown.press("Home")
                for _ in range(8):
                    shown.press("ArrowRight")
                what = "freeze" if number % 2 else "slow"
                lever = shown.frame.locator(f"rect[data-act='{what} consumer A']")
                if points:
                    lever.hover()
                    lesson.page.wait_for_timeout(POINTS_MS)
                found.append(lever.evaluate(CLICK))
        return found


def frame_times(browser, pic):
    """Milliseconds between frames."""
    with tempfile.TemporaryDirectory(prefix="minikafka-bench-") as place:
        path = Path(place) / "page.html"
        pic.save(path)
        page = browser.new_page(viewport={"width": 1366, "height": 900})
        page.goto(path.as_uri())
        page.select_option("#speed", "4")
        times = page.evaluate(FRAMES, 6)
    return [after - before for before, after in pairwise(times)]
