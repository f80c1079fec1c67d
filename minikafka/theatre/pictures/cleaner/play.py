"""The log and its cleaner: one compacted partition, and passes over it.

From top to bottom: the log with its segments and readers, and what each reader has of
it; the map, which has every key's last offset, and how much of the closed segments
is dirty; the copy, in which each record is below its place in the log, because offsets
stay. If a reader asks for what is gone, lanes of time stand there between two passes.
Dashed records are not copied, faint ones are gone, and a dashed value isn't the last of
its key.
Options: topic, partitions (one number). Without them: the first partition that the
cleaner came to.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from minikafka.theatre.axis import Scene, Span, spans
from minikafka.theatre.boxes import Item, Stage, column, over, row, space
from minikafka.theatre.clock import in_short
from minikafka.theatre.drawing import Drawing
from minikafka.theatre.pictures.cleaner.gauge import gauge_box
from minikafka.theatre.pictures.cleaner.log import CleanedLog
from minikafka.theatre.pictures.cleaner.story import CleanerStory
from minikafka.theatre.pictures.cleaner.tables import (
    COPYING,
    MAPPING,
    map_box,
    readers_box,
)
from minikafka.theatre.pictures.log.story import lane_of
from minikafka.theatre.play import Play, Space
from minikafka.theatre.row import Record
from minikafka.theatre.text import counted, dotted
from minikafka.theatre.time_lanes import Bar, TimeLane, TimeLanes, gone


class CleanerPlay(Play):
    """A log, and beside it what its cleaner knows and writes."""

    story = CleanerStory
    rule = (
        "Below the active segment, the cleaner keeps the last record for each key. A"
        " copied record keeps its offset."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        segments = sum(len(log["segments"]) for log in space["partitions"][:1])
        away = [f"{node} {state}" for node, state in space["down"].items()]
        many = counted(segments, "segment")
        return dotted(f"{many} on disk", *away, self.cast["legend"])

    def summary(self, space: Space) -> str:
        if not space["partitions"]:
            return "nothing yet"
        log = space["partitions"][0]
        gone = set(space["gone"])
        there = sum(Record(*told).offset not in gone for told in log["records"])
        end = log["log_end_offset"]
        parts = [
            f"{counted(there, 'record')} below offset {end}, {len(gone)} gone",
            f"{space['dirty_bytes']} bytes dirty, {space['clean_bytes']} clean",
        ]
        if space["half"] >= MAPPING:
            parts.append(f"the map has {counted(space['keys'], 'key')}")
        if space["half"] == COPYING:
            parts.append(f"{counted(len(space['copied']), 'record')} copied")
        for reader in space["readers"]:
            [offset, *_] = reader["next"].values()
            parts.append(f"{reader['name']} reads {offset} next")
        return "; ".join(parts)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        log = CleanedLog(self.cast, scenes)
        tables = row(map_box(self.cast, scenes), gauge_box(self.cast, scenes), gap=24)
        self.boxes = Stage(
            column(
                log.item(),
                readers_box(self.cast, scenes),
                column(self._time(scenes), tables),
                log.copy(),
                gap=8,
            )
        )

    def _time(self, scenes: Sequence[Scene]) -> Item:
        """How long a reader was away that asks for what is gone, and when the cleaner
        was at work meanwhile.
        """
        skips = scenes[-1]["space"]["skips"] if scenes else ()
        if not skips:
            return space()
        asked, *_ = skips
        marked = [scene | {"marks": _marks(scene)} for scene in scenes]

        def lanes(so_far: Sequence[Scene]) -> list[TimeLane]:
            found = []
            for name, colour in self.cast["readers"].items():
                stays = spans(so_far, partial(_next_of, name))
                bars = [_away(name, span) for span in stays if span.what == asked]
                found.append(TimeLane(lane_of(name), name, bars, colour))
            return [*found, TimeLane("cleaner", "cleaner", colour="ink")]

        return over(TimeLanes(marked, self.time).box(scenes, lanes), _is_idle)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])


def _is_idle(scene: Scene) -> bool:
    """Whether no pass is going on, whose map and copy would be there."""
    return not scene["space"]["half"]


def _next_of(name: str, scene: Scene) -> int | None:
    """The offset at which a reader is, if it is there."""
    for reader in scene["space"]["readers"]:
        if reader["name"] == name:
            return max(reader["next"].values(), default=None)
    return None


def _marks(scene: Scene) -> list[dict[str, Any]]:
    """A scene's marks, and one more if a pass begins."""
    begins = {"lane": "cleaner", "text": scene["chapter"], "of": scene["number"]}
    is_pass = scene["kind"] == "CompactionStarted"
    return [*scene["marks"], *[begins] * is_pass]


def _away(name: str, span: Span) -> Bar:
    """A reader asks for nothing for so long."""
    lasted = in_short(span.end_ms - span.begin_ms)
    return gone(span, [f"{name} is away: {lasted}", lasted])
