"""The log and its cleaner: one compacted partition, and passes over it.

From top to bottom: the log with its segments and readers, and what each reader has of
it; the map, which has every key's last offset, and how much of the closed segments
is dirty; the copy, in which each record is below its place in the log, because offsets
stay. Dashed records are not copied, faint ones are gone, and a dashed value isn't the
last of its key. Options: topic, partitions (one number). Without them: the first
partition that the cleaner came to.
"""

from collections.abc import Sequence

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Stage, column, row
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
from minikafka.theatre.play import Play, Space
from minikafka.theatre.row import Record
from minikafka.theatre.text import counted, dotted


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
        self.boxes = Stage(
            column(
                log.item(),
                readers_box(self.cast, scenes),
                row(map_box(self.cast, scenes), gauge_box(self.cast, scenes), gap=24),
                log.copy(),
                gap=8,
            )
        )

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])
