"""`python -m tests.conformance.matrix [FILE ...]`: runs the tests that ask minikafka
and Apache Kafka the same, and writes what came of it into MATRIX.md.

Two kinds of tests do. One is marked `compares`: each of its cases asks both and
compares the answers. The other runs once for each, by a parameter that names it. A
behaviour is what a test's name states, with its case where it compares. The KIPs are
those that the test names, in its name or its docstring; else those of the scenario's
module, or of the test's. Where the answers differ on purpose, the test has recorded why.

With files named, only their results are written anew; a behaviour that was never asked
stands there as not run. A test compares the file with what pytest collects, so none can
be missing. Nobody writes a result but this.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.collected import Collected, case_of, collected
from tests.kafka import ROOT, VERSION

FILE = Path(__file__).with_name("MATRIX.md")
PATHS = ("tests/conformance", "tests/clients")
MINIKAFKA, APACHE_KAFKA = "minikafka", "Apache Kafka"
SIDES = (MINIKAFKA, APACHE_KAFKA)
ON_PURPOSE = "differs on purpose"  # a property of a test that has passed
HOLDS, FAILS, NOT_RUN = "holds", "fails", "not run"
SKIPPED_BEGINS = "not asked: "
ON_PURPOSE_BEGINS = f"{HOLDS}; differs on purpose: "
HEAD = f"""\
# What minikafka and Apache Kafka {VERSION} do alike

