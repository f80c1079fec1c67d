"""A partition as a row of records: what the log's picture draws, and every later
picture that shows a log.

A partition here is plain data (see `PartitionLog.space` in log_state.py): its offsets,
segments and the records near something interesting. Which of them have a place where
a log is longer than the page is in columns.py.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations, product
from typing import Any, Generic, NamedTuple, TypeVar

from minikafka.theatre.axis import Scene
from minikafka.theatre.boxes import Item, Places, part
from minikafka.theatre.columns import Column, Log, columns
from minikafka.theatre.drawing import (
    CELL,
    LEAST_STRETCH,
    Box,
    Drawing,
    Look,
    fit,
    fitting,
    has_room,
    text_width,
)
from minikafka.theatre.text import key_part


class Segment(NamedTuple):
    """state: active, closed or deleted."""

    base: int
    up_to: int
    state: str


class Record(NamedTuple):
    """letter: of its key. number: of the event that wrote it. producer, days: who
    wrote it and how old it is, in pictures that tell that.
    """

    offset: int
    letter: str
    key: str | None
    value: str | None
    number: int
    producer: int = 0
    days: int | None = None


class Boundary(NamedTuple):
    """A mark above the records, before one of them."""

    name: str
    offset: int

    @property
    def words(self) -> str:
        """The name with its offset."""
        return f"{self.name} {self.offset}"


WIDEST, LEAST = 110, 38  # from one record to the next
LEAST_FOR_ALL = 24  # as long as it allows for all records
MOST_PLACES = 16  # of a log that is longer than the page
WITH_VALUE = 78  # so that a record's value has room
TWO_LINES = 44  # height of a record with its value below its letter
LINE = 16  # height of a line of labels above the records; the upper one has 2 more
OFFSETS = 24  # height of the numbers below the records
CALL_OUT = 19  # height of one line of reader labels
LABEL = 240  # width of a reader's name in them


@dataclass
class Reader:
    """A reader's place in one partition: next is the offset of the record that it will
    read next. ways: what is said of it, the longest way first.
    """

    name: str
    next: int
    ways: Sequence[str]
    colour: str
    trouble: bool = False
    away: bool = False  # closed, crashed or frozen
    act: str | None = None  # what it does to a live run when it is dragged to a record


# the part of a text's width that is left of its anchor
LEFT_OF_ANCHOR = {"start": 0, "middle": 0.5, "end": 1}


class Label(NamedTuple):
    """Where words stand, from left to right on the narrowest page, and the line that
    leads to them past nearer levels.

    level: 0 is nearest to the records. at, anchor: of the text.
    """

    words: str
    left: float
    right: float
    line: float
    level: int
    at: float
    anchor: str


class Row:
    """Draws one partition. place: of its records, which begin at its upper edge.

    pitch: units from one record to the next; now: the event that is shown. tall: height
    of a record; size: of its letters. header: segments' file names, log start, log end and high watermark
    stand above; tab: from the labels' lines down to the records. words: from the
    records' foot to the first line of readers.
    """

    header = True
    tab = 26
    words: float = 42

    def __init__(
        self,
        d: Drawing,
        partition: Log,
        place: Box,
        pitch: float,
        now: int,
        readers: Sequence[Reader],
    ) -> None:
        self.d = d
        self.partition = partition
        self.now = now
        self.readers = readers
        self.x, self.cells_y, self.width, _ = place
        self.right = self.x + self.width  # no label ends beyond it
        self.left: float = self.x - 4  # and no reader's begins before it
        self.pitch = pitch
        self.cell = pitch - (5 if pitch >= 40 else 3)
        self.resize(tall_for(pitch))
        self.values = pitch >= WITH_VALUE
        self.key = str(partition["partition"])
        self.columns = self.columns_with(reader.next for reader in readers)

    def resize(self, tall: int, size: float = 0) -> None:
        """Make records so high, with letters of this size, or of one that fits."""
        self.tall = tall
        self.size = size or max(tall * 0.2 + 7.5, CELL)

    def show_values(self) -> None:
        """Below the letters."""
        self.resize(TWO_LINES, CELL)

    @property
    def above(self) -> float:
        """The height of what is said above the records."""
        if not self.header:
            return 2
        levels = [label.level for _, label in self.labels()]
        return self.tab + LINE * (1 + max(levels, default=0)) + 2

    @property
    def below(self) -> float:
        """The height of records, and of what is said below them."""
        levels = [label.level for _, label in self.call_outs()]
        return self.tall + self.words + 8 + CALL_OUT * max(levels, default=0)

    def columns_with(self, offsets: Iterable[int]) -> list[Column]:
        """As many columns as fit, with these offsets and the next one among them."""
        count = int(self.width // self.pitch) - 1
        return columns(self.partition, offsets, count)

    @property
    def cells_foot(self) -> float:
        """The lower edge of the records."""
        return self.cells_y + self.tall

    def draw(self) -> None:
        """Segments behind, then records, then what is said about them."""
        self._segments()
        known = {record[0]: Record(*record) for record in self.partition["records"]}
        for number, column in enumerate(self.columns):
            x = self.x_of(number)
            record = known.get(column.first)
            if record is None or column.up_to - column.first > 1:
                self._gap(column, x)
            else:
                self._record(record, x)

        end = self.partition["log_end_offset"]
        place = self._cell_at(self.x_of(len(self.columns)))
        self.d.slot(f"next/{self.key}", *place, end, f"{self.key}/{end}")
        if self.header:
            self._boundaries()
        self._readers()

    def x_of(self, column: int) -> float:
        """The x at which a column begins."""
        return self.x + column * self.pitch

    def _cell_at(self, x: float) -> Box:
        """The place of a record that begins there."""
        return Box(x=x, y=self.cells_y, w=self.cell, h=self.tall)

    def left_of(self, offset: int) -> float:
        """x of the boundary before a record."""
        for number, column in enumerate(self.columns):
            if offset < column.up_to:
                return self.x_of(number)
        is_beyond = offset > self.partition["log_end_offset"]
        return self.x_of(len(self.columns) + is_beyond)

    def _segments(self) -> None:
        """A single one says nothing without its name."""
        segments = [Segment(*segment) for segment in self.partition["segments"]]
        if len(segments) == 1 and not self.header:
            return
        for segment in segments:
            self._segment(segment)

    def _segment(self, segment: Segment) -> None:
        """A frame around its records; the active one may have none yet."""
        header = self.header
        inside = [
            number
            for number, column in enumerate(self.columns)
            if segment.base <= column.first and column.up_to <= segment.up_to
        ]
        is_a_place_to_write = segment.state == "active" and header
        if not inside and not is_a_place_to_write:
            return
        first = inside[0] if inside else len(self.columns)
        above, below = (24, 22) if header else (3, 3)
        box = Box(
            x=self.x_of(first) - 2,
            y=self.cells_y - above,
            w=max(len(inside), 1) * self.pitch - 1,
            h=self.tall + above + below,
        )
        is_deleted = segment.state == "deleted"
        fill, dash = ("none", "4 3") if is_deleted else ("wash", None)
        key = f"segment/{self.key}/{segment.base}"
        tip = f"segment {segment.base:020d}.log, {segment.state}"
        self.d.rect(key, *box, fill, "rule", r=8, dash=dash, tip=tip)
        if header:
            self._name_segment(key, segment, box)

    def _name_segment(self, key: str, segment: Segment, box: Box) -> None:
        """Draw its file's name and its state in its upper corners, as far as
        they fit.
        """
        room = box.w - 14 / LEAST_STRETCH
        corner = self.d.part(key, box.x, box.y)
        long, short = f"…{segment.base:04d}.log", f"…{segment.base:04d}"
        name = fitting([long, short], room, 12.5, mono=True)

        if name:
            corner.note("name", 6, 17, name, mono=True)
            room -= (text_width(name, 12.5, mono=True) + 10) / LEAST_STRETCH

        state = segment.state
        if has_room(state, room, 12.5, bold=True):
            corner.note("state", box.w - 6, 17, state, "end", bold=True)

    def _record(self, record: Record, x: float) -> None:
        """Draw a record as it was written; a deleted one is an outline."""
        is_gone = record.offset < self.partition["log_start_offset"]
        is_new = record.number == self.now
        value = "null" if record.value is None else record.value
        key_words = "no key" if record.key is None else f"key {record.key}"
        value_words = "no value" if record.value is None else f"value {value}"
        tip = f"offset {record.offset} · {key_words} · {value_words}"
        look: Look = {
            "text": record.letter,
            "size": self.size,
            "more": value if self.values else "",
            "below": str(record.offset),
            "fill": "none" if is_gone else "cell",
            "line": "ink" if is_new else "rule",
            "ink": "gone" if is_gone else "ink",
            "dash": "3 3" if is_gone else None,
            "width": 2 if is_new else None,
            "tip": f"{tip} · deleted" if is_gone else tip,
        }
        look |= self.look(record)
        key = f"record/{self.key}/{record.offset}"
        same = f"{self.key}/{record.offset}"
        self.d.cell(key, *self._cell_at(x), of=record.number, same=same, **look)

    def look(self, record: Record) -> Look:
        """The look of a record, where a picture shows it differently."""
        return {}

    def _gap(self, column: Column, x: float) -> None:
        """Records that have no place, counted."""
        key = f"gap/{self.key}/{column.up_to}"
        count = column.up_to - column.first
        tip = f"offsets {column.first} to {column.up_to - 1} are not drawn"
        middle = x + self.pitch / 2 - 2
        y = self.cells_y + self.tall / 2
        if has_room("more", self.pitch - 4):
            self.d.left_out(key, middle, y, count, tip=tip, tip_of_more=tip)
        else:
            look: Look = {"size": 12, "anchor": "middle", "tip": tip}
            self.d.text(key, middle, y + 4, f"+{count}", "quiet", **look)

    def boundaries(self) -> list[Boundary]:
        """The marks above the records."""
        log = self.partition
        start = Boundary("log start offset", log["log_start_offset"])
        end = Boundary("log end offset", log["log_end_offset"])
        watermark = log["high_watermark"]
        if watermark in (None, end.offset):
            return [start, end]
        return [start, Boundary("high watermark", watermark), end]

    def _boundaries(self) -> None:
        """Labels over their lines, or beside them."""
        for mark, label in self.labels():
            key = f"boundary/{self.key}/{mark.name}"
            top = self.cells_y - self.tab - LINE * label.level
            foot = top - 6
            bottom = self.cells_foot + 4
            self.d.upright(
                key, x=label.line, top=top, bottom=bottom, line="ink", width=1.5
            )
            look: Look = {"size": 12.5, "bold": True, "anchor": label.anchor}
            self.d.text(f"{key}/name", label.at, foot, label.words, **look)

    def labels(self) -> list[tuple[Boundary, Label]]:
        """The marks above the records, each with the place of its words."""
        marks = sorted(self.boundaries(), key=lambda mark: mark.offset)
        if len(marks) > 1 and marks[0].offset == marks[-1].offset == 0:
            marks = [Boundary("log start and end offset", 0)]
        every = [self._labels_of(mark) for mark in marks]
        inside = [
            [label for label in labels if self._is_inside(label)] for labels in every
        ]
        placed = _placed(inside, sum) or [labels[0] for labels in every]
        return list(zip(marks, placed, strict=True))

    def _is_inside(self, label: Label) -> bool:
        """Whether a label keeps within the row."""
        return self.x - 3 <= label.left and label.right <= self.right + 3

    def _labels_of(self, mark: Boundary) -> list[Label]:
        """The places for its words, the best first."""
        sides = ("over", "right", "left")
        return [self._boundary(mark, side, level) for level in (1, 0) for side in sides]

    def _boundary(self, mark: Boundary, side: str, level: int) -> Label:
        """side: of the line; over it, or as near as the row's ends allow."""
        line = self.left_of(mark.offset) - 2.5
        wide = text_width(mark.words, 12.5, bold=True)
        most = wide / LEAST_STRETCH
        at = line

        anchor = "middle"
        if side == "right":
            at = line + 5
            anchor = "start"
        elif side == "left":
            at = line - 5
            anchor = "end"
        elif line - wide / 2 < self.x - 2:
            at = self.x - 2
            anchor = "start"
        elif line + most / 2 > self.right:
            at = self.right
            anchor = "end"

        left = at - most * LEFT_OF_ANCHOR[anchor]
        return Label(mark.words, left, left + most, line, level, at, anchor)

    def _readers(self) -> None:
        """Under the records, each with a line up to its place."""
        top = self.cells_foot + 2
        first_line = self.cells_foot + self.words - 6
        for reader, label in self.call_outs():
            self._reader(reader, label, top, first_line + label.level * CALL_OUT)

    def call_outs(self) -> list[tuple[Reader, Label]]:
        """The readers, each with its label on the highest level where it has room."""
        readers = sorted(self.readers, key=lambda reader: (-reader.next, reader.name))
        stems: list[float] = []
        for number, reader in enumerate(readers):
            together = sum(other.next == reader.next for other in readers[:number])
            stems.append(self.left_of(reader.next) - 2.5 - 6 * together)

        levels = range(len(readers))
        # with one side only, where there would be too many ways
        sides = 2 if len(readers) < 4 else 1
        every = [
            [
                label
                for level in levels
                for label in self._call_outs_of(reader, stem, level)[:sides]
            ]
            for reader, stem in zip(readers, stems, strict=True)
        ]
        placed: list[Label] = []

        def cost(way: Sequence[int]) -> tuple[int, int, int]:
            """Words that aren't said, and lines."""
            labels = [every[at][number] for at, number in enumerate(way)]
            said = sum(len(label.words) for label in labels)
            return -said, max(label.level for label in labels), sum(way)

        if 0 < len(readers) <= 4:
            placed = _placed(every, cost)
        each_lower = [
            self._call_outs_of(reader, stem, level)[0]
            for level, (reader, stem) in enumerate(zip(readers, stems, strict=True))
        ]
        return list(zip(readers, placed or each_lower, strict=True))

    def _call_outs_of(self, reader: Reader, line: float, level: int) -> list[Label]:
        """Right of its stem and left of it, in as many words as have room there; first
        where there are more.
        """
        name = text_width(self._name(reader), bold=True)
        aside = 7 if reader.act else 0  # what is dragged is wider
        left = line + 9 + aside
        right = line - 12 - aside
        labels: dict[str, Label] = {}
        for words in reader.ways:
            wide = name + 12 + text_width(words, 12.5, mono=True)
            most = wide / LEAST_STRETCH
            label = Label(words, left, left + most, line, level, left, "start")
            if label.right <= self.right:
                labels.setdefault("right", label)
            label = Label(words, right - most, right, line, level, right, "end")
            if label.left >= self.left:
                labels.setdefault("left", label)
        if labels:
            return list(labels.values())
        left = self.left
        return [Label("", left, left + most, line, level, left, "start")]

    def _name(self, reader: Reader) -> str:
        """A reader's name on the page."""
        return fit(reader.name, min(self.width / 3, LABEL), bold=True)

    def _reader(self, reader: Reader, label: Label, top: float, foot: float) -> None:
        """A line with a head, or with a grip where it can be dragged, and its label."""
        x = label.line
        key = f"reader/{self.key}/{key_part(reader.name)}"
        colour = reader.colour
        ink = "quiet"
        if reader.trouble:
            colour = ink = "trouble"
        dash = "3 3" if reader.away else None
        self.d.upright(
            key, x=x, top=top, bottom=foot, line=colour, width=2.5, dash=dash
        )
        if reader.act:
            grip: Look = {
                "act": reader.act,
                "onto": self.key,
                "tip": f"drag {reader.name} to the record that it is to read next",
            }
            self.d.circle(
                f"{key}/grip", x=x, y=foot + 1, r=7.5, fill=colour, line="paper", **grip
            )
        else:
            self.d.path(
                f"{key}/head", x=x, y=foot - 4, d="M0,0 l-6,10 h12 z", fill=colour
            )
        self.d.text(
            f"{key}/name",
            label.at,
            foot + 6,
            self._name(reader),
            bold=True,
            more=label.words,
            ink=ink,
            halo="paper",
            anchor=label.anchor,
        )


