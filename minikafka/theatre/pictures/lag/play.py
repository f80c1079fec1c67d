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

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Places, Stage, column, part
from minikafka.theatre.drawing import Drawing
from minikafka.theatre.pictures.lag.chart import Chart, Span
from minikafka.theatre.pictures.lag.partition import partition_box
from minikafka.theatre.pictures.lag.pile import Pile
from minikafka.theatre.pictures.lag.run import Past, Run
from minikafka.theatre.pictures.lag.scales import scales_box
from minikafka.theatre.pictures.lag.story import LagStory
from minikafka.theatre.pictures.lag.sums import Rates, rates
from minikafka.theatre.pictures.lag.words import Unit, rates_in_words, rows, spans
from minikafka.theatre.play import Play, Space
from minikafka.theatre.ruler import Ruler
from minikafka.theatre.text import capital, counted, dotted

# of all partitions; of the lane of one, the lowest and the tallest; of the only one,
# without a chart above; of the air below it
LANES, LEAST, TALLEST, ALONE, AIR = 156, 26, 100, 236, 7  # heights
FOOT = 24  # of the axis's words


class LagPlay(Play):
    """Two charts over one axis of time, and the readers."""

    story = LagStory
    legend = "Pale: not handed to the reader yet. Hatched: nobody reads."
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
        parts.append(f"total lag {sum(lags):,}")
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
        self.run = run = Run(self.cast, scenes, self.time)
        self.unit = Unit.of(run.whole_ms)
        pitch, top = min(max(LEAST, LANES // run.many), TALLEST), "chart"
        if run.is_flat:
            pitch, top = ALONE, "brackets"
        chart = Chart(run, self._told, self._spans, rows(scenes), pitch)
        lanes = [partition_box(run, row, pitch - AIR) for row in range(run.many)]

        def cursor(d: Drawing, places: Places, scene: Scene) -> None:
            axis = run.field(places, top, 1, scene["at"]).time
            axis.cursor(d, places[top].y - 4, places["foot"].y + 3)
            chart.draw_brackets(d, places, scene)
            axis.foot(d, places["foot"].y + 3)
            pile = Pile.beside(places["lane 0 numbers"], pitch - AIR, run.most)
            pile.legend(d, places["foot"].bottom - 3)

        self.boxes = Stage(
            column(
                chart.item(),
                column(*lanes, gap=AIR),
                part("foot", cursor, high=FOOT),
                scales_box(self.cast.get("live", {}), self.unit),
            )
        )

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        """From above to below: rates, the chart of all, each partition, the axis,
        levers.
        """
        self.boxes.draw(drawing, scenes[-1])

    def ruler(self, drawing: Drawing, scene: Scene, on: str) -> Ruler | None:
        """The ruler of the time axis, which runs through both charts."""
        places = self.boxes.places(drawing.width)
        x, _, wide, _ = places["brackets"]
        top, foot = places["headline"].bottom, places["foot"].y + 3
        return Ruler.of_time(x, x + wide, self.time, edge=foot, reach=top)

    def _told(self, past: Past) -> str:
        """The slopes in words, or that the lag won't clear, or that nothing is left to
        do.
        """
        space = past.scene["space"]
        if "again" in space:
            records, times = space["again"]
            return f"The same {records} records handed over {times} times, 0 committed."
        lag = past.told[-1].sums.lag
        speed = self._speed(past)
        if speed is not None:
            return self.rates_in_words(speed, lag)
        if space["caught_up"] and not lag:
            return f"{capital(self.cast['group'])} has caught up: the lag is 0."
        return ""

    def _spans(self, past: Past) -> list[Span]:
        return spans(past.scene["space"], past.scene["at"], self._speed(past))

    def _speed(self, past: Past) -> Rates | None:
        return rates(past.moments, past.told, self.run.whole_ms)

    def rates_in_words(self, speed: Rates, lag: int) -> str:
        return rates_in_words(speed, self.unit, self.cast["group"], lag)
