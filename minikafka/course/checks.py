"""How an answer is examined: named edge cases, then seeded random scenarios, then the smallest one that breaks it.

`notebooks/checks/lesson_NN.py` has one function an exercise; it returns an Exercise made of rungs. A rung is one thing
that a right answer does, with a verdict of its own, so that a half-right answer hears which half.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import itertools
import linecache
import random
import sysconfig
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minikafka.course.verdicts import Verdict
from minikafka.course.watchdog import StillRunning, Watchdog

SCENARIOS = 200
_RUNG_SECONDS = 3.0  # a slow answer gets fewer random scenarios, and the verdict says how many
_SHRINK_SECONDS = 1.5
_TRACEBACK_LINES = 4
_PRINTED_LINES = 6

_PACKAGE = Path(__file__).resolve().parents[1]
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

    holds: said when it does. broken(answer, case): None, or what broke (one line; further lines are details).
    cases: name -> case, tried first. scenario: makes a random case. smaller: simpler variants, simplest first.
    needs: methods of a class that this rung asks for, so that it waits until they are written.
    """

    holds: str
    broken: Callable[[Any, Any], str | None]
    cases: Mapping[str, Any]
    scenario: Callable[[random.Random], Any] | None = None
    smaller: Callable[[Any], Iterable[Any]] = lambda case: ()
    describe: Callable[[Any], str] = repr
    picture: Callable[[Any, Any], Any] | None = None
    needs: tuple[str, ...] = ()
    stretch: bool = False


@dataclass(frozen=True)
class Exercise:
    """right: the headline when all rungs hold. hints: three, the last short of the answer. takes: what to hand in.

    call_seconds: how long one case may take; longer where Spark runs.
    """

    name: str
    right: str
    hints: tuple[str, str, str]
    rungs: tuple[Rung, ...]
    takes: type | tuple[type, ...] | None = None  # None: a function or a class
    call_seconds: float = 2.0


@dataclass(frozen=True)
class Problem:
    """Why one case broke: a line, details, what the answer printed, and the learner's lines of the traceback."""

    line: str
    details: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    endless: bool = False


def examine(exercise: Exercise, answer: Any, seed: str) -> Verdict:
    """The verdict on an answer; never raises for what the answer does. The same seed tries the same cases."""
    refusal = _refuse(exercise, answer)
    if refusal is not None:
        return refusal
    held: list[str] = []
    tried = 0
    with Watchdog(exercise.call_seconds) as watchdog:
        for number, rung in enumerate(exercise.rungs, 1):
            missing = [name for name in rung.needs if is_stub(getattr(answer, name, None))]
            if missing:
                return _waiting(exercise, rung, missing, held)
            count, case, problem = _climb(rung, answer, watchdog, random.Random(f"{seed}/{number}"))
            tried += count
            if problem:
                return _not_yet(rung, answer, case, problem, held)
            held.append(rung.holds)
    lines = [f"{number}  {text}" for number, text in enumerate(held, 1)] if len(held) > 1 else []
    scenarios = f"({tried} scenarios tried)" if tried > 1 else ""
    return Verdict(f"Right: {exercise.right} {scenarios}".rstrip(), True, lines=tuple(lines))


def is_stub(function: Any) -> bool:
    """Is it a function with nothing but a docstring and `...` in it, or a class of such?"""
    if inspect.isclass(function):
        methods = [method for _, method in inspect.getmembers(function, inspect.isfunction)]
        return bool(methods) and all(is_stub(method) for method in methods if method.__name__ != "__init__")
    code = getattr(function, "__code__", None)
    if code is None or code.co_code not in {_stub.__code__.co_code, _bare_stub.__code__.co_code}:
        return False
    return all(constant in (None, function.__doc__) for constant in code.co_consts)  # `return 0` has the same bytecode


def _stub() -> None:
    """A reference to compare with."""
    ...


def _bare_stub() -> None: ...


def _refuse(exercise: Exercise, answer: Any) -> Verdict | None:
    if answer is ... or is_stub(answer) or (exercise.takes is not None and answer is None):
        return Verdict(f"Not attempted yet: {exercise.name} is still the stub.", right=False, attempted=False)
    if exercise.takes is not None:
        if not isinstance(answer, exercise.takes) or isinstance(answer, bool):
            kinds = exercise.takes if isinstance(exercise.takes, tuple) else (exercise.takes,)
            kind = "a list" if list in kinds else "a number"
            return Verdict(f"Not yet: {exercise.name} should be {kind}, and this is {_short(answer)}.", False)
    elif not callable(answer):
        lines = (f"hand in the name itself, without brackets: check(..., {exercise.name})",)
        return Verdict(f"Not yet: this is {_short(answer)}, not {exercise.name}.", False, lines=lines)
    return None


