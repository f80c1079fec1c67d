"""A plugin of pytest, `-p tests.conformance.matrix`: writes into build/matrix.md what
minikafka and Apache Kafka do alike, as the run has found it. The site shows it.

Two kinds of tests ask both. One is marked `compares`: each of its cases asks both and
compares the answers. The other runs once for each, by a parameter that names it. A
behaviour is what a test's name states, with its case where it compares. The KIPs are
those that the test names, in its name or its docstring; else those of the scenario's
module, or of the test's. Where the answers differ on purpose, the test has recorded why.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.collected import Collected, collected
from tests.kafka import ROOT, VERSION

FILE = ROOT / "build" / "matrix.md"
PATHS = ("tests/conformance", "tests/clients")
MINIKAFKA, APACHE_KAFKA = "minikafka", "Apache Kafka"
SIDES = (MINIKAFKA, APACHE_KAFKA)
ON_PURPOSE = "differs on purpose"  # a property of a test that has passed
HOLDS, FAILS, NOT_RUN = "holds", "fails", "not run"
SKIPPED_BEGINS = "not asked: "
ON_PURPOSE_BEGINS = f"{HOLDS}; differs on purpose: "
HEAD = f"""\
# What minikafka and Apache Kafka {VERSION} do alike

Written by the tests that ask both, every night. In each row stands a behaviour, as the
test's name states it, and what the last run on both found. *holds*: the test has passed
there; where a test compares, it has passed if both answered the same, field by field.
Where minikafka differs on purpose, it says why.
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
    """A table for each file of tests, or for each test that compares."""
    parts = [HEAD]
    for heading in dict.fromkeys(row.heading for row in rows):
        mine = [row.line for row in rows if row.heading == heading]
        head = [f"| {' | '.join(COLUMNS)} |", "|--" * len(COLUMNS) + "|"]
        begins = heading[0].upper() + heading[1:] if " " in heading else heading
        parts.append("\n".join([f"## {begins}", "", *head, *mine]) + "\n")
    return "\n".join(parts)


# --- the plugin of a run --------------------------------------------------------------


class Run:
    """Hears what came of each case, and writes the file in the end."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}
        self.reasons: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Of set-up, call and tear-down the worst counts. (xdist names the group.)"""
        id = re.sub(r"@[\w/]+$", "", report.nodeid)
        before = self.outcomes.get(id, HOLDS)
        if report.failed:
            before = FAILS
        elif report.skipped:
            before = SKIPPED_BEGINS + report.longrepr[2].removeprefix("Skipped: ")
        self.outcomes[id] = before
        if report.when == "call":
            reasons = [
                why for name, why in report.user_properties if name == ON_PURPOSE
            ]
            self.reasons[id] = reasons

    def pytest_sessionfinish(self) -> None:
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(text(self.found(collected(PATHS))), encoding="utf-8")

    def found(self, cases: Sequence[Collected]) -> list[Row]:
        results: dict[str, dict[str, list[str]]] = {}
        for case in cases:
            row = row_of(case)
            if row is None:
                continue
            id = f"{case.where}[{case.case}]" if case.case else case.where
            both = "compares" in case.marks
            for side in SIDES if both else (side_of(case) or "",):
                outcome = self.outcomes.get(id, NOT_RUN)
                if self.reasons.get(id) and (side, outcome) == (MINIKAFKA, HOLDS):
                    outcome = ON_PURPOSE_BEGINS + "; ".join(self.reasons[id])
                results.setdefault(row.test, {}).setdefault(side, []).append(outcome)
        return [
            Row(row.behaviour, row.kips, row.test, worst(results[row.test]))
            for row in rows(cases)
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
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Run())
