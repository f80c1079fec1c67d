"""The calls that a notebook makes: checks, hints, exit tickets, claims, progress.
(Predictions: predictions.py.)

    from minikafka import lesson

    lesson("02").check(1, my_partition)
    lesson("02").hint(1)
    lesson("02").progress()

After a restart the kernel offers the hints again, and knows no answers that may be used;
finished work stays, and so does what a class is told (progress.py).
"""

import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import Any

from minikafka.course import cards, claims, progress
from minikafka.course.classroom import telling
from minikafka.course.contents import contents
from minikafka.course.judging import checks, child
from minikafka.course.judging.verdicts import Said, Verdict
from minikafka.course.places import NOTEBOOKS

_HINT_AFTER = 2  # failures
_NOTHING = object()  # what was not handed in


@dataclass(frozen=True)
class Question:
    """One question of an exit ticket. right: the option's number. why: said to
    everybody who answered it, and begins with that number.

    lesson: the earlier lesson that it comes back to, "02"; empty where it is about its
    own.
    """

    about: str
    right: int
    why: str
    lesson: str = ""


class Lesson:
    """One lesson's exercises in this kernel."""

    def __init__(self, number: str, module: ModuleType, *more: ModuleType) -> None:
        self.number = number
        self._module = module
        self._more = more
        self._failures: dict[int, int] = {}
        self._hints_read: dict[int, int] = {}
        self._solved: dict[int, list[Any]] = {}

    def __repr__(self) -> str:
        return f'lesson("{self.number}"): {len(self._exercises())} exercises'

    def check(self, exercise: int, answer: Any = _NOTHING) -> Verdict:
        """The verdict on an answer. A wrong one counts: after two, a hint is
        offered.
        """
        no = self._no_exercise(exercise)
        if no is None and answer is _NOTHING:
            no = (
                f"check({exercise}) lacks your answer: check({exercise},"
                f" {self._exercise(exercise).name})"
            )
        if no is not None:
            return Verdict(no, False, attempted=False)
        found = self._judge(exercise, answer)
        if found.right:
            self._solved.setdefault(exercise, []).append(answer)
            self._failures[exercise] = 0
            progress.solved(self.number, exercise)
        elif found.attempted:
            self._failures[exercise] = self._failures.get(exercise, 0) + 1
            progress.failed(self.number, exercise, *found.rungs)
            offer = self._offer(exercise)
            if offer:
                return replace(found, lines=(*found.lines, offer))
        return found

    def _judge(self, exercise: int, answer: Any) -> Verdict:
        """Code runs in a process that may be killed, where there can be one; data
        hangs nothing up.
        """
        asked = self._exercise(exercise)

        def judge() -> Verdict:
            return checks.examine(asked, answer, seed=f"{self.number}/{exercise}")

        if callable(answer) and child.can_fork():
            return child.in_a_child(judge, asked.call_seconds)
        return judge()

    def hint(self, exercise: int) -> Said:
        """The next hint of three; from the third on, all three."""
        no = self._no_exercise(exercise)
        if no is not None:
            return Said(no)
        hints = self._exercise(exercise).hints
        read = min(self._hints_read.get(exercise, 0) + 1, len(hints))
        self._hints_read[exercise] = read
        progress.hinted(self.number, exercise, read)
        is_last = read == len(hints)
        lines, body = [], ""
        for number in range(1 if is_last else read, read + 1):
            title, hint = f"Hint {number} of {len(hints)}.", hints[number - 1]
            lines.append(f"{title} {hint}")
            body += cards.card("open", title, cards.line(hint))
        if is_last:
            offer = (
                "The solution, if you want it:"
                f' lesson("{self.number}").solution({exercise})'
            )
            lines.append(offer)
            body += cards.line(offer)
        return Said("\n".join(lines), body)

    def solution(self, exercise: int) -> Said:
        """The solution's source, plain and commented."""
        no = self._no_exercise(exercise)
        if no is not None:
            return Said(no)
        return Said(solutions(self.number)[str(exercise)])

    def use(
        self, exercise: int, mine: Any, kafkas: Any, called: str = "Kafka's own"
    ) -> Any:
        """`mine` once its check has passed in this kernel, Kafka's own until then.
        Prints whose code runs.

        called: what stands in, where it isn't Kafka's own.
        """
        if any(answer is mine for answer in self._solved.get(exercise, [])):
            print(f"Your {self._exercise(exercise).name} runs here.")
            return mine
        print(
            f"{called} runs here; yours does once exercise {exercise} is solved and"
            " this cell runs again."
        )
        return kafkas

    def exit_ticket(self, *answers: int | None) -> Verdict:
        """The verdict on the answers, each the number of an option."""
        questions: tuple[Question, ...] = self._module.EXIT_TICKET
        are_answers = all(answer is None or type(answer) is int for answer in answers)
        if all(answer is None for answer in answers):
            headline = (
                f"Not answered yet: {len(questions)} questions. Write the numbers of"
                " your options."
            )
            return Verdict(headline, False, attempted=False)
        if len(answers) > len(questions) or not are_answers:
            headline = (
                f"Write {len(questions)} answers, each the number of an option or None,"
                f" not {answers}."
            )
            return Verdict(headline, False, attempted=False)
        lines, marks = [], []
        asked = enumerate(zip_longest(questions, answers), 1)
        for number, (question, answer) in asked:
            if answer is None:
                marks.append("open")
                said = f"not answered: {question.about}"
            elif answer == question.right:
                marks.append("right")
                said = f"right, it's {question.why}"
            else:
                marks.append("wrong")
                said = f"you chose {answer}; it's {question.why}"
            lines.append(f"Question {number}: {said}")
        right = marks.count("right")
        progress.answered(self.number, right, len(questions))
        return Verdict(
            f"{right} of {len(questions)} right.",
            right == len(questions),
            partly=right > 0,
            lines=tuple(lines),
            marks=tuple(marks),
        )

    def claims(self) -> Said:
        """The claims of the ledger that this lesson settles, with their verdicts."""
        mine = [claim for claim in claims.ledger() if claim.lesson == self.number]
        return Said(claims.table(mine), claims.cards_of(mine))

    def progress(self) -> Said:
        """Your progress in this lesson."""
        return progress.progress(self.number)

    def raise_hand(self, question: str = "a question") -> Said:
        """Call your class's teacher, who sees the question in `minikafka class`."""
        if not telling.joined():
            return Said(
                "You aren't in a class, so nobody would see it. (A teacher says how to"
                " join one: MINIKAFKA_CLASS and MINIKAFKA_NAME.)"
            )
        later = f'When you have your answer:  lesson("{self.number}").lower_hand()'
        if progress.asks(self.number, question):
            return Said(f"Your hand is up. {later}")
        return Said(
            "Your teacher can't see your hand yet, because the class's broker"
            f" {telling.broker()} doesn't answer. It goes up when the broker is back;"
            f" until then, just call. {later}"
        )

    def lower_hand(self) -> Said:
        """You have your answer."""
        heard = progress.asks(self.number, "")
        if not telling.joined():
            return Said("Your hand is down.")
        when = (
            "" if heard else " Your teacher sees that when the class's broker is back."
        )
        return Said(
            f"Your hand is down.{when} (Delete the cell that raised it, or your hand"
            " goes up again when you run the whole notebook.)"
        )

    def _offer(self, exercise: int) -> str:
        if self._hints_read.get(exercise, 0) >= 3:
            return f'lesson("{self.number}").solution({exercise}) shows one way.'
        if self._failures[exercise] >= _HINT_AFTER:
            return (
                f'lesson("{self.number}").hint({exercise}) is there when you want it.'
            )
        return ""

    def _exercises(self) -> dict[int, Callable[[], checks.Exercise]]:
        found = {}
        for module in (self._module, *self._more):
            for name, value in vars(module).items():
                match = re.fullmatch(r"exercise_(\d+)", name)
                if match:
                    found[int(match[1])] = value
        return found

    def _no_exercise(self, number: Any) -> str | None:
        """A line on what is no exercise of this lesson; None for one that is."""
        exercises = sorted(self._exercises())
        if type(number) is int and number in exercises:
            return None
        known = ", ".join(map(str, exercises)) or "none"
        return (
            f"lesson {self.number} has the exercises {known}, not"
            f" {checks.short(number)}"
        )

    def _exercise(self, number: int) -> checks.Exercise:
        no = self._no_exercise(number)
        if no is not None:
            raise ValueError(no)
        return self._exercises()[number]()


