"""The share partition: one log, and what two groups make of it. Above, a share group
(KIP-932): each record has a state, and while a member has it, a lock that runs out.
Below, a consumer group: it has one offset, and the records behind it wait.

Under both, on one axis of time, which member worked on which record. Options: topic,
partition, group (the share group), beside (the consumer group). Without them: those
with the most events.
"""

from collections.abc import Sequence

from minikafka.theatre.axis import Scene, Time
from minikafka.theatre.boxes import Places, Stage, column, part, row
from minikafka.theatre.drawing import Drawing
from minikafka.theatre.pictures.share_partition.records import ACQUIRED, seconds
from minikafka.theatre.pictures.share_partition.rows import (
    HIGH,
    HIGH_ALONE,
    LEAST,
    WIDEST,
    Known,
    Rows,
)
from minikafka.theatre.pictures.share_partition.story import SharePartitionStory
from minikafka.theatre.pictures.share_partition.time import time_boxes
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import dotted


class SharePartitionPlay(Play):
    story = SharePartitionStory
    ms_a_second = 1000
    legend = (
        "Colour: who has it, until its lock, the bar above, expires. ✓ done,"
        " × archived, dashed: came back. 2/5: delivery 2 of at most 5."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        most = space["most_deliveries"]
        if not most:
            return ""
        lock = f"locks last {seconds(space['lock_ms'])}"
        return dotted(lock, f"at most {most} deliveries")

    def summary(self, space: Space) -> str:
        said = [f"log end offset {space['log_end']}"]
        said += self._of_share_group(space)
        if self.cast["other"]:
            said.append(self._of_other(space))
        for member in space["members"]:
            if member["life"]:
                said.append(f"{member['name']} {member['life']}")
        return "; ".join(said)

    def _of_share_group(self, space: Space) -> list[str]:
        """The share group's position, and the records that each member has."""
        group = self.cast["group"]
        start = space["start"]
        words = "not begun"
        if start is not None:
            words = f"start offset {start}"
        done, _ = space["done"]
        said = [f"share group {group}: {words}, {done} done"]
        for known in map(Known._make, space["shared"]):
            if known.state == ACQUIRED:
                said.append(f"{known.who} has {known.offset}, delivery {known.times}")
        if space["archived"]:
            said.append(f"{space['archived']} archived")
        return said

    def _of_other(self, space: Space) -> str:
        """The consumer group's position."""
        group = self.cast["other"]
        committed = space["committed"]
        words = "nothing committed"
        if committed is not None:
            words = f"committed {committed}"
        _, done = space["done"]
        return f"consumer group {group}: {words}, {done} done"

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        records = (self.cast["most"] + 1) * WIDEST
        least = 5 * LEAST

        rows = [
            part("captions", high=0, least=96, wanted=136),
            part(
                "records",
                self._rows,
                high=self._high,
                least=least,
                wanted=records,
                grow=1,
            ),
        ]
        time = Time.of(scenes, since_ms=0)
        self.time = time
        lanes = time_boxes(self.cast, scenes, time)
        self.boxes = Stage(column(row(*rows, breaks=False), *lanes, gap=2))

    @property
    def _high(self) -> float:
        return HIGH if self.cast["other"] else HIGH_ALONE

    def _rows(self, d: Drawing, places: Places, scene: Scene) -> None:
        """The log with both groups."""
        Rows(d, self.cast, scene["space"], scene["at"], places["records"]).draw()

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])
