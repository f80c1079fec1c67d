"""A partition as a row of records: what the log's picture draws, and every later picture that shows a log.

A partition here is plain data (see `PartitionLog.space` in log.py): its offsets, segments and the records near
something interesting. Where a log is longer than the page, the middle is left out and counted; what stays visible are
the end, the start, the edges of segments and the places where readers stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, NamedTuple

from minikafka.theatre.drawing import Drawing, fit, text_width
from minikafka.theatre.lanes import LEAST_STRETCH
from minikafka.theatre.text import key_part

Column = tuple[int, int]  # offsets from, up to (not included): one record, or a gap of several
CALL_OUT = 19  # height of one line of reader labels
LABEL = 240  # width of a reader's name in them
PLACES = [(0, 0), (1, 0), (-1, 0), (0, 1), (1, 1), (-1, 1)]  # of a boundary's label: middle, right, left; which level


def columns(partition: dict[str, Any], readers: Iterable[int], room: int) -> list[Column]:
    """Which records stand side by side in `room` columns, and which are only counted. readers: next offsets."""
    end, start = partition["log_end_offset"], partition["log_start_offset"]
    places = sorted(offset for offset in readers if offset < end)
    first = min([start, end, *places, *(base for base, _, _ in partition["segments"])])
    if end - first <= room:
        return [(offset, offset + 1) for offset in range(first, end)]
    edges = [base for base, _, _ in partition["segments"]]
    near = [offset + 1 for offset in places]
    wanted = [end - 1, start, *places, *(offset - 1 for offset in places), end - 2, *edges, *near]
    shown: set[int] = set()
    for offset in wanted:
        if first <= offset < end and _width(shown | {offset}, first, end) <= room:
            shown.add(offset)
    for offset in range(end - 1, first - 1, -1):  # the rest of the room goes to the latest records
        if offset not in shown and _width(shown | {offset}, first, end) > room:
            break
        shown.add(offset)
    return _with_gaps(sorted(shown), first, end)


def _with_gaps(shown: Sequence[int], first: int, end: int) -> list[Column]:
    result: list[Column] = []
    at = first
    for offset in [*shown, end]:
        if offset > at:
            result.append((at, offset))
        if offset < end:
            result.append((offset, offset + 1))
        at = offset + 1
    return result


def _width(shown: set[int], first: int, end: int) -> int:
    return len(_with_gaps(sorted(shown), first, end))


@dataclass
class Reader:
    """A reader's place in one partition: next is the offset of the record that it will read next."""

    name: str
    next: int
    words: str
    colour: str
    trouble: bool = False
    away: bool = False  # closed, crashed or frozen


@dataclass(frozen=True)
class Style:
    """How high a row is.

    header: segments' file names, log start, log end and high watermark stand above; cell: a record's height.
    """

    header: bool
    cell: int
    words: int  # from the cells' foot to the first line of reader labels

    def height(self, call_outs: int) -> int:
        return (
            (58 if self.header else 2)
            + self.cell
            + (self.words + (12 if self.header else 5) + CALL_OUT * (call_outs - 1) if call_outs else 24)
        )


LARGE, TALL = Style(True, 30, 42), Style(True, 44, 42)
MIDDLE, SMALL = Style(False, 30, 34), Style(False, 24, 27)


@dataclass(frozen=True)
class CallOut:
    """A reader's stem at x, its label from left on, as wide as that."""

    reader: Reader
    x: float
    left: float
    wide: float
    before: bool = False  # at the right edge the label stands left of its stem, and ends there

    @property
    def span(self) -> tuple[float, float]:
        """From where to where it reaches on the narrowest page of this layout."""
        more = self.wide / LEAST_STRETCH - self.wide
        return (self.left - more, self.left + self.wide) if self.before else (self.left, self.left + self.wide + more)


class Label(NamedTuple):
    """A boundary's: from left to right on one of two levels, over or beside its line."""

    left: float
    right: float
    level: int
    line: float
    at: float
    anchor: str


