"""The share partition: one log, and what two groups make of it. Above, a share group
(KIP-932): each record has a state, and while a member has it, a lock that runs out.
Below, a consumer group: it has one offset, and the records behind it wait.

Under both, on one axis of time, which member worked on which record. Options: topic,
partition, group (the share group), beside (the consumer group). Without them: those
with the most events.
"""

from collections.abc import Sequence

from minikafka.theatre.axis import Scene, Time
from minikafka.theatre.drawing import NARROW, PHONE, WIDE, Drawing
from minikafka.theatre.pictures.share_partition.records import ACQUIRED, seconds
from minikafka.theatre.pictures.share_partition.rows import Known, Rows
from minikafka.theatre.pictures.share_partition.story import SharePartitionStory
from minikafka.theatre.pictures.share_partition.time import draw_time
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import dotted

LEFT = {WIDE: 136, NARROW: 96, PHONE: 96}  # where records and time begin
TIME, TIME_ALONE = 166, 118  # where the lanes begin; without a consumer group
LAMPS = 26  # height


class SharePartitionPlay(Play):
    story = SharePartitionStory
    ms_a_second = 1000
    legend = (
        "Colour: who has it, until its lock, the bar above, expires. ✓ done,"
        " × archived, dashed: came back. 2/5: delivery 2 of at most 5."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        group = self.cast["group"]
        other = self.cast["other"]
        most = space["most_deliveries"]
        lock = f"locks last {seconds(space['lock_ms'])}" if most else ""
        return dotted(
            f"share group {group}",
            lock,
            f"at most {most} deliveries" if most else "",
            f"consumer group {other}" if other else "",
        )

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
        self.time = Time.of(scenes, since_ms=0)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        """The log with both groups, the lanes, and lamps: beside the lanes' title where
        that has room.
        """
        d = drawing
        scene = scenes[-1]
        space = scene["space"]
        left = LEFT[d.width]
        top = LAMPS if d.narrow else 0
        lanes = TIME if self.cast["other"] else TIME_ALONE
        Rows(d, self.cast, space, now=scene["at"], left=left, top=top).draw()
        draw_time(d, top + lanes, left, self.cast, self.time, scene)
        _lamps(d, space, 0 if d.narrow else lanes - 3)


def _lamps(d: Drawing, space: Space, y: float) -> None:
    """Whether anything went wrong so far."""
    archived = space["archived"]
    words = "none archived"
    if archived:
        words = f"{archived} archived"
    width = d.lamp("lamp/archived", d.width, y, words, archived > 0, "end")

    twice = space["twice"]
    words = "none accepted twice"
    if twice:
        words = f"{twice} accepted twice"
    right = d.width - width - 8
    d.lamp("lamp/twice", right, y, words, twice > 0, "end")
