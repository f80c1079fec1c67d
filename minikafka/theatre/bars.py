"""How long something lasted, as lengths: one lane each, bars on a true time axis, up to
the cursor and no further. Equal times are equally long on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from minikafka.theatre.axis import Axis, Scene, Time
from minikafka.theatre.drawing import Drawing, Look
from minikafka.theatre.lanes import GAP, LANE, PITCH

LEFT, LEFT_NARROW = 150, 142  # width of the lanes' names
RIGHT, RIGHT_NARROW = 76, 62  # of the numbers at their ends
AXIS = 24  # height of the times
LEAST = 2.5  # width of the shortest bar


class Bar(NamedTuple):
    """From one moment to another, in ms; end is None while it lasts. number: of the
    event that began it.
    """

    begin: int
    end: int | None
    fill: str
    number: int


@dataclass(frozen=True)
class Lane:
    """A lane of durations: a name, its bars, and a number at the end. Without a bar it
    has not begun, and has no name yet.
    """

    name: str
    bars: Sequence[Bar]
    number: str = ""
    trouble: bool = False


def lane(name: str, spans: Sequence[Sequence[Any]], fill: str, now: int) -> Lane:
    """spans: each as [begin, end or None, number], as stories keep them. The lane ends
    with the length of the last one.
    """
    bars = [Bar(begin, end, fill, number) for begin, end, number in spans]
    number = ""
    if bars:
        begin, end, *_ = bars[-1]
        number = f"{((now if end is None else end) - begin) / 1000:.1f} s"
    return Lane(name, bars, number)


class Bars:
    """Knows the moments of the whole play for its scale."""

    def __init__(self, scenes: Sequence[Scene]) -> None:
        self.time = Time.of(scenes)

    @staticmethod
    def height(lanes: int) -> float:
        return lanes * PITCH - GAP + AXIS + 10

    def draw(self, d: Drawing, y: float, lanes: Sequence[Lane], now: int) -> None:
        """y: of the upper edge. now: the moment that is shown."""
        left, right = LEFT, d.width - RIGHT
        if d.narrow:
            left, right = LEFT_NARROW, d.width - RIGHT_NARROW
        axis = self.time.axis(left, right, now)
        top = y + 10
        for number, lane in enumerate(lanes):
            row = d.part(f"time/bars/{number}", 0, top + number * PITCH)
            _lane(row, lane, axis)
        bottom = top + len(lanes) * PITCH - GAP
        axis.cursor(d, top - 6, bottom + 4)
        axis.foot(d, bottom)


def _lane(row: Drawing, lane: Lane, axis: Axis) -> None:
    name = lane.name if lane.bars else ""
    look: Look = {
        "bold": True,
        "anchor": "end",
        "room": axis.left - 10,
    }
    row.text(
        "name",
        axis.left - 8,
        13,
        name,
        **look,
    )
    width = axis.right - axis.left
    row.rect(
        "ground",
        x=axis.left,
        y=0,
        w=width,
        h=LANE,
        fill="wash",
        r=3,
    )
    for number, bar in enumerate(lane.bars):
        begin = max(axis.x(bar.begin), axis.left)
        end = axis.x(bar.end)
        row.rect(
            f"bar/{number}",
            x=begin,
            y=2,
            w=max(end - begin, LEAST),
            h=LANE - 4,
            fill=bar.fill,
            r=2,
            of=bar.number,
        )
    ink = "trouble" if lane.trouble else "quiet"
    row.number(
        "number",
        row.width,
        13,
        lane.number,
        ink,
    )