def _climb(rung: Rung, answer: Any, watchdog: Watchdog, source: random.Random) -> tuple[int, Any, Problem | None]:
    """How many cases were tried, and the smallest that broke with its problem, or None."""
    until = time.monotonic() + _RUNG_SECONDS
    count = 0
    for case in _cases(rung, source):
        if count >= len(rung.cases) and time.monotonic() > until:
            break
        count += 1
        problem = _attempt(rung, answer, case, watchdog)
        if problem:
            return count, *_shrink(rung, answer, case, problem, watchdog)
    return count, None, None


def _cases(rung: Rung, source: random.Random) -> Iterator[Any]:
    yield from rung.cases.values()
    if rung.scenario:
        for _ in range(SCENARIOS):
            yield rung.scenario(source)


def _shrink(rung: Rung, answer: Any, case: Any, problem: Problem, watchdog: Watchdog) -> tuple[Any, Problem]:
    """Goes to a smaller case that breaks too, until none does."""
    until = time.monotonic() + _SHRINK_SECONDS
    while not problem.endless and time.monotonic() < until:
        for candidate in itertools.islice(rung.smaller(case), SCENARIOS):
            found = _attempt(rung, answer, candidate, watchdog)
            if found and not found.endless:
                case, problem = candidate, found
                break
        else:
            break
    return case, problem


def _attempt(rung: Rung, answer: Any, case: Any, watchdog: Watchdog) -> Problem | None:
    printed = io.StringIO()
    ours = copy.deepcopy(case)  # an answer may change what it is given
    try:
        with contextlib.redirect_stdout(printed):
            broken = watchdog.call(lambda: rung.broken(answer, ours))
    except StillRunning as error:
        line = f"it had not come back after {watchdog.seconds:.0f} s. A loop that never ends?"
        return Problem(line, [], _last(printed), _learners_lines(error), endless=True)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the answer does, also sys.exit(), is an answer
        line = f"it raised {type(error).__name__}: {error}".removesuffix(": ")
        return Problem(line, [], _last(printed), _learners_lines(error))
    if broken is None:
        return None
    line, *details = broken.splitlines()
    return Problem(line, details, _last(printed))


def _last(printed: io.StringIO) -> list[str]:
    return printed.getvalue().splitlines()[-_PRINTED_LINES:]


def _learners_lines(error: BaseException) -> list[str]:
    frames = traceback.extract_tb(error.__traceback__)
    shown = []
    for frame in [frame for frame in frames if not frame.filename.startswith(_NOT_THE_LEARNERS)][-_TRACEBACK_LINES:]:
        text = (frame.line or linecache.getline(frame.filename, frame.lineno or 0)).strip()
        shown.append(f"line {frame.lineno}, in {frame.name}:  {text}")
    return shown


def _not_yet(rung: Rung, answer: Any, case: Any, problem: Problem, held: list[str]) -> Verdict:
    lines = [] if case is None else [f"smallest case: {_name_of(rung, case)}{rung.describe(case)}"]
    lines += problem.details
    lines += [f"holds already: {text}" for text in held]
    if problem.printed:
        lines += ["your code printed:", *(f"  {line}" for line in problem.printed)]
    if problem.trace:
        lines += ["your code stopped at", *(f"  {line}" for line in problem.trace)]
    picture = None
    if rung.picture and not problem.trace and not problem.endless:
        # a verdict never fails for its picture
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            picture = rung.picture(answer, copy.deepcopy(case))
    return Verdict(f"Not yet: {problem.line}", False, lines=tuple(lines), case=case, picture=picture)


def _name_of(rung: Rung, case: Any) -> str:
    return next((f"{name}: " for name, known in rung.cases.items() if known is case), "")


def _waiting(exercise: Exercise, rung: Rung, missing: list[str], held: list[str]) -> Verdict:
    names = " and ".join(f"{exercise.name}.{name}" for name in missing)
    lines = tuple(f"holds already: {text}" for text in held)
    if rung.stretch:
        return Verdict(f"Right: {exercise.right}", True, lines=(*lines, f"stretch, not attempted yet: {names}"))
    return Verdict(f"So far, so good: {names} is the next to write.", False, attempted=bool(held), lines=lines)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
