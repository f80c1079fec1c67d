"""The layout of the pipeline's picture: columns of rows, on pages of each width."""

from typing import NamedTuple

from minikafka.theatre.drawing import NARROW, PHONE, WIDE, Box, Drawing

# pitch of the rows, width of a record
ROW, CELL = 30, 28
HEAD = 24


class Column(NamedTuple):
    """A name, and below it rows."""

    x: float
    w: float
    y: float = 0

    @property
    def right(self) -> float:
        return self.x + self.w

    @property
    def top(self) -> float:
        """The y of the first row."""
        return self.y + HEAD

    def row(self, number: int) -> Box:
        return Box(
            x=self.x,
            y=self.top + number * ROW,
            w=self.w,
            h=ROW - 6,
        )

    def head(self, d: Drawing, key: str, name: str, words: str) -> None:
        """Draw the heading of the column: its name and a count."""
        y = self.y + 14
        room = self.w - 100
        d.text(f"{key}/name", self.x, y, name, bold=True, room=room)
        d.note(f"{key}/count", self.right, y, words, anchor="end", mono=True)


class Columns(NamedTuple):
    """The wire ends at the broker's door."""

    buffer: Column
    flight: Column
    wire: Column


COLUMNS = {
    WIDE: Columns(
        buffer=Column(0, 248),
        flight=Column(258, 256),
        wire=Column(514, 110),
    ),
    NARROW: Columns(
        buffer=Column(0, 226),
        flight=Column(232, 234),
        wire=Column(466, 92),
    ),
    PHONE: Columns(
        buffer=Column(0, 180),
        flight=Column(186, 186),
        wire=Column(372, 74),
    ),
}
