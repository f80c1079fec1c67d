"""Offsets and the commit point: one partition, its readers, the committed offset, and
what was done with each record.

A record is a square: it comes from who writes it into the log, goes from there into a
reader's memory at each reading, and lies there until its effect is written and its
offset is committed. The reader is at the record it will read next; the
committed offset is a flag before the record that comes next after a restart, and the
reader has sent it there. What lies between the two is shaded, and named by what a crash
would make of it. Under each record: done, done again, or lost. Options: topic,
partition, group, table. Without them: those that most commits are about, and the first
table that is written to.
"""

from collections.abc import Sequence

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, Stage, column, lamp, part, row, space
from minikafka.theatre.drawing import Drawing, Look, widest
from minikafka.theatre.lanes import BESIDE, MOST_OF_NAMES, Lane
from minikafka.theatre.pictures.commit.log import HOME, CommitLog, placed, twice
from minikafka.theatre.pictures.commit.readers import Readers
from minikafka.theatre.pictures.commit.story import CommitStory
from minikafka.theatre.pictures.log.story import lane_of
from minikafka.theatre.play import Play, Space
from minikafka.theatre.row import Record
from minikafka.theatre.text import counted, dotted, in_words


class CommitPlay(Play):
    """One partition as its group sees it."""

    story = CommitStory
    rule = (
        "Committed is the offset to read next. What is done and not committed comes"
        " again; what is committed and not done is lost if it stops there."
    )

    def scenario(self, scene: Scene) -> str:
        space = scene["space"]
        parts = [f"group {space['group']}"] if space["group"] else []
        if space["committed"] is None:
            parts.append("nothing committed")
        else:
            parts.append(f"committed offset {space['committed']}")
        for node, state in space["down"].items():
            parts.append(f"{node} {state}")
        return dotted(*parts)

    def summary(self, space: Space) -> str:
        parts = [f"log end offset {space['log']['log_end_offset']}"]
        if space["committed"] is None:
            parts.append("nothing committed")
        else:
            parts.append(f"committed {space['committed']}")
        for reader in placed(space):
            state = f" ({reader['state']})" if reader["state"] else ""
            parts.append(f"{reader['name']} reads {reader['next']} next{state}")
        done = "written" if space["table"] else "handed over"
        many = len(space["effects"])
        doubled = len(twice(space))
        skipped = len(space["skipped"])
        parts.append(f"{many} {done}, {doubled} twice, {skipped} skipped")
        return "; ".join(parts)

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        # when the shop wrote is no story of this picture
        self.lanes.marks.pop("written", None)
        readers = Readers(self.cast, scenes)
        log = CommitLog(self.cast, scenes, readers.home_of_effects)
        spaces = [scene["space"] for scene in scenes]
        self.boxes = Stage(
            column(
                row(
                    _producers(spaces),
                    space(),
                    _lamp("twice", scenes),
                    _lamp("skipped", scenes),
                    gap=8,
                ),
                row(self._captions(spaces, log), log.item(), gap=BESIDE, breaks=False),
                readers.box(),
                self.lanes.box(spaces, self._rows_of_time, "log"),
                gap=8,
            )
        )

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        self.boxes.draw(drawing, scenes[-1])

    def _captions(self, spaces: Sequence[Space], log: CommitLog) -> Item:
        """The names in front of rows and lanes."""
        lanes = [lane.name for space in spaces for lane in self._rows_of_time(space)]
        wide = 12 + max(widest(name, 13, bold=True) for name in ["the log", *lanes])
        least = min(wide, MOST_OF_NAMES)
        return part("captions", log.draw_captions, high=0, least=least, wanted=wide)

    def _rows_of_time(self, space: Space) -> list[Lane]:
        names = [reader["name"] for reader in space["readers"]]
        rows = []
        for name, colour in self.cast["readers"].items():
            rows.append(Lane(lane_of(name), name if name in names else "", colour))
        effects = space["table"] or ("lost" if space["skipped"] else "")
        others = [
            Lane("commits", "commits", "ink"),
            Lane("effects", effects),
            Lane("log", "log", "ink"),
        ]
        return rows + [lane for lane in others if lane.key in self.lanes.marks]


def _lamp(what: str, scenes: Sequence[Scene]) -> Item:
    """Whether anything went wrong so far."""

    def count(space: Space) -> int:
        return len(twice(space) if what == "twice" else space["skipped"])

    def said(space: Space) -> str:
        return f"{in_words(count(space))} {'twice' if what == 'twice' else 'lost'}"

    return lamp(f"lamp/{what}", scenes, said, count)


def _producers(spaces: Sequence[Space]) -> Item:
    """Who writes into this partition."""

    def words(space: Space) -> str:
        names = space["producers"]
        return counted(len(names), "producer") if len(names) > 1 else "".join(names)

    def draw(d: Drawing, places: Places, scene: Scene) -> None:
        space = scene["space"]
        if not space["producers"]:
            return
        place = places[HOME]
        numbers = [Record(*each).number for each in space["log"]["records"]]
        look: Look = {"fill": "wash", "line": "rule", "r": 8}
        if scene["number"] in numbers:
            look |= {"line": "ink", "width": 2}
        d.rect("producer", *place, **look)
        room = place.w - 16
        d.text(
            "producer/name",
            place.x + 10,
            place.y + 18,
            words(space),
            bold=True,
            room=room,
        )

    wide = 20 + max(
        (widest(words(space), 13, bold=True) for space in spaces), default=0
    )
    return part(HOME, draw, high=26, least=min(wide, 120), wanted=wide)
