"""Lag over time: what is written and what is committed as two lines, the gap between
them, and who reads.

Above, in the sum of all partitions, a rate is a slope. Below, the height is each
partition's lag as tools show it: log end offset less committed offset. The
darker part is what the reader has not been handed yet: log end offset less position. Hatched: nobody
reads the partition. Time is the story: it flows. Options: topic, group, partitions.
Without them: the topic most commits are about, and up to six partitions.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from minikafka.theatre.axis import Scene
from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Box,
    Drawing,
    Part,
    actor_colour,
    actor_number,
    wrap,
)
from minikafka.theatre.pictures.lag_chart import Chart, Span
from minikafka.theatre.pictures.lag_partition import Field, PartitionLane, states
from minikafka.theatre.pictures.lag_spells import lasting, moments
from minikafka.theatre.pictures.lag_story import LagStory
from minikafka.theatre.pictures.lag_sums import Rates, added_up, rates
from minikafka.theatre.play import Play, Space
from minikafka.theatre.ruler import Ruler
from minikafka.theatre.text import counted, dotted, key_part

# both charts, the lower one; a partition's lane
HEIGHT, LANES, TALLEST, LEAST = 244, 156, 100, 26
# of the time for a record: what a rate can be dragged to, slow to fast
FACTORS = (8, 4, 2, 1, 0.5, 0.25, 0.125)
UNHURRIED_MS = 80  # where a record took no time: the middle of that scale
# from the chart to the partitions; a line of brackets, and the most of them
BETWEEN, ROW, MOST_ROWS = 26, 18, 4


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
        self.told = added_up(moments(scenes))
        self.highest = max([1, *(now.end for _, now in self.told)])
        self.most = 1
        for scene in scenes:
            for partition in scene["space"]["partitions"]:
                self.most = max(self.most, partition["lags"][0])
        self.whole_ms = self.time.last_ms - self.time.first_ms
        units = [unit for unit in UNITS if self.whole_ms <= unit.longest_ms]
        self.unit = units[0]
        self.many = max(len(self.cast["partitions"]), 1)
        # two lines of offsets would be one: the lag has a chart of its own
        highest_lag = max([1, *(now.lag for _, now in self.told)])
        self.of_lag = self.many > 1 and 4 * highest_lag < self.highest
        if self.of_lag:
            self.highest = highest_lag
        self.rows = max([1, *(_rows(scene["space"]) for scene in scenes)])
        self.pitch = min(max(LEAST, LANES // self.many), TALLEST)

    def _between(self, d: Drawing) -> int:
        """From the chart of all to the first partition."""
        rows = self.rows
        if rows > 1 and d.narrow:
            rows += 1  # for the headings
        return BETWEEN + ROW * (rows - 1)

    @property
    def _lanes_height(self) -> int:
        """Of all partitions' lanes."""
        return self.many * self.pitch

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        """From above to below: rates, the chart of all, each partition, the axis,
        levers.
        """
        d = drawing
        scene = scenes[-1]
        space = scene["space"]
        pitch = self.pitch
        lanes = self._lanes_height
        chart = self._chart(d, scene["at"], lanes)
        d.note("name/records", chart.left - 6, 12, "records", "end", size=12)
        past = moments(scenes)
        told = self.told[: len(past)]
        speed = rates(past, told, self.whole_ms)
        if speed:
            self._rates(d, speed, chart.left)
        chart.grid(d, "grid", 4, 0)
        upper = Chart(d, chart, self.of_lag, self.rows)
        upper.draw(past, told)
        self._lanes(d, past, chart, pitch)
        bottom = chart.bottom + self._between(d) + lanes
        foot = bottom - 4
        chart.time.cursor(d, chart.top - 4, foot)
        upper.brackets(_spans(space, scene["at"], speed))
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
            top = 60.0 if d.phone else 42.0
        bottom = top + max(HEIGHT - lanes, 90)
        time = self.time.axis(left, right, now)
        return Field(
            time=time,
            top=top,
            bottom=bottom,
            most=self.highest,
        )

    def _lanes(
        self, d: Drawing, scenes: Sequence[Scene], chart: Field, pitch: int
    ) -> None:
        """The partitions, below the chart. pitch: from one to the next."""
        top = chart.bottom + self._between(d)
        space = scenes[-1]["space"]
        for row, partition in enumerate(space["partitions"]):
            bottom = top + pitch - 7
            field = replace(chart, top=top, bottom=bottom, most=self.most)
            lane = PartitionLane(
                d,
                members=self.cast["members"],
                now=partition,
                field=field,
                is_slow=space["members"].get(partition["owner"]) == "slow",
                whole_ms=self.whole_ms,
            )
            lane.draw(states(scenes, row, field))
            top += pitch

    def ruler(self, drawing: Drawing, scene: Scene, on: str) -> Ruler | None:
        """Through both charts."""
        field = self._chart(drawing, scene["at"], self._lanes_height)
        edge = field.bottom + self._between(drawing) + self._lanes_height - 4
        return Ruler.of_time(
            field.left, field.right, self.time, edge=edge, reach=field.top
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
            self._notch(scale, name, ms, x=left + number * pitch)
        nearest = _nearest(notches, now_ms)
        self._grip(scale, name, x=left + nearest * pitch)

    def _notch(self, scale: Part, name: str, ms: int, x: float) -> None:
        """A rate that the member can be dragged to."""
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

    def _grip(self, scale: Part, name: str, x: float) -> None:
        """What is dragged."""
        number = actor_number(name, list(self.cast["live"]))
        scale.circle(
            "grip",
            x=x,
            y=0,
            r=8,
            fill=actor_colour(number),
            line="paper",
            act=f"rate {name}",
            onto=name,
            tip=f"drag how fast {name} works",
        )

    # -- above the upper chart

    def _rates(self, d: Drawing, speed: Rates, left: float) -> None:
        """Slopes in words."""
        words = self._rates_in_words(speed)
        room = (d.width - left) * LEAST_STRETCH
        lines = [words]
        if d.narrow:
            lines = wrap(words, room, 15, bold=True)
        y = 12
        for number, line in enumerate(lines):
            key = f"name/rates/{number}"
            d.text(key, left, y, line, size=13.5, bold=True)
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
    for spell in space.get("spells", ()):
        spans.append(_spell(spell, now))
    return sorted(spans)[-MOST_ROWS:]


def _spell(spell: Space, now: int) -> Span:
    """How long somebody was slow or away, and what the lag did meanwhile."""
    end = now if spell["end"] is None else spell["end"]
    what = f"{spell['who']} {spell['state']} {lasting(end - spell['begin'])}"
    return Span(
        spell["begin"], end, f"{what}: lag {spell['before']} → {spell['after']}"
    )


def _rows(space: Space) -> int:
    """Lines of brackets: one for all, unless spells are compared."""
    spells = len(space.get("spells", ()))
    if not spells:
        return 1
    caught_up = len(space["caught_up"]) + bool(space["catching"])
    return min(spells + caught_up, MOST_ROWS)


def _nearest(notches: Sequence[int], ms: int) -> int:
    """The place of the notch for so many ms a record. Where a record takes no time, that
    is the fastest.
    """
    wanted_ms = ms or notches[-1]
    far = [abs(notch_ms - wanted_ms) for notch_ms in notches]
    return far.index(min(far))


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
