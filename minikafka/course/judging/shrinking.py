"""The smallest scenario that breaks an answer.

A scenario is made from the numbers that a random source gives. Here the source notes
them, and a smaller scenario is made from fewer and smaller numbers. So each is one that
the check itself could have made, and no check has to say what a case may be. (Property
tests in Python, Hypothesis, do the same.)
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any

_MOST_MADE = 10_000  # scenarios; most are no smaller, and are not tried
_MOST_COUNTED = 100  # a larger number counts nothing in a scenario
_CHUNKS = (8, 4, 2, 1)  # numbers that are left out together

Scenario = Callable[[random.Random], Any]


class _TooMany(Exception):
    """A scenario asks for more and more numbers: a loop until one fits."""


class Noted(random.Random):
    """A random source that gives what another one gives, and notes it."""

    def __init__(self, source: random.Random) -> None:
        super().__init__(0)
        self._source = source
        self.taken: list[int | float] = []

    def random(self) -> float:
        return self._note(self._source.random())

    def getrandbits(self, k: int, /) -> int:
        return self._note(self._source.getrandbits(k))

    def _randbelow(self, n: int) -> int:
        """Called by randint, choice, sample and shuffle."""
        return self._note(self._source._randbelow(n))  # type: ignore[attr-defined]

    def _note(self, number: Any) -> Any:
        self.taken.append(number)
        return number


class _Again(random.Random):
    """A source that gives these numbers, and then the smallest."""

    def __init__(self, numbers: Sequence[int | float]) -> None:
        super().__init__(0)
        self._numbers = numbers
        self._most = 2 * len(numbers) + 100

    def random(self) -> float:
        number = self._next()
        return number if isinstance(number, float) else 0.0

    def getrandbits(self, k: int, /) -> int:
        return self._randbelow(1 << k)

    def _randbelow(self, n: int) -> int:
        return min(int(self._next()), n - 1)

    def _next(self) -> int | float:
        self._most -= 1
        if self._most < 0:
            raise _TooMany
        if not self._numbers:
            return 0
        number, *self._numbers = self._numbers
        return number


def smallest(
    scenario: Scenario, drawn: list[int | float], breaks: Callable[[Any], bool]
) -> None:
    """Hands ever smaller scenarios to `breaks`, which says whether they break the
    answer, too. drawn: the numbers of which one that does was made.
    """
    search = _Search(scenario, drawn, breaks)
    while search.lower() or search.shorten():
        pass


class _Search:
    """On the way from one scenario to the smallest that breaks, too."""

    def __init__(
        self,
        scenario: Scenario,
        drawn: list[int | float],
        breaks: Callable[[Any], bool],
    ) -> None:
        self._scenario, self._breaks = scenario, breaks
        self._drawn = drawn
        case = scenario(_Again(drawn))
        self._least = _size(case, drawn)
        self._seen = {self._least[-1]}
        self._left = _MOST_MADE

    def lower(self) -> bool:
        """Make each number as small as possible. Returns whether one got smaller."""
        goes = False
        at = 0
        while at < len(self._drawn):
            lowered = (self._with(at, less) for less in _less(self._drawn[at]))
            goes = any(map(self._try, lowered)) or goes
            at += 1
        return goes

    def shorten(self) -> bool:
        """Some numbers are left out, and where one before them may have been their
        count, it is one less. Whether some were.
        """
        goes = False
        for size in _CHUNKS:
            at = len(self._drawn) - size
            while at >= 0:
                goes = any(map(self._try, self._without(at, size))) or goes
                at = min(at - 1, len(self._drawn) - size)
        return goes

    def _with(self, at: int, number: int | float) -> list[int | float]:
        return [*self._drawn[:at], number, *self._drawn[at + 1 :]]

    def _without(self, at: int, size: int) -> Iterator[list[int | float]]:
        before, after = self._drawn[:at], self._drawn[at + size :]
        yield before + after
        for place in reversed(range(at)):
            count = before[place]
            if isinstance(count, int) and 0 < count <= _MOST_COUNTED:
                yield [*before[:place], count - 1, *before[place + 1 :], *after]

    def _try(self, drawn: list[int | float]) -> bool:
        """Whether what is made of these numbers is smaller, and breaks."""
        self._left -= 1
        if self._left < 0:
            return False
        again = Noted(_Again(drawn))
        try:
            case = self._scenario(again)
        except _TooMany:
            return False
        size = _size(case, again.taken)
        if size >= self._least or size[-1] in self._seen:
            return False
        self._seen.add(size[-1])
        if not self._breaks(case):
            return False
        self._least, self._drawn = size, again.taken
        return True


def _less(number: int | float) -> list[int | float]:
    """For a share both ends are tried, because only the scenario knows which of them
    means less.
    """
    if isinstance(number, float):
        return [each for each in (0.0, 1 - 2**-53) if each != number]
    steps = (0, number // 4, number // 2, number - 1)
    return sorted({each for each in steps if 0 <= each < number})


def _size(case: Any, numbers: Sequence[int | float]) -> tuple[int, int, str]:
    """How much there is to read; of cases with as much, how large their numbers are;
    last the case as a text.
    """
    whole = (each for each in numbers if isinstance(each, int))
    return _weight(case), sum(whole), repr(case)


def _weight(value: Any) -> int:
    """One for each thing in it, and for each digit, character and byte."""
    if isinstance(value, str | bytes):
        return 1 + len(value)
    if isinstance(value, Mapping):
        return 1 + sum(_weight(key) + _weight(value[key]) for key in value)
    if isinstance(value, Sequence | Set):
        return 1 + sum(map(_weight, value))
    return len(repr(value))
