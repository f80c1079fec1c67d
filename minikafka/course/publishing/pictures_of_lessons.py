"""The pictures that a lesson shows: its cells are run as a notebook runs them, without
Jupyter.

Only the cells that lead to a picture are run: those that play one, and those that make
a name which a later one of these uses. What differs from run to run (cells tagged
`nbval-ignore-output`: real clients, this machine) is left out. Of Spark there are
recordings: the runs that lessons 18 and 19 are about play without it.
"""

import ast
import contextlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from minikafka import predict
from minikafka.course.contents import Contents, plays
from minikafka.course.experiments import lesson_18_event_time as event_time
from minikafka.course.experiments import lesson_19_checkpoints as checkpoints
from minikafka.theatre.picture import Picture

FUNCTIONS = (ast.FunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Shown:
    """A picture of a lesson, and its place: lesson "05", the cell's id, the heading
    above it.

    levers: in the lesson it is a live one, with controls; this is how it begins. alone:
    shown instead where there is no kernel. recorded: the cell itself needs Spark.
    """

    lesson: str
    cell: str
    heading: str
    picture: Picture
    levers: bool = False
    alone: Callable[[], Picture] | None = None
    recorded: bool = False

    @property
    def name(self) -> str:
        return f"{self.lesson}-{self.cell}"


class Recording(NamedTuple):
    """A run of Spark that a lesson's cell is about. asks: the cell with its question,
    if there is one. play: makes its picture, with that prediction or None.
    """

    cell: str
    asks: str
    play: Callable[[Any], Picture]


def _fate_of_h(asked: Any) -> Picture:
    """Micro-batches with a watermark, and the order that comes late."""
    picture: Picture = event_time.RECORDED.play(
        asked, surprise=event_time.comes("H"), answer=event_time.becomes_of_h
    )
    return picture


def _three_kills(asked: Any) -> Picture:
    """A query that is killed before, in and after its sink's work."""
    picture: Picture = checkpoints.RECORDED.play(asked)
    return picture


RECORDINGS = {
    "18": Recording("fate-run", "fate-predict", _fate_of_h),
    "19": Recording("kill", "", _three_kills),
}


def has_pictures(lesson: Contents) -> bool:
    """Whether there is anything to show."""
    return lesson.number in RECORDINGS or bool(leading_to_pictures(lesson.code))


def shown(lesson: Contents) -> Iterator[Shown]:
    """Every picture of a lesson, in its order. What cells print is lost; a cell that
    fails raises.
    """
    headings = {}
    for section in lesson.sections:
        headings.update({cell["id"]: section.heading for cell in section.cells})
    recording = RECORDINGS.get(lesson.number)
    if recording:
        yield Shown(
            lesson=lesson.number,
            cell=recording.cell,
            heading=headings[recording.cell],
            picture=recording.play(_asked(lesson, recording.asks)),
            recorded=True,
        )
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in leading_to_pictures(lesson.code):
        try:
            value = _run(cell, f"lesson {lesson.number}, {cell['id']}", names)
        except ModuleNotFoundError as error:
            if error.name != "ipywidgets":  # levers need it
                raise
            continue
        picture = value
        if not isinstance(value, Picture):  # one with levers has its picture
            picture = getattr(value, "picture", None)
        if isinstance(picture, Picture) and picture.scenes:
            yield Shown(
                lesson=lesson.number,
                cell=cell["id"],
                heading=headings[cell["id"]],
                picture=picture,
                levers=picture is not value,
                alone=getattr(value, "alone", None),
            )


def _asked(lesson: Contents, cell: str) -> Any:
    """The prediction that a cell asks for; None without a cell."""
    for each in lesson.predictions:
        if each.cell == cell:
            return predict(each.question, list(each.options), mine=None)
    return None


def leading_to_pictures(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that play one, and those before them that make a name which they use."""
    chosen: list[dict[str, Any]] = []
    wanted: set[str] = set()
    for cell in reversed(cells):
        if "nbval-ignore-output" in cell["metadata"].get("tags", []):
            continue
        source = cell["source"]
        made, used = _names(source)
        shows_one = plays(source) or "sweep(" in source
        if shows_one or made & wanted:
            chosen.insert(0, cell)
            wanted = (wanted - made) | used
    return chosen


def _names(source: str) -> tuple[set[str], set[str]]:
    """The names that a cell makes, and those that it uses and has not made in a line
    before.
    """
    tree = ast.parse(source)
    made: dict[str, int] = {}
    for node in _at_top_level(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            made.setdefault(node.id, node.lineno)
        elif isinstance(node, FUNCTIONS):
            made.setdefault(node.name, node.lineno)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name
                made[name.split(".")[0]] = node.lineno
    used = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            made_in = made.get(node.id, node.lineno)
            if made_in >= node.lineno:
                used.add(node.id)
    return set(made), used


def _at_top_level(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that are in no function and in no class, in the order of lines."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if not isinstance(node, FUNCTIONS):
            yield from _at_top_level(node)


def _run(cell: dict[str, Any], where: str, names: dict[str, Any]) -> Any:
    """The value of a cell: that of the expression at its end."""
    tree = ast.parse(cell["source"])
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(tree, f"<{where}>", "exec"), names)
        if isinstance(last, ast.Expr):
            expression = ast.Expression(last.value)
            return eval(compile(expression, f"<{where}>", "eval"), names)
    return None
