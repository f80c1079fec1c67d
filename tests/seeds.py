"""Seeds of random tests: one for `make quick`, three for `make test`, all at night."""

from collections.abc import Iterable
from typing import Any

import pytest

IN_THE_GATE = 3


def seeds(all_of_them: Iterable[Any]) -> list[Any]:
    """As parameters of a test."""
    first, *others = all_of_them
    found = [first]
    for at, seed in enumerate(others, 1):
        mark = pytest.mark.slow if at < IN_THE_GATE else pytest.mark.nightly
        found.append(pytest.param(seed, marks=mark))
    return found


def first_now(cases: Iterable[Any]) -> list[Any]:
    """As parameters: the first in `make test`, the others at night. For widths, themes and
    the like, where each is likely to fail with the first.
    """
    first, *others = cases
    return [first, *(pytest.param(each, marks=pytest.mark.nightly) for each in others)]
