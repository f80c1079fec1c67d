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

from minikafka.theatre.casting import letters
from minikafka.theatre.drawing import Box, Drawing, Look
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.partitioner.machine import Machine
from minikafka.theatre.pictures.partitioner.records import HASH
from minikafka.theatre.pictures.partitioner.says import partitions
from minikafka.theatre.pictures.partitioner.story import PartitionerStory
from minikafka.theatre.pictures.partitioner.ways import (
    AFTER,
    BEFORE,
    MOST_BINS,
    Column,
    Ends,
    movers,
    pitch_for,
    threads,
)
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import dotted

LEFT = 372.0  # of the columns, beside the machine
CAPTION_Y, BINS_Y = 15, 26  # of the columns' captions and their partitions
OWN_LINE = 18  # height of the line over the captions of a phone's two columns
MOST_HELD = 6  # keys of a partition that are named in words


class PartitionerPlay(Play):
    """A machine, and the columns into which it sorts."""

    story = PartitionerStory
    legend = "A dashed record waits in its producer's batch."
    rule = (
        "Kafka keeps records in order within a partition. A key keeps its partition"
        " only as long as the number of partitions stays the same."
    )

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        self.letters = letters(self.cast["keys"])
        ways = [way for scene in scenes for way in scene["space"]["ways"]]
        self.pitch = pitch_for(ways)

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

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        space = scenes[-1]["space"]
        now = space["now"]
        ways = space["ways"]
        machine = Machine(d, space, self.cast["producers"])
        machine.draw()

        left = LEFT
        top = 0.0
        if d.narrow:
            left = 0.0
            top = machine.box.bottom
            if d.phone:
                top += OWN_LINE
        # records are above their machine, and behind the words in it
        self._captions(d, space, left, top + CAPTION_Y)
        place = Box(
            x=left,
            y=top + BINS_Y,
            w=d.width - left,
            h=0,
        )
        ends = self._columns(d, space, place, machine)
        if len(ways) == 2:
            threads(
                d,
                ways=ways,
                ends=ends,
                new=now["key"] if now else None,
            )

    def _columns(
        self, d: Drawing, space: Space, place: Box, machine: Machine
    ) -> list[Ends]:
        """Draw a column for each way of partitioning. Returns where they end."""
        now = space["now"]
        ways = space["ways"]
        ends = []
        for side, way in enumerate(ways):
            takes_this_way = now is not None and now["way"] == way["number"]
            column = Column(
                d,
                way,
                side,
                place,
                both=len(ways) == 2,
                pitch=self.pitch,
                now=now if takes_this_way else None,
                hand=machine.hand,
                movers=movers(ways),
                letters=self.letters,
            )
            ends.append(column.draw())
        return ends

    def _captions(self, d: Drawing, space: Space, left: float, y: float) -> None:
        """Over each column its rule; between two, how many keys differ."""
        ways = space["ways"]
        if len(ways) < 2:
            for way in ways:
                room = d.width - left
                d.text(_caption(way), left, y, _rule_of(way), "quiet", room=room)
            return

        before, after = ways
        grows = before["rule"] == after["rule"]
        names = [before["who"], after["who"]]
        ink = "quiet"
        if grows:
            names = ["before", "after"]
            ink = "ink"
        look: Look = {"size": 12.5, "room": BEFORE}
        words = f"{names[0]}: {_rule_of(before)}"
        d.text(_caption(before), left, y, words, ink, **look)
        words = f"{names[1]}: {_rule_of(after)}"
        d.text(_caption(after), d.width, y, words, ink, **look, anchor="end")
        self._differ(d, space, left, y, "move" if grows else "differ")

    def _differ(
        self, d: Drawing, space: Space, left: float, y: float, verb: str
    ) -> None:
        """How many keys have another place, between the captions or above them."""
        differ, alike = space["differ"]
        if not alike:
            return
        middle = (left + BEFORE + d.width - AFTER) / 2
        base = y + 1
        if d.phone:
            base -= OWN_LINE
        d.text(
            "said/differ",
            middle,
            base,
            f"{differ} of {alike} {verb}",
            bold=True,
            size=16 if d.narrow else 18,
            anchor="middle",
        )


def _caption(way: Space) -> str:
    """The key of a caption's shape."""
    return f"caption/{way['number']}"


def _held(keys: Sequence[tuple[str | None, int]]) -> str:
    """The keys in a partition, in words."""
    words = [f"{key or 'no key'} ×{count}" for key, count in keys]
    if len(words) > MOST_HELD:
        named = words[: MOST_HELD - 1]
        more = len(words) - len(named)
        words = [*named, f"{more} more keys"]
    return ", ".join(words) or "empty"


def _rule_of(way: Space) -> str:
    """The rule in a column's caption."""
    if all(key is None for key, _ in way["keys"]):
        return partitions(way["count"])
    if way["rule"] == HASH:
        return f"hash % {way['count']}"
    return str(way["rule"])
