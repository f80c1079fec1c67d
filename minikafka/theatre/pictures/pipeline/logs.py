"""The logs of the pipeline's picture, and under them the lamps that compare them with
what the program sent: each record once, in the order of sending, none lost.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from minikafka.theatre.drawing import Box, Drawing, lamp_width
from minikafka.theatre.pictures.pipeline.columns import CELL, COLUMNS, Column
from minikafka.theatre.play import Space

MOST_LINES = 3  # of a log
OFFSET = 14  # height of an offset below a record
OVER = 8  # how far the lamps may begin before the log, but not at the broker's door
LAMP = 22  # pitch of the lamps' lines
BETWEEN_LAMPS = 4
LABEL = 30  # width of a partition's name
PITCH = CELL + 5  # of records
WRONG = {
    "": "",
    "again": " · it is there twice",
    "late": " · overtaken by a later one",
}


class Lines(NamedTuple):
    """The lines of logs. high: the height of their records."""

    pitch: float
    high: float


LINES, MANY_LINES = Lines(46, 28), Lines(40, 25)


class Lamp(NamedTuple):
    name: str
    words: str
    is_broken: bool


class Grid(NamedTuple):
    """A log in lines of this many records. pitch: of its lines. end: its end offset."""

    x: float
    y: float
    pitch: float
    high: float
    per_line: int
    lines: int
    end: int

    @property
    def first(self) -> int:
        """The first offset that has a place: the slot at the end has one, too."""
        places = self.lines * self.per_line
        return max(self.end - places + 1, 0)

    def box(self, offset: int) -> Box:
        line, column = divmod(offset - self.first, self.per_line)
        return Box(
            x=self.x + column * PITCH,
            y=self.y + line * self.pitch,
            w=CELL,
            h=self.high,
        )


class Logs(NamedTuple):
    """The logs of these partitions, and how much room the whole play needs for them.
    longest: the highest end offset. lamps_wide: the lamps beside each other, at most.
    """

    partitions: Sequence[int]
    longest: int
    lamps_wide: float

    @classmethod
    def of(cls, partitions: Sequence[int], spaces: Sequence[Space]) -> "Logs":
        last = spaces[-1]["logs"] if spaces else ()
        ends = [log["end"] for log in last]
        widths = [width_of(lamps_of(space)) for space in spaces]
        return cls(
            partitions,
            longest=max(ends, default=0),
            lamps_wide=max(widths, default=0),
        )

    @property
    def are_many(self) -> bool:
        return len(self.partitions) > 1

    @property
    def name(self) -> str:
        if self.are_many:
            return "the log"
        number = self.partitions[0] if self.partitions else 0
        return f"the log of partition {number}"

    def lines_of_each(self, per_line: int) -> int:
        """Many logs have one line each, a single one as many as it needs."""
        if self.are_many:
            return 1
        needed = -(-self.longest // per_line)
        return min(max(needed, 1), MOST_LINES)

    def draw(self, d: Drawing, space: Space, column: Column) -> float:
        """The logs and the lamps under them; returns the lowest point."""
        logs = space["logs"]
        written = sum(log["end"] for log in logs)
        column.head(d, "caption/log", self.name, words=f"{written} written")

        indent = LABEL if self.are_many else 0
        room = column.w - indent
        per_line = int(room // PITCH)
        lines = self.lines_of_each(per_line)
        rows = len(logs) if self.are_many else lines
        pitch, high = LINES if rows < 3 else MANY_LINES
        y = column.top
        for log in logs:
            if self.are_many:
                _label(d, log["partition"], column.x, y)
            grid = Grid(
                x=column.x + indent,
                y=y,
                pitch=pitch,
                high=high,
                per_line=per_line,
                lines=lines,
                end=log["end"],
            )
            _log(d, log, grid)
            y += pitch

        y += pitch * lines - high - OFFSET
        return self._draw_lamps(d, lamps_of(space), column, y)

    def _draw_lamps(
        self, d: Drawing, lamps: Sequence[Lamp], column: Column, y: float
    ) -> float:
        """In two lines where at any time one has no room for them; returns the lowest
        point.
        """
        in_lines = [lamps]
        if self.lamps_wide > column.w + OVER:
            in_lines = [lamps[:-1], lamps[-1:]]
        for line in in_lines:
            x = min(column.x, column.right - width_of(line))
            for lamp in line:
                wide = d.lamp(f"lamp/{lamp.name}", x, y, lamp.words, lamp.is_broken)
                x += wide + BETWEEN_LAMPS
            y += LAMP
        return y - 2


def lamps_of(space: Space) -> list[Lamp]:
    """The lamps for what must hold: each record once, in order, none lost."""
    twice = space["twice"]
    late = space["late"]
    lost = space["lost"]
    return [
        Lamp(
            name="once",
            words=f"{twice} twice" if twice else "each once",
            is_broken=bool(twice),
        ),
        Lamp(
            name="order",
            words=f"{late} overtaken" if late else "in order",
            is_broken=bool(late),
        ),
        Lamp(
            name="lost",
            words=f"{lost} lost" if lost else "none lost",
            is_broken=bool(lost),
        ),
    ]


def width_of(lamps: Sequence[Lamp]) -> float:
    """The width of lamps beside each other."""
    widths = [lamp_width(lamp.words) + BETWEEN_LAMPS for lamp in lamps]
    return sum(widths) - BETWEEN_LAMPS


def _label(d: Drawing, partition: int, x: float, y: float) -> None:
    key = f"log/{partition}/name"
    d.text(key, x, y + 19, f"P{partition}", mono=True, bold=True)


def _log(d: Drawing, log: Mapping[str, Any], grid: Grid) -> None:
    key = f"log/{log['partition']}"
    for offset, number, letter, value, state in log["records"]:
        if offset < grid.first:
            continue
        what = "somebody else wrote it" if number is None else f"value {value}"
        d.cell(
            f"{key}/{offset}",
            *grid.box(offset),
            str(letter or "–"),
            below=str(offset),
            line="trouble" if state else "rule",
            width=2 if state else None,
            from_x=COLUMNS[d.width].wire.right,
            from_y=grid.y,
            tip=f"offset {offset} · {what}{WRONG[state]}",
        )

    d.slot(f"{key}/next", *grid.box(grid.end), grid.end)
