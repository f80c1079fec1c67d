"""What the learner has done: predictions made, exercises solved, exit tickets answered.

It is kept in `my/progress.json`, the learner's own folder, and only by notebooks that
run there; a lesson that runs anywhere else (a test, a look at the originals) remembers
it while its kernel runs. Nothing leaves the machine, unless the learner joins a class
(classroom/). A prediction counts when its number is written in the cell, or when
it is chosen in the picture beside a kernel. Solved exercises of the extra notebooks are
told beside the lesson's own, since nobody has to do them.
"""

import contextlib
import json
import os
import uuid
from pathlib import Path
from typing import Any, NamedTuple

from minikafka.course import cards
from minikafka.course.classroom import telling
from minikafka.course.contents import Contents, contents, extra_exercises
from minikafka.course.judging.verdicts import Said
from minikafka.course.places import my

MY = my()
NO_OPTION = 0  # what was dragged in a picture, and isn't right

# {lesson: {"predictions": [questions], "exercises": [numbers], "ticket": [right, of]}},
# and for a class "chosen": {number of the question: option}, "wrong" and "hints":
# {exercise: how many}, "rungs": {exercise: [held, of]}, "question": what a raised hand
# asks. Beside the lessons, for a
# class: whose they are, {"id": ..., "name": ...}, and by name what others did here
_LEARNER, _OTHERS = "learner", "others"
_in_this_kernel: dict[str, dict[str, Any]] = {}


def opened(question: str) -> None:
    """A question was asked. It is the first thing that a class hears of a learner; who
    is in none needn't wait until all lessons are read.
    """
    if telling.joined():
        for number, _ in _asked(question):
            _tell(number, _done().get(number, {}))


def predicted(question: str, option: int) -> None:
    """A prediction of the learner's own was settled. It counts only if it belongs to a
    lesson. option: the number of the one that was chosen, or NO_OPTION.
    """
    for number, place in _asked(question):
        _note(number, "chosen", place, option, again=False)
        _add(number, "predictions", question)


def _asked(question: str) -> list[tuple[str, int]]:
    """The lesson and the number of a question; nothing for one that no lesson asks."""
    return [
        (number, place)
        for number, lesson in contents().items()
        for place, each in enumerate(lesson.predictions, 1)
        if each.question == question
    ]


def solved(number: str, exercise: int) -> None:
    """The check of an exercise held."""
    if _noted(number, "wrong", exercise, 0):
        _note(number, "wrong", exercise, 0)
    _add(number, "exercises", exercise)


def failed(number: str, exercise: int, held: int, of: int) -> None:
    """An answer was wrong. Wrong ones are counted since the last right one, or since
    the last one that climbed a rung, whose writer isn't stuck; a kernel that starts
    again goes on counting.

    held, of: how many of the exercise's rungs hold, and how many it has.
    """
    wrong = _noted(number, "wrong", exercise, 0) + 1
    highest, _ = _noted(number, "rungs", exercise, (0, 0))
    if held > highest:
        wrong = 0
        _note(number, "rungs", exercise, [held, of])
    _note(number, "wrong", exercise, wrong)


def hinted(number: str, exercise: int, read: int) -> None:
    """A hint was read. read: how many of them by now, in this kernel."""
    before = _noted(number, "hints", exercise, 0)
    _note(number, "hints", exercise, max(before, read))


def asks(number: str, question: str) -> bool:
    """A hand was raised with a question, or lowered with none. Whether the class has
    heard of it. A learner has one hand: it is down in all other lessons.
    """
    for other in contents():
        if other != number and _done().get(other, {}).get("question"):
            _write(other, "question", "")
    _write(number, "question", question)
    return telling.joined() and telling.heard()


def answered(number: str, right: int, of: int) -> None:
    """An exit ticket was handed in. of: how many questions it has."""
    _write(number, "ticket", [right, of])


