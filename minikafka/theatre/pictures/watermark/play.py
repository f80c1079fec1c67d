"""Event time and watermark: windows side by side, micro-batches from top to bottom, and
what becomes of each order.

Above: what Spark keeps in state for each window, and what the sink has got. Below, a
row for each micro-batch: its orders stand at the time at which they were placed. The
heavy line is the watermark with which the micro-batch works; what is left of it and
shaded is closed to late orders. Option: live (a click on an order lets it come later).
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from minikafka.theatre.drawing import LEAST_STRETCH, Box, Drawing, fit
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.watermark.story import Order, WatermarkStory, clock
from minikafka.theatre.play import Play
from minikafka.theatre.ruler import Ruler
from minikafka.theatre.text import counted

# y of each part; the height of a micro-batch
AXIS, STATE, SINK, ROWS, ROW = 12, 22, 58, 100, 46
BOX = 28  # height of a window's box
MOST_WRITTEN = 4  # counts that a box of the sink shows
RADIUS = 9.5  # of an order


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


class Axis(NamedTuple):
    """From left to right, from the first window's begin to the last one's end."""

    left: float
    right: float
    first: int
    last: int

    def x(self, minute: float) -> float:
        """The x of a time; times before the first window and after the last one are at
        the edge.
        """
        part = (minute - self.first) / (self.last - self.first)
        part = min(max(part, 0.0), 1.0)
        return self.left + (self.right - self.left) * part


class Stand(NamedTuple):
    """The place of the watermark in the row of a micro-batch."""

    batch: int
    y: float
    x: float
    minute: int


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

    def scenario(self, scene: Scene) -> str:
        rows = scene["space"]["rows"]
        said = [f"windows of {self.size} minutes"]
        said.append(f"delay {self.cast['delay']} minutes")
        said.append(f"output mode {self.cast['mode']}")
        watermark = rows[-1]["watermark"] if rows else None
        if watermark is not None:
            said.append(f"watermark {clock(watermark)}")
        return " · ".join(said)

    def summary(self, space: dict[str, Any]) -> str:
        said = []
        for window in space["windows"]:
            what = _what_became(window)
            if what:
                said.append(f"window {clock(window['begin'])}: {', '.join(what)}")
        return "; ".join(said) or "nothing yet"

    # -- draw

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        space = scenes[-1]["space"]
        rows = space["rows"]
        self.axis = self._axis(d)
        self._columns(d, self._foot)
        _names(d)
        for window in space["windows"]:
            self._window(d, window)
        for number, row in enumerate(rows):
            is_last = number == len(rows) - 1
            self._row(d, row, _row_y(number), now=is_last)
        self._watermark(d, rows)
        self._lamp(d, space["dropped"])

    def ruler(self, drawing: Drawing, scene: Scene, on: str) -> Ruler | None:
        """Through all rows: a time of the orders' own, in minutes."""
        axis = self._axis(drawing)
        return Ruler(
            *axis,
            step=1,
            edge=AXIS + 6,
            reach=self._foot,
            says=_at,
            above=True,
        )

    @property
    def _foot(self) -> int:
        """The foot of the last micro-batch."""
        return _row_y(self.cast["batches"])

    def _axis(self, d: Drawing) -> Axis:
        left = 126.0
        right = d.width - 112.0
        if d.narrow:
            left = 92.0
            right = d.width - 74.0
        return Axis(left, right, self.first, self.last)

    def _columns(self, d: Drawing, foot: float) -> None:
        """Where windows begin and end."""
        for minute in [*self.cast["windows"], self.last]:
            key = f"axis/{minute}"
            x = self.axis.x(minute)
            d.note(
                key,
                x,
                AXIS,
                clock(minute),
                anchor="middle",
                size=12,
                mono=True,
            )
            d.upright(
                f"{key}/line",
                x=x,
                top=AXIS + 6,
                bottom=foot,
                line="rule",
                width=1,
            )

    def _window(self, d: Drawing, window: Mapping[str, Any]) -> None:
        """Draw a window's state, and below it the count that the sink has."""
        begin = window["begin"]
        end = begin + self.size
        left = self.axis.x(begin)
        right = self.axis.x(end)
        name = f"window {clock(begin)} to {clock(end)}"
        state = Box(
            x=left + 4,
            y=STATE,
            w=right - left - 8,
            h=BOX,
        )
        _state(d, state, name, window)
        if window["written"] or window["lost"]:
            sink = state._replace(y=SINK)
            _sink(d, box=sink, name=name, window=window)

    def _lamp(self, d: Drawing, dropped: int) -> None:
        words = f"{counted(dropped, 'order')} dropped"
        if not dropped:
            words = "every order counts"
        d.lamp(
            "lamp",
            self.axis.left,
            self._foot + 8,
            words,
            bool(dropped),
        )

    # -- a micro-batch

    def _row(self, d: Drawing, row: Mapping[str, Any], y: float, now: bool) -> None:
        batch = row["batch"]
        closed = row["closed"]
        key = f"row/{batch}"
        name = f"batch {batch}" if d.narrow else f"micro-batch {batch}"
        d.level(
            key,
            left=0,
            right=d.width,
            y=y,
            line="rule",
            width=1,
        )
        d.text(f"{key}/name", 0, y + 18, name, bold=now, size=12.5)
        d.note(f"{key}/writes", 0, y + 37, "writes", size=12)
        closes_windows = closed is not None and self.cast["mode"] != "complete"
        if closes_windows and not d.asks:
            self._closed(d, batch, closed, y)
        for each in row["orders"]:
            self._order(d, Order(*each), y + 13)
        for begin, count in row["written"]:
            self._written(d, batch, begin, count, y)

    def _written(
        self, d: Drawing, batch: int, begin: int, count: int, y: float
    ) -> None:
        """Draw the row that the micro-batch writes for this window."""
        left = self.axis.x(begin)
        right = self.axis.x(begin + self.size)
        middle = (left + right) / 2
        d.chip(
            f"written/{batch}/{begin}",
            middle - 13,
            y + 25,
            str(count),
            fill="good",
            tip=f"micro-batch {batch} writes {count} for the window of {clock(begin)}",
        )

    def _closed(self, d: Drawing, batch: int, closed: int, y: float) -> None:
        """The windows whose late orders this micro-batch drops."""
        ended = closed - (closed - self.first) % self.size
        if ended <= self.first:
            return
        left = self.axis.left
        right = self.axis.x(ended)
        box = Box(
            x=left,
            y=y + 1,
            w=right - left,
            h=ROW - 2,
        )
        tip = (
            f"micro-batch {batch} drops what belongs to a window that ended by"
            f" {clock(closed)}"
        )
        d.rect(f"closed/{batch}", *box, fill="chip", fade=0.55, tip=tip)

    def _order(self, d: Drawing, order: Order, y: float) -> None:
        name = order.name
        x = self.axis.x(order.minute)
        key = f"order/{name}"
        fate = FATES[order.fate]
        tip = f"{name}, placed at {clock(order.minute)}: {fate.words}"
        act = None
        if "live" in self.cast:
            tip = f"let {name} come one micro-batch later"
            act = f"later {name}"
        d.circle(
            key,
            x=x,
            y=y,
            r=RADIUS,
            fill=fate.fill,
            line=fate.line,
            dash=fate.dash,
            width=2,
            tip=tip,
            same=name,
            act=act,
        )
        d.text(
            key + "/name",
            x,
            y + 4.5,
            name,
            fill=fate.ink,
            size=12,
            bold=True,
            anchor="middle",
            same=name,
        )
        if order.fate == "dropped":
            ends = (x - 9, y + 9, x + 9, y - 9)
            d.line(key + "/gone", *ends, line="trouble", width=1.5)

    def _watermark(self, d: Drawing, rows: Sequence[Mapping[str, Any]]) -> None:
        """Draw the watermark as a stair: it is constant within a micro-batch, and moves
        between two.
        """
        stands = []
        for number, row in enumerate(rows):
            minute = row["watermark"]
            if minute is not None:
                stand = Stand(
                    batch=row["batch"],
                    y=_row_y(number),
                    x=self.axis.x(minute),
                    minute=minute,
                )
                stands.append(stand)
        for stand in stands:
            _stand(d, stand)
        for before, after in pairwise(stands):
            if before.minute != after.minute:
                d.level(
                    f"mark/{after.batch}/moved",
                    left=before.x,
                    right=after.x,
                    y=after.y,
                    line="ink",
                    width=3,
                )


