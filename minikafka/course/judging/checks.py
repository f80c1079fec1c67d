"""How an answer is examined: named edge cases, then seeded random scenarios, then the
smallest one that breaks it.

`notebooks/checks/lesson_NN.py` has one function per exercise; it returns an Exercise
made of rungs. A rung is one thing that a right answer does, with a verdict of its own,
so that the author of a half-right answer learns which half is right.
"""

import ast
import contextlib
import copy
import inspect
import io
import itertools
import linecache
import math
import numbers
import random
import sysconfig
import textwrap
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from minikafka.course.judging.guard import Guard
from minikafka.course.judging.shrinking import Noted, smallest
from minikafka.course.judging.verdicts import Verdict
from minikafka.course.judging.watchdog import StillRunning, Watchdog
from minikafka.faults import Fault

# random ones a rung, whatever the clock says: a verdict is the same on a busy machine
SCENARIOS = 200
_TRACEBACK_LINES = 4
_PRINTED_LINES = 6
_MOST_FAULTS = 100

_PACKAGE = Path(__file__).resolve().parents[2]
_NOT_THE_LEARNERS = (
    str(_PACKAGE),
    str(_PACKAGE.parent / "notebooks"),
    sysconfig.get_path("stdlib"),
    sysconfig.get_path("purelib"),
    "<frozen",
)


@dataclass(frozen=True)
class Rung:
    """One thing a right answer does.

    holds: the verdict if it holds. broken(answer, case): None, or what broke (one line;
    further lines are details). cases: name -> case, tried first. scenario: makes random
    cases, and how many; if one breaks, a smaller one is looked for (shrinking.py).
    smaller: simpler variants of any case, simplest first, of which equally many are
    tried. needs: methods of a class that this rung needs: it waits until they are
    written. The answer is behind a guard (`guard.py`); inspect.unwrap() removes it.
    """

    holds: str
    broken: Callable[[Any, Any], str | None]
    cases: Mapping[str, Any]
    scenario: Callable[[random.Random], Any] | None = None
    scenarios: int = SCENARIOS
    smaller: Callable[[Any], Iterable[Any]] = lambda case: ()
    describe: Callable[[Any], str] = repr
    picture: Callable[[Any, Any], Any] | None = None
    needs: tuple[str, ...] = ()
    stretch: bool = False


@dataclass(frozen=True)
class Exercise:
    """right: the headline when all rungs hold. hints: three, the last short of the
    answer.

    takes: makes of what was handed in what the rungs get, or raises WrongKind.
    call_seconds: CPU time of one call.
    """

    name: str
    right: str
    hints: tuple[str, str, str]
    rungs: tuple[Rung, ...]
    takes: Callable[[Any], Any] | None = None  # None: a function or a class
    call_seconds: float = 2.0


class WrongKind(Exception):
    """The answer, or its result, is of the wrong kind: the line says which would be
    right. Rungs may raise it.
    """


class NotAttempted(Exception):
    """The answer is still as it was handed out: the line says so."""


def number(answer: Any) -> float:
    is_number = isinstance(answer, numbers.Real) and not isinstance(answer, bool)
    if not is_number or not math.isfinite(answer):
        raise WrongKind(f"should be a number, and this is {short(answer)}.")
    return answer


def whole_number(answer: Any) -> int:
    """The answer as a whole number; 28.0 counts as one. Errors: WrongKind."""
    if number(answer) != int(answer):
        raise WrongKind(f"should be a whole number, and this is {short(answer)}.")
    return int(answer)


def a_class(answer: Any) -> type:
    if not inspect.isclass(answer):
        raise WrongKind(
            "should be the class itself, without brackets, and this is"
            f" {short(answer)}."
        )
    return answer


def faults_for(
    example: str, *kinds: type, places: Sequence[Any]
) -> Callable[[Any], list[Fault]]:
    """Takes a list of faults of these kinds between these places; one by itself is a
    list of one.
    """

    def faults(answer: Any) -> list[Fault]:
        listed = [answer] if isinstance(answer, Fault) else answer
        is_text = isinstance(listed, str | bytes | Mapping)
        if is_text or not isinstance(listed, Iterable):
            raise WrongKind(
                f"should be a list of faults, such as [{example}], and this is"
                f" {short(answer)}."
            )
        listed = list(itertools.islice(listed, _MOST_FAULTS))
        for fault in listed:
            if not isinstance(fault, Fault):
                raise WrongKind(f"{short(fault)} is no fault. Write {example}")
            if not isinstance(fault, kinds):
                raise WrongKind(
                    f"a {type(fault).__name__} is of no use here. Write {example}"
                )
            _refuse_fields(fault, example, places)
        return listed

    return faults


def one_of(places: Sequence[Any]) -> str:
    """All numbers, or the first two names: "1, 2 or 3"."""
    shown = [each for each in places if isinstance(each, int)]
    if not isinstance(places[0], int):
        shown = list(places[:2])
    *most, last = map(repr, shown)
    return f"{', '.join(most)} or {last}" if most else last


_AT_LEAST = {"at_ms": 0, "extra_ms": 0}  # all others count from 1