def progress(only: str | None = None) -> Said:
    """What is done and what is left, one line per lesson; with a number, only that
    lesson's line.
    """
    everything = _done()
    rows = [_HEADINGS]
    strips = []
    for number, lesson in contents().items():
        if only in (None, number):
            done = everything.get(number, {})
            rows.append(_row(lesson, done))
            strips.append((_title(lesson), _places(lesson, done)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        words = [word.ljust(width) for word, width in zip(row, widths, strict=True)]
        lines.append("  ".join(words).rstrip())
    return Said("\n".join(lines), cards.strip(strips))


def _title(lesson: Contents) -> str:
    return lesson.path.stem.replace("_", " ")


def _places(lesson: Contents, done: dict[str, Any]) -> list[tuple[str, int, int]]:
    questions = 5 if lesson.has_ticket else 0
    right, asked = done.get("ticket") or (0, questions)
    return [
        ("predictions", *_made(lesson, done)),
        ("exercises", *_solved(lesson, done)),
        ("exit ticket", right, asked),
        ("extra exercises", *_solved_extra(lesson, done)),
    ]


def _made(lesson: Contents, done: dict[str, Any]) -> tuple[int, int]:
    asked = {each.question for each in lesson.predictions}
    made = asked.intersection(done.get("predictions", []))
    return len(made), len(lesson.predictions)


def _solved(lesson: Contents, done: dict[str, Any]) -> tuple[int, int]:
    right = set(lesson.exercises).intersection(done.get("exercises", []))
    return len(right), len(lesson.exercises)


def _solved_extra(lesson: Contents, done: dict[str, Any]) -> tuple[int, int]:
    beside = extra_exercises().get(lesson.number, set())
    right = beside.intersection(done.get("exercises", []))
    return len(right), len(beside)


class Row(NamedTuple):
    """A lesson's line, in words."""

    lesson: str
    predictions: str
    exercises: str
    ticket: str


_HEADINGS = Row("lesson", "predictions", "exercises", "exit ticket")


def _row(lesson: Contents, done: dict[str, Any]) -> Row:
    ticket = "not yet" if lesson.has_ticket else "-"
    if done.get("ticket"):
        ticket = _of(*done["ticket"])
    exercises = _of(*_solved(lesson, done))
    extra, _ = _solved_extra(lesson, done)
    if extra:
        exercises += f", {extra} extra"
    return Row(
        lesson=_title(lesson),
        predictions=_of(*_made(lesson, done)),
        exercises=exercises,
        ticket=ticket,
    )


def _of(done: int, there_are: int) -> str:
    return f"{done} of {there_are}" if there_are else "-"


def _add(number: str, what: str, which: Any) -> None:
    before = _done().get(number, {}).get(what, [])
    if which not in before:
        _write(number, what, [*before, which])


def _note(number: str, what: str, which: int, value: Any, again: bool = True) -> None:
    """Keep one more number. again: whether it takes the place of an earlier one."""
    before = _done().get(number, {}).get(what, {})
    if again or str(which) not in before:
        _write(number, what, {**before, str(which): value})


def _noted(number: str, what: str, which: int, otherwise: Any) -> Any:
    return _done().get(number, {}).get(what, {}).get(str(which), otherwise)


def _write(number: str, what: str, value: Any) -> None:
    done = _done()  # read again: another lesson's kernel may have written meanwhile
    done.setdefault(number, {})[what] = value
    _in_this_kernel.setdefault(number, {})[what] = value
    _keep(done)
    _tell(number, done[number])


def _keep(done: dict[str, Any]) -> None:
    if _here():
        partial = _file().with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):  # a full disk is no reason to stop a lesson
            text = json.dumps(done, indent=1, sort_keys=True)
            partial.write_text(text + "\n", encoding="utf-8")
            partial.replace(_file())


def _tell(number: str, done: dict[str, Any]) -> None:
    """Tell the class, if there is one."""
    told = {
        "predictions": done.get("chosen", {}),
        "solved": done.get("exercises", []),
        "wrong": done.get("wrong", {}),
        "rungs": done.get("rungs", {}),
        "hints": done.get("hints", {}),
        "ticket": done.get("ticket"),
        "question": done.get("question", ""),
    }
    telling.tell(_learner() if telling.joined() else "", number, told)


def _learner() -> str:
    """What tells this learner from another of the same name: made once for a folder and
    a name. Its first letter is none of a number's, for spreadsheets read 12e45 as one.
    """
    done = _done()
    known = done.get(_LEARNER, {})
    mine = {
        "id": known.get("id") or f"u{uuid.uuid4().hex[:11]}",
        "name": telling.name(),
    }
    if known != mine:
        _in_this_kernel[_LEARNER] = mine
        _keep({**done, _LEARNER: mine})
    return mine["id"]


def _of_this_learner(kept: dict[str, Any]) -> dict[str, Any]:
    """What is kept in a folder, with the lessons of the learner who has joined a class
    in it. Two may share a laptop, and nobody gets the other's marks.
    """
    name = telling.name() if telling.joined() else ""
    owner = kept.get(_LEARNER, {}).get("name", name)
    if not name or owner == name:
        return kept
    others = dict(kept.get(_OTHERS, {}))
    others[owner] = {what: of for what, of in kept.items() if what != _OTHERS}
    if name not in others:
        telling.say_once(
            f"minikafka: what was done in this folder counts for {owner}, so {name}"
            f" begins with nothing done. If you are {owner}, start JupyterLab again with"
            f' {telling.NAME}="{owner}".'
        )
    return {**others.pop(name, {}), _OTHERS: others}


def _done() -> dict[str, dict[str, Any]]:
    if not _here():
        return {number: dict(lesson) for number, lesson in _in_this_kernel.items()}
    try:
        found = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):  # not there yet, or somebody has edited it
        found = {}
    return _of_this_learner(found) if isinstance(found, dict) else {}


def _here() -> bool:
    """Whether this notebook is in the learner's folder. A kernel runs where its
    notebook is.
    """
    return Path.cwd() == MY


def _file() -> Path:
    return MY / "progress.json"
