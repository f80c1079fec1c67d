"""Event time and watermark: windows side by side, micro-batches from top to bottom, and
what becomes of each order.

A row for each micro-batch: its orders stand at the time at which they were placed, and
under them what it writes. The heavy line is the watermark with which the micro-batch
works; what is left of it and shaded is closed to late orders. At the foot of each
window: what Spark keeps of it in state, and what the sink has got. Option: live (a
click on an order lets it come later).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import (
    Draws,
    Item,
    Places,
    Stage,
    column,
    either,
    part,
    row,
)
from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Box,
    Drawing,
    Look,
    fit,
    fitting,
    widest,
)
from minikafka.theatre.pictures.watermark.story import Order, WatermarkStory, clock
from minikafka.theatre.play import Play
from minikafka.theatre.ruler import Ruler
from minikafka.theatre.text import counted, dotted

TIMES, BATCH, BOX = 18, 44, 28  # heights: of times, of a micro-batch, of a window's box
AXIS, WIDE = 150, 700  # width of the axis: at least; and of all, for whole names
# what a micro-batch does by its watermark and by the one before; and that on a phone
BY = "writes by watermark {}", "writes by {}", "by {}"
BEFORE: Look = {"width": 3, "dash": "5 4"}  # the line of the one before
STANDS = "watermark {}", "{}"  # where it does not write by it, or nobody may know yet
BY_BEFORE = "drops by watermark {}", "drops by {}"
WIDE_NAMES = widest(BY_BEFORE[0].format("08:00"), 12)
NAMES = widest("micro-batch 0", 12.5, bold=True)
ENDS = widest("08:00", 12, mono=True) / 2  # of the time at the axis' end
MOST_WRITTEN = 4  # counts that a box of the sink shows
RADIUS, SMALL = 9.5, 7  # of an order, and where they are close together
DrawsWindow = Callable[[Drawing, Box, str, Mapping[str, Any]], None]


class Fate(NamedTuple):
    """The fate of an order in words, and its look."""

    words: str
    fill: str
    line: str
    ink: str
    dash: str | None = None


FATES = {
    "": Fate(words="not decided yet", fill="paper", line="actor1", ink="ink"),
    "counted": Fate(words="counted", fill="actor1", line="none", ink="on1"),
    "dropped": Fate(
        words="dropped", fill="paper", line="trouble", ink="trouble", dash="3 3"
    ),
}


class WatermarkPlay(Play):
    story = WatermarkStory
    rule = (
        "Watermark = latest event time − delay. It moves at the end of a micro-batch; "
        "the next one writes by it, and the one after that drops by it."
    )

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.size: int = self.cast["size"]
        windows: list[int] = self.cast["windows"]
        self.first = windows[0] if windows else 0
        self.last = (windows[-1] if windows else 0) + self.size
        if self.cast["mode"] == "complete":
            self.rule = (
                "Complete writes every window each time: the watermark closes none."
            )
        self.boxes = Stage(self._all())

    def scenario(self, scene: Scene) -> str:
        mode = f"output mode {self.cast['mode']}"
        delay = f"delay {self.cast['delay']} minutes"
        return dotted(f"windows of {self.size} minutes", delay, mode)

    def summary(self, space: dict[str, Any]) -> str:
        said = []
        for window in space["windows"]:
            what = _what_became(window)
            if what:
                said.append(f"window {clock(window['begin'])}: {', '.join(what)}")
        return "; ".join(said) or "nothing yet"

    # -- draw

    def _all(self) -> Item:
        count = range(self.cast["batches"])
        rows = [self._line(f"row {each}", BATCH, self._row(each)) for each in count]
        lamp = self._line("lamp", 19, self._lamp)
        results = [
            self._windows("in state", _state),
            self._windows("in the sink", _sink),
        ]
        below = column(
            part("watermark", self._watermark, high=0), *results, lamp, gap=6
        )
        return column(self._line("axis", TIMES, self._axis), *rows, below)

    def _line(self, name: str, high: float, draw: Draws) -> Item:
        """A name, and the axis."""

        def nothing(d: Drawing, places: Places, scene: Scene) -> None:
            pass

        axis = part(name, draw, high=high, least=AXIS, grow=1)
        end = part(f"{name} end", nothing, high=high, least=ENDS)
        before = [
            part(f"{name} name", nothing, high=high, least=wide + 6)
            for wide in (WIDE_NAMES, NAMES)
        ]
        wide, narrow = (row(each, axis, end, gap=4, breaks=False) for each in before)
        return either(replace(wide, least=WIDE), narrow)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])

    def ruler(self, drawing: Drawing, scene: Scene, on: str) -> Ruler | None:
        """Through all rows: a time of the orders' own, in minutes."""
        axis = self.boxes.places(drawing.width)["axis"]
        return Ruler(
            *(axis.x, axis.right, self.first, self.last),
            step=1,
            edge=axis.bottom,
            reach=axis.bottom + BATCH * self.cast["batches"],
            says=_at,
            above=True,
        )

    def _x(self, place: Box, minute: float) -> float:
        """The x of a time; times before the first window and after the last one are at
        the edge.
        """
        share = (minute - self.first) / (self.last - self.first)
        return place.x + place.w * min(max(share, 0.0), 1.0)

    def _axis(self, d: Drawing, places: Places, scene: Scene) -> None:
        """Where windows begin and end."""
        place, foot = places["axis"], places["in the sink"].bottom
        for minute in [*self.cast["windows"], self.last]:
            key = f"axis/{minute}"
            x = self._x(place, minute)
            look: Look = {"anchor": "middle", "size": 12, "mono": True}
            d.note(key, x, place.y + 12, clock(minute), **look)
            d.upright(f"{key}/line", x, place.bottom, foot, "rule", width=1)
        room = place.x - widest(clock(0), 12, mono=True) / 2
        d.note("name/axis", 0, place.y + 12, fitting(["placed at"], room), size=12)

    # -- a micro-batch

    def _row(self, number: int) -> Draws:
        """Its orders, what is closed to them, and what it writes."""

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            rows = scene["space"]["rows"]
            if number >= len(rows):
                return
            told = rows[number]
            batch = told["batch"]
            place = places[f"row {number}"]
            y = place.y
            key = f"row/{batch}"
            d.level(key, 0, d.width, y, "rule", width=1)
            names = [f"micro-batch {batch}", f"batch {batch}"]
            name = fitting(names, place.x - 4, 12.5, bold=True) or str(batch)
            is_now = number == len(rows) - 1
            d.text(f"{key}/name", 0, y + 18, name, bold=is_now, size=12.5)
            closes = told["closed"] is not None and self.cast["mode"] != "complete"
            if closes and not d.asks:
                self._closed(d, place, batch, told["closed"])
            for each in told["orders"]:
                self._order(d, place, Order(*each))
            for begin, count in told["written"]:
                self._written(d, place, batch, begin, count, places["in the sink"])

        return draw

    def _closed(self, d: Drawing, place: Box, batch: int, closed: int) -> None:
        """By what this micro-batch drops: the watermark of the one before; and the
        windows whose late orders it is closed to.
        """
        x = self._x(place, closed)
        key = f"closed/{batch}"
        words = fitting(_all_by(BY_BEFORE, closed), place.x - 4, 12)
        d.text(f"{key}/time", 0, place.y + 35, words, size=12)
        d.upright(f"{key}/mark", x, place.y, place.bottom, "ink", **BEFORE)
        ended = closed - (closed - self.first) % self.size
        if ended <= self.first:
            return
        wide = self._x(place, ended) - place.x
        tip = (
            f"micro-batch {batch} drops what belongs to a window that ended by"
            f" {clock(closed)}"
        )
        look: Look = {"fill": "chip", "fade": 0.55, "tip": tip}
        d.rect(key, place.x, place.y + 1, wide, place.h - 2, **look)

    def _order(self, d: Drawing, place: Box, order: Order) -> None:
        name, fate = order.name, FATES[order.fate]
        x, y = self._x(place, order.minute), place.y + 12
        key = f"order/{name}"
        tip = f"{name}, placed at {clock(order.minute)}: {fate.words}"
        act = None
        if "live" in self.cast:
            tip = f"let {name} come one micro-batch later"
            act = f"later {name}"
        look: Look = {"fill": fate.fill, "line": fate.line, "dash": fate.dash}
        look |= {"width": 2, "tip": tip, "same": name, "act": act}
        radius = RADIUS if place.w > WIDE / 2 else SMALL
        d.circle(key, x=x, y=y, r=radius, **look)
        look = {"size": 12, "bold": True, "anchor": "middle", "same": name}
        d.text(key + "/name", x, y + 4.5, name, fate.ink, **look)
        if order.fate == "dropped":
            ends = (x - 9, y + 9, x + 9, y - 9)
            d.line(key + "/gone", *ends, line="trouble", width=1.5)

    def _written(
        self, d: Drawing, place: Box, batch: int, begin: int, count: int, sink: Box
    ) -> None:
        """The row that the micro-batch writes for this window. In append mode it is
        the only one, and an arrow leads to the sink.
        """
        middle = self._x(place, begin + self.size / 2)
        words = str(count)
        is_only = self.cast["mode"] == "append"
        if is_only:
            room = 2 * (middle - self._x(place, begin)) - 30
            words = fitting([f"{count} written"], room, 12, bold=True) or words
        tip = f"micro-batch {batch} writes {count} for the window of {clock(begin)}"
        key = f"written/{batch}/{begin}"
        x = middle - (widest(words, 12, bold=True) + 10) / 2
        d.chip(key, x, place.y + 22, words, fill="good", tip=tip)
        if is_only:
            d.arrow(f"{key}/way", middle, place.y + 43, middle, sink.y - 2)

    def _watermark(self, d: Drawing, places: Places, scene: Scene) -> None:
        """A stair: the watermark is constant within a micro-batch, and moves between
        two.
        """
        stands = []
        for number, told in enumerate(scene["space"]["rows"]):
            minute = told["watermark"]
            if minute is not None:
                place = places[f"row {number}"]
                x = self._x(place, minute)
                half = self.size / 2
                chips = [self._x(place, begin + half) for begin, _ in told["written"]]
                chips = [middle - 13 for middle in chips]
                free = min([each for each in chips if each > x], default=d.width) - x
                stands.append((told["batch"], minute, x, place.y, free))
        thick: Look = {"line": "ink", "width": 3}
        writes = self.cast["mode"] == "append" and not d.asks
        for batch, minute, x, y, free in stands:
            key = f"mark/{batch}"
            d.upright(key, x, y, y + BATCH, **thick)
            ways = BY[d.narrow :] if writes else STANDS
            told = _all_by(ways, minute)
            words = fitting(told, free - 10, 12, bold=True)
            look: Look = {"bold": True, "size": 12, "halo": "paper"}
            d.text(f"{key}/time", x + 6, y + 35, words, **look)
        for before, (batch, minute, x, y, _) in pairwise(stands):
            if before[1] != minute:
                d.level(f"mark/{batch}/moved", before[2], x, y, **thick)

    # -- the windows

    def _windows(self, name: str, draws: DrawsWindow) -> Item:
        """A box below each window that there is something to say about."""

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            place = places[name]
            look: Look = {"bold": True, "room": place.x - 4}
            d.text(f"name/{name}", 0, place.y + 19, name, **look)
            for window in scene["space"]["windows"]:
                begin, end = window["begin"], window["begin"] + self.size
                left, right = self._x(place, begin) + 4, self._x(place, end) - 4
                box = Box(left, place.y, right - left, BOX)
                draws(d, box, f"window {clock(begin)} to {clock(end)}", window)

        return self._line(name, BOX, draw)

    def _lamp(self, d: Drawing, places: Places, scene: Scene) -> None:
        dropped = scene["space"]["dropped"]
        words = f"{counted(dropped, 'order')} dropped"
        if not dropped:
            words = "every order counts"
        x, y, *_ = places["lamp"]
        d.lamp("lamp", x, y, words, bool(dropped))


