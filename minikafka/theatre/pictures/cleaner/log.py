"""A log that is compacted, and the copy of it: each record is below its place in the
log, because offsets stay.
"""

from collections.abc import Sequence
from functools import partial

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, part
from minikafka.theatre.drawing import Box, Drawing, Look, widest
from minikafka.theatre.pictures.cleaner.tables import COPYING, TITLE, draw_title
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.row import (
    OFFSETS,
    WITH_VALUE,
    Boundary,
    Reader,
    Record,
    Row,
    RowBox,
    pitch_for,
    tall_for,
)
from minikafka.theatre.text import dotted

EDGE = 3  # from the page's edge to the first record
LINE = 18  # of words about a gap, above readers
NULL = 40  # width of a record that has room for the word
# what is not copied, and what is gone
OUTLINE: Look = {"fill": "none", "ink": "gone", "dash": "3 3"}


class CleanedLog:
    """The log and its copy, measured over all scenes."""

    def __init__(self, cast: Cast, scenes: Sequence[Scene]) -> None:
        self.cast = cast
        self.most = cast["most"]
        self.skips = any(scene["space"]["skips"] for scene in scenes)
        self.box = RowBox("log", scenes, self._row, self.most)

    def item(self) -> Item:
        return self.box.item(_draw, WITH_VALUE)

    def copy(self) -> Item:
        """The box under the map."""

        def high(width: float) -> float:
            return TITLE + tall_for(pitch_for(width - EDGE, self.most)) + OFFSETS

        return part("copy", self._draw_copy, high=high)

    def _draw_copy(self, d: Drawing, places: Places, scene: Scene) -> None:
        row = self.box.at(d, places, scene)
        if row is None:
            return
        base = scene["space"]["into"]
        is_on = scene["space"]["half"] == COPYING and base is not None
        place = places["copy"]
        if scene["space"]["half"]:
            draw_title(d, "copy", place, is_on, file=f"{base or 0:020d}.log")
        if is_on:
            row.draw_copy(place.y + TITLE)

    def _row(self, d: Drawing, place: Box, scene: Scene) -> "CleanedRow | None":
        """The log, once there is one."""
        space = scene["space"]
        place = Box(place.x + EDGE, place.y, place.w - EDGE, place.h)
        pitch = pitch_for(place.w, self.most)
        reader = partial(_reader, colours=self.cast["readers"])
        for log in space["partitions"][:1]:
            row = CleanedRow(
                d, log, place, pitch, scene["number"], [*map(reader, space["readers"])]
            )
            row.space = space
            if row.values:
                row.show_values()
            if not self.cast["readers"]:
                row.words = OFFSETS - 8
            elif self.skips:
                row.words += LINE
            return row
        return None


class CleanedRow(Row):
    """A partition that is compacted. space: the scene's."""

    space: Space

    def boundaries(self) -> list[Boundary]:
        """Where the log starts and ends: the cleaner stops before the active segment,
        wherever the high watermark is.
        """
        edges = ("log start offset", "log end offset")
        return [
            Boundary(name, self.partition[name.replace(" ", "_")]) for name in edges
        ]

    def look(self, record: Record) -> Look:
        """The look of records that are being dropped or are gone, and of tombstones and
        markers.
        """
        offset = record.offset
        look: Look = {}
        tips = [f"offset {offset}"]
        outcome = _told(self.space["markers"], offset)
        if outcome is not None:
            look["text"] = "✓" if outcome == "committed" else "✗"
            look["more"] = ""
            tips.append(f"marker: the transaction is {outcome}")
        elif record.value is None:
            look["more"] = "" if self.cell < NULL else "null"
            tips.append(f"key {record.key}, no value: a tombstone")
        else:
            tips.append(f"key {record.key} · value {record.value}")
        horizon = _told(self.space["horizons"], offset)
        if horizon:
            tips.append(f"may go from {horizon} on")

        if offset in self.space["gone"]:
            look |= OUTLINE
            look["fade"] = 0.6
            tips.append("gone")
        elif offset in self.space["leaving"]:
            look |= OUTLINE
            look["line"] = "ink"
            tips.append("not copied")
        look["tip"] = " · ".join(tips)
        return look

    def draw_skip(self) -> None:
        """From an offset that is gone to the one that its reader gets instead."""
        if self.now not in self.space["skips"]:
            return
        asked, got, _ = self.space["skips"]
        x, x2 = (self.left_of(each) + self.cell / 2 for each in (asked, got))
        y = self.cells_foot + OFFSETS - 4
        look: Look = {"line": "ink", "width": 2}
        self.d.upright("skips/from", x, y, y + 8, **look)
        self.d.level("skips/way", x, x2, y + 8, **look)
        self.d.arrow("skips/to", x2, y + 8, x2, y - 2, **look)
        words = f"{asked} is gone: the next is {got}"
        # no reader's line goes through them
        stems = [self.left_of(each.next) - 8 for each in self.readers]
        right = min([self.right, *(stem for stem in stems if stem > x)])
        left = min(x - 4, right - widest(words, 12.5, bold=True))
        self.d.text("skips/words", left, y + 23, words, bold=True, size=12.5)

    def draw_copy(self, y: float) -> None:
        """The copied records, in the columns that they have in the log."""
        known = {record[0]: Record(*record) for record in self.partition["records"]}
        for number, column in enumerate(self.columns):
            record = known.get(column.first)
            is_alone = column.up_to - column.first == 1
            if record and is_alone and record.offset in self.space["copied"]:
                self._copied(record, self.x_of(number), y)

    def _copied(self, record: Record, x: float, y: float) -> None:
        """It comes from above, and its offset is what it was."""
        offset = str(record.offset)
        flies: Look = {"from_x": x, "from_y": self.cells_y}
        look: Look = {"text": record.letter} | self.look(record) | flies
        look |= {"line": "actor1", "width": 2, "size": self.size}
        place = Box(x, y, self.cell, tall_for(self.pitch))
        same = f"{self.key}/{offset}"
        self.d.cell(f"copy/{offset}", *place, below=offset, same=same, **look)


def _draw(d: Drawing, places: Places, row: CleanedRow) -> None:
    row.draw()
    row.draw_skip()


def _told(of: Sequence[tuple[int, str]], offset: int) -> str | None:
    """The words about an offset, if there are any."""
    return dict(of).get(offset)


def _reader(reader: Space, colours: dict[str, str]) -> Reader:
    """A reader as the row of records draws it."""
    name = reader["name"]
    state = reader["state"]
    [offset] = reader["next"].values()
    [lag] = reader["lag"].values()
    return Reader(
        name=name,
        next=offset,
        ways=(dotted(f"next {offset}", f"lag {lag}", state), f"lag {lag}", ""),
        colour=colours[name],
        away=bool(state),
    )
