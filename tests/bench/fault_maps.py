"""The map of all faults. How long it takes: 360 runs of lesson 09's shop, each of them
made, in as many processes as there are cores. And how it feels in JupyterLab: from
pointing at a cell to the first frame of its run, which comes from the kernel.
"""

import statistics
import tempfile
import time
from pathlib import Path

import nbformat

from minikafka.course.experiments.lesson_09_runs import every_moment, fared, five_orders
from minikafka.simulation.fault_map import Outcome, fault_map
from tests.browser.jupyter import Lesson, jupyter_lab
from tests.browser.levers import KERNEL
from tests.chromium import running_chromium

MOMENTS_MS = range(4980, 5070)
HOVERS = 20
CELL = """
from minikafka.course import levers
from minikafka.course.experiments.lesson_09_runs import SENT, every_moment

levers.faults(every_moment(1), marks=SENT)
"""
HOVER = """cell => new Promise(done => {
  const drawing = document.getElementById('drawing'), began = performance.now();
  new MutationObserver((_, seen) => {
    seen.disconnect();
    requestAnimationFrame(() => done(performance.now() - began));
  }).observe(drawing, { childList: true });
  // a mouse that hasn't moved points at nothing new
  const { left: screenX, top: screenY } = cell.getBoundingClientRect();
  cell.dispatchEvent(
    new PointerEvent('pointerover', { pointerType: 'mouse', bubbles: true, screenX, screenY })
  );
})"""


def table():
    faults = [row[0].fault for row in every_moment(1).rows]
    began = time.perf_counter()
    found = fault_map(five_orders, faults, each_its_own, MOMENTS_MS)
    took_s = time.perf_counter() - began
    lines = [f"a map of all faults: {found.runs} runs in {took_s:.1f} s"]
    for words, hovers in milliseconds_of_hovers().items():
        lines.append(
            f"hover to changed picture, {words}: {statistics.median(hovers):.0f} ms,"
            f" median of {len(hovers)} ({min(hovers):.0f} to {max(hovers):.0f};"
            " at most 300)"
        )
    return "\n".join(lines)


def each_its_own(cluster):
    """So that no two neighbours are alike, and each cell is run."""
    return Outcome(fared(cluster).kind, repr(cluster._plan.faults))


def milliseconds_of_hovers():
    """At cells that were run, and at those between two that ended alike, which are run
    now. Each is pointed at once: what came once is kept.
    """
    with tempfile.TemporaryDirectory(prefix="minikafka-bench-") as place:
        folder = Path(place)
        after = nbformat.v4.new_markdown_cell("After.")
        cells = [nbformat.v4.new_code_cell(CELL), after]
        book = nbformat.v4.new_notebook(metadata=KERNEL, cells=cells)
        nbformat.write(book, folder / "map.ipynb")
        with (
            jupyter_lab(folder) as server,
            running_chromium() as browser,
            browser.new_context(viewport={"width": 1366, "height": 900}) as context,
        ):
            lesson = Lesson(context.new_page(), server, "map.ipynb")
            lesson.open()
            lesson.run_all()
            frame = lesson.picture().frame
            frame.get_by_role("button", name="show all").click()
            return {
                "a cell that was run": hovered(frame, ":not(.guessed):not(.shown)"),
                "one that is run now": hovered(frame, ".guessed"),
            }


def hovered(frame, which):
    keys = frame.locator(f"#strip .map button{which}").evaluate_all(
        "cells => cells.map(cell => cell.dataset.key)"
    )
    return [
        frame.locator(f'[data-key="{key}"]').evaluate(HOVER) for key in keys[:HOVERS]
    ]
