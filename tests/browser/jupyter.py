"""JupyterLab as a learner has it: a server on a folder of its own, Chromium, and the
pictures inside cells.
"""

import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import axe_playwright_python
from playwright.sync_api import Frame, Page, TimeoutError, expect

from minikafka.course import editions
from tests.clients.brokers import until
from tests.kafka import ROOT, free_ports

SCREENSHOTS = ROOT / ".cache" / "screenshots"
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(
    encoding="utf-8"
)
RUN_ALL_MS = 120_000
SETTLING_MS = 5_000  # of a page whose window has another width


@contextmanager
def jupyter_lab(folder: Path) -> Iterator[str]:
    """JupyterLab on `folder`, as `make lab` starts it, but with its application object
    in reach of the page.
    """
    (port,) = free_ports(1)
    home = folder / "home"
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "MINIKAFKA_PICTURES"
    }
    environment |= {
        "JUPYTER_TOKEN": "browser-test",
        "HOME": str(home),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
    }
    environment |= {
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
    }
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--ip=127.0.0.1",
        f"--port={port}",
    ]
    command += [
        f"--ServerApp.root_dir={folder}",
        "--LabApp.expose_app_in_browser=True",
        "--allow-root",
    ]
    with (folder / "jupyter.log").open("wb") as log:
        server = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        address = f"http://127.0.0.1:{port}"
        while not answers(f"{address}/api"):
            try:
                server.wait(timeout=0.1)
                raise RuntimeError((folder / "jupyter.log").read_text())
            except subprocess.TimeoutExpired:
                continue
        yield address
    finally:
        server.terminate()
        try:
            server.wait(timeout=120)
        except subprocess.TimeoutExpired:
            # a busy machine: what its kernels hold is in the folder, and goes with it
            server.kill()
            server.wait()


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=10):
            return True
    except OSError:
        return False


def learners_folder(folder: Path, number: str) -> str:
    """my/ with the learner's copy of a lesson, beside notebooks/pictures; returns the
    copy's path inside the folder.
    """
    shutil.copytree(ROOT / "notebooks" / "pictures", folder / "notebooks" / "pictures")
    target, _ = editions.write_edition(number, "copy", folder / "my")
    return f"my/{target.name}"