def _refuse_fields(fault: Fault, example: str, places: Sequence[Any]) -> None:
    for name, value in vars(fault).items():
        if name in ("node", "one", "other", "client", "broker"):
            if value not in places:
                known = one_of(places)
                raise WrongKind(f"{value!r} can't be: it is {known}. Write {example}")
            continue
        if name == "api" or isinstance(value, bool):
            continue
        if isinstance(value, int | float | str):
            least = _AT_LEAST.get(name, 1)
            if not isinstance(value, int) or value < least:
                raise WrongKind(
                    f"{name}={value!r} can't be: it is a whole number from {least} on."
                    f" Write {example}"
                )


@dataclass(frozen=True)
class Problem:
    """Why one case broke: a line, details, what the answer printed, and the learner's
    lines of the traceback.
    """

    line: str
    details: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    endless: bool = False


def examine(exercise: Exercise, answer: Any, seed: str) -> Verdict:
    """The verdict on an answer; never raises for what the answer does. The same seed
    tries the same cases.
    """
    answer, refusal = _taken(exercise, answer)
    if refusal is not None:
        return refusal
    held: list[str] = []
    there_are = sum(not rung.stretch for rung in exercise.rungs)
    tried = 0
    with Watchdog(exercise.call_seconds) as watchdog:
        for number, rung in enumerate(exercise.rungs, 1):
            methods = {name: getattr(answer, name, _stub) for name in rung.needs}
            missing = [name for name in methods if is_stub(methods[name])]
            if missing:
                found = _waiting(exercise, rung, missing, held)
                return replace(found, rungs=(len(held), there_are))
            source = random.Random(f"{seed}/{number}")
            try:
                count, case, problem = _climb(rung, answer, watchdog, source)
            except Exception as error:
                return _not_your_fault(exercise, error)
            tried += count
            if problem:
                found = _not_yet(rung, answer, case, problem, held, watchdog)
                return replace(found, rungs=(len(held), there_are))
            held.append(rung.holds)
    lines = []
    if len(held) > 1:
        lines = [f"{number}  {text}" for number, text in enumerate(held, 1)]
    headline = f"Right: {exercise.right}"
    if tried > 1:
        headline += f" ({tried} scenarios tried)"
    return Verdict(headline, True, lines=tuple(lines))


def is_stub(function: Any) -> bool:
    """Is it a function with nothing but a docstring and `...` in it, or a class of
    such?
    """
    if inspect.isclass(function):
        members = dict(inspect.getmembers(function, inspect.isfunction))
        if not members:
            return False
        members.pop("__init__", None)
        return all(map(is_stub, members.values()))
    code = getattr(function, "__code__", None)
    stubs = [stub.__code__.co_code for stub in (_stub, _bare_stub)]
    if code is None or code.co_code not in stubs:
        return False
    # `return 0` has the same bytecode, and `return None` the same constants, too
    if not all(constant in (None, function.__doc__) for constant in code.co_consts):
        return False
    return not _says_return(function)


def _says_return(function: Any) -> bool:
    """Does its source say so? One whose source isn't known does not."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return False
    return any(isinstance(node, ast.Return) for node in ast.walk(tree))


def _stub() -> None:
    """A reference to compare with."""
    ...


def _bare_stub() -> None: ...


def _taken(exercise: Exercise, answer: Any) -> tuple[Any, Verdict | None]:
    """The answer that the rungs get; or a verdict, if it isn't of the right kind."""
    name = exercise.name
    is_missing = answer is None and exercise.takes is not None
    if is_missing or answer is ... or is_stub(answer):
        headline = f"Not attempted yet: {name} is still the stub."
        return None, Verdict(headline, right=False, attempted=False)
    if exercise.takes is not None:
        try:
            return exercise.takes(answer), None
        except NotAttempted as error:
            line = f"Not attempted yet: {error}"
            return None, Verdict(line, right=False, attempted=False)
        except WrongKind as error:
            line = str(error)
            if line.startswith("should"):
                line = f"{name} {line}"
            return None, Verdict(f"Not yet: {line}", False)
    if not callable(answer):
        lines = (f"hand in the name itself, without brackets: check(..., {name})",)
        return None, Verdict(
            f"Not yet: this is {short(answer)}, not {name}.", False, lines=lines
        )
    return answer, None


def _climb(
    rung: Rung, answer: Any, watchdog: Watchdog, source: random.Random
) -> tuple[int, Any, Problem | None]:
    """How many cases were tried, and the smallest that broke with its problem, or
    None.
    """
    count = 0
    for case, drawn in _cases(rung, source):
        count += 1
        problem = _attempt(rung, answer, case, watchdog)
        if problem:
            shrink = _Shrink(rung, answer, watchdog, case, problem)
            shrink.go(drawn)
            return count, shrink.case, shrink.problem
    return count, None, None


def _cases(
    rung: Rung, source: random.Random
) -> Iterator[tuple[Any, list[int | float]]]:
    """Each with the random numbers that it was made from."""
    for case in rung.cases.values():
        yield case, []
    if rung.scenario:
        for _ in range(rung.scenarios):
            noted = Noted(source)
            yield rung.scenario(noted), noted.taken


