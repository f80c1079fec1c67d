"""The rebalance: who assigns, what each member does, which partitions nobody reads, and how many records wait there.

Options: group, topic, partitions; since_ms: where the picture begins; beside: a second trace, drawn as lanes under the
first on the same time axis; names: what the two are called (their assignors, if not given). live: with
levers on the cards (course/live_rebalance.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.drawing import Drawing
from minikafka.theatre.lanes import Scene
from minikafka.theatre.play import Play, Story
from minikafka.theatre.rebalance_beside import BesidePlay, BesideStory, both
from minikafka.theatre.rebalance_cast import actors_of
from minikafka.theatre.rebalance_space import draw_space
from minikafka.theatre.rebalance_story import RebalanceStory
from minikafka.theatre.rebalance_time import Axis, draw_lanes
from minikafka.theatre.text import counted, dotted
from minikafka.trace import Event


class RebalancePlay(Play):
    story = RebalanceStory
    foot = (
        "Hatched: nobody reads, records wait. Waiting: end offset minus read position. Not read for: so far; sum: of "
        "all partitions."
    )

    @classmethod
    def stage(cls, trace: Sequence[Event], **options: Any) -> tuple[type[Play], Story, Sequence[Event]]:
        beside = options.pop("beside", None)
        if beside is None:
            return super().stage(trace, **options)
        beside = list(beside)
        return BesidePlay, BesideStory(trace, beside=beside, **options), both(trace, beside)

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.actors = actors_of(self.cast)
        self.words = sorted({each["words"] for scene in scenes for each in scene["space"]["members"]})
        self.axis = Axis(scenes, {"": [scene["space"] for scene in scenes]})

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        inside, shown = space["inside"], len(space["members"])
        how = "cooperative" if self.cast["keeps"] or "cooperative" in space["assignor"] else "eager"
        how = "KIP-848" if space["kind"] == "consumer" else how
        partitions, left_out = len(self.cast["partitions"]), self.cast["left_out"]
        return dotted(
            f"{space['assignor']}, {how}" if space["assignor"] else "no assignment yet",
            counted(inside, "member") + (f", {shown} of them shown" if shown < inside else ""),
            f"{partitions + left_out} partitions of {self.cast['topics']}",
            f"{partitions} of them shown" if left_out else "",
            self.cast["legend"],
        )

    def summary(self, space: dict[str, Any]) -> str:
        owned = [f"{m['name']} {' '.join(m['owns'])}" for m in space["members"] if m["owns"]]
        return f"{space['state']}, {space['number']}: " + ("; ".join(owned) or "nobody owns anything")

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        scene = scenes[-1]
        bottom = draw_space(drawing, self.cast, self.actors, scene, self.words)
        draw_lanes(drawing, bottom, self.cast, self.axis, scene)