class Lesson:
    """A notebook open in JupyterLab. Nothing here waits for a time, only for a
    state.
    """

    def __init__(self, page: Page, server: str, notebook: str) -> None:
        self.page, self.address = (
            page,
            f"{server}/lab/tree/{notebook}?token=browser-test",
        )

    def open(self) -> None:
        """Opens the page, until the kernel is idle."""
        self.page.set_default_timeout(RUN_ALL_MS)
        self.page.goto(self.address)
        self.page.wait_for_function(
            "() => { const panel = window.jupyterapp?.shell.currentWidget; return"
            " panel?.sessionContext?.session?.kernel?.status === 'idle' &&"
            " panel.content.widgets.length > 1 }"
        )

    def command(self, name: str, **args: str) -> None:
        """One of JupyterLab's commands, to its end."""
        call = (
            "([name, args]) => window.jupyterapp.commands.execute(name, args).then(()"
            " => null)"
        )
        self.page.evaluate(call, [name, args])

    def run_all(self) -> None:
        self.command("notebook:run-all-cells")
        self.page.wait_for_function(
            "() =>"
            " window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status"
            " === 'idle'"
        )

    def restart_kernel(self) -> None:
        """Through JupyterLab's session, as its menu does after its question."""
        self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()"
        )
        self.page.wait_for_function(
            "() =>"
            " window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status"
            " === 'idle'"
        )

    def errors(self) -> list[str]:
        """What went wrong in cells, as the notebook's model has it."""
        return self.page.evaluate(
            "() =>"
            " window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells.flatMap(cell"
            " => cell.outputs ?? []).filter(output => output.output_type ==="
            " 'error').map(output => `${output.ename}: ${output.evalue}`)"
        )

    def cell_count(self) -> int:
        return self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.content.widgets.length"
        )

    def active_cell(self) -> int:
        return self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.content.activeCellIndex"
        )

    def theme(self, name: str) -> None:
        """ "light" or "dark", until the page shows it."""
        self.command("apputils:change-theme", theme=f"JupyterLab {name.title()}")
        light = str(name == "light").lower()
        self.page.wait_for_function(
            "light => document.body.dataset.jpThemeLight === light", arg=light
        )

    def room_for_pictures(self, width: int) -> None:
        """Makes the window as wide as it must be for a picture of `width` pixels. A
        page that was still moving when it was measured is measured again.
        """
        until(lambda: self._has_room(width), f"a picture is {width} pixels wide")

    def _has_room(self, width: int) -> bool:
        frame = ".jp-OutputArea iframe"
        window = self.page.viewport_size or {"width": 1366}
        beside = window["width"] - self.page.locator(frame).first.evaluate(
            "frame => frame.clientWidth"
        )
        self.page.set_viewport_size({"width": width + beside, "height": 900})
        measured = (
            "([frame, width]) => document.querySelector(frame).clientWidth === width"
        )
        try:
            self.page.wait_for_function(
                measured, arg=[frame, width], timeout=SETTLING_MS
            )
        except TimeoutError:
            return False
        return True

    def picture(self, nth: int = 0) -> "Picture":
        """The nth picture of the notebook, scrolled into view, with its scripts run: a
        click before that is lost.
        """
        where = self.page.locator(".jp-OutputArea iframe").nth(nth)
        where.wait_for(state="attached")
        where.scroll_into_view_if_needed()
        frame = where.element_handle().content_frame()
        frame.wait_for_selector("#scrub[aria-valuetext]", state="attached")
        return Picture(frame)


class Picture:
    """A picture's page, in a cell's frame or saved as a file."""

    def __init__(self, frame: Frame | Page) -> None:
        self.frame = frame

    def focus(self, control: str) -> None:
        self.frame.locator(f"#{control}").focus()

    def press(self, key: str) -> None:
        """A key, to whatever has the focus in the picture; a disabled button has lost
        it to the page.
        """
        self.frame.locator(":focus").or_(self.frame.locator("body")).last.press(key)

    def overflow(self) -> int:
        """Pixels by which the page is wider than its frame."""
        return self.frame.evaluate(
            "() => document.documentElement.scrollWidth -"
            " document.documentElement.clientWidth"
        )

    def click(self, control: str) -> None:
        self.frame.locator(f"#{control}").click()

    def step(self) -> int:
        return int(self.frame.locator("#scrub").input_value())

    def last(self) -> int:
        return int(self.frame.locator("#scrub").get_attribute("max") or 0)

    def asks(self) -> bool:
        """Has it stopped at a prediction that the learner hasn't made?"""
        return self.frame.locator("#ask").is_visible()

    def sentence(self) -> str:
        return self.frame.locator("#sentence").inner_text()

    def expect_step(self, step: int) -> None:
        expect(self.frame.locator("#scrub")).to_have_value(str(step), timeout=30_000)

    def answer(self) -> None:
        """Chooses the first option."""
        self.frame.locator("#options button").first.click()

    def wait_until_past(self, step: int) -> None:
        self.frame.wait_for_function(
            "step => Number(document.getElementById('scrub').value) > step", arg=step
        )

    def violations(self) -> list[dict[str, Any]]:
        """What axe-core finds, serious or critical, with the elements concerned."""
        self.frame.evaluate(f"{AXE}\n;undefined")
        found = self.frame.evaluate(
            "() => axe.run(document, { resultTypes: ['violations'] })"
        )
        serious = [
            one
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        return [
            {"rule": one["id"], "where": [node["html"][:160] for node in one["nodes"]]}
            for one in serious
        ]


def screenshot(page: Page, name: str) -> Path:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    path = SCREENSHOTS / f"{name}.png"
    page.screenshot(path=str(path))
    return path
