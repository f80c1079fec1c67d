"""The editions of a lesson: the learner's copy, a fresh one, the solved one, a blank
one for live coding.

`notebooks/` is the tested edition. All others go to `my/`, which git ignores, and
nothing there is ever overwritten: a copy that is in the way is kept under another name.
"""

import argparse
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat

from minikafka.course import lessons, places
from minikafka.course.places import NOTEBOOKS, my

MY = my()
_MOST_TYPED_LINES = 12


def notebooks() -> dict[str, Path]:
    """Lesson number -> notebook, in the order of the course."""
    return {path.name[:2]: path for path in places.lessons()}


def learners(notebook: Any) -> Any:
    """The notebook as the learner gets it: without outputs."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def solved(notebook: Any, number: str) -> Any:
    """Each stub replaced by its solution, and the exit ticket answered. An extra notebook may hold an exercise of
    another lesson, which the cell's metadata name.
    """
    for cell in learners(notebook).cells:
        about = cell.metadata.get("minikafka", {})
        if "exercise" in about:
            answers = lessons.solutions(about.get("lesson", number))
            cell.source = answers[str(about["exercise"])]
    return notebook


def blank(notebook: Any) -> Any:
    """For live coding: short code cells keep only the comments at their top. Cells
    tagged `setup` stay whole, and so do questions, which a class reads, and long ones,
    which nobody types while it waits.
    """
    for cell in learners(notebook).cells:
        is_typed = (
            cell.cell_type == "code"
            and "setup" not in cell.metadata.get("tags", [])
            and "= predict(" not in cell.source
            and len(cell.source.splitlines()) <= _MOST_TYPED_LINES
        )
        if is_typed:
            cell.source = "\n".join(
                itertools.takewhile(
                    lambda line: line.startswith("#"), cell.source.splitlines()
                )
            )
    return notebook


def make_copies(folder: Path = MY) -> list[Path]:
    """The learner's copies that are not there yet; leaves the others alone. Returns the
    new ones.
    """
    new = [
        folder / path.name
        for path in [*places.lessons(), *places.extras()]
        if not (folder / path.name).exists()
    ]
    for target in new:
        _write(learners(_read(NOTEBOOKS / target.name)), target)
    return new


def write_edition(
    number: str, edition: str, folder: Path = MY
) -> tuple[Path, Path | None]:
    """Write an edition ("copy", "fresh", "solved", "blank"). Returns its path, and the
    path at which an old one is kept now.

    "copy" leaves an existing copy alone. Raises KeyError for a lesson that doesn't
    exist.
    """
    source = notebooks()[number]
    make: dict[str, Callable[[Any], Any]] = {
        "solved": lambda notebook: solved(notebook, number),
        "blank": blank,
    }
    suffix = f"_{edition}" if edition in make else ""
    target = folder / f"{source.stem}{suffix}.ipynb"
    if edition == "copy" and target.exists():
        return target, None
    kept = None
    if target.exists():
        names = (
            target.with_name(f"{target.stem}_kept_{number}.ipynb")
            for number in itertools.count(1)
        )
        kept = next(name for name in names if not name.exists())
        target.rename(kept)
    _write(make.get(edition, learners)(_read(source)), target)
    return target, kept


def main(args: argparse.Namespace) -> int:
    """`minikafka lesson 05 [--fresh | --solved | --blank]`."""
    number = args.number.zfill(2)
    edition = next(
        (name for name in ("fresh", "solved", "blank") if getattr(args, name, False)),
        "copy",
    )
    if number not in notebooks():
        print(
            f"minikafka: there is no lesson {args.number}. There are"
            f" {', '.join(notebooks())}.",
            file=sys.stderr,
        )
        return 2
    target, kept = write_edition(number, edition)
    if kept:
        print(f"Your old copy is {_shown(kept)} now.")
    print(_shown(target))
    if edition == "solved" and "exit ticket" in lessons.solutions(number):
        print("Its exit ticket is answered: a class should hand in its own first.")
    return 0


def _shown(path: Path) -> str:
    return str(
        path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    )


def _read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def _write(notebook: Any, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, target)
