"""The rebalance: who assigns, what each member does, which partitions nobody reads, and how many records wait there.

Options: group, topic, partitions; since_ms: where the picture begins; beside: a second trace, drawn as lanes under the
first on the same time axis; names: what the two are called (their assignors, if not given).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minikafka.theatre.drawing import Drawing
from minikafka.theatre.keys import legend
from minikafka.theatre.lanes import Scene
from minikafka.theatre.play import Play, Told
from minikafka.theatre.rebalance_beside import BesidePlay, both
from minikafka.theatre.rebalance_cast import cast
from minikafka.theatre.rebalance_space import draw_space
from minikafka.theatre.rebalance_story import Story, every_ms
from minikafka.theatre.rebalance_time import Axis, draw_lanes
from minikafka.trace import Event


class RebalancePlay(Play):
    name = "rebalance"
    foot = (
        "Hatched: nobody reads, records wait. Waiting: end offset minus read position. Not read for: so far; sum: of "
        "all partitions."
    )

    def __init__(self, trace: Sequence[Event], *, group: str | None = None, topic: str | None = None,
                 partitions: Sequence[int] | None = None, since_ms: int = 0, **options: Any) -> None:  # fmt: skip
        super().__init__(trace, **options)
        self.cast = cast(trace, group, topic, partitions)
        self.story = Story(self.cast, every_ms(trace, since_ms), since_ms)
        self.title = f"Rebalance of group {self.cast.group}" if self.cast.group else "The rebalance"

    @classmethod
    def stage(cls, trace: Sequence[Event], **options: Any) -> tuple[Play, Sequence[Event]]:
        beside = options.pop("beside", None)
        if beside is None:
            return cls(trace, **options), trace
        beside = list(beside)
        return BesidePlay(trace, beside=beside, **options), both(trace, beside)

    def see(self, event: Event) -> Told | None:
        return self.story.see(event, self.number)

    def space(self) -> dict[str, Any]:
        return self.story.group.space(self.number)

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        inside, shown = space["inside"], len(space["members"])
        how = "cooperative" if "cooperative" in space["assignor"] else "eager"
        how = "KIP-848" if space["kind"] == "consumer" else how
        parts = [f"{space['assignor']}, {how}" if space["assignor"] else "no assignment yet"]
        parts.append(f"{inside} member{'s' * (inside != 1)}" + (f", {shown} of them shown" if shown < inside else ""))
        parts.append(f"{len(self.cast.parts) + self.cast.left_out} partitions of {self.cast.topics}")
        if self.cast.left_out:
            parts.append(f"{len(self.cast.parts)} of them shown")
        if len(self.cast.short) > 1:
            parts.append(legend(self.cast.short).removeprefix("keys: "))
        return " · ".join(parts)

    def summary(self, space: dict[str, Any]) -> str:
        owned = [f"{m['name']} {' '.join(m['owns'])}" for m in space["members"] if m["owns"]]
        return f"{space['state']}, {space['number']}: " + ("; ".join(owned) or "nobody owns anything")

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.axis = Axis(scenes, {"": [scene["space"] for scene in scenes]})

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        scene = scenes[-1]
        bottom = draw_space(drawing, self.cast, scene)
        draw_lanes(drawing, bottom, self.story.group, self.axis, scene)