Written by the tests that ask both: `python -m tests.conformance.matrix`. In each row
stands a behaviour, as the test's name states it, and what the last run on both found.
*holds*: the test has passed there; where a test compares, it has passed if both
answered the same, field by field. Where minikafka differs on purpose, it says why. *not run*: it is compared, and the
matrix has not been written since.
"""
COLUMNS = ("behaviour", "KIP", "test", *SIDES)


@dataclass(frozen=True)
class Row:
    """test: as pytest is asked for it. results: of each of SIDES."""

    behaviour: str
    kips: str
    test: str
    results: tuple[str, ...] = (NOT_RUN, NOT_RUN)

    @property
    def file(self) -> str:
        return self.test.partition("::")[0]

    @property
    def heading(self) -> str:
        """What it stands under: the statement that it is a case of, or its file."""
        function, _, case = self.test.partition("[")
        name = function.partition("::")[2]
        return f"{stated(name)} ({self.file})" if case else self.file

    @property
    def line(self) -> str:
        cells = (self.behaviour, self.kips, f"`{self.test}`", *self.results)
        escaped = [cell.replace("|", r"\|") for cell in cells]
        return f"| {' | '.join(escaped)} |"


def rows(cases: Iterable[Collected]) -> list[Row]:
    """What the tests state that ask both."""
    found: dict[str, Row] = {}
    for case in cases:
        row = row_of(case)
        if row is not None:
            found.setdefault(row.test, row)
    return list(found.values())


def row_of(case: Collected) -> Row | None:
    """The row that this case of a test belongs to; None where it asks but one."""
    statement = stated(case.where.partition("::")[2])
    if "compares" in case.marks:
        if not case.case:
            return Row(statement, kips(case), case.where)
        is_name = " " not in case.case
        what = case.case.replace("_", " ") if is_name else case.case
        return Row(what, kips(case), f"{case.where}[{case.case}]")
    if side_of(case) is None:
        return None
    return Row(statement, kips(case), case.where)


def stated(name: str) -> str:
    """test_kip_394_asks_a_member -> asks a member"""
    words = re.sub(r"^test_(\d+_)?(kip_\d+(_and_\d+)*_)?", "", name)
    return words.replace("_", " ").replace("apache kafka", APACHE_KAFKA)


def kips(case: Collected) -> str:
    """KIP-98, KIP-447: what the test names, or else its module."""
    in_name = re.search(r"kip_(\d+(?:_and_\d+)*)", case.where)
    named = in_name[1].split("_and_") if in_name else []
    told = f"{case.says} {case.about}"
    found = named + re.findall(r"KIP-(\d+)", told)
    found = found or re.findall(r"KIP-(\d+)", case.of_module)
    return ", ".join(f"KIP-{number}" for number in dict.fromkeys(found))


def side_of(case: Collected) -> str | None:
    """Which of the two it asks, by its parameter."""
    words = case.case.split("-")
    return next((side for side in SIDES if side in words), None)


def text(rows: Sequence[Row]) -> str:
    """MATRIX.md, a table for each file of tests, or for each test that compares."""
    parts = [HEAD]
    for heading in dict.fromkeys(row.heading for row in rows):
        mine = [row.line for row in rows if row.heading == heading]
        head = [f"| {' | '.join(COLUMNS)} |", "|--" * len(COLUMNS) + "|"]
        begins = heading[0].upper() + heading[1:] if " " in heading else heading
        parts.append("\n".join([f"## {begins}", "", *head, *mine]) + "\n")
    return "\n".join(parts)


def read(text: str) -> list[Row]:
    """The rows in the text of MATRIX.md."""
    found = []
    for line in text.splitlines():
        if not line.startswith("| ") or line.startswith(f"| {COLUMNS[0]} |"):
            continue
        cells = re.split(r"(?<!\\) \| ", line.removeprefix("| ").removesuffix(" |"))
        behaviour, kips, test, *results = [cell.replace(r"\|", "|") for cell in cells]
        found.append(Row(behaviour, kips, test.strip("`"), tuple(results)))
    return found


# --- the plugin of a run --------------------------------------------------------------


class Run:
    """Hears what came of each case, and writes the file in the end."""

    def __init__(self) -> None:
        self.cases: dict[str, Collected] = {}
        self.outcomes: dict[str, str] = {}
        self.reasons: dict[str, list[str]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.cases = {item.nodeid: case_of(item) for item in session.items}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Of set-up, call and tear-down the worst counts."""
        before = self.outcomes.get(report.nodeid, HOLDS)
        if report.failed:
            before = FAILS
        elif report.skipped:
            before = SKIPPED_BEGINS + report.longrepr[2].removeprefix("Skipped: ")
        self.outcomes[report.nodeid] = before
        if report.when == "call":
            reasons = [
                why for name, why in report.user_properties if name == ON_PURPOSE
            ]
            self.reasons[report.nodeid] = reasons

    def pytest_sessionfinish(self) -> None:
        run = {row.test: row for row in self._results()}
        kept = read(FILE.read_text(encoding="utf-8"))
        rows = [run.get(row.test, row) for row in kept]
        FILE.write_text(text(rows), encoding="utf-8")

    def _results(self) -> list[Row]:
        results: dict[str, dict[str, list[str]]] = {}
        for id, case in self.cases.items():
            row = row_of(case)
            if row is None:
                continue
            both = "compares" in case.marks
            for side in SIDES if both else (side_of(case) or "",):
                outcome = self.outcomes.get(id, NOT_RUN)
                if self.reasons.get(id) and (side, outcome) == (MINIKAFKA, HOLDS):
                    outcome = ON_PURPOSE_BEGINS + "; ".join(self.reasons[id])
                results.setdefault(row.test, {}).setdefault(side, []).append(outcome)
        return [
            Row(row.behaviour, row.kips, row.test, worst(results[row.test]))
            for row in rows(self.cases.values())
        ]


def worst(of_sides: dict[str, list[str]]) -> tuple[str, ...]:
    """One result for each side: of all its cases."""
    found = []
    for side in SIDES:
        outcomes = of_sides.get(side, [NOT_RUN])
        bad = [each for each in (FAILS, NOT_RUN) if each in outcomes]
        found.append(bad[0] if bad else outcomes[0])
    return tuple(found)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Run())


def list_all() -> None:
    """Write a row for each behaviour that is collected now. What it found in an earlier
    run stays.
    """
    before = read(FILE.read_text(encoding="utf-8")) if FILE.exists() else []
    found = {row.test: row.results for row in before}
    now = [
        replace(row, results=found.get(row.test, row.results))
        for row in rows(collected(PATHS))
    ]
    now.sort(key=lambda row: row.file)  # within a file as collected
    FILE.write_text(text(now), encoding="utf-8")


def main(paths: Sequence[str]) -> int:
    """List all, run those of these files, and write what they found."""
    list_all()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conformance.matrix"]
    done = subprocess.run([*command, *(paths or PATHS)], cwd=ROOT, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
