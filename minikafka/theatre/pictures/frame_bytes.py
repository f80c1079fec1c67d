"""Bytes beside their fields: a frame in hexadecimal, and the tree of fields that a
reader makes of it, with names, types and values by the schema.

Hovering either marks the other, and so does the focus: arrow keys go from byte to byte
and from field to field. In a live picture two digits typed on a byte change it. Where
the frame makes no sense any more the reading stops, and the bytes behind are left
unread. On a narrow page the fields stand under the bytes.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from minikafka.theatre.drawing import (
    Drawing,
    Look,
    fit,
    has_room,
    text_width,
)
from minikafka.theatre.lanes import Scene
from minikafka.theatre.pictures.frame_bytes_story import (
    NOBODY,
    BytesStory,
    Part,
    part_at,
)
from minikafka.theatre.play import Play, Space
from minikafka.theatre.text import counted, dotted

MOST_BYTES, MOST_LINES = 320, 60
LABEL = 34  # left of a row's first byte
BYTE = 18  # height of a row of bytes
LINE = 16  # height of a field
INDENT = 9
COLUMN_GAP = 14
FEW = 16  # lines stand in one column
READ_ONLY = "read-only here: in the lesson's notebook, with its kernel, you change it"
HOW_TO = "click a byte, or go there with the arrow keys, and type two hex digits"


class Hex(NamedTuple):
    """How the bytes stand. pitch: from one to the next."""

    a_row: int
    pitch: float

    @property
    def width(self) -> float:
        return LABEL + self.a_row * self.pitch


class Line(NamedTuple):
    """One line of the tree: a section's name, or a field. number: of the field."""

    section: str
    number: int = -1
    part: Part | None = None


