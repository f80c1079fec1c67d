"""A partition as a row of records: what the log's picture draws, and every later
picture that shows a log.

A partition here is plain data (see `PartitionLog.space` in log_story.py): its offsets,
segments and the records near something interesting. Where a log is longer than the
page, the middle is left out and counted; what stays visible are the end, the start, the
edges of segments and the places where readers stand.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, NamedTuple

from minikafka.theatre.drawing import (
    LEAST_STRETCH,
    NARROW,
    WIDE,
    Drawing,
    Place,
    fit,
    fitting,
    has_room,
    text_width,
)
from minikafka.theatre.lanes import Scene
from minikafka.theatre.text import key_part

# offsets from, up to (not included): one record, or a gap of several
Column = tuple[int, int]
CALL_OUT = 19  # height of one line of reader labels
LABEL = 240  # width of a reader's name in them


def columns(
    partition: dict[str, Any], readers: Iterable[int], room: int
) -> list[Column]:
    """Which records stand side by side in `room` columns, and which are only counted.
    readers: next offsets.
    """
    end, start = partition["log_end_offset"], partition["log_start_offset"]
    places = sorted(offset for offset in readers if offset < end)
    first = min([start, end, *places, *(base for base, _, _ in partition["segments"])])
    if end - first <= room:
        return [(offset, offset + 1) for offset in range(first, end)]
    edges = [base for base, _, _ in partition["segments"]]
    near = [offset + 1 for offset in places]
    wanted = [
        end - 1,
        start,
        *places,
        *(offset - 1 for offset in places),
        end - 2,
        *edges,
        *near,
    ]
    shown: set[int] = set()
    for offset in wanted:
        if (
            first <= offset < end
            and len(_with_gaps(shown | {offset}, first, end)) <= room
        ):
            shown.add(offset)
    # the rest of the room goes to the latest records
    for offset in range(end - 1, first - 1, -1):
        if len(_with_gaps(shown | {offset}, first, end)) > room:
            break
        shown.add(offset)
    return _with_gaps(shown, first, end)


def _with_gaps(shown: set[int], first: int, end: int) -> list[Column]:
    result: list[Column] = []
    at = first
    for offset in [*sorted(shown), end]:
        if offset > at:
            result.append((at, offset))
        if offset < end:
            result.append((offset, offset + 1))
        at = offset + 1
    return result


@dataclass
class Reader:
    """A reader's place in one partition: next is the offset of the record that it will
    read next.
    """

    name: str
    next: int
    words: str
    colour: str
    trouble: bool = False
    away: bool = False  # closed, crashed or frozen
    act: str | None = None  # what it does to a live run when it is dragged to a record


@dataclass(frozen=True)
class Style:
    """How high a row is.

    header: segments' file names, log start, log end and high watermark stand above;
    cell: a record's height.
    """

    header: bool
    cell: int
    words: int  # from the cells' foot to the first line of reader labels

    def height(self, call_outs: int) -> int:
        words = (
            self.words + (12 if self.header else 5) + CALL_OUT * (call_outs - 1)
            if call_outs
            else 24
        )
        return (58 if self.header else 2) + self.cell + words


LARGE, TALL = Style(True, 30, 42), Style(True, 44, 42)
MIDDLE, SMALL = Style(False, 30, 34), Style(False, 24, 27)


class Label(NamedTuple):
    """Where words stand, from left to right on the narrowest page, and the line that
    leads to them past nearer levels.

    level: 0 is nearest to the records. at, anchor: of the text.
    """

    left: float
    right: float
    line: float
    level: int
    at: float
    anchor: str


class Row:
    """Draws one partition at a place (x, y, width).

    pitch: units from one record to the next; now: the event that is shown.
    """

    def __init__(
        self,
        d: Drawing,
        partition: dict[str, Any],
        place: Place,
        pitch: float,
        now: int,
        readers: Sequence[Reader],
        style: Style,
    ) -> None:
        self.d, self.partition, self.now, self.readers, self.style = (
            d,
            partition,
            now,
            readers,
            style,
        )
        self.x, self.y, self.width = place
        self.right = self.x + self.width + 2  # no label ends beyond it
        self.pitch, self.cell = pitch, pitch - (5 if pitch >= 40 else 3)
        self.values = pitch >= 78
        self.cells_y = self.y + (58 if style.header else 2)
        self.key = str(partition["partition"])
        self.columns = columns(
            partition, [reader.next for reader in readers], int(self.width // pitch) - 1
        )

    def draw(self) -> None:
        self._segments()
        records = {record[0]: record for record in self.partition["records"]}
        for number, (offset, up_to) in enumerate(self.columns):
            x = self.x + number * self.pitch
            if up_to - offset > 1 or offset not in records:
                self._gap(offset, up_to, x)
            else:
                self._record(records[offset], x)
        at = self.x + len(self.columns) * self.pitch
        end = self.partition["log_end_offset"]
        self.d.slot(
            f"next/{self.key}",
            at,
            self.cells_y,
            self.cell,
            self.style.cell,
            end,
            f"{self.key}/{end}",
        )
        if self.style.header:
            self._boundaries()
        self._readers()

    def left_of(self, offset: int) -> float:
        """x of the boundary before a record."""
        for number, (_, up_to) in enumerate(self.columns):
            if offset < up_to:
                return self.x + number * self.pitch
        beyond = 1 if offset > self.partition["log_end_offset"] else 0
        return self.x + (len(self.columns) + beyond) * self.pitch

    def _segments(self) -> None:
        header = self.style.header
        if not header and len(self.partition["segments"]) == 1:
            return
        above, below = (24, 22) if header else (3, 3)
        top, height = self.cells_y - above, self.style.cell + above + below
        for base, up_to, state in self.partition["segments"]:
            inside = [
                n
                for n, (offset, upto) in enumerate(self.columns)
                if offset >= base and upto <= up_to
            ]
            if not inside and not (state == "active" and header):
                continue
            at = inside[0] if inside else len(self.columns)
            x, w = self.x + at * self.pitch - 2, max(len(inside), 1) * self.pitch - 1
            key = f"segment/{self.key}/{base}"
            fill, dash = ("none", "4 3") if state == "deleted" else ("wash", None)
            self.d.rect(
                key,
                x,
                top,
                w,
                height,
                fill,
                "rule",
                r=8,
                dash=dash,
                tip=f"segment {base:020d}.log, {state}",
            )
            if not header:
                continue
            room = w - 14 / LEAST_STRETCH
            name = fitting([f"…{base:04d}.log", f"…{base:04d}"], room, 12.5, mono=True)
            if name:
                self.d.note(key + "/name", x + 6, top + 17, name, mono=True)
                room -= (text_width(name, 12.5, mono=True) + 10) / LEAST_STRETCH
            if has_room(state, room, 12.5, bold=True):
                self.d.note(
                    key + "/state", x + w - 6, top + 17, state, "end", bold=True
                )

    def _record(self, record: list[Any], x: float) -> None:
        offset, letter, key, value, number, *_ = record
        gone = offset < self.partition["log_start_offset"]
        new = number == self.now
        key_words = "no key" if key is None else f"key {key}"
        value_words = "no value" if value is None else f"value {value}"
        look: dict[str, Any] = {
            "text": letter,
            "more": ("null" if value is None else value) if self.values else "",
            "below": str(offset),
            "fill": "none" if gone else "cell",
            "line": "ink" if new else "rule",
            "ink": "gone" if gone else "ink",
            "dash": "3 3" if gone else None,
            "width": 2 if new else None,
            "tip": (
                f"offset {offset} · {key_words} · {value_words}"
                + (" · deleted" if gone else "")
            ),
        }
        look |= self.look(record)
        self.d.cell(
            f"record/{self.key}/{offset}",
            x,
            self.cells_y,
            self.cell,
            self.style.cell,
            of=number,
            same=f"{self.key}/{offset}",
            **look,
        )

    def look(self, record: list[Any]) -> dict[str, Any]:
        """What a picture shows differently of a record."""
        return {}

    def _gap(self, offset: int, up_to: int, x: float) -> None:
        key, middle = f"gap/{self.key}/{up_to}", x + self.pitch / 2 - 2
        y, tip = (
            self.cells_y + self.style.cell / 2,
            f"offsets {offset} to {up_to - 1} are not drawn",
        )
        self.d.text(
            key,
            middle,
            y - 1,
            f"{up_to - offset}",
            "quiet",
            size=12,
            anchor="middle",
            tip=tip,
        )
        self.d.text(
            key + "/more",
            middle,
            y + 13,
            "more",
            "quiet",
            size=12,
            anchor="middle",
            tip=tip,
        )

    def boundaries(self) -> list[tuple[str, int]]:
        """What is marked above the records, as (name, offset)."""
        start, end = (
            self.partition["log_start_offset"],
            self.partition["log_end_offset"],
        )
        watermark = self.partition["high_watermark"]
        between = [] if watermark in (None, end) else [("high watermark", watermark)]
        return [("log start offset", start), *between, ("log end offset", end)]

    def _boundaries(self) -> None:
        """Labels over their lines, or beside them."""
        marks = sorted(self.boundaries(), key=lambda mark: mark[1])
        if len(marks) > 1 and marks[0][1] == marks[-1][1] == 0:
            marks = [("log start and end offset", 0)]
        every = [
            [
                self._boundary(*mark, side, level)
                for level in (1, 0)
                for side in (0, 1, -1)
            ]
            for mark in marks
        ]
        inside = [
            [
                one
                for one in each
                if self.x - 3 <= one.left and one.right <= self.right + 3
            ]
            for each in every
        ]
        placed = _placed(inside, sum) or [each[0] for each in every]
        for (name, offset), label in zip(marks, placed, strict=True):
            key, foot = f"boundary/{self.key}/{name}", self.y + 26 - 16 * label.level
            self.d.line(
                key,
                label.line,
                foot + 6,
                label.line,
                self.cells_y + self.style.cell + 4,
                "ink",
                width=1.5,
            )
            self.d.text(
                key + "/name",
                label.at,
                foot,
                f"{name} {offset}",
                size=12.5,
                bold=True,
                anchor=label.anchor,
            )

    def _boundary(self, name: str, offset: int, side: int, level: int) -> Label:
        """side: 0 over the line, 1 right of it, -1 left of it."""
        line, wide = (
            self.left_of(offset) - 2.5,
            text_width(f"{name} {offset}", 12.5, bold=True),
        )
        most = wide / LEAST_STRETCH
        anchor, at = (("middle", line), ("start", line + 5), ("end", line - 5))[side]
        if not side and line - wide / 2 < self.x - 2:
            anchor, at = "start", self.x - 2
        elif not side and line + most / 2 > self.right:
            anchor, at = "end", self.right
        left = at - most * {"start": 0, "middle": 0.5, "end": 1}[anchor]
        return Label(left, left + most, line, level, at, anchor)

    def _readers(self) -> None:
        top = self.cells_y + self.style.cell
        for reader, label in self.call_outs():
            self._reader(
                reader,
                label,
                top + 2,
                top + self.style.words - 6 + label.level * CALL_OUT,
            )

    def call_outs(self) -> list[tuple[Reader, Label]]:
        """The readers, each with its label on the highest level where it has room."""
        readers = sorted(self.readers, key=lambda reader: (-reader.next, reader.name))
        stems: list[float] = []
        for number, reader in enumerate(readers):
            together = sum(1 for other in readers[:number] if other.next == reader.next)
            stems.append(self.left_of(reader.next) - 2.5 - 6 * together)
        levels = range(len(readers))
        every = [
            [self._call_out(*each, level) for level in levels]
            for each in zip(readers, stems, strict=True)
        ]
        placed = (
            _placed(every, lambda way: (max(way), sum(way)))
            if 0 < len(readers) <= 4
            else []
        )
        return list(
            zip(
                readers,
                placed or [every[level][level] for level in levels],
                strict=True,
            )
        )

    def _call_out(self, reader: Reader, line: float, level: int) -> Label:
        """Right of its stem; at the right edge left of it."""
        wide = (
            text_width(self._name(reader), bold=True)
            + 8
            + text_width(reader.words, 12.5, mono=True)
            + 4
        )
        aside = 7 if reader.act else 0  # what is dragged is wider
        most, left = wide / LEAST_STRETCH, line + 9 + aside
        if left + most <= self.right + 8:
            return Label(left, left + most, line, level, left, "start")
        right = max(line - 12 - aside - wide, self.x - 4) + wide
        return Label(right - most, right, line, level, right, "end")

    @property
    def lines(self) -> int:
        """Of the readers' labels."""
        return max((label.level + 1 for _, label in self.call_outs()), default=0)

    def _name(self, reader: Reader) -> str:
        """As it stands on the page."""
        return fit(reader.name, LABEL * 0.6 if self.d.narrow else LABEL, bold=True)

    def _reader(self, reader: Reader, label: Label, top: float, foot: float) -> None:
        x = label.line
        key = f"reader/{self.key}/{key_part(reader.name)}"
        colour = "trouble" if reader.trouble else reader.colour
        self.d.line(
            key, x, top, x, foot, colour, width=2.5, dash="3 3" if reader.away else None
        )
        if reader.act:
            tip = f"drag {reader.name} to the record that it is to read next"
            self.d.circle(
                key + "/grip",
                x,
                foot + 1,
                7.5,
                colour,
                "paper",
                act=reader.act,
                onto=self.key,
                tip=tip,
            )
        else:
            self.d.path(key + "/head", x, foot - 4, "M0,0 l-6,10 h12 z", colour)
        ink = "trouble" if reader.trouble else "quiet"
        self.d.text(
            key + "/name",
            label.at,
            foot + 6,
            self._name(reader),
            bold=True,
            more=reader.words,
            ink=ink,
            halo="paper",
            anchor=label.anchor,
        )


