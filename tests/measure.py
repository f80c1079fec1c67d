"""`make measure`: how large and how dense this project is, beside three packages that
read well. Nothing enforces these figures; they are for whoever decides.
"""

import ast
import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path

import h11
import kafka

from minikafka.course.contents import contents, words

ROOT = Path(__file__).resolve().parents[1]
MODELS = {"h11": h11, "asyncio": asyncio, "kafka-python": kafka}
HEAD = ("", "files", "lines", "longest file", "nodes a line", "nodes a statement")


def main() -> None:
    packages = rooms(ROOT / "minikafka")
    models = {
        name: sorted(Path(package.__file__).parent.rglob("*.py"))
        for name, package in MODELS.items()
    }
    tests = rooms(ROOT / "tests")
    for title, measured in {
        "minikafka": packages,
        "tests": tests,
        "models": models,
    }.items():
        print(f"\n{title}")
        table(HEAD, [row(name, paths) for name, paths in measured.items()])
    print("\nlessons")
    table(("", "words", "minutes stated", "modelled", "of the stretch"), lessons())


def rooms(folder: Path) -> dict[str, list[Path]]:
    """The Python files of each folder in it, those at its top, and all."""
    found = {
        room.name: sorted(room.rglob("*.py"))
        for room in sorted(folder.iterdir())
        if (room.is_dir() and any(room.rglob("*.py")))
    }
    found["(top)"] = sorted(folder.glob("*.py"))
    found["all"] = sorted(folder.rglob("*.py"))
    return found


def row(name: str, paths: Iterable[Path]) -> list[str]:
    """How open a page is: nodes of the syntax tree a line, and a statement."""
    lines: dict[Path, int] = {}
    nodes = statements = 0
    for path in paths:
        text = path.read_text(encoding="utf-8")
        lines[path] = len(text.splitlines())
        for node in ast.walk(ast.parse(text)):
            nodes += 1
            statements += isinstance(node, ast.stmt)
    total, longest = sum(lines.values()), max(lines, key=lambda path: lines[path])
    return [
        name,
        str(len(lines)),
        str(total),
        f"{longest.name} {lines[longest]}",
        f"{nodes / max(total, 1):.1f}",
        f"{nodes / max(statements, 1):.1f}",
    ]


def lessons() -> Iterator[list[str]]:
    """Minutes by the model in minikafka/course/contents.py, with an exit ticket of five."""
    for number, lesson in contents().items():
        minutes = lesson.minutes(questions=5)
        stretch = lesson.minutes(questions=0, stretch=True)
        stated = str(lesson.stated_minutes)
        yield [
            number,
            str(words(lesson.prose)),
            stated,
            f"{minutes:.0f}",
            f"{stretch:.0f}",
        ]


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """The first column is text, the others are numbers."""
    cells = [list(head), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *others in cells:
        padded = [
            cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)
        ]
        print("  ".join([first.ljust(widths[0]), *padded]))


if __name__ == "__main__":
    main()
