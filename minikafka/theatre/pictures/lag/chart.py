"""The upper part of the lag's picture: written and committed records, summed over all
partitions, as two lines, and the readers in the gap between them; over it the slopes
in words, and below it brackets over stretches of time.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, column, part, row
from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Box,
    Drawing,
    Look,
    fitting,
    has_room,
    widest,
    wrap,
)
from minikafka.theatre.pictures.lag.run import BESIDE, Field, Past, Run, band
from minikafka.theatre.pictures.lag.sums import Sums, Told, Value, apart, bends, sums

LINES = {
    "end": ["log end offset", "log end", "end"],
    "committed": ["committed offset", "committed"],
    "start": ["log start offset", "log start", "start"],
}
LEAST, HEIGHT = 90, 244  # of the chart; with that of all partitions
ABOVE = 6  # the upper line
LINE = 18  # of the headline, and from a bracket to its words
ROW, FOOT = 28, 6  # of brackets, and under the last


class Span(NamedTuple):
    """While somebody caught up, and how that is told: words, or short where they have no
    room. over: until when it went on though it was due at its end.
    """

    begin: int
    end: int
    words: str
    short: str = ""
    over: int = 0


class Chart:
    """says: the headline of a scene. spans: its brackets. rows: of these. pitch: of the
    partitions below.
    """

    def __init__(
        self,
        run: Run,
        says: Callable[[Past], str],
        spans: Callable[[Past], Sequence[Span]],
        rows: int,
        pitch: float,
    ) -> None:
        self.run = run
        self.says = says
        self.spans = spans
        self.rows = rows
        self.high = max(HEIGHT - pitch * run.many, LEAST)

    def item(self) -> Item:
        high = ROW * self.rows + FOOT
        items = [band("brackets", high, _nothing, _nothing, self._headings)]
        if not self.run.is_flat:
            chart = band("chart", self.high, _nothing, self._draw, self._names)
            items.insert(0, chart)
        return column(self._headline(), *items)

    def draw_brackets(self, d: Drawing, places: Places, scene: Scene) -> None:
        """Below the chart; over the cursor, which would strike their words through."""
        field = self.run.field(places, "brackets", 1, scene["at"])
        y, free = field.top + 8, 0.0
        for number, span in enumerate(self.spans(self.run.past(scene))):
            free = _span(d, f"caught/{number}", field, span, y, free)
            if self.rows > 1:
                y, free = y + ROW, 0

    def _field(self, places: Places, scene: Scene) -> Field:
        return self.run.field(places, "chart", self.run.highest, scene["at"])

    def _headline(self) -> Item:
        """In as many lines as it takes at any step."""
        said = {self.says(self.run.past(scene)) for scene in self.run.scenes}

        def lines(words: str, width: float) -> Sequence[str]:
            return wrap(words, width * LEAST_STRETCH, 14.5, bold=True) if words else ()

        def draw(d: Drawing, places: Places, scene: Scene) -> None:
            x, y, wide, _ = places["headline"]
            words = self.says(self.run.past(scene))
            for number, line in enumerate(lines(words, wide)):
                look: Look = {"size": 13.5, "bold": True}
                d.text(f"name/rates/{number}", x, y + 13 + LINE * number, line, **look)

        def unit(d: Drawing, places: Places, scene: Scene) -> None:
            x, y, wide, _ = places["unit"]
            d.note("name/records", x + wide - 6, y + 13, "records", "end", size=12)

        def high(width: float) -> float:
            return (
                LINE * max(len(lines(words, width)) for words in [*said, " "]) + ABOVE
            )

        words = part("headline", draw, high=high, least=260, wanted=854, grow=1)
        return row(
            part("unit", unit, high=LINE, least=72, wanted=92),
            words,
            breaks=False,
            lower=0,
        )

    # -- the lines, and what is between them

    def _draw(self, d: Drawing, places: Places, scene: Scene) -> None:
        field = self._field(places, scene)
        field.grid(d, "grid", most=4, least=0)
        past = self.run.past(scene)
        for number, (now, then) in enumerate(pairwise(past.told)):
            has_members = bool(past.moments[number]["space"]["members"])
            self._shade(d, f"lag/all/{number}", field, now, then, has_members)
        if self.run.of_lag:
            lags = [Value(at, each.lag) for at, each in past.told]
            _line(d, "lines/lag", field, lags)
            return
        latest = past.told[-1].sums
        if latest.start:  # it has moved
            starts = [Value(at, each.start) for at, each in past.told]
            look: Look = {"line": "trouble" if latest.lost else "quiet"}
            _line(d, "lines/start", field, starts, width=1.5, dash="3 3", **look)
        committed = [Value(at, each.committed) for at, each in past.told]
        _line(d, "lines/committed", field, committed)
        _line(d, "lines/end", field, [Value(at, each.end) for at, each in past.told])

    def _shade(
        self,
        d: Drawing,
        key: str,
        field: Field,
        now: Told,
        then: Told,
        has_members: bool,
    ) -> None:
        """Shade the time for which the group had these readers."""
        before, after = now.sums, then.sums
        high, low = (before.end + after.end) / 2, (before.done + after.done) / 2
        if self.run.of_lag:
            high, low = high - low, 0
        left, top = field.x(now.at), field.y(high)
        box = Box(left, top, field.x(then.at) - left, field.y(low) - top)
        if box.w <= 0 or box.h <= 0.5:
            return
        if before.unread:
            d.rect(key, *box, fill="hatch", fade=0.5)
            return
        fill = "chip" if has_members else "wash"
        d.rect(key, *box._replace(w=box.w + 0.5), fill=fill)

    # -- at the lines' ends

    def _names(self, d: Drawing, places: Places, scene: Scene) -> None:
        """Their names and values, and the lag between them."""
        now = sums(scene)
        field = self._field(places, scene)
        high, low = (now.lag, 0) if self.run.of_lag else (now.end, now.done)
        gap: Look = {"line": "ink", "width": 3}
        top, bottom = field.y(high), field.y(low)
        d.upright("name/gap", field.right + 7, top, bottom, **gap)
        x = field.right + BESIDE
        for name, y in self._heights(now, field).items():
            if name == "lag":
                look: Look = {"bold": True, "size": 15, "room": d.width - x}
                d.text("name/lag", x, y + 5, f"lag {now.lag:,}", **look)
                continue
            value = f"{getattr(now, name):,}"
            if name == "committed" and now.nothing:
                value = "none"
            room = d.width - x - widest(value, 12.5, mono=True) - 6
            words = fitting(LINES[name], room) or LINES[name][-1]
            d.note(f"name/{name}", x, y + 4, words, size=12, room=room)
            d.number(f"name/{name}/value", d.width, y + 4, value, "ink", bold=False)

    def _heights(self, now: Sums, field: Field) -> Mapping[str, float]:
        """Where each name is: near its line's end, and readable."""
        values: dict[str, float] = {
            "end": now.end,
            "lag": now.end - now.lag / 2,
            "committed": now.committed,
        }
        if self.run.of_lag:
            values = dict.fromkeys(values, now.lag)
        elif now.start > 0:
            values["start"] = now.start
        wanted = [field.y(value) for value in values.values()]
        top, bottom = field.top + 2, field.bottom - 6
        heights = apart(wanted, least=17, top=top, bottom=bottom)
        return dict(zip(values, heights, strict=True))

    def _headings(self, d: Drawing, places: Places, scene: Scene) -> None:
        """Above the ends of the partitions' lanes."""
        place = places["brackets numbers"]
        d.note("name/of", place.x + BESIDE, place.bottom - 8, "lag", bold=True)


