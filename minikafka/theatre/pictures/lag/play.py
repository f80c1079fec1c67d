"""Lag over time: written and committed records as two lines, the gap between them, and
the readers.

Above, in the sum of all partitions, a rate is a slope. Below, the height is each
partition's lag as tools show it: log end offset less committed offset. The pale part
has not been handed to the reader yet: log end offset less position. Hatched: nobody
reads the partition. At the end of each lane its lag is a pile of squares, before its
reader or behind a hatch. Time is the story: it flows. Options: topic, group,
partitions. Without them: the topic most commits are about, and up to six partitions.
"""

from collections.abc import Sequence
from dataclasses import replace

from minikafka.theatre.axis import Scene
from minikafka.theatre.drawing import LEAST_STRETCH, Box, Drawing, widest, wrap
from minikafka.theatre.pictures.lag.chart import ROW, Chart
from minikafka.theatre.pictures.lag.partition import (
    BESIDE,
    Field,
    PartitionLane,
    states,
)
from minikafka.theatre.pictures.lag.pile import Pile
from minikafka.theatre.pictures.lag.scales import Scales
from minikafka.theatre.pictures.lag.spells import moments
from minikafka.theatre.pictures.lag.story import LagStory
from minikafka.theatre.pictures.lag.sums import Rates, added_up, rates
from minikafka.theatre.pictures.lag.words import Unit, rates_in_words, rows, spans
from minikafka.theatre.play import Play, Space
from minikafka.theatre.ruler import Ruler
from minikafka.theatre.text import capital, counted, dotted

# heights: of both charts; of the upper one at least, of the lower one; of a
# partition's lane with the air below it, the lowest and the tallest; of that air
HEIGHT, LEAST_CHART, LANES = 244, 90, 156
LEAST, TALLEST, AIR = 26, 100, 7
LEFT = 92.0  # where the axis begins
# from the end of the axis to the page's: names, lags and piles
MARGIN, MARGIN_NARROW, MARGIN_PHONE = 254, 208, 180
# above the charts, for one line of rates, two or three
TOP, TOP_NARROW, TOP_PHONE = 24.0, 42.0, 60.0
BETWEEN = 26  # from the chart to the partitions
LONGEST = "2,000"  # a lag beside which a pile has its place


