"""Lanes on the axis of time: bars as long as what they show lasted, and marks where
something was done (lanes.py has those whose story is order).

A burst that is a hair's breadth on the axis may stand beside it once more, enlarged.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from minikafka.theatre.axis import WORDS, Axis, Scene, Span, Time
from minikafka.theatre.boxes import Item, Places, part
from minikafka.theatre.drawing import Drawing, Look, fitting, has_room, widest
from minikafka.theatre.lanes import (
    BESIDE,
    GAP,
    LANE,
    PITCH,
    Mark,
    captions_wide,
    numbers_wide,
)
from minikafka.theatre.text import key_part

MOST_OF_NAMES = 150  # width
BOX = 6  # width of a mark
BASE = 13  # of a lane's words, from its top
HEAD = 13  # above the first lane, where the cursor begins
# where a burst is enlarged: what part of the width the whole axis keeps, and how far
# the two are from each other
WHOLE, APART = 0.36, 30


class Bar(NamedTuple):
    """words: the first ones that fit are drawn in it."""

    span: Span
    words: Sequence[str]
    tip: str
    fill: str
    ink: str = "ink"
    line: str = "none"


def gone(span: Span, words: Sequence[str]) -> Bar:
    """A bar for what is not there, or does not do what it should."""
    return Bar(span, words, words[0], fill="hatch", line="trouble")


@dataclass(frozen=True)
class TimeLane:
    """A row. number: drawn at its end; it is the value at the cursor. colour: of its
    marks. bars: up to the cursor. is_answer: nothing is in it while a question is open.
    """

    key: str
    name: str
    bars: Sequence[Bar] = ()
    colour: str = "quiet"
    number: str = ""
    trouble: bool = False
    is_answer: bool = False


class Marked(NamedTuple):
    """A mark on a lane, and its moment."""

    at_ms: int
    mark: Mark


class Place(NamedTuple):
    """The stretch of a lane that words take."""

    begin: float
    end: float


class TimeLanes:
    """The marks of all scenes: it draws them up to the cursor. close: a burst that is
    enlarged.
    """

    def __init__(
        self, scenes: Sequence[Scene], time: Time, close: Time | None = None
    ) -> None:
        self.time = time
        self.close = close
        self.marks: dict[str, list[Marked]] = {}
        for scene in scenes:
            for mark in scene["marks"]:
                in_lane = self.marks.setdefault(mark["lane"], [])
                in_lane.append(Marked(scene["at"], mark))

    def box(
        self,
        scenes: Sequence[Scene],
        rows: Callable[[Sequence[Scene]], Sequence[TimeLane]],
        left: float = 0,
    ) -> Item:
        """The lanes as a box of a play. rows: of the scenes up to one. left: where they
        begin, if not right behind their names.
        """
        every = [rows(scenes[: step + 1]) for step in range(len(scenes))]
        names = [lane.name for lanes in every for lane in lanes]
        begin = left or captions_wide(names, MOST_OF_NAMES) + BESIDE
        after = numbers_wide(lane.number for lanes in every for lane in lanes)

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            lanes = every[scene["step"]]
            if d.asks:
                lanes = [
                    TimeLane(each.key, "") if each.is_answer else each for each in lanes
                ]
            self._draw(d, places["lanes"].y, lanes, scene, begin, d.width - after)

        count = max(map(len, every), default=0)
        return part("lanes", draw, high=HEAD + PITCH * count - GAP + WORDS + 4)

    def _draw(
        self,
        d: Drawing,
        y: float,
        rows: Sequence[TimeLane],
        scene: Scene,
        left: float,
        right: float,
    ) -> None:
        """The lanes below each other, and their axis. y: of their upper edge. left,
        right: where they begin and end.
        """
        now_ms = scene["at"]
        end = right
        if self.close:
            end = left + (right - left) * WHOLE
        axis = self.time.axis(left, end, now_ms)
        close = None
        if self.close and now_ms >= self.close.first_ms:
            shown_ms = min(now_ms, self.close.last_ms)
            close = self.close.axis(end + APART, right, shown_ms)

        top = y + HEAD
        lane_y = top
        for row in rows:
            part = d.part(f"time/lane/{key_part(row.key)}", 0, lane_y)
            marks = self._so_far(row, scene)
            _ends_of(part, axis, row)
            _Drawn(part, axis).draw(row, marks)
            if close:
                _Drawn(part, close, "close/").draw(*_inside(close.time, row, marks))
            lane_y += PITCH
        bottom = lane_y - GAP
        axis.cursor(d, top - 8, bottom + 5)
        axis.foot(d, bottom)
        if close:
            _frame(d, axis, close, top, bottom)

    def _so_far(self, row: TimeLane, scene: Scene) -> list[Marked]:
        """Its marks; where a bar begins, nothing else needs to."""
        begun = {bar.span.number for bar in row.bars}
        now = scene["number"]
        found = []
        for each in self.marks.get(row.key, []):
            number = each.mark["of"]
            if number <= now and number not in begun:
                found.append(each)
        return found


def _ends_of(row: Drawing, axis: Axis, lane: TimeLane) -> None:
    """A name before a lane, and a number behind it."""
    look: Look = {"bold": True, "anchor": "end", "room": axis.left - 10}
    row.text("name", axis.left - 8, BASE, lane.name, **look)
    ink = "trouble" if lane.trouble else "quiet"
    row.number("number", row.width, BASE, lane.number, ink)


def _inside(
    time: Time, lane: TimeLane, marks: Sequence[Marked]
) -> tuple[TimeLane, list[Marked]]:
    """The part of a lane in a burst. A bar that began before it has its words on the
    whole axis.
    """
    bars = []
    for bar in lane.bars:
        begin_ms = max(bar.span.begin_ms, time.first_ms)
        end_ms = min(bar.span.end_ms, time.last_ms)
        if end_ms <= begin_ms:
            continue
        span = bar.span._replace(begin_ms=begin_ms, end_ms=end_ms)
        words = bar.words if begin_ms == bar.span.begin_ms else ()
        bars.append(bar._replace(span=span, words=words))
    there = [each for each in marks if time.first_ms <= each.at_ms <= time.last_ms]
    return replace(lane, bars=bars), there


def _frame(d: Drawing, axis: Axis, close: Axis, top: float, bottom: float) -> None:
    """Around a burst: from where on the whole axis it comes, and how long it is."""
    middle = (top + bottom) / 2
    left = close.left - 6
    look: Look = {"line": "quiet", "dash": "3 3"}
    d.rect(
        "time/close",
        x=left,
        y=top - 5,
        w=close.right - left + 3,
        h=bottom - top + 10,
        fill="none",
        r=4,
        **look,
    )
    d.arrow(
        "time/close/arrow",
        x=axis.x(close.time.first_ms) + 4,
        y=middle,
        x2=left - 2,
        y2=middle,
        line="quiet",
        width=1.5,
    )
    close.cursor(d, top - 8, bottom + 5, "time/close/cursor")
    whole_ms = close.time.last_ms - close.time.first_ms
    words = [f"enlarged: {whole_ms} ms", f"{whole_ms} ms"]
    said = fitting(words, close.right - left, 12)
    d.note("time/close/what", close.right, bottom + WORDS, said, anchor="end", size=12)


class _Drawn(NamedTuple):
    """One lane in its place. prefix: of its keys."""

    row: Drawing
    axis: Axis
    prefix: str = ""

    def draw(self, lane: TimeLane, marks: Sequence[Marked]) -> None:
        """Its ground, bars and marks."""
        row = self.row
        axis = self.axis
        prefix = self.prefix
        width = axis.right - axis.left
        look: Look = {"fill": "wash", "r": 3}
        row.rect(f"{prefix}ground", x=axis.left, y=0, w=width, h=LANE, **look)
        boxes = [axis.x(each.at_ms) - BOX / 2 for each in marks]
        taken = []
        for number, bar in enumerate(lane.bars):
            taken.append(self._bar(f"{prefix}bar/{number}", bar, boxes))
        begins = [axis.x(bar.span.begin_ms) for bar in lane.bars]
        for number, each in enumerate(marks):
            x = boxes[number]
            later = boxes[number + 1 :]
            after = [begin for begin in begins if begin > x + BOX]
            after += [begin for begin, end in taken if end > x]
            key = f"{prefix}{number}"
            self._mark(key, each, lane, [*later, *after])

    def _bar(self, key: str, bar: Bar, marks: Sequence[float]) -> Place:
        """Draw a bar as long as its duration, with words where marks leave room.
        Returns where the words are.
        """
        row = self.row
        begin = self.axis.x(bar.span.begin_ms)
        width = max(self.axis.x(bar.span.end_ms) - begin, 1)
        look: Look = {"fill": bar.fill, "line": bar.line, "of": bar.span.number}
        row.rect(key, x=begin, y=0, w=width, h=LANE, r=3, tip=bar.tip, **look)
        words, left = _with_room(bar.words, begin, begin + width, marks)
        if not words:
            return Place(left, left)
        if bar.fill == "hatch":  # on which nobody reads
            plate: Look = {"fill": "paper", "r": 3}
            wide = widest(words, 12)
            row.rect(f"{key}/plate", x=left - 4, y=1, w=wide + 8, h=LANE - 2, **plate)
        look = {"size": 12, "of": bar.span.number}
        row.text(f"{key}/words", left, BASE, words, bar.ink, **look)
        return Place(left, left + widest(words, 12) + 4)

    def _mark(
        self,
        key: str,
        each: Marked,
        lane: TimeLane,
        after: Sequence[float],
    ) -> None:
        """A small box where something was done, and words beside it where they have
        room.
        """
        row = self.row
        mark = each.mark
        ink = "ink"
        fill = lane.colour
        if mark.get("trouble"):
            ink = fill = "trouble"
        x = self.axis.x(each.at_ms)
        look: Look = {"r": 2, "of": mark["of"], "same": mark.get("same")}
        row.rect(key, x=x - BOX / 2, y=2, w=BOX, h=LANE - 4, fill=fill, **look)
        words = mark["text"]
        end = min(after, default=self.axis.right)
        if not words or not has_room(words, end - x - 10, 12, mono=True):
            return
        small: Look = {"size": 12, "mono": True, "of": mark["of"], "halo": "paper"}
        row.text(f"{key}/text", x + 7, BASE, words, ink, **small)


def _with_room(
    texts: Sequence[str], begin: float, end: float, marks: Sequence[float]
) -> tuple[str, float]:
    """The first text that has room between two marks of a bar, and where it begins."""
    inside = [x for x in marks if begin <= x < end]
    inside.sort()
    gaps = []
    left = begin
    for mark in inside:
        gaps.append(Place(left, mark))
        left = mark + BOX
    gaps.append(Place(left, end))
    for text in texts:
        for gap in gaps:
            room = gap.end - gap.begin - 12
            if has_room(text, room, 12):
                return text, gap.begin + 8
    return "", begin