class BytesPlay(Play):
    """A frame twice: as bytes and as fields."""

    story = BytesStory
    foot = "Hover a byte or a field, and you see which belong together."
    # lines of the longest tree
    lines_most = 0

    def scenario(self, scene: Scene) -> str:
        size = len(scene["space"]["data"]) // 2
        how = HOW_TO if "live" in self.cast else READ_ONLY
        return dotted(counted(size, "byte"), how)

    def summary(self, space: Space) -> str:
        parts = [Part(*part) for part in space["parts"]]
        shown = parts[:MOST_LINES]
        told = [f"{part.name} {part.value}" for part in shown]
        unread = len(space["data"]) // 2 - space["end"]
        if unread:
            told.append(f"{counted(unread, 'byte')} not read")
        return ", ".join(told) or "nothing yet"

    # -- draw

    def rehearse(self, scenes: Sequence[Scene]) -> None:
        """The longest tree decides how the columns are cut."""
        trees = [_lines(scene["space"]) for scene in scenes]
        self.lines_most = max(map(len, trees), default=0)

    def draw(self, drawing: Drawing, scenes: Sequence[Scene]) -> None:
        d = drawing
        space = scenes[-1]["space"]
        rows = Hex(16, 31.5) if d.narrow else Hex(8, 26)
        if d.phone:
            rows = Hex(12, 34)
        bottom = self._bytes(d, space, rows)
        if space["changed"]:
            is_seen = space["by"] != NOBODY
            words = f"{space['by']} notices"
            d.lamp("lamp", 0, bottom + 6, words, is_seen)
        left, top = rows.width + 18, 0.0
        if d.narrow:
            left, top = 0.0, self._hex_height(rows) + 34
        self._tree(d, space, left, top)

    def _hex_height(self, rows: Hex) -> float:
        size = min(len(self.cast["sent"]) // 2, MOST_BYTES)
        return -(-size // rows.a_row) * BYTE

    def _bytes(self, d: Drawing, space: Space, rows: Hex) -> float:
        """The frame, row by row. Returns where it ends."""
        data = bytes.fromhex(space["data"])
        parts = [Part(*part) for part in space["parts"]]
        for at in range(0, min(len(data), MOST_BYTES), rows.a_row):
            y = at // rows.a_row * BYTE
            d.note(f"at/{at}", 0, y + 12, f"{at:03}", size=12, mono=True)
        for at, byte in enumerate(data[:MOST_BYTES]):
            part = part_at(parts, at)
            self._byte(d, space, rows, at, byte, part)
        bottom = self._hex_height(rows)
        more = len(data) - MOST_BYTES
        if more > 0:
            d.note("more", LABEL, bottom + 12, f"and {more} more bytes")
        return bottom

    def _byte(
        self,
        d: Drawing,
        space: Space,
        rows: Hex,
        at: int,
        byte: int,
        part: Part | None,
    ) -> None:
        """One byte; those of a field have one shade, and neighbours another."""
        row, column = divmod(at, rows.a_row)
        x = LABEL + column * rows.pitch
        y = row * BYTE
        key = f"byte/{at}"
        is_changed = at in space["changed"]
        look: Look = {
            "fill": "none",
            "line": "rule",
            "dash": "3 3",
            "r": 3,
            "tip": _tip(at, byte, part, is_read=at < space["end"]),
            "grid": "bytes",
        }
        ink = "gone"
        if part is not None:
            number = space["parts"].index(list(part))
            look["fill"] = "cell" if number % 2 else "wash"
            look["dash"] = None
            look["same"] = _same(part)
            ink = "ink"
        if is_changed:
            look["fill"] = "said"
            look["line"] = "ink"
        if at == space["at"]:
            look["width"] = 2
        if "live" in self.cast:
            look["act"] = f"byte {at}"
            look["digits"] = 2
        d.rect(key, x, y, rows.pitch - 2, BYTE - 2, **look)

        middle = x + rows.pitch / 2 - 1
        words: Look = {
            "size": 12.5,
            "mono": True,
            "anchor": "middle",
            "bold": is_changed,
        }
        d.text(f"{key}/hex", middle, y + 12, f"{byte:02x}", ink, **words)

    def _tree(self, d: Drawing, space: Space, left: float, top: float) -> None:
        """The fields, in one column or two."""
        lines = _lines(space)
        columns = 1 if self.lines_most <= FEW else 2
        most = -(-min(self.lines_most, MOST_LINES) // columns)
        width = (d.width - left - COLUMN_GAP * (columns - 1)) / columns
        width = min(width, 420)
        for number, line in enumerate(lines[:MOST_LINES]):
            column, row = divmod(number, most)
            x = left + column * (width + COLUMN_GAP)
            y = top + row * LINE
            if line.part is None:
                key = f"section/{number}"
                is_end = line.number == 0
                ink = "trouble" if is_end else "ink"
                words = fit(line.section, width * 0.8, 12.5, bold=True)
                d.text(key, x, y + 12, words, ink, size=12.5, bold=True)
            else:
                is_other = line.number in space["other"]
                _field(d, line.part, line.number, x, y, width, is_other)
        more = len(lines) - MOST_LINES
        if more > 0:
            y = top + most * LINE
            d.note("tree/more", left, y + 12, f"and {more} more lines")


def _lines(space: Space) -> list[Line]:
    """The tree, line by line."""
    lines = []
    section = ""
    parts = [Part(*given) for given in space["parts"]]
    for number, part in enumerate(parts):
        if part.section != section:
            section = part.section
            lines.append(Line(section))
        lines.append(Line(section, number, part))
    unread = len(space["data"]) // 2 - space["end"]
    if unread:
        lines.append(Line(f"{counted(unread, 'byte')} not read", 0))
    return lines


def _tip(at: int, byte: int, part: Part | None, is_read: bool) -> str:
    """A byte as a number, as a letter, and of which field it is."""
    said = f"byte {at}: {byte:02x} = {byte}"
    if 32 < byte < 127:
        said += f", “{chr(byte)}”"
    if part is not None:
        return f"{said} · {part.name}, {part.type}: {part.value}"
    return said if is_read else f"{said} · not read"


def _same(part: Part) -> str:
    """What the bytes of a field and its line share."""
    return f"field/{part.first}/{part.name}"


def _field(
    d: Drawing, part: Part, number: int, x: float, y: float, width: float, other: bool
) -> None:
    """Its name, its type where there is room, and at the right its value."""
    look: Look = {
        "r": 3,
        "tip": f"{part.bytes}: {part.name}, {part.type}: {part.value}",
        "same": _same(part),
        "grid": "fields",
    }
    key = f"field/{number}"
    fill, ink = ("said", "ink") if other else ("none", "quiet")
    d.rect(key, x, y, width, LINE - 1, fill, **look)
    left = x + 6 + INDENT * (part.depth + 1)
    room = x + width - left - 6

    value = fit(part.value, room * 0.5 - 4, 12.5, mono=True)
    taken = text_width(value, 12.5, mono=True) / 0.8 + 8
    words: Look = {"size": 12.5}
    whole = f"{part.name}  {part.type}"
    has_type = has_room(whole, room - taken, 13)
    name = part.name if has_type else fit(part.name, (room - taken) * 0.8, 12.5)
    more: Any = part.type if has_type else None

    d.text(f"{key}/name", left, y + 12, name, "ink", more=more, ink="quiet", **words)
    d.number(f"{key}/value", x + width - 4, y + 12, value, ink, bold=other)
