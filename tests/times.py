"""How long each kind of test takes: at the end of a run, wall and CPU time of each folder.

CPU time is that of the worker, and of its processes that have ended by then.
"""

import os
from collections import defaultdict
from collections.abc import Generator
from typing import Any

import pytest


def cpu_s() -> float:
    return sum(os.times()[:4])


class Times:
    """In a worker it notes what each phase of a test took; where the run is told, it
    adds up.
    """

    def __init__(self) -> None:
        self._before_s = cpu_s()
        self._kinds: defaultdict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
        now_s = cpu_s()
        report.cpu_s, self._before_s = now_s - self._before_s, now_s
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        kind = self._kinds["/".join(report.nodeid.partition("::")[0].split("/")[:2])]
        kind[0] += report.when == "call"
        kind[1] += report.duration
        kind[2] += getattr(report, "cpu_s", 0)  # of a worker that crashed: unknown

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._kinds:
            return
        terminalreporter.section("times, summed over workers")
        whole = [sum(column) for column in zip(*self._kinds.values(), strict=True)]
        kinds = sorted(self._kinds.items(), key=lambda kind: -kind[1][2])
        for name, (tests, wall_s, cpu) in [*kinds, ("all", whole)]:
            line = f"{tests:6} tests {wall_s:7.0f} s {cpu:7.0f} s CPU  {name}"
            terminalreporter.write_line(line)
