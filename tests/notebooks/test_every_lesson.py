"""Every lesson runs and shows what is stored; its solved edition gets every verdict; and
each of its cells shows the same when it is run twice.

One kernel says all three, as learners do: a lesson runs as it was given, then its
exercises are solved and it runs again. What uses a solution shows something new then,
so that is run a third time.

What Spark shows depends on the machine: there the cells assert what must hold, and only
what uses a solution is run again. Of the nights of lesson 22, which take long, the first
is played; tests/course/test_on_call.py plays the solutions of all, and hears their
verdicts.
"""

from json import loads
from pathlib import Path

import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from minikafka.course import editions
from minikafka.course.publishing import pictures_of_lessons
from tests.notebooks.running import (
    LESSONS,
    code_cells,
    kernel_for,
    number,
    read,
    shown,
    uses_spark,
)

Cells = list[tuple[int, NotebookNode]]

pytestmark = pytest.mark.timeout(1200)

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


def is_ignored(cell: NotebookNode) -> bool:
    """Whether it tells about this machine."""
    return "nbval-ignore-output" in cell.metadata.get("tags", [])


def is_asked(cell: NotebookNode) -> bool:
    """Whether it gets a verdict."""
    return ".check(" in cell.source or ".exit_ticket(" in cell.source


def using_solutions(solved: NotebookNode) -> set[str]:
    """The ids of the cells with solutions, and of those that use a name which one of
    these makes, or which is made of such a name.
    """
    found: set[str] = set()
    theirs: set[str] = set()
    for _, cell in code_cells(solved):
        makes, uses = pictures_of_lessons._names(cell.source)
        has_solution = "exercise" in cell.metadata.get("minikafka", {})
        if has_solution or uses & theirs:
            found.add(cell.id)
            theirs |= makes
        else:
            theirs -= makes
    return found


def is_played_elsewhere(path: Path, cell: NotebookNode) -> bool:
    """Whether it is one of the nights, and not the first."""
    exercise = cell.metadata.get("minikafka", {}).get("exercise")
    return number(path) == NIGHTS and isinstance(exercise, int) and exercise > 1


class Reader:
    """Runs cells, and remembers what each has shown."""

    def __init__(self, client: NotebookClient) -> None:
        self._client = client
        self._seen: dict[str, list[tuple[str, str]]] = {}

    def run(self, at: int, cell: NotebookNode) -> list[tuple[str, str]]:
        """What it shows. An error in the cell is raised."""
        self._client.execute_cell(cell, at)
        self._seen[cell.id] = shown(cell)
        return self._seen[cell.id]

    def run_again(self, at: int, cell: NotebookNode) -> None:
        """It shows what it has shown before."""
        before = self._seen[cell.id]
        found = self.run(at, cell)
        assert is_ignored(cell) or found == before, (
            f"cell {cell.id} shows something else the second time"
        )


def run_as_given(reader: Reader, path: Path, cells: Cells) -> None:
    """All of them; Spark's last one, which stops it, comes later."""
    stored = {cell.id: shown(cell) for _, cell in code_cells(read(path))}
    has_spark = uses_spark(path)
    for at, cell in cells[: -1 if has_spark else None]:
        found = reader.run(at, cell)
        if not (has_spark or is_ignored(cell)):
            assert found == stored[cell.id], f"cell {cell.id} shows something else"


def run_solved(reader: Reader, path: Path, cells: Cells) -> int:
    """All of them again, with the solutions. Returns how many verdicts they ask for."""
    solved = editions.solved(read(path), number(path))
    touched, asked = using_solutions(solved), 0
    has_spark = uses_spark(path)
    times = 1 if has_spark else 2
    for (at, cell), (_, solution) in zip(cells, code_cells(solved), strict=True):
        if is_played_elsewhere(path, cell):
            continue
        cell.source = solution.source
        if cell.id in touched:
            reader.run(at, cell)
            if times == 2:
                reader.run_again(at, cell)
            asked += times * is_asked(cell)
        elif not has_spark:
            assert not is_asked(cell), f"cell {cell.id} asks for no solution's verdict"
            reader.run_again(at, cell)
    return asked


def test_there_are_lessons():
    assert LESSONS


@pytest.mark.parametrize("path", LESSONS)
def test_a_lesson_shows_what_is_stored_and_its_solved_edition_gets_every_verdict(path):
    book = read(path)
    cells, at_end = code_cells(book), len(book.cells)
    record, tell = new_code_cell(RECORD_VERDICTS), new_code_cell(TELL_VERDICTS)
    book.cells.append(record)
    with kernel_for(book) as client:
        reader = Reader(client)
        run_as_given(reader, path, cells)
        client.execute_cell(record, at_end)
        asked = run_solved(reader, path, cells)
        client.execute_cell(tell, at_end)
        if uses_spark(path):
            reader.run(*cells[-1])
    verdicts = loads(tell.outputs[0].text)
    assert len(verdicts) == asked
    wrong = [
        f"{method}({first}): {said}"
        for _, method, first, right, said in verdicts
        if not right
    ]
    assert not wrong, "\n".join(wrong)
