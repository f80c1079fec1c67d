"""The names of records in the pictures of replicas: their values if all of these fit,
otherwise a letter each. Letters mean nothing unless they are explained, which a line
above the brokers does; 0 for "order 0" explains itself.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from minikafka.theatre.casting import letters
from minikafka.theatre.drawing import LEAST_STRETCH, Box, Drawing, text_width, wrap
from minikafka.theatre.nodes import Columns
from minikafka.theatre.text import dotted

MOST_NAMES = 6  # this many letters can be explained in a line or two
BETWEEN = 5  # records
READABLE = 40  # width of a cell in which the beginning of a name says something
LINE = 16  # height of a line of the legend
SIZE = 12.5  # of its letters, and of a name in a cell


class NamesOf:
    """The names of all records of a run, and a letter for each."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = list(dict.fromkeys(names))
        self.letters = letters(self.names)

    def letter(self, name: str) -> str:
        return self.letters.get(name, "?")

    @property
    def are_few(self) -> bool:
        """Whether a line or two can say what the letters mean."""
        return len(self.names) <= MOST_NAMES

    def cast(self) -> dict[str, Any]:
        """What a play must know to choose between names and letters."""
        pairs = {name: self.letter(name) for name in self.names}
        width = max((text_width(name, SIZE) for name in pairs), default=0)
        return {"letters": pairs if self.are_few else {}, "widest_name": width}


class Names:
    """How records are called in one layout, the same at every step of a play."""

    def __init__(self, columns: Columns, cast: Mapping[str, Any]) -> None:
        width = columns.pitch - BETWEEN
        # as much as Drawing.cell leaves to the words in it
        has_room = cast["widest_name"] <= width * 0.82 - 8
        self.pairs: Mapping[str, str] = cast["letters"]
        is_readable = width > READABLE
        self.are_whole = is_readable and (has_room or not self.pairs)

    def words(self, letter: str, name: str) -> tuple[str, str]:
        """A short word and a longer one, of which one is empty."""
        return ("", name) if self.are_whole else (letter, "")

    def of_log(self, log: Mapping[str, Any]) -> dict[str, Any]:
        """One broker's log, as nodes.DrawnLog has it, with its records so called."""
        called = {**log}
        for part in ("records", "cut"):
            called[part] = [self._called(*record) for record in log[part]]
        return called

    def _called(
        self, offset: int, epoch: int, letter: str, name: str, *others: Any
    ) -> list[Any]:
        return [offset, epoch, *self.words(letter, name), *others]

    # -- which letter is whose

    def height(self, width: float) -> float:
        """The height of the legend with all names, so that nothing jumps later."""
        return LINE * len(self._lines(width, self.pairs)) if self.has_legend else 0

    @property
    def has_legend(self) -> bool:
        return not self.are_whole and not all(map(_says_itself, self.pairs.items()))

    def legend(self, d: Drawing, place: Box, space: Mapping[str, Any]) -> None:
        """Draw the meaning of the letters, for records that have appeared so far."""
        if not self.has_legend:
            return
        known = [name for name in self.pairs if name in space["names"]]
        for number, line in enumerate(self._lines(place.w, known)):
            y = place.y + 12 + number * LINE
            d.note(f"names/{number}", place.x, y, line, size=SIZE)

    def _lines(self, width: float, names: Iterable[str]) -> list[str]:
        """The legend of letters, such as "c created · p paid", wrapped to the width."""
        words = dotted(*(f"{self.pairs[name]} {name}" for name in names))
        return wrap(words, width * LEAST_STRETCH, SIZE)


def _says_itself(pair: tuple[str, str]) -> bool:
    """Whether a letter is how its name ends: 0 for "order 0"."""
    name, letter = pair
    return name.split()[-1:] == [letter]
