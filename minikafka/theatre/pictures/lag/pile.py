"""At the end of a partition's lane its lag as things: what waits is a pile of squares
before its reader, or behind a hatch where nobody reads.

A square is a number of records, the same for all partitions, and always the same ones:
it comes when they are written, has its reader's colour while they are in its hand (pale
before that), and goes when they are committed.
"""

from dataclasses import dataclass
from math import ceil

from minikafka.theatre.drawing import Box, Drawing, Look, fitting, widest
from minikafka.theatre.pictures.lag.run import BESIDE, STEPS
from minikafka.theatre.play import Space
from minikafka.theatre.text import counted

SQUARE, STEP = 14, 17  # of a square, and to the next one
DOOR, GAP = 6, 4  # width of the reader's door, and from it to the pile
PALE = 0.4  # what its reader hasn't been handed yet
LONGEST = widest("2,000", 14, mono=True, bold=True)  # a lag has room beside it


@dataclass(frozen=True)
class Pile:
    """In its place. most: records that ever wait in a partition."""

    box: Box
    most: int

    @classmethod
    def beside(cls, place: Box, high: float, most: int) -> "Pile":
        """Right of a lag as a number. high: of the lane."""
        taken = BESIDE + LONGEST + 6
        return cls(Box(place.x + taken, place.y, place.w - taken, high), most)

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
            x = self.squares_x + column * STEP  # from the door to the right
            y = self.box.bottom - SQUARE - number % self.rows * STEP
            is_pale = number >= handed and colour is not None
            look: Look = {"fill": colour or "cell", "fade": PALE if is_pale else None}
            # it comes from the right, where the shop is
            look |= {"line": "ink", "r": 3, "from_x": float(d.width)}
            d.rect(f"{key}/square/{number}", x, y, SQUARE, SQUARE, **look)

    def _door(self, d: Drawing, key: str, partition: Space, colour: str | None) -> None:
        """Through which records go to the reader; hatched where nobody reads."""
        fill = colour or "none"
        tip = f"{partition['owner']} reads"
        if partition["unread"]:
            fill = "hatch"
            tip = "nobody reads"
        elif colour is None:
            tip = "nobody has begun to read"
        look: Look = {"fill": fill, "tip": tip}
        if fill == "none":
            look |= {"line": "quiet", "dash": "2 3"}
        d.rect(f"{key}/door", *self.box._replace(w=DOOR), **look)

    def legend(self, d: Drawing, y: float) -> None:
        """Draw the meaning of a square below the pile, or as near as there is room."""
        words = [f"= {counted(self.records, 'record')}", f"= {self.records}"]
        said = fitting(words, d.width - self.box.x + LONGEST - 16, 12.5)
        x = min(self.squares_x, d.width - 16 - widest(said, 12.5))
        d.rect("name/square", x=x, y=y - 10, w=11, h=11, fill="cell", line="ink", r=3)
        d.note("name/square/words", x + 16, y, said)
