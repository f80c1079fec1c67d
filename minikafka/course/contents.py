"""The parts of a lesson's notebook, read from its cells: predictions, exercises,
sections, words, minutes.

Nothing is run here. Progress, the stated minutes and the tests of the lesson pattern
all use it.
"""

import ast
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from minikafka.course import places

# The model behind a lesson's stated minutes.
# of technical prose that is new to the reader, with tables and pictures to look at
WORDS_A_MINUTE = 100
# five seconds: a line is read, not learnt by heart; a set-up cell's are only run
CODE_LINE_MINUTES = 0.08
LETTERS_A_LINE = 100
RUN_MINUTES = 1.0  # to run a cell, and look at what it shows
PICTURE_MINUTES = 2.0  # more, where a picture plays
PREDICTION_MINUTES = 1.5  # to think, choose, and hear the verdict
# unless its cell's metadata say otherwise: {"minikafka": {"exercise": 1, "minutes":
# 25}}
EXERCISE_MINUTES = 15.0
QUESTION_MINUTES = 1.0  # one of an exit ticket
_CHECKED = re.compile(r'lesson\("(\d\d)"\)\.check\((\d+)')


@dataclass(frozen=True)
class Asked:
    """One call of predict, as the notebook has it. name: the variable that it is given
    to. options: their texts.
    """

    cell: str
    name: str
    question: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """From one heading of the second level to the next. stretch: learners without time
    leave it out.
    """

    heading: str
    cells: tuple[Any, ...]

    @property
    def stretch(self) -> bool:
        return "(stretch" in self.heading

    @property
    def text(self) -> str:
        return _prose(self.cells)