@cache
def lesson(number: str) -> Lesson:
    """The lesson with this number, "02". The same object in one kernel, so that it
    remembers your attempts. One without exercises is there to raise a hand in.
    """
    if number not in contents():
        quoted = ", ".join(f'"{each}"' for each in contents())
        raise ValueError(f"there is no lesson {number!r}, but {quoted}")
    files = _files("checks", number)
    if not files[0].exists():
        return Lesson(number, ModuleType(files[0].stem))
    return Lesson(number, *map(_load, files))


def _files(folder: str, number: str) -> list[Path]:
    """A lesson's own file, and further ones where it has outgrown it: lesson_15.py,
    lesson_15_stories.py.
    """
    further = sorted((NOTEBOOKS / folder).glob(f"lesson_{number}_*.py"))
    return [NOTEBOOKS / folder / f"lesson_{number}.py", *further]


def solutions(number: str) -> dict[str, str]:
    """Exercise ("1", or "exit ticket") -> source, from `solutions/lesson_NN.py`: parts
    begin with `# %% exercise 1`.
    """
    found = {}
    for path in _files("solutions", number):
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        parts = re.split(r"^# %% (?:exercise )?(.+)\n", text, flags=re.MULTILINE)
        names, sources = parts[1::2], parts[2::2]
        for name, source in zip(names, sources, strict=True):
            found[name.strip()] = source.strip()
    return found


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"minikafka_checks_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
