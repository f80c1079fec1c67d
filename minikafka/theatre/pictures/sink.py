"""Sinks: what becomes of one partition's records outside of Kafka. Above the log, with
what Kafka knows of each group; below it the readers' processes, with what they have in
memory; below these their sinks, with all that counts there.

A record is a small square with its number, and travels from the log into a hand and
from there into a sink. A kill empties a process, and nothing else. Below, on an axis to
scale: how long an order was in the sink and not committed, and who was away.
"""

from collections.abc import Sequence

from minikafka.theatre.axis import Span
from minikafka.theatre.drawing import Drawing, actor_colour, ink_on_actor
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.sink_cast import AGAIN, DONE, KNOWN, Away, Lasted, Row
from minikafka.theatre.pictures.sink_stage import Actors, Stage, total
from minikafka.theatre.pictures.sink_story import SinkStory
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import dotted, listed
from minikafka.theatre.time_lanes import Bar, TimeLane, TimeLanes, gone

SHORTEST = 100  # of the whole axis: what part of it is the shortest bar


class SinkPlay(Play):
    story = SinkStory
    ms_a_second = 1000
    foot = (
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
        self.in_time = TimeLanes(scenes, self.time)
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
        lanes = self._lanes(scene)
        self.in_time.draw(
            drawing,
            foot,
            lanes,
            scene,
        )

    def _lanes(self, scene: Scene) -> list[TimeLane]:
        """A lane for each reader."""
        space = scene["space"]
        lanes = []
        for member, reader in zip(self.actors.members, space["readers"], strict=True):
            committed = space["committed"].get(member.group)
            words = "" if committed is None else f"committed {committed}"
            actor = self.actors.number(member.name)
            lane = TimeLane(
                key=member.name,
                name=member.name,
                bars=self._bars(reader, actor, scene["at"]),
                colour=actor_colour(actor),
                number=words,
            )
            lanes.append(lane)
        return lanes

    def _bars(self, reader: Space, actor: int, now: int) -> list[Bar]:
        """In their order."""
        bars = []
        for each in reader["spans"]:
            lasted = Lasted(*each)
            if self._is_long(lasted, now):
                bars.append(_bar(lasted, actor, now))
        for each in reader["away"]:
            away = Away(*each)
            span = Span(
                away.begin_ms,
                away.until(now),
                away.what,
                away.number,
            )
            bars.append(gone(span, [away.what]))
        bars.sort(key=lambda bar: bar.span.begin_ms)
        return bars

    def _is_long(self, lasted: Lasted, now: int) -> bool:
        """Whether its bar is seen; else it is a mark."""
        ms = lasted.until(now) - lasted.begin_ms
        return ms * SHORTEST >= self.time.last_ms - self.time.first_ms


def _bar(lasted: Lasted, actor: int, now: int) -> Bar:
    """An order that is in the sink and not committed; or that was left out."""
    offset = lasted.offset
    span = Span(
        lasted.begin_ms,
        lasted.until(now),
        offset,
        lasted.number,
    )
    words = [str(offset)]
    tip = f"order {offset}: in the sink, not committed"
    if lasted.what != DONE:
        words.insert(0, f"{offset} {lasted.what}")
    if lasted.what == AGAIN:
        return Bar(
            span,
            words,
            f"{tip}, again",
            fill="trouble",
            ink="paper",
        )
    if lasted.what == KNOWN:
        return Bar(
            span,
            words,
            f"order {offset} is known: nothing is added",
            fill="paper",
            line=actor_colour(actor),
        )
    return Bar(
        span,
        words,
        tip,
        fill=actor_colour(actor),
        ink=ink_on_actor(actor),
    )
