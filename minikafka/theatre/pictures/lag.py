"""Lag over time: what is written and what is committed as two lines, the gap between
them, and who reads.

Above, in the sum of all partitions, a rate is a slope. Below, the height is each
partition's lag as tools show it: log end offset less committed offset. Its dark foot is
what the reader has not been handed yet: log end offset less position. Hatched: nobody
reads the partition. Time is the story: it flows. Options: topic, group, partitions.
Without them: the topic most commits are about, and up to six partitions.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

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
from minikafka.theatre.lanes import Scene, draw_times, round_times
from minikafka.theatre.pictures.lag_partition import Field, PartitionLane, states
from minikafka.theatre.pictures.lag_story import LagStory, lasting
from minikafka.theatre.pictures.lag_sums import Rates, bends, rates, sums
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
        "Lag = log end offset − committed offset. It counts offsets, not time. Its dark"
        " foot is not handed over yet."
    )
    whole_s = 20.0

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        lags = [partition["lags"][0] for partition in space["partitions"]]
        members = [
            f"{name} {state}" for name, state in space["members"].items() if state
        ]
        lost = space["lost"]
        return dotted(
            counted(len(lags), "partition"),
            *members,
            f"{counted(lost, 'record')} lost" if lost else "",
            f"lag of all {sum(lags)}",
        )

    def summary(self, space: Space) -> str:
        said = []
        for partition in space["partitions"]:
            lag = partition["lags"][0]
            words = f"partition {partition['partition']}: lag {lag}"
            said.append(f"{words}, nobody reads it" if partition["unread"] else words)
        return "; ".join(said) or "nothing yet"

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.first: int = scenes[0]["at"] if scenes else 0
        end = scenes[-1]["at"] if scenes else 0
        self.last: int = max(end, self.first + 1)
        partitions = [each for scene in scenes for each in scene["space"]["partitions"]]
        self.most = max([1, *(each["lags"][0] for each in partitions)])
        self.highest = max([1, *(sums(scene).end for scene in scenes)])
        whole = self.last - self.first
        self.unit = next(unit for unit in UNITS if whole <= unit.longest_ms)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        """From above to below: rates, the chart of all, each partition, the axis,
        levers.
        """
        d = drawing
        space = scenes[-1]["space"]
        now = scenes[-1]["at"]
        many = max(len(self.cast["partitions"]), 1)
        pitch = min(TALLEST, max(LEAST, LANES // many))
        chart = self._chart(d, many * pitch)
        d.note("name/records", chart.left - 6, 12, "records", "end", size=12)
        speed = rates(scenes, self.last - self.first)
        if speed:
            self._rates(d, speed, chart.left)
        chart.grid(d, "grid", 4, 0)
        self._shades(d, scenes, chart)
        self._lines(d, scenes, chart)
        self._names(d, scenes[-1], chart)
        self._headings(d, chart)
        for number, span in enumerate(_spans(space, now, speed)):
            self._span(d, f"caught/{number}", span, chart)
        y = chart.bottom + 26
        for row, partition in enumerate(space["partitions"]):
            top = y + row * pitch
            lane = self._lane(chart, top, top + pitch - 7)
            told = states(scenes, row, lane)
            PartitionLane(d, self.cast["members"], partition, lane).draw(told)

        bottom = y + many * pitch
        self._axis(d, chart, now, bottom)
        for number, name in enumerate(self.cast.get("live", ())):
            place = self._scale_at(d, number, bottom + 30)
            self._scale(d, name, space["processing_ms"][name], place)

    def _chart(self, d: Drawing, lanes: int) -> Field:
        """The upper part. lanes: what the lower one needs."""
        left = 92.0
        right = d.width - (160 if d.narrow else 186)
        top = 42.0 if d.narrow else 24.0
        bottom = top + max(HEIGHT - lanes, 90)
        return Field(left, right, top, bottom, self.first, self.last, self.highest)

    def _lane(self, chart: Field, top: float, bottom: float) -> Field:
        """A partition's, below the chart."""
        left = chart.left
        right = chart.right
        return Field(left, right, top, bottom, self.first, self.last, self.most)

    def _axis(self, d: Drawing, chart: Field, now: int, bottom: float) -> None:
        """The time under both charts, and the cursor through them."""
        d.cursor(chart.x(now), chart.top - 4, bottom - 4)
        moments = round_times(self.first, self.last, now, 5 if d.narrow else 8)
        times = ((at, chart.x(at), words) for at, words in moments)
        draw_times(d, bottom + 12, times)

    # -- the levers of a live run

    def _scale_at(self, d: Drawing, number: int, top: float) -> Box:
        """Where a member's scale is: one in a line, or two on a wide page."""
        if not number:
            words = f"records a {self.unit.name} that each can do"
            d.note("rate/unit", 0, top, words, size=12)
        columns = 1 if d.narrow else 2
        row, column = divmod(number, columns)
        x = column * d.width / 2
        y = top + row * 42 + 16
        return Box(x, y, d.width / columns - 20, 0)

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
        d.level(key, begin, end, place.y, "rule", width=3)

        for number, ms in enumerate(notches):
            x = left + number * pitch
            rate = _number(self.unit.ms / ms)
            tip = f"{rate} a {self.unit.name}"
            same = f"{name}/{ms}"
            scale.circle(f"{ms}", x, 0, 4, "paper", "quiet", same=same, tip=tip)
            scale.note(f"{ms}/words", x, 20, rate, "middle", size=12, mono=True)

        # the fastest where a record takes no time
        far = [abs(ms - (now_ms or notches[-1])) for ms in notches]
        x = left + far.index(min(far)) * pitch
        number = actor_number(name, list(self.cast["live"]))
        colour = actor_colour(number)
        grip: Look = {
            "act": f"rate {name}",
            "onto": name,
            "tip": f"drag how fast {name} works",
        }
        scale.circle("grip", x, 0, 8, colour, "paper", **grip)

    # -- the upper chart

    def _rates(self, d: Drawing, speed: Rates, left: float) -> None:
        """Slopes in words."""
        words = self._rates_in_words(speed)
        room = (d.width - left) * LEAST_STRETCH
        lines = wrap(words, room, 14) if d.narrow else [words]
        for number, line in enumerate(lines):
            y = 12 + 18 * number
            d.text(f"name/rates/{number}", left, y, line, size=13.5, bold=True)

    def _rates_in_words(self, speed: Rates) -> str:
        """How much is written, committed and lost, and what that does to the lag."""
        unit = self.unit.name
        written, done, lost = (rate * self.unit.ms for rate in speed)
        words = f"{_number(written)} written a {unit}, {_number(done - lost)} committed"
        if lost:
            words += f", {_number(lost)} lost"
        if not speed.stand_still:
            verb = "grows" if written > done else "falls"
            change = _number(abs(written - done))
            return f"{words}: the lag {verb} by {change} a {unit}."
        if lost or not done:
            return f"{words}: the lag stands still."
        return f"{words}: {self.cast['group']} keeps up."

    def _shades(self, d: Drawing, scenes: Sequence[Scene], field: Field) -> None:
        """Between the lines: who reads meanwhile."""
        told = [sums(scene) for scene in scenes]
        for number in range(len(scenes) - 1):
            scene = scenes[number]
            now = told[number]
            then = told[number + 1]
            x = field.x(scene["at"])
            x2 = field.x(scenes[number + 1]["at"])
            top = field.y((now.end + then.end) / 2)
            gap = field.y((now.done + then.done) / 2) - top
            if x2 <= x or gap <= 0.5:
                continue
            key = f"lag/all/{number}"
            width = x2 - x
            if now.unread:
                d.rect(key, x, top, width, gap, "hatch", fade=0.5)
            else:
                fill = "chip" if scene["space"]["members"] else "wash"
                d.rect(key, x, top, width + 0.5, gap, fill)

    def _lines(self, d: Drawing, scenes: Sequence[Scene], field: Field) -> None:
        """What is written and what is committed; and the log's start, once it moves."""
        told = [(scene["at"], sums(scene)) for scene in scenes]
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
        top = field.y(now.end)
        bottom = field.y(now.done)
        d.upright("name/gap", field.right + 7, top, bottom, "ink", width=3)
        places: dict[str, float] = {
            "end": now.end,
            "lag": now.end - now.lag / 2,
            "committed": now.committed,
        }
        if now.start > 0:
            places["start"] = now.start
        wanted = [field.y(value) for value in places.values()]
        ys = _apart(wanted, 17, field.top + 2, field.bottom - 6)
        x = field.right + 16
        room = d.width - x

        for name, y in zip(places, ys, strict=True):
            if name == "lag":
                words = f"lag {now.lag:,}"
                d.text("name/lag", x, y + 5, words, bold=True, size=15, room=room)
                continue
            words = LINES[name].removesuffix(" offset") if d.narrow else LINES[name]
            is_nothing = name == "committed" and now.nothing
            value = "none" if is_nothing else f"{places[name]:,}"
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
        d.level(key, left, right, y, "ink", width=2)
        bracket.upright("0", left, -5, 5, "ink", width=2)
        bracket.upright("1", right, -5, 5, "ink", width=2)
        half = widest(span.words, 13, bold=True) / 2 + 4
        is_wide = right - left > 2 * half + 12
        middle = (left + right) / 2 if is_wide else right + half + 4
        if middle + half > field.right:
            middle = left - half - 4
        middle = max(middle, field.left + half)
        bracket.rect("paper", middle - half, -8, 2 * half, 16, "paper")
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
        begin = field.x(part.at), field.y(part.value)
        end = field.x(part.until), field.y(part.then)
        d.line(f"{key}/{number}", *begin, *end, ink, **look)


def _spans(space: Space, now: int, speed: Rates | None) -> list[Span]:
    """How long it took until nothing waited any more, and whether that comes nearer
    now.
    """
    since = min([now + 1, *space["catching"]])
    spans = [
        Span(begin, end, f"caught up in {lasting(end - begin)}")
        for begin, end in space["caught_up"]
        if end < since
    ]
    if space["catching"]:
        words = "catching up" if _comes_nearer(speed) else "behind"
        spans.append(Span(since, now, words))
    return spans


def _comes_nearer(speed: Rates | None) -> bool:
    """Whether less waits from moment to moment."""
    if speed is None:
        return True
    return speed.done > speed.written and not speed.stand_still


def _number(rate: float) -> str:
    """With a decimal only where that says more."""
    is_nearly_whole = abs(rate - round(rate)) < 0.06 * rate
    is_whole = rate >= 9.5 or rate < 0.05 or is_nearly_whole
    return f"{rate:.0f}" if is_whole else f"{rate:.1f}"


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