class Contents:
    """One lesson's notebook. number: its two digits."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = path.name[:2]
        book = json.loads(path.read_text(encoding="utf-8"))
        self.cells: list[dict[str, Any]] = book["cells"]
        for cell in self.cells:
            cell["source"] = "".join(cell["source"])

    @property
    def code(self) -> list[dict[str, Any]]:
        return [cell for cell in self.cells if cell["cell_type"] == "code"]

    @property
    def prose(self) -> str:
        return _prose(self.cells)

    @cached_property
    def predictions(self) -> tuple[Asked, ...]:
        found: list[Asked] = []
        for cell in self.code:
            found += _predictions(cell)
        return tuple(found)

    def settled_in(self, asked: Asked) -> set[str]:
        """The cells that ask or settle a prediction: they name its variable."""
        found = {asked.cell}
        if asked.name:
            named = re.compile(rf"\b{re.escape(asked.name)}\b")
            found.update(
                cell["id"] for cell in self.code if named.search(cell["source"])
            )
        return found

    @property
    def exercises(self) -> list[int]:
        """The exercises' numbers; the exit ticket doesn't count as one."""
        named = [_about(cell).get("exercise") for cell in self.code]
        return [number for number in named if isinstance(number, int)]

    @property
    def has_ticket(self) -> bool:
        return any(".exit_ticket(" in cell["source"] for cell in self.code)

    @cached_property
    def sections(self) -> list[Section]:
        """The first one, before any heading of the second level, is called ""."""
        found: list[Section] = []
        heading, cells = "", list[Any]()
        for cell in self.cells:
            if cell["cell_type"] != "markdown":
                cells.append(cell)
                continue
            for part in re.split(r"^(?=## )", cell["source"], flags=re.MULTILINE):
                begins = re.match(r"## (.+)", part)
                if begins:
                    found.append(Section(heading, tuple(cells)))
                    heading, cells = begins[1].strip(), []
                cells.append({**cell, "source": part})
        found.append(Section(heading, tuple(cells)))
        return found

    def section(self, beginning: str) -> Section | None:
        """The section whose heading begins so."""
        for section in self.sections:
            if section.heading.lower().startswith(beginning.lower()):
                return section
        return None

    @property
    def stated_minutes(self) -> int:
        """The first number after **Time** in the title cell. The minutes of the stretch
        come after it.
        """
        stated = re.search(r"\*\*Time\*\*([^*]*)", self.prose)
        assert stated is not None, f"lesson {self.number} does not state its time"
        without_names = re.sub(r"exercise \d+", "", stated[1])
        numbers = re.findall(r"\b\d+\b", without_names)
        return int(numbers[0])

    def minutes(self, questions: int, stretch: bool = False) -> float:
        """The minutes according to the model: the sections without stretch, or only
        those of the stretch.

        questions: of the exit ticket.
        """
        cells: list[dict[str, Any]] = []
        for section in self.sections:
            if section.stretch == stretch:
                cells += section.cells
        minutes = 0.0
        if any(".exit_ticket(" in cell["source"] for cell in cells):
            minutes = QUESTION_MINUTES * questions
        return minutes + sum(map(_minutes, cells))


def _prose(cells: Iterable[dict[str, Any]]) -> str:
    texts = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
    return "\n\n".join(texts)


def _about(cell: dict[str, Any]) -> dict[str, Any]:
    """The course's part of a cell's metadata."""
    return cell["metadata"].get("minikafka", {})


def words(markdown: str) -> int:
    """Words that are read: without the addresses of links and the marks of Markdown."""
    text = re.sub(r"\]\([^)]*\)", "]", markdown)
    return len(re.findall(r"[A-Za-z0-9][\w'.,/-]*", text))


def lines(source: str) -> int:
    """Lines that are read. What brackets spread over several is as long as its text, and
    an import is one.
    """
    count, depth, whole = 0, 0, ""
    for line in source.splitlines():
        whole += line.strip() + " "
        depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        if depth <= 0:
            is_import = whole.startswith(("from ", "import "))
            as_long_as = max(1, round(len(whole) / LETTERS_A_LINE))
            count += 1 if is_import else as_long_as
            depth, whole = 0, ""
    if whole:
        count += 1
    return count


def plays(source: str) -> bool:
    """Whether a cell with this source shows a picture to play."""
    return ".play(" in source or re.search(r"\blevers[.(]", source) is not None


def _minutes(cell: dict[str, Any]) -> float:
    source = cell["source"]
    if cell["cell_type"] == "markdown":
        return words(source) / WORDS_A_MINUTE
    about = _about(cell)
    if about.get("exercise") == "exit ticket":
        return 0.0
    if "exercise" in about:
        return float(about.get("minutes", EXERCISE_MINUTES))
    if "check" in about:
        return 0.0  # part of the exercise
    is_setup = "setup" in cell["metadata"].get("tags", [])
    read = 0 if is_setup else lines(source)
    minutes = RUN_MINUTES + CODE_LINE_MINUTES * read
    if plays(source):
        minutes += PICTURE_MINUTES
    return minutes + PREDICTION_MINUTES * len(_predictions(cell))


def _predictions(cell: dict[str, Any]) -> list[Asked]:
    """The calls of predict in a cell. Their arguments are literals; an f-string's
    question keeps its holes.
    """
    try:
        tree = ast.parse(cell["source"])
    except SyntaxError:  # a stub, or a cell magic
        return []
    found, targets = [], {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets[id(node.value)] = ast.unparse(node.targets[0])
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "predict":
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            question = node.args[0] if node.args else given["question"]
            options = node.args[1] if len(node.args) > 1 else given["options"]
            texts = [_text(option) for option in getattr(options, "elts", [])]
            asked = Asked(
                cell=cell["id"],
                name=targets.get(id(node), ""),  # walk comes to the assignment first
                question=_text(question),
                options=tuple(texts),
            )
            found.append(asked)
    return found


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if not isinstance(node, ast.JoinedStr):
        return ast.unparse(node)
    text = ""
    for part in node.values:
        text += str(part.value) if isinstance(part, ast.Constant) else "{}"
    return text


@cache
def contents() -> dict[str, Contents]:
    """Lesson number -> its contents, in the order of the course."""
    return {path.name[:2]: Contents(path) for path in places.lessons()}


@cache
def extras() -> dict[str, Contents]:
    """The name of an extra notebook, without its ending -> its contents."""
    return {path.stem: Contents(path) for path in places.extras()}


@cache
def extra_exercises() -> dict[str, set[int]]:
    """Lesson number -> its exercises that stand in extra notebooks, which nobody has to
    do. An extra may ask another lesson's exercise.
    """
    found: dict[str, set[int]] = {}
    for extra in extras().values():
        for cell in extra.code:
            for number, exercise in _CHECKED.findall(cell["source"]):
                found.setdefault(number, set()).add(int(exercise))
    return found