class LagPlay(Play):
    """Two charts over one axis of time, and the readers."""

    story = LagStory
    legend = "Pale: records that the reader hasn't been handed yet."
    rule = "Lag = log end offset − committed offset. It counts offsets, not time."
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
        parts.append(f"total lag {sum(lags)}")
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

    # -- room

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.told = added_up(moments(scenes))
        self.highest = 1
        highest_lag = 1
        for _, now in self.told:
            self.highest = max(self.highest, now.end)
            highest_lag = max(highest_lag, now.lag)
        self.most = 1
        for scene in scenes:
            for partition in scene["space"]["partitions"]:
                lag, _ = partition["lags"]
                self.most = max(self.most, lag)
        self.whole_ms = self.time.last_ms - self.time.first_ms
        self.unit = Unit.of(self.whole_ms)
        self.many = max(len(self.cast["partitions"]), 1)
        # two lines of offsets would be one: the lag has a chart of its own
        self.of_lag = self.many > 1 and 4 * highest_lag < self.highest
        if self.of_lag:
            self.highest = highest_lag
        self.rows = rows(scenes)
        pitch = max(LEAST, LANES // self.many)
        self.pitch = min(pitch, TALLEST)

    def _between(self, d: Drawing) -> int:
        """From the chart of all to the first partition."""
        rows = self.rows
        if rows > 1 and d.narrow:
            rows += 1  # for the headings
        return BETWEEN + ROW * (rows - 1)

    @property
    def _lanes_height(self) -> int:
        """The height of all partitions' lanes."""
        return self.many * self.pitch

    def _chart(self, d: Drawing, now: int) -> Field:
        """The place of the upper part."""
        margin = MARGIN
        top = TOP
        if d.phone:
            margin = MARGIN_PHONE
            top = TOP_PHONE
        elif d.narrow:
            margin = MARGIN_NARROW
            top = TOP_NARROW
        height = max(HEIGHT - self._lanes_height, LEAST_CHART)
        return Field(
            time=self.time.axis(LEFT, d.width - margin, now),
            top=top,
            bottom=top + height,
            most=self.highest,
        )

    def _pile(self, d: Drawing, field: Field) -> Pile:
        """The pile of a partition's lane, right of its lag as a number."""
        number = widest(LONGEST, 14, mono=True, bold=True)
        left = field.right + BESIDE + number + 6
        box = Box(
            x=left,
            y=field.top,
            w=d.width - left,
            h=self.pitch - AIR,
        )
        return Pile(box, self.most)

    def ruler(self, drawing: Drawing, scene: Scene, on: str) -> Ruler | None:
        """The ruler of the time axis, which runs through both charts."""
        field = self._chart(drawing, scene["at"])
        foot = field.bottom + self._between(drawing) + self._lanes_height
        return Ruler.of_time(
            field.left,
            field.right,
            self.time,
            edge=foot - 4,
            reach=field.top,
        )

    # -- draw

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        """From above to below: rates, the chart of all, each partition, the axis,
        levers.
        """
        d = drawing
        scene = scenes[-1]
        space = scene["space"]
        now = scene["at"]
        field = self._chart(d, now)
        past = moments(scenes)
        told = self.told[: len(past)]
        speed = rates(past, told, self.whole_ms)

        d.note("name/records", field.left - 6, 12, "records", "end", size=12)
        self._headline(d, self._told(speed, space, told[-1].sums.lag), field.left)
        field.grid(d, "grid", most=4, least=0)
        upper = Chart(
            d,
            field,
            of_lag=self.of_lag,
            rows=self.rows,
            pile=self._pile(d, field),
        )
        upper.draw(past, told)
        self._lanes(d, past, field)
        bottom = field.bottom + self._between(d) + self._lanes_height
        field.time.cursor(d, field.top - 4, bottom - 4)
        upper.brackets(spans(space, now, speed))
        field.time.foot(d, bottom - 4)
        scales = Scales(d, self.cast.get("live", {}), self.unit)
        scales.draw(bottom + 32, space.get("processing_ms", {}))

    def _lanes(self, d: Drawing, scenes: Sequence[Scene], chart: Field) -> None:
        """The partitions, below the chart."""
        space = scenes[-1]["space"]
        top = chart.bottom + self._between(d)
        for row, partition in enumerate(space["partitions"]):
            field = replace(
                chart,
                top=top,
                bottom=top + self.pitch - AIR,
                most=self.most,
            )
            lane = PartitionLane(
                d,
                members=self.cast["members"],
                now=partition,
                field=field,
                is_slow=space["members"].get(partition["owner"]) == "slow",
                whole_ms=self.whole_ms,
                pile=self._pile(d, field),
            )
            lane.draw(states(scenes, row, field))
            top += self.pitch

    def _told(self, speed: Rates | None, space: Space, lag: int) -> str:
        """The slopes in words, or that the lag won't clear, or that nothing is left to
        do.
        """
        if "again" in space:
            records, times = space["again"]
            return f"The same {records} records handed over {times} times, 0 committed."
        if speed is not None:
            return self.rates_in_words(speed, lag)
        if space["caught_up"] and not lag:
            return f"{capital(self.cast['group'])} has caught up: the lag is 0."
        return ""

    def _headline(self, d: Drawing, words: str, left: float) -> None:
        """Draw the headline above the chart."""
        room = (d.width - left) * LEAST_STRETCH
        lines = [words] if words else []
        if d.narrow:
            lines = wrap(words, room, 15, bold=True)
        y = 12
        for number, line in enumerate(lines):
            d.text(
                f"name/rates/{number}",
                left,
                y,
                line,
                size=13.5,
                bold=True,
            )
            y += 18

    def rates_in_words(self, speed: Rates, lag: int) -> str:
        return rates_in_words(speed, self.unit, self.cast["group"], lag)
