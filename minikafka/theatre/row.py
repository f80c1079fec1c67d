"""A partition as a row of records: what the log's picture draws, and every later picture that shows a log.

A partition here is plain data (see `PartitionLog.space` in log.py): its offsets, segments and the records near something interesting.
Where a log is longer than the page, the middle is left out and counted; what stays visible are the end, the start, the edges of
segments and the places where readers stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from minikafka.theatre.drawing import Drawing, fit, text_width

Column = tuple[int, int]  # offsets from, up to (not included): one record, or a gap of several
CALL_OUT = 19  # height of one line of reader labels


def columns(partition: dict[str, Any], readers: Iterable[int], room: int) -> list[Column]:
    """Which records stand side by side in `room` columns, and which are only counted. readers: next offsets."""
    end, start = partition["log_end_offset"], partition["log_start_offset"]
    places = sorted(offset for offset in readers if offset < end)
    first = min([start, end, *places, *(base for base, _, state in partition["segments"] if state == "deleted")])
    if end - first <= room:
        return [(offset, offset + 1) for offset in range(first, end)]
    edges = [base for base, _, _ in partition["segments"]]
    wanted = [end - 1, start, *places, *(offset - 1 for offset in places), end - 2, *edges, *(offset + 1 for offset in places)]
    wanted += range(end - 3, first - 1, -1)
    shown: set[int] = set()
    for offset in wanted:
        if first <= offset < end and _width(shown | {offset}, first, end) <= room:
            shown.add(offset)
        if len(shown) >= room:
            break
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


class Row:
    """Draws one partition at a height. pitch: units from one record to the next; tall: values below the keys.

    header: with the segments' file names and the log start, log end and high watermark above; without it they stand in the margin.
    """

    def __init__(self, d: Drawing, partition: dict[str, Any], place: tuple[float, float, float], pitch: float, now: int,
                 *, tall: bool, header: bool) -> None:  # fmt: skip
        self.d, self.partition, self.now = d, partition, now
        self.x, self.y, self.width = place
        self.pitch, self.tall, self.header = pitch, tall, header
        self.cell_height = 44 if tall else 30
        self.cells_y = self.y + (58 if header else 4)
        self.key = str(partition["partition"])
        self.columns: list[Column] = []

    @staticmethod
    def height(tall: bool, header: bool, call_outs: int) -> int:
        return (58 if header else 4) + (44 if tall else 30) + 26 + CALL_OUT * call_outs + (8 if call_outs else 0)

    def draw(self, readers: Sequence[Reader]) -> None:
        room = int(self.width // self.pitch) - 1
        self.columns = columns(self.partition, [reader.next for reader in readers], room)
        self._segments()
        records = {record[0]: record for record in self.partition["records"]}
        for number, (offset, up_to) in enumerate(self.columns):
            x = self.x + number * self.pitch
            if up_to - offset > 1 or offset not in records:
                self._gap(offset, up_to, x)
            else:
                self._record(records[offset], x)
        self._end()
        if self.header:
            self._boundaries()
        self._readers(readers)

    def left_of(self, offset: int) -> float:
        """x of the boundary before a record."""
        for number, (_, up_to) in enumerate(self.columns):
            if offset < up_to:
                return self.x + number * self.pitch
        beyond = 1 if offset > self.partition["log_end_offset"] else 0
        return self.x + (len(self.columns) + beyond) * self.pitch

    def _segments(self) -> None:
        top, height = self.cells_y - (24 if self.header else 4), self.cell_height + 22 + (24 if self.header else 4)
        for base, up_to, state in self.partition["segments"]:
            inside = [n for n, (offset, upto) in enumerate(self.columns) if offset >= base and upto <= up_to]
            if not inside and not (state == "active" and self.header):
                continue
            at = inside[0] if inside else len(self.columns)
            x, w = self.x + at * self.pitch - 2, max(len(inside), 1) * self.pitch - 1
            key = f"segment/{self.key}/{base}"
            gone = state == "deleted"
            self.d.rect(
                key, x, top, w, height, "none" if gone else "wash", "rule", r=8, dash="4 3" if gone else None,
                tip=f"segment {base:020d}.log, {state}",
            )  # fmt: skip
            if not self.header:
                continue
            name, short = f"…{base:04d}.log", f"…{base:04d}"
            room = w - 14
            for words in (name, short):
                if text_width(words, 12.5, mono=True) <= room:
                    self.d.text(key + "/name", x + 6, top + 17, words, "quiet", size=12.5, mono=True)
                    room -= text_width(words, 12.5, mono=True) + 10
                    break
            if text_width(state, 12.5, bold=True) <= room:
                self.d.text(key + "/state", x + w - 6, top + 17, state, "quiet", size=12.5, bold=True, anchor="end")

    def _record(self, record: list[Any], x: float) -> None:
        offset, letter, key, value, number = record
        gone = offset < self.partition["log_start_offset"]
        new = number == self.now
        name = f"record/{self.key}/{offset}"
        w = self.pitch - 5
        key_words = "no key" if key is None else f"key {key}"
        tip = f"offset {offset} · {key_words} · {'no value' if value is None else f'value {value}'}" + (" · deleted" if gone else "")
        self.d.rect(
            name, x, self.cells_y, w, self.cell_height, "none" if gone else "cell", "ink" if new else "rule", r=5,
            dash="3 3" if gone else None, width=2 if new else None, of=number, tip=tip,
        )  # fmt: skip
        ink = "gone" if gone else "ink"
        middle = x + w / 2
        self.d.text(name + "/key", middle, self.cells_y + (18 if self.tall else 20), letter, ink, size=13.5, mono=True, bold=True,
                    anchor="middle")  # fmt: skip
        if self.tall:
            words = fit("null" if value is None else value, w - 8, 12.5)
            self.d.text(name + "/value", middle, self.cells_y + 36, words, ink, size=12.5, anchor="middle")
        self.d.text(name + "/offset", middle, self.cells_y + self.cell_height + 16, str(offset), "gone" if gone else "quiet",
                    size=12.5, mono=True, anchor="middle")  # fmt: skip

    def _gap(self, offset: int, up_to: int, x: float) -> None:
        key, middle = f"gap/{self.key}/{up_to}", x + self.pitch / 2 - 2
        self.d.text(key, middle, self.cells_y + self.cell_height / 2 - 1, f"{up_to - offset}", "quiet", size=12, anchor="middle",
                    tip=f"offsets {offset} to {up_to - 1} are not drawn")  # fmt: skip
        self.d.text(key + "/more", middle, self.cells_y + self.cell_height / 2 + 13, "more", "quiet", size=12, anchor="middle")

    def _end(self) -> None:
        x, w = self.x + len(self.columns) * self.pitch, self.pitch - 5
        name, end = f"next/{self.key}", self.partition["log_end_offset"]
        self.d.rect(name, x, self.cells_y, w, self.cell_height, "none", "ink", r=5, dash="2 3", tip=f"the next record gets offset {end}")
        self.d.text(name + "/offset", x + w / 2, self.cells_y + self.cell_height + 16, str(end), size=12.5, mono=True, bold=True,
                    anchor="middle")  # fmt: skip

    def _boundaries(self) -> None:
        marks = [("log start offset", self.partition["log_start_offset"]), ("log end offset", self.partition["log_end_offset"])]
        watermark = self.partition["high_watermark"]
        if watermark is not None and watermark != self.partition["log_end_offset"]:
            marks.insert(1, ("high watermark", watermark))
        lowest = [-1000.0, -1000.0, -1000.0]
        for name, offset in marks:
            words = f"{name} {offset}"
            half = text_width(words, 12.5, bold=True) / 2
            x = self.left_of(offset) - 2.5
            middle = min(max(x, half), self.d.width - half)
            level = next((n for n, right in enumerate(lowest) if middle - half > right + 10), 1)
            lowest[level] = middle + half
            key = f"boundary/{self.key}/{name}"
            foot = self.y + 10 - 17 * level
            self.d.line(key, x, foot + 6, x, self.cells_y + self.cell_height + 4, "ink", width=1.5)
            self.d.text(key + "/name", middle, foot, words, size=12.5, bold=True, anchor="middle")

    def _readers(self, readers: Sequence[Reader]) -> None:
        """Call-outs below: from right to left, a label goes lower where it would run into a stem or label to its right."""
        top = self.cells_y + self.cell_height + 4
        places: list[tuple[float, int]] = []
        seen_at: dict[float, int] = {}
        for reader in sorted(readers, key=lambda reader: (-reader.next, reader.name)):
            x = self.left_of(reader.next) - 2.5
            x -= 6 * seen_at.setdefault(x, 0)
            seen_at[x] = seen_at.get(x, 0) + 1
            wide = text_width(reader.name, bold=True) + 8 + text_width(reader.words, 12.5, mono=True) + 12
            level = max([level + 1 for other, level in places if other <= x + wide], default=0)
            places.append((x, level))
            left = x + 9 if x + 9 + wide <= self.d.width + 12 else x - 9 - wide + 12
            self._reader(reader, x, top, top + 24 + level * CALL_OUT, left)

    def _reader(self, reader: Reader, x: float, top: float, foot: float, left: float) -> None:
        key = f"reader/{self.key}/{reader.name}"
        colour = "trouble" if reader.trouble else reader.colour
        self.d.line(key, x, top, x, foot, colour, width=2.5, dash="3 3" if reader.away else None)
        self.d.path(key + "/head", x, foot - 4, "M0,0 l-6,10 h12 z", colour)
        self.d.text(key + "/name", left, foot + 6, reader.name, bold=True, halo="paper")
        after = left + text_width(reader.name, bold=True) + 8
        ink = "trouble" if reader.trouble else "quiet"
        self.d.text(key + "/words", after, foot + 6, reader.words, ink, size=12.5, mono=True, halo="paper")