def _line(
    d: Drawing,
    key: str,
    field: Field,
    values: Sequence[Value],
    line: str = "ink",
    width: float = 2,
    dash: str | None = None,
) -> None:
    """A line through values, bend by bend."""
    for number, each in enumerate(bends(values)):
        begin = field.x(each.at), field.y(each.value)
        end = field.x(each.until), field.y(each.then)
        d.line(f"{key}/{number}", *begin, *end, line, width=width, dash=dash)


def _span(
    d: Drawing, key: str, field: Field, span: Span, y: float, free: float
) -> float:
    """A bracket over its time, and its words under its middle, unless they touch those
    before, which leave what is right of `free`. Returns that for the next one.
    """
    left, right = field.x(span.begin), field.x(span.end)
    if right - left < 12:
        return free
    bracket = d.part(key, 0, y)
    look: Look = {"line": "ink", "width": 2}
    d.level(key, left, right, y, **look)
    for number, x in enumerate((left, right)):
        bracket.upright(str(number), x, top=-5, bottom=5, **look)
    if span.over:
        d.level(f"{key}/over", right + 1, field.x(span.over), y, "trouble", width=7)
    room = field.right + BESIDE - 6 - left
    words = span.words
    if span.short and not has_room(words, room, 13, bold=True):
        words = span.short
    half = widest(words, 13, bold=True) / 2
    middle = min(max((left + right) / 2, field.left + half), d.width - half)
    if middle - half < free or not words:
        return free
    look = {"size": 13, "bold": True, "anchor": "middle", "halo": "paper"}
    bracket.text("words", middle, LINE, words, **look)
    return middle + half + 6


def _nothing(d: Drawing, places: Places, scene: Scene) -> None:
    """Where a band has no words."""
