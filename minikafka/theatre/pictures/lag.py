"""Lag over time: what is written and what is committed as two lines, the gap between
them, and who reads.

Above, in the sum of all partitions, a rate is a slope. Below, the height is each
partition's lag as tools show it: log end offset less committed offset. The
darker part is what the reader has not been handed yet: log end offset less position. Hatched: nobody
reads the partition. Time is the story: it flows. Options: topic, group, partitions.
Without them: the topic most commits are about, and up to six partitions.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Box,
    Drawing,
    Look,
    actor_colour,
    actor_number,
    widest,
    wrap,
)
from minikafka.theatre.pictures.lag_partition import Field, PartitionLane, states
from minikafka.theatre.pictures.lag_story import LagStory, lasting
from minikafka.theatre.pictures.lag_sums import Rates, Told, bends, rates, sums
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import counted, dotted, key_part

# both charts, the lower one; a partition's lane
HEIGHT, LANES, TALLEST, LEAST = 244, 156, 100, 26
LINES = {
    "end": "log end offset",
    "committed": "committed offset",
    "start": "log start offset",
}
# of the time for a record: what a rate can be dragged to, slow to fast
FACTORS = (8, 4, 2, 1, 0.5, 0.25, 0.125)
UNHURRIED_MS = 80  # where a record took no time: the middle of that scale


class Unit(NamedTuple):
    """What rates are told in, and for how long a play."""

    name: str
    ms: int
    longest_ms: int


UNITS = (
    Unit("second", 1000, 600_000),
    Unit("minute", 60_000, 86_400_000),
    Unit("hour", 3_600_000, 10**15),
)


class Span(NamedTuple):
    """While somebody caught up, and how that is told."""

    begin: int
    end: int
    words: str


class LagPlay(Play):
    """Two charts over one axis of time, and who reads."""

    story = LagStory
    foot = (
        "Lag = log end offset − committed offset. It counts offsets, not time. Darker: what"
        " no reader has been handed yet."
    )
    whole_s = 16.0

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        lags = [partition["lags"][0] for partition in space["partitions"]]
        parts = [counted(len(lags), "partition")]
        for name, state in space["members"].items():
            if state:
                parts.append(f"{name} {state}")
        if space["lost"]:
            parts.append(f"{counted(space['lost'], 'record')} lost")
        parts.append(f"lag of all {sum(lags)}")
        return dotted(*parts)

    def summary(self, space: Space) -> str:
        said = []
        for partition in space["partitions"]:
            lag = partition["lags"][0]
            words = f"partition {partition['partition']}: lag {lag}"
            if partition["unread"]:
                words += ", nobody reads it"
            said.append(words)
        return "; ".join(said) or "nothing yet"

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.most = 1
        self.highest = 1
        for scene in scenes:
            self.highest = max(self.highest, sums(scene).end)
            for partition in scene["space"]["partitions"]:
                self.most = max(self.most, partition["lags"][0])
        self.whole_ms = self.time.last_ms - self.time.first_ms
        units = [unit for unit in UNITS if self.whole_ms <= unit.longest_ms]
        self.unit = units[0]

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        """From above to below: rates, the chart of all, each partition, the axis,
        levers.
        """
        d = drawing
        space = scenes[-1]["space"]
        now = scenes[-1]["at"]
        many = max(len(self.cast["partitions"]), 1)
        pitch = max(LEAST, LANES // many)
        pitch = min(pitch, TALLEST)
        chart = self._chart(d, now, many * pitch)
        d.note("name/records", chart.left - 6, 12, "records", "end", size=12)
        speed = rates(scenes, self.whole_ms)
        if speed:
            self._rates(d, speed, chart.left)
        chart.grid(d, "grid", 4, 0)
        added = [(scene["at"], sums(scene)) for scene in scenes]
        self._shades(d, scenes, added, chart)
        self._lines(d, added, chart)
        self._names(d, scenes[-1], chart)
        self._headings(d, chart)
        for number, span in enumerate(_spans(space, now, speed)):
            self._span(d, f"caught/{number}", span, chart)
        top = chart.bottom + 26
        for row, partition in enumerate(space["partitions"]):
            lane = self._lane(chart, top, top + pitch - 7)
            told = states(scenes, row, lane)
            drawn = PartitionLane(
                d, members=self.cast["members"], now=partition, field=lane
            )
            drawn.draw(told)
            top += pitch
        bottom = chart.bottom + 26 + many * pitch
        foot = bottom - 4
        chart.time.cursor(d, chart.top - 4, foot)
        chart.time.foot(d, foot)
        for number, name in enumerate(self.cast.get("live", ())):
            place = self._scale_at(d, number, bottom + 32)
            self._scale(d, name, space["processing_ms"][name], place)

    def _chart(self, d: Drawing, now: int, lanes: int) -> Field:
        """The upper part. lanes: what the lower one needs."""
        left = 92.0
        right = d.width - 186
        top = 24.0
        if d.narrow:
            right = d.width - 160
            top = 42.0
        bottom = top + max(HEIGHT - lanes, 90)
        time = self.time.axis(left, right, now)
        return Field(
            time=time,
            top=top,
            bottom=bottom,
            most=self.highest,
        )

    def _lane(self, chart: Field, top: float, bottom: float) -> Field:
        """A partition's, below the chart."""
        return Field(
            time=chart.time,
            top=top,
            bottom=bottom,
            most=self.most,
        )

    # -- the levers of a live run

    def _scale_at(self, d: Drawing, number: int, top: float) -> Box:
        """Where a member's scale is: one in a line, or two on a wide page."""
        if not number:
            words = f"records a {self.unit.name} that each can do"
            d.note("rate/unit", 0, top, words, size=12)
        columns = 1 if d.narrow else 2
        row, column = divmod(number, columns)
        return Box(
            x=column * d.width / 2,
            y=top + row * 42 + 16,
            w=d.width / columns - 20,
            h=0,
        )

    def _scale(self, d: Drawing, name: str, now_ms: int, place: Box) -> None:
        """How many records a member can do, on a scale along which it is dragged."""
        key = f"rate/{key_part(name)}"
        scale = d.part(key, place.x, place.y)
        scale.note("name", 0, 4, f"{name} does", size=12, room=76)
        began_ms = self.cast["live"][name] or UNHURRIED_MS
        notches = [max(round(began_ms * factor), 1) for factor in FACTORS]
        left = 92
        pitch = (place.w - 112) / (len(notches) - 1)
        begin = place.x + left
        end = begin + pitch * (len(notches) - 1)
        d.level(key, left=begin, right=end, y=place.y, line="rule", width=3)

        for number, ms in enumerate(notches):
            x = left + number * pitch
            rate = _number(self.unit.ms / ms)
            scale.circle(
                f"{ms}",
                x=x,
                y=0,
                r=4,
                fill="paper",
                line="quiet",
                same=f"{name}/{ms}",
                tip=f"{rate} a {self.unit.name}",
            )
            scale.note(f"{ms}/words", x, 20, rate, "middle", size=12, mono=True)

        # the fastest where a record takes no time
        wanted_ms = now_ms or notches[-1]
        far = [abs(ms - wanted_ms) for ms in notches]
        nearest = far.index(min(far))
        x = left + nearest * pitch
        number = actor_number(name, list(self.cast["live"]))
        colour = actor_colour(number)
        scale.circle(
            "grip",
            x=x,
            y=0,
            r=8,
            fill=colour,
            line="paper",
            act=f"rate {name}",
            onto=name,
            tip=f"drag how fast {name} works",
        )

    # -- the upper chart

    def _rates(self, d: Drawing, speed: Rates, left: float) -> None:
        """Slopes in words."""
        words = self._rates_in_words(speed)
        room = (d.width - left) * LEAST_STRETCH
        lines = [words]
        if d.narrow:
            lines = wrap(words, room, 14)
        y = 12
        for number, line in enumerate(lines):
            d.text(f"name/rates/{number}", left, y, line, size=13.5, bold=True)
            y += 18

    def _rates_in_words(self, speed: Rates) -> str:
        """How much is written, committed and lost, and what that does to the lag."""
        unit = self.unit.name
        written, done, lost = [rate * self.unit.ms for rate in speed]
        number = _number if _add_up(written, done) else _to_a_decimal
        words = f"{number(written)} written a {unit}"
        words += f", {number(done - lost)} committed"
        if lost:
            words += f", {number(lost)} lost"
        if not speed.stand_still:
            verb = "grows" if written > done else "falls"
            change = number(abs(written - done))
            return f"{words}: the lag {verb} by {change} a {unit}."
        if lost or not done:
            return f"{words}: the lag stands still."
        return f"{words}: {self.cast['group']} keeps up."

    def _shades(
        self, d: Drawing, scenes: Sequence[Scene], told: Sequence[Told], field: Field
    ) -> None:
        """Between the lines: who reads meanwhile."""
        for number, ((at, now), (until, then)) in enumerate(pairwise(told)):
            scene = scenes[number]
            left = field.x(at)
            right = field.x(until)
            top = field.y((now.end + then.end) / 2)
            bottom = field.y((now.done + then.done) / 2)
            width = right - left
            height = bottom - top
            if width <= 0 or height <= 0.5:
                continue
            key = f"lag/all/{number}"
            if now.unread:
                d.rect(key, left, top, width, height, fill="hatch", fade=0.5)
            else:
                fill = "chip" if scene["space"]["members"] else "wash"
                d.rect(key, left, top, width + 0.5, height, fill=fill)

    def _lines(self, d: Drawing, told: Sequence[Told], field: Field) -> None:
        """What is written and what is committed; and the log's start, once it moves."""
        _, now = told[-1]
        if now.start:
            starts = [(at, each.start) for at, each in told]
            ink = "trouble" if now.lost else "quiet"
            _line(d, "lines/start", starts, field, ink, width=1.5, dash="3 3")

        committed = [(at, each.committed) for at, each in told]
        _line(d, "lines/committed", committed, field, "ink", width=2)
        ends = [(at, each.end) for at, each in told]
        _line(d, "lines/end", ends, field, "ink", width=2)

    def _names(self, d: Drawing, scene: Scene, field: Field) -> None:
        """At the lines' ends: their names and values, and the lag between them."""
        now = sums(scene)
        d.upright(
            "name/gap",
            x=field.right + 7,
            top=field.y(now.end),
            bottom=field.y(now.done),
            line="ink",
            width=3,
        )
        places: dict[str, float] = {
            "end": now.end,
            "lag": now.end - now.lag / 2,
            "committed": now.committed,
        }
        if now.start > 0:
            places["start"] = now.start
        wanted = [field.y(value) for value in places.values()]
        ys = _apart(wanted, least=17, top=field.top + 2, bottom=field.bottom - 6)
        x = field.right + 16
        room = d.width - x

        for name, y in zip(places, ys, strict=True):
            if name == "lag":
                words = f"lag {now.lag:,}"
                d.text("name/lag", x, y + 5, words, bold=True, size=15, room=room)
                continue
            words = LINES[name]
            if d.narrow:
                words = words.removesuffix(" offset")
            value = f"{places[name]:,}"
            if name == "committed" and now.nothing:
                value = "none"
            d.note(f"name/{name}", x, y + 4, words, size=12, room=room - 44)
            d.number(f"name/{name}/value", d.width, y + 4, value, "ink", bold=False)

    # -- between the charts

    def _headings(self, d: Drawing, field: Field) -> None:
        """Of the numbers at the end of each partition's lane."""
        y = field.bottom + 18
        d.note("name/of", field.right + 16, y, "lag", bold=True)
        d.note("name/handed", d.width, y, "to hand over", "end")

    def _span(self, d: Drawing, key: str, span: Span, field: Field) -> None:
        """A bracket over its time, and words on it, or beside it where it is short."""
        y = field.bottom + 13
        left = field.x(span.begin)
        right = field.x(span.end)
        if right - left < 12:
            return
        bracket = d.part(key, 0, y)
        d.level(key, left=left, right=right, y=y, line="ink", width=2)
        bracket.upright("0", x=left, top=-5, bottom=5, line="ink", width=2)
        bracket.upright("1", x=right, top=-5, bottom=5, line="ink", width=2)
        half = widest(span.words, 13, bold=True) / 2 + 4
        middle = right + half + 4
        if right - left > 2 * half + 12:
            middle = (left + right) / 2
        if middle + half > field.right:
            middle = left - half - 4
        middle = max(middle, field.left + half)
        bracket.rect("paper", x=middle - half, y=-8, w=2 * half, h=16, fill="paper")
        look: Look = {"size": 13, "bold": True, "anchor": "middle"}
        bracket.text("words", middle, 5, span.words, **look)


