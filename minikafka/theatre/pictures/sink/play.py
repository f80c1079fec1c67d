"""Sinks: the fate of one partition's records outside Kafka. Above is the log, with what
Kafka knows about each group; below it the readers' processes, with the contents of
their memory; below these their sinks, with all rows that count.

A record is a small square with its number, and travels from the log into a hand and
from there into a sink. A kill empties a process, and nothing else. Below, on an axis to
scale: how long an order was in the sink and not committed, and which readers were away.
"""

from collections.abc import Sequence

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Stage, column
from minikafka.theatre.drawing import Drawing
from minikafka.theatre.lanes import captions_wide
from minikafka.theatre.pictures.sink.cast import Row
from minikafka.theatre.pictures.sink.stage import APART, Actors, SinkBoxes
from minikafka.theatre.pictures.sink.story import SinkStory
from minikafka.theatre.pictures.sink.time import enlarged, lanes
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import listed
from minikafka.theatre.time_lanes import TimeLane, TimeLanes

MOST_OF_CAPTIONS = 124  # width


class SinkPlay(Play):
    story = SinkStory
    ms_a_second = 1000
    legend = (
        "A bar lasts from the moment at which an order counts in its sink until it is"
        " committed to Kafka."
    )

    def scenario(self, scene: Scene) -> str:
        return ""  # sums and lives are in the picture

    def summary(self, space: Space) -> str:
        said = []
        for sink in space["sinks"]:
            there = [str(Row(*row).offset) for row in sink["rows"]]
            words = f"{sink['name']} has {', '.join(there) or 'nothing'}"
            if sink["sum"]:
                words += f" ({sink['sum']})"
            if sink["twice"]:
                words += f", twice: {listed(sink['twice'])}"
            said.append(words)
        for group, offset in space["committed"].items():
            said.append(f"Kafka has offset {offset} for {group}")
        return "; ".join(said) or "nothing yet"

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        close = enlarged(scenes, self.time)
        actors = Actors.of(self.cast["members"])
        names = [self.cast["part"], *actors.names]
        left = captions_wide(names, MOST_OF_CAPTIONS) + APART
        time = TimeLanes(scenes, self.time, close)

        def rows(up_to: Sequence[Scene]) -> list[TimeLane]:
            return lanes(actors, up_to[-1], self.time, close)

        boxes = SinkBoxes(self.cast, scenes, actors, left)
        self.boxes = Stage(column(boxes.whole(), time.box(scenes, rows, left), gap=6))

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])