def _at(minute: float) -> str:
    return clock(round(minute))


def _all_by(words: Sequence[str], minute: int) -> list[str]:
    """Ways to say what a micro-batch does by a watermark, the longest first."""
    return [each.format(clock(minute)) for each in words]


def _what_became(window: Mapping[str, Any]) -> list[str]:
    """How many orders of a window are in state, were written, and which were lost."""
    said = []
    if window["count"] and not window["forgotten"]:
        said.append(f"{window['count']} in state")
    if window["written"]:
        said.append(f"written {' then '.join(map(str, window['written']))}")
    if window["lost"]:
        said.append(f"{', '.join(window['lost'])} dropped")
    return said


def _state(d: Drawing, box: Box, name: str, window: Mapping[str, Any]) -> None:
    key = f"state/{window['begin']}"
    count = window["count"]
    if window["forgotten"]:
        tip = f"{name}: forgotten"
        d.cell(key, *box, fill="none", line="gone", dash="4 3", tip=tip)
    elif count:
        tip = f"{name}: {counted(count, 'order')} in state"
        d.cell(key, *box, str(count), tip=tip)


def _sink(d: Drawing, box: Box, name: str, window: Mapping[str, Any]) -> None:
    """The latest counts that it got, and how many orders it lacks."""
    if not window["written"] and not window["lost"]:
        return
    written = [str(count) for count in window["written"]]
    shown = written[-MOST_WRITTEN:]
    if len(written) > MOST_WRITTEN:
        shown.insert(0, "…")
    room = box.w * LEAST_STRETCH
    lost = ""
    tip = f"{name}: written {' then '.join(written) or 'not yet'}"
    look: Look = {"fill": "good" if written else "none"}
    if window["lost"]:
        lost = f"{len(window['lost'])} lost"
        tip += f", {lost}"
        room -= 50
        look |= {"width": 2, "line": "trouble", "ink": "trouble"}
    words = fit(" ".join(shown), room, 13, mono=True)
    d.cell(f"sink/{window['begin']}", *box, words, lost, tip=tip, **look)