def _line(
    d: Drawing,
    key: str,
    points: Sequence[tuple[int, int]],
    field: Field,
    ink: str,
    **look: Any,
) -> None:
    """A line through points, bend by bend."""
    for number, part in enumerate(bends(points)):
        d.line(
            f"{key}/{number}",
            x=field.x(part.at),
            y=field.y(part.value),
            x2=field.x(part.until),
            y2=field.y(part.then),
            line=ink,
            **look,
        )


def _spans(space: Space, now: int, speed: Rates | None) -> list[Span]:
    """How long it took until nothing waited any more, and whether that comes nearer
    now.
    """
    since = min([now + 1, *space["catching"]])
    spans = []
    for begin, end in space["caught_up"]:
        if end < since:
            words = f"caught up in {lasting(end - begin)}"
            spans.append(Span(begin, end, words))
    if space["catching"]:
        words = "catching up" if _comes_nearer(speed) else "behind"
        spans.append(Span(since, now, words))
    return spans


def _comes_nearer(speed: Rates | None) -> bool:
    """Whether less waits from moment to moment."""
    if speed is None:
        return True
    if speed.stand_still:
        return False
    return speed.done > speed.written


def _number(rate: float) -> str:
    """With a decimal only where that says more."""
    off = abs(rate - round(rate))
    is_nearly_whole = off < 0.06 * rate
    if rate >= 9.5 or rate < 0.05 or is_nearly_whole:
        return f"{rate:.0f}"
    return f"{rate:.1f}"


def _to_a_decimal(rate: float) -> str:
    return f"{rate:.1f}"


def _add_up(written: float, done: float) -> bool:
    """Whether the difference of the two, as they are told, is the difference told."""
    change = abs(written - done)
    told = abs(float(_number(written)) - float(_number(done)))
    return abs(told - change) <= 0.25 * change


def _apart(ys: Sequence[float], least: float, top: float, bottom: float) -> list[float]:
    """Near their places, in their order, but so far from each other that they can be
    read.
    """
    found: list[float] = []
    lowest = top
    for y in ys:
        found.append(max(y, lowest))
        lowest = found[-1] + least

    highest = bottom
    for number in reversed(range(len(found))):
        found[number] = min(found[number], highest)
        highest = found[number] - least
    return found
