"""The teacher's side of a class: who is where, who is stuck, and what was predicted.

Whoever reaches the broker can write to the class's topic, so what no learner's kernel
wrote is passed over and counted.
"""

import csv
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain, count, filterfalse
from typing import Any, TextIO

from minikafka.course.classroom.telling import LONGEST_NAME
from minikafka.course.contents import contents
from minikafka.course.progress import NO_OPTION

_LONGEST_ID, _LONGEST_QUESTION = 24, 200
_MOST_LEARNERS = 1000  # a class, and whatever else somebody writes
_STUCK_AFTER = 3  # wrong answers to an exercise since the last right one
_BAR = 30  # letters
_NOT_TOLD = (
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    RecursionError,  # in what was told
    OverflowError,
    OSError,  # of a time that no calendar has
)


@dataclass(frozen=True)
class Place:
    """What one learner has done in one lesson.

    learner: an id that differs between two of the same name. predictions: number of the
    question -> the option chosen first. wrong, hints: exercise -> wrong answers since the
    last right one or the last new rung, hints read. rungs: exercise -> how many held,
    and of how many. ticket: right answers and questions, or None. question: what a raised
    hand asks, empty without one. at: seconds since 1970.
    """

    name: str
    learner: str
    lesson: str
    predictions: Mapping[int, int]
    solved: frozenset[int]
    wrong: Mapping[int, int]
    hints: Mapping[int, int]
    rungs: Mapping[int, tuple[int, int]]
    ticket: tuple[int, int] | None
    question: str
    at: float

    @property
    def stuck_in(self) -> list[int]:
        """Exercises with several wrong answers, and not solved."""
        return sorted(
            exercise
            for exercise, wrong in self.wrong.items()
            if wrong >= _STUCK_AFTER and exercise not in self.solved
        )

    @property
    def climbing(self) -> list[tuple[int, int, int]]:
        """Exercises with some rungs that hold, but not all: how many, of how many."""
        return sorted(
            (exercise, held, of)
            for exercise, (held, of) in self.rungs.items()
            if exercise not in self.solved
        )


def place_of(record: Any) -> Place | None:
    """From a record of the topic; None for anything that no learner's kernel wrote."""
    try:
        name, learner, lesson = record.key.decode().rsplit("/", 2)
        told = json.loads(record.value)
        # a course's copy from before it told of rungs has none
        ticket, rungs = told["ticket"], told.get("rungs", {})
        if lesson not in contents():
            return None
        time.localtime(record.timestamp / 1000)
        return Place(
            name=_printable(name, LONGEST_NAME),
            learner=_printable(learner, _LONGEST_ID),
            lesson=lesson,
            predictions=_numbers(told["predictions"]),
            solved=frozenset(map(_number, told["solved"])),
            wrong=_numbers(told["wrong"]),
            hints=_numbers(told["hints"]),
            rungs={_number(int(key[:3])): _pair(of) for key, of in rungs.items()},
            ticket=None if ticket is None else _pair(ticket),
            question=_printable(told["question"], _LONGEST_QUESTION),
            at=record.timestamp / 1000,
        )
    except _NOT_TOLD:
        return None


def lowered(place: Place) -> tuple[bytes, bytes]:
    """Key and value of a record that says the same of a place, with the hand down."""
    told = {
        "predictions": dict(place.predictions),
        "solved": sorted(place.solved),
        "wrong": dict(place.wrong),
        "hints": dict(place.hints),
        "rungs": dict(place.rungs),
        "ticket": place.ticket,
        "question": "",
    }
    key = f"{place.name}/{place.learner}/{place.lesson}"
    return key.encode(), json.dumps(told).encode()


def _number(told: Any) -> int:
    if type(told) is not int or not 0 <= told < 1000:
        raise ValueError
    return told


def _pair(told: Any) -> tuple[int, int]:
    return _number(told[0]), _number(told[1])


def _numbers(told: Any) -> dict[int, int]:
    return {_number(int(key[:3])): _number(value) for key, value in told.items()}


def _printable(text: Any, longest: int) -> str:
    """Learners type these: nothing of it may move the terminal's cursor."""
    if not isinstance(text, str):
        raise TypeError
    return "".join(each if each.isprintable() else "?" for each in text[:longest])


