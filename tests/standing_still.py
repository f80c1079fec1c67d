"""Where a worker stands that nothing moves any more.

A test that takes too long is interrupted by a signal (pytest-timeout). What no signal
interrupts, such as a call into C that never returns, would hold up the whole run: then
the worker tells where it stands, into a file, and ends. The process that hears of all
tests prints the file at the end, beside what failed.
"""

import faulthandler
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any, TextIO

import pytest

FOLDER = Path(__file__).resolve().parents[1] / ".cache" / "standing-still"
PATIENCE_S = 200  # after the signal
MOST_LINES = 12


class StandingStill:
    """In each worker. timeout_s: after which the signal comes, unless a test says."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._file: TextIO | None = None

    def pytest_sessionstart(self) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        name = os.environ.get("PYTEST_XDIST_WORKER", "alone")
        self._file = open(FOLDER / f"{name}-{os.getpid()}.txt", "w")  # noqa: SIM115

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        marked = item.get_closest_marker("timeout")
        timeout_s = marked.args[0] if marked and marked.args else self._timeout_s
        assert self._file is not None
        faulthandler.dump_traceback_later(
            timeout_s + PATIENCE_S, exit=True, file=self._file
        )
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()

    def pytest_sessionfinish(self) -> None:
        assert self._file is not None
        self._file.close()
        Path(self._file.name).unlink()


class Told:
    """In the process that hears of all tests. A worker that has ended well left no file."""

    def pytest_sessionstart(self) -> None:
        for left in FOLDER.glob("*.txt"):
            left.unlink()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for path in sorted(FOLDER.glob("gw*.txt")):
            for line in path.read_text().splitlines()[:MOST_LINES]:
                terminalreporter.write_line(f"ERROR {path.stem} stood still: {line}")