class _Shrink:
    """On the way to a smaller case that breaks, too."""

    def __init__(
        self, rung: Rung, answer: Any, watchdog: Watchdog, case: Any, problem: Problem
    ) -> None:
        self._rung, self._answer, self._watchdog = rung, answer, watchdog
        self.case, self.problem = case, problem
        self._tries = itertools.count()

    def go(self, drawn: list[int | float]) -> None:
        """Shrink until no smaller case breaks; each of the two ways gets as many tries
        as the rung has scenarios. A case that doesn't come to an end is not tried
        again.
        """
        if self.problem.endless:
            return
        with contextlib.suppress(_Enough):
            if self._rung.scenario and drawn:
                smallest(self._rung.scenario, drawn, self._breaks)
        self._tries = itertools.count()
        with contextlib.suppress(_Enough):
            while any(map(self._breaks, self._rung.smaller(self.case))):
                pass

    def _breaks(self, case: Any) -> bool:
        if next(self._tries) >= self._rung.scenarios:
            raise _Enough
        found = _attempt(self._rung, self._answer, case, self._watchdog)
        if found is None or found.endless:
            return False
        self.case, self.problem = case, found
        return True


class _Enough(Exception):
    """The allowed number of cases has been tried."""


def _attempt(rung: Rung, answer: Any, case: Any, watchdog: Watchdog) -> Problem | None:
    """What broke; raises the errors of the check itself."""
    printed = io.StringIO()
    guard = Guard(watchdog)
    try:
        with contextlib.redirect_stdout(printed):
            broken = rung.broken(guard.around(answer), copy.deepcopy(case))
    except StillRunning as error:
        return Problem(
            str(watchdog.over), [], _last(printed), _learners_lines(error), endless=True
        )
    except WrongKind as error:
        return Problem(str(error), [], _last(printed))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # whatever the answer does, also sys.exit(), is an answer
        if error is not guard.raised:
            raise
        line = f"it raised {type(error).__name__}: {error}".removesuffix(": ")
        return Problem(line, [], _last(printed), _learners_lines(error))
    broken = broken or guard.changed
    if broken is None:
        return None
    line, *details = broken.splitlines()
    return Problem(line, details, _last(printed))


def _last(printed: io.StringIO) -> list[str]:
    return printed.getvalue().splitlines()[-_PRINTED_LINES:]


def is_the_learners(path: str) -> bool:
    """Is code of this file theirs?"""
    return not path.startswith(_NOT_THE_LEARNERS)


def _learners_lines(error: BaseException) -> list[str]:
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if is_the_learners(frame.filename)]
    shown = []
    for frame in theirs[-_TRACEBACK_LINES:]:
        text = frame.line or linecache.getline(frame.filename, frame.lineno or 0)
        shown.append(f"line {frame.lineno}, in {frame.name}:  {text.strip()}")
    return shown


def _not_yet(
    rung: Rung,
    answer: Any,
    case: Any,
    problem: Problem,
    held: list[str],
    watchdog: Watchdog,
) -> Verdict:
    lines = []
    if case is not None:
        lines.append(f"smallest case: {_described(rung, case)}")
    lines += problem.details
    lines += [f"holds already: {text}" for text in held]
    if problem.printed:
        lines += ["your code printed:", *(f"  {line}" for line in problem.printed)]
    if problem.trace:
        lines += ["your code stopped at", *(f"  {line}" for line in problem.trace)]
    picture = None
    if rung.picture and not problem.trace and not problem.endless:
        # a verdict never fails for its picture
        with (
            contextlib.suppress(Exception, StillRunning, SystemExit),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            picture = rung.picture(Guard(watchdog).around(answer), copy.deepcopy(case))
    return Verdict(
        f"Not yet: {problem.line}",
        False,
        lines=tuple(lines),
        case=case,
        picture=picture,
    )


def _described(rung: Rung, case: Any) -> str:
    """A case in words: its name first, unless they begin or end with it."""
    described = rung.describe(case)
    for name, known in rung.cases.items():
        told = described.startswith(name) or described.endswith(name)
        if known is case and not told:
            return f"{name}: {described}"
    return described


def _not_your_fault(exercise: Exercise, error: Exception) -> Verdict:
    """The check itself stopped: nobody's answer is judged by that."""
    line = f"The check of {exercise.name} itself stopped; your code is not to blame."
    return Verdict(
        line,
        False,
        attempted=False,
        lines=(f"{type(error).__name__}: {error}", "Please report it."),
    )


def _waiting(
    exercise: Exercise, rung: Rung, missing: list[str], held: list[str]
) -> Verdict:
    names = " and ".join(f"{exercise.name}.{name}" for name in missing)
    lines = tuple(f"holds already: {text}" for text in held)
    if rung.stretch:
        return Verdict(
            f"Right: {exercise.right}",
            True,
            lines=(*lines, f"stretch, not attempted yet: {names}"),
        )
    return Verdict(
        f"So far, so good: {names} is the next to write.",
        False,
        attempted=bool(held),
        partly=bool(held),
        lines=lines,
    )


def short(value: Any) -> str:
    """Its repr in at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
