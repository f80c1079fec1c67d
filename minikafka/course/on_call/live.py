"""A night's curves while it goes on: in a notebook they are drawn once in each cell
that plays it, and again as time passes.
"""

import time
from typing import Any

from minikafka.course import cards
from minikafka.course.on_call.strip import Mark, in_words, strip
from minikafka.course.on_call.world import World

PAUSE_S = 0.3  # between two drawings, at least


class Curves:
    """called_ms: when somebody is called."""

    def __init__(self, called_ms: int) -> None:
        self._called_ms = called_ms
        self._marks: list[Mark] = []
        self._cell = 0
        self._shown: Any = None  # what the cell's drawing is updated by
        self._drawn_s = 0.0

    def mark(self, at_ms: int, line: str) -> None:
        """Mark the moment at which something was done."""
        self._marks.append(Mark(at_ms, line))

    def follow(self, world: World) -> None:
        """Draw again after a new sample, unless the last drawing is recent."""
        if cards.is_notebook() and time.monotonic() - self._drawn_s >= PAUSE_S:
            self.draw(world)

    def draw(self, world: World) -> None:
        """Draw everything measured so far, below this cell."""
        if not cards.is_notebook() or not world.samples:
            return
        bundle = self.bundle(world)
        self._drawn_s = time.monotonic()
        cell = _cell()
        if self._shown is not None and cell == self._cell:
            self._shown.update(bundle, raw=True)
            return
        from IPython.display import display

        self._cell = cell
        self._shown = display(bundle, raw=True, display_id=True)

    def bundle(self, world: World) -> dict[str, str]:
        """What a notebook shows."""
        samples = world.samples
        page = strip(samples, self._called_ms, self._marks)
        return cards.bundle(f"curves: {in_words(samples)}", page)


def _cell() -> int:
    """The number of the running cell."""
    from IPython import get_ipython

    shell = get_ipython()
    return shell.execution_count if shell else 0