def lines_needed(
    rows: Callable[[Drawing, Scene], Sequence[Row]], scenes: Sequence[Scene]
) -> dict[int, int]:
    """How many lines of readers' labels a play needs, in each layout."""
    every = {
        width: [row.lines for scene in scenes for row in rows(Drawing(width), scene)]
        for width in (WIDE, NARROW)
    }
    return {width: max([1, *lines]) for width, lines in every.items()}


def _placed(
    options: Sequence[Sequence[Label]], cost: Callable[[Sequence[int]], Any]
) -> list[Label]:
    """One of each so that all keep clear, and the first ones as far as that can be;
    nothing if it can't.
    """
    ways = sorted(product(*(range(len(each)) for each in options)), key=cost)
    tried = (
        [each[number] for each, number in zip(options, way, strict=True)]
        for way in ways
    )
    return next((labels for labels in tried if _clear(labels)), [])


def _clear(labels: Sequence[Label]) -> bool:
    """Whether labels keep clear of each other, and of the lines to those beyond."""
    return all(
        (a.level != b.level or a.right + 8 <= b.left or b.right + 8 <= a.left)
        and (
            a.level > b.level
            or not a.left - 4 <= b.line <= a.right + 4 * (a.level < b.level)
        )
        for a, b in permutations(labels, 2)
    )
