"""What the essay's figures are made of: logs as rows of records, lanes over an axis of
time, and marks with words beside them.

Places are in the drawing's units. A text's y is its middle, so that words stand in the
middle of what they belong to.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from minikafka.theatre.drawing import Box, Drawing, Look, text_width
from minikafka.trace import Event

# What a figure reads from a run's trace is its own affair.
Facts = Any


class Paint(NamedTuple):
    """ink: of the words on it."""

    fill: str
    line: str = "none"
    ink: str = "ink"


# The colours of accidents, as the page's verdicts have them (essay.css).
TWICE, LOST, WAITS, LUCK = "actor4", "trouble", "actor2", "actor1"
PLAIN = Paint("cell", "rule")
SECOND = Paint(TWICE, TWICE, "on4")
WAITING = Paint(WAITS, ink="on2")
GONE = Paint("none", LOST, LOST)
STOPPED = Paint("hatch", "quiet")
# Orders, and two who do the same: the second has the outline only.
MARK = Paint("ink", "paper", "paper")
DONE = Paint("good", "actor3")
FIRST, OTHER = Paint("actor1", ink="on1"), Paint("paper", "actor1", "actor1")


@dataclass(frozen=True)
class Figure:
    """read: what it shows of a trace. draw: a run, given those of all its slider's
    places and both states of its switch, so that what belongs to all stays where it
    is; on a page of this width. words: what it shows, for those who don't see it.
    """

    read: Callable[[Sequence[Event]], Facts]
    draw: Callable[[Facts, Sequence[Facts], int], Drawing]
    words: Callable[[Facts], str]


class Stretch(NamedTuple):
    """A part of an axis: from a moment to another one, between two places."""

    begin_ms: float
    end_ms: float
    left: float
    right: float


class Axis:
    """Where moments are: on one stretch, or on several with gaps between them."""

    def __init__(self, *stretches: Stretch) -> None:
        self.stretches = stretches
        self.left, self.right = stretches[0].left, stretches[-1].right

    def x(self, ms: float) -> float:
        """A moment in a gap is where the gap begins."""
        place = self.left
        for begin_ms, end_ms, left, right in self.stretches:
            if ms < begin_ms:
                return place
            part = (min(ms, end_ms) - begin_ms) / (end_ms - begin_ms)
            place = left + part * (right - left)
        return place

    def box(self, begin_ms: float, end_ms: float, y: float, h: float) -> Box:
        """From a moment to another one, at least as wide as can be seen."""
        x = self.x(begin_ms)
        return Box(x, y, max(self.x(end_ms) - x, 2), h)


class Sheet(Drawing):
    """A drawing of a fixed height, which a figure says when it is drawn. Texts have two
    sizes: labels, and what a picture is about. On a phone both are larger, because the
    page makes them smaller.
    """

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.high = 0.0
        self.small = 16.0 if self.phone else 13.0
        self.large = 17.0 if self.phone else 15.0

    @property
    def bottom(self) -> int:
        return round(self.high)

    def say(
        self,
        key: str,
        x: float,
        y: float,
        text: str,
        ink: str = "ink",
        *,
        large: bool = False,
        **look: Any,
    ) -> None:
        """Words, with their middle at y."""
        size = self.large if large else self.small
        self.text(key, x, y + size * 0.35, text, ink, size=size, **look)

    def long(self, text: str, *, large: bool = False, **look: Any) -> float:
        """How wide it is, at most."""
        return text_width(text, self.large if large else self.small, **look)

    def plate(
        self, key: str, x: float, y: float, text: str, ink: str, fill: str
    ) -> None:
        """Words in the middle of a plate, so that they can be read on anything."""
        wide = self.long(text, bold=ink != "ink") + 8
        self.rect(key, x - wide / 2, y - 10, wide, 20, fill, r=4)
        look: Look = {"anchor": "middle", "bold": ink != "ink"}
        self.say(f"{key}/words", x, y, text, ink, **look)

    def record(
        self,
        key: str,
        box: Box,
        text: str,
        paint: Paint = PLAIN,
        *,
        large: bool = True,
        **look: Any,
    ) -> None:
        """A record, or another box with words in its middle."""
        self.rect(key, *box, paint.fill, paint.line, r=5, **look)
        middle: Look = {"anchor": "middle", "large": large, "bold": True}
        y = box.y + box.h / 2
        self.say(f"{key}/words", box.x + box.w / 2, y, text, paint.ink, **middle)

    def cut(
        self, key: str, box: Box, text: str, *, is_lost: bool = True, large: bool = True
    ) -> None:
        """A record that somebody had and cut off; struck out if it is lost."""
        paint = GONE if is_lost else Paint("none", "rule", "quiet")
        self.rect(key, *box, paint.fill, paint.line, r=5, dash="4 3")
        if is_lost:  # behind the words, so that they can be read
            low, top = box.bottom - 4, box.y + 4
            strike = f"{key}/strike"
            self.line(strike, box.x + 3, low, box.right - 3, top, LOST, width=2)
        middle: Look = {"anchor": "middle", "bold": True, "halo": "paper"}
        x, y = box.x + box.w / 2, box.y + box.h / 2
        self.say(f"{key}/words", x, y, text, paint.ink, large=large, **middle)

    def empty(self, key: str, box: Box) -> None:
        """A place for a record that isn't there."""
        self.rect(key, *box, "none", "rule", r=5, dash="2 4")

    def mark(
        self,
        key: str,
        x: float,
        y: float,
        text: str,
        paint: Paint = MARK,
        r: float = 11,
    ) -> None:
        """A disc with an order's number in it."""
        self.circle(key, x, y, r, paint.fill, paint.line, width=1.5)
        self.say(f"{key}/words", x, y, text, paint.ink, anchor="middle", bold=True)

    def killed(self, key: str, x: float, y: float, bottom: float) -> None:
        """At this moment something was killed: a line down from its sign, which stands
        above the lanes.
        """
        self.upright(f"{key}/line", x, y, bottom, LOST, width=2)
        self.cross(key, x, y, 5)

    def cross(self, key: str, x: float, y: float, r: float = 7) -> None:
        """The sign of what was killed."""
        self.circle(f"{key}/ground", x, y, r + 5, LOST, "paper", width=1.5)
        d = f"M{-r / 2:g},{-r / 2:g}l{r},{r}m0,{-r}l{-r},{r}"
        self.path(key, x, y, d, line="paper", width=2.5)

    def tip(
        self, key: str, x: float, y: float, x2: float, y2: float, line: str = "quiet"
    ) -> None:
        """An arrow in one colour, which leaves and arrives level."""
        half = (x2 - x) / 2
        d = f"M0,0C{half:g},0 {half:g},{y2 - y:g} {x2 - x - 6:g},{y2 - y:g}"
        self.path(key, x, y, d, line=line, width=2)
        self.path(f"{key}/head", x2, y2, "M0,0l-9,-5v10z", fill=line)

    def bracket(
        self, key: str, x: float, x2: float, y: float, text: str, colour: str
    ) -> None:
        """Over a stretch of what is below: from x to x2, its words above the middle."""
        d = f"M0,8v-5q0,-3 3,-3h{max(x2 - x - 6, 0):g}q3,0 3,3v5"
        self.path(key, x, y, d, line=colour, width=2)
        half = self.long(text, bold=True) / 2
        middle = min(max((x + x2) / 2, half), self.width - half)
        look: Look = {"anchor": "middle", "bold": True}
        self.say(f"{key}/words", middle, y - 11, text, colour, **look)

    def lane(self, key: str, name: str, axis: Axis, y: float, h: float) -> None:
        """The ground of a lane, with its name."""
        self.name(key, name, y, h)
        self.ground(key, axis, y, h)

    def name(self, key: str, name: str, y: float, h: float) -> None:
        """A lane's name on the left, on a phone above it; it can be read on lines."""
        middle = y - 12 if self.phone else y + h / 2
        if self.phone:
            wide = self.long(name, bold=True) + 6
            self.rect(f"{key}/name/ground", 0, middle - 10, wide, 20, "paper")
        self.say(f"{key}/name", 0, middle, name, bold=True, halo="paper")

    def ground(self, key: str, axis: Axis, y: float, h: float) -> None:
        for number, part in enumerate(axis.stretches):
            wide = part.right - part.left
            self.rect(f"{key}/ground/{number}", part.left, y, wide, h, "wash", r=4)

    def bar(self, key: str, box: Box, paint: Paint, *texts: str) -> None:
        """texts: the first one that fits stands in it; on hatching it has a plate."""
        width = 2 if paint == OTHER else None
        self.rect(key, *box, paint.fill, paint.line, r=4, width=width)
        text = next((text for text in texts if self.long(text) + 12 <= box.w), "")
        x, y = box.x + box.w / 2, box.y + box.h / 2
        if text and paint == STOPPED:
            self.plate(f"{key}/plate", x, y, text, "ink", "paper")
        elif text:
            self.say(f"{key}/words", x, y, text, paint.ink, anchor="middle")

    def times(self, axis: Axis, y: float, ticks: Iterable[tuple[float, str]]) -> None:
        """The axis under its lanes."""
        for number, part in enumerate(axis.stretches):
            self.level(f"axis/{number}", part.left, part.right, y, "rule")
        for ms, text in ticks:
            x = axis.x(ms)
            self.upright(f"axis/tick/{ms}", x, y, y + 5, "rule")
            half = self.long(text) / 2
            middle = min(max(x, half), self.width - half)
            self.say(f"axis/{ms}/words", middle, y + 15, text, "quiet", anchor="middle")


def of_kind(trace: Iterable[Event], kind: str) -> list[Event]:
    return [event for event in trace if event.kind == kind]


def seconds(
    first: int, last: int, step: int, unit: str = " s"
) -> list[tuple[int, str]]:
    """The ticks of an axis: each moment, and its words."""
    return [(1000 * each, f"{each}{unit}") for each in range(first, last + 1, step)]
