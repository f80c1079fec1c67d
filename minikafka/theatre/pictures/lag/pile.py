"""At the end of a partition's lane its lag as things: what waits is a pile of squares
before its reader, or behind a hatch where nobody reads.

A square is a number of records, the same for all partitions, and always the same ones:
it comes when they are written, has its reader's colour while they are in its hand (pale
before that), and goes when they are committed.
"""

from dataclasses import dataclass
from math import ceil
from typing import Any

from minikafka.theatre.drawing import Box, Drawing, widest
from minikafka.theatre.play import Space
from minikafka.theatre.text import counted

SQUARE, STEP = 14, 17  # of a square, and to the next one
DOOR, GAP = 6, 4  # width of the reader's door, and from it to the pile
PALE = 0.4  # what its reader hasn't been handed yet
STEPS = [n * 10**power for power in range(13) for n in (1, 2, 5)]


@dataclass(frozen=True)
class Pile:
    """In its place. most: records that ever wait in a partition."""

    box: Box
    most: int

    @property
    def rows(self) -> int:
        """How many rows of squares there are."""
        gap = STEP - SQUARE
        return max(int((self.box.h + gap) // STEP), 1)

    @property
    def columns(self) -> int:
        room = self.box.w - DOOR - GAP
        gap = STEP - SQUARE
        return max(int((room + gap) // STEP), 1)

    @property
    def squares_x(self) -> float:
        return self.box.x + DOOR + GAP

    @property
    def records(self) -> int:
        """How many records a square stands for, so that all waiting records
        have room.
        """
        # squares keep their row, so the first column may have one only
        has_room_for = (self.columns - 1) * self.rows + 1
        for records in STEPS:
            if ceil(self.most / records) <= has_room_for:
                return records
        return self.most

    def _squares(self, offset: int) -> int:
        """How many lie before an offset: a square does from its middle on."""
        return (offset + self.records // 2) // self.records

    def draw(self, d: Drawing, key: str, partition: Space, colour: str | None) -> None:
        """colour: of the reader, if there is one."""
        lag, waiting = partition["lags"]
        end = partition["end"]
        first = self._squares(end - lag)
        handed = self._squares(end - waiting)
        self._door(d, key, partition, colour)
        for number in range(first, self._squares(end)):
            column = number // self.rows - first // self.rows
            if column >= self.columns:
                return
            row = number % self.rows
            place = self._place(column, row)
            is_pale = number >= handed and colour is not None
            self._square(
                d,
                f"{key}/square/{number}",
                place,
                fill=colour or "cell",
                fade=PALE if is_pale else None,
            )

    def _door(self, d: Drawing, key: str, partition: Space, colour: str | None) -> None:
        """Through which records go to the reader; hatched where nobody reads."""
        fill = colour or "none"
        tip = f"{partition['owner']} reads"
        if partition["unread"]:
            fill = "hatch"
            tip = "nobody reads"
        elif colour is None:
            tip = "nobody has begun to read"
        d.rect(
            f"{key}/door",
            x=self.box.x,
            y=self.box.y,
            w=DOOR,
            h=self.box.h,
            fill=fill,
            line="quiet" if fill == "none" else "none",
            dash="2 3" if fill == "none" else None,
            tip=tip,
        )

    def _place(self, column: int, row: int) -> Box:
        """From the door to the right, and from below upward."""
        bottom = self.box.bottom
        return Box(
            x=self.squares_x + column * STEP,
            y=bottom - SQUARE - row * STEP,
            w=SQUARE,
            h=SQUARE,
        )

    def _square(self, d: Drawing, key: str, place: Box, **look: Any) -> None:
        """It comes from the right, where the shop is."""
        d.rect(
            key,
            *place,
            line="ink",
            r=3,
            from_x=float(d.width),
            **look,
        )


def legend(d: Drawing, pile: Pile, y: float) -> None:
    """Draw the meaning of a square above the piles, as far as there is room."""
    words = f"= {counted(pile.records, 'record')}"
    taken = 16 + widest(words, 12.5)
    x = min(pile.squares_x, d.width - taken)
    d.rect(
        "name/square",
        x=x,
        y=y - 10,
        w=11,
        h=11,
        fill="cell",
        line="ink",
        r=3,
    )
    d.note("name/square/words", x + 16, y, words)
