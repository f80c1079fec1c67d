"""The partitioner's machine: a record's key goes in, the number of a partition comes
out.

With a key: murmur2(key), without its sign bit, modulo the number of partitions (the
Java client's rule). Without a key: sticky, round-robin, or somebody's own function.
A record is a square: it comes from the shop's hand, goes through the machine, and lies
in the row of its partition, dashed until it is written there. When the number of
partitions changes, the divisor changes, and keys move: every key then has a thread from
its place before to its place after. Options: topic. Without it: the topic that was used
most.
"""

from collections.abc import Sequence

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Stage, row
from minikafka.theatre.drawing import Drawing
from minikafka.theatre.pictures.partitioner.machine import machine_box
from minikafka.theatre.pictures.partitioner.says import partitions
from minikafka.theatre.pictures.partitioner.story import PartitionerStory
from minikafka.theatre.pictures.partitioner.ways import MOST_BINS, ways_box
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import dotted

MOST_HELD = 6  # keys of a partition that are named in words


class PartitionerPlay(Play):
    """A machine, and the columns into which it sorts."""

    story = PartitionerStory
    legend = "A small square is a record; dashed where it isn't yet, or no longer."
    rule = (
        "Kafka keeps records in order within a partition. A key keeps its partition"
        " only as long as the number of partitions stays the same."
    )

    def scenario(self, scene: Scene) -> str:
        now = scene["space"]["now"]
        count = scene["space"]["partition_count"]
        parts = [partitions(count)]
        if now and now["partitions"] != count:
            parts.append(f"{now['producer']} still knows {now['partitions']} of them")
        if count > MOST_BINS:
            parts.append(f"the first {MOST_BINS} are drawn")
        drawn = len(self.cast["keys"])
        others = self.cast["others"]
        if others:
            of_all = f"{drawn} of {drawn + others} keys"
            parts.append(f"{of_all} are drawn, the others counted")
        return dotted(*parts)

    def summary(self, space: Space) -> str:
        held = [_held(bin_["keys"]) for bin_ in space["bins"]]
        parts = [f"partition {number}: {keys}" for number, keys in enumerate(held)]
        return "; ".join(parts) or "nothing yet"

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        machine = machine_box(self.cast)
        ways = ways_box(self.cast, scenes)
        self.boxes = Stage(row(machine, ways, gap=56, line_gap=8, lower=0.4))

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])


def _held(keys: Sequence[tuple[str | None, int]]) -> str:
    """The keys in a partition, in words."""
    words = [f"{key or 'no key'} ×{count}" for key, count in keys]
    if len(words) > MOST_HELD:
        named = words[: MOST_HELD - 1]
        more = len(words) - len(named)
        words = [*named, f"{more} more keys"]
    return ", ".join(words) or "empty"