class Board:
    """What everybody has done, and how many records said nothing about that."""

    def __init__(self) -> None:
        # learner -> lesson, the one with the latest news last
        self._places: dict[str, dict[str, Place]] = {}
        self._strange = 0

    def take(self, records: Iterable[Any]) -> None:
        for place in map(place_of, records):
            if place is None or not self._has_room_for(place):
                self._strange += 1
            else:
                lessons = self._places.setdefault(place.learner, {})
                known = lessons.get(place.lesson)
                # one that was tried again may come after those that were made later
                if known is None or place.at >= known.at:
                    lessons.pop(place.lesson, None)
                    lessons[place.lesson] = place

    def _has_room_for(self, place: Place) -> bool:
        return place.learner in self._places or len(self._places) < _MOST_LEARNERS

    def places(self, lesson: str | None = None) -> list[Place]:
        """Where every learner was last, with a hand that is still up in another lesson;
        with a lesson, where they got in it.
        """
        latest = []
        for lessons in self._places.values():
            known = [each for each in lessons.values() if lesson in (None, each.lesson)]
            if known:
                # of two in the same millisecond the later one
                last = max(reversed(known), key=lambda place: place.at)
                asking = next((each for each in known if each.question), last)
                if not last.question and asking.question:
                    about = f"{asking.question} (lesson {asking.lesson})"
                    last = replace(last, question=about)
                latest.append(last)
        return latest

    def rows(self, lesson: str | None = None) -> list[tuple[str, Place]]:
        """The table's names and places: raised hands first, then who is stuck, then the
        one furthest behind.
        """
        names = self._names()
        places = self.places(lesson)
        return sorted(((names[each.learner], each) for each in places), key=_urgency)

    def every_row(self, lesson: str | None = None) -> list[tuple[str, Place]]:
        """How far everybody got in every lesson that they opened, or in this one: with
        the names of the table, and in its order.
        """
        every = []
        for name, shown in self.rows(lesson):
            for number, place in sorted(self._places[shown.learner].items()):
                if lesson in (None, number):
                    every.append((name, place))
        return every

    def names(self) -> set[str]:
        """All in the table."""
        return {name for name, _ in self.rows()}

    def hands(self, name: str) -> list[Place]:
        """Where the learner of this row has a hand up."""
        every = self.every_row()
        return [each for called, each in every if called == name and each.question]

    def _names(self) -> dict[str, str]:
        """Learner -> the name in the table; the second Ada is called Ada (2)."""
        names: dict[str, str] = {}
        taken = set[str]()
        for learner, lessons in self._places.items():
            name = list(lessons.values())[-1].name
            numbered = (f"{name} ({number})" for number in count(2))
            free = filterfalse(taken.__contains__, chain([name], numbered))
            names[learner] = next(free)
            taken.add(names[learner])
        return names

    def text(self, unreadable: int, lesson: str | None = None) -> str:
        """The table; with a lesson, what was predicted there instead, without a name;
        and what was passed over. unreadable: batches that nobody could decode.
        """
        if lesson is None:
            parts = [table(self.rows())]
        else:
            parts = [histogram(lesson, self.places(lesson))]
        passed_over = []
        if self._strange:
            records = "record" if self._strange == 1 else "records"
            passed_over.append(
                f"{self._strange} {records} that no learner's kernel wrote"
            )
        if unreadable == 1:
            passed_over.append("1 batch of records that is damaged")
        elif unreadable:
            passed_over.append(f"{unreadable} batches of records that are damaged")
        if passed_over:
            parts.append(f"Passed over: {' and '.join(passed_over)}.")
        return "\n\n".join(parts)


