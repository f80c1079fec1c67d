"""A partition of the log's picture: its records come from producers, and records lost
to readers are marked under it.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, part, row
from minikafka.theatre.columns import Column, Log
from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    Box,
    Drawing,
    Look,
    has_room,
    text_width,
)
from minikafka.theatre.lanes import BESIDE
from minikafka.theatre.pictures.log.journey import Compared, Kept, Lost
from minikafka.theatre.pictures.log.producers import home
from minikafka.theatre.play import Cast, Space
from minikafka.theatre.row import (
    OFFSETS,
    TWO_LINES,
    WITH_VALUE,
    Label,
    Reader,
    Record,
    Row,
    RowBox,
    pitch_for,
)
from minikafka.theatre.text import dotted

LOW, LOWER = 34, 21  # of one of several partitions, and of one of many
FEW = 3  # partitions
LEAST_NAMES, LEAST_OF_SEVERAL, LEAST_RECORDS = 60, 270, 330  # widths
BRACKET = 16  # height of what is said of some records
# the position of a reader that began at the end, if it had begun at the start
EARLIEST = ("“earliest” would begin here", "“earliest”: here", "earliest")


class Partition:
    """One partition, measured over all scenes. captions: width of what is before it,
    where it has room.
    """

    def __init__(
        self, number: int, cast: Cast, scenes: Sequence[Scene], captions: float
    ) -> None:
        self.number = number
        self.cast = cast
        self.captions = captions
        self.several = len(cast["chosen"]) > 1
        self.box = RowBox(f"log {number}", scenes, self._row, cast["most"])
        records = [
            Record(*each)
            for scene in scenes
            for log in scene["space"]["partitions"]
            for each in log["records"]
        ]
        self.wide: float = WITH_VALUE
        if cast["in_days"]:
            self.wide = 0
        elif cast["one_key"]:
            values = (text_width(record.value or "") for record in records)
            self.wide = _cell_for(max(values, default=0)) + 5

    def item(self) -> Item:
        """The records, and before them what they are."""
        draw = self._draw_captions
        least = LEAST_NAMES if self.several else 0
        name, wide = f"captions {self.number}", self.captions
        names = part(name, draw, high=0, least=least, wanted=wide)
        return row(names, self._records(), gap=BESIDE, breaks=False)

    def _records(self) -> Item:
        def draw(d: Drawing, places: Places, row: JourneyRow) -> None:
            row.places = places
            row.draw()

        least = LEAST_OF_SEVERAL if self.several else LEAST_RECORDS
        return self.box.item(draw, self.wide, least)

    def _row(self, d: Drawing, place: Box, scene: Scene) -> "JourneyRow | None":
        """With its readers, once it is there."""
        space = scene["space"]
        for log in space["partitions"]:
            if log["partition"] == self.number:
                readers = self._readers(log, space["readers"])
                pitch = pitch_for(place.w, self.cast["most"])
                row = JourneyRow(d, log, place, pitch, scene["number"], readers)
                row.cast = self.cast
                self._style(row)
                return row
        return None

    def _style(self, row: "JourneyRow") -> None:
        """By how many partitions there are, and what a record says."""
        if self.several:
            is_one_of_few = len(self.cast["chosen"]) <= FEW
            row.header = False
            row.resize(LOW if is_one_of_few else LOWER)
            row.words = 36 if is_one_of_few else 29
        elif row.values and not self.cast["one_key"]:
            row.show_values()
        if not self.cast["readers"]:
            row.words = OFFSETS - 8
        if any(self.cast[name] for name in ("loses", "keeps", "looks_up")):
            row.words += BRACKET

    def _readers(self, log: Log, readers: Sequence[Space]) -> list[Reader]:
        """Those that read this partition."""
        number = str(log["partition"])
        here = [reader for reader in readers if number in reader["next"]]
        there = [*map(partial(_reader, number, self.cast, self.several), here)]
        passed = [each["passed"] for each in readers if each["passed"] is not None]
        there += [Reader("", offset, EARLIEST, "gone") for offset in passed[-1:]]
        return there

    def _draw_captions(self, d: Drawing, places: Places, scene: Scene) -> None:
        """Of the numbers in and under the records; of several partitions the name, and
        where it ends and starts.
        """
        row = self.box.at(d, places, scene)
        if row is None:
            return
        place = places[f"captions {self.number}"]
        end = place.right
        middle = row.cells_y + row.tall / 2 + 5
        below = row.cells_foot + 16
        look: Look = {"anchor": "end", "size": 12}
        if not self.several:
            inside = "days old" if self.cast["in_days"] else ""
            if has_room(inside or "offset", place.w):
                d.note("caption/inside", end, middle, inside, **look)
                d.note("caption/below", end, below, "offset", **look)
            return
        log = row.partition
        start = log["log_start_offset"]
        name: Look = {"mono": True, "bold": True, "anchor": "end"}
        d.text(f"name/{self.number}", end, middle, f"P{self.number}", **name)
        words = f"end {log['log_end_offset']}"
        d.note(f"end/{self.number}", end, below, words, **look)
        words = f"start {start}" if start else ""
        d.note(f"start/{self.number}", end, below + 14, words, **look)


class JourneyRow(Row):
    """A partition whose records come from producers. cast: of the whole play. A reader
    without a name is the place of one that began at the end, if it had begun at the
    start.
    """

    cast: Cast
    places: Places

    def columns_with(self, offsets: Iterable[int]) -> list[Column]:
        """Records that are kept longer than they should be have a place, too, and so
        has the youngest of their segment, for which they are.
        """
        old: list[int] = []
        if self.partition["kept"]:
            kept = Kept(*self.partition["kept"])
            old += range(kept.first, kept.up_to)
            for _, up_to, _ in self.partition["segments"]:
                if up_to > kept.first:
                    old.append(up_to - 1)
                    break
        return super().columns_with([*offsets, *old])

    def look(self, record: Record) -> Look:
        """It flies in from its producer, and shows its key or its age."""
        at = home(self.places, record.producer)
        look: Look = {"from_x": at.x, "from_y": at.y}
        if record.days is not None:
            look |= self._aged(record.letter, record.days)
        elif self.cast["one_key"]:
            look["text"] = ""
            look["more"] = self._value(record)
        for span in self._lost():
            if span.first <= record.offset < span.up_to:
                look["line"] = "trouble"
                look["width"] = 2
        for compared in self._compared():
            if compared.is_found and compared.offset == record.offset:
                look["line"] = "ink"
                look["width"] = 2
        return look

    def _value(self, record: Record) -> str:
        """The record's value if there is room for it in its cell, otherwise ""."""
        if record.value is None:
            return ""
        needed = _cell_for(text_width(record.value, self.size - 1))
        return record.value if needed <= self.cell else ""

    def _aged(self, letter: str, days: int) -> Look:
        """A record says how old it is, beside its letter or instead of it."""
        if letter and self.tall == TWO_LINES:
            return {"text": letter, "more": str(days)}
        return {"text": str(days), "more": ""}

    def _lost(self) -> list[Lost]:
        """The records that somebody never gets."""
        return [Lost(*span) for span in self.partition["lost"]]

    def _compared(self) -> list[Compared]:
        """The records that a search by time has looked at."""
        return [Compared(*each) for each in self.partition["compared"]]

    def draw(self) -> None:
        """The row, and brackets under what is lost, or is older than it should be."""
        super().draw()
        y = self.cells_foot + (26 if self.header else 20)
        kept = self.partition["kept"]
        if kept:
            old = Kept(*kept)
            words = f"older than {old.limit}, still there"
            self._bracket(f"kept/{self.key}", old, words, y, "ink")
        self._say_compared(y)
        free = float("inf")
        for span in reversed(self._lost()):
            is_under_another = span.up_to > free  # of another reader
            if not is_under_another:
                free = span.first
                key, words = (
                    f"lost/{self.key}/{span.first}",
                    f"{span.records} {span.why}",
                )
                self._bracket(key, span, words, y, "trouble")

    def _reader(self, reader: Reader, label: Label, top: float, foot: float) -> None:
        if reader.name:
            super()._reader(reader, label, top, foot)
            return
        x = label.line
        self.d.upright("passed", x, top, foot, "gone", dash="3 3")
        self.d.path("passed/head", x, foot - 4, "M0,0 l-6,10 h12 z", line="gone")
        look: Look = {"size": 12, "anchor": label.anchor}
        self.d.text("passed/name", label.at, foot + 6, label.words, "gone", **look)

    def _say_compared(self, y: float) -> None:
        """Under each of those, what came of it."""
        for compared in self._compared():
            than = "≥" if compared.is_found else "<"
            words = f"{than} {compared.asked}"
            key = f"compared/{self.key}/{compared.offset}"
            x = self.left_of(compared.offset) + self.cell / 2
            look: Look = {"anchor": "middle", "size": 12, "bold": compared.is_found}
            ink = "ink" if compared.is_found else "quiet"
            self.d.text(key, x, y + 14, words, ink, **look)

    def _bracket(
        self, key: str, span: Kept | Lost, words: str, y: float, colour: str
    ) -> None:
        """Under some records, with words in its middle."""
        left = self.left_of(span.first)
        right = self.left_of(span.up_to) - 5
        bracket = self.d.part(key, 0, y)
        look: Look = {"line": colour, "width": 2}
        self.d.level(key, left=left, right=right, y=y, **look)
        bracket.upright("from", x=left, top=-4, bottom=0, **look)
        bracket.upright("to", x=right, top=-4, bottom=0, **look)

        half = text_width(words, 13, bold=True) / LEAST_STRETCH / 2
        middle = max((left + right) / 2, self.x + half)
        middle = min(middle, self.right - half)
        look = {"bold": True, "anchor": "middle", "halo": "paper"}
        bracket.text("count", middle, 14, words, colour, **look)


def _cell_for(words: float) -> float:
    """The width of a record that has room for words of this width."""
    return (words + 8) / 0.82


def _reader(partition: str, cast: Cast, several: bool, reader: Space) -> Reader:
    """A reader as the row of records draws it."""
    name = reader["name"]
    state = reader["state"]
    offset = reader["next"][partition]
    refused = reader["refused"].get(partition)
    is_away = bool(state)
    can_be_dragged = "live" in cast and not is_away
    short = dotted(refused or f"lag {reader['lag'][partition]}", state)
    ways = [short, refused or ""]
    if not several:
        ways.insert(0, f"next {offset} · {short}")
    return Reader(
        name=name,
        next=offset,
        ways=ways,
        colour=cast["readers"][name],
        trouble=bool(refused),
        away=is_away,
        act=f"seek {name}" if can_be_dragged else None,
    )