def _row_y(number: int) -> int:
    """Where a micro-batch begins."""
    return ROWS + number * ROW


def _at(minute: float) -> str:
    return clock(round(minute))


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


def _names(d: Drawing) -> None:
    """Draw the names of the rows."""
    if not d.narrow:
        d.note("name/axis", 0, AXIS, "placed at", size=12)
    sink = "in sink" if d.narrow else "in the sink"
    d.text("name/state", 0, STATE + 19, "in state", bold=True)
    d.text("name/sink", 0, SINK + 19, sink, bold=True)
    d.note("name/watermark", d.width, SINK + 36, "watermark", anchor="end", size=12)


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
    written = [str(count) for count in window["written"]]
    shown = written[-MOST_WRITTEN:]
    if len(written) > MOST_WRITTEN:
        shown.insert(0, "…")
    room = box.w * LEAST_STRETCH
    lost = ""
    tip = f"{name}: written {' then '.join(written) or 'not yet'}"
    if window["lost"]:
        lost = f"{len(window['lost'])} lost"
        tip += f", {lost}"
        room -= 50
    d.cell(
        f"sink/{window['begin']}",
        *box,
        fit(" ".join(shown), room, 13, mono=True),
        lost,
        width=2 if lost else None,
        tip=tip,
        fill="good" if written else "none",
        line="trouble" if lost else "rule",
        ink="trouble" if lost else "ink",
    )


def _stand(d: Drawing, stand: Stand) -> None:
    key = f"mark/{stand.batch}"
    d.upright(
        key,
        x=stand.x,
        top=stand.y,
        bottom=stand.y + ROW,
        line="ink",
        width=3,
    )
    d.text(
        f"{key}/time",
        d.width,
        stand.y + 18,
        clock(stand.minute),
        mono=True,
        bold=True,
        size=12.5,
        anchor="end",
    )