def table(places: list[tuple[str, Place]]) -> str:
    """A line for each learner."""
    if not places:
        return "Nobody has joined yet."
    rows = [
        (
            "name",
            "lesson",
            "predictions",
            "exercises",
            "exit ticket",
            "last seen",
            "needs help",
        )
    ]
    for name, place in places:
        lesson = contents()[place.lesson]
        rows.append(
            (
                name,
                place.lesson,
                f"{len(place.predictions)} of {len(lesson.predictions)}",
                _exercises(place),
                _ticket(place),
                time.strftime("%H:%M", time.localtime(place.at)),
                _help(place),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        words = [word.ljust(width) for word, width in zip(row, widths, strict=True)]
        lines.append("  ".join(words).rstrip())
    return "\n".join(lines)


def _urgency(named: tuple[str, Place]) -> tuple[bool, bool, str, int, int, str]:
    """Without the time, or rows would change places whenever somebody is heard of."""
    name, place = named
    done = len(place.solved), len(place.predictions)
    return not place.question, not place.stuck_in, place.lesson, *done, name


def _exercises(place: Place) -> str:
    """How many are solved, and how far the others are."""
    own = contents()[place.lesson].exercises
    climbed = "".join(
        f", {exercise}: rung {held} of {of}" for exercise, held, of in place.climbing
    )
    return f"{len(place.solved.intersection(own))} of {len(own)}{climbed}"


def _ticket(place: Place) -> str:
    if place.ticket:
        return "{} of {}".format(*place.ticket)
    return "not yet" if contents()[place.lesson].has_ticket else "none"


def _help(place: Place) -> str:
    needs = [f"asks: {place.question}"] if place.question else []
    for exercise in place.stuck_in:
        hints = place.hints.get(exercise, 0)
        needs.append(
            f"exercise {exercise}: {place.wrong[exercise]} wrong,"
            f" {hints} {'hint' if hints == 1 else 'hints'} read"
        )
    return "; ".join(needs)


def histogram(lesson: str, places: list[Place]) -> str:
    """How many chose which option first, for the questions that somebody has answered.
    It says neither who nor what is right: the whole room can see it.
    """
    blocks = []
    for number, asked in enumerate(contents()[lesson].predictions, 1):
        chosen = Counter(
            each.predictions[number] for each in places if number in each.predictions
        )
        if not chosen:
            continue
        options = dict(enumerate(asked.options, 1))
        if chosen[NO_OPTION]:
            options[NO_OPTION] = "another place in the picture"
        width = max(map(len, options.values()))
        scale = min(1.0, _BAR / max(chosen.values()))
        answered = f"{chosen.total()} of {len(places)} have answered"
        lines = [f"{number}. {asked.question} ({answered})"]
        for option, text in options.items():
            count = chosen[option]
            bar = "#" * max(round(count * scale), min(count, 1))
            lines.append(
                f"   {option or '-'}  {text.ljust(width)}  {bar} {count}".rstrip()
            )
        blocks.append("\n".join(lines))
    return (
        "\n\n".join(blocks) or f"Nobody has predicted anything in lesson {lesson} yet."
    )


COLUMNS = (
    "name",
    "learner",
    "lesson",
    "predictions",
    "predictions_of",
    "exercises",
    "exercises_of",
    "exercises_solved",
    "exercises_percent",
    "rungs",
    "wrong_answers",
    "hints_read",
    "ticket",
    "ticket_of",
    "question",
    "last_seen",
)


def write_csv(places: list[tuple[str, Place]], file: TextIO) -> None:
    """A row for each learner and lesson, under COLUMNS.

    name: as in the table. predictions: question=option for each one made, since a
    spreadsheet takes 1:3 for a time. exercises: how many of the lesson's own are solved;
    exercises_solved: their numbers, extra ones too. exercises_percent: of the lesson's
    own, where one that isn't solved counts with its rungs: 50 for 2 of 4; empty in a
    lesson without exercises. rungs: of those that aren't solved. ticket: right answers, empty if it
    wasn't handed in.
    """
    rows = csv.writer(file)
    rows.writerow(COLUMNS)
    for name, place in places:
        lesson = contents()[place.lesson]
        right, of = place.ticket or ("", "")
        last_seen = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(place.at))
        row = (
            name,
            place.learner,
            place.lesson,
            " ".join(
                f"{q}={option}" for q, option in sorted(place.predictions.items())
            ),
            len(lesson.predictions),
            len(place.solved.intersection(lesson.exercises)),
            len(lesson.exercises),
            " ".join(map(str, sorted(place.solved))),
            _percent(place),
            ", ".join(f"{each}: {held} of {of}" for each, held, of in place.climbing),
            sum(place.wrong.values()),
            sum(place.hints.values()),
            right,
            of,
            place.question,
            last_seen,
        )
        rows.writerow([_no_formula(each) for each in row])


def _percent(place: Place) -> int | str:
    own = contents()[place.lesson].exercises
    if not own:
        return ""
    climbed = [
        min(held / of, 1.0)
        for exercise, held, of in place.climbing
        if exercise in own and of
    ]
    done = len(place.solved.intersection(own)) + sum(climbed)
    return round(100 * done / len(own))


def _no_formula(cell: Any) -> Any:
    """A spreadsheet would run what begins like a formula."""
    if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t")):
        return f"'{cell}"
    return cell
