"""Sinks: the fate of one partition's records outside Kafka. Above is the log, with what
Kafka knows about each group; below it the readers' processes, with the contents of
their memory; below these their sinks, with all rows that count.

A record is a small square with its number, and travels from the log into a hand and
from there into a sink. A kill empties a process, and nothing else. Below, on an axis to
scale: how long an order was in the sink and not committed, and which readers were away.
"""

from collections.abc import Sequence

from minikafka.theatre.drawing import Drawing
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.sink.cast import Row
from minikafka.theatre.pictures.sink.stage import Actors, Stage, total
from minikafka.theatre.pictures.sink.story import SinkStory
from minikafka.theatre.pictures.sink.time import enlarged, lanes
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import dotted, listed
from minikafka.theatre.time_lanes import TimeLanes


class SinkPlay(Play):
    story = SinkStory
    ms_a_second = 1000
    legend = (
        "A bar lasts from the moment at which an order counts in its sink until it is"
        " committed to Kafka."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        words = [f"{sink['name']}: {total(sink)}" for sink in space["sinks"]]
        for reader in space["readers"]:
            if reader["life"]:
                words.append(f"{reader['name']}: {reader['life']}")
        return dotted(self.cast["part"], *words)

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
        self.close = enlarged(scenes, self.time)
        self.in_time = TimeLanes(scenes, self.time, self.close)
        self.actors = Actors.of(self.cast["members"])

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        scene = scenes[-1]
        stage = Stage(
            drawing,
            self.cast,
            scene["space"],
            self.actors,
        )
        foot = stage.draw()
        rows = lanes(
            self.actors,
            scene,
            self.time,
            self.close,
        )
        self.in_time.draw(
            drawing,
            foot,
            rows,
            scene,
        )