class Row:
    """Draws one partition at a place (x, y, width).

    pitch: units from one record to the next; now: the event that is shown.
    """

    def __init__(self, d: Drawing, partition: dict[str, Any], place: tuple[float, float, float], pitch: float, now: int,
                 readers: Sequence[Reader], style: Style) -> None:  # fmt: skip
        self.d, self.partition, self.now, self.readers, self.style = d, partition, now, readers, style
        self.x, self.y, self.width = place
        self.right = self.x + self.width + 2  # no label ends beyond it
        self.pitch, self.cell = pitch, pitch - (5 if pitch >= 40 else 3)
        self.values = pitch >= 78
        self.cells_y = self.y + (58 if style.header else 2)
        self.key = str(partition["partition"])
        self.columns = columns(partition, [reader.next for reader in readers], int(self.width // pitch) - 1)

    def draw(self) -> None:
        self._segments()
        records = {record[0]: record for record in self.partition["records"]}
        for number, (offset, up_to) in enumerate(self.columns):
            x = self.x + number * self.pitch
            if up_to - offset > 1 or offset not in records:
                self._gap(offset, up_to, x)
            else:
                self._record(records[offset], x)
        self._end()
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
            inside = [n for n, (offset, upto) in enumerate(self.columns) if offset >= base and upto <= up_to]
            if not inside and not (state == "active" and self.style.header):
                continue
            at = inside[0] if inside else len(self.columns)
            x, w = self.x + at * self.pitch - 2, max(len(inside), 1) * self.pitch - 1
            key = f"segment/{self.key}/{base}"
            gone = state == "deleted"
            self.d.rect(
                key, x, top, w, height, "none" if gone else "wash", "rule", r=8, dash="4 3" if gone else None,
                tip=f"segment {base:020d}.log, {state}",
            )  # fmt: skip
            if not self.style.header:
                continue
            name, short = f"…{base:04d}.log", f"…{base:04d}"
            room = w * LEAST_STRETCH - 14
            for words in (name, short):
                if text_width(words, 12.5, mono=True) <= room:
                    self.d.text(key + "/name", x + 6, top + 17, words, "quiet", size=12.5, mono=True)
                    room -= text_width(words, 12.5, mono=True) + 10
                    break
            if text_width(state, 12.5, bold=True) <= room:
                self.d.text(key + "/state", x + w - 6, top + 17, state, "quiet", size=12.5, bold=True, anchor="end")

    def _record(self, record: list[Any], x: float) -> None:
        offset, letter, key, value, number, *_ = record
        gone = offset < self.partition["log_start_offset"]
        new = number == self.now
        key_words = "no key" if key is None else f"key {key}"
        value_words = "no value" if value is None else f"value {value}"
        look: dict[str, Any] = {
            "text": letter, "more": ("null" if value is None else value) if self.values else "", "below": str(offset),
            "fill": "none" if gone else "cell", "line": "ink" if new else "rule", "ink": "gone" if gone else "ink",
            "dash": "3 3" if gone else None, "width": 2 if new else None,
            "tip": f"offset {offset} · {key_words} · {value_words}" + (" · deleted" if gone else ""),
        }  # fmt: skip
        look |= self.look(record)
        self.d.cell(f"record/{self.key}/{offset}", x, self.cells_y, self.cell, self.style.cell, of=number,
                    same=f"{self.key}/{offset}", **look)  # fmt: skip

    def look(self, record: list[Any]) -> dict[str, Any]:
        """What a picture shows differently of a record."""
        return {}

    def _gap(self, offset: int, up_to: int, x: float) -> None:
        key, middle = f"gap/{self.key}/{up_to}", x + self.pitch / 2 - 2
        y, tip = self.cells_y + self.style.cell / 2, f"offsets {offset} to {up_to - 1} are not drawn"
        self.d.text(key, middle, y - 1, f"{up_to - offset}", "quiet", size=12, anchor="middle", tip=tip)
        self.d.text(key + "/more", middle, y + 13, "more", "quiet", size=12, anchor="middle", tip=tip)

    def _end(self) -> None:
        end = self.partition["log_end_offset"]
        self.d.cell(
            f"next/{self.key}", self.x + len(self.columns) * self.pitch, self.cells_y, self.cell, self.style.cell,
            below=str(end), fill="none", line="ink", dash="2 3", weight=600, tip=f"the next record gets offset {end}",
        )  # fmt: skip

    def boundaries(self) -> list[tuple[str, int]]:
        """What is marked above the records, as (name, offset)."""
        marks = [
            ("log start offset", self.partition["log_start_offset"]),
            ("log end offset", self.partition["log_end_offset"]),
        ]
        watermark = self.partition["high_watermark"]
        if watermark is not None and watermark != self.partition["log_end_offset"]:
            marks.insert(1, ("high watermark", watermark))
        return marks

    def _boundaries(self) -> None:
        """Labels over their lines, or beside them: none meets another label, or the line of a higher one."""
        marks = sorted(self.boundaries(), key=lambda mark: mark[1])
        if len(marks) > 1 and marks[0][1] == marks[-1][1] == 0:
            marks = [("log start and end offset", 0)]
        widths = [text_width(f"{name} {offset}", 12.5, bold=True) for name, offset in marks]
        ways = sorted(product(PLACES, repeat=len(marks)), key=lambda places: sum(map(PLACES.index, places)))
        tried = [
            [self._label(mark[1], wide, *place) for mark, wide, place in zip(marks, widths, places, strict=True)]
            for places in ways
        ]
        inside = [each for each in tried if all(self.x - 3 <= one.left and one.right <= self.right + 3 for one in each)]
        for (name, offset), label in zip(marks, next((each for each in inside if _clear(each)), tried[0]), strict=True):
            key, foot = f"boundary/{self.key}/{name}", self.y + 10 + 16 * label.level
            self.d.line(key, label.line, foot + 6, label.line, self.cells_y + self.style.cell + 4, "ink", width=1.5)
            self.d.text(key + "/name", label.at, foot, f"{name} {offset}", size=12.5, bold=True, anchor=label.anchor)

    def _label(self, offset: int, wide: float, side: int, level: int) -> Label:
        """Where a boundary's label stands; what it takes on a page that brings places nearer to each other."""
        line = self.left_of(offset) - 2.5
        most = wide / LEAST_STRETCH
        anchor, at = ("middle", line) if not side else ("start", line + 5) if side > 0 else ("end", line - 5)
        if anchor == "middle" and line - wide / 2 < self.x - 2:
            anchor, at = "start", self.x - 2
        if anchor == "middle" and line + most / 2 > self.right:
            anchor, at = "end", self.right
        left = at - most * {"start": 0, "middle": 0.5, "end": 1}[anchor]
        return Label(left, left + most, level, line, at, anchor)

    def _readers(self) -> None:
        top = self.cells_y + self.style.cell
        for call_out, level in self.places():
            self._reader(call_out, top + 2, top + self.style.words - 6 + level * CALL_OUT)

    def places(self) -> list[tuple[CallOut, int]]:
        """The readers' labels, each on the highest level where no label meets another label or stem."""
        call_outs: list[CallOut] = []
        for reader in sorted(self.readers, key=lambda reader: (-reader.next, reader.name)):
            x = self.left_of(reader.next) - 2.5 - 6 * sum(1 for other in call_outs if other.reader.next == reader.next)
            wide = text_width(self._name(reader), bold=True) + 8 + text_width(reader.words, 12.5, mono=True) + 4
            fits = x + 9 + wide / LEAST_STRETCH <= self.right + 8
            call_outs.append(CallOut(reader, x, x + 9 if fits else max(x - 12 - wide, self.x - 4), wide, not fits))
        count = len(call_outs)
        choices = product(range(count), repeat=count) if 0 < count <= 4 else ()
        for levels in sorted(choices, key=lambda levels: (max(levels), sum(levels))):
            if all(_apart(a, b, levels[i], levels[j]) for (i, a), (j, b) in permutations(enumerate(call_outs), 2)):
                return list(zip(call_outs, levels, strict=True))
        return list(zip(call_outs, range(count), strict=True))

    def _name(self, reader: Reader) -> str:
        """As it stands on the page."""
        return fit(reader.name, LABEL * 0.6 if self.d.narrow else LABEL, bold=True)

    def _reader(self, call_out: CallOut, top: float, foot: float) -> None:
        reader, x = call_out.reader, call_out.x
        key = f"reader/{self.key}/{key_part(reader.name)}"
        colour = "trouble" if reader.trouble else reader.colour
        self.d.line(key, x, top, x, foot, colour, width=2.5, dash="3 3" if reader.away else None)
        self.d.path(key + "/head", x, foot - 4, "M0,0 l-6,10 h12 z", colour)
        ink = "trouble" if reader.trouble else "quiet"
        at, anchor = (call_out.left + call_out.wide, "end") if call_out.before else (call_out.left, "start")
        name = self._name(reader)
        self.d.text(key + "/name", at, foot + 6, name, bold=True, more=reader.words, ink=ink, halo="paper",
                    anchor=anchor)  # fmt: skip


def _apart(a: CallOut, b: CallOut, level: int, other: int) -> bool:
    """Whether a's label is clear of b's stem, which goes down to b's level, and of b's label on the same level."""
    if level > other:
        return True
    (left, right), (from_, to) = a.span, b.span
    return not left - 5 <= b.x <= right and (level < other or right + 8 <= from_ or to + 8 <= left)


def _clear(labels: Sequence[Label]) -> bool:
    """Whether labels keep clear of each other and of the lines from above."""
    return all(
        (a.level != b.level or a.right + 8 <= b.left or b.right + 8 <= a.left)
        and (a.level <= b.level or not a.left - 4 <= b.line <= a.right + 4)
        for a, b in permutations(labels, 2)
    )
