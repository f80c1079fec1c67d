"""The rebalance: who assigns, what each member does, which partitions nobody reads, and
how many records wait there.

Options: group, topic, partitions; since_ms: where the picture begins; beside: a second
trace, on one seed eager beside cooperative, say: the lanes of both below each other on
one time axis; names: what the two are called (their assignors, if not given). live:
with levers (course/levers/on_stage.py).
"""

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Stage, column
from minikafka.theatre.drawing import Drawing
from minikafka.theatre.pictures.rebalance.cast import actors_of
from minikafka.theatre.pictures.rebalance.close import close_of
from minikafka.theatre.pictures.rebalance.coordinator import Coordinator
from minikafka.theatre.pictures.rebalance.members import Members
from minikafka.theatre.pictures.rebalance.story import RebalanceStory
from minikafka.theatre.pictures.rebalance.timeline import (
    is_left_unread,
    timeline_box,
)
from minikafka.theatre.pictures.rebalance.two_runs import BesidePlay, BesideStory, both
from minikafka.theatre.play import Play, Story
from minikafka.theatre.ruler import Ruler
from minikafka.theatre.text import counted, dotted
from minikafka.trace import Event


class RebalancePlay(Play):
    story = RebalanceStory
    ms_a_second = 1000
    legend = (
        "Hatched: nobody reads any more. Not read for: so far, since its first reader."
    )

    @classmethod
    def stage(
        cls, trace: Sequence[Event], **options: Any
    ) -> tuple[type[Play], Story, Sequence[Event]]:
        beside = options.pop("beside", None)
        if beside is None:
            return super().stage(trace, **options)
        second = list(beside)
        story = BesideStory(trace, beside=second, **options)
        return BesidePlay, story, both(trace, second)

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.actors = actors_of(self.cast)
        self.close = close_of(self.cast, scenes, self.time)
        coordinator = Coordinator(self.cast, self.actors, scenes)
        members = Members(self.cast, self.actors, scenes)
        group = column(coordinator.box(), members.box(), gap=4)
        counts = is_left_unread(self.cast, scenes)
        below = timeline_box(self.cast, scenes, self.time, self.close, counts)
        if not counts:
            self.legend = ""
        self.boxes = Stage(column(column(group, coordinator.free()), below, gap=4))

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        cast = self.cast
        inside = space["inside"]
        shown = len(space["members"])
        members = counted(inside, "member")
        if shown < inside:
            members += f", {shown} of them shown"
        left_out = cast["left_out"]
        shown = len(cast["partitions"])
        partitions = f"{shown + left_out} partitions of {cast['topics']}"
        how_many_shown = f"{shown} of them shown" if left_out else ""
        return dotted(
            self._assignor(space), members, partitions, how_many_shown, cast["legend"]
        )

    def _assignor(self, space: dict[str, Any]) -> str:
        """Its name, and by which protocol it works."""
        assignor = space["assignor"]
        if not assignor:
            return "no assignment yet"
        if space["kind"] == "consumer":
            return f"{assignor}, KIP-848"
        is_cooperative = self.cast["keeps"] or "cooperative" in assignor
        return f"{assignor}, {'cooperative' if is_cooperative else 'eager'}"

    def summary(self, space: dict[str, Any]) -> str:
        owned = [
            f"{member['name']} {' '.join(member['owns'])}"
            for member in space["members"]
            if member["owns"]
        ]
        words = "; ".join(owned) or "nobody owns anything"
        return f"{space['state']}, {space['number']}: {words}"

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])

    def ruler(self, drawing: Drawing, scene: Scene, on: str) -> Ruler | None:
        """on: a partition: until when something is so in its lane."""
        lanes = [f"time/{label}/ground" for label in self.cast["partitions"]]
        lane = drawing.shapes.get(f"time/{on}/ground")
        if lane is None:
            return None
        last = drawing.shapes[lanes[-1]]
        return Ruler.of_time(
            lane["x"],
            lane["x"] + lane["w"],
            self.time,
            edge=last["y"] + last["h"],
            reach=lane["y"],
        )