def pitch_for(width: float, most: int, least: float = LEAST) -> float:
    """From one record to the next: so that there is room for all of them and the next
    one, if they can be seen then. most: of the longest log. least: if not.
    """
    for_all = min(width / (most + 1.1), WIDEST)
    return for_all if for_all >= LEAST_FOR_ALL else max(width / MOST_PLACES, least)


def tall_for(pitch: float) -> int:
    """The height of a record: the wider, the higher, as far as it looks like one."""
    return round(min(max(0.38 * pitch, 30), 42))


R = TypeVar("R", bound=Row)


class Room(NamedTuple):
    """The height that a row needs at any step, above the records and from their upper
    edge on.
    """

    above: float
    below: float


class RowBox(Generic[R]):
    """A partition's row as a box, as high as it must be at any step of its play.

    name: of the box. row: the row of a scene, if it has one then, with its records at
    the upper edge of a place. most: records of the longest log.
    """

    def __init__(
        self,
        name: str,
        scenes: Sequence[Scene],
        row: Callable[[Drawing, Box, Scene], R | None],
        most: int,
    ) -> None:
        self.name = name
        self.row = row
        self.places = most + 1.1

        @cache
        def room(width: float) -> Room:
            place = Box(0, 0, width, 0)
            d = Drawing(int(width))
            rows = [found for scene in scenes if (found := row(d, place, scene))]
            above = max((each.above for each in rows), default=0)
            return Room(above, max((each.below for each in rows), default=0))

        self.room = room

    def item(
        self,
        draw: Callable[[Drawing, Places, R], None],
        wide: float = 0,
        least: float = 5.5 * LEAST,
    ) -> Item:
        """draw: the row at its place. wide: a record with all that it says."""

        def drawn(d: Drawing, places: Places, scene: Scene) -> None:
            row = self.at(d, places, scene)
            if row:
                draw(d, places, row)

        def high(width: float) -> float:
            return sum(self.room(width))

        wanted = max(wide, LEAST) * self.places
        return part(self.name, drawn, high=high, least=least, wanted=wanted, grow=1)

    def at(self, d: Drawing, places: Places, scene: Scene) -> R | None:
        """The row at its place, under the labels that it has at any step."""
        place = places[self.name]
        below = place.y + self.room(place.w).above
        return self.row(d, place._replace(y=below), scene)


def _placed(
    options: Sequence[Sequence[Label]], cost: Callable[[Sequence[int]], Any]
) -> list[Label]:
    """One label of each so that none overlap, preferring the first ones; empty if that
    is impossible.
    """
    numbers = [range(len(labels)) for labels in options]
    for way in sorted(product(*numbers), key=cost):
        chosen = zip(options, way, strict=True)
        placed = [labels[number] for labels, number in chosen]
        if all(_clear(one, other) for one, other in permutations(placed, 2)):
            return placed
    return []


def _clear(label: Label, other: Label) -> bool:
    """Whether a label keeps clear of another one, and of the line that leads to it."""
    is_left = label.right + 8 <= other.left
    is_right = other.right + 8 <= label.left
    if label.level == other.level and not (is_left or is_right):
        return False
    if label.level > other.level:
        return True
    right = label.right + 4 if label.level < other.level else label.right
    return not label.left - 4 <= other.line <= right
