"""The solved edition of every lesson gets every verdict, and each of its cells shows
the same when it is run twice.

What Spark shows depends on the machine: there each cell is run once. Of the nights of
lesson 22, which take long, the first is played; tests/course/test_on_call.py plays the
solutions of all, and hears their verdicts.
"""

from collections.abc import Callable
from json import loads
from pathlib import Path
from typing import Any

import pytest
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from minikafka.course import editions
from tests.notebooks.running import (
    BOOKS,
    STARTED_TOO_LATE,
    code_cells,
    kernel_for,
    number,
    read,
    shown,
    uses_spark,
)

Cells = list[tuple[int, NotebookNode]]

pytestmark = [
    pytest.mark.first,
    pytest.mark.apart,
    pytest.mark.nightly,
    pytest.mark.slow,
    pytest.mark.timeout(1200),
]

NIGHTS = "22"

RECORD_VERDICTS = """
from minikafka.course import lessons as _lessons
_verdicts = []
def _recorded(method):
    def record(self, *args):
        verdict = method(self, *args)
        _verdicts.append((self.number, method.__name__, str(args[0])[:40], verdict.right, str(verdict)))
        return verdict
    return record
_lessons.Lesson.check = _recorded(_lessons.Lesson.check)
_lessons.Lesson.exit_ticket = _recorded(_lessons.Lesson.exit_ticket)
"""
TELL_VERDICTS = "import json; print(json.dumps(_verdicts))"


def is_played_elsewhere(path: Path, cell: NotebookNode) -> bool:
    """Whether it is one of the nights, and not the first."""
    exercise = cell.metadata.get("minikafka", {}).get("exercise")
    return number(path) == NIGHTS and isinstance(exercise, int) and exercise > 1


@pytest.mark.parametrize("path", BOOKS)
def test_the_solved_edition_gets_every_verdict_and_a_cell_run_twice_shows_the_same_twice(
    path,
):
    """As learners do: run a cell, and run it once more."""
    book = editions.solved(read(path), number(path))
    cells = [
        (at, cell)
        for at, cell in code_cells(book)
        if not is_played_elsewhere(path, cell)
    ]
    book.cells += [new_code_cell(RECORD_VERDICTS), new_code_cell(TELL_VERDICTS)]
    times = 1 if uses_spark(book) else 2
    verdicts = in_time(lambda: run(book, cells, times))
    asked = [
        cell
        for _, cell in cells
        if ".check(" in cell.source or ".exit_ticket(" in cell.source
    ]
    assert len(verdicts) == times * len(asked)
    wrong = [
        f"{method}({first}): {said}"
        for _, method, first, right, said in verdicts
        if not right
    ]
    assert not wrong, "\n".join(wrong)


def run(book: NotebookNode, cells: Cells, times: int) -> list[list[Any]]:
    """Each cell so many times; what was judged, and how."""
    before, after = len(book.cells) - 2, len(book.cells) - 1
    with kernel_for(book) as client:
        client.execute_cell(book.cells[before], before)
        for at, cell in cells:
            client.execute_cell(cell, at)
            first = shown(cell)
            if times == 2:
                client.execute_cell(cell, at)
            if "nbval-ignore-output" not in cell.metadata.get("tags", []):
                assert shown(cell) == first, (
                    f"cell {cell.id} shows something else the second time"
                )
        client.execute_cell(book.cells[after], after)
    found: list[list[Any]] = loads(book.cells[after].outputs[0].text)
    return found


def in_time(run: Callable[[], list[list[Any]]]) -> list[list[Any]]:
    """Once more where Python did not start as soon as Spark wants it."""
    try:
        return run()
    except CellExecutionError as error:
        if STARTED_TOO_LATE not in str(error):
            raise
        return run()
